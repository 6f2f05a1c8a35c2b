"""What `rvamp` finds on data that chapter 4.3 has predicted without any.

    python tests/truth/evolution/make_evolution_truth.py               # all, hours
    python tests/truth/evolution/make_evolution_truth.py NAME --N 500  # one, minutes
    python tests/truth/evolution/make_evolution_truth.py --resamples      # real refits

`rvamp.npz` holds, for each setting, each number N of features and each of ten data
sets, the sixteen numbers of `NAMES`. A data set depends on (setting, N, its number)
only, so that a test makes the smallest ones again. `refits.npz` holds the first nine
of `NAMES` (no response: refits have none) by refitting the Lasso.
"""

import argparse
import zlib
from pathlib import Path

import numpy as np
from scipy.fft import dct
from scipy.special import expit

from rvamp_nb import naive_bootstrap, rvamp
from rvamp_nb.algorithm.likelihood import Logistic, Squared
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.resampling import (
    Discrete,
    FixedFactor,
    NoResampling,
    Poisson,
    Subsample,
    TwoPoint,
)

HERE = Path(__file__).resolve().parent
RATIO, N_SETS, THRESHOLDS = 0.25, 10, (0.4, 0.6)
SQUARED = dict(lam=0.2, size=1.0, density=0.025, noise=0.2)
LABELS = dict(lam=0.5, size=12.0, density=0.01, noise=None)
LAWS = {
    "poisson": (Poisson(1.0), TwoPoint()),
    "half": (Subsample(0.5), FixedFactor()),
    "none": (NoResampling(), TwoPoint()),
}
SETTINGS = {
    f"{design} {law}": dict(design=design, law=law, **SQUARED)
    for design in ("gaussian", "dct")
    for law in LAWS
} | {
    f"{design} logistic": dict(design=design, law="poisson", **LABELS)
    for design in ("gaussian", "dct")
}
NAMES = ("mse", "var", "chi", "Pi_null", "Pi_true")
NAMES += ("false_0.4", "false_0.6", "true_0.4", "true_0.6")
NAMES += ("Q_hat", "tau", "chi_hat", "V", "tau_u", "chi_hat_u", "k")


def matrix(design, M, N, rng):
    """(M, N), columns of unit norm on average."""
    if design == "gaussian":
        return rng.normal(size=(M, N)) / np.sqrt(M)
    rows = rng.choice(N, M, replace=False)
    return dct(np.eye(N), axis=0, norm="ortho")[rows] * np.sqrt(N / M)


def data_set(name, N, number):
    """A, y and the truth x0."""
    s, M = SETTINGS[name], round(RATIO * N)
    rng = np.random.default_rng([zlib.crc32(name.encode()), N, number])
    A, x0 = matrix(s["design"], M, N, rng), np.zeros(N)
    true = rng.choice(N, round(s["density"] * N), replace=False)
    x0[true] = s["size"] * rng.choice([-1.0, 1.0], len(true))
    fits = A @ x0
    if s["noise"] is None:
        return A, (rng.random(M) < expit(fits)).astype(float), x0
    return A, fits + s["noise"] * rng.normal(size=M), x0


def model(name):
    """The arguments that `rvamp` and `state_evolution` share."""
    s = SETTINGS[name]
    counts, multiplier = LAWS[s["law"]]
    likelihood = Squared() if s["noise"] is not None else Logistic()
    return dict(prior=Laplace(s["lam"], multiplier), loss=likelihood, resampling=counts)


def measured(name, N, number):
    """The sixteen numbers, for one data set; NaN where `rvamp` has not converged."""
    A, y, x0 = data_set(name, N, number)
    asked = model(name)
    if isinstance(asked["resampling"], Subsample):  # the recursion tosses coins
        asked["resampling"] = Discrete(*asked["resampling"].nodes())
    fit = rvamp(A, y, tol=1e-5, **asked)
    if not fit.converged:
        return np.full(len(NAMES), np.nan)
    true, (to_x, to_u) = x0 != 0, fit.messages
    share = lambda which: [(fit.Pi[which] >= t).mean() for t in THRESHOLDS]
    Q = to_x.Q_hat.mean()
    k = to_x.h @ x0 / (Q * x0 @ x0)
    return np.array(
        [
            ((fit.mean - x0) ** 2).mean(),
            fit.var.mean(),
            fit.last.x.chi.mean(),
            fit.Pi[~true].mean(),
            fit.Pi[true].mean(),
            *share(~true),
            *share(true),
            Q,
            ((to_x.h - k * Q * x0) ** 2).mean(),
            to_x.chi_hat.mean(),
            to_u.Q_hat.mean(),
            ((-to_u.h - k * (A @ x0)) ** 2).mean(),
            to_u.chi_hat.mean(),
            k,
        ]
    )


def refitted(name, N, number, n_resamples=400):
    """The first nine numbers by real refits; NaN for the response. The squared bias of
    a mean over n_resamples is taken off the error.
    """
    A, y, x0 = data_set(name, N, number)
    plan = dict(n_resamples=n_resamples, random_state=number, verbose=False)
    refits = naive_bootstrap(A, y, **model(name), **plan)
    true = x0 != 0
    share = lambda which: [(refits.Pi[which] >= t).mean() for t in THRESHOLDS]
    error = ((refits.mean - x0) ** 2).mean() - refits.var.mean() / n_resamples
    averages = refits.Pi[~true].mean(), refits.Pi[true].mean()
    return np.array(
        [error, refits.var.mean(), np.nan, *averages, *share(~true), *share(true)]
    )


def load(file="rvamp.npz"):
    """{(setting, N): (sets, 16)} from a summary beside this script."""
    with np.load(HERE / file) as file:
        return {
            (key.rsplit(" ", 1)[0], int(key.rsplit(" ", 1)[1])): file[key]
            for key in file.files
        }


def save(results, file="rvamp.npz"):
    """All that is there so far."""
    keep = {f"{name} {N}": values for (name, N), values in results.items()}
    np.savez_compressed(HERE / file, **keep)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--N", type=int, nargs="*", default=[500, 1000, 2000, 4000])
    parser.add_argument("--sets", type=int, default=N_SETS)
    parser.add_argument("--resamples", action="store_true")
    options = parser.parse_args()
    file, make = "rvamp.npz", measured
    if options.refits:
        file, make = "refits.npz", refitted
        options.N = [125, 250, 500]
        options.names = ["gaussian poisson", "gaussian half", "dct poisson", "dct half"]
    np.set_printoptions(linewidth=88, precision=4, suppress=True)
    for N in options.N:
        for name in options.names or SETTINGS:
            found = [make(name, N, d) for d in range(options.sets)]
            results = load(file) if (HERE / file).exists() else {}
            save(results | {(name, N): np.array(found)}, file)
            print(name, N, np.mean(found, 0), flush=True)
