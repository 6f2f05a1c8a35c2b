"""The naive bootstrap: refits that are optimal, sums that are right, errors that are
honest, refusals that are clear.
"""

import ast

import house
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Lasso
from textbook import optimality_gap

from rvamp_nb.algorithm.prior import ElasticNet, Laplace
from rvamp_nb.algorithm.resampling import (
    NoResampling,
    Poisson,
    Subsample,
    TwoPoint,
    all_resamples,
)
from rvamp_nb.course.multinomial import Multinomial
from rvamp_nb.datasets import (
    gaussian_design,
    load_diabetes,
    random_dct,
    standardize,
    toy,
)
from rvamp_nb.inference.bootstrap import _spread, naive_bootstrap, weighted_lasso
from rvamp_nb.tables.chunked import ChunkedTable

ROOMS = house.rooms()
WIDE = gaussian_design(20, 60, 0.5, density=0.1, seed=1)
TALL = gaussian_design(40, 12, 0.5, density=0.3, seed=1)


def run(d, lam=0.05, law=None, **options):
    options = {"n_resamples": 60, "verbose": False, **options}
    options.setdefault("prior", Laplace(lam, law))
    return naive_bootstrap(d.A, d.y, **options)


def refit_again(d, lam, b, counts=Poisson(0.5), randomize=TwoPoint(2, 0.5), seed=0):
    """Resample b by the documented recipe, and its Lasso by plain scikit-learn on
    copied rows: an independent implementation.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(b,)))
    c = counts.draw(len(d.y), rng)
    k = randomize.draw(d.A.shape[1], rng)
    rows = np.repeat(np.arange(len(d.y)), c.astype(int))
    if not len(rows):
        return np.zeros(d.A.shape[1]), c, k
    model = Lasso(
        alpha=lam / len(rows), fit_intercept=False, tol=1e-13, max_iter=1_000_000
    )
    return model.fit(d.A[rows] / k, d.y[rows]).coef_ / k, c, k


# --- one refit ------------------------------------------------------------------------
@given(
    M=st.integers(1, 25),
    N=st.integers(1, 60),
    seed=st.integers(0, 10_000),
    size=st.floats(-2.5, 0.3),
    tau=st.sampled_from([0.2, 0.5, 1.0, 3.0]),
)
def test_every_refit_is_optimal(M, N, seed, size, tau):
    rng = np.random.default_rng(seed)
    A, y = rng.normal(size=(M, N)) / np.sqrt(M), rng.normal(size=M)
    lam = 10.0**size * TwoPoint(2, 0.5).draw(N, rng)
    c = Poisson(tau).draw(M, rng)
    x = weighted_lasso(A, y, lam, c)
    assert x.shape == (N,) and optimality_gap(A, y, lam, c, x) < 1e-3
    objective = lambda x: 0.5 * c @ (y - A @ x) ** 2 + lam @ np.abs(x)
    for _ in range(5):
        assert objective(x) <= objective(x + 1e-3 * rng.normal(size=N)) + 1e-9


@pytest.mark.parametrize(
    "d", [WIDE, TALL, load_diabetes()], ids=["wide", "tall", "diabetes"]
)
def test_refits_meet_the_conditions_closely(d):
    lam = 0.1 * np.abs(d.A.T @ d.y).max()
    for b in range(20):
        _, c, k = refit_again(d, lam, b)
        assert (
            optimality_gap(d.A, d.y, lam * k, c, weighted_lasso(d.A, d.y, lam * k, c))
            < 1e-7
        )


def test_the_gap_notices_a_wrong_solution():
    c, lam = np.ones(20), np.full(60, 0.05)
    x = weighted_lasso(WIDE.A, WIDE.y, lam, c)
    assert optimality_gap(WIDE.A, WIDE.y, lam, c, x) < 1e-8
    assert optimality_gap(WIDE.A, WIDE.y, lam, c, 1.01 * x) > 1e-3
    assert optimality_gap(WIDE.A, WIDE.y, lam, c, 0 * x) > 1
    assert optimality_gap(WIDE.A, WIDE.y, 2 * lam, c, x) > 0.4


def test_columns_left_out_at_first_come_in_when_they_must():
    """2 rows make a first working set of 4 columns of 300: the loop has to grow it."""
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(2, 300)), np.array([1.0, -2.0])
    for lam in (1e-3, 0.1, 1.0):
        assert (
            optimality_gap(A, y, lam, np.ones(2), weighted_lasso(A, y, lam, np.ones(2)))
            < 1e-6
        )
    d = random_dct(N=300, ratio=0.2, seed=5)
    for lam in (0.003, 0.03):
        assert (
            optimality_gap(
                d.A, d.y, lam, np.ones(60), weighted_lasso(d.A, d.y, lam, np.ones(60))
            )
            < 1e-5
        )


@pytest.mark.parametrize("lam", [1e-6, 1.0, 1e6])
def test_no_data_and_no_signal_give_zeros(lam):
    assert not weighted_lasso(WIDE.A, WIDE.y, lam, np.zeros(20)).any()
    assert not weighted_lasso(WIDE.A, 0 * WIDE.y, lam, np.ones(20)).any()
    assert not weighted_lasso(0 * WIDE.A, WIDE.y, lam, np.ones(20)).any()


def test_scaling_y_and_lam_together():
    for scale in (1e-8, 1e8):
        x = weighted_lasso(WIDE.A, WIDE.y, 0.05, np.ones(20))
        np.testing.assert_allclose(
            weighted_lasso(WIDE.A, scale * WIDE.y, 0.05 * scale, np.ones(20)),
            scale * x,
            rtol=1e-5,
            atol=scale * 1e-8,
        )


# --- the averages ---------------------------------------------------------------------
@pytest.mark.parametrize("d", [WIDE, TALL], ids=["wide", "tall"])
@pytest.mark.parametrize(
    "counts",
    [Poisson(0.5), Multinomial(0.5), Subsample(0.5)],
    ids=lambda c: type(c).__name__,
)
def test_against_an_independent_implementation(d, counts):
    n, N = 60, d.A.shape[1]
    fit = run(d, law=TwoPoint(2, 0.5), resampling=counts, keep=range(N))
    again = [refit_again(d, 0.05, b, counts) for b in range(n)]
    X = np.array([x for x, _, _ in again])
    U = np.array([c * (d.y - d.A @ x) for x, c, _ in again])
    np.testing.assert_allclose(fit.draws, X, atol=1e-6)
    np.testing.assert_array_equal(fit.Pi, np.mean(X != 0, 0))
    np.testing.assert_allclose(fit.mean, X.mean(0), atol=1e-6)
    np.testing.assert_allclose(fit.var, X.var(0, ddof=1), atol=1e-6)
    np.testing.assert_allclose(fit.mean_se, X.std(0, ddof=1) / np.sqrt(n), atol=1e-6)
    m4 = np.mean((X - X.mean(0)) ** 4, 0)
    np.testing.assert_allclose(
        fit.var_se,
        np.sqrt((m4 - X.var(0, ddof=1) ** 2 * (n - 3) / (n - 1)).clip(0) / n),
        atol=1e-6,
    )
    np.testing.assert_allclose(fit.u_mean, U.mean(0), atol=1e-6)
    np.testing.assert_allclose(fit.u_se, U.std(0, ddof=1) / np.sqrt(n), atol=1e-6)
    k = np.clip((X != 0).sum(0), 0.5, n - 0.5) / n
    np.testing.assert_allclose(fit.Pi_se, np.sqrt(k * (1 - k) / n), rtol=1e-12)
    assert fit.n_resamples == n and fit.random_state == 0 and np.all(fit.Pi_se > 0)


def powers(d):
    return np.array([(d**p).sum(0) for p in (1, 2, 3, 4)])


@given(
    sizes=st.lists(st.integers(1, 9), min_size=2, max_size=6),
    offset=st.floats(-1e3, 1e3),
    seed=st.integers(0, 999),
)
def test_sums_add_up_in_any_cut(sizes, offset, seed):
    X = offset + np.random.default_rng(seed).exponential(size=(sum(sizes), 2))
    about, n = X[: sizes[0]].mean(0), len(X)
    parts = [powers(p - about) for p in np.split(X, np.cumsum(sizes)[:-1])]
    mean, var, mean_se, var_se = _spread(n, sum(parts), about)
    two, four = (((X - X.mean(0)) ** k).mean(0) for k in (2, 4))
    noise = four - (two * n / (n - 1)) ** 2 * (n - 3) / (n - 1)
    np.testing.assert_allclose(mean, X.mean(0), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose([var, mean_se**2 * n], [X.var(0, ddof=1)] * 2, rtol=1e-8)
    np.testing.assert_allclose(
        var_se**2 * n, np.maximum(noise, 0), rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize(
    "counts", [Multinomial(1.0), Poisson(1.0)], ids=["multinomial", "Poisson"]
)
def test_the_running_example_against_enumeration(counts):
    A, y, _, _ = toy()
    if isinstance(counts, Multinomial):
        C, p = all_resamples(3, 3)
    else:
        k, w = counts.nodes()
        C = np.array(np.meshgrid(k, k, k)).reshape(3, -1).T
        p = np.einsum("i,j,k->jik", w, w, w).ravel()
    S, Q = C @ (A[:, 0] * y), C @ A[:, 0] ** 2
    X = np.array(
        [
            np.sign(S) * np.maximum(np.abs(S) - k * 0.3, 0) / np.where(Q > 0, Q, 1)
            for k in (1, 2)
        ]
    )
    W = np.outer([0.5, 0.5], p)
    mean = (W * X).sum()
    U = np.sum(W[..., None] * C * (y - X[..., None] * A[:, 0]), axis=(0, 1))
    drawn = dict(prior=Laplace(0.3, TwoPoint(2, 0.5)), resampling=counts)
    fit = naive_bootstrap(
        A, y, **drawn, n_resamples=1000, random_state=2, verbose=False
    )
    for seen, error, exact in (
        (fit.mean, fit.mean_se, mean),
        (fit.var, fit.var_se, (W * (X - mean) ** 2).sum()),
        (fit.Pi, fit.Pi_se, W[X != 0].sum()),
        (fit.u_mean, fit.u_se, U),
    ):
        assert np.all(np.abs(seen - exact) < 3.5 * error), (seen, exact, error)


def test_multinomial_and_poisson_differ_where_rows_are_few():
    A, y, _, _ = toy()
    one, two = (
        naive_bootstrap(A, y, 0.3, resampling=c, n_resamples=400, verbose=False)
        for c in (Multinomial(1.0), Poisson(1.0))
    )
    assert one.Pi[0] == 1 and abs(two.Pi[0] - 0.829) < 4 * two.Pi_se[0]


def test_standard_errors_cover():
    """Many small bootstraps of the toy: their spread is what their standard errors
    say.
    """
    A, y, _, _ = toy()
    C, prob = all_resamples(3, 3)
    rng = np.random.default_rng(0)
    from rvamp_nb.inference.bootstrap import _share_error

    values = np.array(
        [[weighted_lasso(A, y, 0.3 * k, c)[0] for c in C] for k in (1, 2)]
    ).ravel()
    p, B = np.tile(prob, 2) / 2, 40
    results = []
    for _ in range(3000):
        x = rng.choice(values, B, p=p)[:, None]
        _, var, mean_se, var_se = _spread(B, powers(x - x[:5].mean()))
        results.append(
            [
                x.mean(),
                var[0],
                np.mean(x != 0),
                mean_se[0],
                var_se[0],
                _share_error((x != 0).sum(), B),
            ]
        )
    results = np.array(results)
    np.testing.assert_allclose(
        np.sqrt(np.mean(results[:, 3:] ** 2, 0)), results[:, :3].std(0), rtol=0.06
    )


def test_two_runs_differ_as_their_errors_say():
    d = random_dct(N=200, ratio=0.25)
    one, two = (run(d, 0.08, n_resamples=300, random_state=s) for s in (1, 2))
    for value, error in (("mean", "mean_se"), ("Pi", "Pi_se"), ("u_mean", "u_se")):
        z = (getattr(one, value) - getattr(two, value)) / np.hypot(
            getattr(one, error), getattr(two, error)
        )
        z = z[one.Pi + two.Pi > 0.05] if value != "u_mean" else z
        assert 0.8 < np.sqrt(np.mean(z**2)) < 1.2, (value, np.sqrt(np.mean(z**2)))


def test_residuals_carry_the_penalty():
    d = load_diabetes()
    fit = run(d, 58.0, TwoPoint(2, 0.5), n_resamples=400)
    pull = d.A.T @ fit.u_mean / 58.0
    always = fit.Pi > 0.995
    assert always.sum() >= 1 and np.abs(pull).max() < 1.6
    np.testing.assert_allclose(pull[always], 1.5 * np.sign(fit.mean[always]), atol=0.1)


def test_no_resampling_is_the_plain_lasso():
    fit = run(TALL, resampling=NoResampling())
    plain = (
        Lasso(alpha=0.05 / 40, fit_intercept=False, tol=1e-13, max_iter=100_000)
        .fit(TALL.A, TALL.y)
        .coef_
    )
    np.testing.assert_allclose(fit.mean, plain, atol=1e-7)
    np.testing.assert_array_equal(fit.Pi, plain != 0)
    assert fit.var.max() < 1e-28 and fit.var_se.max() < 1e-28


def test_empty_resamples_count_as_zeros():
    fit = run(WIDE, resampling=Poisson(1e-12))
    assert (
        not fit.mean.any()
        and not fit.Pi.any()
        and not fit.u_mean.any()
        and not fit.var.any()
    )
    np.testing.assert_allclose(fit.Pi_se, 0.7 / 60, rtol=0.02)


def test_one_penalty_a_column():
    lam = np.linspace(0.02, 0.1, 60)
    one = run(WIDE, lam, keep=range(60))
    other = naive_bootstrap(
        WIDE.A / (lam / 0.05),
        WIDE.y,
        0.05,
        n_resamples=60,
        keep=range(60),
        verbose=False,
    )
    np.testing.assert_allclose(one.draws, other.draws / (lam / 0.05), atol=1e-6)
    np.testing.assert_array_equal(
        run(WIDE, np.full(60, 0.05)).mean, run(WIDE, 0.05).mean
    )


# --- reproducible ---------------------------------------------------------------------
def test_the_same_to_the_last_bit_whatever_n_jobs():
    events = WIDE._replace(y=np.random.default_rng(0).poisson(1.0, len(WIDE.y)))
    net = ElasticNet(0.05, l1_ratio=0.5)
    of_others = dict(loss="poisson", intercept=True, prior=net)
    for data, model in ((WIDE, {}), (events, of_others)):
        given = dict(n_resamples=110, keep=[3, 1], **model)
        one, two = (run(data, **given, n_jobs=n) for n in (1, 2))
        for a, b in zip(one, two):
            np.testing.assert_array_equal(a, b)


def test_refit_b_depends_on_seed_and_b_only():
    long = run(WIDE, keep=range(60))
    short = run(WIDE, keep=range(60), n_resamples=31)
    other = run(WIDE, keep=range(60), n_resamples=31, random_state=1)
    np.testing.assert_array_equal(long.draws[:31], short.draws)
    assert not np.array_equal(short.draws, other.draws)
    np.testing.assert_array_equal(run(WIDE, keep=[7, 2]).draws, long.draws[:, [7, 2]])
    assert len({tuple(x) for x in long.draws}) == 60  # no resample twice


def test_memory_does_not_grow_with_the_number_of_refits():
    import tracemalloc

    peaks = []
    for n in (50, 400):
        tracemalloc.start()
        run(WIDE, n_resamples=n)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0] + 100_000


# --- input ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "form",
    [
        list,
        pd.DataFrame,
        np.asfortranarray,
        lambda A: np.repeat(A, 2, 0)[::2],
        lambda A: A.astype(object),
    ],
    ids=["list", "frame", "fortran", "strided", "object"],
)
def test_other_forms_of_the_same_numbers(form):
    A = WIDE.A.tolist() if form is list else form(WIDE.A)
    y = (
        WIDE.y.tolist()
        if form is list
        else pd.Series(WIDE.y)
        if form is pd.DataFrame
        else WIDE.y
    )
    np.testing.assert_allclose(
        naive_bootstrap(A, y, 0.05, n_resamples=20, verbose=False).mean,
        run(WIDE, n_resamples=20).mean,
        atol=1e-9,
    )


def test_float32_and_integers():
    np.testing.assert_allclose(
        naive_bootstrap(
            WIDE.A.astype(np.float32),
            WIDE.y.astype(np.float32),
            np.float32(0.05),
            n_resamples=20,
            verbose=False,
        ).mean,
        run(WIDE, n_resamples=20).mean,
        atol=1e-4,
    )
    A, y = np.random.default_rng(0).integers(-3, 4, (12, 5)), np.arange(12)
    np.testing.assert_array_equal(
        naive_bootstrap(A, y, 2, n_resamples=20, verbose=False).mean,
        naive_bootstrap(A * 1.0, y * 1.0, 2.0, n_resamples=20, verbose=False).mean,
    )


def test_inputs_are_never_modified_and_may_be_read_only():
    A, y, lam, keep = WIDE.A.copy(), WIDE.y.copy(), np.full(60, 0.05), np.array([1, 2])
    for v in (A, y, lam, keep):
        v.flags.writeable = False
    run(WIDE._replace(A=A, y=y), lam, keep=keep, n_resamples=5)
    np.testing.assert_array_equal(A, WIDE.A), np.testing.assert_array_equal(y, WIDE.y)


def test_one_resample_says_nothing_about_spread(recwarn):
    fit = run(WIDE, n_resamples=1)
    assert (
        np.isnan(fit.var).all()
        and np.isnan(fit.mean_se).all()
        and np.isnan(fit.var_se).all()
        and np.isnan(fit.u_se).all()
    )
    assert (
        np.isfinite(fit.mean).all()
        and set(np.unique(fit.Pi)) <= {0.0, 1.0}
        and not recwarn
    )


def test_one_row_and_one_column():
    assert naive_bootstrap(
        [[1.0]], [2.0], 0.1, n_resamples=10, verbose=False
    ).mean.shape == (1,)
    assert naive_bootstrap(
        [[1.0, 2.0]], [2.0], 0.1, n_resamples=10, verbose=False, keep=[]
    ).draws.shape == (10, 0)


def test_a_constant_column_is_never_selected():
    with pytest.warns(UserWarning, match="stay zero"):
        A, y = standardize(np.c_[WIDE.A, np.ones(20)], WIDE.y)
    assert naive_bootstrap(A, y, 0.05, n_resamples=20, verbose=False).Pi[-1] == 0


def test_no_progress_bar_for_a_quick_run(capsys):
    run(WIDE, n_resamples=5, verbose=True)
    assert capsys.readouterr().err.strip() == ""


class OwnLaw:
    def __init__(self, value):
        self.value = value

    def draw(self, size, rng):
        return (
            np.broadcast_to(self.value, size)
            if np.ndim(self.value) == 0
            else self.value
        )


class OwnFactor(OwnLaw):
    def nodes(self):
        return np.ones(1), np.ones(1)


def test_a_law_of_ones_own():
    np.testing.assert_array_equal(
        run(TALL, law=OwnFactor(1.0), resampling=OwnLaw(1)).Pi,
        run(TALL, resampling=NoResampling()).Pi,
    )


@pytest.mark.parametrize(
    "options, word",
    [
        (dict(resampling=OwnLaw(-1)), "resampling"),
        (dict(resampling=OwnLaw(np.nan)), "resampling"),
        (dict(resampling=OwnLaw([1, 2])), "resampling"),
        (dict(law=OwnFactor(0)), "randomize"),
        (dict(law=OwnFactor(np.inf)), "randomize"),
        (dict(law=OwnFactor([1.0])), "randomize"),
    ],
)
def test_a_broken_law_of_ones_own(options, word):
    with pytest.raises(ValueError, match=word):
        run(TALL, **options)


A, Y = WIDE.A, WIDE.y


class Lazy:
    """All that is asked of a Dask array."""

    ndim, dask, shape = 2, {}, A.shape


def with_nan(v):
    v = v.copy()
    v.flat[3] = np.nan
    return v


def with_inf(v):
    v = v.copy()
    v.flat[3] = -np.inf
    return v


@pytest.mark.parametrize(
    "change, error, word",
    [
        (dict(A=with_nan(A)), ValueError, "A has NaN"),
        (dict(A=with_inf(A)), ValueError, "A has NaN or inf"),
        (dict(y=with_nan(Y)), ValueError, "y has NaN"),
        (dict(y=with_inf(Y)), ValueError, "y has"),
        (dict(A=Y), ValueError, r"A must have shape \(M, N\), a table"),
        (dict(A=A[None]), ValueError, r"A must have shape \(M, N\), a table"),
        (dict(A=A[:0], y=Y[:0]), ValueError, "A must"),
        (dict(A=A[:, :0]), ValueError, "A must"),
        (dict(y=Y[:-1]), ValueError, r"y must have shape \(20,\)"),
        (dict(y=Y[:, None]), ValueError, "y must have shape"),
        (dict(y=None), TypeError, "y"),
        (dict(A=None), TypeError, "A"),
        (dict(A=A.astype(str)), TypeError, "A must hold"),
        (dict(A=A.astype(str).astype(object)), TypeError, "A must hold"),
        (dict(A=A * 1j), TypeError, "A must hold"),
        (dict(y=["a"] * 20), TypeError, "y must hold"),
        (dict(A=scipy.sparse.csr_array(A)), TypeError, r"sparse.* A\[:, columns\]\.to"),
        (dict(A=ChunkedTable(A)), TypeError, r"read in chunks.* A\[:, columns\],"),
        (dict(A=Lazy()), TypeError, r"Dask array.* A\[:, columns\]\.compute"),
        (dict(A=pd.DataFrame(A).assign(when="x")), TypeError, "A must hold"),
        (dict(lam=None), TypeError, "give lam or prior"),
        (dict(prior=Laplace(1.0)), TypeError, "lam or prior.*one of the two"),
        (dict(lam=None, prior="lasso"), TypeError, "prior must be"),
        (dict(lam=0), ValueError, "lam"),
        (dict(lam=-1.0), ValueError, "lam"),
        (dict(lam=np.nan), ValueError, "lam"),
        (dict(lam=np.inf), ValueError, "lam"),
        (dict(lam="1"), TypeError, "lam"),
        (dict(lam=True), TypeError, "lam"),
        (dict(lam=np.ones(59)), ValueError, "lam"),
        (dict(lam=np.zeros(60)), ValueError, "lam"),
        (dict(lam=np.ones((60, 1))), ValueError, "lam"),
        (dict(n_resamples=0), ValueError, "n_resamples"),
        (dict(n_resamples=-5), ValueError, "n_resamples"),
        (dict(n_resamples=10.0), TypeError, "n_resamples"),
        (dict(n_resamples="10"), TypeError, "n_resamples"),
        (dict(n_resamples=True), TypeError, "n_resamples"),
        (dict(random_state=-1), ValueError, "random_state"),
        (dict(random_state=None), TypeError, "random_state"),
        (dict(random_state=1.5), TypeError, "random_state"),
        (dict(resampling=0.5), TypeError, "resampling"),
        (dict(resampling=Poisson), TypeError, "resampling"),
        (dict(randomize=2), TypeError, "randomize= has left: write prior=Laplace"),
        (dict(l1_ratio=0.5), TypeError, "l1_ratio= has left: write prior=El"),
        (dict(positive=True), TypeError, "positive= has left: write prior=NonN"),
        (dict(penalty_factor=1), TypeError, "penalty_factor= has left: write pr"),
        (dict(delta=2.0), TypeError, r"delta= has left: write loss=Huber"),
        (dict(keep=3), TypeError, "keep"),
        (dict(keep=[60]), ValueError, "keep"),
        (dict(keep=[-1]), ValueError, "keep"),
        (dict(keep=["a"]), TypeError, "keep"),
        (dict(keep=[0.5]), TypeError, "keep"),
        (dict(keep=[True, False]), TypeError, "keep"),
        (dict(resampling=Subsample(0.01)), ValueError, "no row"),
        (dict(n_jobs=0), ValueError, "n_jobs"),
        (dict(n_jobs=1.5), TypeError, "n_jobs"),
        (dict(n_jobs="2"), TypeError, "n_jobs"),
    ],
)
def test_bad_input_is_refused_by_name(change, error, word):
    with pytest.raises(error, match=word):
        naive_bootstrap(
            **{
                "A": A,
                "y": Y,
                "lam": 0.05,
                "n_resamples": 3,
                "verbose": False,
                **change,
            }
        )


# --- a judge must be independent ------------------------------------------------------
def imports_of(room):
    """The rooms of this package that one imports from, at the top or inside a function,
    whole or some of their names.
    """
    return {*house.imported(room, ast.parse(ROOMS[room]), ROOMS)} & {*ROOMS}


def test_the_bootstrap_shares_nothing_with_the_solver():
    """Priors and losses it reads only (`test_priors_and_losses_are_read_...`)."""
    general = {"environment", "sketch", "tables.chunked", "typing", "validation"}
    own = {"inference.batch_glm", "inference.refit_losses", "algorithm.resampling"}
    models = {f"algorithm.{room}" for room in ("prior", "likelihood", "weighted")}
    models.add("inference.refits")
    assert imports_of("inference.bootstrap") == general | own | models
    assert imports_of("inference.batch_glm") == {"inference.refit_losses"}
    for room in ("inference.refit_losses", "environment"):
        assert imports_of(room) == set()
    assert "algorithm.solver" not in imports_of("tables.chunked")
    algorithm = [room for room in ROOMS if room.startswith("algorithm.")]
    assert len(algorithm) > 20
    for room in algorithm:
        assert "inference.bootstrap" not in imports_of(room)
