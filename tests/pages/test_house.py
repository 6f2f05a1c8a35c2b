"""The house grows slowly: what tests/house.py counts, beside the last release."""

import ast

import pytest
from house import code_lines, count, crossings, folded, imported, jobs

# whole names and the types of signatures have their lines: what is counted is code
LINES = 13_741  # of the last release; a contribution of some hundreds passes
ROOM = 1.05  # how far beyond the last release a count may go
FLOORS, TWICE, ONCE = 12, 0, 4
CROSSINGS = dict(rvamp=250, StabilitySelection=2_010)  # from room to room
# names that several rooms have but for case, underscore or plural: most are a tuple and
# the function that fills it (Step and step, CountLaw and count_law, Refits and refit)
ALIKE = 6
LARGEST = 451  # lines of code, beyond which a room has two purposes


@pytest.fixture(scope="module")
def counted():
    return count()


def test_lines_of_code_are_counted():
    code = '"""A room.\n\nOf two."""\n\n# why\nx = """a\nb"""\n\n\ndef f(\n    a,\n):'
    assert code_lines(code + '\n    """Do."""\n    return a  # so\n') == 4


def test_what_only_a_type_checker_imports_is_no_arrow():
    code = "from .a import b\nif {}:\n    from .c import d"
    found = lambda how: {*imported("x", ast.parse(code.format(how)), {})}
    assert found("TYPE_CHECKING") == {"a", "a.b"}
    assert found("b") == {"a", "a.b", "c", "c.d"}


def test_no_room_is_too_large(counted):
    lines = counted["lines"]
    remedy = "merge what two rooms do (python tests/house.py), or release first"
    assert sum(lines.values()) <= ROOM * LINES, remedy
    large = [room for room in lines if lines[room] > LARGEST]
    assert not large, f"two purposes in one room? {large}"


def test_imports_run_one_way(counted):
    assert counted["floors"] and counted["floors"] <= FLOORS
    assert counted["back"] == counted["hidden"] == []


def test_names_have_one_meaning_and_small_things_stand_where_they_are_used(counted):
    assert len(counted["twice"]) <= TWICE, f"names of two rooms: {counted['twice']}"
    assert len(counted["once"]) <= ONCE, f"called once: {counted['once']}"
    assert counted["deep"] == [], "classes stand three deep at most: take a base above"
    assert len(counted["alike"]) <= ALIKE, f"names alike: {counted['alike']}"


def test_names_are_compared_without_case_underscore_and_plural():
    assert {*map(folded, ("Blocks", "_block", "BLOCKS"))} == {"block"}
    assert folded("loss") != folded("los")


@pytest.mark.parametrize("name", CROSSINGS)
@pytest.mark.filterwarnings("ignore")
def test_data_pass_few_walls(name):
    job = jobs()[name]
    job()  # what is kept is asked once
    assert 0 < sum(crossings(job).values()) <= CROSSINGS[name]
