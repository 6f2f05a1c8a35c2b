"""The pages of the site that are not notebooks: landing page, explorer, sections of the
bar, API reference, versions, 404. Jinja fills in what their files leave open.
"""

import json
import re

import translate
from reference import METHODS, TASKS, beside
from translate import ROOT, SECTIONS, TEMPLATES, TITLE, page_name, page_title

from rvamp_nb.course.widgets import diabetes_explorer

PAGES = ["index", "explorer", *SECTIONS, "404"]


def made(notebooks):
    """{page: its text} of all but the versions."""
    heads = {stem: TITLE.match(nb.cells[0].source) for stem, nb in notebooks.items()}
    known = {
        "repository": translate.settings()["git_url"],
        "explorer": explorer(diabetes_explorer()),
        "own_table": explorer(diabetes_explorer(), around="own_table.js"),
        "titles": {stem: page_title(stem, head[1]) for stem, head in heads.items()},
        "leads": {stem: head[2] for stem, head in heads.items()},
        "versions": [*releases()],
        "tasks": TASKS,
        "methods": METHODS,
        "names": sorted((n.removeprefix("rvamp_nb.") for n in beside()), key=str.lower),
    }
    texts, lists = {}, {"index": [*SECTIONS], "start": known["versions"]}
    for page in PAGES:
        parts = {}
        for stem in notebooks:
            if translate.section(stem) == page:
                parts.setdefault(translate.heading(stem), []).append(stem)
        listed = [page_name(stem) for stems in parts.values() for stem in stems]
        listed += lists.get(page, [])
        template = TEMPLATES.get_template(f"{page}.md")
        texts[page] = template.render(known, page=page, parts=parts, listed=listed)
    return texts


def explorer(widget, static="_static", around=None):
    """A widget on a page that is no notebook's, in `around`, a module of static/."""
    own = around and (ROOT / "docs/static" / around).read_text(encoding="utf-8")
    states = {"widgets": {"state": {"_esm": str(widget._esm)}}}
    states["explorer"] = {"state": dict(_esm=own or "widgets", table=widget.table)}
    widget.close()
    # what ends a script must not stand in it
    state = json.dumps({"state": states}, ensure_ascii=False).replace("</", "<\\/")
    kind = "application/vnd.jupyter.widget"
    return (
        f'<script type="{kind}-view+json">{{"model_id": "explorer"}}</script>\n'
        f'<script type="{kind}-state+json">{state}</script>\n'
        f'<script src="{static}/widgets.js"></script>'
    )


def releases():
    """{page: its text} of every version, the newest first, from the changelog."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.split(r"^## (?=\d)", text, flags=re.MULTILINE)[1:]
    names = ("version-" + v.split()[0].replace(".", "-") for v in versions)
    head = "---\nfile: CHANGELOG.md\n---\n"
    return {name: f"{head}# Version {v}" for name, v in zip(names, versions)}
