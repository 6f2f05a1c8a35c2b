"""Effects of one model of all columns: against refits from scratch, brute-force sums
over risk sets, textbook formulas, and the share of intervals that hold.
"""

import numpy as np
import pytest
from scipy import optimize, stats

from rvamp_nb.algorithm.likelihood import Logistic, PoissonLoss, Squared
from rvamp_nb.inference.joint import (
    MOST_UNITS,
    CoxModel,
    RowModel,
    bell_mccaffrey,
    joint_effects,
    joint_test,
)
from rvamp_nb.inference.several_classes import Softmax


def survival(seed, M=60, N=3, size=0.7, steps=20):
    """Columns, time, event, stratum, entry, and the log hazard ratios."""
    rng = np.random.default_rng([56, seed])
    A = rng.normal(size=(M, N))
    truth = np.zeros(N)
    truth[:2] = size, -size
    death = np.ceil(steps * rng.exponential(np.exp(-A @ truth)))
    left = np.ceil(1.5 * steps * rng.exponential(size=M))
    strata = rng.integers(2, size=M)
    entry = np.floor(np.minimum(death, left) * rng.random(M) * 0.5)
    return A, np.minimum(death, left), (death <= left) * 1.0, strata, entry, truth


def partial_likelihood(x, A, time, event, strata, entry, offset=0.0):
    """Cox's loss from all pairs of a death and a row at risk (Breslow's ties)."""
    f = A @ x + offset
    died = event > 0
    at = time[died, None]
    at_risk = (strata == strata[died, None]) & (entry < at) & (time >= at)
    return np.log(at_risk @ np.exp(f)).sum() - f[died].sum()


def minimum(loss, n, *arguments):
    return optimize.minimize(loss, np.zeros(n), arguments, "BFGS", tol=1e-9).x


def test_cox_models_are_those_of_risk_sets():
    A, time, event, strata, entry, _ = survival(0)
    offset = np.linspace(-1, 1, len(A))
    model = CoxModel(A, time, event, offset, strata, entry)
    x = np.array([0.3, -0.2, 0.1])
    every = np.ones(len(A))
    by_hand = partial_likelihood(x, A, time, event, strata, entry, offset)
    assert np.isclose(model.score(x, every)[0], by_hand)
    keep = np.arange(len(A)) % 5 > 0
    counted = model.score(x, keep[model.order] * 1.0)[0]
    some = (v[keep] for v in (A, time, event, strata, entry, offset))
    assert np.isclose(counted, partial_likelihood(x, *some))


def models():
    A, time, event, strata, entry, _ = survival(1)
    yield CoxModel(A, time, event, 0.0, strata, entry)
    rng = np.random.default_rng(2)
    yield RowModel(A, rng.poisson(1, len(A)), PoissonLoss(), rng.normal(size=len(A)))
    loss = Softmax(4)
    yield RowModel(A, loss.basis[rng.integers(4, size=len(A))], loss)


@pytest.mark.parametrize("model", [*models()], ids=["cox", "poisson", "softmax"])
def test_pulls_and_curvature_are_derivatives(model):
    rng = np.random.default_rng(3)
    x = 0.3 * rng.normal(size=model.n)
    counts = rng.integers(2, size=len(model.A)) * 1.0
    G = model.information(x, counts)
    for i, step in enumerate(1e-5 * np.eye(model.n)):
        up, down = (model.score(x + sign * step, counts) for sign in (1, -1))
        slope = (up[0] - down[0]) / 2e-5
        assert np.isclose(slope, -model.score(x, counts)[1][:, i].sum(), atol=1e-6)
        curved = -(up[1] - down[1]).sum(0) / 2e-5
        np.testing.assert_allclose(curved, G[i], atol=1e-6)
    every = np.ones(len(counts))
    shares = model.share(x, counts) + model.share(x, 1 - counts)
    np.testing.assert_allclose(shares, model.information(x, every), atol=1e-9)


def test_fits_without_rows_are_refits():
    """The estimate and its covariance from refits by another minimiser."""
    A, time, event, strata, entry, _ = survival(4, 40)
    data = A, time, event, strata, entry
    x = minimum(partial_likelihood, 3, *data)
    without = []
    for row in range(40):
        rest = np.arange(40) != row
        without.append(minimum(partial_likelihood, 3, *(v[rest] for v in data)))
    model = CoxModel(A, time, event, 0.0, strata, entry)
    every = np.ones(40)
    G = model.information(x, every)
    bias = 39 / 40 * np.sum(np.array(without) - x, axis=0)
    share = x @ G @ bias / max(x @ G @ x, 3)
    found = joint_effects(model, model.order)
    np.testing.assert_allclose(found.estimate, x - bias / (1 + share), atol=2e-4)
    own = model.score(x, every)[1] @ np.linalg.inv(G)
    moved = own.T @ (x - np.array(without)[model.order]) / (1 + share)
    np.testing.assert_allclose(found.covariance, (moved + moved.T) / 2, atol=1e-4)
    assert np.isclose(found.bias, share, atol=1e-3) and share > 0


def test_least_squares_have_textbook_errors():
    """HC2 of single rows; of groups the mean of both residuals, in and out of fit."""
    rng = np.random.default_rng(5)
    A, y = rng.normal(size=(48, 3)), rng.normal(size=48)
    Z = np.column_stack([A, np.ones(48)])
    w = np.linalg.pinv(Z)
    H = Z @ w
    e = y - H @ y
    one = joint_effects(RowModel(A, y, Squared()), np.arange(48), unbiased=False)
    np.testing.assert_allclose(one.estimate, w @ y, atol=1e-8)
    hc2 = (w**2) @ (e**2 / (1 - np.diag(H)))
    np.testing.assert_allclose(np.diag(one.covariance), hc2, rtol=1e-6)
    groups = np.arange(48) // 6
    V = np.zeros((4, 4))
    for g in range(8):
        rows = groups == g
        out = np.linalg.solve(np.eye(6) - H[np.ix_(rows, rows)], e[rows])
        V += np.outer(w[:, rows] @ e[rows], w[:, rows] @ out)
    found = joint_effects(RowModel(A, y, Squared()), groups, unbiased=False)
    np.testing.assert_allclose(found.covariance, (V + V.T) / 2, rtol=1e-6, atol=1e-9)


def test_degrees_of_freedom_are_those_of_the_covariance_of_the_parts():
    rng = np.random.default_rng(6)
    Z = rng.normal(size=(30, 3))
    part = np.arange(30) // 5
    held = np.array([Z[part == g].T @ Z[part == g] for g in range(6)])
    K = np.linalg.inv(held.sum(0))
    for i, found in enumerate(bell_mccaffrey(held, K, np.eye(3))):
        d = K[i]
        Omega = np.array([[-d @ a @ K @ b @ d for b in held] for a in held])
        own = np.array([d @ a @ d for a in held])
        weight = (1 + np.diag(Omega) / own) ** -0.5
        Omega = (Omega + np.diag(own)) * np.outer(weight, weight)
        brute = np.trace(Omega) ** 2 / np.trace(Omega @ Omega)
        assert np.isclose(found, brute) and 1 < found < 6


def test_one_coefficient_together_is_students_t():
    F, k, freed, p = joint_test(np.array([2.0]), np.array([[1.5]]), np.array([9.0]))
    assert (k, freed) == (1, 9) and np.isclose(F, 4 / 1.5)
    assert np.isclose(p, 2 * stats.t.sf(2 / 1.5**0.5, 9))
    # coefficients that add up to zero have one direction less
    basis = Softmax(3).basis
    turned = joint_test(basis @ [1.0, 2], basis @ basis.T, np.full(3, 20.0))
    plain = joint_test(np.array([1.0, 2]), np.eye(2), np.full(2, 20.0))
    np.testing.assert_allclose(turned, plain)
    assert np.isnan(joint_test(np.ones(3), np.eye(3), np.full(3, 1.5))[3])


def inside(found, truth):
    reach = stats.t.ppf(0.975, found.freedom) * np.sqrt(np.diag(found.covariance))
    own = slice(len(truth))  # without an intercept
    return np.abs(found.estimate[own] - truth) <= reach[own]


def test_intervals_of_survival_hold():
    """Ten events a column; 480 intervals, s.e. .012 with what they share; without
    the bias subtracted, estimates are 8 % too large.
    """
    held, ratio, shares = [], [], []
    for seed in range(60):
        A, time, event, *_, truth = survival(seed, 130, 8, steps=10_000)
        model = CoxModel(A, time, event)
        found = joint_effects(model, model.order // 3)  # fewer fits than row by row
        held.append(inside(found, truth))
        ratio.append(found.estimate @ truth / (truth @ truth))
        shares.append(found.bias)
    assert abs(np.mean(held) - 0.95) < 0.02 + 0.012
    assert abs(np.mean(ratio) - 1) < 0.03 < np.mean(shares)


def test_without_effects_no_share_is_known_and_little_is_subtracted():
    rng = np.random.default_rng(11)
    shares = []
    for _ in range(30):
        y = (rng.random(40) < 0.5) * 1.0
        model = RowModel(rng.normal(size=(40, 1)), y, Logistic())
        shares.append(joint_effects(model, np.arange(40)).bias)
    assert np.max(np.abs(shares)) < 0.25


def test_rows_of_a_group_are_not_independent():
    """Half of the noise is of 24 groups, and so is a column: intervals by rows hold
    .75 of it.
    """
    held = {"rows": [], "groups": []}
    for seed in range(100):
        rng = np.random.default_rng([57, seed])
        group = np.arange(96) // 4
        A = rng.normal(size=(96, 3))
        A[:, 0] = A[4 * group, 0]
        y = A[:, 1] + rng.normal(size=96) + rng.normal(size=24)[group]
        model = RowModel(A, y, Squared())
        truth = np.array([0.0, 1, 0])
        held["groups"].append(inside(joint_effects(model, group, False), truth))
        if seed < 40:  # they are far from it, and four times as many fits
            rows = joint_effects(model, np.arange(96), False)
            held["rows"].append(inside(rows, truth))
    assert np.all(np.abs(np.mean(held["groups"], axis=0) - 0.95) < 0.02 + 0.03)
    assert np.mean(held["rows"], axis=0)[0] < 0.85


def test_many_rows_are_left_out_several_at_a_time():
    rng = np.random.default_rng(8)
    A, y = rng.normal(size=(300, 2)), rng.normal(size=300)
    model = RowModel(A, y, Squared())
    found = joint_effects(model, np.arange(300), False)
    assert found.freedom.max() < MOST_UNITS
    assert np.array_equal(found.estimate, joint_effects(model, y, False).estimate)


def test_columns_that_add_up_are_found():
    rng = np.random.default_rng(9)
    A = rng.normal(size=(80, 5))
    A[:, 4] = A[:, 0] + A[:, 1]
    found = joint_effects(RowModel(A, rng.normal(size=80), Squared()), np.arange(80))
    assert np.all(found.left[[0, 1, 4]] < 1e-6) and np.all(found.left[[2, 3]] > 0.5)
    assert [*found.adds_up[4]] == [0, 1] and not len(found.adds_up[2])


def test_a_column_that_separates_rows_is_found_and_the_others_are_as_at_its_limit():
    """Four rows of a level, all of one class: at the limit they say nothing else, so
    that the other estimates are those without these rows and this column.
    """
    rng = np.random.default_rng(10)
    A = rng.normal(size=(60, 4))
    A[:, 2] = np.arange(60) < 4
    y = ((rng.random(60) < 0.5) | (A[:, 2] > 0)) * 1.0
    found = joint_effects(RowModel(A, y, Logistic()), np.arange(60))
    assert [*found.infinite[:4]] == [False, False, True, False]
    rest = [0, 1, 3]
    model = RowModel(A[4:, rest], y[4:], Logistic())
    alone = joint_effects(model, np.arange(56))
    # the rows of the level count in shares of 1 / 60
    np.testing.assert_allclose(found.estimate[rest], alone.estimate[:3], atol=5e-4)
    square = found.covariance[np.ix_(rest, rest)]
    np.testing.assert_allclose(square, alone.covariance[:3, :3], rtol=0.01)


def test_a_column_that_separates_rows_without_a_part_is_found_too():
    rng = np.random.default_rng(12)
    A = rng.normal(size=(90, 3))
    A[:, 1] = (np.arange(90) < 30) - 1 / 3  # so that the intercept goes along
    loss = Softmax(3)
    chosen = rng.integers(3, size=90)
    chosen[:30] = np.arange(30) % 2
    chosen[0] = 2  # the only row of the level in this class
    model = RowModel(A, loss.basis[chosen], loss)
    found = joint_effects(model, np.arange(90))
    by_column = found.infinite.reshape(4, 2).any(1)
    assert [*by_column[:3]] == [False, True, False]
    rest = np.arange(90) > 0
    without = joint_effects(RowModel(A[rest], model.y[rest], loss), np.arange(89))
    # its own bias, and what the intercept has to do with it, say nothing of the others
    assert abs(found.bias - without.bias) < 0.03
    clear = np.sqrt(np.diag(found.covariance))[[0, 1, 4, 5]]
    moved = found.estimate - without.estimate
    assert np.all(np.abs(moved[[0, 1, 4, 5]]) < clear)


def test_weights_are_those_of_weighted_least_squares_and_a_weight_of_two_is_a_group():
    """Errors are a little larger than those of a group of two, which may be two."""
    rng = np.random.default_rng(13)
    A, z = rng.normal(size=(40, 3)), rng.normal(size=40)
    weight = rng.integers(1, 3, size=40)
    model = RowModel(A, z, Squared(), weight=weight)
    found = joint_effects(model, np.arange(40), False)
    Z = np.column_stack([A, np.ones(40)])
    by_hand = np.linalg.solve((Z.T * weight) @ Z, (Z.T * weight) @ z)
    np.testing.assert_allclose(found.estimate, by_hand, atol=1e-8)
    twice = np.repeat(np.arange(40), weight)
    for loss, y in ((Squared(), z), (PoissonLoss(), rng.poisson(2, 40))):
        one = joint_effects(RowModel(A, y, loss, 0.0, weight), np.arange(40), False)
        doubled = RowModel(A[twice], y[twice], loss)
        two = joint_effects(doubled, twice, False)
        np.testing.assert_allclose(one.estimate, two.estimate, atol=1e-6)
        ratio = np.diag(one.covariance) / np.diag(two.covariance)
        assert np.all(ratio > 1) and np.all(ratio < 1.3)
        np.testing.assert_allclose(one.freedom, two.freedom, rtol=1e-3)
    A, time, event, strata, entry, _ = survival(14)
    weight = rng.integers(1, 3, size=60)
    twice = np.repeat(np.arange(60), weight)
    model = CoxModel(A, time, event, 0.0, strata, entry, weight)
    one = joint_effects(model, model.order)
    data = [v[twice] for v in (A, time, event)]
    model = CoxModel(*data, 0.0, strata[twice], entry[twice])
    two = joint_effects(model, twice[model.order])
    np.testing.assert_allclose(one.estimate, two.estimate, atol=1e-5)
    ratio = np.diag(one.covariance) / np.diag(two.covariance)
    assert np.all(ratio > 1) and np.all(ratio < 1.3)
    np.testing.assert_allclose(one.freedom, two.freedom, rtol=1e-3)


def test_errors_of_unequal_weights_lie_between_those_of_two_working_models():
    """Half of the fit and the fit without a row, against least squares by hand."""
    rng = np.random.default_rng(16)
    A, y, weight = (
        rng.normal(size=(30, 2)),
        rng.normal(size=30),
        np.exp(rng.normal(size=30)),
    )
    Z = np.column_stack([A, np.ones(30)])
    W = np.linalg.inv((Z.T * weight) @ Z) @ (Z.T * weight)
    left = 1 - np.einsum("mi,im->m", Z, W)
    square = ((y - Z @ (W @ y)) / left) ** 2 * (1 + left) / 2
    model = RowModel(A, y, Squared(), weight=weight)
    found = joint_effects(model, np.arange(30), unbiased=False)
    np.testing.assert_allclose(np.diag(found.covariance), W**2 @ square, rtol=1e-6)


def test_neither_the_order_of_rows_nor_labels_change_an_effect():
    rng = np.random.default_rng(15)
    A, y = rng.normal(size=(260, 2)), (rng.random(260) < 0.4) * 1.0
    groups = np.arange(260) % 130
    names = rng.permutation(130)
    order = rng.permutation(260)
    for units, others in ((np.arange(260), np.arange(260)), (groups, names[groups])):
        one = joint_effects(RowModel(A, y, Logistic()), units)
        two = joint_effects(RowModel(A[order], y[order], Logistic()), others[order])
        np.testing.assert_allclose(one.estimate, two.estimate, rtol=1e-6)
        np.testing.assert_allclose(one.covariance, two.covariance, rtol=1e-5)


def test_a_large_bias_is_refused_and_a_table_that_separates_has_no_effect():
    rng = np.random.default_rng(20)
    A = rng.normal(size=(60, 12))
    noise = rng.logistic(size=60)
    model = RowModel(A, (noise < 2 * A[:, 0]) * 1.0, Logistic())
    with pytest.raises(ValueError, match="60 rows .* 13 coefficients .* most 30%"):
        joint_effects(model, np.arange(60))
    model = RowModel(A, (A[:, 0] > 0) * 1.0, Logistic())
    assert joint_effects(model, np.arange(60)).infinite[:12].all()
