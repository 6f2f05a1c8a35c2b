"""The docstrings of the public names as numpydoc reads them; the reference shows what
stands in them.
"""

import inspect
import sys
from pkgutil import resolve_name

import pytest
from browsing import ROOT
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

sys.path.insert(0, str(ROOT / "docs"))
from reference import beside


def documented():
    """{full name: what it is}: each public name, and the methods it has from us."""
    found = {}
    for name in beside():
        found[name] = thing = resolve_name(name)
        for part, method in inspect.getmembers(thing, inspect.isfunction):
            if part[0] != "_" and method.__module__.startswith("rvamp_nb"):
                found[f"{name}.{part}"] = method
    return found


THINGS = documented()


def faults(name, thing):
    """What numpydoc finds: a parameter that is not there (PR02), or is left out where
    others are named in prose (PR01), and an answer that falls into pieces.
    """
    read = get_doc_object(thing)
    codes = {"PR01", "PR02"} if read["Parameters"] else {"PR02"}
    yield from (text for code, text in validate(name)["errors"] if code in codes)
    pieces = [each.type for each in read["Returns"] if not each.desc]
    if len(read["Returns"]) > 1 and pieces:
        yield f"Returns: {pieces}"


@pytest.mark.parametrize("name", THINGS)
def test_numpydoc_reads_a_docstring_as_it_is_meant(name):
    assert [*faults(name, THINGS[name])] == []


def test_a_fault_is_seen(monkeypatch):
    def drawn(a, b):
        """Draw.

        Parameters
        ----------
        a : float, or
        c

        Returns
        -------
        Axes, or
        nothing.
        """

    monkeypatch.setattr("rvamp_nb.datasets.toy", drawn)
    found = [*faults("rvamp_nb.datasets.toy", drawn)]
    assert [text.partition(" {")[0] for text in found] == [
        "Parameters",
        "Unknown parameters",
        "Returns: ['Axes, or', 'nothing.']",
    ]
