"""Three to six classes in the estimator: `loss="softmax"`."""

import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from designs import at_most
from predictor import predictor

from rvamp_nb import NonNegative, StabilitySelection, p1, p2
from rvamp_nb.course.softmax import softmax_fit
from rvamp_nb.inference.several_classes import Softmax
from rvamp_nb.select import report, wording
from rvamp_nb.tables import ChunkedTable

sys.path.insert(0, str(Path(__file__).parents[1] / "truth/several_classes"))
from make_several_classes_truth import halves, refits, softmax

sys.path.pop(0)

M, N, CLASSES = 90, 10, ["ash", "birch", "elm"]


def made(M=M, N=N, seed=4):
    """A frame whose columns have other centers and units, and words."""
    rng = np.random.default_rng(seed)
    Z, x = rng.normal(size=(M, N)), np.zeros((N, 3))
    x[0], x[1], x[2] = (2.0, -2, 0), (-1, -1, 2), (0.0, 0.8, -0.8)
    own = np.argmax(Z @ x + [0, 0.3, -0.6] + rng.gumbel(size=(M, 3)), axis=1)
    X = Z * 10.0 ** rng.integers(-3, 4, N) + 30 * rng.normal(size=N)
    names = [f"leaf{i}" for i in range(N)]
    return pd.DataFrame(X, columns=names), np.array(CLASSES)[own]


X, y = made()
CODES = np.searchsorted(CLASSES, y)
alone_ = partial(StabilitySelection, n_resamples=0, verbose=0)


def close(value, truth, error, z=4.0):
    assert np.abs((value - truth) / error).max() < z


@pytest.fixture(scope="module")
def fitted():
    return StabilitySelection(pfer=2, verbose=0).fit(X, y)


@pytest.fixture(scope="module")
def alone():
    return alone_(pfer=2).fit(X, y)


@pytest.fixture(scope="module")
def brute(fitted):
    """Coefficients and intercepts of 400 halves by gradient steps, on the scale of X:
    (400, N, 3) and (400, 3).
    """
    Z = X.to_numpy() - X.to_numpy().mean(axis=0)
    size = np.linalg.norm(Z, axis=0)
    x, b, off = refits(Z / size, CODES, fitted.lambda_, halves(M, 400, 7))
    assert off.max() < 1e-5
    x = x / size[:, None]
    return x, b - np.einsum("i,bik->bk", X.to_numpy().mean(axis=0), x)


# The answer ---------------------------------------------------------------------------


def test_probabilities_are_those_of_refits(fitted, alone, brute):
    share = (brute[0] != 0).any(2).mean(0)
    noise = np.sqrt(share * (1 - share) / 400 + 0.5 / 400**2)
    close(fitted.probabilities_, share, np.hypot(noise, fitted.refined_.Pi_se))
    assert np.abs(alone.probabilities_ - share).max() < 0.04 + 3 * noise.max()
    assert fitted.loss_ == "softmax" and fitted.classes_.tolist() == CLASSES
    np.testing.assert_allclose(alone.probabilities_.sum(), alone.q_, rtol=0.01)
    assert {0, 1} <= set(np.flatnonzero(fitted.support_)) and fitted.support_[
        3:
    ].sum() == 0


def test_coefficients_are_those_of_refits(fitted, alone, brute):
    x, b = brute
    sd, error, middle = x.std(0), x.std(0) / 20, X.to_numpy().mean(axis=0)
    for s, much, wide in ((fitted, 0.03, 0.15), (alone, 0.04, 0.4)):
        strong = s.probabilities_ > 0.3
        assert strong.sum() >= 2
        close(s.coef_mean_[strong], x.mean(0)[strong], (error + much * sd)[strong])
        np.testing.assert_allclose(s.coef_std_[strong], sd[strong], rtol=wide)
        for at in (0 * middle, middle):  # at the rows' mean it is all there is
            level = b + np.einsum("i,bik->bk", at, x)
            allowed = (0.05 + much) * level.std(0)
            close(s.intercept_ + at @ s.coef_mean_, level.mean(0), allowed)
        np.testing.assert_allclose(s.coef_mean_.sum(1), 0, atol=1e-12 * np.abs(x).max())
        np.testing.assert_allclose(s.intercept_.sum(), 0, atol=1e-9)
        ends = np.quantile(x[:, strong], [0.05, 0.95], axis=0)
        off = np.moveaxis(s.coef_interval_[strong], -1, 0) - ends
        assert np.abs(off / sd[strong]).max() < 0.7
    assert fitted.coef_interval_.shape == (N, 3, 2)


def test_deviations_by_few_refits_are_never_zero():
    """A class may move less than the contrasts of which its coefficient is made: what
    rVAMP adds to the refits must not turn its variance negative.
    """
    rng = np.random.default_rng(5)
    A = rng.normal(size=(90, 6))
    own = np.c_[1.5 * A[:, 0], -1.2 * A[:, 1], 0.8 * A[:, 2]]
    names = np.array(CLASSES)[np.argmax(own + rng.gumbel(size=(90, 3)), axis=1)]
    s, how = alone_().fit(A, names), dict(accuracy=None, verbose=False)
    sd = (
        s.refine(n_resamples=200, random_state=9, **how).draws.std(0).reshape(-1, 3)[:2]
    )
    for seed in range(2):
        ratio = np.sqrt(s.refine(n_resamples=20, random_state=seed, **how).var[:2]) / sd
        assert 0.6 < ratio.min() and ratio.max() < 1.6, ratio


def test_predictions_are_those_of_refits(fitted, alone, brute):
    x, b = brute
    scores = np.einsum("mi,bik->bmk", X.to_numpy(), x) + b[:, None]
    p = softmax(scores)
    noise = p.std(0) / 20
    for s, much in ((fitted, 0.01), (alone, 0.02)):
        found = predictor(s).predict_proba(X)
        np.testing.assert_allclose(found.sum(1), 1)
        assert (np.abs(found - p.mean(0)) < much + 4 * noise).all()
        assert (predictor(s).predict(X) == np.array(CLASSES)[found.argmax(1)]).all()
        mean, std = predictor(s).linear_predictor(X, return_std=True)
        assert mean.shape == std.shape == (M, 3)
        close(mean, scores.mean(0), 0.1 * scores.std(0) + scores.std(0) / 20)
        assert 0.8 < np.median(std / scores.std(0)) < 1.25
    assert (predictor(fitted).predict(X) == y).mean() > 0.6
    sparse = ChunkedTable(X.to_numpy())  # new rows may come in chunks
    plain = alone_(lambdas=[2.0]).fit(X.to_numpy(), y)
    np.testing.assert_allclose(
        predictor(plain).predict_proba(sparse),
        predictor(plain).predict_proba(X.to_numpy()),
    )


@pytest.mark.parametrize("K", [2, 3, 5])
def test_it_is_softmax_fit_at_the_penalty(K):
    rng = np.random.default_rng(K)
    Z = X.to_numpy() - X.to_numpy().mean(axis=0)
    size = np.linalg.norm(Z, axis=0)
    noisy = Z[:, 0] / size[0] + 0.1 * rng.normal(size=M)
    own = K * np.argsort(np.argsort(noisy)) // M
    s = alone_(loss="softmax", lambdas=[1.0], tol=1e-9).fit(X, own)
    other = softmax_fit(Z / size, own, 1.0, tol=1e-9)
    assert other.Pi.max() > 0.5
    np.testing.assert_allclose(s.probabilities_, other.Pi, atol=1e-7)
    np.testing.assert_allclose(s.coef_mean_ * size[:, None], other.mean, atol=1e-6)
    np.testing.assert_allclose(s.coef_std_ * size[:, None], other.sd, atol=1e-6)
    p = other.predict_proba(Z / size)
    np.testing.assert_allclose(predictor(s).predict_proba(X), p, atol=1e-6)


def test_no_class_comes_first_and_no_unit_matters():
    one = alone_(lambdas=[2.0], tol=1e-9).fit(X, y)
    order = [2, 0, 1]  # elm, ash, birch
    renamed = np.array(["b", "c", "a"])[CODES]
    two = alone_(lambdas=[2.0], tol=1e-9).fit(3 * X - 7, renamed)
    np.testing.assert_allclose(two.probabilities_, one.probabilities_, atol=1e-7)
    for name, unit in (("coef_mean_", 3), ("coef_std_", 3), ("coef_interval_", 3)):
        ours, theirs = (vars(s)[name] for s in (one, two))
        scale = np.abs(ours).max(axis=tuple(range(1, ours.ndim)), keepdims=True)
        gap = (unit * theirs - ours[:, order]) / (scale + 1e-30)
        assert np.abs(gap[one.probabilities_ > 0.1]).max() < 1e-4
    other = predictor(two).predict_proba(3 * X - 7)
    np.testing.assert_allclose(
        other, predictor(one).predict_proba(X)[:, order], atol=1e-6
    )


def test_copies_constants_and_covariates():
    table = X.assign(again=5 - 2 * X["leaf0"], none=1.0)
    with pytest.warns(UserWarning):
        s = alone_().fit(table, y)
    Pi = dict(zip(table, s.probabilities_))
    assert Pi["again"] == Pi["leaf0"] > 0.5 and Pi["none"] == 0
    twice = s.coef_mean_[[0, N]]
    np.testing.assert_allclose(twice[0], -2 * twice[1], rtol=1e-3)
    assert s.duplicates()[0] == "again" and (s.coef_mean_[-1] == 0).all()
    free = alone_(penalty_factor={"leaf3": 0.0, "leaf1": 2.0}).fit(X, y)
    kinds = free.question_.columns.kind
    assert kinds.tolist().count("covariate") == 1 and free.support_[3]
    assert free.probabilities_[3] == 1 and free.question_.candidates.sum() == N - 1
    assert "leaf3" in wording.methods_text(free.selection_)
    # each feature counts once, and q may be a third of a resample's rows
    with pytest.warns(UserWarning, match="q = 1 places"):
        plain = alone_(q=1).fit(X, y)
    assert plain.question_.size(plain.fit_.Pi) == pytest.approx(1, rel=0.01)
    wide = np.random.default_rng(0).normal(size=(M, 40))
    with pytest.warns(UserWarning, match="more than a sixth of the rows: q = 15"):
        alone_(threshold=0.75, pfer=20, tol=0.1).fit(wide, y)


def test_strata_and_rare_classes():
    rare = np.where(np.arange(M) < 2, "rare", y)
    with pytest.raises(
        ValueError, match="class rare of y has 2 of 90.*strata=y to fit"
    ):
        alone_().fit(X, rare)
    s = alone_(lambdas=[2.0]).fit(X, rare, strata=rare)
    assert s.diagnostics_.reliability == "amber"
    assert "a few rows make most of the variation" in str(s.diagnostics_)
    assert s.status_ == "converged" and s.coef_mean_.shape == (N, 4)
    assert "in each of 4 strata" in wording.methods_text(s.selection_)


def test_rows_are_samples(fitted):
    known = fitted.diagnostics_
    assert known.unit == "row" and 30 < known.effective_rows <= M
    assert len(fitted.question_.target.y) == M
    text = wording.methods_text(fitted.selection_)
    assert "half of the 90 rows" in text


# Which loss ---------------------------------------------------------------------------


def test_which_targets_are_classes():
    how = dict(lambdas=[2.0], tol=0.01)
    wanted = alone_(**how).fit(X, y).probabilities_
    as_objects = np.array(y.tolist(), dtype=object)
    for target in (as_objects, pd.Series(y), pd.Categorical(y)):
        np.testing.assert_array_equal(
            alone_(**how).fit(X, target).probabilities_, wanted
        )
    s = alone_(**how).fit(X, pd.Series(CODES + 4).astype("category"))
    assert s.loss_ == "softmax" and s.classes_.tolist() == [4, 5, 6]
    assert s.loss == "auto" and predictor(s).predict(X)[0] in (4, 5, 6)
    two = pd.Series(CODES > 0).astype("category")
    assert alone_(**how).fit(X, two).loss_ == "logistic"
    with pytest.warns(UserWarning, match="loss='softmax' that they are names"):
        amounts = alone_(**how).fit(X, CODES)
    assert amounts.loss_ == "squared"
    named = alone_(loss="softmax", **how).fit(X, CODES)
    np.testing.assert_array_equal(named.probabilities_, wanted)


ROWS = dict(groups=np.arange(M) // 2, sample_weight=np.ones(M), offset=np.zeros(M))
REFUSED = [
    *((dict(), {name: v}, f"{name} and loss='softmax'") for name, v in ROWS.items()),
    (dict(loss="softmax"), dict(n_trials=np.ones(M)), "n_trials: of successes"),
    (dict(prior=NonNegative(1.0)), {}, "prior and loss='softmax'"),
    (dict(), dict(X=ChunkedTable(X.to_numpy())), "give X as an array"),
    (dict(loss=Softmax(3)), {}, "loss must be 'softmax' for several classes"),
    (dict(loss="logistic"), {}, "3 to 6 together are for loss='softmax'"),
    (dict(), dict(y=np.arange(M).astype(str)), "90 different labels: text is taken"),
    (dict(loss="softmax"), dict(y=np.arange(M) % 7), "2 to 6 can be fitted"),
    (dict(loss="softmax"), dict(y=np.ones(M)), "1 different labels"),
    (dict(), dict(y=np.where(np.arange(M) < 1, "one", y)), "class one of y has 1 of"),
    (dict(loss="squared"), dict(), "2 to 6 of them, where loss is 'auto'"),
    (dict(), dict(y=np.where(np.arange(M) < 1, None, y)), "y contains NaN or None"),
    (
        dict(),
        dict(y=pd.Series(y, X.index, "string").replace("ash", pd.NA)),
        "y contains NaN or None: drop these rows",
    ),
    (
        dict(penalty_factor={"leaf0": 0.0}),
        dict(X=X.assign(leaf0=y == "elm")),
        "leaf0 is never penalised and separates y in the table",
    ),
]


@pytest.mark.parametrize("options, given, message", REFUSED)
def test_what_is_refused(options, given, message):
    with pytest.raises((TypeError, ValueError)) as refusal:
        alone_(**options).fit(**dict(dict(X=X, y=y), **given))
    assert message in str(refusal.value)


def test_what_a_feature_of_several_coefficients_does_not_have(alone):
    with pytest.raises(ValueError, match="explore: it draws single columns"):
        alone.explore()
    with pytest.raises(ValueError, match="plot_pair: it draws one coefficient"):
        alone.plot_pair("leaf0", "leaf1")
    assert not hasattr(predictor(alone), "predict_interval")


def test_a_leak_is_named():
    for column, words in (
        (7 - 2.0 * CODES, "is the target in another unit"),
        (CODES + 0.9 * np.random.default_rng(0).random(M), "separates the classes"),
    ):
        with pytest.warns(UserWarning, match=f"leaf9 {words}"):
            alone_(lambdas=[2.0], tol=0.01).fit(X.assign(leaf9=column), y)


# What is shown ------------------------------------------------------------------------


def test_tables_and_words(fitted, alone):
    table, full = fitted.summary(), fitted.summary(full=True)
    means = [f"mean {c}" for c in CLASSES]
    assert [*table] == ["Π", "±", "selected", "enters at pfer", *means]
    assert f"coef_std_{CLASSES[1]}" in full and table.attrs["classes"] == CLASSES
    at = full.index[0]
    np.testing.assert_allclose(
        full.loc[at, [f"coef_mean_{c}" for c in CLASSES]].astype(float),
        fitted.coef_mean_[[*X].index(at)],
    )
    lines = report.console(fitted.selection_)
    assert max(map(len, lines)) <= 88 and any("birch" in line for line in lines)
    text = "\n".join(lines)
    assert "classes ash, birch, elm" in text.replace("\n", " ").replace("  ", " ")
    for s in (fitted, alone):
        words = wording.methods_text(s.selection_)
        assert "multinomial logistic regression of the classes ash, birch, elm" in words
        assert "Simon N, Friedman J" in words and "Yuan M" in words
        assert "intercept of each class" in words and "coefficients differ" in words
        html = s._repr_html_inner()
        assert ">birch<" in html and "mean coefficients for each class" in html
    assert [*alone.lambda_scales_] == ["rvamp_nb", "per row", "glmnet lambda"]


@pytest.mark.parametrize("K", [4, 6])
def test_lines_are_short_for_many_classes(K):
    rng = np.random.default_rng(K)
    words = np.array([f"class of kind {k}" for k in range(K)])[rng.integers(K, size=M)]
    table = X.rename(columns={"leaf0": "a name that is far too long for a line"})
    s = alone_(lambdas=[2.0], tol=0.01).fit(table, words)
    assert max(map(len, report.console(s.selection_))) <= 88


def test_a_report_and_pictures(fitted, alone):
    files = report.report_files(fitted.selection_, ["bars"], ["png"])
    assert b"coef_mean_ash" in files["table.csv"] and len(files["bars.png"]) > 9999
    for s in (fitted, alone):
        ax = s.plot_density("leaf1")
        assert len(ax.lines) == 3 and "Π" in ax.get_title()
    assert fitted.plot_path().has_data() and fitted.plot_probabilities().has_data()
    table = fitted.family_probabilities({"both": ["leaf0", "leaf3"]})
    assert table["probability"].iloc[0] >= fitted.probabilities_[0] - 0.1


def test_densities_and_refits_of_a_selection(fitted, alone):
    one, two = p1(alone, "leaf0"), p1(alone, ["leaf0", "leaf1"])
    assert one.mean.shape == (3,) and two.mean.shape == (6,)
    np.testing.assert_allclose(one.mean, alone.coef_mean_[0])
    np.testing.assert_allclose(two.std[3:], alone.coef_std_[1])
    assert "leaf0, birch" in repr(one)
    C = p2(alone, "leaf0").covariance
    np.testing.assert_allclose(C.sum(0), 0, atol=1e-9 * np.abs(C).max())
    both = alone.refine(n_resamples=60, verbose=False)
    assert both.mean.shape == both.var_se.shape == (N, 3)
    assert both.sparse_draws.shape == (60, 3 * N) and both.intercepts.shape == (60, 3)
    np.testing.assert_allclose(both.intercepts.sum(1), 0, atol=1e-9)
    assert "mean 2" in both._repr_html_()
    draws = fitted.refined_.draws.reshape(-1, N, 3)
    np.testing.assert_allclose(draws.sum(2), 0, atol=1e-9 * np.abs(draws).max())


@pytest.mark.filterwarnings("ignore")
def test_no_answer_has_the_same_shapes():
    with at_most(1):
        s = alone_(lambdas=[2.0]).fit(X, y)
    assert s.status_.startswith("no answer") and np.isnan(s.coef_mean_).all()
    assert s.coef_mean_.shape == (N, 3) and s.coef_interval_.shape == (N, 3, 2)
    assert len(s.summary()) == N and s._repr_html_inner()


@pytest.mark.filterwarnings("ignore::rvamp_nb.exceptions.ReliabilityWarning")
def test_what_one_row_makes_of_a_feature_has_no_order_of_classes():
    """Once it was that of contrasts, which come in an order: .47 or .32 of one fit."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(30, 4)), rng.integers(3, size=30)
    one, other = (
        StabilitySelection(loss="softmax", q=1.0, n_resamples=0, verbose=0)
        .fit(X, np.take(order, y))
        .diagnostics_
        for order in (["a", "b", "c"], ["b", "c", "a"])
    )
    share = one.largest_single_share
    assert other.largest_single_share == pytest.approx(share, abs=1e-4)
    assert other.effective_rows == pytest.approx(one.effective_rows, rel=1e-4)


def group_refits(columns, index, bars, labels, counts):
    """Shares of resamples in which each group is not zero: K scores of each sample, the
    length of all of a group's coefficients times its bar, accelerated proximal steps.
    """
    Z = np.column_stack([columns, np.ones(len(columns)) / len(columns) ** 0.5])
    index, bars = np.append(index, len(bars)), np.append(bars, 0.0)
    member = np.equal.outer(np.arange(len(bars)), index) * 1.0
    x = z = np.zeros((len(counts), Z.shape[1], labels.shape[1]))
    L = np.linalg.norm(Z, 2) ** 2 / 2
    for k in range(200):  # the zeros are those of 600
        scores = Z @ z
        P = np.exp(scores - scores.max(-1, keepdims=True))
        P /= P.sum(-1, keepdims=True)
        new = z - Z.T @ (counts[..., None] * (P - labels)) / L
        length = np.sqrt((member @ new**2).sum(-1))
        shrunk = np.maximum(1 - bars / L / np.maximum(length, 1e-300), 0)
        new = new * shrunk[:, index, None]
        z, x = new + (k % 100) / (k % 100 + 3) * (new - x), new
    return ((member @ x**2).sum(-1)[:, :-1] > 0).mean(0)


def test_groups_of_columns_with_classes_are_as_by_refits():
    """Groups of three and of two, and columns that stand alone."""
    groups = {"a": ["leaf0", "leaf1", "leaf4"], "b": ["leaf3", "leaf5"]}
    s = StabilitySelection(column_groups=groups, q=2.5, verbose=0).fit(X, y)
    assert s.status_ == "converged" and s.loss_ == "softmax"
    rest = [name for name in X if name not in sum(groups.values(), [])]
    sets = [*groups.values(), *([name] for name in rest)]
    centred = X - X.mean()
    parts = [np.linalg.qr(centred[names].to_numpy())[0] for names in sets]
    sizes = np.array([len(names) for names in sets])
    index = np.repeat(np.arange(len(sets)), sizes)
    rng = np.random.default_rng(8)
    counts = np.array([rng.permutation(np.arange(M) % 2) for _ in range(300)])
    bars = s.lambda_ * np.sqrt(sizes)
    share = group_refits(np.hstack(parts), index, bars, np.eye(3)[CODES], counts)
    first = [list(X).index(names[0]) for names in sets]
    se = np.hypot(s.refined_.Pi_se[first], np.sqrt(share * (1 - share) / 300) + 3e-3)
    z = (s.probabilities_[first] - share) / se
    assert np.sqrt(np.mean(z**2)) < 1.5 and share.min() < 0.3 < 0.8 < share.max()
    assert s.coef_mean_.shape == (N, 3)
    np.testing.assert_allclose(s.coef_mean_.sum(1), 0, atol=1e-12)
    np.testing.assert_allclose(predictor(s).predict_proba(X).sum(1), 1)
    assert "each column and class" in " ".join(wording._model_sentences(s.selection_))
