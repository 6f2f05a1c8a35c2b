"""Studies of features with several columns each, carried out: does stability selection
by the group Lasso find what `predict_study` says?

    python tests/truth/evolution/make_plan_groups_truth.py      # five minutes
    python tests/truth/evolution/make_plan_groups_truth.py 3 ...

Tables are normal, with independent columns; the coefficients of a true feature have one
length and any direction. Refits are those of `make_column_groups_truth` (accelerated
gradient steps, no code of the package), at the penalty where a half selects q features
on average. `plan_groups.npz` holds for each number of columns and each study how many
true features and how many others reach each of `THRESHOLDS`, and the penalty.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "column_groups"))
from make_column_groups_truth import halves, refits  # noqa: E402

THRESHOLDS = np.array([0.6, 0.7, 0.75, 0.8, 0.9])
N_STUDIES, N_REFITS = 60, 200


class Setting(NamedTuple):
    """One kind of study, of noise 1; q follows from pfer at the threshold .7."""

    rows: int
    n_features: int
    n_effects: int
    size: float
    pfer: float
    lam: float  # where the search for the penalty begins

    @property
    def q(self):
        """Features that a half selects."""
        return (0.4 * self.pfer * self.n_features) ** 0.5


SETTINGS = {  # by the columns of a feature
    3: Setting(200, 200, 8, 0.5, 1.0, 1.8),
    5: Setting(300, 100, 12, 0.5, 3.0, 1.75),
    10: Setting(200, 80, 5, 0.6, 1.0, 1.4),
}


def table(k, number):
    """A (M, N) with columns of unit norm, y (M,), labels (N,), and true features."""
    M, G, K, size, *_ = SETTINGS[k]
    rng = np.random.default_rng([number, k])
    X, labels = rng.normal(size=(M, G * k)), np.repeat(np.arange(G), k)
    true = rng.choice(G, K, replace=False)
    effects = np.zeros((G, k))
    way = rng.normal(size=(K, k))
    effects[true] = size * way / np.linalg.norm(way, axis=1, keepdims=True)
    y = X @ effects.ravel() + rng.normal(size=M)
    X = X - X.mean(0)
    return X / np.linalg.norm(X, axis=0), y - y.mean(), labels, true


def shares(A, y, labels, lam, n, seed, tol):
    """How often each feature is selected in n halves."""
    x = refits(A, y, labels, lam, halves(len(y), n, seed), tol)[0]
    first = np.unique(labels, return_index=True)[1]
    return (np.add.reduceat(x**2, first, axis=1) > 0).mean(0)


def found(k, number):
    """True and false selections at each threshold, then the penalty; (11,)."""
    A, y, labels, true = table(k, number)
    lam, q, before = SETTINGS[k].lam, SETTINGS[k].q, None
    for _ in range(5):
        few = shares(A, y, labels, lam, 60, number, 1e-3)
        gap = np.log(max(few.sum(), 0.1) / q)
        if abs(gap) < 0.03:
            break
        at = np.log(lam)
        slope = -5 if before is None else (gap - before[1]) / (at - before[0])
        before = at, gap
        lam *= np.exp(np.clip(-gap / np.clip(slope, -20, -1), -1, 1))
    Pi = shares(A, y, labels, lam, N_REFITS, 1_000 + number, 1e-4)
    kept = Pi >= THRESHOLDS[:, None]
    hits = kept[:, true].sum(1)
    return np.r_[hits, kept.sum(1) - hits, lam]


def load():
    """{columns of a feature: (studies, 11)} from the summary beside this script."""
    with np.load(HERE / "plan_groups.npz") as file:
        return {int(key): file[key] for key in file.files}


if __name__ == "__main__":
    np.set_printoptions(linewidth=88, precision=3, suppress=True)
    for k in map(int, sys.argv[1:] or SETTINGS):
        counts = np.array([found(k, number) for number in range(N_STUDIES)])
        results = load() if (HERE / "plan_groups.npz").exists() else {}
        flat = {str(key): value for key, value in (results | {k: counts}).items()}
        np.savez_compressed(HERE / "plan_groups.npz", **flat)
        print(k, counts.mean(0), flush=True)
