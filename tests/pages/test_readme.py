"""README's promises: its ten lines, its picture, and what can be checked without
running it (its second command is what CI runs); and the page of contents to which it
leads.
"""

import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import rgb_to_hsv
from notebooks import cells

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import contents
from translate import NOTEBOOKS, RUN_HERE, notebook_files, settings

HUES = {"Red": 0, "Orange": 30, "Yellow": 60, "Green": 120, "Blue": 220, "Purple": 290}


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


FORM = re.compile(
    r"pip install ((?:-q -e )?)\"?(\.|git\+[^\s`\"\[]+|rvamp-nb)(?=[\s`\"\[])"
)


def install_lines(text):
    """The forms in which a text installs the package, whichever extras come along; of
    a form that is none of README's, the whole line.
    """
    for line in re.findall(r"pip install [^&;\n]*\s?", text):
        form = FORM.match(line)
        yield f"{form[1]}{form[2]}" if form else line


def test_every_page_installs_as_readme_does():
    """Its three forms: in a clone, without one, and after the first release."""
    url = settings()["git_url"]
    story = {"-q -e .", f"git+{url}", "rvamp-nb"}
    assert {*install_lines(readme())} == story
    texts = {}
    for path in [ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        text = path.read_text(encoding="utf-8").replace("{{ repository }}", url)
        texts[path.name] = re.sub("</?span>", "", text)  # around the address
    for stem, path in notebook_files().items():
        texts[stem] = "\n".join(cell.source for cell in cells(path, "markdown"))
    found = {name: {*install_lines(text)} - story for name, text in texts.items()}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_a_second_way_to_install_is_found():
    lines = "`pip install -e .` or `pip install git+https://example.org/x`"
    assert not {*install_lines(lines)} & {"-q -e .", "rvamp-nb"}


def test_the_ten_lines_print_what_stands_below_them(capsys):
    """Where they do not: run the notebook nbs/index.ipynb, then docs/readme.py."""
    code, below = re.search(
        r"```python\n(.*?)```\n\n```text\n(.*?)```", readme(), re.S
    ).groups()
    exec(code, {})
    printed = capsys.readouterr().out.rstrip()
    assert printed.splitlines() == below.splitlines()


def test_the_caption_names_the_colour_of_the_picture():
    [colour] = re.findall(r"^\*Seven .* (\w+): one run of rVAMP\.\*$", readme(), re.M)
    picture = plt.imread(ROOT / "docs" / "static" / "front.png")[..., :3].reshape(-1, 3)
    vivid = picture[np.ptp(picture, axis=1) > 0.5]
    hue = 360 * np.median(rgb_to_hsv(vivid)[:, 0])
    assert len(vivid) > 1000
    assert colour == min(HUES, key=lambda name: abs(HUES[name] - hue))


def test_it_says_which_chapters_run_on_the_site():
    """All controls move there: tests/pages/test_films.py."""
    assert RUN_HERE == ("course/1", "course/2", "course/3", "course/51")
    assert "controls move in the page; parts I–III and 5.1 run there" in readme()


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
    site = "{doc_host}{doc_baseurl}".format_map(settings())
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


@pytest.mark.parametrize("path", [*ROOT.glob("*.md"), *ROOT.glob("paper/*.md")])
def test_links_lead_to_files_that_are_there(path):
    text = path.read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text)
    assert [target for target in targets if not (path.parent / target).exists()] == []
