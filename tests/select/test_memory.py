"""The default job holds a few tables, not a copy for each of its parts; what is counted
is what NumPy asks for, the same every time, in units of the table.
"""

import gc
import os
import pickle
import platform
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest
from predictor import predictor

from rvamp_nb import StabilitySelection, rvamp
from rvamp_nb.algorithm.resampling import Subsample
from rvamp_nb.inference.batch_glm import unit_table
from rvamp_nb.inference.diagnostics import near_duplicate_rows
from rvamp_nb.inference.turns import Turns
from rvamp_nb.tables import ChunkedTable
from rvamp_nb.tables.standardize import unit_columns

SHAPES = {"wide": (100, 3000), "square": (800, 400), "tall": (6000, 60)}


def a_table(M, N):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(M, N))
    return X, X[:, :5].sum(1) + 2 * rng.normal(size=M)


def peak(work, X):
    """What work returns, and tables beside X at the peak."""
    tracemalloc.start()
    found = work()
    most = tracemalloc.get_traced_memory()[1] / X.nbytes
    tracemalloc.stop()
    return found, most


@pytest.fixture(scope="module", params=SHAPES.values(), ids=SHAPES)
def job(request):
    """A table, the default job on it, and its peak."""
    X, y = a_table(*request.param)
    selector = StabilitySelection(accuracy=0.2, verbose=0)
    selector.fit(X[:90, :20], y[:90])  # what is loaded late
    found, most = peak(lambda: selector.fit(X, y), X)
    return X, found, most


def test_the_default_job_holds_a_few_tables(job):
    assert job[-1] < 6.5


def test_a_fitted_selector_keeps_one_table(job):
    X, selector, _ = job
    assert selector.fit_.problem.A is selector.question_.A
    file = pickle.dumps(selector)
    assert len(file) < 1.7 * X.nbytes
    again = pickle.loads(file)
    np.testing.assert_array_equal(
        predictor(again).predict(X[:5]), predictor(selector).predict(X[:5])
    )


def test_refits_of_a_table_in_blocks_are_held_where_they_are_not_zero():
    """Numbers a column at the peak: 200 dense refits alone would be 200."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(30, 20_000), dtype=np.int8)
    y = X[:, :3].sum(1) + rng.normal(size=30)
    how = dict(n_resamples=200, tol=0.01, lambdas=[3.0], verbose=0)
    table = ChunkedTable(X, chunk_size=10**5)
    selector, most = peak(lambda: StabilitySelection(**how).fit(table, y), X)
    assert selector.refined_.n_resamples == 200
    assert most * 30 / 8 < 300


def test_parts_make_the_arrays_that_they_return():
    X, y = a_table(100, 2000)
    fit = rvamp(X / 10, y, 3.0, resampling=Subsample(0.5))
    X, zeros, ones = np.asfortranarray(X), np.zeros(2000), np.ones(2000)
    parts = {
        lambda: unit_columns(X): 2.3,
        lambda: unit_table(X, y, ones, zeros): 1.4,
        lambda: near_duplicate_rows(X): 2.3,
        lambda: Turns(fit): 2.6,
    }
    for work, allowed in parts.items():
        work()
        assert peak(work, X)[1] < allowed


def test_what_nobody_can_write_into_is_not_copied():
    X, y = a_table(30, 20)
    held = lambda A: rvamp(A, y, 5.0).problem.A
    assert not np.shares_memory(held(X), X)
    X.flags.writeable = False
    assert held(X) is X
    assert not np.shares_memory(held(X[:, :10]), X)  # its owner may be


# how many pages fifty rounds of sixteen arrays of 256 kB fetch, after two rounds
FETCHED = """
import resource
import numpy as np
import rvamp_nb.environment

def fetched(rounds):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(rounds):
        [np.ones(1 << 15) for _ in range(16)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

fetched(2)
print(fetched(50))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a habit of glibc")
def test_memory_of_freed_arrays_is_taken_again():
    command = [sys.executable, "-c", FETCHED]
    plain = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    done = subprocess.run(command, env=plain, stdout=subprocess.PIPE, check=True)
    assert int(done.stdout) < 100


def test_many_fits_leave_no_thread_and_no_memory_behind():
    """Most at a given penalty; some look for it, and some of these refit."""
    X, y = a_table(30, 8)

    def left_behind(n, n_searched, n_refitted):
        """Threads, and blocks of memory that Python holds, after n fits."""
        for k in range(n):
            how = dict(n_resamples=None if k < n_refitted else 0, tol=0.01, verbose=0)
            how["lambdas"] = None if k < n_searched else [3.0]
            StabilitySelection(**how).fit(X, y)
        gc.collect()
        return threading.active_count(), sys.getallocatedblocks()

    n_threads, n_blocks = left_behind(20, 12, 8)  # what is loaded late
    n_threads_later, n_blocks_later = left_behind(60, 15, 3)
    assert n_threads_later == n_threads
    assert n_blocks_later - n_blocks < 5 * 60  # a bar that stays is 55 a fit
