"""A fit on disk: its messages and settings, whole or not at all, and read without
running anything.
"""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import tracemalloc
import zipfile
from functools import lru_cache

import numpy as np
import pytest
from models import PRIORS
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rvamp_nb import (
    Discrete,
    ElasticNet,
    Exponential,
    FixedFactor,
    Grouped,
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
    rvamp,
)
from rvamp_nb.algorithm import saving
from rvamp_nb.algorithm.prior import Prior
from rvamp_nb.algorithm.saving import FileError, load_state, read, written_whole
from rvamp_nb.algorithm.solver import load_fit, save_fit
from rvamp_nb.datasets import standardize
from rvamp_nb.exceptions import ConvergenceWarning
from rvamp_nb.results import Fit
from rvamp_nb.tables.chunked import ChunkedTable

rng_of = np.random.default_rng
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


ASKED = "prior", "likelihood", "counts"
GIVEN = {  # what the file cannot hold
    "rows": "likelihood",
    "strata": "counts",
    "groups": "counts",
    "groups with strata, objects as labels": "counts",
}


@lru_cache
def fitted(name):
    target, how = KINDS[name]
    return rvamp(A, target, **how)


@pytest.fixture
def path(tmp_path):
    save_fit(fitted("plain"), tmp_path / "fit.npz")
    return tmp_path / "fit.npz"


def assert_same_messages(one, two):
    for a, b in zip(one, two):
        for part, other in zip(a[:3], b[:3]):
            assert_array_equal(part, other)


@pytest.mark.parametrize("name", KINDS)
def test_a_fit_comes_back_to_the_last_digit(tmp_path, name):
    (target, how), fit, file = KINDS[name], fitted(name), tmp_path / "fit"
    fit.save(file)
    part = GIVEN.get(name)
    if part:
        with pytest.raises(TypeError, match=f"the {part} of the fit in .* give it"):
            load_fit(file, A, target)
    given = {part: how[part]} if part else {}
    again = Fit.load(file, A, target, **given)
    for what in ("mean", "var", "posterior_var", "intercept", "intercept_var"):
        assert_array_equal(getattr(fit, what), getattr(again, what))
    assert hasattr(fit, "Pi") == hasattr(again, "Pi")
    if hasattr(fit, "Pi"):
        assert_array_equal(fit.Pi, again.Pi)
    for what in ("status", "converged", "n_iter", "has_intercept"):
        assert getattr(fit, what) == getattr(again, what)
    assert repr(fit) == repr(again) and again.trace.event == ["loaded"]
    assert_same_messages(load_state(file), fit.last.state)
    for a, b in zip(fit.messages, again.messages):
        for part, other in zip(a[:3], b[:3]):
            assert_allclose(part, other, rtol=1e-9, atol=1e-12)
    x = np.linspace(-1, 4, 9)
    assert_array_equal(p1(fit, 1).pdf(x), p1(again, 1).pdf(x))
    pairs = (p2(one, [0, 3]).covariance for one in (fit, again))
    assert_allclose(*pairs, rtol=1e-9)
    again = load_fit(file, A, target, **{k: how[k] for k in ASKED if k in how})
    assert_array_equal(fit.mean, again.mean)


@pytest.mark.parametrize("name", ["plain", "huber, as it is", "groups"])
def test_another_fit_goes_on_from_messages(tmp_path, name):
    (target, how), fit = KINDS[name], fitted(name)
    fit.save(tmp_path / "fit.npz")
    how = how | dict(lam=0.9 * how["lam"])
    near = rvamp(A, target, **how, warm_start=fit.last.state)
    again = rvamp(A, target, **how, warm_start=load_state(tmp_path / "fit.npz"))
    assert_array_equal(near.mean, again.mean)
    assert_array_equal(near.trace.change, again.trace.change)


def test_a_fit_without_a_step_and_one_that_has_not_converged(tmp_path):
    with pytest.warns(ConvergenceWarning):
        fit = rvamp(A, y, 0.5, max_iter=2)
    fit.save(tmp_path / "fit.npz")
    again = load_fit(tmp_path / "fit.npz", A, y)
    assert_array_equal(fit.mean, again.mean)
    assert (again.converged, again.status) == (False, fit.status)
    none = Fit(fit.problem, None, False, 0, "nothing", fit.trace[:0])
    with pytest.raises(TypeError, match="no messages"):
        none.save(tmp_path / "none.npz")
    assert os.listdir(tmp_path) == ["fit.npz"]


def test_anybody_can_look_inside_without_pickle_and_without_this_package(path):
    first, fit = path.read_bytes(), fitted("plain")
    with np.load(path, allow_pickle=False) as file:
        header = json.loads(file["header"].item())
        assert len(file.files) == 7
        assert_array_equal(file["h_1x"], fit.last.state.to_prior.h)
    assert header["settings"]["prior"]["Laplace"]["lam"] == 0.5
    load_fit(path, A, y).save(path)
    assert path.read_bytes() == first and len(first) < 8 * 3 * (N + M) + 6000


# ---- the parts that are given again


@pytest.mark.parametrize(
    "spoil",
    [
        lambda B: B[::-1],
        lambda B: -B,
        lambda B: B * (1 + 1e-7),
        lambda B: np.where(np.arange(B.size).reshape(B.shape) == 77, B + 1e-7, B),
        lambda B: B[:, [*range(10), 11, 10, *range(12, N)]],
    ],
)
@pytest.mark.parametrize("small", [True, False])
def test_another_table_is_refused_by_name(tmp_path, monkeypatch, spoil, small):
    """A large one is told by a few sums; there 1e-7 in one entry is hardly seen."""
    there = saving._table(A)
    assert there == saving._table(ChunkedTable(A, chunk_size=300))
    assert there == saving._table(np.asfortranarray(A))
    fit = fitted("plain")
    save_fit(fit, tmp_path / "fit.npz")
    header, _ = read(tmp_path / "fit.npz")
    if not small:
        monkeypatch.setattr(saving, "LOOKED_AT", 0)
        header["digests"]["A"] = saving._table(A)
        for B in (
            ChunkedTable(A, chunk_size=300),
            ChunkedTable(A, axis=0, chunk_size=300),
        ):
            saving.check_same("it", header, fit.problem._replace(A=B), ["A"])
    other = fit.problem._replace(A=spoil(A))
    with pytest.raises(ValueError, match="another problem, with another A:"):
        saving.check_same("it", header, other, ["A", "y"])


def test_what_is_given_is_that_of_the_fit(path):
    for wrong, named in (
        (dict(A=A[:, 1:]), "A"),
        (dict(y=y + 1e-12), "y"),
        (dict(prior=Laplace(0.50000001)), "prior"),
        (dict(loss=Huber(), resampling=Subsample(0.5)), "counts and likelihood"),
    ):
        with pytest.raises(ValueError, match=rf"fit\.npz is of.*another {named}:"):
            load_fit(path, **dict(A=A, y=y) | wrong)
    with pytest.raises(TypeError, match="unexpected keyword argument 'tau'"):
        load_fit(path, A, y, tau=1)


def test_a_table_in_blocks_is_taken_with_and_without_a_column_of_ones(tmp_path):
    for name in ("plain", "logistic, intercept"):
        fitted(name).save(tmp_path / "fit.npz")
        again = load_fit(
            tmp_path / "fit.npz", ChunkedTable(A, chunk_size=500), KINDS[name][0]
        )
        assert isinstance(again.problem.A, ChunkedTable)
        assert_allclose(again.mean, fitted(name).mean, atol=1e-12)


class Mine(Prior):
    def __init__(self, lam):
        self.lam, self.table, self.me = lam, np.array([1.0, lam]), self

    moments, Pi = Laplace(0.5).moments, Laplace(0.5).Pi


class Laplace2(Laplace):
    pass


@pytest.mark.parametrize("kind", [Mine, Laplace2])
def test_an_object_of_ones_own_is_given_again(tmp_path, kind):
    fit = rvamp(A, y, prior=kind(0.5))
    fit.save(tmp_path / "fit.npz")
    with pytest.raises(TypeError, match="the prior of the fit"):
        load_fit(tmp_path / "fit.npz", A, y)
    assert_array_equal(
        load_fit(tmp_path / "fit.npz", A, y, prior=kind(0.5)).mean, fit.mean
    )
    other = type(kind.__name__, (kind,), {})
    for prior in (kind(0.6), other(0.5), Laplace(0.5)):
        with pytest.raises(ValueError, match="with another prior:"):
            load_fit(tmp_path / "fit.npz", A, y, prior=prior)


# ---- files that are damaged, or another's


def rewritten(path, change):
    """The archive with its header changed."""
    with np.load(path) as file:
        parts = dict(file)
    header = json.loads(parts["header"].item())
    change(header)
    np.savez(path, **parts | dict(header=np.array(json.dumps(header))))


@pytest.mark.parametrize(
    "name", ["os.system", "check_number", "Prior", "WeightedLoss", ""]
)
def test_a_file_cannot_ask_for_anything_but_a_class_of_its_list(path, name):
    rewritten(path, lambda header: header["settings"].update(prior={name: {"lam": 1}}))
    with pytest.raises(TypeError, match="the prior of the fit in .* is not in the"):
        load_fit(path, A, y)


def test_arrays_of_objects_are_not_unpickled(path):
    with np.load(path) as file:
        parts = dict(file)
    np.savez(path, **parts | dict(h_1x=np.array([Mine(1.0)] * N)))
    with pytest.raises(FileError, match="Object arrays cannot be loaded"):
        load_state(path)


def test_what_is_cut_off_or_damaged_is_named(path):
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        ends = [info.header_offset for info in archive.infolist()] + [len(data)]
    for cut in (0, 10, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(FileError, match=r"fit\.npz cannot be read.*cut off"):
            load_state(path)
    for start, end in zip(ends[:7], ends[1:]):
        for place in range(start + 50, end, (end - start) // 7):
            spoilt = bytearray(data)
            spoilt[place] ^= 1
            path.write_bytes(spoilt)
            try:  # padding may be spoilt; a number may not
                assert_same_messages(load_state(path), fitted("plain").last.state)
            except FileError as error:
                assert "fit.npz cannot be read" in str(error)


def test_a_file_of_another_kind_is_refused_by_name(tmp_path, path):
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    np.save(tmp_path / "array.npy", np.ones(3))
    (tmp_path / "words.txt").write_text("no archive")
    for name in ("other.npz", "array.npy", "words.txt"):
        with pytest.raises(FileError, match=f"{name} cannot be read.*no file of this"):
            load_fit(tmp_path / name, A, y)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_fit(tmp_path / "nowhere.npz", A, y)
    rewritten(path, lambda header: header.update(format=7))
    with pytest.raises(FileError, match="in another format, by rvamp_nb 0"):
        load_fit(path, A, y)


def test_what_is_no_regular_file_is_neither_replaced_nor_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", "/dev/null", "/dev/zero"):
        with pytest.raises(FileExistsError, match="a device or a pipe"):
            fitted("plain").save(place)
        with pytest.raises(FileError, match="no regular file"):
            load_fit(place, A, y)
    with pytest.raises(IsADirectoryError, match="give the name of a file"):
        fitted("plain").save(tmp_path)
    with pytest.raises(FileExistsError):
        with written_whole([tmp_path / "new", tmp_path / "pipe"]):
            pass
    assert os.listdir(tmp_path) == ["pipe"]


def altered(path, **parts):
    """The archive with some members changed, or left out where None."""
    with np.load(path) as file:
        members = dict(file) | parts
    np.savez(path, **{k: v for k, v in members.items() if v is not None})


@pytest.mark.parametrize(
    "parts, word",
    [
        (dict(Q_hat_1x=-np.ones(N)), "Q_hat_1x is not positive"),
        (dict(Q_hat_1u=-np.ones(M)), "Q_hat_1u is negative"),
        (dict(Q_hat_1x=np.full(N, np.nan)), "Q_hat_1x is not finite"),
        (dict(h_1x=np.zeros(N - 1)), "not 60 numbers"),
        (dict(h_1x=None), "h_1x"),
        (dict(header=None), "header"),
        (dict(groups=np.zeros(M, dtype=int)), "1600 numbers"),
        (dict(groups=np.full(M, 10**9)), "40 numbers of groups"),
        (dict(groups=np.zeros(3)), "40 numbers of groups"),
    ],
)
def test_messages_that_cannot_be_are_refused_by_name(path, parts, word):
    altered(path, **parts)
    for ask in (lambda: load_fit(path, A, y), lambda: load_state(path)):
        with pytest.raises(FileError, match=rf"fit\.npz cannot be read.*{word}"):
            ask()


@pytest.mark.parametrize("at", ["", "settings", "digests"])
def test_a_key_that_is_missing_is_named_with_the_file(path, at):
    header, whole = read(path)[0], path.read_bytes()
    for key in header[at] if at else [k for k in header if k != "arrays"]:
        rewritten(path, lambda header: (header[at] if at else header).pop(key))
        with pytest.raises(FileError, match=rf"fit\.npz cannot be read.*'{key}'"):
            load_fit(path, A, y)
        path.write_bytes(whole)


@pytest.mark.parametrize(
    "change, word",
    [
        (dict(prior={"Laplace": {"lam": 2.0, "evil": 1}}), "evil"),
        (dict(prior={"Laplace": 5}), "make no fit"),
        (dict(prior={"Laplace": {"lam": {"array": "part_9"}}}), "part_9"),
        (dict(loss={"Squared": {"sigma": -1}}), "sigma must lie"),
        (dict(beta=-1.0), "beta must lie"),
        (dict(beta="inf"), "'beta' in the settings is 'inf'"),
        (dict(intercept=1), "'intercept' in the settings is 1"),
    ],
)
def test_settings_that_make_no_fit_are_refused_by_name(path, change, word):
    rewritten(path, lambda header: header["settings"].update(change))
    with pytest.raises(FileError, match=rf"fit\.npz .*{word}"):
        load_fit(path, A, y)


@pytest.mark.parametrize(
    "change, words",
    [(dict(tol=2.0), "tol must lie"), (dict(n_iter=-5), "n_iter must be at least 0")],
)
def test_a_header_that_cannot_be_is_refused(path, change, words):
    rewritten(path, lambda header: header.update(change))
    with pytest.raises(FileError, match=words):
        load_fit(path, A, y)


def test_the_step_is_believed_and_not_the_header(path, tmp_path):
    altered(path, h_1x=np.zeros(N))
    fit = load_fit(path, A, y)
    assert not fit.converged and fit.trace.change[0] > 0.1
    assert "fit.npz says otherwise" in fit.status and "tol is 1e-06" in fit.status
    fitted("plain").save(path)
    rewritten(path, lambda header: header.update(converged=False, status="no"))
    assert load_fit(path, A, y).converged
    loose = rvamp(A, y, 0.5, tol=1e-2)
    loose.save(path)
    again = load_fit(path, A, y)
    assert again.converged and again.status == loose.status and again.tol == 1e-2


def test_a_small_file_does_not_ask_for_a_large_memory(path):
    """Members are not compressed, and sizes are compared before groups are laid out."""
    whole = path.read_bytes()
    with np.load(path) as file:
        parts = dict(file)
    zeros = dict.fromkeys(("h_1x", "groups"), np.zeros(2**22))
    for archive in (parts, parts | zeros):
        np.savez_compressed(path, **archive)
        assert path.stat().st_size < 2**17
        tracemalloc.start()
        with pytest.raises(FileError, match="its members are compressed"):
            load_fit(path, A, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2**20
    path.write_bytes(whole)
    one_group = np.zeros(20_000, dtype=int)  # its layout takes gigabytes
    parts |= {f"{k}_1u": np.ones(20_000) for k in ("Q_hat", "h", "chi_hat")}
    np.savez(path, **parts | dict(groups=one_group))
    rewritten(path, lambda header: header.update(shape=[20_000, N]))
    tracemalloc.start()
    with pytest.raises(FileError, match="400000000 numbers"):
        load_state(path)
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_what_is_saved_over_keeps_its_permissions(tmp_path, mode, monkeypatch):
    path, seen, real = tmp_path / "fit.npz", [], os.fsync
    fitted("plain").save(path)
    path.chmod(mode)
    watch = lambda f: (seen.append(os.fstat(f).st_mode & 0o777), real(f))
    monkeypatch.setattr(os, "fsync", watch)
    fitted("ridge").save(path)
    assert path.stat().st_mode & 0o777 == mode and seen == [0o600]
    with written_whole([tmp_path / "new", path]) as (new, file):
        file.write(b"x"), new.write(b"y")
    plain = 0o666 & ~UMASK
    assert (tmp_path / "new").stat().st_mode & 0o777 == plain
    assert path.stat().st_mode & 0o777 == mode and path.read_bytes() == b"x"


@pytest.mark.parametrize(
    "how",
    [
        {},
        dict(l1_ratio=0.7),
        dict(penalty_factor=np.arange(1, 11) / 5, randomize=TwoPoint()),  # none kept
        dict(loss="logistic"),
    ],
)
def test_the_fit_of_a_selector_comes_back(tmp_path, how):
    """Its table is that of `standardize`, and its penalties are in the file."""
    X = rng_of(3).normal(size=(60, 10))
    target = X[:, 0] + X[:, 1] - X[:, 2] + rng_of(4).normal(size=60)
    labels = (target > 0).astype(float)
    answer = labels if how.get("loss") else target
    fit = StabilitySelection(n_resamples=0, verbose=0, **how).fit(X, answer).fit_
    fit.save(tmp_path / "fit.npz")
    B, centred = standardize(X, target)
    again = load_fit(tmp_path / "fit.npz", B, labels if how.get("loss") else centred)
    assert_array_equal(again.Pi, fit.Pi)
    assert again.converged and again.tol == fit.tol == 1e-4
    assert_array_equal(again.prior.penalty_factor, fit.prior.penalty_factor)


# ---- a disk that fills, a folder that is not there, a process that is killed


def test_a_full_disk_leaves_the_old_file_whole(path):
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    for room in (0, 10, 1000, len(before) - 10):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
        try:
            with pytest.raises(
                OSError, match=r"nothing was changed.*fit\.npz"
            ) as error:
                fitted("plain").save(path)
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
    with pytest.raises(OSError, match="No space.*with room on its disk"):
        fitted("ridge").save(path)
    assert path.read_bytes() == before and os.listdir(path.parent) == ["fit.npz"]


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
                save_fit(fitted("plain"), tmp_path / place / "fit.npz")
        finally:
            if root:
                os.seteuid(0)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.npz").symlink_to(tmp_path / "real" / "fit.npz")
    fitted("plain").save(tmp_path / "link.npz")
    assert (tmp_path / "link.npz").is_symlink()
    assert os.listdir(tmp_path / "real") == ["fit.npz"]


KILLED = """
import os, signal, sys
import numpy as np
from rvamp_nb.algorithm.saving import _write, read
(header, state), write, told = read(sys.argv[1]), np.lib.format.write_array, []
def cut_off(file, values, **how):
    told.append(1)
    if len(told) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    write(file, values, **how)
np.lib.format.write_array = cut_off
_write(sys.argv[1], state)
"""


def test_a_process_killed_while_it_writes_leaves_the_old_file_whole(path):
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", KILLED, path])
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    there = set(os.listdir(path.parent))  # and what was begun, under another name,
    assert len(there) == 2
    fitted("plain").save(path.parent / "my-fit.npz")
    assert there < set(os.listdir(path.parent))  # which is nobody's to remove


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
    "an object of one's own": (A, y, dict(prior=Mine(0.5))),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_in_stages_arrives_at_the_same_answer(tmp_path, name):
    """Each stage is a fit in a file, from which the next one starts."""
    (table, target, how), path = RUNS[name], tmp_path / "fit.npz"
    whole = rvamp(table, target, **how, tol=1e-9)
    rvamp(table, target, **how, tol=1e-3).save(path)
    fit = rvamp(table, target, **how, tol=1e-9, warm_start=load_state(path))
    assert fit.converged and fit.n_iter < whole.n_iter
    close = dict(rtol=1e-6, atol=1e-6 * np.abs(whole.mean).max())
    assert_allclose(fit.mean, whole.mean, **close)
    assert_allclose(fit.var, whole.var, rtol=1e-5, atol=1e-7 * whole.var.max())


def test_a_fit_on_dask_is_loaded_there_and_in_memory(tmp_path):
    dask_array, dask = map(pytest.importorskip, ("dask.array", "dask"))
    D, path = dask_array.from_array(A, chunks=(M, 20)), tmp_path / "fit.npz"
    with dask.config.set(scheduler="synchronous"):
        whole = rvamp(D, y, 0.1, intercept=True, tol=1e-9)
        whole.save(path)
        for table in (A, D):
            assert_allclose(load_fit(path, table, y).mean, whole.mean, atol=1e-12)


def test_a_fit_of_classes_is_loaded_with_the_loss_of_its_problem(tmp_path):
    """Once the loss was asked for the slopes of rows that are parts of samples."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    y = np.argmax(X[:, :3] + rng.gumbel(size=(40, 3)), axis=1)
    s = StabilitySelection(loss="softmax", n_resamples=0, verbose=0).fit(X, y)
    fit = s.selection_.fit
    p, file = fit.problem, tmp_path / "fit.npz"
    fit.save(file)
    given = dict(resampling=p.counts, loss=p.likelihood)
    again = Fit.load(file, p.A[:, : len(fit.mean)], p.y, **given)
    assert_array_equal(again.Pi, fit.Pi)
