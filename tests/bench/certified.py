"""Is the list of the default job that of ten thousand refits?

    python tests/bench/certified.py                # all tables, those of the file kept
    python tests/bench/certified.py "wine" ...     # tables of these kinds again

Fits `StabilitySelection()`, nothing else said, to tables of many kinds, refits each ten
thousand times at the penalty that was reported, by other random numbers, and writes to
certified.json: whether the lists are the same, and whether what differs was called
undecided; the worth of the probabilities in refits, of the answer as it is, of one by
chance (the squared errors of five, by five seeds of the refits, averaged) and of rVAMP
alone (the truth's own error subtracted; null where nothing is left but that); how often
a 95 % interval holds the truth, for Π from .02 to .98 and from .98 to 1; processor
seconds of the job on one thread, and of one of the ten thousand refits.

How errors are guessed where few features are strong or rare (chapter 4.4) was chosen on
two thirds of these tables; the others, every sixth and its neighbour, are the claim.
Eight minutes; riboflavin needs its file.
"""

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from beyond import worth
from effects import CHOICE, CLAIM, table, with_products
from sklearn import datasets as shipped
from tqdm.std import tqdm

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "helpers"))
import designs  # noqa: E402

from rvamp_nb import StabilitySelection, datasets  # noqa: E402
from rvamp_nb.inference.refinement import resamples  # noqa: E402
from rvamp_nb.inference.refits import refitter  # noqa: E402
from rvamp_nb.select.selection import refine_selection, to_columns  # noqa: E402

OUT = HERE / "certified.json"
REFITS, BATCH, SEED = 10_000, 250, 2026
SIZES = (101, 400), (300, 100)
REAL = "breast cancer", "wine", "wine products", "diabetes", "digits"


# Tables: X, y and what `fit` and the estimator are told -------------------------------


def signal(X, rng, effects=6, loud=5.0):
    """Some columns' sum with random signs, each as loud as so many standard errors."""
    Z = (X - X.mean(0)) / np.linalg.norm(X - X.mean(0), axis=0)
    which = rng.choice(Z.shape[1], min(effects, Z.shape[1] // 2), replace=False)
    return loud * Z[:, which] @ rng.choice([-1, 1], len(which))


def without_constants(X):
    return X[:, np.ptp(X, axis=0) > 0]


def of_kind(kind, M, N, rng, genes=None):
    """A table of a kind of the effects' bench, and a response of six columns."""
    X = without_constants(table(kind, M, N, rng, genes))
    return X, signal(X, rng) + rng.normal(size=len(X)), {}, {}


def classes(kind, M, N, rng):
    X = table(kind, M, N, rng)
    noise = rng.logistic(size=M)
    return X, (signal(X, rng, loud=12.0) + noise > 0).astype(int), {}, {}


def huber(kind, M, N, rng):
    X = table(kind, M, N, rng)
    return X, signal(X, rng) + rng.standard_t(2, size=M), {}, dict(loss="huber")


def numbers(kind, M, N, rng):
    X = table(kind, M, N, rng)
    y = rng.poisson(np.exp(np.clip(signal(X, rng, loud=4.0), -3, 3)))
    return X, y.astype(float), {}, dict(loss="poisson")


def survival(kind, M, N, rng):
    X = table(kind, M, N, rng)
    death = rng.exponential(np.exp(-signal(X, rng, loud=8.0)))
    left = rng.exponential(2 * np.median(death), size=M)
    y = np.zeros(M, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = death <= left, np.minimum(death, left)
    return X, y, {}, dict(loss="survival")


def patients(kind, M, N, rng):
    """Two to four rows of each patient, who has columns and a level of his own."""
    sizes = rng.integers(2, 5, M // 3)
    who = np.repeat(np.arange(len(sizes)), sizes)
    X = table(kind, len(sizes), N, rng)[who] + 0.5 * rng.normal(size=(len(who), N))
    y = signal(X, rng) + rng.normal(size=len(sizes))[who] + rng.normal(size=len(who))
    return X, y, dict(groups=who), {}


def strata(kind, M, N, rng):
    X, y, *_ = classes(kind, M, N, rng)
    return X, y, dict(strata=y), {}


def weights(kind, M, N, rng):
    X, y, *_ = of_kind(kind, M, N, rng)
    return X, y, dict(sample_weight=rng.integers(1, 4, M).astype(float)), {}


def genes(factors, share, M, N, rng):
    X, _ = datasets.standardize(designs.genes(rng, M, N, factors, share))
    return X, designs.equal_effects(rng, X, snr=4.0), {}, {}


def own_response():
    """Real tables with the response that was measured."""
    X, y = shipped.load_diabetes(return_X_y=True)
    yield "diabetes, own response", (X, y)
    yield "diabetes with products, own response", (with_products(X), y)
    yield "breast cancer, own classes", shipped.load_breast_cancer(return_X_y=True)
    X, y = shipped.load_wine(return_X_y=True)
    yield "wine, first class", (X, (y == 0) * 1)
    yield "wine with products, alcohol", (with_products(X[:, 1:]), X[:, 0])
    X, y = shipped.load_digits(return_X_y=True)
    yield "digits, 3 or 8", (X[(y == 3) | (y == 8)], (y[(y == 3) | (y == 8)] == 3) * 1)


def tables(riboflavin):
    """(name, whether real, makes (X, y, told to fit, told to the estimator) of rng)."""
    for kind in [*CHOICE, *CLAIM]:
        if kind != "riboflavin" or riboflavin is not None:
            genes_of = riboflavin and riboflavin.A
            for M, N in SIZES:
                make = lambda rng, k=kind, M=M, N=N: of_kind(k, M, N, rng, genes_of)
                yield f"{kind}, {M} x {N}", kind in (*REAL, "riboflavin"), make
    others = {
        "two classes": (classes, "iid", "Toeplitz .8", "factors 1", "lognormal"),
        "dummies, two classes": (classes, "dummies"),
        "Huber": (huber, "iid", "t3", "Toeplitz .7"),
        "numbers": (numbers, "iid", "counts", "factors .6"),
        "survival": (survival, "iid", "Toeplitz .7", "factors .6", "pairs"),
        "patients": (patients, "iid", "pairs", "factors .6"),
        "strata": (strata, "iid", "equal .3"),
        "weights": (weights, "iid", "triplets"),
    }
    for name, (made, *kinds) in others.items():
        for kind in kinds:
            make = lambda rng, f=made, k=kind: f(k, 151, 120, rng)
            yield f"{kind}, {name}, 151 x 120", False, make
    for name, (M, N, factors, share) in designs.STRONG.items():
        make = lambda rng, w=(factors, share, M, N): genes(*w, rng)
        yield f"genes, {name}, {M} x {N}", False, make
    for name, (X, y) in own_response():
        given = without_constants(X), y, {}, {}
        yield name, True, lambda rng, given=given: given
    if riboflavin is not None:
        given = riboflavin.A, riboflavin.y, {}, {}
        yield "riboflavin, own response", True, lambda rng, given=given: given


# What is measured --------------------------------------------------------------------


def ten_thousand(s):
    """Π of each column of the table by REFITS refits, and the seconds of one."""
    fit, columns = s.fit_, s.selection_.question.columns
    again = refitter(fit, s.selection_.question.target.baseline)
    before, selected, n = time.process_time(), 0, 0
    for start in range(0, REFITS, BATCH):
        x, _ = again(*resamples(fit, range(start, start + BATCH), SEED))
        arrived = ~np.isnan(x).any(1)
        selected, n = selected + (x[arrived] != 0).sum(0), n + arrived.sum()
    seconds = (time.process_time() - before) / REFITS
    return (selected / n)[columns.where], int(n), seconds


def by_chance(s, truth, n, seeds=5):
    """The worth that refits by any seed have, rVAMP's part being what it is."""
    told = dict(accuracy=s.asked["accuracy"])
    by = [
        to_columns(s, refine_selection(s, random_state=k, **told)).Pi
        for k in range(seeds)
    ]
    one = truth * (1 - truth) / (n - 1)
    error = np.mean((np.array(by) - truth) ** 2) - one.mean()
    return float(n * one.mean() / error) if error > one.mean() / 30 else None


def row(name, real, make):
    """One line of the table; None where the estimator has no answer."""
    X, y, told, asked = make(np.random.default_rng([7, *name.encode()]))
    before = time.process_time()
    s = StabilitySelection(verbose=0, **asked).fit(X, y, **told)
    seconds = time.process_time() - before
    out = dict(name=name, real=real, shape=list(X.shape), status=s.status_)
    if s.refined_ is None:
        return out | dict(refused=s.refit_error_)
    truth, n, of_one = ten_thousand(s)
    Pi, se, columns = s.probabilities_, s.refined_.Pi_se, s.selection_.question.columns
    wrong = s.support_ != (truth >= s.threshold_)
    noise = truth * (1 - truth) / n
    held = np.abs(Pi - truth) < 1.96 * np.sqrt(se**2 + noise)
    inside, top = (truth > 0.02) & (truth < 0.98), (truth >= 0.98) & (truth < 1)
    return out | dict(
        threshold=s.threshold_,
        selected=int(s.support_.sum()),
        undecided=int(s.undecided_.sum()),
        differ=int(wrong.sum()),
        unsaid=int((wrong & ~s.undecided_).sum()),
        worth=worth(Pi, truth, n),
        by_chance=by_chance(s.selection_, truth, n),
        says=s.refined_.equivalent_refits,
        alone=worth(s.fit_.Pi[columns.where], truth, n),
        held=[int(held[inside].sum()), int(inside.sum())],
        held_top=[int(held[top].sum()), int(top.sum())],
        largest_se=float(se.max()),
        n_resamples=s.refined_.n_resamples,
        truth=n,
        seconds=seconds,
        seconds_of_one=of_one,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    asked = parser.parse_args().kinds
    there = "RVAMP_NB_RIBOFLAVIN" in os.environ
    riboflavin = datasets.load_riboflavin() if there else None
    kept = json.loads(OUT.read_text()) if OUT.exists() else []
    found = {
        r["name"]: r for r in kept if not any(r["name"].startswith(k) for k in asked)
    }
    warnings.simplefilter("ignore")
    for k, (name, real, make) in enumerate(tqdm(list(tables(riboflavin)))):
        if name not in found:
            found[name] = row(name, real, make) | dict(claim=k % 6 in (1, 5))
            lines = ",\n".join(map(json.dumps, found.values()))
            OUT.write_text(f"[{lines}]\n")


if __name__ == "__main__":
    main()
