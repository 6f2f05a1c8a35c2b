"""Units, offsets and types of numbers that are far from 1, through the default job: the
answer of the same table in plain numbers, or a refusal that names what is wrong.
"""

from functools import cache

import numpy as np
import pytest
from scipy import sparse

from rvamp_nb import ChunkedTable, StabilitySelection
from rvamp_nb.select import features, penalty
from rvamp_nb.tables import dispatch

SHAPES = {"tall": (240, 30), "wide": (50, 140), "square": (160, 160)}


@cache
def problem(shape):
    """Whole numbers, which 16 bits hold; `sparse` ones are mostly 0."""
    rng = np.random.default_rng(7)
    X = rng.integers(-8, 9, SHAPES.get(shape, (160, 160))).astype(float)
    if shape == "sparse":
        X *= rng.random(X.shape) < 0.15
    return X, 3 * X[:, :5].sum(1) + 9 * rng.normal(size=len(X))


def job(X, y):
    return StabilitySelection(verbose=0, q=4).fit(X, y)


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


@pytest.mark.parametrize("shape", ["tall", "wide"])
@pytest.mark.parametrize("units", ["1e160", "32 bits, 1e37", *OFFSETS])
def test_tables_that_are_read_in_blocks_in_any_units(
    shape, units, monkeypatch, tmp_path
):
    for room in (dispatch, features):
        monkeypatch.setattr(room, "CHUNK_NUMBERS", 2000)
    X, y = problem(shape)
    change, digits = (UNITS | OFFSETS)[units]
    answers = []
    for k, table in enumerate((X, change(X))):
        np.save(tmp_path / f"{k}.npy", table)
        answers.append(job(np.load(tmp_path / f"{k}.npy", mmap_mode="r"), y))
        assert isinstance(answers[k].question_.A, ChunkedTable)
    agrees(*answers, max(digits, 1e-8))


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
