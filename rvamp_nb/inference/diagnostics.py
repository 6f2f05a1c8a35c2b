"""Grade the reliability of a fit: green, amber or red, without a refit.

Chapter 4.5 derives the numbers (`row_shares`, `row_distances`) and shows how the limits
were chosen. `diagnose` collects all signs of trouble, each with a remedy, for the
selection probabilities and for the standard deviations. The grade is that of the worst
sign. `near_duplicate_rows` finds samples that repeat each other.

>>> import numpy as np
>>> from rvamp_nb import datasets, rvamp
>>> from rvamp_nb.inference.diagnostics import diagnose
>>> d = datasets.load_diabetes()
>>> fit = rvamp(d.A[:, :10], d.y, lam=100.0)
>>> print(diagnose(fit, np.arange(10), d.names[:10]))
green: no sign of trouble (varies as with 108 rows, one of which makes 5%)
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform

from ..algorithm.groups import GroupedLoss
from ..algorithm.linalg import mirrored
from ..algorithm.lmmse import half_gram
from ..algorithm.prior import SpikeSlab
from ..algorithm.solver import Fit
from ..sketch import GRADES, graded, rows_of_html
from ..tables.chunked import ChunkedTable, SparseBlock, chunk_axis
from ..tables.standardize import unit_columns
from ..typing import DataFrame, Ints
from ..validation import format_list
from . import row_distances, row_shares
from .row_distances import COLUMNS_SEEN, ROWS_SEEN, ComparedRows
from .row_shares import NoiseSigns

__all__ = [
    "AMBER_OWN",
    "AMBER_ROWS",
    "Diagnostics",
    "FEW_ROWS",
    "GROUP_CORRELATION",
    "GROUP_OWN",
    "RED_OWN",
    "RED_REPEATS",
    "RED_ROWS",
    "RED_SHARE",
    "SLAB_ROWS",
    "SPREAD_FROM_PI",
    "TWIN_CORRELATION",
    "WORST_FIRST",
    "diagnose",
    "near_duplicate_rows",
]

# Set on half of the kinds of tests/bench/light.py. Of its 200 tables 135 have a green
# Π, 7 of these a poor one, worth fewer than 100 refits; 104 have green spreads, 5 of
# these a wrong one. What these numbers become stands below each limit.

FEW_ROWS = (8, 3)  # of a column: amber below the first number, red below the second
# halved: 9 of 127 green spreads wrong; doubled: 4 of 87
TWIN_CORRELATION = 0.98  # amber where a partner is more correlated
# what is missing to 1 halved: 5 of 105 green spreads wrong; doubled: 4 of 93
SPREAD_FROM_PI = 0.1  # the light of the spreads looks at features with a larger Π
# halved: 4 of 99 green spreads wrong; doubled: 9 of 121
AMBER_ROWS, RED_ROWS = 30, 10  # effective rows
# amber halved: 7 of 149 green Π poor, doubled: 5 of 87; red halved: the same 20 tables
# red, 11 of them rightly, doubled: 32, and no more of them rightly
RED_SHARE = 0.25  # of one row in all of the noise
# halved: 33 tables red, 11 of them rightly; doubled: 18, 8 of 108 green spreads wrong
AMBER_OWN, RED_OWN = 0.25, 0.4  # of one row in the noise of a single feature
# amber halved: 4 of 87 green Π poor, doubled: 10 of 153; red halved: 67 tables red, 14
# of them rightly, doubled: 6, 3 of them rightly
SLAB_ROWS = 15  # effective rows under a spike and a slab: red below
# 3 of 188 others have a spread that is off by more than a factor of two; halved: 38 of
# 441, doubled: none of 18
GROUP_OWN = 0.125  # of one row in the noise of a group: amber above (chapter 5.8)
# none of 61 green tables has a Π off by .05; halved: none of 29, doubled: 6 of 76
GROUP_CORRELATION = 0.7  # of two groups of columns, canonical: amber above
# what is missing to 1 halved: 10 of 109 green tables are off, doubled: none of 29
RED_REPEATS = 0.1  # the share of the rows that repeat another one
# halved or doubled: tables with a share of .05 to .2 change from amber to red, or back
WORST_FIRST = ("red", "amber")  # the worst first; else green


class Diagnostics(NamedTuple):
    """Report how reliable the answer at the reported penalty is, for selection
    probabilities Π and for standard deviations, and by which signs.

    This costs no refit. Of small tables of kinds that had no say in the limits, none of
    70 with a green `reliability` had a badly wrong Π, and 3 of 60 with a green
    `spread_reliability` a variance that is off by more than a factor of two. Where
    columns are selected in groups, green means more: no Π is off by more than 0.05.

    Attributes
    ----------
    reliability, spread_reliability : "green", "amber" or "red"
        For Π, and for the standard deviations of the features with Π above 0.1.
    reasons, spread_reasons : tuples of str
        The signs of trouble, and what to do, in words; empty when green.
    effective_rows : float >= 1
        1 / sum of the squared row shares (`noise-share`); amber below 30, red below 10.
    largest_share, largest_row : float in [0, 1], int
        The row that makes most of the noise, and its share; red above 0.25. Where whole
        groups are drawn (`Grouped`), groups stand in the place of rows, by their number
        among the sorted labels. nan and -1 if nothing converged.
    largest_single_share : float in [0, 1]
        What one row makes of a single feature's noise (`own-share`); amber above 0.25,
        red above 0.4. Of groups of columns alone: amber above 0.125.
    duplicates, repeated : lists of int arrays
        Groups of columns that are equal up to sign; groups of rows that look like
        repeated samples of one unit.
    fit, unit : Fit, str
        The fit in question, and what is drawn and counted above, "row" or "group".

    See Also
    --------
    ReliabilityWarning : Warn of what is not green.
    refine : Make refits.

    Examples
    --------
    >>> from rvamp_nb import StabilitySelection, datasets
    >>> d = datasets.load_diabetes()
    >>> found = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y).diagnostics_
    >>> found.reliability, found.reasons, round(found.effective_rows)
    ('green', (), 102)
    """

    reliability: str
    effective_rows: float
    largest_share: float
    largest_row: int
    duplicates: Sequence[Ints]
    reasons: tuple[str, ...]
    repeated: Sequence[Ints] = ()
    largest_single_share: float = np.nan
    spread_reliability: str = "red"
    spread_reasons: tuple[str, ...] = ()
    fit: Fit | None = None
    unit: str = "row"

    def __str__(self):
        return f"{self.reliability}: {self._describe()}"

    def _describe(self):
        """Write why Π has its grade, and how many rows it seems to vary with."""
        text = "; ".join(self.reasons) or "no sign of trouble"
        if np.isnan(self.effective_rows):
            return text
        return (
            f"{text} (varies as with {self.effective_rows:.0f} {self.unit}s, one of"
            f" which makes {self.largest_share:.0%})"
        )

    def __repr__(self):
        Pi = GRADES[self.reliability]
        sd = GRADES[self.spread_reliability]
        return f"{type(self).__name__}(reliability of Π {Pi}, of sd {sd})"

    def html_rows(self, whose: str = "") -> Iterator[tuple[str, str]]:
        """Yield the two judgements as rows for `rows_of_html`.

        Parameters
        ----------
        whose : str
            Words in front of the reasons for Π, where a report has refits, too, and
            must say that these judge the fit alone.

        Yields
        ------
        label, text : str
            The cells of a row.
        """
        about_Pi = self._describe()
        if whose:  # the remedy has been taken
            about_Pi = whose + about_Pi.replace(": compare with refits", "")
        about_sd = "; ".join(self.spread_reasons)
        yield "reliability of Π", graded(self.reliability, about_Pi)
        yield "reliability of sd", graded(self.spread_reliability, about_sd)

    def summary(self) -> "DataFrame":
        """Show the two judgements in a table, a row for each.

        Returns
        -------
        DataFrame of 2 rows
            The reliability of "Pi" and of "sd", and the reasons, in words.

        Examples
        --------
        >>> from rvamp_nb import StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> found = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y).diagnostics_
        >>> found.summary()["reliability"].to_dict()
        {'Pi': 'green', 'sd': 'green'}
        """
        from pandas import DataFrame

        rows = [
            (self.reliability, "; ".join(self.reasons)),
            (self.spread_reliability, "; ".join(self.spread_reasons)),
        ]
        return DataFrame(rows, index=["Pi", "sd"], columns=["reliability", "reasons"])

    def _repr_html_(self):
        return rows_of_html(self.html_rows())


def _signs_of_the_path(fit, path_failed, q_reached):
    """Yield grades and reasons of a fit that has not converged, of a path on which
    penalties failed, and of one that ends before q features are selected.
    """
    failed = "rVAMP has not converged at"
    if not fit.converged:
        yield (
            "red",
            f"{failed} the reported penalty ({fit.status}): select nothing from it",
        )
    if path_failed:
        yield (
            "red",
            f"{failed} a penalty at or above the reported one: compare with refits, or"
            " ask for fewer features (a smaller q)",
        )
    if not q_reached:
        yield (
            "red",
            "the path of penalties ends before q features are selected on average:"
            " fewer are reported than asked for; ask for a smaller q",
        )


def _signs_of_the_rows(unit, effective, largest, share, single_share):
    """Yield grades and reasons where few rows make most of the variation.

    unit is "row" or "group", effective the effective number of rows, largest the name
    of the row with the largest share, and single_share its share in a single feature.
    """
    if share > RED_SHARE:
        problem = (
            f"{unit} {largest} alone makes {share:.0%} of the variation over resamples"
        )
        yield "red", f"{problem}: look at it, and compare with refits"
    if effective < AMBER_ROWS:
        grade = "red" if effective < RED_ROWS else "amber"
        problem = f"a few {unit}s make most of the variation, as if there were"
        units = f"{unit}s" if effective >= 1.5 else unit
        yield grade, f"{problem} {effective:.0f} {units} in all: compare with refits"
    if single_share > AMBER_OWN:
        grade = "red" if single_share > RED_OWN else "amber"
        problem = f"some features depend on one {unit}, up to {single_share:.0%}"
        yield grade, f"{problem} of their variation: compare with refits"


def _signs_of_the_groups(unit, single_share, size, partner, names):
    """Yield grades and reasons for groups of columns that depend on one row, or that
    correlate with other features in play.

    unit is "row" or "group"; single_share is the largest share that one of them has in
    the variation of a group of columns. size and partner, (N,), are the size of each
    column's group and its largest canonical correlation with another one.
    """
    remedy = "Π may be off by more than 0.05: compare with refits"
    if single_share > GROUP_OWN:
        yield (
            "amber",
            f"some groups of columns depend on one {unit}, up to {single_share:.0%} of"
            f" their variation: {remedy}",
        )
    predicted = np.flatnonzero((size > 1) & (partner > GROUP_CORRELATION))
    if len(predicted):
        closest = predicted[np.argmax(partner[predicted])]
        yield (
            "amber",
            f"{format_list(names, predicted)} can be predicted from other columns in"
            f" play (a canonical correlation of up to {partner[closest]:.2f}):"
            f" {remedy}",
        )


def _signs_of_the_table(twins, names, repeated, M, called):
    """Yield grades and reasons for rows that repeat each other and for equal columns.

    twins and repeated are lists of groups of columns and of rows (out of M), names and
    called problem columns and rows are called.
    """
    if repeated:
        repeats = sum(map(len, repeated)) - len(repeated)
        # only pairs among the rows that were looked at can have been found
        share = repeats * M / min(M, ROWS_SEEN) ** 2
        groups = ""
        if len(repeated) > 1:
            groups = f" ({len(repeated)} such groups)"
        grade = "red" if share > RED_REPEATS else "amber"
        yield (
            grade,
            f"rows {format_list(called, repeated[0])} look like repeated samples of one"
            f" unit{groups}: the bound on false selections needs independent rows; draw"
            " whole units (groups), or keep one of each",
        )
    if twins:
        more = ""
        if len(twins) > 1:
            more = " (and there are more of the kind)"
        yield (
            "amber",
            f"columns {format_list(names, twins[0])} are the same up to sign{more}:"
            " taken as one, each has its probability",
        )


def _signs_of_the_spreads(Pi, effective_rows, correlation, largest_share, names):
    """Yield grades and reasons for standard deviations that may be off by much.

    Of each column, (N,) each, Pi is the selection probability, effective_rows how many
    rows carry it, correlation its largest one with another column, and names its name.
    largest_share is that of the largest row in the variation over resamples. Only
    columns with Pi above `SPREAD_FROM_PI` are judged.
    """
    if np.isnan(effective_rows).any():
        yield "red", "nothing has converged, and there are no spreads"
        return
    if largest_share > RED_SHARE:
        yield "red", f"one row makes {largest_share:.0%} of the variation"
    is_judged = Pi > SPREAD_FROM_PI
    doubt = "their standard deviations may be off by much"
    # rounding must not bring a column with exactly so many rows below a limit
    rows = np.round(effective_rows, 8)
    amber_below, red_below = FEW_ROWS
    few = np.flatnonzero(is_judged & (rows < amber_below))
    if len(few):
        grade = "red" if rows[few].min() < red_below else "amber"
        yield grade, f"few rows carry the columns of {format_list(names, few)}: {doubt}"
    twins = np.flatnonzero(is_judged & (correlation > TWIN_CORRELATION))
    if len(twins):
        yield (
            "amber",
            f"{format_list(names, twins)} take turns with a near copy: {doubt}",
        )


def _signs_of_a_slab(fit, effective):
    """Yield grade and reason where a spike-and-slab fit varies as with few rows."""
    if isinstance(fit.prior, SpikeSlab) and effective < SLAB_ROWS:
        yield (
            "red",
            f"under a spike and a slab a fit varies as with {effective:.0f} rows, fewer"
            f" than {SLAB_ROWS}: its standard deviations across resamples may be off by"
            " more than a factor of two: count all supports of each one",
        )


def _judge_signs(signs):
    """Return the worst grade of signs, a list of (grade, reason), "green" without any,
    and all reasons, those of the worst grade first.
    """
    worst = "green"
    reasons = []
    for grade in WORST_FIRST:
        reasons_of_grade = [reason for g, reason in signs if g == grade]
        if reasons_of_grade and not reasons:
            worst = grade
        reasons.extend(reasons_of_grade)
    return worst, tuple(reasons)


class _Units(NamedTuple):
    """Units that a resample draws: rows, or groups of rows."""

    kind: str  # "row" or "group"
    names: Sequence  # of the units that are drawn
    n_samples: int  # of the user's table
    samples: Sequence  # their names


def _find_units(fit, names):
    """Return what a resample draws, `_Units`: rows, or groups of rows that stay
    together. `names` are those of the samples, or None for their numbers.

    With several classes a sample of the user's has a row of the fit's table for each
    class but one. These rows are a group of the loss, but for the user they are a row.
    """
    loss = fit.problem.likelihood
    in_groups = isinstance(loss, GroupedLoss)
    several_classes = in_groups and loss.plain.joint
    n_samples = len(fit.problem.A)
    if several_classes:
        _, n_samples = loss.layout.sums.shape  # rows of the table, groups
    samples = range(n_samples) if names is None else names
    if in_groups and not several_classes:
        return _Units("group", fit.problem.counts.names, n_samples, samples)
    return _Units("row", samples, n_samples, samples)


def diagnose(
    fit, where, names, *, path_failed=False, q_reached=True, rows=(), called=None
):
    """Judge the reliability of a fit at one penalty; return its `Diagnostics`.

    The fit, from `rvamp`, is to n columns; where, (N,) int array, gives for each column
    of the table the one that represents it, and names, (N,), are those of the table.
    path_failed: a penalty at or above this one has not converged. q_reached: as many
    features are selected on average as were asked for. rows: groups of repeated
    samples, from `near_duplicate_rows`. called: (M,) names of the rows, or None for
    their numbers (groups are called by their labels).
    """
    noise = NoiseSigns()
    if fit.last is not None:
        noise = row_shares.signs_of_noise(fit)
    column_rows = np.full(len(where), np.nan)
    correlation = column_rows  # not known either
    if fit.converged:
        column_rows = row_shares.column_effective_rows(fit)[where]
        correlation = row_shares.max_correlation(fit)[where]
    same = np.flatnonzero(np.bincount(where) > 1)
    twins = [np.flatnonzero(where == column) for column in same]
    units = _find_units(fit, called)
    unit = units.kind

    signs = list(_signs_of_the_path(fit, path_failed, q_reached))
    largest = units.names[noise.row]
    single_share = noise.single_share
    signs += _signs_of_the_rows(
        unit, noise.effective, largest, noise.share, single_share
    )
    size = row_shares.columns_together(fit)[where]
    signs += _signs_of_the_groups(unit, noise.group_share, size, correlation, names)
    signs += _signs_of_the_table(twins, names, rows, units.n_samples, units.samples)
    grade, reasons = _judge_signs(signs)
    Pi = fit.Pi[where]
    of_columns = Pi, column_rows, correlation
    spreads = list(_signs_of_the_spreads(*of_columns, noise.share, names))
    spreads += _signs_of_a_slab(fit, noise.effective)
    spread_grade, spread_reasons = _judge_signs(spreads)
    return Diagnostics(
        reliability=grade,
        effective_rows=noise.effective,
        largest_share=noise.share,
        largest_row=noise.row,
        duplicates=twins,
        reasons=reasons,
        repeated=list(rows),
        largest_single_share=single_share,
        spread_reliability=spread_grade,
        spread_reasons=spread_reasons,
        fit=fit,
        unit=unit,
    )


def _take_varying(A):
    """Return the columns of A that vary, scaled to mean 0 and variance 1, and a mask of
    these columns, (N,).
    """
    Z, _, constant = unit_columns(A)
    Z *= np.sqrt(len(A))
    if constant.any():
        Z = Z[:, ~constant]
    return Z, ~constant


def _multiply_sparse_rows(S):
    """Standardise the columns of a sparse matrix S, (n, k), without filling it; return
    a mask of the columns that vary, (k,), and the products of the rows, (n, n).
    """
    Z, _, constant = unit_columns(ChunkedTable(S, axis=1))
    # columns of Z have length 1, standardised ones a mean square of 1
    weight = np.full(Z.shape[1], 1.0 * S.shape[0])

    def gram(X, weight):
        return (), (half_gram(X, weight),)

    _, (half,) = Z.map_chunks(gram, (weight,))
    return ~constant, mirrored(half)


def _multiply_rows(X, numbers):
    """Standardise the columns of a chunk X, (M, k), on the rows with these numbers,
    (n,); return a mask of the columns that vary, (k,), and the products of the rows,
    (n, n).
    """
    # a sparse block is a sparse matrix and a constant, which the means take away
    if isinstance(X, SparseBlock) and (X.a == 1).all():
        return _multiply_sparse_rows(X.S[numbers])
    Z, varies = _take_varying(X[numbers])
    return varies, Z @ Z.T


def _read_rows_seen(A, seen, rng):
    """Return the rows of A numbered `seen`, (n,), as `ComparedRows`: with the product
    of each row with each other, (n, n), and their entries in 200 columns drawn at
    random. Columns are standardised on these rows; those that do not vary are left out.

    A table in chunks of columns never stands in memory as a whole. It is read once for
    the products, which are sums over its columns, and the 200 columns a second time.
    """
    if chunk_axis(A) != 1:
        # a slice takes all rows without a copy
        rows = seen if len(seen) < len(A) else slice(None)
        Z, _ = _take_varying(A[rows])
        return row_distances.prepare_rows(Z, rng)

    # `map_chunks` joins the first tuples, the masks of the chunks' columns, and adds up
    # the second, the products of the rows
    def of_chunk(X):
        varies, products = _multiply_rows(X, seen)
        return (varies,), (products,)

    (varies,), (products,) = A.map_chunks(of_chunk)
    varying = np.flatnonzero(varies)  # the numbers of these columns in A
    drawn = varying[rng.permutation(len(varying))[:COLUMNS_SEEN]]
    columns, _ = _take_varying(A[:, drawn][seen])
    # `ComparedRows` has a function for the eigenvalues, as they are seldom asked for.
    # Here they are computed at once: the caller overwrites the products with distances
    eigenvalues = np.linalg.eigvalsh(products).clip(0) / len(seen)
    return ComparedRows(products, columns, lambda: eigenvalues, len(varying))


def near_duplicate_rows(A):
    """Find groups of rows that are closer to each other than independent rows come by
    chance (`too-close`, `tail`): repeated samples of one unit, or copies. Return a list
    of int arrays, row numbers, increasing, two or more in each.

    A, (M, N) floats or ChunkedTable, has columns on one scale; those that do not vary
    are left out. Of more than 1,000 rows so many are looked at, drawn at random. In
    about 1 % of all tables at most independent rows are taken for repeated ones.
    """
    level = 0.01  # of tables of independent rows, in which rows are flagged by chance
    rng = np.random.default_rng(0)
    seen = np.sort(rng.permutation(len(A))[:ROWS_SEEN])
    if len(seen) <= 2:
        return []
    rows = _read_rows_seen(A, seen, rng)
    if not rows.N:
        return []
    sizes = np.diag(rows.products).copy()  # squared lengths of the rows
    # in place, products become squared distances: (x - y)² = x² + y² - 2 xy
    distances = rows.products
    for i, size in enumerate(sizes):
        distances[i] = size + sizes - 2 * distances[i]
    limit = _closest_independent(rows, distances, level, rng)
    near = distances < limit
    near[sizes < np.median(sizes) / 2] = False  # rows of nothing but zeros are alike
    # rows in a chain of near pairs are one group
    _, group = connected_components(csr_array(near & near.T), directed=False)
    repeated = np.flatnonzero(np.bincount(group) > 1)
    return [seen[group == g] for g in repeated]


def _closest_independent(rows, distances, level, rng):
    """Return the squared distance that no two of `ComparedRows` have by chance, but in
    a share `level` of tables; less rounding. distances, (n, n), are squared ones.

    There are two bounds, and a pair must be below both. One is quick, and in most
    tables no pair is below it: then the other is not computed.
    """
    rounding = 1e-9 * rows.N
    pairs = squareform(distances, checks=False)
    limit = row_distances.closest_by_tail(pairs, level)
    if pairs.min() < limit - rounding:
        limit = min(row_distances.closest_by_chance(rows, level, rng), limit)
    return limit - rounding
