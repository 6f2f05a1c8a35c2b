"""The priors of the package, one of each kind: what is in this list is tested as a
channel, as a protocol and as part of a file.
"""

from rvamp_nb.algorithm.prior import ElasticNet, Laplace, NonNegative, Ridge, SpikeSlab
from rvamp_nb.algorithm.resampling import TwoPoint, Weakness

PRIORS = {
    "l1": Laplace(0.5, TwoPoint()),
    "l1 fixed": Laplace(0.5),
    "l1 weakness": Laplace(0.5, Weakness(0.4)),
    "ridge": Ridge(0.5, TwoPoint()),
    "elastic net": ElasticNet(0.8, TwoPoint(), l1_ratio=0.6),
    "non-negative": NonNegative(0.5, TwoPoint()),
    "is_unpenalized": Laplace(0.5, penalty_factor=0.0),
    "non-negative, unpenalised": NonNegative(0.5, penalty_factor=0.0),
    "spike and slab": SpikeSlab(0.2, 3.0),  # for beta = 1 only
}
