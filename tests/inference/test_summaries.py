"""A table and a page of everything that comes back, in the user's names."""

import inspect
import re
import typing
from functools import cache

import numpy as np
import pandas as pd
import pytest

import rvamp_nb
from rvamp_nb import (
    ConstantSignal,
    GroupLasso,
    Ridge,
    StabilitySelection,
    Subsample,
    complementary_pairs,
    datasets,
    naive_bootstrap,
    neighbourhoods,
    p1,
    p2,
    predict_study,
    refine,
    rvamp,
    rvamp_path,
    state_evolution,
)
from rvamp_nb.algorithm.column_groups import orthonormal
from rvamp_nb.algorithm.solver import with_clusters
from rvamp_nb.course.survival import simulated_survival, survival_fit

# what is put in again: messages to start from, and data
INPUTS = {"State"}
NAMES = [*"abcdefghij"]


def classes_returned():
    """Collect the package's classes that its public functions return, by name."""
    found = {"Diagnostics": type(selector().diagnostics_)}
    found["StabilitySelection"] = StabilitySelection
    for name in rvamp_nb.__all__:
        function = getattr(rvamp_nb, name)
        if not inspect.isfunction(function):
            continue
        returned = typing.get_type_hints(function)["return"]
        for kind in typing.get_args(returned) or [returned]:
            if inspect.isclass(kind) and kind.__module__.startswith("rvamp_nb."):
                found[kind.__name__] = kind
    return found


def table():
    """Return ten named columns of the diabetes data, and the target."""
    d = datasets.load_diabetes()
    return pd.DataFrame(d.A[:, :10], columns=NAMES), d.y


@cache
def selector():
    """Fit a selector of named columns."""
    return StabilitySelection(n_resamples=0).fit(*table())


@cache
def network():
    """Fit each of the named columns by the others."""
    return neighbourhoods(table()[0], n_resamples=20, verbose=False)


def made():
    """Make one of each class, by its name."""
    A, y = table()
    fit = rvamp(A, y, 60.0)
    halves = rvamp(A, y, 60.0, resampling=Subsample(0.5))
    groups, _ = orthonormal(A.to_numpy()[:, :4], np.arange(4) // 2)
    grouped = rvamp(groups.A, y, prior=GroupLasso(60.0, groups.groups))
    X, survival = simulated_survival(M=60, N=5)
    hazard = survival_fit(X, survival["time"], survival["event"], lam=1.0)[1]
    found = [
        fit,
        hazard,
        rvamp_path(A, y, [90.0, 60.0]),
        p1(fit),
        p1(rvamp(A[["a", "b", "c"]], y, 60.0, beta=1.0)),
        p1(with_clusters(rvamp(A, y, 60.0), [[0, 1]])),
        p1(grouped),
        p2(fit),
        complementary_pairs(halves),
        naive_bootstrap(A.to_numpy(), y, 60.0, n_resamples=50),
        refine(fit, n_resamples=50),
        selector().debiased_effects(),
        network(),
        state_evolution(
            0.5, 0.5, signal=ConstantSignal(size=3.0, density=0.1), noise=1.0
        ),
        predict_study(200, n_features=500, n_effects=10, size=0.5),
        selector(),
        selector().diagnostics_,
    ]
    return {type(one).__name__: one for one in found}


def test_every_class_that_comes_back_has_a_table_and_a_page():
    missing = []
    for name, kind in classes_returned().items():
        for method in ("summary", "_repr_html_"):
            if name not in INPUTS and not hasattr(kind, method):
                missing.append(f"{name}.{method}")
    assert not missing


def test_each_of_them_is_shown():
    shown = made()
    left = {*classes_returned()} - {*shown} - INPUTS
    assert left == {"P1Numeric"}  # of a prior of the user's; it is shown as P1
    for name, one in shown.items():
        summary = one.summary()
        page = one._repr_html_()
        assert isinstance(summary, pd.DataFrame) and len(summary), name
        assert "<" in page and "object at 0x" not in page, name


@pytest.mark.parametrize(
    "make",
    [
        lambda fit: fit,
        p1,
        lambda fit: p1(fit, NAMES),
        lambda fit: p2(fit, NAMES),
        complementary_pairs,
        lambda fit: refine(fit, n_resamples=50),
        lambda fit: network(),
    ],
)
def test_tables_and_pages_have_the_users_names(make):
    one = make(rvamp(*table(), 60.0, resampling=Subsample(0.5)))
    assert [*one.summary().index] == NAMES
    assert re.search(r">(\w – )?c( – \w)?<", one._repr_html_())  # always selected


def test_tables_hold_the_numbers_of_their_objects():
    A, y = table()
    fit = rvamp(A, y, 60.0, resampling=Subsample(0.5))
    pairs = complementary_pairs(fit)
    for one, Pi in ((fit, fit.Pi), (p1(fit), fit.Pi)):
        np.testing.assert_allclose(one.summary()["Pi"], Pi)
    np.testing.assert_array_equal(pairs.summary()["Pi_both"], pairs.Pi_both)
    np.testing.assert_allclose(p2(fit).summary()["sd"], p2(fit).std)


def test_tables_of_answers_without_a_selection_or_an_edge():
    A, y = table()
    pairs = complementary_pairs(
        rvamp(A, y, prior=Ridge(60.0), resampling=Subsample(0.5))
    )
    assert [*pairs.summary()] == ["covariance", "rho"]
    assert "Π" not in pairs._repr_html_()
    noise = np.random.default_rng(0).normal(size=(30, 4))
    network = neighbourhoods(noise, n_resamples=20, q=0.01, verbose=False)
    assert not network.summary()["neighbour"].any()
    assert "0 edges" in network._repr_html_()


def test_densities_of_a_selector_are_in_the_tables_unit():
    A, y = table()
    chosen = StabilitySelection(n_resamples=0).fit(1000 * A, y)
    shown = p1(chosen).summary()
    assert [*shown.index] == NAMES
    np.testing.assert_allclose(shown["mean"], chosen.coef_mean_)
