"""Effects of a fitted selector in one model without a penalty: survival times, several
classes, an exposure, rows in groups, groups of columns; in the names and units of the
user's.
"""

import warnings

import numpy as np
import pandas as pd
import pytest

from rvamp_nb import StabilitySelection
from rvamp_nb.algorithm.likelihood import Logistic, PoissonLoss, Squared
from rvamp_nb.inference.joint import CoxModel, RowModel, joint_effects, joint_test
from rvamp_nb.select import report

M = 160
COX = dict(loss="survival")
UNITS = np.array([0.1, 1, 10, 100, 1, 1])


@pytest.fixture(scope="module")
def table():
    """A frame in units of its own, and the sum of two effects."""
    rng = np.random.default_rng(83)
    Z = rng.normal(size=(M, 6))
    X = pd.DataFrame(Z * UNITS + 3, columns=[*"abcdef"])
    return X, 1.2 * Z[:, 0] - Z[:, 1]


def selector(X, y, roles=(), **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        options = dict(n_resamples=0, verbose=0) | options
        return StabilitySelection(**options).fit(X, y, **dict(roles))


def times(z):
    rng = np.random.default_rng(84)
    death, left = rng.exponential(np.exp(-z)), rng.exponential(2, size=M)
    return np.column_stack([death <= left, np.minimum(death, left)])


def same(found, by_hand, digits=1e-5):
    """Compare numbers of an `Effects` with a `JointEffects`."""
    n = len(found.estimate)
    np.testing.assert_allclose(found.estimate, by_hand.estimate[:n], rtol=digits)
    se = np.sqrt(np.diag(by_hand.covariance))[:n]
    np.testing.assert_allclose(found.se, se, rtol=digits)


def test_survival_has_hazard_ratios_in_the_units_of_the_table(table):
    X, z = table
    y = times(z)
    strata, entry = np.arange(M) % 2, y[:, 1] * (np.arange(M) % 3) / 4
    full = np.column_stack([y[:, 0], entry, y[:, 1]])
    s = selector(X, full, dict(strata=strata), loss="survival")
    found = s.debiased_effects(X.columns)
    columns = X.to_numpy()
    model = CoxModel(columns, y[:, 1], y[:, 0], 0.0, strata, entry)
    same(found, joint_effects(model, model.order), 1e-3)
    shown = found.summary()
    np.testing.assert_allclose(shown.hazard_low, np.exp(shown.ci_low))
    assert [*shown.index] == [*"abcdef"] and (found.status == "interval").all()
    assert found.estimate[0] > 5 and found.estimate[1] < -0.5
    narrow = s.debiased_effects("a", level=0.5)
    assert narrow.ci_high < found.ci_high[0] and narrow.level == 0.5
    assert found.plot().get_xlabel().startswith("hazard ratio per")


def test_an_exposure_is_in_the_model(table):
    X, z = table
    years = np.random.default_rng(85).uniform(0.5, 9, size=M)
    y = np.random.default_rng(86).poisson(years * np.exp(z / 2))
    s = selector(X, y, dict(offset=np.log(years)), loss="poisson")
    found = s.debiased_effects(X.columns)
    model = RowModel(X.to_numpy(), y, PoissonLoss(), np.log(years))
    same(found, joint_effects(model, np.arange(M), unbiased=False))
    assert "rate_ratio" in found.summary()


def test_weights_are_in_the_model(table):
    """Rows without a weight are out of it, whatever they hold."""
    X, z = table
    y = z + np.random.default_rng(94).normal(size=M)
    weight = 3.0 * (np.arange(M) % 4)
    far = X.copy()
    far[weight == 0] = 50
    kept = weight > 0
    s = selector(far, y, dict(sample_weight=weight))
    found = s.debiased_effects(X.columns)
    unit = weight[kept] / weight[kept].mean()
    model = RowModel(X[kept].to_numpy() - 3, y[kept], Squared(), 0.0, unit)
    same(found, joint_effects(model, np.arange(kept.sum()), unbiased=False))
    y = times(z)
    s = selector(far, y, dict(sample_weight=weight, strata=np.arange(M) % 2), **COX)
    found = s.debiased_effects(X.columns)
    data = X[kept].to_numpy(), y[kept, 1], y[kept, 0]
    model = CoxModel(*data, strata=np.arange(M)[kept] % 2, weight=unit)
    same(found, joint_effects(model, model.order), 1e-3)


def test_trials_are_rows_that_are_drawn_together(table):
    X, z = table
    trials = np.random.default_rng(98).integers(1, 5, size=M)
    y = np.random.default_rng(96).binomial(trials, 1 / (1 + np.exp(-z)))
    found = selector(X, y, dict(n_trials=trials)).debiased_effects(X.columns)
    row = np.repeat(np.arange(M), trials)
    place = np.concatenate([np.arange(n) for n in trials])
    each = RowModel(X.to_numpy()[row], (place < y[row]) * 1.0, Logistic())
    repeated = joint_effects(each, row)
    np.testing.assert_allclose(found.estimate, repeated.estimate[:6], rtol=1e-3)
    error = np.sqrt(np.diag(repeated.covariance))[:6]
    assert np.all(found.se > error) and np.all(found.se < 1.1 * error)
    assert "odds_ratio" in found.summary()


def test_a_level_without_a_class_has_a_reason_and_the_others_have_effects(table):
    X, z = table
    X = X.assign(site=(np.arange(M) < 12) * 1.0, ward=(np.arange(M) % 4 == 0) * 1.0)
    rng = np.random.default_rng(97)
    y = np.column_stack([z, -z, 0 * z + rng.normal(size=M)]).argmax(1)
    y[:12] = np.arange(12) % 2
    y = np.array(["high", "low", "mid"])[y]
    s = selector(X, y)
    found = s.debiased_effects(X.columns)
    status = found.status.reshape(-1, 3)
    none = (status == "none").all(axis=1)
    assert [*found.names[::3][none]] == ["site, high"]
    assert (status[~none] == "interval").all()
    assert "separates rows by the target" in found.reasons[18]
    assert "site" not in found.together and "a" in found.together


def test_several_classes_have_an_effect_each(table):
    X, z = table
    rng = np.random.default_rng(87)
    scores = np.column_stack([z, -z, 0 * z]) + rng.gumbel(size=(M, 3))
    y = np.array(["high", "low", "mid"])[scores.argmax(1)]
    found = selector(X, y).debiased_effects(["a", "c"])
    assert [*found.names] == [f"{c}, {k}" for c in "ac" for k in ("high", "low", "mid")]
    by_feature = found.estimate.reshape(2, 3)
    np.testing.assert_allclose(by_feature.sum(1), 0, atol=1e-8)
    assert by_feature[0, 0] > 0 > by_feature[0, 1] and len(found.sd) == 6
    assert found.together["a"][3] < 0.001 < 0.01 < found.together["c"][3]
    assert found.together["a"][1] == 2  # one direction less than classes
    numbers = found.estimate[:3], found.covariance[:3, :3], np.full(3, 1e6)
    assert np.isclose(joint_test(*numbers)[0], found.together["a"][0], rtol=0.1)


def test_rows_in_groups(table):
    X, z = table
    patient = np.arange(M) // 4
    y = z + np.random.default_rng(88).normal(size=M // 4)[patient]
    s = selector(X, y, dict(groups=patient), penalty_factor={"f": 0})
    found = s.debiased_effects()
    assert "f" in found.names and "a" in found.names
    every = s.debiased_effects(X.columns)
    model = RowModel(X.to_numpy() - 3, y, Squared())
    same(every, joint_effects(model, patient, unbiased=False))


def test_groups_of_columns_have_a_p_value(table):
    X, z = table
    X = X.assign(g=X.d + X.e)  # d, e and g add up
    y = z + np.random.default_rng(89).normal(size=M)
    sets = {"ab": ["a", "b"], "deg": ["d", "e", "g"]}
    s = selector(X, y, column_groups=sets)
    found = s.debiased_effects(["a", "b", "c", "d"])
    model = RowModel(X[[*"abcdef"]].to_numpy(), y, Squared())
    by_hand = joint_effects(model, np.arange(M), unbiased=False)
    np.testing.assert_allclose(found.estimate[:3], by_hand.estimate[:3], rtol=1e-6)
    both = by_hand.estimate[:2], by_hand.covariance[:2, :2], by_hand.freedom[:2]
    np.testing.assert_allclose(found.together["ab"], joint_test(*both), rtol=1e-4)
    assert found.together["ab"][3] < 1e-10 and found.together["deg"][1] == 2
    assert [*found.reasons] == ["", "", "", "adds up with columns of its group"]


def test_what_is_not_determined_has_a_reason(table):
    X, z = table
    X = X.assign(g=X.d + X.e, one=1.0, copy=2 * X.f, age=X.c + 0.0, twice=2 * X.c)
    X = X.drop(columns="c")
    s = selector(X, times(z), loss="survival", penalty_factor={"age": 0})
    found = s.debiased_effects(X.columns)
    reasons = dict(zip(found.names, found.reasons))
    assert reasons["d"] == "adds up with e, g" and reasons["one"] == "constant"
    assert reasons["copy"] == "near copy of f" and "age" not in reasons["age"]
    assert "explained" in reasons["twice"] or "near copy" in reasons["twice"]
    assert reasons["a"] == reasons["b"] == ""
    assert np.all(np.isnan(found.estimate) == (found.status == "none"))


def test_what_is_shown_names_the_price_of_its_loss(table):
    X, z = table
    weighted = selector(X, z, dict(sample_weight=np.arange(M) + 1.0))
    assert "same rows a quarter hold" in weighted.debiased_effects("a").note
    trials = dict(n_trials=np.full(M, 2))
    binomial = selector(X, np.where(z > 0, 2, np.arange(M) % 3), trials)
    assert "same rows half hold" in repr(binomial.debiased_effects("a"))


def test_too_few_events_and_levels_outside_are_refused(table):
    X, z = table
    y = times(z)
    y[25:, 0] = 0
    s = selector(X.assign(g=z**2), y, loss="survival", lambdas=[2.0])
    with pytest.raises(
        ValueError, match="with 160 rows and .* events for 7 .* needs 4: "
    ):
        s.debiased_effects()
    s = selector(X, times(z), loss="survival")
    for level in (0, 1, 95):
        with pytest.raises(ValueError, match="level"):
            s.debiased_effects(level=level)


def test_a_report_says_how(table, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "picture_files", lambda *_: {})  # those of effects stay
    X, z = table
    s = selector(X, times(z), loss="survival")
    s.report(tmp_path)
    text = (tmp_path / "effects.md").read_text()
    assert "without a penalty" in text and "hazard ratio" in text
    assert "hazard_ratio" in (tmp_path / "effects.csv").read_text()
    empty = s.debiased_effects([])
    assert len(empty.estimate) == 0 and "0 of 0" in repr(empty)
