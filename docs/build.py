"""Build the documentation site into _docs/.

    python docs/build.py            every chapter
    python docs/build.py 12 23 solver   the index and these

Notebooks come with the outputs of the repository; what a widget holds that moves
without Python is kept by tests (tests/helpers/kept.py). All are translated
(translate.py), joined by a landing page and an API reference (pages.py), and handed to
Sphinx, for which every warning is an error. Beside it JupyterLite (lite.py) and slides
(teach/decks.py) are made. The site serves its scripts (package.json).
"""

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.modules.setdefault("rfc3987_syntax", None)  # three seconds for nothing

import nbformat

DOCS = Path(__file__).resolve().parent
# the package of this checkout, whatever else is installed
sys.path.insert(1, str(DOCS.parent))

import lite
import translate
from moving import give_states, states_of
from pages import made, releases
from reference import homes
from teach.decks import write_decks
from translate import README, ROOT, RUN_HERE, Translator, notebook_files, page_name

BUILD = DOCS / "_build"  # pages/ go in, html/ comes out; ignored by git, made anew
SITE = ROOT / "_docs"


def main(wanted):
    files = notebook_files()
    pages = {
        stem: nbformat.read(path, 4)
        for stem, path in files.items()
        if stem == README or not wanted or page_name(stem).startswith(tuple(wanted))
    }
    for prefix in wanted:
        if not any(page_name(stem).startswith(prefix) for stem in pages):
            sys.exit(f"no notebook in nbs/ has a name that starts with {prefix!r}")
    if subprocess.call(["npm", "ls"], cwd=DOCS, stdout=subprocess.DEVNULL):
        subprocess.run(["npm", "install"], cwd=DOCS, check=True)
    for stem, states in states_of(files, pages).items():
        give_states(pages[stem], states, stem)

    shutil.rmtree(BUILD, ignore_errors=True)
    (BUILD / "pages").mkdir(parents=True)
    repository = "{git_url}/blob/{branch}".format_map(translate.settings())
    translator = Translator(pages, translate.known_labels(), repository)
    # of the notebooks as they still are
    texts = made(pages)
    texts = {name: translator.markdown(text, "index") for name, text in texts.items()}
    texts.update(releases())
    for name, text in texts.items():
        (BUILD / "pages" / f"{name}.md").write_text(text, encoding="utf-8")
    looked_for = {*translate.topics(), *(page_name(at) for at, _ in homes().values())}
    for stem, nb in pages.items():
        translator.notebook(nb, stem)
        nb.metadata["file"] = f"nbs/{stem}.ipynb"  # to which the page's pencil leads
        # What is internal is not searched: rooms of the workshop of which no public
        # name comes, and for which nobody looks.
        if translate.section(stem) == "workshop" and page_name(stem) not in looked_for:
            nb.metadata["nosearch"] = "true"
        number_lines(nb)
        nbformat.write(nb, BUILD / "pages" / f"{page_name(stem)}.ipynb")

    options = "-W --keep-going -q".split()
    folders = [BUILD / "pages", BUILD / "html"]
    places = ["-c", DOCS, "-d", BUILD / "doctrees"]  # not into the site
    command = [sys.executable, "-m", "sphinx", *options, *places, *folders]
    run_here = [files[stem] for stem in pages if stem.startswith(RUN_HERE)]
    with ThreadPoolExecutor() as beside:  # Sphinx takes one core
        lab = beside.submit(lite.build, run_here, BUILD / "html/lite")
        decks = beside.submit(write_decks, BUILD / "html/_static/decks")
        if subprocess.call(command):
            sys.exit("the site was not built: see the warnings above")
        lab.result()
        decks.result()
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.move(BUILD / "html", SITE)
    print(f"{len([*SITE.rglob('*.html')])} pages in {SITE.relative_to(ROOT)}/")


def number_lines(nb):
    """Note after how many lines of its file each cell begins. Without a note myst-nb
    counts 10,000 lines a cell, and myst-parser puts as many empty lines before each
    ``{eval-rst}`` fence: 26 million on one page, and gigabytes for the site.
    """
    nb.metadata.pop("source_map", None)
    lines = nbformat.writes(nb).split("\n")
    begin = '   "source":'  # three spaces deep there is nothing else of this name
    nb.metadata["source_map"] = [
        number for number, line in enumerate(lines) if line.startswith(begin)
    ]


if __name__ == "__main__":
    main(sys.argv[1:])
