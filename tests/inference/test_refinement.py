"""Refits through the same messages: resamples at three levels and rVAMP, values and
standard errors, against many more refits.
"""

import warnings
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from cover import in_turn
from scipy.sparse import csr_array
from scipy.stats import binomtest, norm
from sklearn.datasets import load_breast_cancer
from truth.many_rows import make_many_rows_truth as many_rows
from truth.many_rows.make_many_rows_truth import seen

from rvamp_nb import (
    ElasticNet,
    Exponential,
    Grouped,
    Huber,
    Laplace,
    Logistic,
    NonNegative,
    NoResampling,
    Poisson,
    PoissonLoss,
    Ridge,
    SpikeSlab,
    Squared,
    StabilitySelection,
    Stratified,
    Subsample,
    TwoPoint,
    Weakness,
    WeightedLoss,
    naive_bootstrap,
    refine,
    rvamp,
)
from rvamp_nb.algorithm.cluster_channel import field_of
from rvamp_nb.algorithm.column_groups import GroupLasso
from rvamp_nb.algorithm.lmmse import couple_rows
from rvamp_nb.algorithm.solver import with_clusters
from rvamp_nb.course.survival import survival_fit
from rvamp_nb.inference import batch_glm, refits, turns
from rvamp_nb.inference import refinement as room
from rvamp_nb.inference.baseline import BaselineHazard
from rvamp_nb.inference.batch_glm import penalised_fit
from rvamp_nb.inference.levels import count_interval, level_mean, towards_rvamp
from rvamp_nb.inference.refits import refitter
from rvamp_nb.select import wording
from rvamp_nb.select.report import settings
from rvamp_nb.tables import ChunkedTable

M, N = 60, 30
RNG = np.random.default_rng(0)
A = RNG.normal(size=(M, N))
A = (A - A.mean(0)) / np.linalg.norm(A - A.mean(0), axis=0)
Y = A[:, :4] @ [6.0, 5.0, 4.0, 3.0] + RNG.normal(size=M)
GROUPS, STRATA = np.repeat(np.arange(20), 3), np.arange(M) % 3 > 0
HALF = Subsample(0.5)
LABELS, EVENTS = 1.0 * (Y > 0), RNG.poisson(np.exp(0.3 * Y)).astype(float)
WEIGHTED = WeightedLoss(Squared(), RNG.uniform(0.5, 2, M), 0.3 * RNG.normal(size=M))


def lasso(lam, **more):
    return Laplace(lam, **more)


def logistic(counts):
    parts = dict(loss=Logistic(), intercept=True)
    return rvamp(A, LABELS, prior=lasso(0.5), resampling=counts, **parts)


FITS = {
    "halves": lambda: rvamp(A, Y, prior=lasso(1.5), resampling=HALF),
    "the paper's": lambda: rvamp(A, Y, prior=Laplace(1.2), resampling=Poisson(0.5)),
    "weakness": lambda: rvamp(A, Y, prior=Laplace(1.2, Weakness(0.4)), resampling=HALF),
    "weights": lambda: rvamp(A, Y, prior=lasso(2.5), resampling=Exponential(1.0)),
    "groups": lambda: rvamp(A, Y, prior=lasso(1.5), resampling=Grouped(HALF, GROUPS)),
    "strata": lambda: rvamp(
        A, Y, prior=lasso(1.5), resampling=Stratified(HALF, STRATA)
    ),
    "elastic net": lambda: rvamp(
        A, Y, prior=ElasticNet(1.5, l1_ratio=0.7), resampling=HALF
    ),
    "non-negative": lambda: rvamp(A, Y, prior=NonNegative(1.5), resampling=HALF),
    "a covariate": lambda: rvamp(
        A, Y, prior=lasso(1.5, penalty_factor=1.0 * (np.arange(N) > 0)), resampling=HALF
    ),
    "labels": lambda: logistic(HALF),
    "labels in groups": lambda: logistic(Grouped(HALF, GROUPS)),
    "counts": lambda: rvamp(
        A, EVENTS, prior=lasso(2.0), resampling=HALF, loss=PoissonLoss(), intercept=True
    ),
    "Huber": lambda: rvamp(
        A, Y, prior=lasso(1.0), resampling=HALF, loss=Huber(1.0), intercept=True
    ),
    "sigma": lambda: rvamp(
        A, Y, prior=lasso(1.5 / 4), resampling=HALF, loss=Squared(2.0)
    ),
    "rows of weights": lambda: rvamp(
        A, Y, prior=lasso(1.5), resampling=HALF, loss=WEIGHTED
    ),
    "in blocks": lambda: rvamp(
        ChunkedTable(A, chunk_size=10), Y, prior=lasso(1.5), resampling=HALF
    ),
}


@cache
def fitted(name):
    return FITS[name]()


@cache
def answered(name):
    return refine(fitted(name), verbose=False)


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
    """In standard errors of both."""
    answer = answered(name)
    z = off(answer, *seen_of(name))
    assert np.sqrt(np.mean(z**2, axis=1)).max() < 1.45 and np.abs(z).max() < 5.5
    assert answer.Pi_se.max() <= 0.02 and answer.equivalent_refits > 800
    assert answer.refit_efficiency > 0.5 and 60 <= answer.n_exact <= answer.n_resamples


def test_survival_times_are_refitted_by_cox_fits():
    rng = np.random.default_rng(1)
    time, event = rng.exponential(np.exp(-0.3 * Y)), 1.0 * (rng.random(M) < 0.8)
    few = slice(0, 12)
    given = dict(prior=lasso(0.8), resampling=HALF)
    fit, baseline = survival_fit(A[:, few], time, event, **given)
    answer = refine(fit, baseline=baseline, verbose=False)
    z = off(answer, *seen(fit, 1000, baseline=baseline))
    assert np.sqrt(np.mean(z[:2] ** 2)) < 1.45 and answer.equivalent_refits > 800
    # with hazards of their own turns are nearly Cox fits, and few of these are needed
    assert 60 <= answer.n_exact < 200 <= answer.n_resamples
    counts, factor = room.resamples(fit, range(10), 0)
    x, level = refitter(fit, baseline)(counts, factor)
    np.testing.assert_allclose(answer.draws[:10], x, atol=1e-7)
    np.testing.assert_allclose(answer.intercepts[:10], level, atol=1e-7)
    samples = room.Samples(fit, None, 0, baseline)
    samples.grow((30, 30, 30), False)
    settled, exact = samples.settled.toarray(), samples.exact.toarray()
    near = settled[:, -1] - exact[:, -1]
    assert np.sqrt(np.mean(near**2)) < 0.2 * np.std(exact[:, -1])


@pytest.mark.parametrize("rows", [M, 20])
@pytest.mark.parametrize("name", ["halves", "groups", "labels"])
def test_fields_move_as_the_coupling_says(name, rows):
    """`linear-response` against the coupling itself, a row's message pushed."""
    if name == "groups":
        fit = rvamp(
            A[:rows],
            Y[:rows],
            prior=lasso(2.5),
            resampling=Grouped(HALF, GROUPS[:rows]),
        )
    elif name == "labels":
        parts = dict(loss=Logistic(), intercept=True)
        labels = 1.0 * (np.arange(rows) % 2 == 0)
        fit = rvamp(A[:rows], labels, prior=lasso(0.6), resampling=HALF, **parts)
    else:
        fit = rvamp(A[:rows], Y[:rows], prior=lasso(2.5), resampling=HALF)
    last, fields = fit.last, []
    for force in (1.0, -1.0):
        said = last.likelihood_message
        said = said._replace(h=said.h + force * (np.arange(rows) == 3))
        out = couple_rows(said, fit.problem.A, last.prior_message)
        fields.append(out.to_prior.h[: len(fit.mean)])
    slope = (fields[0] - fields[1]) / 2
    W = field_of(fit).W
    np.testing.assert_allclose(W[3], slope, atol=2e-3 * np.abs(slope).max())


def says(p, noises, sizes, rng):
    """What resamples give at three levels, the first two with errors."""
    latent = rng.normal(size=(max(sizes), len(p)))
    cut = norm.ppf(1 - p)
    parts = []
    for s, n in zip((*noises, 0), sizes):
        noise = s * rng.normal(size=(n, len(p))) if s else 0.0
        parts.append(1.0 * (latent[:n] + noise > cut))
    return parts


@pytest.mark.parametrize("noises", [(0.5, 0.1), (3.0, 0.05), (0.0, 0.0), (0.5, 1.0)])
def test_each_level_enters_value_and_error(noises):
    rng, p = np.random.default_rng(0), np.linspace(0.1, 0.9, 20)
    unit, sizes = p * (1 - p), (1200, 400, 80)
    found = [level_mean(*says(p, noises, sizes, rng), unit) for _ in range(200)]
    off = np.array([mean.value for mean in found]) - p
    claimed = np.mean([mean.square_error for mean in found])
    assert np.abs(off.mean(0)).max() < 5 * np.sqrt(off.var(0).max() / 300) + 2e-3
    assert claimed == pytest.approx(off.var(0).mean(), rel=0.2)
    if noises == (0.0, 0.0):  # the first level knows it all: 1,200 exact ones
        assert claimed < unit.mean() / 1000
    held = np.abs(off) < 1.96 * np.sqrt([mean.square_error for mean in found])
    assert 0.925 < held.mean() < 0.98


def test_where_levels_differ_seldom_no_error_is_nothing():
    """Four differences in a hundred exact refits of fifty features."""
    rng = np.random.default_rng(1)
    settled = 1.0 * (rng.random((1000, 50)) < 0.3)
    exact = settled[:100].copy()
    exact[[1, 5, 9, 70], [3, 8, 8, 40]] = 1 - exact[[1, 5, 9, 70], [3, 8, 8, 40]]
    mean = level_mean(settled, settled, exact, np.full(50, 0.21))
    alone = level_mean(settled, settled, settled[:100], np.full(50, 0.21))
    more = mean.square_error - alone.square_error
    assert alone.parts[0] == 0 and (alone.square_error > 0).all()
    assert more.mean() == pytest.approx(4 / 50 / 100**2, rel=0.1)
    assert more[[3, 8, 40]].min() > 5e-5


@pytest.mark.parametrize("shape", [(60, 30), (40, 2000)])
def test_sparse_levels_give_what_arrays_give(shape):
    """Shares and moments of all columns at once, and of some at a time, the intercept
    and strong coefficients among them.
    """
    rng, sizes = np.random.default_rng(5), (900, 300, 60)
    x = rng.normal(size=(900, shape[1])) * (rng.random((900, shape[1])) < 0.03)
    x[:, 0] = 1e4 + rng.normal(size=900)
    few, settled, exact = (
        (x + s * rng.normal(size=x.shape) * (x != 0))[:n]
        for s, n in zip((0.3, 0.1, 0), sizes)
    )
    sparse = [csr_array(v).tocsc() for v in (few, settled, exact)]
    unit = rng.uniform(0.5, 2, shape[1])
    plain = [1.0 * (v != 0) for v in (few, settled, exact)]
    shares = [csr_array(v).tocsc() for v in plain]
    square = lambda v, at: v[:, at].toarray() ** 2
    for (a, b, c), given, look in (
        (plain, shares, None),
        ([v**2 for v in (few, settled, exact)], sparse, square),
    ):
        whole, again = (level_mean(a, b, c, unit), level_mean(*given, unit, look))
        for one, other in zip(whole, again):
            np.testing.assert_allclose(other, one, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    "name", ["halves", "the paper's", "weights", "groups", "strata"]
)
def test_a_resample_depends_on_its_number_alone(name):
    fit = fitted(name)
    whole = room.resamples(fit, range(100), 3)
    for numbers in (range(20), range(31, 33), range(64, 100), range(7, 70)):
        for part, draws in zip(room.resamples(fit, numbers, 3), whole):
            np.testing.assert_array_equal(part, draws[numbers.start : numbers.stop])
    assert len(np.unique(whole[0], axis=0)) == 100


def test_rvamps_answer_enters_as_far_as_it_is_borne_out():
    rng, n = np.random.default_rng(2), 100
    truth = rng.uniform(0.1, 0.9, n)
    unit, s2 = truth * (1 - truth), 1 / 1500
    error, selected = unit * s2, rng.random((1000, n)) < truth
    for worth, most in ((40, 1.05), (1500, 0.75), (100_000, 0.15)):
        inside, square = [], []
        for _ in range(60):
            own = truth + np.sqrt(unit / worth) * rng.normal(size=n)
            value = truth + np.sqrt(error) * rng.normal(size=n)
            v, e = towards_rvamp(value, error, own, unit, selected)
            square.append(np.mean((v - truth) ** 2 / unit) / s2)
            inside.append(np.abs(v - truth) < 1.96 * np.sqrt(e))
        assert np.mean(square) < most and 0.93 < np.mean(inside) < 0.995
    three = truth[:3], unit[:3], selected[:, :3]
    shares = truth[:3] + [0.03, -0.02, 0.02]
    value, _ = towards_rvamp(shares, error[:3], *three)
    assert np.abs(value - shares).max() < 0.1 * np.abs(shares - truth[:3]).min()


def test_a_feature_whose_resamples_contradict_rvamp_keeps_the_refits_answer():
    rng, n = np.random.default_rng(3), 200
    truth = rng.uniform(0.1, 0.9, n)
    selected = rng.random((1000, n)) < truth
    unit = truth * (1 - truth)
    error = unit / 1500
    for away in (0.4, 4 * np.sqrt(error[7])):
        own = truth + away * (np.arange(n) == 7)
        value, claimed = towards_rvamp(truth, error, own, unit, selected)
        assert value[7] == truth[7] and claimed[7] == error[7]
        others = np.delete(claimed / error, 7)
        assert np.median(others) < 0.95


def test_a_few_features_do_not_vouch_for_rvamp():
    """Of eight one may have all of rVAMP's error, and the same for every seed."""
    rng, p = np.random.default_rng(6), np.linspace(0.1, 0.45, 8)
    unit, own, held = p * (1 - p), p.copy(), []
    own[3] -= 2.4 * np.sqrt(unit[3] / 1500)
    for _ in range(300):
        selected = rng.random((1500, 8)) < p
        share = selected.mean(0)
        value, error = towards_rvamp(share, unit / 1500, own, unit, selected)
        held.append(np.abs(value - p) < 1.96 * np.sqrt(error))
    assert np.mean(held, axis=0).min() > 0.92


@pytest.mark.parametrize("worth", [1500, 6000])
def test_of_a_dozen_features_rvamps_error_is_not_taken_for_less_than_it_may_be(worth):
    """A mean of twelve squares is often far below what it estimates."""
    rng, p = np.random.default_rng(1), np.linspace(0.1, 0.45, 12)
    unit, held = p * (1 - p), []
    for _ in range(400):
        own = p + np.sqrt(unit / worth) * rng.normal(size=12)
        selected = rng.random((1500, 12)) < p
        share = selected.mean(0)
        value, error = towards_rvamp(share, unit / 1500, own, unit, selected)
        held.append(np.abs(value - p) < 1.96 * np.sqrt(error))
    assert np.mean(held) > 0.93


def test_the_error_of_a_rare_feature_is_that_of_the_refits():
    rng = np.random.default_rng(7)
    p = np.r_[rng.uniform(0.1, 0.5, 60), np.full(20, 0.004)]
    unit, selected = p * (1 - p), rng.random((1000, 80)) < p
    value, error = towards_rvamp(selected.mean(0), unit / 1000, p, unit, selected)
    np.testing.assert_array_equal(error[60:], unit[60:] / 1000)
    assert np.mean((value - p)[60:] ** 2) < 0.5 * np.mean(error[60:])


def levels(samples):
    """All three as arrays, the first level first."""
    return (x.toarray() for x in (samples.few, samples.settled, samples.exact))


def test_levels_are_nested_and_grow_without_being_made_again():
    fit = fitted("the paper's")
    own = np.array([fit.Pi, fit.mean, fit.var])
    once, twice = (room.Samples(fit, own, 4) for _ in range(2))
    once.grow((30, 120, 400), False)
    twice.grow((10, 40, 150), False)
    before = twice.settled.toarray()
    twice.grow((30, 120, 400), False)
    assert (once.done == twice.done).all() and (once.done == (30, 120, 400)).all()
    few, settled, exact = levels(once)
    np.testing.assert_array_equal(twice.settled.toarray()[:40], before)
    np.testing.assert_allclose(few, twice.few.toarray(), atol=1e-4)
    np.testing.assert_allclose(exact, twice.exact.toarray(), atol=1e-9)
    near = np.abs(exact - settled[:30]).max(1)
    assert np.median(near) < 0.02 * np.abs(exact).max()
    assert np.mean((few != 0)[:120] != (settled != 0)) < 0.15
    counts, factor = room.resamples(fit, range(30), 4)
    x, _ = refitter(fit)(counts, factor)
    np.testing.assert_allclose(exact[:, :-1], x, atol=1e-8)


@pytest.fixture
def fewer_are_many(monkeypatch):
    """Of 3,000 rows refits take half the time that they take of 5,000."""
    for counted in (room, batch_glm):
        monkeypatch.setattr(counted, "LONG", many_rows.ROWS)


@pytest.mark.parametrize("design", in_turn(["labels", "numbers"], 1))
def test_a_slice_of_the_refits_of_many_rows_is_made_again(design, fewer_are_many):
    (share, *now), _ = many_rows.seen(many_rows.fits()[design], many_rows.N_SLICE)
    (before, *then), _ = many_rows.kept(design, "slice")
    assert np.abs(share - before).max() <= 1 / many_rows.N_SLICE  # one at its edge
    for one, other in zip(now, then):
        np.testing.assert_allclose(one, other, atol=1e-4 * np.abs(other).max())


def test_the_refits_of_many_rows_are_a_slice_and_more_of_them():
    for design in ("labels", "numbers"):
        (part, noise), (whole, _) = (many_rows.kept(design, p) for p in ("slice", "x"))
        z = (part[0] - whole[0]) / noise[0]
        assert 0.5 < np.sqrt(np.mean(z**2)) < 1.5


def test_no_resample_of_many_rows_is_made_twice(fewer_are_many, monkeypatch):
    """Settled ones and few turns are the same there."""
    samples, made = room.Samples(many_rows.fits()["numbers"], None, 4), []
    draw = room.resamples
    monkeypatch.setattr(
        room, "resamples", lambda f, k, s: made.extend(k) or draw(f, k, s)
    )
    samples.grow((0, 20, 40), False)
    samples.grow((0, 60, 80), False)
    assert made == list(range(80))
    np.testing.assert_array_equal(samples.settled.toarray(), samples.few[:60].toarray())


def test_of_many_rows_a_few_exact_refits_suffice(fewer_are_many):
    """Of labels, one in ten, and of numbers; levels are nested there, too."""
    for design, fit in many_rows.fits().items():
        answer = refine(fit, verbose=False)
        # with few columns rVAMP is no help: sixty refits were enough where it was
        assert answer.n_exact <= 300 and answer.n_resamples > 2 * answer.n_exact
        assert answer.Pi_se.max() <= 0.02 and answer.equivalent_refits > 1400
        z = off(answer, *many_rows.kept(design))
        assert np.sqrt(np.mean(z**2, axis=1)).max() < 1.6 and np.abs(z).max() < 4.5
        samples = room.Samples(fit, None, 4)
        samples.grow((10, 20, 40), False)
        before = samples.few.toarray()
        samples.grow((12, 60, 50), False)
        assert (samples.done == (12, 60, 60)).all()
        few, settled, exact = (x[:, :-1] for x in levels(samples))
        before = before[:, :-1]
        np.testing.assert_allclose(few[:40], before, atol=1e-5 * np.abs(few).max())
        assert np.abs(exact - settled[:12]).max() < 0.2 * np.abs(exact).max()


def test_where_an_exact_refit_begins_moves_no_digit():
    """Squared loss, labels with an intercept, a covariate, survival."""
    for name in ("the paper's", "labels", "a covariate", "Huber", "in blocks"):
        fit = fitted(name)
        draw, again = room.resamples(fit, range(12), 1), refitter(fit)
        cold, level = again(*draw)
        cold = csr_array(cold).toarray()
        start = np.c_[cold, level] * np.random.default_rng(0).uniform(0.5, 1.5)
        for begin in (start, np.random.default_rng(1).normal(size=start.shape)):
            warm, other = again(*draw, begin)
            warm = csr_array(warm).toarray()
            np.testing.assert_allclose(warm, cold, atol=1e-7 * np.abs(cold).max())
            np.testing.assert_array_equal(warm != 0, cold != 0)
            np.testing.assert_allclose(other, level, atol=1e-6)


def test_a_column_that_rvamp_leaves_out_is_found_by_exact_refits(monkeypatch):
    """Turns that know four columns only: the exact ones correct what these miss."""
    fit = fitted("halves")
    monkeypatch.setattr(room, "active_set", lambda fit: np.arange(4))
    answer = refine(fit, verbose=False)
    z = off(answer, *seen_of("halves"))
    assert np.sqrt(np.mean(z[:2] ** 2)) < 1.6
    assert (answer.draws[:, 4:] != 0).any(0).sum() > 20
    assert np.mean(answer.Pi[4:] != fit.Pi[4:]) > 0.7


def test_a_coefficient_that_is_hardly_selected_has_the_moments_of_rvamp():
    fit, answer = fitted("halves"), answered("halves")
    events = np.count_nonzero(answer.draws, axis=0)
    rare = np.flatnonzero(events < room.FEW_SEEN - 1)
    for i in rare:
        assert answer.mean[i] == fit.mean[i] and answer.var[i] == fit.var[i] > 0


def test_refits_go_on_until_all_together_are_worth_enough():
    fit = fitted("halves")
    for accuracy in (0.01, 0.02):
        answer = refine(fit, accuracy, verbose=False)
        assert (
            answer.equivalent_refits > 0.6 / accuracy**2
            and answer.Pi_se.max() < accuracy
        )
    least = refine(fit, 0.1, verbose=False)
    assert least.n_resamples == room.FIRST[1] and least.n_exact == room.FIRST[0]
    assert f"{room.FIRST[1]} refits ({room.FIRST[0]} to full precision)" in least.status


def test_where_nothing_is_selected_the_first_refits_do():
    empty = rvamp(A, Y, prior=Laplace(1000.0), resampling=HALF)
    answer = refine(empty, verbose=False)
    assert empty.Pi.sum() < 1e-4 and not answer.draws.any()
    assert answer.n_resamples == room.FIRST[1]


class Replayed:
    """What has been drawn before, one row at a time."""

    def __init__(self, rows):
        self.rows = iter(rows)

    def draw(self, M, rng):
        return next(self.rows)


def test_refits_are_those_of_the_naive_bootstrap():
    fit = fitted("halves")
    answer = refine(fit, random_state=5, verbose=False)
    counts, _ = room.resamples(fit, range(30), 5)
    given = dict(resampling=Replayed(counts), n_resamples=30)
    brute = naive_bootstrap(A, Y, 1.5, keep=range(N), verbose=False, **given)
    np.testing.assert_allclose(answer.draws[:30], brute.draws, atol=1e-8)


def test_no_resample_is_drawn_twice():
    fit = fitted("halves")
    answer = refine(fit, None, 550, verbose=False)
    drawn = answer.draws[answer.draws.any(1)].round(6)
    assert len(np.unique(drawn, axis=0)) == len(drawn) > 500
    counts = room.resamples(fit, range(120), 0)[0]
    assert len(np.unique(counts, axis=0)) == 120
    assert not np.array_equal(counts, room.resamples(fit, range(120), 1)[0])


def test_the_same_numbers_every_time_and_other_ones_by_another_seed():
    fit = fitted("the paper's")
    one, two, other = (
        refine(fit, 0.03, random_state=k, verbose=False) for k in (3, 3, 4)
    )
    np.testing.assert_array_equal(one.Pi, two.Pi)
    assert not np.array_equal(one.Pi, other.Pi)


def test_a_fit_in_clusters_brings_its_own_answer():
    fit = fitted("halves")
    close = with_clusters(fit, [[0, 1, 2]])
    one, answer = (refine(f, None, 200, verbose=False) for f in (fit, close))
    np.testing.assert_allclose(one.draws, answer.draws, atol=1e-4)
    assert agrees_with_halves(answer)
    assert not np.array_equal(one.Pi, answer.Pi)


def test_what_is_sometimes_0_has_a_spread():
    """Ten fits with rare coefficients."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        X = rng.random((80, 40)) < 0.06
        y = X[:, :2] @ [3.0, 2.0] + rng.normal(size=80)
        fit = rvamp(1.0 * X, y - y.mean(), prior=lasso(4.0), resampling=HALF)
        answer = refine(fit, 0.04, verbose=False)
        Pi, var = answer.Pi, answer.var
        doubt = (Pi > 0) & (Pi < 1) & (fit.var > 0)
        assert doubt.any() and (var[doubt] > 0).all()


def test_refits_that_fail_are_left_out_and_named(monkeypatch):
    fit = fitted("halves")

    def some(*_):
        def again(counts, factor, start=None):
            x, intercept = refitter(fit)(counts, factor, start)
            x[::50] = np.nan
            return x, intercept

        return again

    monkeypatch.setattr(room, "refitter", some)
    answer = refine(fit, None, 200, verbose=False)
    assert answer.n_resamples == 198 and answer.n_failed == 2 and answer.n_exact == 58
    assert "2 more did not arrive" in answer.status
    assert np.isfinite(answer.draws).all() and agrees_with_halves(answer)
    assert answer.refit_efficiency > 1  # levels of the same resamples
    z = off(answer, *seen_of("halves"))
    assert np.sqrt(np.mean(z**2)) < 1.45


def test_nothing_is_lost_when_it_is_interrupted(monkeypatch):
    fit, rounds, grow = fitted("halves"), [], room.Samples.grow

    def impatient(samples, wanted, progress):
        rounds.append(wanted)
        if len(rounds) == 2:
            raise KeyboardInterrupt
        grow(samples, wanted, progress)

    monkeypatch.setattr(room.Samples, "grow", impatient)
    answer = refine(fit, 0.005, verbose=False)
    assert answer.interrupted and answer.n_resamples == room.FIRST[1]
    assert "interrupted" in answer.status
    rounds[:] = [0]
    with pytest.raises(KeyboardInterrupt):  # before there are any
        refine(fit, verbose=False)


def test_a_fit_that_has_not_converged_leaves_the_refits_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = rvamp(A, Y, prior=lasso(1.5), resampling=HALF, max_iter=1)
    answer = refine(fit, 0.03, verbose=False)
    assert answer.prior_refits == 0 and answer.n_exact == answer.n_resamples >= 200
    np.testing.assert_allclose(answer.Pi, (answer.draws != 0).mean(0), atol=1e-6)
    assert agrees_with_halves(answer)


@pytest.mark.parametrize("accuracy", [0.004, 0.02, 0.4])
@pytest.mark.parametrize("n", [10, 100, 250])
def test_so_many_refits_are_made_whatever_the_accuracy(accuracy, n):
    answer = refine(fitted("halves"), accuracy, n, verbose=False)
    assert answer.n_resamples + answer.n_failed == n and answer.accuracy is None
    assert "would take" not in answer.status and not answer.interrupted


@pytest.mark.parametrize("counts", [NoResampling(), HALF])
def test_where_nothing_is_in_doubt(counts):
    """Two features that stand out, or nothing that is random."""
    y = 60 * A[:, 0] - 50 * A[:, 1]
    fit = rvamp(A, y, prior=lasso(8.0), resampling=counts)
    answer = refine(fit, verbose=False)
    sure = answer.Pi_se < 1e-3
    np.testing.assert_allclose(answer.Pi[sure], fit.Pi[sure].round(), atol=2e-3)
    assert sure.sum() > 20 and np.isfinite(answer.var_se).all()


def test_units_change_nothing_but_units():
    large = rvamp(1e5 * A, 1e3 * Y, prior=lasso(1.5e8), resampling=HALF)
    one, two = answered("halves"), refine(large, verbose=False)
    np.testing.assert_allclose(two.Pi, one.Pi, atol=1e-5)
    np.testing.assert_allclose(1e2 * two.mean_se, one.mean_se, rtol=1e-3)
    np.testing.assert_allclose(1e4 * two.var, one.var, rtol=1e-3, atol=1e-6)


def test_intervals_and_what_they_are_worth():
    answer = answered("halves")
    low, high = answer.interval().T
    inside = (answer.Pi > 0.1) & (answer.Pi < 0.9)
    width = (high - low)[inside] / answer.Pi_se[inside]
    # a count law is wider by half a refit at each end
    np.testing.assert_allclose(width, 2 * 1.959964, rtol=0.03)
    assert low.min() >= 0 and high.max() <= 1
    assert ((low <= answer.Pi) & (answer.Pi <= high)).all()
    noise = np.sum(answer.Pi * (1 - answer.Pi))
    assert answer.equivalent_refits == pytest.approx(noise / np.sum(answer.Pi_se**2))
    assert repr(answer) == f"RefinedFit({answer.status})"


@pytest.mark.parametrize("n, k", [(200, 0), (200, 1), (200, 3), (300, 150), (80, 80)])
def test_intervals_of_plain_counts_are_those_of_clopper_and_pearson(n, k):
    share = np.array([k / n])
    se = np.sqrt(share * (1 - share) / n + 0.5 / n**2)  # half a refit the other way
    exact = binomtest(k, n).proportion_ci(0.9, method="exact")
    found = count_interval(share, se, 0.9)[0]
    np.testing.assert_allclose(found, [exact.low, exact.high], atol=0.005 / n)


def test_intervals_of_rare_selections_hold():
    """Of Π = .001 to .005, and as near to 1, at three levels, from 60 exact refits."""
    rng = np.random.default_rng(4)
    p = np.r_[0.3, 0.2, np.linspace(0.001, 0.005, 15), np.linspace(0.995, 0.999, 15)]
    held = []
    for _ in range(200):
        z = says(p, (0.5, 0.1), (400, 200, 60), rng)
        guess = z[1].mean(0)
        unit = np.maximum(guess * (1 - guess), 0.5 / 200)
        mean = level_mean(*z, unit)
        value, se = np.clip(mean.value, 0, 1), np.sqrt(mean.square_error)
        low, high = count_interval(value, se, 0.95).T
        held.append(((low <= p) & (p <= high))[2:])
    assert np.mean(held) > 0.95 and np.mean(held, axis=0).min() > 0.9


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
        (lambda M, rng: "half", "resampling: a draw of"),
    ],
)
def test_a_law_that_draws_nonsense_is_refused(draw, words):
    fit = rvamp(A, Y, prior=lasso(1.0), resampling=Drawn(draw))
    with pytest.raises((TypeError, ValueError), match=words):
        refine(fit)


class Own(Logistic):
    """A loss of one's own."""


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda fit: refine("fit"), "fit must be a Fit, from rvamp"),
        (lambda fit: refine(fit, 0), "accuracy"),
        (lambda fit: refine(fit, -0.1), "accuracy"),
        (lambda fit: refine(fit, 0.7), "accuracy"),
        (lambda fit: refine(fit, "0.1"), "accuracy"),
        (lambda fit: refine(fit, None), "accuracy"),
        (lambda fit: refine(fit, n_resamples=9), "n_resamples"),
        (lambda fit: refine(fit, n_resamples=20.5), "n_resamples"),
        (lambda fit: refine(fit, random_state=-1), "random_state must be at least 0"),
        (lambda fit: refine(fit, random_state="one"), "number from 0 on, or None"),
        (lambda fit: refine(rvamp(A, Y, 1.0, beta=2.0)), "beta = inf.* not 2"),
        (
            lambda fit: refine(fit, baseline=5),
            "baseline must be the BaselineHazard .* 5",
        ),
        (lambda fit: refine(fit, baseline=BaselineHazard), "not the class Baseline"),
        (
            lambda fit: refine(fit, baseline=BaselineHazard(Y - Y.min(), LABELS)),
            "baseline must be the BaselineHazard .* events differ",
        ),
        (
            lambda fit: refine(
                rvamp(A, Y, prior=SpikeSlab(0.2, 4.0), resampling=HALF, beta=np.inf)
            ),
            "SpikeSlab",
        ),
        (lambda fit: answered("halves").interval(1.0), "level"),
    ],
)
def test_what_cannot_be_is_refused(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call(fitted("halves"))


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
    monkeypatch.setattr(refits, "time", clock)
    monkeypatch.setattr(refits, "is_interactive", lambda: seen)
    monkeypatch.setattr(refits, "AT_ONCE", 25 * len(fit.problem.y))
    made = []
    for numbers in refits.in_turn(fit.problem.A, range(200, 400), progress):
        made.append(numbers)
        clock.now += 2 * len(numbers)
    assert [*np.concatenate(made)] == [*range(200, 400)] and len(made) == 8
    said = capsys.readouterr().err
    wanted = "25 of 200 refits are made, the others take some 350 seconds\n"
    assert said == (wanted if progress and not seen else "")


def test_refits_in_turn_are_those_at_once(monkeypatch):
    fit = fitted("halves")
    once = refine(fit, None, 60, verbose=False)
    monkeypatch.setattr(refits, "AT_ONCE", 20 * len(fit.problem.y))
    again = refine(fit, None, 60, verbose=False)
    np.testing.assert_allclose(once.draws, again.draws, atol=1e-9)
    np.testing.assert_allclose(once.Pi, again.Pi, rtol=1e-9)


def test_a_loss_and_a_penalty_that_no_solver_knows_are_refitted_by_turns():
    given = dict(prior=lasso(0.5), resampling=HALF)
    answer = refine(rvamp(A, LABELS, loss=Own(), **given), verbose=False)
    z = off(answer, *seen(rvamp(A, LABELS, loss=Logistic(), **given)))
    assert np.sqrt(np.mean(z**2, axis=1)).max() < 1.45
    ridge = rvamp(A, Y, prior=Ridge(1.0), resampling=HALF)
    answer = refine(ridge, verbose=False)
    assert (answer.mean_se > 0).all() and answer.n_resamples >= 200


def test_whatever_variances_and_costs_are_the_refits_end(monkeypatch):
    """Random variances, some of them 0, costs, and limits."""
    rng = np.random.default_rng(0)
    for k in range(400):
        parts = 10 ** rng.uniform(-9, 2, 3) * (rng.random(3) > 0.2) * (k > 0)
        cost, most = 10 ** rng.uniform(-7, 1, 3), int(10 ** rng.uniform(1, 4.5))
        monkeypatch.setattr(room, "work_of_levels", lambda samples, c=cost: c)
        short = np.inf if rng.random() < 0.2 else 1 + 10 ** rng.uniform(-6, 4)
        limit, rounds = np.array([most, most, 4 * most]), 0
        samples = SimpleNamespace(turns=True, long=rng.random() < 0.3)
        samples.done = np.minimum(room.FIRST, limit)
        shares = SimpleNamespace(alone=SimpleNamespace(parts=parts))
        while samples.done[1] < most and rounds < 300:
            wanted = room._next_sizes(samples, shares, short, limit)
            wanted, rounds = np.minimum(wanted, limit), rounds + 1
            assert (wanted >= samples.done).all() and (wanted > samples.done).any()
            assert (wanted <= np.ceil(room.GROWTH * samples.done)).all()
            samples.done = wanted
        assert samples.done[1] == most


def test_resamples_in_batches_are_those_at_once(monkeypatch):
    """Nothing grows with the number of resamples but what is kept of them."""
    fit = fitted("the paper's")
    once = refine(fit, None, 300, verbose=False)
    monkeypatch.setattr(room, "SIDE_BY_SIDE", 1)
    monkeypatch.setattr(room, "AT_ONCE", 30 * M)
    again = refine(fit, None, 300, verbose=False)
    np.testing.assert_allclose(again.draws, once.draws, atol=1e-3)
    np.testing.assert_allclose(again.Pi, once.Pi, atol=0.01)


def test_resamples_without_a_row_and_columns_of_zeros():
    """Of six rows a third of the resamples have none that counts."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(6, 4))
    X[:, 2] = 0
    y = 3 * X[:, 0] + rng.normal(size=6)
    fit = rvamp(X, y, prior=lasso(0.5), resampling=Poisson(0.2))
    answer = refine(fit, verbose=False)
    counts, _ = room.resamples(fit, range(answer.n_resamples), 0)
    empty = ~counts.any(1)
    assert 0.2 < empty.mean() < 0.45 and not answer.draws[empty].any()
    assert not answer.draws[:, 2].any() and answer.n_failed == 0
    assert np.isfinite([answer.Pi, answer.Pi_se, answer.mean, answer.var_se]).all()
    z = off(answer, *seen(fit))
    assert np.sqrt(np.mean(z[0, [0, 1, 3]] ** 2)) < 2


def test_copies_of_columns_leave_the_others_as_they_are():
    """rVAMP may warn of copies; refits share what these get as they like."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = dict(prior=lasso(1.5), resampling=HALF, max_iter=50)  # in vain
        twice = rvamp(np.c_[A, A[:, [0, 5]]], Y, **given)
    answer, alone = refine(twice, verbose=False), answered("halves")
    others = np.setdiff1d(range(N), [0, 5])
    apart = np.hypot(answer.Pi_se[:N], alone.Pi_se)
    z = (answer.Pi[:N] - alone.Pi) / np.maximum(apart, 1e-3)
    assert np.sqrt(np.mean(z[others] ** 2)) < 1.5 and answer.n_failed == 0
    of_both = [
        answer.draws[:, i] + answer.draws[:, N + k] for k, i in enumerate([0, 5])
    ]
    shares, rank = np.mean(np.array(of_both) != 0, axis=1), alone.Pi[[0, 5]]
    np.testing.assert_allclose(shares, rank, atol=0.1)


@pytest.mark.parametrize("n", [250, 900])
def test_so_many_resamples_as_are_asked_for_are_made_where_four_turns_settle_all(
    n, monkeypatch
):
    """Where the second level adds nothing, it is the first that wants to grow; it once
    was at its most, and the loop had no end.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    y = 2 * X[:, 0] - X[:, 1] + 2 * rng.normal(size=150)
    wanted, asked = room._next_sizes, []
    monkeypatch.setattr(room, "_next_sizes", lambda *a: asked.append(1) or wanted(*a))
    monkeypatch.setattr(
        room,
        "_estimate_shares",
        lambda s, f=room._estimate_shares: (
            f(s) if len(asked) < 60 else pytest.fail("no end")
        ),
    )
    fit = StabilitySelection(n_resamples=0, verbose=0).fit(X, y).fit_
    answer = refine(fit, None, n, verbose=False)
    assert answer.n_resamples == n and len(asked) < 60


def of_one_factor(size, M=200, N=30):
    """Columns with a common factor of some size, and a target of a few of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(M, N)) + size * rng.normal(size=(M, 1))
    y = X[:, :4].sum(1) / size + X[:, 2] - X[:, 3] + rng.normal(size=M)
    return X, y


@pytest.mark.parametrize("table", ["breast cancer", "factor 1", "factor 8"])
def test_how_many_refits_are_made_does_not_depend_on_the_last_digits(table):
    if table == "breast cancer":
        X, y = (part[:300] for part in load_breast_cancer(return_X_y=True))
    else:
        X, y = of_one_factor(float(table[-1]))
    rng = np.random.default_rng(5)
    orders = [rng.permutation(X.shape[1]) for _ in range(3)]
    variants = [(X[:, order], y) for order in orders]
    variants += [(np.asfortranarray(X), y), (X * (1 + 1e-12), y)]
    if table != "breast cancer":
        variants.append((X, y * (1 + 1e-12)))
    made = set()
    for table_of, target in variants:
        s = StabilitySelection(pfer=1, verbose=0).fit(table_of, target)
        made.add((s.refined_.n_exact, s.refined_.n_resamples))
    assert len(made) == 1


@pytest.mark.parametrize("groups", [None, np.arange(60) // 3])
@pytest.mark.parametrize("strata", [None, np.arange(60) // 6 % 2])
def test_rows_of_weight_zero_are_as_if_they_were_not_there(groups, strata):
    X, y = of_one_factor(1.0, 60, 6)
    weight = 1.0 + np.arange(60) % 2
    weight[:9] = 0  # three whole groups, and a row of one that stays
    weight[20] = 0
    X[weight == 0] += 5.0
    roles = dict(groups=groups, strata=strata, sample_weight=weight)
    roles = {name: values for name, values in roles.items() if values is not None}
    s = StabilitySelection(verbose=0, n_resamples=1000).fit(X, y, **roles)
    kept = weight > 0
    roles = {name: values[kept] for name, values in roles.items()}
    t = StabilitySelection(verbose=0, n_resamples=1000).fit(X[kept], y[kept], **roles)
    assert s.lambda_ == pytest.approx(t.lambda_, rel=1e-3)
    np.testing.assert_allclose(s.fit_.Pi, t.fit_.Pi, atol=1e-3)
    np.testing.assert_allclose(s.coef_mean_, t.coef_mean_, atol=0.02)
    off = np.hypot(s.refined_.Pi_se, t.refined_.Pi_se)  # the draws are other ones
    assert (np.abs(s.refined_.Pi - t.refined_.Pi) <= 4 * off + 1e-3).all()
    theirs = t.selection_.question.counts
    ours = s.selection_.question.counts
    assert ours.mean == pytest.approx(theirs.mean)
    for k in range(20):
        draw = ours.draw(60, np.random.default_rng(k))
        assert not draw[~kept].any() or groups is not None
        np.testing.assert_array_equal(
            draw[kept], theirs.draw(50, np.random.default_rng(k))
        )
    for word in ("n_rows", "n_groups", "n_strata"):
        assert settings(s.selection_)[word] == settings(t.selection_)[word]
    words = [next(wording._method_sentences(one.selection_)) for one in (s, t)]
    assert words[0].partition("Π was")[0] == words[1].partition("Π was")[0]


def grouped_fit():
    """A fit with groups of columns, whose exact refits are made by turns."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 8))
    y = X[:, :2] @ [1.0, 1.0] + rng.normal(size=50)
    prior = GroupLasso(3.0, np.arange(8) // 2)
    return rvamp(X, y - y.mean(), prior=prior, resampling=HALF)


def test_refits_by_turns_are_made_side_by_side(monkeypatch):
    """As many at once as turns hold, for all share the turns that are left."""
    made, called = [], turns.ExactByTurns.__call__
    watch = lambda refit, counts, *rest: (
        made.append(len(counts)) or called(refit, counts, *rest)
    )
    monkeypatch.setattr(turns.ExactByTurns, "__call__", watch)
    assert refine(grouped_fit(), 0.05, verbose=False).n_failed == 0
    assert made[0] == room.LEAST_EXACT > refits.SIDE


def test_no_more_refits_are_made_when_their_turns_are_used_up(monkeypatch):
    fit = grouped_fit()
    no_steps = lambda refit, counts, start: np.full((len(counts), 8), np.nan)
    monkeypatch.setattr(turns.GroupRefits, "__call__", no_steps)
    plenty = refine(fit, 0.01, verbose=False)
    assert plenty.n_failed == 0
    monkeypatch.setattr(turns, "MOST_TURNS", 0)
    monkeypatch.setattr(turns, "LATE_TURNS", 72)
    few = refine(fit, 0.01, verbose=False)
    made = few.n_exact + few.n_failed
    assert room.LEAST_EXACT <= made < room.LEAST_EXACT + 40 < plenty.n_exact
    assert "are left out: penalise more" in few.status
    assert np.abs(few.Pi - plenty.Pi).max() < 0.2


def test_what_arrives_is_no_fair_sample_when_most_is_lost(monkeypatch):
    fit = fitted("halves")

    def some(*_):
        def again(counts, factor, start=None):
            x, intercept = refitter(fit)(counts, factor, start)
            x[: 2 * len(x) // 3] = np.nan
            return x, intercept

        return again

    monkeypatch.setattr(room, "refitter", some)
    with pytest.raises(ValueError, match="of 60 refits have .*: penalise more"):
        refine(fit, 0.05, verbose=False)


def test_only_so_many_refits_are_tried_again_in_vain(monkeypatch):
    tried = []

    def nowhere(*_, **options):
        tried.append(1)
        raise RuntimeError

    def unsure(table, counts, *_):
        return batch_glm.Refitted(
            x=np.zeros((len(counts), 12)),
            u=None,
            sure=np.zeros(len(counts), dtype=bool),
            gap=np.ones(len(counts)),
        )

    monkeypatch.setattr(refits, "penalised_fit", nowhere)
    monkeypatch.setattr(refits, "refit", unsure)
    fit = rvamp(
        np.random.default_rng(0).normal(size=(30, 12)), np.arange(30.0) - 14.5, 5.0
    )
    again = refits.refitter(fit)
    for _ in range(2):
        x, _ = again(np.ones((40, 30)), np.ones((40, 1)))
        assert np.isnan(x).all()
    assert len(tried) == refits.MOST_LOST


def test_refits_that_are_not_sure_are_tried_again_side_by_side(monkeypatch):
    """Of columns that are equal the same are taken, whatever the guess, and no refit
    goes by itself.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 6))
    X = np.hstack([X, X])
    y = X[:, 0] + rng.normal(size=30)
    fit = rvamp(X, y - y.mean(), prior=Laplace(5.0, TwoPoint()), resampling=HALF)
    counts, factor = room.resamples(fit, range(20), 0)
    none, given = np.zeros(12), (X, fit.problem.y)
    alone = [penalised_fit(*given, 5.0 * f, none, c) for f, c in zip(factor, counts)]
    monkeypatch.delattr(refits, "penalised_fit")
    guess = np.tile(np.append(np.zeros(6), np.ones(7)), (20, 1))
    x, _ = refitter(fit)(counts, factor, csr_array(guess))
    np.testing.assert_allclose(x, alone, atol=1e-12)


def test_rounds_of_a_refit_that_repeat_each_other_end(monkeypatch):
    taken = []

    def the_same(p, w, z, f, used, most=20):
        taken.append(1)
        violators = np.array([0]), np.array([0])
        return batch_glm._Optimality(violators, np.array([False]), np.array([1.0]))

    monkeypatch.setattr(batch_glm, "_check_optimality", the_same)
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(RuntimeError, match="Penalise more"):
        penalised_fit(X, X[:, 0], np.ones(3), np.zeros(3), np.ones(20))
    assert len(taken) < 10
