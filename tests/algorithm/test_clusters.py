"""Columns taken together: the small Lassos, the message of a block, a fit in blocks and
what is asked of it, bad input.
"""

import numpy as np
import pandas as pd
import pytest

from rvamp_nb.algorithm.cluster_channel import (
    FEW,
    NODES,
    CavityInput,
    at_quadrature,
    cluster_message,
    decorrelating_basis,
    solve_lassos,
)
from rvamp_nb.algorithm.clusters import LARGEST, _make_definite, find_clusters
from rvamp_nb.algorithm.densities import p1, p2
from rvamp_nb.algorithm.energy import free_energy, stability_radius
from rvamp_nb.algorithm.groups import BlockLayout
from rvamp_nb.algorithm.likelihood import Logistic
from rvamp_nb.algorithm.prior import ElasticNet, Laplace, NonNegative, Ridge, SpikeSlab
from rvamp_nb.algorithm.problem import Breakdown
from rvamp_nb.algorithm.resampling import (
    Grouped,
    NoResampling,
    Poisson,
    Subsample,
    TwoPoint,
)
from rvamp_nb.algorithm.solver import rvamp, with_clusters
from rvamp_nb.course.conditioning import condition_on_rows
from rvamp_nb.datasets import gaussian_design
from rvamp_nb.exceptions import ConvergenceWarning
from rvamp_nb.inference.batch_glm import penalised_fit
from rvamp_nb.inference.bootstrap import naive_bootstrap
from rvamp_nb.inference.effects import debiased_effects
from rvamp_nb.inference.refinement import refine
from rvamp_nb.tables.chunked import ChunkedTable

HALF = Subsample(0.5)


# One block ----------------------------------------------------------------------------


@pytest.mark.parametrize("positive", [False, True])
def test_small_lassos_against_penalised_fit(positive):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(12, 1)) + 0.03 * rng.normal(size=(12, 6))
    Y = rng.normal(size=(25, 12))
    t, k = rng.uniform(0, 2, size=(2, 25, 6))
    Q = np.array([X.T @ X, X.T @ X + np.eye(6)])
    block = np.arange(25) % 2
    k -= block[:, None] * k.min()  # the second's ridge is partly in its Q
    x, unsure = solve_lassos(Q, block, Y @ X, t, k, positive)
    assert unsure == 0
    k += block[:, None]
    for y, t_b, k_b, found in zip(Y, t, k, x):
        truth = penalised_fit(X, y, t_b, k_b, np.ones(12), positive=positive)
        np.testing.assert_allclose(found, truth, atol=1e-7)


@pytest.mark.parametrize("spread", [0.3, 0.003])
@pytest.mark.parametrize("positive", [False, True])
def test_signs_of_twelve_near_copies_settle(spread, positive):
    rng = np.random.default_rng(12)
    X = rng.normal(size=(20, 1)) + spread * rng.normal(size=(20, 12))
    X *= rng.choice([-1, 1], 12)
    g, t = rng.normal(size=(5_000, 20)) @ X, rng.uniform(0.1, 2, size=(5_000, 12))
    Q, block = (X.T @ X)[None], np.zeros(5_000, int)
    x, unsure = solve_lassos(Q, block, g, t, 0 * t, positive)
    rest = g - x @ Q[0]
    assert unsure == 0 and (np.abs(rest - t * np.sign(x))[x != 0] < 1e-6).all()
    assert ((rest if positive else np.abs(rest)) <= t + 1e-6)[x == 0].all()


def cavities(rng, B, d):
    """Cavities of B blocks of d columns, (B, d) and twice (B, d, d)."""
    X, Y = rng.normal(size=(2, B, 3 * d, d))
    X[..., -1] = X[..., 0] + 0.2 * X[..., -1]
    Q, C = (np.swapaxes(Z, 1, 2) @ Z / 3 for Z in (X, Y))
    return CavityInput(rng.normal(size=(B, d)), Q, C)


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("kind", [Laplace, ElasticNet, NonNegative])
def test_a_gaussian_with_the_message_has_the_moments_of_the_block(kind, d):
    rng = np.random.default_rng(d)
    given, columns = cavities(rng, 4, d), rng.permutation(4 * d).reshape(4, d)
    nodes = at_quadrature(kind(1.0), columns, 4 * d, given)
    moments, (D, r, T) = cluster_message(nodes, given)
    _, t = decorrelating_basis(D, T)
    assert (t >= 0).all() and (np.linalg.eigvalsh(D) > -1e-12).all()
    close = dict(atol=1e-9)
    np.testing.assert_array_equal(D, np.swapaxes(D, 1, 2))
    for b, (h, Q, C, mean, chi, v) in enumerate(zip(*given, *moments)):
        slack = np.eye(d) - chi @ Q
        np.testing.assert_allclose(slack @ D[b], chi, **close)
        np.testing.assert_allclose(slack @ r[b] + chi @ h, mean, **close)
        v_2 = slack @ T[b] @ slack.T + chi @ C @ chi.T
        np.testing.assert_allclose(v_2, v, **close)


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("kind", [Laplace, NonNegative])
def test_moments_are_derivatives_of_the_gain(kind, d):
    """Of x'Qx / 2, by which the best x is better than 0, on average. By the field,
    exactly at any points; by precision and covariance, too, but for what is not
    symmetric in a mean over points.
    """
    rng = np.random.default_rng(d)
    given, columns = cavities(rng, 4, d), np.arange(4 * d).reshape(4, d)
    solved = lambda cavity: at_quadrature(kind(1.0), columns, 4 * d, cavity, NODES)

    def gain(cavity):
        x = solved(cavity).x
        return np.sum(x @ cavity.Sigma * x, (1, 2)) / (2 * NODES)

    nodes = solved(given)
    square = np.swapaxes(nodes.x, 1, 2) @ nodes.x / NODES
    for name, expected, off in (
        ("mean", nodes.x.mean(1)[:, 1], 1e-6),
        ("Sigma", -square[:, 0, 1], 1e-6),
        ("noise", (nodes.response[:, 0, 1] + nodes.response[:, 1, 0]) / 2, 0.02),
    ):
        move = np.zeros(getattr(given, name).shape)
        move[(slice(None), 1) if name == "mean" else (slice(None), [0, 1], [1, 0])] = 1
        up, down = (
            gain(given._replace(**{name: getattr(given, name) + side * 1e-5 * move}))
            for side in (1, -1)
        )
        size = np.abs(expected).max()
        np.testing.assert_allclose((up - down) / 2e-5, expected, atol=off * size + 1e-9)


def test_a_response_is_the_derivative_of_the_mean():
    given = cavities(np.random.default_rng(2), 4, 2)
    ask = lambda cavity: at_quadrature(
        Laplace(1.0), np.arange(8).reshape(4, 2), 8, cavity, NODES
    )
    step = np.array([0.02, 0])  # points change their signs in between
    up, down = (ask(given._replace(mean=given.mean + side * step)) for side in (1, -1))
    slope = (up.x.mean(1) - down.x.mean(1)) / 0.04
    size = np.abs(slope).max()
    np.testing.assert_allclose(ask(given).response[:, 0], slope, atol=0.02 * size)


def test_where_nothing_is_random_the_response_is_that_of_the_face():
    Q = np.array([[[2.0, 1.0], [1.0, 2.0]]])
    still = CavityInput(np.array([[3.0, 2.5]]), Q, 0 * Q)
    nodes = at_quadrature(Laplace(0.5), np.array([[0, 1]]), 2, still)
    np.testing.assert_allclose(nodes.response, np.linalg.inv(Q), rtol=1e-12)
    np.testing.assert_allclose(cluster_message(nodes, still)[1][2], 0, atol=1e-20)


# A fit in blocks ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        dict(prior=Laplace(0.2), resampling=HALF),
        dict(prior=Laplace(0.2), intercept=True, loss=Logistic()),
        dict(prior=ElasticNet(0.2), resampling=Grouped(HALF, np.arange(60) // 2)),
        dict(prior=NonNegative(0.1, TwoPoint()), resampling=Poisson(0.5)),
    ],
)
@pytest.mark.parametrize("N", [30, 90])
def test_both_factors_agree_at_the_fixed_point_of_blocks(options, N):
    """Means and variances, of wide and of tall tables; and the cavities are those of
    the block left out.
    """
    A = gaussian_design(60, N, rho=0.9, seed=1).A
    y = (np.random.default_rng(1).random(60) < 0.5 + 0.4 * np.sign(A[:, 3])) * 1.0
    fit = rvamp(A, y, **options)
    close = with_clusters(fit, [[2, 3, 4], [9, 8], [20, 21], [28]])
    last = close.last
    assert close.converged and max(last.change, last.delta) < 1e-6
    assert [block.tolist() for block in close.column_clusters] == [
        [2, 3, 4],
        [9, 8],
        [20, 21],
    ]
    mean, var = last.coupled.x.mean, last.coupled.x.var
    # the blocks have changed something
    assert np.abs(mean - fit.last.x.mean).max() > 1e-4
    np.testing.assert_allclose(last.x.mean, mean, atol=1e-6 * np.abs(mean).max())
    np.testing.assert_allclose(last.x.var, var, atol=1e-6 * var.max())
    np.testing.assert_allclose(last.x.chi, last.coupled.x.chi, rtol=1e-5)
    few = close.problem.prior.averages(last.state.to_prior, FEW)
    np.testing.assert_allclose(few[1], last.x.mean[:N], atol=1e-9)
    # read off at many points, nearly the same
    off = np.abs(close.mean - last.x.mean[:N]) / np.sqrt(var[:N])
    assert 0 < off.max() < 0.15


def test_blocks_of_columns_that_do_not_see_each_other_change_nothing():
    A = np.linalg.qr(np.random.default_rng(3).normal(size=(80, 12)))[0]
    y = 4 * A[:, :3].sum(1) + np.random.default_rng(4).normal(size=80)
    fit = rvamp(A, y, 0.5, resampling=HALF)
    same = with_clusters(rvamp(A, y, 0.5, resampling=HALF), [range(6), [7, 9]])
    np.testing.assert_allclose(same.Pi, fit.Pi, atol=0.01)
    np.testing.assert_allclose(same.var, fit.var, rtol=0.03)


def test_without_resampling_a_block_has_no_noise_below_zero():
    """Rounding made some, and the iteration broke down."""
    A, y, *_ = gaussian_design(150, 150, rho=0.5, seed=6)
    prior = Laplace(0.05 * np.abs(A.T @ y).max())
    fit = rvamp(A, y, prior=prior, resampling=NoResampling())
    same = with_clusters(fit, find_clusters(A, fit.Pi))
    assert len(same.column_clusters) == 1 and same.converged
    np.testing.assert_allclose(same.mean, fit.mean, atol=1e-2 * fit.mean.max())
    np.testing.assert_allclose(same.var, 0, atol=1e-9)


def test_blocks_are_small_and_disjoint():
    A = gaussian_design(80, 200, rho=0.99, seed=0).A
    blocks = find_clusters(A, (np.arange(200) % 2 == 0) * 0.5)
    together = np.concatenate(blocks)
    assert max(map(len, blocks)) <= LARGEST and min(map(len, blocks)) >= 2
    assert len(set(together)) == len(together) and not (together % 2).any()
    assert find_clusters(np.linalg.qr(A[:, :20])[0], np.ones(20)) == []
    assert find_clusters(ChunkedTable(A), np.ones(200)) == []


def test_blocks_of_one_column_change_no_bit(tame):
    fit = rvamp(*tame, 0.1)
    for blocks in ([], [[3], [7]]):
        same = with_clusters(rvamp(*tame, 0.1), blocks)
        np.testing.assert_array_equal(same.Pi, fit.Pi)
        assert same.status == fit.status and same.column_clusters == []


def test_a_pair_that_is_always_selected_is_the_linear_one():
    """Then nothing is beyond the diagonal: responses, means and variances are its."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(80, 10))
    A[:, 1] = A[:, 0] + 0.5 * A[:, 1]
    A -= A.mean(0)
    A /= np.linalg.norm(A, axis=0)
    y = A[:, :3] @ [30.0, -30.0, 25.0] + rng.normal(size=80)
    model = dict(prior=Laplace(0.5), resampling=Poisson(0.5))
    alone, close = (with_clusters(rvamp(A, y, **model), b) for b in ([], [[0, 1]]))
    assert (close.Pi[:2] > 0.99).all()
    for name in ("mean", "var", "chi"):
        ours, theirs = (getattr(fit, name)[:3] for fit in (close, alone))
        np.testing.assert_allclose(ours, theirs, rtol=0.01)


def test_what_rounding_has_made_negative_is_mended_and_more_is_refused():
    copies = np.ones((1, 2, 2)) - 1e-7 * np.eye(2)
    mended = _make_definite(copies)
    assert (np.linalg.eigvalsh(mended) > 0).all()
    np.testing.assert_allclose(mended, copies, atol=1e-6)
    with pytest.raises(Breakdown, match="of a cluster is not positive definite"):
        _make_definite(copies - 1e-3 * np.eye(2))


def test_twins_are_told_apart_no_more_and_share():
    """Exact copies, of which the diagonal knows nothing."""
    d = gaussian_design(60, 12, seed=3)
    A = np.column_stack([d.A, d.A[:, 0], -d.A[:, 1]])
    prior = Laplace(0.3 * np.abs(A.T @ d.y).max())
    fit = with_clusters(rvamp(A, d.y, prior=prior, resampling=HALF), [[0, 12], [13, 1]])
    one = rvamp(d.A, d.y, prior=prior, resampling=HALF)
    assert fit.converged
    together = fit.mean[[0, 1]] + [1, -1] * fit.mean[[12, 13]]
    np.testing.assert_allclose(together, one.mean[:2], atol=0.01 * one.mean.max())
    np.testing.assert_allclose(fit.Pi[2:12], one.Pi[2:], atol=0.01)


# What is asked of it ------------------------------------------------------------------


def twins(M=60, seed=1):
    """Two columns with a correlation of .95, of which the first matters; six others."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(M, 8))
    A[:, 1] = 0.95 * A[:, 0] + np.sqrt(1 - 0.95**2) * A[:, 1]
    A -= A.mean(0)
    A /= np.linalg.norm(A, axis=0)
    y = 0.5 * np.sqrt(M) * A[:, 0] + rng.normal(size=M)
    return A, y - y.mean()


DRAWN = dict(prior=Laplace(1.0, TwoPoint()))


@pytest.fixture(scope="module")
def pair():
    A, y = twins()
    both = (with_clusters(rvamp(A, y, **DRAWN), blocks) for blocks in ([], [[0, 1]]))
    return *both, naive_bootstrap(A, y, **DRAWN, n_resamples=3000, keep=[0, 1])


def test_both_densities_of_a_pair_against_refits(pair):
    """In errors of 3,000 refits, plus what the diagonal is off by, a third of it."""
    alone, close, refits = pair
    both = [0, 1]
    for name, error in (("Pi", refits.Pi_se), ("mean", refits.mean_se)):
        off, was = (
            np.abs(getattr(f, name) - getattr(refits, name)) for f in (close, alone)
        )
        assert (off[both] < 3 * error[both] + was[both] / 3).all()
    correlation = lambda C: C[0, 1] / np.sqrt(C[0, 0] * C[1, 1])
    truth = correlation(np.cov(refits.draws.T))
    ours, theirs = (correlation(p2(f, both).across) for f in (close, alone))

    assert abs(ours - truth) < 0.1 < abs(theirs - truth)
    x = np.linspace(-1, 6, 50)
    shares = np.mean(refits.draws[:, :, None] <= x, axis=0)
    assert np.abs(p1(close, both).cdf(x) - shares).max() < 0.04


def test_p1_of_a_fit_in_blocks_is_one_law(pair):
    alone, close, _ = pair
    every, inside = p1(close), [0, 1]
    np.testing.assert_allclose(every.mean, close.mean, atol=1e-9)
    np.testing.assert_allclose(every.var, close.var, rtol=1e-9)
    np.testing.assert_allclose(1 - every.atom, close.Pi, atol=1e-12)
    x, q = np.linspace(-12, 12, 6001), np.array([0.05, 0.5, 0.95])
    total = np.trapezoid(every.pdf(x), x) + every.atom
    np.testing.assert_allclose(total, 1, atol=3e-3)
    np.testing.assert_allclose(every.cdf(every.quantile(0.9)[0])[0], 0.9, atol=1e-3)
    np.testing.assert_array_equal(every.quantile(q)[0], p1(close, 0).quantile(q))
    drawn = every.sample(4000, np.random.default_rng(0))
    assert drawn.shape == (8, 4000)
    error = np.sqrt(close.var / 4000)
    assert (np.abs(drawn.mean(1) - close.mean) < 4 * error).all()
    assert type(p1(close, [4, 5])) is type(p1(alone)) is type(every.alone)
    with pytest.raises(ValueError, match="q must lie"):
        p1(close, inside).quantile(1.0)


def test_p2_of_a_fit_in_blocks_is_the_coupling_s_gaussian(pair):
    """Variances are those of the coupling; a wide table and a tall one say the same of
    sums, and of rows.
    """
    _, close, _ = pair
    A = close.problem.A
    whole = p2(close)
    var = close.last.coupled.x.var
    np.testing.assert_allclose(np.diag(whole.across), var, rtol=1e-9)
    mean, covariance = whole.predict(A[:5])
    np.testing.assert_allclose(
        covariance, A[:5] @ whole.covariance @ A[:5].T, atol=1e-9
    )
    np.testing.assert_allclose(mean, A[:5] @ whole.mean)
    wide = gaussian_design(40, 90, rho=0.9, seed=1)
    fit = with_clusters(
        rvamp(wide.A, wide.y, prior=Laplace(0.1, TwoPoint()), intercept=True),
        [[2, 3, 4], [9, 8]],
    )
    some = p2(fit, [3, 9, 50]).across
    var = fit.last.coupled.x.var[[3, 9, 50]]
    np.testing.assert_allclose(np.diag(some), var, atol=1e-8 * var.max())


@pytest.mark.parametrize("derived", [free_energy, stability_radius])
def test_what_is_derived_for_single_columns_refuses_blocks(pair, derived):
    alone, close, _ = pair
    assert np.isfinite(derived(alone))
    with pytest.raises(TypeError, match="columns in clusters: give with_clusters"):
        derived(close)


def test_a_fit_in_blocks_where_others_ask(pair, tame):
    alone, close, _ = pair
    again = rvamp(close.problem.A, close.problem.y, **DRAWN, warm_start=close)
    np.testing.assert_allclose(again.Pi, alone.Pi, atol=1e-5)
    np.testing.assert_allclose(with_clusters(close, []).Pi, alone.Pi, atol=1e-5)
    answer = refine(close, None, 200, verbose=False)
    plain = refine(alone, None, 200, verbose=False)
    np.testing.assert_allclose(answer.draws, plain.draws, atol=1e-4)
    assert answer.refit_efficiency == pytest.approx(plain.refit_efficiency, rel=0.05)
    rows = condition_on_rows(close, rows=2)
    assert "1 block" in repr(rows) and rows.parts[0].fit.column_clusters
    d = gaussian_design(200, 20, seed=2)
    model = dict(prior=Laplace(0.5), resampling=NoResampling())
    one, two = (
        debiased_effects(with_clusters(rvamp(d.A, d.y, **model), b))
        for b in ([], [[2, 3]])
    )
    np.testing.assert_allclose(two.estimate, one.estimate, atol=1e-5)


def test_what_the_caller_does_with_errors_does_not_matter(pair):
    _, close, _ = pair
    A, y = close.problem.A, close.problem.y
    with np.errstate(all="raise"):
        fit = with_clusters(rvamp(A, y, **DRAWN), [[0, 1]])
        np.testing.assert_array_equal(fit.Pi, close.Pi)
        p1(fit).pdf(np.linspace(-300, 300, 9))
        p2(fit).covariance


# Bad input ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tame():
    d = gaussian_design(40, 30, seed=0)
    return d.A, d.y


@pytest.mark.parametrize(
    "blocks, words",
    [
        ("all", 'clusters must be "auto" or a list of lists .* got'),
        (5, "clusters must be .* list of lists .* got 5"),
        ([1, 2], "each of clusters must be a list .* got 1"),
        ([[[0, 1]]], "each of clusters must be a list"),
        ([[0, 1.5]], "each of clusters .* numbers from 0 to 29"),
        ([[2**70, 1]], "each of clusters .* numbers from 0 to 29"),
        ([["a", None]], "each of clusters .* numbers from 0 to 29"),
        ([[0, 30]], "numbers from 0 to 29"),
        ([[0, 1], [1, 2]], r"clusters together .* each once, got \[0, 1, 1, 2\]"),
        ([range(13)], "at most 12 columns, got one of 13"),
    ],
)
def test_columns_that_are_not_there(tame, blocks, words):
    with pytest.raises(ValueError, match=words):
        with_clusters(rvamp(*tame, 0.1), blocks)


def test_what_has_no_blocks_is_refused(tame):
    A, y = tame
    asked = dict(beta=1.0, lam=0.1), dict(beta=1.0, prior=SpikeSlab(0.1))
    for more in (*asked, dict(prior=Ridge(0.1)), dict(prior=ElasticNet(1, l1_ratio=0))):
        for blocks in ("auto", [[0, 1]]):
            with pytest.raises(TypeError, match="clusters are for a penalty that sel"):
                with_clusters(rvamp(A, y, **more), blocks)
    with pytest.raises(TypeError, match="clusters: .* in memory; give an array"):
        with_clusters(rvamp(ChunkedTable(A), y, 0.1), [[4, 5]])
    assert with_clusters(rvamp(ChunkedTable(A), y, 0.1)).column_clusters == []


def test_what_does_not_converge_is_not_put_in_blocks(tame):
    with pytest.warns(UserWarning, match="not converged"):
        fit = rvamp(*tame, 0.1, max_iter=2)
    with pytest.raises(ValueError, match="with_clusters: the fit has not converged"):
        with_clusters(fit, [[0, 1]])
    with pytest.warns(ConvergenceWarning, match="(?s)not .*with 1 block,") as shown:
        fit = with_clusters(rvamp(*tame, 0.1), [range(8)], max_iter=3)
    assert not fit.converged and shown[0].filename == __file__
    for other, error in ((tame, TypeError), ("fit", TypeError)):
        with pytest.raises(error, match="with_clusters: fit must be a Fit"):
            with_clusters(other)


def test_names_go_along():
    frame = pd.DataFrame(twins()[0], columns=list("abcdefgh"))
    fit = with_clusters(rvamp(frame, twins()[1], **DRAWN), [[0, 1]])
    assert fit.names.tolist() == list("abcdefgh")


def test_a_wide_table_in_blocks_holds_no_square_of_its_width():
    """Of 30,000 columns that would be 7 GB."""
    layout = BlockLayout(np.append(np.arange(29_998), [0, 7]))
    assert layout.sums.nnz == 30_000 and len(layout.row) == 29_996 + 2 * 4


@pytest.mark.parametrize("seed", range(4))
def test_columns_in_another_order_have_other_points(seed):
    """Each column has its own coordinate of 8,192 points, whatever tol is."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(40, 8))
    A[:, 1] = A[:, 0] + 0.1 * rng.normal(size=40)
    y = A[:, 0] + rng.normal(size=40)
    one = with_clusters(rvamp(A, y, 3.0, tol=1e-8), [[0, 1]])
    other = with_clusters(rvamp(A[:, ::-1], y, 3.0, tol=1e-8), [[6, 7]])
    assert np.abs(one.Pi - other.Pi[::-1]).max() < 3e-3
