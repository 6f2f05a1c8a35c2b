"""The group Lasso: columns that are selected together or not at all.

Chapter 5.8 derives it; its formulas are in `group_channel`. `GroupLasso` is the prior:
labels of the columns, a penalty on the length of each group's coefficients, and the
messages of groups. `orthonormal` makes columns for which that length does not depend
on how a variable is coded, and `P1InGroup` has the density of one coefficient.

>>> import numpy as np
>>> from rvamp_nb import GroupLasso, rvamp
>>> from rvamp_nb.algorithm.column_groups import orthonormal
>>> rng = np.random.default_rng(0)
>>> made, _ = orthonormal(rng.normal(size=(60, 6)), np.repeat(["a", "b", "c"], 2))
>>> fit = rvamp(made.A, 3 * made.A[:, 0], prior=GroupLasso(0.5, made.groups))
>>> print(*fit.prior.column_groups.names, fit.prior.of_groups(fit.Pi).round(2))
a b c [1. 0. 0.]
"""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack
from scipy.special import ndtr, ndtri

from ..sketch import ShownDensity
from ..tables.standardize import project_out
from ..typing import Array, ArrayLike, Bools, TableLike
from ..validation import check_array, check_field, check_shares
from . import group_channel
from .group_channel import GroupMoments, make_isotropic, radial_moments, radial_share
from .messages import Mixed, Moments, Natural, take_entries
from .prior import Prior
from .rectified import halved, phi

__all__ = [
    "ColumnGroups",
    "DEPENDENT",
    "FAR_OFF",
    "GroupLasso",
    "MOST_MEMBERS",
    "OrthonormalGroups",
    "P1InGroup",
    "group_labels",
    "groups_from_bytes",
    "groups_of",
    "one_each",
    "orthonormal",
]


class ColumnGroups(NamedTuple):
    """The assignment of N columns to G groups."""

    names: np.ndarray  # (G,), sorted
    index: np.ndarray  # (N,): the number of each column's group
    sizes: np.ndarray  # (G,)
    sums: csr_array  # (G, N): 1 where a column belongs to a group


@lru_cache
def groups_from_bytes(raw, kind):
    """Make the `ColumnGroups` of labels, given as the bytes of an array of a dtype."""
    names, index = np.unique(np.frombuffer(raw, kind), return_inverse=True)
    cells = np.ones(len(index)), (index, np.arange(len(index)))
    return ColumnGroups(names, index, np.bincount(index), csr_array(cells))


def groups_of(labels):
    """Make the `ColumnGroups` of an array of labels, (N,); once for equal labels."""
    return groups_from_bytes(labels.tobytes(), labels.dtype.str)


def one_each(N, i):
    """Make rows, (n, N), that each pick one of N coefficients, numbers i () or (n,)."""
    i = np.ravel(i)
    return csr_array((np.ones(len(i)), i, np.arange(len(i) + 1)), shape=(len(i), N))


def group_labels(groups):
    """Return a label for each column, (N,), from labels or from {name: columns}; a
    ValueError where a column is in two groups or in none, or a group has no column.
    """
    if isinstance(groups, dict):
        return _labels_by_name(groups)
    labels = _as_labels(groups)
    if labels.ndim != 1 or not labels.size or labels.dtype.kind not in "iuU":
        raise ValueError(
            "groups must be a label (texts or whole numbers, not both) for each column,"
            f" or a dict of lists of columns, got {groups!r:.60}"
        )
    return labels


def _as_labels(groups):
    """Make an array of labels: of texts, or of whole numbers, if all are such; else one
    of objects, for NumPy would turn 1 beside "1" to text.
    """
    if isinstance(groups, np.ndarray) and groups.dtype != object:
        return np.array(groups)
    labels = np.array(groups, dtype=object)
    are_texts = all(isinstance(label, str) for label in labels.flat)
    are_numbers = all(isinstance(label, (int, np.integer)) for label in labels.flat)
    if are_texts or are_numbers:
        return np.array(labels.tolist())
    return labels


def _labels_by_name(groups):
    """Return a label for each column, (N,), from {name: columns}; a ValueError as for
    `group_labels`.
    """
    label = {}
    for name, columns in groups.items():
        for i in _check_members(name, columns):
            if i in label:
                raise ValueError(
                    f"groups: column {i} is in {label[i]!r} and in {name!r}: duplicate"
                    " it in the table, and give each group one of the two"
                )
            label[i] = name
    # all columns have labels if the numbers are 0 to their count; else one is missing,
    # or a number is too large
    without_group = set(range(len(label))) - set(label)
    if without_group:
        remedy = "give it a group; columns that stand alone are groups of one"
        i = min(without_group)
        raise ValueError(f"groups: column {i} is in no group: {remedy}")
    return group_labels([label[i] for i in range(len(label))])


def _check_members(name, columns):
    """Validate the columns of a named group: return a list of their numbers. A
    ValueError for none, for one that is there twice, and for what are no numbers.
    """
    numbers = np.array(columns)
    are_whole = numbers.ndim == 1 and numbers.size and numbers.dtype.kind in "iu"
    if not are_whole or numbers.min() < 0 or len(set(columns)) < len(numbers):
        raise ValueError(
            f"groups[{name!r}] must be a list of numbers from 0 on, one at least"
            f" and each once, got {columns!r:.60}"
        )
    return numbers.tolist()


class _GroupFields(NamedTuple):
    """The fields of G groups of columns; (G,) each."""

    k: np.ndarray  # number of columns
    length: np.ndarray  # of the mean field
    noise: np.ndarray  # its variance in each direction
    t: np.ndarray  # threshold
    Q: np.ndarray  # precision


MOST_MEMBERS = 500  # columns of a group
# half or twice: the law of their length adds up to 1 within 4e-13
FAR_OFF = 0.5  # of a column's square: products of columns that are far from orthonormal
# Π of groups of four is off by .07 at most, by .17 with correlations of .5; half warns
# of .25, where it is off by .08, twice of none


def _group_weights(weights, labels):
    """Return the weight of each column's group, (N,): by default the root of the
    group's size. A ValueError for groups that are too large and for weights that are
    negative or differ within a group.
    """
    groups = groups_of(labels)
    sizes = groups.sizes
    if sizes.max() > MOST_MEMBERS:
        raise ValueError(
            f"groups hold at most {MOST_MEMBERS} columns,"
            f" {groups.names[sizes.argmax()]} has {sizes.max()}: cut it"
        )
    if weights is None:
        return np.sqrt(sizes[groups.index])
    weights = np.array(check_array("weights", weights))
    is_valid = weights.shape == labels.shape and weights.min() >= 0
    if is_valid:
        means = np.bincount(groups.index, weights) / sizes
        is_valid = np.allclose(weights, means[groups.index], rtol=1e-12, atol=0)
    if not is_valid:
        raise ValueError(
            "weights must be one number >= 0 for each column, the same within a group,"
            f" got {weights!r:.60}"
        )
    return weights


def _find_far_group(A, groups):
    """Return the name of the first group whose columns of the array A (M, N) are far
    from orthonormal, or None; groups are `ColumnGroups`.
    """
    for g in np.flatnonzero(groups.sizes > 1):
        columns = A[:, groups.index == g]
        products = columns.T @ columns
        size = groups.sizes[g]
        # columns may share any length: the mean square is their unit
        mean_square = np.trace(products) / size
        deviation = np.abs(products - mean_square * np.eye(size)).max()
        if deviation > FAR_OFF * mean_square:
            return groups.names[g]
    return None


@dataclass(frozen=True, eq=False)
class GroupLasso(Prior):
    """Penalise groups of columns by lam w_g |x_g|, the length of the coefficients of a
    group: all of them are zero, or none. The selection probability Π of a column is
    that of its group, and `of_groups` gives it per group, in the order of
    `column_groups.names`. At beta = inf by one radial integral, to ten digits.

    Parameters
    ----------
    lam : float > 0
        On the scale of sum_mu c_mu l(y_mu, a_mu'x); it is not drawn at random.
    groups : (N,) labels, text or whole numbers, or {name: list of columns}
        A column belongs to one group. The columns of a group are expected to be
        orthonormal (`orthonormal` makes them so): the message of a group is one for all
        directions, and Π of other columns is less exact. A fit warns where products of
        two of them are above half of a column's square.
    weights : (N,) array of numbers >= 0, optional
        The w_g at each of its columns, by default the root of their number; 0 leaves a
        group unpenalised.

    Raises
    ------
    TypeError, ValueError
        For other arguments, names of no column, and at finite beta.

    See Also
    --------
    StabilitySelection : Select groups of a table, by column_groups.

    Examples
    --------
    >>> import numpy as np
    >>> from rvamp_nb import GroupLasso, rvamp
    >>> from rvamp_nb.algorithm.column_groups import orthonormal
    >>> from rvamp_nb.datasets import random_dct
    >>> A, y, *_ = random_dct(N=64, ratio=0.5)
    >>> made, _ = orthonormal(A, np.arange(64) // 2)
    >>> fit = rvamp(made.A, y, prior=GroupLasso(0.2, made.groups))
    >>> print(fit.prior.of_groups(fit.Pi)[:4].round(3))
    [0.061 0.127 0.16  0.173]
    """

    lam: float
    groups: ArrayLike
    weights: ArrayLike | None = None
    model = (
        "a penalty of the length of each group's contribution to the fit, times the"
        " root of its rank (group Lasso; Yuan and Lin, 2006)"
    )

    def __post_init__(self):
        check_field(self, "lam", 0)
        labels = group_labels(self.groups)
        weights = _group_weights(self.weights, labels)
        vars(self).update(groups=labels, weights=weights)

    @property
    def column_groups(self) -> ColumnGroups:
        """Names, sizes and members of the groups."""
        return groups_of(self.groups)

    def of_groups(self, values: Array) -> Array:
        """Average numbers of columns over each group.

        Parameters
        ----------
        values : (..., N) array
            One for each column.

        Returns
        -------
        (..., G) array
            Means, in the order of `column_groups.names`.
        """
        sums = (self.column_groups.sums @ values.T).T  # six times as fast as the other
        return sums / self.column_groups.sizes

    def pooled(self, values: Array) -> Array:
        """See `Prior.pooled`: means over each group, (..., N)."""
        return self.of_groups(values)[..., self.column_groups.index]

    def received(self, sent: Mixed, message: Natural) -> Natural:
        """See `Prior.received`, by `isotropic-message`."""
        return make_isotropic(sent, message, self.pooled)

    def check(self, N: int, beta: float) -> None:
        """See `Prior.check`."""
        if len(self.groups) != N:
            raise ValueError(
                f"GroupLasso: groups has {len(self.groups)} columns, A has {N}: give"
                " each column of A its group"
            )
        if np.isfinite(beta):
            raise ValueError(f"GroupLasso is for beta = inf, got beta = {beta:g}")

    def check_table(self, A: TableLike) -> None:
        """See `Prior.check_table`: warn of the first group whose columns are far from
        orthonormal once unpenalised columns are projected out. Tables in chunks are not
        checked.
        """
        if not isinstance(A, np.ndarray):
            return
        unpenalized = np.flatnonzero(self.is_unpenalized())
        if len(unpenalized):
            A = project_out(A, unpenalized)
        name = _find_far_group(A, self.column_groups)
        if name is not None:
            problem = f"the columns of group {name!s} are not orthonormal"
            remedy = "Π can be far off; take those of column_groups.orthonormal"
            warnings.warn(f"GroupLasso: {problem}: {remedy}", stacklevel=5)

    def scaled(self, factor: float) -> "GroupLasso":
        """See `Prior.scaled`."""
        return GroupLasso(self.lam * factor, self.groups, self.weights)

    @property
    def penalty_factor(self) -> Array:
        """The weights in units of the default ones, (N,)."""
        groups = self.column_groups
        return self.weights / np.sqrt(groups.sizes[groups.index])

    def is_unpenalized(self) -> Bools:
        """See `Prior.is_unpenalized`: where the weight is 0."""
        return self.weights == 0

    def threshold(self) -> Array:
        """See `Prior.threshold`, (N,)."""
        return self.lam * self.penalty_factor

    def fields(self, incoming: Natural) -> _GroupFields:
        """Compute the field of each group.

        Parameters
        ----------
        incoming : Natural
            The message, (N,) each.

        Returns
        -------
        tuple of (G,) arrays, by name
            Columns k, length of the mean field, variance of the noise in each
            direction, threshold t and precision Q; (G,) each.
        """
        k = self.column_groups.sizes
        return _GroupFields(
            k=k,
            length=np.sqrt(k * self.of_groups(incoming.h**2)),
            noise=self.of_groups(incoming.chi_hat),
            t=self.lam * self.of_groups(self.weights),
            Q=self.of_groups(incoming.Q_hat),
        )

    def in_groups(self, incoming: Natural) -> tuple[GroupMoments, Array, Array]:
        """Compute the moments of each group.

        Parameters
        ----------
        incoming : Natural
            The message, (N,) each.

        Returns
        -------
        moments : GroupMoments
            At precision 1, (G,) each: at precision Q divide means by Q, and variances
            by its square.
        precision, length : (G,) arrays
            Of the field, and of its mean.
        """
        fields = self.fields(incoming)
        moments = radial_moments(fields.k, fields.length, fields.noise, fields.t)
        return moments, fields.Q, fields.length

    def moments(self, incoming: Natural, beta: float = np.inf) -> Moments:
        """See `Prior.moments`: chi is the mean response of a group, (N,)."""
        groups, Q, length = self.in_groups(incoming)
        index = self.column_groups.index
        moments = take_entries(groups, index)
        mean, var = moments.of_members(incoming.h, length[index], Q[index])
        chi = moments.rho / Q[index]
        return Moments(mean, chi, var, moments.rho, moments.rho_bar)

    def Pi(self, incoming: Natural, beta: float = np.inf) -> Array:
        """See `Prior.Pi`: of each column's group."""
        fields = self.fields(incoming)
        share = radial_share(fields.k, fields.length, fields.noise, fields.t)
        return np.minimum(share, 1)[self.column_groups.index]

    def log_partition(self, incoming: Natural, beta: float = np.inf) -> Array:
        """See `Prior.log_partition`: each column has an equal share of its group's."""
        groups, Q, _ = self.in_groups(incoming)
        shares = groups.log_z / Q / self.column_groups.sizes
        return shares[self.column_groups.index]

    def inner(
        self, field: Array, Q_hat: Array, beta: float
    ) -> tuple[Array, Array, Array]:
        """See `Prior.inner`: the threshold of blocks (`block-threshold`)."""
        k = self.column_groups.sizes[self.column_groups.index]
        length = np.sqrt(k * self.pooled(field**2))
        t = self.lam * self.weights
        on = length > t
        shrink = np.where(on, 1 - t / np.where(on, length, 1), 0)
        # per column: 1 along the field, `shrink` in the k - 1 other directions
        response = (on + (k - 1) * shrink) / k / Q_hat
        beyond = np.maximum(length - t, 0)
        return beyond**2 / (2 * k * Q_hat), shrink * field / Q_hat, response

    def marginals(
        self, incoming: Natural, mix: csr_array, unit: Array, names: ArrayLike
    ) -> "P1InGroup":
        """Compute p̄₁, the law across resamples, of combinations of coefficients, each
        within a group.

        The noise is alike in all directions of a group's space. So a combination c'x is
        |c| times one coefficient, along the direction c / |c|, whose mean field h is
        that along this direction; the rest of the group's mean field is across it.

        Parameters
        ----------
        incoming : Natural
            The message, (N,) each.
        mix : (n, N) sparse array
            A row for each combination.
        unit : (n,) array, or () of one
            What its values are multiplied by.
        names : (n,) array, or one name
            What the combinations are called.

        Returns
        -------
        P1InGroup
            Of the n combinations.
        """
        shape = np.shape(unit)
        # the first column of each combination, a row of `mix`, tells its group
        first_column = mix.indices[mix.indptr[:-1]]
        g = np.reshape(self.column_groups.index[first_column], shape)
        # the mean field along the combination; a negative unit turns its direction
        length = np.sqrt(mix.multiply(mix).sum(1))
        h = np.reshape(mix @ incoming.h / np.where(length > 0, length, 1), shape)
        h = h * np.where(unit < 0, -1, 1)
        unit = np.abs(unit * np.reshape(length, shape))
        # its group's field, and moments along and across that field
        fields = take_entries(self.fields(incoming), g)
        all_groups, _, _ = self.in_groups(incoming)
        moments = take_entries(all_groups, g)
        return P1InGroup(
            unit=np.where(unit == 0, 1, unit),  # a zero has no unit
            Q_hat=fields.Q,
            h=h,
            # by Pythagoras, the mean field across the combination
            rest=np.sqrt(np.maximum(fields.length**2 - h**2, 0)),
            s=group_channel.noise_in(fields.length, fields.noise, fields.t),
            t=fields.t,
            k=fields.k,
            atom=1 - np.minimum(moments.Pi, 1),
            moments=moments.of_members(h, fields.length, fields.Q),
            names=names,
        )


class OrthonormalGroups(NamedTuple):
    """Hold a table whose groups of columns are orthonormal, and the way back, as
    `orthonormal` returns them.

    Attributes
    ----------
    A : (M, n) array
        The new columns.
    groups : (n,) array
        The group of each.
    back : (n, N) sparse array
        What the coefficients of the given columns are made of.
    """

    A: Array
    groups: Array
    back: csr_array

    def coefficients(self, x: ArrayLike) -> Array:
        """Compute the coefficients of the given columns.

        Parameters
        ----------
        x : (..., n) array-like
            Coefficients of the new columns.

        Returns
        -------
        (..., N) array
            The same predictions, from the given columns.
        """
        return np.asarray(x) @ self.back


DEPENDENT = 1e-10  # of the largest singular value
# half or twice, 1e-13 and 1e-6, too: the right ranks of 100 groups with combinations


def orthonormal(A, labels):
    """Return `OrthonormalGroups` of an array A (M, N) with labels (N,), and the groups
    that lose columns, {name: (columns, rank)}.
    """
    names, index, sizes, _ = groups_of(labels)
    members = np.split(np.argsort(index, kind="stable"), np.cumsum(sizes)[:-1])
    bases = []
    ranks = []
    back = []
    reduced = {}
    for name, columns in zip(names, members):
        basis, to_basis = _orthonormalise_group(A[:, columns])
        rank = len(to_basis)
        if rank < len(columns):
            reduced[name] = len(columns), rank
        bases.append(basis)
        ranks.append(rank)
        back.append(_spread_columns(to_basis, columns, len(labels)))
    labels_made = np.repeat(names, ranks)
    made = OrthonormalGroups(np.hstack(bases), labels_made, vstack(back, "csr"))
    return made, reduced


def _spread_columns(values, columns, N):
    """Put the columns of an array (r, n) at places `columns`, (n,), of N: return a
    sparse array (r, N).
    """
    r, n = values.shape
    ends_of_rows = n * np.arange(r + 1)
    cells = values.ravel(), np.tile(columns, r), ends_of_rows
    return csr_array(cells, shape=(r, N))


def _orthonormalise_group(A):
    """Return orthonormal columns, (M, r), that span those of A, (M, n), of rank r, and
    the combinations of A's columns that they are, (r, n).
    """
    size = np.linalg.norm(A, axis=0)
    size[size == 0] = 1.0
    # on one scale: units are no reason to drop a column
    U, values, V = np.linalg.svd(A / size, full_matrices=False)
    rank = int(np.sum(values > max(DEPENDENT * values[0], 1e-300)))
    return U[:, :rank], V[:rank] / values[:rank, None] / size


@dataclass(frozen=True, eq=False, repr=False)
class P1InGroup(ShownDensity):
    """Hold p̄₁ of some columns whose groups answer together, an atom at zero and a
    density, as `p1` returns it. All arrays are () or (n,); results have that shape,
    followed by the argument's.

    Attributes
    ----------
    unit : array > 0
        What a coefficient is multiplied by.
    Q_hat : array
        Precision of the field.
    h, rest : arrays
        Mean field of the column, and length of the others' mean fields.
    s : array
        Standard deviation of each field.
    t, k : arrays
        Threshold and number of columns of the group.
    atom : array
        P[x = 0].
    moments : pair of arrays
        Mean and variance in the unit 1.
    names : array, optional
        What the columns are called.

    See Also
    --------
    p1 : Take it from a fit.

    Examples
    --------
    >>> import numpy as np
    >>> from rvamp_nb import GroupLasso, p1, rvamp
    >>> from rvamp_nb.algorithm.column_groups import orthonormal
    >>> from rvamp_nb.datasets import random_dct
    >>> A, y, *_ = random_dct(N=64, ratio=0.5)
    >>> made, _ = orthonormal(A, np.arange(64) // 2)
    >>> fit = rvamp(made.A, y, prior=GroupLasso(0.2, made.groups))
    >>> p1(fit, [0, 1]).atom.round(3)
    array([0.939, 0.939])
    """

    unit: Array
    Q_hat: Array
    h: Array
    rest: Array
    s: Array
    t: Array
    k: Array
    atom: Array
    moments: tuple[Array, Array]
    names: ArrayLike | None = None

    @property
    def mean(self) -> Array:
        """E x."""
        return self.moments[0] * self.unit

    @property
    def std(self) -> Array:
        """Standard deviation across resamples."""
        return np.sqrt(self.moments[1]) * self.unit

    @property
    def var(self) -> Array:
        """Variance across resamples."""
        return self.std**2

    @property
    def scale(self) -> Array:
        """The unit of a coefficient, divided by that of its field."""
        return self.unit / self.Q_hat

    @cached_property
    def _others(self):
        """Lengths of the others' fields, (K, n), and their probabilities."""
        k = np.atleast_1d(self.k)
        rest = np.atleast_1d(self.rest)
        s = np.atleast_1d(self.s)
        t = np.atleast_1d(self.t)
        m = rest / s
        # a column alone in its group has no others: their length is 0
        u, w, _ = group_channel.radii(np.maximum(k - 1, 1), m, t / s - m)
        return np.where(k > 1, s * (m + u), 0.0), w / w.sum(0)

    def _average(self, x, law):
        """Average a law of the field at which a column has the value x over the
        others' lengths; x has one more axis than the columns.
        """
        b, w = [values[..., None] for values in self._others]
        fields = self.scale, self.h, self.s, self.t
        scale, h, s, t = [np.atleast_1d(values)[:, None] for values in fields]
        a, slope = group_channel.field_of_value(
            np.minimum(np.abs(x) / scale, 1e99), b, t
        )
        z = (np.where(x < 0, -a, a) - h) / s
        return (w * law(z, slope * s * scale)).sum(0)

    def _of(self, x, law):
        x = np.asarray(x, dtype=float)
        return self._average(x.reshape(1, -1), law).reshape(np.shape(self.h) + x.shape)

    def pdf(self, x: ArrayLike) -> Array:
        """See `P1.pdf`."""
        return self._of(x, lambda z, slope: phi(z) / slope)

    def cdf(self, x: ArrayLike) -> Array:
        """See `P1.cdf`."""
        return self._of(x, lambda z, slope: ndtr(z))

    def quantile(self, q: ArrayLike) -> Array:
        """See `P1.quantile`: exactly 0 on the atom."""
        q = check_shares(q)
        # where the atom is larger than that, all quantiles are 0: nothing to search
        largest_share = np.max(np.maximum(q, 1 - q), initial=0)
        is_searched = np.ravel(self.atom) <= largest_share
        quantiles = np.zeros((len(is_searched), q.size))
        if is_searched.any():
            quantiles[is_searched] = self._chosen(is_searched)._quantiles(q)
        return quantiles.reshape(np.shape(self.h) + q.shape)

    def _chosen(self, which):
        chosen = {}
        for name in ("unit", "Q_hat", "h", "rest", "s", "t", "k", "atom"):
            chosen[name] = np.ravel(vars(self)[name])[which]
        return replace(self, **chosen)

    def _quantiles(self, q):
        """Find quantiles q of each column by bisection, (n, number of q)."""
        h = np.reshape(self.h, (-1, 1))
        s = np.reshape(self.s, (-1, 1))
        scale = np.reshape(self.scale, (-1, 1))
        q = q.reshape(1, -1)
        # a penalty only moves quantiles towards 0
        unpenalized = (h + s * ndtri(q)) * scale
        low = np.minimum(unpenalized, 0)
        high = np.maximum(unpenalized, 0)

        def below(x):
            return self._average(x, lambda z, _: ndtr(z))

        return halved(low, high, q, below, steps=45)
