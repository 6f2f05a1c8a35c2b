"""Problem, state and step of the iteration: what is fixed, what moves, what is kept.

A problem and a state make a step (chapter 3.4); the step's `new` is the next state.
A problem checks nothing, for `rvamp` has done so; a step that cannot be taken is a
`Breakdown` that names the quantity.

>>> from rvamp_nb.algorithm.likelihood import Squared
>>> from rvamp_nb.algorithm.prior import Laplace
>>> from rvamp_nb.algorithm.problem import Problem
>>> from rvamp_nb.algorithm.resampling import Poisson
>>> from rvamp_nb.algorithm.start import initial_state
>>> from rvamp_nb.algorithm.step import step
>>> from rvamp_nb.datasets import toy
>>> A, y, *_ = toy()
>>> problem = Problem(A, y, Laplace(0.3), Squared(), Poisson(0.5))
>>> first = step(problem, initial_state(problem))
>>> second = step(problem, first.new)
>>> print(f"the first change is {first.change:.2f}, the next {second.change:.2f}")
the first change is 3.28, the next 1.07
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..tables.chunked import square_lengths
from .coupling import Coupled
from .messages import Mixed, Moments, Natural

__all__ = ["MATTERS", "NEGLIGIBLE", "Problem", "State", "Step", "Breakdown"]


class _Fixed(NamedTuple):
    """Hold the parts of a `Problem`, which keeps more than a NamedTuple can."""

    A: np.ndarray  # (M, N), or ChunkedTable: a table that is read in blocks
    y: np.ndarray  # (M,)
    prior: object  # a Prior: Laplace(...), or any other
    likelihood: object  # Squared(), or any Loss
    counts: object  # Poisson(0.5), or any law of independent counts
    beta: float = np.inf  # inverse temperature


class Problem(_Fixed):
    """The table, target, prior, loss and law of counts of a fit."""

    @cached_property
    def square_lengths(self):
        """The squared length of each column of A, (N,): every step asks for them."""
        return square_lengths(self.A)


class State(NamedTuple):
    """Hold the messages from the coupling: all that one step hands to the next.

    Attributes
    ----------
    to_prior : Natural
        Q_hat_1x, h_1x, chi_hat_1x; each (N,).
    to_likelihood : Natural
        Q_hat_1u, h_1u, chi_hat_1u; each (M,).

    See Also
    --------
    rvamp : Take it as its `warm_start`.

    Examples
    --------
    >>> from rvamp_nb import datasets, rvamp
    >>> A, y, *_ = datasets.toy()
    >>> state = rvamp(A, y, 0.6).last.state
    >>> print(state.to_prior.h.shape, rvamp(A, y, 0.6, warm_start=state).n_iter)
    (1,) 1
    """

    to_prior: Natural
    to_likelihood: Natural


class Step(NamedTuple):
    """One turn of Algorithm 1, with all messages and moments on the way."""

    state: State  # the messages that came in
    x: Moments  # x_hat_1, chi_1x, v_1x: the prior's moments
    u: Moments  # u_hat_1, chi_1u, v_1u: the likelihood's moments
    prior_message: Mixed  # what the prior sends to the coupling
    likelihood_message: Natural  # what the likelihood sends
    coupled: Coupled  # Variable 2
    new: State  # the messages that go out
    change: float  # largest relative change over the six messages
    delta: float  # scale-free distance of the two factors' means and variances
    n_clipped: int  # variances that came out negative beyond rounding, set to 0


# Features with a larger Π take part in what is judged and joined. A thousand refits
# know a probability no better than a hundredth.
MATTERS = 0.01
# half: 71 clusters are found in eleven fits, not 56; twice: 45; the same answers

# Columns with a smaller Π may keep still while others move, or are looked at last: that
# saves time, and what it can change is a tenth of what matters.
NEGLIGIBLE = 1e-3
# half: Π of eleven selections moves by .005 at most; twice: not at all


class Breakdown(Exception):
    """An error in a step, which names the quantity that failed."""
