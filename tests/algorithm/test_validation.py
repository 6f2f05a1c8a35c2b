"""Checks of numbers, sizes and arrays: each refusal by name, and nothing written to."""

import datetime
import sys
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import rvamp_nb
from rvamp_nb import (
    ConstantSignal,
    ElasticNet,
    Exponential,
    GaussianSignal,
    Huber,
    Laplace,
    NoResampling,
    Poisson,
    PoissonLoss,
    Squared,
    StabilitySelection,
    Subsample,
    TwoPoint,
    Weakness,
    WeightedLoss,
    debiased_effects,
    free_energy,
    p1,
    plan_study,
    refine,
    rvamp,
    rvamp_path,
    state_evolution,
)
from rvamp_nb.algorithm.energy import stability_radius
from rvamp_nb.algorithm.solver import with_clusters
from rvamp_nb.course.multinomial import Multinomial
from rvamp_nb.course.pictures import sliders
from rvamp_nb.course.survival import survival_fit
from rvamp_nb.course.widgets import diabetes_explorer
from rvamp_nb.datasets import (
    choose_lambda,
    gaussian_design,
    load_riboflavin,
    standardize,
)
from rvamp_nb.environment import import_extra, numpy_errors
from rvamp_nb.inference.bootstrap import naive_bootstrap
from rvamp_nb.interface import check_interface, lacking
from rvamp_nb.select.error_control import (
    error_control,
    pfer_bound,
    resolve_error_control,
    unimodal_bound,
)
from rvamp_nb.tables.chunked import ChunkedTable
from rvamp_nb.tables.dask_table import the_dask
from rvamp_nb.validation import check_array, check_number, check_size, format_list

DAY = datetime.date(2026, 1, 1)


class PolarsLike:
    """A frame that hands over integers, dates among them, and names its types."""

    dtypes = ["Int64", "Date"]

    def __array__(self, dtype=None, copy=None):
        return np.array([[1, 20_000], [2, 20_001]], dtype=dtype)


DATES = {
    "datetime64": np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]"),
    "timedelta64": np.array([1, 2], dtype="timedelta64[s]"),
    "objects": np.array([DAY, DAY], dtype=object),
    "list of datetime64": [np.datetime64("2026-01-01"), 1.0],
    "timestamps": [pd.Timestamp(DAY), pd.Timestamp(DAY)],
    "timedeltas": [datetime.timedelta(1), datetime.timedelta(2)],
    "series": pd.Series(pd.to_datetime([DAY, DAY])),
    "frame": pd.DataFrame({"a": [1, 2], "when": pd.to_datetime([DAY, DAY])}),
    "frame of objects": pd.DataFrame({"a": [1, 2], "when": [DAY, DAY]}),
    "like polars": PolarsLike(),
}


@pytest.mark.parametrize("value", DATES.values(), ids=DATES)
def test_dates_are_no_numbers(value):
    with pytest.raises(TypeError, match="A must hold real numbers only"):
        check_array("A", value)


@pytest.mark.parametrize(
    "value, error, words",
    [
        (None, TypeError, "A is None"),
        (scipy.sparse.eye(2), TypeError, "A is sparse.*toarray"),
        (np.ma.masked_values([1.0, 9], 9), ValueError, "A is a masked array"),
        (np.ma.masked, ValueError, "A is a masked array"),
        ([[1], [1, 2]], ValueError, "A must be rectangular"),
        (["1", "2"], TypeError, "A must hold real numbers"),
        ([b"1"], TypeError, "A must hold real numbers"),
        (np.array([1, "2"], dtype=object), TypeError, "A must hold real numbers"),
        ([1j], TypeError, "A must hold real numbers"),
        ([[1.0, np.nan]], ValueError, r"A has NaN.*\[0, 1\]"),
        ([[1.0], [-np.inf]], ValueError, r"A has NaN or infinite.*\[1, 0\]"),
        (np.inf, ValueError, "A must be a finite number, got inf"),
    ],
)
def test_arrays_are_refused_by_name(value, error, words):
    with pytest.raises(error, match=words):
        check_array("A", value)


@pytest.mark.parametrize(
    "value, asked, words",
    [
        (
            [1, 2],
            dict(shape=(3,)),
            r"shape \(3,\), one number for each row, got \(2,\)",
        ),
        ([1, 2], dict(shape=(2, 1)), r"shape \(2, 1\), a table of numbers, got \(2,\)"),
        ([], dict(shape=("M",)), r"shape \(M,\), .* got \(0,\)"),
        ([[]], dict(shape=("M", "N")), r"shape \(M, N\), .* got \(1, 0\)"),
        ([[1]], dict(shape=("m", 2)), r"shape \(m, 2\), .* got \(1, 1\)"),
        (1.0, dict(shape=("M",), of="column"), r"number for each column, got \(\)"),
        ([0, -2], dict(low=0), r"be >= 0, got -2 in row 1 \(counted from 0\)$"),
        ([[1, 0]], dict(low=0, above=True, of="value"), "be > 0, got 0 in value 0"),
        (-1, dict(low=0), "must be >= 0, got -1$"),
        (
            [1, 1.5],
            dict(low=1, whole=True),
            "hold whole numbers >= 1, got 1.5 in row 1",
        ),
        ([0, 0], dict(low=0, some=True), "be >= 0 and not all zero, and all 2 are 0"),
        ([1, -1], dict(low=0, remedy="drop it"), r"\(counted from 0\): drop it$"),
        ([np.nan, -1], dict(low=0, shape=(2,)), "has NaN or infinite"),
    ],
)
def test_shapes_and_least_numbers_are_asked_by_name(value, asked, words):
    with pytest.raises(ValueError, match=f"^A .*{words}"):
        check_array("A", value, **asked)


@pytest.mark.parametrize(
    "value, asked",
    [
        (np.ones(3), dict(shape=(3,), low=0, above=True, whole=True, some=True)),
        (np.ones((0, 2)), dict(shape=("m", 2), low=0)),
        (np.zeros((1, 1)), dict(shape=("M", "N"), low=0)),
        (np.array(2.0), dict(shape=(), low=2)),
        (-np.ones(2), dict(shape=("M",), some=True)),
    ],
)
def test_what_has_the_shape_and_is_large_enough_is_not_copied(value, asked):
    assert check_array("A", value, **asked) is value


def test_arrays_are_taken_as_they_are():
    given = np.arange(3.0)
    given.flags.writeable = False
    assert check_array("A", given) is given
    for same in (
        [0, 1, 2],
        (False, True, 2),
        range(3),
        np.arange(3, dtype="float32"),
        np.arange(3, dtype=object),
        np.ma.array([0.0, 1, 2]),
        pd.Series([0, 1, 2]),
        pd.Series([0, 1, 2], dtype="Int64"),
    ):
        seen = check_array("A", same)
        assert seen.dtype == np.float64 and (seen == given).all()
    assert check_array("A", pd.DataFrame({"a": [1, 2]})).shape == (2, 1)
    assert check_array("A", 2).shape == ()


@pytest.mark.parametrize("value", [True, np.True_, "1", None, [1.0], 1j, np.ma.masked])
def test_numbers_that_are_none(value):
    with pytest.raises(TypeError, match="f: tol must be a number"):
        check_number("f", "tol", value, 0)


@pytest.mark.parametrize(
    "value, closed, fine",
    [
        (0, "", False),
        (0, "[", True),
        (0, "]", False),
        (1, "", False),
        (1, "]", True),
        (1, "[", False),
        (0.5, "", True),
        (np.float32(0.5), "", True),
        (-1, "[]", False),
        (np.nan, "[]", False),
        (np.inf, "[]", False),
    ],
)
def test_ends_of_an_interval(value, closed, fine):
    if fine:
        found = check_number("f", "tol", value, 0, 1, closed=closed)
        assert type(found) is float and found == value
        return
    with pytest.raises(ValueError, match=r"f: tol must lie in [\[(]0, 1[\])], got"):
        check_number("f", "tol", value, 0, 1, closed=closed)


NUMBERS = np.float16, np.float32, np.longdouble, Fraction
LAWS = {
    Squared: 300,
    Huber: 1,
    Poisson: 0.5,
    Subsample: 0.5,
    Exponential: 2,
    TwoPoint: 3,
    Weakness: 0.5,
}


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("law", LAWS)
def test_numbers_of_laws_and_losses_are_floats(law, kind):
    for number in (LAWS[law], kind(LAWS[law])):
        held = vars(law(number))
        assert all(type(value) is float for value in held.values())
        assert law(number) == law(float(LAWS[law]))
    sizes = ConstantSignal(kind(2), kind(0.5)), GaussianSignal(kind(2), kind(0.5))
    assert all(type(one.density) is float for one in sizes)
    assert type(ElasticNet(0.5, l1_ratio=kind(0.5)).l1_ratio) is float


SMALL = gaussian_design(30, 6, seed=0)
ASKED = (
    lambda half: rvamp(SMALL.A, SMALL.y, 0.1, damping=half, tol=half / 512).mean,
    lambda half: rvamp(SMALL.A, SMALL.y, 0.1, beta=half).mean,
    lambda half: rvamp(SMALL.A, SMALL.y, 0.1, resampling=Poisson(half)).Pi,
    lambda half: rvamp(300 * SMALL.A, SMALL.y, 0.1, loss=Squared(600 * half)).Pi,
    lambda half: rvamp(SMALL.A, SMALL.y, 0.1, loss=Huber(half)).Pi,
    lambda half: debiased_effects(alone(), half).ci_low,
    lambda half: p1(rvamp(SMALL.A, SMALL.y, 0.1)).quantile(half),
    lambda half: error_control(100, half + half / 2, half),
    lambda half: resolve_error_control(100, 50, half + half / 2, half)[:3],
    lambda half: plan_study(50, 3, 0.8, pfer=half, threshold=0.75, noise=2 * half).rows,
    lambda half: (
        boot(lam=None, prior=ElasticNet(0.1, l1_ratio=half), loss=Huber(half)).mean
    ),
    lambda half: gaussian_design(20, 5, half, half, half).y,
    lambda half: (
        state_evolution(
            half, 0.5, signal=ConstantSignal(2, 0.1), noise=half, selected=half / 4
        ).mse
    ),
)


@cache
def alone():
    one = dict(prior=Laplace(0.1), resampling=NoResampling())
    return rvamp(SMALL.A, SMALL.y, **one)


@cache
def of_floats():
    """What is computed once for all kinds of numbers."""
    return [ask(0.5) for ask in ASKED]


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_of_any_kind_give_the_answer_of_floats(kind):
    for ask, wanted in zip(ASKED, of_floats(), strict=True):
        np.testing.assert_array_equal(ask(kind(0.5)), wanted)


def test_sizes():
    assert check_size("f", "n", np.int8(3)) == 3
    assert type(check_size("f", "n", np.int8(3))) is int
    assert check_size("f", "n", 0, least=0) == 0
    for value in (2.0, "2", None, True, np.True_, [2]):
        with pytest.raises(TypeError, match="f: n must be an integer"):
            check_size("f", "n", value)
    with pytest.raises(ValueError, match="f: n must be at least 1, got 0"):
        check_size("f", "n", 0)


def test_a_few_names_of_many():
    assert format_list("abcdef", [0, 2]) == "a, c"
    assert format_list("abcdef", range(4)) == "a, b, c, d"
    assert format_list("abcdef", range(5)) == "a, b, c, d, ..."
    assert format_list([1, 2], [1], most=1) == "2"
    assert format_list("abc", []) == ""


# --- where the rooms of this part read arrays -----------------------------------------


D = gaussian_design(20, 5, seed=0)
MASKED_A = np.ma.masked_greater(D.A, D.A.max() * 0.99)
MASKED_Y = np.ma.masked_greater(D.y, D.y.max() * 0.99)
TIMES = np.arange(20).astype("datetime64[D]")
HIDDEN = np.ma.array(np.ones(5), mask=np.arange(5) == 2)


def boot(A=D.A, y=D.y, lam=0.1, **options):
    return naive_bootstrap(A, y, lam, n_resamples=2, verbose=False, **options)


@pytest.mark.parametrize(
    "attempt, name",
    [
        (lambda: boot(A=MASKED_A), "A"),
        (lambda: boot(y=MASKED_Y), "y"),
        (lambda: boot(lam=HIDDEN), "lam"),
        (lambda: Laplace(0.1, penalty_factor=HIDDEN), "penalty_factor"),
        (lambda: boot(keep=np.ma.array([1, 2], mask=[True, False])), "keep"),
        (lambda: choose_lambda(MASKED_A, D.y), "A"),
        (lambda: choose_lambda(D.A, MASKED_Y), "y"),
        (lambda: standardize(MASKED_A), "A"),
        (lambda: standardize(D.A, MASKED_Y), "y"),
    ],
)
def test_masks_are_refused_by_name(attempt, name):
    with pytest.raises(ValueError, match=f"^{name} is a masked array"):
        attempt()


@pytest.mark.parametrize("take", [boot, choose_lambda, standardize])
@pytest.mark.parametrize("dates", [TIMES, TIMES.astype(object)], ids=["M8", "object"])
def test_dates_are_refused_where_a_table_is_read(take, dates):
    with pytest.raises(TypeError, match="^y must hold real numbers"):
        take(D.A, dates)
    with pytest.raises(TypeError, match="^A must hold real numbers"):
        take(np.column_stack([dates, dates]), D.y)


def test_a_mask_that_hides_nothing_is_no_mask():
    np.testing.assert_array_equal(boot(A=np.ma.array(D.A)).mean, boot().mean)


def test_nobody_touches_the_global_generator():
    np.random.seed(1)
    state = np.random.get_state()[1].copy(), np.random.get_state()[2]
    boot(), boot(intercept=True), choose_lambda(D.A, D.y, cv=3), standardize(D.A, D.y)
    after = np.random.get_state()
    assert (after[1] == state[0]).all() and after[2] == state[1]


@pytest.mark.parametrize(
    "module, extra, use",
    [
        ("ipywidgets", "course", lambda: sliders(print)),
        ("anywidget", "course", diabetes_explorer),
        ("rdata", "course", load_riboflavin),
        ("pooch", "course", load_riboflavin),
        ("dask.array", "dask", the_dask),
    ],
)
def test_what_an_extra_brings_is_asked_for_by_its_name(module, extra, use, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)  # as if it were not installed
    with pytest.raises(
        ImportError, match=rf"{module} .*pip install 'rvamp-nb\[{extra}\]'"
    ):
        use()


def test_an_extra_that_is_there_is_imported():
    assert import_extra("json", "course").loads("1") == 1


class Silent:
    """A law without a draw."""

    def __repr__(self):
        return "Silent()"


@pytest.mark.parametrize(
    "law, fault",
    [
        ("half", "got 'half': it has no draw and no nodes"),
        (Silent(), "got Silent(): it has no draw and no nodes"),
        (Silent, "not the class Silent"),
    ],
)
def test_an_object_that_lacks_a_method_is_refused_by_it(law, fault):
    with pytest.raises(TypeError) as refusal:
        check_interface(
            "resampling", law, ("draw", "nodes"), "a law such as Poisson(0.5)"
        )
    message = f"resampling must be a law such as Poisson(0.5), {fault}"
    assert str(refusal.value) == message


def test_an_object_that_has_all_methods_is_taken():
    assert lacking(Poisson(0.5), ("draw", "nodes", "mean", "var")) == []
    assert lacking(Multinomial(0.5), ("draw", "nodes", "mean", "var")) == ["nodes"]
    check_interface("size", np.ones(2), ("shape", "sum"), "an array")


TALL = gaussian_design(30, 4, seed=1)
COUNTS = np.arange(30) % 4.0
ENTRIES = {
    "rvamp": lambda: rvamp(TALL.A, COUNTS, 0.3, loss=PoissonLoss()),
    "rvamp_path": lambda: rvamp_path(TALL.A, TALL.y, n_lambdas=3, verbose=False),
    "a selector": lambda: StabilitySelection(lambdas=3, n_resamples=20).fit(
        TALL.A, TALL.y
    ),
    "refits": lambda: boot(A=TALL.A, y=COUNTS, loss="poisson"),
    "refine": lambda: refine(rvamp(TALL.A, TALL.y, 0.3), n_resamples=20, verbose=False),
    "survival": lambda: survival_fit(TALL.A, 1 + COUNTS, COUNTS > 1, 0.5),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("where", ["__enter__", "__exit__"])
@pytest.mark.parametrize("name", ENTRIES)
def test_an_interrupt_leaves_numpy_s_errors_as_they_were(name, where, monkeypatch):
    """Where it comes between a change of the state and the promise to undo it."""
    real, seen, stop = getattr(np.errstate, where), [], [None]

    def interrupted(self, *args):
        seen.append(self)
        if len(seen) == stop[0] and where == "__exit__":
            raise KeyboardInterrupt
        real(self, *args)
        if len(seen) == stop[0]:
            raise KeyboardInterrupt

    monkeypatch.setattr(np.errstate, where, interrupted)
    before = np.geterr()
    ENTRIES[name]()
    number = len(seen)
    assert number > 5 and np.geterr() == before
    for stop[0] in np.unique(np.linspace(1, number, 6).astype(int)):
        seen.clear()
        try:
            ENTRIES[name]()
        except KeyboardInterrupt:
            pass
        assert np.geterr() == before, stop


def test_the_context_is_a_decorator_and_may_be_entered_twice():
    @numpy_errors(over="raise")
    def down(n):
        assert np.geterr()["over"] == "raise"
        return down(n - 1) if n else np.geterr()["divide"]

    before = np.geterr()
    assert down(3) == before["divide"]
    with pytest.raises(ZeroDivisionError), numpy_errors(all="ignore"):
        assert 1 / 0
    assert np.geterr() == before


def test_a_number_of_hundreds_of_digits_is_refused():
    with pytest.raises(ValueError, match="pfer must lie in"):
        check_number("me", "pfer", 10**400, 0)
    with pytest.raises(TypeError, match="lam must hold real numbers"):
        check_array("lam", 10**400)
    with np.errstate(all="raise"):
        check_number("me", "size", np.float32(2), 1e-100, 1e100)


# --- refusals that name argument and value, before the work ---------------------------


class Own:
    """A law of one's own: halves, unless it is told otherwise."""

    mean, var = 0.5, 0.25

    def __init__(self, **parts):
        vars(self).update(parts)

    def nodes(self):
        return np.array([0.0, 1.0]), np.array([0.5, 0.5])

    def draw(self, M, rng):
        return rng.permutation(np.arange(M) % 2.0)

    def __repr__(self):
        return "Own()"


NAN_DRAWS, BELOW = lambda M, rng: np.full(M, np.nan), lambda M, rng: -np.ones(M)
LATE = lambda M, rng: np.ones(M) - 2 * (rng.random() < 0.3)  # the first is fine


def evolved(**how):
    return state_evolution(
        0.5, 1.0, signal=ConstantSignal(1, 0.1), **dict(noise=1) | how
    )


def chosen(**how):
    return StabilitySelection(verbose=0, **how).fit(D.A, D.y)


@pytest.mark.parametrize(
    "ask, words",
    [
        (lambda: free_energy(None), "fit must be a Fit, from rvamp .*, got None"),
        (lambda: stability_radius(None), "fit must be a Fit, from rvamp .*, got None"),
        (lambda: stability_radius("x"), "fit must be a Fit, from rvamp .*, got 'x'"),
        (
            lambda: WeightedLoss(Squared(), []),
            r"WeightedLoss: sample_weight must have shape .* got \(0,\)",
        ),
        (
            lambda: chosen(n_resamples=np.ones(2)),
            "n_resamples must be an integer, not array",
        ),
        (lambda: chosen(n_resamples=5), "n_resamples must be at least 10, got 5"),
        (
            lambda: chosen(n_resamples=False),
            "n_resamples must be an integer, not False",
        ),
        (
            lambda: ChunkedTable(D.A, chunk_size="x"),
            "ChunkedTable: chunk_size must be an integer, not 'x'",
        ),
        (
            lambda: ChunkedTable(D.A, chunk_size=0),
            "ChunkedTable: chunk_size must be at least 1, got 0",
        ),
        (lambda: ChunkedTable(D.A, axis=-0.0), "ChunkedTable: axis must be .* -0.0"),
        (lambda: ChunkedTable(D.A, axis=True), "ChunkedTable: axis must be .* True"),
        (
            lambda: state_evolution(
                1e-308, 1.0, signal=ConstantSignal(1, 0.1), noise=1
            ),
            r"ratio must lie in \(1e-06, 1e\+06\), got 1e-308",
        ),
        (lambda: evolved(tol=None), "state_evolution: tol must be a number, not None"),
        (lambda: evolved(start="x"), "start must be an Evolution, got 'x'"),
        (
            lambda: evolved(noise=1e308),
            r"noise must lie in \[0, 1e\+100\), got 1e\+308",
        ),
        (
            lambda: ChunkedTable(D.A, axis=np.ones(2)),
            "ChunkedTable: axis must be an integer",
        ),
        (lambda: rvamp_path(D.A, D.y, lambdas=["a"]), "lambdas must hold real numbers"),
        (lambda: pfer_bound(None, 0.75, 50), "a bound needs both, got q = None"),
        (lambda: unimodal_bound(5, 0.75, 50, "x"), "n_pairs must be a number, not 'x'"),
        (
            lambda: chosen().substitutes([[True, False]]),
            r"categories .* \[\[True, False",
        ),
        (
            lambda: with_clusters(rvamp(D.A, D.y, 0.1), [[0.0, 1.0]]),
            r"clusters .* \[0.0, 1.0\]",
        ),
        (
            lambda: with_clusters(rvamp(D.A, D.y, 0.1), [[0, True]]),
            r"clusters .* \[0, True\]",
        ),
        (lambda: rvamp(D.A, D.y, 0.1, resampling=Own(var=-1)), "var = -1, but .* 0.25"),
        (lambda: rvamp(D.A, D.y, 0.1, resampling=Own(mean=3)), "mean = 3, but .* 0.5"),
        (lambda: chosen(resampling=Own(draw=NAN_DRAWS)), "resampling: a draw .* NaN"),
        (lambda: chosen(resampling=Own(draw=BELOW)), "resampling: Own.* and drew -1"),
        (lambda: chosen(resampling=Own(mean=0.7)), "resampling: Own.* mean = 0.7"),
        (lambda: chosen(resampling=Own(draw=LATE)), "Own.* and drew -1"),
        (lambda: boot(resampling=Own(draw=NAN_DRAWS)), "resampling: a draw .* NaN"),
    ],
)
def test_it_is_refused_by_name(ask, words):
    with pytest.raises((TypeError, ValueError), match=words):
        ask()


def test_a_law_of_ones_own_that_is_right_is_taken():
    assert rvamp(D.A, D.y, 0.1, resampling=Own()).converged
    assert not chosen(resampling=Own(), n_resamples=20).refit_error_
    assert with_clusters(rvamp(D.A, D.y, 0.1), [[0, np.int8(1)], []]).converged


@pytest.mark.filterwarnings("ignore:do not trust this answer")
@pytest.mark.parametrize(
    "done, folder, error, words",
    [
        (None, "page", TypeError, "report: done must be a list of sentences, got None"),
        ("filled", "page", TypeError, "report: done .* got 'filled'"),
        (
            (),
            "there",
            NotADirectoryError,
            "report: folder is .*there, but .* is a file",
        ),
        ((), "there/page", NotADirectoryError, "page, but .*there is a file"),
    ],
)
def test_a_report_is_refused_before_the_pictures(
    done, folder, error, words, tmp_path, monkeypatch
):
    (tmp_path / "there").write_text("a file")
    late = lambda *args, **how: pytest.fail("the pictures were made")
    monkeypatch.setattr("rvamp_nb.select.report.report_files", late)
    with pytest.raises(error, match=words):
        chosen(n_resamples=0).report(tmp_path / folder, done)
    assert not (tmp_path / "page").exists()


MANY_ROWS = gaussian_design(100, 10, noise=0.3, density=0.3, seed=0)


@pytest.fixture(scope="module")
def selector():
    return StabilitySelection(n_resamples=0, verbose=0).fit(MANY_ROWS.A, MANY_ROWS.y)


@pytest.mark.parametrize(
    "take, instead",
    [(free_energy, "fit_"), (stability_radius, "fit_"), (refine, "refine")],
)
def test_who_gives_a_selector_is_told_what_to_pass(selector, take, instead):
    wanted = "take its method refine" if instead == "refine" else "selector.fit_"
    with pytest.raises(TypeError, match=wanted) as refused:
        take(selector)
    assert "StabilitySelection(" in str(refused.value)
    given = getattr(selector, instead)
    assert given(verbose=False) if instead == "refine" else take(given) is not False


def test_effects_of_the_table_of_a_selector_are_those_of_the_lines_in_the_refusal(
    selector,
):
    """The error has the lines that a user can copy."""
    with pytest.raises(TypeError, match="a Fit of rvamp without resampling") as refused:
        debiased_effects(selector)
    lines = str(refused.value).partition("write ")[2].partition(". Got")[0].split("; ")
    known = dict(vars(rvamp_nb), X=MANY_ROWS.A, y=MANY_ROWS.y)
    known |= {name: getattr(rvamp_nb, name) for name in rvamp_nb.__all__}
    exec("; ".join(lines[:-1]), known)
    found = eval(lines[-1], known)
    assert (
        len(found.estimate) == MANY_ROWS.A.shape[1]
        and (found.status == "interval").any()
    )


@pytest.mark.parametrize("number, size", [(1e-170, "small"), (1e200, "large")])
def test_numbers_whose_squares_are_none_are_refused(number, size):
    with pytest.raises(ValueError, match=f"^Law: tau = .* is too {size}: change the"):
        check_number("Law", "tau", number, 0)
    assert check_number("Law", "tau", 0, 0, closed="[") == 0
    assert check_number("Law", "beta", np.inf, 0, closed="]") == np.inf
