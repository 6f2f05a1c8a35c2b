"""How much memory the default job holds, in units of its table.

    python tests/bench/memory.py               # every table; the last takes minutes
    python tests/bench/memory.py genes tall    # these

Each job has a process of its own. `peak` is the most that it holds beside what was
imported, its table X included; fits of other tables have loaded what is loaded late.
`fit` is the same of one `rvamp` of the standardised table, `file` is the estimator,
pickled. The unit is X as 64-bit floats. Linux. One thread.

Tables at the peak and in the file, before (e57ab43) and since (two cores that others
used, too; the job of a million columns takes 1.2 GiB, and 134 s of processor time):

    genes               7.9 6.1   2.6 1.6
    square              8.5 6.1   2.1 1.1
    wide                9.1 5.3   2.2 1.2
    tall                7.5 5.5   2.1 1.1
    hundred thousand    5.3 1.0   0.4 0.4

`small` is 25 tables of 0.2 MB: there the products of rows with rows are larger.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse  # noqa: E402
import ctypes  # noqa: E402
import gc  # noqa: E402
import json  # noqa: E402
import pickle  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
from costs import simulated_genotypes, simulated_trait  # noqa: E402
from scipy import sparse  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
import designs  # noqa: E402

from rvamp_nb import StabilitySelection, datasets, rvamp  # noqa: E402

GENOTYPES = {"hundred thousand": (200, 10**5), "million": (200, 10**6)}


def drawn(M, N):
    """Ten equal effects on independent columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(M, N))
    return X, X[:, :10].sum(1) + 3 * rng.normal(size=M)


def genes():
    """Columns with three factors."""
    rng = np.random.default_rng(0)
    X = designs.genes(rng, 100, 6000, 3)
    return X, designs.equal_effects(rng, X)


def entries():
    """A sparse table, one of a hundred numbers is not zero."""
    X = sparse.random_array((500, 20_000), density=0.01, rng=0, format="csc")
    return X, X[:, :10] @ np.ones(10) + np.random.default_rng(1).normal(size=500) / 4


def diabetes():
    d = datasets.load_diabetes()
    return d.A, d.y


def on_disk(name, folder):
    """A file of 8-bit integers, mapped."""
    M, N = GENOTYPES[name]
    path = Path(folder) / f"{M}x{N}.npy"
    X = np.load(path, mmap_mode="r") if path.exists() else None
    X = simulated_genotypes(path, M, N) if X is None else X
    return X, simulated_trait(X, [N // 10, N // 2], explained=0.25)


MADE = {
    "small": diabetes,
    "genes": genes,
    "square": lambda: drawn(2000, 500),
    "tall": lambda: drawn(64_000, 200),
    "wide": lambda: drawn(300, 10_000),
    "sparse": entries,
}


def held(field="VmRSS"):
    """Bytes of memory that this process holds, or (VmHWM) has held at most."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what was given back already
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(x.split()[1]) for x in lines if x.startswith(field))


def most(work):
    """What work returns, and the most memory while it was at it."""
    Path("/proc/self/clear_refs").write_text("5")  # the largest so far is forgotten
    return work(), held("VmHWM")


def child(name, folder):
    """What the process of its own does: one line of JSON."""
    warnings.simplefilter("ignore")
    job = StabilitySelection(verbose=0)
    for shape in ((1500, 500), (300, 2000)):  # and workspace of the linear algebra
        job.fit(*drawn(*shape))
    if name in GENOTYPES:
        on_disk(name, folder)
    before = held()
    X, y = on_disk(name, folder) if name in GENOTYPES else MADE[name]()
    start = time.process_time()
    _, peak = most(lambda: job.fit(X, y))
    seconds = time.process_time() - start
    found = dict(peak=peak - before, seconds=seconds, file=len(pickle.dumps(job)))
    if isinstance(X, np.ndarray) and not isinstance(X, np.memmap):
        A = np.array(job.question_.A)
        how = dict(resampling=job.question_.counts, prior=job.fit_.prior)
        del job
        y = y - y.mean()
        rest = held()
        _, peak = most(lambda: rvamp(A, y, **how))
        found |= dict(fit=peak - rest + A.nbytes)
    print(json.dumps(found | dict(table=8 * X.shape[0] * X.shape[1])))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="of " + ", ".join([*MADE, *GENOTYPES]))
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(*args.child)
    print(f"{'':>18}{'MB':>9}{'peak':>8}{'fit':>8}{'file':>8}{'seconds':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for name in args.names or [*MADE, *GENOTYPES]:
            command = [sys.executable, __file__, "--child", name, folder]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{name}: {done.stderr[-2000:]}")
            run = json.loads(done.stdout.splitlines()[-1])
            parts = (run.get(part, np.nan) / run["table"] for part in _PARTS)
            size, seconds = run["table"] / 1e6, run["seconds"]
            shown = "".join(f"{part:8.2f}" for part in parts)
            print(f"{name:>18}{size:9.1f}{shown}{seconds:9.1f}", flush=True)


_PARTS = "peak", "fit", "file"

if __name__ == "__main__":
    main()
