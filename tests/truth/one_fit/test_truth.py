"""The committed summaries of many refits: complete, small, made by the recipe beside
them, and made again in part.
"""

import json
import runpy
import sys

import numpy as np
import pytest
from cover import in_turn
from truth.one_fit import make_truth
from truth.one_fit.make_truth import HERE, RECIPES, load_truth, slice_matches

NAMES = [
    pytest.param(n, marks=[pytest.mark.riboflavin] * ("riboflavin" in n))
    for n in RECIPES
]


@pytest.mark.parametrize("name", RECIPES)
def test_files_are_small_and_follow_today_s_recipe(name):
    path = HERE / f"{name}.npz"
    assert path.stat().st_size < 200_000
    with np.load(path) as file:
        recipe = json.loads(str(file["recipe"]))
        assert {k: recipe[k] for k in RECIPES[name]} == json.loads(
            json.dumps(RECIPES[name])
        )
        assert (
            file["n_resamples"] == RECIPES[name]["n_resamples"]
            and file["seed"] == RECIPES[name]["seed"]
        )


def test_no_file_without_a_recipe():
    assert {p.stem for p in HERE.glob("*.npz")} == set(RECIPES)


@pytest.mark.parametrize("name", NAMES)
def test_summaries_are_consistent(name):
    t = load_truth(name)
    (M, N), n = t.A.shape, t.n_resamples
    assert f"{M}x{N}" in name.replace("077", "77")
    assert all(
        getattr(t, k).shape == (N,)
        for k in ("mean", "var", "Pi", "mean_se", "var_se", "Pi_se")
    ) and t.u_mean.shape == t.u_se.shape == t.y.shape == (M,)
    np.testing.assert_allclose(t.mean_se, np.sqrt(t.var / n), rtol=1e-12)
    k = np.clip(t.Pi, 0.5 / n, 1 - 0.5 / n)
    np.testing.assert_allclose(t.Pi_se, np.sqrt(k * (1 - k) / n), rtol=1e-9)
    assert (
        np.array_equal(t.Pi == 0, t.var == 0)
        and np.all(t.mean[t.Pi == 0] == 0)
        and np.allclose(t.Pi * n, np.rint(t.Pi * n), atol=1e-9)
    )
    pull = np.abs(t.A.T @ t.u_mean) / t.lam
    factor = _mean_factor(t)
    slack = 5 * 0.5 / np.sqrt(n)
    # these pull in another way
    if t.recipe["model"].keys() & {"l1_ratio", "positive"}:
        return
    factor = factor * np.asarray(t.recipe["model"].get("penalty_factor", 1.0))
    # no feature can pull harder than its mean penalty
    assert (pull < factor + slack).all()
    np.testing.assert_allclose(
        pull[t.Pi > 0.9999], (factor + 0 * pull)[t.Pi > 0.9999], atol=slack
    )


def _mean_factor(t):
    """Mean of the penalty's random factor."""
    k, w = t.randomize.nodes()
    return k @ w


@pytest.mark.parametrize("name", in_turn(NAMES, 3))
def test_a_slice_made_again_agrees(name):
    assert slice_matches(name)


def test_a_slice_is_a_fair_part_of_the_whole():
    t = load_truth("dct_154x512")
    with np.load(HERE / "dct_154x512.npz") as file:
        first, n = file["slice_selected"], t.recipe["n_slice"]
    z = (first / n - t.Pi) / np.sqrt(t.Pi * (1 - t.Pi) / n)
    assert 0.85 < np.sqrt(np.mean(z[(t.Pi > 0.02) & (t.Pi < 0.98)] ** 2)) < 1.15


def test_a_changed_problem_is_noticed(monkeypatch):
    small = make_truth.slice_matches("diabetes_442x64", 5)
    assert small
    stronger = make_truth._law
    monkeypatch.setattr(
        make_truth,
        "_law",
        lambda law: stronger(
            ["TwoPoint", {"factor": 2.5}] if law[0] == "TwoPoint" else law
        ),
    )
    assert not make_truth.slice_matches("diabetes_442x64", 5)
    monkeypatch.undo()
    monkeypatch.setattr(
        make_truth.datasets,
        "load_diabetes",
        lambda: make_truth.datasets.gaussian_design(442, 64),
    )
    with pytest.raises(AssertionError, match="differ"):
        load_truth("diabetes_442x64")


def test_multinomial_and_poisson_draws_are_close_at_77_rows():
    """Not a theorem: how large the Poisson approximation is here, beside the
    Monte-Carlo error.
    """
    one, two = load_truth("dct_077x512"), load_truth("dct_077x512_multinomial")
    z = (one.Pi - two.Pi) / np.hypot(one.Pi_se, two.Pi_se)
    assert np.sqrt(np.mean(z**2)) < 1.3


def test_strong_signals_are_always_found():
    t = load_truth("strong_200x300")
    assert (
        np.all(t.Pi[t.x0 != 0] == 1)
        and t.Pi[t.x0 == 0].max() < 0.9
        and np.count_nonzero(t.x0) == 5
    )


def test_the_script_lists_and_refuses(monkeypatch, capsys):
    script = make_truth.__file__
    monkeypatch.setattr(sys, "argv", [script, "--list"])
    runpy.run_path(script, run_name="__main__")
    assert capsys.readouterr().out.split() == list(RECIPES)
    monkeypatch.setattr(sys, "argv", [script, "no_such"])
    with pytest.raises(SystemExit) as refused:
        runpy.run_path(script, run_name="__main__")
    assert refused.value.code == 2 and "no_such" in capsys.readouterr().err
