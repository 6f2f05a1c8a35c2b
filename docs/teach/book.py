"""Print the course as one PDF, from the pages of the built site.

    python docs/teach/book.py                 _docs/ into _docs/rvamp_nb.pdf
    python docs/teach/book.py SITE OUT.pdf    of another folder

The browser (Chromium, by playwright) renders each chapter with its formulas. Their
articles make one page, which is printed twice: the first print gives the numbers of the
pages for the list of contents. Folded code is left out; what else is folded is opened.
"""

import re
import sys
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

DOCS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(DOCS)]

from playwright.sync_api import sync_playwright
from translate import CAPTIONS, ROOT, caption, notebook_files, settings

HERE = Path(__file__).parent
SITE = ROOT / "_docs"
APPENDICES = "notation", "known", "errata", "bibliography"
MINUTES = 10  # for one print at most
FOOTER = (
    '<div style="font: 8pt Georgia; width: 100%; text-align: center">'
    '<span class="pageNumber"></span></div>'
)


def print_book(site=SITE, out=None):
    """Print the chapters that a built site has to the file ``out``; returns {page: on
    which sheet it begins}.
    """
    site = Path(site).resolve()
    out = Path(out or site / "rvamp_nb.pdf")
    parts = pages_of(site)
    pages = [page for names in parts.values() for page in names]
    with sync_playwright() as playwright, TemporaryDirectory() as folder:
        options = {"executable_path": which("chromium"), "args": ["--no-sandbox"]}
        browser = playwright.chromium.launch(**options)
        tab = browser.new_page()
        tab.set_default_timeout(MINUTES * 60_000)
        articles, style = articles_of(tab, site, pages)
        book = Path(folder) / "book.html"
        begins = {}
        for _ in range(2):
            text = whole(parts, articles, style, begins, site)
            book.write_text(text, encoding="utf-8")
            tab.goto(book.as_uri())
            printed = tab.pdf(
                prefer_css_page_size=True,
                print_background=True,
                display_header_footer=True,
                header_template="<span></span>",
                footer_template=FOOTER,
                outline=True,
                tagged=True,
            )
            begins = sheets_of(printed, pages)
        browser.close()
    out.write_bytes(printed)
    print(f"{count(printed)} pages, {len(printed) / 1e6:.1f} MB in {out}")
    return begins


def pages_of(site):
    """Return {part: the pages of its chapters that the site has}, in reading order."""
    parts = {}
    for stem in notebook_files():
        page = stem.rpartition("/")[2]
        wanted = stem.startswith("course/") or page in APPENDICES
        if wanted and (site / f"{page}.html").exists():
            parts.setdefault(caption(stem), []).append(page)
    if not parts:
        sys.exit(f"there is no site in {site}: run docs/build.py first")
    return {part: parts[part] for part in CAPTIONS.values() if part in parts}


def articles_of(tab, site, pages):
    """Return {page: (title, text with drawn formulas)}, and the formulas' style."""
    take = (HERE / "book.js").read_text(encoding="utf-8")
    home = "{doc_host}{doc_baseurl}".format_map(settings())
    articles = {}
    style = ""
    for page in pages:
        tab.goto((site / f"{page}.html").as_uri())
        given = {"stem": page, "pages": pages, "home": home}
        text, found = tab.evaluate(take, given)
        title = re.search(r"<h1>(.*?)</h1>", text, re.DOTALL)[1]
        articles[page] = title, text
        style = found or style
    return articles, style


def whole(parts, articles, style, begins, site):
    """Join the text of the book: a title, the list of contents, the articles."""
    lines = []
    for part, pages in parts.items():
        lines.append(f'<li class="part-name">{part}</li>')
        for page in pages:
            number = f'<span class="page">{begins.get(page, "")}</span>'
            link = f'<a href="#{page}">{articles[page][0]}</a>'
            lines.append(f"<li>{link}{number}</li>")
    css = (HERE / "book.css").read_text(encoding="utf-8")
    known = settings()
    return "\n".join(
        [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            f"<title>{known['lib_name']}: the course</title>",
            f'<link rel="stylesheet" href="{site.as_uri()}/_static/pygments.css">',
            f"<style>{style}{css}</style></head><body>",
            f'<div class="title"><h1>{known["lib_name"]}: the course</h1>',
            f"<p>{known['description']}</p><p>Version {known['version']}</p></div>",
            f'<nav class="contents"><h1>Contents</h1><ol>{"".join(lines)}</ol></nav>',
            *(text for _, text in articles.values()),
            "</body></html>",
        ]
    )


def count(printed):
    """Count the pages of a PDF."""
    return len(re.findall(rb"/Type\s*/Page\b", printed))


def sheets_of(printed, pages):
    """Return {page of the site: the sheet on which it begins}, by the destinations of
    the PDF.
    """
    kids = re.findall(rb"/Kids\s*\[([^\]]*)\]", printed)
    objects = [re.findall(rb"(\d+) 0 R", part) for part in kids]
    leaves = {m[1] for m in re.finditer(rb"(\d+) 0 obj\s*<</Type /Page\b", printed)}
    order = [name for part in objects for name in part if name in leaves]
    begins = {}
    for page in pages:
        found = re.search(rb"/%s\s*\[(\d+) 0 R" % page.encode(), printed)
        if found and found[1] in order:
            begins[page] = order.index(found[1]) + 1
    return begins


if __name__ == "__main__":
    print_book(*sys.argv[1:])
