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
from ..validation import check_array, check_number, check_size, format_list
from . import feature_groups
from .error_control import BOUNDS, DECOYS
from .features import by_name, prepare_columns
from .frames import far_numbers
from .penalty import SelectionProblem, read_penalty, resolved_target
from .target import check_estimable, count_law, read_target, row_roles

__all__ = ["FEW_VALUES", "check_options", "path_options", "read_question"]


# What numbers and words may be: ends of an interval and which of them belong to it, the
# least of what is counted, a choice. What depends on the table is checked with it.
_ALLOWED = {
    "threshold": (0.5, 1, "]"),
    "pfer": (0, np.inf),
    "q": (0, np.inf),
    "tol": (0, 1),
    "l1_ratio": (0, 1, "]"),
    "lambda_min_ratio": (0, 1),
    "accuracy": (1e-6, 0.5),
    "n_lambdas": 1,
    "n_resamples": 0,
    "min_features": 0,
    "max_iter": 1,
    "bound": BOUNDS,
    "decoys": DECOYS,
}


def check_options(asked, default):
    """Refuse parameters, {name: value}, that `_ALLOWED` does not list; None may stay
    where it is the default.
    """
    owner = "StabilitySelection"
    for name, allowed in _ALLOWED.items():
        value = asked[name]
        free = default[name] is None
        if value is None and free:
            continue
        if isinstance(allowed, tuple):
            check_number(owner, name, value, *allowed)
        elif isinstance(allowed, int):
            check_size(owner, name, value, allowed)
        elif str(value) not in allowed:
            choices = [repr(choice) for choice in allowed]
            if free:
                choices.append("None")
            listed = f"{', '.join(choices[:-1])} or {choices[-1]}"
            raise ValueError(f"{name} must be {listed}, got {value!r}")
    if asked["n_resamples"]:  # fewer have no standard error
        check_size(owner, "n_resamples", asked["n_resamples"], least=10)


def path_options(asked):
    """Return the path that the estimator's arguments (dict) ask for, as arguments of
    `SelectionProblem.path`, checked by name; None if they ask for none.
    """
    lambdas = asked.get("lambdas")
    n_lambdas = asked.get("n_lambdas")
    ratio = asked.get("lambda_min_ratio")
    if lambdas is not None:
        lambdas = check_array("lambdas", lambdas, ("K",), 0, above=True, of="penalty")
        if (np.diff(lambdas) >= 0).any():
            remedy = "sort them, the largest first"
            raise ValueError(f"lambdas must be decreasing, each once: {remedy}")
    elif n_lambdas is None and ratio is None:
        return None
    return {
        "lambdas": lambdas,
        "n_lambdas": n_lambdas or 50,
        "lambda_min_ratio": float(ratio or 0.05),
    }


FEW_VALUES = 3  # values of a column: 0 and 1, or the copies of an allele


def _unlike_normal(question, kind):
    """Warn of columns of few values, which no normal decoy resembles, or "".

    Gaussian decoys are normal, whatever their columns are (chapter 5.1); for 0/1
    columns the coin that decides between a noise feature and its decoy need not be
    fair.
    """
    A = question.A
    columns = question.columns
    if str(kind) != "gaussian":
        return ""
    steps = np.diff(np.sort(A, axis=0), axis=0)
    few = (1 + np.count_nonzero(steps, axis=0) <= FEW_VALUES) & question.candidates
    if not few.any():
        return ""
    names = format_list(columns.names[columns.first], np.flatnonzero(few))
    return (
        f"decoys='gaussian': {few.sum()} columns hold {FEW_VALUES} values or fewer"
        f" ({names}); normal decoys are unlike them, and nothing is promised of their"
        " q-values; those of decoys='permuted' have the same values, but no common"
        " factors"
    )


def read_question(X, y, names, roles, asked):
    """Return a `SelectionProblem`, what is promised (threshold, pfer, q), and notes,
    texts or "", from a table X (M, N), its target and columns' names, the roles of
    `row_roles` and the parameters of a selector. A TypeError or ValueError names what
    will not do.
    """
    rows = row_roles(len(X), **roles)
    counts = count_law(asked["resampling"], rows)
    drawn("resampling", counts, len(X), [np.random.default_rng(0)])
    if isinstance(counts, Grouped):  # chapter 5.2
        why = "groups: rows that are drawn together are turned into independent ones"
        check_in_memory(X, why)
    target = read_target(y, asked["loss"], rows, counts)
    A, prior, columns = _read_columns(X, names, target, counts, asked)
    in_memory = chunk_axis(A) is None
    if in_memory:
        A.flags.writeable = False  # so that a fit needs no copy of its own
    kept = np.flatnonzero(columns.kind[columns.first] == "covariate")
    if columns.basis is not None:  # of a feature's columns the first
        kept = np.intersect1d(kept, columns.where)
    Z = A[:, kept][:: len(A) // len(X)]  # of a sample's rows, too
    separated = check_estimable(target, Z, names[columns.first[kept]], counts)
    question = SelectionProblem(
        A=A,
        target=target,
        prior=prior,
        counts=counts,
        columns=columns,
        tol=float(asked["tol"]),
        max_iter=asked["max_iter"],
        progress=bool(asked["verbose"]),
    )
    if asked["n_resamples"] and target.baseline is not None:
        # others go by turns, if need be
        intercept = question.intercept
        check_refittable(A, prior, target.likelihood, intercept, target.baseline)
    threshold, pfer, q, limited = resolved_target(
        question, asked["threshold"], asked["pfer"], asked["q"], asked["bound"]
    )
    notes = [target.note]
    notes += columns.notes
    if in_memory:
        remedy = "if it stands for a gap, fill it in, or leave out the rows"
        for _, fault in far_numbers(X, names):
            notes.append(f"{fault}: {remedy}")
    notes += [separated, limited]
    if in_memory:
        notes.append(_unlike_normal(question, asked["decoys"]))
    return question, [threshold, pfer, q], notes


def _read_columns(X, names, target, counts, asked):
    """Prepare the columns by `prepare_columns`, `in_groups` or `in_classes`."""
    rows = target.rows
    baseline = target.baseline
    factors = by_name("penalty_factor", asked["penalty_factor"], names)
    prior = read_penalty(
        asked["prior"],
        asked["l1_ratio"],
        asked["randomize"],
        factors,
        names,
        np.size(rows.with_weight(np.ones(len(X)))),
        target.scale,
    )
    groups = feature_groups.read_groups(
        asked["column_groups"], names, asked["categories"]
    )
    numbers = None
    several = target.loss == "softmax"
    if several:
        for_one = "numbers or two classes"
        _check_plain(asked, "loss='softmax'", for_one)
        _check_absent("column_groups", groups, None, "loss='softmax'", for_one)
    if groups is not None:
        _check_plain(asked, "column_groups", "single columns")
        numbers = feature_groups.group_numbers(groups, names, prior.penalty_factor)
    within = None
    if baseline is not None and baseline.strata is not None:
        within = baseline.within_strata
    categories = asked["categories"]
    A, prior, columns = prepare_columns(
        X, names, prior, rows, counts, categories, numbers, within
    )
    if several:
        return feature_groups.in_classes(A, prior, columns, target.likelihood.basis)
    if (columns.group < 0).all():  # nothing in a group varies
        return A, prior, columns
    return feature_groups.in_groups(A, prior, columns, list(groups), rows.weight)


def _check_plain(asked, other, purpose):
    """Refuse a prior, randomized penalties and decoys beside an option or a loss."""
    defaults = {"prior": None, "l1_ratio": 1, "randomize": None, "decoys": None}
    for name, default in defaults.items():
        _check_absent(name, asked[name], default, other, purpose)


def _check_absent(name, value, default, other, purpose):
    """Refuse a value other than the default, which serves a purpose of its own."""
    if value != default:
        both = f"{name} and {other} are both given"
        raise ValueError(f"{both}: {name} is for {purpose}; drop one of them")
