"""The light, and what turns it on: convergence, q, repeated rows; verdicts and their
error rates.
"""

import numpy as np
import pytest

from rvamp_nb import rvamp
from rvamp_nb.prior import Laplace
from rvamp_nb.resampling import Fixed, Subsample
from rvamp_nb.trust import judge, repeated_rows

# Repeated samples ---------------------------------------------------------------------


def one_hot(rng, M, factors, levels):
    """Independent rows of so many factors with so many levels each, coded by columns
    of zeros and ones.
    """
    return np.concatenate(
        [np.eye(levels)[rng.integers(levels, size=M)] for _ in range(factors)], axis=1
    )


def rare(rng, M, N, prevalence):
    """Zeros, with a one here and there."""
    return (rng.random((M, N)) < prevalence).astype(float)


def common_factor(rng, M, N):
    """Columns that share one factor, as genes do."""
    return rng.normal(size=(M, N)) + rng.normal(size=(M, 1)) * rng.normal(size=N)


def powers(rng, M):
    """Six numbers and all their products: 42 columns with the freedom of six."""
    six = rng.normal(size=(M, 6))
    products = [six * six[:, [k]] for k in range(6)]
    return np.concatenate([six, *products], axis=1)


INDEPENDENT = {
    "normal_100x5": lambda rng: rng.normal(size=(100, 5)),
    "normal_100x200": lambda rng: rng.normal(size=(100, 200)),
    "normal_12x500": lambda rng: rng.normal(size=(12, 500)),
    "heavy_tails": lambda rng: rng.standard_t(2, size=(100, 50)),
    "rows_of_different_size": lambda rng: (
        rng.normal(size=(100, 200)) / np.sqrt(rng.chisquare(3, size=(100, 1)))
    ),
    "one_hot_few": lambda rng: one_hot(rng, 200, 3, 4),
    "one_hot_many": lambda rng: one_hot(rng, 200, 40, 3),
    "rare_50": lambda rng: rare(rng, 200, 50, 0.02),
    "rare_500": lambda rng: rare(rng, 200, 500, 0.02),
    "rare_rows_of_different_size": lambda rng: rare(
        rng, 200, 200, 0.05 * rng.chisquare(1, size=(200, 1))
    ),
    "common_factor": lambda rng: common_factor(rng, 100, 300),
    "powers": lambda rng: powers(rng, 300),
}


@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent_rows_are_not_taken_for_repeated_ones(name):
    found = [
        repeated_rows(INDEPENDENT[name](np.random.default_rng(seed)))
        for seed in range(8)
    ]
    assert found == [[]] * 8  # level 0.01: at most one table in a hundred


def patients(rng, n, each, N, alike):
    """n patients with so many samples each: a part of the variance is the patient's."""
    own = np.repeat(rng.normal(size=(n, N)), each, axis=0)
    return np.sqrt(alike) * own + np.sqrt(1 - alike) * rng.normal(size=own.shape)


@pytest.mark.parametrize("N, alike", [(2000, 0.5), (2000, 0.9), (200, 0.8)])
def test_thirty_patients_with_eight_samples_are_found(N, alike):
    A = patients(np.random.default_rng(1), 30, 8, N, alike)
    groups = repeated_rows(A)
    assert [g.tolist() for g in groups] == np.arange(240).reshape(30, 8).tolist()


def test_pairs_of_samples_and_copies_of_genotypes_are_found():
    rng = np.random.default_rng(2)
    pairs = repeated_rows(patients(rng, 60, 2, 500, 0.8))
    assert [g.tolist() for g in pairs] == np.arange(120).reshape(60, 2).tolist()
    genes = rng.binomial(2, 0.3, size=(30, 300)).astype(float)
    assert len(repeated_rows(np.repeat(genes, 3, axis=0))) == 30
    table = rng.normal(size=(100, 30))
    assert repeated_rows(np.concatenate([table, table[:1]]))[0].tolist() == [0, 100]


def test_of_a_long_table_a_thousand_rows_are_compared():
    A = patients(np.random.default_rng(3), 750, 8, 60, 0.95)
    groups = repeated_rows(A)
    assert len(groups) > 100 and all(len(set(g // 8)) == 1 for g in groups)


def test_rows_that_say_nothing_are_no_groups():
    assert repeated_rows(np.zeros((10, 3))) == []
    assert repeated_rows(np.ones((2, 5))) == []
    assert repeated_rows(np.eye(6)) == []


# The light ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(150, 20)) / np.sqrt(150)
    y = 10 * A[:, 0] + rng.normal(size=150)
    return rvamp(A, y, prior=Laplace(1.0, Fixed()), counts=Subsample(0.5))


def light(fit, **signs):
    return judge(fit, np.arange(20), [f"x{i}" for i in range(20)], **signs)


def test_a_clean_fit_is_green(fit):
    trust = light(fit)
    assert trust.light == "green" and trust.reasons == () and trust.repeated == []


@pytest.mark.parametrize(
    "signs, word",
    [(dict(path_failed=True), "not converged"), (dict(q_reached=False), "smaller q")],
)
def test_a_path_that_failed_or_ended_early_is_red(fit, signs, word):
    trust = light(fit, **signs)
    assert trust.light == "red" and len(trust.reasons) == 1
    assert word in trust.reasons[0] and "smaller q" in trust.reasons[0]


def test_a_few_repeated_rows_are_amber_and_many_are_red(fit):
    pair, many = [np.array([3, 7])], [np.arange(8 * k, 8 * k + 8) for k in range(18)]
    assert light(fit, rows=pair).light == "amber"
    assert light(fit, rows=many).light == "red"
    trust = light(fit, rows=many)
    assert "independent rows" in trust.reasons[0] and "18 such groups" in str(trust)
    assert len(trust.repeated) == 18


def test_a_fit_without_an_answer_says_nothing_of_its_rows(fit):
    from dataclasses import replace

    broken = replace(fit, converged=False, last=None, status="diverged")
    trust = light(broken)
    assert trust.light == "red" and trust.largest_row == -1
    assert len(trust.reasons) == 1 and "diverged" in str(trust)
    assert "effective" not in str(trust)
