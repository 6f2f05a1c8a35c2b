"""Does a selection by decoys keep its promise of a number of false features?

    python tests/bench/decoys.py        all of it, about ten minutes on one core
    python tests/bench/decoys.py 5      five tables of each design

Tables of 80 rows and 30 columns of four designs, of which none or six matter. Promised
is one false feature on average, given all others: a neighbour of a feature that matters
is false, too. For each model of the columns, eleven draws: false features with the
standard error of their mean over the tables, and true ones.
"""

import sys
import warnings

import numpy as np

from rvamp_nb import StabilitySelection
from rvamp_nb.select.decoys import COVARIANCES, share_kept

TABLES = 60
DESIGNS = {  # how many columns matter, the size of an effect
    "independent": (6, 0.5),
    "Toeplitz .5, nothing matters": (0, 0.0),
    "Toeplitz .9": (6, 0.9),
    "two factors": (6, 0.7),
}


def table(design, d, M=80, N=30):
    """X (M, N), y (M,), and which columns matter."""
    matter, size = DESIGNS[design]
    rng = np.random.default_rng([37, d, len(design)])
    X = rng.normal(size=(M, N))
    if design.startswith("Toeplitz"):
        rho = float(design[9:11])
        for j in range(1, N):
            X[:, j] = rho * X[:, j - 1] + (1 - rho**2) ** 0.5 * X[:, j]
    if design == "two factors":
        loadings = np.random.default_rng(5).normal(size=(2, N))
        X = 0.7 * X + rng.normal(size=(M, 2)) @ loadings / 2
    true = np.zeros(N, dtype=bool)
    true[rng.permutation(N)[:matter]] = True
    signs = rng.choice([-1.0, 1.0], N)
    return X, (X * signs)[:, true].sum(1) * size + rng.normal(size=M), true


def counted(design, d, models=tuple(COVARIANCES)):
    """{model: (false, true)} of one table."""
    X, y, true = table(design, d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of reliability: rVAMP need not be right here
        s = StabilitySelection(tol=1e-3, n_resamples=0).fit(X, y)
        found = {}
        for model in models:
            kept = share_kept(s.question_, 1.0, model, 11, 0) >= 0.5
            found[model] = int((kept & ~true).sum()), int((kept & true).sum())
    return found


def main(n=TABLES):
    """Print false and true features of each design and model."""
    for design in DESIGNS:
        each = [counted(design, d) for d in range(n)]
        for model in COVARIANCES:
            false, true = np.array([found[model] for found in each], dtype=float).T
            error = false.std() / n**0.5
            numbers = f"{false.mean():.2f} ± {error:.2f} false, {true.mean():.1f} true"
            print(f"{design}, {model}: {numbers}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
