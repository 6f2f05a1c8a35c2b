"""One fit by one worker process and by two: seconds, memory, and what travels.

    python tests/bench/cluster.py              # 500 x 40,000 and 200,000 x 150: minutes
    python tests/bench/cluster.py small        # smaller tables: tens of seconds
    python tests/bench/cluster.py wide --runs 3
    python tests/bench/cluster.py selection    # the default job on 200 x 100,000

Every worker is a process with one thread, for tasks and for BLAS. The table is made by
the workers, chunk by chunk, and kept in their memories; the driver never has it. The
clusters take turns, and of several runs the fastest counts. The digits of both fits
have to agree. Peak memory is what the system has seen (getrusage): the driver's has the
scheduler in it, and both have some 150 MB of Python in them before there is a table.

`selection` is StabilitySelection of 8-bit integers by two workers, which may have 2 GiB
each. Measured once, on two cores that six others used: 15.3 s of the driver's processor
time, 15.0 and 13.4 of the workers', 286 MB a worker at the peak.
"""

import argparse
import gc
import os
import resource
import sys
import time
from importlib import import_module

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import dask.array as da  # noqa: E402
import numpy as np  # noqa: E402
from distributed import Client, LocalCluster, wait  # noqa: E402

from rvamp_nb import StabilitySelection, rvamp  # noqa: E402
from rvamp_nb.tables.dask_table import DaskTable  # noqa: E402

SIZES = {  # name: (M, N, chunks, lambda)
    "wide": (500, 40_000, 16, 0.5),
    "tall": (200_000, 150, 16, 1.0),
    "small-wide": (200, 8_000, 8, 0.5),
    "small-tall": (20_000, 60, 8, 1.0),
}
GROUPS = {"small": ["small-wide", "small-tall"], "all": ["wide", "tall"]}


def peak():
    """The most memory that this process has had, in MB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def drawn(block, *, shape):
    """Normal numbers of one chunk, columns of length 1; its number is the seed."""
    numbers = np.random.default_rng(int(block[0, 0])).normal(size=shape)
    return numbers / np.sqrt(shape[0])


def table(M, N, chunks):
    """Chunks of whole columns (rows), made where they are needed."""
    wide = M <= N
    each = -(-(N if wide else M) // chunks)
    which = da.arange(chunks, chunks=1)
    shape = (M, each) if wide else (each, N)
    how = dict(dtype=float, meta=np.empty((0, 0)), shape=shape)
    if wide:
        return which[None].map_blocks(drawn, chunks=((M,), (each,) * chunks), **how)
    return which[:, None].map_blocks(drawn, chunks=((each,) * chunks, (N,)), **how)


def answer(A):
    """Ten columns of the table, and noise a tenth as large."""
    few = DaskTable(A)[:, :10] @ np.linspace(3, -3, 10)
    return few + few.std() / 10 * np.random.default_rng(0).normal(size=len(few))


def one_fit(name, workers):
    """Seconds, the fit, its table, and the peak memory of each worker."""
    M, N, chunks, lam = SIZES[name]
    how = dict(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
    with LocalCluster(processes=True, **how) as cluster, Client(cluster) as client:
        A = table(M, N, chunks).persist()
        wait(A)
        y = answer(A)
        gc.collect()
        client.run(import_module, "rvamp_nb.algorithm.solver")
        start = time.perf_counter()
        fit = rvamp(A, y, lam)
        seconds = time.perf_counter() - start
        memory = sorted(client.run(peak).values())
        del A
    return seconds, fit, fit.problem.A, memory


def genotypes(block, *, shape):
    """0, 1 and 2 of one chunk, as 8-bit integers; its number is the seed."""
    rng = np.random.default_rng(int(block[0, 0]))
    return rng.binomial(2, 0.3, size=shape).astype(np.int8)


def selection(M=200, N=100_000, chunks=16):
    """The default job by two workers: seconds, and the peak memory of each."""
    how = dict(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with LocalCluster(memory_limit="2GiB", **how) as cluster, Client(cluster) as client:
        shape = M, N // chunks
        laid = dict(chunks=((M,), (shape[1],) * chunks), dtype=np.int8, shape=shape)
        A = da.arange(chunks, chunks=1)[None].map_blocks(genotypes, **laid).persist()
        y = answer(A)
        before = client.run(time.process_time).values()
        start = time.perf_counter(), time.process_time()
        job = StabilitySelection(verbose=0).fit(A, y)
        wall, driver = time.perf_counter() - start[0], time.process_time() - start[1]
        each = client.run(time.process_time).values()
        memory = client.run(peak).values()
    workers = " and ".join(f"{b - a:.1f}" for a, b in zip(before, each))
    print(f"selection: {M} x {N}, {job.n_iter_} steps, {wall:.1f} s of the clock")
    print(f"  processor time: driver {driver:.1f} s, workers {workers} s")
    print(f"  peak memory of workers: {', '.join(f'{m:.0f}' for m in memory)} MB")


def cores():
    """Logical processors, and physical cores where the system says."""
    physical = set()
    try:
        text = open("/proc/cpuinfo").read()
    except OSError:
        return f"{os.cpu_count()} logical processors"
    for part in text.strip().split("\n\n"):
        lines = dict(line.split("\t", 1) for line in part.split("\n") if "\t" in line)
        physical.add((lines.get("physical id"), lines.get("core id")))
    model = lines.get("model name", "?").strip(": \t")
    load = os.getloadavg()[0]
    return (
        f"{model}: {os.cpu_count()} logical processors, {len(physical)} physical"
        f" cores; load average {load:.1f}"
    )


def report(name, runs):
    M, N, chunks, _ = SIZES[name]
    print(f"\n{name}: {M} x {N} in {chunks} chunks, {8e-6 * M * N:.0f} MB of floats")
    best = {}
    for _ in range(runs):
        for workers in (1, 2):
            found = one_fit(name, workers)
            best[workers] = min(best.get(workers, found), found, key=lambda f: f[0])
    for workers, (seconds, fit, A, memory) in best.items():
        n = fit.n_iter
        shown = " and ".join(f"{m:.0f}" for m in memory)
        print(
            f"  {workers} worker{'s' * (workers > 1):1}: {seconds:7.2f} s, {n} steps,"
            f" {A.passes / n:.1f} passes a step; peak memory of workers {shown} MB"
        )
        print(
            f"     a step sends {A.sent / n / 1e6:.2f} MB (what all must know counted"
            f" once) and brings {A.received / n / 1e6:.2f} MB to the driver"
        )
    agree = np.array_equal(best[1][1].Pi, best[2][1].Pi)
    print(f"  the same digits: {agree}; driver's peak so far {peak():.0f} MB")
    print(f"  one worker over two: {best[1][0] / best[2][0]:.2f} (aim 1.7)")
    assert agree


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=["all"], metavar="TABLE")
    parser.add_argument(
        "--runs", type=int, default=2, help="of each; the fastest counts"
    )
    given = parser.parse_args()
    print(cores())
    print(f"driver's memory before: {peak():.0f} MB")
    for group in given.names:
        for name in GROUPS.get(group, [group]):
            selection() if name == "selection" else report(name, given.runs)


if __name__ == "__main__":
    main()
