"""Execute notebooks in place, so that a diff shows only what has changed.

    python tests/helpers/execute.py nbs/course/23_rs_gaussian.ipynb

Several notebooks may be named. Each runs from top to bottom, in its own folder; if a
cell fails, the file stays as it was.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

WIDGET = "application/vnd.jupyter.widget-view+json"


def execute(path):
    """Execute the notebook at `path` and write it back with its new outputs."""
    nb = nbformat.read(path, as_version=4)
    before = [list(cell.get("outputs", [])) for cell in nb.cells]
    client = NotebookClient(
        nb,
        timeout=None,
        kernel_name="python3",
        coalesce_streams=True,  # one output for all that a cell prints
        store_widget_state=False,
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    for cell, old in zip(nb.cells, before):
        if cell.cell_type == "code":
            cell.outputs = cleaned(cell.outputs, old)
    nbformat.write(nb, path)


def cleaned(outputs, old):
    """Return the outputs of a cell without what it has written to stderr (progress
    bars), with the names of the widgets in its `old` outputs: new ones are random.
    """
    kept = [output for output in outputs if output.get("name") != "stderr"]
    names = [output.data[WIDGET] for output in old if WIDGET in output.get("data", {})]
    shown = [output for output in kept if WIDGET in output.get("data", {})]
    for output, name in zip(shown, names):
        output.data[WIDGET] = name
    return kept


if __name__ == "__main__":
    for name in sys.argv[1:]:
        try:
            execute(Path(name))
        except CellExecutionError as error:
            sys.exit(f"{name}: {error}")
