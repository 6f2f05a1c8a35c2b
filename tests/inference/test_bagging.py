"""Bagged predictions against refits, bagged posteriors against closed forms, a spike
and a slab against all of its supports; in Monte-Carlo standard errors plus a stated
allowance for the approximation.
"""

import warnings
from functools import cache

import numpy as np
import pytest
from scipy import stats
from truth.bagging.make_bagging_truth import (
    EDGES,
    MODERATE,
    RECIPES,
    draws,
    load,
    posterior,
)

from rvamp_nb.algorithm.densities import p2
from rvamp_nb.algorithm.likelihood import Logistic, Squared
from rvamp_nb.algorithm.prior import Laplace, Ridge, SpikeSlab
from rvamp_nb.algorithm.resampling import (
    Discrete,
    Exponential,
    NoResampling,
    Poisson,
    Subsample,
)
from rvamp_nb.algorithm.solver import rvamp
from rvamp_nb.datasets import gaussian_design
from rvamp_nb.exceptions import ConvergenceWarning
from rvamp_nb.inference.bootstrap import naive_bootstrap

PREDICTIONS = [name for name in RECIPES if name.startswith("prediction")]


def beyond(gap, se):
    """Root mean square of the gap that Monte Carlo does not explain."""
    return np.sqrt(max(np.mean(gap**2) - np.mean(se**2), 0.0))


@pytest.mark.parametrize("name", RECIPES)
def test_a_slice_made_again_agrees(name):
    truth = load(name)
    assert truth.recipe == RECIPES[name]
    np.testing.assert_allclose(
        draws(truth.recipe, range(truth.recipe["n_slice"])).mean(0),
        truth.slice,
        rtol=1e-6,
        atol=1e-7,
    )
    off = (truth.slice - truth.mean) / (
        truth.mean_se * np.sqrt(truth.recipe["n"] / truth.recipe["n_slice"])
    )
    assert np.sqrt(np.mean(off[:1] ** 2)) < 2.5, "the slice is a fair part of the whole"


# Predictions --------------------------------------------------------------------------


@cache
def of_refits(name):
    """The refits' answer, rVAMP's mean and variance, and its fit."""
    truth = load(name)
    return truth, *bagged(truth)


def bagged(truth, **changes):
    """Mean and variance of the new rows' linear predictor by rVAMP, and its fit;
    `changes` replace parts of the problem.
    """
    p = truth.problem
    loss = dict(squared=Squared(), logistic=Logistic())[truth.recipe["loss"]]
    fit = rvamp(
        p.A,
        p.y,
        **(
            dict(
                prior=Laplace(p.lam),
                loss=loss,
                resampling=Poisson(truth.recipe["tau"]),
                intercept=True,
            )
            | changes
        ),
    )
    mean, covariance = p2(fit).predict(p.new)
    return mean, np.diag(covariance), fit


# rms beyond Monte Carlo, of means and of standard deviations, in units of the refits'
# standard deviation; seen: 0.01 and 0.03
ALLOWED = 0.03, 0.06


def errors(truth, mean, var):
    (theirs,) = truth.mean
    (their_se,) = truth.mean_se
    (their_var,) = truth.var
    (their_var_se,) = truth.var_se
    sd, sd_se = np.sqrt(their_var), their_var_se / (2 * np.sqrt(their_var))
    return beyond((mean - theirs) / sd, their_se / sd), beyond(
        np.sqrt(var) / sd - 1, sd_se / sd
    )


@pytest.mark.parametrize("name", PREDICTIONS)
def test_a_bagged_prediction_against_refits(name):
    truth, mean, var, fit = of_refits(name)
    assert fit.converged
    found = errors(truth, mean, var)
    print(
        f"{name}: beyond Monte Carlo, mean {found[0]:.3f}, standard deviation"
        f" {found[1]:.3f} of a standard deviation"
    )
    assert (np.array(found) < ALLOWED).all(), found
    assert (
        np.abs(mean - truth.mean[0])
        < 4 * truth.mean_se[0] + 0.05 * np.sqrt(truth.var[0])
    ).all()
    assert (
        np.abs(var - truth.var[0]) < 4 * truth.var_se[0] + 0.15 * truth.var[0]
    ).all()


@pytest.mark.parametrize(
    "changes",
    [
        dict(intercept=False),
        dict(resampling=Poisson(0.5)),
        dict(resampling=Subsample(1.0)),
        dict(loss=Squared(0.7)),
    ],
    ids=["no intercept", "smaller resamples", "no resampling", "another loss"],
)
@pytest.mark.parametrize("name", PREDICTIONS)
def test_another_problem_fails(name, changes):
    """The comparison has teeth."""
    truth = load(name)
    assert not (np.array(errors(truth, *bagged(truth, **changes)[:2])) < ALLOWED).all()


@pytest.mark.parametrize("name", PREDICTIONS)
def test_adding_up_variances_is_not_enough(name):
    truth, mean, _, fit = of_refits(name)
    assert (
        errors(truth, mean, truth.problem.new**2 @ fit.var + fit.intercept_var)[1]
        > 2 * ALLOWED[1]
    )


def test_predictions_move_together_as_refits_do():
    """Off-diagonal: the new rows' covariance."""
    data = gaussian_design(90, 60, rho=0.8, density=0.1, noise=0.2, seed=4)
    A = data.A[:70]
    y = data.y[:70]
    new = data.A[70:]
    lam = 0.15 * np.abs(data.A[:70].T @ data.y[:70]).max()
    theirs = np.cov(
        (
            naive_bootstrap(
                A,
                y,
                lam,
                resampling=Poisson(1.0),
                n_resamples=1000,
                keep=range(60),
                verbose=False,
            ).draws
            @ new.T
        ).T
    )
    ours = p2(rvamp(A, y, prior=Laplace(lam), resampling=Poisson(1.0))).predict(new)[1]
    off = ~np.eye(20, dtype=bool)
    assert (
        np.corrcoef(ours[off], theirs[off])[0, 1] > 0.98
        and 0.9 < np.polyfit(theirs[off], ours[off], 1)[0] < 1.15
    )


class Noted:
    """A law that keeps what it draws."""

    def __init__(self, law):
        self.law, self.drawn = law, []

    def draw(self, M, rng):
        self.drawn.append(self.law.draw(M, rng))
        return self.drawn[-1]


@pytest.mark.parametrize(
    "law",
    [Poisson(1.0), Subsample(0.6), Discrete([0.0, 2.0], [0.5, 0.5])],
    ids=lambda law: type(law).__name__,
)
def test_the_message_to_a_row_is_its_out_of_bag_prediction(law):
    data = gaussian_design(80, 60, rho=0.5, density=0.1, noise=0.2, seed=5)
    lam, noted = 0.15 * law.mean * np.abs(data.A.T @ data.y).max(), Noted(law)
    refits = naive_bootstrap(
        data.A,
        data.y,
        lam,
        resampling=noted,
        n_resamples=500,
        keep=range(60),
        verbose=False,
    )
    out, fits = np.array(noted.drawn) == 0, refits.draws @ data.A.T
    mean = (fits * out).sum(0) / out.sum(0)
    var = (((fits - mean) * out) ** 2).sum(0) / out.sum(0)
    fit = rvamp(data.A, data.y, prior=Laplace(lam), resampling=law)
    incoming, se = fit.last.state.to_likelihood, np.sqrt(var / out.sum(0))
    assert (np.abs(-incoming.h - mean) < 4.5 * se + 0.15 * np.sqrt(var)).all()
    assert abs(np.median(incoming.chi_hat / var) - 1) < 0.15
    inside = data.A @ fit.mean  # rows that were in the fit are another matter
    assert np.mean((inside - mean) ** 2) > 10 * np.mean((-incoming.h - mean) ** 2)


# Posteriors in closed form ------------------------------------------------------------


def gaussian_posteriors(A, y, sigma, penalties, law, n):
    """Means (n, N) and covariances (n, N, N) of the posterior in each of n
    resamples.
    """
    c = np.array([law.draw(len(y), np.random.default_rng([7, b])) for b in range(n)])
    covariances = np.linalg.inv(
        np.einsum("bm,mi,mj->bij", c, A, A, optimize=True) / sigma**2
        + np.diag(penalties)
    )
    return np.einsum("bij,bj->bi", covariances, (c * y) @ A / sigma**2), covariances


def gaussian_problem(M, N, seed=2):
    """Uneven noise, so that the spread across resamples is not the posterior's
    width.
    """
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(M, N)) / np.sqrt(M)
    A = A + 0.5 * np.roll(A, 1, axis=1)
    return A, A @ rng.normal(size=N) + 0.3 * np.abs(rng.normal(size=M)) * rng.normal(
        size=M
    )


LAWS = [Poisson(1.0), Poisson(2.0), Subsample(0.5), Exponential(1.0)]
SHAPES = [(80, 12), (20, 40)]


def parts(A, y, law, n=1500, sigma=0.3, intercept=False):
    """Mean, within and across with the Monte-Carlo error of the mean, from resampled
    posteriors.
    """
    penalties = np.append(np.full(A.shape[1] - intercept, 1.5), [0.0] * intercept)
    means, covariances = gaussian_posteriors(A, y, sigma, penalties, law, n)
    return means.mean(0), covariances.mean(0), np.cov(means.T), means.std(0) / n**0.5


@cache
def resampled_posterior(M, N, law):
    return parts(*gaussian_problem(M, N), law)


def close(fit, truth, mean_off=0.05, within_off=0.06, across_off=0.15):
    """Whether mean, widths within and across agree: 4.5 standard errors, and shares
    of the bagged posterior's standard deviations.
    """
    mean, within, across, se = truth
    scale, joint = np.sqrt(np.diag(within + across)), p2(fit)
    box = np.outer(scale, scale)
    return (
        (np.abs(fit.mean - mean) < 4.5 * se + mean_off * scale).all()
        and (np.abs(joint.within - within) < within_off * box).all()
        and (np.abs(joint.across - across) < across_off * box).all()
        and np.allclose(fit.posterior_var, np.diag(joint.covariance), rtol=1e-3)
    )


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("M, N", SHAPES)
def test_a_bagged_posterior_with_a_gaussian_prior(M, N, law):
    A, y = gaussian_problem(M, N)
    fit = rvamp(A, y, prior=Ridge(1.5), loss=Squared(0.3), resampling=law, beta=1.0)
    truth = resampled_posterior(M, N, law)
    assert fit.converged
    ratio = fit.posterior_var / np.diag(truth[1] + truth[2])
    print(
        f"{M} x {N}, {law}: bagged variance over the resampled one {ratio.min():.3f} to"
        f" {ratio.max():.3f}"
    )
    assert close(fit, truth) and 0.93 < ratio.min() and ratio.max() < 1.08


@pytest.mark.parametrize("M, N", SHAPES)
def test_without_resampling_it_is_the_posterior(M, N):
    A, y = gaussian_problem(M, N)
    fit = rvamp(
        A,
        y,
        prior=Ridge(1.5),
        loss=Squared(0.3),
        resampling=NoResampling(),
        beta=1.0,
        tol=1e-10,
    )
    covariance = np.linalg.inv(A.T @ A / 0.09 + 1.5 * np.eye(N))
    np.testing.assert_allclose(fit.mean, covariance @ A.T @ y / 0.09, atol=1e-7)
    np.testing.assert_allclose(p2(fit).covariance, covariance, atol=1e-7)
    np.testing.assert_allclose(fit.posterior_var, np.diag(covariance), atol=1e-7)


def test_another_beta_is_another_noise_and_another_prior():
    """beta = 4 with (sigma, lam) is beta = 1 with (sigma / 2, 4 lam)."""
    A, y = gaussian_problem(80, 12)
    one = rvamp(
        A,
        y,
        prior=Ridge(1.5),
        loss=Squared(0.3),
        resampling=Poisson(1.0),
        beta=4.0,
        tol=1e-9,
    )
    two = rvamp(
        A,
        y,
        prior=Ridge(6.0),
        loss=Squared(0.15),
        resampling=Poisson(1.0),
        beta=1.0,
        tol=1e-9,
    )
    for name in ("mean", "var", "posterior_var"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(two, name), rtol=1e-5, atol=1e-9
        )


@pytest.mark.parametrize(
    "changes",
    [
        dict(resampling=Poisson(1.4)),
        dict(loss=Squared(0.36)),
        dict(prior=Ridge(3.0)),
        dict(beta=np.inf),
    ],
    ids=["τ", "σ", "λ", "β"],
)
def test_another_posterior_fails(changes):
    """The comparison has teeth; beta = inf has the same mean and no width within."""
    A, y = gaussian_problem(80, 12)
    assert not close(
        rvamp(
            A,
            y,
            **(
                dict(
                    prior=Ridge(1.5),
                    loss=Squared(0.3),
                    resampling=Poisson(1.0),
                    beta=1.0,
                )
                | changes
            ),
        ),
        resampled_posterior(80, 12, Poisson(1.0)),
    )


def test_neither_width_alone_is_the_bagged_one():
    A, y = gaussian_problem(80, 12)
    fit = rvamp(
        A, y, prior=Ridge(1.5), loss=Squared(0.3), resampling=Poisson(1.0), beta=1.0
    )
    _, within, across, _ = resampled_posterior(80, 12, Poisson(1.0))
    total = np.diag(within + across)
    assert (
        np.abs(fit.posterior_var / total - 1).max()
        < 0.15
        < min(np.abs(fit.var / total - 1).min(), np.abs(fit.chi / total - 1).min())
    )


def test_a_prediction_from_a_bagged_posterior_with_an_intercept():
    """Across plus within, intercept included."""
    A, y = gaussian_problem(80, 12)
    y, new = y + 2, np.random.default_rng(1).normal(size=(5, 12))
    fit = rvamp(
        A,
        y,
        prior=Ridge(1.5),
        loss=Squared(0.3),
        resampling=Poisson(1.0),
        beta=1.0,
        intercept=True,
    )
    mean, within, across, se = parts(
        np.column_stack([A, np.ones(80)]), y, Poisson(1.0), intercept=True
    )
    F = np.column_stack([new, np.ones(5)])
    ours, covariance = p2(fit).predict(new)
    total = F @ (within + across) @ F.T
    scale = np.sqrt(np.diag(total))
    assert (np.abs(ours - F @ mean) < 0.1 * scale).all() and (
        np.abs(covariance - total) < 0.15 * np.outer(scale, scale)
    ).all()
    assert (
        abs(fit.intercept - mean[-1]) < 4.5 * se[-1] + 0.01
        and 0.85 < fit.intercept_var / across[-1, -1] < 1.15
    )


def coverage(uneven, n=60):
    """Share of 90 % intervals of the first coefficient that hold it, plain and
    bagged.
    """
    rng, z = np.random.default_rng(3), stats.norm.ppf(0.95)
    A = rng.normal(size=(100, 8)) / 10
    size = A[:, 0] ** 2 / np.sqrt(np.mean(A[:, 0] ** 4)) if uneven else np.ones(100)
    hits = []
    for _ in range(n):
        x0 = rng.normal(size=8)
        y = A @ x0 + 0.5 * size * rng.normal(size=100)
        sigma = np.linalg.norm(y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) / 92**0.5
        plain = np.linalg.inv(A.T @ A / sigma**2 + np.eye(8))
        told = dict(prior=Ridge(1.0), loss=Squared(sigma), beta=1.0)
        bagged = rvamp(A, y, resampling=Poisson(1.0), tol=1e-3, **told)
        means = np.array([plain[0] @ A.T @ y / sigma**2, bagged.mean[0]])
        widths = np.sqrt([plain[0, 0], bagged.posterior_var[0]])
        hits.append(np.abs(means - x0[0]) < z * widths)
    return np.mean(hits, axis=0)


def test_a_bagged_posterior_stays_honest_where_the_noise_is_uneven():
    plain_right, bagged_right = coverage(False)
    plain_wrong, bagged_wrong = coverage(True)
    print(
        f"coverage of 90 % intervals: noise as assumed {plain_right:.2f}, bagged"
        f" {bagged_right:.2f}; uneven noise {plain_wrong:.2f}, bagged"
        f" {bagged_wrong:.2f}"
    )
    assert (
        plain_right > 0.8
        and bagged_right > 0.9
        and plain_wrong < 0.75
        and bagged_wrong > 0.82
    )


# A spike and a slab -------------------------------------------------------------------


def come_down(p, tau=1.0, inclusion=0.4, **changes):
    """rVAMP under a spike and a slab, from the slab alone."""
    fit = None
    for share in (1.0, 0.8, 0.6, inclusion):
        fit = rvamp(
            p.A,
            p.y,
            warm_start=fit,
            **(
                dict(
                    prior=SpikeSlab(share, 1.0),
                    loss=Squared(p.sigma),
                    resampling=Poisson(tau),
                    beta=1.0,
                )
                | changes
            ),
        )
    return fit


@cache
def arrived(name):
    """The enumeration, and rVAMP come down to it."""
    truth = load(name)
    return truth, come_down(truth.problem)


def agreement(truth, fit):
    """Correlation of the means; largest difference of inclusion; smallest, median
    and largest ratio of the widths within and across.
    """
    (mean, within, Pi), across = truth.mean, truth.var[0]
    return (
        np.corrcoef(fit.mean, mean)[0, 1],
        np.abs(fit.Pi - Pi).max(),
        np.quantile(fit.chi / within, (0, 0.5, 1)),
        np.quantile(fit.var / across, (0, 0.5, 1)),
    )


def report(name, r, Pi, within, across):
    print(
        f"{name}: correlation of means {r:.5f}, inclusion off by {Pi:.3f}; rVAMP over"
        f" enumeration (least, median, most): within {within.round(2)}, across"
        f" {across.round(2)}"
    )


@pytest.mark.parametrize("name", MODERATE)
def test_a_spike_and_a_slab_against_all_supports(name):
    """Signal-to-noise 2 to 5, 2,000 resamples, 1,024 supports each. Means are
    asserted tightly; variances in size.
    """
    truth, fit = arrived(name)
    assert fit.converged and fit.trace.floored.sum() == 0
    r, Pi, within, across = found = agreement(truth, fit)
    report(name, *found)
    sd = np.sqrt(truth.mean[1] + truth.var[0])
    assert (
        r > 0.999
        and Pi < 0.03
        and (np.abs(fit.mean - truth.mean[0]) < 4 * truth.mean_se[0] + 0.08 * sd).all()
    )
    assert (
        0.7 < within[0]
        and within[2] < 1.15
        and 0.5 < across[0]
        and across[2] < 1.3
        and 0.85 < within[1] < 1.05
        and 0.8 < across[1] < 1.15
    )


@pytest.mark.parametrize("name", EDGES)
def test_where_the_approximation_ends(name):
    """Faint and strong signals, strong correlation, few rows: means still hold,
    single variances do not.
    """
    truth, fit = arrived(name)
    r, Pi, within, across = found = agreement(truth, fit)
    report(name, *found)
    assert fit.converged and r > 0.998 and Pi < 0.1
    assert 0.6 < within[0] and within[2] < 1.3 and 0.4 < across[0] and across[2] < 1.7
    if name != "spike_slab_faint":
        assert max(abs(across[0] - 1), abs(across[2] - 1)) > 0.25, (
            "better than the chapter says: say so there"
        )


@pytest.mark.parametrize("name", [*MODERATE, *EDGES])
def test_a_cold_start_ends_where_coming_down_ends_or_says_that_it_failed(name):
    truth, fit = arrived(name)
    p = truth.problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        cold = rvamp(
            p.A,
            p.y,
            prior=SpikeSlab(0.4, 1.0),
            loss=Squared(p.sigma),
            resampling=Poisson(1.0),
            beta=1.0,
        )
    assert cold.converged or "not converged" in cold.status
    if cold.converged:
        np.testing.assert_allclose(cold.mean, fit.mean, atol=1e-4)


@pytest.mark.parametrize(
    "changes",
    [dict(tau=0.6), dict(inclusion=0.55), dict(loss=Squared(0.2))],
    ids=["τ", "inclusion", "σ"],
)
def test_another_spike_and_slab_fails(changes):
    truth = load("spike_slab_rho0.5_snr3")
    r, Pi, within, across = agreement(truth, come_down(truth.problem, **changes))
    assert not (
        r > 0.999
        and Pi < 0.03
        and 0.7 < within[0]
        and within[2] < 1.15
        and 0.8 < across[1] < 1.15
    )


def test_the_enumeration_of_one_coefficient_is_the_scalar_channel():
    field, precision = np.linspace(-3, 3, 7), np.full(7, 1.7)
    mean, var, Pi = posterior(precision[:, None, None], field[:, None], 0.3, 2.0)
    _, ours, response = SpikeSlab(0.3, 2.0).inner(field, precision, 1.0)
    np.testing.assert_allclose(mean[:, 0], ours, rtol=1e-10)
    np.testing.assert_allclose(var[:, 0], response, rtol=1e-10)


def test_the_enumeration_weighs_supports_by_the_evidence():
    """Inclusion of three coefficients from Gaussian densities of y itself."""
    rng = np.random.default_rng(0)
    A, sigma, slab, share = rng.normal(size=(6, 3)), 0.8, 1.5, 0.35
    y = A @ [1.0, 0.0, -0.5] + sigma * rng.normal(size=6)
    supports = np.array([[k >> i & 1 for i in range(3)] for k in range(8)], dtype=bool)
    evidence = np.array(
        [
            stats.multivariate_normal.pdf(
                y, cov=sigma**2 * np.eye(6) + slab * A[:, S] @ A[:, S].T
            )
            * share ** S.sum()
            * (1 - share) ** (3 - S.sum())
            for S in supports
        ]
    )
    _, _, Pi = posterior(
        (A.T @ A / sigma**2)[None], (A.T @ y / sigma**2)[None], share, slab
    )
    np.testing.assert_allclose(Pi[0], evidence @ supports / evidence.sum(), rtol=1e-9)


def test_the_enumeration_without_a_spike_is_gaussian():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(9, 4))
    mean, var, Pi = posterior((A.T @ A)[None], (A.T @ np.ones(9))[None], 1 - 1e-12, 1.0)
    covariance = np.linalg.inv(A.T @ A + np.eye(4))
    np.testing.assert_allclose(mean[0], covariance @ A.T @ np.ones(9), atol=1e-9)
    np.testing.assert_allclose(var[0], np.diag(covariance), atol=1e-9)
    np.testing.assert_allclose(Pi, 1, atol=1e-9)
