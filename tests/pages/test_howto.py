"""A how-to begins with the few lines that do its job, before it says why; what these
lines call is run further down on the page.
"""

import ast
import re
import shlex

import pytest
from minutes import count, is_honest
from notebooks import PATHS, cells, notebook
from translate import HOW_TOS

from rvamp_nb.cli_options import arguments

PAGES = [path for path in PATHS if path.parent.name == "howto"]
HEAD = re.compile(r"\*\d+ minutes\. [^\n]+\*\n\n```(python|sh)\n(.*?)```(?:\n|$)", re.S)
MOST = 8  # lines of such a block, without blank ones: a class with one method has six


def opening(path):
    """Language and lines of the block below the sentence that says how long it takes;
    no prose stands between the two.
    """
    found = HEAD.match(cells(path, "markdown")[1].source)
    assert found, (
        f"the second cell of {path.stem} must begin with *5 minutes. You need …*, an"
        " empty line, and the lines that do its job, in ```python or ```sh"
    )
    return found[1], found[2]


def called(code):
    """Names of functions, methods and arguments that code uses in its calls."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call):
            names.add(ast.unparse(node.func).rpartition(".")[2])
            names |= {keyword.arg for keyword in node.keywords if keyword.arg}
    return names


def brought(code):
    """{name: module} of what code imports from the package."""
    return {
        alias.name: node.module
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("rvamp_nb")
        for alias in node.names
    }


def imports_of(path):
    """What the cells of a page import from the package, and whence."""
    found = {}
    for cell in cells(path, "code"):
        found.update(brought(re.sub(r"^[%!].*$", "", cell.source, flags=re.M)))
    return found


def run_on(path):
    """What the page calls, in cells that are run; of a magic line nothing."""
    names = set()
    for cell in cells(path, "code"):
        names |= called(re.sub(r"^[%!].*$", "", cell.source, flags=re.M))
    return names


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_how_to_begins_with_its_lines(path):
    language, code = opening(path)
    assert 1 <= len([line for line in code.splitlines() if line]) <= MOST
    if language == "python":
        known = imports_of(path)
        used = {node.id for node in ast.walk(ast.parse(code)) if hasattr(node, "id")}
        assert brought(code) == {name: known[name] for name in used & set(known)}
        assert called(code) <= run_on(path), called(code) - run_on(path)
    else:
        for line in code.splitlines():
            name, *words = shlex.split(line)
            assert name == "rvamp-nb"
            first = [] if words[0] in ("select", "plan") else ["select"]
            arguments("0").parse_args([*first, *words])


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_how_to_takes_as_long_as_it_says(path):
    counted = count(notebook(path)).minutes
    assert is_honest(notebook(path)), f"write *{counted:.0f} minutes. You need …*"


def test_each_how_to_stands_under_a_task():
    remedy = "add it to TASKS of docs/translate.py, and run python docs/contents.py"
    assert sorted(path.stem for path in PAGES) == sorted(HOW_TOS), remedy


def test_a_line_that_the_page_does_not_run_is_seen():
    code = "selector = StabilitySelection(pferr=1).fit(X, y)"
    assert called(code) == {"StabilitySelection", "pferr", "fit"}


def test_the_command_has_every_option_on_its_page():
    """In the help as it was printed when the page was last run."""
    path = "nbs/howto/use_the_command.ipynb"
    remedy = f"is not on {path}: run python tests/helpers/execute.py {path}"
    [page] = [path for path in PAGES if path.stem == "use_the_command"]
    printed = [
        output.text
        for cell in cells(page, "code")
        for output in cell.outputs
        if re.match(r"\$ rvamp-nb \w+ --help\n", output.get("text", ""))
    ]
    commands = arguments("0")._subparsers._group_actions[0].choices
    assert len(printed) == len(commands)
    for parser, text in zip(commands.values(), printed):
        flat = " ".join(text.split())
        for action in parser._actions:
            [*names] = action.option_strings or [action.metavar]
            words = parser._get_formatter()._expand_help(action)
            assert all(name in flat for name in names), f"{names} {remedy}"
            assert " ".join(words.split()) in flat, f"the help of {names} {remedy}"
