"""Every control has a film on the site, or a test names the one that has none: a box of
more settings than a film holds is filmed at values that tests/helpers/films.py lists.
"""

import films
import matplotlib.pyplot as plt
import pytest

from rvamp_nb.plot_style import sliders

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
