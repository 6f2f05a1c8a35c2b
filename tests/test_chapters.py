"""The conventions of a chapter, on which readers, the site and the other tests rely."""

import re
import statistics
from pathlib import Path

import minutes
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

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
BEING_SPLIT = {  # chapters at which somebody is at work
    "01_resampling",
    "03_bootstrap",
    "08_prior",
    "09_likelihood",
    "10_coupling",
    "12_rvamp",
    "13_densities",
    "16_trust",
    "18_error_control",
    "19_stability",
    "22_cli",
    "80_explore",
}


def cells(path, kind):
    return [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == kind]


@each_notebook
def test_the_first_cell_is_a_title_and_one_line(path):
    assert re.fullmatch(r"# [^\n]+\n+> [^\n]+", nbformat.read(path, 4).cells[0].source)


@each_chapter
def test_a_chapter_says_what_it_asks_and_where_it_leads(path):
    nb = nbformat.read(path, 4)
    assert minutes.said(nb), "the second cell says how long the chapter takes"
    assert nb.cells[-1].source.startswith("**Where this goes next.**")


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


@pytest.mark.parametrize(
    "code, lines",
    [
        ("x = 1\n\n# said\ny = 2", 2),
        ('def f(a, b):\n    """Of a.\n\n    And b.\n    """\n    return a', 2),
        ("def f(\n    a: int,\n    *,\n    b=1,\n) -> int:\n    return a", 2),
        ("x = f(\n    [\n        1,\n    ]\n)", 2),
        ("class A:\n    a: int\n\n    def f(\n        self\n    ):\n        pass", 4),
        ("%matplotlib inline\nx = 1", 1),
    ],
)
def test_lines_of_code_are_counted(code, lines):
    assert minutes.code_lines(code) == lines


def test_what_is_folded_takes_no_time():
    prose = "word " * 300 + "\n$$\nx = y\n$$\n"
    nb = new_notebook(
        cells=[
            new_markdown_cell("# Title\n> Lead."),
            new_markdown_cell("*For you. 1 hour and 5 minutes.*"),
            new_markdown_cell(f"{prose}<details><summary>a</summary>{prose}</details>"),
            new_code_cell("x = 1\n" * 40),
            new_code_cell("x = 1", metadata={"tags": ["hide-cell"]}),
            new_code_cell("#| hide\nx = 1"),
            new_markdown_cell(prose, metadata={"tags": ["solution"]}),
        ]
    )
    counted = minutes.count(nb)
    assert counted == (300 + 2 + 7, 40, 1)
    assert counted.minutes == pytest.approx(309 / 150 + 2 + 2)
    assert minutes.said(nb) == 65 and not minutes.is_honest(nb)


@pytest.mark.parametrize(
    "named, text", [(45, "45 minutes"), (60, "1 hour"), (125, "2 hours and 5 minutes")]
)
def test_minutes_are_read_and_written(named, text):
    nb = new_notebook(
        cells=[new_markdown_cell("x"), new_markdown_cell(f"Some. {text}.")]
    )
    assert minutes.said(nb) == named and minutes.in_words(named) == text


def test_exported_cells_are_short(capsys):
    lengths = [
        (minutes.code_lines(cell.source), path.stem, cell.source.split("\n")[1])
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
    assert [
        cell for cell in lengths if cell[0] > LONGEST and cell[1] not in BEING_SPLIT
    ] == []
    assert median <= MEDIAN or BEING_SPLIT


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
