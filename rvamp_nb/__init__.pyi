"""The public names, each with the module that it lives in: read by type checkers, which
find the types there, and when the package is imported, by ``lazy_loader``.
"""

from . import datasets as datasets
from .algorithm.column_groups import GroupLasso as GroupLasso
from .algorithm.densities import p1 as p1
from .algorithm.densities import p2 as p2
from .algorithm.energy import free_energy as free_energy
from .algorithm.evolution import state_evolution as state_evolution
from .algorithm.likelihood import Huber as Huber
from .algorithm.likelihood import Logistic as Logistic
from .algorithm.likelihood import Loss as Loss
from .algorithm.likelihood import PoissonLoss as PoissonLoss
from .algorithm.likelihood import Squared as Squared
from .algorithm.order_parameters import ConstantSignal as ConstantSignal
from .algorithm.order_parameters import GaussianSignal as GaussianSignal
from .algorithm.prior import ElasticNet as ElasticNet
from .algorithm.prior import Laplace as Laplace
from .algorithm.prior import NonNegative as NonNegative
from .algorithm.prior import Prior as Prior
from .algorithm.prior import Ridge as Ridge
from .algorithm.prior import SpikeSlab as SpikeSlab
from .algorithm.resampling import Discrete as Discrete
from .algorithm.resampling import Exponential as Exponential
from .algorithm.resampling import Grouped as Grouped
from .algorithm.resampling import NoResampling as NoResampling
from .algorithm.resampling import Poisson as Poisson
from .algorithm.resampling import Stratified as Stratified
from .algorithm.resampling import Subsample as Subsample
from .algorithm.resampling import TwoPoint as TwoPoint
from .algorithm.resampling import Weakness as Weakness
from .algorithm.solver import rvamp as rvamp
from .algorithm.solver import rvamp_path as rvamp_path
from .algorithm.solver import with_clusters as with_clusters
from .algorithm.weighted import WeightedLoss as WeightedLoss
from .inference.bootstrap import naive_bootstrap as naive_bootstrap
from .inference.effects import debiased_effects as debiased_effects
from .inference.halves import complementary_pairs as complementary_pairs
from .inference.refinement import refine as refine
from .select.estimator import BaggedClassifier as BaggedClassifier
from .select.estimator import BaggedRegressor as BaggedRegressor
from .select.estimator import StabilitySelection as StabilitySelection
from .select.networks import neighbourhoods as neighbourhoods
from .select.planning import plan_study as plan_study
from .select.planning import predict_study as predict_study

__version__: str
