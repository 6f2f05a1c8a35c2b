"""What the tests in a browser share: where the site lies, how it is served, and when a
page stands still.
"""

import re
import shutil
from gzip import compress
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent.parent
SITE = ROOT / "_docs"
HOME = "/rvamp_nb/"  # under which the site is published
PAGES = sorted(
    path.relative_to(SITE).as_posix()
    for path in SITE.rglob("*.html")
    if not {"_static", "lite"} & {*path.parts}  # JupyterLite's are no pages of ours
)
CHROMIUM = "chromium chromium-browser google-chrome".split()  # how it is called
WINDOW = {"width": 1400, "height": 900}  # in pixels: nothing is cut in it
HANGS = 600_000  # milliseconds: a page is waited for, but what hangs must end
SETTLED = """async () => {
    await window.MathJax?.startup?.promise;
    await document.fonts.ready;
    const views = document.querySelectorAll("script[type*=widget-view]");
    const is_shown = view => view.nextElementSibling?.querySelector("input");
    while (![...views].every(is_shown))
        await new Promise(done => setTimeout(done, 20));
}"""


def find_chromium():
    """Find the program of the browser, or None."""
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


class Handler(SimpleHTTPRequestHandler):
    """As the place where the site is published: below HOME, and with 404.html where
    there is nothing; a connection brings many files, and a browser that has a file asks
    for it again after ten minutes. The site is at the root, too.
    """

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a body waits until its head has arrived

    def end_headers(self):
        self.send_header("Cache-Control", "max-age=600")
        super().end_headers()

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


KEPT_AWAY = "inspector"  # who stopped a request


def listen(tab, start):
    """The list to which every complaint of ``tab`` will be added, but of what
    `leave_formulas` keeps away; a request is at home if its address begins with
    ``start``.
    """
    complaints = []
    tab.on(
        "console",
        lambda message: message.type == "error" and complaints.append(message.text),
    )
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    # what the browser gives up when the page is left is no complaint: a file that
    # is missing has another failure
    tab.on(
        "requestfailed",
        lambda request: (
            request.failure in ("net::ERR_ABORTED", KEPT_AWAY)
            or complaints.append(f"failed: {request.url}")
        ),
    )
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


# As the search page orders them; it would fetch every page that it lists.
ORDER = """query => {
    history.replaceState(null, "", `?q=${encodeURIComponent(query)}`);
    const found = Search._performSearch(...Search._parseQuery(query)).reverse();
    return found.map(([page]) => page.split("/").at(-1));
}"""


def found_pages(tab):
    """What the search page lists, as names of pages, the best first."""
    tab.get_by_text(re.compile("Search finished|did not match")).wait_for()
    read = "links => links.map(a => new URL(a.href).pathname)"
    paths = tab.eval_on_selector_all("#search-results li a", read)
    return [*dict.fromkeys(Path(path).stem for path in paths)]


def leave_formulas(tab):
    """Keep a tab from typesetting formulas, which takes most of the time of a page."""
    chrome = tab.context.new_cdp_session(tab)
    chrome.send("Network.enable")
    chrome.send("Network.setBlockedURLs", {"urls": ["*/tex-svg-full.js*"]})


PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"


def weigh(tab, page, slower=1):
    """What a page weighs as a server sends it, how many requests it makes, and after
    how many milliseconds it paints, on a processor that is so many times slower.
    """
    asked = set()
    tab.on("request", lambda request: asked.add(request.url))
    chrome = tab.context.new_cdp_session(tab)
    chrome.send("Emulation.setCPUThrottlingRate", {"rate": slower})
    tab.goto(page)
    tab.wait_for_load_state("networkidle")
    tab.evaluate(SETTLED)
    files = {SITE / urlsplit(url).path[1:] for url in asked if url.startswith("http")}
    sizes = [
        file.stat().st_size
        if file.suffix == ".png"
        else len(compress(file.read_bytes()))
        for file in files
    ]
    return sum(sizes), len(sizes), tab.evaluate(PAINTED)


SEEN = """box => [".stage", ".says, .scroll, .controls .value"].map(selector =>
    [...box.querySelectorAll(selector)].map(node => node.innerHTML).join())"""


# what is seen stays in the page: to send it here takes longer than to draw it
NOTE = f"box => {{ window.seen = ({SEEN})(box); }}"
CHANGED = f"box => ({SEEN})(box).map((now, k) => now !== window.seen[k])"


def changes(explorer, act, what, words=True):
    """Do something to an explorer and see its picture change, and what stands below."""
    explorer.evaluate(NOTE)
    act()
    picture, below = explorer.evaluate(CHANGED)
    assert picture, f"{what} does not change the picture"
    assert not words or below, f"{what} changes no words"


def use_every_control(explorer):
    """Move every control of an explorer by mouse and by keyboard: {panel: how many
    there were}. A control draws before it returns.
    """
    tabs, moved = explorer.get_by_role("tab"), {}
    for k in range(tabs.count()):
        if k % 2:
            tabs.nth(k - 1).press("ArrowRight")
        else:
            tabs.nth(k).click()
        name = tabs.nth(k).get_attribute("data-key")
        assert tabs.nth(k).get_attribute("aria-selected") == "true", name
        moved[name] = _use_panel(explorer, name, tabs.nth(k))
    return moved


def _use_panel(explorer, name, tab):
    find, count = explorer.locator, 0
    for kind in "row0", "cell0,3":
        pressed = find(f'[data-key="{kind}"]')
        if pressed.count():
            changes(explorer, pressed.click, f"{name}: {kind}")
            count += 1
        if pressed.count() and kind.startswith("cell"):
            down = find(f'[data-key="{kind}"]')
            changes(explorer, lambda: down.press("ArrowDown"), f"{name}: arrow")
        elif kind == "row0" and count:
            tab.click()
            row = find('[data-key="row1"]')
            changes(explorer, lambda: row.press("Enter"), f"{name}: row by Enter")
            tab.click()
    keys = ["clear", "draw1", "draw10", "draw100", "another", "drawall"]
    for by, key in enumerate(keys if find("[data-key=clear]").count() else []):
        button = find(f"[data-key={key}]")
        press = button.click if by % 2 else lambda button=button: button.press("Enter")
        changes(explorer, press, f"{name}: {key}", words=key != "another")
        count += 1
    for slider in find("input[type=range]").all():
        _use_slider(explorer, slider, name)
        count += 1
    for menu in find("select").all():
        changes(explorer, lambda: menu.select_option(index=6), f"{name}: menu")
        changes(explorer, lambda: menu.press("ArrowDown"), f"{name}: menu by key")
        count += 1
    for box in find("input[type=checkbox]").all():
        changes(explorer, box.click, f"{name}: tick")
        changes(explorer, lambda: box.press("Space"), f"{name}: tick by key")
        count += 1
    radios = find("input[type=radio]")
    if radios.count():
        last, usual = radios.nth(2), radios.nth(1)
        changes(explorer, last.click, f"{name}: size of resamples")
        changes(explorer, lambda: last.press("ArrowLeft"), f"{name}: size by key")
        assert usual.is_checked()
        count += 1
    for summary in find("summary").all():
        answer = summary.locator("xpath=../p")
        summary.click()
        assert answer.is_visible()
        summary.press("Enter")
        assert not answer.is_visible()
        count += 1
    return count


def _use_slider(explorer, slider, name):
    what = f"{name}: {slider.get_attribute('data-key')}"
    start = slider.input_value()
    back = start == slider.get_attribute("max")
    key = "ArrowLeft" if back else "ArrowRight"
    changes(explorer, lambda: slider.press(key), f"{what} by key")
    room = slider.bounding_box()
    at = {"x": 3 if back else room["width"] - 3, "y": room["height"] / 2}
    changes(explorer, lambda: slider.click(position=at), f"{what} by mouse")
    slider.evaluate(
        "(node, value) => { node.value = value;"
        " node.dispatchEvent(new Event('input', {bubbles: true})); }",
        start,
    )
