"""Draw README's picture of what is found at one promise: python docs/promise.py

One row for each of eight designs: the share of the true features that is found at a
promise of one false feature (knockpy: a share of .2; LassoCV promises nothing). What is
drawn was counted by tests/bench/null_fields.py and is kept beside the tests. A hollow
mark says that more than one false feature was seen that is no neighbour of a true one.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from rvamp_nb.plot_style import COLOURS, style

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "static" / "promise.png"
MARKS = {  # of a method: a colour of the package, and a shape
    "mb": ("truth", "s"),
    "unimodal": ("p2", "^"),
    "gaussian": ("rvamp", "o"),
    "ipss 1": ("p1", "D"),
    "ipss .5": ("p1", "d"),
    "knockpy .2": ("accent", "P"),
    "LassoCV": ("accent", "X"),
}
KEPT = {
    "effect_fields": ["mb", "unimodal", "gaussian", "to M/3"],
    "effect_peers": ["LassoCV", "ipss 1", "ipss .5", "knockpy .2"],
}


def found():
    """Load {design: {method: (share of true features, false ones, no neighbours)}}."""
    table = {}
    for file, methods in KEPT.items():
        with np.load(ROOT / "tests" / "truth/control" / f"{file}.npz") as kept:
            for design in kept.files:
                effects = 30 if design.startswith("thirty") else 10
                means = kept[design].astype(float).mean(0)
                of_design = table.setdefault(design, {})
                for method, (true, _, false) in zip(methods, means):
                    of_design[method] = true / effects, false
    return table


def draw(table):
    """Draw what `found` gives, a figure."""
    fig, ax = plt.subplots(figsize=(9, 5.2))
    for y, methods in enumerate(table.values()):
        for method, (colour, mark) in MARKS.items():
            share, false = methods[method]
            face = COLOURS[colour] if false <= 1 else "white"
            how = dict(color=COLOURS[colour], markerfacecolor=face, markersize=10)
            ax.plot(share, y, mark, clip_on=False, **how)
    for method, (colour, mark) in MARKS.items():
        ax.plot([], [], mark, color=COLOURS[colour], markersize=10, label=method)
    ax.set_yticks(range(len(table)), [name.split(" 300x")[0] for name in table])
    ax.set(xlim=(0, 1), xlabel="share of the true features that is found")
    ax.invert_yaxis()
    ax.grid(axis="y", color=COLOURS["muted"])
    fig.legend(loc="outside upper center", ncols=len(MARKS), columnspacing=0.9)
    return fig


def main():
    style()
    draw(found()).savefig(PICTURE, dpi=110, facecolor="white")


if __name__ == "__main__":
    main()
