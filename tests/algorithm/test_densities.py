"""p̄₁ and p̄₂: distributions that are distributions, agree with refits, and refuse
nonsense.
"""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from rvamp_nb import datasets, debiased_effects
from rvamp_nb.algorithm.densities import P1, p1, p2
from rvamp_nb.algorithm.messages import Natural
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.resampling import (
    FixedFactor,
    Grouped,
    NoResampling,
    Subsample,
    TwoPoint,
)
from rvamp_nb.algorithm.solver import rvamp
from rvamp_nb.datasets import gaussian_design, toy
from rvamp_nb.inference.bootstrap import naive_bootstrap


def fitted(M, N, fraction=0.1, n_resamples=800, **options):
    data = gaussian_design(M, N, rho=0.7, density=0.08, noise=0.1, seed=3, **options)
    prior = Laplace(fraction * np.abs(data.A.T @ data.y).max() / 2, TwoPoint())
    refits = naive_bootstrap(
        data.A,
        data.y,
        prior=prior,
        n_resamples=n_resamples,
        random_state=0,
        keep=list(range(N)),
        verbose=False,
    )
    return rvamp(data.A, data.y, prior=prior, tol=1e-11), refits


@pytest.fixture(scope="module", params=[(60, 100), (200, 75)], ids=["wide", "tall"])
def both(request):
    return fitted(*request.param)


def one(Q_hat=1.3, h=0.4, chi_hat=0.5, lam=0.6, randomize=TwoPoint(2, 0.5)):
    return P1(
        Laplace(lam, randomize), Natural(*(np.float64(v) for v in (Q_hat, h, chi_hat)))
    )


PARAMETERS = dict(
    Q_hat=st.floats(0.1, 10),
    h=st.floats(-4, 4),
    chi_hat=st.floats(0.05, 4),
    lam=st.floats(0.1, 3),
    randomize=st.sampled_from([FixedFactor(), TwoPoint(2, 0.5), TwoPoint(3, 0.2)]),
)


@given(**PARAMETERS)
def test_density_and_atom_make_one(**parameters):
    d = one(**parameters)
    s = parameters["chi_hat"] ** 0.5
    reach = (abs(parameters["h"]) + 3 * parameters["lam"] + 12 * s) / parameters[
        "Q_hat"
    ]
    mass = sum(
        integrate.quad(d.pdf, *piece, epsabs=1e-12, epsrel=1e-12, limit=200)[0]
        for piece in [(-reach, 0), (0, reach)]
    )
    np.testing.assert_allclose(mass - 0 * d.atom, 1 - d.atom, atol=1e-10)


@given(q=st.floats(1e-6, 1 - 1e-6), **PARAMETERS)
def test_quantiles_undo_the_distribution_function(q, **parameters):
    d = one(**parameters)
    x = d.quantile(q)
    if x == 0:
        assert d.cdf(-1e-300) < q <= d.cdf(0.0)
    else:
        np.testing.assert_allclose(d.cdf(x), q, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("randomize", [FixedFactor(), TwoPoint(2, 0.5)])
def test_samples_and_moments_agree(randomize):
    d, n = one(randomize=randomize), 400_000
    x = d.sample(n, np.random.default_rng(0))
    assert abs(np.mean(x == 0) - d.atom) < 4.5 * np.sqrt(d.atom * (1 - d.atom) / n)
    for k, by_hand in ((1, d.mean), (2, d.var + d.mean**2)):
        assert abs(np.mean(x**k) - by_hand) < 4.5 * np.std(x**k) / n**0.5


def test_without_field_noise_all_mass_sits_in_atoms():
    # 0.7 / 1.3 or 0.4 / 1.3, each with probability one half
    d = one(h=1.0, chi_hat=0.0, lam=0.3)
    assert d.atom == 0 and (d.pdf(np.linspace(-1, 1, 5)) == 0).all()
    np.testing.assert_allclose(
        [d.mean, d.var + d.mean**2], [0.55 / 1.3, (0.49 + 0.16) / 2 / 1.69]
    )
    np.testing.assert_allclose(
        d.cdf(np.array([0.3, 0.31, 0.53, 0.54])), [0, 0.5, 0.5, 1]
    )
    np.testing.assert_allclose(d.quantile(np.array([0.3, 0.7])), [0.4 / 1.3, 0.7 / 1.3])
    assert one(h=0.1, chi_hat=0.0).atom == 1 and set(
        one(h=0.1, chi_hat=0.0).sample(5, np.random.default_rng(0))
    ) == {0}


def test_shapes_follow_coordinates_then_argument(both):
    fit, _ = both
    many, x = p1(fit, [3, 5, 7]), np.linspace(-1, 1, 4)
    assert (
        many.atom.shape == (3,)
        and many.pdf(x).shape == many.cdf(x).shape == (3, 4)
        and many.quantile([[0.1], [0.9]]).shape == (3, 2, 1)
    )
    assert (
        np.shape(p1(fit, 5).cdf(0.2)) == ()
        and many.sample(6, np.random.default_rng(0)).shape == (3, 6)
        and p1(fit).mean.shape == fit.mean.shape
    )
    np.testing.assert_allclose(many.cdf(x)[1], p1(fit, 5).cdf(x))
    np.testing.assert_allclose(many.quantile(0.8)[2], p1(fit, 7).quantile(0.8))


def test_distribution_functions_agree_with_refits(both):
    """Largest distance below the 1 % Kolmogorov-Smirnov value plus 0.04 for the
    approximation; never, sometimes, always selected.
    """
    fit, refits = both
    for j in (fit.Pi.argmin(), np.abs(fit.Pi - 0.5).argmin(), fit.Pi.argmax()):
        seen = np.sort(refits.draws[:, j])
        steps = np.arange(1, len(seen) + 1) / len(seen)
        last = np.append(seen[1:] != seen[:-1], True)  # at ties, the full jump
        distance = np.abs(p1(fit, int(j)).cdf(seen[last]) - steps[last]).max()
        assert distance < stats.kstwobign.ppf(0.99) / len(seen) ** 0.5 + 0.04, (
            j,
            fit.Pi[j],
            distance,
        )


def test_the_two_densities_share_their_diagonal_moments(both):
    fit, _ = both
    first, second = p1(fit), p2(fit)
    np.testing.assert_allclose(first.mean, second.mean, atol=1e-8)
    np.testing.assert_allclose(
        first.var + first.mean**2,
        np.diag(second.covariance) + second.mean**2,
        atol=1e-8,
    )


def test_at_infinite_beta_the_spread_is_that_across_resamples(both):
    """Moments of p1 by integration; no response is added to the variance."""
    fit, refits = both
    law = p1(fit)
    np.testing.assert_allclose(law.std, np.sqrt(fit.var), rtol=1e-12)
    np.testing.assert_allclose(p2(fit).std, np.sqrt(fit.last.coupled.x.var), rtol=1e-12)
    for i in np.argsort(-fit.var)[:3]:
        one, far = p1(fit, i), 12 * fit.var[i] ** 0.5
        ends = one.mean - far, 0.0, one.mean + far
        square = sum(
            integrate.quad(lambda x: x**2 * one.pdf(x), *pair, limit=200)[0]
            for pair in zip(sorted(ends), sorted(ends)[1:])
        )
        np.testing.assert_allclose(one.std**2, square - one.mean**2, rtol=1e-6)
    busy = fit.Pi > 0.3
    ratio = np.median(law.std[busy] / np.sqrt(refits.var[busy]))
    assert 0.8 < ratio < 1.25


def test_at_finite_beta_the_spread_within_a_posterior_is_added():
    """On the toy of one column: both densities have var + chi / beta."""
    A, y, *_ = toy()
    fit = rvamp(A, y, prior=Laplace(0.6, TwoPoint()), beta=2.0, tol=1e-11)
    x = fit.last.coupled.x
    for law in (p1(fit, 0), p2(fit, 0)):
        np.testing.assert_allclose(law.std**2, x.var + x.chi / 2, rtol=1e-6)
    joint = p2(fit, 0)
    np.testing.assert_allclose(joint.std**2, np.diag(joint.covariance), rtol=1e-9)
    assert abs(joint.std[0] - 0.703) < 5e-4


def test_covariances_agree_with_refits(both):
    fit, refits = both
    rows, off = np.argsort(-fit.Pi)[:30], ~np.eye(30, dtype=bool)
    ours, theirs = p2(fit, rows).covariance[off], np.cov(refits.draws[:, rows].T)[off]
    assert (
        np.corrcoef(ours, theirs)[0, 1] > 0.95
        and 0.8 < np.polyfit(theirs, ours, 1)[0] < 1.25
    )


def test_predictions_agree_with_refits_and_with_the_covariance(both):
    fit, refits = both
    new = gaussian_design(8, len(fit.mean), rho=0.7, noise=0.1, seed=5).A
    mean, covariance = p2(fit).predict(new)
    np.testing.assert_allclose(mean, new @ fit.mean, atol=1e-8)
    np.testing.assert_allclose(covariance, new @ p2(fit).covariance @ new.T, atol=1e-10)
    np.testing.assert_allclose(
        np.diag(covariance), (refits.draws @ new.T).var(0), rtol=0.35
    )


def test_a_subset_is_a_block_of_the_whole(both):
    fit, _ = both
    rows = np.array([4, 9, 2])
    np.testing.assert_allclose(
        p2(fit, rows).covariance, p2(fit).covariance[np.ix_(rows, rows)], atol=1e-12
    )
    np.testing.assert_allclose(
        p2(fit, 4).covariance, [[p2(fit).covariance[4, 4]]], atol=1e-12
    )


def test_samples_have_the_mean_and_the_covariance(both):
    fit, _ = both
    density = p2(fit, [0, 1, 2])
    x = density.sample(100_000, np.random.default_rng(0))
    np.testing.assert_allclose(
        x.mean(0),
        density.mean,
        atol=5 * np.sqrt(np.diag(density.covariance).max() / 1e5),
    )
    np.testing.assert_allclose(
        np.cov(x.T), density.covariance, atol=0.03 * np.diag(density.covariance).max()
    )


def test_without_resampling_there_is_no_spread():
    data = gaussian_design(30, 50, noise=0.1, density=0.1, seed=1)
    fit = rvamp(
        data.A, data.y, prior=Laplace(0.2), resampling=NoResampling(), tol=1e-10
    )
    assert np.abs(p2(fit).covariance).max() < 1e-12 and p1(fit).var.max() < 1e-12


def test_memory_stays_at_a_few_copies_of_the_design():
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(100, 4_000)) / 10, rng.normal(size=100)
    with pytest.warns(UserWarning):
        fit = rvamp(A, y, 1.5, max_iter=2)
    tracemalloc.start()
    p2(fit, np.arange(100)).covariance
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * A.nbytes


@pytest.mark.parametrize("make", [p1, p2])
def test_bad_arguments_are_refused(make, both):
    fit, _ = both
    N = len(fit.mean)
    for bad, error in [
        (N, IndexError),
        (-N - 1, IndexError),
        (0.5, TypeError),
        ("a", TypeError),
        ([[0]], ValueError),
    ]:
        with pytest.raises(error):
            make(fit, bad)
    with pytest.raises(TypeError, match="Fit"):
        make(np.zeros(3), 0)


def test_bad_arguments_of_the_densities_are_refused(both):
    fit, _ = both
    for q in (0, 1, -0.1, 1.5):
        with pytest.raises(ValueError, match="q must"):
            p1(fit, 0).quantile(q)
    with pytest.raises(ValueError, match="A_new"):
        p2(fit).predict(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="NaN"):
        p2(fit).predict(np.full((1, len(fit.mean)), np.nan))


# Intervals ----------------------------------------------------------------------------


def test_an_interval_is_two_quantiles(both):
    fit, _ = both
    ends = p1(fit).quantile([0.1, 0.9])
    wider = p1(fit).quantile([0.025, 0.975])
    assert (wider[:, 0] <= ends[:, 0]).all() and (ends[:, 1] <= wider[:, 1]).all()
    assert (ends[fit.Pi < 0.1] == 0).all()


def test_intervals_hold_so_many_draws(both):
    fit, refits = both
    low, high = p1(fit).quantile([0.05, 0.95]).T
    held = ((refits.draws >= low) & (refits.draws <= high)).mean(0)
    shown = fit.Pi > 0.1
    assert held[shown].min() > 0.85 and (held[~shown] > 0.88).all()
    surest = held[fit.Pi > 0.97]  # without an atom not more than it says
    assert len(surest) == 0 or np.abs(surest - 0.9).max() < 0.04


def test_bad_intervals_are_refused():
    data = gaussian_design(20, 10, seed=1)
    warm = rvamp(data.A, data.y, 0.1, beta=5.0)
    with pytest.raises(TypeError, match="beta = inf"):
        p1(warm).quantile(0.5)


# Rows in groups -----------------------------------------------------------------------


@pytest.mark.parametrize("M, N", [(60, 90), (120, 30)])
def test_groups_of_rows_have_their_covariances(M, N):
    data = gaussian_design(M, N, rho=0.7, density=0.1, noise=0.1, seed=5)
    counts = Grouped(Subsample(0.5), np.repeat(np.arange(M // 3), 3))
    lam = 0.1 * np.abs(data.A.T @ data.y).max()
    given = dict(resampling=counts, keep=list(range(N)))
    fit = rvamp(data.A, data.y, prior=Laplace(lam), resampling=counts, tol=1e-9)
    joint = p2(fit)
    np.testing.assert_allclose(np.diag(joint.covariance), fit.var, atol=1e-7)
    refits = naive_bootstrap(
        data.A, data.y, lam, n_resamples=800, verbose=False, **given
    )
    busy = np.argsort(-fit.Pi)[:12]
    ours, theirs = joint.covariance[np.ix_(busy, busy)], np.cov(refits.draws[:, busy].T)
    off = ~np.eye(12, dtype=bool)
    assert np.corrcoef(ours[off], theirs[off])[0, 1] > 0.85
    assert abs(np.median(np.diag(ours) / np.diag(theirs)) - 1) < 0.15


def test_a_fit_of_a_frame_has_the_names_of_its_columns():
    d = datasets.load_diabetes()
    X = pd.DataFrame(d.A[:, :10], columns=d.names[:10])
    fit, plain = rvamp(X, d.y, 20.0), rvamp(X.to_numpy(), d.y, 20.0)
    assert [*fit.names] == [*X.columns] == [*fit.summary().index]
    assert plain.names is None and [*plain.summary().index] == [*range(10)]
    assert np.array_equal(fit.summary(), plain.summary())
    assert p1(fit, "bmi").mean == p1(plain, 2).mean and "bmi" in repr(p1(fit, "bmi"))
    assert np.array_equal(p1(fit, ["bp", "bmi"]).mean, p1(plain, [3, 2]).mean)
    assert "bmi" in fit._repr_html_() and "summary" in dir(fit)
    with pytest.raises(ValueError, match="has 0 columns called BMI, of age, sex, bmi"):
        p1(fit, "BMI")
    twice = rvamp(X.set_axis([*"abcdefghii"], axis=1), d.y, 20.0)
    with pytest.raises(ValueError, match="has 2 columns called i,.* or a number"):
        p1(twice, ["a", "i"])
    lasso = dict(prior=Laplace(20.0), resampling=NoResampling())
    found = debiased_effects(rvamp(X, d.y, **lasso))
    assert [*found.summary().index] == [*X.columns]
