"""The conventions of a chapter, on which readers, the site and the other tests rely."""

import ast
import re
import statistics
import unicodedata
from collections import Counter
from pathlib import Path

import minutes
import numpy as np
import plain
import pytest
from house import parsed
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from notebooks import (
    COURSE,
    PATHS,
    ROOT,
    WORKSHOP,
    cells,
    chapter_number,
    each,
    notebook,
)

FOLDERS = "course", "workshop", "howto", "appendix"
each_notebook, each_chapter = each(PATHS), each(COURSE + WORKSHOP)

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
# a line says one thing: a fourth more lines than when two things stood on one
LONGEST = 31  # lines of code in an exported cell of a chapter
MEDIAN = 16
ONE_THOUGHT = 100  # in a room of the workshop, and in a cell that a chapter folds
A_CLASS = 112  # in any cell that holds one class, which is not cut into pieces
SHOWN, BARE = 0.70, 0.15  # exported cells with a demo at once; lines without a sentence
LETTERED = [path for path in COURSE if path.stem[0] in "2345"]  # with a box of letters
WIDTH = 88  # columns of printed output
EXPORTS = re.compile(r"^#\| *(?:default_exp|exporti?s?) +(\S+)", re.MULTILINE)
REFERENCE = re.compile(
    r"\b[Cc]hapters?\s+(\d+(?:\.\d+)*(?:(?:,|,? and| to|–|-)\s?\d+(?:\.\d+)*)*)"
)
LINKED = re.compile(r"\[([^\]]*)\]\(([\w./-]+\.ipynb)(?:#([^)\s]*))?\)")


def disorder(places):
    """What is wrong with notebooks that lie at ``places``, relative to nbs/."""
    stems = Counter(place.stem for place in places)
    yield from (f"two notebooks are called {stem}" for stem in stems if stems[stem] > 1)
    numbers = {}
    for place in places:
        if place.parent.as_posix() not in FOLDERS and place.name != "index.ipynb":
            yield f"{place} is in none of {', '.join(FOLDERS)}"
        elif place.parent.name == "course":
            if not re.match(r"[1-9]{2}_[a-z]", place.stem):
                yield f"{place} has no part and place, as 31_prior has"
            else:
                numbers.setdefault(place.stem[0], []).append(int(place.stem[1]))
        elif re.match(r"\d", place.stem):
            yield f"{place} has a number, which only a chapter has"
    for part, found in sorted(numbers.items()):
        for number in range(1, max(found) + 1):
            if found.count(number) != 1:
                times = "left out" if number not in found else "taken twice"
                yield f"chapter {part}.{number} is {times}"
    if [*numbers] != [str(k) for k in range(1, len(numbers) + 1)]:
        yield f"the parts are {', '.join(numbers)}"


def test_the_notebooks_are_in_order():
    assert [*disorder([path.relative_to(ROOT / "nbs") for path in PATHS])] == []


@pytest.mark.parametrize(
    "added, told",
    [
        ("notes.ipynb", "notes.ipynb is in none of course, workshop, howto, appendix"),
        ("more/notes.ipynb", "more/notes.ipynb is in none of"),
        ("course/deep/23_notes.ipynb", "course/deep/23_notes.ipynb is in none of"),
        ("howto/solver.ipynb", "two notebooks are called solver"),
        ("course/21_notes.ipynb", "chapter 2.1 is taken twice"),
        ("course/24_notes.ipynb", "chapter 2.3 is left out"),
        ("course/51_notes.ipynb", "the parts are 1, 2, 5"),
        ("course/notes.ipynb", "course/notes.ipynb has no part and place"),
        ("workshop/70_notes.ipynb", "workshop/70_notes.ipynb has a number"),
    ],
)
def test_a_notebook_out_of_order_is_named(added, told):
    places = "index", "course/11_a", "course/21_b", "course/22_c", "workshop/solver"
    assert [*disorder([Path(f"{place}.ipynb") for place in places])] == []
    places = sorted([*(f"{place}.ipynb" for place in places), added])
    [found] = disorder([Path(place) for place in places])
    assert found.startswith(told)


def homes(exported):
    """Modules that are not what one notebook exports, from {notebook: the modules that
    its cells name}, and notebooks that export to several.
    """
    makers = {}
    for place, modules in exported.items():
        if len(modules) > 1:
            yield f"{place} exports {' and '.join(sorted(modules))}"
        for module in modules:
            makers.setdefault(module, []).append(place)
    for module, places in makers.items():
        if len(places) > 1:
            yield f"{module} is exported by {' and '.join(sorted(places))}"


def test_a_notebook_has_one_module_and_a_room_of_the_workshop_its_name():
    exported = {
        path.stem: set(
            EXPORTS.findall("\n".join(c.source for c in cells(path, "code")))
        )
        for path in PATHS
    }
    assert [*homes(exported)] == []
    named = {path.stem: path.stem for path in WORKSHOP}
    assert named == {stem: "".join(exported[stem]).rpartition(".")[2] for stem in named}


def test_a_module_of_two_notebooks_is_named():
    assert [*homes({"a": {"x"}, "b": {"y"}, "c": set()})] == []
    [found] = homes({"a": {"x"}, "b": {"x"}})
    assert found == "x is exported by a and b"
    [found] = homes({"a": {"x", "y"}})
    assert found == "a exports x and y"


@each_notebook
def test_the_first_cell_is_a_title_and_one_line(path):
    assert re.fullmatch(r"# [^\n]+\n+> [^\n]+", notebook(path).cells[0].source)


@each_chapter
def test_a_chapter_says_what_it_asks_and_where_it_leads(path):
    nb = notebook(path)
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


@each(plain.FILES)
def test_no_word_of_a_plain_module_belittles(path):
    assert BELITTLING.findall(plain.docstring(path)) == []


@each_notebook
def test_no_warning_or_progress_bar_is_committed(path):
    assert [
        output.text
        for cell in cells(path, "code")
        for output in cell.outputs
        if output.get("name") == "stderr"
    ] == []


@each_notebook
def test_no_state_of_widgets_is_committed(path):
    """It is long, dead without a kernel, and never the only picture."""
    remedy = "run it with tests/helpers/execute.py"
    assert set(notebook(path).metadata) <= {"kernelspec"}, remedy


@each_notebook
def test_an_exercise_has_a_folded_solution(path):
    all_cells = notebook(path).cells
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
            assert tags[:2] == ["solution", "hide-cell"] and tags[2:] in ([], ["check"])
            assert cell.metadata.get("jupyter") == {
                "source_hidden": True,
                "outputs_hidden": True,
            }


@each_notebook
def test_what_is_folded_on_the_site_is_folded_in_jupyterlab(path):
    for cell in cells(path, "code"):
        if "hide-cell" in cell.metadata.get("tags", []):
            hidden = cell.metadata.get("jupyter", {}).get("source_hidden")
            assert hidden, f"no source_hidden: {cell.source[:80]}"


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
            new_code_cell("x = 1\n" * 28),
            new_code_cell("#| export\n" + "x = 1\n" * 90),
            new_code_cell("x = 1", metadata={"tags": ["hide-cell"]}),
            new_code_cell("#| hide\nx = 1"),
            new_markdown_cell(prose, metadata={"tags": ["solution"]}),
        ]
    )
    counted = minutes.count(nb)
    assert counted == (300 + 2 + 7, 28, 90, 1)
    assert counted.minutes == pytest.approx(309 / 130 + 2 + 2 + 2)
    assert minutes.said(nb) == 65 and not minutes.is_honest(nb)


@pytest.mark.parametrize(
    "named, text", [(45, "45 minutes"), (60, "1 hour"), (125, "2 hours and 5 minutes")]
)
def test_minutes_are_read_and_written(named, text):
    nb = new_notebook(
        cells=[new_markdown_cell("x"), new_markdown_cell(f"Some. {text}.")]
    )
    assert minutes.said(nb) == named and minutes.in_words(named) == text


def most_lines(cell, in_workshop):
    """How many lines of code an exported cell may have."""
    if [type(part) for part in parsed(cell.source).body] == [ast.ClassDef]:
        return A_CLASS
    return ONE_THOUGHT if in_workshop or minutes.is_folded(cell) else LONGEST


def too_long(nb, in_workshop=False):
    """The exported cells that have more lines of code than they may."""
    for cell in minutes.exported_cells(nb):
        if cell[0] > most_lines(nb.cells[cell[1]], in_workshop):
            yield cell


@each_notebook
def test_exported_cells_are_short(path):
    """One idea a cell: python tests/helpers/minutes.py --cells lists the long ones."""
    assert [*too_long(notebook(path), path in WORKSHOP)] == []


# chapters that import what a later chapter derives: to be taken off one by one
# (the bootstrap's signature is that of rvamp: it names priors and losses)
LOOK_AHEAD = {"14_bootstrap", "43_state_evolution"}


def is_half_package(nb):
    """Check whether a chapter has more exported lines than lines of its own."""
    exported, lesson = minutes.code_shares(nb)
    return exported > lesson


def looks_ahead(path):
    """Check whether a chapter imports from a later one."""
    later = [
        number
        for cell in cells(path, "code")
        for number in re.findall(r"import .*# chapter (\d\.\d)", cell.source)
    ]
    return any(number > chapter_number(path) for number in later)


def test_a_lesson_is_no_package_code():
    """The plain lines that matter stand in the chapter, longer versions in the
    workshop: python tests/helpers/minutes.py --shares
    """
    assert [p.stem for p in COURSE if is_half_package(notebook(p))] == []
    assert {p.stem for p in COURSE if looks_ahead(p)} <= LOOK_AHEAD


def test_package_code_in_a_lesson_is_found():
    exported = new_code_cell("#| export\nx = 1\ny = 2")
    lesson = [new_code_cell("z = 3\n# half"), new_code_cell("z = 4")]
    assert is_half_package(new_notebook(cells=[exported, lesson[0]]))
    assert not is_half_package(new_notebook(cells=[exported, *lesson]))


def too_long_in(source):
    """What a plain module defines in more lines than a cell of the workshop may have:
    (lines, name).
    """
    written = source.split("\n")  # once: for each node it takes as long as all else
    for node in ast.parse(source).body:
        own = "\n".join(written[node.lineno - 1 : node.end_lineno])
        lines = minutes.code_lines(own)
        most = A_CLASS if isinstance(node, ast.ClassDef) else ONE_THOUGHT
        if hasattr(node, "name") and lines > most:
            yield lines, node.name


@each(plain.FILES)
def test_functions_of_a_plain_module_are_short(path):
    assert [*too_long_in(path.read_text(encoding="utf-8"))] == []


def test_a_long_function_of_a_plain_module_is_found():
    function, kind = "def f():" + "\n    x = 1" * 100, "class A:" + "\n    x = 1" * 112
    assert [*too_long_in(f"{function}\n\n\n{kind}")] == [(101, "f"), (113, "A")]
    assert [*too_long_in(f"{function}\n{kind}".replace("x = 1", "# x", 1))] == [
        (113, "A")
    ]


@pytest.mark.parametrize(
    "head, lines, folded, in_workshop, fits",
    [
        ("def f():", 31, False, False, True),
        ("def f():", 32, False, False, False),
        ("def f():", 100, True, False, True),
        ("def f():", 101, True, False, False),
        ("def f():", 100, False, True, True),
        ("def f():", 101, False, True, False),
        ("class A:", 112, False, False, True),
        ("class A:", 112, True, False, True),
        ("class A:", 112, False, True, True),
        ("class A:", 113, False, False, False),
        ("class A:", 113, False, True, False),
        ("x = 1\nclass A:", 50, False, False, False),
    ],
)
def test_a_long_cell_is_found(head, lines, folded, in_workshop, fits):
    body = "\n    x = 1" * (lines - head.count("\n") - 1)
    cell = new_code_cell(f"#| export\n{head}{body}")
    cell.metadata["tags"] = ["hide-cell"] if folded else []
    assert ([*too_long(new_notebook(cells=[cell]), in_workshop)] == []) == fits


def test_most_exported_cells_are_shorter_still(capsys):
    lengths = [
        (lines, path.stem)
        for path in COURSE
        for lines, *_ in minutes.exported_cells(notebook(path))
    ]
    median = statistics.median(length for length, _ in lengths)
    with capsys.disabled():
        print(
            f"\n{len(lengths)} exported cells: median {median:g} lines of code, longest"
            f" {max(lengths)[0]} ({max(lengths)[1]})"
        )
    assert median <= MEDIAN


def exports(nb):
    """(lines, whether prose comes before, whether a demo follows) of each exported cell
    that defines something; prose may stand before the demo. Folded ones are not seen.
    """
    exported = minutes.is_exported
    seen = [
        cell for cell in nb.cells if not (exported(cell) and minutes.is_folded(cell))
    ]
    for k, cell in enumerate(seen):
        lines = [line for line in cell.source.splitlines()[1:] if line.strip()]
        defines = any(
            re.match(r"def|class|@|\w+(, \w+)* [+]?=", line) for line in lines
        )
        if exported(cell) and defines:
            code = (after for after in seen[k + 1 :] if after.cell_type == "code")
            shown = not exported(next(code, cell))
            yield len(lines), seen[k - 1].cell_type == "markdown", shown


def test_the_course_shows_what_it_exports(capsys):
    """No chapter of the course falls back to code that nobody introduces or tries."""
    found = [row for path in COURSE for row in exports(notebook(path))]
    lines, introduced, shown = map(np.array, zip(*found))
    bare = lines[~introduced].sum() / lines.sum()
    with capsys.disabled():
        print(f"\nof {len(found)} exported cells {shown.mean():.1%} are shown at work")
        print(f"of their {lines.sum()} lines {bare:.1%} follow no prose")
    assert shown.mean() >= SHOWN and bare <= BARE


def test_exports_are_seen():
    code = "#| export\ndef f():\n    return 1"
    folded = lambda: new_code_cell(code, metadata={"tags": ["hide-cell"]})
    cells = [new_markdown_cell("why"), folded(), new_code_cell(code)]
    cells += [new_code_cell(code), folded(), new_markdown_cell("so")]
    nb = new_notebook(cells=[*cells, new_code_cell("f()")])
    assert [*exports(nb)] == [(2, True, False), (2, False, True)]


@each_chapter
def test_a_chapter_names_honest_minutes(path):
    """python tests/helpers/minutes.py says what to write."""
    nb = notebook(path)
    counted = minutes.count(nb)
    assert minutes.is_honest(nb), (
        f"says {minutes.said(nb)} minutes; counted {counted.minutes:.0f}: {counted}"
    )


def test_no_chapter_of_the_course_is_too_long():
    """Without starred sections 90 minutes at most. The whole has no limit: a sentence
    may be added without one being cut.
    """
    took = {
        path.stem: minutes.count(minutes.without_stars(notebook(path))).minutes
        for path in COURSE
    }
    assert max(took.values()) <= 90, took


def test_starred_sections_end_where_their_level_does():
    parts = "# a", "b", "## ★ c", "d", "### e", "f", "## g", "### ★ h", "# i"
    kept = minutes.without_stars(
        new_notebook(cells=[new_markdown_cell(part) for part in parts])
    ).cells
    assert [cell.source for cell in kept] == ["# a", "b", "## g", "# i"]


@pytest.mark.parametrize(
    "parts, kept",
    [
        (["# a\n## b\n## ★ c\nd", "e"], ["# a\n## b\n"]),
        (["# a", "b\n\n## ★ c", "d\n## e"], ["# a", "b\n\n", "## e"]),
        (["# a", "## ★ b\n### c\n## d\n### ★ e\n### f"], ["# a", "## d\n### f"]),
        (["## ★ b", "```sh\n# c\n```\nd", "## e"], ["## e"]),
    ],
)
def test_of_a_cell_with_both_kinds_of_headings_the_plain_part_is_kept(parts, kept):
    nb = new_notebook(cells=[new_markdown_cell(part) for part in parts])
    assert [cell.source for cell in minutes.without_stars(nb).cells] == kept


def numbered(text):
    """How many items a list has that is written 1. 2. 3., in lines or in a row; "8. "
    at the end of a sentence is none.
    """
    items = 0
    for number in re.findall(r"(?<!\S)([1-9])\. ", text):
        items += int(number) == items + 1
    return items


def test_items_are_counted():
    assert numbered("1. Is it 8. or 9? 2. Where? 3. With 2. what?") == 3


ANSWERS = re.compile(
    r"<details><summary><b>Answers</b></summary>\n\n(.*?)\n\n</details>", re.DOTALL
)


@each_notebook
def test_every_question_under_a_slider_has_its_answer(path):
    for cell in cells(path, "markdown"):
        if "**Move it and answer.**" in cell.source:
            questions, *answers = ANSWERS.split(cell.source)
            asked = numbered(questions)
            assert asked >= 2
            assert answers and numbered(answers[0]) == asked, cell.source[:150]
            in_lines = re.findall(r"^[1-9]\. ", answers[0], re.MULTILINE)
            assert len(in_lines) == asked, "one answer a line: else it is no list"


LETTERS = re.compile(
    r"<details><summary><b>Letters</b></summary>\n\n"
    r"\| letter \| meaning \|\n\|[-:]+\|[-:]+\|\n((?:\|.*\|\n)+)\n</details>"
)


def letters(path):
    """The first column of a chapter's box of letters, or None without one."""
    boxes = [
        match
        for cell in cells(path, "markdown")[2:4]
        if (match := LETTERS.fullmatch(cell.source))
    ]
    return (
        [row.split("|")[1].strip() for row in boxes[0][1].splitlines()]
        if boxes
        else None
    )


@each(LETTERED)
def test_a_chapter_with_mathematics_has_a_box_of_letters(path):
    """Folded, after the second cell, and no letter twice."""
    found = letters(path)
    if minutes.count(notebook(path)).formulas:
        assert found and len(found) == len(set(found))


STARRED = re.compile(r"^#+ ★ .*\n+([^.;:]*)", re.MULTILINE)
NOT_NEEDED = re.compile(r"\b(?:not need|not needed|nothing \w+ needs|may skip)\b", re.I)


@each_notebook
def test_a_starred_section_says_that_it_may_be_skipped(path):
    text = "\n\n".join(cell.source for cell in cells(path, "markdown"))
    titles = re.findall(r"^#+ .*★", text, re.MULTILINE)
    assert len(titles) == len(STARRED.findall(text))
    assert [said for said in STARRED.findall(text) if not NOT_NEEDED.search(said)] == []


def numbers_meant(text):
    """Every chapter that "chapters 2.1, 2.2 and 2.4" names; "2.1 to 2.4" names its
    ends.
    """
    return [
        number
        for match in REFERENCE.finditer(text)
        for number in re.findall(r"\d+(?:\.\d+)*", match[1])
    ]


def test_references_are_read():
    text = "Chapter 1.4, chapters 2.1, 2.2 and 2.4; chapters 3.1 to 3.7 (chapter 41). 5"
    numbers = ["1.4", "2.1", "2.2", "2.4", "3.1", "3.7", "41"]
    assert numbers_meant(text) == numbers


def slugs(path):
    """The anchors of a notebook's headings, as Jupyter and the site name them."""
    heads = re.findall(
        r"^#+ (.+)$",
        "\n".join(cell.source for cell in cells(path, "markdown")),
        re.MULTILINE,
    )
    return {
        re.sub(r"[^\w -]", "", head).strip().replace(" ", "-").lower() for head in heads
    }


def prose_of_the_repository(repository_files):
    """{file: its text}: notebooks without their outputs, and all else that is read."""
    for name in repository_files:
        path = ROOT / name
        if name.suffix == ".ipynb":
            yield (name, "\n\n".join(cell.source for cell in notebook(path).cells))
        elif (
            name.suffix in {".md", ".py", ".js", ".css", ".cff"}
            and name.name != Path(__file__).name
        ):
            yield name, path.read_text(encoding="utf-8")


NUMBERED = {path: chapter_number(path) for path in COURSE}
# Where the pages lie, or seem to, that are made of the files of a folder.
MADE_IN = {"docs": "nbs", "templates": "nbs/appendix"}
MADE_UP = {  # files with links to nowhere
    "docs/translate.py",
    "tests/helpers/routes.py",
    "tests/pages/test_routes.py",
    "tests/pages/test_site.py",
}


def test_every_chapter_that_is_named_is_there(repository_files):
    found = [
        (str(name), number)
        for name, text in prose_of_the_repository(repository_files)
        for number in numbers_meant(LINKED.sub(lambda m: m[1], text))
        if number not in NUMBERED.values()
    ]
    assert found == []


def lost(shown, target, anchor, folder):
    """What is wrong with a link to a notebook, as a file in ``folder`` has it: "" if it
    arrives and names its chapter rightly.
    """
    path = (folder / target).resolve()
    if path not in PATHS:
        return "no such notebook"
    named = re.match(r"(?:[Cc]hapters? )?(\d+(?:\.\d+)*)(?!\S)", shown)
    if named and named[1] != NUMBERED.get(path):
        return f"is {NUMBERED.get(path, 'no chapter')}"
    if anchor and anchor.lower() not in slugs(path):
        return "no such section"
    return ""


def test_a_link_to_a_notebook_arrives_and_has_its_number(repository_files):
    wrong = []
    for name, text in prose_of_the_repository(repository_files):
        if str(name) in MADE_UP:
            continue
        as_if_in = MADE_IN.get(name.parent.name, name.parent)
        for link in LINKED.findall(text):
            if not re.match("[a-z]+:", link[1]):
                why = lost(*link, ROOT / as_if_in)
                wrong += [(str(name), *link, why)] if why else []
    assert wrong == []


def test_a_lost_link_is_found():
    at = ROOT / "nbs" / "course"
    links = {
        "[chapter 2.4](24_messages.ipynb)": "",
        "[Kinds](../course/24_messages.ipynb)": "",
        "[chapter 2.4](07_messages.ipynb)": "no such notebook",
        "[chapter 2.4](../24_messages.ipynb)": "no such notebook",
        "[chapter 3.1](24_messages.ipynb)": "is 2.4",
        "[7](../workshop/solver.ipynb)": "is no chapter",
        "[there](24_messages.ipynb#nowhere-at-all)": "no such section",
    }
    assert {link: lost(*LINKED.findall(link)[0], at) for link in links} == links


@each_notebook
def test_a_link_to_a_module_arrives(path):
    text = "\n".join(cell.source for cell in cells(path, "markdown"))
    links = re.findall(r"\]\(([\w./-]+\.py)\)", text)
    assert [link for link in links if not (path.parent / link).is_file()] == []


def led_to(path, text):
    """The notebooks to which the links in a text of the notebook ``path`` lead."""
    return [(path.parent / link[1]).resolve() for link in LINKED.findall(text)]


def astray(path, last, course):
    """What is wrong with where a chapter, by its ``last`` cell, leads first: "" if it
    is the next one, or a how-to or an appendix after the last one.
    """
    first = next(iter(led_to(path, last)), path)
    after = course[course.index(path) + 1 :]
    if after:
        return "" if first == after[0] else f"{first.stem}, not {after[0].stem}"
    at_an_end = first.parent.name in {"howto", "appendix"}
    return "" if at_an_end else f"{first.stem}, not a how-to or an appendix"


@each(COURSE)
def test_a_chapter_leads_to_the_next(path):
    assert astray(path, notebook(path).cells[-1].source, COURSE) == ""


def test_a_chapter_that_leads_astray_is_found():
    course = [ROOT / "nbs" / "course" / f"{stem}.ipynb" for stem in ("11_a", "12_b")]
    links = "[2](12_b.ipynb), or [how](../howto/c.ipynb)", "[how](../howto/c.ipynb)"
    assert [*map(astray, course, links, [course] * 2)] == ["", ""]
    assert astray(course[0], links[1], course) == "c, not 12_b"
    assert astray(course[0], "nowhere", course) == "11_a, not 12_b"
    assert astray(course[1], links[0], course) == "12_b, not a how-to or an appendix"


def test_the_map_of_the_tour_is_in_reading_order():
    tour, *others = COURSE
    [text] = [
        cell.source.partition("## What the course explains")[2]
        for cell in cells(tour, "markdown")
        if "## What the course explains" in cell.source
    ]
    assert [path for path in led_to(tour, text) if path.parent == tour.parent] == others


def columns(line):
    """How many columns a line takes: accents stand on their letter."""
    return sum(not unicodedata.combining(letter) for letter in line)


def printed(cell):
    """What a cell prints, as a page shows it: no text where there is a picture, a table
    or a widget.
    """
    for output in cell.outputs:
        data = output.get("data", {})
        if not any(
            kind.startswith(("image/", "text/html", "application/")) for kind in data
        ):
            yield output.get("text", data.get("text/plain", ""))


@each_notebook
def test_no_line_is_too_long(path):
    """Printed, or of code (of which ruff lets long addresses pass)."""
    texts = [cell.source for cell in cells(path, "code")]
    texts += [text for cell in cells(path, "code") for text in printed(cell)]
    lines = [line for text in texts for line in text.splitlines()]
    assert [(columns(line), line) for line in lines if columns(line) > WIDTH] == []


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
