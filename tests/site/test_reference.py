"""The docstrings of the public names as numpydoc reads them; the reference shows what
stands in them.
"""

import inspect
import re
import sys
from pkgutil import resolve_name

import pytest
from browsing import ROOT, SETTLED, SITE
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate
from offered import come_back

sys.path.insert(0, str(ROOT / "docs"))
from reference import METHODS, TASKS, beside

from rvamp_nb.results import Fit


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
NAMES = set(beside())  # those with a page of their own; the others are methods

# What numpydoc asks for and the house does not.
LEFT = {
    "ES01",  # more than a summary: only where there is more to know
    "EX01",  # an example: tests/pages/test_docstrings.py asks names for one that runs
    "SS06",  # a summary of one line: the first sentence may take two
}
REFERS = re.compile(r"See `([\w.]+)`[.:;,]")  # an override: its base says the rest


def those_called(name):
    """The things whose full name is, or ends with, a short one."""
    exact = f"rvamp_nb.{name}"
    return [exact] if exact in THINGS else [n for n in THINGS if n.endswith(f".{name}")]


def is_whole(name):
    """Whether a short name is that of one thing, which has a docstring of its own."""
    found = those_called(name)
    text = inspect.getdoc(THINGS[found[0]]) if len(found) == 1 else None
    return bool(text) and not REFERS.match(text)


def excused(name, thing, read):
    """{code: parameters that the house lets off, or None for any}: what is an attribute
    needs not be a parameter, too; the first parameter of a method is its object,
    whatever it is called; parameters that are "As for `...`" have their types there;
    a method may be without See Also.
    """
    there = [part for part in read["Parameters"] if "As for `" in " ".join(part.desc)]
    known = {part for each in read["Attributes"] for part in each.name.split(", ")}
    typed = {part for each in there for part in each.name.split(", ")}
    off = {"PR01": known, "PR04": typed}
    off.update(dict.fromkeys(LEFT))
    if name not in NAMES:
        known.add(next(iter(inspect.signature(thing).parameters)))
        off["SA01"] = None
    return off


def faults(name, thing):
    """What numpydoc finds, by the rules of the house, and what leads nowhere: a method
    that refers to another takes its parameters from there.
    """
    text = inspect.getdoc(thing) or ""
    refers = REFERS.match(text)
    if refers:
        if not is_whole(refers[1]):
            yield f"{refers[1]} has no docstring of its own"
        return
    read = get_doc_object(thing)
    off = excused(name, thing, read)
    for code, fault in validate(name)["errors"]:
        named = set(re.findall(r"""['"]\**(\w+)['"]""", fault))
        if code not in off or not (off[code] is None or named <= off[code]):
            yield f"{code} {fault}"
    neighbours = [other for names, _ in read["See Also"] for other, _ in names]
    yield from (f"See Also: {n}" for n in neighbours if len(those_called(n)) != 1)


@pytest.mark.parametrize("name", THINGS)
def test_numpydoc_finds_nothing(name):
    assert [*faults(name, THINGS[name])] == []


def test_each_type_that_comes_back_has_a_page():
    """Its methods return others, which have theirs."""
    paged = {*map(resolve_name, NAMES)}
    assert {
        kind.__name__: by for kind, by in come_back().items() if kind not in paged
    } == {}
    assert Fit in come_back() and len(come_back()) > 15


def test_a_fault_is_seen(monkeypatch):
    def drawn(a, b, d):
        """Draw.

        Parameters
        ----------
        a : float, or
        c
        d
            As for `rvamp`.

        Returns
        -------
        Axes, or
        nothing.

        See Also
        --------
        elsewhere : Nothing.
        """

    monkeypatch.setattr("rvamp_nb.datasets.toy", drawn)
    found = [*faults("rvamp_nb.datasets.toy", drawn)]
    assert [text.partition(" {")[0] for text in found] == [
        "PR01 Parameters",
        "PR02 Unknown parameters",
        'PR07 Parameter "a" has no description',
        'PR04 Parameter "c" has no type',
        'PR07 Parameter "c" has no description',
        "RT03 Return value has no description",  # two, for it fell into pieces
        "RT03 Return value has no description",
        "See Also: elsewhere",
    ]


PICTURES = """name => {
    const entry = document.getElementById(name).closest("dl");
    const read = node => [node.getAttribute("alt") ?? node.getAttribute("aria-label"),
        node.naturalWidth ?? node.getBoundingClientRect().width];  // 0: no such file
    return [...entry.querySelectorAll("img, .widget svg[aria-label]")].map(read);
}"""


@pytest.mark.parametrize("name", TASKS[METHODS])
def test_what_draws_shows_the_picture_of_its_example(tab, address, name):
    """It can be seen, and is read aloud."""
    shown = f"rvamp_nb.{name}"
    tab.goto(f"{address}api/{shown.rpartition('.')[0]}.html")
    tab.evaluate(SETTLED)
    pictures = tab.evaluate(PICTURES, shown)
    assert pictures
    for words, width in pictures:
        assert len(words) > 20 and ".svg" not in words
        assert width > 200


@pytest.mark.parametrize("name", TASKS["What comes back"])
def test_a_type_that_comes_back_is_called_by_its_own_name(name):
    """With the names of its modules the title would break inside a word."""
    page = (SITE / "api" / f"rvamp_nb.{name}.html").read_text(encoding="utf-8")
    [title] = re.findall(r"<h1>(.*?)<", page)
    assert title == name.rpartition(".")[2]
    assert f"rvamp_nb.{name}</span>" in page.partition("<h1>")[2]


def test_all_that_draws_is_under_draw():
    drawing = {
        name.removeprefix("rvamp_nb.")
        for name in THINGS
        if re.match("plot|explore|draw_", name.rpartition(".")[2])
    }
    assert drawing == set(TASKS[METHODS])


@pytest.mark.parametrize("base", ["Prior.nothing", "Laplace.inner"])
def test_a_method_that_refers_to_no_whole_docstring_is_seen(base):
    """Laplace.inner is there, but refers to another one itself."""

    def inner(self, field): ...

    inner.__doc__ = f"See `{base}`."
    assert [*faults("rvamp_nb.Ridge.inner", inner)]
