"""Twins and dominant rows, corrected: against refits, brute force and bad input."""

import sys
from pathlib import Path

import numpy as np
import pytest

from rvamp_nb.datasets import gaussian_design
from rvamp_nb.extend.beyond import (
    LARGEST,
    CountLaw,
    Pinned,
    corrected,
    count_groups,
    dominant_rows,
    find_blocks,
    small_lassos,
)
from rvamp_nb.likelihood import Huber, Logistic, PoissonLoss, Squared
from rvamp_nb.prior import ElasticNet, Laplace, NonNegative, Ridge
from rvamp_nb.refits import penalised_fit
from rvamp_nb.resampling import (
    Discrete,
    Exponential,
    Fixed,
    NoResampling,
    Poisson,
    Subsample,
)
from rvamp_nb.solver import rvamp

sys.path.insert(0, str(Path(__file__).parent / "truth_beyond"))
import make_beyond_truth as refitted


def worth(Pi, truth, n):
    one = np.mean(truth * (1 - truth)) * n / (n - 1)
    return one / max(np.mean((Pi - truth) ** 2) - one / n, one / (30 * n))


def fit_of(name):
    design, _, law = name.rpartition("_")
    A, y, _ = refitted.problem(design)
    return rvamp(A, y, **refitted.options(design, law)), refitted.load(name)


# what each is worth at least after correction, and by how much more than before
AIMS = {
    "breast_cancer_poisson": (2_000, 15),
    "outlier_20_half": (10_000, 200),
    "sparse_binary_half": (1_500, 5),
    "one_hot_rare_poisson": (2_500, 3),
}


@pytest.mark.parametrize("name", AIMS)
def test_the_correction_is_one(name):
    fit, (Pi, mean, var, n) = fit_of(name)
    better, (least, factor) = corrected(fit), AIMS[name]
    assert worth(better.Pi, Pi, n) > max(least, factor * worth(fit.Pi, Pi, n))
    seen = (Pi > 0.1) & (var > 0)
    off, was = (np.abs(np.log(v.var[seen] / var[seen])).max() for v in (better, fit))
    assert off < 1.1 * was
    assert np.isin(better.Pi > 1, False).all() and (better.var >= 0).all()


@pytest.mark.parametrize("name", ["outlier_20_half", "breast_cancer_poisson"])
def test_nothing_asked_nothing_changed(name):
    fit, _ = fit_of(name)
    same = corrected(fit, blocks=[], rows=[], columns=[])
    np.testing.assert_allclose(same.Pi, fit.Pi, rtol=1e-12)
    np.testing.assert_allclose(same.mean, fit.mean, rtol=1e-12)
    np.testing.assert_allclose(same.var, fit.var, rtol=1e-9, atol=1e-15)
    assert same.steps == same.components == 0 and "nothing to correct" in str(same)


@pytest.mark.parametrize("positive", [False, True])
def test_small_lassos_against_penalised_fit(positive):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(12, 1)) + 0.03 * rng.normal(size=(12, 6))
    Y = rng.normal(size=(25, 12))
    t, k = rng.uniform(0, 2, size=(2, 25, 6))
    x, unsure = small_lassos(X.T @ X, Y @ X, t, k, positive)
    assert unsure == 0
    for y, t_b, k_b, found in zip(Y, t, k, x):
        truth = penalised_fit(X, y, t_b, k_b, np.ones(12), positive=positive)
        np.testing.assert_allclose(found, truth, atol=1e-7)


@pytest.mark.parametrize(
    "law",
    [
        Poisson(0.5),
        Poisson(7.0),
        Subsample(0.3),
        NoResampling(),
        Exponential(1.0),
        Discrete([3.0, 0.0, 1.0], [0.2, 0.5, 0.3]),
    ],
)
def test_groups_of_counts_make_up_their_law(law):
    groups = count_groups(law)
    chances = np.array([p for p, _ in groups])
    means = np.array([g.probabilities @ g.values for _, g in groups])
    squares = np.array([g.probabilities @ g.values**2 for _, g in groups])
    assert 1 <= len(groups) <= 3 and (np.diff(means) > 0).all()
    np.testing.assert_allclose(chances.sum(), 1, rtol=1e-12)
    np.testing.assert_allclose(chances @ means, law.mean, rtol=1e-6)
    np.testing.assert_allclose(chances @ squares - law.mean**2, law.var, atol=1e-6)


@pytest.mark.parametrize("loss", [Squared(), Logistic(), PoissonLoss(), Huber(0.7)])
def test_rows_pinned_to_the_common_law_change_nothing(loss):
    rng = np.random.default_rng(0)
    A = gaussian_design(60, 30, rho=0.5, seed=0).A
    y = (rng.random(60) < 0.5).astype(float)
    fit = rvamp(A, y, 0.2, likelihood=loss)
    values, chances = Poisson(0.5).nodes()
    pinned = Pinned(loss, {3: CountLaw(values, chances), 59: Poisson(0.5)})
    incoming = fit.messages.to_likelihood
    for one, other in zip(
        loss.message(y, incoming, Poisson(0.5)),
        pinned.message(y, incoming, Poisson(0.5)),
    ):
        for a, b in zip(one, other):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        dict(prior=Laplace(0.2, Fixed()), counts=Subsample(0.5)),
        dict(prior=ElasticNet(0.2, l1_ratio=0.6), counts=Exponential(1.0)),
        dict(prior=NonNegative(0.2), counts=Poisson(0.5)),
        dict(prior=Laplace(0.2), counts=Discrete([0.0, 1.0, 3.0], [0.5, 0.3, 0.2])),
        dict(prior=Laplace(0.2), likelihood=Huber(0.5)),
        dict(prior=Laplace(0.2), likelihood=PoissonLoss(), intercept=True),
        dict(prior=Laplace(0.2), likelihood=Logistic(), intercept=True),
        dict(prior=Laplace(0.2), counts=NoResampling()),
        dict(prior=Laplace(0.2, penalty_factor=[0.0, 0.0] + [1.0] * 28)),
    ],
)
def test_every_loss_law_and_penalty(options):
    """Numbers that are numbers, and not far from the diagonal's on a tame design."""
    M = 60 if "intercept" in options or "counts" in options else 25
    A = gaussian_design(M, 30, rho=0.8, seed=1).A
    y = (np.random.default_rng(1).random(M) < 0.5 + 0.4 * np.sign(A[:, 3])) * 1.0
    fit = rvamp(A, y, **options)
    better = corrected(fit, rows=[2, 5])
    for part in (better.Pi, better.mean, better.var):
        assert part.shape == (30,) and np.isfinite(part).all()
    assert ((better.Pi >= 0) & (better.Pi <= 1)).all() and (better.var >= 0).all()
    assert np.abs(better.Pi - fit.Pi).max() < 0.25
    if options.get("counts", Poisson()).var:
        assert better.components and better.rows[1]


def test_blocks_are_small_and_disjoint():
    A = gaussian_design(80, 200, rho=0.99, seed=0).A
    blocks = find_blocks(A, np.arange(0, 200, 2))
    together = np.concatenate(blocks)
    assert max(map(len, blocks)) <= LARGEST and min(map(len, blocks)) >= 2
    assert len(set(together)) == len(together) and not (together % 2).any()
    assert find_blocks(np.linalg.qr(A[:, :20])[0], np.arange(20)) == []


def test_rows_are_chosen_by_their_shares():
    fit, _ = fit_of("outlier_20_half")
    assert dominant_rows(fit) == ([17], [])
    assert corrected(fit, columns=[]).rows == ([17], [])
    assert corrected(fit, rows=[3], columns=[]).rows == ([], [3])


@pytest.fixture(scope="module")
def tame():
    d = gaussian_design(40, 30, seed=0)
    return d.A, d.y


def test_what_cannot_be_corrected_is_refused(tame):
    with pytest.raises(TypeError, match="fit must be a Fit"):
        corrected(tame[0])
    with pytest.raises(ValueError, match="beta must be inf"):
        corrected(rvamp(*tame, 0.1, beta=1.0))
    with pytest.raises(TypeError, match="must select.*Ridge"):
        corrected(rvamp(*tame, prior=Ridge(0.1)))
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="not converged"):
        corrected(rvamp(*tame, 0.1, max_iter=2))


@pytest.mark.parametrize(
    "options, words",
    [
        (dict(blocks="all"), "blocks must be"),
        (dict(blocks=None), "blocks must be"),
        (dict(blocks=[[0, 30]]), "numbers from 0 to 29"),
        (dict(columns="few"), "columns must be"),
        (dict(columns=[1.5]), "numbers from 0 to 29"),
        (dict(blocks=[[0, 1], [1, 2]]), "each once"),
        (dict(blocks=[range(20)]), "16 columns at most"),
        (dict(rows="some"), "rows must be"),
        (dict(rows=[40]), "numbers from 0 to 39"),
        (dict(rows=[1, 1]), "each once"),
    ],
)
def test_columns_and_rows_that_are_not_there(tame, options, words):
    with pytest.raises(ValueError, match=words):
        corrected(rvamp(*tame, 0.1), **options)
