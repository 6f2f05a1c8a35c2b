"""Homework that grades itself (docs/teach/homework.py): a right student gets all
points, a wrong one none, and one who has answered nothing no error but a verdict.
"""

import sys

import nbformat
import numpy as np
import pytest
from notebooks import ROOT

from rvamp_nb.algorithm.resampling import all_resamples
from rvamp_nb.datasets import toy

sys.path.insert(0, str(ROOT / "docs"))
from teach.homework import write_homework  # noqa: E402

LECTURES = range(1, 13)


@pytest.fixture(scope="module")
def homework(tmp_path_factory):
    """Make a folder with all notebooks, and the points of each."""
    out = tmp_path_factory.mktemp("homework")
    return out, write_homework(out)


def read(homework, lecture):
    return nbformat.read(homework[0] / f"homework-{lecture:02}.ipynb", 4)


def marks(nb, kind):
    """List the cells that nbgrader knows as solutions, or as grades."""
    code = [cell for cell in nb.cells if "nbgrader" in cell.metadata]
    return [cell for cell in code if cell.metadata.nbgrader[kind]]


def grade(homework, nb, answers, monkeypatch):
    """Return the points of a student with these answers, and the verdicts, cell by
    cell as an autograder runs them.
    """
    monkeypatch.syspath_prepend(str(homework[0]))
    names, points, verdicts = {}, 0, []
    for cell in nb.cells:
        if cell in marks(nb, "solution"):
            exec(cell.source, names)
            names.update(answers)
        elif cell in marks(nb, "grade"):
            try:
                exec(cell.source, names)
                points += cell.metadata.nbgrader.points
            except AssertionError as wrong:
                verdicts.append(str(wrong))
    return points, verdicts


def answers():
    """Work out the right answers to the exercises of chapter 2.1, by brute force."""
    A, y = toy()[:2]
    counts, chance = all_resamples(3, 3)
    x, cases = np.array([-0.5, 0, 0.5, 1, 1.5]), []
    for penalty in 0.3, 0.6:
        for c, p in zip(counts, chance / 2):
            weight = np.exp(-4 * (c @ (y[:, None] - A * x) ** 2 / 2 + penalty * abs(x)))
            cases.append((p, weight.sum(), weight @ x / weight.sum()))
    p, Z, m = np.array(cases).T
    return {
        "answer_21_1": (p @ (Z**3 * m**2), p @ m**2 - (p @ m) ** 2),
        "answer_21_2": ([8, 110, 2_708_910], 2**20 - 1),
        "answer_21_3": (-1 / 4, 3),
    }


def test_a_right_student_gets_all_points(homework, monkeypatch):
    nb = read(homework, 3)
    assert grade(homework, nb, answers(), monkeypatch) == (homework[1][3], [])
    assert homework[1][3] == 6


def test_a_wrong_student_gets_none_and_reads_why(homework, monkeypatch):
    (A_3, variance), (K, _), _ = answers().values()
    wrong = {
        "answer_21_1": (A_3, 2 * variance),
        "answer_21_2": (K, 2**10 - 1),
        "answer_21_3": (-1 / 4, 2),
    }
    points, verdicts = grade(homework, read(homework, 3), wrong, monkeypatch)
    assert points == 0
    for verdict, word in zip(
        verdicts, ("Twice", "ten integers", "may be 0"), strict=True
    ):
        assert word in verdict


@pytest.mark.parametrize("lecture", LECTURES)
def test_what_waits_for_an_answer_is_wrong_and_no_error(homework, lecture, monkeypatch):
    nb = read(homework, lecture)
    nbformat.validate(nb)
    points, verdicts = grade(homework, nb, {}, monkeypatch)
    assert points == 0 and len(verdicts) == len(marks(nb, "grade")) > 0
    worth = [cell.metadata.nbgrader.points for cell in marks(nb, "grade")]
    assert sum(worth) == homework[1][lecture]
    names = [cell.metadata.nbgrader.grade_id for cell in nb.cells[1:] if cell.metadata]
    assert len({*names}) == len(names)


@pytest.mark.parametrize("lecture", LECTURES)
def test_otter_asks_the_same(homework, lecture):
    for cell in marks(read(homework, lecture), "grade"):
        name = cell.metadata.nbgrader.grade_id.removeprefix("check_")
        names = {}
        exec((homework[0] / f"tests/q{name}.py").read_text(), names)
        test, (suite,) = names["test"], names["test"]["suites"]
        assert names["OK_FORMAT"] and test["points"] == cell.metadata.nbgrader.points
        chapter, _, number = name.partition("_")
        assert suite["cases"][0]["code"] == (
            f">>> from checks_{chapter} import check_{number}\n"
            f">>> check_{number}(*answer_{name})\n'Right.'"
        )
        assert not suite["setup"]  # Otter refuses one
        assert cell.metadata.otter.tests == [f"q{name}"]
