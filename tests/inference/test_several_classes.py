"""Several classes: the loss by differences, pulls and minima by other roads, fits
against the logistic loss and refits, the same answers in any order of the classes,
predictions, and what is refused.
"""

import sys
from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from rvamp_nb import (
    Grouped,
    Laplace,
    Logistic,
    NoResampling,
    Poisson,
    StabilitySelection,
    Stratified,
    Subsample,
    rvamp,
    rvamp_path,
)
from rvamp_nb.algorithm.groups import BlockNatural, GroupedLoss
from rvamp_nb.algorithm.resampling import FixedFactor
from rvamp_nb.course.softmax import softmax_fit
from rvamp_nb.inference import several_classes
from rvamp_nb.inference.several_classes import (
    Softmax,
    contrasts,
    mean_probabilities,
    softmax_problem,
    softmax_prox,
    softmax_pulls,
    softmax_terms,
)
from rvamp_nb.inference.turns import ExactByTurns, class_fits

sys.path.insert(0, str(Path(__file__).parents[1] / "truth/several_classes"))
from make_several_classes_truth import load, refits, table

sys.path.pop(0)

HALF = Subsample(0.5)
IRIS = table("iris")


@pytest.fixture(scope="module")
def iris():
    return softmax_fit(*IRIS, tol=1e-7)


@cache
def fit_of(name):
    return softmax_fit(*table(name))


def samples(K, n=6, seed=0):
    """Labels and fields in the basis, (n, K - 1) each, and matrices V."""
    rng, B = np.random.default_rng([seed, K]), contrasts(K)
    root = rng.normal(size=(n, K - 1, K - 1))
    y, g = B[rng.integers(K, size=n)], 3 * rng.normal(size=(n, K - 1))
    return B, y, g, root @ root.swapaxes(1, 2)


# The loss -----------------------------------------------------------------------------


@pytest.mark.parametrize("K", range(2, 7))
def test_the_basis_leaves_lengths_and_adds_up_to_zero(K):
    B = contrasts(K)
    np.testing.assert_allclose(B.T @ B, np.eye(K - 1), atol=1e-14)
    np.testing.assert_allclose(B.sum(0), 0, atol=1e-14)


@pytest.mark.parametrize("K", [2, 4])
def test_slope_and_curvature_are_derivatives(K):
    B, y, g, _ = samples(K)
    value, slope, curvature = softmax_terms(B, y, g)
    classes = np.argmax(y @ B.T, axis=1)
    p = softmax(g @ B.T, axis=1)
    np.testing.assert_allclose(value, -np.log(p[range(6), classes]), rtol=1e-10)
    for j, move in enumerate(1e-5 * np.eye(K - 1)):
        up, down = softmax_terms(B, y, g + move), softmax_terms(B, y, g - move)
        np.testing.assert_allclose((up[0] - down[0]) / 2e-5, slope[:, j], atol=1e-8)
        np.testing.assert_allclose(
            (up[1] - down[1]) / 2e-5, curvature[..., j], atol=1e-8
        )


def test_rows_share_the_loss_of_their_sample():
    B, y, g, _ = samples(4)
    loss, value = Softmax(4), softmax_terms(B, y, g)[0]
    of_rows = loss.value(y.ravel(), g.ravel())
    np.testing.assert_allclose(of_rows.reshape(6, 3).sum(1), value)
    slope, bend = loss.derivatives(y.ravel(), np.stack([g.ravel()] * 2))
    assert slope.shape == bend.shape == (2, 18)
    np.testing.assert_allclose(slope[0].reshape(6, 3), softmax_terms(B, y, g)[1])
    np.testing.assert_allclose(loss.pooled(np.arange(6.0)), [1, 1, 1, 4, 4, 4])


# Pulls and minima ---------------------------------------------------------------------


@pytest.mark.parametrize("K", [2, 3, 6])
@pytest.mark.parametrize("size", [0.3, 30.0])
@pytest.mark.parametrize("c", [0.0, 1.0, 40.0])
def test_pulls_solve_their_equation(K, size, c):
    B, y, g, V = samples(K)
    omega = size * np.stack([g, -g])
    u, C = softmax_pulls(B, y, omega, c, V)
    f = omega + np.einsum("gij,kgj->kgi", V, u)
    _, slope, curvature = softmax_terms(B, y, f)
    np.testing.assert_allclose(u, -c * slope, atol=1e-9 * (1 + c))
    np.testing.assert_allclose(C, c * curvature, atol=1e-9 * (1 + c))


def test_a_pull_is_at_the_minimum():
    B, y, g, V = samples(3)
    u, _ = softmax_pulls(B, y, g, 2.0, V)
    for row in range(6):
        inverse = np.linalg.inv(V[row])

        def energy(f, row=row, inverse=inverse):
            gap = f - g[row]
            return 2 * softmax_terms(B, y[row], f)[0] + gap @ inverse @ gap / 2

        found = minimize(energy, g[row], method="BFGS", options=dict(gtol=1e-9)).x
        np.testing.assert_allclose(g[row] + V[row] @ u[row], found, atol=1e-5)


@pytest.mark.parametrize("K", [2, 5])
@pytest.mark.parametrize("v", [0.0, 1e-6, 0.4, 7.0, 2e3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_minimum_by_one_number(K, v, dtype):
    a = (20 * np.random.default_rng(K).normal(size=(300, K))).astype(dtype)
    f = softmax_prox(a, np.full((300, 1), v, dtype=dtype))
    exact = softmax_prox(a.astype(float), np.full((300, 1), v))
    np.testing.assert_allclose(
        exact + v * softmax(exact, axis=1), a, atol=1e-11 + 1e-12 * v
    )
    assert f.dtype == dtype
    np.testing.assert_allclose(f, exact, atol=20 * np.finfo(dtype).eps * (20 + v))


def test_both_minima_are_one():
    loss, (_, y, g, _) = Softmax(4), samples(4)
    cV = np.repeat([0.0, 0.1, 0.5, 1.0, 3.0, 9.0], 3)
    f = class_fits(loss, y.ravel(), g.reshape(1, -1), cV[None], g.reshape(1, -1))[0]
    slope, _ = loss.derivatives(y.ravel(), f)
    np.testing.assert_allclose(f + cV * slope, g.ravel(), atol=1e-12)
    by_prox = loss.proximal(y.ravel(), g.ravel(), cV)
    np.testing.assert_allclose(by_prox, f, atol=1e-12)


@pytest.mark.parametrize("counts", [HALF, Poisson(1.0)])
def test_the_answer_of_rows_is_an_average_of_pulls(counts):
    B, y, g, V = samples(4)
    rows = GroupedLoss(Softmax(4), np.repeat(np.arange(6), 3))
    flat = rows.layout.flat
    to_rows = BlockNatural(flat([V]), g.ravel(), flat([V[::-1] / 9]), rows.layout)
    ask = lambda h: rows.message(y.ravel(), to_rows._replace(h=h), counts)[0]
    u = ask(g.ravel())
    for i in (0, 4, 11):
        up, down = (ask(g.ravel() + s * 1e-4 * np.eye(18)[i]).mean[i] for s in (1, -1))
        np.testing.assert_allclose((up - down) / 2e-4, u.chi[i], rtol=1e-5)
    root = np.linalg.cholesky(V[::-1] / 9)
    xi = np.random.default_rng(0).normal(size=(1_000, 6, 3))
    omega = -g - np.einsum("gij,kgj->kgi", root, xi)
    draws = [w * softmax_pulls(B, y, omega, c, V)[0] for c, w in zip(*counts.nodes())]
    drawn = np.sum(draws, axis=0).reshape(-1, 18)
    error = drawn.std(0) / np.sqrt(len(drawn)) + 5e-3
    assert (np.abs(u.mean - drawn.mean(0)) < 4 * error).all()


# Fits ---------------------------------------------------------------------------------


def test_two_classes_are_the_logistic_loss():
    A, labels, lam = IRIS
    options = dict(resampling=Poisson(0.5), tol=1e-6)
    found = softmax_fit(A, np.where(labels > 0, "b", "a"), 1.0, **options)
    one = Laplace(0.5**0.5, FixedFactor())
    options |= dict(loss=Logistic(), intercept=True)
    usual = rvamp(A, labels > 0, prior=one, **options)
    np.testing.assert_allclose(found.Pi, usual.Pi, atol=3e-4)
    assert found.classes.tolist() == ["a", "b"]
    gaps = found.mean[:, 1] - found.mean[:, 0], usual.mean
    np.testing.assert_allclose(*gaps, rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(2 * found.sd[:, 0], usual.var**0.5, rtol=2e-3, atol=1e-3)
    level = found.intercept[1] - found.intercept[0]
    np.testing.assert_allclose(level, usual.intercept, rtol=2e-3)


def test_without_resampling_it_is_the_refit():
    A, labels, lam = table("wine")
    found = softmax_fit(A, labels, lam, resampling=NoResampling(), tol=1e-9)
    (x,), (b,), off = refits(A, labels, lam, np.ones((1, 178)), tol=1e-7)
    assert off < 1e-7
    np.testing.assert_allclose(found.mean, x, atol=1e-4)
    np.testing.assert_allclose(found.intercept, b, atol=1e-4)
    np.testing.assert_allclose(found.Pi, (x != 0).any(1), atol=1e-6)
    p = softmax(A @ x + b, axis=1)
    np.testing.assert_allclose(found.predict_proba(A), p, atol=1e-5)


@pytest.mark.parametrize("order", [*permutations(range(3))][1:4])
def test_no_class_comes_first(iris, order):
    A, labels, lam = IRIS
    other = softmax_fit(A, np.argsort(order)[labels], lam, tol=1e-7)
    np.testing.assert_allclose(other.Pi, iris.Pi, atol=1e-5)
    np.testing.assert_allclose(other.mean, iris.mean[:, order], atol=1e-3)
    np.testing.assert_allclose(other.sd, iris.sd[:, order], atol=1e-3)
    p = other.predict_proba(A), iris.predict_proba(A)[:, order]
    np.testing.assert_allclose(*p, atol=1e-5)


def test_a_class_is_not_a_feature_and_all_add_up_to_zero(iris):
    assert iris.Pi.shape == iris.Pi_se.shape == (4,) and np.isnan(iris.Pi_se).all()
    assert iris.mean.shape == iris.sd.shape == (4, 3)
    np.testing.assert_allclose(iris.mean.sum(1), 0, atol=1e-9)
    np.testing.assert_allclose(iris.intercept.sum(), 0, atol=1e-9)
    assert repr(iris).startswith("SoftmaxFit(3 classes, 4 features, 2.9 selected; conv")


@pytest.mark.parametrize(
    "name, least", [("iris", 90), ("wine", 60), ("simulated", 700), ("five", 250)]
)
def test_against_refits(name, least):
    truth = load()[name]
    A, found = table(name)[0], fit_of(name)
    share, n = truth["Pi"], truth["n"]
    noise = np.sum(share * (1 - share))
    off = np.sum((found.Pi - share) ** 2) - noise / n
    assert found.converged and noise / max(off, 1e-9) > least
    often = share > 0.05
    gap = (found.mean - truth["mean"])[often] / truth["sd"][often]
    assert np.sqrt(np.mean(gap**2)) < 0.12
    assert np.median(np.abs(found.sd[often] / truth["sd"][often] - 1)) < 0.25
    p = np.abs(found.predict_proba(A) - truth["probabilities"])
    assert p.max() < 0.03


def test_probabilities_are_averages_over_a_normal_law():
    B, rng = contrasts(3), np.random.default_rng(5)
    mean, cov = np.array([[0.3, -1.0]]), np.array([[[1.0, 0.4], [0.4, 0.5]]])
    draws = rng.multivariate_normal(mean[0], cov[0], 200_000) @ B.T
    p = softmax(draws, axis=1).mean(0)
    np.testing.assert_allclose(mean_probabilities(B, mean, cov)[0], p, atol=3e-3)
    flat = mean_probabilities(B, mean, 0 * cov)
    np.testing.assert_allclose(flat, softmax(mean @ B.T, axis=1))


# Refits -------------------------------------------------------------------------------


def test_a_refit_by_turns_is_exact():
    (A, labels, lam), found = table("wine"), fit_of("wine")
    counts = HALF.draw(len(A), np.random.default_rng(3))[None]
    z, _ = ExactByTurns(found.fit)(np.repeat(counts, 2, axis=1), np.ones((1, 1)))
    x = z[0].reshape(-1, 2) @ contrasts(3).T
    (by_steps,), (level,), _ = refits(A, labels, lam, counts, tol=1e-8)
    np.testing.assert_allclose(x[:-1], by_steps, atol=1e-6 * np.abs(by_steps).max())
    np.testing.assert_allclose(x[-1], level, atol=1e-6)


def test_refits_and_rvamp_together():
    truth, A = load()["wine"], table("wine")[0]
    both = fit_of("wine").refine(n_resamples=150, verbose=False)
    assert both.refined.n_failed == 0 and both.Pi_se.max() < 0.06
    error = np.sqrt(both.Pi_se**2 + truth["Pi"] * (1 - truth["Pi"]) / truth["n"])
    assert (np.abs(both.Pi - truth["Pi"]) < 3.5 * error + 1e-3).all()
    assert np.abs(both.predict_proba(A) - truth["probabilities"]).max() < 0.02
    np.testing.assert_allclose(both.sd, truth["sd"], atol=0.3)
    np.testing.assert_allclose(both.mean.sum(1), 0, atol=1e-9)
    assert both.status == both.refined.status


# Laws, paths, refusals ----------------------------------------------------------------


def test_halves_of_each_class_keep_a_rare_one():
    A, labels, lam = table("five")
    rare = np.where(np.arange(150) < 2, "rare", np.where(labels > 1, "b", "c"))
    law = Stratified(HALF, rare)
    found = softmax_fit(A, rare, lam, resampling=law)
    assert found.converged and found.classes.tolist() == ["b", "c", "rare"]
    drawn = found.fit.problem.counts.draw(300, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn[::2], drawn[1::2])
    assert drawn[:4].sum() == 2  # one of the two


def test_a_path_takes_the_same_problem():
    A, labels, lam = IRIS
    _, problem = softmax_problem(A, labels, 1.0)
    path = rvamp_path(**problem, lambdas=[2 * lam, lam], verbose=False)
    found = fit_of("iris")
    np.testing.assert_allclose(path.Pi[:-2:2, 1], found.Pi, atol=1e-4)


@pytest.mark.parametrize(
    "given, words",
    [
        (dict(y=np.zeros(150)), "1 different labels: 2 to 6 can be fitted"),
        (dict(y=np.arange(150)), "150 different labels"),
        (dict(y=["a"] * 149), "one label for each of the 150 rows of A"),
        (dict(y=[np.nan] * 150), "none missing"),
        (dict(y=[None, "a", "b"] * 50), "y must hold labels of one kind"),
        (dict(y=np.array([1, "a", "b"] * 50, dtype=object)), "labels of one kind"),
        (dict(y=[0, 0, *[1, 2] * 74]), "class 0 of y has 2 of 150 rows: 25%"),
        (dict(lam=-1.0), "lam must"),
        (dict(A=np.ones(150)), r"A must have shape \(M, N\)"),
    ],
)
def test_what_is_refused(given, words):
    A, y, lam = IRIS
    with pytest.raises((TypeError, ValueError), match=words):
        softmax_fit(**dict(dict(A=A, y=y, lam=lam), **given))


def test_groups_of_samples_and_other_rows_are_refused(iris):
    with pytest.raises(TypeError, match="must be a plain law"):
        softmax_fit(*IRIS, resampling=Grouped(HALF, np.arange(150) // 2))
    with pytest.raises(
        ValueError, match=r"A_new must have shape \(m, 4\), .* got \(2, 3\)"
    ):
        iris.predict_proba(np.ones((2, 3)))
    assert iris.predict_proba(np.ones((0, 4))).shape == (0, 3)
    assert several_classes.MOST_CLASSES == 6


def test_what_no_fit_or_refit_can_tell_is_refused():
    draw = np.random.default_rng(0)
    A, y = draw.normal(size=(60, 3)), np.repeat([0, 1, 2], [29, 29, 2])
    with pytest.raises(ValueError, match="column 3 of A is constant, as the intercept"):
        softmax_fit(np.c_[A, np.ones(60)], np.arange(60) % 3, 1.0)
    # strata that are not the classes keep no class in
    with pytest.raises(ValueError, match="of the resamples have none"):
        softmax_fit(A, y, 1.0, resampling=Stratified(Subsample(0.5), np.zeros(60)))
    softmax_fit(A, y, 5.0, resampling=Stratified(Subsample(0.5), y))


def test_a_search_with_six_classes_has_the_work_of_all_their_rows():
    """There are five rows to a sample, and each may take as much as any other."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((120, 12))
    scores = 1.5 * X[:, :6] + rng.gumbel(size=(120, 6))
    y = np.array(list("abcdef"))[scores.argmax(1)]
    found = StabilitySelection(n_resamples=0, verbose=0).fit(X, y)
    assert found.status_ == "converged"
