"""Changes of a problem that no model can notice do not move the answer."""

import sys
from pathlib import Path

import pytest
from cover import in_turn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
from invariances import INVARIANCES, compared  # noqa: E402

ROUNDS = 4  # problems for each invariance, of which two are compared in a run


@pytest.mark.parametrize("name", INVARIANCES)
def test_the_answer_does_not_move(name):
    seeds = range([*INVARIANCES].index(name), ROUNDS * len(INVARIANCES))
    seeds = in_turn(seeds[:: len(INVARIANCES)], 2)
    refusals = 0
    for seed in seeds:
        drawn, pair, found, refused = compared(seed)
        assert drawn == name
        assert not found, f"seed {seed}: {found}: {pair.first}"
        refusals += refused
    assert refusals <= len(seeds) / 2, "most are refused, and nothing is compared"
