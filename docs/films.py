"""The films of the site: the controls of a notebook (`pictures.sliders`) with a
picture of each setting, taken when it runs for the site, which has no Python.
"""

import base64
import io
from itertools import product
from math import hypot, prod
from pathlib import Path
from unittest.mock import patch

import numpy as np
import traitlets
from anywidget import AnyWidget
from matplotlib.backends.backend_agg import RendererAgg
from PIL import Image
from scipy.ndimage import binary_dilation

from rvamp_nb.course import pictures

ROOT = Path(__file__).resolve().parents[1]
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
    "pictures": {
        "λ": [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4]
    },
}


class Film(AnyWidget):
    """Pictures of all settings, and the controls that choose one."""

    _esm = (ROOT / "docs" / "film.js").read_text(encoding="utf-8")
    table = traitlets.Dict().tag(sync=True)


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


def few(control, values):
    """Return a control at some of its values, or as it is where there are none. A
    ValueError for a value at which it cannot stand, and for a start that is left out.
    """
    if values is None:
        return control
    wrong = [value for value in values if value not in places_of(control)]
    if control.value not in values:
        wrong.append(f"all but its start, {control.value}")
    if wrong:
        raise ValueError(f"{control.description} cannot be filmed at {wrong}")
    return Knob(control, values)


def settings(controls):
    """Count the settings of some controls."""
    return prod(len(places_of(control)) for control in controls)


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
    """Return the film of a box from `sliders` on this page, and close the box.

    Each setting must give one figure, all of one size, and nothing else. A ValueError
    names the control that changes nothing, or the setting that has no picture. The
    film's table has `fewer` where it has fewer settings than the box.
    """
    controls = controls_of(box, page)
    closed = box.children[:-1]
    fewer = settings(controls) < settings(closed)
    places = list(map(places_of, controls))
    start = tuple(control.value for control in controls)
    for widget in [*box.children, box]:
        widget.close()
    taken = take_pictures(box, controls, [start, *product(*places)])
    shots = [taken[setting] for setting in product(*places)]
    names = [control.description for control in controls]
    check_moves(shots, names, places)
    first = taken[start]
    table = dict(
        base=frame_of(first),
        frames=[frame_of(pixels, first) for pixels in shots],
        size=first.shape[::-1],
        choices=[],
        start=[],
        fewer=fewer,
    )
    for name, values, value in zip(names, places, start):
        table["choices"].append(dict(name=name, values=list(map(str, values))))
        table["start"].append(values.index(value))
    return Film(table=table)


def take_pictures(box, controls, wanted):
    """Move the controls of a closed box to each setting that is wanted, first to the
    start; return {setting: the pixels of its picture}.
    """
    *closed, out = box.children
    redraw = pictures._live[box]
    for control in closed:
        control.unobserve(redraw, "value")  # one drawing where several have moved
    camera = Camera()
    taken = {}
    for setting in wanted:
        if setting in taken:
            continue
        label = "the start"
        if taken:
            pairs = zip(controls, setting)
            label = ", ".join(f"{each.description} = {value}" for each, value in pairs)
        for control, value in zip(controls, setting):
            control.value = value
        with patch.object(pictures, "_picture", camera.picture):
            redraw(None)
        taken[setting] = camera.pixels_of(out.outputs, label)
    out.outputs = ()  # what is closed is still kept with a page
    return taken


class Camera:
    """What keeps the pixels of pictures; its `picture` stands in for that of a box."""

    def __init__(self):
        self.screen = None
        self.places = {}
        self.shots = {}

    def picture(self, fig, _):
        """Draw a figure; return a notebook output that has a number for its pixels.

        All have their axes where the first one has them. What the box knows of places
        may be that of a test, whose pictures have few ticks.
        """
        size = fig.canvas.get_width_height(physical=True)
        if self.screen is None or self.screen.size != size:
            self.screen = Screen(size, fig.dpi)
        fig.canvas.get_renderer = lambda: self.screen
        drawn = pictures._drawn(fig, self.places)
        number = str(len(self.shots))
        self.shots[number] = drawn.view(np.uint32)[..., 0].copy()
        return dict(output_type="display_data", data={"image/png": number})

    def pixels_of(self, outputs, label):
        """Return the one picture among the outputs of a setting, (H, W): the four
        bytes of a pixel are one number.
        """
        for output in outputs:
            if output["output_type"] == "error":
                raise ValueError(f"at {label}: {output['ename']}: {output['evalue']}")
        numbers = [output.get("data", {}).get("image/png") for output in outputs]
        if len(numbers) != 1 or numbers[0] not in self.shots:
            raise ValueError(f"at {label} there must be one figure and nothing else")
        return self.shots[numbers[0]]


class Screen(RendererAgg):
    """Draws a text once, and copies it where the next picture has it again. One for all
    pictures of a film: matplotlib, too, measures a text once for each renderer.
    """

    def __init__(self, size, dpi):
        super().__init__(*size, dpi)
        self.size = size
        self.sheet = RendererAgg(*size, dpi)
        self.texts = {}

    def draw_text(self, gc, x, y, s, prop, angle, ismath=False, mtext=None):
        """See `RendererAgg.draw_text`."""
        if gc.get_clip_rectangle() or gc.get_clip_path()[0]:
            super().draw_text(gc, x, y, s, prop, angle, ismath, mtext)
            return
        key = (s, x, y, hash(prop), angle, ismath, gc.get_rgb())
        if key not in self.texts:
            self.sheet.draw_text(gc, x, y, s, prop, angle, ismath, mtext)
            size = self.get_text_width_height_descent(s, prop, ismath)
            self.texts[key] = self.cut_out(x, y, hypot(*size) + 5)
        left, bottom, text = self.texts[key]
        if text.size:
            self.draw_image(self.new_gc(), left, bottom, text)

    def cut_out(self, x, y, radius):
        """Take what was drawn on the sheet around a place, and wipe it there; return
        its left and lower end and its pixels, from below.
        """
        top = max(0, int(y - radius))
        left = max(0, int(x - radius))
        width = int(2 * radius) + 2
        sheet = np.asarray(self.sheet.buffer_rgba())
        around = sheet[top : top + width, left : left + width]
        rows = np.flatnonzero(around[..., 3].any(1))
        columns = np.flatnonzero(around[..., 3].any(0))
        if not rows.size:
            return 0, 0, rows
        top += rows[0]
        text = around[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        text = text[::-1].copy()
        around[:] = 0
        return left + columns[0], self.height - top - len(text), text


def places_of(control):
    """Return where a control can stand, as a list: numbers by their size."""
    values = list(getattr(control, "options", (False, True)))
    if hasattr(control, "step"):
        n_steps = int((control.max - control.min) / control.step + 1e-9)
        values = [control.value]
        for k in range(n_steps + 1):
            values.append(round(control.min + k * control.step, 9))
    if all(isinstance(value, (int, float)) for value in values):
        return sorted(set(values))
    return values


def frame_of(pixels, base=None):
    """Return a PNG of 31 colours, as a data address; pixels equal to those of `base`
    are transparent, and have no share in the colours.

    With the transparent one there are 32 colours, 5 bits a pixel.
    """
    new = np.full(pixels.shape, True)
    if base is not None:
        # with a margin: else `base` shines through when both are made smaller
        new = binary_dilation(pixels != base, iterations=3)
    codes = np.full(pixels.shape, 31, np.uint8)
    palette = []
    if new.any():
        codes[new], palette = few_colours(pixels[new])
    picture = Image.fromarray(codes)
    picture.putpalette((palette + [255] * 96)[:96])
    png = io.BytesIO()
    # a fiftieth larger than with optimize=True, in half of its time; at level 7 a sixth
    picture.save(png, "png", compress_level=8, transparency=31)
    return "data:image/png;base64," + base64.b64encode(png.getvalue()).decode()


def few_colours(pixels):
    """Return which of 31 colours each pixel has, and these colours, three bytes each.

    A colour counts once for every 16 pixels that have it, and at least once: that is
    quick, and of a thin line more is left.
    """
    colours, places, counts = np.unique(pixels, return_inverse=True, return_counts=True)
    shares = np.ceil(counts / 16).astype(int)
    row = np.repeat(colours, shares).view(np.uint8).reshape(1, -1, 4)
    image = Image.fromarray(row[..., :3].copy())
    image = image.quantize(31, kmeans=1, dither=Image.Dither.NONE)
    last = shares.cumsum() - 1
    return np.asarray(image)[0, last][places], image.getpalette()


def check_moves(shots, names, places):
    """Check that each control changes a picture, and that all are of one size."""
    if len({pixels.shape for pixels in shots}) > 1:
        raise ValueError("box has pictures of several sizes")
    hashes = np.array([hash(pixels.tobytes()) for pixels in shots])
    hashes = hashes.reshape([len(values) for values in places])
    for axis, name in enumerate(names):
        if (hashes == hashes.take([0], axis)).all():
            raise ValueError(f"control {name} changes nothing")
