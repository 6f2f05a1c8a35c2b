"""How fast is it? Seven tables of ratios, each measured within one run.

    python tests/bench/speed.py                # all tables, one thread and several
    python tests/bench/speed.py a d            # these tables
    python tests/bench/speed.py --threads one  # or: default, both

a  the rate of the linear step over the machine's rate of matrix products
b  a whole fit in units of one refit by celer
c  refits of the same accuracy, and the speed-up over them
d  a path of 50 penalties in units of one cold fit
e  cost against N and against M, with fitted exponents
f  peak memory over the size of A
g  a whole fit on one thread over the same on several

On one thread times are CPU times of this process, on several they are wall-clock times;
of repetitions the fastest counts, because what disturbs a run makes it slower. A
virtual machine may call two hardware threads of one core two cores: then several
threads are slower in these tables, and only the tables can tell: on the one where they
were made two processes at once do 1.5 to 2.0 times the products of one, by the hour,
and table g moves with it (1,000 x 1,000: 1.2 to 1.5; 2,000 x 2,000: 1.2 to 1.6).
Numerator and denominator of each ratio take turns. celer is a development extra;
riboflavin is left out where RVAMP_NB_RIBOFLAVIN does not name its file.
"""

import argparse
import os
import subprocess
import sys
import time
import tracemalloc
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import scipy.linalg  # noqa: F401  (loads its BLAS before `experiments` asks for one thread)
from joblib import cpu_count
from threadpoolctl import threadpool_info, threadpool_limits

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "helpers")]
import designs  # noqa: E402
import experiments  # noqa: E402

from rvamp_nb import datasets, rvamp, rvamp_path  # noqa: E402
from rvamp_nb.algorithm.likelihood import Squared  # noqa: E402
from rvamp_nb.algorithm.lmmse import couple  # noqa: E402
from rvamp_nb.algorithm.messages import Mixed, Natural  # noqa: E402
from rvamp_nb.algorithm.prior import Laplace  # noqa: E402
from rvamp_nb.algorithm.problem import Problem
from rvamp_nb.algorithm.resampling import Subsample  # noqa: E402
from rvamp_nb.algorithm.solver import _fit  # noqa: E402
from rvamp_nb.algorithm.step import step  # noqa: E402

COUNTS = experiments.COUNTS
# celer's duality gap for a refit that is only timed (the truths use 1e-9)
REFIT_TOL = 1e-6


# --------------------------------------------------- measuring


class Threads:
    """How many threads, and the clock that is right for them."""

    def __init__(self, one):
        self.one = one
        blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
        most = max((pool["num_threads"] for pool in blas), default=1)
        cores = f"{cpu_count(only_physical_cores=True)} cores as the system counts them"
        self.name = "one thread" if one else f"{most} threads (the default), {cores}"
        self.clock = time.process_time if one else time.perf_counter

    def limit(self):
        return threadpool_limits(1) if self.one else nullcontext()

    def fastest(self, *actions, repeat=3, seconds=0.0):
        """Seconds of the fastest of each action's runs; the actions take turns,
        `repeat` times and for at least `seconds`.
        """
        best, runs, start = [np.inf] * len(actions), 0, time.perf_counter()
        while runs < repeat or time.perf_counter() - start < seconds:
            for k, action in enumerate(actions):
                begin = self.clock()
                action()
                best[k] = min(best[k], self.clock() - begin)
            runs += 1
        return best


def table(title, columns, rows, note=""):
    """Print a table; numbers with three digits."""

    def text(v):
        if isinstance(v, str):
            return v
        return f"{v:,.0f}" if abs(v) >= 1000 else f"{v:.3g}"

    rows = [[text(v) for v in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *rows)]
    print(f"\n{title}")
    for first, *others in (columns, *rows):
        cells = [cell.rjust(w) for cell, w in zip(others, widths[1:])]
        print("  " + "  ".join([first.ljust(widths[0]), *cells]))
    if note:
        print(f"  {note}")
    sys.stdout.flush()


# --------------------------------------------------- (a) the linear step

SHAPES = ((71, 4088), (614, 4096), (1000, 20000), (4000, 300))


def messages(M, N, share=0.05, seed=0):
    """A matrix and messages such as they come near a fixed point: few coordinates on
    S.
    """
    rng = np.random.default_rng(seed)
    S = rng.permutation(N) < share * min(M, N)
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
    return (
        rng.normal(size=(M, N)) / np.sqrt(M),
        prior,
        Natural(rng.uniform(1, 3, M), rng.normal(size=M), rng.uniform(0.1, 1, M)),
    )


def linear_step(threads):
    """Rows (shape, milliseconds, GFlop/s, of the large square product, of the
    product of the same shape).
    """
    square, rows = np.random.default_rng(0).normal(size=(1200, 1200)), []
    for M, N in SHAPES:
        A, prior, likelihood = messages(M, N)
        k, operations = min(M, N), 4 * min(M, N) ** 2 * max(M, N)
        X, Y = np.ones((k, k)), np.ascontiguousarray(A if M <= N else A.T)
        once, large, same = threads.fastest(
            lambda: couple(A, prior, likelihood),
            lambda: square @ square,
            lambda: X @ Y,
            seconds=8 if threads.one else 5,
        )
        rate = operations / once
        rows.append(
            (
                f"{M} x {N}",
                1e3 * once,
                rate / 1e9,
                rate / (2 * 1200**3 / large),
                rate / (2 * k * k * max(M, N) / same),
            )
        )
    return rows


# --------------------------------------------------- (b) a fit in units of refits


def named_problems():
    """(name, A, y, lam): synthetic designs at 0.15 of the penalty that empties a
    half-sample, the two of the paper at its penalty.
    """
    made = {
        "i.i.d. wide": (lambda rng, M, N: rng.normal(size=(M, N)), (200, 2000), {}),
        "i.i.d. tall": (lambda rng, M, N: rng.normal(size=(M, N)), (2000, 200), {}),
        "Toeplitz 0.8 wide": (designs.toeplitz, (200, 2000), dict(rho=0.8)),
        "Toeplitz 0.8 tall": (designs.toeplitz, (2000, 200), dict(rho=0.8)),
        "equicorrelated 0.5": (designs.equicorrelated, (200, 2000), dict(rho=0.5)),
        "factor model, rank 5": (
            designs.low_rank,
            (200, 2000),
            dict(rank=5, noise=1.0),
        ),
        "blocks 0.9": (designs.column_clusters, (200, 2000), dict(rho=0.9)),
        "gene-like, rank 5": (designs.low_rank, (100, 6000), dict(rank=5, noise=1.0)),
    }
    for seed, (name, (make, shape, options)) in enumerate(made.items()):
        case = designs._case(name, make, shape, options, dict(density=0.02), seed)
        yield (
            f"{name}, {shape[0]} x {shape[1]}",
            case.A,
            case.y,
            designs.penalty(case, 0.15, COUNTS),
        )
    A, y, *_ = datasets.load_diabetes()
    A, y = datasets.standardize(A, y)
    yield (
        "diabetes, {} x {}".format(*A.shape),
        A,
        y,
        0.15 * COUNTS.mean * np.abs(A.T @ y).max(),
    )
    for name in truths():
        yield (
            name.replace("_", " ").replace("dct", "random DCT"),
            *experiments.problem(name),
        )


def truths():
    """The names of the paper's two problems; riboflavin only where its file is
    known.
    """
    return [
        name
        for name in experiments.TRUTHS
        if "riboflavin" not in name or os.environ.get("RVAMP_NB_RIBOFLAVIN")
    ]


def refits(A, y, lam, clock, tol=REFIT_TOL, n=30, seed=0):
    """Mean seconds of one refit by celer over n resamples; the slowest three are
    left out.
    """
    At, seconds = np.ascontiguousarray(A.T), []
    for b in range(n + 4):
        counts, factor = experiments.resample(b, seed, *A.shape)
        start = clock()
        experiments.celer_lasso(At, y, lam * factor, counts, tol)
        seconds.append(clock() - start)
    return np.mean(sorted(seconds[1:])[:n])


def whole_fits(threads):
    """Rows (problem, steps, milliseconds of the fit, of a refit, of a refit at the
    truth's tolerance, fit / refit, fit / careful refit).
    """
    rows = []
    for name, A, y, lam in named_problems():
        fit = rvamp(A, y, lam)
        (seconds,) = threads.fastest(lambda: rvamp(A, y, lam), repeat=4, seconds=1.5)
        quick, careful = (
            min(refits(A, y, lam, threads.clock, tol) for _ in range(2))
            for tol in (REFIT_TOL, experiments.TOL)
        )
        rows.append(
            (
                name,
                fit.n_iter,
                1e3 * seconds,
                1e3 * quick,
                1e3 * careful,
                seconds / quick,
                seconds / careful,
            )
        )
    return rows


# --------------------------------------------------- (c) equal accuracy


def equal_accuracy(threads):
    """Rows (problem, refits of the same error, their seconds, seconds of the fit,
    speed-up).
    """
    rows = []
    for name in truths():
        A, y, lam = experiments.problem(name)
        kept = experiments.load_summary(name)
        worth, _ = experiments.equal_refits(
            rvamp(A, y, lam).Pi, kept["Pi"], int(kept["n_resamples"])
        )
        (seconds,) = threads.fastest(lambda: rvamp(A, y, lam), repeat=4)
        quick, careful = (
            min(refits(A, y, lam, threads.clock, tol) for _ in range(2))
            for tol in (REFIT_TOL, experiments.TOL)
        )
        rows.append(
            (
                name,
                float(worth),
                worth * quick,
                seconds,
                worth * quick / seconds,
                worth * careful / seconds,
            )
        )
    return rows


# --------------------------------------------------- (d) a path


def celer_path(A, y, lams, b, seed=0):
    """The Lasso of resample b at all these penalties, by celer."""
    from celer import celer_path

    counts, factor = experiments.resample(b, seed, *A.shape)
    rows = np.flatnonzero(counts)
    root = np.sqrt(counts[rows])
    X = np.asfortranarray((root[:, None] * A[rows]) / factor)
    return celer_path(
        X,
        root * y[rows],
        "lasso",
        alphas=lams / len(rows),
        tol=REFIT_TOL,
        max_iter=200,
        max_epochs=100_000,
    )


def paths(
    threads,
    names=(
        "i.i.d. wide",
        "Toeplitz 0.8 wide",
        "Toeplitz 0.8 tall",
        "diabetes",
        "random DCT",
        "riboflavin",
        "gene-like",
    ),
):
    """Rows (problem, steps of the path, of a cold fit (mean over the path), seconds,
    path / cold fit, path / celer path).
    """
    rows = []
    for name, A, y, _ in named_problems():
        if not name.startswith(names):
            continue
        start = threads.clock()
        path = rvamp_path(A, y, verbose=False)
        seconds = threads.clock() - start
        some = path.lambdas[4::5]
        cold = [rvamp(A, y, lam).n_iter for lam in some]
        each = sum(
            threads.fastest(
                *(lambda lam=lam: rvamp(A, y, lam) for lam in some), repeat=1
            )
        ) / len(some)
        (by_celer,) = threads.fastest(
            lambda: celer_path(A, y, path.lambdas, 0), repeat=2
        )
        rows.append(
            (
                name,
                int(path.n_iter.sum()),
                float(np.mean(cold)),
                seconds,
                seconds / each,
                seconds / by_celer,
                f"{path.converged.sum()}/{len(path.lambdas)}",
            )
        )
    return rows


# --------------------------------------------------- (e) growth


def growth(threads, shapes):
    """Rows (shape, milliseconds of one step, steps of a fit, seconds of a fit) and
    the two fitted exponents.
    """
    rows = []
    for M, N in shapes:
        A, y, *_ = datasets.gaussian_design(M, N, density=10 / N, noise=0.1, seed=0)
        problem = Problem(
            A, y, Laplace(0.15 * COUNTS.mean * np.abs(A.T @ y).max()), Squared(), COUNTS
        )
        start = threads.clock()
        fit = _fit(problem, None, 1e-6, 500, 0.7)
        whole = threads.clock() - start
        (once,) = threads.fastest(
            lambda: step(problem, fit.messages), repeat=3, seconds=0.5
        )
        rows.append((f"{M} x {N}", 1e3 * once, fit.n_iter, whole))
    sizes = [
        max(shape) if len({s[0] for s in shapes}) == 1 else shape[0] for shape in shapes
    ]
    slope = [
        np.polyfit(np.log(sizes), np.log([row[k] for row in rows]), 1)[0]
        for k in (1, 3)
    ]
    return rows, slope


IN_N = [(100, n) for n in (2000, 5000, 12500, 31250, 80000, 200000)]
IN_M = [(m, 8000) for m in (50, 100, 200, 400, 800)]


# --------------------------------------------------- (f) memory


def large(M, N, fraction=0.15):
    """A, y and this fraction of the penalty that empties a half-sample; made without
    any other array of A's size.
    """
    rng = np.random.default_rng(0)
    A = np.empty((M, N))
    rng.standard_normal(out=A)
    A /= np.sqrt(M)
    y = A[:, :10].sum(1) + 0.1 * rng.normal(size=M)
    return A, y, fraction * COUNTS.mean * np.abs(A.T @ y).max()


def traced(M, N, fraction):
    """Peak of what numpy allocates during a fit (A apart), over the size of A."""
    A, y, lam = large(M, N, fraction)
    tracemalloc.start()
    rvamp(A, y, lam)
    _, top = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return top / A.nbytes


def resident(M, N, fraction):
    """The same as the operating system sees it (Linux): growth of the largest
    resident size during a fit, in a process of its own.
    """
    command = [sys.executable, __file__, "--resident", str(M), str(N), str(fraction)]
    return float(
        subprocess.run(
            command,
            capture_output=True,
            check=True,
            text=True,
            env=dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1"),
        ).stdout
    )


def _high_water():
    """Bytes. (ru_maxrss would do, if a process did not inherit it from the one that
    started it.)
    """
    status = dict(
        line.split(":", 1)
        for line in Path("/proc/self/status").read_text().splitlines()
    )
    return 1024 * int(status["VmHWM"].split()[0])


def _resident_here(M, N, fraction):
    rvamp(*large(60, 200))  # imports and the workspaces of BLAS come first
    A, y, lam = large(M, N, fraction)
    before = _high_water()
    rvamp(A, y, lam)
    return (_high_water() - before) / A.nbytes


def memory():
    """Rows (shape, fraction, as numpy counts, as the system counts). A small penalty
    has many coefficients in play at the first steps: the worst case.
    """
    cases = (
        (71, 4088, 0.15),
        (200, 20000, 0.15),
        (614, 4096, 0.15),
        (20000, 200, 0.15),
        (614, 4096, 0.05),
    )
    return [
        (f"{M} x {N}", fraction, traced(M, N, fraction), resident(M, N, fraction))
        for M, N, fraction in cases
    ]


# --------------------------------------------------- (g) threads


def one_and_several(threads):
    """Rows (shape, steps, wall-clock seconds of a fit on one thread, on several, one /
    several), for half-samples and a penalty that is not drawn.
    """
    rows = []
    for M, N in SIZES:
        A, y, *_ = datasets.gaussian_design(M, N, density=10 / N, noise=0.1, seed=0)
        counts = Subsample(0.5)
        lam = 0.3 * counts.mean * np.abs(A.T @ y).max()
        fit = lambda: rvamp(A, y, prior=Laplace(lam), resampling=counts)

        def alone():
            with threadpool_limits(1):
                return fit()

        one, several = threads.fastest(alone, fit)
        rows.append((f"{M} x {N}", fit().n_iter, one, several, one / several))
    return rows


SIZES = (100, 6000), (410, 4096), (700, 3000), (1000, 1000), (1000, 5000)
SIZES += (2000, 2000), (3000, 1200), (5000, 300)


# --------------------------------------------------- the command


def print_tables(which, threads):
    with threads.limit():
        print(f"\n======== {threads.name}")
        if "a" in which:
            table(
                "(a) the linear step: 4 k^2 l operations, k the shorter side",
                ("shape", "ms", "GFlop/s", "/ large product", "/ same shape"),
                linear_step(threads),
            )
        if "b" in which:
            table(
                "(b) a whole fit, tol 1e-6",
                (
                    "problem",
                    "steps",
                    "fit ms",
                    "refit ms",
                    "refit 1e-9 ms",
                    "fit / refit",
                    "fit / refit 1e-9",
                ),
                whole_fits(threads),
            )
        if "c" in which:
            table(
                "(c) refits with the same error in Pi",
                (
                    "problem",
                    "refits",
                    "their s",
                    "fit s",
                    "speed-up",
                    "speed-up over 1e-9",
                ),
                equal_accuracy(threads),
            )
        if "d" in which:
            table(
                "(d) a path of 50 penalties",
                (
                    "problem",
                    "steps",
                    "cold steps",
                    "path s",
                    "path / cold fit",
                    "path / celer path",
                    "converged",
                ),
                paths(threads),
            )
        for letter, shapes in (("N", IN_N), ("M", IN_M)):
            if "e" in which:
                rows, slope = growth(threads, shapes)
                table(
                    f"(e) growth with {letter}",
                    ("shape", "step ms", "steps", "fit s"),
                    rows,
                    f"exponent of a step {slope[0]:.2f}, of a fit {slope[1]:.2f}",
                )
        if "f" in which and threads.one:
            table(
                "(f) peak memory of a fit over the size of A",
                ("shape", "penalty", "numpy's", "the process's"),
                memory(),
            )
        if "g" in which and not threads.one:
            table(
                "(g) a whole fit on one thread over several",
                ("shape", "steps", "one s", "several s", "one / several"),
                one_and_several(threads),
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "tables",
        nargs="*",
        metavar="TABLE",
        help="of a b c d e f g; all if none is named",
    )
    parser.add_argument("--threads", choices=["one", "default", "both"], default="both")
    parser.add_argument("--resident", nargs=3, type=float, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.resident:
        return print(_resident_here(*map(int, args.resident[:2]), args.resident[2]))
    for one in {"one": [True], "default": [False], "both": [True, False]}[args.threads]:
        print_tables(args.tables or "abcdefg", Threads(one))


if __name__ == "__main__":
    main()
