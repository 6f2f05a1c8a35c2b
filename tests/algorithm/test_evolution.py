"""State evolution: against rvamp, against closed forms, and what it refuses."""

import dataclasses
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr, ndtri

from rvamp_nb import plan_study, predict_study, state_evolution
from rvamp_nb.algorithm.column_groups import GroupLasso
from rvamp_nb.algorithm.evolution import PiLaw, Spectrum, spectrum_of
from rvamp_nb.algorithm.likelihood import Huber, Logistic, PoissonLoss, Squared
from rvamp_nb.algorithm.messages import Natural
from rvamp_nb.algorithm.order_parameters import (
    ConstantSignal,
    GaussianSignal,
    OrderParameters,
    average_columns,
    averaged_coupling,
)
from rvamp_nb.algorithm.prior import ElasticNet, Laplace, NonNegative, Ridge, SpikeSlab
from rvamp_nb.algorithm.resampling import NoResampling, Poisson, Subsample, Weakness
from rvamp_nb.algorithm.weighted import WeightedLoss
from rvamp_nb.datasets import standardize
from rvamp_nb.exceptions import ConvergenceWarning
from rvamp_nb.select.error_control import pfer_bound
from rvamp_nb.select.pilots import draw_study, q_needed
from rvamp_nb.select.planning import Pilot, _solve_study, pilot_of

PLACE = Path(__file__).parents[1] / "truth/evolution" / "make_evolution_truth.py"
spec = importlib.util.spec_from_file_location("make_evolution_truth", PLACE)
truth = importlib.util.module_from_spec(spec)
spec.loader.exec_module(truth)
MEASURED = truth.load()
EFFECTS = ConstantSignal(1.0, 0.025)


def script_of(name):
    """A script beside the truths."""
    sys.path.insert(0, str(PLACE.parent))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


def predicted(name):
    s = truth.SETTINGS[name]
    theory = state_evolution(
        truth.RATIO,
        signal=ConstantSignal(s["size"], s["density"]),
        noise=s["noise"],
        spectrum="orthogonal" if s["design"] == "dct" else None,
        **truth.model(name),
    )
    assert theory.converged, theory.status
    macro, shares = theory.macro, np.array(truth.THRESHOLDS)
    power = s["density"] * s["size"] ** 2 / truth.RATIO
    return np.array(
        [theory.mse, theory.var, theory.chi, theory.Pi_null.mean, theory.Pi_true.mean]
        + [*theory.Pi_null.at_least(shares), *theory.power(shares)]
        + [macro.Q_hat_1x, macro.psi_hat_1x, macro.chi_hat_1x, macro.Q_hat_1u]
        + [macro.psi_hat_1u(macro.k, power), macro.chi_hat_1u, macro.k]
    )


@pytest.mark.parametrize("name", truth.SETTINGS)
def test_it_predicts_rvamp_on_ten_large_data_sets(name):
    """Every average within three standard errors of ten data sets of 1,000 x 4,000."""
    largest = max(N for setting, N in MEASURED if setting == name)
    found, ours = MEASURED[name, largest], predicted(name)
    se = found.std(0, ddof=1) / np.sqrt(len(found))
    away = (found.mean(0) - ours) / np.maximum(se, 1e-12)
    few = found.mean(0) * largest < 3  # counts that are mostly 0 are not normal
    few[[k for k, n in enumerate(truth.NAMES) if "_0." not in n]] = False
    assert largest == 4000
    assert np.abs(away[~few]).max() < 3, dict(zip(truth.NAMES, away.round(1)))


@pytest.mark.parametrize("name", ["gaussian poisson", "dct half"])
def test_the_summary_is_what_the_script_makes(name):
    found = truth.measured(name, 500, 0)
    assert_allclose(found, MEASURED[name, 500][0], rtol=1e-3, atol=1e-6)


# Closed forms and second ways -------------------------------------------------------


def test_matched_bayes_knows_its_error():
    theory = state_evolution(
        0.5,
        signal=GaussianSignal(1.0, 0.1),
        noise=0.2,
        prior=SpikeSlab(0.1, 1.0),
        loss=Squared(0.2),
        resampling=NoResampling(),
        beta=1.0,
        tol=1e-5,
    )
    assert_allclose(theory.mse, theory.chi, rtol=1e-4)
    assert_allclose(theory.macro.Q_hat_1x, theory.macro.psi_hat_1x, rtol=1e-4)


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Huber(0.5)])
def test_independent_entries_are_one_of_the_spectra(loss):
    rng = np.random.default_rng(0)
    values = np.linalg.svd(rng.normal(size=(400, 1000)) / 20, compute_uv=False)
    setting = dict(signal=ConstantSignal(2.0, 0.05), noise=0.2, loss=loss)
    one = state_evolution(0.4, 0.4, **setting)
    two = state_evolution(0.4, 0.4, spectrum=values, **setting)
    assert one.converged and two.converged
    assert_allclose([one.mse, one.var, one.chi], [two.mse, two.var, two.chi], rtol=0.01)


def test_a_square_orthogonal_design_is_one_threshold_each():
    """A'A = I, no resampling, one penalty: x = soft(x_0 + noise, lam)."""
    theory = state_evolution(
        1.0,
        signal=ConstantSignal(1.0, 0.1),
        noise=0.3,
        prior=Laplace(0.4),
        resampling=NoResampling(),
        spectrum="orthogonal",
    )
    rng = np.random.default_rng(0)
    x_0 = 1.0 * (rng.random(1_000_000) < 0.1)
    seen = x_0 + 0.3 * rng.normal(size=len(x_0))
    x = np.sign(seen) * np.maximum(np.abs(seen) - 0.4, 0)
    assert_allclose(theory.mse, np.mean((x - x_0) ** 2), rtol=0.01)
    assert_allclose(theory.Pi_null.mean, np.mean(x[x_0 == 0] != 0), rtol=0.01)
    assert_allclose(theory.power(0.5), np.mean(x[x_0 == 1] != 0), rtol=0.01)
    assert_allclose(theory.var, 0, atol=1e-12)


def test_equal_singular_values_send_back_none_of_a_side_s_own_noise():
    Q_hat, V, through = averaged_coupling(spectrum_of([1.0], 1.0), 2.0, 0.5)
    assert_allclose((Q_hat, V), (2.0, 0.5))
    assert_allclose(through, [[0, 4.0], [0.25, 0]], atol=1e-12)


def test_the_noise_of_any_spectrum_goes_through_as_through_matrices():
    rng = np.random.default_rng(1)
    for M, N in ((30, 70), (70, 30)):
        A = rng.normal(size=(M, N)) * rng.uniform(0.5, 2, size=(M, 1)) / M**0.5
        spectrum = spectrum_of(np.linalg.svd(A, compute_uv=False), M / N)
        assert isinstance(spectrum, Spectrum)
        _, _, through = averaged_coupling(spectrum, 3.0, 0.7)
        Sigma = np.linalg.inv(3.0 * np.eye(N) + A.T @ A / 0.7)
        chi = np.trace(Sigma) / N
        own, other = Sigma / chi - np.eye(N), Sigma @ A.T / 0.7 / chi
        assert_allclose(through[0], [(own**2).sum() / N, (other**2).sum() / N])


@pytest.mark.parametrize("counts", [Subsample(0.5), Poisson(1.0), NoResampling()])
def test_the_law_of_Pi_agrees_with_drawn_fields(counts):
    theory = state_evolution(0.25, 0.2, signal=EFFECTS, noise=0.2, resampling=counts)
    macro, rng = theory.macro, np.random.default_rng(0)
    h = np.sqrt(macro.psi_hat_1x) * rng.normal(size=400_000)
    full = np.full(h.size, macro.Q_hat_1x), h, np.full(h.size, macro.chi_hat_1x)
    Pi = Laplace(0.2).Pi(Natural(*full))
    t = np.array([0.05, 0.3, 0.45, 0.7])
    assert_allclose(theory.Pi_null.at_least(t), (Pi[:, None] >= t).mean(0), atol=0.003)
    assert_allclose(theory.Pi_null.mean, Pi.mean(), atol=0.002)
    p = np.array([0.9, 0.99])
    if counts.var:
        assert_allclose(theory.Pi_null.quantile(p), np.quantile(Pi, p), rtol=0.03)


@pytest.mark.parametrize(
    "prior",
    [
        Laplace(0.2, Weakness(0.5)),
        ElasticNet(0.2, l1_ratio=0.7),
        NonNegative(0.2),
        Ridge(0.3),
    ],
)
def test_other_priors_converge(prior):
    theory = state_evolution(
        0.5,
        prior=prior,
        signal=ConstantSignal(1.0, 0.1),
        noise=0.2,
        resampling=Poisson(1.0),
    )
    assert theory.converged and 0 < theory.mse < 0.1
    if isinstance(prior, Ridge):
        with pytest.raises(AttributeError, match="Pi is not available"):
            theory.power(0.5)
    elif not isinstance(prior, NonNegative):
        assert theory.power(0.5) > theory.Pi_null.at_least(0.5)


def test_one_sided_priors_see_one_side():
    setting = dict(noise=0.2, prior=NonNegative(0.2), resampling=Poisson(1.0))
    up = state_evolution(0.5, signal=ConstantSignal(1.0, 0.1), **setting)
    both = state_evolution(
        0.5, signal=ConstantSignal(1.0, 0.1, two_sided=True), **setting
    )
    assert up.power(0.4) > 0.8 and both.power(0.4) < 0.51


def test_counts_with_a_log_link():
    theory = state_evolution(
        1.5,
        0.5,
        signal=ConstantSignal(0.5, 0.1),
        loss=PoissonLoss(),
        resampling=Poisson(1.0),
        tol=1e-4,
    )
    assert theory.converged and 0.8 < theory.macro.k < 1.1


class Drawn:
    """A law of one's own: a thousand draws of a normal size, for a tenth of all."""

    density = 0.1

    def nodes(self):
        sizes = np.random.default_rng(0).normal(size=1000)
        sizes /= np.sqrt(np.mean(sizes**2))
        return np.r_[0.0, sizes], np.r_[0.9, np.full(1000, 1e-4)]


def test_laws_of_the_truth_agree():
    one = state_evolution(0.5, 0.2, signal=GaussianSignal(1.0, 0.1), noise=0.2)
    two = state_evolution(0.5, 0.2, signal=Drawn(), noise=0.2)
    assert_allclose([one.mse, one.var, one.chi], [two.mse, two.var, two.chi], rtol=0.05)
    signs = state_evolution(0.5, 0.2, signal=ConstantSignal(1, 0.1, True), noise=0.2)
    same = state_evolution(0.5, 0.2, signal=ConstantSignal(1, 0.1), noise=0.2)
    assert_allclose(signs.mse, same.mse, rtol=1e-5)


def test_a_share_in_place_of_a_penalty():
    setting = dict(signal=EFFECTS, noise=0.2, resampling=Subsample(0.5))
    theory = state_evolution(0.25, 0.9, selected=0.06, **setting)
    assert theory.converged
    assert_allclose(theory.selected, 0.06, rtol=1e-5)
    again = state_evolution(0.25, theory.lam, start=theory, **setting)
    assert_allclose(again.mse, theory.mse, rtol=1e-5)
    assert again.n_iter < 15


# What is refused --------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong, kind, word",
    [
        (dict(ratio=0), ValueError, "ratio"),
        (dict(ratio="1"), TypeError, "ratio"),
        (dict(lam=None), TypeError, "give lam or prior"),
        (dict(prior=Laplace(1.0)), TypeError, "give lam or prior"),
        (dict(lam=None, prior=Laplace(np.ones(3))), ValueError, "same for all"),
        (dict(noise=None), ValueError, "noise is needed"),
        (dict(noise=-1.0), ValueError, "noise"),
        (dict(signal=1.0), TypeError, "signal"),
        (dict(resampling=0.5), TypeError, "resampling"),
        (dict(loss="hinge"), ValueError, "loss must be 'squared'.*'hinge'"),
        (dict(loss=WeightedLoss("squared")), TypeError, "loss must be Squared, Huber"),
        (dict(counts=0.5), TypeError, "counts= is called resampling="),
        (dict(spectrum="dct"), ValueError, "orthogonal"),
        (
            dict(spectrum=[-1.0]),
            ValueError,
            "spectrum must be >= 0, got -1 in singular value 0",
        ),
        (dict(selected=2.0), ValueError, "selected"),
        (dict(selected=0.1, beta=1.0), ValueError, "selected"),
    ],
)
def test_wrong_arguments_are_named(wrong, kind, word):
    asked = dict(ratio=0.5, lam=0.2, signal=EFFECTS, noise=0.2) | wrong
    with pytest.raises(kind, match=word):
        state_evolution(**asked)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ConstantSignal(0.0, 0.1),
        lambda: ConstantSignal(1.0, 0.0),
        lambda: GaussianSignal(1.0, 1.5),
    ],
)
def test_laws_that_are_none(make):
    with pytest.raises(ValueError):
        make()


def test_not_converging_is_said():
    with pytest.warns(ConvergenceWarning, match="not converged"):
        theory = state_evolution(0.25, 0.2, signal=EFFECTS, noise=0.2, max_iter=2)
    assert not theory.converged and "max_iter" in theory.status


def test_false_selections_are_those_of_null_features():
    theory = state_evolution(0.5, 0.2, signal=EFFECTS, noise=0.2)
    null = 1000 * (1 - EFFECTS.density)
    seen = null * theory.Pi_null.at_least(0.6)
    assert 0 < seen and theory.false_selections(0.6, 1000) == pytest.approx(seen)


# Planning ---------------------------------------------------------------------------


def test_a_study_without_an_answer_has_no_numbers(monkeypatch):
    found = predict_study(100, 50, 5, 0.5).evolution
    lost = dataclasses.replace(found, converged=False)
    monkeypatch.setattr("rvamp_nb.select.pilots.solve_at_size", lambda *_: lost)
    study = predict_study(100, 50, 5, 0.5)
    assert not study.converged
    assert np.isnan([study.true_selections, study.false_selections]).all()


def test_plan_reaches_its_power_with_the_fewest_rows():
    study = plan_study(500, 10, 0.4, threshold=0.7)
    assert study.converged and study.power >= 0.8
    fewer = predict_study(study.rows - 5, 500, 10, 0.4, threshold=0.7)
    assert fewer.power < 0.8
    assert_allclose(pfer_bound(study.q, study.threshold, 500), 1.0)
    assert_allclose(study.evolution.selected * 500, study.q, rtol=1e-3)
    assert study.false_selections < study.pfer


def test_units_do_not_matter():
    one = predict_study(300, 500, 10, 0.4)
    two = predict_study(300, 500, 10, 4.0, noise=10.0)
    assert_allclose(one.true_selections, two.true_selections, rtol=1e-3)
    assert_allclose(two.lam, 10 * one.lam, rtol=1e-3)


def test_a_plan_that_cannot_be_met_says_so():
    with pytest.warns(UserWarning, match="raise max_rows"):
        study = plan_study(100, 5, 0.01, max_rows=64, threshold=0.7)
    assert study.rows == 64 and study.power < 0.8


@pytest.mark.parametrize("pfer, t", [(2.5, 0.75), (3.2, 0.6)])
def test_the_power_that_no_number_of_rows_exceeds(pfer, t):
    """By state evolution with many rows, and by refits, which know no formula."""
    many = predict_study(4000, 100, 20, 0.6, pfer=pfer, threshold=t)
    most = ndtr(2**0.5 * ndtri(many.q / 20) - ndtri(t))
    assert_allclose(many.power, most, atol=2e-3)
    assert_allclose(q_needed(most, 20, t, alike=True), many.q, rtol=1e-6)
    rng, alone = np.random.default_rng(5), Pilot(np.empty((0, 100)), np.ones(100))
    few = many._replace(rows=600)
    hits = np.array([draw_study(alone, few, rng)[0] for _ in range(20)]) / 20
    assert abs(hits.mean() - most) < 3 * hits.std(ddof=1) / np.sqrt(20)


def test_a_plan_that_no_number_of_rows_reaches_is_refused_at_once(monkeypatch):
    asked = dict(n_features=100, n_effects=4, size=0.6, threshold=0.75)
    assert plan_study(**asked, pfer=0.24).power >= 0.8
    never = lambda *given, **told: pytest.fail("it was searched for")
    monkeypatch.setattr("rvamp_nb.select.pilots.state_evolution", never)
    words = r"power = 0.8: at threshold 0.75 pfer = 0.1 lets .* q = 2.24 .* 4 effects"
    with pytest.raises(ValueError, match=words + r" need .* raise pfer above 0.236"):
        plan_study(**asked, pfer=0.1)
    with pytest.raises(ValueError, match="raise pfer above 0.115"):  # by Markov
        plan_study(**asked, pfer=0.1, pilot=like_genes(100))
    with pytest.raises(ValueError, match="no number of rows"):
        plan_study(100, 90, 0.6, pfer=0.1, bound="unimodal")


def test_the_best_threshold_is_one_that_can_be_reached():
    """At .6 and .7 a resample selects too few, whatever the rows."""
    study = plan_study(100, 4, 0.6, pfer=0.2)
    assert study.threshold in (0.8, 0.9) and study.power >= 0.8 and study.rows < 1000


@pytest.mark.parametrize(
    "wrong",
    [
        dict(n_effects=500),
        dict(n_effects=0),
        dict(size=0.0),
        dict(noise=-1.0),
        dict(power=1.0),
        dict(threshold=0.4),
        dict(pfer=0.0),
        dict(n_features=1.5),
    ],
)
def test_plans_that_make_no_sense(wrong):
    asked = dict(n_features=500, n_effects=10, size=0.4) | wrong
    with pytest.raises((TypeError, ValueError)):
        plan_study(**asked)


def test_stronger_effects_take_no_more_rows():
    sizes = (1.0, 2.0, 5.0)
    rows = [plan_study(300, 5, size, threshold=0.7).rows for size in sizes]
    assert rows[0] > rows[1] > rows[2] > 55


def test_a_size_without_an_answer_is_reached_by_way_of_sizes_between(monkeypatch):
    """Here there are answers from a study that has half, or twice, as many rows."""
    study = predict_study(320, 50, 5, 0.5)

    def arrives_from_nearby(rows, near=None):
        found = near is not None and 0.49 < rows / near.rows < 2.01
        return study._replace(rows=rows, converged=found)

    asked = "rvamp_nb.select.planning.predict_study"
    monkeypatch.setattr(asked, arrives_from_nearby)
    assert not _solve_study(80, None, (), {}).converged
    assert not arrives_from_nearby(80, study).converged
    assert _solve_study(80, study, (), {}).converged


def test_a_plan_without_an_answer_says_so(monkeypatch):
    """Whether a run arrives where hardly anything holds it may hang on the machine."""
    lost = lambda *given, **told: dataclasses.replace(
        state_evolution(*given, **told), converged=False
    )
    monkeypatch.setattr("rvamp_nb.select.pilots.state_evolution", lost)
    with pytest.warns(UserWarning, match="at 400 rows state evolution has no answer"):
        assert np.isnan(plan_study(500, 5, 0.4, max_rows=400).power)


def like_genes(n_features):
    """A `Pilot` in which ten factors make half of each feature's variance."""
    loadings = np.random.default_rng(0).normal(size=(10, n_features))
    loadings /= np.sqrt(2) * np.linalg.norm(loadings, axis=0)
    return Pilot(loadings, np.full(n_features, 0.5))


PILOT = like_genes(150)


def test_eigenvalues_of_a_table_are_those_of_the_pilot_s_population():
    """Averages of 1/(e + s) as in a table that is drawn, also with more rows."""
    rng = np.random.default_rng(3)
    for rows in (60, 400):
        theory = PILOT.spectrum(rows)
        assert_allclose([theory.rows.sum(), theory.columns.sum()], 1)
        assert_allclose(theory.gain, 150 / rows, rtol=1e-3)
        drawn = [
            np.linalg.eigvalsh(A @ A.T)[1:]  # without the mean's
            for A, _ in (standardize(PILOT.draw(rows, rng)) for _ in range(10))
        ]
        for s in (0.1, 1.0, 10.0):
            seen = [np.mean(s / (e + s)) for e in drawn]
            se = np.std(seen, ddof=1) / np.sqrt(10)
            found = theory.rows @ (s / (theory.eigenvalues + s))
            assert abs(found - np.mean(seen)) < 4 * se + 0.01


def test_independent_features_with_a_pilot_are_independent_features():
    alone = Pilot(np.empty((0, 150)), np.ones(150))
    one = predict_study(120, 150, 5, 0.5)
    two = predict_study(120, 150, 5, 0.5, pilot=alone)
    assert_allclose(one.true_selections, two.true_selections, rtol=1e-3)
    assert_allclose(one.lam, two.lam, rtol=1e-3)


def test_a_pilot_shows_its_factors():
    """As many as there are, as strong as they are, and none where there are none."""
    rng = np.random.default_rng(4)
    found = pilot_of(like_genes(1000).draw(100, rng))
    assert len(found.loadings) == 10 and abs(found.noise_var.mean() - 0.5) < 0.05
    assert_allclose((found.loadings**2).sum(0) + found.noise_var, 1)
    none = pilot_of(rng.normal(size=(100, 1000)))
    assert len(none.loadings) == 0 and (none.noise_var == 1).all()


def test_a_plan_from_a_pilot_is_carried_out_by_refits():
    """Studies drawn anew find what was promised, in two standard errors. That the same
    is promised twice: tests/command/test_cli.py::test_a_plan_like_a_pilot.
    """
    asked = dict(pilot=PILOT, threshold=0.7, verbose=False)
    study = plan_study(150, 5, 0.6, n_studies=12, **asked)
    assert study.n_simulated >= 12 and 0.8 <= study.power < 0.81
    assert study.rows > 1.5 * plan_study(150, 5, 0.6, threshold=0.7).rows
    rng = np.random.default_rng(9)
    hits = np.array([draw_study(PILOT, study, rng)[0] for _ in range(24)]) / 5
    se = np.hypot(hits.std(ddof=1) / np.sqrt(24), study.power_se)
    assert 0 < study.power_se < 0.08 and abs(hits.mean() - study.power) < 2 * se


def chain(N, rho, rows, seed):
    """A pilot whose neighbours correlate."""
    X = np.random.default_rng(seed).normal(size=(rows, N))
    for i in range(1, N):
        X[:, i] = rho * X[:, i - 1] + np.sqrt(1 - rho**2) * X[:, i]
    return X


def test_what_factors_leave_is_found_in_a_short_pilot():
    """The sum of squared correlations of a chain, by `unseen`; none where none is."""
    for rho in (0.3, 0.5):
        found = [pilot_of(chain(300, rho, 80, seed)).neighbours for seed in range(4)]
        assert abs(np.mean(found) - rho) < 0.06 and np.std(found) < 0.03
    rng = np.random.default_rng(2)
    assert pilot_of(rng.normal(size=(80, 300))).neighbours < 0.12
    assert pilot_of(like_genes(1000).draw(100, rng)).neighbours < 0.2
    t, share = Pilot(np.empty((0, 200)), np.ones(200)).eigenvalues(0.6)
    assert_allclose([share.sum(), share @ t], 1, rtol=1e-6)
    assert_allclose(share @ t**2, (1 + 0.36) / (1 - 0.36), rtol=1e-6)


def test_a_plan_from_a_short_pilot_of_neighbours_names_what_it_may_lose():
    asked = dict(threshold=0.7, n_studies=0)
    with pytest.warns(UserWarning, match="as neighbours at 0.6.*the power may be 0"):
        study = plan_study(200, 5, 0.5, pilot=chain(200, 0.7, 120, 0), **asked)
    assert 0.06 < study.power_se < 0.15 and "± 0." in study._repr_html_()
    known = plan_study(150, 5, 0.6, pilot=PILOT, **asked)
    assert known.power_se == 0  # of a pilot that is the truth


def test_nine_of_ten_plans_from_short_pilots_hold():
    """Within two `power_se` of what studies from the truth find; fewer do within the
    error of the simulated studies alone.
    """
    pilots = script_of("make_pilot_truth")
    held, before = [], []
    for curve, plans in pilots.load().values():
        _, _, rows, power, se, part = plans.T
        off = np.abs(power - pilots.true_power(curve, rows)[0])
        held.append(off <= 2 * se)
        before.append(off <= 2 * np.sqrt(se**2 - part**2))
    assert np.size(held) == 96
    assert np.mean(held) > 0.9 and np.mean(before) < 0.75
    kept = pilots.load()["toeplitz .7"][1][0]
    with pytest.warns(UserWarning, match="neighbours"):
        again = pilots.planned("toeplitz .7", int(kept[0]), int(kept[1]))
    assert_allclose(again, kept[2:], rtol=0.02)


def test_promises_from_a_pilot_were_kept():
    """Thirty studies from the truth, at the planned size: within two standard errors,
    of which the pilot's is most where only neighbours are correlated.
    """
    promised = script_of("make_like_truth").load()
    assert len(promised) == 4
    for asked, counts in promised.values():
        se = counts[:, 0].std(ddof=1) / np.sqrt(len(counts))
        assert len(counts) == 30
        assert abs(counts[:, 0].mean() - asked[3]) < 2 * np.hypot(se, asked[4])


@pytest.mark.parametrize(
    "wrong, word",
    [
        (dict(pilot=PILOT), "n_features = 150"),
        (dict(pilot=np.ones(5)), "pilot"),
        (dict(pilot=np.full((9, 500), np.nan)), "pilot"),
        (dict(pilot=PILOT, n_studies=3), "n_studies"),
        (dict(pilot=PILOT, n_studies=1.5), "n_studies"),
        (dict(pilot=PILOT, random_state=-1), "random_state"),
        (dict(pilot="pilot.csv"), "pilot"),
        (dict(pilot=np.ones((30, 500))), "columns 0, 1, 2, 3, ... .* are constant"),
        (dict(pilot=Pilot(None, None)), "pilot: loadings"),
        (
            dict(pilot=Pilot(np.ones((2, 500)), np.zeros(500))),
            "noise_var must be > 0, got 0 in feature 0",
        ),
        (dict(pilot=Pilot(np.zeros((0, 500)), np.ones(500), 1.0)), "neighbours"),
        (dict(threshold=0), "threshold"),
    ],
)
def test_pilots_that_make_no_sense(wrong, word):
    with pytest.raises((TypeError, ValueError), match=word):
        plan_study(500, 10, 0.4, **wrong)


def test_a_small_study_is_planned_and_nonsense_beside_it_refused():
    asked = dict(pilot=like_genes(2), threshold=0.7, n_studies=8, verbose=False)
    study = plan_study(2, 1, 5.0, **asked)
    assert study.rows == 8 and study.n_simulated >= 8
    with pytest.raises(TypeError, match="near must be a Study"):
        predict_study(50, 10, 2, 1.0, near="x")


def test_planned_studies_do_what_was_planned():
    """By real refits: power within three standard errors, and below the bound."""
    script = script_of("make_plan_truth")
    asked = script.N_FEATURES, script.N_EFFECTS, script.SIZE
    study = predict_study(script.ROWS, *asked, threshold=script.THRESHOLD)
    assert study.power >= 0.8 and abs(study.q - script.Q) < 0.01
    at = int(np.argmin(np.abs(script.THRESHOLDS - script.THRESHOLD)))
    counts = script.load()["independent"][:, [at, at + 10]]
    mean, se = counts.mean(0), counts.std(0, ddof=1) / np.sqrt(len(counts))
    assert abs(mean[0] - study.true_selections) < 3 * se[0]
    assert mean[1] + 2 * se[1] < study.pfer


# Features of several columns --------------------------------------------------------


def test_averages_over_groups_are_those_of_draws():
    """Fields drawn in all their directions, answered by the threshold of blocks."""
    d, Q, k, psi, chi_hat, lam, size = 4, 0.31, 0.9, 0.0101, 0.0115, 0.2, 1.7
    rng = np.random.default_rng(0)
    x_0 = np.zeros((200_000, d))
    x_0[:, 1] = size * (rng.random(200_000) < 0.2)
    mean = k * Q * x_0 + np.sqrt(psi) * rng.normal(size=x_0.shape)
    fields = [mean + np.sqrt(chi_hat) * rng.normal(size=x_0.shape) for _ in "ab"]
    lengths = [np.linalg.norm(f, axis=1, keepdims=True) for f in fields]
    t = lam * np.sqrt(d)
    a, b = (np.maximum(1 - t / r, 0) * f / Q for r, f in zip(lengths, fields))
    on, r = lengths[0] > t, lengths[0]
    parts = {  # by draw, so that each has its standard error
        "chi": (on * (1 - (d - 1) / d * t / r) / Q)[:, 0],
        "square": ((a - k * x_0) * (b - k * x_0)).mean(1),
        "var": ((a - b) ** 2).mean(1) / 2,
        "lean": ((a - k * x_0) * x_0).mean(1),
        "error": ((a - x_0) * (b - x_0)).mean(1),
    }
    macro = OrderParameters(Q, psi, chi_hat, k, 1.0, np.nan, np.nan, np.nan)
    prior = GroupLasso(lam, [0] * d)
    ours = average_columns(ConstantSignal(size, 0.2), macro, prior)
    for name, drawn in parts.items():
        se = drawn.std() / np.sqrt(len(drawn))
        assert abs(drawn.mean() - getattr(ours, name)) < 4 * se, name
    assert_allclose(ours.slack, 1 - Q * ours.chi, rtol=1e-8)
    # the law of Pi: Pi of a draw by many resamples of few draws
    there = x_0[:, 1] > 0
    law = PiLaw(np.array([size]), np.ones(1), macro, prior)
    share = on[there].mean()
    assert abs(law.mean - share) < 4 * np.sqrt(share / there.sum())
    some = mean[there][:2_000]
    noise = np.sqrt(chi_hat) * rng.normal(size=(400, *some.shape))
    Pi = (np.linalg.norm(some + noise, axis=2) > t).mean(0)
    for level in (0.5, 0.8, 0.95):
        assert abs(law.at_least(level) - (Pi >= level).mean()) < 0.03


def test_groups_of_one_column_are_the_lasso():
    asked = dict(signal=EFFECTS, noise=0.2, resampling=Subsample(0.5), selected=0.03)
    one = state_evolution(0.5, prior=GroupLasso(0.2, [0]), **asked)
    two = state_evolution(0.5, prior=Laplace(0.2), **asked)
    assert_allclose(np.array(one.macro), np.array(two.macro), rtol=1e-6, atol=1e-12)
    assert_allclose(one.power(0.7), two.power(0.7), rtol=1e-6)
    assert_allclose(one.Pi_null.quantile(0.99), two.Pi_null.quantile(0.99), rtol=1e-6)


@pytest.mark.parametrize("columns", [3, 5, 10])
def test_planned_studies_of_features_with_several_columns(columns):
    """By real refits: within three standard errors and a tenth of an effect."""
    script = script_of("make_plan_groups_truth")
    s, counts = script.SETTINGS[columns], script.load()[columns]
    study = state_evolution(
        s.rows / s.n_features / columns,
        signal=ConstantSignal(s.size * s.rows**0.5, s.n_effects / s.n_features),
        prior=GroupLasso(s.lam, [0] * columns),
        resampling=Subsample(0.5),
        selected=s.q / s.n_features,
        noise=1.0,
    )
    assert_allclose(study.lam, counts[:, -1].mean(), rtol=0.03)
    found, false = counts[:, [1, 6]].T
    se = found.std(ddof=1) / np.sqrt(len(found))
    assert abs(found.mean() - s.n_effects * study.power(0.7)) < 3 * se + 0.1
    assert false.mean() < s.pfer


def test_with_many_rows_the_fit_of_groups_is_the_true_one():
    """Mean square of the true fit: that of a column, its group's over their number."""
    asked = dict(signal=ConstantSignal(50.0, 0.1), noise=0.1)
    found = state_evolution(100.0, prior=GroupLasso(0.01, [0] * 5), **asked)
    power = 0.1 * 50.0**2 / 5 / 100
    assert_allclose([found.macro.overlap_1u, found.macro.power_1u], power, rtol=0.01)


def test_groups_that_make_no_sense_before_the_data():
    with pytest.raises(ValueError, match="one group stands for all"):
        state_evolution(0.5, prior=GroupLasso(1.0, [0, 1]), signal=EFFECTS, noise=1.0)
    with pytest.raises(ValueError, match="beta = inf"):
        asked = dict(signal=EFFECTS, noise=1.0, beta=1.0)
        state_evolution(0.5, prior=GroupLasso(1.0, [0, 0]), **asked)
