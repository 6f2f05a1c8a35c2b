"""How docs/build.py hands its pages to Sphinx."""

import re
import subprocess
import sys

import nbformat
from browsing import ROOT
from nbformat.v4 import new_markdown_cell, new_notebook

sys.path.insert(0, str(ROOT / "docs"))
import build


def test_a_warning_names_a_line_of_the_file(tmp_path):
    """Also in a fence far down. As many lines as the number says are put before it:
    if they were millions, this would take minutes.
    """
    fence = "```{eval-rst}\n.. no-such-directive:: x\n```"
    sources = ["# Title", *["Text."] * 300, f"Text {{no-such-role}}`x`.\n\n{fence}"]
    nb = new_notebook(cells=[*map(new_markdown_cell, sources)])
    build.number_lines(nb)
    page = tmp_path / "index.ipynb"
    nbformat.write(nb, page)
    quick = 'import sys\nsys.modules["rfc3987_syntax"] = None'  # see docs/conf.py
    (tmp_path / "conf.py").write_text(f'{quick}\nextensions = ["myst_nb"]\n')
    read = ["-q", "-b", "dummy"]  # nothing is written
    sphinx = [sys.executable, "-m", "sphinx", *read, tmp_path, tmp_path / "out"]
    told = subprocess.run(sphinx, capture_output=True, text=True).stderr
    numbers = map(int, re.findall(r"index\.ipynb:(\d+):", told))
    lines = page.read_text(encoding="utf-8").split("\n")
    named = [lines[number - 1] for number in numbers]
    assert ["no-such-role" in named[0], "no-such-directive" in named[1]] == [True, True]
