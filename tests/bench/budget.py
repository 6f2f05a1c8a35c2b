"""Measure the processor time of small hostile problems.

    python tests/bench/budget.py 0 300      # seeds 0 to 299
    python tests/bench/budget.py 0 300 2    # print those above 2 seconds, not 5

A seed makes a table of at most 100 rows and 20 columns as `invariances.py` does, with
losses, options and roles of rows, and gives it one or two hostile properties: weights
over many decades, units, outliers, columns or rows that repeat, classes that separate.
Each is fitted without refits and by default. A line is printed for each fit above the
limit, or that crashed, and at the end the distribution of seconds; none may take more
than `MOST`.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy

import signal
import sys
import time
import warnings
from collections import Counter
from dataclasses import replace

import invariances
import numpy as np
from invariances import random_problem

import rvamp_nb as rv

MOST, GIVEN_UP = 10, 60  # seconds: that may be taken, and after which a fit is ended
PROPERTIES = []


class _TooLong(BaseException):
    """Ends a fit; nothing in the package catches it."""


def hostile(change):
    """Enter a function of a generator and a `Problem` into the list."""
    PROPERTIES.append(change)
    return change


def hostile_problem(seed):
    """Draw a problem, and the names of its hostile properties."""
    rng = np.random.default_rng([78, seed])
    problem, names = _resized(rng, random_problem(rng)), []
    for i in rng.permutation(len(PROPERTIES)):
        changed = PROPERTIES[i](rng, problem)
        if changed is not None:
            problem = changed
            names.append(PROPERTIES[i].__name__)
        if len(names) == 1 + seed % 2:
            break
    options = {**problem.options, "tol": 1e-6}
    return replace(problem, options=options), names


def _resized(rng, problem):
    """The problem with rows and columns added, up to 100 and 20, with their roles."""
    M, N = problem.X.shape
    if problem.loss == "softmax":
        return problem
    more = int(rng.integers(0, 101 - M))
    rows = np.r_[:M, rng.integers(M, size=more)]
    problem = problem.take(rows)
    noise = rng.normal(size=(M + more, N)) * problem.X.std(0)
    X = np.where(np.arange(M + more)[:, None] < M, problem.X, problem.X + noise)
    options = dict(problem.options)
    if not {"penalty_factor", "column_groups"} & {*options}:
        extra = int(rng.integers(0, 21 - N))
        X = np.hstack([X, rng.normal(size=(len(X), extra))])
    return replace(problem, X=X)


# -------------------------------------------------------------- hostile properties


@hostile
def weights_over_decades(rng, problem):
    """Weights from 1e-300 to 1, or over fewer decades."""
    if problem.loss == "softmax":
        return None
    decades = rng.choice([12, 60, 300])
    weight = 10.0 ** -rng.uniform(0, decades, size=len(problem.X))
    return problem.with_roles(sample_weight=weight)


@hostile
def one_large_weight(rng, problem):
    """One row that weighs as much as many others."""
    if problem.loss == "softmax":
        return None
    weight = np.ones(len(problem.X))
    weight[rng.integers(len(weight))] = rng.choice([1e4, 1e12])
    return problem.with_roles(sample_weight=weight)


@hostile
def unit_of_y(rng, problem):
    """A target in a very large or small unit."""
    if problem.loss not in invariances.Y_UNITS:
        return None
    return replace(problem, y=problem.y * 10.0 ** rng.integers(-60, 61))


@hostile
def one_outlying_target(rng, problem):
    """One target, or count, that is far from all others."""
    if problem.loss not in (*invariances.Y_UNITS, "poisson"):
        return None
    y = problem.y.copy()
    y[rng.integers(len(y))] = rng.choice([1e3, 1e6, 1e9])
    return replace(problem, y=y)


@hostile
def one_outlying_row(rng, problem):
    """One row of X that is far from all others."""
    X = problem.X.copy()
    X[rng.integers(len(X))] *= rng.choice([1e2, 1e4, 1e8])
    return replace(problem, X=X)


@hostile
def columns_that_nearly_repeat(rng, problem):
    """Columns that all follow the first one."""
    closeness = rng.choice([1e-1, 1e-3, 1e-6, 0.0])
    X = problem.X[:, :1] + closeness * problem.X
    return replace(problem, X=X)


@hostile
def factor_before_all_columns(rng, problem):
    """A common factor that is much larger than what is a column's own."""
    factor = rng.normal(size=(len(problem.X), 1))
    return replace(problem, X=problem.X + rng.choice([5.0, 100.0]) * factor)


@hostile
def doubled_rows(rng, problem):
    """Each row several times, drawn together or alone."""
    if problem.loss == "softmax":
        return None
    M = len(problem.X)
    times = max(min(int(rng.integers(2, 6)), 100 // M), 1)
    groups = problem.roles.get("groups", np.arange(M))
    if rng.random() < 0.5:
        problem = problem.with_roles(groups=groups)
    return problem.take(np.tile(np.arange(M), times))


@hostile
def large_groups_of_rows(rng, problem):
    """Few groups of many rows."""
    if problem.loss == "softmax":
        return None
    groups = np.arange(len(problem.X)) % int(rng.integers(6, 12))
    roles = {name: v for name, v in problem.roles.items() if name != "strata"}
    return replace(problem, roles={**roles, "groups": groups})


@hostile
def separated_classes(rng, problem):
    """Classes that one column tells apart, or nearly."""
    if problem.loss not in ("logistic", "softmax"):
        return None
    X = problem.X.copy()
    X[:, 0] = problem.y + rng.choice([0.0, 0.01]) * X[:, 0]
    return replace(problem, X=X)


@hostile
def rare_class(rng, problem):
    """A class of two or three rows."""
    if problem.loss != "logistic":
        return None
    y = np.zeros(len(problem.X))
    y[rng.permutation(len(y))[: rng.integers(2, 4)]] = 1
    return replace(problem, y=y)


@hostile
def large_counts(rng, problem):
    """Counts of thousands or millions, or nearly none."""
    if problem.loss != "poisson":
        return None
    y = problem.y * rng.choice([1e3, 1e6])
    if rng.random() < 0.5:
        y = 1.0 * (np.arange(len(y)) % 20 == 0)
    return replace(problem, y=y)


@hostile
def rows_cut_in_two(rng, problem):
    """Times at risk in two intervals that are drawn together, with ties."""
    if problem.loss != "survival" or len(problem.X) > 50:
        return None
    problem = replace(problem, y=np.round(problem.y, 1) + [0] * problem.y.shape[1])
    pair = invariances.intervals_cut_in_two(rng, problem)
    return pair.second


@hostile
def few_events(rng, problem):
    """Survival data with three events."""
    if problem.loss != "survival":
        return None
    y = problem.y.copy()
    y[:, 0] = 0
    y[rng.permutation(len(y))[:3], 0] = 1
    return replace(problem, y=y)


@hostile
def penalties_given(rng, problem):
    """A penalty that is nearly none, or a long path."""
    given = [1e-300], [1e-6, 1.0], np.geomspace(1e3, 1e-5, 40).tolist()
    options = {k: v for k, v in problem.options.items() if k != "q"}
    options["lambdas"] = given[rng.integers(len(given))]
    return replace(problem, options=options)


@hostile
def nearly_all_selected(rng, problem):
    """As many selected features as there are columns, or hardly any."""
    q = rng.choice([0.05, 0.9 * problem.X.shape[1]])
    return problem.with_options(q=float(q))


@hostile
def groups_of_columns(rng, problem):
    """Columns in one or in a few groups."""
    if problem.loss == "softmax":
        return None
    options = {k: v for k, v in problem.options.items() if k in {*_PLAIN, "loss"}}
    N = problem.X.shape[1]
    many = int(rng.integers(1, max(N // 2, 2)))
    options["column_groups"] = [f"g{i % many}" for i in range(N)]
    return replace(problem, options=options)


_PLAIN = ("verbose", "n_resamples", "tol")


@hostile
def nearly_a_ridge(rng, problem):
    """A penalty that is nearly that of a ridge."""
    if problem.loss == "softmax" or "column_groups" in problem.options:
        return None
    net = rv.ElasticNet(1.0, l1_ratio=float(rng.choice([1e-3, 0.05])))
    return problem.with_options(prior=net)


@hostile
def many_in_a_resample(rng, problem):
    """Other laws of the counts."""
    if problem.loss == "softmax":
        return None
    laws = rv.Exponential(), rv.Poisson(3.0), rv.Subsample(0.9), rv.Poisson(0.1)
    return problem.with_options(resampling=laws[rng.integers(len(laws))])


# ------------------------------------------------------------------------ measured


def seconds(problem):
    """Fit, and return the processor time and how it ended."""

    def end(signum, frame):
        raise _TooLong

    signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, GIVEN_UP)
    before = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = rv.StabilitySelection(**problem.options)
            fit.fit(problem.X, problem.y, **problem.roles)
        ended = fit.status_
    except _TooLong:
        ended = "given up"
    except (TypeError, ValueError) as error:  # what is refused is an answer, too
        ended = f"{type(error).__name__}: {error}"
    except Exception as error:
        ended = f"crashed: {type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.process_time() - before, ended


def main(low, high, limit=5.0):
    """Print the fits of some seeds above a limit, and the distribution of seconds."""
    taken, endings = {"alone": [], "default": []}, Counter()
    for seed in range(low, high):
        problem, names = hostile_problem(seed)
        for kind, times in taken.items():
            options = dict(problem.options)
            if kind == "default":
                options.pop("n_resamples")
            took, ended = seconds(replace(problem, options=options))
            times.append(took)
            endings[ended.partition(":")[0]] += 1
            if took > limit or ended.startswith("crashed"):
                print(f"{seed} {kind} {took:.1f} s {names} {problem}: {ended:.150}")
                sys.stdout.flush()
    for kind, times in taken.items():
        parts = np.quantile(times, [0.5, 0.9, 0.99, 1.0])
        words = ", ".join(f"{part:.2f}" for part in parts)
        many = np.sum(np.array(times) > MOST)
        print(f"{kind}: median, .9, .99, largest {words} s; {many} above {MOST} s")
    print(dict(endings))


if __name__ == "__main__":
    low, high, *limit = sys.argv[1:]
    main(int(low), int(high), *map(float, limit))
