"""Skewness of the leave-one-out fields of a small table, by refits.

    python tests/truth_beyond/make_skewness.py

`skewness.npz` beside this script holds for each truth of NAMES a table (22, N) of the
fields a_i'u that the rest exerts on each column when it is left out: their mean, their
skewness over all n resamples, and that over each of 20 batches of them. A column that a
refit does not select has its field in that refit already; those that it selects are
left out one by one and the rest is refitted. Some minutes on one core.
"""

from pathlib import Path

import make_beyond_truth as refitted
import numpy as np

from rvamp_nb.bootstrap import weighted_lasso

HERE = Path(__file__).resolve().parent
NAMES = "few_rows_poisson", "few_rows_half"
BATCHES = 20


def fields(A, y, penalties, c):
    """The field on each column without its own part, (N,)."""
    x = weighted_lasso(A, y, penalties, c)
    seen = A.T @ (c * (y - A @ x))
    for i in np.flatnonzero(x):
        some = np.arange(len(x)) != i
        rest = weighted_lasso(A[:, some], y, penalties[some], c)
        seen[i] = A[:, i] @ (c * (y - A[:, some] @ rest))
    return seen


def skewness(values):
    """Of each column, (N,)."""
    centred = values - values.mean(0)
    return (centred**3).mean(0) / (centred**2).mean(0) ** 1.5


def made(name, n):
    """Mean, skewness, and skewness of each batch, (2 + BATCHES, N)."""
    design, _, law = name.rpartition("_")
    (A, y, lam), (counts, randomise) = refitted.problem(design), refitted.LAWS[law]
    rng, (M, N) = np.random.default_rng(0), A.shape
    seen = []
    for _ in range(n):
        c, factor = counts.draw(M, rng), randomise.draw(N, rng)
        seen.append(fields(A, y, lam * factor, c))
    seen = np.array(seen)
    batches = [skewness(part) for part in np.split(seen, BATCHES)]
    return np.stack([seen.mean(0), skewness(seen), *batches])


def main(n=3_000):
    tables = {name: made(name, n).astype(np.float32) for name in NAMES}
    np.savez_compressed(HERE / "skewness.npz", n=n, **tables)


if __name__ == "__main__":
    main()
