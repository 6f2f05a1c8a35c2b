"""The built site in a browser: python docs/build.py, then python -m pytest --site
tests/site.
"""

import re
import threading
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

import rvamp_nb

ROOT = Path(__file__).resolve().parent.parent.parent
SITE = ROOT / "_docs"
PAGES = sorted(
    path.relative_to(SITE).as_posix()
    for path in SITE.rglob("*.html")
    if "_static" not in path.parts
)
NOTEBOOKS = {
    path.relative_to(ROOT / "nbs").with_suffix("").as_posix().replace("/", "-"): path
    for path in sorted((ROOT / "nbs").rglob("[!_.]*.ipynb"))
    if path.stem != "index" and path.parent.name != "rooms"  # heads are no pages
}
each_page = pytest.mark.parametrize("name", PAGES)

# mathematics, directives, MyST roles: none for a reader's eyes
RAW = re.compile(r"\$|#\||\\tag|\\[()\[\]]|\{\.?\w+\}|:::")
WINDOW = {"width": 1400, "height": 900}  # in pixels: nothing is cut in it
LOOK = """() => {
    document.querySelectorAll("details").forEach(node => { node.open = true; });
    const all = (selector, read) => [...document.querySelectorAll(selector)].map(read);
    const prose = document.body.cloneNode(true);
    const not_prose = "pre, code, script, style, mjx-container";
    prose.querySelectorAll(not_prose).forEach(node => node.remove());
    const unknown_macro = "[data-mml-node=mtext][fill=red]";
    const error = `[data-mjx-error], [data-mml-node=merror], ${unknown_macro}`;
    const typeset = node => node.querySelector("mjx-container svg");
    const bare = node => !typeset(node) || node.querySelector(error);
    const formulas = [...document.querySelectorAll(".math")];
    const boxes = "pre, div.output, table, div.math > mjx-container";
    const is_cut = node => node.scrollWidth > node.clientWidth + 1;
    const cut = node => [node.tagName, node.scrollWidth, node.clientWidth,
        (node.innerText || "").split("\\n").sort((a, b) => b.length - a.length)[0]];
    return [
        prose.textContent,
        all("pre", node => node.textContent),
        all("a[href]", node => node.href),
        all("[id]", node => node.id),
        formulas.filter(bare).map(node => node.textContent),
        [document.documentElement, ...document.querySelectorAll(boxes)]
            .filter(is_cut).map(cut),
    ];
}"""
DRAWN = """box => {
    const drawing = node =>
        node.tagName.toLowerCase() == "svg" ? node.innerHTML : node.toDataURL();
    return [...box.querySelectorAll("svg, canvas")].map(drawing).join();
}"""


HANGS = 600_000  # milliseconds: a page is waited for, but what hangs must end


class Page(NamedTuple):
    complaints: list  # console errors, failed requests, requests to anywhere else
    prose: str  # all text, folded or not, outside code and mathematics
    code: list
    links: list
    anchors: list
    not_typeset: list
    cut: list  # what does not fit: its tag, the room it needs and has, its longest line


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def address():
    assert PAGES, "there is no site in _docs/: run docs/build.py first"
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(QuietHandler, directory=str(SITE))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def tab(browser):
    tab = browser.new_page()
    tab.set_default_timeout(HANGS)
    yield tab
    tab.close()


def listen(tab, start):
    """The list to which every complaint of ``tab`` will be added; a request is at
    home if its address begins with ``start``.
    """
    complaints = []
    tab.on(
        "console",
        lambda message: message.type == "error" and complaints.append(message.text),
    )
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("requestfailed", lambda request: complaints.append(f"failed: {request.url}"))
    tab.on(
        "request",
        lambda request: (
            request.url.startswith((start, "data:", "blob:"))
            or complaints.append(f"outside: {request.url}")
        ),
    )
    tab.on(
        "response",
        lambda response: (
            response.status < 400
            or complaints.append(f"{response.status}: {response.url}")
        ),
    )
    return complaints


def settle(tab):
    tab.wait_for_load_state("networkidle")
    tab.evaluate("() => window.MathJax?.startup?.promise")


@pytest.fixture(scope="session")
def visit(browser, address):
    """A function from a page's name to what the browser saw there; each page is
    opened once.
    """

    @cache
    def visit(name):
        tab = browser.new_page(viewport=WINDOW)
        complaints = listen(tab, address)
        tab.goto(address + name)
        settle(tab)
        seen = Page(complaints, *tab.evaluate(LOOK))
        tab.close()
        return seen

    return visit


@each_page
def test_a_page_loads_without_complaint(visit, name):
    assert visit(name).complaints == []


@each_page
def test_a_page_says_its_version_and_what_it_is_about_and_is_light(name):
    html = (SITE / name).read_text(encoding="utf-8")
    title = re.search("<title>(.*?)</title>", html, re.DOTALL)[1]
    assert f"rvamp_nb {rvamp_nb.__version__}" in title
    assert len(re.findall('<meta name="description" content="[^"]{20,}"', html)) == 1
    drawn = re.findall(r"(?:src=|url\()\W?data:[^\s\"')]*", html)
    assert len(html) - sum(map(len, drawn)) < 1_000_000


@each_page
def test_nothing_raw_is_left(visit, name):
    page = visit(name)
    assert [
        page.prose[max(0, match.start() - 40) : match.end() + 40]
        for match in RAW.finditer(page.prose)
    ] == []
    assert [
        code for code in page.code if re.search(r"^\s*#\s*\|", code, re.MULTILINE)
    ] == []


@each_page
def test_mathematics_is_typeset(visit, name):
    assert visit(name).not_typeset == []


@each_page
def test_no_line_is_cut(visit, name):
    """Code, printed output, tables and formulas, folded or not."""
    assert visit(name).cut == []


@each_page
def test_links_arrive(visit, address, name):
    assert [
        link for link in set(visit(name).links) if not arrives(link, visit, address)
    ] == []


def arrives(link, visit, address):
    """Whether there is such a page and, on it, such an anchor; links that leave the
    site are only looked at.
    """
    link, anchor = urldefrag(link)
    if not link.startswith(address):
        in_repository = re.search(r"github\.com/rvamp-nb/rvamp_nb/blob/main/(.+)", link)
        return (
            (ROOT / in_repository[1]).exists()
            if in_repository
            else urlsplit(link).scheme == "https"
        )
    name = unquote(urlsplit(link).path).lstrip("/") or "index.html"
    return (SITE / name).is_file() and (
        not anchor or unquote(anchor) in visit(name).anchors
    )


def test_every_chapter_is_a_page_and_can_be_taken_home(visit, address):
    for page, path in NOTEBOOKS.items():
        copies = [
            link
            for link in visit(f"{page}.html").links
            if link.startswith(address) and link.endswith(f"/{path.name}")
        ]
        assert len(copies) == 1, f"{page}.html offers {copies}"
        copy = SITE / urlsplit(copies[0]).path.lstrip("/")
        same = copy.read_bytes() == path.read_bytes()
        assert same, (
            f"{page} has changed since the site was built: run docs/build.py again"
        )


def test_the_landing_page_leads_everywhere(visit, address):
    links = {
        urldefrag(link)[0].removeprefix(address) for link in visit("index.html").links
    }
    assert links >= {f"{page}.html" for page in NOTEBOOKS} | {
        "quickstart.html",
        "api.html",
        "genindex.html",
    }


def test_search_finds_woodbury(tab, address):
    complaints = listen(tab, address)
    tab.goto(f"{address}search.html?q=Woodbury")
    tab.wait_for_selector("#search-results li a")
    settle(tab)
    assert any(
        "10_coupling.html" in link
        for link in tab.eval_on_selector_all(
            "#search-results li a", "links => links.map(a => a.href)"
        )
    )
    assert complaints == []


def test_a_chapter_opens_from_disk(tab):
    complaints = listen(tab, SITE.as_uri())
    tab.goto((SITE / "07_messages.html").as_uri())
    settle(tab)
    assert complaints == []


@pytest.mark.parametrize(
    "name, wanted", [("00_tour", 1), ("06_rs_gaussian", 2), ("81_explorers", 3)]
)
def test_explorers_and_films_move(tab, address, name, wanted):
    tab.goto(f"{address}{name}.html")
    tab.wait_for_selector("input[type=range]")
    settle(tab)
    boxes = [
        box
        for box in tab.query_selector_all("div.cell_output")
        if box.query_selector("input[type=range]")
    ]
    assert len(boxes) == wanted
    for box in boxes:
        for slider in box.query_selector_all("input[type=range]"):
            before = box.evaluate(DRAWN)
            slider.focus()
            for _ in range(3):
                slider.press(
                    "ArrowRight"
                    if float(slider.input_value()) < float(slider.get_attribute("max"))
                    else "ArrowLeft"
                )
            for _ in range(HANGS // 100):
                if box.evaluate(DRAWN) != before:
                    break
                tab.wait_for_timeout(100)
            assert before and box.evaluate(DRAWN) != before, (
                "nothing moves with"
                f" {slider.evaluate('node => node.parentElement.textContent')}"
            )
