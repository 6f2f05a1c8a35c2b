"""The coupling at speed: nothing that is left out by subtraction costs digits, and the
sum of the probabilities has the bound that the room `panels` says.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from test_coupling import mixed, problem

from rvamp_nb import rvamp
from rvamp_nb.algorithm import active, lmmse
from rvamp_nb.algorithm.likelihood import Logistic, Squared
from rvamp_nb.algorithm.lmmse import couple, first_pass, stand_in_columns
from rvamp_nb.algorithm.resampling import Poisson, Subsample
from rvamp_nb.tables.chunked import ChunkedTable

SHAPES = [(8, 30), (30, 8), (20, 20)]


def received(M, N, loud, own):
    """The variance that comes back to what sends `own` noise with its message: a
    coordinate of R, one of S, or a row.
    """
    A, prior, likelihood, _ = problem(M, N, seed=4, spread=0.3)
    message = mixed(prior, np.arange(N) % 3 == 0)
    if loud == "R":
        message.T[1] = own
        return couple(A, message, likelihood).to_prior.chi_hat[1]
    if loud == "S":
        message.chi_hat[3] = own
        return couple(A, message, likelihood).to_prior.chi_hat[3]
    likelihood.chi_hat[2] = own
    return couple(A, message, likelihood).to_likelihood.chi_hat[2]


@pytest.mark.parametrize("loud", ["R", "S", "row"])
@pytest.mark.parametrize("M, N", SHAPES)
def test_nothing_receives_its_own_noise_however_loud(M, N, loud):
    """To 1e-11: four digits may go before the sum takes over from the difference."""
    silent = received(M, N, loud, 0.0)
    assert silent > 0
    for own in 10.0 ** np.arange(0, 21, 2):
        assert_allclose(received(M, N, loud, own), silent, rtol=1e-11)


def test_the_difference_alone_would_not_do(monkeypatch):
    monkeypatch.setattr(lmmse, "OUTWEIGHED", -1.0)
    for M, N, loud in (8, 30, "R"), (8, 30, "row"), (30, 8, "row"):
        silent, loudly = received(M, N, loud, 0.0), received(M, N, loud, 1e12)
        assert abs(loudly / silent - 1) > 1e-8


def test_where_too_many_are_outweighed_the_worst_are_sum_anew():
    own, others = np.ones(6), np.array([1.0, 1e-7, -1e-9, 1e-5, 1e-3, 0.0])
    few = lambda own, others, cap: lmmse._subtract_own(own + others, own, cap)[1]
    assert set(few(own, others, 9)) == {1, 2, 3, 5}
    assert set(few(own, others, 2)) == {2, 5}
    assert len(few(0 * own, 0 * own, 9)) == 0  # nothing to leave out


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("M, N", SHAPES)
def test_noise_of_all_at_once_in_either_memory_order(M, N, order):
    """Everybody loud: the sums against a plain one over all the others."""
    A, prior, likelihood, _ = problem(M, N, seed=5, S=False, spread=0.3)
    message = mixed(prior, np.zeros(N, bool))
    silent = likelihood._replace(chi_hat=np.zeros(M))
    ours = couple(np.array(A, order=order), message, silent).to_prior
    Sigma_u = np.linalg.inv(np.diag(likelihood.Q_hat) + (A * message.D) @ A.T)
    Omega = A.T @ Sigma_u @ A
    others = (Omega - np.diag(np.diag(Omega))) ** 2 @ message.T
    expected = others / (1 - message.D * np.diag(Omega)) ** 2
    assert_allclose(ours.chi_hat, expected, rtol=1e-9)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("M, N", [(30, 2500), (270, 1100), (90, 40)])
def test_a_table_in_32_bits_gives_six_digits_in_64(M, N, order):
    """Panels of a few rows and of many, and the tall form."""
    A, prior, likelihood, S = problem(M, N, seed=3)
    message = mixed(prior, S)
    single = np.asarray(A, dtype=np.float32, order=order)
    found, exact = (couple(X, message, likelihood) for X in (single, A))
    for of_one, of_other in zip(found, exact):
        for some, all_of_it in zip(of_one, of_other):
            if some is None:  # x has no rho
                continue
            assert some.dtype == float and not np.array_equal(some, all_of_it)
            assert_allclose(some, all_of_it, rtol=1e-3, atol=2e-5 * np.abs(some).max())


def test_the_probabilities_sum_to_at_most_the_rows_that_are_drawn():
    """`share-sum`: at most M P[c > 0], and a small penalty comes close to it."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 200)) / np.sqrt(40)
    y = A[:, :8].sum(1) * 2 + 0.3 * rng.normal(size=40)
    for counts, drawn in (Poisson(0.1), 1 - np.exp(-0.1)), (Subsample(0.5), 0.5):
        top = counts.mean * np.abs(A.T @ y).max()
        for fraction, at_least in (0.1, 0.8), (0.001, 0.99):
            fit = rvamp(A, y, fraction * top, resampling=counts)
            assert fit.converged
            share = fit.Pi.sum() / len(y)
            assert at_least * drawn < share < drawn


# Tables in blocks ---------------------------------------------------------------------


def of_each_view(M, N):
    A, prior, likelihood, _ = problem(M, N, seed=4, spread=0.3)
    return A, mixed(prior, np.arange(N) % 3 == 0), likelihood


def factors(M=20, N=2600, seed=5):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(M, 3)) @ rng.normal(size=(3, N)) + rng.normal(size=(M, N))
    A = (A - A.mean(0)) / np.linalg.norm(A - A.mean(0), axis=0)
    y = 3 * A[:, :5].sum(1) + 0.3 * rng.normal(size=M)
    return A, y - y.mean()


@pytest.mark.parametrize("M, N, passes", [(20, 90, 2), (90, 20, 3), (20, 20, 2)])
def test_a_table_in_blocks_is_read_twice_or_three_times_and_says_the_same(M, N, passes):
    A, prior, likelihood = of_each_view(M, N)
    stored = ChunkedTable(A, chunk_size=7 * min(M, N))
    whole, blocks = couple(A, prior, likelihood), couple(stored, prior, likelihood)
    assert stored.passes == passes
    for one, two in zip(whole, blocks):
        for a, b in zip(one[:3], two[:3]):
            assert_allclose(b, a, rtol=1e-11, atol=1e-12 * np.abs(a).max())


def test_blocks_of_rows_of_a_wide_table_and_of_columns_of_a_tall_one():
    for M, N, axis in (15, 40, 0), (40, 15, 1):
        A, prior, likelihood = of_each_view(M, N)
        blocks = couple(ChunkedTable(A, axis=axis, chunk_size=100), prior, likelihood)
        assert_allclose(
            blocks.to_prior.h, couple(A, prior, likelihood).to_prior.h, rtol=1e-9
        )


def test_stand_ins_have_the_three_sums_of_those_for_whom_they_stand():
    rng = np.random.default_rng(0)
    A, D, r, T = rng.normal(size=(6, 50)), *rng.uniform(0.1, 1, size=(3, 50))
    X, r_of, T_of = stand_in_columns(first_pass(A, np.zeros(50, bool), D, r, T))
    assert_allclose(X @ X.T, (A * D) @ A.T, rtol=1e-10)
    assert_allclose((X * T_of) @ X.T, (A * T) @ A.T, rtol=1e-10)
    assert_allclose(X @ r_of, A @ r, rtol=1e-10)


@pytest.mark.parametrize(
    "loss, counts", [(Squared(), Poisson(0.5)), (Logistic(), Subsample(0.5))]
)
def test_most_columns_keep_still_and_the_answer_is_the_same(loss, counts):
    """In fewer steps, two passes each; with a penalty for each column, and an
    intercept that is always among the few.
    """
    A, y = factors()
    y = y if isinstance(loss, Squared) else 1.0 * (y > 0)
    lam = 0.1 * np.abs(A.T @ y).max() * np.linspace(1, 2, 2600)
    kind = dict(resampling=counts, loss=loss, intercept=True, tol=1e-10)
    array = rvamp(A, y, 2 * lam, **kind)
    stored = rvamp(ChunkedTable(A, chunk_size=9000), y, 2 * lam, **kind)
    assert array.converged and stored.converged
    assert stored.n_iter < array.n_iter
    assert stored.problem.A.passes <= 2 * stored.n_iter + 6
    for name in "mean", "var", "Pi":
        a, b = getattr(array, name), getattr(stored, name)
        assert_allclose(b, a, rtol=1e-7, atol=1e-9 * np.abs(a).max())


def test_a_small_problem_that_breaks_down_costs_a_plain_step(monkeypatch):
    A, y = factors()
    stored, lam = ChunkedTable(A, chunk_size=9000), 0.2 * np.abs(A.T @ y).max()
    monkeypatch.setattr(active, "_iterate_few", lambda small, state: None)
    assert_allclose(rvamp(stored, y, lam).Pi, rvamp(A, y, lam).Pi, atol=1e-6)
