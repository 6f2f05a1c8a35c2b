"""Pictures, table, paragraph and folder of a fitted estimator: what they say is what
was found, they are whole, and they are the same every time.
"""

import io
import json
import re
import warnings
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from designs import at_most
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from rvamp_nb import ElasticNet, StabilitySelection
from rvamp_nb.exceptions import ReliabilityWarning
from rvamp_nb.plot_style import style
from rvamp_nb.select import report, wording
from rvamp_nb.select.error_control import pfer_bound
from rvamp_nb.select.plots import label, plot_probabilities, spaced
from rvamp_nb.select.report import (
    FILES,
    OF_EFFECTS,
    console,
    fingerprint,
    headline,
    report_files,
    summary_table,
    write_files,
)
from rvamp_nb.select.selection import refine_selection, with_refits
from rvamp_nb.select.wording import facts, methods_text, promised
from rvamp_nb.sketch import GRADES

# of "no answer" below, whose path is made when it is drawn
pytestmark = pytest.mark.filterwarnings("ignore:0 of 58 penalties converged")


def table(seed=0, M=90, N=30, effects=4):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(M, N)), columns=[f"gene {i}" for i in range(N)])
    y = X.iloc[:, :effects].sum(axis=1).to_numpy() + rng.normal(size=M)
    return X, y


def fitted(X, y, fit=None, **options):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        options = dict(n_resamples=0, verbose=0) | options
        return StabilitySelection(**options).fit(X, y, **(fit or {}))


def paragraph(est):
    return methods_text(est.selection_)


ONE = dict(lambdas=[2.0])  # where the path does not matter


def with_everything():
    """Covariate, constant, near copy, explained, refits, logistic."""
    X, y = table(1, M=120)
    X["gene 20"] = 1.0
    X["gene 21"] = -X["gene 2"]
    X["gene 22"] = 2 * X["gene 29"]
    words = np.where(y > 0, "ill", "well")
    factors = {"gene 29": 0.0, "gene 5": 2.0}
    return fitted(X, words, penalty_factor=factors, n_resamples=20)


@pytest.fixture(scope="module")
def plain():
    return fitted(*table())


@pytest.fixture(scope="module")
def all_of_it():
    return with_everything()


@pytest.fixture(scope="module")
def cases(plain, all_of_it):
    X, y = table()
    with at_most(2):
        nothing = fitted(X, y)
    long = X.rename(columns=lambda name: f"{name} of a very long name $x_1$ {name}")
    return {
        "plain": plain,
        "everything": all_of_it,
        "no answer": nothing,
        "one penalty": fitted(X, y, lambdas=[3.0]),
        "poisson": fitted(X, y, resampling="poisson"),
        "long names": fitted(long, y, threshold=0.95),
        "unimodal, full path": fitted(X, y, bound="unimodal", lambdas=12),
    }


CASES = (
    "plain",
    "everything",
    "no answer",
    "one penalty",
    "poisson",
    "long names",
    "unimodal, full path",
)
each_case = pytest.mark.parametrize("name", CASES)


def texts(ax):
    found = [text.get_text() for text in ax.texts]
    return [text.strip() for text in found]


# Names at the ends of lines -----------------------------------------------------------


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.01, 0.3))
def test_names_keep_their_distance_and_their_order(heights, gap):
    placed = spaced(heights, gap)
    room = min(gap, 1 / max(len(heights) - 1, 1))
    assert placed.min() >= -1e-12 and placed.max() <= 1 + 1e-12
    assert (np.diff(np.sort(placed)) >= room - 1e-9).all()
    order = np.argsort(heights, kind="stable")
    assert (np.diff(placed[order]) > 0).all() or len(heights) == 1


def test_names_stay_where_there_is_room():
    heights = np.array([0.9, 0.1, 0.5])
    np.testing.assert_allclose(spaced(heights, 0.05), heights)


def test_names_move_as_little_as_they_can():
    heights, gap = np.array([0.30, 0.33, 0.36, 0.7]), 0.06
    best = np.sum((spaced(heights, gap) - heights) ** 2)
    rng = np.random.default_rng(0)
    for _ in range(500):
        other = spaced(heights + rng.normal(0, 0.02, 4), gap)
        assert np.sum((other - heights) ** 2) >= best - 1e-12


@each_case
def test_names_in_the_picture_do_not_overlap(cases, name):
    est, leaders = cases[name], (3, 12)[list(cases).index(name) % 2]
    ax = est.plot_path(leaders=leaders)
    ax.figure.draw_without_rendering()
    known = {label(est.question_.columns, i) for i in range(len(est.support_))}
    named = [text for text in ax.texts if text.get_text() in known]
    boxes = [Text.get_window_extent(text) for text in named]  # without the stroke
    assert len(boxes) == (0 if name == "no answer" else leaders)
    boxes.sort(key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 1.5 for low, high in zip(boxes, boxes[1:]))
    right = ax.get_window_extent().x1
    inside = ax.figure.bbox
    assert all(right < box.x0 and box.x1 <= inside.x1 for box in boxes)
    plt.close(ax.figure)


# Pictures -----------------------------------------------------------------------------


def test_the_path_is_drawn_as_it_is(plain):
    ax = plain.plot_path(leaders=5)
    lines = {line.get_zorder(): [] for line in ax.lines}
    for line in ax.lines:
        lines[line.get_zorder()].append(line)
    order = np.argsort(-plain.probabilities_, kind="stable")[:5]
    assert len(lines[3]) == 5
    for line, i in zip(lines[3], order):
        np.testing.assert_array_equal(
            line.get_ydata(), plain.selection_probabilities_[i]
        )
        assert (line.get_linestyle() == "-") == plain.support_[i]
    assert len({line.get_color() for line in lines[3]}) == 5
    said = texts(ax)
    assert f"threshold {plain.threshold_:.3g}" in said and "reported" in said
    assert f"λ = {plain.lambda_:.3g}" in ax.get_xlabel()
    assert ax.get_title() == promised(plain.selection_)
    plt.close(ax.figure)


def test_the_scale_above_is_the_sum_of_probabilities(plain):
    with plt.rc_context():
        style()
        ax = plain.plot_path()
        ax.figure.draw_without_rendering()
    (top,) = ax.child_axes
    at = top.get_xticks() * plain.lambda_
    done = plain.converged_
    sizes = np.interp(
        np.log(at[::-1]),
        np.log(plain.lambdas_[done][::-1]),
        plain.expected_selected_[done][::-1],
    )[::-1]
    labels = [float(label.get_text()) for label in top.get_xticklabels()]
    assert len(labels) >= 3
    np.testing.assert_allclose(sizes, labels, rtol=0.01)
    above = top.get_tightbbox().y1  # the title stands above it
    assert ax.title.get_window_extent().y0 > above
    plt.close(ax.figure)


def test_bars_are_those_of_the_leaders_with_their_intervals(all_of_it):
    ax = all_of_it.plot_probabilities(leaders=7)
    shown = [label.get_text() for label in ax.get_yticklabels()]
    widths = [patch.get_width() for patch in ax.patches]
    assert len(widths) == 7 and widths == sorted(widths, reverse=True)
    assert "gene 29" not in shown  # the covariate is no candidate
    assert sum("(+1 alike)" in name for name in shown) == 1
    (bars,) = ax.containers[1:]
    low_high = np.array([path.vertices[:, 0] for path in bars[2][0].get_paths()])
    s = all_of_it.selection_  # gene 0 is within two s.e. of the threshold
    names = s.question.columns.names[np.flatnonzero(s.undecided)]
    assert {name for name in shown if "undecided" in name} == {
        f"{name}, undecided" for name in names
    }
    named = [name.removesuffix(", undecided") for name in shown]
    which = [named.index(name) for name in ("gene 0", "gene 1")]
    intervals = all_of_it.refined_.interval()[[0, 1]]
    np.testing.assert_allclose(low_high[which], intervals, atol=1e-12)
    plt.close(ax.figure)


@each_case
@pytest.mark.parametrize("draw", ["path", "probabilities"])
def test_every_case_has_its_pictures(cases, name, draw):
    draw = getattr(type(cases[name]), f"plot_{draw}")
    ax = draw(cases[name])
    titles = ax.get_title(), ax.get_title(loc="right")
    assert any(promised(cases[name].selection_) in title for title in titles)
    figure, mine = plt.subplots()
    assert draw(cases[name], ax=mine) is mine
    plt.close("all")


@each_case
def test_nothing_is_cut_off_the_bars(cases, name):
    with plt.rc_context():
        style()
        ax = cases[name].plot_probabilities(leaders=9)
        ax.figure.draw_without_rendering()
    inside = ax.figure.bbox
    parts = [ax.xaxis.label, ax.title, ax._right_title, *ax.get_yticklabels()]
    boxes = [part.get_window_extent() for part in parts if part.get_text()]
    assert all(inside.x0 <= box.x0 and box.x1 <= inside.x1 + 1 for box in boxes)
    plt.close(ax.figure)


# The paragraph ------------------------------------------------------------------------


def test_the_paragraph_has_every_number(plain):
    said = paragraph(plain)
    kept = int(plain.support_.sum())
    for part in (
        "90 rows and 30 columns, of which 30 could be selected",
        "linear regression",
        "Lasso",
        "half of the 90 rows, drawn without replacement",
        f"{plain.n_iter_} steps, tolerance 0.0001",
        f"λ = {plain.lambda_:.4g}",
        f"q = {plain.q_:.3g}",
        f"Π ≥ {plain.threshold_:.3g} selected {kept} features",
        f"false selections is at most {plain.pfer_bound_:.2g}, by the bound of",
        f"Π by rVAMP alone as {GRADES[plain.diagnostics_.reliability]} (",
        f"NumPy {np.__version__}",
        "arXiv:1905.09545",
    ):
        assert part in said, part
    for absent in ("Shah", "real refit", "Giles"):
        assert absent not in said
    assert "was never" not in said and "without a penalty" not in said


def test_the_paragraph_tells_of_what_was_set_aside_and_of_refits(all_of_it):
    said = paragraph(all_of_it)
    for part in (
        "logistic regression of class well against ill",
        "Kept in every model without a penalty were: gene 29.",
        "1 column was left out as constant",
        "1 column was left out as explained by the unpenalised ones",
        "1 column was taken as one with others",
        "an unpenalised intercept was refitted",
        "combined with 20 real refits",
        f"{all_of_it.refined_.equivalent_refits:,.0f} refits without rVAMP",
        "Giles MB (2015)",
        "factors from 1 to 2",
    ):
        assert part in said, part


def test_the_paragraph_tells_what_was_done_before_and_what_is_undecided(all_of_it):
    s = all_of_it.selection_
    said = methods_text(s, ["5 of 686 rows left out", "2 gaps filled"])
    before = "The table had been prepared: 5 of 686 rows left out; 2 gaps filled. The"
    assert before in said and "prepared" not in methods_text(s)
    some = np.flatnonzero(s.question.candidates[s.question.columns.where])[:2]
    near = np.isin(np.arange(30), some)
    said = methods_text(replace(s, undecided=near))
    names = ", ".join(s.question.columns.names[some])
    assert f"Within two standard errors of this threshold: {names}." in said
    assert "Within two" not in methods_text(replace(s, undecided=near & False))


def test_a_bound_that_says_next_to_nothing_is_named(plain):
    s = plain.selection_
    n = int(s.support.sum())
    told = lambda bound: " ".join(console(replace(s, pfer_bound=bound))).split()
    assert f"ask for fewer, with pfer {n / 10:.2g}" in " ".join(told(0.6 * n))
    assert "ask for fewer" not in " ".join(told(0.4 * n))
    assert headline(replace(s, pfer_bound=0.6 * n)).endswith(f", a high limit for {n}")
    assert "high limit" not in headline(replace(s, pfer_bound=0.4 * n))


def test_a_row_that_decides_is_in_the_verdict_with_refits_too(plain):
    both = with_refits(plain.selection_, n_resamples=50)
    why = "row 3 alone makes 83% of the variation over resamples"
    why_red = dict(reliability="red", reasons=[f"{why}: look at it"])
    poor = both.diagnostics._replace(**why_red)
    assert headline(replace(both, diagnostics=poor)) == f"{headline(both)}; {why}"


def test_other_choices_are_told(cases):
    assert "a Poisson number of times (mean 0.5)" in paragraph(cases["poisson"])
    assert "false selections is not bounded for" in paragraph(cases["poisson"])
    assert "Samworth RJ (2013)" in paragraph(cases["unimodal, full path"])
    nothing = paragraph(cases["no answer"])
    assert "No penalty gave an answer" in nothing
    assert "nothing was selected" in nothing and "nan" not in nothing
    X, y = table()
    groups = np.repeat(np.arange(30), 3)
    by_groups = paragraph(fitted(X, y, dict(groups=groups), **ONE))
    assert "half of the 30 groups, drawn without replacement" in by_groups
    assert "which assumes independent groups" in by_groups
    strata = np.repeat([0, 1, 2], 30)
    assert "in each of 3 strata" in paragraph(fitted(X, y, dict(strata=strata), **ONE))
    net = ElasticNet(1.0, l1_ratio=0.5)
    assert "share of L1 0.5" in paragraph(fitted(X, y, prior=net, **ONE))
    weight = np.linspace(0.5, 2, 90)
    robust = fitted(X, y, dict(sample_weight=weight), loss="huber", **ONE)
    assert "Huber's robust loss (quadratic up to" in paragraph(robust)
    assert "Rows were weighted" in paragraph(robust)
    target, known = np.rint(np.exp(y / 4)), dict(offset=weight)
    counts = fitted(X, target, known, loss="poisson", **ONE)
    assert "Each row had a known offset." in paragraph(counts)


def test_strata_and_late_entries_are_told_and_are_part_of_the_question():
    rng = np.random.default_rng(0)
    X, time, site = (
        rng.normal(size=(90, 6)),
        rng.exponential(size=90),
        np.arange(90) % 3,
    )
    start = time * rng.random(90) / 2
    y = np.column_stack([start, time, rng.random(90) < 0.7])
    est = fitted(X, y, dict(strata=site), loss="survival", **ONE)
    words = paragraph(est)
    assert "a stratified Cox model, one baseline in each of 3 strata, of" in words
    assert "in each of 3 strata by itself" in words
    assert "scaled to unit norm, and centred again in each stratum; the shape" in words
    assert "at risk from its entry on" in words
    digests = [fingerprint(est.question_)]
    for times, roles in (y * [[0.5, 1, 1]], dict(strata=site)), (y, {}):
        other = fitted(X, times, roles, loss="survival", **ONE)
        digests.append(fingerprint(other.question_))
    assert len({*digests}) == 3


def test_survival_times_are_told_and_are_part_of_the_question():
    X, signal = table(3)
    rng = np.random.default_rng(3)
    time, end = rng.exponential(np.exp(-signal / 2)), rng.exponential(2.0, size=90)
    y = np.empty(90, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = time <= end, np.minimum(time, end)
    est = fitted(X, y, loss="survival", **ONE)
    model = f"Cox's proportional-hazards model of {y['event'].sum()} events"
    assert model in paragraph(est)
    assert "baseline hazard was held fixed" in paragraph(est)
    alpha = est.lambda_scales_["scikit-survival alpha"]
    assert f"(scikit-survival alpha {alpha:.4g})" in paragraph(est)
    y["time"] = y["time"] ** 2
    other = fitted(X, y, loss="survival", **ONE)
    assert fingerprint(other.question_) != fingerprint(est.question_)


@each_case
def test_no_paragraph_speaks_python(cases, name):
    said = paragraph(cases[name])
    for word in ("None", "nan", "np.", "array(", "<", "  "):
        assert word not in said, word


# On a screen --------------------------------------------------------------------------


def test_refits_may_come_later_and_are_the_same(all_of_it):
    """As if they had been asked for at once."""
    X, y = table()
    for options in (dict(), dict(lambdas=[3.0])):
        at_once = fitted(X, y, n_resamples=20, **options).selection_
        later = with_refits(fitted(X, y, **options).selection_, n_resamples=20)
        for name in vars(at_once):
            if name not in ("question", "path", "fit", "diagnostics", "refined"):
                one, other = getattr(at_once, name), getattr(later, name)
                np.testing.assert_equal(one, other, name)
        for name, value in vars(at_once.refined).items():
            if name not in ("sparse_draws", "levels"):
                np.testing.assert_equal(value, getattr(later.refined, name), name)
        np.testing.assert_equal(at_once.refined.draws, later.refined.draws)
    with at_most(2):
        nothing = fitted(X, y).selection_
    assert with_refits(nothing, n_resamples=20) is nothing
    with pytest.raises(ValueError, match="n_resamples must be at least 10, got 3"):
        with_refits(later, n_resamples=3)


def test_the_bound_holds_for_the_largest_of_the_sums(plain, monkeypatch):
    some = refine_selection(
        plain.selection_, accuracy=None, n_resamples=50, verbose=False
    )
    all_of_them = lambda *_, **__: replace(some, Pi=np.ones(30))
    monkeypatch.setattr("rvamp_nb.select.selection.refine_selection", all_of_them)
    both = with_refits(plain.selection_, n_resamples=50)
    size = both.probabilities.sum()
    assert size > 1.01 * plain.probabilities_.sum()
    assert both.pfer_bound == pytest.approx(pfer_bound(size, both.threshold, 30))


def test_the_verdict_says_what_is_undecided(plain, monkeypatch):
    alone, both = plain.selection_, with_refits(plain.selection_, n_resamples=50)
    some = refine_selection(alone, accuracy=None, n_resamples=50, verbose=False)

    def known_to(se):
        less = lambda *_, **__: replace(some, Pi_se=se)
        monkeypatch.setattr("rvamp_nb.select.selection.refine_selection", less)
        return with_refits(alone, n_resamples=50)

    assert headline(alone) == promised(alone)
    kept = np.flatnonzero(both.support)
    sure = known_to(np.full(30, 1e-9))
    many = "all well" if len(kept) > 2 else "well"
    assert headline(sure) == promised(both, f", {many} above the threshold")
    se = np.full(30, 1e-9)
    # an interval of two standard errors, by a count law not the same to both sides
    se[7] = abs(both.probabilities[7] - both.threshold) / 1.8
    near = known_to(se)
    assert "; too close to the threshold to decide: gene 7" in headline(near)
    row = next(line for line in console(near, leaders=30) if line.startswith("gene 7 "))
    assert row.endswith(", undecided")
    assert ", undecided" in summary_table(near).status["gene 7"]
    ax = plot_probabilities(near, leaders=30)
    hatched = [k for k, bar in enumerate(ax.patches) if bar.get_hatch()]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert [names[k] for k in hatched] == ["gene 7, undecided"]
    assert sum("undecided" in name for name in names) == 1
    plt.close(ax.figure)
    se[7] /= 2
    assert "to decide" not in headline(known_to(se))
    red = alone.diagnostics._replace(reliability="red", reasons=["few rows"])
    said = headline(replace(alone, diagnostics=red))
    assert said == f"do not use this without refits: {promised(alone)}"
    assert "without refits" not in headline(replace(both, diagnostics=red))
    repeats = red._replace(repeated=[np.arange(2)])
    assert "if rows were independent" in headline(replace(both, diagnostics=repeats))
    missed = replace(sure, status="q not met: 1 selected")
    assert headline(missed) == f"not all that was asked for: {headline(sure)}"
    lost = replace(both, refined=replace(both.refined, n_failed=3))
    assert "until no coefficient changed its sign (3 more failed)." in methods_text(
        lost
    )
    assert "more failed" not in methods_text(both)


@each_case
def test_a_screen_has_88_columns_and_what_the_table_says(cases, name):
    s = cases[name].selection_
    lines = console(s, "a table", ["all of it"], ["beware " * 30], 5)
    assert max(map(len, lines)) <= 88 and lines[0] in headline(s)
    text = " ".join(" ".join(lines).split())
    assert "all of it" in text and "warning: beware beware" in text
    assert f"reliability: {GRADES[s.diagnostics.reliability]} (" in text
    alone = ", by rVAMP alone; the refits correct that, but no wrong row"
    assert (alone in text) == bool(s.refined is not None and s.diagnostics.reasons)
    assert "and 25 more features" in text and "selector.debiased_effects(), or" in text
    assert ("refits: none" in text) == (s.refined is None) != ("±" in text)
    if s.refined is not None:
        refits = (
            f"as accurate as {s.refined.equivalent_refits:,.0f} refits without rVAMP"
        )
        assert f"refits: {s.refined.n_resamples} refits" in text and refits in text
    assert text.startswith("no answer") == (name == "no answer")
    first = cases[name].summary().iloc[0]
    row = lines[lines.index("", 1) + 2]
    assert f"{first['Π']:.2f}" in row and f"{first['mean']:.4g}" in row
    assert ("glmnet" in text) == (name != "no answer")
    assert "... and 30 more features" in console(s, leaders=0)


def test_the_report_may_be_had_in_parts(plain):
    s = plain.selection_
    few = report_files(s, ["bars"], ["svg"])
    texts = set(FILES[:5])
    assert set(few) == {*texts, "bars.svg"}
    assert set(json.loads(few["settings.json"])["files"]) == set(few)
    assert few["table.csv"] == report_files(s, [])["table.csv"]


# Table and folder ---------------------------------------------------------------------


def test_the_table_has_intervals_where_there_are_any(plain, all_of_it):
    assert not {"probability_se", "probability_low"} & set(plain.summary(full=True))
    found = all_of_it.summary(full=True)
    by_name = found.loc[all_of_it.question_.columns.names]
    np.testing.assert_array_equal(
        by_name[["probability_low", "probability_high"]], all_of_it.refined_.interval()
    )
    np.testing.assert_array_equal(
        by_name[["coef_low", "coef_high"]], all_of_it.coef_interval_
    )
    np.testing.assert_array_equal(by_name["probability_se"], all_of_it.refined_.Pi_se)
    assert list(found)[:2] == ["probability", "probability_se"]
    assert (found.probability_low <= found.probability).all()
    assert found.attrs["n_resamples"] == 20
    assert found.attrs["equivalent_refits"] == all_of_it.refined_.equivalent_refits > 20
    assert plain.summary().attrs["equivalent_refits"] is None


def test_what_was_said_of_the_rows_stands_in_the_settings():
    X, y = table()
    rows = dict(groups=np.repeat(np.arange(30), 3), strata=np.repeat([0, 1], 45))
    found = fitted(X, y, rows, **ONE).summary().attrs
    assert (found["n_groups"], found["n_strata"]) == (30, 2)
    assert not found["weights"] and not found["offsets"]
    assert found["lambda_scales"]["glmnet lambda"] > 0


def test_a_report_is_whole_and_the_same_every_time(all_of_it, tmp_path):
    folder = tmp_path / "a" / "b"
    paths = all_of_it.report(folder)
    whole = [*FILES, *OF_EFFECTS]
    assert [path.name for path in paths] == whole
    assert sorted(path.name for path in folder.iterdir()) == sorted(whole)
    again = {file: (folder / file).read_bytes() for file in whole}
    before, figures = dict(plt.rcParams), plt.get_fignums()
    some = report_files(all_of_it.selection_, ["bars"])  # in all kinds of files
    listed = dict.fromkeys(("settings.json",))  # the files that are there
    assert {**again, **listed} == {**again, **some, **listed} and len(some) == 8
    assert dict(plt.rcParams) == before and plt.get_fignums() == figures
    for picture in ("path", "bars"):
        assert again[f"{picture}.pdf"][:5] == b"%PDF-"
        assert b"<svg" in again[f"{picture}.svg"]
        image = plt.imread(io.BytesIO(again[f"{picture}.png"]))
        assert image.std() > 0.01 and min(image.shape[:2]) > 900


@pytest.fixture
def no_pictures(monkeypatch):
    """They take a second each."""
    files = {name: b"" for name in FILES if name.split(".")[0] in report.PICTURES}
    monkeypatch.setattr(report, "picture_files", lambda *_: dict(files))


def test_a_promise_counts_what_was_selected_and_names_a_bound_that_holds(monkeypatch):
    X, y = table()
    factors = np.append(0.0, np.ones(X.shape[1] - 1))
    plain, kept = fitted(X, y), fitted(X, y, penalty_factor=factors)
    n, selected = int(plain.support_.sum()), int(kept.support_[1:].sum())
    assert n and selected and promised(plain.selection_).startswith(f"{n} feature")
    assert promised(kept.selection_).startswith(f"{selected} feature")
    unbound = replace(plain.selection_, pfer_bound=np.nan)
    assert promised(unbound).endswith("no bound on false selections holds here")
    assert promised(plain.selection_).endswith("false selections ≤ 1 (default: 1)")
    with monkeypatch.context() as patch:
        patch.setattr(wording.error_control, "DEFAULT_PFER", 2.5)
        assert promised(plain.selection_).endswith("(default: 2.5)")
    asked = plain.selection_.asked
    by_q = replace(plain.selection_, asked=asked | dict(q=3.0))
    assert "asked for" not in promised(by_q)
    strict = replace(plain.selection_, asked=asked | dict(pfer=0.25))
    assert promised(strict).endswith("(asked for 0.25)")


def test_a_threshold_that_is_not_the_usual_one_is_explained(plain):
    s = plain.selection_
    why = lambda s: dict(facts(s))["threshold"]
    assert why(s) == "selected if Π ≥ 0.75"
    assert "lowered from 0.75: with few rows" in why(replace(s, threshold=0.6))
    assert "raised from 0.75 to keep the limit" in why(replace(s, threshold=0.8))
    given = replace(s, threshold=0.6, asked=s.asked | dict(threshold=0.6))
    assert why(given) == "selected if Π ≥ 0.6"
    assert "raised from 0.6" in why(replace(given, threshold=0.7))


@each_case
def test_settings_and_tables_of_every_case(cases, name, no_pictures):
    est, files = cases[name], report_files(cases[name].selection_)
    settings = json.loads(files["settings.json"])
    assert set(files) == set(FILES) == set(settings["files"])
    assert settings["question"] == fingerprint(est.question_)
    among = est.selection_.question.columns.kind != "covariate"
    assert settings["n_selected"] == int(est.support_[among].sum())
    assert settings["versions"]["numpy"] == np.__version__
    assert settings["arguments"]["threshold"] == est.threshold
    whole = pd.read_csv(io.BytesIO(files["table.csv"]))
    assert len(whole) == len(est.support_)
    parts = [
        pd.read_csv(io.BytesIO(files[f"{n}.csv"])) for n in ("selected", "covariates")
    ]
    assert len(parts[1]) == settings["n_covariates"]
    chosen = pd.concat(parts)
    assert len(chosen) == est.support_.sum()


def test_a_folder_that_is_no_path_is_refused_by_name(plain):
    for folder in (None, 3, ["page"]):
        with pytest.raises(TypeError, match="report: folder must be the path of a"):
            plain.report(folder)


def test_the_same_question_may_be_answered_again_and_no_other(
    plain, tmp_path, no_pictures, monkeypatch
):
    monkeypatch.setattr(report, "reported_effects", lambda _: None)
    plain.report(tmp_path)
    write_files(tmp_path, {"notes.txt": b"mine"})
    X, y = table()
    other = fitted(X, y, threshold=0.9)
    other.report(tmp_path)
    assert json.loads((tmp_path / "settings.json").read_bytes())["threshold"] == 0.9
    assert (tmp_path / "notes.txt").read_bytes() == b"mine"
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    others = (X, -y), (X.add_prefix("a "), y), (X**3, y)
    for theirs in (fitted(*data, **ONE) for data in others):
        assert fingerprint(theirs.question_) != fingerprint(plain.question_)
        with pytest.raises(FileExistsError, match="the report of another question"):
            theirs.report(tmp_path)
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_files_that_are_no_report_are_not_replaced(plain, tmp_path):
    (tmp_path / "table.csv").write_text("mine")
    with pytest.raises(FileExistsError, match="holds table.csv, which is part of no"):
        plain.report(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_no_report_goes_to_a_folder_without_a_name(plain, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="folder is '': name a folder, such as"):
        plain.report("")
    assert not list(tmp_path.iterdir())


def test_names_are_no_markup_in_the_paragraph(plain, no_pictures, tmp_path):
    done = ["The columns <img src=x onerror=alert(1)>, </p> and a < b were dropped"]
    assert done[0] in methods_text(plain.selection_, done)
    report.write_report(plain.selection_, tmp_path / "report", done)
    text = (tmp_path / "report" / "methods.md").read_text(encoding="utf-8")
    assert "&lt;img src=x onerror=alert(1)>, &lt;/p> and a < b were" in text
    assert not re.search("<[a-zA-Z/!?]", text)


def test_a_full_disk_leaves_nothing_behind(plain, tmp_path, monkeypatch, no_pictures):
    def full(number):
        raise OSError(28, "No space left on device")

    write_files(tmp_path, {"a.txt": b"old", "b.txt": b"old"})
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_files(tmp_path, {"a.txt": b"new", "b.txt": b"new"})
    with pytest.raises(OSError, match="No space.*with room on its disk.*report"):
        plain.report(tmp_path / "report")
    (tmp_path / "report").rmdir()
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert kept == {"a.txt": b"old", "b.txt": b"old"}


@pytest.mark.parametrize(
    "loss, options, roles, there",
    [
        ("squared", {}, {}, True),
        ("logistic", {}, {}, True),
        ("huber", {}, {}, False),
        ("poisson", {}, {}, True),
        ("survival", {}, {}, True),
        ("softmax", {}, {}, True),
        ("squared", dict(column_groups={"g": [0, 1]}), {}, True),
        ("squared", {}, dict(groups=np.repeat(range(45), 2)), True),
        ("logistic", {}, dict(n_trials=np.full(90, 3)), True),
    ],
)
def test_the_legend_points_to_effects_where_they_can_be_had(
    loss, options, roles, there
):
    X, y = table(N=8)
    target = {
        "logistic": np.where(y > 0, 1, 0),
        "poisson": np.where(y > 0, 2, 0) + np.arange(90) % 3,
        "survival": np.column_stack([np.arange(90) % 3 > 0, np.exp(y / np.ptp(y))]),
        "softmax": np.where(y > 1, "a", np.where(y < -1, "b", "c")),
    }.get(loss, y)
    s = StabilitySelection(n_resamples=0, verbose=0, loss=loss, lambdas=[3.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = s.set_params(**options).fit(X, target, **roles).selection_
    text = " ".join(" ".join(console(found, "t", [], [], 5)).split())
    assert "no effect sizes" in text
    assert ("selector.debiased_effects()" in text) == there


# Effects ------------------------------------------------------------------------------
def test_a_report_has_the_effects_of_what_is_selected(plain, tmp_path, no_pictures):
    names = [path.name for path in plain.report(tmp_path)]
    assert names == [*FILES, *OF_EFFECTS]
    assert json.loads((tmp_path / "settings.json").read_bytes())["files"] == names
    found = plain.debiased_effects()
    written = pd.read_csv(tmp_path / "effects.csv", index_col="feature")
    assert [*written.index] == [*plain.get_feature_names_out()]
    np.testing.assert_allclose(written.estimate, found.estimate, rtol=1e-5)
    text = (tmp_path / "effects.md").read_text()
    held = np.sum(found.status == "interval")
    assert f"{held} of them have an interval of 95 %" in text
    assert "a tenth hold, not .95" in text and "the change of the target" in text
    assert (tmp_path / "effects.pdf").read_bytes()[:5] == b"%PDF-"
    image = plt.imread(tmp_path / "effects.png")
    assert image.std() > 0.01 and image.shape[1] == 1800
    again = report.effects_files(plain.selection_, found)
    for name in OF_EFFECTS:
        assert again[name] == (tmp_path / name).read_bytes()


def test_a_report_says_why_there_are_no_effects(plain, tmp_path, no_pictures):
    X, y = table()
    huber = fitted(X, y, loss="huber")
    names = [path.name for path in huber.report(tmp_path)]
    assert names == [*FILES, "effects.md"]
    text = (tmp_path / "effects.md").read_text()
    assert "None: no effects are known with huber: give loss='squared'" in text
    nothing = replace(plain.selection_, support=0 * plain.support_ > 1)
    assert report.reported_effects(nothing) == "nothing is selected"
    with at_most(1):
        empty = fitted(X, y)
    assert report.reported_effects(empty.selection_).startswith("nothing converged")


def test_effects_of_classes_are_ratios_in_the_report():
    X, y = table()
    both = fitted(X, np.where(y > np.median(y), "ill", "well"))
    with pytest.warns(ReliabilityWarning, match="no column has an interval"):
        found = both.debiased_effects(range(3))
    found = found._replace(reasons=["", "constant", ""])
    text = wording.effects_text(both.selection_, found)
    assert "the change of the log odds of well per unit of its column" in text
    assert "and its exponential the odds ratio" in text
    assert f"Without an interval: {found.names[1]}: constant." in text
