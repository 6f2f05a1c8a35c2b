"""Tables, console lines and a folder of files that report a fitted selector.

All are made from a `Selection`, the value that a fit ends in; the sentences are those
of `wording`, the pictures those of `plots`.

============================================  ==========================================
`summary_table`, `short_table`, `path_table`  data frames; the `attrs` of the first two
                                              hold all that decided the answer
`headline`, `console`                         the result in one line; the lines that the
                                              command prints
`report_files`, `write_report`                methods, settings, tables and pictures as
                                              bytes; in a folder, whole or not at all
============================================  ==========================================

One line on a screen must be the right one: what is selected, what is promised, and
whether it is settled. A probability within two standard errors of the threshold is not;
more refits would settle it. Without refits there are no standard errors, and a red
grade says that refits are needed.

Three things can go wrong when files are written. A full disk must not leave new numbers
beside old pictures: every file is made in memory, written beside its place under
another name, and moved when all are there. A folder that holds the report of another
table is not overwritten: a fingerprint of names, table and target in `settings.json`
identifies the question; other settings of the same question may replace each other. And
pictures carry dates and random identifiers unless these are switched off: without them
two runs give the same files, and version control shows what changed.

>>> from rvamp_nb import StabilitySelection, datasets
>>> from rvamp_nb.select.report import console, headline
>>> data = datasets.gaussian_design(60, 30, density=0.1, noise=0.1, seed=1)
>>> s = StabilitySelection(n_resamples=0, verbose=0).fit(data.A, data.y).selection_
>>> headline(s)
'2 features selected; expected false selections ≤ 1 (default: 1)'
>>> for line in console(s, "simulated", leaders=3):
...     if line.startswith(("feature ", "x")):
...         print(line)
feature       Π       mean         sd  selected
x3         1.00      -1.14       0.13  yes
x24        1.00      -0.37       0.12  yes
x14        0.24      0.019      0.047  no
"""

import hashlib
import io
import json
import re
import warnings
from functools import partial
from itertools import chain
from pathlib import Path
from textwrap import TextWrapper

import numpy as np

import rvamp_nb

from ..environment import unwritten_named, written_whole
from ..inference.forest import picture_size
from ..plot_style import style
from ..sketch import rounded
from ..tables.chunked import read_blocks
from . import wording
from .plots import PICTURES
from .readers import pd, printable
from .substitutes import duplicates, family_probabilities, substitutes
from .wording import methods_text, promised, size_reported, size_selected

__all__ = [
    "KINDS",
    "FILES",
    "OF_EFFECTS",
    "summary_table",
    "path_table",
    "by_feature",
    "draws_table",
    "short_table",
    "decisions",
    "settings",
    "headline",
    "console",
    "effects_lines",
    "fingerprint",
    "picture_files",
    "drawn_files",
    "effects_files",
    "to_json",
    "csv_file",
    "json_file",
    "report_files",
    "reported_effects",
    "write_report",
    "write_files",
]


def summary_table(selection, families=None):
    """Show all features of a `Selection`, the most probable first, as a DataFrame.

    Its columns, from left to right, are

    - probability; with refits also probability_se, and probability_low and
      probability_high, an interval of 95 %;
    - q_value, with decoys;
    - selected; and enters_at_pfer, the least pfer at which it is, where a bound holds;
    - coef_mean, coef_std, coef_low and coef_high, over resamples, an interval of 90 %;
      with several classes coef_mean_A for class A, and so on;
    - shares_signal_with, the features that stand in for a selected one;
    - duplicates, the near copies; and status, why a feature is selected or not;
    - family, the members, and family_probability, that any of them is selected: of the
      most probable member of each family, where refits know of `families`, which are as
      for `family_probabilities`.

    Its `attrs` are the `settings`.
    """
    refined = selection.refined
    values = {"probability": selection.probabilities}
    if refined is not None:
        low, high = refined.interval().T
        values["probability_se"] = refined.Pi_se
        values["probability_low"] = low
        values["probability_high"] = high
    if selection.q_values is not None:
        values["q_value"] = selection.q_values
    values["selected"] = selection.support
    if selection.enters_at_pfer is not None:
        values["enters_at_pfer"] = selection.enters_at_pfer
    low, high = np.moveaxis(selection.coef_interval, -1, 0)
    coefficients = {
        "coef_mean": selection.coef_mean,
        "coef_std": selection.coef_std,
        "coef_low": low,
        "coef_high": high,
    }
    values.update(_by_class(selection, coefficients, "_"))
    values["shares_signal_with"] = substitutes(selection)
    values["duplicates"] = duplicates(selection.question.columns)
    values["status"] = decisions(selection)
    table = _ordered(selection, values)
    if refined is None and families is None:
        return table
    family_table = family_probabilities(selection, families)
    if len(family_table):
        # a family stands in the row of its leader; "" and nan in all others
        by_leader = family_table.set_index("leader")
        table["family"] = by_leader.members.reindex(table.index, fill_value="")
        table["family_probability"] = by_leader.probability
    return table


def _by_class(selection, columns, separator):
    """Return columns {name: (N, K)} as one column (N,) a class, named after it.

    With one coefficient a feature (K = 1) they are returned as they are.
    """
    if selection.question.columns.K == 1:
        return columns
    split = {}
    for name, values in columns.items():
        for label, column in zip(selection.question.target.classes, values.T):
            split[f"{name}{separator}{label}"] = column
    return split


def path_table(selection):
    """Show Π of all features, a column for each penalty; NaN where not converged."""
    path = selection.summary_of_path
    features = pd.Index(selection.question.columns.names, name="feature")
    penalties = [f"{lam:.6g}" for lam in path.lambdas]
    return pd.DataFrame(path.selection_probabilities, features, penalties)


def draws_table(question, shares):
    """Show in which share of draws of decoys each feature is kept, (N,), and whether in
    half of them, as a DataFrame, the most often kept first.
    """
    share = by_feature(question, shares.round(3), "share")
    table = share.to_frame().assign(selected=shares >= 0.5)
    return table.sort_values("share", ascending=False, kind="stable")


def by_feature(question, values, name):
    """Return values, (N,), as a Series with the names of the features."""
    features = pd.Index(question.columns.names, name="feature")
    return pd.Series(values, features, name=name)


def short_table(selection, entries=None):
    """Show all features, the most probable first, as a short DataFrame for a screen.

    Its columns are Π, ± (its standard error, with refits), q_value (with decoys),
    selected (yes, no, or undecided, too), "enters at pfer" (from entries, (N,), if not
    None), and mean and sd over resamples, or the mean for each class. Numbers have the
    digits that are known: a mean down to the second digit of its deviation, a deviation
    and an entry two digits. `attrs` are those of `summary_table`.
    """
    digits = 2 if selection.refined is None else 3
    Pi = selection.probabilities.round(digits)
    values = {"Π": Pi}
    if selection.refined is not None:
        values["±"] = selection.refined.Pi_se.round(digits)
    if selection.q_values is not None:
        values["q_value"] = selection.q_values.round(3)
    values["selected"] = decisions(selection, "yes", "no")
    # `rounded` takes numbers, and how far each may vary: by itself, two digits are left
    if entries is not None:
        values["enters at pfer"] = rounded(entries, entries)
    std = selection.coef_std
    coefficients = {"mean": rounded(selection.coef_mean, std)}
    if selection.question.columns.K == 1:
        coefficients["sd"] = rounded(std, std)
    # a feature that is hardly ever selected has no digit that is known
    for numbers in coefficients.values():
        numbers[~(Pi > 0)] = 0.0
    values.update(_by_class(selection, coefficients, " "))
    return _ordered(selection, values)


def _ordered(selection, values):
    """Make a DataFrame of columns {name: values}, the most probable features first."""
    columns = selection.question.columns
    table = pd.DataFrame(values, pd.Index(columns.names, name="feature"))
    if columns.groups:
        groups = np.array(list(columns.groups) + [""], dtype=object)
        table.insert(0, "group", groups[columns.group])
    order = np.lexsort((columns.group, -np.nan_to_num(selection.probabilities)))
    table = table.iloc[order]
    table.attrs = settings(selection)
    return table


_COVARIATE = "covariate, always in"


def decisions(selection, yes="selected", no="below the threshold"):
    """Return why each feature is selected or not, in words, (N,) list of str.

    `yes` and `no` are the words for features that can be selected; others have a reason
    of their own. With refits ", undecided" follows where Π is near the threshold.
    """
    if not selection.fit.converged:
        return ["no answer"] * len(selection.support)
    texts = np.where(selection.support, yes, no).astype(object)
    if selection.refined is not None:
        texts[selection.undecided] += ", undecided"
    text_of_kind = {
        "explained": "explained by the covariates",
        "covariate": _COVARIATE,
        "constant": "constant",
    }
    kinds = selection.question.columns.kind
    # columns that could not be selected have reasons of their own
    for i in np.flatnonzero(np.isin(kinds, list(text_of_kind))):
        texts[i] = text_of_kind[kinds[i]]
    return list(texts)


def settings(selection):
    """List all that decided the answer of a `Selection`, as numbers, words and None.

    The number q and expected_selected (features in a resample on average), pfer and
    pfer_bound (false selections) are what was asked for and what was reached;
    equivalent_refits is the number of refits alone that would be as accurate;
    duplicates and repeated_rows count groups.
    """
    target = selection.question.target
    columns = selection.question.columns
    prior = selection.question.prior
    diagnostics = selection.diagnostics
    converged = selection.path.converged
    classes = None
    coefficients_for = None
    if target.classes is not None:
        classes = [str(label) for label in target.classes]
        coefficients_for = classes
        if target.loss == "logistic":
            coefficients_for = classes[1]
    kinds = list(columns.kind)
    n_resamples = 0
    equivalent_refits = None
    if selection.refined is not None:
        n_resamples = int(selection.refined.n_resamples)
        equivalent_refits = selection.refined.equivalent_refits
    return {
        "version": rvamp_nb.__version__,
        "n_rows": target.n_rows,
        "classes": classes,
        "n_groups": _n_labels(target.rows, target.rows.groups),
        "n_strata": _n_labels(target.rows, target.rows.strata),
        "weights": target.rows.weight is not None,
        "offsets": target.rows.offset is not None,
        "n_columns": len(columns.names),
        "n_candidates": int(selection.question.candidates.sum()),
        "n_column_groups": len(columns.groups),
        "n_constant": kinds.count("constant"),
        "n_explained": kinds.count("explained"),
        "n_covariates": kinds.count("covariate"),
        "loss": target.loss,
        "coefficients_for": coefficients_for,
        "penalty": type(prior.plain).__name__,
        "resampling": repr(selection.question.counts),
        "randomize": repr(prior.randomize),
        "bound": selection.asked["bound"],
        "threshold": selection.threshold,
        "pfer": selection.pfer,
        "q": selection.q,
        "status": selection.status,
        "converged": bool(selection.fit.converged),
        "expected_selected": size_reported(selection),
        "path_converged": f"{converged.sum()} of {len(converged)}",
        "tol": selection.question.tol,
        "n_steps": selection.n_iter,
        "lambda_": selection.lam,
        "lambda_scales": selection.lambda_scales,
        "pfer_bound": selection.pfer_bound,
        "pfer_bound_se": selection.pfer_bound_se,
        "n_selected": size_selected(selection),
        "stability": selection.stability,
        "stability_se": selection.stability_se,
        "n_resamples": n_resamples,
        "equivalent_refits": equivalent_refits,
        "refit_error": selection.refit_error,
        "largest_row_share": diagnostics.largest_share,
        "reliability": diagnostics.reliability,
        "spread_reliability": diagnostics.spread_reliability,
        "effective_rows": diagnostics.effective_rows,
        "largest_row": diagnostics.largest_row,
        "duplicates": len(diagnostics.duplicates),
        "repeated_rows": len(diagnostics.repeated),
        "diagnostics": str(diagnostics),
    }


def _n_labels(rows, labels):
    """Count the different labels of rows with a weight above 0; None without labels."""
    if labels is None:
        return None
    return len(set(rows.with_weight(labels).tolist()))


def headline(selection):
    """Write the result of a `Selection` in one line: how many features are selected,
    what is promised, and what speaks against it.

    With refits these are features within two standard errors of the threshold and the
    first reason why rVAMP is unreliable; without, that refits are needed; in any case
    rows that look like repeats.
    """
    if not selection.fit.converged:
        return f"no answer: {selection.status.removeprefix('no answer: ')}"
    text = _write_promise(selection)
    diagnostics = selection.diagnostics
    unreliable = diagnostics.reliability == "red"
    # refits are right about the rows as they are: not about repeats or a wrong row
    if unreliable and diagnostics.repeated:
        return f"{text}, if rows were independent, but some look like repeats"
    if selection.refined is None:
        return f"do not use this without refits: {text}" if unreliable else text
    text += _name_undecided(selection)
    if unreliable:
        # what is wrong, without the advice behind a colon
        text += f"; {diagnostics.reasons[0].partition(':')[0]}"
    return text


def _write_promise(selection):
    """Write what is selected and promised, and whether that is what was asked for, as a
    text such as "2 features selected, both well above the threshold; ...".

    A margin is named where refits leave nothing undecided, that is, no Π within two
    standard errors of the threshold.
    """
    n_selected = size_selected(selection)
    margin = ""
    if selection.refined is not None and not selection.undecided.any():
        distances = {0: ", none is near", 1: ", well above", 2: ", both well above"}
        margin = f"{distances.get(n_selected, ', all well above')} the threshold"
    text = promised(selection, margin)
    # more than half of the features may be false
    if n_selected and selection.pfer_bound > n_selected / 2:
        text += f", a high limit for {n_selected}"
    if selection.status != "converged":
        text = f"not all that was asked for: {text}"
    if selection.by_refits:
        text += "; by refits, which cost less here than steps of rVAMP"
    return text


def _name_undecided(selection):
    """Name the features that refits leave undecided; "" if there are none."""
    if not selection.undecided.any():
        return ""
    undecided = selection.question.columns.called(selection.undecided)
    names = [printable(name, 28) for name in undecided]
    return f"; too close to the threshold to decide: {wording.listed(names)}"


def console(selection, name="the table", done=(), warnings=(), leaders=12):
    """Write a `Selection` as lines of at most 88 letters for a screen.

    First come the headline and the warnings, then the leading features, then a block
    with the settings and the reliability.
    """
    head = [headline(selection)]
    for warning in warnings:
        head.append(f"warning: {warning}")
    facts = list(wording.facts(selection, name, done))
    facts.append(
        ("reliability", wording.grades_of(selection.diagnostics, selection.refined))
    )
    block = []
    for label, text in facts:
        block.append(f"{label}:".ljust(_LABEL) + text)
    lines = list(_wrap(head))
    lines.append("")
    lines += _leading_lines(selection, leaders)
    lines.append("")
    lines += _wrap(block, _LABEL)
    return lines


_LABEL = 13  # letters for the label of a line of the block; the longest has 12
# half: no space behind most labels; twice: 13 letters fewer for each line


def _wrap(sentences, indent=2):
    """Yield sentences as lines of 88 letters, all but the first of each indented."""
    form = TextWrapper(
        width=88,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for text in sentences:
        yield from form.wrap(printable(text, 1000))


_COLUMNS = (
    "Π: selection probability, the estimated share of resamples in which the feature is"
    " selected. {} over resamples; the penalty shrinks them, so they are no effect"
    " sizes{}."
)
_SINGLE = "mean, sd: of its coefficient"
_EACH = "The other columns are its mean coefficients for each class"
_EFFECTS = " (these have intervals: selector.debiased_effects(), or --effects)"
_ERROR = " s.e.: the standard error of Π."
_UNDECIDED = " undecided: Π is within two standard errors of the threshold."
_OF_DECOYS = (
    " q-value: the estimated share of false features from the top down to this one, by"
    " decoys (noise made up for comparison); of k features it is 1/k at least."
)
_SHORT = {_COVARIATE: "always in", "explained by the covariates": "explained"}


def _table_titles(selection, coefficients, width):
    """Write the heads of the table's columns, those of coefficients, which are names,
    in `width` letters; return them as a list, the first to be padded.
    """
    titles = ["feature"]
    titles.append("       Π" if selection.refined is None else "        Π ± s.e.")
    if selection.q_values is not None:
        titles.append("  q-value")
    for name in coefficients:
        titles.append(printable(name.removeprefix("mean "), width - 1).rjust(width))
    titles.append("  selected")
    return titles


def _table_cells(selection, name, row, coefficients, width):
    """List the cells of one feature as text: its name, Π, q-value with decoys,
    coefficients, and whether it is selected; they stand below `_table_titles`.

    `row` is a row of `short_table`, of which `coefficients` are the names of columns;
    each of these takes `width` letters, with the space in front.
    """
    if row.get("group"):
        name = f"{row['group']}: {name}"
    # what the coefficients leave of 56 letters
    name_width = min(24, 56 - width * len(coefficients))
    cells = [printable(name, name_width)]
    if selection.refined is None:
        cells.append(f"{row['Π']:8.2f}")
    else:
        cells.append(f"{row['Π']:8.3f} ± {row['±']:.3f}")
    if selection.q_values is not None:
        cells.append(f"{row['q_value']:9.3f}")
    # space, sign, point and exponent take seven letters: -1.23e-05
    digits = min(4, max(width - 7, 2))
    for value in row[coefficients]:
        number = f"{value + 0:.{digits}g}"  # + 0 makes 0 of -0
        cells.append(f" {number:>{width - 1}}")
    cells.append(f"  {_SHORT.get(row['selected'], row['selected'])}")
    return cells


def _legend(selection, coefficients):
    """Explain the columns of the table."""
    effects = _EFFECTS
    if selection.why_no_effects:
        effects = ""
    explained = _SINGLE if "sd" in coefficients else _EACH
    legend = _COLUMNS.format(explained, effects)
    if selection.refined is not None:
        legend += _ERROR
    if selection.q_values is not None:
        legend += _OF_DECOYS
    if np.any(selection.undecided):
        legend += _UNDECIDED
    return legend


def _leading_lines(selection, most):
    """Yield the lines of a table of the leading features, `most` at most, with titles
    above, and below it the number of others and what the columns mean.
    """
    table = short_table(selection)
    coefficients = table.columns[table.columns.get_loc("selected") + 1 :]
    # with 42 letters for all coefficients a line has 88 at most
    width = min(11, 42 // len(coefficients))
    lines = [_table_titles(selection, coefficients, width)]
    for name, row in table[:most].iterrows():
        lines.append(_table_cells(selection, name, row, coefficients, width))
    # the first cells, names, are made as wide as the widest; others have their width
    name_width = max(len(cells[0]) for cells in lines)
    for cells in lines:
        yield cells[0].ljust(name_width) + "".join(cells[1:])
    if len(table) > most:
        yield f"... and {wording.number_of(len(table) - most, 'more feature')}"
    yield from _wrap([_legend(selection, coefficients)], 0)


def effects_lines(effects):
    """Write `Effects` for a screen: a line for each, and the note."""
    table = effects.summary().rename(index=partial(printable, most=24))
    columns = ["estimate", "ci_low", "ci_high"]
    if effects.ratio:
        columns = [f"{effects.ratio}_{end}" for end in ("ratio", "low", "high")]
    shown = table[columns + ["p_value", "reason"]]
    lines = shown.to_string(float_format="{:.3g}".format).splitlines()
    lines.append(f"{100 * effects.level:g} %: {effects.note}")
    yield from _wrap(lines)


def fingerprint(question):
    """Compute a digest (64 letters) of the columns' names, the standardised table and
    the target, by which two reports of one question are recognised.

    A table that is read in blocks has another digest.
    """
    target = question.target
    names = "\n".join(map(str, question.columns.names))
    digest = hashlib.sha256(names.encode())
    numbers = [target.y]
    if target.baseline is not None:
        numbers.append(target.baseline.time)
        if target.baseline.entry is not None:
            numbers.append(target.baseline.entry)
    numbers = [np.asarray(values, dtype=float) for values in numbers]
    for block in chain(read_blocks(question.A), numbers):
        # digits that differ between machines are rounded off; -0.0 becomes 0.0
        rounded_block = np.round(block, 8) + 0.0
        digest.update(np.ascontiguousarray(rounded_block).tobytes())
    return digest.hexdigest()


# kinds of pictures, each with the metadata that would differ between two runs
KINDS = {
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
    "png": {"Software": None},
}
FILES = ["covariates.csv", "methods.md", "selected.csv", "settings.json", "table.csv"]
# where there are effects; effects.md also says why there are none
OF_EFFECTS = ["effects.md", "effects.csv"]
for _picture in PICTURES:
    FILES += [f"{_picture}.{kind}" for kind in sorted(KINDS)]
for _kind in sorted(KINDS):
    OF_EFFECTS.append(f"effects.{_kind}")


def picture_files(selection, pictures, kinds):
    """Draw the pictures of a report as files of several kinds, {name: bytes}.

    Two runs write the same bytes.
    """
    files = {}
    for name in pictures:
        functions, size = PICTURES[name]
        draws = [partial(draw, selection) for draw in functions]
        files.update(drawn_files(name, draws, size, kinds))
    return files


def drawn_files(name, draws, shape, kinds):
    """Draw a picture and return its files, {name: bytes}, one of each kind; two runs
    write the same bytes.

    `draws` are functions of `ax` that draw its parts, side by side; `shape` is the
    picture's width and height in inches; `kinds` are some of `KINDS`.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    files = {}
    # settings and warnings are as before where this block ends
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that the font does not have
        style()
        # identifiers in an SVG by this word, not at random; text in a PDF as text
        mpl.rcParams.update({"svg.hashsalt": "rvamp_nb", "pdf.fonttype": 42})
        # parts are laid out once, not anew for each kind: the layout is given to the
        # figure, and taken from it when it has been drawn
        mpl.rcParams["figure.constrained_layout.use"] = False
        figure = Figure(figsize=shape, layout="constrained")
        axes = figure.subplots(1, len(draws), sharey=True, squeeze=False)[0]
        for draw, ax in zip(draws, axes):
            draw(ax=ax)
        figure.draw_without_rendering()
        figure.set_layout_engine(None)
        for kind in kinds:
            file = io.BytesIO()
            # KINDS: without the date in a file's metadata
            figure.savefig(file, format=kind, metadata=KINDS[kind], dpi=200)
            files[f"{name}.{kind}"] = file.getvalue()
    return files


def effects_files(selection, effects, kinds=KINDS):
    """Write the `Effects` of a `Selection` as the files `OF_EFFECTS`, {name: bytes}.

    If `effects` is a sentence that says why there are none, write effects.md alone.
    """
    if isinstance(effects, str):
        return {"effects.md": f"## Effects\n\nNone: {effects}.\n".encode()}
    table = effects.summary().rename_axis("feature")
    text = wording.effects_text(selection, effects)
    files = {"effects.md": text.encode(), "effects.csv": csv_file(table)}
    size = picture_size(len(table))
    files.update(drawn_files("effects", [effects.plot], size, kinds))
    return files


def to_json(value):
    """Convert a value, also inside dicts, lists and arrays, to what JSON can hold.

    A number that is not finite becomes null, an object of another type its repr.
    """
    if isinstance(value, dict):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [to_json(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if value is None or isinstance(value, (str, int, float)):
        return value
    return repr(value)


def csv_file(table):
    """Return a DataFrame as the bytes of a CSV file, numbers in six digits."""
    return table.to_csv(float_format="%.6g", lineterminator="\n").encode()


def json_file(settings):
    """Return a dict as the bytes of a JSON file."""
    text = json.dumps(to_json(settings), indent=1, ensure_ascii=False)
    return f"{text}\n".encode()


def report_files(selection, pictures=PICTURES, kinds=KINDS, done=(), effects=None):
    """Make all files of a report, {name: bytes}.

    `pictures` and `kinds` are the pictures to draw and the kinds of their files, `done`
    are sentences about what was done to the table, for `methods_text`. The `Effects`
    are described in files of their own; they may be a sentence, why there are none, or
    None where nobody asks.
    """
    files = picture_files(selection, pictures, kinds)
    table = summary_table(selection)
    covariates = table["status"] == _COVARIATE  # which rows are those of covariates
    methods = methods_text(selection, done)
    # a feature's name such as <b> is no markup: escape < before what begins a tag
    methods = re.sub(r"<(?=[a-zA-Z/!?])", "&lt;", methods)
    files["methods.md"] = methods.encode()
    files["table.csv"] = csv_file(table)
    files["covariates.csv"] = csv_file(table[covariates])
    files["selected.csv"] = csv_file(table[table["selected"] & ~covariates])
    if effects is not None:
        files.update(effects_files(selection, effects, kinds))
    files["settings.json"] = b""  # so that it names itself among the files
    settings = {
        "question": fingerprint(selection.question),
        **table.attrs,
        "versions": wording.versions_used(),
        "arguments": selection.asked,
        "files": [name for name in FILES + OF_EFFECTS if name in files],
    }
    files["settings.json"] = json_file(settings)
    return files


def reported_effects(selection):
    """Return the `Effects` of the selected features, or a sentence that says why there
    are none.
    """
    if not selection.fit.converged:
        return f"nothing converged ({selection.status})"
    if not selection.support.any():
        return "nothing is selected"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the reasons stand in the table
        try:
            return selection.debiased_effects()
        except ValueError as e:
            return str(e)


def write_report(selection, folder, done=()):
    """Write methods paragraph, settings, tables and pictures of a `Selection` to a
    folder; return the paths of the files.

    The folder is made if it is not there, and other files in it are left alone. The
    files are `FILES` and those of `OF_EFFECTS` that are known; all are written, or
    none. `done` are sentences about what was done to the table before.

    Raises a FileExistsError where the folder holds files of these names that are no
    report, or the report of another question (other names, table or target); an OSError
    where it cannot be written to; a TypeError for what is no path or no sentences; a
    ValueError for an empty path.
    """
    folder = _check_folder(folder)
    if isinstance(done, str) or not np.iterable(done):
        raise TypeError(f"report: done must be a list of sentences, got {done!r}")
    _refuse_other_reports(folder, selection.question)
    files = report_files(selection, done=done, effects=reported_effects(selection))
    with unwritten_named(folder):
        write_files(folder, files)
    return [folder / name for name in FILES + OF_EFFECTS if name in files]


def _check_folder(folder):
    """Return a folder as a Path; refuse what is no path, or a file's path."""
    if isinstance(folder, str) and not folder:
        raise ValueError(
            f"report: folder is {folder!r}: name a folder, such as 'report'; '.' is the"
            " working folder"
        )
    try:
        folder = Path(folder)
    except TypeError:
        raise TypeError(
            "report: folder must be the path of a folder, such as 'report', got"
            f" {folder!r}"
        ) from None
    # the folder need not exist, but what does exist of its path must be a folder
    parent = folder
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        raise NotADirectoryError(f"report: folder is {folder}, but {parent} is a file")
    return folder


def _refuse_other_reports(folder, question):
    """Refuse (FileExistsError) to overwrite files that are no report, or the report of
    another question, by the fingerprint in settings.json.
    """
    existing = [name for name in FILES + OF_EFFECTS if (folder / name).exists()]
    try:
        earlier = json.loads((folder / "settings.json").read_bytes())["question"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        earlier = None  # no such file, or no settings of a report in it
    if existing and earlier != fingerprint(question):
        owner = "the report of another question"
        if earlier is None:
            owner = "no report"
        raise FileExistsError(
            f"{folder} holds {existing[0]}, which is part of {owner}: move it away, or"
            " choose another folder"
        )


def write_files(folder, files):
    """Write files {name: bytes} to a folder (Path), which is made if it is not there;
    all are written, or none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with written_whole([folder / name for name in files]) as opened:
        for file, data in zip(opened, files.values()):
            file.write(data)
