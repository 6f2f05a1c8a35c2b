"""Shares of rows in the noise of a fit, rows that carry a column, and near copies.

Chapter 4.5 derives them, in a few lines for a table in memory. Here are tables in
chunks, groups of rows, and columns that are selected together. If chunks are whole
columns, shares take one pass; if they are rows, two, because the denominator of a share
is known only after the first. No column of a group has a field of its own, for another
basis of the group would give other columns: a row's part in a group is the average of
its parts in the columns, which no basis changes. Of several classes the shares are
those of the numbers of the classes, which depend on no order, as contrasts do.

>>> from rvamp_nb import datasets, rvamp
>>> from rvamp_nb.inference.row_shares import row_influence
>>> d = datasets.load_diabetes()
>>> shares = row_influence(rvamp(d.A[:, :10], d.y, lam=100.0))
>>> print(f"{1 / (shares @ shares):.0f} effective rows of {len(shares)}")
108 effective rows of 442
"""

from typing import NamedTuple

import numpy as np

from ..algorithm.column_groups import groups_of, orthonormal
from ..algorithm.groups import GroupedLoss
from ..algorithm.lmmse import map_chunks
from ..algorithm.problem import MATTERS
from ..algorithm.row_blocks import noise_of_groups
from ..tables.chunked import ChunkedTable, SparseBlock, chunk_axis, pick_columns

__all__ = [
    "NoiseSigns",
    "column_effective_rows",
    "columns_together",
    "largest_single_share",
    "max_correlation",
    "row_influence",
    "signs_of_noise",
]


def _sum_parts(parts, doubt):
    """Compute sum and maximum of each column of parts, (N,) each, and the averages of
    each row's shares, (M,), for `map_chunks`; parts, (M, N), are variances.
    """
    total = parts.sum(0)
    return (total, parts.max(0)), (parts @ _feature_weights(doubt, total),)


def _feature_weights(doubt, total):
    """Compute the weight of each feature in an average of shares, (N,): its doubt over
    its total variance, 0 where nothing is random.
    """
    return np.where(total > 0, doubt, 0.0) / np.where(total > 0, total, 1.0)


def _sum_in_two_passes(A, doubt, var):
    """Compute sums, maxima and average shares as `_sum_parts`, for a table in chunks of
    rows; doubt is (N,), var, (M,), the variance of each row's pull.

    A row's shares need the totals of all rows, so the chunks are read twice.
    """
    total, largest = _sum_and_largest(A, var)
    weight = _feature_weights(doubt, total)

    def average_shares(X, var):
        return (var * (X**2 @ weight),), ()

    (shares,), _ = A.map_chunks(average_shares, (var,))
    return (total, largest), (shares,)


def _sum_and_largest(A, var):
    """Compute sum and maximum of var_m A_mi² over the rows m of each column i, (N,)
    each, for a table in chunks of rows; var is (M,).
    """

    # `map_chunks` adds up the sums of the chunks, and puts their maxima side by side
    def of_chunk(X, var):
        if isinstance(X, SparseBlock):
            squares = X**2
            largest = squares.largest(var)
            total = var @ squares
        else:
            terms = X**2 * var[:, None]
            largest = terms.max(0)
            total = terms.sum(0)
        return (largest[:, None],), (total,)

    (largest_in_chunks,), (total,) = A.map_chunks(of_chunk, (var,))
    return total, largest_in_chunks.max(1)


def _selects_groups(fit):
    """Return whether a table in memory has groups of columns (not of classes)."""
    loss = fit.problem.likelihood
    joint = isinstance(loss, GroupedLoss) and loss.plain.joint
    in_memory = isinstance(fit.problem.A, np.ndarray)
    return fit.problem.prior.column_groups is not None and in_memory and not joint


def _class_columns(fit, doubt):
    """Return the table, and the doubt, of a number for each feature and class, in place
    of contrasts, which depend on the order of the classes.
    """
    basis = fit.problem.likelihood.plain.basis
    K, d = basis.shape
    A = fit.problem.A[:, : len(doubt)]
    A = A.reshape(len(A), -1, d) @ basis.T
    return A.reshape(len(A), -1), np.repeat(doubt[::d], K)


class _Noise(NamedTuple):
    """Shares of rows in the noise of the fields."""

    rows: np.ndarray  # (M,) share of each row, or group of rows; they sum to 1
    largest: np.ndarray  # (N,) the largest term of a row in each feature's noise
    total: np.ndarray  # (N,) each feature's noise, the sum of these terms
    weight: np.ndarray  # (N,) of each feature in an average of shares


def _noise(fit):
    """Compute the `_Noise` of a fit: how much each row contributes to the variance of
    each feature's field over the resamples.

    Row m pulls at feature i with the force A_mi u_m. The pull u_m differs between
    resamples, so that the variance of the field of i is a sum over rows of
    A_mi² var(u_m); the share of a row is its term over the sum. In averages over the
    features each counts by its doubt Π (1 - Π), the variance of being selected.
    """
    doubt = fit.Pi * (1 - fit.Pi)
    if doubt.sum() <= 1e-12:  # nothing is in doubt: all features count alike
        doubt = np.ones(len(doubt))
    u = fit.last.u
    # without resampling the variances die out, but never quite reach 0: they are
    # multiplied by 0
    is_random = u.var.max() > (1e-8 * np.abs(u.mean).max()) ** 2
    # the sums are over columns, which may be more than the features: an intercept, or
    # one for each class. `column_doubt` has the doubt of each
    if isinstance(fit.problem.likelihood, GroupedLoss):
        column_doubt, sums = _sum_noise_of_groups(fit, doubt, is_random)
    else:
        column_doubt, sums = _sum_noise_of_rows(fit, doubt, is_random * u.var)
    (total, largest), (average_shares,) = sums  # of `_sum_parts`
    shares = np.full(len(average_shares), 1 / len(average_shares))
    if average_shares.sum() > 0:
        shares = average_shares / average_shares.sum()
    weight = _feature_weights(column_doubt, total)
    return _Noise(rows=shares, largest=largest, total=total, weight=weight)


def _sum_noise_of_groups(fit, doubt, varies):
    """Return the doubt and the sums of `_sum_parts`, for groups of rows."""
    A = fit.problem.A[:, : len(doubt)]
    if fit.problem.likelihood.plain.joint:
        A, doubt = _class_columns(fit, doubt)
    parts = varies * noise_of_groups(fit, A)
    if _selects_groups(fit):
        parts = fit.prior.pooled(parts)
    return doubt, _sum_parts(parts, doubt)


def _by_columns(A):
    """Return a table to pass over, an array in chunks of columns: what is computed of a
    chunk is as large as it, and shall be small beside the table.
    """
    if isinstance(A, np.ndarray):
        return ChunkedTable(A, axis=1)
    return A


def _sum_noise_of_rows(fit, doubt, var):
    """Compute the noise of a fit without groups of rows: return the doubt of each
    column, (n,), and what `_sum_parts` returns of the variances A_mi² var_m, (M, n).

    doubt, (N,), is the weight Π (1 - Π) of each feature (see `_noise`); the table A may
    have n = N + 1 columns, with an intercept. var, (M,), is the variance of the pull
    u_m of each row. All columns at once would be an array as large as the table, so
    that a table is read in chunks, but for groups of columns, which are in memory.
    """
    A = fit.problem.A
    N = len(doubt)

    def squares(X):
        # [:, :] makes an array of any chunk, such as a sparse one
        return X[:, :] ** 2 * var[:, None]

    # columns of a group count together: no intercept, and a variance for each group
    if _selects_groups(fit):
        return doubt, _sum_parts(fit.prior.pooled(squares(A[:, :N])), doubt)
    no_doubt = np.zeros(A.shape[1] - N)  # of an intercept
    column_doubt = np.append(doubt, no_doubt)
    # a chunk of rows lacks the total of its columns, by which shares are divided
    if chunk_axis(A) == 0:
        return column_doubt, _sum_in_two_passes(A, column_doubt, var)

    # a chunk of columns has all rows, and is done at once
    def sums_of_chunk(X, chunk_doubt):
        return _sum_parts(squares(X), chunk_doubt)

    return column_doubt, map_chunks(_by_columns(A), sums_of_chunk, (column_doubt,))


def row_influence(fit):
    """Compute the share of each row in the noise of the fields, averaged over the
    features that could go either way (`noise-share`): (M,) numbers >= 0 that sum to 1,
    all equal where nothing is random; 1 / (shares @ shares) is the effective number of
    rows. With `Grouped` counts (G,), one for each group, in the order of the sorted
    labels.
    """
    return _noise(fit).rows


def largest_single_share(fit):
    """Compute the share of the largest row in the noise of a single feature, averaged
    over the features that could go either way (`own-share`), a float: 1 where each
    feature hangs on one row; 0 where nothing is random.
    """
    return signs_of_noise(fit).single_share


class NoiseSigns(NamedTuple):
    """Signs of uneven rows in the noise; nan for a fit that broke down, for comparisons
    with nan are false.
    """

    effective: float = np.nan  # number of rows that would have equal shares
    share: float = np.nan  # of the row with the largest share, over all features
    row: int = -1  # the number of that row
    single_share: float = np.nan  # largest of a row in one feature, on average
    group_share: float = np.nan  # the same for features in groups of two or more


def signs_of_noise(fit):
    """Compute the `NoiseSigns` of a fit that has messages: how uneven the rows' shares
    of the noise are, on average over the features and in single ones.

    The effective number of rows is 1 / Σ share²: M for M equal shares, 1 for one row.
    """
    noise = _noise(fit)
    shares = noise.rows
    row = int(np.argmax(shares))
    sizes = columns_together(fit)
    # an intercept, behind the features, is in no group
    weight_in_groups = noise.weight[: len(sizes)] * (sizes > 1)
    return NoiseSigns(
        effective=float(1 / (shares @ shares)),
        share=float(shares[row]),
        row=row,
        single_share=_average_largest_share(noise, noise.weight),
        group_share=_average_largest_share(noise, weight_in_groups),
    )


def _average_largest_share(noise, weight):
    """Average the share of the largest row in the `_Noise` of a feature over the first
    n features with weights, (n,) (`own-share`); 0 where nothing is random.
    """
    n = len(weight)
    total = weight @ noise.total[:n]
    if total <= 0:
        return 0.0
    return float(weight @ noise.largest[:n] / total)


def columns_together(fit):
    """Count the columns that are selected together with each of the columns, (N,)."""
    if not _selects_groups(fit):
        return np.ones(len(fit.Pi))
    groups = fit.prior.column_groups
    return groups.sizes[groups.index]


def _size_moments(X):
    """Return three numbers of each column of X, (M, n), in the rows of an array (3, n).

    They are the largest size of an entry, and the sums of the squares and of the fourth
    powers of all entries in units of it: so no power overflows or vanishes.
    """
    if isinstance(X, SparseBlock):
        return _size_moments_of_sparse(X)
    sizes = np.abs(X)
    largest = sizes.max(0)
    sizes /= np.where(largest > 0, largest, 1)
    squares = np.square(sizes, out=sizes)  # in the same memory
    return np.array([largest, squares.sum(0), (squares**2).sum(0)])


def _size_moments_of_sparse(X):
    """Return `_size_moments` of a `SparseBlock`, (3, n)."""
    squares = X**2
    fourth_powers = squares**2
    ones = np.ones(len(X))
    largest_square = squares.largest(ones)
    unit = np.where(largest_square > 0, largest_square, 1)
    second = ones @ squares / unit
    fourth = ones @ fourth_powers / unit**2
    return np.array([np.sqrt(largest_square), second, fourth])


def column_effective_rows(fit):
    """Compute the effective number of rows of each column (`column-rows`), (N,).

    For a column a it is (Σ a²)² / Σ a⁴, from 1 (one entry is not zero) to M (all are
    equally large); M for a column of zeros. Columns that are selected together count by
    their sum times the mean coefficients.
    """
    A = fit.problem.A
    M = len(A)
    N = len(fit.mean)
    if _selects_groups(fit):
        groups = fit.prior.column_groups
        fitted = A[:, :N] * fit.mean @ groups.sums.T  # (M, groups)
        rows_of_group = _rows_that_carry(_size_moments(fitted)[..., None], M)
        return rows_of_group[groups.index]
    return _rows_that_carry(_moments_of_chunks(A), M)[:N]


def _moments_of_chunks(A):
    """Return the `_size_moments` of the N columns of a table in each of its K chunks of
    rows, (3, N, K); K is 1 in memory or in chunks of columns.
    """
    in_chunks_of_rows = chunk_axis(A) == 0

    # `map_chunks` joins along the last axis, which is K or N
    def of_chunk(X):
        moments = _size_moments(X)
        if in_chunks_of_rows:
            moments = moments[..., None]
        return (moments,), ()

    (moments,), _ = map_chunks(_by_columns(A), of_chunk)
    return moments if in_chunks_of_rows else moments[..., None]


def _rows_that_carry(moments, M):
    """Compute the effective number of rows of each column, (N,), from `_size_moments`
    of K chunks of rows, (3, N, K).
    """
    largest, second, fourth = moments
    most = largest.max(1, keepdims=True)
    # each chunk has its own unit: bring all to the largest entry of the column
    unit = (largest / np.where(most > 0, most, 1)) ** 2
    second = (second * unit).sum(1)
    fourth = (fourth * unit**2).sum(1)
    return np.where(fourth > 0, second**2, M) / np.maximum(fourth, 1)


def _canonical_correlations(X, labels):
    """Compute for each column of X, (M, n), the largest canonical correlation of its
    group with another group, (n,); labels, (n,), name the groups.

    With an orthonormal basis of each group it is the largest singular value (spectral
    norm) of the products of two bases.
    """
    basis, _ = orthonormal(X, labels)
    groups = groups_of(basis.groups)
    # the columns of a group side by side, from its place in `starts` on
    order = np.argsort(groups.index, kind="stable")
    columns = basis.A[:, order]
    starts = np.cumsum(groups.sizes) - groups.sizes
    largest = []
    for g, own_basis in enumerate(np.split(columns, starts[1:], axis=1)):
        products = own_basis.T @ columns
        largest.append(_largest_norm(products, starts, groups.sizes, g))
    return np.minimum(largest, 1)[np.searchsorted(groups.names, labels)]


def _largest_norm(products, starts, sizes, g):
    """Return the largest spectral norm of the blocks of columns of some products,
    without block g; a block begins at an entry of `starts` and has one of the `sizes`.

    The Frobenius norm is quick, and at least as large. So blocks are looked at in its
    order, until it falls below the largest spectral norm so far.
    """
    bound = np.sqrt(np.add.reduceat((products**2).sum(0), starts))
    bound[g] = 0.0
    largest = 0.0
    for k in np.argsort(-bound):
        if bound[k] <= largest:
            break
        block = slice(starts[k], starts[k] + sizes[k])
        largest = max(largest, np.linalg.norm(products[:, block], 2))
    return largest


def max_correlation(fit):
    """Compute the largest absolute correlation of each feature with another one, (N,).

    Only features with Π above `MATTERS` are compared, all others have 0; columns are
    taken as centred. For columns that are selected together it is the largest canonical
    correlation of their group.
    """
    A = fit.problem.A
    in_play = np.flatnonzero(fit.Pi > MATTERS)
    largest = np.zeros(len(fit.Pi))
    if _selects_groups(fit) and len(in_play):
        labels = fit.prior.column_groups.index[in_play]
        largest[in_play] = _canonical_correlations(A[:, in_play], labels)
        return largest
    products = _products_of_columns(pick_columns(A, in_play))
    length = np.sqrt(products.diagonal())
    length = np.where(length > 0, length, 1)
    correlation = np.abs(products / length / length[:, None])
    np.fill_diagonal(correlation, 0)  # with itself
    largest[in_play] = np.minimum(correlation.max(0, initial=0), 1)
    return largest


def _products_of_columns(A):
    """Compute A'A, (n, n), for an array or a table in chunks of rows, (M, n)."""

    def of_chunk(X):
        if isinstance(X, SparseBlock):
            products = X.T.gram(np.ones(len(X)))
        else:
            products = X.T @ X
        return (), (products,)  # nothing to join; products are added up

    _, (products,) = map_chunks(A, of_chunk)
    return products
