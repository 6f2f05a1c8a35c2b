"""Groups of rows that share a count: messages in blocks, and losses of whole groups.

Chapter 5.2 derives it; the squared loss and the coupling's blocks are in `row_blocks`.
`BlockNatural` is a message with a matrix for each group, whose places are in a
`BlockLayout`. `GroupedLoss` is a loss whose rows answer group by group: of any loss but
the squared one by nodes in the directions of its field and Newton's steps. A step of
rVAMP finds `couple_blocks` by the class of the message.

>>> import numpy as np
>>> from rvamp_nb import Grouped, Subsample, rvamp
>>> rng = np.random.default_rng(0)
>>> A = rng.normal(size=(40, 3)) / 6
>>> half_of_pairs = Grouped(Subsample(0.5), np.repeat(np.arange(20), 2))
>>> rvamp(A, 3 * A[:, 0] + rng.normal(size=40), 0.5, resampling=half_of_pairs)
Fit(converged in 10 steps; 3 coefficients, 1.9 selected on average)
"""

from functools import cache, partial
from itertools import count
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ..tables.chunked import square_lengths
from . import lmmse, row_blocks
from .likelihood import Loss, Squared, count_work, gauss_nodes
from .linalg import both_sides, diagonal, symmetric, times, transposed
from .messages import Moments, Natural
from .resampling import Grouped
from .row_blocks import GroupAnswer, squared_block

__all__ = [
    "ALONE",
    "BlockLayout",
    "BlockNatural",
    "DIRECTIONS",
    "GroupedLoss",
    "HALVES_FIRST",
    "LARGEST_GROUP",
    "RARE",
    "ROUNDING",
    "SHORTEST",
    "STRETCH",
    "STRETCH_ALONE",
    "SURE",
    "couple_blocks",
    "different_fields",
    "general_blocks",
    "group_loss",
    "group_pulls",
    "joint_nodes",
]


class BlockLayout:
    """The rows of each block, and the places of all blocks' entries in one flat vector,
    (L,); from `index`, (M,), the number of each row's group. `members` are the rows of
    all groups of n rows, (G_n, n), for each n; `row` and `col`, (L,), an entry's place
    in an M x M matrix; `diagonal`, (M,), the place of a row's own entry in the flat
    vector; `sums`, (M, G) and sparse, is 1 where a row belongs to a group.
    """

    def __init__(self, index):
        self.index = np.asarray(index)
        sizes = np.bincount(index)
        ends = np.arange(len(self.index) + 1)
        self.sums = csr_array((np.ones(len(self.index)), self.index, ends))
        order = np.argsort(self.index, kind="stable")
        size = sizes[self.index[order]]
        self.members = [order[size == n].reshape(-1, n) for n in np.unique(sizes)]
        rows = []
        columns = []
        for m in self.members:
            shape = m.shape + m.shape[1:]
            rows.append(np.broadcast_to(m[:, :, None], shape))
            columns.append(np.broadcast_to(m[:, None], shape))
        self.row = self.flat(rows)
        self.col = self.flat(columns)
        on_diagonal = np.flatnonzero(self.row == self.col)
        self.diagonal = on_diagonal[np.argsort(self.row[on_diagonal])]

    def flat(self, blocks):
        """Join all entries of blocks (G_n, n, n), size by size, to a vector (L,)."""
        return np.concatenate([np.ravel(block) for block in blocks])

    def blocks(self, flat):
        """Split a flat vector into a list of blocks (G_n, n, n), size by size."""
        blocks = []
        start = 0
        for m in self.members:
            end = start + m.size * m.shape[1]
            blocks.append(flat[start:end].reshape(m.shape + m.shape[1:]))
            start = end
        return blocks

    def of_rows(self, by_size):
        """Collect one number for each row, (..., M), from a list of (..., G_n, n)."""
        by_size = list(by_size)
        numbers = np.empty(by_size[0].shape[:-2] + self.index.shape)
        for m, values in zip(self.members, by_size):
            numbers[..., m] = values
        return numbers


class BlockNatural(NamedTuple):
    """A message to or from the rows, in its natural view: a block for each group."""

    Q_hat: np.ndarray  # (L,), entries of the precision matrices
    h: np.ndarray  # (M,), mean field
    chi_hat: np.ndarray  # (L,), entries of the fields' covariances
    layout: BlockLayout

    @classmethod
    def of(cls, message, layout):
        """Make it from a message of single coordinates: 0 off the diagonals."""
        Q_hat = np.zeros(len(layout.row))
        Q_hat[layout.diagonal] = message.Q_hat
        chi_hat = np.zeros(len(layout.row))
        chi_hat[layout.diagonal] = message.chi_hat
        return cls(Q_hat, message.h, chi_hat, layout)

    @property
    def diagonal(self):
        """See `Natural.diagonal`."""
        return self.layout.diagonal

    def alone(self):
        """Return the diagonals, what each coordinate receives alone: `Natural`."""
        return Natural(self.Q_hat[self.diagonal], self.h, self.chi_hat[self.diagonal])

    def coordinates(self):
        """Return vectors to damp: logarithms of diagonals with correlations, and h."""
        Q = _coordinates(self.Q_hat, self.layout)
        chi = _coordinates(self.chi_hat, self.layout)
        return [Q, self.h, chi]

    def at(self, z):
        """Return the message with these coordinates."""
        L = len(self.Q_hat)
        Q = _entries(z[:L], self.layout)
        chi = _entries(z[-L:], self.layout)
        return BlockNatural(Q, z[L:-L], chi, self.layout)

    def uncoupled(self, A):
        """See `Natural.uncoupled`; in coordinates in which every block is diagonal."""
        turned = row_blocks.diagonalized(A, self)

        def turn_back(U):
            for m, T in zip(self.layout.members, turned.T):
                U[m] = T @ U[m]
            return U

        return turned.A, turned.message, turn_back


def _coordinates(flat, layout):
    """Convert entries to logarithms (diagonal) and correlations, (L,)."""
    scale = flat[layout.diagonal]
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.sqrt(scale[layout.row] * scale[layout.col])
        z = np.where(size > 0, flat / size, 0.0)
        z[layout.diagonal] = np.log(scale)
    return z


def _entries(z, layout):
    """Convert logarithms and correlations to entries, (L,)."""
    scale = np.exp(z[layout.diagonal])
    with np.errstate(invalid="ignore"):  # the diagonal, which is written next
        flat = z * np.sqrt(scale[layout.row] * scale[layout.col])
    flat[layout.diagonal] = scale
    return flat


DIRECTIONS = 6  # of a group's field that are followed by nodes; the rest is linear
# half: Π of eight fits with groups of 2 to 10 rows moves by up to .008, in .65 of the
# work; twice: weights of nodes are below 0
ALONE = 13  # nodes of Gauss in one dimension, as many as there are in two
# of rows that are copies; half: Π of six fits moves by up to .005, in .85 of the work;
# twice: by 6e-4, in 1.34
RARE = 1e-8  # counts rarer than that are left out
# half: one count more, and Π of the eight fits moves by up to 4e-4; twice: nothing


@cache
def joint_nodes(d):
    """Place nodes (K, d) with weights > 0 (K,) for averages over d <= 6 standard
    normals, exact for polynomials up to degree 5; K = 1 + (d + 1)(d + 2), or `ALONE`
    for d = 1.
    """
    if d == 1:
        xi, w = gauss_nodes(ALONE)
        return xi[:, None], w
    # the corners of a simplex that treats all coordinates alike, and the middles of
    # its edges, on one sphere, with both signs
    edge = np.sqrt(1 + 1 / d)
    root = 1 / np.sqrt(d)
    corners = np.vstack([edge * np.eye(d) + (root - edge) / d, np.full(d, -root)])
    first, second = np.triu_indices(d + 1, 1)
    middles = corners[first] + corners[second]
    middles /= np.linalg.norm(middles, axis=1)[:, None]
    ends = np.concatenate([corners, -corners, middles, -middles])
    # weights that make moments of degree 2 and 4 exact; the centre has the rest
    scale = (d + 1) ** 2 * (d + 2) ** 2
    at_corner = d**2 * (7 - d) / (2 * scale)
    at_middle = 2 * (d - 1) ** 2 / scale
    w = np.repeat([at_corner, at_middle], [2 * len(corners), 2 * len(middles)])
    xi = np.concatenate([np.zeros((1, d)), np.sqrt(d + 2) * ends])
    return xi, np.append(1 - w.sum(), w)


def different_fields(A, layout):
    """Find the rows of each group that are copies in A. Yield, for each size n of
    groups, a bool array (G_n, n, D): whether a row receives the field of that number.
    """
    projected = A @ np.random.default_rng(0).normal(size=A.shape[1])  # equal for copies
    for m in layout.members:
        v = projected[m]
        is_copy = np.isclose(v[:, :, None], v[:, None], rtol=1e-9, atol=0)
        # a row has the field of its first copy; fields are numbered in that order
        first = np.argmax(is_copy, axis=2)
        is_first = first == np.arange(m.shape[1])
        number = np.cumsum(is_first, axis=1) - 1
        number = np.take_along_axis(number, first, axis=1)
        yield number[:, :, None] == np.arange(number.max() + 1)


def _noises(X, fields, d):
    """Place nodes for the field's noise in d directions, (K, G, n), with weights (K,);
    for G groups of n rows, with its covariances X (G, n, n) and their
    `different_fields`.
    """
    first = fields & (np.cumsum(fields, axis=1) == 1)
    X = transposed(first) @ X @ first
    n = min(d, X.shape[-1])
    xi, w = joint_nodes(d)
    values, E = np.linalg.eigh(X)
    largest = E[:, :, -n:]
    # the symmetric root of X, or what is nearest to it in fewer directions: nodes that
    # change little while X changes little
    back = E[:, :n, -n:]
    if n < X.shape[-1]:
        left, _, right = np.linalg.svd(back)
        back = left @ right
    size = np.sqrt(np.maximum(values[:, None, -n:], 0))
    root = (largest * size) @ transposed(back)
    return np.einsum("gid,kd->kgi", fields @ root, xi[:, :n]), w


def _systems(V, C):
    """Compute I + C V for each group, (..., n, n); C has the diagonals, (..., n)."""
    return np.eye(V.shape[-1]) + C[..., None] * V


def group_pulls(loss, y, omega, c, V):
    """Solve u = -c l'(y, omega + V u), c > 0, for the pulls u of G groups of n rows at
    K fields; return u and the curvature c l'', (K, G, n) each like the predictions
    omega. y is (G, n), V (G, n, n).
    """
    shape = omega.shape
    n = shape[-1]
    if not np.isfinite(omega).all():  # the messages ran away: no step is worth taking
        return np.full((2,) + shape, np.nan)
    start = np.zeros(shape)
    if len(omega) > 1:  # linear around the solution at the mean prediction
        middle = omega.mean(0)
        (u,), (C,) = group_pulls(loss, y, middle[None], c, V)
        diagonals = C[..., None] * np.eye(n)
        K = np.linalg.solve(_systems(V, C), diagonals)
        start = u - times(K, omega - middle)
    # each field of a group is a problem of its own, for some converge before others
    group = np.tile(np.arange(len(V)), len(omega))
    omega = omega.reshape(-1, n)
    start = start.reshape(-1, n)
    u, C = _by_newton(loss, y[group], omega, c, V[group], start)
    return u.reshape(shape), C.reshape(shape)


SHORTEST = 2.0**-40  # step that is tried
HALVES_FIRST = 4  # of a step; from then on each try is an eighth of the one before
SURE = 0.1  # length scales: a step that moves no fit by more is taken as it is
# half or twice of each: the same answers to the eight fits, .99 of the work at least
ROUNDING = np.finfo(float).eps


def _take_groups(which, arrays):
    """Return the entries of each array for some groups alone."""
    return [values[which] for values in arrays]


def _by_newton(loss, y, omega, c, V, u):
    """Solve u = -c l'(y, omega + V u) by Newton's method from pulls u; return pulls and
    curvatures, (G, n) each. One field for each of G groups; other arguments as for
    `group_pulls`.
    """
    u = u.copy()
    C = np.empty_like(u)
    groups = np.arange(len(u))  # those that have not converged
    for _ in range(100):
        v = u[groups]
        count_work(2 * v.size)
        slope, curvature = loss.derivatives(y, omega + times(V, v))
        gap = v + c * slope
        C[groups] = c * curvature
        # rounding of the prediction limits the gap where V is large
        size = np.abs(omega) + times(np.abs(V), np.abs(v))
        rounding = 4 * ROUNDING * (C[groups] * size).max(1)
        far = np.abs(gap).max(1) > 1e-11 * np.abs(u).max() + rounding
        if not far.any():
            break
        groups, v, y, omega, V = _take_groups(far, (groups, v, y, omega, V))
        systems = _systems(V, C[groups])
        step = np.linalg.solve(systems, -gap[far][..., None])[..., 0]
        short = np.abs(times(V, step)).max(1) <= SURE * loss.length_scale
        length = _lengths(loss, y, omega, c, V, v, step, short)
        move = length[:, None] * step
        u[groups] = v + move
        # rounding: no shorter step lowers the energy, or the step changes no pull
        changes = np.abs(move).max(1) > ROUNDING * np.abs(v).max(1)
        moving = (length > SHORTEST) & changes
        groups, y, omega, V = _take_groups(moving, (groups, y, omega, V))
        if not len(groups):
            break
    return u, C


def _lengths(loss, y, omega, c, V, u, step, short):
    """Backtrack the lengths of Newton's steps until no group's energy increases; return
    them, (G,). Steps that are `short`, (G,) bool, are taken in full: their change of
    energy is below rounding.
    """

    def energy(u):
        count_work(2 * u.size)
        Vu = times(V, u)
        return (c * loss.value(y, omega + Vu) + u * Vu / 2).sum(1)

    start = energy(u)
    length = np.ones(len(u))
    for n_tried in count():
        end = energy(u + length[:, None] * step)
        rises = ~(end <= start + 1e-12 * np.abs(start))  # true for nan, too
        too_long = rises & ~short & (length > SHORTEST)
        if not too_long.any():
            return length
        length[too_long] /= 2 if n_tried < HALVES_FIRST else 8


STRETCH = 0.75**0.5  # standard deviations of a fit: half the way to the next node
STRETCH_ALONE = STRETCH / 2  # the same in one dimension, of the nodes that weigh most
# half or twice: Π of the six fits of copies moves by up to .001 or .002


def _mean_curvature(loss, y, f, w, least, stretch=STRETCH):
    """Average l'' over the stretch that each node stands for, (K, ...), of fits f,
    (K, ...); the stretch extends to both sides by `least` at least.
    """
    mean = np.tensordot(w, f, 1)
    var = np.tensordot(w, (f - mean) ** 2, 1)
    s = np.maximum(stretch * np.sqrt(var), least)
    above, _ = loss.derivatives(y, f + s)
    below, _ = loss.derivatives(y, f - s)
    return (above - below) / (2 * s)


class _CountMoments(NamedTuple):
    """Moments of G groups of n rows that are drawn one number of times."""

    mean: np.ndarray  # (G, n), of the pulls
    chi: np.ndarray  # (G, n, n), their response
    slack: np.ndarray  # (G, n, n): 1 - V chi
    excess: np.ndarray  # (G, n, n), covariance of what is not linear in the pulls


def _one_count(loss, y, omega, w, c, V, least, stretch=STRETCH):
    """Compute the `_CountMoments` of groups of one size, drawn c times.

    Their predictions are at K nodes omega, (K, G, n), with weights w; y is (G, n), V,
    (G, n, n), the precision that they receive; least and stretch are for
    `_mean_curvature`.
    """
    identity = np.eye(V.shape[-1])
    if c == 0:  # no pull at all
        zeros = 0 * V
        return _CountMoments(zeros[..., 0], zeros, identity + zeros, zeros)
    if loss.joint:  # rows that share one loss, chapter 6.1
        u, C = loss.joint(y, omega, c, V)
        slacks = np.linalg.inv(identity + C @ V)
        responses = slacks @ C
    else:
        u, C = group_pulls(loss, y, omega, c, V)
        if loss.kinked:  # nodes miss the kinks: average the curvature around each
            f = omega + times(V, u)
            C = c * _mean_curvature(loss, y, f, w, least, stretch)
        slacks = np.linalg.inv(_systems(V, C))
        responses = slacks * C[..., None, :]
    slack = np.tensordot(w, slacks, 1)
    mean = np.tensordot(w, u, 1)
    chi = np.tensordot(w, responses, 1)
    noise = omega - np.tensordot(w, omega, 1)
    nonlinear = u - mean + times(chi, noise)
    excess = np.einsum("k,kgi,kgj->gij", w, nonlinear, nonlinear)
    return _CountMoments(mean, chi, slack, excess)


def general_blocks(loss, y, incoming, V, X, fields, counts):
    """Yield the `GroupAnswer` of each size of groups, for any convex loss, at beta inf.

    V and X, lists of (G_n, n, n), are the precisions and covariances that they receive,
    and fields are `different_fields`.
    """
    c, p = counts.nodes()
    is_frequent = p > RARE
    c = c[is_frequent]
    p = p[is_frequent] / p[is_frequent].sum()
    least = 1e-6 * np.abs(y).max()
    loss, y = loss.numbered(y)
    # as many directions for all sizes, so that they share the nodes
    d = min(DIRECTIONS, max(field.shape[-1] for field in fields))
    stretch = STRETCH
    if d == 1:
        stretch = STRETCH_ALONE
    for m, v, x, field in zip(incoming.layout.members, V, X, fields):
        noise, w = _noises(x, field, d)
        omega = -incoming.h[m] - noise
        by_count = []
        for draws in c:
            moments = _one_count(loss, y[m], omega, w, draws, v, least, stretch)
            by_count.append(moments)
        yield _average_counts(p, by_count, x)


def _average_counts(p, by_count, X):
    """Average a list of `_CountMoments` over the counts, with probabilities p (K,);
    return the `GroupAnswer`. X, (G, n, n), is the covariance of the groups' fields.
    """
    means, chis, slacks, excesses = map(np.array, zip(*by_count))
    mean = np.tensordot(p, means, 1)
    chi = np.tensordot(p, chis, 1)
    slack = np.tensordot(p, slacks, 1)
    # means and responses that depend on the count add to the noise
    deviation = means - mean
    gap = chis - chi
    noise = np.tensordot(p, excesses, 1)
    noise += np.einsum("k,kgi,kgj->gij", p, deviation, deviation)
    noise += np.tensordot(p, gap @ X @ transposed(gap), 1)
    inverse = _inverse_response(symmetric(chi))
    Q_hat = symmetric(inverse @ slack)
    return GroupAnswer(mean, chi, slack, Q_hat, inverse @ noise @ inverse)


def _inverse_response(chi):
    """Invert chi; a direction without response gets a small one, to stay finite."""
    values, E = np.linalg.eigh(chi)
    values = np.maximum(values, 1e-10 * values[:, -1:] + 1e-100)
    return (E / values[:, None]) @ transposed(E)


class GroupedLoss(Loss):
    """A loss (Squared, or any Loss) whose rows are treated group by group, with one
    count for each; index, (M,), is the number of each row's group. A, (M, N), shows
    which rows of a group are copies; without it none is.
    """

    plain = property(lambda self: self.loss.plain)

    def __init__(self, loss, index, A=None):
        self.loss = loss
        self.layout = BlockLayout(index)
        if A is None:
            A = np.arange(len(index))[:, None] + 1.0
        self.fields = list(different_fields(A, self.layout))
        self.value = loss.value
        self.derivatives = loss.derivatives

    def message(self, y, incoming, counts, beta=np.inf):
        """See `Loss.message`, with both messages in Blocks."""
        V = self.layout.blocks(incoming.Q_hat)
        X = self.layout.blocks(incoming.chi_hat)
        if not isinstance(self.loss, Squared):
            fields = self.fields
            answers = general_blocks(self.loss, y, incoming, V, X, fields, counts)
            return _with_message(incoming, X, V, answers)
        c, w = counts.nodes()
        target = y + incoming.h
        z = [target[m] for m in self.layout.members]
        answers = map(partial(squared_block, c / self.loss.sigma**2, w), V, X, z)
        return _with_message(incoming, X, V, answers, y + 0 * incoming.h)

    def log_partition(self, *args):
        """Refuse it: a TypeError."""
        raise TypeError("a free energy is not had for rows in groups (Grouped counts)")

    def initial_message(self, message):
        """Return a message in blocks; one of single rows has 0 off the diagonals."""
        if not isinstance(message, BlockNatural):
            return BlockNatural.of(message, self.layout)
        if not np.array_equal(message.layout.index, self.layout.index):
            raise ValueError("warm_start has other groups of rows than counts")
        return message

    def pull_noise(self, slope, A, each):
        """Sum the squares of the groups' pulls on each column: (N,)."""
        return square_lengths((self.layout.sums * slope[:, None]).T @ A)


def _with_message(incoming, X, V, answers, target=None):
    """Collect `GroupAnswer`s, one for each size of groups: return the rows' `Moments`
    and their message in blocks.

    V and X are the blocks of the message `incoming`; target, (M,), is the mean of the
    message, by default that which follows from the mean pulls.
    """
    layout = incoming.layout
    mean, chi, slack, Q_hat, noise = zip(*answers)

    def diagonals(blocks):
        return layout.of_rows(map(diagonal, blocks))

    var = [both_sides(c, x + t) for c, x, t in zip(chi, X, noise)]  # chi is symmetric
    rho = map(np.matmul, chi, V)
    moments = Moments(
        mean=layout.of_rows(mean),
        chi=diagonals(chi),
        var=diagonals(var),
        rho=diagonals(rho),
        rho_bar=diagonals(slack),
    )
    if target is None:
        pulled = map(times, map(_inverse_response, chi), mean)
        target = layout.of_rows(pulled) - incoming.h
    message = BlockNatural(layout.flat(Q_hat), target, layout.flat(noise), layout)
    return moments, message


class _CoupledRows(NamedTuple):
    """Moments and message of G groups of n rows, from the coupling."""

    mean: np.ndarray  # (G, n)
    chi: np.ndarray  # (G, n), response
    var: np.ndarray  # (G, n)
    V: np.ndarray  # (G, n, n), precision of the message
    X: np.ndarray  # (G, n, n), its noise


def couple_blocks(A, prior_message, message):
    """Solve the coupling, as `couple`, for rows whose messages are blocks."""
    layout = message.layout
    turned = row_blocks.diagonalized(A, message)
    rows = turned.message
    solved = lmmse.couple(turned.A, prior_message, rows)
    solve = (
        row_blocks.wide_blocks if A.shape[0] <= A.shape[1] else row_blocks.tall_blocks
    )
    blocks = solve(turned.A, prior_message, rows, layout)
    by_size = []
    for m, T, T_inv, block in zip(layout.members, turned.T, turned.T_inv, blocks):
        mean = times(T, solved.u.mean[m])
        by_size.append(_turn_back(mean, block, rows.chi_hat[m], T, T_inv))
    mean, chi, var, V, X = zip(*by_size)
    moments = Moments(layout.of_rows(mean), layout.of_rows(chi), layout.of_rows(var))
    pulled = layout.of_rows(map(times, V, mean))
    receives = A.any(axis=1)  # to the last bit: a row of zeros receives nothing
    receives = receives[layout.row] & receives[layout.col]
    h = pulled - A @ solved.x.mean
    V = layout.flat(V) * receives
    X = layout.flat(X) * receives
    return solved._replace(u=moments, to_likelihood=BlockNatural(V, h, X, layout))


def _turn_back(mean, block, chi_hat, T, T_inv):
    """Return the `_CoupledRows` of groups of one size in the coordinates of their rows.

    mean, (G, n), is already in these; block is what `wide_blocks` yields, chi_hat, (G,
    n), the noise of the rows as they were turned, T and T_inv are those of `Turned`.
    """
    S, received, others_noise = block
    P = (S * chi_hat[:, None]) @ transposed(S) + others_noise
    turn_back = transposed(T)
    half = np.linalg.solve(S, T_inv)
    return _CoupledRows(
        mean=mean,
        chi=diagonal(both_sides(turn_back, S)),
        var=diagonal(both_sides(turn_back, P)),
        V=symmetric(transposed(half) @ received @ T_inv),
        X=symmetric(both_sides(half, others_noise)),
    )


@lmmse.couple_rows.register
def _rows_in_groups(rows: BlockNatural, A, prior, *_):
    return couple_blocks(A, prior, rows)


LARGEST_GROUP = 200  # rows; blocks of that size fit in memory and in time
# 10,000 rows in such groups have messages of 2 million numbers each, 16 MB; half: 8 MB
# and a quarter of the operations; twice: 32 MB and four times as many


def group_loss(loss, counts, A, y, beta):
    """Return a `GroupedLoss` where rows share a count, else the loss itself. Refuse
    groups of other rows, groups that are too large, and finite beta where it has no
    posteriors.
    """
    if not isinstance(counts, Grouped):
        return loss
    row_blocks.check_rows_in_memory(A)
    largest = np.bincount(counts.index).max()
    if largest > LARGEST_GROUP:
        raise ValueError(
            f"counts: a group has {largest} rows, and blocks of more than"
            f" {LARGEST_GROUP} do not fit; give smaller groups"
        )
    n = len(counts.index)
    if n != len(y):
        raise ValueError(f"counts: groups has {n} labels, but y has {len(y)} rows")
    if largest == 1:
        return loss
    if np.isfinite(beta) and not isinstance(loss, Squared):
        raise ValueError(
            f"{type(loss).__name__} with groups of rows is for beta = inf, got"
            f" {beta:g}: leave it out, or take Squared(sigma)"
        )
    return GroupedLoss(loss, counts.index, A)
