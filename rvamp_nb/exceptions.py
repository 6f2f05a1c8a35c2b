"""Warnings and the error that a program may want to catch by name.

>>> import warnings
>>> from rvamp_nb.exceptions import ConvergenceWarning
>>> with warnings.catch_warnings():
...     warnings.simplefilter("error", ConvergenceWarning)  # stop instead
"""

__all__ = ["ChunkError", "ConvergenceWarning", "ReliabilityWarning"]


class ConvergenceWarning(UserWarning):
    """Warn that rVAMP stopped before its messages settled; the status names what to
    try.

    See Also
    --------
    ReliabilityWarning : Warn of an answer that should not be trusted.
    Fit : Its `status` and `trace` tell more.

    Examples
    --------
    >>> import warnings
    >>> from rvamp_nb import rvamp
    >>> from rvamp_nb.datasets import toy
    >>> from rvamp_nb.exceptions import ConvergenceWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     fit = rvamp(*toy()[:2], 0.6, max_iter=1)
    >>> print(fit.converged, caught[0].category is ConvergenceWarning)
    False True
    """


class ReliabilityWarning(UserWarning):
    """Warn that an answer of rVAMP should not be trusted without refits, or does not
    hold.

    See Also
    --------
    Diagnostics : Report the signs of trouble.
    refine : Make refits.
    ConvergenceWarning : Warn that messages did not settle.

    Examples
    --------
    >>> import warnings
    >>> from rvamp_nb import StabilitySelection, datasets
    >>> from rvamp_nb.exceptions import ReliabilityWarning
    >>> d = datasets.gaussian_design(20, 3, density=0.4, seed=2)
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     s = StabilitySelection(n_resamples=0).fit(d.A, d.y)
    >>> found[-1].category is ReliabilityWarning, s.diagnostics_.reliability
    (True, 'red')
    """


class ChunkError(OSError):
    """Report that a chunk of a table could not be read, and which one: an OSError.

    A pass over the table raises it where the file, or the task that holds the chunk,
    fails; the cause is its `__cause__`.

    See Also
    --------
    ChunkedTable, DaskTable : The tables that raise it.

    Examples
    --------
    >>> from rvamp_nb.exceptions import ChunkError
    >>> try:
    ...     raise ChunkError("columns 0 to 99 could not be read")
    ... except OSError as error:
    ...     print(error)
    columns 0 to 99 could not be read
    """
