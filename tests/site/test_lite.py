"""Two chapters run in a browser from top to bottom, with their assertions, without
network; in_browser.py runs all of them.
"""

import pytest
from browsing import SITE
from in_browser import ALONE, NotHere, pyodide, run, served
from translate import RUN_HERE, notebook_files, page_name

OPENS = 'href="lite/notebooks/index.html?path={}.ipynb"'


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Make a folder with the interpreter."""
    try:
        return pyodide(tmp_path_factory.mktemp("pyodide"))
    except NotHere as reason:
        pytest.skip(f"Pyodide cannot be had: {reason}")


@pytest.fixture(scope="module")
def context(browser, chromium):
    """Open a browser that finds no other place than this machine."""
    options = dict(chromium, args=[*chromium["args"], ALONE])
    yield browser.browser_type.launch(**options).new_context()


@pytest.mark.parametrize("name", ["11_tour", "25_one_posterior"])
def test_a_chapter_runs_in_the_browser(context, home, name):
    with served(home) as address:
        found = run(context, address, name)
    assert found["error"] is None and found["outside"] == []
    assert found["ran"] == found["cells"] > 10 and found["figure"] is not None


def test_pages_open_the_chapters_that_run_and_no_others():
    files = {path.stem for path in (SITE / "lite/files").glob("*.ipynb")}
    opened = set()
    for name in map(page_name, notebook_files()):
        page = (SITE / f"{name}.html").read_text(encoding="utf-8")
        if OPENS.format(name) in page:
            opened.add(name)
    asked = {page_name(s) for s in notebook_files() if s.startswith(RUN_HERE)}
    assert opened == files == asked and len(files) == 18


def test_nothing_is_fetched_from_elsewhere_but_pyodide():
    """By what the settings say: one address, of the version that the tests run."""
    text = (SITE / "lite/jupyter-lite.json").read_text(encoding="utf-8")
    assert text.count("https://") == text.count("/v0.27.7/full/pyodide.js") == 1
    assert '"disablePyPIFallback": true' in text
