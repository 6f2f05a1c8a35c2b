"""Is stability selection faster than the refits it replaces? Ratios within one run.

    python tests/bench/selection.py                # both tables, one thread and several
    python tests/bench/selection.py a              # this table
    python tests/bench/selection.py --threads one  # or: default, both

a  `StabilitySelection()`, and `refits=0`, over 100 half-sample paths by celer, and ipss
e  equal accuracy: what a fit costs in refits, and how many refits it is worth

In table a celer follows (1) fifty penalties down to 5 % of the largest, what one would
do without knowing where q is reached, and (2) those of the estimator's picture, which
ends soon after q; both to celer's default duality gap, in twenty halves, times five.
ipss (L1) runs at its defaults, which keep a part of the columns after a first look at
all of them.
Contestants take turns and of each the fastest turn counts. celer and ipss are
development extras, and ipss is left out where it is not installed.

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
rows less point to (a twentieth of the job); a hundred refits first, then fifty at a
time (fewer refits, and no less time).
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import designs  # noqa: E402
import experiments  # noqa: E402
import speed  # noqa: E402

from rvamp_nb import StabilitySelection, datasets, rvamp  # noqa: E402

HALVES, PATHS = 20, 100  # timed, and asked for
SIMULATED = {  # name: (common factors, share of the variance that is common, classes)
    "3 factors, half": (3, 0.5, False),
    "1 factor, a third": (1, 0.3, False),
    "5 factors, logistic": (5, 0.5, True),
}


def simulated(seed, factors, share, classes, shape=(100, 6000), effects=10):
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
    """(name, A, y); riboflavin only where its file is known."""
    if any("riboflavin" in name for name in speed.truths()):
        data = datasets.load_riboflavin()
        yield "riboflavin, 71 x 4088", data.A, data.y
    for seed, (name, recipe) in enumerate(SIMULATED.items()):
        yield f"{name}, 100 x 6000", *simulated(seed, *recipe)


# --------------------------------------------------- (a) the whole job


def half_sample_paths(question, lams):
    """The Lasso of twenty halves of the rows at all these penalties."""
    from celer import celer_path

    A, target, rng = question.A, question.target, np.random.default_rng(0)
    for _ in range(HALVES):
        rows = rng.permutation(len(A))[: len(A) // 2]
        X, y = np.asfortranarray(A[rows]), target.y[rows]
        if target.loss == "logistic":
            celer_path(X, 2 * y - 1, "logreg", alphas=lams)
        else:
            celer_path(X, y, "lasso", alphas=lams / len(rows))


def by_ipss(A, y):
    """ipss with the Lasso; None where it is not installed or refuses."""
    try:
        from ipss import ipss

        ipss(A[:20, :30], y[:20], selector="l1")
    except (ImportError, TypeError):
        return None
    return lambda: ipss(A, y, selector="l1")


def whole_job(threads, turns=3):
    """Rows (problem, steps, seconds of the estimator alone and with refits, of a
    hundred paths (1) and (2), of ipss; of both the ratio to (2), with refits to ipss).
    """
    rows = []
    for name, A, y in tables():
        job = lambda **refits: StabilitySelection(verbose=0, **refits).fit(A, y)
        alone = lambda: job(refits=0)
        s = alone()
        fifty = s.lambdas_[0] * np.geomspace(1, 0.05, 50)
        refits = [
            lambda lams=lams: half_sample_paths(s.question_, lams)
            for lams in (fifty, s.lambdas_)
        ]
        peer = by_ipss(A, y)
        actions = [alone, job, *refits, *[peer] * (peer is not None)]
        one, both, *seconds = threads.fastest(*actions, repeat=turns)
        fifty, same = (PATHS / HALVES * t for t in seconds[:2])
        ipss = seconds[2] if peer else np.nan
        ratios = one / same, both / same, both / ipss
        rows.append((name, s.n_iter_, one, both, fifty, same, ipss, *ratios))
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
        if "e" in which:
            speed.table(
                "(e) equal accuracy: cost and worth of a fit, in refits",
                ("problem", "steps", "cost", "worth", "worth / cost"),
                cost_and_worth(threads),
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="of a e; or both")
    parser.add_argument("--threads", choices=["one", "default", "both"], default="both")
    args = parser.parse_args()
    for one in {"one": [True], "default": [False], "both": [True, False]}[args.threads]:
        print_tables(args.tables or "ae", speed.Threads(one))


if __name__ == "__main__":
    main()
