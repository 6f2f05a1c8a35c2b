"""The public names, and what is read of them."""

import inspect
import re
import sys

import rvamp_nb
from rvamp_nb import results


def public():
    """{name: the thing}: what ``from rvamp_nb import ...`` offers, and of a module that
    it offers the functions.
    """
    found = {}
    for name in rvamp_nb.__all__:
        thing = getattr(rvamp_nb, name)
        if not inspect.ismodule(thing):
            found[name] = thing
            continue
        parts = {part: getattr(thing, part) for part in thing.__all__}
        functions = {k: part for k, part in parts.items() if inspect.isfunction(part)}
        found |= {f"{name}.{part}": function for part, function in functions.items()}
    return found


def types_of_answers(thing):
    """The classes of the package that a function, or a method of a class, returns by
    its signature.
    """
    parts = [thing]
    if inspect.isclass(thing):
        parts = [m for n, m in inspect.getmembers(thing, callable) if n[0] != "_"]
    for part in map(inspect.unwrap, parts):
        room = sys.modules[getattr(part, "__module__", None) or "builtins"]
        answer = str(getattr(part, "__annotations__", {}).get("return", ""))
        for word in re.findall(r"\w+", answer):
            kind = getattr(room, word, None)
            if inspect.isclass(kind) and kind.__module__.startswith("rvamp_nb."):
                yield kind


def come_back():
    """{a class: what returns it}: of the public functions, of the estimator, of a fit,
    and of what these return.
    """
    asked = [thing for thing in public().values() if inspect.isfunction(thing)]
    asked += [rvamp_nb.StabilitySelection, results.Fit]
    found = {}
    for thing in asked:  # it grows
        for kind in types_of_answers(thing):
            if kind not in found:
                found[kind] = thing.__name__
                asked.append(kind)
    return found


def first_sentence(text):
    """Of a docstring, on one line: up to a period before a capital, or to the end;
    without the labels of equations, which stand in brackets.
    """
    paragraph = " ".join(text.partition("\n\n")[0].split())
    sentence = re.split(r"(?<=\.)\s+(?=[A-Z`(])", paragraph)[0]
    return re.sub(r" \((`\w+[:-][\w:-]+`(, )?)+\)", "", sentence)
