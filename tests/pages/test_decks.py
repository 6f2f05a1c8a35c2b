"""What is on the slides of a lecture (docs/teach/decks.py), and the films; tests/site
looks at them in a browser.
"""

import re
import sys

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from notebooks import ROOT
from PIL import Image
from routes import Stop

sys.path.insert(0, str(ROOT / "docs"))
from teach.decks import LENGTH, WEIGHTS, WIDE, Page, break_rows, share_out
from teach.slides import ROOM, Reader, sentences, slides_of, words

LECTURES = range(1, 13)
MOST = 30  # slides of a lecture


@pytest.mark.parametrize("number", LECTURES)
def test_a_deck_has_all_parts_and_its_minutes_add_up(number):
    slides = slides_of(number)
    kinds = [slide.kind for slide in slides]
    assert {*kinds} <= {*WEIGHTS} and len(slides) <= MOST
    assert kinds[0] == "first" and kinds[-3:] == ["live", "hand", "homework"]
    assert {"equation", "figure", "problem", "now", "questions"} & {*kinds}
    assert kinds.count("figure") >= 2 and kinds.count("equation") >= 2
    minutes = share_out(slides)
    assert sum(minutes) == LENGTH and min(minutes) >= 1
    assert all(slide.notes for slide in slides if slide.kind in ("first", "hand"))
    for slide in slides:
        assert words(slide.body) <= 1.2 * ROOM, slide.title
        assert slide.alt or not slide.picture
        assert bool(slide.page) == bool(slide.place)


def test_every_figure_of_a_slide_is_its_chapters():
    for slide in slides_of(3):
        if slide.kind == "figure":
            number = re.match(r"\*Figure (\d\.\d)\.\d", slide.body)[1]
            assert slide.place == f"Chapter {number}"
            assert slide.picture.startswith("data:image/png;base64,")


def shown(*sources, picture=None):
    """Make the slides of a stop with these cells; code begins with a backslash."""
    cells = []
    for source in sources:
        if source.startswith("\\"):
            data = {"image/png": picture} if picture else {}
            output = new_output("display_data", data)
            cells.append(new_code_cell(source[1:], outputs=[output]))
        else:
            cells.append(new_markdown_cell(source))
    return Reader(Stop("A term", 1, 1, "21_replica", None, cells, None)).read()


def test_cells_become_slides():
    (posed,) = shown("## The problem: who is it?\nOne. Two:\n\n| a | b |\n")
    assert (posed.kind, posed.title, posed.body) == ("problem", "Who is it?", "One.")
    (equation,) = shown(
        "## Name\nSo it is.\n$$\na = b\n\\tag{x}\n$$\nIt is so. And so."
    )
    assert equation.body == "So it is.\n\n$$\na = b\n\\tag{x}\n$$\n\nIt is so."
    assert equation.notes == "So it is. It is so. And so."
    picture, caption = "iVBO", "*Figure 2.1.1.* A curve. " + "Word " * 50 + "."
    (figure,) = shown("## Name", "\\plot()", caption, picture=picture)
    assert figure.title == "Name" and figure.body == "*Figure 2.1.1.* A curve."
    assert figure.picture.endswith(picture)
    (asked,) = shown(
        "**Move it and answer.** 1. Set h = 0. Why? 2. And now?\n\n<details><summary>"
        "<b>Answers</b></summary>\n\n1. Yes.\n\n</details>"
    )
    assert asked.body == "1. Set h = 0. Why?\n2. And now?"
    assert asked.notes.strip() == "1. Yes."
    first, second = shown("**You now have**\n\n1. a;\n2. " + "b " * ROOM)
    assert (first.body, second.title) == ("1. a;", "You now have, continued")


def test_what_folds_is_on_no_slide():
    assert shown("<details>\n\n$$\na\n$$\n\n</details>", "> **β = 1**: $$\na\n$$") == []


def test_a_sentence_keeps_its_brackets():
    found = sentences("It is. (So it is. And so.) Is $p=(0.5, 1]$ it? Yes.")
    assert found == ["It is.", "(So it is. And so.)", "Is $p=(0.5, 1]$ it?", "Yes."]


def test_long_formulas_are_broken_at_top_level_only():
    short, part = r"a=b,\qquad c=d", "x" * WIDE
    assert break_rows(short) == short
    assert break_rows(rf"a=b,\qquad c={part}").count(r"\\[6pt]") == 1
    assert break_rows(rf"a=\frac{{b=c}}{{{part}}}") == rf"a=\frac{{b=c}}{{{part}}}"
    assert break_rows(rf"a=b=\{{{part}").count("&=") == 2


def test_a_page_has_no_links_and_names_equations():
    page = Page()
    kept = page.html("Let $x$, and ($y$).")
    assert kept.count('<span class="whole">') == 2 and "</span>,</span>" in kept
    assert page.inline("[so](a.html) `eq:de-finetti` and `code`") == (
        "so (de-finetti) and <code>code</code>"
    )
    places = re.findall(r"⟦(\d)⟧", page.html("$x$ $z$ $x$"))
    assert places == ["0", "2", "0"] and len(page.formulas) == 3


@pytest.mark.parametrize("name, frames", [("replicas", 25), ("resample", 40)])
def test_a_film_is_small_and_has_all_its_pictures(name, frames):
    path = ROOT / f"docs/static/{name}.gif"
    assert path.stat().st_size < 1_000_000
    with Image.open(path) as film:
        assert film.n_frames == frames and film.info["loop"] == 0
