"""Methods of a fitted selector that draw, print or refine what was found.

Each is one call of the module that does the work: `selection` for the path, for refits
(chapter 4.4) and for effects (chapter 5.6) on the columns of X, `plots`, `widgets`,
`report`, `decoys` and `substitutes`. All of them read one attribute, `selection_`,
which `fit` sets: what is not fitted has nothing to show. Where nothing converged, there
is a table, but no density and no refit.

>>> from rvamp_nb import StabilitySelection, datasets
>>> d = datasets.load_diabetes()
>>> s = StabilitySelection(n_resamples=50, verbose=0).fit(d.A[:, :10], d.y)
>>> s.substitutes()[2], s.lambdas_.shape
('x8', (11,))
>>> s.summary().head(3)[["Π", "±", "selected"]]
            Π      ± selected
feature...
x2       1.00  0.004      yes
x8       1.00  0.004      yes
x3       0.23  0.030       no
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path as File
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..algorithm.densities import located
from ..environment import numpy_errors
from ..tables.chunked import chunk_axis
from ..typing import Array, Axes, Bools, DataFrame, FilePath, Series
from . import plots, report, substitutes
from .decoys import share_kept
from .error_control import DEFAULT_PFER

if TYPE_CHECKING:  # none of these is loaded for a signature
    from ..inference.effects import Effects
    from ..inference.refinement import RefinedFit

__all__ = ["Results"]


def _of_path(name, meaning):
    """Make an attribute, with a docstring, of what a `Selection` knows of its path."""
    return property(attrgetter(f"selection_.summary_of_path.{name}"), doc=meaning)


class Results:
    """Show what a fit found: the path, refits beside the answer, tables and pictures.
    All that it asks of an estimator is its `selection_`.
    """

    lambdas_: Array = _of_path("lambdas", "Penalties of the path, decreasing, (L,).")
    selection_probabilities_: Array = _of_path(
        "selection_probabilities", "Selection probabilities along the path, (N, L)."
    )
    expected_selected_: Array = _of_path(
        "expected_selected", "Expected number of selected features at each, (L,)."
    )
    converged_: Bools = _of_path(
        "converged", "Whether the fit at each converged, (L,)."
    )

    @numpy_errors(all="warn", under="ignore")
    def refine(
        self,
        accuracy: float = 0.02,
        n_resamples: int | None = None,
        *,
        random_state: int | None = None,
        verbose: bool = True,
    ) -> "RefinedFit":
        """Refit at the reported penalty until the probabilities are known to an
        accuracy, and combine the refits with rVAMP. The answer of the estimator stays
        as it was: for refits in it, fit with `n_resamples` or `accuracy`.

        Parameters
        ----------
        accuracy, n_resamples, random_state, verbose
            As for `rvamp_nb.refine`, with its errors; random_state by default as in the
            fit.

        Returns
        -------
        RefinedFit
            About the columns of X and on their scale.

        See Also
        --------
        refine : Refit at any fit of `rvamp`.

        Examples
        --------
        >>> from rvamp_nb import StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> s = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y)
        >>> s.refine(accuracy=0.05, verbose=False).Pi.round(1).tolist()
        [0.0, 0.0, 1.0, 0.2, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
        """
        asked = dict(
            n_resamples=n_resamples, random_state=random_state, verbose=verbose
        )
        return self._answered().refine(accuracy=accuracy, **asked)

    def debiased_effects(
        self,
        features: str | int | Sequence[str | int] | None = None,
        level: float = 0.95,
    ) -> "Effects":
        """Estimate how large effects are, without the bias of the penalty, with
        intervals and p-values, in a model of all columns (`rvamp_nb.debiased_effects`).

        Intervals are for features that were named beforehand. Where the same rows have
        selected a feature that has no effect, its interval of 95 % holds the 0 in a
        tenth of such cases only (`note` has the share for each loss).

        Parameters
        ----------
        features : name or number, or list of such, optional
            By default the selected features, and columns that are never penalised;
            X.columns, or range(N), for all.
        level : float in (0, 1)
            How often an interval should hold the true effect. If R of N features are
            shown, 1 - 0.05 R / N makes about 0.05 of the intervals miss.

        Returns
        -------
        Effects
            The change of the target per unit of a column. Where there is no interval,
            `reasons` says why; `together` tests the columns of a group, or the classes
            of a feature, and `summary()` has odds, rate or hazard ratios.

        Raises
        ------
        ValueError
            For another loss, a table in chunks, too few rows or events, a bias above
            30 %, and where nothing converged.

        Notes
        -----
        The target is, by the loss:

        - two classes: the log odds of the second;
        - counts: the log rate;
        - survival times: the log hazard;
        - several classes: for each its log odds against their geometric mean.

        Columns that are never penalised are in the model. The penalty is the one that
        predicts rows best by fits without them; of counts it is nearly none. Survival
        times, several classes, an offset, weights, trials, `groups` of rows and
        `column_groups` have a model without a penalty, and need 4 rows, or events, per
        coefficient.

        Examples
        --------
        >>> from rvamp_nb import StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> s = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y)
        >>> s.debiased_effects().summary()[["ci_low", "ci_high"]].round(-1)
            ci_low  ci_high
        x2   390.0    660.0
        x8   430.0   1080.0
        """
        return self._answered().debiased_effects(features, level)

    def plot_path(self, ax: "Axes | None" = None, leaders: int = 8) -> "Axes":
        """Draw the selection probabilities along the path of penalties.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default a new picture is made.
        leaders : int
            So many features have a color and a name.

        Returns
        -------
        Axes
            With the picture.

        See Also
        --------
        StabilitySelection.plot_probabilities : Draw the reported penalty.

        Examples
        --------
        >>> from rvamp_nb import StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> s = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y)
        >>> s.plot_path(leaders=3).get_xscale()
        'log'
        """
        return plots.plot_path(self._known, ax, leaders)

    def plot_probabilities(self, ax: "Axes | None" = None, leaders: int = 20) -> "Axes":
        """Draw the largest selection probabilities as bars, beside the threshold.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default a new picture is made.
        leaders : int
            How many features are shown.

        Returns
        -------
        Axes
            With the picture.

        See Also
        --------
        StabilitySelection.plot_path : Draw all penalties.

        Examples
        --------
        >>> from rvamp_nb import StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> s = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y)
        >>> len(s.plot_probabilities(leaders=5).get_yticklabels())
        5
        """
        return plots.plot_probabilities(self._known, ax, leaders)

    def plot_density(self, feature: str | int, ax: "Axes | None" = None) -> "Axes":
        """Draw how a coefficient is distributed across resamples (p̄₁, and the refits);
        of several classes one for each.

        Parameters
        ----------
        feature : str or int
            Name or number of a column.
        ax : matplotlib Axes, optional
            By default a new picture is made.

        Returns
        -------
        Axes
            With the picture.

        Raises
        ------
        ValueError
            For a feature that is not there, and where nothing converged.

        See Also
        --------
        p1 : Take the density itself.
        StabilitySelection.plot_pair : Draw two coefficients.

        Examples
        --------
        >>> from rvamp_nb import StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> s = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y)
        >>> s.plot_density("x2").has_data()
        True
        """
        return plots.plot_density(self._answered(), feature, ax)

    def plot_pair(
        self, first: str | int, second: str | int, ax: "Axes | None" = None
    ) -> "Axes":
        """Draw how two coefficients are distributed together across resamples (p̄₂, and
        the refits).

        Parameters
        ----------
        first, second : str or int
            Names or numbers of two columns.
        ax : matplotlib Axes, optional
            By default a new picture is made.

        Returns
        -------
        Axes
            With the picture.

        Raises
        ------
        ValueError
            For a feature that is not there, for several classes, and where nothing
            converged.

        See Also
        --------
        p2 : Take the density itself.
        StabilitySelection.plot_density : Draw one coefficient.

        Examples
        --------
        >>> from rvamp_nb import StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> s = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y)
        >>> s.plot_pair("x2", "x8").has_data()
        True
        """
        return plots.plot_pair(self._answered(), first, second, ax)

    def explore(self, shown: Sequence[str | int] | None = None) -> Any:
        """Make a widget that moves, of both densities at the reported penalty, on the
        scale of X; see `rvamp_nb.course.widgets.explore`, with its errors.

        Parameters
        ----------
        shown : list of str or int, optional
            At least two features; by default the ten that are selected most often.

        Returns
        -------
        anywidget.AnyWidget
            Shown where it is the last line of a cell.

        See Also
        --------
        StabilitySelection.plot_pair : Draw the density of two coefficients.

        Examples
        --------
        >>> from rvamp_nb import StabilitySelection, datasets
        >>> d = datasets.gaussian_design(60, 4, noise=0.3, density=0.5, seed=0)
        >>> s = StabilitySelection(n_resamples=0).fit(d.A, d.y)
        >>> widget = s.explore(["x0", "x1"])
        >>> type(widget).__name__
        'Explorer'
        """
        from ..course import widgets  # on demand, as what draws it is an extra

        columns = self._answered().question.columns
        fit = self._known.fit
        if columns.together:
            raise ValueError(
                "explore: it draws single columns, not those of column_groups, and not"
                " several classes; see plot_density"
            )
        if shown is None:
            leaders = plots.leaders_of(self._known, 10)
            once = np.unique(columns.where[leaders], return_index=True)[1]
            shown = leaders[np.sort(once)]
        chosen = located(self._known, shown)
        numbers = np.atleast_1d(chosen.at)
        called = np.atleast_1d(chosen.names)
        for i, name in zip(numbers, called):
            first = called[np.argmax(numbers == i)]
            if name != first:
                raise ValueError(
                    f"explore: {first} and {name} are near copies, taken as one column:"
                    " name one of them"
                )
        names = columns.names[columns.first]
        unit = columns.unit[columns.first]
        names[numbers] = called
        unit[numbers] = chosen.unit
        return widgets.explore(fit, names, shown=numbers, unit=unit)

    def report(
        self,
        folder: FilePath,
        done: Sequence[str] = (),
        *,
        categories: Mapping[Any, Any] | Sequence[Any] | None = None,
        decoys: Literal["permuted", "gaussian"] | None = None,
    ) -> list[File]:
        """Write a page for a paper: methods, settings, tables and pictures.

        Parameters
        ----------
        folder : str or path
            Where the files go; made if it is not there.
        done : list of str
            Sentences for the methods, on what was done to the table before.
        categories, decoys
            As for `substitutes` and `q_values`, whose answers are then in the report.

        Returns
        -------
        list of paths
            The files that were written.

        See Also
        --------
        StabilitySelection.summary : Describe the features in a table.

        Examples
        --------
        >>> from rvamp_nb import StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> s = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y)
        >>> s.report("results")[1].name  # doctest: +SKIP
        'methods.md'
        """
        answer = self._with_categories(categories)
        if decoys is not None:
            answer = answer.with_q_values(decoys)
        return report.write_report(answer, folder, done)

    def summary(
        self,
        families: Mapping[Any, Any] | Sequence[Any] | None = None,
        *,
        categories: Mapping[Any, Any] | Sequence[Any] | None = None,
        full: bool = False,
    ) -> "DataFrame":
        """Describe all features in a table, the most probable first.

        Parameters
        ----------
        families : dict {name: features}, or list of lists of features; optional
            With it the table is the full one, with columns about the families.
        categories : dict {variable: features}, or list of lists of features; optional
            As for `substitutes`; with it the table is the full one. They are families
            where none are given.
        full : bool
            Whether to show all that is known (`rvamp_nb.select.report.summary_table`).

        Returns
        -------
        DataFrame
            A row for each feature: Π, the share of resamples in which it is selected,
            its standard error, whether selected, the least pfer at which the feature
            enters, mean and standard deviation of the coefficient across resamples, in
            the digits that are known; of several classes the mean for each.

            The least pfer is by rVAMP alone, along the path, which is made for it if
            there is none (of a table in chunks only with `full`); nan where the feature
            does not enter on it. Where q or one penalty was given, that stays, and the
            threshold moves. No such column where no bound holds.

        See Also
        --------
        StabilitySelection.report : Write this table, and the rest of a page.

        Examples
        --------
        >>> from rvamp_nb import StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> s = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y)
        >>> s.summary().head(3).index.tolist()
        ['x2', 'x8', 'x3']
        """
        if full or families is not None or categories is not None:
            return report.summary_table(self._with_categories(categories), families)
        entries = None
        if chunk_axis(self._known.question.A) is None:
            entries = self._known.enters_at_pfer
        return report.short_table(self._known, entries)

    def select_by_decoys(
        self,
        pfer: float = DEFAULT_PFER,
        covariance: str = "factors",
        *,
        n_draws: int = 11,
        random_state: int | None = None,
    ) -> "DataFrame":
        """Select features that lead their decoys in most draws: with a promise about
        features that tell nothing beyond all others (v-knockoffs of Janson and Su 2016,
        kept in half of the draws as by Ren, Wei and Candès 2021). The answer of the
        estimator stays as it was.

        Parameters
        ----------
        pfer : float > 0
            At most so many selected features are false on average, if columns are
            normal with such correlations, and if a noise feature is the less likely to
            be kept in k draws the larger k is; without that at most twice as many.
        covariance : "factors", "banded" or "shrunk"
            Model of the correlations: common factors; each column depends on few before
            it, as in time or along a chromosome; or sample correlations, shrunk (Ledoit
            and Wolf 2004).
        n_draws : int, odd
            How many tables of decoys are drawn; each takes a fit of twice the columns.
        random_state : int >= 0, optional
            Decides the draws; by default as in the fit.

        Returns
        -------
        DataFrame
            N rows, the most often kept first: the share of draws in which a feature is
            kept, and whether it is selected.

        Raises
        ------
        ValueError
            For groups, strata, weights, unpenalised columns, and tables in chunks.

        See Also
        --------
        StabilitySelection.q_values : Estimate the share of false features.

        Examples
        --------
        >>> from rvamp_nb import StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> s = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y)
        >>> s.select_by_decoys(n_draws=3).columns.tolist()
        ['share', 'selected']
        """
        answer = self._answered()
        seed = answer.seed(random_state)
        shares = share_kept(answer.question, pfer, covariance, n_draws, seed)
        return report.draws_table(answer.question, shares)

    def q_values(
        self,
        decoys: Literal["permuted", "gaussian"] = "permuted",
        *,
        random_state: int | None = None,
    ) -> "Series":
        """Estimate the share of false features among those that are as strong as each:
        of all features with a q-value up to alpha a share of alpha is false on average
        at most, where noise is like its decoys. Each feature competes with a made-up
        one in a fit of both; the answer of the estimator stays as it was.

        Parameters
        ----------
        decoys : "permuted" or "gaussian"
            Permuted ones (entries in another order) are like noise features that are
            independent of all others; Gaussian ones like those of a normal table with
            common factors.
        random_state : int >= 0, optional
            Decides the decoys; by default as in the fit.

        Returns
        -------
        Series of N rows
            In the order of the columns, called by their names; nan where no penalty
            converged.

        Raises
        ------
        ValueError
            For groups, strata, weights, unpenalised columns, column_groups, several
            classes, and tables in chunks.

        Warns
        -----
        UserWarning, ReliabilityWarning
            Where decoys are unlike the columns.

        See Also
        --------
        StabilitySelection.select_by_decoys : Bound the number of false features.

        Examples
        --------
        >>> from rvamp_nb import StabilitySelection, datasets
        >>> d = datasets.gaussian_design(60, 30, density=0.1, noise=0.1, seed=1)
        >>> s = StabilitySelection(n_resamples=0).fit(d.A, d.y)
        >>> q = s.q_values()
        >>> q.index[q <= 0.5].tolist()
        ['x3', 'x24']
        """
        answer = self._answered().with_q_values(decoys, random_state)
        return report.by_feature(answer.question, answer.q_values, "q_value")

    def family_probabilities(
        self, families: Mapping[Any, Any] | Sequence[Any] | None = None
    ) -> "DataFrame":
        """Estimate how often at least one feature of a family is selected, by the
        refits.

        Parameters
        ----------
        families : dict {name: features}, or list of lists of features; optional
            By name or number, each in one family at most. By default columns with a
            correlation above 0.6.

        Returns
        -------
        DataFrame
            A row for each family, the most probable first: leader, members, expected
            (how many of them a resample selects), probability, probability_se.

        Raises
        ------
        ValueError
            Where there are no refits.

        See Also
        --------
        StabilitySelection.substitutes : Find features that share a signal.

        Examples
        --------
        >>> from rvamp_nb import StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> s = StabilitySelection(n_resamples=50).fit(d.A[:, :10], d.y)
        >>> table = s.family_probabilities({"both": ["x2", "x8"], "none": ["x4", "x5"]})
        >>> table["probability"].round(1).tolist()
        [1.0, 0.0]
        """
        return substitutes.family_probabilities(self._known, families)

    def duplicates(self) -> list[str]:
        """Find the near copies of each feature, which share one probability.

        Returns
        -------
        (N,) list of str
            Names separated by commas; empty where there is no copy.

        See Also
        --------
        StabilitySelection.substitutes : Find features that share a signal.

        Examples
        --------
        >>> from rvamp_nb import StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> s = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y)
        >>> s.duplicates()[:2]
        ['', '']
        """
        return substitutes.duplicates(self._known.question.columns)

    def substitutes(
        self, categories: Mapping[Any, Any] | Sequence[Any] | None = None
    ) -> list[str]:
        """Find the features that share their signal with a selected one: across
        resamples one comes in when the other goes out (p̄₂).

        Parameters
        ----------
        categories : dict {variable: features}, or list of lists of features; optional
            Which features are levels of one variable, by name or number: they always
            replace each other, and are not named.

        Returns
        -------
        (N,) list of str
            Up to three names separated by commas; empty for a feature that is not
            selected, or has no such substitute.

        See Also
        --------
        StabilitySelection.duplicates : Find near copies.

        Examples
        --------
        >>> from rvamp_nb import StabilitySelection, datasets
        >>> d = datasets.load_diabetes()
        >>> s = StabilitySelection(n_resamples=0).fit(d.A[:, :10], d.y)
        >>> s.substitutes()[2]
        'x8'
        """
        return substitutes.substitutes(self._with_categories(categories))

    def _with_categories(self, categories):
        """Return the `Selection` of a fit, which knows the levels of variables."""
        if categories is None:
            return self._known
        return replace(self._known, categories=categories)

    @property
    def _known(self):
        """The `Selection` of a fit."""
        from sklearn.utils.validation import check_is_fitted  # this room loads nothing

        check_is_fitted(self)
        return self.selection_

    def _answered(self):
        """Return the `Selection` of a fit, or a ValueError where nothing converged."""
        if not self._known.fit.converged:
            raise ValueError(f"nothing converged: {self.status_}")
        return self.selection_
