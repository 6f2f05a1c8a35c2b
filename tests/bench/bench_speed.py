"""`pytest --bench tests/bench` prints the tables of speed.py, selection.py, refits.py
and posterior.py, on one thread. Times are shown, never asserted; memory is.

The same with more choice: `python tests/bench/speed.py`, `.../selection.py`,
`.../refits.py`.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
pytest.importorskip("celer", reason="a development extra")
import posterior  # noqa: E402
import refits  # noqa: E402
import selection  # noqa: E402
import speed  # noqa: E402


@pytest.mark.parametrize("table", "abcde")
def test_a_table_of_ratios(table, capsys):
    with capsys.disabled(), speed.Threads(True).limit():
        speed.print_tables(table, speed.Threads(True))


@pytest.mark.parametrize("word", ["wide", "small", "tall", "survival", "classes"])
def test_stability_selection_over_refits(word, capsys):
    with capsys.disabled(), speed.Threads(True).limit():
        selection.print_table([word], speed.Threads(True))


def test_what_a_posterior_costs(capsys):
    with capsys.disabled(), speed.Threads(True).limit():
        posterior.print_tables(speed.Threads(True))


def test_peak_memory(capsys):
    """Target 3 times the size of A. With 71 rows some hundred vectors of N numbers
    (messages, their logarithms, eight remembered moves) are larger than A itself, and
    4 is allowed; so it is at a small penalty, where 2M coefficients start in play.
    """
    rows = speed.memory()
    with capsys.disabled():
        print("\npeak over the size of A:", *rows, sep="\n  ")
    few, *usual, worst = (row[2] for row in rows)
    assert max(usual) < 3 and max(few, worst) < 4


def test_refits_a_second(capsys):
    """Many at once against one by one; the aim is four times as many on wide tables."""
    with capsys.disabled():
        refits.print_table(speed.Threads(True))
