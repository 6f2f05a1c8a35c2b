"""Progress bars, NumPy's error state, threads, optional dependencies.

Work that takes longer than two seconds shows a progress bar. Results go to stdout, so
that they can be piped; progress goes to stderr, and only where that is a terminal or a
notebook, because a bar redraws itself: log files and pipes see none.

`np.errstate` has a gap: an interrupt (ctrl-C) that comes between the line that changes
the state and the line that promises to restore it leaves it changed for good. A loop of
thousands of steps enters it thousands of times, so functions that run for long use
`numpy_errors`, which first promises and then changes.

The package installs what the main job needs; code that needs one of its extras
(`course`, `dask`, `parquet`) imports it by `import_extra`.

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

import sys
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module

import numpy as np

__all__ = [
    "is_interactive",
    "progress_bar",
    "numpy_errors",
    "threaded_libraries",
    "import_extra",
]


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
