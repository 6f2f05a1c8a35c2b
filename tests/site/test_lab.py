"""A reader's hand on a control of each kind: JupyterLab in headless Chromium, each
control moved, its picture seen to change.

One panel of each kind in a notebook made here; the controls of the chapters are moved
in process, where each notebook runs (conftest.py). A server, a page and a kernel are
waited for as long as they live: the limit below is for what hangs.
"""

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from browsing import use_every_control
from nbformat import v4, write

ROOT = Path(__file__).resolve().parents[2]
PANELS = [
    """
import matplotlib.pyplot as plt
from rvamp_nb.course.pictures import sliders
from rvamp_nb.course.widgets import diabetes_explorer

def draw(a):
    plt.figure(figsize=(3, 2))
    plt.title(a)
""",
    "sliders(draw, a=(0, 3, 1, 1))",
    "sliders(draw, a=['first', 'second'])",
    "sliders(draw, a=True)",
    "sliders(lambda a: print(a), a=[1, 10, 100])",
    "diabetes_explorer()",
]
CURRENT = "window.jupyterapp.shell.currentWidget"
# a panel of ours, whose picture is an image, or text where draw prints; or the explorer
EXPLORER = ".jp-OutputArea-output svg[role=img]"
PANEL = ".widget-vbox, .rvx"
SHOWN = f":is(.widget-vbox :is(img, pre), {EXPLORER})"
CONTROLS = ".noUi-handle, select, input[type=checkbox], input[type=range]"
HANGS = 600_000  # milliseconds


def looks(seconds):
    """A look every .2 seconds, until the time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
        time.sleep(0.2)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab of our own, on the notebook with the panels."""
    here = tmp_path_factory.mktemp("lab")
    (here / "nbs").mkdir()
    cells = [v4.new_code_cell(source.strip()) for source in PANELS]
    kernel = dict(kernelspec=dict(name="python3", display_name="Python 3"))
    write(v4.new_notebook(cells=cells, metadata=kernel), here / "nbs" / "lmmse.ipynb")
    folders = {
        f"JUPYTER_{name}_DIR": str(here / name.lower())
        for name in ("CONFIG", "DATA", "RUNTIME")
    }
    folders |= {
        f"JUPYTERLAB_{name}_DIR": str(here / name.lower())
        for name in ("SETTINGS", "WORKSPACES")
    }
    env = {k: v for k, v in os.environ.items() if k not in ("MPLBACKEND", "IN_TEST")}
    env |= folders | {"PYTHONPATH": str(ROOT)}
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        "--port=0",
        "--IdentityProvider.token=",
        "--ServerApp.password=",
        "--LabApp.expose_app_in_browser=True",
        "--LabApp.news_url=",
        f"--ServerApp.root_dir={here / 'nbs'}",
    ]
    with (
        open(here / "log", "w") as log,
        subprocess.Popen(command, env=env, stdout=log, stderr=log) as server,
    ):
        try:
            yield address_of(server, here)
        finally:
            server.terminate()


def address_of(server, here):
    """Where the server listens, which it writes into its runtime folder itself."""
    for _ in looks(HANGS / 1000):
        assert server.poll() is None, (here / "log").read_text()
        for file in (here / "runtime").glob("jpserver-*.json"):
            try:
                url = json.loads(file.read_text())["url"].rstrip("/")
                urllib.request.urlopen(f"{url}/api", timeout=HANGS / 1000)
                return url
            except (ValueError, OSError):
                pass  # not yet written, or not yet listening
    raise AssertionError((here / "log").read_text())


def run_all(page, url, name):
    """Open the notebook and run all its cells."""
    page.goto(f"{url}/lab/tree/{name}?reset")
    page.wait_for_function(
        f"() => window.jupyterapp && {CURRENT} && {CURRENT}.sessionContext &&"
        f" {CURRENT}.sessionContext.session && {CURRENT}.sessionContext.session.kernel"
        f" && {CURRENT}.sessionContext.session.kernel.status === 'idle'"
    )
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(
        f"""() => {{
            const to_run = c => c.type === 'code' && c.sharedModel.getSource().trim();
            const cells = [...{CURRENT}.content.model.cells].filter(to_run);
            const {{status}} = {CURRENT}.sessionContext.session.kernel;
            return cells.length && cells.every(c => c.executionCount)
                && status === 'idle';
        }}"""
    )


def turn(control):
    """Move one control by one notch; away from its end if it stands there."""
    if control.evaluate("e => e.tagName") == "SELECT":
        control.evaluate(
            "e => { e.selectedIndex = (e.selectedIndex + 1) % e.options.length;"
            " e.dispatchEvent(new Event('change', {bubbles: true})) }"
        )
    elif control.get_attribute("type") == "checkbox":
        control.click()
    else:
        at, top = control.evaluate(
            "e => e.type === 'range' ? [+e.value, +e.max]"
            " : ['aria-valuenow', 'aria-valuemax'].map(name => +e.getAttribute(name))"
        )
        control.press("ArrowLeft" if at >= top else "ArrowRight")


def settled(page, picture):
    """The picture, once the kernel is idle and nothing has been redrawn for half a
    second: what changes later has a later cause.
    """
    shown, since = None, time.monotonic()
    while time.monotonic() - since < 0.5:
        now = picture.evaluate("e => e.outerHTML")
        if now != shown or page.evaluate(
            f"() => {CURRENT}.sessionContext.session.kernel.status !== 'idle'"
        ):
            shown, since = now, time.monotonic()
        page.wait_for_timeout(50)
    return shown


def moves_its_picture(page, picture, control):
    """Turn one control. A busy browser may lose a key press, so there are three
    tries; a dead control stays dead.
    """
    for patience in (10, 60, 120):
        before = settled(page, picture)
        turn(control)
        for _ in looks(patience):
            if picture.count() and picture.evaluate("e => e.outerHTML") != before:
                return True
    return False


def test_every_control_redraws_its_picture(lab, browser):
    kinds = len(PANELS) - 1  # the first cell has none
    page = browser.new_page(viewport={"width": 1300, "height": 1100})
    page.set_default_timeout(HANGS)
    try:
        run_all(page, lab, "lmmse.ipynb")
        # views come a little after the kernel
        page.wait_for_function(
            f"() => document.querySelectorAll('.jp-Cell :is({PANEL})').length >="
            f" {kinds}"
        )
        moved = 0
        for number in range(page.locator(".jp-Cell").count()):
            cell = page.locator(".jp-Cell").nth(number)
            if not cell.locator(PANEL).count():
                continue
            if cell.locator(".rvx").count():
                cell.scroll_into_view_if_needed()
                assert len(use_every_control(cell.locator(".rvx"))) == 5
                moved += 1
                continue
            cell.scroll_into_view_if_needed()
            picture = cell.locator(SHOWN).first
            picture.wait_for()
            for control in cell.locator(CONTROLS).all():
                assert moves_its_picture(page, picture, control), (
                    f"cell {number}: {control.evaluate('e => e.outerHTML')[:200]} does"
                    " nothing"
                )
                moved += 1
            assert (
                cell.locator(
                    "[data-mime-type='application/vnd.jupyter.error'],"
                    " [data-mime-type='application/vnd.jupyter.stderr']"
                ).count()
                == 0
            )
        assert moved >= kinds
    finally:
        page.evaluate(f"() => {CURRENT} && {CURRENT}.sessionContext.shutdown()")
        page.close()
