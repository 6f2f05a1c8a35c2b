"""Clusters of columns that nearly repeat each other, in the iteration of rVAMP.

Chapter 4.7 derives it; the field of a cluster, its small Lassos and its message are in
`cluster_channel`. `find_clusters` joins columns by their correlations, and
`ClusteredPrior` is a prior that treats them together: in coordinates in which a
cluster's coefficients are independent, so that the coupling does not change.

>>> import numpy as np
>>> from rvamp_nb import rvamp, with_clusters
>>> rng = np.random.default_rng(0)
>>> A = rng.normal(size=(60, 4)) / 8
>>> A[:, 3] = A[:, 0] + 0.02 * rng.normal(size=60)
>>> fit = with_clusters(rvamp(A, 5 * A[:, 0] + rng.normal(size=60), 0.5))
>>> [cluster.tolist() for cluster in fit.column_clusters]
[[0, 3]]
"""

from collections import namedtuple
from typing import NamedTuple

import numpy as np

from ..tables.chunked import check_in_memory, chunk_axis
from . import cluster_channel, lmmse
from .cluster_channel import NODES, CavityInput, moment_view
from .groups import BlockLayout, BlockNatural
from .linalg import diagonal, symmetric, times, transposed
from .messages import Mixed, Moments, MomentView, take_entries
from .prior import Prior
from .problem import MATTERS, Breakdown
from .step import WithIntercept, message_to_coupling, reply

__all__ = [
    "COPIES",
    "CORRELATED",
    "ClusteredPrior",
    "LARGEST",
    "RotatedMessage",
    "WIDEST",
    "check_clusters",
    "check_indices",
    "find_clusters",
    "put_in_clusters",
    "values_at_nodes",
]


class RotatedMessage(namedtuple("Turned", Mixed._fields + ("view", "turns", "layout"))):
    """The message of a prior with clusters: as `Mixed`, with each cluster in its own
    coordinates. `view`, MomentView, is the message in the moment view; `turns` has J
    and its inverse for each size of the clusters of a `BlockLayout`.
    """

    __slots__ = ()

    @property
    def members(self):
        """The columns of the clusters, (B, d), for each size."""
        return [m for m in self.layout.members if m.shape[1] > 1]

    def turn(self, A):
        """Turn columns (M, N) to these coordinates: A J in place of A in a cluster."""
        A = A.copy()
        for m, (J, _) in zip(self.members, self.turns):
            A[:, m] = np.einsum("mbd,bde->mbe", A[:, m], J)
        return A

    def coupled(self, A, rows):
        """Solve the coupling, as `couple`; the message back is in clusters."""
        A = self.turn(A)
        message = Mixed._make(self[:7])
        solved = lmmse.couple_rows(rows, A, message)  # in groups, chapter 5.2
        columns = np.concatenate([m.ravel() for m in self.members])
        inputs = cluster_channel.cavity_input(
            A, self.view, rows, solved.u.mean, columns
        )
        return _to_columns(solved, self, inputs)


@lmmse.couple_both.register
def _columns_in_clusters(prior: RotatedMessage, rows, A, *_):
    return prior.coupled(A, rows)


def _to_columns(solved, message, inputs):
    """Turn a `Coupled` in the coordinates x' of clusters back to the coefficients
    x = J x' of their columns; return a `Coupled` whose message to the prior is a
    `BlockNatural`.

    `message` is the `RotatedMessage` to the coupling: B clusters of each size d have
    columns (B, d) in `members`, and J and its inverse, (B, d, d) each, in `turns`.
    `inputs` is the `CavityInput` of all columns in clusters, one cluster after the
    other in the order of `members`.

    Each size d is converted on its own (`_message_to_columns`): moments of x and the
    mean field h are replaced in copies, where (N,) arrays have these columns; blocks of
    precisions and noises come after those of single columns, which stay as they are.
    """
    x = Moments(
        mean=solved.x.mean.copy(), chi=solved.x.chi.copy(), var=solved.x.var.copy()
    )
    h = solved.to_prior.h.copy()
    sent = []  # `CavityInput` for each size of clusters
    start = 0  # where the columns of a size begin in `inputs`
    for columns, turn in zip(message.members, message.turns):
        places = start + np.arange(columns.size).reshape(columns.shape)
        start += columns.size
        to_size, response, covariance = _message_to_columns(
            inputs.of(places), turn, message.r[columns], message.T[columns]
        )
        sent.append(to_size)
        h[columns] = to_size.mean
        J, _ = turn
        x.mean[columns] = times(J, x.mean[columns])
        x.chi[columns] = diagonal(response)
        x.var[columns] = diagonal(covariance)
    # a layout has sizes in ascending order: single columns, if there are any, are first
    layout = message.layout
    n_kept = len(layout.members) - len(message.members)
    single = BlockNatural.of(solved.to_prior, layout)
    precisions = layout.blocks(single.Q_hat)[:n_kept]
    precisions += [to_size.Sigma for to_size in sent]
    noises = layout.blocks(single.chi_hat)[:n_kept]
    noises += [to_size.noise for to_size in sent]
    to_prior = BlockNatural(layout.flat(precisions), h, layout.flat(noises), layout)
    return solved._replace(x=x, to_prior=to_prior)


def _message_to_columns(inputs, turn, r, t):
    """Compute the message to clusters of d columns, a `CavityInput`, and the clusters'
    response and covariance, (B, d, d) each, in the coordinates x of their columns.

    `turn` is J, (B, d, d), with x = J x', and its inverse. In the coordinates x' the
    coefficients are independent: the prior's message has the response 1, means r and
    variances t, (B, d) each. `inputs` is the `CavityInput` of the turned columns with
    their cluster: pull g, response S and noise P. Without it, with K = (I - S)^-1,

        field K (g + S r),   precision K S,   noise K (P - S T S) K',   T = Di(t)

    (`cluster-cavity`). The response of x' is I - S, and its covariance
    (I - S) T (I - S) + P - S T S (`cluster-covariance`).
    """
    J, J_inv = turn
    S = inputs.Sigma
    cavity = cluster_channel.cavity_of(inputs, np.ones(r.shape), r, t)
    # rounding may leave negative eigenvalues in the noise: take their part away
    values, E = np.linalg.eigh(symmetric(cavity.noise))
    noise = cavity.noise - (E * np.minimum(values, 0)[:, None]) @ transposed(E)
    response = np.eye(r.shape[1]) - S
    T = t[:, None]
    covariance = (response * T) @ response + inputs.noise - (S * T) @ S
    # to the columns: fields by J^-T, precisions by J^-T . J^-1, covariances by J . J'
    back = transposed(J_inv)
    message = CavityInput(
        mean=times(back, cavity.mean),
        Sigma=symmetric(back @ cavity.Sigma @ J_inv),
        noise=symmetric(back @ noise @ J_inv),
    )
    J_T = transposed(J)
    return message, J @ response @ J_T, J @ covariance @ J_T


COPIES = 1e-11  # what is added to a cluster's precision, in units of its diagonal
# half or twice: the same Π, to four digits, on six tables of 80 rows


def _make_definite(Q):
    """Make precisions (B, d, d) definite, so that exact copies have equal shares; a
    `Breakdown` where one is negative by more than rounding.
    """
    scale = np.sqrt(diagonal(Q))
    correlations = Q / scale[..., None] / scale[:, None]
    least = np.linalg.eigvalsh(correlations)[:, :1]
    if not (least > -1e-5).all():
        raise Breakdown("Q_hat_1x of a cluster is not positive definite")
    added = (COPIES - 2 * np.minimum(least, 0)) * scale**2
    return Q + added[..., None] * np.eye(Q.shape[-1])


class _SolvedClusters(NamedTuple):
    """B clusters of d columns, solved in their fields."""

    moments: Moments  # (B, d) each, of the coefficients x
    turn: tuple  # J and its inverse, (B, d, d): x = J x' with independent x'
    view: MomentView  # message about x', (B, d): D is 1


def _solve_clusters(prior, m, N, cavity):
    """Solve clusters of columns m, (B, d), of N, at the nodes of their `CavityInput`;
    return the `_SolvedClusters`.
    """
    nodes = cluster_channel.at_quadrature(prior, m, N, cavity)
    x, sent = cluster_channel.cluster_message(nodes, cavity)
    turn, t = cluster_channel.decorrelating_basis(sent.D, sent.T)
    rho = diagonal(x.chi @ cavity.Sigma)
    moments = Moments(x.mean, diagonal(x.chi), diagonal(x.var), rho, 1 - rho)
    return _SolvedClusters(moments, turn, MomentView(1.0, times(turn[1], sent.r), t))


def _put_entries(vectors, places, values):
    """Write values into each of some vectors, in place."""
    for vector, new in zip(vectors, values):
        vector[places] = new


class ClusteredPrior(Prior):
    """A penalty, or WithIntercept of one, that treats some of N columns cluster by
    cluster; clusters are int arrays, with no column in two.
    """

    whole = None

    def __init__(self, whole, clusters, N):
        self.whole = whole
        self.column_clusters = clusters
        self.N = N
        self.is_unpenalized = whole.is_unpenalized
        self.selects = whole.selects
        self.prior = whole
        if isinstance(whole, WithIntercept):
            self.prior = whole.prior
        number = np.arange(N + (whole is not self.prior))
        for cluster in clusters:
            number[cluster] = cluster[0]
        self.layout = BlockLayout(np.unique(number, return_inverse=True)[1])

    def initial_message(self, message):
        """Return a message with one number for each column as one in clusters."""
        return BlockNatural.of(message, self.layout)

    def one_by_one(self, incoming, n=NODES, start=0):
        """Yield columns (1, d) and `Nodes` of each cluster."""
        for m, cavities in self.cavities(incoming):
            for b in range(len(m)):
                columns = m[[b]]
                cavity = take_entries(cavities, [b])
                nodes = cluster_channel.at_quadrature(
                    self.prior, columns, self.N, cavity, n, start
                )
                yield columns, nodes

    def cavities(self, incoming):
        """Yield columns (B, d) and their `CavityInput`, for each size of clusters."""
        precisions = self.layout.blocks(incoming.Q_hat)
        noises = self.layout.blocks(incoming.chi_hat)
        for m, Q, C in zip(self.layout.members, precisions, noises):
            if m.shape[1] > 1:
                yield m, CavityInput(incoming.h[m], _make_definite(Q), C)

    def averages(self, incoming, n=NODES, start=0):
        """Compute Π, mean and mean square, (3, N), those of the clusters by n nodes."""
        alone = incoming.alone()
        x = self.whole.moments(alone)
        mean = x.mean[: self.N]
        var = x.var[: self.N]
        averages = np.array([self.whole.Pi(alone), mean, var + mean**2])
        for m, nodes in self.one_by_one(incoming, n, start):
            averages[:, m] = nodes.averages()
        return averages

    def read(self, step):
        """Return Π, (N,), and moments of x at a `Step`, of clusters by all nodes."""
        Pi, mean, square = self.averages(step.state.to_prior)
        var = np.append(square - mean**2, step.x.var[self.N :])
        mean = np.append(mean, step.x.mean[self.N :])
        return Pi, step.x._replace(mean=mean, var=var)

    def message(self, incoming, data_precision):
        """Compute the prior's answer to the `BlockNatural` message `incoming`;
        data_precision, (N,), is for `message_to_coupling`.

        First all N columns are treated one by one, each with the diagonal of its block
        alone. Then the entries of those in clusters are overwritten, in the new arrays,
        by what their small Lassos give. The message has two forms:

        - `mixed` is what the coupling reads: columns in S have the natural view (Q_hat,
          h, chi_hat), where a precision may be 0 or negative, all others the moment
          view (D, r, T);
        - `view` has the moment view of all columns, with a response D > 0, in which a
          cluster's columns can be taken out of the model.

        Columns of clusters have their own coordinates there, in which they are
        independent with D = 1; they are outside S.

        Return the moments of x, (N,) each; the `RotatedMessage` to the coupling; a
        ridge, (N,), for loose coefficients, 0 in clusters; and the number of variances
        that were set to 0 (`message_to_coupling`).
        """
        alone = incoming.alone()
        x = self.whole.moments(alone)
        mixed, ridge, n_clipped = message_to_coupling(x, alone, data_precision)
        view = moment_view(mixed, x, alone)
        turns = []  # for each size of clusters J and its inverse
        for columns, cavity in self.cavities(incoming):
            solved = _solve_clusters(self.prior, columns, self.N, cavity)
            turns.append(solved.turn)
            own = solved.view
            outside_S = Mixed(
                S=False, Q_hat=0.0, h=0.0, chi_hat=0.0, D=own.D, r=own.r, T=own.T
            )
            _put_entries(x, columns, solved.moments)
            _put_entries(view, columns, own)
            _put_entries(mixed, columns, outside_S)
            ridge[columns] = 0
        message = RotatedMessage(*mixed, view=view, turns=turns, layout=self.layout)
        return x, message, ridge, n_clipped


reply.register(ClusteredPrior, lambda p, incoming, own, _: p.message(incoming, own))


def values_at_nodes(prior, incoming, i):
    """Return the values of coefficients i, (n,), in clusters of a `ClusteredPrior` at
    all nodes, (n, NODES).
    """
    values = np.empty((len(i), NODES))
    for m, nodes in prior.one_by_one(incoming):
        k, j = np.nonzero(i[:, None] == m)
        values[k] = nodes.x[0, :, j]
    return values


CORRELATED = 0.6  # columns with a larger correlation are taken together
# Π of six tables with correlations of .5 to .97 has an error of .0052; half: .0048,
# what is missing to 1 halved: .0065
LARGEST = 8  # columns in a cluster ...
# half, or 12: the same errors, for clusters of four columns
WIDEST = 12  # ... and in one that is named
# one of twelve takes 24 MB; half: 10 MB in .8 of the time, twice: 112 MB in 4.4 of it


def find_clusters(A, Pi):
    """Join columns of A (M, N) that are selected now and then, by Π, (N,), and close to
    each other, the closest pairs first; return clusters of 2 to LARGEST columns, an int
    array each, and none where the table is read in chunks.
    """
    if chunk_axis(A) is not None:
        return []
    columns = np.flatnonzero(Pi > MATTERS)
    X = A[:, columns]
    X = X - X.mean(0)
    X = X / np.maximum(np.linalg.norm(X, axis=0), 1e-300)
    near = np.triu(np.abs(X.T @ X), 1)
    first, second = np.nonzero(near > CORRELATED)
    # each column is a group of its own; pairs join their groups while these are small
    group = np.arange(len(columns))
    size = np.ones(len(columns), dtype=int)
    for pair in np.argsort(-near[first, second], kind="stable"):
        a = group[first[pair]]
        b = group[second[pair]]
        if a != b and size[a] + size[b] <= LARGEST:
            group[group == b] = a
            size[a] += size[b]
    return [columns[group == g] for g in np.unique(group) if size[g] > 1]


def _whole_numbers(indices):
    """Return a list of whole numbers as an int array; None for anything else."""
    try:
        items = list(indices)
        numbers = np.array(items)
    except (TypeError, ValueError):  # no list, or one of lists that differ in length
        return None
    if not items:
        return np.zeros(0, dtype=int)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        return None
    # numpy takes True for 1 beside integers
    if any(isinstance(item, (bool, np.bool_)) for item in items):
        return None
    return numbers.astype(int)


def check_indices(name, indices, n):
    """Validate whole numbers from 0 to n - 1, each once; return an int array. A
    ValueError, with the argument's name, for anything else.
    """
    numbers = _whole_numbers(indices)
    is_valid = numbers is not None and np.isin(numbers, np.arange(n)).all()
    if not is_valid or len(np.unique(numbers)) < len(numbers):
        raise ValueError(
            f"{name} must be a list of numbers from 0 to {n - 1}, each once, got"
            f" {indices!r}"
        )
    return numbers


def check_clusters(clusters, problem, N):
    """Validate clusters of some of the N columns of a problem: return a list of int
    arrays, or "auto". A ValueError for what is no list of lists of columns; a TypeError
    for a prior that selects no columns one by one, and at finite beta.
    """
    is_text = isinstance(clusters, str)
    if is_text and clusters == "auto":
        checked = clusters
    elif is_text or not np.iterable(clusters):
        rule = '"auto" or a list of lists ([] for none)'
        raise ValueError(f"clusters must be {rule}, got {clusters!r}")
    else:
        checked = _check_lists(clusters, problem.A, N)
        if not checked:
            return checked
    thresholds, _ = problem.prior.split()
    if not np.any(thresholds) or np.isfinite(problem.beta):
        raise TypeError(
            "clusters are for a penalty that selects, such as Laplace(0.1), at"
            " beta = inf"
        )
    return checked


def _check_lists(clusters, A, N):
    """Validate lists of columns of A; return int arrays, those of two columns or more.
    A ValueError for columns that do not exist or are in two clusters and for clusters
    that are too large; a TypeError for tables that are not in memory.
    """
    checked = []
    for cluster in clusters:
        checked.append(check_indices("each of clusters", cluster, N))
    together = [i for cluster in checked for i in cluster.tolist()]
    check_indices("clusters together", together, N)
    largest = max(map(len, checked), default=0)
    if largest > WIDEST:
        raise ValueError(
            f"a cluster holds at most {WIDEST} columns, got one of {largest}; give the"
            " closest of them"
        )
    if checked:
        reason = "clusters: a step turns the columns of the table"
        check_in_memory(A, reason, "give an array, or []")
    return [cluster for cluster in checked if len(cluster) > 1]


def put_in_clusters(problem, state, clusters, N):
    """Return the problem and the state with some of its N columns in clusters."""
    if not clusters:
        return problem, state
    prior = ClusteredPrior(problem.prior, clusters, N)
    to_prior = prior.initial_message(state.to_prior)
    return problem._replace(prior=prior), state._replace(to_prior=to_prior)
