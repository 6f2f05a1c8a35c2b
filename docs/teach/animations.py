"""Film two sliders of the course for slides and talks: python docs/teach/animations.py

The pictures are those of the chapters' own functions. docs/static/replicas.gif has the
replica limit, n from 6 to 0 (chapter 2.1); docs/static/resample.gif takes resamples
round, from drawn rows to a histogram (chapter 1.2).
"""

import sys
from contextlib import redirect_stdout
from io import BytesIO, StringIO
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

DOCS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(DOCS.parent), str(DOCS.parent / "tests/helpers")]

from notebooks import ROOT, cells

STATIC = DOCS / "static"
DPI = 80
COLOURS = 32  # of a picture
FIRST = 1500  # milliseconds that a picture is shown: what is new longer
NEXT = 300
LAST = 3000


def main():
    """Write both films."""
    tilt = function_of("21_replica", "draw_tilt")
    ns = np.arange(6, -0.25, -0.25)
    pictures = [picture(tilt, n=n, beta=4) for n in ns]
    write("replicas", pictures, [FIRST, *[NEXT] * (len(ns) - 2), LAST])

    draw_round = function_of("12_resampling", "draw_round")
    pictures = [picture(draw_round, refits=k) for k in range(1, 41)]
    slower = [FIRST] * 4 + [2 * NEXT] * 6
    write("resample", pictures, [*slower, *[NEXT] * 29, LAST])


def function_of(stem, name):
    """Return a function that a chapter draws with: its cells are run up to that one,
    but for the slider itself.
    """
    matplotlib.use("agg")
    names = {"__name__": "__main__"}
    with redirect_stdout(StringIO()):
        for cell in cells(ROOT / f"nbs/course/{stem}.ipynb", "code"):
            found = f"def {name}(" in cell.source
            exec(cell.source.split("\nsliders(")[0], names)
            plt.close("all")
            if found:
                return names[name]
    raise ValueError(f"{stem} has no function {name}")


def picture(draw, **values):
    """Return the picture that a function draws, in few colours."""
    draw(**values)
    made = BytesIO()
    plt.savefig(made, format="png", dpi=DPI)
    plt.close("all")
    drawn = Image.open(made).convert("RGB")
    return drawn.quantize(COLOURS, dither=Image.Dither.NONE)


def write(name, pictures, durations):
    """Write a film of pictures, each shown so many milliseconds."""
    path = STATIC / f"{name}.gif"
    first, *rest = pictures
    kept = dict(save_all=True, append_images=rest, duration=durations, loop=0)
    first.save(path, optimize=True, **kept)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
