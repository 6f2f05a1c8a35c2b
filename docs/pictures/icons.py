"""Draw the icons for what shows no SVG, from static/icon.svg: python
docs/pictures/icons.py (it needs Chromium)

A phone gets 180 pixels on white, and rounds the corners itself; an older browser 32.
"""

from pathlib import Path
from shutil import which

from playwright.sync_api import sync_playwright

STATIC = Path(__file__).resolve().parents[1] / "static"
ICONS = {  # a file's name: how wide it is, how wide its margin, what is behind it
    "apple-touch-icon.png": (180, 20, "white"),
    "icon-32.png": (32, 0, "transparent"),
}


def main():
    with sync_playwright() as playwright:
        start = dict(executable_path=which("chromium"), args=["--no-sandbox"])
        tab = playwright.chromium.launch(**start).new_page()
        tab.goto((STATIC / "icon.svg").as_uri())
        for name, (width, margin, behind) in ICONS.items():
            tab.set_viewport_size({"width": width, "height": width})
            look = f"padding: {margin}px; box-sizing: border-box; background: {behind}"
            tab.locator("svg").evaluate("(svg, look) => svg.style.cssText = look", look)
            tab.screenshot(path=STATIC / name, omit_background=True)


if __name__ == "__main__":
    main()
