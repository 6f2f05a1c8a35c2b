"""The pages of the site that are not notebooks: the landing page, the sections of the
bar, the API reference, the versions, and what stands where there is no page. Jinja
fills in what their files (index.md, course.md, ...) leave open.
"""

import json
import re

from reference import METHODS, TASKS, beside
from translate import (
    ROOT,
    SECTIONS,
    TEMPLATES,
    TITLE,
    caption,
    page_name,
    page_title,
    section,
    settings,
)

from rvamp_nb.widgets import diabetes_explorer

PAGES = ["index", *SECTIONS, "404"]


def made(notebooks):
    """{page: its text} of all but the versions."""
    heads = {stem: TITLE.match(nb.cells[0].source) for stem, nb in notebooks.items()}
    known = {
        "repository": settings()["git_url"],
        "explorer": explorer(),
        "titles": {stem: page_title(stem, head[1]) for stem, head in heads.items()},
        "leads": {stem: head[2] for stem, head in heads.items()},
        "tasks": TASKS,
        "methods": METHODS,
        "names": sorted((n.removeprefix("rvamp_nb.") for n in beside()), key=str.lower),
    }
    texts, lists = {}, {"index": [*SECTIONS], "start": [*releases()]}
    for page in PAGES:
        parts = {}
        for stem in notebooks:
            if section(stem) == page:
                parts.setdefault(caption(stem), []).append(stem)
        text = f"# {title}\n\n{{.lead}}\n{line}\n"
        for name, stems in parts.items():
            heading = f"\n## {name}\n" if page == "course" else ""
            text += f"{heading}\n{{.chapters}}\n{leads(stems, named)}"
        if page == "start":
            text += what_is_new()
        pages = [page_name(stem) for stems in parts.values() for stem in stems]
        texts[page] = text + toctree([*pages, *(releases() if page == "start" else ())])
    return texts


def explorer():
    """What the widget of the diabetes data holds, as a notebook's page has it. Where no
    script runs, the picture above it stays.
    """
    widget = diabetes_explorer()
    states = {"explorer": {"state": dict(_esm=str(widget._esm), table=widget.table)}}
    widget.close()
    # what ends a script must not stand in it
    return json.dumps({"state": states}, ensure_ascii=False).replace("</", "<\\/")


def releases():
    """{page: its text} of every version, the newest first, from the changelog."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.split(r"^## (?=\d)", text, flags=re.MULTILINE)[1:]
    names = ("version-" + v.split()[0].replace(".", "-") for v in versions)
    return {name: f"# Version {v}" for name, v in zip(names, versions)}


def what_is_new():
    """The versions as an entry of the page to begin with, the newest first."""
    newest, *older = (
        f"[{text[2:].splitlines()[0]}]({page}.md)" for page, text in releases().items()
    )
    line = f"What is new; before it came {', '.join(older)}: the changelog."
    return f"\n{newest}\n: {line}\n"


def not_found():
    """The page that a server shows where it has none: in no list, and not searched."""
    text = NOT_FOUND.read_text(encoding="utf-8")
    return f"---\norphan: true\nnosearch: true\n---\n{text}"


def leads(stems, named):
    """The chapters, each with its one line, as a definition list."""
    return "\n".join(
        f"[{named[stem][0]}]({stem}.ipynb)\n: {named[stem][1]}\n" for stem in stems
    )


def toctree(pages):
    """What the menu shows under a page; nothing of it stands on the page."""
    listed = "\n".join(pages)
    return f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n" if listed else ""


def api():
    """The reference; its pages of names are made from it."""
    title, line = SECTIONS["api"]
    head = f"# {title}\n\n{{.lead}}\n{line}\n"
    return "\n".join([head, by_task(), "## From A to Z\n", from_a_to_z(), ""])
