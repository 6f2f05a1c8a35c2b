"""The field's words in what a user meets as a name: public names, their parameters, the
attributes of public classes, and the command's options. (Prose is in test_form, what
messages and the console say in the tests of their rooms.)
"""

import ast
import importlib
import inspect
import json
import re

import numpy as np
import pytest
from house import nodes_of, parsed
from notebooks import ROOT

import rvamp_nb
from rvamp_nb import StabilitySelection, debiased_effects, results, rvamp, tables
from rvamp_nb.algorithm.prior import ElasticNet, Laplace
from rvamp_nb.algorithm.resampling import NoResampling, TwoPoint
from rvamp_nb.datasets import gaussian_design
from rvamp_nb.typing import _NOW as OLD  # {an argument of 0.3.0: what it is called now}

PAGE = "nbs/howto/coming_from_r.ipynb"
# each as a part of a name: `own_share`, `told_`, `--last-word`, `firstLight`
PRIVATE = (
    *("told", "said", "unsaid", "heard", "hears", "own", "grain", "grains", "light"),
    *("lights", "worth", "room", "rooms", "door", "doors", "last_word", "trust"),
    *("vouch", "refused", "counted", "blocks"),
)
# classes that a user gets and does not import from the top: {module: names}
RETURNED = {
    "results": results.__all__,
    "algorithm.column_groups": ("ColumnGroups",),
    "algorithm.resampling": ("CountLaw",),
    "course.conditioning": ("ConditionedFit",),
    "select.frames": ("Table",),
    "select.penalty": ("PenaltyChoice", "SelectionProblem"),
    "select.planning": ("Pilot",),
}


def private(name):
    """The private words that a name is made of."""
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().replace("-", "_")
    return [word for word in PRIVATE if f"_{word}_" in f"_{snake}_"]


def parameters(thing):
    try:
        return [*inspect.signature(thing).parameters]
    except (TypeError, ValueError):  # a class of C, or no signature
        return []


def names_of(thing, called):
    """Where a name stands and the name, of a public thing: its parameters and its
    attributes with theirs.
    """
    yield called, called
    if inspect.ismodule(thing):
        for name in thing.__all__:
            yield from names_of(getattr(thing, name), f"{called}.{name}")
        return
    for name in parameters(thing):
        yield f"{called}({name}=)", name
    if inspect.isclass(thing):
        attributes = {*dir(thing), *getattr(thing, "__annotations__", ())}
        for name in sorted(name for name in attributes if name[0] != "_"):
            yield f"{called}.{name}", name
            for part in parameters(getattr(thing, name, None)):
                yield f"{called}.{name}({part}=)", part


def wrong(names):
    return [(where, words) for where, name in names if (words := private(name))]


def test_public_names_and_parameters_have_the_words_of_the_field():
    public = ((getattr(rvamp_nb, name), name) for name in rvamp_nb.__all__)
    assert wrong(found for thing in public for found in names_of(*thing)) == []


@pytest.mark.parametrize("module", RETURNED)
def test_attributes_of_results_have_the_words_of_the_field(module):
    room = importlib.import_module(f"rvamp_nb.{module}")
    for name in RETURNED[module]:
        assert wrong(names_of(getattr(room, name), name)) == []


def test_attributes_that_a_fit_sets_have_the_words_of_the_field():
    """Those that stand in no class."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    y = X[:, 0] + rng.normal(size=60)
    selector = StabilitySelection(n_resamples=20, verbose=0).fit(X, y)
    fit = rvamp(X, y, prior=Laplace(5.0), resampling=NoResampling())
    results = selector, selector.diagnostics_, selector.refined_, selector.fit_, fit
    for result in (*results, debiased_effects(fit)):
        names = [*getattr(result, "__dict__", ()), *dir(result)]
        assert wrong((name, name) for name in names if name[0] != "_") == []
    summary = selector.summary(full=True)
    assert wrong((name, name) for name in [*summary.columns, *summary.attrs]) == []


@pytest.mark.parametrize("command", [(), ("select",), ("plan",)])
def test_options_of_the_command_have_the_words_of_the_field(command, capsys):
    from rvamp_nb.cli import main

    with pytest.raises(SystemExit):
        main([*command, "--help"])
    options = set(re.findall(r"--[a-z][a-z0-9-]*", capsys.readouterr().out))
    assert "--help" in options
    assert wrong((option, option[2:]) for option in options) == []


def defined(path):
    """Names that a module defines, takes, sets or reads."""
    for node in nodes_of(parsed(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.arg | ast.keyword) and node.arg:
            yield node.arg
        if isinstance(node, ast.Attribute):
            yield node.attr
        if isinstance(node, ast.AnnAssign):
            yield getattr(node.target, "id", None)


def test_what_a_page_says_is_here_is_here():
    """Those who come from other packages: the right column of their tables."""
    there = {name for path in ROOT.glob("rvamp_nb/**/*.py") for name in defined(path)}
    A, y, *_ = gaussian_design(90, 9, noise=0.3, seed=0)
    there |= {*dir(StabilitySelection(n_resamples=0, verbose=0).fit(A, y))}
    cells = json.loads((ROOT / PAGE).read_text(encoding="utf-8"))["cells"]
    said = "".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    names = set()
    for _, ours in re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", said, re.MULTILINE):
        for code in re.findall("`([^`]+)`(?! is not here)", ours):
            if "rvamp-nb" not in code:
                names |= {*re.findall("[A-Za-z]\\w*_*", re.sub('"[^"]*"', "", code))}
    assert len(names) > 50 and names - there - {"X", "y"} == set()


def test_old_names_stand_in_the_changelog():
    for old in rvamp_nb._RENAMED:
        assert f"`{old}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), old


@pytest.mark.parametrize(
    "name, old",
    [
        ("refine", "n_refits"),
        ("rvamp_path", "lams"),
        ("naive_bootstrap", "progress"),
        ("state_evolution", "likelihood"),
        ("StabilitySelection", "refits"),
        ("ChunkedTable", "block"),
        ("ChunkedTable", "centre"),
        ("ChunkedTable", "unit"),
        ("DaskTable", "root"),
        ("DaskTable", "ones"),
    ],
)
def test_an_old_argument_names_that_of_today(name, old):
    thing = getattr(tables if name.endswith("Table") else rvamp_nb, name)
    with pytest.raises(TypeError, match=f"^{name}: {old}= is called {OLD[old]}= now$"):
        thing(**{old: 1})
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        thing(nonsense=1)
    assert old not in parameters(thing) and OLD[old] in parameters(thing)
    assert re.search(rf"[(` ]{old}=", (ROOT / "CHANGELOG.md").read_text("utf-8"))


LEFT = {  # {an option of the selector that left: what the error says to write}
    "l1_ratio": "prior=ElasticNet(1.0, l1_ratio=0.5)",
    "randomize": "prior=Laplace(1.0, TwoPoint(2, 0.5))",
    "randomise": "prior=Laplace(1.0, TwoPoint(2, 0.5))",
    "n_lambdas": "lambdas=20",
    "lambda_min_ratio": "lambdas=[...]",
    "decoys": "q_values(decoys='permuted')",
    "categories": "summary(categories=...)",
    "min_features": "summary()",
    "max_iter": "tol",
}


@pytest.mark.parametrize("old", LEFT)
def test_an_option_that_left_says_what_to_write(old):
    words = f"^StabilitySelection: {old}= has left: .*{re.escape(LEFT[old])}"
    with pytest.raises(TypeError, match=words):
        StabilitySelection(**{old: 1})
    with pytest.raises(ValueError, match="Invalid parameter"):
        StabilitySelection().set_params(**{old: 1})
    assert old not in StabilitySelection().get_params()


@pytest.mark.parametrize("name", ["plan_study", "predict_study"])
def test_a_plan_for_features_of_several_columns_takes_a_pilot(name):
    with pytest.raises(TypeError, match=f"^{name}: columns_per_feature= .* a pilot="):
        getattr(rvamp_nb, name)(columns_per_feature=3)


def test_what_is_to_be_written_in_place_of_an_option_can_be_written():
    data = gaussian_design(60, 8, noise=0.3, seed=0)
    names = {"ElasticNet": ElasticNet, "Laplace": Laplace, "TwoPoint": TwoPoint}
    for old in ("l1_ratio", "randomize", "n_lambdas"):
        options = eval(f"dict({LEFT[old]})", names)
        s = StabilitySelection(n_resamples=0, verbose=0, **options)
        assert s.fit(data.A, data.y).status_ == "converged"
    assert len(s.lambdas_) == 20 and len(s.summary(categories=[[0, 1]])) == 8
    assert s.q_values(decoys="permuted").between(0, 1).all()


@pytest.mark.parametrize(
    "name, words",
    [
        ("own_share", ["own"]),
        ("TrafficLight", ["light"]),
        ("--last-word", ["last_word"]),
        ("download", []),
        ("lightness", []),
    ],
)
def test_a_private_word_is_found_as_a_part_of_a_name(name, words):
    assert private(name) == words
