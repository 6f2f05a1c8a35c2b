"""StabilitySelection among scikit-learn's own: its checks, pipelines, data frames,
labels, copies, pictures.
"""

import pickle
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from designs import at_most
from predictor import predictor
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rvamp_nb import Laplace, StabilitySelection, datasets
from rvamp_nb.algorithm.resampling import Poisson, Subsample, TwoPoint, Weakness
from rvamp_nb.exceptions import ConvergenceWarning, ReliabilityWarning
from rvamp_nb.select import report, wording
from rvamp_nb.select.error_control import pfer_bound

ROOT = Path(__file__).resolve().parents[2]


def one_that_asks_something_else(estimator):
    """A weight of two is a row that counts twice when it is drawn; two rows are drawn
    one by one, so that the distribution over resamples differs, and should.
    """
    name = "check_sample_weight_equivalence_on_{}_data"
    return {name.format(x): "a weight is no repetition" for x in ("dense", "sparse")}


@parametrize_with_checks(
    [StabilitySelection(n_resamples=0, lambdas=[0.5])],
    expected_failed_checks=one_that_asks_something_else,
)
def test_scikit_learns_own_checks(estimator, check):
    """All of them but that, at one penalty, and the general one with a search for it.
    (check_array_api_input is about arrays of other libraries and needs SCIPY_ARRAY_API
    set.)
    """
    if check.func.__name__ == "check_array_api_input":
        return
    if check.func.__name__ == "check_transformer_general":
        estimator = StabilitySelection(n_resamples=0, lambdas=3)
    with warnings.catch_warnings():
        # tiny data: the light is red, and rightly so
        warnings.simplefilter("ignore", UserWarning)
        check(estimator)


def data(M=80, N=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(M, N)) * np.geomspace(0.1, 10, N) + np.arange(N)
    y = (
        3
        + 2 * (X[:, 0] - X[:, 0].mean()) / X[:, 0].std()
        - (X[:, 4] - X[:, 4].mean()) / X[:, 4].std()
        + rng.normal(size=M)
    )
    return X, y


X, Y = data()
QUICK = dict(lambdas=6, n_resamples=0)
SHORT = dict(
    lambdas=[4.0, 2.0, 1.0], n_resamples=0
)  # where 1, 2 and 4 of X's columns are selected
OF_CLASSES = dict(lambdas=[0.6, 0.25], n_resamples=0)


@pytest.fixture(scope="module")
def plain():
    return StabilitySelection(**QUICK).fit(X, Y)


@pytest.fixture(scope="module")
def short():
    return StabilitySelection(**SHORT).fit(X, Y)


# What is reported ---------------------------------------------------------------------


def test_shapes_and_ranges(plain):
    N, L = 12, 6
    assert (
        plain.selection_probabilities_.shape == (N, L)
        and plain.lambdas_.shape
        == plain.expected_selected_.shape
        == plain.converged_.shape
        == (L,)
    )
    assert (
        (np.diff(plain.lambdas_) < 0).all()
        and plain.converged_.all()
        and plain.n_iter_ >= L
    )
    for name in ("probabilities_", "support_", "coef_mean_", "coef_std_"):
        assert getattr(plain, name).shape == (N,)
    assert (
        (plain.selection_probabilities_ >= 0) & (plain.selection_probabilities_ <= 1)
    ).all() and (plain.coef_std_ >= 0).all()
    np.testing.assert_allclose(
        plain.expected_selected_, plain.selection_probabilities_.sum(0)
    )
    assert plain.support_.dtype == bool and list(np.flatnonzero(plain.support_)) == [
        0,
        4,
    ]
    assert (
        plain.lambdas_[-1] < plain.lambda_ < plain.lambdas_[0]
        and plain.loss_ == "squared"
        and plain.classes_ is None
    )


def test_the_reported_penalty_is_where_q_are_selected():
    for options in (
        {},
        dict(q=1),
        dict(q=3.5),
        dict(threshold=0.9, pfer=0.5),
        dict(pfer=2, q=4, bound="unimodal"),
        dict(resampling="poisson", q=2),
    ):
        s = StabilitySelection(n_resamples=0, lambdas=4, **options).fit(X, Y)
        assert 0.99 * s.q_ <= s.probabilities_.sum() <= s.q_ * (1 + 1e-9)
        np.testing.assert_array_equal(s.support_, s.probabilities_ >= s.threshold_)
        if "resampling" not in options:
            assert 0.98 * s.pfer_ <= s.pfer_bound_ <= s.pfer_ * (1 + 1e-9)


def test_the_largest_probability_need_not_be_at_the_end_of_the_path():
    rng = np.random.default_rng(3)
    A = rng.normal(size=(150, 6))
    # comes in first, and goes when both of its parts are in
    A[:, 0] = A[:, 1] + A[:, 2] + 0.8 * rng.normal(size=150)
    y = A[:, 1] + A[:, 2] + 0.3 * rng.normal(size=150)
    top = StabilitySelection(n_resamples=0, lambdas=2).fit(A, y).lambdas_[0]
    path = np.geomspace(top, 0.01 * top, 20)
    s = StabilitySelection(n_resamples=0, lambdas=path).fit(A, y)
    along = s.selection_probabilities_[0]
    assert along.max() > along[-1] + 0.05


def test_probabilities_of_classes_are_averaged_over_resamples():
    with pytest.warns(ReliabilityWarning):
        s = StabilitySelection(q=2, **OF_CLASSES).fit(
            X, np.where(Y > 0, "sick", "well")
        )
    mean, std = predictor(s).linear_predictor(X[:5], return_std=True)
    averaged = [
        quad(lambda z: expit(m + d * z) * norm.pdf(z), -9, 9)[0]
        for m, d in zip(mean, std)
    ]
    np.testing.assert_allclose(
        predictor(s).predict_proba(X[:5])[:, 1], averaged, atol=1e-8
    )
    # which is not the probability at the average
    assert np.abs(averaged - expit(mean)).max() > 1e-4


@pytest.mark.parametrize("refits", [0, 20])
def test_a_probability_equal_to_the_threshold_is_enough(refits):
    at = dict(q=1, lambdas=[6.0, 4.5], n_resamples=refits)
    first = StabilitySelection(threshold=0.75, **at).fit(X, Y)
    i = np.argmax(np.where(first.probabilities_ < 1, first.probabilities_, 0))
    edge = first.probabilities_[i]
    assert 0.5 < edge < 1
    for threshold, enough in ((edge, True), (edge + 1e-12, False)):
        s = StabilitySelection(threshold=threshold, **at).fit(X, Y)
        assert s.support_[i] == enough


def test_one_penalty_is_a_path_too():
    whole = StabilitySelection(q=2, tol=1e-6, **SHORT).fit(X, Y)
    at = dict(n_resamples=0, tol=1e-6, lambdas=[whole.lambda_])
    one = StabilitySelection(q=2, **at).fit(X, Y)
    np.testing.assert_allclose(one.probabilities_, whole.probabilities_, atol=1e-5)
    # what is reported is a step further than the path
    np.testing.assert_allclose(
        one.selection_probabilities_[:, 0], one.probabilities_, atol=1e-6
    )


def test_a_grid_that_selects_too_many_says_so():
    with pytest.warns(UserWarning, match="add larger lambdas"):
        s = StabilitySelection(n_resamples=0, q=1, lambdas=[0.5, 0.4]).fit(X, Y)
    assert s.lambda_ == 0.5 and s.probabilities_.sum() > 1 and s.pfer_bound_ > s.pfer_


def test_a_grid_that_selects_too_few_reports_its_end():
    with (
        pytest.warns(ReliabilityWarning),
        pytest.warns(UserWarning, match="add smaller"),
    ):
        s = StabilitySelection(n_resamples=0, q=5, lambdas=[1e4, 1e3]).fit(X, Y)
    assert s.lambda_ == 1e3 and not s.support_.any() and s.pfer_bound_ < s.pfer_
    assert (
        s.status_.startswith("q not met: 0 selected")
        and s.diagnostics_.reliability != "green"
    )


def test_coefficients_are_on_the_scale_of_the_table(plain, short):
    moved = StabilitySelection(**SHORT).fit(100 * X - 7, Y)
    np.testing.assert_allclose(moved.probabilities_, short.probabilities_, atol=1e-6)
    np.testing.assert_allclose(
        moved.coef_mean_ * 100, short.coef_mean_, rtol=1e-5, atol=1e-8
    )
    np.testing.assert_allclose(
        moved.coef_std_ * 100, short.coef_std_, rtol=1e-5, atol=1e-8
    )
    np.testing.assert_allclose(
        predictor(moved).predict(100 * X - 7), predictor(short).predict(X), atol=1e-6
    )
    scaled = StabilitySelection(**QUICK).fit(X, 50 * Y + 3)
    np.testing.assert_allclose(
        predictor(scaled).predict(X), 50 * predictor(plain).predict(X) + 3, rtol=1e-5
    )


def test_the_mean_prediction_is_that_of_the_mean_coefficients(plain):
    mean, std = predictor(plain).predict(X, return_std=True)
    np.testing.assert_allclose(mean, X @ plain.coef_mean_ + plain.intercept_)
    np.testing.assert_allclose(mean.mean(), Y.mean())  # centred once
    assert std.shape == (80,) and (std > 0).all()
    # in chunks
    np.testing.assert_allclose(
        predictor(plain).predict(np.tile(X, (8, 1)), return_std=True)[1],
        np.tile(std, 8),
        rtol=1e-10,
    )


def test_a_bagged_prediction_has_the_variance_of_refits(plain):
    A, y = plain.question_.A, plain.question_.target.y
    from rvamp_nb import naive_bootstrap

    draws = naive_bootstrap(
        A,
        y,
        prior=plain.question_.prior.scaled(plain.lambda_),
        resampling=Subsample(0.5),
        n_resamples=600,
        keep=np.arange(12),
        verbose=False,
    ).draws
    by_refits = (draws @ A[:20].T).std(0)
    ratio = predictor(plain).predict(X[:20], return_std=True)[1] / by_refits
    # above 1: half of 80 rows exactly is a little less random than each with
    # probability 1/2
    assert 0.95 < ratio.mean() < 1.2 and 0.85 < ratio.min() and ratio.max() < 1.4
    np.testing.assert_allclose(
        plain.coef_std_ * plain.scale_,
        draws.std(0),
        rtol=0.2,
        atol=0.02 * draws.std(0).max(),
    )


# Tables and targets of every kind -----------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        "float32",
        "fortran",
        "list",
        "frame",
        "object",
        "strided",
        "read-only",
        "y list",
        "y series",
        "y object",
        "y float32",
        "y column",
    ],
)
def test_the_answer_does_not_depend_on_the_container(short, kind):
    A, y = X.copy(), Y.copy()
    if kind == "float32":
        A = A.astype(np.float32)
    if kind == "fortran":
        A = np.asfortranarray(A)
    if kind == "list":
        A = A.tolist()
    if kind == "frame":
        A = pd.DataFrame(A)
    if kind == "object":
        A = A.astype(object)
    if kind == "strided":
        A = np.repeat(A, 2, axis=1)[:, ::2]
    if kind == "read-only":
        A.flags.writeable = y.flags.writeable = False
    if kind == "y list":
        y = y.tolist()
    if kind == "y series":
        y = pd.Series(y, index=np.arange(80)[::-1])
    if kind == "y object":
        y = y.astype(object)
    if kind == "y float32":
        y = y.astype(np.float32)
    if kind == "y column":
        with pytest.warns(UserWarning, match="column-vector"):
            s = StabilitySelection(**SHORT).fit(A, y[:, None])
    else:
        s = StabilitySelection(**SHORT).fit(A, y)
    np.testing.assert_allclose(
        s.probabilities_, short.probabilities_, atol=2e-4 if "32" in kind else 1e-9
    )


def test_integers():
    rng = np.random.default_rng(3)
    A = rng.integers(-5, 6, size=(60, 8))
    y = 2 * A[:, 0] - A[:, 3] + rng.integers(-3, 4, size=60)
    whole, real = (
        StabilitySelection(n_resamples=0, lambdas=4).fit(a, b)
        for a, b in ((A, y), (A.astype(float), y.astype(float)))
    )
    assert whole.loss_ == "squared" and list(np.flatnonzero(whole.support_)) == [0, 3]
    np.testing.assert_array_equal(whole.probabilities_, real.probabilities_)


def test_input_is_not_modified():
    A, y = X.copy(), Y.copy()
    StabilitySelection(**SHORT).fit(A, y)
    assert np.array_equal(A, X) and np.array_equal(y, Y)


def test_names_come_from_the_frame():
    frame = pd.DataFrame(X, columns=[f"gene {i}" for i in range(12)])
    s = StabilitySelection(**SHORT).set_output(transform="pandas").fit(frame, Y)
    assert list(s.feature_names_in_) == list(frame.columns) and list(
        s.get_feature_names_out()
    ) == ["gene 0", "gene 4"]
    assert list(s.transform(frame).columns) == ["gene 0", "gene 4"] and list(
        s.get_support(indices=True)
    ) == [0, 4]
    assert s.summary().index.name == "feature" and list(s.summary().index[:2]) == [
        "gene 0",
        "gene 4",
    ]
    with pytest.raises(ValueError, match="feature names"):
        predictor(s).predict(frame.rename(columns={"gene 0": "gene x"}))


LABELS = [
    ("text", np.array(["sick", "well"])),
    ("objects", np.array(["sick", "well"], dtype=object)),
    ("truth values", np.array([False, True])),
    ("-1 and 1", np.array([-1, 1])),
    ("1 and 2", np.array([1.0, 2.0])),
]


@pytest.fixture(scope="module")
def binary():
    above = (X[:, 0] > np.median(X[:, 0])) ^ (np.random.default_rng(1).random(80) < 0.1)
    return above.astype(int), StabilitySelection(**OF_CLASSES).fit(X, above.astype(int))


@pytest.mark.parametrize(
    "names", [labels for _, labels in LABELS], ids=[name for name, _ in LABELS]
)
def test_labels_of_any_kind(binary, names):
    codes, reference = binary
    s = StabilitySelection(**OF_CLASSES).fit(X, names[codes])
    assert s.loss_ == "logistic" and list(s.classes_) == list(names)
    np.testing.assert_allclose(s.probabilities_, reference.probabilities_, atol=1e-9)
    assert (
        set(predictor(s).predict(X)) <= set(names)
        and (predictor(s).predict(X) == names[codes]).mean() > 0.8
    )
    P = predictor(s).predict_proba(X)
    assert (
        P.shape == (80, 2)
        and np.allclose(P.sum(1), 1)
        and ((P[:, 1] > 0.5) == (predictor(s).predict(X) == names[1])).all()
    )
    pd.testing.assert_series_equal(
        pd.Series(predictor(s).predict(pd.DataFrame(X).to_numpy())),
        pd.Series(predictor(s).predict(X)),
    )


def test_a_series_of_strings(binary):
    codes, reference = binary
    s = StabilitySelection(**OF_CLASSES).fit(X, pd.Series(np.array(["a", "b"])[codes]))
    np.testing.assert_allclose(s.probabilities_, reference.probabilities_, atol=1e-9)


def test_swapping_the_classes_turns_the_signs(binary):
    codes, reference = binary
    s = StabilitySelection(**OF_CLASSES).fit(X, 1 - codes)
    np.testing.assert_allclose(s.probabilities_, reference.probabilities_, atol=1e-5)
    np.testing.assert_allclose(s.coef_mean_, -reference.coef_mean_, atol=1e-5)
    np.testing.assert_allclose(s.intercept_, -reference.intercept_, atol=1e-4)


def test_two_real_values_are_not_two_classes():
    one = dict(lambdas=[0.5])
    real = StabilitySelection(**one).fit(X, np.where(Y > 3, 0.5, 1.7))
    told = StabilitySelection(**one, loss="squared").fit(X, (Y > 3).astype(int))
    assert real.loss_ == told.loss_ == "squared"


def test_counts():
    rng = np.random.default_rng(5)
    A = rng.normal(size=(150, 10))
    y = rng.poisson(np.exp(0.5 + 0.6 * A[:, 0] - 0.5 * A[:, 1]))
    s = StabilitySelection(n_resamples=0, loss="poisson", lambdas=4).fit(A, y)
    assert list(np.flatnonzero(s.support_)) == [0, 1]
    mean, std = predictor(s).predict(A, return_std=True)
    np.testing.assert_allclose(mean, predictor(s).predict(A))
    assert (
        (mean > 0).all() and (std > 0).all() and abs(mean.mean() / y.mean() - 1) < 0.1
    )


def test_a_constant_column_is_never_selected_and_warned_of_once():
    A = X.copy()
    A[:, 3] = 7.0
    frame = pd.DataFrame(A, columns=[f"c{i}" for i in range(12)])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        s = StabilitySelection(**SHORT).fit(frame, Y)
    assert [str(w.message) for w in seen] == ["constant columns are left out: c3"]
    assert (
        (s.selection_probabilities_[3] == 0).all()
        and s.probabilities_[3] == s.coef_mean_[3] == s.coef_std_[3] == 0
        and not s.support_[3]
    )
    without = StabilitySelection(**SHORT).fit(np.delete(A, 3, axis=1), Y)
    # it does not count as a candidate either
    np.testing.assert_allclose(
        np.delete(s.probabilities_, 3), without.probabilities_, atol=1e-9
    )


def test_exact_duplicates_share_their_probability(short):
    A = np.column_stack([X, X[:, 0], -2 * X[:, 0] + 1])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        s = StabilitySelection(**SHORT).fit(A, Y)
    assert [str(w.message) for w in seen] == [
        "columns x0, x12, x13 are the same up to sign and the last digits: taken as"
        " one, each is given its probability"
    ]
    # the Lasso with copies is the Lasso without
    np.testing.assert_allclose(
        s.probabilities_, short.probabilities_[[*range(12), 0, 0]], atol=1e-6
    )
    np.testing.assert_allclose(
        predictor(s).predict(A), predictor(short).predict(X), atol=1e-5
    )
    np.testing.assert_allclose(
        predictor(s).predict(A, return_std=True)[1],
        predictor(short).predict(X, return_std=True)[1],
        rtol=1e-4,
    )
    np.testing.assert_allclose(s.coef_mean_[[12, 13]] / s.coef_mean_[0], [1, -0.5])
    assert (
        [list(g) for g in s.diagnostics_.duplicates] == [[0, 12, 13]]
        and s.diagnostics_.reliability == "amber"
        and s.summary(full=True).loc["x0", "duplicates"] == "x12, x13"
    )
    r = s.refine(None, 20, verbose=False)
    assert r.Pi.shape == (14,) and r.Pi[0] == r.Pi[12] == r.Pi[13]
    assert r.draws.shape == (20, 14)
    np.testing.assert_allclose(r.draws[:, 13], -0.5 * r.draws[:, 0])


def test_equal_columns_with_different_penalties_stay_apart():
    A = np.column_stack([X, X[:, 0]])
    s = StabilitySelection(**SHORT, penalty_factor=np.r_[np.ones(12), 2]).fit(A, Y)
    assert (
        s.probabilities_[0] > 0.99
        and s.probabilities_[12] < 0.01
        and s.diagnostics_.duplicates == []
    )


# Options ------------------------------------------------------------------------------


def test_a_column_that_must_stay():
    frame = pd.DataFrame(X, columns=list("abcdefghijkl"))
    by_name, by_place = (
        StabilitySelection(q=2, penalty_factor=f, **SHORT).fit(frame, Y)
        for f in ({"l": 0}, np.r_[np.ones(11), 0])
    )
    np.testing.assert_array_equal(by_name.probabilities_, by_place.probabilities_)
    assert (
        by_name.support_[11]
        and by_name.probabilities_[11] == 1
        and abs(np.delete(by_name.probabilities_, 11).sum() - 2) < 0.03
    )
    np.testing.assert_allclose(
        by_name.expected_selected_,
        np.delete(by_name.selection_probabilities_, 11, axis=0).sum(0),
    )
    heavier = StabilitySelection(
        n_resamples=0, lambdas=[by_name.lambda_], q=2, penalty_factor={"l": 0, "a": 1.5}
    ).fit(frame, Y)
    assert heavier.probabilities_[0] < by_name.probabilities_[0]


def test_laws():
    for options in (
        dict(resampling="poisson"),
        dict(resampling=Poisson(0.7)),
        dict(resampling=Subsample(0.8)),
        dict(prior=Laplace(1.0, TwoPoint(2, 0.5))),
        dict(prior=Laplace(1.0, Weakness(0.5))),
    ):
        s = StabilitySelection(q=2, **SHORT, **options).fit(X, Y)
        assert list(np.flatnonzero(s.support_)) == [0, 4] and np.isnan(
            s.pfer_bound_
        ) == ("resampling" in options)


def test_a_fit_prints_nothing(capfd):
    StabilitySelection(**SHORT).fit(X, Y)
    assert capfd.readouterr() == ("", "")


def test_not_converging_is_said():
    with (
        pytest.warns(ConvergenceWarning),
        pytest.warns(ReliabilityWarning, match="not converged"),
    ):
        with at_most(2):
            s = StabilitySelection(n_resamples=0, lambdas=4).fit(X, Y)
    assert (
        not s.converged_.any()
        and s.diagnostics_.reliability == "red"
        and not s.summary().attrs["converged"]
    )


# Composition --------------------------------------------------------------------------


def test_in_a_pipeline_and_a_grid_search():
    pipe = make_pipeline(
        StandardScaler(), StabilitySelection(**SHORT), LinearRegression()
    )
    search = GridSearchCV(
        pipe,
        [
            {"stabilityselection__q": [1.5, 2.5]},
            {"stabilityselection__threshold": [0.6]},
        ],
        cv=2,
        error_score="raise",
    ).fit(X, Y)
    assert search.best_score_ > 0.5 and search.best_estimator_[1].support_[0]


def test_clones_and_pickles(plain):
    again = clone(plain)
    assert not hasattr(again, "support_") and again.get_params() == plain.get_params()
    copy = pickle.loads(pickle.dumps(plain))
    np.testing.assert_array_equal(copy.probabilities_, plain.probabilities_)
    np.testing.assert_array_equal(
        predictor(copy).predict(X, return_std=True)[1],
        predictor(plain).predict(X, return_std=True)[1],
    )
    one, other = (s.refine(None, 20, verbose=False) for s in (copy, plain))
    np.testing.assert_array_equal(one.Pi, other.Pi)
    np.testing.assert_array_equal(one.draws, other.draws)


def test_fitting_twice_is_fitting_once(short):
    again = StabilitySelection(**SHORT).fit(X[:40], Y[:40]).fit(X, Y)
    np.testing.assert_array_equal(again.probabilities_, short.probabilities_)


# Pictures, table, time ----------------------------------------------------------------


def test_pictures(plain):
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    named = lambda ax: {text.get_text() for text in ax.texts}
    ax = plain.plot_path()
    assert "2 features selected" in ax.get_title() and named(ax) >= {"x0", "x4"}
    own = plt.figure().gca()
    assert plain.plot_path(ax=own, leaders=2) is own
    assert named(own) >= {"x0", "x4"} and not named(own) & {"x1", "x2", "x3"}
    bars = plain.plot_probabilities(leaders=5)
    assert [t.get_text() for t in bars.get_yticklabels()][:2] == ["x0", "x4"] and len(
        bars.patches
    ) == 5
    plt.close("all")


def test_the_table(plain):
    table = plain.summary(full=True)
    assert list(table.columns) == [
        "probability",
        "selected",
        "enters_at_pfer",
        "coef_mean",
        "coef_std",
        "coef_low",
        "coef_high",
        "shares_signal_with",
        "duplicates",
        "status",
    ]
    assert (
        table.probability.is_monotonic_decreasing
        and len(table) == 12
        and table.selected.sum() == 2
    )
    assert {
        "reliability",
        "effective_rows",
        "largest_row_share",
        "duplicates",
        "converged",
        "path_converged",
        "pfer_bound",
        "q",
        "threshold",
        "lambda_",
        "diagnostics",
    } <= table.attrs.keys()


def test_the_page_for_a_paper(plain, tmp_path, monkeypatch):
    pictures = (n for n in report.FILES if n.split(".")[0] in report.PICTURES)
    drawn = {name: bytes(60) for name in pictures}
    monkeypatch.setattr(report, "picture_files", lambda *_, **__: drawn)
    files = plain.report(tmp_path / "page")
    assert {f.name for f in files} >= {"methods.md", "settings.json", "table.csv"}
    assert all(f.stat().st_size > 50 for f in files)


def seconds(work):
    """CPU seconds: shown, not asserted."""
    start = time.process_time()
    work()
    return time.process_time() - start


def test_the_diabetes_path_converges():
    diabetes, s = datasets.load_diabetes(), StabilitySelection(n_resamples=0)
    print(
        f"442 x 64: {seconds(lambda: s.fit(diabetes.A, diabetes.y)):.2f} s for the path"
    )
    assert s.converged_.all()


@pytest.mark.riboflavin
def test_riboflavin_is_amber():
    riboflavin, s = datasets.load_riboflavin(), StabilitySelection(n_resamples=0)
    print(
        f"71 x 4088: {seconds(lambda: s.fit(riboflavin.A, riboflavin.y)):.2f} s for the"
        " path"
    )
    assert s.converged_.all() and s.diagnostics_.reliability == "amber"


def test_the_package_stays_light():
    code = (
        "import sys, rvamp_nb; 'StabilitySelection' in rvamp_nb.__all__ or sys.exit(1);"
        " print({'sklearn', 'pandas', 'matplotlib'} & {m.split('.')[0] for m in"
        " sys.modules})"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        == "set()\n"
    )


# Answers with refits ----------------------------------------------------------------


def mistyped(M=100, N=60):
    """Independent columns; one target is far off."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(M, N))
    y = X[:, :4].sum(1) + rng.normal(size=M)
    y[17] += 8 * y.std()
    return X, y


@pytest.fixture(scope="module")
def mended():
    """The same table without refits, and with them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return [
            StabilitySelection(n_resamples=n, verbose=0).fit(*mistyped())
            for n in (0, 100)
        ]


def test_without_refits_the_numbers_are_the_solver_s(mended):
    plain, _ = mended
    assert plain.refined_ is None
    np.testing.assert_array_equal(plain.probabilities_, plain.fit_.Pi)
    assert 0.99 * plain.q_ <= plain.probabilities_.sum() <= plain.q_


def test_refined_numbers_reach_all_that_is_reported(mended):
    plain, s = mended
    new = s.refined_
    assert s.lambda_ == plain.lambda_ and np.abs(new.Pi - s.fit_.Pi).max() > 0.03
    np.testing.assert_array_equal(s.fit_.Pi, plain.fit_.Pi)
    np.testing.assert_array_equal(s.probabilities_, new.Pi)
    np.testing.assert_array_equal(s.support_, new.Pi >= s.threshold_)
    np.testing.assert_array_equal(s.coef_mean_, new.mean)
    np.testing.assert_allclose(s.coef_std_, np.sqrt(new.var))
    table = s.summary(full=True)
    np.testing.assert_array_equal(table.probability, np.sort(new.Pi)[::-1])
    by_place = table.loc[s.question_.columns.names]
    np.testing.assert_array_equal(by_place.probability_se, new.Pi_se)
    assert table.attrs["n_resamples"] == 100
    assert table.attrs["equivalent_refits"] == new.equivalent_refits > 200
    np.testing.assert_allclose(table.attrs["expected_selected"], new.Pi.sum())
    # the path and the lights stay the solver's
    np.testing.assert_array_equal(
        s.selection_probabilities_, plain.selection_probabilities_
    )
    assert s.diagnostics_.reliability == plain.diagnostics_.reliability == "red"


def test_other_refits_prefer_the_refined_numbers(mended):
    """Of Π, mean and variance, on the scale of the table; what is said is near it."""
    plain, s = mended
    x, r = plain.refine(None, 1500, random_state=9, verbose=False).draws, s.refined_
    names = ("probabilities_", "coef_mean_", "coef_std_")
    for name, truth in zip(names, ((x != 0).mean(0), x.mean(0), x.std(0))):
        before, after = (np.mean((getattr(e, name) - truth) ** 2) for e in mended)
        assert after < before / 2, name
    share = (x != 0).mean(0)
    noise = np.hypot(r.Pi_se, np.sqrt(share * (1 - share) / 1500) + 1e-3)
    assert (np.abs(r.Pi - share) < 4 * noise).all()
    noise = np.hypot(r.mean_se, x.std(0) / 1500**0.5 + 1e-4)
    assert (np.abs(r.mean - x.mean(0)) < 4 * noise).all()


def test_the_bound_is_that_of_the_larger_sum(mended):
    plain, s = mended
    larger = max(s.fit_.Pi.sum(), s.refined_.Pi.sum())
    assert s.pfer_bound_ >= plain.pfer_bound_
    np.testing.assert_allclose(s.pfer_bound_, pfer_bound(larger, s.threshold_, 60))


def test_copies_and_covariates_are_refined_in_their_place():
    X, y = mistyped()
    both = np.column_stack([X, -2 * X[:, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        factors = np.ones(61)
        factors[1] = 0
        s = StabilitySelection(n_resamples=20, penalty_factor=factors, verbose=0)
        s.fit(both, y)
    r = s.refined_
    assert s.probabilities_[1] == 1 and r.Pi_se[1] == 0 and s.support_[1]
    assert s.probabilities_[60] == s.probabilities_[0] != s.fit_.Pi[0]
    for values in (s.coef_mean_, r.draws.T):
        np.testing.assert_allclose(values[60], -values[0] / 2)
    np.testing.assert_allclose(r.mean_se[60], r.mean_se[0] / 2)
    np.testing.assert_allclose(r.var_se[60], r.var_se[0] / 4)
    np.testing.assert_allclose(r.var[60], r.var[0] / 4)


def test_a_refined_estimator_is_cloned_and_pickled(mended):
    s = mended[1]
    assert (
        clone(s).get_params() == s.get_params() and s.get_params()["n_resamples"] == 100
    )
    copy = pickle.loads(pickle.dumps(s))
    np.testing.assert_array_equal(copy.probabilities_, s.probabilities_)
    np.testing.assert_array_equal(copy.refined_.draws, s.refined_.draws)
    assert copy.refined_.status == s.refined_.status


def test_a_bagged_count_is_the_mean_over_resamples():
    """And its standard deviation theirs: of exp of a normal variable, by quadrature."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = rng.poisson(np.exp(0.8 * X[:, 0]))
    s = StabilitySelection(n_resamples=0, loss="poisson", lambdas=[1.0], verbose=0).fit(
        X, y
    )
    mean, std = predictor(s).linear_predictor(X, return_std=True)
    assert std.max() > 0.3
    node, weight = np.polynomial.hermite_e.hermegauss(40)
    counts = np.exp(mean[:, None] + std[:, None] * node)
    once, twice = (counts**k @ weight / weight.sum() for k in (1, 2))
    bagged, spread = predictor(s).predict(X, return_std=True)
    np.testing.assert_allclose(bagged, once, rtol=1e-9)
    np.testing.assert_allclose(spread, np.sqrt(twice - once**2), rtol=1e-6)
    np.testing.assert_array_equal(predictor(s).predict(X), bagged)


# What is drawn ------------------------------------------------------------------------


def test_another_random_state_makes_other_refits():
    how = dict(lambdas=[2.0], n_resamples=40, verbose=0)
    draws = {}
    for seed in (0, 1, np.int64(1), None):
        s = StabilitySelection(**how, random_state=seed).fit(X, Y)
        draws[repr(seed)] = s.refined_.draws
        np.testing.assert_array_equal(
            s.refine(n_resamples=40, verbose=False).draws, s.refined_.draws
        )
    again = StabilitySelection(**how).fit(X, Y)  # 0 is the default
    np.testing.assert_array_equal(again.refined_.draws, draws["0"])
    np.testing.assert_array_equal(draws["1"], draws["np.int64(1)"])
    other = again.refine(n_resamples=40, random_state=1, verbose=False)
    np.testing.assert_array_equal(other.draws, draws["1"])
    assert (draws["0"] != draws["1"]).any() and (draws["None"] != draws["0"]).any()
    unseeded = clone(s).fit(X, Y)
    assert unseeded.random_state is None and s.random_state is None
    assert (unseeded.refined_.draws != s.refined_.draws).any()
    first = StabilitySelection(**how, random_state=7).fit(X, Y)
    assert "random seed 7" in dict(wording.facts(first.selection_))["refits"]


def test_less_accuracy_is_less_work():
    d = datasets.load_diabetes()
    turns = []
    for accuracy in (0.02, 0.031):
        s = StabilitySelection(accuracy=accuracy, verbose=0).fit(d.A[:, :10], d.y)
        wanted = 0.6 / accuracy**2
        assert wanted <= s.refined_.equivalent_refits < 1.5 * wanted
        assert s.refined_.Pi_se.max() <= accuracy
        turns.append(s.refined_.levels[0].shape[0])
    assert turns[1] < turns[0] / 2
    for n in (10, 100):
        s = StabilitySelection(n_resamples=n, verbose=0).fit(d.A[:, :10], d.y)
        assert len(s.refined_.draws) == n


def test_the_folds_of_cross_validation_are_drawn():
    found = set()
    for seed in range(5):
        s = StabilitySelection(lambdas="cv", n_resamples=0, random_state=seed)
        found.add(s.fit(X, Y).lambda_)
    assert 1 < len(found) < 5


# Decoys -------------------------------------------------------------------------------


def test_q_values_are_there_for_who_asks_and_change_nothing_else(
    plain, tmp_path, monkeypatch
):
    before = plain.summary(full=True)
    found = plain.q_values()
    assert found.index.tolist() == [f"x{i}" for i in range(12)]
    np.testing.assert_array_equal(found, plain.q_values(random_state=0))
    assert (found != plain.q_values(random_state=1)).any()
    again = StabilitySelection(**QUICK, random_state=1).fit(X, Y)
    np.testing.assert_array_equal(again.q_values(), plain.q_values(random_state=1))
    pd.testing.assert_frame_equal(plain.summary(full=True), before)
    answer = plain.selection_.with_q_values("permuted")
    table = report.summary_table(answer)
    pd.testing.assert_frame_equal(table.drop(columns="q_value"), before)
    np.testing.assert_array_equal(table.q_value[found.index], found)
    said = wording.methods_text(answer)
    assert "decoy (permuted; Barber" in said and "Barber RF" in said
    assert "decoy" not in wording.methods_text(plain.selection_)
    monkeypatch.setattr(report, "picture_files", lambda *_: {})  # two seconds
    plain.report(tmp_path, decoys="permuted")
    assert "q_value" in (tmp_path / "table.csv").read_text()


@pytest.mark.filterwarnings("ignore:nothing could be selected here")
@pytest.mark.parametrize("kind", ["permuted", "gaussian"])
def test_ten_strong_features_have_small_q_values(kind):
    rng = np.random.default_rng(3)
    wide = rng.normal(size=(150, 40))
    y = wide[:, :15].sum(1) + 0.3 * rng.normal(size=150)
    s = StabilitySelection(n_resamples=0, verbose=0).fit(wide, y)
    found = s.q_values(kind).to_numpy()
    assert (found[:15] <= 0.1).all() and (found[15:] > 0.1).sum() >= 23
    assert found.min() >= 1 / 40


@pytest.mark.parametrize(
    "given, roles",
    [
        ({}, dict(groups=np.repeat(np.arange(40), 2))),
        ({}, dict(strata=np.arange(80) % 2)),
        ({}, dict(sample_weight=np.arange(80.0))),
        (dict(penalty_factor={"x3": 0.0}), {}),
    ],
)
def test_decoys_are_refused_where_they_are_not_like_noise(given, roles):
    frame = pd.DataFrame(X).add_prefix("x")
    s = StabilitySelection(n_resamples=0, verbose=0, **given).fit(frame, Y, **roles)
    with pytest.raises(ValueError, match="decoys='permuted': they are like noise only"):
        s.q_values()


@pytest.mark.filterwarnings("ignore:nothing could be selected here")
@pytest.mark.filterwarnings("ignore:constant columns are left out")
def test_normal_decoys_of_few_values_are_warned_of():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(80, 8))).add_prefix("x")
    frame["sex"], frame["allele"] = rng.integers(0, 2, 80), rng.integers(0, 3, 80)
    frame["visits"], frame["one"] = rng.integers(0, 9, 80), 1.0
    y = frame.x0 + rng.normal(size=80)
    noted = {}
    s = StabilitySelection(n_resamples=0, verbose=0).fit(frame, y)
    for kind in ("permuted", "gaussian"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            s.q_values(kind)
        texts = (str(w.message) for w in caught)
        noted[kind] = [text for text in texts if text.startswith("decoys=")]
    assert not noted["permuted"]
    (said,) = noted["gaussian"]
    assert "2 columns hold 3 values or fewer (sex, allele); normal decoys" in said


def test_decoys_of_no_known_kind_are_refused(plain):
    for kind in ("knockoff", 1, X):
        with pytest.raises(ValueError, match="decoys must be 'permuted' or 'gaussian'"):
            plain.q_values(kind)


def test_permuted_decoys_beside_a_common_factor_are_warned_of():
    rng = np.random.default_rng(4)
    follow = rng.normal(size=(80, 1)) + 0.7 * X
    s = StabilitySelection(n_resamples=0, verbose=0).fit(follow, Y)
    with pytest.warns(ReliabilityWarning, match="take decoys='gaussian'") as seen:
        s.q_values()
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", ReliabilityWarning)
        s.q_values("gaussian")
        s.fit(X, Y).q_values()


def test_where_the_competition_has_no_answer_there_is_no_q_value(plain):
    question = replace(plain.question_, max_iter=1)
    answer = replace(plain.selection_, question=question)
    with pytest.warns(ConvergenceWarning):
        assert np.isnan(answer.with_q_values("permuted").q_values).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with at_most(1):
            nothing = StabilitySelection(n_resamples=0, verbose=0).fit(X, Y)
    with pytest.raises(ValueError, match="nothing converged"):
        nothing.q_values()
