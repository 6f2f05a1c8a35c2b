"""The forest plot: what is drawn stands where the numbers say, on the scale of the axis
that the effects are meant on.
"""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from rvamp_nb import StabilitySelection
from rvamp_nb.inference.effects import Effects
from rvamp_nb.inference.forest import common_unit, number_columns, visible_ends


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def effects(n=4, ratio="", factor=1.0, names="abcdefgh", **more):
    estimate = np.linspace(-1, 2, n) * factor
    se = np.full(n, 0.25) * factor
    p_value = np.linspace(0.0001, 0.9, n)
    values = [estimate, se, estimate - 2 * se, estimate + 2 * se, p_value]
    status = np.full(n, "interval", dtype=object)
    names = np.array([*names[:n]], dtype=object) if names else None
    return Effects(*values, status, names=names, ratio=ratio, **more)


def without(found, i, status="none"):
    """The same with no interval in one place."""
    values = [np.array(v) for v in found[:6]]
    for value in values[:4]:
        value[i] = np.nan
    if status == "none":
        values[4][i] = np.nan
    values[5][i] = status
    reasons = [""] * len(values[0])
    reasons[i] = "adds up with b"
    return found._replace(**dict(zip(found._fields, values)), reasons=reasons)


def texts(ax):
    ax.figure.draw_without_rendering()
    return [text.get_text() for text in ax.texts]


def segments(ax):
    """The ends of the intervals, (n, 2), in the order of the rows."""
    pairs = [line for line in ax.lines if len(line.get_xdata()) == 2]
    rows = [line for line in pairs if line.get_linewidth() == 2]
    return np.array([line.get_xdata() for line in rows])


@pytest.mark.parametrize("ratio", ["", "odds", "rate", "hazard"])
def test_points_and_intervals_are_where_the_numbers_say(ratio):
    found = effects(ratio=ratio)
    ax = found.plot()
    drawn = np.exp if ratio else np.asarray
    ends = np.column_stack([found.ci_low, found.ci_high])
    np.testing.assert_allclose(segments(ax), drawn(ends), rtol=1e-12)
    points = [
        float(np.ravel(line.get_xdata())[0])
        for line in ax.lines
        if line.get_marker() == "s"
    ]
    np.testing.assert_allclose(points, drawn(found.estimate), rtol=1e-12)
    assert ax.get_xscale() == ("log" if ratio else "linear")
    reference = [line for line in ax.lines if line.get_linewidth() == 1]
    assert np.all(np.ravel(reference[0].get_xdata()) == (1 if ratio else 0))
    low, high = ax.get_xlim()
    assert low < drawn(ends.min()) and high > drawn(ends.max())
    assert [t.get_text() for t in ax.get_yticklabels()] == [*"abcd"]
    seen = texts(ax)
    assert seen[0] == (f"{ratio} ratio" if ratio else "effect")
    first = f"{drawn(-1.0):.2f}".replace("-", "−")
    assert first in seen and "95 % interval" in seen and "< .001" in seen


def test_the_first_row_is_on_top():
    ax = effects().plot()
    bottom, top = ax.get_ylim()
    assert bottom > 3 and top < -1


def test_without_an_interval_there_is_a_reason_and_no_point():
    ax = without(effects(), 1).plot()
    assert len(segments(ax)) == 3
    seen = texts(ax)
    assert "adds up with b" in seen and "none" in seen
    ax = without(effects(), 1, "p-value only").plot()
    assert "none" in texts(ax) and ".300" in texts(ax)
    nothing = effects(1)
    ax = without(nothing, 0).plot()
    assert "none" in texts(ax) and not len(segments(ax))


def test_selected_ones_are_filled():
    found = effects(selected=np.array([True, False, True, False]))
    ax = found.plot()
    faces = [
        line.get_markerfacecolor() for line in ax.lines if line.get_marker() == "s"
    ]
    assert [face == "white" for face in faces] == [False, True, False, True]
    assert "filled: selected" in ax.get_xlabel()
    assert "filled" not in effects(selected=np.ones(4, bool)).plot().get_xlabel()
    assert "filled" not in effects().plot().get_xlabel()


def test_one_axis_or_standard_deviations():
    unit = np.array([1, 1, 1, 100.0])
    found = effects(factor=1 / unit, sd=unit)
    per, by = common_unit(found)
    assert per == "sd" and np.array_equal(by, unit)
    ax = found.plot()
    assert "per standard deviation" in ax.get_xlabel()
    np.testing.assert_allclose(np.ptp(segments(ax), axis=1), 1.0)
    assert "per unit" in found.plot(per="unit").get_xlabel()
    assert common_unit(effects(sd=unit))[0] == "unit"
    assert common_unit(found._replace(sd=None))[0] == "unit"
    with pytest.raises(ValueError, match="must be 'unit', or 'sd' .*, got 'year'"):
        found.plot(per="year")
    with pytest.raises(ValueError, match="for the effects of a selector"):
        found._replace(sd=None).plot(per="sd")


def test_a_long_interval_ends_in_an_arrow():
    low, high = visible_ends(*np.array([[0, 0, 0, 0], [-1, -1, -1, -50], [1, 1, 1, 2]]))
    np.testing.assert_array_equal(low, [-1, -1, -1, -6])
    np.testing.assert_array_equal(high, [1, 1, 1, 2])
    found = effects(8)
    ends = found.ci_high.copy()
    ends[5] += 40
    ax = found._replace(ci_high=ends).plot()
    marks = [line.get_marker() for line in ax.lines]
    assert marks.count(">") == 1 and "<" not in marks and ax.get_xlim()[1] < 10


def test_numbers_have_the_decimals_of_their_errors():
    for factor, text in ((1, "1.33"), (0.01, "0.0133"), (1000, "1333")):
        point = np.array([4 / 3, np.nan]) * factor
        ends = point - factor / 2, point + factor / 2
        numbers, intervals, p = number_columns(point, *ends, np.array([0.04, np.nan]))
        assert numbers == [text, "none"] and p == [".040", ""]
        assert intervals[1] == "" and " to " in intervals[0]
    for p_value, text in ((0.9999, "1.000"), (0.00049, "< .001"), (0.0006, ".001")):
        one = np.ones(1)
        assert number_columns(one, one, one, one * p_value)[2] == [text]


@pytest.mark.parametrize("width", [0.001, 0.3, 1, 3, 10])
def test_ticks_of_ratios_are_round_and_few(width):
    found = effects(ratio="odds", factor=width)
    ax = found.plot()
    ax.figure.draw_without_rendering()
    low, high = ax.get_xlim()
    ticks = [t for t in ax.get_xticks() if low <= t <= high]
    assert 2 <= len(ticks) <= 10
    assert all(len(f"{t:.4g}") <= 6 for t in ticks)


def test_so_many_at_most_those_with_the_smallest_p_values():
    found = effects(8)
    found = found._replace(p_value=found.p_value[::-1])
    ax = found.plot(most=3)
    assert [t.get_text() for t in ax.get_yticklabels()] == [*"fgh"]
    assert len(segments(ax)) == 3


@pytest.mark.parametrize("n", [0, 1, 3, 30])
def test_letters_do_not_overlap_and_stay_inside(n):
    """At every size: rows have room for their letters, columns stand apart."""
    names = [f"a protein with a long name {i} $x$" for i in range(n)]
    ax = effects(n, "odds", names=names or None).plot()
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in (*ax.texts, *ax.get_yticklabels())]
    whole = ax.figure.bbox
    assert all(whole.x0 <= b.x0 and b.x1 <= whole.x1 + 1 for b in boxes if b.width)
    for k, one in enumerate(boxes):
        assert not any(
            one.overlaps(other) for other in boxes[:k] if one.width * other.width
        )


def test_into_given_axes():
    fig, own = plt.subplots()
    assert effects().plot(own) is own and plt.get_fignums() == [fig.number]


def test_a_selector_knows_its_units_and_what_is_selected():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 6)) * np.geomspace(1, 1000, 6)
    y = X @ [2, 0.3, 0, 0, 0, 0] + 3 * rng.normal(size=300)
    s = StabilitySelection(n_resamples=0, verbose=0).fit(X, y)
    found = s.debiased_effects(range(6))
    np.testing.assert_allclose(found.sd, X.std(axis=0), rtol=1e-10)
    np.testing.assert_array_equal(found.selected, s.support_)
    assert common_unit(found)[0] == "sd"
