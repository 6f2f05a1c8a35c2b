"""Replicated vector approximate message passing: what resampling would give, without
    resampling.

Every module of this package is exported from the notebook that derives it; only this
file and ``__init__.pyi`` are written by hand. The latter lists the public names, for
type checkers and for ``lazy_loader``, which loads the module behind each on first use,
so that ``import rvamp_nb`` costs next to nothing.
"""

__version__ = "0.4.0"

import lazy_loader as _lazy_loader

# until 1.0: what a name of an earlier version is called now, or what to write for it
_RENAMED = {
    "BlockError": "write from rvamp_nb.exceptions import ChunkError",
    "ChunkError": "write from rvamp_nb.exceptions import ChunkError",
    "ChunkedTable": "write from rvamp_nb.tables import ChunkedTable",
    "ConvergenceWarning": "write from rvamp_nb.exceptions import ConvergenceWarning",
    "DaskPanels": "write from rvamp_nb.tables import DaskTable",
    "DaskTable": "write from rvamp_nb.tables import DaskTable",
    "Fit": "write from rvamp_nb.results import Fit",
    "Fixed": "FixedFactor",
    "FixedSizes": "ConstantSignal",
    "GaussianSizes": "GaussianSignal",
    "Panels": "write from rvamp_nb.tables import ChunkedTable",
    "ReliabilityWarning": "write from rvamp_nb.exceptions import ReliabilityWarning",
    "Rows": "WeightedLoss",
    "TrustWarning": "write from rvamp_nb.exceptions import ReliabilityWarning",
    "counted": "condition_on_rows",
    "effects": "debiased_effects",
    "expected_study": "predict_study",
    "plan": "plan_study",
    "refined": "refine",
}

_load, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name):
    if name in _RENAMED:
        now = _RENAMED[name]
        if now.isidentifier():
            now = f"it is {now} now"
        # no AttributeError: what it says is lost in `from rvamp_nb import name`
        raise ImportError(f"module {__name__!r} has no attribute {name!r}: {now}")
    return _load(name)
