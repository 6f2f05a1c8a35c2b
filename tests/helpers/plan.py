"""What appendix/teaching.ipynb shows: the chapters with what each needs, and the
lectures of a term with their reading and homework.
"""

import re
from functools import cache

import minutes
import pandas as pd
from notebooks import COURSE, chapter_number, notebook
from routes import LECTURE, stops

NEEDS = {  # the chapters that come before each, in the order of a term
    "1.1": "",
    "1.2": "",
    "1.3": "1.2",
    "1.4": "1.2 1.3",
    "2.1": "1.2",
    "2.2": "2.1",
    "2.3": "1.2 2.1",
    "2.4": "2.2 2.3",
    "2.5": "2.1 2.3 2.4",
    "3.1": "2.3 2.4",
    "3.2": "2.2 3.1",
    "3.3": "2.2 2.3 2.4",
    "3.8": "1.2 3.3",
    "3.4": "3.1 3.2 3.3",
    "3.5": "3.4",
    "3.6": "3.4 3.5",
    "3.7": "3.6",
    "4.1": "1.2 1.4 3.6",
    "4.2": "2.4 3.3 3.7",
    "4.3": "2.4 3.1 3.2 3.3 3.6",
    "4.4": "1.4 3.4 3.6",
    "4.5": "3.6",
    "4.6": "3.3 3.6 4.4 4.5",
    "4.7": "3.3 3.6 4.6",
    "4.8": "2.3 2.4 3.1 3.2 3.3 3.6",
    "5.1": "1.2 3.6",
    "5.2": "1.2 3.2 3.3 3.6",
    "5.3": "1.4 3.2 3.6",
    "5.4": "1.2 1.4 3.6 3.7 4.4 5.1",
    "5.5": "3.2 3.7",
    "5.6": "3.3 4.4",
    "5.7": "4.3 5.1 5.4",
    "5.8": "2.4 3.1 3.3 3.4 3.7 4.2 4.4 4.6 4.7",
    "6.1": "3.2 3.7 4.4 5.2 5.5 5.8",
    "6.2": "1.4 3.6 4.4 5.1",
}
PLACES = {name: place for place, name in enumerate(NEEDS)}
MOVING = r"^sliders\(|^(?:diabetes_explorer|explore)\("
SLIDERS = re.compile(MOVING, re.MULTILINE)
GRADE = re.compile(r"\*\*Exercise\*\* \((?P<stars>(?:\\\*)+)(?P<more>.{,12})")


def number(stem):
    """2.4 of 24_messages."""
    return f"{stem[0]}.{stem[1]}"


@cache
def facts(path):
    """What a chapter holds: title, minutes, sliders, and its exercises as (grade,
    whether for a starred section); and the chapters linked in its second cell.
    """
    nb = notebook(path)
    first, second, *rest = nb.cells
    linked = {number(s) for s in re.findall(r"(\d\d_\w+)\.ipynb\)", second.source)}
    found = [match for cell in rest if (match := GRADE.match(cell.source))]
    return {
        "chapter": chapter_number(path),
        "title": first.source.partition("\n")[0].removeprefix("# "),
        "minutes": round(minutes.count(minutes.without_stars(nb)).minutes),
        "graded": [(m["stars"].count("*"), "★" in m["more"]) for m in found],
        "sliders": sum(bool(SLIDERS.search(cell.source)) for cell in rest),
    }, linked


def chapters():
    """A table of all chapters. What one says in its second cell that it needs must
    stand in NEEDS.
    """
    rows, paths = [], {chapter_number(path): path for path in COURSE}
    assert set(paths) == set(NEEDS)
    for name in NEEDS:
        row, linked = facts(paths[name])
        before = {other for other in linked if PLACES[other] < PLACES[name]}
        assert before - {"1.1"} <= set(NEEDS[name].split()), f"{name} asks for {linked}"
        needs = NEEDS[name].replace(" ", ", ") or "nothing"
        rows.append(row | {"exercises": len(row["graded"]), "needs": needs})
    return pd.DataFrame(rows).set_index("chapter")


def lectures():
    """A table of the twelve lectures: reading in minutes, and homework by grade. A
    chapter's exercises are homework where most of it is read; a dot marks those for a
    starred section.
    """
    rows = [stop._asdict() | {"minutes": stop.minutes} for stop in stops()]
    term = pd.DataFrame(rows).query("route == 'A term'")
    term["chapter"] = term.stem.map(number)
    most = term.sort_values("minutes").drop_duplicates("chapter", keep="last")
    taught, graded = most.set_index("chapter").lecture, chapters().graded

    def homework(lecture, grade):
        parts = []
        for name in sorted(taught.index[taught == lecture]):
            ks = [
                f"{k}{'·' * starred}"
                for k, (stars, starred) in enumerate(graded[name], 1)
                if stars == grade
            ]
            parts += [f"{name} ({', '.join(ks)})"] * bool(ks)
        return ", ".join(parts) or "–"

    order = [*dict.fromkeys(term.chapter)]
    for name in order:
        late = set(NEEDS[name].split()) - set(order[: order.index(name)])
        assert not late, f"{name} needs {late}"
    plan = [
        {
            "lecture": int(lecture),
            "chapters": ", ".join(dict.fromkeys(part.chapter)),
            "reading": round(part.minutes.sum()),
            **{"*" * grade: homework(lecture, grade) for grade in (1, 2, 3)},
        }
        for lecture, part in term.groupby("lecture")
    ]
    assert all(row["reading"] <= LECTURE for row in plan)
    return pd.DataFrame(plan).set_index("lecture")
