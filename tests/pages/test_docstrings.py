"""What a user reads of a public name, or of a type that comes back: its docstring's
first sentence begins with a verb and can be read alone, and the docstring ends with an
example that runs. A plain module begins with what it is for, and an example, too.
"""

import doctest
import inspect
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name

import pytest
from offered import first_sentence, public
from plain import PLAIN

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))
from reference import beside

from rvamp_nb import BaggedClassifier, BaggedRegressor, StabilitySelection

# What a public name does. A new verb is added here: a noun is seen by whoever adds it.
VERBS = set(
    """Assume Average Centre Choose Compute Count Describe Draw Estimate Find Fit Hold
    Leave Load Make Measure Multiply Penalise Predict Read Refit Report Select Send Take
    Warn Write""".split()
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def documented():
    """{name: what has its docstring}: the public names, the types that come back, and
    the public methods that the estimators have from us.
    """
    found = {name.removeprefix("rvamp_nb."): resolve_name(name) for name in beside()}
    found.update(public())
    for kind in (StabilitySelection, BaggedRegressor, BaggedClassifier):
        for name, method in inspect.getmembers(kind, inspect.isroutine):
            ours = (getattr(method, "__module__", None) or "").startswith("rvamp_nb")
            if ours and not name.startswith("_"):
                found[f"{kind.__name__}.{name}"] = method
    return found


THINGS = documented()


def faults(name, thing):
    """What is wrong with a docstring's form."""
    text = inspect.getdoc(thing) or ""
    sentence = first_sentence(text)
    verb = sentence.partition(" ")[0]
    if verb not in VERBS:
        yield f"{name} begins with {verb!r}, no verb of VERBS"
    if not sentence.endswith("."):
        yield f"{name}: the first sentence does not end"
    examples = doctest.DocTestParser().get_examples(text)
    if "\nExamples\n--------\n>>> " not in text or not examples:
        yield f"{name} has no example"
    elif not examples[-1].want and not examples[-1].exc_msg:
        yield f"{name}: its example ends without an answer"


def complaints(name, thing):
    """What doctest reports of the examples, which see nothing but what they import."""
    said, runner = [], doctest.DocTestRunner(optionflags=FLAGS)
    finder = doctest.DocTestFinder(recurse=False)
    for test in finder.find(thing, name, module=False, globs={}):
        runner.run(test, out=said.append)
    return said


@pytest.mark.parametrize("name", THINGS)
def test_a_docstring_begins_with_a_verb_and_has_an_example_that_runs(name):
    assert [*faults(name, THINGS[name]), *complaints(name, THINGS[name])] == []


def defined_in(module):
    """{name: what has a docstring with an example} of a module, its public names and
    their methods left out, which are among the others.
    """
    finder, public = doctest.DocTestFinder(), {id(thing) for thing in THINGS.values()}
    tests = finder.find(module, module.__name__, globs={})
    examples = [test.name for test in tests if test.examples]
    things = {name: resolve_name(name) for name in examples}
    return {name: thing for name, thing in things.items() if id(thing) not in public}


@pytest.mark.parametrize("room", PLAIN)
def test_a_plain_module_says_what_it_is_for_and_its_examples_run(room):
    module = import_module(f"rvamp_nb.{room}")
    title, _, why = module.__doc__.partition("\n\n")
    assert "\n" not in title and title.endswith(".") and why, title
    examples = defined_in(module)
    assert module.__name__ in examples
    found = [line for name in examples for line in complaints(name, examples[name])]
    assert found == []


def documented_by(text):
    """A function with this docstring."""

    def f(): ...

    f.__doc__ = text
    return f


GOOD = "Take one.\n\nExamples\n--------\n>>> 1 + 0\n1\n"


def test_a_docstring_in_form_passes():
    assert [*faults("f", documented_by(GOOD))] == []
    assert complaints("f", documented_by(GOOD)) == []


@pytest.mark.parametrize(
    "old, new, found",
    [
        (GOOD, "", "f begins with ''"),
        ("Take", "The", "f begins with 'The'"),
        ("one.", "one", "f: the first sentence does not end"),
        ("Examples\n--------\n", "", "f has no example"),
        ("\n1\n", "\n", "f: its example ends"),
    ],
)
def test_a_docstring_out_of_form_is_found(old, new, found):
    thing = documented_by(GOOD.replace(old, new))
    assert [*faults("f", thing)][0].startswith(found)


@pytest.mark.parametrize("example", ["1 + 1", "unknown"])
def test_an_example_that_does_not_run_is_found(example):
    assert complaints("f", documented_by(GOOD.replace("1 + 0", example)))
