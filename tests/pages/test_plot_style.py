"""The sliders keep their promises with no page to show them: pictures change,
figures are closed, errors are seen.
"""

import itertools
import re
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")
import ipywidgets as w
import matplotlib.pyplot as plt
from matplotlib.colors import to_hex

import rvamp_nb
from rvamp_nb import StabilitySelection
from rvamp_nb.course.pictures import read_picture, sliders, still
from rvamp_nb.plot_style import COLOURS, INKS, LINES, MARKERS, SHADE, style
from rvamp_nb.select.plots import PALETTE


def draw_line(a):
    plt.plot([0, 1], [0, a])


def picture(box):
    return box.children[-1].outputs[0]["data"]["image/png"]


@pytest.fixture(autouse=True)
def no_figure_left():
    plt.close("all")
    yield
    left = plt.get_fignums()
    w.Widget.close_all()
    assert left == []


def test_import_is_light():
    code = (
        "import sys, rvamp_nb.course.pictures; print([m for m in ('matplotlib',"
        " 'ipywidgets', 'IPython', 'pandas', 'sklearn') if m in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


def test_picture_follows_the_slider():
    box = sliders(draw_line, a=(0.0, 2.0, 0.1, 1.0))
    first = picture(box)
    box.children[0].value = 2.0
    assert picture(box) != first
    box.children[0].value = 1.0
    assert picture(box) == first  # the same values give the same picture


def test_updates_on_release_only():
    box = sliders(
        lambda a, k, c: None, a=(0.0, 1.0, 0.1, 0.5), k=(0, 3, 1, 1), c=[1, 10, 100]
    )
    assert [c.continuous_update for c in box.children[:-1]] == [False] * 3


@pytest.mark.parametrize(
    "spec, kind, value",
    [
        ((0.0, 1.0, 0.25, 0.5), w.FloatSlider, 0.5),
        ((0, 6, 1, 6), w.IntSlider, 6),
        ((0, 6, 0.5, 6), w.FloatSlider, 6.0),
        ([6, 4, 2, 0], w.SelectionSlider, 6),
        (["L1", "ridge"], w.Dropdown, "L1"),
        (True, w.Checkbox, True),
    ],
)
def test_specifications(spec, kind, value):
    seen = []
    knob = sliders(lambda z: seen.append(z), z=spec).children[0]
    assert type(knob) is kind and knob.value == value and seen == [value]


def test_own_widget_is_taken_as_it_is():
    own = w.BoundedFloatText(value=0.3, min=0, max=1)
    assert sliders(draw_line, a=own).children[0] is own


@pytest.mark.parametrize(
    "spec",
    [(0.0, 1.0, 0.1), (0.0, 1.0, 0.1, 2.0), (0.0, 1.0, 0.0, 0.5), [], "text", 3.0],
)
def test_bad_specification_names_the_control(spec):
    with pytest.raises(ValueError, match="'lam'"):
        sliders(draw_line, lam=spec)


def test_first_error_is_raised_in_the_cell():
    with pytest.raises(ZeroDivisionError):
        sliders(lambda k: 1 / k, k=(0, 3, 1, 0))


def draw_reciprocal(k):
    plt.figure()
    plt.plot([0, 1 / k])


def test_error_of_a_callback_is_visible_and_goes_away():
    box = sliders(draw_reciprocal, k=(0, 3, 1, 2))
    box.children[0].value = 0
    (out,) = box.children[-1].outputs
    assert (
        out["output_type"] == "error"
        and out["ename"] == "ZeroDivisionError"
        and "draw_reciprocal" in "".join(out["traceback"])
    )
    assert plt.get_fignums() == []  # closed also after an error
    box.children[0].value = 1
    assert box.children[-1].outputs[0]["output_type"] == "display_data"


def test_error_is_in_the_saved_widget_state(tmp_path):
    """Where a test of a whole notebook looks, after a run with no page."""
    import nbformat
    from nbclient import NotebookClient

    nb = nbformat.v4.new_notebook()
    nb.cells = [
        nbformat.v4.new_code_cell(
            "from rvamp_nb.course.pictures import sliders\n"
            "import matplotlib.pyplot as plt\n"
            "def draw(k): plt.plot([0, 1 / k]); plt.show()\n"
            "good, bad = sliders(draw, k=(0, 3, 1, 2)), sliders(draw, k=(0, 3, 1, 2))\n"
            "good.children[0].value = 3; bad.children[0].value = 0\ngood"
        )
    ]
    NotebookClient(
        nb,
        timeout=None,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    shown = {o["output_type"] for o in nb.cells[0].outputs}
    assert shown == {"execute_result"}  # no picture escaped into the cell
    states = nb.metadata.widgets["application/vnd.jupyter.widget-state+json"][
        "state"
    ].values()
    kinds = sorted(
        o["output_type"]
        for s in states
        if s["model_name"] == "OutputModel"
        for o in s["state"].get("outputs", [])
    )
    assert kinds == ["display_data", "error"]


def test_sweep_finds_the_bad_end_and_restores(sweep):
    good = sliders(draw_line, a=(0.0, 2.0, 0.1, 1.0))
    bad = sliders(draw_reciprocal, k=(0, 3, 1, 2))
    assert sweep(good) == []
    assert sweep(bad) == ["k = 0: ZeroDivisionError: division by zero"]
    assert bad.children[0].value == 2 and any(
        line.startswith("k = 0") for line in sweep()
    )
    bad.close()
    assert not any(line.startswith("k = 0") for line in sweep())


def test_sweep_moves_every_kind_of_control(sweep):
    seen = []
    box = sliders(
        lambda **values: (seen.append(tuple(values.values())), print(values)),
        a=(0, 3, 1, 2),
        b=[5, 6, 7],
        c=["x", "y"],
        d=True,
    )
    assert sweep(box) == []
    assert (
        {s[0] for s in seen} == {0, 2, 3}
        and {s[1] for s in seen} == {5, 7}
        and {s[2] for s in seen} == {"x", "y"}
        and {s[3] for s in seen} == {True, False}
    )


def test_sweep_finds_the_control_that_does_nothing(sweep):
    box = sliders(lambda a, b: print(a), a=(0, 3, 1, 2), b=[5, 6])
    assert sweep(box) == ["b changes nothing"]
    box.close()


def test_text_and_several_figures_are_shown_in_order():
    def draw(a):
        print("a is", a)
        for _ in range(2):
            plt.figure()
            plt.plot([a])

    outputs = sliders(draw, a=(0, 3, 1, 2)).children[-1].outputs
    assert [o["output_type"] for o in outputs] == [
        "stream",
        "display_data",
        "display_data",
    ] and outputs[0]["text"] == "a is 2\n"


def test_a_figure_that_was_open_before_is_left_alone():
    mine = plt.figure()
    box = sliders(lambda a: plt.figure(), a=(0, 1, 1, 0))
    assert len(box.children[-1].outputs) == 1  # and not shown either
    assert plt.get_fignums() == [mine.number]
    plt.close(mine)


def test_still_draws_once():
    seen = []
    still(lambda a: seen.append(a), a=3)
    assert seen == [3]


def draw_all(k):
    """One of each kind of what is read."""
    _, (left, right) = plt.subplots(1, 2)
    left.plot([1, 2], [3, k], color="#123456", label="named")
    left.plot([1, 2], [3, 4])
    left.errorbar([1, 2], [5, 6], [1, 1], label="with bars", fmt="o")
    left.vlines([0, 1], 0, [2, k], label="sticks of two")
    left.set(title="a title", xlabel="x", ylabel="y", yscale="log")
    right.bar([1, 2], [3, k], label="bars")
    right.scatter([1, 2], [3, k], label="dots")
    right.stairs([3, k], label="steps")
    right.imshow([[3, k]], label="picture")
    right.set_xticks([1, 2], ["one", "two"])
    right.text(0, 0, "here")
    right.fill_between([0, 1], [2, k], color="#654321", label="area")
    right.pcolormesh([0, 1, 2], [0, 1], [[3, k]], label="mesh")
    right.annotate("", (k, 1), (0, 2), arrowprops=dict(color="#abcdef"), label="arrow")
    right.set(xlim=(k, -1))


def test_a_picture_is_read_back():
    plt.close("all")
    left, right = read_picture(draw_all, k=7)
    assert left[:4] == ("a title", "x", "y", ("linear", "log"))
    assert left.colours["named"] == "#123456"
    expected = {
        "named": [[1, 2], [3, 7]],
        "with bars": [[1, 2], [5, 6]],
        "sticks of two": [[[0, 0], [0, 2]], [[1, 0], [1, 7]]],
        "bars": [[1, 2], [3, 7]],
        "dots": [[1, 2], [3, 7]],
        "steps": [3, 7],
        "picture": [[3, 7]],
        "mesh": [[3, 7]],
        "arrow": [[0, 2], [7, 1]],
    }
    shows = left.shows | right.shows
    assert {name: shows[name].tolist() for name in expected} == expected
    assert {(0, 2), (1, 7), (0, 0), (1, 0)} == {*zip(*shows["area"])}
    assert right.colours["area"] == "#654321" and right.colours["arrow"] == "#abcdef"
    assert right.limits[0] == (7, -1) and left.limits[1] != right.limits[1]
    assert right.ticks[0] == ["one", "two"] and right.texts == ["here", ""]
    assert shows["line 0"].tolist() == [[1, 2], [3, 4]]
    assert plt.get_fignums() == []


def test_a_picture_that_is_open_is_left_open():
    plt.close("all")
    draw_all(2)
    assert [panel.x for panel in read_picture()] == ["x", ""]
    assert len(plt.get_fignums()) == 1
    plt.close("all")


def linear(colour):
    """Red, green and blue of a hex colour as amounts of light, (3,)."""
    c = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lightness(colour):
    return 116 * np.cbrt(linear(colour) @ [0.2126, 0.7152, 0.0722]) - 16


def test_roles_can_be_told_apart_in_grey():
    steps = {role: lightness(colour) for role, colour in COLOURS.items()}
    assert (
        set(COLOURS)
        == {"truth", "rvamp", "p1", "p2", "muted", "accent"}
        == set(LINES)
        == set(MARKERS)
    )
    assert (
        min(abs(steps[a] - steps[b]) for a, b in itertools.combinations(steps, 2)) > 8
    )
    assert (
        min(
            abs(steps[a] - steps[b])
            for a, b in itertools.combinations(("truth", "rvamp", "p1", "p2"), 2)
        )
        > 15
    )
    assert len(set(MARKERS.values())) == 6


def test_style_is_opaque_and_repeatable():
    with matplotlib.rc_context():
        style()
        once = dict(matplotlib.rcParams)
        style()
        assert dict(matplotlib.rcParams) == once
        assert (
            matplotlib.rcParams["figure.facecolor"] == "white"
            and not matplotlib.rcParams["savefig.transparent"]
        )
        box = sliders(lambda a: plt.figure(), a=(0, 1, 1, 0))
        import base64
        import io

        rgba = plt.imread(io.BytesIO(base64.b64decode(picture(box))))
        assert rgba[..., 3].min() == 1


def contrast_with_white(colour):
    """As WCAG counts it, from the luminance that belongs to a lightness above 8."""
    return 1.05 / (((lightness(colour) + 16) / 116) ** 3 + 0.05)


DRAWN = COLOURS | {f"leader {k}": colour for k, colour in enumerate(PALETTE)}


@pytest.mark.parametrize("name", [*DRAWN, "edge of a surface"])
def test_every_line_and_mark_is_seen_on_white(name):
    assert contrast_with_white("#949494") == pytest.approx(3.03, abs=0.01)
    colours = DRAWN | {"edge of a surface": SHADE["edgecolor"]}
    assert contrast_with_white(colours[name]) >= 3


@pytest.mark.parametrize("name", DRAWN)
def test_letters_in_a_colour_have_more_contrast(name):
    letters = INKS.get(DRAWN[name], DRAWN[name])
    assert contrast_with_white(letters) >= 4.5


def test_letters_in_pictures_are_legible():
    """Beside two coefficients, and the names of four classes."""
    X = np.random.default_rng(0).standard_normal((240, 9))
    one = StabilitySelection(n_resamples=0).fit(X[:, 1:], X[:, :3].sum(1))
    classes = np.arange(240) % 4
    X[np.arange(240), classes] += 0.7
    four = StabilitySelection(loss="softmax", n_resamples=0).fit(X, classes)
    drawn = one.plot_pair(0, 1), four.plot_density(0)
    axes = [ax for first in drawn for ax in first.figure.axes]
    letters = {to_hex(text.get_color()) for ax in axes for text in ax.texts}
    plt.close("all")
    seen = {colour: contrast_with_white(colour) for colour in letters}
    assert len(seen) == 6
    assert {colour: c for colour, c in seen.items() if c < 4.5} == {}


@pytest.mark.parametrize("role", ["truth", "rvamp", "p1", "accent"])
def test_lines_are_seen_on_a_surface(role):
    ground = contrast_with_white(SHADE["facecolor"])
    assert contrast_with_white(COLOURS[role]) / ground >= 3


# Viénot, Brettel and Mollon (no red, no green receptors), Machado and others (no blue)
EYES = {
    "protanope": [[0.112, 0.888, 0], [0.112, 0.888, 0], [0.004, -0.004, 1]],
    "deuteranope": [[0.293, 0.707, 0], [0.293, 0.707, 0], [-0.022, 0.022, 1]],
    "tritanope": [
        [1.256, -0.077, -0.179],
        [-0.078, 0.931, 0.148],
        [0.005, 0.691, 0.304],
    ],
}
XYZ = np.array(  # of linear red, green and blue
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
)


def lab(light):
    """CIE L*a*b* of linear red, green and blue, (3,)."""
    t = XYZ @ np.clip(light, 0, 1) / XYZ.sum(1)
    x, y, z = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", ["three receptors", *EYES])
def test_roles_can_be_told_apart_by_all_eyes(eyes):
    """CIE's ΔE of 1976; a difference of 2.3 is just noticed."""
    matrix = np.array(EYES.get(eyes, np.eye(3)))
    seen = [lab(matrix @ linear(colour)) for colour in COLOURS.values()]
    apart = [np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)]
    assert min(apart) > 12
    assert lab(np.ones(3)) == pytest.approx([100, 0, 0], abs=0.02)


def test_the_explorer_has_the_same_colours():
    script = (Path(rvamp_nb.__file__).parent / "course" / "widgets.js").read_text(
        encoding="utf-8"
    )
    light = script.partition("const STYLE = ")[2].partition("\n")[0]
    light += script.partition("const STYLE = ")[2].split("\n")[1]
    inks = dict(re.findall(r"--(\w+): (#\w{6});", light))
    for role in ("rvamp", "p1", "p2", "accent"):
        assert inks[role] == COLOURS[role]
    assert re.findall(r"--p2-text: (#\w{6});", light) == [INKS[COLOURS["p2"]]]
    assert inks["ink"] == COLOURS["truth"]
    assert (inks["refits"], inks["edge"]) == (SHADE["facecolor"], SHADE["edgecolor"])
