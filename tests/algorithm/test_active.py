"""A rough step for a start: each column and each row by itself."""

import numpy as np
import pytest
from scipy import sparse

from rvamp_nb.algorithm.active import (
    LEAST_PRECISION,
    MATRICES,
    DiagonalStep,
    may_be_copied,
)
from rvamp_nb.algorithm.iteration import follow
from rvamp_nb.algorithm.likelihood import Logistic, Squared
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.problem import Breakdown, Problem
from rvamp_nb.algorithm.resampling import Subsample
from rvamp_nb.algorithm.start import initial_state
from rvamp_nb.algorithm.step import factor_replies
from rvamp_nb.tables import ChunkedTable

M, N = 40, 30


def zeros_and_ones():
    A = sparse.random_array((M, N), density=0.2, rng=np.random.default_rng(1))
    A.data[:] = 1
    return A


def problem_of(A, loss):
    rng = np.random.default_rng(2)
    y = rng.normal(size=M)
    if loss.name == "logistic":
        y = (y > 0) * 1.0
    return Problem(A, y, Laplace(0.3), loss, Subsample(0.5))


@pytest.mark.parametrize("loss", [Squared(), Logistic()])
@pytest.mark.parametrize("kind", ["array", "sparse", "rows", "columns"])
def test_each_entry_by_loops(loss, kind):
    """Of tables in chunks, too, whose columns are centred but not stored so."""
    raw = zeros_and_ones().tolil()
    raw[:, 3] = 0
    center = raw.toarray().mean(0)
    A = dense = raw.toarray() - center
    if kind == "sparse":
        A = ChunkedTable(raw.tocsc(), center=center, chunk_size=300)
    elif kind != "array":
        how = dict(axis=int(kind == "columns"), center=center, chunk_size=300)
        A = ChunkedTable(raw.toarray(), **how)
    problem = problem_of(dense, loss)
    state = initial_state(problem)
    taken = DiagonalStep(A)(problem._replace(A=A), state)
    replies = factor_replies(problem, state)
    x, u = replies.x, replies.u
    for i in range(N):
        Q = sum(dense[m, i] ** 2 * u.chi[m] for m in range(M))
        h = Q * x.mean[i] + sum(dense[m, i] * u.mean[m] for m in range(M))
        noise = sum(dense[m, i] ** 2 * u.var[m] for m in range(M))
        ours = [v[i] for v in taken.new.to_prior]
        np.testing.assert_allclose(
            ours, [max(Q, LEAST_PRECISION), h, noise], 1e-4, 1e-5
        )
    for m in range(M):
        V = sum(dense[m, i] ** 2 * x.chi[i] for i in range(N))
        h = V * u.mean[m] - sum(dense[m, i] * x.mean[i] for i in range(N))
        noise = sum(dense[m, i] ** 2 * x.var[i] for i in range(N))
        ours = [v[m] for v in taken.new.to_likelihood]
        np.testing.assert_allclose(ours, [V, h, noise], 1e-4, 1e-5)


@pytest.mark.parametrize("share, settles", [(0.0, True), (0.9, False)])
def test_it_settles_where_columns_are_independent(share, settles):
    rng = np.random.default_rng(3)
    loadings = share**0.5 * rng.normal(size=(2, 200))
    A = rng.normal(size=(150, 2)) @ loadings + rng.normal(size=(150, 200))
    A /= np.linalg.norm(A, axis=0)
    y = 3 * A[:, :9].sum(1) + 0.3 * rng.normal(size=150)
    lam = 0.3 * np.abs(A.T @ y).max()
    problem = Problem(A, y, Laplace(lam), Squared(), Subsample(0.5))

    def enough(changes):
        return changes[-1] < 1e-3 or len(changes) == 40

    last, changes = follow(problem, None, enough, DiagonalStep(A))
    if not settles:
        assert last is None or changes[-1] > 0.1
        return
    exact, _ = follow(problem, None, enough)
    assert changes[-1] < 1e-3
    np.testing.assert_allclose(last.x.rho, exact.x.rho, atol=0.1)


def test_of_a_file_a_copy_is_held_that_is_small_beside_a_step():
    zeros = np.zeros((10, 10 * MATRICES + 1), dtype=np.int8)
    table = ChunkedTable(zeros)
    narrower = table.take_columns(range(10 * MATRICES))
    assert may_be_copied(zeros) and may_be_copied(narrower)
    assert not may_be_copied(table)
    assert may_be_copied(ChunkedTable(sparse.csc_array(zeros)))


def test_what_is_not_finite_is_a_breakdown():
    A = zeros_and_ones().toarray()
    problem = problem_of(A, Squared())
    state = initial_state(problem)
    state.to_prior.h[0] = np.nan
    with pytest.raises(Breakdown, match="not finite"):
        DiagonalStep(A)(problem, state)
