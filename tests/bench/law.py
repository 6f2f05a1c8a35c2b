"""Seconds and memory of the default job, measured on tables of many sizes.

    python tests/bench/law.py                  # all of them, into law.json: minutes
    python tests/bench/law.py disk 200 20000   # one

`job_cost` of costs.py says what the job is made of. How often each part is needed is a
median over the first half of the tables; "How large can it be" shows how well the other
half is foretold. Seconds: CPU, one thread; on Dask of driver and busier worker.
"""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

import large
import numpy as np
from costs import SIDES, simulated_genotypes, simulated_trait, this_machine, units, way
from scipy.optimize import nnls

from rvamp_nb import StabilitySelection
from rvamp_nb.inference import refinement
from rvamp_nb.inference.batch_glm import LONG
from rvamp_nb.select import penalty, selection

SUMMARY = Path(__file__).resolve().parent / "law.json"
HALVES = (
    """dense 100 2000, dense 300 6000, dense 1000 1500, dense 2000 500, dense 10000 150,
    dense 3000 2000, disk 200 20000, sparse 2000 1000, dask 200 10000""",
    """dense 100 10000, dense 200 10000, dense 600 2000, dense 2000 2000, dense 4000
    400, dense 40000 50, disk 100 60000, disk 20000 100, sparse 4000 2000, dask 200
    20000""",
)


def memory(what):
    """Bytes of this process, at most (VmHWM) or now (VmRSS)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(x for x in lines if what in x).split()[1]) * 1024


def measured(job, clock):
    """What it returns, its seconds, and the bytes that it takes at most."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM begins anew
    before, start = memory("VmRSS"), clock()
    answer = job()
    return answer, clock() - start, max(memory("VmHWM") - before, 2**20)


def child(kind, M, N, hold):
    """Seconds, their parts, counts and bytes of a table; `hold` closes what is open."""
    clock, spent = time.process_time, dict(search=0.0, turns=0.0)
    if kind in ("dense", "sparse"):
        X, y = large.table("factors" if kind == "dense" else kind, M, N)
    else:
        folder = hold.enter_context(tempfile.TemporaryDirectory())
        X = simulated_genotypes(f"{folder}/X.npy", M, N)
        y = simulated_trait(X, [N // 10, N // 2, N - 9], explained=0.25)
    if kind == "dask":
        from dask.array import from_array
        from distributed import Client, LocalCluster

        how = dict(n_workers=2, threads_per_worker=1, dashboard_address=None)
        cluster = hold.enter_context(LocalCluster(**how, memory_limit="2GiB"))
        client = hold.enter_context(Client(cluster))
        X = from_array(X, chunks=(M, -(-N // 8))).persist()
        busy = lambda: max(client.run(time.process_time).values())
        clock = lambda: time.process_time() + busy()

    def noted(owner, name, part):
        work = getattr(owner, name)

        def instead(*args, **how):
            start = clock()
            answer = work(*args, **how)
            spent[part] += clock() - start
            return answer

        setattr(owner, name, instead)

    noted(selection, "search", "search")
    noted(refinement.Samples, "_send", "turns")
    s, all_, held = measured(lambda: StabilitySelection(verbose=0).fit(X, y), clock)
    fit, seconds, bytes_ = measured(lambda: s.question_.solve(s.lambda_), clock)
    run = dict(kind=kind, M=M, N=N, q=s.q_, looks=s.n_iter_, bytes=held, **spent)
    run |= dict(all=all_, steps=fit.n_iter, fit=seconds, fit_bytes=bytes_)
    if kind == "dense":
        from selection import half_sample_paths

        empty = penalty.empty_model(s.question_)
        lams = penalty.walk_down(s.question_, empty)
        lams = np.append(lams[lams > s.lambda_], s.lambda_)
        seconds = measured(lambda: half_sample_paths(s.question_, lams, 4), clock)[1]
        run["paths"] = 25 * seconds
    print(json.dumps(run))


def chosen(runs, law):
    """The `law` of costs.py, from these runs and the machine's rates."""
    of = [units(law, run["kind"], run["M"], run["N"]) for run in runs]
    step, times = {}, {}
    for run, (one, *_) in zip(runs, of):
        step.setdefault(run["kind"], []).append(run["fit"] / run["steps"] / one)
    law["step"] = step = {kind: float(np.median(step[kind])) for kind in step}
    for run, (one, few, turn, reading, _) in zip(runs, of):
        kind, M, N, search = (run[name] for name in ("kind", "M", "N", "search"))
        by, one, few = way(kind, M, N), step[kind] * one, step[kind] * few
        rest = run["all"] - search - run["turns"]
        new = dict(steps=run["steps"], passes=rest / reading)
        new |= {
            "drawn" if M >= LONG else "turns": run["turns"] / turn,
            by: search / one,
        }
        if by == "in play":
            new |= {by: run["looks"], "few": (search - run["looks"] * one) / few}
        for name, value in new.items():
            times.setdefault(name, []).append(value)
    law["times"] = {name: float(np.median(times[name])) for name in times}
    for name in ("bytes", "fit_bytes"):
        rows = np.array([held / run[name] for run, (*_, held) in zip(runs, of)])
        law[name] = nnls(rows, np.ones(len(rows)))[0].tolist()
    return law


def main():
    rates, runs = [[this_machine(m) for _ in range(3)] for m in SIDES], []
    law = dict(machine=np.max(rates, axis=1).tolist())  # what disturbs makes slower
    for half, tables in enumerate(HALVES):
        for table in tables.split(","):
            command = [sys.executable, __file__, *table.split()]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            runs.append(json.loads(done.stdout.splitlines()[-1]) | dict(half=half))
            print(runs[-1], flush=True)
    law = chosen([run for run in runs if run["half"] == 0], law)
    SUMMARY.write_text(json.dumps(dict(law=law, runs=runs), indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        with ExitStack() as hold:
            child(sys.argv[1], *map(int, sys.argv[2:]), hold)
    else:
        main()
