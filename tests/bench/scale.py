"""A million columns, a million rows: seconds, passes and peak memory of fits on files.

    python tests/bench/scale.py                # every size; the last two take minutes
    python tests/bench/scale.py small          # those that take seconds
    python tests/bench/scale.py wide tall      # 200 x 10^6, 10^6 x 100
    python tests/bench/scale.py wide --limit   # the same where 2 GiB is all there is
    python tests/bench/scale.py selection      # StabilitySelection on 200 x 10^6

Each table is written as a file of 8-bit integers, and fitted in a process of its own.
A step's seconds are the fit's over its number of steps. Peak memory is the largest that
the system has seen, the mapped pages of the file included; `--limit` also
refuses it more than 2 GiB of address space (Linux), so that a fit that wants more
fails. One thread. What was measured is kept in scale.json, which the how-to
"A million columns" shows.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
from costs import (  # noqa: E402
    Counted,
    Machine,
    cost,
    simulated_genotypes,
    simulated_trait,
    this_machine,
)

from rvamp_nb import StabilitySelection, rvamp  # noqa: E402
from rvamp_nb.algorithm.prior import Laplace  # noqa: E402
from rvamp_nb.algorithm.resampling import Subsample  # noqa: E402
from rvamp_nb.environment import progress_bar  # noqa: E402
from rvamp_nb.tables.standardize import unit_columns  # noqa: E402

HERE = Path(__file__).resolve().parent
SUMMARY = HERE / "scale.json"
GIB = 2**30
SIZES = {  # name: rows, columns, penalty
    "quarter": (200, 50_000, 2.0),
    "fifth": (200, 200_000, 2.0),
    "squarer": (1000, 5000, 3.0),
    "rows": (100_000, 100, 60.0),
    "wide": (200, 10**6, 2.0),
    "tall": (10**6, 100, 200.0),
}
SMALL = ("quarter", "fifth", "squarer", "rows")
SELECTIONS = {"selection-small": (200, 50_000), "selection": (200, 10**6)}
CAUSAL = (0.1, 0.4, 0.8)  # where the columns that matter stand
EXPLAINED = 0.25


def causal(N):
    return [int(part * N) for part in CAUSAL]


def peak():
    """The most memory that this process has had, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux: what getrusage says there begins with the parent's
        line = next(x for x in status.read_text().splitlines() if "VmHWM" in x)
        return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


# --------------------------------------------------- in the child


def fitted(path, lam):
    """One fit, and what it took."""
    A = np.load(path, mmap_mode="r")
    y = simulated_trait(A, causal(A.shape[1]), explained=EXPLAINED)
    before, table = peak(), unit_columns(Counted(A))[0]
    start, earlier = time.perf_counter(), len(table.log)
    how = dict(prior=Laplace(lam), resampling=Subsample(0.5))
    fit = rvamp(table, y, **how)
    seconds = time.perf_counter() - start
    log, Pi = table.log[earlier:], fit.Pi
    found = np.flatnonzero(Pi > 0.6)
    return dict(
        steps=fit.n_iter,
        converged=bool(fit.converged),
        passes=len(table.log),  # with those that standardise
        seconds=seconds,
        pass_seconds=float(np.median([one.seconds for one in log])),
        in_passes=sum(one.seconds for one in log) / seconds,
        reading=sum(one.reading for one in log) / seconds,
        step_seconds=seconds / fit.n_iter,
        bytes_before=before,
        peak_bytes=peak(),
        causal=Pi[causal(A.shape[1])].round(4).tolist(),
        found=found.tolist(),
        selected=float(Pi.sum()),
    )


def selected(path):
    """Stability selection, and what it took."""
    A = np.load(path, mmap_mode="r")
    y = simulated_trait(A, causal(A.shape[1]), explained=EXPLAINED)
    before, start = peak(), time.perf_counter()
    sel = StabilitySelection(n_resamples=0).fit(A, y)
    Pi = sel.probabilities_
    best = np.argsort(-Pi)[:20]
    return dict(
        seconds=time.perf_counter() - start,
        bytes_before=before,
        peak_bytes=peak(),
        penalties=len(sel.selection_.path.lambdas),
        steps=int(np.sum(sel.n_iter_)),
        threshold=float(sel.threshold_),
        pfer=float(sel.pfer_bound_),
        found=np.flatnonzero(sel.support_).tolist(),
        best=best.tolist(),
        best_Pi=Pi[best].round(4).tolist(),
    )


def child(name, path, limit):
    """What the process of its own does: one line of JSON."""
    if limit:
        resource.setrlimit(resource.RLIMIT_AS, (2 * GIB, 2 * GIB))
    run = selected(path) if name in SELECTIONS else fitted(path, SIZES[name][2])
    print(json.dumps(run))


# --------------------------------------------------- in the parent


def measured(name, folder, limit):
    """The table as a file, and the fit in another process."""
    M, N = (SIZES[name] if name in SIZES else SELECTIONS[name])[:2]
    path = Path(folder) / f"{M}x{N}.npy"
    start = time.perf_counter()
    if not path.exists():
        simulated_genotypes(path, M, N)
    written = time.perf_counter() - start
    command = [sys.executable, __file__, "--child", name, str(path)]
    command += ["--limit"] * limit
    before = this_machine(min(M, N), folder)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr[-2000:]}")
    run = json.loads(done.stdout.splitlines()[-1])
    after = this_machine(min(M, N), folder)
    machine = Machine(*map(max, before, after))._asdict()  # what disturbs makes slower
    known = dict(name=name, M=M, N=N, limited=limit, machine=machine, written=written)
    return known | run


def print_run(run):
    """A run in words."""
    M, N = run["M"], run["N"]
    top = f"peak {run['peak_bytes'] / GIB:.2f} GiB"
    top += f", {run['bytes_before'] / GIB:.2f} before"
    print(f"{run['name']}: {M} x {N}, a file of {M * N / 1e6:.0f} MB")
    print(f"    {run['seconds']:.1f} s, {run['steps']} steps, {top}")
    print(f"    found {run['found']}, of {causal(N)}")
    if "passes" in run:
        predicted = cost(
            M, N, bytes_per_number=0, machine=Machine(**run["machine"])
        ).seconds
        share = f"{run['in_passes']:.0%} of the time, reading {run['reading']:.0%}"
        print(f"    {run['passes']} passes of {run['pass_seconds']:.2f} s: {share}")
        print(
            f"    a step {run['step_seconds']:.2f} s, by the formula {predicted:.2f} s"
        )


def kept(run):
    """The summary, with this run in place of an earlier one of its name."""
    old = json.loads(SUMMARY.read_text()) if SUMMARY.exists() else {}
    kind = "selections" if run["name"] in SELECTIONS else "runs"
    others = [one for one in old.get(kind, []) if one["name"] != run["name"]]
    order = [*SIZES, *SELECTIONS]
    old[kind] = sorted([*others, run], key=lambda one: order.index(one["name"]))
    SUMMARY.write_text(json.dumps(old, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="small, all, or of " + " ".join(SIZES))
    parser.add_argument("--limit", action="store_true", help="2 GiB of address space")
    parser.add_argument("--folder", help="where tables are written and kept")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(*args.child, args.limit)
    names = args.names or [*SIZES, *SELECTIONS]
    names = [*SMALL, "selection-small"] if names == ["small"] else names
    with tempfile.TemporaryDirectory() as temporary:
        for name in progress_bar(names, desc="tables"):
            run = measured(name, args.folder or temporary, args.limit)
            kept(run)
            print_run(run)


if __name__ == "__main__":
    main()
