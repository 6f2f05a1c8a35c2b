"""Draw the card of the explorer's page, which is shown where its link is posted: python
docs/pictures/card.py (it needs Chromium)

1,200 x 630 pixels: the icon and one sentence beside the picture that the page begins
with.
"""

from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from rvamp_nb.course.widgets import diabetes_explorer

STATIC = Path(__file__).resolve().parents[1] / "static"
LOOK = """
body { margin: 0; background: white; }
main { max-width: none; position: absolute; left: 420px; top: 30px; width: 760px; }
main .rvx > .tabs, main .panel > :not(.stage) { display: none; }
.card { position: absolute; left: 50px; top: 150px; width: 320px; color: #1A1A1A;
    font: 27px/1.35 system-ui, sans-serif; }
.card svg { width: 90px; height: 90px; }
.card b { display: block; font-size: 40px; margin: 14px 0; }
"""
WORDS = """([icon, look]) => {
    const card = document.createElement("div");
    card.className = "card";
    card.innerHTML = `${icon}<b>The explorer</b>Ten coefficients in 2,000 refits, and in
        one run of rVAMP, which makes none.`;
    document.body.append(card);
    document.head.append(Object.assign(document.createElement("style"),
        { textContent: look }));
}"""


def main():
    icon = (STATIC / "icon.svg").read_text(encoding="utf-8")
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "page.html"
        diabetes_explorer().save(page)
        start = dict(executable_path=which("chromium"), args=["--no-sandbox"])
        size = {"width": 1200, "height": 630}
        tab = playwright.chromium.launch(**start).new_page(viewport=size)
        tab.goto(page.as_uri())
        tab.evaluate(WORDS, [icon, LOOK])
        tab.wait_for_timeout(500)
        tab.screenshot(path=STATIC / "explorer.png")


if __name__ == "__main__":
    main()
