"""How many null features are kept when rows, and when patients, are drawn: 30 patients
with 8 samples each, 200 features, none of which has anything to do with y.

Run from the repository: python tests/truth/groups/make_groups_truth.py [data sets]
About five minutes on one core; writes null.npz beside itself.
"""

import pathlib
import sys

import numpy as np

from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.resampling import Grouped, Subsample
from rvamp_nb.algorithm.solver import rvamp
from rvamp_nb.select.error_control import error_control

PATIENTS, SAMPLES, FEATURES = 30, 8, 200
PATIENT = np.repeat(np.arange(PATIENTS), SAMPLES)
THRESHOLD, PFER = 0.6, 1.0


def null_patients(seed, shared=0.9):
    """A and y of patients whose samples share that part of every variance."""
    rng = np.random.default_rng([19, seed])
    M = PATIENTS * SAMPLES
    tables = []
    for columns in (FEATURES, 1):
        own = rng.normal(size=(PATIENTS, columns))[PATIENT]
        each = rng.normal(size=(M, columns))
        tables.append(np.sqrt(shared) * own + np.sqrt(1 - shared) * each)
    A, y = tables[0] - tables[0].mean(0), tables[1][:, 0] - tables[1].mean()
    return A / np.linalg.norm(A, axis=0), y / np.linalg.norm(y)


def penalty(lam):
    """The same penalty for all coefficients, in every resample."""
    return Laplace(lam)


def at_q(A, y, counts, q, lam, within=0.03, slope=5.0):
    """The fit at the penalty where the selection probabilities sum to q, nearly, and
    that penalty: secant steps in the logarithms from the penalty given.
    """
    past, state = None, None
    for _ in range(8):
        options = dict(prior=penalty(lam), counts=counts, tol=1e-3)
        fit = rvamp(A, y, warm_start=state, **options)
        here = np.log(lam), np.log(fit.Pi.sum() / q)
        if abs(here[1]) < within:
            break
        if past and here[0] != past[0]:
            rate = -(here[1] - past[1]) / (here[0] - past[0])
            slope = rate if 1 < rate < 20 else slope
        past, state = here, fit.messages if fit.converged else None
        lam = lam * np.exp(np.clip(here[1] / slope, -0.3, 0.3))
    return fit, lam


def main(n=100):
    """False selections of each data set by rows and by patients."""
    q = error_control(FEATURES, threshold=THRESHOLD, pfer=PFER)[2]
    laws = dict(rows=Subsample(0.5), patients=Grouped(Subsample(0.5), PATIENT))
    kept = {name: np.zeros(n) for name in laws}
    lams = dict.fromkeys(laws, 0.3)
    for b in range(n):
        A, y = null_patients(b)
        for name, law in laws.items():
            fit, lams[name] = at_q(A, y, law, q, lams[name])
            kept[name][b] = np.sum(fit.Pi >= THRESHOLD)
        if b % 5 == 4:
            print(b + 1, *(f"{k} {v[: b + 1].mean():.2f}" for k, v in kept.items()))
    out = pathlib.Path(__file__).with_name("null.npz")
    np.savez_compressed(out, q=q, **{f"false_{k}": v for k, v in kept.items()})


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
