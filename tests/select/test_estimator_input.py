"""Everything that StabilitySelection must refuse, each with an error that names what
was wrong.
"""

import warnings
from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from predictor import predictor
from scipy import sparse

from rvamp_nb import BaggedRegressor, StabilitySelection, rvamp
from rvamp_nb.algorithm.likelihood import Huber, Squared
from rvamp_nb.algorithm.prior import ElasticNet, Laplace, NonNegative, Ridge, SpikeSlab
from rvamp_nb.algorithm.resampling import (
    Discrete,
    Exponential,
    Poisson,
    Stratified,
    Subsample,
    TwoPoint,
)
from rvamp_nb.course.multinomial import Multinomial
from rvamp_nb.datasets import standardize
from rvamp_nb.exceptions import ReliabilityWarning
from rvamp_nb.inference.refits import refitter
from rvamp_nb.select.error_control import error_control, pfer_bound, unimodal_bound
from rvamp_nb.select.features import family_of
from rvamp_nb.select.networks import read_nodes
from rvamp_nb.select.question import _ALLOWED, check_options, path_options
from rvamp_nb.select.target import (
    check_estimable,
    huber_delta,
    read_target,
    row_roles,
    suspected,
    weighted_median,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 6))
Y = X[:, 0] + 0.5 * rng.normal(size=40)
FRAME = pd.DataFrame(X, columns=list("abcdef"))
LABELS = np.where(Y > 0, "yes", "no")
COUNTS = rng.poisson(2.0, size=40)


def altered(value, at=(3, 2)):
    other = X.copy()
    other[at] = value
    return other


def with_y(value):
    other = Y.copy()
    other[5] = value
    return other


def fit(X=X, y=Y, **options):
    return lambda: StabilitySelection(**dict(n_resamples=0) | options).fit(X, y)


@cache
def fitted(**options):
    return StabilitySelection(**dict(n_resamples=0, lambdas=8) | options).fit(X, Y)


def levels(categories):
    return lambda: fitted().summary(categories=categories)


def survived():
    times = np.column_stack([np.ones(len(Y)), np.exp(Y)])
    return StabilitySelection(loss="survival", n_resamples=0).fit(X, times)


def with_rows(**said):
    return lambda: StabilitySelection(n_resamples=0).fit(X, Y, **said)


WIDE = rng.normal(size=(40, 30))


class NotPandas:
    """Columns of named kinds, as polars has them."""

    def __init__(self, **kinds):
        self.columns, self.dtypes = list(kinds), list(kinds.values())


def astray(form, index):
    """A sparse table with one index that leads out of it."""
    A = getattr(sparse, f"{form}_array")(np.where(X > 0, X, 0))
    (A.coords[0] if form == "coo" else A.indices)[3] = index
    return A


GROUP = (np.arange(40) < 8) * 1.0  # never penalised below
BESIDE, FREE = np.column_stack([X, GROUP]), dict(penalty_factor=[1] * 6 + [0])
SOME = np.where(np.arange(40) == 3, 1, COUNTS * (GROUP == 0))  # one count in the group
LIVED = np.column_stack([(np.arange(40) % 2) * (GROUP == 0), 41.0 - np.arange(40)])


def with_offset(offset, y, **options):
    return lambda: StabilitySelection(n_resamples=0, **options).fit(X, y, offset=offset)


TRIALS = np.full(40, 8.0)


def put(v, where, value):
    return np.where(np.arange(40) == where, value, v)


def with_trials(y=None, n_trials=TRIALS, loss="auto"):
    y = np.minimum(COUNTS, 8) if y is None else y
    return lambda: StabilitySelection(loss=loss, n_resamples=0).fit(
        X, y, n_trials=n_trials
    )


DAYS = pd.date_range("2020", periods=39)
DATED = {  # {kind: a column}
    "dates": DAYS,
    "dates of a time zone": DAYS.tz_localize("UTC"),
    "durations": DAYS - DAYS[0],
    "periods": DAYS.to_period("D"),
    "categories that are dates": pd.Categorical(DAYS),
    "objects that are datetimes": pd.Series(DAYS.to_pydatetime(), dtype=object),
    "objects that are dates": DAYS.date,
    "objects that are times": DAYS.time,
    "objects that are timestamps": pd.Series(DAYS, dtype=object),
    "objects that are timedeltas": pd.Series(DAYS - DAYS[0], dtype=object),
    "objects of numpy": pd.Series(list(DAYS.to_numpy()), dtype=object),
}


# what: (a call that must be refused, a word that the message must hold)
BAD = {
    "X sparse by rows, astray": (fit(astray("csr", 60)), "table is damaged (indices"),
    "X sparse by columns, astray": (fit(astray("csc", -1)), "table is damaged"),
    "X sparse and astray": (fit(astray("coo", 60)), "table is damaged"),
    # coefficients without a finite value
    "a group without counts": (
        fit(BESIDE, COUNTS * (GROUP == 0), loss="poisson", **FREE),
        "x6 is never penalised and separates y in the table",
    ),
    "a group with one count": (
        fit(BESIDE, SOME, loss="poisson", **FREE),
        "separates y in 12 of 20 resamples",
    ),
    "a group of one class": (
        fit(BESIDE, GROUP + (Y > 0) > 0, **FREE),
        "x6 is never penalised and separates y in the table",
    ),
    "a group without events": (
        fit(BESIDE, LIVED, loss="survival", **FREE),
        "merge its",
    ),
    "classes that a sum separates": (
        fit(y=X[:, 0] + X[:, 1] > 0, penalty_factor=[0, 0, 1, 1, 1, 1]),
        "x0, x1 is never penalised and separates y in the table",
    ),
    "next to no counts": (
        fit(y=(np.arange(40) == 3) * 1, loss="poisson"),
        "the intercept has no finite value; more events",
    ),
    # an offset that is an exposure
    "offset of counts": (
        with_offset(100.0 + 2 * np.arange(40), COUNTS, loss="poisson"),
        "offset goes from 100 to 178",
    ),
    "offset of times": (with_offset(Y * 100, LIVED, loss="survival"), "logarithm"),
    "offset of classes": (with_offset(Y * 100, LABELS), "logarithm"),
    "categories 5": (levels(5), "by name or number, got 5"),
    "categories of half a column": (levels([[0, 1], [1.5]]), "[1.5]"),
    "categories of nothing": (levels([[0, None]]), "categories must be"),
    "categories as an array of labels": (
        levels(np.arange(6) % 2),
        "categories must be a dict {name: its columns} or a list of lists of columns",
    ),
    "refits without end": (
        fit(n_resamples=10**30),
        "n_resamples must be at least 0 and below 2",
    ),
    # the table
    "X with NaN": (fit(altered(np.nan)), "NaN"),
    "X with inf": (fit(altered(np.inf)), "inf"),
    "X with -inf": (fit(altered(-np.inf)), "inf"),
    "X 1d": (fit(X[:, 0]), "2D"),
    "X 3d": (fit(X[:, :, None]), "dim"),
    "X scalar": (fit(3.0), "2D"),
    "X empty": (fit(np.empty((0, 6))), "0 sample"),
    "X without columns": (fit(np.empty((40, 0))), "0 feature"),
    "X None": (fit(None), "array"),
    "X text": (fit(np.full((40, 6), "a")), "column 0 of X"),
    "X of a string": (fit("table.csv"), ""),
    "X complex": (fit(X + 1j), "omplex"),
    "X ragged": (fit([[1, 2], [3]] * 20), ""),
    "X sparse with NaN": (fit(sparse.csr_matrix(altered(np.nan))), "NaN"),
    "X sparse and complex": (fit(sparse.csr_array(X + 1j)), "omplex"),
    "X sparse and of one axis": (fit(sparse.coo_array(X[0])), "2D"),
    "X with None": (fit(np.where(np.arange(240).reshape(40, 6) == 7, None, X)), "NaN"),
    "X with a word in it": (fit(FRAME.assign(a="red")), "'a' of X holds 'red'"),
    "X with a word among numbers": (
        fit(FRAME.assign(d=[1.0] * 39 + ["?"])),
        "'d' of X holds '?'",
    ),
    "X with categories": (
        fit(FRAME.assign(b=pd.Categorical(["low", "high"] * 20))),
        "'b' of X holds 'low'",
    ),
    "X with missing categories": (fit(FRAME.assign(a=[None] * 40)), "NaN"),
    "X with one missing value": (
        fit(pd.DataFrame(altered(np.nan), columns=list("abcdef"))),
        "'c' misses 1 of 40 values: drop",
    ),
    "X with missing values in two columns": (
        fit(
            pd.DataFrame(
                altered(np.nan, at=(slice(5), slice(1, 3))), columns=list("abcdef")
            )
        ),
        "'b' misses 5 of 40 values, and 1 other",
    ),
    "X with a missing nullable value": (
        fit(FRAME.assign(e=pd.array([None] + [1, 2, 3] * 13, dtype="Int64"))),
        "'e' misses 1 of 40",
    ),
    "X with two columns of one name": (
        fit(pd.DataFrame(X, columns=list("abcdea"))),
        "two columns of X are called 'a': rename",
    ),
    "X with one name of two kinds": (
        fit(FRAME.rename(columns={"a": 1, "b": "1"})),
        "two columns of X are called '1'",
    ),
    # rows that do not belong together
    "y of the same labels in another order": (
        fit(FRAME, pd.Series(Y)[::-1]),
        "y has the row labels of X in another order: give y.loc[X.index]",
    ),
    "y of the same labels, twice each, in another order": (
        fit(FRAME.set_axis(np.arange(40) // 2), pd.Series(Y, np.arange(40) % 20)),
        "y has the row labels of X in another order",
    ),
    "X and y swapped": (fit(pd.Series(Y), FRAME), "are they swapped? Call fit(X, y)"),
    "y of successes and trials": (
        fit(y=np.column_stack([COUNTS, COUNTS + 3])),
        "survival'): of successes out of trials give the successes as y, the trials of",
    ),
    "trials that are not whole": (
        with_trials(n_trials=put(TRIALS, 3, 2.5)),
        "n_trials must hold whole numbers >= 1, got 2.5 in row 3",
    ),
    "a row without trials": (
        with_trials(n_trials=put(TRIALS, 5, 0)),
        "got 0 in row 5 (counted from 0): drop rows without a trial",
    ),
    "a share of trials": (
        with_trials(y=put(COUNTS, 2, 0.5)),
        "y must hold whole numbers >= 0, got 0.5 in row 2 (counted from 0): with",
    ),
    "more successes than trials": (
        with_trials(y=put(COUNTS, 7, 9)),
        "y must be at most n_trials, got 9 of 8 in row 7",
    ),
    "trials of counts": (
        with_trials(loss="poisson"),
        "n_trials: of successes out of trials the loss is 'logistic' (or 'auto'), got",
    ),
    "successes in one row": (
        with_trials(y=1 * (np.arange(40) == 3)),
        "successes, or failures, in one row at most",
    ),
    "the same share everywhere": (with_trials(y=np.full(40, 4)), "y is constant (0.5"),
    "words of trials": (with_trials(y=["a", "b"] * 20), "y must hold real numbers"),
    "trials of half the rows": (
        with_trials(n_trials=TRIALS[:20]),
        "n_trials must hold",
    ),
    "no trials": (with_trials(n_trials=0 * TRIALS), "got 0 in row 0"),
    "a penalty factor by label and by text": (
        fit(FRAME.set_axis(range(5, 11), axis=1), penalty_factor={7: 0, "7": 1}),
        "penalty_factor names a column twice: [7, '7']",
    ),
    "a penalty factor of a label that is none": (
        fit(FRAME.set_axis(range(5, 11), axis=1), penalty_factor={0: 0}),
        "penalty_factor names 0, which is no column of X: its columns are 5, 6",
    ),
    "X of 1 row": (fit(X[:1], Y[:1]), "1 sample"),
    "X of 2 rows": (fit(X[:2], Y[:2]), "minimum of 4"),
    "X of 3 rows": (fit(X[:3], Y[:3]), "minimum of 4"),
    "X of a dict": (fit({"a": 1}), ""),
    "X all constant": (fit(np.ones((40, 3))), "constant"),
    "X all zero": (fit(np.zeros((40, 3))), "constant"),
    "X too large": (fit(altered(1e400)), "inf"),
    # the target
    "y None": (fit(y=None), "y"),
    "y too short": (fit(y=Y[:-1]), "inconsistent"),
    "y too long": (fit(y=np.r_[Y, 0]), "inconsistent"),
    "y 2d": (fit(y=np.c_[Y, Y]), "1d"),
    "y with times and events": (fit(y=np.c_[np.abs(Y), Y > 0]), "survival"),
    "y of several columns": (fit(y=np.c_[Y, Y, Y]), "3 columns: fit one target"),
    "y a frame of two columns": (fit(y=pd.DataFrame(np.c_[Y, Y])), "2 columns"),
    "y structured": (
        fit(
            y=np.array([(True, v) for v in Y], dtype=[("event", bool), ("time", float)])
        ),
        "structured (fields event, time), as survival",
    ),
    "y masked": (fit(y=np.ma.array(Y, mask=np.arange(40) == 3)), "masked"),
    "y datetime64": (fit(y=np.arange(40).astype("datetime64[D]")), "dates"),
    "y timedelta64": (fit(y=np.arange(40).astype("timedelta64[s]")), "durations"),
    "X masked": (fit(np.ma.array(X, mask=X > 2.2)), "X is a masked array"),
    "X datetime64": (
        fit(np.arange(240).reshape(40, 6).astype("datetime64[D]")),
        "X holds dates",
    ),
    "X of polars dates": (
        fit(NotPandas(a="Float64", b="Datetime(time_unit='us')")),
        "column 'b' of X holds dates or times (Datetime",
    ),
    "y scalar": (fit(y=1.0), "1d"),
    "y empty": (fit(y=[]), ""),
    "y with NaN": (fit(y=with_y(np.nan)), "NaN"),
    "y with inf": (fit(y=with_y(np.inf)), "inf"),
    "y with -inf": (fit(y=with_y(-np.inf)), "inf"),
    "y complex": (fit(y=Y + 1j), "omplex"),
    "y constant": (fit(y=np.full(40, 2.5)), "constant"),
    "y constant integers": (fit(y=np.full(40, 2)), "constant"),
    "y one word": (fit(y=["yes"] * 40), "2 to 6"),
    "y one truth value": (fit(y=np.ones(40, dtype=bool)), ""),
    "y seven words": (fit(y=np.array(list("abcdefg") * 5 + list("abcde"))), "2 to 6"),
    "y words and squared loss": (fit(y=LABELS, loss="squared"), "text"),
    "y words and Poisson loss": (fit(y=LABELS, loss="poisson"), "text"),
    "y words and numbers": (fit(y=np.array(["a", 1.0] * 20, dtype=object)), ""),
    "y with None": (fit(y=np.array([None, 1.0, 2.0, 3.0] * 10, dtype=object)), "None"),
    "y numbers as text": (fit(y=[str(v) for v in Y]), "written as text"),
    "y of lists": (fit(y=[[1], [2, 3]] * 20), ""),
    "y dates": (fit(y=pd.date_range("2020", periods=40)), ""),
    "y too large": (fit(y=Y * 1e160), "unit"),
    "y too small": (fit(y=Y * 1e-160), "unit"),
    "y numbers and logistic loss": (fit(loss="logistic"), "two classes"),
    "y three classes and logistic loss": (
        fit(y=np.arange(40) % 3, loss="logistic"),
        "two classes",
    ),
    "y one class and logistic loss": (
        fit(y=np.zeros(40), loss="logistic"),
        "two classes",
    ),
    "y negative and Poisson loss": (fit(loss="poisson"), ">= 0"),
    "y one row in a class": (fit(y=(np.arange(40) == 3).astype(int)), "one row"),
    # error control
    "threshold 1/2": (fit(threshold=0.5), "threshold"),
    "threshold 0.3": (fit(threshold=0.3), "threshold"),
    "threshold 0": (fit(threshold=0), "threshold"),
    "threshold -1": (fit(threshold=-1), "threshold"),
    "threshold 1.1": (fit(threshold=1.1), "threshold"),
    "threshold nan": (fit(threshold=np.nan), "threshold"),
    "threshold text": (fit(threshold="0.6"), "threshold"),
    "threshold True": (fit(threshold=True), "threshold"),
    "threshold list": (fit(threshold=[0.6]), "threshold"),
    "pfer 0": (fit(pfer=0), "pfer"),
    "pfer -1": (fit(pfer=-1), "pfer"),
    "pfer nan": (fit(pfer=np.nan), "pfer"),
    "pfer inf": (fit(pfer=np.inf), "pfer"),
    "pfer text": (fit(pfer="1"), "pfer"),
    "q 0": (fit(q=0), "q"),
    "q -2": (fit(q=-2), "q"),
    "q above the number of columns": (fit(q=7), "q"),
    "q nan": (fit(q=np.nan), "q"),
    "q inf": (fit(q=np.inf), "q"),
    "q text": (fit(q="few"), "q"),
    "all three": (fit(threshold=0.6, pfer=1, q=2), "at most two"),
    "pfer and q contradict": (fit(pfer=0.01, q=5), "contradict"),
    "pfer and q contradict, unimodal": (fit(pfer=0.1, q=4, bound="unimodal"), "0.577"),
    "unimodal with q large": (fit(threshold=0.9, q=5, bound="unimodal"), "0.577"),
    "unimodal with threshold low": (
        fit(threshold=0.51, q=3, bound="unimodal"),
        "threshold",
    ),
    "gaussian with q large": (fit(threshold=0.9, q=5, bound="gaussian"), "1/2"),
    "gaussian at threshold 1": (fit(threshold=1, q=2, bound="gaussian"), "below 1"),
    "bound unknown": (fit(bound="fdr"), "bound"),
    "bound None": (fit(bound=None), "bound"),
    "bound a list": (fit(bound=["mb"]), "bound"),
    "pfer under Poisson counts": (fit(pfer=1, resampling="poisson"), "pfer"),
    "pfer under large subsamples": (fit(pfer=1, resampling=Subsample(0.8)), "pfer"),
    # the model
    "loss unknown": (fit(loss="absolute"), "loss"),
    "loss None": (fit(loss=None), "loss"),
    "loss a number": (fit(loss=2), "loss"),
    "loss an unused sigma": (fit(loss=Squared(2.0)), "rescale the penalty"),
    "loss a class": (fit(loss=Huber), "loss"),
    "loss huber of a target that hardly varies": (
        fit(y=np.r_[np.zeros(30), np.arange(10.0)], loss="huber"),
        "give loss=Huber(delta)",
    ),
    "y three classes, with the remedy": (
        fit(y=np.array(["a", "b", "c", "a"] * 10), loss="logistic"),
        "3 to 6 together are for loss='softmax'",
    ),
    "elastic net of a vast y": (
        fit(y=1e12 * Y, prior=ElasticNet(1.0, l1_ratio=0.5)),
        "another unit",
    ),
    "prior without a threshold": (fit(prior=Ridge(1.0)), "no threshold"),
    "prior an elastic net that is ridge": (
        fit(prior=ElasticNet(1.0, l1_ratio=0)),
        "no threshold",
    ),
    "prior of a posterior": (fit(prior=SpikeSlab(0.1, 1.0)), "no share of resamples"),
    "prior a class": (fit(prior=ElasticNet), "prior"),
    "prior a number": (fit(prior=0.5), "prior"),
    "prior with a law without draws": (
        fit(prior=Laplace(1.0, SimpleNamespace(nodes=lambda: (np.ones(1),) * 2))),
        "randomize",
    ),
    "prior of too few columns": (
        fit(prior=Laplace(1.0, penalty_factor=np.ones(5))),
        "each of the 6 columns",
    ),
    "prior positive, and unpenalised beside it": (
        fit(prior=NonNegative(1.0), penalty_factor={"x0": 0}),
        "no covariate that always stays in",
    ),
    "prior positive and unpenalised": (
        fit(prior=NonNegative(1.0, penalty_factor=[0, 1, 1, 1, 1, 1])),
        "no covariate that always stays in",
    ),
    # what is said of the rows, refits, categories
    "groups too short": (with_rows(groups=range(39)), "one entry for each of the 40"),
    "groups 2d": (with_rows(groups=np.zeros((40, 2))), "groups"),
    "groups with NaN": (with_rows(groups=[np.nan, *range(39)]), "1 rows have no label"),
    "groups with None": (with_rows(groups=[None, *range(39)]), "no label"),
    "groups too few": (with_rows(groups=np.arange(40) % 3), "3 different labels"),
    "groups one word": (with_rows(groups="patient"), "groups"),
    "strata too long": (with_rows(strata=range(41)), "strata must hold one entry"),
    "strata with NaN": (with_rows(strata=[np.nan, *range(39)]), "strata"),
    "strata that cut a group": (
        with_rows(groups=np.arange(40) // 2, strata=np.arange(40) % 2),
        "strata",
    ),
    "sample_weight too short": (with_rows(sample_weight=np.ones(39)), "sample_weight"),
    "sample_weight negative": (
        with_rows(sample_weight=-np.ones(40)),
        "sample_weight must be >= 0",
    ),
    "sample_weight all 0": (with_rows(sample_weight=np.zeros(40)), "not all zero"),
    "sample_weight NaN": (with_rows(sample_weight=with_y(np.nan)), "sample_weight has"),
    "sample_weight a number": (with_rows(sample_weight=2.0), "sample_weight"),
    "sample_weight text": (with_rows(sample_weight=["a"] * 40), "sample_weight"),
    "sample_weight of three rows": (
        with_rows(sample_weight=np.arange(40) > 36),
        "3 rows, of those that weigh something",
    ),
    "offset too long": (with_rows(offset=np.zeros(41)), "offset must hold one entry"),
    "offset NaN": (with_rows(offset=with_y(np.nan)), "offset has NaN"),
    "offset a table": (with_rows(offset=np.zeros((40, 2))), "offset"),
    "refits too few": (fit(n_resamples=5), "n_resamples"),
    "refits negative": (fit(n_resamples=-1), "n_resamples"),
    "refits text": (fit(n_resamples="100"), "n_resamples"),
    "accuracy zero": (fit(accuracy=0), "accuracy must lie in (1e-06, 0.5)"),
    "accuracy one half": (fit(accuracy=0.5), "accuracy must lie in (1e-06, 0.5)"),
    "accuracy of a billionth": (fit(accuracy=1e-9), "accuracy must lie in"),
    "accuracy text": (fit(accuracy="0.02"), "accuracy"),
    "categories unknown": (levels({"sex": ["male"]}), "categories names 'male'"),
    "categories out of range": (levels([[0, 6]]), "categories names 6"),
    "categories twice": (levels([[0, 1], [1, 2]]), "is in two sets"),
    "categories empty": (levels({"sex": []}), "categories: set 0"),
    "random_state negative": (fit(random_state=-1), "from 0 on"),
    "random_state a half": (fit(random_state=0.5), "from 0 on"),
    "random_state True": (fit(random_state=True), "from 0 on"),
    "random_state a generator": (
        fit(random_state=np.random.default_rng(0)),
        "give a whole number from 0 on, or None",
    ),
    "random_state of old": (
        fit(random_state=np.random.RandomState(0)),
        "give a whole number from 0 on, or None",
    ),
    "random_state of decoys": (
        lambda: fitted().q_values(random_state="a"),
        "give a whole number from 0 on, or None",
    ),
    "survival of numbers": (fit(loss="survival"), "event and time"),
    "survival of nobody": (fit(y=None, loss="survival"), "event and time"),
    "survival without an event": (
        fit(y=np.c_[np.zeros(40), np.arange(40) + 1.0], loss="survival"),
        "no event",
    ),
    "survival of three columns": (
        fit(y=np.c_[Y > 0, Y**2, Y**2], loss="survival"),
        "start must be before stop",
    ),
    "survival too short": (
        fit(y=np.c_[Y > 0, Y**2][:-1], loss="survival"),
        "inconsistent",
    ),
    "resampling unknown": (fit(resampling="jackknife"), "resampling"),
    "resampling None": (fit(resampling=None), "resampling"),
    "resampling a number": (fit(resampling=0.5), "resampling"),
    "resampling a class": (fit(resampling=Subsample), "resampling"),
    "resampling of penalties": (fit(resampling=TwoPoint()), "resampling"),
    "resampling tied": (fit(resampling=Multinomial(0.5)), "Multinomial"),
    "penalty_factor negative": (
        fit(penalty_factor=[-1, 1, 1, 1, 1, 1]),
        "penalty_factor",
    ),
    "penalty_factor too short": (fit(penalty_factor=[1, 1]), "penalty_factor"),
    "penalty_factor too long": (fit(penalty_factor=np.ones(7)), "penalty_factor"),
    "penalty_factor a number": (fit(penalty_factor=1.0), "penalty_factor"),
    "penalty_factor nan": (
        fit(penalty_factor=[np.nan, 1, 1, 1, 1, 1]),
        "penalty_factor",
    ),
    "penalty_factor inf": (
        fit(penalty_factor=[np.inf, 1, 1, 1, 1, 1]),
        "penalty_factor",
    ),
    "penalty_factor text": (fit(penalty_factor=list("abcdef")), "penalty_factor"),
    "penalty_factor all 0": (fit(penalty_factor=np.zeros(6)), "penalty_factor"),
    "penalty_factor 0 for too many": (
        fit(WIDE, penalty_factor=np.r_[np.zeros(15), np.ones(15)]),
        "15 columns have penalty factor 0 (x0, x1, x2, x3, ...): too many",
    ),
    "penalty_factor 0 for columns that repeat each other": (
        fit(np.c_[X, X[:, 0] - 2 * X[:, 1]], penalty_factor=[0, 0, 1, 1, 1, 1, 0]),
        "column x6 has penalty factor 0, and so have columns of which",
    ),
    "penalty_factor 0 for columns that explain all others": (
        fit(X[:, [0, 1, 0]] + [0, 0, 5], penalty_factor=[0, 0, 1]),
        "explain all others",
    ),
    "penalty_factor unknown name": (fit(FRAME, penalty_factor={"age": 0}), "'age'"),
    "penalty_factor text in dict": (
        fit(FRAME, penalty_factor={"a": "none"}),
        "penalty_factor",
    ),
    # the path
    "lambdas unsorted": (fit(lambdas=[1.0, 3.0, 2.0]), "lambdas"),
    "lambdas increasing": (fit(lambdas=[1.0, 2.0, 3.0]), "decreasing"),
    "lambdas repeated": (fit(lambdas=[2.0, 2.0, 1.0]), "lambdas"),
    "lambdas negative": (fit(lambdas=[1.0, -1.0]), "lambdas"),
    "lambdas with 0": (fit(lambdas=[1.0, 0.0]), "lambdas"),
    "lambdas with NaN": (fit(lambdas=[1.0, np.nan]), "lambdas"),
    "lambdas with inf": (fit(lambdas=[np.inf, 1.0]), "lambdas"),
    "lambdas empty": (fit(lambdas=[]), "lambdas"),
    "lambdas a number": (fit(lambdas=1.0), "penalties are a list, as in [0.5]"),
    "lambdas one": (fit(lambdas=1), "lambdas must be at least 2, got 1: it is the num"),
    "lambdas 2d": (fit(lambdas=[[2.0, 1.0]]), "lambdas"),
    "lambdas text": (fit(lambdas="auto"), "lambdas"),
    "lambdas 2.5": (fit(lambdas=2.5), "penalties are a list, as in [0.5]"),
    "lambdas True": (fit(lambdas=True), "penalties are a list, as in [0.5]"),
    "tol 0": (fit(tol=0), "tol"),
    "tol text": (fit(tol="1e-6"), "tol"),
    # after the fit
    "transform before fit": (
        lambda: StabilitySelection(n_resamples=0).transform(X),
        "not fitted",
    ),
    "predict before fit": (
        lambda: BaggedRegressor(StabilitySelection()).predict(X),
        "not fitted",
    ),
    "summary before fit": (
        lambda: StabilitySelection(n_resamples=0).summary(),
        "not fitted",
    ),
    "refine before fit": (
        lambda: StabilitySelection(n_resamples=0).refine(),
        "not fitted",
    ),
    "plot before fit": (
        lambda: StabilitySelection(n_resamples=0).plot_path(),
        "not fitted",
    ),
    "transform of other columns": (lambda: fitted().transform(X[:, :5]), "features"),
    "predict of other columns": (
        lambda: predictor(fitted()).predict(X[:, :5]),
        "features",
    ),
    "predict with NaN": (lambda: predictor(fitted()).predict(altered(np.nan)), "NaN"),
    "predict 1d": (lambda: predictor(fitted()).predict(X[0]), "2D"),
    "an interval of a count": (
        lambda: (
            BaggedRegressor(StabilitySelection(n_resamples=0, loss="poisson"))
            .fit(X, np.rint(9 * (Y - Y.min())))
            .predict_interval(X)
        ),
        "one of y - f, squared or huber, not poisson",
    ),
    "an interval from groups": (
        lambda: (
            BaggedRegressor(StabilitySelection(n_resamples=0))
            .fit(X, Y, groups=np.arange(len(Y)) // 2)
            .predict_interval(X)
        ),
        "drawn one by one, not of `groups`",
    ),
    "an interval of all": (lambda: predictor(fitted()).predict_interval(X, 1), "level"),
    "an interval of nearly all": (
        lambda: predictor(fitted()).predict_interval(X, 0.999),
        "needs more than 40 rows; with these it is at most 0.976",
    ),
    "families without refits": (
        lambda: fitted().family_probabilities([[0, 1]]),
        "no refits",
    ),
    "a table of families without refits": (
        lambda: fitted().summary([[0, 1]]),
        "no refits",
    ),
    "families that overlap": (
        lambda: fitted(n_resamples=10).family_probabilities({"a": [0, 1], "b": [1, 2]}),
        "families: column 1 is in two sets",
    ),
    "families of strangers": (
        lambda: fitted(n_resamples=10).family_probabilities({"a": ["nobody"]}),
        "families names 'nobody'",
    ),
    "families empty": (
        lambda: fitted(n_resamples=10).family_probabilities([[0], []]),
        "families: set 1 (from 0) holds no columns",
    ),
    "families of a number": (
        lambda: fitted(n_resamples=10).family_probabilities(3),
        "families must be",
    ),
    "refine with few refits": (lambda: fitted().refine(None, 5), "at least 10"),
    "refine with half a refit": (lambda: fitted().refine(None, 20.5), "n_resamples"),
    "refine with text": (lambda: fitted().refine(None, "100"), "n_resamples"),
    "refine with a negative seed": (
        lambda: fitted().refine(0.1, random_state=-1),
        "random_state must be at least 0",
    ),
    "refine to nothing": (
        lambda: fitted().refine(0),
        "accuracy must lie in (1e-06, 0.5)",
    ),
    "refine to a negative error": (lambda: fitted().refine(-0.1), "accuracy"),
    "refine to a number of refits": (lambda: fitted().refine(200), "accuracy"),
    "refine to a word": (lambda: fitted().refine("0.02"), "accuracy"),
    "refine without an end": (lambda: fitted().refine(None), "accuracy must be a num"),
    "interval of every level": (
        lambda: fitted().refine(None, 20, verbose=False).interval(1),
        "level",
    ),
    # the bounds alone
    "bound of no feature": (lambda: pfer_bound(1, 0.6, 0), "p"),
    "bound of q above p": (lambda: pfer_bound(11, 0.6, 10), "q"),
    "bound at 1/2": (lambda: pfer_bound(1, 0.5, 10), "threshold"),
    "bound of half a pair": (
        lambda: unimodal_bound(1, 0.9, 100, n_pairs=0.5),
        "n_pairs",
    ),
    "two of three": (lambda: error_control(10, threshold=0.6), "two"),
    "three of three": (lambda: error_control(10, 0.6, 1, 2), "two"),
}


@pytest.mark.parametrize("name", _ALLOWED)
def test_every_row_of_the_table_of_constraints_is_checked(name):
    """None may stay only where it is the default."""
    free = StabilitySelection().get_params()[name] is None
    for value in [object()] if free else [object(), None]:
        with pytest.raises((TypeError, ValueError), match=name):
            fit(**{name: value})()


@pytest.mark.filterwarnings("ignore:do not trust this answer without refits")
@pytest.mark.parametrize("what", BAD)
def test_it_is_refused(what):
    call, word = BAD[what]
    with pytest.raises((TypeError, ValueError, AttributeError)) as refusal:
        call()
    message = str(refusal.value)
    assert word in message and len(message) > 15
    assert "not supported between" not in message and "can't multiply" not in message, (
        "an accident, no refusal"
    )


@pytest.mark.parametrize("kind", DATED)
def test_dates_of_pandas_are_called_dates(kind):
    frame = FRAME.assign(a=pd.Series(DATED[kind]))
    assert frame["a"].isna().sum() == 1  # a gap does not hide them
    with pytest.raises(ValueError, match="column 'a' of X holds dates or times") as e:
        fit(frame)()
    assert "turn them into numbers first, such as days since the first" in str(e.value)


@pytest.mark.parametrize("kind", ["datetime64[D]", "timedelta64[s]"])
def test_dates_have_one_message_in_features_and_target(kind):
    days = np.arange(240).astype(kind).reshape(40, 6)
    messages = []
    for call in (fit(days), fit(y=days[:, 0])):
        with pytest.raises(ValueError) as refusal:
            call()
        messages.append(str(refusal.value))
    assert messages[1] == messages[0].replace("X", "y", 1)


@pytest.mark.parametrize("kind", [int, float])
def test_codes_of_classes_are_warned_of(kind):
    codes = (np.digitize(Y, [-0.5, 0.5])).astype(kind)
    with pytest.warns(UserWarning, match="y holds 3 different whole numbers.*loss="):
        s = StabilitySelection(n_resamples=0, lambdas=8).fit(X, codes)
    assert s.loss_ == "squared"


def test_counts_are_noticed_whatever_their_number_of_values():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200, 5))
    exposure = np.exp(rng.normal(size=200))
    few, many, most = (rng.poisson(mean * exposure) for mean in (1, 3, 60))
    s = StabilitySelection(n_resamples=0, verbose=0, lambdas=[5.0])
    for y in (few, many, 1.0 * most, many + (many > 0)):
        (noted,) = (text for text in of(s, table, y) if "whole numbers" in text)
        assert s.loss_ == "squared" and "loss='poisson'" in noted
        assert "they are counts (offset=np.log(exposure), where" in noted
        assert "loss='squared'" in noted
    high = 90 + many  # none is near 0: only an exposure says that they are counts
    years, ranks = rng.integers(18, 90, size=200), rng.permutation(200)
    for y in (high, years, ranks, many - 1, many + 0.5):
        assert not any("whole numbers" in text for text in of(s, table, y))
    noted = of(s, table, high, offset=np.log(exposure))
    assert any("loss='poisson' says" in text for text in noted)


def test_an_order_of_levels_that_is_lost_is_named():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(90, 4))
    words = np.array(["low", "mid", "high"])[rng.integers(0, 3, size=90)]
    s = StabilitySelection(n_resamples=0, verbose=0, lambdas=[5.0])
    for ordered in (True, False):
        kind = pd.CategoricalDtype(["low", "mid", "high"], ordered=ordered)
        y = pd.Series(words).astype(kind)
        noted = [text for text in of(s, table, y) if "order" in text]
        assert s.loss_ == "softmax" and len(noted) == ordered
    y = pd.Series(words).astype(pd.CategoricalDtype(["low", "mid", "high"], True))
    (noted,) = (text for text in of(s, table, y) if "order" in text)
    assert "y has ordered levels ('low', 'mid', 'high')" in noted
    assert "step by step" in noted and "loss='squared'" in noted
    s.set_params(loss="softmax")
    assert not any("order" in text for text in of(s, table, y))


@pytest.mark.parametrize("y, loss", [(COUNTS, "squared"), (COUNTS, "poisson")])
def test_a_loss_that_is_given_is_not_warned_of(y, loss):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ReliabilityWarning)
        StabilitySelection(n_resamples=0, lambdas=8, loss=loss).fit(X, y)


@pytest.mark.filterwarnings("ignore:do not trust this answer without refits")
def test_masks_without_anything_masked_are_harmless():
    whole = np.ma.array(X, mask=False)
    with pytest.warns(ReliabilityWarning):
        s = StabilitySelection(n_resamples=0, lambdas=8).fit(whole, np.ma.array(Y))
    np.testing.assert_allclose(s.probabilities_, fitted().probabilities_)


def test_there_are_enough_of_them():
    assert len(BAD) >= 100


@pytest.mark.parametrize("loss, y", [("poisson", COUNTS), ("logistic", LABELS)])
def test_a_constant_offset_is_the_intercepts(loss, y):
    """However large: a logistic fit with 100 did not end."""
    plain, moved = (
        StabilitySelection(loss=loss, lambdas=[1.0], n_resamples=0).fit(
            X, y, offset=offset
        )
        for offset in (np.zeros(40), np.full(40, 100.0))
    )
    assert np.array_equal(plain.probabilities_, moved.probabilities_)
    assert moved.intercept_ == pytest.approx(plain.intercept_ - 100)


def test_offsets_of_rows_without_weight_do_not_count():
    weight, offset = np.r_[0.0, np.ones(39)], np.r_[900.0, np.arange(39) / 20]
    said = dict(sample_weight=weight, offset=offset)
    fits = [
        StabilitySelection(loss="poisson", lambdas=[1.0], n_resamples=0) for _ in "ab"
    ]
    one = fits[0].fit(X, COUNTS, **said)
    two = fits[1].fit(X, COUNTS, **said | dict(offset=np.r_[0.0, offset[1:]]))
    assert np.array_equal(one.probabilities_, two.probabilities_)


def test_what_is_kept_and_does_not_separate_is_fitted():
    said = []
    for k in (6, 3):  # events in the group
        events = np.where(np.cumsum(GROUP) * GROUP > k, 0, COUNTS + 1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            s = StabilitySelection(loss="poisson", n_resamples=0, **FREE)
            assert abs(s.fit(BESIDE, events).coef_mean_[6]) < 6
        said.append([str(w.message) for w in caught if "separates" in str(w.message)])
    assert not said[0] and "x6" in said[1][0] and "of 20 resamples" in said[1][0]


@pytest.mark.parametrize("y", [Y, LABELS, LIVED], ids=["numbers", "classes", "times"])
def test_the_callers_errstate_does_not_matter(y):
    loss = "survival" if np.ndim(y) == 2 else "auto"
    ask = lambda: StabilitySelection(loss=loss, lambdas=[0.8], n_resamples=20)
    expected = ask().fit(X, y).probabilities_
    with np.errstate(all="raise"):
        assert np.array_equal(ask().fit(X, y).probabilities_, expected)


# Labels of rows and columns -----------------------------------------------------------


def of(s, *given, **roles):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        s.fit(*given, **roles)
    return [str(warning.message) for warning in seen]


def labelled(kind):
    ids = pd.Index([f"s{i}" for i in range(40)])
    return FRAME.set_axis(ids), pd.Series(Y if kind == "y" else np.arange(40) % 9, ids)


@pytest.mark.parametrize("name", ["groups", "strata", "sample_weight", "offset"])
def test_what_goes_with_rows_by_label_is_never_taken_by_position(name):
    table, beside = labelled(name)
    with pytest.raises(ValueError, match=f"{name} has the row labels of X in another"):
        StabilitySelection(n_resamples=0).fit(table, Y, **{name: beside[::-1]})


def test_other_labels_are_named_and_the_position_counts():
    table, y = labelled("y")
    s = StabilitySelection(n_resamples=0, verbose=0, lambdas=[1.0])
    noted = of(s, table, y.reset_index(drop=True))
    (said,) = (text for text in noted if text.startswith("y has other row labels"))
    assert "(0 where X has s0), and rows are taken by their position" in said
    found = s.probabilities_
    of_text = y.set_axis(pd.CategoricalIndex(y.index))  # labels of another type
    for same in (y, y.to_numpy(), y.rename("z"), of_text):
        assert not any("labels" in text for text in of(s, table, same))
        assert np.array_equal(found, s.probabilities_)


LABELLED = [
    [7157, 672, 675, 2064, 5728, 1956],
    list(range(1, 7)),
    [300.25, 301.5, 400.0, 17.125, 2.5, 1e9],
    [("TP53", 1), ("TP53", 2), ("ESR1", 1), ("ESR1", 2), ("KIT", 1), ("KIT", 2)],
    [np.str_(f"g{k}") for k in range(6)],
    [7157, "x", 2.5, ("a", 1), np.str_("b"), "c"],
]


@pytest.mark.parametrize("labels", LABELLED, ids=str)
def test_columns_are_called_by_their_labels_whatever_these_are(labels):
    tuples = all(isinstance(label, tuple) for label in labels)
    index = pd.MultiIndex.from_tuples if tuples else partial(pd.Index, dtype=object)
    table, texts = FRAME.set_axis(index(labels), axis=1), [*map(str, labels)]
    sets = {"two": [labels[2], labels[4]]}
    for kept, of in ((labels[1], sets), (texts[1], {"two": [texts[2], texts[4]]})):
        asked = dict(penalty_factor={kept: 0}, n_resamples=10, verbose=0)
        s = StabilitySelection(lambdas=[1.0], **asked).fit(table, Y)
        family = family_of(of, s.question_.columns.names, "categories")
        assert family.tolist() == [-1, -1, 0, -1, 0, -1]
        assert s.feature_names_in_.tolist() == texts
        assert set(s.summary().index) == set(texts)
        assert s.get_feature_names_out().tolist() == [texts[0], texts[1]]
        assert s.family_probabilities(sets)["leader"].iloc[0] in (texts[2], texts[4])
    np.testing.assert_array_equal(s.transform(table), X[:, :2])
    np.testing.assert_array_equal(
        predictor(s).predict(table), predictor(s).predict(FRAME.set_axis(texts, axis=1))
    )
    with pytest.raises(ValueError, match="feature names"):
        predictor(s).predict(FRAME)


def test_labels_that_nobody_gave_are_no_names():
    s = StabilitySelection(n_resamples=0, lambdas=[1.0], penalty_factor={2: 0})
    of(s, pd.DataFrame(X), Y)
    assert not hasattr(s, "feature_names_in_") and s.support_[2]
    assert s.get_feature_names_out().tolist() == ["x0", "x2"]
    predictor(s).predict(X)


# What may be the target, and where nothing could be selected --------------------------


@pytest.mark.parametrize("strong", range(1, 10))
def test_where_nothing_can_be_selected_it_says_so(strong):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200, strong))
    y = table.sum(1) + 0.5 * rng.normal(size=200)
    s = StabilitySelection(verbose=0, n_resamples=0)
    (said,) = (text for text in of(s, table, y) if "nothing could" in text)
    assert not s.support_.any() and f"{strong} strong feature" in said
    assert f"a mean Π of at most {s.q_ / strong:.2g}, and the threshold is" in said
    found = StabilitySelection(
        verbose=0, n_resamples=0, q=0.95 * strong, threshold=0.75
    )
    assert not any("nothing could" in text for text in of(found, table, y))
    assert found.support_.all()


def test_groups_of_columns_that_share_too_few_places_are_counted():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200, 12))
    y = table.sum(1) + 0.5 * rng.normal(size=200)
    groups = {f"g{k}": [2 * k, 2 * k + 1] for k in range(6)}
    s = StabilitySelection(verbose=0, n_resamples=0, column_groups=groups)
    noted = of(s, table, y)
    assert not s.support_.any()
    assert any("strong groups share q = 1.73 places" in text for text in noted)


def test_features_of_unequal_strength_are_not_said_to_lack_room():
    rng = np.random.default_rng(5)  # 120 strong features, the strongest has .55
    factors = rng.normal(size=(70, 3))
    table = factors @ rng.normal(size=(3, 300)) + rng.normal(size=(70, 300))
    y = factors @ [1, 0.8, 0.6] + 0.5 * rng.normal(size=70)
    s = StabilitySelection(verbose=0, n_resamples=0)
    noted = of(s, table, y)
    assert not s.support_.any() and s.probabilities_.max() > 5 * s.q_ / 120
    assert not any("nothing could" in text for text in noted)


def test_noise_is_not_said_to_lack_room():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        s = StabilitySelection(verbose=0, n_resamples=0)
        noted = of(s, rng.normal(size=(100, 20)), rng.normal(size=100))
        assert not s.support_.any() and not any("nothing could" in n for n in noted)


def test_a_number_that_may_stand_for_a_gap_is_named_by_fit():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(120, 6))).add_prefix("x")
    y = (2 * table["x0"] + rng.normal(size=120)).to_numpy()
    s = StabilitySelection(verbose=0, n_resamples=0)
    assert not any("stands for a gap" in text for text in of(s, table, y))
    table.loc[:2, "x0"] = -99
    for given, name in ((table, "x0"), (table.to_numpy(), "x0")):
        (noted,) = (text for text in of(s, given, y) if "stands for a gap" in text)
        remark = f"-99 comes several times, far from the rest: 3 in '{name}' (else "
        assert noted.startswith(remark)
        assert noted.endswith("gap, fill it in, or leave out the rows")


def test_a_gap_in_the_target_may_be_a_number():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.normal(50, 9, size=60)
    s = StabilitySelection(verbose=0, n_resamples=0)
    assert not any("stands for a gap" in text for text in of(s, X, y))
    y[:3] = -9
    assert any(text.startswith("-9 comes several times") for text in of(s, X, y))


def test_rows_of_a_refusal_are_called_as_the_table_calls_them():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 4)), [f"P{k}" for k in range(30)])
    X.columns = list("abcd")
    weight = np.where(np.arange(30) == 4, -1.0, 1.0)
    y = pd.Series(rng.normal(size=30), X.index)
    for name, label in ((None, "row P4"), ("patient", "patient P4")):
        X.index.name = name
        with pytest.raises(ValueError, match=f"got -1 in {label}$"):
            StabilitySelection().fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match=r"got -1 in row 4 \(counted from 0\)$"):
        StabilitySelection().fit(X.to_numpy(), y, sample_weight=weight)


def test_a_leak_is_named():
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.normal(size=(60, 8))).add_prefix("v")
    y = (table["v0"] + rng.normal(size=60) > 0).to_numpy()
    s = StabilitySelection(verbose=0, n_resamples=0, lambdas=[0.5])
    noise = rng.random(60)
    assert not any("leak" in text for text in of(s, table, y))
    noted = of(s, table.assign(score=y + 0.9 * noise), y)
    assert any("score separates the classes without an error" in n for n in noted)
    noted = of(s, table.assign(code=2 - y), y)
    assert any("code is the target in another unit" in text for text in noted)
    noted = of(s, table.assign(again=3 - 2 * table["v1"]), table["v1"])
    assert any("again is the target in another unit" in text for text in noted)


def test_what_chance_may_separate_is_no_leak():
    """With six rows of each class one column of 462 does so by chance."""
    rows, side = row_roles(12), np.repeat([0.0, 1.0], 6)
    target = read_target(side, "auto", rows, Subsample(0.5))
    column = (side + 0.1 * rng.random(12))[:, None]
    for many, named in ((400, 0), (4, 1)):
        names = [f"v{k}" for k in range(many)]
        assert len([*suspected(target, names, np.array([0]), column)]) == named


def test_ends_of_intervals_and_times_among_the_features_are_named():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(120, 5))).add_prefix("v")
    time = rng.exponential(np.exp(-table["v0"].to_numpy()))
    y = pd.DataFrame(dict(time=time, status=rng.random(120) < 0.8))
    s = StabilitySelection(verbose=0, n_resamples=0, loss="survival")
    assert not any("drop" in text for text in of(s, table, y))
    for start, stop in (("start", "stop"), ("tstart", "tstop"), ("Entry", "EXIT")):
        wider = table.assign(**{start: 0 * time + rng.random(120), stop: time})
        noted = of(s, wider, y)
        assert any(f"{start}, {stop} may be the ends of int" in n for n in noted)
        assert any(f"{stop} is the survival time" in text for text in noted)


@pytest.fixture(scope="module")
def three_sites():
    """Times at sites that differ in their hazard, and so does column 1, which has no
    effect: a table, the times and events, the sites.
    """
    rng = np.random.default_rng(8)
    table, site = rng.normal(size=(240, 12)), rng.integers(0, 3, 240)
    table[:, 1] = site + 0.5 * rng.normal(size=240)
    base = np.array([0.05, 1, 20])[site]
    dead = rng.exponential(1 / (base * np.exp(0.7 * table[:, 0])))
    left = rng.exponential(2 / base)
    return table, np.column_stack([np.minimum(dead, left), dead <= left]), site


def lasso_in_strata(Z, time, event, site, lam):
    """Cox's model with strata, by proximal gradient steps (no ties)."""
    x, L = np.zeros(Z.shape[1]), 1.0

    def loss_and_slope(x):
        loss, slope = 0.0, 0 * x
        for k in range(3):
            at = np.flatnonzero(site == k)
            at = at[np.argsort(-time[at])]
            z, died, risk = Z[at], event[at] > 0, np.exp(Z[at] @ x)
            there = np.cumsum(risk)
            mean = np.cumsum(risk[:, None] * z, 0) / there[:, None]
            loss -= np.sum((z @ x - np.log(there))[died])
            slope -= np.sum((z - mean)[died], 0)
        return loss, slope

    loss, slope = loss_and_slope(x)
    for _ in range(2000):
        new = x - slope / L
        new = np.sign(new) * np.maximum(np.abs(new) - lam / L, 0)
        step, (then, turned) = new - x, loss_and_slope(new)
        if then > loss + slope @ step + L / 2 * step @ step + 1e-12:
            L *= 2
            continue
        x, loss, slope, L = new, then, turned, 0.9 * L
        if np.abs(step).max() < 1e-9:
            break
    return x


@pytest.mark.filterwarnings("ignore::rvamp_nb.exceptions.ReliabilityWarning")
def test_the_level_of_a_cox_model_is_that_of_rows_that_count():
    """A row of weight two is two rows, in the mean of the offsets, too."""
    rng = np.random.default_rng(0)
    times = np.column_stack([rng.random(40) < 0.8, rng.exponential(size=40)])
    weight, offset, rows = 1.0 + np.arange(40) % 2, rng.normal(size=40), np.arange(40)
    how = dict(loss="survival", lambdas=[1.0], n_resamples=0, verbose=0)
    one, two = StabilitySelection(**how), StabilitySelection(**how)
    one.fit(X, times, sample_weight=weight, offset=offset, groups=rows)
    rows = np.repeat(rows, weight.astype(int))
    two.fit(X[rows], times[rows], offset=offset[rows], groups=rows)
    levels = one.question_.target.level, two.question_.target.level
    assert levels[0] == pytest.approx(levels[1], abs=1e-12)


def test_strata_of_survival_times_have_a_hazard_each(three_sites):
    """Against refits by other steps; what differs between sites alone is not selected,
    with one baseline for all it is.
    """
    table, y, site = three_sites
    s = StabilitySelection(verbose=0, loss="survival")
    assert not any("strat" in text for text in of(s, table, y, strata=site))
    # inside the sites the second column is noise, of length one like all others
    assert s.probabilities_[0] > 0.99 and s.probabilities_[1] < 0.15
    means = np.array([table[site == k].mean(0) for k in np.unique(site)])
    inside = table - means[np.unique(site, return_inverse=True)[1]]
    A = (table - table.mean(0)) / np.linalg.norm(inside, axis=0)
    rng = np.random.default_rng(0)
    law, ours = s.question_.counts, np.zeros((20, 12))
    drawn = [np.flatnonzero(law.draw(240, rng)) for _ in ours]
    x = [lasso_in_strata(A[i], *y[i].T, site[i], s.lambda_) for i in drawn]
    refits = refitter(s.fit_, s.baseline_)
    counts = np.array([np.isin(np.arange(240), i) * 1.0 for i in drawn])
    np.testing.assert_allclose(refits(counts, np.ones((20, 1)))[0], x, atol=1e-5)
    Pi = (np.array(x) != 0).mean(0)
    assert Pi[1] < 0.3 and np.abs(Pi - s.probabilities_).max() < 4 * 0.5 / 20**0.5
    one = dict(resampling=Stratified(Subsample(0.5), site), n_resamples=0)
    s = StabilitySelection(verbose=0, loss="survival", **one)
    of(s, table, y)
    assert s.baseline_.strata is None and s.probabilities_[1] > 0.99


@pytest.mark.parametrize("how", ["one time", "in strata", "never together"])
def test_deaths_that_are_compared_with_nobody_are_refused(how):
    """Weights of 0 are no company; one row that lives on is."""
    rng, rows = np.random.default_rng(0), np.arange(40)
    X, strata, w = rng.normal(size=(40, 3)), None, np.ones(40)
    start, time, event = 0.0 * rows, np.ones(40), np.ones(40)
    if how == "in strata":
        strata = rows % 3
        time = 1.0 + strata
    if how == "never together":
        start, time = 1.0 * rows, 1.0 + rows
    event[0] = w[0] = 0
    start[0], time[0] = 0, 50
    s = StabilitySelection(verbose=0, loss="survival", n_resamples=0)
    y = np.column_stack([event, start, time])
    with pytest.raises(ValueError, match="no death is compared with anyone"):
        s.fit(X, y, strata=strata, sample_weight=w)
    assert of(s, X, y, strata=strata) is not None and s.status_


def test_what_is_constant_inside_every_stratum_is_named(three_sites):
    table, y, site = three_sites
    beside = np.column_stack([table, site == 1, site == 2])
    for factor in (None, [1] * 12 + [0, 0]):
        s = StabilitySelection(verbose=0, loss="survival", n_resamples=0)
        s.penalty_factor = factor
        noted = of(s, beside, y, strata=site)
        assert any("inside every stratum are left out: x12, x13" in n for n in noted)
        assert not s.probabilities_[12:].any() and not s.support_[12:].any()
    s.penalty_factor = None
    with pytest.raises(ValueError, match="every column of X is constant"):
        s.fit(np.column_stack([site, site == 2]), y, strata=site)


def test_strata_with_an_event_or_none_are_named(three_sites):
    table, y, site = three_sites
    y, names = y.copy(), np.array(["ash", "birch", "cedar"])[site]
    y[site == 1, 1] = 0
    y[np.flatnonzero(site == 2)[1:], 1] = 0
    y[np.flatnonzero(site == 2)[0], 1] = 1
    s = StabilitySelection(verbose=0, loss="survival", n_resamples=0)
    noted = of(s, table, y, strata=names)
    (text,) = (n for n in noted if n.startswith("strata "))
    assert "strata birch without an event say nothing; strata cedar with one" in text
    assert "merge strata" in text and "on average" not in text
    kept = site != 1
    of(s, table, y, strata=names)
    assert not s.baseline_.hazard[~kept].any()


def test_strata_of_few_rows_are_named(three_sites):
    table, y, _ = three_sites
    s = StabilitySelection(verbose=0, loss="survival", n_resamples=0)
    (text,) = of(s, table, y, strata=np.arange(240) % 40)
    there = [
        (y[:, 0] >= y[mu, 0]) & (np.arange(240) % 40 == mu % 40) for mu in range(240)
    ]
    many = 0.5 * np.sum(there, 1) @ y[:, 1] / y[:, 1].sum()
    assert f"compared with {many:.1f} rows of its stratum on average" in text


def test_entries_that_never_overlap_are_named():
    start, seen = 10.0 * np.arange(40), np.arange(40) % 9 > 0
    stop = start + 1
    stop[0] = stop[1]  # none but these two
    s = StabilitySelection(verbose=0, loss="survival", n_resamples=0)
    with pytest.warns(UserWarning) as caught:
        s.fit(X, np.column_stack([start, stop, seen]))
    texts = [str(w.message) for w in caught]
    (text,) = (t for t in texts if "a death is compared" in t)
    assert "with 0.5 rows on average" in text and "check the entries" in text


def test_a_stratum_of_one_row_is_named():
    alone = np.where(np.arange(40) == 3, "north", "south")
    with pytest.raises(ValueError, match="stratum north .* 1: .*merge it with another"):
        StabilitySelection(n_resamples=0).fit(X, Y, strata=alone)


def test_late_entries_are_known_to_the_estimator(three_sites):
    table, y, site = three_sites
    start = y[:, 0] * np.random.default_rng(0).uniform(0, 0.9, 240)
    s = StabilitySelection(verbose=0, loss="survival", n_resamples=0)
    of(s, table, np.column_stack([start, y]), strata=site)
    late = s.probabilities_
    of(s, table, np.column_stack([y[:, 1], start, y[:, 0]]), strata=site)
    np.testing.assert_array_equal(s.probabilities_, late)
    of(s, table, np.column_stack([0 * start, y]), strata=site)
    early = s.probabilities_
    of(s, table, y, strata=site)
    np.testing.assert_allclose(s.probabilities_, early, atol=1e-9)
    assert np.abs(late - early).max() > 0.1


def test_shares_of_trials_are_named():
    y = np.random.default_rng(5).binomial(8, 1 / (1 + np.exp(-X[:, 0]))) / 8
    s = StabilitySelection(verbose=0, n_resamples=0, lambdas=[0.3])
    (said,) = (text for text in of(s, X, y) if "trials" in text)
    assert "shares k / 8" in said and "n_trials" in said
    s.set_params(loss="squared")
    assert not any("trials" in text for text in of(s, X, y))
    s.set_params(loss="auto")
    assert not any("trials" in text for text in of(s, X, rng.random(40)))


TIMES = np.random.default_rng(6).integers(2, 9, 40)
WON = np.random.default_rng(7).binomial(TIMES, 1 / (1 + np.exp(-X[:, 0])))


def test_successes_of_trials_are_predicted_as_shares():
    one = StabilitySelection(n_resamples=100, lambdas=[0.4]).fit(X, WON, n_trials=TIMES)
    assert one.loss_ == "logistic" and one.classes_ is None and one.support_[0]
    share, spread = predictor(one).predict(X, return_std=True)
    assert ((0 < share) & (share < 1)).all()
    assert np.corrcoef(share, WON / TIMES)[0, 1] > 0.5 and (spread > 0).all()
    twice = StabilitySelection(n_resamples=100, lambdas=[0.4])
    twice.fit(X, WON, n_trials=TIMES, sample_weight=np.full(40, 3.0))  # ratios matter
    np.testing.assert_array_equal(one.probabilities_, twice.probabilities_)


def test_trials_are_rows_that_are_drawn_together():
    """By groups of two weighted rows, whose fields are averaged with few nodes."""
    one, two = (StabilitySelection(n_resamples=0, q=2) for _ in range(2))
    one.fit(X, WON, n_trials=TIMES)
    side = dict(sample_weight=np.column_stack([WON, TIMES - WON]).ravel())
    side["groups"] = np.repeat(np.arange(40), 2)
    two.fit(np.repeat(X, 2, 0), np.tile([1, 0], 40), **side)
    np.testing.assert_allclose(one.probabilities_, two.probabilities_, atol=1e-3)


def test_a_share_between_labels_separates_nothing():
    rows = row_roles(12, n_trials=np.full(12, 2.0))
    target = read_target(np.repeat([0.0, 1, 2], 4), "auto", rows, Subsample(0.5))
    side = np.repeat([-1.0, 0, 1], 4)[:, None] / 8**0.5
    for Z, fine in ((side, False), (np.roll(side, 2), True)):
        try:
            check_estimable(target, Z, ["side"], Subsample(0.5))
            assert fine
        except ValueError:
            assert not fine


# Numbers that are missing -------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.coo_matrix])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_names_its_column_in_every_table(kind, value):
    said = "NaN: column 'x2' misses 1 of 40" if np.isnan(value) else "infinity.* 'x2'"
    with pytest.raises(ValueError, match=f"X contains {said}"):
        StabilitySelection(n_resamples=0).fit(kind(altered(value)), Y)


# Weights of the Huber loss ------------------------------------------------------------


def test_a_huber_row_of_weight_three_is_three_rows_drawn_together():
    rng = np.random.default_rng(9)
    table, w = rng.normal(size=(120, 15)), rng.integers(1, 4, 120)
    w[:20] = 30
    noise = np.where(np.arange(120) < 20, 0.3, 3) * rng.normal(size=120)
    y, each = (
        0.9 * table[:, 0] - 0.7 * table[:, 1] + noise,
        np.repeat(np.arange(120), w),
    )
    one, many = (StabilitySelection(loss="huber", n_resamples=0, q=4) for _ in range(2))
    one.fit(table, y, sample_weight=w)
    many.fit(table[each], y[each], groups=each)
    np.testing.assert_allclose(one.probabilities_, many.probabilities_, atol=2e-3)
    for some in (y, np.round(y), y[w == 3]):
        times = w[: len(some)]
        assert np.isclose(huber_delta(some, times), huber_delta(np.repeat(some, times)))
        assert weighted_median(some, times) == np.median(np.repeat(some, times))


# --- nothing leaves in the words of another library -----------------------------------
HOSTILE = np.random.default_rng(3).normal(size=(30, 4))
NUMBERS = HOSTILE[:, 0] + np.arange(30) / 30


@pytest.mark.parametrize(
    "make",
    [
        lambda X: np.char.add(X.astype(str), "a"),
        lambda X: np.char.add(X.astype(str), "a").tolist(),
        lambda X: np.column_stack([["a"] * 30, X]).astype(object),
        lambda X: [[10**400, 1], *X[1:, :2].tolist()],
    ],
)
def test_text_in_an_array_is_refused_by_its_column(make):
    with pytest.raises(ValueError, match="column 0 of X .* no 64-bit number: drop"):
        StabilitySelection(n_resamples=0).fit(make(HOSTILE), NUMBERS)


def test_numbers_as_text_are_taken():
    fits = [
        StabilitySelection(n_resamples=0).fit(X, NUMBERS).probabilities_
        for X in (HOSTILE, HOSTILE.astype(str), HOSTILE.astype(object))
    ]
    np.testing.assert_array_equal(fits[1:], [fits[0]] * 2)


def test_a_table_of_arrow_is_a_table():
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({f"c{i}": column for i, column in enumerate(HOSTILE.T)})
    fit = StabilitySelection(n_resamples=0).fit(table, NUMBERS)
    assert fit.feature_names_in_.tolist() == ["c0", "c1", "c2", "c3"]
    plain = StabilitySelection(n_resamples=0).fit(HOSTILE, NUMBERS)
    np.testing.assert_array_equal(fit.probabilities_, plain.probabilities_)
    assert fit.transform(table).shape == (30, fit.support_.sum())
    assert predictor(fit).predict(table).shape == (30,)
    with pytest.raises(ValueError, match="column 'text' of X holds 'a'"):
        fit.fit(table.append_column("text", arrow.array(["a"] * 30)), NUMBERS)


class Lazy:
    """A lazy frame, which warns where its columns are looked at, as polars' does."""

    def __init__(self, frame):
        self.frame = frame

    def collect(self):
        return self.frame

    def collect_schema(self):
        return SimpleNamespace(names=lambda: list(self.frame))

    @property
    def columns(self):
        warnings.warn("the schema is resolved", RuntimeWarning, stacklevel=2)


def test_a_lazy_frame_is_read():
    frame = pd.DataFrame(HOSTILE, columns=list("abcd"))
    fit = StabilitySelection(n_resamples=0).fit(Lazy(frame), NUMBERS)
    assert fit.feature_names_in_.tolist() == list("abcd")
    plain = StabilitySelection(n_resamples=0).fit(HOSTILE, NUMBERS)
    np.testing.assert_array_equal(fit.probabilities_, plain.probabilities_)
    assert fit.transform(Lazy(frame)).shape == (30, fit.support_.sum())
    np.testing.assert_array_equal(
        predictor(fit).predict(Lazy(frame)), predictor(fit).predict(frame)
    )
    A, y = standardize(Lazy(frame), NUMBERS)
    np.testing.assert_array_equal(A, standardize(frame)[0])
    lazy = rvamp(Lazy(pd.DataFrame(A)), y, 0.5)
    np.testing.assert_array_equal(lazy.Pi, rvamp(A, y, 0.5).Pi)
    assert list(read_nodes(Lazy(frame))[1]) == list("abcd")
    with pytest.raises(ValueError, match="column 'a' of X holds '<5'.*prepare_table"):
        fit.fit(Lazy(frame.astype(object).replace(frame["a"][0], "<5")), NUMBERS)


@pytest.mark.parametrize(
    "options",
    [
        dict(q=1e-170, pfer=1),
        dict(loss=lambda: Huber(1e-300)),
        dict(loss=lambda: Squared(1e170)),
        dict(resampling=lambda: Exponential(1e-200)),
        dict(resampling=lambda: Poisson(1e30)),
        dict(resampling=lambda: Discrete([0, 1e-320], [0.5, 0.5])),
    ],
)
def test_numbers_that_cannot_be_squared_are_refused_by_name(options):
    with pytest.raises(ValueError, match="too small|too large|must lie in|be squared"):
        made = {k: v() if callable(v) else v for k, v in options.items()}
        StabilitySelection(n_resamples=0, **made).fit(HOSTILE, NUMBERS)


@pytest.mark.parametrize("offset", [NUMBERS, np.full(30, 1e17)])
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_an_offset_that_leaves_nothing_is_refused(offset, loss):
    with pytest.raises(ValueError, match="^y - offset is the same number in every row"):
        StabilitySelection(loss=loss).fit(HOSTILE, NUMBERS, offset=offset)


@pytest.mark.parametrize(
    "option, message",
    [
        (
            {"threshold": 0.4},
            "StabilitySelection: threshold must lie in (0.5, 1], got 0.4",
        ),
        (
            {"n_resamples": -1},
            "StabilitySelection: n_resamples must be at least 0, got -1",
        ),
        (
            {"bound": "exact"},
            "bound must be 'mb', 'unimodal' or 'gaussian', got 'exact'",
        ),
    ],
)
def test_an_option_outside_its_limits_is_refused_with_them(option, message):
    default = StabilitySelection().get_params()
    check_options(default, default)
    with pytest.raises(ValueError) as refusal:
        check_options(default | option, default)
    assert str(refusal.value) == message


def test_penalties_of_a_path_are_positive_and_decreasing():
    order = "lambdas must be decreasing, each once: sort them, the largest first"
    sign = "lambdas must be > 0, got -1 in penalty 0 (counted from 0)"
    for lambdas, message in (([1.0, 2.0], order), ([-1.0], sign)):
        with pytest.raises(ValueError) as refusal:
            path_options({"lambdas": lambdas})
        assert str(refusal.value) == message
