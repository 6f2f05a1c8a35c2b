"""The page of the public names by task, made from their docstrings: of each its first
sentence and its example (tests/pages/test_docstrings.py holds them to that).
"""

import inspect
import re
from operator import attrgetter

import rvamp_nb

# What a user wants to do, and with which names, the first thing first. A name of
# a public module stands here with it.
TASKS = {
    "Fit": (
        "rvamp Fit rvamp_path naive_bootstrap survival_fit softmax_fit"
        " ConvergenceWarning"
    ),
    "Fit: penalties and priors": (
        "Laplace Ridge ElasticNet NonNegative GroupLasso orthonormal_groups SpikeSlab"
    ),
    "Fit: losses": "Squared Logistic PoissonLoss Huber WeightedLoss",
    "Fit: laws of the rows' counts": (
        "Poisson Subsample Multinomial NoResampling Exponential Discrete Grouped"
        " Stratified"
    ),
    "Fit: laws of the random penalties": "TwoPoint Weakness FixedFactor",
    "Fit: data": (
        "datasets.toy datasets.random_dct datasets.gaussian_design"
        " datasets.load_diabetes datasets.load_riboflavin datasets.standardize"
        " datasets.choose_lambda"
    ),
    "Fit: tables larger than the memory, and files": (
        "ChunkedTable DaskTable ChunkError save_fit load_fit load_state"
    ),
    "Select": (
        "StabilitySelection neighbourhoods refine condition_on_rows complementary_pairs"
        " ReliabilityWarning"
    ),
    "Understand": (
        "p1 p2 coefficient_interval group_norm debiased_effects free_energy"
        " stability_radius"
    ),
    "Plan": "plan_study predict_study state_evolution ConstantSignal GaussianSignal",
    "Extend": "Prior Loss",
}


def public():
    """{name: the thing}: what ``from rvamp_nb import ...`` offers, and of a module that
    it offers the functions.
    """
    found = {}
    for name in rvamp_nb.__all__:
        thing = getattr(rvamp_nb, name)
        if not inspect.ismodule(thing):
            found[name] = thing
            continue
        parts = {part: getattr(thing, part) for part in thing.__all__}
        functions = {k: part for k, part in parts.items() if inspect.isfunction(part)}
        found |= {f"{name}.{part}": function for part, function in functions.items()}
    return found


def first_sentence(text):
    """Of a docstring, on one line: up to a period before a capital, or to the end;
    without the labels of equations, which stand in brackets.
    """
    paragraph = " ".join(text.partition("\n\n")[0].split())
    sentence = re.split(r"(?<=\.)\s+(?=[A-Z`(])", paragraph)[0]
    return re.sub(r" \((`\w+[:-][\w:-]+`(, )?)+\)", "", sentence)


def example(text):
    """The lines of a docstring's Examples; nothing where it has none."""
    return text.partition("\nExamples\n--------\n")[2].partition("\n\n")[0]


def entry(name):
    """A public name on the page: heading, first sentence, example, and the way to the
    parameters.
    """
    thing = attrgetter(name)(rvamp_nb)
    text = inspect.getdoc(thing)
    # outside code, what Markdown would read as markup is what it is
    sentence = re.sub(
        r"(`[^`]*`)|([*_$<|])", lambda m: m[1] or "\\" + m[2], first_sentence(text)
    )
    more = f"{{py:obj}}`More about {name} <{thing.__module__}.{thing.__name__}>`"
    code = f"```pycon\n{example(text)}\n```\n" if example(text) else ""
    return f"### `{name}`\n\n{sentence} {more}.\n\n{code}"


def by_task():
    """The page: a section for each task."""
    return "\n".join(
        f"## {task}\n\n" + "\n".join(map(entry, names.split()))
        for task, names in TASKS.items()
    )
