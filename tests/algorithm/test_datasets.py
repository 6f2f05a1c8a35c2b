"""Data sets, standardising, λ by cross-validation, and the riboflavin loader against
a local server.
"""

import hashlib
import os
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pooch
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from rvamp_nb import datasets, rvamp
from rvamp_nb.datasets import (
    choose_lambda,
    gaussian_design,
    load_diabetes,
    load_riboflavin,
    random_dct,
    standardize,
    toy,
)
from rvamp_nb.tables.chunked import ChunkedTable
from rvamp_nb.tables.standardize import unit_columns


def assert_standard(A, y):
    np.testing.assert_allclose(A.sum(0), 0, atol=1e-12)
    np.testing.assert_allclose((A**2).sum(0), 1, rtol=1e-12)
    np.testing.assert_allclose(y.sum(), 0, atol=1e-9 * np.abs(y).max())


# --- synthetic ------------------------------------------------------------------------
@pytest.mark.parametrize(
    "make, shape",
    [
        (partial(random_dct, 512, 0.15), (77, 512)),
        (partial(random_dct, 512, 0.3), (154, 512)),
        (partial(random_dct, 64, 1.0), (64, 64)),
        (partial(gaussian_design, 30, 80), (30, 80)),
        (partial(gaussian_design, 80, 30, 0.7), (80, 30)),
        (partial(gaussian_design, 9, 1), (9, 1)),
    ],
)
def test_synthetic_data_are_standard_and_reproducible(make, shape):
    d = make(seed=3)
    assert (
        d.A.shape == shape
        and d.y.shape == shape[:1]
        and d.x0.shape == shape[1:]
        and len(d.names) == shape[1]
    )
    assert_standard(d.A, d.y)
    np.testing.assert_array_equal(d.A, make(seed=3).A)
    np.testing.assert_array_equal(d.y, make(seed=3).y)
    assert not np.array_equal(d.y, make(seed=4).y)


@pytest.mark.parametrize(
    "make", [partial(random_dct, 200, 0.4), partial(gaussian_design, 60, 90, 0.5)]
)
def test_the_truth_is_on_the_scale_of_the_returned_columns(make):
    d = make(noise=0.0, density=0.3)
    np.testing.assert_allclose(d.y, d.A @ d.x0, atol=1e-12)
    noisy = make(noise=0.2, density=0.3)
    np.testing.assert_allclose(np.std(noisy.y - noisy.A @ noisy.x0), 0.2, rtol=0.25)


def test_density_of_the_truth():
    assert not random_dct(density=0.0).x0.any()
    assert random_dct(density=1.0).x0.all()
    np.testing.assert_allclose(
        np.mean(random_dct(N=4000, ratio=0.01, density=0.2).x0 != 0), 0.2, atol=0.03
    )


@pytest.mark.parametrize("rho", [0.0, 0.7, -0.5])
def test_toeplitz_correlation(rho):
    C = np.corrcoef(gaussian_design(40_000, 8, rho).A.T)
    np.testing.assert_allclose(
        C, rho ** np.abs(np.subtract.outer(np.arange(8), np.arange(8))), atol=0.03
    )


def test_dct_rows_are_orthonormal_rows_of_the_full_matrix():
    rows = datasets._dct_rows(np.array([0, 5, 17]), 40)
    np.testing.assert_allclose(rows @ rows.T, np.eye(3), atol=1e-13)


@pytest.mark.parametrize(
    "make, error, word",
    [
        (lambda: random_dct(N=1), ValueError, "N"),
        (lambda: random_dct(N=5.5), TypeError, "N"),
        (lambda: random_dct(ratio=0), ValueError, "ratio"),
        (lambda: random_dct(ratio=1.01), ValueError, "ratio"),
        (lambda: random_dct(N=10, ratio=0.1), ValueError, "ratio"),
        (lambda: random_dct(density=-0.1), ValueError, "density"),
        (lambda: random_dct(density=1.5), ValueError, "density"),
        (lambda: random_dct(noise=-1), ValueError, "noise"),
        (lambda: random_dct(noise="loud"), TypeError, "noise"),
        (lambda: gaussian_design(1, 5), ValueError, "M"),
        (lambda: gaussian_design(5, 0), ValueError, "N"),
        (lambda: gaussian_design(5, 5, 1.0), ValueError, "rho"),
        (lambda: gaussian_design(5, 5, rho=np.nan), ValueError, "rho"),
        (lambda: gaussian_design(5, "5"), TypeError, "N"),
    ],
)
def test_bad_designs(make, error, word):
    with pytest.raises(error, match=word):
        make()


def test_toy_is_the_running_example():
    A, y, x0, names = toy()
    np.testing.assert_array_equal(A[:, 0], [1.0, 0.5, -0.8])
    np.testing.assert_array_equal(y, [1.2, -0.3, 0.4])
    assert A.shape == (3, 1) and x0 is None and len(names) == 1


# --- standardize ----------------------------------------------------------------------
@given(
    st.integers(2, 12),
    st.floats(-120, 120),
    st.floats(-1e3, 1e3),
    st.integers(0, 10_000),
)
def test_scale_and_shift_do_not_matter(M, exponent, shift, seed):
    A = np.random.default_rng(seed).normal(size=(M, 2))
    base, _ = standardize(A)
    moved, _ = standardize((A + shift) * 10.0**exponent)
    np.testing.assert_allclose(moved, base, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e307])
def test_extreme_units(scale):
    A = np.array([[1.0, -1.0], [0.5, 0.2], [-1.5, 0.7]])
    np.testing.assert_allclose(standardize(A * scale)[0], standardize(A)[0], atol=1e-12)


def test_twice_is_once():
    d = load_diabetes()
    A, y = standardize(d.A, d.y)
    np.testing.assert_allclose(A, d.A, atol=1e-14)
    np.testing.assert_allclose(y, d.y, atol=1e-11)


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 1e200, 1e-300, 12345678.9])
def test_constant_columns_stay_zero_and_are_named(value):
    A = np.random.default_rng(0).normal(size=(101, 3))
    A[:, 1] = value
    with pytest.warns(UserWarning, match=r"stay zero: b$"):
        B, y = standardize(A, names=["a", "b", "c"])
    assert y is None and not B[:, 1].any() and np.isfinite(B).all()
    np.testing.assert_allclose((B[:, [0, 2]] ** 2).sum(0), 1, rtol=1e-12)


def test_a_tiny_wiggle_on_a_large_offset_is_not_constant(recwarn):
    A = np.c_[1e6 + 1e-4 * np.arange(20.0)]
    np.testing.assert_allclose(
        standardize(A)[0], standardize(np.c_[np.arange(20.0)])[0], atol=1e-6
    )
    assert not recwarn


def test_data_frames_bring_their_names():
    frame = pd.DataFrame({"height": [1.0, 2, 4], "always": [3, 3, 3]})
    with pytest.warns(UserWarning, match="always"):
        A, y = standardize(frame, pd.Series([1, 2, 3]))
    assert type(y) is np.ndarray and [*A.columns] == ["height", "always"]
    assert list(frame["height"]) == [1.0, 2, 4] and not frame.attrs


def test_a_frame_knows_what_was_done_to_it():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(5 + rng.normal(size=(30, 3)), columns=[*"abc"])
    frame.index = frame.index + 7
    frame["c"] = 2.0
    with pytest.warns(UserWarning, match="constant"):
        A, y = standardize(frame, frame["a"] * 3)
    np.testing.assert_array_equal(A, unit_columns(frame.to_numpy())[0])
    center, scale = (pd.Series(A.attrs[key]) for key in ("center", "scale"))
    pd.testing.assert_frame_equal(A * scale + center, frame)
    assert scale["c"] == 0 and [*A.index] == [*frame.index]
    fit = rvamp(A, y, 0.1)
    assert [*fit.names] == [*"abc"] and fit.Pi[0] > 0.9


@pytest.mark.parametrize(
    "convert",
    [
        list,
        lambda A: A.astype(np.float32),
        lambda A: (8 * A).astype(int),
        np.asfortranarray,
        lambda A: np.repeat(A, 2, 0)[::2],
    ],
)
def test_other_forms_of_input(convert):
    A = np.round(8 * np.random.default_rng(0).normal(size=(9, 4))) / 8
    given_ = convert(A.tolist() if convert is list else A)
    np.testing.assert_allclose(standardize(given_)[0], standardize(A)[0], atol=1e-6)


def test_input_is_never_modified():
    A, y = np.random.default_rng(0).normal(size=(9, 4)), np.arange(9.0)
    before = A.copy(), y.copy()
    A.flags.writeable = y.flags.writeable = False
    standardize(A, y), choose_lambda(A, y, cv=3)
    (
        np.testing.assert_array_equal(A, before[0]),
        np.testing.assert_array_equal(y, before[1]),
    )


@pytest.mark.parametrize(
    "A, y, error, word",
    [
        ([[1.0, np.nan], [2, 3]], None, ValueError, "NaN"),
        ([[1.0, np.inf], [2, 3]], None, ValueError, "infinite"),
        ([["1", "2"], ["3", "4"]], None, TypeError, "text"),
        (np.array([[1, "a"], [2, "b"]], dtype=object), None, TypeError, "text"),
        ([[1, None], [2, 3]], None, (TypeError, ValueError), "A"),
        (np.ones((2, 2)) * 1j, None, TypeError, "complex"),
        (None, None, TypeError, "A is None"),
        (np.ones(3), None, ValueError, "shape"),
        (np.ones((0, 3)), None, ValueError, "shape"),
        (np.ones((3, 0)), None, ValueError, "shape"),
        (np.ones((2, 2, 2)), None, ValueError, "shape"),
        (np.eye(3), np.ones(2), ValueError, "y must"),
        (np.eye(3), np.ones((3, 1)), ValueError, "y must"),
        (np.eye(3), [1, np.nan, 2], ValueError, "y has"),
        (np.eye(3), ["a", "b", "c"], TypeError, "y must"),
        (scipy.sparse.csr_array(np.eye(3)) * 1j, None, TypeError, "real numbers"),
        (scipy.sparse.csr_array([[1, np.nan], [2, 3]]), None, ValueError, "column 1"),
        (
            ChunkedTable(np.array([[1, np.inf], [2, 3]])),
            None,
            ValueError,
            "in column 1",
        ),
        (scipy.sparse.csr_array(np.eye(3)), np.ones(2), ValueError, "y must"),
        (pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), None, TypeError, "A must"),
        (
            pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2021-01-01"])}),
            None,
            TypeError,
            "dates",
        ),
    ],
)
def test_bad_tables(A, y, error, word):
    with pytest.raises(error, match=word):
        standardize(A, y)
    with pytest.raises((TypeError, ValueError)):
        choose_lambda(A, y)


def test_wrong_number_of_names():
    with pytest.raises(ValueError, match="names"):
        standardize(np.eye(3), names=["a"])


# --- λ --------------------------------------------------------------------------------
def test_choose_lambda_is_m_times_alpha():
    from sklearn.linear_model import LassoCV
    from sklearn.model_selection import KFold

    d = load_diabetes()
    alpha = (
        LassoCV(cv=KFold(10, shuffle=True, random_state=0), max_iter=100_000)
        .fit(d.A, d.y)
        .alpha_
    )
    np.testing.assert_allclose(choose_lambda(d.A, d.y), 442 * alpha, rtol=1e-9)


def test_choose_lambda_scales_and_repeats():
    d = random_dct(N=100, ratio=0.5)
    lam = choose_lambda(d.A, d.y, cv=5, seed=1)
    assert isinstance(lam, float) and lam == choose_lambda(d.A, d.y, cv=5, seed=1)
    np.testing.assert_allclose(
        [
            choose_lambda(d.A, 3 * d.y, cv=5, seed=1),
            choose_lambda(3 * d.A, d.y, cv=5, seed=1),
        ],
        3 * lam,
        rtol=1e-3,
    )
    assert 0 < lam <= np.abs(d.A.T @ d.y).max() * (1 + 1e-9)


@pytest.mark.parametrize(
    "change, word",
    [
        (dict(y=np.ones(20)), "constant"),
        (dict(y=None), "y must"),
        (dict(cv=1), "cv"),
        (dict(cv=21), "folds"),
        (dict(A=np.ones((20, 3))), "constant"),
    ],
)
def test_choose_lambda_refuses(change, word):
    d = gaussian_design(20, 5)
    with pytest.raises(ValueError, match=word):
        choose_lambda(**{"A": d.A, "y": d.y, **change})


# --- tables in blocks -----------------------------------------------------------------
def in_forms(A, block):
    """The table in blocks of columns or of rows, and sparse."""
    return ChunkedTable(A, chunk_size=block), ChunkedTable(
        scipy.sparse.csr_array(A), chunk_size=block
    )


@pytest.mark.parametrize("shape", [(9, 20), (20, 9)])
def test_a_table_in_blocks_is_standardised_as_it_is_read(shape):
    rng = np.random.default_rng(0)
    A, y = rng.normal(3, 2, size=shape), rng.normal(size=shape[0])
    A[:, 4] = 0.1
    with pytest.warns(UserWarning):
        expected, centred = standardize(A, y)
    for table in in_forms(A, 30):
        with pytest.warns(UserWarning, match=r"stay zero: x\[4\]$"):
            B, z = standardize(table, y)
        assert isinstance(B, ChunkedTable) and B.source is table.source
        np.testing.assert_allclose(B[:, :], expected, atol=1e-13)
        np.testing.assert_array_equal(z, centred)
    sparse_table = scipy.sparse.csc_matrix(A)
    with pytest.warns(UserWarning, match=r"stay zero: e$"):
        B, _ = standardize(sparse_table, names="abcdefghijklmnopqrstuvwxyz"[: shape[1]])
    np.testing.assert_allclose(B[:, :], expected, atol=1e-13)


def test_a_mapped_table_is_standardised_without_a_copy(tmp_path, monkeypatch):
    monkeypatch.setattr("rvamp_nb.tables.dispatch.CHUNK_NUMBERS", 100)
    A = np.random.default_rng(1).integers(0, 3, size=(20, 50)).astype(np.int8)
    np.save(tmp_path / "A.npy", A)
    B, _ = standardize(np.load(tmp_path / "A.npy", mmap_mode="r"))
    assert isinstance(B.source, np.memmap) and B.source.dtype == np.int8
    np.testing.assert_allclose(B[:, :], standardize(A.astype(float))[0], atol=1e-13)


def test_choose_lambda_refuses_tables_in_blocks():
    d = gaussian_design(20, 30)
    for table in in_forms(d.A, 100):
        with pytest.raises(TypeError, match="in memory.*rvamp_path"):
            choose_lambda(table, d.y)


# --- real data ------------------------------------------------------------------------
def test_diabetes_has_its_64_features():
    d = load_diabetes()
    assert d.A.shape == (442, 64) and d.x0 is None and len(set(d.names)) == 64
    assert_standard(d.A, d.y)
    assert (
        {"bmi", "bmi*bp", "bmi^2", "age*sex", "s5*s6"} <= set(d.names)
        and "sex^2" not in d.names
        and sum("^2" in n for n in d.names) == 9
    )
    from sklearn.datasets import load_diabetes as raw

    X = raw().data
    for name, column in (
        ("bmi*bp", X[:, 2] * X[:, 3]),
        ("s6^2", X[:, 9] ** 2),
        ("sex", X[:, 1]),
    ):
        np.testing.assert_allclose(
            np.corrcoef(d.A[:, d.names.index(name)], column)[0, 1], 1, rtol=1e-12
        )


# --- riboflavin -----------------------------------------------------------------------
@pytest.fixture
def server(tmp_path, monkeypatch):
    """A local HTTP server in place of the mirror, an empty cache, and no file named
    by the environment.
    """
    served, cache, requests = tmp_path / "served", tmp_path / "cache", []
    served.mkdir()

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *a):
            super().__init__(*a, directory=str(served))

        def log_message(self, *a):
            pass

        def do_GET(self):
            requests.append(self.path)
            super().do_GET()

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=httpd.serve_forever, args=(0.05,), daemon=True).start()
    monkeypatch.setattr(
        datasets, "RIBOFLAVIN_URL", f"http://127.0.0.1:{httpd.server_address[1]}/"
    )
    monkeypatch.setattr(pooch, "os_cache", lambda project: cache / project)
    monkeypatch.delenv("RVAMP_NB_RIBOFLAVIN", raising=False)
    for name in (
        "http_proxy",
        "https_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    yield served, requests
    httpd.shutdown(), httpd.server_close()


def test_download_is_checked_and_kept(server, monkeypatch):
    served, requests = server
    (served / "riboflavin.RData").write_bytes(b"some bytes")
    monkeypatch.setattr(
        datasets, "RIBOFLAVIN_SHA256", hashlib.sha256(b"some bytes").hexdigest()
    )
    first = datasets._riboflavin_file(None)
    assert Path(first).read_bytes() == b"some bytes"
    assert requests == ["/riboflavin.RData"]
    # the second time from the cache
    assert datasets._riboflavin_file(None) == first and len(requests) == 1


def test_download_with_wrong_bytes_is_refused(server):
    served, requests = server
    (served / "riboflavin.RData").write_bytes(b"something else")
    with pytest.raises(ValueError, match=r"riboflavin .*hash(.|\n)*: get .*\(path\)"):
        load_riboflavin()
    assert requests


def test_download_of_nothing_fails_loudly(server):
    with pytest.raises(OSError, match="the riboflavin data .*404.*: get .*path"):
        load_riboflavin()


def test_local_file_with_wrong_bytes_is_refused(tmp_path, monkeypatch, server):
    wrong = tmp_path / "riboflavin.RData"
    wrong.write_bytes(b"not R")
    with pytest.raises(ValueError, match="SHA-256"):
        load_riboflavin(wrong)
    monkeypatch.setenv("RVAMP_NB_RIBOFLAVIN", str(wrong))
    with pytest.raises(ValueError, match="SHA-256"):
        load_riboflavin()
    monkeypatch.setenv("RVAMP_NB_RIBOFLAVIN", str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError, match="missing"):
        load_riboflavin()
    with pytest.raises(FileNotFoundError, match="elsewhere"):
        load_riboflavin("elsewhere")
    assert not server[1]  # never asked the network


@pytest.fixture
def the_file():
    """Asked for before `server`, which forgets it."""
    return os.environ["RVAMP_NB_RIBOFLAVIN"]


@pytest.mark.riboflavin
def test_riboflavin_from_the_server_and_from_the_file(the_file, server, monkeypatch):
    served, requests = server
    shutil.copy(the_file, served / "riboflavin.RData")
    d = load_riboflavin()
    assert requests and d.A.shape == (71, 4088) and d.y.shape == (71,) and d.x0 is None
    assert_standard(d.A, d.y)
    assert (
        d.names[0] == "AADK_at"
        and len(set(d.names)) == 4088
        and all(type(n) is str for n in d.names)
    )
    monkeypatch.setenv("RVAMP_NB_RIBOFLAVIN", the_file)
    for again in (load_riboflavin(), load_riboflavin(the_file)):
        np.testing.assert_array_equal(again.A, d.A)
    assert len(requests) == 1
    strongest = np.argsort(-np.abs(d.A.T @ d.y))[:10]
    # the gene every analysis of these data finds
    assert "YXLD_at" in [d.names[i] for i in strongest]
