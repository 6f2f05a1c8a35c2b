"""Do the intervals of a selector hold?

    python tests/bench/selected_effects.py [--sets 100]

In each of five designs, data sets with four true effects; a selector that is asked for
more than it can promise, so that zeros are selected, too; and its effects, at a level
of .95 and at 1 - .05 R / N, where R of N columns are selected. Counts the intervals of
all effects, of all zeros, and of those that are selected, and how many of them hold.
Writes selected_effects.json, from which the workshop's page on the selection reads what
choosing columns on the same rows costs.
"""

import argparse
import json
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from tqdm.std import tqdm

from rvamp_nb import StabilitySelection
from rvamp_nb.datasets import standardize

OUT = Path(__file__).with_suffix(".json")
DESIGNS = {  # rows, columns, size of an effect on columns of unit norm
    "independent": (120, 30, 4.0),
    "neighbours .5": (120, 40, 4.0),
    "more columns than rows": (80, 120, 4.0),
    "two classes": (240, 24, 10.0),
    "survival times": (240, 24, 6.0),
}


def data_set(design, seed):
    """A table, the effect of each column in its units, and the target."""
    rng, (M, N, size) = np.random.default_rng([83, seed]), DESIGNS[design]
    X = rng.normal(size=(M, N))
    if design == "neighbours .5":
        for j in range(1, N):
            X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    unit = X.std(axis=0) * np.sqrt(M)
    effect = np.zeros(N)
    effect[rng.choice(N, 4, replace=False)] = size * rng.choice([-1, 1], 4)
    predictor = standardize(X)[0] @ effect
    if design == "two classes":
        return X, effect / unit, (rng.logistic(size=M) < predictor).astype(int)
    if design == "survival times":
        death = rng.exponential(np.exp(-predictor))
        left = rng.exponential(2, size=M)
        return (
            X,
            effect / unit,
            np.column_stack([death <= left, np.minimum(death, left)]),
        )
    return X, effect / unit, predictor + rng.normal(size=M)


def counts(design, seed):
    """How many intervals of each kind of column there are, and how many hold."""
    X, truth, y = data_set(design, seed)
    options = dict(verbose=0, n_resamples=0, q=8, threshold=0.6)
    if design == "survival times":
        options["loss"] = "survival"
    s = StabilitySelection(**options).fit(X, y)
    selected, n = s.get_support(), Counter()
    adjusted = 1 - 0.05 * max(selected.sum(), 1) / len(truth)
    for level, kinds in (
        (0.95, ("effects", "zeros", "selected zeros", "selected")),
        (adjusted, ("selected, adjusted",)),
    ):
        found = s.debiased_effects(range(len(truth)), level)
        given = found.status == "interval"
        inside = (found.ci_low <= truth) & (truth <= found.ci_high)
        among = {
            "effects": truth != 0,
            "zeros": truth == 0,
            "selected zeros": selected & (truth == 0),
            "selected": selected,
            "selected, adjusted": selected,
        }
        for kind in kinds:
            n[kind] += int(np.sum(given & among[kind]))
            n[f"{kind} inside"] += int(np.sum(inside & given & among[kind]))
    return n


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", type=int, default=100, help="of each design")
    parser.add_argument("--only", choices=DESIGNS, help="the others stay as they are")
    given = parser.parse_args()
    sets, found = given.sets, {}
    if given.only:
        found = json.loads(OUT.read_text())["counts"]
    warnings.simplefilter("ignore")
    for design in [given.only] if given.only else DESIGNS:
        total = Counter()
        for seed in tqdm(range(sets), desc=design):
            total += counts(design, seed)
        found[design] = dict(total)
        print(design, found[design], flush=True)
    OUT.write_text(json.dumps(dict(sets=sets, counts=found), indent=1) + "\n")


if __name__ == "__main__":
    main()
