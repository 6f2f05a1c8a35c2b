"""Every file is as ruff wants it (pyproject.toml says what that is): 88 columns, one
statement a line, a docstring on all that is public; notebooks included.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import plain
import pytest

ROOT = Path(__file__).resolve().parents[2]
SUFFIXES = {".py", ".ipynb"}
FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("", "docs", "docs/pictures", "docs/teach")
    for path in (ROOT / folder).glob("[!.]*.py")
) + sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("nbs", "rvamp_nb", "tests")
    for path in (ROOT / folder).rglob("[!.]*")
    if path.suffix in SUFFIXES
)


def ruff(*arguments):
    command = [sys.executable, "-m", "ruff", *arguments, "--no-cache"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def place(finding):
    """Where it is and what: "nbs/x.ipynb:cell 3:12: E501 Line too long"."""
    cell = f"cell {finding['cell']}:" if finding.get("cell") else ""
    file = Path(finding["filename"]).relative_to(ROOT).as_posix()
    code, message = finding["code"], finding["message"]
    return file, f"{file}:{cell}{finding['location']['row']}: {code} {message}"


@pytest.fixture(scope="module")
def findings():
    """{file: what ruff says about it}."""
    answer = ruff("check", "--output-format=json", ".")
    assert answer.returncode in (0, 1), answer.stderr
    found = {}
    for file, text in map(place, json.loads(answer.stdout)):
        found.setdefault(file, []).append(text)
    return found


@pytest.fixture(scope="module")
def unformatted():
    """The files that `ruff format` would change: ruff has named them in two ways."""
    answer = ruff("format", "--check", ".")
    assert answer.returncode in (0, 1), answer.stderr
    named = r"^(?:Would reformat: | *--> )([^:\n]+)"
    found = set(re.findall(named, answer.stdout, re.MULTILINE))
    assert bool(found) == answer.returncode, answer.stdout
    return found


def test_ruff_finds_nothing(findings, unformatted):
    found = [line for file in FILES for line in findings.get(file, [])]
    assert not found, "\n".join(found)
    assert unformatted & set(FILES) == set(), "run: ruff format"


def test_plain_modules_are_as_other_code():
    """Of what nbdev writes only docstrings are checked, and nothing is formatted."""
    for command in (plain.CHECK, ("format", "--check")):
        answer = ruff(*command, *map(str, plain.FILES))
        assert answer.returncode == 0, f"python tests/helpers/plain.py\n{answer.stdout}"


def test_no_file_is_left_out(findings, unformatted, repository_files):
    """Each file that a commit would hold is among the cases above, and so is each that
    ruff sees.
    """
    python = {name.as_posix() for name in repository_files if name.suffix in SUFFIXES}
    assert python - set(FILES) == set()
    assert (set(findings) | unformatted) - set(FILES) == set()


@pytest.mark.parametrize(
    "code, rule",
    [
        ("x = 1; y = 2\n", "E702"),
        (f"x = '{'a' * 90}'\n", "E501"),
        ("if True: x = 1\n", "E701"),
        ("import os\n", "F401"),
        ("double = lambda x: 2 * x\n", "E731"),
        ("y = list(map(lambda x: 2 * x, [1]))\n", "C417"),
        ('y = dict(**{"a": 1})\n', "PIE804"),
        ("y = True if [] else False\n", "SIM210"),
        ("def f(x):\n" + 16 * "    if x:\n        x -= 1\n", "C901"),
    ],
)
def test_what_ruff_must_find(tmp_path, code, rule):
    (tmp_path / "packed.py").write_text(f'"""A file."""\n{code}', encoding="utf-8")
    path = str(tmp_path / "packed.py")
    answer = ruff("check", f"--config={ROOT / 'pyproject.toml'}", path)
    assert answer.returncode == 1 and rule in answer.stdout


@pytest.mark.parametrize("file", ["room.py", "select/room.py"])
def test_a_named_lambda_is_a_formula_in_chapters_only(tmp_path, file):
    """In a room it is found, although all other rules are asked of its notebook."""
    config = tmp_path / "pyproject.toml"
    config.write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8"), "utf-8")
    for folder, is_found in (("rvamp_nb", True), ("tests/pages", False)):
        path = tmp_path / folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('"""A room."""\nf = lambda x: x + "' + 90 * "a" + '"\n')
        answer = ruff("check", str(path))
        assert ("E731" in answer.stdout) == is_found
        assert ("E501" in answer.stdout) != is_found


def test_a_public_method_without_a_docstring_is_found(tmp_path):
    code = '"""A room."""\n\n\nclass A:\n    """One."""\n\n    def f(self): ...\n'
    (tmp_path / "room.py").write_text(code, encoding="utf-8")
    path = str(tmp_path / "room.py")
    answer = ruff("check", f"--config={ROOT / 'pyproject.toml'}", path)
    assert "D102" in answer.stdout
