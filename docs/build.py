"""Build the documentation site into _docs/.

    python docs/build.py            every chapter
    python docs/build.py 12 23 saving   the index and these

The notebooks are run afresh, translated (translate.py), joined by a landing page and an
API reference (pages.py), and handed to
Sphinx, for which every warning is an error. Browser scripts are npm packages pinned in
package.json; the site serves them itself
and asks nothing of the network when opened.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from configparser import ConfigParser
from pathlib import Path

import nbformat
from nbclient import NotebookClient

DOCS = Path(__file__).resolve().parent
# the package of this checkout, whatever else is installed
sys.path.insert(1, str(DOCS.parent))

from pages import api, landing, releases
from translate import (
    NOTEBOOKS,
    README,
    Translator,
    directives,
    labels,
    notebook_files,
    page_name,
)

ROOT = DOCS.parent
# pages/ and scripts/ go in, html/ comes out; ignored by git, made anew each time
BUILD = DOCS / "_build"
SITE = ROOT / "_docs"
SCRIPTS = {  # what a page loads: from where in node_modules
    "tex-svg-full.js": "mathjax/es5/tex-svg-full.js",
    "require.js": "requirejs/require.js",
    "embed-amd.js": "@jupyter-widgets/html-manager/dist/embed-amd.js",
    "anywidget.js": "anywidget/dist/index.js",
}


def main(wanted):
    settings = ConfigParser(delimiters=["="])
    settings.read(ROOT / "settings.ini", encoding="utf-8")
    settings = settings["DEFAULT"]

    notebooks = {
        stem: nbformat.read(path, 4) for stem, path in notebook_files().items()
    }
    pages = {
        stem: nb
        for stem, nb in notebooks.items()
        if stem == README or not wanted or page_name(stem).startswith(tuple(wanted))
    }
    for prefix in wanted:
        if not any(page_name(stem).startswith(prefix) for stem in pages):
            sys.exit(f"no notebook in nbs/ has a name that starts with {prefix!r}")

    shutil.rmtree(BUILD, ignore_errors=True)
    fetch_scripts(BUILD / "scripts" / "npm")
    asyncio.run(execute_all(pages, settings["tst_flags"].split()))

    known = [label for nb in notebooks.values() for label in labels(nb)]
    translator = Translator(
        pages, known, f"{settings['git_url']}/blob/{settings['branch']}"
    )
    # of the notebooks as they still are
    texts = api(pages) | {"index": translator.markdown(landing(pages), "index")}
    texts |= releases()
    (BUILD / "pages").mkdir()
    for stem, nb in pages.items():
        translator.notebook(nb, stem)
        nbformat.write(nb, BUILD / "pages" / f"{page_name(stem)}.ipynb")
    for name, text in texts.items():
        (BUILD / "pages" / f"{name}.md").write_text(text, encoding="utf-8")

    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-c",
        DOCS,
        BUILD / "pages",
        BUILD / "html",
    ]
    if subprocess.call(command):
        sys.exit("the site was not built: see the warnings above")
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.move(BUILD / "html", SITE)
    print(f"{len(pages) + len(texts)} pages in {SITE.relative_to(ROOT)}/")


def fetch_scripts(folder):
    """Install the pinned npm packages once and copy the few files that pages load."""
    modules = DOCS / "node_modules"
    if (
        not modules.exists()
        or modules.stat().st_mtime < (DOCS / "package.json").stat().st_mtime
    ):
        options = [
            "--no-package-lock",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--loglevel=error",
        ]
        subprocess.run(["npm", "install", *options], cwd=DOCS, check=True)
        modules.touch()
    folder.mkdir(parents=True)
    for name, path in SCRIPTS.items():
        shutil.copy(modules / path, folder / name)
    for font in (modules / SCRIPTS["embed-amd.js"]).parent.glob("*.wof*"):
        shutil.copy(font, folder)


async def execute_all(pages, flags):
    """Run the notebooks afresh, as many at once as there are cores, each on one thread.
    All are run, whatever fails; then every failure is told.
    """
    os.environ |= {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
        # pictures go into the page, whatever the shell that builds it prefers
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }
    free = asyncio.Semaphore(os.cpu_count() or 1)

    async def one(stem, nb):
        async with free:
            start, begun = time.time(), []
            try:
                await execute(nb, (NOTEBOOKS / stem).parent, flags, begun)
            except Exception as error:  # whatever a cell raised, or a kernel that died
                return failure(stem, nb, begun, error)
            print(f"{time.time() - start:6.1f} s  {stem}", flush=True)

    told = await asyncio.gather(*(one(stem, nb) for stem, nb in pages.items()))
    if failures := [text for text in told if text]:
        sys.exit("\n\n".join(failures))


async def execute(nb, folder, flags, begun):
    """Run ``nb``, which lies in ``folder``, in place; cells that nbdev would not run
    keep the outputs they were committed with. Each cell's number goes to the list
    ``begun`` when the cell starts.
    """
    idle = [
        cell
        for cell in nb.cells
        if cell.cell_type == "code" and not is_run(directives(cell.source)[0], flags)
    ]
    for cell in idle:
        cell.metadata.setdefault("tags", []).append("skip-execution")
    client = NotebookClient(
        nb,
        timeout=300,
        kernel_name="python3",
        extra_arguments=["--log-level=40"],
        resources={"metadata": {"path": str(folder)}},
        on_cell_execute=lambda cell, cell_index: begun.append(cell_index),
    )
    await client.async_execute()


def failure(stem, nb, begun, error):
    """What to tell about a notebook that stopped: which cell (counted from 1), which
    exception, and where in the cell.
    """
    kind = getattr(error, "ename", "") or type(error).__name__
    told = f"{stem}.ipynb fails before its first cell with {kind}"
    if begun:
        first_line = nb.cells[begun[-1]].source.strip().partition("\n")[0]
        told = f"{stem}.ipynb fails in cell {begun[-1] + 1} with {kind}: {first_line}"
    return f"{told}\n{getattr(error, 'traceback', '') or error}"


def is_run(found, flags):
    return found.get("eval", "true").lower() != "false" and not found.keys() & set(
        flags
    )


if __name__ == "__main__":
    main(sys.argv[1:])
