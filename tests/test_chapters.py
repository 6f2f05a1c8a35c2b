"""The conventions of a chapter, on which readers, the site and the other tests rely."""

import ast
import re
import statistics
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
PATHS = sorted((ROOT / "nbs").rglob("[!_.]*.ipynb"))
# in the reading order: no index, no appendix
CHAPTERS = [path for path in PATHS if re.match(r"[0-7]\d_", path.name)]
each_notebook = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
each_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)

# Words that tell a reader who is stuck that it is their fault; "just" only where it is
# not about place or time.
PLACE_OR_TIME = r"(?! (?:above|below|before|after|as|now|enough)\b)"
BELITTLING = re.compile(
    r"\b(?:clearly|obviously|trivially|simply|it is easy to"
    rf" see|just{PLACE_OR_TIME})\b",
    re.IGNORECASE,
)
MACHINE = re.compile(
    r"(?<![\w.])/(?:work|root|home|tmp|Users)/\w|(?:pypi|npmjs|pythonhosted|debian)\.(?:org|com)\b"
)
PICTURE = re.compile(r'"image/(?:png|jpeg)": "[^"]*"')
LONGEST, MEDIAN = 25, 12  # lines of code in an exported cell


def cells(path, kind):
    return [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == kind]


@each_notebook
def test_the_first_cell_is_a_title_and_one_line(path):
    assert re.fullmatch(r"# [^\n]+\n+> [^\n]+", nbformat.read(path, 4).cells[0].source)


@each_chapter
def test_a_chapter_says_what_it_asks_and_where_it_leads(path):
    first, second, *_, last = nbformat.read(path, 4).cells
    assert re.search(r"\d+ minutes", second.source), (
        "the second cell says how long the chapter takes"
    )
    assert last.source.startswith("**Where this goes next.**")


@each_notebook
def test_no_word_belittles(path):
    found = [
        match[0]
        for cell in cells(path, "markdown")
        for match in BELITTLING.finditer(cell.source)
    ]
    assert found == []


@each_notebook
def test_no_warning_or_progress_bar_is_committed(path):
    assert [
        output.text
        for cell in cells(path, "code")
        for output in cell.outputs
        if output.get("name") == "stderr"
    ] == []


@each_notebook
def test_an_exercise_has_a_folded_solution(path):
    all_cells = nbformat.read(path, 4).cells
    for cell, after in zip(all_cells, all_cells[1:] + [None]):
        tags = cell.metadata.get("tags", [])
        if cell.source.startswith("**Exercise"):
            assert after is not None and after.metadata.get("tags") == ["solution"], (
                f"no solution follows: {cell.source[:60]}"
            )
        if cell.cell_type == "markdown":
            assert ("<summary><b>Solution" in cell.source) == (tags == ["solution"])
            assert not tags or re.fullmatch(
                r"<details><summary>.*?</summary>\n\n.*\n\n</details>",
                cell.source,
                re.DOTALL,
            )
        elif "solution" in tags:
            assert tags == ["solution", "hide-cell"]
            assert cell.metadata.get("jupyter") == {
                "source_hidden": True,
                "outputs_hidden": True,
            }


def test_an_equation_is_derived_in_one_place():
    tags = [
        (tag, path.stem)
        for path in PATHS
        for cell in cells(path, "markdown")
        for tag in re.findall(r"\\tag\{([^}]+)\}", cell.source)
    ]
    names = [tag for tag, _ in tags]
    assert [tag for tag in tags if names.count(tag[0]) > 1] == []


def code_lines(source):
    """How many lines of code a cell has: no blank lines, comments or docstrings."""
    lines = {
        number
        for number, line in enumerate(source.splitlines(), 1)
        if line.strip() and not line.strip().startswith("#")
    }
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, (ast.FunctionDef, ast.ClassDef))
            and ast.get_docstring(node) is not None
        ):
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def test_exported_cells_are_short(capsys):
    lengths = [
        (code_lines(cell.source), path.stem, cell.source.split("\n")[1])
        for path in PATHS
        for cell in cells(path, "code")
        if re.match(r"#\s*\|\s*export", cell.source)
    ]
    median = statistics.median(length for length, *_ in lengths)
    with capsys.disabled():
        print(
            f"\n{len(lengths)} exported cells: median {median:g} lines of code, longest"
            f" {max(lengths)[0]} ({max(lengths)[1]})"
        )
    assert [cell for cell in lengths if cell[0] > LONGEST] == []
    assert median <= MEDIAN


def test_no_file_names_this_machine_or_a_registry(repository_files):
    found = []
    for name in repository_files:
        try:
            text = PICTURE.sub("", (ROOT / name).read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue  # a picture, or numbers
        found += [
            (str(name), text[max(0, match.start() - 20) : match.end() + 20])
            for match in MACHINE.finditer(text)
        ]
    assert found == []
