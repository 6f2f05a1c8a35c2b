"""What each error control finds, and what it lets through.

    python tests/bench/control.py                      # everything that is kept
    python tests/bench/control.py effects "3 factors"  # one design with ten effects
    python tests/bench/control.py effects riboflavin --level 2  # 71 rows, if at hand
    python tests/bench/control.py effects "3 factors, wide" --level 4 --sets 5
    python tests/bench/control.py null independent     # one null simulation
    python tests/bench/control.py powers               # is the condition of ipss true?

`effects`: ten columns matter; three signal levels, twenty data sets each. For
rVAMP's path, for a hundred refits of complementary halves at the same penalties (by
celer), and for ipss (L1): how many true and how many other columns are selected at
several nominal numbers of false selections, and how many true ones stand before the
first, second, ... false one. `null`: nothing is related to anything; with independent
rows, with thirty patients of eight rows, and with a rare class, the last two by refits
of whole patients and of halves of each class. Summaries go to `tests/truth/control`; a
data set depends on (the recipe, its number) only. celer and ipss are development
extras.
"""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "helpers")]
import designs  # noqa: E402

from rvamp_nb.algorithm.prior import Laplace  # noqa: E402
from rvamp_nb.algorithm.resampling import Grouped, Poisson, Stratified, Subsample  # noqa: E402
from rvamp_nb.algorithm.solver import rvamp_path  # noqa: E402
from rvamp_nb.datasets import load_riboflavin, standardize  # noqa: E402
from rvamp_nb.inference.bootstrap import naive_bootstrap  # noqa: E402
from rvamp_nb.select.error_control import common_factors, resolve_error_control  # noqa: E402

KEPT = HERE.parent / "truth/control"
LEVELS = (1.0, 2.0, 4.0)  # variance of the signal over that of the noise
NOMINAL = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
TARGETS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.8)  # for decoys
FALSE = 10  # how many false ones the ranking is followed to
EFFECTS, N_SETS, N_REFITS, N_LAMBDAS = 10, 20, 100, 25
DESIGNS = {  # rows, columns, common factors, share of the variance that is common
    "independent": (100, 500, 0, 0.0),
    "3 factors": (100, 500, 3, 0.5),
    "3 factors, wide": (100, 6000, 3, 0.5),
}
CONTROLS = ("mb", "unimodal", "integrated", "integrated, B = 1")


def table(name, level, d):
    """A, y and the columns that matter."""
    seed = [16, d, int(10 * level), len(name)]
    rng = np.random.default_rng(seed)
    if name == "riboflavin":
        A = load_riboflavin().A  # a thousand of its genes
        A = A[:, rng.choice(A.shape[1], 1000, replace=False)]
    else:
        M, N, factors, share = DESIGNS[name]
        X = (
            designs.genes(rng, M, N, factors, share)
            if factors
            else rng.normal(size=(M, N))
        )
        A, _ = standardize(X)
    true = rng.choice(A.shape[1], EFFECTS, replace=False)
    signal = A[:, true] @ rng.choice([-1.0, 1.0], EFFECTS)
    y = signal + rng.normal(size=len(A)) * signal.std() / level**0.5
    return A, y - y.mean(), true


# --------------------------------------------------- paths


def by_rvamp(A, y, n_lambdas=N_LAMBDAS, share=0.45, **given):
    """Penalties and probabilities down to where nine tenths of a half are selected."""
    path = rvamp_path(
        A,
        y,
        n_lambdas=n_lambdas,
        lambda_min_ratio=0.03,
        prior=Laplace(1.0),
        resampling=Subsample(0.5),
        tol=1e-4,
        verbose=False,
        until=lambda fit: fit.Pi.sum() > share * len(A),
        **given,
    )
    ok = path.converged
    return path.lambdas[ok], np.clip(path.Pi[:, ok], 0, 1)


def by_refits(A, y, lams, seed):
    """The same penalties in a hundred halves of the rows, fifty complementary pairs."""
    from celer import celer_path

    M, rng = len(A), np.random.default_rng(seed)
    Pi = np.zeros((A.shape[1], len(lams)))
    for _ in range(N_REFITS // 2):
        order = rng.permutation(M)
        for rows in (order[: M // 2], order[M // 2 :]):
            X, z = np.asfortranarray(A[rows]), y[rows]
            coefs = celer_path(X, z, "lasso", alphas=lams / len(rows), tol=1e-4)[1]
            Pi += coefs != 0
    return Pi / N_REFITS


# --------------------------------------------------- controls


class Integrated(NamedTuple):
    """What `integrated_control` finds, for p features."""

    selected: np.ndarray  # (p,) bool
    false: np.ndarray  # (p,) expected false selections if all as good as it are kept
    scores: np.ndarray  # (p,) integral of (2 Pi - 1)_+^m
    level: float  # integral of the bound
    used: int  # penalties over which the integrals go


WAYS = {1: (1,), 2: (1, 1), 3: (1, 3, 1)}  # of so many pairs into 1, 2, 3 kinds


def simultaneous_bound(q, p, power=2, n_pairs=50):
    """What noise features add up to at one penalty, by the condition of ipss: chapter
    5.1.
    """
    total = 0.0
    different = 1.0  # share of tuples: (1 - 1/B) (1 - 2/B) ...
    for k, ways in enumerate(WAYS[power], start=1):
        total += ways * different * float(n_pairs) ** (k - power) * (q / p) ** (2 * k)
        different *= max(1 - k / n_pairs, 0)
    return p * total


def integrated_control(
    lams, Pi, pfer=1.0, *, power=2, n_pairs=50, delta=1.0, cutoff=0.05, p=None
):
    """Features selected by the integral of their stability path, penalties counted by
    lam^(-delta) d lam; p where features were left out before.
    """
    p = len(Pi) if p is None else p
    lams = np.asarray(lams, dtype=float)
    scale = np.log(lams) if delta == 1 else lams ** (1 - delta) / (1 - delta)
    weights, q = -np.diff(scale), Pi.sum(0)[:-1]
    bound = simultaneous_bound(q, p, power, n_pairs)
    mean = np.cumsum(weights * bound) / np.cumsum(weights)
    used = max(int(np.argmin(np.append(mean <= cutoff, False))), 1)
    weights = weights[:used] / weights[:used].sum()
    scores = np.clip(2 * Pi[:, :used] - 1, 0, 1) ** power @ weights
    level = float(bound[:used] @ weights)
    false = np.full(len(Pi), float(p))
    np.divide(level, scores, out=false, where=scores > level / p)
    selected = (scores > 0) & (false <= pfer)
    return Integrated(selected, false, scores, level, used)


def at_size(lams, Pi, q):
    """The probabilities where they sum to q, or at the end of the path."""
    size = np.maximum.accumulate(Pi.sum(0))
    return np.array([np.interp(q, size, row) for row in Pi])


def order_and_selected(control, lams, Pi, pfer, most):
    """A score by which columns rank, and which of them are selected."""
    if control in ("mb", "unimodal"):
        threshold, _, q, _ = resolve_error_control(
            len(Pi), most, pfer=pfer, bound=control
        )
        at = at_size(lams, Pi, q)
        return at, at >= threshold
    pairs = 1 if control.endswith("B = 1") else 50
    found = integrated_control(lams, Pi, pfer, n_pairs=pairs)
    return found.scores, found.selected


def screened(A, y, keep=200):
    """The columns with the largest mean coefficient in bootstrap samples, by rVAMP."""
    path = rvamp_path(
        A,
        y,
        n_lambdas=10,
        lambda_min_ratio=0.05,
        prior=Laplace(1.0),
        resampling=Poisson(1.0),
        tol=1e-4,
        verbose=False,
        until=lambda fit: fit.Pi.sum() > 0.4 * len(A),
    )
    last = np.flatnonzero(path.converged)[-1]
    return np.argsort(np.abs(path.mean[:, last]))[::-1][:keep]


def by_screening(A, y):
    """Scores of all columns, and at which nominal number each is selected."""
    columns, N = screened(A, y), A.shape[1]
    lams, Pi = by_rvamp(A[:, columns], y)
    found = integrated_control(lams, Pi, p=N)
    scores, false = np.zeros(N), np.full(N, np.inf)
    scores[columns] = found.scores
    false[columns[found.scores > 0]] = found.false[found.scores > 0]
    return scores, false


def before_false(scores, true):
    """True columns that stand before the first, second, ... false one."""
    scores = scores + 1e-9 * np.random.default_rng(0).random(len(scores))
    false = np.sort(np.delete(scores, true))[::-1][:FALSE]
    return (scores[true][:, None] > false).sum(0)


def counted(selected, true):
    hits = selected[true].sum()
    return hits, selected.sum() - hits


def by_ipss(A, y, true):
    from ipss import ipss

    start = time.perf_counter()
    np.random.seed(0)
    scores = ipss(A, y, selector="l1")["efp_scores"]
    seconds = time.perf_counter() - start
    false = np.array([scores[i] for i in range(A.shape[1])], dtype=float)
    rows = [counted(false <= pfer, true) for pfer in NOMINAL]
    return rows, before_false(-false, true), seconds


def decoy_threshold(scores, of_decoys, fdr):
    """Which features are kept (N,), and the smallest lead over their own decoys that
    will do (`fdp-plus`).
    """
    lead = scores - of_decoys
    tried, order = np.unique(np.abs(lead[lead != 0])), np.sort(lead)
    ahead = len(lead) - np.searchsorted(order, tried)
    behind = np.searchsorted(order, -tried, side="right")
    met = (ahead > 0) & (1 + behind <= fdr * ahead)
    threshold = tried[met].min(initial=np.inf)
    return lead >= threshold, threshold


def gaussian_decoys(X, rng):
    """Columns with the second moments of `knockoff-moments`."""
    centre, spread = X.mean(0), X.std(0)
    A = (X - centre) / np.where(spread > 0, spread, 1)
    L, own = common_factors(A)
    s = np.minimum(1, 2 * own)
    share = s / own
    K = np.linalg.inv(np.eye(L.shape[1]) + (L.T / own) @ L)
    factors = A / own @ L @ K
    noise = rng.normal(size=A.shape) * np.sqrt(np.maximum(2 * s - s * share, 0))
    common = rng.normal(size=(len(A), L.shape[1])) @ np.linalg.cholesky(K).T
    return centre + spread * (
        A * (1 - share) + (factors + common) @ (L.T * share) + noise
    )


def permuted_decoys(X, labels, rng):
    """Groups of rows change places with groups of the same size, for each column."""
    made = np.empty_like(X)
    _, group, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    for size in np.unique(sizes):
        alike = np.flatnonzero(sizes == size)
        rows = np.array([np.flatnonzero(group == g) for g in alike])
        blocks = X[rows]  # (groups, size, N)
        places = np.tile(np.arange(len(alike))[:, None], X.shape[1])
        order = rng.permuted(places, axis=0)
        made[rows] = np.take_along_axis(blocks, order[:, None, :], axis=0)
    return made


def by_decoys(A, y, true, seed):
    """Gaussian decoys at several targets, and the ranking."""
    start = time.perf_counter()
    rng = np.random.default_rng([seed, 1])
    both, _ = standardize(np.hstack([A, gaussian_decoys(A, rng)]))
    lams, Pi = by_rvamp(both, y, n_lambdas=10, share=1 / 6)
    pairs = Pi[:, -1].reshape(2, -1)  # of columns, of their decoys
    rows = [counted(decoy_threshold(*pairs, fdr)[0], true) for fdr in TARGETS]
    return rows, before_false(pairs[0] - pairs[1], true), time.perf_counter() - start


# --------------------------------------------------- ten effects


def one_set(name, level, d):
    """{contestant: (true and other selected at nominal 1, 3; before false; seconds)}"""
    A, y, true = table(name, level, d)
    start = time.perf_counter()
    lams, Pi = by_rvamp(A, y)
    ours = time.perf_counter() - start
    start = time.perf_counter()
    refitted = by_refits(A, y, lams, d)
    theirs = time.perf_counter() - start
    found = {}
    for whose, P, seconds in (("rVAMP", Pi, ours), ("refits", refitted, theirs)):
        for control in CONTROLS:
            rows = []
            for pfer in NOMINAL:
                given = control, lams, P, pfer, len(A) / 6
                scores, selected = order_and_selected(*given)
                rows.append(counted(selected, true))
            found[f"{whose}, {control}"] = rows, before_false(scores, true), seconds
    start = time.perf_counter()
    scores, false = by_screening(A, y)
    rows = [counted(false <= pfer, true) for pfer in NOMINAL]
    seconds = time.perf_counter() - start
    found["rVAMP, screened"] = rows, before_false(scores, true), seconds
    found["ipss"] = by_ipss(A, y, true)
    found["rVAMP, decoys"] = by_decoys(A, y, true, d)
    return found


def file_of(what, name):
    return KEPT / f"{what}_{name.replace(' ', '_').replace(',', '')}.npz"


def effects(name, level, n=N_SETS):
    """Arrays (sets, contestants, ...), kept as one file."""
    sets = [one_set(name, level, d) for d in range(n)]
    who = list(sets[0])

    def part(i):
        return np.array([[s[w][i] for w in who] for s in sets])

    np.savez_compressed(
        file_of("effects", f"{name} {level:g}"),
        who=who,
        selected=part(0).astype(np.int16),
        before=part(1).astype(np.int16),
        seconds=part(2).astype(np.float32),
        nominal=NOMINAL,
        recipe=json.dumps(dict(name=name, level=level, n=n)),
    )


def load(what, name):
    with np.load(file_of(what, name)) as kept:
        return {key: kept[key] for key in kept.files}


def at_false(selected, allowed):
    """True selections where the mean number of false ones is as allowed: between the
    nominal numbers, for (sets, nominal, 2) counts.
    """
    true, false = selected.mean(0).T
    false = np.maximum.accumulate(np.r_[0, false]) + 1e-9 * np.arange(len(false) + 1)
    return np.interp(allowed, false, np.r_[0, true], right=np.nan)


def show(name, level):
    kept = load("effects", f"{name} {level:g}")
    print(f"{name}, signal {level:g}: true/false at {NOMINAL}; true at .5, 1, 2 false")
    for w, who in enumerate(kept["who"]):
        selected, before = kept["selected"][:, w], kept["before"][:, w]
        cells = " ".join(f"{a:4.1f}/{b:4.1f}" for a, b in selected.mean(0))
        same = " ".join(f"{at_false(selected, x):4.1f}" for x in (0.5, 1, 2))
        ranked = " ".join(f"{b:4.1f}" for b in before.mean(0)[[0, 1, 2, 4]])
        seconds = kept["seconds"][:, w].mean()
        print(f"  {who:24} {cells} | {same} | {ranked} | {seconds:.2f} s")
    sys.stdout.flush()


# --------------------------------------------------- nothing matters

NULLS = {  # rows, columns, kind, sets
    "independent": (100, 300, "iid", 100),
    "equicorrelated": (100, 300, "equal", 40),
    "3 factors": (100, 300, "factors", 40),
    "ipss": (100, 500, "iid", 30),
    "patients": (240, 150, "patients", 15),
    "rare class": (100, 150, "classes", 25),
}
POWERS_AT, N_POWERS = 7.0, 400  # q at which sums of (2 Pi - 1)_+^m are taken; sets


def null_table(name, d):
    """A, y, and the labels of the rows."""
    M, N, kind, _ = NULLS[name]
    rng = np.random.default_rng([17, d, M, N, len(name)])
    if kind == "patients":
        between = np.repeat(rng.normal(size=(30, N + 1)), 8, axis=0)
        rows = 0.7**0.5 * between + 0.3**0.5 * rng.normal(size=(M, N + 1))
        return *standardize(rows[:, 1:], rows[:, 0]), np.repeat(np.arange(30), 8)
    X = rng.normal(size=(M, N))
    if kind == "equal":
        X = (X + rng.normal(size=(M, 1))) / 2**0.5
    if kind == "factors":
        X = designs.genes(rng, M, N, 3, 0.5)
    labels = rng.permutation(M) < 15
    y = labels.astype(float) if kind == "classes" else rng.normal(size=M)
    return *standardize(X, y), labels


def by_law(A, y, law, lams, seed):
    """Refits under a law of counts, the same draws at each penalty."""
    options = dict(n_resamples=N_REFITS, verbose=False, random_state=seed)
    refits = [naive_bootstrap(A, y, lam, resampling=law, **options).Pi for lam in lams]
    return np.array(refits).T


def false_by_path(lams, Pi, M):
    """{control: false selections at nominal 1 and 3}"""
    return {
        control: [
            order_and_selected(control, lams, Pi, pfer, M / 6)[1].sum()
            for pfer in (1.0, 3.0)
        ]
        for control in CONTROLS
    }


def false_by_decoys(A, y, rng, paths):
    """Selected at targets of .3 and .5, {kind: (2,)}"""
    found = {}
    for kind, groups in paths.items():
        if kind == "gaussian":
            made = gaussian_decoys(A, rng)
        else:
            labels = np.arange(len(A)) if groups is None else groups
            made = permuted_decoys(A, labels, rng)
        both, _ = standardize(np.hstack([A, made]))
        lams, Pi = by_rvamp(both, y, n_lambdas=8, share=1 / 8)
        pairs = Pi[:, -1].reshape(2, -1)
        found[f"decoys, {kind}"] = [
            decoy_threshold(*pairs, fdr)[0].sum() for fdr in (0.3, 0.5)
        ]
    return found


def false_selections(name, d):
    """{contestant: (2,) false selections}"""
    A, y, labels = null_table(name, d)
    kind, M = NULLS[name][2], len(A)
    lams, Pi = by_rvamp(A, y)
    size = np.maximum.accumulate(Pi.sum(0))
    found = false_by_path(lams, Pi, M)
    rng = np.random.default_rng([18, d])
    if name == "ipss":
        found["screened"] = [(by_screening(A, y)[1] <= pfer).sum() for pfer in (1, 3)]
        of_ipss = by_ipss(A, y, np.arange(0))[0]
        found["ipss"] = [of_ipss[NOMINAL.index(pfer)][1] for pfer in (1.0, 3.0)]
        return found
    kinds = {"permuted": None, "gaussian": None}
    if kind in ("patients", "classes"):
        law = (Grouped if kind == "patients" else Stratified)(Subsample(0.5), labels)
        some = lams[(size > 0.05) & (size < M / 4)][::2]
        tied = by_law(A, y, law, np.r_[1.3 * some[0], some], d)
        tied = false_by_path(np.r_[1.3 * some[0], some], tied, M)
        found |= {f"{control}, tied": counts for control, counts in tied.items()}
    if kind == "patients":
        kinds["permuted whole"] = labels
    return found | false_by_decoys(A, y, rng, kinds)


def null(name, n=None):
    n = n or NULLS[name][3]
    sets = [false_selections(name, d) for d in range(n)]
    who = list(sets[0])
    np.savez_compressed(
        file_of("null", name),
        who=who,
        false=np.array([[s[w] for w in who] for s in sets], dtype=np.int16),
        recipe=json.dumps(dict(name=name, n=n)),
    )


def show_null(name):
    kept = load("null", name)
    n = len(kept["false"])
    print(f"{name}: false selections at a nominal 1 and 3 (decoys: at .3 and .5)")
    for w, who in enumerate(kept["who"]):
        false = kept["false"][:, w]
        error = false.std(0) / n**0.5
        cells = "   ".join(f"{m:5.2f} ± {e:.2f}" for m, e in zip(false.mean(0), error))
        print(f"  {who:28} {cells}   any: {(false > 0).mean(0).round(2)}")
    sys.stdout.flush()


def powers(d):
    """Sums over noise features of (2 Pi - 1)_+^m at one q, for m = 1, 2, 3."""
    rng = np.random.default_rng([7, d])
    A, y = standardize(rng.normal(size=(60, 100)), rng.normal(size=60))
    lams, Pi = by_rvamp(A, y, n_lambdas=12, share=0.2)
    doubled = np.clip(2 * at_size(lams, Pi, POWERS_AT) - 1, 0, 1)
    return [(doubled**m).sum() for m in (1, 2, 3)]


def all_powers(n):
    sums = np.array([powers(d) for d in range(n)], dtype=np.float32)
    np.savez_compressed(file_of("null", "powers"), sums=sums, q=POWERS_AT)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=["effects", "null", "powers"])
    parser.add_argument("name", nargs="?")
    parser.add_argument("--level", type=float)
    parser.add_argument("--sets", type=int)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    KEPT.mkdir(exist_ok=True)
    if args.what in ("effects", None):
        for name in [args.name] if args.name else DESIGNS:
            for level in [args.level] if args.level else LEVELS:
                effects(name, level, args.sets or N_SETS)
                show(name, level)
    if args.what in ("null", None):
        for name in [args.name] if args.name else NULLS:
            null(name, args.sets)
            show_null(name)
    if args.what in ("powers", None):
        all_powers(args.sets or N_POWERS)


if __name__ == "__main__":
    main()
