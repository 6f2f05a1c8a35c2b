"""Plans from short pilots, and the power that studies of these sizes have in truth.

    python tests/truth/evolution/make_pilot_truth.py    # an hour

For each of `DESIGNS` forty studies of each of `SIZES` are drawn from the truth, and
refitted; then pilots of 80 to 400 rows are drawn, and `plan_study` asked. `pilots.npz`
holds the power of each size with its standard error, and of each plan the design, the
rows of the pilot, its seed, the rows planned, the power, `power_se`, and the part of it
that is the pilot's.
"""

import warnings
from pathlib import Path

import numpy as np

from rvamp_nb import plan_study, predict_study
from rvamp_nb.select.pilots import draw_study
from rvamp_nb.select.planning import Pilot, _hidden_power, pilot_of

HERE = Path(__file__).resolve().parent
N, EFFECTS, SIZE, THRESHOLD = 200, 5, 0.5, 0.7
SIZES, N_STUDIES = (100, 140, 180, 230, 300, 400, 550, 800), 40
PILOT_ROWS, SEEDS = (80, 120, 200, 400), 2
DESIGNS = (
    "independent",
    "toeplitz .5",
    "toeplitz .7",
    "toeplitz .8",
    "toeplitz .3",
    "blocks 10 .7",
    "blocks 5 .5",
    "factors 10 .5",
    "factors 3 .5",
    "both 5 .7",
    "factors 5 .3",
    "blocks 4 .8",
)


def covariance(design):
    """The true one, (N, N), of features with variance 1."""
    kind, *numbers = design.split()
    i, numbers = np.arange(N), [float(number) for number in numbers]
    if kind == "toeplitz":
        return numbers[0] ** np.abs(i - i[:, None])
    if kind == "blocks":
        same = i // numbers[0] == i[:, None] // numbers[0]
        return numbers[1] * same + (1 - numbers[1]) * np.eye(N)
    if kind == "factors":  # so many make such a share of each feature's variance
        loadings = np.random.default_rng(77).normal(size=(int(numbers[0]), N))
        loadings *= np.sqrt(numbers[1]) / np.linalg.norm(loadings, axis=0)
        return loadings.T @ loadings + (1 - numbers[1]) * np.eye(N)
    if kind == "both":  # factors and neighbours
        few, rho = numbers
        return (covariance(f"factors {few:g} .6") + covariance(f"toeplitz {rho}")) / 2
    return np.eye(N)


def as_pilot(covariance):
    """A pilot that knows the truth."""
    t, V = np.linalg.eigh(covariance)
    loadings = np.sqrt(np.maximum(t - t[0], 0))[:, None] * V.T
    return Pilot(loadings, np.full(N, max(t[0], 1e-9)))


def power_of(design):
    """Power and its standard error at each of `SIZES`, (2, 8)."""
    truth, rng = as_pilot(covariance(design)), np.random.default_rng(1)
    near, power = None, []
    for rows in SIZES:
        asked = dict(threshold=THRESHOLD, pilot=truth, near=near)
        study = predict_study(rows, N, EFFECTS, SIZE, **asked)
        near = study if study.converged else None
        hits = [draw_study(truth, study, rng)[0] for _ in range(N_STUDIES)]
        share = np.array(hits) / EFFECTS
        power.append((share.mean(), share.std(ddof=1) / np.sqrt(N_STUDIES)))
    return np.array(power).T


def planned(design, n, seed):
    """Rows, power, its error and the pilot's part of it, by a pilot of n rows."""
    root = np.linalg.cholesky(covariance(design) + 1e-12 * np.eye(N))
    rng = np.random.default_rng([seed, n, len(design)])
    pilot = pilot_of(rng.normal(size=(n, N)) @ root.T)
    steering = dict(random_state=seed, max_rows=2000, verbose=False)
    asked = dict(threshold=THRESHOLD, pilot=pilot)
    study = plan_study(N, EFFECTS, SIZE, **asked, **steering)
    part = _hidden_power(study, pilot)
    return study.rows, study.power, study.power_se, part


def load():
    """{design: (power and error at SIZES (2, 8), plans (n, 6))}."""
    with np.load(HERE / "pilots.npz") as file:
        curves, plans = file["curves"], file["plans"]
    return {
        design: (curves[k], plans[plans[:, 0] == k, 1:])
        for k, design in enumerate(DESIGNS)
    }


def true_power(curve, rows):
    """The power of studies of so many rows, by a line between sizes, and its error."""
    at, increasing = np.log(SIZES), np.maximum.accumulate(curve[0])
    return np.interp(np.log(rows), at, increasing), np.interp(
        np.log(rows), at, curve[1]
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    curves, plans = np.array([power_of(design) for design in DESIGNS]), []
    for seed in range(SEEDS):
        for n in PILOT_ROWS:
            for k, design in enumerate(DESIGNS):
                plans.append((k, n, seed, *planned(design, n, seed)))
    np.savez_compressed(HERE / "pilots.npz", curves=curves, plans=np.array(plans))
