"""Groups of columns: the channel by other roads, the message of a group, fits against
the Lasso, the group Lasso and refits, densities against draws, and what is refused.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from rvamp_nb import (
    GroupLasso,
    Laplace,
    Logistic,
    NoResampling,
    Squared,
    Subsample,
    free_energy,
    p1,
    refine,
    rvamp,
    rvamp_path,
)
from rvamp_nb.algorithm import active, group_channel
from rvamp_nb.algorithm.column_groups import P1InGroup, one_each, orthonormal
from rvamp_nb.algorithm.energy import stability_radius
from rvamp_nb.algorithm.group_channel import (
    length_law,
    length_nodes,
    radial_moments,
    radial_share,
)
from rvamp_nb.algorithm.messages import Mixed, Natural, natural_to_moment
from rvamp_nb.algorithm.solver import with_clusters
from rvamp_nb.course.conditioning import condition_on_rows
from rvamp_nb.inference.turns import ExactByTurns
from rvamp_nb.tables import ChunkedTable

sys.path.insert(0, str(Path(__file__).parents[1] / "truth/column_groups"))
from make_column_groups_truth import DESIGNS, halves, load, refits, table

sys.path.pop(0)

HALF = Subsample(0.5)
rng = np.random.default_rng(58)
LABELS = np.repeat(np.arange(6), 3)
A = orthonormal(rng.normal(size=(60, 18)), LABELS)[0].A
Y = A[:, :6] @ rng.normal(size=6) * 3 + rng.normal(size=60)
PRIOR = GroupLasso(0.6, LABELS)


@pytest.fixture(scope="module")
def fit():
    return rvamp(A, Y, prior=PRIOR, resampling=HALF, tol=1e-10)


def message(N, Q_hat=1.3, chi_hat=0.4):
    h = np.random.default_rng(N).normal(size=N)
    return Natural(np.full(N, Q_hat), h, np.full(N, chi_hat))


# The channel --------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 17])
def test_the_channel_against_draws(k):
    prior, at = GroupLasso(0.9, ["g"] * k), message(k)
    x, draws = prior.moments(at), np.random.default_rng(k)
    f = at.h + np.sqrt(at.chi_hat) * draws.normal(size=(60_000, k))
    answers = prior.inner(f, at.Q_hat, np.inf)[1]
    for value, draw in (
        (x.mean, answers),
        (x.var, (answers - answers.mean(0)) ** 2),
        (prior.Pi(at), answers != 0),
    ):
        error = draw.std(0) / np.sqrt(len(draw))
        assert (np.abs(value - draw.mean(0)) < 5 * error).all()


@pytest.mark.parametrize("k", [1, 2, 5, 60, 500])
def test_more_nodes_change_nothing(k, monkeypatch):
    size = np.array([0.0, 0.3, 1.0, 1.0, 3.0, 30.0, 1e4, 2.0, 0.2]) * np.sqrt(k)
    noise = np.array([1.0, 1.0, 1e-3, 10.0, 1.0, 1.0, 1.0, 1e-12, 0.5])
    of = radial_moments(k, size, noise, 1.2 * np.sqrt(k) + 0 * size)
    monkeypatch.setattr(group_channel, "RADII", 100)
    more = radial_moments(k, size, noise, 1.2 * np.sqrt(k) + 0 * size)
    for one, two in zip(of, more):
        np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-11)
    share = radial_share(k, size, noise, 1.2 * np.sqrt(k) + 0 * size)
    np.testing.assert_allclose(share, of.Pi, rtol=1e-13)
    np.testing.assert_allclose(of.rho + of.rho_bar, 1, atol=1e-11)
    isotropic = (of.radial + (k - 1) * of.tangential) / k
    assert (isotropic >= noise * of.rho**2 * (1 - 1e-8)).all()


def test_a_length_has_a_density():
    k, m = np.array([1, 2, 7, 300, 4]), np.array([0.0, 1e-9, 3.0, 10.0, 1e7])
    u, w = length_nodes(k, m, 0 * m)
    p, cosine = length_law(k, m, u)
    np.testing.assert_allclose((w * p).sum(0), 1, rtol=1e-10)
    squares = (w * p * (m + u) ** 2).sum(0)
    np.testing.assert_allclose(squares, k + m**2, rtol=1e-10)
    # E z = m: the cosine times the length is the mean
    along = (w * p * cosine * m * (m + u) ** 2).sum(0)
    np.testing.assert_allclose(along, m, rtol=1e-10)


def test_the_mean_response_is_the_divergence_over_the_size():
    prior, at, step = GroupLasso(0.5, ["a", "b", "a", "b", "b"]), message(5), 1e-4
    slope = np.zeros(5)
    for i in range(5):
        up, down = (at._replace(h=at.h + s * step * np.eye(5)[i]) for s in (1, -1))
        slope[i] = (prior.moments(up).mean - prior.moments(down).mean)[i] / (2 * step)
    x = prior.moments(at)
    np.testing.assert_allclose(prior.pooled(slope), x.chi, rtol=1e-6)
    np.testing.assert_allclose(x.rho, at.Q_hat * x.chi)


def test_the_moments_are_derivatives():
    prior, at, step = GroupLasso(0.5, ["a", "b", "a", "b", "b"]), message(5), 1e-4
    x = prior.moments(at)

    def rise(name, by):
        ends = [at._replace(**{name: getattr(at, name) + s * by}) for s in (1, -1)]
        up, down = (prior.of_groups(prior.log_partition(end)) for end in ends)
        return (up - down) / (2 * step)

    np.testing.assert_allclose(
        rise("chi_hat", step), prior.of_groups(x.chi) / 2, rtol=1e-6
    )
    square = prior.of_groups(x.var + x.mean**2)
    np.testing.assert_allclose(rise("Q_hat", step), -square / 2, rtol=1e-6)
    for i, k in enumerate(prior.column_groups.sizes[prior.column_groups.index]):
        found = rise("h", step * np.eye(5)[i])[prior.column_groups.index[i]]
        np.testing.assert_allclose(found * k, x.mean[i], rtol=1e-6)


def test_groups_of_one_are_the_lasso():
    at = message(6)
    one = GroupLasso(0.5, range(6))
    lasso = Laplace(0.5)
    for a, b in zip(one.moments(at), lasso.moments(at)):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.log_partition(at), lasso.log_partition(at))
    options = dict(resampling=HALF, intercept=True, tol=1e-9)
    fits = [
        rvamp(A, Y, prior=prior, **options)
        for prior in (GroupLasso(0.6, range(18)), Laplace(0.6))
    ]
    for name in ("Pi", "mean", "var"):
        np.testing.assert_allclose(*(getattr(f, name) for f in fits), atol=1e-9)
    np.testing.assert_allclose(*map(free_energy, fits), rtol=1e-8)
    densities = [p1(f, [0, 5]) for f in fits]
    at = np.array([-1.0, -0.1, 0.0, 0.4])
    np.testing.assert_allclose(*(d.cdf(at) for d in densities), atol=1e-8)
    np.testing.assert_allclose(*(d.pdf(at) for d in densities), atol=1e-7)


def test_weights_are_roots_by_default():
    prior = GroupLasso(1.0, ["a", "b", "b", "b", "b"])
    np.testing.assert_array_equal(prior.weights, [1, 2, 2, 2, 2])
    np.testing.assert_allclose(prior.threshold(), 1.0)
    named = GroupLasso(1.0, {"a": [0], "b": [1, 2, 3, 4]}, weights=[1, 2, 2, 2, 2])
    np.testing.assert_array_equal(named.weights, prior.weights)
    np.testing.assert_array_equal(named.groups, prior.groups)
    assert named.column_groups.names.tolist() == ["a", "b"]
    half = named.scaled(0.5)
    assert half.lam == 0.5 and (half.weights == prior.weights).all()


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(["a", "a", "b"], dtype="category"),
        pd.array([1, 1, 2], dtype="Int64"),
        np.array([1, 1, 2], dtype=object),
        np.array([0, 0, 1], dtype=">i2"),
    ],
)
def test_labels_of_other_kinds(labels):
    prior = GroupLasso(1.0, labels)
    assert prior.column_groups.index.tolist() == [0, 0, 1]
    assert prior.groups.dtype.kind in "iU"


# The message --------------------------------------------------------------------------


@pytest.mark.parametrize("natural", [True, False])
def test_the_message_matches_averages(natural):
    prior, N = GroupLasso(1.0, [0, 0, 0, 1, 1]), 5
    mean, draw = prior.pooled, np.random.default_rng(3)
    got = Natural(*draw.gamma(2, 1, (3, N)))
    sent = Natural(mean(draw.gamma(2, 1, N)), draw.normal(size=N), mean(got.h))
    view, none = natural_to_moment(sent), np.zeros(N)
    S, parts = np.full(N, natural), (*sent, *[none] * 3)
    mixed = Mixed(S, *(parts if natural else (*[none] * 3, *view)))
    Q, h, chi_hat = prior.received(mixed, got)
    chi = 1 / (got.Q_hat + sent.Q_hat)
    x, var = chi * (got.h + sent.h), chi**2 * (got.chi_hat + sent.chi_hat)
    both = Q + sent.Q_hat
    np.testing.assert_allclose(1 / both, mean(chi))
    np.testing.assert_allclose((h + sent.h) / both, x)
    np.testing.assert_allclose((chi_hat + sent.chi_hat) / both**2, mean(var))
    again = prior.received(mixed, Natural(Q, h, chi_hat))
    np.testing.assert_allclose(again, (Q, h, chi_hat))


def test_both_factors_agree_at_the_fixed_point(fit):
    x, other = fit.last.x, fit.last.coupled.x
    np.testing.assert_allclose(x.mean, other.mean, atol=1e-8)
    for name in ("chi", "var"):
        one, two = (PRIOR.pooled(getattr(m, name)) for m in (x, other))
        np.testing.assert_allclose(one, two, rtol=1e-6)
    assert fit.trace.floored.sum() == 0


# Fits ---------------------------------------------------------------------------------


def test_rotations_inside_a_group_rotate_the_answer(fit):
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    B = np.hstack([part @ turn for part in np.split(A, 6, axis=1)])
    turned = rvamp(B, Y, prior=PRIOR, resampling=HALF, tol=1e-10)
    np.testing.assert_allclose(turned.Pi, fit.Pi, atol=1e-8)
    back = np.hstack([turn @ part for part in np.split(turned.mean, 6)])
    np.testing.assert_allclose(back, fit.mean, atol=1e-7)


def test_columns_in_another_order(fit):
    order = np.random.default_rng(2).permutation(18)
    prior = GroupLasso(0.6, [f"group {label}" for label in LABELS[order]])
    other = rvamp(A[:, order], Y, prior=prior, resampling=HALF, tol=1e-10)
    np.testing.assert_allclose(other.Pi, fit.Pi[order], atol=1e-9)
    np.testing.assert_allclose(other.var, fit.var[order], atol=1e-9)


def conditions(x, pull, t):
    """How far coefficients are from the conditions of the group Lasso."""
    for part, force in zip(np.split(x, 6), np.split(pull, 6)):
        if part.any() and np.linalg.norm(part) > 1e-6:
            yield np.linalg.norm(force - t * part / np.linalg.norm(part))
        else:
            yield max(np.linalg.norm(force) - t, 0)


@pytest.mark.parametrize("loss, y", [(None, Y), (Logistic(), 1.0 * (Y > 0))])
def test_without_resampling_it_is_the_group_lasso(loss, y):
    options = dict(loss=loss) if loss else {}
    prior = GroupLasso(0.2 if loss else 0.6, LABELS)
    one = rvamp(A, y, prior=prior, resampling=NoResampling(), tol=1e-10, **options)
    f = A @ one.mean
    pull = A.T @ (y - (1 / (1 + np.exp(-f)) if loss else f))
    assert max(conditions(one.mean, pull, prior.lam * 3**0.5)) < 1e-5
    assert one.var.max() < 1e-10


def test_a_weight_of_zero_leaves_a_group_unpenalised():
    prior = GroupLasso(0.6, LABELS, weights=1.7 * (LABELS > 0))
    one = rvamp(A, Y, prior=prior, resampling=NoResampling(), tol=1e-10)
    np.testing.assert_allclose((A.T @ (Y - A @ one.mean))[:3], 0, atol=1e-6)
    assert (prior.is_unpenalized() == (LABELS == 0)).all() and (one.Pi[:3] == 1).all()


def test_a_path_begins_empty_and_a_table_may_be_in_chunks(fit):
    path = rvamp_path(
        A, Y, prior=GroupLasso(1.0, LABELS), resampling=HALF, n_lambdas=4, verbose=False
    )
    assert path.Pi[:, 0].max() < 1e-3 and path.Pi[:, -1].sum() > 6
    chunked = rvamp(ChunkedTable(A, chunk_size=7), Y, prior=PRIOR, resampling=HALF)
    np.testing.assert_allclose(chunked.Pi, fit.Pi, atol=1e-5)


@pytest.mark.filterwarnings("ignore:GroupLasso")
def test_a_wide_table_in_chunks_takes_whole_groups(monkeypatch):
    """Few columns settle alone from 40 for each row on, here, which is quicker."""
    monkeypatch.setattr(active, "ACTIVE_FROM_RATIO", 40)
    draw = np.random.default_rng(4)
    B, labels = draw.normal(size=(4, 180)) / 2, np.repeat(np.arange(60), 3)
    y = B[:, :3].sum(1) * 3 + 0.1 * draw.normal(size=4)
    prior = GroupLasso(0.8, labels)
    memory, chunks = (
        rvamp(table, y, prior=prior, resampling=HALF, tol=1e-8)
        for table in (B, ChunkedTable(B, chunk_size=40))
    )
    np.testing.assert_allclose(memory.Pi, chunks.Pi, atol=1e-5)


@pytest.mark.filterwarnings("ignore:GroupLasso")
def test_a_column_of_zeros_and_uneven_columns():
    B = A * np.linspace(0.5, 2, 18)
    B[:, 4] = 0
    one = rvamp(B, Y, prior=PRIOR, resampling=HALF, intercept=True)
    assert one.converged and one.mean[4] == 0 and (one.Pi[3:6] == one.Pi[3]).all()


def shifted(fit, x):
    """The fields of the groups, at thresholds that are Q x higher."""
    k, size, chi_hat, t, Q = PRIOR.fields(fit.last.state.to_prior)
    return k, size, chi_hat, t + Q * x, Q


def test_the_free_energy_has_the_lengths_as_its_slope(fit):
    at = lambda lam: free_energy(
        rvamp(A, Y, prior=GroupLasso(lam, LABELS), resampling=HALF, tol=1e-10)
    )
    slope = (at(0.6 + 1e-3) - at(0.6 - 1e-3)) / 2e-3
    x = np.linspace(0, 20, 2001)
    beyond = [radial_share(*shifted(fit, at)[:4]) for at in x]
    np.testing.assert_allclose(
        slope, -(3**0.5) * np.trapezoid(beyond, x, axis=0).sum(), rtol=1e-4
    )


# Against refits -----------------------------------------------------------------------


@pytest.mark.parametrize("name", DESIGNS)
def test_against_refits(name):
    """Errors beyond the noise of 2,000 refits: .015, and .045 of splines."""
    (A, y, labels, lam), truth = table(name), load()[name]
    fit = rvamp(A, y, prior=GroupLasso(lam, labels), resampling=HALF)
    share, n = truth["Pi"], truth["n"]
    noise = np.mean(share * (1 - share)) / n
    off = np.mean((fit.prior.of_groups(fit.Pi) - share) ** 2)
    allowed = 0.045 if name == "splines" else 0.017
    assert fit.converged and off < allowed**2 + 2 * noise
    error = np.sqrt(truth["var"] / n) + 0.09 * np.sqrt(truth["var"])
    assert np.sqrt(np.mean(((fit.mean - truth["mean"]) / error) ** 2)) < 1
    sds = np.sqrt(fit.var / truth["var"])
    assert np.sqrt(np.mean((sds - 1) ** 2)) < 0.25


def test_the_truth_is_that_of_celer():
    celer = pytest.importorskip("celer")
    A, y, labels, lam = table("levels")
    counts = halves(len(y), 3, 1)
    x, off = refits(A, y, labels, lam, counts)
    assert off.max() < 1e-5
    for c, ours in zip(counts, x):
        root = np.sqrt(c)
        model = celer.GroupLasso(
            groups=4, alpha=2 * lam / len(y), tol=1e-12, fit_intercept=False
        )
        model.fit(A * root[:, None], y * root)
        np.testing.assert_allclose(model.coef_, ours, atol=1e-5)


def test_refits_by_turns_meet_the_conditions(fit):
    counts = HALF.draw(60, np.random.default_rng(7))
    x, level = ExactByTurns(fit)(counts[None], np.ones((1, 1)))
    pull = A.T @ (counts * (Y - A @ x[0]))
    assert max(conditions(x[0], pull, 0.6 * 3**0.5)) < 1e-8 and level == 0


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=repr)
def test_steps_on_groups_end_where_turns_do(loss):
    """Groups leave and enter, and an intercept has no penalty."""
    y = Y if isinstance(loss, Squared) else (np.median(Y) < Y) * 1.0
    prior = GroupLasso(0.6 if isinstance(loss, Squared) else 0.2, LABELS)
    fit = rvamp(A, y, prior=prior, loss=loss, resampling=HALF, intercept=True)
    counts = np.array([HALF.draw(60, np.random.default_rng(k)) for k in range(6)])
    by_turns = ExactByTurns(fit)
    x, level = by_turns(counts, np.ones((6, 1)))
    by_turns._settle = None
    for group, moved in ((slice(3), 0.0), (slice(3, 6), 0.1)):
        start = np.c_[x, level]
        start[:, group] = moved * (1 + start[:, group])
        near, at = by_turns(counts, np.ones((6, 1)), csr_array(start))
        np.testing.assert_allclose(near, x, atol=1e-7 * np.abs(x).max())
        np.testing.assert_allclose(at, level, atol=1e-7 * np.abs(x).max())
    assert 0 < np.mean(x == 0) < 1 and (x[:, :3] != 0).any()


def test_a_resample_without_events_has_no_refit():
    y = (np.arange(60) < 6) * 1.0
    prior = GroupLasso(0.5, LABELS)
    fit = rvamp(A, y, prior=prior, loss=Logistic(), resampling=HALF, intercept=True)
    counts = np.tile((np.arange(60) > 3) * 1.0, (2, 1))
    counts[1, :6] = 0
    again = ExactByTurns(fit)
    start = np.tile(np.append(fit.mean, -4.0), (2, 1))
    assert np.isinf(again.groups(counts, start)).any(1).tolist() == [False, True]
    x, _ = again(counts, np.ones((2, 1)), csr_array(start))
    assert np.isnan(x).any(1).tolist() == [False, True]


def test_refine_takes_groups_as_a_whole():
    fit = rvamp(A, Y, prior=GroupLasso(1.4, LABELS), resampling=HALF, intercept=True)
    assert fit.Pi.min() < 0.3
    refined = refine(fit, accuracy=0.03, verbose=False)
    assert np.abs(refined.Pi - fit.Pi).max() < 0.12
    on = refined.draws.reshape(-1, 6, 3) != 0
    assert (on.any(2) == on.all(2)).all()


def test_many_rows_have_one_curvature():
    draw = np.random.default_rng(5)
    B = draw.normal(size=(5_000, 6)) / 5_000**0.5
    y = B[:, 0] * 2 + draw.normal(size=5_000)
    fit = rvamp(B, y, prior=GroupLasso(1.0, [0, 0, 1, 1, 2, 2]), resampling=HALF)
    refined = refine(fit, accuracy=0.03, verbose=False)
    assert np.abs(refined.Pi - fit.Pi).max() < 0.1


# Densities ----------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 8])
def test_the_density_of_a_member_against_draws(k):
    prior, at = GroupLasso(0.5, ["g"] * k), message(k)
    mix = one_each(k, np.arange(k))
    density = prior.marginals(at, mix, np.full(k, -2.0), None)
    assert isinstance(density, P1InGroup)
    f = at.h + np.sqrt(at.chi_hat) * np.random.default_rng(k).normal(size=(100_000, k))
    draws = -2 * prior.inner(f, at.Q_hat, np.inf)[1]
    x = np.array([-1.5, -0.2, 0.0, 0.1, 2.0])
    for i in range(k):
        shares = [(draws[:, i] <= value).mean() for value in x]
        np.testing.assert_allclose(density.cdf(x)[i], shares, atol=0.01)
        np.testing.assert_allclose(density.mean[i], draws[:, i].mean(), atol=0.02)
        np.testing.assert_allclose(density.std[i], draws[:, i].std(), atol=0.02)
    e = 1e-5
    slope = (density.cdf(x[[0, 1, 4]] + e) - density.cdf(x[[0, 1, 4]] - e)) / (2 * e)
    np.testing.assert_allclose(density.pdf(x[[0, 1, 4]]), slope, atol=1e-5)
    jump = density.cdf(0.0) - density.cdf(-1e-12)
    np.testing.assert_allclose(jump, density.atom, atol=1e-5)
    for q in (0.1, 0.6, 0.95):
        at_q = density.quantile(q)
        assert (np.diag(np.atleast_2d(density.cdf(at_q))) > q - 1e-6).all()
        np.testing.assert_allclose(np.quantile(draws, q, axis=0), at_q, atol=0.03)


def test_densities_of_a_fit(fit):
    assert repr(p1(fit, 0)).startswith("P1InGroup(coefficient 0: Π")
    assert "<svg" in p1(fit, [0, 4])._repr_html_()
    low, high = p1(fit).quantile([0.25, 0.75]).T
    assert (low <= high).all()
    with pytest.raises(ValueError, match="strictly between"):
        p1(fit, 0).quantile(1.0)


def test_laws_far_out_and_below_zero(fit):
    far = np.array([-np.inf, -1.0, 1e300, np.inf])
    member = p1(fit, 0)
    np.testing.assert_allclose(member.cdf(far), [0, member.cdf(-1.0), 1, 1])
    assert (member.pdf(far[[0, 2, 3]]) == 0).all()


def test_quantiles_far_out_are_those_of_the_distribution(fit):
    """Which ten standard deviations do not hold."""
    shares, member = np.array([1e-200, 1e-30, 1e-9, 1e-3]), p1(fit, 0)
    ends = member.quantile(shares)
    assert (np.diff(ends) > 0).all() and ends[-1] < 0
    np.testing.assert_allclose(member.cdf(ends), shares, rtol=1e-9)
    assert member.quantile(1 - 1e-12) > 0 == member.quantile(member.cdf(0.0))


def test_the_density_of_a_length_against_draws(fit):
    """It is beyond x where the group is selected at a threshold that is Q x higher."""
    for g in (0, 3):
        k, size, noise, t, Q = (v[g] for v in shifted(fit, 0))
        z = np.random.default_rng(9).normal(size=(100_000, 3)) * np.sqrt(noise)
        z[:, 0] += size
        lengths = np.maximum(np.linalg.norm(z, axis=1) - t, 0) / Q
        x = np.array([0.0, 0.3, 1.0, 2.0])
        shares = [(lengths <= value).mean() for value in x]
        beyond = [radial_share(*shifted(fit, at)[:4])[g] for at in x]
        np.testing.assert_allclose(1 - np.array(beyond), shares, atol=0.01)
        np.testing.assert_allclose(beyond[0], fit.Pi[3 * g], atol=1e-8)


# Tables, and what is refused ----------------------------------------------------------


def test_orthonormal_columns_and_the_way_back():
    draw = np.random.default_rng(6)
    B = draw.normal(size=(20, 5))
    B[:, 4] = B[:, 2] - B[:, 3]
    made, reduced = orthonormal(B, np.array(["a", "a", "b", "b", "b"]))
    assert reduced == {"b": (3, 2)}
    assert made.A.shape == (20, 4) and made.groups.tolist() == ["a", "a", "b", "b"]
    for part in np.split(made.A, 2, axis=1):
        np.testing.assert_allclose(part.T @ part, np.eye(2), atol=1e-12)
    x = draw.normal(size=(3, 4))
    np.testing.assert_allclose(made.coefficients(x) @ B.T, x @ made.A.T, atol=1e-10)


REFUSED = [
    (dict(lam=0.0, groups=[1, 1]), ValueError, r"lam must lie in \(0"),
    (dict(lam=True, groups=[1, 1]), TypeError, "lam must be a number"),
    (dict(groups=[]), ValueError, "a label .* for each column"),
    (dict(groups=[[0, 1]]), ValueError, "a label .* for each column"),
    (dict(groups=[0.5, 1.0]), ValueError, "a label .* for each column"),
    (dict(groups=[None, "a"]), ValueError, "a label .* for each column"),
    (dict(groups=[1, "1"]), ValueError, "not both"),  # not one group of two columns
    (dict(groups=["a", np.nan]), ValueError, "not both"),
    (dict(groups={1: [0], "1": [1]}), ValueError, "not both"),
    (dict(groups=[[0], [0, 1]]), ValueError, "a label .* for each column"),
    (dict(groups={"a": [0], "b": [0, 1]}), ValueError, "0 is in 'a' and in 'b': dupl"),
    (dict(groups={"a": [0, 0]}), ValueError, r"groups\['a'\] .* each once"),
    (
        dict(groups={"a": [0], "b": np.array([], int)}),
        ValueError,
        r"groups\['b'\] must",
    ),
    (dict(groups={"a": [0], "b": []}), ValueError, r"groups\['b'\] must be a list"),
    (dict(groups={"a": ["x1"]}), ValueError, r"groups\['a'\] must be a list"),
    (dict(groups={"a": [0], "b": [2]}), ValueError, "column 1 is in no group"),
    (dict(groups={"a": [0, -1]}), ValueError, r"groups\['a'\] .* from 0 on"),
    (dict(groups=[0] * 501), ValueError, "at most 500 columns, 0 has 501"),
    (dict(groups=[0, 0], weights=[1, 2]), ValueError, "the same within a group"),
    (dict(groups=[0, 0], weights=[1e-9, 3e-9]), ValueError, "the same within a group"),
    (dict(groups=[0, 0], weights=[1]), ValueError, "the same within a group"),
    (dict(groups=[0, 0], weights=[-1, -1]), ValueError, "one number >= 0"),
    (dict(groups=[0, 0], weights="wide"), TypeError, "weights"),
]


@pytest.mark.parametrize("given, kind, words", REFUSED)
def test_what_is_refused(given, kind, words):
    with pytest.raises(kind, match=words):
        GroupLasso(**dict(lam=1.0) | given)


def test_what_a_fit_refuses(fit):
    for options, kind, words in (
        (dict(prior=GroupLasso(1.0, [0, 1])), ValueError, "groups has 2 columns, A"),
        (dict(prior=PRIOR, beta=1.0), ValueError, "for beta = inf"),
    ):
        with pytest.raises(kind, match=words):
            rvamp(A, Y, resampling=HALF, **options)
    with pytest.raises(TypeError, match="that selects"):
        with_clusters(fit, [[0, 1]])
    with pytest.raises(TypeError, match="replicon is for single columns"):
        stability_radius(fit)
    with pytest.raises(TypeError, match="the prior must select"):
        condition_on_rows(fit, [0])


def test_columns_that_are_not_orthonormal_are_named():
    draw = np.random.default_rng(2)
    B = draw.normal(size=(200, 6)) / 200**0.5
    y = B[:, 0] + draw.normal(size=200)
    prior = GroupLasso(0.5, ["a", "a", "b", "b", "c", "c"])
    rvamp(B, y, prior=prior)  # nearly so
    for wrong in (B[:, 2], 3 * B[:, 3]):  # the same direction, another length
        B[:, 3] = wrong
        with pytest.warns(UserWarning, match="columns of group b are not orthonormal"):
            rvamp(B, y, prior=prior)


def test_units_make_no_column_dependent():
    draw = np.random.default_rng(0)
    B = draw.normal(size=(40, 3)) * [1e11, 1.0, 1e-20]
    made, _ = orthonormal(B, np.array([1, 1, 1]))
    np.testing.assert_allclose(made.A.T @ made.A, np.eye(3), atol=1e-10)
    x = draw.normal(size=3)
    np.testing.assert_allclose(B @ made.coefficients(x), made.A @ x, atol=1e-9)
