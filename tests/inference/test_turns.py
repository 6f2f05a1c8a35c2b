"""Single resamples through the frozen coupling: refits of every loss and penalty, of
one's own, too; against the exact refits, scikit-learn and scipy.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import issparse, random_array
from sklearn.linear_model import Lasso, LogisticRegression, PoissonRegressor

from rvamp_nb import (
    Discrete,
    ElasticNet,
    Grouped,
    Huber,
    Laplace,
    Logistic,
    Loss,
    NonNegative,
    Poisson,
    PoissonLoss,
    Prior,
    Ridge,
    SpikeSlab,
    Squared,
    Subsample,
    TwoPoint,
    WeightedLoss,
    datasets,
    rvamp,
)
from rvamp_nb.algorithm.cluster_channel import field_of
from rvamp_nb.course.survival import survival_fit
from rvamp_nb.inference import turns as room
from rvamp_nb.inference.refinement import resamples
from rvamp_nb.inference.refits import refitter
from rvamp_nb.inference.several_classes import Softmax
from rvamp_nb.inference.turns import (
    FrozenCoupling,
    KroneckerFactor,
    OneCurvature,
    Turns,
)
from rvamp_nb.tables import ChunkedTable
from rvamp_nb.tables.chunked import SparseBlock

HALF, B = Subsample(0.5), 12
SHAPES = {"wide": (28, 48), "tall": (56, 14), "square": (35, 31)}


def table(M, N, seed=0):
    """Columns of unit length; the second is 0 in most rows, the last in all."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(M, N))
    A[5:, 1] = 0
    A -= A.mean(0)
    A /= np.linalg.norm(A, axis=0)
    A[:, -1] = 0
    f = A[:, :4] @ [6.0, 5.0, 4.0, 3.0]
    return A, f, rng


def problem(shape, loss):
    """A table, a target for a loss, and a penalty."""
    A, f, rng = table(*SHAPES[shape])
    noise = rng.normal(size=len(A))
    y = f + noise
    if isinstance(loss, Logistic):
        return A, 1.0 * (y > 0), 0.35
    if isinstance(loss, PoissonLoss):
        return A, rng.poisson(np.exp(0.3 * f)).astype(float), 0.8
    return A, y, 1.2


def weighted(M, loss):
    rng = np.random.default_rng(3)
    return WeightedLoss(loss, rng.uniform(0.5, 2, M), 0.3 * rng.normal(size=M))


PENALTIES = {
    "Lasso": lambda lam, N: Laplace(lam),
    "drawn": lambda lam, N: Laplace(lam, TwoPoint(2.0, 0.5)),
    "elastic net": lambda lam, N: ElasticNet(lam, l1_ratio=0.7),
    "non-negative": lambda lam, N: NonNegative(lam),
    "a covariate": lambda lam, N: Laplace(lam, None, 1.0 * (np.arange(N) > 0)),
}
LOSSES = Squared(), Logistic(), PoissonLoss(), Huber(1.0), Squared(2.0)


def off_by(turns, x, batch):
    """How far coefficients are from their conditions, (b,), relative to the pulls."""
    p, A, Q = turns.factors, turns.one_coupling.A, turns.one_coupling.metric.Q
    slope, _ = p.loss.derivatives(p.y, x @ turns.one_coupling.At + p.offset)
    pull = (-batch.counts * slope) @ A
    off = x - p.of_prior(batch._replace(h=Q * x + pull), Q)
    return np.abs(off * Q).max(1) / np.maximum(np.abs(pull).max(1), 1e-300)


def agrees(fit, seed=1, most=6000):
    """Turns in 64 bits until nothing moves, and the package's refits."""
    draw = resamples(fit, range(B), seed)
    exact, level = refitter(fit)(*draw)
    exact = exact.toarray() if issparse(exact) else exact  # of a table in chunks
    turns = Turns(fit, dtype=float)
    batch = turns.run(turns.begin(*draw), room.FIRST_LEVEL - 1)
    x, settled = turns.settle(batch, 1e-10, most)
    assert settled.any() and np.isfinite(exact).all()
    N, scale = len(fit.mean), np.abs(exact).max()
    off = np.abs(x[:, :N] - exact).max(1)
    off = np.maximum(off, np.abs(x[:, N:].sum(1) - level))[settled] / scale
    gaps = off_by(turns, x, batch)[settled]
    assert off.max() < 1e-6 and gaps.max() < 1e-7
    assert np.array_equal(x[settled, :N] != 0, exact[settled] != 0)
    return settled.mean()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_settled_turns_are_refits(shape, loss):
    A, y, lam = problem(shape, loss)
    parts = dict(loss=loss, intercept=not isinstance(loss, Squared))
    lam = lam / getattr(loss, "sigma", 1.0) ** 2
    fit = rvamp(A, y, prior=Laplace(lam), resampling=HALF, **parts)
    assert agrees(fit) > 0.8


@pytest.mark.parametrize("known", ["nothing", "strata", "entry", "weights"])
def test_with_hazards_of_their_own_turns_are_cox_fits(known):
    """The level of each too, about the hazard that all share; times have ties."""
    A, f, rng = table(80, 60)
    time = np.ceil(20 * rng.exponential(np.exp(-0.4 * f)))
    sets = dict(strata=np.arange(80) % 3, entry=0.4 * time * rng.random(80))
    sets["weights"] = rng.uniform(0.5, 2, 80)
    given = {name: v for name, v in sets.items() if name == known}
    if known == "weights":
        given = dict(sample_weight=given["weights"])
    event = 1.0 * (rng.random(80) < 0.7)
    fit, base = survival_fit(A, time, event, 0.7, **given)
    draw = resamples(fit, range(B), 1)
    exact, level = refitter(fit, base)(*draw)
    turns = Turns(fit, dtype=float, baseline=base)
    batch = turns.run(turns.begin(*draw), room.FIRST_LEVEL - 1)
    x, settled = turns.settle(batch, 1e-10, 6000)
    assert settled.mean() > 0.8 and (exact != 0).sum() > 20
    np.testing.assert_allclose(x[settled, :-1], exact[settled], atol=1e-6)
    np.testing.assert_allclose(x[settled, -1], level[settled], atol=1e-6)


def test_a_resample_in_which_nobody_sees_a_death_has_the_level_of_all():
    """Its rows leave before the first death, or there are none."""
    A, time = table(40, 10)[0], 1.0 + np.arange(40)
    fit, base = survival_fit(A, time, 1.0 * (time > 34), 0.2)
    counts = np.zeros((2, 40))
    counts[0, :20] = 1
    x, level = refitter(fit, base)(counts, np.ones((2, 1)))
    assert not x.any() and not level.any()


@pytest.mark.parametrize("k, penalty", list(enumerate(PENALTIES)))
@pytest.mark.parametrize("turned, loss", [(0, Squared()), (1, Logistic())])
def test_every_penalty_is_refitted_with_weights_and_offsets(k, penalty, turned, loss):
    """Each with both losses: a wide table with one, a tall one with the other."""
    shape = ("wide", "tall")[(k + turned) % 2]
    A, y, lam = problem(shape, loss)
    prior, rows = PENALTIES[penalty](lam, A.shape[1]), weighted(len(A), loss)
    fit = rvamp(A, y, prior=prior, resampling=Poisson(0.7), loss=rows, intercept=True)
    assert agrees(fit) > 0.8


def test_rows_in_groups_and_tables_in_pieces_are_refitted():
    A, y, lam = problem("square", Squared())
    prior, groups = Laplace(lam), np.arange(len(A)) // 2
    assert agrees(rvamp(A, y, prior=prior, resampling=Grouped(HALF, groups))) == 1
    for how in dict(axis=1), dict(axis=0):
        piece = ChunkedTable(A, chunk_size=300, **how)
        assert agrees(rvamp(piece, y, prior=prior, resampling=HALF)) == 1
    A, y, _ = problem("tall", Squared())
    tall = rvamp(
        ChunkedTable(A, chunk_size=300), y, prior=prior, resampling=HALF, intercept=True
    )
    assert agrees(tall) == 1


def refits(fit, counts):
    """Coefficients of turns in 64 bits, the intercept's last."""
    turns = Turns(fit, dtype=float)
    batch = turns.run(
        turns.begin(counts, np.ones((len(counts), 1))), room.FIRST_LEVEL - 1
    )
    x, settled = turns.settle(batch, 1e-11, 20_000)
    assert settled.all()
    return x


def test_scikit_learn_finds_the_same():
    A, y, lam = problem("square", Squared())
    c = np.array([HALF.draw(len(A), np.random.default_rng(k)) for k in range(3)])
    told = dict(resampling=HALF, intercept=True)
    x = refits(rvamp(A, y, prior=Laplace(lam), **told), c)
    for b, rows in enumerate(c > 0):
        theirs = Lasso(lam / rows.sum(), tol=1e-14, max_iter=10**6)
        theirs.fit(A[rows], y[rows])
        both = np.append(theirs.coef_, theirs.intercept_)
        np.testing.assert_allclose(x[b], both, atol=1e-6)
    A, y, lam = problem("square", Logistic())
    told["loss"] = Logistic()
    x = refits(rvamp(A, y, prior=Laplace(lam), **told), c)
    how = dict(l1_ratio=1.0, solver="saga", tol=1e-10, max_iter=10**6)
    for b, rows in enumerate(c > 0):
        theirs = LogisticRegression(C=1 / lam, **how).fit(A[rows], y[rows])
        both = np.append(theirs.coef_, theirs.intercept_)
        np.testing.assert_allclose(x[b], both, atol=2e-6)
    A, y, lam = problem("square", PoissonLoss())
    told["loss"] = PoissonLoss()
    x = refits(rvamp(A, y, prior=Ridge(lam), **told), c)
    for b, rows in enumerate(c > 0):
        theirs = PoissonRegressor(alpha=lam / rows.sum(), tol=1e-10, max_iter=10**4)
        theirs.fit(A[rows], y[rows])
        both = np.append(theirs.coef_, theirs.intercept_)
        np.testing.assert_allclose(x[b], both, atol=2e-6)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", [Squared(2.0), Logistic(), PoissonLoss()], ids=repr)
def test_one_curvature_meets_the_conditions_of_its_parabola(penalty, loss):
    """Sums over all rows, and the penalty's slopes, written down once more."""
    A, y, lam = problem("tall", loss)
    lam, rows = lam / getattr(loss, "sigma", 1.0) ** 2, weighted(len(A), loss)
    prior, counts = PENALTIES[penalty](lam, A.shape[1]), Poisson(0.7)
    fit = rvamp(A, y, prior=prior, resampling=counts, loss=rows, intercept=True)
    some = np.array([0, 1, 2, 3, 5, 8, 13])
    c, factor = resamples(fit, range(B), 0)
    x = OneCurvature(fit, some).levels(c, factor, True)[0]
    factor = factor[:, some] if factor.shape[1] > 1 else factor
    X, about = np.c_[A[:, some], np.ones(len(A))], np.append(fit.mean[some], 0)
    about[-1] = fit.intercept
    slope, bend = loss.derivatives(y, X @ about + rows.offset)
    H = (X * (0.7 * rows.sample_weight * bend)[:, None]).T @ X
    pull = -(c * rows.sample_weight * slope) @ X - (x - about) @ H
    np.testing.assert_allclose(pull[:, -1], 0, atol=2e-3 * np.abs(pull).max())
    t, k = (np.broadcast_to(v, A.shape[1])[some] * factor for v in prior.split())
    z, off = x[:, :-1], pull[:, :-1] - k * x[:, :-1]
    left = np.where(z != 0, np.abs(off - t * np.sign(z)), 0)
    if not prior.positive:
        off = np.abs(off)
    left = np.maximum(left, np.where(z == 0, off - t, 0))
    assert (z != 0).any() and left.max() < 2e-3 * np.abs(pull).max()


def test_of_many_rows_one_curvature_is_nearly_the_refit():
    """Rare events: one row in fifty."""
    rng = np.random.default_rng(2)
    A = rng.normal(size=(3000, 12)) / np.sqrt(3000)
    y = 1.0 * (rng.random(3000) < 1 / (1 + np.exp(4 - 25 * (A[:, 0] - A[:, 1]))))
    prior, parts = (Laplace(0.2), dict(loss=Logistic(), intercept=True))
    fit = rvamp(A, y, prior=prior, resampling=HALF, **parts)
    draw = resamples(fit, range(100), 0)
    exact, level = refitter(fit)(*draw)
    x = OneCurvature(fit, np.arange(12)).levels(*draw, False)[0]
    changed = np.mean((x[:, :-1] != 0) != (exact != 0))
    assert changed < 0.1 * np.mean((exact != 0).var(0))
    assert np.sum((x[:, :-1] - exact).var(0)) < 0.02 * np.sum(exact.var(0))
    assert np.var(x[:, -1] - level) < 0.1 * np.var(level)


@dataclass(frozen=True)
class SmoothQuantile(Loss):
    """A quantile's loss, smoothed over a width: of one's own, by Newton's steps."""

    share: float = 0.7
    width: float = 0.5

    def value(self, y, f):
        r = (y - f) / self.width
        return self.width * (self.share * r + np.logaddexp(0, -r))

    def derivatives(self, y, f):
        p = 1 / (1 + np.exp(np.clip((y - f) / self.width, -500, 500)))
        return p - self.share, p * (1 - p) / self.width


class SmoothQuantileByItself(SmoothQuantile):
    """The same with a `proximal` of its own, by bisection."""

    def proximal(self, y, omega, cV):
        low, high = omega - cV, omega + cV
        for _ in range(60):
            f = (low + high) / 2
            above = f - omega + cV * self.derivatives(y, f)[0] > 0
            low, high = np.where(above, low, f), np.where(above, f, high)
        return f


@dataclass(frozen=True, eq=False)
class Box(Prior):
    """The Lasso's penalty on coefficients between -size and size: of one's own."""

    lam: float
    size: float

    def inner(self, field, Q_hat, beta):
        x = np.sign(field) * np.maximum(np.abs(field) - self.lam, 0) / Q_hat
        inside = np.abs(x) < self.size
        x = np.clip(x, -self.size, self.size)
        best = field * x - Q_hat * x**2 / 2 - self.lam * np.abs(x)
        return best, x, 1.0 * (inside & (x != 0)) / Q_hat

    def bends(self, Q_hat, beta):
        places = self.lam, self.lam + Q_hat * self.size
        return [(side * p, 1e-3 * np.sqrt(Q_hat)) for p in places for side in (1, -1)]


def in_a_box(A, y, lam, size, loss, counts):
    """The minimiser by scipy, each coefficient the difference of two that are >= 0."""
    M, N = A.shape

    def both(z):
        f = A @ (z[:N] - z[N:])
        pull = A.T @ (counts * loss.derivatives(y, f)[0])
        value = counts @ loss.value(y, f) + lam * z.sum()
        return value, np.append(pull + lam, lam - pull)

    how = dict(ftol=1e-16, gtol=1e-11, maxiter=20_000, maxfun=40_000, maxcor=40)
    told = dict(jac=True, method="L-BFGS-B", bounds=[(0, size)] * (2 * N), options=how)
    z = minimize(both, np.zeros(2 * N), **told).x
    return z[:N] - z[N:]


@pytest.mark.parametrize("loss", [SmoothQuantile(), SmoothQuantileByItself()])
def test_a_loss_and_a_penalty_of_ones_own_are_refitted(loss):
    A, y, _ = problem("square", Squared())
    prior = Box(0.6, 2.0)
    fit = rvamp(A, y, prior=prior, resampling=HALF, loss=loss, tol=1e-4)
    c = np.array([HALF.draw(len(A), np.random.default_rng(k)) for k in range(4)])
    x = refits(fit, c)
    assert (np.abs(x) == 2.0).any() and (x == 0).any()
    for b in range(len(c)):
        theirs = in_a_box(A, y, 0.6, 2.0, loss, c[b])
        np.testing.assert_allclose(x[b], theirs, atol=2e-5)


def force_of(fit, c):
    """n(c) of chapter 4.4, (M,): every row asked with this count."""
    p, last = fit.problem, fit.last
    asked = p.y, last.state.to_likelihood, Discrete([c], [1.0]), p.beta
    return (p.likelihood.message(*asked)[0].mean - last.u.mean) / last.u.chi


def test_the_first_turn_is_the_linear_response():
    """Between two resamples the fields differ as chapter 4.4 says, times 1 / (1 - rho)
    of what a coefficient that stays answers itself.
    """
    A, y, _ = problem("square", Squared())
    fit = rvamp(A, y, prior=Laplace(2.5), resampling=HALF, tol=1e-10)
    assert fit.Pi.max() < room.MOST_RHO
    turns = Turns(fit, dtype=float)
    c = np.array([HALF.draw(len(A), np.random.default_rng(k)) for k in range(5)])
    h = turns.begin(c, np.ones((5, 1))).h
    force = np.where(c > 0, force_of(fit, 1.0), force_of(fit, 1e-12))
    by_response = force @ field_of(fit).W
    scale = np.abs(by_response).max()
    np.testing.assert_allclose(
        h - h[0], by_response - by_response[0], atol=3e-6 * scale
    )
    # a loss that bends: to first order, between counts that are close
    A, y, lam = problem("square", Logistic())
    parts = dict(loss=Logistic(), resampling=Poisson(4.0), tol=1e-9)
    fit = rvamp(A, y, prior=Laplace(8 * lam), **parts)
    turns, near = (
        Turns(fit, dtype=float),
        1e-4 * np.random.default_rng(0).normal(size=(2, len(A))),
    )
    up, down = turns.begin(4 + near, np.ones((2, 1))).h
    slope = (force_of(fit, 4 + 1e-4) - force_of(fit, 4 - 1e-4)) / 2e-4
    expected = ((near[0] - near[1]) * slope) @ field_of(fit).W
    assert np.corrcoef(up - down, expected)[0, 1] > 0.99


def test_rvamps_metric_runs_away_between_near_copies_and_one_metric_does_not():
    """Random smooth curves, read off at 120 points."""
    rng, at = np.random.default_rng(0), np.arange(120)
    smooth = np.exp(-((at[:, None] - at) ** 2) / 72)
    A = rng.normal(size=(100, 120)) @ smooth + 0.05 * rng.normal(size=(100, 120))
    f = A[:, ::30].sum(1)
    A, y = datasets.standardize(A, 2 * f / f.std() + rng.normal(size=100))
    lam = 0.02 * np.abs(A.T @ y).max()
    fit = rvamp(A, y, prior=Laplace(lam), resampling=HALF)
    draw = resamples(fit, range(100), 0)
    exact, _ = refitter(fit)(*draw)
    off = lambda x: np.abs(x - exact).max(1) / np.abs(exact).max(1)
    turns = Turns(fit, dtype=float)
    batch = turns.run(turns.begin(*draw), room.FIRST_LEVEL - 1)
    away = turns.coefficients(turns.run(batch, 100))
    assert np.any(~(off(away) < 1e6))
    x, settled = turns.settle(batch, 1e-8, 20_000)
    assert settled.all() and off(x).max() < 1e-4


def test_settled_signs_are_nearly_those_of_the_refits_in_32_bits():
    A, y, lam = problem("wide", Squared())
    fit = rvamp(A, y, prior=Laplace(lam), resampling=HALF)
    draw = resamples(fit, range(300), 0)
    exact, _ = refitter(fit)(*draw)
    turns = Turns(fit)
    assert turns.one_coupling.dtype is np.float32
    few = turns.run(turns.begin(*draw), room.FIRST_LEVEL - 1)
    wrong = lambda x: np.mean((x != 0) != (exact != 0)) / (exact != 0).var(0).mean()
    first, (x, settled) = (wrong(turns.coefficients(few)), turns.settle(few))
    assert settled.all() and wrong(x) < 0.05 < first < 0.7
    assert np.abs(x - exact).max() < 0.2 * np.abs(exact).max()


def test_some_columns_are_refitted_as_if_the_others_were_not_there():
    A, y, lam = problem("wide", Squared())
    told = dict(prior=Laplace(lam), resampling=HALF, intercept=True)
    fit, few = rvamp(A, y, **told), np.array([0, 2, 3, 9])
    draw = resamples(fit, range(B), 0)
    turns = Turns(fit, few, dtype=float)
    batch = turns.run(turns.begin(*draw), room.FIRST_LEVEL - 1)
    x, settled = turns.settle(batch, 1e-11, 5000)
    exact, level = refitter(rvamp(A[:, few], y, **told))(*draw)
    assert settled.all()
    np.testing.assert_allclose(x, np.column_stack([exact, level]), atol=1e-7)


@pytest.mark.parametrize("shape", [(50, 150), (150, 50)])
def test_a_sparse_table_turns_as_its_array(shape):
    rng = np.random.default_rng(0)
    S = random_array(shape, density=0.05, rng=rng, format="csr")
    table = ChunkedTable(S, center=S.mean(0), scale=np.full(shape[1], 0.3))
    y, told = rng.normal(size=shape[0]), dict(prior=Laplace(1.5))
    fits = [rvamp(A, y, intercept=True, **told) for A in (table, table[:, :])]
    draw = resamples(fits[0], range(B), 0)[0]
    few, whole = (refits(fit, draw) for fit in fits)
    np.testing.assert_allclose(few, whole, atol=1e-8)
    assert isinstance(Turns(fits[0]).one_coupling.A, SparseBlock) and few[:, :-1].any()


def test_a_resample_without_a_row_selects_nothing():
    A, y, lam = problem("tall", Squared())
    fit = rvamp(A, y, prior=Laplace(lam), resampling=HALF)
    assert not refits(fit, np.zeros((2, len(A)))).any()


def test_extreme_units_take_64_bits_and_find_the_same():
    A, y, lam = problem("square", Squared())
    told = dict(resampling=HALF)
    one = rvamp(A, y, prior=Laplace(lam), **told)
    large = rvamp(1e12 * A, y, prior=Laplace(1e12 * lam), **told)
    draw = resamples(one, range(B), 0)
    assert Turns(large).one_coupling.dtype is np.float64
    few = [Turns(f).run(Turns(f).begin(*draw), 3) for f in (one, large)]
    x, z = (Turns(f).coefficients(b) for f, b in zip((one, large), few))
    np.testing.assert_allclose(1e12 * z, x, atol=1e-4 * np.abs(x).max())


@pytest.mark.parametrize(
    "fit, words",
    [
        (lambda A, y: rvamp(A, y, 1.0, beta=2.0), "beta = 2"),
        (lambda A, y: rvamp(A, y, prior=SpikeSlab(0.2), beta=1.0, tol=0.1), "beta = 1"),
    ],
)
def test_what_turns_do_not_know_is_refused(fit, words):
    A, y, _ = problem("tall", Squared())
    with pytest.raises(ValueError, match=words):
        Turns(fit(A, y))


@pytest.mark.parametrize("K", [3, 6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("distance, steps", [(0.1, 3), (30.0, 2)])
def test_samples_in_classes_go_on_from_their_last_fits(K, dtype, distance, steps):
    """From nearby by Newton's steps, from afar by the whole search."""
    rng = np.random.default_rng(K)
    loss = Softmax(K)
    B = loss.basis
    labels = np.eye(K)[rng.integers(K, size=40)]
    y = (labels @ B).ravel().astype(dtype)
    omega = (3 * rng.normal(size=(5, y.size))).astype(dtype)
    cV = np.repeat(rng.integers(0, 3, (5, 40)) * rng.random(40), K - 1, axis=1)
    cV = cV.astype(dtype)
    exact = loss.proximal(np.broadcast_to(y, cV.shape), omega, cV)
    f = exact + (distance * rng.normal(size=exact.shape)).astype(dtype)
    for _ in range(steps):
        f = room.class_fits(loss, y, omega, cV, f)
    assert f.dtype == dtype
    np.testing.assert_allclose(f, exact, atol=100 * np.finfo(dtype).eps)


@pytest.mark.parametrize("shape", [(30, 8), (8, 30)], ids=["narrow", "wide"])
def test_a_table_in_directions_couples_as_its_kronecker_product(shape):
    rng, d, b = np.random.default_rng(2), 3, 4
    X = rng.normal(size=shape)
    M, n = X.shape
    sizes = n, n, M, M
    metric = room.Metric(*(np.repeat(rng.uniform(0.5, 2, k), d) for k in sizes))
    h, r = rng.normal(size=(b, M * d)), rng.normal(size=(b, n * d))
    quick = FrozenCoupling(KroneckerFactor(X, d), metric, np.float64)
    whole = FrozenCoupling(np.kron(X, np.eye(d)), metric, np.float64)
    for one, two in zip(quick(h, r), whole(h, r)):
        np.testing.assert_allclose(one, two, atol=1e-12)
    assert quick.A.shape == whole.A.shape and len(quick(h[:0], r[:0])[0]) == 0
