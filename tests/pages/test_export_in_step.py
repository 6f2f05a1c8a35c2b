"""Notebooks, package and README say the same: checked in a copy of the repository,
which is exported and cleaned anew.
"""

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
SOLUTION = {
    "tags": ["solution", "hide-cell"],
    "jupyter": {"source_hidden": True, "outputs_hidden": True},
}


def export_and_clean(folder):
    """Run these two of nbdev's commands on the project in ``folder``."""
    code = (
        "from nbdev.doclinks import nbdev_export; from nbdev.clean import nbdev_clean;"
        " nbdev_export(); nbdev_clean()"
    )
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)


@pytest.fixture(scope="module")
def remade(tmp_path_factory, repository_files):
    """A copy of the project whose modules are exported anew (all but __init__.py),
    then its notebooks cleaned.
    """
    copy = tmp_path_factory.mktemp("copy")
    for name in repository_files:
        if (
            name.parts[0] != "rvamp_nb"
            or name.name == "__init__.py"
            or name.suffix != ".py"
        ):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    tagged = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("1 + 1", metadata=SOLUTION)]
    )
    nbformat.write(tagged, copy / "nbs" / "99_tags.ipynb")
    export_and_clean(copy)
    return copy


def differing(names, copy):
    """Those of the named files that are not the same here and in the copy."""

    def content(path):
        return path.read_bytes() if path.exists() else None

    return sorted(
        str(name) for name in names if content(ROOT / name) != content(copy / name)
    )


def under(folder, names):
    return {name for name in names if name.parts[0] == folder}


def test_package_is_what_the_notebooks_export(remade, repository_files):
    exported = {
        path.relative_to(remade) for path in (remade / "rvamp_nb").rglob("*.py")
    }
    assert differing(under("rvamp_nb", repository_files) | exported, remade) == [], (
        "run nbdev_export"
    )


def test_export_leaves_the_rest_alone(remade, repository_files):
    rest = (
        set(repository_files)
        - under("rvamp_nb", repository_files)
        - under("nbs", repository_files)
    )
    assert differing(rest, remade) == []


def test_notebooks_are_clean(remade, repository_files):
    assert differing(under("nbs", repository_files), remade) == [], "run nbdev_clean"


def test_cleaning_keeps_what_folds_a_solution(remade):
    assert (
        nbformat.read(remade / "nbs" / "99_tags.ipynb", 4).cells[0].metadata == SOLUTION
    )


def test_readme_is_made_from_the_index(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    readme = runpy.run_path(str(ROOT / "docs" / "readme.py"))["readme"]
    assert (ROOT / "README.md").read_text(encoding="utf-8") == readme(), (
        "run python docs/readme.py"
    )
