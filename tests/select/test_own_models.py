"""Priors and losses of one's own, end to end: against refits that share no code with
the package, within their standard errors.
"""

import numpy as np
import pytest
from predictor import predictor

from rvamp_nb import (
    Laplace,
    Loss,
    PoissonLoss,
    Prior,
    StabilitySelection,
    Subsample,
    p1,
    refine,
    rvamp,
)
from rvamp_nb.algorithm.densities import P1Numeric
from rvamp_nb.algorithm.messages import Natural
from rvamp_nb.datasets import gaussian_design

HALF, B = Subsample(0.5), 400
# small tables: without refits, an answer may be called poor
pytestmark = pytest.mark.filterwarnings("ignore:do not trust this answer")


class NegativeBinomial(Loss):
    def __init__(self, size):
        self.size = size

    def value(self, y, f):
        return (y + self.size) * np.logaddexp(0, f - np.log(self.size)) - y * f

    def derivatives(self, y, f):
        p = 1 / (1 + self.size * np.exp(-f))
        return (y + self.size) * p - y, (y + self.size) * p * (1 - p)

    def predicted(self, f):
        return np.exp(f)


class Quantile(Loss):
    """Smoothed over a width."""

    shifts = True

    def __init__(self, share, width):
        self.share, self.width, self.length_scale = share, width, 0.3 * width

    def value(self, y, f):
        z = (y - f) / self.width
        return self.width * np.logaddexp(z, -z) / 2 + (self.share - 0.5) * (y - f)

    def derivatives(self, y, f):
        t = np.tanh((y - f) / self.width)
        return 0.5 - self.share - t / 2, (1 - t**2) / (2 * self.width)


class Expectile(Loss):
    kinked = shifts = True

    def __init__(self, share):
        self.share = share

    def value(self, y, f):
        return np.where(y > f, self.share, 1 - self.share) * (y - f) ** 2

    def derivatives(self, y, f):
        curvature = 2 * np.where(y > f, self.share, 1 - self.share)
        return curvature * (f - y), curvature


class Lopsided(Prior):
    """Three times the penalty on negative coefficients, by `inner` alone."""

    def inner(self, field, Q_hat, beta):
        x = (np.maximum(field - 1, 0) - np.maximum(-field - 3, 0)) / Q_hat
        cost = np.where(x > 0, x, -3 * x)
        return field * x - Q_hat * x**2 / 2 - cost, x, (x != 0) / Q_hat


class Threshold(Prior):
    """The Lasso's."""

    def __init__(self, lam=1.0):
        self.lam = lam

    def inner(self, field, Q_hat, beta):
        x = np.sign(field) * np.maximum(np.abs(field) - self.lam, 0) / Q_hat
        return field * x / 2 - self.lam * np.abs(x) / 2, x, (x != 0) / Q_hat


def table(seed=4, M=150, N=12):
    d = gaussian_design(M, N, density=0.4, noise=0.5, seed=seed)
    return d.A, d.A @ d.x0, np.random.default_rng(seed)


def refits(slope, steepest, A, up, down, counts):
    """Minimise the loss, of this slope of f and largest curvature, plus up x_+ + down
    x_-, with an intercept, by accelerated proximal steps: (B, N).
    """
    Z = np.column_stack([A, np.ones(len(A)) / len(A) ** 0.5])
    x = z = np.zeros((len(counts), Z.shape[1]))
    L = steepest * counts.max() * np.linalg.norm(Z, 2) ** 2
    up, down = (np.append(v * np.ones(A.shape[1]), 0) / L for v in (up, down))
    for k in range(4000):
        new = z - (counts * slope(z @ Z.T)) @ Z / L
        new = np.maximum(new - up, 0) - np.maximum(-new - down, 0)
        move, z = new - x, new + (k % 100) / (k % 100 + 3) * (new - x)
        x = new
        if np.abs(move).max() < 1e-7:
            return x[:, :-1]
    raise AssertionError("the refits have not converged")


def far_off(probability, se, x):
    """How far a probability is from the share of refits, in standard errors: the root
    mean square over the features.
    """
    share = (x != 0).mean(0)
    spread = np.maximum(share * (1 - share), 1 / len(x)) / len(x)
    z = (probability - share) / np.sqrt(spread + se**2)
    return np.sqrt(np.mean(z**2))


LOSSES = {
    "negative binomial": (NegativeBinomial(2.0), lambda y: (y.max() + 2) / 4),
    "quantile": (Quantile(0.8, 0.3), lambda y: 1 / 0.6),
    "expectile": (Expectile(0.8), lambda y: 1.6),
}


def target(name, f, rng):
    if name == "negative binomial":
        mu = np.exp(1 + 0.8 * f / f.std())
        return 1.0 * rng.negative_binomial(2, 2 / (2 + mu))
    return f + 0.5 * rng.gumbel(size=len(f))


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_of_ones_own_is_selected_with_as_by_refits(name):
    A, f, rng = table()
    y, (loss, steepest) = target(name, f, rng), LOSSES[name]
    s = StabilitySelection(loss=loss, verbose=0).fit(A, y)
    A = s.fit_.problem.A[:, :-1]
    counts = np.array([HALF.draw(len(y), rng) for _ in range(B)])
    lam, slope = s.lambda_, lambda f: loss.derivatives(y, f)[0]
    x = refits(slope, steepest(y), A, lam, lam, counts)
    assert s.status_ == "converged" and s.refined_ is not None
    assert far_off(s.probabilities_, s.refined_.Pi_se, x) < 1.5


def test_a_prior_of_ones_own_is_selected_with_as_by_refits():
    """With a covariate, too, in an own penalty that is not symmetric."""
    A, f, rng = table(seed=3)
    y = f + 0.5 * rng.normal(size=len(f))
    free = np.arange(12) > 0
    s = StabilitySelection(
        loss="huber", prior=Lopsided(), penalty_factor=1.0 * free, verbose=0
    ).fit(A, y)
    problem = s.fit_.problem
    counts = np.array([HALF.draw(len(y), rng) for _ in range(B)])
    lam, loss = s.lambda_ * free, problem.likelihood
    x = refits(
        lambda f: loss.derivatives(problem.y, f)[0],
        1.0,
        problem.A[:, :-1],
        lam,
        3 * lam,
        counts,
    )
    assert s.status_ == "converged" and s.probabilities_[0] == 1
    assert far_off(s.probabilities_, s.refined_.Pi_se, x) < 1.5


def test_inner_alone_is_all_that_a_prior_needs():
    """The Lasso as one's own: Π, moments, densities, refits, selection."""
    A, f, rng = table(M=80)
    y = f - f.mean() + 0.5 * rng.normal(size=80)
    one = rvamp(A, y, prior=Threshold(0.7), resampling=HALF)
    other = rvamp(A, y, prior=Laplace(0.7), resampling=HALF)
    np.testing.assert_allclose(one.Pi, other.Pi, atol=1e-6)
    np.testing.assert_allclose(one.var, other.var, atol=1e-6)
    x = np.linspace(-1, 1, 7)
    for of in ("cdf", "pdf"):
        pair = [getattr(p1(fit), of)(x) for fit in (one, other)]
        np.testing.assert_allclose(*pair, atol=1e-4)
    ends = [p1(fit).quantile([0.05, 0.95]) for fit in (one, other)]
    np.testing.assert_allclose(*ends, atol=1e-5)
    a, b = refine(one, n_resamples=100), refine(other, n_resamples=100)
    assert np.abs(a.Pi - b.Pi).max() < 1e-3
    asked = dict(verbose=0, n_resamples=0)
    a = StabilitySelection(prior=Threshold(), **asked).fit(A, y)
    b = StabilitySelection(**asked).fit(A, y)
    np.testing.assert_allclose(a.probabilities_, b.probabilities_, atol=1e-6)
    assert a.lambda_ == pytest.approx(b.lambda_, rel=1e-6)
    assert "Threshold prior" in a.fit_._repr_html_()
    assert a.lambda_scales_.keys() == {"rvamp_nb"}
    with pytest.raises(ValueError, match="no effects are known with the prior Thresh"):
        a.debiased_effects()


def test_a_coefficient_is_zero_between_the_right_fields():
    np.testing.assert_allclose(Lopsided().zero_fields(), [-3, 1], rtol=1e-12)
    low, high = Threshold(np.array([1e-9, 2.0])).zero_fields()
    np.testing.assert_allclose([-low, high], [[1e-9, 2.0]] * 2, rtol=1e-9)
    alone = Natural(*np.array([[1.0, 1.0], [-2.0, 1.5], [0.0, 0.0]]))
    np.testing.assert_array_equal(Lopsided().Pi(alone), [0, 1])


def test_a_kink_does_not_keep_the_iteration_from_its_fixed_point():
    """Where nothing is selected, fields have so little noise that nodes jump."""
    A, f, _ = table()
    y = f + 0.5 * np.random.default_rng(0).gumbel(size=len(f))
    for lam in (4.0, 8.0):
        asked = dict(resampling=HALF, intercept=True, max_iter=60)
        assert rvamp(A, y, lam, loss=Expectile(0.8), **asked).converged


class Two(Prior):
    """One of two boxes, by chance, with the Lasso's penalty."""

    def __init__(self, ends=(0.3, 1.0)):
        self.ends = ends

    def inner(self, field, Q_hat, beta):
        x = np.sign(field) * np.maximum(np.abs(field) - 0.5, 0) / Q_hat
        x = np.clip(x, -self.ends[0], self.ends[0])
        inside = (x != 0) & (np.abs(x) < self.ends[0])
        return field * x - Q_hat * x**2 / 2 - 0.5 * np.abs(x), x, inside / Q_hat

    def cases(self):
        return [(0.25, Two(self.ends[:1])), (0.75, Two(self.ends[1:]))]


def test_the_density_of_a_prior_of_ones_own_is_that_of_its_draws():
    incoming = Natural(*np.array([[1.3, 2.0], [0.5, -2.0], [0.4, 0.3]]))
    law = P1Numeric(Two(), incoming, np.array([1.0, 10.0]))
    draws = law.sample(50_000, np.random.default_rng(0))
    for i, scale in enumerate((1.0, 10.0)):
        points = scale * np.array([-1.0, -0.5, -0.3, 0.0, 0.2, 0.3, 0.9, 1.0])
        share = (draws[i, :, None] <= points).mean(0)
        np.testing.assert_allclose(law.cdf(points)[i], share, atol=8e-3)
        q = np.array([0.2, 0.95])
        at = law.quantile(q)[i]
        np.testing.assert_allclose(at, np.quantile(draws[i], q), atol=0.02 * scale)
        grid = scale * np.linspace(-1.1, 1.1, 4_001)
        atoms = sum((draws[i] == v * scale).mean() for v in (-1, -0.3, 0, 0.3, 1))
        whole = np.trapezoid(law.pdf(grid)[i], grid)
        assert whole + atoms == pytest.approx(1, abs=8e-3)
    np.testing.assert_allclose(law.atom, (draws == 0).mean(1), atol=8e-3)
    np.testing.assert_allclose(law.mean, draws.mean(1), atol=0.03)
    assert law.cdf(0.2).shape == (2,) and law.cdf([[0.2]]).shape == (2, 1, 1)


def test_near_copies_share_a_penalty_of_ones_own():
    """Of a strictly convex one each copy has the same coefficient; two copies cost as
    much as a column that is twice as long, with twice the penalty.
    """

    class Bent(Threshold):
        def inner(self, field, Q_hat, beta):
            return super().inner(field, Q_hat + 0.5, beta)

    A, f, rng = table(M=80)
    y = f + 0.5 * rng.normal(size=80)
    asked = dict(prior=Bent(), verbose=0, n_resamples=0, lambdas=[0.5])
    X = np.column_stack([A, A[:, 0], -A[:, 1]])
    with pytest.warns(UserWarning, match="columns x0, x12 are the same"):
        s = StabilitySelection(**asked).fit(X, y)
    assert s.coef_mean_[0] == s.coef_mean_[12]
    assert s.coef_mean_[1] == pytest.approx(-s.coef_mean_[13], abs=1e-4)


class Falls(Threshold):
    def inner(self, field, Q_hat, beta):
        log_z, x, response = super().inner(field, Q_hat, beta)
        return (
            log_z,
            x * np.exp(-np.abs(x)),
            response * np.exp(-np.abs(x)) * (1 - np.abs(x)),
        )


class Sorted(Prior):
    """SLOPE: the largest coefficient has the largest penalty."""

    def inner(self, field, Q_hat, beta):
        rank = np.argsort(np.argsort(-np.abs(field), axis=-1), axis=-1)
        t = 1 / (1 + rank)
        x = np.sign(field) * np.maximum(np.abs(field) - t, 0) / Q_hat
        return field * x / 2 - t * np.abs(x) / 2, x, (x != 0) / Q_hat


class Mcp(Prior):
    def inner(self, field, Q_hat, beta):
        a = np.abs(field)
        near = np.maximum(a - 0.3, 0) / np.maximum(Q_hat - 0.2, 1e-9)
        is_far = near > 1.5
        x = np.sign(field) * np.where(is_far, a / Q_hat, near)
        slope = np.where(is_far, 1 / Q_hat, (near > 0) / np.maximum(Q_hat - 0.2, 1e-9))
        b = np.minimum(np.abs(x), 1.5)
        return field * x - Q_hat * x**2 / 2 - 0.3 * b + b**2 / 10, x, slope


class Drawn(Threshold):
    def cases(self):
        return [(0.5, Threshold(1.0)), (0.5, Threshold(2.0))]


class Stuck(Threshold):
    def scaled(self, factor):
        return self


class Flat(Prior):
    def inner(self, field, Q_hat, beta):
        x = field / (Q_hat + 1)
        return field * x / 2, x, 0 * field + 1 / (Q_hat + 1)


@pytest.mark.parametrize(
    "prior, words",
    [
        (Falls(), "falls by .* between the fields|not the derivative"),
        (Sorted(), "Sorted.inner is not separable.*GroupLasso"),
        (Mcp(), "Mcp is not convex.*take a convex penalty"),
        (Drawn(), "`cases` of your own are not drawn"),
        (Stuck(), r"scaled\(2\) does not raise the threshold"),
        (Flat(), "Flat.* has no threshold, and selects nothing; see rvamp"),
    ],
    ids=lambda p: type(p).__name__,
)
def test_a_prior_that_cannot_be_selected_with_is_refused(prior, words):
    A, f, rng = table(M=40)
    with pytest.raises(ValueError, match=words):
        StabilitySelection(prior=prior, verbose=0).fit(A, f + rng.normal(size=40))


def test_the_solver_flags_what_is_not_convex():
    A, f, rng = table(M=60)
    y = f + 0.5 * rng.normal(size=60)
    with pytest.warns(UserWarning, match="Mcp is not convex: a resample may have"):
        rvamp(A, y - y.mean(), prior=Mcp(), resampling=HALF)
    for prior, words in ((Sorted(), "not separable"), (Falls(), "falls by|derivative")):
        with pytest.raises(ValueError, match=words):
            rvamp(A, y - y.mean(), prior=prior, resampling=HALF)
    drawn = rvamp(A, y - y.mean(), prior=Drawn(), resampling=HALF)
    with pytest.raises(ValueError, match="`cases` of a prior of your own"):
        refine(drawn)


def test_a_loss_says_what_is_predicted():
    A, f, rng = table(M=100)
    y = target("negative binomial", f, rng)
    asked = dict(verbose=0, n_resamples=0)
    s = StabilitySelection(loss=NegativeBinomial(2.0), **asked).fit(A, y)
    mean, std = predictor(s).linear_predictor(A, return_std=True)
    np.testing.assert_allclose(
        predictor(s).predict(A), np.exp(mean + std**2 / 2), rtol=1e-3
    )
    pair = [
        StabilitySelection(loss=loss, **asked) for loss in ("poisson", PoissonLoss())
    ]
    np.testing.assert_array_equal(*[predictor(s.fit(A, y)).predict(A) for s in pair])


def test_a_loss_of_y_minus_f_has_intervals_with_offsets_too():
    A, f, rng = table()
    offset = np.linspace(-3, 3, len(f))
    y = f + offset + 0.5 * rng.normal(size=len(f))
    s = StabilitySelection(loss=Quantile(0.5, 0.3), verbose=0, n_resamples=0)
    low, high = predictor(s.fit(A, y, offset=offset)).predict_interval(A).T
    held = np.mean((low <= y - offset) & (y - offset <= high))
    assert 0.85 < held < 0.97 and np.ptp(high - low) < 1e-9
    s = StabilitySelection(loss=NegativeBinomial(1.0), verbose=0, n_resamples=0)
    with pytest.raises(ValueError, match="shifts = True"):
        predictor(s.fit(A, np.rint(np.exp(f)))).predict_interval(A)
