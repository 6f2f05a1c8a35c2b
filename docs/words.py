"""A Sphinx extension: how much each page is about each of its words, for scorer.js.

Sphinx's own index knows only whether a word is on a page, so "p-value" would find
seventy pages in no order.
"""

import json
import re
from collections import Counter
from functools import cache
from math import log1p
from pathlib import Path

from docutils.nodes import Element, Text
from sphinx.search.en import SearchEnglish

SILENT = {"raw", "math", "math_block", "comment"}  # what one does not read as words
STEM = cache(SearchEnglish({}).stem)


def count(app, doctree):
    """Note how often the page that was read has each word."""
    of_page = app.env.metadata[app.env.docname]
    if app.env.docname in app.config.not_searched:
        of_page["nosearch"] = "true"
    if "nosearch" in of_page:
        return
    silent = {
        text
        for node in doctree.findall(Element)
        if node.tagname in SILENT or "no-search" in node["classes"]
        for text in map(id, node.findall(Text))
    }
    texts = (text for text in doctree.findall(Text) if id(text) not in silent)
    words = re.findall(r"[^\W\d]\w*(?:-\w+)*", "\n".join(texts).lower())
    of_page["counts"] = Counter(stem for word in words for stem in stems(word))


def stems(word):
    """A word as the search stems it; one with hyphens also in its parts."""
    *begin, end = word.split("-")
    yield "-".join([*begin, STEM(end)])
    if begin:
        yield from map(STEM, [*begin, end])


def weigh(app, error):
    """Write _static/weights.js when all pages are there: {word: [number of a page, its
    weight, number, weight, ...]}. The weight (BM25) is large where the word is often,
    on a short page, and on few other pages.
    """
    if error:
        return
    pages = {
        page: found["counts"]
        for page, found in sorted(app.env.metadata.items())
        if "counts" in found
    }
    sizes = {page: counts.total() for page, counts in pages.items()}
    usual = sum(sizes.values()) / len(sizes)
    spread = Counter(word for counts in pages.values() for word in counts)
    weights = {}
    for number, (page, counts) in enumerate(pages.items()):
        for word, often in counts.items():
            if often > 1:  # what is there once the index knows
                rarity = log1p((len(pages) - spread[word] + 0.5) / (spread[word] + 0.5))
                share = often / (often + 1.2 * (0.25 + 0.75 * sizes[page] / usual))
                weights.setdefault(word, []).extend(
                    [number, round(22 * rarity * share)]
                )
    table = json.dumps(
        {
            "pages": [*pages],
            "weights": weights,
            "workshop": app.env.toctree_includes.get("workshop", []),
        },
        separators=(",", ":"),
        sort_keys=True,
        ensure_ascii=False,
    )
    file = Path(app.outdir, "_static", "weights.js")
    file.write_text(f"const WORDS = {table};\n", encoding="utf-8")


def bring(app, pagename, templatename, context, doctree):
    """The search page, and no other, loads the weights."""
    if pagename == "search":
        app.add_js_file("weights.js")


def setup(app):
    app.connect("doctree-read", count)
    app.connect("build-finished", weigh)
    app.connect("html-page-context", bring)
    return {"version": "1"}
