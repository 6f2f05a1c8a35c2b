"""State evolution: predict a fit by eight numbers, before there are data.

Chapter 4.3 derives it; the averages over columns and rows are in `order_parameters`.
`state_evolution` builds the design, iterates the numbers until they stay, and returns
an `Evolution`: errors, variances, and laws of the selection probabilities (`PiLaw`).

>>> from rvamp_nb import ConstantSignal, state_evolution
>>> signal = ConstantSignal(size=3.0, density=0.1)
>>> state_evolution(0.5, 0.5, signal=signal, noise=1.0)
Evolution(converged in 22 turns; mse 0.6482, var 0.3727, chi 1.248)
"""

import warnings
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtr

from ..environment import numpy_errors
from ..exceptions import ConvergenceWarning
from ..interface import check_interface
from ..sketch import as_page
from ..typing import Array, ArrayLike, DataFrame, renamed
from ..validation import check_array, check_number, check_size
from . import order_parameters
from .column_groups import GroupLasso
from .likelihood import Huber, Logistic, LossLike, PoissonLoss, Squared, read_loss
from .order_parameters import ConstantSignal, GaussianSignal, OrderParameters
from .prior import Laplace, Prior, read_prior
from .resampling import CountLaw, Poisson, check_law

__all__ = [
    "Evolution",
    "Independent",
    "PiLaw",
    "Spectrum",
    "spectrum_of",
    "state_evolution",
]


class Independent(NamedTuple):
    """A design with independent entries of mean 0 and variance 1/M."""

    ratio: float  # rows per column, M/N

    @property
    def gain(self):
        """Mean square of a fit, per mean square of a coefficient."""
        return 1 / self.ratio

    def reply(self, x, u, macro, power):
        """Compute the next messages, `OrderParameters`, from the `Averages` of columns
        x and of rows u; `power` is the mean square of the true fit.

        A column with entries of variance 1/M sums the rows: it receives their averages
        as they are. A prediction sums N columns, and its averages are those of the
        columns times N/M. With the size k of the truth in the messages `macro` it is
        k times the true fit plus errors: these have the mean square psi, and with the
        true fit the mean product `lean`.
        """
        psi = x.square / self.ratio
        lean = x.lean / self.ratio
        return OrderParameters(
            Q_hat_1x=u.chi,
            psi_hat_1x=u.square,
            chi_hat_1x=u.var,
            k=u.k,
            Q_hat_1u=x.chi / self.ratio,
            power_1u=_predicted_power(psi, lean, macro.k, power),
            overlap_1u=macro.k * power + lean,
            chi_hat_1u=x.var / self.ratio,
        )


def _predicted_power(psi, lean, k, power):
    """Compute the mean square of a prediction, k times the true fit plus an error of
    mean square psi; `power` is the mean square of the true fit, and `lean` the mean
    product of both.
    """
    return psi + 2 * k * lean + k**2 * power


class _Model(NamedTuple):
    """The problem of `state_evolution`: what stays fixed while messages change."""

    effects: ConstantSignal
    prior: Laplace
    design: Independent
    beta: float
    power: float
    of_rows: tuple  # what `average_rows` needs beside the messages
    selected: float = None  # the share of features to be selected, if asked for

    def start(self):
        """Make the messages of the empty model: every prediction is 0."""
        empty = OrderParameters(np.nan, np.nan, np.nan, 1.0, 1.0, 0.0, 0.0, 0.0)
        u = self.rows(empty)
        return empty._replace(
            Q_hat_1x=u.chi, psi_hat_1x=u.square, chi_hat_1x=u.var, k=u.k
        )

    def scaled(self, macro):
        """Return the prior at the penalty of these messages."""
        if self.selected is None:
            return self.prior
        return self.prior.scaled(macro.scale)

    def rows(self, macro):
        """Compute the `Averages` of rows."""
        return order_parameters.average_rows(macro, *self.of_rows)

    def sides(self, macro):
        """Compute the `Averages` of columns and of rows."""
        x = order_parameters.average_columns(
            self.effects, macro, self.scaled(macro), self.beta
        )
        return x, self.rows(macro)

    def turn(self, macro):
        """Compute the next messages."""
        x, u = self.sides(macro)
        new = self.design.reply(x, u, macro, self.power)
        if self.selected is None:
            return new
        return _move_scale(self, new, macro)


def _move_scale(model, new, macro):
    """Return the messages `new` with the penalty's scale moved, from that of `macro`,
    towards the one at which the wanted share of features is selected.
    """
    x_0, share = model.effects.nodes()
    selected = PiLaw(x_0, share, new, model.scaled(macro), model.beta).mean
    gap = np.log(max(selected, 1e-12) / model.selected)
    # small steps, for the messages move at the same time
    n_columns = order_parameters.columns_of(model.prior)
    step = np.clip(gap / 3, -0.5, 0.5) / np.sqrt(n_columns)
    return new._replace(scale=macro.scale * np.exp(step))


def _accelerate(old, new, before):
    """Combine the last moves by Anderson's rule (chapter 3.5) and return the next
    point, (K,); half a step where that is far from the half step. `before` are the last
    pairs of a point and the move from it.

    The weights gamma are such that the differences to earlier moves, so weighted,
    resemble the last move: least squares in units of each number.
    """
    move = new - old
    unit = np.abs(new) + 1e-300
    half_step = old + move / 2
    if len(before) < 2:
        return half_step
    from_points = old - np.array([point for point, _ in before])
    from_moves = move - np.array([earlier for _, earlier in before])
    if not np.isfinite(from_moves / unit).all():  # overflow
        return half_step
    gamma = np.linalg.lstsq((from_moves / unit).T, move / unit, rcond=1e-6)[0]
    point = half_step - (gamma[:, None] * (from_points + from_moves / 2)).sum(0)
    # precisions and variances must keep their sign and their size
    near = (point > 0.2 * half_step) & (point < 5 * half_step)
    if (near | (new == 0)).all():
        return point
    return half_step


def _as_messages(numbers):
    """Make `OrderParameters` of plain floats from an array."""
    return OrderParameters._make(numbers.tolist())


def _iterate_turns(model, macro, tol, max_iter):
    """Iterate turns, accelerated by the last five moves, until the messages stay.

    Return them, the number of turns, and the last relative change: nan where a number
    is not finite.
    """
    moves = []  # pairs of a point and the move from it
    for n in range(1, max_iter + 1):
        old = np.array(macro)
        turned = model.turn(macro)
        new = np.array(turned)
        if not np.isfinite(new).all():
            return macro, n, np.nan
        change = _relative_change(old, turned)
        if change < tol:
            return _as_messages(new), n, change
        macro = _as_messages(_accelerate(old, new, moves[-5:]))
        moves.append((old, new - old))
    return macro, max_iter, change


def _relative_change(old, turned):
    """Compute the largest change of a message, from an array to `OrderParameters`,
    beside its size.

    The noises of resampling may vanish: they are compared beside numbers that do not.
    """
    sizes = turned._replace(
        chi_hat_1x=abs(turned.chi_hat_1x) + 1e-9 * abs(turned.psi_hat_1x),
        chi_hat_1u=abs(turned.chi_hat_1u) + 1e-9 * abs(turned.Q_hat_1u),
    )
    return np.max(np.abs(turned - old) / np.maximum(np.abs(sizes), 1e-300))


def _Pi_at(law, h, more=0.0):
    """Compute Pi of features whose fields have the means h, of h's shape; `more` is
    the variance of a noise beside that of resampling.
    """
    noise = law.macro.chi_hat_1x + more
    if isinstance(law.prior, GroupLasso):
        threshold = law.prior.lam * law.prior.weights[0]
        return order_parameters.probability_longer(law.prior, h, noise, threshold)
    incoming = order_parameters.make_message(law.macro.Q_hat_1x, h, noise)
    return law.prior.Pi(incoming, law.beta).reshape(np.shape(h))


def _tail_probability(law, h):
    """Compute the probability that a mean field is as large as h or larger, of h's
    shape: on either side of 0, or above it alone for a prior that imposes x >= 0.

    The mean field of a coefficient of the true value x_0 is normal: it has the mean
    k Q_hat_1x x_0 and, over data sets, the variance psi_hat_1x (`OrderParameters`). The
    probability is averaged over the true values of a `PiLaw`.
    """
    macro = law.macro
    h = np.asarray(h)[..., None]
    centre = macro.k * macro.Q_hat_1x * law.x_0
    if isinstance(law.prior, GroupLasso):
        tail = order_parameters.probability_longer(
            law.prior, centre, macro.psi_hat_1x, h
        )
        return tail @ law.share
    sd = np.sqrt(macro.psi_hat_1x)
    tail = ndtr((centre - h) / sd)
    if not law.prior.positive:
        tail = tail + ndtr((-centre - h) / sd)
    return tail @ law.share


def _least_field(law, reached):
    """Find the least field h of features of a `PiLaw` at which the bool array
    reached(h) is true, entry by entry, each of which must stay true for larger fields.
    Return an array of the shape of that array.

    It is like bisection, with sixteen parts in place of two: sixteen fields at once
    cost little more than one.
    """
    centre = np.abs(law.macro.k * law.macro.Q_hat_1x * law.x_0).max()
    n_columns = order_parameters.columns_of(law.prior)
    # standard deviations of the noise beyond which fields are negligible: a normal
    # tail beyond 11 is 2e-28, and that of a group's length begins at the root
    reach = 11 + np.sqrt(n_columns)
    high = centre + reach * np.sqrt(law.macro.psi_hat_1x)
    low = -high if law.prior.positive else 0.0
    width = high - low
    shape = np.shape(reached(low))
    low = np.full(shape, low)
    cuts = np.arange(1, 16).reshape((15,) + (1,) * len(shape))  # on an axis in front
    for _ in range(11):  # to 16^-11, or 6e-14, of the width
        width = width / 16
        n_below = 15 - reached(low + width * cuts).sum(0)  # cuts below the field
        low = low + width * n_below
    return low + width


@dataclass(frozen=True, eq=False)
class PiLaw:
    """The law of the selection probability Pi over features and data sets."""

    x_0: Array  # (K,) true values of these features
    share: Array  # (K,) their probabilities
    macro: OrderParameters
    prior: Prior
    beta: float = np.inf

    def nodes(self) -> tuple[Array, Array]:
        """Return the true values and their probabilities: `x_0` and `share`."""
        return self.x_0, self.share

    @property
    def mean(self) -> float:
        """Mean selection probability."""
        m = self.macro  # both noises are one, to a resample
        centre = m.k * m.Q_hat_1x * self.x_0
        return float(self.share @ _Pi_at(self, centre, m.psi_hat_1x))

    def at_least(self, threshold: ArrayLike) -> Array:
        """Compute the probability that Pi reaches a threshold, of its shape."""
        field = _least_field(self, lambda h: _Pi_at(self, h) >= threshold)
        return _tail_probability(self, field)

    def quantile(self, p: ArrayLike) -> Array:
        """Find the Pi that a share p of the features does not exceed, of p's shape."""
        field = _least_field(self, lambda h: 1 - _tail_probability(self, h) >= p)
        return _Pi_at(self, field)


@dataclass(frozen=True, eq=False)
class Evolution:
    """Hold what to expect of a fit, before there are data, as `state_evolution` returns
    it.

    Attributes
    ----------
    mse : float
        Mean square of the mean coefficient minus the true one.
    var, chi : float
        Mean variance across resamples, and mean response.
    Pi_null, Pi_true : PiLaw
        Laws of the selection probabilities of null features, and of true ones.
    density : float in (0, 1]
        Share of true features.
    converged, status, n_iter : bool, str, int
        How it ended, and after how many turns.
    macro : OrderParameters
        The numbers themselves; also where to start a neighbouring problem.

    See Also
    --------
    state_evolution : Make the prediction.
    Study : What to expect of a selection.

    Examples
    --------
    >>> from rvamp_nb import ConstantSignal, state_evolution
    >>> signal = ConstantSignal(size=3.0, density=0.1)
    >>> found = state_evolution(0.5, 0.5, signal=signal, noise=1.0)
    >>> print(found.power([0.3, 0.5]).round(2), round(found.selected, 2))
    [0.49 0.2 ] 0.15
    """

    mse: float
    var: float
    chi: float
    Pi_null: PiLaw
    Pi_true: PiLaw
    density: float
    converged: bool
    status: str
    n_iter: int
    macro: OrderParameters

    @property
    def lam(self) -> float | Array:
        """The penalty, where the prior has one."""
        return vars(self.Pi_null.prior).get("lam", np.nan)

    @property
    def selected(self) -> float:
        """Expected share of features that one resample selects."""
        return (1 - self.density) * self.Pi_null.mean + self.density * self.Pi_true.mean

    def false_selections(self, threshold: ArrayLike, n: int) -> Array:
        """Compute the expected number of null features that reach a threshold.

        Parameters
        ----------
        threshold : float in (0, 1], or array of such
            On the selection probability.
        n : int
            Number of features, null and true.

        Returns
        -------
        array of the shape of threshold
            Of n features, how many are null and have Pi >= threshold.
        """
        return n * (1 - self.density) * self.Pi_null.at_least(threshold)

    def power(self, threshold: ArrayLike) -> Array:
        """Compute the expected share of the true features that reach a threshold.

        Parameters
        ----------
        threshold : float in (0, 1], or array of such
            On the selection probability.

        Returns
        -------
        array of the shape of threshold
            The share with Pi >= threshold, in [0, 1].
        """
        return self.Pi_true.at_least(threshold)

    def summary(self) -> "DataFrame":
        """Show in a table how many features reach a threshold, a row for each.

        Returns
        -------
        DataFrame of 6 rows
            The shares of the true and of the null features with Pi >= threshold, by
            `threshold`, from 0.5 to 1.

        Examples
        --------
        >>> from rvamp_nb import ConstantSignal, state_evolution
        >>> signal = ConstantSignal(size=3.0, density=0.1)
        >>> found = state_evolution(0.5, 0.5, signal=signal, noise=1.0)
        >>> found.summary().loc[0.5].round(4).to_dict()
        {'true': 0.2017, 'null': 0.0049}
        """
        from pandas import DataFrame

        threshold = np.linspace(0.5, 1, 6)
        columns = {"threshold": threshold, "true": self.power(threshold)}
        columns["null"] = self.Pi_null.at_least(threshold)
        return DataFrame(columns).set_index("threshold")

    def _repr_html_(self):
        state = ("converged", "green") if self.converged else ("no answer", "red")
        columns = {}
        for name, values in self.summary().reset_index().items():
            columns[name] = (values.to_numpy(), values.to_numpy() / 10 + 1e-300)
        return as_page(self, state, (), np.arange(6), columns)

    def __repr__(self):
        return (
            f"Evolution({self.status}; mse {self.mse:.4g}, var {self.var:.4g}, chi"
            f" {self.chi:.4g})"
        )


@renamed
@numpy_errors(all="ignore")  # of what is not finite, the status speaks
def state_evolution(
    ratio: float,
    lam: float | None = None,
    *,
    signal: ConstantSignal | GaussianSignal,
    noise: float | None = None,
    prior: Prior | None = None,
    loss: LossLike = "squared",
    resampling: CountLaw = Poisson(0.5),
    spectrum: Literal["orthogonal"] | ArrayLike | None = None,
    beta: float = np.inf,
    selected: float | None = None,
    tol: float = 1e-7,
    max_iter: int = 500,
    start: Evolution | None = None,
) -> Evolution:
    """Predict what `rvamp` will find on large data with y = A x_0 + noise (or y drawn
    given A x_0, for the logistic and the Poisson loss), before there are any. Columns
    have unit norm on average; A has independent entries or singular vectors that point
    anywhere.

    Parameters
    ----------
    ratio : float in (1e-6, 1e6)
        Rows per column, M/N.
    lam : float > 0, optional
        As for `rvamp`; one penalty for all coefficients.
    signal : ConstantSignal or GaussianSignal
        The law of the true coefficients; your own needs `density` and `nodes()`.
    noise : float >= 0
        Standard deviation of y's Gaussian noise; needed for Squared and Huber.
    prior : Prior, optional
        As for `rvamp`. A `GroupLasso` has one group, which stands for all: its columns
        are a feature, true coefficients are lengths of a group's, and mse, var and chi
        are means over columns.
    loss : "squared", "huber", "logistic", "poisson", or one of these losses
        The loss of a row.
    resampling
        As for `rvamp`.
    spectrum : None, "orthogonal", (K,) array of singular values, or Spectrum
        None: independent entries. "orthogonal": equal singular values, such as random
        rows of a cosine matrix. An array: those of A, or some that stand for them.
    beta
        As for `rvamp`.
    selected : float in (0, 1), optional
        Share of the features that one resample is to select on average: lam, or the
        prior's penalty, is only where the search begins.
    tol : float in (0, 1)
        On the relative change of the eight numbers in one turn.
    max_iter : int >= 1
        Turns at most.
    start : Evolution, optional
        Of a problem nearby.

    Returns
    -------
    Evolution
        Errors, variances and laws of the selection probabilities; where it does not
        converge, that has `converged=False`.

    Raises
    ------
    TypeError, ValueError
        Where an argument is not as above.

    Warns
    -----
    ConvergenceWarning
        Where it does not converge.

    See Also
    --------
    plan_study : Find how many rows a study needs.
    ConstantSignal : Describe true coefficients of one size.
    rvamp : Fit data that are there.

    Examples
    --------
    >>> from rvamp_nb import ConstantSignal, state_evolution
    >>> signal = ConstantSignal(size=3.0, density=0.1)
    >>> found = state_evolution(0.5, 0.5, signal=signal, noise=1.0)
    >>> print(found.converged, round(found.mse, 3), round(found.var, 3))
    True 0.648 0.373
    """
    loss = read_loss(loss)
    ratio, noise, beta = _check_asked(ratio, signal, noise, loss, resampling, beta)
    selected, tol, most = _check_search(selected, tol, max_iter, start)
    prior = _read_prior(lam, prior, beta, selected)
    design = _make_design(ratio, spectrum)
    x_0, share = signal.nodes()
    power = design.gain * (share @ x_0**2) / order_parameters.columns_of(prior)
    of_rows = loss, noise, power, resampling, beta
    model = _Model(signal, prior, design, beta, power, of_rows, selected)
    macro = model.start() if start is None else start.macro._replace(scale=1.0)
    macro, n, change = _iterate_turns(model, macro, tol, most)
    converged = bool(change < tol)
    status = _describe_status(converged, n, change)
    if not converged:
        # four frames up is the caller's line: there are two decorators
        warnings.warn(status, ConvergenceWarning, stacklevel=4)
    x, _ = model.sides(macro)
    true = float(share[1:].sum())
    prior = model.scaled(macro)
    return Evolution(
        mse=x.error,
        var=x.var,
        chi=x.chi,
        Pi_null=PiLaw(x_0[:1], np.ones(1), macro, prior, beta),
        Pi_true=PiLaw(x_0[1:], share[1:] / true, macro, prior, beta),
        density=true,
        converged=converged,
        status=status,
        n_iter=n,
        macro=macro,
    )


def _check_asked(ratio, signal, noise, loss, resampling, beta):
    """Validate the problem; return ratio, noise and beta as floats."""
    owner = "state_evolution"
    ratio = check_number(owner, "ratio", ratio, 1e-6, 1e6)
    beta = check_number(owner, "beta", beta, 0, closed="]")
    check_law("resampling", resampling, needs=("nodes",))
    example = "a law such as ConstantSignal(1, 0.1)"
    check_interface("signal", signal, ("nodes",), example)
    if not isinstance(loss, (Squared, Huber, Logistic, PoissonLoss)):
        raise TypeError(
            f"loss must be Squared, Huber, Logistic or PoissonLoss, not {loss!r}"
        )
    if isinstance(loss, (Squared, Huber)):
        if noise is None:
            raise ValueError("noise is needed: the standard deviation of y - A x_0")
        noise = check_number(owner, "noise", noise, 0, 1e100, closed="[")
    return ratio, noise, beta


def _check_search(selected, tol, max_iter, start):
    """Validate the arguments of the search; return `selected` (a float or None) and
    `tol` as floats, `max_iter` as an int.
    """
    owner = "state_evolution"
    if selected is not None:
        selected = check_number(owner, "selected", selected, 0, 1)
    if not isinstance(start, (Evolution, type(None))):
        raise TypeError(f"start must be an Evolution, got {start!r:.60}")
    tol = check_number(owner, "tol", tol, 0, 1)
    max_iter = check_size(owner, "max_iter", max_iter)
    return selected, tol, max_iter


def _describe_status(converged, n, change):
    """Return the status of a search of n turns, the last of relative size `change`."""
    if converged:
        return f"converged in {n} turns"
    if not np.isfinite(change):
        return f"broke down at turn {n}: try a larger penalty"
    return (
        f"not converged: the last of {n} turns changed by {change:.1e}; raise max_iter,"
        " or give a start nearby"
    )


def _make_design(ratio, spectrum):
    """Make the design that `spectrum` asks for."""
    if spectrum is None:
        return Independent(ratio)
    if isinstance(spectrum, Spectrum):
        return spectrum
    if isinstance(spectrum, str):
        if spectrum != "orthogonal":
            raise ValueError(f"spectrum must be 'orthogonal' or numbers: {spectrum!r}")
        spectrum = [max(1.0, 1 / ratio) ** 0.5]
    return spectrum_of(spectrum, ratio)


def _read_prior(lam, prior, beta, selected):
    """Return the prior, or the `Laplace` of lam. A ValueError for one that is not the
    same for every coefficient or cannot be used at this beta, and where a share of
    features is to be `selected` (a float, or None) by a prior without a penalty.
    """
    prior = read_prior(lam, prior)
    if isinstance(prior, GroupLasso):
        if len(prior.column_groups.names) > 1:
            raise ValueError(
                "prior: one group stands for all: groups=[0] * k for features of k"
                " columns each"
            )
    elif any(np.ndim(value) for value in vars(prior).values()):
        raise ValueError("prior must be the same for all columns: numbers, not vectors")
    prior.check(order_parameters.columns_of(prior), beta)
    if selected is not None:
        if np.isfinite(beta) or prior.scaled(1.0) is None:
            raise ValueError("selected needs beta = inf and a penalty such as Laplace")
    return prior


class Spectrum(NamedTuple):
    """A design whose singular vectors point anywhere: only eigenvalues count."""

    eigenvalues: np.ndarray  # (K,), of A'A and of AA'
    columns: np.ndarray  # (K,), their shares among the N of A'A
    rows: np.ndarray  # (K,), and among the M of AA'

    @property
    def gain(self):
        """Mean square of a fit, per mean square of a coefficient."""
        return float(self.rows @ self.eigenvalues)

    def reply(self, x, u, macro, power):
        """Compute the next `OrderParameters` from the `Averages` of columns x and rows
        u, the messages `macro` that led to them, and `power`, the true fit's mean
        square.

        What columns and rows send to the coupling has the precision slack / chi, and
        both of its noises are mean squares / chi^2 minus the noise received
        (`own-noise`). The coupling maps data noise and resampling noise alike
        (`through-the-coupling`).
        """
        q_x = max(x.slack / x.chi, 1e-300)
        q_u = max(u.slack / u.chi, 1e-300)
        Q_hat, V, through = order_parameters.averaged_coupling(self, q_x, q_u)
        # pairs of data noise and resampling noise
        received_x = [macro.psi_hat_1x, macro.chi_hat_1x]
        received_u = [macro.psi_hat_1u(u.k, power), macro.chi_hat_1u]
        total_x = [x.square / x.chi**2, x.var / x.chi**2]
        total_u = [u.square / u.chi**2, u.var / u.chi**2]
        # a line for columns and one for rows, before and after the coupling
        received = np.array([received_x, received_u])
        total = np.array([total_x, total_u])
        own = np.maximum(total - received, 0.0)
        to_columns, to_rows = through @ own
        psi_x, chi_hat_x = to_columns
        psi_u, chi_hat_u = to_rows
        lean = V * x.lean / x.chi
        return OrderParameters(
            Q_hat_1x=Q_hat,
            psi_hat_1x=psi_x,
            chi_hat_1x=chi_hat_x,
            k=u.k,
            Q_hat_1u=V,
            power_1u=_predicted_power(psi_u, lean, macro.k, power),
            overlap_1u=macro.k * power + lean,
            chi_hat_1u=chi_hat_u,
        )


def spectrum_of(singular_values, ratio):
    """Make the `Spectrum` of M = ratio N rows, from all singular values or some that
    stand for them; for columns of unit norm their squares have the mean N / min(M, N).
    """
    values = check_array(
        "spectrum", singular_values, ("N",), 0, some=True, of="singular value"
    )
    each = np.full(len(values), 1 / len(values))
    share_of_columns = min(1.0, ratio)  # of eigenvalues that are not 0
    share_of_rows = min(1.0, 1 / ratio)
    columns = np.r_[1 - share_of_columns, share_of_columns * each]
    rows = np.r_[1 - share_of_rows, share_of_rows * each]
    return Spectrum(np.r_[0.0, values**2], columns, rows)
