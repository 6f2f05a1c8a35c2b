"""One browser and one server for all of them."""

import threading
from functools import partial
from http.server import ThreadingHTTPServer

import pytest
from browsing import HANGS, PAGES, SITE, Handler, find_chromium

OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-smooth-scrolling",  # else each move is drawn sixty times a second
]


@pytest.fixture(scope="session")
def chromium():
    """How to start the browser."""
    found = find_chromium()
    if found is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    return {"executable_path": found, "args": OPTIONS}


@pytest.fixture(scope="session")
def browser(chromium):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright.chromium.launch(**chromium)


@pytest.fixture(scope="session")
def address():
    assert PAGES, "there is no site in _docs/: run docs/build.py first"
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Handler, directory=str(SITE))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def window(browser):
    """Open a window whose tabs share what one of them has fetched."""
    with browser.new_context() as window:
        window.set_default_timeout(HANGS)
        window.new_page()  # stays empty: a window opens with the first tab of several
        yield window


@pytest.fixture
def tab(window):
    with window.new_page() as tab:
        yield tab
