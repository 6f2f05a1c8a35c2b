"""The routes through the course: where each stop begins and ends, and its minutes.

    python tests/helpers/routes.py     every stop, with its minutes

appendix/routes.ipynb lists the stops, and where each begins: at the head of a chapter,
or at a section that the link names. A stop ends where a cell of the chapter says so, in
this form:

    > **An evening**, stop 2 of 7, ends here. Next: [2.1 The replica trick](21_a.ipynb).
"""

import re
from typing import NamedTuple

import minutes
import nbformat
from notebooks import ROOT, notebook

LONGEST = {"An evening": 4 * 60, "A weekend": 12 * 60}  # minutes of a route
LECTURE = 130  # minutes of reading before one
# A reader stops, looks up, moves a slider: a guess, until readers send their minutes.
READER = 1.3  # times what is counted
LISTED = re.compile(
    r"^(?P<number>\d+)\. (?:Lecture (?P<lecture>\d+)\. )?"
    r"\[[^]]+\]\(\.\./course/(?P<stem>\w+)\.ipynb(?:#(?P<anchor>[^)]+))?\)",
    re.MULTILINE,
)
ENDS = re.compile(
    r"^> \*\*(?P<route>An? \w+)\*\*, stop (?P<number>\d+) of (?P<of>\d+), ends here\."
    r" Next: \[(?P<shown>[^]]+)\]\((?P<target>[^)]+)\)\.$",
    re.MULTILINE,
)


class Stop(NamedTuple):
    route: str
    number: int
    lecture: int | None
    stem: str  # of the chapter
    anchor: str | None  # of the section where it begins
    cells: list  # up to the one that ends it; no starred sections, exercises, solutions
    next: str | None  # where that one leads

    @property
    def minutes(self):
        counted = minutes.count(nbformat.NotebookNode(cells=self.cells)).minutes
        return READER * counted


def slug(line):
    """The anchor of a heading, as Jupyter and the site name it."""
    return re.sub(r"[^\w -]", "", line.lstrip("# ")).strip().replace(" ", "-").lower()


def between(nb, anchor, route, number):
    """The cells of a stop, and where the one that ends it leads: None without one."""
    kept, begun = [], anchor is None
    for cell in nb.cells:
        text = cell.source if cell.cell_type == "markdown" else ""
        heads = re.findall(r"^#+ .+$", text, re.MULTILINE)
        begun = begun or anchor in map(slug, heads)
        ends = [*ENDS.finditer(text)]
        answers = "solution" in cell.metadata.get("tags", ())
        if begun and not (ends or answers or text.startswith("**Exercise")):
            kept.append(cell)
        for end in ends:
            if begun and (end["route"], int(end["number"])) == (route, number):
                starless = minutes.without_stars(nbformat.NotebookNode(cells=kept))
                bridge = text[end.end() :].partition("\n> **")[0]
                last = nbformat.v4.new_markdown_cell(bridge)
                return [*starless.cells, last], end["target"]
    return [], None


def stops():
    """Every stop of every route, in the order of the page that lists them."""
    page = notebook(ROOT / "nbs" / "appendix" / "routes.ipynb")
    for cell in page.cells:
        route = cell.source.partition("\n")[0].lstrip("# ")
        for at in LISTED.finditer(cell.source):
            number, lecture = int(at["number"]), at["lecture"]
            nb = notebook(ROOT / "nbs" / "course" / f"{at['stem']}.ipynb")
            cells, target = between(nb, at["anchor"], route, number)
            lecture = int(lecture) if lecture else None
            yield Stop(route, number, lecture, at["stem"], at["anchor"], cells, target)


if __name__ == "__main__":
    total, begun = {}, None
    for stop in stops():
        key = stop.route, stop.lecture
        total[key] = total.get(key, 0) + stop.minutes
        place = f"{stop.stem}#{stop.anchor}" if stop.anchor else stop.stem
        print(f"{stop.route:10} {stop.number:3} {stop.minutes:4.0f} min   {place}")
    for (route, lecture), took in total.items():
        print(
            f"{route:10} {f'lecture {lecture}' if lecture else '':10} {took:4.0f} min"
        )
