"""Replicated vector approximate message passing: what resampling would give, without
    resampling.

Every module of this package is exported from the notebook that derives it; only this
file is written by hand. It lists the public names and loads the module behind each on
first use, so that ``import rvamp_nb`` costs next to nothing.
"""

__version__ = "0.3.0"

_HOMES = {  # module: the public names that live in it
    "inference.effects": ("debiased_effects",),
    "inference.conditioning": ("condition_on_rows",),
    "bootstrap": ("naive_bootstrap",),
    "tables.on_dask": ("DaskTable",),
    "densities": ("coefficient_interval", "p1", "p2"),
    "energy": ("free_energy", "stability_radius"),
    "evolution": ("ConstantSignal", "GaussianSignal", "state_evolution"),
    "likelihood": ("Huber", "Logistic", "Loss", "PoissonLoss", "Squared"),
    "select.planning": ("predict_study", "plan_study"),
    "prior": ("ElasticNet", "Laplace", "NonNegative", "Prior", "Ridge", "SpikeSlab"),
    "resampling": (
        "Discrete",
        "Exponential",
        "FixedFactor",
        "Grouped",
        "Multinomial",
        "NoResampling",
        "Poisson",
        "Stratified",
        "Subsample",
        "TwoPoint",
        "Weakness",
    ),
    "saving": ("load_state", "save_fit"),
    "solver": ("ConvergenceWarning", "Fit", "load_fit", "rvamp", "rvamp_path"),
    "select.stability": ("StabilitySelection",),
    "tables.storage": ("ChunkError", "ChunkedTable"),
    "inference.survival": ("survival_fit",),
    "weighted": ("WeightedLoss",),
    "inference.refinement": ("refine",),
    "inference.diagnostics": ("ReliabilityWarning",),
}
_MODULES = ("datasets",)  # public as modules
_RENAMED = {  # until 1.0: what a name of 0.3.0 is called now
    "BlockError": "ChunkError",
    "DaskPanels": "DaskTable",
    "Fixed": "FixedFactor",
    "FixedSizes": "ConstantSignal",
    "GaussianSizes": "GaussianSignal",
    "Panels": "ChunkedTable",
    "Rows": "WeightedLoss",
    "TrustWarning": "ReliabilityWarning",
    "counted": "condition_on_rows",
    "effects": "debiased_effects",
    "expected_study": "predict_study",
    "plan": "plan_study",
    "refined": "refine",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name):
    from importlib import import_module

    if name not in __all__:
        now = f": it is {_RENAMED[name]} now" if name in _RENAMED else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{now}")
    module = import_module(f"{__name__}.{_HOME.get(name, name)}")
    value = globals()[name] = getattr(module, name) if name in _HOME else module
    return value


def __dir__():
    return sorted({*globals(), *__all__})
