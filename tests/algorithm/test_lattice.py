"""One lattice for all counts and fields: it agrees with the rule that looks for the top
of each posterior, and with plain grids where that rule is wrong.
"""

import numpy as np
import pytest
from cover import pairwise
from designs import Probit

from rvamp_nb.algorithm import lattice, likelihood
from rvamp_nb.algorithm.likelihood import Logistic, PoissonLoss
from rvamp_nb.algorithm.messages import Natural
from rvamp_nb.algorithm.resampling import Exponential, NoResampling, Poisson, Subsample

LOSSES = {"logistic": Logistic(), "poisson": PoissonLoss(), "probit": Probit()}


def fine_field(spread):
    """Nodes of the field that are twice as close as the package's, and reach further:
    the package's own are good to 4e-6 only for probit rows at beta = 4.
    """
    xi = np.arange(-8, 8.01, 0.4 / max(1, spread))
    w = np.exp(-(xi**2) / 2)
    return xi, w / w.sum()


def by_tops(loss, y, incoming, law, beta, monkeypatch):
    """The message from the rule that looks for each posterior's own top."""
    monkeypatch.setattr(likelihood, "_field_grid", fine_field)
    c, w = likelihood._support(law)
    parts = [likelihood._averaged_pull(loss, y, incoming, one, beta) for one in c]
    m, back = likelihood._total(incoming, w, np.array(parts))
    return np.array([m.mean, m.chi, m.var, m.rho_bar, back.chi_hat])


def many_rows(name, size, seed=0):
    rng = np.random.default_rng(seed)
    V = size * np.exp(0.7 * rng.normal(size=80))
    h, chi_hat = rng.normal(0, 2, 80), V * np.exp(rng.normal(size=80) - 0.5)
    y = (rng.random(80) < 0.5) * 1.0
    if name == "poisson":
        y = rng.poisson(np.exp(np.clip(-h, -3, 3))).astype(float)
    return y, Natural(V, h, chi_hat)


@pytest.mark.parametrize(
    "name, law, beta",
    pairwise(
        ["logistic", "poisson", "probit"], [Poisson(0.5), Subsample(0.5)], [1.0, 4.0]
    ),
    ids=str,
)
def test_a_lattice_agrees_with_the_rule_of_tops(name, law, beta, monkeypatch):
    loss = LOSSES[name]
    for size in (1e-4, 0.3):
        y, incoming = many_rows(name, size)
        m, back = loss.message(y, incoming, law, beta)
        ours = np.array([m.mean, m.chi, m.var, m.rho_bar, back.chi_hat])
        plain = by_tops(loss, y, incoming, law, beta, monkeypatch)
        np.testing.assert_allclose(ours, plain, rtol=2e-6)
        assert (m.var >= incoming.chi_hat * m.chi**2).all()
        assert (back.chi_hat >= 0).all()


def grid_of_rows():
    """Sure and unsure, quiet and noisy rows, foreseen rightly and wrongly."""
    sides = [0.01, 0.5, 2, 50], [1e-6, 0.2, 2], [-12, -1, 0, 6], [0.0, 1.0]
    V, ratio, h, y = map(np.ravel, np.meshgrid(*sides))
    return y, Natural(V, h, ratio * V)


def sizes(loss, y, incoming, law, beta):
    """Mean, V chi and variance, and what their errors are measured in."""
    m = loss.moments(y, incoming, law, beta)
    scales = abs(m.mean) + 1e-3, 1 + 0 * m.chi, m.mean**2 + m.var + 1e-6
    return np.array([m.mean, incoming.Q_hat * m.chi, m.var]), np.array(scales)


@pytest.mark.parametrize(
    "law, name, beta",
    pairwise(
        [Poisson(0.5), Subsample(0.5), Poisson(3.0), Exponential()],
        ["logistic", "poisson"],
        [1.0, 4.0],
    ),
    ids=str,
)
def test_half_the_spacing_says_the_same(law, name, beta, monkeypatch):
    """Errors of the spacings. (Where the top of the largest count
    did not enter the spacing, chi was wrong by 1e-3 here.)
    """
    y, incoming = grid_of_rows()
    loss, y = LOSSES[name], y * (5 if name == "poisson" else 1)
    ours, _ = sizes(loss, y, incoming, law, beta)
    spacing = lattice._find_spacing
    monkeypatch.setattr(lattice, "_find_spacing", lambda *given: spacing(*given) / 2)
    monkeypatch.setattr(lattice, "_GAP", 0.6)
    fine, scales = sizes(loss, y, incoming, law, beta)
    worst = (abs(ours - fine) / scales).max()
    assert worst < (1e-7 if name == "logistic" else 2e-6)


@pytest.mark.parametrize("law", [NoResampling(), Poisson(0.5)], ids=str)
def test_without_noise_a_difference_quotient_serves(law, monkeypatch):
    for name in ("logistic", "poisson"):
        loss = LOSSES[name]
        y, incoming = many_rows(name, 0.3)
        still = incoming._replace(chi_hat=0 * incoming.h)
        m, back = loss.message(y, still, law, 1.0)
        ours = np.array([m.mean, m.chi, m.var, m.rho_bar, back.chi_hat])
        plain = by_tops(loss, y, still, law, 1.0, monkeypatch)
        np.testing.assert_allclose(ours, plain, rtol=2e-7, atol=1e-12)


def test_a_wide_posterior_is_met_better_than_before():
    """A Poisson row at V = 7.5 and beta = 0.3, by a fine grid of f for each field."""
    loss, V, h, chi_hat, beta = PoissonLoss(), 7.5, 1.1, 0.8, 0.3
    xi = np.linspace(-8, 8, 81)
    w = np.exp(-(xi**2) / 2) / np.exp(-(xi**2) / 2).sum()
    omega, f = -h - np.sqrt(chi_hat) * xi, np.linspace(-60, 12, 18_001)[:, None]
    E = np.exp(f) + (f - omega) ** 2 / (2 * V)
    p = np.exp(-beta * (E - E.min(0)))
    p /= p.sum(0)
    mean = (p * f).sum(0)
    slack = beta / V * (p * (f - mean) ** 2).sum(0)
    incoming = Natural(*np.array([[V], [h], [chi_hat]]))
    ours = loss.message(np.zeros(1), incoming, NoResampling(), beta)[0]
    np.testing.assert_allclose(ours.mean[0], w @ (mean - omega) / V, rtol=1e-8)
    np.testing.assert_allclose(ours.rho_bar[0], w @ slack, rtol=1e-8)


def plainly(loss, y, V, h, chi_hat, beta):
    """Mean, chi and variance for one row whose count is 0 or 1, from 121 fields and an
    even grid of f for each.
    """
    xi = np.linspace(-8, 8, 121)
    w = np.exp(-(xi**2) / 2) / np.exp(-(xi**2) / 2).sum()
    omega, reach = -h - np.sqrt(chi_hat) * xi, 9 * np.sqrt(V / beta)
    top = loss.proximal(np.full_like(omega, y), omega, V)
    curvature = 1 / V + loss.derivatives(y, top)[1].max()
    step = min(0.5, 0.6 / np.sqrt(beta * curvature))
    d = np.linspace(-reach, reach, int(2 * reach / step) + 2)[:, None]
    f = top + d
    E = loss.value(y, f) + (f - omega) ** 2 / (2 * V)
    p = np.exp(-beta * (E - E.min(0)))
    p /= p.sum(0)
    slope = loss.derivatives(y, f)[0]
    mean_slope = (p * slope).sum(0)
    cov = (p * (slope - mean_slope) * (d - (p * d).sum(0))).sum(0)
    mean, chi = -w @ mean_slope / 2, w @ cov * beta / V / 2
    return mean, chi, w @ mean_slope**2 / 2 - mean**2


SATURATED = [(0.1, 10.0), (0.3, 2.0), (1.0, 300.0), (4.0, 1e3), (16.0, 1e-3)]


@pytest.mark.parametrize("beta, V", SATURATED)
def test_extreme_rows_by_a_plain_grid(beta, V):
    """Saturated and wide rows (61 nodes about the top were wrong by up to a half)."""
    rows = [(y, h, s) for y in (0, 1) for h in (-20, -12, 1, 16) for s in (1e-3, 1)]
    y, h, chi_hat = np.array(rows, float).T
    incoming = Natural(np.full_like(h, V), h, chi_hat)
    m = Logistic().moments(y, incoming, Subsample(0.5), beta)
    truth = np.array([plainly(Logistic(), *r, beta) for r in zip(y, *incoming)]).T
    mean, chi, var = truth
    np.testing.assert_allclose((m.mean - mean) / (abs(mean) + 1e-3), 0, atol=1e-7)
    np.testing.assert_allclose(V * (m.chi - chi), 0, atol=1e-7)
    np.testing.assert_allclose((m.var - var) / (mean**2 + var + 1e-6), 0, atol=1e-7)


def test_most_rows_of_a_posterior_have_a_lattice(monkeypatch):
    """The slow rule is for the rows that need it."""
    y, incoming = many_rows("logistic", 0.5)
    c, w = likelihood._support(Poisson(0.5))
    found = lattice._find_ends(Logistic(), y, incoming, c[1:], w[1:], 1.0)
    assert np.isfinite(found[2]).all() and np.median(found[2]) < 40
    monkeypatch.setattr(likelihood, "_averaged_pull", None)
    assert np.isfinite(Logistic().message(y, incoming, Poisson(0.5), 1.0)[1]).all()


def test_a_loss_with_its_own_inner_is_asked():
    class Own(Logistic):
        def inner(self, y, omega, c, V, beta):
            return [2 * part for part in super().inner(y, omega, c, V, beta)]

    y, incoming = many_rows("logistic", 0.3)
    doubled, plain = (
        loss.channel(y, incoming, 1.0, 1.0) for loss in (Own(), Logistic())
    )
    np.testing.assert_allclose(doubled[:2], 2 * plain[:2], rtol=1e-12)
    assert Own().channels(y, incoming, [1.0], [1.0], 1.0).shape == (1, 4, 80)
    ours = Own().channels(y, incoming, [1.0], [1.0], 1.0)[0]
    np.testing.assert_allclose(ours, doubled, rtol=1e-12)
