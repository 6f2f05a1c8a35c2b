"""Build the documentation site into _docs/.

    python docs/build.py            every chapter
    python docs/build.py 12 23 saving   the index and these

Notebooks with widgets that move without Python are run afresh, for what these show is
not committed, unless a build before has kept it (tests/helpers/kept.py); the others
come with the outputs of the repository, which the tests have run. All are translated
(translate.py), joined by a landing page and an API reference (pages.py), and
handed to Sphinx, for which every warning is an error. Browser scripts are npm packages
pinned in package.json; the site serves them itself and asks nothing of the network when
opened.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.modules.setdefault("rfc3987_syntax", None)  # three seconds for nothing: see conf.py

import ipywidgets
import nbformat
from nbclient import NotebookClient

DOCS = Path(__file__).resolve().parent
# the package of this checkout, whatever else is installed
sys.path.insert(1, str(DOCS.parent))
sys.path.append(str(DOCS.parent / "tests/helpers"))

import kept
from pages import explorer, landing, not_found, releases, sections
from translate import (
    NOTEBOOKS,
    README,
    ROOT,
    Translator,
    directives,
    labels,
    notebook_files,
    page_name,
    settings,
)

# pages/ and scripts/ go in, html/ comes out; ignored by git, made anew each time
BUILD = DOCS / "_build"
SITE = ROOT / "_docs"
WIDGET = "application/vnd.jupyter.widget-view+json"
SCRIPTS = {  # what a page loads: from where in node_modules
    "tex-svg-full.js": "mathjax/es5/tex-svg-full.js"
}


def main(wanted):
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
    run_afresh({stem: nb for stem, nb in pages.items() if has_moving(nb)})

    known = [label for nb in notebooks.values() for label in labels(nb)]
    repository = f"{settings()['git_url']}/blob/{settings()['branch']}"
    translator = Translator(pages, known, repository)
    # of the notebooks as they still are
    made = {"index": landing()} | sections(pages)
    made = {name: translator.markdown(text, "index") for name, text in made.items()}
    made["index"] = made["index"].replace("<explorer>", explorer())
    made |= releases() | {"404": translator.markdown(not_found(), "index")}
    (BUILD / "pages").mkdir()
    for stem, nb in pages.items():
        translator.notebook(nb, stem)
        number_lines(nb)
        nbformat.write(nb, BUILD / "pages" / f"{page_name(stem)}.ipynb")
    for name, text in made.items():
        (BUILD / "pages" / f"{name}.md").write_text(text, encoding="utf-8")

    options = "-W --keep-going -q".split()
    folders = [BUILD / "pages", BUILD / "html"]
    places = ["-c", DOCS, "-d", BUILD / "doctrees"]  # not into the site
    command = [sys.executable, "-m", "sphinx", *options, *places, *folders]
    if subprocess.call(command):
        sys.exit("the site was not built: see the warnings above")
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.move(BUILD / "html", SITE)
    print(f"{len([*SITE.rglob('*.html')])} pages in {SITE.relative_to(ROOT)}/")


def fetch_scripts(folder):
    """Install the pinned npm packages once, by .npmrc, and copy what pages load."""
    modules = DOCS / "node_modules"
    if (
        not modules.exists()
        or modules.stat().st_mtime < (DOCS / "package.json").stat().st_mtime
    ):
        subprocess.run(["npm", "install"], cwd=DOCS, check=True)
        modules.touch()
    folder.mkdir(parents=True)
    for name, path in SCRIPTS.items():
        shutil.copy(modules / path, folder / name)


def has_moving(nb):
    """Tell whether a page shows a widget of a notebook. Those of ipywidgets move in a
    kernel only, and the page has a sentence in their place (translate.py): a notebook
    that has no others is not run for them.
    """
    outputs = (out for cell in nb.cells for out in cell.get("outputs", ()))
    widgets = [out.data for out in outputs if WIDGET in out.get("data", ())]
    kinds = [data.get("text/plain", "").partition("(")[0] for data in widgets]
    return any(not hasattr(ipywidgets, kind) for kind in kinds)


def run_afresh(pages):
    """Give each notebook the outputs of today's code: those that are kept, or those of
    a run, which are kept then.
    """
    files = notebook_files()
    keys = {stem: kept.key(files[stem]) for stem in pages}
    texts = {stem: kept.find(files[stem], "site", keys[stem]) for stem in pages}
    stale = {stem: nb for stem, nb in pages.items() if texts[stem] is None}
    asyncio.run(execute_all(stale, settings()["tst_flags"].split()))
    for stem, nb in pages.items():
        if stem in stale:
            kept.keep(files[stem], "site", keys[stem], nbformat.writes(nb))
        else:
            nb.update(nbformat.reads(texts[stem], 4))


async def execute_all(pages, flags):
    """Run the notebooks afresh, as many at once as there are cores, each on one thread.
    All are run, whatever fails; then every failure is reported.
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

    results = await asyncio.gather(*(one(stem, nb) for stem, nb in pages.items()))
    if failures := [text for text in results if text]:
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
    """The report on a notebook that stopped: which cell (counted from 1), which
    exception, and where in the cell.
    """
    kind = getattr(error, "ename", "") or type(error).__name__
    report = f"{stem}.ipynb fails before its first cell with {kind}"
    if begun:
        first_line = nb.cells[begun[-1]].source.strip().partition("\n")[0]
        report = f"{stem}.ipynb fails in cell {begun[-1] + 1} with {kind}: {first_line}"
    return f"{report}\n{getattr(error, 'traceback', '') or error}"


def number_lines(nb):
    """Note after how many lines of its file the source of each cell begins, as myst-nb
    wants it.

    Sphinx's warnings then name lines that are there. Without a note myst-nb counts
    10,000 lines a cell, and myst-parser puts as many empty lines before each
    ``{eval-rst}`` fence as its number says: 26 million on one page, gigabytes and a
    quarter of an hour for the site.
    """
    nb.metadata.pop("source_map", None)
    lines = nbformat.writes(nb).split("\n")
    begin = '   "source":'  # three spaces deep there is nothing else of this name
    nb.metadata["source_map"] = [
        number for number, line in enumerate(lines) if line.startswith(begin)
    ]


def is_run(found, flags):
    return found.get("eval", "true").lower() != "false" and not found.keys() & set(
        flags
    )


if __name__ == "__main__":
    main(sys.argv[1:])
