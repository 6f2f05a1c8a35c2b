"""A loss with a weight for each row and a known part (offset) of each linear predictor.

A row of weight 0 is out of the fit; one of weight 2 stands in the table twice, in every
resample. Chapter 5.3 derives the conversion (`scaled-row`): the plain loss is given
another message, and its answer is converted back. That holds where β is infinite, where
all weights are 1, and for the squared loss at any β, since the mean of a Gaussian is
its most probable point. Otherwise a loss takes one β for all rows: it is given the
number of a row in place of its target, and looks up the weight and the offset.

>>> from rvamp_nb.algorithm.likelihood import Squared
>>> from rvamp_nb.algorithm.solver import rvamp
>>> from rvamp_nb.algorithm.weighted import WeightedLoss
>>> from rvamp_nb.datasets import toy
>>> A, y, *_ = toy()
>>> twice = WeightedLoss(Squared(), sample_weight=[1.0, 0.0, 2.0])
>>> rvamp(A, y, 0.6, loss=twice)
Fit(converged in 11 steps; 1 coefficients, 0.4 selected on average)
>>> rvamp(A, y, 0.6, loss=WeightedLoss(Squared(), offset=[1.0]))
Traceback (most recent call last):
    ...
ValueError: WeightedLoss: 1 numbers of offset for 3 rows of y
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..typing import Array, ArrayLike, Ints
from ..validation import check_array
from .likelihood import FAINTEST, Loss, LossLike, Squared, read_loss
from .messages import Moments, Natural
from .resampling import CountLaw

__all__ = ["WeightedLoss"]


def _to_plain(incoming, weight, offset):
    """Translate a message to a row with weight and offset for its plain loss
    (`scaled-row`).
    """
    V, h, chi_hat = incoming
    return Natural(weight * V, h - offset, chi_hat)


def _from_plain(moments, message, weight, offset):
    """Translate moments and message of the plain loss back (`scaled-row`)."""
    mean, chi, var, rho, rho_bar = moments
    Q_hat, h, noise = message
    chi = np.maximum(weight * chi, FAINTEST)
    moments = Moments(weight * mean, chi, weight**2 * var, rho, rho_bar)
    Q_hat = np.minimum(Q_hat / weight, 1 / FAINTEST)
    return moments, Natural(Q_hat, h - offset, noise)


class _Weighted:
    """The loss w l(y, f + o), where `known(y)` returns y, w and o of the rows."""

    @property
    def kinked(self) -> bool:
        """See `Loss.kinked`."""
        return self.loss.kinked

    @property
    def plain(self) -> Loss:
        """See `Loss.plain`."""
        return self.loss.plain

    def value(self, y: Array, f: Array) -> Array:
        """See `Loss.value`."""
        y, weight, offset = self.known(y)
        return weight * self.loss.value(y, f + offset)

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array]:
        """See `Loss.derivatives`."""
        y, weight, offset = self.known(y)
        slope, curvature = self.loss.derivatives(y, f + offset)
        return weight * slope, weight * curvature


class _Numbered(_Weighted, Loss):
    """A weighted loss of rows that are given by their numbers."""

    def __init__(self, loss, y, weight, offset):
        self.loss = loss
        self.rows = np.array([y, weight, offset], dtype=float)
        self.length_scale = loss.length_scale

    def known(self, y: Array) -> tuple[Array, Array, Array]:
        return self.rows[:, y.astype(int)]

    def proximal(self, y, omega, cV):
        """See `Loss.proximal`, by that of the plain loss."""
        y, weight, offset = self.known(y)
        return self.loss.proximal(y, omega + offset, weight * cV) - offset


@dataclass(frozen=True, eq=False)
class WeightedLoss(_Weighted, Loss):
    """Multiply a loss by a weight for each row, and add an offset to each linear
    predictor. A row has the loss w_mu l(y_mu, f_mu + o_mu) (`scaled-row`); value and
    derivatives are those of all M rows (the last axis).

    Parameters
    ----------
    loss : "squared", "logistic", "poisson", "huber", or a loss
        The loss l of a row. At finite beta, weights that differ need the squared loss,
        or one with no channel of its own.
    sample_weight : (M,) array >= 0, not all 0; optional
        A 0 takes a row out of the fit.
    offset : (M,) array of finite numbers, optional
        The known part of each linear predictor.

    Raises
    ------
    TypeError, ValueError
        For other arguments.

    See Also
    --------
    StabilitySelection.fit : Takes sample_weight and offset itself.
    Loss : Describe a loss of your own.

    Examples
    --------
    >>> import numpy as np
    >>> from rvamp_nb import Logistic, WeightedLoss, datasets, rvamp
    >>> d = datasets.load_diabetes()
    >>> loss = WeightedLoss(Logistic(), sample_weight=np.arange(442) % 2)
    >>> rvamp(d.A[:, :10], d.y > 0, lam=0.5, loss=loss).Pi.round(1).tolist()
    [0.1, 0.1, 0.9, 0.6, 0.0, 0.0, 0.4, 0.1, 0.9, 0.2]
    """

    loss: LossLike
    sample_weight: ArrayLike | None = None
    offset: ArrayLike | None = None

    def __post_init__(self):
        vars(self)["loss"] = read_loss(self.loss, "WeightedLoss: loss")
        for name, low in (("sample_weight", 0), ("offset", None)):
            values = vars(self)[name]
            if values is not None:
                owner = f"WeightedLoss: {name}"
                values = check_array(owner, values, ("M",), low, some=True)
                vars(self)[name] = values.copy()

    def known(self, y: Array) -> tuple[Array, Array, Array]:
        """Return what is known of each row; a ValueError for another number of rows.

        Parameters
        ----------
        y : (M,) array
            The target.

        Returns
        -------
        tuple of three (M,) arrays
            The target, weights (0 is the smallest number that messages can hold) and
            offsets.
        """
        M = np.shape(y)[-1]
        weight = self.sample_weight
        offset = self.offset
        for name, values in (("sample_weight", weight), ("offset", offset)):
            if values is not None and values.shape != (M,):
                raise ValueError(
                    f"WeightedLoss: {len(values)} numbers of {name} for {M} rows of y"
                )
        if weight is None:
            weight = np.ones(M)
        if offset is None:
            offset = np.zeros(M)
        return y, np.maximum(weight, FAINTEST), offset

    def translates(self, beta: float) -> bool:
        """Return whether the plain loss can answer.

        Parameters
        ----------
        beta : float > 0
            Inverse temperature.

        Returns
        -------
        bool
            At finite beta only where all weights are 1, or the loss is squared.
        """
        weight = self.sample_weight
        alike = weight is None or np.all(np.equal(weight, 1))
        return np.isinf(beta) or alike or isinstance(self.loss, Squared)

    def asked(self, y: Array, beta: float) -> tuple[Any, ...]:
        """Return a loss that computes the rows' messages, the "y" that it takes, and
        the weights and offsets that its answer still lacks.

        Where the answer `translates`, this is the plain loss with the target itself,
        and weights and offsets are put in by `scaled-row`. At finite beta it may not:
        then it is a loss whose "y" are the numbers of the rows, by which it looks up
        the target, weight and offset of each, so that its answer lacks nothing.

        Parameters
        ----------
        y : (M,) array
            The target.
        beta : float > 0
            Inverse temperature.

        Returns
        -------
        loss : Loss
            The plain loss, or one of numbered rows.
        y : (M,) array
            The target, or the numbers of the rows.
        weight, offset : (M,) arrays, or 1 and 0
            Those of the rows; 1 and 0 where the loss has them.
        """
        if self.translates(beta):
            y, weight, offset = self.known(y)
            return self.loss, y, weight, offset
        loss, numbers = self.numbered(y)
        return loss, numbers, 1.0, 0.0

    def check(self, y: Array, beta: float) -> None:
        """See `Loss.check`. A ValueError for lengths that do not fit, for what the
        plain loss refuses in rows that weigh something, for offsets beyond which a row
        has no noise left, and, at finite beta, for weights that differ if the loss has
        a channel of its own, which knows one beta for all rows.
        """
        _, weight, offset = self.known(y)
        counts = weight > FAINTEST
        self.loss.check(y[counts], beta)
        largest = np.abs(offset[counts]).max()
        most = self.loss.most_offset
        if largest > most:
            raise ValueError(
                f"WeightedLoss: offset is up to {largest:g} in size: it must lie "
                f"within {most:g} of 0 on the scale of log odds; a constant is the "
                "intercept's"
            )
        if not (self.translates(beta) or self.loss.generic):
            raise ValueError(
                f"WeightedLoss: {type(self.loss).__name__} has a channel with one beta "
                f"for all; with weights beta must be inf, got {beta:g}"
            )

    def numbered(self, y: Array) -> tuple[Loss, Array]:
        """See `Loss.numbered`: y are the numbers of the rows, as floats."""
        y, weight, offset = self.known(y)
        return _Numbered(self.loss, y, weight, offset), np.arange(len(y)) * 1.0

    def message(
        self, y: Array, incoming: Natural, counts: CountLaw, beta: float = np.inf
    ) -> tuple[Moments, Natural]:
        """See `Loss.message`."""
        loss, y, weight, offset = self.asked(y, beta)
        question = _to_plain(incoming, weight, offset)
        moments, message = loss.message(y, question, counts, beta)
        return _from_plain(moments, message, weight, offset)

    def log_partition(
        self, y: Array, incoming: Natural, counts: CountLaw, beta: float = np.inf
    ) -> Array:
        """See `Loss.log_partition`: w times that of the plain loss (`scaled-row`)."""
        loss, y, weight, offset = self.asked(y, beta)
        if isinstance(loss, Squared):
            beta = beta * weight
        question = _to_plain(incoming, weight, offset)
        return weight * loss.log_partition(y, question, counts, beta)

    def inner(
        self, y: Array, omega: Array, c: float, V: Array, beta: float
    ) -> tuple[Array, Array, Array]:
        """See `Loss.inner`: from the plain loss (`scaled-row`)."""
        loss, y, weight, offset = self.asked(y, beta)
        if isinstance(loss, Squared):
            slack = 1 / (1 + c * weight * V / loss.sigma**2)
            response = slack * c * weight / loss.sigma**2
            return response * (y - offset - omega), response, slack
        pull, response, slack = loss.inner(y, omega + offset, c, weight * V, beta)
        return weight * pull, weight * response, slack

    def of(self, rows: slice | Ints) -> "WeightedLoss":
        """See `Loss.of`: with the weights and offsets of these rows."""
        weight = self.sample_weight
        offset = self.offset
        if weight is not None:  # not all may be 0: the smallest number in its place
            weight = np.maximum(weight[rows], FAINTEST)
        if offset is not None:
            offset = offset[rows]
        return WeightedLoss(self.loss, weight, offset)
