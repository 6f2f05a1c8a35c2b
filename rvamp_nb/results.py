"""Types of what functions and methods return, for annotations and `isinstance`.

A name that is called stands in `rvamp_nb`; what a call gives back has its type here.

>>> from rvamp_nb import datasets, p1, rvamp
>>> from rvamp_nb.results import P1, Fit
>>> def largest(fit: Fit) -> P1:
...     return p1(fit, int(fit.Pi.argmax()))
>>> d = datasets.gaussian_design(60, 4, noise=0.3, density=0.5, seed=0)
>>> isinstance(largest(rvamp(d.A, d.y, lam=0.2)), P1)
True
"""

from .algorithm.column_groups import P1InGroup
from .algorithm.densities import P1, P2, P1Clustered, P1Numeric, P1Posterior
from .algorithm.evolution import Evolution
from .algorithm.problem import State
from .algorithm.solver import Fit, Path
from .datasets import Dataset
from .inference.baseline import BaselineHazard
from .inference.bootstrap import Refits
from .inference.diagnostics import Diagnostics
from .inference.effects import Effects
from .inference.halves import ComplementaryPairs
from .inference.refinement import RefinedFit
from .select.networks import Network
from .select.planning import Study

__all__ = [
    "P1",
    "P2",
    "BaselineHazard",
    "ComplementaryPairs",
    "Dataset",
    "Diagnostics",
    "Effects",
    "Evolution",
    "Fit",
    "Network",
    "P1Clustered",
    "P1InGroup",
    "P1Numeric",
    "P1Posterior",
    "Path",
    "RefinedFit",
    "Refits",
    "State",
    "Study",
]
