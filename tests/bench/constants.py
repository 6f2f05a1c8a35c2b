"""What halving and doubling a constant does, on nine tables of tests/truth/beyond.

    python tests/bench/constants.py                # all constants of both rooms
    python tests/bench/constants.py MADE_UP ...    # these

By hand: five minutes. A line for each constant and factor, all in units of what the
constant as it stands does: the squared error of Π (the truth's own error subtracted,
over SEEDS), the middle of the tables and the worst; what the answer says it is worth;
processor seconds; and the share of features with a true Π from .02 to .98 whose 95 %
interval holds it. The lines beside the constants were read off here.
"""

import sys
import time
from unittest.mock import patch

import numpy as np
from refinement import case, held

from rvamp_nb.algorithm.solver import rvamp
from rvamp_nb.inference import levels, refinement
from rvamp_nb.inference.refinement import refine

NAMES = "outlier_08_half toeplitz_90_half breast_cancer_half riboflavin_50_half"
NAMES += " dct_poisson one_hot_half heavy_tails_half diabetes_poisson few_rows_half"
SEEDS = range(2)
HALVED = "MADE_UP CHANCE LEAST_FREEDOM CONTRADICTED LEAST_DOUBT IN_DOUBT LEAST_EXACT"
HALVED += " FIRST ASKED LEAST_ASKED FEW_SEEN DRAW NUMBER NEWTON_ROW A_REFIT TO_SETTLE"
HALVED += " TO_REFIT GROWTH SIDE_BY_SIDE SEEN_AT_ONCE DRAWN_AT_ONCE"


def scaled(value, factor):
    """A constant, or each of several, times a factor; whole ones stay whole."""
    if isinstance(value, tuple):
        return tuple(scaled(one, factor) for one in value)
    return type(value)(value * factor)


def measured(fits):
    """Squared error, worth by the answer's own account, seconds and cover, (4, n)."""
    lines = []
    for fit, (Pi, _, _, n) in fits:
        noise = Pi * (1 - Pi) / n
        asked = (Pi > 0.02) & (Pi < 0.98)
        for seed in SEEDS:
            start = time.process_time()
            answer = refine(fit, random_state=seed, verbose=False)
            seconds = time.process_time() - start
            error = np.mean((answer.Pi - Pi) ** 2 - noise)
            cover = held(answer.Pi, answer.Pi_se, Pi, noise)[asked].mean()
            lines.append([error, answer.equivalent_refits, seconds, cover])
    return np.reshape(lines, (len(fits), len(SEEDS), 4)).mean(1).T


def main(names):
    fits = []
    for name in NAMES.split():
        A, y, _, options, truth = case(name)
        fits.append((rvamp(A, y, **options), truth))
    as_it_is = measured(fits)
    print("as it is: cover", as_it_is[3].mean().round(3), flush=True)
    for name in names:
        room = levels if hasattr(levels, name) else refinement
        value = getattr(room, name)
        for factor in (0.5, 2):
            with patch.object(room, name, scaled(value, factor)):
                now = measured(fits)
            error, says, seconds = now[:3] / as_it_is[:3]
            line = f"error {np.median(error):.2f}, {error.max():.2f} at most"
            line += f"  says {np.median(says):.2f}  seconds {np.median(seconds):.2f}"
            print(f"{name} x {factor}: {line}  cover {now[3].mean():.3f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or HALVED.split())
