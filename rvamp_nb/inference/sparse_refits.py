"""Send resamples of a sparse table through products with the table alone.

Where a step of rVAMP costs more than many refits, a `DiagonalStep` finds its fixed
point, and `DiagonalTurns` refits resamples from there on, hundreds side by side.

>>> import numpy as np
>>> from scipy import sparse
>>> from rvamp_nb import rvamp
>>> from rvamp_nb.inference.sparse_refits import DiagonalTurns
>>> A = sparse.eye_array(6, 2, format="csc")
>>> turns = DiagonalTurns(rvamp(A, np.array([2.0, 1, 0, 0, 0, 0]), 0.4))
>>> _, settled = turns.levels(np.ones((1, 6)), np.ones((1, 1)), settle=True)
>>> settled.round(2).tolist()
[[1.600000023841858, 0.6000000238418579]]
"""

import numpy as np

from .turns import OWN_DAMPING, Metric, Turns

__all__ = ["DiagonalTurns"]


class DiagonalTurns(Turns):
    """Resamples of a fit whose messages take part in turns as in `DiagonalStep`, rows
    first; in 32 bits.
    """

    def _freeze(self, A, metric, dtype):
        """See `Turns`: one metric is both, and no matrix is inverted."""
        self.dtype = np.float32
        self.A = A.astype(self.dtype)
        self.At = self.A.T
        self.metric = Metric._make(map(self._cast, metric))
        self.one_coupling = self.rvamp_coupling = self

    @np.errstate(all="ignore")  # of what runs away
    def run(self, batch, turns, coupling=None, damping=OWN_DAMPING):
        """See `Turns.run`; no turn is damped less than those in rVAMP's metric."""
        Q, _, V, _ = self.metric
        damping = min(damping, OWN_DAMPING)
        for _ in range(turns):
            x = self.factors.of_prior(batch, Q)
            u, f = self.factors.of_rows(batch, V)
            h = batch.h + damping * (Q * x + u @ self.A - batch.h)
            x = self.factors.of_prior(batch._replace(h=h), Q)
            batch = batch._replace(h=h, h_u=V * u - x @ self.At, f=f)
        return batch
