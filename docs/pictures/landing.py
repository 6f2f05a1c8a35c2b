"""Draw the landing page's picture for light and for dark pages, and README's, on white:
python docs/pictures/landing.py

Seven coefficients of the diabetes data: their histograms over 4,000 refits, and over
them the laws that one run of rVAMP gives.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from rvamp_nb import Laplace, TwoPoint, datasets, naive_bootstrap, p1, rvamp
from rvamp_nb.plot_style import style

STATIC = Path(__file__).resolve().parents[1] / "static"
# Colours of a page, as in the explorer: text, refits and their edge, p̄₁, its numbers
INKS = {
    "light": ("#1A1A1A", "#C8C8C8", "#7A7A7A", "#A94800", "#A94800"),
    "dark": ("#E6E6E6", "#565B60", "#7B8187", "#F28A3C", "#F7A468"),
}
REFITS, WIDTH = 4000, 30  # of a bin


def main():
    data = datasets.load_diabetes()
    lam = datasets.choose_lambda(data.A, data.y)
    prior = Laplace(lam, TwoPoint(2, 0.5))
    fit = rvamp(data.A, data.y, prior=prior)
    shown = np.argsort(-fit.Pi)[:7]
    refits = naive_bootstrap(
        data.A, data.y, prior=prior, n_resamples=REFITS, keep=shown, verbose=False
    )
    style()
    for page, inks in INKS.items():
        draw([data.names[i] for i in shown], p1(fit, shown), refits.draws, inks)
        plt.savefig(
            STATIC / f"landing-{page}.svg", transparent=True, metadata={"Date": None}
        )
        if page == "light":
            plt.savefig(STATIC / "front.png", facecolor="white", dpi=110)
        plt.close()


def draw(names, laws, draws, inks):
    """One row per coefficient, the surest on top; a row's height is a density, the
    same scale in all.
    """
    text, grey, edge, line, number = inks
    plt.rcParams.update(
        {
            "text.color": text,
            "xtick.color": text,
            "axes.edgecolor": text,
            "axes.labelcolor": text,
            "svg.hashsalt": "landing",
        }
    )
    _, ax = plt.subplots(figsize=(9, 5.2))
    # 0 is an edge: no bin mixes signs
    x, edges = np.linspace(-420, 840, 1261), np.arange(-420, 841, WIDTH)
    base = -0.0043 * np.arange(len(names))
    columns = (960, f"{REFITS:,}\nrefits", text), (1130, "one run\nof rVAMP", number)
    for name, law, drawn, atom, y in zip(names, laws.pdf(x), draws.T, laws.atom, base):
        selected = drawn[drawn != 0]
        ax.stairs(
            y + np.histogram(selected, edges)[0] / REFITS / WIDTH,
            edges,
            baseline=y,
            fill=True,
            facecolor=grey,
            edgecolor=edge,
            linewidth=0.8,
        )
        ax.plot(x, y + law, color=line, linewidth=1.8)
        ax.text(-440, y, name, ha="right", va="baseline")
        for (place, _, colour), share in zip(
            columns, (len(selected) / REFITS, 1 - atom)
        ):
            ax.text(place, y, f"{share:.0%}", ha="center", va="baseline", color=colour)
    for place, heading, colour in columns:
        ax.text(place, 0.0042, heading, ha="center", color=colour)
    ax.text(1045, 0.0085, "how often selected", ha="center")
    ax.text(-420, 0.0085, "coefficient, over the resamples that select it", ha="left")
    ax.set(
        xlim=(-440, 1210),
        ylim=(base[-1] - 0.0005, 0.0098),
        yticks=[],
        xticks=range(-400, 801, 200),
    )
    ax.spines["left"].set_visible(False)
    ax.spines["bottom"].set_bounds(-420, 840)


if __name__ == "__main__":
    main()
