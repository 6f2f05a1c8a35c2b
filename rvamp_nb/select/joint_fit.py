"""Effects of a selector's features in one model of all columns without a penalty.

Survival times, several classes, an offset, weights, trials, rows in groups and groups
of columns have their effects from here: chapter 5.6 derives them, and
`inference.joint` computes them on the standardised table. What is added here are the
names and units of the user's table, a reason where there is no interval, and the tests
of several coefficients.

>>> import numpy as np
>>> from rvamp_nb import StabilitySelection, datasets
>>> from rvamp_nb.select.joint_fit import needs_joint_fit
>>> d = datasets.load_diabetes()
>>> selector = StabilitySelection(n_resamples=0, loss="squared")
>>> pairs = np.arange(442) // 2
>>> selector = selector.fit(d.A[:, :10], d.y, groups=pairs)
>>> needs_joint_fit(selector.question_)
True
>>> selector.debiased_effects().names
array(['x2', 'x8'], dtype=object)
"""

import numpy as np

from ..inference import joint
from ..inference.joint import CoxModel, RowModel, joint_effects, joint_test
from ..validation import check_number

__all__ = [
    "IDLE",
    "effects_of_joint_fit",
    "fit_jointly",
    "needs_joint_fit",
    "why_no_joint_fit",
]

IDLE = {  # kinds of columns without a coefficient, and the reason in a word
    "constant": "constant",
    "explained": "explained by the covariates",
}


def needs_joint_fit(question):
    """Return whether effects of a `SelectionProblem` are those of a joint fit: of
    survival times, several classes, an offset, weights, trials, rows in groups and
    groups of columns.
    """
    rows = question.target.rows
    roles = (rows.groups, rows.offset, rows.weight)
    unlike = any(values is not None for values in roles)
    alone = question.target.loss in ("squared", "logistic", "poisson")
    return unlike or not alone or bool(question.columns.groups)


def why_no_joint_fit(question):
    """Say that there are fewer than four rows or events for each coefficient, with a
    remedy; "" if there are enough.
    """
    target = question.target
    y = target.rows.with_weight(target.y)
    n_informative = len(y)
    present = f"{len(y)} rows"
    if target.loss in ("poisson", "survival"):
        # a row without an event says little
        n_events = y.sum()
        present += f" and {n_events:g} events"
        n_informative = min(len(y), n_events)
    n_coefficients = question.A.shape[1]
    if question.columns.basis is not None:
        # of several classes A has columns of intercepts, one for each class but one
        n_coefficients -= question.columns.K - 1
    if n_informative >= joint.ROWS_EACH * n_coefficients:
        return ""
    return (
        f"no effects are known with {present} for {n_coefficients} coefficients, of"
        f" which each needs {joint.ROWS_EACH}: leave columns out; or select on one half"
        " of the rows, and ask for effects of a table of the selected columns on the"
        " other half"
    )


def _columns_inside(question):
    """Find the columns of A in the joint fit, (n,) bool: those that vary, and that kept
    covariates do not explain.
    """
    columns = question.columns
    # an intercept of several classes makes no coefficient of the table
    of_features = np.diff(columns.turn.tocsr().indptr) > 0
    explained = (columns.kind[columns.first] == "explained") & of_features
    return question.A.any(axis=0) & ~explained


def fit_jointly(question):
    """Fit all columns without a penalty; return `JointEffects` of the table's
    coefficients in its units, (N K,).

    The model has a coefficient for each of the n columns of A that vary, and for each
    intercept, which come last. A coefficient of the table is a combination of those
    (of one alone, unless columns are in groups or there are several classes).
    """
    target = question.target
    rows = target.rows
    inside = _columns_inside(question)
    A = question.A[:, inside]
    # coefficients of the table, in its units, by those of the model, (n, N K)
    to_table = question.columns.turn.toarray()[inside] * question.columns.unit
    # rows with one label may depend on each other; without groups none do
    units = np.arange(len(target.y)) if rows.groups is None else rows.groups
    if target.loss == "softmax":
        # A has each number of the table as a block, the number times the identity,
        # (d, d), and the intercepts last; the model has intercepts of its own
        d = question.columns.K - 1
        table = A[::d, ::d][:, :-1]
        model = RowModel(table, target.y, target.likelihood.plain)
        return joint_effects(model, units, True, to_table)
    A = rows.with_weight(A)
    units = rows.with_weight(units)
    if target.loss == "survival":
        model = _cox_model(A, target)
        return joint_effects(model, units[model.order], True, to_table)
    model = _row_model(A, target)
    # the intercept is the model's last coefficient, and in none of the table's
    to_table = np.vstack([to_table, np.zeros(to_table.shape[1])])
    return joint_effects(model, units, target.loss == "logistic", to_table)


def _cox_model(A, target):
    """Make Cox's model of the rows with a weight, whose columns are A, (M, n)."""
    base = target.baseline
    rows = target.rows
    values = dict(time=base.time, event=base.event, offset=base.offset)
    values.update(strata=rows.strata, entry=base.entry, weight=rows.weight)
    present = {}
    for name, of_all_rows in values.items():
        if of_all_rows is not None:
            present[name] = rows.with_weight(of_all_rows)
    return CoxModel(A, **present)


def _row_model(A, target):
    """Make the model of the rows with a weight, whose columns are A, (M, n), and whose
    losses are a function of the target and the linear predictor.
    """
    rows = target.rows
    weight = np.ones(len(A))
    if rows.weight is not None:
        weight = rows.with_weight(rows.weight)
    offset = 0.0 * weight
    if rows.offset is not None:
        offset = rows.with_weight(rows.offset)
    y = rows.with_weight(target.y)
    return RowModel(A, y, target.likelihood.plain, offset, weight)


def _take_coefficients(joint_fit, numbers):
    """Take the coefficients with these numbers, (n,), out of `JointEffects`: a dict of
    their estimate, (n,), covariance, (n, n), and degrees of freedom, (n,).
    """
    return dict(
        estimate=joint_fit.estimate[numbers],
        covariance=joint_fit.covariance[np.ix_(numbers, numbers)],
        freedom=joint_fit.freedom[numbers],
    )


def effects_of_joint_fit(selection, shown, copies, level):
    """Return the fields of `Effects` for n features of a `Selection`, by name.

    `shown`, (n,), are the features' numbers in the table; `copies`, (n,), the names of
    the near copies of each, as text; `level` in (0, 1) is that of the intervals, else a
    ValueError. Each field has K rows for each feature, one after the other: one for
    each class, or K = 1.
    """
    level = check_number("debiased_effects", "level", level, 0, 1)
    columns = selection.question.columns
    joint_fit = selection.joint_effects
    K = columns.K
    # of each feature
    names = columns.names[shown]
    sd = columns.scale[shown] / np.sqrt(selection.question.target.n_rows)
    reasons = []
    for names_of_copies, i in zip(copies, shown):
        reasons.append(_reason_of_column(selection, names_of_copies, i))
    has_interval = [not reason for reason in reasons]
    # of each feature and class
    if K > 1:
        classes = selection.question.target.classes
        names = [f"{name}, {label}" for name in names for label in classes]
    coefficients = _take_coefficients(joint_fit, columns.numbers(shown))
    held = np.repeat(has_interval, K).astype(bool)
    fields = joint.intervals(**coefficients, held=held, level=level)
    fields["level"] = level
    fields["names"] = np.array(names, dtype=object)
    fields["reasons"] = list(np.repeat(reasons, K))
    fields["selected"] = np.repeat(selection.support[shown], K)
    fields["sd"] = np.repeat(sd, K)
    fields["together"] = _tests_together(selection.question, joint_fit, shown)
    return fields


def _reason_of_column(selection, copies, i):
    """Return the reason why column i of the table has no interval, or "" if it has one.

    `copies` are the names of its near copies, as text.
    """
    question = selection.question
    columns = question.columns
    if columns.kind[i] in IDLE:
        return IDLE[columns.kind[i]]
    if copies:
        return f"near copy of {copies}"
    group = columns.group[i]  # -1 where it is in none
    if group >= 0 and columns.groups[group] in columns.dependent:
        return "adds up with columns of its group"
    # one coefficient of the joint fit that is not known is enough; the fit calls each
    # by the table's column, of which A's column is the first of near copies
    names = columns.names[columns.first[_columns_inside(question)]]
    for j in _find_parts(question, columns.numbers(i)):
        reason = joint.why_none(selection.joint_effects, j, names)
        if reason:
            return reason
    return ""


def _find_parts(question, numbers):
    """Find the coefficients of the joint fit that some of the table's are made of;
    return their numbers in the joint fit.

    `numbers` are those of coefficients in the table, columns of the matrix `turn`. Its
    rows are columns of A, of which the joint fit has those of `_columns_inside` only.
    """
    parts_in_A = question.columns.turn.tocsc()[:, numbers].indices
    columns_of_fit = np.flatnonzero(_columns_inside(question))
    return np.flatnonzero(np.isin(columns_of_fit, parts_in_A))


def _tests_together(question, joint_fit, shown):
    """Test the coefficients of each group, or of each feature with several classes
    (`joint-f`); return {name: what `joint_test` returns}.

    Tested are those that one of the features `shown`, (n,), is in, and that have
    several coefficients, all of them finite; `joint_fit` are `JointEffects`.
    """
    tests = {}
    columns = question.columns
    label_of_column = columns.labels(slice(None))  # (N,): of its group, or its own name
    varies = columns.unit[:: columns.K] > 0  # (N,): K coefficients have one unit
    for label in dict.fromkeys(label_of_column[shown]):
        members = np.flatnonzero((label_of_column == label) & varies)
        numbers = columns.numbers(members)
        is_infinite = joint_fit.infinite[_find_parts(question, numbers)].any()
        if len(numbers) > 1 and not is_infinite:
            tests[str(label)] = joint_test(**_take_coefficients(joint_fit, numbers))
    return tests
