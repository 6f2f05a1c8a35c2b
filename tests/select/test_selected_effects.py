"""Effects of a fitted selector: the numbers of `debiased_effects` on the standardised
table, in the names and units of the user's; what is refused.
"""

import warnings
from dataclasses import replace
from string import ascii_letters, digits

import numpy as np
import pandas as pd
import pytest
from designs import at_most
from sklearn.exceptions import NotFittedError

from rvamp_nb import (
    Huber,
    Laplace,
    Logistic,
    NoResampling,
    PoissonLoss,
    StabilitySelection,
    Weakness,
    datasets,
    debiased_effects,
    rvamp,
)
from rvamp_nb.exceptions import ReliabilityWarning
from rvamp_nb.select.selection import fit_for_effects
from rvamp_nb.tables import ChunkedTable

LETTERS = [*ascii_letters, *digits]
COLUMNS = LETTERS[:10]


def table(seed=0, M=120, N=10, noise=1.0, n_effects=3):
    """A frame in units of its own, its target, and the effects per unit."""
    rng = np.random.default_rng([83, seed])
    X = pd.DataFrame(rng.normal(size=(M, N)), columns=LETTERS[:N])
    X = X * np.geomspace(0.01, 100, N) + 3
    effects = np.zeros(N)
    effects[:n_effects] = np.resize([0.9, -0.9, 0.8], n_effects)
    effects /= np.geomspace(0.01, 100, N)
    return X, X @ effects + noise * rng.normal(size=M), effects


def selector(X, y, roles=(), **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        options = dict(n_resamples=0, verbose=0) | options
        return StabilitySelection(**options).fit(X, y, **dict(roles))


def labels(y, seed=0):
    rng = np.random.default_rng([84, seed])
    return np.where(rng.logistic(size=len(y)) < y - y.mean(), "well", "ill")


@pytest.fixture(scope="module")
def squared():
    X, y, _ = table()
    return X, y, selector(X, y)


@pytest.fixture(scope="module")
def logistic():
    X, y, _ = table(1, M=240)
    classes = labels(2 * y)
    return X, classes, selector(X, classes)


def numbers(found):
    return np.array(found[:5], dtype=float)


def in_units(found, length):
    """Effects on columns of length 1 as effects per unit."""
    values = numbers(found)
    values[:4] /= length
    return values


def length_of(X):
    return np.linalg.norm((X - X.mean()).to_numpy(), axis=0)


# --- the same numbers -----------------------------------------------------------------
def test_effects_are_those_of_the_standardised_table(squared):
    X, y, s = squared
    A, centred = datasets.standardize(X, y)
    lam = fit_for_effects(s.question_).problem.prior.lam
    lasso = Laplace(lam)
    fit = rvamp(A, centred, prior=lasso, resampling=NoResampling())
    for level in (0.95, 0.8):
        by_hand = in_units(debiased_effects(fit, level), length_of(X))
        found = s.debiased_effects(X.columns, level)
        np.testing.assert_allclose(numbers(found), by_hand, rtol=1e-10)
        assert found.level == level and "odds_ratio" not in found.summary()
    assert [*found.names] == COLUMNS and (found.status == "interval").all()


def test_effects_of_two_classes_are_log_odds_of_the_second(logistic):
    X, classes, s = logistic
    A, _ = datasets.standardize(X)
    lam = fit_for_effects(s.question_).problem.prior.prior.lam
    model = dict(loss=Logistic(), intercept=True, resampling=NoResampling())
    model["prior"] = Laplace(lam)
    found = s.debiased_effects(X.columns)
    # the iteration of another layout of the same numbers ends within its tolerance
    for Z, rtol in ((s.question_.A, 1e-10), (A, 1e-4)):
        fit = rvamp(Z, (classes == "well") * 1.0, **model)
        by_hand = in_units(debiased_effects(fit), length_of(X))
        np.testing.assert_allclose(numbers(found), by_hand, rtol=rtol)
    shown = found.summary()
    odds = shown[["odds_ratio", "odds_low", "odds_high"]]
    logs = shown[["estimate", "ci_low", "ci_high"]]
    np.testing.assert_allclose(odds, np.exp(logs), rtol=1e-12)
    assert found.estimate[0] > 0 > found.estimate[1]


def test_the_penalty_predicts_rows_that_are_left_out():
    """Against fits without a row, each by itself, at the penalties of the walk."""
    X, y, _ = table(2, M=30, N=5)
    s = selector(X, y)
    best = fit_for_effects(s.question_).problem.prior.lam
    A, y = datasets.standardize(X.to_numpy(), y)
    model = dict(resampling=NoResampling(), tol=1e-4)
    errors = []
    lams = best * np.array([0.1, 0.5, 1, 2, 6, 30])
    for lam in lams:
        model["prior"] = Laplace(lam)
        off = []
        for row in range(30):
            rest = np.arange(30) != row
            fit = rvamp(A[rest], y[rest], **model)
            off.append(y[row] - A[row] @ fit.mean)
        errors.append(np.sum(np.square(off)))
    assert errors[2] < 1.03 * min(errors) and errors[-1] > 1.5 * errors[2]


def test_a_column_that_is_never_penalised_is_in_the_model():
    """Age moves y and the first feature, which would have its part without age."""
    X, y, effects = table(3, M=150, N=6)
    age = 50 + 10 * np.random.default_rng(3).normal(size=150)
    X["a"] += 0.01 * (age - 50) / 10
    y = X[COLUMNS[:6]] @ effects + 0.2 * age + np.random.default_rng(4).normal(size=150)
    X.insert(2, "age", age)
    s = selector(X, y, penalty_factor={"age": 0}, prior=Laplace(1.0, Weakness(0.5)))
    found = s.debiased_effects()
    assert "age" in found.names and "a" in found.names
    A, centred = datasets.standardize(X, y)
    factors = np.where(X.columns == "age", 0.0, 1.0)
    fitted = fit_for_effects(s.question_)
    # penalised columns are divided by the length of what age leaves of them
    unit = length_of(X)
    left = s.scale_ / unit
    prior = Laplace(fitted.problem.prior.lam, penalty_factor=factors * left)
    fit = rvamp(A, centred, prior=prior, resampling=NoResampling(), tol=1e-9)
    by_hand = in_units(debiased_effects(fit), unit)
    whole = s.debiased_effects(X.columns)
    np.testing.assert_allclose(numbers(whole)[:4], by_hand[:4], rtol=2e-4)
    Z = np.column_stack([np.ones(150), X])
    ols = np.linalg.lstsq(Z, y, rcond=None)[0][1:]
    assert np.all(np.abs(whole.estimate - ols) < 0.4 * whole.se)
    apart = np.linalg.lstsq(np.delete(Z, 3, axis=1), y, rcond=None)[0][1]
    assert abs(apart - effects[0]) > 4 * whole.se[0]
    assert abs(whole.estimate[0] - effects[0]) < 2.5 * whole.se[0]


def test_units_of_columns_and_of_the_target(squared):
    X, y, s = squared
    found = s.debiased_effects(X.columns)
    factors = np.where(np.arange(10) % 2, 1000.0, 1.0)
    other = selector(X * factors, 10 * y + 5).debiased_effects(X.columns)
    expected = numbers(found)
    expected[:4] *= 10 / factors
    np.testing.assert_allclose(numbers(other), expected, rtol=1e-4)


def test_zeros_are_inside_as_often_as_promised():
    """Of 420 zeros .95 ± .011 for independent ones: all within three of these."""
    inside, of_effects = [], []
    for seed in range(10):
        X, y, effects = table([7, seed], M=180, N=60, n_effects=18)
        found = selector(X, y, lambdas=[3.0]).debiased_effects(X.columns)
        assert (found.status == "interval").all()
        holds = (found.ci_low <= effects) & (effects <= found.ci_high)
        inside.extend(holds[18:])
        of_effects.extend(holds[:18])
    assert (len(inside), len(of_effects)) == (420, 180)
    assert abs(np.mean(inside) - 0.95) < 0.032
    assert abs(np.mean(of_effects) - 0.95) < 0.05  # of 180, three of .016


def test_effects_of_counts_are_log_rate_ratios():
    """A covariate that is never penalised is in the model as all others are."""
    X, y, _ = table(12, M=200, N=6)
    y = counts(y)
    for loss in ("poisson", PoissonLoss()):
        s = selector(X, y, loss=loss, penalty_factor={"c": 0})
        found = s.debiased_effects(X.columns)
        Z = np.column_stack([np.ones(200), (X - X.mean()) / X.std()])
        x = np.append(np.log(y.mean()), np.zeros(6))
        for _ in range(30):
            rate = np.exp(Z @ x)
            x = x + np.linalg.solve((Z.T * rate) @ Z, Z.T @ (y - rate))
        off = found.estimate - x[1:] / X.std().to_numpy()
        assert np.all(np.abs(off) < 0.02 * found.se)
        shown = found.summary()
        np.testing.assert_allclose(shown["rate_ratio"], np.exp(found.estimate))
        assert (shown["status"] == "interval").all()


# --- names and reasons ----------------------------------------------------------------
def test_features_are_chosen_by_name(squared):
    X, _, s = squared
    whole = s.debiased_effects(X.columns).summary()
    chosen = s.debiased_effects().summary()
    assert [*chosen.index] == [*s.get_feature_names_out()] == ["a", "b"]
    for asked in (["j", "b"], [9, 1], ["j", 1]):
        some = s.debiased_effects(asked).summary()
        pd.testing.assert_frame_equal(some, whole.loc[["j", "b"]])
    assert [*s.debiased_effects("e").names] == ["e"]
    with pytest.raises(ValueError, match="'glucose', which is no column of X"):
        s.debiased_effects("glucose")


def test_what_is_shown_says_that_it_is_after_selection(squared):
    _, _, s = squared
    found = s.debiased_effects()
    assert "2 of 2 with a 95 % interval" in repr(found)
    for text in (repr(found), found._repr_html_()):
        assert "selected falsely on the same rows a tenth hold, not .95" in text
    assert "same rows" not in repr(debiased_effects(s_fit()))


def s_fit():
    X, y, _ = table(5, M=40, N=4)
    A, y = datasets.standardize(X, y)
    return rvamp(A, y, prior=Laplace(1.0), resampling=NoResampling())


def test_where_there_is_no_interval_there_is_a_reason():
    X, y, _ = table(6, M=200, N=8)
    X["k"] = 7.0
    X["twin of d"] = -2 * X["d"]
    X["total"] = X["e"] / X["e"].std() + X["f"] / X["f"].std()
    X["age"] = np.random.default_rng(6).normal(size=200)
    X["birth"] = 2020 - X["age"]
    crowd = np.random.default_rng(8).normal(size=(200, 1))
    near = crowd + 0.3 * np.random.default_rng(9).normal(size=(200, 12))
    X[[f"near {i}" for i in range(12)]] = near
    s = selector(X, y, penalty_factor={"age": 0})
    with pytest.warns(ReliabilityWarning, match="e, f, total add up"):
        found = s.debiased_effects(X.columns).summary()
    none = found[found["status"] == "none"]
    assert none.drop(columns=["status", "reason"]).isna().all(axis=None)
    assert (found["reason"] == "").equals(found["status"] == "interval")
    words = dict(found["reason"])
    assert words["k"] == "constant" and words["birth"] == "explained by the covariates"
    assert words["d"] == "near copy of twin of d"
    assert words["twin of d"] == "near copy of d"
    assert (
        words["total"] == "adds up with e, f" and words["e"] == "adds up with f, total"
    )
    assert all("resembles" in words[f"near {i}"] for i in range(12))
    assert words["a"] == words["age"] == words["g"] == ""


def test_a_logistic_table_with_few_rows_has_p_values_only():
    X, y, _ = table(9, M=36, N=10)
    s = selector(X, labels(3 * y), q=2)
    with pytest.warns(ReliabilityWarning, match="no column has an interval"):
        found = s.debiased_effects(X.columns)
    only = found.status == "p-value only"
    assert only.sum() > 5 and np.array_equal(np.isfinite(found.p_value), only)
    assert all("too few rows" in found.reasons[i] for i in np.flatnonzero(only))
    assert np.isnan(found.estimate).all()


def test_nothing_selected_has_no_effects():
    rng = np.random.default_rng(10)
    X, y = rng.normal(size=(80, 6)), rng.normal(size=80)
    s = selector(X, y, threshold=0.99, q=0.3)
    assert not s.support_.any()
    found = s.debiased_effects()
    assert len(found.summary()) == 0 and "0 of 0" in repr(found)
    assert [*s.debiased_effects(range(6)).names] == [f"x{i}" for i in range(6)]


# --- what is refused ------------------------------------------------------------------
def counts(y):
    return np.random.default_rng(11).poisson(np.exp((y - y.mean()) / 3))


class Pinball(Huber):
    name = "pinball"


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(loss="huber"), "with huber: give loss='squared'"),
        (dict(loss=Pinball(1.0)), "with Pinball: .* a regression with it"),
    ],
)
def test_what_has_no_effects_is_refused_by_name(options, message):
    X, y, _ = table()
    s = selector(X, np.abs(y - y.mean()), **options)
    with pytest.raises(ValueError, match=f"no effects are known {message}"):
        s.debiased_effects()


def test_a_table_in_chunks_is_refused():
    X, y, _ = table()
    s = selector(ChunkedTable(X.to_numpy()), y)
    with pytest.raises(ValueError, match="with chunks: .* as an array"):
        s.debiased_effects()


def test_bad_arguments_and_fits_without_an_answer_are_refused(squared):
    X, y, s = squared
    for level in (0, 1, 95, np.nan):
        with pytest.raises(ValueError, match="level"):
            s.debiased_effects(level=level)
    with pytest.raises(NotFittedError):
        StabilitySelection().debiased_effects()
    with at_most(1):
        empty = selector(X, y, lambdas=[3.0])
    with pytest.raises(ValueError, match="nothing converged"):
        empty.debiased_effects()
    short = replace(s.selection_, question=replace(s.question_, max_iter=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="has not converged"):
            short.debiased_effects()


def test_strata_and_an_offset_of_the_squared_loss_are_no_obstacle(squared):
    X, y, s = squared
    offset = np.arange(120) / 10.0
    roles = dict(offset=offset, strata=np.arange(120) % 2)
    other = selector(X, y + offset, roles)
    found, plain = (one.debiased_effects(X.columns) for one in (other, s))
    np.testing.assert_allclose(numbers(found), numbers(plain), rtol=1e-6)
