"""The routes through the course: each stop ends where its chapter says so and leads to
the next, and the minutes add up.
"""

import re

import numpy as np
import plan
import pytest
import routes
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from notebooks import COURSE, ROOT, cells, each, notebook

from rvamp_nb import Poisson, datasets, rvamp
from rvamp_nb.algorithm.resampling import Subsample

STOPS = [*routes.stops()]
NAMES = ["An evening", "A weekend", "A term"]


def of(route):
    return [stop for stop in STOPS if stop.route == route]


def test_the_routes_are_three_and_their_stops_are_counted():
    assert [*dict.fromkeys(stop.route for stop in STOPS)] == NAMES
    for route in NAMES:
        assert [s.number for s in of(route)] == [*range(1, len(of(route)) + 1)]
    lectures = [stop.lecture for stop in of("A term")]
    assert lectures == sorted(lectures) and {*lectures} == {*range(1, 13)}


@pytest.mark.parametrize("route", NAMES)
def test_a_stop_ends_where_its_chapter_says_so_and_leads_to_the_next(route):
    for stop, after in zip(of(route), of(route)[1:]):
        where = f"{after.stem}.ipynb" + (f"#{after.anchor}" if after.anchor else "")
        assert stop.next == where, f"{route}, stop {stop.number}"
    assert re.match(r"\.\./appendix/(routes|teaching)\.ipynb#", of(route)[-1].next)


def test_each_stop_has_its_minutes_beside_it():
    """In steps of five, and within five of what is counted."""
    page = notebook(ROOT / "nbs" / "appendix" / "routes.ipynb")
    line = re.compile(rf"({routes.LISTED.pattern}), (?P<minutes>\d+) minutes$", re.M)
    for cell in page.cells:
        route = cell.source.partition("\n")[0].lstrip("# ")
        written = {
            int(m["number"]): int(m["minutes"]) for m in line.finditer(cell.source)
        }
        counted = {s.number: s.minutes for s in STOPS if s.route == route}
        assert written.keys() == counted.keys(), route
        for number, minutes in counted.items():
            assert written[number] % 5 == 0, f"{route}, stop {number}"
            assert abs(written[number] - minutes) <= 5, f"{route}, stop {number}"


def lines_of(nb):
    """(route, number, of how many) of each line of a chapter that ends a stop."""
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            for end in routes.ENDS.finditer(cell.source):
                yield end["route"], int(end["number"]), int(end["of"])


@each(COURSE)
def test_no_line_ends_a_stop_that_is_not_listed(path):
    nb = notebook(path)
    listed = [
        (stop.route, stop.number, len(of(stop.route)))
        for stop in STOPS
        if stop.stem == path.stem
    ]
    assert sorted(lines_of(nb)) == sorted(listed)
    said = "".join(cell.source for cell in nb.cells).count("ends here.")
    assert said == len(listed), "a line that ends a stop has another form"


@each(COURSE)
def test_the_head_of_a_chapter_names_its_stops(path):
    """*On the way: an evening, stop 1 of 7; ...; a term, lecture 1.*"""
    named = []
    for route in NAMES:
        here = [stop for stop in of(route) if stop.stem == path.stem]
        numbers = sorted({stop.lecture or stop.number for stop in here})
        if here:
            what = "lecture" if here[0].lecture else "stop"
            what += "s" * (len(numbers) > 1)
            every = "" if here[0].lecture else f" of {len(of(route))}"
            numbers = " and ".join(map(str, numbers))
            named.append(f"{route.lower()}, {what} {numbers}{every}")
    line = notebook(path).cells[1].source.rpartition("\n")[2]
    plain = re.sub(r"\[(.+?)\]\(.+?\)", r"\1", line)
    assert plain == f"*On the way: {'; '.join(named) or 'a project'}.*"


def test_no_route_takes_longer_than_it_may():
    for route, longest in routes.LONGEST.items():
        assert sum(stop.minutes for stop in of(route)) <= longest, route
    for lecture in range(1, 13):
        took = sum(s.minutes for s in of("A term") if s.lecture == lecture)
        assert 30 <= took <= routes.LECTURE, f"lecture {lecture}: {took:.0f} minutes"


@pytest.mark.parametrize("route", NAMES)
def test_both_densities_the_invariants_and_the_explorer_are_on_every_route(route):
    read = "\n".join(cell.source for stop in of(route) for cell in stop.cells)
    for text in (
        "diabetes_explorer()",
        "p̄₁",
        "{eq:approximate_two}",
        "## The invariants",
        "# rVAMP in one page",
    ):
        assert text in read, text


@pytest.mark.parametrize("route", NAMES[1:])
def test_the_one_page_comes_right_after_the_coupling(route):
    order = [*dict.fromkeys(stop.stem for stop in of(route))]
    assert order[order.index("33_coupling") + 1] == "38_micro"


@pytest.mark.parametrize("route", NAMES[:2])
def test_an_evening_and_a_weekend_ask_for_no_installation(route):
    asked = re.compile(r"\b(pip|install\w*|download\w*)\b", re.IGNORECASE)
    for stop in of(route):
        prose = [c.source for c in stop.cells if c.cell_type == "markdown"]
        assert asked.findall("\n".join(prose)) == [], stop.stem


def read_on_an_evening():
    """All that the route's stops and the lines below them have in words."""
    read = [cell.source for stop in of("An evening") for cell in stop.cells]
    return "\n".join(read)


def test_the_status_that_a_stop_quotes_is_what_a_fit_reports():
    """Both ends of it: the middle is left out."""
    page = notebook(ROOT / "nbs" / "howto" / "read_the_status.ipynb")
    texts = [
        out.get("text", "") for cell in page.cells for out in cell.get("outputs", ())
    ]
    printed = " ".join(" ".join(texts).split())
    [quoted] = re.findall(r"^> (not converged .+)$", read_on_an_evening(), re.M)
    ends = quoted.split("…")
    assert len(ends) == 2 and all(end in printed for end in ends)


def test_half_samples_and_poisson_counts_differ_as_a_stop_says():
    d = datasets.gaussian_design(60, 100, density=0.1, noise=0.3, seed=5)
    lam = 0.25 * np.abs(d.A.T @ d.y).max()  # as in chapter 3.8
    laws = Poisson(0.5), Subsample(0.5)
    poisson, half = (rvamp(d.A, d.y, lam, resampling=law).Pi.max() for law in laws)
    text = f"the largest Π is {poisson:.2f} with them and {half:.2f} with half-samples"
    assert text in read_on_an_evening()


def test_ten_and_twenty_questions_have_answers():
    page = cells(ROOT / "nbs" / "appendix" / "routes.ipynb", "markdown")
    asked = [cell.source for cell in page if re.match(r"\*\*\d+\.\*\* ", cell.source)]
    numbers = [int(text[2:].partition(".")[0]) for text in asked]
    assert numbers == [*range(1, 11), *range(1, 21)]
    stops_named = r"\((?:Stops?|The lines?) [^()]*\d[^()]*\)\n\n</details>$"
    for text in asked:
        assert "<summary><b>Answer</b></summary>" in text
        assert re.search(stops_named, text), text[:60]


SOLVED = "<details><summary><b>Solution</b></summary> c</details>"
END = "> **An evening**, stop 1 of 1, ends here. Next: [2](22_b.ipynb)."


@pytest.mark.parametrize(
    "anchor, texts, kept, target",
    [
        (None, ["# a", "b", END, "c"], ["# a", "b", ""], "22_b.ipynb"),
        ("b", ["# a", "## b", "c", END], ["## b", "c", ""], "22_b.ipynb"),
        (None, ["# a", "## ★ b", "c", "## d", END], ["# a", "## d", ""], "22_b.ipynb"),
        (None, ["# a\n## ★ b", "c\n## d", END], ["# a\n", "## d", ""], "22_b.ipynb"),
        (None, ["# a", "**Exercise** b", SOLVED, END], ["# a", ""], "22_b.ipynb"),
        (None, ["# a", f"{END}\n>\n> *Before* b"], ["# a", "\n>\n> *Before* b"], ...),
        ("lost", ["# a", END], [], None),
        ("b", ["# a", END, "## b"], [], None),
        (None, ["# a", END.replace("evening", "morning")], [], None),
        (None, ["# a", END.replace("1 of", "2 of")], [], None),
    ],
)
def test_a_stop_is_cut_out(anchor, texts, kept, target):
    made = [new_markdown_cell(text) for text in texts]
    for cell in made:
        cell.metadata.tags = ["solution"] * (cell.source == SOLVED)
    nb = new_notebook(cells=[*made, new_code_cell(END)])
    found, leads = routes.between(nb, anchor, "An evening", 1)
    assert [cell.source for cell in found] == kept
    assert leads == ("22_b.ipynb" if target is ... else target)


TEACHING = ROOT / "nbs" / "appendix" / "teaching.ipynb"


def test_each_lecture_has_a_sheet():
    sheets = [
        cell.source
        for cell in cells(TEACHING, "markdown")
        if re.search(r"^### Lecture \d+: ", cell.source, re.MULTILINE)
    ]
    titles = [re.search(r"### Lecture (\d+): .+", text) for text in sheets]
    assert [int(title[1]) for title in titles] == [*range(1, 13)]
    for title, text in zip(titles, sheets):
        linked = {*re.findall(r"\.\./course/(\w+)\.ipynb", text)}
        lecture = int(title[1])
        assert {s.stem for s in of("A term") if s.lecture == lecture} <= linked, title
        for part in (
            "**Live, in the explorer.**",
            "**Its answer.**",
            "**By hand.**",
            "**Everybody moves**",
        ):
            assert part in text, title


def marks(answer):
    """The marks that a model answer gives: each "(2)" outside formulas."""
    return [int(m) for m in re.findall(r"\((\d)\)", re.sub(r"\$[^$]+\$", "", answer))]


def test_the_exam_has_ten_questions_and_its_marks_add_up():
    page = cells(TEACHING, "markdown")
    asked = [cell for cell in page if cell.source.startswith("**Exercise")]
    answers = [cell for cell in page if "<b>Solution</b>" in cell.source]
    for number, (question, answer) in enumerate(zip(asked, answers, strict=True), 1):
        assert question.source.startswith(f"**Exercise {number}** (10 marks). ")
        assert answer.metadata["tags"] == ["solution"]
        assert sum(marks(answer.source)) == 10, f"question {number}"
    assert len(asked) == 10
    assert marks("(a) $f(2)$ (3). $h(1)$ is (b) 4 (4)") == [3, 4]


def test_no_lecture_needs_what_comes_later(monkeypatch):
    reading = plan.lectures().reading
    assert reading.sum() == pytest.approx(sum(s.minutes for s in of("A term")), abs=6)
    monkeypatch.setitem(plan.NEEDS, "2.2", "2.1 2.3")
    with pytest.raises(AssertionError, match="2.2 needs {'2.3'}"):
        plan.lectures()


def test_a_chapter_that_asks_for_more_than_the_plan_knows_is_named(monkeypatch):
    monkeypatch.setitem(plan.NEEDS, "2.4", "2.2")
    with pytest.raises(AssertionError, match="2.4 asks for"):
        plan.chapters()


def test_homework_is_by_grade_and_names_what_is_for_a_starred_section():
    graded = plan.chapters().graded
    assert graded["2.1"] == [(1, False), (3, True), (2, False)]
    assert graded["3.3"][-1] == (3, True) and len(graded["5.7"]) == 3
