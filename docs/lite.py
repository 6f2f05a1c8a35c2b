"""JupyterLite on the site, in _docs/lite/, which runs chapters in a reader's browser.

The chapters, the tables that they read and the package lie on the site, in folders as
in the repository. The interpreter, Pyodide, comes from where
JupyterLite has it, when a reader opens a chapter and not before.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbformat.v4 import new_code_cell
from translate import ROOT, settings

LITE = ROOT / "_docs" / "lite"
PYODIDE = "0.27.7"  # tests/site/in_browser.py has its files, and checks each
# what Pyodide lacks: wheels for any machine, for the Python that it is
PURE = "tqdm lazy_loader ipywidgets anywidget jupyterlab_widgets comm psygnal".split()
PURE += ["typing_extensions"]
ANYWHERE = "--platform any --implementation py --abi none --python-version 3.12".split()
FIRST = """\
# Only here, in the browser: brings what the chapter needs, the first time 62 MB
%pip install -q {of_pyodide}
%pip install -q --no-deps {of_the_site}"""
SECOND = """\
import tqdm

tqdm.tqdm.monitor_interval = 0  # there are no threads here"""
IDS = "first", "next"  # of these two cells
OF_THE_WHEEL = "setup.py settings.ini pyproject.toml README.md LICENSE".split()
KERNEL = {"display_name": "Python (Pyodide)", "language": "python", "name": "python"}
EXTENSION = "@jupyterlite/pyodide-kernel-extension"
SCHEMA = f"extensions/{EXTENSION}/static/schema/kernel.v0.schema.json"


def build(paths, out=LITE):
    """Build JupyterLite with the notebooks at these paths, if there are any."""
    if not paths:
        return
    with TemporaryDirectory() as here:
        here = Path(here)
        put_wheels(here / "pypi")
        first = FIRST.format(of_pyodide=needed(), of_the_site=versions(here / "pypi"))
        put_tables(paths, here / "files")
        for path in paths:
            place = here / "files" / path.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(chapter(path, first), place)
        command = [sys.executable, "-m", "jupyterlite_core", "build"]
        command += ["--apps", "notebooks", "--contents", "files", "--no-sourcemaps"]
        command += ["--lite-dir", here, "--output-dir", out]
        subprocess.run(command, cwd=here, check=True, stdout=subprocess.DEVNULL)
    say_where_pyodide_is(out)


def put_tables(paths, folder):
    """Put the folders of tables that notebooks read into a folder, and what a notebook
    finds the repository by.
    """
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    for place in set(re.findall(r"tests/truth/\w+", text)):
        scripts = shutil.ignore_patterns("*.py", "__pycache__")
        shutil.copytree(ROOT / place, folder / place, ignore=scripts)
    folder.mkdir(exist_ok=True)
    shutil.copy(ROOT / "settings.ini", folder)


def put_wheels(folder):
    """Put the package of this checkout, and what Pyodide lacks, into a folder."""
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    with TemporaryDirectory() as copy:  # a build leaves its folders behind
        shutil.copytree(ROOT / "rvamp_nb", f"{copy}/rvamp_nb")
        for name in OF_THE_WHEEL:
            shutil.copy(ROOT / name, copy)
        subprocess.run([*pip, "wheel", "--no-deps", "-w", folder, copy], check=True)
    fetch = [*pip, "download", "--no-deps", "--only-binary=:all:", *ANYWHERE]
    subprocess.run([*fetch, "-d", folder, *PURE], check=True)


def needed():
    """Name what the package needs and Pyodide brings."""
    names = [
        re.match(r"[\w-]+", each)[0] for each in settings()["requirements"].split()
    ]
    return " ".join(name for name in names if name not in PURE)


def versions(folder):
    """Name the wheels of a folder as pip asks for them, name==version."""
    names = sorted(path.name for path in folder.glob("*.whl"))
    return " ".join("==".join(name.split("-")[:2]) for name in names)


def chapter(path, first):
    """Return a chapter of which nothing has run, with a first cell that installs."""
    nb = nbformat.read(path, 4)
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None
    own = zip((first, SECOND), IDS)
    nb.cells[1:1] = [new_code_cell(source, id=name) for source, name in own]
    nb.metadata["kernelspec"] = KERNEL
    return nb


def say_where_pyodide_is(folder):
    """Write into the settings that Pyodide is at its default address, but of the
    version that the tests run; nothing else is fetched from elsewhere.
    """
    schema = (folder / SCHEMA).read_text(encoding="utf-8")
    address = re.search(r'https://[^"]+/v([\d.]+)/full/pyodide.js', schema)
    file = folder / "jupyter-lite.json"
    text = json.loads(file.read_text(encoding="utf-8"))
    config = text["jupyter-config-data"]
    config["exposeAppInBrowser"] = True
    plugins = config.setdefault("litePluginSettings", {})
    plugins.setdefault(f"{EXTENSION}:kernel", {}).update(
        pyodideUrl=address[0].replace(address[1], PYODIDE), disablePyPIFallback=True
    )
    file.write_text(json.dumps(text, indent=1), encoding="utf-8")
