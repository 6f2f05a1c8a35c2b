"""The classical bootstrap, draws with replacement: a law of counts for refits only.

Chapter 1.2 compares it with the Poisson law, its limit of many rows. Its counts are
tied by their sum, so it has no `nodes`, and `rvamp` refuses it; `naive_bootstrap` only
draws.

>>> import numpy as np
>>> from rvamp_nb.course.multinomial import Multinomial
>>> print(Multinomial(1.0).draw(5, np.random.default_rng(0)))
[1. 0. 0. 0. 4.]
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["Multinomial"]


@dataclass(frozen=True)
class Multinomial:
    """Count n draws with replacement from M rows, n the whole part of tau M (M_B / M in
    the paper). `var` is that of the Poisson limit (exactly tau (1 - 1/M),
    `multinomial-law`).
    """

    tau: float = 0.5

    @property
    def mean(self):
        """Mean count of a row."""
        return self.tau

    @property
    def var(self):
        """Variance of a count in the limit of many rows."""
        return self.tau

    def draw(self, M, rng):
        """Draw the counts of M rows, (M,) floats."""
        n_draws = int(self.tau * M + 1e-9)
        return rng.multinomial(n_draws, np.full(M, 1 / M)).astype(float)
