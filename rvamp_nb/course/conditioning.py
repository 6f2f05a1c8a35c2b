"""Condition a fit on the counts of a few rows that make most of its noise.

Chapter 4.6 derives it; laws and weights of the patterns are in `patterns`.
`condition_on_rows` chooses the rows (`row_scores`), solves each pattern from the one
before on the columns that matter (`solve_patterns`), and mixes the fits.

>>> from rvamp_nb import datasets, rvamp
>>> from rvamp_nb.course.conditioning import condition_on_rows
>>> d = datasets.load_diabetes()
>>> fit = rvamp(d.A[:, :10], d.y, lam=60.0)
>>> condition_on_rows(fit, rows=[3]).Pi.round(1).tolist()
[0.1, 0.6, 1.0, 1.0, 0.1, 0.1, 0.9, 0.2, 1.0, 0.4]
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from ..algorithm import clusters
from ..algorithm.cluster_channel import NODES, SOME
from ..algorithm.clusters import put_in_clusters
from ..algorithm.groups import GroupedLoss
from ..algorithm.iteration import Anderson, iterate
from ..algorithm.lmmse import map_chunks
from ..algorithm.messages import coordinates, from_coordinates, take_entries
from ..algorithm.prior import Penalty
from ..algorithm.problem import Breakdown
from ..algorithm.row_blocks import noise_of_groups
from ..algorithm.solver import Fit, check_settled
from ..algorithm.step import WithIntercept, relative_change
from ..environment import numpy_errors
from ..inference.refinement import active_set
from ..tables.chunked import pick_columns, with_ones
from ..typing import Array, Ints
from .patterns import PerRowLoss, patterns, sampling_units

__all__ = [
    "ConditionedFit",
    "MAX_CHOSEN_ROWS",
    "MIN_ROWS",
    "MOST_STEPS",
    "OWNER",
    "PATTERN_TOL",
    "PatternFit",
    "condition_on_rows",
    "moments_of",
    "restrict",
    "row_scores",
    "solve_patterns",
]

PATTERN_TOL = 1.5e-2  # relative change at which a pattern has settled
# Halved and doubled, 120 rows of the breast cancer data take 1.15 and .8 of the time;
# Pi is off by 4e-4 and 1.1e-3 at most, for 1e-3 as it is: what conditioning moves there
# is .03.
MOST_STEPS = 100  # before it is given up
# half or twice: the same Π of nine fits, whose patterns settle in 10 at most


def restrict(fit, columns):
    """Restrict the problem and the messages of a fit to some columns, (n,) ascending
    ints; return a Problem and a State.

    The fit's messages go on from where they were, and its clusters of columns, which
    lie inside `columns`, stay clusters.
    """
    p = fit.problem
    N = len(fit.Pi)
    if len(columns) == N:  # nothing is left out
        return p, fit.messages
    A = pick_columns(p.A, columns)
    prior = fit.prior.of_columns(columns, N)
    in_messages = columns
    if fit.has_intercept:  # in the messages and the table it comes last
        A = with_ones(A)
        prior = WithIntercept(prior, len(columns))
        in_messages = np.append(columns, N)
    # messages to single columns: a cluster is put together below, by its new numbers
    to_prior = take_entries(fit.messages.to_prior.alone(), in_messages)
    state = fit.messages._replace(to_prior=to_prior)
    blocks = [columns.searchsorted(block) for block in fit.column_clusters]
    return put_in_clusters(p._replace(A=A, prior=prior), state, blocks, len(columns))


def _has_settled(step, enough):
    """Return whether a step of the iteration has moved the messages by less than
    `enough`, relative to their size, and its two factors agree as closely.
    """
    before = step.state
    # where nothing is selected the messages to the rows fade for ever, and do not count
    if step.x.rho.max() < 1e-12:
        before = before._replace(to_likelihood=step.new.to_likelihood)
    return max(relative_change(before, step.new, step.u), step.delta) < enough


def _solve_pattern(problem, state, anderson):
    """Iterate a pattern's problem until it settles: from a state, and if that fails
    from the empty model. Return the last step, None without success, and the number of
    steps. `anderson` is as in `_iterate_until_settled`.
    """
    step, n_steps = _iterate_until_settled(problem, state, anderson)
    if step is None:
        step, n_more = _iterate_until_settled(problem, None, anderson)
        n_steps += n_more
    return step, n_steps


def _iterate_until_settled(problem, start, anderson):
    """Iterate from a state, or None for the empty model; return the last step, None if
    it has not settled in `MOST_STEPS` or has broken down, and the number of steps.

    `anderson` accelerates the iterations of all patterns. What it has learned of one
    holds for the next, but after a breakdown it forgets it.
    """
    n_steps = 0
    anderson.pause()  # between two iterations the messages jump
    iteration = iterate(problem, start, anderson=anderson)
    try:
        for step, _, _ in islice(iteration, MOST_STEPS):
            n_steps += 1
            if step and _has_settled(step, PATTERN_TOL):  # None: a failed attempt
                return step, n_steps
    except (Breakdown, np.linalg.LinAlgError):
        anderson.reset()
    return None, n_steps


class PatternFit(NamedTuple):
    """A pattern, solved."""

    weight: float
    chosen: tuple  # which piece of its law the count of each chosen row is in
    fit: Fit | None  # to the kept columns; None where it did not settle


class _WarmStart:
    """Start of the next pattern's iteration, learned from the patterns before.

    A row that comes into the resample moves the messages about as far as it did the
    last time. So a pattern starts where the last solved one ended, plus the move of
    each row that came in since then, less that of each row that left.
    """

    def __init__(self, state, n_rows):
        self.state = state
        self.end = coordinates(state)  # the messages of the last one, as one vector
        self.chosen = None  # (n_rows,) of 0 and 1, of the last one that was solved
        self.moves = np.zeros((n_rows, len(self.end)))  # as each row came in

    def changes(self, chosen):
        """Return 1 for a row that came in since then, -1 for one that left, else 0."""
        if self.chosen is None:
            return np.zeros_like(chosen)
        return np.subtract(chosen, self.chosen)

    def extrapolate(self, chosen):
        """Return the State from which a pattern starts, of chosen pieces (n_rows,)."""
        start = self.end + self.changes(chosen) @ self.moves
        return from_coordinates(start, self.state)

    def learn(self, chosen, state):
        """Take over the State in which the iteration of a pattern has ended."""
        changes = self.changes(chosen)
        end = coordinates(state)
        # several rows may have changed, if a pattern between has no answer: then
        # nobody can tell which of them made the move
        if np.abs(changes).sum() == 1:
            move = np.zeros_like(end)  # and 0 where one of the ends is not finite
            is_finite = np.isfinite(end) & np.isfinite(self.end)
            np.subtract(end, self.end, out=move, where=is_finite)
            self.moves[changes != 0] = move * changes.sum()
        self.end = end
        self.chosen = chosen


def solve_patterns(fit, rows, columns):
    """Fit each pattern of some rows, (K,), on some columns, (n,). Return a list of
    `PatternFit`, and the total number of steps.

    A pattern says of each row whether its count is in the lower or the upper piece of
    its law. Neighbours in the list differ in one row: see `_WarmStart`.
    """
    problem, state = restrict(fit, columns)
    anderson = Anderson(problem.A)
    warm = _WarmStart(state, len(rows))
    fits = []
    n_steps = 0
    for weight, chosen, which, laws in patterns(problem.counts, len(problem.y), rows):
        loss = PerRowLoss(problem.likelihood, which, laws)
        conditioned = problem._replace(likelihood=loss)
        step, n_taken = _solve_pattern(conditioned, warm.extrapolate(chosen), anderson)
        n_steps += n_taken
        part = None
        if step:
            warm.learn(chosen, step.new)
            part = replace(fit, problem=conditioned, last=step, n_iter=n_taken)
        fits.append(PatternFit(weight, chosen, part))
    return fits, n_steps


def moments_of(fit, n, start):
    """Compute Π, mean and mean square of each coefficient of a fit, (3, N).

    Of clusters of columns they are averages over n nodes of a fixed sequence, from
    number `start` on; without clusters n and start are not used.
    """
    if fit.column_clusters:
        return fit.problem.prior.averages(fit.last.state.to_prior, n, start)
    return np.array([fit.Pi, fit.mean, fit.var + fit.mean**2])


def row_scores(fit, columns):
    """Compute the influence of the count of each row on some columns, (n,) int array
    (`score`): (M,), or (G,) for groups of rows.

    Row m makes the part a_mi^2 v_m of the noise of column i, v_m being the variance of
    its message across resamples. Its share s_mi is this part over the sum of column
    i's parts, and its score the sum over i of s_mi^2 Pi_i (1 - Pi_i): a column that is
    always or never selected counts nothing.
    """
    doubt = (fit.Pi * (1 - fit.Pi))[columns]
    if isinstance(fit.problem.likelihood, GroupedLoss):
        parts = noise_of_groups(fit)[:, columns]  # (G, n)
        shares = parts / np.maximum(parts.sum(0), 1e-300)
        return shares**2 @ doubt
    A = pick_columns(fit.problem.A, columns)
    scores = _scores_of_single_rows(A, fit.last.u.var, doubt)
    # rows that are drawn together have the sum of their scores
    unit, _ = sampling_units(fit.problem.counts, len(scores))
    return np.bincount(unit, scores)


def _scores_of_single_rows(A, var, doubt):
    """Compute the `row_scores`, (M,), of rows that are drawn one by one.

    A, (M, n), has the columns in question; var, (M,), are the variances of the rows'
    messages across resamples, and doubt, (n,), is Pi (1 - Pi) of each column. The score
    of row m is

        sum_i s_mi^2 doubt_i,   s_mi = a_mi^2 var_m / noise_i,

    where noise_i is the sum of a_mi^2 var_m over all rows m. So a table in chunks of
    rows is read twice: for the noise, then for the scores.
    """

    # `map_chunks` calls these with a chunk X of rows and their part of var; X[:, :] is
    # an array also where X is a table of another kind. They return two tuples: of
    # arrays to be joined, with a number for each row, and of sums to be added
    def sum_noise(X, var):
        squares = X[:, :] ** 2
        return (), (var @ squares,)

    _, (noise,) = map_chunks(A, sum_noise, (var,))  # (n,)
    weight = doubt / np.maximum(noise, 1e-150) ** 2

    def score_rows(X, var):
        squares = X[:, :] ** 2
        scores = var**2 * (squares**2 @ weight)
        return (scores,), ()

    (scores,), _ = map_chunks(A, score_rows, (var,))
    return scores


@dataclass(frozen=True, repr=False)
class ConditionedFit:
    """Hold a fit in which the counts of a few rows are taken jointly, as
    `condition_on_rows` returns it.

    Attributes
    ----------
    fit : Fit
        As it was.
    Pi, mean, var : (N,) arrays
        Selection probability in [0, 1], mean and variance across resamples.
    rows : (K,) int array
        The rows that were taken (of `Grouped` counts the groups), the most influential
        first.
    columns : (n,) int array
        Those on which the patterns were solved.
    parts : list of Part
        Each pattern's weight, which piece of its law each row's count is in (0: out, 1:
        in), and its fit to these columns.
    steps : int
        Of the iteration, of all patterns.
    left : dict
        What did not settle and stayed as it was: the weight of its patterns.

    See Also
    --------
    condition_on_rows : Make it.
    Fit : The fit as it was.

    Examples
    --------
    >>> from rvamp_nb import datasets, rvamp
    >>> from rvamp_nb.course.conditioning import condition_on_rows
    >>> d = datasets.load_diabetes()
    >>> found = condition_on_rows(rvamp(d.A[:, :10], d.y, lam=60.0), rows=[3, 5])
    >>> [round(float(part.weight), 2) for part in found.parts]
    [0.37, 0.24, 0.15, 0.24]
    """

    fit: Fit
    Pi: Array
    mean: Array
    var: Array
    rows: Ints
    columns: Ints
    parts: list[PatternFit]
    steps: int
    left: dict

    def __repr__(self):
        solved = (
            f"{len(self.parts)} patterns, {self.steps} steps on {len(self.columns)} of"
            f" {len(self.Pi)} columns"
        )
        words = [f"rows {self.rows.tolist()}", solved]
        n = len(self.fit.column_clusters)
        if n:
            words.append("1 block" if n == 1 else f"{n} blocks")
        for what, weight in self.left.items():
            words.append(f"{what} left as it was ({weight:.2g})")
        return f"ConditionedFit({'; '.join(words)})"


MIN_ROWS = 8  # rows, or groups of rows; these have 70 halves, to be enumerated
# half: 6 halves; twice: 12,870
MAX_CHOSEN_ROWS = 8  # rows that are chosen without being named: each doubles the work
# 256 fits; half: 16, twice: 65,536


OWNER = "condition_on_rows"


def _check_can_condition(fit):
    """Refuse a fit that cannot be conditioned: not converged, of a pattern, at a finite
    beta, or under a prior that does not select. A TypeError or ValueError.
    """
    check_settled(OWNER, fit)
    p = fit.problem
    if isinstance(p.likelihood, PerRowLoss):
        raise TypeError(f"{OWNER}: the fit is one of a pattern: give the whole one")
    if np.isfinite(p.beta):
        raise ValueError(f"{OWNER}: beta must be inf, got beta = {p.beta:g}")
    if not isinstance(fit.prior, Penalty) or not fit.selects:
        priors = "Laplace, ElasticNet with an l1_ratio above 0, or NonNegative"
        raise TypeError(
            f"{OWNER}: the prior must select ({priors}), got {type(fit.prior).__name__}"
        )


def _choose_rows(fit, rows, columns):
    """Return the numbers of the rows to condition on, (K,); of groups, under `Grouped`
    counts.

    `rows` is a list of them, or how many: then they are those with the largest
    `row_scores` for some columns, (n,). A ValueError for too few rows in all, rows that
    do not exist, and too many of them.
    """
    unit, _ = sampling_units(fit.problem.counts, len(fit.problem.y))
    n_units = unit.max() + 1
    if n_units < MIN_ROWS:
        raise ValueError(
            f"{OWNER}: {n_units} rows are too few, at least {MIN_ROWS} are needed;"
            " enumerate the resamples (naive_bootstrap)"
        )
    if np.iterable(rows) and not isinstance(rows, str):
        return clusters.check_indices("condition_on_rows: rows", rows, n_units)
    if isinstance(rows, bool) or not isinstance(rows, (int, np.integer)):
        raise ValueError(
            "condition_on_rows: rows must be a whole number or a list of row numbers,"
            f" got {rows!r}"
        )
    if not 0 <= rows <= n_units:
        raise ValueError(f"{OWNER}: rows must lie between 0 and {n_units}, got {rows}")
    if rows > MAX_CHOSEN_ROWS:
        raise ValueError(
            f"condition_on_rows: rows = {rows} are up to {2**rows:,} fits; name the"
            " rows (rows=[...]) if that is meant"
        )
    return np.argsort(-row_scores(fit, columns), kind="stable")[:rows]


def _average_patterns(fit, parts, columns):
    """Average Π, mean and mean square over patterns, (3, N).

    Return them and a dict of the patterns without a fit, which count as the fit without
    conditions: {"pattern (0, 1)": its weight}.
    """
    moments = np.array([fit.Pi, fit.mean, fit.var + fit.mean**2])
    # clusters of columns are averaged over `NODES` nodes. The patterns share them:
    # each takes the next n_nodes of them, `SOME` at least, from number `first` on
    n_nodes = max(NODES // len(parts), SOME)
    mixed = 0.0
    unsolved = {}
    for k, (weight, chosen, part) in enumerate(parts):
        if part is None:
            unsolved[f"pattern {chosen}"] = weight
            mixed += weight * moments[:, columns]
        else:
            first = k * n_nodes % NODES
            mixed += weight * moments_of(part, n_nodes, first)
    moments[:, columns] = mixed  # on other columns patterns do not differ
    return moments, unsolved


@numpy_errors(under="ignore")
def condition_on_rows(fit: Fit, rows: int | Sequence[int] = 4) -> ConditionedFit:
    """Fit each pattern of the counts of a few rows by itself, with the other rows
    averaged over as before, and mix the fits. This `mixture` is for tables in which a
    few rows make most of the noise. Clusters of columns stay clusters.

    Parameters
    ----------
    fit : Fit
        From `rvamp`, converged, at beta = inf, under a prior that selects.
    rows : int, or list of int
        How many, at most 8, or which ones (of `Grouped` counts: groups). K rows are up
        to 2^K fits of some five steps each.

    Returns
    -------
    ConditionedFit
        Moments (N,) across resamples, and the fit of each pattern.

    Raises
    ------
    TypeError, ValueError
        For no fit, one that has not converged, a finite beta, a prior without a
        selection probability, fewer than 8 rows, and rows that are not there.

    See Also
    --------
    refine : Refit, where the answer must be sure.
    Diagnostics : Report whether few rows make most of the noise.

    Examples
    --------
    >>> from rvamp_nb import datasets, rvamp
    >>> from rvamp_nb.course.conditioning import condition_on_rows
    >>> d = datasets.load_diabetes()
    >>> fit = rvamp(d.A[:, :10], d.y, lam=60.0)
    >>> condition_on_rows(fit, rows=2).Pi.round(1).tolist()
    [0.1, 0.6, 1.0, 1.0, 0.1, 0.1, 0.9, 0.2, 1.0, 0.4]
    """
    _check_can_condition(fit)
    # patterns differ on columns that are selected now and then: whole clusters of them
    groups = [active_set(fit), *fit.column_clusters]
    columns = np.unique(np.concatenate(groups))
    rows = _choose_rows(fit, rows, columns)
    parts, steps = solve_patterns(fit, rows, columns)
    moments, left = _average_patterns(fit, parts, columns)
    Pi, mean, mean_square = moments
    var = np.maximum(mean_square - mean**2, 0)  # rounding may take it below 0
    Pi = np.clip(Pi, 0, 1)
    return ConditionedFit(fit, Pi, mean, var, rows, columns, parts, steps, left)
