"""Does the solver arrive? A table over designs x count laws x penalties.

    python tests/bench/grid.py [--tol 1e-8] [--riboflavin FILE] [--full]

Each row: problems, how many converged cold, how many in the end, steps to 1e-6 and to
tol (median, largest), floors hit. The last rows are strong equal effects on many
gene-like columns, half-samples, one penalty, at ten penalties down to a twentieth of
the emptying one; --full takes these at the size of the prostate table, 102 x 6033, on
16 data sets of each kind.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from tqdm.std import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
from designs import (  # noqa: E402
    FRACTIONS,
    LAWS,
    PROSTATE,
    SHARES,
    Case,
    cases,
    penalty,
    strong_cases,
)

from rvamp_nb.algorithm.prior import Laplace  # noqa: E402
from rvamp_nb.algorithm.resampling import Subsample  # noqa: E402
from rvamp_nb.algorithm.solver import rvamp  # noqa: E402
from rvamp_nb.algorithm.start import lambda_max_factor  # noqa: E402
from rvamp_nb.datasets import load_riboflavin, standardize  # noqa: E402


def measure(case, counts, fraction, tol):
    """(converged cold, converged, steps to 1e-6, steps to tol, floors)"""
    fit = rvamp(
        case.A, case.y, penalty(case, fraction, counts), resampling=counts, tol=tol
    )
    worst = np.maximum(fit.trace.change, fit.trace.delta)
    first = np.argmax(worst < 1e-6) + 1 if (worst < 1e-6).any() else np.inf
    return (
        fit.converged and "continuation" not in fit.status,
        fit.converged,
        first,
        fit.n_iter,
        fit.trace.floored.sum(),
    )


def measure_strong(case, share, tol):
    """The same for half-samples without random penalties, at a share of the penalty
    that empties them.
    """
    given = dict(resampling=Subsample(0.5), tol=tol)
    problem = rvamp(case.A, case.y, prior=Laplace(1e9), **given).problem
    lam = share * 1e9 * lambda_max_factor(problem)
    fit = rvamp(case.A, case.y, prior=Laplace(lam), **given)
    worst = np.maximum(fit.trace.change, fit.trace.delta)
    first = np.argmax(worst < 1e-6) + 1 if (worst < 1e-6).any() else np.inf
    cold = fit.converged and "continuation" not in fit.status
    return cold, fit.converged, first, fit.n_iter, fit.trace.floored.sum()


def line(name, results):
    cold, arrived, first, steps, floors = np.array(results, dtype=float).T
    return (
        f"{name:38s} {len(results):4d} {int(cold.sum()):5d} {int(arrived.sum()):5d}  "
        f" {np.median(first):5.0f} {first.max():5.0f}   {np.median(steps):5.0f}"
        f" {steps.max():5.0f}   {int(floors.sum()):3d}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tol", type=float, default=1e-8)
    parser.add_argument("--riboflavin", help="path of riboflavin.RData, to include it")
    parser.add_argument("--full", action="store_true", help="strong effects only")
    options = parser.parse_args()
    problems = [] if options.full else list(cases())
    if options.riboflavin:
        data = load_riboflavin(options.riboflavin)
        problems.append(Case("riboflavin", *standardize(data.A, data.y)))
    rows, everything = [], []
    for case in tqdm(problems):
        results = [
            measure(case, counts, fraction, options.tol)
            for counts in LAWS.values()
            for fraction in FRACTIONS
        ]
        rows.append(line(case.name, results))
        everything += results
    size = dict(seeds=range(16), shape=PROSTATE) if options.full else {}
    for case in tqdm(list(strong_cases(**size))):
        results = [measure_strong(case, share, options.tol) for share in SHARES]
        rows.append(line(f"strong effects, {case.name}", results))
        everything += results
    print(
        f"{'design':38s} {'n':>4s} {'cold':>5s} {'end':>5s}   {'1e-6':>5s} {'max':>5s} "
        f"  {'tol':>5s} {'max':>5s}   floors"
    )
    print(*rows, line("all", everything), sep="\n")


if __name__ == "__main__":
    main()
