"""False selections where every selection is false: what the error bounds promise,
simulated on many data sets.

    python tests/truth/stability/make_stability_truth.py            # all simulations, a
    few minutes
    python tests/truth/stability/make_stability_truth.py NAME ...

Each `NAME.npz` beside this script holds, for every data set and every threshold, the
number of false selections, and the recipe as a JSON string.
The features that are not signals are exchangeable in all of these designs, which is
what the bound of Meinshausen and Bühlmann asks for.
Data set d depends on (the recipe, d) only, so a test makes the first few again.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np

from rvamp_nb import naive_bootstrap
from rvamp_nb.datasets import standardize
from rvamp_nb.select.estimator import StabilitySelection

HERE = Path(__file__).resolve().parent
THRESHOLDS = (0.6, 0.75, 0.9)
RECIPES = {
    "null_independent": dict(M=60, N=100, rho=0.0, signals=0, q=7.0, n=1000),
    "null_equicorrelated": dict(M=60, N=100, rho=0.5, signals=0, q=7.0, n=1000),
    "five_signals": dict(M=100, N=100, rho=0.0, signals=5, q=10.0, n=1000),
    # real refits, complementary pairs
    "null_pairs": dict(M=60, N=100, rho=0.0, signals=0, q=7.0, n=200, pairs=25),
}


def data_set(recipe, d):
    """Equally correlated columns; the first ones carry a signal, the others nothing."""
    rng = np.random.default_rng(
        [d, recipe["M"], recipe["N"], int(100 * recipe["rho"]), recipe["signals"]]
    )
    X = np.sqrt(1 - recipe["rho"]) * rng.normal(
        size=(recipe["M"], recipe["N"])
    ) + np.sqrt(recipe["rho"]) * rng.normal(size=(recipe["M"], 1))
    return X, X[:, : recipe["signals"]].sum(1) + rng.normal(size=recipe["M"])


class Pairs:
    """Half of the rows, then the other half."""

    def __init__(self, seed):
        self.rng, self.left = np.random.default_rng(seed), None

    def draw(self, M, rng):
        if self.left is not None:
            half, self.left = self.left, None
        else:
            half = np.isin(
                np.arange(M), self.rng.choice(M, M // 2, replace=False)
            ).astype(float)
            self.left = 1 - half
        return half


def false_selections(recipe, d):
    """How many features without a signal reach each threshold, (3,) ints."""
    X, y = data_set(recipe, d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        s = StabilitySelection(
            n_resamples=0, threshold=0.75, q=recipe["q"], lambdas=15, tol=1e-4
        ).fit(X, y)
    Pi = s.probabilities_
    if "pairs" in recipe:
        A, centred = standardize(X, y)
        Pi = naive_bootstrap(
            A,
            centred,
            s.lambda_,
            resampling=Pairs(d),
            n_resamples=2 * recipe["pairs"],
            verbose=False,
        ).Pi
    return np.array([(Pi[recipe["signals"] :] >= t).sum() for t in THRESHOLDS])


def make(name):
    recipe = RECIPES[name]
    V = np.array([false_selections(recipe, d) for d in range(recipe["n"])])
    np.savez_compressed(
        HERE / f"{name}.npz",
        V=V.astype(np.int16),
        thresholds=THRESHOLDS,
        recipe=json.dumps(recipe),
    )
    print(
        name,
        dict(
            zip(
                THRESHOLDS,
                zip(V.mean(0).round(3), (V.std(0) / np.sqrt(len(V))).round(3)),
            )
        ),
        flush=True,
    )


def load(name):
    """The recipe and the false selections, (data sets, thresholds)."""
    with np.load(HERE / f"{name}.npz") as file:
        return json.loads(str(file["recipe"])), file["V"].astype(int)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    for name in parser.parse_args().names or RECIPES:
        make(name)
