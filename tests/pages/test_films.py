"""Every control has a film on the site, or a test names the one that has none: a box of
more settings than a film holds is filmed at values that docs/films.py lists.
"""

import base64
import io
import json

import films
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.transforms import Bbox
from node import in_node
from PIL import Image

from rvamp_nb.course.pictures import sliders

FILM = films.ROOT / "docs" / "film.js"
PAGES = {path.stem for path in (films.ROOT / "nbs").rglob("*.ipynb")}


def draw(height, depth=1):
    fig, ax = plt.subplots(figsize=(1, 1))
    ax.bar([0, 1], [height, depth])
    ax.set(ylim=(0, 9))


def test_a_small_box_is_filmed_at_all_its_settings():
    table = films.filmed(sliders(draw, height=(1, 9, 2, 3)), "31_prior").table
    assert table["choices"] == [dict(name="height", values=["1", "3", "5", "7", "9"])]
    assert not table["fewer"] and table["start"] == [1]


def test_a_large_box_is_filmed_where_the_list_says(monkeypatch):
    """The other control keeps all of its values; the first frame is the start's."""
    monkeypatch.setitem(films.VALUES, "page", {"height": [0, 0.5, 9]})
    box = sliders(draw, height=(0.0, 9.0, 0.1, 0.5), depth=[1, 2])
    table = films.filmed(box, "page").table
    assert [each["values"] for each in table["choices"]] == [
        ["0", "0.5", "9"],
        list("12"),
    ]
    assert table["fewer"] and table["start"] == [1, 0] and len(table["frames"]) == 6
    assert box.comm is None and plt.get_fignums() == []


@pytest.mark.parametrize(
    "values, words",
    [
        (None, "page does not move: give VALUES for height, depth, 60 in all"),
        ([0, 0.25, 0.5], r"height cannot be filmed at \[0.25\]"),
        ([0, 1], r"height cannot be filmed at \['all but its start, 0.5'\]"),
        ([k / 10 for k in range(40)], "page does not move: give VALUES for height"),
    ],
)
def test_a_control_without_a_moving_page_is_named(monkeypatch, values, words):
    monkeypatch.setitem(films.VALUES, "page", {"height": values})
    box = sliders(draw, height=(0.0, 9.0, 0.1, 0.5), depth=[1, 2])
    with pytest.raises(ValueError, match=words):
        films.controls_of(box, "page")


def test_what_prints_has_no_film():
    assert films.prints(sliders(lambda n: print(n), n=[1, 2]))
    assert not films.prints(sliders(draw, height=[1, 2]))


def test_the_list_has_pages_that_are_there():
    assert set(films.VALUES) <= PAGES


def test_the_script_reaches_for_nothing():
    source = FILM.read_text(encoding="utf-8")
    assert "import " not in source
    assert "http" not in source.replace("http://www.w3.org/2000/svg", "")


def test_a_setting_finds_its_entry():
    choices = [dict(values=list(range(n))) for n in (2, 3, 4)]
    picks = [list(pick) for pick in np.ndindex(2, 3, 4)]
    found = in_node(
        "picks.map((pick) => js.entryAt(choices, pick))",
        FILM,
        choices=choices,
        picks=picks,
    )
    assert found == list(range(24))


def draw_bar(height, kind="left"):
    fig, ax = plt.subplots(figsize=(2, 1.5))
    ax.bar(kind == "right", height)
    ax.set(xlim=(-1, 2), ylim=(0, 4))


def bars(**controls):
    return films.filmed(sliders(draw_bar, **controls), "page").table


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

    table = films.filmed(sliders(draw, up=True), "page").table
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


def test_each_setting_is_drawn_once():
    drawn = []

    def draw(height, kind):
        drawn.append((height, kind))
        draw_bar(height, kind)

    box = sliders(draw, height=[2, 1, 3], kind=["left", "right"])
    drawn.clear()
    films.filmed(box, "page")
    assert sorted(drawn) == [(h, kind) for h in (1, 2, 3) for kind in ("left", "right")]
    assert drawn[0] == (2, "left")


def draw_words(k):
    fig, ax = plt.subplots(figsize=(3, 2.3))
    ax.plot([0, 3], [0, k])
    ax.set(xlabel="a label", ylabel="$x^2$ of it", title=f"title {k}")
    ax.axis((0, 3, 0, 3))
    ax.text(1, 1, "see through", color="red", alpha=0.3 * k, rotation=30)
    cut = ax.text(0.5, 0.5, "cut off", clip_on=True)
    cut.set_clip_box(Bbox([[0, 0], [80 + 9 * k, 99]]))
    ax.text(2.8, 1, "over the edge", size=20)
    ax.text(9, 9, "far away")
    return fig


def test_a_text_that_is_copied_looks_as_if_it_were_drawn():
    """Also where it is in part, or not at all, in the picture."""
    camera = films.Camera()
    fig = draw_words(1)
    camera.picture(fig, None)
    for k in (1, 2, 3):
        fig = draw_words(k)
        camera.picture(fig, None)
        seen = camera.shots[str(k)].view(np.uint8).reshape(230, 300, 4)
        plain = FigureCanvasAgg(fig)
        plain.draw()
        apart = np.abs(np.asarray(plain.buffer_rgba()) - seen.astype(int))
        assert apart.max() <= 1 and np.ptp(seen) == 255
    n_texts = len(camera.screen.texts)
    camera.picture(draw_words(3), None)
    assert len(camera.screen.texts) == n_texts


def test_as_many_colours_as_a_frame_may_have_are_kept():
    """Of one pixel, too, beside thousands of others."""
    rng = np.random.default_rng(0)
    colours = rng.integers(0, 256, (31, 4), dtype=np.uint8)
    pixels = colours.view(np.uint32).repeat(np.arange(31) ** 2 + 1)
    rng.shuffle(pixels)
    which, palette = films.few_colours(pixels)
    drawn = pixels.view(np.uint8).reshape(-1, 4)[:, :3]
    np.testing.assert_array_equal(np.reshape(palette, (-1, 3))[which], drawn)


def test_what_was_filmed_is_closed_and_keeps_no_picture():
    box = sliders(draw_bar, height=[1, 2])
    films.filmed(box, "page")
    assert box.comm is None and box.children[0].comm is None
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    "controls, problem",
    [
        (dict(height=[1, 2], kind=["left", "middle"]), "control kind changes nothing"),
        (dict(height=[1]), "control height changes nothing"),
        (dict(height=[1, "tall"]), "at height = tall: "),
    ],
)
def test_what_is_no_film_is_refused_by_its_name(controls, problem):
    def draw(height=1, kind="left"):
        draw_bar(height + 0, kind)

    with pytest.raises(ValueError, match=problem):
        films.filmed(sliders(draw, **controls), "page")


@pytest.mark.parametrize(
    "draw", [lambda k: print(k), lambda k: [plt.figure(), plt.figure()], lambda k: None]
)
def test_a_setting_has_one_figure(draw):
    with pytest.raises(ValueError, match="at the start there must be one figure"):
        films.filmed(sliders(draw, k=[1, 2]), "page")


def test_pictures_of_several_sizes_are_refused():
    with pytest.raises(ValueError, match="box has pictures of several sizes"):
        films.filmed(sliders(lambda k: plt.figure(figsize=(k, 2)), k=[1, 2]), "page")


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
        f"(() => {{{PAGE}{moved}}})()",
        FILM,
        table=table,
        moves=[[0, 1], [1, 2], [0, 0]],
    )
    assert looks == [
        [["first", "b"], ["n = 1", "β = 1.0"], "n = 1, β = 1.0"],
        [["first", "e"], ["n = 2", "β = 1.0"], "n = 2, β = 1.0"],
        [["first", "f"], ["n = 2", "β = 4.0"], "n = 2, β = 4.0"],
        [["first", "c"], ["n = 1", "β = 4.0"], "n = 1, β = 4.0"],
    ]
    assert limits == [[0, 1, "range"], [0, 2, "range"]]
