"""Other losses, penalties, count laws and an intercept against thousands of refits,
in standard errors plus a stated bias allowance.
"""

from functools import cache

import numpy as np
import pytest
from truth.one_fit.make_truth import RECIPES, load_truth, model_of

from rvamp_nb.algorithm.likelihood import Squared
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.resampling import Poisson
from rvamp_nb.algorithm.solver import rvamp

# rms error beyond Monte Carlo that is allowed: of the means and standard deviations
# relative to the refits' rms standard deviation, and of Pi;
# about 1.5 times the largest that was measured (0.02, 0.04, 0.004)
ALLOWED = {
    name: (0.03, 0.06, 0.006)
    for name, recipe in RECIPES.items()
    if recipe["model"] or "150x300" in name
}
# a few large counts carry much of the field
ALLOWED["poisson_200x300"] = 0.07, 0.11, 0.008
# columns correlated up to 0.998, and only 30 of them: the spread is off by a quarter
ALLOWED["breast_cancer_569x30"] = 0.10, 0.35, 0.035


def solve(truth, **changes):
    """The same problem by rVAMP; `changes` replace parts of it, to see a comparison
    fail.
    """
    model = model_of(truth.lam, truth.randomize, **truth.recipe["model"])
    rough = dict(tol=1e-4)  # a hundredth of what is allowed
    given = model | dict(resampling=truth.counts) | changes
    return rvamp(truth.A, truth.y, **given, **rough)


def beyond(gap, se):
    """Root mean square of the gap that Monte Carlo does not explain."""
    return np.sqrt(max(np.mean(gap**2) - np.mean(se**2), 0.0))


def errors(truth, fit):
    spread = np.sqrt(np.mean(truth.var))
    sd_se = truth.var_se / (2 * np.sqrt(np.maximum(truth.var, 1e-300)))
    Pi = beyond(fit.Pi - truth.Pi, truth.Pi_se) if hasattr(fit, "Pi") else 0.0
    return (
        beyond(fit.mean - truth.mean, truth.mean_se) / spread,
        beyond(np.sqrt(fit.var) - np.sqrt(truth.var), sd_se) / spread,
        Pi,
    )


@cache
def solved(name):
    truth = load_truth(name)
    return truth, solve(truth)


@pytest.mark.parametrize("name", ALLOWED)
def test_against_refits(name):
    truth, fit = solved(name)
    assert fit.converged and fit.trace.floored.sum() == 0
    found = errors(truth, fit)
    of_u = beyond(fit.last.u.mean - truth.u_mean, truth.u_se) / truth.u_mean.std()
    print(
        f"{name}: error beyond Monte Carlo, mean {found[0]:.3f}, standard deviation"
        f" {found[1]:.3f}, Pi {found[2]:.4f}; rows of u {of_u:.3f}"
    )
    assert (np.array(found) < ALLOWED[name]).all(), found


@pytest.mark.parametrize("name", ["logistic_200x400", "logistic_200x400_subsample"])
def test_logistic_correlations(name):
    truth, fit = solved(name)
    agree = [
        np.corrcoef(getattr(fit, part), getattr(truth, part))[0, 1]
        for part in ("mean", "var", "Pi")
    ]
    print(name, np.round(agree, 4))
    assert agree[0] >= 0.998 and agree[1] >= 0.998 and agree[2] >= 0.995


@pytest.mark.parametrize(
    "name, changes",
    [
        ("logistic_200x400", dict(loss=Squared())),
        ("logistic_200x400", dict(resampling=Poisson(0.6))),
        ("logistic_200x400_subsample", dict(resampling=Poisson(0.5))),
        ("exponential_150x300", dict(resampling=Poisson(1.0))),
        ("discrete_150x300", dict(resampling=Poisson(0.7))),
        ("unpenalised_150x200", dict(intercept=False)),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_another_problem_fails(name, changes):
    """The comparison has teeth: with another loss, count law or no intercept it
    fails.
    """
    truth = load_truth(name)
    assert not (np.array(errors(truth, solve(truth, **changes))) < ALLOWED[name]).all()


def test_weakness_is_not_its_mean():
    truth = load_truth("weakness_150x300")
    # E 1/W = ln(1/0.4)/0.6
    fixed = rvamp(
        truth.A, truth.y, prior=Laplace(truth.lam * 1.53), resampling=truth.counts
    )
    assert errors(truth, fixed)[2] > ALLOWED["weakness_150x300"][2]
