"""Read the table, target and parameters of a selector as one question to solve.

Rows come first, for the law of the counts and the loss depend on them; then the target;
then the penalty, which names columns; then the columns themselves. Everything is
checked before anything is fitted: the ends of intervals, least counts and choices stand
in one table, `_ALLOWED`, and one loop refuses what is outside. The estimator reads a
question, solves it and keeps it; here its parameters are a dictionary.

>>> import numpy as np
>>> from rvamp_nb import StabilitySelection, datasets
>>> from rvamp_nb.select.question import check_options, read_question
>>> d = datasets.load_diabetes()
>>> names = np.asarray(d.names[:10], dtype=object)
>>> asked = StabilitySelection(pfer=1.0).get_params()
>>> roles = dict(groups=None, strata=None, sample_weight=None, offset=None)
>>> question, promise, notes = read_question(d.A[:, :10], d.y, names, roles, asked)
>>> question.A.shape, np.round(promise, 2).tolist()  # threshold, pfer and q
((442, 10), [0.75, 1.0, 2.24])
>>> asked["threshold"] = 0.4
>>> check_options(asked, StabilitySelection().get_params())
Traceback (most recent call last):
    ...
ValueError: StabilitySelection: threshold must lie in (0.5, 1], got 0.4
"""

import numpy as np

from ..algorithm.resampling import Grouped, drawn
from ..inference.refits import check_refittable
from ..tables.chunked import check_in_memory, chunk_axis
from ..validation import check_array, check_number, check_size, check_word
from . import feature_groups
from .error_control import BOUNDS
from .features import by_name, prepare_columns
from .penalty import SelectionProblem, read_penalty, resolved_target
from .readers import far_numbers
from .target import check_estimable, count_law, read_target, row_roles

__all__ = ["PATH_ENDS", "check_options", "path_options", "read_question"]


# What numbers and words may be: ends of an interval and which of them belong to it, the
# least of what is counted, a choice. What depends on the table is checked with it.
_ALLOWED = {
    "threshold": (0.5, 1, "]"),
    "pfer": (0, np.inf),
    "q": (0, np.inf),
    "tol": (0, 1),
    "accuracy": (1e-6, 0.5),
    "n_resamples": 0,
    "bound": BOUNDS,
}


def check_options(asked, default):
    """Refuse (ValueError) parameters of `StabilitySelection`, {name: value}, whose
    value is not among those allowed.

    None is allowed where it is the default.
    """
    owner = "StabilitySelection"
    for name, allowed in _ALLOWED.items():
        value = asked[name]
        optional = default[name] is None
        if value is None and optional:
            continue
        # a range of numbers, a least whole number, or a choice of words
        if isinstance(allowed, tuple):
            check_number(owner, name, value, *allowed)
        elif isinstance(allowed, int):
            check_size(owner, name, value, allowed)
        else:
            check_word(name, value, allowed, optional)
    if asked["n_resamples"]:  # fewer have no standard error
        check_size(owner, "n_resamples", asked["n_resamples"], least=10)


PATH_ENDS = 0.05  # of the largest penalty: below it a table selects what chance selects
# half: a path has no more features with Π above 1/2; twice: it may end before q


def path_options(asked):
    """Return the arguments of `SelectionProblem.path` from the parameters of the
    estimator, {name: value}; None if they ask for no path.

    Of the parameters `lambdas` alone is read: None for no path; a number of penalties,
    2 or more, which the path finds itself; or the penalties, (L,), above 0 and
    decreasing. A ValueError or TypeError says what will not do.
    """
    lambdas = asked["lambdas"]
    if lambdas is None:
        return None
    if np.ndim(lambdas) == 0:  # their number, or a penalty that is in no list
        remedy = "it is the number of penalties; penalties are a list, as in [0.5]"
        try:
            n_lambdas = check_size("StabilitySelection", "lambdas", lambdas, least=2)
        except (TypeError, ValueError) as e:
            raise type(e)(f"{e}: {remedy}") from None
        return dict(lambdas=None, n_lambdas=n_lambdas, lambda_min_ratio=PATH_ENDS)
    lambdas = check_array("lambdas", lambdas, ("L",), 0, above=True, of="penalty")
    if (np.diff(lambdas) >= 0).any():
        raise ValueError(
            "lambdas must be decreasing, each once: sort them, the largest first"
        )
    return dict(lambdas=lambdas)


def read_question(X, y, names, roles, asked):
    """Read a table X (M, N), its target y and the parameters of a selector.

    `names`, (N,), are those of the columns, `roles` the arguments of `row_roles`, by
    name, and `asked` the parameters of the selector, by name. Returns the
    `SelectionProblem`; what is promised, [threshold, pfer, q]; and notes, texts of
    which some are "". A TypeError or ValueError names the argument that will not do.
    """
    # the law of the counts and the loss depend on rows, the penalty on the target
    rows = row_roles(len(X), **roles)
    counts = _read_resampling(asked["resampling"], rows, X)
    target = read_target(y, asked["loss"], rows, counts, bool(asked["intercept"]))
    _check_intercept(asked, target)
    A, prior, columns = _prepare_features(X, names, target, counts, asked)
    in_memory = chunk_axis(A) is None
    if in_memory:
        # fits share A: one that must not change needs no copy in each of them
        A.flags.writeable = False
    separation_note = _find_separation(A, len(X), names, target, counts, columns)
    question = SelectionProblem(
        A=A,
        target=target,
        prior=prior,
        counts=counts,
        columns=columns,
        tol=float(asked["tol"]),
        progress=bool(asked["verbose"]),
    )
    # refits of survival times are exact ones; other losses have refits by turns, too
    if asked["n_resamples"] and target.baseline is not None:
        check_refittable(
            A, prior, target.likelihood, question.intercept, target.baseline
        )
    threshold, pfer, q, limit_note = resolved_target(
        question, asked["threshold"], asked["pfer"], asked["q"], asked["bound"]
    )
    notes = [target.note]
    notes += columns.notes
    if in_memory:
        notes += _far_notes(X, names, target, y)
    notes += [separation_note, limit_note]
    return question, [threshold, pfer, q], notes


def _read_resampling(resampling, rows, X):
    """Return the law of the counts of X's rows for a selector's `resampling`, after a
    first draw, which raises where a law of the user's own does not draw M counts.
    """
    counts = count_law(resampling, rows)
    drawn("resampling", counts, len(X), [np.random.default_rng(0)])
    if isinstance(counts, Grouped):  # chapter 5.2
        reason = "groups: rows that are drawn together are turned into independent ones"
        check_in_memory(X, reason)
    return counts


def _check_intercept(asked, target):
    """Refuse an `intercept` that is no truth value, or False where that is not a model
    of its own.
    """
    intercept = asked["intercept"]
    if not isinstance(intercept, (bool, np.bool_)):
        raise TypeError(f"intercept must be True or False, got {intercept!r}")
    reasons = {
        "survival": "Cox's model has no intercept anyway; leave intercept out",
        "softmax": "each class has its own; take one class against the rest"
        " (loss='logistic')",
    }
    if not intercept and target.loss in reasons:
        raise ValueError(
            f"intercept=False and loss={target.loss!r} are both given:"
            f" {reasons[target.loss]}"
        )


def _find_separation(A, n_samples, names, target, counts, columns):
    """Check that resamples can estimate the coefficients of covariates, the columns
    without a penalty; return a note, or "". See `check_estimable`.
    """
    kept = np.flatnonzero(columns.kind[columns.first] == "covariate")
    if columns.basis is not None:
        # one column stands for all of a feature
        kept = np.intersect1d(kept, columns.where)
    # a sample may be several rows of A
    Z = A[:, kept][:: len(A) // n_samples]
    return check_estimable(target, Z, names[columns.first[kept]], counts)


def _far_notes(X, names, target, y):
    """Write a note on each number that is far from all others of its column of X, or of
    a target of numbers.
    """
    remedy = "if it stands for a gap, fill it in, or leave out the rows"
    faults = list(far_numbers(X, names))
    if target.classes is None and np.ndim(y) == 1 and y.dtype.kind in "iuf":
        faults += far_numbers(y[:, None].astype(float), ["y"])
    return [f"{fault}: {remedy}" for _, fault in faults]


def _prepare_features(X, names, target, counts, asked):
    """Standardise the columns of X, (M, N), and make features of them; return the table
    A, its prior and its `Columns`.

    A feature is one column, a group of columns (`in_groups`), or one coefficient for
    each class (`in_classes`). `asked` are the parameters of the selector, by name. A
    ValueError names those that exclude each other.
    """
    rows = target.rows
    n_rows = np.size(rows.with_weight(np.ones(len(X))))
    factors = by_name("penalty_factor", asked["penalty_factor"], names)
    single_prior = read_penalty(asked["prior"], factors, names, n_rows, target.scale)
    groups = feature_groups.read_groups(asked["column_groups"], names)
    has_classes = target.loss == "softmax"
    if has_classes:
        _check_plain(asked, "loss='softmax'", "numbers or two classes")
    group_of_column = None  # or numbers, (N,)
    if groups is not None:
        _check_plain(asked, "column_groups", "single columns")
        group_of_column = feature_groups.group_numbers(
            groups, names, single_prior.penalty_factor
        )
    # Cox's partial likelihood compares rows within a stratum only
    within_strata = None
    if target.baseline is not None and target.baseline.strata is not None:
        within_strata = target.baseline.within_strata
    A, prior, columns = prepare_columns(
        X,
        names,
        single_prior,
        rows,
        counts,
        groups=group_of_column,
        within=within_strata,
        intercept=target.intercept,
    )
    # single columns become groups first, then features of several classes
    has_groups = (columns.group >= 0).any()  # of columns that vary
    if has_groups:
        A, prior, columns = feature_groups.in_groups(
            A, prior, columns, list(groups), rows.weight
        )
    if has_classes:
        A, prior, columns = feature_groups.in_classes(
            A, prior, columns, target.likelihood.basis
        )
    return A, prior, columns


def _check_plain(asked, other, purpose):
    """Refuse a prior, which does not go with the option `other`."""
    if asked["prior"] is not None:
        raise ValueError(
            f"prior and {other} are both given: a prior is for {purpose}; drop one of"
            " them"
        )
