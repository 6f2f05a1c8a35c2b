"""Recognise matched sets in a table: a case and its controls, one row each.

>>> import pandas as pd
>>> from rvamp_nb.select.matched import set_sizes
>>> words = ["case", "control", "case", "control", "control"]
>>> set_sizes(["s1", "s1", "s2", "s2", "s2"], words).to_dict("list")
{'case': [1, 1], 'control': [1, 2]}
"""

from .readers import InputError, meant, np, pd, printable, quoted, text_column

__all__ = [
    "check_roles",
    "describe",
    "propose_sets",
    "response",
    "rows_in_sets",
    "set_sizes",
]

_FEWEST_SETS = 10
# half of it would be met by chance by five cases in five sites (5!/5⁵ = .04), ten by
# ten with 10!/10¹⁰ = .0004; twice of it would leave out studies of fifteen pairs


def set_sizes(labels, words):
    """Count the rows of each class in each set: a frame, one row a set, one column a
    class. `labels` and `words` are the sets and the classes of the rows, (M,) each; a
    row without one of them does not count.
    """
    labels = pd.Series(labels, dtype=object).to_numpy()
    words = pd.Series(words, dtype=object).to_numpy()
    return pd.crosstab(labels, words)


def check_roles(spec):
    """Raise an `InputError` for roles that matched sets have already."""
    if spec.matched is None:
        return
    for role in ("time", "groups", "strata", "trials"):
        if getattr(spec, role) is not None:
            raise InputError(
                f"{spec.typed('matched')} compares a case with its own controls, and"
                f" draws whole sets of them: drop {spec.typed(role)}"
            )


def propose_sets(spec, frame, values):
    """List the names of the features that may be labels of matched sets.

    A set is the rows of one label: one row of one class of the target, the case, and
    one or more of the other, the controls. `spec` says which columns are the target and
    the sets; with sets named, without a target, or with one of other than two classes,
    the list is empty. `frame`, (M, N), has the cells of the table, and `values` the
    same as numbers, nan where a cell is none.
    """
    if spec.target is None or spec.matched is not None:
        return []
    words = text_column(frame[spec.target])
    classes, n_rows = np.unique(words[words.notna()].astype(str), return_counts=True)
    if len(classes) != 2 or n_rows.min() < _FEWEST_SETS:
        return []
    n_sets = n_rows.min()  # cases are the class of fewer rows, one in each set
    proposed = []
    for name in _columns_with_room(values.drop(columns=spec.used), n_sets):
        labels = text_column(frame[name])
        if labels.nunique() != n_sets or labels.isna().any():
            continue
        sizes = set_sizes(labels, words)  # a row for each set, a column for each class
        one_case_each = (sizes == 1).all().any()
        both_classes_in_each = (sizes > 0).all(axis=None)
        if one_case_each and both_classes_in_each:
            proposed.append(name)
    return proposed


def _columns_with_room(numbers, n_sets):
    """Return the names of the columns that may hold `n_sets` different labels.

    These are columns of whole numbers in a range of `n_sets` or more, and columns of
    text, which have no number. Counting the labels of all others would be slow.
    """
    # a cell that is no number does not count against its column
    is_whole = (numbers % 1).fillna(0).eq(0).all()
    width = numbers.max() - numbers.min()  # nan for a column of text
    has_room = width.isna() | (width >= n_sets - 1)
    return numbers.columns[has_room & is_whole]


def rows_in_sets(spec, frame, stay):
    """Return the rows, (M,) bool, among those that stay, whose set has a case and a
    control, and notes about the others.

    The case is the class that has one row in each set, or the one that was named, and
    is kept in `spec.case`. Raises an `InputError` for other than two classes, for pairs
    in which either may be the case, and for a set of several cases.
    """
    labels = text_column(frame[spec.matched]).where(stay)
    sizes = set_sizes(labels, text_column(frame[spec.target]).where(stay))
    classes = list(sizes)
    problem = f"{spec.where}: '{printable(spec.target)}'"
    if len(classes) != 2:
        raise InputError(
            f"{problem} has the classes {quoted(classes)}: {spec.typed('matched')}"
            " needs two, cases and controls"
        )
    most = sizes.max()
    cases = list(most.index[most == most.min()])
    if len(cases) > 1:  # pairs
        cases = [word for word in cases if word.lower() in ("case", "1", "yes", "true")]
    if spec.positive is not None:
        cases = [str(spec.positive)]
    if len(cases) != 1:
        raise InputError(
            f"{problem} is {quoted(classes)}: {spec.typed('positive')} says which one"
            " is the case"
        )
    case = cases[0]
    if case not in classes:
        problem += f" has no class '{printable(case)}', only {quoted(classes)}"
        raise InputError(f"{problem}{meant(case, classes)}")
    several = sizes.index[sizes[case] > 1]
    if len(several):
        problem += (
            f" is '{printable(case)}' in {sizes.loc[several[0], case]} rows of the set"
            f" '{printable(several[0])}' of '{printable(spec.matched)}'"
        )
        raise InputError(f"{problem}: a set has one case: make sets of one case each")
    spec.case = case
    inside = labels.isin(sizes.index[(sizes > 0).all(axis=1)]).to_numpy()
    n_alone = int((stay & ~inside).sum())
    notes = []
    if n_alone:
        problem = f"their set in '{printable(spec.matched)}' has no case, or no control"
        notes.append(f"{n_alone} of {len(stay)} rows left out: {problem}")
    return stay & inside, notes


def response(spec, frame):
    """Return the target of survival times that are all equal: a case is the event."""
    is_case = text_column(frame[spec.target]) == spec.case
    return pd.DataFrame(dict(event=is_case, time=1.0)).to_records(index=False)


def describe(spec, y):
    """Describe the comparison in a sentence; y, (M,), has a field event."""
    return (
        f"{int(y['event'].sum())} sets in '{printable(spec.matched)}': the row"
        f" '{printable(spec.case)}' of each is compared with the others in it"
        " (conditional logistic regression); ratios are odds ratios"
    )
