"""Weights and offsets in every loss, and survival times as Poisson rows: against
refits, against Cox refits of other people's making; what cannot work is refused.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rvamp_nb.algorithm.densities import p1
from rvamp_nb.algorithm.energy import free_energy, stability_radius
from rvamp_nb.algorithm.likelihood import Huber, Logistic, Loss, PoissonLoss, Squared
from rvamp_nb.algorithm.messages import Natural, extrinsic
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.problem import Problem
from rvamp_nb.algorithm.resampling import (
    FixedFactor,
    Grouped,
    NoResampling,
    Poisson,
    Stratified,
    Subsample,
)
from rvamp_nb.algorithm.solver import rvamp
from rvamp_nb.algorithm.start import initial_state
from rvamp_nb.algorithm.step import WithIntercept
from rvamp_nb.algorithm.weighted import WeightedLoss
from rvamp_nb.course.conditioning import condition_on_rows
from rvamp_nb.course.survival import simulated_survival, survival_fit
from rvamp_nb.exceptions import ConvergenceWarning
from rvamp_nb.inference import batch_glm as refits_room
from rvamp_nb.inference.baseline import BaselineHazard, survival_target
from rvamp_nb.inference.bootstrap import naive_bootstrap
from rvamp_nb.inference.cox import CoxLoss, RiskSets, cox_fits, leave_one_out_hazard

TRUTH = Path(__file__).parents[1] / "truth/survival"
sys.path.insert(0, str(TRUTH))
from make_survival_truth import breslow, half, piecewise_fit, refits, table  # noqa: E402

M, N = 60, 20
NAMES = {
    "squared": Squared(),
    "huber": Huber(),
    "logistic": Logistic(),
    "poisson": PoissonLoss(),
}
HALF = Subsample(0.5)


def weighted(name, seed=0):
    """A design, targets that suit the loss, weights, offsets."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(M, N))
    o, w = rng.normal(size=M), rng.gamma(2, 1, M)
    f = A @ np.where(np.arange(N) < 5, 0.7, 0) + o
    y = {
        "squared": f + rng.normal(size=M),
        "huber": f + rng.normal(size=M),
        "logistic": (rng.random(M) < 1 / (1 + np.exp(-f))) * 1.0,
        "poisson": rng.poisson(np.exp(np.minimum(f, 3))) * 1.0,
    }[name]
    return A, y, w, o


def some_messages(seed=1):
    rng = np.random.default_rng(seed)
    return Natural(rng.gamma(1, 1, M), rng.normal(size=M), rng.gamma(1, 1, M))


class Plain(Loss):
    """A logistic loss that somebody wrote down: value and derivatives, nothing else."""

    def value(self, y, f):
        return np.logaddexp(0, f) - y * f

    def derivatives(self, y, f):
        p = 1 / (1 + np.exp(-f))
        return p - y, p * (1 - p)


# The message of a row ----------------------------------------------------------------


@pytest.mark.parametrize("beta", [np.inf, 1.0])
@pytest.mark.parametrize("name", NAMES)
def test_a_message_is_the_extrinsic_map_of_the_moments(name, beta):
    if name == "huber" and beta == 1:
        return
    _, y, w, o = weighted(name)
    incoming = some_messages()
    moments, message = WeightedLoss(NAMES[name], w, o).message(
        y, incoming, Poisson(), beta
    )
    for a, b in zip(message, extrinsic(moments, incoming)):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("beta", [np.inf, 1.0])
@pytest.mark.parametrize("name", ["squared", "logistic", "poisson"])
def test_moments_are_derivatives_of_the_log_partition(name, beta, step=1e-4):
    _, y, w, o = weighted(name)
    rows, incoming = WeightedLoss(NAMES[name], w, o), some_messages()
    moments = rows.moments(y, incoming, HALF, beta)

    def F(**changed):
        return rows.log_partition(y, incoming._replace(**changed), HALF, beta)

    h, chi_hat = incoming.h, incoming.chi_hat
    slope = (F(h=h + step) - F(h=h - step)) / (2 * step)
    np.testing.assert_allclose(-slope, moments.mean, rtol=1e-5, atol=1e-7)
    bend = (F(chi_hat=chi_hat + step) - F(chi_hat=chi_hat - step)) / step
    np.testing.assert_allclose(-bend, moments.chi, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("name", ["logistic", "poisson"])
def test_two_ways_to_a_weighted_row_agree(name):
    _, y, w, o = weighted(name)
    incoming = some_messages()
    one = WeightedLoss(NAMES[name], w, o).message(y, incoming, Poisson(0.5))
    rows, numbers = WeightedLoss(NAMES[name], w, o).numbered(y)
    two = rows.message(numbers, incoming, Poisson(0.5))
    for a, b in zip([*one[0][:3], *one[1]], [*two[0][:3], *two[1]]):
        np.testing.assert_allclose(a, b, rtol=1e-10)


def test_a_row_of_weight_1_has_its_own_mean_and_one_of_weight_0_has_none():
    row = Natural(np.full(3, 0.7), np.array([0.1, 0.2, 0.3]), np.ones(3))
    y, counts = np.array([1.0, -1.0, 0.5]), Poisson(0.5)
    weighted = WeightedLoss(Squared(), sample_weight=[1.0, 0.0, 2.0])
    mean = weighted.message(y, row, counts)[0].mean
    alone = Squared().message(y, row, counts)[0].mean
    assert mean[0] == alone[0] and abs(mean[1]) < 1e-50
    assert abs(mean[2]) > abs(alone[2]) > 0


@pytest.mark.parametrize("beta", [np.inf, 2.0])
@pytest.mark.parametrize("name", NAMES)
def test_weights_of_one_and_offsets_of_zero_change_nothing(name, beta):
    if name == "huber" and beta == 2:
        return
    _, y, _, _ = weighted(name)
    incoming = some_messages()
    plain = NAMES[name].message(y, incoming, HALF, beta)
    for rows in (
        WeightedLoss(NAMES[name]),
        WeightedLoss(NAMES[name], np.ones(M), np.zeros(M)),
    ):
        for a, b in zip(rows.message(y, incoming, HALF, beta), plain):
            np.testing.assert_array_equal(a[:3], b[:3])


def test_an_offset_that_leaves_no_doubt_about_a_class_is_refused():
    rows = WeightedLoss(Logistic(), offset=np.full(M, 100.0))
    A, y, _, _ = weighted("logistic")
    with pytest.raises(ValueError, match="offset is up to 100 .* within 30"):
        rvamp(A, y, 2.0, loss=rows, intercept=True)
    taken = WeightedLoss(
        Logistic(), np.r_[0.0, np.ones(M - 1)], np.r_[100.0, np.zeros(M - 1)]
    )
    assert rvamp(A, y, 2.0, loss=taken, intercept=True).converged


@pytest.mark.parametrize(
    "options, words",
    [
        (dict(rounds=0), "rounds must be at least 1"),
        (dict(rounds="x"), "rounds must be an integer"),
        (dict(baseline_tol=np.nan), "baseline_tol must lie in"),
        (dict(baseline_tol=-1), "baseline_tol must lie in"),
        (dict(baseline_tol=0), r"baseline_tol must lie in \(0, inf\), got 0"),
        (dict(resampling="x"), "resampling must be a law"),
        (dict(resampling=0.5), "got 0.5: it has no nodes and no mean and no var"),
    ],
)
def test_what_steers_a_survival_fit_is_checked(options, words):
    A, y = simulated_survival(M=30, N=4)
    with pytest.raises((TypeError, ValueError), match=words):
        survival_fit(A, y["time"], y["event"], 1.0, **options)


def test_a_survival_fit_that_takes_no_step_says_so():
    A, y = simulated_survival(M=30, N=4)
    with pytest.warns(ConvergenceWarning):
        fit, _ = survival_fit(A, y["time"], y["event"], 1.0, beta=1e140)
    assert not fit.converged and fit.last is None


def test_equal_weights_at_finite_beta_are_another_beta():
    _, y, _, _ = weighted("logistic")
    V, h, chi_hat = some_messages()
    rows = WeightedLoss(Logistic(), np.full(M, 3.0))
    ours, _ = rows.message(y, Natural(V, h, chi_hat), HALF, 1.0)
    plain, _ = Logistic().message(y, Natural(3 * V, h, chi_hat), HALF, 3.0)
    np.testing.assert_allclose(ours.mean, 3 * plain.mean, rtol=1e-6)
    np.testing.assert_allclose(ours.var, 9 * plain.var, rtol=1e-6)


# The solver --------------------------------------------------------------------------


def test_the_squared_loss_is_scaled_rows_and_shifted_targets():
    A, y, w, o = weighted("squared")
    root = np.sqrt(w)
    one = rvamp(A, y, 2.0, loss=WeightedLoss(Squared(), w, o))
    two = rvamp(root[:, None] * A, root * (y - o), 2.0)
    np.testing.assert_allclose(one.Pi, two.Pi, atol=1e-6)
    np.testing.assert_allclose(one.var, two.var, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_against_refits_with_weights_and_offsets(name):
    A, y, w, o = weighted(name)
    rows, prior = WeightedLoss(NAMES[name], w, o), Laplace(2.0, randomize=FixedFactor())
    fit = rvamp(A, y, prior=prior, loss=rows, intercept=True)
    n = 100 if name == "huber" else 200  # its refits take ten times as long
    options = dict(n_resamples=n, verbose=False)
    known = dict(sample_weight=w, offset=o, intercept=True)
    truth = naive_bootstrap(A, y, 2.0, loss=name, **known, **options)
    assert fit.converged
    noise = np.mean(truth.Pi * (1 - truth.Pi)) / n
    assert np.mean((fit.Pi - truth.Pi) ** 2) < noise + 0.04**2
    assert np.corrcoef(fit.mean, truth.mean)[0, 1] > 0.99
    assert np.corrcoef(fit.var, truth.var)[0, 1] > 0.94
    assert np.corrcoef(fit.last.u.mean, truth.u_mean)[0, 1] > 0.98


@pytest.mark.parametrize("name", NAMES)
def test_a_weight_of_zero_leaves_the_row_out(name):
    A, y, w, o = (part[:40] for part in weighted(name))
    A = A[:, :12]
    w[::4] = 0
    kept, prior = w > 0, Laplace(2.0, randomize=FixedFactor())
    law = dict(prior=prior, intercept=True)
    one = rvamp(A, y, loss=WeightedLoss(NAMES[name], w, o), **law)
    left = WeightedLoss(NAMES[name], w[kept], o[kept])
    two = rvamp(A[kept], y[kept], loss=left, **law)
    assert one.converged and two.converged
    np.testing.assert_allclose(one.Pi, two.Pi, atol=1e-5)
    np.testing.assert_allclose(one.var, two.var, rtol=1e-4, atol=1e-6)


def test_a_posterior_with_weights():
    """beta = 1, a logistic posterior: weights of 2 are two rows that come together."""
    A, y, _, _ = weighted("logistic")
    law = dict(
        prior=Laplace(2.0, randomize=FixedFactor()), resampling=NoResampling(), beta=1.0
    )
    one = rvamp(A, y, loss=WeightedLoss(Logistic(), np.full(M, 2.0)), **law)
    two = rvamp(np.vstack([A, A]), np.append(y, y), loss=Logistic(), **law)
    np.testing.assert_allclose(one.mean, two.mean, atol=0.02)


def test_what_other_chapters_ask_of_a_weighted_fit():
    """Chapter 4.6's corrections and chapter 4.2's radius, as for scaled rows."""
    A, y, w, o = (part[:40] for part in weighted("squared"))
    A = A[:, :12]
    prior, root = Laplace(1.0, randomize=FixedFactor()), np.sqrt(w)
    one = rvamp(A, y, prior=prior, loss=WeightedLoss(Squared(), w, o))
    two = rvamp(root[:, None] * A, root * (y - o), prior=prior)
    assert stability_radius(one) == pytest.approx(stability_radius(two), abs=1e-4)
    assert free_energy(one) == pytest.approx(free_energy(two), rel=1e-6)
    both = (condition_on_rows(fit, rows=2).Pi for fit in (one, two))
    np.testing.assert_allclose(*both, atol=0.01)
    np.testing.assert_allclose(p1(one, 3).cdf(0.1), p1(two, 3).cdf(0.1), atol=1e-5)
    A, y, w, o = (part[:40] for part in weighted("logistic"))
    prior = Laplace(3.0, randomize=FixedFactor())
    fit = rvamp(A[:, :8], y, prior=prior, loss=WeightedLoss(Logistic(), w, o))
    assert 0 < stability_radius(fit) < 1
    assert np.abs(condition_on_rows(fit, rows=2).Pi - fit.Pi).max() < 0.1


@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_weights_and_offsets_in_groups(name):
    A, y, w, o = weighted(name)
    law, loss = Grouped(HALF, np.arange(M) // 3), WeightedLoss(NAMES[name], w, o)
    prior = Laplace(2.0, randomize=FixedFactor())
    fit = rvamp(A, y, prior=prior, loss=loss, resampling=law)
    options = dict(resampling=law, n_resamples=200, verbose=False)
    known = dict(sample_weight=w, offset=o)
    truth = naive_bootstrap(A, y, 2.0, loss=name, **known, **options)
    assert np.sqrt(np.mean((fit.Pi - truth.Pi) ** 2)) < 0.06  # noise: .03


@pytest.mark.parametrize("name", NAMES)
def test_some_rows_are_those_rows(name):
    _, y, w, o = weighted(name)
    w[3] = 0
    rows, incoming = WeightedLoss(NAMES[name], w, o), some_messages()
    whole, _ = rows.message(y, incoming, HALF)
    for which in (slice(3, 4), np.array([5, 2, 40])):
        few = Natural(*(v[which] for v in incoming))
        part, _ = rows.of(which).message(y[which], few, HALF)
        np.testing.assert_allclose(part.mean, whole.mean[which], rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_the_inner_answer_is_the_message_without_noise(name):
    """One count, no field: the pull and the response that chapter 4.2 asks for."""
    _, y, w, o = weighted(name)
    V, h, _ = some_messages()
    rows = WeightedLoss(NAMES[name], w, o)
    moments, _ = rows.message(y, Natural(V, h, np.zeros(M)), NoResampling())
    pull, response, slack = rows.inner(y, -h, 1.0, V, np.inf)
    np.testing.assert_allclose(pull, moments.mean, rtol=1e-8, atol=1e-10)
    least = 1e-9 * moments.chi.max()  # a message lifts a response (times its weight)
    np.testing.assert_allclose(response, moments.chi, rtol=1e-8, atol=1e-10 + least)
    np.testing.assert_allclose(slack, 1 - V * response, rtol=1e-8, atol=1e-10)


def test_a_loss_of_ones_own_with_weights():
    A, y, w, o = (part[:40] for part in weighted("logistic"))
    A = A[:, :12]
    prior = Laplace(2.0, randomize=FixedFactor())
    one, two = (
        rvamp(A, y, prior=prior, loss=WeightedLoss(loss, w, o))
        for loss in (Logistic(), Plain())
    )
    np.testing.assert_allclose(one.Pi, two.Pi, atol=1e-5)


# Survival ----------------------------------------------------------------------------


def pull(A, time, event, counts, x):
    """The slope of Cox's partial likelihood, written as sums over risk sets."""
    risk, g = counts * np.exp(A @ x), np.zeros(A.shape[1])
    for mu in np.flatnonzero(event * counts):
        at_risk = time >= time[mu]
        g += counts[mu] * (A[mu] - risk[at_risk] @ A[at_risk] / risk[at_risk].sum())
    return g


def cox_fit(A, time, event, lam, counts):
    """One of `cox_fits`."""
    lam = np.broadcast_to(lam, (1, A.shape[1]))
    return cox_fits(A, time, event, lam, np.asarray(counts)[None])[0]


@pytest.mark.parametrize(
    "name, twice", [("120x60", True), ("80x300", False), ("150x40", False)]
)
def test_a_cox_refit_meets_its_conditions(name, twice):
    A, time, event, lam = table(name)
    assert len(np.unique(time)) < len(time)  # ties
    for counts in (np.ones(len(A)), (1 + twice) * half(3, len(A))):
        x = cox_fit(A, time, event, lam, counts)
        g = pull(A, time, event, counts, x) / lam
        np.testing.assert_allclose(g[x != 0], np.sign(x[x != 0]), atol=1e-8)
        assert np.abs(g).max() < 1 + 1e-8 and (x != 0).any()


def test_a_cox_refit_against_scikit_survival():
    linear_model = pytest.importorskip("sksurv.linear_model")
    A, time, event, lam = table("120x60")
    c = half(0, len(A)) > 0
    y = np.zeros(c.sum(), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = event[c], time[c]
    options = dict(l1_ratio=1 - 1e-12, tol=1e-12, max_iter=1_000_000)
    theirs = linear_model.CoxnetSurvivalAnalysis(alphas=[lam / c.sum()], **options)
    ours = cox_fit(A, time, event, lam, c * 1.0)
    np.testing.assert_allclose(theirs.fit(A[c], y).coef_[:, 0], ours, atol=1e-3)


def test_a_weighted_cox_refit_against_adelie():
    adelie = pytest.importorskip("adelie")
    A, time, event, lam = table("120x60")
    w = np.random.default_rng(0).gamma(2, 1, 120)
    data = dict(start=np.full(120, -1.0), stop=time, status=event)
    glm = adelie.glm.cox(**data, weights=w / w.sum(), tie_method="breslow")
    options = dict(intercept=False, tol=1e-14, irls_tol=1e-12, early_exit=False)
    path = dict(lmda_path=[lam / w.sum()], progress_bar=False)
    theirs = adelie.grpnet(X=np.asfortranarray(A), glm=glm, **options, **path)
    ours = cox_fit(A, time, event, lam, w)
    np.testing.assert_allclose(theirs.betas.toarray()[0], ours, atol=1e-3)


def test_an_unpenalised_cox_refit_against_lifelines():
    lifelines = pytest.importorskip("lifelines")
    A, time, event, _ = table("150x40")
    frame = pd.DataFrame(A[:, :3]).assign(time=np.arange(len(A)) + time, event=event)
    theirs = lifelines.CoxPHFitter().fit(frame, "time", "event").params_.values
    ours = cox_fit(A[:, :3], frame["time"].values, event, 1e-9, np.ones(len(A)))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


def test_many_cox_refits_are_each_its_own():
    """Each with its baseline, its penalties, and a column that is never penalised."""
    A, y = simulated_survival(M=60, N=8, seed=2)
    time, event, rng = y["time"], y["event"] * 1.0, np.random.default_rng(3)
    counts = rng.poisson(0.7, size=(6, 60)) * 1.0
    counts[2] *= event == 0  # nobody dies
    lam = rng.uniform(0.5, 2, size=(6, 8)) * (np.arange(8) > 0)
    x = cox_fits(A, time, event, lam, counts)
    assert not x[2].any() and (x[[0, 1, 3, 4, 5], 0] != 0).all()
    for one, penalties, c in zip(x, lam, counts):
        np.testing.assert_allclose(
            one, cox_fit(A, time, event, penalties, c), atol=1e-9
        )
        risk = c * np.exp(A @ one)
        pull = A.T @ (c * event - breslow(time, c * event, risk) * risk)
        on = one != 0
        if c @ event:
            np.testing.assert_allclose(
                pull[on], penalties[on] * np.sign(one[on]), atol=1e-8
            )
            assert (np.abs(pull[~on]) <= penalties[~on]).all()


def test_a_cox_refit_takes_few_steps_also_where_hardly_a_penalty_holds_it(monkeypatch):
    A, y = simulated_survival(M=80, N=30, seed=1)
    time, event = y["time"], y["event"] * 1.0
    counts, made = np.array([half(b, 80) for b in range(6)]), []
    keep = lambda *a, step=refits_room._newton_step: made.append(1) or step(*a)
    monkeypatch.setattr(refits_room, "_newton_step", keep)
    for lam, most in ((0.3, 20), (1e-3, 140)):  # 10 and 70; 123 for the first, if held
        made.clear()
        x = cox_fits(A, time, event, np.full((6, 30), lam), counts)
        assert len(made) < most
        for one, c in zip(x, counts):
            g = pull(A, time, event, c, one) / lam
            np.testing.assert_allclose(g[one != 0], np.sign(one[one != 0]), atol=1e-7)


def test_an_unpenalised_column_that_nothing_bounds_is_no_answer():
    """In two resamples of three nobody of the second group dies."""
    A, y = simulated_survival(M=80, N=5, seed=3)
    time, event = y["time"], y["event"] * 1.0
    A[:, 0] = np.where(np.arange(80) < 40, 1, -1) / np.sqrt(80)
    counts = np.array([half(b, 80) for b in range(3)])
    counts[1:, 40:] *= event[40:] == 0
    lam = np.tile([0.0, 1.0, 1.0, 1.0, 1.0], (3, 1))
    x = cox_fits(A, time, event, lam, counts)
    assert np.isfinite(x[0]).all() and np.isnan(x[1:]).all()
    held = cox_fits(A, time, event, np.maximum(lam, 1e-3), counts)
    assert np.isfinite(held).all()  # the smallest penalty is a bound


def test_a_cox_refit_without_deaths_is_zero():
    A, time, event, lam = table("120x60")
    assert not cox_fit(A, time, event, lam, (event == 0) * 1.0).any()


@pytest.mark.parametrize("name", ["120x60", "200x100", "80x300", "150x40"])
def test_survival_against_cox_refits(name):
    """rVAMP with a frozen baseline against refits of the Cox model."""
    A, time, event, lam = table(name)
    with np.load(TRUTH / f"{name}.npz") as truth:
        assert truth["lam"] == pytest.approx(lam)
        Pi, mean, var, n = (truth[k] for k in ("Pi", "mean", "var", "n"))
    fit, _ = survival_fit(A, time, event, prior=Laplace(lam, randomize=FixedFactor()))
    noise = np.sqrt(np.mean(Pi * (1 - Pi)) / n)
    assert fit.converged
    assert np.sqrt(np.mean((fit.Pi - Pi) ** 2)) < 0.012 + noise
    assert fit.Pi.sum() == pytest.approx(Pi.sum(), rel=0.035)
    assert np.polyfit(mean, fit.mean, 1)[0] == pytest.approx(1, abs=0.05)
    assert np.polyfit(var, fit.var, 1)[0] == pytest.approx(1, abs=0.22)


def test_the_truth_can_be_made_again():
    A, time, event, lam = table("80x300")
    with np.load(TRUTH / "80x300.npz") as truth:
        Pi, n = truth["Pi"], truth["n"]
    few = (refits("80x300", range(12)) != 0).mean(0)
    sure = (Pi == 0) | (Pi == 1)
    assert (few[sure] == Pi[sure]).all() and n == 400
    assert np.abs(few - Pi).max() < 5 / np.sqrt(4 * 12)


def test_an_interval_for_every_death_is_cox():
    """The piecewise-exponential model in the limit, by an unrelated way."""
    A, time, event, lam = table("120x60")
    for b in (0, 1):
        c = half(b, len(A))
        pieces = piecewise_fit(A, time, event, lam, c, 1000)
        cox = cox_fit(A, time, event, lam, c)
        np.testing.assert_allclose(pieces, cox, atol=1e-4 * np.abs(cox).max())


def test_weights_of_survival_rows():
    """Integer weights without resampling: rows in as many copies."""
    A, time, event, lam = table("120x60")
    w = np.random.default_rng(0).integers(0, 3, 120) * 1.0
    law = dict(prior=Laplace(lam, randomize=FixedFactor()), resampling=NoResampling())
    fit, _ = survival_fit(A, time, event, sample_weight=w, **law)
    many = np.repeat(np.arange(120), w.astype(int))
    copied, _ = survival_fit(A[many], time[many], event[many], **law)
    cox = cox_fit(A, time, event, lam, w)
    for other in (copied.mean, cox):
        np.testing.assert_allclose(fit.mean, other, atol=0.002 * np.abs(cox).max())


def test_an_offset_of_survival_rows():
    """A known part of the linear predictor, and any constant in it, which the level
    takes up.
    """
    A, time, event, lam = table("120x60")
    prior = Laplace(lam, randomize=FixedFactor())
    o = A[:, 0] * 5
    one, _ = survival_fit(A[:, 1:], time, event, prior=prior, offset=o)
    two, _ = survival_fit(A[:, 1:], time, event, prior=prior, offset=o + 7)
    np.testing.assert_allclose(one.Pi, two.Pi, atol=1e-4)
    none, _ = survival_fit(A[:, 1:], time, event, prior=prior)
    assert np.abs(one.mean - none.mean).max() > 0.05


def test_units_of_time_and_any_rising_function_of_it_change_nothing():
    A, time, event, lam = table("120x60")
    prior = Laplace(lam, randomize=FixedFactor())
    one, _ = survival_fit(A, time, event, prior=prior)
    two, _ = survival_fit(A, np.exp(3 * time) - 1, event, prior=prior)
    np.testing.assert_array_equal(one.Pi, two.Pi)


def test_the_mean_baseline_is_breslows_where_nothing_is_resampled():
    _, time, event, _ = table("120x60")
    risk = np.random.default_rng(0).gamma(2, 1, len(time))
    ours = leave_one_out_hazard(time, event, risk, NoResampling())
    np.testing.assert_allclose(ours, breslow(time, event, risk), rtol=1e-12)


TRIPLES = Grouped(HALF, np.arange(60) // 3)


@pytest.mark.parametrize("law", [HALF, Subsample(0.3), Poisson(1.0), TRIPLES], ids=str)
def test_the_own_share_against_resamples(law):
    """The mean of each resample's Breslow baseline as those see it who are drawn."""
    rng = np.random.default_rng(0)
    time, event = rng.permutation(60) * 1.0, (rng.random(60) < 0.7) * 1.0
    counts = np.array([law.draw(60, rng) for _ in range(4_000)])
    H = np.array([breslow(time, c * event, c) for c in counts])
    seen = (counts * H).sum(0) / counts.sum(0)
    own = leave_one_out_hazard(time, event, np.full(60, law.mean), law)
    plain = breslow(time, event, np.ones(60))
    early = time < 45  # the last are at risk with hardly anybody
    np.testing.assert_allclose(own[early], seen[early], rtol=0.04)
    gap = np.abs(plain - seen)[early].sum()
    assert np.abs(own - seen)[early].sum() < 0.2 * gap


@pytest.mark.parametrize("law", [HALF, Poisson(0.5), TRIPLES], ids=str)
@pytest.mark.parametrize("last", [1, 20])
def test_rows_that_weigh_next_to_nothing_leave_the_others_as_they_are(law, last):
    """At the end only such rows are at risk; what they see grows as they shrink."""
    risk, time = np.random.default_rng(0).gamma(2, 1, 60), np.arange(60.0)
    seen = []
    for size in (1e-12, 1e-30, 1e-90):
        risk[-last:] = size
        seen.append(leave_one_out_hazard(time, np.ones(60), risk, law))
        seen[-1][-last:] *= size
    np.testing.assert_allclose(seen[1:], [seen[0]] * 2, rtol=1e-9)


def test_everybody_dies_and_people_leave_before_the_first_death():
    A, time, event, lam = table("120x60")
    prior = Laplace(lam, randomize=FixedFactor())
    fit, _ = survival_fit(A, time, np.ones(120), prior=prior)
    assert fit.converged
    event = event * (time > np.quantile(time, 0.3))
    fit, base = survival_fit(A, time, event, prior=prior)
    assert fit.converged and (base.hazard == 0).sum() > 20
    assert (base.rows.sample_weight == (base.hazard > 0)).all()


def test_nobody_holds_more_than_the_whole_risk():
    """Whoever has most of it, drawn on the average half a time: the share of the risk
    seen by that row is at most 1 (`drawn-share` with g = 3), and the others' at least
    0.
    """
    law, both = Poisson(0.5), np.ones(2)
    for share in (0.1, 0.4, 0.6, 0.8, 1.0):
        risk = law.mean * np.array([share, 1 - share])
        mine = (
            leave_one_out_hazard(both, np.array([1.0, 0.0]), risk, law)[0]
            * risk[0]
            / law.mean
        )
        assert 0 < mine <= 1 + 1e-12
        others = leave_one_out_hazard(both, np.array([0.0, 1.0]), risk, law)[0]
        p = others * (risk[1] + 1e-300) / law.mean
        assert abs(mine + p - 1) < 1e-12 or share == 1


# Strata and late entries --------------------------------------------------------------


def sites(kind, seed, M=90, N=12):
    """A table with ties, some of whose sites differ in the hazard; what is not in
    `kind` ("strata entry weights") is None.
    """
    rng = np.random.default_rng(seed)
    A, site = rng.normal(size=(M, N)), rng.integers(0, 4, M)
    A[:, 1] += site
    base = np.exp(1.5 * site - 2)
    death = rng.exponential(1 / (base * np.exp(0.8 * A[:, 0])))
    left = rng.exponential(2 / base)
    time, event = np.ceil(20 * np.minimum(death, left)) / 20, (death <= left) * 1.0
    entry = np.floor(20 * time * rng.uniform(0, 0.9, M) * (rng.random(M) < 0.6)) / 20
    weight = rng.gamma(2, 1, M)
    A = A - A.mean(0)
    given = dict(strata=site, entry=entry, weights=weight)
    given = {name: value if name in kind else None for name, value in given.items()}
    return A / np.linalg.norm(A, axis=0), time, event, given


def risk_set(mu, time, strata, entry):
    """Who is at risk when a row ends, `risk-set` as it is written."""
    there = time >= time[mu]
    there &= True if strata is None else strata == strata[mu]
    return there & (True if entry is None else entry < time[mu])


def slope_in_risk_sets(A, time, event, counts, x, strata, entry):
    """As `pull`, with strata and entries."""
    risk, g = counts * np.exp(A @ x), np.zeros(A.shape[1])
    for mu in np.flatnonzero(event * counts):
        there = risk_set(mu, time, strata, entry)
        g += counts[mu] * (A[mu] - risk[there] @ A[there] / risk[there].sum())
    return g


KINDS = ["strata", "entry", "strata entry", "strata weights", "strata entry weights"]


@pytest.mark.parametrize("seed, kind", [*enumerate(KINDS)])
def test_refits_with_strata_and_entries_meet_their_conditions(seed, kind):
    A, time, event, given = sites(kind, seed)
    w = given.pop("weights")
    w = np.ones(90) if w is None else w
    counts = w * [np.ones(90), *(half(b, 90) for b in range(3))]
    for lam in (0.5, 0.1):
        x = cox_fits(A, time, event, np.full((4, 12), lam), counts, **given)
        for one, c in zip(x, counts):
            g = slope_in_risk_sets(A, time, event, c, one, **given) / lam
            on = one != 0
            np.testing.assert_allclose(g[on], np.sign(one[on]), atol=1e-7)
            assert np.abs(g).max() < 1 + 1e-7
        assert (x != 0).any()


def test_refits_of_a_long_table_know_strata_and_entries(monkeypatch):
    A, time, event, given = sites("strata entry", 7, M=120)
    del given["weights"]
    counts = np.array([half(b, 120) for b in range(10)])
    asked = A, time, event, np.full((10, 12), 0.5), counts
    together = cox_fits(*asked, **given)
    monkeypatch.setattr(refits_room, "LONG", 100)
    alone = cox_fits(*asked, **given)
    np.testing.assert_allclose(alone, together, rtol=1e-9, atol=1e-12)


def test_an_unpenalised_fit_with_strata_and_entries_by_newtons_steps():
    """Sums over risk sets as they are written, derivatives by differences."""
    A, time, event, given = sites("strata entry", 3, M=60, N=3)
    del given["weights"]
    slope = lambda x: slope_in_risk_sets(A, time, event, np.ones(60), x, **given)
    x, steps = np.zeros(3), 1e-5 * np.eye(3)
    for _ in range(8):
        bend = np.array([(slope(x + e) - slope(x - e)) / 2e-5 for e in steps])
        x = x - np.linalg.solve(bend, slope(x))
    ours = cox_fits(A, time, event, np.zeros((1, 3)), np.ones((1, 60)), **given)
    np.testing.assert_allclose(ours[0], x, rtol=1e-6)


def test_a_constant_in_each_stratum_moves_no_stratified_fit():
    A, time, event, given = sites("strata", 1)
    site, x = given["strata"], []
    for shift in (0, 3 * site[:, None] + np.arange(12) * (site == 2)[:, None]):
        table = np.column_stack([A + shift, site, site == 1])
        lam = np.full((1, 14), 0.5) * (np.arange(14) < 13)  # the last has no penalty
        x.append(cox_fits(table, time, event, lam, np.ones((1, 90)), strata=site)[0])
        assert (x[-1][12:] == 0).all()
    np.testing.assert_allclose(*x, rtol=1e-6, atol=1e-9)


def test_the_baseline_of_a_stratum_is_that_of_its_rows_alone():
    _, time, event, given = sites("strata entry", 2)
    site, entry, law = given["strata"], given["entry"], HALF
    risk = np.random.default_rng(0).gamma(1, 1, 90)
    ours = leave_one_out_hazard(time, event, risk, law, entry, site)
    for k in range(4):
        at = site == k
        alone = leave_one_out_hazard(time[at], event[at], risk[at], law, entry[at])
        np.testing.assert_allclose(ours[at], alone, rtol=1e-10)
    for part in (event, risk):
        part[site == 1] = 0.0  # nobody dies there, or weighs anything
    ours = leave_one_out_hazard(time, event, risk, law, entry, site)
    assert np.isfinite(ours).all() and not ours[site == 1].any()


def test_strata_take_no_digits_from_each_other():
    """With hardly a penalty risks are far apart; refits still reach their ends."""
    A, time, event, given = sites("strata", 2, M=90, N=40)
    counts, lam = np.array([half(b, 90) for b in range(6)]), np.full((6, 40), 0.02)
    x = cox_fits(A, time, event, lam, counts, strata=given["strata"])
    assert np.isfinite(x).all() and (x != 0).sum() > 150


def test_a_risk_that_rises_by_powers_of_ten():
    """The first rows weigh next to nothing, and nobody else is there yet."""
    size = np.array([1e-6, 1e-3, 1.0, 1e3, 1e6])
    risk, first = np.repeat(size, 12), np.repeat(100.0 * np.arange(5), 12)
    risk[::4] *= 1e-12  # some hold nothing, and see small sums after large ones
    time, event = first + np.tile(np.arange(12.0), 5) + 1, np.ones(60)
    ours = leave_one_out_hazard(time, event, risk, HALF, entry=first)
    for k in range(5):
        at = slice(12 * k, 12 * k + 12)
        alone = leave_one_out_hazard(time[at] - 100 * k, event[at], risk[at], HALF)
        np.testing.assert_allclose(ours[at], alone, rtol=1e-9)


def test_a_row_that_is_cut_in_two_is_the_same_patient():
    """(entry, stop] and (entry, middle], (middle, stop], drawn together."""
    A, time, event, given = sites("strata entry", 5)
    site, entry = given["strata"], given["entry"]
    cut = np.flatnonzero(time - entry > 0.1)
    middle = np.round(20 * (time + entry)[cut] / 2) / 20 + 0.025  # at no death
    who = np.append(np.arange(90), cut)
    entries, stops = np.append(entry, middle), np.append(time, middle)
    entries[cut], entries[90:], deaths = middle, entry[cut], np.append(event, 0 * cut)
    lam, c = np.full((1, 12), 0.5), half(0, 90)[None]
    whole = cox_fits(A, time, event, lam, c, strata=site, entry=entry)
    known = dict(strata=site[who], entry=entries)
    parts = cox_fits(A[who], stops, deaths, lam, c[:, who], **known)
    np.testing.assert_allclose(parts, whole, rtol=1e-9)
    hazard = leave_one_out_hazard(time, event, np.ones(90), HALF, entry, site)
    law, sets = Grouped(HALF, who), known.values()
    pieces = leave_one_out_hazard(
        stops, deaths, np.ones(len(who)), law, *reversed(sets)
    )
    np.testing.assert_allclose(np.bincount(who, pieces), hazard, rtol=1e-10, atol=1e-14)


def test_the_own_share_with_strata_and_entries_against_resamples():
    """The mean of each resample's baselines as those see it who are drawn."""
    rng, M = np.random.default_rng(0), 60
    stop, site = rng.permutation(M) + 1.0, np.arange(M) % 2
    entry, event = stop * rng.uniform(0, 0.5, M), (rng.random(M) < 0.7) * 1.0
    there = [risk_set(mu, stop, site, entry) for mu in range(M)]  # deaths, rows
    met = np.array(there).T & (event > 0)  # rows, deaths
    counts = np.array([HALF.draw(M, rng) for _ in range(4_000)])
    total = np.maximum(counts @ np.array(there).T, 1)
    seen = (counts * ((counts / total) @ met.T)).sum(0) / counts.sum(0)
    ours = leave_one_out_hazard(stop, event, np.full(M, 0.5), HALF, entry, site)
    few = [met[mu].any() and np.sum(there, 1)[met[mu]].min() < 8 for mu in range(M)]
    kept = ~np.array(few) & met.any(1)
    assert kept.sum() > 20
    np.testing.assert_allclose(ours[kept], seen[kept], rtol=0.05)


@pytest.mark.parametrize("kind", ["strata", "entry", "strata entry"])
def test_survival_with_strata_and_entries_against_refits(kind):
    A, time, event, given = sites(kind, 4, M=200, N=30)
    del given["weights"]
    law = HALF if given["strata"] is None else Stratified(HALF, given["strata"])
    rng, lam = np.random.default_rng(0), np.full((100, 30), 1.2)
    draws = [[law.draw(200, rng) for _ in range(100)] for _ in range(4)]
    x = [cox_fits(A, time, event, lam, np.array(c), **given) for c in draws]
    Pi, mean = (np.concatenate(x) != 0).mean(0), np.concatenate(x).mean(0)
    prior = Laplace(1.2, randomize=FixedFactor())
    fit, base = survival_fit(A, time, event, prior=prior, resampling=law, **given)
    noise = np.sqrt(np.mean(Pi * (1 - Pi)) / 400)
    assert fit.converged and Pi.sum() > 1
    assert np.sqrt(np.mean((fit.Pi - Pi) ** 2)) < 0.012 + noise
    assert np.polyfit(mean, fit.mean, 1)[0] == pytest.approx(1, abs=0.06)
    if "strata" in kind:  # column 1 is the site, and some noise
        one = survival_fit(
            A, time, event, prior=prior, resampling=law, entry=given["entry"]
        )
        assert fit.Pi[1] < Pi[1] + 0.05 < one[0].Pi[1]


def test_a_table_in_chunks_has_one_baseline():
    A, time, event, given = sites("strata", 4)
    from rvamp_nb.tables import ChunkedTable

    with pytest.raises(TypeError, match="centred in each, in memory; give X"):
        survival_fit(ChunkedTable(A), time, event, 1.0, strata=given["strata"])


# Targets and refusals ----------------------------------------------------------------


def test_targets_in_all_forms():
    y = simulated_survival(M=20)[1]
    time, event = y["time"], y["event"] * 1.0
    forms = [
        y,
        pd.DataFrame({"event": y["event"], "time": time}),
        pd.DataFrame({"time": time, "event": event}),
        pd.DataFrame({"died": y["event"], "days": time}),
        np.column_stack([event, time]),
        np.column_stack([time, event]),
        pd.DataFrame({"days": time, "status": y["event"]}),
        pd.DataFrame({"event": time, "then": y["event"]}),
        y.astype([("cens", bool), ("t", np.float32)]),
    ]
    for form in forms:
        got = survival_target(form)
        np.testing.assert_array_equal(got[0], time)
        np.testing.assert_array_equal(got[1], event)
        assert got[0].dtype == got[1].dtype == float and len(got) == 2
    equal = survival_target(np.column_stack([event, np.ones(20)]))  # matched sets
    np.testing.assert_array_equal(equal, [np.ones(20), event])
    # both hold only 0 and 1: the names say which is which
    early = event
    for seen in (event[::-1], np.zeros(20)):
        got = survival_target(pd.DataFrame({"event": seen, "time": early}))
        np.testing.assert_array_equal(got, [early, seen])
    start = time / 2
    late = np.zeros(20, [("entry", float), ("time", float), ("event", bool)])
    late["entry"], late["time"], late["event"] = start, time, event
    for form in (
        np.column_stack([event, start, time]),
        np.column_stack([start, time, event]),
        np.column_stack([0 * start, time, event]),
        pd.DataFrame({"stop": time, "event": event, "start": start}),
        late,
    ):
        *got, entries = survival_target(form)
        for part, wanted in zip(got, (time, event)):
            np.testing.assert_array_equal(part, wanted)
        assert np.array_equal(entries, start) or not entries.any()


@pytest.mark.parametrize(
    "y, word",
    [
        (
            np.column_stack([np.ones(5), np.full((5, 2), 3)]),
            r"row 0 \(counted from 0\) starts at 3",
        ),
        (
            np.column_stack([np.ones(5), np.full(5, -1.0), np.ones(5)]),
            "start must be >",
        ),
        (np.column_stack([np.ones(5), np.full(5, np.nan), np.ones(5)]), "y: start"),
        (np.column_stack([np.full(5, 2.0), np.full(5, 3.0)]), "event .* first column"),
        (np.column_stack([np.arange(5) % 2 + 1, np.arange(5)]), "codes 1, 2: y == 2"),
        (np.column_stack([np.ones(5), -np.ones(5)]), "time must be >= 0"),
        (np.column_stack([np.ones(5), np.full(5, np.nan)]), "time"),
        (np.column_stack([np.arange(4) % 2, np.arange(4) // 2]), "call them 'event'"),
        (np.column_stack([np.ones(4), np.arange(4) % 2]), "call them 'event'"),
        (np.ones(5), "structured"),
        (np.ones((5, 4)), "structured"),
    ],
)
def test_targets_that_are_none(y, word):
    with pytest.raises((TypeError, ValueError), match=word):
        survival_target(y)


@pytest.mark.parametrize(
    "change, word",
    [
        (dict(event=np.zeros(120)), "no event"),
        (dict(event=np.eye(120)[0]), "1 event"),
        (dict(event=np.full(120, 0.5)), "event"),
        (dict(event=np.ones(3)), "event must have shape"),
        (dict(time=-np.ones(120)), "time must be >= 0"),
        (dict(time=np.full(120, np.nan)), "time"),
        (dict(sample_weight=-np.ones(120)), "sample_weight"),
        (dict(sample_weight=np.ones(119)), "sample_weight must have shape"),
        (dict(offset=np.ones(119)), "offset must have shape"),
        (dict(offset=np.full(120, np.inf)), "offset"),
        (dict(entry=np.ones(3)), "entry must have shape"),
        (dict(entry=-np.ones(120)), "start must be >= 0"),
        (dict(entry=np.full(120, 1e9)), "start must be before stop: row 0 .*120 rows"),
        (dict(entry=np.full(120, np.nan)), "entry"),
        (dict(strata=np.arange(3)), "strata must hold one label for each of 120"),
        (dict(strata=[None] * 120), "120 rows have no label"),
    ],
)
def test_survival_that_cannot_work_is_refused_by_name(change, word):
    A, time, event, lam = table("120x60")
    given = dict(time=time, event=event) | change
    with pytest.raises(ValueError, match=word):
        survival_fit(A, lam=lam, **given)


@pytest.mark.parametrize(
    "arguments, error, word",
    [
        (("logit",), ValueError, "loss must be .* subclass of Loss, got .logit"),
        ((3,), TypeError, "loss must be .* subclass of Loss, got 3"),
        ((Logistic(), -np.ones(M)), ValueError, "sample_weight must be >= 0"),
        ((Logistic(), np.zeros(M)), ValueError, "not all zero"),
        ((Squared(), [[1.0, 2.0]]), ValueError, r"sample_weight .* got \(1, 2\)"),
        ((Logistic(), np.full(M, np.nan)), ValueError, "weight"),
        (
            (Logistic(), None, np.ones((M, 1))),
            ValueError,
            r"offset must have shape \(M,\), one",
        ),
    ],
)
def test_rows_that_are_none(arguments, error, word):
    with pytest.raises(error, match=word):
        WeightedLoss(*arguments)


def test_rows_that_do_not_fit_the_table():
    A, y, w, o = weighted("logistic")
    with pytest.raises(ValueError, match="numbers of sample_weight for 60 rows"):
        rvamp(A, y, 2.0, loss=WeightedLoss(Logistic(), w[1:]))
    with pytest.raises(ValueError, match="both"):
        rvamp(A, y, 2.0, loss=WeightedLoss(Logistic(), (y == 1) * 1.0))
    with pytest.raises(ValueError, match="beta"):
        rvamp(A, y, 2.0, loss=WeightedLoss(Huber(), w), beta=1.0)


def test_nobody_changes_the_weights_afterwards():
    _, y, w, o = weighted("logistic")
    rows = WeightedLoss(Logistic(), w, o)
    before = rows.value(y, 0 * y)
    w[:] = 7
    np.testing.assert_array_equal(rows.value(y, 0 * y), before)


def test_a_baseline_moves_by_nothing_from_itself():
    _, time, event, _ = table("120x60")
    base = BaselineHazard(time, event)
    assert base.distance(base) == 0
    A, time, event, lam = table("120x60")
    fit, base = survival_fit(
        A, time, event, prior=Laplace(lam, randomize=FixedFactor())
    )
    np.testing.assert_allclose(base.hazard.sum(), event.sum())
    assert (
        base.updated(fit.last.u).distance(base)
        < 1e-4
        < base.distance(BaselineHazard(time, event))
    )


@pytest.mark.parametrize("shared", [False, True])
def test_the_baseline_goes_along_with_the_messages(shared):
    """Then two fits are enough, where a baseline for each fit takes six."""
    A, time, event, lam = table("120x60")
    counts = Grouped(HALF, np.arange(120) // 2) if shared else HALF
    prior = Laplace(lam, randomize=FixedFactor())
    fit, base = survival_fit(A, time, event, prior=prior, resampling=counts, rounds=2)
    assert base.updated(fit.last.u).distance(base) < 2e-5


def test_the_hazard_counts_the_rows_that_are_drawn():
    """Of 13 rows six: what the solver makes of halves, and not six and a half."""
    _, y = simulated_survival(13, 3)
    time, event = y["time"], y["event"] * 1.0
    base, six = (BaselineHazard(time, event, Subsample(tau)) for tau in (0.5, 6 / 13))
    np.testing.assert_allclose(base.hazard, six.hazard, rtol=1e-12)
    np.testing.assert_allclose(base.risk, six.risk, rtol=1e-12)


def test_what_a_cox_loss_has_at_a_point_is_computed_once(monkeypatch):
    rng, asked = np.random.default_rng(0), []
    at_risk = RiskSets.at_risk
    counted = lambda self, v: asked.append(v.ndim) or at_risk(self, v)
    monkeypatch.setattr(RiskSets, "at_risk", counted)
    sets = RiskSets(np.zeros(20), np.arange(1, 21))
    loss, d = CoxLoss(sets), rng.integers(0, 2, 20)
    X, f, c = rng.normal(size=(3, 20)), rng.normal(size=(2, 20)), np.ones((2, 20))
    first = loss.value(d, f, c)
    loss.slope(d, f.copy(), c.copy())
    loss.hessian(np.array([X, X]), d, f, c, 0.0)
    assert asked == [2, 3]  # once, and once for the columns
    f += 0.1  # in place, as faces are
    moved = loss.value(d, f, 2 * c)
    assert asked == [2, 3, 2] and not np.allclose(moved, 2 * first)
    assert np.allclose(loss.value(d, f - 0.1, c), first)


def test_cox_refits_of_a_long_table_are_those_of_a_short_one(monkeypatch):
    """Each on its own rows, tied times among them, from where an average one ends."""
    A, y = simulated_survival(120, 8)
    rng, time = np.random.default_rng(1), np.ceil(y["time"] / 20)
    counts = np.array([HALF.draw(120, rng) for _ in range(10)])
    asked = A, time, y["event"] * 1.0, np.full((10, 8), 0.5), counts
    together = cox_fits(*asked)
    monkeypatch.setattr(refits_room, "LONG", 100)
    alone = cox_fits(*asked)
    assert np.isfinite(together).all() and (together != 0).any()
    np.testing.assert_allclose(alone, together, rtol=1e-9, atol=1e-12)


def test_where_the_unpenalised_fit_is_zero_a_step_or_two_find_it(monkeypatch):
    """The intercept of a baseline's rows is 0: no move is small beside such a fit."""
    rng, asked = np.random.default_rng(0), []
    base = BaselineHazard(rng.exponential(size=60), rng.integers(0, 2, size=60))
    X, y = np.c_[rng.normal(size=(60, 5)), np.ones(60)], base.event
    prior = WithIntercept(Laplace(1.0, FixedFactor()), 5)
    problem = Problem(X, y, prior, base.rows, base.counts)
    value = PoissonLoss.value
    counted = lambda *args: asked.append(0) or value(*args)
    monkeypatch.setattr(PoissonLoss, "value", counted)
    assert np.isfinite(initial_state(problem).to_prior.h).all() and len(asked) < 10
