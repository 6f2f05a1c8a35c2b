"""Networks: pairs of columns that are linked given all others.

Chapter 6.2 derives it; the regressions of many halves and the penalty are in `edges`.
`neighbourhoods` reads the table, finds the penalty, and returns a `Network` with the
probability of each edge, its standard error, and a picture.

>>> import numpy as np
>>> from rvamp_nb import neighbourhoods
>>> X = np.random.default_rng(0).normal(size=(100, 9))
>>> X[:, 4] += X[:, 3]
>>> neighbourhoods(X, n_resamples=100)
Network(9 columns, 1 edges at Π >= 0.771, at most 1 false on average)
"""

from typing import Literal, NamedTuple

import numpy as np

from ..plot_style import COLOURS
from ..sketch import as_page
from ..tables.chunked import check_in_memory
from ..tables.standardize import unit_columns
from ..typing import Array, Axes, Bools, DataFrame, Ints, TableLike
from ..validation import check_array, check_size, check_word, format_list, kind_of
from .edges import edge_shares, penalty_for
from .error_control import pfer_bound, resolve_error_control
from .features import column_names, near_copies, read_X

__all__ = ["MOST_NAMED", "Network", "draw_network", "neighbourhoods", "read_nodes"]


def read_nodes(X):
    """Read the columns of X that can be nodes of a network: they vary, and none is a
    copy of another.

    Return them, (M, n), with length one; the names of all columns, (N,); and the number
    of the column that represents each, (N,) int: itself, the first of its copies, or -1
    if it is constant. Errors as of `neighbourhoods`.
    """
    X = read_X(X)[0]
    names = column_names(X) if "frame" in kind_of(X) else None
    reason = "neighbourhoods: each column of X is explained by all others"
    check_in_memory(X, reason, "give some of its columns as an array")
    A = check_array("X", X)
    if A.ndim != 2 or len(A) < 4:
        raise ValueError(
            "neighbourhoods: X must be a table of four rows or more, got shape"
            f" {A.shape}"
        )
    if names is None:
        names = [f"x{i}" for i in range(A.shape[1])]
    A, _, constant = unit_columns(A)
    # the first of equal columns, which a column without copies is itself
    representative = np.where(constant, -1, near_copies(A))
    nodes = np.flatnonzero(representative == np.arange(len(representative)))
    if len(nodes) < 3:
        raise ValueError(
            "neighbourhoods: a network needs three columns that vary and are no copies,"
            f" X has {len(nodes)} of them"
        )
    return A[:, nodes], np.array(names), representative


def _spread_to_columns(P, node, varies, of_copies):
    """Return numbers of pairs of nodes, (n, n), for pairs of all columns, (N, N).

    `node` says which node each column is, (N,), and `varies` which are not constant:
    pairs with a constant column are 0, and those of two copies are `of_copies`.
    """
    P = P.copy()
    np.fill_diagonal(P, of_copies)
    numbers = P[np.ix_(node, node)] * (varies[:, None] & varies)
    np.fill_diagonal(numbers, 0)
    return numbers


def _yield_notes(names, representative, solved):
    """Yield notes on columns without edges of their own, and on unsolved regressions.

    `names` are those of the columns, (N,), `representative` is as `read_nodes` returns
    it, and `solved` the share of halves in which each column's regression was solved.
    """
    is_constant = representative < 0
    is_copy = ~is_constant & (representative != np.arange(len(names)))
    for columns, fact in (
        (is_constant, "constant columns have no edges"),
        (is_copy, "copies have the edges of the column that they repeat"),
        (solved < 1, "regressions that were not solved in every half"),
    ):
        if columns.any():
            yield f"{fact}: {format_list(names, np.flatnonzero(columns), 8)}"


class Network(NamedTuple):
    """Hold the edges between N columns, as `neighbourhoods` returns them.

    Attributes
    ----------
    names : (N,) array of str
        What the columns are called.
    probabilities, standard_errors : (N, N) arrays
        Of each edge, symmetric, 0 on the diagonal.
    threshold : float in (1/2, 1]
        Which probability selects an edge.
    pfer : float
        The bound on false edges, at this q and threshold.
    q : float
        Edges in a half, on average.
    penalty : float
        The penalty, for columns of length one.
    rule, n_resamples : str, int
        As given.
    settled : (N,) array in [0, 1]
        Share of the halves in which the regression of a column was solved.
    stands_in : (N,) int array
        Which column stands for it; -1 of a constant one.
    notes : tuple of str
        What to know of the answer, in words.

    See Also
    --------
    neighbourhoods : Select the edges.

    Examples
    --------
    >>> import numpy as np
    >>> from rvamp_nb import neighbourhoods
    >>> X = np.random.default_rng(0).normal(size=(80, 6))
    >>> X[:, 1] += X[:, 0]
    >>> found = neighbourhoods(X, n_resamples=100)
    >>> print(found.edges.iloc[0].first, found.edges.iloc[0].second)
    x0 x1
    """

    names: np.ndarray
    probabilities: Array
    standard_errors: Array
    threshold: float
    pfer: float
    q: float
    penalty: float
    rule: str
    n_resamples: int
    settled: Array
    stands_in: Ints
    notes: tuple[str, ...]

    @property
    def selected(self) -> Bools:
        """Which edges reach the threshold, (N, N)."""
        return self.probabilities >= self.threshold

    @property
    def edges(self) -> "DataFrame":
        """Edges between nodes that any half has, the most probable first, as a table.

        Its columns are the names of the first and the second node, the probability and
        its standard error, whether the edge is selected, and whether it is undecided:
        its probability is within two standard errors of the threshold.
        """
        import pandas as pd

        is_node = self.stands_in == np.arange(len(self.names))  # no copy, not constant
        joins_nodes = np.logical_and.outer(is_node, is_node)
        # each pair of columns once, i < j
        i, j = np.nonzero(np.triu(self.probabilities > 0, 1) & joins_nodes)
        Pi = self.probabilities[i, j]
        se = self.standard_errors[i, j]
        table = dict(
            first=self.names[i],
            second=self.names[j],
            probability=Pi,
            se=se,
            selected=Pi >= self.threshold,
            undecided=np.abs(Pi - self.threshold) <= 2 * se,
        )
        order = np.argsort(-Pi, kind="stable")
        return pd.DataFrame(table).iloc[order].reset_index(drop=True)

    def summary(self) -> "DataFrame":
        """Show the columns in a table, a row for each, by its name.

        Returns
        -------
        DataFrame of N rows
            How many selected edges a column has, the neighbour of its most probable
            edge, if any half has one, and its probability with the standard error.

        Examples
        --------
        >>> import numpy as np
        >>> from rvamp_nb import neighbourhoods
        >>> X = np.random.default_rng(0).normal(size=(80, 6))
        >>> X[:, 1] += X[:, 0]
        >>> neighbourhoods(X, n_resamples=100).summary()["neighbour"].iloc[0]
        'x1'
        """
        from pandas import DataFrame

        columns = {"edges": self.selected.sum(1)}
        nearest = self.probabilities.argmax(1)
        largest = self.probabilities.max(1)
        columns["neighbour"] = np.where(largest > 0, self.names[nearest], "")
        columns["probability"] = largest
        columns["se"] = self.standard_errors[np.arange(len(nearest)), nearest]
        return DataFrame(columns, index=self.names)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the nodes on a circle, neighbours near each other, and their edges:
        selected (blue), undecided (dashed), and others above a half (grey).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default a new picture is made.

        Returns
        -------
        Axes
            With the picture.

        Examples
        --------
        >>> import numpy as np
        >>> from rvamp_nb import neighbourhoods
        >>> X = np.random.default_rng(0).normal(size=(80, 12))
        >>> X[:, 1:6] += X[:, :5]
        >>> len(neighbourhoods(X, n_resamples=100).plot().texts)
        12
        """
        return draw_network(self, ax)

    def __repr__(self):
        return (
            f"Network({len(self.names)} columns, {self.edges.selected.sum()} edges at"
            f" Π >= {self.threshold:.3g}, at most {self.pfer:.3g} false on average)"
        )

    def _repr_html_(self):
        table = self.edges
        columns = {"Π": (table["probability"].to_numpy(), 0.01)}
        columns["±"] = (table["se"].to_numpy(), 0.01)
        state = ("complete", "green")
        if self.notes:
            state = ("with notes", "amber")
        facts = [("note", note) for note in self.notes]
        if not len(table):
            return as_page(self, state, facts)
        names = table["first"].astype(str) + " – " + table["second"].astype(str)
        return as_page(self, state, facts, np.arange(len(table)), columns, names)


MOST_NAMED = 60  # nodes in a picture, of more no names are written
# some 78 lines of 10 points fit around the circle: half leaves out names that fit, with
# twice as many they cover each other


def _place_on_circle(weights):
    """Find places of n nodes on the unit circle, (2, n), and their angles, (n,): nodes
    with large weights, (n, n) and symmetric, are side by side, by the Fiedler vector.
    """
    laplacian = np.diag(weights.sum(1)) - weights
    fiedler = np.linalg.eigh(laplacian)[1][:, :2][:, -1]
    rank = np.argsort(np.argsort(fiedler))
    angle = 2 * np.pi * rank / max(len(weights), 1)
    return np.array([np.cos(angle), np.sin(angle)]), angle


def draw_network(network, ax):
    """Return the picture of `Network.plot`, on the Axes given or new ones: nodes on a
    circle, and a line for each edge that is selected, undecided or has Π > 1/2.

    Of more than `MOST_NAMED` columns only those with an edge are shown, without names.
    """
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=(6, 6))
    edges = network.edges
    drawn = edges.selected | edges.undecided | (edges.probability > 0.5)
    edges = edges[drawn]
    # columns by number: of both ends of each edge, and of the nodes that are shown
    number_of = {name: k for k, name in enumerate(network.names)}
    first = edges["first"].map(number_of).to_numpy(int)
    second = edges["second"].map(number_of).to_numpy(int)
    nodes = np.flatnonzero(network.stands_in == np.arange(len(number_of)))
    if len(nodes) > MOST_NAMED:
        nodes = np.union1d(first, second)
    # a little weight for each pair: one eigenvector is then smooth over all nodes
    weights = network.probabilities[np.ix_(nodes, nodes)] + 1e-3
    # places of all columns, by number; those that are not shown keep 0
    places = np.zeros((2, len(number_of)))
    places[:, nodes], angle = _place_on_circle(weights)
    for i, j, edge in zip(first, second, edges.itertuples()):
        ax.plot(
            *places[:, [i, j]],
            linewidth=3 * edge.probability,
            linestyle="--" if edge.undecided else "-",
            color=COLOURS["rvamp" if edge.selected else "muted"],
        )
    ax.plot(*places[:, nodes], "o", color=COLOURS["truth"], zorder=3)
    if len(nodes) <= MOST_NAMED:
        for node, direction in zip(nodes, np.degrees(angle)):
            _write_name(ax, str(network.names[node]), *places[:, node], direction)
    ax.set_aspect("equal")
    ax.margins(0.2)
    ax.axis("off")
    return ax


def _write_name(ax, name, x, y, direction):
    """Write a name beside a node, away from the centre, but never upside down."""
    on_left = x < -1e-9
    ax.text(
        1.05 * x,
        1.05 * y,
        name.replace("$", r"\$"),
        rotation=direction + 180 * on_left,
        rotation_mode="anchor",
        ha="right" if on_left else "left",
        va="center",
        fontsize=10,
    )


def neighbourhoods(
    X: TableLike,
    *,
    rule: Literal["and", "or"] = "and",
    threshold: float | None = None,
    pfer: float | None = None,
    q: float | None = None,
    n_resamples: int = 1000,
    random_state: int = 0,
    verbose: bool = True,
) -> Network:
    """Select the edges of a network: pairs of columns, each of which the Lasso of the
    other on all columns selects, in most random halves of the rows. The probability of
    an edge is that of both regressions in one half (`edge-probability`), by refits.

    Parameters
    ----------
    X : (M, N) array of finite numbers or a DataFrame, whose columns are named; M >= 4
        Constant columns have no edges; copies are one node, the first of them, of which
        there must be three. Columns are centred and scaled, once, over all rows.
    rule : "and" or "or"
        Whether both regressions must select the other column, or one of them.
    threshold, pfer, q : float in (1/2, 1], float > 0, float > 0; optional
        Selected is an edge whose probability reaches the threshold; pfer bounds the
        expected number of false edges (`edge-bound`), for independent rows; q edges are
        selected in a half on average, which fixes the penalty. Two of them at most: the
        third follows; by default pfer is 1 and the threshold 0.75. The pfer and q that
        are returned are those of the halves that were drawn; where these select more
        than q, the threshold is raised until the bound is pfer (not for q alone).
    n_resamples : int >= 4
        Halves, in complementary pairs.
    random_state : int >= 0
        Pair b depends on (random_state, b) only.
    verbose : bool
        Whether a bar is shown when it takes more than two seconds.

    Returns
    -------
    Network
        Probabilities (N, N) of the edges, with their standard errors.

    Raises
    ------
    TypeError, ValueError
        For what is not as above, by the name of the column.

    See Also
    --------
    StabilitySelection : Select features of one target.
    complementary_pairs : Compute what two halves of the rows share.

    Examples
    --------
    >>> import numpy as np
    >>> from rvamp_nb import neighbourhoods
    >>> X = np.random.default_rng(0).normal(size=(100, 9))
    >>> X[:, 4] += X[:, 3]
    >>> neighbourhoods(X, n_resamples=100).selected[4].nonzero()[0]
    array([3])
    """
    check_word("neighbourhoods: rule", rule, ("and", "or"))
    n = -(-check_size("neighbourhoods", "n_resamples", n_resamples, least=4) // 2)
    check_size("neighbourhoods", "random_state", random_state, least=0)
    A, names, representative = read_nodes(X)
    p = A.shape[1] * (A.shape[1] - 1) // 2
    bounded = pfer is not None or q is None
    threshold, pfer, q, _ = resolve_error_control(p, p, threshold, pfer, q)
    lam = penalty_for(q, A, rule, random_state)
    Pi, error, solved, done = edge_shares(A, lam, rule, n, random_state, verbose)
    varies = representative >= 0
    node = np.searchsorted(np.unique(representative[varies]), representative)
    settled = np.where(varies, solved[node], 1.0)
    size = float(Pi.sum() / 2)
    notes = list(_yield_notes(names, representative, settled))
    if size < 0.8 * q:
        size_text = f"{size:.3g} edges at the least penalty"
        notes.append(f"a half selects {size_text}, not q = {q:.3g}")
    if done < n:
        notes.append(f"interrupted: {2 * done} of {2 * n} halves were made")
    if bounded:  # and a half selects a little more than q
        threshold = max(threshold, min((1 + size**2 / (p * pfer)) / 2, 1.0))
    return Network(
        names=names,
        probabilities=_spread_to_columns(Pi, node, varies, 1.0),
        standard_errors=_spread_to_columns(error, node, varies, 0.0),
        threshold=threshold,
        pfer=pfer_bound(size, threshold, p) if size else 0.0,
        q=size,
        penalty=float(lam),
        rule=rule,
        n_resamples=2 * done,
        settled=settled,
        stands_in=representative,
        notes=tuple(notes),
    )
