"""Scripts that no other test runs import what there is."""

import ast
import importlib.util
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
SCRIPTS = sorted([*TESTS.glob("bench/*.py"), *TESTS.glob("truth/*/*.py")])


def defined(path):
    """Names that a file gives a meaning."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {name.asname or name.name for name in node.names}
    return found


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_imports_what_there_is(path):
    for node in ast.parse(path.read_text()).body:
        if not isinstance(node, ast.ImportFrom):
            continue
        names = {name.name for name in node.names}
        folders = path.parent, TESTS / "helpers", TESTS / "bench"
        beside = [up / f"{node.module}.py" for up in folders]
        if node.module.split(".")[0] == "rvamp_nb":
            room = importlib.import_module(node.module)
            missing = {name for name in names if not hasattr(room, name)}
        elif file := next(filter(Path.exists, beside), None):
            missing = names - defined(file)
        else:  # a library
            continue
        assert not missing, f"{node.module} has no {', '.join(sorted(missing))}"


def test_mutations_of_the_chapters_are_in_their_place():
    """What tests/bench/mutations.py plants; it is run on demand."""
    spec = importlib.util.spec_from_file_location(
        "mutations", TESTS / "bench" / "mutations.py"
    )
    mutations = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mutations)
    assert all(len(kind) >= 12 for kind in mutations.KINDS.values())
    assert mutations.misplaced() == []
