"""Every labelled equation of the paper is derived in one chapter and checked there;
the tables in the appendices say so truly.
"""

import ast
import importlib
import re
from collections import Counter

import pytest
from notebooks import COURSE, PATHS, ROOT
from notebooks import cells as read

APPENDIX = ROOT / "nbs" / "appendix"
CHAPTERS = [path for path in COURSE if path.stem[0] in "123"]  # until the algorithm is
DERIVED = [path for path in CHAPTERS if path.stem[0] != "1"]  # theory and algorithm
ALGORITHM = "algorithm"
LABELS = {  # the labels of the paper's sections 2 to 4: where each is derived
    "eq:posterior": "12_resampling",
    "eq:estimator": "12_resampling",
    "eq:r-replicas": "21_replica",
    "eq:replica_identity": "21_replica",
    "eq:replicated_system": "21_replica",
    "eq:de-finetti": "21_replica",
    "eq:rs-form-of-estimator": "21_replica",
    "eq:replicated_system_specific": "22_augmented",
    "eq:augmented_replica_system": "22_augmented",
    "eq:variable_splitting": "22_augmented",
    "eq:message_variable_to_factor": "24_messages",
    "eq:message_factor_to_variable": "24_messages",
    "eq:gaussian_family": "23_rs_gaussian",
    "eq:approximate_one": "37_densities",
    "eq:approximate_two": "37_densities",
    "algo:rVAMP": ALGORITHM,
}
SOON = 5  # a check comes within so many cells of its equation
each_chapter = pytest.mark.parametrize(
    "path", CHAPTERS, ids=[path.stem for path in CHAPTERS]
)


def is_check(cell):
    """Whether this is code that is always run (no solution) and asserts something."""
    if cell.cell_type != "code" or "solution" in cell.metadata.get("tags", []):
        return False
    for node in ast.walk(ast.parse(cell.source)):
        called = (
            getattr(node.func, "attr", getattr(node.func, "id", ""))
            if isinstance(node, ast.Call)
            else ""
        )
        if isinstance(node, ast.Assert) or called.startswith("assert_"):
            return True
    return False


@pytest.mark.parametrize("label", LABELS)
def test_a_label_is_derived_in_one_place_and_checked_there(label):
    places = [
        (path.stem, cells, k)
        for path in PATHS
        for cells in [read(path)]
        for k, cell in enumerate(cells)
        if cell.cell_type == "markdown" and f"\\tag{{{label}}}" in cell.source
    ]
    assert [stem for stem, *_ in places] == [LABELS[label]]
    [(_, cells, k)] = places
    assert any(map(is_check, cells[k + 1 : k + 1 + SOON])), "no executed check follows"


def test_no_label_of_the_paper_is_unknown():
    tags = {
        tag
        for path in PATHS
        for cell in read(path)
        if cell.cell_type == "markdown"
        for tag in re.findall(r"\\tag\{((?:eq|algo):[^}]+)\}", cell.source)
    }
    assert tags - set(LABELS) == {"eq:lasso"}  # which is section 5's


def table_rows(stem, heading):
    """The rows of the table under a heading, as lists of cells."""
    [text] = [
        cell.source
        for cell in read(APPENDIX / f"{stem}.ipynb")
        if cell.cell_type == "markdown" and heading in cell.source
    ]
    lines = [
        line for line in text.partition(heading)[2].splitlines() if line.startswith("|")
    ]
    return [[part.strip() for part in line.strip("|").split("|")] for line in lines[2:]]


def test_the_table_of_labels_is_complete_and_true():
    rows = table_rows(ALGORITHM, "## Where each labelled equation is derived")
    table = {}
    for label, reference, chapter, check in rows:
        assert reference == f"`{label.strip('`')}`" and check
        table[label.strip("`")] = re.search(
            r"\((?:\.\./course/)?(\w+)\.ipynb\)", chapter
        )[1]
    assert len(rows) == len(table) and table == LABELS


def test_every_erratum_has_its_section_and_fails_and_holds():
    """Each row of the table has a section of its own, with a check of the print and
    one of the correction.
    """
    [table] = [
        cell.source
        for cell in read(APPENDIX / "errata.ipynb")
        if "| E1 |" in cell.source
    ]
    numbers = re.findall(r"^\| (E\d+) \|", table, re.MULTILINE)
    assert (
        numbers == [f"E{k}" for k in range(1, len(numbers) + 1)] and len(numbers) >= 15
    )
    checks, section = dict.fromkeys(numbers, 0), None
    for cell in read(APPENDIX / "errata.ipynb"):
        if match := cell.cell_type == "markdown" and re.match(
            r"## (E\d+)\. ", cell.source
        ):
            section = match[1]
        elif section and is_check(cell):
            checks[section] += 1
    assert min(checks.values()) >= 2, checks


def test_the_names_in_the_table_of_notation_are_looked_up_and_exist():
    cells = read(APPENDIX / "notation.ipynb")
    tables = "\n".join(
        line
        for cell in cells
        if cell.cell_type == "markdown"
        for line in cell.source.splitlines()
        if line.startswith("|")
    )
    written = set(
        re.findall(r"`((?:[a-z_]+\.)+(?:[A-Z]\w*(?:\.\w+)*|[a-z_]\w*))`", tables)
    )
    [listed] = [
        cell.source.split('"""')[1].split()
        for cell in cells
        if cell.source.startswith('names = """')
    ]
    assert written == set(listed)
    for name in written:
        folder, name = re.match(
            r"((?:algorithm|course|inference|select|tables)\.)?(.*)", name
        ).groups("")
        module, thing, *field = name.split(".")
        module = folder + module
        found = getattr(importlib.import_module(f"rvamp_nb.{module}"), thing)
        assert all(
            part
            in getattr(
                found, "__dataclass_fields__", getattr(found, "__annotations__", {})
            )
            or hasattr(found, part)
            for part in field
        ), name


def test_the_functions_in_the_table_of_lines_exist():
    [table] = [
        cell.source
        for cell in read(APPENDIX / f"{ALGORITHM}.ipynb")
        if "| Line |" in cell.source
    ]
    names = set(
        re.findall(
            r"`(algorithm\.(?:start|step|iteration|solver|prior|likelihood|messages|coupling"
            r"|lmmse)\.[\w.]+)`",
            table,
        )
    )
    assert len(names) > 10
    for name in names:
        folder, module, thing, *field = name.split(".")
        found = getattr(importlib.import_module(f"rvamp_nb.{folder}.{module}"), thing)
        assert all(
            part
            in getattr(
                found, "__dataclass_fields__", getattr(found, "__annotations__", {})
            )
            or hasattr(found, part)
            for part in field
        ), name


@each_chapter
def test_a_chapter_has_two_exercises(path):
    exercises = [c for c in read(path) if c.source.startswith("**Exercise")]
    assert len(exercises) >= 2


def draws_sliders(cell):
    calls = (
        [
            node
            for node in ast.walk(ast.parse(cell.source))
            if isinstance(node, ast.Call)
        ]
        if cell.cell_type == "code"
        else []
    )
    moving = {"sliders", "explore", "diabetes_explorer"}
    return any(getattr(call.func, "id", "") in moving for call in calls)


@each_chapter
def test_a_slider_is_followed_by_questions_and_a_picture(path):
    cells = read(path)
    for k, cell in enumerate(cells):
        if draws_sliders(cell):
            asked, pictured = False, False
            for after in cells[k + 1 : k + 4]:
                asked |= (
                    "**Move it and answer.**" in after.source
                    and len(re.findall(r"(?<!\S)[1-9]\. ", after.source)) >= 2
                )
                pictured |= any(
                    "image/png" in output.get("data", {})
                    for output in after.get("outputs", [])
                )
            assert asked and pictured, cell.source[-80:]


def test_the_theory_and_the_algorithm_have_sliders():
    """No two chapters in a row are without."""
    moved = [any(map(draws_sliders, read(path))) for path in DERIVED]
    still = [
        (path.stem, after.stem)
        for path, after, *moves in zip(DERIVED, DERIVED[1:], moved, moved[1:])
        if not any(moves)
    ]
    assert still == []


STANDING = {  # letters of the whole course, and a word that their meaning has
    "M": "row|point",
    "N": "column",
    "y": "target|response|observed|residual",
    "c": "count|drawn|in the sample",
    r"\lambda": "penalty",
    r"\beta": "temperature",
    r"\tau": "mean",
    r"\xi": "noise|normal",
    r"\Pi": "probabilit",
    r"\chi": "response|moment",
    r"\hat Q": "precision|message",
    r"\hat\chi": "variance|message",
}
ROW = re.compile(r"^\| (.+?) \| (.+) \|$", re.MULTILINE)
# arguments of a function, and the number of a copy, which stands in brackets alone
ARGUMENT = re.compile(r"(?<=[\w}'])\([^)]*\)|^\(a\)$")
LETTERS = re.compile(r"(?:^|[,;(] *)(\\\w+|\\hat *\\?\w+|\w)(?=[,;)]|$)")


def letters(path):
    """[(letter, its meaning)] of a chapter, from the table at its head."""
    tables = [c.source for c in read(path) if "| letter | meaning" in c.source]
    for left, meaning in (row for table in tables for row in ROW.findall(table)):
        for formula in re.findall(r"\$([^$]+)\$", left):
            formula = ARGUMENT.sub("", formula)
            yield from ((letter, meaning) for letter in LETTERS.findall(formula))


def test_a_letter_has_one_meaning():
    """Those of the whole course everywhere the same one, and every letter in its
    chapter.
    """
    found = {path.stem: list(letters(path)) for path in COURSE}
    assert sum(map(len, found.values())) > 150
    for stem, pairs in found.items():
        for letter, meaning in pairs:
            assert re.search(STANDING.get(letter, ""), meaning), (stem, letter, meaning)
        twice = [a for a, n in Counter(a for a, _ in pairs).items() if n > 1]
        assert twice == [], (stem, twice)
