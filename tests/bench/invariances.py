"""Compare the answers of problems that no model can tell apart.

    python tests/bench/invariances.py LO HI        # seeds LO to HI - 1
    python tests/bench/invariances.py LO HI units  # of invariances whose names hold it

A seed makes a small random problem (losses, options, roles of rows) and changes it in a
way that must not move the answer: units, the order of rows, a row split in two, a
container. A line is printed for each seed whose two answers differ, and at the end how
many were compared. `tests/select/test_invariances.py` runs a few hundred seeds.

To add an invariance, write a function of a generator and a `Problem` that returns a
`Pair`, or None where it does not apply, and decorate it with `@invariance`.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: sums in one order

import re
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from scipy import sparse

import rvamp_nb as rv

LOSSES = "squared", "logistic", "poisson", "huber", "survival", "softmax"
Y_UNITS = "squared", "huber"  # losses of a target that has a unit
TOL = 1e-5  # of the fits
CLOSE = 1e-3  # how far two answers may be apart, of which TOL explains a hundredth
# Rows that are drawn together are averaged over nodes that are exact for polynomials
# (chapter 5.2), rows alone in closed form. A smooth loss was .006 apart at most, by
# nine nodes in each direction .0006; one with a kink .011, whatever the nodes.
BY_NODES, KINKED = 1e-2, 2e-2
# Under Poisson counts who holds half of a risk sees no other's death there (chapter
# 5.3); a part of a row that sees none keeps the risk with which it began.
UNSEEN = 5e-2
# where more rows start the search, which ends this near to q, elsewhere
SEARCHED = 2e-3
REFITS = 40  # where real refits are compared, too
SHARED = 6  # problems of a round, with which its invariances begin: one fit of each


@dataclass(frozen=True)
class Problem:
    """The arguments of a fit."""

    X: object
    y: object
    options: dict = field(default_factory=dict)
    roles: dict = field(default_factory=dict)

    @property
    def loss(self):
        """The name of the loss."""
        return self.options["loss"]

    def with_options(self, **options):
        """Change some options of the estimator."""
        return replace(self, options={**self.options, **options})

    def with_roles(self, **roles):
        """Change some roles of the rows."""
        return replace(self, roles={**self.roles, **roles})

    def take(self, rows):
        """Select rows, by number, with their roles."""
        roles = {name: values[rows] for name, values in self.roles.items()}
        return replace(self, X=self.X[rows], y=self.y[rows], roles=roles)

    def __str__(self):
        options = {k: v for k, v in self.options.items() if k not in _QUIET}
        shape = "x".join(map(str, np.shape(self.X)))
        return f"{shape} {options} {sorted(self.roles)}".replace("\n", "")


_QUIET = dict(verbose=0, n_resamples=0, tol=TOL)


@dataclass(frozen=True)
class Pair:
    """Two problems with one answer."""

    first: Problem
    second: Problem
    undo: object = None  # changes the second answer, a dict, in place
    without: tuple = ()  # fields that may differ
    refits: bool = False  # whether the refits of both draw the same rows
    close: float = CLOSE


INVARIANCES = {}


def invariance(change):
    """Enter a function into the list."""
    INVARIANCES[change.__name__] = change
    return change


def compared(seed, names=None):
    """Make the pair of a seed and compare its answers.

    The invariance is that of the seed's turn; problems of the seed's round are taken
    until it applies. Returns its name, the first problem, what differs (an empty list
    if nothing does), and whether both were refused, or one had used up its work: rows
    in groups take more of it in each step.
    """
    names = names or [*INVARIANCES]
    turn, rng = seed // len(names), np.random.default_rng(seed)
    name, number = names[seed % len(names)], seed % SHARED
    pair = INVARIANCES[name](rng, problem_of(turn, number))
    while pair is None:
        number += SHARED
        pair = INVARIANCES[name](rng, problem_of(turn, number))
    is_shared = pair.first is problem_of(turn, number)
    if pair.refits and rng.random() < 0.15:
        more = dict(n_resamples=REFITS)
        pair = replace(
            pair,
            first=pair.first.with_options(**more),
            second=pair.second.with_options(**more),
        )
        is_shared = False
    first = answer_of(turn, number) if is_shared else answer(pair.first)
    second = answer(pair.second)
    refused = "error" in first and "error" in second
    if _has_used_its_work(first) or _has_used_its_work(second):
        return name, pair, [], True
    if pair.undo is not None and "error" not in second:
        pair.undo(second)
    return name, pair, differences(first, second, pair.without, pair.close), refused


# ---------------------------------------------------------------- random problems


@cache
def problem_of(turn, number):
    """Draw a problem of a round of all invariances."""
    return random_problem(np.random.default_rng([turn, number]))


@cache
def answer_of(turn, number):
    """Fit it once, for all the invariances that begin with it as it is."""
    return answer(problem_of(turn, number))


def random_problem(rng):
    """Draw a small table, a target, and some options and roles that go with them."""
    loss = LOSSES[rng.integers(len(LOSSES))]
    if loss == "softmax" and rng.random() < 0.7:  # ten times as slow as the others
        loss = "squared"
    M, N = int(rng.integers(14, 41)), int(rng.integers(2, 11))
    if loss == "softmax":
        M, N = min(M, 30), min(N, 6)
    X = _random_table(rng, M, N)
    predictor = X[:, 0] - X[:, 1]
    predictor = predictor / predictor.std()
    options = dict(loss=loss, **_QUIET)
    y = _random_target(rng, loss, predictor)
    if loss == "logistic" and min(np.bincount(y.astype(int))) < 4:
        y = (predictor > np.median(predictor)).astype(float)
    problem = Problem(X, y, options)
    problem = _with_random_options(rng, problem)
    return problem if loss == "softmax" else _with_random_roles(rng, problem)


def _random_table(rng, M, N):
    """Normal columns, 0/1 columns, columns with a common factor, or skewed ones."""
    X, kind = rng.normal(size=(M, N)), rng.integers(4)
    if kind == 1:
        X = (X > 0.5).astype(float)
    if kind == 2:
        X = X + 1.5 * rng.normal(size=(M, 1))
    if kind == 3:
        X[:, ::2] = np.exp(X[:, ::2])
    X[0, np.ptp(X, axis=0) == 0] += 1.0  # nothing constant
    X[:2, :2] = [[0.0, 1.0], [1.0, -1.0]]  # a predictor that varies
    return X


def _random_target(rng, loss, predictor):
    """A target of a loss, or the event and times of survival data."""
    M = len(predictor)
    if loss == "squared":
        return predictor + rng.normal(size=M)
    if loss == "huber":
        return predictor + rng.standard_t(2, size=M)
    if loss == "logistic":
        return (predictor + rng.logistic(size=M) > 0).astype(float)
    if loss == "poisson":
        return 1.0 * rng.poisson(np.exp(0.5 * predictor)) + (np.arange(M) == 0)
    if loss == "softmax":
        K = int(rng.integers(2, 4))
        scores = np.column_stack([predictor, -predictor, 0 * predictor])[:, :K]
        y = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
        y[: 3 * K] = np.arange(3 * K) % K
        return y
    time = np.round(rng.exponential(size=M) * np.exp(-0.7 * predictor) + 0.01, 2)
    censored = rng.exponential(2.0, size=M)
    event, time = time <= censored, np.minimum(time, censored)
    event[:5] = True
    if rng.random() < 0.3:
        entry = time * rng.uniform(0, 0.5, size=M) * (rng.random(M) < 0.5)
        return np.column_stack([event, entry, time])
    return np.column_stack([event, time])


def _with_random_options(rng, problem):
    """Some options that go together."""
    N, options = problem.X.shape[1], {}
    plain = problem.loss == "softmax"
    if rng.random() < 0.3:
        options["q"] = float(max(1.0, N * rng.uniform(0.1, 0.4)))
    if rng.random() < 0.15:
        options["resampling"] = "poisson"
    if rng.random() < 0.15:
        options["bound"] = "unimodal"
    if not plain and rng.random() < 0.3:
        factor = rng.choice([0.5, 1.0, 2.0], size=N)
        if N > 3 and rng.random() < 0.5:
            factor[rng.integers(N)] = 0.0
        options["penalty_factor"] = factor
    kind = rng.random()
    if not plain and kind < 0.2:
        options["prior"] = rv.ElasticNet(1.0, l1_ratio=0.6)
    elif not plain and kind < 0.3:
        options["column_groups"] = [f"g{i // 2}" for i in range(N)]
    elif not plain and kind < 0.4:
        laws = rv.TwoPoint(2.0, 0.5), rv.Weakness(0.5)
        options["prior"] = rv.Laplace(1.0, laws[rng.integers(2)])
    if "column_groups" in options and "penalty_factor" in options:
        factor = options["penalty_factor"]
        options["penalty_factor"] = factor[np.arange(N) // 2 * 2]  # one for a group
    if "column_groups" in options and options.get("q", 0) >= (N + 1) // 2:
        del options["q"]  # all groups: any penalty that is small enough selects them
    return problem.with_options(**options)


def _with_random_roles(rng, problem):
    """Some roles of the rows that go together."""
    M, roles = len(problem.X), {}
    if rng.random() < 0.25:
        roles["sample_weight"] = rng.choice([0.5, 1.0, 2.0, 3.0], size=M)
    if rng.random() < 0.2:
        roles["offset"] = 0.5 * rng.normal(size=M)
    if rng.random() < 0.2:
        roles["strata"] = np.arange(M) % 2
    if rng.random() < 0.2:
        roles["groups"] = np.arange(M) // 2
        if "strata" in roles:
            roles["strata"] = np.arange(M) // 2 % 2
    return problem.with_roles(**roles)


# ------------------------------------------------------- answers, and how they differ


def answer(problem):
    """Fit, and collect what is reported; or the error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = rv.StabilitySelection(**problem.options)
            fit.fit(problem.X, problem.y, **problem.roles)
    except (TypeError, ValueError) as error:
        return dict(error=f"{type(error).__name__}: {error}")
    except Exception as error:  # a crash is a finding, whatever the other one does
        return dict(error=f"{type(error).__name__}: {error}", crash=True)
    return dict(
        Pi=fit.probabilities_,
        mean=fit.coef_mean_,
        std=fit.coef_std_,
        intercept=fit.intercept_,
        lam=fit.lambda_,
        threshold=fit.threshold_,
        pfer_bound=fit.pfer_bound_,
        stability=fit.stability_,
        reliability=fit.diagnostics_.reliability,
        status=fit.status_,
    )


def _has_used_its_work(found):
    """Whether there is no answer because a fit took more than it may."""
    return "too much work" in found.get("status", "")


def differences(first, second, without=(), close=CLOSE):
    """Name the fields in which two answers differ, a list of texts."""
    for one in (first, second):
        if "crash" in one:
            return [f"crash: {one['error']:.200}"]
    if "error" in first or "error" in second:
        errors = [one.get("error", "an answer") for one in (first, second)]
        kinds = {text.partition(":")[0] for text in errors}
        if any(_is_by_chance(text) for text in errors):
            return []
        return [] if len(kinds) == 1 else [" | ".join(text[:150] for text in errors)]
    found, sizes = [], (first["mean"], first["std"])
    unit = np.max(np.abs(np.nan_to_num(sizes)))
    for name, one in first.items():
        if name in without:
            continue
        other = second[name]
        if isinstance(one, str):
            one, other = (text.partition(":")[0] for text in (one, other))
            if one != other:
                found.append(f"{name} {one} | {other}")
        elif np.shape(one) != np.shape(other):
            found.append(f"{name} of shape {np.shape(one)} | {np.shape(other)}")
        elif not _is_close(name, one, other, close, unit):
            found.append(f"{name} {_worst(one, other)}")
    return found


def _is_by_chance(error):
    """Whether an error counts resamples that are drawn, near its limit of five."""
    seen = re.search(r"in (\d+) of 20 resamples", error)
    return bool(seen) and int(seen[1]) <= 12


def _is_close(name, one, other, close, unit):
    """Whether two arrays agree; what has a unit, beside the largest of them."""
    scale = 1.0
    if name in ("mean", "std"):
        scale = unit
    if name == "lam":
        scale = np.abs(one)
    if name in ("intercept", "pfer_bound"):
        scale = 1.0 + np.max(np.abs(np.nan_to_num(one)))
    return np.allclose(one, other, rtol=0, atol=close * scale + 1e-9, equal_nan=True)


def _worst(one, other):
    """The two numbers that are farthest apart."""
    one, other = np.ravel(one), np.ravel(other)
    gap = np.nan_to_num(np.abs(one - other), nan=np.inf)
    at = np.argmax(np.where(np.isnan(one) & np.isnan(other), 0, gap))
    return f"{one[at]:.5g} | {other[at]:.5g}"


def _multiply_coefficients(factor):
    """The `undo` of columns that were divided by a factor each."""

    def undo(found):
        for name in ("mean", "std"):
            sizes = factor if name == "mean" else np.abs(factor)
            found[name] = (found[name].T * sizes).T

    return undo


# ----------------------------------------------------------- invariances of columns


@invariance
def units_of_columns(rng, problem):
    """Multiply each column by its own power of ten."""
    units = 10.0 ** rng.integers(-30, 31, size=problem.X.shape[1])
    if "column_groups" in problem.options:
        units = np.repeat(units, 2)[: len(units)]  # a group is one measurement
    second = replace(problem, X=problem.X * units)
    return Pair(problem, second, _multiply_coefficients(units), refits=True)


@invariance
def signs_of_columns(rng, problem):
    """Turn some columns round."""
    signs = rng.choice([-1.0, 1.0], size=problem.X.shape[1])
    second = replace(problem, X=problem.X * signs)
    return Pair(problem, second, _multiply_coefficients(signs), refits=True)


@invariance
def means_of_columns(rng, problem):
    """Add a number to each column; the intercept takes it up."""
    shift = rng.integers(-30, 31, size=problem.X.shape[1])
    second = replace(problem, X=problem.X + shift)
    return Pair(problem, second, without=("intercept",), refits=True)


@invariance
def order_of_columns(rng, problem):
    """Shuffle the columns, with their factors and groups."""
    order = rng.permutation(problem.X.shape[1])
    options = dict(problem.options)
    for name in ("penalty_factor", "column_groups"):
        if name in options:
            options[name] = [options[name][i] for i in order]
    back = np.argsort(order)

    def undo(found):
        for name in ("Pi", "mean", "std"):
            found[name] = found[name][back]

    return Pair(problem, replace(problem, X=problem.X[:, order], options=options), undo)


@invariance
def constant_column(rng, problem):
    """Add a column that does not vary."""
    options = dict(problem.options)
    if "penalty_factor" in options:
        options["penalty_factor"] = [*options["penalty_factor"], 1.0]
    if "column_groups" in options:
        options["column_groups"] = [*options["column_groups"], "constant"]

    def undo(found):
        for name in ("Pi", "mean", "std"):
            found[name] = found[name][:-1]

    X = np.column_stack([problem.X, np.full(len(problem.X), 7.0)])
    return Pair(problem, replace(problem, X=X, options=options), undo)


@invariance
def covariate_added_to_columns(rng, problem):
    """Add multiples of an unpenalised column to all others."""
    if problem.loss == "softmax" or problem.X.shape[1] < 4:
        return None
    kept = problem.X.shape[1] - 1
    options = dict(problem.options)
    factor = np.array(options.get("penalty_factor", np.ones(kept + 1)), dtype=float)
    factor[kept] = 0.0
    if "column_groups" in options:
        options["column_groups"] = [*options["column_groups"][:kept], "kept"]
    first = replace(problem, options={**options, "penalty_factor": factor})
    times = rng.integers(-3, 4, size=kept + 1)
    times[kept] = 0
    X = problem.X + np.outer(problem.X[:, kept], times)

    def undo(found):
        found["mean"][kept] += found["mean"] @ times

    return Pair(first, replace(first, X=X), undo, without=("std",))


@invariance
def stratum_added_to_columns(rng, problem):
    """Add a number for each stratum to columns of a stratified Cox model."""
    if problem.loss != "survival":
        return None
    if "strata" not in problem.roles:
        per = 2 if "groups" in problem.roles else 1
        problem = problem.with_roles(strata=np.arange(len(problem.X)) // per % 2)
    size = (2, problem.X.shape[1])
    shift = rng.integers(-5, 6, size=size) * (rng.random(size) < 0.5)
    second = replace(problem, X=problem.X + shift[problem.roles["strata"]])
    return Pair(problem, second, without=("intercept",))


# ---------------------------------------------------- invariances of groups of columns


@invariance
def groups_of_one_column(rng, problem):
    """Put each column into a group of its own."""
    taken = "column_groups", "prior"
    if problem.loss == "softmax" or any(name in problem.options for name in taken):
        return None
    groups = {f"g{i}": [i] for i in range(problem.X.shape[1])}
    return Pair(problem, problem.with_options(column_groups=groups))


@invariance
def basis_inside_a_group(rng, problem):
    """Replace the columns of each group by combinations of them."""
    if "column_groups" not in problem.options:
        return None
    groups, X = np.array(problem.options["column_groups"]), problem.X.copy()
    for name in np.unique(groups):
        at = np.flatnonzero(groups == name)
        turn = rng.normal(size=(len(at), len(at))) + 2 * np.eye(len(at))
        X[:, at] = X[:, at] @ turn
    return Pair(problem, replace(problem, X=X), without=("mean", "std"))


@invariance
def names_of_groups_of_columns(rng, problem):
    """Say by a dict, in another order, which columns are one group."""
    if "column_groups" not in problem.options:
        return None
    labels = problem.options["column_groups"]
    names = list(dict.fromkeys(labels))
    groups = {
        f"other {name}": [i for i, label in enumerate(labels) if label == name]
        for name in (names[k] for k in rng.permutation(len(names)))
    }
    return Pair(problem, problem.with_options(column_groups=groups))


# --------------------------------------------------------------- invariances of rows


@invariance
def order_of_rows(rng, problem):
    """Shuffle the rows, with their roles."""
    return Pair(problem, problem.take(rng.permutation(len(problem.X))))


@invariance
def rows_of_weight_zero(rng, problem):
    """Add rows that weigh nothing, to groups and strata that are there, and others."""
    if problem.loss == "softmax":
        return None
    M, more = len(problem.X), int(rng.integers(1, 7))
    weight = problem.roles.get("sample_weight", np.ones(M))
    second = problem.take(np.r_[:M, rng.integers(M, size=more)])
    X = second.X.copy()
    X[M:] += rng.normal(size=X[M:].shape)
    second = replace(second, X=X).with_roles(
        sample_weight=np.r_[weight, np.zeros(more)]
    )
    for name in {"groups", "strata"} & {*problem.roles}:
        labels = second.roles[name].copy()
        if rng.random() < 0.5:
            labels[M:] = M + np.arange(more)
        second = second.with_roles(**{name: labels})
    close = _by_nodes(problem) if "groups" in problem.roles else CLOSE
    return Pair(problem, second, close=max(close, SEARCHED))


@invariance
def rows_split_in_two(rng, problem):
    """Split some rows into two of half the weight that are drawn together."""
    if problem.loss == "softmax":
        return None
    M = len(problem.X)
    groups = problem.roles.get("groups", np.arange(M))
    weight = problem.roles.get("sample_weight", np.ones(M))
    first = problem.with_roles(groups=groups, sample_weight=weight)
    cut = rng.random(M) < 0.4
    rows = np.r_[:M, np.flatnonzero(cut)]
    halved = np.where(cut, weight / 2, weight)
    second = first.take(rows).with_roles(sample_weight=halved[rows])
    close = max(_by_nodes(problem), SEARCHED)
    return Pair(first, second, without=("lam",), close=close)


def _by_nodes(problem):
    """How close the answers are where rows that are drawn together are rows alone."""
    if problem.loss == "squared":
        return CLOSE
    return KINKED if problem.loss == "huber" else BY_NODES


@invariance
def weights_as_repeats(rng, problem):
    """Repeat rows that are drawn together in place of a weight of two."""
    if problem.loss == "softmax":
        return None
    M = len(problem.X)
    groups = problem.roles.get("groups", np.arange(M))
    weight = problem.roles.get("sample_weight", np.ones(M))
    twice = rng.random(M) < 0.4
    rows = np.r_[:M, np.flatnonzero(twice)]
    doubled = np.where(twice, 2.0, 1.0) * weight
    first = problem.with_roles(groups=groups, sample_weight=doubled)
    second = problem.with_roles(groups=groups).take(rows)
    return Pair(first, second, without=("lam",), close=_by_nodes(problem))


@invariance
def size_of_weights(rng, problem):
    """Multiply all weights by one number."""
    if problem.loss == "softmax":
        return None
    weight = problem.roles.get("sample_weight", np.ones(len(problem.X)))
    unit = 10.0 ** rng.integers(-30, 31)
    return Pair(problem, problem.with_roles(sample_weight=weight * unit), refits=True)


@invariance
def one_stratum(rng, problem):
    """Put all rows into one stratum."""
    if "strata" in problem.roles:
        return None
    second = problem.with_roles(strata=np.full(len(problem.X), "all"))
    return Pair(problem, second)


@invariance
def groups_of_one_row(rng, problem):
    """Draw each row as a group of its own."""
    if "groups" in problem.roles or problem.loss == "softmax":
        return None
    names = np.array([f"row {k}" for k in range(len(problem.X))])
    return Pair(problem, problem.with_roles(groups=rng.permutation(names)))


@invariance
def labels_of_rows(rng, problem):
    """Call groups and strata by other names."""
    labelled = {"groups", "strata"} & {*problem.roles}
    if not labelled:
        return None
    roles = {}
    for name in labelled:
        labels, index = np.unique(problem.roles[name], return_inverse=True)
        roles[name] = np.array([f"{k:03d}" for k in rng.permutation(len(labels))])[
            index
        ]
    return Pair(problem, problem.with_roles(**roles))


@invariance
def trials_as_rows(rng, problem):
    """Count successes among trials in place of rows of 0 and 1 drawn together."""
    if problem.loss != "logistic" or "groups" in problem.roles:
        return None
    trials = rng.integers(1, 4, size=len(problem.X))
    trials[:4] = 2
    successes = rng.binomial(trials, 0.2 + 0.6 * problem.y)
    successes[:4] = 0, 2, 1, 0
    first = replace(problem, y=successes).with_roles(n_trials=trials)
    rows = np.repeat(np.arange(len(trials)), trials)
    place = np.concatenate([np.arange(n) for n in trials])
    second = problem.with_roles(groups=np.arange(len(trials))).take(rows)
    second = replace(second, y=1.0 * (place < successes[rows]))
    return Pair(first, second, without=("lam",), close=BY_NODES)


# ------------------------------------------------------- invariances of the target


@invariance
def unit_of_the_target(rng, problem):
    """Multiply y, and its offset, by a number."""
    if problem.loss not in Y_UNITS:
        return None
    net = isinstance(problem.options.get("prior"), rv.ElasticNet)
    most = 9 if net else 20  # a square part is lost beyond
    unit = 10.0 ** rng.integers(-20, most + 1)
    second = replace(problem, y=problem.y * unit)
    if "offset" in problem.roles:
        second = second.with_roles(offset=problem.roles["offset"] * unit)

    def undo(found):
        for name in ("mean", "std", "intercept", "lam"):
            found[name] = found[name] / unit

    return Pair(problem, second, undo, refits=True)


@invariance
def mean_of_the_target(rng, problem):
    """Add a number to y."""
    if problem.loss not in Y_UNITS:
        return None
    shift = float(rng.integers(-50, 51))

    def undo(found):
        found["intercept"] -= shift

    return Pair(problem, replace(problem, y=problem.y + shift), undo, refits=True)


@invariance
def mean_of_the_offset(rng, problem):
    """Add a number to the offset."""
    if problem.loss == "softmax":
        return None
    offset = problem.roles.get("offset", np.zeros(len(problem.X)))
    shift = float(rng.integers(-3, 4))

    def undo(found):
        found["intercept"] += shift

    return Pair(problem, problem.with_roles(offset=offset + shift), undo)


@invariance
def names_of_the_classes(rng, problem):
    """Swap two classes, or shuffle three."""
    if problem.loss == "logistic":
        second = replace(problem, y=1 - problem.y)
        if "offset" in problem.roles:
            second = second.with_roles(offset=-problem.roles["offset"])

        def undo(found):
            found["mean"], found["intercept"] = -found["mean"], -found["intercept"]

        return Pair(problem, second, undo)
    if problem.loss != "softmax":
        return None
    order = rng.permutation(len(np.unique(problem.y)))

    def reorder(found):
        for name in ("mean", "std"):
            found[name] = found[name][:, order]
        found["intercept"] = found["intercept"][order]

    return Pair(problem, replace(problem, y=order[problem.y]), reorder)


@invariance
def two_classes_by_softmax(rng, problem):
    """Take two classes by the loss of several."""
    taken = {*problem.options} & {"penalty_factor", "column_groups", "prior"}
    if problem.loss != "logistic" or taken or {*problem.roles} - {"strata"}:
        return None
    if min(np.bincount(problem.y.astype(int))) < 9:
        return None  # softmax refuses classes that resamples miss
    second = replace(problem, y=problem.y.astype(int)).with_options(loss="softmax")
    different = "mean", "std", "intercept", "lam"  # one number each, there two
    return Pair(problem, second, without=different)


@invariance
def scale_of_time(rng, problem):
    """Replace survival times by an increasing function of them."""
    if problem.loss != "survival":
        return None
    y = problem.y.copy()
    y[:, 1:] = y[:, 1:] ** 2 * 10.0 ** rng.integers(-5, 6)
    return Pair(problem, replace(problem, y=y), refits=True)


@invariance
def entry_at_zero(rng, problem):
    """Say that all rows enter at time zero."""
    if problem.loss != "survival" or problem.y.shape[1] == 3:
        return None
    event, stop = problem.y.T
    y = np.column_stack([event, np.zeros(len(stop)), stop])
    return Pair(problem, replace(problem, y=y))


@invariance
def intervals_cut_in_two(rng, problem):
    """Cut times at risk into two intervals that are drawn together."""
    if problem.loss != "survival":
        return None
    M = len(problem.X)
    event, *entry, stop = problem.y.T
    start = entry[0] if entry else np.zeros(M)
    first = problem.with_roles(groups=problem.roles.get("groups", np.arange(M)))
    middle = start + (stop - start) * rng.uniform(0.2, 0.8, size=M)
    early = np.column_stack([np.zeros(M), start, middle])
    late = np.column_stack([event, middle, stop])
    second = replace(first.take(np.r_[:M, :M]), y=np.vstack([early, late]))
    poisson = problem.options.get("resampling") == "poisson"
    close = UNSEEN if poisson else BY_NODES
    # the mean of a column over rows at risk is another, and so is the intercept
    return Pair(first, second, without=("lam", "intercept"), close=close)


# ----------------------------------------------- invariances of how it is said


@invariance
def penalty_said_as_a_prior(rng, problem):
    """Give the default penalty as a prior."""
    taken = "column_groups", "prior"
    if problem.loss == "softmax" or any(name in problem.options for name in taken):
        return None
    return Pair(problem, problem.with_options(prior=rv.Laplace(1.0)), refits=True)


@invariance
def law_said_as_an_object(rng, problem):
    """Give the law of the counts as an object."""
    known = dict(subsample=rv.Subsample(0.5), poisson=rv.Poisson(0.5))
    law = known[problem.options.get("resampling", "subsample")]
    return Pair(problem, problem.with_options(resampling=law), refits=True)


@invariance
def size_of_penalty_factors(rng, problem):
    """Multiply all penalty factors by a number."""
    if problem.loss == "softmax":
        return None
    factor = problem.options.get("penalty_factor", np.ones(problem.X.shape[1]))
    second = problem.with_options(penalty_factor=4.0 * np.array(factor))
    return Pair(problem, second, without=("lam",))


@invariance
def layout_in_memory(rng, problem):
    """Store the columns one after the other, or as a view."""
    layouts = [np.asfortranarray, lambda X: np.repeat(X, 2, axis=1)[:, ::2]]
    X = layouts[rng.integers(2)](np.ascontiguousarray(problem.X))
    return Pair(problem, replace(problem, X=X), refits=True)


@invariance
def container_of_the_table(rng, problem):
    """Give the table as a list, frame, sparse matrix or in chunks."""
    in_memory = problem.loss == "softmax" or "column_groups" in problem.options
    if in_memory or "groups" in problem.roles:
        made = [np.ndarray.tolist, _pandas, _polars, _arrow]
    else:
        made = [np.ndarray.tolist, _pandas, _polars, _arrow, sparse.csr_array]
        made += [sparse.csc_array, sparse.coo_array, rv.tables.ChunkedTable]
    container = made[rng.integers(len(made))]
    try:
        X = container(problem.X)
    except ModuleNotFoundError:
        return None
    exact = container in (np.ndarray.tolist, _pandas, _polars, _arrow)
    return Pair(problem, replace(problem, X=X), refits=exact)


def _by_name(X):
    return {f"x{i}": column for i, column in enumerate(X.T)}


def _pandas(X):
    import pandas

    return pandas.DataFrame(_by_name(X))


def _polars(X):
    import polars

    return polars.DataFrame(_by_name(X))


def _arrow(X):
    import pyarrow

    return pyarrow.table(_by_name(X))


@invariance
def container_of_the_target(rng, problem):
    """Give y and the roles as lists, columns or series."""
    import pandas

    roles = {name: list(values) for name, values in problem.roles.items()}
    if problem.loss == "survival":
        return Pair(problem, replace(problem, y=problem.y.tolist(), roles=roles))
    if rng.random() < 0.5:
        return Pair(problem, replace(problem, y=pandas.Series(problem.y)))
    return Pair(problem, replace(problem, y=problem.y.tolist(), roles=roles))


def main(low, high, words=""):
    """Print the differences of some seeds."""
    names = [name for name in INVARIANCES if words in name]
    counts, start = Counter(), time.process_time()
    for seed in range(low, high):
        before = time.process_time()
        name, pair, found, refused = compared(seed, names)
        took = time.process_time() - before
        counts["compared"] += 1
        counts["refused"] += refused
        if took > 10:
            found = [*found, f"slow: {took:.0f} s"]
        if found:
            counts[name] += 1
            print(f"{seed} {name}: {'; '.join(found)}: {pair.first}", flush=True)
    print(dict(counts), f"{time.process_time() - start:.0f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
