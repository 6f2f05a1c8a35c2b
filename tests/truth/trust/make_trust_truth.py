"""What Π is worth on tables of many kinds.

    python tests/truth/trust/make_trust_truth.py            # what is missing, an hour
    python tests/truth/trust/make_trust_truth.py NAME ...

Each `NAME.npz` beside this script holds, for one table at one penalty under
half-sampling: Π by rVAMP (`Pi`), the shares of many refits (`share`), the first refits
themselves (`slice`, packed bits), the mean squared error and its standard error; the
bias of Π over the features that lead (`leaders`), and what single rows make of the
noise (`rows`). The arrays of features are about the features that some refit or rVAMP
ever selects (`active`). The recipe is there as a JSON string.
The penalty is the one at which the probabilities sum to q = min(√(p/2), M/6), which is
the default of `StabilitySelection` today.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.linalg import hadamard
from sklearn.datasets import load_breast_cancer

from rvamp_nb import naive_bootstrap, rvamp
from rvamp_nb.algorithm.likelihood import Logistic, Squared
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.resampling import Subsample
from rvamp_nb.datasets import (
    gaussian_design,
    load_diabetes,
    load_riboflavin,
    random_dct,
    standardize,
)
from rvamp_nb.inference.row_shares import largest_single_share, row_influence
from rvamp_nb.tables.standardize import unit_columns

HERE = Path(__file__).resolve().parent


# Tables -------------------------------------------------------------------------------


def response(A, rng, n_signals=4, size=1.0):
    """The first columns' sum and noise of standard deviation 1, before scaling."""
    noise, signal = rng.normal(size=len(A)), A[:, :n_signals].sum(1)
    if not n_signals:
        return noise
    return size * signal / signal.std() * np.sqrt(n_signals) + noise


def independent(M, N, seed, n_signals=4, outlier=0.0):
    """Normal columns; the target of row 17 may be moved by so many deviations."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(M, N))
    y = response(A, rng, n_signals)
    y[min(17, M - 1)] += outlier * y.std()
    return A, y


def gene_like(M, N, seed, factors=5, common=0.5):
    """Columns that share some factors, with standard deviations of many sizes."""
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(factors, N)) / np.sqrt(factors)
    A = np.sqrt(common) * rng.normal(size=(M, factors)) @ loadings
    A += np.sqrt(1 - common) * rng.normal(size=(M, N))
    return A, response(A, rng, 8)


def toeplitz(M, N, rho, seed):
    d = gaussian_design(M, N, rho=rho, density=0.05, noise=0.1, seed=seed)
    return d.A, d.y


def heavy_tails(M, N, seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_t(2, size=(M, N))
    return A, response(A, rng)


def rare_ones(M, N, seed, prevalence=0.05):
    rng = np.random.default_rng(seed)
    A = (rng.random((M, N)) < prevalence).astype(float)
    return A, response(A, rng)


def one_hot(M, factors, levels, seed):
    rng = np.random.default_rng(seed)
    A = [np.eye(levels)[rng.integers(levels, size=M)] for _ in range(factors)]
    A = np.concatenate(A, axis=1)
    return A, response(A[:, ::levels], rng)


def hadamard_columns(M, seed, noise=1.0):
    """Orthogonal columns of ones and minus ones."""
    A = hadamard(M)[:, 1:].astype(float)
    return A, A[:, :4].sum(1) + noise * np.random.default_rng(seed).normal(size=M)


def identity(M, seed):
    """Each column is one row's: in a resample the row is there or it is not."""
    rng = np.random.default_rng(seed)
    A = np.eye(M)
    return A, 5 * A[:, :4].sum(1) + rng.normal(size=M)


def dct(N, ratio, seed):
    d = random_dct(N=N, ratio=ratio, density=0.05, noise=0.1, seed=seed)
    return d.A, d.y


def diabetes():
    d = load_diabetes()
    return d.A, d.y


def riboflavin():
    d = load_riboflavin()
    return d.A, d.y


def breast_cancer():
    return load_breast_cancer(return_X_y=True)


RECIPES = {
    "breast_cancer_569x30": dict(data="breast_cancer", loss="logistic", n=1500),
    "diabetes_442x64": dict(data="diabetes", n=6000),
    "riboflavin_71x4088": dict(data="riboflavin", n=3000),
    "dct_077x512": dict(data="dct", arguments=[512, 0.15, 0]),
    "dct_154x512": dict(data="dct", arguments=[512, 0.3, 0]),
    "toeplitz_150x400": dict(data="toeplitz", arguments=[150, 400, 0.7, 0]),
    "toeplitz_400x150": dict(data="toeplitz", arguments=[400, 150, 0.7, 0]),
    "near_copies_150x400": dict(data="toeplitz", arguments=[150, 400, 0.97, 0]),
    "genes_100x2000_a": dict(data="gene_like", arguments=[100, 2000, 0], n=2500),
    "genes_100x2000_b": dict(data="gene_like", arguments=[100, 2000, 1], n=2500),
    "genes_060x1000": dict(data="gene_like", arguments=[60, 1000, 2], n=2500),
    "clean_120x100_a": dict(data="independent", arguments=[120, 100, 0]),
    "clean_120x100_b": dict(data="independent", arguments=[120, 100, 1]),
    "clean_300x040": dict(data="independent", arguments=[300, 40, 2]),
    "noise_100x200": dict(data="independent", arguments=[100, 200, 3, 0]),
    "outlier_120x100_a": dict(data="independent", arguments=[120, 100, 0, 4, 8.0]),
    "outlier_120x100_b": dict(data="independent", arguments=[120, 100, 1, 4, 20.0]),
    "heavy_tails_100x200": dict(data="heavy_tails", arguments=[100, 200, 0]),
    "rare_ones_200x100": dict(data="rare_ones", arguments=[200, 100, 0]),
    "one_hot_200x60": dict(data="one_hot", arguments=[200, 15, 4, 0]),
    "hadamard_064x063": dict(data="hadamard_columns", arguments=[64, 0]),
    "hadamard_exact_064x063": dict(data="hadamard_columns", arguments=[64, 0, 0.01]),
    "hadamard_exact_016x015": dict(data="hadamard_columns", arguments=[16, 0, 0.01]),
    "identity_060x060": dict(data="identity", arguments=[60, 0]),
    "identity_200x200": dict(data="identity", arguments=[200, 0]),
    "few_rows_010x500": dict(data="independent", arguments=[10, 500, 0]),
    "few_rows_020x100": dict(data="independent", arguments=[20, 100, 1]),
    "few_rows_040x100": dict(data="independent", arguments=[40, 100, 2]),
}


def problem(recipe):
    """The standardised table and the target."""
    A, y = globals()[recipe["data"]](*recipe.get("arguments", []))
    if recipe.get("loss") == "logistic":
        return unit_columns(A)[0], np.asarray(y, dtype=float)
    varies = np.ptp(A, axis=0) > 0
    return standardize(A[:, varies], y)


def solve(recipe, A, y, lam, start=None):
    logistic = recipe.get("loss") == "logistic"
    return rvamp(
        A,
        y,
        prior=Laplace(lam),
        loss=Logistic() if logistic else Squared(),
        intercept=logistic,
        resampling=Subsample(0.5),
        warm_start=start,
    )


def at_size(recipe, A, y):
    """The penalty at which the probabilities sum to q, to one in a hundred."""
    q = min(np.sqrt(A.shape[1] / 2), len(A) / 6)
    largest = np.abs(A.T @ (y - y.mean())).max()
    high, low, fit = np.log(largest), np.log(largest / 100), None
    for _ in range(12):
        middle = (high + low) / 2
        new = solve(recipe, A, y, np.exp(middle), fit)
        fit = new if new.converged else None
        few = new.converged and new.Pi.sum() < q
        high, low = (middle, low) if few else (high, middle)
    return float(np.exp(high)), q


def refits(recipe, A, y, n, start=0):
    """Whether each feature was selected in each of n refits, (n, N) bool."""
    draws = naive_bootstrap(
        A,
        y,
        recipe["lam"],
        loss=recipe.get("loss", "squared"),
        intercept=recipe.get("loss") == "logistic",
        resampling=Subsample(0.5),
        n_resamples=n,
        random_state=0,
        keep=np.arange(A.shape[1]),
        verbose=False,
    ).draws
    return draws != 0


# Truths -------------------------------------------------------------------------------


def squared_error(Z, Pi):
    """Unbiased estimate of the mean squared error of Π from refits Z (B, N), since two
    different refits are independent; and its standard error, by the jackknife.
    """
    z, (B, N) = Z - Pi, Z.shape
    total, squares = z.sum(0), (z**2).sum(1)
    mse = (total @ total - squares.sum()) / (B * (B - 1) * N)
    without = ((total - z) ** 2).sum(1) - (squares.sum() - squares)
    without = without / ((B - 1) * (B - 2) * N)
    return mse, np.sqrt((B - 1) / B * np.sum((without - without.mean()) ** 2))


def bias_of_leaders(Z, Pi, number=5):
    """Mean error of Π over the five features selected most often, and its standard
    error: half of the refits say which they are, the other half how often.
    """
    first, second = Z[: len(Z) // 2], Z[len(Z) // 2 :]
    leads = np.argsort(-first.mean(0), kind="stable")[:number]
    each = second[:, leads].mean(1)
    return Pi[leads].mean() - each.mean(), each.std() / np.sqrt(len(second))


def make(name):
    recipe = dict(n=4000) | RECIPES[name]
    A, y = problem(recipe)
    if "lam" not in recipe:
        recipe["lam"], recipe["q"] = at_size(recipe, A, y)
    fit = solve(recipe, A, y, recipe["lam"])
    Z = refits(recipe, A, y, recipe["n"])
    mse, se = squared_error(Z, fit.Pi)
    active = np.flatnonzero(Z.any(0) | (fit.Pi > 1e-4))
    shares = row_influence(fit)
    np.savez_compressed(
        HERE / f"{name}.npz",
        recipe=json.dumps(recipe),
        active=active.astype(np.int32),
        Pi=fit.Pi[active],
        share=Z.mean(0)[active],
        slice=np.packbits(Z[:50][:, active]),
        rows=[len(A), 1 / (shares @ shares), shares.max(), largest_single_share(fit)],
        leaders=bias_of_leaders(Z, fit.Pi),
        converged=fit.converged,
        mse=[mse, se],
        W=np.mean(Z.mean(0) * (1 - Z.mean(0))),
    )
    return fit, mse, se


def load(name):
    """The recipe, and everything that `make` has kept, as a dict."""
    with np.load(HERE / f"{name}.npz") as file:
        kept = {key: file[key] for key in file.files}
    return json.loads(str(kept.pop("recipe"))), kept


if __name__ == "__main__":
    import time

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    names = parser.parse_args().names
    for name in names or [n for n in RECIPES if not (HERE / f"{n}.npz").exists()]:
        began = time.perf_counter()
        fit, mse, se = make(name)
        kept = load(name)[1]
        print(
            f"{name}: {len(kept['active'])} active, ΣΠ {fit.Pi.sum():.2f}, converged"
            f" {fit.converged}, mse {mse:.2e} ± {se:.1e}, worth {kept['W'] / mse:.0f},"
            f" rows {kept['rows'][1]:.0f} {kept['rows'][2]:.2f}, largest error"
            f" {np.abs(kept['Pi'] - kept['share']).max():.3f},"
            f" {time.perf_counter() - began:.0f} s",
            flush=True,
        )
