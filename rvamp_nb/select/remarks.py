"""Warnings about an answer: no refits, poor reliability, leaks, unreachable thresholds.

A fit gives them once its answer is there, in this order. They refuse nothing: the
answer stands as it is. Here one column is nearly the target, so that no penalty selects
more than this one; and refits, which would correct the probabilities, are switched off.

>>> import warnings
>>> import numpy as np
>>> from rvamp_nb import StabilitySelection, datasets
>>> from rvamp_nb.select.remarks import remarks_on
>>> d = datasets.load_diabetes()
>>> X = np.column_stack([d.A[:, :9], d.y + 0.01 * np.sin(np.arange(442))])
>>> with warnings.catch_warnings():
...     warnings.simplefilter("ignore")
...     selector = StabilitySelection(n_resamples=0).fit(X, d.y)
>>> for text, kind in remarks_on(selector.selection_):
...     print(f"{kind.__name__}: {text[:50]} ...")
UserWarning: q not met: 1 selected on average where q = 2.24; n ...
ReliabilityWarning: do not trust this answer without refits (see refin ...
"""

import numpy as np

from ..exceptions import ReliabilityWarning
from ..validation import format_list
from .target import suspected

__all__ = ["remarks_on"]


def remarks_on(selection):
    """Yield warnings about the answer of a `Selection`, as pairs of a text and the
    class of the warning.

    A `ReliabilityWarning` says that the answer, or its probabilities, should not be
    relied on; a UserWarning that it is about something else than was asked for.
    """
    answered = selection.fit.converged
    diagnostics = selection.diagnostics
    if selection.refit_error:
        yield (
            "no refits were made, and the probabilities are rVAMP's alone:"
            f" {selection.refit_error}",
            ReliabilityWarning,
        )
    if not answered:
        yield f"nothing is selected: {selection.status}", ReliabilityWarning
    elif selection.status != "converged":
        yield (
            f"{selection.status}; expected false selections ≤"
            f" {selection.pfer_bound:.2g}",
            UserWarning,
        )
    if answered:
        for text in _describe_leaks(selection):
            yield text, UserWarning
        if _is_shared_out(selection):
            yield _nothing_selected(selection), UserWarning
    # the grade is of rVAMP alone, whose errors refits correct
    if diagnostics.reliability == "red" and answered and selection.refined is None:
        yield (
            "do not trust this answer without refits (see refine): its reliability is"
            f" poor: {'; '.join(diagnostics.reasons)}",
            ReliabilityWarning,
        )
    for group in diagnostics.duplicates[:3]:
        names = format_list(selection.question.columns.names, group)
        yield (
            f"columns {names} are the same up to sign and the last digits: taken as"
            " one, each is given its probability",
            UserWarning,
        )


def _describe_leaks(selection):
    """Return texts about selected features that are nearly a copy of the target, which
    may have leaked into them, as `suspected` finds them.
    """
    question = selection.question
    columns = question.columns
    # the selected columns whose values A has: of a group it has a basis instead
    chosen = np.flatnonzero(selection.support & (columns.group < 0))
    values = question.A[:, columns.where[chosen]]
    # with K classes A has K - 1 rows for a sample: the first has the table's values
    rows_of_sample = len(values) // len(question.target.y)
    values = values[::rows_of_sample]
    return suspected(question.target, columns.names, chosen, values)


def _strong_ones(selection):
    """Return Π of the candidates that stand out from the noise."""
    stands_out = _stands_out(selection.fit) & selection.question.candidates
    return selection.fit.Pi[stands_out]


def _is_shared_out(selection):
    """Return True if so many equally strong features share the q places that none can
    reach the threshold; False for penalties that were given, or not found.
    """
    # a search that did not find its penalty has a status that says what to do, and
    # penalties that were given are what somebody wants
    if selection.status != "converged" or selection.asked["lambdas"] is not None:
        return False
    columns = selection.question.columns
    Pi = selection.probabilities[columns.first][selection.question.candidates]
    strong = _strong_ones(selection)
    # the mean of their Π is at most q divided by their number
    highest = max(Pi.max(), selection.q / max(len(strong), 1))
    # of unequal features the strongest may have more than its share
    alike = 2 * strong.sum() ** 2 > len(strong) * (strong @ strong)
    return highest < selection.threshold and alike


def _nothing_selected(selection):
    """Write the warning that nothing could be selected, with numbers and a remedy."""
    n_strong = len(_strong_ones(selection))
    share = selection.q / max(n_strong, 1)
    places = f"{selection.question.columns.feature} has"
    if n_strong > 1:
        places = f"{selection.question.columns.feature}s share"
    return (
        f"nothing could be selected here: {n_strong} strong {places} q ="
        f" {selection.q:.3g} places in each resample, a mean Π of at most {share:.2g},"
        f" and the threshold is {selection.threshold:.3g}; raise q or pfer, or lower"
        " the threshold"
    )


def _stands_out(fit):
    """Find which columns the data pull three standard deviations across resamples away
    from zero, (n,) bool; of columns that are selected together, their root mean square.
    """
    n = len(fit.Pi)
    prior = fit.problem.prior
    _, field, noise = (part[:n] for part in fit.last.state.to_prior.alone())
    squares = field**2
    pull = np.divide(squares, noise, out=np.zeros(n), where=noise > 0)
    if prior.column_groups is not None:
        groups = prior.column_groups
        pull = (np.bincount(groups.index, pull) / groups.sizes)[groups.index]
    return pull > 9
