"""The estimator that predicts with a fitted selector."""

from rvamp_nb import BaggedClassifier, BaggedRegressor


def predictor(selector):
    """Return that of classes, or of numbers."""
    kind = BaggedRegressor if selector.classes_ is None else BaggedClassifier
    return kind(selector)
