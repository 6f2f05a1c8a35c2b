"""A release, rehearsed: python -m pytest --release tests/release, after pip install -e
".[dev,release]".

Both distributions are built as the workflow builds them; the wheel is installed where
there is nothing else, first alone and then with its extras.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from configparser import ConfigParser
from pathlib import Path

import check_jsonschema
import pytest
import rattler_build

ROOT = Path(__file__).resolve().parent.parent.parent
MINE = {"PKG-INFO", "setup.cfg"}  # what setuptools adds to an sdist
INSTALL = ["install", "-q", "--no-compile"]  # what is imported is compiled then
BROUGHT = (  # by course, dask and parquet
    *("anywidget", "ipywidgets", "jupyterlab", "pooch", "rdata"),
    *("dask.array", "distributed", "zarr"),
    "pyarrow",
)
LISTED = re.findall(  # the public names and their rooms
    r"^from \.(\S+) import (\w+) as", (ROOT / "rvamp_nb/__init__.pyi").read_text(), re.M
)
# what a type checker need not know
ALLOWED = rf"""
rvamp_nb\.__all__  # lazy_loader makes it of the stub
rvamp_nb\.(?!datasets\.|({"|".join(map(".".join, LISTED))})\b)\w+\..*  # not public
rvamp_nb\.select\.estimator\.StabilitySelection  # has the metaclass of scikit-learn's
rvamp_nb\.select\.estimator\.StabilitySelection\.set_\w+_request  # it adds them
rvamp_nb\.solver\.Fit\.load  # a function that stands elsewhere
rvamp_nb\.tables\.chunked\.ChunkedTable\.T  # what `@` asks
"""


def run(*command, cwd=ROOT, code=0, **env):
    """What the command says; the clone is not seen from elsewhere."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | env
    options = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    answer = subprocess.run([str(c) for c in command], cwd=cwd, env=env, **options)
    assert answer.returncode == code, answer.stdout
    return answer.stdout


@pytest.fixture(scope="session")
def built(tmp_path_factory, repository_files):
    """The folder with the sdist, and the wheel that was made from it."""
    copy, dist = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("dist")
    for name in repository_files:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    run(sys.executable, "-m", "build", "--outdir", dist, copy)
    return dist


@pytest.fixture(scope="session")
def wheel(built):
    [wheel] = built.glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def unpacked(built, tmp_path_factory):
    """The folder that the sdist unpacks to."""
    folder = tmp_path_factory.mktemp("unpacked")
    [sdist] = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    [top] = folder.iterdir()
    return top


@pytest.fixture(scope="session")
def clean(wheel, tmp_path_factory):
    """The scripts' folder of an environment with the wheel alone."""
    folder = tmp_path_factory.mktemp("clean")
    run(sys.executable, "-m", "venv", folder)
    run(folder / "bin" / "pip", *INSTALL, wheel, cwd=folder)
    return folder / "bin"


@pytest.fixture(scope="session")
def complete(clean, wheel):
    """The same with all extras."""
    run(clean / "pip", *INSTALL, f"{wheel}[all]", cwd=clean)
    return clean


def test_the_wheel_holds_the_package_and_nothing_else(wheel, repository_files):
    held = set(zipfile.ZipFile(wheel).namelist())
    about = {name for name in held if ".dist-info/" in name}
    ours = {name.as_posix() for name in repository_files if name.parts[0] == "rvamp_nb"}
    assert held - about == ours
    assert {"rvamp_nb/__init__.pyi", "rvamp_nb/py.typed"} <= ours  # asked at run time
    assert {"licenses/LICENSE", "METADATA", "entry_points.txt"} <= {
        name.partition(".dist-info/")[2] for name in about
    }


def test_the_sdist_is_the_repository(unpacked, repository_files):
    names = {path.relative_to(unpacked) for path in unpacked.rglob("*")}
    held = {name for name in names if (unpacked / name).is_file()}
    own = {name for name in held if ".egg-info" in name.parts[0] or name.name in MINE}
    assert held - own == set(repository_files)


def test_the_index_will_take_them(built):
    run(sys.executable, "-m", "twine", "check", "--strict", *built.iterdir())


def test_the_main_job_needs_no_extra(clean, tmp_path):
    assert "4 features selected" in run(clean / "rvamp-nb", cwd=tmp_path)
    assert list((tmp_path / "rvamp-nb-out").glob("*.png"))
    code = "from rvamp_nb.plot_style import sliders; sliders(print)"
    told = run(clean / "python", "-c", code, cwd=tmp_path, code=1)
    assert "pip install 'rvamp-nb[course]'" in told
    run(clean / "pip", "check")


def test_each_extra_brings_what_it_is_for(complete, tmp_path):
    run(complete / "python", "-c", f"import {', '.join(BROUGHT)}", cwd=tmp_path)
    run(complete / "pip", "check")


def test_the_first_chapter_runs(complete, unpacked, tmp_path):
    chapter = unpacked / "nbs" / "course" / "12_resampling.ipynb"
    run(complete / "jupyter", "execute", f"--output={tmp_path}/out.ipynb", chapter)


def test_tests_run_in_the_sdist(unpacked):
    some = ["tests/pages/test_imports.py", "nbs/course/12_resampling.ipynb"]
    command = [sys.executable, "-m", "pytest", "-q", *some]
    told = run(*command, cwd=unpacked, PYTHONPATH=str(unpacked))
    assert re.search(r"^\d+ passed in", told, re.MULTILINE)


def test_types_are_those_of_run_time(tmp_path):
    """That of a default, say, is one that its parameter may have."""
    (tmp_path / "allowed").write_text(ALLOWED, encoding="utf-8")
    options = ["--mypy-config-file", "pyproject.toml", "--concise"]
    options += ["--allowlist", tmp_path / "allowed", "--ignore-unused-allowlist"]
    run(sys.executable, "-m", "mypy.stubtest", "rvamp_nb", *options)


def test_a_type_checker_sees_the_types_of_the_public_names(tmp_path):
    """Those that typed.py asserts, strictly."""
    run(sys.executable, "-m", "mypy", "--cache-dir", tmp_path)


WRONG = [  # room, what stands there, what would be wrong
    ("algorithm/prior.py", "lam: float | Array", "lam: str"),
    ("algorithm/solver.py", "max_iter: int = 500", "max_iter: str = 500"),
    ("algorithm/solver.py", "counts: CountLaw", "counts"),
    ("algorithm/solver.py", ") -> Fit:", ") -> Path:"),
]


def test_a_wrong_type_is_seen(tmp_path):
    for name in ("pyproject.toml", "tests/release/typed.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "rvamp_nb", tmp_path / "rvamp_nb")
    for name, right, wrong in WRONG:
        module = tmp_path / "rvamp_nb" / name
        text = module.read_text(encoding="utf-8")
        assert right in text
        module.write_text(text.replace(right, wrong), encoding="utf-8")
        assert "typed.py" in run(sys.executable, "-m", "mypy", cwd=tmp_path, code=1)
        module.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "schema, files",
    [
        ("citation-file-format", "CITATION.cff"),
        ("dependabot", ".github/dependabot.yml"),
        ("github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/[!c]*.yml"),
        ("github-workflows", ".github/workflows/*.yml"),
    ],
)
def test_a_file_is_of_its_form(schema, files):
    found = [str(path) for path in ROOT.glob(files)]
    arguments = ["--builtin-schema", f"vendor.{schema}", *found]
    assert check_jsonschema.main(arguments, standalone_mode=False) == 0


def test_workflows_give_nothing_away():
    run(shutil.which("zizmor", path=Path(sys.executable).parent), "--offline", ROOT)


def test_a_review_finds_what_contributing_explains():
    """[tool.repo-review] lists what is not asked for; CONTRIBUTING says why."""
    run(Path(sys.executable).with_name("repo-review"), ROOT)
    ignored = re.search(
        r"ignore = \[(.*?)\]",
        text("pyproject.toml").partition("repo-review")[2],
        re.DOTALL,
    )[1]
    for check in re.findall(r'"(\w+)"', ignored):
        assert check in text("CONTRIBUTING.md")


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_conda_recipe_says_what_the_settings_say():
    found = rattler_build.Stage0Recipe.from_yaml(text("docs/conda/recipe.yaml"))
    [made] = found.render(rattler_build.VariantConfig({"python_min": ["3.10"]}))
    recipe = made.recipe.to_dict()
    settings = ConfigParser(delimiters=["="])
    settings.read(ROOT / "settings.ini", encoding="utf-8")
    asked = settings["DEFAULT"]["requirements"].replace("matplotlib", "matplotlib-base")
    needs = [need.replace(" ", "") for need in recipe["requirements"]["run"]]
    assert needs == [f"python>={settings['DEFAULT']['min_python']}", *asked.split()]
    assert recipe["package"]["version"] == settings["DEFAULT"]["version"]
