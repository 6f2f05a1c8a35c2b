"""Write the homework of each lecture as a notebook that grades itself.

    python docs/teach/homework.py          into _students/homework/
    python docs/teach/homework.py OUT 3    that of the third lecture, into OUT/

The exercises are the chapters', and so are the checks (docs/students.py): a module
beside the notebooks, ``checks_21`` for chapter 2.1. nbgrader and Otter read the cells'
metadata, Otter the folder ``tests/`` as well; without either, running a notebook shows
what is wrong with an answer. Each star is a point.
"""

import ast
import re
import sys
from functools import cache
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

DOCS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(DOCS), str(DOCS.parent / "tests/helpers")]

from contents import KERNEL
from notebooks import ROOT, notebook
from students import strip
from teach.slides import read_sheets, read_term
from translate import LINK, settings

OUT = ROOT / "_students/homework"
GRADE = re.compile(r"\*\*Exercise\*\* \(((?:\\\*)+)")
LISTED = re.compile(r"(\d\.\d) \(([^)]+)\)")
HOW = (
    'Where a text says "Ask `check_1(a, b)`", put a and b into the cell below it, in'
    " this order. The cell after that says whether they are right. What a name such as"
    " `n-copies` refers to is in the chapter."
)
OTTER = """OK_FORMAT = True
test = {{
    "name": {name!r},
    "points": {points},
    "suites": [
        {{
            "cases": [{{"code": {code!r}, "hidden": False, "locked": False}}],
            "scored": True,
            "setup": "",
            "teardown": "",
            "type": "doctest",
        }}
    ],
}}
"""


def write_homework(out=OUT, *wanted):
    """Write the homework of the lectures ``wanted``, all by default, to a folder.

    Returns {lecture: its points}.
    """
    out = Path(out)
    (out / "tests").mkdir(parents=True, exist_ok=True)
    points = {}
    for lecture in [int(number) for number in wanted] or read_sheets():
        title = read_sheets()[lecture][0]
        head = f"# Homework {lecture}: {title}\n{HOW}"
        cells = [new_markdown_cell(head, id="title")]
        points[lecture] = 0
        for chapter, number in listed(lecture):
            asked, stars, source, head = exercises(chapter)[number - 1]
            name = f"{chapter}_{number}"
            (out / f"checks_{chapter}.py").write_text(source, encoding="utf-8")
            cells += graded(name, asked, stars, head)
            test = otter_test(name, stars)
            (out / f"tests/q{name}.py").write_text(test, encoding="utf-8")
            points[lecture] += stars
        page = new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
        nbformat.write(page, out / f"homework-{lecture:02}.ipynb")
    print(f"{len(points)} notebooks in {out}, {sum(points.values())} points")
    return points


def listed(lecture):
    """Return the exercises of a lecture, as pairs such as ("21", 3), by chapter."""
    row = read_term()[1].loc[lecture]
    found = []
    for grade in "*", "**", "***":
        for chapter, numbers in LISTED.findall(row[grade]):
            for number in re.findall(r"\d+", numbers):
                found.append((chapter.replace(".", ""), int(number)))
    return sorted(found)


@cache
def exercises(chapter):
    """Return (text, stars, module of checks, head of its check) of each exercise of a
    chapter; a head is the names of the arguments and what they should be.
    """
    stem = next((ROOT / "nbs/course").glob(f"{chapter}_*.ipynb")).stem
    nb = nbformat.from_dict(notebook(ROOT / f"nbs/course/{stem}.ipynb"))
    texts = [c.source for c in nb.cells if GRADE.match(c.source)]
    source = strip(nb, f"checks_{chapter}")[1]
    heads = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            names = [argument.arg for argument in node.args.args]
            heads[node.name] = names, " ".join(ast.get_docstring(node).split())
    home = "{doc_host}{doc_baseurl}".format_map(settings())
    found = []
    for number, text in enumerate(texts, 1):
        text = LINK.sub(lambda m: address(m, home) if m[3] else m[0], text)
        text = f"*[Chapter {chapter[0]}.{chapter[1]}]({home}/{stem}.html).* {text}"
        stars = GRADE.search(text)[1].count("*")
        found.append((text, stars, source, heads[f"check_{number}"]))
    return found


def address(link, home):
    """Write a link of a chapter as one to the site."""
    page = re.sub(r"^.*?(\w+)\.ipynb", rf"{home}/\1.html", link[3])
    return f"[{link[2]}]({page})"


def nbgrader_mark(name, solution):
    """Return what nbgrader notes in a cell: a student's solution, or its check."""
    return {
        "schema_version": 3,
        "task": False,
        "grade_id": name,
        "solution": solution,
        "grade": not solution,
        "locked": not solution,
    }


def graded(name, asked, stars, head):
    """Return the cells of an exercise: what is asked, the answer, and its check."""
    names, wanted = head
    waiting = ", ".join(["..."] * len(names))
    if len(names) == 1:  # a tuple, too
        waiting += ","
    listed = ", ".join(names)
    answer = f"# {wanted}\n# {listed}\nanswer_{name} = ({waiting})"
    chapter, _, number = name.partition("_")
    check = (
        f"from checks_{chapter} import check_{number}\n\n"
        f"verdict = check_{number}(*answer_{name})\n"
        'assert verdict == "Right.", verdict'
    )
    given = nbgrader_mark(f"answer_{name}", solution=True)
    checked = nbgrader_mark(f"check_{name}", solution=False)
    checked["points"] = stars
    both = {"nbgrader": checked, "otter": {"tests": [f"q{name}"]}}
    return [
        new_markdown_cell(asked, id=f"asked-{name}"),
        new_code_cell(answer, id=f"answer-{name}", metadata={"nbgrader": given}),
        new_code_cell(check, id=f"check-{name}", metadata=both),
    ]


def otter_test(name, stars):
    """Return the text of the file in which Otter looks for a test."""
    chapter, _, number = name.partition("_")
    code = (
        f">>> from checks_{chapter} import check_{number}\n"
        f">>> check_{number}(*answer_{name})\n'Right.'"
    )
    return OTTER.format(name=f"q{name}", points=stars, code=code)


if __name__ == "__main__":
    write_homework(*sys.argv[1:])
