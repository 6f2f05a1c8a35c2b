"""State evolution: against rvamp, against closed forms, and what it refuses."""

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rvamp_nb import (
    ConvergenceWarning,
    FixedSizes,
    GaussianSizes,
    SampledSizes,
    state_evolution,
)
from rvamp_nb.evolution import Spectrum, coupled, spectrum_of
from rvamp_nb.likelihood import Huber, Logistic, PoissonLoss, Squared
from rvamp_nb.prior import ElasticNet, Laplace, NonNegative, Ridge, SpikeSlab
from rvamp_nb.resampling import Fixed, NoResampling, Poisson, Subsample, Weakness

PLACE = Path(__file__).parent / "truth_evolution" / "make_evolution_truth.py"
spec = importlib.util.spec_from_file_location("make_evolution_truth", PLACE)
truth = importlib.util.module_from_spec(spec)
spec.loader.exec_module(truth)
MEASURED = truth.load()
EFFECTS = FixedSizes(1.0, 0.025)


def predicted(name):
    s = truth.SETTINGS[name]
    said = state_evolution(
        truth.RATIO,
        signal=FixedSizes(s["size"], s["density"]),
        noise=s["noise"],
        spectrum="orthogonal" if s["design"] == "dct" else None,
        **truth.model(name),
    )
    assert said.converged, said.status
    macro, shares = said.macro, np.array(truth.THRESHOLDS)
    power = s["density"] * s["size"] ** 2 / truth.RATIO
    return np.array(
        [said.mse, said.var, said.chi, said.Pi_null.mean, said.Pi_true.mean]
        + [*said.Pi_null.at_least(shares), *said.power(shares)]
        + [macro.Q_hat_1x, macro.psi_hat_1x, macro.chi_hat_1x, macro.Q_hat_1u]
        + [macro.psi_hat_1u(macro.k, power), macro.chi_hat_1u, macro.k]
    )


@pytest.mark.parametrize("name", truth.SETTINGS)
def test_it_predicts_rvamp_on_ten_large_data_sets(name):
    """Every average within 3.5 standard errors of ten data sets (of 120 averages one
    or two are beyond 3 by chance), and together as far away as chance is.
    """
    largest = max(N for setting, N in MEASURED if setting == name)
    found, ours = MEASURED[name, largest], predicted(name)
    se = found.std(0, ddof=1) / np.sqrt(len(found))
    away = (found.mean(0) - ours) / np.maximum(se, 1e-12)
    few = found.mean(0) * largest < 3  # counts that are mostly 0 are not normal
    few[[k for k, n in enumerate(truth.NAMES) if "_0." not in n]] = False
    assert np.abs(away[~few]).max() < 3.5, dict(zip(truth.NAMES, away.round(1)))
    assert np.sqrt((away[~few] ** 2).mean()) < 2


@pytest.mark.parametrize("name", ["gaussian poisson", "dct half"])
def test_the_summary_is_what_the_script_makes(name):
    found = truth.measured(name, 500, 0)
    assert_allclose(found, MEASURED[name, 500][0], rtol=1e-3, atol=1e-6)
