"""What is imported when: the package lightly, its names lazily, and chapters only
from chapters before them.
"""

import ast
import pkgutil
import re
import subprocess
import sys
from importlib import import_module

import house
import pytest
from notebooks import COURSE, PATHS, ROOT, cells, chapter_number, trees
from offered import come_back
from plain import PLAIN

import rvamp_nb
from rvamp_nb import results

MODULES = sorted(
    module.name.partition(".")[2]
    for module in pkgutil.walk_packages(rvamp_nb.__path__, "rvamp_nb.")
    if not (module.ispkg or "._" in module.name)
)
ROOMS = {module.rpartition(".")[2] for module in MODULES}
FOLDERS = {module.rpartition(".")[0] for module in MODULES} - {""}
HEAVY = (
    "anywidget",
    "IPython",
    "ipywidgets",
    "joblib",
    "matplotlib",
    "pandas",
    "pooch",
    "rdata",
    "sklearn",
    "tqdm",
)
IS_AN_ESTIMATOR = "select.estimator"  # made of scikit-learn's base classes
COLUMNS = 88
EXPORTS = r"^#\| *(?:default_exp|exporti?s?) +(\S+)"
# {public name: the module that it lives in}, by the one list there is
LISTED = ast.parse((ROOT / "rvamp_nb" / "__init__.pyi").read_text(encoding="utf-8"))
HOMES = {
    alias.name: node.module or alias.name
    for node in LISTED.body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
TOUR = COURSE[0]  # it shows what the course will arrive at


# The course has gone while the others are imported, but for what an estimator is made
# of; it is there while its own rooms are, and gone again.
FRESH = """
import sys
import rvamp_nb

def tell():
    print(*{{name.partition(".")[0] for name in sys.modules}})

print(*dir(rvamp_nb))
tell()
sys.modules["rvamp_nb.course"] = None
import {others}
del sys.modules["rvamp_nb.course"]
import {course}
tell()
for name in [*sys.modules]:
    if name.startswith("rvamp_nb.course."):
        del sys.modules[name]
sys.modules["rvamp_nb.course"] = None
import rvamp_nb.{estimator}
tell()
"""


@pytest.fixture(scope="module")
def fresh():
    """What a fresh interpreter says, line by line: the names of the package, and what
    it has loaded with the package, with all rooms but one, and with that one.
    """
    rooms = {f"rvamp_nb.{name}" for name in MODULES if name != IS_AN_ESTIMATOR}
    course = {room for room in rooms if room.startswith("rvamp_nb.course.")}
    named = dict(
        others=", ".join(sorted(rooms - course)), course=", ".join(sorted(course))
    )
    code = FRESH.format(**named, estimator=IS_AN_ESTIMATOR)
    command = dict(cwd=ROOT, capture_output=True, text=True)
    done = subprocess.run([sys.executable, "-c", code], **command)
    assert done.returncode == 0, done.stderr
    return [set(line.split()) for line in done.stdout.splitlines()]


def test_what_is_imported_brings_nothing_heavy(fresh):
    """The package not even NumPy; all rooms but one no more than NumPy and SciPy: what
    none of them brings no single one does; and that one what an estimator is made of.
    """
    _, package, rooms, estimator = fresh
    assert package.isdisjoint((*HEAVY, "numpy", "scipy"))
    assert rooms.isdisjoint(HEAVY)
    # scikit-learn brings the other two
    assert estimator.isdisjoint(set(HEAVY) - {"sklearn", "joblib", "pandas"})


# {module: what it imports from the course}: the selector's method `explore` opens the
# explorer, and who calls it has the extra "course", without which nothing is drawn
USE_THE_COURSE = {"select.results": {"course.widgets"}}


def test_the_package_does_without_the_course_but_for_the_explorer(fresh):
    """By what is written, and where the folder is missing."""
    texts = house.rooms()
    uses = house.graph({room: house.parsed(texts[room]) for room in texts})
    found = {}
    for room in uses:
        from_course = {other for other in uses[room] if other.startswith("course.")}
        if from_course and not room.startswith("course."):
            found[room] = from_course
    assert found == USE_THE_COURSE
    assert len(fresh) == 4  # it came to the end


@pytest.mark.parametrize("name", rvamp_nb.__all__)
def test_a_public_name_resolves(name):
    thing = getattr(rvamp_nb, name)
    home = sys.modules[f"rvamp_nb.{HOMES[name]}"]
    assert thing is getattr(home, name, home)
    assert name in dir(rvamp_nb)


def test_all_names_are_listed_before_any_is_loaded(fresh):
    assert set(rvamp_nb.__all__) <= fresh[0]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="rvamp_nb attribute nonsense"):
        rvamp_nb.nonsense


@pytest.mark.parametrize(
    "file, line",
    [
        ("settings.ini", "version = {}"),
        ("CITATION.cff", "version: {}"),
        ("CHANGELOG.md", "## {}"),
        ("docs/conda/recipe.yaml", '  version: "{}"'),
    ],
)
def test_the_version_is_the_same_everywhere(file, line):
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    assert line.format(rvamp_nb.__version__) in lines


def test_what_the_conda_recipe_imports_is_there():
    """The rest of it is compared with the settings in tests/release."""
    recipe = (ROOT / "docs" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    [listed] = re.findall(r"^ +imports:\n((?: +- \S+\n)+)", recipe, re.MULTILINE)
    modules = re.findall(r"- (\S+)", listed)
    assert modules == ["rvamp_nb", f"rvamp_nb.{IS_AN_ESTIMATOR}"]
    for module in modules:
        import_module(module)


def modules_imported(node):
    """The modules that a statement imports from, as (module, names or None)."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, None) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield node.module or "", [alias.name for alias in node.names]


def rooms_imported(tree):
    """The names of the modules of rvamp_nb that a piece of code needs, each with the
    statement that imports it.
    """
    for node in house.nodes_of(tree):
        for module, names in modules_imported(node):
            package, _, inner = module.partition(".")
            if package == "rvamp_nb":
                public = [name for name in names or () if name != "__version__"]
                if not inner:
                    rooms = [HOMES.get(name, name) for name in public]
                elif inner in FOLDERS:
                    rooms = [f"{inner}.{name}" for name in public]
                else:
                    rooms = [inner]
                yield from ((room, node) for room in rooms)


def home_of_modules():
    """{module: the number of the chapter that exports it}; rooms of the workshop have
    none, and are open to all.
    """
    return {
        name: chapter_number(path)
        for path in COURSE
        for cell in cells(path, "code")
        for name in re.findall(EXPORTS, cell.source, re.MULTILINE)
    }


def is_check(cell):
    """Whether a cell says what is wrong with an answer."""
    return "check" in cell.metadata.get("tags", [])


def imported_ahead(number, source, tree, homes):
    """What a cell of a chapter imports from later ones without a comment in that
    statement that names them: ``# chapter 5.2``.
    """
    lines = source.splitlines()
    for room, node in rooms_imported(tree):
        home = homes.get(room, "")
        statement = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        if home > number and f"# chapter {home}" not in statement:
            yield f"{room} of chapter {home}"


def test_a_chapter_imports_what_comes_before_it_or_says_where_it_comes_from():
    homes, unsaid = home_of_modules(), {}
    for path in COURSE:
        for cell, tree in zip(cells(path, "code"), trees(path), strict=True):
            if path != TOUR and not is_check(cell):  # checks stand alone
                found = imported_ahead(chapter_number(path), cell.source, tree, homes)
                unsaid.setdefault(path.stem, []).extend(found)
    assert {stem: found for stem, found in unsaid.items() if found} == {}


def test_what_is_imported_ahead_is_found():
    homes = {"algorithm.groups": "5.2", "algorithm.prior": "3.1"}
    code = (
        "from rvamp_nb.algorithm.groups import a\n"
        "from rvamp_nb.algorithm.prior import b\n"
    )
    ahead = lambda code: [*imported_ahead("3.6", code, ast.parse(code), homes)]
    assert ahead(code) == ["algorithm.groups of chapter 5.2"]
    by_folder = "from rvamp_nb.algorithm import groups, prior"
    assert ahead(by_folder) == ["algorithm.groups of chapter 5.2"]
    assert ahead(code.replace("import a", "import a  # chapter 5.2")) == []
    assert ahead(code.replace("import a", "import (\n    a,\n)  # chapter 5.2")) == []
    assert ahead(code.replace("import a", "import (  # chapter 5.2\n    a,\n)")) == []


def private_names(tree):
    """The underscore names of other rooms that a piece of code takes: imported, or as
    attributes of an imported module of this package.
    """
    modules, attributes = set(), []
    for node in ast.walk(tree):
        inside = isinstance(node, ast.ImportFrom) and (
            node.level or node.module.startswith("rvamp_nb")
        )
        if inside:
            names = {alias.name for alias in node.names}
            yield from (name for name in names if is_private(name))
            modules |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            attributes.append(node)
    for node in attributes:
        if getattr(node.value, "id", None) in modules & ROOMS:
            yield f"{node.value.id}.{node.attr}"


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def test_private_names_are_found():
    code = (
        "from rvamp_nb.algorithm import prior\n"
        "from rvamp_nb.algorithm.solver import _turn, rvamp\n"
        "prior._tail(); prior.Ridge()._replace(); np._x"
    )
    assert set(private_names(ast.parse(code))) == {"_turn", "prior._tail"}
    relative = "from . import prior\nfrom .prior import _cut, Ridge\nprior._tail()"
    assert set(private_names(ast.parse(relative))) == {"_cut", "prior._tail"}


def test_no_room_takes_an_underscore_name_of_another():
    found = {
        path.stem: sorted(
            private_names(ast.Module([s for t in trees(path) for s in t.body], []))
        )
        for path in PATHS
    }
    texts = {room: text for room, text in house.rooms().items() if room in PLAIN}
    found |= {room: [*private_names(house.parsed(texts[room]))] for room in texts}
    assert {stem: names for stem, names in found.items() if names} == {}


def unlike_imports(text):
    """The statements of a room, anywhere in it, that import from another by the
    package's name, in brackets, or beyond a line. Of the package itself its version is
    no room's.
    """
    lines = text.splitlines()
    for node in house.nodes_of(house.parsed(text)):
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        names = [alias.name for alias in node.names]
        module = getattr(node, "module", None) or ""
        statement = lines[node.lineno - 1 : node.end_lineno]
        if getattr(node, "level", 0):
            code = statement[0].partition("#")[0]
            unlike = len(statement[0]) > COLUMNS or "(" in code
        elif isinstance(node, ast.Import):
            unlike = any(name.startswith("rvamp_nb.") for name in names)
        elif module == "rvamp_nb":
            unlike = names != ["__version__"]
        else:
            unlike = module.startswith("rvamp_nb.")
        if unlike:
            yield "\n".join(statement).strip()


def test_imports_between_rooms_are_relative_and_stand_on_a_line():
    """What does not fit one names a wall in the wrong place, or asks for the room
    itself: `from rvamp_nb.algorithm import lmmse`, then `lmmse.couple`. nbdev makes
    these relative, and leaves what stands in brackets or under an `if` as it is.
    """
    found = {room: [*unlike_imports(text)] for room, text in house.rooms().items()}
    assert {room: lines for room, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "unlike",
    [
        "from rvamp_nb import e",
        "from rvamp_nb.c.d import e",
        "from rvamp_nb.c.d import (\n    e,\n)",
        "import rvamp_nb.c.d",
        "from .c import (\n    d,\n)",
        "from .c import (d)",
        f"from .c import {'d' * 74}",
    ],
)
def test_imports_that_are_wide_or_absolute_are_found(unlike):
    inside = "def f():\n    " + unlike.replace("\n", "\n    ")
    for text in (unlike, f"{inside}\n", f"import numpy\n{unlike}  # (why)"):
        assert len([*unlike_imports(text)]) == 1


def test_imports_that_are_relative_on_a_line_pass():
    alike = "from .c import d  # chapter 5.2 (why)", f"from .c import {'d' * 73}"
    beside = "from rvamp_nb import __version__", "from typing import (\n    Any,\n)"
    text = "\n".join((*alike, *beside, "import rvamp_nb"))
    assert [*unlike_imports(text)] == []


def test_no_star_imports():
    assert [
        path.stem
        for path in PATHS
        for tree in trees(path)
        for node in house.nodes_of(tree)
        for _, names in modules_imported(node)
        if names == ["*"]
    ] == []


MOST_NAMES = 43
# of 0.4.0; what 0.3.0 called otherwise stands in the table beside its new name
BEFORE = """
ChunkError ChunkedTable ConstantSignal ConvergenceWarning DaskTable Discrete ElasticNet
Exponential Fit FixedFactor GaussianSignal GroupLasso Grouped Huber Laplace Logistic
Loss Multinomial NoResampling NonNegative Poisson PoissonLoss Prior ReliabilityWarning
Ridge SpikeSlab Squared StabilitySelection Stratified Subsample TwoPoint Weakness
WeightedLoss coefficient_interval complementary_pairs condition_on_rows datasets
debiased_effects free_energy group_norm load_fit load_state naive_bootstrap
neighbourhoods orthonormal_groups p1 p2 plan_study predict_study refine rvamp rvamp_path
save_fit softmax_fit stability_radius state_evolution survival_fit
""".split()


def test_the_public_names_are_few():
    assert len(rvamp_nb.__all__) <= MOST_NAMES


def test_a_name_that_was_public_is_so_or_has_an_answer():
    assert {*BEFORE} <= {*rvamp_nb.__all__, *rvamp_nb._RENAMED}
    assert not {*rvamp_nb.__all__} & {*rvamp_nb._RENAMED}


@pytest.mark.parametrize("old", rvamp_nb._RENAMED)
def test_a_name_of_yesterday_names_that_of_today(old):
    """However it is asked for; and the line that it says to write runs."""
    now = rvamp_nb._RENAMED[old].rpartition(".")[2]
    for code in f"rvamp_nb.{old}", f"from rvamp_nb import {old}":
        with pytest.raises(ImportError, match=f"'{old}': .*{re.escape(now)}") as told:
            exec(code, {"rvamp_nb": rvamp_nb})
    lines = re.findall(r"from rvamp_nb\S* import \w+", str(told.value))
    assert lines or " " in rvamp_nb._RENAMED[old]
    for line in lines:
        exec(line, {})


def test_types_of_what_comes_back_have_a_public_home():
    kinds = {kind for kind in come_back() if kind.__name__ not in rvamp_nb.__all__}
    at_home = {getattr(results, name) for name in results.__all__}
    assert kinds <= at_home, {kind.__name__ for kind in kinds - at_home}
    assert len(kinds) > 15
