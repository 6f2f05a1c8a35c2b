"""The form of a chapter of the course: captions in a row, a recap, further reading,
graded exercises; and the field's words in the prose of all notebooks. (That links
arrive is in test_chapters, that exercises answer back in test_students.)
"""

import re

import minutes
import plain
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from notebooks import COURSE, PATHS, WORKSHOP, cells, chapter_number, each, notebook

CAPTION = re.compile(r"\*Figure (\d\.\d)\.(★?\d+)\.\*? +(?=\w)")
EXERCISE = re.compile(r"\*\*Exercise\*\* \((?:\\\*){1,3}[^)]*\)")
READING = re.compile(r"^\*Further reading:?\*:? .*\(?\d{4}\)?", re.MULTILINE)

# words that stand for what has a name in the field; "its own" and "tell apart" are
# plain English, and "who" is, too, where it is about a person
PRIVATE = re.compile(
    r"\b(?:told(?! apart)|said|unsaid|heard|hears?|hearing|worth|lights?|grains?|grainy"
    r"|doors?|rooms?|the last word|vouch(?:es)?(?: for)?)\b",
    re.IGNORECASE,
)
NO_PROSE = re.compile(
    r"```.*?```|`[^`\n]*`|\$\$.*?\$\$|\]\([^)\s]*\)|<[^>\n]*>", re.DOTALL
)


# contents.ipynb repeats the titles of all; a notebook of the workshop is called a room
# there, and one of them is the door
PROSE = [path for path in PATHS if path.stem != "contents"]


def has_picture(cell):
    return cell.cell_type == "code" and any(
        kind in output.get("data", {})
        for output in cell.outputs
        for kind in ("image/png", "image/svg+xml")
    )


def uncaptioned(nb, number):
    """What is wrong with the captions of a chapter: each picture has one directly
    below, they are counted from 1, those of starred sections from ★1, and none is
    folded with its code.
    """
    counts = {"": 0, "★": 0}
    plain = {cell.id for cell in minutes.without_stars(nb).cells}
    for cell, below in zip(nb.cells, [*nb.cells[1:], new_markdown_cell("")]):
        if has_picture(cell):
            star = "" if cell.id in plain else "★"
            counts[star] += 1
            count = f"{star}{counts[star]}"
            if cell.metadata.get("tags") == ["hide-cell"]:  # hide-input folds the code
                yield f"folded with its picture: {cell.source[:40]!r}"
            found = CAPTION.match(below.source)
            if below.cell_type != "markdown" or not found:
                yield f"no caption under {cell.source[:40]!r}"
            elif found.groups() != (number, count):
                yield f"{found[0].strip()} should be figure {number}.{count}"


def incomplete(nb):
    """What is missing at the end of a chapter."""
    texts = [cell.source for cell in nb.cells if cell.cell_type == "markdown"]
    recaps = [text for text in texts if text.startswith("**You now have**")]
    if len(recaps) != 1:
        yield f"{len(recaps)} recaps"
    elif not 3 <= len(re.findall(r"^\d\. ", recaps[0], re.MULTILINE)) <= 6:
        yield "a recap has three to six lines"
    if not any(map(READING.search, texts)):
        yield "no further reading with a year"
    exercises = [text for text in texts if text.startswith("**Exercise")]
    if len(exercises) < 2:
        yield f"{len(exercises)} exercises"
    yield from (
        f"no grade: {text[:40]}" for text in exercises if not EXERCISE.match(text)
    )


def private(text):
    """The private words of a text, without its code, formulas and links' targets."""
    return PRIVATE.findall(NO_PROSE.sub(" ", text))


@each(COURSE)
def test_every_figure_has_a_numbered_caption(path):
    assert [*uncaptioned(notebook(path), chapter_number(path))] == []


@each(COURSE)
def test_a_chapter_ends_with_recap_reading_and_graded_exercises(path):
    assert [*incomplete(notebook(path))] == []


@each(PROSE)
def test_prose_has_the_words_of_the_field(path):
    found = [
        (word, cell.source[:60])
        for cell in cells(path, "markdown")
        for word in private(cell.source)
        if path not in WORKSHOP or not re.match("rooms?|door", word, re.IGNORECASE)
    ]
    assert found == []


@each(plain.FILES)
def test_a_plain_module_has_the_words_of_the_field(path):
    assert private(plain.docstring(path)) == []


@each(PATHS)
def test_no_formula_has_lost_a_backslash(path):
    r"""As \top and \frac do in a Python string: a tab, a form feed."""
    found = [
        cell.source[:60]
        for cell in cells(path, "markdown")
        if re.search(r"[\t\r\a\b\f\v]", cell.source)
    ]
    assert found == []


def chapter(
    *, caption="*Figure 2.3.1.* Of x.", lines=3, year="(1990)", grade=r"\*", tags=()
):
    """A chapter in form, or with one fault."""
    picture = new_output("display_data", data={"image/png": ""})
    recap = "**You now have**\n\n" + "".join(f"{k}. x\n" for k in range(1, lines + 1))
    exercise = f"**Exercise** ({grade}). What?"
    return new_notebook(
        cells=[
            new_code_cell("plt.show()", outputs=[picture], metadata={"tags": [*tags]}),
            new_markdown_cell(caption),
            new_markdown_cell(f"{recap}\n*Further reading:* Stein {year} for it."),
            *map(new_markdown_cell, (exercise, exercise)),
        ]
    )


def test_a_chapter_in_form_passes():
    assert [*uncaptioned(chapter(), "2.3"), *incomplete(chapter())] == []
    assert [*incomplete(chapter(grade=r"\*\*\*, by hand"))] == []


def test_figures_of_starred_sections_are_counted_separately():
    """So a route, which leaves them out, misses no number."""
    parts = [
        chapter(caption=f"*Figure 2.3.{k}.* Of x.").cells[:2] for k in ("★1", 1, 2)
    ]
    head = new_markdown_cell("## ★ a")
    cells = [head, *parts[0], new_markdown_cell("## b"), *parts[1], *parts[2]]
    assert [*uncaptioned(new_notebook(cells=cells), "2.3")] == []
    assert len([*uncaptioned(new_notebook(cells=cells[1:]), "2.3")]) == 3


@pytest.mark.parametrize(
    "fault, found",
    [
        (dict(caption="Of x."), "no caption under 'plt.show()'"),
        (dict(caption="*Figure 2.3.2.* Of x."), "*Figure 2.3.2.* should be"),
        (dict(caption="*Figure 2.4.1.* Of x."), "*Figure 2.4.1.* should be"),
        (dict(tags=["hide-cell"]), "folded with its picture: 'plt.show()'"),
        (dict(lines=1), "a recap has three"),
        (dict(year=""), "no further reading"),
        (dict(grade=""), "no grade: **Exercise** (). What?"),
    ],
)
def test_a_chapter_out_of_form_is_found(fault, found):
    nb = chapter(**fault)
    assert [*uncaptioned(nb, "2.3"), *incomplete(nb)][0].startswith(found)


def test_a_chapter_without_an_end_is_found():
    nb = new_notebook(cells=[new_markdown_cell("**Exercise** (\\*). What?")])
    assert [*incomplete(nb)] == [
        "0 recaps",
        "no further reading with a year",
        "1 exercises",
    ]


@pytest.mark.parametrize(
    "text, words",
    [
        ("What a row is told is worth a light.", ["told", "worth", "light"]),
        ("The rooms, and the last word.", ["rooms", "the last word"]),
        (
            "`reliability` is [red](https://example.org/the-room) at $$\\tag{heard}$$",
            [],
        ),
        ("They are told apart; each has its own reason.", []),
    ],
)
def test_private_words_are_found(text, words):
    assert private(text) == words
