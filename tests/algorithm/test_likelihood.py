"""The likelihood's scalar channel: derivatives, brute force, extreme arguments."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rvamp_nb.likelihood import Squared
from rvamp_nb.messages import Natural, extrinsic
from rvamp_nb.resampling import NoResampling, Poisson, Subsample

LAWS = [Poisson(0.5), Poisson(2.0), Subsample(0.3), NoResampling()]


def message(V, h, chi_hat):
    return Natural(*(np.atleast_1d(np.asarray(v, float)) for v in (V, h, chi_hat)))


@given(
    st.floats(0.05, 20),
    st.floats(-5, 5),
    st.floats(0, 5),
    st.floats(-5, 5),
    st.sampled_from(LAWS),
)
def test_moments_are_derivatives_of_the_log_partition(V, h, chi_hat, y, law):
    at, target = message(V, h, chi_hat), np.array([y])
    m, F = Squared().moments(target, at, law), Squared().log_partition
    for name, expected in [
        ("h", -m.mean),
        ("chi_hat", -m.chi / 2),
        ("Q_hat", (m.var + m.mean**2) / 2),
    ]:
        eps = 1e-4 * np.abs(getattr(at, name)).clip(0.1)
        up, down = (
            F(target, at._replace(**{name: getattr(at, name) + e}), law)
            for e in (eps, -eps)
        )
        np.testing.assert_allclose(
            (up - down) / (2 * eps), expected, rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize("law", LAWS)
def test_against_a_million_draws(law):
    rng, n = np.random.default_rng(0), 1_000_000
    y, at = np.array([1.0, -0.5]), message([0.7, 3.0], [0.2, 1.0], [0.4, 0.1])
    m = Squared().moments(y, at, law)
    support, weights = law.nodes()
    for i in range(2):
        c = rng.choice(support, n, p=weights)
        cavity = -at.h[i] + np.sqrt(at.chi_hat[i]) * rng.normal(size=n)
        # where loss and prediction balance
        f = (cavity / at.Q_hat[i] + c * y[i]) / (1 / at.Q_hat[i] + c)
        u = c * (y[i] - f)
        error = np.array([u.std(), ((u - u.mean()) ** 2).std()]) / n**0.5
        assert (np.abs([u.mean() - m.mean[i], u.var() - m.var[i]]) < 4.5 * error).all()


@given(st.floats(0.01, 100), st.floats(-5, 5), st.floats(0, 5), st.sampled_from(LAWS))
def test_the_message_back_is_the_extrinsic_map(V, h, chi_hat, law):
    y, at = np.array([0.7]), message(V, h, chi_hat)
    m, back = Squared().message(y, at, law)
    scale = max(1.0, V) ** 2 * (1 + (0.7 + h) ** 2 + chi_hat)
    for ours, plain in zip(back, extrinsic(m, at)):
        np.testing.assert_allclose(ours, plain, rtol=1e-9, atol=1e-11 * scale)
    np.testing.assert_allclose(m.rho + m.rho_bar, 1, rtol=1e-12)


@given(
    st.floats(1e-12, 1e12),
    st.floats(-1e6, 1e6),
    st.floats(0, 1e12),
    st.sampled_from(LAWS),
)
def test_extreme_arguments_are_finite_and_silent(V, h, chi_hat, law):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m, back = Squared().message(np.array([3.0]), message(V, h, chi_hat), law)
    assert all(np.isfinite(part).all() for part in (*m, *back))
    assert (
        back.Q_hat > 0
        and back.chi_hat >= 0
        and (m.var * (1 + 1e-12) >= chi_hat * m.chi**2).all()
    )


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("V", [0.0, 1e-300, 1e170, 1e300])
def test_no_uncertainty_is_too_small_or_too_large(V, law):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m, back = Squared().message(np.array([3.0]), message(V, 0.5, 0.2), law)
    support, weights = law.nodes()
    absent, mean = weights[support == 0].sum(), weights @ support
    expected = 1 / mean if V < 1 else V * absent / (1 - absent) if absent else 1.0
    np.testing.assert_allclose(back.Q_hat, expected, rtol=1e-12)
    spread = weights @ (support / mean - 1) ** 2 if V < 1 else absent / (1 - absent)
    np.testing.assert_allclose(
        back.chi_hat, spread * (3.5**2 + 0.2), rtol=1e-12, atol=0
    )
    assert all(np.isfinite(part).all() for part in m)


def test_an_almost_certain_row_keeps_the_digits_of_its_noise():
    law = Subsample(1 - 1e-12)
    absent, there = law.nodes()[1]
    _, back = Squared().message(np.zeros(1), message(0.7, 0.0, 1.0), law)
    np.testing.assert_allclose(back.chi_hat, absent / there, rtol=1e-12)


def test_without_resampling_the_row_makes_no_noise():
    _, back = Squared().message(np.array([1.0]), message(2.0, 0.5, 0.3), NoResampling())
    assert back.chi_hat == 0 and back.h == 1.0
    np.testing.assert_allclose(back.Q_hat, 1.0)


def test_the_count_must_be_averaged_not_its_mean_used():
    m = Squared().moments(np.array([1.0]), message(2.0, 0.0, 0.0), Poisson(0.5))
    assert abs(m.mean[0] - 0.5 / (1 + 0.5 * 2.0)) > 0.05


def test_derivatives_of_the_loss():
    loss, f, eps = lambda f: (0.3 - f) ** 2 / 2, np.array([-1.0, 0.3, 2.0]), 1e-5
    first, second = Squared().derivatives(0.3, f)
    np.testing.assert_allclose(
        first, (loss(f + eps) - loss(f - eps)) / (2 * eps), atol=1e-9
    )
    np.testing.assert_allclose(second, 1)


def test_the_message_is_not_modified():
    at, y = message([1.0, 2.0], [0.3, -1.0], [0.5, 0.0]), np.array([1.0, 2.0])
    before = [part.copy() for part in (*at, y)]
    Squared().message(y, at, Poisson(0.5))
    for a, b in zip((*at, y), before):
        np.testing.assert_array_equal(a, b)
