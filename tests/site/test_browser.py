"""The built site in a browser: python docs/build.py, then python -m pytest --site
tests/site.
"""

import asyncio
import json
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest

import rvamp_nb

ROOT = Path(__file__).resolve().parent.parent.parent
SITE = ROOT / "_docs"
HOME = "/rvamp_nb/"  # under which the site is published
PAGES = sorted(
    path.relative_to(SITE).as_posix()
    for path in SITE.rglob("*.html")
    if "_static" not in path.parts
)
NOTEBOOKS = {
    path.stem: path
    for path in sorted((ROOT / "nbs").rglob("[!_.]*.ipynb"))
    if path.stem != "index"
}
each_page = pytest.mark.parametrize("name", PAGES)

# mathematics, directives, MyST roles: none for a reader's eyes
RAW = re.compile(r"\$|#\||\\tag|\\[()\[\]]|\{\.?\w+\}|:::")
WINDOW = {"width": 1400, "height": 900}  # in pixels: nothing is cut in it
PHONE = {"width": 390, "height": 844}  # here only what scrolls by itself is wider
SETTLED = """async () => {
    await window.MathJax?.startup?.promise;
    await document.fonts.ready;
    const views = document.querySelectorAll("script[type*=widget-view]");
    const is_shown = view => view.nextElementSibling?.querySelector("input");
    while (![...views].every(is_shown))
        await new Promise(done => setTimeout(done, 20));
}"""
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
    const name = node => (node.getAttribute("aria-label") ?? node.getAttribute("alt")
        ?? node.textContent).trim();
    const no_name = /^$|^Toggle hidden content$|[0-9a-f]{16}|\\.(png|svg)$/;
    const hidden = "[aria-hidden=true], [aria-hidden=true] *";
    const named = `summary, img, svg[role=img]:not(${hidden})`;
    return {
        prose: prose.textContent,
        code: all("pre", node => node.textContent),
        links: all("a[href]", node => node.href),
        not_typeset: formulas.filter(bare).map(node => node.textContent),
        cut: [document.documentElement, ...document.querySelectorAll(boxes)]
            .filter(is_cut).map(cut),
        nameless: [...document.querySelectorAll(named)].filter(
            node => no_name.test(name(node))).map(node => node.outerHTML.slice(0, 200)),
        scripts: performance.getEntriesByType("resource")
            .filter(entry => entry.initiatorType == "script")
            .reduce((sum, entry) => sum + entry.decodedBodySize, 0),
    };
}"""
WIDER = "() => document.documentElement.scrollWidth"
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
    not_typeset: list
    cut: list  # what does not fit: its tag, the room it needs and has, its longest line
    nameless: list  # folds and pictures of which nothing can be read aloud
    scripts: int  # bytes of the scripts that it loads
    on_a_phone: int  # how wide it is there, in pixels


class Handler(SimpleHTTPRequestHandler):
    """As the place where the site is published: below HOME, and with 404.html where
    there is nothing. The site is at the root, too.
    """

    def translate_path(self, path):
        return super().translate_path("/" + path.removeprefix(HOME).lstrip("/"))

    def send_error(self, code, *args):
        page = (SITE / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", len(page))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        pass


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


@pytest.fixture(scope="session")
def pages(request, chromium, address):
    """{name: what the browser saw there} of the pages that are asked for. Each is
    opened once, several side by side: a tab mostly waits.
    """
    names = {
        item.callspec.params["name"]
        for item in request.session.items
        if "pages" in item.fixturenames
    }
    with ThreadPoolExecutor(1) as thread:  # this one has a loop that runs
        return thread.submit(asyncio.run, look(names, chromium, address)).result()


async def look(names, chromium, address):
    from playwright.async_api import async_playwright

    async def visit(name):
        async with free:
            tab = await browser.new_page(viewport=WINDOW)
            tab.set_default_timeout(HANGS)
            complaints = listen(tab, address)
            await tab.goto(address + name)
            await tab.evaluate(SETTLED)
            await tab.wait_for_load_state("networkidle")
            seen = await tab.evaluate(LOOK)
            await tab.set_viewport_size(PHONE)
            on_a_phone = await tab.evaluate(WIDER)
            await tab.close()
            return Page(complaints, **seen, on_a_phone=on_a_phone)

    free = asyncio.Semaphore(2 * (os.cpu_count() or 1))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**chromium)
        return dict(zip(names, await asyncio.gather(*map(visit, names))))


@each_page
def test_a_page_loads_without_complaint(pages, name):
    assert pages[name].complaints == []


@each_page
def test_a_page_says_its_version_and_what_it_is_about_and_is_light(name):
    html = text(name)
    title = re.search("<title>(.*?)</title>", html, re.DOTALL)[1]
    assert f"rvamp_nb {rvamp_nb.__version__}" in title
    assert len(re.findall('<meta name="description" content="[^"]{20,}"', html)) == 1
    drawn = re.findall(r"(?:src=|url\()\W?data:[^\s\"')]*", html)
    assert len(html) - sum(map(len, drawn)) < 1_000_000


@each_page
def test_nothing_raw_is_left(pages, name):
    page = pages[name]
    assert [
        page.prose[max(0, match.start() - 40) : match.end() + 40]
        for match in RAW.finditer(page.prose)
    ] == []
    assert [
        code for code in page.code if re.search(r"^\s*#\s*\|", code, re.MULTILINE)
    ] == []


@each_page
def test_mathematics_is_typeset(pages, name):
    assert pages[name].not_typeset == []


@each_page
def test_no_line_is_cut(pages, name):
    """Code, printed output, tables and formulas, folded or not."""
    assert pages[name].cut == []


@each_page
def test_a_page_fits_a_phone(pages, name):
    assert pages[name].on_a_phone <= PHONE["width"]


@each_page
def test_folds_and_pictures_have_names(pages, name):
    assert pages[name].nameless == []


@each_page
def test_links_arrive(pages, address, name):
    assert [link for link in set(pages[name].links) if not arrives(link, address)] == []


def arrives(link, address):
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
    return (SITE / name).is_file() and (not anchor or unquote(anchor) in anchors(name))


@cache
def text(name):
    return (SITE / name).read_text(encoding="utf-8")


@cache
def anchors(name):
    return set(re.findall(r'\bid="([^"]+)"', text(name)))


def links(name):
    """Where the links of a page lead, seen from the root of the site."""
    return {urljoin(name, link) for link in re.findall(r'\bhref="([^"]+)"', text(name))}


def test_every_chapter_is_a_page_and_can_be_taken_home():
    for page, path in NOTEBOOKS.items():
        copies = [link for link in links(f"{page}.html") if link.startswith("_down")]
        assert [Path(copy).name for copy in copies] == [path.name], page
        same = (SITE / copies[0]).read_bytes() == path.read_bytes()
        assert same, (
            f"{page} has changed since the site was built: run docs/build.py again"
        )


def test_the_landing_page_leads_everywhere():
    found = {urldefrag(link)[0] for link in links("index.html")}
    assert found >= {f"{page}.html" for page in NOTEBOOKS} | {
        "quickstart.html",
        "api.html",
        "genindex.html",
    }


@pytest.mark.parametrize(
    "words, wanted, place",
    [
        ("install", {"quickstart"}, 1),
        ("replica", {"21_replica"}, 1),
        ("p-value", {"51_error_control", "56_effects"}, 3),
        ("Woodbury", {"33_coupling"}, 3),
        ("bootstrap", {"12_resampling", "14_bootstrap"}, 3),
        ("p1", {"37_densities"}, 3),
        ("density", {"37_densities"}, 3),
    ],
)
def test_search_finds(tab, address, words, wanted, place):
    complaints = listen(tab, address)
    tab.goto(f"{address}search.html?q={words}")
    found = found_pages(tab)
    assert wanted & set(found[:place]), found[:10]
    assert complaints == []


def found_pages(tab):
    """What the search page lists, as names of pages, the best first."""
    tab.get_by_text("Search finished").wait_for()
    read = "links => links.map(a => new URL(a.href).pathname)"
    paths = tab.eval_on_selector_all("#search-results li a", read)
    return [*dict.fromkeys(Path(path).stem for path in paths)]


def test_where_it_runs_elsewhere_is_not_searched(tab, address):
    tab.goto(f"{address}search.html?q=Binder")
    assert len(found_pages(tab)) < 5


def test_the_site_opens_from_disk(tab):
    complaints = listen(tab, SITE.as_uri())
    tab.goto((SITE / "24_messages.html").as_uri())
    tab.evaluate(SETTLED)
    tab.goto((SITE / "explorers.html").as_uri())
    tab.evaluate(SETTLED)
    move_sliders(tab)
    assert complaints == []
    tab.goto(f"{(SITE / 'search.html').as_uri()}?q=replica")
    assert found_pages(tab)[0] == "21_replica"


@pytest.mark.parametrize(
    "name, wanted", [("11_tour", 1), ("23_rs_gaussian", 2), ("explorers", 3)]
)
def test_explorers_and_films_move(tab, address, name, wanted):
    tab.goto(f"{address}{name}.html")
    tab.evaluate(SETTLED)
    assert move_sliders(tab) == wanted


def move_sliders(tab):
    """Move each slider of the page, by key and by mouse, and see its picture change;
    how many pictures there are.
    """
    boxes = tab.query_selector_all("div.widget")
    for box in boxes:
        for slider in box.query_selector_all("input[type=range]"):
            for by in "key", "mouse":
                before = box.evaluate(DRAWN)
                room = slider.bounding_box()
                if slider.evaluate("node => node.value == node.max"):
                    key, x = "ArrowLeft", 2
                else:
                    key, x = "ArrowRight", room["width"] - 2
                if by == "key":
                    slider.press(key)
                else:
                    slider.click(position={"x": x, "y": room["height"] / 2})
                what = slider.evaluate("node => node.parentElement.textContent")
                # a slider draws before it returns
                assert before and box.evaluate(DRAWN) != before, f"{what} moves nothing"
    return len(boxes)


TOY = """export default { render({ model, el }) {
    const button = document.createElement("button");
    const show = () => { button.textContent = model.get("n"); };
    model.on("change:n", show);
    button.onclick = () => {
        model.set("n", model.get("n") + 1);
        model.save_changes();
    };
    show();
    el.append(button);
} };"""


def test_a_widget_is_shown_where_its_view_stands(tab):
    """Two views of one kind, of which each keeps its own values."""
    tab.on("pageerror", lambda error: pytest.fail(str(error)))
    states = {k: {"state": {"_esm": TOY, "n": n}} for k, n in (("a", 1), ("b", 5))}
    kind = '<script type="application/vnd.jupyter.widget'
    views = "".join(
        f'<p>{kind}-view+json">{json.dumps({"model_id": k})}</script></p>'
        for k in states
    )
    loader = (ROOT / "docs" / "static" / "widgets.js").read_text(encoding="utf-8")
    tab.set_content(
        f'{views}{kind}-state+json">{json.dumps({"state": states})}</script>'
        f"<script>{loader}</script>"
    )
    tab.locator("p:nth-child(2) button").click()
    assert tab.locator("p .widget").all_text_contents() == ["1", "6"]


@pytest.mark.parametrize(
    "name, most",
    [
        ("explorers", 2_400_000),
        ("11_tour", 2_400_000),
        ("23_rs_gaussian", 2_400_000),
        ("37_densities", 2_400_000),
    ],
)
def test_pages_load_few_scripts(tab, address, name, most):
    tab.goto(f"{address}{name}.html")
    tab.evaluate(SETTLED)
    assert tab.evaluate(LOOK)["scripts"] < most


def test_under_an_address_without_a_page_stands_the_way_back(tab, address):
    for home in (address, address.removesuffix("/") + HOME):
        complaints = listen(tab, home)
        missing = f"{home}course/no/such/page.html"
        tab.goto(missing)
        assert tab.locator("h1").text_content().startswith("There is no such page")
        tab.wait_for_load_state("networkidle")
        # the answer itself is a 404, which the console repeats; all else is found
        assert {c for c in complaints if not re.search(r"\b404\b", c)} == set()
        assert [c for c in complaints if c.startswith("404")] == [f"404: {missing}"]
        here = tab.locator("#furo-main-content a:not(.headerlink)")
        leads = here.evaluate_all("links => links.map(link => link.href)")
        assert leads == [
            home + name
            for name in ("routes.html", "quickstart.html", "api.html", "index.html")
        ]
        headerlink = tab.locator("h1 a").evaluate("link => link.href")
        assert urldefrag(headerlink)[0] == missing
        tab.locator("#furo-main-content input").fill("replica")
        tab.keyboard.press("Enter")
        assert found_pages(tab)[0] == "21_replica"
        assert tab.url.startswith(f"{home}search.html?q=")


COLOURS = """() => {
    const solid = colour => colour.startsWith("rgb(");
    const background = node => {
        const colour = getComputedStyle(node).backgroundColor;
        return solid(colour) ? colour : background(node.parentElement);
    };
    const classes = new Set(), token = /^\\.highlight \\.(\\w+)$/;
    for (const sheet of document.styleSheets)
        if (sheet.href?.includes("pygments.css"))
            for (const rule of sheet.cssRules)
                classes.add(token.exec(rule.selectorText)?.[1] ?? "");
    const pre = document.createElement("pre");
    pre.append("x");
    for (const className of classes) {
        const span = document.createElement("span");
        pre.append(Object.assign(span, {className, textContent: "x"}));
    }
    const box = document.createElement("div");
    box.className = "highlight";
    box.append(pre);
    document.querySelector("article").append(box);
    return [pre, ...pre.children].map(node =>
        [node.className, getComputedStyle(node).color, background(node)]);
}"""


def contrast(*colours):
    """The ratio of WCAG 2 between two colours as CSS writes them, ``rgb(0, 0, 0)``."""

    def luminance(colour):
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts
        ]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear))

    low, high = sorted(map(luminance, colours))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_code_is_legible(tab, address, theme):
    """Each kind of token, in both themes, against what lies behind it."""
    assert contrast("rgb(255, 255, 255)", "rgb(0, 0, 0)") == pytest.approx(21)
    tab.goto(f"{address}404.html")
    tab.evaluate("theme => { document.body.dataset.theme = theme; }", theme)
    seen = tab.evaluate(COLOURS)
    assert len(seen) > 50
    assert [each for each in seen if contrast(*each[1:]) < 4.5] == []


@pytest.mark.parametrize(
    "name",
    [
        "index",
        "quickstart",
        "23_rs_gaussian",
        "explorers",
        "api-algorithm",
        "select_features_in_a_csv",
    ],
)
def test_everybody_can_read_it(tab, address, name):
    """axe has no serious complaint; on dark pages it looks at the colours again."""
    tab.set_viewport_size(WINDOW)
    tab.goto(f"{address}{name}.html")
    tab.evaluate(SETTLED)
    tab.add_script_tag(path=ROOT / "docs" / "node_modules" / "axe-core" / "axe.min.js")
    for theme, options in ("light", {}), ("dark", {"runOnly": ["color-contrast"]}):
        tab.evaluate("theme => { document.body.dataset.theme = theme; }", theme)
        found = tab.evaluate("options => axe.run(options)", options)
        assert [
            (theme, each["id"], [node["html"][:200] for node in each["nodes"]])
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
        ] == []
