"""Models without an intercept, against scikit-learn's and against mirror images."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from predictor import predictor
from scipy.sparse import csr_array
from sklearn.linear_model import Lasso, LogisticRegression

from rvamp_nb import ElasticNet, Huber, StabilitySelection
from rvamp_nb.tables import ChunkedTable

RNG = np.random.default_rng(83)
M = 100
X = 1.5 + RNG.normal(size=(M, 12))
NUMBERS = X[:, :3] @ [0.6, -0.5, 0.25] + RNG.normal(size=M)
CLASSES = 1 * (NUMBERS + RNG.normal(size=M) > 0)
LENGTHS = np.sqrt(np.mean(X**2, axis=0))


def selector(**options):
    return StabilitySelection(verbose=0, **{"intercept": False, **options})


def lasso(scales):
    return Lasso(alpha=scales["scikit-learn alpha"], fit_intercept=False)


def logistic(scales):
    how = dict(solver="saga", l1_ratio=1, tol=1e-5, max_iter=5000, random_state=0)
    return LogisticRegression(C=scales["scikit-learn C"], fit_intercept=False, **how)


@pytest.mark.parametrize("y, model", [(NUMBERS, lasso), (CLASSES, logistic)])
def test_halves_are_those_of_scikit_learn(y, model):
    s = selector().fit(X, y)
    model = model(s.lambda_scales_)
    rng = np.random.default_rng(1)
    draws = []
    for _ in range(300):
        half = rng.permutation(M)[: M // 2]
        draws.append(np.ravel(model.fit(X[half] / LENGTHS, y[half]).coef_))
    draws = np.array(draws)
    share = np.mean(np.abs(draws) > 1e-8, axis=0)
    error = np.hypot(np.sqrt(share * (1 - share) / 300), s.refined_.Pi_se) + 0.002
    assert np.all(np.abs(s.probabilities_ - share) < 4 * error)
    assert s.intercept_ == 0 and not s.center_.any()
    assert_allclose(s.scale_, LENGTHS * M**0.5)
    # the list, where the draws are not undecided about it
    decided = np.abs(share - s.threshold_) > 4 * error
    assert_allclose(s.support_[decided], (share >= s.threshold_)[decided])
    middle = draws.mean(0) / LENGTHS
    assert np.abs(s.coef_mean_ - middle).max() < 4 * draws.std(0).max() / 300**0.5


ROLES = {
    "numbers": (NUMBERS, {}, {}),
    "classes": (CLASSES, {}, {}),
    "huber": (NUMBERS, dict(loss=Huber(1.0)), {}),
    "elastic net": (NUMBERS, dict(prior=ElasticNet(1.0, l1_ratio=0.5)), {}),
    "groups": (NUMBERS, dict(column_groups={"a": [0, 3], "b": [1, 4, 6]}), {}),
    "kept": (CLASSES, dict(penalty_factor={"x3": 0}), {}),
    "weights": (NUMBERS, {}, dict(sample_weight=np.arange(M) % 3)),
    "offset": (CLASSES, {}, dict(offset=0.5 + 0.1 * (np.arange(M) % 7))),
}


@pytest.mark.parametrize("name", ROLES)
def test_rows_with_their_mirror_images_have_no_intercept(name):
    y, options, roles = ROLES[name]
    own = selector(n_resamples=0, tol=1e-6, **options).fit(X, y, **roles)
    turned = 1 - y if y is CLASSES else -y
    signs = {"offset": -1}
    roles = {k: np.r_[v, signs.get(k, 1) * v] for k, v in roles.items()}
    both = selector(n_resamples=0, tol=1e-6, intercept=True, **options)
    rows = np.tile(np.arange(M), 2)
    both.fit(np.r_[X, -X], np.r_[y, turned], groups=rows, **roles)
    assert_allclose(own.probabilities_, both.probabilities_, atol=3e-3)
    assert_allclose(own.coef_mean_, both.coef_mean_, atol=3e-3)
    assert own.intercept_ == 0


@pytest.mark.parametrize("weight", [None, np.arange(M) % 3])
@pytest.mark.filterwarnings("ignore:(constant )?columns")  # x0 of zeros, x8 twice
def test_chunks_give_the_same(weight):
    W = np.random.default_rng(2).poisson(0.4, size=(M, 30)) * 1.0
    W[:, 0] = 0
    W[:, 9] = W[:, 8]
    W[:, 11] = 1  # which no intercept explains
    options = dict(n_resamples=0, penalty_factor={"x3": 0})
    y = NUMBERS + W[:, 11]
    dense = selector(**options).fit(W, y, sample_weight=weight)
    assert dense.probabilities_[11] > 0 and dense.probabilities_[0] == 0
    for table in (csr_array(W), ChunkedTable(W, chunk_size=7)):
        s = selector(**options).fit(table, y, sample_weight=weight)
        assert_allclose(s.probabilities_, dense.probabilities_, atol=1e-6)
        assert_allclose(
            predictor(s).predict(table), predictor(dense).predict(W), atol=1e-6
        )


def test_predictions_are_without_a_level():
    s = selector(n_resamples=50).fit(X, NUMBERS)
    mean, std = predictor(s).predict(np.r_[X[:3], np.zeros((1, 12))], return_std=True)
    assert_allclose(mean, np.r_[X[:3] @ s.coef_mean_, 0])
    assert std[3] == 0 and np.all(std[:3] > 0)
    # glmnet divides columns by their standard deviations, whatever its intercept is
    assert "glmnet lambda" not in s.lambda_scales_


TIMES = np.column_stack([np.exp(NUMBERS), CLASSES])


@pytest.mark.parametrize(
    "y, options, problem",
    [
        (TIMES, dict(loss="survival"), "Cox's model has no intercept"),
        (np.arange(M) % 3, dict(loss="softmax"), "one class against the rest"),
        (NUMBERS, dict(lambdas=("glmnet", 0.1)), "one of rvamp_nb, scikit-learn"),
    ],
)
def test_what_has_no_such_model_is_refused(y, options, problem):
    with pytest.raises(ValueError, match=problem):
        selector(**options).fit(X, y)


def test_no_truth_value_and_no_effects():
    with pytest.raises(TypeError, match="intercept must be True or False, got 'no'"):
        selector(intercept="no").fit(X, NUMBERS)
    s = selector(n_resamples=0).fit(X, NUMBERS)
    with pytest.raises(ValueError, match="no effects are known with intercept=False"):
        s.debiased_effects()
    with pytest.raises(ValueError, match="with an intercept"):
        s.q_values()
    separating = np.column_stack([X, CLASSES - 0.5])
    with pytest.raises(ValueError, match="x12 is never penalised and separates y"):
        selector(penalty_factor={"x12": 0}).fit(separating, CLASSES)
