"""What halving and doubling a constant does to searches, networks and groups.

    python tests/bench/halved.py select.penalty.SETTLED select.edges.TRIED ...

By hand: seconds a constant. For each half and twice it prints, in units of what the
constant as it stands does: counted steps and losses (0 for networks) and processor
seconds, of all tables, the least and the most of one; and by how much a probability
moves at most, and how many lists of what is selected change. A name that ends in ~ is a
share near 1: what is missing to 1 is halved and doubled. `constants.py` does the same
for refits, whose error is known there.

The tables: eleven of 40 to 150 rows and 20 to 300 columns, of squared, logistic and
Poisson losses, each by the default job without refits; six of them, of at most 60
columns, as networks from 100 halves; three of them in groups of three columns. A
constant that is the default of an argument is not reached, and "the same" may mean that
no table needs it: a value far off tells.
"""

import importlib
import sys
import time
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
import designs  # noqa: E402

from rvamp_nb import StabilitySelection, neighbourhoods  # noqa: E402
from rvamp_nb.algorithm.likelihood import WORK  # noqa: E402

LOSSES = {"equicorrelated": "logistic", "normal": "logistic", "genotypes": "poisson"}
GROUPED = "toeplitz", "normal", "genotypes"


def tables():
    """List (name, table, target, loss), eleven of them."""
    rng = np.random.default_rng(0)
    made = dict(
        toeplitz=designs.toeplitz(rng, 80, 40, 0.9),
        equicorrelated=designs.equicorrelated(rng, 60, 120, 0.5),
        low_rank=designs.low_rank(rng, 50, 30, 5, 0.3),
        genes=designs.genes(rng, 40, 300),
        normal=rng.normal(size=(150, 20)),
        one_hot=designs._one_hot(rng, 120, 25, 4),
        genotypes=designs._genotypes(rng, 80, 60),
        curves=designs._curves(rng, 50, 40),
    )
    found = []
    for name, A in made.items():
        unit = A.std(axis=0)
        unit[unit == 0] = 1
        effects = np.zeros(A.shape[1])
        effects[rng.choice(len(effects), 4, replace=False)] = rng.choice([-1, 1], 4)
        f = (A - A.mean(axis=0)) / unit @ effects
        noise = rng.normal(size=len(f)) * f.std() / 1.5
        found.append((name, A, f + noise, "squared"))
        loss = LOSSES.get(name)
        if loss == "logistic":
            found.append((name, A, 1 * (f + rng.logistic(size=len(f)) > 0), loss))
        if loss == "poisson":
            found.append((name, A, rng.poisson(np.exp(f / 4)), loss))
    return found


def selected(A, y, loss, **options):
    """Return the probabilities and the list of a selection without refits."""
    s = StabilitySelection(loss=loss, n_resamples=0, verbose=0, **options).fit(A, y)
    return s.probabilities_, s.support_


def in_groups(A, y, loss):
    """Return the same of columns in groups of three."""
    return selected(A, y, loss, column_groups=np.arange(A.shape[1]) // 3)


def edges(A, y, loss):
    """Return the probabilities and the list of a network."""
    network = neighbourhoods(A, n_resamples=100, verbose=False)
    return network.probabilities, network.probabilities >= network.threshold


def job_of(name):
    """Return the function that asks for a constant, and its tables."""
    if name.startswith("select.edges."):
        return edges, [t for t in tables() if t[3] == "squared" and t[1].shape[1] < 100]
    if name.startswith("algorithm.group_channel."):
        return in_groups, [t for t in tables() if t[0] in GROUPED and t[3] == "squared"]
    return selected, tables()


def measured(job, asked):
    """Return steps and seconds, (2, n), and the answers for n tables."""
    costs, answers = [], []
    for _, *table in asked:
        work, seconds = WORK.get(), time.process_time()
        answers.append(job(*table))
        costs.append((WORK.get() - work + 1, time.process_time() - seconds))
    return np.transpose(costs), answers


def scaled(value, factor, to_1):
    """Return a number times a factor, or what it lacks to 1; whole ones stay whole."""
    if to_1:
        return 1 - (1 - value) * factor
    return type(value)(value * factor)


def main(names):
    warnings.simplefilter("ignore")  # a constant that is far off ends in many
    for spec in names:
        name = spec.removesuffix("~")
        room, _, constant = name.rpartition(".")
        room = importlib.import_module(f"rvamp_nb.{room}")
        job, asked = job_of(name)
        measured(job, asked)  # what is made once is made here
        before, right = measured(job, asked)
        value = getattr(room, constant)
        for factor in (0.5, 2):
            with patch.object(room, constant, scaled(value, factor, spec != name)):
                after, answers = measured(job, asked)
            line = ""
            for what, was, now in zip(("steps", "seconds"), before, after):
                line += f"{what} {now.sum() / was.sum():.2f}"
                line += f" ({(now / was).min():.2f} to {(now / was).max():.2f})  "
            pairs = [*zip(right, answers)]
            moved = max(np.abs(was[0] - now[0]).max() for was, now in pairs)
            changed = sum(np.any(was[1] != now[1]) for was, now in pairs)
            lists = f"{changed} of {len(pairs)} lists change"
            print(f"{spec} x {factor}: {line}Π by {moved:.4f}  {lists}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
