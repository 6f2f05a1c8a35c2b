"""A few rows counted jointly, close columns taken together: against refits, every
resample, and bad input.
"""

import sys
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import hypergeom

from rvamp_nb.algorithm.clusters import find_clusters
from rvamp_nb.algorithm.likelihood import Huber, Logistic, PoissonLoss, Squared
from rvamp_nb.algorithm.prior import ElasticNet, Laplace, NonNegative, Ridge
from rvamp_nb.algorithm.problem import NEGLIGIBLE
from rvamp_nb.algorithm.resampling import (
    Discrete,
    Exponential,
    Grouped,
    NoResampling,
    Poisson,
    Stratified,
    Subsample,
    TwoPoint,
)
from rvamp_nb.algorithm.solver import rvamp, with_clusters
from rvamp_nb.algorithm.weighted import WeightedLoss
from rvamp_nb.course import conditioning as room
from rvamp_nb.course.conditioning import condition_on_rows, row_scores
from rvamp_nb.course.patterns import PerRowLoss, patterns, split_law
from rvamp_nb.datasets import gaussian_design, standardize
from rvamp_nb.inference.batch_glm import penalised_fit

sys.path.insert(0, str(Path(__file__).parents[1] / "truth/beyond"))
import make_beyond_truth as refitted
from make_beyond_truth import worth

HALF = Subsample(0.5)


@cache
def fit_of(name):
    design, _, law = name.rpartition("_")
    A, y, _ = refitted.problem(design)
    return rvamp(A, y, **refitted.options(design, law)), refitted.load(name)


# what each is worth at least, and by how much more than before
AIMS = {
    "outlier_20_half": (10_000, 200),
    "outlier_08_poisson": (5_000, 5),
    "few_rows_half": (1_400, 3),
    "breast_cancer_poisson": (3_500, 25),
    "pairs_half": (8_000, 40),
}


@pytest.mark.parametrize("name", AIMS)
def test_what_is_counted_is_worth_more(name):
    fit, (Pi, _, var, n) = fit_of(name)
    close = with_clusters(fit, find_clusters(fit.problem.A, fit.Pi))
    better, (least, factor) = condition_on_rows(close), AIMS[name]
    assert worth(better.Pi, Pi, n) > max(least, factor * worth(fit.Pi, Pi, n))
    seen = (Pi > 0.1) & (var > 0)
    off, was = (np.abs(np.log(v.var[seen] / var[seen])).max() for v in (better, fit))
    assert off < 1.1 * was and not better.left
    assert np.isin(better.Pi > 1, False).all() and (better.var >= 0).all()


@pytest.mark.parametrize("name", ["outlier_20_half", "breast_cancer_poisson"])
def test_no_row_counted_is_the_fit(name):
    fit, _ = fit_of(name)
    same = condition_on_rows(fit, rows=0)
    for key in ("Pi", "mean", "var"):
        np.testing.assert_allclose(getattr(same, key), getattr(fit, key), atol=1e-5)
    assert len(same.parts) == same.steps == 1 and same.parts[0].weight == 1


# Every resample -----------------------------------------------------------------------


def every_half(n):
    """All half-samples of n things, (K, n)."""
    halves = combinations(range(n), n // 2)
    return np.array([np.isin(range(n), half) for half in halves], dtype=float)


@pytest.mark.parametrize("prior", [ElasticNet(0.6, l1_ratio=0.7), NonNegative(0.6)])
def test_all_rows_counted_are_every_half_sample(prior, monkeypatch):
    monkeypatch.setattr(room, "PATTERN_TOL", 1e-5)  # each part by itself
    rng = np.random.default_rng(5)
    A = rng.normal(size=(8, 3)) * rng.lognormal(0, 0.5, size=(8, 1))
    A, y = standardize(A, A[:, :2].sum(1) + rng.normal(size=8))
    t, k = (np.broadcast_to(v, 3) for v in prior.split())
    fit = rvamp(A, y, prior=prior, resampling=HALF)
    all_of_it = condition_on_rows(fit, rows=range(8))
    assert len(all_of_it.parts) == 70 and not all_of_it.left
    for weight, chosen, part in all_of_it.parts:  # each is one resample
        x = penalised_fit(A, y, t, k, np.array(chosen, float), positive=prior.positive)
        np.testing.assert_allclose(part.mean, x, atol=1e-4)
        np.testing.assert_allclose(part.Pi, np.abs(x) > 1e-8, atol=1e-3)
        assert weight == pytest.approx(1 / 70)


def test_a_pattern_begins_where_its_row_was_moved_before():
    """Sixteen of them in 42 steps; from where a neighbour has ended they take 61."""
    fit, _ = fit_of("independent_poisson")
    assert condition_on_rows(fit).steps < 50


def test_all_groups_counted_are_every_half_of_the_groups():
    rng = np.random.default_rng(6)
    A, label = rng.normal(size=(24, 5)), np.repeat(np.arange(8), 3)
    A, y = standardize(A, A[:, :2].sum(1) + rng.normal(size=24))
    fit = rvamp(A, y, prior=Laplace(1.0), resampling=Grouped(HALF, label))
    all_of_it = condition_on_rows(fit, rows=range(8))
    t, k = np.ones(5), np.zeros(5)
    x = np.array([penalised_fit(A, y, t, k, c[label]) for c in every_half(8)])
    np.testing.assert_allclose(all_of_it.Pi, np.mean(np.abs(x) > 1e-8, 0), atol=5e-3)
    np.testing.assert_allclose(all_of_it.mean, x.mean(0), atol=5e-3)


LABELS = np.array([0, 0, 0, 1, 1, 1, 1, 1, 0])
OF_ROWS = np.array([0, 0, 1, 2, 2, 3, 4, 5, 6])  # seven groups of nine rows


@pytest.mark.parametrize(
    "law, draws",
    [
        (HALF, every_half(9)),
        (
            Stratified(HALF, LABELS),
            np.array(
                [
                    np.isin(range(9), (*a, *b))
                    for a in combinations(np.flatnonzero(LABELS == 0), 2)
                    for b in combinations(np.flatnonzero(LABELS == 1), 2)
                ]
            ),
        ),
        (Grouped(HALF, OF_ROWS), every_half(7)[:, OF_ROWS]),
        (
            Stratified(HALF, np.zeros(9), np.arange(9) != 4),  # one that is never drawn
            np.insert(every_half(8), 4, 0, axis=1),
        ),
    ],
)
def test_patterns_are_the_draws_that_have_them(law, draws):
    """Weights and the other rows' rates, by going through all draws."""
    rows = [1, 3, 6]
    first = np.array([np.flatnonzero(OF_ROWS == g)[0] for g in rows])
    first = first if isinstance(law, Grouped) else np.array(rows)
    found, total = patterns(law, 9, rows), 0.0
    for weight, chosen, which, laws in found:
        here = (draws[:, first] == chosen).all(1)
        assert weight == pytest.approx(here.mean())
        rates = np.array([law.nodes()[0] @ law.nodes()[1] for law in laws])[which]
        np.testing.assert_allclose(rates, draws[here].mean(0), atol=1e-8)
        total += weight
    assert total == pytest.approx(1)
    moves = [np.sum(np.not_equal(a[1], b[1])) for a, b in zip(found, found[1:])]
    assert set(moves) <= {1, 2}  # two where a pattern between them cannot be


@pytest.mark.parametrize(
    "law",
    [
        Poisson(0.5),
        Exponential(1.0),
        Discrete([1], [1]),
        Stratified(Poisson(0.5), np.arange(12) % 2),  # strata make no difference
    ],
)
def test_patterns_of_independent_rows_are_products(law):
    found = patterns(law, 12, [2, 5, 7])
    weights = np.array([g.weight for g in found])
    assert weights.sum() == pytest.approx(1) and len(found) in (1, 8)
    for g in found:
        chances = [split_law(law)[k][0] for k in g.chosen]
        assert g.weight == pytest.approx(np.prod(chances))
        assert all(g.laws[k] is law for k in np.delete(g.which, [2, 5, 7]))


@pytest.mark.parametrize(
    "law",
    [
        Poisson(0.5),
        Poisson(7.0),
        Subsample(0.3),
        NoResampling(),
        Exponential(1.0),
        Discrete([3.0, 0.0, 1.0], [0.2, 0.5, 0.3]),
    ],
)
def test_pieces_make_up_their_law(law):
    pieces = split_law(law)
    chances = np.array([p for p, _ in pieces])
    means = np.array([g.mean for _, g in pieces])
    squares = np.array([g.var + g.mean**2 for _, g in pieces])
    assert 1 <= len(pieces) <= 2 and (np.diff(means) > 0).all()
    np.testing.assert_allclose(chances.sum(), 1, rtol=1e-12)
    np.testing.assert_allclose(chances @ means, law.mean, rtol=1e-6)
    np.testing.assert_allclose(chances @ squares - law.mean**2, law.var, atol=1e-6)


LOSSES = [Squared(), Logistic(), PoissonLoss(), Huber(0.7)]


@pytest.mark.parametrize(
    "loss", [*LOSSES, WeightedLoss(Logistic(), np.linspace(0.5, 2, 60))]
)
def test_rows_with_the_common_law_change_nothing(loss):
    rng = np.random.default_rng(0)
    A = gaussian_design(60, 30, rho=0.5, seed=0).A
    y = (rng.random(60) < 0.5).astype(float)
    incoming = rvamp(A, y, 0.2, loss=loss).messages.to_likelihood
    which = np.arange(60) % 2
    by_row = PerRowLoss(loss, which, [Poisson(0.5), Subsample(0.5)])
    laws = [loss.message(y, incoming, law) for law in by_row.laws]
    for k, half in enumerate(by_row.message(y, incoming, None)):
        for j, part in enumerate(half):
            for here, law in ((slice(0, None, 2), 0), (slice(1, None, 2), 1)):
                # Newton ends when the last of the rows that are asked is there
                alone = laws[law][k][j][here]
                np.testing.assert_allclose(part[here], alone, rtol=1e-8, atol=1e-11)


# Choices ------------------------------------------------------------------------------


def test_the_rows_that_matter_are_found():
    fit, _ = fit_of("outlier_20_half")
    assert condition_on_rows(fit, rows=1).rows.tolist() == [17]
    np.testing.assert_array_equal(condition_on_rows(fit, rows=[3, 8]).rows, [3, 8])


def test_groups_of_one_row_are_found_by_their_own_numbers():
    fit, _ = fit_of("outlier_20_half")
    label = np.random.default_rng(0).permutation(120)
    law = Grouped(fit.problem.counts, label)
    grouped = rvamp(fit.problem.A, fit.problem.y, prior=fit.prior, resampling=law)
    assert condition_on_rows(grouped, rows=1).rows.tolist() == [label[17]]


def test_the_score_is_the_sum_of_squared_shares():
    d = gaussian_design(30, 12, seed=2)
    fit = rvamp(d.A, d.y, 0.3, intercept=True)
    columns = np.array([1, 4, 11])
    parts = d.A[:, columns] ** 2 * fit.last.u.var[:, None]
    doubt = (fit.Pi * (1 - fit.Pi))[columns]
    expected = (parts / parts.sum(0)) ** 2 @ doubt
    np.testing.assert_allclose(row_scores(fit, columns), expected, rtol=1e-10)


def test_columns_that_are_never_selected_stay_as_they_are():
    d = gaussian_design(60, 400, density=0.02, seed=3)
    prior = Laplace(0.3 * np.abs(d.A.T @ d.y).max())
    fit = rvamp(d.A, d.y, prior=prior, resampling=HALF)
    better = condition_on_rows(fit, rows=2)
    rest = np.setdiff1d(np.arange(400), better.columns)
    assert 0 < len(better.columns) < 200 and (fit.Pi[rest] <= NEGLIGIBLE).all()
    np.testing.assert_array_equal(better.Pi[rest], fit.Pi[rest])
    parts, _ = room.solve_patterns(fit, better.rows, np.arange(400))
    whole = sum(part.weight * part.fit.Pi for part in parts)
    np.testing.assert_allclose(better.Pi, whole, atol=0.01)


def test_blocks_stay_blocks_where_few_columns_are_in_play():
    d = gaussian_design(60, 400, density=0.02, seed=3)
    prior = Laplace(0.3 * np.abs(d.A.T @ d.y).max())
    fit = rvamp(d.A, d.y, prior=prior, resampling=HALF)
    one, two, idle = (*np.argsort(-fit.Pi)[1:3], np.argmin(fit.Pi))
    close = with_clusters(fit, [np.array([two, idle]), np.array([399, one])])
    better = condition_on_rows(close, rows=1)
    assert len(better.columns) < 210 and idle in better.columns
    for part in better.parts:
        there = [better.columns[block].tolist() for block in part.fit.column_clusters]
        assert there == [[two, idle], [399, one]]
    np.testing.assert_allclose(better.Pi, close.Pi, atol=0.1)


def test_what_does_not_settle_is_said_and_stays(monkeypatch):
    d = gaussian_design(40, 20, seed=1)
    fit = rvamp(d.A, d.y, prior=Laplace(0.3, TwoPoint()), resampling=HALF)
    good, seen = condition_on_rows(fit, rows=2), []

    def broken(*arguments):
        seen.append(0)
        return (None, 7) if len(seen) == 2 else settled(*arguments)

    settled = room._solve_pattern
    monkeypatch.setattr(room, "_solve_pattern", broken)
    found = condition_on_rows(fit, rows=2)
    _, second, *_ = found.parts
    assert found.left == {f"pattern {second.chosen}": second.weight}
    assert second.fit is None and f"pattern {second.chosen} left" in repr(found)
    as_it_was = fit.Pi[found.columns]
    mixed = sum(p.weight * (p.fit.Pi if p.fit else as_it_was) for p in found.parts)
    np.testing.assert_allclose(found.Pi[found.columns], mixed)
    assert np.abs(found.Pi - good.Pi).max() < 0.3


@pytest.mark.parametrize(
    "options",
    [
        dict(prior=Laplace(0.2), resampling=HALF),
        dict(prior=ElasticNet(0.2, l1_ratio=0.6), resampling=Exponential(1.0)),
        dict(prior=NonNegative(0.2), resampling=Poisson(0.5)),
        dict(prior=Laplace(0.2), resampling=Discrete([0.0, 1.0, 3.0], [0.5, 0.3, 0.2])),
        dict(prior=Laplace(0.2), resampling=Stratified(HALF, np.arange(40) % 3)),
        dict(prior=Laplace(0.2), resampling=Grouped(HALF, np.arange(40) // 2)),
        dict(prior=Laplace(0.2), loss=Huber(0.5)),
        dict(prior=Laplace(0.2), loss=PoissonLoss(), intercept=True),
        dict(prior=Laplace(0.5), loss=Logistic(), intercept=True),
        dict(prior=Laplace(0.2), resampling=NoResampling()),
        dict(prior=Laplace(0.2, penalty_factor=[0.0, 0.0] + [1.0] * 13)),
    ],
)
def test_every_loss_law_and_penalty(options):
    """Numbers that are numbers, and not far from the diagonal's on a tame design."""
    M = 40 if "intercept" in options or "resampling" in options else 25
    A = gaussian_design(M, 15, rho=0.5, seed=1).A
    y = (np.random.default_rng(1).random(M) < 0.5 + 0.4 * np.sign(A[:, 3])) * 1.0
    fit = rvamp(A, y, **options)
    better = condition_on_rows(with_clusters(fit), rows=[2, 5])
    for part in (better.Pi, better.mean, better.var):
        assert part.shape == (15,) and np.isfinite(part).all()
    assert ((better.Pi >= 0) & (better.Pi <= 1)).all() and (better.var >= 0).all()
    assert np.abs(better.Pi - fit.Pi).max() < 0.25
    varies = options.get("resampling", Poisson()).var > 0
    assert len(better.parts) == (4 if varies else 1)


# Bad input ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tame():
    d = gaussian_design(40, 30, seed=0)
    return d.A, d.y


def test_a_pattern_of_groups_that_starts_anew_is_answered():
    """Near copies: no pattern settles from its neighbour's state."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 12))
    X[:, 1] = X[:, 0] + 1e-9 * X[:, 2]
    A, y = standardize(X)[0], 2 * X[:, 0] - X[:, 2] + rng.normal(size=40)
    law = Grouped(Subsample(0.5), np.repeat(np.arange(20), 2))
    fit = rvamp(A, y, prior=Laplace(0.5), resampling=law)
    found = condition_on_rows(fit, rows=2)
    assert len(found.parts) == 4 and ((0 <= found.Pi) & (found.Pi <= 1)).all()


def test_a_pattern_is_not_counted_once_more(tame):
    part = condition_on_rows(rvamp(*tame, 0.1), rows=1).parts[0]
    with pytest.raises(TypeError, match="one of a pattern"):
        condition_on_rows(part.fit)


def test_what_cannot_be_counted_is_refused(tame):
    with pytest.raises(TypeError, match="fit must be a Fit"):
        condition_on_rows(tame[0])
    with pytest.raises(ValueError, match="beta must be inf"):
        condition_on_rows(rvamp(*tame, 0.1, beta=1.0))
    with pytest.raises(TypeError, match="must select.*Ridge"):
        condition_on_rows(rvamp(*tame, prior=Ridge(0.1)))
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="not converged"):
        condition_on_rows(rvamp(*tame, 0.1, max_iter=2))
    A, y = (part[:7] for part in tame)
    with pytest.raises(ValueError, match="7 rows are too few, at least 8"):
        condition_on_rows(rvamp(A, y, 0.5))


@pytest.mark.parametrize(
    "options, words",
    [
        (dict(rows="some"), "rows must be"),
        (dict(rows=1.5), "rows must be a whole number or a list .* got 1.5"),
        (dict(rows=[[1], [2, 3]]), "rows must be a list of numbers from 0 to 39"),
        (dict(rows=41), "between 0 and 40, got 41"),
        (dict(rows=9), "up to 512 fits; name the rows"),
        (dict(rows=[40]), "numbers from 0 to 39"),
        (dict(rows=[1, 1]), "each once"),
    ],
)
def test_columns_and_rows_that_are_not_there(tame, options, words):
    with pytest.raises(ValueError, match=words):
        condition_on_rows(rvamp(*tame, 0.1), **options)


@pytest.mark.parametrize("M", [9, 41, 200_000])
def test_the_weights_of_halves_are_quotients_of_binomials(M):
    """By logarithms, which are quick for any M (two exact binomials took 7 s)."""

    def log_binomial(n, k):
        return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)

    n, rows = M // 2, [0, 3, 5, 8]
    found = {sum(g.chosen): g.weight for g in patterns(HALF, M, rows)}
    for k, weight in found.items():
        wanted = np.exp(log_binomial(M - 4, n - k) - log_binomial(M, n))
        np.testing.assert_allclose(weight, wanted, rtol=1e-12 * M + 1e-12)
    assert sorted(found) == [0, 1, 2, 3, 4]
    drawn = hypergeom.pmf(2, M, 4, n)  # two of the four, of which there are six ways
    np.testing.assert_allclose(6 * found[2], drawn, rtol=1e-9)
