"""One BLAS thread against two: processor and wall time of the default job.

    python tests/bench/threads.py              # every table: minutes
    python tests/bench/threads.py genes tall   # these
    python tests/bench/threads.py --runs 5     # the median of so many, three by default

Each number of threads has a process of its own (BLAS reads it once), in which a first
job is not counted. Two threads shall not cost more processor time than 1.2 times that
of one unless they are faster, and from 1,000 rows on take two thirds of the wall time.
Wall times need a machine with two idle cores, processor times less so. The columns are
seconds with one thread, and two over one.
"""

import argparse
import json
import os
import subprocess
import sys
import time

NAMES = "diabetes", "riboflavin", "genes", "wide", "square", "large", "tall"


def table(name):
    """A table and its target."""
    import large
    import memory
    import selection

    if name == "riboflavin":
        return selection.riboflavin()[:2]
    if name == "large":
        return large.table("factors", 2000, 2000)
    if name == "tall":
        return memory.drawn(20_000, 300)
    return memory.MADE["small" if name == "diabetes" else name]()


def child(name, runs):
    """What the process of its own does: [processor, wall] of each run, as JSON."""
    X, y = table(name)
    from rvamp_nb import StabilitySelection

    found = []
    for _ in range(runs + 1):
        start = time.process_time(), time.perf_counter()
        StabilitySelection(verbose=0).fit(X, y)
        found.append([time.process_time() - start[0], time.perf_counter() - start[1]])
    print(json.dumps(found[1:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="of " + ", ".join(NAMES))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(args.child, args.runs)
    print(f"{'':>12}{'processor':>10}{'2 over 1':>9}{'wall':>10}{'2 over 1':>9}")
    for name in args.names or NAMES:
        seconds = []
        for threads in "12":
            limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)
            command = [sys.executable, "-W", "ignore", __file__]
            command += ["--child", name, "--runs", str(args.runs)]
            how = dict(env=os.environ | limits, capture_output=True, text=True)
            done = subprocess.run(command, check=True, **how)
            runs = json.loads(done.stdout.splitlines()[-1])
            seconds.append([sorted(part)[len(part) // 2] for part in zip(*runs)])
        (cpu, wall), (more, less) = seconds
        parts = f"{cpu:10.2f}{more / cpu:9.2f}{wall:10.2f}{less / wall:9.2f}"
        print(f"{name:>12}{parts}", flush=True)


if __name__ == "__main__":
    main()
