"""Networks: neighbours against the Lasso of another package, edges against the naive
bootstrap, the error of pairs against repetitions, and columns that are no nodes.
"""

from itertools import islice

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso

from rvamp_nb import Subsample, naive_bootstrap, neighbourhoods
from rvamp_nb.select import edges as room
from rvamp_nb.select import networks
from rvamp_nb.select.edges import edges_of_halves, halves, neighbours, penalty_for
from rvamp_nb.select.error_control import pfer_bound
from rvamp_nb.tables.standardize import unit_columns


def chain(M, N, seed=0, strength=0.7):
    """Columns of which each depends on the one before, (M, N)."""
    X = np.random.default_rng(seed).normal(size=(M, N))
    for j in range(1, N):
        X[:, j] += strength * X[:, j - 1]
    return X


X = chain(80, 12)
A = unit_columns(X)[0]


@pytest.mark.parametrize("M, N, strength, lam", [(60, 8, 0.7, 0.1), (20, 30, 1, 0.05)])
def test_neighbours_are_those_of_the_lasso(M, N, strength, lam):
    B = unit_columns(chain(M, N, 1, strength))[0]
    rows = halves(M, range(3), 0).reshape(6, -1)
    G = np.swapaxes(B[rows], 1, 2) @ B[rows]
    found, solved = neighbours(G, lam)
    assert solved.all() and not found[:, range(N), range(N)].any()
    how = dict(alpha=lam / (M // 2), fit_intercept=False, tol=1e-13, max_iter=10**6)
    for h, i in np.ndindex(6, N):
        rest = np.arange(N) != i
        half = B[rows[h]]
        b = Lasso(**how).fit(np.asfortranarray(half[:, rest]), half[:, i]).coef_
        assert ((b != 0) == found[h, i, rest]).all()


def test_edges_against_the_naive_bootstrap():
    lam, n, kept = penalty_for(8.0, A, "and", 0), 400, []
    for i in range(12):
        rest = np.arange(12) != i
        how = dict(resampling=Subsample(0.5), keep=range(11))
        how |= dict(n_resamples=n, random_state=3, verbose=False)
        draws = naive_bootstrap(A[:, rest], A[:, i], lam, **how).draws
        kept.append(np.insert(draws, i, 0, axis=1) != 0)
    there = np.transpose(kept, (1, 0, 2))  # of one seed: the halves are the same
    back = there.swapaxes(1, 2)
    for rule, joined in (("and", there & back), ("or", there | back)):
        pairs = edges_of_halves(A, lam, rule, range(n), 0)
        Pi = np.concatenate([edges for edges, _ in pairs]).mean((0, 1))
        share = joined.mean(0)
        twenty = np.argsort(-np.triu(share, 1), axis=None)[:20]
        error = np.sqrt(np.maximum(share * (1 - share), 0.003) * 1.5 / n)
        off = ((Pi - share) / error).ravel()[twenty]
        assert np.abs(off).max() < 4 and share.ravel()[twenty].min() < 0.1


def test_the_standard_error_is_that_of_repetitions():
    lam, n = penalty_for(8.0, A, "and", 0), 20
    each = [room.edge_shares(A, lam, "and", n, seed, False) for seed in range(60)]
    Pi, se, *_ = map(np.array, zip(*each))
    play = np.abs(Pi.mean(0) - 0.5) < 0.35
    ratio = Pi.var(0)[play].mean() / (se**2).mean(0)[play].mean()
    assert play.sum() > 10 and 0.75 < ratio < 1.3
    independent = (Pi.mean(0) * (1 - Pi.mean(0)))[play].mean() / (2 * n)
    assert Pi.var(0)[play].mean() < 0.95 * independent  # complementary halves


@pytest.mark.parametrize("rule", ["and", "or"])
def test_q_edges_are_selected_and_the_bound_counts_edges(rule):
    found = neighbourhoods(X, rule=rule, pfer=2, threshold=0.8, n_resamples=200)
    p = 12 * 11 // 2
    wanted = np.sqrt(2 * p * 0.6)
    assert 0.93 * wanted < found.q < 1.03 * wanted
    assert found.pfer == pfer_bound(found.q, 0.8, p) and found.threshold == 0.8
    assert found.q == pytest.approx(found.probabilities.sum() / 2)
    assert (found.probabilities == found.probabilities.T).all()
    assert not found.probabilities.diagonal().any()
    assert (found.settled == 1).all() and found.notes == ()


def test_and_asks_for_both():
    lam = 0.15
    both, one = (
        np.concatenate([e for e, _ in edges_of_halves(A, lam, rule, range(30), 0)])
        for rule in ("and", "or")
    )
    assert (both <= one).all() and (both != one).any()


def test_units_and_signs_change_nothing():
    scale = np.random.default_rng(0).normal(size=12) * 10.0 ** np.arange(-6, 6)
    first, second = (neighbourhoods(Z, n_resamples=40) for Z in (X, X * scale + 3))
    assert np.allclose(first.probabilities, second.probabilities, atol=0.03)
    assert second.penalty == pytest.approx(first.penalty, rel=1e-6)


def test_pairs_depend_on_seed_and_number_only(monkeypatch, few_pilots):
    first = neighbourhoods(X, n_resamples=31)
    monkeypatch.setattr(room, "GRAMS_AT_ONCE", 1)
    second = neighbourhoods(X, n_resamples=32)
    assert first.n_resamples == second.n_resamples == 32
    assert (first.probabilities == second.probabilities).all()
    other = neighbourhoods(X, n_resamples=32, random_state=1)
    assert (first.probabilities != other.probabilities).any()
    rows = halves(9, range(4), 0)
    assert rows.shape == (4, 2, 4)
    assert all(len({*pair.ravel()}) == 8 for pair in rows)


def test_columns_that_are_no_nodes():
    table = pd.DataFrame(X[:, :6], columns=list("abcdef"))
    plain = neighbourhoods(table, n_resamples=60)
    odd = table.assign(batch=1.0, again=5 - 2 * table["c"])
    found = neighbourhoods(odd[["batch", *"abcdef", "again"]], n_resamples=60)
    assert found.notes == (
        "constant columns have no edges: batch",
        "copies have the edges of the column that they repeat: again",
    )
    assert (found.probabilities[1:7, 1:7] == plain.probabilities).all()
    assert found.q == plain.q and found.pfer == plain.pfer
    assert not found.probabilities[0].any() and found.settled[0] == 1
    assert found.probabilities[7, 3] == 1 and found.standard_errors[7, 3] == 0
    assert (
        found.probabilities[7, [1, 2, 4]] == plain.probabilities[2, [0, 1, 3]]
    ).all()
    pd.testing.assert_frame_equal(found.edges, plain.edges)


def test_the_table_of_edges():
    found = neighbourhoods(X, pfer=3, n_resamples=100)
    at = found.edges.probability[5]
    edges = found._replace(threshold=at).edges
    assert edges.probability.is_monotonic_decreasing and (edges.probability > 0).all()
    assert (edges["first"] != edges["second"]).all()
    assert (edges.selected == (edges.probability >= at)).all()
    near = np.abs(edges.probability - at) <= 2 * edges.se
    assert (edges.undecided == near).all() and near.any() and not near.all()


def test_what_is_not_solved_is_named(monkeypatch):
    monkeypatch.setattr(room, "MOST_SWEEPS", 1)
    found = neighbourhoods(X, pfer=3, n_resamples=40)
    assert (found.settled < 1).any()
    assert found.notes[0].startswith("regressions that were not solved in every half:")


@pytest.fixture
def few_pilots(monkeypatch):
    """Find the penalty by a sixth of the halves: its digits are not in question."""
    monkeypatch.setattr(room, "TRIED", 4)


def test_few_rows_are_seen(few_pilots):
    """Four of a half select four columns at most, however small the penalty is."""
    rng = np.random.default_rng(0)
    found = neighbourhoods(rng.normal(size=(8, 12)), q=60, n_resamples=10)
    assert found.q < 40 and found.notes[-1].endswith("not q = 60")
    rare = np.eye(40)[:, :5] - np.eye(40)[:, 5:10]  # zeros in most of the halves
    found = neighbourhoods(np.c_[rare, rng.normal(size=40)], n_resamples=20)
    assert np.isfinite(found.probabilities).all() and (found.settled == 1).all()


def test_a_line_and_a_picture():
    import matplotlib.pyplot as plt

    found = neighbourhoods(X, pfer=3, n_resamples=100)
    assert repr(found).startswith("Network(12 columns, ") and "\n" not in repr(found)
    ax = found.plot()
    assert {text.get_text() for text in ax.texts} == {f"x{i}" for i in range(12)}
    dashed = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert len(dashed) == found.edges.undecided.sum()
    plt.close(ax.figure)


@pytest.mark.parametrize(
    "change, error, words",
    [
        (dict(rule="xor"), ValueError, "rule must be 'and' or 'or', got 'xor'"),
        (dict(X=X[:3]), ValueError, "four rows or more, got shape"),
        (dict(X=X[:, 0]), ValueError, "got shape"),
        (dict(X=X[:, :2]), ValueError, "three columns .* X has 2"),
        (dict(X=X[:, [0, 1, 1, 0]]), ValueError, "three columns .* X has 2"),
        (dict(X=pd.DataFrame(X).mask(X > 2)), ValueError, "NaN: column"),
        (dict(X=np.where(X > 2, np.nan, X)), ValueError, "NaN or infinite"),
        (dict(X=[["a", "b", "c"]] * 5), ValueError, "column 0 of X .* holds 'a'"),
        (dict(n_resamples=3), ValueError, "n_resamples must be at least 4"),
        (dict(random_state=-1), ValueError, "random_state"),
        (dict(q=100), ValueError, "q must lie in"),
        (dict(q=5, pfer=1, threshold=0.8), ValueError, "at most two"),
    ],
)
def test_what_is_refused(change, error, words):
    with pytest.raises(error, match=words):
        neighbourhoods(**dict(X=X) | change)


def test_the_bound_is_kept_where_halves_select_more():
    for seed in range(4):
        X = np.random.default_rng(seed).normal(size=(40, 8))
        found = neighbourhoods(X, n_resamples=200, verbose=False)
        assert found.pfer <= 1 + 1e-9 and found.threshold >= 0.75
    alone = neighbourhoods(X, q=3.0, n_resamples=200, verbose=False)
    assert alone.threshold == 0.75  # for q alone nothing was promised


def test_an_interrupt_keeps_the_halves_that_were_made(monkeypatch):
    whole = neighbourhoods(X, q=8, n_resamples=40)
    made, last = edges_of_halves, penalty_for(8.0, A, "and", 0)
    monkeypatch.setattr(room, "GRAMS_AT_ONCE", 10 * 12 * 80)  # ten pairs at once
    monkeypatch.setattr(networks, "penalty_for", lambda *_: last)

    def interrupted_after(n):
        def parts(*args):
            yield from islice(made(*args), n)
            raise KeyboardInterrupt

        monkeypatch.setattr(room, "edges_of_halves", parts)
        return neighbourhoods(X, q=8, n_resamples=40)

    found = interrupted_after(1)
    assert found.n_resamples == 20
    assert found.notes[-1] == "interrupted: 20 of 40 halves were made"
    monkeypatch.setattr(room, "edges_of_halves", made)
    same = neighbourhoods(X, q=8, n_resamples=20)
    np.testing.assert_array_equal(found.probabilities, same.probabilities)
    np.testing.assert_array_equal(found.standard_errors, same.standard_errors)
    assert whole.n_resamples == 40 and "interrupted" not in "".join(whole.notes)
    with pytest.raises(KeyboardInterrupt):
        interrupted_after(0)
