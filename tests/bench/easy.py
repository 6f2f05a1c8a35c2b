"""Whether intervals still hold where rVAMP alone is nearly right and refits end early.

    python tests/bench/easy.py              # five tables, 200 seeds of `refine` each
    python tests/bench/easy.py NAME ...     # these
    python tests/bench/easy.py --seeds 40
    python tests/bench/easy.py --few --seeds 60    # sixteen tables of few columns

By hand: ten minutes, on one thread. The number of resamples depends on what the first
ones give (optional stopping), and an answer that agrees with rVAMP's is believed more.
Both could make intervals too short, which three seeds do not show. For each table, of
features whose true Π is from .02 to .98: the share of 95 % intervals that hold the
truth, for Π, mean and variance; the same share of Π's among the seeds with the fewest
resamples, a quarter of them; resamples in the mean; the worth of Π that is reported,
in the middle, and the measured one. The truth: 20,000 refits of `naive_bootstrap`, of
another seed, whose own error is taken into account.

Measured (60 seeds): Π is held by .973 to .993, and by .963 to .994 of the seeds that
stop first; means by .947 to .972, variances by .920 to .944. The reported worth is
1,610 to 2,760, the measured one 2,430 to 4,840: the bound of rVAMP's error is an upper
one.

With `--few`: tables of 8 and of 15 columns, of every loss, with groups of rows, strata
and trials among them, at the penalty that the estimator reports. There one column can
have most of rVAMP's error, and the same for every seed. The table goes to easy.json:
for each table the share of 95 % intervals (`RefinedFit.interval`) that hold the truth,
for Π from .02 to .98, for Π below .005 or above .995, and for all; the least share of a
single column; the worth, and what the answer reports. `LEAST_FREEDOM`, `CONTRADICTED`
and the count law of chapter 4.4 were chosen on the half called "choice"; the other half
is the claim.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import certified
import numpy as np
from beyond import refitted
from effects import table
from refinement import held

from rvamp_nb import StabilitySelection, datasets, naive_bootstrap, rvamp
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.inference.refinement import refine, resamples
from rvamp_nb.inference.refits import refitter

TRUTH, OTHER_SEED, BATCH = 20_000, 2026, 250
OUT = Path(__file__).with_suffix(".json")


def equal(M, N, seed, correlation=0.3):
    """Columns that are all correlated alike."""
    rng = np.random.default_rng(seed)
    A = np.sqrt(1 - correlation) * rng.normal(size=(M, N))
    A += np.sqrt(correlation) * rng.normal(size=(M, 1))
    return A, refitted.response(A, rng)


# maker, arguments, share of the emptying penalty, law
TABLES = {
    "normal, wide": (refitted.independent, (100, 400, 63), 0.4, "half"),
    "normal, tall": (refitted.independent, (300, 100, 63), 0.08, "half"),
    "independent": (refitted.independent, (120, 100, 5), 0.3, "poisson"),
    "dct": (refitted.dct, (512, 0.15, 0), 0.3, "half"),
    "equal .3": (equal, (150, 80, 63), 0.25, "half"),
}


def fit_and_truth(name):
    """A table's fit, and `naive_bootstrap` of it."""
    maker, arguments, share, law = TABLES[name]
    A, y = datasets.standardize(*maker(*arguments))
    lam = share * np.abs(A.T @ y).max() / 2
    counts, randomize = refitted.LAWS[law]
    laws = dict(prior=Laplace(lam, randomize), resampling=counts)
    fit = rvamp(A, y, **laws)
    plan = dict(
        n_resamples=TRUTH, random_state=OTHER_SEED, columns=np.flatnonzero(fit.Pi)
    )
    return fit, naive_bootstrap(A, y, **laws, **plan, verbose=False)


def line(name, seeds):
    """The numbers of one table."""
    fit, truth = fit_and_truth(name)
    asked = (truth.Pi > 0.02) & (truth.Pi < 0.98)
    parts, cover, errors, many, reported = ("Pi", "mean", "var"), [], [], [], []
    start = time.process_time()
    for seed in range(seeds):
        found = refine(fit, random_state=seed, verbose=False)
        of = lambda part, end="": (
            getattr(v, part + end)[asked] for v in (found, truth)
        )
        pairs = [(*of(part), *of(part, "_se")) for part in parts]
        cover.append([held(v, e, t, n**2).mean() for v, t, e, n in pairs])
        value, true, _, noise = pairs[0]
        errors.append(np.sum((value - true) ** 2 - noise**2))
        many.append(found.n_resamples)
        reported.append(found.equivalent_refits)
    seconds, cover = (time.process_time() - start) / seeds, np.array(cover)
    fewest = np.argsort(many, kind="stable")[: max(seeds // 4, 1)]
    one = np.sum(truth.Pi[asked] * (1 - truth.Pi[asked]))
    worth = one / max(np.mean(errors), one / (30 * TRUTH))
    alone = (fit.Pi - truth.Pi)[asked] ** 2 - truth.Pi_se[asked] ** 2
    alone = one / max(alone.sum(), one / (30 * TRUTH))
    shares = *cover.mean(0), cover[fewest, 0].mean()
    return (
        asked.sum(),
        alone,
        shares,
        np.mean(many),
        np.median(reported),
        worth,
        seconds,
    )


# Tables of few columns ---------------------------------------------------------------


def trials(kind, M, N, rng):
    """Successes out of one to eleven trials."""
    X, n = table(kind, M, N, rng), rng.integers(1, 12, M)
    share = 1 / (1 + np.exp(-certified.signal(X, rng, loud=2.0)))
    return X, rng.binomial(n, share), dict(n_trials=n), dict(loss="logistic")


def centres(kind, M, N, rng):
    """Survival times of four centres, whose hazards differ."""
    X, y, _, asked = certified.survival(kind, M, N, rng)
    site = rng.integers(0, 4, M)
    y["time"] *= np.exp(site - 1.5)
    return X, y, dict(strata=site), asked


SIZES = (60, 8), (300, 15)
FEW = {  # maker, kinds of columns at both sizes
    "squared": (certified.of_kind, "lognormal", "Toeplitz .7"),
    "Huber": (certified.huber, "pairs", "t3"),
    "classes": (certified.classes, "Toeplitz .7", "lognormal"),
    "Poisson": (certified.numbers, "iid", "counts"),
    "trials": (trials, "t3", "equal .3"),
    "survival": (certified.survival, "counts", "pairs"),
    "centres": (centres, "equal .3", "lognormal"),
    "patients": (certified.patients, "iid", "factors .6"),
}


def tables_of_few():
    """(name, function of rng, whether constants were chosen on it) of each table."""
    for k, (loss, (make, *kinds)) in enumerate(FEW.items()):
        for size, ((M, N), kind) in enumerate(zip(SIZES, kinds)):
            name = f"{loss}, {kind}, {M} x {N}"
            told = lambda rng, f=make, k=kind, M=M, N=N: f(k, M, N, rng)
            yield name, told, (k + size) % 2 == 0


def plain_refits(fit, baseline):
    """Π by TRUTH refits by other random numbers, and how many arrived."""
    again, selected, n = refitter(fit, baseline), 0, 0
    for start in range(0, TRUTH, BATCH):
        draw = resamples(fit, range(start, start + BATCH), OTHER_SEED)
        x, _ = again(*draw)
        arrived = ~np.isnan(x).any(1)
        selected = selected + (x[arrived] != 0).sum(0)
        n += int(arrived.sum())
    return selected / n, n


def held_by(answer, truth, noise):
    """Whether 95 % intervals hold Π, whose own standard error widens each side."""
    low, high = answer.interval().T
    below, above = (1.96 * noise, answer.Pi - low), (1.96 * noise, high - answer.Pi)
    inside = truth >= answer.Pi - np.hypot(*below)
    return inside & (truth <= answer.Pi + np.hypot(*above))


def row_of_few(name, make, choice, seeds):
    """One line of easy.json."""
    X, y, told, asked = make(np.random.default_rng([7, *name.encode()]))
    s = StabilitySelection(verbose=0, n_resamples=0, **asked).fit(X, y, **told)
    baseline = s.selection_.question.target.baseline
    truth, n = plain_refits(s.fit_, baseline)
    noise = np.sqrt((truth + 1 / n) * (1 - truth + 1 / n) / n)
    one = truth * (1 - truth)
    cover, errors, reported, many = [], [], [], []
    for seed in range(seeds):
        answer = refine(s.fit_, random_state=seed, baseline=baseline, verbose=False)
        cover.append(held_by(answer, truth, noise))
        errors.append(np.sum((answer.Pi - truth) ** 2 - one / n))
        reported.append(answer.equivalent_refits)
        many.append(answer.n_resamples)
    cover = np.array(cover)
    middle = (truth > 0.02) & (truth < 0.98)
    rare = (truth < 0.005) | (truth > 0.995)
    share = lambda some: [int(cover[:, some].sum()), int(cover[:, some].size)]
    return dict(
        name=name,
        half="choice" if choice else "claim",
        seeds=seeds,
        held=share(middle),
        held_rare=share(rare),
        held_all=share(middle | True),
        least_column=round(float(cover[:, middle].mean(0).min()), 3),
        worth=round(float(one.sum() / np.mean(errors))),
        reported=round(float(np.median(reported))),
        n_resamples=round(float(np.mean(many))),
    )


def few_columns(names, seeds):
    """Write easy.json, the lines of these names (all, if none is given) again."""
    kept = json.loads(OUT.read_text()) if OUT.exists() else []
    found = {line["name"]: line for line in kept}
    for name, make, choice in tables_of_few():
        if not names or name in names:
            found[name] = line = row_of_few(name, make, choice, seeds)
            print(line, flush=True)
            lines = ",\n".join(map(json.dumps, found.values()))
            OUT.write_text(f"[{lines}]\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--few", action="store_true", help="tables of few columns")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.few:
        return few_columns(asked.names, asked.seeds)
    print(
        "table         asked  rVAMP | held: Π mean  var  few | resamples reported worth"
    )
    for name in asked.names or TABLES:
        n, alone, shares, many, reported, worth, seconds = line(name, asked.seeds)
        cover = " ".join(f"{share:.3f}" for share in shares)
        print(f"{name:13} {n:5} {alone:6,.0f} | {cover} | {many:9.0f}", end=" ")
        print(f"{reported:8,.0f} {worth:6,.0f}   {1e3 * seconds:.0f} ms", flush=True)


if __name__ == "__main__":
    main()
