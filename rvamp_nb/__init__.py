"""Replicated vector approximate message passing: what resampling would give, without
    resampling.

Every module of this package is exported from the notebook that derives it; only this
file and ``__init__.pyi`` are written by hand. The latter lists the public names, for
type checkers and for ``lazy_loader``, which loads the module behind each on first use,
so that ``import rvamp_nb`` costs next to nothing.
"""

__version__ = "0.4.0"

import lazy_loader as _lazy_loader

_LESSON = "chapter 4.6 has it: from rvamp_nb.course.conditioning import condition_on_rows"
_ONE_PENALTY = "a prior has one penalty now: leave it out, or write randomize=None"
# until 1.0: where a name of an earlier version is now, or what to do in its place
_RENAMED = {
    "BlockError": "exceptions.ChunkError",
    "ChunkError": "exceptions.ChunkError",
    "ChunkedTable": "tables.ChunkedTable",
    "ConvergenceWarning": "exceptions.ConvergenceWarning",
    "DaskPanels": "tables.DaskTable",
    "DaskTable": "tables.DaskTable",
    "Fit": "results.Fit",
    "Fixed": _ONE_PENALTY,
    "FixedFactor": _ONE_PENALTY,
    "FixedSizes": "ConstantSignal",
    "GaussianSizes": "GaussianSignal",
    "Multinomial": "write Poisson(tau); for refits alone chapter 1.2 has"
    " from rvamp_nb.course.multinomial import Multinomial",
    "Panels": "tables.ChunkedTable",
    "ReliabilityWarning": "exceptions.ReliabilityWarning",
    "Rows": "WeightedLoss",
    "TrustWarning": "exceptions.ReliabilityWarning",
    "coefficient_interval": "write p1(fit).quantile([0.05, 0.95])",
    "condition_on_rows": _LESSON,
    "counted": _LESSON,
    "effects": "debiased_effects",
    "expected_study": "predict_study",
    "group_norm": "chapter 5.8 has it in two lines, by algorithm.group_channel",
    "load_fit": "a fit is pickled: write joblib.load(path)",
    "load_state": "write joblib.load(path), after joblib.dump(fit.messages, path)",
    "orthonormal_groups": "write StabilitySelection(column_groups=...), or"
    " algorithm.column_groups.orthonormal(A, labels)",
    "plan": "plan_study",
    "refined": "refine",
    "save_fit": "a fit is pickled: write joblib.dump(fit, path)",
    "softmax_fit": "write StabilitySelection(loss='softmax', lambdas=[lam]).fit(X, y)",
    "stability_radius": "algorithm.energy.stability_radius",
    "survival_fit": "write StabilitySelection(loss='survival', lambdas=[lam]).fit(X, y)",
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
