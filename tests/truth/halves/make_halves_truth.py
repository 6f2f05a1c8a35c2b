"""Pairs of refits, one on a random half of the rows and one on the other half.

    python tests/truth/halves/make_halves_truth.py            # what is missing
    python tests/truth/halves/make_halves_truth.py NAME ...
    python tests/truth/halves/make_halves_truth.py --list
    python tests/truth/halves/make_halves_truth.py --measure  # accuracy.json

Each entry of `halves.npz` beside this script, `DESIGN_LOSS`, holds four rows of
numbers, one for each column: Π, the share of pairs in which both refits select the
column, and over pairs the covariance of its two coefficients and the variance of one
(single precision). `recipe` is a JSON string: how many pairs, and two numbers of each
problem that any change of its data would move. `accuracy.json` holds what `measure`
says of each problem. All of it takes twenty minutes on one core.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from rvamp_nb import (
    Huber,
    Logistic,
    PoissonLoss,
    Squared,
    complementary_pairs,
    datasets,
    naive_bootstrap,
    rvamp,
)
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.resampling import Subsample

HERE = Path(__file__).resolve().parent
PAIRS = 4000
LOSSES = dict(
    squared=Squared(), logistic=Logistic(), poisson=PoissonLoss(), huber=Huber(1.0)
)


def toeplitz(rng, M, N, rho):
    X = rng.normal(size=(M, N))
    for i in range(1, N):
        X[:, i] = rho * X[:, i - 1] + np.sqrt(1 - rho**2) * X[:, i]
    return X


def blocks(rng, M, N, rho, size=8):
    shared = rng.normal(size=(M, N // size)).repeat(size, axis=1)
    return np.sqrt(rho) * shared + np.sqrt(1 - rho) * rng.normal(size=(M, N))


def factors(rng, M, N, k):
    X = rng.normal(size=(M, k)) @ rng.normal(size=(k, N)) / np.sqrt(k)
    return X + rng.normal(size=(M, N))


def genotypes(rng, M, N):
    """Counts 0, 1, 2 with neighbours that are alike."""
    one, two = (toeplitz(rng, M, N, 0.8) for _ in range(2))
    cut = rng.uniform(-0.8, 0.8, N)
    return (one > cut) * 1.0 + (two > cut)


def diabetes(rng, M, N):
    return datasets.load_diabetes().A[:M]


DESIGNS = {
    "independent": lambda rng: rng.normal(size=(120, 160)),
    "tall": lambda rng: rng.normal(size=(300, 80)),
    "few_rows": lambda rng: rng.normal(size=(40, 100)),
    "toeplitz_50": lambda rng: toeplitz(rng, 120, 160, 0.5),
    "toeplitz_90": lambda rng: toeplitz(rng, 120, 160, 0.9),
    "blocks": lambda rng: blocks(rng, 120, 160, 0.7),
    "factors": lambda rng: factors(rng, 120, 160, 3),
    "genotypes": lambda rng: genotypes(rng, 160, 160),
    "indicators": lambda rng: (rng.random((200, 120)) < 0.06) * 1.0,
    "heavy_tails": lambda rng: rng.standard_t(3, size=(120, 160)),
    "log_normal": lambda rng: np.exp(rng.normal(size=(120, 160))),
    "diabetes": lambda rng: diabetes(rng, 300, 64),
}
NAMES = [f"{design}_{loss}" for design in DESIGNS for loss in LOSSES]


def problem(name):
    """Standardised columns, a response, and the penalty: a third of what empties half
    of the rows.
    """
    design, _, loss = name.rpartition("_")
    rng = np.random.default_rng([17, list(DESIGNS).index(design)])
    A = datasets.standardize(DESIGNS[design](rng))[0]
    f = A[:, :: A.shape[1] // 8].sum(1)
    f = f / f.std()
    noise = rng.standard_t(2, len(f)) if loss == "huber" else rng.normal(size=len(f))
    y = f + noise
    if loss == "logistic":
        y = (rng.random(len(f)) < 1 / (1 + np.exp(-2 * f))).astype(float)
    if loss == "poisson":
        y = rng.poisson(np.exp(0.7 * f - 0.2)).astype(float)
    if loss in ("squared", "huber"):
        y = y - y.mean()
    slope = LOSSES[loss].derivatives(y, np.zeros(len(y)))[0]
    return A, y, float(np.abs(A.T @ slope).max() / 6)


def fingerprint(A, y):
    """Two numbers that any change of the data would move."""
    M, N = A.shape
    row, column = np.cos(np.arange(M)), np.sin(np.arange(N))
    return [float(row @ A @ column), float(row @ y)]


class OtherHalf:
    """The rows that `Subsample(0.5)` leaves out."""

    def draw(self, M, rng):
        return 1 - Subsample(0.5).draw(M, rng)


def make(name):
    """Four rows of numbers from pairs of refits."""
    A, y, lam = problem(name)
    loss = name.rpartition("_")[2]
    plan = dict(n_resamples=PAIRS, keep=np.arange(A.shape[1]), verbose=False)
    plan.update(loss=loss)
    laws = Subsample(0.5), OtherHalf()
    one, two = (
        naive_bootstrap(A, y, lam, resampling=law, **plan).draws for law in laws
    )
    Pi = ((one != 0).mean(0) + (two != 0).mean(0)) / 2
    both = ((one != 0) & (two != 0)).mean(0)
    center = (one.mean(0) + two.mean(0)) / 2
    covariance = ((one - center) * (two - center)).mean(0)
    variance = ((one - center) ** 2 + (two - center) ** 2).mean(0) / 2
    return np.array([Pi, both, covariance, variance], dtype=np.float32)


def load(name):
    """Π, Π of both halves, covariance and variance, (N,) each."""
    with np.load(HERE / "halves.npz") as file:
        kept = json.loads(str(file["recipe"]))["fingerprints"][name]
        A, y, _ = problem(name)
        if not np.allclose(fingerprint(A, y), kept, rtol=1e-8, atol=1e-8):
            raise ValueError(f"{name}: the data differ from those that were refitted")
        return file[name].astype(float)


def off(estimate, truth):
    """Root mean square error of probabilities, without the error of the pairs."""
    by_chance = np.mean(truth * (1 - truth)) / PAIRS
    return np.sqrt(max(np.mean((estimate - truth) ** 2) - by_chance, 0))


def measure(name):
    """How far `complementary_pairs` is from the pairs of refits: covariances by slope
    and correlation, the errors of Π of both halves and of Π squared, and turns.
    """
    A, y, lam = problem(name)
    _, both, covariance, _ = load(name)
    loss = LOSSES[name.rpartition("_")[2]]
    prior = Laplace(lam)
    fit = rvamp(A, y, prior=prior, loss=loss, resampling=Subsample(0.5))
    found = complementary_pairs(fit)
    of_found = found.covariance
    numbers = {
        "slope": of_found @ covariance / (of_found @ of_found),
        "correlation": np.corrcoef(of_found, covariance)[0, 1],
        "both": off(found.Pi_both, both),
        "square": off(fit.Pi**2, both),
    }
    rounded = {key: round(float(value), 4) for key, value in numbers.items()}
    return rounded | {"turns": found.n_iter}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--measure", action="store_true")
    args = parser.parse_args()
    if args.measure:
        table = {name: measure(name) for name in NAMES}
        return (HERE / "accuracy.json").write_text(json.dumps(table, indent=1))
    if args.list:
        return print(*NAMES, sep="\n")
    path, tables, marks = HERE / "halves.npz", {}, {}
    if path.exists():
        with np.load(path) as file:
            tables = {name: file[name] for name in file.files if name != "recipe"}
            marks = json.loads(str(file["recipe"]))["fingerprints"]
    for name in args.names or [name for name in NAMES if name not in tables]:
        tables[name] = make(name)
        marks[name] = fingerprint(*problem(name)[:2])
        recipe = json.dumps(dict(pairs=PAIRS, fingerprints=marks))
        np.savez_compressed(HERE / "part.npz", recipe=recipe, **tables)
        (HERE / "part.npz").rename(path)
        print(f"{name}: {tables[name][0].sum():.1f} selected", flush=True)


if __name__ == "__main__":
    main()
