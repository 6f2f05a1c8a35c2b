"""Columns of unit length: of tables in chunks they are those of arrays, in any unit
and in one pass or two.
"""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rvamp_nb.tables.chunked import ChunkedTable
from rvamp_nb.tables.dask_table import DaskTable
from rvamp_nb.tables.standardize import project_out, unit_columns

COLUMNS = {
    "plain": lambda v: v,
    "shifted": lambda v: v + 1e3,
    "huge": lambda v: v * 1e300,
    "tiny": lambda v: v * 1e-300,
    "mixed": lambda v: v * np.logspace(-200, 200, v.shape[1]),
    "a wiggle": lambda v: 1e6 + 1e-4 * v,
    "constant": lambda v: np.where(np.arange(v.shape[1]) % 2, 0.1, v),
    "zeros": lambda v: np.where(np.arange(v.shape[1]) % 2, 0.0, v),
    "constant up to rounding": lambda v: np.where(
        np.arange(v.shape[1]) % 2, 0.1 + 1e-17 * (v > 0), v
    ),
}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("case", COLUMNS)
def test_standardised_lazily_is_standardised(case, axis):
    for shape in ((40, 12), (9, 30), (2, 5)):
        values = COLUMNS[case](np.random.default_rng(2).normal(size=shape))
        B, norms, constant = unit_columns(values)
        near = dict(atol=3e-5 if case == "a wiggle" else 1e-11)
        for make in (np.array, np.asfortranarray, sparse.csr_array):
            for block in (shape[0] * 4, 10_000)[: 1 + (make is np.array)]:
                A = ChunkedTable(make(values), axis=axis, chunk_size=block)
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    lazy, sizes, flat = unit_columns(A)
                assert A.passes == 2 - axis and lazy.passes == 0
                assert_allclose(lazy[:, :], B, **near)
                assert_allclose(sizes, norms, rtol=3e-5)
                assert_array_equal(flat, constant)


def test_a_mean_of_many_rows_is_mended():
    values = 1e8 + np.random.default_rng(4).normal(size=(100_000, 2))
    for axis in (0, 1):
        B = unit_columns(ChunkedTable(values, axis=axis, chunk_size=30_000))[0]
        assert np.abs(B.T @ np.ones(100_000)).max() < 5e-6  # rounding of 1e8


@pytest.mark.parametrize("axis", [0, 1])
def test_of_a_table_that_was_standardised_already(axis):
    values = np.random.default_rng(3).normal(2, 3, size=(8, 11))
    once = unit_columns(ChunkedTable(values, axis=axis, chunk_size=20))[0]
    twice = unit_columns(once)[0]
    assert_allclose(twice[:, :], once[:, :], atol=1e-14)
    with pytest.raises(ValueError, match="column of ones"):
        unit_columns(once.with_options(intercept=True))
    with pytest.raises(ValueError, match="rows are multiplied"):
        unit_columns(once.with_options(row_scale=np.ones(8)))
    sums = once.T @ np.ones(8), once.sizes[1]
    assert_allclose(sums, (np.zeros(11), np.ones(11)), atol=1e-14)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.float32])
def test_numbers_of_other_kinds_are_those_of_floats(dtype):
    values = np.array([[1, 0, 1], [0, 0, 1], [0, 1, 1], [1, 1, 1]]).astype(dtype)
    if dtype is np.int8:
        values *= -128  # has no absolute value among its kind
    given = values.copy()
    for one, wanted in zip(unit_columns(values), unit_columns(values.astype(float))):
        assert_array_equal(one, wanted)
    assert_array_equal(values, given)


@pytest.mark.parametrize("weighted", [False, True])
def test_what_kept_columns_explain_is_projected_out(weighted):
    """Residuals of regressions, whatever multiple of a kept column was added."""
    rng = np.random.default_rng(5)
    A, weight = rng.normal(size=(30, 6)), rng.integers(0, 3, 30) * 1.0
    moved = A + np.outer(A[:, 4], [1e4, -3, 0, 7, 0, 0])
    given = weight if weighted else None
    left, given_back = project_out(moved, [4, 5], given), moved.copy()
    root = np.sqrt(weight if weighted else np.ones(30))[:, None]
    fit = np.linalg.lstsq(root * A[:, 4:], root * A[:, :4], rcond=None)[0]
    assert_allclose(left[:, :4], A[:, :4] - A[:, 4:] @ fit, atol=1e-10)
    assert_array_equal(left[:, 4:], A[:, 4:])
    assert_array_equal(moved, given_back)


def of_dask(values, **view):
    array = pytest.importorskip("dask.array").from_array(values, chunks=(7, 8))
    return DaskTable(array, **view)


MAKE = {
    "columns": lambda v, **view: ChunkedTable(v, axis=1, chunk_size=60, **view),
    "rows": lambda v, **view: ChunkedTable(v, axis=0, chunk_size=60, **view),
    "sparse": lambda v, **view: ChunkedTable(sparse.csr_array(v), **view),
    "dask": of_dask,
}


@pytest.mark.parametrize("ones", [False, True])
@pytest.mark.parametrize("kind", MAKE)
def test_columns_are_projected_out_as_a_table_is_read(kind, ones):
    """Of a view with rows that weigh nothing and a column of zeros."""
    rng = np.random.default_rng(4)
    values, counts = rng.normal(size=(20, 8)), (np.arange(20) > 3) * 1.0
    values[:, :3] += 1e3 * values[:, 7:]
    weight = counts * rng.uniform(1, 2, size=20)
    scale = np.where(np.arange(8) == 4, np.inf, rng.uniform(1, 2, size=8))
    view = dict(center=values.mean(0), scale=scale, row_scale=counts, intercept=ones)
    table = MAKE[kind](values, **view)
    kept = [7, 8] if ones else [7]
    left, known = project_out(table, kept, weight), counts > 0
    in_memory = project_out(table[:, :], kept, weight)
    assert_allclose(left[:, :][known], in_memory[known], atol=1e-9)
    assert_allclose(left.take_columns([0, 5])[:, :], left[:, [0, 5]], atol=1e-9)
