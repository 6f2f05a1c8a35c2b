"""The reference: the public names by task (reference.txt). Autosummary makes the tables
(api.md), and for each name a page of its docstring (templates/name.rst;
tests/pages/test_docstrings.py holds these).
"""

import re
import sys
from pathlib import Path
from pkgutil import resolve_name

from translate import ROOT, notebook_files

from rvamp_nb._modidx import d

sys.path.append(str(ROOT / "tests/helpers"))
from plain import PLAIN

TEXT = Path(__file__).with_name("reference.txt").read_text(encoding="utf-8")
TASKS = {  # {what a user wants to do: with which names}
    task: names.split()
    for task, names in (line.split(" = ") for line in TEXT.splitlines()[2:])
}
METHODS = "Draw"  # their pages are those of their classes


def beside():
    """{a name as Python knows it: the others of its task}."""
    tasks = [names for task, names in TASKS.items() if task != METHODS]
    return {
        f"rvamp_nb.{name}": [f"rvamp_nb.{other}" for other in names if other != name]
        for names in tasks
        for name in names
    }


def homes():
    """{a public name: where it is derived, and the file that one edits to change it}:
    the stem of the notebook that exports it, and that notebook; of a plain module the
    chapter that derives what it computes, and that module.
    """
    stems = {re.sub(r"/\d+_", "/", stem): stem for stem in notebook_files()}
    places = {name: at for room in d["syms"].values() for name, (at, _) in room.items()}
    found = {}
    for name in beside():
        thing = resolve_name(name)
        room = thing.__module__.removeprefix("rvamp_nb.")
        if room in PLAIN:
            file = f"rvamp_nb/{room.replace('.', '/')}.py"
            found[name] = f"course/{PLAIN[room]}", file
        else:
            place = places[f"{thing.__module__}.{thing.__name__}"]
            stem = stems[place.partition(".html")[0]]
            found[name] = stem, f"nbs/{stem}.ipynb"
    return found
