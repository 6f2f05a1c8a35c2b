"""What `refine` is worth, what it says of itself, and what it costs.

    python tests/bench/refinement.py              # all truths of tests/truth/beyond
    python tests/bench/refinement.py NAME ...     # these again
    python tests/bench/refinement.py --seeds 60 NAME ...   # these, and the file stays

By hand: ten minutes. The table goes to tests/truth/beyond/refined.json and into chapter
4.4. For each truth, over three seeds: the worth of `refine(fit)` in refits (the number
whose own error is as large; the truth's own error subtracted; null where nothing is
left but that), that of the fit before, and what the answer says it is worth; the share
of features with a true Π from .02 to .98 whose 95 % interval holds the truth, for Π,
mean and variance; refits made, and how many plain ones each counts for; features on the
wrong side of the threshold .75, and of these those that were not said to be undecided
(two standard errors); processor seconds of it and of one refit.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from beyond import refitted, timed, worth

from rvamp_nb.algorithm.solver import rvamp
from rvamp_nb.inference.bootstrap import naive_bootstrap
from rvamp_nb.inference.refinement import refine

TABLE = Path(__file__).resolve().parent.parent / "truth/beyond" / "refined.json"
SEEDS, THRESHOLD = (0, 1, 2), 0.75
# kinds on which the constants were chosen: every second one by name
CHOSEN_ON = "breast_cancer dct factors heavy_tails leverage one_hot outlier_08".split()
CHOSEN_ON += "outlier_first_10 rare_counts riboflavin_50 sparse_binary".split()
CHOSEN_ON += ["toeplitz_90", "toeplitz_99"]


def held(values, errors, truth, noise):
    """Whether intervals of two standard errors hold the truth, whose noise is known."""
    return np.abs(values - truth) < 1.96 * np.sqrt(errors**2 + noise)


def of_a_seed(found, truth, seed):
    """Numbers of one answer, and the answer's squared error without the truth's own."""
    answer, seconds = timed(refine, found, random_state=seed, verbose=False)
    Pi, mean, var, n = truth
    asked, noise = (Pi > 0.02) & (Pi < 0.98), Pi * (1 - Pi) / n
    fourth = ((answer.draws - mean) ** 4).mean(0)
    errors = (noise, var / n, np.maximum(fourth - var**2, 0) / n)
    names = ("Pi", "mean", "var")
    cover = [
        held(getattr(answer, q), getattr(answer, f"{q}_se"), t, e)[asked].mean()
        for q, t, e in zip(names, (Pi, mean, var), errors)
    ]
    wrong = (answer.Pi >= THRESHOLD) != (Pi >= THRESHOLD)
    unsaid = wrong & (np.abs(answer.Pi - THRESHOLD) > 2 * answer.Pi_se)
    numbers = [
        answer.equivalent_refits,
        *cover,
        answer.n_resamples,
        answer.refit_efficiency,
        seconds,
    ]
    return np.mean((answer.Pi - Pi) ** 2 - noise), [*numbers, wrong.sum(), unsaid.sum()]


def of_answers(found, truth, seeds=SEEDS):
    """Of a fit, over the seeds: worth, and the mean numbers."""
    errors, numbers = zip(*(of_a_seed(found, truth, seed) for seed in seeds))
    Pi, _, _, n = truth
    one, error = np.mean(Pi * (1 - Pi)), np.mean(errors)
    numbers = np.mean(numbers, axis=0)
    return float(one / error) if error > one / (30 * n) else None, numbers.tolist()


def case(name):
    """A, y and penalty of a truth, how it is fitted, and the truth."""
    design, _, law = name.rpartition("_")
    return *refitted.problem(design), refitted.options(design, law), refitted.load(name)


def row(name):
    """One line of the table."""
    design, _, law = name.rpartition("_")
    A, y, lam, options, truth = case(name)
    fit = rvamp(A, y, **options)
    by_default, numbers = of_answers(fit, truth)
    model = dict(loss="logistic", intercept=True) if options["intercept"] else {}
    laws = dict(zip(("resampling", "randomize"), refitted.LAWS[law]))
    plan = dict(n_resamples=200, columns=np.flatnonzero(fit.Pi > 0.003), verbose=False)
    _, of_refits = timed(naive_bootstrap, A, y, lam, **laws, **plan, **model)
    return dict(
        name=name,
        shape=A.shape,
        truth=truth[3],
        chosen_on=design in CHOSEN_ON,
        worth=by_default,
        worth_before=worth(fit.Pi, truth[0], truth[3]),
        says=numbers[0],
        cover=np.round(numbers[1:4], 3).tolist(),
        n_resamples=numbers[4],
        gain=numbers[5],
        seconds=[numbers[6], of_refits / 200],
        wrong=numbers[7],
        unsaid=numbers[8],
    )


def main(names, seeds):
    for name in names if seeds else ():
        A, y, _, options, truth = case(name)
        found = of_answers(rvamp(A, y, **options), truth, range(seeds))
        print(name, found[0], found[1][0], np.round(found[1][1:4], 3).tolist())
    if seeds:
        return
    kept = json.loads(TABLE.read_text()) if TABLE.exists() else []
    table = {line["name"]: line for line in kept}
    there = [n for n in refitted.NAMES if (TABLE.parent / f"{n}.npz").exists()]
    for name in names or there:
        table[name] = line = row(name)
        print(name, line["worth"], line["says"], line["cover"], flush=True)
        lines = [table[name] for name in refitted.NAMES if name in table]
        TABLE.write_text(json.dumps(lines, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seeds", type=int)
    main(**vars(parser.parse_args()))
