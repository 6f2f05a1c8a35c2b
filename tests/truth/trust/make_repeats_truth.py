"""False selections from pure noise when some rows are repeated samples.

    python tests/truth/trust/make_repeats_truth.py          # five minutes

`repeats.npz` beside this script holds, for each design and each data set, how many of
100 columns without any signal reach Π = 0.75 at q = √50, where the bound is 1. A design
says how many of 240 rows come from units with eight samples each. Of a repeated row
and its target nine tenths of the variance is the unit's.
"""

import json
from pathlib import Path

import numpy as np
from make_trust_truth import at_size, solve

from rvamp_nb.datasets import standardize
from rvamp_nb.inference.diagnostics import near_duplicate_rows

HERE = Path(__file__).resolve().parent
M, N, EACH, ALIKE, THRESHOLD = 240, 100, 8, 0.9, 0.75
UNITS = (0, 1, 3, 8, 30)  # with eight samples each; the other rows are single
DATA_SETS = 50


def table(units, d):
    """Pure noise, and which unit each row comes from."""
    rng = np.random.default_rng([d, units])
    unit = np.concatenate([np.repeat(np.arange(units), EACH), units + np.arange(M)])[:M]
    repeated = (unit < units)[:, None]
    own, each = rng.normal(size=(units + M, N + 1))[unit], rng.normal(size=(M, N + 1))
    table = np.where(repeated, np.sqrt(ALIKE) * own + np.sqrt(1 - ALIKE) * each, own)
    return table[:, :N], table[:, N]


def false_selections(units, d):
    """How many columns are selected, and in what share of the rows a group is seen."""
    A, y = standardize(*table(units, d))
    lam, _ = at_size({}, A, y)
    Pi = solve({}, A, y, lam).Pi
    seen = sum(len(group) - 1 for group in near_duplicate_rows(A)) / M
    return (Pi >= THRESHOLD).sum(), seen


def load():
    """Counts of false selections and shares seen, (designs, data sets) each."""
    with np.load(HERE / "repeats.npz") as file:
        return file["V"].astype(int), file["seen"].astype(float)


def main():
    found = np.zeros((len(UNITS), DATA_SETS, 2))
    for k, units in enumerate(UNITS):
        for d in range(DATA_SETS):
            found[k, d] = false_selections(units, d)
        V, seen = found[k].T
        error = V.std() / DATA_SETS**0.5
        print(f"{units}: {V.mean():.2f} ± {error:.2f}, {seen.mean():.3f}", flush=True)
    np.savez_compressed(
        HERE / "repeats.npz",
        V=found[..., 0].astype(np.int16),
        seen=found[..., 1].astype(np.float32),
        recipe=json.dumps(dict(M=M, N=N, units=UNITS, each=EACH, alike=ALIKE)),
    )


if __name__ == "__main__":
    main()
