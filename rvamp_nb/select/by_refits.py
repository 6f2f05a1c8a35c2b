"""Give the answer by refits where they cost less than the steps of a search.

A step of rVAMP on a sparse table inverts a matrix as large as its shorter side; a
resample by turns only multiplies by the table. Both prices are known before a search.
Where refits are cheaper, a `DiagonalStep` along which the penalty goes replaces steps,
and the penalty is corrected until refits select q columns on average.

>>> import numpy as np
>>> from scipy import sparse
>>> from rvamp_nb import StabilitySelection
>>> X = sparse.random_array((300, 60), density=0.05, rng=0, format="csc")
>>> y = X[:, :3] @ np.ones(3) + np.random.default_rng(1).normal(size=300) / 9
>>> s = StabilitySelection(verbose=0).fit(X, y)
>>> s.selection_.by_refits  # steps on so small a table cost little
False
"""

import numpy as np

from ..algorithm.active import DiagonalStep
from ..algorithm.prior import Penalty
from ..algorithm.solver import Fit
from ..inference import refinement
from ..inference.refits import is_thin
from . import penalty
from .in_play import is_plain
from .question import path_options

__all__ = ["refits_are_cheaper", "search_by_refits"]

# of the shorter side, a step costs so many products of matrices; a search takes so many
# steps. Half or twice moves the border between both ways, where they cost the same
PRODUCTS_A_STEP = 6
STEPS_A_SEARCH = 4
CORRECTED_BY = 100  # refits by which the penalty is corrected
# half or twice: ΣΠ is right to 1.4 or .7 times as much
MOST_CORRECTIONS = 3
# four sparse tables take two; half: refits select 6 to 32 % more than q; twice: as now


def refits_are_cheaper(question, asked):
    """Return whether the refits that an answer is worth cost less multiplications than
    the steps of a search, of a `SelectionProblem`. False for what turns by products do
    not know: a table in groups or not sparse, another loss, a prior without thresholds.

    `asked` are the selector's parameters, {name: value}. All costs are numbers of
    multiplications. A turn, by which a refit converges, multiplies by the table and its
    transpose and looks at each of M + N numbers: twice the entries that are not 0, and
    `NUMBER` for each number. A refit is a draw and the turns of the first level:
    `DRAW` + `FIRST_LEVEL` turns. A step of rVAMP multiplies matrices as large as the
    shorter side m: `PRODUCTS_A_STEP` m^3.
    """
    A = question.A
    if path_options(asked) or not (is_plain(question) and is_thin(A)):
        return False
    if question.target.loss != "squared" or not isinstance(question.prior, Penalty):
        return False
    n_refits = asked["n_resamples"]
    if n_refits == 0:
        return False
    if n_refits is None:
        n_refits = refinement.ASKED / asked["accuracy"] ** 2
    a_turn = 2 * A.source.nnz + refinement.NUMBER * sum(A.shape)
    a_refit = refinement.DRAW + refinement.FIRST_LEVEL * a_turn
    a_step = PRODUCTS_A_STEP * min(A.shape) ** 3
    return n_refits * a_refit < STEPS_A_SEARCH * a_step


def search_by_refits(question, q, asked):
    """Search for the penalty at which refits select q columns on average.

    Diagonal steps find a penalty at which their selection probabilities add up to a
    goal, at first q. They are approximate: refits at this penalty select another
    number on average, q'. The goal is multiplied by q / q', and the steps are taken
    again, until q' is q up to two standard errors, `MOST_CORRECTIONS` times at most.

    Parameters
    ----------
    question : SelectionProblem
        The table, its target, prior and law of counts.
    q : float
        How many columns a resample selects on average.
    asked : dict
        The selector's parameters, {name: value}.

    Returns
    -------
    tuple or None
        The question, a `Path` of one penalty and a `PenaltyChoice`. None if refits are
        not cheaper, if no penalty selects so many, or if the steps do not converge.
    """
    if not refits_are_cheaper(question, asked):
        return None
    lam = penalty.guess_penalty(question, q)
    if not lam:
        return None
    empty = penalty.empty_model(question)
    step = DiagonalStep(empty.A)
    # it keeps the penalty between the rounds, `lam`: each begins where the last ended
    tracker = penalty.TrackingPrior(question, q, lam)
    for _ in range(MOST_CORRECTIONS):
        fit = _track_by_diagonal_steps(question, empty, step, tracker)
        if fit is None:
            return None
        sizes = _count_selected(question, fit, asked["random_state"])
        mean_size = sizes.mean()
        standard_error = np.std(sizes) / np.sqrt(CORRECTED_BY)
        if abs(mean_size - q) < 2 * standard_error:
            break
        tracker.goal *= q / mean_size
    choice = penalty.PenaltyChoice(
        lam=tracker.lam, fit=fit, status="converged", n_iter=1
    )
    return question, penalty.path_of_one(tracker.lam, fit), choice


def _track_by_diagonal_steps(question, empty, step, tracker):
    """Move the penalty of a `TrackingPrior` by diagonal steps until it selects as many
    columns as its `goal`; return the `Fit` there, or None if they do not converge.

    The steps, of the `DiagonalStep` `step`, begin at the `Problem` of the empty model,
    `empty`. Each changes `tracker.lam`, which is afterwards the penalty of the fit.
    """
    tracked = empty._replace(prior=question.inside(tracker))
    # patient, for steps of rVAMP would cost far more
    last = penalty.run_cheaply(tracked, step, penalty.CHEAP_STEPS)
    if last is None or last.change > penalty.FIRST_TOL:
        return None
    prior = question.inside(question.prior.scaled(tracker.lam))
    return Fit(
        problem=empty._replace(prior=prior, counts=question.of_one),
        last=last,
        converged=True,
        n_iter=1,
        status="converged",
        trace=None,
        tol=penalty.FIRST_TOL,
    )


def _count_selected(question, fit, seed):
    """Count the columns that each of `CORRECTED_BY` refits at the penalty of a fit
    selects, (CORRECTED_BY,); their rows are drawn with `seed`.
    """
    samples = refinement.Samples(fit, None, seed)
    samples.grow((0, CORRECTED_BY, CORRECTED_BY), False)  # by turns, none exactly
    is_selected = samples.settled != 0  # the last column is the intercept
    return question.size(is_selected.T[:-1])
