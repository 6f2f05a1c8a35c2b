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

from functools import cache
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
    """The places of the entries of blocks, one block for each group of rows.

    A message in blocks is a flat vector (L,): a group of n rows has a block of n x n
    entries there, and groups are sorted by their size.

    Attributes
    ----------
    index : (M,)
        Number of each row's group.
    sums : sparse (M, G)
        1 where a row belongs to a group: ``sums.T @ v`` sums v in each group.
    members : list of (G_n, n)
        The rows of all groups of n rows, for each size n in ascending order.
    row, col : (L,)
        Place of each entry in the matrix M x M.
    diagonal : (M,)
        Place of each row's diagonal entry in the flat vector.

    Notes
    -----
    Where rows 0 and 2 are a group and row 1 is one, ``index`` is (0, 1, 0) and
    ``members`` are [[1]] and [[0, 2]]. A flat vector has the entry of row 1, then the
    four of rows 0 and 2: ``row`` is (1, 0, 0, 2, 2), ``col`` is (1, 0, 2, 0, 2) and
    ``diagonal`` is (1, 0, 4).
    """

    def __init__(self, index):
        """Find the places of all entries; `index`, (M,), numbers each row's group."""
        self.index = np.asarray(index)
        M = len(self.index)
        self.sums = csr_array((np.ones(M), self.index, np.arange(M + 1)))
        sizes = np.bincount(index)  # (G,), rows in each group
        order = np.argsort(self.index, kind="stable")  # the rows, group by group
        own_size = sizes[self.index[order]]  # (M,), of the group of each of these rows
        self.members = [order[own_size == n].reshape(-1, n) for n in np.unique(sizes)]
        # entry (i, j) of a group's block lies in the row of its member i of the M x M
        # matrix, and in the column of its member j
        rows = []
        columns = []
        for m in self.members:
            block_shape = m.shape + m.shape[1:]  # (G_n, n, n)
            rows.append(np.broadcast_to(m[:, :, None], block_shape))
            columns.append(np.broadcast_to(m[:, None], block_shape))
        self.row = self.flat(rows)
        self.col = self.flat(columns)
        # diagonal entries in the order of their rows
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
        blocks = np.zeros((2, len(layout.row)))
        blocks[:, layout.diagonal] = message.Q_hat, message.chi_hat
        return cls(blocks[0], message.h, blocks[1], layout)

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

    This is Mysovskikh's rule (Lu and Darmofal, SIAM J. Sci. Comput. 26, 2004): the
    origin, and the corners and the middles of the edges of a simplex and its mirror
    image, all moved to one sphere.
    """
    if d == 1:
        xi, w = gauss_nodes(ALONE)
        return xi[:, None], w
    # d + 1 unit vectors at equal angles, in a position that treats all coordinates
    # alike
    edge = np.sqrt(1 + 1 / d)
    root = 1 / np.sqrt(d)
    corners = np.vstack([edge * np.eye(d) + (root - edge) / d, np.full(d, -root)])
    first, second = np.triu_indices(d + 1, 1)
    middles = corners[first] + corners[second]
    middles /= np.linalg.norm(middles, axis=1)[:, None]
    on_sphere = np.concatenate([corners, -corners, middles, -middles])
    # weights that make moments of degree 2 and 4 exact; the origin has the rest
    scale = (d + 1) ** 2 * (d + 2) ** 2
    at_corner = d**2 * (7 - d) / (2 * scale)
    at_middle = 2 * (d - 1) ** 2 / scale
    w = np.repeat([at_corner, at_middle], [2 * len(corners), 2 * len(middles)])
    xi = np.concatenate([np.zeros((1, d)), np.sqrt(d + 2) * on_sphere])
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


def _roots_in_directions(X, d):
    """Compute a root, (G, D, d), of covariances X, (G, D, D), in the d <= D directions
    in which each is largest: root root' is X, or the part of X in these directions.

    All roots differ by a rotation. The symmetric one, E sqrt(v) E', changes little
    while X changes little; for d < D the one nearest to it is taken.
    """
    variances, E = np.linalg.eigh(X)
    largest = E[:, :, -d:]
    rotation = E[:, :d, -d:]
    if d < X.shape[-1]:
        left, _, right = np.linalg.svd(rotation)
        rotation = left @ right
    size = np.sqrt(np.maximum(variances[:, None, -d:], 0))
    return (largest * size) @ transposed(rotation)


def _noises(X, fields, d):
    """Place nodes for the noise of G groups of n rows in the d directions in which it
    is largest; return the noise at each node, (K, G, n), and weights, (K,).

    X, (G, n, n), is the noise's covariance. `fields`, (G, n, D) bool, tells which of a
    group's D different fields a row receives (`different_fields`): rows that are copies
    have one field, and one noise.
    """
    # the covariance of the D fields is that of the first row with each
    is_first = fields & (np.cumsum(fields, axis=1) == 1)
    among_fields = both_sides(is_first, X)
    d = min(d, among_fields.shape[-1])
    xi, w = joint_nodes(d)
    roots = fields @ _roots_in_directions(among_fields, d)
    return np.einsum("gid,kd->kgi", roots, xi), w


def _systems(V, C):
    """Compute I + C V for each group, (..., n, n); C has the diagonals, (..., n)."""
    return np.eye(V.shape[-1]) + C[..., None] * V


class _PullProblem(NamedTuple):
    """The equations u = -c l'(y, omega + V u) for the pulls u of G groups of n rows."""

    loss: Loss
    c: float  # how often the rows are drawn, > 0
    y: np.ndarray  # (G, n)
    omega: np.ndarray  # (G, n), the predictions without the pulls
    V: np.ndarray  # (G, n, n), how the pulls move the predictions

    def of(self, groups):
        """Restrict it to some groups, by number."""
        return self._replace(
            y=self.y[groups], omega=self.omega[groups], V=self.V[groups]
        )

    def derivatives(self, u):
        """Compute the slope c l' and the curvature c l'' at pulls u, (G, n) each."""
        count_work(2 * u.size)
        fits = self.omega + times(self.V, u)
        slope, curvature = self.loss.derivatives(self.y, fits)
        return self.c * slope, self.c * curvature

    def energy(self, u):
        """Compute u'V u / 2 plus c times the loss, (G,): least at the solution."""
        count_work(2 * u.size)
        Vu = times(self.V, u)
        return (self.c * self.loss.value(self.y, self.omega + Vu) + u * Vu / 2).sum(1)

    def is_missed(self, u, gap, curvature, largest):
        """Test in which groups pulls u, (G, n), miss the equation by more than
        rounding, (G,) bool. gap, (G, n), is u + c l', and curvature is c l''; `largest`
        is the largest pull of all groups, the scale of the tolerance.
        """
        # rounding of the prediction omega + V u moves c l' by the curvature times it
        size = np.abs(self.omega) + times(np.abs(self.V), np.abs(u))
        rounding = 4 * ROUNDING * (curvature * size).max(1)
        return np.abs(gap).max(1) > 1e-11 * largest + rounding


def group_pulls(loss, y, omega, c, V):
    """Solve u = -c l'(y, omega + V u), c > 0, for the pulls u of G groups of n rows at
    K fields; return u and the curvature c l'', (K, G, n) each.

    y, (G, n), is the target, omega, (K, G, n), the prediction without the pulls, and V,
    (G, n, n), says how the pulls move it. Where a prediction is not finite all is nan.
    """
    n = omega.shape[-1]
    n_fields = len(omega)
    if not np.isfinite(omega).all():  # the messages ran away: no step is worth taking
        return np.full((2,) + omega.shape, np.nan)
    start = np.zeros(omega.shape)
    if n_fields > 1:
        start = _linear_start(loss, y, omega, c, V)
    # each field of a group is a problem of its own, for some converge before others
    group = np.tile(np.arange(len(V)), n_fields)
    problem = _PullProblem(loss, c, y[group], omega.reshape(-1, n), V[group])
    u, curvature = _by_newton(problem, start.reshape(-1, n))
    return u.reshape(omega.shape), curvature.reshape(omega.shape)


def _linear_start(loss, y, omega, c, V):
    """Guess the pulls at all fields, (K, G, n): solve for the mean prediction, and
    continue linearly from there. Arguments are those of `group_pulls`.
    """
    middle = omega.mean(0)
    problem = _PullProblem(loss, c, y, middle, V)
    u, curvature = _by_newton(problem, np.zeros(middle.shape))
    diagonals = curvature[..., None] * np.eye(middle.shape[-1])
    response = np.linalg.solve(_systems(V, curvature), diagonals)
    return u - times(response, omega - middle)


SHORTEST = 2.0**-40  # step that is tried
HALVES_FIRST = 4  # of a step; from then on each try is an eighth of the one before
SURE = 0.1  # length scales: a step that moves no fit by more is taken as it is
# half or twice of each: the same answers to the eight fits, .99 of the work at least
ROUNDING = np.finfo(float).eps


def _by_newton(problem, u):
    """Solve u + c l'(y, omega + V u) = 0, a `_PullProblem`, by Newton's method; return
    the pulls u and the curvatures C = c l'', (G, n) each, for G groups of n rows.

    u, (G, n), is where it starts. A full step is -(I + C V)^{-1} times the left side;
    `_shorten` keeps it from raising the energy. Groups that have converged, or that no
    step can improve, are left out of the later steps.
    """
    u = u.copy()
    curvature = np.empty_like(u)
    unsolved = np.arange(len(u))  # numbers of groups that have not converged
    for _ in range(100):
        part = problem.of(unsolved)
        v = u[unsolved]
        slope, C = part.derivatives(v)
        curvature[unsolved] = C
        gap = v + slope
        is_far = part.is_missed(v, gap, C, largest=np.abs(u).max())
        far = unsolved[is_far]
        if not len(far):
            break
        systems = _systems(part.V[is_far], C[is_far])
        step = np.linalg.solve(systems, -gap[is_far][..., None])[..., 0]
        move, can_improve = _shorten(part.of(is_far), v[is_far], step)
        u[far] += move
        unsolved = far[can_improve]
        if not len(unsolved):
            break
    return u, curvature


def _shorten(problem, u, step):
    """Shorten Newton's steps from pulls u, (G, n) each, so that no energy increases.
    Return the moves, (G, n), and for which groups another step can improve on them,
    (G,) bool: where rounding decides, none can.
    """
    change_of_fit = np.abs(times(problem.V, step)).max(1)
    is_short = change_of_fit <= SURE * problem.loss.length_scale
    length = _lengths(problem, u, step, is_short)
    move = length[:, None] * step
    changes_pull = np.abs(move).max(1) > ROUNDING * np.abs(u).max(1)
    return move, (length > SHORTEST) & changes_pull


def _lengths(problem, u, step, is_short):
    """Backtrack the lengths of Newton's steps, (G, n), from pulls u, (G, n), until no
    group's energy increases; return the lengths, (G,), 1 for the full step.

    Steps that are short, (G,) bool, are taken in full: their change of energy is below
    rounding. Others are halved `HALVES_FIRST` times, and most need no more; then they
    are divided by 8, which is down to `SHORTEST` in 12 tries in place of 36.
    """
    energy = problem.energy(u)
    length = np.ones(len(u))
    for n_tried in count():
        new_energy = problem.energy(u + length[:, None] * step)
        # not <= in place of >: a nan counts as a rise
        rises = ~(new_energy <= energy + 1e-12 * np.abs(energy))
        too_long = rises & ~is_short & (length > SHORTEST)
        if not too_long.any():
            return length
        length[too_long] /= 2 if n_tried < HALVES_FIRST else 8


STRETCH = 0.75**0.5  # standard deviations of a fit: half the way to the next node
STRETCH_ALONE = STRETCH / 2  # the same in one dimension, of the nodes that weigh most
# half or twice: Π of the six fits of copies moves by up to .001 or .002


class _GroupNodes(NamedTuple):
    """G groups of n rows, and K nodes for the noise of their predictions."""

    loss: Loss
    y: np.ndarray  # (G, n), the targets
    omega: np.ndarray  # (K, G, n), the predictions without the pulls
    w: np.ndarray  # (K,), weights of the nodes
    V: np.ndarray  # (G, n, n), precision that the groups receive
    # over how much of a fit a kinked loss's curvature is averaged, to both sides
    stretch: float  # in standard deviations of the fit ...
    least: float  # ... and at least

    def mean_curvature(self, f):
        """Average l'' over the stretch that each node stands for, around fits f;
        (K, G, n) each.
        """
        mean = np.tensordot(self.w, f, 1)
        var = np.tensordot(self.w, (f - mean) ** 2, 1)
        s = np.maximum(self.stretch * np.sqrt(var), self.least)
        above, _ = self.loss.derivatives(self.y, f + s)
        below, _ = self.loss.derivatives(self.y, f - s)
        return (above - below) / (2 * s)

    def answers(self, c):
        """Solve for the pulls at all nodes, for c draws, c > 0, of rows with a loss
        each; return `_NodeAnswers`. C is diagonal, with the curvatures c l''.
        """
        u, curvature = group_pulls(self.loss, self.y, self.omega, c, self.V)
        if self.loss.kinked:  # nodes miss the kinks: average the curvature around each
            fits = self.omega + times(self.V, u)
            curvature = c * self.mean_curvature(fits)
        slacks = np.linalg.inv(_systems(self.V, curvature))
        return _NodeAnswers(u, slacks, slacks * curvature[..., None, :])

    def joint_answers(self, c):
        """Solve as `answers`, for rows that share one loss (chapter 6.1): C is the
        matrix, (n, n), of its second derivatives, times c.
        """
        u, curvature = self.loss.joint(self.y, self.omega, c, self.V)
        slacks = np.linalg.inv(np.eye(self.V.shape[-1]) + curvature @ self.V)
        responses = slacks @ curvature
        return _NodeAnswers(u, slacks, responses)


class _NodeAnswers(NamedTuple):
    """Pulls of G groups of n rows at K nodes, where C is the curvature of their loss
    and V the precision that they receive.
    """

    u: np.ndarray  # (K, G, n), the pulls
    slacks: np.ndarray  # (K, G, n, n): (I + C V)^{-1}
    responses: np.ndarray  # (K, G, n, n): (I + C V)^{-1} C


class _CountMoments(NamedTuple):
    """Moments of G groups of n rows that are drawn one number of times."""

    mean: np.ndarray  # (G, n), of the pulls
    chi: np.ndarray  # (G, n, n), their response
    slack: np.ndarray  # (G, n, n): 1 - chi V
    excess: np.ndarray  # (G, n, n), covariance of what is not linear in the pulls


def _one_count(nodes, c):
    """Compute the `_CountMoments` of the groups of `_GroupNodes`, drawn c times.

    The pull is split into its mean, a part linear in the noise of the prediction omega,
    and an excess that becomes noise of the message.
    """
    if c == 0:  # no pull at all
        zeros = 0 * nodes.V
        slack = np.eye(zeros.shape[-1]) + zeros
        return _CountMoments(zeros[..., 0], zeros, slack, zeros)
    solve = nodes.joint_answers if nodes.loss.joint else nodes.answers
    u, slacks, responses = solve(c)
    w = nodes.w
    omega = nodes.omega
    slack = np.tensordot(w, slacks, 1)
    mean = np.tensordot(w, u, 1)
    chi = np.tensordot(w, responses, 1)
    noise = omega - np.tensordot(w, omega, 1)
    nonlinear = u - mean + times(chi, noise)  # a pull's linear part is -chi noise
    excess = np.einsum("k,kgi,kgj->gij", w, nonlinear, nonlinear)
    return _CountMoments(mean, chi, slack, excess)


def _frequent_counts(counts):
    """Return the numbers of draws that are not `RARE` and their probabilities, (K,)
    each, which sum to 1.
    """
    draws, probability = counts.nodes()
    is_frequent = probability > RARE
    kept = probability[is_frequent]
    return draws[is_frequent], kept / kept.sum()


def general_blocks(loss, y, incoming, V, X, fields, counts):
    """Yield the `GroupAnswer` of each size of groups, for any convex loss, at beta inf.

    Parameters
    ----------
    y : (M,)
        The targets.
    incoming : BlockNatural
        What the rows receive; its mean field is h, (M,).
    V, X : lists of (G_n, n, n), one for each size n of groups
        Precisions of `incoming`, and covariances of its fields.
    fields : list of bool arrays (G_n, n, D)
        Which rows are copies, with one field (`different_fields`).
    counts
        The law of how often a group is drawn.

    Notes
    -----
    A row's prediction without pulls is omega = -h - noise, where the noise has the
    covariance X across resamples. The pulls, and how they respond to the fields, are
    averaged over nodes of this noise for each number of draws (`_one_count`), then over
    that number (`_average_counts`). Nodes lie in the few `DIRECTIONS` in which the
    noise is largest; each stands for a `STRETCH` of the noise to both sides, over which
    the curvature of a kinked loss is averaged.
    """
    draws, probability = _frequent_counts(counts)
    # least distance over which a kinked loss is averaged: tiny beside the targets
    least = 1e-6 * np.abs(y).max()
    # rows by number, for a loss with weights; of any other loss numbers is y
    one_loss, numbers = loss.numbered(y)
    # noise in as many directions for all sizes, so that they share the nodes
    d = min(DIRECTIONS, max(field.shape[-1] for field in fields))
    stretch = STRETCH_ALONE if d == 1 else STRETCH
    for m, precision, covariance, field in zip(incoming.layout.members, V, X, fields):
        noise, w = _noises(covariance, field, d)
        nodes = _GroupNodes(
            loss=one_loss,
            y=numbers[m],
            omega=-incoming.h[m] - noise,
            w=w,
            V=precision,
            stretch=stretch,
            least=least,
        )
        by_count = [_one_count(nodes, c) for c in draws]
        yield _average_counts(probability, by_count, covariance)


def _average_counts(p, by_count, X):
    """Average the moments of G groups of n rows over the number c of draws; return the
    `GroupAnswer`.

    p, (K,), are the probabilities of K values of c; by_count, a list, has the
    `_CountMoments` at each; X, (G, n, n), is the covariance of the noise in the fields.

    At c draws the pulls are mean_c - chi_c noise + a nonlinear part with the covariance
    excess_c. With the averages mean and chi over c, what the linear response
    mean - chi noise leaves unexplained has the covariance (law of total variance)

        sum_c p_c [excess_c + (mean_c - mean) (mean_c - mean)'
                   + (chi_c - chi) X (chi_c - chi)'],

    and the message's noise is chi^-1 . chi^-1 of that. Its precision is chi^-1 - V,
    where V is the precision that the groups receive. The slack is 1 - chi V, so that
    chi^-1 slack is the same without a difference.
    """
    means = np.array([at_c.mean for at_c in by_count])  # (K, G, n)
    responses = np.array([at_c.chi for at_c in by_count])  # (K, G, n, n)
    slacks = np.array([at_c.slack for at_c in by_count])
    excesses = np.array([at_c.excess for at_c in by_count])
    mean = np.tensordot(p, means, 1)
    chi = np.tensordot(p, responses, 1)
    slack = np.tensordot(p, slacks, 1)
    deviation = means - mean
    gap = responses - chi
    # the three parts of the sum over c, each an average with weights p
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


def _squared_blocks(loss, y, incoming, V, X, counts):
    """Yield the `GroupAnswer` of each size of groups under the squared loss; arguments
    as for `general_blocks`.
    """
    c, w = counts.nodes()
    residual = y + incoming.h  # (M,), without a pull
    for m, precision, covariance in zip(incoming.layout.members, V, X):
        yield squared_block(c / loss.sigma**2, w, precision, covariance, residual[m])


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
        """Compute how the rows answer the message that they receive: return the pulls'
        `Moments`, (M,) each, and the rows' message, a `BlockNatural`.

        y, (M,), are the targets, `incoming` is the `BlockNatural` that the rows
        receive, and counts say how often each group is drawn. Precisions and noises are
        lists of (G_n, n, n), a matrix for each group of n rows, where `Loss.message`
        has a number for each row.

        The message has blocks Q_hat and noise (`GroupAnswer`) and a mean field, (M,):
        under the squared loss, the only one with a closed form and a finite beta, that
        is y; under any other it is chi^-1 mean - h, with the pulls' mean and response
        chi in each group and the field h of `incoming`.
        """
        layout = self.layout
        V = layout.blocks(incoming.Q_hat)
        X = layout.blocks(incoming.chi_hat)
        if isinstance(self.loss, Squared):
            answers = list(_squared_blocks(self.loss, y, incoming, V, X, counts))
            # nan of messages that ran away is handed on, for the iteration to see it
            h = np.where(np.isfinite(incoming.h), y, np.nan)
        else:
            answers = list(
                general_blocks(self.loss, y, incoming, V, X, self.fields, counts)
            )
            # the rows' field in the product of both messages is chi^-1 mean
            fields = [times(_inverse_response(at.chi), at.mean) for at in answers]
            h = layout.of_rows(fields) - incoming.h
        by_size = [_moments_of_rows(*group) for group in zip(answers, V, X)]
        moments = Moments(
            mean=layout.of_rows([rows.mean for rows in by_size]),
            chi=layout.of_rows([rows.chi for rows in by_size]),
            var=layout.of_rows([rows.var for rows in by_size]),
            rho=layout.of_rows([rows.rho for rows in by_size]),
            rho_bar=layout.of_rows([rows.rho_bar for rows in by_size]),
        )
        Q_hat = layout.flat([group.Q_hat for group in answers])
        chi_hat = layout.flat([group.noise for group in answers])
        return moments, BlockNatural(Q_hat, h, chi_hat, layout)

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


def _moments_of_rows(answer, V, X):
    """Compute the `Moments` of single rows, (G, n) each, from the `GroupAnswer` of G
    groups of n rows, which receive precisions V and covariances X, (G, n, n) each.

    A pull responds by chi to its field and to the message's own noise, so the pulls'
    covariance is chi (X + noise) chi'. rho and rho_bar are the diagonals of chi V and
    of the slack 1 - chi V.
    """
    covariance = both_sides(answer.chi, X + answer.noise)  # chi is symmetric
    return Moments(
        mean=answer.mean,
        chi=diagonal(answer.chi),
        var=diagonal(covariance),
        rho=diagonal(answer.chi @ V),
        rho_bar=diagonal(answer.slack),
    )


class _CoupledRows(NamedTuple):
    """Moments of G groups of n rows, and their message, from the coupling."""

    mean: np.ndarray  # (G, n)
    chi: np.ndarray  # (G, n), response
    var: np.ndarray  # (G, n)
    Q_hat: np.ndarray  # (G, n, n), precision of the message
    noise: np.ndarray  # (G, n, n), covariance of its field


def couple_blocks(A, prior_message, message):
    """Solve the coupling, as `couple`, for rows whose message is a `BlockNatural`;
    return `Coupled` with a message to the rows that is one, too.

    A is (M, N), prior_message `Mixed`. The rows are turned so that all blocks of their
    message are diagonal (`Turned`). There `couple` finds the coefficients and the mean
    pulls u; responses and noises within a group, of which it gives the diagonals alone,
    come from `wide_blocks` or `tall_blocks`. `_turn_back` then returns to the rows' own
    coordinates, size by size of the groups. There the message has precisions Q_hat,
    noises chi_hat and the field Q_hat u - A x, (M,).
    """
    layout = message.layout
    turned = row_blocks.diagonalized(A, message)
    solved = lmmse.couple(turned.A, prior_message, turned.message)
    solve_blocks = row_blocks.tall_blocks
    if A.shape[0] <= A.shape[1]:
        solve_blocks = row_blocks.wide_blocks
    blocks = solve_blocks(turned.A, prior_message, turned.message, layout)
    by_size = []  # `_CoupledRows`
    for m, T, T_inv, block in zip(layout.members, turned.T, turned.T_inv, blocks):
        mean = times(T, solved.u.mean[m])
        by_size.append(_turn_back(mean, block, turned.message.chi_hat[m], T, T_inv))
    u = Moments(
        mean=layout.of_rows([rows.mean for rows in by_size]),
        chi=layout.of_rows([rows.chi for rows in by_size]),
        var=layout.of_rows([rows.var for rows in by_size]),
    )
    # the field of a row is Q_hat u minus its prediction
    fields = layout.of_rows([times(rows.Q_hat, rows.mean) for rows in by_size])
    h = fields - A @ solved.x.mean
    receives = A.any(axis=1)  # to the last bit: a row of zeros receives nothing
    pair_receives = receives[layout.row] & receives[layout.col]
    Q_hat = layout.flat([rows.Q_hat for rows in by_size]) * pair_receives
    chi_hat = layout.flat([rows.noise for rows in by_size]) * pair_receives
    return solved._replace(u=u, to_likelihood=BlockNatural(Q_hat, h, chi_hat, layout))


def _turn_back(mean, block, chi_hat, T, T_inv):
    """Return the `_CoupledRows` of G groups of n rows in the rows' own coordinates, in
    which the pulls are u = T u'; u' are those of the turned rows, T as in `Turned`.

    mean, (G, n), is that of u already. `block`, `GroupBlocks` of u', has the response
    S, the precision times response that the group receives, 1 - S, and the covariance
    that others' noise gives to u'. chi_hat,
    (G, n), is the noise of the turned rows themselves, which adds S chi_hat S'.

    In the rows' coordinates a covariance is T . T' and a precision T^-T . T^-1. u' has
    sent the precision 1, so what it receives from the others is S^-1 - 1: computed as
    S^-1 (1 - S), without a difference. A field's noise is S^-1 . S^-1 that of u'.
    """
    response, received, others_noise = block
    own_noise = (response * chi_hat[:, None]) @ transposed(response)
    T_transposed = transposed(T)  # both_sides(T', X) is T X T'
    to_fields = np.linalg.solve(response, T_inv)  # S^-1 T^-1
    return _CoupledRows(
        mean=mean,
        chi=diagonal(both_sides(T_transposed, response)),
        var=diagonal(both_sides(T_transposed, own_noise + others_noise)),
        Q_hat=symmetric(transposed(to_fields) @ received @ T_inv),
        noise=symmetric(both_sides(to_fields, others_noise)),
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
