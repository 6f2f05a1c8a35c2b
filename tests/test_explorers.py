"""The explorers' JavaScript computes what Python computes, the widget carries all it
needs, and a film shows what the sliders showed.
"""

import base64
import io
import json
import shutil
import subprocess
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image
from scipy.special import erfc, ndtr

import rvamp_nb
from rvamp_nb.densities import P1
from rvamp_nb.explore import sliders
from rvamp_nb.explorers import density_explorer, explorer_entry, film
from rvamp_nb.messages import Natural
from rvamp_nb.prior import Laplace
from rvamp_nb.resampling import Fixed, TwoPoint

MODULE = Path(rvamp_nb.__file__).parent / "explorers.js"
SPAN = (-2.0, 2.0)


def in_node(expression, **values):
    """The value of a JavaScript expression that may use the module's functions and
    the given values.
    """
    if not shutil.which("node"):
        pytest.skip("needs node: apt-get install nodejs")
    names = ", ".join(values) or "nothing"
    script = (
        f"import * as js from {json.dumps(MODULE.as_uri())}; const {{{names}}} ="
        f" {json.dumps(values)};process.stdout.write(JSON.stringify({expression}))"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "--eval", script],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def densities():
    rng = np.random.default_rng(0)
    for k in range(12):
        message = Natural(
            *(
                np.float64(v)
                for v in (rng.uniform(0.2, 5), rng.normal() * 2, rng.uniform(0.01, 3))
            )
        )
        yield P1(
            Laplace(
                rng.uniform(0.1, 2),
                [Fixed(), TwoPoint(2, 0.5), TwoPoint(3, 0.2)][k % 3],
            ),
            message,
        )


def entry(density):
    return explorer_entry(density, density.sample(500, np.random.default_rng(1)), SPAN)


def test_the_error_function_has_full_precision():
    x = np.concatenate([np.linspace(-8, 8, 321), [2.9999999, 3.0, 25.0]])
    np.testing.assert_allclose(
        in_node("x.map(js.erfc)", x=x.tolist()), erfc(x), rtol=1e-11, atol=1e-15
    )
    np.testing.assert_allclose(
        in_node("x.map(js.Phi)", x=x.tolist()), ndtr(x), rtol=1e-11, atol=1e-15
    )


def test_densities_agree_with_python():
    x, made = np.linspace(-3, 3, 61), list(densities())
    by_js = in_node(
        "ms.map((m) => ({pdf: x.map((v) => js.pdf(m, v)),"
        " cdf: x.map((v) => js.cdf(m, v)), moments: js.moments(m), atom: js.atom(m),"
        " moved: js.atom(js.shifted(m, 0.75))}))",
        ms=[entry(density)["message"] for density in made],
        x=x.tolist(),
    )
    for density, found in zip(made, by_js, strict=True):
        said, near = f"h = {density.incoming.h:.2f}", dict(rtol=1e-9, atol=1e-12)
        for name in ("pdf", "cdf"):
            np.testing.assert_allclose(
                found[name], getattr(density, name)(x), **near, err_msg=said
            )
        both = found["moments"]
        np.testing.assert_allclose(
            [found["atom"], both["mean"], both["variance"]],
            [density.atom, density.mean, density.var],
            **near,
            err_msg=said,
        )
        moved = density.incoming._replace(
            h=density.incoming.h + 0.75 * density.incoming.chi_hat**0.5
        )
        np.testing.assert_allclose(
            found["moved"],
            density.prior.moments(moved).rho_bar,
            rtol=1e-9,
            err_msg=said,
        )


def test_a_setting_finds_its_entry():
    choices = [dict(values=list(range(n))) for n in (2, 3, 4)]
    picks = [list(pick) for pick in np.ndindex(2, 3, 4)]
    found = in_node(
        "picks.map((pick) => js.entryAt(choices, pick))", choices=choices, picks=picks
    )
    assert found == list(range(24))


def test_an_entry_holds_all_of_the_refits():
    draws = np.array([0.0, 0.0, 0.3, -1.2])
    made = explorer_entry(next(iter(densities())), draws, SPAN)
    assert made["zeros"] == 0.5
    np.testing.assert_allclose(
        sum(made["bars"]) * 4.0 / len(made["bars"]) + made["zeros"], 1
    )
    json.dumps(made)


def test_the_widget_carries_its_table_and_reaches_for_nothing():
    first = list(densities())[:2]
    widget = density_explorer(
        {(k,): entry(d) for k, d in enumerate(first)},
        {"which": [0, 1]},
        (1,),
        SPAN,
        2.0,
        "x",
        gaussian=True,
    )
    assert (
        widget.table["start"] == [1]
        and len(widget.table["entries"]) == 2
        and widget.table["gaussian"]
    )
    source = MODULE.read_text(encoding="utf-8")
    assert widget._esm == source or str(widget._esm) == source
    assert [
        line
        for line in source.splitlines()
        if "http" in line and "www.w3.org/2000/svg" not in line
    ] == [] and "import " not in source.split("export function erfc")[0]


def test_an_unknown_start_is_refused():
    with pytest.raises(ValueError):
        density_explorer(
            {(0,): entry(next(iter(densities())))}, {"which": [0]}, (3,), SPAN, 2.0, "x"
        )


def draw_bar(height, kind="left"):
    fig, ax = plt.subplots(figsize=(2, 1.5))
    ax.bar(kind == "right", height)
    ax.set(xlim=(-1, 2), ylim=(0, 4))


def bars(**controls):
    return film(sliders(draw_bar, **controls)).table


def pixels(address):
    data = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    return Image.open(io.BytesIO(data)).convert("RGBA")


def test_a_film_begins_where_the_sliders_did_and_has_all_their_settings():
    table = bars(height=(0.0, 3.0, 1.5, 1.5), kind=["right", "left"])
    assert table["choices"] == [
        dict(name="height", values=["0.0", "1.5", "3.0"]),
        dict(name="kind", values=["right", "left"]),
    ]
    assert table["start"] == [1, 0] and len(table["frames"]) == 6
    assert (
        len(set(table["frames"])) == 5
    )  # bars of no height are the same on both sides
    json.dumps(table)


def test_a_list_of_numbers_is_in_order_and_begins_with_its_first():
    table = bars(height=[2, 1, 3])
    assert table["choices"][0]["values"] == ["1", "2", "3"] and table["start"] == [1]


def test_a_start_between_two_steps_is_a_setting_too():
    table = bars(height=(0, 4, 3, 1))
    assert table["choices"][0]["values"] == ["0", "1", "3"] and table["start"] == [1]


def test_a_tick_box_is_off_or_on():
    def draw(up):
        draw_bar(1 + up)

    table = film(sliders(draw, up=True)).table
    assert table["choices"][0]["values"] == ["False", "True"]
    assert table["start"] == [1]


def test_a_frame_on_the_first_picture_is_the_sliders_picture():
    """But for the colours, of which there are 31."""
    heights = [1.0, 2.0, 3.0]
    table = bars(height=heights)
    box = sliders(draw_bar, height=heights)
    knob, out = box.children
    for height, frame in zip(heights, table["frames"]):
        knob.value = height
        png = io.BytesIO(base64.b64decode(out.outputs[0]["data"]["image/png"]))
        drawn = Image.open(png).convert("RGB")
        assert drawn.size == tuple(table["size"])
        shown = pixels(table["base"])
        shown.alpha_composite(pixels(frame))
        apart = np.abs(np.asarray(shown)[..., :3] - np.asarray(drawn, dtype=float))
        assert apart.max() < 40 and apart.mean() < 1
        assert len(frame) < 3000


def test_what_was_filmed_is_closed_and_keeps_no_picture():
    box = sliders(draw_bar, height=[1, 2])
    film(box)
    assert box.comm is None and box.children[0].comm is None
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    "controls, problem",
    [
        (dict(), "box must come from sliders, with a control or more"),
        (dict(height=(0, 60, 1, 0)), "more than 60 settings; give fewer values for he"),
        (
            dict(height=(0, 30, 1, 0), kind=["left", "right"]),
            "more than 60 settings; give fewer values for height or kind",
        ),
        (dict(height=[1, 2], kind=["left", "middle"]), "control kind changes nothing"),
        (dict(height=[1]), "control height changes nothing"),
        (dict(height=[1, "tall"]), "at height = tall: "),
    ],
)
def test_what_is_no_film_is_refused_by_its_name(controls, problem):
    def draw(height=1, kind="left"):
        draw_bar(height + 0, kind)

    with pytest.raises(ValueError, match=f"film: .*{problem}"):
        film(sliders(draw, **controls))


def test_a_function_is_no_box():
    with pytest.raises(ValueError, match="film: box must come from sliders"):
        film(draw_bar)


@pytest.mark.parametrize(
    "draw", [lambda k: print(k), lambda k: [plt.figure(), plt.figure()], lambda k: None]
)
def test_a_setting_has_one_figure(draw):
    with pytest.raises(ValueError, match="film: at the start there must be one figure"):
        film(sliders(draw, k=[1, 2]))


def test_pictures_of_several_sizes_are_refused():
    with pytest.raises(ValueError, match="film: box has pictures of several sizes"):
        film(sliders(lambda k: plt.figure(figsize=(k, 2)), k=[1, 2]))


PAGE = """
    class Part {
        constructor(tag) {
            Object.assign(this, {tag, parts: [], seen: {}, style: {}, dataset: {}});
        }
        setAttribute(name, value) { this.seen[name] = value; }
        append(...parts) { this.parts.push(...parts); }
        replaceChildren(...parts) { this.parts = parts; }
        addEventListener(name, heard) { this[name] = heard; }
        all(tag) {
            const inside = this.parts.flatMap((part) => part.all(tag));
            return this.tag === tag ? [this, ...inside] : inside;
        }
    }
    const make = (tag) => new Part(tag);
    globalThis.document = {
        createElement: make, createElementNS: (_, tag) => make(tag)};
    const el = make("el");
    js.render({model: {get: () => table}, el});
    const look = () => [el.all("image").map((part) => part.seen.href),
        el.all("span").map((part) => part.textContent),
        el.all("svg")[0].seen["aria-label"]];
"""


def test_a_slider_that_moves_shows_another_frame():
    """With as much of a page as the module asks for."""
    table = dict(
        base="first",
        frames=list("abcdef"),
        size=[20, 10],
        choices=[
            dict(name="n", values=["1", "2"]),
            dict(name="β", values=["0.5", "1.0", "4.0"]),
        ],
        start=[0, 1],
    )
    moved = """
        const looks = [look()], inputs = el.all("input");
        for (const [k, value] of moves) {
            inputs[k].value = value;
            inputs[k].input();
            looks.push(look());
        }
        return [looks, inputs.map((input) => [input.min, input.max, input.type])];
    """
    looks, limits = in_node(
        f"(() => {{{PAGE}{moved}}})()", table=table, moves=[[0, 1], [1, 2], [0, 0]]
    )
    assert looks == [
        [["first", "b"], ["n = 1", "β = 1.0"], "n = 1, β = 1.0"],
        [["first", "e"], ["n = 2", "β = 1.0"], "n = 2, β = 1.0"],
        [["first", "f"], ["n = 2", "β = 4.0"], "n = 2, β = 4.0"],
        [["first", "c"], ["n = 1", "β = 4.0"], "n = 1, β = 4.0"],
    ]
    assert limits == [[0, 1, "range"], [0, 2, "range"]]
