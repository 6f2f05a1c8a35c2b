"""Progress is seen by those who watch, after two seconds, and by nobody else."""

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from rvamp_nb.checks import watched

ROOT = Path(__file__).resolve().parent.parent
pty = pytest.importorskip("pty", reason="pseudo-terminals are of Unix")
fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")

# a clock that runs a thousand times as fast makes any work longer than two seconds
START = """
import time, tqdm.std
begun = time.time()
tqdm.std.time = lambda: begun + 1000 * (time.time() - begun)

from rvamp_nb.checks import progress_bar, watched
from rvamp_nb.datasets import gaussian_design
A, y, *_ = gaussian_design(30, 60, seed=1)
"""
ESTIMATOR = "from rvamp_nb import StabilitySelection as S; S(q=3).fit(A, y)"
RATE = re.compile("it/s|s/it")  # what a bar ends with
WORK = {
    "a loop": "for _ in progress_bar(range(20)): time.sleep(0.003)",
    "a path": "from rvamp_nb import rvamp_path; rvamp_path(A, y)",
    "refits": "from rvamp_nb import naive_bootstrap; naive_bootstrap(A, y, 0.1)",
    "the estimator": ESTIMATOR,
    "a check": ESTIMATOR.replace("fit", "set_params(verbose=0).fit") + ".check(50)",
}


def said(work, terminal):
    """What a process says on stderr: into a pseudo-terminal, or into a pipe."""
    script = [sys.executable, "-W", "ignore", "-c", START + work]
    options = dict(cwd=ROOT, env=dict(os.environ, PYTHONPATH=str(ROOT)), timeout=60)
    if not terminal:
        done = subprocess.run(script, capture_output=True, check=True, **options)
        assert done.stdout == b""
        return done.stderr.decode()
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    try:
        done = subprocess.run(script, stdout=subprocess.PIPE, stderr=theirs, **options)
    finally:
        os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as screen:
        try:
            seen = screen.read(4000).decode(errors="ignore")
        except OSError:  # Linux: the other end is closed, and nothing was written
            seen = ""
    assert (done.returncode, done.stdout) == (0, b""), seen
    return seen


@pytest.mark.parametrize("name", WORK)
def test_a_terminal_sees_progress(name):
    assert RATE.search(said(WORK[name], terminal=True))


@pytest.mark.parametrize("name", WORK)
def test_a_pipe_sees_nothing(name):
    assert said(WORK[name], terminal=False) == ""


def test_a_walk_of_unknown_length_promises_no_end():
    seen = said(ESTIMATOR, terminal=True)
    assert "λ path: " in seen and "%|" not in seen.split("reported")[0]


def test_whoever_wants_no_bar_gets_none():
    quiet = ESTIMATOR.replace("q=3", "q=3, verbose=0")
    assert not RATE.search(said(quiet, terminal=True))


def test_what_is_short_is_silent():
    slow_clock = "tqdm.std.time = lambda: begun\n"
    assert not RATE.search(said(slow_clock + WORK["a loop"], terminal=True))


def test_streams_that_nobody_watches():
    closed = open(os.devnull)
    assert not watched(closed)
    closed.close()
    assert not watched(closed) and not watched(object())


def test_a_notebook_is_watched():
    kernel = type("OutStream", (), {"__module__": "ipykernel.iostream"})()
    assert watched(kernel)
