"""The bound for normal fields on tables where nothing matters, and what it finds."""

import sys
from pathlib import Path

import numpy as np
import pytest

from rvamp_nb.inference.diagnostics import RED_OWN

HERE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE / "bench"))
import null_fields  # noqa: E402

KEPT = null_fields.load("null")
FOUND = null_fields.load("effects")


@pytest.mark.parametrize("name", KEPT)
def test_on_noise_no_more_is_selected_than_the_bound_for_normal_fields_promises(name):
    """Fits in which one row makes too much of a field are left out, as the estimator
    does not take the bound for these.
    """
    for at, (threshold, pfer) in enumerate(null_fields.PROMISES):
        false, bound, _, share = KEPT[name][:, at].astype(float).T
        taken = share <= RED_OWN
        if taken.sum() < null_fields.ENOUGH:
            continue
        assert (bound <= 1.001 * pfer).all()
        error = false[taken].std() / taken.sum() ** 0.5
        promised = bound[taken].mean()
        assert false[taken].mean() <= promised + 2 * error, (threshold, pfer)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of a pfer that is not spent
def test_with_the_default_refits_no_more_is_selected_than_promised():
    kept = null_fields.load("refits")
    assert list(kept) == null_fields.REFITTED
    for name, found in kept.items():
        false, bound = found.astype(float).T
        assert len(false) >= null_fields.ENOUGH and (bound <= 1).all()
        error = false.std() / len(false) ** 0.5
        assert false.mean() <= bound.mean() + 2 * error, name
    again = null_fields.refitted("Toeplitz .5", 0)
    np.testing.assert_allclose(again, kept["Toeplitz .5"][0], rtol=1e-3)


def test_without_the_limit_heavy_tails_on_both_sides_break_it():
    found = KEPT["lognormal columns, Cauchy noise"][:, 0].astype(float)
    error = found[:, 0].std() / len(found) ** 0.5
    assert found[:, 0].mean() > found[:, 1].mean() + 3 * error
    assert (found[:, 3] > RED_OWN).mean() > 0.98


@pytest.mark.filterwarnings("ignore::rvamp_nb.exceptions.ReliabilityWarning")
@pytest.mark.parametrize("name", ["independent 20x200", "t3 columns, t3 noise"])
def test_the_first_data_sets_of_noise_are_made_again(name):
    for d in range(3):
        again = np.array(null_fields.at_null(name, d), float)
        # one feature within rounding of a threshold may fall the other way
        assert np.abs(again[:, 0] - KEPT[name][d, :, 0]).max() <= 1
        np.testing.assert_allclose(again[:, 1], KEPT[name][d, :, 1], rtol=0.01)
        np.testing.assert_allclose(again[:, 3], KEPT[name][d, :, 3], atol=1e-3)


def test_at_the_same_promise_twice_as_many_true_features_are_found():
    few = ["independent 100x1000"]  # rows: q is capped for each of the bounds
    assert len(FOUND) == 8
    for name, counts in FOUND.items():
        mb, unimodal, gaussian, _ = counts.astype(float).mean(0)
        assert gaussian[2] < 0.5, name  # false ones that are no neighbours
        assert gaussian[0] > (0.95 if name in few else 2) * mb[0], name
        assert gaussian[0] > (0.95 if name in few else 1.3) * unimodal[0], name


@pytest.mark.parametrize("name", ["independent 150x300", "blocks .7"])
def test_the_first_data_set_with_effects_is_made_again(name):
    again = np.array(null_fields.by_bounds(name, 0))
    assert np.abs(again - FOUND[name][0]).max() <= 1
    assert np.abs(again - FOUND[name][0]).sum() <= 2
