"""The paper's experiments at full size: what chapter 15 draws from.

    python tests/bench/experiments.py truth NAME [--refits 100000] [--workers 1]   # stop it at any time; the same line goes on
    python tests/bench/experiments.py decay                # how fast delta falls: five ratios x ten seeds, and riboflavin
    python tests/bench/experiments.py error                # the error of Pi against correlation, rows, outliers; breast cancer
    python tests/bench/experiments.py timings              # a fit in units of refits, and the equal-accuracy speed-up
    python tests/bench/experiments.py --list

`truth` refits the Lasso on every resample with celer (development extra) and adds up what it sees, a chunk at a time; every
finished chunk is a file in --work, so nothing is lost when it is stopped. Refit b depends on (seed, b) only and sees the same
resample as refit b of `naive_bootstrap`. Summaries go to tests/bench/summaries/NAME.npz: single precision, and the
first refits on their own (`slice_*`), which a test makes again. Riboflavin needs the file that RVAMP_NB_RIBOFLAVIN names.
"""
import argparse
import json
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"): os.environ.setdefault(_threads, "1")

import numpy as np  # noqa: E402

from rvamp_nb import datasets  # noqa: E402
from rvamp_nb.bootstrap import _share_error, optimality_gap, weighted_lasso  # noqa: E402
from rvamp_nb.resampling import Poisson, TwoPoint  # noqa: E402

SUMMARIES = Path(__file__).resolve().parent / "summaries"
COUNTS, RANDOMISE = Poisson(0.5), TwoPoint(2.0, 0.5)
CHUNK, SLICE = 500, 20
TOL, LARGEST_GAP = 1e-9, 1e-3            # celer's duality gap; the violation, in units of the penalty, above which it is refused

# The published run cross-validated alpha on columns of unit variance; on columns of unit norm lam = alpha sqrt(M).
TRUTHS = {
    "dct_410x4096": dict(data="random_dct", arguments=dict(N=4096, ratio=0.1, density=0.05, noise=0.1, seed=0), alpha_cv=0.0199653),
    "riboflavin_71x4088": dict(data="load_riboflavin", arguments={}, alpha_cv=0.0239563),
}


# ---------------------------------------------------------------- one refit

def problem(name):
    "(A, y, lam) of a truth."
    recipe = TRUTHS[name]
    data = getattr(datasets, recipe["data"])(**recipe["arguments"])
    return data.A, data.y, recipe["alpha_cv"] * np.sqrt(len(data.y))


def resample(b, seed, M, N):
    "Counts and factors of the penalties of refit b: the draws of naive_bootstrap."
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(b,)))
    return COUNTS.draw(M, rng), RANDOMISE.draw(N, rng)


def celer_lasso(At, y, lam, counts, tol=TOL):
    "The Lasso on one resample by celer, from At = A' in row order: rows without a count are left out, columns divided by their penalty."
    from celer import celer_path
    rows = np.flatnonzero(counts)
    if len(rows) == 0: return np.zeros(len(At))
    root = np.sqrt(counts[rows])
    X = At[:, rows]
    X *= root
    X /= lam[:, None]
    _, path, _ = celer_path(X.T, root * y[rows], "lasso", alphas=[1 / len(rows)], tol=tol, max_iter=200, max_epochs=100_000)
    return path[:, 0] / lam


def refit(A, At, y, lam, b, seed):
    "Coefficients, residuals and seconds of refit b; where celer misses the optimum, the slow solver steps in."
    counts, factor = resample(b, seed, *A.shape)
    start = time.process_time()              # of one thread: what else the machine does stays out
    x = celer_lasso(At, y, lam * factor, counts)
    seconds = time.process_time() - start
    gap = optimality_gap(A, y, lam * factor, counts, x)
    again = not gap < LARGEST_GAP
    if again: x = weighted_lasso(A, y, lam * factor, counts)
    return x, counts * (y - A @ x), seconds, gap, again


# ---------------------------------------------------------------- many refits

def add_up(name, numbers, seed):
    "Sums over the refits with these numbers."
    A, y, lam = problem(name)
    At = np.ascontiguousarray(A.T)
    celer_lasso(At, y, np.full(A.shape[1], lam), np.ones(len(y)))                         # the import is not part of the time of a refit
    M, N = A.shape
    powers, selected, u_powers, log = np.zeros((4, N)), np.zeros(N), np.zeros((2, M)), []
    for b in numbers:
        x, u, *numbers_of_refit = refit(A, At, y, lam, b, seed)
        S = np.flatnonzero(x)
        powers[:, S] += x[S] ** np.arange(1, 5)[:, None]
        selected[S] += 1
        u_powers += u, u * u
        log.append(numbers_of_refit)
    log = np.array(log, dtype=float).reshape(-1, 3)
    return dict(n=len(log), powers=powers, selected=selected, u_powers=u_powers, seconds=log[:, 0].sum(), worst_gap=log[:, 1].max(), again=log[:, 2].sum())


def _chunk_file(work, name, seed, k): return Path(work) / f"{name}_{seed}_{CHUNK}_{k:05d}.npz"


def one_chunk(work, name, seed, k):
    "Refits k CHUNK .. (k + 1) CHUNK - 1 into a file, which appears only when it is complete."
    path = _chunk_file(work, name, seed, k)
    sums = add_up(name, range(k * CHUNK, (k + 1) * CHUNK), seed)
    partial = path.with_suffix(f".{os.getpid()}.part.npz")
    np.savez(partial, **sums)
    partial.rename(path)


def gather(work, name, seed, chunks):
    "All chunks added up; worst_gap is the largest."
    total = None
    for k in chunks:
        with np.load(_chunk_file(work, name, seed, k)) as file: part = {key: file[key] for key in file.files}
        total = part if total is None else {key: max(total[key], v) if key == "worst_gap" else total[key] + v for key, v in part.items()}
    return total


def statistics(total):
    "Mean, variance, Pi with their standard errors, and the mean of the residuals with its own."
    n, raw = float(total["n"]), total["powers"] / total["n"]
    mean = raw[0]
    second = np.maximum(raw[1] - mean**2, 0)
    fourth = raw[3] - 4 * mean * raw[2] + 6 * mean**2 * raw[1] - 3 * mean**4
    var = second * n / (n - 1)
    u_mean = total["u_powers"][0] / n
    u_var = np.maximum(total["u_powers"][1] / n - u_mean**2, 0) * n / (n - 1)
    return dict(mean=mean, var=var, Pi=total["selected"] / n, mean_se=np.sqrt(var / n),
                var_se=np.sqrt(np.maximum(fourth - var**2 * (n - 3) / (n - 1), 0) / n),
                Pi_se=_share_error(total["selected"], n), u_mean=u_mean, u_se=np.sqrt(u_var / n))


def fingerprint(A, y):
    "Two numbers that any change of the data would move."
    M, N = A.shape
    return [float(np.cos(np.arange(M)) @ A @ np.sin(np.arange(N))), float(np.cos(np.arange(M)) @ y)]


def truth(name, refits, workers, work, seed=0):
    "Refit until there are enough chunks, then write the summary."
    chunks = range(-(-refits // CHUNK))
    missing = [k for k in chunks if not _chunk_file(work, name, seed, k).exists()]
    print(f"{name}: {len(chunks)} chunks of {CHUNK} refits, {len(missing)} to do", flush=True)
    start = time.perf_counter()
    with ProcessPoolExecutor(workers) as pool:
        tasks = [pool.submit(one_chunk, str(work), name, seed, k) for k in missing]
        for done, task in enumerate(tasks, 1):
            task.result()
            left = (time.perf_counter() - start) / done * (len(tasks) - done)
            print(f"\r{name}: {done}/{len(tasks)} chunks, {left / 60:.1f} minutes to go", end="", flush=True)
    write_summary(name, gather(work, name, seed, chunks), seed)


def write_summary(name, total, seed):
    A, y, lam = problem(name)
    first = add_up(name, range(SLICE), seed)
    recipe = dict(TRUTHS[name], lam=lam, counts=repr(COUNTS), randomise=repr(RANDOMISE), solver="celer", tol=TOL, fingerprint=fingerprint(A, y))
    SUMMARIES.mkdir(exist_ok=True)
    np.savez_compressed(SUMMARIES / f"{name}.npz", recipe=json.dumps(recipe), n_resamples=int(total["n"]), seed=seed,
                        **{k: v.astype(np.float32) for k, v in statistics(total).items()},
                        seconds_per_refit=float(total["seconds"] / total["n"]), worst_gap=float(total["worst_gap"]), mended=int(total["again"]),
                        slice_n=SLICE, slice_mean=(first["powers"][0] / SLICE).astype(np.float32), slice_selected=first["selected"].astype(np.int16))
    print(f"\n{name}: {int(total['n'])} refits, {1e3 * total['seconds'] / total['n']:.2f} ms each, worst violation {total['worst_gap']:.1e} of the penalty, "
          f"{int(total['again'])} solved again, mean support {total['selected'].sum() / total['n']:.1f}", flush=True)


# ---------------------------------------------------------------- reading them again

def load_summary(name):
    "What a summary holds, as a dict of doubles and numbers, with its recipe."
    with np.load(SUMMARIES / f"{name}.npz") as file:
        out = {k: file[k].astype(float) if file[k].dtype == np.float32 else file[k][()] for k in file.files if k != "recipe"}
        return dict(out, recipe=json.loads(str(file["recipe"])))


def slice_matches(name):
    "Make the first refits of a summary again with scikit-learn and compare."
    from rvamp_nb.bootstrap import naive_bootstrap
    kept = load_summary(name)
    A, y, lam = problem(name)
    np.testing.assert_allclose(fingerprint(A, y), kept["recipe"]["fingerprint"], rtol=1e-8, atol=1e-8, err_msg=f"{name}: the data made today differ")
    n = int(kept["slice_n"])
    again = naive_bootstrap(A, y, lam, counts=COUNTS, randomise=RANDOMISE, n_resamples=n, seed=int(kept["seed"]), progress=False)
    scale = np.abs(kept["slice_mean"]).max()
    return bool(np.array_equal(np.rint(again.Pi * n), kept["slice_selected"]) and np.allclose(again.mean, kept["slice_mean"], rtol=1e-3, atol=1e-5 * scale))


# ---------------------------------------------------------------- how fast delta falls

RATIOS, SEEDS, STEPS = (0.15, 0.1, 0.09, 0.075, 0.05), range(10), 60
RUNS = {"accelerated": dict(damping=0.7, accelerate=True), "damped": dict(damping=0.7, accelerate=False), "undamped": dict(damping=1.0, accelerate=False)}


def deltas(A, y, lam, options, steps=STEPS):
    "The paper's delta and the relative change of the messages after each step, (2, steps); NaN once delta is below 1e-13, or after a breakdown."
    from rvamp_nb.likelihood import Squared
    from rvamp_nb.prior import Laplace
    from rvamp_nb.solver import Breakdown, Problem, iterate
    out = np.full((2, steps), np.nan)
    try:
        for k, (current, _, _) in zip(range(steps), iterate(Problem(A, y, Laplace(lam, RANDOMISE), Squared(), COUNTS), **options)):
            if current is None: continue
            one, two = current.x, current.coupled.x
            out[:, k] = max(np.sqrt(np.mean((two.mean - one.mean) ** 2)), np.sqrt(np.mean((two.var - one.var) ** 2))), current.change
            if out[0, k] < 1e-13: break
    except Breakdown: pass
    return out


def decay():
    "delta for random DCT, N = 4096, and riboflavin; the penalty of a ratio is cross-validated on its first seed."
    from tqdm.std import tqdm
    result, lams = {}, {}
    for ratio in tqdm(RATIOS):
        for seed in SEEDS:
            data = datasets.random_dct(4096, ratio, 0.05, 0.1, seed=seed)
            if seed == SEEDS[0]: lams[ratio] = datasets.choose_lambda(data.A, data.y)
            for name, options in RUNS.items(): result.setdefault(f"{name}_{ratio}", []).append(deltas(data.A, data.y, lams[ratio], options))
    A, y, lam = problem("riboflavin_71x4088")
    for name, options in RUNS.items(): result[f"{name}_riboflavin"] = [deltas(A, y, lam, options)]
    np.savez_compressed(SUMMARIES / "decay.npz", ratios=np.array(RATIOS), lams=np.array([lams[r] for r in RATIOS]), **{k: np.array(v, dtype=np.float32) for k, v in result.items()})


# ---------------------------------------------------------------- where the approximation is good, and where it is not

def equal_refits(Pi, naive, n):
    "How many refits have a Monte-Carlo error as large as the error of Pi: (number, mean squared error); the truth's own noise is taken off."
    noise = naive * (1 - naive) / (n - 1)
    error = np.mean((Pi - naive) ** 2 - noise)
    return np.mean(noise * (n - 1)) / max(error, np.mean(noise) / 3), error


def problems_of_error():
    "(kind, value, seed, A, y): correlation of neighbours, number of rows, size of one outlier."
    for seed in range(3):
        for rho in (0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99): yield "correlation", rho, seed, *datasets.gaussian_design(150, 400, rho, seed=seed)[:2]
        for M in (20, 30, 50, 80, 150, 300): yield "rows", M, seed, *datasets.gaussian_design(M, 400, seed=seed)[:2]
        for size in (0, 5, 10, 20, 40):
            A, y, *_ = datasets.gaussian_design(120, 400, seed=seed)
            y = y.copy()
            y[0] += size * y.std()
            yield "outlier", size, seed, A, y - y.mean()


def one_error(kind, value, seed, A, y, refits):
    "A row of the table: the fit against refits at 0.15 of the penalty that empties a half-sample."
    from rvamp_nb import rvamp
    from rvamp_nb.stability import row_shares
    lam = 0.15 * COUNTS.mean * np.abs(A.T @ y).max()
    fit, At, selected = rvamp(A, y, lam), np.ascontiguousarray(A.T), np.zeros(A.shape[1])
    for b in range(refits): selected += refit(A, At, y, lam, b, seed)[0] != 0
    shares = row_shares(fit)
    B_eq, error = equal_refits(fit.Pi, selected / refits, refits)
    return kind, value, seed, lam, 1 / (shares @ shares), B_eq, error, fit.n_iter, fit.converged, np.corrcoef(fit.Pi, selected)[0, 1]


ERROR_COLUMNS = "kind value seed lam effective_rows B_eq error n_iter converged correlation_of_Pi".split()


def error(refits=4000):
    "The table as JSON, and breast cancer with the logistic loss beside it."
    from tqdm.std import tqdm
    rows = [[v if isinstance(v, (str, int)) else float(v) for v in one_error(*case, refits)] for case in tqdm(list(problems_of_error()))]
    (SUMMARIES / "error.json").write_text(json.dumps(dict(columns=ERROR_COLUMNS, refits=refits, rows=rows), indent=0))
    breast_cancer()


def breast_cancer(refits=3000):
    "L1 logistic regression: refits against rVAMP with the logistic channel, an intercept refitted in each resample."
    from rvamp_nb.bootstrap import naive_bootstrap
    A, y = breast_cancer_problem()
    start = time.perf_counter()
    r = naive_bootstrap(A, y, BREAST_LAM, loss="logistic", intercept=True, n_resamples=refits)
    np.savez_compressed(SUMMARIES / "breast_cancer.npz", lam=BREAST_LAM, n_resamples=refits, seconds_per_refit=(time.perf_counter() - start) / refits,
                        **{k: getattr(r, k).astype(np.float32) for k in ("mean", "var", "Pi", "mean_se", "var_se", "Pi_se")})


BREAST_LAM = 0.5


def breast_cancer_problem():
    "A (569, 30) standardised, y in {0, 1} (1: benign)."
    from sklearn.datasets import load_breast_cancer
    raw = load_breast_cancer()
    return datasets.standardize(raw.data)[0], raw.target.astype(float)


# ---------------------------------------------------------------- timings

def timings():
    "CPU seconds, on one thread, of a fit and of a refit, and what they come to."
    from rvamp_nb import rvamp
    table = {}
    for name in TRUTHS:
        A, y, lam = problem(name)
        At, kept = np.ascontiguousarray(A.T), load_summary(name)
        refits = sorted(refit(A, At, y, lam, b, 0)[2] for b in range(200))
        fits = []
        for _ in range(3):
            start = time.process_time()
            fit = rvamp(A, y, lam)
            fits.append(time.process_time() - start)
        n = int(kept["n_resamples"])
        B_eq, mse = equal_refits(fit.Pi, kept["Pi"], n)
        per_refit = float(np.mean(refits[:-2]))
        table[name] = dict(fit_seconds=min(fits), steps=fit.n_iter, refit_seconds=per_refit, fit_in_refits=min(fits) / per_refit, B_eq=float(B_eq), error=float(mse),
                           speed_up=float(B_eq * per_refit / min(fits)), refits_of_the_truth=n)
        print(name, {k: float(f"{v:.4g}") for k, v in table[name].items()}, flush=True)
    (SUMMARIES / "timings.json").write_text(json.dumps(table, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=["truth", "decay", "error", "timings"])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--refits", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "rvamp_nb_experiments", help="folder of the finished chunks")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    if args.list or not args.what: return print(*TRUTHS, sep="\n")
    if args.what != "truth": return {"decay": decay, "error": error, "timings": timings}[args.what]()
    args.work.mkdir(parents=True, exist_ok=True)
    if unknown := set(args.names) - set(TRUTHS): parser.error(f"no such truth: {', '.join(sorted(unknown))}; there are {', '.join(TRUTHS)}")
    for name in args.names or TRUTHS: truth(name, args.refits, args.workers, args.work)


if __name__ == "__main__": main()
