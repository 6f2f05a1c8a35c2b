"""What is on the slides of a lecture (docs/teach/decks.py), and the films; tests/site
looks at them in a browser.
"""

import base64
import re
import sys
from collections import Counter

import numpy as np
import pytest
from notebooks import ROOT, notebook
from PIL import Image
from scipy.stats import norm

from rvamp_nb.algorithm.resampling import all_resamples
from rvamp_nb.course.widgets import diabetes_explorer
from rvamp_nb.datasets import toy

sys.path.insert(0, str(ROOT / "docs"))
from teach import slides as teach
from teach.decks import LENGTH, WEIGHTS, WIDE, Page, break_rows, numbers, share_out
from teach.slides import (
    CONTINUED,
    ROOM,
    Slide,
    in_parts,
    made,
    sentences,
    slides_of,
    words,
)

LECTURES = range(1, 13)
MOST = 30  # slides of a lecture
# their notes have the answers, or what to look at
ANSWERED = {"questions", "class", "live", "hand", "figure"}
# how a sentence begins that needs the one before it
LEANS = re.compile(r"(So|Hence|Then|Together|Therefore|Its|It|With that|Thus)\b")
MARKS = re.compile(r"[*_`$\\{}()\[\]]|\A\d\. ")


def raw_labels(page, number, slides):
    """Labels of equations that a deck shows as they are in a notebook."""
    text = page.deck(number, slides)
    labels = sorted(numbers(), key=len, reverse=True)
    joined = [re.escape(label) for label in labels if {"-", "_", ":"} & {*label}]
    shown = re.sub(r'<svg.*?</svg>|aria-label="[^"]*"|src="[^"]*"', "", text)
    alone = rf"<code>(?:{'|'.join(map(re.escape, labels))})</code>"
    found = re.findall(rf"\beq:[\w-]+|\((?:{'|'.join(joined)})\)|{alone}", shown)
    beside = re.findall(r'class="label">\(([^)]*)\)<', text)
    return found + [b for b in beside if not re.fullmatch(r"\d\.\d\.\d+", b)]


def fragments(slides):
    """Titles of the slides that begin in the middle of an argument."""
    kinds = {"questions", "now", "homework", "film", "code", "first", "hand"}
    found = []
    for slide in slides:
        text = MARKS.sub("", slide.body.lstrip()).replace("rVAMP", "The algorithm")
        begins_small = re.match(r"[^A-Za-zΑ-Ω]*[a-zα-ω]", text)
        if slide.kind not in kinds and (begins_small or LEANS.match(text)):
            found.append(slide.title)
    return found


def cut_off(slides):
    """Titles of the slides whose notes begin in the middle of a sentence, or lead to
    something that is not there.
    """
    found = [slide for slide in slides if slide.notes.rstrip().endswith(":")]
    found += [s for s in slides if s.kind != "hand" and CONTINUED.match(s.notes)]
    return [slide.title for slide in found]


def unanswered(slides):
    """Titles of the slides with a task or a picture, and no word about it."""
    first = [s for s in slides if not s.title.endswith(", continued")]
    return [s.title for s in first if s.kind in ANSWERED and not s.notes.strip()]


def minutes_of(slides):
    """Minutes of what a class does together, in its order, and {chapter: minutes}; a
    slide without a chapter belongs to the one above it.
    """
    together = [slide.minutes for slide in slides if slide.kind == "class"]
    chapters = Counter()
    chapter = ""
    for slide, minutes in zip(slides, share_out(slides)):
        chapter = slide.place.removeprefix("Chapter ") or chapter
        chapters[chapter] += minutes * (slide.kind not in ("first", "class"))
    return together, chapters


def out_of_order(slides):
    """Titles of the slides that take something from before what a slide above takes; a
    chapter's problem comes first wherever it is.
    """
    found = []
    above = {}
    for slide in slides:
        for chapter, section in slide.sections:
            if above and (list(above)[-1] != chapter and chapter in above):
                found.append(slide.title)
            if section and section < above.get(chapter, 0):
                found.append(slide.title)
            above[chapter] = section
    return found


@pytest.fixture(scope="module")
def page():
    return Page()


@pytest.mark.parametrize("number", LECTURES)
def test_a_deck_has_all_parts_and_its_minutes_add_up(number):
    slides = slides_of(number)
    kinds = [slide.kind for slide in slides]
    assert {*kinds} <= {*WEIGHTS, "class"} and len(slides) <= MOST
    assert kinds[0] == "first" and kinds[-3:] == ["live", "hand", "homework"]
    assert {"equation", "figure", "now", "questions"} <= {*kinds}
    assert kinds.count("figure") >= 2 and kinds.count("equation") >= 2
    minutes = share_out(slides)
    assert sum(minutes) == LENGTH and min(minutes) >= 1
    assert all(m == s.minutes for m, s in zip(minutes, slides) if s.minutes)
    for slide in slides:
        assert words(slide.body) <= 1.2 * ROOM, slide.title
        assert slide.alt or not slide.picture
        assert bool(slide.page) == bool(slide.place)


@pytest.mark.parametrize("number", LECTURES)
def test_a_slide_is_read_without_the_one_before(page, number):
    slides = slides_of(number)
    assert raw_labels(page, number, slides) == []
    assert fragments(slides) == []
    assert cut_off(slides) == []
    assert unanswered(slides) == []
    assert out_of_order(slides) == []


@pytest.mark.parametrize("number", LECTURES)
def test_minutes_of_a_sheet_are_those_of_its_deck(number):
    lead = teach.read_sheets()[number][1]
    together, chapters = minutes_of(slides_of(number))
    parts = re.findall(r"(\d+) minutes for [^,(]+\(\[chapter ([\d.]+)\]", lead)
    assert {chapter: int(m) for m, chapter in parts}.items() <= chapters.items()
    rest = re.sub(r"\d+ minutes for ", "", lead)
    assert [int(m) for m in re.findall(r"(\d+) minutes", rest)] == together
    assert len(parts) == (3 if number == 12 else 0)


def test_the_plan_says_how_long_a_lecture_is():
    plan = "\n".join(cell.source for cell in notebook(teach.TEACHING).cells)
    assert "Ninety minutes each" in plan and "add up to ninety" in plan
    assert LENGTH == 90


def test_slides_that_a_lecturer_would_stumble_over_are_noticed(page):
    named = {"(A-n)": "(A-n)", "By eq:estimator it is": "eq:estimator"}
    for body, label in named.items():
        assert raw_labels(page, 1, [Slide("words", "A", body)]) == [label]
    numbered = "By `eq:estimator` and `tail` it is."
    assert raw_labels(page, 1, [Slide("words", "A", numbered)]) == []
    begun = [Slide("equation", t, t) for t in ("hence $x$", "So it is.", "It is.")]
    assert fragments([*begun, Slide("equation", "Good", "**Good.**")]) == [
        slide.title for slide in begun
    ]
    notes = "The cell does this:\n", "where $p$ is a share.", "Good."
    led = [Slide("words", note, "", note) for note in notes]
    assert cut_off(led) == [*notes[:2]]
    assert unanswered([Slide("live", "A", "Why?"), Slide("words", "B", "")]) == ["A"]
    late, early, problem = [
        Slide("words", str(section), "", sections=(("2.1", section),))
        for section in (5, 3, 0)
    ]
    assert out_of_order([problem, late, early]) == ["3"]
    assert out_of_order([early, problem, late]) == []
    other = Slide("words", "other", "", sections=(("2.2", 1),))
    assert out_of_order([early, other, late]) == ["5"]


def selected(table, penalty, moved=0.0):
    """Return {coefficient: its Π in the explorer} at a λ as is written there, half of
    the rows, λ or 2λ, with all fields moved by so many standard deviations.
    """
    shape = len(table["lams"]), len(table["taus"]), len(table["drawn"]), -1, 3
    messages = np.frombuffer(base64.b64decode(table["messages"])).reshape(shape)
    place = [name for name, _ in table["lamNames"]].index(penalty)
    _, h, chi_hat = messages[place, 1, 0].T
    s = np.sqrt(chi_hat)
    law, Pi = table["penalties"][0], 0
    for weight, threshold in zip(law["weights"], law["t"]):
        beyond = np.array(threshold) * table["lams"][place]
        sides = [norm.cdf((sign * (h + moved * s) - beyond) / s) for sign in (1, -1)]
        Pi = Pi + weight * sum(sides)
    return dict(zip(table["names"], Pi))


def test_answers_about_the_explorer_are_what_it_shows():
    widget = diabetes_explorer()
    table = widget.table
    widget.close()
    penalties = [name for name, _ in table["lamNames"]]
    away = [abs(sum(selected(table, name).values()) - 4) for name in penalties]
    last = teach.read_sheets()[12][2][1]
    assert f"λ = {penalties[int(np.argmin(away))]}" in last
    Pi = selected(table, "101")
    assert [name for name in Pi if Pi[name] >= 0.75] == ["bmi", "s5"]
    assert f"bp, with {Pi['bp']:.2f}".replace("0.", ".") in last
    assert abs(selected(table, "58.3")["s3"] - 0.6) < 0.05  # lectures 2 and 7
    assert abs(selected(table, "58.3", moved=0.5)["s3"] - 0.5) < 0.05


def test_the_sweeps_of_lecture_6_give_what_its_notes_print():
    A, y, *_ = toy()
    counts, chances = all_resamples(3, 3)
    grid = np.linspace(-8, 8, 4001)
    losses = (y[:, None] - A * grid) ** 2 / 2
    factors = np.exp(-1.2 * np.abs(grid)), chances @ np.exp(-4 * counts @ losses)
    sent = np.zeros((2, 2))  # precision and field of prior and likelihood
    found = []
    for _ in range(4):
        for k in (1, 0):
            Q, h = sent[1 - k]
            density = factors[k] * np.exp(h * grid - Q * grid**2 / 2)
            density /= density.sum()
            mean = density @ grid
            variance = density @ grid**2 - mean**2
            sent[k] = 1 / variance - Q, mean / variance - h
        Q, h = sent.sum(0)
        found.append([h / Q, 1 / Q])
    notes = next(s.notes for s in slides_of(6) if s.kind == "class")
    for mean, variance in found[:3]:
        printed = f"{mean:.3f}".replace("-0", "−"), f"{variance:.3f}".lstrip("0")
        assert all(number in notes for number in printed)
    assert np.abs(np.diff(found[2:], axis=0)).max() < 0.001


def test_every_figure_of_a_slide_is_its_chapters():
    for slide in slides_of(3):
        if slide.kind == "figure":
            number = re.match(r"\*Figure (\d\.\d)\.\d", slide.body)[1]
            assert slide.place == f"Chapter {number}"
            assert slide.picture.startswith("data:image/png;base64,")


def test_lines_of_an_outline_become_a_slide():
    slide = made("Name", "So it is.\n\n$$ eq:de-finetti\n\nHere.\n\nNotes: Say why.")
    assert (slide.kind, slide.place) == ("equation", "Chapter 2.1")
    assert slide.body.startswith("So it is.\n\n$$\n") and slide.body.endswith("Here.")
    assert r"\tag{eq:de-finetti}" in slide.body
    assert slide.notes.startswith("Say why.\n\n") and r"\tag" not in slide.notes
    second = made("Name", "$$ 3.2 What u is 2")
    assert r"g=\frac{c}{1+cV}" in second.body
    posed = made("Name", "problem 2.1\n\nOne.")
    assert posed.body == "One." and posed.notes and posed.printed
    assert made("Name", "problem 2.1").body
    called = made("Name", "cell 3.6 sol36a")
    assert "rvamp(" in called.body and "assert" not in called.body
    assert called.printed.startswith("Fit(converged")
    assert made("Name", "printed 3.6 c18fa585").printed.startswith("False")
    together = made("Name", "minutes 15\n\nIn pairs.")
    assert (together.kind, together.minutes, together.body) == (
        "class",
        15,
        "In pairs.",
    )


def test_lines_for_the_reading_are_marked():
    slide = made("You now have", "now 2.1\n\nReading: 2, 4")
    marked = re.findall(r"^(\d)\. \*\(reading\)\*", slide.body, re.MULTILINE)
    assert marked == ["2", "4"]


def test_homework_names_what_the_next_lecture_needs():
    named = [n for n in LECTURES if f"lecture {n + 1}" in slides_of(n)[-1].body]
    asked = [n for n in LECTURES if "Before this" in teach.read_sheets()[n][1]]
    assert named == [n - 1 for n in asked] and 8 in named


@pytest.mark.parametrize(
    "line",
    [
        "$$ no-such-label",
        "$$ 3.2 What u is 9",
        "figure 2.1.9",
        "cell 3.6 no",
        "now 2.1 2",
        "now 2.1\n\nReading: 9",
    ],
)
def test_what_a_chapter_does_not_have_is_refused(line):
    with pytest.raises(LookupError):
        made("Name", line)


def test_numbered_lines_have_room():
    lines = "\n".join(["1. a;", "2. " + "b " * ROOM])
    first, second = in_parts(Slide("now", "You now have", lines, "Why."))
    assert (first.body, second.title) == ("1. a;", "You now have, continued")
    assert first.notes and not second.notes


def test_what_folds_is_on_no_slide():
    shown = [text for text in teach.closing("2.1") if "<" in text[2]]
    assert shown == [] and teach.closing("2.1")
    with pytest.raises(LookupError):  # the letters of a chapter
        teach.find_equation("$$ 2.1 Letters 1")


def test_where_a_route_stops_is_on_no_slide():
    boxes = [
        text
        for number in ("1.2", "3.7")
        for _, _, text in teach.sections(number)
        if isinstance(text, str) and teach.routes.ENDS.match(text)
    ]
    assert len(boxes) >= 2
    for number in teach.plan.NEEDS:
        shown, notes, _ = teach.problem(number)
        assert "stop " not in shown + notes and "Before you go on" not in shown + notes


def test_a_sentence_keeps_its_brackets():
    found = sentences("It is. (So it is. And so.) Is $p=(0.5, 1]$ it? Yes.")
    assert found == ["It is.", "(So it is. And so.)", "Is $p=(0.5, 1]$ it?", "Yes."]


def test_long_formulas_are_broken_at_top_level_only():
    short, part = r"a=b,\qquad c=d", "x" * WIDE
    assert break_rows(short) == short
    assert break_rows(rf"a=b,\qquad c={part}").count(r"\\[6pt]") == 1
    assert break_rows(rf"a=b,\quad c={part}").count(r"\\[6pt]") == 1
    assert break_rows(rf"a=\frac{{b=c}}{{{part}}}") == rf"a=\frac{{b=c}}{{{part}}}"
    assert break_rows(rf"a=b=\{{{part}").count("&=") == 2


def test_a_page_has_no_links_and_numbers_equations(page):
    page = Page()
    kept = page.html("Let $x$, and ($y$).")
    assert kept.count('<span class="whole">') == 2 and "</span>,</span>" in kept
    number = numbers()["eq:de-finetti"]
    assert re.fullmatch(r"2\.1\.\d+", number)
    assert page.inline("[so](a.html) `eq:de-finetti` and `code`") == (
        f"so ({number}) and <code>code</code>"
    )
    places = re.findall(r"⟦(\d)⟧", page.html("$x$ $z$ $x$"))
    assert places == ["0", "2", "0"] and len(page.formulas) == 3


@pytest.mark.parametrize("name, frames", [("replicas", 25), ("resample", 40)])
def test_a_film_is_small_and_has_all_its_pictures(name, frames):
    path = ROOT / f"docs/static/{name}.gif"
    assert path.stat().st_size < 1_000_000
    with Image.open(path) as film:
        assert film.n_frames == frames and film.info["loop"] == 0
