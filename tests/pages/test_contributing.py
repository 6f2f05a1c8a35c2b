"""What CONTRIBUTING.md has one run does what it says."""

import nbformat
import pytest
from execute import WIDGET, execute
from nbclient.exceptions import CellExecutionError

CODE = """\
import sys
import ipywidgets
print(1, flush=True)
print("a progress bar", file=sys.stderr, flush=True)
print(2, flush=True)
ipywidgets.IntSlider()"""


def test_a_second_run_changes_nothing(tmp_path):
    path = tmp_path / "page.ipynb"
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CODE)])
    nbformat.write(nb, path)
    execute(path)
    [printed, slider] = nbformat.read(path, 4).cells[0].outputs
    assert printed.text == "1\n2\n" and "model_id" in slider.data[WIDGET]
    first = path.read_text()
    execute(path)
    assert path.read_text() == first
    failing = first.replace("import sys", "1 / 0")
    path.write_text(failing)
    with pytest.raises(CellExecutionError):
        execute(path)
    assert path.read_text() == failing
