"""The public names, and what is read of them."""

import inspect
import re

import rvamp_nb


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


def first_sentence(text):
    """Of a docstring, on one line: up to a period before a capital, or to the end;
    without the labels of equations, which stand in brackets.
    """
    paragraph = " ".join(text.partition("\n\n")[0].split())
    sentence = re.split(r"(?<=\.)\s+(?=[A-Z`(])", paragraph)[0]
    return re.sub(r" \((`\w+[:-][\w:-]+`(, )?)+\)", "", sentence)
