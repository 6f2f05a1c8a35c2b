"""The coupling against an independent dense solution: one block system for the
means, its inverse for everything else.
"""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rvamp_nb.algorithm import lmmse
from rvamp_nb.algorithm.coupling import coupled
from rvamp_nb.algorithm.lmmse import couple
from rvamp_nb.algorithm.messages import Mixed, Natural


def problem(M, N, seed, S=None, spread=1.0):
    """A design and both messages in natural view; each positive number is within
    `spread` decades of one.
    """
    rng = np.random.default_rng(seed)

    def side(n):
        return Natural(
            10 ** rng.uniform(-spread, spread, n),
            rng.normal(size=n),
            10 ** rng.uniform(-spread, spread, n),
        )

    A = rng.normal(size=(M, N)) / np.sqrt(M)
    A *= 10 ** rng.uniform(-spread / 4, spread / 4, N)
    prior, likelihood = side(N), side(M)
    if S is None:
        S = rng.random(N) < rng.choice([0, 0.3, 0.7, 1])
    return A, prior, likelihood, np.broadcast_to(S, N).copy()


def mixed(prior, S):
    Q, h, chi_hat = prior
    Q = np.where(S, 1, Q)
    natural = [np.where(S, z, 0) for z in prior]
    moment = [np.where(S, 0, z) for z in (1 / Q, h / Q, chi_hat / Q**2)]
    return Mixed(S, *natural, *moment)


def dense(A, prior, likelihood):
    """Moments from the inverse of the real block matrix [[Q_x, -A'], [A, Q_u]];
    messages by the definition of extrinsic.
    """
    (Q, h, c), (Q_u, h_u, c_u) = prior, likelihood
    inverse = np.linalg.inv(np.block([[np.diag(Q), -A.T], [A, np.diag(Q_u)]]))
    sent = np.r_[Q, Q_u], np.r_[h, h_u], np.r_[c, c_u]
    mean, chi = inverse @ sent[1], np.diag(inverse)
    var = inverse**2 @ sent[2]
    plain = 1 / chi, mean / chi, var / chi**2
    back = [whole - own for whole, own in zip(plain, sent)]
    x, u = zip(*(np.split(z, [len(Q)]) for z in (mean, chi, var)))
    to_prior, to_likelihood = zip(*(np.split(z, [len(Q)]) for z in back))
    return x, u, to_prior, to_likelihood


def same(ours, other, tol):
    for block, reference in zip(ours, other):
        for z, z_ref in zip(block[:3], reference[:3], strict=True):
            assert_allclose(z, z_ref, rtol=tol, atol=tol * np.abs(z_ref).max())


def check(A, prior, likelihood, S, tol=1e-9):
    ours = couple(A, mixed(prior, S), likelihood)
    same(ours, dense(A, prior, likelihood), tol)
    assert_allclose(ours.u.rho + ours.u.rho_bar, 1)
    assert_allclose(ours.u.rho, likelihood.Q_hat * ours.u.chi, rtol=tol)


SHAPES = [(6, 9), (9, 6), (7, 7), (1, 1), (1, 8), (8, 1), (30, 80), (80, 30), (5, 60)]


@pytest.mark.parametrize(
    "S", [False, True, None], ids=["S empty", "S everything", "S random"]
)
@pytest.mark.parametrize("M, N", SHAPES)
def test_equals_the_dense_solution(M, N, S):
    check(*problem(M, N, seed=M * N, S=S, spread=0.3), tol=1e-10)


@given(
    M=st.integers(1, 12),
    N=st.integers(1, 12),
    seed=st.integers(0, 10**6),
    spread=st.floats(0, 1),
)
def test_any_size_any_pattern_any_scale(M, N, seed, spread):
    check(*problem(M, N, seed, spread=spread))


def answer_by(solve, A, prior, likelihood):
    return coupled(prior, likelihood, solve(A, prior, likelihood))


@pytest.mark.parametrize("M, N", [(20, 30), (30, 20), (25, 25)])
def test_wide_and_tall_agree_with_extremes_present(M, N):
    A, prior, likelihood, _ = problem(M, N, seed=3, spread=0.3)
    message = mixed(prior, np.arange(N) % 2 == 0)
    message.Q_hat[[0, 2]] = 0  # no prior at all
    for view, tiny in zip(message[4:], (1e-14, 1e-14, 1e-28)):  # never selected
        view[[1, 3]] = 0, tiny
    wide = answer_by(lmmse._solve_wide, A, message, likelihood)
    tall = answer_by(lmmse._solve_tall, A, message, likelihood)
    same(wide, tall, 1e-11)
    for block in couple(A, message, likelihood):
        for z in block:
            assert z is None or np.isfinite(z).all()


def test_negative_precision_is_welcome_while_the_whole_is_positive():
    for M, N in (10, 15), (15, 10):
        A, prior, likelihood, _ = problem(M, N, seed=0, spread=0.2)
        prior.Q_hat[2] = -0.1
        check(A, prior, likelihood, np.arange(N) < 5)


@pytest.mark.parametrize("M, N", [(8, 12), (12, 8)])
def test_the_message_back_does_not_depend_on_what_was_sent(M, N):
    """Over 28 orders of magnitude: it is what the others know."""
    A, prior, likelihood, _ = problem(M, N, seed=5, spread=0.3)
    backs = []
    for Q_hat in 10.0 ** np.arange(-14, 15):
        one = prior._replace(
            Q_hat=np.r_[Q_hat, prior.Q_hat[1:]],
            chi_hat=np.r_[min(Q_hat, 1) ** 2, prior.chi_hat[1:]],
        )
        S = np.r_[Q_hat < 1, np.arange(1, N) % 2 == 0]
        backs.append([z[0] for z in couple(A, mixed(one, S), likelihood).to_prior])
    assert_allclose(
        backs, np.broadcast_to(np.median(backs, axis=0), (29, 3)), rtol=1e-12
    )


@pytest.mark.parametrize("M, N", [(8, 12), (12, 8)])
def test_rows_hear_the_faintest_coefficients(M, N):
    """When almost nothing is selected V = diag(A D A'), to first order in D: far
    below what 1/chi - Q_hat can resolve.
    """
    A, prior, likelihood, _ = problem(M, N, seed=6, spread=0.3)
    message = mixed(prior, np.zeros(N, bool))
    message = message._replace(D=1e-14 * message.D, T=1e-28 * message.T)
    assert_allclose(
        couple(A, message, likelihood).to_likelihood.Q_hat, A**2 @ message.D, rtol=1e-11
    )


def test_many_coordinates_in_S_cost_no_square_of_N():
    A, prior, likelihood, S = problem(5, 60, seed=1, S=True, spread=0.3)
    check(A, prior, likelihood, S)
    reduced = lmmse.at_most_2M(A, mixed(prior, S))
    assert reduced.S.sum() == 10
    assert np.array_equal(reduced.S, reduced.D == 0)  # each in one view
    prior.Q_hat[:11] = 0
    with pytest.raises(np.linalg.LinAlgError, match="Q_hat <= 0"):
        couple(A, mixed(prior, S), likelihood)


@pytest.mark.parametrize(
    "M, N, in_S", [(20, 20_000, 10), (20, 20_000, 20_000), (20_000, 20, 10)]
)
def test_memory_is_a_few_times_the_matrix(M, N, in_S):
    A, prior, likelihood, S = problem(M, N, seed=0, S=np.arange(N) < in_S)
    message = mixed(prior, S)
    tracemalloc.start()
    try:
        couple(A, message, likelihood)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * A.nbytes  # max(M, N)**2 numbers would be a thousand times A


@pytest.mark.parametrize("M, N, S", [(6, 9, None), (9, 6, None), (3, 20, True)])
def test_inputs_are_not_modified(M, N, S):
    A, prior, likelihood, S = problem(M, N, seed=2, S=S)
    inputs = [A, *mixed(prior, S), *likelihood]
    kept = [z.copy() for z in inputs]
    for z in inputs:
        z.flags.writeable = False
    answer = couple(inputs[0], Mixed(*inputs[1:8]), Natural(*inputs[8:]))
    for before, after in zip(kept, inputs):
        assert np.array_equal(before, after)
    assert not any(
        np.shares_memory(out, z)
        for block in answer
        for out in block
        if out is not None
        for z in inputs
    )


def test_bad_input_is_named():
    A, prior, likelihood, S = problem(6, 9, seed=0)
    with pytest.raises(ValueError, match="likelihood_message .* 6 x 9"):
        couple(A, mixed(prior, S), prior)
    with pytest.raises(ValueError, match="prior_message"):
        couple(A.T, mixed(prior, S), likelihood)
    prior.Q_hat[0] = -50
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        couple(A, mixed(prior, np.ones(9, bool)), likelihood)
    prior.Q_hat[0] = np.nan
    with pytest.raises(np.linalg.LinAlgError, match="NaN"):
        couple(A, mixed(prior, np.ones(9, bool)), likelihood)


def wrong_sign(monkeypatch):
    monkeypatch.setitem(
        globals(), "couple", lambda A, *messages: lmmse.couple(-A, *messages)
    )


def no_inverse(monkeypatch):  # Lambda where its inverse must stand, as printed
    right = lmmse.inverse_and_root
    monkeypatch.setattr(lmmse, "inverse_and_root", lambda X: (X, right(X)[1]))


def no_noise_from_R(monkeypatch):
    monkeypatch.setitem(
        globals(),
        "mixed",
        lambda prior, S: mixed_as_it_is(prior, S)._replace(T=np.zeros(len(S))),
    )


def own_noise_counted_twice(monkeypatch):
    solve = {name: getattr(lmmse, name) for name in ("_solve_wide", "_solve_tall")}
    for name, right in solve.items():

        def wrong(A, prior, *others, right=right):
            z = right(A, prior, *others)
            return z._replace(others_x=z.others_x + prior.T * z.s**2)

        monkeypatch.setattr(lmmse, name, wrong)


mixed_as_it_is = mixed


@pytest.mark.parametrize(
    "sabotage", [wrong_sign, no_inverse, no_noise_from_R, own_noise_counted_twice]
)
@pytest.mark.parametrize("M, N", [(6, 9), (9, 6)])
def test_the_check_sees_sabotage(sabotage, M, N, monkeypatch):
    given_ = problem(M, N, seed=0, S=np.arange(N) % 2 == 0, spread=0.3)
    check(*given_)
    sabotage(monkeypatch)
    with pytest.raises(AssertionError):
        check(*given_)
