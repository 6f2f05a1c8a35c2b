"""Is the bound for normal fields kept where nothing matters, and what does it find?

    python tests/bench/null_fields.py null               # all designs that are kept
    python tests/bench/null_fields.py null "Toeplitz .5" --sets 300
    python tests/bench/null_fields.py refits --sets 40   # nulls, with refits
    python tests/bench/null_fields.py effects --sets 100 # with effects, by rVAMP
    python tests/bench/null_fields.py defaults --sets 40 # and with refits
    python tests/bench/null_fields.py peers --sets 20    # the first of them, by others
    python tests/bench/null_fields.py lists --sets 20    # shorter and longer lists
    python tests/bench/null_fields.py print              # the tables that are kept

`null`: nothing is related to the response, so every selected feature is false. For each
design and each pair of threshold and pfer: the number of false features by rVAMP alone
(`n_resamples=0`), the bound that was reported, and two of the fit's diagnostics (the
effective number of rows, the largest share that one row has in one feature's noise). A
data set depends on (its design, its number) only, and sets are added to those that are
kept: a run that is interrupted goes on where it stopped. Genes need the file of
`load_riboflavin`.

`refits`: nulls of five designs again, with the estimator's own number of refits, at a
threshold of .75 and a pfer of one: the number of false features, and the bound.

`effects`: ten columns (thirty in the last design) have equal effects of random sign.
For each of the three bounds at a pfer of one, with the estimator's threshold and q (and
for the one of normal fields at .75 with a q of up to a third of the rows): the true
features, the false ones that correlate by more than .5 with a column that has an
effect, and the other false ones. `defaults` counts it for two of the bounds, by the
estimator with its own number of refits, and `peers` for LassoCV (scikit-learn), ipss
and knockpy, which have to be installed. `lists` counts it for the bound for normal
fields, at .75 and a q of up to a third of the rows, for growing pfers, and for growing
numbers of ipss: to compare what they find at the same number of false features.

A fit whose largest share of one row is above `RED_OWN` of chapter 4.5 is not given the
bound for normal fields by the estimator; the table shows what is below and above. The
limit was set for chapter 4.5, and looked at here on the designs before `CLAIM`; those
in `CLAIM` were made after that. Fewer than `ENOUGH` data sets are not compared.
"""

import argparse
import contextlib
import io
import os
import sys
import warnings
from dataclasses import replace
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from tqdm.std import tqdm  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "helpers")]
import designs  # noqa: E402

from rvamp_nb import StabilitySelection, datasets  # noqa: E402
from rvamp_nb.inference.diagnostics import RED_OWN  # noqa: E402
from rvamp_nb.inference.row_shares import largest_single_share, row_influence  # noqa: E402
from rvamp_nb.select.error_control import gaussian_bound, resolve_error_control  # noqa: E402
from rvamp_nb.select.penalty import tracking_search  # noqa: E402

FILES = dict(
    null="null_fields",
    refits="null_refits",
    effects="effect_fields",
    defaults="effect_defaults",
    peers="effect_peers",
    lists="effect_lists",
)
KEPT = {
    what: HERE.parent / "truth/control" / f"{file}.npz" for what, file in FILES.items()
}
PROMISES = [(0.6, 1.0), (0.75, 0.1), (0.75, 1.0), (0.75, 5.0), (0.9, 1.0)]
BATCH = dict(null=50, refits=5, effects=10, defaults=5, peers=2, lists=2)
# data sets, before they are kept
ENOUGH = 20  # data sets of one side of the limit
NEIGHBOUR = 0.5  # correlation with an effect, from which on a column is a neighbour
EQUAL = dict(method="equicorrelated")  # knockoffs that need no search
ENOUGH_DIGITS = 1e-4  # of messages


def normal(shape):
    return lambda rng: rng.normal(size=shape)


def genotypes(rng, M=150, N=300):
    """Counts 0, 1, 2 of alleles, neighbours alike."""
    both = [designs.toeplitz(rng, M, N, 0.8) for _ in range(2)]
    common = rng.uniform(-0.8, 0.8, size=N)
    return sum((X > common) * 1.0 for X in both)


def genes(rng, M=71, N=1000):
    A = datasets.load_riboflavin().A
    return A[:, rng.choice(A.shape[1], N, replace=False)]


TABLES = {
    "independent 150x300": normal((150, 300)),
    "independent 300x100": normal((300, 100)),
    "independent 20x200": normal((20, 200)),
    "independent 2000x100": normal((2000, 100)),
    "Toeplitz .5": lambda rng: designs.toeplitz(rng, 150, 300, 0.5),
    "Toeplitz .9": lambda rng: designs.toeplitz(rng, 150, 300, 0.9),
    "blocks .7": lambda rng: designs.blocks(rng, 160, 240, 0.7, 8),
    "3 factors": lambda rng: designs.genes(rng, 150, 300, 3, 0.5),
    "genotypes": genotypes,
    "counts": lambda rng: rng.poisson(0.7, size=(200, 300)) * 1.0,
    "indicators 6 %": lambda rng: (rng.random((150, 300)) < 0.06) * 1.0,
    "t3 columns": lambda rng: rng.standard_t(3, size=(100, 300)),
    "lognormal columns": lambda rng: np.exp(rng.normal(size=(100, 300))),
    "genes": genes,
}


def of_noise(rng, M):
    return dict(y=rng.normal(size=M))


def heavy(draw):
    return lambda rng, M: dict(y=draw(rng, M))


def survival(rng, M):
    times, ends = rng.exponential(size=(2, M))
    return dict(y=np.c_[times <= 2 * ends, np.minimum(times, 2 * ends)])


def in_groups(rng, M):
    """Five rows for each patient, who has a level of his own."""
    patients = np.repeat(np.arange(M // 5), 5)
    level = rng.normal(size=M // 5)[patients]
    return dict(y=level + 0.7 * rng.normal(size=M), groups=patients)


ROWS = {  # the response and what else `fit` takes; what the estimator is given
    "": (of_noise, {}),
    "t3 noise": (heavy(lambda rng, M: rng.standard_t(3, size=M)), {}),
    "Cauchy noise": (heavy(lambda rng, M: rng.standard_cauchy(size=M)), {}),
    "logistic": (heavy(lambda rng, M: (rng.random(M) < 0.5) * 1), {}),
    "rare class": (heavy(lambda rng, M: (rng.permutation(M) < M // 8) * 1), {}),
    "Poisson": (heavy(lambda rng, M: rng.poisson(2.0, size=M)), dict(loss="poisson")),
    "Huber": (heavy(lambda rng, M: rng.standard_t(2, size=M)), dict(loss="huber")),
    "survival": (survival, dict(loss="survival")),
    "strata": (
        lambda rng, M: survival(rng, M) | dict(strata=rng.integers(3, size=M)),
        dict(loss="survival"),
    ),
    "patients": (in_groups, {}),
    "weights": (
        lambda rng, M: of_noise(rng, M) | dict(sample_weight=rng.uniform(0.2, 3, M)),
        {},
    ),
    "groups of columns": (of_noise, dict(column_groups=3)),
}
DESIGNS = [(name, "") for name in TABLES]
DESIGNS += [("independent 150x300", kind) for kind in ROWS if kind]
DESIGNS += [
    ("3 factors", "logistic"),
    ("t3 columns", "t3 noise"),
    ("lognormal columns", "Cauchy noise"),
    ("Toeplitz .5", "survival"),
    ("t3 columns", "Cauchy noise"),
    ("lognormal columns", "t3 noise"),
]
CLAIM = [
    ("indicators 6 %", "Cauchy noise"),
    ("lognormal columns", "logistic"),
    ("t3 columns", "Huber"),
    ("genes", "Cauchy noise"),
]
DESIGNS += CLAIM


def called(table, kind):
    return f"{table}, {kind}" if kind else table


def one_set(table, kind, d):
    """(promises, 4): false features, the bound, effective rows, one row's share."""
    rng = np.random.default_rng([79, d, len(table), len(kind)])
    X = TABLES[table](rng)
    X = X[:, X.std(0) > 0]
    draw, options = ROWS[kind]
    rows = draw(rng, len(X))
    columns = options.get("column_groups", 1)  # of a feature
    p = X.shape[1] // columns
    if columns > 1:
        options = dict(column_groups=[f"g{k // columns}" for k in range(X.shape[1])])
    units = len(np.unique(rows["groups"])) if "groups" in rows else len(X)
    asked = [
        resolve_error_control(p, units / 3, threshold, pfer, bound="gaussian")[2]
        for threshold, pfer in PROMISES
    ]
    fits = fits_at(sorted(set(asked)), X, rows, options)
    return [summarize(fits[q], threshold) for q, (threshold, _) in zip(asked, PROMISES)]


def fits_at(sizes, X, rows, options):
    """{q: (fit, candidates)} of increasing q: a fit of the estimator at the first, from
    where the next ones are searched; by the estimator where that fails, or the baseline
    of survival times moves.
    """
    found, question, near = {}, None, None
    for q in sizes:
        answer = None
        if near is not None:
            answer = tracking_search(question, q, *near)
        if answer is not None:
            lam, fit = answer[1].lam, answer[1].fit
        else:
            given = dict(q=q, threshold=0.75, bound="gaussian", n_resamples=0)
            s = StabilitySelection(**given, verbose=0, **options).fit(X, **rows)
            lam, fit = s.lambda_, s.selection_.fit
            question = replace(s.selection_.question, tol=ENOUGH_DIGITS)
        found[q] = fit, question.candidates
        moves = question.target.baseline is not None or not fit.converged
        near = None if moves else (lam, fit.messages)
    return found


def summarize(found, threshold):
    """False features, the bound, effective rows, one row's share, of a fit."""
    fit, candidates = found
    Pi, p = fit.Pi[candidates], int(candidates.sum())
    share = row_influence(fit)
    bound = gaussian_bound(min(Pi.sum(), p), threshold, p)
    kept = (Pi >= threshold).sum()
    return kept, bound, 1 / (share @ share), largest_single_share(fit)


REFITTED = ["independent 150x300", "independent 300x100", "Toeplitz .5", "3 factors"]
REFITTED += ["genotypes"]


def refitted(name, d):
    """Return false features and the bound, by the estimator with its refits."""
    rng = np.random.default_rng([79, 5000 + d, len(name), 0])
    X = TABLES[name](rng)
    X = X[:, X.std(0) > 0]
    asked = dict(threshold=0.75, pfer=1.0, bound="gaussian", verbose=0)
    s = StabilitySelection(**asked).fit(X, rng.normal(size=len(X)))
    return s.get_support().sum(), s.pfer_bound_


EFFECTS = {  # how a table is made, effects, size of one in units of the noise
    "independent 150x300": (normal((150, 300)), 10, 5.0),
    "Toeplitz .5": (TABLES["Toeplitz .5"], 10, 6.0),
    "Toeplitz .9": (TABLES["Toeplitz .9"], 10, 9.0),
    "genotypes": (genotypes, 10, 6.0),
    "3 factors": (TABLES["3 factors"], 10, 6.0),
    "independent 100x1000": (normal((100, 1000)), 10, 6.0),
    "blocks .7": (TABLES["blocks .7"], 10, 7.0),
    "thirty effects 300x400": (normal((300, 400)), 30, 5.0),
}
BY_BOUND = ["mb", "unimodal", "gaussian", "gaussian, q to M/3"]
BY_OTHERS = ["LassoCV", "ipss 1", "ipss .5", "knockpy .2"]


def with_effects(name, d):
    """X with columns of unit norm, y, and which columns have an effect."""
    make, n, size = EFFECTS[name]
    rng = np.random.default_rng([97, d, len(name)])
    X = datasets.standardize(make(rng))[0]
    true = np.zeros(X.shape[1], bool)
    true[rng.choice(X.shape[1], n, replace=False)] = True
    signal = X[:, true] @ rng.choice([-size, size], n)
    return X, signal + rng.normal(size=len(X)), true


def counted(X, true, kept):
    """True features, false neighbours of an effect, other false ones."""
    near = (np.abs(X.T @ X[:, true]) > NEIGHBOUR).any(1) & ~true
    return [np.sum(kept & which) for which in (true, near, ~true & ~near)]


def by_bounds(name, d):
    """(rules, 3): what each of the bounds finds at a promise of one."""
    X, y, true = with_effects(name, d)
    (M, p), pairs = X.shape, []
    for bound in BY_BOUND[:3]:
        pairs.append(resolve_error_control(p, M / 6, pfer=1, bound=bound)[::2][:2])
    wide = resolve_error_control(p, M / 3, 0.75, 1.0, bound="gaussian")
    pairs.append(wide[::2][:2])
    fits = fits_at(sorted({q for _, q in pairs}), X, dict(y=y), {})
    return [counted(X, true, fits[q][0].Pi >= t) for t, q in pairs]


BY_DEFAULT = ["mb", "gaussian"]


def by_default(name, d):
    """Count what the estimator finds with its refits, (bounds, 3)."""
    X, y, true = with_effects(name, d)
    found = []
    for bound in BY_DEFAULT:
        s = StabilitySelection(pfer=1.0, bound=bound, verbose=0).fit(X, y)
        found.append(counted(X, true, s.get_support()))
    return found


def by_others(name, d):
    """(methods, 3): what other packages find."""
    from ipss import ipss
    from knockpy import KnockoffFilter
    from sklearn.linear_model import LassoCV

    X, y, true = with_effects(name, d)
    X, y = X * len(X) ** 0.5, y - y.mean()
    np.random.seed(d)
    found = [LassoCV(cv=10).fit(X, y).coef_ != 0]
    with contextlib.redirect_stdout(io.StringIO()):
        scores = ipss(X, y, selector="l1")["efp_scores"]
        how = dict(ksampler="gaussian", fstat="lasso", knockoff_kwargs=EQUAL)
        lists = KnockoffFilter(**how).forward(X, y, fdr=0.2, shrinkage="ledoitwolf")
    false = np.array([scores[k] for k in range(X.shape[1])], float)
    found += [false <= 1, false <= 0.5, np.asarray(lists) > 0]
    return [counted(X / len(X) ** 0.5, true, kept) for kept in found]


PFERS, NUMBERS = (0.5, 1, 2, 3, 5), (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5)


def by_lists(name, d):
    """Count what the bound for normal fields and ipss find, (lists, 3)."""
    from ipss import ipss

    X, y, true = with_effects(name, d)
    M, p = X.shape
    asked = [
        resolve_error_control(p, M / 3, 0.75, pfer, bound="gaussian")[2]
        for pfer in PFERS
    ]
    fits = fits_at(sorted({*asked}), X, dict(y=y), {})
    lists = [fits[q][0].Pi >= 0.75 for q in asked]
    np.random.seed(d)
    with contextlib.redirect_stdout(io.StringIO()):
        scores = ipss(X * M**0.5, y - y.mean(), selector="l1")["efp_scores"]
    false = np.array([scores[k] for k in range(p)], float)
    lists += [false <= number for number in NUMBERS]
    return [counted(X, true, kept) for kept in lists]


def load(what):
    if not KEPT[what].exists():
        return {}
    with np.load(KEPT[what]) as file:
        return dict(file)


def run(what, names, sets):
    """Add data sets to those that are kept."""
    batch = BATCH[what]
    for name in names:
        done = len(load(what).get(name, ()))
        for first in tqdm(range(done, sets, batch), name):
            last = min(first + batch, sets)
            new = np.array([MADE[what](name, d) for d in range(first, last)])
            kept = load(what)
            before = [kept[name]] if name in kept else []
            kept[name] = np.concatenate([*before, new.astype(np.float32)])
            np.savez_compressed(KEPT[what], **kept)


def at_null(name, d):
    return one_set(*NULLS[name], d)


NULLS = {called(*pair): pair for pair in DESIGNS}
MADE = {"null": at_null, "refits": refitted, "effects": by_bounds, "peers": by_others}
MADE["lists"] = by_lists
MADE["defaults"] = by_default
ASKED = {"null": NULLS, "refits": REFITTED, "effects": EFFECTS, "peers": EFFECTS}
ASKED["lists"] = EFFECTS
ASKED["defaults"] = [*EFFECTS][:5]


def show():
    kept = load("null")
    heads = [f"t {t:g} pfer {pfer:g}, taken; not" for t, pfer in PROMISES]
    print(f"{'false ± s.e. (bound)':34} sets", *(f"{head:47}" for head in heads))
    for name in NULLS:
        if name not in kept:
            continue
        found = kept[name].astype(float)
        cells = []
        for k in range(len(PROMISES)):
            false, bound, _, share = found[:, k].T
            taken = share <= RED_OWN
            for which, mark in ((taken, "!"), (~taken, "?")):
                cells.append(compared(false[which], bound[which], mark))
        print(f"{name:34} {len(found):4}", *cells)
    for name, found in load("refits").items():
        false, bound = found.astype(float).T
        print(f"with refits: {name:21} {len(found):4}", compared(false, bound, "!"))
    lists = [*(f"pfer {x}" for x in PFERS), *(f"ipss {x}" for x in NUMBERS)]
    rules_of = dict(effects=BY_BOUND, defaults=BY_DEFAULT, peers=BY_OTHERS, lists=lists)
    for what, rules in rules_of.items():
        kept = load(what)
        print(f"\n{'true/neighbours/others ± s.e.':24} sets", *rules, sep="   ")
        for name in EFFECTS:
            if name in kept:
                print(f"{name:24} {len(kept[name]):4}", *in_words(kept[name]))


def compared(false, bound, mark):
    """Mean, s.e. and bound as a text, marked where two s.e. do not explain the rest."""
    if len(false) < ENOUGH:
        return " " * 23
    error = false.std() / len(false) ** 0.5
    mark = mark if false.mean() - 2 * error > bound.mean() else " "
    return f"{false.mean():5.2f} ± {error:.2f} ({bound.mean():4.2f}){mark:3}"


def in_words(found):
    """Means of (sets, rules, 3) counts, and the error of the last, as texts."""
    error = found[..., 2].std(0) / len(found) ** 0.5
    for (true, near, other), its_error in zip(found.mean(0), error):
        yield f"{true:6.2f}/{near:.2f}/{other:.2f} ± {its_error:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=(*MADE, "print"))
    parser.add_argument("designs", nargs="*", help="by name, all unless given")
    parser.add_argument("--sets", type=int, default=1000)
    asked = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a fit remarks on is not the matter here
        if asked.what != "print":
            run(asked.what, asked.designs or ASKED[asked.what], asked.sets)
    show()


if __name__ == "__main__":
    main()
