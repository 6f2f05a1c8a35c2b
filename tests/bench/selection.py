"""Is stability selection faster than the refits it replaces? Ratios within one run.

    python tests/bench/selection.py                # all tables, one thread and several
    python tests/bench/selection.py a              # this table
    python tests/bench/selection.py --threads one  # or: default, both

a  `StabilitySelection()`, and `n_resamples=0`, over 100 half-sample paths by celer, and
ipss
t  the same of tables with many rows, over celer and scikit-learn's Gram paths
l  the default job on tables that are large on both sides, over 100 half-sample paths by
   celer, and on sparse tables, beside 100 sparse refits by celer; one turn, minutes
s  the same of survival times, over 100 half-sample Cox paths by scikit-survival
e  equal accuracy: what a fit costs in refits, and how many refits it is worth

In tables t and l paths end at the reported penalty; in t so many halves are followed as
take some seconds. In table a celer follows (1) fifty penalties down to 5 % of the
largest, what one would do without knowing where q is reached, and (2) those of the
estimator's picture, which ends soon after q; both to celer's default duality gap, in
twenty halves, times five. ipss (L1) runs at its defaults, which keep a part of the
columns after a first look at all of them. In table s Coxnet follows the picture's
penalties. Contestants take turns and of each the fastest turn counts. celer is a
development extra; ipss, scikit-survival and skglm (Poisson paths, by its ProxNewton)
are left out where they are not installed. Refits of a sparse table are Lassos of halves
of the rows at the reported penalty, of columns of unit length that are not centred. "As
many" are Cox fits by Coxnet at the reported penalty alone, as many as the default job
makes: where they take longer than a hundred paths, no answer that is certified by so
many refits costs less than these, not if the search and all that rVAMP does were free.

Measured in one run of each, default (alone): a, over celer's paths of the same
penalties: riboflavin .77 (.39), three factors .86 (.33), one .86 (.41), logistic .33
(.19), 300 x 10,000 .54 (.36), breast cancer .18 (.08), counts .20 (.07); t, over celer,
and over Gram paths: diabetes .97 (.31), .60; 2,000 x 500 1.03 (.45), .92; 20,000 x 300
.25 (.13), .33; 200,000 x 50 .57 (.12), .83. Where it is more than .7 of celer on wide
tables, the search is .4 to .5 of the job, turns .3 (half of these products, in 32 bits,
at the machine's rate), exact refits .13 to .17. Of 2,000 x 500 the search is .42, the
first level of turns .23, settling .20, exact refits .05.

Table s, beside Coxnet, with the baseline going along in the search and in each resample
(before: a search for each baseline, turns with one for all): 100 x 6,000 .94 (1.45),
alone .56 (1.13); 200 x 2,000 1.8 (3.5), .55 (1.5); 151 x 120 1.8 (4.0), .78 (1.2);
500 x 100 2.3 (3.7), .80 (1.2). As many Cox fits by Coxnet take .89, 1.5, 1.6 and 1.35.
Steps of the search: 23, 16, 13, 15 (57, 53, 21, 28). On
three data sets of each, intervals of 95 % hold 94.7 to 100 % of the shares of 2,000 Cox
refits.

Tried on these tables for a cheaper search, and not kept: three looks at fixed penalties
and a bracket (30 to 45 steps for 19 to 27, in which the penalty goes along); the next
penalty by the power of the sum at each step (diverges, as does a walk in averages
alone); all digits in the run in which the penalty moves (as many steps); the columns in
play alone at first (Π above 1e-3 at the next penalty in the fields of the last: 600 to
5,200 of them, and what they miss sets the run with all back: as many steps in all);
stand-in columns on a walk (as many steps); more, or fewer, columns that refits look at
first (within a tenth); four rows counted on every table (twice the time of the refits,
and worth it where few rows hold most); patterns solved to 3e-2 in place of 1.5e-2 (as
many steps on riboflavin); patterns that begin where those with one row less and two
rows less point to (a twentieth of the job); a hundred refits first (a fifth of the
whole, and errors that are guessed from half as many); refits that begin at what rVAMP
says of them (a tenth of their steps, no time); more or fewer columns let in at a turn;
refits on pieces of the resamples (the same time from 200 down to 25 at once); Cox
refits that look first at the columns which rVAMP selects (a tenth of their time); the
baseline that the step before implies, in place of this one's messages (200 x 2,000: 42
steps for 16); one Newton step of a row in a turn in place of two (no time); one
shift of all of rVAMP's probabilities, learned from the refits (long tails gain a
third, near copies and Toeplitz columns lose a tenth).

Tried on tables of many rows, and not kept: one memory of the acceleration for all runs
of a search, or no damping after rows have answered alike (as many steps); one curvature
for all resamples from 1,000 rows on in place of 5,000 (2,000 x 500: twice the time, for
four times the resamples); two passes over the rows in place of three in a turn, with
the columns' products in place of the third (at most a tenth of the job, and in 32 bits
other signs near zero: a fifth of a standard error on diabetes).

Tried with passes in 32 bits (kept: of wide tables, while the penalty goes along, to
three digits), and not kept: of tall tables, too (2,000 x 500: 4 % of the job; Toeplitz
.999, 1,500 x 300: 33 s for 5, for sixty steps do not reach two digits); in the steps
before, at a fixed penalty (300 x 10,000: 6 % of the job, 100 x 6,000: 1 to 3 %); to
four digits and five (a step less in 64 bits, one to six more in 32); of smaller
tables (riboflavin: 3 % of the job). Work arrays that
are kept for the products of a step (2 to 10 % of a product); panels of 2,048 columns
of 300 rows in place of 1,024 (as long); larger pieces of a level in an average, to
2^20 (as long).
"""

import argparse
import importlib.util
import sys
import warnings
from pathlib import Path

import numpy as np
from large import table as large_table
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import lasso_path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "helpers")]
import designs  # noqa: E402
import experiments  # noqa: E402
import speed  # noqa: E402

from rvamp_nb import StabilitySelection, datasets, rvamp  # noqa: E402

HALVES, PATHS = 20, 100  # timed, and asked for
SIMULATED = {  # name: (common factors, share of the variance that is common, classes,
    # shape)
    "3 factors, half": (3, 0.5, False, (100, 6000)),
    "1 factor, a third": (1, 0.3, False, (100, 6000)),
    "5 factors, logistic": (5, 0.5, True, (100, 6000)),
    "5 factors, a third": (5, 0.3, False, (300, 10_000)),
}


def simulated(seed, factors, share, classes, shape, effects=10):
    """A gene-like table: ten columns matter, as much as the noise does twice over."""
    rng = np.random.default_rng([14, seed])
    A, _ = datasets.standardize(designs.genes(rng, *shape, factors, share))
    which = rng.choice(shape[1], effects, replace=False)
    signal = A[:, which] @ rng.choice([-1, 1], effects)
    if classes:
        noise = rng.logistic(size=shape[0])
        return A, (3 * signal / signal.std() + noise > 0).astype(int)
    y = signal + rng.normal(size=shape[0]) * signal.std() / 2
    return A, y - y.mean()


def tables():
    """(name, A, y, loss); riboflavin only where its file is known, counts where there
    is a peer.
    """
    if any("riboflavin" in name for name in speed.truths()):
        data = datasets.load_riboflavin()
        yield "riboflavin, 71 x 4088", data.A, data.y, "auto"
    for seed, (name, recipe) in enumerate(SIMULATED.items()):
        A, y = simulated(seed, *recipe)
        yield "{}, {} x {}".format(name, *A.shape), A, y, "auto"
    yield "breast cancer, 569 x 30", *load_breast_cancer(return_X_y=True), "auto"
    if importlib.util.find_spec("skglm"):
        rng = np.random.default_rng(7)
        X = designs.toeplitz(rng, 1000, 200, 0.5)
        rate = X[:, rng.choice(200, 10, replace=False)] @ rng.choice([-1, 1], 10)
        y = rng.poisson(np.exp(rate / 2 / rate.std()))
        yield "Toeplitz, counts, 1000 x 200", X, y, "poisson"


# --------------------------------------------------- (a) the whole job


def half_sample_paths(question, lams, halves=HALVES):
    """The Lasso of halves of the rows at all these penalties."""
    from celer import celer_path

    A, target, rng = question.A, question.target, np.random.default_rng(0)
    for _ in range(halves):
        rows = rng.permutation(len(A))[: len(A) // 2]
        X, y = np.asfortranarray(A[rows]), target.y[rows]
        if target.loss == "poisson":
            poisson_path(X, y, lams / len(rows))
        elif target.loss == "logistic":
            celer_path(X, 2 * y - 1, "logreg", alphas=lams)
        else:
            celer_path(X, y, "lasso", alphas=lams / len(rows))


def poisson_path(X, y, alphas):
    """Poisson fits by skglm, each from the one before."""
    from skglm.datafits import Poisson
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton

    solver, w = ProxNewton(fit_intercept=True, tol=1e-4, max_iter=50), None
    for alpha in alphas:
        w = solver.solve(X, y, Poisson(), L1(alpha), w_init=w)[0]


def by_ipss(A, y, loss):
    """ipss with the Lasso; None where it is not installed, or knows no such loss."""
    if loss != "auto":
        return None
    try:
        from ipss import ipss
    except ImportError:
        return None
    return lambda: ipss(A, y, selector="l1")


def whole_job(threads, turns=3):
    """Rows (problem, steps, seconds of the estimator alone and with refits, of a
    hundred paths (1) and (2), of ipss; of both the ratio to (2), with refits to ipss).
    """
    rows = []
    for name, A, y, loss in tables():
        how = dict(verbose=0, loss=loss)
        job = lambda how=how, **refits: StabilitySelection(**how, **refits).fit(A, y)
        alone = lambda: job(n_resamples=0)
        s = alone()
        fifty = s.lambdas_[0] * np.geomspace(1, 0.05, 50)
        refits = [
            lambda lams=lams: half_sample_paths(s.question_, lams)
            for lams in (fifty, s.lambdas_)
        ]
        peer = by_ipss(A, y, loss)
        actions = [alone, job, *refits, *[peer] * (peer is not None)]
        one, both, *seconds = threads.fastest(*actions, repeat=turns)
        fifty, same = (PATHS / HALVES * t for t in seconds[:2])
        ipss = seconds[2] if peer else np.nan
        ratios = one / same, both / same, both / ipss
        rows.append((name, s.n_iter_, one, both, fifty, same, ipss, *ratios))
    return rows


# --------------------------------------------------- (t) many rows


def tall_tables():
    """(name, halves, X, y), in units and with columns as they come."""
    X, y = load_diabetes(return_X_y=True)
    i, j = np.triu_indices(X.shape[1])
    keep = (i != 1) | (j != 1)  # the square of a column of two values
    products = (X[:, i] * X[:, j])[:, keep]
    yield "diabetes and products, 442 x 64", 20, np.hstack([X, products]), y
    for seed, (M, N, snr, halves) in enumerate(
        ((2000, 500, 0.5, 20), (20000, 300, 0.05, 4), (200000, 50, 0.005, 2))
    ):
        rng = np.random.default_rng(3 + seed)
        X = designs.toeplitz(rng, M, N, 0.5)
        which = rng.choice(N, 10, replace=False)
        signal = X[:, which] @ rng.choice([-1, 1], 10)
        noise = signal.std() / snr**0.5
        yield f"Toeplitz, {M} x {N}", halves, X, signal + rng.normal(size=M) * noise


def gram_paths(question, lams, halves):
    """Lasso paths of halves of the rows by coordinate descent on A'A."""
    A, y, rng = question.A, question.target.y, np.random.default_rng(0)
    for _ in range(halves):
        rows = rng.permutation(len(A))[: len(A) // 2]
        alphas = lams / len(rows)
        lasso_path(A[rows], y[rows], alphas=alphas, precompute=True)


def tall_job(threads, turns=3):
    """Rows (problem, steps, seconds alone, with refits, of a hundred paths by celer and
    on Gram matrices; ratios of the first two to both).
    """
    rows = []
    for name, halves, X, y in tall_tables():
        job = lambda X=X, y=y, **how: StabilitySelection(verbose=0, **how).fit(X, y)
        alone = lambda job=job: job(n_resamples=0)
        s = job()
        lams = np.append(s.lambdas_[s.lambdas_ > s.lambda_], s.lambda_)
        given = s.question_, lams, halves
        peers = [
            lambda f=f, given=given: f(*given) for f in (half_sample_paths, gram_paths)
        ]
        one, both, *paths = threads.fastest(alone, job, *peers, repeat=turns)
        paths = [PATHS / halves * seconds for seconds in paths]
        ratios = [mine / theirs for mine in (one, both) for theirs in paths]
        rows.append((name, s.n_iter_, one, both, *paths, *ratios))
    return rows


# --------------------------------------------------- (l) large on both sides

LARGE = (  # kind of `large.table`, rows, columns
    ("factors", 2000, 2000),
    ("factors", 4000, 4000),
    ("sparse", 5000, 2000),
    ("sparse", 20_000, 1000),
    ("sparse", 1000, 20_000),
)


def sparse_refits(X, y, lam):
    """The Lasso of halves of the rows of a sparse table at one penalty."""
    from celer import celer_path

    rng, y = np.random.default_rng(0), y - y.mean()
    spread = np.sqrt(X.power(2).sum(0) - X.sum(0) ** 2 / len(y))
    unit = sparse.csr_matrix(X / np.where(spread == 0, 1, spread))
    for _ in range(HALVES):
        rows = rng.permutation(len(y))[: len(y) // 2]
        half = sparse.csc_matrix(unit[rows])
        celer_path(half, y[rows], "lasso", alphas=[lam / len(rows)])


def large_job(threads):
    """Rows (problem, steps, seconds of the default job, of a hundred peers, ratio)."""
    rows = []
    for kind, M, N in LARGE:
        X, y = large_table(kind, M, N)
        fits = []
        job = lambda X=X, y=y: fits.append(StabilitySelection(verbose=0).fit(X, y))
        (seconds,) = threads.fastest(job, repeat=1)
        s = fits[0]
        if kind == "sparse":
            peer = lambda given=(X, y, s.lambda_): sparse_refits(*given)
        else:
            A, y = s.question_.A, s.question_.target.y  # the picture's path is long
            top = np.abs(y @ A).max() / 2 / s.lambda_  # of a half, nothing selected
            lams = s.lambda_ * np.append(top * 0.85 ** np.arange(np.log(top) / 0.16), 1)
            peer = lambda s=s, lams=lams: half_sample_paths(s.question_, lams)
        theirs = PATHS / HALVES * threads.fastest(peer, repeat=1)[0]
        name = f"{kind}, {M} x {N}"
        rows.append((name, s.n_iter_, seconds, theirs, seconds / theirs))
    return rows


# --------------------------------------------------- (s) survival

SURVIVAL = (  # common factors, share of the variance that is common, shape
    (1, 0.3, (100, 6000)),
    (2, 0.4, (200, 2000)),
    (1, 0.4, (151, 120)),
    (2, 0.4, (500, 100)),
)


def survival_times(seed, factors, share, shape, effects=10):
    """A gene-like table, and times of events, of which two in three are seen."""
    rng = np.random.default_rng([15, seed])
    A, _ = datasets.standardize(designs.genes(rng, *shape, factors, share))
    which = rng.choice(shape[1], effects, replace=False)
    risk = A[:, which] @ rng.choice([-1, 1], effects)
    death = rng.exponential(np.exp(-1.5 * risk / risk.std()))
    left = rng.exponential(2.0, shape[0])
    y = np.zeros(shape[0], dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = death <= left, np.minimum(death, left)
    return A, y


def half_sample_cox_paths(A, y, lams):
    """Cox paths of twenty halves of the rows."""
    from sksurv.linear_model import CoxnetSurvivalAnalysis

    rng = np.random.default_rng(0)
    for _ in range(HALVES):
        rows = rng.permutation(len(A))[: len(A) // 2]
        alphas = lams / len(rows)
        CoxnetSurvivalAnalysis(alphas=alphas, l1_ratio=1.0).fit(A[rows], y[rows])


def survival_job(threads, turns=3):
    """Rows (problem, seconds alone, with refits, of a hundred paths, and of as many Cox
    fits at one penalty as there are refits; ratios of the others to the paths).
    """
    rows = []
    for seed, (factors, share, shape) in enumerate(SURVIVAL):
        A, y = survival_times(seed, factors, share, shape)
        how = dict(loss="survival", verbose=0)
        alone = lambda how=how: StabilitySelection(n_resamples=0, **how).fit(A, y)
        job = lambda how=how: StabilitySelection(**how).fit(A, y)
        s = job()
        unit, reported = np.asarray(s.question_.A), np.array([s.lambda_])
        peer = lambda lams=s.lambdas_, unit=unit: half_sample_cox_paths(unit, y, lams)
        fits = lambda lam=reported, unit=unit: half_sample_cox_paths(unit, y, lam)
        one, both, paths, single = threads.fastest(alone, job, peer, fits, repeat=turns)
        paths, single = PATHS / HALVES * paths, s.refined_.n_resamples / HALVES * single
        name = f"{factors} factors, {shape[0]} x {shape[1]}"
        ratios = one / paths, both / paths, single / paths
        rows.append((name, one, both, paths, single, *ratios))
    return rows


# --------------------------------------------------- (e) equal accuracy


def cost_and_worth(threads):
    """Rows (problem, steps, cost in refits, worth in refits, worth / cost)."""
    rows = []
    for name in speed.truths():
        A, y, lam = experiments.problem(name)
        kept = experiments.load_summary(name)
        fit = rvamp(A, y, lam)
        worth, _ = experiments.equal_refits(
            fit.Pi, kept["Pi"], int(kept["n_resamples"])
        )
        (seconds,) = threads.fastest(lambda: rvamp(A, y, lam), repeat=5)
        cost = seconds / min(speed.refits(A, y, lam, threads.clock) for _ in range(2))
        rows.append((name, fit.n_iter, cost, float(worth), worth / cost))
    return rows


# --------------------------------------------------- the command


def print_tables(which, threads):
    with threads.limit(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(f"\n======== {threads.name}")
        if "a" in which:
            speed.table(
                "(a) StabilitySelection() over 100 half-sample paths, and ipss",
                (
                    "problem",
                    "steps",
                    "alone",
                    "default",
                    "celer 50",
                    "celer same",
                    "ipss",
                    "alone / same",
                    "default / same",
                    "default / ipss",
                ),
                whole_job(threads),
            )
        if "t" in which:
            speed.table(
                "(t) StabilitySelection() over 100 half-sample paths, many rows",
                (
                    "problem",
                    "steps",
                    "alone",
                    "default",
                    "celer",
                    "Gram",
                    "alone / celer",
                    "alone / Gram",
                    "default / celer",
                    "default / Gram",
                ),
                tall_job(threads),
            )
        if "l" in which:
            speed.table(
                "(l) large on both sides: StabilitySelection() over 100 peers",
                ("problem", "steps", "default", "100 peers", "default / peers"),
                large_job(threads),
            )
        if "s" in which:
            speed.table(
                "(s) survival: StabilitySelection() over 100 half-sample Cox paths",
                (
                    "problem",
                    "alone",
                    "default",
                    "Coxnet",
                    "as many",
                    "alone / Coxnet",
                    "default / Coxnet",
                    "as many / Coxnet",
                ),
                survival_job(threads),
            )
        if "e" in which:
            speed.table(
                "(e) equal accuracy: cost and worth of a fit, in refits",
                ("problem", "steps", "cost", "worth", "worth / cost"),
                cost_and_worth(threads),
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "tables", nargs="*", metavar="TABLE", help="of a t l s e; or all"
    )
    parser.add_argument("--threads", choices=["one", "default", "both"], default="both")
    args = parser.parse_args()
    for one in {"one": [True], "default": [False], "both": [True, False]}[args.threads]:
        print_tables(args.tables or "atlse", speed.Threads(one))


if __name__ == "__main__":
    main()
