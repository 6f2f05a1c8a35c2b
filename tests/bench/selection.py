"""Is stability selection faster than the refits that it replaces? One table of claims.

    python tests/bench/selection.py                # every row, one thread
    python tests/bench/selection.py wide classes   # rows whose names hold such a word
    python tests/bench/selection.py --threads both # also with the default threads

Each row is a table and the default job on it, `StabilitySelection().fit(X, y)`.

same error   its seconds over those of as many plain refits at the reported penalty as
             have the error of its selection probabilities (`equivalent_refits`); the
             penalty is given to the refits for nothing
paths        its seconds over those of a hundred half-sample paths from the empty model
             to the reported penalty, what one would do who does not know it
alone        the same of rVAMP without refits, `n_resamples=0`
seconds      of the default job
way          how the answer came: steps of the search, and resamples with exact ones
worth        as many plain refits
ms, by       of one plain refit, and the quickest of those tried
q, theirs    selected on average by the answer, and by these refits

Refits and paths are of halves of the rows and solve the estimator's own problem, on its
columns: of unit length and centred, those of a sparse table without filling it in.
`theirs` shows it. celer's logistic loss alone has no intercept. Of the refits the
quickest counts: celer from 0, celer and coordinate descent on the Gram matrix
(scikit-learn) from the mean of all refits, and, of losses that celer does not know, the
package's own. Groups of columns are celer's group Lasso. Paths of survival times are
Coxnet's (scikit-survival), of counts skglm's ProxNewton, left out where they are not
installed; for several classes, with one penalty for all coefficients of a feature, no
path is known to us. Contestants take turns, and of each the fastest turn counts. celer
is a development extra.

Seen on one of two cores, the other busy with small tables: same error; paths, of which
rVAMP alone; seconds.

    riboflavin           .15   .93   .48     .37
    3 factors            .14  1.16   .35     .61
    1 factor             .17  1.46   .48     .73
    logistic             .12  1.07   .34     .74
    300 x 10,000         .11  1.23   .51    3.2
    diabetes             .16  1.21   .41     .083
    breast cancer        .045  .34   .11     .44
    2,000 x 500          .18  1.98   .81    1.2
    20,000 x 300         .023  .22   .12    2.1
    200,000 x 50         .020  .24   .10    2.5
    counts               .30   .35   .11     .40
    survival 100 x 6000  .38  2.2    .62    1.1
    survival 500 x 100   .25  3.5    .75     .30
    three classes        .082  -     -       .74
    six classes          .19   -     -      2.8
    groups of columns    .12  1.80  1.95     .58
    2,000 x 2,000        .15  1.46  1.36    7.4
    4,000 x 4,000        .24  1.59  1.44   69
    weak, 2,000 x 2,000  .17  2.8   2.3     9.3
    weak, 4,000 x 4,000  .27  1.96  1.75   93
    sparse, 5,000        .19   .85  3.6     1.6
    sparse, 20,000       .20   .62   .39    3.7
    sparse, 1,000        .28  1.84  1.35    6.0

Where a job is slower than the paths, refits take most of it on wide and small tables
and on survival times (Coxnet's paths take 1 to 5 ms each), and the matrix products of
full steps, three or four of 4 M^2 N operations and as many of M x M algebra, on large
ones. A hundred paths have the errors of a hundred refits, the job those of 1,500 to
2,600.

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
2^20 (as long); panels of 768 rows in the passes of tall tables (3 %, and other bits).

Tried on tables that are large both ways, and not kept (weak factors, the search alone
8.0 to 8.6 s): rounds of few columns that begin at the diagonal start (8.3), these to
1e-3 without the rough fit before (7.7), with a first full step in 32 bits (8.9: a step
more). Columns left out that act on the rows as independent noise change the first full
step less (7e-4 for 6e-3), and take 6.8 to 8.6 s; with strong factors nothing is gained.

Tried with refits of wide tables, and not kept: settled on the columns in play, the
others by a recursion in the space of rows (300 x 10,000: 15 % of the refits, 100 rows 0
to 6 %; survival times get other numbers of resamples); 16 to 192 exact ones side by
side (from 32 to 96 the same).
"""

import argparse
import importlib.util
import os
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
import speed  # noqa: E402

from rvamp_nb import GroupLasso, StabilitySelection, datasets  # noqa: E402
from rvamp_nb.inference.refinement import resamples  # noqa: E402
from rvamp_nb.inference.refits import refitter  # noqa: E402
from rvamp_nb.inference.turns import ExactByTurns  # noqa: E402
from rvamp_nb.select import penalty  # noqa: E402

PATHS = 100  # that a row is compared with
HALVES = 20  # of the rows that are timed, 2 at least
NUMBERS = 2e7  # and fewer where they would hold more numbers than that
ONCE = 3e6  # numbers of a table from which on contestants run once, not three times


# --------------------------------------------------- the tables


def genes(seed, factors, share, shape, effects=10):
    """A gene-like table, and the sum of ten of its columns."""
    rng = np.random.default_rng([14, seed])
    A, _ = datasets.standardize(designs.genes(rng, *shape, factors, share))
    which = rng.choice(shape[1], effects, replace=False)
    return A, A[:, which] @ rng.choice([-1, 1], effects), rng


def wide(seed, *design):
    """One whose ten columns matter as much as the noise does twice over."""
    A, signal, rng = genes(seed, *design)
    y = signal + rng.normal(size=len(A)) * signal.std() / 2
    return A, y - y.mean(), {}


def weak(seed, *design):
    """One of weak factors, whose ten columns matter half as much as the noise does."""
    A, signal, rng = genes(seed, *design)
    y = signal + rng.normal(size=len(A)) * signal.std() * 2**0.5
    return A, y - y.mean(), {}


def wide_classes(seed, *design):
    A, signal, rng = genes(seed, *design)
    noise = rng.logistic(size=len(A))
    return A, (3 * signal / signal.std() + noise > 0).astype(int), {}


def toeplitz(seed, M, N, snr):
    rng = np.random.default_rng(seed)
    X = designs.toeplitz(rng, M, N, 0.5)
    signal = X[:, rng.choice(N, 10, replace=False)] @ rng.choice([-1, 1], 10)
    return X, signal + rng.normal(size=M) * signal.std() / snr**0.5, {}


def riboflavin():
    data = datasets.load_riboflavin()
    return data.A, data.y, {}


def breast_cancer():
    return *load_breast_cancer(return_X_y=True), {}


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    i, j = np.triu_indices(X.shape[1])
    keep = (i != 1) | (j != 1)  # the square of a column of two values
    return np.hstack([X, (X[:, i] * X[:, j])[:, keep]]), y, {}


def counts():
    rng = np.random.default_rng(7)
    X = designs.toeplitz(rng, 1000, 200, 0.5)
    rate = X[:, rng.choice(200, 10, replace=False)] @ rng.choice([-1, 1], 10)
    return X, rng.poisson(np.exp(rate / 2 / rate.std())), dict(loss="poisson")


def survival_times(seed, *design):
    """Times of events, of which two in three are seen."""
    A, risk, rng = genes(seed, *design)
    death = rng.exponential(np.exp(-1.5 * risk / risk.std()))
    left = rng.exponential(2.0, len(A))
    y = np.zeros(len(A), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = death <= left, np.minimum(death, left)
    return A, y, dict(loss="survival")


def several_classes(K):
    """300 rows, 100 columns, of which K matter, each for its class."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 100))
    scores = 1.5 * X[:, :K] + rng.gumbel(size=(300, K))
    return X, np.array(list("abcdef"))[scores.argmax(1)], {}


def groups():
    """A hundred groups of four columns each."""
    X, y, _ = toeplitz(11, 300, 400, 2.0)
    return X, y, dict(column_groups=[f"g{j // 4}" for j in range(400)])


def large(kind, M, N):
    return *large_table(kind, M, N), {}


TABLES = {
    "wide, riboflavin, 71 x 4088": riboflavin,
    "wide, 3 factors, 100 x 6000": lambda: wide(0, 3, 0.5, (100, 6000)),
    "wide, 1 factor, 100 x 6000": lambda: wide(1, 1, 0.3, (100, 6000)),
    "wide, logistic, 100 x 6000": lambda: wide_classes(2, 5, 0.5, (100, 6000)),
    "wide, 5 factors, 300 x 10000": lambda: wide(3, 5, 0.3, (300, 10_000)),
    "small, diabetes and products, 442 x 64": diabetes,
    "small, breast cancer, 569 x 30": breast_cancer,
    "tall, 2000 x 500": lambda: toeplitz(3, 2000, 500, 0.5),
    "tall, 20000 x 300": lambda: toeplitz(4, 20_000, 300, 0.05),
    "tall, 200000 x 50": lambda: toeplitz(5, 200_000, 50, 0.005),
    "counts, 1000 x 200": counts,
    "survival, 100 x 6000": lambda: survival_times(0, 1, 0.3, (100, 6000)),
    "survival, 500 x 100": lambda: survival_times(3, 2, 0.4, (500, 100)),
    "classes, three, 300 x 100": lambda: several_classes(3),
    "classes, six, 300 x 100": lambda: several_classes(6),
    "groups of columns, 300 x 400": groups,
    "large, 2000 x 2000": lambda: large("factors", 2000, 2000),
    "large, 4000 x 4000": lambda: large("factors", 4000, 4000),
    "weak factors, 2000 x 2000": lambda: weak(9, 5, 0.3, (2000, 2000)),
    "weak factors, 4000 x 4000": lambda: weak(10, 5, 0.3, (4000, 4000)),
    "sparse, 5000 x 2000": lambda: large("sparse", 5000, 2000),
    "sparse, 20000 x 1000": lambda: large("sparse", 20_000, 1000),
    "sparse, 1000 x 20000": lambda: large("sparse", 1000, 20_000),
}


# --------------------------------------------------- the peers


def unit_columns(X):
    """A sparse table with columns of unit length once they are centred, and their
    means.
    """
    means = np.asarray(X.mean(0)).ravel()
    squares = np.asarray(X.multiply(X).sum(0)).ravel()
    spread = np.sqrt(np.maximum(squares - X.shape[0] * means**2, 0))
    spread[spread == 0] = 1
    return sparse.csr_matrix(X @ sparse.diags_array(1 / spread)), means / spread


def target_of(question):
    """The target as these refits take it; survival times have two fields."""
    target = question.target
    if target.loss != "survival":
        return target.y
    kinds = [("event", bool), ("time", float)]
    y = np.zeros(len(target.y), dtype=kinds)
    y["event"] = target.y
    y["time"] = target.baseline.time
    return y


def half_sample_paths(question, lams, halves=HALVES, way=None, start=None, X=None):
    """Fits of halves of the rows at all these penalties, each from the one before, by
    celer or another `way`; the coefficients at the last penalty, (halves, N). A sparse
    table is X as it was given.
    """
    A, rng = question.A, np.random.default_rng(0)
    y = target_of(question)
    means = None
    if not isinstance(A, np.ndarray):
        A, means = unit_columns(X)
    way = way or by_celer(question)
    found = []
    for _ in range(halves):
        rows = rng.permutation(len(y))[: len(y) // 2]
        if means is None:
            half = np.asfortranarray(A[rows])
        else:
            half = sparse.csc_matrix(A[rows])
        found.append(way(half, y[rows], means, np.asarray(lams), start))
    return np.array(found)


def by_celer(question):
    """The fit of one half by celer."""
    from celer import celer_path

    prior, loss = question.prior, question.target.loss
    how = {}
    if isinstance(prior, GroupLasso):
        index = prior.column_groups.index
        members = [np.flatnonzero(index == g).tolist() for g in range(index.max() + 1)]
        how = dict(groups=members, weights=prior.of_groups(prior.weights))

    def fit(X, y, means, lams, start):
        if start is not None:
            start = start.copy()  # celer writes into it
        if loss == "logistic":
            return celer_path(X, 2 * y - 1, "logreg", alphas=lams, coef_init=start)[
                1
            ].T[-1]
        given = dict(how, alphas=lams / len(y), coef_init=start)
        if means is not None:
            given |= dict(X_offset=means, X_scale=np.ones(len(means)))
        kind = "grouplasso" if how else "lasso"
        return celer_path(X, y, kind, **given)[1].T[-1]

    return fit


def by_gram(X, y, means, lams, start):
    """The Lasso of one half by coordinate descent on X'X."""
    how = dict(alphas=lams / len(y), precompute=True, coef_init=start)
    return lasso_path(X, y, **how)[1].T[-1]


def by_coxnet(X, y, means, lams, start):
    """Cox's model of one half."""
    from sksurv.linear_model import CoxnetSurvivalAnalysis

    model = CoxnetSurvivalAnalysis(alphas=lams / len(y), l1_ratio=1.0)
    return model.fit(X, y).coef_.T[-1]


def by_skglm(X, y, means, lams, start):
    """Poisson regression of one half."""
    from skglm.datafits import Poisson
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton

    solver, w = ProxNewton(fit_intercept=True, tol=1e-4, max_iter=50), None
    for lam in lams:
        w = solver.solve(X, y, Poisson(), L1(lam / len(y)), w_init=w)[0]
    return w[:-1]


def paths_by(question):
    """Who follows whole paths, {name: way}; nobody for some losses."""
    loss = question.target.loss
    if loss in ("squared", "logistic"):
        return {"celer": by_celer(question)}
    if loss == "survival" and importlib.util.find_spec("sksurv"):
        return {"Coxnet": by_coxnet}
    if loss == "poisson" and importlib.util.find_spec("skglm"):
        return {"skglm": by_skglm}
    return {}


def own_refits(s, halves):
    """The package's exact refits, without a start, of halves of the rows."""
    fit = s.fit_
    baseline = s.question_.target.baseline
    try:
        refit = refitter(fit, baseline)
    except ValueError:
        refit = ExactByTurns(fit)
    return refit(*resamples(fit, range(halves), 0))[0]


def refits_by(s, halves, X):
    """Who makes refits at the reported penalty, {name: action}."""
    question, one = s.question_, [s.lambda_]
    A = question.A

    def action(way, start=None):
        return lambda: half_sample_paths(question, one, halves, way, start, X)

    found = {name: action(way) for name, way in paths_by(question).items()}
    if question.target.loss not in ("squared", "logistic"):
        return found | {"own": lambda: own_refits(s, halves)}
    mean = np.array(s.fit_.mean, dtype=float)
    mean[np.abs(mean) < 1e-3 * np.abs(mean).max()] = 0
    plain = not isinstance(question.prior, GroupLasso)
    if plain:
        found["celer, warm"] = action(paths_by(question)["celer"], mean)
    long = isinstance(A, np.ndarray) and A.shape[0] > A.shape[1]
    if plain and long and question.target.loss == "squared":
        found["Gram, warm"] = action(by_gram, mean)
    return found


# --------------------------------------------------- a row

COLUMNS = "same error", "paths", "alone", "seconds", "way", "worth", "ms", "by", "q"
COLUMNS += ("theirs",)


def row(name, threads):
    """The row of a table: its name, and numbers or text for `COLUMNS`."""
    X, y, how = TABLES[name]()

    def job(**more):
        return StabilitySelection(verbose=0, **how, **more).fit(X, y)

    s = job()
    question = s.question_
    held = X.nnz if sparse.issparse(X) else X.size
    halves = int(np.clip(NUMBERS // held, 2, HALVES))
    lams = penalty.walk_down(question, penalty.empty_model(question))
    lams = np.append(lams[lams > s.lambda_], s.lambda_)
    refits = refits_by(s, halves, X)
    paths = [
        lambda way=way: half_sample_paths(question, lams, halves, way, None, X)
        for way in paths_by(question).values()
    ]
    actions = [job, lambda: job(n_resamples=0), *refits.values(), *paths]
    repeat = 1 if held > ONCE else 3
    both, alone, *theirs = threads.fastest(*actions, repeat=repeat)
    each = dict(zip(refits, np.array(theirs) / halves))
    by = min(each, key=each.get)
    chosen = np.asarray(refits[by]() != 0).mean(0)
    whole = PATHS / halves * theirs[-1] if paths else np.nan
    found, worth = s.refined_, s.refined_.equivalent_refits
    steps = "no" if s.selection_.by_refits else s.n_iter_
    way = f"{steps} steps, {found.n_resamples} refits, {found.n_exact} exact"
    numbers = both / (worth * each[by]), both / whole, alone / whole, both, way, worth
    return name, *numbers, 1e3 * each[by], by, s.q_, question.size(chosen)


def print_table(words, threads):
    """Print the rows whose names hold one of some words, or all."""
    rows = []
    for name in TABLES:
        if "riboflavin" in name and "RVAMP_NB_RIBOFLAVIN" not in os.environ:
            continue
        if not words or any(word in name for word in words):
            rows.append(row(name, threads))
            print(*rows[-1], sep="; ", file=sys.stderr, flush=True)
    title = f"StabilitySelection().fit, {threads.name}"
    speed.table(title, ("table", *COLUMNS), rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="WORD", help="of names; or all")
    parser.add_argument("--threads", choices=["one", "default", "both"], default="one")
    args = parser.parse_args()
    for one in {"one": [True], "default": [False], "both": [True, False]}[args.threads]:
        threads = speed.Threads(one)
        with threads.limit(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            print_table(args.words, threads)


if __name__ == "__main__":
    main()
