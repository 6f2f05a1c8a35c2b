"""What a run of a notebook leaves to the next, and to the site: helpers/kept.py."""

import gc
import json
import weakref
from typing import NamedTuple

import kept
import pytest
from nbformat import write
from nbformat.v4 import new_code_cell, new_notebook, new_output


class Package(NamedTuple):
    name: str
    version: str = "1"


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A small one, with a chapter and a table, and two packages installed: to read of
    all what they need takes a second.
    """
    for name, text in {
        "rvamp_nb/room.py": "x = 1\n",
        "tests/truth/table.json": "[1]",
        "tests/test_room.py": "",
        "conftest.py": "",
        "docs/build.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(kept, "ROOT", tmp_path)
    monkeypatch.setattr(kept, "FOLDER", tmp_path / ".kept")
    monkeypatch.setattr(kept, "requires", {"rvamp-nb": ["numpy"]}.get)
    monkeypatch.setattr(
        kept, "distributions", lambda: map(Package, ["numpy", "rvamp-nb"])
    )
    kept.surroundings.cache_clear()
    yield tmp_path
    kept.surroundings.cache_clear()


def chapter(repository, source, outputs=(), name="course/11_one"):
    path = repository / f"nbs/{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    cell = new_code_cell(source, id="one", outputs=list(outputs))
    write(new_notebook(cells=[cell]), path)
    return path


def new_key(path):
    """As a run that begins now would ask for it."""
    kept.surroundings.cache_clear()
    return kept.key(path)


@pytest.mark.parametrize(
    "changed",
    ["rvamp_nb/room.py", "tests/truth/table.json", "conftest.py", "docs/build.py"],
)
def test_a_changed_line_of_what_a_notebook_reads_is_another_key(repository, changed):
    path = chapter(repository, "x = 1")
    before = new_key(path)
    assert new_key(path) == before
    file = repository / changed
    file.write_text(f"{file.read_text()} ")
    assert new_key(path) != before


def test_a_notebook_has_the_key_of_its_cells(repository):
    """Not of what they print, nor of the tests of others; a page of the appendix reads
    the chapters.
    """
    path = chapter(repository, "x = 1")
    page = chapter(repository, "x = 1", name="appendix/list")
    before, before_page = new_key(path), new_key(page)
    chapter(repository, "x = 1", [new_output("stream", text="1")])
    (repository / "tests/test_room.py").write_text("x = 1")
    assert (new_key(path), new_key(page)) == (before, before_page)
    chapter(repository, "x = 2")
    assert new_key(path) != before
    assert new_key(page) != before_page


def test_other_versions_are_another_key(repository, monkeypatch):
    path = chapter(repository, "x = 1")
    before = new_key(path)
    monkeypatch.setattr(kept, "distributions", lambda: [])
    assert new_key(path) != before


def test_what_is_kept_is_found_under_its_key_only(repository):
    path = chapter(repository, "x = 1")
    assert kept.find(path, "site", "a") is None
    kept.keep(path, "site", "a", "one\ntwo")
    assert kept.find(path, "site", "a") == "one\ntwo"
    assert kept.find(path, "site", "b") is None
    assert kept.find(path, "tests", "a") is None
    [file] = (repository / ".kept/site").iterdir()  # nothing half written beside it
    file.write_bytes(b"\xff\n")
    assert kept.find(path, "site", "a") is None


def test_the_key_is_that_of_the_package_and_of_the_helpers():
    names = {path.relative_to(kept.ROOT).as_posix() for path in kept.whole_files()}
    some = {
        "rvamp_nb/algorithm/solver.py",
        "rvamp_nb/course/diabetes.json",
        "tests/helpers/designs.py",
    }
    assert some <= names
    assert any(name.endswith(".npz") for name in names)
    assert not any("/test_" in name for name in names)


RUNS = """from pathlib import Path
runs = Path("runs")
runs.write_text((runs.read_text() if runs.exists() else "") + "x")
"""


def test_a_notebook_that_passed_runs_again_when_something_changes(repository, recall):
    path = chapter(repository, RUNS)
    runs = path.with_name("runs")
    recall(path)
    kept.surroundings.cache_clear()
    recall(path)
    assert runs.read_text() == "x"
    (repository / "rvamp_nb/room.py").write_text("x = 2\n")
    kept.surroundings.cache_clear()
    recall(path)
    assert runs.read_text() == "xx"


class Made:
    """What a notebook makes."""

    seen = []

    def __init__(self):
        self.seen.append(weakref.ref(self))


def test_what_a_notebook_has_made_goes_with_it(repository, recall):
    """Else a run would hold the tables of all notebooks to its end."""
    recall(chapter(repository, "from test_kept import Made\nmade = Made()"))
    gc.collect()
    [made] = Made.seen
    assert made() is None


def test_a_failing_notebook_fails_whatever_is_kept(repository, recall):
    """Also a second time: a run that failed leaves nothing."""
    path = chapter(repository, "x = 1")
    recall(path)
    chapter(repository, "x = 1\nassert x == 2")
    for _ in range(2):
        with pytest.raises(Exception, match="AssertionError"):
            recall(path)


HELD = """from IPython.display import display
from rvamp_nb.course.widgets import _make_widget
display(_make_widget(dict(n=1)))
"""
FILMED = f"{RUNS}{HELD}sliders = print\nsliders(1)\n"


def test_what_a_widget_shows_is_kept_for_the_site(repository, recall):
    """By a test, but of a page with films only by the run that takes them, which leaves
    it to the next one.
    """
    plain = chapter(repository, HELD)
    recall(plain)
    [held] = json.loads(kept.find(plain, "site", kept.key(plain)))
    assert held["state"]["table"] == {"n": 1} and held["state"]["_esm"]
    filmed = chapter(repository, FILMED, name="course/12_two")
    recall(filmed)
    assert kept.find(filmed, "site", kept.key(filmed)) is None
    for _ in range(2):
        recall(filmed, films=True)
    assert json.loads(kept.last(filmed, "site")[1])[0]["state"]["table"] == {"n": 1}
    assert filmed.with_name("runs").read_text() == "xx"


NEEDED = {
    "rvamp-nb": ["numpy", "nbclient; extra == 'dev'", "Sphinx[a]; extra == 'site'"],
    "nbclient": ["click; python_version > '3'", "old; python_version < '3'"],
    "sphinx": ["jinja2>=3", "click", "docutils; extra == 'a'", "mypy; extra == 'b'"],
}


def test_what_only_the_site_brings_is_no_other_key(monkeypatch):
    """It is installed when the tests have run. What nobody asks for counts."""
    monkeypatch.setattr(kept, "requires", NEEDED.get)
    before = ["numpy", "nbclient", "click", "polars"]
    lists = []
    for names in before, [*before, "Sphinx", "Jinja2", "docutils"], [*before, "mypy"]:
        monkeypatch.setattr(
            kept, "distributions", lambda names=names: map(Package, names)
        )
        lists.append(kept.installed())
    assert lists[0] == lists[1] != lists[2]
    assert "polars 1" in lists[0]


def test_a_package_that_is_found_twice_is_no_other_key(monkeypatch):
    """The clone stands on Python's path once or twice, as pytest is called."""
    monkeypatch.setattr(kept, "requires", NEEDED.get)
    monkeypatch.setattr(kept, "distributions", lambda: map(Package, ["numpy"] * 2))
    assert kept.installed() == ["numpy 1"]
