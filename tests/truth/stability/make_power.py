"""Which pair (q, threshold) finds most, where every pair keeps the same promise?

    python tests/truth/stability/make_power.py            # all designs, some minutes
    python tests/truth/stability/make_power.py NAME ...
    python tests/truth/stability/make_power.py --resamples # two designs by real refits

With pfer fixed, each threshold t belongs to one q = sqrt(pfer p (2t - 1)). `power.npz`
holds, for every design, data set and threshold, how many of the true features reach the
threshold at the penalty where the probabilities sum to that q, and how many others do.
Π comes from `rvamp_path`; a data set depends on (the recipe, its number) only, so that
a test makes the first ones again.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np

from rvamp_nb import naive_bootstrap
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.resampling import Subsample
from rvamp_nb.algorithm.solver import rvamp_path
from rvamp_nb.datasets import load_diabetes, standardize

HERE = Path(__file__).resolve().parent
PFER = 1.0
THRESHOLDS = (0.51, 0.52, 0.54, 0.57, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 1.0)
RECIPES = {
    "independent 100x1000": dict(kind="iid", M=100, N=1000, k=5, snr=4.0),
    "independent 200x500": dict(kind="iid", M=200, N=500, k=10, snr=2.0),
    "Toeplitz 0.8 100x1000": dict(kind="toeplitz", M=100, N=1000, k=5, snr=4.0),
    "Toeplitz 0.8 200x500": dict(kind="toeplitz", M=200, N=500, k=10, snr=2.0),
    "factors 100x1000": dict(kind="factors", M=100, N=1000, k=5, snr=16.0),
    "factors 102x6033": dict(kind="factors", M=102, N=6033, k=10, snr=32.0),
    "diabetes 442x64": dict(kind="diabetes", M=442, N=64, k=8, snr=0.3),
}
N_SETS = 40
REFITTED = ("independent 100x1000", "factors 100x1000")  # and with real refits
N_REFITTED, N_REFITS, TRIED = 10, 100, (0.54, 0.6, 0.65, 0.75)


def columns(recipe, rng):
    """The table, (M, N), not yet standardised."""
    M, N, kind = recipe["M"], recipe["N"], recipe["kind"]
    if kind == "diabetes":
        return load_diabetes().A
    X = rng.normal(size=(M, N))
    if kind == "toeplitz":
        for i in range(1, N):
            X[:, i] = 0.8 * X[:, i - 1] + 0.6 * X[:, i]
    if kind == "factors":  # ten factors, loadings that fade, as in tables of genes
        strength = 1.2 / np.arange(1, 11) ** 0.5
        X += rng.normal(size=(M, 10)) @ (strength[:, None] * rng.normal(size=(10, N)))
    return X


def data_set(recipe, d):
    """A, y and the k true features, with equal effects of random sign."""
    rng = np.random.default_rng([d, recipe["M"], recipe["N"], len(recipe["kind"])])
    X = columns(recipe, rng)
    true = rng.choice(recipe["N"], recipe["k"], replace=False)
    A, _ = standardize(X)
    signal = A[:, true] @ rng.choice([-1.0, 1.0], recipe["k"])
    noise = rng.normal(size=len(A)) * signal.std() / recipe["snr"] ** 0.5
    return A, signal + noise - (signal + noise).mean(), true


def path_of(A, y):
    """Thirty penalties by rVAMP, half-samples."""
    return rvamp_path(
        A,
        y,
        n_lambdas=30,
        lambda_min_ratio=0.05,
        prior=Laplace(1.0),
        resampling=Subsample(0.5),
        tol=1e-4,
        verbose=False,
    )


def at_size(path, q):
    """Π where its sum is q, between the two converged penalties around it."""
    Pi = path.Pi[:, path.converged]
    size = Pi.sum(0)
    if size[-1] < q:
        return np.full(len(Pi), np.nan)
    after = int(np.argmax(size > q))
    if after == 0:
        return Pi[:, 0]
    share = (q - size[after - 1]) / (size[after] - size[after - 1])
    return Pi[:, after - 1] + share * (Pi[:, after] - Pi[:, after - 1])


def found(recipe, d):
    """True and false selections for each threshold, (2, thresholds)."""
    A, y, true = data_set(recipe, d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        path = path_of(A, y)
    counts = []
    for t in THRESHOLDS:
        Pi = at_size(path, np.sqrt(PFER * recipe["N"] * (2 * t - 1)))
        kept = Pi >= t
        failed = np.isnan(Pi).any()
        hits = np.nan if failed else kept[true].sum()
        counts.append((hits, np.nan if failed else kept.sum() - hits))
    return np.array(counts, dtype=float).T


def found_by_refits(recipe, d):
    """True and false selections by rVAMP and by refits at the same penalties,
    (2, 2, tried thresholds).
    """
    A, y, true = data_set(recipe, d)
    laws = dict(resampling=Subsample(0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        path = path_of(A, y)
    size = path.Pi[:, path.converged].sum(0)
    counts = np.full((2, 2, len(TRIED)), np.nan)
    for k, t in enumerate(TRIED):
        q = np.sqrt(PFER * recipe["N"] * (2 * t - 1))
        if size[-1] < q:
            continue
        lam = np.exp(np.interp(q, size, np.log(path.lambdas[path.converged])))
        refits = naive_bootstrap(
            A, y, lam, n_resamples=N_REFITS, random_state=d, verbose=False, **laws
        )
        for by, Pi in enumerate((at_size(path, q), refits.Pi)):
            hits = (Pi[true] >= t).sum()
            counts[by, :, k] = hits, (Pi >= t).sum() - hits
    return counts


def make(name, n=N_SETS):
    """The mean over data sets, and each of them: (sets, 2, thresholds)."""
    return np.array([found(RECIPES[name], d) for d in range(n)])


def save(results):
    """Counts as they are, and what a chapter needs to show them."""
    np.savez_compressed(
        HERE / "power.npz",
        recipes=json.dumps(RECIPES),
        thresholds=THRESHOLDS,
        names=list(results),
        rows=[RECIPES[name]["M"] for name in results],
        columns=[RECIPES[name]["N"] for name in results],
        **{name: counts.astype(np.float16) for name, counts in results.items()},
    )


def load():
    """{design: (sets, 2, thresholds)} from the summary beside this script."""
    with np.load(HERE / "power.npz") as file:
        assert json.loads(str(file["recipes"])) == RECIPES
        return {name: file[name].astype(float) for name in RECIPES}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--sets", type=int, default=N_SETS)
    parser.add_argument("--resamples", action="store_true")
    options = parser.parse_args()
    if options.refits:
        both = {
            name: np.array(
                [found_by_refits(RECIPES[name], d) for d in range(N_REFITTED)]
            )
            for name in REFITTED
        }
        for name, counts in both.items():
            print(name, TRIED, *np.nanmean(counts, 0).round(2).tolist(), sep="\n  ")
        np.savez_compressed(HERE / "power_refits.npz", tried=TRIED, **both)
        raise SystemExit
    np.set_printoptions(linewidth=150, precision=2, suppress=True)
    results = {}
    for name in options.names or RECIPES:
        results[name] = make(name, options.sets)
        p = RECIPES[name]["N"]
        print(name, "failed", np.isnan(results[name][:, 0]).sum(0), flush=True)
        print("  q     ", np.sqrt(PFER * p * (2 * np.array(THRESHOLDS) - 1)))
        print("  true  ", np.nanmean(results[name][:, 0], 0), flush=True)
        print("  false ", np.nanmean(results[name][:, 1], 0), flush=True)
    if not options.names and options.sets == N_SETS:
        save(results)
