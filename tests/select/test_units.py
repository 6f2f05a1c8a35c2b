"""Units, offsets and types of numbers that are far from 1, through the default job: the
answer of the same table in plain numbers, or a refusal that names what is wrong.
"""

import pickle
import warnings
from functools import cache

import numpy as np
import pytest
from predictor import predictor
from scipy import sparse

from rvamp_nb import ElasticNet, Huber, Laplace, StabilitySelection, TwoPoint
from rvamp_nb.algorithm.resampling import FixedFactor
from rvamp_nb.select import features, penalty
from rvamp_nb.tables import ChunkedTable, dispatch

SHAPES = {"tall": (120, 30), "wide": (50, 140), "square": (160, 160)}


@cache
def problem(shape):
    """Whole numbers, which 16 bits hold; `sparse` ones are mostly 0."""
    rng = np.random.default_rng(7)
    X = rng.integers(-8, 9, SHAPES.get(shape, (160, 160))).astype(float)
    if shape == "sparse":
        X *= rng.random(X.shape) < 0.15
    return X, 3 * X[:, :5].sum(1) + 9 * rng.normal(size=len(X))


def job(X, y):
    return StabilitySelection(verbose=0, q=4, n_resamples=40).fit(X, y)


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    """Rows answer alike at first, and few columns are in play, on small tables too."""
    monkeypatch.setattr(penalty, "ALIKE_FROM", 0)
    monkeypatch.setattr(penalty, "FEW_FROM", 120)


@cache
def plain(shape):
    """The answer in plain numbers, under the limits above."""
    X, y = problem(shape)
    return job(sparse.csc_array(X) if shape == "sparse" else X, y)


def agrees(one, two, Pi):
    """To the last digits of y, and of what 64 bits hold of a table with an offset."""
    assert two.status_ == "converged"
    np.testing.assert_allclose(two.fit_.Pi, one.fit_.Pi, atol=Pi)
    np.testing.assert_allclose(two.probabilities_, one.probabilities_, atol=Pi)
    np.testing.assert_array_equal(two.support_, one.support_)
    assert np.isfinite(two.coef_mean_).all() and np.isfinite(two.coef_std_).all()


MIXED = lambda n: np.where(np.arange(n) % 2, 1e30, 1e-30)
UNITS = {  # what becomes of a column of a table, or of its target, to so many digits
    "1e30": (lambda X: X * 1e30, 1e-9),
    "1e-30": (lambda X: X * 1e-30, 1e-9),
    "1e160": (lambda X: X * 1e160, 1e-9),  # whose squares no number holds
    "some 1e30, others 1e-30": (lambda X: X * MIXED(X.shape[1]), 1e-9),
    "32 bits": (lambda X: X.astype(np.float32), 1e-9),
    "32 bits, 1e37": (lambda X: (X * 1e37).astype(np.float32), 1e-6),
}
OFFSETS = {
    "16 bits": (lambda X: X.astype(np.float16), 1e-9),
    "1e8 beside 5": (lambda X: X + 1e8, 1e-6),
    "1e8, and mixed": (lambda X: (X + 1e8) * MIXED(X.shape[1]), 1e-6),
}
TARGETS = {
    "1e30": (lambda y: y * 1e30, 1e-6),
    "1e-30": (lambda y: y * 1e-30, 1e-6),
    "1e8 beside 50": (lambda y: y + 1e8, 1e-6),
    "32 bits": (lambda y: y.astype(np.float32), 1e-6),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("units", [*UNITS, *OFFSETS])
def test_columns_in_any_units(shape, units):
    X, y = problem(shape)
    change, digits = (UNITS | OFFSETS)[units]
    agrees(plain(shape), job(change(X), y), digits)


@pytest.mark.parametrize("shape", [*SHAPES, "sparse"])
@pytest.mark.parametrize("units", TARGETS)
def test_targets_in_any_units(shape, units):
    X, y = problem(shape)
    change, digits = TARGETS[units]
    X = sparse.csc_array(X) if shape == "sparse" else X
    agrees(plain(shape), job(X, change(y)), digits)


@pytest.mark.parametrize("units", UNITS)
def test_sparse_columns_in_any_units(units):
    X, y = problem("sparse")
    change, digits = UNITS[units]
    agrees(plain("sparse"), job(sparse.csc_array(change(X)), y), digits)


def in_blocks(X, y, path):
    """The answer of a table in a file, read in blocks."""
    np.save(path, X)
    found = job(np.load(path, mmap_mode="r"), y)
    assert isinstance(found.question_.A, ChunkedTable)
    return found


@cache
def plain_in_blocks(shape, path):
    return in_blocks(*problem(shape), path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@pytest.mark.parametrize("shape", ["tall", "wide"])
@pytest.mark.parametrize("units", ["1e160", "32 bits, 1e37", *OFFSETS])
def test_tables_that_are_read_in_blocks_in_any_units(shape, units, monkeypatch, folder):
    for room in (dispatch, features):
        monkeypatch.setattr(room, "CHUNK_NUMBERS", 2000)
    X, y = problem(shape)
    change, digits = (UNITS | OFFSETS)[units]
    changed = in_blocks(change(X), y, folder / f"{units}.npy")
    one = plain_in_blocks(shape, folder / f"{shape}.npy")
    agrees(one, changed, max(digits, 1e-8))


@pytest.mark.parametrize(
    "X_unit, y_unit, words",
    [
        (1e306, 1, "X contains infinity.* 'x0', and 139 .* change their unit"),
        (1, 1e120, "y differs from its mean by up to [1-9]e.121.* change its unit"),
        (1, 1e-120, "y differs from its mean by up to [1-9]e-119.* change its unit"),
    ],
)
def test_units_that_64_bits_do_not_hold_are_refused(X_unit, y_unit, words):
    X, y = problem("wide")
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=words):
        job(X * X_unit * 100, y * y_unit)


# What a model cannot notice -----------------------------------------------------------


@cache
def answers_of():
    """A table of which the last column is kept, and targets of every loss."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 8))
    X[:, 2] = X[:, 1] + 0.4 * rng.normal(size=90)
    f = X[:, 0] + X[:, 1] - X[:, 4] + 0.8 * X[:, 7]
    death = rng.exponential(size=90) * np.exp(-f)
    targets = dict(squared=f + rng.normal(size=90), huber=f + rng.standard_t(2, 90))
    targets |= dict(logistic=f + rng.logistic(size=90) > 0)
    targets |= dict(poisson=rng.poisson(np.exp(f / 2)) * 1.0)
    targets |= dict(survival=np.c_[rng.random(90) < 0.8, death])
    targets |= dict(softmax=np.digitize(f + rng.normal(size=90), [-1, 1]))
    return X, targets


def told(X, y, roles=(), **options):
    """The answer without refits; its warnings are not in question."""
    options = dict(q=2, n_resamples=0, tol=1e-6, verbose=0) | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return StabilitySelection(**options).fit(X, y, **dict(roles))


def same(one, two, close=2e-5, columns=slice(None)):
    """Π, coefficients, the penalty and both lights."""
    np.testing.assert_allclose(two.probabilities_, one.probabilities_, atol=close)
    scale = np.abs(one.coef_mean_).max()
    for name in ("coef_mean_", "coef_std_"):
        pair = (getattr(s, name)[columns] for s in (two, one))
        np.testing.assert_allclose(*pair, atol=close * scale)
    np.testing.assert_allclose(two.lambda_, one.lambda_, rtol=close)
    light, other = one.diagnostics_, two.diagnostics_
    assert other.reliability == light.reliability
    assert other.spread_reliability == light.spread_reliability
    np.testing.assert_allclose(other.effective_rows, light.effective_rows, rtol=1e-3)


LOSSES = "squared", "logistic", "poisson", "huber", "survival", "softmax"


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("roles", ["", "weights", "column_groups", "l1_ratio"])
def test_multiples_of_a_kept_column_are_not_noticed(loss, roles):
    X, targets = answers_of()
    if loss == "softmax" and roles:
        return
    options = dict(loss=loss, penalty_factor={"x7": 0})
    if roles == "column_groups":
        options |= dict(column_groups={"g": ["x1", "x2"]})
    if roles == "l1_ratio":
        options |= dict(prior=ElasticNet(1.0, l1_ratio=0.5))
    weight = 1.0 + np.arange(90) % 3
    given = dict(sample_weight=weight) if roles == "weights" else {}
    moved = X + np.outer(X[:, 7], [-20, 5, 5, 0, 1, 0, -3, 0])
    one, two = (told(T, targets[loss], given, **options) for T in (X, moved))
    same(one, two, columns=slice(7))
    assert 0.05 < one.probabilities_[1] < 0.95


@pytest.mark.parametrize("table", [np.array, ChunkedTable, sparse.csr_array])
def test_copies_that_differ_by_a_kept_column_are_one(table):
    X, targets = answers_of()
    X = np.column_stack([X, 2 * X[:, 0]])
    moved = X.copy()
    moved[:, 8] -= 3 * X[:, 7]
    free = {"x7": 0}
    given = targets["squared"]
    one = told(X, given, penalty_factor=free)
    two = told(table(moved), given, penalty_factor=free, lambdas=[one.lambda_])
    same(one, two, columns=np.arange(9) != 7)
    np.testing.assert_allclose(
        predictor(one).predict(X), predictor(two).predict(moved), atol=1e-4
    )


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_multiples_of_a_kept_column_in_tables_in_chunks(loss):
    X, targets = answers_of()
    moved = X + np.outer(X[:, 7], [-20, 5, 5, 0, 1, 0, -3, 0])
    options = dict(loss=loss, penalty_factor={"x7": 0})
    one = told(X, targets[loss], **options)
    for table in (X, moved):
        here = dict(lambdas=[one.lambda_])  # a search in chunks may stop beside it
        two = told(
            ChunkedTable(table, chunk_size=200), targets[loss], **options, **here
        )
        same(one, two, columns=slice(7))


@pytest.mark.parametrize("groups", [None, {"g": ["x0"]}, {"g": ["x0", "x1"]}])
def test_means_in_strata_are_not_noticed_by_a_stratified_cox_model(groups):
    X, targets = answers_of()
    site = np.arange(90) % 3
    moved = X.copy()
    moved[:, 0] += 5 * (site == 1)
    moved[:, 3] += 1e3 * np.sin(site)
    options = dict(loss="survival", column_groups=groups)
    given = dict(strata=site)
    one, two = (told(T, targets["survival"], given, **options) for T in (X, moved))
    same(one, two)
    if groups != {"g": ["x0", "x1"]}:
        same(told(X, targets["survival"], given, loss="survival"), one)


@pytest.mark.parametrize("loss", ["squared", "huber", Huber(2.0)])
@pytest.mark.parametrize("given", [{}, dict(sample_weight=1.0 + np.arange(90) % 2)])
def test_an_elastic_net_does_not_depend_on_the_unit_of_the_target(loss, given):
    X, targets = answers_of()
    y = targets["huber"]
    net = ElasticNet(1.0, l1_ratio=0.5)
    one = told(X, y, given, loss=loss, prior=net)
    for unit in (1e-20, 1e-3, 1e3):
        of_unit = Huber(2.0 * unit) if isinstance(loss, Huber) else loss
        two = told(X, unit * y, given, loss=of_unit, prior=net)
        np.testing.assert_allclose(two.probabilities_, one.probabilities_, atol=1e-6)
        found = two.coef_mean_ / unit
        np.testing.assert_allclose(found, one.coef_mean_, atol=1e-6)
        np.testing.assert_allclose(two.lambda_ / unit, one.lambda_, rtol=1e-6)


def test_a_prior_without_a_law_of_factors_has_fixed_penalties():
    X, targets = answers_of()
    y = targets["squared"]
    plain, default = told(X, y), told(X, y, prior=Laplace(1.0))
    np.testing.assert_array_equal(plain.probabilities_, default.probabilities_)
    assert default.question_.prior.randomize == FixedFactor()
    kept = pickle.loads(pickle.dumps(Laplace(3.0)))  # as scikit-learn's clone copies it
    again = told(X, y, prior=kept)
    np.testing.assert_allclose(again.probabilities_, plain.probabilities_, atol=1e-9)
    drawn = told(X, y, prior=Laplace(1.0, TwoPoint()))
    assert np.abs(drawn.probabilities_ - plain.probabilities_).max() > 0.05
    net = ElasticNet(1.0, l1_ratio=0.9)
    one, two = told(X, y, prior=net), told(X, 1e3 * y, prior=net)
    assert one.question_.prior.randomize == FixedFactor()
    np.testing.assert_allclose(two.probabilities_, one.probabilities_, atol=1e-6)


def test_the_layout_of_the_table_moves_no_bit():
    pd = pytest.importorskip("pandas")
    X, targets = answers_of()
    y = targets["logistic"]
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(8)])
    tables = np.asfortranarray(X), frame, frame.copy(), X.tolist(), X[::-1][::-1]
    one = told(X, y, n_resamples=40)
    for table in tables:
        two = told(table, y, n_resamples=40)
        for name in ("probabilities_", "coef_mean_", "coef_std_", "lambda_"):
            np.testing.assert_array_equal(getattr(two, name), getattr(one, name))
        assert two.refined_.n_exact == one.refined_.n_exact
