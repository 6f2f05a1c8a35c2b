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
    rows = len(y)
    seen = f"{rows} rows"
    if target.loss in ("poisson", "survival"):
        events = y.sum()
        seen += f" and {events:g} events"
        rows = min(rows, events)
    n = question.A.shape[1]
    if question.columns.basis is not None:  # has an intercept for each class but one
        n -= question.columns.K - 1
    if rows >= joint.ROWS_EACH * n:
        return ""
    return (
        f"no effects are known with {seen} for {n} coefficients, of which each needs"
        f" {joint.ROWS_EACH}: leave columns out; or select on one half of the rows, and"
        " ask for effects of a table of the selected columns on the other half"
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
    """
    target = question.target
    rows = target.rows
    columns = question.columns
    inside = _columns_inside(question)
    A = question.A[:, inside]
    to = columns.turn.toarray()[inside] * columns.unit
    units = np.arange(len(target.y)) if rows.groups is None else rows.groups
    loss = target.likelihood.plain
    if target.loss == "softmax":
        d = columns.K - 1
        # a row and a column for each sample, less the intercepts
        model = RowModel(A[::d, ::d][:, :-1], target.y, loss)
        return joint_effects(model, units, True, to)
    weight = np.ones(len(units)) if rows.weight is None else rows.weight
    A = rows.with_weight(A)
    units = rows.with_weight(units)
    if target.loss == "survival":
        base = target.baseline
        roles = (base.time, base.event, base.offset, rows.strata, base.entry, weight)
        roles = (role if role is None else rows.with_weight(role) for role in roles)
        model = CoxModel(A, *roles)
        return joint_effects(model, units[model.order], True, to)
    offset = 0.0 * weight if rows.offset is None else rows.offset
    y, offset, weight = map(rows.with_weight, (target.y, offset, weight))
    model = RowModel(A, y, loss, offset, weight)
    to = np.vstack([to, np.zeros(to.shape[1])])
    return joint_effects(model, units, target.loss == "logistic", to)


def effects_of_joint_fit(selection, shown, copies, level):
    """Return fields of the `Effects` of features of a `Selection`, numbered `shown`,
    (n,), a row for each class; `copies`, (n,), are the names of near copies. A
    ValueError for a level outside (0, 1).
    """
    level = check_number("debiased_effects", "level", level, 0, 1)
    columns = selection.question.columns
    found = selection.joint_effects
    K = columns.K
    numbers = columns.numbers(shown)
    reasons = [_reason_of_column(selection, *pair) for pair in zip(copies, shown)]
    is_single = np.repeat([not reason for reason in reasons], K).astype(bool)
    covariance = found.covariance[np.ix_(numbers, numbers)]
    chosen = found.estimate[numbers], covariance, found.freedom[numbers]
    names = columns.names[shown]
    if K > 1:
        classes = selection.question.target.classes
        names = [f"{name}, {label}" for name in names for label in classes]
    return dict(
        **joint.intervals(*chosen, is_single, level),
        level=level,
        names=np.array(names, dtype=object),
        reasons=list(np.repeat(reasons, K)),
        selected=np.repeat(selection.support[shown], K),
        sd=np.repeat(
            columns.scale[shown] / np.sqrt(selection.question.target.n_rows), K
        ),
        together=_tests_together(selection.question, found, shown),
    )


def _reason_of_column(selection, copies, i):
    """Return the reason why column i of the table has no interval, or ""."""
    columns = selection.question.columns
    found = selection.joint_effects
    if columns.kind[i] in IDLE:
        return IDLE[columns.kind[i]]
    if copies:
        return f"near copy of {copies}"
    group = columns.group[i]
    if group >= 0 and columns.groups[group] in columns.dependent:
        return "adds up with columns of its group"
    inside = np.flatnonzero(_columns_inside(selection.question))
    names = columns.names[columns.first[inside]]
    for j in _made_of(selection.question, columns.numbers(i)):
        reason = joint.why_none(found, j, names)
        if reason:
            return reason
    return ""


def _made_of(question, numbers):
    """Find which coefficients of the joint fit make coefficients of the table, numbered
    `numbers`.
    """
    made_of = question.columns.turn.tocsc()[:, numbers].indices
    return np.flatnonzero(np.isin(np.flatnonzero(_columns_inside(question)), made_of))


def _tests_together(question, found, shown):
    """Test the columns of each group, and the classes of each feature, that one of
    `shown` is in and that are all finite (`joint-f`); return {name: what `joint_test`
    returns}.
    """
    tests = {}
    columns = question.columns
    labels = columns.labels(slice(None))
    varies = columns.unit[:: columns.K] > 0
    for label in dict.fromkeys(labels[shown]):
        numbers = columns.numbers(np.flatnonzero((labels == label) & varies))
        infinite = found.infinite[_made_of(question, numbers)].any()
        if len(numbers) > 1 and not infinite:
            covariance = found.covariance[np.ix_(numbers, numbers)]
            coefficients = found.estimate[numbers], covariance, found.freedom[numbers]
            tests[str(label)] = joint_test(*coefficients)
    return tests
