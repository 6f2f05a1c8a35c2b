"""What is imported when: the package lightly, its names lazily, and chapters only
from chapters before them.
"""

import ast
import pkgutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import rvamp_nb

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "nbs").rglob("[!_.]*.ipynb"))
MODULES = sorted(
    module.name
    for module in pkgutil.iter_modules(rvamp_nb.__path__)
    if not module.name.startswith("_")
)
HEAVY = (
    "anywidget",
    "IPython",
    "ipywidgets",
    "joblib",
    "matplotlib",
    "pandas",
    "pooch",
    "rdata",
    "sklearn",
    "tqdm",
)
IS_AN_ESTIMATOR = "stability"  # scikit-learn's base classes are what it is made of
MAY_IMPORT_ANY = ("index", "00_tour")  # they show what the course will arrive at
ANY_MAY_IMPORT = {
    "checks",
    "cluster",
    "explore",
    "report",
    "saving",
    "storage",
    "tables",
}  # rooms that derive nothing


def loaded_by(statement):
    """The top-level modules that are loaded in a fresh interpreter after
    ``statement``.
    """
    code = (
        f"{statement}\nimport sys; print(*{{name.partition('.')[0] for name in"
        " sys.modules})"
    )
    return set(
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
    )


def test_the_package_imports_nothing_heavy():
    assert loaded_by("import rvamp_nb").isdisjoint((*HEAVY, "numpy", "scipy"))


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_numpy_and_scipy_at_most(module):
    # scikit-learn brings the other two
    allowed = {"sklearn", "joblib", "pandas"} if module == IS_AN_ESTIMATOR else set()
    assert loaded_by(f"import rvamp_nb.{module}").isdisjoint(set(HEAVY) - allowed)


@pytest.mark.parametrize("name", rvamp_nb.__all__)
def test_a_public_name_resolves(name):
    assert getattr(rvamp_nb, name) is vars(rvamp_nb)[name]
    assert name in dir(rvamp_nb)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        rvamp_nb.nonsense


def test_version_is_that_of_the_settings():
    assert f"version = {rvamp_nb.__version__}\n" in (ROOT / "settings.ini").read_text(
        encoding="utf-8"
    )


def code_of(path):
    """The syntax trees of a notebook's code cells (lines of magic left out)."""
    for cell in nbformat.read(path, 4).cells:
        if cell.cell_type == "code":
            yield ast.parse(
                "\n".join(
                    line
                    for line in cell.source.splitlines()
                    if not line.lstrip().startswith(("%", "!"))
                )
            )


def modules_imported(tree):
    """The modules of this package that a piece of code imports from, as (module,
    names or None).
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", [alias.name for alias in node.names]


def chapters_imported(tree):
    """The names of the modules of rvamp_nb that a piece of code needs."""
    for module, names in modules_imported(tree):
        package, _, inner = module.partition(".")
        if package == "rvamp_nb":
            yield from (
                [inner]
                if inner
                else [
                    rvamp_nb._HOME.get(name, name)
                    for name in names or ()
                    if name != "__version__"
                ]
            )


def home_of_modules():
    """{module: the number of the chapter that exports it}."""
    homes = {}
    for path in NOTEBOOKS:
        for cell in nbformat.read(path, 4).cells:
            if cell.cell_type == "code" and cell.source.startswith("#| default_exp"):
                homes[cell.source.split()[2]] = path.stem[:2]
    return homes


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_chapter_imports_only_what_comes_before_it(path):
    if path.stem in MAY_IMPORT_ANY:
        return
    homes = home_of_modules()
    needed = {
        module for tree in code_of(path) for module in chapters_imported(tree)
    } - ANY_MAY_IMPORT
    later = {
        module
        for module in needed
        if not homes.get(module, "no chapter") < path.stem[:2]
    }
    assert later == set()


def private_names(tree):
    """The underscore names of other rooms that a piece of code takes: imported, or as
    attributes of an imported module of this package.
    """
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "rvamp_nb"
        ):
            names = {alias.name for alias in node.names}
            yield from (name for name in names if is_private(name))
            modules |= {alias.asname or alias.name for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if getattr(node.value, "id", None) in modules & set(MODULES):
                yield f"{node.value.id}.{node.attr}"


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def test_private_names_are_found():
    code = (
        "from rvamp_nb import prior\nfrom rvamp_nb.solver import _turn, rvamp\n"
        "prior._tail(); prior.Ridge()._replace(); np._x"
    )
    assert set(private_names(ast.parse(code))) == {"_turn", "prior._tail"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_room_takes_an_underscore_name_of_another(path):
    modules = ast.parse("\n".join(ast.unparse(tree) for tree in code_of(path)))
    assert sorted(private_names(modules)) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_star_imports(path):
    assert not any(
        names == ["*"] for tree in code_of(path) for _, names in modules_imported(tree)
    )
