"""Make what the explorer of the diabetes data knows, rvamp_nb/course/diabetes.json:
python docs/pictures/explorer.py (a minute)

Ten of the 64 columns. Fits at 24 penalties, three sizes of the resamples, with and
without a drawn penalty; 2,000 refits, a byte each, at eight of the penalties; the steps
of the iteration; fits at finite temperatures; questions, whose numbers
tests/pages/test_widgets.py computes again.
"""

import json
import time
from pathlib import Path

import numpy as np

from rvamp_nb import Laplace, Poisson, TwoPoint, datasets, naive_bootstrap, rvamp
from rvamp_nb.algorithm.resampling import FixedFactor
from rvamp_nb.course.widgets import (
    explorer_table,
    refits_for_the_page,
    with_steps,
    with_temperatures,
)

FILE = Path(__file__).resolve().parents[2] / "rvamp_nb/course/diabetes.json"
COLUMNS = ["bmi", "s5", "bp", "s3", "age*sex", "bmi*bp", "s6", "s4", "s1", "s2"]
POWERS = range(-13, 11)  # of 1.2, times the penalty that cross-validation chooses
STOPS = [0, 4, 7, 10, 13, 16, 19, 22]  # where refits are made
SIZES, LAWS, REFITS = (0.25, 0.5, 1.0), (TwoPoint(), FixedFactor()), 2000
QUESTIONS = {
    "ridgeline": [
        (
            "What is the bar, and why is it not part of the curve?",
            "The atom: the share of resamples in which the Lasso makes the coefficient"
            " exactly zero. It has no width, so no density can show it, and it has an"
            " axis of its own. What is left, 1 minus the atom, is the area under the"
            " curve, and is called Π: how often the coefficient is selected.",
        ),
        (
            "Move λ to the right. Which atoms grow first, and which coefficients are"
            " left at the end?",
            "Nearly all atoms grow. Those of s1 and s2 are the first at 96 %, at λ ="
            " 58.3. At the largest λ bmi and s5 are still selected in about half of"
            " the resamples, those that drew λ for them and not 2λ; bp in 11 %, and"
            " the others hardly. Two atoms do not grow at first: that of s3 falls from"
            " 15 to 11 %, in the refits, too, and that of s4 stays near 70 % from λ ="
            " 28 to 145. A column can take over from one that leaves.",
        ),
        (
            "Press “none”, then “+ 10” a few times. How many refits does a histogram"
            " need until it is as good as its curve?",
            "The sentence under the controls counts it: so many refits are, on average,"
            " as far from all 2,000 as the curve is. At the λ shown first that is 1,000"
            " or more for most of the coefficients, and about 850 for s4. Beyond 1,000"
            " the 2,000 refits cannot measure it, as they jitter themselves. The curves"
            " come from one run of rVAMP, which saw no resample.",
        ),
    ],
    "one": [
        (
            "When do p̄₁ and p̄₂ differ?",
            "Where there is an atom, or where p̄₁ is no bell. Their mean and variance"
            " are the same at every setting. With a small penalty bmi is selected"
            " always and both are nearly the same bell. Where a coefficient is often"
            " zero, p̄₂, a Gaussian, spreads that share over values around zero, many"
            " of them of a sign that no refit has. And at λ = 101 the p̄₁ of bmi has"
            " two humps, one of the resamples that drew λ and one of those that drew"
            " 2λ; p̄₂ has one.",
        ),
        (
            "Draw 100 refits, then “another 100” a few times. What moves, and how many"
            " refits is one run as good as?",
            "The bars move, and the refits’ share of zeros by some ± 5 %; the curve"
            " does not. The last column of the table is how far a distribution"
            " function is off that of all 2,000 refits. One run is as good as the"
            " number of refits that are, on average, as far off as p̄₁: for s3 1,000"
            " or more at λ = 58.3, and about 370 at the smallest λ. With a large atom"
            " even few refits are near, so the distances of two coefficients do not"
            " compare.",
        ),
        (
            "At λ = 58.3, let λ be drawn no more (switch the tick off). What becomes of"
            " the curve?",
            "For bmi, s5, bp and s3 it gets narrower, and their atoms smaller: one"
            " cause of variation is gone, and nobody pays 2λ. A resample size of 1"
            " instead of 0.5 does the same. Where a coefficient is mostly zero, as"
            " age*sex, the spread can grow instead, because it is selected more often."
            " And the atom of s4 grows, from 71 to 82 %: other columns take its place.",
        ),
    ],
    "pair": [
        (
            "Choose s1 and s2, two columns that are nearly twins (their correlation is"
            " 0.9), and the smallest λ. What do twins do?",
            "They stand in for each other: exactly one of them is zero in 81 % of the"
            " refits, but in 49 % by p̄₁, which takes each by itself. Refits and p̄₂"
            " both have a correlation of −0.29, and that of p̄₁ is 0: it cannot be"
            " right here. With a larger λ both twins are zero in nearly every"
            " resample.",
        ),
        (
            "What is the cross, and which of the two knows it?",
            "On its arms one of the two coefficients is exactly zero, in its middle"
            " both are (the ring shows how often). p̄₁ has these atoms, an ellipse has"
            " none: p̄₂ knows how the two move together, and not that they stop at"
            " zero.",
        ),
    ],
    "iteration": [
        (
            "When do the two marks meet, and what does it mean?",
            "After about eight of the steps. rVAMP looks for messages at which p̄₁ and"
            " p̄₂ have the same mean and variance for every coefficient; from there on"
            " a step changes nothing.",
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
ABOUT = (
    "Body mass index (bmi), blood pressure (bp), six measurements of blood (s1 to s6)"
    " and products of columns."
)


def seconds(call, *args, **options):
    """What a call takes of one core."""
    start = time.process_time()
    call(*args, **options)
    return time.process_time() - start


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
        fits[place] = rvamp(A, y, prior=prior, resampling=Poisson(SIZES[place[1]]))
    start = 13, 1, 0
    table = explorer_table(fits, start, shown, COLUMNS)
    table = with_steps(table, fits[start], shown)
    table = with_temperatures(table, fits[start], shown)
    asked = dict(n_resamples=REFITS, keep=shown, verbose=False)
    priors = {k: Laplace(lams[k], LAWS[0]) for k in STOPS}
    draws = [
        naive_bootstrap(A, y, prior=prior, random_state=k, **asked).draws
        for k, prior in priors.items()
    ]
    table["refits"] = refits_for_the_page(STOPS, draws)
    table["lamNames"] = [
        [f"{lam:.3g}", f"{100 * lam / empty:.0f} % of the λ at which all are zero"]
        for lam in lams
    ]
    run = seconds(rvamp, A, y, prior=Laplace(lam, LAWS[0]), resampling=Poisson(0.5))
    asked |= dict(prior=Laplace(lam, LAWS[0]), random_state=0, n_jobs=1)
    refit = seconds(naive_bootstrap, A, y, **asked)
    table |= dict(lead=3, pair=[0, 2], questions=QUESTIONS, about=ABOUT)
    table["seconds"] = dict(run=f"{run:.1g}", refits=f"{refit:.1g}")
    table["columns"] = np.corrcoef(A[:, shown].T).round(2).tolist()
    table["panels"] = [*QUESTIONS]
    text = json.dumps(table, ensure_ascii=False, indent=0)
    FILE.write_text(text + "\n", encoding="utf-8")
    print(f"{len(text):,} characters in {FILE.name}")


if __name__ == "__main__":
    main()
