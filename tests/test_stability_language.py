"""The losses, penalties, weights, groups and refits that StabilitySelection takes,
against real refits and against other packages.
"""

import warnings

import numpy as np
import pytest

from rvamp_nb import StabilitySelection, naive_bootstrap
from rvamp_nb.likelihood import Huber, Logistic, Loss, PoissonLoss, Squared
from rvamp_nb.prior import ElasticNet, Laplace, NonNegative
from rvamp_nb.resampling import Fixed, Subsample, TwoPoint
from rvamp_nb.trust import TrustWarning

M, N = 120, 40


def table(seed=0, wild=4):
    """A table with four effects, a copy and a negative, and a few wild targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(M, N)) + 0.5 * rng.normal(size=(M, 1))
    y = X[:, :4].sum(1) + rng.normal(size=M)
    y[:wild] += 40 * rng.normal(size=wild)
    return np.column_stack([X, X[:, 0], -X[:, 1]]), y


def fitted(X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fit = options.pop("fit", {})
        return StabilitySelection(verbose=0, **options).fit(X, y, **fit)


LANGUAGE = {
    "huber": dict(loss="huber"),
    "huber with its scale": dict(loss=Huber(1.0)),
    "elastic net": dict(l1_ratio=0.5),
    "non-negative": dict(prior=NonNegative(1.0, Fixed())),
    "huber and elastic net": dict(loss="huber", l1_ratio=0.7),
    "a prior's own factors": dict(
        prior=ElasticNet(1.0, TwoPoint(2, 0.5), np.r_[0.5, np.ones(N + 1)], 0.4)
    ),
    "logistic elastic net": dict(loss="logistic", l1_ratio=0.5),
}


@pytest.mark.parametrize("what", LANGUAGE)
def test_probabilities_agree_with_refits_of_the_same_question(what):
    X, y = table(wild=4 * ("huber" in what))
    if LANGUAGE[what].get("loss") == "logistic":
        y = y > 0
    s = fitted(X, y, **LANGUAGE[what])
    assert s.status_ == "converged"
    check = s.check(300, progress=False)
    assert np.sqrt(max(check.mse, 0)) < 0.03 and not check.flagged, check.verdict
    assert check.Pi.std() > 0.1


def test_the_refits_are_those_of_a_penalty_written_out():
    """`check` of an elastic net with factors, against refits told by hand."""
    X, y = table()
    X = X[:, :N]
    s = fitted(X, y, loss=Huber(2.0), l1_ratio=0.6)
    by_hand = naive_bootstrap(
        s.model_.A,
        y - np.median(y),
        s.lambda_,
        loss="huber",
        delta=2.0,
        l1_ratio=0.6,
        intercept=True,
        counts=Subsample(0.5),
        randomise=Fixed(),
        n_resamples=20,
        seed=4,
        keep=range(N),
        progress=False,
    )
    ours = s.model_.refit(s.lambda_, 20, 4, 1, False)
    np.testing.assert_array_equal(ours, by_hand.draws != 0)


def test_an_object_is_the_same_as_its_name():
    X, y = table(wild=0)
    counts = np.random.default_rng(1).poisson(np.exp(X[:, 0]))
    for name, loss, target in (
        ("squared", Squared(), y),
        ("logistic", Logistic(), np.where(y > 0, "yes", "no")),
        ("poisson", PoissonLoss(), counts),
    ):
        one, two = (fitted(X, target, loss=kind) for kind in (name, loss))
        assert one.loss_ == two.loss_ == name
        np.testing.assert_array_equal(one.probabilities_, two.probabilities_)
        assert hasattr(one, "predict_proba") == hasattr(two, "predict_proba")


def test_a_prior_that_says_what_the_options_say():
    X, y = table()
    for options, prior in (
        (dict(), Laplace(1.0, Fixed())),
        (dict(l1_ratio=0.5), ElasticNet(1.0, Fixed(), l1_ratio=0.5)),
        (dict(randomise=TwoPoint(2, 0.5)), Laplace(1.0)),
    ):
        one, two = fitted(X, y, **options), fitted(X, y, prior=prior)
        np.testing.assert_array_equal(one.probabilities_, two.probabilities_)
    twice = fitted(X, y, prior=Laplace(2.0, Fixed()))
    once = fitted(X, y)
    np.testing.assert_allclose(2 * twice.lambda_, once.lambda_, rtol=1e-6)


class LogCosh(Loss):
    """A smooth cousin of Huber's loss, which the package does not know."""

    def value(self, y, f):
        return np.logaddexp(y - f, f - y) - np.log(2)

    def derivatives(self, y, f):
        slope = np.tanh(f - y)
        return slope, 1 - slope**2


def test_a_loss_of_ones_own():
    """It is near Huber's where that bends at 1, and predicts its linear predictor."""
    X, y = table()
    own, huber = fitted(X, y, loss=LogCosh()), fitted(X, y, loss=Huber(1.0))
    assert own.loss_ == "LogCosh" and own.classes_ is None
    assert np.corrcoef(own.probabilities_, huber.probabilities_)[0, 1] > 0.98
    np.testing.assert_allclose(own.predict(X), own.linear_predictor(X))


def test_a_mistyped_target_does_not_move_the_huber_loss():
    X, y = table(wild=0)
    typo = y.copy()
    typo[7] += 1e4
    clean, robust, moved = (
        fitted(X, target, loss=loss, q=4)
        for target, loss in ((y, "huber"), (typo, "huber"), (typo, "squared"))
    )
    truth = clean.probabilities_
    assert np.abs(robust.probabilities_ - truth).max() < 0.15
    assert np.abs(moved.probabilities_ - truth).max() > 0.5


def test_the_bend_is_in_units_of_the_target():
    X, y = table()
    one, two = fitted(X, y, loss="huber"), fitted(X, 7 * y + 1000, loss="huber")
    np.testing.assert_allclose(one.probabilities_, two.probabilities_, atol=1e-4)
    np.testing.assert_allclose(7 * one.coef_mean_, two.coef_mean_, atol=1e-3)
    np.testing.assert_allclose(7 * one.intercept_ + 1000, two.intercept_, rtol=1e-3)


# Copies -------------------------------------------------------------------------------


def test_copies_of_an_elastic_net_share():
    """Refits of the table with its copies, told nothing of them, give each the same
    coefficient and Π.
    """
    X, y = table(wild=0)
    s = fitted(X, y, l1_ratio=0.5, q=4)
    A = (X - X.mean(0)) / np.sqrt(((X - X.mean(0)) ** 2).sum(0))
    refits = naive_bootstrap(
        A,
        y - y.mean(),
        s.lambda_,
        l1_ratio=0.5,
        counts=Subsample(0.5),
        randomise=Fixed(),
        n_resamples=400,
        keep=range(N + 2),
        progress=False,
    )
    assert (refits.draws[:, 0] != 0).tolist() == (refits.draws[:, N] != 0).tolist()
    np.testing.assert_allclose(refits.draws[:, 1], -refits.draws[:, N + 1], atol=1e-6)
    apart = np.abs(s.probabilities_ - refits.Pi)
    assert apart.max() < 0.03 + 4 * refits.Pi_se.max()
    mean = s.coef_mean_ * s.table_.scale
    allowed = 0.03 * np.abs(mean).max() + 4 * refits.mean_se
    assert (np.abs(mean - refits.mean) < allowed).all()


def test_a_column_and_its_negative_stay_apart_where_signs_matter():
    X, y = table(wild=0)
    s = fitted(X, y, prior=NonNegative(1.0, Fixed()), q=4)
    assert s.probabilities_[0] == s.probabilities_[N] > 0.5
    assert s.probabilities_[1] > 0.5 > 0.05 > s.probabilities_[N + 1]
    assert (s.coef_mean_ >= 0).all()


def test_a_light_of_copies_speaks_of_both_signs():
    X, y = table(wild=0)
    with pytest.warns(UserWarning, match="same up to sign"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrustWarning)
            StabilitySelection(l1_ratio=0.5, verbose=0).fit(X, y)
