"""The likelihood's scalar channel: derivatives, brute force, extreme arguments."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rvamp_nb.algorithm.likelihood import (
    A_CALL,
    WORK,
    Logistic,
    Loss,
    PoissonLoss,
    Squared,
)
from rvamp_nb.algorithm.messages import Natural, extrinsic
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.resampling import Grouped, NoResampling, Poisson, Subsample
from rvamp_nb.algorithm.solver import rvamp
from rvamp_nb.algorithm.weighted import WeightedLoss
from rvamp_nb.inference.bootstrap import naive_bootstrap

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


# Shares of trials ---------------------------------------------------------------------


def trials(M=60, N=20):
    rng = np.random.default_rng(2)
    A = rng.normal(size=(M, N)) / np.sqrt(M)
    n = rng.integers(1, 13, M) * 1.0
    k = rng.binomial(n.astype(int), 1 / (1 + np.exp(-6 * A[:, 0] + 5 * A[:, 1])))
    return A, k, n


class Binomial(Loss):
    """n log(1 + exp(f)) - k f, of rows that are given by their numbers."""

    def __init__(self, k, n):
        self.k, self.n = k, n

    def value(self, y, f):
        rows = y.astype(int)
        return self.n[rows] * np.logaddexp(0, f) - self.k[rows] * f

    def derivatives(self, y, f):
        rows, p = y.astype(int), 1 / (1 + np.exp(-f))
        return self.n[rows] * p - self.k[rows], self.n[rows] * p * (1 - p)


def test_a_share_with_the_weight_of_its_trials_is_binomial():
    A, k, n = trials()
    given = dict(prior=Laplace(1.5), resampling=Subsample(0.5), tol=1e-10)
    given["intercept"] = True
    one = rvamp(A, k / n, loss=WeightedLoss(Logistic(), n), **given)
    two = rvamp(A, np.arange(60), loss=Binomial(k, n), **given)
    assert one.converged and 0.5 < one.Pi.sum() < 10
    np.testing.assert_allclose(one.Pi, two.Pi, atol=1e-8)
    np.testing.assert_allclose(one.mean, two.mean, atol=1e-8)


def test_refits_of_shares_are_those_of_their_successes_and_failures():
    A, k, n = trials()
    given = dict(loss="logistic", intercept=True)
    given |= dict(n_resamples=300, keep=range(20), verbose=False)
    half, pairs = Subsample(0.5), np.repeat(np.arange(60), 2)
    one = naive_bootstrap(A, k / n, 1.5, sample_weight=n, resampling=half, **given)
    two = naive_bootstrap(
        *(np.repeat(A, 2, 0), np.tile([1.0, 0], 60), 1.5),
        sample_weight=np.column_stack([k, n - k]).ravel(),
        **given | dict(resampling=Grouped(half, pairs)),
    )
    np.testing.assert_allclose(one.draws, two.draws, atol=1e-10)
    prior, loss = Laplace(1.5), WeightedLoss(Logistic(), n)
    fit = rvamp(A, k / n, prior=prior, loss=loss, resampling=half, intercept=True)
    assert np.all(np.abs(fit.Pi - one.Pi) < 0.02 + 4 * one.Pi_se)


@pytest.mark.parametrize("cV", [1e3, 1e6, 1e12, 1e15])
def test_both_labels_have_the_same_proximal_points(cV):
    """A row that weighs a great deal is fitted where p has no digits beside 1."""
    omega, calls = np.array([-50.0, -3, 0, 3]), []

    class Counted(Logistic):
        def derivatives(self, y, f):
            calls.append(len(f))
            return super().derivatives(y, f)

    one = Counted().proximal(1.0, omega, cV)
    n_calls = len(calls)
    zero = Counted().proximal(0.0, -omega, cV)
    np.testing.assert_allclose(one, -zero, rtol=1e-14)
    assert n_calls == len(calls) - n_calls < 60


def test_a_root_many_decades_away_is_found_in_few_calls():
    """Halving the length of the box took 300 calls from 1e95, and ended after 200."""
    y, omega, cV = np.array([[1.0, 0.0], [-2e95, 3e99], [5.8e99, 7e100]]).reshape(3, 2)
    before = WORK.get()
    f = Logistic().proximal(y, omega, cV)
    share = np.abs(omega / cV)  # the probability of the other label
    log_odds = np.log(share / (1 - share))
    np.testing.assert_allclose(f, [-log_odds[0], log_odds[1]], rtol=1e-9)
    assert WORK.get() - before < 30 * A_CALL


def test_the_work_of_a_root_counts_each_call_of_the_loss():
    """And each number that it was called at; three for each root are what is around."""
    sizes = []

    class Counted(Logistic):
        def derivatives(self, y, f):
            sizes.append(np.size(f))
            return super().derivatives(y, f)

    before = WORK.get()
    Counted().proximal(
        np.array([1.0, 0.0]), np.array([-2e5, 0.3]), np.array([6e5, 1.0])
    )
    assert len(sizes) >= 4
    numbers = 3 * 2 + sum(sizes[1:])
    assert WORK.get() - before == len(sizes) * A_CALL + numbers


def test_the_work_of_a_poisson_row_counts_each_of_its_numbers():
    """It has no Newton steps to count, and was free."""
    before = WORK.get()
    PoissonLoss().proximal(np.ones(7), np.zeros((5, 7)), np.ones(7))
    assert WORK.get() - before == A_CALL + 5 * 7
