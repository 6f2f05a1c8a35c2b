"""The prior's scalar channel: derivatives of its log-partition, extreme arguments,
brute force, bad input.
"""

import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from rvamp_nb.algorithm.messages import Natural
from rvamp_nb.algorithm.prior import Laplace, one_sided, selected, thresholded
from rvamp_nb.algorithm.resampling import FixedFactor, TwoPoint

RANDOM = st.sampled_from([FixedFactor(), TwoPoint(2, 0.5), TwoPoint(3, 0.2)])


def message(Q_hat, h, chi_hat):
    return Natural(*(np.atleast_1d(np.asarray(v, float)) for v in (Q_hat, h, chi_hat)))


@given(
    st.floats(0.1, 10), st.floats(-5, 5), st.floats(0.05, 5), st.floats(0.1, 3), RANDOM
)
def test_moments_are_derivatives_of_the_log_partition(
    Q_hat, h, chi_hat, lam, randomize
):
    prior, at = Laplace(lam, randomize), message(Q_hat, h, chi_hat)
    m = prior.moments(at)
    for name, expected in [
        ("h", m.mean),
        ("chi_hat", m.chi / 2),
        ("Q_hat", -(m.var + m.mean**2) / 2),
    ]:
        eps = 1e-4 * getattr(at, name).clip(0.1)
        up, down = (
            prior.log_partition(at._replace(**{name: getattr(at, name) + e}))
            for e in (eps, -eps)
        )
        np.testing.assert_allclose(
            (up - down) / (2 * eps), expected, rtol=1e-4, atol=1e-6 / Q_hat
        )


@pytest.mark.parametrize("randomize", [FixedFactor(), TwoPoint(3, 0.2)])
def test_against_a_million_draws(randomize):
    rng, n = np.random.default_rng(0), 1_000_000
    at = message([0.5, 1, 2, 4], [-2.0, 0.0, 0.4, 3.0], [0.3, 1.0, 0.1, 4.0])
    m = Laplace(0.5, randomize).moments(at)
    for i in range(4):
        field = at.h[i] + np.sqrt(at.chi_hat[i]) * rng.normal(size=n)
        lam = 0.5 * randomize.draw(n, rng)
        x = np.sign(field) * np.maximum(abs(field) - lam, 0) / at.Q_hat[i]
        found = [x.mean(), x.var(), np.mean(x != 0)]
        error = (
            np.array([x.std(), ((x - x.mean()) ** 2).std(), np.std(x != 0)]) / n**0.5
        )
        assert (
            np.abs(np.array(found) - [m.mean[i], m.var[i], m.rho[i]])
            < 4.5 * error + 1e-12
        ).all()


@given(
    st.floats(-1e6, 1e6),
    st.floats(0, 1e12),
    st.floats(1e-6, 1e6),
    st.floats(1e-12, 1e12),
    RANDOM,
)
@example(h=1.0, chi_hat=5e-324, lam=1.0, Q_hat=1.0, randomize=FixedFactor())
@example(h=0.5, chi_hat=5e-324, lam=0.5, Q_hat=0.5, randomize=FixedFactor())
@example(h=1.0, chi_hat=1e-320, lam=1.0, Q_hat=1e-3, randomize=TwoPoint(2, 0.5))
def test_extreme_arguments_are_finite_and_silent(h, chi_hat, lam, Q_hat, randomize):
    at = message(Q_hat, h, chi_hat)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m = Laplace(lam, randomize).moments(at)
    assert all(np.isfinite(part).all() for part in m) and (m.var >= 0).all()
    assert (0 <= Laplace(lam, randomize).Pi(at)).all() and (
        Laplace(lam, randomize).Pi(at) <= 1
    ).all()
    # A product below the smallest normal number is a multiple of 5e-324: it has no
    # digits of its own there, and the bound is good to one of these, and one over Q^2.
    grain = np.finfo(float).smallest_subnormal * (1 + Q_hat**-2)
    assert (m.var * (1 + 1e-9) + grain >= at.chi_hat * m.chi**2).all(), (
        "Cauchy-Schwarz: the message back has no negative variance"
    )


def test_the_complement_of_pi_keeps_its_digits():
    at = message(np.ones(4), [9.0, 20.0, 35.0, 0.2], np.ones(4))
    m = Laplace(0.5).moments(at)
    exact = [norm.cdf(0.5 - h) - norm.cdf(-0.5 - h) for h in at.h]
    np.testing.assert_allclose(m.rho_bar, exact, rtol=1e-10)
    assert m.rho_bar[2] > 0 and m.rho[2] == 1.0


@given(st.floats(0, 9), st.floats(-12, 1))
def test_the_complement_of_pi_keeps_its_digits_for_any_penalty(d, exponent):
    """Against an integral with positive integrand, also where the penalty is far
    below the noise, so that Pi is nearly 1 at h = 0 and the two tails nearly cancel
    elsewhere.
    """
    lam = 10.0**exponent
    got = Laplace(lam).moments(message(1.0, d, 1.0)).rho_bar[0]
    # the peak on an end, its flank too
    cuts = sorted({-lam, min(lam, max(-lam, -d)), min(lam, max(-lam, 1 - d)), lam})
    # d + lam would round
    exact = sum(
        quad(lambda x: norm.pdf(d + x), a, b, epsabs=0, epsrel=1e-13)[0]
        for a, b in zip(cuts, cuts[1:])
    )
    np.testing.assert_allclose(got, exact, rtol=3e-12)


@pytest.mark.parametrize(
    "d, lam",
    [
        (0.0, 0.0199),
        (0.0, 0.0201),
        (0.5, 0.0133),
        (0.5, 0.0134),
        (3.0, 0.00499),
        (3.0, 0.00501),
        (8.0, 0.00221),
        (8.0, 0.00223),
    ],
)
def test_the_three_ways_to_the_complement_meet(d, lam):
    near, far = (
        Laplace(lam * (1 + shift)).moments(message(1.0, d, 1.0)).rho_bar[0]
        / (1 + shift)
        for shift in (0, 1e-2)
    )
    np.testing.assert_allclose(near, far, rtol=2e-5)
    exact = quad(lambda x: norm.pdf(d + x), -lam, lam, epsabs=0, epsrel=1e-13)[0]
    np.testing.assert_allclose(near, exact, rtol=2e-12)


@given(st.floats(-1e300, 1e300), st.floats(0, 1e300), st.floats(1e-300, 1e300), RANDOM)
def test_no_finite_message_is_too_far(h, chi_hat, lam, randomize):
    at = message(1.0, h, chi_hat)
    # the variance of a drawn penalty is lam squared: it must be a number
    lam = min(lam, 1e150)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m = Laplace(lam, randomize).moments(at)
    assert ((0 <= m.rho) & (m.rho <= 1 + 1e-15)).all()
    assert (
        np.isfinite(m.chi).all()
        and (m.var >= 0).all()
        and ((0 <= m.rho_bar) & (m.rho_bar <= 1)).all()
    )


def test_smallest_noise_with_a_large_field():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m = Laplace(0.3).moments(message(np.ones(2), [1e6, 0.1], [5e-324, 5e-324]))
    np.testing.assert_array_equal(
        [m.mean, m.rho, m.rho_bar], [[1e6 - 0.3, 0], [1, 0], [0, 1]]
    )


def test_strong_signal_variance_keeps_its_digits():
    m = Laplace(0.3).moments(message(2.0, 1e9, 1.0))
    np.testing.assert_allclose(m.var, 0.25, rtol=1e-12)
    np.testing.assert_allclose(
        Laplace(0.3, TwoPoint(2, 0.5)).moments(message(2.0, 1e6, 1.0)).var,
        0.25 + (0.15 / 2) ** 2,
        rtol=1e-6,
    )


def test_without_noise_it_is_the_soft_threshold_and_its_limit():
    h = np.array([-2.0, -0.3, 0.0, 0.31, 5.0])
    still, faint = (
        Laplace(0.3).moments(message(2 * np.ones(5), h, np.full(5, c)))
        for c in (0.0, 1e-14)
    )
    np.testing.assert_array_equal(
        still.mean, np.sign(h) * np.maximum(abs(h) - 0.3, 0) / 2
    )
    assert (still.var == 0).all() and list(still.rho) == [1, 0, 0, 1, 1]
    keep = abs(h) != 0.3
    np.testing.assert_allclose(faint.mean[keep], still.mean[keep], atol=1e-7)
    np.testing.assert_allclose(faint.rho[keep], still.rho[keep], atol=1e-7)


def test_a_drawn_penalty_is_not_the_mean_penalty():
    at = message(1.0, 0.75, 0.01)
    assert abs(Laplace(0.6).moments(at).rho - Laplace(0.9).moments(at).rho) > 0.2


def test_one_penalty_for_each_coefficient():
    at = message(np.ones(2), [1.0, 1.0], [0.5, 0.5])
    both = Laplace(np.array([0.3, 0.9])).moments(at).rho
    each = [Laplace(lam).moments(message(1.0, 1.0, 0.5)).rho[0] for lam in (0.3, 0.9)]
    np.testing.assert_allclose(both, each)


def test_the_message_is_not_modified():
    at = message([1.0, 2.0], [0.3, -1.0], [0.5, 0.0])
    before = [part.copy() for part in at]
    Laplace(0.5).moments(at)
    for a, b in zip(at, before):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "lam, error",
    [
        (0, ValueError),
        (-1, ValueError),
        (np.nan, ValueError),
        (np.inf, ValueError),
        ([], ValueError),
        ([0.1, 0], ValueError),
        ([[0.1]], ValueError),
        ("a", TypeError),
        (None, TypeError),
        (True, TypeError),
        ([True], TypeError),
        (1j, TypeError),
    ],
)
def test_bad_penalties_are_refused_by_name(lam, error):
    with pytest.raises(error, match="lam"):
        Laplace(lam)


def test_the_callers_penalties_are_copied():
    lam = np.array([0.1, 0.2])
    prior = Laplace(lam)
    lam[0] = -1
    np.testing.assert_array_equal(prior.lam, [0.1, 0.2])


def test_bad_randomisation_is_refused_by_name():
    with pytest.raises(TypeError, match="randomize"):
        Laplace(0.1, 2)


@pytest.mark.parametrize("whole", [thresholded, one_sided])
def test_a_probability_alone_is_that_of_the_whole_channel(whole):
    """And never more than 1, as next to no threshold leaves more by rounding."""
    rng = np.random.default_rng(0)
    many = message(np.ones(10**6), 2 * rng.normal(size=10**6), np.ones(10**6))
    fields = Natural(*(part[: 10**5] for part in many))
    for lam in (0.3, 2.0):
        alone = selected(fields, lam, whole is one_sided)
        np.testing.assert_allclose(alone, whole(fields, lam)[2], atol=1e-15)
    still = fields._replace(chi_hat=0 * fields.h)
    alone = selected(still, 0.3, whole is one_sided)
    np.testing.assert_array_equal(alone, whole(still, 0.3)[2])
    assert selected(many, 1e-16, whole is one_sided).max() <= 1  # one was beyond
