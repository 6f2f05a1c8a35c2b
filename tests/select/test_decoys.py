"""Features against decoys: the rule that turns a number into a list, the models of the
columns, and what is refused.
"""

import numpy as np
import pytest

from rvamp_nb import StabilitySelection
from rvamp_nb.select.decoys import (
    COVARIANCES,
    _distances,
    _normal_decoys,
    keep_before,
    share_kept,
)

pytestmark = pytest.mark.filterwarnings("ignore")


def by_walking(lead, v):
    """Keep who leads on the way down, until the v-th decoy does."""
    kept, behind = np.zeros(len(lead), dtype=bool), 0
    for i in np.argsort(-np.abs(lead), kind="stable"):
        if lead[i] < 0:
            behind += 1
        if behind >= v:
            break
        kept[i] = lead[i] > 0
    return kept


def test_who_is_kept_leads_before_the_vth_decoy():
    rng = np.random.default_rng(0)
    for _ in range(50):
        lead = rng.normal(size=12) * (rng.random(12) < 0.8)
        for v in range(6):
            np.testing.assert_array_equal(keep_before(lead, v), by_walking(lead, v))
    tied = np.array([1.0, -1.0, 0.5, 0.0])
    assert keep_before(tied, 1).tolist() == [False] * 4  # no luck of the order
    assert keep_before(tied, 2).tolist() == [True, False, True, False]


def test_as_many_noise_features_as_promised_lead_where_signs_are_coins():
    rng = np.random.default_rng(1)
    for pfer in (1, 1.5, 3):
        counts = []
        for _ in range(4000):
            lead = rng.exponential(size=60) * rng.choice([-1, 1], 60)
            counts.append(keep_before(lead, int(pfer + rng.uniform())).sum())
        error = np.std(counts) / len(counts) ** 0.5
        assert abs(np.mean(counts) - pfer) < 3 * error


@pytest.mark.parametrize("name", COVARIANCES)
def test_a_model_has_the_correlations_of_its_own_design(name):
    rng = np.random.default_rng(2)
    n, M = 15, 20_000
    X, R = rng.normal(size=(M, n)), np.eye(n)
    if name == "factors":
        X = (X + rng.normal(size=(M, 1))) / 2**0.5
        R = 0.5 * R + 0.5
    if name == "banded":
        R = 0.9 ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
        X = X @ np.linalg.cholesky(R).T
    found = COVARIANCES[name](X / np.sqrt(np.mean(X**2, axis=0)))
    np.testing.assert_allclose(found, R, atol=0.04)
    few = COVARIANCES[name](X[:8] / np.sqrt(np.mean(X[:8] ** 2, axis=0)))
    assert np.linalg.eigvalsh(few)[0] > 1e-9  # fewer rows than columns


def test_decoys_have_the_moments_and_the_least_trace():
    rng = np.random.default_rng(3)
    R = 0.8 ** np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    s = _distances(R)
    assert np.linalg.eigvalsh(2 * R - np.diag(s))[0] > 0 and s.min() > 0
    root = np.linalg.norm(np.linalg.inv(2 * R - np.diag(s)), axis=0)
    np.testing.assert_allclose(s * root, 1, rtol=0.01)  # where the slope is 0
    X = rng.normal(size=(40_000, 8)) @ np.linalg.cholesky(R).T
    made = _normal_decoys(X, R, rng)()
    np.testing.assert_allclose(made.T @ made / len(X), R, atol=0.03)
    np.testing.assert_allclose(X.T @ made / len(X), R - np.diag(s), atol=0.03)


def fitted(seed=0, **asked):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 20))
    X[:, 7] = 3.0  # a constant column has no decoy
    y = 5 + X[:, :4] @ [2, -2, 2, 2] + rng.normal(size=80)
    how = dict(n_resamples=0, verbose=0) | asked
    return X, y, StabilitySelection(**how).fit(X, y)


@pytest.mark.parametrize("name", COVARIANCES)
def test_strong_features_lead_their_decoys(name):
    _, _, s = fitted()
    table = s.select_by_decoys(pfer=2, covariance=name, n_draws=5)
    assert (
        table.selected[["x0", "x1", "x2", "x3"]].all()
        and table.share.is_monotonic_decreasing
    )
    assert table.share["x7"] == 0 and len(table) == 20
    again = s.select_by_decoys(pfer=2, covariance=name, n_draws=5)
    other = s.select_by_decoys(pfer=2, covariance=name, n_draws=5, random_state=1)
    assert table.equals(again) and not table.equals(other)


def test_what_is_refused_is_named():
    X, y, s = fitted()
    for given, words in (
        (dict(pfer=0), "pfer must lie in"),
        (dict(n_draws=10), "n_draws must be odd, got 10"),
        (dict(n_draws=0), "n_draws"),
        (
            dict(covariance="toeplitz"),
            "'factors', 'banded' or 'shrunk', got 'toeplitz'",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            s.select_by_decoys(**given)
    rows = dict(groups=np.arange(80) // 2)
    grouped = StabilitySelection(n_resamples=0).fit(X, y, **rows)
    blocks = StabilitySelection(n_resamples=0, column_groups={"a": ["x0", "x1"]})
    always = StabilitySelection(n_resamples=0, penalty_factor={"x0": 0.0})
    for fit in (grouped, blocks.fit(X, y), always.fit(X, y)):
        with pytest.raises(ValueError, match="like noise only without groups"):
            fit.select_by_decoys()


def test_a_draw_without_an_answer_is_no_draw_that_keeps_nothing(monkeypatch):
    from rvamp_nb.select import decoys as room

    _, _, s = fitted()
    monkeypatch.setattr(room, "_lead_over_decoys", lambda *_: np.full(19, np.nan))
    with pytest.raises(ValueError, match="no penalty converged"):
        share_kept(s.question_, 1, "factors", 3, 0)


def test_among_many_rows_the_strong_features_are_still_told_from_decoys():
    """A tall table, where the rows would allow everything to be selected."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 24))
    y = X[:, :3].sum(1) + 3 * rng.normal(size=400)
    s = StabilitySelection(n_resamples=0, verbose=0).fit(X, y)
    kept = s.select_by_decoys(n_draws=5)
    assert kept.share[["x0", "x1", "x2"]].min() >= 0.8
