"""Bagged predictions by refitting, and bagged posteriors under a spike and a slab by
enumeration, kept as small summaries.

    python tests/truth/bagging/make_bagging_truth.py                # make every summary
    that is missing, two minutes for all
    python tests/truth/bagging/make_bagging_truth.py NAME ...       # make these again

Each `NAME.npz` beside this script holds means over resamples with their standard
errors, and the recipe as a JSON string. Resample b depends on (seed, b) only, so a
test
makes the first few again; `slice` is what those alone gave. No solver of ours is used
here: a prediction is refitted with `penalised_fit`, and under a spike and a slab the
posterior of a resample is a sum over all 2^N supports, each of them Gaussian.
"""

import argparse
import json
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rvamp_nb.algorithm.resampling import Poisson
from rvamp_nb.datasets import gaussian_design
from rvamp_nb.inference.batch_glm import penalised_fit

HERE = Path(__file__).resolve().parent
N_NEW = 12


def _prediction(loss):
    return dict(
        kind="prediction",
        loss=loss,
        M=80,
        N=60,
        rho=0.7,
        share=0.2,
        tau=1.0,
        seed=3,
        n=2000,
        n_slice=10,
    )


def _posterior(rho, snr, M=40, seed=0):
    return dict(
        kind="spike_slab",
        M=M,
        N=10,
        rho=rho,
        snr=snr,
        inclusion=0.4,
        tau=1.0,
        seed=seed,
        n=2000,
        n_slice=20,
    )


RECIPES = {
    "prediction_squared": _prediction("squared"),
    "prediction_logistic": _prediction("logistic"),
}
MODERATE = [
    f"spike_slab_rho{rho:g}_snr{snr:g}" for rho in (0.0, 0.5) for snr in (2, 3, 5)
]
RECIPES |= dict(
    zip(MODERATE, (_posterior(rho, snr) for rho in (0.0, 0.5) for snr in (2, 3, 5)))
)
EDGES = {
    "spike_slab_faint": _posterior(0.0, 0.5),
    "spike_slab_strong": _posterior(0.5, 100),
    "spike_slab_correlated": _posterior(0.9, 3),
    "spike_slab_few_rows": _posterior(0.9, 5, M=20),
}
RECIPES |= EDGES


class Problem(NamedTuple):
    """Data; `new` are the rows to predict, `lam` the penalty, `sigma` the standard
    deviation of the noise, `x0` the coefficients, where they mean something.
    """

    A: np.ndarray
    y: np.ndarray
    new: np.ndarray = None
    lam: float = None
    sigma: float = None
    x0: np.ndarray = None


def problem(recipe):
    """The data of a recipe."""
    return (_regression if recipe["kind"] == "prediction" else _sparse)(recipe)


def _regression(r):
    """A Toeplitz design and a target that is not centred; for the logistic loss,
    whether it is above its mean.
    """
    whole = gaussian_design(
        r["M"] + N_NEW, r["N"], rho=r["rho"], density=0.1, noise=0.2, seed=r["seed"]
    )
    A, y = whole.A[: r["M"]], whole.y[: r["M"]] + 0.5
    if r["loss"] == "logistic":
        y = (y > y.mean()) * 1.0
    return Problem(
        A, y, whole.A[r["M"] :], r["share"] * np.abs(A.T @ (y - y.mean())).max()
    )


def _sparse(r):
    """Gaussian columns of unit norm, four coefficients from a standard normal, noise
    of variance |A x0|^2 / (M snr).
    """
    rng, N = np.random.default_rng(r["seed"]), r["N"]
    root = np.linalg.cholesky(
        r["rho"] ** np.abs(np.subtract.outer(np.arange(N), np.arange(N)))
        if r["rho"]
        else np.eye(N)
    )
    A = rng.normal(size=(r["M"], N)) @ root.T
    A = (A - A.mean(0)) / np.linalg.norm(A - A.mean(0), axis=0)
    x0 = np.zeros(N)
    x0[rng.choice(N, 4, replace=False)] = rng.normal(size=4)
    sigma = np.linalg.norm(A @ x0) / np.sqrt(r["M"] * r["snr"])
    return Problem(A, A @ x0 + sigma * rng.normal(size=r["M"]), sigma=sigma, x0=x0)


def counts(recipe, numbers):
    """Occupation vectors of some resamples, (n, M)."""
    return np.array(
        [
            Poisson(recipe["tau"]).draw(
                recipe["M"], np.random.default_rng([recipe["seed"], 1, b])
            )
            for b in numbers
        ]
    )


# Refits -------------------------------------------------------------------------------


def predictions(recipe, numbers):
    """The linear predictor of the new rows by each refit with an intercept, (n,
    N_NEW).
    """
    p = problem(recipe)
    A, new = (np.column_stack([rows, np.ones(len(rows))]) for rows in (p.A, p.new))
    t = np.append(np.full(recipe["N"], p.lam), 0.0)
    return np.array(
        [
            new @ penalised_fit(A, p.y, t, 0 * t, c, recipe["loss"])
            for c in counts(recipe, numbers)
        ]
    )


# Enumeration --------------------------------------------------------------------------


def posterior(precision, field, inclusion, slab_variance=1.0):
    """Means, variances and inclusion probabilities of posteriors exp(field'x - x'
    precision x / 2) times spikes and slabs; each (n, N), from (n, N, N) and (n, N).
    """
    n, N = field.shape
    parts = [
        _of_size(k, precision, field, inclusion, slab_variance) for k in range(N + 1)
    ]
    log_weight, mean, second, inside = (
        np.concatenate(part, axis=1) for part in zip(*parts)
    )
    w = np.exp(log_weight - log_weight.max(1, keepdims=True))
    w /= w.sum(1, keepdims=True)
    mean, second, Pi = (
        np.einsum("nk,nki->ni", w, part) for part in (mean, second, inside)
    )
    return mean, second - mean**2, Pi


def _of_size(k, precision, field, inclusion, slab_variance):
    """For all supports of k coefficients: log weight (n, K), mean, second moment and
    membership, (n, K, N) each.
    """
    n, N = field.shape
    S = np.array(list(combinations(range(N), k)), dtype=int).reshape(-1 if k else 1, k)
    inside = np.zeros((n, len(S), N))
    np.put_along_axis(inside, np.broadcast_to(S, (n, *S.shape)), 1.0, -1)
    if not k:
        return np.zeros((n, 1)), inside, inside, inside
    K = precision[:, S[:, :, None], S[:, None, :]] + np.eye(k) / slab_variance
    h = field[:, S]
    cov = np.linalg.inv(K)
    m = np.einsum("nsij,nsj->nsi", cov, h)
    log_weight = (
        k * np.log(inclusion / (1 - inclusion))
        - (np.linalg.slogdet(K)[1] + k * np.log(slab_variance)) / 2
        + (h * m).sum(-1) / 2
    )
    mean, second = np.zeros_like(inside), np.zeros_like(inside)
    for full, part in ((mean, m), (second, np.einsum("nsii->nsi", cov) + m**2)):
        np.put_along_axis(full, np.broadcast_to(S, (n, *S.shape)), part, -1)
    return log_weight, mean, second, inside


def posteriors(recipe, numbers):
    """Posterior mean, variance and inclusion probabilities in each resample, (n, 3,
    N).
    """
    p, c, blocks = problem(recipe), counts(recipe, numbers), []
    for at in range(0, len(c), 100):
        some = c[at : at + 100]
        blocks.append(
            posterior(
                np.einsum("bm,mi,mj->bij", some, p.A, p.A, optimize=True) / p.sigma**2,
                (some * p.y) @ p.A / p.sigma**2,
                recipe["inclusion"],
            )
        )
    return np.stack([np.concatenate(part) for part in zip(*blocks)], axis=1)


# Summaries ----------------------------------------------------------------------------


def draws(recipe, numbers):
    """What each resample gave, (n, K, ...): predictions, or mean, variance and
    inclusion probabilities.
    """
    return (
        predictions(recipe, numbers)[:, None]
        if recipe["kind"] == "prediction"
        else posteriors(recipe, numbers)
    )


def summary(x):
    """Mean and variance over resamples with their standard errors, for each of the K
    things: (4, K, ...).
    """
    n, around = len(x), x - x.mean(0)
    var = (around**2).sum(0) / (n - 1)
    return np.array(
        [
            x.mean(0),
            np.sqrt(var / n),
            var,
            np.sqrt(
                np.maximum(((around**2).mean(0) ** -2 * (around**4).mean(0) - 1), 0) / n
            )
            * var,
        ]
    )


def make(name):
    recipe = RECIPES[name]
    x = draws(recipe, range(recipe["n"]))
    np.savez_compressed(
        HERE / f"{name}.npz",
        summary=summary(x),
        slice=x[: recipe["n_slice"]].mean(0),
        recipe=json.dumps(recipe),
    )
    print(name, flush=True)


class Truth(NamedTuple):
    """Over resamples; each (K, ...): for predictions K = 1, for posteriors the
    posterior's mean, its variance, the inclusion probability.
    """

    recipe: dict
    problem: Problem
    mean: np.ndarray
    mean_se: np.ndarray
    var: np.ndarray
    var_se: np.ndarray
    slice: np.ndarray


def load(name):
    """The problem, made again, and what resampling gave."""
    with np.load(HERE / f"{name}.npz") as file:
        recipe, parts, piece = (
            json.loads(str(file["recipe"])),
            file["summary"],
            file["slice"],
        )
    return Truth(recipe, problem(recipe), *parts, piece)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    names = parser.parse_args().names or [
        name for name in RECIPES if not (HERE / f"{name}.npz").exists()
    ]
    for name in names:
        make(name)
