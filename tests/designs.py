"""Problems on which the solver must arrive: designs, responses, penalties and count
laws.
"""

from typing import NamedTuple

import numpy as np
from scipy.fft import dct

from rvamp_nb.datasets import standardize
from rvamp_nb.resampling import Poisson, Subsample


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
