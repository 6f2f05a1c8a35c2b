"""Refits of every loss and penalty against other people's minimisers, and the
averages over them; what cannot work is refused by name.
"""

import numpy as np
import pytest
from cover import pairwise
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)

from rvamp_nb.algorithm import prior as priors
from rvamp_nb.algorithm.column_groups import GroupLasso
from rvamp_nb.algorithm.likelihood import Huber, Loss, Squared
from rvamp_nb.algorithm.resampling import (
    Discrete,
    Exponential,
    FixedFactor,
    NoResampling,
    Poisson,
    Subsample,
    TwoPoint,
    Weakness,
)
from rvamp_nb.algorithm.weighted import WeightedLoss
from rvamp_nb.inference import batch_glm, bootstrap
from rvamp_nb.inference.batch_glm import penalised_fit, refit, unit_table
from rvamp_nb.inference.bootstrap import naive_bootstrap, weighted_lasso

M, N, LAM, DELTA = 40, 12, 2.0, 0.7
LOSSES = ["squared", "logistic", "poisson", "huber"]


def prior_of(lam, l1_ratio=1.0, positive=False, **more):
    """The prior whose penalty these describe."""
    if positive:
        return priors.NonNegative(lam, **more)
    if l1_ratio == 1:
        return priors.Laplace(lam, **more)
    if l1_ratio == 0:
        return priors.Ridge(lam, **more)
    return priors.ElasticNet(lam, l1_ratio=l1_ratio, **more)


def bootstrap_of(A, y, lam, loss="squared", delta=None, **options):
    """Naive bootstrap under the penalty and the loss that numbers describe."""
    said = "l1_ratio", "positive", "penalty_factor", "randomize"
    said = {name: options.pop(name) for name in said if name in options}
    prior = prior_of(lam, **said)
    if delta is not None and loss == "huber":
        loss = Huber(delta)
    return naive_bootstrap(A, y, prior=prior, loss=loss, **options)


def problem(loss, M=M, N=N, seed=3):
    """A design whose columns are not centred, and targets that suit the loss."""
    rng = np.random.default_rng(seed)
    A = 0.2 + rng.normal(size=(M, N))
    x = np.where(rng.random(N) < 0.5, rng.normal(size=N), 0) / 2
    f = A @ x
    heavy = 0.5 * rng.standard_t(2, size=M)
    return A, {
        "squared": f + heavy,
        "huber": f + heavy,
        "poisson": rng.poisson(np.exp(np.minimum(f, 3))),
        "logistic": rng.random(M) < expit(f),
    }[loss].astype(float)


# The reference: the same objective with x = p - q, by L-BFGS-B with bounds ------------


def loss_and_slope(loss, y, f, delta):
    """Written down once more, in other words than the module's."""
    if loss == "squared":
        return (f - y) ** 2 / 2, f - y
    if loss == "logistic":
        return np.log1p(np.exp(-np.abs(f))) + np.maximum(f, 0) - y * f, expit(f) - y
    if loss == "poisson":
        return np.exp(f) - y * f, np.exp(f) - y
    r = f - y
    return np.where(
        np.abs(r) < delta, r**2 / 2, delta * np.abs(r) - delta**2 / 2
    ), np.where(np.abs(r) < delta, r, delta * np.sign(r))


def reference(A, y, t, k, counts, loss="squared", positive=False, delta=DELTA):
    N, positive = A.shape[1], np.broadcast_to(positive, A.shape[1:])

    def objective(pq):
        x = pq[:N] - pq[N:]
        value, slope = loss_and_slope(loss, y, A @ x, delta)
        gradient = A.T @ (counts * slope) + k * x
        return counts @ value + t @ (pq[:N] + pq[N:]) + k @ x**2 / 2, np.concatenate(
            [gradient + t, t - gradient]
        )

    bounds = [(None if free else 0, None) for free in (t == 0) & ~positive] + [
        (0, 0 if one else None) for one in (t == 0) | positive
    ]
    pq = np.zeros(2 * N)
    for _ in range(4):
        pq = minimize(
            objective,
            pq,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options=dict(ftol=0, gtol=1e-11, maxiter=20_000, maxfun=50_000, maxcor=30),
        ).x
    return pq[:N] - pq[N:]


def violation(A, y, t, k, counts, x, loss, positive=False, delta=DELTA):
    """How far x is from the optimality conditions, relative to the largest penalty
    or pull at zero.
    """
    positive = np.broadcast_to(positive, x.shape)
    pull = -A.T @ (counts * loss_and_slope(loss, y, A @ x, delta)[1]) - k * x
    off = np.where(
        x == 0,
        np.maximum(np.where(positive, pull, np.abs(pull)) - t, 0),
        np.abs(pull - t * np.sign(x)),
    )
    off = np.where(positive & (x < 0), np.inf, off)
    return off.max() / (
        t.max()
        + np.abs(A.T @ (counts * loss_and_slope(loss, y, 0 * y, delta)[1])).max()
        + 1e-300
    )


ONE, ZERO = np.ones(N), np.zeros(N)
SOME = np.where(np.arange(N) < 3, 0.0, 1.0)  # three columns without a penalty
PENALTIES = {
    "lasso": (LAM * ONE, ZERO, False),
    "ridge": (ZERO, LAM * ONE, False),
    "elastic net": (LAM / 2 * ONE, LAM / 2 * ONE, False),
    "nothing": (ZERO, ZERO, False),
    "non-negative": (LAM * ONE, ZERO, True),
    "non-negative elastic net": (LAM / 2 * ONE, LAM / 2 * ONE, True),
    "non-negative, no penalty": (ZERO, ZERO, True),
    "unpenalised columns": (LAM * SOME, ZERO, False),
    "unpenalised columns, elastic net": (LAM / 2 * SOME, LAM / 2 * SOME, False),
    "unpenalised columns, ridge": (ZERO, LAM * SOME, False),
    "one penalty a column": (np.linspace(0.2, 5, N), np.linspace(3, 0, N), False),
    "some non-negative": (LAM * SOME, ZERO, np.arange(N) % 2 == 0),
}
COUNTS = {
    "once": np.ones(M),
    "Poisson": Poisson(1.0).draw(M, np.random.default_rng(0)),
    "fractions": Exponential(1.0).draw(M, np.random.default_rng(1)),
    "eight rows": (np.arange(M) < 8) * 1.0,  # fewer than columns
}


def with_ones(A, t, k, positive):
    """The same problem with an intercept."""
    none = np.zeros(1)
    kept = np.append(np.full(N, positive), False)
    return (
        np.column_stack([A, np.ones(len(A))]),
        np.append(t, none),
        np.append(k, none),
        kept,
    )


@pytest.mark.parametrize("penalty, loss, counts", pairwise(PENALTIES, LOSSES, COUNTS))
def test_against_a_general_minimiser(loss, penalty, counts):
    (A, y), (t, k, positive), c = problem(loss), PENALTIES[penalty], COUNTS[counts]
    free = not (t + k > 0).all()
    if free and (counts == "eight rows" or (loss, penalty) == ("logistic", "nothing")):
        return  # no unique, or no finite minimiser
    x = penalised_fit(A, y, t, k, c, loss, positive, DELTA)
    other = reference(A, y, t, k, c, loss, positive)
    np.testing.assert_allclose(x, other, atol=5e-6, rtol=5e-6)
    assert violation(A, y, t, k, c, x, loss, positive) < 1e-8
    # not selected is exactly 0
    if (t > 0).any():
        np.testing.assert_array_equal(x[np.abs(other) < 1e-7], 0)


SOME_PENALTIES = ["lasso", "elastic net", "non-negative", "ridge"]


@pytest.mark.parametrize(
    "penalty, loss, counts",
    pairwise(SOME_PENALTIES, LOSSES, ["once", "Poisson", "fractions"]),
)
def test_an_intercept_is_one_more_column_without_a_penalty(loss, penalty, counts):
    (A, y), c = problem(loss), COUNTS[counts]
    A, t, k, positive = with_ones(A, *PENALTIES[penalty])
    x = penalised_fit(A, y, t, k, c, loss, positive, DELTA)
    other = reference(A, y, t, k, c, loss, positive)
    np.testing.assert_allclose(x, other, atol=2e-6, rtol=2e-6)
    # the weighted residuals sum to 0
    assert abs(c @ loss_and_slope(loss, y, A @ x, DELTA)[1]) < 1e-8 * c.sum()


# scikit-learn, where it minimises the same thing --------------------------------------


def sklearn_model(penalty, total, **options):
    options = dict(fit_intercept=False, tol=1e-14, max_iter=1_000_000) | options
    return {
        "lasso": Lasso(LAM / total, **options),
        "non-negative": Lasso(LAM / total, positive=True, **options),
        "elastic net": ElasticNet(LAM / total, l1_ratio=0.5, **options),
        "non-negative elastic net": ElasticNet(
            LAM / total, l1_ratio=0.5, positive=True, **options
        ),
        "ridge": Ridge(LAM, **options | dict(solver="cholesky")),
    }[penalty]


@pytest.mark.parametrize(
    "penalty, counts, intercept",
    pairwise(
        ["lasso", "non-negative", "elastic net", "non-negative elastic net", "ridge"],
        ["once", "Poisson", "fractions"],
        [False, True],
    ),
)
def test_squared_loss_against_sklearn(penalty, intercept, counts):
    (A, y), c = problem("squared"), COUNTS[counts]
    model = sklearn_model(penalty, c.sum(), fit_intercept=intercept)
    model.fit(A, y, sample_weight=c)
    truth = np.append(model.coef_, [model.intercept_] * intercept)
    if not intercept and penalty == "lasso":
        np.testing.assert_allclose(weighted_lasso(A, y, LAM, c), truth, atol=1e-6)
    t, k, positive = PENALTIES[penalty]
    if intercept:
        A, t, k, positive = with_ones(A, t, k, positive)
    x = penalised_fit(A, y, t, k, c, "squared", positive)
    np.testing.assert_allclose(x, truth, atol=1e-7)


def of_sklearn(loss, total, **options):
    if loss == "poisson":
        options = dict(max_iter=10_000, solver="newton-cholesky") | options
        return PoissonRegressor(alpha=LAM / total, tol=1e-12, **options)
    return LogisticRegression(C=1 / LAM, max_iter=10_000, **options)


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_other_losses_against_sklearn(loss):
    (A, y), c = problem(loss), COUNTS["fractions"]
    model = of_sklearn(loss, c.sum(), tol=1e-12) if loss == "logistic" else None
    model = model or of_sklearn(loss, c.sum())
    model.fit(A, y, sample_weight=c)
    B, t, k, _ = with_ones(A, ZERO, LAM * ONE, False)
    x = penalised_fit(B, y, t, k, c, loss)
    np.testing.assert_allclose(x[:N], np.ravel(model.coef_), atol=1e-6)
    np.testing.assert_allclose(x[N], np.ravel(model.intercept_)[0], atol=1e-6)


# Weights and offsets ------------------------------------------------------------------


def rows_of(loss, seed=8):
    """A problem with weights, two of them 0, and offsets."""
    rng = np.random.default_rng(seed)
    A, y = problem(loss)
    return A, y, np.append(rng.gamma(2, 1, M - 2), [0.0, 0.0]), rng.normal(size=M)


def known_rows(loss, n=8, **options):
    A, y, w, o = rows_of(loss)
    known = dict(sample_weight=w, offset=o, keep=range(N), random_state=7, delta=DELTA)
    laws = dict(resampling=Poisson(1.5), randomize=TwoPoint(2, 0.5), verbose=False)
    return bootstrap_of(A, y, LAM, loss=loss, n_resamples=n, **known, **laws, **options)


@pytest.mark.parametrize("loss", LOSSES)
def test_refits_with_weights_and_offsets_are_optimal(loss):
    A, y, w, o = rows_of(loss)
    seen, U = known_rows(loss), []
    for b, x in enumerate(seen.draws):
        rng = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(b,)))
        c = Poisson(1.5).draw(M, rng)
        lam = LAM * TwoPoint(2, 0.5).draw(N, rng)
        U.append(-c * w * loss_and_slope(loss, y, A @ x + o, DELTA)[1])
        pull = A.T @ U[-1]
        np.testing.assert_allclose(pull[x != 0], (lam * np.sign(x))[x != 0], atol=1e-4)
        assert (np.abs(pull) <= lam + 1e-4).all() and (x != 0).any()
    np.testing.assert_allclose(seen.u_mean, np.mean(U, 0), atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_of_weight_0_have_no_say(loss):
    A, y, w, o = rows_of(loss)
    laws = dict(resampling=NoResampling(), n_resamples=1, verbose=False)
    laws |= dict(loss=loss, intercept=True)
    one = bootstrap_of(A, y, LAM, sample_weight=w, offset=o, **laws)
    y[-2:], A[-2:], o[-2:] = 1, 50, -3
    two = bootstrap_of(A, y, LAM, sample_weight=w, offset=o, **laws)
    np.testing.assert_allclose(one.mean, two.mean, atol=1e-7)
    three = bootstrap_of(
        A[:-2], y[:-2], LAM, sample_weight=w[:-2], offset=o[:-2], **laws
    )
    np.testing.assert_allclose(one.mean, three.mean, atol=1e-7)


def test_weights_against_sklearn():
    """A Lasso among them, which the test above has not."""
    laws = dict(resampling=NoResampling(), n_resamples=1, verbose=False)
    A, y, w, _ = rows_of("logistic")
    ours = bootstrap_of(A, y, LAM, loss="logistic", sample_weight=w, **laws)
    options = dict(l1_ratio=1, solver="liblinear", fit_intercept=False, tol=1e-10)
    theirs = of_sklearn("logistic", w.sum(), **options).fit(A, y, sample_weight=w)
    np.testing.assert_allclose(ours.mean, theirs.coef_[0], atol=1e-5)
    A, y, w, _ = rows_of("poisson")
    laws |= dict(loss="poisson", l1_ratio=0.0, intercept=True)
    ours = bootstrap_of(A, y, LAM, sample_weight=w, **laws)
    theirs = of_sklearn("poisson", w.sum()).fit(A, y, sample_weight=w)
    np.testing.assert_allclose(ours.mean, theirs.coef_, atol=1e-6)


def test_a_poisson_offset_is_an_exposure():
    """exp(f + o) - y f = e^o (exp(f) - (y / e^o) f)."""
    A, y, w, o = rows_of("poisson")
    laws = dict(loss="poisson", n_resamples=40, verbose=False)
    one = bootstrap_of(A, y, LAM, sample_weight=w, offset=o, **laws)
    exposure = np.exp(o)
    two = bootstrap_of(A, y / exposure, LAM, sample_weight=w * exposure, **laws)
    np.testing.assert_allclose(one.mean, two.mean, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_of_1_and_offsets_of_0_change_no_digit(loss):
    A, y = problem(loss)
    laws = dict(loss=loss, n_resamples=20, verbose=False)
    one = bootstrap_of(A, y, LAM, **laws)
    two = bootstrap_of(A, y, LAM, sample_weight=np.ones(M), offset=np.zeros(M), **laws)
    np.testing.assert_array_equal(one.mean, two.mean)


# Special resamples --------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_a_count_of_two_is_the_row_twice(loss):
    (A, y), c = problem(loss), COUNTS["Poisson"]
    rows = np.repeat(np.arange(M), c.astype(int))
    for penalty in [*SOME_PENALTIES, "unpenalised columns"]:
        t, k, positive = PENALTIES[penalty]
        once = penalised_fit(
            A[rows], y[rows], t, k, np.ones(len(rows)), loss, positive, DELTA
        )
        x = penalised_fit(A, y, t, k, c, loss, positive, DELTA)
        np.testing.assert_allclose(x, once, atol=1e-8, err_msg=penalty)
        # counts, penalty and loss scale together
        for size in (1e4, 1e-4):
            scaled = size * t, size * k, size * c
            z = penalised_fit(A, y, *scaled, loss, positive, DELTA)
            np.testing.assert_allclose(z, x, atol=1e-7, err_msg=penalty)
        nothing = penalised_fit(A, y, t, k, 0 * c, loss, positive, DELTA)
        np.testing.assert_array_equal(nothing, 0)


@pytest.mark.parametrize("label", [0, 1])
def test_a_resample_with_one_class(label):
    """With an intercept the best one is at infinity: what counts is a finite number of
    the right sign, a fit near certainty, and coefficients of 0.
    """
    A, y = problem("logistic")
    c = np.where(y == label, COUNTS["fractions"], 0)
    for penalty in SOME_PENALTIES:
        t, k, positive = PENALTIES[penalty]
        x = penalised_fit(A, y, t, k, c, "logistic", positive)
        other = reference(A, y, t, k, c, "logistic", positive)
        np.testing.assert_allclose(x, other, atol=2e-6)
    A, t, k, _ = with_ones(A, *PENALTIES["lasso"])
    x = penalised_fit(A, y, t, k, (y == label) * 1.0, "logistic")
    assert np.isfinite(x).all() and not x[:N].any() and abs(expit(x[N]) - label) < 1e-6


def test_a_resample_of_rows_without_any_event_is_finite():
    A, y = problem("poisson")
    c = (y == 0) * 1.0
    B, t, k, _ = with_ones(A, *PENALTIES["lasso"])
    x = penalised_fit(B, y, t, k, c, "poisson")
    assert np.isfinite(x).all() and not x[:N].any() and np.exp(x[N]) < 1e-6
    x = penalised_fit(A, y, t[:N], k[:N], c, "poisson")
    np.testing.assert_allclose(
        x, reference(A, y, t[:N], k[:N], c, "poisson"), atol=2e-6
    )


@pytest.mark.parametrize("offset", [30.0, 100.0, -800.0])
def test_far_offsets_end(offset):
    """Without curvature at the start; the intercept takes the offset back."""
    A, y = problem("logistic")
    A, t, k, _ = with_ones(A, *PENALTIES["lasso"])
    usual = penalised_fit(A, y, t, k, np.ones(M), "logistic")
    far = penalised_fit(A, y, t, k, np.ones(M), "logistic", offset=offset)
    np.testing.assert_allclose(far[:N], usual[:N], atol=1e-8)
    np.testing.assert_allclose(far[N] + offset, usual[N], atol=1e-8)


def test_intercept_alone_has_closed_forms():
    links = {
        "squared": lambda m: m,
        "logistic": lambda m: np.log(m / (1 - m)),
        "poisson": np.log,
    }
    none = np.zeros(1)
    for c in COUNTS.values():
        for loss, link in links.items():
            y = problem(loss)[1]
            x = penalised_fit(np.ones((M, 1)), y, none, none, c, loss)
            np.testing.assert_allclose(x, link(c @ y / c.sum()), atol=1e-9)


@given(
    M=st.integers(1, 25),
    N=st.integers(1, 30),
    seed=st.integers(0, 10_000),
    loss=st.sampled_from(LOSSES),
    size=st.floats(-1.5, 1.0),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    positive=st.booleans(),
    tau=st.sampled_from([0.3, 1.0, 3.0]),
    delta=st.sampled_from([0.1, 1.0, 10.0]),
)
def test_every_refit_is_optimal(M, N, seed, loss, size, share, positive, tau, delta):
    A, y = problem(loss, M, N, seed)
    rng = np.random.default_rng(seed)
    full = 10.0**size * Weakness(0.3).draw(N, rng)
    c = (Poisson if seed % 2 else Exponential)(tau).draw(M, rng)
    t, k = share * full, (1 - share) * full
    x = penalised_fit(A, y, t, k, c, loss, positive, delta)
    assert violation(A, y, t, k, c, x, loss, positive, delta) < 1e-7


@given(
    N=st.integers(1, 40),
    free=st.integers(1, 4),
    seed=st.integers(0, 10_000),
    loss=st.sampled_from(["squared", "poisson", "huber"]),
    size=st.floats(0.0, 1.0),
)
def test_every_refit_with_unpenalised_columns_is_optimal(N, free, seed, loss, size):
    A, y = problem(loss, 25, N, seed)
    t = np.where(np.arange(N) < free, 0.0, 10.0**size)
    c = Exponential(1.0).draw(25, np.random.default_rng(seed))
    assert (
        violation(
            A, y, t, 0 * t, c, penalised_fit(A, y, t, 0 * t, c, loss, delta=DELTA), loss
        )
        < 1e-7
    )


def test_the_violation_notices_a_wrong_solution():
    for loss in LOSSES:
        (A, y), (t, k, _), c = problem(loss), PENALTIES["elastic net"], COUNTS["once"]
        x = penalised_fit(A, y, t, k, c, loss, delta=DELTA)
        assert (
            violation(A, y, t, k, c, 1.001 * x, loss) > 1e-5
            and violation(A, y, t, k, c, 0 * x, loss) > 1e-2
        )
        assert (
            violation(A, y, 2 * t, k, c, x, loss) > 1e-3
            and violation(A, y, t, 2 * k, c, x, loss) > 1e-4
        )


# The averages -------------------------------------------------------------------------

FACTOR = np.linspace(0.5, 2, N) * (np.arange(N) != 4)
MODELS = {
    "logistic": dict(loss="logistic"),
    "logistic, intercept": dict(loss="logistic", intercept=True),
    "poisson, intercept": dict(loss="poisson", intercept=True),
    "huber": dict(loss="huber", delta=DELTA),
    "huber, intercept, ridge": dict(
        loss="huber", delta=DELTA, intercept=True, l1_ratio=0.0
    ),
    "elastic net": dict(l1_ratio=0.4),
    "ridge": dict(l1_ratio=0.0),
    "non-negative": dict(positive=True),
    "non-negative, intercept": dict(positive=True, intercept=True),
    "lasso, intercept": dict(intercept=True),
    "factors": dict(penalty_factor=FACTOR),
    "factors, intercept": dict(penalty_factor=FACTOR, intercept=True),
    "all at once": dict(
        loss="poisson", l1_ratio=0.7, penalty_factor=FACTOR, intercept=True
    ),
    "all at once, non-negative": dict(
        loss="poisson", positive=True, penalty_factor=FACTOR, intercept=True
    ),
}


def by_hand(
    A,
    y,
    lam,
    n,
    resampling,
    randomize=FixedFactor(),
    fit=reference,
    random_state=0,
    **model,
):
    """The documented recipe of a naive bootstrap with another minimiser: coefficients
    (n, N or N + 1) and weighted pulls (n, M).
    """
    usual = dict(loss="squared", l1_ratio=1.0, positive=False, penalty_factor=1.0)
    model = usual | dict(intercept=False, delta=1.0) | model
    loss, share, delta = model["loss"], model["l1_ratio"], model["delta"]
    none = np.zeros(int(model["intercept"]))
    X, U, N = [], [], A.shape[1]
    B = np.column_stack([A, np.ones(len(A))]) if len(none) else A
    kept = np.append(np.full(N, model["positive"]), none > 0)
    for b in range(n):
        seed = np.random.SeedSequence(random_state, spawn_key=(b,))
        rng = np.random.default_rng(seed)
        c = resampling.draw(len(y), rng)
        full = lam * randomize.draw(N, rng) * model["penalty_factor"]
        t, k = np.append(share * full, none), np.append((1 - share) * full, none)
        X.append(fit(B, y, t, k, c, loss, kept, delta))
        U.append(-c * loss_and_slope(loss, y, B @ X[-1], delta)[1])
    return np.array(X), np.array(U)


@pytest.mark.parametrize("name", MODELS)
def test_averages_are_those_of_the_refits(name):
    model = MODELS[name]
    n = 6
    laws = dict(resampling=Poisson(1.5), randomize=TwoPoint(2, 0.5))
    A, y = problem(model.get("loss", "squared"))
    seen = bootstrap_of(
        A,
        y,
        LAM,
        n_resamples=n,
        random_state=7,
        keep=range(N),
        verbose=False,
        **laws,
        **model,
    )
    X, U = by_hand(A, y, LAM, n, random_state=7, **laws, **model)
    X[np.abs(X) < 1e-6] = 0
    np.testing.assert_allclose(seen.draws, X[:, :N], atol=3e-6)
    np.testing.assert_allclose(seen.mean, X[:, :N].mean(0), atol=3e-6)
    np.testing.assert_allclose(seen.var, X[:, :N].var(0, ddof=1), atol=1e-5)
    np.testing.assert_array_equal(seen.Pi, (X[:, :N] != 0).mean(0))
    np.testing.assert_allclose(seen.u_mean, U.mean(0), atol=3e-5)
    np.testing.assert_allclose(seen.u_se, U.std(0, ddof=1) / n**0.5, atol=3e-5)
    if not model.get("intercept"):
        assert np.isnan(
            [seen.intercept_mean, seen.intercept_var, seen.intercept_se]
        ).all()
    else:
        np.testing.assert_allclose(
            [seen.intercept_mean, seen.intercept_var, seen.intercept_se],
            [X[:, N].mean(), X[:, N].var(ddof=1), X[:, N].std(ddof=1) / n**0.5],
            atol=1e-5,
        )
        assert isinstance(seen.intercept_mean, float) and abs(seen.u_mean.sum()) < 1e-7
    if "penalty_factor" in model:
        assert abs(A[:, 4] @ seen.u_mean) < 1e-7 or model.get("positive")


LAWS = [
    Subsample(0.5),
    NoResampling(),
    Exponential(1.0),
    Discrete([0, 1, 2], [0.2, 0.5, 0.3]),
]


@pytest.mark.parametrize("counts", LAWS, ids=lambda law: type(law).__name__)
def test_laws(counts):
    A, y = problem("huber")
    model = dict(loss="huber", delta=DELTA)
    for randomize in (FixedFactor(), Weakness(0.4), TwoPoint(3, 0.5)):
        laws = dict(resampling=counts, randomize=randomize)
        seen = bootstrap_of(A, y, LAM, n_resamples=3, verbose=False, **laws, **model)
        X, _ = by_hand(A, y, LAM, 3, **laws, **model)
        np.testing.assert_allclose(seen.mean, X.mean(0), atol=3e-6)


@pytest.mark.parametrize("name", MODELS)
def test_without_resampling_it_is_one_fit(name):
    model, laws = MODELS[name], dict(resampling=NoResampling())
    A, y = problem(model.get("loss", "squared"))
    seen = bootstrap_of(A, y, LAM, n_resamples=3, verbose=False, **laws, **model)
    X, _ = by_hand(A, y, LAM, 1, **laws, **model)
    np.testing.assert_allclose(seen.mean, X[0, :N], atol=3e-6)
    assert seen.var.max() < 1e-25 and set(seen.Pi) <= {0.0, 1.0}


@pytest.mark.parametrize(
    "given", [dict(l1_ratio=1 - 1e-12), dict(loss="huber", delta=1e6)], ids=str
)
def test_what_is_nearly_a_lasso_is_nearly_its_answer(given):
    A, y = problem("squared")
    options = dict(n_resamples=20, verbose=False, resampling=Poisson(2.0))
    plain = bootstrap_of(A, y, LAM, **options)
    other = bootstrap_of(A, y, LAM, **options, **given)
    np.testing.assert_allclose(other.mean, plain.mean, atol=1e-5)


def test_penalty_factors():
    """They are penalties, and 0 is the limit of small ones."""
    A, y = problem("logistic")
    options = dict(loss="logistic", n_resamples=10, verbose=False)
    factor = np.linspace(0.5, 2, N)
    one = bootstrap_of(A, y, LAM, penalty_factor=factor, **options)
    other = bootstrap_of(A, y, LAM * factor, **options)
    np.testing.assert_allclose(one.mean, other.mean, atol=1e-9)
    A, y = problem("squared")
    options, first = (
        dict(options, loss="squared", resampling=Poisson(2.0)),
        np.arange(N) == 0,
    )
    free = bootstrap_of(A, y, LAM, penalty_factor=1.0 * ~first, **options)
    faint = bootstrap_of(A, y, np.where(first, 1e-13, LAM), **options)
    np.testing.assert_allclose(free.mean, faint.mean, atol=1e-5)


def test_the_same_to_the_last_bit_whatever_n_resamples():
    A, y = problem("poisson")
    options = dict(loss="poisson", intercept=True, penalty_factor=FACTOR, l1_ratio=0.5)
    options |= dict(keep=range(N), verbose=False)
    one = bootstrap_of(A, y, LAM, n_resamples=60, **options)
    short = bootstrap_of(A, y, LAM, n_resamples=7, **options)
    np.testing.assert_array_equal(one.draws[:7], short.draws)
    other = bootstrap_of(A, y, LAM, n_resamples=7, random_state=1, **options)
    assert not np.array_equal(short.draws, other.draws)


def test_separable_labels():
    """With an intercept only some resamples have one class; with a small penalty the
    labels are separated. All stays finite.
    """
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(12, 3)), np.repeat([0.0, 1.0], 6)
    A[:, 0] += 5 * y  # a column that separates the classes
    options = dict(loss="logistic", intercept=True, verbose=False)
    for counts in (Subsample(0.5), Poisson(0.2)):
        seen = bootstrap_of(A, y, 1e4, resampling=counts, n_resamples=40, **options)
        of_intercept = seen.intercept_mean, seen.intercept_var, seen.intercept_se
        assert not seen.mean.any() and np.isfinite([*of_intercept, *seen.u_mean]).all()
    laws = dict(resampling=NoResampling())
    small = bootstrap_of(A, y, 0.1, n_resamples=1, **laws, **options)
    X, _ = by_hand(A, y, 0.1, 1, **laws, loss="logistic", intercept=True)
    found = np.append(small.mean, small.intercept_mean)
    np.testing.assert_allclose(found, X[0], atol=1e-5)


def test_input_of_other_kinds_and_nothing_is_changed():
    for loss, kinds in {
        "poisson": (int, "uint8", "float32"),
        "logistic": (bool, int),
    }.items():
        A, y = problem(loss)
        given = [A, y, SOME.copy(), np.ones(M)]
        before = [v.copy() for v in given]
        for v in given:
            v.setflags(write=False)
        options = dict(loss=loss, n_resamples=5, verbose=False)
        options |= dict(sample_weight=given[3], offset=0 * given[3])
        plain = bootstrap_of(A, y, LAM, penalty_factor=given[2], **options)
        for v, was in zip(given, before):
            np.testing.assert_array_equal(v, was)
        for other in (y.tolist(), *(y.astype(kind) for kind in kinds)):
            factor = SOME.astype(bool) if isinstance(other, list) else SOME.tolist()
            seen = bootstrap_of(A, other, LAM, penalty_factor=factor, **options)
            np.testing.assert_array_equal(seen.mean, plain.mean)


@pytest.mark.parametrize("kind", ["float32", int, "uint8", bool])
def test_one_refit_of_a_table_of_other_kinds(kind):
    _, y = problem("squared")
    A = np.random.default_rng(3).integers(0, 2, size=(M, N)).astype(kind)
    free = np.where(np.arange(N) < 2, 0.0, LAM)
    wanted, found = (
        penalised_fit(X, y, free, 0 * free, np.ones(M)) for X in (A.astype(float), A)
    )
    assert 2 < np.count_nonzero(wanted) < N
    np.testing.assert_array_equal(found, wanted)


# Many refits at once -----------------------------------------------------------------

WIDE = dict(M=30, N=150)


def wide(loss, seed=3):
    """More columns than rows, with copies of rows and columns."""
    A, y = problem(loss, seed=seed, **WIDE)
    return A, y


HINTS = {
    "none": None,
    "empty": [],
    "wrong": [149, 3, 149],
    "everything": range(150),
    "half": range(0, 150, 2),
}


def numbers(found):
    return [v for v in found if isinstance(v, np.ndarray)]


def one_by_one(A, y, lam, n, loss="squared", **model):
    """Each refit by itself; a Lasso by another package."""
    if loss != "squared" or model:
        return by_hand(A, y, lam, n, fit=penalised_fit, loss=loss, **LAWS_OF, **model)
    lasso = lambda A, y, t, k, c, *_: weighted_lasso(A, y, t, c)
    return by_hand(A, y, lam, n, fit=lasso, **LAWS_OF)


LAWS_OF = dict(resampling=Poisson(0.5), randomize=TwoPoint(2, 0.5))
WIDE_MODELS = {
    "lasso": dict(),
    "lasso, intercept": dict(intercept=True),
    "elastic net": dict(l1_ratio=0.4),
    "non-negative": dict(positive=True, intercept=True),
    "factors": dict(penalty_factor=np.where(np.arange(150) < 3, 0, 1.0)),
    "no penalty on what is not negative": dict(
        positive=True, penalty_factor=np.where(np.arange(150) < 3, 0, 1.0)
    ),
    "logistic": dict(loss="logistic", intercept=True),
    "poisson": dict(loss="poisson", intercept=True, l1_ratio=0.9),
    "huber": dict(loss="huber", delta=DELTA),
    "ridge": dict(l1_ratio=0.0),
}


@pytest.mark.parametrize("name", WIDE_MODELS)
def test_all_at_once_is_one_by_one_and_a_hint_changes_no_digit(name):
    """One hint a model; each hint is given to two or three of them."""
    model, k = WIDE_MODELS[name], list(WIDE_MODELS).index(name)
    A, y = wide(model.get("loss", "squared"))
    options = dict(keep=range(150), n_resamples=8, verbose=False, **LAWS_OF, **model)
    seen = bootstrap_of(A, y, 1.0, **options)
    hint = np.roll(list(HINTS), -k)[0]
    other = bootstrap_of(A, y, 1.0, columns=HINTS[hint], **options)
    for a, b in zip(numbers(seen), numbers(other)):
        np.testing.assert_array_equal(a, b, err_msg=hint)
    X, U = one_by_one(A, y, 1.0, 8, **model)
    np.testing.assert_allclose(seen.draws, X[:, :150], rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(seen.draws != 0, X[:, :150] != 0)
    np.testing.assert_allclose(seen.u_mean, U.mean(0), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_every_refit_at_once_is_optimal(loss, monkeypatch):
    """On the draws themselves, by conditions written down once more; and hardly any is
    left to be made by itself.
    """
    slow, plain = [], bootstrap._one_refit
    monkeypatch.setattr(bootstrap, "_one_refit", lambda *a: slow.append(1) or plain(*a))
    A, y = wide(loss)
    model = dict(loss=loss, n_resamples=50, verbose=False, keep=range(150), **LAWS_OF)
    x = bootstrap_of(A, y, 0.7, columns=[], **model).draws
    assert len(slow) <= 2
    for b in range(50):
        rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(b,)))
        c, k = Poisson(0.5).draw(30, rng), TwoPoint(2, 0.5).draw(150, rng)
        assert violation(A, y, 0.7 * k, 0 * k, c, x[b], loss) < 1e-9


@pytest.mark.parametrize("loss", LOSSES)
def test_where_a_refit_begins_moves_no_digit_and_saves_steps(loss, monkeypatch):
    """`refit` alone: what `refitter` makes again without a guess hides a lost start."""
    taken = []
    step = batch_glm._newton_step

    def watch(p, going, *rest):
        taken.append(len(going))
        return step(p, going, *rest)

    monkeypatch.setattr(batch_glm, "_newton_step", watch)
    A, y = problem(loss)
    t = np.full(N, LAM)
    t[0] = 0
    table = unit_table(A, y, t, 0 * t, loss, delta=DELTA)
    rng = np.random.default_rng(0)
    counts = rng.poisson(1, (6, M)) * 1.0
    cold = refit(table, counts, np.ones((6, 1)))
    cold_steps = sum(taken)
    for start in (cold.x, rng.normal(size=cold.x.shape)):
        taken.clear()
        warm = refit(table, counts, np.ones((6, 1)), start=start)
        assert warm.sure.all()
        np.testing.assert_array_equal(warm.x, cold.x)
        if start is cold.x:
            assert sum(taken) < cold_steps / 2


def test_copies_of_columns_are_left_to_the_loop():
    """Which of two copies is selected must not depend on the hint."""
    A, y = wide("squared")
    A = np.column_stack([A[:, :75], A[:, :75]])
    binary = np.where(A > 0, 1.0, 0.0)  # rows drawn make copies of others
    for table, lam in ((A, 1.0), (binary, 0.5)):
        options = dict(n_resamples=8, verbose=False, keep=range(150), **LAWS_OF)
        X, _ = one_by_one(table, y, lam, 8)
        for hint in (None, [7, 80]):
            quick = bootstrap_of(table, y, lam, columns=hint, **options)
            np.testing.assert_array_equal(quick.draws != 0, X != 0)
            np.testing.assert_allclose(quick.draws, X, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_copies_of_columns_share_a_fit(loss):
    """Whatever the loss, of two equal columns one at the most is in use."""
    A, y = problem(loss)
    twice, c = np.hstack([A, A]), COUNTS["Poisson"]
    t, k = LAM * np.ones(2 * N), np.zeros(2 * N)
    x = penalised_fit(twice, y, t, k, c, loss, delta=DELTA)
    one = penalised_fit(A, y, t[:N], k[:N], c, loss, delta=DELTA)
    np.testing.assert_allclose(x[:N] + x[N:], one, atol=1e-9)
    assert not np.any((x[:N] != 0) & (x[N:] != 0))


@pytest.mark.parametrize(
    "columns, error",
    [
        ([150], ValueError),
        ([-1], ValueError),
        (3, TypeError),
        (["a"], TypeError),
        ([0.5], TypeError),
        (np.arange(150) < 3, TypeError),
    ],
    ids=str,
)
def test_a_hint_that_is_none(columns, error):
    A, y = wide("squared")
    with pytest.raises(error, match="columns must"):
        bootstrap_of(A, y, 1.0, columns=columns, n_resamples=2, verbose=False)


# What cannot work is refused by name --------------------------------------------------

A, Y = problem("squared")
LABELS, EVENTS = problem("logistic")[1], problem("poisson")[1]


def put(v, where, value):
    v = np.array(v, dtype=float)
    v[where] = value
    return v


FIRST = np.arange(N) == 0
ALIKE = np.column_stack([A, A[:, 0]])
VALUES = {
    "labels 1 and 2": (dict(loss="logistic", y=LABELS + 1), r"\by\b.*labels 0 and 1"),
    "three classes": (dict(loss="logistic", y=put(LABELS, 0, 2)), r"\by\b.*labels"),
    "a share above 1": (dict(loss="logistic", y=put(LABELS, 0, 1.5)), "labels.*shares"),
    "only 1": (dict(loss="logistic", y=0 * LABELS + 1), r"\by\b.*both"),
    "a negative count": (
        dict(loss="poisson", y=put(EVENTS, 3, -1)),
        r"\by\b.*>= 0.*-1",
    ),
    "no event": (dict(loss="poisson", y=0 * EVENTS, intercept=True), r"\by\b.*0"),
    "factor too short": (dict(penalty_factor=ONE[1:]), f"penalty_factor.*{N}"),
    "factor a column": (dict(penalty_factor=ONE[:, None]), "penalty_factor"),
    "a factor < 0": (dict(penalty_factor=put(ONE, 2, -0.1)), "penalty_factor.*>= 0"),
    "factor -1": (dict(penalty_factor=-1.0), "penalty_factor"),
    "a factor NaN": (
        dict(penalty_factor=put(ONE, 2, np.nan)),
        "penalty_factor has NaN",
    ),
    "l1_ratio 1.1": (dict(l1_ratio=1.1), "l1_ratio.*1.1"),
    "l1_ratio NaN": (dict(l1_ratio=np.nan), "l1_ratio"),
    "delta 0": (dict(loss="huber", delta=0), "delta"),
    "delta infinite": (dict(loss="huber", delta=np.inf), "delta"),
    "unknown loss": (
        dict(loss="hinge"),
        "loss.*'squared'.*'logistic'.*'poisson'.*'huber'.*'hinge'",
    ),
    "free twins": (
        dict(A=ALIKE, penalty_factor=[0] + [1] * (N - 1) + [0]),
        "2 unpenalised columns.*dependent",
    ),
    "a free column of zeros": (
        dict(A=put(A, (slice(None), 0), 0), penalty_factor=1.0 * ~FIRST),
        "unpenalised column",
    ),
    "a free constant and an intercept": (
        dict(
            A=put(A, (slice(None), 0), 3), penalty_factor=1.0 * ~FIRST, intercept=True
        ),
        "2 unpenalised columns.*intercept.*dependent",
    ),
    "more free columns than rows": (
        dict(A=A[:N], y=Y[:N], penalty_factor=0.0, intercept=True),
        f"{N + 1} unpenalised columns.*{N} rows",
    ),
    "weights too short": (
        dict(sample_weight=np.ones(M - 1)),
        "39 numbers of sample_weight for 40 rows",
    ),
    "a weight < 0": (dict(sample_weight=put(np.ones(M), 2, -1)), "sample_weight.*-1"),
    "all weights 0": (dict(sample_weight=np.zeros(M)), "sample_weight"),
    "one class with a weight": (
        dict(loss="logistic", y=LABELS, sample_weight=LABELS),
        r"\by\b.*both",
    ),
    "offsets too long": (
        dict(offset=np.ones(M + 1)),
        "41 numbers of offset for 40 rows",
    ),
    "an offset infinite": (
        dict(offset=put(np.ones(M), 2, np.inf)),
        "offset has NaN or",
    ),
    "lam 0 for no penalty": (dict(lam=0.0), "lam.*0"),
}
TYPES = {
    "loss a list": (dict(loss=["logistic"]), "loss"),
    "text for labels": (dict(loss="logistic", y=["a", "b"] * (M // 2)), r"\by\b"),
    "factor text": (dict(penalty_factor="no"), "penalty_factor"),
    "l1_ratio None": (dict(l1_ratio=None), "l1_ratio"),
    "delta text": (dict(loss="huber", delta="1"), "delta"),
    "intercept a number": (dict(intercept=1), "intercept.*True or False.*1"),
    "intercept None": (dict(intercept=None), "intercept"),
    "weights text": (dict(sample_weight=["a"] * M), "sample_weight"),
}
BAD = {name: (*case, ValueError) for name, case in VALUES.items()}
BAD |= {name: (*case, TypeError) for name, case in TYPES.items()}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_by_name(what):
    given, words, error = BAD[what]
    with pytest.raises(error, match=words):
        bootstrap_of(
            **{"A": A, "y": Y, "lam": LAM, "n_resamples": 2, "verbose": False, **given}
        )


class Own(Loss):
    """A loss that refits do not know."""


OTHERS = {
    "a posterior": dict(prior=priors.SpikeSlab(0.1)),
    "groups": dict(prior=GroupLasso(1.0, [0] * N)),
    "a prior of one's own": dict(prior=priors.Prior()),
    "a loss of one's own": dict(lam=1.0, loss=Own()),
    "weights twice": dict(lam=1.0, loss=WeightedLoss(Squared(), ONE[:1]), offset=[0.0]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_priors_and_losses_without_refits_are_named_with_the_remedy(name):
    words = "refits the losses squared.* and the priors Laplace.*, not .*`refine`"
    with pytest.raises(ValueError, match=words):
        naive_bootstrap(A, Y, **OTHERS[name])


def test_a_loss_with_weights_takes_the_place_of_both_arguments():
    A, y, w, o = rows_of("logistic")
    laws = dict(n_resamples=5, verbose=False)
    one = naive_bootstrap(A, y, LAM, loss="logistic", sample_weight=w, offset=o, **laws)
    two = naive_bootstrap(A, y, LAM, loss=WeightedLoss("logistic", w, o), **laws)
    np.testing.assert_array_equal(one.mean, two.mean)


def test_sigma_weighs_the_rows():
    A, y = problem("squared")
    laws = dict(n_resamples=5, verbose=False)
    one = naive_bootstrap(A, y, LAM, loss=Squared(0.5), **laws)
    two = naive_bootstrap(A, y, LAM / 4, **laws)
    np.testing.assert_allclose(one.mean, two.mean, atol=1e-9)


def never(*given):
    raise AssertionError("a step of the solver")


def test_priors_and_losses_are_read_and_take_no_step(monkeypatch):
    """The judge takes from them numbers and names only."""
    A, y = problem("huber")
    given = dict(prior=priors.ElasticNet(LAM, TwoPoint(), FACTOR), loss=Huber(DELTA))
    one = naive_bootstrap(A, y, **given, n_resamples=5, verbose=False)
    for kind in (priors.Prior, priors.Penalty, Loss, Huber):
        for name in ("moments", "channel", "message", "inner", "value", "derivatives"):
            if name in vars(kind) and (kind, name) != (priors.Penalty, "inner"):
                monkeypatch.setattr(kind, name, never)
    two = naive_bootstrap(A, y, **given, n_resamples=5, verbose=False)
    np.testing.assert_array_equal(one.mean, two.mean)


def test_as_many_free_columns_as_rows_will_do():
    """Interpolation: every resample of all rows goes through the data."""
    seen = bootstrap_of(
        A[:N],
        Y[:N],
        1.0,
        penalty_factor=0.0,
        resampling=NoResampling(),
        n_resamples=1,
        verbose=False,
    )
    np.testing.assert_allclose(A[:N] @ seen.mean, Y[:N], atol=1e-7)
    np.testing.assert_array_equal(seen.Pi, 1)


def test_a_penalised_constant_column_and_a_free_intercept_get_along():
    B = put(A, (slice(None), 0), 3)
    seen = bootstrap_of(B, Y, LAM, intercept=True, n_resamples=10, verbose=False)
    assert seen.Pi[0] == 0 and np.isfinite(seen.intercept_mean)


# Units ------------------------------------------------------------------------------


def in_units(loss, penalty, intercept, of_A=1.0, of_column=1.0, of_y=1.0):
    """A fit with A, one column or the targets in other units and the penalties to
    match, its coefficients brought back.
    """
    (B, y), (t, k, positive) = problem(loss), PENALTIES[penalty]
    d = np.where(np.arange(N) == 5, of_A * of_column, of_A)
    if loss in ("logistic", "poisson"):
        of_y = 1.0
    B, t, k = B * d, t * d * of_y, k * d * d
    positive = np.append(np.full(N, positive), np.zeros(intercept, dtype=bool))
    if intercept:
        B, d = np.column_stack([B, np.ones(M)]), np.append(d, 1.0)
        t, k = np.append(t, 0.0), np.append(k, 0.0)
    delta, c = DELTA * of_y if loss == "huber" else DELTA, COUNTS["Poisson"]
    return penalised_fit(B, y * of_y, t, k, c, loss, positive, delta) * d / of_y


WITH_UNITS = ["lasso", "elastic net", "non-negative", "ridge", "unpenalised columns"]


@pytest.mark.parametrize(
    "penalty, loss, intercept", pairwise(WITH_UNITS, LOSSES, (0, 1))
)
def test_units_do_not_matter(loss, penalty, intercept):
    usual = in_units(loss, penalty, intercept)
    for unit in (1e-100, 7e3, 1e100):
        for what in ("of_A", "of_column", "of_y"):
            x = in_units(loss, penalty, intercept, **{what: unit})
            np.testing.assert_allclose(x, usual, rtol=1e-9, atol=1e-11, err_msg=what)
            np.testing.assert_array_equal(x != 0, usual != 0)


@pytest.mark.parametrize("unit", [1e-100, 1e-6, 1e100])
def test_units_do_not_matter_for_the_lasso(unit):
    (A, y), c, lam = problem("squared"), COUNTS["Poisson"], np.full(N, LAM)
    usual, d = weighted_lasso(A, y, lam, c), np.where(np.arange(N) == 5, unit, 1.0)
    for x in (
        weighted_lasso(A * unit, y, lam * unit, c) * unit,
        weighted_lasso(A, y * unit, lam * unit, c) / unit,
        weighted_lasso(A * d, y, lam * d, c) * d,
    ):
        np.testing.assert_allclose(x, usual, rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_averages_with_an_intercept_in_small_units(loss):
    """A x 1e-5 beside an intercept moved Pi by .12, one column in millionths cost it
    its coefficient.
    """
    A, y = problem(loss)
    options = dict(loss=loss, intercept=True, n_resamples=20, verbose=False)
    usual = bootstrap_of(A, y, LAM, **options)
    d = np.where(np.arange(N) == 2, 1e-6, 1e-5)
    small = bootstrap_of(A * d, y, LAM * d, **options)
    np.testing.assert_array_equal(small.Pi, usual.Pi)
    np.testing.assert_allclose(small.mean * d, usual.mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(small.intercept_mean, usual.intercept_mean, rtol=1e-8)


def test_units_beyond_64_bits_are_refused():
    (A, y), (t, k, _) = problem("squared"), PENALTIES["elastic net"]
    changes = [dict(A=A * 1e170), dict(A=A * 1e-170), dict(y=y * 1e170)]
    for change in [*changes, dict(k=k * 1e-305), dict(k=k * 1e-323)]:
        arguments = dict(A=A, y=y, t=t, k=k, counts=np.ones(M)) | change
        with pytest.raises(ValueError, match="64-bit numbers; change their units"):
            penalised_fit(**arguments)
    with pytest.raises(ValueError, match="64-bit"):
        bootstrap_of(A * 1e170, y, LAM, l1_ratio=0.5, n_resamples=1, verbose=False)


@pytest.mark.parametrize("name", ["A", "y", "t", "k", "counts"])
def test_nan_is_refused_and_does_not_loop(name):
    (A, y), (t, k, _) = problem("squared"), PENALTIES["elastic net"]
    arguments = dict(A=A, y=y, t=t, k=k, counts=np.ones(M))
    arguments[name] = put(arguments[name], 0, np.nan)
    with pytest.raises(ValueError, match="must be finite"):
        penalised_fit(**arguments)
    if name in ("A", "y"):
        with pytest.raises(ValueError, match="must be finite"):
            weighted_lasso(arguments["A"], arguments["y"], t, np.ones(M))


@pytest.mark.parametrize("loss", LOSSES)
def test_columns_far_from_centred(loss):
    A, y = problem(loss)
    t, k, c = np.append(LAM * ONE, 0), np.append(ZERO, 0), COUNTS["once"]
    near, far = (np.column_stack([A + s, np.ones(M)]) for s in (0, 1e4))
    x, z = (penalised_fit(B, y, t, k, c, loss, delta=DELTA) for B in (near, far))
    np.testing.assert_allclose(z[:N], x[:N], atol=1e-9)
    z = penalised_fit(A + 100, y, t[:N], k[:N], c, loss, delta=DELTA)
    assert violation(A + 100, y, t[:N], k[:N], c, z, loss) < 1e-8


def test_what_is_not_reached_is_an_error_that_says_by_how_much(monkeypatch):
    (A, y), (t, k, _) = problem("huber"), PENALTIES["lasso"]
    monkeypatch.setattr(batch_glm, "_TURNS", 2)
    with pytest.raises(RuntimeError, match="'huber'.*off by [0-9.]+e-0.*1e-08 is"):
        penalised_fit(A, y, 0.01 * t, k, np.ones(M), "huber", delta=DELTA)


@pytest.mark.parametrize("loss", LOSSES)
def test_nearly_equal_columns_end(loss):
    """Some digits above rounding, with hardly a penalty: an answer or an error, and the
    answer is right.
    """
    A, y = problem(loss)
    for near in (1e-5, 1e-7, 1e-9):
        B = np.hstack([A, A + near * A[::-1]])
        t, k, c = 1e-6 * np.ones(2 * N), np.zeros(2 * N), COUNTS["once"]
        try:
            x = penalised_fit(B, y, t, k, c, loss, delta=DELTA)
        except RuntimeError as error:
            assert "drop columns that repeat others" in str(error)
        else:
            assert violation(B, y, t, k, c, x, loss) < 1e-6


def test_many_at_once_are_cut_to_what_memory_holds(monkeypatch):
    A, y = problem("squared")
    table = unit_table(A, y, LAM * ONE, ZERO)
    rng = np.random.default_rng(0)
    counts, factor = rng.poisson(1.0, (9, M)) * 1.0, rng.uniform(1, 2, (9, N))
    whole = refit(table, counts, factor)
    monkeypatch.setattr(batch_glm, "_MEMORY", 2 * M * N)
    for one, two in zip(whole[:2], refit(table, counts, factor)[:2]):
        np.testing.assert_array_equal(one, two)


def test_sweeps_that_do_not_suffice_hand_over():
    far = 100 + np.random.default_rng(0).normal(size=(60, 30))
    y = far[:, :3] @ [1.0, -1.0, 0.5] + np.random.default_rng(1).normal(size=60)
    x = weighted_lasso(far, y, np.full(30, 5.0), np.ones(60))
    t = np.full(30, 5.0)
    assert violation(far, y, t, 0 * t, np.ones(60), x, "squared") < 1e-12
    np.testing.assert_allclose(x, penalised_fit(far, y, t, 0 * t, np.ones(60)), rtol=0)


def test_a_penalised_copy_of_unpenalised_columns_is_never_selected():
    for loss in LOSSES:
        A, y = problem(loss)
        B = np.column_stack([A, A[:, 0] + A[:, 1]])
        t = np.append(LAM * (np.arange(N) > 1), 1e-6)
        x = penalised_fit(B, y, t, 0 * t, COUNTS["once"], loss, delta=DELTA)
        assert x[N] == 0 and np.isfinite(x).all()


def test_an_unpenalised_column_in_tiny_units_is_not_called_dependent():
    A, y = problem("squared")
    d = np.where(np.arange(N) == 0, 1e-20, 1.0)
    options = dict(
        intercept=True,
        penalty_factor=1.0 * (np.arange(N) > 0),
        n_resamples=5,
        resampling=Poisson(2.0),
        verbose=False,
    )
    usual = bootstrap_of(A, y, LAM, **options)
    small = bootstrap_of(A * d, y, LAM, **options)
    np.testing.assert_allclose(small.mean * d, usual.mean, rtol=1e-8, atol=1e-10)


def rare_events(M=6000, N=30):
    """A table of which one row in a hundred is an event, and twelve half-samples."""
    rng = np.random.default_rng(2)
    A = rng.normal(size=(M, N)) / np.sqrt(M)
    chance = 1 / (1 + np.exp(5 - 0.5 * np.sqrt(M) * (A[:, 0] - A[:, 1])))
    y = (rng.random(M) < chance) * 1.0
    A, t = np.column_stack([A, np.ones(M)]), np.append(np.full(N, 0.15), 0.0)
    counts = np.array([Subsample(0.5).draw(M, rng) for _ in range(12)])
    return A, y, t, counts, unit_table(A, y, t, 0 * t, "logistic")


def test_refits_of_many_rows_are_made_on_their_rows(monkeypatch):
    """On half the rows; and it moves no digit that counts."""
    A, y, t, counts, table = rare_events()
    assert 30 < y.sum() < 120
    taken, step = [], batch_glm._newton_step
    watch = lambda p, going, *rest: taken.append(p.y.shape[1]) or step(p, going, *rest)
    monkeypatch.setattr(batch_glm, "_newton_step", watch)
    x, u, sure, gap = refit(table, counts, np.ones((12, 1)))
    assert sure.all() and (gap < 1e-8).all()
    assert set(taken) == {3000}
    monkeypatch.setattr(batch_glm, "LONG", np.inf)
    plain = refit(table, counts, np.ones((12, 1)))
    np.testing.assert_allclose(x, plain[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(u, plain[1], rtol=1e-9, atol=1e-12)
    for b in (0, 7):
        alone = penalised_fit(A, y, t, 0 * t, counts[b], "logistic")
        np.testing.assert_allclose(x[b], alone, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("far", [1.0, 30.0])
def test_only_a_step_that_may_be_too_long_asks_for_the_objective(far, monkeypatch):
    """Where no prediction moves by more than 1 a Newton step of a tame loss goes down;
    the objective of every step was a third of a long refit's time.
    """
    A, y, t, counts, _ = rare_events()
    A[:, 0] *= far  # one column with far rows: some steps are too long
    table = unit_table(A, y, t, 0 * t, "logistic")
    lengths, asked, length = [], [], batch_glm._choose_length
    value = batch_glm.RefitLoss.value

    def watch(*given):
        before = len(asked)
        lengths.append((length(*given), len(asked) > before))
        p, f, along, z, step, whole = given
        energy = lambda v: p.loss.value(p.y, v, p.counts).sum(1)
        penalty = lambda v: np.sum(p.t * np.abs(v) + p.k * v**2 / 2, 1)
        part = lengths[-1][0][:, None]
        here, there = energy(f), energy(f + part * along)
        rise = there - here + penalty(z + part * step) - penalty(z)
        assert (rise <= 1e-12 * here).all()
        return lengths[-1][0]

    note = lambda loss, *given: asked.append(1) or value(loss, *given)
    monkeypatch.setattr(batch_glm.RefitLoss, "value", note)
    monkeypatch.setattr(batch_glm, "_choose_length", watch)
    _, _, sure, _ = refit(table, counts, np.ones((12, 1)))
    looked = np.mean([looked for _, looked in lengths])
    assert sure.all() and 0 < looked < 0.5


def test_offsets_go_with_the_rows_that_are_drawn(monkeypatch):
    A, y, t, counts, _ = rare_events(M=5200, N=8)
    offset = np.random.default_rng(0).normal(size=len(y))
    table = unit_table(A, y, t, 0 * t, "logistic", offset=offset)
    x, *_ = refit(table, counts, np.ones((12, 1)))
    alone = penalised_fit(A, y, t, 0 * t, counts[3], "logistic", offset=offset)
    np.testing.assert_allclose(x[3], alone, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_columns_that_only_faint_rows_see_take_no_more_steps(loss, monkeypatch):
    """Where the largest weight of all, 1e12, is about a row of zeros, as projections
    make it: what keeps a step regular is small beside the other rows' curvature.
    """
    A, y = problem(loss)
    A[0], y[0] = 0, 0
    t, k, _ = PENALTIES["lasso"]
    counts = np.array([COUNTS["fractions"], np.ones(M)])
    given = unit_table(A, y, t[:N], k[:N], loss), counts, np.ones((2, 1))
    same = refit(*given)[0]
    counts[:, 0] = 1e12
    taken, step = [], batch_glm._newton_step
    watch = lambda *given: taken.append(1) or step(*given)
    monkeypatch.setattr(batch_glm, "_newton_step", watch)
    x, _, sure, _ = refit(*given)
    assert sure.all() and len(taken) < 20
    np.testing.assert_allclose(x, same, rtol=1e-9, atol=1e-12)


def test_one_far_target_of_huber_leaves_the_others_their_digits(monkeypatch):
    rng = np.random.default_rng(0)
    A = np.column_stack([rng.normal(size=(47, 4)), np.ones(47)])
    y, counts = A[:, 0] + rng.normal(size=47), rng.poisson(1, size=(20, 47))
    counts[:, 0] = 1
    t = np.array([3.0, 3, 3, 3, 0])  # an intercept spreads the far target over all rows
    steps, found = [], []
    newton_step = batch_glm._newton_step
    watch = lambda *given: steps.append(1) or newton_step(*given)
    monkeypatch.setattr(batch_glm, "_newton_step", watch)
    for far in (1e3, 1e9):  # it pulls by delta wherever it is
        y[0] = far
        table = unit_table(A, y, t, 0 * t, "huber")
        x, _, _, gap = refit(table, counts, np.ones((20, 1)))
        assert gap.max() < batch_glm.GAP
        found.append(x)
    np.testing.assert_allclose(found[1], found[0], atol=1e-5)
    assert len(steps) < 150


def test_coefficients_in_the_units_of_a_table_and_back():
    """Also of unpenalised columns, and of columns that are 0 in all refits or one."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 8)) * 10.0 ** np.arange(8)
    t = np.array([1.0, 0, 1, 1, 0, 1, 1, 1])
    table = batch_glm.unit_table(A, rng.normal(size=30), t, 0 * t)
    x = rng.normal(size=(3, 8))
    x[:, 3] = 0
    x[1, 5] = 0
    back = table.to_caller(table.from_caller(x))
    np.testing.assert_allclose(back, x, rtol=1e-9)
