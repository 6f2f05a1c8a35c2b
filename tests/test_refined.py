"""The last word: what rVAMP says of each resample, refits with that as a control, and
both together, against many more refits.
"""

import warnings
from functools import cache

import numpy as np
import pytest

from rvamp_nb import (
    Discrete,
    ElasticNet,
    Exponential,
    Fixed,
    Grouped,
    Huber,
    Laplace,
    Logistic,
    NonNegative,
    NoResampling,
    Panels,
    Poisson,
    PoissonLoss,
    Ridge,
    Rows,
    Squared,
    Stratified,
    Subsample,
    Weakness,
    counted,
    naive_bootstrap,
    refined,
    rvamp,
    survival_fit,
)
from rvamp_nb.extend import refined as room
from rvamp_nb.extend.refitting import refitter
from rvamp_nb.extend.survival import Baseline
from rvamp_nb.panels import couple
from rvamp_nb.solver import with_blocks

M, N = 60, 30
RNG = np.random.default_rng(0)
A = RNG.normal(size=(M, N))
A = (A - A.mean(0)) / np.linalg.norm(A - A.mean(0), axis=0)
Y = A[:, :4] @ [6.0, 5.0, 4.0, 3.0] + RNG.normal(size=M)
GROUPS, STRATA = np.repeat(np.arange(20), 3), np.arange(M) % 3 > 0
HALF = Subsample(0.5)
LABELS, EVENTS = 1.0 * (Y > 0), RNG.poisson(np.exp(0.3 * Y)).astype(float)
WEIGHTED = Rows(Squared(), RNG.uniform(0.5, 2, M), 0.3 * RNG.normal(size=M))


def lasso(lam, **more):
    return Laplace(lam, Fixed(), **more)


def logistic(counts):
    parts = dict(likelihood=Logistic(), intercept=True)
    return rvamp(A, LABELS, prior=lasso(0.5), counts=counts, **parts)


FITS = {
    "halves": lambda: rvamp(A, Y, prior=lasso(1.5), counts=HALF),
    "the paper's": lambda: rvamp(A, Y, prior=Laplace(1.2), counts=Poisson(0.5)),
    "weakness": lambda: rvamp(A, Y, prior=Laplace(1.2, Weakness(0.4)), counts=HALF),
    "weights": lambda: rvamp(A, Y, prior=lasso(2.5), counts=Exponential(1.0)),
    "groups": lambda: rvamp(A, Y, prior=lasso(1.5), counts=Grouped(HALF, GROUPS)),
    "strata": lambda: rvamp(A, Y, prior=lasso(1.5), counts=Stratified(HALF, STRATA)),
    "elastic net": lambda: rvamp(
        A, Y, prior=ElasticNet(1.5, Fixed(), l1_ratio=0.7), counts=HALF
    ),
    "non-negative": lambda: rvamp(A, Y, prior=NonNegative(1.5, Fixed()), counts=HALF),
    "a covariate": lambda: rvamp(
        A, Y, prior=lasso(1.5, penalty_factor=1.0 * (np.arange(N) > 0)), counts=HALF
    ),
    "labels": lambda: logistic(HALF),
    "labels in groups": lambda: logistic(Grouped(HALF, GROUPS)),
    "counts": lambda: rvamp(
        A,
        EVENTS,
        prior=lasso(2.0),
        counts=HALF,
        likelihood=PoissonLoss(),
        intercept=True,
    ),
    "Huber": lambda: rvamp(
        A, Y, prior=lasso(1.0), counts=HALF, likelihood=Huber(1.0), intercept=True
    ),
    "sigma": lambda: rvamp(
        A, Y, prior=lasso(1.5 / 4), counts=HALF, likelihood=Squared(2.0)
    ),
    "rows of weights": lambda: rvamp(
        A, Y, prior=lasso(1.5), counts=HALF, likelihood=WEIGHTED
    ),
    "in blocks": lambda: rvamp(Panels(A, block=10), Y, prior=lasso(1.5), counts=HALF),
}


@cache
def fitted(name):
    return FITS[name]()


@cache
def answered(name):
    return refined(fitted(name), progress=False)


def seen(fit, n=1500, **given):
    """Π, mean and variance of n refits, and their standard errors."""
    draw = room.resamples(fit, range(n), 99)
    x, _ = refitter(fit, **given)(*draw)
    share, var = (x != 0).mean(0), x.var(0)
    share_se = np.sqrt(np.maximum(share * (1 - share), 1 / n) / n)
    fourth = ((x - x.mean(0)) ** 4).mean(0) - var**2
    small = 1e-3 * np.abs(x).max()  # a variance has the square of its unit
    noise = share_se, np.sqrt(var / n) + small / 10, np.sqrt(fourth / n) + small**2
    return (share, x.mean(0), var), noise


@cache
def seen_of(name):
    return seen(fitted(name))


def off(answer, truth, noise):
    """Distances of Π, mean and variance from the truth, in standard errors of both,
    (3, N).
    """
    found = (getattr(answer, name) for name in ("Pi", "mean", "var"))
    errors = (getattr(answer, f"{name}_se") for name in ("Pi", "mean", "var"))
    rows = zip(found, truth, errors, noise)
    return np.array([(a - b) / np.hypot(e, s) for a, b, e, s in rows])


def agrees_with_halves(answer):
    """Whether its Π is as near to the refits of "halves" as the errors say."""
    return np.sqrt(np.mean(off(answer, *seen_of("halves"))[0] ** 2)) < 1.45


@pytest.mark.parametrize("name", FITS)
def test_it_agrees_with_many_more_refits(name):
    """In standard errors of both; a refit counts for two plain ones at least."""
    answer = answered(name)
    z = off(answer, *seen_of(name))
    assert np.sqrt(np.mean(z**2, axis=1)).max() < 1.45 and np.abs(z).max() < 5.5
    assert answer.Pi_se.max() <= 0.02
    if name != "in blocks":
        assert answer.gain > 2 and answer.worth > 800


def test_rows_are_counted_where_a_few_hold_most(monkeypatch):
    seen = []
    counting = lambda fit, *how, **more: seen.append(fit) or counted(fit, *how, **more)
    monkeypatch.setattr(room, "counted", counting)
    for name, times in (("labels", 0), ("counts", 1)):
        refined(fitted(name), None, 10, progress=False)
        assert len(seen) == times


def test_survival_times_are_refitted_by_cox_fits():
    rng = np.random.default_rng(1)
    time, event = rng.exponential(np.exp(-0.3 * Y)), 1.0 * (rng.random(M) < 0.8)
    few = slice(0, 12)
    told = dict(prior=lasso(0.8), counts=HALF)
    fit, baseline = survival_fit(A[:, few], time, event, **told)
    answer = refined(fit, None, 100, baseline=baseline, progress=False)
    assert answer.gain > 1.5 and answer.n_refits == 100
    z = off(answer, *seen(fit, 200, baseline=baseline))
    assert np.sqrt(np.mean(z[:2] ** 2)) < 1.5


@pytest.mark.parametrize("rows", [M, 20])
@pytest.mark.parametrize("name", ["halves", "groups", "labels"])
def test_fields_move_as_the_coupling_says(name, rows):
    """`linear-response` against the coupling itself, a row's message pushed."""
    if name == "groups":
        fit = rvamp(
            A[:rows], Y[:rows], prior=lasso(2.5), counts=Grouped(HALF, GROUPS[:rows])
        )
    elif name == "labels":
        parts = dict(likelihood=Logistic(), intercept=True)
        labels = 1.0 * (np.arange(rows) % 2 == 0)
        fit = rvamp(A[:rows], labels, prior=lasso(0.6), counts=HALF, **parts)
    else:
        fit = rvamp(A[:rows], Y[:rows], prior=lasso(2.5), counts=HALF)
    last, fields = fit.last, []
    ask = getattr(last.likelihood_message, "coupled", None)
    for force in (1.0, -1.0):
        said = last.likelihood_message
        said = said._replace(h=said.h + force * (np.arange(rows) == 3))
        out = (
            said.coupled(fit.problem.A, last.prior_message)
            if ask
            else couple(fit.problem.A, last.prior_message, said)
        )
        fields.append(out.to_prior.h[: len(fit.mean)])
    slope = (fields[0] - fields[1]) / 2
    W = room.field_of(fit).W
    np.testing.assert_allclose(W[3], slope, atol=2e-3 * np.abs(slope).max())


def test_the_mean_force_of_a_row_is_nothing():
    """The law's mean of n(c) is 0: laws of one and of many values, and blocks."""
    for counts in (HALF, Poisson(0.5), Exponential(1.0), Grouped(HALF, GROUPS)):
        fit = rvamp(A, Y, prior=lasso(1.5), counts=counts)
        c, w = (getattr(counts, "alone", counts)).nodes()
        says = room.row_says(fit, c)
        force = np.array([says.at(np.full((1, M), value))[0] for value in c])
        np.testing.assert_allclose(w @ force, 0, atol=1e-3 * np.abs(force).max())


def test_what_is_said_is_a_truncated_gaussian():
    """Π, mean and mean square by two million draws."""
    rng = np.random.default_rng(0)
    field = room.Field(None, np.array([2.0]), np.array([0.7]), None)
    shift, rest = np.array([[0.4]]), np.array([0.8])
    t, k = np.array([[0.9]]), np.array([[0.5]])
    h = 1.1 + 0.8 * rng.normal(size=2_000_000)
    for positive in (False, True):
        x = np.sign(h) * np.maximum(np.abs(h) - 0.9, 0) / 2.5
        x = np.maximum(x, 0) if positive else x
        found = room.what_it_says(field, shift, rest, t, k, positive)[:, 0, 0]
        by_hand = [(x != 0).mean(), x.mean(), (x**2).mean()]
        np.testing.assert_allclose(found, by_hand, rtol=4e-3)


def test_a_control_is_without_bias_whatever_it_says():
    """A control that is nonsense, and one that knows half of it."""
    rng = np.random.default_rng(0)
    truth = rng.uniform(0.1, 0.9, 40)
    known, errors, claimed = rng.random((200, 60, 40)) < 0.5, {}, {}
    for name, expected in (("half", 0.5), ("nonsense", 0.5)):
        values = []
        for says in known:
            heard = says if name == "half" else rng.random(says.shape) < 0.5
            P = np.clip(
                truth + 0.4 * np.minimum(truth, 1 - truth) * (2 * says - 1), 0, 1
            )
            Z = 1.0 * (rng.random(says.shape) < P)
            unit = truth * (1 - truth)
            given = np.full(40, expected), np.zeros(40)
            found = room.controlled(Z, 1.0 * heard, *given, unit)
            values.append(found.value)
            claimed.setdefault(name, []).append(found.square_error)
        values = np.array(values)
        assert np.abs(values.mean(0) - truth).max() < 5 * 0.5 / np.sqrt(60 * 200)
        errors[name] = values.var(0).mean()
        assert np.mean(claimed[name]) == pytest.approx(errors[name], rel=0.08)
    assert errors["half"] < 0.97 * errors["nonsense"]


def test_the_error_holds_that_of_the_mean_of_what_is_said():
    """A control that knows it all but for its mean: g by hand, and both errors."""
    Z, B = np.tile([[0.0], [1.0]], (50, 3)), 100
    unit, at = np.full(3, 0.25), np.full(3, 0.5)
    for error in (0.0, 1e-4, 1e-2):
        found = room.controlled(Z, Z, at, np.full(3, error), unit)
        g = 25 / (25 + B * B * error)
        left = (1 - g) ** 2
        var = (left * 25 + room.MADE_UP * max(left, 0.05) * 0.25) / (B + 2)
        np.testing.assert_allclose(found.square_error, var / B + g * g * error)
        assert found.left == pytest.approx(left, abs=1e-12)


def test_many_refits_do_not_lean_on_a_mean_of_few_counts():
    """Never worse than the refits alone, however many there are."""
    fit = fitted("halves")
    alone = []
    for n in (200, 6000):
        answer = refined(fit, None, n, progress=False)
        share = (answer.draws != 0).mean(0)
        alone.append(np.sqrt(share * (1 - share) / n).max())
        assert answer.Pi_se.max() < 1.05 * alone[-1]


def test_rvamp_is_believed_as_far_as_the_refits_bear_it_out():
    rng = np.random.default_rng(1)
    truth = rng.uniform(0.05, 0.95, 300)
    unit = truth * (1 - truth)
    kappas = []
    for worth in (20, 400, 8000):
        own = truth + np.sqrt(unit / worth) * rng.normal(size=300)
        seen = truth + np.sqrt(unit / 200) * rng.normal(size=300)
        mean = room.Mean(seen, unit / 200, 1.0)
        value, error, kappa = room.shrunk(mean, own, unit, unit > 0, own > 1, 200)
        best = np.mean(unit) / (200 + worth)
        assert np.mean((value - truth) ** 2) < 1.35 * best
        assert np.mean(np.abs(value - truth) < 1.96 * error) > 0.92
        kappas.append(kappa)
    assert kappas == sorted(kappas)
    own = truth + 0.4 * (np.arange(300) == 7)
    mean = room.Mean(truth, unit / 200, 1.0)
    value, error, _ = room.shrunk(mean, own, unit, unit > 0, own > 1, 200)
    assert abs(value[7] - truth[7]) < 2 * error[7] < 0.1  # one feature is not believed


def few_strong(B=200):
    """Refits of 300 weak features and 4 strong ones, all independent, and rVAMP's Π,
    right for the weak ones.
    """
    rng = np.random.default_rng(3)
    truth = np.append(rng.uniform(0.005, 0.1, 300), [0.9, 0.92, 0.93, 0.95])
    own = truth + np.where(truth > 0.5, 0.03, 0.0)
    while True:
        yield truth, own, 1.0 * (rng.random((B, len(truth))) < truth)


def test_weak_features_do_not_vouch_for_strong_ones():
    inside = []
    for _, (truth, own, Z) in zip(range(40), few_strong()):
        none = np.zeros((3, *Z.shape)), *np.zeros((2, 3, len(truth)))
        theirs = np.array([own, own, own * (1 - own)])
        values, errors, *_ = room.together(theirs, Z, *none)
        inside.append(np.abs(values[0] - truth)[-4:] < 1.96 * errors[0][-4:])
    assert np.mean(inside) > 0.65  # .41 where all learn from all


def test_a_feature_that_every_refit_selects_is_not_sure():
    truth = np.append(np.random.default_rng(4).uniform(0.05, 0.5, 100), 0.99)
    Z = 1.0 * (np.random.default_rng(5).random((200, 101)) < truth)
    Z[:, -1] = 1
    none = np.zeros((3, *Z.shape)), *np.zeros((2, 3, 101))
    theirs = np.array([truth, truth, truth * (1 - truth)])
    _, errors, *_ = room.together(theirs, Z, *none)
    assert errors[0][-1] > 0.0015  # .001 with no more made-up refits than at 1/2


def test_refits_go_on_until_all_together_are_worth_enough():
    fit = fitted("halves")
    for accuracy in (0.01, 0.02):
        answer = refined(fit, accuracy, progress=False)
        assert answer.worth > 0.6 / accuracy**2
    least = refined(fit, 0.1, progress=False)
    assert least.n_refits == room.FIRST and least.Pi_se.max() < 0.1


@pytest.mark.parametrize("columns, n_refits", [(32, 400), (33, 200)])
def test_where_nothing_is_selected_the_first_refits_do(columns, n_refits):
    X = np.random.default_rng(3).normal(size=(M, columns))
    empty = rvamp(X, Y, prior=Laplace(1000.0, Fixed()), counts=HALF)
    answer = refined(empty, progress=False)
    assert empty.Pi.sum() < 1e-4 and not answer.draws.any()
    assert answer.n_refits == n_refits


def test_refits_are_those_of_the_naive_bootstrap():
    fit = fitted("halves")
    answer = refined(fit, None, 30, seed=5, progress=False)
    told = dict(counts=HALF, randomise=Fixed(), seed=5, n_resamples=30)
    brute = naive_bootstrap(A, Y, 1.5, keep=range(N), progress=False, **told)
    np.testing.assert_allclose(answer.draws, brute.draws, atol=1e-8)


def test_no_resample_is_drawn_twice():
    """Neither by a later batch, nor for what is said of all of them."""
    fit = fitted("halves")
    few = refined(fit, None, 200, progress=False)
    many = refined(fit, None, 550, progress=False)  # in two batches
    np.testing.assert_array_equal(many.draws[:200], few.draws)
    drawn = many.draws[many.draws.any(1)].round(6)
    assert len(np.unique(drawn, axis=0)) == len(drawn) > 500
    law = room.resamples(fit, range(50), [0, 1])[0]
    assert not np.array_equal(law, room.resamples(fit, range(50), 0)[0])


def test_the_same_numbers_every_time_and_other_ones_by_another_seed():
    fit = fitted("the paper's")
    one, two, other = (refined(fit, 0.03, seed=k, progress=False) for k in (3, 3, 4))
    np.testing.assert_array_equal(one.Pi, two.Pi)
    assert not np.array_equal(one.Pi, other.Pi)


def test_a_counted_fit_is_used_as_it_is():
    fit = fitted("halves")
    rows = counted(fit, 2)
    ones = refined(rows, None, 200, progress=False)
    close = with_blocks(fit, [[0, 1, 2]])
    both = (
        refined(what, None, 200, progress=False) for what in (close, counted(close))
    )
    for answer in (ones, *both):
        np.testing.assert_array_equal(ones.draws, answer.draws)
        assert answer.gain > 2 and agrees_with_halves(answer)


def test_what_is_sometimes_0_has_a_spread():
    """Also where the law of rVAMP's own mean square is off, and the difference of mean
    square and squared mean below 0; not more than rVAMP or the refits have.
    """
    rng = np.random.default_rng(0)
    x = (rng.random((400, 9)) < 0.02) * rng.normal(0.1, 0.02, (400, 9))
    x[:, 0] = rng.normal(1, 0.1, 400)
    plain = np.array([(x != 0).mean(0), x.mean(0), x.var(0)])
    said = 0.2 * np.stack([x != 0, x, x**2]) * rng.uniform(0.5, 1, (3, 400, 9))
    expected = said.mean(1) - [[0.002], [0.0002], [0.0008]]
    values, errors = room.together(plain, x, said, expected, np.zeros((3, 9)))[:2]
    Pi, mean, var = values
    doubt = (Pi > 0) & (Pi < 1)
    assert doubt[1:].all() and (var[doubt] > 0).all() and (errors >= 0).all()
    least = mean**2 * (1 - Pi) / Pi
    assert (var >= np.minimum(least, plain[2]) * (1 - 1e-9)).all()
    assert (var <= 2 * plain[2]).all() and abs(var[0] / plain[2, 0] - 1) < 0.1


def test_refits_that_fail_are_left_out_and_named(monkeypatch):
    fit = fitted("halves")

    def some(*_):
        def again(counts, factor):
            x, intercept = refitter(fit)(counts, factor)
            x[::50] = np.nan
            return x, intercept

        return again

    monkeypatch.setattr(room, "refitter", some)
    answer = refined(fit, None, 200, progress=False)
    assert answer.n_refits == 196 and answer.failed == 4
    assert "4 more did not arrive" in answer.status
    assert agrees_with_halves(answer)


def test_nothing_is_lost_when_it_is_interrupted(monkeypatch):
    fit, made = fitted("halves"), []

    def impatient(*_):
        def again(counts, factor):
            made.append(len(counts))
            if len(made) == 2:
                raise KeyboardInterrupt
            return refitter(fit)(counts, factor)

        return again

    monkeypatch.setattr(room, "refitter", impatient)
    answer = refined(fit, 0.001, progress=False)
    assert answer.interrupted and answer.n_refits == 2 * room.FIRST
    assert "interrupted" in answer.status
    made.append(0)
    made[:] = [0]
    with pytest.raises(KeyboardInterrupt):  # before there are any
        refined(fit, progress=False)


def test_a_fit_that_has_not_converged_leaves_the_refits_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = rvamp(A, Y, prior=lasso(1.5), counts=HALF, max_iter=1)
    answer = refined(fit, 0.03, progress=False)
    assert answer.kappa == 0 and answer.gain == 1
    np.testing.assert_allclose(answer.Pi, (answer.draws != 0).mean(0))
    assert agrees_with_halves(answer)


def test_a_budget_that_does_not_reach_says_what_would():
    answer = refined(fitted("halves"), 0.004, 250, progress=False)
    assert answer.n_refits == 250 and "0.004 would take some" in answer.status
    assert answer.Pi_se.max() > 0.004 and not answer.interrupted


@pytest.mark.parametrize("counts", [NoResampling(), HALF])
def test_where_nothing_is_in_doubt(counts):
    """Two features that stand out, or nothing that is random."""
    y = 60 * A[:, 0] - 50 * A[:, 1]
    fit = rvamp(A, y, prior=lasso(8.0), counts=counts)
    answer = refined(fit, progress=False)
    sure = answer.Pi_se < 1e-3
    np.testing.assert_allclose(answer.Pi[sure], fit.Pi[sure].round(), atol=2e-3)
    assert sure.sum() > 20 and np.isfinite(answer.var_se).all()


def test_units_change_nothing_but_units():
    large = rvamp(1e5 * A, 1e3 * Y, prior=lasso(1.5e8), counts=HALF)
    one, two = answered("halves"), refined(large, progress=False)
    np.testing.assert_allclose(two.Pi, one.Pi, atol=1e-5)
    np.testing.assert_allclose(1e2 * two.mean_se, one.mean_se, rtol=1e-3)
    np.testing.assert_allclose(1e4 * two.var, one.var, rtol=1e-3, atol=1e-6)


def test_intervals_and_what_they_are_worth():
    answer = answered("halves")
    low, high = answer.interval().T
    inside = (answer.Pi > 0.1) & (answer.Pi < 0.9)
    width = (high - low)[inside] / answer.Pi_se[inside]
    np.testing.assert_allclose(width, 2 * 1.959964, rtol=1e-5)
    assert low.min() >= 0 and high.max() <= 1
    noise = np.sum(answer.Pi * (1 - answer.Pi))
    assert answer.worth == pytest.approx(noise / np.sum(answer.Pi_se**2))
    assert repr(answer) == f"Refined({answer.status})"


class Drawn:
    """Halves whose draws are something else."""

    mean, var = 0.5, 0.25

    def __init__(self, draw):
        self.draw = draw

    def nodes(self):
        return HALF.nodes()


@pytest.mark.parametrize(
    "draw, words",
    [
        (lambda M, rng: -np.ones(M), "must draw numbers >= 0, and drew -1"),
        (lambda M, rng: np.ones(M - 1), "must draw .* array of shape"),
        (lambda M, rng: np.full(M, np.inf), "NaN or infinite"),
        (lambda M, rng: "half", "counts: a draw of"),
    ],
)
def test_a_law_that_draws_nonsense_is_refused(draw, words):
    fit = rvamp(A, Y, prior=lasso(1.0), counts=Drawn(draw))
    with pytest.raises((TypeError, ValueError), match=words):
        refined(fit)


class Own(Logistic):
    """A loss of one's own."""


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda fit: refined("fit"), "from rvamp or counted"),
        (lambda fit: refined(fit, 0), "accuracy"),
        (lambda fit: refined(fit, -0.1), "accuracy"),
        (lambda fit: refined(fit, 0.7), "accuracy"),
        (lambda fit: refined(fit, "0.1"), "accuracy"),
        (lambda fit: refined(fit, None), "n_refits"),
        (lambda fit: refined(fit, n_refits=9), "n_refits"),
        (lambda fit: refined(fit, n_refits=20.5), "n_refits"),
        (lambda fit: refined(fit, seed=-1), "seed"),
        (lambda fit: refined(fit, seed="one"), "seed must be an integer"),
        (lambda fit: refined(rvamp(A, Y, 1.0, beta=2.0)), "beta = inf.* not 2"),
        (lambda fit: refined(fit, baseline=5), "baseline must be the Baseline .* 5"),
        (lambda fit: refined(fit, baseline=Baseline), "not the class Baseline"),
        (
            lambda fit: refined(fit, baseline=Baseline(Y - Y.min(), LABELS)),
            "baseline must be the Baseline .* events differ",
        ),
        (lambda fit: refined(rvamp(A, Y, prior=Ridge(1.0), counts=HALF)), "Ridge"),
        (
            lambda fit: refined(
                rvamp(A, LABELS, prior=lasso(0.5), counts=HALF, likelihood=Own())
            ),
            "Own",
        ),
        (lambda fit: answered("halves").interval(1.0), "level"),
    ],
)
def test_what_cannot_be_is_refused(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call(fitted("halves"))


# The mean over the law ----------------------------------------------------------------


def moved(law, W, draws):
    """What these counts do to fields when each says c - 0.4 times a number of its own;
    and mean and cumulants by the room.
    """
    m, c = len(W), np.arange(0.0, 30.0)
    says = room.Says(c, (c[:, None] - 0.4) * np.linspace(0.5, 2.0, m))
    (pattern,) = room.patterns(law, m, np.zeros(0, dtype=int))
    unit, _ = room.units(law, m)
    found = room.cumulants(W, says, pattern, unit)
    return says.at(draws) @ W, found


def test_cumulants_are_those_of_all_resamples():
    """Halves of six rows, and of strata and of groups, each drawn once."""
    W = np.random.default_rng(3).normal(size=(6, 4))
    masks = (np.arange(64)[:, None] >> np.arange(6) & 1).astype(float)
    strata, groups = np.array([0, 0, 1, 1, 1, 1]), np.array([2, 0, 1, 1, 2, 0])
    halves = masks[masks.sum(1) == 3]
    each = masks[(masks[:, :2].sum(1) == 1) & (masks[:, 2:].sum(1) == 2)]
    of_groups = np.eye(3)[:, groups]  # one of three
    for law, draws in (
        (HALF, halves),
        (Stratified(HALF, strata), each),
        (Grouped(HALF, groups), of_groups),
    ):
        sums, (mean, two, *_) = moved(law, W, draws)
        np.testing.assert_allclose(mean, sums.mean(0), atol=1e-12)
        np.testing.assert_allclose(two, sums.var(0), atol=1e-12)


def test_cumulants_of_independent_counts_add_up():
    """Four draws of a law of three counts: all 81, with their probabilities."""
    c, p = np.array([0.0, 1.0, 4.0]), np.array([0.5, 0.3, 0.2])
    which = np.stack(np.meshgrid(*[range(3)] * 4), -1).reshape(-1, 4)
    chance, W = p[which].prod(1), np.random.default_rng(4).normal(size=(4, 3))
    sums, found = moved(Discrete(c, p), W, c[which])
    off = sums - chance @ sums
    two, three, four = (chance @ off**j for j in (2, 3, 4))
    by_hand = chance @ sums, two, three, four - 3 * two**2
    np.testing.assert_allclose(found, by_hand, atol=1e-12)
    # and in groups: two rows of one group have one count
    law = Grouped(Discrete(c, p), np.array([0, 0, 1, 1]))
    which = np.stack(np.meshgrid(*[range(3)] * 2), -1).reshape(-1, 2)
    sums, found = moved(law, W, c[which][:, [0, 0, 1, 1]])
    chance = p[which].prod(1)
    off = sums - chance @ sums
    np.testing.assert_allclose(found[1:3], [chance @ off**2, chance @ off**3])


def test_skewness_and_excess_do_what_their_series_says():
    """Integrals over the density that Edgeworth's series is the mean of."""
    skewness, excess = np.array([0.4]), np.array([-0.3])
    z, step = np.linspace(-12, 12, 400_001, retstep=True)
    hermite = np.polynomial.hermite_e.hermeval
    parts = [1, 0, 0, skewness[0] / 6, excess[0] / 24, 0, skewness[0] ** 2 / 72]
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * hermite(z, parts)
    field = room.Field(None, np.array([2.0]), np.array([0.7]), None)
    shift, rest = np.array([0.4]), np.array([0.8])
    t, k = np.array([0.9]), np.array([0.5])
    for positive in (False, True):
        h = 1.1 + 0.8 * z
        x = np.sign(h) * np.maximum(np.abs(h) - 0.9, 0) / 2.5
        x = np.maximum(x, 0) if positive else x
        given = shift, rest, t, k, positive, np.array([skewness, excess])
        found = room.what_it_says(field, *given)[:, 0]
        by_hand = [density @ part * step for part in (x != 0, x, x**2)]
        np.testing.assert_allclose(found, by_hand, atol=1e-5)


LAWS = {
    "halves": HALF,
    "Poisson": Poisson(0.7),
    "weights": Exponential(1.0),
    "groups": Grouped(HALF, GROUPS),
    "strata": Stratified(HALF, STRATA),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("rows", [0, 3])
def test_the_mean_over_the_law_is_that_of_many_draws(law, rows):
    """In errors of 8,000 draws and of what is claimed; the series far within."""
    fit = rvamp(A, Y, prior=Laplace(1.2, Weakness(0.5)), counts=LAWS[law])
    found = counted(fit, rows=rows) if rows else fit
    control, n = room.Control(found, 0), 8_000
    says = np.concatenate(
        [
            control.says(*room.resamples(fit, range(b, b + 1000), 77))
            for b in range(0, n, 1000)
        ],
        axis=1,
    )
    error = says.var(1) / n
    off = control.mean - says.mean(1)
    weights = (fit.var[control.kept] + 1e-6) ** -np.arange(3.0)[:, None]
    total = lambda part: (part * weights).sum(1)
    assert (total(off**2) < 2.5 * total(error + control.error)).all()
    assert (total(control.error) < total(says.var(1)) / 300).all()


def test_a_series_that_draws_do_not_bear_out_is_not_believed():
    """A row that holds most of the noise: the series is off, and the mean is not."""
    y = Y.copy()
    y[5] += 60.0
    fit = rvamp(A, y, prior=lasso(6.0), counts=HALF)
    control, n = room.Control(fit, 0), 20_000
    says = control.says(*room.resamples(fit, range(n), 77))[0]
    error = says.var(0).sum() / n
    series, mean = room._series(control)[0][0], control.mean[0]
    off = [np.sum((says.mean(0) - part) ** 2) for part in (series, mean)]
    assert off[0] > 20 * error and off[1] < off[0] / 5
    assert off[1] < 4 * (control.error[0].sum() + error)


class _Clock:
    """One in which a refit takes two seconds."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now


@pytest.mark.parametrize("seen", [False, True])
@pytest.mark.parametrize("progress", [False, True])
def test_what_takes_long_is_announced_where_no_bar_is_seen(
    seen, progress, monkeypatch, capsys
):
    clock, fit = _Clock(), fitted("halves")
    monkeypatch.setattr(room, "time", clock)
    monkeypatch.setattr(room, "watched", lambda: seen)
    monkeypatch.setattr(room, "AT_ONCE", 25 * len(fit.problem.y))
    job, made = room._job(fit, 0, None), []
    for numbers in room._in_turn(job, range(200, 400), progress):
        made.append(numbers)
        clock.now += 2 * len(numbers)
    assert [*np.concatenate(made)] == [*range(200, 400)] and len(made) == 8
    said = capsys.readouterr().err
    wanted = "25 of 200 refits are made, the others take some 350 seconds\n"
    assert said == (wanted if progress and not seen else "")


def test_refits_in_turn_are_those_at_once(monkeypatch):
    fit = fitted("halves")
    once = refined(fit, None, 60, progress=False)
    monkeypatch.setattr(room, "AT_ONCE", 20 * len(fit.problem.y))
    again = refined(fit, None, 60, progress=False)
    np.testing.assert_array_equal(once.draws, again.draws)
    np.testing.assert_allclose(once.Pi, again.Pi, rtol=1e-12)
