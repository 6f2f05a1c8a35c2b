"""Refits of designs on which the diagonal is wrong, and of some on which it is right.

    python tests/truth/beyond/make_beyond_truth.py            # what is missing
    python tests/truth/beyond/make_beyond_truth.py NAME ...
    python tests/truth/beyond/make_beyond_truth.py --list

Each `NAME.npz` beside this script holds Π, mean and variance over all refits (single
precision), how many there were, and the recipe as a JSON string. The names end in
`_poisson` (Poisson(1/2) counts, penalties drawn from {λ, 2λ}: the paper's setting) or
`_half` (half-samples, one penalty: what stability selection does). The penalty is a
share of the one that empties a half-sample, half of max |A'y|.

Riboflavin needs the file that RVAMP_NB_RIBOFLAVIN names. All of it takes half an hour
on one core.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from rvamp_nb import datasets, naive_bootstrap
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.resampling import FixedFactor, Poisson, Subsample, TwoPoint

HERE = Path(__file__).resolve().parent
LAWS = {
    "poisson": (Poisson(0.5), TwoPoint(2.0, 0.5)),
    "half": (Subsample(0.5), FixedFactor()),
}


# Tables ------------------------------------------------------------------------------


def response(A, rng, n_signals=4):
    """The sum of the first columns, in units that make it as loud as n_signals times
    the noise's variance, and noise.
    """
    noise, signal = rng.normal(size=len(A)), A[:, :n_signals].sum(1)
    return signal / signal.std() * np.sqrt(n_signals) + noise


def independent(M, N, seed, outlier=0.0, row=17):
    """Normal columns; one target may be moved by so many standard deviations."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(M, N))
    y = response(A, rng)
    y[row] += outlier * y.std()
    return A, y


def toeplitz(M, N, rho, seed):
    d = datasets.gaussian_design(M, N, rho=rho, density=0.05, noise=0.1, seed=seed)
    return d.A, d.y


def dct(N, ratio, seed):
    d = datasets.random_dct(N=N, ratio=ratio, density=0.05, noise=0.1, seed=seed)
    return d.A, d.y


def first_row(M, N, size, seed):
    """Chapter 4.1's outlier: the first response of a design moved far."""
    d = datasets.gaussian_design(M, N, seed=seed)
    return d.A, d.y + size * d.y.std() * (np.arange(M) == 0)


def one_hot(M, factors, levels, seed):
    rng = np.random.default_rng(seed)
    A = [np.eye(levels)[rng.integers(levels, size=M)] for _ in range(factors)]
    A = np.concatenate(A, axis=1)
    return A, response(A[:, ::levels], rng)


def sparse_binary(M, N, prevalence, seed):
    rng = np.random.default_rng(seed)
    A = (rng.random((M, N)) < prevalence).astype(float)
    return A, response(A, rng)


def heavy_tails(M, N, seed, freedom=2.0):
    rng = np.random.default_rng(seed)
    A = rng.standard_t(freedom, size=(M, N))
    return A, response(A, rng)


def log_normal(M, N, seed, spread=1.5):
    rng = np.random.default_rng(seed)
    A = np.exp(spread * rng.normal(size=(M, N)))
    return A, response(np.log(A), rng)


def rare_counts(M, N, rate, seed):
    rng = np.random.default_rng(seed)
    A = rng.poisson(rate, size=(M, N)).astype(float)
    return A, response(A, rng)


def pairs(M, N, correlation, seed):
    """Columns in twos, each pair with this correlation; the first of some matter."""
    rng = np.random.default_rng(seed)
    common, own = rng.normal(size=(M, N // 2)), rng.normal(size=(2, M, N // 2))
    pair = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    A = pair.transpose(1, 2, 0).reshape(M, N)
    return A, response(A[:, ::2], rng)


def smooth_curves(M, N, seed, width=6.0):
    """Random smooth curves, read off at N points."""
    rng = np.random.default_rng(seed)
    t = np.arange(N)
    kernel = np.exp(-((t[:, None] - t) ** 2) / (2 * width**2))
    A = rng.normal(size=(M, N)) @ kernel + 0.05 * rng.normal(size=(M, N))
    return A, response(A[:, :: N // 4], rng)


def factors(M, N, k, seed, common=0.5):
    rng = np.random.default_rng(seed)
    A = np.sqrt(common / k) * rng.normal(size=(M, k)) @ rng.normal(size=(k, N))
    A += np.sqrt(1 - common) * rng.normal(size=(M, N))
    return A, response(A, rng, 8)


def modules(M, N, k, seed, size=5, common=0.5, correlation=0.8):
    """Factors as above, and columns in modules, of which the rest is correlated."""
    rng = np.random.default_rng(seed)
    own, shared = rng.normal(size=(M, N)), rng.normal(size=(M, N // size))
    rest = np.sqrt(1 - correlation) * own
    rest += np.sqrt(correlation) * shared.repeat(size, axis=1)
    A = np.sqrt(common / k) * rng.normal(size=(M, k)) @ rng.normal(size=(k, N))
    A += np.sqrt(1 - common) * rest
    return A, response(A[:, ::size], rng, 8)


def leverage(M, N, seed, rows=3, size=6.0):
    """Some rows of the table, and their responses, are much larger than the rest."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(M, N))
    A[:rows] *= size
    y = response(A, rng)
    y[:rows] += size * rng.normal(size=rows)
    return A, y


def diabetes():
    d = datasets.load_diabetes()
    return d.A, d.y


def riboflavin():
    d = datasets.load_riboflavin()
    return d.A, d.y


def breast_cancer():
    from sklearn.datasets import load_breast_cancer

    A, y = load_breast_cancer(return_X_y=True)
    return A, 1.0 - y


def labels(M, N, rho, seed):
    """Labels from a logistic model on correlated columns."""
    rng = np.random.default_rng([seed, 1])
    A = datasets.gaussian_design(M, N, rho=rho, density=0.0, noise=0.0, seed=seed).A
    f = A[:, :: N // 8].sum(1)
    f *= 2 / f.std()
    return A, (rng.random(M) < 1 / (1 + np.exp(-f))).astype(float)


# name: maker, arguments, share of the emptying penalty, refits, loss
DESIGNS = {
    "outlier_08": (independent, (120, 100, 0, 8.0), 0.3, 40_000),
    "outlier_20": (independent, (120, 100, 1, 20.0), 0.3, 40_000),
    "outlier_first_10": (first_row, (120, 200, 10.0, 0), 0.3, 20_000),
    "toeplitz_90": (toeplitz, (150, 400, 0.9, 0), 0.1, 8_000),
    "toeplitz_95": (toeplitz, (150, 400, 0.95, 0), 0.1, 8_000),
    "toeplitz_99": (toeplitz, (150, 400, 0.99, 0), 0.1, 8_000),
    "breast_cancer": (breast_cancer, (), 0.1, 10_000),
    "riboflavin_50": (riboflavin, (), 0.5, 8_000),
    "riboflavin_15": (riboflavin, (), 0.15, 8_000),
    "dct": (dct, (512, 0.15, 0), 0.3, 8_000),
    "independent": (independent, (120, 100, 5), 0.3, 20_000),
    "one_hot": (one_hot, (200, 15, 4, 0), 0.3, 20_000),
    "sparse_binary": (sparse_binary, (200, 100, 0.05, 0), 0.3, 20_000),
    "heavy_tails": (heavy_tails, (100, 200, 0), 0.3, 6_000),
    "log_normal": (log_normal, (150, 100, 0), 0.3, 6_000),
    "rare_counts": (rare_counts, (150, 100, 0.1, 0), 0.3, 6_000),
    "pairs": (pairs, (120, 100, 0.95, 0), 0.2, 6_000),
    "smooth_curves": (smooth_curves, (100, 120, 0), 0.2, 5_000),
    "factors": (factors, (100, 400, 5, 0), 0.3, 5_000),
    "modules": (modules, (100, 400, 2, 0), 0.3, 8_000),
    "leverage": (leverage, (100, 100, 0), 0.3, 6_000),
    "few_rows": (independent, (30, 100, 2), 0.3, 10_000),
    "diabetes": (diabetes, (), 0.1, 6_000),
    "breast_cancer_logistic": (breast_cancer, (), 0.1, 4_000, "logistic"),
    "labels": (labels, (150, 100, 0.9, 0), 0.2, 4_000, "logistic"),
    "one_hot_rare": (one_hot, (150, 10, 12, 1), 0.3, 6_000),
    "sparse_binary_few": (sparse_binary, (100, 150, 0.03, 1), 0.3, 6_000),
}
NAMES = [f"{design}_{law}" for design in DESIGNS for law in LAWS]
# near-copies are slow for coordinate descent: celer, a development extra, refits these
BY_CELER = "toeplitz_90 toeplitz_95 toeplitz_99 smooth_curves pairs modules".split()


def fingerprint(A, y):
    """Two numbers that any change of the data would move."""
    M, N = A.shape
    row, column = np.cos(np.arange(M)), np.sin(np.arange(N))
    return [float(row @ A @ column), float(row @ y)]


def problem(design):
    """Standardised columns, the target (centred, or labels), and the penalty."""
    maker, arguments, share, _, *loss = DESIGNS[design]
    A, y = maker(*arguments)
    varies = np.ptp(A, axis=0) > 0
    A, centred = datasets.standardize(A[:, varies], y)
    lam = share * np.abs(A.T @ centred).max() / 2
    return A, (np.asarray(y, float) if loss else centred), float(lam)


def options(design, law):
    """What `rvamp` needs to know of a truth, besides A and y."""
    from rvamp_nb.algorithm.likelihood import Logistic, Squared

    counts, randomize = LAWS[law]
    if law == "half":  # of 71 rows the refits drew 36
        M = len(problem(design)[1])
        counts = Subsample(round(M / 2) / M)
    logistic = len(DESIGNS[design]) > 4
    return dict(
        prior=Laplace(problem(design)[2], randomize),
        resampling=counts,
        loss=Logistic() if logistic else Squared(),
        intercept=logistic,
    )


def load(name):
    """Π, mean, variance (N,) and the number of refits."""
    with np.load(HERE / f"{name}.npz") as file:
        recipe = json.loads(str(file["recipe"]))
        tables = [file[k].astype(float) for k in ("Pi", "mean", "var")]
        n = int(file["n"])
    A, y, _ = problem(name.rpartition("_")[0])
    kept = recipe["fingerprint"]
    if not np.allclose(fingerprint(A, y), kept, rtol=1e-8, atol=1e-8):
        raise ValueError(f"{name}: the data differ from those that were refitted")
    return *tables, n


def worth(Pi, truth, n):
    """How many refits have an error as large as Pi's, the truth's own error (of n
    refits) subtracted.
    """
    one = np.mean(truth * (1 - truth)) * n / (n - 1)
    return one / max(np.mean((Pi - truth) ** 2) - one / n, one / (30 * n))


def refits_by_celer(A, y, lam, counts, randomize, n, seed=0):
    """Π, mean and variance over n refits of the Lasso, (N,) each."""
    from celer import celer_path

    rng, N = np.random.default_rng(seed), A.shape[1]
    selected, total, squares = np.zeros((3, N))
    for _ in range(n):
        c, factor = counts.draw(len(y), rng), randomize.draw(N, rng)
        rows, root = c > 0, np.sqrt(c[c > 0])
        table = np.asfortranarray(A[rows] * root[:, None])
        penalties = dict(alphas=[lam / len(root)], weights=factor)
        path = celer_path(table, y[rows] * root, "lasso", tol=1e-9, **penalties)
        x = path[1][:, 0]
        selected += x != 0
        total += x
        squares += x**2
    mean = total / n
    return selected / n, mean, (squares - n * mean**2) / (n - 1)


def refits(design, law, n):
    """The same by whatever suits the design."""
    A, y, lam = problem(design)
    counts, randomize = LAWS[law]
    if design in BY_CELER:
        return refits_by_celer(A, y, lam, counts, randomize, n)
    loss = DESIGNS[design][4:]
    model = dict(loss=loss[0], intercept=True) if loss else {}
    plan = dict(n_resamples=n, random_state=0, verbose=False)
    laws = dict(prior=Laplace(lam, randomize), resampling=counts)
    seen = naive_bootstrap(A, y, **laws, **plan, **model)
    return seen.Pi, seen.mean, seen.var


def make(name):
    """Refit, then write the summary; a file appears only when it is complete."""
    design, _, law = name.rpartition("_")
    A, y, lam = problem(design)
    n = DESIGNS[design][3]
    tables = [part.astype(np.float32) for part in refits(design, law, n)]
    recipe = json.dumps(dict(lam=lam, fingerprint=fingerprint(A, y), seed=0))
    kept = dict(zip(("Pi", "mean", "var"), tables))
    np.savez_compressed(HERE / f"{name}.part.npz", recipe=recipe, n=n, **kept)
    (HERE / f"{name}.part.npz").rename(HERE / f"{name}.npz")
    print(f"{name}: {A.shape}, {tables[0].sum():.1f} selected", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    if args.list:
        return print(*NAMES, sep="\n")
    for name in args.names or [n for n in NAMES if not (HERE / f"{n}.npz").exists()]:
        make(name)


if __name__ == "__main__":
    main()
