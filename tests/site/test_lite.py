"""Chapters run in a browser from top to bottom, with their assertions, without network.
In in_browser.txt stand all of them, each with a hash of the code that ran; here runs
what has changed since, and one more that takes little.
"""

import hashlib

import in_browser
import pytest
from browsing import ROOT, SITE
from in_browser import (
    ALONE,
    NotHere,
    changed,
    chapters,
    kept,
    pyodide,
    run,
    seconds,
    served,
)
from translate import notebook_files, page_name

LITTLE = 90  # seconds of the processor: most of them start the interpreter
OPENS = 'href="lite/notebooks/index.html?path=nbs/{}.ipynb"'


def one_of(lines):
    """Name a chapter that takes little by the text of the package: after a change of it
    another.
    """
    names = [name for name, line in lines.items() if max(seconds(line)) < LITTLE]
    rooms = sorted((ROOT / "rvamp_nb").rglob("*.py"))
    text = b"".join(room.read_bytes() for room in rooms)
    return names[int(hashlib.sha256(text).hexdigest(), 16) % len(names)]


def to_run():
    """Name the chapters that run in this test."""
    return sorted({*changed(), one_of(kept())})


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Make a folder with the interpreter."""
    try:
        return pyodide(tmp_path_factory.mktemp("pyodide"))
    except NotHere as reason:
        assert changed() == [], f"changed since they ran, and not to be run: {reason}"
        pytest.skip(f"Pyodide cannot be had: {reason}")


@pytest.fixture(scope="module")
def context(browser, chromium):
    """Open a browser that finds no other place than this machine."""
    options = dict(chromium, args=[*chromium["args"], ALONE])
    yield browser.browser_type.launch(**options).new_context()


@pytest.mark.parametrize("name", to_run())
def test_a_chapter_runs_in_the_browser(context, home, name):
    with served(home) as address:
        found = run(context, address, name)
    assert found["error"] is None and found["outside"] == []
    assert found["ran"] == found["cells"] > 10 and found["figure"] is not None


def test_pages_open_the_chapters_that_run_and_no_others():
    files = {path.stem for path in (SITE / "lite/files").rglob("*.ipynb")}
    opened = set()
    for stem in notebook_files():
        name = page_name(stem)
        page = (SITE / f"{name}.html").read_text(encoding="utf-8")
        if OPENS.format(stem) in page:
            opened.add(name)
    assert opened == files == {*chapters()} and len(files) == 18


def test_pages_say_the_minutes_to_the_first_figure():
    """Of the processor, as in_browser.txt has them; a network comes on top."""
    first = [seconds(line)[0] / 60 for line in kept().values()]
    page = (SITE / "31_prior.html").read_text(encoding="utf-8")
    assert "after one to four minutes stands the first figure" in page
    assert 0.25 < min(first) < max(first) < 4


def test_nothing_is_fetched_from_elsewhere_but_pyodide():
    """By what the settings say: one address, of the version that the tests run."""
    text = (SITE / "lite/jupyter-lite.json").read_text(encoding="utf-8")
    assert text.count("https://") == text.count("/v0.27.7/full/pyodide.js") == 1
    assert '"disablePyPIFallback": true' in text


def test_a_chapter_with_other_code_is_named(tmp_path, monkeypatch):
    """Other words are no change; a chapter that failed is kept no longer."""
    runs = tmp_path / "runs.txt"
    monkeypatch.setattr(in_browser, "RUNS", runs)
    runs.write_text("")
    found = dict(cells=3, ran=3, figure=1, figure_busy=1, end=2, busy=2, error=None)
    for name in chapters():
        in_browser.keep(name, found)
    assert changed() == [] and len(kept()) == 18
    lines = runs.read_text(encoding="utf-8")
    runs.write_text(lines.replace(kept()["31_prior"].split()[1], "0" * 16))
    assert changed() == ["31_prior"]
    in_browser.keep("31_prior", found)
    in_browser.keep("24_messages", dict(found, error="AssertionError: "))
    assert changed() == ["24_messages"]
