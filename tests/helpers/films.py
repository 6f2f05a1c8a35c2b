"""The films of the site: the controls of a notebook (`plot_style.sliders`) with a
picture of each setting, taken when it runs for the site, which has no Python.
"""

from math import prod
from pathlib import Path
from types import SimpleNamespace

from rvamp_nb.course import widgets

ROOT = Path(__file__).resolve().parents[2]
MOST = 60  # settings of a film
# {page: {control: where it stands in the film}} for boxes of more settings than that:
# the ends, the start, and what the page asks to be looked at. Other controls keep all.
VALUES = {
    "12_resampling": {
        "M": [2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 25, 30, 35, 40, 45, 50, 60]
    },
    "21_replica": {
        "n": [-1, -0.5, 0, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6]
    },
    "22_augmented": {"height": [0.05, 0.4, 0.8, 1.2, 1.6, 1.8, 1.95]},
    "24_messages": {
        "h in": [0, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8],
        "Q in": [0.5, 1, 1.5, 3, 5, 8],
    },
    "31_prior": {"h": [-3, 0, 0.4, 0.8, 3], "χ̂": [0.05, 0.5, 1, 2], "λ": [0.1, 0.6, 2]},
    "32_likelihood": {
        "V": [0.1, 0.2, 0.4, 0.6, 0.8, 1.2, 1.6, 2.4, 3.5, 5],
        "τ": [0.1, 0.5, 1],
    },
    "33_coupling": {
        "correlation": [0, 0.5, 0.9, 0.99],
        "log10 D1": [-2, 0, 2],
        "log10 D2": [-3, -1.5, 0.5, 1.5, 3],
    },
    "43_state_evolution": {
        "rows per column": [0.15, 0.3, 0.6, 1],
        "λ": [0.05, 0.2, 0.6],
        "noise": [0.1, 0.2, 0.4, 0.6],
    },
    "52_groups": {
        "n": [1, 2, 4, 6, 8, 10],
        "s": [0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1],
    },
    "54_stability": {
        "threshold": [0.55, 0.65, 0.75, 0.85, 0.9, 0.95],
        "q": [2, 3, 4, 5, 6, 7, 8, 10, 11, 12],
    },
    "lmmse": {"panels done": [0, 1, 2, 3, 4, 6, 8, 10, 12]},
    "plot_style": {
        "λ": [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4]
    },
}


class Knob:
    """A control that stands at some of its values only."""

    def __init__(self, control, values):
        self.control = control
        self.description = control.description
        self.options = values

    @property
    def value(self):
        """Where the control stands."""
        return self.control.value

    @value.setter
    def value(self, value):
        self.control.value = value

    def close(self):
        """Close the control."""
        self.control.close()


def few(control, values):
    """Return a control at some of its values, or as it is where there are none. A
    ValueError for a value at which it cannot stand, and for a start that is left out.
    """
    if values is None:
        return control
    wrong = [value for value in values if value not in widgets._places(control)]
    if control.value not in values:
        wrong.append(f"all but its start, {control.value}")
    if wrong:
        raise ValueError(f"{control.description} cannot be filmed at {wrong}")
    return Knob(control, values)


def settings(controls):
    """Count the settings of some controls."""
    return prod(len(widgets._places(control)) for control in controls)


def controls_of(box, page):
    """Return the controls of a box as the film on this page has them. A ValueError for
    a box that cannot move there.
    """
    controls = list(box.children[:-1])
    if settings(controls) > MOST:
        values = VALUES.get(page, {})
        controls = [few(each, values.get(each.description)) for each in controls]
    if settings(controls) > MOST:
        names = ", ".join(control.description for control in controls)
        raise ValueError(
            f"{page} does not move: give VALUES for {names}, {MOST} in all"
        )
    return controls


def prints(box):
    """Return True for a box that prints: it has no pictures, and needs Python."""
    return any(o["output_type"] == "stream" for o in box.children[-1].outputs)


def filmed(box, page):
    """Return the film of a box on this page, and close the box. Its table has `fewer`
    where the film has fewer settings than the box.
    """
    controls = controls_of(box, page)
    fewer = settings(controls) < settings(box.children[:-1])
    parts = SimpleNamespace(children=[*controls, box.children[-1]], close=box.close)
    widget = widgets.film(parts)
    widget.table = dict(widget.table, fewer=fewer)
    return widget
