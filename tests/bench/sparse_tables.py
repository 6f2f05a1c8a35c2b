"""Is a sparse table faster, and smaller, than the same one as an array?

    python tests/bench/sparse_tables.py                    # 2,000 x 50,000, 1 %
    python tests/bench/sparse_tables.py 1000 20000 0.01    # another table

One step's linear algebra (`couple`) from the same messages, three ways: the table as an
array, the array in blocks, and the sparse table, standardised as it is read. Times are
CPU times of one thread, the ways follow one another in one run; memory is what Python's
tracer sees at most in a step, beside the table itself. Measured once at the default
size: 7.7 s a step against 17.8 s, 12 MB held against 763 MB, and 377 MB more in a step
against 347 MB (matrices of 2,000 x 2,000).
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import sys
import time
import tracemalloc

import numpy as np
from scipy import sparse

from rvamp_nb.algorithm.lmmse import couple
from rvamp_nb.algorithm.messages import Mixed, Natural
from rvamp_nb.datasets import standardize
from rvamp_nb.tables.chunked import ChunkedTable


def messages(M, N, share=0.3, seed=0):
    """As in the middle of a fit: S is a share of the rows."""
    rng = np.random.default_rng(seed)
    S = rng.permutation(N) < share * M
    on, off = S.astype(float), 1.0 - S
    prior = Mixed(
        S,
        on * rng.uniform(0.3, 2, N),
        on * rng.normal(size=N),
        on * rng.uniform(0.1, 1, N),
        off * rng.uniform(0, 1, N) ** 4,
        off * rng.normal(size=N) / 9,
        off * rng.uniform(0, 1, N) ** 4,
    )
    return prior, Natural(
        rng.uniform(1, 3, M), rng.normal(size=M), rng.uniform(0.1, 1, M)
    )


def timed(A, sent):
    """CPU seconds of a step, and its answer."""
    start = time.process_time()
    answer = couple(A, *sent)
    return time.process_time() - start, answer


def peak(A, sent):
    """Bytes that a step takes at most."""
    tracemalloc.start()
    couple(A, *sent)
    bytes_held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return bytes_held


def main(M=2_000, N=50_000, density=0.01, turns=1):
    S = sparse.random(M, N, density, format="csc", random_state=0)
    start = time.process_time()
    stored, _ = standardize(S)
    print(f"{M} x {N}, {S.nnz} numbers stored; standardised lazily in", end=" ")
    print(f"{time.process_time() - start:.2f} s, {len(stored.slices)} blocks")
    dense, sent = stored[:, :], messages(M, N)
    ways = {"array": dense, "array in blocks": ChunkedTable(dense), "sparse": stored}
    seconds, reference = {name: np.inf for name in ways}, None
    for _ in range(turns):
        for name, A in ways.items():
            spent, answer = timed(A, sent)
            seconds[name] = min(seconds[name], spent)
            reference = answer if name == "array" else reference
            difference = np.abs(answer.to_prior.h - reference.to_prior.h).max()
            difference /= np.abs(reference.to_prior.h).max()
            print(f"  {name}: {spent:.1f} s, differs by {difference:.0e}", flush=True)
    held = {"array": dense.nbytes, "array in blocks": dense.nbytes}
    held["sparse"] = S.data.nbytes + S.indices.nbytes + S.indptr.nbytes
    for name, A in ways.items():
        ratio = seconds[name] / seconds["array"]
        print(
            f"{name:>16}: {seconds[name]:6.1f} s a step, {ratio:.2f} of the array's;"
            f" {held[name] / 2**20:.0f} MB held,"
            f" {peak(A, sent) / 2**20:.0f} MB more in a step"
        )


if __name__ == "__main__":
    given = sys.argv[1:]
    main(*(int(v) for v in given[:2]), *(float(v) for v in given[2:3]))
