"""The lowest versions that settings.ini allows are enough: python -m pytest --lowest
tests/lowest.

Each direct requirement is installed at its lower bound, in a virtual environment of its
own; the package beside them; then its main job and a selector run there.
"""

import os
import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SELECTOR = Path(__file__).with_name("selector.py")


def lower_bounds():
    """{requirement: its lowest version} of what the core and the course import."""
    settings = ConfigParser(delimiters=["="])
    settings.read(ROOT / "settings.ini", encoding="utf-8")
    settings = settings["DEFAULT"]
    asked = f"{settings['requirements']} {settings['course_requirements']}"
    requirements = [text for text in asked.split() if text[:10] != "jupyterlab"]
    bounds = [re.match(r"([\w-]+)>=([\w.]+)(?:,|$)", text) for text in requirements]
    assert all(bounds), f"not of the form name>=version: {requirements}"
    return {bound[1]: bound[2] for bound in bounds}


def run(*command, **options):
    """What the command prints; its own message if it fails."""
    answer = subprocess.run(
        command, capture_output=True, text=True, timeout=900, **options
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


@pytest.fixture(scope="session")
def lowest(tmp_path_factory, repository_files):
    """The scripts' folder of the virtual environment."""
    folder = tmp_path_factory.mktemp("lowest")
    for name in repository_files:
        (folder / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / "copy" / name)
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    scripts = folder / "venv" / "bin"
    pins = [f"{name}=={version}" for name, version in lower_bounds().items()]
    pip(scripts, "install", "-q", "--no-compile", folder / "copy", *pins, cwd=folder)
    return scripts


def pip(scripts, *command, **options):
    """The pip beside pytest, at work in another environment."""
    mine = sys.executable, "-m", "pip", "--python", scripts / "python"
    return run(*mine, *command, **options)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder from which the clone is not seen."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_these_are_the_lowest(lowest, elsewhere):
    pip(lowest, "check")
    code = "import sys; from importlib.metadata import version as v\n"
    code += "print(*map(v, sys.argv[1:]))"
    names, versions = zip(*lower_bounds().items())
    found = run(lowest / "python", "-c", code, *names).split()
    same = [release(a) == release(b) for a, b in zip(found, versions)]
    assert all(same), dict(zip(names, zip(found, versions)))


def release(version):
    """1.6 and 1.6.0 are one."""
    return re.sub(r"(\.0)+$", "", version)


def test_the_main_job(lowest, elsewhere):
    printed = run(lowest / "rvamp-nb")
    assert "4 features selected, all well above the threshold" in printed
    assert list((elsewhere / "rvamp-nb-out").glob("*.png"))


def test_a_selector(lowest, elsewhere):
    printed = run(lowest / "python", SELECTOR, env=os.environ | {"MPLBACKEND": "agg"})
    assert printed.endswith("all done\n")
