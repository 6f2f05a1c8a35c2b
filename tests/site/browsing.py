"""What the tests in a browser share: where the site lies, how it is served, and when a
page stands still.
"""

from http.server import SimpleHTTPRequestHandler
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SITE = ROOT / "_docs"
HOME = "/rvamp_nb/"  # under which the site is published
PAGES = sorted(
    path.relative_to(SITE).as_posix()
    for path in SITE.rglob("*.html")
    if "_static" not in path.parts
)
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
