"""What the run of a notebook leaves to the next one, in .kept/: that it passed, and for
the site what it drew.

It is kept under a key, a hash of all that a run depends on. Where anything of it has
changed, nothing is found, and the notebook runs again; .kept/ may be deleted at any
time.
"""

import hashlib
import json
import os
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".kept"
ALONE = {"course", "workshop", "howto"}  # notebooks elsewhere read other notebooks
PROJECT = "rvamp-nb"
TESTS, LATER = {"dev"}, {"site", "release"}  # extras, as .ci/run installs them


def whole_files():
    """List what any notebook may read: the package, what runs the notebooks, and the
    tables and helpers of the tests.
    """
    found = [path for top in ("rvamp_nb", "tests") for path in (ROOT / top).rglob("*")]
    ours = [
        path
        for path in found
        if path.is_file()
        and "__pycache__" not in path.parts
        and not path.name.startswith("test_")
    ]
    docs = [*(ROOT / "docs").glob("*.py"), *(ROOT / "docs").glob("*.js")]
    return sorted([*ours, ROOT / "conftest.py", *docs])


def brought(extras):
    """Name the packages that the project and extras of it need, and what these need."""
    found, todo = set(), [(PROJECT, frozenset(extras))]
    while todo:
        name, extras = todo.pop()
        try:
            lines = requires(name) or []
        except PackageNotFoundError:  # needed elsewhere, by another Python
            lines = []
        for needed in map(Requirement, lines):
            asked = [{"extra": extra} for extra in extras] or [{"extra": ""}]
            here = not needed.marker or any(map(needed.marker.evaluate, asked))
            pair = canonicalize_name(needed.name), frozenset(needed.extras)
            if here and pair not in found:
                found.add(pair)
                todo.append(pair)
    return {name for name, _ in found}


def installed():
    """List the installed packages with their versions, without those that only the
    site and a release bring: they come when the tests have run. Each once: where a
    folder stands twice on Python's path, a package is found twice.
    """
    left_out = brought(LATER) - brought(TESTS)
    found = {
        f"{each.name} {each.version}"
        for each in distributions()
        if canonicalize_name(each.name) not in left_out
    }
    return sorted(found)


def find_riboflavin():
    """Name the data file, which is not ours to commit, in the variable that the tests
    and notebooks read: what lies beside the clone, or, for CI, what can be downloaded.
    """
    beside = ROOT.parent / "shared" / "data" / "riboflavin.RData"
    if not os.environ.get("RVAMP_NB_RIBOFLAVIN"):
        if beside.exists():
            os.environ["RVAMP_NB_RIBOFLAVIN"] = str(beside)
        elif os.environ.get("CI"):
            import pooch

            from rvamp_nb.datasets import load_riboflavin

            with suppress(OSError):
                load_riboflavin()
                file = pooch.os_cache("rvamp_nb") / "riboflavin.RData"
                os.environ["RVAMP_NB_RIBOFLAVIN"] = str(file)


@cache  # a run of the tests asks for each notebook
def surroundings():
    """Hash all but the notebook: the files, Python and the installed packages."""
    found = hashlib.sha256(sys.version.encode())
    data = os.environ.get("RVAMP_NB_RIBOFLAVIN", "")
    found.update(json.dumps([data, installed()]).encode())
    for path in whole_files():
        found.update(f"\0{path.relative_to(ROOT).as_posix()}\0".encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def cells(path):
    """Read the cells of a notebook without what they have printed."""
    read = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [[cell["cell_type"], "".join(cell["source"])] for cell in read]


def key(path):
    """Return the hash under which a run of the notebook at ``path`` is kept."""
    alone = path.parent.name in ALONE
    paths = [path] if alone else sorted((ROOT / "nbs").rglob("[!_.]*.ipynb"))
    text = json.dumps([str(path), surroundings(), *map(cells, paths)])
    return hashlib.sha256(text.encode()).hexdigest()


def place(path, kind):
    """Name the file of a notebook; ``kind`` is who keeps it."""
    return FOLDER / kind / f"{path.parent.name}.{path.stem}"


def find(path, kind, key):
    """Find the text that was kept under this key, or None."""
    try:
        first, rest = last(path, kind)
    except (OSError, ValueError):
        return None
    return rest if first == key else None


def last(path, kind):
    """Return the key and the text that were kept last."""
    text = place(path, kind).read_text(encoding="utf-8")
    return text.split("\n", 1)


def keep(path, kind, key, text=""):
    """Keep a text in place of what was kept before; whole, or not at all."""
    file = place(path, kind)
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f"{file.name}.{os.getpid()}")
    beside.write_text(f"{key}\n{text}", encoding="utf-8")
    os.replace(beside, file)
