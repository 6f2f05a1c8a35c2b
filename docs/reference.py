"""The reference: the public names by task, then from A to Z. Autosummary makes the
tables, and for each name a page of its docstring (templates/name.rst;
tests/pages/test_docstrings.py holds these).
"""

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
    "What comes back": (
        "algorithm.solver.Path inference.bootstrap.Refits algorithm.densities.P1"
        " algorithm.densities.P2 algorithm.densities.P1Clustered"
        " algorithm.densities.P1Posterior algorithm.column_groups.P1InGroup"
        " algorithm.column_groups.GroupNorm inference.refinement.RefinedFit"
        " inference.conditioning.ConditionedFit inference.diagnostics.Diagnostics"
        " inference.effects.Effects inference.survival.BaselineHazard"
        " select.networks.Network select.planning.Study algorithm.evolution.Evolution"
    ),
}
TABLE = """\
## {}

```{{eval-rst}}
.. currentmodule:: rvamp_nb
.. autosummary::
   :toctree: api
   :template: name.rst
   :nosignatures:

   {}
```
"""


def by_task():
    """The tables of the reference: one for each task."""
    return "\n".join(
        TABLE.format(task, "\n   ".join(names.split())) for task, names in TASKS.items()
    )


def from_a_to_z():
    """A link to each name, in a line."""
    names = sorted(" ".join(TASKS.values()).split(), key=str.lower)
    return ", ".join(f"{{py:obj}}`{name} <rvamp_nb.{name}>`" for name in names)


def beside():
    """{a name as Python knows it: the others of its task}."""
    tasks = [[f"rvamp_nb.{n}" for n in names.split()] for names in TASKS.values()]
    return {name: [n for n in names if n != name] for names in tasks for name in names}
