"""Make what the explorer of the diabetes data knows, rvamp_nb/diabetes.json: python
docs/diabetes.py (a minute)

Ten of the 64 columns. Fits at 24 penalties, three sizes of the resamples, with and
without a drawn penalty; 2,000 refits, a byte each, at eight of the penalties; the steps
of the iteration; fits at finite temperatures; questions, whose numbers
tests/test_explorers.py computes again.
"""

import json
from pathlib import Path

import numpy as np

from rvamp_nb import Fixed, Laplace, Poisson, TwoPoint, datasets, naive_bootstrap, rvamp
from rvamp_nb.explorers import (
    explorer_table,
    refits_for_the_page,
    with_steps,
    with_temperatures,
)

FILE = Path(__file__).resolve().parent.parent / "rvamp_nb" / "diabetes.json"
COLUMNS = ["bmi", "s5", "bp", "s3", "age*sex", "bmi*bp", "s6", "s4", "s1", "s2"]
POWERS = range(-13, 11)  # of 1.2, times the penalty that cross-validation chooses
STOPS = [0, 4, 7, 10, 13, 16, 19, 22]  # where refits are made
SIZES, LAWS, REFITS = (0.25, 0.5, 1.0), (TwoPoint(), Fixed()), 2000
QUESTIONS = {
    "ridgeline": [
        (
            "What is the bar, and why is it not part of the curve?",
            "The atom: the share of resamples in which the Lasso makes the coefficient"
            " exactly zero. It has no width, so no density can show it, and it has an"
            " axis of its own from 0 to 1. What is left, 1 minus the atom, is the area"
            " under the curve, and is called Π: how often the coefficient is selected.",
        ),
        (
            "Move λ to the right. Which atoms grow first, and which column is last?",
            "All atoms grow with the penalty, those of s1 and s2 first. At the largest"
            " λ here bmi and s5 are still selected in about half of the resamples, and"
            " hardly anything else is.",
        ),
        (
            "Press “none”, then “+ 10” a few times. How many refits does a histogram"
            " need until it looks like its curve?",
            "Some hundreds. The curves come from one run of rVAMP, which saw no"
            " resample; the bars are real refits on resampled data, in the order in"
            " which they were drawn.",
        ),
    ],
    "one": [
        (
            "When do p̄₁ and p̄₂ differ?",
            "Where there is an atom. They have the same mean and variance at every"
            " setting. With a small penalty bmi is selected always and both are nearly"
            " the same bell; where a coefficient is often zero, p̄₂, a Gaussian,"
            " spreads that share over values around zero, many of them of a sign that"
            " no refit has.",
        ),
        (
            "Draw 100 refits, then “another set” a few times. What moves?",
            "The bars and the refits' share of zeros, by some ± 5 %; not the curve."
            " The sentence under the picture says how many refits are on average as far"
            " from all 2,000 as p̄₁ is.",
        ),
        (
            "Let λ be drawn no more (switch the tick off). What becomes of the curve?",
            "It gets narrower and the atom smaller: one cause of variation is gone, and"
            " nobody pays 2λ. With larger resamples it gets narrower, too.",
        ),
    ],
    "pair": [
        (
            "Choose s1 and s2, whose columns are correlated by 0.9, and the smallest λ."
            " What do twins do?",
            "They stand in for each other: where one is large, the other is small or"
            " zero. Refits and p̄₂ both have a correlation of −0.29. p̄₁ takes every"
            " coefficient by itself: its correlation is 0, so it cannot be right here.",
        ),
        (
            "What is the cross of points, and which of the two knows it?",
            "On its arms one of the two coefficients is exactly zero, in its middle"
            " both are (the ring says how often). p̄₁ has these atoms, an ellipse not:"
            " p̄₂ knows how the two move together, and not that they stop at zero.",
        ),
    ],
    "iteration": [
        (
            "When do the two marks meet, and what does it mean?",
            "After about eight of the steps. rVAMP looks for messages at which p̄₁ and"
            " p̄₂ have the same mean and variance for every coefficient; from there on a"
            " step changes nothing.",
        ),
        (
            "The shapes still differ at the last step. Is the iteration not finished?",
            "It is. Only mean and variance are matched. p̄₁ keeps its atom, p̄₂ stays a"
            " Gaussian.",
        ),
    ],
    "temperature": [
        (
            "Which of the two spreads goes away as β grows, and which stays?",
            "The spread within a resample, the width of one posterior. The one across"
            " resamples stays: at β = ∞ it is all there is, and is what refits show.",
        ),
        (
            "Where is the atom at β = 1?",
            "There is none: a posterior of Bayes has a density at zero, and no point"
            " mass. The atom appears in the limit, as the posteriors of many resamples"
            " shrink to the point zero.",
        ),
    ],
}


def main():
    """Everything, in a minute."""
    data = datasets.load_diabetes()
    A, y, names = data.A, data.y, [str(name) for name in data.names]
    shown = np.array([names.index(name) for name in COLUMNS])
    lam, empty = datasets.choose_lambda(A, y), np.abs(A.T @ y).max() / 2
    lams = lam * 1.2 ** np.array(POWERS)
    fits = np.empty((len(lams), len(SIZES), len(LAWS)), dtype=object)
    for place in np.ndindex(*fits.shape):
        prior = Laplace(lams[place[0]], LAWS[place[2]])
        fits[place] = rvamp(A, y, prior=prior, counts=Poisson(SIZES[place[1]]))
    start = 13, 1, 0
    table = explorer_table(fits, start, shown, COLUMNS)
    table = with_steps(table, fits[start], shown)
    table = with_temperatures(table, fits[start], shown)
    asked = dict(n_resamples=REFITS, keep=shown, progress=False)
    draws = [naive_bootstrap(A, y, lams[k], seed=k, **asked).draws for k in STOPS]
    table["refits"] = refits_for_the_page(STOPS, draws)
    table["lamNames"] = [
        [f"{lam:.3g}", f"({lam / empty:.0%} of what empties every resample)"]
        for lam in lams
    ]
    table |= dict(lead=3, pair=[0, 2], questions=QUESTIONS)
    table["panels"] = [*QUESTIONS]
    text = json.dumps(table, ensure_ascii=False, indent=0)
    FILE.write_text(text + "\n", encoding="utf-8")
    print(f"{len(text):,} characters in {FILE.name}")


if __name__ == "__main__":
    main()
