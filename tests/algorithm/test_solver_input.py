"""What the solver is given: every kind of table that means the same gives the same,
and what cannot work is refused by name.
"""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rvamp_nb.algorithm.densities import p1, p2
from rvamp_nb.algorithm.energy import free_energy, stability_radius
from rvamp_nb.algorithm.evolution import ConstantSignal, state_evolution
from rvamp_nb.algorithm.likelihood import Logistic, Squared
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.resampling import (
    Grouped,
    NoResampling,
    Poisson,
    Subsample,
    TwoPoint,
)
from rvamp_nb.algorithm.solver import rvamp, rvamp_path
from rvamp_nb.course.conditioning import condition_on_rows
from rvamp_nb.course.multinomial import Multinomial
from rvamp_nb.datasets import gaussian_design, standardize
from rvamp_nb.exceptions import ConvergenceWarning
from rvamp_nb.inference.refinement import refine
from rvamp_nb.tables.chunked import ChunkedTable

DATA = gaussian_design(20, 30, density=0.2, noise=0.3, seed=0)
A, Y = DATA.A, DATA.y
LAM = 0.3 * np.abs(A.T @ Y).max() / 2
WHOLE = np.round(10 * A), np.round(10 * Y)  # the same numbers as integers and as floats

pytestmark = pytest.mark.usefixtures("no_warning_leaks")


def changed(array, where, value):
    array = array.copy()
    array[where] = value
    return array


# What means the same gives the same ---------------------------------------------------


def read_only(array):
    array = array.copy()
    array.setflags(write=False)
    return array


SAME = {
    "lists": lambda A, y: (A.tolist(), y.tolist()),
    "tuples": lambda A, y: (tuple(map(tuple, A.tolist())), tuple(y.tolist())),
    "integers": lambda A, y: (A.astype(int), y.astype(int)),
    "small integers": lambda A, y: (A.astype("int8"), y.astype("int16")),
    "objects": lambda A, y: (A.astype(object), y.astype(object)),
    "float32": lambda A, y: (A.astype("float32"), y.astype("float32")),
    "big-endian": lambda A, y: (A.astype(">f8"), y.astype(">f8")),
    "DataFrame and Series": lambda A, y: (
        pd.DataFrame(A, columns=[f"gene {i}" for i in range(A.shape[1])]),
        pd.Series(y, index=range(7, 27)),
    ),
    "DataFrame of integers": lambda A, y: (
        pd.DataFrame(A).astype("Int64"),
        pd.Series(y).astype("Int64"),
    ),
    "Fortran order": lambda A, y: (np.asfortranarray(A), y),
    "every second of more": lambda A, y: (
        np.repeat(np.repeat(A, 2, 0), 2, 1)[::2, ::2],
        np.repeat(y, 2)[::2],
    ),
    "backwards": lambda A, y: (A[::-1, ::-1].copy()[::-1, ::-1], y[::-1].copy()[::-1]),
    "read-only": lambda A, y: (read_only(A), read_only(y)),
}


@pytest.mark.parametrize("how", SAME)
def test_the_same_numbers_in_another_dress(how):
    plain = rvamp(*WHOLE, 30.0)
    np.testing.assert_allclose(
        rvamp(*SAME[how](*WHOLE), 30.0).Pi, plain.Pi, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize(
    "lam",
    [
        np.float64(LAM),
        np.array(LAM),
        np.full(30, LAM),
        [LAM] * 30,
        tuple([LAM] * 30),
        pd.Series([LAM] * 30),
        read_only(np.full(30, LAM)),
    ],
    ids=["number", "0-d", "vector", "list", "tuple", "Series", "read-only"],
)
def test_the_same_penalty_in_another_dress(lam):
    np.testing.assert_allclose(
        rvamp(A, Y, lam).Pi, rvamp(A, Y, LAM).Pi, rtol=1e-9, atol=1e-12
    )


def test_float32_is_computed_in_double():
    fit = rvamp(A.astype("float32"), Y.astype("float32"), LAM)
    assert fit.mean.dtype == fit.Pi.dtype == np.float64
    np.testing.assert_allclose(fit.Pi, rvamp(A, Y, LAM).Pi, atol=1e-5)


@pytest.mark.parametrize(
    "call",
    [rvamp, lambda *a: rvamp_path(a[0], a[1], [2 * LAM, LAM], verbose=False)],
    ids=["rvamp", "rvamp_path"],
)
def test_nothing_that_is_given_is_changed(call):
    lam = np.full(30, LAM)
    given = [A.copy(), Y.copy(), lam.copy()]
    call(A, Y, lam)
    for now, was in zip((A, Y, lam), given):
        np.testing.assert_array_equal(now, was)


def test_an_answer_does_not_alias_what_was_given():
    mine, y = A.copy(), Y.copy()
    fit = rvamp(mine, y, LAM)
    before = fit.Pi.copy(), fit.mean.copy()
    mine[:], y[:] = 0, 0
    np.testing.assert_array_equal(fit.Pi, before[0])
    np.testing.assert_array_equal(fit.mean, before[1])


def test_warm_start_is_not_changed_and_leads_to_the_same():
    near = rvamp(A, Y, 1.1 * LAM)
    before = [part.copy() for message in near.messages for part in message]
    warm = rvamp(A, Y, LAM, warm_start=near)
    np.testing.assert_allclose(warm.Pi, rvamp(A, Y, LAM).Pi, atol=1e-4)
    for part, was in zip((p for message in near.messages for p in message), before):
        np.testing.assert_array_equal(part, was)


# The edges of what works --------------------------------------------------------------

EDGES = {
    "one row": (A[:1], Y[:1], 0.01),
    "two rows": (A[:2], Y[:2], 0.05),
    "one column": (A[:, :1], Y, LAM),
    "one number": ([[1.0]], [2.0], 0.5),
    "a column of zeros": (changed(A, (slice(None), 3), 0), Y, LAM),
    "a column of ones": (changed(A, (slice(None), 3), 1), Y, LAM),
    "only zeros": (0 * A, Y, LAM),
    "a response of zeros": (A, 0 * Y, LAM),
    "a constant response": (A, 0 * Y + 3, LAM),
    "a column twice": (np.column_stack([A, A[:, 5]]), Y, LAM),
    "a row twice": (np.vstack([A, A[:1]]), np.append(Y, Y[0]), LAM),
    "a column and its mirror image": (np.column_stack([A, -A[:, 5]]), Y, LAM),
    "all columns the same": (np.repeat(A[:, :1], 10, 1), Y, LAM),
    "a row of zeros": (changed(A, 4, 0), Y, LAM),
    "columns on wild scales": (A * 10.0 ** np.linspace(-6, 6, 30), Y, LAM),
    "truth values": (A > 0, Y, LAM),
    "a penalty that empties all": (A, Y, 1e6),
    "tiny numbers": (1e-60 * A, 1e-60 * Y, 1e-120 * LAM),
    "huge numbers": (1e60 * A, 1e60 * Y, 1e120 * LAM),
}


@pytest.mark.parametrize("what", EDGES)
def test_edges(what):
    A, y, lam = EDGES[what]
    fit = rvamp(A, y, lam)
    N = np.shape(A)[1]
    assert fit.converged and fit.Pi.shape == fit.mean.shape == fit.var.shape == (N,)
    assert (
        np.isfinite(fit.mean).all()
        and (fit.var >= 0).all()
        and ((0 <= fit.Pi) & (fit.Pi <= 1)).all()
    )


def test_a_constant_column_has_no_say_once_standardised():
    B = changed(A, (slice(None), 3), 7.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # standardize names it
        B, y = standardize(B, Y)
    fit = rvamp(B, y, LAM)
    assert fit.Pi[3] == fit.mean[3] == 0


def test_twins_are_treated_alike():
    A, y, lam = EDGES["a column twice"]
    fit = rvamp(A, y, lam)
    np.testing.assert_allclose(fit.Pi[5], fit.Pi[-1], atol=1e-6)
    A, y, lam = EDGES["a column and its mirror image"]
    fit = rvamp(A, y, lam)
    np.testing.assert_allclose(fit.mean[5], -fit.mean[-1], atol=1e-6)


@pytest.mark.parametrize(
    "counts",
    [Poisson(1e-3), Poisson(50.0), Subsample(1.0), Subsample(0.05), NoResampling()],
)
def test_extreme_laws_of_counts(counts):
    lam = 0.3 * counts.mean * np.abs(A.T @ Y).max()
    fit = rvamp(A, Y, lam, resampling=counts)
    assert fit.converged and ((0 <= fit.Pi) & (fit.Pi <= 1)).all()


# What cannot work is refused by name --------------------------------------------------


class Sums:
    """A law whose probabilities sum to 2.5."""

    mean, var = 0.5, 0.25

    def nodes(self):
        return np.array([0.0, 1.0]), np.array([1.25, 1.25])


class Bent(Logistic):
    """A loss whose curvature is not its slope's derivative."""

    def derivatives(self, y, f):
        slope, curvature = super().derivatives(y, f)
        return slope, 2 * curvature


class Tilted(Logistic):
    """A loss whose slope is not its value's derivative."""

    def derivatives(self, y, f):
        slope, curvature = super().derivatives(y, f)
        return slope + 0.3, curvature


BAD = {
    "NaN in A": (dict(A=changed(A, (3, 4), np.nan)), ValueError, r"\bA\b.*\b4\b"),
    "infinity in A": (dict(A=changed(A, (3, 4), -np.inf)), ValueError, r"\bA\b.*\b4\b"),
    "NaN in y": (dict(y=changed(Y, 2, np.nan)), ValueError, r"\by\b"),
    "infinity in y": (dict(y=changed(Y, 2, np.inf)), ValueError, r"\by\b"),
    "y too short": (dict(y=Y[:-1]), ValueError, r"\by\b.*\(20,\).*\(19,\)"),
    "y as a column": (dict(y=Y[:, None]), ValueError, r"\by\b.*\(20, 1\)"),
    "y for columns": (dict(y=np.zeros(30)), ValueError, r"\by\b"),
    "A with one axis": (dict(A=A[0]), ValueError, r"\bA\b.*\(30,\)"),
    "A with three axes": (dict(A=A[None]), ValueError, r"\bA\b.*\(1, 20, 30\)"),
    "A a number": (dict(A=3.0), ValueError, r"\bA\b"),
    "no columns": (dict(A=A[:, :0]), ValueError, r"\bA\b.*\(20, 0\)"),
    "no rows": (dict(A=A[:0], y=Y[:0]), ValueError, r"\bA\b.*\(0, 30\)"),
    "ragged": (
        dict(A=[[1.0, 2.0], [3.0]], y=[1.0, 2.0]),
        (TypeError, ValueError),
        r"\bA\b",
    ),
    "no A": (dict(A=None), (TypeError, ValueError), r"\bA\b"),
    "no y": (dict(y=None), (TypeError, ValueError), r"\by\b"),
    "text": (dict(A=np.full(A.shape, "a")), TypeError, r"\bA\b"),
    "text in y": (dict(y=["a"] * 20), TypeError, r"\by\b"),
    "text in a DataFrame": (
        dict(A=pd.DataFrame(A).assign(sex="f")),
        TypeError,
        r"\bA\b",
    ),
    "missing values in a DataFrame": (
        dict(A=pd.DataFrame(A).assign(dose=pd.NA)),
        (TypeError, ValueError),
        r"\bA\b",
    ),
    "dates": (dict(A=np.zeros((20, 3), "datetime64[s]")), TypeError, r"\bA\b"),
    "complex A": (dict(A=A + 1j), TypeError, r"\bA\b"),
    "complex y": (dict(y=Y + 1j), TypeError, r"\by\b"),
    "NaN in a sparse A": (
        dict(A=sparse.csr_array(changed(A, (3, 4), np.nan))),
        ValueError,
        r"\bA\b.*column 4",
    ),
    "infinity in blocks": (
        dict(A=ChunkedTable(changed(A, (3, 4), np.inf), chunk_size=100)),
        ValueError,
        r"\bA\b.*column 4",
    ),
    "blocks at 1e16": (
        dict(A=ChunkedTable(1e16 * A, chunk_size=100)),
        ValueError,
        r"^A has numbers of size.*units",
    ),
    "ones twice": (
        dict(A=ChunkedTable(A, chunk_size=100, intercept=True), intercept=True),
        ValueError,
        "intercept=True",
    ),
    "no columns in a sparse A": (
        dict(A=sparse.csr_array((20, 0))),
        ValueError,
        r"\bA\b.*\(20, 0\)",
    ),
    "groups of rows in blocks": (
        dict(
            A=ChunkedTable(A, chunk_size=100),
            resampling=Grouped(Poisson(0.5), np.arange(20) // 2),
        ),
        TypeError,
        "Grouped.*memory",
    ),
    "lam 0": (dict(lam=0), ValueError, "lam"),
    "lam < 0": (dict(lam=-1.0), ValueError, "lam"),
    "lam NaN": (dict(lam=np.nan), ValueError, "lam"),
    "lam infinite": (dict(lam=np.inf), ValueError, "lam"),
    "a lam of 0": (dict(lam=changed(np.full(30, LAM), 7, 0)), ValueError, "lam"),
    "lam too short": (dict(lam=np.full(29, LAM)), ValueError, "lam.*30.*29"),
    "lam a column": (dict(lam=np.full((30, 1), LAM)), ValueError, "lam"),
    "lam text": (dict(lam="0.1"), TypeError, "lam"),
    "lam complex": (dict(lam=1j), TypeError, "lam"),
    "no penalty": (dict(lam=None), TypeError, "lam.*choose_lambda"),
    "lam and prior": (dict(prior=Laplace(LAM)), TypeError, "lam.*prior"),
    "prior a class": (dict(lam=None, prior=Laplace), TypeError, "prior"),
    "prior a number": (dict(lam=None, prior=LAM), TypeError, "prior"),
    "counts a class": (dict(resampling=Poisson), TypeError, "resampling"),
    "counts a number": (dict(resampling=0.5), TypeError, "resampling"),
    "counts that are tied": (
        dict(resampling=Multinomial(0.5)),
        TypeError,
        "Multinomial.*no nodes",
    ),
    "loss a class": (dict(loss=Squared), TypeError, "loss must be"),
    "loss a number": (dict(loss=3), TypeError, "loss must be"),
    "tol 0": (dict(tol=0), ValueError, "tol"),
    "tol 2": (dict(tol=2), ValueError, "tol"),
    "tol NaN": (dict(tol=np.nan), ValueError, "tol"),
    "tol text": (dict(tol="small"), TypeError, "tol"),
    "max_iter a truth value": (dict(max_iter=True), TypeError, "max_iter"),
    "A at 1e-200": (dict(A=1e-200 * A), ValueError, r"^A has numbers of size.*units"),
    "A at 1e100": (dict(A=1e100 * A), ValueError, r"^A has numbers of size"),
    "y at 1e200": (dict(y=1e200 * Y), ValueError, r"^y has numbers of size"),
    "lam that overflows": (dict(lam=1e308), ValueError, "lam = 1e.308 overflows"),
    "counts that sum to 2.5": (
        dict(resampling=Sums()),
        ValueError,
        "resampling.*sum to 1, not to 2.5",
    ),
    "a wrong curvature": (
        dict(y=1.0 * (Y > 0), loss=Bent()),
        ValueError,
        "loss: the curvature that Bent",
    ),
    "a wrong slope": (
        dict(y=1.0 * (Y > 0), loss=Tilted()),
        ValueError,
        "loss: the slope that Tilted",
    ),
    "max_iter 0": (dict(max_iter=0), ValueError, "max_iter"),
    "max_iter broken": (dict(max_iter=2.5), (TypeError, ValueError), "max_iter"),
    "damping 0": (dict(damping=0), ValueError, "damping"),
    "damping 1.5": (dict(damping=1.5), ValueError, "damping"),
    "damping NaN": (dict(damping=np.nan), ValueError, "damping"),
    "damping text": (dict(damping="slow"), TypeError, "damping"),
    "warm_start a number": (dict(warm_start=3), TypeError, "warm_start"),
    "warm_start of another size": (
        dict(warm_start=rvamp(A[:, :7], Y, LAM)),
        ValueError,
        r"warm_start.*\(20, 7\).*\(20, 30\)",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_by_name(what):
    given, error, words = BAD[what]
    with pytest.raises(error, match=words):
        rvamp(**{"A": A, "y": Y, "lam": LAM, **given})


PATH_KNOWS = [
    what
    for what, (given, _, _) in BAD.items()
    if set(given) <= {"A", "y", "resampling", "loss", "tol", "max_iter", "damping"}
]


@pytest.mark.parametrize("what", PATH_KNOWS)
def test_bad_input_is_refused_by_the_path_too(what):
    given, error, words = BAD[what]
    with pytest.raises(error, match=words):
        rvamp_path(**{"A": A, "y": Y, "lambdas": [LAM], "verbose": False, **given})


@pytest.mark.parametrize(
    "given",
    [
        dict(lambdas=[]),
        dict(lambdas=[LAM, 0]),
        dict(lambdas=[-LAM]),
        dict(lambdas=[np.nan]),
        dict(n_lambdas=0),
        dict(lambda_min_ratio=0),
        dict(lambda_min_ratio=1.5),
    ],
    ids=str,
)
def test_a_bad_path_is_refused_by_name(given):
    with pytest.raises(ValueError, match=next(iter(given))):
        rvamp_path(A, Y, verbose=False, **given)


@pytest.mark.parametrize("law", [Poisson, Subsample])
@pytest.mark.parametrize(
    "tau, error",
    [
        (0, ValueError),
        (-0.5, ValueError),
        (np.nan, ValueError),
        (np.inf, ValueError),
        ("half", TypeError),
        (None, TypeError),
    ],
)
def test_tau_out_of_range(law, tau, error):
    with pytest.raises(error, match="tau"):
        law(tau)


def test_a_subsample_is_no_larger_than_the_sample():
    with pytest.raises(ValueError, match="tau"):
        Subsample(1.5)


@pytest.mark.parametrize(
    "given, words",
    [((0.0, 0.5), "factor"), ((2.0, 1.5), "prob"), ((2.0, -0.1), "prob")],
)
def test_random_penalties_out_of_range(given, words):
    with pytest.raises(ValueError, match=words):
        TwoPoint(*given)


def test_not_converging_is_a_warning_and_no_exception():
    with pytest.warns(ConvergenceWarning, match="iteration limit") as seen:
        fit = rvamp(A, Y, LAM, max_iter=2)
    assert not fit.converged and fit.n_iter == 2 and "What to try" in fit.status
    assert np.isfinite(fit.mean).all() and ((0 <= fit.Pi) & (fit.Pi <= 1)).all()
    assert seen[0].filename == __file__  # points at the caller


def test_the_caller_may_reuse_what_was_passed_in():
    mine, target = A.copy(), Y.copy()
    fit = rvamp(mine, target, LAM)
    rows = p2(fit, np.arange(3)).covariance.copy()
    mine *= 0
    target *= 0
    np.testing.assert_array_equal(p2(fit, np.arange(3)).covariance, rows)
    assert fit.problem.A.flags.writeable and mine.flags.writeable


def test_global_random_state_is_left_alone():
    """Nothing here draws from numpy's global generator."""
    before = np.random.get_state()[1].copy()
    rvamp(A, Y, LAM)
    rvamp_path(A, Y, n_lambdas=3, verbose=False)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


WIDE = gaussian_design(60, 40, seed=0)
SIZES = ConstantSignal(6.0, 0.1)
FAR = np.linspace(-300, 300, 9)  # where densities are too small for a double
ALL_ASKED = {
    "Pi": lambda fit: fit.Pi,
    "free energy": free_energy,
    "radius": lambda fit: stability_radius(fit, 1e-4),
    "moments of p1": lambda fit: [p1(fit).mean, p1(fit).var, p1(fit).atom],
    "p1": lambda fit: p1(fit).pdf(FAR),
    "intervals": lambda fit: p1(fit).quantile([0.05, 0.95]),
    "p2": lambda fit: p2(fit).covariance,
    "condition_on_rows": lambda fit: condition_on_rows(fit).Pi,
    "refine": lambda fit: refine(fit, None, 20, verbose=False).Pi,
}
ASKED_ONCE = {  # of no fit: what they compute is their own
    "at finite beta": lambda: p1(rvamp(WIDE.A, WIDE.y, 0.1, beta=1.0)).pdf(FAR),
    "logistic, at finite beta": lambda: free_energy(
        rvamp(WIDE.A, WIDE.y > 0, 0.1, beta=1.0, loss=Logistic())
    ),
    "path": lambda: rvamp_path(WIDE.A, WIDE.y, n_lambdas=30).Pi,
    "state evolution": lambda: (
        state_evolution(1.0, 20.0, signal=ConstantSignal(6.0, 0.1), noise=1.0).macro
    ),
}
MODELS = [
    dict(prior=Laplace(0.5), resampling=Subsample(0.5)),
    dict(prior=Laplace(0.3), resampling=NoResampling()),
]


@pytest.mark.parametrize(
    "what, model", [*product(ALL_ASKED, MODELS), *product(ASKED_ONCE, [None])]
)
def test_the_callers_errstate_does_not_matter(what, model):
    ask = ASKED_ONCE.get(what)
    if model:
        ask = lambda: ALL_ASKED[what](rvamp(WIDE.A, WIDE.y, **model))
    expected = ask()
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(ask(), expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda: state_evolution(1.0, 2.0, signal=SIZES, noise=1.0, max_iter=3),
        lambda: stability_radius(rvamp(A, Y, LAM), tol=1e-15, max_iter=3),
    ],
)
def test_a_warning_points_at_the_caller(call):
    with pytest.warns((ConvergenceWarning, RuntimeWarning)) as seen:
        call()
    assert [w.filename for w in seen] == [__file__]


# A table as it was measured, without an intercept -------------------------------------

RAW, FAR_Y = 40 + 6 * DATA.A, 30 + DATA.y


def test_a_raw_table_and_an_uncentred_target_are_warned_of():
    with pytest.warns(UserWarning, match="y has mean 30.*column 0 .*intercept=True"):
        rvamp(RAW, FAR_Y, LAM)
    with pytest.warns(UserWarning, match="standardize") as found:
        rvamp_path(RAW, FAR_Y, [LAM])
    assert len(found) == 1


@pytest.mark.parametrize(
    "table, y, options",
    [
        (RAW, FAR_Y, dict(intercept=True)),
        (RAW - RAW.mean(0), FAR_Y, {}),
        (RAW, Y, {}),
        (RAW / np.linalg.norm(RAW, axis=0), FAR_Y, {}),  # chosen to be of length 1
        (np.column_stack([RAW, np.ones(20)]), FAR_Y, {}),
        (RAW, Y > 0, dict(loss=Logistic())),
    ],
)
def test_what_is_centred_or_scaled_is_not_warned_of(table, y, options):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        rvamp(table, y, LAM, **options)
    assert not [w for w in found if "without" in str(w) or "no intercept" in str(w)]


def test_designs_of_random_columns_are_not_warned_of():
    """Means of a random design, and of what it makes, differ from 0 by chance only."""
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for scale in (1.0, 50**-0.5):
            X = rng.normal(size=(50, 400)) * scale
            rvamp(X, X[:, :5].sum(1) + rng.normal(size=50), 20.0 * scale)
            rvamp(X, 30 + rng.normal(size=50), 300.0 * scale)


@pytest.mark.parametrize("lam", [LAM, 0.3])
def test_rows_or_columns_first_in_memory_are_the_same_bits(lam):
    one, two = rvamp(A, Y, lam), rvamp(np.asfortranarray(A), Y, lam)
    for name in ("mean", "var", "Pi"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
