"""Studies planned from a pilot, carried out: do they find what was promised?

    python tests/truth/evolution/make_like_truth.py [NAME ...]    # ten minutes

For each setting a pilot is drawn, `plan_study(..., pilot=pilot)` asked, and thirty
studies of that size are drawn from the truth, not from the pilot; "riboflavin" has no
truth but the pilot, so its studies are drawn from what the pilot says. `like.npz` holds
rows, threshold, q, promised true selections and their standard error, and then for each
study how many of the true features and how many others half-samples find, by refits.
"""

import sys
from pathlib import Path

import make_plan_truth as plain
import numpy as np

from rvamp_nb import naive_bootstrap, plan_study
from rvamp_nb.datasets import load_riboflavin, standardize
from rvamp_nb.select.planning import pilot_of

HERE = Path(__file__).resolve().parent
N_STUDIES, PILOT_ROWS = 30, 100
SETTINGS = {  # the design in the other script, or riboflavin; effects, and their size
    "riboflavin": (None, 8, 0.5),
    "factors": ("factors", 10, 0.35),
    "blocks of 10, 0.7": ("blocks", 10, 0.35),
    "Toeplitz 0.8": ("toeplitz 0.8", 10, 0.35),
}


def table(design, rows, rng):
    """Features from the truth."""
    plain.ROWS = rows
    return plain.columns(design, rng)


def carried_out(X, y_noise, study, rng):
    """True and false selections of one study, by 200 half-samples."""
    true = rng.choice(study.n_features, study.n_effects, replace=False)
    effects = study.size * rng.choice([-1.0, 1.0], study.n_effects)
    A, y = standardize(X, X[:, true] @ effects + y_noise)
    plain.Q, plain.LAM, number = study.q, study.lam, int(rng.integers(2**31))
    laws = dict(resampling=plain.HALF, verbose=False)
    lam = plain.at_size(A, y, plain.FixedFactor(), laws, number)
    Pi = naive_bootstrap(A, y, lam, n_resamples=200, random_state=number + 1, **laws).Pi
    kept = Pi >= study.threshold
    return kept[true].sum(), kept.sum() - kept[true].sum()


def found(name):
    """The plan, and what its studies found."""
    design, n_effects, size = SETTINGS[name]
    rng = np.random.default_rng([len(name), n_effects])
    X = load_riboflavin().A if design is None else table(design, PILOT_ROWS, rng)
    pilot = pilot_of(X)
    study = plan_study(X.shape[1], n_effects, size, pilot=pilot, verbose=False)
    counts = []
    for _ in range(N_STUDIES):
        drawn = (
            pilot.draw(study.rows, rng)
            if design is None
            else table(design, study.rows, rng)
        )
        counts.append(carried_out(drawn, rng.normal(size=study.rows), study, rng))
    promise = study.true_selections, study.power_se * n_effects
    return np.r_[study.rows, study.threshold, study.q, promise], np.array(counts)


def load():
    """{setting: (plan (5,), counts (30, 2))} from the summary beside this script."""
    with np.load(HERE / "like.npz") as file:
        return {name: (file[f"{name}: plan"], file[name]) for name in SETTINGS}


if __name__ == "__main__":
    np.set_printoptions(linewidth=88, precision=2, suppress=True)
    for name in sys.argv[1:] or SETTINGS:
        promise, counts = found(name)
        place = HERE / "like.npz"
        held = dict(np.load(place)) if place.exists() else {}
        np.savez_compressed(place, **(held | {f"{name}: plan": promise, name: counts}))
        se = counts.std(0, ddof=1) / np.sqrt(len(counts))
        print(name, promise, counts.mean(0), se, flush=True)
