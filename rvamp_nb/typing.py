"""Type aliases of public signatures, and refusals of arguments by their old names.

==================  ================================================================
`Array`             an array of 64-bit floats: what the package computes
`Bools`, `Ints`     arrays of truth values, and of numbers of rows or columns
`ArrayLike`         NumPy's: an array, a list or a number, of which floats are made
`TableLike`         an array, a data frame, a sparse matrix, a `ChunkedTable` or a
                    Dask array: no type covers these without loading their libraries
`FilePath`          text, or a path
`Axes`, `DataFrame` those of matplotlib and of pandas, which no signature loads
==================  ================================================================

Shapes are no part of these types: NumPy's annotations hardly know them. Shapes stand in
the docstrings and are checked when a function is called (`rvamp_nb.validation`). Types
are for readers and type checkers (the package has a `py.typed`); nothing refuses a type
at run time.

Python refuses an argument that it does not know, but cannot know what it is called
today: until version 1.0, functions whose arguments had other names in 0.3.0 are marked
`@renamed`. Their signatures stay as they are.

>>> import inspect
>>> from rvamp_nb import datasets, rvamp
>>> str(inspect.signature(datasets.load_riboflavin)).partition(" -> ")[0]
'(path: str | os.PathLike[str] | None = None)'
>>> rvamp([[1.0]], [1.0], blocks="auto")
Traceback (most recent call last):
    ...
TypeError: rvamp: blocks= is called column_clusters= now
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
    "TableLike",
    "renamed",
]


FilePath = str | PathLike[str]
if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from numpy.typing import ArrayLike as ArrayLike
    from numpy.typing import NDArray
    from pandas import DataFrame as DataFrame

    Array = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Ints = NDArray[np.intp]
    TableLike = Any  # of the libraries that have tables none is loaded for a signature
else:  # the same, under a name that a printed signature shows
    ArrayLike = NewType("ArrayLike", object)
    Axes = NewType("Axes", object)
    DataFrame = NewType("DataFrame", object)
    TableLike = NewType("TableLike", object)
    Array, Bools, Ints = (NewType(n, np.ndarray) for n in ("Array", "Bools", "Ints"))


_T = TypeVar("_T")
_NOW = {  # {an argument of 0.3.0 or 0.4.0: its name now, or what is written now}
    "blocks": "column_clusters",
    "randomise": "prior=Laplace(lam, randomize=...)",
    "randomize": "prior=Laplace(lam, randomize=...)",
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
    "l1_ratio": "prior=ElasticNet(lam, l1_ratio=...)",
    "positive": "prior=NonNegative(lam)",
    "penalty_factor": "prior=Laplace(lam, penalty_factor=...)",
    "delta": "loss=Huber(delta)",
}


def renamed(function: _T) -> _T:
    """Wrap a function, which refuses (TypeError) an argument that it no longer has, and
    says what to write now.
    """
    taken = signature(function).parameters.keys()

    @wraps(function)
    def called(*args, **named):
        for old in _NOW.keys() & named.keys() - taken:
            name = function.__name__
            if name == "__init__":
                name = type(args[0]).__name__
            now = _NOW[old]
            if now.isidentifier():
                now = f"{now}="
            raise TypeError(f"{name}: {old}= is called {now} now")
        return function(*args, **named)

    return called
