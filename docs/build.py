"""Build the documentation site into _docs/.

    python docs/build.py            every chapter
    python docs/build.py 12 23 saving   the index and these

Notebooks come with the outputs of the repository; what a widget holds that moves
without Python is kept by tests (tests/helpers/kept.py). All are translated
(translate.py), joined by a landing page and an API reference (pages.py), and handed to
Sphinx, for which every warning is an error. The site serves its scripts (package.json).
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.modules.setdefault("rfc3987_syntax", None)  # three seconds for nothing

import nbformat

DOCS = Path(__file__).resolve().parent
# the package of this checkout, whatever else is installed
sys.path.insert(1, str(DOCS.parent))
sys.path.append(str(DOCS.parent / "tests/helpers"))

import kept
import translate
from pages import made, releases
from reference import homes
from teach.decks import write_decks
from translate import README, ROOT, STATE, Translator, notebook_files, page_name

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
    if subprocess.call(command):
        sys.exit("the site was not built: see the warnings above")
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.move(BUILD / "html", SITE)
    write_decks(SITE / "_static/decks")
    print(f"{len([*SITE.rglob('*.html')])} pages in {SITE.relative_to(ROOT)}/")


def views(nb):
    """The numbers of the widgets that a notebook shows, in their order."""
    outputs = (out for cell in nb.cells for out in cell.get("outputs", ()))
    return [*filter(None, map(translate.view, outputs))]


def states_of(files, pages):
    """{stem: what the widgets hold that move on its page, as a test has kept it}. Tests
    leave films out (tests/helpers/films.py), whose pictures take longer than all else:
    notebooks with films run here, and these are kept for the next build.
    """
    paths = {stem: files[stem] for stem, nb in pages.items() if views(nb)}
    test = [sys.executable, "-m", "pytest", "-q", "--films", "-n", str(os.cpu_count())]
    if paths and subprocess.call([*test, *paths.values()], cwd=ROOT):
        sys.exit("a notebook fails: see above")
    return {stem: json.loads(kept.last(p, "site")[1]) for stem, p in paths.items()}


def give_states(nb, states, stem):
    """Put what its widgets hold into a notebook, as a run in Jupyter would; not
    for None, which needs Python; a script of several once: others name the first.
    """
    if len(views(nb)) != len(states):
        sys.exit(f"nbs/{stem}.ipynb shows other widgets than its outputs: run it anew")
    models = {number: state for number, state in zip(views(nb), states) if state}
    scripts = {}
    for number, model in models.items():
        first = scripts.setdefault(model["state"]["_esm"], number)
        if first != number:
            model["state"]["_esm"] = first
    nb.metadata["widgets"] = {STATE: {"state": models}}


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
