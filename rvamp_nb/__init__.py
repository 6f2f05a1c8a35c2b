"""Replicated vector approximate message passing: what resampling would give, without
    resampling.

Every module of this package is exported from the notebook that derives it; only this
file and ``__init__.pyi`` are written by hand. The latter lists the public names, for
type checkers and for ``lazy_loader``, which loads the module behind each on first use,
so that ``import rvamp_nb`` costs next to nothing.
"""

__version__ = "0.4.0"

import lazy_loader as _lazy_loader

# until 1.0: where a name of an earlier version is now, or what to do in its place
_RENAMED = {
    "BlockError": "exceptions.ChunkError",
    "ChunkError": "exceptions.ChunkError",
    "ChunkedTable": "tables.ChunkedTable",
    "ConstantSignal": "algorithm.order_parameters.ConstantSignal",
    "ConvergenceWarning": "exceptions.ConvergenceWarning",
    "DaskPanels": "tables.DaskTable",
    "DaskTable": "tables.DaskTable",
    "Fit": "results.Fit",
    "Fixed": "FixedFactor",
    "FixedSizes": "algorithm.order_parameters.ConstantSignal",
    "GaussianSignal": "algorithm.order_parameters.GaussianSignal",
    "GaussianSizes": "algorithm.order_parameters.GaussianSignal",
    "Panels": "tables.ChunkedTable",
    "ReliabilityWarning": "exceptions.ReliabilityWarning",
    "Rows": "WeightedLoss",
    "TrustWarning": "exceptions.ReliabilityWarning",
    "counted": "condition_on_rows",
    "effects": "debiased_effects",
    "expected_study": "predict_study",
    "plan": "plan_study",
    "refined": "refine",
    "stability_radius": "algorithm.energy.stability_radius",
}

_load, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name):
    if name in _RENAMED:
        now = _RENAMED[name]
        if " " not in now:
            home, _, called = f"{__name__}.{now}".rpartition(".")
            now = f"write from {home} import {called}"
        # no AttributeError: what it says is lost in `from rvamp_nb import name`
        raise ImportError(f"module {__name__!r} has no attribute {name!r}: {now}")
    return _load(name)
