"""Is the equation for noise (`noise-exceedance`, chapter 4.8) kept as a promise?

    python tests/bench/two_halves.py --sets 100               # all designs of DESIGNS
    python tests/bench/two_halves.py "Toeplitz .5" --sets 300
    python tests/bench/two_halves.py --print                  # the table that is kept

Nothing is related to the response, so every selected feature is false. The designs and
their data sets are those of `null_fields.py`. For each pair of threshold and pfer, q is
such that the equation with the fit's own rho gives pfer, at most a third of the rows:
rho is that of the features that look like noise (those below the threshold), of which
UPPER is taken, since a smaller rho promises more. The first rho is found at a third
of the rows, the next at the q before. Kept for each data set and pair:
the number of false features by rVAMP alone (`n_resamples=0`), what the equation gives
at the fit with the UPPER quantile of rho and with the median, the two, and the largest
share that one row has in one feature's noise. Where that share is above `RED_OWN` the
estimator takes no bound for normal fields; those data sets are left out of the table.
Sets are added to those that are kept, a few of each design in turn.
"""

import argparse
import os
import warnings
from dataclasses import replace
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from null_fields import NULLS, ROWS, TABLES  # noqa: E402
from scipy.optimize import brentq  # noqa: E402
from scipy.special import ndtr, ndtri  # noqa: E402

from rvamp_nb import StabilitySelection, complementary_pairs  # noqa: E402
from rvamp_nb.inference.diagnostics import RED_OWN  # noqa: E402
from rvamp_nb.inference.row_shares import largest_single_share  # noqa: E402
from rvamp_nb.select.penalty import tracking_search  # noqa: E402

KEPT = Path(__file__).parents[1] / "truth/control" / "two_halves.npz"
PROMISES = [(0.75, 1.0), (0.9, 1.0), (0.75, 5.0), (0.9, 5.0)]
SHOWN = 3  # of them; a q of a third of the rows meets the last, and is that before
UPPER = 0.9  # quantile of rho over noise-like features
BATCH = 20  # data sets, before they are kept
DESIGNS = [
    "independent 150x300",
    "independent 300x100",
    "Toeplitz .5",
    "Toeplitz .9",
    "counts",
    "genotypes",
    "3 factors",
    "independent 150x300, logistic",
    "blocks .7",
    "t3 columns",
    "indicators 6 %",
    "independent 150x300, Poisson",
]


def expected_false(q, threshold, p, rho):
    """Return what `noise-exceedance` gives for p features, of which q are selected."""
    limit = np.sqrt(1 + 1 / rho) * ndtri(q / p / 2)
    return 2 * p * ndtr(limit - ndtri(threshold) / np.sqrt(rho))


def q_for(pfer, threshold, p, rho, most):
    """Find the q at which the equation gives pfer, or `most`."""
    over = lambda q: expected_false(q, threshold, p, rho) - pfer
    return most if over(most) <= 0 else brentq(over, 1e-6, most)


def one_set(name, d):
    """Count, (promises, 6): false features, the equation with the upper and the median
    rho, the two, and one row's share.
    """
    table, kind = NULLS[name]
    rng = np.random.default_rng([79, d, len(table), len(kind)])
    X = TABLES[table](rng)
    X = X[:, X.std(0) > 0]
    draw, options = ROWS[kind]
    rows = draw(rng, len(X))
    (M, p) = X.shape
    q = min(M, p) / 3
    given = dict(q=q, threshold=0.75, bound="gaussian", n_resamples=0)
    s = StabilitySelection(**given, verbose=0, **options).fit(X, **rows)
    question = replace(s.selection_.question, tol=1e-4)
    lam, fit = s.lambda_, s.selection_.fit
    rho = complementary_pairs(fit, tol=1e-3).rho
    found = []
    for threshold, pfer in PROMISES:
        before = q
        upper = upper_and_median(rho, fit, question.candidates, threshold)[0]
        q = q_for(pfer, threshold, p, upper, min(M, p) / 3)
        if abs(q - before) > 1e-3 * q:
            answer = tracking_search(question, q, lam, fit.messages)
            if answer is None:
                given.update(q=q)
                s = StabilitySelection(**given, verbose=0, **options).fit(X, **rows)
                lam, fit = s.lambda_, s.selection_.fit
            else:
                lam, fit = answer[1].lam, answer[1].fit
            rho = complementary_pairs(fit, tol=1e-3).rho
        which = question.candidates
        upper, median = upper_and_median(rho, fit, which, threshold)
        Pi = fit.Pi[which]
        bounds = [expected_false(Pi.sum(), threshold, p, r) for r in (upper, median)]
        share = largest_single_share(fit)
        found.append([(Pi >= threshold).sum(), *bounds, upper, median, share])
    return found


def upper_and_median(rho, fit, candidates, threshold):
    """Return the `UPPER` quantile and the median of rho below the threshold."""
    return np.quantile(rho[candidates & (fit.Pi < threshold)], [UPPER, 0.5])


def load():
    if not KEPT.exists():
        return {}
    with np.load(KEPT) as file:
        return {name: file[name] for name in file}


def run(names, sets):
    """Add data sets to those that are kept, in turn."""
    for last in range(BATCH, sets + BATCH, BATCH):
        for name in names:
            done = len(load().get(name, ()))
            new = [one_set(name, d) for d in range(done, min(last, sets))]
            if new:
                kept = load()
                before = [kept[name]] if name in kept else []
                kept[name] = np.concatenate([*before, np.float32(new)])
                np.savez_compressed(KEPT, **kept)


def kept_sets():
    """Load {design: (sets, promises, 6)} of sets that the estimator would bound."""
    found = {}
    for name, sets in load().items():
        taken = (sets[..., -1] <= RED_OWN).all(1)
        if taken.sum() >= BATCH:
            found[name] = sets[taken].astype(float)
    return found


def excess(false, bound):
    """Find the mean of false features, its error, and by how many of these it is above
    the mean of the equation.
    """
    error = max(false.std() / len(false) ** 0.5, 1e-9)
    return false.mean(), error, (false.mean() - bound.mean()) / error


def lines():
    """Write the kept table: false features ± s.e. (what the equation gives), marked
    where two s.e. do not explain what is above it.
    """
    heads = [f"{t:g}, {pfer:g}" for t, pfer in PROMISES[:SHOWN]]
    yield f"{'threshold, pfer':29} sets rho " + "".join(f"{h:16}" for h in heads)
    for name, found in kept_sets().items():
        text = f"{name:29} {len(found):4} {short(found[:, 0, 3].mean())} "
        for false, bound, _ in found[:, :SHOWN, :3].transpose(1, 2, 0):
            mean, error, above = excess(false, bound)
            mark = "!" if above > 2 else " "
            cell = f"{short(mean)} ±{short(error)} ({short(bound.mean())}){mark}"
            text += f"{cell:16}"
        yield text.rstrip()


def short(number):
    """Write two digits, without a 0 before the point."""
    return f"{number:.2f}".lstrip("0")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("designs", nargs="*", help="by name, else DESIGNS")
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--print", action="store_true")
    asked = parser.parse_args()
    if not asked.print:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run(asked.designs or DESIGNS, asked.sets)
    print(*lines(), sep="\n")


if __name__ == "__main__":
    main()
