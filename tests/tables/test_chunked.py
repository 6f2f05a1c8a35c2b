"""Tables that are read one block at a time: every kind gives the numbers of the array
it stands for, in passes that are counted, and nothing handed over is changed.
"""

import os
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rvamp_nb import rvamp
from rvamp_nb.algorithm.likelihood import Logistic, PoissonLoss
from rvamp_nb.algorithm.lmmse import is_wide, map_chunks
from rvamp_nb.algorithm.resampling import Subsample
from rvamp_nb.datasets import standardize
from rvamp_nb.exceptions import ChunkError
from rvamp_nb.tables import chunked, dispatch
from rvamp_nb.tables.chunked import (
    ChunkedTable,
    SparseBlock,
    as_block,
    check_in_memory,
    chunk_axis,
    column_sums,
    is_at_hand,
    is_sparse,
    map_columns,
    pick_columns,
    read_blocks,
    read_small,
    scale_rows,
    square_lengths,
    take_columns,
    with_ones,
)
from rvamp_nb.tables.dispatch import as_chunked
from rvamp_nb.tables.standardize import unit_columns

FEW = ("i1", "mapped, F", "csr matrix")  # in blocks of all sizes
SHAPES = [(6, 20), (20, 6), (1, 7), (7, 1), (1, 1)]


@pytest.fixture(autouse=True)
def sparse_blocks_stay_sparse(monkeypatch):
    monkeypatch.setattr(chunked, "DENSE_FROM_SHARE", np.inf)


def integers(M, N, seed=0):
    """Many zeros; every column has a number other than 0 where there is room."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, size=(M, N)) * (rng.random((M, N)) < 0.5)
    values[0, :] = 1
    return values


def mapped(values, folder, order="C"):
    path = folder / f"table_{order}_{values.dtype}.npy"
    np.save(path, np.asarray(values, order=order))
    return np.load(path, mmap_mode="r")


def kinds(values, folder):
    """{name: the values as another kind of table}"""
    types = {name: values.astype(name) for name in ("i1", "f2", "f4", "f8", "i8")}
    types["longdouble"] = values.astype(np.longdouble)
    types["read-only"] = values.astype(float)
    types["read-only"].flags.writeable = False
    types["F order"] = np.asfortranarray(values, dtype=float)
    types["strided"] = np.repeat(np.repeat(values, 2, 0), 3, 1)[::2, ::3].astype("f4")
    types["backwards"] = values[::-1, ::-1].astype("i2").copy()[::-1, ::-1]
    types["mapped"] = mapped(values.astype("i1"), folder)
    types["mapped, F"] = mapped(values.astype("f4"), folder, "F")
    for name in ("csr", "csc", "coo", "lil", "dia"):
        types[f"{name} array"] = getattr(sparse, f"{name}_array")(values.astype("i4"))
        types[f"{name} matrix"] = getattr(sparse, f"{name}_matrix")(values.astype("f4"))
    types["stored twice"] = twice_stored(values)
    return types


def some_of(N):
    """Some columns, out of order."""
    return [N - 1, 0] if N > 2 else list(range(N))


def twice_stored(values):
    """Each number in two parts, and zeros stored as such."""
    M, N = values.shape
    row, column = (np.tile(v.ravel(), 2) for v in np.indices((M, N)))
    parts = np.concatenate([values.ravel() - 1.0, np.ones(M * N)])
    order = np.lexsort([row, column])
    start = 2 * M * np.arange(N + 1)
    S = sparse.csc_array((parts[order], row[order], start), shape=(M, N))
    assert not S.has_canonical_format
    return S


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_kind_is_the_array(shape, axis, tmp_path):
    values, rng = integers(*shape), np.random.default_rng(1)
    (M, N), center = shape, rng.normal(size=shape[1])
    scale, row_scale = rng.uniform(0.5, 2, N), rng.uniform(0, 2, M)
    row_scale[M // 2] = 0
    view = dict(center=center, scale=scale, intercept=True)
    plain = np.column_stack([(values - center) / scale, np.ones(M)])
    truth = plain * np.append(np.repeat(row_scale[:, None], N, 1), np.ones((M, 1)), 1)
    x, X = rng.normal(size=N + 1), rng.normal(size=(N + 1, 3))
    u, U = rng.normal(size=M), rng.normal(size=(M, 3))
    columns, rows = [N, 0, N, -1, N // 2], [M - 1, 0, 0, -1]
    chosen = rng.random(N + 1) < 0.5
    for name, source in kinds(values, tmp_path).items():
        for block in (1, M * 5, 10_000) if name in FEW else (M * 5,):
            A = ChunkedTable(
                source, axis=axis, chunk_size=block, row_scale=row_scale, **view
            )
            close = dict(atol=1e-12, err_msg=f"{name}, {A}")
            assert A.shape == truth.shape and len(A) == M and A.ndim == 2
            assert isinstance(A.reading(0), SparseBlock) == sparse.issparse(source)
            for found, expected in (
                (A @ x, truth @ x),
                (A @ X, truth @ X),
                (A.T @ u, truth.T @ u),
                (A.T @ U, truth.T @ U),
                (u @ A, u @ truth),
                (U.T @ A, U.T @ truth),
                (X.T @ A.T, X.T @ truth.T),
            ):
                assert_allclose(found, expected, **close)
            assert A.passes == 7
            for which in (columns, chosen, 0, -1, slice(1, None, 2), [], slice(None)):
                assert_allclose(A[:, which], truth[:, which], **close)
            for which in (rows, M - 1, slice(None, None, -1), []):
                assert_allclose(A[which], truth[which], **close)
            for B, expected in ((A, truth), (A.with_options(row_scale=None), plain)):
                assert_allclose(B.sizes[0], np.abs(expected).max(0), **close)
                assert_allclose(B.sizes[1], (expected**2).sum(0), rtol=1e-12)
                assert_allclose(square_lengths(B), square_lengths(expected))
            few = A.take_columns(some_of(N))
            assert few.shape == (M, len(some_of(N))) and not few.passes
            assert_allclose(few[:, :], truth[:, some_of(N)], **close)


@pytest.mark.parametrize("axis", [0, 1])
def test_nothing_handed_over_is_changed(axis, tmp_path):
    values = integers(10, 14)
    for name, source in kinds(values, tmp_path).items():
        shared = source.copy() if sparse.issparse(source) else np.array(source)
        A, _, _ = unit_columns(ChunkedTable(source, axis=axis, chunk_size=30))
        A @ np.ones(14), A[:, [3]], A[:, :], A.sizes
        if sparse.issparse(source):
            assert source.format == shared.format and source.nnz == shared.nnz, name
            source, shared = source.toarray(), shared.toarray()
        assert_array_equal(source, shared, err_msg=name)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("make", [np.array, sparse.csr_array, sparse.csc_array])
def test_blocks_come_in_order_and_once(axis, make):
    values = np.arange(35.0).reshape(5, 7)
    A, number = (
        ChunkedTable(make(values), axis=axis, chunk_size=11),
        np.arange((5, 7)[axis]),
    )
    (numbers, whole), (count,) = A.map_chunks(
        lambda X, n: ((n, X[:, :] if axis else X[:, :].T), (np.array([len(n)]),)),
        (number,),
    )
    assert_array_equal(numbers, number)
    assert_array_equal(whole if axis else whole.T, values)
    assert count == len(number) and A.passes == 1
    one, _ = map_chunks(values, lambda X, n: ((X,), ()), (np.arange(7),))
    assert one[0] is values  # an array is one block, as it is


def test_some_columns_are_no_pass_and_all_are_one(tmp_path):
    read = []

    class Source:
        shape, dtype = (6, 50), np.dtype("i1")
        values = mapped(integers(6, 50).astype("i1"), tmp_path)

        def __getitem__(self, which):
            read.append(self.values[which].size)
            return self.values[which]

    A = ChunkedTable(Source(), axis=1, chunk_size=60)
    A[:, [3, 17]], A[:, 49], A.take_columns(np.arange(8))[:, 1]
    assert A.passes == 0 and sum(read) == 4 * 6  # and no other number of them
    A[:, :]
    assert A.passes == 1
    A[[2, 1]]
    assert A.passes == 2


def test_a_column_of_ones_may_be_a_block_of_its_own():
    values = integers(5, 8)
    for make, block in ((np.array, 40), (sparse.csc_array, 5)):
        A = ChunkedTable(make(values), axis=1, chunk_size=block, intercept=True)
        assert [j.stop - j.start for j in A.slices] == [8, 1]
        assert_array_equal(A[:, [8, 1, 8]], np.c_[np.ones(5), values[:, 1], np.ones(5)])
        assert_array_equal(A @ np.eye(9)[8], np.ones(5))


def test_a_sum_that_is_no_array_is_refused():
    A = ChunkedTable(np.ones((2, 3)), axis=1, chunk_size=2)
    with pytest.raises(TypeError):
        A.map_chunks(lambda X: ((), (float(X.sum()),)))
    assert A.map_chunks(lambda X: ((), (X.sum(1),)))[1][0].tolist() == [3, 3]


# --- sparse blocks --------------------------------------------------------------------
@pytest.mark.parametrize("form", ["csc", "csr"])
@pytest.mark.parametrize("m, n", [(30, 80), (80, 30), (1, 5), (5, 1)])
def test_a_sparse_block_is_its_array(m, n, form):
    rng = np.random.default_rng(m)
    S = sparse.csc_array(sparse.random(m, n, 0.2, random_state=0)).asformat(form)
    X = SparseBlock(S, rng.normal(size=m), rng.normal(size=n))
    dense = S.toarray() - np.outer(X.a, X.b)
    x, F, w = rng.normal(size=(n, 2)), rng.normal(size=(m, m)), rng.uniform(size=n)
    some, L, K = rng.random(n) < 0.5, np.tril(F), np.tril(rng.normal(size=(n, n)))
    for found, expected in (
        (X @ x, dense @ x),
        (X @ x[:, 0], dense @ x[:, 0]),
        (F @ X, F @ dense),
        (F[0] @ X, F[0] @ dense),
        (X.T @ F, dense.T @ F),
        ((X**2)[:, :], dense**2),
        (X.gram(w), (dense * w) @ dense.T),
        (X.T.gram(F[0]), (dense.T * F[0]) @ dense),
        (X.forms(L), ((L.T @ dense) ** 2).sum(0)),
        (X.forms(np.asfortranarray(L), 3), ((L.T @ dense) ** 2).sum(0)),
        (X.forms(L, K=L @ L.T), ((L.T @ dense) ** 2).sum(0)),
        (X.T.forms(K), ((K.T @ dense.T) ** 2).sum(0)),
        (X[:, ::-1], dense[:, ::-1]),
        (X[::-1], dense[::-1]),
        (X[:, some], dense[:, some]),
        (X[[0, -1], -1], dense[[0, -1], -1]),
        (X[-1, 0], dense[-1, 0]),
        (X[:, []], dense[:, []]),
    ):
        assert np.shape(found) == np.shape(expected)
        assert_allclose(found, expected, atol=1e-10)


def test_forms_are_looked_up_where_that_keeps_their_digits(monkeypatch):
    """Long columns, short ones, and one that the root nearly takes away."""
    monkeypatch.setattr(chunked, "SHORT", 10)
    rng, sizes = np.random.default_rng(0), np.array([0, 1, 4, 60] * 20)
    order = rng.permuted(np.tile(np.arange(60), (80, 1)), axis=1).T
    S = (order < sizes) * rng.normal(size=(60, 80))
    S[:, 2] = np.eye(60)[0] - np.eye(60)[1]
    F = np.tril(rng.normal(size=(60, 60))) / 8 + np.eye(60)
    F[:2, :2] = [[1, 0], [1, 1e-6]]
    b = rng.normal(size=80) * (np.arange(80) != 2)
    X, K = SparseBlock(sparse.csc_array(S), np.ones(60), b), F @ F.T
    _, left = X._short_forms(K)
    assert left.tolist() == sorted([2, *range(3, 80, 4)])
    exact = ((F.T @ X[:, :]) ** 2).sum(0)
    assert_allclose(X.forms(F, K=K), exact, rtol=1e-9)


@pytest.mark.parametrize("axis", [0, 1])
def test_some_columns_are_one_block(axis):
    """With the column of ones and without; of a sparse table sparse."""
    S = sparse.random_array((30, 40), density=0.05, rng=np.random.default_rng(0))
    how = dict(axis=axis, intercept=True, center=S.mean(0), scale=np.full(40, 0.5))
    how["row_scale"] = np.arange(30.0)
    for source, kind in (sparse.csr_array(S), SparseBlock), (S.toarray(), np.ndarray):
        A = ChunkedTable(source, **how)
        for which in np.array([1, 5, 39]), np.array([0, 2, 40]):
            block = A.block(which)
            assert isinstance(block, kind)
            assert_allclose(block[:, :], A[:, which], atol=1e-14)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_sparse_block_that_is_full_becomes_an_array(axis, monkeypatch):
    """A block of zeros, and one of numbers; both answer as the array does."""
    values = np.zeros((16, 16))
    values[(slice(8, None), slice(None))[:: 1 - 2 * axis]] = integers(8, 16).reshape(
        (8, 16)[:: 1 - 2 * axis]
    )
    monkeypatch.setattr(chunked, "DENSE_FROM_SHARE", 0.1)
    A = ChunkedTable(
        sparse.csr_array(values), axis=axis, chunk_size=16, center=np.ones(16)
    )
    kinds = [type(A.reading(k)) for k in range(len(A.slices))]
    assert kinds == [SparseBlock, np.ndarray]
    assert_allclose(A @ np.eye(16), values - 1)


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_what_was_read_is_not_scaled_in_place(form):
    S = sparse.random(6, 9, 0.5, random_state=0).asformat(form)
    before = S.toarray()
    block = as_block(S, np.ones(9), np.full(9, 2.0), 1)
    assert_allclose(block[:, :], np.c_[(before - 1) / 2, np.ones(6)])
    assert_array_equal(S.toarray(), before)


def test_memory_order_is_kept():
    values = integers(6, 9).astype("f4")
    for source in (values, np.asfortranarray(values)):
        for intercept in (0, 1):
            block = as_block(source[:, 2:5], intercept=intercept)
            assert block.flags.f_contiguous == source.flags.f_contiguous
            assert block.base is None and block.dtype == float


# --- what is refused ------------------------------------------------------------------
@pytest.mark.parametrize(
    "source, error, word",
    [
        ([[1.0, 2.0]], TypeError, "got list"),
        (np.ones((3, 4), complex), TypeError, "A must hold real numbers"),
        (np.ones((3, 4), object), TypeError, "A must hold real numbers"),
        (np.full((3, 4), "a"), TypeError, "A must hold real numbers"),
        (sparse.csr_array(np.ones((3, 4)) * 1j), TypeError, "A must hold real numbers"),
        (np.zeros((3, 4), "M8[D]"), TypeError, "A must hold real numbers"),
        (np.ma.masked_equal(np.eye(3), 0), TypeError, "masked"),
        (np.ones(3), ValueError, "shape"),
        (np.ones((0, 3)), ValueError, "shape"),
        (np.ones((3, 0)), ValueError, "shape"),
        (sparse.csr_array((3, 0)), ValueError, "shape"),
    ],
)
def test_no_tables(source, error, word):
    with pytest.raises(error, match=word):
        ChunkedTable(source)


def test_blocks_of_neither_columns_nor_rows():
    with pytest.raises(ValueError, match="axis must be 1 .* or 0 .*, got -1"):
        ChunkedTable(np.ones((3, 4)), axis=-1)


def test_a_table_is_not_made_an_array_by_accident():
    A = ChunkedTable(np.ones((3, 4)))
    for wrong in (
        lambda: np.asarray(A),
        lambda: np.array(A.T),
        lambda: np.ones((2, 3)) + A,
        lambda: list(A),
        lambda: list(A.T),
        lambda: A[1:, 2],
    ):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(TypeError, match=r"A\[:, which\]"):
        np.asarray(A)


def test_which_tables_are_read_in_blocks(monkeypatch, tmp_path):
    monkeypatch.setattr(dispatch, "CHUNK_NUMBERS", 100)
    large, small = integers(12, 40), integers(3, 4)
    arrays = large.astype(float), np.asfortranarray(large, float), small.astype("i1")
    masked = np.ma.masked_equal(large.astype("i1"), 0)
    others = mapped(small, tmp_path), large.tolist(), None, "A", 3.0, masked
    others += (large.astype(str), large * 1j, large.astype(object), large[None])
    for A in (*arrays, *others):
        assert as_chunked(A) is None
    stored = large.astype("f4"), large.astype("i1"), large.astype(bool)
    stored += mapped(large.astype(float), tmp_path), sparse.coo_array(small)
    for A in stored:
        panels = as_chunked(A)
        assert isinstance(panels, ChunkedTable) and panels.shape == A.shape
        assert as_chunked(panels) is panels


# --- files that cannot be read --------------------------------------------------------
class Flaky:
    """A source whose file fails so often."""

    def __init__(self, values, fails):
        self.values, self.fails = values, fails
        self.shape, self.dtype = values.shape, values.dtype

    def __getitem__(self, which):
        if self.fails > 0:
            self.fails -= 1
            raise OSError("the disk is gone")
        return self.values[which]


@pytest.mark.parametrize("axis, where", [(1, "columns 0 to 3"), (0, "rows 0 to 1")])
def test_a_block_that_fails_is_named(axis, where):
    values = integers(6, 10).astype(float)
    for ask in (lambda A: A @ np.ones(10), lambda A: A[:, [1]], lambda A: A[[1]]):
        A = ChunkedTable(Flaky(values, 1), axis=axis, chunk_size=24)
        with pytest.raises(ChunkError, match=f"{where} of A .* the disk is gone"):
            ask(A)
        assert_allclose(A @ np.ones(10), values.sum(1))  # the next pass reads it


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_what_is_not_finite_is_seen(bad, axis, make):
    values = integers(8, 10).astype(float)
    values[5, 7] = bad
    A = ChunkedTable(make(values), axis=axis, chunk_size=16)
    largest, length2 = A.sizes
    for found in (largest, length2, unit_columns(A)[1]):
        assert_array_equal(np.isfinite(found), np.arange(10) != 7)


def test_a_large_table_of_small_integers_does_not_overflow():
    values = np.full((300, 50), 127, np.int8)
    values[::2] = -128
    for source in (values, sparse.csc_array(values)):
        A = ChunkedTable(source, axis=1, chunk_size=3_000)
        assert_allclose(A.sizes[0], 128)
        assert_allclose(A @ np.ones(50), values.astype(float).sum(1))
        assert_allclose(A[:, :], values)


# --- a fit from every kind ------------------------------------------------------------
CASES = {
    "counts of Poisson": dict(tol=1e-3),
    "intercept": dict(intercept=True, tol=1e-3),
    "half-samples": dict(resampling=Subsample(0.5), intercept=True, tol=1e-3),
    "logistic": dict(loss=Logistic(), tol=1e-3),
    "Poisson's loss": dict(loss=PoissonLoss(), intercept=True, tol=1e-3),
}


def fitted_kinds(values, folder):
    """{name: (values, M x N) read in blocks}"""
    arrays = {name: values.astype(name) for name in ("f4", "i1", "f8")}
    arrays["mapped"] = mapped(values.astype("i1"), folder)
    arrays["mapped, F"] = mapped(values.astype("f4"), folder, "F")
    arrays["csr"] = sparse.csr_array(values)
    arrays["csc"] = sparse.csc_matrix(values.astype("f4"))
    size = {"csr": values.size // 32, "csc": values.size // 32}  # in wider blocks
    return {
        name: ChunkedTable(a, chunk_size=size.get(name, values.size // 4))
        for name, a in arrays.items()
    }


def response(values, case, rng):
    signal = values[:, 1:4] @ [0.6, -0.6, 0.4]
    if case == "logistic":
        return (signal + rng.logistic(size=len(values)) > 0).astype(float)
    if case == "Poisson's loss":
        return rng.poisson(np.exp(0.5 * signal)).astype(float)
    return signal + rng.normal(size=len(values)) + 2 * (case != "counts of Poisson")


@pytest.mark.parametrize("shape", [(12, 30), (30, 8)])
@pytest.mark.parametrize("case", CASES)
def test_a_fit_from_blocks_is_the_fit(case, shape, tmp_path):
    """Every third kind of table for each; the next case has the next ones."""
    first = (list(CASES).index(case) + (shape[0] < shape[1])) % 3
    values, rng = integers(*shape), np.random.default_rng(5)
    y = response(values, case, rng)
    lam = 0.5 * np.abs(values.T @ (y - y.mean())).max()
    dense = rvamp(values.astype(float), y, lam, **CASES[case])
    assert dense.converged
    for name, A in list(fitted_kinds(values, tmp_path).items())[first::3]:
        fit = rvamp(A, y, lam, **CASES[case])
        assert isinstance(fit.problem.A, ChunkedTable) and len(fit.problem.A.slices) > 2
        assert fit.converged and fit.n_iter == dense.n_iter, name
        for what in ("mean", "var", "Pi"):
            expected = getattr(dense, what)
            close = dict(rtol=0, atol=1e-9 * np.abs(expected).max())
            assert_allclose(getattr(fit, what), expected, **close, err_msg=name)


@pytest.mark.parametrize("shape", [(12, 30), (30, 8)])
def test_a_fit_of_columns_that_are_standardised_lazily(shape, tmp_path):
    """Every second kind of table for each of the two."""
    values, rng = integers(*shape), np.random.default_rng(6)
    values[0] = np.arange(shape[1]) % 3  # no column of ones and zeros only
    A, y = standardize(values, response(values, "intercept", rng))
    lam = 0.4 * np.abs(A.T @ y).max()
    dense = rvamp(A, y, lam, tol=1e-3)
    kinds = list(fitted_kinds(values, tmp_path).items())
    for name, table in kinds[shape[0] < shape[1] :: 2]:
        fit = rvamp(standardize(table)[0], y, lam, tol=1e-3)
        assert fit.n_iter == dense.n_iter, name
        for what in ("mean", "var", "Pi"):
            expected = getattr(dense, what)
            close = dict(rtol=0, atol=1e-9 * np.abs(expected).max())
            assert_allclose(getattr(fit, what), expected, **close, err_msg=name)


def test_the_table_with_ones_knows_its_sizes():
    A = ChunkedTable(integers(5, 6), chunk_size=10)
    assert A.with_ones.shape == (5, 7) and A.with_ones is A.with_ones
    del A.with_ones
    A.sizes
    sizes = A.with_ones.sizes
    assert A.with_ones.passes == 0
    for found, expected in zip(sizes, A.with_options(intercept=True).sizes):
        assert_allclose(found, expected)


WHICH, FACTOR = np.array([4, 0, 5]), np.linspace(0.5, 2, 6)
ALIKE = {
    "take_columns": lambda A: take_columns(A, WHICH)[:, :],
    "pick_columns": lambda A: pick_columns(A, WHICH)[:, :],
    "with_ones": lambda A: with_ones(A)[:, :],
    "scale_rows": lambda A: scale_rows(A, FACTOR)[:, :],
    "read_small": lambda A: read_small(A, 10**6),
    "map_columns": lambda A: map_columns(A, lambda X: (FACTOR @ X,))[0],
    "square_lengths": square_lengths,
    "column_sums": lambda A: column_sums(A, [FACTOR], [FACTOR]),
}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
@pytest.mark.parametrize("what", ALIKE)
def test_an_array_and_chunks_are_worked_with_alike(what, make, axis):
    values = integers(6, 20).astype(float)
    A = ChunkedTable(make(values), axis=axis, chunk_size=25)
    assert_allclose(ALIKE[what](A), ALIKE[what](values), atol=1e-12)


@pytest.mark.parametrize("axis", [0, 1])
def test_what_stays_in_chunks_and_what_is_read(axis):
    values = integers(6, 20)
    A = ChunkedTable(sparse.csr_array(values), axis=axis, chunk_size=3)
    for view in take_columns(A, WHICH), with_ones(A), scale_rows(A, FACTOR):
        assert isinstance(view, ChunkedTable) and view.is_sparse
    assert chunk_axis(pick_columns(A, WHICH)) == (None if axis else 0)
    assert pick_columns(A, np.arange(0)).shape == (6, 0)
    assert read_small(A, 119) is A and chunk_axis(read_small(A, 120)) is None
    blocks = [*read_blocks(A)]
    assert len(blocks) == len(A.slices)
    assert_array_equal(np.concatenate(blocks), values.T if axis else values)
    (whole,) = read_blocks(values)
    assert whole is values
    assert (chunk_axis(A), chunk_axis(values)) == (axis, None)
    assert is_wide(A) == axis and is_wide(values) and not is_wide(values.T)
    assert is_sparse(A) and not is_sparse(values)
    assert is_at_hand(A) and is_at_hand(values)
    assert not is_at_hand(ChunkedTable(values))


def test_a_table_that_must_be_in_memory():
    check_in_memory(np.ones((2, 3)), "of an array nothing is asked")
    with pytest.raises(
        TypeError, match="^folds: rows are drawn, in memory; take some$"
    ):
        check_in_memory(
            ChunkedTable(np.ones((2, 3))), "folds: rows are drawn", "take some"
        )


def test_a_second_column_of_ones_is_refused():
    with pytest.raises(ValueError, match="has a column of ones, and intercept=True"):
        with_ones(with_ones(ChunkedTable(np.ones((2, 3)))))


def test_the_driver_never_holds_the_table(tmp_path):
    """A twentieth of 200 x 200,000 (and of a block) in a file: standardising and the
    first steps hold less than half of what A takes as floats. (A whole fit at full size
    held 0.48 of it.)
    """
    M, N = 200, 10_000
    rng = np.random.default_rng(0)
    A = mapped(rng.integers(0, 3, size=(M, N), dtype=np.int8), tmp_path)
    y = A[:, :5].sum(1) + rng.normal(size=M)
    tracemalloc.start()
    try:
        B, y = standardize(ChunkedTable(A, chunk_size=chunked.CHUNK_NUMBERS // 20), y)
        fit = rvamp(B, y, 6.0, tol=0.1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert fit.n_iter >= 3 and fit.problem.A.source is A
    assert peak < 0.5 * 8 * M * N


def test_an_array_of_zarr_goes_through_dask(tmp_path):
    zarr = pytest.importorskip("zarr")
    pytest.importorskip("dask")
    values = integers(12, 40).astype(np.int8)
    A = zarr.open(tmp_path / "a.zarr", mode="w", shape=values.shape, dtype="i1")
    A[:] = values
    blocks = as_chunked(A)
    assert type(blocks).__name__ == "DaskTable"
    assert_allclose(blocks @ np.arange(40.0), values @ np.arange(40.0))


@pytest.mark.parametrize("only", [False, True])
def test_a_mapped_file_that_is_cut_off_is_an_error_and_not_the_end(tmp_path, only):
    """Reading what is not there any more ends the process (SIGBUS)."""
    path = tmp_path / "A.npy"
    np.save(path, np.ones((50, 400)))
    A = ChunkedTable(np.load(path, mmap_mode="r"), chunk_size=5000)
    A = A.take_columns(np.arange(300, 350)) if only else A
    A @ np.ones(A.shape[1])
    os.truncate(path, 1000)
    with pytest.raises(ChunkError, match="could not be read: the file has been cut"):
        A @ np.ones(A.shape[1])
