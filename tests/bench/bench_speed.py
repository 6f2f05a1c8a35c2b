"""The targets for speed and memory, on one thread: `pytest --bench tests/bench`. The tables themselves: `python tests/bench/speed.py`.

What is asserted is what is reached with room for a busy machine; the targets of the project stand beside it where they are higher.
"""
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
pytest.importorskip("celer", reason="a development extra")
import speed  # noqa: E402

ONE = speed.Threads(True)


@pytest.fixture(autouse=True)
def one_thread():
    with ONE.limit(): yield


def test_rate_of_the_linear_step():
    "Targets 0.5, 0.75, 0.75, 0.5 of the machine's product rate."
    of_large = [row[3] for row in speed.linear_step(ONE)]
    assert (np.array(of_large) > (0.28, 0.5, 0.6, 0.45)).all(), of_large


def test_a_fit_in_units_of_refits():
    "Target: 30 for three quarters of the designs, 60 for all. Not reached: a sparse refit by celer costs less than one step."
    ratios = np.array([row[5] for row in speed.whole_fits(ONE)])
    assert np.median(ratios) < 200 and ratios.max() < 400, ratios


def test_speed_up_at_equal_accuracy():
    "Targets 1,000 on the random DCT, 10 on riboflavin."
    speed_up = {row[0]: row[5] for row in speed.equal_accuracy(ONE)}
    assert speed_up["dct_410x4096"] > 700 and speed_up.get("riboflavin_71x4088", 10) >= 10, speed_up


def test_a_path_in_units_of_cold_fits():
    "Target 15; not reached where rows are many and selection is sharp."
    ratios = [row[4] for row in speed.paths(ONE, names=("i.i.d. wide", "Toeplitz 0.8 wide", "riboflavin"))]
    assert max(ratios) < 18, ratios


def test_linear_in_the_number_of_columns():
    _, (per_step, _) = speed.growth(ONE, speed.IN_N[:5])
    assert per_step <= 1.1


def test_peak_memory():
    "Target 3; the last case, a small penalty, starts with 2M coefficients in play and needs four."
    *usual, worst = (row[2] for row in speed.memory())
    assert max(usual) < 3 and worst < 4
