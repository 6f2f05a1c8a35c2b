"""BaggedRegressor and BaggedClassifier among scikit-learn's own: its checks, copies,
grids, folds and displays; and a selector that predicts nothing.
"""

import pickle
import warnings
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibrationDisplay, calibration_curve
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.metrics import RocCurveDisplay, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rvamp_nb import BaggedClassifier, BaggedRegressor, StabilitySelection

NAMES = "linear_predictor", "predict", "predict_interval", "predict_proba"
RNG = np.random.default_rng(4)
X = RNG.normal(size=(90, 6))
F = X[:, 0] - X[:, 1]
Y = 2 + F + RNG.normal(size=90)
TWO = np.where(F + RNG.normal(size=90) > 0, "sick", "well")
THREE = np.digitize(F + RNG.normal(size=90), [-1, 1])
COUNTS = RNG.poisson(np.exp(F / 2))
TRIALS = np.full(90, 7)
LIVES = np.column_stack([RNG.random(90) < 0.8, RNG.exponential(np.exp(-F))])


def options(**more):
    return StabilitySelection(**dict(lambdas=[1.0], n_resamples=0, verbose=0) | more)


def known_to_fail(estimator):
    """A weight is no repetition (two rows are drawn one by one), and three classes have
    no weights.
    """
    name = "check_sample_weight_equivalence_on_{}_data"
    failed = {name.format(x): "a weight is no repetition" for x in ("dense", "sparse")}
    if is_classifier(estimator):
        failed["check_sample_weights_list"] = "of three classes, which have no weights"
    return failed


@parametrize_with_checks(
    [BaggedRegressor(options(lambdas=[0.5])), BaggedClassifier(options(lambdas=[0.5]))],
    expected_failed_checks=known_to_fail,
)
def test_scikit_learns_own_checks(estimator, check):
    if check.func.__name__ == "check_array_api_input":
        return  # about arrays of other libraries
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tiny data
        check(estimator)


# What is what -------------------------------------------------------------------------


def test_one_is_a_regressor_and_one_a_classifier():
    assert is_regressor(BaggedRegressor()) and not is_classifier(BaggedRegressor())
    assert is_classifier(BaggedClassifier()) and not is_regressor(BaggedClassifier())
    assert not hasattr(BaggedRegressor(), "predict_proba")
    assert not hasattr(BaggedClassifier(), "predict_interval")


@pytest.mark.parametrize("kind", [BaggedRegressor, BaggedClassifier])
def test_options_of_the_default_selector_are_reached(kind):
    """A grid search over selector__q failed: None has no options."""
    bag = clone(kind()).set_params(selector__q=3, selector__n_resamples=0)
    assert bag.selector.q == 3 and bag.selector.n_resamples == 0
    assert kind().selector is None  # nobody else's
    given = StabilitySelection(q=2)
    assert kind().set_params(selector=given, selector__pfer=2.0).selector is given
    with pytest.raises(ValueError, match="Invalid parameter 'p' for estimator Stab"):
        kind().set_params(selector__p=3)
    assert kind().set_params().selector is None


def test_a_grid_search_over_the_default_selector():
    grid = dict(selector__q=[2, 5], selector__n_resamples=[0], selector__verbose=[0])
    search = GridSearchCV(BaggedRegressor(), grid, cv=3).fit(X, Y)
    given = BaggedRegressor(StabilitySelection())
    again = GridSearchCV(given, grid, cv=3).fit(X, Y)
    assert search.best_params_ == again.best_params_
    assert search.best_score_ == again.best_score_


@pytest.mark.parametrize("name", NAMES)
def test_a_selector_only_selects(name):
    selector = options().fit(X, Y)
    assert not is_regressor(selector) and not is_classifier(selector)
    kind = BaggedClassifier if name == "predict_proba" else BaggedRegressor
    assert hasattr(kind, name)
    for s in (selector, options(loss="logistic")):
        assert not hasattr(s, name) and not hasattr(s, "score")
        said = rf"write {kind.__name__}\(selector\)\.{name}\(X"
        with pytest.raises(AttributeError, match=said):
            getattr(s, name)
    with pytest.raises(AttributeError, match="no attribute 'coef_'$"):
        selector.coef_


# A selector that is fitted, or not ----------------------------------------------------


def test_a_fitted_selector_predicts_at_once_and_is_not_refitted():
    selector = options().fit(X, Y)
    kept = dict(vars(selector))
    bag = BaggedRegressor(selector)
    with patch.object(StabilitySelection, "fit", side_effect=AssertionError):
        by_hand = X @ selector.coef_mean_ + selector.intercept_
        np.testing.assert_array_equal(bag.predict(X), by_hand)
    bag.fit(2 * X, -Y)
    assert vars(selector) == kept and bag.selector is selector
    other = options().fit(2 * X, -Y)
    np.testing.assert_array_equal(bag.predict(X), BaggedRegressor(other).predict(X))
    with pytest.raises(NotFittedError):
        clone(BaggedRegressor(selector)).predict(X)


@pytest.mark.parametrize("kind, y", [(BaggedRegressor, Y), (BaggedClassifier, TWO)])
def test_a_selector_that_is_not_fitted_is_copied(kind, y):
    selector = options()
    bag = kind(selector)
    for name in ("selector_", "classes_", "n_features_in_"):
        assert not hasattr(bag, name)
    before = selector.get_params()
    assert bag.fit(X, y) is bag and not hasattr(selector, "selection_")
    assert selector.get_params() == before and bag.selector_ is not selector
    assert bag.n_features_in_ == 6 and not hasattr(bag, "feature_names_in_")
    frame = pd.DataFrame(X, columns=list("abcdef"))
    assert list(bag.fit(frame, y).feature_names_in_) == list("abcdef")
    again = pickle.loads(pickle.dumps(bag))
    np.testing.assert_array_equal(again.predict(frame), bag.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        bag.predict(frame.rename(columns=dict(a="z")))


def test_a_fit_that_is_refused_leaves_nothing():
    bag = BaggedRegressor(options()).fit(X, Y)
    with pytest.raises(ValueError, match="constant"):
        bag.fit(X, np.ones(90))
    with pytest.raises(NotFittedError):
        bag.predict(X)


def test_the_default_is_a_selector_with_its_defaults():
    with patch.object(StabilitySelection, "fit", side_effect=KeyError) as fit:
        for kind, y in ((BaggedRegressor, Y), (BaggedClassifier, TWO)):
            with pytest.raises(KeyError):
                kind().fit(X, y)
    assert fit.call_count == 2


# What "auto" means --------------------------------------------------------------------


def test_numbers_are_numbers_and_classes_are_classes():
    """A selector takes two whole numbers for classes, and three for amounts."""
    zero_one = (Y > 2).astype(int)
    bag = BaggedRegressor(options()).fit(X, zero_one)
    assert bag.selector_.loss_ == "squared" and len(set(bag.predict(X))) == 90
    for y, loss in ((zero_one, "logistic"), (THREE, "softmax")):
        bag = BaggedClassifier(options()).fit(X, y)
        assert bag.selector_.loss_ == loss and set(bag.predict(X)) <= set(y)
        P = bag.predict_proba(X)
        assert P.shape == (90, len(bag.classes_))
        np.testing.assert_allclose(P.sum(1), 1)
    huber = BaggedRegressor(options(loss="huber")).fit(X, Y)
    assert huber.selector_.loss_ == "huber"


@pytest.mark.filterwarnings("ignore:do not trust")  # the table is small
@pytest.mark.parametrize(
    "y, loss, role, values",
    [
        (Y, "auto", "groups", np.arange(90) // 2),
        (Y, "auto", "strata", np.arange(90) % 3),
        (Y, "auto", "sample_weight", 1.0 + np.arange(90) % 3),
        (COUNTS, "poisson", "offset", np.linspace(-1, 1, 90)),
        (COUNTS.clip(0, 7), "auto", "n_trials", TRIALS),
        (LIVES, "survival", "strata", np.arange(90) % 2),
        (TWO, "auto", "groups", np.arange(90) // 2),
        (TWO, "auto", "strata", TWO),
        (TWO, "auto", "sample_weight", 1.0 + np.arange(90) % 3),
        (TWO, "auto", "offset", np.linspace(-1, 1, 90)),
    ],
)
def test_what_is_known_of_rows_goes_to_the_selector(y, loss, role, values):
    kind = BaggedClassifier if y is TWO else BaggedRegressor
    fit = StabilitySelection.fit
    with patch.object(StabilitySelection, "fit", autospec=True, side_effect=fit) as spy:
        bag = kind(options(loss=loss)).fit(X, y, **{role: values})
    roles = spy.call_args.kwargs
    assert roles[role] is values
    assert all(v is None for name, v in roles.items() if name != role)
    alone = options(loss=loss).fit(X, y, **{role: values})
    np.testing.assert_array_equal(bag.predict(X), kind(alone).predict(X))


# Scores -------------------------------------------------------------------------------


def test_scores_are_what_they_are_called():
    weight = 1.0 + np.arange(90) % 3
    bag = BaggedRegressor(options()).fit(X, Y)
    away = np.average((Y - bag.predict(X)) ** 2, weights=weight)
    spread = np.average((Y - np.average(Y, weights=weight)) ** 2, weights=weight)
    assert bag.score(X, Y, weight) == pytest.approx(1 - away / spread)

    counts = BaggedRegressor(options(loss="poisson")).fit(X, COUNTS)

    def deviance(mu):
        ratio = np.where(COUNTS > 0, COUNTS / mu, 1.0)
        return np.sum(COUNTS * np.log(ratio) - COUNTS + mu)

    explained = 1 - deviance(counts.predict(X)) / deviance(COUNTS.mean())
    assert counts.score(X, COUNTS) == pytest.approx(explained)

    classes = BaggedClassifier(options()).fit(X, TWO)
    assert classes.score(X, TWO) == np.mean(classes.predict(X) == TWO)
    lives = BaggedRegressor(options(loss="survival"))
    assert not hasattr(lives, "score")
    assert not hasattr(lives.fit(X, LIVES), "score")
    assert np.corrcoef(lives.predict(X), F)[0, 1] > 0.9


@pytest.mark.parametrize(
    "kind, y, folds",
    [(BaggedRegressor, Y, KFold(3)), (BaggedClassifier, TWO, StratifiedKFold(3))],
)
def test_folds_are_those_of_a_loop(kind, y, folds):
    weight = 1.0 + np.arange(90) % 3
    bag = kind(options().fit(X, y))  # copies of a fitted one are not fitted
    scores = cross_val_score(bag, X, y, cv=3, params=dict(sample_weight=weight))
    by_hand = []
    for train, test in folds.split(X, y):
        alone = options().fit(X[train], y[train], sample_weight=weight[train])
        by_hand.append(kind(alone).score(X[test], y[test]))
    np.testing.assert_array_equal(scores, by_hand)
    assert len(set(by_hand)) > 1


@pytest.mark.filterwarnings("ignore::UserWarning")  # of the smaller q
def test_a_grid_reaches_the_options():
    bag = BaggedRegressor(StabilitySelection(n_resamples=0, verbose=0))
    grid = GridSearchCV(bag, {"selector__q": [1.0, 3.0]}, cv=3).fit(X, Y)
    assert grid.best_params_ == {"selector__q": 3.0}
    assert grid.best_estimator_.selector_.q_ == 3.0 and bag.selector.q is None
    one, two = grid.cv_results_["mean_test_score"]
    assert two > one + 0.05


def test_displays_take_the_classifier():
    bag = BaggedClassifier(options(lambdas=[0.5])).fit(X, TWO)
    yes = bag.predict_proba(X)[:, 1]
    shown = CalibrationDisplay.from_estimator(bag, X, TWO, n_bins=3)
    expected = calibration_curve(TWO == "well", yes, n_bins=3)
    np.testing.assert_array_equal([shown.prob_true, shown.prob_pred], expected)
    curve = RocCurveDisplay.from_estimator(bag, X, TWO)
    assert np.ravel(curve.roc_auc)[0] == roc_auc_score(TWO, yes)


def test_they_end_a_pipeline_and_the_selector_is_inside_one():
    bag = BaggedRegressor(options())
    scaled = make_pipeline(StandardScaler(), bag).fit(X, Y)
    np.testing.assert_allclose(scaled.predict(X), bag.fit(X, Y).predict(X))
    inside = make_pipeline(options(), LinearRegression()).fit(X, Y)
    assert inside.score(X, Y) > 0.4


# Bad input ----------------------------------------------------------------------------


def few(loss="auto", y=Y, **roles):
    return options(loss=loss).fit(X, y, **roles)


REFUSED = {
    "classes in a regressor": (
        lambda: BaggedRegressor(few(y=TWO)).predict(X),
        r"loss='logistic': BaggedClassifier predicts classes; or give loss='squared'",
    ),
    "a fit of classes": (
        lambda: BaggedRegressor(options(loss="softmax")).fit(X, THREE),
        "loss='softmax': BaggedClassifier",
    ),
    "numbers in a classifier": (
        lambda: BaggedClassifier(few()).predict_proba(X),
        "BaggedClassifier: selector was fitted with loss='squared': BaggedRegressor",
    ),
    "a fit of numbers": (
        lambda: BaggedClassifier(options(loss="poisson")).fit(X, COUNTS),
        "loss='poisson': BaggedRegressor predicts numbers",
    ),
    "shares in a classifier": (
        lambda: BaggedClassifier(few(y=COUNTS.clip(0, 7), n_trials=TRIALS)).predict(X),
        "BaggedRegressor predicts numbers",
    ),
    "amounts as classes": (lambda: BaggedClassifier(options()).fit(X, Y), "Unknown"),
    "text as numbers": (lambda: BaggedRegressor(options()).fit(X, TWO), "text"),
}


@pytest.mark.filterwarnings("ignore:do not trust")
@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_go_together_is_refused(what):
    call, words = REFUSED[what]
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("selector", [LinearRegression(), make_pipeline(options())])
def test_only_a_selector_is_one(selector):
    with pytest.raises(TypeError, match="selector must be a StabilitySelection, got "):
        BaggedRegressor(selector).fit(X, Y)
    with pytest.raises(NotFittedError):
        BaggedRegressor(selector).predict(X)
