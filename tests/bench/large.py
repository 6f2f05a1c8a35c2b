"""Tables that are large on both sides: seconds of the whole job, both ways.

    python tests/bench/large.py                     # the five tables below
    python tests/bench/large.py factors 4000 4000   # another one

Processor time of `StabilitySelection().fit`, one thread, with few columns in play
(`select/in_play`) and with all columns from the start, in one process; full steps, and
by how much the probabilities differ: rVAMP's by the width of the band in which a
penalty is near enough, the reported ones by their standard errors. Measured once, on a
machine that others used: factors 2,000 x 2,000 6.6 s, 0/1 5,000 x 2,000 10.5, 0/1
20,000 x 1,000 6.1, and 0/1 1,000 x 20,000, of which a half-sample selects too many for
few columns to be in play, 14.4. Of the last one the matrices of 1,000 x 1,000 take 3 s,
sparse products and what is looked up 3, turns 3, 60 exact refits 4.
"""

import os
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
from scipy import sparse

from rvamp_nb import StabilitySelection
from rvamp_nb.select import penalty


def table(kind, M, N, seed=0):
    """A table with effects of twenty columns, and its target."""
    rng = np.random.default_rng(seed)
    if kind == "sparse":
        X = sparse.random_array((M, N), density=0.01, rng=rng, format="csc")
        X.data[:] = 1
        return X, 2 * X[:, :: N // 20].sum(1) + rng.normal(size=M)
    X = rng.normal(size=(M, N))
    if kind == "factors":
        X += rng.normal(size=(M, 5)) @ rng.normal(size=(5, N))
    for j in range(1, N if kind == "toeplitz" else 0):
        X[:, j] = 0.9 * X[:, j - 1] + 0.19**0.5 * X[:, j]
    X /= X.std(0)
    return X, 0.3 * X[:, :: N // 20].sum(1) + rng.normal(size=M)


def main(kind, M, N):
    X, y = table(kind, M, N)
    least, found = penalty.FEW_FROM, []
    for penalty.FEW_FROM in least, np.inf:
        start = time.process_time()
        found.append(StabilitySelection(verbose=0).fit(X, y))
        spent = time.process_time() - start
        steps = found[-1].question_.taken
        print(f"{kind} {M} x {N}: {spent:.1f} s, full steps {steps}", flush=True)
    penalty.FEW_FROM = least
    few, whole = found
    gaps = few.fit_.Pi - whole.fit_.Pi, few.probabilities_ - whole.probabilities_
    apart = ", ".join(f"{np.abs(gap).max():.4f}" for gap in gaps)
    print(f"  Π differ by at most {apart} (rVAMP, reported)")


if __name__ == "__main__":
    given = sys.argv[1:]
    tables = [(given[0], *map(int, given[1:]))] if given else []
    dense = ("factors", 2000, 2000), ("toeplitz", 2000, 2000)
    sparse_ones = (5000, 2000), (20_000, 1000), (1000, 20_000)
    for one in tables or (*dense, *(("sparse", *size) for size in sparse_ones)):
        main(*one)
