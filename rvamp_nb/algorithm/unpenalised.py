"""Unpenalised coefficients alone: Newton's method, from least absolute deviations.

They are what the model has when all penalised coefficients are zero: an intercept, or
covariates that stay. A Huber loss has no curvature for rows that lie further from the
fit than its width. If the target is far from zero, that is true of every row at the
start; so where most rows have no curvature, the first guess is the fit of least
absolute deviations.

>>> import numpy as np
>>> from rvamp_nb.algorithm.likelihood import Huber, Squared
>>> from rvamp_nb.algorithm.prior import Laplace
>>> from rvamp_nb.algorithm.problem import Problem
>>> from rvamp_nb.algorithm.resampling import Poisson
>>> from rvamp_nb.algorithm.step import WithIntercept
>>> from rvamp_nb.algorithm.unpenalised import fit_unpenalised
>>> A = np.column_stack([[1.0, -1.0, 1.0, -1.0, 0.0], np.ones(5)])
>>> y = np.array([0.0, 1.0, 2.0, 3.0, 100.0])
>>> prior = WithIntercept(Laplace(0.3), 1)
>>> for loss in Squared(), Huber(0.1):
...     x, f = fit_unpenalised(Problem(A, y, prior, loss, Poisson(0.5)))
...     print(x.round(6))
[ 0.  21.2]
[0. 2.]
"""

import numpy as np

__all__ = ["fit_unpenalised"]


def fit_unpenalised(problem):
    """Fit the unpenalised coefficients alone, by Newton's method.

    Return the coefficients x, (N,), 0 for the others, and the predictions, (M,).
    """
    A, y, prior, loss, _, _ = problem
    x = np.zeros(A.shape[1])
    is_free = np.broadcast_to(prior.is_unpenalized(), A.shape[1:])
    if not is_free.any():
        return x, np.zeros(len(y))
    B = A[:, is_free]
    x[is_free] = _guess_coefficients(B, y, loss)
    f = B @ x[is_free]
    for _ in range(100):
        slope, curvature = loss.derivatives(y, f)
        # least squares, for columns may be copies of each other
        move = np.linalg.lstsq((B.T * curvature) @ B, -B.T @ slope, rcond=None)[0]
        along = B @ move
        length, falls = _step_length(y, loss, f, along)
        x[is_free] += length * move
        f = B @ x[is_free]
        is_small = np.linalg.norm(length * along) <= 1e-10 * np.linalg.norm(f)
        if is_small or not falls:  # where f is 0 no move is small beside it
            break
    return x, f


def _guess_coefficients(B, y, loss):
    """Return coefficients at which Newton's method starts: 0, or those of least
    absolute deviations where at 0 most rows have no curvature.
    """
    x = np.zeros(B.shape[1])
    if np.mean(loss.derivatives(y, B @ x)[1] > 0) > 0.5:
        return x
    # iteratively reweighted least squares
    weight = np.ones(len(y))
    for _ in range(30):
        x = np.linalg.lstsq(B * weight[:, None], y * weight, rcond=None)[0]
        gap = np.abs(y - B @ x)
        weight = 1 / np.sqrt(np.maximum(gap, 1e-3 * gap.max() + 1e-300))
    return x


def _step_length(y, loss, f, along):
    """Halve a step until the loss does not rise; return its length, and whether the
    loss falls.
    """
    start = loss.value(y, f).sum()
    for n_halvings in range(40):
        length = 0.5**n_halvings
        end = loss.value(y, f + length * along).sum()
        if end <= start:
            return length, end < start
    return 0.0, False
