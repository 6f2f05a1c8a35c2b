"""Count laws and penalty laws: their probabilities, their draws, their refusals."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rvamp_nb.algorithm import resampling
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.resampling import (
    FixedFactor,
    Grouped,
    NoResampling,
    Poisson,
    Stratified,
    Subsample,
    TwoPoint,
    all_resamples,
    check_law,
    law_of_one,
)
from rvamp_nb.algorithm.solver import rvamp
from rvamp_nb.course.multinomial import Multinomial
from rvamp_nb.datasets import gaussian_design
from rvamp_nb.inference.bootstrap import naive_bootstrap

HALF = Subsample(0.5)


# --- nodes ----------------------------------------------------------------------------
@given(st.floats(-3, 3))
def test_poisson_nodes_are_the_law(exponent):
    tau = 10.0**exponent
    k, w = Poisson(tau).nodes()
    assert (
        k.shape == w.shape and np.all(w > 0) and np.all(np.diff(k) == 1) and k[0] >= 0
    )
    assert stats.poisson.cdf(k[0] - 1, tau) + stats.poisson.sf(k[-1], tau) < 1e-15
    np.testing.assert_allclose(w.sum(), 1, rtol=1e-15)
    np.testing.assert_allclose([w @ k, w @ (k - tau) ** 2], [tau, tau], rtol=1e-11)
    np.testing.assert_allclose(w, stats.poisson.pmf(k, tau), rtol=1e-9)


@pytest.mark.parametrize(
    "law, mean, var",
    [
        (Poisson(0.5), 0.5, 0.5),
        (Poisson(2), 2, 2),
        (Subsample(0.3), 0.3, 0.21),
        (Subsample(1), 1, 0),
        (NoResampling(), 1, 0),
    ],
)
def test_mean_and_variance_agree_with_the_nodes(law, mean, var):
    c, w = law.nodes()
    np.testing.assert_allclose(
        [w.sum(), w @ c, w @ (c - mean) ** 2], [1, mean, var], atol=1e-14
    )
    np.testing.assert_allclose([law.mean, law.var], [mean, var], atol=1e-14)


@pytest.mark.parametrize(
    "law, mean",
    [
        (TwoPoint(), 1.5),
        (TwoPoint(3, 0.25), 1.5),
        (TwoPoint(0.5, 1), 0.5),
        (FixedFactor(), 1),
    ],
)
def test_multiplier_nodes(law, mean):
    k, w = law.nodes()
    np.testing.assert_allclose([w.sum(), w @ k], [1, mean], rtol=1e-15)


# --- draws ----------------------------------------------------------------------------
def test_poisson_draws_follow_the_nodes():
    draws = np.concatenate(
        [Poisson(0.7).draw(50, np.random.default_rng(s)) for s in range(400)]
    )
    k, w = Poisson(0.7).nodes()
    observed = np.array([np.sum(draws == i) for i in range(5)] + [np.sum(draws >= 5)])
    assert (
        stats.chisquare(observed, np.append(w[:5], w[5:].sum()) * len(draws)).pvalue
        > 1e-3
    )


def test_poisson_counts_are_independent():
    C = np.array([Poisson(0.5).draw(20, np.random.default_rng(s)) for s in range(4000)])
    off = np.corrcoef(C.T)[np.triu_indices(20, 1)]
    assert abs(off.mean()) < 0.005
    # and so the total fluctuates
    np.testing.assert_allclose(C.sum(1).var(), 10, rtol=0.1)


@pytest.mark.parametrize("law", [Multinomial(1.0), Subsample(0.5)])
def test_fixed_totals_tie_counts_together(law):
    M = 6
    C = np.array([law.draw(M, np.random.default_rng(s)) for s in range(8000)])
    assert np.all(C.sum(1) == round(law.tau * M)) and np.all(C >= 0)
    np.testing.assert_allclose(C.mean(0), law.mean, atol=0.04)
    np.testing.assert_allclose(
        np.corrcoef(C.T)[np.triu_indices(M, 1)].mean(), -1 / (M - 1), atol=0.01
    )


def test_multinomial_draws_have_the_enumerated_probabilities():
    counts, prob = all_resamples(3, 3)
    rng = np.random.default_rng(0)
    drawn = np.array([Multinomial(1.0).draw(3, rng) for _ in range(10_000)])
    observed = [(drawn == c).all(1).sum() for c in counts]
    assert stats.chisquare(observed, 10_000 * prob).pvalue > 1e-3


@pytest.mark.parametrize("many", [resampling.MANY, 1])
@pytest.mark.parametrize("tau, sets", [(0.5, 6), (0.3, 4), (0.8, 4)])
def test_subsample_takes_every_subset_equally_often(monkeypatch, many, tau, sets):
    monkeypatch.setattr(resampling, "MANY", many)
    rng, law = np.random.default_rng(0), Subsample(tau)
    drawn = np.array([law.draw(4, rng) for _ in range(6000)]) @ [8, 4, 2, 1]
    observed = np.unique(drawn, return_counts=True)[1]
    assert len(observed) == sets and stats.chisquare(observed).pvalue > 1e-3
    np.testing.assert_array_equal(Subsample(1.0).draw(5, rng), np.ones(5))


@pytest.mark.parametrize("tau", [0.5, 0.001, 0.3])
def test_of_very_many_rows_a_subsample_draws_as_many_as_it_says(tau):
    M, rng = resampling.MANY + 1, np.random.default_rng(1)
    C = np.array([Subsample(tau).draw(M, rng) for _ in range(20)])
    assert (C.sum(1) == int(tau * M)).all() and np.isin(C, (0, 1)).all()
    each = C.sum(0)  # binomial counts of the rows
    np.testing.assert_allclose(each.var(), 20 * tau * (1 - tau), rtol=0.05)


@pytest.mark.parametrize("tau", [0.5, 0.3, 1])
@pytest.mark.parametrize("M", [9, resampling.MANY + 5])
def test_single_draws_of_halves_are_masks_of_the_same_rows(tau, M):
    law, seeds = Subsample(tau), range(3)
    one, two = ([np.random.default_rng(seed) for seed in seeds] for _ in range(2))
    masks = resampling.drawn("resampling", law, M, one)
    assert masks.dtype == bool
    np.testing.assert_array_equal(masks, [law.draw(M, rng) for rng in two])


def test_penalties_are_two_valued_and_independent():
    rng = np.random.default_rng(0)
    K = np.array([TwoPoint(2, 0.3).draw(40, rng) for _ in range(2000)])
    assert set(np.unique(K)) == {1.0, 2.0}
    assert stats.binomtest(int((K == 2).sum()), K.size, 0.3).pvalue > 1e-3
    np.testing.assert_allclose((K == 2).sum(1).var(), 40 * 0.21, rtol=0.15)
    np.testing.assert_array_equal(FixedFactor().draw(3, rng), np.ones(3))
    np.testing.assert_array_equal(TwoPoint(2, 0).draw(9, rng), np.ones(9))
    np.testing.assert_array_equal(TwoPoint(2, 1).draw(9, rng), np.full(9, 2.0))


@pytest.mark.parametrize(
    "law", [Poisson(), Subsample(), NoResampling(), TwoPoint(), FixedFactor()]
)
def test_draws_are_float_vectors_fixed_by_the_generator(law):
    one, two = (law.draw(11, np.random.default_rng(4)) for _ in range(2))
    assert one.shape == (11,) and one.dtype == float
    np.testing.assert_array_equal(one, two)
    assert law.draw(np.int64(2), np.random.default_rng(0)).shape == (2,)


@given(st.floats(0.05, 3), st.integers(1, 60))
def test_totals_for_any_tau(tau, M):
    rng = np.random.default_rng(0)
    law = Subsample(min(tau, 1.0))
    n = int(law.tau * M + 1e-9)
    if n >= 1:
        assert law.draw(M, rng).sum() == n
    else:
        with pytest.raises(ValueError, match="no row"):
            law.draw(M, rng)


# --- every resample -------------------------------------------------------------------
@pytest.mark.parametrize("M, n", [(1, 1), (1, 4), (2, 3), (3, 3), (4, 2), (3, 0)])
def test_all_resamples_against_ordered_lists(M, n):
    counts, prob = all_resamples(M, n)
    tally = {}
    for one in product(range(M), repeat=n):
        key = tuple(float(one.count(i)) for i in range(M))
        tally[key] = tally.get(key, 0) + 1 / M**n
    assert {tuple(c) for c in counts} == set(tally) and len(counts) == len(tally)
    np.testing.assert_allclose(prob, [tally[tuple(c)] for c in counts], rtol=1e-12)


def test_all_resamples_with_large_factorials():
    counts, prob = all_resamples(2, 300)
    np.testing.assert_allclose(prob, stats.binom.pmf(counts[:, 0], 300, 0.5), rtol=1e-9)


# --- refusals -------------------------------------------------------------------------
@pytest.mark.parametrize("make", [Poisson, Subsample])
@pytest.mark.parametrize(
    "tau, error",
    [
        (0, ValueError),
        (-1, ValueError),
        (np.nan, ValueError),
        (np.inf, ValueError),
        (True, TypeError),
        ("0.5", TypeError),
        (None, TypeError),
        ([0.5], TypeError),
        (1j, TypeError),
    ],
)
def test_bad_tau_is_refused_by_name(make, tau, error):
    with pytest.raises(error, match=f"{make.__name__}: tau"):
        make(tau)


def test_subsample_cannot_take_more_than_all():
    with pytest.raises(ValueError, match="tau"):
        Subsample(1.0001)
    assert Poisson(1.5).mean == 1.5


@pytest.mark.parametrize(
    "arguments, name",
    [
        ((0,), "factor"),
        ((-2,), "factor"),
        ((np.nan,), "factor"),
        ((2, -0.1), "prob"),
        ((2, 1.1), "prob"),
        ((2, np.nan), "prob"),
    ],
)
def test_bad_two_point(arguments, name):
    with pytest.raises(ValueError, match=f"TwoPoint: {name}"):
        TwoPoint(*arguments)


@pytest.mark.parametrize(
    "law", [Poisson(), Subsample(), NoResampling(), TwoPoint(), FixedFactor()]
)
@pytest.mark.parametrize(
    "size, error",
    [
        (0, ValueError),
        (-3, ValueError),
        (2.5, TypeError),
        ("7", TypeError),
        (True, TypeError),
    ],
)
def test_bad_sizes(law, size, error):
    with pytest.raises(error, match="draw"):
        law.draw(size, np.random.default_rng(0))


@pytest.mark.parametrize(
    "M, n, error",
    [(0, 1, ValueError), (2, -1, ValueError), (1.5, 1, TypeError), (2, "1", TypeError)],
)
def test_bad_enumeration(M, n, error):
    with pytest.raises(error, match="all_resamples"):
        all_resamples(M, n)


def test_laws_are_values():
    assert (
        Poisson(0.5) == Poisson()
        and hash(TwoPoint()) == hash(TwoPoint(2.0, 0.5))
        and Poisson(0.5) != Multinomial(0.5)
    )
    with pytest.raises(AttributeError):
        Poisson().tau = 1
    assert Poisson(np.float32(0.5)).nodes()[0].dtype == float


# --- laws of one's own ---------------------------------------------------------------
class Own:
    def __init__(self, values, probabilities, drawn=1.0):
        self.nodes = lambda: (values, probabilities)
        self.drawn = drawn

    def draw(self, size, rng):
        return np.full(size, self.drawn) if np.ndim(self.drawn) == 0 else self.drawn


WRONG = [
    (Own([1, 2], [1.5, 1.0]), "probabilities must sum to 1, not to 2.5"),
    (Own([1, 2], [1.5, -0.5]), "probabilities must be >= 0, got -0.5 in value 1"),
    (Own([1, -1], [0.5, 0.5]), "values must be >=? 0, got -1 in value 1"),
    (Own([1, 2, 3], [0.5, 0.5]), r"shape \(3,\), one number for each value"),
    (Own([0, np.nan], [0.5, 0.5]), "NaN"),
    (Own([0.0], [1.0]), "every count would be 0|must be > 0"),
    (Own([], []), r"values must have shape \(K,\), .* got \(0,\)"),
]


@pytest.mark.parametrize("law, words", WRONG)
@pytest.mark.parametrize("name", ["resampling", "randomize"])
def test_what_is_no_law_is_refused_by_name(name, law, words):
    is_factor = name == "randomize"
    with pytest.raises(ValueError, match=f"(?s)^{name}: .*({words})"):
        check_law(name, law, positive=is_factor)
    with pytest.raises(ValueError, match=f"(?s)^{name}: .*({words})"):
        if is_factor:
            Laplace(0.1, law)
        naive_bootstrap(
            np.eye(3), np.arange(3.0), 0.1, resampling=law, n_resamples=1, verbose=False
        )


@pytest.mark.parametrize("drawn", [np.ones(2), np.ones((3, 1)), -1.0, np.nan, "x"])
def test_draws_that_are_wrong_are_refused(drawn):
    law = Own([1.0], [1.0], drawn)
    with pytest.raises((ValueError, TypeError), match="^resampling: "):
        naive_bootstrap(
            np.eye(3), np.arange(3.0), 0.1, n_resamples=1, verbose=False, resampling=law
        )


def test_laws_that_are_laws_pass():
    for law in (Poisson(), Multinomial(), Subsample(), NoResampling(), Own([1], [1])):
        check_law("resampling", law)
    for law in (TwoPoint(), FixedFactor()):
        check_law("randomize", law, ("draw", "nodes"), positive=True)
    for law in (Multinomial(), Grouped(Multinomial(), LABELS)):
        with pytest.raises(TypeError, match="no nodes"):
            check_law("resampling", law, needs=("nodes",))
    with pytest.raises(TypeError, match="it has no mean and no var$"):
        check_law("resampling", Own([1], [1]), needs=("nodes", "mean", "var"))
    for law in (Poisson, 0.5, None, "Poisson"):
        with pytest.raises(
            TypeError, match="^resampling must be a law such as Poisson"
        ):
            check_law("resampling", law)
    with pytest.raises(ValueError, match="> 0, got 0 in value 0"):
        check_law("randomize", Own([0, 1], [0.5, 0.5]), positive=True)


# --- groups and strata ----------------------------------------------------------------
LABELS = np.array(["b", "a", "b", "c", "a", "b"])
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("law", [Poisson(0.7), Subsample(0.5), Multinomial(0.5)])
def test_a_group_has_one_count(law):
    drawn = [Grouped(law, LABELS).draw(6, np.random.default_rng(b)) for b in range(50)]
    for c in drawn:
        assert c.shape == (6,) and c.dtype == float
        for name in "abc":
            assert len(set(c[LABELS == name])) == 1
    assert len({tuple(c) for c in drawn}) > 2


def test_whole_groups_are_drawn_without_replacement():
    labels = np.repeat(np.arange(10), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    law = Grouped(Subsample(0.3), labels)
    for b in range(20):
        c = law.draw(55, np.random.default_rng(b))
        assert len(set(labels[c == 1])) == 3 and set(c) == {0.0, 1.0}


def test_a_groups_marginal_law_is_that_of_its_count():
    law = Grouped(Poisson(0.7), LABELS)
    assert (law.mean, law.var) == (0.7, 0.7)
    np.testing.assert_array_equal(law.nodes(), Poisson(0.7).nodes())


@given(st.lists(st.integers(0, 3), min_size=8, max_size=40), st.floats(0.3, 1))
def test_a_stratum_is_drawn_by_itself(strata, tau):
    strata = np.array([*strata, 0, 1, 2, 3] * 2)
    law, sizes = Stratified(Subsample(tau), strata), np.bincount(strata)
    drawn = (tau * sizes + 1e-9).astype(int)
    if (drawn < 1).any():
        with pytest.raises(ValueError, match="stratum"):
            law.nodes()
        return
    c = law.draw(len(strata), np.random.default_rng(0))
    np.testing.assert_array_equal(np.bincount(strata, c), drawn)
    assert law.mean == pytest.approx(drawn.sum() / len(strata))


def test_the_solver_is_told_the_share_that_is_drawn():
    """35 of 71 rows: two halves that share none exist, and the mean is 35 / 71."""
    c = HALF.draw(71, np.random.default_rng(0))
    assert c.sum() == 35 and law_of_one(HALF, 71).mean == pytest.approx(35 / 71)
    assert Grouped(HALF, np.arange(71)).mean == pytest.approx(35 / 71)
    d = gaussian_design(71, 5, seed=0)
    assert rvamp(d.A, d.y, 0.3, resampling=HALF).problem.counts.tau == 35 / 71
    again = law_of_one(law_of_one(HALF, 71), 71)
    assert again.drawn(71) == 35


def test_groups_are_drawn_stratum_by_stratum():
    patient = np.repeat(np.arange(12), 3)[::-1]
    ill = patient % 3 == 0  # 4 of 12
    law = Grouped(Stratified(Subsample(0.5), ill), patient)
    for b in range(20):
        c = law.draw(36, np.random.default_rng(b))
        assert len(set(patient[(c == 1) & ill])) == 2
        assert len(set(patient[(c == 1) & ~ill])) == 4
        assert set(patient[c == 1]).isdisjoint(patient[c == 0])


def test_groups_of_one_row_and_one_stratum_change_nothing():
    rng = [np.random.default_rng(3) for _ in range(3)]
    plain = Subsample(0.5).draw(20, rng[0])
    one = Grouped(Subsample(0.5), np.arange(20)).draw(20, rng[1])
    two = Stratified(Subsample(0.5), ["all"] * 20).draw(20, rng[2])
    np.testing.assert_array_equal(plain, one)
    np.testing.assert_array_equal(plain, two)


def test_brute_force_takes_groups():
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(30, 5)), rng.normal(size=30)
    law = Grouped(Subsample(0.5), np.repeat(np.arange(10), 3))
    out = naive_bootstrap(
        A, y, 0.5, n_resamples=20, resampling=law, random_state=0, verbose=False
    )
    assert np.isfinite(out.Pi).all()


def test_rows_that_are_not_present_belong_to_no_unit():
    patient = np.repeat(np.arange(9), 2)
    ill = np.repeat([0, 1, 0, 1, 0, 0, 2, 1, 0], 2)
    present = np.arange(18) > 1  # without the first patient,
    present[[12, 13, 15]] = False  # the third stratum, and a row of one that stays
    ill[15] = 2
    law = Stratified(Subsample(0.5), ill, present)
    assert law.names.tolist() == [0, 1]
    draws = np.array([law.draw(18, np.random.default_rng(k)) for k in range(40)])
    assert not draws[:, ~present].any()
    assert set(draws[:, present & (ill == 0)].sum(1)) == {4}  # half of 8
    assert set(draws[:, present & (ill == 1)].sum(1)) == {2}  # half of 5
    assert law.mean == pytest.approx(6 / 13)
    whole = Grouped(law, patient)
    draws = np.array([whole.draw(18, np.random.default_rng(k)) for k in range(40)])
    assert not draws[:, [0, 1, 12, 13]].any()
    assert set(draws[:, ::2].sum(1)) == {3}  # half of four patients, and of three
    assert whole.mean == pytest.approx(3 / 7)


@pytest.mark.parametrize(
    "attempt, said",
    [
        (lambda: Grouped(Poisson, LABELS), "must be a law"),
        (lambda: Grouped(Grouped(Poisson(), LABELS), LABELS), "plain law"),
        (lambda: Stratified(Grouped(Poisson(), LABELS), LABELS), r"Grouped\(Stratif"),
        (lambda: Grouped(Poisson(), [[1, 2]]), "one label for each row"),
        (lambda: Grouped(Poisson(), [1.0, np.nan]), "1 rows have no label"),
        (lambda: Stratified(Poisson(), ["a", None]), "1 rows have no label"),
        (lambda: Grouped(Poisson(), np.array(["a", 1], object)), "sorted"),
        (lambda: Grouped(Poisson(), LABELS).draw(7, None), "6 labels.*7 rows"),
        (lambda: Stratified(Poisson(), LABELS).draw(7, None), "6 labels.*7 rows"),
        (lambda: Stratified(Subsample(0.1), LABELS).draw(6, RNG), "stratum a"),
        (
            lambda: Grouped(Stratified(Poisson(), [0, 0, 1, 0, 0, 0]), LABELS),
            "group b has rows in the strata 0 and 1",
        ),
        (
            lambda: Grouped(Stratified(Poisson(), [0, 1]), LABELS),
            "2 labels, but there are 6 rows",
        ),
    ],
)
def test_labels_that_cannot_be(attempt, said):
    with pytest.raises((TypeError, ValueError), match=said):
        attempt()
