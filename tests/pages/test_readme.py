"""README's promises that can be checked without running them (its second command is
what CI runs), and the page of contents to which it leads.
"""

import re
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import contents
from translate import NOTEBOOKS, notebook_files


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


def test_every_file_that_a_command_names_is_there(repository_files):
    """In what is run by hand, before a commit and by CI: a moved test stops a hook."""
    paths = [*repository_files, *(p for f in repository_files for p in f.parents)]
    there = {path.as_posix() for path in paths}
    commands = [".pre-commit-config.yaml", "CONTRIBUTING.md", ".ci/run"]
    commands += [f.as_posix() for f in repository_files if f.match(".github/**/*.yml")]
    missing = {}
    for name in commands:
        text = (ROOT / name).read_text(encoding="utf-8").replace("\\", "")
        named = re.findall(r"(?<![\w/.])(?:tests|docs|nbs)/[\w/]*\w(?:\.\w+)?", text)
        if lost := {path for path in named if path not in there}:
            missing[name] = lost
    assert missing == {}


def test_it_is_short():
    """What does not fit stands in the contents, a how-to or a chapter."""
    assert len(readme().splitlines()) <= 100
    assert len(readme().split()) <= 1300


def test_it_has_three_doors_and_leads_to_the_site():
    settings = ConfigParser()
    settings.read(ROOT / "settings.ini", encoding="utf-8")
    site = "{doc_host}{doc_baseurl}".format_map(settings["DEFAULT"])
    assert re.findall(r"^\*\*(.+?)\.\*\*", readme(), re.M) == [
        "Learn",
        "Use",
        "Look up",
    ]
    assert f"]({site})" in readme() and f"]({site}/api.html)" in readme()
    assert f"](nbs/{contents.PAGE}.ipynb)" in readme()


def test_jupyterlab_opens_where_the_chapters_are():
    """Not with that folder as its root: links to other folders would be dead."""
    [place] = re.findall(r"jupyter lab --preferred-dir (\S+?)`", readme())
    assert (ROOT / place / "11_tour.ipynb").exists()


@pytest.fixture(scope="module")
def made():
    """The page of contents, made anew."""
    return contents.contents()


def test_the_contents_are_in_step(made):
    page = NOTEBOOKS / f"{contents.PAGE}.ipynb"
    assert page.read_text(encoding="utf-8") == made, "run python docs/contents.py"


def test_the_contents_have_every_notebook_once(made):
    links = re.findall(r"\| \[[^]]+\]\(([\w./]+\.ipynb)\)", made)
    page = NOTEBOOKS / f"{contents.PAGE}.ipynb"
    listed = [(page.parent / link).resolve() for link in links]
    others = {"index", contents.PAGE}
    assert listed == [p for stem, p in notebook_files().items() if stem not in others]


@pytest.mark.parametrize("path", [*ROOT.glob("*.md"), ROOT / "paper" / "paper.md"])
def test_links_lead_to_files_that_are_there(path):
    text = path.read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text)
    assert [target for target in targets if not (path.parent / target).exists()] == []
