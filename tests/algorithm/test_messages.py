"""Properties of the message algebra, of the views and of the replica-symmetric
Gaussians under it.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from rvamp_nb.algorithm.messages import (
    Mixed,
    Moments,
    MomentView,
    Natural,
    extrinsic,
    mixed_extrinsic,
    natural_to_moment,
)
from rvamp_nb.course.rs_gaussian import rs_covariance, rs_log_partition

SIZES = st.integers(1, 12)
SEEDS = st.integers(0, 2**32 - 1)


def well_conditioned(N, seed):
    """A factor's moments and what came in, with rho away from both ends."""
    rng = np.random.default_rng(seed)
    incoming = Natural(
        rng.uniform(0.2, 5, N), rng.normal(0, 2, N), rng.uniform(0, 2, N)
    )
    rho = rng.uniform(0.1, 0.9, N)
    chi = rho / incoming.Q_hat
    mean = rng.normal(0, 1, N)
    var = chi**2 * (incoming.chi_hat + rng.uniform(0.1, 2, N))
    return Moments(mean, chi, var, rho, 1 - rho), incoming


@given(SIZES, SEEDS)
def test_mixed_agrees_with_plain_on_any_set(N, seed):
    of, incoming = well_conditioned(N, seed)
    S = np.random.default_rng(seed).random(N) < 0.5
    mixed, plain = mixed_extrinsic(of, incoming, S), extrinsic(of, incoming)
    as_moments = natural_to_moment(plain)
    for view, whole, part in ((mixed[1:4], plain, S), (mixed[4:], as_moments, ~S)):
        for ours, reference in zip(view, whole):
            assert_allclose(ours[part], reference[part], rtol=1e-11, atol=1e-11)
            assert not np.any(ours[~part])
    assert isinstance(mixed, Mixed) and mixed.S.dtype == bool
    assert all(z.shape == (N,) for z in mixed)


@given(SIZES, SEEDS)
def test_what_goes_out_times_what_came_in_has_the_moments(N, seed):
    of, incoming = well_conditioned(N, seed)
    Q_hat, h, chi_hat = np.add(extrinsic(of, incoming), incoming)
    found = h / Q_hat, 1 / Q_hat, chi_hat / Q_hat**2
    assert_allclose(found, of[:3], rtol=1e-9, atol=1e-12)


@given(SIZES, SEEDS)
def test_a_gaussian_factor_sends_itself(N, seed):
    rng = np.random.default_rng(seed)
    factor, incoming = (
        Natural(rng.uniform(0.2, 5, N), rng.normal(0, 2, N), rng.uniform(0, 2, N))
        for _ in range(2)
    )
    Q_hat, h, chi_hat = np.add(factor, incoming)
    of_product = Moments(h / Q_hat, 1 / Q_hat, chi_hat / Q_hat**2)
    sent = extrinsic(of_product, incoming)
    assert_allclose(sent, factor, rtol=1e-10, atol=1e-10)


finite = dict(allow_nan=False, allow_infinity=False)


@given(
    arrays(float, 5, elements=st.floats(1e-60, 1e60, **finite)),
    arrays(float, 5, elements=st.floats(-1e20, 1e20, **finite)),
    arrays(float, 5, elements=st.floats(0, 1e20, **finite)),
    st.sampled_from([1.0, -1.0]),
)
def test_views_undo_each_other(Q_hat, h, chi_hat, sign):
    message = Natural(sign * Q_hat, h, chi_hat)
    there = natural_to_moment(message)
    assert isinstance(there, MomentView)
    tiny = 1e-280  # below this, h / Q and chi_hat / Q**2 lose digits to underflow
    for back, start, seen in zip(natural_to_moment(there), message, there):
        fine = (np.abs(seen) > tiny) | (start == 0)
        assert_allclose(back[fine], start[fine], rtol=1e-14)


def test_a_view_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="Q_hat"):
        natural_to_moment((np.array([1.0, 0.0]), np.ones(2), np.ones(2)))


@given(st.floats(-250, -0.5), st.booleans(), SEEDS)
def test_mixed_keeps_its_digits_at_both_ends(exponent, selected, seed):
    """Against exact fractions, without a warning."""
    rng = np.random.default_rng(seed)
    small = 10.0**exponent
    rho, rho_bar = (1 - small, small) if selected else (small, 1 - small)
    Q, h, c = rng.uniform(0.2, 5), rng.normal(), rng.uniform(0, 2)
    chi = rho / Q
    mean, var = rng.normal() * rho, rho + 2 * chi**2 * c
    of = Moments(*(np.array([z]) for z in (mean, chi, var, rho, rho_bar)))
    incoming = Natural(*(np.array([z]) for z in (Q, h, c)))
    with np.errstate(all="raise", under="ignore"):
        out = mixed_extrinsic(of, incoming, np.array([rho > 0.5]))
    mean, var, rho, rho_bar, Q, h, c = map(Fraction, (mean, var, rho, rho_bar, Q, h, c))
    chi = rho / Q
    precision = Q * rho_bar / rho
    # the moment view is the natural one over the precision
    unit = 1 if selected else precision
    parts = [
        (precision, 0),
        (mean / chi / unit, h / unit),
        (var / chi**2 / unit**2, c / unit**2),
    ]
    reference = [float(a - b) for a, b in parts]
    scale = [float(abs(a) + abs(b)) for a, b in parts]
    if not selected:
        reference[0] = scale[0] = float(1 / precision)
    ours = np.array([z[0] for z in (out[1:4] if selected else out[4:])])
    assert np.all(np.abs(ours - reference) <= 1e-12 * np.array(scale))


@given(SIZES, SEEDS)
def test_inputs_are_not_modified(N, seed):
    of, incoming = well_conditioned(N, seed)
    S = of.rho > 0.5
    given_ = (*of, *incoming, S)
    kept = [z.copy() for z in given_]
    out = mixed_extrinsic(of, incoming, S)
    extrinsic(of, incoming)
    natural_to_moment(incoming)
    for z in out[1:]:
        z += 1.0  # nor do results share memory with what was given
    assert all(np.array_equal(a, b) for a, b in zip(kept, given_))


def ends(S):
    """A coordinate that is never selected, one that always is, and their views."""
    never, always = (0.0, 0.0, 0.0, 0.0, 1.0), (1.5, 0.5, 0.3, 1.0, 0.0)
    incoming = Natural(np.full(2, 2.0), np.array([0.1, 3.2]), np.full(2, 0.2))
    return Moments(*np.transpose([never, always])), incoming, np.array(S)


def test_the_ends_themselves_are_finite_and_silent():
    with np.errstate(all="raise"):
        out = mixed_extrinsic(*ends([False, True]))
    assert np.all(np.isfinite(out))
    assert out.D[0] == out.r[0] == out.T[0] == out.Q_hat[1] == 0


@pytest.mark.parametrize(
    "S, what", [([True, True], "rho = 0"), ([False, False], "rho = 1")]
)
def test_a_coordinate_in_the_wrong_view_is_refused(S, what):
    with pytest.raises(ValueError, match=what):
        mixed_extrinsic(*ends(S))


def test_rho_is_needed():
    of, incoming, S = ends([False, True])
    with pytest.raises(ValueError, match="rho"):
        mixed_extrinsic(Moments(*of[:3]), incoming, S)


def test_negatives_by_rounding_are_returned_as_they_are():
    rho = np.array([0.2, 0.8])
    of = Moments(np.zeros(2), rho, rho**2 - 1e-9, rho, 1 - rho)
    incoming = Natural(np.ones(2), np.zeros(2), np.ones(2))
    out = mixed_extrinsic(of, incoming, np.array([False, True]))
    assert out.T[0] < 0 and out.chi_hat[1] < 0


def test_a_response_above_one_over_the_precision_gives_a_negative_message():
    """rho > 1: a factor that is not log-concave. It belongs to S."""
    of = Moments(*(np.array([z]) for z in (0.0, 1.2, 3.0, 1.2, -0.2)))
    incoming = Natural(np.ones(1), np.zeros(1), np.ones(1))
    out = mixed_extrinsic(of, incoming, np.array([True]))
    assert_allclose(out.Q_hat, 1 / 1.2 - 1, rtol=1e-12)


# --- the replica-symmetric Gaussians of chapter 2.3 -----------------------------------


def precision(Q_hat, chi_hat, beta, n):
    return beta * Q_hat * np.eye(n) - beta**2 * chi_hat * np.ones((n, n))


@given(
    st.floats(0.1, 10),
    st.floats(-0.95, 0.95),
    st.floats(0.05, 20),
    st.integers(1, 6),
    st.floats(-3, 3),
)
def test_replica_symmetric_inverse_and_log_partition(Q_hat, share, beta, n, h):
    chi_hat = share * Q_hat / (n * beta)  # both signs: x and u
    matrix = precision(Q_hat, chi_hat, beta, n)
    cov = np.linalg.inv(matrix)
    diagonal, off_diagonal = rs_covariance(Q_hat, chi_hat, beta, n)
    assert_allclose(np.diag(cov), diagonal, rtol=1e-10)
    if n > 1:
        assert_allclose(cov[0, 1], off_diagonal, rtol=1e-9, atol=1e-12 * diagonal)
    log_size = n / 2 * np.log(2 * np.pi) - np.linalg.slogdet(matrix)[1] / 2
    by_matrix = log_size + beta**2 * h**2 * cov.sum() / 2
    ours = rs_log_partition(Q_hat, h, chi_hat, beta, n)
    assert_allclose(ours, by_matrix, rtol=1e-9, atol=1e-9)


@given(st.floats(0.1, 10), st.floats(0, 5), st.floats(0.05, 20), st.floats(-3, 3))
def test_limit_of_no_replicas(Q_hat, chi_hat, beta, h):
    diagonal, off_diagonal = rs_covariance(Q_hat, chi_hat, beta, 0)
    assert_allclose(
        [off_diagonal, diagonal - off_diagonal],
        [chi_hat / Q_hat**2, 1 / (beta * Q_hat)],
        rtol=1e-9,
        atol=1e-12,
    )
    assert rs_log_partition(Q_hat, h, chi_hat, beta, 0) == 0
    n = 1e-4 * Q_hat / (beta * max(chi_hat, h**2, Q_hat / beta, 1e-3))
    up, down = (rs_log_partition(Q_hat, h, chi_hat, beta, k) for k in (n, -n))
    slope = (up - down) / (2 * n)
    # the value may be near 0 by cancellation of its parts
    scale = 1 + beta * (h**2 + chi_hat) / Q_hat
    mean = np.log(2 * np.pi / (beta * Q_hat)) / 2 + beta * (h**2 + chi_hat) / Q_hat / 2
    assert_allclose(slope, mean, rtol=1e-6, atol=1e-6 * scale)


@pytest.mark.parametrize(
    "bad, match",
    [
        (dict(Q_hat=-1.0), "Q_hat"),
        (dict(Q_hat=0.0), "Q_hat"),
        (dict(beta=np.inf), "beta"),
        (dict(beta=0.0), "beta"),
        (dict(n=5), "n is 5"),
    ],
)
def test_no_such_gaussian(bad, match):
    with pytest.raises(ValueError, match=match):
        rs_covariance(**(dict(Q_hat=4.0, chi_hat=1.0, beta=1.0, n=1) | bad))
