"""The public names as a type checker sees them: functions and the estimator are told
here, for a chapter's code bears no annotations; all other classes are those of their
rooms. tests/release holds this file to the package.
"""

from abc import ABCMeta
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path as File
from typing import Any, Literal, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from pandas import DataFrame
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from typing_extensions import Self

from . import datasets as datasets
from .bootstrap import Refits
from .densities import P1, P2, P1Clustered, P1Posterior
from .evolution import ConstantSignal, Evolution, GaussianSignal
from .inference.conditioning import ConditionedFit
from .inference.cox import BaselineHazard
from .inference.diagnostics import Diagnostics, ReliabilityWarning
from .inference.effects import Effects
from .inference.refinement import RefinedFit
from .likelihood import Huber, Logistic, Loss, PoissonLoss, Squared
from .prior import ElasticNet, Laplace, NonNegative, Prior, Ridge, SpikeSlab
from .resampling import (
    CountLaw,
    Discrete,
    Exponential,
    FixedFactor,
    Grouped,
    Multinomial,
    NoResampling,
    Poisson,
    Stratified,
    Subsample,
    TwoPoint,
    Weakness,
)
from .select.planning import Pilot, Study
from .solver import ConvergenceWarning, Fit, Path
from .step import State
from .tables.on_dask import DaskTable
from .tables.storage import ChunkedTable, ChunkError
from .weighted import WeightedLoss

__version__: str
# fmt: off
__all__ = [
    "ChunkError", "ChunkedTable", "ConstantSignal", "ConvergenceWarning",
    "DaskTable", "Discrete", "ElasticNet", "Exponential", "Fit", "FixedFactor",
    "GaussianSignal", "Grouped", "Huber", "Laplace", "Logistic", "Loss",
    "Multinomial", "NoResampling", "NonNegative", "Poisson", "PoissonLoss", "Prior",
    "ReliabilityWarning", "Ridge", "SpikeSlab", "Squared", "StabilitySelection",
    "Stratified", "Subsample", "TwoPoint", "Weakness", "WeightedLoss",
    "coefficient_interval", "condition_on_rows", "datasets", "debiased_effects",
    "free_energy", "load_fit", "load_state", "naive_bootstrap", "p1", "p2",
    "plan_study", "predict_study", "refine", "rvamp", "rvamp_path", "save_fit",
    "stability_radius", "state_evolution", "survival_fit",
]
# fmt: on

_Floats: TypeAlias = NDArray[np.float64]
_File: TypeAlias = str | PathLike[str]
_Table: TypeAlias = Any  # whatever NumPy takes, and what is read in blocks
_Loss: TypeAlias = Squared | Loss
_Chosen: TypeAlias = ArrayLike  # numbers; of an estimator's columns also names
_Bound: TypeAlias = Literal["mb", "unimodal"]

def coefficient_interval(fit: Fit, level: float = 0.9) -> _Floats: ...
def condition_on_rows(fit: Fit, rows: int | Sequence[int] = 4) -> ConditionedFit: ...
def debiased_effects(fit: Fit, level: float = 0.95) -> Effects: ...
def predict_study(
    rows: int,
    n_features: int,
    n_effects: int,
    size: float,
    noise: float = 1.0,
    *,
    threshold: float = 0.75,
    pfer: float = 1.0,
    bound: _Bound = "mb",
    pilot: Pilot | None = None,
    near: Study | None = None,
) -> Study: ...
def free_energy(fit: Fit) -> float: ...
def load_fit(path: _File, A: _Table, y: ArrayLike, **parts: Any) -> Fit: ...
def load_state(path: _File) -> State: ...
def naive_bootstrap(
    A: ArrayLike,
    y: ArrayLike,
    lam: float | ArrayLike,
    *,
    loss: Literal["squared", "logistic", "poisson", "huber"] = "squared",
    l1_ratio: float = 1.0,
    positive: bool = False,
    penalty_factor: float | ArrayLike | None = None,
    intercept: bool = False,
    delta: float = 1.0,
    counts: CountLaw = ...,
    randomize: CountLaw = ...,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    n_resamples: int = 1000,
    seed: int = 0,
    n_jobs: int = 1,
    keep: Sequence[int] | None = None,
    columns: Sequence[int] | None = None,
    progress: bool = True,
) -> Refits: ...
def p1(
    fit: Fit | StabilitySelection, i: _Chosen | None = None
) -> P1 | P1Clustered | P1Posterior: ...
def p2(fit: Fit | StabilitySelection, rows: _Chosen | None = None) -> P2: ...
def plan_study(
    n_features: int,
    n_effects: int,
    size: float,
    noise: float = 1.0,
    *,
    pfer: float = 1.0,
    power: float = 0.8,
    threshold: float | None = None,
    bound: _Bound = "mb",
    max_rows: int = 100000,
    pilot: ArrayLike | Pilot | None = None,
    n_studies: int = 32,
    seed: int = 0,
    progress: bool = True,
) -> Study: ...
def refine(
    fit: Fit | ConditionedFit,
    accuracy: float | None = 0.02,
    n_resamples: int | None = None,
    seed: int = 0,
    *,
    baseline: BaselineHazard | None = None,
    progress: bool = True,
) -> RefinedFit: ...
def rvamp(
    A: _Table,
    y: ArrayLike,
    lam: float | ArrayLike | None = None,
    *,
    prior: Prior | None = None,
    likelihood: _Loss = ...,
    counts: CountLaw = ...,
    beta: float = ...,
    intercept: bool = False,
    tol: float = 1e-6,
    max_iter: int = 500,
    damping: float = 0.7,
    column_clusters: Literal["auto"] | Sequence[Sequence[int]] | None = None,
    warm_start: Fit | State | None = None,
) -> Fit: ...
def rvamp_path(
    A: _Table,
    y: ArrayLike,
    lams: ArrayLike | None = None,
    *,
    n_lambdas: int = 50,
    lambda_min_ratio: float = 0.05,
    prior: Prior = ...,
    likelihood: _Loss = ...,
    counts: CountLaw = ...,
    beta: float = ...,
    intercept: bool = False,
    tol: float = 1e-6,
    max_iter: int = 500,
    damping: float = 0.7,
    progress: bool = True,
    until: Callable[[Fit], bool] | None = None,
) -> Path: ...
def save_fit(fit: Fit, path: _File) -> None: ...
def stability_radius(fit: Fit, tol: float = 1e-8, max_iter: int = 1000) -> float: ...
def state_evolution(
    ratio: float,
    lam: float | None = None,
    *,
    signal: ConstantSignal | GaussianSignal,
    noise: float | None = None,
    prior: Prior | None = None,
    likelihood: _Loss = ...,
    counts: CountLaw = ...,
    spectrum: Literal["orthogonal"] | ArrayLike | None = None,
    beta: float = ...,
    selected: float | None = None,
    tol: float = 1e-7,
    max_iter: int = 500,
    start: Evolution | None = None,
) -> Evolution: ...
def survival_fit(
    A: _Table,
    time: ArrayLike,
    event: ArrayLike,
    lam: float | ArrayLike | None = None,
    *,
    prior: Prior | None = None,
    counts: CountLaw = ...,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    still: float = 1e-4,
    rounds: int = 50,
    **options: float,
) -> tuple[Fit, BaselineHazard]: ...

class StabilitySelection(SelectorMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    def __init__(
        self,
        *,
        threshold: float | None = None,
        pfer: float | None = None,
        q: float | None = None,
        bound: _Bound = "mb",
        loss: str | _Loss = "auto",
        l1_ratio: float = 1.0,
        prior: Prior | None = None,
        resampling: Literal["subsample", "poisson"] | CountLaw = "subsample",
        randomize: CountLaw | None = None,
        penalty_factor: ArrayLike | Mapping[Any, float] | None = None,
        lambdas: ArrayLike | None = None,
        n_lambdas: int | None = None,
        lambda_min_ratio: float | None = None,
        accuracy: float = 0.02,
        n_resamples: int | None = None,
        min_features: int = 0,
        decoys: Literal["permuted", "gaussian"] | None = None,
        categories: Mapping[Any, Any] | Sequence[Any] | None = None,
        tol: float = 1e-4,
        max_iter: int = 500,
        verbose: bool | int = 1,
    ) -> None: ...
    def fit(
        self,
        X: _Table,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        strata: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self: ...
    def transform(self, X: _Table) -> Any: ...
    def linear_predictor(self, X: _Table, return_std: bool = False) -> Any: ...
    def predict(self, X: _Table, return_std: bool = False) -> Any: ...
    def predict_interval(self, X: _Table, level: float = 0.9) -> _Floats: ...
    def predict_proba(self, X: _Table) -> _Floats: ...
    def refine(
        self,
        accuracy: float | None = 0.02,
        n_resamples: int | None = None,
        *,
        seed: int = 0,
        progress: bool = True,
    ) -> RefinedFit: ...
    def report(self, folder: _File, done: Sequence[str] = ()) -> list[File]: ...
    def summary(
        self,
        families: Mapping[Any, Any] | Sequence[Any] | None = None,
        *,
        full: bool = False,
    ) -> DataFrame: ...
    def family_probabilities(
        self, families: Mapping[Any, Any] | Sequence[Any] | None = None
    ) -> DataFrame: ...
    def duplicates(self) -> list[str]: ...
    def substitutes(self) -> list[str]: ...
    def plot_path(self, ax: Axes | None = None, leaders: int = 8) -> Axes: ...
    def plot_probabilities(self, ax: Axes | None = None, leaders: int = 20) -> Axes: ...
    def plot_density(self, feature: str | int, ax: Axes | None = None) -> Axes: ...
    def plot_pair(
        self, first: str | int, second: str | int, ax: Axes | None = None
    ) -> Axes: ...
    # known after fit
    @property
    def selection_probabilities_(self) -> _Floats: ...
    @property
    def lambdas_(self) -> _Floats: ...
    @property
    def expected_selected_(self) -> _Floats: ...
    @property
    def converged_(self) -> NDArray[np.bool_]: ...
    n_iter_: int
    lambda_: float
    probabilities_: _Floats
    support_: NDArray[np.bool_]
    stability_: float
    stability_se_: float
    undecided_: NDArray[np.bool_] | None
    refined_: RefinedFit | None
    refit_error_: str
    interrupted_: bool
    q_values_: _Floats | None
    coef_mean_: _Floats
    coef_std_: _Floats
    coef_interval_: _Floats
    intercept_: float
    lambda_scales_: dict[str, float]
    status_: str
    threshold_: float
    pfer_: float | None
    q_: float
    pfer_bound_: float
    pfer_bound_se_: float
    loss_: str | _Loss
    classes_: NDArray[Any] | None
    baseline_: BaselineHazard | None
    diagnostics_: Diagnostics
    fit_: Fit
