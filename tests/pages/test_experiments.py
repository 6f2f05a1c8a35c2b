"""What chapter 4.1 draws from: summaries that follow today's recipe, are made again
in part, and bear out what the chapter says.
"""

import json
import sys
from functools import cache
from itertools import islice

import numpy as np
import pytest
from bench import experiments
from bench.experiments import (
    COUNTS,
    ERROR,
    RANDOMISE,
    RECIPES,
    RUNS,
    SUMMARIES,
    TRUTHS,
    deltas,
    distance,
    equal_refits,
    error_of_Pi,
    load_summary,
    one_error,
    plain_steps,
    problem,
    problems_of_error,
    slice_matches,
    solver_steps,
)

from rvamp_nb import datasets
from rvamp_nb.algorithm import iteration
from rvamp_nb.algorithm.likelihood import Logistic, Squared
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.problem import Problem
from rvamp_nb.algorithm.resampling import Poisson, TwoPoint
from rvamp_nb.algorithm.solver import rvamp
from rvamp_nb.algorithm.start import initial_state
from rvamp_nb.inference.bootstrap import naive_bootstrap

DCT, RIBOFLAVIN = TRUTHS
each_truth = pytest.mark.parametrize(
    "name", [DCT, pytest.param(RIBOFLAVIN, marks=pytest.mark.riboflavin)]
)


def test_no_summary_without_a_recipe():
    assert {path.name for path in SUMMARIES.iterdir()} == {
        f"{name}.npz" for name in RECIPES
    }


@pytest.mark.parametrize("name", RECIPES)
def test_summaries_are_small_and_follow_today_s_recipe(name):
    assert (SUMMARIES / f"{name}.npz").stat().st_size < 200_000
    recipe = load_summary(name)["recipe"]
    assert {key: recipe[key] for key in RECIPES[name]} == json.loads(
        json.dumps(RECIPES[name])
    )
    assert recipe["counts"] == repr(COUNTS) and recipe["randomize"] == repr(RANDOMISE)


# The truths ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", TRUTHS)
def test_truths_are_whole(name):
    t = load_summary(name)
    M, N = map(int, name.split("_")[1].split("x"))
    n = int(t["n_resamples"])
    assert (
        n == 100_000 and t["worst_gap"] < experiments.LARGEST_GAP and t["mended"] == 0
    )
    assert all(
        t[k].shape == (N,) for k in ("mean", "var", "Pi", "mean_se", "var_se", "Pi_se")
    ) and t["u_mean"].shape == t["u_se"].shape == (M,)
    assert np.array_equal(t["Pi"] == 0, t["var"] == 0) and np.allclose(
        t["Pi"] * n, np.rint(t["Pi"] * n), atol=0.01
    )
    np.testing.assert_allclose(t["mean_se"], np.sqrt(t["var"] / n), rtol=1e-5)
    z = (t["slice_selected"] / t["slice_n"] - t["Pi"]) / np.sqrt(
        np.maximum(t["Pi"] * (1 - t["Pi"]), 1e-12) / t["slice_n"]
    )
    # the first twenty are such as the others
    assert 0.8 < np.sqrt(np.mean(z[t["Pi"] > 0.02] ** 2)) < 1.2


@each_truth
def test_no_feature_pulls_harder_than_its_mean_penalty(name):
    A, y, lam = problem(name)
    t = load_summary(name)
    assert (
        t["recipe"]["lam"]
        == pytest.approx(lam)
        == pytest.approx(TRUTHS[name]["alpha_cv"] * len(y) / np.sqrt(len(y)))
    )
    assert (np.abs(A.T @ t["u_mean"]) / lam).max() < 1.5 + 5 * 0.5 / np.sqrt(
        t["n_resamples"]
    )


@each_truth
def test_a_slice_made_again_agrees(name):
    assert slice_matches(name)


def test_a_changed_problem_is_noticed(monkeypatch):
    for law, other in (("COUNTS", Poisson(0.501)), ("RANDOMISE", TwoPoint(2.0, 0.51))):
        monkeypatch.setattr(experiments, law, other)
        assert not slice_matches(DCT)
        monkeypatch.undo()
    monkeypatch.setitem(
        TRUTHS, DCT, dict(TRUTHS[DCT], arguments=dict(TRUTHS[DCT]["arguments"], seed=1))
    )
    with pytest.raises(AssertionError, match="differ"):
        slice_matches(DCT)


def test_chunks_add_up_to_the_naive_bootstrap(monkeypatch, tmp_path):
    monkeypatch.setitem(
        TRUTHS,
        "tiny",
        dict(data="random_dct", arguments=dict(N=60, ratio=0.5, seed=3), alpha_cv=0.01),
    )
    monkeypatch.setattr(experiments, "CHUNK", 10)
    for k in range(3):
        experiments.one_chunk(tmp_path, "tiny", 5, k)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".npz"] * 3
    ours = experiments.statistics(experiments.gather(tmp_path, "tiny", 5, range(3)))
    *table, lam = problem("tiny")
    theirs = naive_bootstrap(
        *table,
        prior=Laplace(lam, RANDOMISE),
        resampling=COUNTS,
        n_resamples=30,
        random_state=5,
        verbose=False,
    )
    for key, value in ours.items():
        np.testing.assert_allclose(
            value, getattr(theirs, key), rtol=1e-4, atol=1e-5, err_msg=key
        )


# The fits -----------------------------------------------------------------------------


@each_truth
def test_the_fit_in_the_summary_is_today_s(name):
    kept, (A, y, lam) = load_summary(f"fit_{name}"), problem(name)
    fit = rvamp(A, y, prior=Laplace(lam, RANDOMISE))
    assert fit.converged
    for key in ("mean", "var", "Pi"):
        np.testing.assert_allclose(
            getattr(fit, key),
            kept[key],
            rtol=0,
            atol=2e-5 * max(1, np.abs(kept[key]).max()),
            err_msg=key,
        )


@pytest.mark.parametrize(
    ("name", "correlation", "least", "most"),
    [(DCT, 0.999, 100_000, 400_000), (RIBOFLAVIN, 0.99, 800, 1000)],
)
def test_agreement_with_100_000_refits(name, correlation, least, most):
    truth, fit = load_summary(name), load_summary(f"fit_{name}")
    for key in ("mean", "var", "Pi"):
        assert np.corrcoef(truth[key], fit[key])[0, 1] > correlation, key
    assert (
        least
        < equal_refits(fit["Pi"], truth["Pi"], int(truth["n_resamples"]))[0]
        < most
    )


def test_few_rows_carry_riboflavin():
    rows = {
        name: 1 / np.sum(load_summary(f"fit_{name}")["shares"] ** 2) for name in TRUTHS
    }
    assert rows[RIBOFLAVIN] < 30 and rows[DCT] > 100


def test_the_error_of_refits_is_measured_rightly():
    """An answer with a known error, against many small bootstraps; and one without
    any, against which the standard error is claimed.
    """
    exact, rng = load_summary(RIBOFLAVIN)["Pi"], np.random.default_rng(0)
    wrong = exact * (1 + 0.3 * rng.choice([-1, 1], len(exact)))
    for answer in (wrong, exact):
        estimates = np.array(
            [
                error_of_Pi(answer, rng.binomial(200, exact) / 200, 200)
                for _ in range(300)
            ]
        )
        assert abs(
            estimates[:, 0].mean() - np.mean((answer - exact) ** 2)
        ) < 4 * estimates[:, 0].std() / np.sqrt(300)
        assert 0.8 < estimates[:, 1].mean() / estimates[:, 0].std() < 1.25


# The other tables ---------------------------------------------------------------------


def test_delta_falls_today_as_in_the_summary():
    kept = load_summary("decay")
    data = datasets.random_dct(**RECIPES["decay"]["data"], ratio=0.05, seed=3)
    lam = kept["lams"][RECIPES["decay"]["ratios"].index(0.05)]
    for run in ("undamped", "damped"):
        np.testing.assert_allclose(
            deltas(data.A, data.y, lam, run, 8),
            kept[f"{run}_0.05"][3, :, :8],
            rtol=1e-3,
        )
    then = np.nanargmax(kept["rvamp_0.05"][3][0] < 1e-12)
    today = deltas(data.A, data.y, lam, "rvamp", then + 7)[0] < 1e-12
    assert today[1:].any()  # acceleration may be improved, not worsened


def test_delta_falls_with_damping_and_faster_with_acceleration():
    kept, ratios = load_summary("decay"), RECIPES["decay"]["ratios"]
    below = {
        (run, case): kept[f"{run}_{case}"][:, 0] < 1e-12
        for run in RUNS
        for case in (*ratios, "riboflavin")
    }
    for ratio in ratios:
        assert (
            below["rvamp", ratio].any(1).all() and below["damped", ratio].any(1).all()
        )
        assert (
            below["rvamp", ratio].argmax(1) < below["damped", ratio].argmax(1)
        ).all() and below["rvamp", ratio].argmax(1).max() < 30
    assert (
        below["rvamp", "riboflavin"].argmax() in range(15, 50)
        and not below["damped", "riboflavin"].any()
    )
    # where cross-validation asks for the largest penalties
    assert {ratio for ratio in ratios if below["undamped", ratio].any()} == {
        0.09,
        0.075,
    }
    assert set(np.argsort(kept["lams"])[-2:]) == {
        ratios.index(0.09),
        ratios.index(0.075),
    }


@pytest.mark.riboflavin
def test_riboflavin_overshoots_where_the_first_message_is_not_scaled_down(monkeypatch):
    """As chapter 4.1 says: it is that message, and no limit on what precisions do."""
    A, y, lam = problem(RIBOFLAVIN)
    p = Problem(A, y, Laplace(lam, RANDOMISE), Squared(), COUNTS)
    first = p.prior.moments(initial_state(p).to_prior)
    assert round(first.rho.sum()) == 3051 and A.shape == (71, 4088)

    def largest(steps):
        taken = list(islice(steps, 6))
        logs = np.log([current.state.to_prior.Q_hat for current in taken])
        return max(map(distance, taken)), np.exp(np.abs(np.diff(logs, axis=0)).max())

    scaled_down = next(solver_steps(p)).state
    assert largest(solver_steps(p))[0] < 0.2
    delta, factor = largest(plain_steps(p, 0.7, scaled_down))
    assert delta < 0.2 and factor == pytest.approx(11, abs=0.5)
    monkeypatch.setattr(iteration, "_cap_claims", lambda problem, state, most: state)
    assert largest(solver_steps(p))[0] > 1000


def test_a_row_of_the_table_of_errors_is_made_again(monkeypatch):
    """By the package's refits of the same resamples, which are quicker than celer."""
    case = next(case for case in problems_of_error() if case[:3] == ("rows", 20, 0))
    *_, A, y = case

    def refit(A, At, y, lam, b, seed):
        return again(lam, seed).draws[b], None

    @cache
    def again(lam, seed):
        given = dict(prior=Laplace(lam, RANDOMISE), resampling=COUNTS)
        given |= dict(keep=range(A.shape[1]))
        given |= dict(n_resamples=ERROR["refits"], random_state=seed, verbose=False)
        return naive_bootstrap(A, y, **given)

    monkeypatch.setattr(experiments, "refit", refit)
    table, row = load_summary("error"), one_error(*case, ERROR["refits"])
    [here] = np.flatnonzero(
        (table["kind"] == "rows") & (table["value"] == 20) & (table["seed"] == 0)
    )
    # celer, whose refits the table is of, keeps one more in five thousand
    assert row["selected"] == pytest.approx(table["selected"][here], rel=3e-4)
    for key in ("effective_rows", "spread", "error", "error_se", "correlation_of_Pi"):
        assert row[key] == pytest.approx(table[key][here], rel=1e-2), key
    assert row["converged"] == 1


def test_what_the_table_of_errors_says():
    table = load_summary("error")
    assert table["converged"].all() and len(table["kind"]) == ERROR["seeds"] * sum(
        len(ERROR[kind]) for kind in ("correlation", "rows", "outlier")
    )

    def worth(kind, value, sign=1):
        here = (table["kind"] == kind) & (table["value"] == value)
        return table["spread"][here].mean() / (
            table["error"][here].mean()
            + sign * 2 * np.sqrt(np.sum(table["error_se"][here] ** 2)) / here.sum()
        )

    assert (
        all(worth("correlation", rho) > 9000 for rho in (0, 0.3, 0.5, 0.7, 0.8))
        and worth("correlation", 0.99, -1) < 1100
    )
    assert worth("outlier", 0) > 7000 and worth("outlier", 40, -1) < 45
    assert (
        worth("rows", 20, -1) < 1000 < worth("rows", 30) and worth("rows", 80) > 20_000
    )


def test_breast_cancer():
    kept = load_summary("breast_cancer")
    A, y = experiments.breast_cancer_problem()
    recipe = kept["recipe"]
    few = naive_bootstrap(
        A,
        y,
        prior=Laplace(recipe["lam"], RANDOMISE),
        loss="logistic",
        intercept=True,
        resampling=COUNTS,
        n_resamples=10,
        random_state=1,
        verbose=False,
    )
    middle = (kept["Pi"] > 0.05) & (kept["Pi"] < 0.95)
    assert (
        0.6
        < np.sqrt(
            np.mean(
                (few.Pi - kept["Pi"])[middle] ** 2
                / (kept["Pi"] * (1 - kept["Pi"]) / 10)[middle]
            )
        )
        < 1.4
    )
    prior = Laplace(recipe["lam"], RANDOMISE)
    # by which the correlations move by 2e-4 at most
    fit = rvamp(A, y, prior=prior, loss=Logistic(), intercept=True, tol=1e-2)
    assert fit.converged and all(
        np.corrcoef(getattr(fit, key), kept[key])[0, 1] > 0.95
        for key in ("mean", "var", "Pi")
    )


def test_a_fit_is_worth_more_than_it_costs():
    """As it was when the summaries were made."""
    times = load_summary("timings")
    assert list(times["names"]) == list(TRUTHS)
    for cost, name, gain in zip(times["fit_in_refits"], TRUTHS, (300, 5)):
        truth, fit = load_summary(name), load_summary(f"fit_{name}")
        assert (
            equal_refits(fit["Pi"], truth["Pi"], int(truth["n_resamples"]))[0] / cost
            > gain
        )


def test_the_script_lists_and_refuses(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["experiments.py", "--list"])
    experiments.main()
    assert capsys.readouterr().out.split() == list(TRUTHS)
    monkeypatch.setattr(sys, "argv", ["experiments.py", "truth", "no_such"])
    with pytest.raises(SystemExit, match="2"):
        experiments.main()
    assert "no_such" in capsys.readouterr().err
