"""Refits a second: many at once against one by one, and against celer.

    python tests/bench/refits.py               # every problem
    python tests/bench/refits.py dct diabetes  # these
    python tests/bench/refits.py --old PATH    # one by one by the package in PATH

One by one is a loop over `weighted_lasso` or `penalised_fit`. On one thread, times are
CPU times, the ways take turns, and of several runs the fastest counts. "no hint" is
`naive_bootstrap` as called by default, "hint" has `columns`: what rVAMP gives a
probability above 0.003, as `check` and `refine` do.
celer (squared loss only) is asked for a duality gap of 1e-9.
"""

import argparse
import importlib.util
import os
import sys
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
from sklearn.datasets import load_breast_cancer  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "helpers")]
import experiments  # noqa: E402
import speed  # noqa: E402

from rvamp_nb import datasets, rvamp
from rvamp_nb.algorithm.likelihood import Logistic  # noqa: E402
from rvamp_nb.algorithm.prior import Laplace  # noqa: E402
from rvamp_nb.inference import batch_glm, bootstrap  # noqa: E402

N_REFITS = 200


def factor_table(M=100, N=6000, rank=5, seed=1):
    """Expressions that a few factors drive, unit columns, and a sparse signal."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(M, rank)) @ rng.normal(size=(rank, N))
    A, _ = datasets.standardize(A + rng.normal(size=(M, N)), np.arange(M))
    return A, A[:, :10] @ rng.normal(size=10), rng


def problems():
    """name: (A, y, loss, fraction of the penalty that empties a half-sample)."""
    if os.environ.get("RVAMP_NB_RIBOFLAVIN"):
        d = datasets.load_riboflavin()
        yield "riboflavin", *datasets.standardize(d.A, d.y), "squared", 0.15
    A, f, rng = factor_table()
    noisy = f + 0.3 * f.std() * rng.normal(size=len(f))
    yield "factor model", *datasets.standardize(A, noisy), "squared", 0.15
    d = datasets.random_dct(N=1024, ratio=0.1)
    yield "dct", d.A, d.y, "squared", None
    d = datasets.load_diabetes()
    yield "diabetes", *datasets.standardize(d.A, d.y), "squared", 0.15
    X, labels = load_breast_cancer(return_X_y=True)
    A, _ = datasets.standardize(X, labels)
    yield "breast cancer", A, labels * 1.0, "logistic", 0.15
    A, f, rng = factor_table()
    labels = rng.random(len(f)) < 1 / (1 + np.exp(-3 * f / f.std()))
    yield "wide logistic", A, labels * 1.0, "logistic", 0.2


def penalty(A, y, fraction):
    if fraction is None:
        return datasets.choose_lambda(A, y)
    return fraction * 0.5 * np.abs(A.T @ (y - y.mean())).max()


def likely(A, y, lam, loss):
    """Columns that rVAMP says can matter."""
    options = dict(loss=Logistic(), intercept=True) if loss == "logistic" else {}
    return np.flatnonzero(rvamp(A, y, prior=Laplace(lam), **options).Pi > 0.003)


def one_by_one(A, y, lam, loss, n_resamples, intercept, **_):
    """The same refits in a loop."""
    N, laws = A.shape[1], (bootstrap.Poisson(0.5), bootstrap.TwoPoint(2, 0.5))
    t = np.append(np.full(N, lam), np.zeros(intercept))
    B = np.column_stack([A, np.ones((len(A), intercept))])
    for b in range(n_resamples):
        rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(b,)))
        c, factor = laws[0].draw(len(y), rng), laws[1].draw(N, rng)
        factor = np.append(factor, np.ones(intercept))
        if loss == "squared":
            bootstrap.weighted_lasso(A, y, t * factor, c)
        else:
            batch_glm.penalised_fit(B, y, t * factor, 0 * t, c, loss)


def other_package(path):
    """naive_bootstrap of the package that lies in this folder, say a worktree."""
    package = Path(path) / "rvamp_nb"
    spec = importlib.util.spec_from_file_location(
        "other_rvamp_nb",
        package / "__init__.py",
        submodule_search_locations=[str(package)],
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.naive_bootstrap


def by_celer(A, y, lam, n):
    At = np.ascontiguousarray(A.T)
    for b in range(n):
        counts, factor = experiments.resample(b, 0, *A.shape)
        experiments.celer_lasso(At, y, lam * factor, counts, experiments.TOL)


def rows(threads, names=(), old=None, n=N_REFITS, repeat=3):
    """Rows (problem, milliseconds a refit: one by one, no hint, hint, celer; refits a
    second, new over old: no hint, hint).
    """
    plain = other_package(old) if old else None
    for name, A, y, loss, fraction in problems():
        if names and name not in names:
            continue
        lam = penalty(A, y, fraction)
        hint = likely(A, y, lam, loss)
        options = dict(loss=loss, intercept=loss == "logistic", n_resamples=n)
        arguments, options = (A, y, lam), dict(options, verbose=False)

        def careful(arguments=arguments, options=options):
            return (plain or one_by_one)(*arguments, **options)

        def quick(columns, arguments=arguments, options=options):
            return bootstrap.naive_bootstrap(*arguments, columns=columns, **options)

        actions = [careful, lambda: quick(None), lambda hint=hint: quick(hint)]
        if loss == "squared":
            actions.append(lambda a=arguments: by_celer(*a, n // 4))
        *each, last = threads.fastest(*actions, repeat=repeat)
        each = [*each, 4 * last] if loss == "squared" else [*each, last, np.nan]
        shape = "{} x {}".format(*A.shape)
        ratios = each[0] / each[1], each[0] / each[2]
        yield (f"{name}, {shape}", *(1e3 * s / n for s in each), *ratios)


COLUMNS = (
    "problem",
    "one by one ms",
    "no hint ms",
    "hint ms",
    "celer ms",
    "new / old",
    "with hint",
)


def print_table(threads, names=(), old=None):
    with threads.limit():
        title = "(d) refits a second, many at once over one by one"
        speed.table(title, COLUMNS, list(rows(threads, names, old)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="PROBLEM", help="all if none")
    parser.add_argument("--old", metavar="PATH", help="a checkout of an older version")
    given = parser.parse_args()
    print_table(speed.Threads(True), given.names, given.old)


if __name__ == "__main__":
    main()
