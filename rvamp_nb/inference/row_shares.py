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
from ..tables.chunked import SparseBlock, chunk_axis, pick_columns

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
    """Compute sum and maximum of var a^2 over the rows of each column, (N,) each, for a
    table in chunks of rows; var is (M,).
    """

    # what `map_chunks` joins, the chunks' maxima side by side, and what it adds up
    def of_chunk(X, var):
        squares = X**2
        if isinstance(X, SparseBlock):
            largest = squares.largest(var)
            total = var @ squares
        else:
            squares *= var[:, None]
            largest = squares.max(0)
            total = squares.sum(0)
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

    rows: np.ndarray  # (M,) of each row, or group of rows; they sum to 1
    largest: np.ndarray  # (N,) the largest part of each feature's noise
    total: np.ndarray  # (N,) each feature's noise
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
    # without resampling the variances die out, but never quite reach 0; what is not
    # random is set to 0 below, as a product with False
    is_random = u.var.max() > (1e-8 * np.abs(u.mean).max()) ** 2
    if isinstance(fit.problem.likelihood, GroupedLoss):
        column_doubt, sums = _sum_noise_of_groups(fit, doubt, is_random)
    else:
        column_doubt, sums = _sum_noise_of_rows(fit, doubt, is_random * u.var)
    # the doubt has become one of each column summed: an intercept, or classes, are more
    # columns than features. The sums are those of `_sum_parts`
    (total, largest), (average_shares,) = sums
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


def _sum_noise_of_rows(fit, doubt, var):
    """Return the doubt and the sums of `_sum_parts`; var, (M,), is that of each row's
    pull.
    """
    A = fit.problem.A
    N = len(doubt)

    def squares(X):
        return X[:, :] ** 2 * var[:, None]

    if _selects_groups(fit):
        return doubt, _sum_parts(fit.prior.pooled(squares(A[:, :N])), doubt)
    doubt = np.append(doubt, np.zeros(A.shape[1] - N))  # an intercept has none
    if chunk_axis(A) == 0:
        return doubt, _sum_in_two_passes(A, doubt, var)
    return doubt, map_chunks(A, lambda X, d: _sum_parts(squares(X), d), (doubt,))


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

    effective: float = np.nan  # number of rows
    share: float = np.nan  # of the largest row
    row: int = -1  # its number
    single_share: float = np.nan  # of one row in the noise of a feature, on average
    group_share: float = np.nan  # the same for groups of two columns or more


def signs_of_noise(fit):
    """Compute the `NoiseSigns` of a fit that has messages: how uneven the rows' shares
    of the noise are, on average over the features and in single ones.
    """
    noise = _noise(fit)
    row = int(np.argmax(noise.rows))
    sizes = columns_together(fit)
    weight_in_groups = noise.weight[: len(sizes)] * (sizes > 1)
    return NoiseSigns(
        effective=float(1 / (noise.rows @ noise.rows)),
        share=float(noise.rows[row]),
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
    """Compute the largest absolute entry of each column of X, (M, n), and the sums of
    squares and fourth powers in units of it, (3, n).
    """
    if isinstance(X, SparseBlock):
        squares = X**2
        ones = np.ones(len(X))
        largest = squares.largest(ones)
        unit = np.where(largest > 0, largest, 1)
        of_powers = ones @ squares / unit, ones @ squares**2 / unit**2
        return np.array([np.sqrt(largest), *of_powers])
    sizes = np.abs(X)
    largest = sizes.max(0)
    # in units of the largest no power overflows or vanishes
    sizes /= np.where(largest > 0, largest, 1)
    sizes *= sizes
    return np.array([largest, sizes.sum(0), (sizes**2).sum(0)])


def column_effective_rows(fit):
    """Compute the effective number of rows of each column (`column-rows`), (N,), from 1
    (one entry is not zero) to M (all are equally large); M for a column of zeros.
    Columns that are selected together count by their sum times the mean coefficients.
    """
    A = fit.problem.A
    M = len(A)
    N = len(fit.mean)
    if _selects_groups(fit):
        groups = fit.prior.column_groups
        fitted = A[:, :N] * fit.mean @ groups.sums.T
        rows_of_group = _rows_that_carry(_size_moments(fitted)[..., None], M)
        return rows_of_group[groups.index]
    in_chunks_of_rows = chunk_axis(A) == 0

    # joined along the last axis: columns, or of chunks of rows one number for a chunk
    def moments_of(X):
        moments = _size_moments(X)
        if in_chunks_of_rows:
            moments = moments[..., None]
        return (moments,), ()

    (moments,), _ = map_chunks(A, moments_of)
    moments = moments.reshape(3, A.shape[1], -1)
    return _rows_that_carry(moments, M)[:N]


def _rows_that_carry(thickness, M):
    """Compute the effective number of rows of each column, (N,), from `_size_moments`
    of K chunks of rows, (3, N, K).
    """
    largest, second, fourth = thickness
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
    # the columns of a group side by side, from `starts` on
    order = np.argsort(groups.index, kind="stable")
    columns = basis.A[:, order]
    starts = np.cumsum(groups.sizes) - groups.sizes
    bases = np.split(columns, starts[1:], axis=1)
    largest = np.zeros(len(bases))
    for g, own_basis in enumerate(bases):
        products = own_basis.T @ columns
        # the Frobenius norm of each group's products, at least as large as the spectral
        # norm: those below a norm that was found need no singular values
        bound = np.sqrt(np.add.reduceat((products**2).sum(0), starts))
        bound[g] = 0.0  # not with itself
        for other in np.argsort(-bound):
            if bound[other] <= largest[g]:
                break
            block = slice(starts[other], starts[other] + groups.sizes[other])
            largest[g] = max(largest[g], np.linalg.norm(products[:, block], 2))
    return np.minimum(largest, 1)[np.searchsorted(groups.names, labels)]


def max_correlation(fit):
    """Compute the largest absolute correlation of each feature with another one, (N,),
    among those with Π above 0.01 (0 for all others); columns are taken as centred. For
    columns that are selected together it is the largest canonical correlation of their
    group.
    """
    A = fit.problem.A
    in_play = np.flatnonzero(fit.Pi > MATTERS)
    partner = np.zeros(len(fit.Pi))
    if _selects_groups(fit) and len(in_play):
        labels = fit.prior.column_groups.index[in_play]
        partner[in_play] = _canonical_correlations(A[:, in_play], labels)
        return partner

    # chunks of columns of a sparse table, or of rows: products are added up
    def gram(X):
        if isinstance(X, SparseBlock):
            products = X.T.gram(np.ones(len(X)))
        else:
            products = X.T @ X
        return (), (products,)

    _, (products,) = map_chunks(pick_columns(A, in_play), gram)
    length = np.sqrt(products.diagonal())
    length = np.where(length > 0, length, 1)
    correlation = np.abs(products / length / length[:, None])
    np.fill_diagonal(correlation, 0)  # with itself
    partner[in_play] = np.minimum(correlation.max(0, initial=0), 1)
    return partner
