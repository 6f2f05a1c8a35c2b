"""Do q-values by decoys keep their promise, and where not?

    python tests/bench/qvalues.py        all of it, about four minutes on one core
    python tests/bench/qvalues.py 20     twenty tables of each kind, printed only

Tables of 60 rows and 40 columns, of which none or twelve matter; the columns are
independent, or share one strong factor. For both kinds of decoys: the share of false
features among those with a q-value of at most alpha (0 where there is none), its mean
over the tables with the standard error, and how many true ones were found.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np

from rvamp_nb import StabilitySelection
from rvamp_nb.select.error_control import DECOYS

KEPT = Path(__file__).resolve().parent.parent / "truth/control" / "qvalues.json"
TABLES, REMADE = 400, 5  # how many of each kind; of how many all numbers are kept
ALPHAS = 0.1, 0.2, 0.5
DESIGNS = {  # how many columns matter; the common factor's share of their variance
    "nothing matters, independent": (0, 0.0),
    "nothing matters, one factor": (0, 0.64),
    "twelve matter, independent": (12, 0.0),
    "twelve matter, one factor": (12, 0.64),
}


def table(design, d, M=60, N=40):
    """X (M, N), y (M,), and which columns matter."""
    matter, share = DESIGNS[design]
    rng = np.random.default_rng([23, d, matter])
    common, own = rng.normal(size=(M, 1)), rng.normal(size=(M, N))
    X = share**0.5 * common + (1 - share) ** 0.5 * own
    true = np.zeros(N, dtype=bool)
    true[rng.permutation(N)[:matter]] = True
    return X, X[:, true].sum(1) + rng.normal(size=M), true


def counted(design, kind, d):
    """False and true features at each alpha, [[false, true], ...]."""
    X, y, true = table(design, d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the light: rVAMP need not be right here
        s = StabilitySelection(n_resamples=0, verbose=0).fit(X, y)
        kept = s.q_values(kind).to_numpy() <= np.array(ALPHAS)[:, None]
    return [[int((row & ~true).sum()), int((row & true).sum())] for row in kept]


def summary(counts):
    """Mean share of false ones, its standard error, and true ones found, by alpha."""
    false, true = np.moveaxis(np.array(counts, dtype=float), 2, 0)
    share = false / np.maximum(false + true, 1)
    error = share.std(0) / len(share) ** 0.5
    said = dict(share=share.mean(0), error=error, found=true.mean(0))
    return {name: np.round(values, 4).tolist() for name, values in said.items()}


def main(n=None):
    """Print, and keep where the number of tables is the one that is kept."""
    found = {}
    for design in DESIGNS:
        for kind in DECOYS:
            counts = [counted(design, kind, d) for d in range(n or TABLES)]
            found[f"{design}, {kind}"] = dict(first=counts[:REMADE], **summary(counts))
            print(f"{design}, {kind}: {summary(counts)}", flush=True)
    if n is None:
        kept = dict(tables=TABLES, alphas=ALPHAS, designs=found)
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
