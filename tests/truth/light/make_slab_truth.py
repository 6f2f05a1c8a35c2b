"""Posteriors of half-samples under a spike and a slab, all supports counted, for the
grade of the standard deviations.

    python tests/truth/light/make_slab_truth.py     # two minutes

`slab.npz` holds, for each small table, its design (`DESIGN`), the effective rows of
the fit, the smallest and the largest ratio of a standard deviation across half-samples
to that of 200 posteriors (of coefficients with one above .05), and the largest error
of an inclusion probability. The tables of `CHOSEN` were looked at when the limit was
chosen, those of `HELD_OUT` were not.
"""

import sys
from itertools import product
from pathlib import Path

import numpy as np

from rvamp_nb import SpikeSlab, Subsample, rvamp
from rvamp_nb.algorithm.likelihood import Squared
from rvamp_nb.inference.row_shares import row_influence

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "bagging"))
from make_bagging_truth import posterior  # noqa: E402

DESIGN = "rows columns rho snr inclusion seed".split()
CHOSEN = [
    *product(
        (10, 15, 20, 30, 40, 60, 100), (4, 9), (0, 0.6), (1, 5, 30), (0.2, 0.5), (0, 1)
    )
]
HELD_OUT = [
    *product((12, 18, 25, 35, 50, 80), (6, 8), (0.3, 0.8), (2, 12), (0.1, 0.4), (2, 3))
]
N_HALVES, COUNTS = 200, 0.05  # the least standard deviation that counts


def table(M, N, rho, snr, inclusion, seed):
    """Columns of unit norm whose neighbours correlate by rho, y, and the noise."""
    rng = np.random.default_rng([seed, M, N])
    steps = np.abs(np.subtract.outer(np.arange(N), np.arange(N)))
    root = np.linalg.cholesky(float(rho) ** steps)
    A = rng.normal(size=(M, N)) @ root.T
    A = (A - A.mean(0)) / np.linalg.norm(A - A.mean(0), axis=0)
    x0, k = np.zeros(N), max(1, round(0.4 * N))
    x0[rng.choice(N, k, replace=False)] = rng.normal(size=k)
    noise = np.linalg.norm(A @ x0) / np.sqrt(M * snr)
    return A, A @ x0 + noise * rng.normal(size=M), noise


def fitted(design):
    """rVAMP's answer for one table."""
    A, y, noise = table(*design)
    prior, half = SpikeSlab(design[4], 1.0), Subsample(0.5)
    return rvamp(A, y, prior=prior, loss=Squared(noise), resampling=half, beta=1.0)


def compared(design):
    """Effective rows, two ratios of standard deviations, and the error of Pi."""
    (A, y, noise), fit = table(*design), fitted(design)
    assert fit.converged
    half, shares = Subsample(0.5), row_influence(fit)
    seeds = ([design[-1], b] for b in range(N_HALVES))
    c = np.array([half.draw(len(y), np.random.default_rng(seed)) for seed in seeds])
    precision = np.einsum("bm,mi,mj->bij", c, A, A, optimize=True) / noise**2
    mean, _, Pi = posterior(precision, (c * y) @ A / noise**2, design[4])
    true = mean.std(0)
    ratio = (np.sqrt(fit.var) / true)[true > COUNTS]
    ends = (ratio.min(), ratio.max()) if len(ratio) else (1.0, 1.0)
    return 1 / (shares @ shares), *ends, np.abs(fit.Pi - Pi.mean(0)).max()


def load():
    """{"chosen" or "held out": (design (T, 6), seen (T, 4))}."""
    with np.load(HERE / "slab.npz") as file:
        cut = len(CHOSEN)
        parts = file["design"], file["seen"]
        return {
            "chosen": tuple(part[:cut] for part in parts),
            "held out": tuple(part[cut:] for part in parts),
        }


if __name__ == "__main__":
    designs = CHOSEN + HELD_OUT
    seen = np.float32([compared(design) for design in designs])
    np.savez_compressed(HERE / "slab.npz", design=np.float32(designs), seen=seen)
