"""What the free energy and the stability radius are worth: committed summaries.

    python tests/truth/energy/make_energy_truth.py           # all, a quarter of an hour
    python tests/truth/energy/make_energy_truth.py radius    # or: energy, slab

`radius.npz`: for each table of `truth/trust` the stability radius of its fit, the mean
squared error of Π that thousands of refits leave (`mse`, and its standard error), the
mean of Π (1 - Π) (`W`, the squared error of one refit), the number of refits, and two
numbers that the light of chapter 4.4 reads: `effective` rows and `own` share.

`slab.npz`: for forty draws of chapter 4.2's spike-and-slab problem at the noise 0.03
whether the fit settled, and the radius where it stopped.

`energy.npz`: for each problem of chapter 4.2, and for half-sampling with independent
draws and at two larger sizes, -G, and the mean and standard error of the refitted
objective less its linear part in counts and penalties, of `n` refits. Columns are in
`COLUMNS`.
"""

import sys
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from rvamp_nb.algorithm.energy import free_energy, stability_radius  # noqa: E402
from rvamp_nb.algorithm.likelihood import Huber, Logistic, PoissonLoss, Squared  # noqa: E402
from rvamp_nb.algorithm.prior import Laplace, SpikeSlab  # noqa: E402
from rvamp_nb.algorithm.resampling import Discrete, Poisson, Subsample, TwoPoint  # noqa: E402
from rvamp_nb.algorithm.solver import rvamp  # noqa: E402
from rvamp_nb.inference.bootstrap import naive_bootstrap  # noqa: E402

COLUMNS = ("minus_G", "mean", "se", "n")
RADIUS = ("radius", "mse", "mse_se", "W", "n", "effective", "own")
HALF_EACH = Discrete([0, 1], [0.5, 0.5])  # each row by a coin of its own


# Objectives ---------------------------------------------------------------------------


def planted(M, N):
    """The chapter's squared-loss problem, at any size."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(M, N)) / M**0.5
    x_0 = 2 * rng.normal(size=N) * (rng.random(N) < 0.15)
    y = A @ x_0 + 0.2 * rng.normal(size=M)
    return A, y, x_0, rng


def problems():
    """Name: A, y, lam, loss, counts, refits."""
    A, y, x_0, rng = planted(40, 60)
    lam = 0.1 * np.abs(A.T @ y).max()
    labels = (y > 0) * 1.0
    events = rng.poisson(np.exp(0.5 * np.clip(A @ x_0, -2, 2))).astype(float)
    given = {
        "squared": (A, y, lam, Squared(), Poisson(0.5), 4000),
        "logistic": (A, labels, 0.12, Logistic(), Poisson(1.0), 1500),
        "Huber": (A, y, lam / 2, Huber(0.5), Poisson(1.0), 4000),
        "Poisson": (A, events, 0.15, PoissonLoss(), Poisson(1.0), 1000),
        "halves": (A, y, lam, Squared(), Subsample(0.5), 10_000),
        "halves, independent": (A, y, lam, Squared(), HALF_EACH, 10_000),
    }
    for M, n in ((160, 3000), (320, 1000)):
        A, y, *_ = planted(M, 3 * M // 2)
        for name, counts in (
            ("halves", Subsample(0.5)),
            ("halves, independent", HALF_EACH),
        ):
            given[f"{name}, M = {M}"] = A, y, 0.32, Squared(), counts, n
    return given


def objective(A, y, lam, loss, counts, n, seed=1):
    """-G, the mean least objective of n refits less its linear part, its standard
    error, and n.
    """
    model = dict(prior=Laplace(lam, TwoPoint()), loss=loss, resampling=counts)
    fit = rvamp(A, y, **model)
    around, (M, N) = fit.mean, A.shape
    refits = naive_bootstrap(
        A,
        y,
        **model,
        n_resamples=n,
        random_state=seed,
        keep=np.arange(N),
        verbose=False,
    )
    row_losses, sizes, flat = loss.value(y, A @ around), np.abs(around), np.empty(n)
    for b, x in enumerate(refits.draws):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(b,)))
        c, theta = counts.draw(M, rng), lam * TwoPoint().draw(N, rng)
        flat[b] = c @ loss.value(y, A @ x) + theta @ np.abs(x)
        flat[b] -= (c - counts.mean) @ row_losses + (theta - 1.5 * lam) @ sizes
    return -free_energy(fit), flat.mean(), flat.std() / n**0.5, n


def make_energy():
    rows = {}
    for name, given in problems().items():
        rows[name] = objective(*given)
        minus_G, mean, se, n = rows[name]
        print(
            f"{name:28} {minus_G:8.3f} {mean:8.3f} ± {se:.3f}:"
            f" {minus_G / mean - 1:+.4f} ± {se / mean:.4f} of {n}",
            flush=True,
        )
    np.savez_compressed(
        HERE / "energy.npz", names=list(rows), table=np.array(list(rows.values()))
    )


# The radius ---------------------------------------------------------------------------


def make_radius():
    from truth.trust.make_trust_truth import RECIPES, load, problem, solve

    rows = {}
    for name in RECIPES:
        recipe, kept = load(name)
        fit = solve(recipe, *problem(recipe), recipe["lam"])
        radius = stability_radius(fit, tol=1e-3, max_iter=300)
        of_light = kept["rows"][[1, 3]]
        rows[name] = radius, *kept["mse"], float(kept["W"]), recipe["n"], *of_light
        print(
            f"{name:24} radius {radius:.3f}, error of Π {rows[name][1]:.1e} ±"
            f" {rows[name][2]:.1e}, of one refit {rows[name][3]:.1e}",
            flush=True,
        )
    np.savez_compressed(
        HERE / "radius.npz", names=list(rows), **dict(zip(RADIUS, zip(*rows.values())))
    )


# Spike and slab -----------------------------------------------------------------------


def slab_problem(seed, sigma):
    """Twelve rows, 24 columns, a truth from the spike and slab."""
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(12, 24)) / 12**0.5
    truth = (rng.random(24) < 0.25) * rng.normal(size=24) * 2
    return design, design @ truth + sigma * rng.normal(size=12)


def slab_fit(seed, sigma, **options):
    """Its fit at beta = 1."""
    return rvamp(
        *slab_problem(seed, sigma),
        prior=SpikeSlab(0.2),
        loss=Squared(sigma),
        resampling=Poisson(1.0),
        beta=1.0,
        **options,
    )


def make_slab():
    rows = []
    for seed in range(40):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = slab_fit(seed, 0.03, max_iter=200)
            radius = stability_radius(fit, tol=1e-3, max_iter=100)
        rows.append((fit.converged, radius))
        print(f"seed {seed}: settled {fit.converged}, radius {radius:.3f}", flush=True)
    settled, radius = zip(*rows)
    np.savez_compressed(HERE / "slab.npz", settled=settled, radius=radius)


def load(name):
    """What was kept under this name, as a dict."""
    with np.load(HERE / f"{name}.npz") as file:
        return {key: file[key] for key in file.files}


if __name__ == "__main__":
    make = {"energy": make_energy, "radius": make_radius, "slab": make_slab}
    for name in sys.argv[1:] or make:
        make[name]()
