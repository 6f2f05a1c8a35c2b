"""The losses, penalties, weights, groups and refits that StabilitySelection takes,
against real refits and against other packages.
"""

import pickle
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from designs import at_most
from predictor import predictor
from sklearn.base import clone
from sklearn.linear_model import ElasticNet as SklearnNet
from sklearn.linear_model import Lasso, LogisticRegression

from rvamp_nb import StabilitySelection, naive_bootstrap
from rvamp_nb.algorithm import active
from rvamp_nb.algorithm.likelihood import Huber, Logistic, Loss, PoissonLoss, Squared
from rvamp_nb.algorithm.prior import ElasticNet, Laplace, NonNegative, Prior
from rvamp_nb.algorithm.resampling import NoResampling, Subsample, TwoPoint
from rvamp_nb.course.survival import simulated_survival, survival_fit
from rvamp_nb.exceptions import ReliabilityWarning
from rvamp_nb.inference import refinement as refined_room
from rvamp_nb.inference import refits as room
from rvamp_nb.inference.baseline import BaselineHazard
from rvamp_nb.inference.refinement import any_selected, resamples
from rvamp_nb.inference.turns import ExactByTurns
from rvamp_nb.select import penalty, substitutes
from rvamp_nb.select.error_control import error_control, pfer_bound
from rvamp_nb.select.predictions import out_of_bag
from rvamp_nb.select.report import headline
from rvamp_nb.select.selection import stability_index
from rvamp_nb.select.wording import methods_text

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
        return StabilitySelection(**dict(n_resamples=0, verbose=0) | options).fit(
            X, y, **fit
        )


def near(X, y, **options):
    """A fit at one penalty, at which a handful is selected."""
    return fitted(X, y, lambdas=[5.0], **options)


def refits(s, n, seed=0):
    """What n plain refits of the same question select, by the columns of the table."""
    draw = resamples(s.fit_, range(n), seed)
    again = room.refitter(s.fit_, s.baseline_)
    return (again(*draw)[0] != 0)[:, s.question_.columns.where]


def off(s, n, seed=0):
    """The root of the mean squared distance of rVAMP's Π from the shares of n plain
    refits, and the largest distance beyond 0.03, in standard errors.
    """
    among = s.question_.candidates[s.question_.columns.where]
    Pi, share = s.probabilities_[among], refits(s, n, seed)[:, among].mean(0)
    noise = np.maximum(share * (1 - share), 1 / n) / n
    error = np.mean((Pi - share) ** 2 - share * (1 - share) / (n - 1))
    far = np.max((np.abs(Pi - share) - 0.03) / np.sqrt(noise))
    return np.sqrt(max(error, 0)), far


LANGUAGE = {
    "huber": dict(loss="huber"),
    "huber with its scale": dict(loss=Huber(1.0)),
    "elastic net": dict(prior=ElasticNet(1.0, l1_ratio=0.5)),
    "non-negative": dict(prior=NonNegative(1.0)),
    "huber and elastic net": dict(loss="huber", prior=ElasticNet(1.0, l1_ratio=0.7)),
    "a prior's own factors": dict(
        prior=ElasticNet(1.0, TwoPoint(2, 0.5), np.r_[0.5, np.ones(N + 1)], 0.4)
    ),
    "logistic elastic net": dict(loss="logistic", prior=ElasticNet(1.0, l1_ratio=0.5)),
}


@pytest.mark.parametrize("what", LANGUAGE)
def test_probabilities_agree_with_refits_of_the_same_question(what):
    X, y = table(wild=4 * ("huber" in what))
    if LANGUAGE[what].get("loss") == "logistic":
        y = y > 0
    s = fitted(X, y, **LANGUAGE[what])
    assert s.status_ == "converged"
    error, far = off(s, 200)
    assert error < 0.03 and far < 3.5
    assert s.probabilities_.std() > 0.1


def test_the_refits_are_those_of_a_penalty_written_out():
    """Those of `refine` of an elastic net, against refits told by hand."""
    X, y = table()
    X = X[:, :N]
    s = fitted(X, y, loss=Huber(2.0), prior=ElasticNet(1.0, l1_ratio=0.6))
    rows = iter(resamples(s.fit_, range(20), 4)[0])
    scale = 1.4826 * np.median(np.abs(y - np.median(y)))
    first, second = 0.6 * M**0.5, 0.4 / scale  # of |x| and of x^2 / 2
    by_hand = naive_bootstrap(
        s.question_.A,
        y - np.median(y),
        prior=ElasticNet(
            s.lambda_ * (first + second) / (0.6 * M**0.5 + 0.4),
            l1_ratio=first / (first + second),
        ),
        loss=Huber(2.0),
        intercept=True,
        resampling=SimpleNamespace(draw=lambda M, rng: next(rows)),
        n_resamples=20,
        random_state=4,
        keep=range(N),
        verbose=False,
    )
    ours = s.refine(None, 20, random_state=4, verbose=False).draws
    np.testing.assert_array_equal(ours != 0, by_hand.draws != 0)
    np.testing.assert_allclose(ours * s.scale_, by_hand.draws, atol=1e-5)


def test_an_object_is_the_same_as_its_name():
    X, y = table(wild=0)
    counts = np.random.default_rng(1).poisson(np.exp(X[:, 0]))
    for name, loss, target in (
        ("squared", Squared(), y),
        ("logistic", Logistic(), np.where(y > 0, "yes", "no")),
        ("poisson", PoissonLoss(), counts),
    ):
        one, two = (fitted(X, target, loss=kind, lambdas=[3]) for kind in (name, loss))
        assert one.loss_ == two.loss_ == name
        np.testing.assert_array_equal(one.probabilities_, two.probabilities_)
        assert np.array_equal(one.classes_, two.classes_)


def test_the_factors_of_a_prior_and_of_the_options_multiply():
    X, y = table()
    one, two = near(X, y), near(X, y, prior=Laplace(1.0))
    np.testing.assert_array_equal(one.probabilities_, two.probabilities_)
    a, b = 1.0 + np.arange(N + 2) % 3, {"x3": 0, "x5": 2}
    c = np.where(np.arange(N + 2) == 3, 0.0, np.where(np.arange(N + 2) == 5, 2.0, 1.0))
    for kind, more in ((Laplace, {}), (ElasticNet, dict(l1_ratio=0.7))):
        both = kind(2.0, TwoPoint(2, 0.5), a, **more)
        one = near(X, y, prior=both, penalty_factor=b)
        two = near(X, y, prior=kind(1.0, TwoPoint(2, 0.5), 2 * a * c, **more))
        np.testing.assert_array_equal(one.probabilities_, two.probabilities_)
        assert one.support_[3] and one.question_.columns.kind[3] == "covariate"
    twice = fitted(X, y, prior=Laplace(2.0))
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
    own, huber = near(X, y, loss=LogCosh()), near(X, y, loss=Huber(1.0))
    assert own.loss_ == "LogCosh" and own.classes_ is None
    assert np.corrcoef(own.probabilities_, huber.probabilities_)[0, 1] > 0.98
    np.testing.assert_allclose(
        predictor(own).predict(X), predictor(own).linear_predictor(X)
    )


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
    s = fitted(X, y, prior=ElasticNet(1.0, l1_ratio=0.5), q=4)
    A = (X - X.mean(0)) / np.sqrt(((X - X.mean(0)) ** 2).sum(0))
    brute = naive_bootstrap(
        A,
        y - y.mean(),
        prior=ElasticNet(s.lambda_, l1_ratio=s.question_.prior.l1_ratio),
        resampling=Subsample(0.5),
        n_resamples=400,
        keep=range(N + 2),
        verbose=False,
    )
    assert (brute.draws[:, 0] != 0).tolist() == (brute.draws[:, N] != 0).tolist()
    np.testing.assert_allclose(brute.draws[:, 1], -brute.draws[:, N + 1], atol=1e-6)
    apart = np.abs(s.probabilities_ - brute.Pi)
    assert apart.max() < 0.03 + 4 * brute.Pi_se.max()
    mean = s.coef_mean_ * s.scale_
    allowed = 0.03 * np.abs(mean).max() + 4 * brute.mean_se
    assert (np.abs(mean - brute.mean) < allowed).all()


def test_a_column_and_its_negative_stay_apart_where_signs_matter():
    X, y = table(wild=0)
    s = fitted(X, y, prior=NonNegative(1.0), q=4)
    assert s.probabilities_[0] == s.probabilities_[N] > 0.5
    assert s.probabilities_[1] > 0.5 > 0.05 > s.probabilities_[N + 1]
    assert (s.coef_mean_ >= 0).all()


def test_a_light_of_copies_speaks_of_both_signs():
    X, y = table(wild=0)
    with pytest.warns(UserWarning, match="same up to sign"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReliabilityWarning)
            net = ElasticNet(1.0, l1_ratio=0.5)
            StabilitySelection(n_resamples=0, prior=net, verbose=0).fit(X, y)


# Scales of the penalty ----------------------------------------------------------------


def standard(X):
    """Columns of mean 0 and variance one."""
    return (X - X.mean(0)) / X.std(0)


@pytest.mark.parametrize("M", [13, 14])
def test_the_rows_of_a_resample_are_counted_as_they_are_drawn(M):
    """Six of thirteen, with groups of one row and without; so is the cap on q."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(M, 40))
    y, found = X[:, 0] + rng.normal(size=M), []
    for groups in (None, np.arange(M)):
        s = StabilitySelection(n_resamples=0, lambdas=[0.5], pfer=8, verbose=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            s.fit(X, y, groups=groups)
        found.append(s.q_)
        alpha = s.lambda_scales_["glmnet lambda"]
        np.testing.assert_allclose(alpha, 0.5 * M**0.5 / (M // 2), rtol=1e-12)
    np.testing.assert_allclose(found, M // 2 / 3, rtol=1e-9)


@pytest.mark.parametrize("ratio", [1.0, 0.3])
def test_the_penalty_on_scikit_learns_scale(ratio):
    """A fit to all rows by scikit-learn at `lambda_scales_`, and ours. `l1_ratio` is
    that of a y of standard deviation one, which is glmnet's.
    """
    X, y = table(wild=0)
    X, sd = X[:, :N], y.std()
    net = ElasticNet(1.0, l1_ratio=ratio)
    s = fitted(X, y, prior=net, lambdas=[5.0], resampling=NoResampling())
    scales = s.lambda_scales_
    for unit, alpha, share in (
        (1.0, scales["scikit-learn alpha"], scales["l1_ratio"]),
        (sd, scales["glmnet lambda"] / sd, ratio),
    ):
        net = SklearnNet(alpha=alpha, l1_ratio=share, tol=1e-12)
        theirs = unit * net.fit(standard(X), y / unit).coef_ / X.std(0)
        assert 1 < np.count_nonzero(theirs) < N
        np.testing.assert_allclose(s.coef_mean_, theirs, atol=1e-4)


def test_the_penalty_on_scikit_learns_scale_of_classes():
    X, y = table(wild=0)
    X, y = X[:, :N], y > 0
    s = fitted(X, y, lambdas=[1.0], resampling=NoResampling())
    C = s.lambda_scales_["scikit-learn C"]
    model = LogisticRegression(
        l1_ratio=1, C=C, solver="saga", tol=1e-8, max_iter=20_000
    )
    theirs = model.fit(standard(X), y).coef_[0] / X.std(0)
    assert 1 < np.count_nonzero(theirs) < N
    np.testing.assert_allclose(s.coef_mean_, theirs, atol=1e-3)


@pytest.mark.parametrize(
    "package, options",
    [
        ("glmnet", {}),
        ("scikit-learn", {}),
        ("glmnet", dict(prior=ElasticNet(1.0, l1_ratio=0.4))),
        ("scikit-learn", dict(loss="logistic")),
        ("glmnet", dict(loss="poisson")),
        ("scikit-survival", dict(loss="survival")),
        ("glmnet", dict(loss="softmax")),
        ("grpreg", dict(column_groups={"a": [0, 1, 2], "b": [3, 4]})),
    ],
)
def test_a_penalty_may_be_given_in_the_units_of_other_packages(package, options):
    X, y = table(wild=0)
    X = X[:, :12]
    y = {
        "logistic": y > 0,
        "poisson": np.floor(np.abs(y)),
        "softmax": np.digitize(y, [-2, 2]),
        "survival": np.column_stack([np.arange(M) % 2, np.exp(y / 9)]),
    }.get(options.get("loss"), y)
    options = dict(options, tol=0.01)  # nothing but penalties is compared
    s = fitted(X, y, q=3, **options)
    (name,) = [name for name in s.lambda_scales_ if name.startswith(package)]
    theirs = s.lambda_scales_[name]
    again = fitted(X, y, lambdas=(package, theirs), **options)
    np.testing.assert_allclose(again.lambda_, s.lambda_, rtol=1e-12)
    if (
        package == "glmnet" and s.loss_ == "squared" and "prior" not in options
    ):  # n λ of columns of length sqrt(M)
        np.testing.assert_allclose(again.lambda_, theirs * (M / 2) / M**0.5, rtol=1e-12)
    several = fitted(X, y, lambdas=(package, [theirs, 3 * theirs]), **options)
    ratios = several.lambdas_ / s.lambda_
    wanted = [1, 1 / 3] if name.endswith(" C") else [3, 1]
    np.testing.assert_allclose(ratios, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    "lambdas", ["glmnet", "CV", ("R", 1.0), ("glmnet",), ("per", 1.0), ("glmnet", -1)]
)
def test_other_words_for_a_penalty_are_refused(lambdas):
    X, y = table(wild=0)
    with pytest.raises(ValueError, match="lambdas must be"):
        fitted(X, y, lambdas=lambdas)


@pytest.mark.parametrize("kind", ["squared", "groups", "logistic"])
def test_cross_validation_is_that_of_scikit_learn(kind):
    """On the same folds, with a fit of scikit-learn for each fold and penalty."""
    X, y = table(wild=0)
    X, y = X[:, :N], y + 2 * np.random.default_rng(1).normal(size=M)
    groups = np.repeat(np.arange(M // 3), 3) if kind == "groups" else np.arange(M)
    if kind == "logistic":
        y = (y > 0) * 1.0
    fit = dict(groups=groups) if kind == "groups" else {}
    s = fitted(X, y, lambdas="cv", fit=fit)
    Z = s.question_.A
    v = y if kind == "logistic" else y - y.mean()
    units = len(set(groups))
    fold = np.random.default_rng(0).permutation(units)[groups] % 10
    steps = np.log(0.85) * np.arange(-2, 3)
    errors = []
    for lam in s.lambda_ * np.exp(steps):
        error = 0.0
        for k in range(10):
            away, held = fold != k, fold == k
            n_lam = lam * away.sum() / (M / 2)
            if kind == "logistic":
                model = LogisticRegression(
                    l1_ratio=1, C=1 / n_lam, solver="saga", tol=1e-6, max_iter=9000
                )
                P = model.fit(Z[away], v[away]).predict_proba(Z[held])
                error -= np.log(P[np.arange(held.sum()), v[held].astype(int)]).sum()
                continue
            model = Lasso(alpha=n_lam / away.sum(), fit_intercept=False, tol=1e-9)
            error += np.sum(
                (v[held] - model.fit(Z[away], v[away]).predict(Z[held])) ** 2
            )
        errors.append(error)
    assert np.argmin(errors) == 2 and np.ptp(errors) > 0
    walk = penalty.walk_down(s.question_, penalty.empty_model(s.question_))
    at = np.log(s.lambda_ / walk) / np.log(0.85)
    assert np.abs(at - np.rint(at)).max() < 1e-9 and 1 < at[0] < 50
    assert "chosen by ten-fold cross-validation" in methods_text(s.selection_)


def test_cross_validation_is_refused_where_there_are_no_refits():
    X, y = table(wild=0)
    lived = np.column_stack([np.arange(M) % 2, np.exp(y / 9)])
    with pytest.raises(ValueError, match="lambdas='cv' knows single columns"):
        fitted(X, lived, loss="survival", lambdas="cv")
    with pytest.raises(ValueError, match="give a number, or leave it out"):
        fitted(X, np.digitize(y, [-2, 2]), loss="softmax", lambdas="cv")


class OwnPenalty(Prior):
    """The Lasso's."""

    def inner(self, field, Q_hat, beta):
        """As `Prior.inner`."""
        x = np.sign(field) * np.maximum(np.abs(field) - 1, 0) / Q_hat
        return field * x / 2 - np.abs(x) / 2, x, (x != 0) / Q_hat


class OwnLoss(Huber):
    """One that exact refits do not know."""


@pytest.mark.parametrize(
    "options, fit, words",
    [
        (dict(lambdas="cv", prior=OwnPenalty()), {}, "not OwnPenalty; give a number"),
        (dict(lambdas="cv", loss=OwnLoss()), {}, "not OwnLoss; give a number"),
        (
            dict(lambdas="cv", loss=OwnLoss()),
            dict(sample_weight=np.linspace(1, 2, M), groups=np.arange(M) // 2),
            "not OwnLoss; give a number",
        ),
        (dict(loss="survival", prior=OwnPenalty(), n_resamples=10), {}, "OwnPenalty: "),
    ],
)
def test_a_model_without_exact_refits_is_refused_by_its_own_name(options, fit, words):
    X, y = table(wild=0)
    if options.get("loss") == "survival":
        y = np.column_stack([np.arange(M) % 2, np.exp(y / 9)])
    with pytest.raises(ValueError, match=words) as refusal:
        fitted(X, y, fit=fit, **options)
    message = str(refusal.value)
    assert message.startswith("lambdas='cv': ") == ("lambdas" in options)
    assert "Laplace, ElasticNet and NonNegative" in message or "Lasso" in message


# Refits in the answer -----------------------------------------------------------------


@pytest.fixture(scope="module")
def both():
    X, y = table(wild=2)
    return X, y, fitted(X, y, n_resamples=50, q=4), fitted(X, y, q=4)


@pytest.fixture(scope="module")
def others(both):
    """What 2,000 other refits of that question select, by the columns of the table."""
    return refits(both[3], 2000, seed=3)


def test_a_refit_that_looks_at_likely_columns_first_is_the_same(both, monkeypatch):
    s = both[3]
    fit, draw = s.question_.solve(0.6 * s.lambda_), resamples(s.fit_, range(4), 3)
    few, all_ = [], []
    for found, bar in ((few, np.sort(fit.Pi)[-2]), (all_, -1.0)):
        monkeypatch.setattr(room, "NEGLIGIBLE", bar)
        found.append(room.refitter(fit)(*draw)[0])
    assert (few[0] != 0).sum() > 8
    np.testing.assert_array_equal(few, all_)


def test_the_combination_is_what_refine_says(both):
    X, y, s, plain = both
    refined = plain.refine(None, 50, verbose=False)
    for name, value in vars(refined).items():
        if name not in ("sparse_draws", "levels"):
            np.testing.assert_array_equal(getattr(s.refined_, name), value, name)
    np.testing.assert_array_equal(s.refined_.draws, refined.draws)
    np.testing.assert_array_equal(s.probabilities_, refined.Pi)
    np.testing.assert_array_equal(s.support_, refined.Pi >= s.threshold_)
    np.testing.assert_array_equal(s.coef_mean_, refined.mean)
    np.testing.assert_allclose(s.coef_std_, np.sqrt(refined.var))
    assert refined.n_resamples == 50 and plain.refined_ is None
    np.testing.assert_array_equal(s.lambda_, plain.lambda_)
    one, other = predictor(s).predict(X).mean(), predictor(plain).predict(X).mean()
    assert one == pytest.approx(other, rel=1e-9)  # the intercept follows the means


def test_the_bound_is_of_the_largest_sum(both):
    X, y, s, plain = both
    N_distinct = s.question_.candidates.sum()
    sums = [
        s.question_.size(s.fit_.Pi),
        s.probabilities_[
            np.unique(s.question_.columns.where, return_index=True)[1]
        ].sum(),
    ]
    expected = pfer_bound(max(sums), s.threshold_, N_distinct)
    np.testing.assert_allclose(s.pfer_bound_, expected)
    assert s.pfer_bound_ >= plain.pfer_bound_


@pytest.mark.filterwarnings("ignore:nothing could be selected here")
@pytest.mark.filterwarnings("ignore:do not trust this answer without refits")
def test_by_default_refits_have_the_last_word():
    X, y = table(wild=2)
    s, plain = (
        StabilitySelection(q=4, verbose=0, **how).fit(X[:, :N], y)
        for how in ({}, dict(n_resamples=0))
    )
    assert s.refined_.n_resamples >= 200 and s.refined_.Pi_se.max() <= 0.02
    np.testing.assert_array_equal(s.probabilities_, plain.refine(verbose=False).Pi)
    assert plain.refined_ is plain.undecided_ is None and np.isnan(plain.pfer_bound_se_)
    np.testing.assert_array_equal(plain.probabilities_, plain.fit_.Pi)
    finer = StabilitySelection(q=4, accuracy=0.008, verbose=0).fit(X[:, :N], y)
    assert finer.refined_.Pi_se.max() <= 0.008 < s.refined_.Pi_se.max()
    assert finer.refined_.n_resamples > s.refined_.n_resamples


def test_undecided_is_who_is_within_two_standard_errors():
    X, y = table(wild=2)
    options = dict(n_resamples=50, penalty_factor={"x5": 0.0})
    middle = near(X, y, **options)
    threshold = middle.probabilities_[3] + 1.9 * middle.refined_.Pi_se[3]
    s = near(X, y, **options, threshold=threshold)
    low, high = s.refined_.interval(0.9545).T
    near_it = (low <= s.threshold_) & (s.threshold_ <= high)
    free = s.selection_.question.columns.kind == "covariate"
    np.testing.assert_array_equal(s.undecided_, near_it & ~free)
    assert s.undecided_[3] and not s.undecided_[5]


def few_columns(seed, N=6):
    """So few columns that refits select more of them than rVAMP says."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, N)) + 0.7 * rng.normal(size=(30, 1))
    return X, X[:, :3].sum(1) + rng.normal(size=30)


@pytest.mark.parametrize("bound", ["mb", "unimodal"])
@pytest.mark.parametrize("asked", [{}, dict(pfer=0.8), dict(pfer=0.9, threshold=0.8)])
def test_no_bound_is_above_the_pfer_that_was_asked_for(asked, bound):
    """The threshold is raised as far as the refits' own q needs it, and no further."""
    raised = 0
    for seed in range(3):
        s = fitted(*few_columns(seed), n_resamples=100, bound=bound, **asked)
        plain = fitted(*few_columns(seed), bound=bound, **asked)
        assert s.pfer_bound_ <= asked.get("pfer", 1.0) == pytest.approx(s.pfer_)
        assert s.status_ == "converged" and s.q_ == plain.q_
        if s.threshold_ > plain.threshold_:
            sizes = s.probabilities_.sum(), s.fit_.Pi.sum()
            enough = error_control(6, pfer=s.pfer_, q=max(sizes), bound=bound)
            assert s.threshold_ == pytest.approx(enough[0], rel=1e-12)
            assert s.pfer_bound_ > 0.999 * s.pfer_
            raised += 1
        np.testing.assert_array_equal(s.support_, s.probabilities_ >= s.threshold_)
        low, high = s.refined_.interval(0.9545).T
        near = (low <= s.threshold_) & (s.threshold_ <= high)
        np.testing.assert_array_equal(s.undecided_, near)
    assert raised > 1


def test_refits_that_select_more_than_q_leave_a_bound_for_normal_fields():
    """q is at most a third of the features: half is the limit of the theory."""
    for seed in range(3):
        s = fitted(*few_columns(seed), n_resamples=100, bound="gaussian")
        assert s.q_ == pytest.approx(2) and s.pfer_bound_ < 1
        assert s.probabilities_.sum() < 3 and s.status_ == "converged"


def heavy_table(seed=1):
    """Columns and target with heavy tails: one row makes half of a feature's field."""
    rng = np.random.default_rng(seed)
    return np.exp(rng.normal(size=(60, 120))), rng.standard_cauchy(size=60)


@pytest.mark.filterwarnings("ignore::rvamp_nb.exceptions.ReliabilityWarning")
@pytest.mark.parametrize("n_resamples", [0, 20])
def test_where_one_row_makes_the_field_the_bound_for_normal_fields_gives_way(
    n_resamples,
):
    X, y = heavy_table()
    for given in ({}, dict(threshold=0.6), dict(q=15, threshold=0.7)):
        asked = dict(n_resamples=n_resamples, verbose=0, **given)
        with pytest.warns(UserWarning, match="bound='mb' in place of 'gaussian'"):
            s = StabilitySelection(bound="gaussian", **asked).fit(X, y)
        mb = StabilitySelection(bound="mb", **asked).fit(X, y)
        np.testing.assert_array_equal(s.probabilities_, mb.probabilities_)
        assert (s.threshold_, s.pfer_bound_) == (mb.threshold_, mb.pfer_bound_)
        assert s.status_.startswith("bound='mb' in place of 'gaussian', since one row")
        assert s.selection_.asked["bound"] == "mb"
        assert "not all that was asked for" in headline(s.selection_)
    with pytest.raises(ValueError, match="in place of 'gaussian'.*contradict"):
        StabilitySelection(bound="gaussian", q=20, pfer=1, verbose=0).fit(X, y)


def test_normal_rows_keep_the_bound_for_normal_fields():
    rng = np.random.default_rng(0)
    X, y = np.exp(0.3 * rng.normal(size=(60, 120))), rng.normal(size=60)
    s = fitted(X, y, n_resamples=0, bound="gaussian")
    assert s.status_ == "converged" and s.pfer_bound_ > 0.8
    assert s.q_ == 10  # a third of a resample's rows, where mb allows 7.7


def test_a_bound_that_was_not_promised_moves_no_threshold():
    X, y = few_columns(0)
    for asked in (dict(q=2.0, threshold=0.75), dict(q=2.0), dict(lambdas=[4.0])):
        s = fitted(X, y, n_resamples=100, **asked)
        assert s.threshold_ == 0.75 and s.status_ == "converged"
        assert s.pfer_bound_ == pfer_bound(
            max(s.probabilities_.sum(), s.fit_.Pi.sum()), 0.75, 6
        )


def test_a_pfer_that_no_threshold_keeps_is_called_not_as_asked_for():
    X, y = few_columns(0)
    with pytest.warns(UserWarning, match="pfer not met: .* selected on average"):
        s = StabilitySelection(pfer=0.5, threshold=1.0, n_resamples=100, verbose=0).fit(
            X, y
        )
    assert s.threshold_ == 1 and s.pfer_bound_ > s.pfer_ == pytest.approx(0.5)
    assert headline(s.selection_).startswith("not all that was asked for: ")


def test_the_bound_has_the_error_of_the_mean_number_selected(both, others):
    """By other draws: as much as their mean numbers selected differ, through q^2."""
    X, y, s, plain = both
    sizes = others[:, :N].sum(1).reshape(40, 50).mean(1)
    apart = [pfer_bound(size, s.threshold_, N) for size in sizes]
    stated = s.pfer_bound_se_ * np.mean(apart) / s.pfer_bound_
    assert 0.7 < stated / np.std(apart, ddof=1) < 1.4


def test_the_stability_index_is_nogueiras(both, others):
    """And its error: both written out as in the paper (their theorems 3 and 7)."""
    X, y, s, plain = both
    among = s.question_.candidates
    Z = others[:, s.question_.columns.first][:, among] * 1.0
    B, p = Z.shape
    share, k = Z.mean(0), Z.sum(1)
    by_chance = k.mean() / p * (1 - k.mean() / p)
    index = 1 - np.mean(B / (B - 1) * share * (1 - share)) / by_chance
    each = Z @ share / p - k * k.mean() / p**2
    each += index / 2 * (2 * k.mean() * k / p**2 - (k + k.mean()) / p + 1)
    error = np.sqrt(4 / B**2 * np.sum((each - each.mean()) ** 2)) / by_chance
    ours = stability_index(share, Z.std(0) / np.sqrt(B - 1), Z)
    np.testing.assert_allclose(ours, (index, error), rtol=1e-3)
    np.testing.assert_allclose(ours[0], index, rtol=1e-12)
    assert np.isnan(plain.stability_se_) and plain.stability_ > 0
    away = abs(s.stability_ - index)
    assert away < 2 * np.hypot(s.stability_se_, error) and s.stability_se_ < 0.05
    assert s.summary().attrs["stability"] == s.stability_
    tame = fitted(*table(wild=0), q=4)
    Z = refits(tame, 1000)[:, tame.question_.columns.first]
    index, error = stability_index(Z.mean(0), 0.0, Z)
    assert abs(tame.stability_ - index) < 3 * error + 0.01


def test_an_index_of_nothing_is_none():
    for Pi in (np.zeros(5), np.ones(5)):
        assert np.isnan(stability_index(Pi)).all()


@pytest.mark.filterwarnings("ignore:columns x., x4. are the same")
def test_how_often_any_of_a_family_is_selected():
    """By the lists of refits; others tell the same; twins are one by default."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(100, 12))
    X[:, 3:5] = rng.normal(size=(100, 1)) + 0.1 * X[:, 3:5]
    y = X[:, 3] + X[:, 0] + rng.normal(size=100)
    s = fitted(X, y, q=2.5, n_resamples=300)
    both = s.family_probabilities({"few": ["x0", "x1"], "noise": [9, "x10"]})
    assert list(both.index) == ["few", "noise"] and both.leader["few"] == "x0"
    assert both.members["noise"] == "x9, x10"
    shown = s.summary({"few": ["x0", "x1"]})
    assert shown.family["x0"] == "x0, x1" and (shown.family.drop("x0") == "").all()
    assert shown.family_probability["x0"] == both.probability["few"]
    assert shown.family_probability.notna().sum() == 1
    noise = (s.refined_.draws[:, 9:11] != 0).any(1).mean()
    assert abs(both.probability["noise"] - noise) < 3 * both.probability_se["noise"]
    np.testing.assert_allclose(both.expected["few"], s.probabilities_[:2].sum())
    (twins,) = s.family_probabilities().itertuples()
    assert twins.members == "x3, x4" and s.probabilities_[3:5].max() < 0.9
    others = refits(s, 2000, seed=8)[:, 3:5].any(1).mean()
    assert abs(twins.probability - others) < 3 * twins.probability_se < 0.1


def test_the_error_of_a_family_is_within_the_accuracy():
    """Where single probabilities ended the refits early, more are made."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 30))
    y = X[:, :12].sum(1) / 4 + 2 * rng.normal(size=200)
    s = StabilitySelection(verbose=0, q=8).fit(X, y)
    families = {f"f{k}": range(3 * k, 3 * k + 3) for k in range(10)}
    first = any_selected(s.refined_.levels, [*families.values()])
    assert s.refined_.Pi_se.max() < 0.02 < first[1].max()
    found = s.family_probabilities(families).loc[[*families]]
    assert found.probability_se.max() <= 0.02
    hits = refits(s, 4000, seed=8)
    truth = [hits[:, some].any(1).mean() for some in families.values()]
    z = (found.probability - truth) / np.hypot(found.probability_se, 0.008)
    assert np.abs(z).max() < 4 and np.mean(z**2) < 3


def test_a_family_that_is_called_as_a_leader_is_kept():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 6))
    X[:, 4] = X[:, 3] + 0.2 * rng.normal(size=60)
    y = X[:, 3] - X[:, 0] + rng.normal(size=60)
    for name in ("grade", "x4"):
        sets = {name: ["x0", "x1"]}
        s = fitted(X, y, n_resamples=40)
        known = replace(s.selection_, categories=sets)
        found = substitutes.family_probabilities(known)
        assert {*found.members} == {"x0, x1", "x3, x4"} and name in found.index
        assert (s.summary(categories=sets).family != "").sum() == 2


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
@pytest.mark.parametrize("law", ["subsample", "poisson"])
def test_the_search_in_a_tall_table_begins_start_with_rows_alike(
    loss, law, monkeypatch
):
    """Where all columns follow common factors, the empty model does not know; penalty
    factors, weights and columns that depend on others do no harm.
    """
    rng = np.random.default_rng(9)
    X = rng.normal(size=(450, 60)) + rng.normal(size=(450, 2)) @ rng.normal(
        size=(2, 60)
    )
    X[:, 7] = X[:, 4] + X[:, 5]
    f = (X[:, 0] - X[:, 1]) / 2
    y = (
        rng.poisson(np.exp(f - f.max() / 2))
        if loss == "poisson"
        else f + rng.normal(size=450)
    )
    y = y > 0 if loss == "logistic" else y
    options = dict(loss=loss, resampling=law, q=8.0)
    options["penalty_factor"] = np.where(np.arange(60) < 30, 1.0, 1.3)
    options["fit"] = dict(sample_weight=1 + rng.random(450))
    before = fitted(X, y, **options)
    monkeypatch.setattr(penalty, "ALIKE_FROM", 0)
    found, search = [], penalty._start_with_rows_alike

    def noted(question, along):
        state = search(question, along)
        found.append((state, along.lam))
        return state

    monkeypatch.setattr(penalty, "_start_with_rows_alike", noted)
    s = fitted(X, y, **options)
    ((state, lam),) = found
    # rows of counts differ most: their curvature is their rate
    assert state and abs(np.log(lam / s.lambda_)) < (
        0.15 if loss == "poisson" else 0.05
    )
    assert abs(s.lambda_ / before.lambda_ - 1) < 0.02
    assert np.abs(s.probabilities_ - before.probabilities_).max() < 0.01
    assert s.n_iter_ <= before.n_iter_


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_penalty_is_looked_for_in_32_bits_and_answered_in_64(monkeypatch, loss):
    rng = np.random.default_rng(12)
    X = rng.normal(size=(70, 900)) + rng.normal(size=(70, 2)) @ rng.normal(
        size=(2, 900)
    )
    y = X[:, :4].sum(1) + rng.normal(size=70)
    y, how = (y > 0 if loss == "logistic" else y), dict(loss=loss, q=6.0, tol=1e-7)
    before, seen = fitted(X, y, **how), []

    def noted(A):
        seen.append(A.dtype)
        return step_for(A)

    step_for = penalty.step_for
    monkeypatch.setattr(penalty, "step_for", noted)
    monkeypatch.setattr(active, "IN_32_BITS_FROM", 0)
    s = fitted(X, y, **how)
    assert set(seen) == {np.dtype(np.float32)}
    assert s.fit_.problem.A.dtype == s.question_.A.dtype == float
    assert s.n_iter_ == before.n_iter_
    np.testing.assert_allclose(s.lambda_, before.lambda_, rtol=1e-4)
    np.testing.assert_allclose(s.probabilities_, before.probabilities_, atol=1e-4)
    again = s.question_.solve(s.lambda_)  # from the empty model, in 64 bits
    np.testing.assert_allclose(s.probabilities_, again.Pi, atol=2e-6)
    if loss == "squared":  # units of which 32 bits do not hold the fourth powers
        seen.clear()
        np.testing.assert_allclose(
            fitted(X, 1e20 * y, q=6.0).lambda_, 1e20 * s.lambda_, rtol=1e-4
        )
        assert set(seen) == {np.dtype(float)}
        seen.clear()  # and tables of many rows
        fitted(X.T, X[:5].sum(0) + rng.normal(size=900), q=6.0)
        assert set(seen) == {np.dtype(float)}


def test_what_does_not_settle_with_rows_alike_is_not_begun_there(monkeypatch):
    """Of columns that nearly repeat each other the answer is that of any start."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(150, 10))
    X = np.hstack([X, X[:, :4] + 0.05 * rng.normal(size=(150, 4))])
    y = X[:, :3].sum(1) + rng.normal(size=150)
    before = fitted(X, y)
    monkeypatch.setattr(penalty, "ALIKE_FROM", 0)
    monkeypatch.setattr(penalty, "CHEAP_STEPS", 3)
    again = fitted(X, y)
    assert (before.lambda_, before.n_iter_) == (again.lambda_, again.n_iter_)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("shape", [(90, 20), (40, 60)])
def test_many_new_rows_have_the_spreads_of_each(loss, shape):
    """By one covariance of the coefficients, or of a few rows at a time."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=shape)
    X[:, 3] = -X[:, 2]
    y = X[:, :3].sum(1) + rng.normal(size=len(X))
    s = fitted(X, y > 0 if loss == "logistic" else y, loss=loss)
    new = 3 + 2 * rng.normal(size=(2 * shape[1], shape[1]))
    mean, spread = predictor(s).linear_predictor(new, return_std=True)
    each = [
        predictor(s).linear_predictor(row[None], return_std=True)[1][0]
        for row in new[:9]
    ]
    np.testing.assert_allclose(spread[:9], each, rtol=1e-10)
    assert len(set(spread.round(12))) > shape[1]


@pytest.mark.parametrize(
    "options",
    [{}, dict(n_resamples=30), dict(loss="huber"), dict(prior=NonNegative(1.0))],
)
def test_intervals_of_new_targets_hold_what_they_name(options):
    """Over twelve tables; and out-of-bag predictions are those of refits without it."""
    held, at = [], dict(lambdas=[7.0])  # where a search would end, about
    for seed in range(12):
        rng = np.random.default_rng([5, seed])
        X = rng.normal(size=(560, 90)) + rng.normal(size=(560, 1))
        y = 10 + X[:, :4].sum(1) + rng.standard_t(4, size=560)
        offset = rng.normal(size=60)
        fit = dict(offset=offset)
        s = fitted(X[:60], y[:60] + offset, **options, **at, fit=fit)
        low, high = predictor(s).predict_interval(X[60:], 0.8).T
        held.append(np.mean((low <= y[60:]) & (y[60:] <= high)))
        np.testing.assert_allclose((low + high) / 2, predictor(s).predict(X[60:]))
    assert abs(np.mean(held) - 0.8) < 3 * np.std(held, ddof=1) / 12**0.5 + 0.02
    if s.loss_ == "squared":
        drawn = resamples(s.fit_, range(800), 0)
        fits = room.refitter(s.fit_, None)(*drawn)[0] @ s.question_.A.T
        out = drawn[0] == 0
        alone = (fits * out).sum(0) / out.sum(0) + s.question_.target.level
        away = out_of_bag(s.selection_) - alone
        assert np.sqrt(np.mean(away**2)) < 0.1 * alone.std()


@pytest.mark.filterwarnings("ignore:columns x., x4. are the same")
def test_a_loss_of_ones_own_is_refitted_by_turns():
    X, y = table(wild=0)
    s = StabilitySelection(loss=LogCosh(), lambdas=[3.0], verbose=0).fit(X, y)
    assert not s.refit_error_ and s.refined_.n_resamples >= 200
    asked = StabilitySelection(loss=LogCosh(), lambdas=[3.0], n_resamples=20, verbose=0)
    assert asked.fit(X, y).refined_.n_resamples == 20
    again = ExactByTurns(s.fit_)
    x, _ = again(*resamples(s.fit_, range(400), 8))
    share = (x != 0).mean(0)[s.selection_.question.columns.where]
    noise = np.hypot(s.refined_.Pi_se, np.sqrt(share * (1 - share) / 400) + 2e-3)
    assert (np.abs(s.probabilities_ - share) < 4 * noise).all()


@pytest.mark.filterwarnings("ignore:columns x., x4. are the same")
def test_what_cannot_be_refitted_is_said_and_rvamp_reported(monkeypatch):
    def refuse(*_):
        raise ValueError("refits know nothing of this")

    X, y = table(wild=0)
    monkeypatch.setattr(refined_room, "Samples", refuse)
    with pytest.warns(
        UserWarning, match="probabilities are rVAMP's alone: refits know"
    ):
        s = StabilitySelection(lambdas=[3.0], verbose=0).fit(X, y)
    assert s.refined_ is None and "refits know" in s.refit_error_
    columns = s.selection_.question.columns
    np.testing.assert_array_equal(s.probabilities_, s.fit_.Pi[columns.where])
    asked = StabilitySelection(lambdas=[3.0], n_resamples=30, verbose=0)
    with pytest.raises(ValueError, match="n_resamples=30 .*: refits know.*; leave it"):
        asked.fit(X, y)


def test_intervals_hold_what_they_are_of(both):
    X, y, s, plain = both
    interval = s.refined_.interval()
    low, high = interval.T
    assert (low <= s.probabilities_).all() and (s.probabilities_ <= high).all()
    np.testing.assert_array_equal(interval[[0, 1]], interval[[N, N + 1]])
    wider, narrower = (s.refined_.interval(level) for level in (0.99, 0.5))
    assert (wider[:, 0] <= low).all() and (narrower[:, 0] >= low).all()
    share = refits(plain, 1500, seed=7).mean(0)
    noise = np.hypot(s.refined_.Pi_se, np.sqrt(s.probabilities_ / 1500) + 1e-3)
    # what none of 50 refits selects is rVAMP's: it may be selected once in fifty
    often = share >= 0.02
    assert (np.abs(s.probabilities_ - share) < 4 * noise)[often].all()
    assert often.sum() > 15
    assert (s.probabilities_ - share < 4 * noise).all()


def test_coefficients_lie_where_refits_have_them():
    """Shares of 1,000 other refits beyond each end, of which 5 % are meant."""
    X, y = table(wild=0)
    X = X[:, :N]
    plain, combined = (near(X, y, n_resamples=n) for n in (0, 300))
    given = dict(resampling=Subsample(0.5), keep=range(N))
    given |= dict(n_resamples=1000, random_state=77, verbose=False)
    model = plain.question_
    draws = naive_bootstrap(model.A, model.target.y, plain.lambda_, **given).draws
    for s in (plain, combined):
        low, high = (s.coef_interval_ * s.scale_[:, None]).T
        below, above = (draws < low - 1e-9).mean(0), (draws > high + 1e-9).mean(0)
        assert max(below.max(), above.max()) < 0.09
        assert 0.03 < (below + above)[:3].mean() < 0.14


def test_the_interval_of_a_negated_copy_is_turned(both):
    X, y, s, plain = both
    np.testing.assert_array_equal(s.coef_interval_[1], -s.coef_interval_[N + 1][::-1])


def test_no_refits_of_no_answer():
    X, y = table()
    with at_most(2):
        s = fitted(X, y, n_resamples=20, lambdas=[1e-9])
    assert s.refined_ is None and not s.support_.any()
    assert np.isnan(s.coef_interval_).all()


# One source of predictions ------------------------------------------------------------


def of_other_refits(s, X, n=1000, **given):
    """Linear predictors of X in n plain refits, (n, len(X)), by naive_bootstrap: an
    intercept is a column without a penalty, or of a squared loss the mean target.
    """
    squared = s.loss_ == "squared"
    A = np.column_stack([(X - s.center_) / s.scale_, np.ones(len(X))])
    A = A[:, : X.shape[1] + (not squared)]
    factor = np.ones(A.shape[1])
    factor[X.shape[1] :] = 0
    given |= dict(loss=s.loss_, resampling=s.question_.counts)
    given |= dict(prior=Laplace(s.lambda_, penalty_factor=factor), random_state=5)
    given |= dict(keep=range(A.shape[1]), n_resamples=n, verbose=False)
    seen = naive_bootstrap(A, s.question_.target.y, **given)
    return seen.draws @ A.T + s.question_.target.level * squared


def test_probabilities_of_classes_are_those_of_refits():
    """Few rows, many columns far from 0, classes of unequal size: here the intercept of
    rVAMP is off, and coefficients of refits with it are no answer.
    """
    rng = np.random.default_rng(2)
    common = rng.normal(size=(72, 4))
    X = common @ rng.normal(size=(4, 300)) + rng.normal(size=(72, 300))
    X += 20 * rng.random(300)
    y = rng.random(72) < 1 / (1 + np.exp(1.2 - 1.5 * common[:, 0] + common[:, 1]))
    s = fitted(X, y, n_resamples=None)
    f = of_other_refits(s, X)
    ours, p = predictor(s).predict_proba(X)[:, 1], 1 / (1 + np.exp(-f))
    error = p.std(0) * np.sqrt(1 / s.refined_.n_resamples + 1 / len(f))
    assert (np.abs(ours - p.mean(0)) < 0.01 + 3 * error).all()
    assert abs(np.mean(ours - p.mean(0))) < 0.01
    assert np.sqrt(np.mean((ours - p.mean(0)) ** 2)) < 0.01
    np.testing.assert_array_equal(predictor(s).predict(X), ours > 0.5)
    mean = X @ s.coef_mean_ + s.refined_.intercepts.mean()
    level = s.intercept_ - s.center_ @ (s.refined_.draws.mean(0) - s.coef_mean_)
    np.testing.assert_allclose(
        predictor(s).linear_predictor(X), mean - level + s.intercept_
    )


@pytest.mark.parametrize(
    "what", ["few", "strata", "groups", "classes", "poisson", "Poisson few"]
)
def test_predictions_vary_as_those_of_refits(what):
    """p̄₂ alone is too wide here, by a fifth to a half."""
    rng = np.random.default_rng(1)
    M, few = 20 if "few" in what else 40, np.arange(40) // 2
    X = rng.normal(size=(M, 6)) + 3
    f = X[:, 0] - X[:, 1] + rng.normal(size=M)
    y, fit, loss, offset = f, {}, "auto", {}
    if what == "strata":
        y, fit = f + 2 * (few % 2), dict(strata=few % 2)
    if what == "groups":
        fit = dict(groups=few)
    if what == "classes":
        y = f > 0
    if "oisson" in what:
        loss, offset = "poisson", dict(offset=0.5 * rng.normal(size=M))
        y, fit = rng.poisson(np.exp(1 + f / 3 + offset["offset"])), offset
    s = fitted(X, y, loss=loss, n_resamples=400, fit=fit)
    others = of_other_refits(s, X, **offset)
    mean, std = predictor(s).linear_predictor(X, return_std=True)
    assert abs(np.median(std / others.std(0)) - 1) < 0.1
    assert np.abs(std / others.std(0) - 1).max() < 0.2
    assert (np.abs(mean - others.mean(0)) < 0.2 * others.std(0)).all()
    if loss == "poisson":
        bagged, spread = predictor(s).predict(X, return_std=True)
        np.testing.assert_allclose(bagged, np.exp(others).mean(0), rtol=0.1)
        assert abs(np.median(spread / np.exp(others).std(0)) - 1) < 0.1


def test_cox_refits_have_a_level_about_the_baseline_that_is_reported():
    """With it as many events are expected in each resample as there are."""
    X, y = simulated_survival(M=80, N=8, seed=3)
    s = fitted(X, y, loss="survival", n_resamples=60)
    draw = resamples(s.fit_, range(60), 0)
    hazard, event = s.baseline_.hazard, s.baseline_.event
    f = X @ s.refined_.draws.T + s.refined_.intercepts
    expected = np.einsum("bm,m,mb->b", draw[0], hazard, np.exp(f))
    np.testing.assert_allclose(expected, draw[0] @ event)
    mean, std = predictor(s).linear_predictor(X, return_std=True)
    np.testing.assert_allclose(std, f.std(1))
    assert np.abs(mean - f.mean(1)).max() < f.std(1).max() / 2


@pytest.mark.parametrize("x, y_unit", [(1e-100, 1e60), (1e90, 1e-60), (1e-160, 1)])
@pytest.mark.parametrize("refits", [0, 40])
def test_spreads_are_numbers_in_all_units(x, y_unit, refits):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    y = X[:, 0] + 0.5 * rng.normal(size=60)
    one, two = (
        fitted(X, y, n_resamples=refits),
        fitted(X * x, y * y_unit, n_resamples=refits),
    )
    back, rtol = two.coef_std_ * x / y_unit, 1e-5 if refits else 1e-6
    # refits are made of products in 32 bits, which round otherwise in other units
    np.testing.assert_allclose(back, one.coef_std_, rtol=rtol)
    np.testing.assert_allclose(two.probabilities_, one.probabilities_, rtol=1e-6)
    spreads = (
        predictor(s).linear_predictor(v, True)[1] for s, v in ((one, X), (two, X * x))
    )
    np.testing.assert_allclose(next(spreads) * y_unit, next(spreads), rtol=rtol)


# Groups and strata --------------------------------------------------------------------


def patients(G=30, each=4, seed=0, alike=0.97):
    """Rows of a patient that resemble each other; nothing explains y."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(G), each)
    own = lambda n: np.repeat(rng.normal(size=(G, n)), each, 0)
    X = alike * own(N) + 0.25 * rng.normal(size=(G * each, N))
    y = own(1)[:, 0] + 0.1 * rng.normal(size=G * each)
    return X, y, who


def test_whole_groups_are_drawn_and_the_cap_counts_groups():
    X, y, who = patients()
    grouped = fitted(X, y, pfer=3, fit=dict(groups=who.astype(str)))
    rows = fitted(X, y, pfer=3)
    assert grouped.question_.counts.law == Subsample(0.5)
    assert grouped.q_ <= 30 / 6 + 1e-9 < rows.q_
    drawn = grouped.question_.counts.draw(120, np.random.default_rng(0))
    assert drawn.sum() == 60
    assert (drawn.reshape(30, 4) == drawn.reshape(30, 4)[:, :1]).all()
    assert grouped.pfer_bound_ <= 3


def test_repeated_samples_of_one_group_are_no_alarm():
    X, y, who = patients()
    grouped, rows = fitted(X, y, fit=dict(groups=who)), fitted(X, y)
    assert (
        len(rows.diagnostics_.repeated) > 10 and rows.diagnostics_.reliability == "red"
    )
    assert not len(grouped.diagnostics_.repeated)
    assert "repeated samples" not in str(grouped.diagnostics_)


def test_repeats_across_groups_are_still_seen():
    X, y, who = patients()
    who = who.copy()
    who[12:14] = 99  # two of the four samples of a patient under another name
    repeated = fitted(X, y, fit=dict(groups=who)).diagnostics_.repeated
    assert [set(who[rows]) for rows in repeated] == [{3, 99}]


@pytest.mark.parametrize("classes", [False, True])
def test_predictions_of_groups_vary_as_refits_do(classes):
    """And the table is there, with who stands in for whom."""
    X, _, who = patients(G=40, each=3)
    rng = np.random.default_rng(1)
    X = np.column_stack([X[:, :8], X[:, 0] + 0.6 * X[:, 8]])
    y = 1.5 * X[:, 0] + 0.5 * np.repeat(rng.normal(size=40), 3)
    y = y > 0 if classes else y
    s = fitted(X, y, q=3, fit=dict(groups=who))
    new = np.eye(9) * s.scale_ + s.center_
    lp, std = predictor(s).linear_predictor(new, return_std=True)
    if not classes:
        draws = naive_bootstrap(
            s.question_.A,
            s.question_.target.y,
            s.lambda_,
            resampling=s.question_.counts,
            n_resamples=600,
            keep=range(9),
            verbose=False,
        ).draws
        large = draws.std(0) > 0.2 * draws.std(0).max()
        assert np.abs(std / draws.std(0) - 1)[large].max() < 0.15
    else:
        assert np.isfinite(predictor(s).predict_proba(new)).all() and (std > 0).all()
    table = s.summary(full=True)
    assert table.shares_signal_with["x0"] in ("", "x8")
    assert np.isfinite(s.coef_interval_).all()


def test_groups_of_one_row_are_rows():
    X, y = table()
    one = near(X, y, fit=dict(groups=np.arange(M)[::-1]))
    np.testing.assert_allclose(one.probabilities_, near(X, y).probabilities_, atol=1e-8)


def test_strata_are_halved_one_by_one():
    X, y = table(wild=0)
    rare = y > np.quantile(y, 0.9)
    s = fitted(X, rare, fit=dict(strata=rare))
    drawn = s.question_.counts.draw(M, np.random.default_rng(0))
    assert drawn[rare].sum() == 6 and drawn.sum() == 60
    assert np.isfinite(s.pfer_bound_)
    apart = np.abs(refits(s, 300, seed=1).mean(0) - s.probabilities_)
    assert apart.max() < 0.03 + 4 * 0.5 / 300**0.5


# Weights and offsets ------------------------------------------------------------------


def weights():
    return np.random.default_rng(5).choice([0.5, 1.0, 3.0], size=M)


WITH_ROWS = {
    "squared": (dict(), lambda eta, rng: eta + rng.normal(size=M)),
    "huber": (dict(loss="huber"), lambda eta, rng: eta + rng.standard_t(2, size=M)),
    "logistic": (dict(), lambda eta, rng: eta + rng.logistic(size=M) > 0),
    "poisson": (
        dict(loss="poisson"),
        lambda eta, rng: rng.poisson(np.exp(np.clip(eta / 3, -3, 2))),
    ),
}


@pytest.mark.parametrize("what", WITH_ROWS)
def test_weights_and_offsets_agree_with_refits(what):
    options, target = WITH_ROWS[what]
    X, _ = table()
    rng = np.random.default_rng(3)
    offset = rng.normal(size=M) / 3
    y = target(X[:, :4].sum(1) + offset, rng)
    s = fitted(X, y, q=4, **options, fit=dict(sample_weight=weights(), offset=offset))
    assert s.status_ == "converged" and s.loss_ == what
    assert off(s, 150)[0] < 0.04
    assert np.corrcoef(s.probabilities_, refits(s, 150).mean(0))[0, 1] > 0.99


def test_only_ratios_of_weights_matter():
    X, y = table(wild=0)
    one, two, three = (
        near(X, y, fit=dict(sample_weight=w))
        for w in (weights(), 64 * weights(), np.full(M, 7.0))
    )
    np.testing.assert_allclose(one.probabilities_, two.probabilities_, atol=1e-9)
    plain = near(X, y)
    np.testing.assert_allclose(three.probabilities_, plain.probabilities_, atol=1e-6)
    np.testing.assert_allclose(three.coef_mean_, plain.coef_mean_, atol=1e-6)


def test_weighted_columns_are_standardised_with_the_weights():
    X, y = table(wild=0)
    s = near(X, y, fit=dict(sample_weight=weights()))
    w, A = s.question_.target.rows.weight, s.question_.A
    np.testing.assert_allclose(w.mean(), 1)
    np.testing.assert_allclose(w @ A, 0, atol=1e-10)
    np.testing.assert_allclose(w @ A**2, 1)
    again = s.center_[:N] + A * s.scale_[:N]
    np.testing.assert_allclose(again, X[:, :N], atol=1e-10)


def test_a_weighted_penalty_on_scikit_learns_scale():
    X, y = table(wild=0)
    X, w = X[:, :N], weights()
    said = dict(fit=dict(sample_weight=w))
    s = fitted(X, y, lambdas=[5.0], resampling=NoResampling(), **said)
    center = np.average(X, 0, w)
    scale = np.sqrt(np.average((X - center) ** 2, 0, w))
    net = Lasso(alpha=s.lambda_scales_["scikit-learn alpha"], tol=1e-12)
    theirs = net.fit((X - center) / scale, y, sample_weight=w).coef_ / scale
    assert 1 < np.count_nonzero(theirs) < N
    np.testing.assert_allclose(s.coef_mean_, theirs, atol=1e-4)
    intercept = np.average(y - X @ theirs, 0, w)
    np.testing.assert_allclose(s.intercept_, intercept, atol=1e-3)


def test_rows_without_weight_do_not_matter():
    """Neither their values nor their targets; they are still drawn as rows are."""
    X, y = table(wild=0)
    w = weights()
    w[::4] = 0
    other, z = X.copy(), y.copy()
    other[::4], z[::4] = 1e3, -1e3
    one, two = (
        near(table_, target, fit=dict(sample_weight=w))
        for table_, target in ((X, y), (other, z))
    )
    np.testing.assert_allclose(one.probabilities_, two.probabilities_, atol=1e-4)
    np.testing.assert_allclose(one.coef_mean_, two.coef_mean_, atol=1e-4)


def test_the_cap_counts_rows_that_weigh_something():
    X, y = table(wild=0)
    w = np.ones(M)
    w[:84] = 0
    s = fitted(X, y, pfer=3, fit=dict(sample_weight=w))
    assert s.q_ <= 36 / 6 + 1e-9 < fitted(X, y, pfer=3).q_


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_an_offset_of_a_shifted_target(loss):
    X, y = table(wild=0)
    offset = 5 * np.random.default_rng(2).normal(size=M)
    one = near(X, y + offset, loss=loss, fit=dict(offset=offset))
    two = near(X, y, loss=loss)
    np.testing.assert_allclose(one.probabilities_, two.probabilities_, atol=1e-5)
    np.testing.assert_allclose(one.intercept_, two.intercept_, atol=1e-5)
    np.testing.assert_allclose(
        predictor(one).predict(X), predictor(two).predict(X), atol=1e-4
    )


def test_counts_over_different_times():
    """The offset is the logarithm of the time: predictions are counts a unit of it."""
    rng = np.random.default_rng(8)
    X, time = rng.normal(size=(300, 10)), rng.uniform(1, 50, size=300)
    y = rng.poisson(time * np.exp(0.4 * X[:, 0] - 1))
    s = fitted(X, y, loss="poisson", fit=dict(offset=np.log(time)))
    without = fitted(X, y, loss="poisson")
    assert s.support_.tolist() == [True] + [False] * 9
    rate = np.exp(0.4 * X[:, 0] - 1)
    assert np.corrcoef(predictor(s).predict(X), rate)[0, 1] > 0.99
    assert 0.8 < predictor(s).predict(X).mean() / rate.mean() < 1.2
    assert predictor(without).predict(X).mean() > 10 * rate.mean()


# Survival -----------------------------------------------------------------------------


COX = dict(loss="survival", q=3, lambdas=[0.8, 0.6])  # a search, several rounds of it
AT_ONE = dict(loss="survival", lambdas=[0.8])


@pytest.fixture(scope="module")
def lives():
    A, y = simulated_survival(M=90, N=14, seed=1)
    return 3 * A + 1, y, fitted(3 * A + 1, y, **COX)


def test_survival_is_worth_real_cox_refits(lives):
    X, y, s = lives
    assert s.status_ == "converged" and s.loss_ == "survival"
    assert s.support_[:2].all() and not s.support_[2:].any()
    error, far = off(s, 40)
    assert error < 0.04 and far < 3.5


def test_the_baseline_is_that_of_the_answer(lives):
    X, y, s = lives
    assert s.baseline_.updated(s.fit_.last.u).distance(s.baseline_) < 1e-3
    fit, base = survival_fit(
        s.question_.A, y["time"], y["event"] * 1.0, prior=Laplace(s.lambda_)
    )
    assert np.abs(fit.Pi - s.probabilities_).max() < 5e-3


@pytest.mark.parametrize("ratio", [1.0, 0.6])
def test_the_penalty_on_scikit_survivals_scale(lives, ratio):
    """Cox's score over risk sets, per row and on columns of variance one, is the slope
    of the penalty at the answer of all rows: optimality at Coxnet's alpha.
    """
    X, y, _ = lives
    net = ElasticNet(1.0, l1_ratio=ratio)
    s = fitted(X, y, resampling=NoResampling(), **AT_ONE, prior=net)
    Z, b = standard(X), s.coef_mean_ * X.std(0)
    alpha, share = (s.lambda_scales_[k] for k in ("scikit-survival alpha", "l1_ratio"))
    risk, score = np.exp(Z @ b), np.zeros(14)
    for died in np.flatnonzero(y["event"]):
        there = y["time"] >= y["time"][died]
        score += Z[died] - risk[there] @ Z[there] / risk[there].sum()
    rest = score / len(X) - alpha * (1 - share) * b
    on = np.abs(b) > 1e-6
    assert 1 < on.sum() < 14 and np.isclose(share, ratio)
    np.testing.assert_allclose(rest[on], alpha * share * np.sign(b[on]), rtol=5e-3)
    assert np.abs(rest).max() < 1.005 * alpha * share


def test_survival_in_other_forms_and_with_refits_in_the_answer(lives):
    X, y, s = lives
    frame = pd.DataFrame(dict(time=y["time"], event=y["event"]))
    pair = np.column_stack([y["event"], y["time"]])
    one = fitted(X, y, **AT_ONE)
    for given, refits in ((frame, 0), (pair, 10)):
        again = fitted(X, given, **AT_ONE, n_resamples=refits)
        np.testing.assert_array_equal(again.fit_.Pi, one.probabilities_)
    refined = again.refined_
    assert refined.n_resamples == 10 and refined.interval().shape == (14, 2)
    assert "glmnet lambda" not in s.lambda_scales_
    np.testing.assert_allclose(
        predictor(s).predict(X), predictor(s).linear_predictor(X)
    )
    risk = X[:, 0] - X[:, 1]
    assert np.corrcoef(predictor(s).predict(X), risk)[0, 1] > 0.95


def test_the_search_ends_when_the_baseline_stands(monkeypatch, lives):
    """Each round goes on with the baseline that the one before has implied."""
    X, y, _ = lives
    moves, rounds, at_once = iter([0.5, 0.4, 0.0]), [], penalty.tracking_search

    def noted(question, q, lam, state, moving):
        rounds.append((lam, moving.base is question.target.baseline))
        return at_once(question, q, lam, state, moving=moving)

    monkeypatch.setattr(penalty, "tracking_search", noted)
    monkeypatch.setattr(BaselineHazard, "distance", lambda *_: next(moves))
    s = fitted(X, y, loss="survival", q=3)
    assert s.status_ == "converged" and len(rounds) == 3 and all(rounds[1:])
    assert rounds[0] == (None, True) and rounds[2] == (pytest.approx(s.lambda_), True)


def test_penalty_and_baseline_are_found_in_one_run(lives):
    """Rounds with a baseline that stays take 30 steps here."""
    X, y, _ = lives
    s = fitted(X, y, loss="survival", q=3)
    assert s.status_ == "converged" and s.n_iter_ < 24
    assert s.baseline_.updated(s.fit_.last.u).distance(s.baseline_) < 2e-4


def test_survival_with_groups_weights_and_a_covariate(lives):
    X, y, _ = lives
    s = fitted(
        X,
        y,
        **AT_ONE,
        penalty_factor=np.r_[1, 1, 0, np.ones(11)],
        fit=dict(groups=np.arange(90) // 2, sample_weight=np.r_[2.0, np.ones(89)]),
    )
    assert s.status_ == "converged" and s.support_[:3].all()
    r = s.refine(None, 20, verbose=False)
    assert r.Pi[2] == 1 and r.n_failed == 0 and (r.draws[:, 2] != 0).all()
    share = (r.draws != 0).mean(0)
    assert np.abs(s.probabilities_ - share).max() < 0.05 + 3 * 0.5 / 20**0.5
    with pytest.raises(ValueError, match="without offsets only, not offsets"):
        fitted(X, y, **AT_ONE, n_resamples=10, fit=dict(offset=np.arange(90) / 90))


# Levels of one variable ---------------------------------------------------------------


def test_levels_of_one_variable_do_not_stand_in_for_each_other():
    rng = np.random.default_rng(2)
    level = rng.integers(3, size=150)
    X = np.column_stack([level == 0, level == 1, rng.normal(size=(150, 10))]) * 1.0
    y = 1.0 * (level == 2) + 0.5 * rng.normal(size=150)
    at = dict(q=4, threshold=0.6, lambdas=[2.0, 1.5, 1.0, 0.7])
    s = fitted(X, y, **at)
    assert s.support_[:2].all() and s.substitutes()[0] == "x1"
    assert s.summary(full=True).shares_signal_with["x0"] == "x1"
    by_name = {"level": ["x0", "x1"]}
    for levels in (by_name, [[0, 1]], np.array([["x0", "x1"]])):
        assert s.substitutes(levels)[0] == ""
        assert s.summary(categories=levels).shares_signal_with["x0"] == ""
    assert s.substitutes()[0] == "x1"  # the answer stays as it was


# Copies of the estimator -------------------------------------------------------------


def test_all_of_it_is_cloned_and_pickled(lives):
    X, y = table()
    options = dict(prior=NonNegative(1.0), n_resamples=10)
    said = dict(groups=np.arange(M) // 2, sample_weight=weights(), offset=np.ones(M))
    for s in (lives[2], near(X, y, **options, fit=said)):
        again = pickle.loads(pickle.dumps(s))
        np.testing.assert_array_equal(again.probabilities_, s.probabilities_)
        np.testing.assert_array_equal(again.coef_interval_, s.coef_interval_)
        assert repr(clone(s)) == repr(s)


def entries_of(X, y, **asked):
    """A fit without refits, and the pfer at which each of its features enters."""
    found = StabilitySelection(n_resamples=0, verbose=0, **asked).fit(X, y)
    table = found.summary(full=True)
    return found, table.enters_at_pfer[[f"x{i}" for i in range(X.shape[1])]].to_numpy()


def graded(M=100, N=60, effects=6):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(M, N))
    sizes = np.linspace(0.25, 1, effects)
    return X, X[:, :effects] @ sizes + rng.normal(size=M)


@pytest.fixture(scope="module")
def by_default():
    """The table, its fit with defaults, and where its features enter."""
    X, y = graded()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return X, y, *entries_of(X, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "asked",
    [
        {},
        dict(bound="gaussian"),
        dict(bound="unimodal"),
        dict(threshold=0.9),
        dict(pfer=3.0),
        dict(q=6.0),
        dict(loss="huber"),
    ],
    ids=str,
)
def test_a_feature_enters_at_the_least_pfer_that_the_summary_names(asked, by_default):
    """Refits of the whole search a little below the number and a little above it."""
    X, y, *found_entries = by_default
    found, entries = entries_of(X, y, **asked) if asked else found_entries
    among = np.flatnonzero(np.isfinite(entries))
    assert len(among) >= 4 and found.support_[among].sum() >= 2
    inside = (entries > 1.03 * found.pfer_) | (entries < 0.97 * found.pfer_)
    assert ((entries <= found.pfer_) == found.support_)[inside].all()
    for i in among:
        for factor in (0.97, 1.03):
            options = asked | dict(pfer=entries[i] * factor)
            again = StabilitySelection(n_resamples=0, verbose=0, **options)
            if "q" in asked and options["pfer"] < 36 / 60:  # refused: no threshold
                continue
            assert again.fit(X, y).support_[i] == (factor > 1), (i, factor, entries[i])


@pytest.mark.filterwarnings("ignore")
def test_beyond_what_the_rows_allow_the_threshold_falls_and_features_still_enter():
    X, y = graded(M=40, N=300, effects=4)
    found, entries = entries_of(X, y)
    below = np.flatnonzero((found.probabilities_ < 0.74) & np.isfinite(entries))
    assert len(below)
    for i in below[:2]:
        for factor in (0.97, 1.03):
            again = StabilitySelection(
                pfer=entries[i] * factor, n_resamples=0, verbose=0
            ).fit(X, y)
            assert again.support_[i] == (factor > 1)


@pytest.mark.filterwarnings("ignore")
def test_where_the_penalty_is_given_the_threshold_decides_who_enters(by_default):
    X, y, free, at_default = by_default
    lam = free.lambda_
    found, entries = entries_of(X, y, lambdas=[lam])
    Pi = found.probabilities_
    np.testing.assert_array_equal(np.isfinite(entries), Pi > 0.5)
    first = Pi.argmax()
    bound = pfer_bound(found.q_, min(Pi[first], 1), X.shape[1])
    assert entries[first] == pytest.approx(bound)
    path, along = entries_of(X, y, lambdas=lam * np.geomspace(4, 0.7, 15))
    known = np.isfinite(along) & np.isfinite(at_default)
    assert known.sum() >= 3
    np.testing.assert_allclose(along[known], at_default[known], rtol=0.05)


@pytest.mark.filterwarnings("ignore")
def test_the_short_summary_has_the_entries_in_two_digits_where_a_bound_holds(
    by_default,
):
    X, y, found, entries = by_default
    short = found.summary()["enters at pfer"]
    near = short[[f"x{i}" for i in range(60)]].to_numpy()
    np.testing.assert_allclose(near, entries, rtol=0.05)
    digits = [f"{value:.2g}" for value in short.dropna()]
    assert [float(text) for text in digits] == short.dropna().tolist()
    paper = StabilitySelection(resampling="poisson", n_resamples=0).fit(X, y)
    for full in (False, True):
        assert not {"enters at pfer", "enters_at_pfer"} & {*paper.summary(full=full)}
    free = StabilitySelection(n_resamples=0, penalty_factor={"x0": 0.0}).fit(X, y)
    assert np.isnan(free.summary().loc["x0", "enters at pfer"])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "asked",
    [
        {},
        dict(bound="gaussian"),
        dict(threshold=1.0),
        dict(threshold=0.501, bound="gaussian"),
        dict(pfer=1e-8),
        dict(pfer=15.0),
        dict(pfer=15.0, bound="gaussian"),
        dict(bound="unimodal", pfer=0.1),
        dict(lambdas=2),
        dict(lambdas=[1e6, 1e5]),
    ],
    ids=str,
)
@pytest.mark.parametrize("N", [1, 20])
def test_entries_are_numbers_or_missing_at_the_ends_of_what_can_be_asked(asked, N):
    X, y = graded(M=60, N=20, effects=1)
    few_digits = dict(n_resamples=0, verbose=0, tol=0.01)
    found = StabilitySelection(**few_digits, **asked).fit(X[:, :N], y)
    entries = found.summary(full=True).enters_at_pfer
    assert (
        len(entries) == N and not (entries <= 0).any() and not np.isinf(entries).any()
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "asked, words",
    [
        (dict(q=11.0), r"needs q / p <= 1/2, got 11 / 20: lower q"),
        (dict(threshold=1.0), "a threshold below 1, which no normal field reaches"),
        (dict(threshold=0.5), r"threshold must lie in \(0.5, 1\], got 0.5"),
        (dict(pfer=1, resampling="poisson"), "half of them at most; drop pfer"),
    ],
    ids=str,
)
def test_what_the_normal_bound_cannot_promise_is_refused_with_a_remedy(asked, words):
    X, y = graded(M=60, N=20, effects=1)
    with pytest.raises(ValueError, match=words):
        StabilitySelection(bound="gaussian", n_resamples=0, **asked).fit(X, y)
