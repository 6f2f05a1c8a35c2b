"""The coupling at speed: nothing that is left out by subtraction costs digits, and the
sum of the probabilities has the bound that chapter 11 says.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from test_coupling import mixed, problem

from rvamp_nb import panels, rvamp
from rvamp_nb.panels import couple
from rvamp_nb.resampling import Poisson, Subsample

SHAPES = [(8, 30), (30, 8), (20, 20)]


def heard(M, N, loud, own):
    """The variance that comes back to somebody who says `own` noise with its
    message: a coordinate of R, one of S, or a row.
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
def test_nobody_hears_its_own_noise_however_loud(M, N, loud):
    """To 1e-11: four digits may go before the sum takes over from the difference."""
    silent = heard(M, N, loud, 0.0)
    assert silent > 0
    for own in 10.0 ** np.arange(0, 21, 2):
        assert_allclose(heard(M, N, loud, own), silent, rtol=1e-11)


def test_the_difference_alone_would_not_do(monkeypatch):
    monkeypatch.setattr(panels, "OUTWEIGHED", -1.0)
    for M, N, loud in (8, 30, "R"), (30, 8, "row"):
        silent, loudly = heard(M, N, loud, 0.0), heard(M, N, loud, 1e12)
        assert abs(loudly / silent - 1) > 1e-8


def test_where_too_many_are_outweighed_the_worst_are_summed():
    own, others = np.ones(6), np.array([1.0, 1e-7, -1e-9, 1e-5, 1e-3, 0.0])
    assert set(panels._outweighed(own, others, 9)) == {1, 2, 3, 5}
    assert set(panels._outweighed(own, others, 2)) == {2, 5}
    assert len(panels._outweighed(0 * own, 0 * own, 9)) == 0  # nothing to leave out


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


def test_the_probabilities_sum_to_at_most_the_rows_that_are_drawn():
    """`share-sum`: at most M P[c > 0], and a small penalty comes close to it."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 200)) / np.sqrt(40)
    y = A[:, :8].sum(1) * 2 + 0.3 * rng.normal(size=40)
    for counts, drawn in (Poisson(0.1), 1 - np.exp(-0.1)), (Subsample(0.5), 0.5):
        top = counts.mean * np.abs(A.T @ y).max()
        for fraction, at_least in (0.1, 0.8), (0.001, 0.99):
            fit = rvamp(A, y, fraction * top, counts=counts)
            assert fit.converged
            share = fit.Pi.sum() / len(y)
            assert at_least * drawn < share < drawn
