"""What refits through the same messages are worth, and whether intervals hold.

    python tests/bench/turns.py                  # half-samples of tests/truth/beyond
    python tests/bench/turns.py NAME ...         # these
    python tests/bench/turns.py --small [K ...]  # 15 tables with 3 to 32 columns

By hand: some minutes, on one thread. For each table: the worth of Π in refits (the mean
over the seeds of what is left of the squared error when the truth's own is subtracted)
among features with a true Π from .02 to .98; the worth that is reported; the share of
95 % intervals that hold the truth, for Π, mean and variance; processor seconds without
the fit, in the middle; resamples. The truths of the small tables are 20,000 refits,
kept in the folder that --kept names, if any.

Where the time goes on wide tables (riboflavin at two penalties, factors 100 x 4,000,
modules 62 x 2,000), as shares of one `refine`: exact refits .23-.32, settling .24-.38,
four turns of all .12-.16, draws .04-.06, sums, moments and sparse rows .15-.21.
Variance times cost at the best split is flat in all constants, so that none of these
was kept: looks every four turns in place of eight and sixteen turns in rVAMP's metric
in place of twelve (.90 to .98, and 1.05 on smooth curves); turns on columns with
rVAMP's Pi above .003 in place of .001 (.88 to 1.01, for what is left out falls to the
exact refits: half of their variance on the factors is that of columns below .001),
above .01 (1.1 to 1.6) or .0003 (1.07 to 1.2); three, five or six turns at the first
level (.9 to 1.3, five or six mostly below 1 on genes, each measured once); the best
split for the measured costs of the levels in place of the rough ones (.95 to 1); more
numbers side by side (.9 to 1.1).
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from beyond import refitted
from refinement import CHOSEN_ON, held

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "helpers"))
import designs  # noqa: E402

from rvamp_nb import datasets  # noqa: E402
from rvamp_nb.algorithm.likelihood import Logistic  # noqa: E402
from rvamp_nb.algorithm.prior import Laplace  # noqa: E402
from rvamp_nb.algorithm.resampling import Poisson, Subsample, TwoPoint  # noqa: E402
from rvamp_nb.algorithm.solver import rvamp  # noqa: E402
from rvamp_nb.inference.refinement import refine, resamples  # noqa: E402
from rvamp_nb.inference.refits import refitter  # noqa: E402

TRUTH, OTHER_SEED = 20_000, 2026
# rows and columns; as many tables as FINDINGS has and more, M from 16 to 200
SMALL = [(26, 4), (32, 3), (71, 9), (126, 28), (16, 6), (47, 15), (20, 5), (25, 5)]
SMALL += [(21, 3), (60, 12), (100, 32), (40, 20), (200, 8), (28, 28), (150, 25)]
KINDS = {
    "normal": lambda rng, M, N: rng.normal(size=(M, N)),
    "Toeplitz .8": lambda rng, M, N: designs.toeplitz(rng, M, N, 0.8),
    "t3": lambda rng, M, N: rng.standard_t(3, size=(M, N)),
    "counts": lambda rng, M, N: 1.0 * rng.poisson(1.5, size=(M, N)),
    "equal .4": lambda rng, M, N: designs.equicorrelated(rng, M, N, 0.4),
}


def small_fit(k):
    """The k-th small table's name, and its fit."""
    (M, N), rng = SMALL[k], np.random.default_rng([63, k])
    kind, share = list(KINDS)[k % 5], (0.3, 0.5, 0.15)[k % 3]
    X = KINDS[kind](rng, M, N)
    Z, effects = datasets.standardize(X)[0], max(1, N // 4)
    sizes = rng.choice([-1, 1], effects) * rng.uniform(2, 4.5, effects)
    f, more = Z[:, :effects] @ sizes, {}
    y = f + rng.normal(size=M)
    if k % 6 == 3:
        y, more = 1.0 * (y > 0), dict(loss=Logistic(), intercept=True)
    A, centred = datasets.standardize(X, y)
    y = y if more else centred
    lam = share * np.abs(A.T @ centred).max() / 2
    laws = dict(prior=Laplace(lam), resampling=Subsample(0.5))
    if k % 7 == 5:
        laws = dict(prior=Laplace(lam, TwoPoint()), resampling=Poisson(0.5))
    claimed = f"{kind}{', labels' * bool(more)}{', Poisson' * (k % 7 == 5)}"
    return f"{k}: {M} x {N} {claimed}", rvamp(A, y, **laws, **more)


def many_refits(fit):
    """Π, mean, variance, the fourth moment's part of the variance's error; how many."""
    again, found = refitter(fit), []
    for start in range(0, TRUTH, 1000):
        x, _ = again(*resamples(fit, range(start, start + 1000), OTHER_SEED))
        found.append(x[~np.isnan(x).any(1)])
    x = np.concatenate(found)
    fourth = ((x - x.mean(0)) ** 4).mean(0) - x.var(0) ** 2
    return (x != 0).mean(0), x.mean(0), x.var(0), fourth, len(x)


def small_truth(k, fit, kept):
    """`many_refits`, from a file where it is there."""
    path = kept and Path(kept) / f"small_{k}.npz"
    if path and path.exists():
        with np.load(path) as file:
            return tuple(file[f"arr_{i}"] for i in range(5))
    truth = many_refits(fit)
    if path:
        np.savez(path, *truth)
    return truth


def line(fit, truth, seeds):
    """Numbers of the answer on one table."""
    Pi, mean, var, fourth, n = truth
    asked, noise = (Pi > 0.02) & (Pi < 0.98), (Pi * (1 - Pi), var, fourth)
    squares, cover, claimed, seconds, refits = [], [], [], [], []
    for seed in range(seeds):
        start = time.process_time()
        r = refine(fit, random_state=seed, verbose=False)
        seconds.append(time.process_time() - start)
        squares.append(((r.Pi - Pi) ** 2 - noise[0] / n)[asked].sum())
        parts = (r.Pi, r.Pi_se, Pi), (r.mean, r.mean_se, mean), (r.var, r.var_se, var)
        given = [(v, e, t, s / n) for (v, e, t), s in zip(parts, noise)]
        cover.append([held(*(p[asked] for p in one)).mean() for one in given])
        claimed.append(r.equivalent_refits)
        refits.append(r.n_resamples)
    total = noise[0][asked].sum()
    worth = total / max(np.mean(squares), total / (30 * n))
    shares = np.mean(cover, axis=0)
    return worth, np.mean(claimed), shares, np.median(seconds), np.median(refits)


def shown(name, fit, truth, seeds):
    """A table's line, printed; its numbers."""
    numbers = worth, claimed, shares, seconds, refits = line(fit, truth, seeds)
    print(f"{name} {fit.problem.A.shape}, truth {truth[-1]}", flush=True)
    cover = " ".join(f"{share:.3f}" for share in shares)
    claimed = f"worth {worth:7,.0f} claimed {claimed:7,.0f} held {cover}"
    print(f"    {claimed} {1e3 * seconds:6.0f} ms {refits:.0f}", flush=True)
    return numbers


def summary(found):
    """Of all tables: what is in the middle, and the least."""
    worth, claimed, cover, seconds, _ = zip(*found)
    cover, ratio = np.array(cover), np.median(np.divide(claimed, worth))
    middle = f"worth {np.median(worth):,.0f}, least {min(worth):,.0f}"
    print(f"{middle}; claimed over measured {ratio:.2f}")
    for name, share in zip(("Π", "mean", "variance"), cover.T):
        least = f"least {share.min():.3f}, below .90 {np.sum(share < 0.9)}"
        print(f"    {name} held {share.mean():.3f}, {least} of {len(share)}")
    print(f"    {1e3 * np.median(seconds):.0f} ms in the middle")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--kept", metavar="FOLDER")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found = []
    if asked.small:
        for k in map(int, asked.names or range(len(SMALL))):
            name, fit = small_fit(k)
            truth = small_truth(k, fit, asked.kept)
            found.append(shown(name, fit, truth, asked.seeds or 40))
        return summary(found)
    there = [n for n in refitted.NAMES if n.endswith("_half")]
    there = [n for n in there if (HERE.parent / "truth/beyond" / f"{n}.npz").exists()]
    for name in asked.names or there:
        design, _, law = name.rpartition("_")
        (A, y, _), (Pi, mean, var, n) = refitted.problem(design), refitted.load(name)
        fit = rvamp(A, y, **refitted.options(design, law))
        label = name + " *" * (design in CHOSEN_ON)
        truth = Pi, mean, var, 3 * var**2, n  # the fourth moment as if normal
        found.append(shown(label, fit, truth, asked.seeds or 3))
    summary(found)


if __name__ == "__main__":
    main()
