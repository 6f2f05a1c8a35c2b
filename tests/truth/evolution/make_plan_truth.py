"""Planned studies, carried out: does a study of the planned size find what it should?

    python tests/truth/evolution/make_plan_truth.py          # all, half an hour
    python tests/truth/evolution/make_plan_truth.py NAME ...

`plan.npz` holds, for each setting and each data set, how many of the ten true features
and how many others reach each of `THRESHOLDS`, by real refits, at the penalty where the
refits select q features on average; and that penalty. The number of rows and q are
those of `plan_study(1000, 10, 0.35)` when the script was written; a test asks whether
they still are.
"""

import argparse
from pathlib import Path

import numpy as np

from rvamp_nb import naive_bootstrap
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.resampling import (
    FixedFactor,
    Poisson,
    Subsample,
    TwoPoint,
    Weakness,
)
from rvamp_nb.datasets import standardize

HERE = Path(__file__).resolve().parent
ROWS, N_FEATURES, N_EFFECTS, SIZE, THRESHOLD, Q, LAM = 335, 1000, 10, 0.35, 0.7, 20, 2.0
THRESHOLDS = np.round(np.arange(0.5, 1.0, 0.05), 2)
N_SETS, N_REFITS = 30, 200
HALF = Subsample(0.5)
SETTINGS = {
    "independent": ("independent", HALF, FixedFactor()),
    "Toeplitz 0.5": ("toeplitz 0.5", HALF, FixedFactor()),
    "Toeplitz 0.8": ("toeplitz 0.8", HALF, FixedFactor()),
    "blocks of 10, 0.7": ("blocks", HALF, FixedFactor()),
    "factors": ("factors", HALF, FixedFactor()),
    "two-point penalties": ("independent", HALF, TwoPoint()),
    "three quarters": ("independent", Subsample(0.75), FixedFactor()),
    "bootstrap": ("independent", Poisson(1.0), FixedFactor()),
    "weakness": ("independent", HALF, Weakness(0.5)),
    "blocks, two-point": ("blocks", HALF, TwoPoint()),
}


def columns(design, rng):
    """Features with unit variance, (ROWS, N_FEATURES)."""
    E = rng.normal(size=(ROWS, N_FEATURES))
    if design.startswith("toeplitz"):
        rho = float(design.split()[1])
        for i in range(1, N_FEATURES):
            E[:, i] = rho * E[:, i - 1] + np.sqrt(1 - rho**2) * E[:, i]
    if design == "blocks":
        shared = np.repeat(rng.normal(size=(ROWS, N_FEATURES // 10)), 10, axis=1)
        E = np.sqrt(0.7) * shared + np.sqrt(0.3) * E
    if design == "factors":  # ten factors that make half of each feature's variance
        loadings = rng.normal(size=(10, N_FEATURES))
        loadings /= np.linalg.norm(loadings, axis=0)
        E = np.sqrt(0.5) * (rng.normal(size=(ROWS, 10)) @ loadings + E)
    return E


def data_set(design, number):
    """A and y, standardised, and the true features."""
    rng = np.random.default_rng([number, len(design)])
    X = columns(design, rng)
    true = rng.choice(N_FEATURES, N_EFFECTS, replace=False)
    effects = SIZE * rng.choice([-1.0, 1.0], N_EFFECTS)
    A, y = standardize(X, X[:, true] @ effects + rng.normal(size=ROWS))
    return A, y, true


def at_size(A, y, randomize, laws, number):
    """The penalty where forty refits select Q features on average."""
    lam, before = LAM, None
    for _ in range(5):
        few = naive_bootstrap(
            A,
            y,
            prior=Laplace(lam, randomize),
            n_resamples=40,
            random_state=number,
            **laws,
        )
        gap = np.log(max(few.Pi.sum(), 0.1) / Q)
        if abs(gap) < 0.03:
            break
        slope = (
            -2.5 if before is None else (gap - before[1]) / (np.log(lam) - before[0])
        )
        before = np.log(lam), gap
        lam *= np.exp(np.clip(-gap / np.clip(slope, -10, -0.5), -1, 1))
    return lam


def found(name, number):
    """True and false selections at each threshold, then the penalty; (21,)."""
    design, counts, randomize = SETTINGS[name]
    A, y, true = data_set(design, number)
    laws = dict(resampling=counts, verbose=False, n_jobs=1)
    lam = at_size(A, y, randomize, laws, number)
    plan = dict(n_resamples=N_REFITS, random_state=number + 1, **laws)
    Pi = naive_bootstrap(A, y, prior=Laplace(lam, randomize), **plan).Pi
    kept = Pi >= THRESHOLDS[:, None]
    hits = kept[:, true].sum(1)
    return np.r_[hits, kept.sum(1) - hits, lam]


def load():
    """{setting: (sets, 21)} from the summary beside this script."""
    with np.load(HERE / "plan.npz") as file:
        return {key: file[key] for key in file.files}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--sets", type=int, default=N_SETS)
    options = parser.parse_args()
    np.set_printoptions(linewidth=88, precision=2, suppress=True)
    for name in options.names or SETTINGS:
        counts = np.array([found(name, d) for d in range(options.sets)])
        results = load() if (HERE / "plan.npz").exists() else {}
        np.savez_compressed(HERE / "plan.npz", **(results | {name: counts}))
        print(name, counts.mean(0), flush=True)
