"""Do the intervals of a selector hold?

    python tests/bench/selected_effects.py [--sets 100]

In each of ten designs, data sets with four true effects; a selector that is asked for
more than it can promise, so that zeros are selected, too; and its effects, at a level
of .95 and at 1 - .05 R / N, where R of N columns are selected. Counts the intervals of
all effects, of all zeros, and of those that are selected, and how many of them hold.
The first four designs have debiased Lassos, the others joint fits without a penalty.
Writes selected_effects.json, from which the workshop's page on the selection reads what
choosing columns on the same rows costs.
"""

import argparse
import json
import warnings
from collections import Counter
from contextlib import suppress
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
    "counts": (240, 24, 3.0),
    "counts, exposure": (240, 24, 3.0),
    "squared, groups": (240, 24, 4.0),
    "two classes, groups": (240, 24, 9.0),
    "three classes": (300, 20, 9.0),
}


def data_set(design, seed):
    """Draw a table, the effect of each coefficient in its units, the target, and
    the roles of the rows.
    """
    rng = np.random.default_rng([83, seed])
    M, N, size = DESIGNS[design]
    X = rng.normal(size=(M, N))
    if design == "neighbours .5":
        for j in range(1, N):
            X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    unit = X.std(axis=0) * np.sqrt(M)
    effect = np.zeros(N)
    effect[rng.choice(N, 4, replace=False)] = size * rng.choice([-1, 1], 4)
    predictor = standardize(X)[0] @ effect
    truth = effect / unit
    roles = {}
    shared = np.zeros(M)
    if design.endswith("groups"):
        roles["groups"] = rng.integers(60, size=M)
        shared = rng.normal(size=60)[roles["groups"]] / 2
    what = design.partition(",")[0]
    if what == "two classes":
        noise = rng.logistic(size=M)
        return X, truth, (noise < predictor + shared).astype(int), roles
    if what == "three classes":
        signs = rng.permuted(np.tile([-1, 0, 1], (N, 1)), axis=1)
        scores = standardize(X)[0] @ (effect[:, None] * signs)
        chosen = np.argmax(scores + rng.gumbel(size=(M, 3)), axis=1)
        return X, (truth[:, None] * signs).ravel(), np.array([*"abc"])[chosen], roles
    if what == "counts":
        if design == "counts, exposure":
            roles["offset"] = rng.normal(size=M) / 2
        rate = np.exp(predictor + roles.get("offset", 0))
        return X, truth, rng.poisson(2 * rate / rate.mean()), roles
    if what == "survival times":
        death = rng.exponential(np.exp(-predictor))
        left = rng.exponential(2, size=M)
        y = np.column_stack([death <= left, np.minimum(death, left)])
        return X, truth, y, roles
    return X, truth, predictor + shared + rng.normal(size=M), roles


def counts(design, seed):
    """How many intervals of each kind of column there are, and how many hold."""
    X, truth, y, roles = data_set(design, seed)
    options = dict(verbose=0, n_resamples=0, q=8, threshold=0.6)
    loss = {"survival times": "survival", "counts": "poisson"}
    what = design.partition(",")[0]
    if what in loss:
        options["loss"] = loss[what]
    s = StabilitySelection(**options).fit(X, y, **roles)
    support = s.get_support()
    n = Counter()
    adjusted = 1 - 0.05 * max(support.sum(), 1) / len(support)
    classes = len(truth) // len(support)
    selected = np.repeat(support, classes)
    true = np.repeat(truth.reshape(-1, classes).any(axis=1), classes)
    for level, kinds in (
        (0.95, ("effects", "zeros", "selected zeros", "selected")),
        (adjusted, ("selected, adjusted",)),
    ):
        found = s.debiased_effects(range(len(support)), level)
        given = found.status == "interval"
        inside = (found.ci_low <= truth) & (truth <= found.ci_high)
        among = {
            "effects": true,
            "zeros": ~true,
            "selected zeros": selected & ~true,
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
    parser.add_argument("--only", nargs="*", choices=DESIGNS, help="others stay")
    given = parser.parse_args()
    sets, found = given.sets, {}
    if given.only:
        found = json.loads(OUT.read_text())["counts"]
    warnings.simplefilter("ignore")
    for design in given.only or DESIGNS:
        total = Counter()
        for seed in tqdm(range(sets), desc=design):
            with suppress(ValueError):  # too large a bias
                total += counts(design, seed)
        found[design] = dict(total)
        print(design, found[design], flush=True)
        OUT.write_text(json.dumps(dict(sets=sets, counts=found), indent=1) + "\n")


if __name__ == "__main__":
    main()
