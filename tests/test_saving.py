"""A fit on disk: all of it, whole or not at all, and read without running anything."""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import warnings
import zipfile
from functools import lru_cache

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from rvamp_nb import (
    Discrete,
    ElasticNet,
    Exponential,
    Fixed,
    Grouped,
    Huber,
    Laplace,
    Logistic,
    NonNegative,
    NoResampling,
    Poisson,
    PoissonLoss,
    Ridge,
    Rows,
    SpikeSlab,
    Squared,
    Stratified,
    Subsample,
    TwoPoint,
    Weakness,
    corrected,
    p1,
    p2,
    rvamp,
    saving,
)
from rvamp_nb.prior import Prior
from rvamp_nb.saving import (
    Checkpoint,
    FileError,
    Packing,
    Unpacking,
    header,
    load_fit,
    load_state,
    recognise,
    save_fit,
    save_state,
)
from rvamp_nb.solver import ConvergenceWarning
from rvamp_nb.step import Problem, State, initial_state
from rvamp_nb.tables.storage import Panels

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
    "weights of the penalties": (
        y,
        dict(
            prior=Laplace(
                np.linspace(0.4, 0.6, N), Weakness(0.4), np.arange(N) / N * 2.0
            )
        ),
    ),
    "ridge": (y, dict(prior=Ridge(0.5, Fixed()), counts=Exponential(1.0))),
    "elastic net": (y, dict(prior=ElasticNet(0.5, TwoPoint(3.0, 0.2), l1_ratio=0.7))),
    "non-negative, intercept": (
        y,
        dict(prior=NonNegative(0.5), intercept=True, counts=Subsample(0.5)),
    ),
    "spike and slab": (
        y,
        dict(
            prior=SpikeSlab(0.1, np.linspace(4, 5, N)),
            beta=1.0,
            likelihood=Squared(0.4),
        ),
    ),
    "posterior": (y, dict(lam=0.5, beta=np.float64(2.0))),
    "logistic, intercept": (
        labels,
        dict(lam=0.2, likelihood=Logistic(), intercept=True, counts=Subsample(0.6)),
    ),
    "poisson": (events, dict(lam=0.5, likelihood=PoissonLoss())),
    "huber, as it is": (y, dict(lam=0.5, likelihood=Huber(0.5), counts=NoResampling())),
    "rows": (
        y,
        dict(
            lam=0.5,
            likelihood=Rows(Squared(), np.linspace(1, 2, M), np.linspace(0, 1, M)),
            counts=Discrete([0, 1, 2, 3], [0.3, 0.3, 0.3, 0.1]),  # sum: not quite 1
        ),
    ),
    "strata": (y, dict(lam=0.5, counts=Stratified(Subsample(0.5), list(strata)))),
    "groups": (y, dict(lam=0.5, counts=Grouped(Poisson(1.0), groups))),
    "groups with strata, objects as labels": (
        y,
        dict(
            lam=0.5,
            counts=Grouped(Stratified(Subsample(0.5), strata), groups.astype(object)),
            intercept=True,
        ),
    ),
}


def fitted(name, **more):
    return _fitted(name) if not more else _solved(name, **more)


@lru_cache
def _fitted(name):
    return _solved(name)


def _solved(name, **more):
    target, how = KINDS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return rvamp(A, target, **how | more)


@pytest.fixture(scope="module")
def plain():
    return fitted("plain")


@pytest.fixture
def path(tmp_path, plain):
    save_fit(plain, tmp_path / "fit.npz")
    return tmp_path / "fit.npz"


def assert_same(one, two, where=""):
    """All that is inside, of the same class and to the last digit; tables apart."""
    assert type(one) is type(two), where
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (two.dtype, two.shape), where
        assert one.tobytes() == two.tobytes(), where
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(two), where
        for k, (a, b) in enumerate(zip(one, two)):
            assert_same(a, b, f"{where}.{k}")
    elif hasattr(one, "__dict__") and not callable(one):
        assert vars(one).keys() == vars(two).keys(), where
        for name in vars(one):
            if name not in ("groups", "strata", "names"):  # labels as an array
                assert_same(vars(one)[name], vars(two)[name], f"{where}.{name}")
    elif not callable(one):
        assert one == two or one != one, where


@pytest.mark.parametrize("name", KINDS)
def test_all_of_a_fit_comes_back(tmp_path, name):
    fit = fitted(name)
    save_fit(fit, tmp_path / "fit")
    for again in (load_fit(tmp_path / "fit"), load_fit(tmp_path / "fit", A)):
        assert_same(fit.problem[1:], again.problem[1:])
        assert_same(fit.last, again.last)
        assert_same(fit.trace, again.trace)
        for what in ("mean", "var", "posterior_var", "intercept", "intercept_var"):
            assert_array_equal(getattr(fit, what), getattr(again, what))
        for what in ("status", "converged", "n_iter", "has_intercept"):
            assert getattr(fit, what) == getattr(again, what)
        assert hasattr(fit, "Pi") == hasattr(again, "Pi")
        if hasattr(fit, "Pi"):
            assert_array_equal(fit.Pi, again.Pi)
        assert repr(fit) == repr(again)
        one, two = p1(fit, 1), p1(again, 1)
        assert_array_equal(
            one.pdf(np.linspace(-1, 4, 9)), two.pdf(np.linspace(-1, 4, 9))
        )
    assert_array_equal(fit.problem.A, again.problem.A)
    assert_array_equal(p2(fit, [0, 3]).covariance, p2(again, [0, 3]).covariance)


@pytest.mark.parametrize("name", ["plain", "huber, as it is", "groups"])
def test_another_fit_goes_on_from_it_with_the_same_digits(tmp_path, name):
    fit = fitted(name)
    save_fit(fit, tmp_path / "fit.npz")
    save_state(fit, tmp_path / "state.npz", about={"why": ["a test", 1, None]})
    lam = 0.9 * KINDS[name][1]["lam"]
    near = fitted(name, lam=lam, warm_start=fit)
    for start in (
        load_fit(tmp_path / "fit.npz"),
        load_state(tmp_path / "fit.npz"),
        load_state(tmp_path / "state.npz"),
    ):
        again = fitted(name, lam=lam, warm_start=start)
        assert_array_equal(near.mean, again.mean)
        assert_array_equal(near.trace.change, again.trace.change)
    assert header(tmp_path / "state.npz")["about"] == {"why": ["a test", 1, None]}


def test_a_fit_without_a_step_and_one_that_has_not_converged(tmp_path):
    with pytest.warns(ConvergenceWarning):
        fit = rvamp(A, y, 0.5, max_iter=2)
    none = type(fit)(fit.problem, None, False, 0, "nothing", fit.trace[:0])
    for one in (fit, none):
        save_fit(one, tmp_path / "fit.npz")
        again = load_fit(tmp_path / "fit.npz")
        assert_array_equal(one.mean, again.mean)
        assert (again.converged, again.status) == (False, one.status)
        assert_array_equal(one.trace, again.trace)


def test_the_same_fit_gives_the_same_bytes_with_and_without_its_table(path, plain):
    first = path.read_bytes()
    for again in (plain, load_fit(path), load_fit(path, A)):
        save_fit(again, path)
        assert path.read_bytes() == first


def test_anybody_can_look_inside_without_pickle_and_without_this_package(path, plain):
    with np.load(path, allow_pickle=False) as file:
        for name in file.files:
            file[name]
        said = json.loads(file["header.json"], parse_constant=pytest.fail)
        assert_array_equal(file["last.x.mean"], plain.mean)
        assert_array_equal(file["problem.y"], y)
    assert said["rvamp_nb"] and said["format"] == saving.FORMAT
    assert path.stat().st_size < 3 * 8 * (15 * N + 15 * M)


def test_an_array_that_stands_in_two_places_is_written_once(plain):
    pack = Packing()
    pack((plain.last, plain.last, [plain.last.x]))
    arrays = list(pack.arrays.values())
    assert len({id(a) for a in arrays}) == len(arrays)
    pack = Packing()
    fit = fitted("groups")
    layouts = {id(m.layout) for m in (fit.last.new[1], fit.last.state[1])}
    again = Unpacking(pack.arrays)(pack(fit.last)) if layouts else None
    assert again.new[1].layout is again.state[1].layout


# ---- the table


def test_a_table_is_known_however_it_is_read():
    facts = recognise(A)
    for B in (Panels(A, block=300), Panels(A, axis=0, block=300), np.asfortranarray(A)):
        assert saving._same(facts, recognise(B))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda B: B[::-1],
        lambda B: B[:, ::-1],
        lambda B: -B,
        lambda B: B * (1 + 1e-7),
        lambda B: np.where(np.arange(B.size).reshape(B.shape) == 77, B + 1e-7, B),
        lambda B: B[:, [*range(10), 11, 10, *range(12, N)]],
    ],
)
def test_another_table_is_refused_by_name(path, spoil):
    with pytest.raises(
        ValueError, match=r"not the table of the fit in .*fit\.npz.*numb"
    ):
        load_fit(path, spoil(A))
    with pytest.raises(
        ValueError, match=r"had the shape \(40, 60\), this has \(40, 59\)"
    ):
        load_fit(path, A[:, 1:])
    with pytest.raises(TypeError, match="A must hold real numbers"):
        load_fit(path, "a word")


def test_a_table_in_blocks_is_taken_with_and_without_a_column_of_ones(tmp_path):
    for name in ("plain", "logistic, intercept"):
        save_fit(fitted(name), tmp_path / "fit.npz")
        again = load_fit(tmp_path / "fit.npz", Panels(A, block=500))
        assert isinstance(again.problem.A, Panels)
        assert again.problem.A.shape == (M, N + again.has_intercept)


def test_what_needs_the_table_says_that_it_is_not_there(path):
    fit = load_fit(path)
    T = fit.problem.A
    assert T.shape == (M, N) and len(T) == M and T.ndim == 2
    assert not hasattr(T, "dask")
    for ask in (
        lambda: p2(fit, [0, 1]).covariance,
        lambda: corrected(fit),
        lambda: T @ np.ones(N),
        lambda: np.ones(M) @ T,
        lambda: T.T @ np.ones(M),
        lambda: T[:, :3],
        lambda: T**2,
        lambda: T / 2,
        lambda: np.asarray(T),
        lambda: np.einsum("mi,mi->i", T, T),
        lambda: T.each(None),
        lambda: initial_state(fit.problem),
    ):
        with pytest.raises((ValueError, AttributeError), match=r"Fit\.load\(path, A="):
            ask()


# ---- what is no number and no class of this package


class Mine(Prior):
    def __init__(self, lam):
        self.lam, self.table, self.me = lam, np.array([1.0, lam]), self


def test_an_object_of_ones_own_is_refused_by_name(tmp_path, plain):
    fit = type(plain)(plain.problem._replace(prior=Mine(1.0)), *plain_parts(plain))
    with pytest.raises(
        TypeError, match=r"problem\.prior is of the class Mine.*save_st"
    ):
        save_fit(fit, tmp_path / "fit.npz")
    assert os.listdir(tmp_path) == []
    save_state(fit, tmp_path / "state.npz")
    assert_same(load_state(tmp_path / "state.npz"), plain.last.new)


def plain_parts(fit):
    return fit.last, fit.converged, fit.n_iter, fit.status, fit.trace


def test_a_subclass_of_ones_own_is_not_taken_for_its_parent():
    class Laplace2(Laplace):
        pass

    with pytest.raises(TypeError, match="Laplace2"):
        Packing()(Laplace2(1.0))
    for value in (lambda: 1, Laplace, np.array([{}]), {1, 2}, 1j, b"bytes"):
        with pytest.raises(TypeError):
            Packing()(value)


@pytest.mark.parametrize(
    "name",
    ["os.system", "solver.np", "prior.check_number", "solver.rvamp", "Prior", ""],
)
def test_a_file_cannot_ask_for_anything_but_a_class_of_this_package(tmp_path, name):
    state = {"class": name, "with": {}}
    saving._write(tmp_path / "x.npz", dict(kind="state", holds=state), {})
    with pytest.raises(FileError, match=r"x\.npz.*no class of this package"):
        load_state(tmp_path / "x.npz")


def test_arrays_of_objects_are_not_unpickled(tmp_path, path):
    spoilt = tmp_path / "spoilt.npz"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(spoilt, "w") as new:
        for member in old.namelist():
            new.writestr(member, old.read(member))
        with new.open("evil.npy", "w") as part:
            np.lib.format.write_array(part, np.array([Mine(1.0)]), allow_pickle=True)
    with pytest.raises(FileError, match="Object arrays cannot be loaded"):
        load_fit(spoilt)


def test_a_state_is_a_state(tmp_path):
    with pytest.raises(TypeError, match="must be a State"):
        save_state(np.ones(3), tmp_path / "x.npz")
    with pytest.raises(TypeError):
        save_state(initial_state(problem()), tmp_path / "x.npz", about=object())
    assert os.listdir(tmp_path) == []


# ---- damages


def test_a_damaged_file_is_refused_by_name_or_is_whole(path, plain):
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    refused = 0
    for k in range(90):
        data = bytearray(whole)
        if k % 3 == 0:
            data = data[: rng.integers(len(data))]
        else:
            data[rng.integers(len(data))] ^= 1 << rng.integers(8)
        path.write_bytes(data)
        try:
            assert_same(load_fit(path).last, plain.last)
        except FileError as e:
            assert str(path) in str(e)
            refused += 1
    assert refused > 60


def test_every_byte_of_a_number_is_looked_at(path):
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        starts = [info.header_offset for info in archive.infolist()]
    data[(starts[5] + starts[6]) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(FileError, match="cut off or damaged"):
        load_fit(path)


def test_a_file_of_another_kind_is_told_what_it_is(tmp_path, path, plain):
    save_state(plain, tmp_path / "state.npz")
    with pytest.raises(
        FileError, match="holds a state, not a fit: read it with load_st"
    ):
        load_fit(tmp_path / "state.npz")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    (tmp_path / "words.txt").write_text("no archive")
    for name in ("other.npz", "words.txt"):
        with pytest.raises(FileError, match=f"{name} cannot be read.*no file of this"):
            load_fit(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_fit(tmp_path / "nowhere.npz")


def test_a_newer_format_is_refused_and_says_which(path, plain, monkeypatch):
    monkeypatch.setattr(saving, "FORMAT", 7)
    save_fit(plain, path)
    monkeypatch.setattr(saving, "FORMAT", 1)
    with pytest.raises(FileError, match="in format 7; this version reads up to 1"):
        load_fit(path)


# ---- a disk that fills, a folder that is not there, a process that is killed


def test_a_full_disk_leaves_the_old_file_whole(path, plain):
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for room in (0, 10, 1000, len(before) - 10):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
        try:
            with pytest.raises(
                OSError, match=r"nothing was changed.*fit\.npz"
            ) as error:
                save_fit(plain, path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert error.value.errno == errno.EFBIG
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == ["fit.npz"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_what_fails_at_the_end_leaves_the_old_file_whole(path, monkeypatch, step):
    before = path.read_bytes()

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="make room on that disk"):
        save_fit(fitted("ridge"), path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["fit.npz"]


def test_where_nothing_can_be_written_it_says_what_to_do(tmp_path, plain):
    with pytest.raises(FileNotFoundError, match="make the folder first.*x/fit.npz"):
        save_fit(plain, tmp_path / "x" / "fit.npz")
    with pytest.raises(IsADirectoryError, match="give the name of a file in it"):
        save_fit(plain, tmp_path)
    with pytest.raises(NotADirectoryError, match="choose a folder"):
        (tmp_path / "file").write_text("")
        save_fit(plain, tmp_path / "file" / "fit.npz")


def test_without_permission_it_says_so(tmp_path, plain):
    tmp_path.chmod(0o555)
    root = os.geteuid() == 0
    try:
        if root:
            os.seteuid(65534)
        with pytest.raises(PermissionError, match="a folder that you may write to"):
            save_fit(plain, tmp_path / "fit.npz")
    finally:
        if root:
            os.seteuid(0)
        tmp_path.chmod(0o755)


def test_a_link_stays_a_link(tmp_path, plain):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.npz").symlink_to(tmp_path / "real" / "fit.npz")
    save_fit(plain, tmp_path / "link.npz")
    assert (tmp_path / "link.npz").is_symlink()
    assert os.listdir(tmp_path / "real") == ["fit.npz"]


KILLED = """
import os, signal, sys
import numpy as np
from rvamp_nb.saving import load_fit, save_fit
fit, write, told = load_fit(sys.argv[1]), np.lib.format.write_array, []
def cut_off(file, values, **how):
    told.append(1)
    if len(told) == 9:
        file._fileobj.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    write(file, values, **how)
np.lib.format.write_array = cut_off
save_fit(fit, sys.argv[1])
"""


def test_a_process_killed_while_it_writes_leaves_the_old_file_whole(path, plain):
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", KILLED, path])
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    assert len(os.listdir(path.parent)) == 2  # and what was begun, under another name
    Checkpoint(path.parent / "other.npz").begin(plain.problem)
    assert len(os.listdir(path.parent)) == 2  # is not another file's to remove
    path.unlink()
    Checkpoint(path).begin(plain.problem)
    assert os.listdir(path.parent) == []


# ---- checkpoints


def problem(**how):
    parts = dict(
        A=A, y=y, prior=Laplace(0.5), likelihood=Squared(), counts=Poisson(0.5)
    )
    return Problem(**parts | how)


ROWS = [(np.nan, np.nan, 0.7, 0, "breakdown: x"), (0.5, 0.25, 0.7, 1, "plain")]


def written(path, steps=10, **how):
    """A checkpoint after some steps of a problem."""
    check, asked = Checkpoint(path), problem(**how)
    assert check.begin(asked) is None
    memory = {"moves": [(np.ones(3), np.ones(3, "f4"))], "last": None, "window": 8}
    for _ in range(steps):
        check.after(initial_state(asked), ROWS, {"best": np.inf, "waited": 3}, memory)
    return check


def test_a_checkpoint_gives_back_what_it_was_told(tmp_path):
    written(tmp_path / "run.npz")
    begun = Checkpoint(tmp_path / "run.npz").begin(problem())
    assert_same(begun.state, initial_state(problem()))
    assert_same(begun.rows, ROWS)
    assert begun.pace == {"best": np.inf, "waited": 3}
    memory = {"moves": [(np.ones(3), np.ones(3, "f4"))], "last": None, "window": 8}
    assert begun.anderson.keys() == memory.keys()
    assert_same([*begun.anderson.values()], [*memory.values()])
    assert isinstance(load_state(tmp_path / "run.npz"), State)


def test_it_is_written_every_so_many_steps(tmp_path):
    assert not written(tmp_path / "a.npz", 9).there()
    check = written(tmp_path / "a.npz", 10)
    assert check.there()
    check.forget()
    assert os.listdir(tmp_path) == []
    with pytest.raises(ValueError, match="every"):
        Checkpoint(tmp_path / "a.npz", every=1)


def test_no_more_than_a_twentieth_of_the_time_goes_into_it(tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(saving.time, "monotonic", lambda: clock[0])
    check = Checkpoint(tmp_path / "a.npz")
    spent = []

    def write(begun):
        spent.append(clock[0])
        clock[0] += 7.0

    check.write = write
    for _ in range(1000):
        clock[0] += 1.0
        check.after(None, [], {}, {})
    assert len(spent) * 7 < 1000 / 19 + 7
    assert len(spent) > 1000 / 19 / 7 - 1


@pytest.mark.parametrize(
    "other, named",
    [
        (dict(y=y + 1e-12), "y"),
        (dict(prior=Laplace(0.50000001)), "prior"),
        (dict(counts=Subsample(0.5)), "counts"),
        (dict(beta=1.0), "beta"),
        (dict(likelihood=Huber(), A=A[::-1]), "A and likelihood"),
    ],
)
def test_the_checkpoint_of_another_problem_is_refused(tmp_path, other, named):
    written(tmp_path / "run.npz")
    with pytest.raises(ValueError, match=rf"run\.npz.*with another {named}:"):
        Checkpoint(tmp_path / "run.npz").begin(problem(**other))


def test_objects_of_ones_own_are_told_apart_by_name_and_numbers(tmp_path):
    written(tmp_path / "run.npz", prior=Mine(1.0))
    assert Checkpoint(tmp_path / "run.npz").begin(problem(prior=Mine(1.0)))
    for prior in (Mine(2.0), type("Other", (Mine,), {})(1.0)):
        with pytest.raises(ValueError, match="with another prior:"):
            Checkpoint(tmp_path / "run.npz").begin(problem(prior=prior))


def test_a_damaged_checkpoint_is_refused(tmp_path):
    written(tmp_path / "run.npz")
    data = (tmp_path / "run.npz").read_bytes()
    (tmp_path / "run.npz").write_bytes(data[:-100])
    with pytest.raises(FileError, match=r"run\.npz cannot be read"):
        Checkpoint(tmp_path / "run.npz").begin(problem())


def test_where_it_cannot_be_written_the_run_hears_of_it_at_once(tmp_path):
    with pytest.raises(FileNotFoundError, match="make the folder first"):
        Checkpoint(tmp_path / "x" / "run.npz").begin(problem())
    with pytest.raises(TypeError, match="checkpoint must be the path"):
        saving.as_checkpoint(3)


def test_a_full_disk_does_not_end_the_run(tmp_path, monkeypatch):
    check = written(tmp_path / "run.npz")
    before, replace = (tmp_path / "run.npz").read_bytes(), os.replace

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    check.next = check.every = 0
    with pytest.warns(RuntimeWarning, match="the run goes on.*make room") as told:
        for _ in range(3):
            check.next = 0
            check.after(initial_state(problem()), ROWS[:1], {}, {})
    assert len(told) == 1
    assert (tmp_path / "run.npz").read_bytes() == before
    monkeypatch.setattr(os, "replace", replace)


def test_a_memory_that_is_too_large_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "HISTORY", 30)
    written(tmp_path / "run.npz")
    assert Checkpoint(tmp_path / "run.npz").begin(problem()).anderson == {}


# ---- runs that are cut off


class Cut(Exception):
    pass


class Flickering(Checkpoint):
    """The machine goes down after so many steps."""

    def __init__(self, path, last, every=2):
        super().__init__(path, every)
        self.last = last

    def after(self, state, rows, *memory):
        self.next = 0.0  # however long a writing takes
        super().after(state, rows, *memory)
        if len(rows) >= self.last:
            raise Cut


factor = 3 * rng.normal(size=(M, 1)) + A
RUNS = {
    "plain": (A, y, dict(lam=0.1)),
    "far too weak a penalty": (factor, y, dict(lam=5e-4)),  # steps are undone there
    "intercept": (A, y, dict(lam=0.1, likelihood=Huber(), intercept=True)),
    "posterior": (A, y, dict(lam=0.3, beta=1.0)),
    "groups": (A, y, dict(lam=0.5, counts=Grouped(Poisson(1.0), groups))),
    "panels": (Panels(A, block=500), y, dict(lam=0.1)),
    "sparse": (sparse.csr_array(np.where(np.abs(A) > 0.2, A, 0)), y, dict(lam=0.1)),
    "not to the end": (A, y, dict(prior=SpikeSlab(0.1), beta=1.0, max_iter=6)),
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.filterwarnings("ignore::rvamp_nb.solver.ConvergenceWarning")
def test_a_run_that_is_cut_off_goes_on_with_the_same_digits(tmp_path, name):
    table, target, how = RUNS[name]
    whole, run = rvamp(table, target, **how), tmp_path / "run.npz"
    with pytest.raises(Cut):
        rvamp(table, target, **how, checkpoint=Flickering(run, 5))
    assert run.exists()
    fit = rvamp(table, target, **how, checkpoint=run)
    assert fit.trace.tobytes() == whole.trace.tobytes()
    assert (fit.n_iter, fit.status) == (whole.n_iter, whole.status)
    assert_same(fit.last, whole.last)
    again = rvamp(table, target, **how, checkpoint=str(run))  # the file stays
    assert fit.trace.tobytes() == again.trace.tobytes()


def test_a_run_is_cut_off_and_goes_on_more_than_once(tmp_path):
    whole, run = rvamp(A, y, 0.1), tmp_path / "run.npz"
    for last in (2, 4, 6, 8):
        with pytest.raises(Cut):
            rvamp(A, y, 0.1, checkpoint=Flickering(run, last))
    fit = rvamp(A, y, 0.1, checkpoint=run)
    assert fit.trace.tobytes() == whole.trace.tobytes()


def test_the_damping_is_that_of_the_run_that_was_cut_off(tmp_path):
    run = tmp_path / "run.npz"
    with pytest.raises(Cut):
        rvamp(A, y, 0.1, checkpoint=Flickering(run, 4))
    begun = Checkpoint(run).begin(rvamp(A, y, 0.1).problem)
    assert begun.pace["damping"] == 0.7 and len(begun.rows) == 4
    begun.pace["damping"] = 0.35
    check = Checkpoint(run)
    check.facts = {name: header(run)[name] for name in ("table", "question")}
    check.write(begun)
    fit = rvamp(A, y, 0.1, checkpoint=run)
    assert_array_equal(fit.trace.damping, np.repeat([0.7, 0.35], [4, fit.n_iter - 4]))


def test_without_what_the_acceleration_remembers_it_is_the_same_answer(
    tmp_path, monkeypatch
):
    whole, run = rvamp(A, y, 0.1, tol=1e-9), tmp_path / "run.npz"
    monkeypatch.setattr(saving, "HISTORY", 0)
    with pytest.raises(Cut):
        rvamp(A, y, 0.1, tol=1e-9, checkpoint=Flickering(run, 6))
    fit = rvamp(A, y, 0.1, tol=1e-9, checkpoint=run)
    assert fit.converged
    np.testing.assert_allclose(fit.mean, whole.mean, rtol=1e-6, atol=1e-7)


KILLED_RUN = """
import os, signal, sys
import numpy as np
from rvamp_nb import Checkpoint, rvamp
class Flickering(Checkpoint):
    def after(self, state, rows, *memory):
        super().after(state, rows, *memory)
        if len(rows) == 7:
            os.kill(os.getpid(), signal.SIGKILL)
with np.load(sys.argv[1]) as data:
    rvamp(data["A"], data["y"], 0.1, checkpoint=Flickering(sys.argv[2], every=6))
"""


def test_a_run_that_is_killed_goes_on_with_the_same_digits(tmp_path):
    np.savez(tmp_path / "data.npz", A=A, y=y)
    command = [sys.executable, "-c", KILLED_RUN, tmp_path / "data.npz"]
    done = subprocess.run([*command, tmp_path / "run.npz"])
    assert done.returncode == -signal.SIGKILL
    assert header(tmp_path / "run.npz")["kind"] == "checkpoint"
    fit, whole = rvamp(A, y, 0.1, checkpoint=tmp_path / "run.npz"), rvamp(A, y, 0.1)
    assert fit.trace.tobytes() == whole.trace.tobytes()
    assert_array_equal(fit.mean, whole.mean)


def test_a_run_refuses_the_checkpoint_of_another(tmp_path):
    run = tmp_path / "run.npz"
    with pytest.raises(Cut):
        rvamp(A, y, 0.1, checkpoint=Flickering(run, 3))
    before = run.read_bytes()
    with pytest.raises(ValueError, match="another problem, with another prior:"):
        rvamp(A, y, 0.2, checkpoint=run)
    with pytest.raises(ValueError, match="another problem, with another A:"):
        rvamp(A[:, ::-1], y, 0.1, checkpoint=run)
    with pytest.raises(TypeError, match="checkpoint must be the path"):
        rvamp(A, y, 0.1, checkpoint=True)
    assert run.read_bytes() == before


def test_a_fit_saves_and_loads_itself(tmp_path, plain):
    plain.save(tmp_path / "fit.npz")
    again = type(plain).load(tmp_path / "fit.npz")
    assert_same(plain.last, again.last)
    assert_array_equal(type(plain).load(tmp_path / "fit.npz", A).problem.A, A)


def test_a_run_on_dask_goes_on_there_and_in_memory(tmp_path):
    dask_array = pytest.importorskip("dask.array")
    D, run = dask_array.from_array(A, chunks=(M, 20)), tmp_path / "run.npz"
    whole = rvamp(D, y, 0.1, intercept=True)
    with pytest.raises(Cut):
        rvamp(D, y, 0.1, intercept=True, checkpoint=Flickering(run, 5))
    fit = rvamp(D, y, 0.1, intercept=True, checkpoint=run)
    assert fit.trace.tobytes() == whole.trace.tobytes()
    fit = rvamp(A, y, 0.1, intercept=True, checkpoint=run)
    np.testing.assert_allclose(fit.mean, whole.mean, atol=1e-9)
    save_fit(whole, tmp_path / "fit.npz")
    for table in (A, D):
        assert load_fit(tmp_path / "fit.npz", table).problem.A.shape == (M, N + 1)
