"""A thousand refits of each of two tables with many rows: labels, one in ten, and
numbers.

    python tests/truth/many_rows/make_many_rows_truth.py

`many_rows.npz` beside this script holds for each table, `DESIGN_x`, Π, mean and
variance of each coefficient and their standard errors, (6, N), and as `DESIGN_slice`
the same of the first fifty refits. These depend on the tables, the penalties and the
draws of rows, and on nothing that rVAMP computes. It takes ten seconds on one core.
"""

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from rvamp_nb import Laplace, Logistic, Poisson, Subsample, rvamp
from rvamp_nb.inference import batch_glm, refinement
from rvamp_nb.inference.refits import refitter

FILE = Path(__file__).with_name("many_rows.npz")
ROWS, COLUMNS = 3000, 15  # rows that are many where the tests say so
N_REFITS, N_SLICE = 1000, 50


def labels_and_numbers():
    """Return the table, its labels and its numbers."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(ROWS, COLUMNS)) / np.sqrt(ROWS)
    f = 20 * X[:, :5].sum(1)
    labels = 1.0 * (rng.random(len(f)) < 1 / (1 + np.exp(2.5 - f)))
    return X, labels, f + rng.normal(size=len(f))


def fits():
    """Return {design: the fit whose problem is refitted}."""
    X, labels, numbers = labels_and_numbers()
    parts = dict(loss=Logistic(), intercept=True)
    one = rvamp(X, labels, prior=Laplace(0.7), resampling=Subsample(0.5), **parts)
    other = rvamp(X, numbers, prior=Laplace(1.0), resampling=Poisson(0.5))
    return dict(labels=one, numbers=other)


def seen(fit, n=1500, **given):
    """Π, mean and variance of n refits, and their standard errors."""
    draw = refinement.resamples(fit, range(n), 99)
    x = csr_array(refitter(fit, **given)(*draw)[0]).toarray()
    share, var = (x != 0).mean(0), x.var(0)
    share_se = np.sqrt(np.maximum(share * (1 - share), 1 / n) / n)
    fourth = ((x - x.mean(0)) ** 4).mean(0) - var**2
    small = 1e-3 * np.abs(x).max()  # a variance has the square of its unit
    noise = share_se, np.sqrt(var / n) + small / 10, np.sqrt(fourth / n) + small**2
    return (share, x.mean(0), var), noise


def kept(design, part="x"):
    """Return what `seen` found: values and standard errors, (3, N) each."""
    with np.load(FILE) as file:
        found = file[f"{design}_{part}"]
    return found[:3], found[3:]


def main():
    refinement.LONG = batch_glm.LONG = ROWS
    found = {}
    for design, fit in fits().items():
        found[f"{design}_x"] = np.vstack(seen(fit, N_REFITS))
        found[f"{design}_slice"] = np.vstack(seen(fit, N_SLICE))
    np.savez_compressed(FILE, **found)


if __name__ == "__main__":
    main()
