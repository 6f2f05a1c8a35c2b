"""The house grows slowly, by tests/helpers/house.py, beside the last release."""

import ast

import pytest
from house import (
    DEFINED,
    GOALS,
    RELEASED,
    ROOM,
    code_size,
    count,
    crossings,
    density,
    folded,
    halves,
    homeless,
    imported,
    jobs,
    print_density,
    rooms,
    untried,
    where_it_lies,
)

FLOORS, TWICE, ONCE = 12, 0, 4
# from room to room; four of each are from the start and the damping of the lessons 3.4
# and 3.5 to the rooms of their longer versions, and 318 from refits to their losses,
# which are a room since the one of refits was full
CROSSINGS = dict(rvamp=255, StabilitySelection=2_320)
FRAMES = dict(rvamp=20, StabilitySelection=30)  # functions that wait for each other
# names that several rooms have but for case, underscore or plural: most are a tuple and
# the function that fills it (Step and step, CountLaw and count_law, Refits and refit)
ALIKE = 6
# classes in two parts, and why: a cell has 90 lines of code at most, and a NamedTuple
# has no place for what a property keeps
HALVES = {"_Fitted": "90 lines", "_Fixed": "NamedTuple"}
# lines outside tables/ that ask where a table lies: by its class, and by its chunks (as
# where a pass over these is dear)
BY_TYPE, BY_AXIS = 9, 15

# numbers in capitals of which no comment tells what half and twice of them do, outside
# the rooms where every one has been tried
UNTRIED = 8
ALL_TRIED = "inference.diagnostics", "inference.effects", "inference.levels"
ALL_TRIED += "inference.refinement", "inference.row_distances"


@pytest.fixture(scope="module")
def counted():
    return count()


def test_tokens_of_code_are_counted():
    code = '"""A room.\n\nOf two."""\n\n# why\nx = """a\nb"""\n\n\ndef f(\n    a,\n):'
    assert code_size(code + '\n    """Do."""\n    return a  # so\n') == (12, 6)
    assert code_size("from .a import b, c as d\n") == (8, 1)
    assert code_size("from x.y.a import (\n    b,\n    c as d,\n)\n") == (8, 4)


@pytest.mark.parametrize(
    "code, form",
    [
        ("a, b = c, d", "tuple assignments"),
        ("a, b = f(c)", None),
        ("f(*a)", "stars"),
        ("f(**a)", None),
        ("a = b if c else d", "conditional expressions"),
        ("a = b if c else d if e else f", "nested ones"),
        ("a = [x for x in b]", "comprehensions"),
        ("f(a := b)", "assignments inside expressions"),
    ],
)
def test_lines_that_do_several_things_are_counted(code, form):
    found = density([f"{code}\n", "x = 1\n" * 3])
    tokens = found.pop("tokens a line")
    assert tokens == (code_size(code)[0] + 9) / 4
    assert [*found] + ["tokens a line"] == [*GOALS]
    if form == "nested ones":
        assert found.pop("conditional expressions") == 50
    assert {name for name in found if found[name]} == ({form} if form else set())
    assert form is None or found[form] == 25


def test_dense_rooms_are_named_and_none_is_refused(capsys):
    with capsys.disabled():
        print()
        print_density(rooms())
    print_density({"a": "x = y if z else 1\n", "b": "x = 1\n"})
    printed = capsys.readouterr().out
    assert " 50.00  conditional expressions (1.5; a 100.0)\n" in printed
    assert "  0.00  stars (0.8; none)\n" in printed


def test_what_only_a_type_checker_imports_is_no_arrow():
    code = "from .a import b\nif {}:\n    from .c import d"
    found = lambda how: {*imported("x", ast.parse(code.format(how)), {})}
    assert found("TYPE_CHECKING") == {"a", "a.b"}
    assert found("b") == {"a", "a.b", "c", "c.d"}


def test_no_room_is_too_large(counted):
    tokens = {room: counted["size"][room][0] for room in counted["size"]}
    beyond = sum(tokens.values()) - ROOM * RELEASED["all rooms"]
    assert beyond <= 0, (
        f"{beyond:.0f} tokens too many: merge what two rooms do, or release first"
        " (python tests/helpers/house.py shows the rooms)"
    )
    limit = ROOM * RELEASED["a room"]
    large = [room for room in tokens if tokens[room] > limit]
    assert not large, f"more than {limit:.0f} tokens: has it two purposes? {large}"


def test_imports_run_one_way(counted):
    assert counted["floors"] and counted["floors"] <= FLOORS
    assert counted["back"] == counted["hidden"] == []


def test_every_room_has_a_place(counted):
    remedy = "give it a folder (#| default_exp algorithm.name): tables, algorithm, ..."
    assert counted["homeless"] == [], remedy
    assert [*homeless(["cli", "loss", "algorithm.loss"])] == ["loss"]


def test_names_have_one_meaning_and_small_things_stand_where_they_are_used(counted):
    assert len(counted["twice"]) <= TWICE, f"names of two rooms: {counted['twice']}"
    assert len(counted["once"]) <= ONCE, f"called once: {counted['once']}"
    assert counted["deep"] == [], "classes stand three deep at most: take a base above"
    assert len(counted["alike"]) <= ALIKE, f"names alike: {counted['alike']}"


def test_a_class_is_whole(counted):
    found = [name for name in counted["halves"] if name not in HALVES]
    assert not found, f"merge these with the classes that derive from them: {found}"


@pytest.mark.parametrize(
    "more, found", [("", ["_A"]), ("class C(_A): x = 1", []), ("a = _A()", [])]
)
def test_half_a_class_is_found(more, found):
    code = f"class _A:\n    x = 1\nclass B(_A):\n    y = 2\n{more}"
    assert halves({"a": ast.parse(code)}) == found


def test_tables_are_worked_with_alike_wherever_they_lie(counted):
    use = "call what takes arrays and chunks (map_chunks, take_columns, with_ones, ...)"
    remedy = f"{use} of rvamp_nb.tables.chunked, or write one there: "
    assert len(counted["by_type"]) <= BY_TYPE, remedy + ", ".join(counted["by_type"])
    assert len(counted["by_axis"]) <= BY_AXIS, remedy + ", ".join(counted["by_axis"])


def test_lines_that_ask_where_a_table_lies_are_found():
    code = "isinstance(A, ChunkedTable)\nisinstance(p.A, (list, tables.ChunkedTable))"
    code += "\nisinstance(A, list)\nChunkedTable(A)\nchunk_axis(A) == 0"
    assert where_it_lies(ast.parse(code)) == ([1, 2], [5])


def test_what_half_and_twice_of_a_constant_do_stands_beside_it(counted):
    found = counted["untried"]
    remedy = "say beside it its unit, its reason, and what half and twice of it do"
    here = [name for name in found if name.rpartition(".")[0] in ALL_TRIED]
    assert not here, f"{here}: {remedy} (python tests/bench/constants.py)"
    assert len(found) <= UNTRIED, f"of the new ones in {found}: {remedy}"


def test_numbers_that_have_no_half_are_in_their_rooms():
    found = {f"{r}.{name}" for r, text in rooms().items() for name in untried(text)}
    gone = DEFINED - found
    assert not gone, f"{gone}: drop them from DEFINED of tests/helpers/house.py"


@pytest.mark.parametrize(
    "text, found",
    [
        ("A = 3  # rows", ["A"]),
        ("A = 3  # rows; half or twice: nothing", []),
        ("A = 3  # rows\n# halved: 2 s; doubled: 4 s\nB = 2, 1.0  # s", ["B"]),
        ("A = -3\n_B = 2**4\n# half or twice: nothing", []),
        ("A = 3\n\n# half or twice: nothing", ["A"]),
        ("# half or twice: nothing\nA = 3\nB = 4", ["B"]),
        ("x\n\n# %% a cell\n# rows\n# half or twice: nothing\nA = 3", []),
        ("# %% twice\nA = 3", ["A"]),
        ('A = "half"\nb = 3\nC = f(3)\nD = dict(a=1)', []),
        ("A, B = 1, 2", ["A", "B"]),
    ],
)
def test_constants_that_nobody_tried_are_found(text, found):
    assert untried(text) == found


def test_names_are_compared_without_case_underscore_and_plural():
    assert {*map(folded, ("Blocks", "_block", "BLOCKS"))} == {"block"}
    assert folded("loss") != folded("los")


@pytest.mark.parametrize("name", CROSSINGS)
@pytest.mark.filterwarnings("ignore")
def test_data_pass_few_walls(name):
    job = jobs()[name]
    job()  # what is kept is asked once
    found, frames = crossings(job)
    assert 0 < sum(found.values()) <= CROSSINGS[name]
    assert 0 < frames <= FRAMES[name], "call what is wanted, not through what is above"
