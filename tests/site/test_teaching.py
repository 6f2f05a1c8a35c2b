"""For teachers, in a browser: the decks of slides (docs/teach/decks.py), the course as
a book (docs/teach/book.py), and two routes that a reader needs nothing else for.
"""

import re
import subprocess
import sys
from urllib.parse import urldefrag, urljoin

import pytest
from browsing import PAGES, ROOT, SITE, leave_formulas, listen

sys.path.insert(0, str(ROOT / "docs"))
from teach.book import count, pages_of, sheets_of
from teach.decks import LENGTH

DECKS = SITE / "_static/decks"
LECTURES = range(1, 13)
SCREEN = {"width": 1280, "height": 720}
LEAST = 0.6  # of its own size, for a formula that is too wide
# What does not fit on each slide, in pixels, and the least scale of its formulas
MEASURE = """() => [...document.querySelectorAll("section")].map(slide => {
    const body = slide.querySelector(".body"), over = [
        body.scrollHeight - body.clientHeight, slide.scrollHeight - slide.clientHeight,
        body.scrollWidth - body.clientWidth, slide.scrollWidth - slide.clientWidth];
    const scales = [...slide.querySelectorAll(".body .formula > svg")].map(svg =>
        svg.getBoundingClientRect().width / svg.width.baseVal.value);
    return [Math.max(...over), Math.min(1, ...scales)];
})"""
SHOW_ALL = """() => {
    document.body.classList.remove("alone");
    document.querySelector("main").style.transform = "none";
}"""


@pytest.fixture
def screen(tab):
    """A tab of the size of a slide, and what it asks of the network."""
    tab.set_viewport_size(SCREEN)
    asked = []
    tab.on("request", lambda request: asked.append(request.url))
    return tab, asked


@pytest.mark.parametrize("number", LECTURES)
def test_slides_fit_and_nothing_is_asked_of_the_network(screen, number):
    tab, asked = screen
    file = DECKS / f"lecture-{number:02}.html"
    assert file.stat().st_size < 2_000_000
    tab.goto(file.as_uri())
    tab.evaluate(SHOW_ALL)
    for place, (over, scale) in enumerate(tab.evaluate(MEASURE), 1):
        assert over <= 0, f"slide {place} is too full by {over} pixels"
        assert scale >= LEAST, f"a formula of slide {place} is too wide: {scale:.2f}"
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    told = [int(m) for m in re.findall(r"<b>(\d+) minutes</b>", tab.content())]
    assert sum(told) == LENGTH and min(told) >= 1


def test_a_slide_that_is_too_full_is_noticed(screen):
    tab, _ = screen
    tab.goto((DECKS / "lecture-03.html").as_uri())
    tab.evaluate(SHOW_ALL)
    tab.evaluate(
        "document.querySelector('section p').textContent = 'word '.repeat(300)"
    )
    assert tab.evaluate(MEASURE)[0][0] > 0


def test_keys_turn_slides_and_show_notes(screen):
    tab, _ = screen
    tab.goto((DECKS / "lecture-03.html").as_uri())
    shown = tab.locator("section:visible")
    assert shown.count() == 1 and shown.get_attribute("id") == "1"
    for key, place in (
        ("ArrowRight", "2"),
        (" ", "3"),
        ("ArrowLeft", "2"),
        ("Home", "1"),
    ):
        tab.keyboard.press(key)
        assert tab.locator("section:visible").get_attribute("id") == place
    assert not tab.locator("aside:visible").count()
    tab.keyboard.press("n")
    assert "minutes" in tab.locator("aside:visible").inner_text()
    tab.keyboard.press("End")
    tab.keyboard.press("ArrowRight")
    assert tab.locator("section:visible h1").inner_text() == "Homework"


def test_the_speakers_window_turns_with_the_slides(screen):
    tab, _ = screen
    tab.goto(f"{(DECKS / 'lecture-10.html').as_uri()}#3")
    with tab.expect_popup() as opened:
        tab.keyboard.press("p")
    notes = opened.value
    notes.locator("aside:visible").wait_for()
    assert not tab.locator("aside:visible").count()
    for window, other, place in (tab, notes, "4"), (notes, tab, "5"):
        window.keyboard.press("ArrowRight")
        other.locator(f"section.now[id='{place}']").wait_for()
    notes.close()


def test_the_browser_prints_a_page_for_each_slide(screen):
    tab, _ = screen
    tab.goto((DECKS / "lecture-03.html").as_uri())
    slides = tab.locator("section").count()
    printed = tab.pdf(prefer_css_page_size=True, print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == slides


ROUTES = pytest.mark.parametrize("route, stops", [("An evening", 7), ("A weekend", 15)])


def stop_of(page, end):
    """Return where the one link of the paragraph leads that begins with a sentence."""
    html = (SITE / page).read_text(encoding="utf-8")
    quotes = re.findall("<blockquote>.*?</blockquote>", html, re.DOTALL)
    lines = [line for each in quotes for line in re.findall("<p>.*?</p>", each)]
    [line] = [line for line in lines if re.sub("<[^>]+>", "", line).startswith(end)]
    [link] = re.findall('href="([^"]+)"', line)
    return link


@ROUTES
def test_each_stop_of_a_route_leads_to_the_next_one(route, stops):
    """From the page of the routes and back to it. That none of them asks another place
    for anything, and where links arrive, is seen in test_pages.py.
    """
    if "routes.html" not in PAGES:
        pytest.skip("the site was built without routes")
    html = (SITE / "routes.html").read_text(encoding="utf-8")
    anchor = route.lower().replace(" ", "-")
    planned = html.partition(f'<section id="{anchor}">')[2].partition("</ol>")[0]
    planned = re.findall('href="([^"]+)"', planned.partition("<ol")[2])
    passed = []
    place = planned[0]
    for number in range(1, stops + 1):
        passed.append(place)
        page = urldefrag(place)[0]
        assert 'class="cell_output' in (SITE / page).read_text(encoding="utf-8"), page
        end = f"{route}, stop {number} of {stops}, ends here."
        place = urljoin(page, stop_of(page, end))
    assert passed == planned and place.startswith("routes.html#")


@ROUTES
def test_a_route_is_read_in_the_browser_alone(tab, address, route, stops):
    """Its first link and its last one, by a reader's hand, without a request to
    another place.
    """
    if "routes.html" not in PAGES:
        pytest.skip("the site was built without routes")
    leave_formulas(tab)
    asked = listen(tab, address)
    tab.goto(f"{address}routes.html")
    anchor = route.lower().replace(" ", "-")
    links = tab.locator(f"#{anchor} ol a")
    second = links.nth(1).get_attribute("href")
    for number, then in (1, second), (stops, "routes.html#"):
        links.nth(number - 1).click()
        line = tab.locator("blockquote p", has_text=f"{route}, stop {number} of")
        line.locator("a").click()
        tab.wait_for_url(re.compile(re.escape(address + then)))
        tab.goto(f"{address}routes.html")
    assert asked == []


def test_the_book_has_its_chapters_in_order(tmp_path, chromium):
    """In a process of its own: one browser is open here."""
    pages = ["11_tour", "38_micro"]
    for name in (*(f"{page}.html" for page in pages), "_static", "_images"):
        (tmp_path / name).symlink_to(SITE / name)
    book = tmp_path / "book.pdf"
    command = [sys.executable, ROOT / "docs/teach/book.py", tmp_path, book]
    subprocess.run(command, check=True)
    printed = book.read_bytes()
    begins = sheets_of(printed, pages)
    assert begins["11_tour"] == 3 < begins["38_micro"] <= count(printed)
    assert b"/Outlines" in printed


def test_the_book_has_all_chapters_of_the_site():
    parts = pages_of(SITE)
    names = [page for pages in parts.values() for page in pages]
    chapters = [name for name in names if re.match(r"\d\d_", name)]
    assert chapters == [p[:-5] for p in PAGES if re.match(r"\d\d_", p)]
