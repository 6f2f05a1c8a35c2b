"""Changes of a problem that no model can notice do not move the answer."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
from invariances import INVARIANCES, compared  # noqa: E402

ROUNDS = 4  # problems for each invariance


@pytest.mark.parametrize("name", INVARIANCES)
def test_the_answer_does_not_move(name):
    turn, refusals = [*INVARIANCES].index(name), 0
    for seed in range(turn, ROUNDS * len(INVARIANCES), len(INVARIANCES)):
        drawn, pair, found, refused = compared(seed)
        assert drawn == name
        assert not found, f"seed {seed}: {found}: {pair.first}"
        refusals += refused
    assert refusals <= ROUNDS / 2, "most problems are refused, and nothing is compared"
