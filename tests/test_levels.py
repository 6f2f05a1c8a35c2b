"""Resamples at three levels and rVAMP: values, standard errors, and what they cost,
against many more refits.
"""

import warnings

import numpy as np
import pytest
from scipy.stats import norm
from test_refined import (
    FITS,
    HALF,
    LABELS,
    A,
    N,
    Own,
    Y,
    fitted,
    lasso,
    off,
    seen,
    seen_of,
)

from rvamp_nb import Fixed, NoResampling, Ridge, naive_bootstrap, rvamp, survival_fit
from rvamp_nb.extend import levels as room
from rvamp_nb.extend.levels import refined_by_levels
from rvamp_nb.extend.refitting import refitter


def answered(fit, **more):
    return refined_by_levels(fit, progress=False, **more)


@pytest.mark.parametrize("name", FITS)
def test_it_agrees_with_many_more_refits(name):
    """In standard errors of both."""
    answer = answered(fitted(name))
    z = off(answer, *seen_of(name))
    assert np.sqrt(np.mean(z**2, axis=1)).max() < 1.45 and np.abs(z).max() < 5.5
    assert answer.Pi_se.max() <= 0.02 and answer.worth > 600


def says(p, noises, sizes, rng):
    """What resamples say at three levels, the first two with errors."""
    latent = rng.normal(size=(max(sizes), len(p)))
    cut = norm.ppf(1 - p)
    parts = [latent + s * rng.normal(size=latent.shape) > cut for s in (*noises, 0)]
    return [1.0 * part[:n] for part, n in zip(parts, sizes)]


@pytest.mark.parametrize("noises", [(0.5, 0.1), (3.0, 0.05), (0.0, 0.0), (0.5, 1.0)])
def test_each_level_enters_value_and_error(noises):
    rng, p = np.random.default_rng(0), np.linspace(0.1, 0.9, 20)
    unit, sizes = p * (1 - p), (1200, 400, 80)
    found = [room.level_mean(*says(p, noises, sizes, rng), unit) for _ in range(300)]
    off = np.array([mean.value for mean in found]) - p
    told = np.mean([mean.square_error for mean in found])
    assert np.abs(off.mean(0)).max() < 5 * np.sqrt(off.var(0).max() / 300) + 2e-3
    assert told == pytest.approx(off.var(0).mean(), rel=0.2)
    if noises == (0.0, 0.0):  # the first level says it all: as good as 1,200 exact ones
        assert told < unit.mean() / 1000
    held = np.abs(off) < 1.96 * np.sqrt([mean.square_error for mean in found])
    assert 0.925 < held.mean() < 0.98


def test_where_levels_differ_seldom_no_error_is_nothing():
    """Four differences in a hundred exact refits of fifty features."""
    rng = np.random.default_rng(1)
    settled = 1.0 * (rng.random((1000, 50)) < 0.3)
    exact = settled[:100].copy()
    exact[[1, 5, 9, 70], [3, 8, 8, 40]] = 1 - exact[[1, 5, 9, 70], [3, 8, 8, 40]]
    mean = room.level_mean(settled, settled, exact, np.full(50, 0.21))
    alone = room.level_mean(settled, settled, settled[:100], np.full(50, 0.21))
    more = mean.square_error - alone.square_error
    assert alone.parts[0] == 0 and (alone.square_error > 0).all()
    assert more.mean() == pytest.approx(4 / 50 / 100**2, rel=0.1)
    assert more[[3, 8, 40]].min() > 5e-5


def test_rvamps_answer_enters_as_far_as_it_is_borne_out():
    rng, n = np.random.default_rng(2), 100
    truth = rng.uniform(0.1, 0.9, n)
    unit, s2, every = truth * (1 - truth), 1 / 1500, np.ones(n, dtype=bool)
    error, selected = unit * s2, rng.random((1000, n)) < truth
    for worth, most in ((40, 1.05), (1500, 0.75), (100_000, 0.15)):
        inside, square = [], []
        for _ in range(60):
            own = truth + np.sqrt(unit / worth) * rng.normal(size=n)
            value = truth + np.sqrt(error) * rng.normal(size=n)
            mean = room.LevelMean(value, error, None)
            v, e = room.towards_own(mean, own, unit, every, selected)
            square.append(np.mean((v - truth) ** 2 / unit) / s2)
            inside.append(np.abs(v - truth) < 1.96 * np.sqrt(e))
        assert np.mean(square) < most and 0.93 < np.mean(inside) < 0.995
    three = truth[:3], unit[:3], every[:3], selected[:, :3]
    mean = room.LevelMean(truth[:3] + [0.03, -0.02, 0.02], error[:3], None)
    value, _ = room.towards_own(mean, *three)
    assert np.abs(value - mean.value).max() < 0.1 * np.abs(mean.value - truth[:3]).min()


def test_one_feature_that_stands_out_keeps_the_refits_answer():
    rng, n = np.random.default_rng(3), 200
    truth = rng.uniform(0.1, 0.9, n)
    unit, every = truth * (1 - truth), np.ones(n, dtype=bool)
    own = truth + 0.4 * (np.arange(n) == 7)
    mean = room.LevelMean(truth.copy(), unit / 1500, None)
    selected = rng.random((1000, n)) < truth
    value, error = room.towards_own(mean, own, unit, every, selected)
    assert abs(value[7] - truth[7]) < 2 * np.sqrt(error[7]) < 0.05


def test_exact_refits_are_the_first_of_the_naive_bootstrap():
    fit = fitted("halves")
    answer = answered(fit, seed=5)
    told = dict(counts=HALF, randomise=Fixed(), seed=5, n_resamples=30)
    brute = naive_bootstrap(A, Y, 1.5, keep=range(N), progress=False, **told)
    np.testing.assert_allclose(answer.draws[:30], brute.draws, atol=1e-8)
    drawn = answer.draws[answer.draws.any(1)].round(4)
    assert len(np.unique(drawn, axis=0)) == len(drawn) > 200


def test_levels_are_nested_and_grow_without_being_made_again():
    fit = fitted("the paper's")
    once, twice = (room.Samples(fit, 4) for _ in range(2))
    once.grow((30, 120, 400))
    twice.grow((10, 40, 150))
    before = twice.settled
    twice.grow((30, 120, 400))
    assert once.done == twice.done == (30, 120, 400)
    np.testing.assert_array_equal(twice.settled[:40], before)
    np.testing.assert_allclose(once.few, twice.few, atol=1e-4)
    np.testing.assert_allclose(once.every, twice.every, atol=1e-9)
    near = np.abs(once.exact - once.settled[:30]).max(1)
    assert np.median(near) < 0.02 * np.abs(once.exact).max()
    assert np.mean((once.few != 0)[:120] != (once.settled != 0)) < 0.15


def test_the_same_numbers_every_time_and_other_ones_by_another_seed():
    fit = fitted("the paper's")
    one, two, other = (answered(fit, seed=k) for k in (3, 3, 4))
    np.testing.assert_array_equal(one.Pi, two.Pi)
    assert not np.array_equal(one.Pi, other.Pi)


def test_a_loss_that_refits_do_not_know_is_refitted_by_turns():
    told = dict(prior=lasso(0.5), counts=HALF)
    own = rvamp(A, LABELS, likelihood=Own(), **told)
    answer = answered(own)
    z = off(
        answer, *seen(rvamp(A, LABELS, likelihood=type(Own()).__bases__[0](), **told))
    )
    assert np.sqrt(np.mean(z**2, axis=1)).max() < 1.45
    ridge = answered(rvamp(A, Y, prior=Ridge(1.0, Fixed()), counts=HALF))
    assert ridge.worth == np.inf and (ridge.mean_se > 0).all()


def test_survival_times_are_refitted_by_cox_fits_alone():
    rng, few = np.random.default_rng(1), slice(0, 8)
    time = rng.exponential(np.exp(-0.3 * Y))
    event = 1.0 * (rng.random(len(Y)) < 0.8)
    told = dict(prior=lasso(0.8), counts=HALF)
    fit, baseline = survival_fit(A[:, few], time, event, **told)
    answer = answered(fit, baseline=baseline, accuracy=0.05)
    n = answer.n_refits
    assert f"{n} resamples settled ({n} begun, {n} exact)" in answer.status
    z = off(answer, *seen(fit, 200, baseline=baseline))
    assert np.sqrt(np.mean(z[:2] ** 2)) < 1.5


def test_a_fit_that_has_not_converged_leaves_the_refits_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = rvamp(A, Y, prior=lasso(1.5), counts=HALF, max_iter=1)
    answer = answered(fit, accuracy=0.03)
    assert answer.kappa == 0
    np.testing.assert_allclose(answer.Pi, (answer.draws != 0).mean(0), atol=1e-6)


def test_refits_that_fail_are_left_out_and_named(monkeypatch):
    fit = fitted("halves")

    def some(*_):
        def again(counts, factor):
            x, intercept = refitter(fit)(counts, factor)
            x[::50] = np.nan
            return x, intercept

        return again

    monkeypatch.setattr(room, "refitter", some)
    answer = answered(fit)
    assert answer.failed >= 2 and "did not arrive" in answer.status
    z = off(answer, *seen_of("halves"))
    assert np.isfinite(answer.draws).all() and np.sqrt(np.mean(z[0] ** 2)) < 1.45


def test_nothing_is_lost_when_it_is_interrupted(monkeypatch):
    fit, rounds, grow = fitted("halves"), [], room.Samples.grow

    def impatient(samples, wanted):
        rounds.append(wanted)
        if len(rounds) == 2:
            raise KeyboardInterrupt
        grow(samples, wanted)

    monkeypatch.setattr(room.Samples, "grow", impatient)
    answer = answered(fit, accuracy=0.005)
    assert answer.interrupted and "interrupted" in answer.status
    assert answer.n_refits == room.FIRST_WANTED[1]
    rounds[:] = [0]
    with pytest.raises(KeyboardInterrupt):  # before there are any
        answered(fit)


@pytest.mark.parametrize("counts", [NoResampling(), HALF])
def test_where_nothing_is_in_doubt(counts):
    """Two features that stand out, or nothing that is random."""
    y = 60 * A[:, 0] - 50 * A[:, 1]
    fit = rvamp(A, y, prior=lasso(8.0), counts=counts)
    answer = answered(fit)
    sure = answer.Pi_se < 1e-3
    np.testing.assert_allclose(answer.Pi[sure], fit.Pi[sure].round(), atol=2e-3)
    assert np.isfinite(answer.var_se).all()


def test_more_accuracy_is_more_resamples_up_to_a_budget():
    fit = fitted("the paper's")
    few, more = (answered(fit, accuracy=a) for a in (0.04, 0.012))
    assert few.n_refits < more.n_refits and more.Pi_se.max() < 0.012
    assert more.worth > 0.6 / 0.012**2
    least = answered(fit, accuracy=0.005, n_resamples=150)
    assert least.n_refits == 150 and least.Pi_se.max() > 0.005


@pytest.mark.parametrize(
    "more, words",
    [
        (dict(accuracy=0), "accuracy"),
        (dict(accuracy=0.7), "accuracy"),
        (dict(n_resamples=9), "n_resamples"),
        (dict(seed=-1), "seed"),
        (dict(baseline=5), "baseline must be the Baseline"),
    ],
)
def test_what_cannot_be_is_refused(more, words):
    with pytest.raises((TypeError, ValueError), match=words):
        answered(fitted("halves"), **more)
    with pytest.raises(ValueError, match="beta"):
        answered(rvamp(A, Y, 1.0, beta=2.0))
