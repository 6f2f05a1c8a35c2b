"""The notebooks as the tests of their text see them: each is read once a run, and
nobody changes what was read.
"""

import inspect
from functools import cache
from pathlib import Path

import nbformat
from house import parsed

ROOT = Path(__file__).resolve().parents[2]
PATHS = sorted((ROOT / "nbs").rglob("[!_.]*.ipynb"))
COURSE = [path for path in PATHS if path.parent.name == "course"]  # in reading order
WORKSHOP = [path for path in PATHS if path.parent.name == "workshop"]


def chapter_number(path):
    """``"3.1"`` for ``31_prior.ipynb``: its part and its place there."""
    return f"{path.stem[0]}.{path.stem[1]}"


@cache
def notebook(path):
    return nbformat.reader.reads(path.read_text(encoding="utf-8"))


def cells(path, kind=None):
    """All cells of a notebook, or those of one kind."""
    return [cell for cell in notebook(path).cells if kind in (None, cell.cell_type)]


@cache
def trees(path):
    """The syntax trees of a notebook's code cells (lines of magic left out)."""
    return [
        parsed(
            "\n".join(
                line
                for line in cell.source.splitlines()
                if not line.lstrip().startswith(("%", "!"))
            )
        )
        for cell in cells(path, "code")
    ]


def each(paths):
    """One test of many notebooks: it names all that fail."""

    def of_all(check):
        def test(**fixtures):
            wrong = {}
            for path in paths:
                try:
                    check(path=path, **fixtures)
                except AssertionError as error:
                    wrong[path.stem] = str(error)
            assert wrong == {}, wrong

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        others = inspect.signature(check).parameters.copy()
        del others["path"]
        test.__signature__ = inspect.Signature(others.values())
        return test

    return of_all
