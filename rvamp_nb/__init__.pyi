"""The public names, each with the module that it lives in: read by type checkers, which
find the types there, and when the package is imported, by ``lazy_loader``.
"""

from . import datasets as datasets
from .bootstrap import naive_bootstrap as naive_bootstrap
from .column_groups import GroupLasso as GroupLasso
from .column_groups import group_norm as group_norm
from .column_groups import orthonormal_groups as orthonormal_groups
from .densities import coefficient_interval as coefficient_interval
from .densities import p1 as p1
from .densities import p2 as p2
from .energy import free_energy as free_energy
from .energy import stability_radius as stability_radius
from .evolution import ConstantSignal as ConstantSignal
from .evolution import GaussianSignal as GaussianSignal
from .evolution import state_evolution as state_evolution
from .inference.conditioning import condition_on_rows as condition_on_rows
from .inference.diagnostics import ReliabilityWarning as ReliabilityWarning
from .inference.effects import debiased_effects as debiased_effects
from .inference.halves import complementary_pairs as complementary_pairs
from .inference.refinement import refine as refine
from .inference.softmax import softmax_fit as softmax_fit
from .inference.survival import survival_fit as survival_fit
from .likelihood import Huber as Huber
from .likelihood import Logistic as Logistic
from .likelihood import Loss as Loss
from .likelihood import PoissonLoss as PoissonLoss
from .likelihood import Squared as Squared
from .prior import ElasticNet as ElasticNet
from .prior import Laplace as Laplace
from .prior import NonNegative as NonNegative
from .prior import Prior as Prior
from .prior import Ridge as Ridge
from .prior import SpikeSlab as SpikeSlab
from .resampling import Discrete as Discrete
from .resampling import Exponential as Exponential
from .resampling import FixedFactor as FixedFactor
from .resampling import Grouped as Grouped
from .resampling import Multinomial as Multinomial
from .resampling import NoResampling as NoResampling
from .resampling import Poisson as Poisson
from .resampling import Stratified as Stratified
from .resampling import Subsample as Subsample
from .resampling import TwoPoint as TwoPoint
from .resampling import Weakness as Weakness
from .saving import load_state as load_state
from .saving import save_fit as save_fit
from .select.estimator import StabilitySelection as StabilitySelection
from .select.networks import neighbourhoods as neighbourhoods
from .select.planning import plan_study as plan_study
from .select.planning import predict_study as predict_study
from .solver import ConvergenceWarning as ConvergenceWarning
from .solver import Fit as Fit
from .solver import load_fit as load_fit
from .solver import rvamp as rvamp
from .solver import rvamp_path as rvamp_path
from .tables.chunked import ChunkedTable as ChunkedTable
from .tables.chunked import ChunkError as ChunkError
from .tables.dask_table import DaskTable as DaskTable
from .weighted import WeightedLoss as WeightedLoss

__version__: str
