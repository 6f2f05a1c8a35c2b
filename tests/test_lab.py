"""A reader's hand on every slider: JupyterLab in headless Chromium, each control of
each notebook moved, its picture seen to change.

Slow (a browser, a server, a kernel for each notebook), and in need of Debian's
Chromium: without one these tests skip.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = (
    shutil.which("chromium")
    or shutil.which("chromium-browser")
    or shutil.which("google-chrome")
)
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NOTEBOOKS = [
    path
    for path in sorted((ROOT / "nbs").glob("[0-9]*.ipynb"))
    if any(
        cell.cell_type == "code"
        and "sliders(" in cell.source
        and "def sliders" not in cell.source
        for cell in nbformat.read(path, 4).cells
    )
]
CURRENT = "window.jupyterapp.shell.currentWidget"
SHOWN = ".widget-vbox :is(img, pre)"  # a picture; or text, where draw prints
CONTROLS = ".noUi-handle, select, input[type=checkbox]"

pytestmark = pytest.mark.skipif(
    not CHROMIUM, reason="needs Chromium: apt-get install chromium"
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab of our own, on copies of the notebooks."""
    here = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "nbs", here / "nbs")
    (here / "tests").symlink_to(ROOT / "tests")  # chapters read committed truths
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folders = {
        f"JUPYTER_{name}_DIR": str(here / name.lower())
        for name in ("CONFIG", "DATA", "RUNTIME")
    }
    folders |= {
        f"JUPYTERLAB_{name}_DIR": str(here / name.lower())
        for name in ("SETTINGS", "WORKSPACES")
    }
    places = ROOT, ROOT / "tests", ROOT / "tests" / "bench"  # what chapters import
    env = (
        {k: v for k, v in os.environ.items() if k not in ("MPLBACKEND", "IN_TEST")}
        | folders
        | {"PYTHONPATH": os.pathsep.join(map(str, places))}
    )
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
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
        url, patience = f"http://127.0.0.1:{port}", time.monotonic() + 90
        while True:
            try:
                urllib.request.urlopen(f"{url}/api", timeout=1)
                break
            except OSError:
                assert server.poll() is None and time.monotonic() < patience, (
                    here / "log"
                ).read_text()
                time.sleep(0.5)
        yield url
        server.terminate()


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield chromium
        chromium.close()


def run_all(page, url, name):
    """Open the notebook and run all its cells."""
    page.goto(f"{url}/lab/tree/{name}?reset")
    page.wait_for_function(
        f"() => window.jupyterapp && {CURRENT} && {CURRENT}.sessionContext &&"
        f" {CURRENT}.sessionContext.session && {CURRENT}.sessionContext.session.kernel"
        f" && {CURRENT}.sessionContext.session.kernel.status === 'idle'",
        timeout=300_000,
    )
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(
        f"""() => {{
            const to_run = c => c.type === 'code' && c.sharedModel.getSource().trim();
            const cells = [...{CURRENT}.content.model.cells].filter(to_run);
            const {{status}} = {CURRENT}.sessionContext.session.kernel;
            return cells.length && cells.every(c => c.executionCount)
                && status === 'idle';
        }}""",
        timeout=600_000,
    )


def turn(page, control):
    """Move one control by one notch; away from its end if it stands there."""
    if control.evaluate("e => e.tagName") == "SELECT":
        control.evaluate(
            "e => { e.selectedIndex = (e.selectedIndex + 1) % e.options.length;"
            " e.dispatchEvent(new Event('change', {bubbles: true})) }"
        )
    elif control.get_attribute("type") == "checkbox":
        control.click()
    else:
        at_the_top = float(control.get_attribute("aria-valuenow")) >= float(
            control.get_attribute("aria-valuemax")
        )
        control.press("ArrowLeft" if at_the_top else "ArrowRight")


def settled(page, cell):
    """The cell's picture, once the kernel is idle and nothing has been redrawn for
    half a second: what changes later has a later cause.
    """
    shown, since = None, time.monotonic()
    while time.monotonic() - since < 0.5:
        now = cell.locator(SHOWN).first.evaluate("e => e.outerHTML", timeout=30_000)
        if now != shown or page.evaluate(
            f"() => {CURRENT}.sessionContext.session.kernel.status !== 'idle'"
        ):
            shown, since = now, time.monotonic()
        page.wait_for_timeout(50)
    return shown


def changes(page, cell, before, patience):
    """Whether the cell's picture becomes another one within `patience` seconds."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if (
            cell.locator(SHOWN).count()
            and cell.locator(SHOWN).first.evaluate("e => e.outerHTML") != before
        ):
            return True
        page.wait_for_timeout(50)
    return False


def moves_its_picture(page, cell, control):
    """Turn one control. A busy browser may lose a key press, so there are three
    tries; a dead control stays dead.
    """
    for patience in (5, 10, 30):
        before = settled(page, cell)
        turn(page, control)
        if changes(page, cell, before, patience):
            return True
    return False


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_control_redraws_its_picture(lab, browser, notebook):
    page = browser.new_page(viewport={"width": 1300, "height": 1100})
    try:
        run_all(page, lab, notebook.name)
        moved = 0
        expected = sum(
            cell.source.count("\nsliders(") + cell.source.startswith("sliders(")
            for cell in nbformat.read(notebook, 4).cells
            if cell.cell_type == "code"
        )
        # views come a little after the kernel
        page.wait_for_function(
            "() => document.querySelectorAll('.jp-Cell .widget-vbox').length >="
            f" {expected}",
            timeout=180_000,
        )
        for number in range(page.locator(".jp-Cell").count()):
            cell = page.locator(".jp-Cell").nth(number)
            # none, or a folded solution
            if (
                not cell.locator(".widget-vbox").count()
                or not cell.locator(".widget-vbox").first.is_visible()
            ):
                continue
            cell.scroll_into_view_if_needed()
            cell.locator(SHOWN).first.wait_for(timeout=30_000)
            for control in cell.locator(f".widget-vbox :is({CONTROLS})").all():
                assert moves_its_picture(page, cell, control), (
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
        assert moved >= expected
    finally:
        page.evaluate(f"() => {CURRENT} && {CURRENT}.sessionContext.shutdown()")
        page.close()
