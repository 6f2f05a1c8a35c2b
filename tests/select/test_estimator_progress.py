"""Progress is seen by those who watch, after two seconds, and by nobody else."""

import os
import re
import struct
import sys
import threading
import time
import warnings
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import BytesIO, StringIO, TextIOWrapper
from itertools import count

import pytest
import tqdm.std

from rvamp_nb import refine, rvamp
from rvamp_nb.datasets import gaussian_design
from rvamp_nb.environment import is_interactive, progress_bar

pty = pytest.importorskip("pty", reason="pseudo-terminals are of Unix")
fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")

ESTIMATOR = "from rvamp_nb import StabilitySelection as S; S(q=3).fit(A, y)"
RATE = re.compile("it/s|s/it")  # what a bar ends with
WORK = {
    "a loop": "for _ in progress_bar(range(20)): time.sleep(0.003)",
    "a path": "from rvamp_nb import rvamp_path; rvamp_path(A, y, n_lambdas=10)",
    "refits": "from rvamp_nb import naive_bootstrap as refits;"
    " refits(A, y, 0.1, n_resamples=200)",
    "the estimator": ESTIMATOR,
    "refining": ESTIMATOR.replace("q=3", "q=3, n_resamples=0, verbose=0")
    + ".refine(None, 300)",
}


def said(*work, terminal):
    """What is said on stderr while one thing is done after the other: into a
    pseudo-terminal, which is read as it is written, or into a pipe. Nothing is said on
    stdout. The clock runs a thousand times as fast, which makes any work longer than
    two seconds.
    """
    reader, writer = pty.openpty() if terminal else os.pipe()
    if terminal:
        fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    seen, begun = [], time.time()

    def read():
        with suppress(OSError):  # how Linux says that nobody writes any more
            while more := os.read(reader, 4096):
                seen.append(more)

    A, y, *_ = gaussian_design(30, 60, seed=1)
    known = dict(A=A, y=y, begun=begun, time=time, tqdm=tqdm, progress_bar=progress_bar)
    watcher = threading.Thread(target=read)
    watcher.start()
    with (
        pytest.MonkeyPatch.context() as patch,
        warnings.catch_warnings(),
        redirect_stdout(StringIO()) as stdout,
        os.fdopen(writer, "w") as stream,
        redirect_stderr(stream),
    ):
        warnings.simplefilter("ignore")
        patch.setattr("tqdm.std.time", lambda: begun + 1000 * (time.time() - begun))
        for k, code in enumerate(work):
            print(f"== {k}", file=stream)
            exec(code, dict(known))
    watcher.join()
    os.close(reader)
    assert stdout.getvalue() == ""
    return parts(b"".join(seen))


def parts(seen):
    """What was said during each piece of work."""
    first, *others = re.split(r"== \d+\s*\n", seen.decode(errors="ignore"))
    assert first == ""
    return others


STEPS = "with progress_bar(total=50) as bar:\n time.sleep(0.01); bar.update(20)"
ENDS = {
    "work that ends early": (STEPS, "20/20"),
    "a loop that is left": (
        "for k in progress_bar(range(50)):\n time.sleep(0.003)\n if k == 20: break",
        "20/20",
    ),
    "an error": (
        "try:\n with progress_bar(total=50) as bar:\n  time.sleep(0.01)\n"
        "  bar.update(20); 1 / 0\nexcept ZeroDivisionError: pass",
        "20/50",
    ),
}
QUIET = {
    "no bar is wanted": ESTIMATOR.replace("q=3", "q=3, verbose=0"),
    "a clock that stands": "tqdm.std.time = lambda: begun\n" + WORK["a loop"],
}  # the last: the clock stands from then on


@pytest.fixture(scope="module")
def on_a_terminal():
    everything = WORK | {name: work for name, (work, _) in ENDS.items()} | QUIET
    return dict(zip(everything, said(*everything.values(), terminal=True), strict=True))


def test_a_terminal_sees_progress(on_a_terminal):
    for name in WORK:
        seen = on_a_terminal[name]
        assert RATE.search(seen), name
        if name == "the estimator":  # of looks nobody knows how many there will be
            assert "looks for λ: " in seen and "%|" not in seen.split("refits")[0]


@pytest.mark.parametrize("name", ENDS)
def test_a_bar_ends_where_the_work_does_full_and_green(on_a_terminal, name):
    last = on_a_terminal[name].rstrip().split("\r")[-1]
    assert ENDS[name][1] in last
    assert ("100%" in last) == ("\x1b[32m" in last) == (name != "an error")


def test_a_pipe_sees_nothing():
    assert said(*WORK.values(), terminal=False) == [""] * len(WORK)


def test_whoever_wants_no_bar_gets_none_and_what_is_short_is_silent(on_a_terminal):
    for name in QUIET:
        assert not RATE.search(on_a_terminal[name]), name


def test_streams_that_nobody_watches():
    closed = open(os.devnull)
    assert not is_interactive(closed)
    closed.close()
    assert not is_interactive(closed) and not is_interactive(object())
    pipe = TextIOWrapper(BytesIO())
    assert not is_interactive(pipe)
    pipe.close()
    assert not is_interactive(pipe)


def test_a_bar_that_is_not_shown_gives_the_items_and_has_the_class_of_all_others():
    """A class for each bar would leave a thread of tqdm's monitor behind for each."""
    assert list(progress_bar("abc", shown=False)) == ["a", "b", "c"]
    assert type(progress_bar()) is type(progress_bar())


KERNEL = type("OutStream", (StringIO,), {"__module__": "ipykernel.iostream"})


def test_a_notebook_is_watched():
    assert is_interactive(KERNEL())


@pytest.mark.parametrize("leaves", [True, False])
def test_a_bar_in_a_notebook_ends_full_and_green(monkeypatch, leaves):
    """Refits stop before the most that there may be, once their accuracy is reached."""
    clock, stream = count(step=10), KERNEL()
    monkeypatch.setattr("tqdm.std.time", lambda: next(clock))
    monkeypatch.setattr(sys, "stderr", stream)
    A, y, *_ = gaussian_design(60, 20, seed=1)
    fit = rvamp(A, y, 0.3)
    if leaves:
        done = refine(fit, accuracy=0.1)
        assert done.n_resamples < 1000
    else:
        with suppress(ZeroDivisionError), progress_bar(total=50) as bar:
            bar.update(20)
            1 / 0
    last = stream.getvalue().rstrip().split("\r")[-1]
    assert ("100%" in last) == ("\x1b[32m" in last) == leaves
