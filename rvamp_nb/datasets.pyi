"""As __init__.pyi, for the room of the data."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Dataset",
    "RIBOFLAVIN_URL",
    "RIBOFLAVIN_SHA256",
    "toy",
    "unit_columns",
    "standardize",
    "random_dct",
    "gaussian_design",
    "load_diabetes",
    "load_riboflavin",
    "choose_lambda",
]

RIBOFLAVIN_URL: str
RIBOFLAVIN_SHA256: str

class Dataset(NamedTuple):
    A: NDArray[np.float64]
    y: NDArray[np.float64]
    x0: NDArray[np.float64] | None
    names: tuple[str, ...] | None

def toy() -> Dataset: ...
def unit_columns(A: Any) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_]]: ...
def standardize(
    A: Any, y: ArrayLike | None = None, names: Sequence[str] | None = None
) -> tuple[Any, Any]: ...
def random_dct(
    N: int = 512,
    ratio: float = 0.15,
    density: float = 0.05,
    noise: float = 0.1,
    seed: Any = 0,
) -> Dataset: ...
def gaussian_design(
    M: int,
    N: int,
    rho: float = 0.0,
    density: float = 0.05,
    noise: float = 0.1,
    seed: Any = 0,
) -> Dataset: ...
def load_diabetes() -> Dataset: ...
def load_riboflavin(path: str | PathLike[str] | None = None) -> Dataset: ...
def choose_lambda(A: Any, y: ArrayLike, cv: int = 10, seed: int = 0) -> float: ...
