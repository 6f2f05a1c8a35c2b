"""StabilitySelection, a scikit-learn selector for tables, and what predicts with it.

Chapter 5.4 has the method in fifteen lines. The class adds what a table needs: `fit`
reads the target, the columns and the law of the rows' counts into a
`SelectionProblem`, searches for the penalty, and sets the fields of the `Selection` as
attributes. A fit that is refused leaves nothing of an earlier one.

A selector selects. `BaggedRegressor` and `BaggedClassifier` predict with its averages
over resamples (chapter 5.5; `predictions` has the numbers): they read new rows, and say
what is a class and what a number.

>>> from rvamp_nb import StabilitySelection, datasets
>>> d = datasets.load_diabetes()
>>> s = StabilitySelection(n_resamples=0, q=3).fit(d.A[:, :10], d.y)
>>> s.get_support(indices=True).tolist(), f"{s.probabilities_.sum():.1f}"
([2, 8], '3.0')
"""

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    clone,
    is_classifier,
)
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import d2_tweedie_score, r2_score
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ..algorithm.densities import located
from ..algorithm.likelihood import Loss, PoissonLoss, Squared
from ..algorithm.prior import Prior
from ..algorithm.resampling import CountLaw
from ..algorithm.solver import Fit
from ..algorithm.step import threads
from ..environment import numpy_errors
from ..inference.baseline import BaselineHazard, survival_target
from ..inference.diagnostics import Diagnostics, near_duplicate_rows
from ..inference.refinement import RefinedFit
from ..tables.chunked import ChunkedTable
from ..typing import Array, ArrayLike, Bools, TableLike, renamed
from ..validation import check_seed, kind_of
from . import predictions, target
from .features import as_frame, column_names, named, read_X
from .frames import order_lost
from .html import answer_html
from .penalty import SelectionProblem
from .question import check_options, read_question
from .remarks import remarks_on
from .results import Results
from .selection import Selection, given_penalties, select
from .target import check_column, check_rows, is_named, row_labels

if TYPE_CHECKING:  # none of these is loaded for a signature
    from typing_extensions import Self

__all__ = ["BaggedClassifier", "BaggedRegressor", "StabilitySelection"]

# what two other estimators do now
_EITHER = "BaggedRegressor(selector).{0}(X), or BaggedClassifier(selector).{0}(X)"
_OF_BAGGED = {  # what predicts: what to write
    "linear_predictor": _EITHER,
    "predict": _EITHER,
    "predict_interval": "BaggedRegressor(selector).{0}(X)",
    "predict_proba": "BaggedClassifier(selector).{0}(X)",
}


def _name_columns(est, N, names, reset=False):
    """Give an estimator the number N and the names of a table's columns (reset), or
    raise a ValueError where they are not those that it has; names None are not known.
    """
    # to scikit-learn a table without rows shows columns only
    empty = np.empty((0, N))
    if names is not None:
        empty = as_frame(None, names)
    validate_data(est, empty, "no_validation", reset=reset, skip_check_array=True)


class _Fitted:
    """What there is after `fit`, for type checkers and editors; without values here."""

    lambda_: float
    probabilities_: Array
    support_: Bools
    undecided_: Bools | None
    stability_: float
    stability_se_: float
    threshold_: float
    q_: float
    pfer_: float | None
    pfer_bound_: float
    pfer_bound_se_: float
    coef_mean_: Array
    coef_std_: Array
    coef_interval_: Array
    intercept_: float | Array
    lambda_scales_: dict[str, float]
    status_: str
    diagnostics_: Diagnostics
    refined_: RefinedFit | None
    refit_error_: str
    interrupted_: bool
    loss_: str | Squared | Loss
    classes_: np.ndarray | None
    baseline_: BaselineHazard | None
    fit_: Fit
    center_: Array
    scale_: Array
    n_iter_: int
    n_features_in_: int
    feature_names_in_: np.ndarray
    question_: SelectionProblem
    selection_: Selection


class StabilitySelection(_Fitted, Results, SelectorMixin, BaseEstimator):
    """Select features by how often they are selected across resamples: a scikit-learn
    selector whose selection probabilities come from rVAMP, and from few refits.

    Columns are centred and scaled to unit norm inside, under row weights; coefficients
    are on the scale of X. Whatever the model cannot notice is projected out before the
    scaling: a column's means in the strata of a Cox model, and multiples of columns
    that are never penalised. So the scale of a column is the norm of its residual. The
    penalty is lambda times sum |x|, for the sum of losses over the rows of a
    resample (half the squared residuals for the squared loss). The bounds need rows
    that are independent; several samples of one patient need `groups`.

    Parameters
    ----------
    threshold : float in (1/2, 1], optional
        A feature is selected if its probability reaches it. By default 0.75; where q
        would be too large for the rows it is lowered until the bound equals pfer, but
        not below 0.6. Where refits select more than q, it is raised until the bound is
        pfer again (not where q was given without pfer).
    pfer : float > 0, optional
        What the expected number of false selections is at most, by default 1. Of
        threshold, pfer and q give two at most: the third follows.
    q : float > 0, optional
        So many features are selected in a resample on average, which fixes the reported
        penalty. A q that follows is at most a third of a resample's rows. Where
        `lambdas` holds one penalty, q is what it selects.
    bound : "mb", "unimodal" or "gaussian"
        Meinshausen and Bühlmann's bound; Shah and Samworth's under unimodality; or the
        one for normal fields (`normal-bound`), which is many times smaller. Where one
        row makes too much of a feature's field for it, "mb" takes its place, and
        `status_` says so.
    loss : "auto", "squared", "logistic", "softmax", "poisson", "huber", "survival"
        Or a loss of your own. "auto" takes logistic for a target with two classes,
        softmax for one with three to six that are text or of pandas' type category,
        else squared. The squared loss centres columns and target once, for the whole
        table; the others refit an unpenalised intercept in every resample. "softmax" is
        multinomial logistic regression without a reference class, also of numbers that
        stand for two to six classes: a feature has a coefficient for each class, one
        penalty for their length, and is selected for all of them or for none (chapter
        6.1). The table has to be in memory. "huber" bends at 1.35 times a robust scale
        of y (1.4826 times the median distance from its median); Huber(delta) says
        where, in units of y. "survival" is Cox's model with a baseline frozen across
        resamples (chapter 5.3); its real refits are Cox fits, and it predicts log
        hazards. A `rvamp_nb.Loss` of your own is refitted by its messages.
    prior : penalty with a threshold, optional
        By default Laplace(1.0), the Lasso; NonNegative(1.0); Laplace(1.0, TwoPoint(2,
        0.5)), whose penalties are drawn; ElasticNet(1.0, l1_ratio=0.5); or a convex
        `Prior` of your own. The penalty that is reported multiplies its lam. The
        l1_ratio is glmnet's alpha: the share of |b| for columns of variance one and,
        with the squared loss, a y that is divided by its standard deviation, so that
        the unit of y does not matter. (With "huber" by the scale at which the loss
        bends.) scikit-learn does not divide y: its l1_ratio for the same fit is in
        `lambda_scales_`. Not beside several classes or column_groups.
    penalty_factor : (N,) array or dict {column: factor}, optional
        Multiplies the penalty of each column, also that of a `prior`; 0 means never
        penalised, always in.
    column_groups : dict {name: columns} or (N,) labels, optional
        Which columns are selected together or not at all, by the group Lasso
        (`rvamp_nb.GroupLasso`; chapter 5.8), such as the levels of a variable or the
        splines of a feature. All others stand alone. Their probability, q, pfer and the
        bounds are about groups, and each counts once. A column belongs to one group;
        the table has to be in memory. Without refits, standard deviations of
        predictions are rough then, for p̄₂ has one variance for all of a group.
    intercept : bool
        Whether the model has an intercept. Without one neither the columns nor the
        target are centred, and columns are divided by the root of their sum of squares;
        only a column of zeros is constant. Not for survival times and several classes;
        no effects and q-values are known then.
    lambdas : (L,) array of numbers > 0, decreasing, int >= 2, "cv" or a pair, optional
        The path, followed in full to `tol`. By default there is none: the reported
        penalty is looked for. An int asks for so many penalties, evenly in the
        logarithm from the one that selects nothing to 0.05 of it. A pair is a package
        and its penalties, as in `lambda_scales_`, such as ("glmnet", 0.12) or
        ("scikit-learn", [0.2, 0.1]). "cv" is the penalty, per row, of the fits that
        predict held-out rows best (ten folds of rows or groups; not for survival times,
        several classes, groups of columns).
    resampling : "subsample", "poisson" or a law of counts
        "subsample" draws half of the rows without replacement, for which the bounds
        hold; "poisson" is the paper's.
    accuracy : float in (0, 1/2)
        The largest standard error of a reported probability: real refits are combined
        with rVAMP until it is reached (`refine`), and until all together are worth 0.6
        / accuracy^2 refits without rVAMP: 1,500 for 0.02, 625 for 0.031. That took a
        quarter to two fifths less time on four small tables. The first portion is worth
        about 400; for less give `n_resamples`.
    n_resamples : int, 0 or at least 10, optional
        So many refits, whatever the accuracy; 0 reports rVAMP alone. What cannot be
        refitted is an error if this was given; else rVAMP is reported, with a warning.
    random_state : int >= 0 or None
        Decides the refits, the folds of "cv" and the decoys of `q_values`: the same
        number gives the same digits. None takes another one in each fit.
    tol : float in (0, 1)
        As for `rvamp`; 1e-4 is 5e-5 of a probability at most.
    verbose : bool
        Whether a bar may be shown on stderr, after two seconds, on a terminal or in a
        notebook.

    Attributes
    ----------
    probabilities_ : (N,) array in [0, 1]
        The selection probabilities at the reported penalty, refits combined; NaN where
        no penalty converged.
    support_ : (N,) bool array
        Which features are selected: their probability reaches the threshold.
    undecided_ : (N,) bool array, or None without refits
        Which probabilities are within two standard errors of the threshold.
    lambda_ : float
        The reported penalty, where rVAMP's probabilities sum to q.
    lambda_scales_ : dict {str: float}
        The same as glmnet, scikit-learn and scikit-survival count it, for a resample of
        the mean number of rows, on columns of variance one.
    threshold_, pfer_, q_ : float
        As asked for or derived; pfer_ is nan where no bound holds.
    pfer_bound_, pfer_bound_se_ : float
        The bound on the expected number of false selections, for the sum of the
        probabilities, rVAMP's or the combined one, whichever is larger (nan: none
        holds), and its standard error by the refits.
    status_ : str
        "converged", or "fell back: ...", "q not met: ...", "pfer not met: ...", "no
        answer: ...".
    diagnostics_ : Diagnostics
        How reliable Π, the selection probabilities, and the standard deviations are,
        with reasons.
    coef_mean_, coef_std_ : (N,) arrays, (N, K) for "softmax"
        Mean and standard deviation of the coefficients across resamples at the reported
        penalty, from the same source as the probabilities. Those of K classes add up to
        zero, intercepts, too.
    coef_interval_ : (N, 2) array, (N, K, 2) for "softmax"
        Where a coefficient lies in 90 % of the resamples, by p̄₁ of rVAMP or by the
        refits: no confidence interval of an effect, which was shrunk and selected.
    intercept_ : float, (K,) array for "softmax"
        The mean intercept; 0 with `intercept=False`.
    stability_, stability_se_ : float
        How far the lists of single resamples agree (Nogueira, Sechidis and Brown 2018):
        1 where all are the same, 0 as by chance; its error by the refits (nan without).
    refined_ : RefinedFit, or None without refits
        rVAMP and the refits combined; its Pi_se are the standard errors of the
        probabilities.
    refit_error_, interrupted_ : str, bool
        Why there are no refits, or ""; whether ctrl-C ended them.
    lambdas_, expected_selected_, converged_ : (L,) arrays
        The path: penalties, sum of probabilities over what can be selected, and whether
        each converged. If no path was asked for, it is made when one of these, or a
        picture of it, is: in strides of 15 %, until the sum is 1.5 q or four penalties
        select more than q; right to about 0.003, but to `tol` at the reported penalty.
    selection_probabilities_ : (N, L) array
        Along the path, by rVAMP alone; NaN where that did not converge.
    loss_ : str, or the Loss that was given
    classes_ : (K,) array, or None
        The classes, sorted; of two the second is modelled. None with `n_trials`, too.
    baseline_ : BaselineHazard, or None where there are no survival times
    fit_ : Fit
        The solver's, at the reported penalty, on standardized columns.
    center_, scale_ : (N,) arrays
        What was subtracted from the columns, and what they were divided by.
    n_iter_ : int
        How many steps the fit at the reported penalty took.
    n_features_in_, feature_names_in_ : int, (N,) array of str
        Of X; the names only where X has columns with names.
    question_, selection_ : SelectionProblem, Selection
        The problem that was solved, and all that was found.

    See Also
    --------
    rvamp : Compute the probabilities at one penalty.
    plan_study : Find how many rows a study needs.
    neighbourhoods : Select edges between columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from rvamp_nb import StabilitySelection, datasets
    >>> d = datasets.load_diabetes()
    >>> X = pd.DataFrame(d.A[:, :10], columns=d.names[:10])
    >>> s = StabilitySelection(n_resamples=100).fit(X, d.y)
    >>> s.get_feature_names_out().tolist()
    ['bmi', 's5']
    >>> s.probabilities_.round(1).tolist()
    [0.0, 0.0, 1.0, 0.2, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    """

    @renamed
    def __init__(
        self,
        *,
        threshold: float | None = None,
        pfer: float | None = None,
        q: float | None = None,
        bound: Literal["mb", "unimodal", "gaussian"] = "mb",
        loss: str | Squared | Loss = "auto",
        prior: Prior | None = None,
        penalty_factor: ArrayLike | Mapping[Any, float] | None = None,
        column_groups: Mapping[Any, Any] | Sequence[Any] | None = None,
        intercept: bool = True,
        lambdas: ArrayLike | int | str | tuple[str, ArrayLike] | None = None,
        resampling: Literal["subsample", "poisson"] | CountLaw = "subsample",
        accuracy: float = 0.02,
        n_resamples: int | None = None,
        random_state: int | None = 0,
        tol: float = 1e-4,
        verbose: bool | int = 1,
    ) -> None:
        # kept as they are, as scikit-learn has it; `fit` checks them, and the docstring
        # of the class says what each one is
        self.threshold = threshold
        self.pfer = pfer
        self.q = q
        self.bound = bound
        self.loss = loss
        self.prior = prior
        self.penalty_factor = penalty_factor
        self.column_groups = column_groups
        self.intercept = intercept
        self.lambdas = lambdas
        self.resampling = resampling
        self.accuracy = accuracy
        self.n_resamples = n_resamples
        self.random_state = random_state
        self.tol = tol
        self.verbose = verbose

    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        strata: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        n_trials: ArrayLike | None = None,
    ) -> "Self":
        """Find the reported penalty, fit there, and judge how reliable the answer is.

        Parameters
        ----------
        X : (M, N) array or data frame of finite numbers, M at least 4
            Or a table in chunks: a scipy.sparse matrix, a numpy.memmap, a large array
            of small numbers, an array or data frame of Dask, a data frame of sparse
            columns, `ChunkedTable`. It is never in memory as a whole. Columns are
            called by the `str` of their labels; those of an array, and 0, 1, ..., x0,
            x1, ...
        y : (M,) array
            Numbers, or two to six classes; not constant. Survival: a structured array
            with a bool field (event) and a number field (time), or two columns, of
            which one holds 0 and 1 only; three are event, start and stop: a row is
            at risk at t where start < t <= stop (late entry; several rows of one
            patient need `groups`). All that pandas brings beside X must have
            the row labels of X in the same order: another order is refused, other
            labels give a warning, and nothing is aligned.
        groups, strata : (M,) labels, optional
            Rows of one group, such as a patient, are one unit: whole units are drawn,
            and the bound counts units. Halves are drawn inside each stratum, and with
            survival times each has a baseline hazard of its own (stratified Cox model).
            Halves by stratum with one baseline for all are
            `resampling=Stratified(Subsample(0.5), strata)`.
        sample_weight, offset : (M,) arrays, optional
            What a row counts in the loss whenever it is drawn, >= 0 and not all 0 (only
            ratios matter; columns are standardised with it); a known part of the linear
            predictor, which predictions leave out: of counts with an exposure, such as
            the time of counting, offset=np.log(exposure).
        n_trials : (M,) array of whole numbers >= 1, optional
            Out of how many y counts successes, of rows whose trials are drawn together:
            the logistic loss of each trial (`trials`). Such a row weighs n_trials times
            its sample_weight, and `predict` gives the share of successes.

        Returns
        -------
        StabilitySelection
            Itself, with the attributes that end in an underscore.

        Raises
        ------
        TypeError, ValueError
            For a masked X, missing values, dates, a target that does not suit the loss,
            too many covariates, options out of range or in contradiction. Nothing of an
            earlier fit is left.

        Warns
        -----
        UserWarning, ReliabilityWarning, ConvergenceWarning
            About columns that are constant, near copies or explained; a target that may
            hold codes of classes; a feature that may be the target itself; a promise
            that cannot be spent, or that nothing can meet; q not met; a poor
            reliability or no answer; a penalty of the path that did not converge.

        See Also
        --------
        StabilitySelection.summary : Describe the features in a table.
        StabilitySelection.report : Write a page for a paper.

        Examples
        --------
        >>> from rvamp_nb import StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> sex = d.A[:, 1] > 0
        >>> s = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y, strata=sex)
        >>> s.status_
        'converged'
        """
        for name in list(vars(self)):
            if name.endswith("_"):
                delattr(self, name)
        roles = dict(groups=groups, strata=strata, offset=offset, n_trials=n_trials)
        roles["sample_weight"] = sample_weight
        try:
            with numpy_errors(all="warn", under="ignore"):  # whatever the caller's is
                answer, notes = _select_features(self, X, y, roles)
                notes += remarks_on(answer)
        except BaseException as e:
            vars(self).pop("n_features_in_", None)
            vars(self).pop("feature_names_in_", None)
            if isinstance(e, ValueError):
                e.args = (target.label_rows(str(e), X),)
            raise
        vars(self).update(_attributes(answer))
        for text, kind in notes:
            warnings.warn(text, kind, stacklevel=2)
        return self

    def _get_support_mask(self):
        return self._known.support

    def transform(self, X: TableLike) -> Any:
        """Take the selected columns of a table.

        Parameters
        ----------
        X : (m, N) array, data frame, array or data frame of Dask, or ChunkedTable
            The columns that were fitted.

        Returns
        -------
        (m, n) array
            The selected columns; of what Dask has, the same kind.

        Raises
        ------
        ValueError
            For other columns.

        See Also
        --------
        StabilitySelection.fit : Find which columns these are.

        Examples
        --------
        >>> from rvamp_nb import StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> s = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y)
        >>> s.transform(d.A[:, :10]).shape
        (442, 2)
        """
        check_is_fitted(self)
        selected = np.flatnonzero(self.support_)
        kind = kind_of(X)
        # of a table that is not in memory, scikit-learn checks the columns alone
        if kind == "dask frame":
            _name_columns(self, len(X.columns), column_names(X))
            return X[[X.columns[i] for i in selected]]
        if isinstance(X, ChunkedTable) or kind == "dask":
            _name_columns(self, X.shape[1], None)
            return X[:, selected]
        if "frame" in kind:  # of pandas, or of another library
            X = named(X)
        return super().transform(X)

    if not TYPE_CHECKING:  # a checker would take any name for an attribute

        def __getattr__(self, name):
            if name not in _OF_BAGGED:
                return super().__getattribute__(name)  # which says what is missing
            raise AttributeError(
                "StabilitySelection only selects: write"
                f" {_OF_BAGGED[name].format(name)}"
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags

    def _repr_html_inner(self):
        """Return the answer as HTML; scikit-learn's diagram where there is none."""
        if "selection_" not in vars(self):
            return super()._repr_html_inner()
        options = self.get_params(deep=False)
        defaults = type(self)().get_params(deep=False)
        return answer_html(self.selection_, options, defaults)

    def _repr_mimebundle_(self, **options):
        """Return what a notebook shows."""
        bundle = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:  # not where scikit-learn's display is text
            bundle["text/html"] = self._repr_html_inner()
        return bundle


@located.register(StabilitySelection)
def _located_in_answer(est, which):
    return located(est._answered(), which)


def _select_features(est, X, y, roles):
    """Check the arguments of a fit of the selector `est` and select; return the
    `Selection`, and warnings as pairs (text, kind).

    `roles` are the arguments of `fit` about rows, by name. The checks stand in an
    order: labels of rows and categories are gone once the arrays are read, and a table
    that can be read names its columns in the messages that follow.
    """
    notes = check_rows(X, y, **roles)
    roles = dict(roles, labels=row_labels(X))
    loss = est.loss
    # pandas' categories are classes, also where they are numbers
    if str(loss) == "auto" and is_named(y):
        loss = "softmax"
        notes.append(order_lost("y", y.dtype))
    X, y = _validate_table_and_target(est, X, y)
    unnamed = [f"x{i}" for i in range(est.n_features_in_)]
    names = np.asarray(vars(est).get("feature_names_in_", unnamed), dtype=object)
    asked = est.get_params(deep=False)
    check_options(asked, StabilitySelection().get_params(deep=False))
    asked["random_state"] = check_seed("StabilitySelection", est.random_state)
    with threads(X):
        question, promise, question_notes = read_question(
            X, y, names, roles, dict(asked, loss=loss)
        )
        # "cv", or penalties of another package, become penalties of ours
        asked["lambdas"] = given_penalties(question, est.lambdas, asked["random_state"])
        if isinstance(est.lambdas, str):  # for the report
            asked["by_cv"] = True
        answer = select(question, promise, asked, near_duplicate_rows(X))
    notes.extend(question_notes)
    return answer, [(text, UserWarning) for text in notes if text]


def _attributes(answer):
    """Return the fields of a `Selection` as attributes of the estimator."""
    target = answer.question.target
    columns = answer.question.columns
    fields = dict(vars(answer), selection=answer)
    for name in ("asked", "path", "q_values", "decoys", "categories"):
        del fields[name]
    fields["lambda"] = fields.pop("lam")
    fields.update(loss=target.loss, classes=target.classes, baseline=target.baseline)
    fields.update(center=columns.center, scale=columns.scale)
    return {f"{name}_": value for name, value in fields.items()}


def _validate_table_and_target(est, X, y):
    """Check X and y by scikit-learn's rules and our own, and give the estimator the
    number and the names of the columns; return both as arrays.

    X, (M, N), remains a ChunkedTable where it is one; y is (M,), or for survival times
    (M, 2), times and events.
    """
    X, names = read_X(X)
    if "dask" in kind_of(y):
        y = y.compute()
    is_survival = isinstance(est.loss, str) and est.loss == "survival"
    if is_survival:
        y = np.column_stack(survival_target(y))
    else:
        check_column(y)
    if isinstance(X, ChunkedTable):
        # of the two, scikit-learn sees y alone ("no_validation" is its word for no
        # table): it would read a table in chunks as a whole
        y = validate_data(est, "no_validation", y, multi_output=is_survival)
        check_consistent_length(X, y)
        if len(X) < 4:
            raise ValueError(f"X has {len(X)} sample(s), a minimum of 4 is required")
        _name_columns(est, X.shape[1], names, reset=True)
        return X, y
    return validate_data(
        est,
        X,
        y,
        multi_output=is_survival,
        dtype=np.float64,
        ensure_min_samples=4,
        order="C",  # whatever the layout, sums run in one order
        ensure_all_finite=False,  # `prepare_columns` names the column
    )


class _Bagged(BaseEstimator):
    """Base of the regressor and the classifier by averages over resamples."""

    selector_: StabilitySelection

    def __init__(self, selector: StabilitySelection | None = None) -> None:
        self.selector = selector

    @property
    def _used(self):
        """The selector that predicts: that of `fit`, or the one that was given."""
        return getattr(self, "selector_", self.selector)

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X."""
        return self._used.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns, (N,), where X has such."""
        return self._used.feature_names_in_

    def __sklearn_is_fitted__(self):
        return hasattr(self._used, "selection_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags

    def set_params(self, **params: Any) -> "Self":
        """Take options of the estimator, or, as selector__q, of its selector.

        Parameters
        ----------
        **params
            Options by name. Where there is no selector, one with defaults is made
            before an option of it is set.

        Returns
        -------
        BaggedRegressor or BaggedClassifier
            Itself.

        Raises
        ------
        ValueError
            For an option that does not exist.

        Examples
        --------
        >>> from rvamp_nb import BaggedRegressor
        >>> BaggedRegressor().set_params(selector__q=5)
        BaggedRegressor(selector=StabilitySelection(q=5))
        """
        is_option = any(name.startswith("selector__") for name in params)
        if is_option and self.selector is None:
            self.selector = StabilitySelection()
        return super().set_params(**params)

    def _fit(self, X, y, loss, roles):
        """Fit a copy of the selector, with this loss where its own is "auto"."""
        vars(self).pop("selector_", None)
        selector = StabilitySelection()
        if self.selector is not None:
            selector = clone(self.selector)
        if not isinstance(selector, StabilitySelection):
            raise TypeError(f"selector must be a StabilitySelection, got {selector!r}")
        if str(selector.loss) == "auto":
            selector.set_params(loss=loss)
        selector.fit(X, y, **roles)
        self._check_kind(selector)
        self.selector_ = selector
        return self

    def _check_kind(self, selector):
        """Raise a ValueError for classes in a regressor, or numbers in a classifier."""
        has_classes = selector.classes_ is not None
        if has_classes == is_classifier(self):
            return
        remedy = "BaggedRegressor predicts numbers, and shares of n_trials"
        if has_classes:
            remedy = "BaggedClassifier predicts classes; or give loss='squared'"
        raise ValueError(
            f"{type(self).__name__}: selector was fitted with loss={selector.loss_!r}:"
            f" {remedy}"
        )

    def linear_predictor(self, X: TableLike, return_std: bool = False) -> Any:
        """Average the linear predictor of new rows over the resamples.

        Parameters
        ----------
        X : (m, N) array, data frame or ChunkedTable
            New rows, of the columns that were fitted.
        return_std : bool
            Whether to return the standard deviation across resamples, too: that of the
            refits, or by p̄₂ where there are none.

        Returns
        -------
        (m,) or (m, K) array, or a pair of them
            The intercept + x'coef without an offset, or for K > 2 classes their scores;
            with return_std a pair of them.

        Raises
        ------
        ValueError
            For other columns, missing values, and where nothing converged.

        See Also
        --------
        BaggedRegressor.predict : Predict the target itself.
        BaggedClassifier.predict_proba : Predict probabilities of classes.

        Examples
        --------
        >>> from rvamp_nb import BaggedRegressor, StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> s = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y)
        >>> bag = BaggedRegressor(s)
        >>> mean, std = bag.linear_predictor(d.A[:2, :10], return_std=True)
        >>> print(mean.round(), std.round())
        [ 22. -30.] [5. 5.]
        """
        answer, X, mean = self._average_linearly(X)
        if not return_std:
            return mean
        _, std = predictions.averaged(answer, X, mean)
        return mean, std

    def _average_linearly(self, X):
        """Check new rows, (m, N), and average their linear predictor over resamples.

        Returns the `Selection` that predicts, the rows as an array or ChunkedTable, and
        the means, (m,), or (m, K) for several classes.
        """
        check_is_fitted(self)
        selector = self._used
        self._check_kind(selector)
        X, names = read_X(X)
        if isinstance(X, ChunkedTable):  # the columns are checked, no number is read
            _name_columns(selector, X.shape[1], names)
        else:
            rules = dict(dtype=np.float64, ensure_all_finite=False)
            X = validate_data(selector, X, reset=False, **rules)
        answer = selector._answered()
        return answer, X, predictions.mean_of(answer, X)


class BaggedRegressor(RegressorMixin, _Bagged):
    """Predict numbers by the average over resamples: a scikit-learn regressor.

    Made from a fitted selector it predicts at once. `fit` fits a copy of the selector,
    fitted or not, and leaves the one that was given as it was; so do copies
    that scikit-learn makes for cross-validation. To predict, give a larger `q` than to
    select (chapter 5.5): the penalty shrinks predictions.

    Parameters
    ----------
    selector : StabilitySelection, optional
        Fitted, or with options for `fit`; by default one with its defaults. "auto" as
        its loss means "squared" here, or "logistic" with `n_trials`. Options are
        reached as selector__q, such as in a grid search.

    Attributes
    ----------
    selector_ : StabilitySelection
        The selector that `fit` fitted. (One that was fitted before stays where it is.)
    n_features_in_, feature_names_in_ : int, (N,) array of str
        Of X; the names only where X has columns with names.

    See Also
    --------
    BaggedClassifier : Predict classes.
    StabilitySelection : Select features.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from rvamp_nb import BaggedRegressor, StabilitySelection, datasets
    >>> d = datasets.load_diabetes()
    >>> bag = BaggedRegressor(StabilitySelection(q=5, n_resamples=0, verbose=0))
    >>> cross_val_score(bag, d.A[:, :10], d.y, cv=3).round(1).tolist()
    [0.4, 0.5, 0.5]
    """

    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        strata: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        n_trials: ArrayLike | None = None,
    ) -> "Self":
        """Fit a copy of the selector.

        Parameters
        ----------
        X, y, groups, strata, sample_weight, offset, n_trials
            As for `StabilitySelection.fit`, with its errors and warnings. Predictions
            leave the offset out: of counts they are rates.

        Returns
        -------
        BaggedRegressor
            Itself, with the attributes that end in an underscore.

        Raises
        ------
        ValueError
            Where the selector's loss is one for classes.

        Examples
        --------
        >>> from rvamp_nb import BaggedRegressor, StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> bag = BaggedRegressor(StabilitySelection(q=5, n_resamples=0))
        >>> bag.fit(d.A[:, :10], d.y).selector_.get_feature_names_out().tolist()
        ['x2', 'x3', 'x6', 'x8']
        """
        roles = dict(groups=groups, strata=strata, sample_weight=sample_weight)
        roles.update(offset=offset, n_trials=n_trials)
        loss = "squared" if n_trials is None else "logistic"
        return self._fit(X, y, loss, roles)

    def predict(self, X: TableLike, return_std: bool = False) -> Any:
        """Predict the target of new rows by the average over the resamples.

        Parameters
        ----------
        X : (m, N) array, data frame or ChunkedTable
            New rows, of the columns that were fitted.
        return_std : bool
            Whether to return the standard deviation across resamples, too.

        Returns
        -------
        (m,) array
            The mean, the expected share of successes (with `n_trials`) or the expected
            count; log hazards for survival; for a loss of your own what its `predicted`
            says. With return_std a pair, with the standard deviations (m,).

        See Also
        --------
        BaggedRegressor.predict_interval : Predict intervals of the target.

        Examples
        --------
        >>> from rvamp_nb import BaggedRegressor, StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> s = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y)
        >>> BaggedRegressor(s).predict(d.A[:3, :10]).round().tolist()
        [22.0, -30.0, 13.0]
        """
        check_is_fitted(self)
        target = self._used.selection_.question.target
        loss = target.likelihood.plain
        # a loss without its own `predicted` predicts the linear predictor
        is_linear = type(loss).predicted is Loss.predicted
        if is_linear or target.baseline is not None:
            return self.linear_predictor(X, return_std)
        answer, X, linear_mean = self._average_linearly(X)
        mean, std = predictions.averaged(answer, X, linear_mean, loss.predicted)
        return (mean, std) if return_std else mean

    def predict_interval(self, X: TableLike, level: float = 0.9) -> Array:
        """Predict intervals that hold the target of a new row with a probability of
        about `level`, without a refit.

        An interval extends to each side of the bagged prediction by the quantile, at
        this level, of the absolute out-of-bag errors (chapter 5.5).

        Parameters
        ----------
        X : (m, N) array, data frame or ChunkedTable
            New rows, like those of the fit.
        level : float in (0, 1)
            How often an interval should hold the target.

        Returns
        -------
        (m, 2) array
            Lower and upper ends.

        Raises
        ------
        ValueError
            Where rows were drawn in `groups`, the loss is not one of y - f ("squared",
            "huber", your own with `shifts`), or there are too few rows for this level.

        See Also
        --------
        BaggedRegressor.predict : Predict the middle.

        Examples
        --------
        >>> from rvamp_nb import BaggedRegressor, StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> s = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y)
        >>> bag = BaggedRegressor(s)
        >>> bag.predict_interval(d.A[:2, :10], level=0.8).round().tolist()
        [[-61.0, 105.0], [-113.0, 53.0]]
        """
        answer, _, mean = self._average_linearly(X)
        half_width = predictions.half_width(answer, level)
        return np.column_stack([mean - half_width, mean + half_width])

    @available_if(lambda bag: getattr(bag.selector, "loss", None) != "survival")
    def score(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Measure how well new rows are predicted: R², and for loss="poisson" the share
        of the deviance that is explained. There is no score of survival times.

        Parameters
        ----------
        X : (m, N) array, data frame or ChunkedTable
            New rows, of the columns that were fitted.
        y : (m,) array
            Their target; where `predict` gives shares or rates, shares or rates.
        sample_weight : (m,) array, optional
            Such as the numbers of trials of these shares.

        Returns
        -------
        float
            At most 1; 0 for the mean of y as the prediction of every row.

        See Also
        --------
        BaggedRegressor.predict : Predict the target.

        Examples
        --------
        >>> from rvamp_nb import BaggedRegressor, StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> s = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y)
        >>> print(f"{BaggedRegressor(s).score(d.A[:, :10], d.y):.2f}")
        0.29
        """
        mean = self.predict(X)
        loss = self._used.selection_.question.target.likelihood.plain
        if isinstance(loss, PoissonLoss):
            weight = dict(sample_weight=sample_weight)
            return d2_tweedie_score(y, mean, power=1, **weight)
        return r2_score(y, mean, sample_weight=sample_weight)


class BaggedClassifier(ClassifierMixin, _Bagged):
    """Predict classes by the average over resamples: a scikit-learn classifier for two
    to six classes.

    It takes a selector, fitted or not, as `BaggedRegressor` does. Its `score` is the
    share of rows whose class is predicted.

    Parameters
    ----------
    selector : StabilitySelection, optional
        Fitted, or with options for `fit`; by default one with its defaults. "auto" as
        its loss means "logistic" for two classes here, and "softmax" for more, also
        where these are numbers.

    Attributes
    ----------
    classes_ : (K,) array
        The classes, sorted.
    selector_ : StabilitySelection
        The selector that `fit` fitted. (One that was fitted before stays where it is.)
    n_features_in_, feature_names_in_ : int, (N,) array of str
        Of X; the names only where X has columns with names.

    See Also
    --------
    BaggedRegressor : Predict numbers.
    StabilitySelection : Select features.

    Examples
    --------
    >>> from rvamp_nb import BaggedClassifier, StabilitySelection, datasets
    >>> d = datasets.load_diabetes()
    >>> bag = BaggedClassifier(StabilitySelection(n_resamples=0))
    >>> bag.fit(d.A[:, :10], d.y > 0).predict(d.A[:2, :10]).tolist()
    [True, False]
    """

    @property
    def classes_(self) -> np.ndarray:
        """The classes, sorted, (K,)."""
        return self._used.classes_

    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        strata: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> "Self":
        """Fit a copy of the selector.

        Parameters
        ----------
        X, y, groups, strata, sample_weight, offset
            As for `StabilitySelection.fit`, with its errors and warnings.

        Returns
        -------
        BaggedClassifier
            Itself, with the attributes that end in an underscore.

        Raises
        ------
        ValueError
            Where y holds no classes, or the selector's loss is not one for classes.

        Examples
        --------
        >>> from rvamp_nb import BaggedClassifier, StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> bag = BaggedClassifier(StabilitySelection(q=5, n_resamples=0))
        >>> bag.fit(d.A[:, :10], d.y > 0).classes_.tolist()
        [False, True]
        """
        classes = column_or_1d(y)
        assert_all_finite(classes, input_name="y")
        check_classification_targets(classes)
        loss = "logistic" if len(np.unique(classes)) <= 2 else "softmax"
        roles = dict(groups=groups, strata=strata, sample_weight=sample_weight)
        return self._fit(X, y, loss, dict(roles, offset=offset))

    def predict(self, X: TableLike) -> np.ndarray:
        """Predict the most probable class of new rows.

        Parameters
        ----------
        X : (m, N) array, data frame or ChunkedTable
            New rows, of the columns that were fitted.

        Returns
        -------
        (m,) array
            Of `classes_`.

        See Also
        --------
        BaggedClassifier.predict_proba : Predict probabilities of classes.

        Examples
        --------
        >>> from rvamp_nb import BaggedClassifier, StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> s = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y > 0)
        >>> BaggedClassifier(s).predict(d.A[:2, :10]).tolist()
        [True, False]
        """
        most_probable = self.predict_proba(X).argmax(1)
        return self.classes_[most_probable]

    def predict_proba(self, X: TableLike) -> Array:
        """Predict the probabilities of the classes, averaged over the resamples.

        Parameters
        ----------
        X : (m, N) array, data frame or ChunkedTable
            New rows, of the columns that were fitted.

        Returns
        -------
        (m, K) array
            Its columns are in the order of `classes_`.

        See Also
        --------
        BaggedClassifier.predict : Predict the most probable class.

        Examples
        --------
        >>> from rvamp_nb import BaggedClassifier, StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> s = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y > 0)
        >>> BaggedClassifier(s).predict_proba(d.A[:2, :10]).round(2).tolist()
        [[0.49, 0.51], [0.67, 0.33]]
        """
        answer, X, linear_mean = self._average_linearly(X)
        # means over resamples of the probabilities, not those of a mean predictor
        if answer.question.target.loss == "softmax":
            shares = partial(softmax, axis=1)  # of predictors (m, K, B)
            probabilities, _ = predictions.averaged(answer, X, linear_mean, shares)
            return probabilities
        of_second, _ = predictions.averaged(answer, X, linear_mean, expit)
        return np.column_stack([1 - of_second, of_second])
