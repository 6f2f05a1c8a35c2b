"""Densities of an estimator's coefficients by name, on the scale of its table, and how
they show themselves.
"""

import doctest
import re
import warnings
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from designs import at_most
from scipy import integrate
from sklearn.exceptions import NotFittedError

from rvamp_nb import Prior, StabilitySelection, p1, p2, rvamp
from rvamp_nb.algorithm import densities
from rvamp_nb.algorithm.prior import ElasticNet, Laplace, NonNegative, SpikeSlab
from rvamp_nb.algorithm.resampling import TwoPoint
from rvamp_nb.algorithm.solver import with_clusters
from rvamp_nb.datasets import toy
from rvamp_nb.select import plots, report
from rvamp_nb.sketch import HIGH, IN_A_TABLE, MOST_DRAWN, digits
from rvamp_nb.tables.chunked import ChunkedTable


def table(M=80, N=12, seed=0):
    """Columns in units from a thousandth to thousands, named; and effects of three."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(M, N))
    f = X[:, 0] - 0.7 * X[:, 1] + 0.5 * X[:, 2]
    X = 5 + X * 10.0 ** np.linspace(-3, 3, N)
    return pd.DataFrame(X, columns=[f"gene {i}" for i in range(N)]), f, rng


def fitted(loss="squared", n_resamples=0, prepare=lambda X: X, **options):
    X, f, rng = table()
    roles = {}
    if loss == "squared":
        y = f + rng.normal(size=len(f))
    elif loss == "logistic":
        y = f + rng.logistic(size=len(f)) > 0
    elif loss == "poisson":
        y = rng.poisson(np.exp(f / 2))
    elif loss == "survival":
        time = rng.exponential(np.exp(-f))
        y = np.column_stack([time, rng.random(len(f)) < 0.8])
    elif loss == "groups":
        y, loss = f + rng.normal(size=len(f)), "squared"
        roles["groups"] = np.arange(len(f)) // 2
    elif loss == "weights":
        y, loss = f + rng.normal(size=len(f)), "squared"
        roles["sample_weight"] = rng.integers(0, 4, len(f))
    options = dict(loss=loss, n_resamples=n_resamples, verbose=0, q=3) | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return StabilitySelection(**options).fit(prepare(X), y, **roles)


def copied(X):
    """With a near copy of the other sign in another unit, and a constant column."""
    return X.assign(twin=-40 * X["gene 0"] + 3, still=7.0)


CASES = {
    "squared": {},
    "logistic": dict(loss="logistic"),
    "poisson": dict(loss="poisson"),
    "survival": dict(loss="survival"),
    "groups": dict(loss="groups"),
    "weights": dict(loss="weights"),
    "copies": dict(prepare=copied),
    "elastic net": dict(prior=ElasticNet(1.0, l1_ratio=0.7)),
    "copies, elastic net": dict(prepare=copied, prior=ElasticNet(1.0, l1_ratio=0.7)),
    "non-negative": dict(prior=NonNegative(1.0), prepare=copied),
    "drawn penalties": dict(prior=Laplace(1.0, TwoPoint(2, 0.5))),
    "covariate": dict(penalty_factor={"gene 3": 0}),
}


@pytest.fixture(scope="module", params=CASES)
def alone(request):
    return fitted(**CASES[request.param])


@pytest.fixture(scope="module")
def plain():
    return fitted(n_resamples=100)


def test_the_scale_is_that_of_the_table(alone):
    law, joint = p1(alone), p2(alone)
    np.testing.assert_allclose(law.mean, alone.coef_mean_, rtol=1e-8)
    np.testing.assert_allclose(law.std, alone.coef_std_, rtol=1e-8)
    np.testing.assert_allclose(law.var, alone.coef_std_**2, rtol=1e-8)
    np.testing.assert_allclose(1 - law.atom, alone.probabilities_, atol=1e-8)
    ends = law.quantile(np.array([0.05, 0.95]))
    np.testing.assert_allclose(ends, alone.coef_interval_, rtol=1e-8)
    # the two agree up to the tolerance of the fit, on the columns' unit of length
    unit = np.where(alone.scale_ > 0, alone.scale_, 0)
    np.testing.assert_allclose(joint.mean * unit, alone.coef_mean_ * unit, atol=0.02)
    np.testing.assert_allclose(joint.std * unit, alone.coef_std_ * unit, rtol=0.02)
    sd = np.sqrt(np.diag(joint.covariance))
    np.testing.assert_allclose(sd, joint.std, rtol=1e-6, atol=1e-9)


def test_a_density_in_another_unit_is_still_one(alone):
    for i in np.flatnonzero(alone.coef_std_ > 0)[:4]:
        law, sd = p1(alone, i), alone.coef_std_[i]
        inner = law.quantile(np.array([1e-9, 0.01, 0.5, 0.99, 1 - 1e-9]))
        knots, mass = np.unique([*inner, 0.0]), [0.0, 0.0]
        for low, high in zip(knots, knots[1:]):
            mass[int(high > 0)] += integrate.quad(law.pdf, low, high, limit=400)[0]
        np.testing.assert_allclose(sum(mass) + law.atom, 1, atol=1e-6)
        np.testing.assert_allclose(mass[0], law.cdf(-1e-300), atol=1e-6)
        draws = law.sample(4000, np.random.default_rng(0))
        np.testing.assert_allclose(draws.mean(), law.mean, atol=0.08 * sd)


def test_a_copy_of_the_other_sign_has_the_mirrored_density():
    alone = fitted(prepare=copied)
    one, other = p1(alone, "gene 0"), p1(alone, "twin")
    assert other.mean < 0 < one.mean
    x = np.linspace(0.1, 3, 5) * one.std
    np.testing.assert_allclose(other.pdf(-x / 40) / 40, one.pdf(x), rtol=1e-8)
    C = p2(alone, ["gene 0", "twin"]).covariance
    np.testing.assert_allclose(C[0, 1], -np.sqrt(C[0, 0] * C[1, 1]), rtol=1e-8)


def test_names_and_numbers_lead_to_the_same(plain):
    which = ["gene 2", "gene 0"]
    np.testing.assert_array_equal(p1(plain, which).mean, p1(plain, [2, 0]).mean)
    assert np.ndim(p1(plain, "gene 2").mean) == 0
    assert p2(plain, "gene 2").mean.shape == (1,)
    np.testing.assert_array_equal(
        p2(plain, pd.Index(which)).covariance, p2(plain, np.array([2, 0])).covariance
    )
    assert p1(plain).mean.shape == (12,)
    assert p1(plain.selection_, 3).mean == p1(plain, np.int64(3)).mean


def test_labels_that_are_no_text_are_found():
    names = [(f"chip {i % 2}", i) for i in range(12)]
    labelled = fitted(
        prepare=lambda X: X.set_axis(pd.MultiIndex.from_tuples(names), axis=1)
    )
    assert p1(labelled, ("chip 1", 3)).mean == p1(labelled, 3).mean
    numbered = fitted(prepare=lambda X: X.set_axis(np.arange(12) + 700, axis=1))
    assert p1(numbered, 702).mean == p1(numbered, "702").mean
    with pytest.raises(ValueError, match="no column"):
        p1(numbered, 2)


def test_a_table_in_blocks_has_densities():
    X, f, rng = table()
    y = f + rng.normal(size=len(f))
    fit = lambda X: StabilitySelection(q=3, n_resamples=0, verbose=0).fit(X, y)
    one, other = fit(X.to_numpy()), fit(ChunkedTable(X.to_numpy()))
    np.testing.assert_allclose(p1(one).mean, p1(other).mean, rtol=1e-6, atol=1e-9)
    C, D = (p2(est, [0, 1]).covariance for est in (one, other))
    np.testing.assert_allclose(C, D, rtol=1e-6)


# What is refused ----------------------------------------------------------------------


@pytest.mark.parametrize("make", [p1, p2], ids=["p1", "p2"])
def test_what_is_no_column_is_refused_by_name(plain, make):
    for wrong in ("gene 22", ["gene 0", "Gene 2"], -1, 12, 2.0, "", [0.5]):
        with pytest.raises(ValueError, match="which is no column of X"):
            make(plain, wrong)
    with pytest.raises(ValueError, match=r"\(did you mean 'gene 2'\?\)"):
        make(plain, "Gene 2")
    for mask in (True, plain.support_, [False, np.True_]):
        with pytest.raises(TypeError, match="truth values"):
            make(plain, mask)
    with pytest.raises(TypeError, match="names are known to the estimator"):
        make(plain.fit_, "gene 2")
    with pytest.raises(TypeError, match="a fitted StabilitySelection"):
        make(plain.summary(), "gene 2")
    with pytest.raises(NotFittedError):
        make(StabilitySelection(), "gene 2")


def test_without_an_answer_there_is_no_density():
    with at_most(2):
        broken = fitted()
    for ask in (p1, p2, StabilitySelection.plot_density):
        with pytest.raises(ValueError, match="nothing converged"):
            ask(broken, "gene 0")
    with pytest.raises(ValueError, match="nothing converged"):
        p1(broken.selection_, 0)
    with pytest.raises(ValueError, match="nothing converged"):
        broken.plot_pair("gene 0", "gene 1")
    with pytest.raises(NotFittedError):
        StabilitySelection().plot_density("gene 0")


def test_new_rows_of_an_estimator_are_its_predictions(plain):
    with pytest.raises(ValueError, match="linear_predictor"):
        p2(plain, [0, 1]).predict(np.zeros((1, 12)))


def test_pictures_take_one_column_each(plain):
    with pytest.raises(TypeError, match="one column at a time"):
        plain.plot_density(["gene 0", "gene 1"])
    with pytest.raises(ValueError, match="the same column"):
        plain.plot_pair("gene 1", 1)
    assert not plt.get_fignums()


# What is drawn ------------------------------------------------------------------------


def texts(ax):
    return " | ".join([ax.get_title(), *(text.get_text() for text in ax.texts)])


def test_the_title_has_the_reported_probability_and_the_curve_is_rvamps(plain):
    figure, mine = plt.subplots()
    ax = plain.plot_density("gene 0", ax=mine)
    assert ax is mine
    reported, own = plain.probabilities_[0], 1 - p1(plain, 0).atom
    assert f"reported Π = {reported:.3f} ± " in ax.get_title()
    assert abs(reported - own) > 1e-4
    share = figure.axes[1]
    assert f"p̄₁ of rVAMP: zero in {1 - own:.1%}" in texts(share)
    zeros = np.mean(plain.refined_.draws[:, 0] == 0)
    assert f"100 refits (grey): zero in {zeros:.1%}" in texts(share)
    x, y = ax.get_lines()[0].get_data()
    np.testing.assert_allclose(y, p1(plain, 0).pdf(x))
    (bars,) = ax.patches
    heights, edges, _ = bars.get_data()
    assert 0.0 in np.round(edges, 12) or edges[0] > 0
    mass = heights @ np.diff(edges)
    np.testing.assert_allclose(mass, 1 - zeros, atol=0.03)  # few lie beyond the frame
    plt.close("all")


def test_every_kind_of_answer_is_drawn(alone, compose):
    names = alone.selection_.question.columns.names
    kind = alone.selection_.question.columns.kind
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in {int(np.argmax(alone.probabilities_)), 5, len(names) - 1}:
            ax = alone.plot_density(names[i])
            assert f"Π = {alone.probabilities_[i]:.3f}" in ax.get_title() or (
                "never selected (constant column)" in ax.get_title() and kind[i]
            )
            # to lay it out takes longer than all the rest: the last picture is
            compose(ax.figure)
        ax = alone.plot_pair(0, len(names) - 1)
        assert ("correlation" in texts(ax)) != ("always zero" in texts(ax))
        plots.plot_ridgeline(alone.selection_).figure.draw_without_rendering()
    plt.close("all")


def test_a_pair_has_its_ellipses_and_its_correlations(plain):
    ax = plain.plot_pair("gene 0", "gene 2")
    joint, cloud = p2(plain, [0, 2]), plain.refined_.draws[:, [0, 2]]
    both = (joint.covariance, "p̄₂ of rVAMP"), (np.cov(cloud.T), "100 refits (grey)")
    for C, who in both:
        r = C[0, 1] / np.sqrt(C[0, 0] * C[1, 1])
        assert f"{who}: correlation {r:.2f}" in texts(ax)
    one, two = (line.get_xydata() - joint.mean for line in ax.get_lines()[-2:])
    precision = np.linalg.inv(joint.covariance)
    for k, ring in ((1, one), (2, two)):
        off = np.einsum("ni,ij,nj->n", ring, precision, ring)
        np.testing.assert_allclose(off, k**2, rtol=1e-6)
    plt.close("all")


def test_the_ridgeline_has_the_rows_of_the_bars(plain):
    bars, ridge = plain.plot_probabilities(), plots.plot_ridgeline(plain.selection_)
    rows = [[t.get_text() for t in ax.get_yticklabels()] for ax in (bars, ridge)]
    # the bars say of whom there is doubt, as the table does
    names = [row.removesuffix(", undecided") for row in rows[0]]
    assert names == rows[1] and bars.get_ylim() == ridge.get_ylim()
    curves = [
        line.get_xydata() for line in ridge.get_lines() if len(line.get_xydata()) > 9
    ]
    leaders = plots.leaders_of(plain.selection_, 20)
    assert len(curves) == len(leaders)
    base = np.arange(len(leaders)) + 0.4
    # a peak is as high as Π by rVAMP
    tops = [
        y - np.nanmin(v[:, 1]) if np.isfinite(v).all(1).any() else 0
        for v, y in zip(curves, base)
    ]
    Pi = 1 - p1(plain, leaders).atom
    np.testing.assert_allclose(tops, 0.85 * Pi, atol=4e-3)
    # in units of the column's standard deviation
    X = table()[0].to_numpy()[:, leaders[0]]
    peak = curves[0][np.nanargmin(curves[0][:, 1]), 0]
    law = p1(plain, leaders[0])
    x = np.linspace(law.mean - 3 * law.std, law.mean + 3 * law.std, 2001)
    assert (
        abs(peak - x[law.pdf(x).argmax()] * X.std()) < 0.02 * law.std * X.std() + 5e-3
    )
    plt.close("all")


def test_a_number_that_is_a_name_is_drawn_as_that():
    turned = np.arange(12)[::-1].astype(str)
    numbered, plain = fitted(prepare=lambda X: X.set_axis(turned, axis=1)), fitted()
    for make in (
        lambda est, i: est.plot_density(i),
        lambda est, i: est.plot_pair(i, 7 if est is plain else 4),
        lambda est, i: plots.plot_ridgeline(est.selection_),
    ):
        lines = [make(*of).get_lines() for of in ((numbered, 11), (plain, 0))]
        for one, other in zip(*lines):
            np.testing.assert_array_equal(one.get_ydata(), other.get_ydata())
    plt.close("all")


def test_the_file_has_the_coefficients_beside_the_bars(plain, monkeypatch):
    draws, shape = report.PICTURES["bars"]
    assert draws == [plots.plot_probabilities, plots.plot_ridgeline]
    seen = []
    spies = [lambda s, ax, draw=draw: seen.append(draw(s, ax=ax)) for draw in draws]
    monkeypatch.setitem(report.PICTURES, "bars", (spies, shape))
    assert report.picture_files(plain.selection_, ["bars"], ["png"])["bars.png"]
    bars, ridge = seen
    assert bars.figure is ridge.figure and bars.get_shared_y_axes().joined(bars, ridge)
    assert bars.get_position().x1 < ridge.get_position().x0


def test_without_an_answer_the_ridgeline_is_empty():
    with at_most(2):
        ax = plots.plot_ridgeline(fitted().selection_)
    assert not ax.get_lines()
    plt.close("all")


# How they show themselves -------------------------------------------------------------


class Box(Prior):
    """Coefficients in [-1, 1]."""

    def inner(self, field, Q_hat, beta):
        x = np.clip(field / Q_hat, -1, 1)
        return field * x - Q_hat * x**2 / 2, x, (np.abs(x) < 1) / Q_hat


def of_every_kind():
    A, y = toy()[:2]
    rng = np.random.default_rng(1)
    B = rng.normal(size=(30, 6))
    B[:, 1] = B[:, 0] + 0.1 * B[:, 1]
    z = B[:, 0] + rng.normal(size=30)
    blocks = with_clusters(rvamp(B, z, 3.0), [[0, 1]])
    posterior = rvamp(A, y, prior=Laplace(0.6), beta=2.0)
    yield "P1", p1(rvamp(A, y, 0.6), 0), "Π 0.359"
    yield "P1Clustered", p1(blocks, [0, 3]), "Π"
    yield "P1Posterior", p1(posterior, 0), "Π 1.000"
    yield "P1Numeric", p1(rvamp(A, y, prior=Box()), 0), "Π 1.000"
    yield "P2", p2(rvamp(A, y, 0.6), 0), "mean"
    yield "P2", p2(blocks, [0, 3]), "mean"
    yield "P2", p2(posterior, [0]), "sd"


def test_each_kind_has_a_line_and_a_picture():
    for kind, law, part in of_every_kind():
        line, page = repr(law), law._repr_html_()
        assert line.startswith(f"{kind}(coefficient 0: ") and part in line
        assert "\n" not in line and len(line) < 130
        mean, sd = np.ravel(law.mean)[0], np.ravel(law.std)[0]
        assert "mean {}, sd {}".format(*digits([mean, sd], sd)) in line
        assert page.count("<svg") == page.count("</svg>") == np.size(law.mean)
        assert ("Π" in page) == (kind != "P2") and "nan" not in page
        np.testing.assert_allclose(law.std, np.sqrt(variance(law)), rtol=1e-4)


def variance(law):
    return law.var if law.atom is not None else np.diag(law.covariance)


def test_a_bar_is_as_high_as_the_atom():
    for kind, law, _ in of_every_kind():
        bars = re.findall(rf",{HIGH}v(-?[0-9.]+)", law._repr_html_())
        atom = np.zeros(len(law.mean)) if kind == "P2" else np.ravel(law.atom)
        np.testing.assert_allclose(np.float64(bars), -(HIGH - 3) * atom, atol=0.06)


def test_many_are_shown_by_the_first_of_them(plain):
    line, page = repr(p1(plain)), p1(plain)._repr_html_()
    assert line.startswith("P1(gene 0: Π ") and line.endswith("; and 10 more)")
    assert page.count("<svg") == IN_A_TABLE and "6 more coefficients" in page
    law = replace(p1(plain), names=np.array(["<b>"] + ["x"] * 11))
    assert "<b>" not in law._repr_html_() and "&lt;b&gt;" in law._repr_html_()
    A = np.random.default_rng(0).normal(size=(20, MOST_DRAWN + 1))
    assert "<svg" not in p1(rvamp(A, A[:, 0], 5.0))._repr_html_()


def test_a_spike_is_an_atom_of_a_picture():
    A, y = toy()[:2]
    law = p1(rvamp(A, y, prior=SpikeSlab(0.3, 2.0), beta=1.0), 0)
    assert f"Π {1 - law.atom:.3f}" in repr(law) and 0 < law.atom < 1


def test_an_elastic_net_has_its_unit():
    A, y = toy()[:2]
    law = p1(rvamp(A, y, prior=ElasticNet(0.3)), 0)
    wide = replace(law, unit=np.float64(1e-9))
    np.testing.assert_allclose(wide.quantile(0.9), 1e-9 * law.quantile(0.9))
    np.testing.assert_allclose(wide.std, 1e-9 * law.std)


@pytest.mark.parametrize(
    "room, name",
    [
        (densities, "p1"),
        (densities, "p2"),
        (plots, "plot_density"),
        (plots, "plot_pair"),
    ],
)
def test_the_examples_run(room, name):
    test = doctest.DocTestFinder().find(getattr(room, name), name, globs={})[0]
    assert test.examples and not doctest.DocTestRunner().run(test).failed
    plt.close("all")
