"""The answer in a notebook: names are text, words stand beside colours, nothing is
printed that is no number; what is not fitted shows scikit-learn's diagram.
"""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from designs import at_most
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from rvamp_nb import (
    Laplace,
    NoResampling,
    Ridge,
    StabilitySelection,
    debiased_effects,
    naive_bootstrap,
    p1,
    p2,
    predict_study,
    refine,
    rvamp,
    rvamp_path,
)
from rvamp_nb.datasets import load_diabetes
from rvamp_nb.inference.baseline import BaselineHazard
from rvamp_nb.inference.effects import Effects
from rvamp_nb.sketch import (
    BADGES,
    GRADES,
    badge,
    graded,
    plain_text,
    rounded,
    rows_of_html,
)

pytestmark = pytest.mark.filterwarnings("ignore")  # of these tables, not of the page
NASTY = "<script>alert('1')</script> & \"$x$\""
EMPTY = "br", "meta", "path"  # elements that have no end
NO_NUMBER = re.compile(r"\b(?:nan|inf|none)\b", re.IGNORECASE)


class Reader(HTMLParser):
    """The elements of a page, which must be closed in order, and its text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.seen, self.text = [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        self.open += [tag] * (tag not in EMPTY)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def table(names=None, outlier=0.0):
    """A table of 120 rows with four true features, and its target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 40))
    y = X[:, :4] @ [1.0, 1.0, 0.6, 0.5] + rng.normal(size=120)
    y[17] += outlier * y.std()
    X = pd.DataFrame(X).add_prefix("gene ")
    return X.rename(columns=names or {}), y


def fitted(names=None, outlier=0.0, **options):
    options = dict(verbose=0) | options
    return StabilitySelection(**options).fit(*table(names, outlier))


def shown(s):
    """What a notebook shows of an estimator."""
    return s._repr_mimebundle_()["text/html"]


@pytest.fixture(scope="module")
def answers():
    """Answers of many kinds."""
    with at_most(1):
        nothing = fitted(n_resamples=0, lambdas=4)
    return {
        "usual": fitted({"gene 0": NASTY}),
        "red": fitted(outlier=8),
        "without refits": fitted(n_resamples=0),
        "covariate": fitted(penalty_factor={"gene 7": 0}),
        "no bound": fitted(resampling="poisson", q=3),
        "one penalty": fitted(lambdas=[0.9]),
        "nothing": nothing,
    }


def words_of(page):
    """{name: the word beside its bar}."""
    rows = re.findall(r"<tr><th[^>]*>(.*?)</th><td[^>]*><svg.*?</tr>", page)
    words = re.findall(r"<svg.*?</svg>.*?<span[^>]*>(.*?)</span>", page)
    return dict(zip(rows, words, strict=True))


def test_a_page_is_whole_and_has_no_script_and_no_style_sheet(answers):
    for s in answers.values():
        found = Reader(shown(s))
        assert {tag for tag, _ in found.seen}.isdisjoint({"script", "style", "link"})
        assert shown(s) == s._repr_html_()
        assert found.seen[0][0] == "div"


def test_a_name_is_text(answers):
    page = shown(answers["usual"])
    found = Reader(page)
    assert "&lt;script&gt;" in page and "$x$" not in page
    assert "alert('1')</script> & \"$x$\"" in "".join(found.text)
    assert plain_text("<b>&\"'$") == "&lt;b&gt;&amp;&quot;&#x27;<span>$</span>"


def test_parameters_are_text_and_folded():
    s = fitted(column_groups={"<i>a": ["gene 5", "gene 6"]}, n_resamples=0)
    page = shown(s)
    folded = page[page.index("<details>") :]
    assert "&lt;i&gt;a" in folded and "<i>" not in page


def test_parameters_that_were_changed_are_bold_and_the_others_are_the_defaults():
    s = fitted(n_resamples=0, bound="unimodal")
    page, defaults = shown(s), StabilitySelection().get_params()
    folded = page[page.index("<details>") :]
    rows = re.findall(r"<tr><th[^>]*>(.*?)</th><td[^>]*>(.*?)</td></tr>", folded)
    bold = {name[8:-9]: text for name, text in rows if name.startswith("<strong>")}
    changed = dict(n_resamples="0", bound="&#x27;unimodal&#x27;", verbose="0")
    assert bold == {name: f"<code>{text}</code>" for name, text in changed.items()}
    rest = {re.sub("<.*?>", "", name): text for name, text in rows} | bold
    given = {name for name, value in defaults.items() if value is not None}
    assert set(rest) == given | set(bold)
    assert all(rest[name].endswith(" (default)") for name in given - set(bold))


@pytest.mark.parametrize("which", ["usual", "red", "without refits", "covariate"])
def test_the_words_are_those_of_the_answer(answers, which):
    s = answers[which]
    words, names = words_of(shown(s)), s.question_.columns.names
    assert len(words) == 10
    leading = np.argsort(-np.where(s.question_.candidates, s.probabilities_, -1))
    for i, word in zip(leading, words.values()):
        low = s.support_[i] and s.probabilities_[i] < s.threshold_
        expected = "selected" if s.support_[i] else "not selected"
        expected += ", below the threshold" if low else ""
        if s.undecided_ is not None and s.undecided_[i]:
            expected += ", undecided"
        assert word == expected, names[i]


def test_what_is_undecided_is_marked_by_a_word_and_a_colour(answers):
    s = fitted(threshold=0.8, q=3)
    middle = float(np.sort(s.probabilities_[s.probabilities_ < 0.95])[-1])
    s = fitted(threshold=max(middle, 0.51), q=3)
    assert s.undecided_.any()
    page = shown(s)
    name = s.question_.columns.names[np.flatnonzero(s.undecided_)[0]]
    assert words_of(page)[name].endswith(", undecided")
    row = page[page.index(f">{name}</th>") :].split("</tr>")[0]
    ground = BADGES["amber"][0]
    assert f'fill="{ground}"' in row and f"background:{ground}" in row
    assert name in page[: page.index("<table>")]  # the headline names it
    assert s.summary().selected[name] in ("yes, undecided", "no, undecided")


def test_reliability_has_a_word_and_a_colour(answers):
    assert GRADES == {"green": "good", "amber": "doubtful", "red": "poor"}
    for s in answers.values():
        page, diagnostics = shown(s), s.diagnostics_
        for name, light in (
            ("Π", diagnostics.reliability),
            ("sd", diagnostics.spread_reliability),
        ):
            row = page[page.index(f">reliability of {name}</th>") :].split("</tr>")[0]
            assert f">{GRADES[light]}</span>" in row
            assert f"background:{BADGES[light][0]}" in row
    assert "row 17 alone" in shown(answers["red"])
    assert "a &lt; b" in graded("red", "a < b")


def contrast(one, two):
    """Of two colours, as WCAG counts it."""

    def luminance(colour):
        colour = {"white": "#ffffff"}.get(colour, colour)
        c = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
        c = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
        return c @ [0.2126, 0.7152, 0.0722] + 0.05

    ratio = luminance(one) / luminance(two)
    return max(ratio, 1 / ratio)


def test_words_can_be_read_on_bright_and_dark_pages(answers):
    """A badge brings its ground; all else has the colour of the page."""
    for name, (ground, letters) in BADGES.items():
        if name != "plain":
            assert contrast(ground, letters) >= 4.5, name
    assert BADGES["plain"] == ("transparent", "inherit")
    grounds = dict(BADGES.values())
    for _, attrs in Reader(shown(answers["usual"])).seen:
        style = dict(
            part.split(":") for part in attrs.get("style", "").split(";") if part
        )
        letters = style.get("color", "inherit")
        assert letters == grounds.get(style.get("background"), "inherit")
    assert "inherit" in badge("x", "plain")


def test_nothing_is_printed_that_is_no_number(answers):
    for name, s in answers.items():
        page = shown(s).partition("<details>")[0]  # parameters may be None
        text = " ".join(Reader(page + "</div>").text).replace("refits none:", "")
        for found in NO_NUMBER.finditer(text):
            assert found[0] == "none", (name, found)  # in words
        for _, attrs in Reader(page + "</div>").seen:
            assert not NO_NUMBER.search(attrs.get("d", "")), name


def test_facts_are_those_of_the_answer(answers):
    s = answers["usual"]
    page = shown(s)
    assert f"selected if Π ≥ {s.threshold_:.3g}" in page
    assert f"λ = {s.lambda_:.5g} (" in page and "a resample selects" in page
    assert f"expected false selections ≤ {s.pfer_bound_:.2g} (default: 1)<" in page
    assert (
        f"as accurate as {s.refined_.equivalent_refits:,.0f} refits without rVAMP"
        in page
    )
    assert "selector.plot_density(" in page and "selector.summary()" in page
    assert "no bound on false selections holds here" in shown(answers["no bound"])
    assert "(aimed at: q = 3)" in shown(answers["no bound"])
    assert ">gene 7</td>" in shown(answers["covariate"])
    assert "<svg" not in shown(answers["nothing"])
    assert "no answer" in shown(answers["nothing"])


def test_bars_are_as_long_as_Pi_with_the_ends_of_a_standard_error(answers):
    s = answers["usual"]
    page, i = shown(s), int(np.argsort(-s.probabilities_)[4])
    name = s.question_.columns.names[i]
    row = page[page.index(f">{name}</th>") :].split("</tr>")[0]
    Pi, error = s.probabilities_[i], s.refined_.Pi_se[i]
    ends = [f"{1 + 158 * p:.1f}" for p in (Pi - error, Pi, Pi + error, s.threshold_)]
    assert f"M{ends[0]},1V14" in row and f"M{ends[2]},1V14" in row
    assert f"M1,3.5H{ends[1]}V11.5H1Z" in row and f"M{ends[3]},0V15" in row
    assert f"{Pi:.3f} ± {error:.3f}" in row


def test_what_is_not_fitted_shows_scikit_learns_diagram(answers):
    plain = StabilitySelection(q=3)
    assert "sk-top-container" in shown(plain) and "<svg" not in shown(plain)
    again = clone(answers["usual"])
    assert "sk-top-container" in shown(again)
    s = fitted(n_resamples=0)
    with pytest.raises(ValueError):
        s.set_params(q=-1).fit(*table())
    assert "sk-top-container" in shown(s)  # refused: nothing of the earlier fit
    assert "sk-top-container" in shown(make_pipeline(answers["usual"]))


def test_scikit_learns_display_as_text_is_respected(answers):
    with config_context(display="text"):
        assert set(answers["usual"]._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(answers["usual"], "_repr_html_")


def test_numbers_are_rounded_to_the_second_digit_of_their_spread():
    values = np.array([431.27, -0.012345, 1234567.0, 3.14159, np.nan, 2.0, 1.0])
    spread = np.array([68.9, 0.00321, 8901.0, 0.0, 1.0, np.nan, np.inf])
    expected = [431, -0.0123, 1234600, 3.14159, np.nan, 2.0, 1.0]
    np.testing.assert_array_equal(rounded(values, spread), expected)


def test_the_table_to_be_read(answers):
    s, alone = answers["usual"], answers["without refits"]
    assert list(s.summary()) == ["Π", "±", "selected", "enters at pfer", "mean", "sd"]
    assert list(alone.summary()) == ["Π", "selected", "enters at pfer", "mean", "sd"]
    short, full = s.summary(), s.summary(full=True)
    assert list(short.index) == list(full.index) and short.attrs == full.attrs
    np.testing.assert_array_equal(short["Π"], full.probability.round(3))
    np.testing.assert_array_equal(short["±"], full.probability_se.round(3))
    np.testing.assert_allclose(
        short["mean"], full.coef_mean, atol=0.05 * full.coef_std.max()
    )
    assert (short.selected.str.startswith("yes") == full.selected).all()
    assert (answers["nothing"].summary().selected == "no answer").all()
    assert answers["covariate"].summary().selected["gene 7"] == "covariate, always in"
    assert "family" in s.summary({"two": ["gene 1", "gene 2"]})


def test_numbers_stand_to_the_right_and_words_to_the_left(answers):
    page = shown(answers["usual"])
    table = page[page.index(">selection probability<") :].partition("</table>")[0]
    head, *rows = re.findall("<tr>.*?</tr>", "<tr>" + table)
    for row in rows:
        sides = re.findall("<td style=.text-align:(left|right)", row)
        assert sides == ["left", "right", "left", "right", "right"]
    assert re.findall("text-align:(left|right)[^>]*>(mean|sd)<", page) == [
        ("right", "mean"),
        ("right", "sd"),
    ]
    sides = lambda *parts: re.findall("<td style=.text-align:(l|r)", parts[0])
    words = "x", "1.5e-3", "–", "-0.1 ± 0.2", "7 rows", "e", ""
    assert sides(rows_of_html([words])) == ["r", "r", "r", "l", "l", "l"]


@pytest.fixture(scope="module")
def results():
    """{name: (a result, the word of its badge and its colour)}."""
    d, lasso = load_diabetes(), Laplace(20.0)
    A, y, one = d.A[:, :10], d.y, NoResampling()
    fit = rvamp(A, y, lam=60.0)
    short = rvamp(A, y, lam=60.0, max_iter=1)
    stopped = dict(verbose=False, max_iter=3)
    plan = predict_study(200, n_features=500, n_effects=10, size=0.5)
    path = rvamp_path(A, y, n_lambdas=8, verbose=False)
    both = refine(fit, accuracy=0.05, verbose=False)
    interrupted = replace(both, interrupted=True)
    whole = debiased_effects(rvamp(A, y, prior=lasso, resampling=one))
    few = np.arange(10) < 4
    some = Effects(*(np.where(few, v, np.nan) for v in whole[:5]), whole.status)
    some = some._replace(status=np.where(few, "interval", "none"))
    none = some._replace(status=np.full(10, "none"))
    left = np.exp(-y / 100)
    times = dict(strata=np.arange(442) % 2)
    baseline = BaselineHazard(left, np.arange(442) % 3 > 0, **times)
    refits = naive_bootstrap(A, y, 60.0, n_resamples=40)
    return {
        "baseline": (baseline, "held fixed", "plain"),
        "plain refits": (refits, "complete", "green"),
        "fit": (fit, "converged", "green"),
        "no answer": (short, "not converged", "red"),
        "without Π": (rvamp(A, y, prior=Ridge(1.0)), "converged", "green"),
        "path": (path, "all converged", "green"),
        "no path": (rvamp_path(A, y, **stopped), "not all converged", "amber"),
        "refits": (both, "complete", "green"),
        "interrupted": (interrupted, "interrupted", "amber"),
        "effects": (whole, "100% have intervals", "green"),
        "no effects": (none, "0% have intervals", "red"),
        "some effects": (some, "40% have intervals", "amber"),
        "plan": (plan, "converged", "green"),
        "no plan": (plan._replace(converged=False), "no answer", "red"),
    }


NAMES = "fit", "no answer", "without Π", "path", "no path", "refits", "interrupted"
NAMES += (
    "baseline",
    "plain refits",
    "effects",
    "no effects",
    "some effects",
    "plan",
    "no plan",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_result_is_a_line_and_a_page(results, name):
    result, word, colour = results[name]
    page, line = result._repr_html_(), repr(result)
    text = "".join(Reader(page).text)
    assert "\n" not in line and "array(" not in line
    headline = line[line.index("(") + 1 : -1]
    assert text.startswith(f"{headline} {word}") and badge(word, colour) in page
    assert not NO_NUMBER.search(text.removeprefix(headline))
    assert page.count("<tr>") <= 9 and "<script" not in page


def test_results_of_refits_and_hazards_have_a_table(results):
    for name, columns in {
        "refits": ["mean", "sd", "Pi", "mean_se", "Pi_se"],
        "plain refits": ["mean", "sd", "Pi", "mean_se", "Pi_se"],
        "baseline": ["events", "hazard"],
    }.items():
        result = results[name][0]
        table = result.summary()
        assert [*table.columns] == columns, name
        if name != "baseline":
            assert len(table) == 10
            np.testing.assert_array_equal(table["Pi"], result.Pi)
    baseline = results["baseline"][0]
    by_hand = baseline.summary()
    assert by_hand["events"].sum() == baseline.event.sum()
    assert by_hand.index.names == ["stratum", "time"]
    first = (baseline.strata == 1) & (baseline.time == by_hand.loc[1].index[0])
    assert by_hand.loc[1]["hazard"].iloc[0] == baseline.hazard[first].mean()


def test_a_page_has_the_numbers_to_the_digits_that_are_known(results):
    fit, effects = results["fit"][0], results["effects"][0]
    sd = np.sqrt(fit.var[2])
    cells = re.findall(">([^<>]+)</td>", fit._repr_html_())
    assert [float(fit.Pi[2].round(3)), *rounded(np.array([fit.mean[2], sd]), sd)] == [
        float(cell) for cell in cells[5:8]
    ]
    assert "and 4 more" in fit._repr_html_()
    cells = re.findall(">([^<>]+)</td>", effects._repr_html_())
    first = np.argmin(effects.p_value)
    assert float(cells[5]) == rounded(effects.estimate[first], effects.se[first])
    assert float(cells[9]) == float(f"{effects.p_value[first]:.2g}")


def test_names_of_densities_are_text(answers):
    for density in (p1(answers["usual"]), p2(answers["usual"])):
        page = density._repr_html_()
        found = Reader(page)
        assert "<script" not in page and "$x$" not in page
        assert any("$x$" in name.get("aria-label", "") for _, name in found.seen)


def test_diagnostics_and_an_answer_are_a_line_and_a_small_table(answers):
    for name, s in answers.items():
        for part in (s.diagnostics_, s.selection_):
            line = repr(part)
            assert "\n" not in line and "array(" not in line and "nan" not in line, name
        page = s.diagnostics_._repr_html_()
        assert page.count("<tr>") == 2 and Reader(page)
        assert GRADES[s.diagnostics_.reliability] in repr(s.diagnostics_)
    diagnostics = answers["red"].diagnostics_
    assert (
        repr(diagnostics)
        == f"{type(diagnostics).__name__}(reliability of Π poor, of sd poor)"
    )
    many = f"{answers['usual'].support_.sum()} of 40 features selected"
    assert repr(answers["usual"].selection_) == f"Selection(converged; {many})"
