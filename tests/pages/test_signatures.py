"""Signatures: whatever a user calls or reads says its types, where it is made."""

import ast
import dataclasses
import importlib
import inspect

import pytest
from notebooks import ROOT
from offered import public
from test_language import RETURNED

import rvamp_nb

THINGS = public() | {
    name: getattr(importlib.import_module(f"rvamp_nb.{room}"), name)
    for room, names in RETURNED.items()
    for name in names
    if room not in ("select.frames", "select.penalty")  # of the command, and inside
}


def untyped(function, called, method):
    """The parameters of a function that have no type, and its answer."""
    signature = inspect.signature(function)
    for name, parameter in [*signature.parameters.items()][method:]:
        if parameter.annotation is inspect.Parameter.empty:
            yield f"{called}({name}=)"
    if signature.return_annotation is inspect.Signature.empty:
        yield f"{called}()"


def function_of(part):
    """What is called for an attribute of a class: a method, or what a property asks."""
    for inner in ("fget", "func", "fn"):  # property, cached_property, available_if
        part = getattr(part, inner, part)
    return part


def faults(thing, called):
    """What has no type: of a function, or of a class's methods and properties, those
    that it has from private bases, too.
    """
    if not inspect.isclass(thing):
        yield from untyped(thing, called, False)
        return
    ours = [kind for kind in thing.__mro__ if kind.__module__.startswith("rvamp_nb")]
    seen = {name for kind in ours for name in vars(kind).get("__annotations__", ())}
    for kind in ours:
        made = dataclasses.is_dataclass(kind)  # its __init__ is, of what is annotated
        for name, part in vars(kind).items():
            part = function_of(part)
            public = name[0] != "_" or name == "__init__" and not made
            if public and name not in seen and inspect.isfunction(part):
                seen.add(name)
                if part.__module__.startswith("rvamp_nb"):
                    yield from untyped(part, f"{called}.{name}", True)


@pytest.mark.parametrize("name", THINGS)
def test_a_signature_says_its_types(name):
    assert [*faults(THINGS[name], name)] == []


class Untyped:
    """As a class of ours that forgot its types."""

    alone = property(lambda self: 0)

    def __init__(self, a, b: int = 0) -> None: ...

    def both(self, a: int): ...

    def _private(self, a): ...


def test_what_has_no_type_is_found():
    Untyped.__module__ = Untyped.both.__module__ = "rvamp_nb.here"
    for part in (Untyped.__init__, Untyped.alone.fget):
        part.__module__ = "rvamp_nb.here"
    found = ["C.alone()", "C.__init__(a=)", "C.both()"]
    assert [*faults(Untyped, "C")] == found
    assert [*faults(untyped, "f")][:2] == ["f(function=)", "f(called=)"]


def test_a_public_name_is_listed_once():
    """By `__init__.pyi`, which says nothing else: it has no types of its own."""
    text = (ROOT / "rvamp_nb" / "__init__.pyi").read_text(encoding="utf-8")
    about, *imports, version = ast.parse(text).body
    assert all(isinstance(node, ast.ImportFrom) for node in imports)
    names = [alias for node in imports for alias in node.names]
    assert all(alias.name == alias.asname for alias in names)  # re-exported
    assert sorted(alias.name for alias in names) == rvamp_nb.__all__
    assert ast.unparse(version) == "__version__: str"
