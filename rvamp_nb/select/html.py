"""The HTML of a fitted selector, shown where a notebook's cell ends.

The headline of the report comes first, then the facts, the ten features with the
largest Π, and the parameters, folded. Names of columns come from outside and are shown
as text; a word stands beside each color; there are no scripts and no style sheets, so
that a notebook that is not trusted shows all words and numbers. A number has the digits
that are known (`sketch`), and one that is not finite is a dash. A selector that is not
fitted shows scikit-learn's diagram.

>>> from rvamp_nb import StabilitySelection, datasets
>>> d = datasets.load_diabetes()
>>> selector = StabilitySelection(n_resamples=0, verbose=0).fit(d.A, d.y)
>>> page = selector._repr_html_()  # answer_html of its selection and parameters
>>> page.count("<svg"), "nan" in page
(10, False)
"""

import numpy as np

from ..plot_style import COLOURS
from ..sketch import BADGES, badge, plain_text, rounded, rows_of_html
from .plots import label
from .readers import printable
from .report import decisions, headline
from .wording import facts, leaders_of

__all__ = ["LEADERS", "answer_html"]


LEADERS = 10  # features that are shown
# in 17 kB for the breast cancer data; half: 12, twice: 28 kB
_COLOURS = {"selected": "blue", "not selected": "plain"}  # of words; else amber


def _bar(Pi, error, threshold, colour):
    """Draw Π ± error as a bar, as SVG, with a broken line at the threshold."""

    def x(p):
        return f"{1 + 158 * min(max(p, 0), 1):.1f}"

    low = x(Pi - error)
    high = x(Pi + error)
    line = 'fill="none" stroke="currentColor"'
    axis = f'<path d="M1,7.5H159" {line} opacity=".3"/>'
    bar = f'<path d="M1,3.5H{x(Pi)}V11.5H1Z" fill="{colour}" stroke="currentColor"/>'
    broken = f'<path d="M{x(threshold)},0V15" {line} stroke-dasharray="2 2"/>'
    ends = f'<path d="M{low},1V14M{low},7.5H{high}M{high},1V14" {line}/>'
    picture = f'<svg role="img" aria-label="Π {Pi:.2f}" width="160" height="15">'
    return f"{picture}{axis}{bar}{broken}{ends}</svg>"


def _probability_cells(selection, i, word):
    """Show the probability of a column in three cells: bar, Π and decision."""
    Pi = selection.probabilities[i]
    error = 0.0
    value = f"{Pi:.2f}"
    if selection.refined is not None:
        error = selection.refined.Pi_se[i]
        value = f"{Pi:.3f} ± {error:.3f}"
    colour = _COLOURS.get(word, "amber")
    fill, _ = BADGES[colour]
    if colour == "plain":  # a badge has no ground then
        fill = COLOURS["p2"]
    return [_bar(Pi, error, selection.threshold, fill), value, badge(word, colour)]


def _feature_rows(selection, columns):
    """Yield a row of HTML cells for each of some columns of the table, numbers (n,):
    name, bar of Π, Π, decision, and coefficients.

    These are the mean and the standard deviation over resamples; with several classes
    they are a mean for each, without deviations. Numbers have the digits that their
    standard deviation allows, itself has two.
    """
    decision = decisions(selection, no="not selected")  # of each column, in a word
    numbers = rounded(selection.coef_mean, selection.coef_std)
    if numbers.ndim == 1:  # (N,), no classes; else (N, K)
        deviations = rounded(selection.coef_std, selection.coef_std)
        numbers = np.stack([numbers, deviations], axis=1)
    for i in columns:
        name = label(selection.question.columns, i, 40)
        # matplotlib reads $ as mathematics, so `label` writes \$; HTML does not
        name = name.replace(r"\$", "$")
        row = [plain_text(printable(name))]
        row += _probability_cells(selection, i, decision[i])
        row += [f"{number:g}" for number in numbers[i]]
        yield row


def _parameter_rows(given, defaults):
    """Show arguments as rows of HTML: those that were changed, in bold, and the
    defaults but None, which stands for what the facts have.
    """
    for name, value in given.items():
        text = f"<code>{plain_text(printable(repr(value)))}</code>"
        if repr(value) != repr(defaults[name]):
            yield f"<strong>{name}</strong>", text
        elif value is not None:
            yield f'<span style="font-weight:normal">{name}</span>', f"{text} (default)"


def _leaders_html(selection, leaders):
    """Show the leading columns, numbers (n,), as an HTML table with a sentence below
    that explains its last columns; return the two texts.
    """
    question = selection.question
    heads = ["feature", "selection probability", "Π", ""]  # "": the decision
    if question.columns.K > 1:
        for label_of_class in question.target.classes:
            heads.append(plain_text(printable(label_of_class, 24)))
        meaning = "the last columns are mean coefficients for each class,"
    else:
        heads += ["mean", "sd"]
        meaning = "mean and sd are"
    table = rows_of_html(_feature_rows(selection, leaders), heads)
    names = question.columns.names
    name = plain_text(repr(printable(names[leaders[0]])))
    explanation = (
        f"<code>selector.plot_density({name})</code> draws a coefficient;"
        f" <code>selector.summary()</code> has all {len(names):,};"
        f" {meaning} over resamples, and shrunken."
    )
    return table, explanation


def answer_html(selection, given, defaults):
    """Show a `Selection` as HTML: headline, facts, diagnostics, the leading features,
    and, folded, the parameters.

    `given` are the estimator's arguments, {name: value}, and `defaults` their defaults.
    """
    # where refits have the last word, the diagnostics are about rVAMP's part only
    source = ""
    if selection.refined is not None:
        source = "by rVAMP alone: "
    rows = [(label, plain_text(text)) for label, text in facts(selection)]
    rows += selection.diagnostics.html_rows(source)
    blocks = [f"<strong>{plain_text(headline(selection))}</strong>", rows_of_html(rows)]
    leaders = leaders_of(selection, LEADERS)
    if len(leaders):
        blocks += _leaders_html(selection, leaders)  # a table and a sentence
    parameters = rows_of_html(_parameter_rows(given, defaults))
    folded = f"<details><summary>parameters</summary>{parameters}</details>"
    return f"<div>{'<br>'.join(blocks)}{folded}</div>"
