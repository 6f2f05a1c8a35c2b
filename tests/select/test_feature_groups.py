"""Columns that are selected together: `column_groups` of the estimator."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from predictor import predictor

from rvamp_nb import GroupLasso, Laplace, StabilitySelection, p1, p2
from rvamp_nb.select import report, wording
from rvamp_nb.select.penalty import coarse_path

sys.path.insert(0, str(Path(__file__).parents[1] / "truth/column_groups"))
from make_column_groups_truth import halves, refits

M = 160


def made(seed=3):
    """A frame with five variables of four levels (all coded), five features with three
    powers each, two columns alone, a target, and the groups.
    """
    rng = np.random.default_rng(seed)
    level, t = rng.integers(4, size=(M, 5)), rng.uniform(-1.7, 1.7, size=(M, 5))
    columns, groups = {}, {}
    for j in range(5):
        groups[f"site{j}"] = [f"site{j}_{k}" for k in range(4)]
        columns |= {f"site{j}_{k}": 1.0 * (level[:, j] == k) for k in range(4)}
        groups[f"dose{j}"] = [f"dose{j}^{k}" for k in (1, 2, 3)]
        columns |= {f"dose{j}^{k}": t[:, j] ** k for k in (1, 2, 3)}
    columns |= {"age": rng.normal(size=M), "size": 5 + 1e3 * rng.normal(size=M)}
    y = np.array([0, 2, -1.5, 0.5])[level[:, 0]] + 1.6 * t[:, 0] ** 2 + 0.2 * t[:, 1]
    return pd.DataFrame(columns), y + 1.3 * columns["age"] + rng.normal(size=M), groups


X, y, GROUPS = made()


def member(name):
    """The group of a column, or its own name."""
    return next((group for group, some in GROUPS.items() if name in some), name)


@pytest.fixture(scope="module")
def fitted():
    return StabilitySelection(column_groups=GROUPS, pfer=2, verbose=0).fit(X, y)


@pytest.fixture(scope="module")
def alone():
    return StabilitySelection(column_groups=GROUPS, pfer=2, n_resamples=0).fit(X, y)


@pytest.fixture(scope="module")
def brute(fitted):
    """Names of groups, their shares in 400 halves, and coefficients of the table."""
    Z = X.to_numpy() - X.to_numpy().mean(0)
    bases, labels = [], []
    names = list(dict.fromkeys(map(member, X.columns)))
    for name in names:
        U, size, _ = np.linalg.svd(Z[:, [member(c) == name for c in X]], False)
        bases.append(U[:, size > 1e-9 * size[0]])
        labels += [name] * bases[-1].shape[1]
    A, counts = np.hstack(bases), halves(M, 400, 9)
    order = np.unique(labels)
    x, off = refits(A, y - y.mean(), np.array(labels), fitted.lambda_, counts)
    assert off.max() < 1e-5
    on = np.array([(x[:, np.array(labels) == name] != 0).any(1) for name in order])
    # of dependent columns the smallest coefficients that give the same fit
    fits = A @ x.T
    back = np.zeros((len(X.columns), len(x)))
    for name in order:
        which = np.array([member(c) == name for c in X])
        part = A[:, np.array(labels) == name] @ x[:, np.array(labels) == name].T
        scaled = Z[:, which] / np.linalg.norm(Z[:, which], axis=0)
        found = np.linalg.lstsq(scaled, part, rcond=1e-9)[0]
        back[which] = found / np.linalg.norm(Z[:, which], axis=0)[:, None]
    np.testing.assert_allclose(Z @ back, fits, atol=1e-8)
    return dict(zip(order, on.mean(1))), back.T


def test_probabilities_are_those_of_refits(fitted, alone, brute):
    share = np.array([brute[0][member(c)] for c in X])
    noise = np.sqrt(share * (1 - share) / 400 + 0.5 / 400**2)
    error = np.sqrt(noise**2 + fitted.refined_.Pi_se**2)
    assert np.abs((fitted.probabilities_ - share) / error).max() < 4
    assert np.abs(alone.probabilities_ - share).max() < 0.06 + 3 * noise.max()
    for s in (fitted, alone):
        for some in GROUPS.values():
            which = X.columns.isin(some)
            assert np.ptp(s.probabilities_[which]) == 0
            assert len(set(s.support_[which])) == 1
    assert {member(c) for c in X.columns[fitted.support_]} >= {"site0", "dose0", "age"}


def test_coefficients_are_those_of_refits(fitted, alone, brute):
    x, strong = brute[1], np.flatnonzero(fitted.support_)
    unit = x.std(0)[strong]
    for s, much in ((fitted, 0.2), (alone, 0.3)):
        off = (s.coef_mean_ - x.mean(0))[strong] / unit
        assert np.abs(off).max() < 3 / 400**0.5 + much / 2
        np.testing.assert_allclose(s.coef_std_[strong], unit, rtol=much)
    ends = np.quantile(x[:, strong], [0.05, 0.95], axis=0).T
    off = np.abs(fitted.coef_interval_[strong] - ends)
    assert (off / unit[:, None]).max() < 0.6
    # the others are small
    weak = np.setdiff1d(np.arange(x.shape[1]), strong)
    top = np.maximum(x.std(0)[weak], 2e-3 * (X.std().to_numpy()[weak] ** -1))
    assert (np.abs(fitted.coef_mean_ - x.mean(0))[weak] / top).max() < 0.6


def test_the_coding_of_a_group_does_not_matter(alone):
    fewer = X.drop(columns=[f"site{j}_0" for j in range(5)])
    turned = fewer.copy()
    for j in range(5):
        t = X[f"dose{j}^1"]
        turned[f"dose{j}^2"] = 3 * t**2 - t + 7
        turned[f"dose{j}^3"] = 1e4 * (t**3 - 2 * t**2)
    labels = [member(c) for c in fewer]
    how = dict(lambdas=[alone.lambda_], n_resamples=0, tol=1e-8)
    s = StabilitySelection(column_groups=labels, **how).fit(fewer, y)
    Pi, fits = s.probabilities_, predictor(s).predict(fewer)
    s.fit(turned, y)
    np.testing.assert_allclose(s.probabilities_, Pi, atol=1e-6)
    np.testing.assert_allclose(predictor(s).predict(turned), fits, atol=1e-6)
    known = dict(zip(X.columns, alone.probabilities_))
    np.testing.assert_allclose(Pi, [known[c] for c in fewer], atol=2e-3)


def test_groups_are_counted(fitted, alone):
    assert fitted.selection_.question.candidates.sum() == 12
    firsts = [[*X.columns].index(some[0]) for some in GROUPS.values()]
    firsts += [len(X.columns) - 2, len(X.columns) - 1]
    total = alone.probabilities_[firsts].sum()
    np.testing.assert_allclose(total, alone.q_, rtol=0.01)
    assert alone.pfer_bound_ <= total**2 / (12 * (2 * alone.threshold_ - 1)) + 1e-9
    assert report.headline(fitted.selection_).startswith("3 groups selected")
    table = fitted.summary(full=True)
    assert {*table["group"][:8]} == {"site0", "dose0", ""}
    assert table.loc["age", "group"] == ""
    assert (table["group"] == "site0").sum() == 4
    text = wording.methods_text(fitted.selection_)
    assert "12 groups, a single column being one" in text and "Yuan M" in text
    assert "columns of site0, site1" in text  # all levels are coded
    lines = "\n".join(report.console(fitted.selection_))
    assert "site0: site0_1" in lines and "10 groups of several" in lines
    assert list(fitted.lambda_scales_) == ["rvamp_nb", "per row", "grpreg lambda"]


def test_densities_of_members(fitted):
    one, both = p1(fitted, "dose0^2"), p1(fitted, ["dose0^2", "age"])
    assert np.shape(one.mean) == () and np.shape(both.mean) == (2,)
    np.testing.assert_allclose(both.mean[0], one.mean)
    at, draws = [*X].index("dose0^2"), fitted.refined_.draws
    q = np.array([0.2, 0.5, 0.8])
    np.testing.assert_allclose(
        one.quantile(q), np.quantile(draws[:, at], q), atol=0.5 * one.std
    )
    first = p1(fitted, "dose0^1")  # far from orthogonal to the third
    np.testing.assert_allclose(first.std, draws[:, at - 1].std(), rtol=0.35)
    # p2 has one variance for all directions of a group: right for columns alone
    pair = p2(fitted, ["age", "dose0^2"])
    np.testing.assert_allclose(pair.mean, both.mean[::-1], rtol=0.05)
    np.testing.assert_allclose(pair.std[0], both.std[1], rtol=0.1)
    assert 0.3 < pair.std[1] / both.std[0] < 3
    assert fitted.plot_density("dose0^2").has_data()
    assert fitted.plot_pair("dose0^2", "site0_1").has_data()
    assert "site0" in [t.get_text() for t in fitted.plot_path().texts]
    with pytest.raises(ValueError, match="explore: it draws single columns"):
        fitted.explore()


def test_a_report_and_a_file(fitted, tmp_path, monkeypatch):
    for kind in ("svg", "pdf"):  # of one kind the pictures take a third of the time
        monkeypatch.delitem(report.KINDS, kind)
    files = fitted.report(tmp_path / "out")
    assert (
        '"n_column_groups": 10'
        in files[-1].parent.joinpath("settings.json").read_text()
    )
    again = predictor(fitted).predict(X)
    mean, std = predictor(fitted).linear_predictor(X[:5], return_std=True)
    draws = X[:5].to_numpy() @ fitted.refined_.draws.T + fitted.refined_.intercepts
    np.testing.assert_allclose(mean, draws.mean(1), atol=0.15 * std.max())
    np.testing.assert_allclose(std, draws.std(1), rtol=0.15)
    assert again.shape == (M,)


def test_the_spread_of_predictions_by_rvamp(alone, fitted):
    mean, std = predictor(alone).linear_predictor(X[:8], return_std=True)
    other = predictor(fitted).linear_predictor(X[:8], return_std=True)
    np.testing.assert_allclose(mean, other[0], atol=0.5 * std.max())
    assert 0.8 < np.median(std / other[1]) < 1.25  # p2, see above


def test_covariates_and_factors():
    free = {c: 0.0 for c in GROUPS["site0"][1:]} | {"age": 0.0}
    groups = GROUPS | {"site0": GROUPS["site0"][1:]}
    table = X.drop(columns="site0_0")
    s = StabilitySelection(column_groups=groups, penalty_factor=free, n_resamples=20)
    s.fit(table, y)
    always = s.selection_.question.columns.kind == "covariate"
    assert always.sum() == 4 and (s.probabilities_[always] == 1).all()
    assert s.support_[always].all() and s.question_.candidates.sum() == 10
    free["site0_1"] = 2.0
    with pytest.raises(ValueError, match="penalty_factor: .*'site0' have different"):
        s.set_params(penalty_factor=free).fit(table, y)
    heavy = {c: 3.0 for c in GROUPS["dose0"]}
    s = StabilitySelection(column_groups=GROUPS, penalty_factor=heavy, lambdas=[3.0])
    light = s.set_params(n_resamples=0).fit(X, y).probabilities_
    plain = s.set_params(penalty_factor=None).fit(X, y).probabilities_
    at = [*X].index("dose0^1")
    assert light[at] < plain[at] - 0.05


@pytest.mark.parametrize("loss", ["logistic", "poisson", "huber", "survival"])
@pytest.mark.filterwarnings("ignore:.*no refits were made")
def test_other_losses(loss):
    rng = np.random.default_rng(5)
    target = dict(logistic=y > 0, poisson=rng.poisson(np.exp(y / 2)), huber=y).get(loss)
    if loss == "survival":
        target = np.rec.fromarrays([y < 1, np.exp(-y)], names="event,time")
    s = StabilitySelection(column_groups=GROUPS, loss=loss).fit(X, target)
    assert s.status_ == "converged"
    assert {member(c) for c in X.columns[s.support_]} <= {
        "site0",
        "dose0",
        "age",
        "dose1",
    }
    if loss != "survival":
        off = s.probabilities_ - s.fit_.Pi[s.question_.columns.where]
        assert np.abs(off).max() < 0.12 and s.refined_.n_resamples >= 60


def test_weights_and_groups_of_rows():
    weight = np.random.default_rng(0).integers(1, 3, M)
    patient = np.arange(M) // 2
    s = StabilitySelection(column_groups=GROUPS, n_resamples=0)
    rest = dict(sample_weight=weight, groups=patient)
    assert s.fit(X, y, **rest).status_ == "converged"
    A, prior = s.question_.A, s.question_.prior
    assert isinstance(prior, GroupLasso)
    root = np.sqrt(s.question_.target.rows.weight)[:, None]
    labels = prior.groups
    for label in np.unique(labels):
        part = (root * A)[:, labels == label]
        np.testing.assert_allclose(part.T @ part, np.eye(part.shape[1]), atol=1e-9)


def test_idle_and_lonely_columns(alone):
    table = X.assign(site0_4=1.0, none=0.0)
    groups = GROUPS | {"site0": [*GROUPS["site0"], "site0_4"], "one": ["age"]}
    s = StabilitySelection(column_groups=groups, pfer=2, n_resamples=0)
    with pytest.warns(UserWarning, match="constant columns are left out"):
        s.fit(table, y)
    Pi = dict(zip(table, s.probabilities_))
    assert Pi["site0_4"] == Pi["none"] == 0 < 0.9 < Pi["site0_1"]
    np.testing.assert_allclose([Pi[c] for c in X], alone.probabilities_, atol=1e-3)
    # a group of constants only may come first
    first = StabilitySelection(column_groups={"c": ["none"], **groups}, pfer=2)
    with pytest.warns(UserWarning, match="constant columns are left out"):
        first.set_params(n_resamples=0).fit(table, y)
    np.testing.assert_allclose(first.probabilities_, s.probabilities_, atol=1e-9)
    # of groups of constants nothing is left
    only = StabilitySelection(column_groups={"c": ["site0_4", "none"]}, n_resamples=0)
    with pytest.warns(UserWarning, match="constant columns"):
        assert only.fit(table, y).selection_.question.columns.groups == ()


def test_near_copies_stay_in_their_groups():
    twice = X.assign(again=X["dose0^1"], ages=X["age"])
    s = StabilitySelection(column_groups=GROUPS, n_resamples=0)
    with pytest.warns(UserWarning, match="columns age, ages are the same"):
        s.fit(twice, y)
    copies = dict(zip(twice, s.duplicates()))
    assert copies["age"] == "ages" and copies["again"] == copies["dose0^1"] == ""


WRONG = [
    (dict(column_groups="categories"), "a dict {name: columns}, or a label for each"),
    (dict(column_groups={"a": ["age", "dose9"]}), "'dose9', which is no column of X"),
    (dict(column_groups={"a": ["age"], "b": ["age", "size"]}), "'age' is in two sets"),
    (dict(column_groups={"a": []}), "holds no columns"),
    (dict(column_groups=["a", "b"]), "2 labels, and X has 37 columns"),
    (dict(column_groups=["a", np.nan, *"b" * 35]), "a label for each column"),
    (
        dict(column_groups=pd.Series(range(37), [*X.columns[::-1]])),
        "in another order: give column_groups",
    ),
    (dict(column_groups=5), "a dict {name: columns}, or a label for each column"),
    (dict(column_groups=[1, "1", *range(2, 37)]), "1 and '1' would be one group"),
    (dict(column_groups={"a": [True, False]}), "a dict {name: its columns}"),
    (dict(column_groups="site"), "a dict {name: columns}, or a label for each column"),
    (dict(column_groups=GROUPS, prior=Laplace(1.0)), "prior and column_groups are bo"),
]


@pytest.mark.parametrize("given, message", WRONG)
def test_what_will_not_do(given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        StabilitySelection(**given).fit(X, y)


def test_masks_and_slices_are_columns():
    how = dict(n_resamples=0, verbose=0, lambdas=[2.0])
    rows = {"a": [2, 3, 4], "b": [7, 8]}
    mask = np.isin(np.arange(37), rows["a"])
    plain = StabilitySelection(column_groups=rows, **how).fit(X, y)
    kinds = (mask, slice(7, 9)), (mask.tolist(), slice(-30, 9, None))
    for a, b in (*kinds, (mask.astype(object), slice(7, 9))):
        again = StabilitySelection(column_groups={"a": a, "b": b}, **how).fit(X, y)
        np.testing.assert_array_equal(again.probabilities_, plain.probabilities_)


def test_refits_of_survival_times_name_what_does_without_them():
    time = np.exp(np.random.default_rng(0).normal(size=M))
    seen = np.column_stack([time, np.arange(M) % 3 > 0])
    asked = StabilitySelection(loss="survival", column_groups=GROUPS, n_resamples=10)
    with pytest.raises(ValueError, match="not GroupLasso: keep .*n_resamples=0"):
        asked.fit(X, seen)


def test_large_groups():
    rng = np.random.default_rng(1)
    wide = rng.normal(size=(60, 700))
    s = StabilitySelection(column_groups={"all": range(600)}, n_resamples=0)
    with pytest.raises(ValueError, match="at most 500 columns, 'all' has 600; cut it"):
        s.fit(wide, wide[:, 0] + rng.normal(size=60))
    with pytest.raises(TypeError, match="column_groups: .* orthonormal, in memory"):
        from rvamp_nb.tables import ChunkedTable

        s.set_params(column_groups={"a": [0, 1]}).fit(ChunkedTable(wide), wide[:, 0])


def test_where_a_search_begins_does_not_depend_on_the_basis_of_a_group():
    rng = np.random.default_rng(0)
    A, turn = rng.normal(size=(40, 6)), rng.normal(size=(3, 3)) + 2 * np.eye(3)
    y = A[:, 0] + rng.normal(size=40)
    B = np.column_stack([A[:, :3] @ turn, A[:, 3:]])
    how = dict(column_groups=list("aaabbb"), lambdas=[1.0], n_resamples=0, verbose=0)
    one, two = (StabilitySelection(**how).fit(T, y).question_ for T in (A, B))
    first, other = (coarse_path(question, 1.0).lambdas for question in (one, two))
    np.testing.assert_allclose(first, other, rtol=1e-10)
