"""README's promises that can be checked without running them (its second command is
what CI runs).
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def readme():
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_two_commands_stand_first_and_are_one_line_each():
    blocks = re.findall(r"^```\w*\n(.*?)^```", readme(), re.DOTALL | re.MULTILINE)
    job, tests = (block.splitlines() for block in blocks[:2])
    assert len(job) == len(tests) == 1
    for command in (*job, *tests):
        assert command.startswith("python3 -m venv .venv && .venv/bin/pip install ")
    assert job[0].endswith(".venv/bin/rvamp-nb")
    assert tests[0].endswith(".venv/bin/python -m pytest")


@pytest.mark.parametrize("path", [*ROOT.glob("*.md"), ROOT / "paper" / "paper.md"])
def test_links_lead_to_files_that_are_there(path):
    text = path.read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text)
    assert [target for target in targets if not (path.parent / target).exists()] == []
