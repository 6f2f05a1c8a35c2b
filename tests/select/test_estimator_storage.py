"""Tables that are read one block at a time give StabilitySelection the answer of the
table in memory; what cannot work from blocks is refused by name.
"""

import gc
import tracemalloc
import weakref
from functools import cache

import numpy as np
import pandas as pd
import pytest
from predictor import predictor
from scipy import sparse

from rvamp_nb import StabilitySelection
from rvamp_nb.algorithm.prior import ElasticNet, Laplace, NonNegative
from rvamp_nb.algorithm.resampling import Discrete, TwoPoint, Weakness
from rvamp_nb.exceptions import ChunkError
from rvamp_nb.inference import refits
from rvamp_nb.inference.refinement import resamples
from rvamp_nb.select import features, report
from rvamp_nb.select.features import merge_duplicates, near_copies, read_X
from rvamp_nb.tables import dispatch
from rvamp_nb.tables.chunked import ChunkedTable
from rvamp_nb.tables.standardize import weighted_unit_columns

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

rng = np.random.default_rng(0)
X = rng.integers(0, 3, size=(60, 150)).astype(np.int8)
X[:, 7] = 1  # constant
X[:, 9], X[:, 11] = X[:, 3], 2 - X[:, 4]  # near copies
Y = X[:, 0] + 0.5 * X[:, 3] + rng.normal(size=60)
TALL = sparse.random_array((120, 60), density=0.2, rng=rng, format="csr")
OF_TALL = 5 * TALL[:, [0]].toarray()[:, 0] + rng.normal(size=120)
WEIGHTS = rng.uniform(0.2, 2, size=60)
SOME = np.where(np.arange(60) < 5, 0, WEIGHTS)  # five rows weigh nothing
FACTORS = np.where(np.isin(np.arange(150), [0, 3, 9]), 0.0, 1.0)
FACTORS[9] = 1.0  # a copy of a covariate: explained
EVENTS = np.c_[np.arange(60) % 3 > 0, rng.exponential(size=60) / np.exp(X[:, 0])]

NUMBERS = (
    "probabilities_ coef_mean_ coef_std_ coef_interval_ lambda_ pfer_bound_ lambdas_"
    " selection_probabilities_ expected_selected_ center_"
    " scale_ intercept_"
).split()


def as_chunked(table):
    lines = 5 if sparse.issparse(table) else 40  # of a sparse one eight times as many
    return ChunkedTable(table, chunk_size=lines * min(table.shape))


def both(table, y, said=(), **options):
    """Fits of a table in memory and of the same in blocks, along two penalties."""
    said = dict(said)
    options = (
        dict(verbose=0, tol=1e-9, lambdas=[1.4, 0.9], q=6, n_resamples=0) | options
    )
    dense = table.toarray() if sparse.issparse(table) else table.astype(float)
    one = StabilitySelection(**options).fit(dense, y, **said)
    return one, StabilitySelection(**options).fit(as_chunked(table), y, **said)


def assert_same(one, two):
    for name in NUMBERS:
        a, b = np.asarray(getattr(one, name)), np.asarray(getattr(two, name))
        size = np.nanmax(np.abs(a), initial=1e-300)
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-8 * size, err_msg=name)
    assert (one.support_ == two.support_).all()
    assert str(one.diagnostics_) == str(two.diagnostics_)
    told, seen = one.summary(full=True), two.summary(full=True)
    for column in ("selected", "status", "duplicates", "shares_signal_with"):
        assert (told[column] == seen[column]).all(), column


def test_few_columns_settle_while_the_penalty_goes_along():
    """Of a wide table in chunks: fewer steps, two passes each."""
    rng = np.random.default_rng(0)
    table = rng.integers(0, 3, size=(60, 8000)).astype(np.int8)
    y = table[:, 0] + 0.5 * table[:, 3] + rng.normal(size=60)
    options = dict(n_resamples=0, verbose=0, tol=1e-6)
    one = StabilitySelection(**options).fit(table, y)
    two = StabilitySelection(**options).fit(ChunkedTable(table, chunk_size=200_000), y)
    assert two.lambda_ == pytest.approx(one.lambda_, rel=1e-3)
    np.testing.assert_allclose(two.probabilities_, one.probabilities_, atol=1e-3)
    assert two.n_iter_ <= 0.6 * one.n_iter_  # 20 of 28 where it keeps still
    assert two.question_.A.passes <= 2 * two.n_iter_ + 9


# what: (table, target, what is said of the rows, options)
PROBLEMS = {
    "wide": (X, Y, {}, {}),
    "tall and sparse": (TALL, OF_TALL, {}, {}),
    "logistic": (X, Y > 1, {}, dict(lambdas=[0.5, 0.4])),
    "Poisson, an offset": (
        X,
        rng.poisson(1 + X[:, 0]),
        dict(offset=WEIGHTS),
        dict(loss="poisson", lambdas=[2.0, 1.5]),
    ),
    "covariates": (X, Y, {}, dict(penalty_factor=FACTORS)),
    "covariates, a sparse table and two classes": (
        sparse.csr_array(X),
        Y > 1,
        dict(sample_weight=SOME),
        dict(lambdas=[0.5], q=None, penalty_factor=FACTORS),
    ),
    "sparse, weights": (sparse.csr_array(X), Y, dict(sample_weight=SOME), {}),
    "rows without weight, elastic net": (
        X,
        Y,
        dict(sample_weight=SOME),
        dict(prior=ElasticNet(1.0, l1_ratio=0.5), penalty_factor=FACTORS),
    ),
    "tall, weights": (TALL, OF_TALL, dict(sample_weight=np.arange(1, 121)), {}),
    "huber, strata": (X, Y, dict(strata=np.arange(60) % 3), dict(loss="huber")),
    "survival": (X[:, :60], EVENTS, {}, dict(loss="survival", lambdas=[0.9], q=None)),
}


@pytest.mark.parametrize("what", PROBLEMS)
def test_the_answer_is_that_of_the_table_in_memory(what):
    table, y, said, options = PROBLEMS[what]
    one, two = both(table, y, said, **options)
    assert isinstance(two.question_.A, ChunkedTable) and len(two.question_.A.slices) > 1
    assert_same(one, two)


def mapped(table, folder):
    np.save(folder / "table.npy", table)
    return np.load(folder / "table.npy", mmap_mode="r")


def of_dask(table, folder):
    return pytest.importorskip("dask.array").from_array(table, chunks=(30, 50))


def frame_of_dask(table, folder):
    frames = pytest.importorskip("dask.dataframe")
    return frames.from_pandas(named(table), npartitions=3)


def named(table):
    return pd.DataFrame(table, columns=[f"gene {i}" for i in range(table.shape[1])])


KINDS = {
    "int8": lambda table, folder: table,
    "float32": lambda table, folder: table.astype(np.float32),
    "memmap": mapped,
    "csr": lambda table, folder: sparse.csr_matrix(table),
    "coo": lambda table, folder: sparse.coo_array(table),
    "sparse frame": lambda table, folder: named(table).astype("Sparse[int8]"),
    "dask array": of_dask,
    "dask frame": frame_of_dask,
}


@cache
def in_memory():
    options = dict(verbose=0, tol=1e-10, lambdas=[1.4], n_resamples=0)
    return StabilitySelection(**options).fit(X.astype(float), Y)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table(kind, tmp_path, monkeypatch):
    """Larger than a block, which is small here, so that all is read in blocks."""
    table = KINDS[kind](X, tmp_path)
    assert not isinstance(read_X(table)[0], ChunkedTable)  # it fits in one block
    for room in (dispatch, features):
        monkeypatch.setattr(room, "CHUNK_NUMBERS", 4000)
    one, options = in_memory(), dict(verbose=0, tol=1e-10, lambdas=[1.4], n_resamples=0)
    two = StabilitySelection(**options).fit(table, Y)
    assert isinstance(two.question_.A, ChunkedTable)
    for name in NUMBERS:
        a, b = np.asarray(getattr(one, name)), np.asarray(getattr(two, name))
        size = np.nanmax(np.abs(a), initial=1e-300)
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-8 * size, err_msg=name)
    if "frame" in kind:
        assert list(two.feature_names_in_) == list(named(X).columns)
        assert two.summary().index[0].startswith("gene")
    mean, std = predictor(two).linear_predictor(table, return_std=True)
    expected = predictor(one).linear_predictor(X.astype(float), return_std=True)
    np.testing.assert_allclose([mean, std], expected, rtol=1e-8)
    few = two.transform(table)
    few = few.compute() if hasattr(few, "compute") else few
    few = few.toarray() if sparse.issparse(few) else np.asarray(few)
    np.testing.assert_array_equal(few, X[:, two.support_])


def test_the_spread_of_many_predictions_reads_the_table_twice():
    _, two = both(X, Y)
    many = np.random.default_rng(3).normal(size=(1000, X.shape[1]))
    two.question_.A.passes = 0
    predictor(two).linear_predictor(many, return_std=True)
    assert two.question_.A.passes == 2


def test_refits_from_blocks_are_the_refits():
    one, two = both(X, Y, n_resamples=20)
    two.question_.A.passes = 0
    few, _ = refits.refitter(two.fit_)(*resamples(two.fit_, range(20), 0))
    assert two.question_.A.passes <= 3
    draws = [s.refined_.draws for s in (one, two)]
    np.testing.assert_allclose(*draws, atol=1e-8)
    of_table = two.question_.columns.on_table(few)
    np.testing.assert_allclose(of_table.toarray(), draws[1], atol=1e-8)


def test_refits_from_blocks_are_combined_as_those_in_memory():
    one, two = both(X, Y, n_resamples=60)
    in_memory, from_blocks = one.refined_, two.refined_
    assert from_blocks.refit_efficiency == pytest.approx(
        in_memory.refit_efficiency, rel=0.1
    )
    assert from_blocks.refit_efficiency > 1.3 and from_blocks.equivalent_refits > 60
    for name in ("Pi", "mean", "var"):
        a, b = (getattr(r, name) for r in (in_memory, from_blocks))
        errors = [getattr(r, f"{name}_se") for r in (in_memory, from_blocks)]
        assert np.isfinite([a, b, *errors]).all(), name
        assert (np.abs(a - b) <= 3 * np.hypot(*errors) + 1e-12).all(), name
    again = two.refine(None, 60, verbose=False)
    np.testing.assert_array_equal(again.Pi, two.probabilities_)
    np.testing.assert_array_equal(again.mean, two.coef_mean_)
    np.testing.assert_allclose(np.sqrt(again.var), two.coef_std_, rtol=1e-12)
    assert (two.support_ == (again.Pi >= two.threshold_)).all()


@pytest.mark.parametrize("y", [Y, Y > 1])
def test_refits_of_an_answer_in_which_nothing_is_selected(y):
    for s in both(X, y, lambdas=[1e3], q=None, n_resamples=20):
        assert s.refined_.n_resamples == 20 and not s.refined_.draws.any()
        assert not s.probabilities_.any() and not s.support_.any()
        for name in ("Pi_se", "mean", "mean_se", "var", "var_se"):
            assert np.isfinite(getattr(s.refined_, name)).all(), name


@pytest.mark.parametrize(
    "y, options",
    [
        (Y, dict(prior=Laplace(1.0, TwoPoint(2, 0.5)), penalty_factor=FACTORS)),
        (Y, dict(prior=Laplace(1.0, Weakness(0.5)))),
        (Y, dict(prior=Laplace(1.0, Discrete([0.4, 1.5], [0.5, 0.5])))),
        (Y, dict(prior=NonNegative(1.0))),
        (Y > 1, dict(prior=ElasticNet(1.0, l1_ratio=0.7))),
    ],
)
def test_a_column_that_the_refits_miss_is_found(y, options, monkeypatch):
    """From a hint that holds next to nothing: every coefficient of every refit."""
    one, two = both(X, y, lambdas=[1.4], q=None, tol=1e-3, **options)
    fits = [s.question_.solve(0.7) for s in (one, two)]
    draw = resamples(fits[0], range(8), 1)
    whole, intercept = refits.refitter(fits[0])(*draw)
    hint = fits[0].prior.penalty_factor == 0
    bar = np.sort(fits[0].Pi[~hint])[-2]
    hint = hint | (fits[0].Pi > bar)
    monkeypatch.setattr(refits, "NEGLIGIBLE", bar)
    few = [refits.refitter(fit)(*draw) for fit in fits]
    assert (whole != 0).any(0).sum() > 3 * hint.sum() and (whole != 0).sum() > 20
    for x, own in few:
        np.testing.assert_allclose(sparse.csr_array(x).toarray(), whole, atol=1e-8)
        np.testing.assert_allclose(own, intercept, atol=1e-8)


def refused(call, *words):
    with pytest.raises((TypeError, ValueError)) as refusal:
        call()
    for word in words:
        assert word in str(refusal.value)


def fit(table, y=Y, said=(), **options):
    return lambda: StabilitySelection(verbose=0, **options).fit(table, y, **dict(said))


def altered(value):
    table = X.astype(float)
    table[3, 8] = value
    return table


REFUSED = {
    "NaN": (fit(as_chunked(altered(np.nan))), "'x8' misses 1 of 60"),
    "infinity": (fit(as_chunked(altered(np.inf))), "infinity", "'x8'"),
    "NaN, of a tall table": (
        fit(ChunkedTable(altered(np.nan).T, chunk_size=600), np.arange(150)),
        "NaN",
        "'x3'",
    ),
    "no target": (fit(as_chunked(X), None), "y"),
    "short target": (fit(as_chunked(X), Y[:-1]), "inconsistent"),
    "target with NaN": (fit(as_chunked(X), Y + [np.nan] * 60), "NaN"),
    "three rows": (fit(ChunkedTable(X[:3], chunk_size=90), Y[:3]), "minimum of 4"),
    "constants": (fit(as_chunked(0 * X + 1)), "every column of X is constant"),
    "centred": (fit(as_chunked(X).with_options(center=np.ones(150))), "centred"),
    "ones": (fit(as_chunked(X).with_options(intercept=True)), "column of ones"),
    "groups": (fit(as_chunked(X), said=dict(groups=np.arange(60) // 2)), "groups"),
    "refits of survival": (
        fit(as_chunked(X), EVENTS, loss="survival", n_resamples=10),
        "survival times need the table in memory",
    ),
}


def test_a_prior_without_a_refit_of_its_own_is_refitted_from_blocks_as_in_memory():
    asked = dict(y=Y > 1, prior=NonNegative(1.0), n_resamples=40)
    there, here = fit(as_chunked(X), **asked)(), fit(X, **asked)()
    np.testing.assert_allclose(there.probabilities_, here.probabilities_, atol=1e-7)
    assert there.refined_.n_resamples == here.refined_.n_resamples == 40


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_work_from_blocks_says_so(what):
    call, *words = REFUSED[what]
    refused(call, *words)


def test_what_is_refused_after_the_fit(monkeypatch):
    s = StabilitySelection(n_resamples=0, verbose=0, lambdas=[1.4]).fit(
        as_chunked(X), Y
    )
    refused(lambda: predictor(s).predict(as_chunked(X[:, :100])), "100 features", "150")
    refused(lambda: predictor(s).predict(as_chunked(altered(np.nan))), "NaN", "'x8'")
    refused(lambda: s.transform(as_chunked(X[:, :100])), "100 features")
    monkeypatch.setattr(refits, "MOST_HELD", 60 * 130)
    refused(lambda: s.refine(None, 600), "in memory", "60 refits", "as an array")
    assert s.refine(None, 30, verbose=False).n_resamples == 30


def test_a_frame_of_dask_with_words_names_the_column():
    frames = pytest.importorskip("dask.dataframe")
    frame = named(X).assign(sex=["f", "m"] * 30)
    refused(fit(frames.from_pandas(frame, npartitions=2)), "'sex'", "no numbers")
    dated = named(X).assign(seen=pd.date_range("2020", periods=60))
    refused(fit(frames.from_pandas(dated, npartitions=2)), "'seen'", "dates or times")
    mixed = named(X).assign(flag=[True, False] * 30)
    s = fit(frames.from_pandas(mixed, npartitions=2))()
    assert s.n_features_in_ == 151


@pytest.mark.parametrize("size", ["small", "large"])
def test_a_chunk_that_cannot_be_read_is_named(size, monkeypatch):
    da = pytest.importorskip("dask.array")
    if size == "large":
        monkeypatch.setattr(features, "CHUNK_NUMBERS", 10)

    def broken(block):
        raise RuntimeError("worker died")

    table = da.zeros((60, 5), chunks=(20, 5)).map_blocks(broken, dtype=float)
    with pytest.raises(
        ChunkError, match="rows 0 to 19 of A could not be read: Runtime"
    ):
        StabilitySelection(verbose=0).fit(table, np.arange(60.0))


def test_near_copies_from_blocks_take_one_pass():
    A, _, _, _ = weighted_unit_columns(X.astype(float), None)
    B = weighted_unit_columns(as_chunked(X), None)[0]
    B.passes = 0
    np.testing.assert_array_equal(near_copies(B), near_copies(A))
    assert B.passes == 1
    assert near_copies(A)[[9, 11]].tolist() == [3, 4]


def test_near_copies_of_many_copies_in_small_batches(monkeypatch):
    """Batches that are smaller than a group of copies change nothing."""
    A = rng.normal(size=(20, 30))
    A = A[:, rng.integers(30, size=300)] * rng.choice([-1, 1], 300)
    A /= np.linalg.norm(A, axis=0)
    A[:, :40] = 0
    stands = near_copies(A)
    assert len(set(stands[40:])) == 30 and (stands[:40] == np.arange(40)).all()
    monkeypatch.setattr(features, "CHUNK_NUMBERS", 20 * 7)
    np.testing.assert_array_equal(near_copies(A), stands)
    first, where, weight, _ = merge_duplicates(
        A, np.ones(300), Laplace(1.0), np.full(300, -1)
    )
    np.testing.assert_allclose(A, A[:, first[where]] * np.sign(weight))


def test_one_table_has_one_fingerprint():
    """However it is cut."""
    other = X.copy()
    other[0, 1] += 1
    tables = as_chunked(X), ChunkedTable(X, chunk_size=1000), as_chunked(other)
    options = dict(verbose=0, lambdas=[2.0], tol=1e-2, n_resamples=0)
    fits = [StabilitySelection(**options).fit(table, Y) for table in tables]
    first, again, another = (report.fingerprint(each.question_) for each in fits)
    assert first == again != another


def peak_of_a_fit(M, N, folder):
    numbers = np.random.default_rng(1).integers(0, 3, size=(M, N), dtype=np.int8)
    y = numbers[:, :3].sum(1) + np.random.default_rng(2).normal(size=M)
    table = ChunkedTable(mapped(numbers, folder), chunk_size=40_000)
    tracemalloc.start()
    StabilitySelection(n_resamples=0, verbose=0, lambdas=[4.0], tol=1e-2).fit(table, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 8


def test_nothing_of_the_size_of_the_table_is_held(tmp_path):
    """Numbers at the peak: so many a column, whatever the number of rows, and matrices
    of rows by rows.
    """
    N = 3000
    low, high = (peak_of_a_fit(M, N, tmp_path) for M in (20, 60))
    assert low < 250 * N
    assert high - low < 20 * 60**2 + 0.2 * (60 - 20) * N  # of 40 N for a whole copy


def test_a_path_lets_go_of_what_it_does_not_keep():
    model, seen = in_memory().question_, []
    path = model.path(
        [1.4, 1.2], until=lambda fit: seen.append(weakref.ref(fit.last.coupled.x.mean))
    )
    gc.collect()
    assert [fit() for fit in seen] == [None, None]
    for k, lam in enumerate(path.lambdas):
        np.testing.assert_allclose(path.Pi[:, k], model.solve(lam).Pi, atol=1e-8)
        assert model.solve(lam, path.states[k]).n_iter < 4
