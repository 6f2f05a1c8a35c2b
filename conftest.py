"""`pytest` runs the notebooks too.

Every nbs/**/*.ipynb is a test, run cell by cell as nbdev would. A notebook that exports
is ``::module``: its exported cells are replaced by the exported module, so that the
demos and checks (and coverage) see the package; that module and cells are the same
text is what tests/pages/test_export_in_step.py proves. The others are
``::notebook``, as they stand. At the end each control above a picture is moved to both
its ends, and must move the picture.

A run of everything leaves out the notebooks that passed in one before, where nothing
that they depend on has changed since (tests/helpers/kept.py); what is asked for by name
is run.
"""

import atexit
import gc
import json
import os

# Small matrices run faster, and times are steadier, on one thread. BLAS reads this
# once, when numpy is first imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
# Memory that is given back and asked for again is cleared again each time: a twentieth
# of the time of a run. The workers, which start later, keep theirs (glibc reads this).
for _name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"):
    os.environ.setdefault(_name, str(2**28))
# Another environment that is active in the shell is none of ours; IPython warns of it.
os.environ.pop("VIRTUAL_ENV", None)

import re
import subprocess
import sys

# nbformat brings jsonschema, and that, if it is there, a checker of addresses that
# compiles its grammars for three seconds in every worker: nobody asks it anything here.
sys.modules.setdefault("rfc3987_syntax", None)

import warnings
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent
sys.path += [str(ROOT / "tests/helpers"), str(ROOT / "docs")]
import kept

NOTEBOOKS = ROOT / "nbs"
ON_DEMAND = {  # folders that take an option to be collected
    "--bench": (
        ROOT / "tests" / "bench",
        "collect the benchmarks in tests/bench as well",
    ),
    "--site": (
        ROOT / "tests" / "site",
        "collect the tests in a browser as well: JupyterLab, and the site in _docs/,"
        " which docs/build.py builds",
    ),
    "--release": (
        ROOT / "tests" / "release",
        "collect the rehearsal of a release as well: builds, and minutes of pip",
    ),
    "--lowest": (
        ROOT / "tests" / "lowest",
        "collect the tests of the lowest versions allowed as well: minutes of pip",
    ),
}
EXPORTED = {"export", "exporti", "exports"}
MAY_SKIP = {  # where CI is set, only these may skip: {start of a test's id: why}
    "tests/site/test_lite.py::test_a_chapter_runs_in_the_browser": (
        "a wheel that carries Pyodide's packages along may be withdrawn"
    ),
    "tests/select/test_error_control.py::test_it_is_what_ipss_computes": (
        "ipss brings hundreds of megabytes that nothing else needs"
    ),
    "tests/select/test_error_control.py::test_where_a_part_is_used_ipss": "the same",
    "tests/inference/test_survival.py::test_a_cox_refit_against_scikit_survival": (
        "it holds numpy and pandas at older versions"
    ),
    "tests/inference/test_survival.py::"
    "test_a_weighted_cox_refit_against_adelie": "the same",
    "tests/inference/test_survival.py::"
    "test_an_unpenalised_cox_refit_against_lifelines": ("the same"),
}


def pytest_addoption(parser):
    for option, (_, explanation) in ON_DEMAND.items():
        parser.addoption(option, action="store_true", help=explanation)
    parser.addoption(
        "--explore",
        action="store_true",
        help="property tests draw new arguments, ten times as many; otherwise the same"
        " ones every run",
    )
    parser.addoption(
        "--films",
        action="store_true",
        help="take the films of the notebooks that are named, and keep them for the"
        " site: docs/build.py does, where a run of everything has not",
    )


def pytest_configure(config):
    """The same run every time: Hypothesis draws what it drew before, keeps nothing, and
    does not mind a slow machine.
    """
    from hypothesis import HealthCheck, settings

    patient = dict(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    fixed = dict(derandomize=True, database=None, max_examples=40)
    settings.register_profile("same", **fixed, **patient)
    settings.register_profile("explore", max_examples=400, **patient)
    settings.load_profile("explore" if config.getoption("--explore") else "same")
    kept.find_riboflavin()


def pytest_runtest_setup(item):
    if item.get_closest_marker("riboflavin"):
        if not os.environ.get("RVAMP_NB_RIBOFLAVIN"):
            pytest.skip(
                "needs riboflavin.RData of the R package hdi: name the file in"
                " RVAMP_NB_RIBOFLAVIN"
            )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Two for a run of everything; what is asked for by name, benchmarks among it,
    runs in this process.
    """
    return (
        2
        if config.args_source is config.ArgsSource.TESTPATHS
        and not config.getoption("--bench")
        else 0
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is made while tests are collected stays to the end: the garbage collector,
    which would look through it again and again, leaves it out, then and later. It took
    4 % of a run, and takes 2.5 % now that it looks after 20,000 new objects, not 700.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000)
        gc.enable()


def pytest_ignore_collect(collection_path, config):
    paths = {collection_path, *collection_path.parents}
    if any(
        folder in paths and not config.getoption(option)
        for option, (folder, _) in ON_DEMAND.items()
    ):
        return True


def pytest_collect_file(file_path, parent):
    hidden = any(
        part.startswith((".", "_")) for part in file_path.parts[len(ROOT.parts) :]
    )
    if file_path.suffix == ".ipynb" and NOTEBOOKS in file_path.parents and not hidden:
        return NotebookFile.from_parent(parent, path=file_path)


class NotebookFile(pytest.File):
    def collect(self):
        module = exported_module(self.path)
        name = "module" if module else "notebook"
        yield NotebookItem.from_parent(self, name=name, module=module)


class NotebookItem(pytest.Item):
    def __init__(self, *, module, **kwargs):
        super().__init__(**kwargs)
        self.module = module

    def runtest(self):
        asked = self.config.getoption("--films")
        everything = self.config.args == self.config.getini("testpaths")
        if asked or (everything and "coverage" not in sys.modules):
            # CI builds the site next, and would run all of these again
            run_or_recall(self.path, self.module, asked or "CI" in os.environ)
        else:
            run_alone(self.path, self.module)

    def repr_failure(self, excinfo):
        return (
            str(excinfo.value)
            if excinfo.errisinstance(NotebookError)
            else super().repr_failure(excinfo)
        )

    def reportinfo(self):
        return self.path, 0, f"{self.path.name}::{self.name}"


class NotebookError(Exception):
    """A cell failed, or a widget's callback did; the message is the notebook's own
    traceback.
    """


def read_cells(path):
    """The cells of a notebook with their ``#|`` lines parsed by nbdev into
    ``cell.directives_``.
    """
    from nbdev.process import NBProcessor

    return NBProcessor(path).nb.cells


def exported_module(path):
    """The dotted name of the (first) module that a notebook exports to, or None. Read
    without nbdev: every worker asks this of every notebook.
    """
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
    names = re.findall(
        r"^#\| *(?:default_exp|exporti?s?) +(\S+)", "\n".join(code), re.MULTILINE
    )
    exports = any(re.match(r"#\| *exporti?s?\b", source) for source in code)
    return f"rvamp_nb.{names[0]}" if names and exports else None


def home(cell, module):
    """The module that an exported cell goes to: the notebook's, or one it names."""
    named = [args for kind, args in cell.directives_.items() if kind in EXPORTED]
    return f"rvamp_nb.{named[0][0]}" if named[0] else module


def is_run(cell):
    """Whether nbdev_test would run this cell: code, not ``#| eval: false``, not
    under a flag such as ``#| slow``.
    """
    from nbdev.config import get_config

    flags = set(get_config(path=ROOT).tst_flags.split())
    return (
        cell.cell_type == "code"
        and cell.directives_.get("eval:") != ["false"]
        and not flags & cell.directives_.keys()
    )


def run_alone(path, module=None, films=False):
    """Run the notebook at ``path``, of which the next test sees nothing; see
    `run_notebook`.
    """
    with clean_slate(path.parent, module):
        return run_notebook(path, module, films)


def run_or_recall(path, module=None, films=False):
    """Run a notebook unless it is kept that it passed as it stands. What its widgets
    show is kept for the site; not where films are left out, which would take as long
    again as the run.
    """
    key = kept.key(path)
    if kept.find(path, "site" if films else "tests", key) is None:
        states = run_alone(path, module, films)
        kept.keep(path, "tests", key)
        if films or "sliders(" not in path.read_text(encoding="utf-8"):
            kept.keep(path, "site", key, json.dumps(states))


@pytest.fixture
def recall():
    """See `run_or_recall`."""
    return run_or_recall


def run_notebook(path, module=None, films=False):
    """Run the notebook at ``path`` in this process; with ``module``, use that in
    place of its exported cells. A list of what the widgets hold that its cells display,
    with ``films`` also the films of its sliders; None for one that needs a kernel.
    """
    pictures = import_module("rvamp_nb.course.pictures")
    others = list(pictures._live)  # boxes of tests that ran before, still about
    shell, cells = watching_shell()(path, mpl_format="png"), read_cells(path)
    for cell in filter(is_run, cells):
        cell.outputs = []
        if module and EXPORTED & cell.directives_.keys():
            shell.user_ns.update(
                {
                    k: v
                    for k, v in vars(import_module(home(cell, module))).items()
                    if not k.startswith("__")
                }
            )
            continue
        shell.cell(cell)
        if shell.exc:
            raise NotebookError(shell.prettytb(path))
        if shell.shown:
            raise NotebookError(
                f"{path}: a widget's callback failed under this cell,"
                f" unseen:\n{cell.source}\n\n{shell.shown[0]}"
            )
    boxes = [
        box for box in pictures._live if box.comm and all(box is not o for o in others)
    ]
    wrong = [line for box in boxes for line in swept(box)]
    if wrong:
        raise NotebookError(f"{path}: controls that were moved:\n" + "\n".join(wrong))
    shown = on_show(cells)
    models = import_module("ipywidgets").Widget.get_manager_state()["state"]
    errors = errors_inside(models, shown)
    if errors:
        raise NotebookError(
            f"{path}: a widget shows an error at the"
            f" end:\n{''.join(errors[0]['traceback'])}"
        )
    for name, film in on_the_site(boxes, shown, path.stem, films).items():
        shown[shown.index(name)] = film
    models = import_module("ipywidgets").Widget.get_manager_state()["state"]
    states = [models.get(name) for name in shown]
    return [s if s and s["model_module"] == "anywidget" else None for s in states]


def on_the_site(boxes, shown, page, films):
    """Return the names of the films of those boxes that are shown, by the names of
    the boxes; none are taken without ``films``, but each must be possible.
    """
    from films import controls_of, filmed, prints

    taken = {}
    for box in boxes:
        name = box.model_id  # a film closes its box
        if name in shown and not prints(box):
            controls_of(box, page)
            if films:
                taken[name] = filmed(box, page).model_id
    return taken


def swept(box=None):
    """Move every control of a box from `sliders` (None: of all that are alive and not
    closed) to both its ends and back. A list of lines: one for each error, with the
    control and its value, and one for each control that changed nothing.
    """
    live, found = import_module("rvamp_nb.course.pictures")._live, []
    for alive in list(live) if box is None else [box]:
        if alive.comm is not None:
            *knobs, out = alive.children
            for knob in knobs:
                found += errors_of(knob, out, live[alive])
    return found


def errors_of(knob, out, redraw):
    """The errors that one control meets at its ends; it and the picture go back."""
    found, start, before, moved = [], knob.value, out.outputs, False
    ends = [getattr(knob, "min", False), getattr(knob, "max", True)]
    if hasattr(knob, "options"):
        ends = [o[1] if isinstance(o, tuple) else o for o in knob.options]
    for value in (ends[0], ends[-1]):
        knob.value = value
        moved |= out.outputs != before
        for o in out.outputs:
            if o["output_type"] == "error":
                place = f"{knob.description} = {value}"
                found.append(f"{place}: {o['ename']}: {o['evalue']}")
    knob.unobserve(redraw, "value")
    knob.value, out.outputs = start, before
    knob.observe(redraw, "value")
    return found if moved else [f"{knob.description} changes nothing"]


@pytest.fixture
def sweep():
    """See `swept`."""
    return swept


def on_show(cells):
    """The names of the widgets that the cells display, in their order."""
    view = "application/vnd.jupyter.widget-view+json"
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    found = [output["data"] for output in outputs if view in output.get("data", {})]
    return [data[view]["model_id"] for data in found]


def errors_inside(models, shown):
    """The error outputs in the widgets that are shown, and in all inside them."""
    todo, seen, errors = [*shown], set(), []
    while todo:
        model = todo.pop()
        if model in models and model not in seen:
            seen.add(model)
            state = models[model]["state"]
            errors += [
                output
                for output in state.get("outputs", ())
                if output["output_type"] == "error"
            ]
            todo += re.findall(r"IPY_MODEL_(\w+)", repr(state))
    return errors


def watching_shell():
    """execnb's shell, which also keeps every traceback that is shown and not raised.

    ipywidgets catches what a callback raises and only shows it (in the widget), so a
    broken slider fails no cell.
    """
    from execnb.shell import CaptureShell
    from fastcore.ansi import strip_ansi

    class WatchingShell(CaptureShell):
        shown = ()
        cache_size = 0  # no cell asks for what another has shown

        def _showtraceback(self, etype, evalue, stb):
            self.shown += (strip_ansi(self.InteractiveTB.stb2text(stb)),)

    return WatchingShell


def thin_ticks(fig):
    """Two or three on an axis where matplotlib would choose up to ten."""
    from matplotlib.ticker import AutoLocator, MaxNLocator

    for axis in (axis for ax in fig.axes for axis in (ax.xaxis, ax.yaxis)):
        if type(axis.get_major_locator()) is AutoLocator:
            axis.set_major_locator(MaxNLocator(2))


def composed(fig, *_, **__):
    """A cell's picture is composed, but neither laid out nor rendered, which is what
    takes the time; that pictures can be, the sweep of the controls shows. Of the rest
    most goes into ticks: matplotlib's choices are thinned, those of a chapter stay.
    """
    fig.set_layout_engine("none")
    for ax in fig.axes:
        import_module("rvamp_nb.course.pictures")._plain_ticks(ax)
    thin_ticks(fig)
    fig.draw_without_rendering()
    return ""


@pytest.fixture(autouse=True)
def no_pictures_of_others():
    """What a test leaves open is closed, or the next of this worker would count it."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture
def compose():
    """See `composed`."""
    return composed


def thinned(fig, places, picture):
    """A control's picture with few ticks, by the package's own function."""
    thin_ticks(fig)
    return picture(fig, places)


def blank_files(_, pictures=("path", "bars"), kinds=("png", "svg", "pdf")):
    """In place of the command's pictures, which take longer than its fits."""
    return {f"{name}.{kind}": b"blank" for name in pictures for kind in kinds}


@contextmanager
def clean_slate(folder, module=None):
    """Run in ``folder`` with a drawing backend that needs no screen; leave no trace
    for the next test. What takes longest in a chapter is left to the notebook of its
    room, ``module``, to the tests of that room, and to films.
    """
    import matplotlib.pyplot as plt
    from IPython.core.interactiveshell import InteractiveShell
    from ipywidgets import Widget

    folder_before = os.getcwd()
    path_before = sys.path[:]
    main_before = sys.modules["__main__"]
    plt.switch_backend("agg")
    os.chdir(folder)
    try:
        with plt.rc_context(), pytest.MonkeyPatch.context() as patch:
            patch.setenv("IN_TEST", "1")  # nbdev's word for it: a notebook can ask
            patch.setattr("IPython.core.pylabtools.print_figure", composed)
            if module != "rvamp_nb.select.report":
                patch.setattr("rvamp_nb.select.report.picture_files", blank_files)
            picture = import_module("rvamp_nb.course.pictures")._picture
            few_ticks = partial(thinned, picture=picture)
            patch.setattr("rvamp_nb.course.pictures._picture", few_ticks)
            yield
    finally:
        plt.close("all")
        Widget.close_all()
        os.chdir(folder_before)
        sys.path[:] = path_before
        sys.modules["__main__"] = main_before  # an IPython shell puts its own there,
        end_shell(InteractiveShell)  # and stays behind as get_ipython()


def end_shell(kind):
    """End the shell of this kind, if there is one, which would keep all that its
    notebook has made to the end of the process.
    """
    if kind.initialized():
        shell = kind.instance()
        shell.atexit_operations()
        atexit.unregister(shell.atexit_operations)
        kind.clear_instance()


@pytest.fixture
def no_warning_leaks():
    """Every warning is an error while the test runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture(scope="session")
def repository_files():
    """The files that a commit of everything here would hold, relative to the top."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = (
        subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
        .stdout.decode()
        .split("\0")
    )
    return [Path(name) for name in names if name and (ROOT / name).exists()]


# A test that is skipped tests nothing. Where CI is set, skipping is a failure.


def no_silent_skip(report):
    allowed = any(report.nodeid.startswith(start) for start in MAY_SKIP)
    if (
        os.environ.get("CI")
        and report.skipped
        and not hasattr(report, "wasxfail")
        and not allowed
    ):
        report.outcome = "failed"
        report.longrepr = (
            "skipped, which CI does not allow (MAY_SKIP in conftest.py):"
            f" {report.longrepr}"
        )
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return no_silent_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return no_silent_skip((yield))


def pytest_terminal_summary(terminalreporter):
    """Name the five slowest notebooks, so that none grows slow unseen."""
    calls = [
        r
        for r in terminalreporter.stats.get("passed", [])
        if r.when == "call" and ".ipynb::" in r.nodeid
    ]
    if calls:
        terminalreporter.section("slowest notebooks")
        for report in sorted(calls, key=lambda r: -r.duration)[:5]:
            terminalreporter.write_line(f"{report.duration:6.1f} s  {report.nodeid}")
