"""The paper's experiments at full size: what chapter 4.1 draws from.

    python tests/bench/experiments.py truth [NAME ...] [--refits 100000] [--workers 1]
    # stop it at any time; the same line goes on
    python tests/bench/experiments.py fits                 # what rvamp says of the same
    problems
    python tests/bench/experiments.py decay                # how fast delta falls: five
    ratios x ten seeds, and riboflavin
    python tests/bench/experiments.py error                # the error of Pi against
    correlation, number of rows, outliers
    python tests/bench/experiments.py breast_cancer        # refits of a logistic
    regression
    python tests/bench/experiments.py timings              # a fit in units of refits
    python tests/bench/experiments.py --list

`truth` refits the Lasso on every resample with celer (development extra) and adds up
what it sees, a chunk at a time; every
finished chunk is a file in --work, so nothing is lost when it is stopped. Refit b
depends on (seed, b) only and sees the same
resample as refit b of `naive_bootstrap`. Summaries go to tests/bench/summaries: single
precision, with their recipe, and for a truth
the first refits on their own (`slice_*`), which a test makes again. Riboflavin needs
the file that RVAMP_NB_RIBOFLAVIN names.
On one idle core each truth takes ten minutes, `decay` as long, `error` and
`breast_cancer` four each; the others less than one.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
from textbook import optimality_gap  # noqa: E402

from rvamp_nb import datasets  # noqa: E402
from rvamp_nb.algorithm.resampling import Poisson, TwoPoint  # noqa: E402
from rvamp_nb.inference.bootstrap import _share_error, weighted_lasso  # noqa: E402

SUMMARIES = Path(__file__).resolve().parent / "summaries"
COUNTS, RANDOMISE = Poisson(0.5), TwoPoint(2.0, 0.5)
CHUNK, SLICE = 500, 20
# celer's duality gap for a truth, and its default, for a refit that is only timed
TOL, QUICK_TOL = 1e-9, 1e-6
# the violation, in units of the penalty, above which a refit is refused
LARGEST_GAP = 1e-3

# The published run cross-validated alpha on columns of unit variance; on columns of
# unit norm lam = alpha sqrt(M).
TRUTHS = {
    "dct_410x4096": dict(
        data="random_dct",
        arguments=dict(N=4096, ratio=0.1, density=0.05, noise=0.1, seed=0),
        alpha_cv=0.0199653,
    ),
    "riboflavin_71x4088": dict(
        data="load_riboflavin", arguments={}, alpha_cv=0.0239563
    ),
}
DECAY = dict(
    data=dict(N=4096, density=0.05, noise=0.1),
    ratios=[0.15, 0.1, 0.09, 0.075, 0.05],
    seeds=10,
    steps=60,
)
# the penalty in units of the one that empties a half-sample
ERROR = dict(
    N=400,
    penalty=0.15,
    refits=3000,
    seeds=3,
    correlation=[0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99],
    rows=[20, 30, 50, 80, 150, 300],
    outlier=[0, 5, 10, 20, 40],
)
BREAST_CANCER = dict(lam=0.1, refits=2000, seed=0)
TIMINGS = dict(refits=200)
RECIPES = {
    **TRUTHS,
    **{f"fit_{name}": recipe for name, recipe in TRUTHS.items()},
    "decay": DECAY,
    "error": ERROR,
    "breast_cancer": BREAST_CANCER,
    "timings": TIMINGS,
}


# ---------------------------------------------------------------- one refit


def problem(name):
    """(A, y, lam) of a truth."""
    recipe = TRUTHS[name]
    data = getattr(datasets, recipe["data"])(**recipe["arguments"])
    return data.A, data.y, recipe["alpha_cv"] * np.sqrt(len(data.y))


def resample(b, seed, M, N):
    """Counts and factors of the penalties of refit b: the draws of naive_bootstrap."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(b,)))
    return COUNTS.draw(M, rng), RANDOMISE.draw(N, rng)


def celer_lasso(At, y, lam, counts, tol=TOL):
    """The Lasso on one resample by celer, from At = A' in row order: rows without a
    count are left out, columns divided by their penalty.
    """
    from celer import celer_path

    rows = np.flatnonzero(counts)
    if len(rows) == 0:
        return np.zeros(len(At))
    root = np.sqrt(counts[rows])
    X = At[:, rows]
    X *= root
    X /= lam[:, None]
    _, path, _ = celer_path(
        X.T,
        root * y[rows],
        "lasso",
        alphas=[1 / len(rows)],
        tol=tol,
        max_iter=200,
        max_epochs=100_000,
    )
    return path[:, 0] / lam


def refit(A, At, y, lam, b, seed):
    """Coefficients, residuals and seconds of refit b; where celer misses the
    optimum, the slow solver steps in.
    """
    counts, factor = resample(b, seed, *A.shape)
    start = time.process_time()  # of one thread: what else the machine does stays out
    x = celer_lasso(At, y, lam * factor, counts)
    seconds = time.process_time() - start
    gap = optimality_gap(A, y, lam * factor, counts, x)
    again = not gap < LARGEST_GAP
    if again:
        x = weighted_lasso(A, y, lam * factor, counts)
    return x, counts * (y - A @ x), seconds, gap, again


# ---------------------------------------------------------------- many refits


def add_up(name, numbers, seed):
    """Sums over the refits with these numbers."""
    A, y, lam = problem(name)
    At = np.ascontiguousarray(A.T)
    # the import is not part of the time of a refit
    celer_lasso(At, y, np.full(A.shape[1], lam), np.ones(len(y)))
    M, N = A.shape
    powers = np.zeros((4, N))
    selected = np.zeros(N)
    u_powers = np.zeros((2, M))
    log = []
    for b in numbers:
        x, u, *numbers_of_refit = refit(A, At, y, lam, b, seed)
        S = np.flatnonzero(x)
        powers[:, S] += x[S] ** np.arange(1, 5)[:, None]
        selected[S] += 1
        u_powers += u, u * u
        log.append(numbers_of_refit)
    log = np.array(log, dtype=float).reshape(-1, 3)
    return dict(
        n=len(log),
        powers=powers,
        selected=selected,
        u_powers=u_powers,
        seconds=log[:, 0].sum(),
        worst_gap=log[:, 1].max(),
        again=log[:, 2].sum(),
    )


def _chunk_file(work, name, seed, k):
    return Path(work) / f"{name}_{seed}_{CHUNK}_{k:05d}.npz"


def one_chunk(work, name, seed, k):
    """Refits k CHUNK .. (k + 1) CHUNK - 1 into a file, which appears only when it is
    complete.
    """
    path = _chunk_file(work, name, seed, k)
    sums = add_up(name, range(k * CHUNK, (k + 1) * CHUNK), seed)
    partial = path.with_suffix(f".{os.getpid()}.part.npz")
    np.savez(partial, **sums)
    partial.rename(path)


def gather(work, name, seed, chunks):
    """All chunks added up; worst_gap is the largest."""
    total = None
    for k in chunks:
        with np.load(_chunk_file(work, name, seed, k)) as file:
            part = {key: file[key] for key in file.files}
        total = (
            part
            if total is None
            else {
                key: max(total[key], v) if key == "worst_gap" else total[key] + v
                for key, v in part.items()
            }
        )
    return total


def statistics(total):
    """Mean, variance, Pi with their standard errors, and the mean of the residuals
    with its own.
    """
    n, raw = float(total["n"]), total["powers"] / total["n"]
    mean = raw[0]
    second = np.maximum(raw[1] - mean**2, 0)
    fourth = raw[3] - 4 * mean * raw[2] + 6 * mean**2 * raw[1] - 3 * mean**4
    var = second * n / (n - 1)
    u_mean = total["u_powers"][0] / n
    u_var = np.maximum(total["u_powers"][1] / n - u_mean**2, 0) * n / (n - 1)
    return dict(
        mean=mean,
        var=var,
        Pi=total["selected"] / n,
        mean_se=np.sqrt(var / n),
        var_se=np.sqrt(np.maximum(fourth - var**2 * (n - 3) / (n - 1), 0) / n),
        Pi_se=_share_error(total["selected"], n),
        u_mean=u_mean,
        u_se=np.sqrt(u_var / n),
    )


def fingerprint(A, y):
    """Two numbers that any change of the data would move."""
    M, N = A.shape
    return [
        float(np.cos(np.arange(M)) @ A @ np.sin(np.arange(N))),
        float(np.cos(np.arange(M)) @ y),
    ]


def truth(name, refits, workers, work, seed=0):
    """Refit until there are enough chunks, then write the summary."""
    chunks = range(-(-refits // CHUNK))
    missing = [k for k in chunks if not _chunk_file(work, name, seed, k).exists()]
    print(
        f"{name}: {len(chunks)} chunks of {CHUNK} refits, {len(missing)} to do",
        flush=True,
    )
    start = time.perf_counter()
    with ProcessPoolExecutor(workers) as pool:
        tasks = [pool.submit(one_chunk, str(work), name, seed, k) for k in missing]
        for done, task in enumerate(tasks, 1):
            task.result()
            left = (time.perf_counter() - start) / done * (len(tasks) - done)
            print(
                f"\r{name}: {done}/{len(tasks)} chunks, {left / 60:.1f} minutes to go",
                end="",
                flush=True,
            )
    write_summary(name, gather(work, name, seed, chunks), seed)


def write_summary(name, total, seed):
    A, y, lam = problem(name)
    first = add_up(name, range(SLICE), seed)
    save(
        name,
        dict(lam=lam, solver="celer", tol=TOL, fingerprint=fingerprint(A, y)),
        n_resamples=int(total["n"]),
        seed=seed,
        **{k: v.astype(np.float32) for k, v in statistics(total).items()},
        seconds_per_refit=float(total["seconds"] / total["n"]),
        worst_gap=float(total["worst_gap"]),
        mended=int(total["again"]),
        slice_n=SLICE,
        slice_mean=(first["powers"][0] / SLICE).astype(np.float32),
        slice_selected=first["selected"].astype(np.int16),
    )
    print(
        f"\n{name}: {int(total['n'])} refits, {1e3 * total['seconds'] / total['n']:.2f}"
        f" ms each, worst violation {total['worst_gap']:.1e} of the penalty,"
        f" {int(total['again'])} solved again, mean support"
        f" {total['selected'].sum() / total['n']:.1f}",
        flush=True,
    )


# ---------------------------------------------------------------- summaries


def save(name, more_recipe, **arrays):
    """A summary with its recipe: what RECIPES says today, the laws, and what else is
    given.
    """
    SUMMARIES.mkdir(exist_ok=True)
    recipe = dict(
        RECIPES[name], **more_recipe, resampling=repr(COUNTS), randomize=repr(RANDOMISE)
    )
    np.savez_compressed(SUMMARIES / f"{name}.npz", recipe=json.dumps(recipe), **arrays)


def load_summary(name):
    """What a summary holds, as a dict of doubles and numbers, with its recipe."""
    with np.load(SUMMARIES / f"{name}.npz") as file:
        out = {
            k: file[k].astype(float) if file[k].dtype == np.float32 else file[k][()]
            for k in file.files
            if k != "recipe"
        }
        return dict(out, recipe=json.loads(str(file["recipe"])))


def slice_matches(name):
    """Make the first refits of a summary again with scikit-learn: the same
    coefficients are selected, and their means agree to a small part of the spread.
    """
    from rvamp_nb.algorithm.prior import Laplace
    from rvamp_nb.inference.bootstrap import naive_bootstrap

    kept = load_summary(name)
    A, y, lam = problem(name)
    np.testing.assert_allclose(
        fingerprint(A, y),
        kept["recipe"]["fingerprint"],
        rtol=1e-8,
        atol=1e-8,
        err_msg=f"{name}: the data made today differ",
    )
    n, selected = int(kept["slice_n"]), kept["slice_selected"] > 0
    again = naive_bootstrap(
        A,
        y,
        prior=Laplace(lam, RANDOMISE),
        resampling=COUNTS,
        n_resamples=n,
        random_state=int(kept["seed"]),
        verbose=False,
    )
    # celer at its tolerance leaves some 0.002 on riboflavin
    off = (again.mean - kept["slice_mean"])[selected] / np.sqrt(kept["var"][selected])
    return bool(
        np.array_equal(np.rint(again.Pi * n), kept["slice_selected"])
        and np.sqrt(np.mean(off**2)) < 0.005
    )


# ---------------------------------------------------------------- how fast delta falls


def plain_steps(problem, damping, state=None):
    """Algorithm 1 as it stands, without safeguards, from a state (None: the empty
    model's): every step but the first goes `damping` of the way.
    """
    from rvamp_nb.algorithm.damping import damp
    from rvamp_nb.algorithm.start import initial_state
    from rvamp_nb.algorithm.step import step

    state, now = state or initial_state(problem), 1.0
    while True:
        current = step(problem, state)
        yield current
        state, now = damp(current.state, current.new, now), damping


def solver_steps(problem):
    """The steps that rvamp takes, those that broke down left out."""
    from rvamp_nb.algorithm.iteration import iterate

    return (current for current, _, _ in iterate(problem) if current)


RUNS = {
    "undamped": lambda problem: plain_steps(problem, 1.0),
    "damped": lambda problem: plain_steps(problem, 0.7),
    "rvamp": solver_steps,
}


def distance(current):
    """Return the paper's delta after a step, in the units of the coefficients."""
    one, two = current.x, current.coupled.x
    moments = (two.mean - one.mean, two.var - one.var)
    return max(np.sqrt(np.mean(gap**2)) for gap in moments)


def deltas(A, y, lam, run, steps):
    """The paper's delta and the relative change of the messages after each step, (2,
    steps); NaN once delta is below 1e-13, or after a breakdown.
    """
    from rvamp_nb.algorithm.likelihood import Squared
    from rvamp_nb.algorithm.prior import Laplace
    from rvamp_nb.algorithm.problem import Breakdown, Problem

    out = np.full((2, steps), np.nan)
    try:
        for k, current in zip(
            range(steps),
            RUNS[run](Problem(A, y, Laplace(lam, RANDOMISE), Squared(), COUNTS)),
        ):
            out[:, k] = distance(current), current.change
            if out[0, k] < 1e-13:
                break
    except Breakdown:
        pass
    return out


def decay():
    """delta for random DCT and riboflavin; the penalty of a ratio is cross-validated
    on its first seed.
    """
    from tqdm.std import tqdm

    result, lams, steps = {}, [], DECAY["steps"]
    for ratio in tqdm(DECAY["ratios"]):
        data = [
            datasets.random_dct(**DECAY["data"], ratio=ratio, seed=seed)
            for seed in range(DECAY["seeds"])
        ]
        lams.append(datasets.choose_lambda(data[0].A, data[0].y))
        for run in RUNS:
            result[f"{run}_{ratio}"] = [
                deltas(d.A, d.y, lams[-1], run, steps) for d in data
            ]
    for run in RUNS:
        result[f"{run}_riboflavin"] = [
            deltas(*problem("riboflavin_71x4088"), run, steps)
        ]
    save(
        "decay",
        {},
        lams=np.array(lams),
        **{name: np.array(v, dtype=np.float32) for name, v in result.items()},
    )


# ---------------------------------------------------------------- where the
# approximation is good, and where it is not


def error_of_Pi(Pi, naive, n):
    """Mean squared error of Pi, the noise of the n refits taken off, and the
    standard error of that.
    """
    noise = naive * (1 - naive) / (n - 1)
    squares = (Pi - naive) ** 2 - noise
    return squares.mean(), np.sqrt(
        np.sum(2 * noise**2) + 4 * max(squares @ noise, 0)
    ) / len(Pi)


def equal_refits(Pi, naive, n):
    """How many refits have a Monte-Carlo error as large as the error of Pi, at most
    3 n: (number, mean squared error).
    """
    error, _ = error_of_Pi(Pi, naive, n)
    spread = np.mean(naive * (1 - naive))
    return spread / max(error, spread / (3 * n)), error


def problems_of_error():
    """(kind, value, seed, A, y): correlation of neighbours, number of rows, size of
    one outlier in standard deviations of y.
    """
    for seed in range(ERROR["seeds"]):
        for rho in ERROR["correlation"]:
            yield (
                "correlation",
                rho,
                seed,
                *datasets.gaussian_design(150, ERROR["N"], rho, seed=seed)[:2],
            )
        for M in ERROR["rows"]:
            yield (
                "rows",
                M,
                seed,
                *datasets.gaussian_design(M, ERROR["N"], seed=seed)[:2],
            )
        for size in ERROR["outlier"]:
            A, y, *_ = datasets.gaussian_design(120, ERROR["N"], seed=seed)
            y = y + size * y.std() * (np.arange(len(y)) == 0)
            yield "outlier", size, seed, A, y - y.mean()


def one_error(kind, value, seed, A, y, refits):
    """A row of the table: the fit against refits."""
    from rvamp_nb import Laplace, rvamp
    from rvamp_nb.inference.row_shares import row_influence

    lam = ERROR["penalty"] * COUNTS.mean * np.abs(A.T @ y).max()
    fit = rvamp(A, y, prior=Laplace(lam, RANDOMISE))
    At = np.ascontiguousarray(A.T)
    selected = np.zeros(A.shape[1])
    for b in range(refits):
        selected += refit(A, At, y, lam, b, seed)[0] != 0
    shares, naive = row_influence(fit), selected / refits
    return dict(
        kind=kind,
        value=value,
        seed=seed,
        effective_rows=1 / (shares @ shares),
        steps=fit.n_iter,
        converged=int(fit.converged),
        selected=selected.sum() / refits,
        spread=np.mean(naive * (1 - naive)),
        correlation_of_Pi=np.corrcoef(fit.Pi, naive)[0, 1],
        **dict(zip(("error", "error_se"), error_of_Pi(fit.Pi, naive, refits))),
    )


def error():
    """A table of many small problems."""
    from tqdm.std import tqdm

    rows = [
        one_error(*case, ERROR["refits"]) for case in tqdm(list(problems_of_error()))
    ]
    save(
        "error",
        {},
        **{column: np.array([row[column] for row in rows]) for column in rows[0]},
    )


def breast_cancer_problem():
    """A (569, 30) standardised, y in {0, 1} (1: benign)."""
    from sklearn.datasets import load_breast_cancer

    raw = load_breast_cancer()
    return datasets.standardize(raw.data)[0], raw.target.astype(float)


def breast_cancer():
    """L1 logistic regression, an intercept refitted in every resample."""
    from rvamp_nb.algorithm.prior import Laplace
    from rvamp_nb.inference.bootstrap import naive_bootstrap

    r = naive_bootstrap(
        *breast_cancer_problem(),
        prior=Laplace(BREAST_CANCER["lam"], RANDOMISE),
        loss="logistic",
        intercept=True,
        resampling=COUNTS,
        n_resamples=BREAST_CANCER["refits"],
        random_state=BREAST_CANCER["seed"],
    )
    save(
        "breast_cancer",
        {},
        **{
            k: getattr(r, k).astype(np.float32)
            for k in ("mean", "var", "Pi", "mean_se", "var_se", "Pi_se")
        },
    )


# ---------------------------------------------------------------- fits of the two
# problems, and how long they take


def fits():
    """What rvamp says of the two problems of `truth`: so that pictures of riboflavin
    need no file.
    """
    from rvamp_nb import Laplace, rvamp
    from rvamp_nb.inference.row_shares import row_influence

    for name in TRUTHS:
        A, y, lam = problem(name)
        fit = rvamp(A, y, prior=Laplace(lam, RANDOMISE))
        save(
            f"fit_{name}",
            {},
            n_iter=fit.n_iter,
            shares=row_influence(fit).astype(np.float32),
            **{k: getattr(fit, k).astype(np.float32) for k in ("mean", "var", "Pi")},
        )


def cpu_seconds(action):
    """Of one thread: what else the machine does stays out."""
    start = time.process_time()
    action()
    return time.process_time() - start


def timings(turns=3):
    """A fit in units of one refit, at celer's own tolerance and at that of `truth`;
    the three take turns, and of each the fastest counts.
    """
    from rvamp_nb import Laplace, rvamp

    table = []
    for name in TRUTHS:
        A, y, lam = problem(name)
        At = np.ascontiguousarray(A.T)
        draws = [resample(b, 0, *A.shape) for b in range(TIMINGS["refits"])]

        def refits(tol):
            return [
                celer_lasso(At, y, lam * factor, counts, tol)
                for counts, factor in draws
            ]

        actions = (
            lambda: rvamp(A, y, prior=Laplace(lam, RANDOMISE)),
            lambda: refits(QUICK_TOL),
            lambda: refits(TOL),
        )
        one_fit, quick, careful = np.min(
            [[cpu_seconds(action) for action in actions] for _ in range(turns)], axis=0
        )
        table.append((one_fit / quick * len(draws), one_fit / careful * len(draws)))
        print(
            f"{name}: a fit takes as long as {table[-1][0]:.0f} refits"
            f" ({table[-1][1]:.0f} at the tolerance of the truth)",
            flush=True,
        )
    quick, careful = np.array(table).T
    save(
        "timings",
        {},
        names=np.array(list(TRUTHS)),
        fit_in_refits=quick,
        fit_in_careful_refits=careful,
    )


def main():
    commands = dict(
        truth=None,
        fits=fits,
        decay=decay,
        error=error,
        breast_cancer=breast_cancer,
        timings=timings,
    )
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=list(commands))
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="which truths; all of them if none is named",
    )
    parser.add_argument("--refits", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--work",
        type=Path,
        default=Path(tempfile.gettempdir()) / "rvamp_nb_experiments",
        help="folder of the finished chunks",
    )
    parser.add_argument("--list", action="store_true", help="list the truths")
    args = parser.parse_args()
    if args.list or not args.what:
        return print(*TRUTHS, sep="\n")
    if unknown := set(args.names) - set(TRUTHS):
        parser.error(
            f"no such truth: {', '.join(sorted(unknown))}; there are"
            f" {', '.join(TRUTHS)}"
        )
    if args.what != "truth":
        return commands[args.what]()
    args.work.mkdir(parents=True, exist_ok=True)
    for name in args.names or TRUTHS:
        truth(name, args.refits, args.workers, args.work)


if __name__ == "__main__":
    main()
