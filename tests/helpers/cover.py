"""Which cases of a grid are run: fewer, and the same ones in every run."""

import zlib
from pathlib import Path

from hypothesis import settings

PACKAGE = Path(__file__).resolve().parents[2] / "rvamp_nb"


def pairwise(first, second, third):
    """As many cases as the first two have pairs, in which every value of each stands
    beside every value of the others; the third has no more values than either.
    """
    third = list(third)
    return [
        (a, b, third[(i + j) % len(third)])
        for i, a in enumerate(first)
        for j, b in enumerate(second)
    ]


def in_turn(cases, n):
    """n of the cases. Which ones the package's text decides: a run can be repeated, and
    a change meets others. With --explore all of them.
    """
    cases = list(cases)
    if not settings().derandomize:
        return cases
    text = b"".join(path.read_bytes() for path in sorted(PACKAGE.rglob("*.py")))
    first = zlib.crc32(text) % len(cases)
    return [cases[(first + k) % len(cases)] for k in range(n)]
