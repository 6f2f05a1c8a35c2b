"""Cox fits over resamples, without Cox fits: rVAMP with a frozen baseline hazard.

Chapter 5.3 derives it. From the model without features come a baseline, a fit on
Poisson rows, and the baseline again from that fit, until it no longer changes. Between
two fits the baseline goes along with the messages (`MovingBaseline`, at most 100
steps), so that as a rule the second fit is the last.

`survival_fit` returns a `Fit`, whose intercept is the level of the log hazard, and a
`BaselineHazard`, the frozen shape, which refits and reports need. In the table of the
chapter features 0 and 1 act on the risk; feature 2 only makes patients leave.

>>> from rvamp_nb.course.survival import simulated_survival, survival_fit
>>> A, y = simulated_survival(M=100, N=5, seed=1)
>>> fit, baseline = survival_fit(A, y["time"], y["event"], lam=1.0)
>>> fit
Fit(converged in 1 steps; 5 coefficients, 1.9 selected on average)
>>> print(f"{baseline.event.sum():.0f} events, a sum of {baseline.hazard.sum():.1f}")
64 events, a sum of 64.0
"""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ..algorithm.active import step_for
from ..algorithm.iteration import follow
from ..algorithm.prior import Prior
from ..algorithm.resampling import CountLaw, Subsample, check_law
from ..algorithm.solver import Fit, rvamp
from ..environment import numpy_errors
from ..exceptions import ConvergenceWarning
from ..inference.baseline import BaselineHazard, MovingBaseline
from ..typing import ArrayLike, TableLike
from ..validation import check_number, check_size

__all__ = ["simulated_survival", "survival_fit"]


def simulated_survival(M=200, N=40, effect=0.8, leaving=1.2, seed=0):
    """Draw a table with survival times: features 0 and 1 act on the risk, 2 on
    censoring. M rows, N >= 3 columns; effect and leaving are log hazard ratios of a
    standard deviation. A, (M, N), has centred columns of unit length; y, (M,), is a
    structured array with fields "event" (bool) and "time" (float).
    """
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(M, N))
    risk = np.exp(effect * (A[:, 0] - A[:, 1]))
    death = np.sqrt(rng.exponential(1 / risk))  # the hazard grows with time
    # at 1.5 on average where feature 2 is 0, later than most deaths
    censoring = rng.exponential(1.5 * np.exp(-leaving * A[:, 2]))
    y = np.zeros(M, dtype=[("event", bool), ("time", float)])
    y["event"] = death <= censoring
    y["time"] = np.ceil(100 * np.minimum(death, censoring))  # some are tied
    A = A - A.mean(0)
    return A / np.linalg.norm(A, axis=0), y


@numpy_errors(under="ignore")
def survival_fit(
    A: TableLike,
    time: ArrayLike,
    event: ArrayLike,
    lam: ArrayLike | None = None,
    *,
    prior: Prior | None = None,
    resampling: CountLaw = Subsample(0.5),
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    entry: ArrayLike | None = None,
    baseline_tol: float = 1e-4,
    rounds: int = 50,
    **options: Any,
) -> tuple[Fit, BaselineHazard]:
    """Compute how a penalized Cox fit is distributed across resamples, without Cox
    fits: by `rvamp` on Poisson rows, with a baseline hazard that is found in turn.

    Parameters
    ----------
    A : (M, N) table
        As for `rvamp`.
    time : (M,) array of numbers >= 0
        When the event was seen, or the row was last observed.
    event : (M,) array of 0 and 1
        Whether the event was seen.
    lam, prior, resampling
        As for `rvamp`; penalties as in `cox`.
    sample_weight : (M,) array >= 0, optional
        Weights of the rows.
    offset : (M,) array, optional
        A known part of the log hazard.
    strata : (M,) labels, optional
        Each with a baseline of its own (a stratified Cox model); halves are drawn in
        each by `resampling=Stratified(Subsample(0.5), strata)`. A must be in memory;
        its columns are centred in each stratum.
    entry : (M,) array, optional
        Times >= 0, before `time`: at risk are rows with entry < t <= time (left
        truncation). Several rows of one patient need `Grouped` counts.
    baseline_tol : finite float > 0
        Change of the baseline, relative to its largest value, at which to stop.
    rounds : int >= 1
        Fits at most, each after up to 100 steps in which the baseline goes along.
    **options
        The tol, max_iter, damping, beta of `rvamp`.

    Returns
    -------
    fit : Fit
        Its intercept is the level of the log hazard.
    baseline : BaselineHazard
        The hazard without features.

    Raises
    ------
    TypeError, ValueError
        For arguments out of range, and for too few events.

    Warns
    -----
    ConvergenceWarning
        Where the baseline takes more than `rounds`.

    See Also
    --------
    rvamp : Fit other losses.
    StabilitySelection : Select features of survival data, by loss="survival".

    Examples
    --------
    >>> from rvamp_nb.course.survival import simulated_survival, survival_fit
    >>> A, y = simulated_survival(M=100, N=5, seed=1)
    >>> fit, baseline = survival_fit(A, y["time"], y["event"], lam=1.0)
    >>> fit.Pi.round(1).tolist()
    [1.0, 0.9, 0.0, 0.0, 0.0]
    """
    check_law("resampling", resampling, needs=("nodes", "mean", "var"))
    baseline_tol = check_number("survival_fit", "baseline_tol", baseline_tol, 0)
    rounds = check_size("survival_fit", "rounds", rounds)
    sets = dict(strata=strata, entry=entry)
    base = BaselineHazard(time, event, resampling, sample_weight, offset, **sets)
    fit = None
    A = base.within_strata(A)

    def is_enough(changes):  # of the messages, one for each step so far
        return changes[-1] < baseline_tol / 10 or len(changes) == 100

    for _ in range(rounds):
        model = dict(loss=base.rows, prior=prior, resampling=resampling, intercept=True)
        fit = rvamp(A, base.event, lam, warm_start=fit, **model, **options)
        last = fit.last
        moving = MovingBaseline(base, step_for(fit.problem.A))
        if last is None or base.updated(last.u).distance(base) < baseline_tol:
            return fit, base  # without a step it has warned
        last, _ = follow(fit.problem, fit.messages, is_enough, moving)
        base = moving.base
        fit = replace(fit, last=last or fit.last)
    message = f"the baseline still moves after {rounds} rounds"
    warnings.warn(message, ConvergenceWarning, stacklevel=3)  # one is its context
    return fit, base
