"""Two refits on a half of the rows and on its complement, without a refit."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from rvamp_nb import (
    Discrete,
    ElasticNet,
    Grouped,
    GroupLasso,
    Huber,
    Laplace,
    Logistic,
    NonNegative,
    Poisson,
    PoissonLoss,
    Prior,
    Ridge,
    SpikeSlab,
    Squared,
    Subsample,
    TwoPoint,
    WeightedLoss,
    complementary_pairs,
    rvamp,
)
from rvamp_nb.algorithm.column_groups import orthonormal
from rvamp_nb.algorithm.messages import Natural
from rvamp_nb.algorithm.resampling import FixedFactor
from rvamp_nb.algorithm.solver import with_clusters
from rvamp_nb.datasets import gaussian_design
from rvamp_nb.exceptions import ConvergenceWarning
from rvamp_nb.inference.halves import joint_law, pair_covariance, pull_product
from rvamp_nb.inference.several_classes import Softmax
from rvamp_nb.tables import ChunkedTable

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "truth/halves"), str(TESTS / "bench")]
import make_halves_truth as pairs  # noqa: E402
import two_halves  # noqa: E402

D = gaussian_design(60, 40, density=0.2, seed=3)
SMALL = gaussian_design(20, 12, density=0.3, seed=3)  # beta < inf averages over nodes
LASSO = Laplace(0.25)
HALF = Subsample(0.5)


def fitted(prior=LASSO, resampling=HALF, d=D, **options):
    return rvamp(d.A, d.y, prior=prior, resampling=resampling, tol=1e-8, **options)


def both_beyond(h, s, t, correlation):
    """P(|H| > t and |H'| > t) by the bivariate normal distribution function."""
    law = multivariate_normal([0, 0], [[1, correlation], [correlation, 1]])
    a, b = (-t - h) / s, (t - h) / s
    inside = law.cdf([b, b]) - law.cdf([a, b]) - law.cdf([b, a]) + law.cdf([a, a])
    one = multivariate_normal.cdf(b) - multivariate_normal.cdf(a)
    return 1 - 2 * one + inside


@pytest.mark.parametrize("correlation", [-0.999, -0.9, -0.4, 0.3, 0.95])
def test_two_thresholds_agree_with_the_bivariate_normal(correlation):
    message = Natural(np.full(4, 2.0), np.array([0.0, 0.4, 1.5, -4.0]), np.full(4, 0.3))
    prior = Laplace(1.1)
    bends = prior.bends(message.Q_hat, np.inf)
    given = message, np.full(4, correlation), bends
    found = pair_covariance(prior.Pi, *given) + prior.Pi(message) ** 2
    expected = [both_beyond(h, 0.3**0.5, 1.1, correlation) for h in message.h]
    assert_allclose(found, expected, atol=2e-7)


@pytest.mark.parametrize(
    "prior, beta",
    [
        (LASSO, np.inf),
        (Laplace(0.25, TwoPoint()), np.inf),
        (ElasticNet(0.3, l1_ratio=0.6), np.inf),
        (NonNegative(0.2), np.inf),
        (Ridge(0.3), np.inf),
        (LASSO, 2.0),
        (SpikeSlab(0.2, 0.5), 1.0),
    ],
)
def test_equal_resamples_have_the_variance_and_independent_ones_nothing(prior, beta):
    fit = fitted(prior, d=D if np.isinf(beta) else SMALL, beta=beta)
    drawn = isinstance(prior, Laplace) and prior.randomize != FixedFactor()
    same = complementary_pairs(fit, [[0.5, 0.0], [0.0, 0.5]], tol=1e-9, max_iter=500)
    if not drawn:  # penalties are drawn anew
        assert_allclose(same.covariance, fit.var, rtol=1e-4, atol=1e-8)
    none = complementary_pairs(fit, [[0.25, 0.25], [0.25, 0.25]])
    assert_allclose(none.covariance, 0, atol=1e-12)
    half = complementary_pairs(fit)
    assert half.converged and (half.rho > 0).all() and (half.rho < 1).all()
    assert (np.abs(half.covariance) <= fit.var).all()
    assert np.isnan(half.Pi_both).all() != fit.selects


def test_a_prior_of_ones_own_is_a_ridge_again():
    class Normal(Prior):
        def inner(self, field, Q_hat, beta):
            x = field / (Q_hat + 0.3)
            return field * x / 2, x, 0 * field + 1 / (Q_hat + 0.3)

    own, known = (
        complementary_pairs(fitted(prior)) for prior in (Normal(), Ridge(0.3))
    )
    assert_allclose(own.covariance, known.covariance, rtol=1e-6)


def test_ridge_has_the_covariance_of_all_pairs():
    """Of a ridge on many rows and one column; counts are coins, as for the solver."""
    rng = np.random.default_rng(1)
    a = rng.normal(size=(400, 1)) / 20
    y = a[:, 0] + rng.normal(size=400) / 20
    fit = rvamp(a, y, prior=Ridge(0.5), resampling=HALF)
    found = complementary_pairs(fit)
    x = np.empty((2, 20_000))
    for d in range(x.shape[1]):
        c = 1.0 * (rng.random(400) < 0.5)
        for k, count in enumerate((c, 1 - c)):
            x[k, d] = count @ (a[:, 0] * y) / (count @ a[:, 0] ** 2 + 0.5)
    covariance = np.mean((x[0] - x[0].mean()) * (x[1] - x[1].mean()))
    assert_allclose(found.covariance[0], covariance, rtol=0.03)


@pytest.mark.parametrize(
    "name", ["few_rows_squared", "tall_logistic", "genotypes_huber"]
)
def test_beside_pairs_of_refits(name):
    found = pairs.measure(name)
    assert 0.85 < found["slope"] < 1.1 and found["correlation"] > 0.9
    assert found["both"] < found["square"] / 4


def test_the_default_law_of_any_loss_needs_no_pull():
    rng = np.random.default_rng(0)
    A, y = D.A[:40, :20], D.y[:40]
    targets = {
        Squared(0.8): y,
        Logistic(): (y > 0) * 1.0,
        PoissonLoss(): rng.poisson(np.exp((2 * (y > 0) - 1) / 2)) * 1.0,
        Huber(0.5): y,
        WeightedLoss(Squared(), np.r_[0.0, 2.0, np.ones(38)]): y,
    }
    joint = np.array([[0.1, 0.4], [0.4, 0.1]])
    for loss, y in targets.items():
        prior = Laplace(0.15)
        fit = rvamp(A, y, prior=prior, loss=loss, resampling=HALF, tol=1e-4)
        both = (complementary_pairs(fit, law, tol=1e-4) for law in (None, joint))
        at = [one.covariance.sum() for one in both]
        assert at[0] < at[1] < 0  # with a fifth in common they are less apart


def test_pulls_of_the_squared_loss_are_known_in_closed_form():
    fit = fitted(resampling=Discrete([0, 1, 3], [0.5, 0.3, 0.2]))
    incoming, (c, w) = fit.last.state.to_likelihood, fit.problem.counts.nodes()
    joint = 0.3 * np.diag(w) + 0.7 * np.outer(w, w)
    gamma = -0.6 * incoming.chi_hat
    g = c[:, None] / (1 + np.multiply.outer(c, incoming.Q_hat))
    squared = (D.y + incoming.h) ** 2 + gamma
    expected = np.einsum("km,kl,lm->m", g, joint, g) * squared
    assert_allclose(pull_product(fit.problem, incoming, gamma, joint), expected)


def test_an_intercept_and_a_free_column():
    free = Laplace(0.25, penalty_factor=np.r_[0.0, np.ones(39)])
    fit = rvamp(D.A, D.y + 3, prior=free, resampling=HALF, intercept=True)
    found = complementary_pairs(fit)
    assert found.rho.shape == found.Pi_both.shape == (40,)
    assert_allclose(found.Pi_both[0], 1)
    centred = rvamp(D.A, D.y, prior=free, resampling=HALF)
    near = complementary_pairs(centred)
    assert_allclose(found.rho, near.rho, atol=0.05)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_table_in_chunks_gives_the_same(axis):
    table = ChunkedTable(D.A, axis=axis, chunk_size=480)
    stored = rvamp(table, D.y, prior=LASSO, resampling=HALF, tol=1e-8)
    one, two = complementary_pairs(stored), complementary_pairs(fitted())
    assert_allclose(one.covariance, two.covariance, rtol=1e-5, atol=1e-9)


def test_a_unit_and_an_order_change_nothing():
    plain = complementary_pairs(fitted())
    order = np.random.default_rng(0).permutation(40)
    turned = rvamp(
        10 * D.A[:, order], 10 * D.y, 25.0, resampling=HALF, tol=1e-8
    )  # the paper's drawn penalties
    drawn = complementary_pairs(turned)
    again = rvamp(D.A, D.y, 0.25, resampling=HALF, tol=1e-8)
    assert_allclose(drawn.rho, complementary_pairs(again).rho[order], atol=1e-5)
    assert (plain.rho != drawn.rho).any()


def test_what_is_not_implemented_is_refused_by_name():
    def refused(fit, *words, kind=TypeError, **options):
        with pytest.raises(kind) as error:
            complementary_pairs(fit, **options)
        assert all(word in str(error.value) for word in words), error.value

    refused("fit", "must be a Fit", "from rvamp")
    groups = np.arange(60) // 2
    refused(fitted(resampling=Grouped(HALF, groups)), "rows in groups", "single rows")
    clustered = with_clusters(fitted(), [[0, 1]])
    refused(clustered, "clusters", "with_clusters(fit, [])")
    made, _ = orthonormal(D.A, np.arange(40) // 4)
    prior = GroupLasso(0.2, made.groups)
    in_groups = rvamp(made.A, D.y, prior=prior, resampling=HALF)
    refused(in_groups, "fit must be without", "GroupLasso")
    one_class = fitted()
    problem = one_class.problem._replace(likelihood=Softmax(3))
    refused(replace(one_class, problem=problem), "softmax", "one against the rest")
    two = dict(kind=ValueError)
    refused(fitted(resampling=Poisson(0.5)), "Subsample(0.5)", "joint law", **two)
    refused(fitted(resampling=Subsample(0.7)), "complement", **two)
    refused(fitted(), "joint", "(2, 2)", joint=np.eye(3), **two)
    refused(fitted(), "law of one count", joint=np.full((2, 2), 0.3), **two)
    refused(fitted(), "tol", tol=0.0, **two)
    with pytest.warns(ConvergenceWarning):
        lost = fitted(max_iter=1)
    refused(lost, "not converged", **two)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        assert not complementary_pairs(fitted(), max_iter=1).converged


def test_disjoint_thirds_leave_rows_out():
    assert_allclose(joint_law(Subsample(0.3)), [[0.4, 0.3], [0.3, 0]])
    third, half = (
        complementary_pairs(fitted(resampling=Subsample(t))) for t in (0.3, 0.5)
    )
    assert third.rho.mean() < half.rho.mean()


def test_the_first_set_of_noise_is_made_again():
    again = np.array(two_halves.one_set("Toeplitz .9", 0))
    kept = two_halves.load()["Toeplitz .9"][0]
    # one feature within rounding of a threshold may fall the other way
    assert np.abs(again[:, 0] - kept[:, 0]).max() <= 1
    assert_allclose(again[:, 1:], kept[:, 1:], rtol=0.02)
