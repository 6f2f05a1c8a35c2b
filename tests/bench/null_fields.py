"""Is the bound for normal fields kept where nothing matters, and what does it find?

    python tests/bench/null_fields.py null               # all designs that are kept
    python tests/bench/null_fields.py null "Toeplitz .5" --sets 300
    python tests/bench/null_fields.py print              # the table that is kept

`null`: nothing is related to the response, so every selected feature is false. For each
design and each pair of threshold and pfer: the number of false features by rVAMP alone
(`n_resamples=0`), the bound that was reported, and two of the fit's diagnostics (the
effective number of rows, the largest share that one row has in one feature's noise). A
data set depends on (its design, its number) only, and sets are added to those that are
kept: a run that is interrupted goes on where it stopped. Genes need the file of
`load_riboflavin`.

Designs with an even place in the list were looked at when a rule of refusal was chosen
("choice"); the others are the claim.
"""

import argparse
import os
import sys
import warnings
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from tqdm.std import tqdm  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
import designs  # noqa: E402

from rvamp_nb import StabilitySelection, datasets  # noqa: E402
from rvamp_nb.select.error_control import resolve_error_control  # noqa: E402

KEPT = HERE.parent / "truth_control" / "null_fields.npz"
PROMISES = [(0.6, 1.0), (0.75, 0.1), (0.75, 1.0), (0.75, 5.0), (0.9, 1.0)]
SETS, BATCH = 1000, 50


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
]


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
    found = []
    for threshold, pfer in PROMISES:
        q = resolve_error_control(p, units / 3, threshold, pfer, bound="gaussian")[2]
        given = dict(q=q, threshold=threshold, bound="gaussian", n_resamples=0)
        s = StabilitySelection(**given, verbose=0, **options).fit(X, **rows)
        kept = s.support_.sum() // columns
        seen = s.diagnostics_
        about = seen.effective_rows, seen.largest_single_share
        found.append((kept, s.pfer_bound_, *about))
    return found


def load():
    if not KEPT.exists():
        return {}
    with np.load(KEPT) as file:
        return dict(file)


def run(designs_asked, sets, most):
    for table, kind in designs_asked:
        name = called(table, kind)
        done = len(load().get(name, ()))
        for first in tqdm(range(done, sets, BATCH), name):
            last = min(first + BATCH, sets)
            new = np.array([one_set(table, kind, d) for d in range(first, last)])
            kept = load()
            before = [kept[name]] if name in kept else []
            kept[name] = np.concatenate([*before, new.astype(np.float32)])
            np.savez_compressed(KEPT, **kept)


def show():
    kept = load()
    heads = [f"t {t:g} pfer {pfer:g}" for t, pfer in PROMISES]
    print(f"{'false ± s.e. (bound)':32} sets", *(f"{head:>20}" for head in heads))
    for table, kind in DESIGNS:
        name = called(table, kind)
        if name not in kept:
            continue
        found = kept[name].astype(float)
        mean = found.mean(0)
        error = found[:, :, 0].std(0) / len(found) ** 0.5
        cells = []
        for at in range(len(PROMISES)):
            false, bound = mean[at, :2]
            broken = "!" if false - 2 * error[at] > bound else " "
            cells.append(f"{false:6.3f} ± {error[at]:.3f} ({bound:4.2f}){broken}")
        rows = np.nanquantile(found[:, 2, 2:], (0.05, 0.5, 0.95), axis=0).T
        about = " ".join(f"{x:.0f}" for x in rows[0])
        share = " ".join(f"{x:.2f}" for x in rows[1])
        print(f"{name:32} {len(found):4} {' '.join(cells)}  rows {about}; {share}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("null", "print"))
    parser.add_argument("designs", nargs="*", help="by name, all unless given")
    parser.add_argument("--sets", type=int, default=SETS)
    asked = parser.parse_args()
    known = {called(*pair): pair for pair in DESIGNS}
    pairs = [known[name] for name in asked.designs or known]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a fit remarks on is not the matter here
        if asked.what == "null":
            run(pairs, asked.sets, BATCH)
    show()


if __name__ == "__main__":
    main()
