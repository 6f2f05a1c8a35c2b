"""The digits of forty small problems of every kind, one hash a line.

    python tests/bench/hashes.py > after.txt

Two commits give the same answers, bit for bit, if their files are the same; compare
them with `diff before.txt after.txt`, on one machine with one version of NumPy and
SciPy. A name given as an argument runs the problems whose names hold it.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: sums in one order

import sys
import warnings
from hashlib import sha256

import numpy as np
from scipy import sparse

import rvamp_nb as rv
from rvamp_nb import datasets
from rvamp_nb.course.conditioning import condition_on_rows
from rvamp_nb.course.survival import simulated_survival, survival_fit

rng = np.random.default_rng(65)
M, N = 40, 12
A = rng.normal(size=(M, N)) / np.sqrt(M)
A[:, 7] = A[:, 3] + 0.1 * A[:, 7]  # two that nearly repeat each other
WIDE = rng.normal(size=(24, 50)) / np.sqrt(24)
X0 = np.where(np.arange(N) % 4 == 0, 2.0, 0.0)
Y = A @ X0 + 0.5 * rng.normal(size=M)
Y_WIDE = WIDE[:, :4].sum(1) + 0.3 * rng.normal(size=24)
LABELS, COUNTS = (Y > np.median(Y)) * 1.0, rng.poisson(np.exp(Y / 2)) * 1.0
GROUPS, STRATA = np.arange(M) // 2, np.arange(M) % 2
WEIGHT, OFFSET = 0.5 + STRATA, 0.2 * np.sin(np.arange(M))
DRAWN, LAM = rv.TwoPoint(2, 0.5), 0.15 + 0.01 * np.arange(N)


class Normal(rv.Prior):
    """A ridge penalty by the general channel."""

    def inner(self, field, Q_hat, beta):
        """As `Prior.inner`."""
        x = field / (Q_hat + 1)
        return field * x / 2, x, 0 * field + 1 / (Q_hat + 1)


class LogCosh(rv.Loss):
    """A smooth absolute value."""

    def value(self, y, f):
        """As `Loss.value`."""
        return np.log(np.cosh(f - y))

    def derivatives(self, y, f):
        """As `Loss.derivatives`."""
        return np.tanh(f - y), np.cosh(f - y) ** -2


class Law:
    """A law of counts of the user's."""

    mean, var = 0.5, 0.75

    def nodes(self):
        """Values and probabilities."""
        return np.array([0.0, 2.0]), np.array([0.75, 0.25])

    def draw(self, M, rng):
        """One occupation vector."""
        return 2.0 * (rng.random(M) < 0.25)


def fitted(y=Y, lam=0.2, table=A, **options):
    """A call of a fit, when it is asked for."""
    options.setdefault("prior", rv.Laplace(lam, DRAWN))
    return lambda: rv.rvamp(table, y, **options)


def survival():
    """A Cox fit on rows of Poisson."""
    table, y = simulated_survival(M=60, N=6, seed=1)
    prior = rv.Laplace(1.0, DRAWN)
    return survival_fit(table, y["time"], y["event"], prior=prior)[0]


def stability(y=Y, **options):
    """A default job, with its refits."""
    return rv.StabilitySelection(verbose=0, **options).fit(A, y).selection_.fit


def refined(fit, **options):
    """Refits of a fit, by turns and exact."""
    options = dict(accuracy=0.05, verbose=False) | options
    return lambda: rv.refine(fit(), **options)


GROUPED = rv.Grouped(rv.Subsample(0.5), GROUPS)
WEIGHTED = rv.WeightedLoss(rv.Logistic(), WEIGHT, OFFSET)
NET = rv.ElasticNet(LAM, DRAWN, 1.0 * (np.arange(N) > 0), l1_ratio=0.6)
PROBLEMS = {
    "squared": fitted(),
    "wide": fitted(Y_WIDE, table=WIDE),
    "prior ridge": fitted(prior=rv.Ridge(0.4, DRAWN)),
    "prior elastic net": fitted(prior=NET),
    "prior non-negative": fitted(prior=rv.NonNegative(0.2, rv.Weakness(0.5))),
    "prior fixed": fitted(prior=rv.Laplace(0.2), resampling=rv.NoResampling()),
    "prior spike and slab": fitted(prior=rv.SpikeSlab(0.3), beta=1.0),
    "prior laplace, beta 2": fitted(beta=2.0),
    "prior of one's own": fitted(prior=Normal()),
    "prior of one's own, intercept": fitted(prior=Normal(), intercept=True),
    "loss squared, sigma": fitted(loss=rv.Squared(0.7), beta=1.0),
    "loss logistic": fitted(LABELS, 0.1, loss=rv.Logistic(), intercept=True),
    "loss logistic, beta 1": fitted(LABELS, 0.1, loss=rv.Logistic(), beta=1.0),
    "loss poisson": fitted(COUNTS, loss=rv.PoissonLoss(), intercept=True),
    "loss huber": fitted(loss=rv.Huber(0.5)),
    "loss of one's own": fitted(loss=LogCosh()),
    "loss of one's own, beta 1": fitted(loss=LogCosh(), beta=1.0),
    "weights": fitted(LABELS, 0.1, loss=WEIGHTED, intercept=True),
    "weights, squared": fitted(loss=rv.WeightedLoss(rv.Squared(), WEIGHT)),
    "weights, of one's own": fitted(loss=rv.WeightedLoss(LogCosh(), WEIGHT), beta=1.0),
    "law subsample": fitted(resampling=rv.Subsample(0.5)),
    "law exponential": fitted(resampling=rv.Exponential()),
    "law discrete": fitted(resampling=rv.Discrete((0, 1, 3), (0.5, 0.25, 0.25))),
    "law of one's own": fitted(resampling=Law()),
    "law stratified": fitted(resampling=rv.Stratified(rv.Subsample(0.5), STRATA)),
    "groups": fitted(resampling=GROUPED),
    "groups, logistic": fitted(
        LABELS, 0.1, resampling=GROUPED, loss=rv.Logistic(), intercept=True
    ),
    "groups, weights": fitted(LABELS, 0.1, resampling=GROUPED, loss=WEIGHTED),
    "clusters": lambda: rv.with_clusters(fitted(lam=0.1)(), [[3, 7]]),
    "clusters, groups, intercept": lambda: rv.with_clusters(
        fitted(lam=0.1, resampling=GROUPED, intercept=True)(), [[3, 7]]
    ),
    "chunks of columns": fitted(table=rv.tables.ChunkedTable(A, chunk_size=200)),
    "chunks of a wide table": fitted(
        Y_WIDE, table=rv.tables.ChunkedTable(WIDE, chunk_size=170)
    ),
    "sparse": fitted(table=sparse.csc_array(np.where(np.abs(A) > 0.1, A, 0.0))),
    "survival": survival,
    "path": lambda: rv.rvamp_path(A, Y, n_lambdas=5, prior=rv.Laplace(1.0, DRAWN)),
    "path, logistic": lambda: rv.rvamp_path(
        A,
        LABELS,
        n_lambdas=4,
        prior=rv.Laplace(1.0, DRAWN),
        loss=rv.Logistic(),
        intercept=True,
    ),
    "rows": lambda: condition_on_rows(fitted()(), rows=2),
    "rows, groups": lambda: condition_on_rows(
        fitted(LABELS, 0.1, resampling=GROUPED, loss=WEIGHTED)(), rows=1
    ),
    "refine": refined(fitted(resampling=rv.Subsample(0.5))),
    "refine, weights": refined(fitted(LABELS, 0.1, loss=WEIGHTED, intercept=True)),
    "refine, huber, groups": refined(
        fitted(resampling=GROUPED, loss=rv.Huber(0.5)), n_resamples=40
    ),
    "naive": lambda: rv.naive_bootstrap(
        A,
        LABELS,
        prior=rv.Laplace(0.1, DRAWN),
        loss="logistic",
        n_resamples=60,
        verbose=False,
    ),
    "stability": lambda: stability(n_resamples=0),
    "stability, refits": lambda: stability(LABELS, n_resamples=60),
    "stability, huber": lambda: stability(loss="huber", n_resamples=0),
    "effects": lambda: rv.debiased_effects(
        rv.rvamp(A, Y, 0.2, resampling=rv.NoResampling())
    ),
    "penalty": lambda: datasets.choose_lambda(A, Y),
}
FIELDS = "Pi", "mean", "var", "estimate", "se", "p_value", "messages"


def numbers(answer):
    """The bytes of all numbers of an answer, in order."""
    if type(answer) is tuple:
        return b"".join(map(numbers, answer))
    if isinstance(answer, (float, np.ndarray)):
        return np.ascontiguousarray(answer, dtype=float).tobytes()
    parts = []
    for name in FIELDS:
        try:
            value = getattr(answer, name)
        except AttributeError:  # not every answer has every number
            continue
        if name == "messages":
            value = tuple(part for message in value for part in message[:3])
        parts.append(numbers(value))
    return b"".join(parts)


def main(wanted=""):
    """Print the hash of each problem whose name holds `wanted`."""
    for name, solve in PROBLEMS.items():
        if wanted not in name:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = sha256(numbers(solve())).hexdigest()
        print(f"{found}  {name}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
