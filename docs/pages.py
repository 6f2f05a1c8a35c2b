"""The pages of the site that are not notebooks: the landing page with its table of
contents, and the API reference.
"""

import re
from importlib import import_module
from pathlib import Path

from translate import (
    HOW_TO,
    TITLE,
    WORKSHOP,
    chapter_number,
    page_name,
    page_title,
    published_modules,
)

import rvamp_nb

PARTS = {  # caption: its chapters
    "I. The problem": range(0, 4),
    "II. The theory": [*range(4, 8), 29],
    "III. The algorithm": [8, 9, 10, 30, 31, 12, 13, 26],
    "IV. What the answer is worth": [23, 14, 15, 16, 28, 17],
    "V. Using it": [*range(18, 23), 27, 24, *range(32, 70)],
    "Workshop": [11, 25, WORKSHOP],
    "How to": [HOW_TO],
    "Appendices": [None],
}
ROOMS = {  # the same for the API reference: (page, title), its chapters
    ("api-data", "Resamples, data, refits"): range(0, 4),
    ("api-messages", "Gaussians and messages"): [*range(4, 8), 29],
    ("api-algorithm", "The rooms of the algorithm"): [*range(8, 12), 30, 31, 12, 26],
    ("api-results", "What comes out, and what it is worth"): [*range(13, 17), 28, 17],
    ("api-selection", "Selecting features"): [*range(18, 24), 27],
    ("api-tools", "Command line, pictures and checks"): [
        24,
        25,
        *range(32, 70),
        WORKSHOP,
        None,
    ],
}
LANDING = Path(__file__).resolve().parent / "landing.md"
CHANGELOG = LANDING.parent.parent / "CHANGELOG.md"


def in_order(notebooks, numbers):
    """The stems of these chapters, in the order of the numbers."""
    numbers = list(numbers)
    found = [stem for stem in sorted(notebooks) if chapter_number(stem) in numbers]
    found.sort(key=lambda stem: numbers.index(chapter_number(stem)))
    return [stem for stem in found if stem != "index"]


def name_of(stem, nb):
    """A chapter as the site calls it, and the one line under its title: ``("7.
    Messages", "What ...")``.
    """
    title, lead = TITLE.match(nb.cells[0].source).groups() if nb.cells else (stem, "")
    return page_title(stem, title), lead


def landing(notebooks):
    """landing.md with its lists filled in: the chapters of one part where
    ``<caption>`` stands, all where ``<chapters>`` does.
    """
    parts = {
        caption: in_order(notebooks, numbers) for caption, numbers in PARTS.items()
    }
    named = {stem: name_of(stem, nb) for stem, nb in notebooks.items()}
    lists = {
        caption: "\n".join(f"- [{named[stem][0]}]({stem}.ipynb)" for stem in stems)
        for caption, stems in parts.items()
    }
    lists["chapters"] = "\n".join(
        f"## {caption}\n\n{{.chapters}}\n{leads(stems, named)}"
        for caption, stems in parts.items()
        if stems
    )
    text = re.sub(
        r"<([^>\n]+)>$",
        lambda m: lists.get(m[1], m[0]),
        LANDING.read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    parts = {
        caption: [page_name(stem) for stem in stems] for caption, stems in parts.items()
    }
    trees = (
        {"Start": ["quickstart"] if "index" in notebooks else []}
        | parts
        | {"Look up": ["api"], "Versions": [*releases()]}
    )
    return (
        text
        + "\n"
        + "\n".join(
            toctree(caption, pages) for caption, pages in trees.items() if pages
        )
    )


def releases():
    """{page: its text} of every version, the newest first, from the changelog."""
    text = CHANGELOG.read_text(encoding="utf-8")
    versions = re.split(r"^## (?=\d)", text, flags=re.MULTILINE)[1:]
    names = ("version-" + v.split()[0].replace(".", "-") for v in versions)
    return {name: f"# Version {v}" for name, v in zip(names, versions)}


def leads(stems, named):
    """The chapters, each with its one line, as a definition list."""
    return "\n".join(
        f"[{named[stem][0]}]({stem}.ipynb)\n: {named[stem][1]}\n" for stem in stems
    )


def toctree(caption, pages):
    return (
        f"```{{toctree}}\n:caption: {caption}\n:hidden:\n\n"
        + "\n".join(pages)
        + "\n```\n"
    )


def api(notebooks):
    """{page: text} of the API reference: an overview, and a page for each group of
    rooms.
    """
    modules = {
        stem: found
        for stem, nb in notebooks.items()
        if (found := published_modules(nb))
    }
    overview = [
        (
            "# API reference\n\n{.lead}\nEvery public function and class, grouped as"
            " the rooms of the house.\n"
        ),
        public_names([module for found in modules.values() for module in found]),
    ]
    texts = {}
    for (page, title), numbers in ROOMS.items():
        stems = in_order(modules, numbers)
        if stems:
            overview += [
                f"## [{title}]({page}.md)\n",
                *(table(module) for stem in stems for module in modules[stem]),
            ]
            texts[page] = f"# {title}\n\n" + "\n".join(
                room(module, stem, notebooks[stem])
                for stem in stems
                for module in modules[stem]
            )
    return {"api": "\n".join(overview) + toctree("Rooms", texts)} | texts


def public_names(modules):
    """The sentence that says what can be imported from the package itself."""
    homes = {name: getattr(rvamp_nb, name) for name in rvamp_nb.__all__}
    names = [
        f"{{py:obj}}`{name} <{home.__module__}.{name}>`"
        for name, home in homes.items()
        if getattr(home, "__module__", None) in modules
    ]
    names += [
        f"{{py:mod}}`{name} <{home.__name__}>`"
        for name, home in homes.items()
        if getattr(home, "__name__", None) in modules
    ]
    return (
        "`from rvamp_nb import ...` knows"
        f" {', '.join(sorted(names, key=str.casefold))}; all others are imported from"
        " their module.\n"
        if names
        else ""
    )


def table(module):
    """The public names of a module with their first lines."""
    members = vars(import_module(module))
    names = "\n".join(
        f"   {name}" for name in members["__all__"] if callable(members[name])
    )
    return (
        f"{{py:mod}}`{module}`\n\n```{{eval-rst}}\n.. currentmodule:: {module}\n\n.."
        f" autosummary::\n   :nosignatures:\n\n{names}\n```\n"
    )


def room(module, stem, nb):
    """A module, all of it, with the way back to the chapter that derives it."""
    chapter = f"[{name_of(stem, nb)[0]}]({page_name(stem)}.ipynb)"
    return (
        f"## {module.partition('.')[2]}\n\nFrom {chapter}.\n\n```{{eval-rst}}\n.."
        f" automodule:: {module}\n   :members:\n```\n"
    )
