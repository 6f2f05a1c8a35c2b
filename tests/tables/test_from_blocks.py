"""What is asked of a fit whose table is read in blocks: the answers of a table in
memory, in a bounded number of passes.
"""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from rvamp_nb import rvamp
from rvamp_nb.algorithm.cluster_channel import cavity_input, moment_view
from rvamp_nb.algorithm.densities import p1, p2
from rvamp_nb.algorithm.energy import free_energy, stability_radius
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.resampling import FixedFactor, Grouped, Stratified, Subsample
from rvamp_nb.course import conditioning
from rvamp_nb.course.conditioning import condition_on_rows
from rvamp_nb.course.survival import simulated_survival, survival_fit
from rvamp_nb.inference.baseline import survival_target
from rvamp_nb.inference.diagnostics import diagnose, near_duplicate_rows
from rvamp_nb.inference.row_shares import (
    column_effective_rows,
    largest_single_share,
    max_correlation,
    row_influence,
)
from rvamp_nb.tables.chunked import ChunkedTable
from rvamp_nb.tables.standardize import unit_columns

WIDE, TALL = (40, 90), (90, 30)
CLOSE = dict(rtol=1e-9, atol=1e-12)


def counts_table(rng, M, N):
    """Mostly zeros, with twins, a column that few rows carry and a row that weighs."""
    A = rng.poisson(0.4, (M, N)) * 1.0
    A[:, 5] = A[:, 4]
    A[0, 5] += 1
    A[:, 6] = 0
    A[:3, 6] = 1
    A[7] *= 4
    return A / np.sqrt(M)


def fitted(shape, seed=0, **options):
    """A fit in memory."""
    rng = np.random.default_rng(seed)
    A = counts_table(rng, *shape)
    y = 4 * A[:, 4] - 3 * A[:, 6] + A[:, 0] + 0.3 * rng.normal(size=len(A))
    prior = Laplace(0.25 * np.abs(A.T @ y).max())
    options = dict(prior=prior, resampling=Subsample(0.5)) | options
    return rvamp(A, y, **options)


def as_chunked(fit, kind, tmp_path):
    """The same fit, with its table in a file or sparse, read some columns (rows) at a
    time.
    """
    A, problem = fit.problem.A, fit.problem
    if kind == "sparse":
        source, intercept = sparse.csr_array(A[:, : len(fit.mean)]), fit.has_intercept
    else:
        np.save(tmp_path / "A.npy", A[:, : len(fit.mean)])
        source = np.load(tmp_path / "A.npy", mmap_mode="r")
        intercept = fit.has_intercept
    table = ChunkedTable(source, chunk_size=A.size // 4, intercept=intercept)
    return replace(fit, problem=problem._replace(A=table))


@pytest.fixture(scope="module", params=["wide", "tall"])
def dense(request):
    """With another seed the patterns of the tall one take ten times as many steps."""
    shape = dict(wide=WIDE, tall=TALL)[request.param]
    return fitted(shape, seed=2, intercept=True)


@pytest.fixture(params=["memmap", "sparse"])
def fit(request, dense, tmp_path):
    return as_chunked(dense, request.param, tmp_path)


# The light ----------------------------------------------------------------------------


def test_the_light_is_that_of_a_table_in_memory(dense, fit):
    N = len(dense.mean)
    for ask in (
        row_influence,
        largest_single_share,
        column_effective_rows,
        max_correlation,
    ):
        np.testing.assert_allclose(ask(fit), ask(dense), **CLOSE)
    before = fit.problem.A.passes
    ours, theirs = (diagnose(f, np.arange(N), range(N)) for f in (fit, dense))
    assert fit.problem.A.passes - before <= 4
    assert ours.reasons == theirs.reasons and ours.reliability == theirs.reliability
    assert ours.spread_reasons == theirs.spread_reasons
    assert max_correlation(dense).max() > 0.9 and column_effective_rows(dense).min() < 4


@pytest.mark.parametrize("shape", [WIDE, TALL])
def test_repeats_are_found_in_blocks(shape):
    rng = np.random.default_rng(1)
    A = rng.normal(size=shape)
    A[3], A[:, 0] = A[11], 0
    for source in (A, sparse.csr_array(A)):
        table = ChunkedTable(source, chunk_size=7 * min(shape))
        assert [group.tolist() for group in near_duplicate_rows(table)] == [[3, 11]]
        assert table.passes <= 1
    flat = ChunkedTable(np.ones(shape), chunk_size=7 * min(shape))
    assert (
        near_duplicate_rows(flat) == []
        and near_duplicate_rows(ChunkedTable(np.ones((2, 5)))) == []
    )


def test_the_line_of_repeats_is_the_same_to_rounding():
    from rvamp_nb.inference import diagnostics, row_distances

    A = counts_table(np.random.default_rng(2), *WIDE)
    seen, lines = np.arange(len(A)), []
    for table in (A, ChunkedTable(A, chunk_size=300)):
        rng = np.random.default_rng(0)
        rows = diagnostics._read_rows_seen(table, seen, rng)
        lines.append(row_distances.closest_by_chance(rows, 0.01, rng))
    assert lines[0] > 0 and lines[1] == pytest.approx(lines[0], rel=1e-9)


# Densities ----------------------------------------------------------------------------


def test_densities_are_those_of_a_table_in_memory(dense, fit):
    rows, table = np.array([6, 4, 0, 5, -1]), fit.problem.A
    assert p1(fit, 4).atom == p1(dense, 4).atom and table.passes == 0
    ends = (p1(one).quantile([0.05, 0.95]) for one in (fit, dense))
    np.testing.assert_array_equal(*ends)
    ours, theirs = p2(fit, rows), p2(dense, rows)
    np.testing.assert_array_equal(ours.mean, theirs.mean)
    size = np.abs(theirs.covariance).max()
    np.testing.assert_allclose(ours.across, theirs.across, rtol=1e-9, atol=1e-11 * size)
    assert table.passes <= 2
    new = np.random.default_rng(3).normal(size=(4, len(dense.mean)))
    for one, other in zip(p2(fit).predict(new), p2(dense).predict(new)):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11 * size)


def test_the_last_coefficient_is_no_intercept(dense):
    N, joint = len(dense.mean), p2(dense, -1)
    assert dense.has_intercept and joint.mean == dense.last.coupled.x.mean[N - 1]
    np.testing.assert_array_equal(joint.across, p2(dense, N - 1).across)


@pytest.mark.parametrize("shape", [WIDE, TALL])
def test_posteriors_have_their_width_from_blocks(shape, tmp_path):
    warm = fitted(shape, beta=3.0)
    fit = as_chunked(warm, "memmap", tmp_path)
    for part in ("across", "within"):
        ours, theirs = (getattr(p2(f, np.arange(20)), part) for f in (fit, warm))
        np.testing.assert_allclose(ours, theirs, atol=1e-10 * np.abs(theirs).max())


# Corrections --------------------------------------------------------------------------


def test_what_columns_see_is_that_of_the_matrix_that_is_never_formed():
    fit = fitted(TALL)
    A, last = fit.problem.A, fit.last
    view = moment_view(last.prior_message, last.x, last.state.to_prior)
    (D, _, T), (Q, _, chi) = view, last.likelihood_message
    Sigma = np.linalg.inv(np.diag(Q) + (A * D) @ A.T)
    noise = Sigma @ (np.diag(chi) + (A * T) @ A.T) @ Sigma
    columns = np.array([1, 4])
    W, u = A[:, columns], last.coupled.u.mean
    for one, other in zip(
        cavity_input(A, view, last.likelihood_message, u, columns),
        (W.T @ u, W.T @ Sigma @ W, W.T @ noise @ W),
    ):
        np.testing.assert_allclose(one, other, atol=1e-9 * np.abs(other).max())


@pytest.fixture(scope="module")
def exactly():
    """At 1.5e-2 two orders of summation may end a step apart."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conditioning, "PATTERN_TOL", 1e-6)
        patch.setattr(conditioning, "MOST_STEPS", 1000)
        yield


@pytest.fixture(scope="module")
def counted(dense, exactly):
    return condition_on_rows(dense, rows=2)


def test_what_is_counted_is_that_of_a_table_in_memory(counted, exactly, fit):
    theirs, ours = counted, condition_on_rows(fit, rows=2)
    assert len(theirs.parts) == 4 and ours.left == theirs.left == {}
    np.testing.assert_array_equal(ours.rows, theirs.rows)
    for name in ("Pi", "mean", "var"):
        one, other = getattr(ours, name), getattr(theirs, name)
        np.testing.assert_allclose(one, other, atol=1e-5 * np.abs(other).max())


# Free energy, and what cannot be had --------------------------------------------------


@pytest.mark.parametrize("beta", [np.inf, 3.0])
@pytest.mark.parametrize("shape", [WIDE, TALL])
def test_the_free_energy_and_the_radius_come_from_blocks(shape, beta, tmp_path):
    warm = fitted(shape, beta=beta, intercept=True)
    fit = as_chunked(warm, "memmap", tmp_path)
    assert free_energy(fit) == pytest.approx(free_energy(warm), rel=1e-9)
    assert fit.problem.A.passes <= 8
    radius = stability_radius(warm, tol=1e-2)
    assert radius > 0.01 and stability_radius(fit, tol=1e-2) == pytest.approx(radius)


def test_survival_fits_read_tables_in_blocks():
    A, y = simulated_survival(60, 12)
    time, event = survival_target(y)
    fits = [
        survival_fit(T, time, event, 0.8)[0]
        for T in (A, ChunkedTable(A, chunk_size=150))
    ]
    assert isinstance(fits[1].problem.A, ChunkedTable) and fits[0].Pi.max() > 0.4
    np.testing.assert_allclose(fits[1].Pi, fits[0].Pi, rtol=1e-7, atol=1e-9)


def test_a_table_in_rows_goes_through_sums_over_rows(tmp_path):
    dense = fitted((31, 30), intercept=True)  # square, with the column of ones
    fit = as_chunked(dense, "memmap", tmp_path)
    assert fit.problem.A.shape == (31, 31) and fit.problem.A.axis == 0
    near = dict(rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(p2(fit, [4]).across, p2(dense, [4]).across, **near)
    ours, theirs = (condition_on_rows(f).Pi for f in (fit, dense))
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_a_covariance_larger_than_the_table_is_refused(tmp_path):
    fit = as_chunked(fitted(WIDE), "memmap", tmp_path)
    with pytest.raises(ValueError, match="90 x 90 numbers.*choose rows"):
        p2(fit).covariance


def test_what_needs_the_table_in_memory_says_so():
    A = counts_table(np.random.default_rng(5), *TALL)
    counts = Grouped(Subsample(0.5), np.repeat(np.arange(30), 3))
    with pytest.raises(TypeError, match="need A in memory"):
        rvamp(ChunkedTable(A), A[:, 4], 0.1, resampling=counts)
    fit = rvamp(A, A[:, 4], 0.1, resampling=counts)
    with pytest.raises(TypeError, match="one row of each group"):
        p2(replace(fit, problem=fit.problem._replace(A=ChunkedTable(A))), 4).across


def test_strata_are_drawn_from_blocks():
    A = counts_table(np.random.default_rng(6), *TALL)
    law, y = Stratified(Subsample(0.5), np.arange(90) % 2), A[:, 4] - A[:, 0]
    fits = [
        rvamp(T, y, 0.1, resampling=law) for T in (A, ChunkedTable(A, chunk_size=200))
    ]
    np.testing.assert_allclose(fits[1].Pi, fits[0].Pi, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        row_influence(fits[1]), row_influence(fits[0]), rtol=1e-6
    )


# Memory -------------------------------------------------------------------------------


def test_nothing_of_the_table_s_size_is_formed(tmp_path):
    M, N = 150, 5000
    rng = np.random.default_rng(7)
    A = rng.binomial(2, 0.3, (M, N)).astype(np.int8)
    A[:, 9] = A[:, 4]
    A[0, 9] += 1
    np.save(tmp_path / "A.npy", A)
    table = ChunkedTable(np.load(tmp_path / "A.npy", mmap_mode="r"), chunk_size=200 * M)
    centred = unit_columns(table)[0]
    y = 3.0 * A[:, 4] - 2.0 * A[:, 50] + rng.normal(size=M)
    prior = Laplace(0.5 * np.abs(centred.T @ (y - y.mean())).max(), FixedFactor())
    fit = rvamp(centred, y - y.mean(), prior=prior, resampling=Subsample(0.5), tol=1e-3)
    assert fit.converged and (fit.Pi > 0.01).sum() > 1
    for ask in (
        lambda: diagnose(fit, np.arange(N), range(N)),
        lambda: near_duplicate_rows(centred),
        lambda: p2(fit, np.arange(40)).covariance,
        lambda: condition_on_rows(fit, rows=2),
    ):
        ask()  # what is imported and kept on first use does not count
        tracemalloc.start()
        ask()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.4 * 8 * M * N, peak / (8 * M * N)
