"""A program that uses the public names, for a strict type checker: it is never run.

What it asserts is what an editor shows; where a line is wrong on purpose, the checker
must say so, for an ignore that nothing needs is an error.
"""

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from typing_extensions import assert_type

import rvamp_nb
from rvamp_nb import (
    BaggedClassifier,
    BaggedRegressor,
    ConstantSignal,
    Grouped,
    Huber,
    Laplace,
    Logistic,
    Prior,
    StabilitySelection,
    Subsample,
    WeightedLoss,
    datasets,
    debiased_effects,
    free_energy,
    naive_bootstrap,
    neighbourhoods,
    p1,
    p2,
    plan_study,
    refine,
    rvamp,
    rvamp_path,
    state_evolution,
)
from rvamp_nb.results import (
    P1,
    P2,
    BaselineHazard,
    Effects,
    Evolution,
    Fit,
    Network,
    P1Clustered,
    P1InGroup,
    P1Numeric,
    P1Posterior,
    Path,
    RefinedFit,
    Refits,
    Study,
)
from rvamp_nb.tables import ChunkedTable

Array = NDArray[np.float64]

data = datasets.load_diabetes()
assert_type(data.A, Array)
lam = datasets.choose_lambda(data.A, data.y)
assert_type(lam, float)

fit = rvamp(data.A, data.y, lam, resampling=Subsample(0.5), loss=Huber(1.0))
assert_type(fit, Fit)
assert_type(fit.mean, Array)
assert_type(fit.Pi, Array)
assert_type(fit.intercept, float)
assert_type(fit.converged, bool)
assert_type(rvamp(data.A, data.y, prior=Laplace(lam), warm_start=fit), Fit)
assert_type(rvamp(data.A, data.y, lam, intercept=True, max_iter=9), Fit)
assert_type(rvamp_path(data.A, data.y, until=lambda fit: fit.Pi.sum() > 9).Pi, Array)
assert_type(p1(fit, 0), P1 | P1Clustered | P1InGroup | P1Numeric | P1Posterior)
assert_type(p2(fit, [0, 1]), P2)
assert_type(p2(fit, [0, 1]).covariance, Array)
assert_type(free_energy(fit), float)
assert_type(refine(fit, n_resamples=100), RefinedFit)
assert_type(debiased_effects(fit).ci_low, Array)
assert_type(naive_bootstrap(data.A, data.y, lam, loss="huber").Pi_se, Array)
assert_type(neighbourhoods(data.A, rule="or").probabilities, Array)
assert_type(Laplace(lam).scaled(2.0).is_unpenalized(), bool | NDArray[np.bool_])
assert_type(Grouped(Subsample(), ("a", "a", "b")).mean, float)
assert_type(ChunkedTable(data.A).sizes, tuple[Array, Array])
assert_type(state_evolution(0.3, lam, signal=ConstantSignal(3.0, 0.1)), Evolution)
assert_type(plan_study(1000, 10, 0.5, pfer=1).power, float)
assert_type(rvamp_path(data.A, data.y), Path)
assert_type(naive_bootstrap(data.A, data.y, lam), Refits)
assert_type(debiased_effects(fit), Effects)
assert_type(neighbourhoods(data.A), Network)
assert_type(plan_study(1000, 10, 0.5), Study)
assert_type(rvamp_nb.__version__, str)

selector = StabilitySelection(pfer=1, loss=WeightedLoss(Logistic()))
selector = selector.fit(data.A, data.y > 0, groups=["a", "b"] * 221)
assert_type(selector, StabilitySelection)
assert_type(selector.probabilities_, Array)
assert_type(selector.lambdas_, Array)
assert_type(selector.refined_, RefinedFit | None)
assert_type(selector.baseline_, BaselineHazard | None)
assert_type(selector.refine(n_resamples=100), RefinedFit)
assert_type(selector.duplicates(), list[str])
assert_type(selector.plot_density("bmi"), Axes)
p1(selector, ["bmi", "s5"]), p2(selector)
bag = BaggedRegressor(selector).fit(data.A, data.y, groups=["a", "b"] * 221)
assert_type(bag, BaggedRegressor)
assert_type(bag.selector_, StabilitySelection)
assert_type(bag.predict_interval(data.A), Array)
assert_type(BaggedClassifier(selector).predict_proba(data.A), Array)


class Normal(Prior):
    """A prior of one's own."""

    def inner(
        self, field: Array, Q_hat: Array, beta: float
    ) -> tuple[Array, Array, Array]:
        x = field / (Q_hat + 1)
        return field * x / 2, x, 0 * field + 1 / (Q_hat + 1)


class Twice:
    """A law of one's own."""

    mean, var = 1.0, 1.0

    def nodes(self) -> tuple[Array, Array]:
        return np.array([0.0, 2.0]), np.array([0.5, 0.5])

    def draw(self, M: int, rng: np.random.Generator) -> Array:
        return (2 * rng.integers(2, size=M)).astype(np.float64)


rvamp(data.A, data.y, prior=Normal(), resampling=Twice())

# what must be seen
rvamp(data.A, data.y, lam=[0.1], tol="small")  # type: ignore[arg-type]
rvamp(data.A, data.y, prior=Logistic())  # type: ignore[arg-type]
rvamp(data.A, data.y, resampling=0.5)  # type: ignore[arg-type]
rvamp(data.A, data.y, n_refits=3)  # type: ignore[call-arg]
rvamp(data.A)  # type: ignore[call-arg]
fit.average  # type: ignore[attr-defined]
p1("fit.npz")  # type: ignore[arg-type]
refine(data)  # type: ignore[arg-type]
naive_bootstrap(data.A, data.y, lam, loss="hubber")  # type: ignore[arg-type]
BaggedRegressor("selector")  # type: ignore[arg-type]
StabilitySelection(bound="mbb")  # type: ignore[arg-type]
StabilitySelection(refits=100)  # type: ignore[call-arg]
selector.refine(random_state=0.5)  # type: ignore[arg-type]
Subsample("half")  # type: ignore[arg-type]
datasets.load_riboflavin(3)  # type: ignore[arg-type]
rvamp_nb.refined  # type: ignore[attr-defined]
rvamp_nb.save_fit  # type: ignore[attr-defined]
