"""Progress bars, error states, threads, optional packages, files written whole.

Work that takes longer than two seconds shows a progress bar. Results go to stdout, so
that they can be piped; progress goes to stderr, and only where that is a terminal or a
notebook, because a bar redraws itself: log files and pipes see none.

`np.errstate` has a gap: an interrupt (ctrl-C) that comes between the line that changes
the state and the line that promises to restore it leaves it changed for good. A loop of
thousands of steps enters it thousands of times, so functions that run for long use
`numpy_errors`, which first promises and then changes.

The package installs what the main job needs; code that needs one of its extras
(`course`, `dask`, `parquet`) imports it by `import_extra`.

Files of a report are written by `written_whole`: each beside its place, brought to the
disk (`fsync`), then renamed. A process that is killed in between leaves the old files
as they were, and a file under a strange name.

>>> import numpy as np
>>> from rvamp_nb.environment import import_extra, numpy_errors, progress_bar
>>> sum(progress_bar(range(5), shown=False))
10
>>> with numpy_errors(divide="ignore"):
...     print(np.float64(1) / 0)
inf
>>> import_extra("no_such_module", "course")
Traceback (most recent call last):
    ...
ImportError: no_such_module is needed here: pip install 'rvamp-nb[course]'
"""

import errno
import os
import secrets
import sys
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from stat import S_IMODE
from typing import NamedTuple

import numpy as np

__all__ = [
    "is_interactive",
    "progress_bar",
    "numpy_errors",
    "threaded_libraries",
    "import_extra",
    "written_whole",
    "unwritten_named",
]

# bytes. The C library of Linux gives the memory of an array that it frees back to the
# system, and fetches it anew, page by page, for the next one: up to two fifths of a
# job with tables of 569 x 30. It does so only above the size of the largest array that
# was freed so far, at most 32 MB. So one of this size is made here and freed; none of
# it is touched. Half of it: four fifths of the gain; twice of it: the same
np.empty(1 << 24, dtype=np.uint8)


def is_interactive(stream=None):
    """Tell whether a stream (stderr, if not given) is a terminal or a notebook, where
    somebody can see what is written; not a pipe, a file or a closed stream.
    """
    if stream is None:
        stream = sys.stderr
    if type(stream).__module__.startswith("ipykernel"):
        return True
    with suppress(AttributeError, ValueError):
        return bool(stream.isatty())
    return False


@cache  # tqdm keeps a lock and a set of bars for each class
def _bar_class():
    """Return the class of our bars; tqdm is imported when the first one is made."""
    from tqdm.std import tqdm

    class Bar(tqdm):
        # tqdm's monitor is a thread that never ends; it corrects a bar that has guessed
        # how rarely to look at the clock, and ours look at each update
        monitor_interval = 0

        def close(self):
            if sys.exc_info()[0] in (None, GeneratorExit):  # of a loop that was left
                self.total = self.total and self.n
                self.colour = "green"
            super().close()

    return Bar


def progress_bar(items=None, *, shown=True, **options):
    """Make a progress bar (tqdm's, with its options) on stderr that appears after two
    seconds, if `shown` and in a terminal or notebook.

    Iterate over it; or give `total`, and `update(n)` it in a `with`. Work that ends
    before the total ends the bar, full and green; an error in a `with` does not.
    """
    disable = not (shown and is_interactive())
    return _bar_class()(items, delay=2, miniters=1, disable=disable, **options)


@contextmanager
def numpy_errors(**how):
    """Set NumPy's error state, as `np.errstate` does, in a context or as a decorator;
    restore it also where an interrupt came inside another one.
    """
    before = np.geterr()
    try:
        np.seterr(**how)
        yield
    finally:
        np.seterr(**before)


@cache
def threaded_libraries():
    """Find the libraries that have threads, once: a search takes milliseconds. Inside
    `with threaded_libraries().limit(limits=1)` each has one.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def import_extra(module, extra):
    """Import a module of an optional extra; the ImportError names the extra."""
    try:
        return import_module(module)
    except ImportError as problem:
        raise ImportError(
            f"{module} is needed here: pip install 'rvamp-nb[{extra}]'"
        ) from problem


@contextmanager
def written_whole(paths):
    """Open files to write to, all of which get their names when they are on the disk;
    if one fails, none does.

    Each is written beside its target, and then takes its place. A file that replaces
    another has its permissions. An OSError if a path exists and is no regular file.
    """
    token = f".rvamp-nb-{os.getpid()}-{secrets.token_hex(4)}-"
    targets = [_find_target(path, token) for path in paths]
    try:
        with ExitStack() as stack:
            files = [stack.enter_context(_open_beside(target)) for target in targets]
            yield files
            for file in files:
                file.flush()
                os.fsync(file.fileno())
        for target in targets:
            if target.mode is not None:
                os.chmod(target.beside, target.mode)
            os.replace(target.beside, target.path)
    finally:
        for target in targets:
            with suppress(OSError):
                target.beside.unlink()


class _Target(NamedTuple):
    """A file that is to be written or replaced."""

    path: Path  # where links lead to
    beside: Path  # what is written first
    mode: int | None  # permissions of the file that is replaced


def _find_target(path, token):
    """Find the `_Target` of a path; the name beside it begins with the token."""
    target = Path(os.path.realpath(path))
    mode = None
    if target.exists():
        if not target.is_file():
            remedy = "it is a folder, a device or a pipe: give the name of a file"
            number = errno.EISDIR if target.is_dir() else errno.EEXIST
            raise OSError(number, remedy, path)
        mode = S_IMODE(target.stat().st_mode)
    return _Target(target, target.with_name(token + target.name), mode)


def _open_beside(target):
    """Open the file beside a target to write bytes to."""
    binary = vars(os).get("O_BINARY", 0)  # on Windows only

    # from the first byte on nobody reads who could not read what was there
    def private(path, flags):
        return os.open(path, flags | binary, 0o600)

    opener = None
    if target.mode is not None:
        opener = private
    return open(target.beside, "xb", opener=opener)


@contextmanager
def unwritten_named(path):
    """Add to an OSError what was not written, and what to do."""
    try:
        yield
    except OSError as e:
        remedy = (
            "nothing was changed there; it takes a folder that is there, that you may"
            " write to, and with room on its disk"
        )
        reason = e.strerror or e
        raise OSError(e.errno, f"{reason}; {remedy}", str(path)) from e
