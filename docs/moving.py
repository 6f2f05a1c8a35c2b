"""What moves on a page of the site: widgets that need no Python, and films of the
others (films.py).
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests/helpers"))

import kept

WIDGET = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
NEEDS_PYTHON = "{.needs-python}\nThese controls need Python: they move in the notebook."
FEWER = "{.needs-python}\nIn the notebook these controls have more values than here."


def view(output):
    """Return the number of the widget that an output shows, or None."""
    return output.get("data", {}).get(WIDGET, {}).get("model_id")


def views(nb):
    """Return the numbers of the widgets that a notebook shows, in their order."""
    outputs = (out for cell in nb.cells for out in cell.get("outputs", ()))
    return [*filter(None, map(view, outputs))]


def states_of(files, pages):
    """Return {stem: what the widgets hold that move on its page, as a test kept it}.

    Tests leave films out, whose pictures take longer than all
    else, but under CI: notebooks with films run here, where these are not kept.
    """
    kept.find_riboflavin()  # as the tests do: it is part of the key
    paths = {stem: files[stem] for stem, nb in pages.items() if views(nb)}
    todo = [p for p in paths.values() if not kept.find(p, "site", kept.key(p))]
    workers = min(os.cpu_count(), len(todo)) if len(todo) > 1 else 0  # one: here
    test = [sys.executable, "-m", "pytest", "-q", "--films", "-n", str(workers)]
    if todo and subprocess.call([*test, *todo], cwd=ROOT):
        sys.exit("a notebook fails: see above")
    return {stem: json.loads(kept.last(p, "site")[1]) for stem, p in paths.items()}


def give_states(nb, states, stem):
    """Put what its widgets hold into a notebook, as a run in Jupyter would; not
    for None, which needs Python; a script of several once: others name the first.
    """
    if len(views(nb)) != len(states):
        sys.exit(f"nbs/{stem}.ipynb shows other widgets than its outputs: run it anew")
    models = {number: state for number, state in zip(views(nb), states) if state}
    scripts = {}
    for number, model in models.items():
        first = scripts.setdefault(model["state"]["_esm"], number)
        if first != number:
            model["state"]["_esm"] = first
    nb.metadata["widgets"] = {STATE: {"state": models}}


def held(nb):
    """Return {number: what a widget holds that moves on the page of a notebook}."""
    return nb.metadata.get("widgets", {STATE: {"state": {}}})[STATE]["state"]


def note(output, widgets):
    """Return what stands below a widget that is still there, or has fewer values."""
    if view(output) is None:
        return None
    if view(output) not in widgets:
        return NEEDS_PYTHON
    table = widgets[view(output)]["state"].get("table", {})
    return FEWER if table.get("fewer") else None
