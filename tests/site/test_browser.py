"""What one can do on the built site: python docs/build.py, then python -m pytest --site
tests/site.
"""

import json
import re
from urllib.parse import urldefrag

import pytest
from browsing import (
    HOME,
    ORDER,
    ROOT,
    SETTLED,
    SITE,
    WINDOW,
    found_pages,
    leave_formulas,
    listen,
    use_every_control,
    weigh,
)

# Take away the strokes of formulas, half of the nodes of a page: they have no text, and
# no word of what they are, of which axe could complain. What has any is returned.
TAKE_STROKES = """() => {
    const strokes = [...document.querySelectorAll("mjx-container svg *")];
    const speaks = node => node.localName === "a" || node.textContent.trim()
        || node.getAttributeNames().some(name => /^(aria-|role|tabindex)/.test(name));
    const found = strokes.filter(speaks).map(node => node.outerHTML.slice(0, 90));
    strokes.forEach(node => node.remove());
    return found;
}"""
AXE = "options => axe.run({resultTypes: ['violations'], ...options})"
DRAWN = """box => {
    const drawing = node =>
        node.tagName.toLowerCase() == "svg" ? node.innerHTML : node.toDataURL();
    return [...box.querySelectorAll("svg, canvas")].map(drawing).join();
}"""
# what is drawn stays in the page: to send it here takes longer than to draw it
NOTE = f"box => {{ window.drawn = ({DRAWN})(box); }}"
REDRAWN = f"box => window.drawn !== '' && ({DRAWN})(box) !== window.drawn"


@pytest.mark.parametrize(
    "words, wanted, place",
    [
        ("install", {"quickstart"}, 1),
        ("replica", {"21_replica"}, 1),
        ("p-value", {"51_error_control", "56_effects"}, 3),
        ("Woodbury", {"33_coupling"}, 3),
        ("bootstrap", {"12_resampling", "14_bootstrap"}, 3),
        ("p1", {"37_densities"}, 3),
        ("density", {"37_densities"}, 3),
    ],
)
def test_search_finds(searching, words, wanted, place):
    found = searching.evaluate(ORDER, words)
    assert wanted & set(found[:place]), found[:10]


@pytest.fixture(scope="module")
def searching(window, address):
    """A tab that can ask the search, which has shown what it finds."""
    with window.new_page() as tab:
        tab.goto(f"{address}search.html?q=Woodbury")
        assert found_pages(tab)[0] == "33_coupling"
        yield tab


@pytest.mark.parametrize("words", ["install", "replica"])
def test_a_search_shows_what_it_finds(tab, address, words):
    complaints = listen(tab, address)
    tab.goto(f"{address}search.html?q={words}")
    shown = found_pages(tab)
    assert shown == [*dict.fromkeys(tab.evaluate(ORDER, words))]
    assert len(shown) > 5 and complaints == []


def test_a_search_page_without_a_question_asks_for_one(tab, address):
    """A sentence, and a box that searches; the sentence makes room for results."""
    tab.goto(f"{address}search.html")
    middle = tab.locator("#furo-main-content")
    assert middle.locator("p.lead").is_visible()
    assert middle.locator("#search-results").text_content() == ""
    middle.locator("input[type=search]").fill("replica")
    tab.keyboard.press("Enter")
    assert found_pages(tab)[0] == "21_replica"
    assert not middle.locator("p.lead").is_visible()
    assert middle.locator("input[type=search]").input_value() == "replica"


def test_where_it_runs_elsewhere_is_not_searched(tab, address):
    tab.goto(f"{address}search.html?q=Binder")
    assert len(found_pages(tab)) < 5


def test_the_site_opens_from_disk(tab):
    complaints = listen(tab, SITE.as_uri())
    tab.goto((SITE / "24_messages.html").as_uri())
    tab.evaluate(SETTLED)
    tab.goto((SITE / "widgets.html").as_uri())
    tab.evaluate(SETTLED)
    move_sliders(tab)
    assert complaints == []
    tab.goto(f"{(SITE / 'search.html').as_uri()}?q=replica")
    assert found_pages(tab)[0] == "21_replica"


NOTEBOOKS = [*(ROOT / "nbs").rglob("[!_.]*.ipynb")]
SHOWN = {path.stem: path.read_text().count("widget-view+json") for path in NOTEBOOKS}
PRINTS = {"pictures": 1}  # a control of text, which needs Python


@pytest.mark.parametrize("name", sorted(name for name, n in SHOWN.items() if n))
def test_every_control_moves_on_its_page(tab, address, name):
    leave_formulas(tab)
    tab.goto(f"{address}{name}.html")
    tab.evaluate(SETTLED)
    assert move_sliders(tab) == SHOWN[name] - PRINTS.get(name, 0)
    still = tab.get_by_text("These controls need Python").count()
    assert still == PRINTS.get(name, 0)


@pytest.mark.parametrize("name", ["index", "explorer", "37_densities", "widgets"])
@pytest.mark.parametrize("width", [1400, 390])
def test_every_control_of_the_explorer_moves_its_picture(tab, address, name, width):
    leave_formulas(tab)
    complaints = listen(tab, address)
    tab.set_viewport_size(dict(width=width, height=900))
    tab.goto(f"{address}{name}.html")
    tab.evaluate(SETTLED)
    # by the browser's own search: the usual one looks at all the page for each control
    moved = use_every_control(tab.locator("css:light=.rvx:has([role=tab])").first)
    panels = ["ridgeline", "one", "pair", "iteration", "temperature"]
    assert [*moved] == panels and min(moved.values()) >= 2, moved
    assert complaints == []


LAST = """selector => Math.max(...[...document.querySelectorAll(selector)].map(
    node => node.getBoundingClientRect().bottom))"""


@pytest.mark.parametrize("width, height", [(1440, 900), (390, 844)])
def test_the_first_screen_has_the_line_to_copy_three_doors_and_a_slider(
    tab, address, width, height
):
    tab.set_viewport_size(dict(width=width, height=height))
    tab.goto(f"{address}index.html")
    tab.evaluate(SETTLED)
    assert tab.locator(".front pre").text_content().startswith("pip install ")
    assert tab.locator(".doors .sd-card").count() == 3
    shown = ".bar, .lead, .front pre, .doors .sd-card, .rvx [data-key=lam]"
    for part in shown.split(", "):
        assert 0 < tab.evaluate(LAST, part) < height, part
    for link in tab.locator(".bar a").all():
        box = link.bounding_box()
        assert 0 <= box["x"] and box["x"] + box["width"] <= width


PHONE = {"width": 390, "height": 844}


def test_on_a_phone_an_address_is_whole_and_search_is_below_the_explorer(tab, address):
    tab.set_viewport_size(PHONE)
    tab.goto(f"{address}index.html")
    tab.evaluate(SETTLED)
    lines = tab.locator(".front pre span").evaluate("n => n.getClientRects().length")
    assert lines == 1
    below = tab.evaluate(LAST, ".trial")
    search = tab.locator(".front .find").bounding_box()
    assert below <= search["y"] < below + 100


COLUMNS = """boxes => boxes.map(box => {
    const cells = [...box.querySelectorAll("th, td")];
    const narrowest = Math.min(...cells.map(cell => cell.clientWidth));
    return [box.scrollWidth - box.clientWidth, narrowest];
})"""


@pytest.mark.parametrize("name", ["notation", "algorithm"])
@pytest.mark.parametrize("width", [1440, 390])
def test_a_table_of_names_fits_its_box(tab, address, name, width):
    """On a wide screen; on a phone it scrolls. No column has a letter a line."""
    tab.set_viewport_size(dict(width=width, height=900))
    tab.goto(f"{address}{name}.html")
    tab.evaluate(SETTLED)
    seen = tab.eval_on_selector_all(".table-wrapper", COLUMNS)
    assert len(seen) > 1 and min(narrowest for _, narrowest in seen) > 36, seen
    if width > 1000:
        assert max(beyond for beyond, _ in seen) <= 1, seen


IN_SIGHT = """() => {
    const here = document.querySelector(".sidebar-scroll li.current-page");
    const { top, bottom } = here.getBoundingClientRect();
    return 0 <= top && bottom <= innerHeight;
}"""


def test_the_menu_shows_the_page_that_it_is_on(tab, address):
    tab.set_viewport_size(dict(width=1400, height=300))
    tab.goto(f"{address}widgets.html")
    tab.evaluate(SETTLED)
    tab.wait_for_function(IN_SIGHT, timeout=10_000)  # the menu scrolls smoothly
    assert tab.evaluate("scrollY") == 0


FOCUSED = "() => !!document.activeElement.closest('.sidebar-drawer, .toc-drawer')"


def test_on_a_phone_the_keyboard_passes_a_closed_menu_by_and_opens_it(tab, address):
    tab.set_viewport_size(PHONE)
    tab.goto(f"{address}21_replica.html")
    for _ in range(12):
        tab.keyboard.press("Tab")
        assert not tab.evaluate(FOCUSED)
    tab.get_by_role("button", name="Menu").focus()
    tab.keyboard.press("Enter")
    tab.locator(".sidebar-drawer a").first.wait_for()
    tab.locator(".sidebar-drawer a").first.focus()
    assert tab.evaluate(FOCUSED)


PLACED = """id => {
    const { top } = document.getElementById(id).getBoundingClientRect();
    return scrollY > 0 && 0 <= top && top < 200;
}"""


@pytest.mark.parametrize("width", [1440, 390])
def test_a_section_below_the_explorer_stays_in_view(tab, address, width):
    place = "p2-what-the-coupling-s-factor-knows"
    tab.set_viewport_size(dict(width=width, height=900))
    tab.goto(f"{address}37_densities.html#{place}")
    tab.evaluate(SETTLED)
    tab.wait_for_function(PLACED, arg=place, timeout=10_000)


HEADINGS = """() => [...document.querySelectorAll(".rvx .stage text.strong")]
    .filter(text => text.getBBox().y < 20).map(text => text.getBoundingClientRect())
    .map(({ left, right }) => [left, right]).sort((a, b) => a[0] - b[0])"""


@pytest.mark.parametrize("width", [1080, 1200, 1340, 1440])
def test_headings_of_the_explorer_have_room_beside_each_other(tab, address, width):
    tab.set_viewport_size(dict(width=width, height=900))
    tab.goto(f"{address}index.html")
    tab.evaluate(SETTLED)
    shown = tab.evaluate(HEADINGS)
    assert len(shown) == 3
    assert all(right < left for (_, right), (left, _) in zip(shown, shown[1:])), shown


ALIGNED = """tables => tables.map(table => [...table.rows].map(row =>
    [...row.cells].map(cell => getComputedStyle(cell).textAlign).join()))"""


def test_a_header_is_aligned_like_what_is_below_it(tab, address):
    tab.goto(f"{address}select_features_in_a_csv.html")
    tables = tab.eval_on_selector_all("table.dataframe", ALIGNED)
    assert tables and all(len({*rows}) == 1 for rows in tables), tables


FILTERS = """() => [...document.querySelectorAll("article .cell img")].map(
    image => [image.matches(".tag_as-drawn *"), getComputedStyle(image).filter])"""


def test_on_a_dark_page_pictures_of_a_dark_page_stay_as_they_are(tab, address):
    seen = []
    for page in "plot_style", "pictures":
        tab.goto(f"{address}{page}.html")
        tab.evaluate("document.body.dataset.theme = 'dark'")
        seen += tab.evaluate(FILTERS)
    assert sum(as_drawn for as_drawn, _ in seen) == 2 < len(seen)
    assert all(as_drawn == (turned == "none") for as_drawn, turned in seen), seen


SHADOWS = """nodes => nodes.filter(node => node.scrollWidth > node.clientWidth + 1).map(
    node => getComputedStyle(node).backgroundAttachment)"""
LETTERS = """nodes => nodes.map(node => [
    getComputedStyle(node.parentElement).overflowX,
    13.3 * node.getBoundingClientRect().width / node.naturalWidth])"""  # ten points


def test_on_a_phone_the_reference_can_be_read(tab, address):
    """Code that is cut has a shadow, letters in pictures have ten pixels, and nothing
    lies on the text when one scrolls up.
    """
    tab.set_viewport_size(PHONE)
    tab.goto(f"{address}api/rvamp_nb.StabilitySelection.html")
    tab.evaluate(SETTLED)
    shadows = tab.eval_on_selector_all("article pre", SHADOWS)
    assert shadows and {*shadows} == {"local, local, scroll, scroll"}
    letters = tab.eval_on_selector_all(".plot-directive", LETTERS)
    assert len(letters) == 4
    assert all(flow == "auto" and size >= 10 for flow, size in letters), letters
    tab.mouse.wheel(0, 3000)
    tab.wait_for_function("scrollY > 2000")
    tab.mouse.wheel(0, -500)
    tab.wait_for_selector("html.show-back-to-top")
    assert not tab.locator(".back-to-top").is_visible()


MOVES = """box => {
    const times = [];
    for (const tab of box.querySelectorAll("[role=tab]")) {
        tab.click();
        for (const slider of box.querySelectorAll("input[type=range]"))
            for (let k = 0; k < 24; k++) {
                const low = Number(slider.min), wide = Number(slider.max) - low;
                slider.value = low + wide * k / 23;
                const begun = performance.now();
                slider.dispatchEvent(new Event("input"));
                times.push(performance.now() - begun);
            }
    }
    return times.sort((a, b) => a - b);
}"""


def test_a_move_takes_less_than_fifty_milliseconds(tab, address):
    """The middle one; a busy machine may be late with some."""
    tab.goto(f"{address}index.html")
    tab.evaluate(SETTLED)
    times = tab.locator(".rvx").evaluate(MOVES)
    assert len(times) > 140 and times[len(times) // 2] < 50, times[:: len(times) // 9]


def test_without_scripts_and_on_paper_stands_the_picture(browser, address, tab):
    with browser.new_context(java_script_enabled=False) as context:
        plain = context.new_page()
        plain.goto(f"{address}index.html")
        assert plain.locator(".still img").first.is_visible()
    tab.goto(f"{address}index.html")
    tab.evaluate(SETTLED)
    assert tab.locator(".rvx").is_visible()
    assert not tab.locator(".still img").first.is_visible()
    tab.emulate_media(media="print")
    assert tab.locator(".still img").first.is_visible()
    assert not tab.locator(".rvx").is_visible()


PUT = """(slider, value) => {
    slider.value = value;
    slider.dispatchEvent(new Event("input"));
}"""


def move_sliders(tab):
    """Move each slider of the page, by key and by mouse, and see its picture change;
    how many pictures there are.
    """
    boxes = tab.query_selector_all("div.widget")
    for box in boxes:
        for slider in box.query_selector_all("input[type=range]"):
            start = slider.input_value()
            for by in "key", "mouse":
                box.evaluate(NOTE)
                room = slider.bounding_box()
                if slider.evaluate("node => node.value == node.max"):
                    key, x = "ArrowLeft", 2
                else:
                    key, x = "ArrowRight", room["width"] - 2
                if by == "key":
                    slider.press(key)
                else:
                    slider.click(position={"x": x, "y": room["height"] / 2})
                what = slider.evaluate("node => node.parentElement.textContent")
                # a slider draws before it returns
                assert box.evaluate(REDRAWN), f"{what} moves nothing"
            slider.evaluate(PUT, start)  # from there each of the others moves it
    return len(boxes)


TOY = """export default { render({ model, el }) {
    const button = document.createElement("button");
    const show = () => { button.textContent = model.get("n"); };
    model.on("change:n", show);
    button.onclick = () => {
        model.set("n", model.get("n") + 1);
        model.save_changes();
    };
    show();
    el.append(button);
} };"""


def test_a_widget_is_shown_where_its_view_stands(tab):
    """Views of one kind, each with values of its own; their script is there once."""
    tab.on("pageerror", lambda error: pytest.fail(str(error)))
    scripts = {"a": TOY, "b": TOY, "c": "a"}
    states = {
        k: {"state": {"_esm": scripts[k], "n": n}} for k, n in zip("abc", (1, 5, 7))
    }
    kind = '<script type="application/vnd.jupyter.widget'
    views = "".join(
        f'<p>{kind}-view+json">{json.dumps({"model_id": k})}</script></p>'
        for k in states
    )
    loader = (ROOT / "docs" / "static" / "widgets.js").read_text(encoding="utf-8")
    tab.set_content(
        f'{views}{kind}-state+json">{json.dumps({"state": states})}</script>'
        f"<script>{loader}</script>"
    )
    tab.locator("p:nth-child(2) button").click()
    assert tab.locator("p .widget").all_text_contents() == ["1", "6", "7"]


def test_under_an_address_without_a_page_stands_the_way_back(tab, address):
    for home in (address, address.removesuffix("/") + HOME):
        complaints = listen(tab, home)
        missing = f"{home}course/no/such/page.html"
        tab.goto(missing)
        assert tab.locator("h1").text_content().startswith("There is no such page")
        tab.wait_for_load_state("networkidle")
        # the answer itself is a 404, which the console repeats; all else is found
        assert {c for c in complaints if not re.search(r"\b404\b", c)} == set()
        assert [c for c in complaints if c.startswith("404")] == [f"404: {missing}"]
        here = tab.locator("#furo-main-content a:not(.headerlink)")
        leads = here.evaluate_all("links => links.map(link => link.href)")
        assert leads == [
            home + name
            for name in ("routes.html", "quickstart.html", "api.html", "contents.html")
        ]
        headerlink = tab.locator("h1 a").evaluate("link => link.href")
        assert urldefrag(headerlink)[0] == missing
        tab.locator("#furo-main-content input").fill("replica")
        tab.keyboard.press("Enter")
        assert found_pages(tab)[0] == "21_replica"
        assert tab.url.startswith(f"{home}search.html?q=")


COLOURS = """() => {
    const solid = colour => colour.startsWith("rgb(");
    const background = node => {
        const colour = getComputedStyle(node).backgroundColor;
        return solid(colour) ? colour : background(node.parentElement);
    };
    const classes = new Set(), token = /^\\.highlight \\.(\\w+)$/;
    for (const sheet of document.styleSheets)
        if (sheet.href?.includes("pygments.css"))
            for (const rule of sheet.cssRules)
                classes.add(token.exec(rule.selectorText)?.[1] ?? "");
    const pre = document.createElement("pre");
    pre.append("x");
    for (const className of classes) {
        const span = document.createElement("span");
        pre.append(Object.assign(span, {className, textContent: "x"}));
    }
    const box = document.createElement("div");
    box.className = "highlight";
    box.append(pre);
    document.querySelector("article").append(box);
    return [pre, ...pre.children].map(node =>
        [node.className, getComputedStyle(node).color, background(node)]);
}"""


def contrast(*colours):
    """The ratio of WCAG 2 between two colours as CSS writes them, ``rgb(0, 0, 0)``."""

    def luminance(colour):
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts
        ]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear))

    low, high = sorted(map(luminance, colours))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_code_is_legible(tab, address, theme):
    """Each kind of token, in both themes, against what lies behind it."""
    assert contrast("rgb(255, 255, 255)", "rgb(0, 0, 0)") == pytest.approx(21)
    tab.goto(f"{address}404.html")
    tab.evaluate("theme => { document.body.dataset.theme = theme; }", theme)
    seen = tab.evaluate(COLOURS)
    assert len(seen) > 50
    assert [each for each in seen if contrast(*each[1:]) < 4.5] == []


MARKS = """names => names.map(name => {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("class", name);
    const box = document.querySelector(".rvx");
    box.querySelector("svg").append(path);
    const { stroke, fill, opacity } = getComputedStyle(path);
    path.remove();
    const numbers = colour => colour.match(/\\d+/g).slice(0, 3).map(Number);
    const paper = numbers(getComputedStyle(box).backgroundColor);
    const ink = numbers(stroke == "none" ? fill : stroke);
    const seen = ink.map((v, k) => Math.round(opacity * v + (1 - opacity) * paper[k]));
    return [name, `rgb(${seen})`, `rgb(${paper})`];
})"""
DRAWN_AS = (
    "p1 p2 truth rvamp accent inner refits ribbon cloud cross ring1 truth-ring p2-open"
    " p1-fill truth-fill rvamp-fill accent-fill"
)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_mark_of_the_explorer_is_seen(tab, address, theme):
    """Lines, bars by their edge, points, each as it is mixed with what lies behind it:
    3 to 1 at least.
    """
    tab.goto(f"{address}index.html")
    tab.evaluate(SETTLED)
    tab.evaluate("theme => { document.body.dataset.theme = theme; }", theme)
    seen = tab.evaluate(MARKS, DRAWN_AS.split())
    assert [each for each in seen if contrast(*each[1:]) < 3] == []


def test_the_front_page_is_light(tab, address):
    """All that it asks for, as a server sends it."""
    weight, requests, _ = weigh(tab, f"{address}index.html")
    assert 100_000 < weight < 600_000 and requests < 25


@pytest.mark.parametrize(
    "name",
    [
        "index",
        "explorer",
        "quickstart",
        "23_rs_gaussian",
        "widgets",
        "api",
        "api/rvamp_nb.StabilitySelection",
        "select_features_in_a_csv",
        "start",
        "genindex",
        "search",
    ],
)
def test_everybody_can_read_it(tab, address, name):
    """axe has no serious complaint; on dark pages it looks at the colours again."""
    tab.set_viewport_size(WINDOW)
    tab.goto(f"{address}{name}.html")
    tab.evaluate(SETTLED)
    tab.add_script_tag(path=ROOT / "docs" / "node_modules" / "axe-core" / "axe.min.js")
    assert tab.evaluate(TAKE_STROKES) == []
    for theme, options in ("light", {}), ("dark", {"runOnly": ["color-contrast"]}):
        tab.evaluate("theme => { document.body.dataset.theme = theme; }", theme)
        found = tab.evaluate(AXE, options)
        assert [
            (theme, each["id"], [node["html"][:200] for node in each["nodes"]])
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
        ] == []
