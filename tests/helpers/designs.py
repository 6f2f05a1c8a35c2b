"""Problems on which the solver must arrive: designs, responses, penalties and count
laws.
"""

from contextlib import contextmanager
from functools import partial
from typing import NamedTuple
from unittest import mock

import numpy as np
from scipy.fft import dct
from scipy.linalg import hadamard
from scipy.special import erfcx, log_ndtr
from scipy.stats import norm

from rvamp_nb.algorithm.likelihood import Loss
from rvamp_nb.algorithm.resampling import FixedFactor, Poisson, Subsample, TwoPoint
from rvamp_nb.datasets import standardize
from rvamp_nb.select import question
from rvamp_nb.select.features import near_copies


@contextmanager
def at_most(steps):
    """Let the fits of a selector take so few steps that there is no answer."""
    short = partial(question.SelectionProblem, max_iter=steps)
    with mock.patch.object(question, "SelectionProblem", short):
        yield


class Probit(Loss):
    """A loss of a user's own."""

    def value(self, y, f):
        return -log_ndtr((2 * y - 1) * f)

    def derivatives(self, y, f):
        s = 2 * y - 1
        r = np.sqrt(2 / np.pi) / erfcx(-s * f / np.sqrt(2))
        return -s * r, r * (r + s * f)


class Case(NamedTuple):
    name: str
    A: np.ndarray
    y: np.ndarray


def toeplitz(rng, M, N, rho):
    """Columns of an autoregression: correlation rho^|i-j|."""
    X = rng.normal(size=(M, N))
    for i in range(1, N):
        X[:, i] = rho * X[:, i - 1] + np.sqrt(1 - rho**2) * X[:, i]
    return X


def equicorrelated(rng, M, N, rho):
    return np.sqrt(rho) * rng.normal(size=(M, 1)) + np.sqrt(1 - rho) * rng.normal(
        size=(M, N)
    )


def low_rank(rng, M, N, rank, noise):
    return rng.normal(size=(M, rank)) @ rng.normal(size=(rank, N)) + noise * rng.normal(
        size=(M, N)
    )


def duplicated(rng, M, N):
    X = rng.normal(size=(M, N // 2))
    return np.hstack([X, X])


def blocks(rng, M, N, rho, size=10):
    shared = np.repeat(rng.normal(size=(M, -(-N // size))), size, axis=1)[:, :N]
    return np.sqrt(rho) * shared + np.sqrt(1 - rho) * rng.normal(size=(M, N))


def random_rows(rng, M, N):
    """Rows of a discrete cosine transform."""
    return dct(np.eye(N), norm="ortho", axis=0)[
        rng.choice(N, M, replace=False)
    ] * np.sqrt(N)


def genes(rng, M, N, factors=1, share=0.8):
    """Gene-like columns: each follows the same few factors, mostly with the same sign,
    by a share of its variance of its own.
    """
    loadings = rng.normal(size=(factors, N)) + 1
    loadings /= np.linalg.norm(loadings, axis=0)
    shares = rng.uniform(0, share, size=N)
    common = rng.normal(size=(M, factors)) @ loadings
    return common * np.sqrt(shares) + rng.normal(size=(M, N)) * np.sqrt(1 - shares)


def equal_effects(rng, A, effects=10, snr=32.0):
    """Some columns with an effect of 1 each, and noise at the ratio asked for."""
    signal = A[:, rng.choice(A.shape[1], effects, replace=False)].sum(1)
    noise = rng.normal(size=len(A))
    return signal + noise * np.linalg.norm(signal) / np.linalg.norm(noise) / snr**0.5


def respond(rng, A, snr=10.0, density=0.05, heavy=False, outlier=False):
    """A sparse truth; noise (normal, or Student with 1.5 degrees of freedom) at the
    signal-to-noise ratio asked for.
    """
    x = rng.normal(size=A.shape[1]) * (rng.random(A.shape[1]) < density)
    x[0] = x[0] or 1.0
    signal = A @ x
    noise = rng.standard_t(1.5, size=len(A)) if heavy else rng.normal(size=len(A))
    y = signal + noise * np.linalg.norm(signal) / np.linalg.norm(noise) / np.sqrt(snr)
    y[0] += 20 * y.std() * outlier
    return y


# M, N, factors, share: on each of these a cold start once claimed thousands of columns
STRONG = {
    "one factor": (102, 1200, 1, 0.8),
    "three factors": (102, 1200, 3, 0.95),
    "two factors, few rows": (71, 1200, 2, 0.99),
    "one factor, few rows": (71, 1500, 1, 0.99),
}
SHARES = np.geomspace(0.5, 0.05, 10)  # of the penalty that empties a half-sample
PROSTATE = (102, 6033)  # rows and columns of the table that showed it


def strong_cases(seeds=range(4), shape=None):
    """Ten strong equal effects on gene-like columns, several data sets of each kind;
    of another shape, if one is given.
    """
    for name, (M, N, factors, share) in STRONG.items():
        for seed in seeds:
            rng = np.random.default_rng(seed)
            A, _ = standardize(genes(rng, *(shape or (M, N)), factors, share))
            y = equal_effects(rng, A)
            yield Case(f"{name}, {seed}", *standardize(A, y))


WIDE, TALL = (60, 200), (200, 60)
DESIGNS = {
    **{
        f"DCT {ratio}": (random_rows, (int(400 * ratio), 400), {})
        for ratio in (0.05, 0.1, 0.2, 0.5)
    },
    **{
        f"i.i.d. {s}": (lambda rng, M, N: rng.normal(size=(M, N)), s, {})
        for s in (WIDE, TALL)
    },
    **{
        f"Toeplitz {rho} {s}": (toeplitz, s, dict(rho=rho))
        for rho in (0.5, 0.8, 0.95)
        for s in (WIDE, TALL)
    },
    **{
        f"equicorrelated {rho}": (equicorrelated, (60, 300), dict(rho=rho))
        for rho in (0.5, 0.9, 0.99)
    },
    "equicorrelated 0.99 tall": (equicorrelated, TALL, dict(rho=0.99)),
    "equicorrelated 0.99 60x600": (equicorrelated, (60, 600), dict(rho=0.99)),
    "low rank 5": (low_rank, (60, 300), dict(rank=5, noise=0.3)),
    "low rank 3": (low_rank, (60, 300), dict(rank=3, noise=0.1)),
    "duplicated wide": (duplicated, WIDE, {}),
    "duplicated tall": (duplicated, TALL, {}),
    "blocks 0.9": (blocks, WIDE, dict(rho=0.9)),
    "blocks 0.7 tall": (blocks, TALL, dict(rho=0.7)),
}
RESPONSES = {
    "heavy tails": dict(heavy=True),
    "outlier": dict(outlier=True),
    **{f"snr {s:g}": dict(snr=s) for s in (0.1, 1, 100, 1e4)},
}
# of the penalty that empties a sample of mean size
FRACTIONS = (0.95, 0.5, 0.2, 0.08, 0.03)
LAWS = {
    "Poisson 0.5": Poisson(0.5),
    "Subsample 0.5": Subsample(0.5),
    "Poisson 0.1": Poisson(0.1),
    "Poisson 1": Poisson(1.0),
    "Subsample 0.1": Subsample(0.1),
    "Subsample 0.9": Subsample(0.9),
}


def cases():
    """Every design with a moderate response; i.i.d. and Toeplitz ones with each
    special response.
    """
    for number, (name, (make, shape, options)) in enumerate(DESIGNS.items()):
        yield _case(name, make, shape, options, {}, number)
    for number, (name, options) in enumerate(RESPONSES.items(), 100):
        yield _case(
            f"i.i.d. wide, {name}",
            lambda rng, M, N: rng.normal(size=(M, N)),
            WIDE,
            {},
            options,
            number,
        )
        yield _case(
            f"Toeplitz 0.7 square, {name}",
            toeplitz,
            (100, 100),
            dict(rho=0.7),
            options,
            number + 50,
        )


def _case(name, make, shape, design, response, seed):
    rng = np.random.default_rng(seed)
    A, _ = standardize(make(rng, *shape, **design))
    return Case(name, *standardize(A, respond(rng, A, **response)))


def penalty(case, fraction, counts):
    """The fraction of the penalty that empties the mean sample."""
    return fraction * counts.mean * np.abs(case.A.T @ case.y).max()


# Two hundred small tables of fifty kinds ---------------------------------------------
# Each kind makes M rows and about N columns, before standardising. tests/truth/light
# holds what refits say of them.


def _pairs(rng, M, N, rho, size=2):
    """Groups of so many columns that are copies of one, up to some noise."""
    return blocks(rng, M, size * (N // size), rho, size)


def _half_copied(rng, M, N, noise=0.05):
    """Half of the columns come twice, the second time with a little noise."""
    X = rng.normal(size=(M, N // 2))
    return np.hstack([X, X + noise * rng.normal(size=X.shape)])


def _walks(rng, M, N):
    """Each row is a random walk along the columns."""
    return rng.normal(size=(M, N)).cumsum(1)


def _moving_average(rng, M, N, window=5):
    steps = rng.normal(size=(M, N + window - 1)).cumsum(1)
    return steps[:, window - 1 :] - np.pad(steps, ((0, 0), (1, 0)))[:, :N]


def _curves(rng, M, N, waves=12):
    """Each row is a smooth curve: a few waves, the slower the larger, and noise."""
    x, k = np.linspace(0, np.pi, N), np.arange(waves)
    weights = rng.normal(size=(M, waves)) / (1 + k)
    return weights @ np.cos(np.outer(k, x)) + 0.05 * rng.normal(size=(M, N))


def _spectra(rng, M, N, substances=8):
    """Each row is a mixture of spectra with a few peaks each."""
    x, peaks = np.arange(N), rng.uniform(0, N, size=(substances, 4))
    bumps = np.exp(-0.5 * ((x[:, None, None] - peaks) / (0.03 * N)) ** 2).sum(-1)
    return rng.gamma(2, size=(M, substances)) @ bumps.T + 0.05 * rng.normal(size=(M, N))


def _one_hot(rng, M, N, levels, uneven=0.0):
    """Factors with so many levels, a column of zeros and ones each; the larger
    `uneven`, the rarer are the last levels.
    """
    weights = np.arange(1.0, levels + 1) ** -uneven
    draw = lambda: rng.choice(levels, size=M, p=weights / weights.sum())
    return np.hstack([np.eye(levels)[draw()] for _ in range(-(-N // levels))])


def _ones(rng, M, N, low, high):
    """Zeros and ones, each column with a share of ones between the two ends."""
    return (rng.random((M, N)) < rng.uniform(low, high, size=N)).astype(float)


def _genotypes(rng, M, N):
    """0, 1 or 2 copies of an allele, neighbours correlated on each strand."""
    rare = norm.ppf(rng.uniform(0.05, 0.5, size=N))
    strands = (toeplitz(rng, M, N, 0.8) < rare for _ in range(2))
    return sum(strand.astype(float) for strand in strands)


def _overdispersed(rng, M, N, mean=2.0, shape=0.4):
    return rng.poisson(mean * rng.gamma(shape, 1 / shape, size=(M, N))).astype(float)


def _words(rng, M, N):
    """Counts of words: a few are frequent, most are rare, texts differ in length."""
    rates = 3 / np.arange(1, N + 1) ** 0.7
    return rng.poisson(rates * rng.gamma(3, 1 / 3, size=(M, 1))).astype(float)


def _zero_or_lognormal(rng, M, N):
    return _ones(rng, M, N, 0.1, 0.6) * rng.lognormal(0, 1, size=(M, N))


def _row_sizes(rng, M, N, freedom):
    """Normal rows, each with a size of its own: a multivariate Student's t."""
    return rng.normal(size=(M, N)) / np.sqrt(rng.chisquare(freedom, size=(M, 1)))


def _leverage(rng, M, N, rows=3, factor=5.0):
    X = rng.normal(size=(M, N))
    X[:rows] *= factor
    return X


def _clusters(rng, M, N, number=4):
    """Rows come from a few groups with means of their own."""
    return rng.normal(size=(number, N))[rng.integers(number, size=M)] + rng.normal(
        size=(M, N)
    )


def _powers(rng, M, N):
    """A few numbers and all their products of two."""
    k = int((2 * N) ** 0.5)
    Z, (i, j) = rng.normal(size=(M, k)), np.triu_indices(k)
    return np.hstack([Z, Z[:, i] * Z[:, j]])


def _interactions(rng, M, N):
    """Zeros and ones and all their products of two."""
    k = int((2 * N) ** 0.5)
    Z, (i, j) = _ones(rng, M, k, 0.3, 0.6), np.triu_indices(k, 1)
    return np.hstack([Z, Z[:, i] * Z[:, j]])


def _shares(rng, M, N):
    """Compositions: the logarithm of each share against the row's mean logarithm."""
    logs = np.log(rng.gamma(0.7, size=(M, N)) + 1e-3)
    return logs - logs.mean(1, keepdims=True)


def _bumps(rng, M, N):
    """Local bases: each column is a bump on a random position of each row."""
    where, centre = rng.random((M, 1)), np.linspace(0, 1, N)
    return np.maximum(1 - np.abs(where - centre) * N / 6, 0) + 0.01 * rng.random((M, N))


def _mixed(rng, M, N):
    """A table as it comes: numbers, skewed numbers, counts, levels, yes and no."""
    n = N // 5
    return np.hstack(
        [
            genes(rng, M, n),
            rng.lognormal(0, 1, size=(M, n)),
            rng.poisson(1, size=(M, n)).astype(float),
            _one_hot(rng, M, n, 4, 1.0),
            _ones(rng, M, n, 0.05, 0.5),
        ]
    )


def _normal(rng, M, N):
    return rng.normal(size=(M, N))


def _hadamard(rng, M, N):
    """Some rows of orthogonal columns of ones and minus ones."""
    H = hadamard(256).astype(float)
    columns = rng.choice(255, min(N, 255), replace=False) + 1
    return H[rng.choice(256, M, replace=False)][:, columns]


def _waves(rng, M, N):
    return random_rows(rng, M, max(M, N))[:, :N]


def _of(make, *arguments, **options):
    return lambda rng, M, N: make(rng, M, N, *arguments, **options)


def _drawn(draw):
    return lambda rng, M, N: getattr(rng, draw[0])(*draw[1:], size=(M, N))


# by group; a group is one file of truths
KINDS = {
    "orderly": {
        "normal": _normal,
        "random DCT": _waves,
        "Hadamard": _hadamard,
        "few rows": _normal,
        "few rows, factors": _of(low_rank, rank=3, noise=1.0),
    },
    "neighbours": {
        "Toeplitz .5": _of(toeplitz, 0.5),
        "Toeplitz .8": _of(toeplitz, 0.8),
        "Toeplitz .95": _of(toeplitz, 0.95),
        "Toeplitz .99": _of(toeplitz, 0.99),
        "random walks": _walks,
        "moving average": _moving_average,
        "smooth curves": _curves,
        "spectra": _spectra,
    },
    "copies": {
        "blocks .7": _of(blocks, 0.7),
        "blocks .95": _of(blocks, 0.95),
        "twins .9": _of(_pairs, 0.9),
        "twins .99": _of(_pairs, 0.99),
        "triplets .97": _of(_pairs, 0.97, 3),
        "half copied": _half_copied,
    },
    "factors": {
        "equicorrelated .5": _of(equicorrelated, 0.5),
        "equicorrelated .9": _of(equicorrelated, 0.9),
        "three factors": _of(low_rank, rank=3, noise=0.7),
        "ten factors": _of(low_rank, rank=10, noise=1.0),
        "genes, one factor": genes,
        "genes, three factors": _of(genes, 3, 0.95),
        "clusters of rows": _clusters,
        "compositions": _shares,
    },
    "zeros and ones": {
        "three levels": _of(_one_hot, 3),
        "six levels": _of(_one_hot, 6),
        "uneven levels": _of(_one_hot, 6, 1.5),
        "ones, few": _of(_ones, 0.02, 0.1),
        "ones, some": _of(_ones, 0.1, 0.3),
        "rare mutations": _of(_ones, 0.01, 0.04),
        "products of ones": _interactions,
    },
    "counts": {
        "genotypes": _genotypes,
        "Poisson counts": _drawn(("poisson", 1.0)),
        "overdispersed": _overdispersed,
        "words": _words,
        "zero or log-normal": _zero_or_lognormal,
        "mixed table": _mixed,
    },
    "tails": {
        "Student 2": _drawn(("standard_t", 2)),
        "Student 3": _drawn(("standard_t", 3)),
        "log-normal 1": _drawn(("lognormal", 0.0, 1.0)),
        "log-normal 1.5": _drawn(("lognormal", 0.0, 1.5)),
        "products of numbers": _powers,
        "bumps": _bumps,
    },
    "rows": {
        "rows of all sizes": _of(_row_sizes, 3),
        "leverage": _leverage,
        "one outlier": _normal,
        "heavy noise": _of(toeplitz, 0.5),
    },
}
RESPONSE_OF_KIND = {"one outlier": dict(outlier=True), "heavy noise": dict(heavy=True)}
LEVELS = (0.07, 0.2)  # how many are selected on average, for each row or column
DESIGNS_OF_KIND = 4


class Small(NamedTuple):
    """One of the two hundred: its recipe, without a penalty."""

    name: str
    group: str
    kind: str
    loss: str
    counts: object
    randomize: object
    level: float
    seed: int
    A: np.ndarray
    y: np.ndarray


def small_names():
    """(name, group, kind, number of the kind, variant) of each, in their order."""
    kinds = [(g, kind) for g, of_group in KINDS.items() for kind in of_group]
    for number, (group, kind) in enumerate(kinds):
        for variant in range(DESIGNS_OF_KIND):
            yield f"{kind}, {variant}", group, kind, number, variant


def small_design(group, kind, number, variant):
    """The table, the target, the loss, the law and the size of the answer."""
    few, seed = kind.startswith("few"), 10 * number + variant
    rng = np.random.default_rng([15, seed])
    M = int(rng.integers(20, 40) if few else rng.integers(60, 201))
    N = int(np.exp(rng.uniform(np.log(max(30, M / 2)), np.log(500))))
    A = _told_apart(KINDS[group][kind](rng, M, N))
    snr, density = rng.choice([1.0, 4.0, 16.0]), max(0.03, 4 / A.shape[1])
    A, _ = standardize(A)
    y = respond(rng, A, snr, density, **RESPONSE_OF_KIND.get(kind, {}))
    # a logistic target needs rows enough in both classes
    logistic = not few and (variant == 2 or (variant == 3 and number // 2 % 2 == 1))
    poisson = variant in (0, 3)
    A, y = standardize(A, y)
    return Small(
        name=f"{kind}, {variant}",
        group=group,
        kind=kind,
        loss="logistic" if logistic else "squared",
        counts=Poisson(0.5) if poisson else Subsample(0.5),
        randomize=TwoPoint(2, 0.5) if poisson else FixedFactor(),
        level=LEVELS[variant % 2],
        seed=seed,
        A=A,
        y=(y > np.median(y)).astype(float) if logistic else y,
    )


def _told_apart(X):
    """Without constant columns, and without columns that are others up to sign and
    scale: the estimator takes such columns as one.
    """
    X = X[:, np.ptp(X, axis=0) > 1e-9]
    A, _ = standardize(X)
    return X[:, near_copies(A, within=1e-9) == np.arange(A.shape[1])]
