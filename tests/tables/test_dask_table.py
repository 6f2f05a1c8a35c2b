"""Tables in Dask: the array's answers by threads and by worker processes, what happens
when a worker is killed or a block cannot be read, and what reaches the driver.
"""

import os
import signal
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rvamp_nb import rvamp
from rvamp_nb.tables import chunked

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
import dask.array as da

from rvamp_nb.algorithm.likelihood import Logistic, PoissonLoss
from rvamp_nb.algorithm.lmmse import map_chunks
from rvamp_nb.algorithm.resampling import Subsample
from rvamp_nb.tables.dask_table import FAN, DaskTable, _Pass, _work_on_chunk
from rvamp_nb.tables.standardize import unit_columns

pytestmark = pytest.mark.filterwarnings("ignore:the chunks of A cut:UserWarning")
WIDE, TALL = (30, 200), (200, 30)
HANGS = 600  # seconds: nothing waits for a clock, but what hangs must end

# A worker that is forked, rather than begun, has imported everything already: the
# process that it is forked from imports this module.
ALONE = """
import sys
from multiprocessing import forkserver

from dask import config

if __name__ == "__main__":
    forkserver.set_forkserver_preload([sys.argv[1]])
    forkserver.ensure_running()
    config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    from distributed import LocalCluster

    kind = dict(n_workers=2, threads_per_worker=1, processes=True)
    with LocalCluster(**kind, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The address of two worker processes, in a process of their own: what other tests
    leave behind in this one is nothing to them. Who is killed is begun anew.
    """
    script = tmp_path_factory.mktemp("cluster") / "alone.py"
    script.write_text(ALONE)
    command = [sys.executable, str(script), __name__]
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    paths = os.pathsep.join(filter(None, sys.path))  # to find this module, too
    env = {**os.environ, "PYTHONPATH": paths}
    with subprocess.Popen(command, env=env, **pipes) as made:
        address = made.stdout.readline().strip()
        assert address, "the cluster did not come up"
        yield address
        made.stdin.close()


@pytest.fixture(autouse=True)
def ends():
    """A scheduler that has lost its workers would wait for ever."""

    def too_long(*_):
        raise TimeoutError(f"no answer within {HANGS} seconds")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(HANGS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def client(cluster):
    """Only a test that says so talks to them."""
    with distributed.Client(cluster) as made:
        made.wait_for_workers(2, timeout=HANGS)
        yield made


def values(shape, dtype=float, seed=0):
    rng = np.random.default_rng(seed)
    if dtype == np.int8:
        return rng.integers(0, 3, shape).astype(np.int8)
    return rng.normal(size=shape).astype(dtype)


def quietly(A, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return DaskTable(A, **options)


def quietly_only(panels, columns):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return panels.take_columns(columns)


def looked(X, d, U):
    """What a coupling asks: products, and a matrix in Fortran's order."""
    gram = X.gram(d) if hasattr(X, "S") else (X * d) @ X.T
    return (U @ X, U[0] @ X), (np.asfortranarray(gram), X @ d)


def everything(panels, seed=1):
    """All that a table can be asked, as one list of arrays."""
    rng = np.random.default_rng(seed)
    M, N = panels.shape
    x, U, d = rng.normal(size=N), rng.normal(size=(2, M)), rng.uniform(size=N)
    which, rows = rng.permutation(N)[:7], rng.permutation(M)[:5]
    answers = [panels @ x, panels.T @ U[0], U @ panels, panels[:, which], panels[rows]]
    answers += [panels[:, 3], panels[2], panels[:, np.arange(N) % 3 == 0]]
    if panels.axis if isinstance(panels, chunked.ChunkedTable) else M <= N:
        joined, summed = map_chunks(panels, looked, (d,), (U,))
        answers += [*joined, *summed]
    answers += chunked.column_sums(panels, U, U[:1])
    answers += [chunked.square_lengths(panels), panels[:, N // 2 :], panels[[]]]
    return [np.asarray(answer) for answer in answers]


def same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        assert_allclose(one, other, rtol=1e-11, atol=1e-11)


def identical(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        assert_array_equal(one, other)


CHUNKS = [(-1, 50), (-1, (7, 120, 73)), (10, 60), ((3, 27), -1), (-1, -1), (30, 5)]


@pytest.mark.parametrize("dtype", [float, np.float32, np.int8, bool])
@pytest.mark.parametrize("shape", [WIDE, TALL])
def test_every_type(shape, dtype):
    A = values(shape, float) > 0 if dtype is bool else values(shape, dtype)
    panels = quietly(da.from_array(A, chunks=(40, 40)))
    assert panels.source.dtype == dtype
    same(everything(panels), everything(A.astype(float)))


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("shape", [WIDE, TALL])
def test_every_kind_of_chunks(shape, chunks):
    A = values(shape)
    chunks = chunks if shape == WIDE else chunks[::-1]
    panels = quietly(da.from_array(A, chunks=chunks), chunk_size=400)
    assert panels.axis == (shape == WIDE)
    same(everything(panels), everything(A))


@pytest.mark.parametrize("shape", [WIDE, TALL])
def test_sparse_chunks_stay_sparse(shape):
    S = sparse.random(*shape, 0.2, format="csr", random_state=0)
    A = da.from_array(S.toarray(), chunks=(15, 25)).map_blocks(sparse.csr_matrix)
    panels = quietly(A)
    assert all(sparse.issparse(chunk.compute()) for chunk in panels.chunks[:2])
    same(everything(panels), everything(S.toarray()))


@pytest.mark.parametrize("kind", ["array", "sparse"])
@pytest.mark.parametrize("shape", [WIDE, TALL])
def test_centred_scaled_and_with_ones(shape, kind):
    dense = values(shape) + 1
    dense[:, 5] = 3.0
    A = da.from_array(dense, chunks=(40, 40))
    A = A.map_blocks(sparse.csr_matrix) if kind == "sparse" else A
    panels, norms, constant = unit_columns(quietly(A))
    assert isinstance(panels, DaskTable)
    centred = dense - dense.mean(0)
    lengths = np.linalg.norm(centred, axis=0)
    assert constant.tolist() == [i == 5 for i in range(shape[1])]
    centred[:, 5], lengths[5] = 0, 0
    assert_allclose(norms, lengths, atol=1e-12)
    scaled = centred / np.where(lengths, lengths, 1)
    wanted = np.column_stack([scaled, np.ones(shape[0])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing moves any more
        panels = panels.with_options(intercept=True)
    assert panels.shape == wanted.shape
    same(everything(panels), everything(wanted))
    last = len(panels.slices) - 1
    j = panels.slices[last]
    block = wanted[:, j] if panels.axis else wanted[j]
    assert_allclose(panels.reading(last), block, atol=1e-12)
    row_scale, some = np.arange(shape[0]) / 9, [3, 9, 1, 7, 0]
    weighted = panels.with_options(intercept=False, row_scale=row_scale)
    same(everything(weighted), everything(scaled * row_scale[:, None]))
    few = quietly_only(weighted, some)
    same(everything(few), everything(scaled[:, some] * row_scale[:, None]))


def test_borders_stay_and_are_cut_where_a_chunk_would_be_too_large():
    A = da.from_array(values((20, 100)), chunks=(5, (30, 60, 10)))
    for size, cut in (
        ("1MiB", (30, 60, 10)),
        ("4000", (15, 15, 20, 20, 20, 10)),
        ("1", (1,) * 100),
    ):
        with dask.config.set({"array.chunk-size": size}), pytest.warns(UserWarning):
            assert DaskTable(A).source.chunks == ((20,), cut)


def test_a_word_where_data_move_and_none_where_they_do_not(no_warning_leaks):
    A = da.from_array(values(WIDE), chunks=(-1, 60))
    assert DaskTable(A).source is A
    with pytest.warns(UserWarning, match=r"(?s)cut its columns.*46.88 kiB.*\(-1, \"a"):
        DaskTable(A.rechunk((10, 60)))
    with pytest.warns(UserWarning, match="cut its rows"):
        DaskTable(A.T.rechunk((60, 10)))


def test_what_is_refused():
    A = da.from_array(values(WIDE), chunks=(-1, 60))
    unknown = A[:, A[0] > 0]
    with pytest.raises(ValueError, match=r"chunks of A .*A.compute_chunk_sizes\(\)"):
        DaskTable(unknown)
    assert DaskTable(unknown.compute_chunk_sizes()).shape[0] == 30
    with pytest.raises(TypeError, match="A must hold real numbers only"):
        DaskTable(A * 1j)
    with pytest.raises(TypeError, match="takes a dask.array, not ndarray"):
        DaskTable(values(WIDE))


def test_without_dask_it_names_the_extra(monkeypatch):
    A = da.from_array(values(WIDE), chunks=(-1, 60))
    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(ImportError, match=r"rvamp-nb\[dask\]"):
        DaskTable(A)


def test_chunks_without_columns():
    A = values(WIDE)
    parts = [da.from_array(part) for part in np.split(A, (60, 60), axis=1)]
    panels = DaskTable(da.concatenate(parts, axis=1))
    assert [j.stop for j in panels.slices] == [60, 200]
    same(everything(panels), everything(A))


def test_the_tree_puts_every_answer_in_its_place_once():
    for K in (1, 2, FAN, FAN + 1, FAN**2, FAN**2 + 1, 3 * FAN**2 - 1):
        table = DaskTable(da.from_array(np.arange(K)[None], chunks=(1, 1)))
        with dask.config.set(scheduler="synchronous"):
            (joined,), (total,) = table.map_chunks(
                lambda X: ((X[0],), (2.0 ** X[:, 0],))
            )
        assert joined.tolist() == list(range(K)) and total == 2.0**K - 1


def test_what_is_added_stays_as_it_was():
    A = da.from_array(values(WIDE), chunks=(-1, 200))  # one chunk, no tree
    panels, u = DaskTable(A), np.ones(30)
    panels.T @ u  # noqa: B018
    assert_array_equal(u, 1)


@pytest.mark.parametrize("fails", [False, True])
def test_the_driver_has_one_thread_while_it_asks(fails):
    """And after it as many as before."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    A = da.from_array(values(WIDE), chunks=(-1, 20))

    def threads():
        found = threadpoolctl.threadpool_info()
        return {i["num_threads"] for i in found if i["user_api"] == "blas"}

    def work(X):
        assert not fails
        return (), (np.array([max(threads())]),)

    with (
        threadpoolctl.threadpool_limits(2, "blas"),
        dask.config.set(scheduler="threads"),
    ):
        if fails:
            with pytest.raises(AssertionError):
                DaskTable(A).map_chunks(work)
        else:
            assert DaskTable(A).map_chunks(work)[1][0] == 10  # one in each of ten
        assert threads() == {2}


# Digits


def digits(panels):
    """Answers of every kind, few of each."""
    M, N = panels.shape
    U, d = np.random.default_rng(1).normal(size=(2, M)), np.linspace(1, 2, max(M, N))
    answers = [U @ panels, panels @ d[:N], panels[:, [3, 17, 4]]]
    if panels.axis:
        joined, summed = panels.map_chunks(looked, (d,), (U,))
        answers += [*joined, *summed]
    return answers


@pytest.mark.parametrize("shape", [WIDE, TALL])
def test_the_same_digits_from_one_process_and_from_two(shape, client):
    A = da.from_array(values(shape), chunks=(30, 30) if shape == WIDE else (30, 15))
    panels = quietly(A, chunk_size=400)
    found = digits(panels)
    (only, *_) = client.scheduler_info(n_workers=-1)["workers"]
    with dask.annotate(workers=[only]):
        identical(found, digits(panels))
    for scheduler in "synchronous", "threads":
        with dask.config.set(scheduler=scheduler):
            identical(found, digits(panels))


def at_an_odd_address(array):
    """A read-only copy that begins where a network's buffer may begin."""
    buffer = b"x" + array.tobytes("F" if array.flags.f_contiguous else "C")
    flat = np.frombuffer(buffer, array.dtype, offset=1)
    order = "F" if array.flags.f_contiguous else "C"
    return flat.reshape(array.shape, order=order)


def fit_for_blas(X, d, U, nested):
    ready = [(x.flags.aligned, x.flags.writeable) for x in (d, U, nested[0])]
    return (d,), (np.array(ready, dtype=float), np.array([U.flags.f_contiguous * 1.0]))


def test_what_has_travelled_is_laid_down_anew():
    A, d, U = values(WIDE), np.arange(200.0), np.asfortranarray(values((30, 4)))
    assert not at_an_odd_address(U).flags.aligned
    whole = at_an_odd_address(U), (at_an_odd_address(d), "and a word")
    shared = _Pass(fit_for_blas, whole, dict(axis=1, chunk_size=1200))
    answer = _work_on_chunk(A, {}, [at_an_odd_address(d)], None, shared)
    (joined,), (ready, order) = answer
    assert_array_equal(joined, d)
    assert_array_equal(ready, 5)  # blocks within the chunk, each of them told so
    assert order == 5


def who(X, d):
    """Which process, how many threads, and where each column went."""
    from threadpoolctl import threadpool_info

    most = max(i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas")
    pid = np.full(X.shape[1], os.getpid())
    return (pid, d), (np.array([float(most)]),)


def test_the_work_is_done_by_the_workers(client):
    A = da.from_array(values(WIDE), chunks=(-1, 20))
    panels, pids = DaskTable(A), set(client.run(os.getpid).values())
    (pid, d), (threads,) = panels.map_chunks(who, (np.arange(200.0),))
    assert threads == len(panels.slices)
    assert_array_equal(d, np.arange(200))
    assert set(pid) <= pids and os.getpid() not in pids  # who is idle takes more


# Faults


def load(which, folder, die=(), fail=()):
    """A chunk of the same table, from a disk that counts its readings in a folder.

    At readings in `die` the worker that reads is killed, at those in `fail` the disk
    does not answer. -1 is every reading.
    """
    k = int(which[0, 0])
    mine = Path(folder, str(k))
    with mine.open("a") as file:
        file.write("x")
    reading = mine.stat().st_size
    if {reading, -1} & set(die):
        os.kill(os.getpid(), signal.SIGKILL)
    if {reading, -1} & set(fail):
        raise OSError("the disk does not answer")
    return values(WIDE)[:, 50 * k : 50 * k + 50]


def on_disk(folder, bad=2, **faults):
    """Four chunks of columns, one of them bad, read anew in every pass."""
    folder.mkdir(exist_ok=True)
    which = da.arange(4, chunks=1)[None, :]

    def one(which):
        return load(which, folder, **(faults if which[0, 0] == bad else {}))

    how = dict(chunks=((30,), (50,) * 4), dtype=float, meta=np.ones((0, 0)))
    return which.map_blocks(one, **how)


U = np.random.default_rng(5).normal(size=(3, 30))


def one_pass(panels):
    (products, _), (gram, _) = panels.map_chunks(
        looked, (np.linspace(1, 2, 200),), (U,)
    )
    return products, gram


@pytest.fixture
def undisturbed():
    with dask.config.set(scheduler="synchronous"):
        return one_pass(DaskTable(da.from_array(values(WIDE), chunks=(30, 50))))


def readings(folder):
    files = [Path(folder, str(k)) for k in range(4)]
    return [file.stat().st_size if file.exists() else 0 for file in files]


def test_a_block_that_fails_once_by_threads(tmp_path, undisturbed):
    """Threads try nothing again: the pass ends with the chunk's own error."""
    panels = DaskTable(on_disk(tmp_path, fail=(1,)))
    with pytest.raises(OSError, match="the disk does not answer"):
        one_pass(panels)
    identical(one_pass(panels), undisturbed)  # what was open is not concerned


def test_a_block_that_fails_once_by_a_cluster(tmp_path, undisturbed, client):
    identical(one_pass(DaskTable(on_disk(tmp_path, fail=(1,)))), undisturbed)
    assert readings(tmp_path) == [1, 1, 2, 1]  # no other is read again


@pytest.mark.parametrize("bad", [0, 2, 3])
def test_a_block_that_always_fails_is_named(tmp_path, bad):
    panels = DaskTable(on_disk(tmp_path, bad, fail=(-1,)))
    message = f"columns {50 * bad} to {50 * bad + 49} of A could not be read: .*disk"
    with pytest.raises(chunked.ChunkError, match=message):
        one_pass(panels)
    rows = DaskTable(on_disk(tmp_path, bad, fail=(-1,)).T)
    with pytest.raises(chunked.ChunkError, match=message.replace("columns", "rows")):
        rows.T @ np.ones(200)
    with pytest.raises(chunked.ChunkError, match=message):
        panels[:, 50 * bad + np.arange(3)]
    other = 50 * ((bad + 1) % 4)
    assert_array_equal(panels[:, other], values(WIDE)[:, other])  # not concerned


def test_a_block_that_always_fails_is_named_by_a_cluster(tmp_path, client):
    with pytest.raises(chunked.ChunkError, match="columns 100 to 149 of A"):
        one_pass(DaskTable(on_disk(tmp_path, fail=(-1,))))


def broken(X):
    raise np.linalg.LinAlgError(f"not with {X.shape[1]} columns")


def test_an_error_of_the_work_is_not_the_block_s(tmp_path):
    panels = DaskTable(on_disk(tmp_path))
    with pytest.raises(np.linalg.LinAlgError, match="not with 50 columns"):
        panels.map_chunks(broken)
    assert max(readings(tmp_path)) == 1  # nor is it tried again


def test_an_error_of_the_work_by_a_cluster(client):
    A = da.from_array(values(WIDE), chunks=(30, 50))
    with pytest.raises(np.linalg.LinAlgError, match="not with 50 columns"):
        DaskTable(A).map_chunks(broken)


# Fits


def problem(shape, answer="numbers", seed=3):
    rng = np.random.default_rng(seed)
    A = values(shape) / np.sqrt(shape[0])
    f = A[:, :4] @ [3.0, -2.0, 2.0, 1.0]
    if answer == "labels":
        return A, (f > 0) * 1.0
    if answer == "counts":
        return A, rng.poisson(np.exp(f / 3)) * 1.0
    return A, f + 0.3 * rng.normal(size=shape[0])


FITS = {
    "plain": ("numbers", {}),
    "intercept": ("numbers", dict(intercept=True)),
    "half-sampling": ("numbers", dict(resampling=Subsample(0.5))),
    "logistic": ("labels", dict(loss=Logistic(), intercept=True)),
    "Poisson": ("counts", dict(loss=PoissonLoss(), intercept=True)),
}
LAM = 0.15


def same_fit(found, wanted, rtol=1e-9):
    assert found.converged and wanted.converged
    for name in "Pi", "mean", "var":
        one, other = getattr(found, name), getattr(wanted, name)
        assert_allclose(one, other, rtol=0, atol=rtol * np.abs(other).max())


@pytest.mark.parametrize("k, kind", list(enumerate(FITS)))
def test_a_fit_is_the_dense_fit(k, kind):
    shape = (WIDE, TALL)[k % 2]
    answer, options = FITS[kind]
    A, y = problem(shape, answer)
    with dask.config.set(scheduler="synchronous"):
        found = rvamp(da.from_array(A, chunks=70), y, LAM, **options)
    assert isinstance(found.problem.A, DaskTable)
    same_fit(found, rvamp(A, y, LAM, **options))


def test_workers_are_killed(tmp_path, undisturbed, client):
    """One that holds blocks, between two passes; then two in the middle of a fit."""
    A = da.from_array(values(WIDE), chunks=(30, 50)).persist()
    distributed.wait(A)
    panels = DaskTable(A)
    identical(one_pass(panels), undisturbed)
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    identical(one_pass(panels), undisturbed)
    client.wait_for_workers(2, timeout=HANGS)
    y = problem(WIDE)[1]
    with dask.config.set(scheduler="synchronous"):
        wanted = rvamp(da.from_array(values(WIDE), chunks=(30, 50)), y, LAM, tol=1e-2)
    before = set(client.run(os.getpid).values())
    found = rvamp(on_disk(tmp_path / "disk", die=(5, 6)), y, LAM, tol=1e-2)
    passes = found.problem.A.passes
    assert passes > 8
    assert readings(tmp_path / "disk")[2] == passes + 2  # two ended a worker
    assert before - set(client.run(os.getpid).values())
    for name in "Pi", "mean", "var":
        assert_array_equal(getattr(found, name), getattr(wanted, name))


def made_there(which):
    """A chunk of ones and twos that only a worker has seen."""
    k = int(which[0, 0])
    return (np.arange(200 * 1250).reshape(200, 1250) % (k + 2) == 0) + 1.0


def test_the_driver_never_holds_the_table(client):
    which = da.arange(8, chunks=1)[None]
    how = dict(chunks=((200,), (1250,) * 8), dtype=float, meta=np.ones((0, 0)))
    panels = DaskTable(which.map_blocks(made_there, **how))
    whole = 8 * 200 * 10_000
    tracemalloc.start()
    try:
        panels = unit_columns(panels)[0]
        panels.map_chunks(looked, (np.ones(10_000),), (np.ones((3, 200)),))
        panels[:, [3, 9_000]]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.25 * whole
    assert panels.received < 0.1 * whole
