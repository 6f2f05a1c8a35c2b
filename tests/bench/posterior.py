"""What a posterior costs: a logistic fit at beta = 1 in units of the squared loss's.

    python tests/bench/posterior.py

Breast cancer, 569 × 30, standardised, with an intercept, in one run, on one thread:
CPU time of the fastest of several fits that take turns. Beside it one message of 20,000
likelihood rows, in microseconds a row, at the temperatures 0 and 1.
"""

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from threadpoolctl import threadpool_limits

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from speed import Threads, table  # noqa: E402

from rvamp_nb import rvamp  # noqa: E402
from rvamp_nb.algorithm.likelihood import Logistic, Squared  # noqa: E402
from rvamp_nb.algorithm.messages import Natural  # noqa: E402
from rvamp_nb.algorithm.prior import Laplace, Ridge  # noqa: E402
from rvamp_nb.algorithm.resampling import Poisson, Subsample  # noqa: E402

LAWS = Poisson(0.5), Subsample(0.5)


def fits(prior, counts):
    """The squared and the logistic fit at beta = 1, as functions."""
    X, labels = load_breast_cancer(return_X_y=True)
    A, labels = (X - X.mean(0)) / X.std(0), labels.astype(float)

    def fit(y, loss):
        given = dict(prior=prior, loss=loss, resampling=counts)
        return rvamp(A, y, intercept=True, beta=1.0, **given)

    return (
        lambda: fit(labels - labels.mean(), Squared(0.3)),
        lambda: fit(labels, Logistic()),
    )


def posteriors(threads, repeat=4):
    """Rows (prior and counts, steps and seconds of both, their ratio)."""
    rows = []
    for prior in (Laplace(5.0), Ridge(5.0)):
        for counts in LAWS:
            squared, logistic = fits(prior, counts)
            steps = squared().n_iter, logistic().n_iter
            seconds = threads.fastest(squared, logistic, repeat=repeat)
            name = f"{type(prior).__name__}, {counts}"
            rows.append((name, *steps, *seconds, seconds[1] / seconds[0]))
    return rows


def channels(threads, M=20_000):
    """Rows (beta and counts, microseconds a row of one message)."""
    rng = np.random.default_rng(0)
    V, chi_hat = 0.01 * np.exp(0.5 * rng.normal(size=(2, M)))
    h = rng.normal(0, 1.5, M)
    incoming, y = Natural(V, h, chi_hat), (rng.random(M) * (1 + np.exp(h)) < 1) * 1.0
    rows = []
    for beta in (np.inf, 1.0):
        for counts in LAWS:
            (seconds,) = threads.fastest(
                lambda: Logistic().message(y, incoming, counts, beta)
            )
            rows.append((f"beta = {beta:g}, {counts}", 1e6 * seconds / M))
    return rows


def print_tables(threads):
    """Both tables."""
    columns = ("prior, counts", "squared: steps", "logistic", "s", "s", "ratio")
    table("569 x 30 at beta = 1, squared and logistic", columns, posteriors(threads))
    table("a logistic message", ("20,000 rows", "µs a row"), channels(threads))


if __name__ == "__main__":
    began = time.perf_counter()
    with threadpool_limits(1):
        print_tables(Threads(True))
    print(f"{time.perf_counter() - began:.0f} s")
