"""The explorer that is sent: its page on the site, a copied link, saved pictures, a
page in one file, and a table of the reader's: python docs/build.py, then python -m
pytest --site tests/site. What is in one file needs no site.
"""

import re
import xml.etree.ElementTree as ET
from contextlib import ExitStack
from functools import partial

import numpy as np
import pytest
from browsing import SEEN, SETTLED
from PIL import Image
from test_browser import contrast

from rvamp_nb import datasets, rvamp
from rvamp_nb.course.widgets import diabetes_explorer, explore

READY = ".rvx [role=tab]"
NOTED = 400  # milliseconds after which a state stands in the address
PANELS = ["ridgeline", "one", "pair", "iteration", "temperature"]
WIDTHS = pytest.mark.parametrize("width", [1440, 390])


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The explorer in one file."""
    path = tmp_path_factory.mktemp("sent") / "page.html"
    diabetes_explorer().save(path)
    return path


@pytest.fixture
def context(window):
    """The window, in which a test may open tabs."""
    others = window.pages
    yield window
    for tab in window.pages:
        if tab not in others:
            tab.close()
    window.clear_permissions()


def look(tab):
    """What an explorer shows: its picture, whatever is still fading in, and words."""
    picture, words = tab.locator(".rvx").last.evaluate(SEEN)
    return picture.replace(" coming", ""), words


def open_page(context, page, width=1440, theme="light"):
    """A tab with the explorer of a page, the list of its requests and complaints."""
    tab = context.new_page()
    tab.set_viewport_size(dict(width=width, height=900))
    tab.emulate_media(color_scheme=theme)
    tab.asked = []
    tab.on("request", lambda request: tab.asked.append(request.url))
    tab.on("pageerror", lambda error: pytest.fail(str(error)))
    tab.on("console", lambda said: said.type == "error" and pytest.fail(said.text))
    tab.goto(page)
    tab.wait_for_selector(READY)
    return tab


def move_by_keyboard(tab):
    """Open the pair's panel, choose two coefficients and a penalty, draw 100 refits."""
    tab.locator("[data-key=ridgeline]").focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    tab.locator("[data-key=first]").focus()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    tab.locator("[data-key=second]").focus()
    tab.keyboard.press("End")
    tab.locator("[data-key=lam]").focus()
    tab.keyboard.press("Home")
    for key in "clear", "draw100":
        tab.locator(f"[data-key={key}]").focus()
        tab.keyboard.press("Enter")


@pytest.fixture(params=["site", "disk"])
def page(request):
    """The address of the page on the site, and of the file."""
    if request.param == "site":
        return request.getfixturevalue("address") + "explorer.html"
    return request.getfixturevalue("file").as_uri()


@WIDTHS
def test_a_copied_link_opens_the_same_state(context, page, width):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab = open_page(context, page, width)
    first = look(tab)
    move_by_keyboard(tab)
    seen = look(tab)
    tab.locator("[data-key=link]").focus()
    tab.keyboard.press("Enter")
    tab.get_by_text("copied").wait_for()
    link = tab.evaluate("navigator.clipboard.readText()")
    assert link.startswith(page) and link == tab.url
    again = open_page(context, link, width)
    assert look(again) == seen != first
    assert again.locator("[data-key=pair]").get_attribute("aria-selected") == "true"
    assert "first=bp" in link and "second=s2" in link and "refits=100" in link


def test_the_address_follows_each_control_and_the_page_an_address(context, page):
    tab = open_page(context, page)
    tab.wait_for_timeout(NOTED)
    assert tab.url == page  # nothing has moved
    for panel in PANELS[1:]:
        tab.locator(f"[data-key={panel}]").click()
        tab.wait_for_timeout(NOTED)
        assert tab.url == f"{page}#panel={panel}"
    tab.locator("[data-key=beta]").press("End")
    tab.wait_for_timeout(NOTED)
    assert tab.url == f"{page}#panel=temperature&beta=%E2%88%9E"
    tab.evaluate("() => { location.hash = 'panel=one&coefficient=s4&drawn=no'; }")
    tab.wait_for_timeout(NOTED)
    assert tab.locator("[data-key=coefficient]").input_value() == "7"
    assert not tab.locator("[data-key=drawn]").is_checked()


def test_a_place_in_the_page_stays_in_its_address(context, address):
    tab = open_page(context, f"{address}explorer.html#the-explorer")
    tab.wait_for_timeout(NOTED)
    assert tab.url.endswith("#the-explorer")


def test_a_page_that_may_not_copy_says_where_the_link_is(context, file):
    tab = open_page(context, file.as_uri())
    refuse = "() => { navigator.clipboard.writeText = () => Promise.reject(); }"
    tab.evaluate(refuse)
    tab.locator("[data-key=link]").click()
    tab.get_by_text("take the link from its address bar").wait_for()


def save(tab, kind, folder):
    with tab.expect_download() as download:
        tab.locator(f"[data-key={kind}]").click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def save_panels(tab, folder):
    """Save the picture of each panel in both kinds; return what each panel shows. All
    are waited for together: the browser takes a second before it packs a PNG.
    """
    shown, saved = {}, {}
    with ExitStack() as waiting:
        for panel in PANELS:
            tab.locator(f"[data-key={panel}]").click()
            shown[panel] = tab.locator(".stage, .key, .scroll").all_inner_texts()
            for kind in "svg", "png":
                name = f"explorer-{panel}.{kind}"
                arrives = tab.expect_download(partial(is_called, name))
                saved[name] = waiting.enter_context(arrives)
                tab.locator(f"[data-key={kind}]").click()
    for name, download in saved.items():
        download.value.save_as(folder / name)
    return shown


def is_called(name, download):
    return download.suggested_filename == name


SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("theme", ["light", "dark"])
@WIDTHS
def test_what_is_seen_is_saved_as_svg_and_png(context, file, tmp_path, width, theme):
    """All texts of the picture, its legend and its table; no style sheet, nothing that
    another program cannot read; two pixels for one.
    """
    tab = open_page(context, file.as_uri(), width, theme)
    for panel, shown in save_panels(tab, tmp_path).items():
        text = (tmp_path / f"explorer-{panel}.svg").read_text(encoding="utf-8")
        assert not re.search(r"var\(|color-mix|color\(|class=|href|style=|NaN", text)
        root = ET.fromstring(text)
        words = " ".join(part.text or "" for part in root.iter(f"{SVG}text"))
        for word in set(re.findall(r"\w{3,}", " ".join(shown))):
            assert word in words, (panel, word)
        assert "λ" in words or panel == "temperature"
        paths = [each.get("stroke") for each in root.iter(f"{SVG}path")]
        assert len(paths) >= 2 and any(colour.startswith("rgb") for colour in paths)
        [paper] = [each.get("fill") for each in root.findall(f"{SVG}rect")]
        assert (
            paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(19, 20, 22)"}[theme]
        )
        size = int(root.get("width")), int(root.get("height"))
        assert width - 40 <= size[0] <= width + 400 or width == 1440
        picture = Image.open(tmp_path / f"explorer-{panel}.png")
        assert picture.size == (2 * size[0], 2 * size[1])
        assert len(picture.convert("RGB").getcolors(1 << 24)) > 20


def test_a_page_in_one_file_is_small_and_asks_for_nothing(context, file, tmp_path):
    """From the disk, with every panel opened; also the one of a fit with names that end
    a script.
    """
    data = datasets.gaussian_design(40, 12, noise=0.3, density=0.3, seed=0)
    names = ["</script><b>", 'a"b', "<!--", "${x}", *map(str, range(8))]
    fit = rvamp(data.A, data.y, 0.2)
    draws = np.random.default_rng(0).normal(size=(2000, 12))
    hostile = tmp_path / "hostile.html"
    explore(fit, names, shown=list(range(12)), refits=draws).save(hostile)
    for path in file, hostile:
        assert 50_000 < path.stat().st_size < 1_000_000
        tab = open_page(context, path.as_uri())
        for panel in tab.locator("[role=tab]").all():
            panel.click()
        for kind in "png", "svg":
            save(tab, kind, tmp_path)
        assert [url for url in tab.asked if not url.startswith(("data:", "blob:"))] == [
            path.as_uri()
        ]
        assert tab.locator("[role=tab]").count() == 5
    assert tab.locator("option").first.text_content() == names[0]


REACH = """() => {
    const there = "https://example.org/x.png";
    const picture = new Promise((onload, onerror) =>
        Object.assign(new Image(), { src: there, onload, onerror }));
    return Promise.allSettled([fetch(there), picture])
        .then(all => all.map(each => each.status));
}"""


def test_a_page_in_one_file_may_not_ask_for_anything(tab, file):
    """What tries is stopped by the page itself."""
    said = []
    tab.on("console", lambda message: said.append(message.text))
    tab.goto(file.as_uri())
    assert tab.evaluate(REACH) == ["rejected", "rejected"]
    assert len([text for text in said if "Content Security Policy" in text]) >= 2


def csv(n_rows=60, n_columns=6):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n_rows, n_columns))
    y = 3 * X[:, 1] + rng.normal(size=n_rows)
    head = ",".join(f"gene{i}" for i in range(n_columns)) + ",outcome"
    rows = [",".join(f"{v:.4f}" for v in row) for row in np.c_[X, y]]
    return "\n".join([head, *rows])


DROP = """([name, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name));
    const drop = { dataTransfer: data, bubbles: true, cancelable: true };
    for (const kind of ["dragover", "drop"])
        document.querySelector("article").dispatchEvent(new DragEvent(kind, drop));
}"""


@WIDTHS
@pytest.mark.parametrize("by", ["drop", "choice"])
def test_a_table_is_computed_in_the_page_and_never_leaves_it(
    context, address, tmp_path, width, by
):
    tab = open_page(context, f"{address}explorer.html", width)
    tab.evaluate(SETTLED)
    tab.wait_for_load_state("networkidle")
    tab.asked.clear()
    if by == "drop":
        tab.evaluate(DROP, ["mine.csv", csv()])
    else:
        path = tmp_path / "mine.csv"
        path.write_text(csv())
        tab.locator("[data-key=file]").set_input_files(path)
    menu = tab.get_by_label("Which column is the target?")
    menu.wait_for()
    assert menu.evaluate("node => node === document.activeElement")
    names = menu.locator("option").all_text_contents()
    assert names == ["choose", *(f"gene{i}" for i in range(6)), "outcome"]
    tab.keyboard.press("End")  # the target, by key
    tab.get_by_text("Done in").wait_for()
    first = tab.locator(".stage [role=button]").evaluate_all(
        "rows => rows.map(row => row.getAttribute('aria-label'))"
    )
    zero = {line.split(":")[0]: line for line in first}
    assert [*zero] == [f"gene{i}" for i in range(6)]
    assert "zero in 0 %" in zero["gene1"] and "zero in 0 %" not in zero["gene0"]
    assert "60 rows, 6 columns" in tab.locator(".hint").inner_text()
    seen = look(tab)
    menu.select_option("gene1")
    tab.locator(".stage [aria-label^=outcome]").wait_for()
    assert look(tab) != seen
    for panel in "one", "pair", "iteration":
        tab.locator(f"[data-key={panel}]").click()
    assert tab.locator("[data-key=link]").count() == 0
    assert "=" not in tab.url
    assert [url for url in tab.asked if not url.startswith(("data:", "blob:"))] == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("", "mine.csv: The file is empty."),
        ("a,b\n1,2", "mine.csv: The table has 1 row below the names."),
        (csv().replace("-", "x", 1), "mine.csv: Column “gene"),
        (csv(201), "mine.csv: The table has 201 rows and 6 columns beside the target."),
    ],
)
def test_a_table_that_cannot_be_taken_is_refused_with_a_sentence(
    context, address, text, sentence
):
    tab = open_page(context, f"{address}explorer.html")
    before = look(tab)
    tab.evaluate(DROP, ["mine.csv", csv()])
    tab.get_by_label("Which column is the target?").wait_for()
    tab.evaluate(DROP, ["mine.csv", text])
    tab.get_by_text(sentence).wait_for()
    assert tab.get_by_label("Which column is the target?").count() == 0
    assert look(tab) == before


EDGES = """() => [...document.querySelectorAll(".rvx :is(button, select):not(.tabs *)")]
    .filter(node => node.checkVisibility()).map(node => [node.dataset.key,
        getComputedStyle(node).borderTopColor, getComputedStyle(node).color,
        getComputedStyle(node.closest(".rvx")).backgroundColor])"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_buttons_and_menus_are_seen(context, file, theme):
    tab = open_page(context, file.as_uri(), theme=theme)
    tab.locator("[data-key=one]").click()
    found = tab.evaluate(EDGES)
    assert {"link", "png", "svg", "coefficient"} <= {key for key, *_ in found}
    for key, edge, ink, paper in found:
        assert contrast(edge, paper) >= 3, key
        assert contrast(ink, paper) >= 4.5, key


def test_the_page_has_a_card_of_its_own(address, context):
    tab = context.new_page()
    tab.goto(f"{address}explorer.html")
    read = "kind => document.querySelector(`meta[property='${kind}']`).content"
    card = tab.evaluate(read, "og:image")
    assert card.endswith("/_static/explorer.png")
    assert "coefficients" in tab.evaluate(read, "og:image:alt")
    tab.goto(f"{address}_static/explorer.png")
    assert tab.evaluate("[document.images[0].width, document.images[0].height]") == [
        1200,
        630,
    ]


def test_the_front_page_leads_to_it(address, context):
    tab = context.new_page()
    tab.goto(f"{address}index.html")
    tab.get_by_role("link", name="a page of its own").click()
    assert tab.url == f"{address}explorer.html"
