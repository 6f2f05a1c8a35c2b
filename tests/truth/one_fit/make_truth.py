"""Brute-force truths: thousands of refits, kept as small summaries.

    python tests/truth/one_fit/make_truth.py           # every summary that is missing
    python tests/truth/one_fit/make_truth.py NAME ...  # make these again
    python tests/truth/one_fit/make_truth.py --list

Each `NAME.npz` beside this script holds the mean, the variance and Π over all refits
with their standard errors, the mean
of the weighted residuals with its own, the number of refits, the seed, and the recipe
of the problem as a JSON string.
It also holds what the first few refits alone gave (`slice_*`): refit number b depends
on (seed, b) only, so a test can
make those again in no time (`slice_matches`). Riboflavin needs the file that
RVAMP_NB_RIBOFLAVIN names, or the network.
"""

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rvamp_nb import datasets
from rvamp_nb.algorithm import resampling
from rvamp_nb.algorithm.likelihood import Huber
from rvamp_nb.algorithm.prior import ElasticNet, Laplace, NonNegative, Ridge
from rvamp_nb.course.multinomial import Multinomial
from rvamp_nb.inference.bootstrap import naive_bootstrap

HERE = Path(__file__).resolve().parent
HALF, PENALTIES = ["Poisson", {"tau": 0.5}], ["TwoPoint", {"factor": 2.0, "prob": 0.5}]
TABLES = ("mean", "var", "Pi", "mean_se", "var_se", "Pi_se", "u_mean", "u_se")


def strong_signals(M=100, N=300, n_signals=5, signal_to_noise=1e4, seed=0):
    """Independent Gaussian columns, n_signals coefficients of size 1 with
    alternating signs, noise of variance var(A x0) / signal_to_noise.
    """
    A = datasets.gaussian_design(M, N, density=0.0, noise=0.0, seed=seed).A
    rng = np.random.default_rng([seed, 1])
    x0 = np.zeros(N)
    x0[rng.choice(N, n_signals, replace=False)] = (-1.0) ** np.arange(n_signals)
    clean = A @ x0
    y = clean + np.sqrt(clean.var() / signal_to_noise) * rng.normal(size=M)
    return datasets.Dataset(A, y - y.mean(), x0, tuple(f"x[{i}]" for i in range(N)))


def responses(kind, M, N, rho=0.5, n_signals=10, strength=2.0, seed=0):
    """A Toeplitz design with n_signals coefficients of equal size whose linear
    predictor has the standard deviation `strength`, and targets of a kind: "label",
    "count", "heavy" (t with 2 degrees of freedom), "positive", "shifted" (columns
    and target not centred).
    """
    A = datasets.gaussian_design(M, N, rho=rho, density=0.0, noise=0.0, seed=seed).A
    rng = np.random.default_rng([seed, 2])
    x0 = np.zeros(N)
    x0[rng.choice(N, n_signals, replace=False)] = (
        np.ones(n_signals) if kind == "positive" else (-1.0) ** np.arange(n_signals)
    )
    x0 *= strength / (A @ x0).std()
    f = A @ x0
    draw = {
        "label": lambda: rng.random(M) < 1 / (1 + np.exp(-f)),
        "count": lambda: rng.poisson(np.exp(0.7 + f)),
        "heavy": lambda: f + rng.standard_t(2, M),
    }
    y = np.asarray(draw.get(kind, lambda: f + rng.normal(size=M))(), dtype=float)
    if kind == "shifted":
        A, y = A + rng.uniform(0.5, 1.5, N) / np.sqrt(M), y + 3
    return datasets.Dataset(A, y, x0, tuple(f"x[{i}]" for i in range(N)))


def breast_cancer():
    """scikit-learn's breast cancer table, standardised; the target is 1 for
    malignant.
    """
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer()
    A = datasets.standardize(table.data, table.target.astype(float))[0]
    return datasets.Dataset(A, 1.0 - table.target, None, tuple(table.feature_names))


# a sixth of the value that empties a half-sample
def lam_sixth(A, y):
    return np.abs(A.T @ (y - y.mean())).max() / 12


def lam_third(A, y):
    return np.abs(A.T @ (y - y.mean())).max() / 6


def lam_tenth(A, y):
    return np.abs(A.T @ (y - y.mean())).max() / 20


def lam_cross_validated(A, y):
    return datasets.choose_lambda(A, y)


# of the value that empties a half-sample
def lam_three_percent(A, y):
    return 0.03 * np.abs(A.T @ y).max() / 2


# its α, for columns of unit variance, on ours
def lam_of_the_paper(A, y):
    return 0.0239563 * np.sqrt(len(y))


def _recipe(
    data, arguments, lam, counts=HALF, n=4000, n_slice=100, randomize=PENALTIES, **model
):
    return dict(
        data=data,
        arguments=arguments,
        lam_rule=lam,
        counts=counts,
        randomize=randomize,
        n_resamples=n,
        seed=0,
        n_slice=n_slice,
        model=model,
    )


def _general(kind, M, N, lam, n=1500, strength=2.0, **options):
    return _recipe(
        "responses",
        dict(kind=kind, M=M, N=N, strength=strength),
        lam,
        n=n,
        n_slice=10,
        **options,
    )


RECIPES = {
    "dct_077x512": _recipe(
        "random_dct",
        dict(N=512, ratio=0.15, density=0.05, noise=0.1, seed=0),
        "lam_cross_validated",
    ),
    "dct_154x512": _recipe(
        "random_dct",
        dict(N=512, ratio=0.3, density=0.05, noise=0.1, seed=0),
        "lam_cross_validated",
    ),
    # 38 of 77 rows, a whole number, so that Poisson(38/77) is its exact counterpart
    "dct_077x512_multinomial": _recipe(
        "random_dct",
        dict(N=512, ratio=0.15, density=0.05, noise=0.1, seed=0),
        "lam_cross_validated",
        counts=["Multinomial", {"tau": 38 / 77}],
    ),
    "toeplitz_150x400": _recipe(
        "gaussian_design",
        dict(M=150, N=400, rho=0.7, density=0.05, noise=0.1, seed=0),
        "lam_cross_validated",
    ),
    "toeplitz_400x150": _recipe(
        "gaussian_design",
        dict(M=400, N=150, rho=0.7, density=0.05, noise=0.1, seed=0),
        "lam_cross_validated",
    ),
    "diabetes_442x64": _recipe("load_diabetes", {}, "lam_cross_validated"),
    # with 100 rows a half-sample holds too little to find all five signals always
    # (their Π is 0.8 to 0.9); with 200 rows Π = 1
    "strong_100x300": _recipe(
        "strong_signals",
        dict(M=100, N=300, n_signals=5, signal_to_noise=1e4, seed=0),
        "lam_three_percent",
        n=2000,
    ),
    "strong_200x300": _recipe(
        "strong_signals",
        dict(M=200, N=300, n_signals=5, signal_to_noise=1e4, seed=0),
        "lam_three_percent",
        n=2000,
    ),
    # other losses, penalties, count laws: tests/truth/one_fit/test_accuracy_general.py
    "logistic_200x400": _general(
        "label", 200, 400, "lam_third", n=5000, strength=4.0, loss="logistic"
    ),
    "logistic_200x400_subsample": _general(
        "label",
        200,
        400,
        "lam_third",
        strength=4.0,
        loss="logistic",
        intercept=True,
        counts=["Subsample", {"tau": 0.5}],
    ),
    "poisson_200x300": _general(
        "count", 200, 300, "lam_third", strength=1.0, loss="poisson", intercept=True
    ),
    "huber_200x300": _general(
        "heavy", 200, 300, "lam_sixth", n=1000, loss="huber", delta=1.0
    ),
    "elastic_net_150x400": _general("number", 150, 400, "lam_third", l1_ratio=0.7),
    "nonnegative_150x400": _general("positive", 150, 400, "lam_third", positive=True),
    "ridge_60x40": _general("number", 60, 40, "lam_tenth", l1_ratio=0.0, n=4000),
    "unpenalised_150x200": _general(
        "shifted",
        150,
        200,
        "lam_third",
        intercept=True,
        penalty_factor=[0.0] * 3 + [1.0] * 197,
    ),
    "exponential_150x300": _general(
        "number", 150, 300, "lam_third", counts=["Exponential", {"tau": 1.0}]
    ),
    "discrete_150x300": _general(
        "number",
        150,
        300,
        "lam_third",
        counts=[
            "Discrete",
            {"values": [0.0, 1.0, 3.0], "probabilities": [0.5, 0.3, 0.2]},
        ],
    ),
    "weakness_150x300": _general(
        "number", 150, 300, "lam_sixth", randomize=["Weakness", {"w": 0.4}]
    ),
    "breast_cancer_569x30": _recipe(
        "breast_cancer",
        {},
        "lam_tenth",
        n=1500,
        n_slice=10,
        loss="logistic",
        intercept=True,
    ),
    "riboflavin_71x4088": _recipe(
        "load_riboflavin", {}, "lam_of_the_paper", n_slice=25
    ),
}


class Truth(NamedTuple):
    """A problem, regenerated, and what refitting it many times gave."""

    A: np.ndarray
    y: np.ndarray
    x0: "np.ndarray | None"
    names: tuple
    lam: float
    counts: object
    randomize: object
    mean: np.ndarray
    var: np.ndarray
    Pi: np.ndarray
    mean_se: np.ndarray
    var_se: np.ndarray
    Pi_se: np.ndarray
    u_mean: np.ndarray
    u_se: np.ndarray
    n_resamples: int
    seed: int
    recipe: dict


def _data(recipe):
    make = globals().get(recipe["data"]) or getattr(datasets, recipe["data"])
    return make(**recipe["arguments"])


def _law(name_and_arguments):
    name, arguments = name_and_arguments
    law = Multinomial if name == "Multinomial" else getattr(resampling, name)
    return law(**arguments)


def model_of(lam, randomize, loss="squared", delta=1.0, intercept=False, **penalty):
    """Prior, loss and intercept of a recipe, as refits and `rvamp` take them."""
    l1_ratio = penalty.pop("l1_ratio", 1.0)
    kind = {1.0: Laplace, 0.0: Ridge}.get(l1_ratio, ElasticNet)
    if penalty.pop("positive", False):
        kind = NonNegative
    if kind is ElasticNet:
        penalty["l1_ratio"] = l1_ratio
    if loss == "huber":
        loss = Huber(delta)
    return dict(prior=kind(lam, randomize, **penalty), loss=loss, intercept=intercept)


def _fingerprint(A, y):
    """Two numbers that any change of the data would move."""
    M, N = A.shape
    return [
        float(np.cos(np.arange(M)) @ A @ np.sin(np.arange(N))),
        float(np.cos(np.arange(M)) @ y),
    ]


def load_truth(name):
    """The problem and its summary; refused when the regenerated data are not those
    that were refitted.
    """
    with np.load(HERE / f"{name}.npz") as file:
        recipe = json.loads(str(file["recipe"]))
        tables = {k: file[k].astype(float) for k in TABLES}
        n, seed = int(file["n_resamples"]), int(file["seed"])
    data = _data(recipe)
    np.testing.assert_allclose(
        _fingerprint(data.A, data.y),
        recipe["fingerprint"],
        rtol=1e-8,
        atol=1e-8,
        err_msg=f"{name}: the data made today differ from those that were refitted",
    )
    return Truth(
        *data[:3],
        data.names,
        recipe["lam"],
        _law(recipe["counts"]),
        _law(recipe["randomize"]),
        *tables.values(),
        n,
        seed,
        recipe,
    )


def slice_matches(name, n=None):
    """Make the first n refits of a summary again (default: as many as its slice has)
    and compare them with what is kept of them.

    True when they agree to rounding. With n smaller than the slice only the kept draws
    are compared.
    """
    truth = load_truth(name)
    with np.load(HERE / f"{name}.npz") as file:
        kept = {
            k[len("slice_") :]: file[k] for k in file.files if k.startswith("slice_")
        }
    n = truth.recipe["n_slice"] if n is None else n
    again = naive_bootstrap(
        truth.A,
        truth.y,
        **model_of(truth.lam, truth.randomize, **truth.recipe.get("model", {})),
        resampling=truth.counts,
        n_resamples=n,
        random_state=truth.seed,
        keep=kept["columns"],
        verbose=False,
    )
    scale = np.abs(kept["mean"]).max()
    same = np.allclose(again.draws, kept["draws"][:n], rtol=1e-6, atol=1e-6 * scale)
    if n < truth.recipe["n_slice"]:
        return bool(same)
    u_scale = np.abs(kept["u_mean"]).max()
    return bool(
        same
        and np.array_equal(np.rint(again.Pi * n), kept["selected"])
        and np.allclose(again.mean, kept["mean"], rtol=1e-6, atol=1e-6 * scale)
        and np.allclose(again.var, kept["var"], rtol=1e-6, atol=1e-6 * scale**2)
        and np.allclose(again.u_mean, kept["u_mean"], rtol=1e-6, atol=1e-6 * u_scale)
    )


def make_truth(name, n_jobs=2):
    """Refit, then write the summary; a file appears only when it is complete."""
    recipe = dict(RECIPES[name])
    data = _data(recipe)
    recipe["lam"] = float(globals()[recipe["lam_rule"]](data.A, data.y))
    recipe["fingerprint"] = _fingerprint(data.A, data.y)
    run = lambda n, keep=None: naive_bootstrap(
        data.A,
        data.y,
        **model_of(recipe["lam"], _law(recipe["randomize"]), **recipe["model"]),
        resampling=_law(recipe["counts"]),
        n_resamples=n,
        random_state=recipe["seed"],
        n_jobs=n_jobs,
        keep=keep,
    )
    print(
        f"{name}: {data.A.shape[0]} x {data.A.shape[1]}, lam = {recipe['lam']:.6g},"
        f" {recipe['n_resamples']} refits",
        flush=True,
    )
    full = run(recipe["n_resamples"])
    # the draws of the twenty most selected, for close comparison
    columns = np.sort(np.argsort(-full.Pi, kind="stable")[:20])
    first = run(recipe["n_slice"], columns)
    slices = dict(
        columns=columns,
        draws=first.draws,
        selected=np.rint(first.Pi * first.n_resamples).astype(np.int32),
        mean=first.mean,
        var=first.var,
        u_mean=first.u_mean,
    )
    partial = HERE / f"{name}.part.npz"
    np.savez_compressed(
        partial,
        recipe=json.dumps(recipe),
        n_resamples=full.n_resamples,
        seed=full.seed,
        **{k: getattr(full, k) for k in TABLES},
        **{f"slice_{k}": v for k, v in slices.items()},
    )
    partial.rename(HERE / f"{name}.npz")
    print(
        f"  {(HERE / f'{name}.npz').stat().st_size / 1000:.0f} kB, mean support"
        f" {full.Pi.sum():.1f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="summaries to make again (default: those that are missing)",
    )
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    if unknown := set(args.names) - set(RECIPES):
        parser.error(
            f"no such truth: {', '.join(sorted(unknown))}; there are"
            f" {', '.join(RECIPES)}"
        )
    if args.list:
        return print(*RECIPES, sep="\n")
    for name in args.names or [n for n in RECIPES if not (HERE / f"{n}.npz").exists()]:
        make_truth(name, args.n_jobs)


if __name__ == "__main__":
    main()
