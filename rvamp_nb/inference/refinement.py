"""Refits of a fit: many by turns of its messages, a few exact, combined with rVAMP.

Chapter 4.4 derives it. `refine` makes resamples at three levels (`Samples`): after a
few turns, settled, and refitted exactly. `level_mean` averages them, `towards_rvamp`
adds rVAMP's own answer, and the numbers at each level follow from their variances and
their work, until every selection probability has the accuracy that is wanted. Work is
counted in multiplications and not measured, since timings would make the answer
depend on the machine. A resample depends on the seed and its number alone.

>>> from rvamp_nb import datasets, refine, rvamp
>>> d = datasets.load_diabetes()
>>> found = refine(rvamp(d.A[:, :10], d.y, lam=60.0), accuracy=0.05)
>>> found
RefinedFit(200 refits (60 to full precision), standard error ≤ 0.025)
>>> [level.shape[0] for level in found.levels]
[400, 200, 60]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack, issparse, vstack
from scipy.special import ndtri
from scipy.stats import t

from ..algorithm.likelihood import Squared
from ..algorithm.problem import NEGLIGIBLE
from ..algorithm.resampling import check_law, drawn
from ..algorithm.solver import Fit
from ..algorithm.step import threads
from ..environment import numpy_errors, progress_bar
from ..sketch import as_page, leading_moments, summary_of
from ..tables.chunked import ChunkedTable
from ..typing import Array, DataFrame, Ints, renamed
from ..validation import check_number, check_seed, check_size
from .baseline import BaselineHazard
from .batch_glm import LONG
from .levels import LevelMean, centred_sums, count_interval, level_mean, towards_rvamp
from .refits import AT_ONCE, SIDE, in_turn, refitter
from .turns import FIRST_LEVEL, DiagonalTurns, ExactByTurns, OneCurvature, Turns

__all__ = [
    "ASKED",
    "A_REFIT",
    "BY_PRODUCTS",
    "COLD",
    "DRAW",
    "DRAWN_AT_ONCE",
    "FEW_SEEN",
    "FIRST",
    "FIRST_ALONE",
    "GROWTH",
    "LEAST_ASKED",
    "LEAST_EXACT",
    "LONG_REFIT",
    "MORE_ALONE",
    "NEWTON_ROW",
    "NUMBER",
    "RefinedFit",
    "SIDE_BY_SIDE",
    "Samples",
    "Shares",
    "TO_REFIT",
    "TO_SETTLE",
    "active_set",
    "any_selected",
    "refine",
    "resamples",
    "work_of_levels",
]

# Below the constants stands what half and twice of size does, by
# tests/bench/constants.py: to the squared error of Π on nine tables with refits, and to
# the 95.5 % of the intervals that hold. Errors are in units of those as it is.

DRAWN_AT_ONCE = 32  # by one generator: to make it takes as long as ten short draws
# half or twice: other draws, as good; no time on five of the tables


def resamples(fit, numbers, seed):
    """Draw the resamples with some numbers, a range of b ints: each depends on (seed,
    number) alone, whatever else is drawn.

    Return two arrays: the counts of the rows, (b, M), and the multipliers of the
    penalties, (b, N), or (b, 1) if they are constant.
    """
    M = len(fit.problem.y)
    N = len(fit.mean)
    # a generator is slow to make: it draws a whole block, of which some may be left out
    size = DRAWN_AT_ONCE if M < LONG else 1
    first_block = numbers.start // size
    last_block = (numbers.stop - 1) // size
    rngs = []
    for k in range(first_block, last_block + 1):
        block_seed = np.random.SeedSequence(seed, spawn_key=(k,))
        rngs.append(np.random.default_rng(block_seed))
    first = first_block * size
    wanted = slice(numbers.start - first, numbers.stop - first)
    counts = drawn("resampling", fit.problem.counts, M, rngs, size)[wanted]
    randomize = fit.prior.randomize
    values, _ = randomize.nodes()
    # a law with one value multiplies all penalties alike, and takes no random numbers
    if len(values) == 1:
        return counts, np.full((len(counts), 1), values[0])
    factor = drawn("randomize", randomize, N, rngs, size)[wanted]
    return counts, factor


SIDE_BY_SIDE = 2**17  # numbers that turn side by side
# half or twice: nothing on five of the tables, and no time
LEAST_EXACT = 60  # refits that are made even if they take too many turns
# half or twice: nothing on nine tables, whose refits settle
FIRST = LEAST_EXACT, 200, 400  # resamples at the three levels, exact first
# half or twice: 1.2 times the error at most; no more or less in the middle
FIRST_ALONE = 200  # where exact ones are all there is
MORE_ALONE = 100  # the same
# half or twice: the same refits in other portions


def active_set(fit):
    """Return the numbers of the columns whose Π is not negligible, (n,) int array, or
    of all columns if these are most of them, or none.
    """
    matters = fit.Pi > NEGLIGIBLE
    # most of the columns would save little, and none could not be fitted
    if 0 < matters.mean() < 0.5:
        return np.flatnonzero(matters)
    return np.arange(len(matters))


def _choose_refit(fit, baseline):
    """Return the function that refits resamples exactly: `refitter` where it knows loss
    and penalty, or else turns until nothing moves. A ValueError if neither can.
    """
    try:
        return refitter(fit, baseline)
    except ValueError:
        if not fit.converged or baseline is not None:
            raise
        return ExactByTurns(fit)


def _choose_turns(fit, columns, baseline):
    """Return what makes cheap resamples of some columns, (n,) ints; None for a fit
    without a fixed point, from which turns begin.
    """
    if not fit.converged:
        return None
    if fit.last.coupled is None:  # by diagonal steps
        return DiagonalTurns(fit, columns)
    if len(fit.problem.y) >= LONG:
        return OneCurvature(fit, columns)
    return Turns(fit, columns, baseline=baseline)


def _batches(start, stop, size):
    """Yield ranges of at most `size` numbers from start to stop."""
    for first in range(start, stop, size):
        yield range(first, min(first + size, stop))


class Samples:
    """Coefficients of resamples of a fit at three levels of precision.

    `few`, (n_1, N + 1), are made by a few turns of the fit's messages, `settled`, (n_2,
    N + 1), by turns until they settle, and `exact`, (n_3, N + 1), by exact refits; n_1
    >= n_2 >= n_3. Row b of all three is resample b. Each is sparse, with the intercept
    last, or 0. Rows of `exact` are nan where a refit did not converge.

    `kept` are the numbers of the columns whose coefficients turns compute; those of all
    others are 0 in `few` and `settled`. With many rows, `long`, these two are the same:
    one curvature of the loss stands for all resamples. A fit without a fixed point has
    no turns (`turns` is None), and both are empty.
    """

    def __init__(self, fit, analytic, seed, baseline=None):
        """Choose how resamples of a fit are made; make none yet.

        analytic, (3, N), are rVAMP's Π, means and variances, or None if it has none;
        seed is that of `resamples`; with a `BaselineHazard` refits are Cox fits.
        """
        self.fit = fit
        self.seed = seed
        self.N = len(fit.mean)
        self.known = analytic is not None  # whether rVAMP has an answer of its own
        self.analytic = analytic if self.known else np.zeros((3, self.N))
        # whether the fit was made by diagonal steps, which have no matrix to invert
        self.diagonal = fit.converged and fit.last.coupled is None
        self.kept = np.arange(self.N)
        # in diagonal steps columns that are hardly selected cost little, and all stay
        if self.known and not self.diagonal:
            self.kept = active_set(fit)
        self.long = len(fit.problem.y) >= LONG and not self.diagonal
        self.refit = _choose_refit(fit, baseline)
        self.turns = _choose_turns(fit, self.kept, baseline)
        none = csr_array((0, self.N + 1))
        self.few = none
        self.settled = none
        self.exact = none

    @property
    def out_of_turns(self):
        """Return whether refits by turns have used up their turns."""
        return isinstance(self.refit, ExactByTurns) and self.refit.late <= 0

    @property
    def done(self):
        """Count the resamples at each level, exact first."""
        return np.array([x.shape[0] for x in (self.exact, self.settled, self.few)])

    def grow(self, sizes, progress):
        """Make resamples until each level, exact first, has its size, (3,); with
        `progress` show a bar.

        Settled resamples come first: their first turns also belong to `few`, and exact
        refits begin at their coefficients. There are fewer exact ones, but at least
        `LEAST_EXACT`, where refits are made by turns and these are used up.
        """
        n_exact, n_settled, n_few = sizes
        A = self.fit.problem.A
        size = self._batch_size()
        with threads(A):
            if self.turns:
                if self.long:  # one computation makes both levels
                    self.settled = self.few[:n_settled]
                for numbers in _batches(self.settled.shape[0], n_settled, size):
                    self._add_by_turns(numbers, settle=True)
                for numbers in _batches(self.few.shape[0], n_few, size):
                    self._add_by_turns(numbers, settle=False)
            n_now = self.exact.shape[0]
            at_once = size if isinstance(self.refit, ExactByTurns) else SIDE
            for numbers in in_turn(A, range(n_now, n_exact), progress, at_once):
                if self.out_of_turns and numbers.start >= LEAST_EXACT:
                    break
                self._add_exact(numbers)

    def _batch_size(self):
        """Return how many resamples are turned side by side: `SIDE_BY_SIDE` numbers of
        them, but of long rows up to 50 as well, as far as `AT_ONCE` counts allow.
        """
        M = len(self.fit.problem.y)
        at_least = min(50, int(AT_ONCE // M) + 1)
        return max(at_least, SIDE_BY_SIDE // (M + len(self.kept)))

    def _add_by_turns(self, numbers, settle):
        """Make the resamples in numbers, a range, by few turns, and if `settle` also
        settled ones; add them to their levels.
        """
        counts, factor = resamples(self.fit, numbers, self.seed)
        few, settled = self.turns.levels(counts, factor, settle)
        # row b of a level is resample b; those in these places may be there already,
        # and are replaced
        before = self.few[: numbers.start]
        after = self.few[numbers.stop :]
        self.few = vstack([before, self._of_all(few), after], format="csr")
        if settle:
            self.settled = vstack([self.settled, self._of_all(settled)], format="csr")

    def _of_all(self, x):
        """Convert coefficients of the columns kept, (b, n or n + 1), into sparse rows
        of all columns, (b, N + 1).
        """
        stored = (x != 0) & np.isfinite(x)
        row, place = np.nonzero(stored)
        columns = np.append(self.kept, self.N)[place]
        # where the numbers of each row begin among all that are stored, row by row
        begins = np.searchsorted(row, np.arange(len(x) + 1))
        return csr_array((x[stored], columns, begins), shape=(len(x), self.N + 1))

    def _add_exact(self, numbers):
        """Refit the resamples in numbers, a range, exactly, beginning at the settled
        coefficients, and add them to the exact level.
        """
        start = None
        if self.turns:
            start = self.settled[numbers.start : numbers.stop]
        counts, factor = resamples(self.fit, numbers, self.seed)
        x, level = self.refit(counts, factor, start)
        new = hstack([_sparse_of_few(x), csr_array(level[:, None])])
        self.exact = vstack([self.exact, new], format="csr")


def _sparse_of_few(x):
    """Convert coefficients x, (b, N), most columns of which are 0 in all rows, into a
    sparse array: only the others are searched.
    """
    if issparse(x):
        return x
    columns = np.flatnonzero((x != 0).any(0))
    few = csr_array(x[:, columns])
    return csr_array((few.data, columns[few.indices], few.indptr), shape=x.shape)


_REMEDY = "penalise more, or drop columns that repeat others"


def _failed_refits(samples):
    """Return a mask of the exact refits, (n_3,), that have not converged: nan rows."""
    # their sums are nan; `isnan` of a sparse array would be a dense one
    return np.isnan(samples.exact @ np.ones(samples.N + 1))


def _levels_without_failed(samples):
    """Return the coefficients at three levels, sparse (n_k, N + 1), few first, without
    the resamples whose exact refit failed. A ValueError if more than half have.
    """
    failed = _failed_refits(samples)
    n_converged = np.sum(~failed)
    # few that converge are no fair sample of all
    if n_converged < max(3, len(failed) / 2):
        raise ValueError(
            f"refine: {n_converged} of {len(failed)} refits have reached their"
            f" optimality conditions: {_REMEDY}"
        )
    levels = samples.few, samples.settled, samples.exact
    if not samples.turns:  # exact refits are all there is: they are each level
        levels = samples.exact, samples.exact, samples.exact
    if not failed.any():
        return levels
    # row b of each level is resample b
    numbers = np.flatnonzero(failed)
    return [x[np.delete(np.arange(x.shape[0]), numbers)] for x in levels]


def _levels_of(samples):
    """Return the columns that rVAMP keeps or a refit selects, (n,), and the three
    levels of these columns, sparse, few first. The intercept, last, is none of them.
    """
    levels = _levels_without_failed(samples)
    _, _, exact = levels
    new = np.setdiff1d(exact[:, :-1].indices, samples.kept)
    columns = np.append(samples.kept, new)
    return columns, [x.tocsc()[:, columns] for x in levels]


ASKED = 0.6  # over accuracy^2: plain refits that the answer shall be worth
# half: 1.6 times the error in .6 of the time; twice: .6 of the error in 1.8 of the time
LEAST_ASKED = 0.25  # features at 1/2: of few in doubt less is asked
# half or twice: nothing on nine tables


class Shares(NamedTuple):
    """Π of n columns, by resamples and rVAMP."""

    columns: np.ndarray  # (n,) numbers
    Pi: np.ndarray  # (n,)
    square_error: np.ndarray  # (n,), that of Pi
    alone: LevelMean  # Π without rVAMP

    def short(self, accuracy):
        """Compute by which factor the squared errors are too large for an accuracy; at
        most 1 when it is reached.

        It is reached when the worst Π has a standard error of `accuracy` at most, and
        all together are worth `ASKED` / accuracy² plain refits, of which each has the
        squared errors Π (1 - Π).
        """
        variance_of_one = max(np.sum(self.Pi * (1 - self.Pi)), LEAST_ASKED / 4)
        of_all = self.square_error.sum() / (variance_of_one / ASKED)
        return max(of_all, self.square_error.max()) / accuracy**2


def _estimate_shares(samples):
    """Compute the `Shares` of the resamples made so far.

    Each level is 1 where a resample selects a column, otherwise 0: `few`, (n_1, n),
    after a few turns; `settled`, (n_2, n), after many; `exact`, (n_3, n), in exact
    refits; n_1 >= n_2 >= n_3. `level_mean` corrects the mean of the first, cheapest
    level by the mean differences from each level to the next, on the resamples that
    both have (`three-levels`). rVAMP's Π is combined with the result if there is one
    (`own-answer`).
    """
    columns, levels = _levels_of(samples)
    # 1 for a selected column, of which a sparse array stores the coefficient
    few, settled, exact = (x.astype(bool).astype(float) for x in levels)
    n_settled = settled.shape[0]
    rvamp_Pi = samples.analytic[0, columns]
    share = _count_stored(settled) / n_settled
    if samples.known:
        share = (share + rvamp_Pi) / 2
    variance = _variance_of_one(share, n_settled)
    alone = level_mean(few, settled, exact, variance)
    Pi = alone.value.copy()
    square_error = alone.square_error.copy()
    # with the Π of diagonal steps 85 to 93 % of intervals held, without 93 to 98 %
    if samples.known and not samples.diagonal:
        # rVAMP's error is estimated separately for frequent and for rare features
        is_frequent = share > 0.5
        for group in (is_frequent, ~is_frequent):
            Pi[group], square_error[group] = towards_rvamp(
                Pi[group],
                square_error[group],
                rvamp_Pi[group],
                variance[group],
                settled.astype(bool)[:, group].toarray(),
            )
    return Shares(columns, np.clip(Pi, 0, 1), square_error, alone)


def _count_stored(x):
    """Count the stored numbers of each column of a sparse array by columns, (n,)."""
    return np.diff(x.indptr)


def _variance_of_one(share, n):
    """Compute the variance, (k,), of whether a resample selects, from shares of n
    resamples, (k,): above 0 also where none or all of them select.
    """
    return np.maximum(share * (1 - share), 0.5 / n)


def any_selected(levels, families):
    """Estimate the share of resamples that select any column of each family.

    levels : coefficients of resamples at three levels, sparse (n_1, N) to (n_3, N),
    `few` first (`Samples`)
    families : k lists of columns

    Return the shares, (k,), in [0, 1], and their standard errors, (k,): the
    `level_mean` of values that are 1 where a resample selects any column of a family,
    and else 0.
    """
    levels = [x.tocsc().astype(bool) for x in levels]
    # products, since a sum of a sparse array is a matrix in older versions of SciPy
    selected = np.flatnonzero(np.ones(levels[0].shape[0]) @ levels[0])
    indicators = []
    for x in levels:
        hits = [x[:, family] @ np.ones(len(family)) > 0 for family in families]
        # `level_mean` finds its slopes by all it is given, and families may be rare:
        # single columns are given, too
        hits.append(x[:, selected].toarray())
        indicators.append(1.0 * np.column_stack(hits))
    few, settled, exact = indicators
    variance = _variance_of_one(settled.mean(0), len(settled))
    average = level_mean(few, settled, exact, variance)
    n_families = len(families)
    shares = np.clip(average.value[:n_families], 0, 1)
    return shares, np.sqrt(average.square_error[:n_families])


FEW_SEEN = 3  # of a coefficient that fewer resamples select rVAMP's moments are taken
# as it is, 95.9 % of the intervals of means and 94.5 % of those of variances hold on
# five of the tables; half (1): 89 and 86 %; twice: 96.1 and 94.9 %


class _RefitMoments(NamedTuple):
    """Means and variances of n coefficients across resamples."""

    values: np.ndarray  # (2, n): means, and variances
    errors: np.ndarray  # (2, n): their standard errors


def _refit_moments(levels, analytic_var):
    """Estimate the `_RefitMoments` of coefficients x across resamples, from three
    levels of resamples, sparse (n_1, n) to (n_3, n), few first. analytic_var, (n,), is
    rVAMP's variance.

    `level_mean` wants values with a variance that is known roughly. So it averages

        z = (x - center) / scale,  of variance 1, about, and
        z² / square_sd,            of variance 1, about.

    Then the mean is center + scale mean(z), and the variance scale² (mean(z²) -
    mean(z)²). For the normal distribution a square z² has the variance 2; for a
    coefficient that is not 0 in a share Π of the resamples it is about 3 / Π.
    """
    few, settled, exact = levels
    n = settled.shape[0]
    n_selected = _count_stored(settled)
    center, _, squares, _, _ = centred_sums(settled, settled)
    settled_var = squares / n
    # where a variance is below 1e-15 of the mean's square, no digit of it is right
    candidates = [settled_var, analytic_var, 1e-15 * center**2]
    # never 0; the fourth power of 1e-75 is still a number
    scale = np.sqrt(np.max(candidates, axis=0)) + 1e-75
    share = np.maximum(n_selected / n, 1e-3)  # a hint, also where few or none select
    square_var = 3 / share
    square_sd = square_var**0.5

    # `level_mean` calls these for a slice of the columns: all would not fit into memory
    def standardise(x, columns):
        return (x[:, columns].toarray() - center[columns]) / scale[columns]

    def standardise_squares(x, columns):
        return standardise(x, columns) ** 2 / square_sd[columns]

    ones = np.ones(len(scale))
    mean = level_mean(few, settled, exact, ones, standardise)
    square = level_mean(few, settled, exact, ones, standardise_squares)
    # variance and errors are in units of the scale, until the end
    var = square.value * square_sd - mean.value**2
    # noise may leave a variance below 0: then that of settled resamples alone
    var = np.where(var > 0, var, settled_var / scale**2)
    errors = np.sqrt([mean.square_error, square.square_error * square_var])
    # the spread of few selections is itself uncertain: the 95 % interval is as wide as
    # by Student's t
    errors *= t.ppf(0.975, np.maximum(n_selected, FEW_SEEN) - 1) / ndtri(0.975)
    # back in the units of the coefficients
    return _RefitMoments(
        values=np.array([mean.value * scale + center, var * scale**2]),
        errors=errors * np.array([scale, scale**2]),
    )


def _moments_of_columns(samples):
    """Return the `_RefitMoments` of the n columns of `_levels_of`: by resamples, or
    rVAMP's where fewer than `FEW_SEEN` settled resamples select the column. Without an
    answer of rVAMP all moments are by resamples.

    By how much rVAMP's moments are off is not known. Their size stands in the place of
    their errors: an error of 100 %.
    """
    columns, levels = _levels_of(samples)
    # `samples.analytic`, (3, N), has rows for Π, mean and variance
    _, mean, var = samples.analytic[:, columns]
    values = np.array([mean, var])
    errors = np.abs(values)
    _, settled, _ = levels
    by_resamples = _count_stored(settled) >= FEW_SEEN
    if not samples.known:
        by_resamples[:] = True
    if by_resamples.any():
        levels = [x[:, by_resamples] for x in levels]
        refitted = _refit_moments(levels, var[by_resamples])
        values[:, by_resamples] = refitted.values
        errors[:, by_resamples] = refitted.errors
    return _RefitMoments(values, errors)


# prices, in multiplications of a product of matrices
DRAW = 600_000  # a draw that is kept
NUMBER = 120  # a number that is looked at
NEWTON_ROW = 800  # a row that bends
A_REFIT = 2_000_000  # a refit, beside its turns
TO_SETTLE = 25  # turns that cost as much as settling
TO_REFIT = 30  # as a refit that begins there
COLD = 150  # as a refit that does not
BY_PRODUCTS = 40_000_000  # a refit from products of a few columns, beside a turn
LONG_REFIT = 10.0  # times a resample with one curvature
# Half or twice, the errors on nine tables move by 7 % in the middle; at most, up to 1.7
# for settling and 1.2 for the others. With COLD a chunked table takes 4 % fewer or 5 %
# more resamples, with LONG_REFIT one of 5,500 rows .7 and 1.2 of the time.


def work_of_levels(samples):
    """Estimate the work of one resample at each level, exact first, (3,).

    Only the ratios are used. With many rows (`Samples.long`) the work is relative to
    that of a resample with one curvature. Else it is in multiplications: a resample of
    `few` takes `FIRST_LEVEL` turns and a draw of its counts; one that settles, as much
    as `TO_SETTLE` turns more; an exact refit, a draw, the refit's own price and as much
    as a number of turns, by where it begins.
    """
    if samples.long:
        return np.array([LONG_REFIT, 1.0, 1.0])
    turn = _work_of_turn(samples)
    if samples.diagonal:  # on products of the few columns that may be selected
        exact = BY_PRODUCTS + turn
    elif isinstance(samples.fit.problem.A, ChunkedTable):
        # begins at 0, in the columns of the settled coefficients
        exact = A_REFIT + COLD * turn
    else:  # begins at the settled coefficients
        exact = A_REFIT + TO_REFIT * turn
    return np.array([DRAW + exact, TO_SETTLE * turn, DRAW + FIRST_LEVEL * turn])


def _work_of_turn(samples):
    """Estimate the work of one turn of a resample, in multiplications: its products
    with the table, a price for each number, and one for each row of a loss that bends.
    """
    coupling = samples.turns.one_coupling
    M, n = coupling.A.shape
    if samples.diagonal:  # a sparse table: once by A and once by its transpose
        in_products = 2 * coupling.A.S.nnz
    else:  # `FrozenCoupling`: by the inverse, (k, k), and by A, once more if narrow
        k = coupling.inverse.shape[0]
        passes = 2 if coupling.wide else 3
        in_products = passes * M * n + k * k
    turn = in_products + NUMBER * (M + n)
    if not isinstance(samples.turns.factors.loss, Squared):
        turn += NEWTON_ROW * M
    return turn


GROWTH = 4  # at most so many times more at once
# half: 1.5 times the error on one table, 1.03 in the middle; twice: 1.1 at most


def _growth_needed(samples, shares, accuracy, families):
    """Estimate by which factor refits must grow to reach an accuracy, that of families
    of columns included; 0 if no more can be made, infinite without an accuracy.
    """
    if samples.out_of_turns:
        return 0.0
    if not accuracy:
        return np.inf
    short = shares.short(accuracy)
    if len(families):
        _, error = any_selected(_levels_without_failed(samples), families)
        short = max(short, (error.max() / accuracy) ** 2)
    return short


def _best_proportions(samples, variances):
    """Compute the proportions of the numbers of resamples at the three levels, exact
    first, (3,), that reach an error with the least work, from the variance that one
    resample contributes at each, (3,).

    The error is sum(variance / size) and the work sum(work size): a size is
    proportional to the root of variance over work.
    """
    at_least = 1e-3 * variances.sum() + 1e-12
    proportions = np.sqrt(np.maximum(variances, at_least))
    proportions /= np.sqrt(work_of_levels(samples))
    exact, settled, few = proportions
    if samples.long:  # `settled` and `few` are the same
        settled = max(settled, few)
    # a level has no more resamples than a cheaper one
    settled = min(settled, few)
    return np.array([min(exact, settled), settled, few])


def _next_sizes(samples, shares, short, most):
    """Return the next number of resamples at each level, exact first, (3,).

    `short` is the factor by which the squared error of the `Shares` is to fall, and
    these numbers are those with the least work. Each is at most `GROWTH` times that of
    now, and at most `most`, (3,). At one level at least there are more than now.

    With sizes n_1, n_2, n_3 the squared error is v_1 / n_1 + v_2 / n_2 + v_3 / n_3.
    The best sizes are proportional to p_1, p_2, p_3 (`_best_proportions`). Multiplied
    by `same_error` the proportions have the squared error of now; multiplied by short
    times as much, an error that is smaller by the factor `short`.
    """
    done = samples.done
    if not samples.turns:
        return done + [MORE_ALONE, 0, 0]
    variances = shares.alone.parts
    proportions = _best_proportions(samples, variances)
    error_now = max(np.sum(variances / done), 1e-300)
    same_error = np.sum(variances / proportions) / error_now
    # 5 % more than is short, as the error is an estimate: another round costs more
    growth = min(1.05 * short, GROWTH)
    wanted = proportions * (same_error * growth)
    sizes = np.maximum(done, np.minimum(wanted, GROWTH * done)).astype(int)
    # no level has fewer than the one before, which holds some of the same resamples
    sizes = np.minimum(np.maximum.accumulate(sizes), most)
    # rounds of less than 2 % would go on for long, and of none for ever
    if (sizes > 1.02 * done).any():
        return sizes
    return np.ceil(done * 1.25).astype(int)


@dataclass(frozen=True, eq=False, repr=False)
class RefinedFit:
    """Hold what refits and rVAMP give together, as `refine` returns it.

    Attributes
    ----------
    Pi, mean, var : (N,) arrays
        Selection probability in [0, 1], mean and variance across resamples.
    Pi_se, mean_se, var_se : (N,) arrays
        Their standard errors.
    n_resamples, n_exact, n_failed : int
        Resamples in `draws`, those of them that were refitted exactly, and those whose
        refit did not reach its optimality conditions, which are left out.
    refit_efficiency, prior_refits : float
        For how many plain refits each of them counts in Pi, and for how many rVAMP's
        Pi (`own-answer`); 0 if that is not used.
    sparse_draws, intercepts : (n_resamples, N) sparse and (n_resamples,) arrays
        Coefficients of each resample, and intercepts (0 where the fit has none).
    interrupted : bool
        Whether ctrl-C ended the refits.
    status : str
        What was reached.
    levels : list of three sparse arrays
        Coefficients of the same resamples after a few turns, settled, and exact, of all
        columns of the fit, (n, N) each, with fewer and fewer rows.
    accuracy : float, or None
        What was asked for.
    names : (N,) array of str, or None
        What the columns of the fit are called.

    See Also
    --------
    refine : Make it.
    Refits : Hold refits alone.

    Examples
    --------
    >>> from rvamp_nb import datasets, refine, rvamp
    >>> d = datasets.load_diabetes()
    >>> found = refine(rvamp(d.A[:, :10], d.y, lam=60.0), accuracy=0.05)
    >>> bool(found.Pi_se.max() <= 0.05)
    True
    """

    Pi: Array
    mean: Array
    var: Array
    Pi_se: Array
    mean_se: Array
    var_se: Array
    n_resamples: int
    n_exact: int
    refit_efficiency: float
    prior_refits: float
    sparse_draws: csc_array
    intercepts: Array
    n_failed: int
    interrupted: bool
    status: str
    levels: list[csc_array]
    accuracy: float | None
    names: np.ndarray | None = None

    @property
    def draws(self) -> Array:
        """Return coefficients of each resample, (n_resamples, N)."""
        return self.sparse_draws.toarray()

    @property
    def equivalent_refits(self) -> float:
        """Estimate how many plain refits would have Pi's standard errors, a float."""
        noise = np.sum(self.Pi * (1 - self.Pi))
        error = np.sum(self.Pi_se**2)
        return float(noise / error) if noise > 0 else np.inf

    def interval(self, level: float = 0.95) -> Array:
        """Find intervals of the selection probabilities: those of Clopper and Pearson
        for the number of plain refits that would have the standard error of each
        (`count-law`).

        Parameters
        ----------
        level : float in (0, 1)
            How often an interval should hold the probability of all resamples.

        Returns
        -------
        (N, 2) array
            Lower and upper ends, in [0, 1].

        Examples
        --------
        >>> from rvamp_nb import datasets, refine, rvamp
        >>> d = datasets.load_diabetes()
        >>> found = refine(rvamp(d.A[:, :10], d.y, lam=60.0), accuracy=0.05)
        >>> found.interval(level=0.9)[2].round(1).tolist()
        [1.0, 1.0]
        """
        level = check_number("interval", "level", level, 0, 1)
        return count_interval(self.Pi, self.Pi_se, level)

    def summary(self) -> "DataFrame":
        """Show the coefficients in a table, a row for each column, by its name or
        number.

        Returns
        -------
        DataFrame of N rows
            The mean and standard deviation across resamples, Pi, and the standard
            errors of mean and Pi.

        Examples
        --------
        >>> from rvamp_nb import datasets, refine, rvamp
        >>> d = datasets.load_diabetes()
        >>> found = refine(rvamp(d.A[:, :10], d.y, lam=60.0), accuracy=0.05)
        >>> print(found.summary()["Pi"][2].round(1))
        1.0
        """
        return summary_of(self, self.names)

    def any_selected(self, families: Sequence[Ints]) -> tuple[Array, Array]:
        """Estimate the shares of resamples that select any column of each family.

        Parameters
        ----------
        families : list of k lists of int
            Columns of the fit.

        Returns
        -------
        shares : (k,) array
            In [0, 1].
        errors : (k,) array
            Their standard errors.

        Examples
        --------
        >>> from rvamp_nb import datasets, refine, rvamp
        >>> d = datasets.load_diabetes()
        >>> found = refine(rvamp(d.A[:, :10], d.y, lam=60.0), accuracy=0.05)
        >>> found.any_selected([[2, 8]])[0].round(1).tolist()
        [1.0]
        """
        return any_selected(self.levels, families)

    def __repr__(self):
        return f"RefinedFit({self.status})"

    def _repr_html_(self):
        state = ("interrupted", "amber") if self.interrupted else ("complete", "green")
        rows, columns = leading_moments(self, self.Pi, self.Pi_se)
        return as_page(self, state, (), rows, columns, self.names)


def _status_of_sizes(samples, n, n_exact, error, accuracy, interrupted):
    """Write the status of a `RefinedFit` of n refits, n_exact of them exact: its
    standard error, how many refits an accuracy would take, and failed refits.
    """
    status = f"{n} refits"
    if n_exact < n:
        status += f" ({n_exact} to full precision)"
    status += f", standard error ≤ {error:.3f}"
    if interrupted:
        status += "; interrupted"
    elif accuracy and error > accuracy:
        status += f"; {accuracy:g} would take some {n * (error / accuracy) ** 2:.0f}"
    n_failed = samples.exact.shape[0] - n_exact
    if n_failed:
        status += f"; {n_failed} more did not arrive and are left out: {_REMEDY}"
    return status


def _moments_of_all(samples, shares):
    """Return Π, means and variances of all columns, (3, N), and their errors, (3, N).
    Columns that no resample selects keep rVAMP's moments, which are their own errors.
    """
    columns = shares.columns
    values = samples.analytic.copy()
    errors = np.abs(samples.analytic)
    values[0, columns] = shares.Pi
    errors[0, columns] = np.sqrt(shares.square_error)
    moments = _moments_of_columns(samples)
    values[1:, columns] = moments.values
    errors[1:, columns] = moments.errors
    if samples.fit.prior.positive:  # differences of levels may leave a mean below 0
        values[1] = np.maximum(values[1], 0)
    return values, errors


def _worth_in_refits(Pi, square_error):
    """Return how many plain refits have the same sum of squared errors of Π, (n,), a
    float: n of them have Π (1 - Π) / n each.
    """
    return np.sum(Pi * (1 - Pi)) / max(square_error.sum(), 1e-300)


def _build_refined(samples, shares, accuracy, interrupted):
    """Build the `RefinedFit` of the resamples made so far and their `Shares`.

    Its draws are one matrix, with the best coefficients that there are of each
    resample; its levels are three, for averages by `level_mean`.
    """
    N = samples.N
    failed = _failed_refits(samples)
    # exact ones first, then the settled ones of later resamples
    exact = samples.exact[~failed]
    draws = vstack([exact, samples.settled[len(failed) :]], format="csc")
    n = draws.shape[0]
    n_exact = exact.shape[0]
    values, errors = _moments_of_all(samples, shares)
    Pi, mean, var = values
    Pi_se, mean_se, var_se = errors
    by_refits = _worth_in_refits(shares.Pi, shares.alone.square_error)
    with_rvamp = _worth_in_refits(shares.Pi, shares.square_error)
    error = Pi_se.max()
    return RefinedFit(
        Pi=Pi,
        mean=mean,
        var=var,
        Pi_se=Pi_se,
        mean_se=mean_se,
        var_se=var_se,
        n_resamples=n,
        n_exact=n_exact,
        refit_efficiency=by_refits / n,
        prior_refits=max(with_rvamp - by_refits, 0.0),
        sparse_draws=draws[:, :N],
        intercepts=draws[:, [N]].toarray()[:, 0],
        n_failed=len(failed) - n_exact,
        interrupted=interrupted,
        status=_status_of_sizes(samples, n, n_exact, error, accuracy, interrupted),
        levels=[x.tocsc()[:, :N] for x in _levels_without_failed(samples)],
        accuracy=accuracy,
        names=samples.fit.names,
    )


def _start_samples(fit, random_state, baseline):
    """Return `Samples` of a `Fit`, still empty; random_state is their seed, and
    `baseline` the `BaselineHazard` of survival times, or None. A TypeError for anything
    but a Fit, a ValueError for a finite beta or a fit that cannot be refitted.
    """
    random_state = check_seed("refine", random_state)
    if not isinstance(fit, Fit):
        raise TypeError(
            "refine: fit must be a Fit, from rvamp (of a fitted selector: take its"
            f" method refine), got {fit!r:.60}"
        )
    beta = fit.problem.beta
    if np.isfinite(beta):
        raise ValueError(f"refine: fit must be at beta = inf, as refits, not {beta:g}")
    check_law("resampling", fit.problem.counts)
    analytic = None  # rVAMP's own answer, (3, N), if there is one
    if fit.converged and fit.selects:
        analytic = np.array([fit.Pi, fit.mean, fit.var])
    return Samples(fit, analytic, random_state, baseline)


def _most_resamples(samples, accuracy, n_resamples):
    """Return the largest number of resamples at each level, exact first, (3,), from a
    number of resamples or an accuracy.
    """
    most = n_resamples
    if n_resamples is None:
        # a selection has variance 1/4 at most; resamples by turns are cheap
        variances = 2 if samples.turns else 0.25
        most = int(np.ceil(variances / accuracy**2))
    if samples.turns:
        return np.array([most, most, 4 * most])
    if n_resamples is None:
        most = max(most, FIRST_ALONE)
    return np.array([most, 0, 0])


@renamed
@numpy_errors(under="ignore")
def refine(
    fit: Fit,
    accuracy: float = 0.02,
    n_resamples: int | None = None,
    random_state: int | None = 0,
    *,
    baseline: BaselineHazard | None = None,
    families: Sequence[Ints] = (),
    verbose: bool = True,
) -> RefinedFit:
    """Refit a few resamples exactly and many by turns of rVAMP's messages, until every
    selection probability has a standard error of `accuracy` at most.

    Both are combined with rVAMP (`three-levels`, `own-answer`). Ctrl-C ends it with
    what there is. See `naive_bootstrap` for exact refits of all resamples: the truth,
    at its price.

    Parameters
    ----------
    fit : Fit
        From `rvamp`; of one that has not converged exact refits are taken alone.
    accuracy : float in (0, 1/2)
        The largest standard error of `Pi`; the refits together also reach the errors of
        0.6 / accuracy^2 plain ones: 1,500 for 0.02, 625 for 0.031. At most 2 /
        accuracy^2 are made; the first portion is worth about 400.
    n_resamples : int >= 10, optional
        So many refits, whatever the accuracy.
    random_state : int >= 0 or None
        Resample b depends on (random_state, b) only; None takes another number in each
        call.
    baseline : BaselineHazard, optional
        That of the fit (`baseline_` of a selector): the exact refits are Cox fits.
    families : list of int arrays
        Sets of columns; the accuracy is also that of the share of resamples that select
        any column of a set.
    verbose : bool
        Show a bar when it takes more than two seconds.

    Returns
    -------
    RefinedFit
        Moments (N,) of refits and rVAMP together, with standard errors.

    Raises
    ------
    TypeError
        For no fit.
    ValueError
        For arguments out of range, and for a loss, penalty or table that cannot be
        refitted.

    See Also
    --------
    rvamp : Make the fit.
    naive_bootstrap : Refit every resample exactly (brute force).
    StabilitySelection.refine : Refit at the reported penalty of a selector.

    Examples
    --------
    >>> from rvamp_nb import datasets, refine, rvamp
    >>> d = datasets.load_diabetes()
    >>> fit = rvamp(d.A[:, :10], d.y, lam=50.0)
    >>> refine(fit, accuracy=0.05).Pi.round(1).tolist()
    [0.1, 0.8, 1.0, 1.0, 0.1, 0.2, 1.0, 0.2, 1.0, 0.5]
    """
    if n_resamples is None:
        accuracy = check_number("refine", "accuracy", accuracy, 1e-6, 0.5)
    else:
        accuracy = None
        n_resamples = check_size("refine", "n_resamples", n_resamples, least=10)
    samples = _start_samples(fit, random_state, baseline)
    most = _most_resamples(samples, accuracy, n_resamples)
    sizes = FIRST if samples.turns else (FIRST_ALONE, 0, 0)
    counted = 1 if samples.turns else 0  # the level that the bar counts
    with progress_bar(total=most[counted], shown=verbose, desc="refits") as bar:
        try:
            while True:
                before = samples.done[counted]
                samples.grow(np.minimum(sizes, most), verbose)
                bar.update(samples.done[counted] - before)
                shares = _estimate_shares(samples)
                short = _growth_needed(samples, shares, accuracy, families)
                if short <= 1 or samples.done[counted] >= most[counted]:
                    break
                sizes = _next_sizes(samples, shares, short, most)
        except KeyboardInterrupt:
            if samples.done[0] < 10:
                raise
            return _build_refined(
                samples, _estimate_shares(samples), accuracy, interrupted=True
            )
    return _build_refined(samples, shares, accuracy, interrupted=False)
