"""Losses that refits know by name: value, slope and curvature of many resamples.

The workshop's page on refits (`batch_glm`) minimises them.

>>> import numpy as np
>>> from rvamp_nb.inference.refit_losses import RefitLoss
>>> loss = RefitLoss("huber", delta=1.0)
>>> print(loss.slope(np.array([0.0, 5.0]), np.array([0.5, 0.5])))
[ 0.5 -1. ]
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, huber

__all__ = ["RefitLoss"]


class RefitLoss(NamedTuple):
    """The loss l(y, f + offset), by its name in LOSSES; Huber's is linear beyond
    delta. Its curvature is lent a share of a parabola's there.
    """

    name: str
    delta: float = 1.0
    offset: float | np.ndarray = 0.0  # or (M,)

    def of(self, rows):
        """Return the loss of some of the rows."""
        if np.ndim(self.offset) == 0:
            return self
        return self._replace(offset=self.offset[rows])

    def value(self, y, f, c=1.0):
        """Compute the loss of each row, times its count c, an array."""
        f = f + self.offset
        if self.name == "logistic":
            return c * (np.logaddexp(0, f) - y * f)
        if self.name == "poisson":
            return c * (np.exp(f) - y * f)
        residual = y - f
        if self.name == "huber":
            return c * huber(self.delta, residual)
        return c * (residual**2 / 2)

    def slope(self, y, f, c=1.0):
        """Compute the derivative of each row's loss by f, times its count c."""
        f = f + self.offset
        if self.name == "logistic":
            return c * (expit(f) - y)
        if self.name == "poisson":
            return c * (np.exp(f) - y)
        excess = f - y
        del f  # as large as the answer
        if self.name == "huber":
            excess = np.clip(excess, -self.delta, self.delta)
        return c * excess

    def rounding(self, y, f, c):
        """Bound how far rounding of y - f may move the pull of a unit column, (b,).

        It is 0 but for Huber's loss, whose outlying targets pull by delta at most and
        may be so large that they take digits from the others.
        """
        if self.name != "huber":
            return np.zeros(len(c))
        inside = np.abs(y - f - self.offset) <= self.delta
        return np.finfo(float).eps * np.linalg.norm(c * y * inside, axis=1)

    def hessian(self, X, y, f, c, lent):
        """Compute the second derivatives of the summed loss, (..., n, n), by the
        coefficients of columns X, (..., n, M), with counts c.

        Beyond delta Huber's loss has no curvature: it is lent a share `lent` of that of
        the parabola that touches it, and the matrix is not singular.
        """
        f = f + self.offset
        if self.name == "logistic":
            curvature = expit(-np.abs(f))  # the smaller of the two probabilities
            curvature -= curvature**2
        elif self.name == "poisson":
            curvature = np.exp(f)
        elif self.name == "huber":
            distance = np.maximum(np.abs(y - f), self.delta)
            tail = lent * self.delta / distance
            curvature = np.where(distance > self.delta, tail, 1.0)
        else:
            curvature = 1.0
        return (X * (c * curvature)[..., None, :]) @ np.swapaxes(X, -1, -2)
