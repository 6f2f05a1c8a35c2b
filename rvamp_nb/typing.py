"""Type aliases of public signatures, and refusals of arguments by their old names.

==================  ================================================================
`Array`             an array of 64-bit floats: what the package computes
`Bools`, `Ints`     arrays of truth values, and of numbers of rows or columns
`ArrayLike`         NumPy's: an array, a list or a number, of which floats are made
`TableLike`         an array, a data frame, a sparse matrix, a `ChunkedTable` or a
                    Dask array: no type covers these without loading their libraries
`FilePath`          text, or a path
`Axes`              that of matplotlib, which no signature loads
`DataFrame`         that of pandas, and so is `Series`
==================  ================================================================

Shapes are no part of these types: NumPy's annotations hardly know them. Shapes stand in
the docstrings and are checked when a function is called (`rvamp_nb.validation`). Types
are for readers and type checkers (the package has a `py.typed`); nothing refuses a type
at run time.

Python refuses an argument that it does not know, but cannot know what to write today:
until version 1.0, functions whose arguments had other names in 0.3.0 or 0.4.0, or had
more of them, are marked `@renamed`. Their signatures stay as they are.

>>> import inspect
>>> from rvamp_nb import datasets, rvamp
>>> str(inspect.signature(datasets.load_riboflavin)).partition(" -> ")[0]
'(path: str | os.PathLike[str] | None = None)'
>>> rvamp([[1.0]], [1.0], blocks="auto")
Traceback (most recent call last):
    ...
TypeError: rvamp: blocks= has left: write with_clusters(fit)
"""

from functools import wraps
from inspect import signature
from os import PathLike
from typing import TYPE_CHECKING, Any, NewType, TypeVar

import numpy as np

__all__ = [
    "Array",
    "ArrayLike",
    "Axes",
    "Bools",
    "DataFrame",
    "FilePath",
    "Ints",
    "Series",
    "TableLike",
    "renamed",
]


FilePath = str | PathLike[str]
if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from numpy.typing import ArrayLike as ArrayLike
    from numpy.typing import NDArray
    from pandas import DataFrame as DataFrame
    from pandas import Series as Series

    Array = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Ints = NDArray[np.intp]
    TableLike = Any  # of the libraries that have tables none is loaded for a signature
else:  # the same, under a name that a printed signature shows
    ArrayLike = NewType("ArrayLike", object)
    Axes = NewType("Axes", object)
    DataFrame = NewType("DataFrame", object)
    Series = NewType("Series", object)
    TableLike = NewType("TableLike", object)
    Array, Bools, Ints = (NewType(n, np.ndarray) for n in ("Array", "Bools", "Ints"))


_T = TypeVar("_T")
# {an argument of 0.3.0 or 0.4.0: what it is called now, or what to write}
_NOW = {
    "blocks": "has left: write with_clusters(fit)",
    "column_clusters": "has left: write with_clusters(fit)",
    "randomise": "randomize",
    "block": "chunk_size",
    "refits": "n_resamples",
    "n_refits": "n_resamples",
    "centre": "center",
    "unit": "scale",
    "root": "row_scale",
    "ones": "intercept",
    "likelihood": "loss",
    "counts": "resampling",
    "lams": "lambdas",
    "progress": "verbose",
    "seed": "random_state",
    "l1_ratio": "has left: write prior=ElasticNet(1.0, l1_ratio=0.5)",
    "randomize": "has left: write prior=Laplace(1.0, TwoPoint(2, 0.5))",
    "positive": "has left: write prior=NonNegative(lam)",
    "penalty_factor": "has left: write prior=Laplace(lam, penalty_factor=...)",
    "delta": "has left: write loss=Huber(delta)",
    "n_lambdas": "has left: write lambdas=20 for a path of 20 penalties",
    "lambda_min_ratio": "has left: a path of lambdas=20 ends at 0.05 of its largest"
    " penalty; for another end write the penalties, lambdas=[...]",
    "columns_per_feature": "has left: give a pilot=, a table of features like yours",
    "decoys": "has left: write q_values(decoys='permuted') after the fit",
    "categories": "has left: write summary(categories=...) after the fit, and"
    " column_groups={...} for levels that are selected together",
    "min_features": "has left: the first rows of summary() are the most probable"
    " features; for more of them write a lower threshold, or a larger pfer",
    "max_iter": "has left: a fit takes 500 steps at most; write a larger tol, or larger"
    " lambdas, where these are not enough",
}


def renamed(function: _T) -> _T:
    """Decorate a function so that it refuses the old names of its arguments.

    The function that is returned works as before. Called with a name that an argument
    had in version 0.3.0 or 0.4.0, it raises a TypeError that says what to write now.

    >>> from rvamp_nb.typing import renamed
    >>> @renamed
    ... def fit(A, loss="squared"):
    ...     return loss
    >>> fit(1, likelihood="logistic")
    Traceback (most recent call last):
        ...
    TypeError: fit: likelihood= is called loss= now
    """
    # a name may be old in one function and in use in another
    old_names = _NOW.keys() - signature(function).parameters.keys()

    @wraps(function)
    def refusing_function(*args, **keywords):
        refused = list(old_names & keywords.keys())
        if not refused:
            return function(*args, **keywords)
        called = function.__name__
        if called == "__init__":  # a user has called the class: `self` is args[0]
            called = type(args[0]).__name__
        old_name = refused[0]
        raise TypeError(f"{called}: {old_name}= {_remedy(old_name, old_names)}")

    return refusing_function


def _remedy(old, old_names):
    """Say what to write for an old argument: another name, or what replaces it.

    `old_names` are all names that the function refuses. A name of 0.3.0 may have become
    one that is refused itself by now: then the remedy is that of the second name.
    """
    remedy = _NOW[old]
    if remedy in old_names:
        remedy = _NOW[remedy]
    if remedy.isidentifier():
        remedy = f"is called {remedy}= now"
    return remedy
