"""Replicated vector approximate message passing: what resampling would give, without
    resampling.

Every module of this package is exported from the notebook that derives it; only this
file and ``__init__.pyi`` are written by hand. The latter lists the public names, for
type checkers and for ``lazy_loader``, which loads the module behind each on first use,
so that ``import rvamp_nb`` costs next to nothing.
"""

__version__ = "0.4.0"

import lazy_loader as _lazy_loader

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

_load, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name):
    if name in _RENAMED:
        now = f"it is {_RENAMED[name]} now"
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: {now}")
    return _load(name)
