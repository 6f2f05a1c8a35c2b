"""The reference: the public names by task (reference.txt), then from A to Z.
Autosummary makes the tables, and for each name a page of its docstring
(templates/name.rst; tests/pages/test_docstrings.py holds these).
"""

from pathlib import Path

TEXT = Path(__file__).with_name("reference.txt").read_text(encoding="utf-8")
TASKS = {  # {what a user wants to do: with which names}
    task: names.split()
    for task, names in (line.split(" = ") for line in TEXT.splitlines()[2:])
}
METHODS = "Draw"  # their pages are those of their classes
TABLE = """\
## {task}

```{{eval-rst}}
.. currentmodule:: rvamp_nb
.. autosummary::
   :nosignatures:{pages}

   {names}
```
"""
PAGES = "\n   :toctree: api\n   :template: name.rst"


def by_task():
    """The tables of the reference: one for each task."""
    return "\n".join(
        TABLE.format(
            task=task, pages="" if task == METHODS else PAGES, names="\n   ".join(names)
        )
        for task, names in TASKS.items()
    )


def from_a_to_z():
    """A link to each name, in a line."""
    names = sorted((name.removeprefix("rvamp_nb.") for name in beside()), key=str.lower)
    return ", ".join(f"{{py:obj}}`{name} <rvamp_nb.{name}>`" for name in names)


def beside():
    """{a name as Python knows it: the others of its task}."""
    tasks = [names for task, names in TASKS.items() if task != METHODS]
    return {
        f"rvamp_nb.{name}": [f"rvamp_nb.{other}" for other in names if other != name]
        for names in tasks
        for name in names
    }
