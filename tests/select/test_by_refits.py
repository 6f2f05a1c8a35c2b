"""Answers by refits, where these cost less than the steps of a search."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from rvamp_nb import (
    ElasticNet,
    NonNegative,
    Poisson,
    StabilitySelection,
    Subsample,
    naive_bootstrap,
    p2,
    rvamp,
)
from rvamp_nb.algorithm import active
from rvamp_nb.inference import refits, turns
from rvamp_nb.inference.refits import refitter
from rvamp_nb.inference.turns import DiagonalTurns, TurnsByProducts
from rvamp_nb.select import by_refits, features
from rvamp_nb.select.report import headline
from rvamp_nb.select.wording import facts
from rvamp_nb.tables import ChunkedTable


def sparse_table(M=600, N=150, density=0.03, seed=0):
    """A sparse table with four effects."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((M, N), density=density, rng=rng, format="csc")
    X.data[:] = 1.0
    return X, X[:, :4] @ np.ones(4) + 0.7 * rng.normal(size=M)


@pytest.fixture(scope="module")
def both():
    """The same small table by refits and by steps of rVAMP."""
    X, y = sparse_table()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_refits, "PRODUCTS_A_STEP", 1e6)
        patch.setattr(features, "CHUNK_NUMBERS", 1)
        by = StabilitySelection(verbose=0).fit(X, y)
    return by, StabilitySelection(verbose=0).fit(X, y)


def test_refits_find_the_penalty_and_the_answer_of_steps(both):
    by, steps = both
    assert by.selection_.by_refits and not steps.selection_.by_refits
    assert by.lambda_ == pytest.approx(steps.lambda_, rel=0.02)
    assert by.get_support().tolist() == steps.get_support().tolist()
    error = np.hypot(by.refined_.Pi_se, steps.refined_.Pi_se)
    assert (
        np.sqrt(np.mean(((by.probabilities_ - steps.probabilities_) / error) ** 2)) < 1
    )
    assert by.refined_.Pi_se.max() <= 0.02
    assert by.probabilities_.sum() == pytest.approx(by.q_, rel=0.1)


def test_the_first_line_says_which_way_the_answer_came(both):
    by, steps = both
    said = "by refits, which cost less here than steps of rVAMP"
    assert said in headline(by.selection_)
    assert "by refits" not in headline(steps.selection_)
    rvamp = "together with rVAMP, which computes Π without refits, as accurate as"
    assert rvamp in dict(facts(steps.selection_))["refits"]
    assert "together" not in dict(facts(by.selection_))["refits"]


def test_densities_are_made_when_they_are_asked_for(both):
    by, steps = both
    wide = p2(by, [0, 1]).covariance
    at = steps.question_.solve(by.lambda_)
    factor = np.outer(*[steps.selection_.question.columns.unit[:2]] * 2)
    assert wide == pytest.approx(p2(at, [0, 1]).covariance * factor, rel=1e-3)
    assert by.substitutes()[:4] == steps.substitutes()[:4]
    assert np.isfinite(by.selection_.enters_at_pfer).any()


def test_a_small_table_takes_steps():
    X, y = sparse_table()
    s = StabilitySelection(n_resamples=0, verbose=0).fit(X, y)
    asked = dict(s.get_params(), n_resamples=None)
    assert not by_refits.refits_are_cheaper(s.question_, asked)
    large = sparse.random_array((5000, 2000), density=0.01, rng=0, format="csc")
    question = replace(s.question_, A=ChunkedTable(large))
    assert by_refits.refits_are_cheaper(question, asked)
    for other in (dict(n_resamples=0), dict(lambdas=[1.0])):
        assert not by_refits.refits_are_cheaper(question, asked | other)


@pytest.mark.parametrize("start", [True, False])
def test_exact_refits_of_a_sparse_table_are_those_of_the_array(start):
    X, y = sparse_table(200, 60, 0.05)
    rng = np.random.default_rng(2)
    counts = (rng.random((5, 200)) < 0.5) * 1.0
    counts[0] = 0
    fits = [rvamp(A, y, 0.5, resampling=Subsample(0.5)) for A in (X, X.toarray())]
    first = sparse.csr_array(np.eye(5, 61)) if start else None
    x, _ = refitter(fits[0])(counts, np.ones((5, 1)), first)
    truth, _ = refitter(fits[1])(counts, np.ones((5, 1)))
    assert x.toarray() == pytest.approx(truth, abs=1e-9)
    assert (truth[1:] != 0).sum(1).min() > 5


LAWS = {"halves": Subsample(0.5), "counts": Poisson(1.0)}
PENALTIES = {"net": ElasticNet(30.0, l1_ratio=0.9), "signed": NonNegative(30.0)}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_exact_refits_of_many_rows_are_those_of_one_at_a_time(
    law, penalty, monkeypatch
):
    """Whatever is guessed, and with an intercept."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 30)) + 0.5 * rng.normal(size=(400, 1))
    y = X[:, :4] @ [3.0, -2.0, 1.0, 1.0] + 2 * rng.normal(size=400)
    prior = PENALTIES[penalty]
    fit = rvamp(X, y, prior=prior, resampling=LAWS[law], intercept=True)
    counts = np.array([LAWS[law].draw(400, rng) for _ in range(9)])
    factor = rng.choice([1.0, 2.0], (9, 30))
    monkeypatch.setattr(refits, "LONG", np.inf)
    exact, level = refitter(fit)(counts, factor)
    assert (exact != 0).sum(1).min() >= 3
    monkeypatch.setattr(refits, "LONG", 100)
    guess = np.c_[exact * (rng.random(exact.shape) < 0.7), level]
    guess[:, ::7] += 1
    for start in None, sparse.csr_array(guess):
        x, found = refitter(fit)(counts, factor, start)
        np.testing.assert_allclose(x.toarray(), exact, atol=1e-10)
        np.testing.assert_allclose(found, level, atol=1e-10)


def test_of_copies_many_rows_refit_one(monkeypatch):
    monkeypatch.setattr(refits, "LONG", 100)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 6))
    X = np.hstack([X, X])
    y = X[:, 0] + rng.normal(size=400)
    fit = rvamp(X, y, 20.0, resampling=Subsample(0.5))
    counts = np.array([Subsample(0.5).draw(400, rng) for _ in range(9)])
    x, _ = refitter(fit)(counts, np.ones((9, 1)))
    pull = np.abs((counts * (y - x @ X.T)) @ X)
    assert pull.max() <= 20 * (1 + 1e-6) and (pull[x.toarray() != 0] >= 19.999).all()


def test_exact_refits_begin_with_few_columns(monkeypatch):
    monkeypatch.setattr(refits, "MOST_ADDED", 1)
    test_exact_refits_of_a_sparse_table_are_those_of_the_array(False)


def test_turns_of_products_settle_at_refits():
    X, y = sparse_table(400, 100)
    fit = rvamp(X, y, 0.8, resampling=Subsample(0.5))
    counts = (np.random.default_rng(3).random((30, 400)) < 0.5) * 1.0
    few, settled = DiagonalTurns(fit).levels(counts, np.ones((30, 1)), True)
    exact = refitter(fit)(counts, np.ones((30, 1)))[0].toarray()
    assert np.mean((settled != 0) != (exact != 0)) < 0.004
    assert np.mean((few != 0) != (exact != 0)) < 0.06


@pytest.mark.parametrize("intercept", [True, False])
def test_columns_out_of_play_come_in_where_they_pull_too_hard(intercept, monkeypatch):
    """Whoever is in play at first: turns end where those of all columns end."""
    rng = np.random.default_rng(3)
    X = sparse.random_array((400, 100), density=0.05, rng=rng, format="csc")
    X.data = rng.normal(size=X.nnz)
    y = X[:, :6] @ np.ones(6) + 0.7 * rng.normal(size=400)
    fit = rvamp(X, y, 2.0, resampling=Subsample(0.5), intercept=intercept)
    counts = (rng.random((10, 400)) < 0.5) * 1.0
    factor = rng.choice([1.0, 1.5], size=(10, 100))
    _, settled = TurnsByProducts(fit).levels(counts, factor, True)
    sizes = []
    levels_on = DiagonalTurns._levels_on

    def noted(room, in_play, *resamples):
        sizes.append(in_play.sum())
        return levels_on(room, in_play, *resamples)

    monkeypatch.setattr(DiagonalTurns, "_levels_on", noted)
    monkeypatch.setattr(turns, "IN_PLAY_FROM", 2.0)
    few, found = DiagonalTurns(fit).levels(counts, factor, True)
    assert sizes[0] < 20 and len(sizes) > 1
    assert found == pytest.approx(settled, abs=1e-5)
    assert ((found != 0) == (settled != 0)).all()
    # the first level has the columns that are in play at first
    assert few.any(0).sum() <= sizes[0] < settled.any(0).sum()


def test_where_nothing_pulls_nothing_is_selected():
    X, y = sparse_table(400, 100)
    fit = rvamp(X, y, 100.0, resampling=Subsample(0.5))
    few, settled = DiagonalTurns(fit).levels(np.ones((3, 400)), np.ones((3, 1)), True)
    assert not few.any() and not settled.any()


def test_a_step_that_cannot_fit_is_refused_with_the_numbers(monkeypatch):
    monkeypatch.setattr(active, "machine_memory", lambda: 2.0**20)
    A = np.random.default_rng(0).normal(size=(200, 300))
    with pytest.raises(MemoryError, match="6 matrices of 200 x 200: .* fewer columns"):
        rvamp(A, A[:, 0], 1.0)
    assert active.step_for(A[:100, :100]) is not None


def test_memory_is_unknown_without_a_system_that_tells(monkeypatch):
    monkeypatch.setattr(active.os, "sysconf", lambda name: 2**11, raising=False)
    assert active.machine_memory() == 2**22
    monkeypatch.delattr(active.os, "sysconf")
    assert active.machine_memory() == np.inf


def test_the_truth_is_brute_force(both):
    by, _ = both
    q = by.question_
    found = naive_bootstrap(
        q.A[:, :],
        q.target.y,
        prior=q.prior.scaled(by.lambda_),
        n_resamples=300,
        resampling=q.counts,
        random_state=9,
        verbose=False,
    )
    # of a feature that none of 300 refits selects their share says little
    variance = np.maximum(by.probabilities_ * (1 - by.probabilities_), 1e-3) / 300
    z = (by.probabilities_ - found.Pi) / np.sqrt(by.refined_.Pi_se**2 + variance)
    assert 0.6 < np.sqrt(np.mean(z**2)) < 1.2 and np.abs(z).max() < 4
