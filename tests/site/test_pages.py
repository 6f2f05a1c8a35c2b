"""Every page of the built site: python docs/build.py, then python -m pytest --site
tests/site.
"""

import asyncio
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest
from browsing import HANGS, PAGES, ROOT, SETTLED, SITE, WINDOW, listen

import rvamp_nb

sys.path.insert(0, str(ROOT / "docs"))
from reference import beside
from sphinx.util import inventory as soi

NOTEBOOKS = {
    path.stem: path
    for path in sorted((ROOT / "nbs").rglob("[!_.]*.ipynb"))
    if path.stem != "index"
}
each_page = pytest.mark.parametrize("name", PAGES)

# mathematics, directives, MyST roles: none for a reader's eyes
RAW = re.compile(r"\$|#\||\\tag|\\[()\[\]]|\{\.?\w+\}|:::")
PHONE = {"width": 390}  # here only what scrolls by itself is wider
LOW = {"height": 100}  # widths are looked at: what lies below need not be painted
LOOK = """() => {
    document.querySelectorAll("details").forEach(node => { node.open = true; });
    const all = (selector, read) => [...document.querySelectorAll(selector)].map(read);
    const prose = document.body.cloneNode(true);
    const not_prose = "pre, code, script, style, mjx-container";
    prose.querySelectorAll(not_prose).forEach(node => node.remove());
    const unknown_macro = "[data-mml-node=mtext][fill=red]";
    const error = `[data-mjx-error], [data-mml-node=merror], ${unknown_macro}`;
    const typeset = node => node.querySelector("mjx-container svg");
    const bare = node => !typeset(node) || node.querySelector(error);
    const formulas = [...document.querySelectorAll(".math")];
    const boxes = "pre, div.output, table, div.math > mjx-container";
    const is_cut = node => node.scrollWidth > node.clientWidth + 1;
    const cut = node => [node.tagName, node.scrollWidth, node.clientWidth,
        (node.innerText || "").split("\\n").sort((a, b) => b.length - a.length)[0]];
    const name = node => (node.getAttribute("aria-label") ?? node.getAttribute("alt")
        ?? node.textContent).trim();
    const no_name = /^$|^Toggle hidden content$|[0-9a-f]{16}|\\.(png|svg)$/;
    const hidden = "[aria-hidden=true], [aria-hidden=true] *";
    const named = `summary, img, svg[role=img]:not(${hidden})`;
    return {
        prose: prose.textContent,
        code: all("pre", node => node.textContent),
        links: all("a[href]", node => node.href),
        not_typeset: formulas.filter(bare).map(node => node.textContent),
        cut: [document.documentElement, ...document.querySelectorAll(boxes)]
            .filter(is_cut).map(cut),
        nameless: [...document.querySelectorAll(named)].filter(
            node => no_name.test(name(node))).map(node => node.outerHTML.slice(0, 200)),
        scripts: performance.getEntriesByType("resource")
            .filter(entry => entry.initiatorType == "script")
            .map(entry => [entry.name, entry.decodedBodySize]),
    };
}"""
ON_A_PHONE = """() => {
    const all = selector => [...document.querySelectorAll(selector)]
        .filter(node => node.checkVisibility());
    const box = node => node.getBoundingClientRect();
    const is_out = node => box(node).left < -1 || box(node).right > innerWidth + 1;
    const scrolls = node => /auto|scroll/.test(getComputedStyle(node).overflowX);
    const in_a_box = node => node !== document.body
        && (scrolls(node) ? !is_out(node) : in_a_box(node.parentElement));
    const size = node => parseFloat(getComputedStyle(node).fontSize);
    const has_text = node => [...node.childNodes].some(
        part => part.nodeType === Node.TEXT_NODE && part.data.trim());
    const pressed = node => node.closest("label") ?? node;
    const is_low = node => Math.min(box(node).width, box(node).height) < 24;
    const show = node => node.outerHTML.slice(0, 90);
    const wide = "pre, table, img, svg, canvas, .widget, mjx-container";
    const targets = "button, select, summary, input, .bar a, .edit-this-page a";
    const headings = ["h1", "h2", "h3", "h4"].map(all).filter(found => found.length);
    return {
        width: document.documentElement.scrollWidth,
        out: all(`article :is(${wide})`).filter(node => is_out(node)
            && !in_a_box(node)).map(show),
        small: all("article :not(mjx-container *, svg *, script, style)").filter(
            node => has_text(node) && size(node) < 12).slice(0, 9).map(show),
        low: all(`:is(article, .bar) :is(${targets})`).map(pressed).filter(is_low)
            .map(show),
        shrunk: all("td mjx-container > svg").filter(
            node => box(node).width < 0.9 * node.width.baseVal.value).map(
            node => node.closest("td").textContent.slice(0, 60)),
        headings: headings.map(found => size(found[0])),
    };
}"""


class Page(NamedTuple):
    complaints: list  # console errors, failed requests, requests to anywhere else
    prose: str  # all text, folded or not, outside code and mathematics
    code: list
    links: list
    not_typeset: list
    cut: list  # what does not fit: its tag, the room it needs and has, its longest line
    nameless: list  # folds and pictures of which nothing can be read aloud
    scripts: list  # (address, bytes) of each that it loads
    on_a_phone: dict  # how wide it is there, in pixels, and what cannot be used


@pytest.fixture(scope="session")
def pages(request, chromium, address):
    """{name: what the browser saw there} of the pages that are asked for. Each is
    opened once, in a few tabs side by side: a tab mostly waits, and a new one for each
    page would take as long as a page.
    """
    names = {
        item.callspec.params["name"]
        for item in request.session.items
        if "pages" in item.fixturenames
    }
    with ThreadPoolExecutor(1) as thread:  # this one has a loop that runs
        return thread.submit(asyncio.run, look(names, chromium, address)).result()


async def look(names, chromium, address):
    from playwright.async_api import async_playwright

    async def visit(todo):
        tab = await context.new_page()
        tab.set_default_timeout(HANGS)
        complaints = listen(tab, address)
        while todo:
            name = todo.pop()
            await tab.set_viewport_size(WINDOW | LOW)
            await tab.goto(address + name)
            await tab.evaluate(SETTLED)
            await tab.wait_for_load_state("networkidle")
            seen = await tab.evaluate(LOOK)
            await tab.set_viewport_size(PHONE | LOW)
            on_a_phone = await tab.evaluate(ON_A_PHONE)
            found[name] = Page(complaints[:], **seen, on_a_phone=on_a_phone)
            await tab.goto("about:blank")  # an end to what that page does and says
            complaints.clear()

    found, todo = {}, sorted(names)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**chromium)
        context = await browser.new_context()
        tabs = 2 * (os.cpu_count() or 1)
        await asyncio.gather(*(visit(todo) for _ in range(tabs)))
    return found


@each_page
def test_a_page_loads_without_complaint(pages, name):
    assert pages[name].complaints == []


@each_page
def test_a_page_says_its_version_and_what_it_is_about_and_is_light(name):
    html = text(name)
    title = re.search("<title>(.*?)</title>", html, re.DOTALL)[1]
    assert f"rvamp_nb {rvamp_nb.__version__}" in title
    assert len(re.findall('<meta name="description" content="[^"]{20,}"', html)) == 1
    drawn = re.findall(r"data:image/[^\s\"')]*", html)  # also those of films
    assert len(html) - sum(map(len, drawn)) < 1_000_000 and len(html) < 2_000_000


PUBLISHED = "https://rvamp-nb.github.io/rvamp_nb/"


@each_page
def test_a_page_says_where_it_is_published_and_what_is_seen_of_it_elsewhere(name):
    html = text(name)
    assert re.findall('rel="canonical" href="([^"]+)"', html) == [PUBLISHED + name]
    assert html.count('name="viewport"') == html.count('rel="shortcut icon"') == 1
    if 'property="og:title"' in html:  # a page with a text
        tags = dict(re.findall('<meta property="og:(.*?)" content="(.*?)"', html))
        [what] = re.findall('<meta name="description" content="(.*?)"', html)
        assert tags["description"] == what and tags["url"] == PUBLISHED + name
        picture = tags["image"].removeprefix(PUBLISHED)
        assert (SITE / picture).is_file() and tags["image:alt"]


@each_page
def test_a_page_names_icons_that_are_there(name):
    """The drawing, one for what shows no drawings, and one for phones."""
    link = r'<link rel="([\w -]*icon)".*? href="([^"?]*)'
    icons = dict(re.findall(link, text(name)))
    files = {kind: (SITE / name).parent / path for kind, path in icons.items()}
    drawing = files.pop("shortcut icon")
    assert drawing.read_text(encoding="utf-8").startswith("<svg")
    widths = {
        kind: int.from_bytes(file.read_bytes()[16:20], "big")
        for kind, file in files.items()
    }
    assert widths == {"icon": 32, "apple-touch-icon": 180}


def test_the_map_of_the_site_has_every_page_to_be_found():
    xml = (SITE / "sitemap.xml").read_text(encoding="utf-8")
    apart = {"404.html", "genindex.html", "search.html"}
    places = re.findall("<loc>(.*?)</loc>", xml)
    assert sorted(places) == sorted(PUBLISHED + name for name in {*PAGES} - apart)


def test_a_page_leads_to_its_file_and_to_its_neighbours():
    """A name of the reference leads to the notebook that exports it."""
    made_of = {
        "37_densities": "nbs/course/37_densities.ipynb",
        "quickstart": "nbs/index.ipynb",
        "api/rvamp_nb.p1": "nbs/workshop/densities.ipynb",
        "index": "docs/index.md",
        "course": "docs/course.md",
        "api": "docs/reference.txt",
        "version-0-1-0": "CHANGELOG.md",
    }
    for name, file in made_of.items():
        pencil = re.findall(r'href="([^"]+)" rel="edit"', text(f"{name}.html"))
        assert pencil == [f"https://github.com/rvamp-nb/rvamp_nb/edit/main/{file}"]
        assert (ROOT / file).is_file()
    page = text("37_densities.html")
    assert 'class="next-page"' in page and 'class="prev-page"' in page


@each_page
def test_nothing_raw_is_left(pages, name):
    page = pages[name]
    assert [
        page.prose[max(0, match.start() - 40) : match.end() + 40]
        for match in RAW.finditer(page.prose)
    ] == []
    assert [
        code for code in page.code if re.search(r"^\s*#\s*\|", code, re.MULTILINE)
    ] == []


@each_page
def test_mathematics_is_typeset(pages, name):
    assert pages[name].not_typeset == []


@each_page
def test_no_line_is_cut(pages, name):
    """Code, printed output, tables and formulas, folded or not."""
    assert pages[name].cut == []


@each_page
def test_a_page_fits_a_phone(pages, name):
    assert pages[name].on_a_phone["width"] <= PHONE["width"]


@each_page
def test_on_a_phone_all_can_be_read_and_pressed(pages, name):
    """What is wider than the page stands in a box that scrolls; letters have twelve
    pixels, and what is pressed has 24; no formula of a table is made small, and a title
    is larger than what is under it.
    """
    found = pages[name].on_a_phone
    faults = {what: found[what] for what in ("out", "small", "low", "shrunk")}
    assert not any(faults.values()), faults
    assert found["headings"] == sorted(found["headings"], reverse=True)


@each_page
def test_folds_and_pictures_have_names(pages, name):
    assert pages[name].nameless == []


@each_page
def test_a_page_loads_the_scripts_that_it_needs(pages, name):
    """MathJax, of 2.3 MB, where there is a formula, and else little, also for what
    moves (the search page has its index).
    """
    sizes = {urlsplit(url).path.split("/")[-1]: n for url, n in pages[name].scripts}
    assert ("tex-svg-full.js" in sizes) == ('class="math' in text(name))
    assert ("widgets.js" in sizes) == ("widget-view+json" in text(name))
    assert sizes.pop("tex-svg-full.js", 0) < 2_400_000
    assert sum(sizes.values()) < (1_000_000 if name == "search.html" else 100_000)


@each_page
def test_links_arrive(pages, address, name):
    assert [link for link in set(pages[name].links) if not arrives(link, address)] == []


def arrives(link, address):
    """Whether there is such a page and, on it, such an anchor; links that leave the
    site are only looked at.
    """
    link, anchor = urldefrag(link)
    if not link.startswith(address):
        in_repository = re.search(
            r"github\.com/rvamp-nb/rvamp_nb/(?:blob|edit)/main/(.+)", link
        )
        return (
            (ROOT / in_repository[1]).exists()
            if in_repository
            else urlsplit(link).scheme == "https"
        )
    name = unquote(urlsplit(link).path).lstrip("/") or "index.html"
    return (SITE / name).is_file() and (not anchor or unquote(anchor) in anchors(name))


@cache
def text(name):
    return (SITE / name).read_text(encoding="utf-8")


@cache
def anchors(name):
    return set(re.findall(r'\bid="([^"]+)"', text(name)))


def links(name):
    """Where the links of a page lead, seen from the root of the site."""
    return {urljoin(name, link) for link in re.findall(r'\bhref="([^"]+)"', text(name))}


def test_stars_bars_and_underscores_of_docstrings_stand_as_they_are():
    """In examples, in code, and at the end of a name: no backslash of ours is left."""
    names = [name for name in PAGES if name.startswith("api")]
    assert len(names) > 50
    for name in names:
        prose = re.sub("<[^>]+>", "", text(name))  # colours split code into parts
        assert re.findall(r".{,20}\\[*_|].{,20}", prose) == [], name


def test_every_chapter_is_a_page_and_can_be_taken_home():
    for page, path in NOTEBOOKS.items():
        copies = [link for link in links(f"{page}.html") if link.startswith("_down")]
        assert [Path(copy).name for copy in copies] == [path.name], page
        same = (SITE / copies[0]).read_bytes() == path.read_bytes()
        assert same, (
            f"{page} has changed since the site was built: run docs/build.py again"
        )


SECTIONS = ["start", "how-to", "course", "api", "workshop"]


def test_the_landing_page_leads_everywhere():
    """By way of the sections, to which its bar leads."""
    first = {urldefrag(link)[0] for link in links("index.html")}
    bar = {f"{page}.html" for page in SECTIONS}
    assert first >= bar | {"quickstart.html", "genindex.html"}
    found = {urldefrag(link)[0] for page in bar for link in links(page)}
    assert found >= {f"{page}.html" for page in NOTEBOOKS}


@each_page
def test_a_page_has_the_bar_and_a_menu_of_its_section_alone(name):
    html = text(name)
    [bar] = re.findall('<nav class="bar".*?</nav>', html, re.DOTALL)
    leads = [urljoin(name, link) for link in re.findall('href="([^"]+)"', bar)]
    repository = "https://github.com/rvamp-nb/rvamp_nb"
    assert leads == [*(f"{page}.html" for page in SECTIONS), repository]
    assert bar.count("aria-current") <= 1
    menu = html[html.index('<div class="sidebar-tree">') :].partition("</div>")[0]
    top = re.findall('<li class="toctree-l1[^"]*', menu)
    assert len(top) == 5 and sum("has-children" in each for each in top) <= 1


def test_the_bar_marks_the_section_of_a_page():
    inside = {"37_densities": "Course", "cli": "Workshop", "api": "Reference"}
    for name, section in inside.items():
        marked = re.findall('aria-current="true">([^<]+)</a>', text(f"{name}.html"))
        assert marked == [section]
    assert "aria-current" not in text("index.html")


def test_each_public_name_has_a_page_and_nothing_else_is_in_the_reference():
    """Each with its docstring and its example, where it is derived, and what it goes
    with; no other object is in the index, nor in what the search finds.
    """
    names = beside()
    found = {Path(name).stem for name in PAGES if name.startswith("api/")}
    assert found == {*names}
    for name, others in names.items():
        html = text(f"api/{name}.html")
        assert f'id="{name}"' in html
        assert ("doctest" in html) or name.count(".") > 1, name
        assert all(f"{other}.html" in html for other in others), name
    derived = [
        name for name in names if "Where it is derived" in text(f"api/{name}.html")
    ]
    assert len(derived) == len(names), {*names} - {*derived}
    inventory = soi.InventoryFile.loads((SITE / "objects.inv").read_bytes(), uri="")
    objects = {
        name
        for kind, found in inventory.data.items()
        for name in found
        if kind.startswith("py:")
    }
    # and as Python knows them: under this name, which links may have, none is shown
    things = map(resolve_name, names)
    known = {*names} | {f"{each.__module__}.{each.__name__}" for each in things}
    starts = tuple(f"{name}." for name in known)
    assert [o for o in objects - known if not o.startswith(starts)] == []
