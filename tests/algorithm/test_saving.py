"""A fit is pickled: what comes back is equal to the last digit and answers as before.
A file that is written whole replaces another only when it is on the disk.
"""

import errno
import os
import pickle
import resource
import signal
import subprocess
import sys
from dataclasses import fields
from functools import lru_cache

import joblib
import numpy as np
import pytest
from models import PRIORS
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rvamp_nb import (
    Discrete,
    ElasticNet,
    Exponential,
    Grouped,
    GroupLasso,
    Huber,
    Laplace,
    Logistic,
    NonNegative,
    NoResampling,
    Poisson,
    PoissonLoss,
    Ridge,
    SpikeSlab,
    Squared,
    StabilitySelection,
    Stratified,
    Subsample,
    TwoPoint,
    Weakness,
    WeightedLoss,
    p1,
    p2,
    refine,
    rvamp,
    rvamp_path,
    with_clusters,
)
from rvamp_nb.algorithm.resampling import FixedFactor
from rvamp_nb.environment import unwritten_named, written_whole
from rvamp_nb.exceptions import ConvergenceWarning
from rvamp_nb.results import Fit
from rvamp_nb.tables.chunked import ChunkedTable

UMASK = os.umask(0)
os.umask(UMASK)
M, N = 40, 60
rng = np.random.default_rng(87)
A = rng.normal(size=(M, N)) / np.sqrt(M)
f = A[:, :4] @ np.array([3.0, -3.0, 2.0, 2.0])
y = f + rng.normal(0, 0.3, M) + 1.0
labels = (f > np.median(f)).astype(float)
events = rng.poisson(np.exp(np.clip(f / 3, -2, 2))).astype(float)
groups = np.repeat([f"patient {k}" for k in range(M // 4)], 4)
strata = np.repeat(labels[::4], 4)

KINDS = {
    "plain": (y, dict(lam=0.5)),
    "groups of columns": (y, dict(prior=GroupLasso(0.6, np.arange(N) // 3))),
    "weights of the penalties": (
        y,
        dict(
            prior=Laplace(
                np.linspace(0.4, 0.6, N), Weakness(0.4), np.arange(N) / N * 2.0
            )
        ),
    ),
    "ridge": (y, dict(prior=Ridge(0.5, FixedFactor()), resampling=Exponential(1.0))),
    "elastic net": (y, dict(prior=ElasticNet(0.5, TwoPoint(3.0, 0.2), l1_ratio=0.7))),
    "non-negative, intercept": (
        y,
        dict(prior=NonNegative(0.5), intercept=True, resampling=Subsample(0.5)),
    ),
    "spike and slab": (
        y,
        dict(prior=SpikeSlab(0.1, np.linspace(4, 5, N)), beta=1.0, loss=Squared(0.4)),
    ),
    "posterior": (y, dict(lam=0.5, beta=np.float64(2.0))),
    "logistic, intercept": (
        labels,
        dict(lam=0.2, loss=Logistic(), intercept=True, resampling=Subsample(0.6)),
    ),
    "poisson": (events, dict(lam=0.5, loss=PoissonLoss())),
    "huber, as it is": (y, dict(lam=0.5, loss=Huber(0.5), resampling=NoResampling())),
    "rows": (
        y,
        dict(
            lam=0.5,
            loss=WeightedLoss(Squared(), np.linspace(1, 2, M), np.linspace(0, 1, M)),
            resampling=Discrete([0, 1, 2, 3], [0.3, 0.3, 0.3, 0.1]),  # sum: not quite 1
        ),
    ),
    "strata": (y, dict(lam=0.5, resampling=Stratified(Subsample(0.5), list(strata)))),
    "groups": (y, dict(lam=0.5, resampling=Grouped(Poisson(1.0), groups))),
    "groups with strata, objects as labels": (
        y,
        dict(
            lam=0.5,
            resampling=Grouped(
                Stratified(Subsample(0.5), strata), groups.astype(object)
            ),
            intercept=True,
        ),
    ),
}
for name, prior in PRIORS.items():
    if "unpenali" in name:  # these have more columns than rows
        continue
    beta = 1.0 if name == "spike and slab" else np.inf
    KINDS[f"prior {name}"] = y, dict(prior=prior, beta=beta)


@lru_cache
def fitted(name):
    target, how = KINDS[name]
    return rvamp(A, target, **how)


def assert_equal(one, two):
    """Compare results field by field, down to the arrays that they are made of."""
    assert type(one) is type(two)
    if isinstance(one, np.ndarray) and one.dtype != object:
        assert_array_equal(one, two)
    elif isinstance(one, (tuple, list, np.ndarray)):
        assert len(one) == len(two)
        for part, other in zip(one, two):
            assert_equal(part, other)
    elif isinstance(one, dict):
        assert one.keys() == two.keys()
        for name, value in one.items():
            assert_equal(value, two[name])
    elif hasattr(one, "__dict__") and not isinstance(one, type):
        assert_equal(vars(one), vars(two))
    else:
        assert one == two


@pytest.mark.parametrize("name", [*KINDS, "clusters of columns"])
def test_a_fit_comes_back_to_the_last_digit(name):
    if name == "clusters of columns":
        fit = with_clusters(fitted("plain"), [[0, 1], [5, 9]])
    else:
        fit = fitted(name)
    again = pickle.loads(pickle.dumps(fit))
    for field in fields(Fit):
        assert_equal(getattr(fit, field.name), getattr(again, field.name))
    for what in ("mean", "var", "posterior_var", "intercept", "intercept_var"):
        assert_array_equal(getattr(fit, what), getattr(again, what))
    assert fit.selects == again.selects and repr(fit) == repr(again)
    if fit.selects:
        assert_array_equal(fit.Pi, again.Pi)
    x = np.linspace(-1, 4, 9)
    assert_array_equal(p1(fit, 1).pdf(x), p1(again, 1).pdf(x))
    if not fit.column_clusters and not fit.prior.column_groups:
        pairs = (p2(one, [0, 3]).covariance for one in (fit, again))
        assert_array_equal(*pairs)


def test_a_fit_without_an_answer_comes_back():
    with pytest.warns(ConvergenceWarning):
        fit = rvamp(A, y, 0.5, max_iter=2)
    none = Fit(fit.problem, None, False, 0, "nothing", fit.trace[:0])
    for one in (fit, none):
        again = pickle.loads(pickle.dumps(one))
        assert (again.converged, again.status) == (False, one.status)
        assert_array_equal(one.mean, again.mean)


def test_a_refined_fit_a_path_and_an_estimator_come_back(tmp_path):
    refined = refine(fitted("logistic, intercept"), n_resamples=50)
    path = rvamp_path(A, y, [0.6, 0.3])
    selector = StabilitySelection(n_resamples=50, verbose=0).fit(A, y)
    for k, one in enumerate((refined, path, selector)):
        joblib.dump(one, tmp_path / f"{k}.joblib")
        again = joblib.load(tmp_path / f"{k}.joblib")
        assert_equal(vars(one), vars(again))
    assert_array_equal(again.probabilities_, selector.probabilities_)
    assert_array_equal(p1(again, 1).pdf([0.5]), p1(selector, 1).pdf([0.5]))


@pytest.mark.parametrize("name", ["plain", "huber, as it is", "groups"])
def test_another_fit_goes_on_from_messages(name):
    """Which are as small as six numbers for each row or column."""
    (target, how), fit = KINDS[name], fitted(name)
    file = pickle.dumps(fit.messages)
    assert len(file) < 8 * 3 * (N + M) + (500 if name != "groups" else 8000)
    how = how | dict(lam=0.9 * how["lam"])
    near = rvamp(A, target, **how, warm_start=fit)
    again = rvamp(A, target, **how, warm_start=pickle.loads(file))
    assert_array_equal(near.mean, again.mean)
    assert_array_equal(near.trace.change, again.trace.change)


# ---- a run in stages


factor = 3 * rng.normal(size=(M, 1)) + A
RUNS = {
    "plain": (A, y, dict(lam=0.1)),
    "far too weak a penalty": (factor, y, dict(lam=5e-4)),
    "intercept": (A, y, dict(lam=0.1, loss=Huber(), intercept=True)),
    "posterior": (A, y, dict(lam=0.3, beta=1.0)),
    "groups": (A, y, dict(lam=0.5, resampling=Grouped(Poisson(1.0), groups))),
    "panels": (ChunkedTable(A, chunk_size=500), y, dict(lam=0.1)),
    "sparse": (sparse.csr_array(np.where(np.abs(A) > 0.2, A, 0)), y, dict(lam=0.1)),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_in_stages_arrives_at_the_same_answer(name):
    """Each stage starts from the messages of the one before, out of a file."""
    table, target, how = RUNS[name]
    whole = rvamp(table, target, **how, tol=1e-9)
    stage = rvamp(table, target, **how, tol=1e-3)
    messages = pickle.loads(pickle.dumps(stage.messages))
    fit = rvamp(table, target, **how, tol=1e-9, warm_start=messages)
    assert fit.converged and fit.n_iter < whole.n_iter
    close = dict(rtol=1e-6, atol=1e-6 * np.abs(whole.mean).max())
    assert_allclose(fit.mean, whole.mean, **close)
    assert_allclose(fit.var, whole.var, rtol=1e-5, atol=1e-7 * whole.var.max())


def test_a_fit_on_a_table_in_chunks_comes_back_with_it(tmp_path):
    """Of a mapped file the numbers go into the pickle."""
    np.save(tmp_path / "table.npy", A)
    dask_array, dask = map(pytest.importorskip, ("dask.array", "dask"))
    with dask.config.set(scheduler="synchronous"):
        for table in (
            ChunkedTable(np.load(tmp_path / "table.npy", mmap_mode="r")),
            dask_array.from_array(A, chunks=(M, 20)),
        ):
            fit = rvamp(table, y, 0.1, intercept=True)
            again = pickle.loads(pickle.dumps(fit))
            assert_array_equal(again.mean, fit.mean)
            assert rvamp(again.problem.A, y, 0.1).converged


# ---- files that are written whole


def write(path, data):
    with unwritten_named(path), written_whole([path]) as (file,):
        file.write(data)


@pytest.fixture
def path(tmp_path):
    """A file that is there."""
    write(tmp_path / "fit.bin", b"old" * 1000)
    return tmp_path / "fit.bin"


def test_what_is_no_regular_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", "/dev/null", "/dev/zero"):
        with pytest.raises(FileExistsError, match="a device or a pipe"):
            write(place, b"new")
    with pytest.raises(IsADirectoryError, match="give the name of a file"):
        write(tmp_path, b"new")
    with pytest.raises(FileExistsError):
        with written_whole([tmp_path / "new", tmp_path / "pipe"]):
            pass
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_what_is_written_over_keeps_its_permissions(path, mode, monkeypatch):
    seen, real = [], os.fsync
    path.chmod(mode)
    watch = lambda f: (seen.append(os.fstat(f).st_mode & 0o777), real(f))
    monkeypatch.setattr(os, "fsync", watch)
    write(path, b"new")
    assert path.stat().st_mode & 0o777 == mode and seen == [0o600]
    new = path.parent / "new"
    with written_whole([new, path]) as (first, file):
        file.write(b"x"), first.write(b"y")
    assert new.stat().st_mode & 0o777 == 0o666 & ~UMASK
    assert path.stat().st_mode & 0o777 == mode and path.read_bytes() == b"x"


def test_a_full_disk_leaves_the_old_file_whole(path):
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    for room in (0, 10, 1000, len(before) - 10):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
        try:
            with pytest.raises(
                OSError, match=r"nothing was changed.*fit\.bin"
            ) as error:
                write(path, b"new" * 1000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert error.value.errno == errno.EFBIG
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == ["fit.bin"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_what_fails_at_the_end_leaves_the_old_file_whole(path, monkeypatch, step):
    before = path.read_bytes()

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="No space.*with room on its disk"):
        write(path, b"new")
    assert path.read_bytes() == before and os.listdir(path.parent) == ["fit.bin"]


def test_where_nothing_can_be_written_it_says_what_to_do(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "closed").mkdir(mode=0o555)
    root = os.geteuid() == 0
    for place, error in (
        ("none", FileNotFoundError),
        ("file", NotADirectoryError),
        ("closed", PermissionError),
    ):
        try:
            if root and place == "closed":
                os.seteuid(65534)
            with pytest.raises(error, match="a folder that is there, that you may"):
                write(tmp_path / place / "fit.bin", b"new")
        finally:
            if root:
                os.seteuid(0)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "file")
    write(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert os.listdir(tmp_path / "real") == ["file"]


KILLED = """
import os, signal, sys
from rvamp_nb.environment import written_whole
with written_whole([sys.argv[1]]) as (file,):
    file.write(b"new")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_killed_while_it_writes_leaves_the_old_file_whole(path):
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", KILLED, path])
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    there = set(os.listdir(path.parent))  # and what was begun, under another name,
    assert len(there) == 2
    write(path.parent / "my-fit.bin", b"new")
    assert there < set(os.listdir(path.parent))  # which is nobody's to remove
