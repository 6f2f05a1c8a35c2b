"""The students' edition (docs/students.py): solutions gone, the rest as it was, and
nothing that leaned on them.
"""

import ast
import builtins
import re
import subprocess
import sys

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from notebooks import COURSE, PATHS, ROOT, cells, each, notebook, trees

from rvamp_nb.course.exercises import answered

sys.path.insert(0, str(ROOT / "docs"))
from students import NOTEBOOKS, is_solution, main, strip  # noqa: E402


@pytest.fixture(scope="module")
def edition(tmp_path_factory):
    """A folder with the students' edition."""
    out = tmp_path_factory.mktemp("students") / "new" / "folder"
    main(out)
    return out


def copy_of(path, edition):
    """Where a notebook lies in the students' edition."""
    return edition / path.relative_to(NOTEBOOKS)


def waits(cell):
    """Whether a cell of the students' edition waits for an answer."""
    return cell.source.startswith("# your turn")


@each(PATHS)
def test_solutions_are_gone_and_the_rest_is_as_it_was(edition, path):
    teachers, students = notebook(path), notebook(copy_of(path, edition))
    assert [cell for cell in students.cells if not waits(cell)] == [
        cell for cell in teachers.cells if not is_solution(cell)
    ]
    assert "<b>Solution</b>" not in "".join(
        cell.source for cell in students.cells if cell.cell_type == "markdown"
    )
    assert students.metadata == teachers.metadata


def test_the_edition_is_valid(edition):
    nbformat.validate(
        notebook(copy_of(PATHS[0], edition))
    )  # all are made of such cells


@each(PATHS)
def test_after_each_exercise_an_empty_cell_waits(edition, path):
    found = cells(copy_of(path, edition))
    for cell, after in zip(found, found[1:]):
        assert cell.source.startswith("**Exercise") == waits(after)


def test_one_empty_cell_for_each_run_of_solution_cells():
    tagged = {"tags": ["solution"]}
    nb = new_notebook(
        cells=[
            new_markdown_cell("a"),
            new_markdown_cell("b", metadata=tagged),
            new_code_cell("c", metadata=tagged),
            new_markdown_cell("d"),
            new_code_cell("e", metadata=tagged),
        ]
    )
    assert strip(nb)[0] == 2
    assert [cell.source for cell in nb.cells] == [
        "a",
        "# your turn",
        "d",
        "# your turn",
    ]
    assert len({cell.id for cell in nb.cells}) == 4


def test_what_is_wrong_with_an_answer_is_said():
    right = np.array([0.5, 0.25])
    for given, word in {
        "Right.": right,
        "sign": -right,
        "Twice": 2 * right,
        "by 4": right * 1.5,
        "factor": 3 * right,
        "one minus": 1 - right,
        "shape": right[:, None],
        "nan": right * np.nan,
        "not a number": ["a", "b"],
        "Not yet": right + [0.1, 0],
    }.items():
        assert given in answered(word, right, {"Not by 4.": right * 1.5})
    assert answered(20_000.0 * 1.01, 20_000.0, rtol=0.03) == "Right."
    assert answered(-123.0, 20_000.0, rtol=0.03) == "Not yet."
    assert answered("Sign", "sign") == answered(True, np.bool_(True)) == "Right."
    assert answered("size", "sign").startswith("No.")


@each(COURSE)
def test_each_exercise_of_the_course_answers_back(edition, path):
    """Its check can be imported by itself, and says to a solution that it is right
    (the notebook's own cell does that), and to nonsense that it is not.
    """
    asked = [cell for cell in cells(copy_of(path, edition)) if waits(cell)]
    module = {}
    if asked:
        exec((edition / "course" / f"checks_{path.stem[:2]}.py").read_text(), module)
    for number, cell in enumerate(asked, 1):
        name = f"check_{number}"
        assert cell.source.endswith(f"from checks_{path.stem[:2]} import {name}")
        check = module[name]
        nonsense = [-123.456] * check.__code__.co_argcount
        assert check(*nonsense) not in ("", "Right."), name
        assert check.__doc__, name
    solved = "".join(c.source for c in cells(path) if is_solution(c))
    for number in range(1, len(asked) + 1):
        assert re.search(rf"check_{number}\(.*Right", solved, re.DOTALL), number


def test_the_notebooks_themselves_are_not_written_over():
    with pytest.raises(SystemExit, match="name another"):
        main(NOTEBOOKS)


def test_git_ignores_the_default_folder():
    assert (
        subprocess.run(
            ["git", "check-ignore", "-q", "_students/course/12_resampling.ipynb"],
            cwd=ROOT,
        ).returncode
        == 0
    )


def names_bound(tree):
    """The names that a cell binds at its top level (names inside functions, classes
    and comprehensions are their own).
    """
    todo, bound = list(tree.body), set()
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound |= {
                alias.asname or alias.name.partition(".")[0] for alias in node.names
            }
        elif not isinstance(
            node,
            (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
        ):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                bound.add(node.id)
            if isinstance(node, ast.ExceptHandler) and node.name:
                bound.add(node.name)
            todo += ast.iter_child_nodes(node)
    return bound


def test_bound_names_are_found():
    tree = ast.parse(
        "import a.b, c as d\nfor e, f in x: g = [h for h in x]\ndef i(j): k = 1\nwith l"
        " as m: n += 1\n(o := 1)\np[q] = r.s"
    )
    assert names_bound(tree) == {"a", "d", "e", "f", "g", "i", "m", "n", "o"}


@each(PATHS)
def test_no_later_cell_needs_a_solution(path):
    """A name that a solution binds anew, or binds first, is not read further down
    unless it is bound again there.
    """
    by_solution, missing, known = set(), [], set(dir(builtins))
    for cell, tree in zip(cells(path, "code"), trees(path), strict=True):
        bound = names_bound(tree)
        if is_solution(cell):
            by_solution |= bound
        else:
            nodes = [*ast.walk(tree)] if by_solution else []
            named = [node for node in nodes if isinstance(node, ast.Name)]
            read = {node.id for node in named if isinstance(node.ctx, ast.Load)}
            own = bound | {node.arg for node in nodes if isinstance(node, ast.arg)}
            own |= {node.id for node in named if isinstance(node.ctx, ast.Store)}
            missing += sorted((read - own - known) & by_solution)
            by_solution -= bound
    assert missing == []
