"""Every prior and every loss, at every kind of beta, through one set of tests: its
moments are derivatives, its limits are right, and nothing extreme breaks it.
"""

import warnings

import numpy as np
import pytest
from cover import pairwise
from designs import Probit
from models import PRIORS
from sklearn.datasets import load_breast_cancer

from rvamp_nb import rvamp
from rvamp_nb.algorithm import iteration, likelihood
from rvamp_nb.algorithm.likelihood import Huber, Logistic, Loss, PoissonLoss, Squared
from rvamp_nb.algorithm.messages import Natural
from rvamp_nb.algorithm.prior import (
    ElasticNet,
    Laplace,
    NonNegative,
    Prior,
    Ridge,
    SpikeSlab,
)
from rvamp_nb.algorithm.resampling import (
    Discrete,
    Exponential,
    NoResampling,
    Poisson,
    Subsample,
    TwoPoint,
    Weakness,
)

KINDS = [
    (name, beta)
    for name in PRIORS
    for beta in (np.inf, 40.0, 1.0)
    if beta == 1 or name != "spike and slab"
]
LOG_CONCAVE = [name for name in PRIORS if name != "spike and slab"]


LOSSES = {
    "squared": (Squared(), [1.3, -0.4, 0.0]),
    "squared, sigma 2": (Squared(2.0), [1.3, -0.4, 0.0]),
    "logistic": (Logistic(), [1.0, 0.0, 1.0]),
    "poisson": (PoissonLoss(), [0.0, 3.0, 1.0]),
    "huber": (Huber(0.7), [2.3, -0.4, 0.1]),
    "probit": (Probit(), [1.0, 0.0, 1.0]),
}
NOT_HAD = [("huber", 1.5)]  # a posterior of a loss that is flat
ROWS = [
    (name, beta)
    for name in LOSSES
    for beta in (np.inf, 1.5)
    if (name, beta) not in NOT_HAD
]
LAWS = [
    Poisson(0.5),
    Subsample(0.5),
    NoResampling(),
    Exponential(),
    Discrete([0, 2], [0.5, 0.5]),
]


def rows_and_laws(laws, not_had=NOT_HAD):
    """Each loss under each law, at a beta that it has."""
    cases = pairwise(LOSSES, laws, (np.inf, 1.5))
    return [
        (name, law, np.inf if (name, beta) in not_had else beta)
        for name, law, beta in cases
    ]


def at(*columns):
    return Natural(*(np.array(c, float) for c in columns))


MESSAGE = at(
    [0.7, 1.3, 2.0, 1.0, 0.5], [-2.0, 0.1, 0.9, 3.0, -0.6], [0.4, 1.0, 0.2, 0.7, 1.5]
)
ROW = at([0.4, 1.0, 2.5], [0.3, -1.0, 0.2], [0.3, 0.8, 0.5])


def slopes(log_partition, message, eps=1e-4):
    """Central differences, of fourth order, in the message's three numbers."""
    out = {}
    for name in message._fields:
        value = lambda k: log_partition(
            message._replace(**{name: getattr(message, name) + k * eps})
        )
        out[name] = (8 * (value(1) - value(-1)) - (value(2) - value(-2))) / (12 * eps)
    return out


@pytest.mark.parametrize("name, beta", KINDS)
def test_a_priors_moments_are_derivatives(name, beta):
    prior = PRIORS[name]
    m = prior.moments(MESSAGE, beta)
    d = slopes(lambda message: prior.log_partition(message, beta), MESSAGE)
    tol = dict(rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(d["h"], m.mean, **tol)
    np.testing.assert_allclose(d["chi_hat"], m.chi / 2, **tol)
    np.testing.assert_allclose(
        d["Q_hat"], -(m.var + m.mean**2 + m.chi / beta) / 2, **tol
    )
    np.testing.assert_allclose(m.rho, MESSAGE.Q_hat * m.chi, rtol=1e-12)
    np.testing.assert_allclose(m.rho + m.rho_bar, 1, rtol=1e-12)


@pytest.mark.parametrize("name, law, beta", rows_and_laws(LAWS), ids=str)
def test_a_losses_moments_are_derivatives(name, law, beta):
    loss, y = LOSSES[name][0], np.array(LOSSES[name][1])
    m = loss.moments(y, ROW, law, beta)
    d = slopes(lambda message: loss.log_partition(y, message, law, beta), ROW)
    tol = dict(rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(d["h"], -m.mean, **tol)
    np.testing.assert_allclose(d["chi_hat"], -m.chi / 2, **tol)
    np.testing.assert_allclose(
        d["Q_hat"], (m.var + m.mean**2 - m.chi / beta) / 2, **tol
    )
    np.testing.assert_allclose(
        [m.rho, m.rho + m.rho_bar], [ROW.Q_hat * m.chi, np.ones(3)], rtol=1e-6
    )


@pytest.mark.parametrize("name, law, beta", rows_and_laws(LAWS), ids=str)
def test_a_losses_message_is_the_extrinsic_map(name, law, beta):
    loss, y = LOSSES[name][0], np.array(LOSSES[name][1])
    m, back = loss.message(y, ROW, law, beta)
    np.testing.assert_allclose(
        back,
        (1 / m.chi - ROW.Q_hat, m.mean / m.chi - ROW.h, m.var / m.chi**2 - ROW.chi_hat),
        rtol=1e-6,
        atol=1e-9,
    )
    assert (back.chi_hat >= 0).all()


@pytest.mark.parametrize("name", PRIORS)
def test_where_the_field_rules_the_prior_is_nearly_gaussian(name):
    """A field far beyond every threshold: mean, response and variance of a linear
    response, but for a shift.
    """
    prior, beta = PRIORS[name], (1.0 if name == "spike and slab" else np.inf)
    m = prior.moments(at([2.0], [1e4], [1.0]), beta)
    k = {"ridge": 0.5, "elastic net": 0.32, "spike and slab": 1 / 3}.get(name, 0.0)
    np.testing.assert_allclose(
        m.chi,
        np.mean(
            [
                1 / (2 + k * factor)
                for factor in ((1, 2) if name in ("ridge", "elastic net") else (1,))
            ]
        ),
        rtol=1e-6,
    )
    if name not in ("ridge", "elastic net", "l1", "l1 weakness", "non-negative"):
        np.testing.assert_allclose(m.var, m.chi**2, rtol=1e-5)


@pytest.mark.parametrize("name", LOG_CONCAVE)
def test_a_prior_at_large_beta_is_the_penalty(name):
    limit = PRIORS[name].moments(MESSAGE)
    gaps = [
        max(
            np.abs(near - end).max()
            for near, end in zip(PRIORS[name].moments(MESSAGE, beta)[:3], limit[:3])
        )
        for beta in (1e2, 1e4, 1e6)
    ]
    assert gaps[2] < 2e-3 and gaps[2] <= gaps[1] <= gaps[0] + 1e-12


@pytest.mark.parametrize("name", ["squared", "logistic", "poisson", "probit"])
def test_a_loss_at_large_beta_is_the_proximal_point(name):
    loss, y = LOSSES[name][0], np.array(LOSSES[name][1])
    limit = loss.moments(y, ROW, Poisson(0.5))
    gaps = [
        max(
            np.abs(near - end).max()
            for near, end in zip(
                loss.moments(y, ROW, Poisson(0.5), beta)[:3], limit[:3]
            )
        )
        for beta in (1e1, 1e3, 1e5)
    ]
    assert gaps[2] < 1e-5 and (gaps[2] <= gaps[1] <= gaps[0] or gaps[0] < 1e-9)


@pytest.mark.parametrize(
    "name, beta", [(n, b) for n in LOG_CONCAVE for b in (np.inf, 40.0, 1.0)]
)
def test_a_log_concave_priors_response_is_monotone(name, beta):
    h = np.linspace(-6, 6, 481)
    m = PRIORS[name].moments(at(np.ones(481), h, np.full(481, 0.3)), beta)
    assert (
        (np.diff(m.mean) >= -1e-7).all()
        and (m.chi >= 0).all()
        and (m.rho <= 1 + 1e-6).all()
    )
    assert (m.var * (1 + 1e-9) >= 0.3 * m.chi**2).all(), (
        "Cauchy-Schwarz: the message back has no negative variance"
    )


@pytest.mark.parametrize("name, beta", ROWS)
def test_a_losses_pull_is_monotone(name, beta):
    loss, y = LOSSES[name][0], LOSSES[name][1][0]
    h = np.linspace(-6, 6, 121)
    m = loss.moments(
        np.full(121, y), at(np.ones(121), h, np.full(121, 0.3)), Poisson(0.5), beta
    )
    assert (
        (np.diff(m.mean) >= -1e-9).all()
        and (m.chi > 0).all()
        and (m.rho <= 1 + 1e-6).all()
    )


EXTREMES = at(
    *np.array(
        [
            (Q, h, c)
            for Q in (1e-12, 1.0, 1e12)
            for h in (-1e6, 0.0, 1e-3, 1e6)
            for c in (0.0, 1e-12, 1.0, 1e12)
        ]
    ).T
)


@pytest.mark.parametrize("name, beta", KINDS)
def test_extreme_fields_give_finite_moments(name, beta):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m = PRIORS[name].moments(EXTREMES, beta)
    assert all(np.isfinite(part).all() for part in m) and (m.var >= 0).all()


# exp(1e6) has no finite posterior mean
@pytest.mark.parametrize(
    "name, law, beta",
    rows_and_laws([Poisson(0.5), NoResampling()], [*NOT_HAD, ("poisson", 1.5)]),
    ids=str,
)
def test_extreme_predictions_give_finite_messages(name, law, beta):
    loss, y = LOSSES[name]
    with np.errstate(all="ignore"):
        m, back = loss.message(np.full(len(EXTREMES.h), y[0]), EXTREMES, law, beta)
    assert (
        all(np.isfinite(part).all() for part in (*m, *back))
        and (m.var >= 0).all()
        and (back.chi_hat >= 0).all()
    )


def test_pi_is_defined_where_it_means_something():
    np.testing.assert_allclose(
        PRIORS["elastic net"].Pi(MESSAGE),
        Laplace(0.48).Pi(MESSAGE) * 0
        + np.mean(
            [ElasticNet(0.8 * k, l1_ratio=0.6).Pi(MESSAGE) for k in (1, 2)], axis=0
        ),
    )
    assert (Laplace(1.0, penalty_factor=[0, 1, 0, 1, 1]).Pi(MESSAGE)[[0, 2]] == 1).all()
    assert (PRIORS["non-negative"].Pi(MESSAGE) < PRIORS["l1"].Pi(MESSAGE)).all()
    inclusion = SpikeSlab(0.2, 3.0).Pi(MESSAGE)
    assert ((0 < inclusion) & (inclusion < 1)).all() and inclusion[3] == inclusion.max()
    for prior, beta in [(Ridge(1.0), np.inf), (Laplace(1.0), 1.0), (Prior(), np.inf)]:
        with pytest.raises(AttributeError, match="never|ever exactly zero"):
            prior.Pi(MESSAGE, beta)


def test_a_priors_general_channel_agrees_with_a_million_draws():
    rng = np.random.default_rng(0)
    h, Q, chi_hat, beta = 0.9, 1.3, 0.6, 2.0
    for prior in (
        ElasticNet(0.8, TwoPoint(2, 0.5), l1_ratio=0.6),
        NonNegative(0.5, Weakness(0.4)),
        SpikeSlab(0.2, 3.0),
    ):
        b = 1.0 if isinstance(prior, SpikeSlab) else beta
        m = prior.moments(at([Q], [h], [chi_hat]), b)
        field = h + np.sqrt(chi_hat) * rng.normal(size=300_000)
        inner = np.zeros_like(field)
        if isinstance(prior, SpikeSlab):
            inner = prior.inner(field, Q, b)[1]
        else:
            factor = prior.randomize.draw(len(field), rng)
            grid = (
                np.linspace(-8, 8, 1601)
                if not prior.positive
                else np.linspace(0, 8, 801)
            )
            quantiles = np.quantile(field, np.linspace(0, 1, 60))
            t, k = (
                (prior.l1_ratio, 1 - prior.l1_ratio)
                if isinstance(prior, ElasticNet)
                else (1.0, 0.0)
            )
            table = {}
            for kind in np.unique(np.round(factor, 2)):
                lam = prior.lam * kind
                p = np.exp(
                    b
                    * (
                        np.outer(quantiles, grid)
                        - (Q + k * lam) * grid**2 / 2
                        - t * lam * np.abs(grid)
                    )
                )
                table[kind] = p @ grid / p.sum(1)
            for kind, means in table.items():
                chosen = np.round(factor, 2) == kind
                inner[chosen] = np.interp(field[chosen], quantiles, means)
        error = [
            inner.std() / len(inner) ** 0.5,
            ((inner - inner.mean()) ** 2).std() / len(inner) ** 0.5,
        ]
        assert (
            abs(inner.mean() - m.mean[0]) < 5 * error[0] + 4e-3
            and abs(inner.var() - m.var[0]) < 5 * error[1] + 4e-3
        )


class Narrow(Loss):
    """One whose slope turns on a width, in units of f, and says so."""

    def __init__(self, width):
        self.width, self.length_scale = width, 0.3 * width

    def value(self, y, f):
        r = (f - y) / self.width
        return self.width**2 * np.logaddexp(r, -r)

    def derivatives(self, y, f):
        slope = np.tanh((f - y) / self.width)
        return self.width * slope, 1 - slope**2


@pytest.mark.parametrize("width", [0.5, 0.1, 0.04])
def test_a_narrow_loss_has_nodes_as_close_as_its_scale(width):
    loss, y, law = Narrow(width), np.full(3, 0.1), NoResampling()
    xi = np.linspace(-8, 8, 20_001)[:, None]
    w = np.exp(-(xi[:, 0] ** 2) / 2)
    fields = ROW.h + np.sqrt(ROW.chi_hat) * xi
    pull, response, _ = loss.inner(y, -fields, 1.0, ROW.Q_hat, np.inf)
    found = loss.moments(y, ROW, law)
    np.testing.assert_allclose(found.mean, w @ pull / w.sum(), rtol=1e-4)
    np.testing.assert_allclose(found.chi, w @ response / w.sum(), rtol=1e-4)
    top = loss.proximal(y, -fields, ROW.Q_hat)
    log_z = -loss.value(y, top) - ROW.Q_hat * pull**2 / 2
    np.testing.assert_allclose(
        loss.log_partition(y, ROW, law), w @ log_z / w.sum(), rtol=1e-4
    )


@pytest.mark.parametrize("size", [1e-3, 0.4, 5.0])
def test_the_proximal_point_takes_few_steps(size, monkeypatch):
    """A root near the far wall of its box used to draw the halvings on, 13 times."""
    steps, box = [], likelihood._newton_in_box

    def counted(f, *others):
        steps.append(len(f))
        return box(f, *others)

    rng = np.random.default_rng(0)
    omega, y = rng.normal(0, 1.5, 20_000), (rng.random(20_000) < 0.5) * 1.0
    cV = size * np.exp(0.5 * rng.normal(size=20_000))
    monkeypatch.setattr(likelihood, "_newton_in_box", counted)
    f = Logistic().proximal(y, omega, cV)
    slope = Logistic().derivatives(y, f)[0]
    np.testing.assert_allclose(f + cV * slope, omega, atol=1e-12 * (1 + size))
    assert len(steps) <= {1e-3: 1, 0.4: 4, 5.0: 7}[size]


def test_a_dear_posterior_begins_faintly(monkeypatch):
    """Columns that move together: a loud first message took 21 steps, with predictions
    that overshot (chi_hat of 4,000 in the second step, 9 in the last).
    """
    X, labels = load_breast_cancer(return_X_y=True)
    A, labels = (X - X.mean(0)) / X.std(0), labels.astype(float)
    given = dict(
        prior=Laplace(5.0, TwoPoint()),
        resampling=Subsample(0.5),
        intercept=True,
        beta=1.0,
    )
    faint = rvamp(A, labels, loss=Logistic(), **given)
    assert faint.converged and faint.n_iter <= 17
    monkeypatch.setattr(iteration, "START_SHARE", 1e9)
    loud = rvamp(A, labels, loss=Logistic(), **given)
    assert loud.n_iter >= faint.n_iter + 4
    np.testing.assert_allclose(faint.mean, loud.mean, atol=1e-5)
