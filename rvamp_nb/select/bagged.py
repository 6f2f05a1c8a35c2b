"""Bagged predictions as a scikit-learn regressor and classifier.

A `StabilitySelection` selects; these two predict with its averages over resamples
(chapter 5.5). `predictions` has the numbers: means, standard deviations and intervals
by p̄₂ or by the refits. This module reads new rows, and says what is a class and what a
number.

>>> from rvamp_nb import BaggedRegressor, StabilitySelection, datasets
>>> d = datasets.load_diabetes()
>>> selector = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y)
>>> BaggedRegressor(selector).predict(d.A[:3, :10]).round().tolist()
[22.0, -30.0, 13.0]
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    clone,
    is_classifier,
)
from sklearn.metrics import d2_tweedie_score, r2_score
from sklearn.utils import assert_all_finite
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ..algorithm.likelihood import Loss, PoissonLoss
from ..tables.chunked import ChunkedTable
from ..typing import Array, ArrayLike, TableLike
from . import predictions
from .estimator import StabilitySelection, name_columns
from .features import read_X

if TYPE_CHECKING:  # not loaded for a signature
    from typing_extensions import Self

__all__ = ["BaggedClassifier", "BaggedRegressor"]


class _Bagged(BaseEstimator):
    """What a regressor and a classifier by averages over resamples share."""

    selector_: StabilitySelection

    def __init__(self, selector: StabilitySelection | None = None) -> None:
        self.selector = selector

    @property
    def _used(self):
        """The selector that predicts: that of `fit`, or the one that was given."""
        return getattr(self, "selector_", self.selector)

    @property
    def n_features_in_(self) -> int:
        """How many columns X has."""
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
        answer, X, mean = self._read(X)
        if not return_std:
            return mean
        return mean, predictions.averaged(answer, X, mean)[1]

    def _read(self, X):
        """Return the `Selection` of the fit, new rows, an array or ChunkedTable, and
        their mean linear predictor.
        """
        check_is_fitted(self)
        selector = self._used
        self._check_kind(selector)
        X, names = read_X(X)
        if isinstance(X, ChunkedTable):
            name_columns(selector, X.shape[1], names)
        else:
            rules = dict(dtype=np.float64, ensure_all_finite=False)
            X = validate_data(selector, X, reset=False, **rules)
        answer = selector._answered()
        return answer, X, predictions.mean_of(answer, X)


def _has_score(est):
    return getattr(est.selector, "loss", None) != "survival"


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
        is_linear = type(loss).predicted is Loss.predicted
        if is_linear or target.baseline is not None:
            return self.linear_predictor(X, return_std)
        mean, std = predictions.averaged(*self._read(X), loss.predicted)
        return (mean, std) if return_std else mean

    def predict_interval(self, X: TableLike, level: float = 0.9) -> Array:
        """Predict intervals that hold the target of a new row with a probability of
        about `level`, without a refit: to each side of the bagged prediction stands
        what out-of-bag errors do not exceed in that share (chapter 5.5).

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
        answer, _, mean = self._read(X)
        wide = predictions.half_width(answer, level)
        return np.column_stack([mean - wide, mean + wide])

    @available_if(_has_score)
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
        answer, X, mean = self._read(X)
        if answer.question.target.loss == "softmax":
            return predictions.averaged(answer, X, mean, _class_shares)[0]
        yes, _ = predictions.averaged(answer, X, mean, expit)
        return np.column_stack([1 - yes, yes])


def _class_shares(scores):
    return softmax(scores, axis=1)
