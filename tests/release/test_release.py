"""A release, rehearsed: python -m pytest --release tests/release, after pip install -e
".[dev,release]".

Both distributions are built as the workflow builds them. One environment has what the
first line of README installs, then the wheel in place of the clone, then its extras.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from configparser import ConfigParser
from email import message_from_string
from importlib import import_module
from pathlib import Path

import check_jsonschema
import pytest
import rattler_build

import rvamp_nb
from rvamp_nb import exceptions, results, tables

ROOT = Path(__file__).resolve().parent.parent.parent
MINE = {"PKG-INFO", "setup.cfg"}  # what setuptools adds to an sdist
INSTALL = ["install", "-q", "--no-compile"]  # what is imported is compiled then
PIP = [sys.executable, "-m", "pip", "--python"]  # newer than what Python brings
HOMES = rvamp_nb, exceptions, results, tables  # of public names
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
rvamp_nb\.select\.estimator\.Bagged\w+\.set_\w+_request
rvamp_nb\.algorithm\.solver\.Fit\.load  # a function that stands elsewhere
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
    copy_to(copy, repository_files)
    run(sys.executable, "-m", "build", "--outdir", dist, copy)
    return dist


def copy_to(folder, names):
    """Copy files of the repository, each to its place in a folder."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


@pytest.fixture(scope="session")
def wheel(built):
    [wheel] = built.glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def metadata(wheel):
    """The fields that an index shows, and README as its page."""
    archive = zipfile.ZipFile(wheel)
    [name] = [name for name in archive.namelist() if name.endswith("/METADATA")]
    return message_from_string(archive.read(name).decode())


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
def readme(tmp_path_factory, repository_files):
    """The environment that the first line of README makes, in a clone."""
    copy = tmp_path_factory.mktemp("readme")
    copy_to(copy, repository_files)
    [line] = re.findall(r"^python3 -m venv .*rvamp-nb$", text("README.md"), re.M)
    run("bash", "-c", line, cwd=copy)
    return copy / ".venv"


@pytest.fixture(scope="session")
def asked(readme):
    """What the package asks for there, extras included, as pip noted it."""
    [note] = readme.glob("lib/*/site-packages/rvamp_nb-*.dist-info/METADATA")
    return message_from_string(note.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def checked(readme, tmp_path_factory):
    """What mypy says there, strictly, of typed.py and of a program that shows every
    public name, in one run.
    """
    folder = tmp_path_factory.mktemp("programs")
    shutil.copy(ROOT / "tests/release/typed.py", folder)
    lines = []
    for home in HOMES:
        for name in home.__all__:
            lines += [f"from {home.__name__} import {name}", f"reveal_type({name})"]
    (folder / "names.py").write_text("\n".join(lines), encoding="utf-8")
    options = ["--strict", "--ignore-missing-imports", "--config-file="]
    options += ["--python-executable", readme / "bin/python"]
    options += ["--cache-dir", folder / "cache"]
    programs = folder / "typed.py", folder / "names.py"
    return run(sys.executable, "-m", "mypy", *options, *programs, cwd="/")


@pytest.fixture(scope="session")
def clean(readme, asked, checked, wheel):
    """Its scripts' folder, where the wheel alone has taken the place of the clone:
    after mypy has looked.
    """
    options = ["--force-reinstall", "--no-deps", wheel]
    run(readme / "bin/pip", *INSTALL, *options, cwd=readme)
    return readme / "bin"


@pytest.fixture(scope="session")
def complete(clean, wheel):
    """The same with all extras."""
    run(*PIP, clean / "python", *INSTALL, f"{wheel}[all]", cwd=clean)
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


def test_the_index_shows_licence_types_and_addresses(metadata):
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["License"] is None
    urls = dict(url.split(", ") for url in metadata.get_all("Project-URL"))
    assert list(urls) == ["Documentation", "Source", "Issues", "Changelog"]
    assert f"]({urls['Documentation']})" in metadata.get_payload()
    classifiers = metadata.get_all("Classifier")
    assert "Typing :: Typed" in classifiers
    pythons = re.findall(r"python: \[(.*)\]", text(".github/workflows/ci.yml"))
    for version in re.findall(r"[\d.]+", " ".join(pythons)):
        assert f"Programming Language :: Python :: {version}" in classifiers


def test_the_page_on_the_index_has_whole_addresses(metadata, repository_files):
    """Each is an address on the web; of this repository, at the tag of the version, and
    of a file that is there.
    """
    page = metadata.get_payload()
    targets = re.findall(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"", page)
    targets = [link or attribute for link, attribute in targets]
    assert len(targets) > 30
    tag = f"v{metadata['Version']}"
    blob = f"{settings()['git_url']}/blob/{tag}/"
    raw = f"https://raw.githubusercontent.com/{settings()['user']}/"
    raw += f"{settings()['repo']}/{tag}/"
    for target in targets:
        assert target.startswith("https://"), target
        for start in (blob, raw):
            if target.startswith(start):
                name = target.removeprefix(start).partition("#")[0]
                assert Path(name) in repository_files
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", page)
    assert pictures and all(picture.startswith(raw) for picture in pictures)


def test_a_type_checker_sees_types_after_the_line_in_readme(checked):
    """Those that typed.py asserts."""
    assert re.search("^Success: no issues found in 2 source files$", checked, re.M)


def test_a_type_checker_sees_every_public_name(checked):
    """Nothing is of any type, nor returns it."""
    found = re.findall('Revealed type is "(.*)"', checked)
    assert len(found) == sum(len(home.__all__) for home in HOMES) > 60
    assert [kind for kind in found if re.search(r"(^|-> )Any$", kind)] == []


def test_the_wheel_asks_for_what_the_clone_does(asked, metadata):
    """What the line in README brought is what the wheel alone would have brought."""
    for field in "Requires-Dist", "Provides-Extra", "Requires-Python":
        assert asked.get_all(field) == metadata.get_all(field)
    assert len(metadata.get_all("Requires-Dist")) > 20


def test_the_main_job_needs_no_extra(clean, tmp_path):
    assert "4 features selected" in run(clean / "rvamp-nb", cwd=tmp_path)
    assert list((tmp_path / "rvamp-nb-out").glob("*.png"))
    code = "from rvamp_nb.course.pictures import sliders; sliders(print)"
    told = run(clean / "python", "-c", code, cwd=tmp_path, code=1)
    assert "pip install 'rvamp-nb[course]'" in told
    run(clean / "pip", "check")


def test_each_extra_brings_what_it_is_for(complete, tmp_path):
    run(complete / "python", "-c", f"import {', '.join(BROUGHT)}", cwd=tmp_path)
    run(complete / "pip", "check")


def test_the_first_chapter_runs(complete, unpacked, tmp_path):
    chapter = unpacked / "nbs" / "course" / "11_tour.ipynb"
    run(complete / "jupyter", "execute", f"--output={tmp_path}/out.ipynb", chapter)


def test_tests_run_in_the_sdist(unpacked):
    some = ["tests/pages/test_imports.py", "nbs/course/45_diagnostics.ipynb"]
    command = [sys.executable, "-m", "pytest", "-q", *some]
    told = run(*command, cwd=unpacked, PYTHONPATH=str(unpacked))
    assert re.search(r"^\d+ passed in", told, re.MULTILINE)


def test_types_are_those_of_run_time(tmp_path):
    """That of a default, say, is one that its parameter may have."""
    (tmp_path / "allowed").write_text(ALLOWED, encoding="utf-8")
    options = ["--mypy-config-file", "pyproject.toml", "--concise"]
    options += ["--allowlist", tmp_path / "allowed", "--ignore-unused-allowlist"]
    run(sys.executable, "-m", "mypy.stubtest", "rvamp_nb", *options)


@pytest.fixture(scope="session")
def mypy_here(tmp_path_factory):
    """mypy by our settings in a folder; it reads NumPy's types once."""
    command = [sys.executable, "-m", "mypy", "--cache-dir"]
    command.append(tmp_path_factory.mktemp("cache"))
    return lambda folder, code=0: run(*command, cwd=folder, code=code)


def test_a_type_checker_sees_the_types_of_the_public_names(mypy_here):
    """Those that typed.py asserts, strictly."""
    mypy_here(ROOT)


WRONG = [  # room, what stands there, what would be wrong
    ("algorithm/prior.py", "lam: float | Array", "lam: str"),
    ("algorithm/solver.py", "max_iter: int = 500", "max_iter: str = 500"),
    ("algorithm/solver.py", "resampling: CountLaw", "resampling"),
    ("algorithm/solver.py", ") -> Fit:", ") -> Path:"),
]


def test_a_wrong_type_is_seen(mypy_here, tmp_path):
    for name in ("pyproject.toml", "tests/release/typed.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "rvamp_nb", tmp_path / "rvamp_nb")
    for name, right, wrong in WRONG:
        module = tmp_path / "rvamp_nb" / name
        text = module.read_text(encoding="utf-8")
        assert right in text
        module.write_text(text.replace(right, wrong), encoding="utf-8")
        assert "typed.py" in mypy_here(tmp_path, code=1)
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


def test_the_site_that_is_published_is_the_one_that_was_tested():
    """No workflow builds it a second time: .ci/run does, with the tests' outputs."""
    workflows = [*(ROOT / ".github" / "workflows").glob("*.yml")]
    texts = {path.name: path.read_text(encoding="utf-8") for path in workflows}
    assert [name for name, lines in texts.items() if "docs/build.py" in lines] == []
    [publishes] = [name for name, lines in texts.items() if "deploy-pages" in lines]
    assert "bash .ci/run" in texts[publishes] and "path: _docs" in texts[publishes]


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


def settings():
    """What settings.ini says."""
    config = ConfigParser(delimiters=["="])
    config.read(ROOT / "settings.ini", encoding="utf-8")
    return config["DEFAULT"]


def test_a_version_is_the_same_everywhere():
    """The changelog has it first, with nothing above that is not released."""
    version = settings()["version"]
    assert f'__version__ = "{version}"' in text("rvamp_nb/__init__.py")
    assert re.search(rf"^version: {version}$", text("CITATION.cff"), re.M)
    assert re.search(r"^date-released: \d{4}-\d\d-\d\d$", text("CITATION.cff"), re.M)
    assert re.search(rf'^  version: "{version}"$', text("docs/conda/recipe.yaml"), re.M)
    assert re.search(r"^## (\S+)$", text("CHANGELOG.md"), re.M)[1] == version
    printed = {
        found
        for notebook in ROOT.glob("nbs/*/*.ipynb")
        for found in re.findall(r"rvamp_nb (\d+\.\d+\.\d+) \(Python", text(notebook))
    }
    assert printed == {version}, "run the notebooks that print it"


def test_the_conda_recipe_says_what_the_settings_say():
    """All of it: a part that is new in the recipe is compared here."""
    found = rattler_build.Stage0Recipe.from_yaml(text("docs/conda/recipe.yaml"))
    [made] = found.render(rattler_build.VariantConfig({"python_min": ["3.10"]}))
    recipe = made.recipe.to_dict()
    mine = settings()
    scripts = [line.replace("=", " = ") for line in mine["console_scripts"].split()]
    python = recipe["tests"][0]["python"]
    for module in python.pop("imports"):
        import_module(module)
    name, version = mine["lib_name"], mine["version"]
    builds = text("pyproject.toml").partition("requires = [")[2].partition("]")[0]
    setuptools = builds.strip('"').replace(">=", " >=")
    asked = mine["requirements"].replace("matplotlib", "matplotlib-base")
    needs = [need.replace(">=", " >=") for need in asked.split()]
    script = "${{ PYTHON }} -m pip install . -vv --no-deps --no-build-isolation"
    recipe["build"].pop("string")  # a hash that the tool makes
    assert re.fullmatch(r"[0-9a-f]{64}", recipe["source"][0].pop("sha256"))
    assert mine["description"].lower().endswith(recipe["about"].pop("summary").lower())
    assert recipe == {
        "schema_version": 1,
        "context": {"name": name, "version": version},
        "package": {"name": name, "version": version},
        "source": [{"url": f"{mine['git_url']}/archive/refs/tags/v{version}.tar.gz"}],
        "build": {
            "noarch": "python",
            "number": 0,
            "script": script,
            "python": {"entry_points": scripts},
        },
        "requirements": {
            "host": [f"python {mine['min_python']}.*", "pip", setuptools],
            "run": [f"python >={mine['min_python']}", *needs],
        },
        "tests": [
            {"python": {"python_version": f"{mine['min_python']}.*"}},
            {"script": scripts[0].partition(" ")[0]},
        ],
        "about": {
            "homepage": mine["git_url"],
            "documentation": mine["doc_host"] + mine["doc_baseurl"],
            "license": "Apache-2.0",
            "license_file": ["LICENSE"],
        },
        "extra": {"recipe-maintainers": [mine["user"]]},
    }
