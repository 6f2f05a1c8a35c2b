"""Large tables: few columns find the penalty for all, and the answer is the same."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse

from rvamp_nb import StabilitySelection, rvamp
from rvamp_nb.algorithm import active
from rvamp_nb.algorithm.likelihood import Logistic, Squared
from rvamp_nb.algorithm.prior import ElasticNet, Laplace
from rvamp_nb.algorithm.resampling import Subsample, TwoPoint
from rvamp_nb.select import in_play as room
from rvamp_nb.select import penalty
from rvamp_nb.select.question import read_question
from rvamp_nb.tables import ChunkedTable

M, N, Q = 220, 200, 4


def dense(seed=1):
    """Columns with five common factors, two of them alike, one constant."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(M, 5)) @ rng.normal(size=(5, N)) + rng.normal(size=(M, N))
    X /= X.std(0)
    y = 0.4 * X[:, :: N // 20].sum(1) + rng.normal(size=M)
    X[:, 7], X[:, 8] = X[:, 6], 1.0
    return X, y


def zeros_and_ones(M=600, N=N, density=0.03, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((M, N), density=density, rng=rng, format="csr")
    X.data[:] = 1
    return X, 2 * X[:, :: N // 20].sum(1) + rng.normal(size=M)


def fitted(X, y, fit=None, **options):
    options = dict(n_resamples=0, verbose=0, q=Q) | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return StabilitySelection(**options).fit(X, y, **(fit or {}))


def asked(X, y, groups=None, **options):
    """The question without an answer."""
    names = np.array([f"x{i}" for i in range(X.shape[1])])
    roles = dict.fromkeys(("strata", "offset", "n_trials", "sample_weight"))
    options = StabilitySelection(verbose=0, **options).get_params(deep=False)
    return read_question(X, y, names, dict(roles, groups=groups), options)[0]


@pytest.fixture(scope="module")
def whole():
    return fitted(*dense())


@pytest.mark.parametrize("loss", [Squared(), Logistic()])
@pytest.mark.parametrize("chunked", [None, 0, 1])
def test_all_columns_receive_what_the_matrices_say(loss, chunked):
    """Against inverses of whole matrices, from the same messages."""
    X, y = dense()
    X = X / np.linalg.norm(X, axis=0)
    X[:, 9] = 0.0
    y += 3 * np.random.default_rng(0).normal(size=M)  # so that no column is always in
    y, intercept = (y, False) if isinstance(loss, Squared) else ((y > 0) * 1.0, True)
    lam, which = (0.4 if intercept else 4.0), np.arange(0, 40, 2)
    how = dict(prior=Laplace(lam), resampling=Subsample(0.5))
    fit = rvamp(X[:, which], y, loss=loss, intercept=intercept, tol=1e-8, **how)
    A = X if chunked is None else ChunkedTable(X, axis=chunked, chunk_size=9000)
    found = room.received_by_all(A, fit, which)

    last = fit.last
    x, sent = last.x, last.state.to_prior
    # of the prior: response times precision, of an intercept 1
    rho = np.minimum(x.chi * sent.Q_hat, 1 - 1e-7)
    D = x.chi / (1 - rho)
    T = (x.var - x.chi**2 * sent.chi_hat) / (1 - rho) ** 2
    P, rows = fit.problem.A, last.likelihood_message
    Sigma = np.linalg.inv(np.diag(rows.Q_hat) + (P * D) @ P.T)
    noise = Sigma @ (np.diag(rows.chi_hat) + (P * T) @ P.T) @ Sigma
    others = np.delete(np.arange(N), [*which, 9])
    O = X[:, others]
    wanted = (O * (Sigma @ O)).sum(0), O.T @ last.coupled.u.mean
    for ours, theirs in zip(found, (*wanted, (O * (noise @ O)).sum(0))):
        scale = np.abs(theirs).max()
        rtol = 1e-4 if intercept else 1e-7  # 1e-7 is not 0
        np.testing.assert_allclose(ours[others], theirs, rtol=rtol, atol=1e-9 * scale)
    assert (found.Q_hat[9], found.h[9], found.chi_hat[9]) == (1.0, 0.0, 0.0)
    for ours, theirs in zip(found, last.new.to_prior):  # their own, and an intercept's
        own = np.append(which, [N] * intercept).astype(int)
        np.testing.assert_array_equal(ours[own], theirs)


CASES = {
    "factors": {},
    "two classes": dict(classes=True),
    "a law of multipliers": dict(
        prior=Laplace(1.0, TwoPoint(2, 0.5)), resampling="poisson"
    ),
    "covariates": dict(
        penalty_factor={"x0": 0, "x20": 0}, prior=ElasticNet(1.0, l1_ratio=0.8)
    ),
    "robust": dict(loss="huber"),
    "sparse": dict(sparse=True),
    "sparse, two classes": dict(sparse=True, classes=True),
}


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_that_of_all_columns_from_the_start(name, monkeypatch):
    options = dict(CASES[name])
    X, y = zeros_and_ones() if options.pop("sparse", False) else dense()
    y = y > np.median(y) if options.pop("classes", False) else y
    whole = fitted(X, y, **options)
    monkeypatch.setattr(penalty, "FEW_FROM", 100)
    few = fitted(X, y, **options)
    assert few.status_ == whole.status_ == "converged"
    assert few.n_iter_ <= whole.n_iter_ / 2
    for one in few, whole:
        assert 0.995 * Q <= one.question_.size(one.fit_.Pi) <= Q
    gap = np.abs(few.probabilities_ - whole.probabilities_)
    # the two penalties lie in the same narrow band, not at the same place of it
    assert gap.max() < 0.01
    refit = few.question_.solve(few.lambda_, tol=1e-8)  # from the empty model
    np.testing.assert_allclose(few.fit_.Pi, refit.Pi, atol=2e-4)


def independent(seed=1):
    """Draw columns of which half a side would not be enough."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(M, N))
    return X, 0.4 * X[:, :: N // 20].sum(1) + rng.normal(size=M)


def noted(monkeypatch, name):
    """Note what a function of `penalty` was given and returned, from now on."""
    calls, known = [], getattr(penalty, name)

    def call(*args):
        calls.append((args, known(*args)))
        return calls[-1][1]

    monkeypatch.setattr(penalty, name, call)
    return calls


def test_what_does_not_settle_goes_on_from_where_few_columns_led(whole, monkeypatch):
    X, y = dense()
    monkeypatch.setattr(penalty, "FEW_FROM", 100)
    monkeypatch.setattr(room, "ROUNDS", 1)
    again = fitted(X, y)
    assert again.n_iter_ < whole.n_iter_
    np.testing.assert_allclose(again.lambda_, whole.lambda_, rtol=1e-3)
    np.testing.assert_allclose(again.fit_.Pi, whole.fit_.Pi, atol=2e-3)


def test_a_fit_of_few_that_fails_begins_anew_with_all_columns(whole, monkeypatch):
    X, y = dense()
    monkeypatch.setattr(penalty, "FEW_FROM", 100)
    monkeypatch.setattr(penalty, "WILD", 2)  # no rough step settles so soon
    find = penalty.tracking_search

    def fails_on_few(question, *args, **how):
        return find(question, *args, **how) if question.A.shape[1] > 100 else None

    monkeypatch.setattr(penalty, "tracking_search", fails_on_few)
    again = fitted(X, y)
    assert again.lambda_ == whole.lambda_


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_where_few_columns_are_not_enough_a_rough_step_begins(loss, monkeypatch):
    X, y = independent()
    y = y > 0 if loss == "logistic" else y
    before = fitted(X, y, loss=loss)
    rounds = noted(monkeypatch, "in_play")
    begun = noted(monkeypatch, "run_cheaply")
    monkeypatch.setattr(penalty, "FEW_FROM", 100)
    monkeypatch.setattr(room, "FEW_ENOUGH", 0.05)
    after = fitted(X, y, loss=loss)
    ((_, state),) = begun
    assert not rounds and state is not None
    assert after.status_ == "converged" and after.n_iter_ < before.n_iter_
    np.testing.assert_allclose(after.lambda_, before.lambda_, rtol=3e-3)
    np.testing.assert_allclose(after.fit_.Pi, before.fit_.Pi, atol=3e-3)


def test_a_file_begins_with_a_rough_step_and_goes_on_in_32_bits(monkeypatch):
    """The answer is that of the array, with as many full steps."""
    X, y = independent()
    X = np.round(9 * X.T).astype(np.int8)  # more columns than rows: a wide form
    y = X[:, :: M // 20].sum(1) / 9 + np.random.default_rng(2).normal(size=N)
    table = ChunkedTable(X, chunk_size=10_000)
    before = fitted(table, y)
    begun = noted(monkeypatch, "run_cheaply")
    halved = noted(monkeypatch, "in_32_bits")
    monkeypatch.setattr(penalty, "FEW_FROM", 100)
    monkeypatch.setattr(active, "IN_32_BITS_FROM", 0)
    after = fitted(table, y)
    (((_, step, _), state),) = begun
    assert state is not None and step.table.dtype == np.float32
    assert {problem.A.dtype for _, problem in halved} == {np.dtype(np.float32)}
    assert after.n_iter_ < before.n_iter_
    np.testing.assert_allclose(after.lambda_, before.lambda_, rtol=3e-3)
    np.testing.assert_allclose(after.fit_.Pi, before.fit_.Pi, atol=3e-3)
    assert isinstance(after.fit_.problem.A, ChunkedTable)


def test_a_start_that_runs_away_is_noticed(monkeypatch):
    """Strong common factors: after a dozen steps it is left, and few columns find the
    answer that they find without it.
    """
    rng = np.random.default_rng(5)
    X = rng.normal(size=(M, N)) + 3 * rng.normal(size=(M, 3)) @ rng.normal(size=(3, N))
    y = X[:, :: N // 20].sum(1) + 3 * rng.normal(size=M)
    monkeypatch.setattr(penalty, "FEW_FROM", 100)
    taken, run = [], penalty.run_cheaply

    def counted(problem, take, patience):
        def step(*args):
            taken.append(args)
            return take(*args)

        return run(problem, step, patience)

    monkeypatch.setattr(penalty, "run_cheaply", counted)
    noticed = fitted(X, y)
    assert 0 < len(taken) <= 2 * penalty.WILD
    monkeypatch.setattr(penalty, "run_cheaply", lambda *how: None)
    without = fitted(X, y)
    assert noticed.lambda_ == without.lambda_ and noticed.status_ == "converged"
    np.testing.assert_array_equal(noticed.fit_.Pi, without.fit_.Pi)


def test_where_all_columns_are_taken_from_the_start():
    X, y = dense()
    plain = asked(X, y)
    assert room.has_few_in_play(plain, Q) and not room.has_few_in_play(plain, 11)
    groups = asked(X, y, groups=np.arange(M) // 2)
    together = asked(X, y, column_groups=np.arange(N) // 2)
    on_file = asked(ChunkedTable(X), y)
    several = asked(X, np.digitize(y, [-1, 1]), loss="softmax")
    for question in groups, together, on_file, several:
        assert not room.has_few_in_play(question, Q)


def test_a_sparse_table_never_becomes_an_array():
    """All that the rounds hold is smaller than the table would be."""
    X, y = zeros_and_ones(1500, 3000, 0.01)
    question = asked(ChunkedTable(X, chunk_size=2**15), y)
    lam, empty = (penalty.guess_penalty(question, 1.5), penalty.empty_model(question))
    tracemalloc.start()
    found = room.in_play(question, 1.5, lam, empty, penalty.tracking_search)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found is not None and held < 8 * X.shape[0] * X.shape[1] / 4


def test_few_columns_of_a_sparse_table_are_a_sparse_table():
    (X, y), which = zeros_and_ones(), np.arange(3, 90, 2)
    question = asked(ChunkedTable(X), y)
    few = room._question_of(question, which).A
    assert sparse.issparse(few.source)
    np.testing.assert_array_equal(few[:, :], question.A[:, which])


def test_rounds_grow_to_half_of_a_side_before_they_give_up(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 600))
    X += rng.normal(size=(400, 5)) @ rng.normal(size=(5, 600))
    X /= X.std(0)
    y = 0.3 * X[:, ::30].sum(1) + rng.normal(size=400)
    monkeypatch.setattr(penalty, "FEW_FROM", 100)
    sizes, received = [], room.received_by_all

    def counted(A, fit, which):
        sizes.append(len(which))
        return received(A, fit, which)

    monkeypatch.setattr(room, "received_by_all", counted)
    found = fitted(X, y, q=13.0)
    assert sizes == [130, 130, 200, 200]  # and not 260
    assert found.n_iter_ <= 5


@pytest.mark.parametrize("rows", ["classes", "groups"])
def test_rows_in_groups_may_begin_with_rows_alike(rows, monkeypatch):
    """Their messages are blocks, which rows alike do not have."""
    X, y = independent()
    X = X[:, :20]
    options = dict(q=4)
    if rows == "classes":
        y = np.digitize(y, [-1, 0, 1])
        options["loss"] = "softmax"
    else:
        options["fit"] = dict(groups=np.arange(M) // 2)
    before = fitted(X, y, **options)
    monkeypatch.setattr(penalty, "ALIKE_FROM", 0)
    after = fitted(X, y, **options)
    assert after.status_ == "converged"
    np.testing.assert_allclose(after.lambda_, before.lambda_, rtol=5e-3)
