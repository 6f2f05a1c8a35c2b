"""Plan a study: how many rows find a share of the effects, before there are data.

Chapter 5.7 derives it; state evolution at a size, pilots and drawn studies are in
`pilots`. `predict_study` is one study of a given size, `plan_study` doubles the rows
until the power is reached, and bisects. Where no number of rows is enough it says
which `pfer` would be.

>>> from rvamp_nb import plan_study, predict_study
>>> predict_study(200, n_features=500, n_effects=10, size=0.5)
Study(200 rows: 6.56 of 10 effects, 0.013 false)
>>> plan_study(n_features=200, n_effects=5, size=0.6, threshold=0.75)
Study(114 rows: 4.03 of 5 effects, 0.02 false)
"""

import warnings
from contextlib import suppress
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from ..algorithm.evolution import Evolution, Spectrum
from ..datasets import standardize
from ..environment import progress_bar
from ..exceptions import ConvergenceWarning
from ..sketch import as_page
from ..typing import Array, ArrayLike, DataFrame, renamed
from ..validation import check_array, check_number, check_size, format_list
from . import error_control, pilots
from .error_control import BOUNDS, DEFAULT_PFER, DEFAULT_THRESHOLD
from .pilots import PLAN_THRESHOLDS

__all__ = ["LOCAL_LOSS", "Pilot", "Study", "pilot_of", "plan_study", "predict_study"]


class Study(NamedTuple):
    """Describe what to expect of stability selection by half-samples, before there are
    data.

    Attributes
    ----------
    rows, n_features, n_effects : int
        As for `predict_study`, or found by `plan_study`.
    size : float
        Of an effect, per standard deviation of its feature.
    noise : float
        Standard deviation of the target around the true fit.
    threshold : float in (1/2, 1]
        On the selection probability.
    q : float
        Features that one half-sample selects on average.
    pfer : float
        The bound on the expected number of false selections.
    lam : float
        The penalty, for centred columns of unit norm.
    true_selections, false_selections : float
        Their expected numbers.
    converged : bool
        Whether there is an answer.
    evolution : Evolution
        What the numbers are taken from.
    n_simulated : int
        Studies that were carried out to find the power.
    power_se : float
        Standard error of the power: of these studies and of the pilot.

    See Also
    --------
    plan_study : Find how many rows a study needs.
    predict_study : Predict a study of a given size.

    Examples
    --------
    >>> from rvamp_nb import predict_study
    >>> study = predict_study(200, n_features=500, n_effects=10, size=0.5)
    >>> round(study.power, 2)
    0.66
    """

    rows: int
    n_features: int
    n_effects: int
    size: float
    noise: float
    threshold: float
    q: float
    pfer: float
    lam: float
    true_selections: float
    false_selections: float
    converged: bool
    evolution: Evolution
    n_simulated: int = 0
    power_se: float = 0.0

    @property
    def power(self) -> float:
        """Expected share of the true features that is selected."""
        return self.true_selections / self.n_effects

    def summary(self) -> "DataFrame":
        """Show the study in a table of one row, to be put below others.

        Returns
        -------
        DataFrame
            The power, and the attributes that are numbers.

        Examples
        --------
        >>> from rvamp_nb import predict_study
        >>> study = predict_study(200, n_features=500, n_effects=10, size=0.5)
        >>> study.summary()[["rows", "power"]].round(2).values.tolist()
        [[200.0, 0.66]]
        """
        from pandas import DataFrame

        table = DataFrame([self._asdict()]).drop(columns="evolution")
        table.insert(0, "power", self.power)
        return table

    def __repr__(self):
        return (
            f"Study({self.rows} rows: {self.true_selections:.3g} of {self.n_effects}"
            f" effects, {self.false_selections:.2g} false)"
        )

    def _repr_html_(self):
        state = ("converged", "green") if self.converged else ("no answer", "red")
        error = f" ± {self.power_se:.2f}" if self.power_se else ""
        power = f"{self.power:.2f}{error}, the share of the effects that are found"
        false = f"{self.false_selections:.2g} expected; {self.pfer:.3g} at most"
        how = f"threshold {self.threshold:.3g}, pfer {self.pfer:.3g}, q {self.q:.3g}"
        facts = ("power", power), ("false selections", false), ("analysed with", how)
        return as_page(self, state, facts)


@renamed
def predict_study(
    rows: int,
    n_features: int,
    n_effects: int,
    size: float,
    noise: float = 1.0,
    *,
    threshold: float = DEFAULT_THRESHOLD,
    pfer: float = DEFAULT_PFER,
    bound: Literal["mb", "unimodal", "gaussian"] = "mb",
    pilot: "Pilot | None" = None,
    near: Study | None = None,
) -> Study:
    """Predict what stability selection by half-samples would find in a study. Effects
    are of one size, the noise is normal and the loss is the squared one.

    Parameters
    ----------
    rows, n_features, n_effects : int
        The last: features that matter, at least 1 and fewer than all.
    size : float > 0
        Change of the target per standard deviation of a feature that matters; its sign
        makes no difference. Within a factor 1e6 of the noise.
    noise : float > 0
        Standard deviation of what is left of the target.
    threshold, pfer, bound : float in (1/2, 1], float > 0, str
        As of `StabilitySelection`; pfer bounds the expected number of false selections.
    pilot : Pilot, optional
        How the features hang together (`one-row`); by default they are independent.
    near : Study, optional
        One of similar size, to start from.

    Returns
    -------
    Study
        Its selections are NaN where there is no answer.

    Raises
    ------
    TypeError, ValueError
        For arguments out of range.

    See Also
    --------
    plan_study : Find how many rows reach a power.
    state_evolution : Predict a single fit.

    Examples
    --------
    >>> from rvamp_nb import predict_study
    >>> predict_study(200, n_features=500, n_effects=10, size=0.5)
    Study(200 rows: 6.56 of 10 effects, 0.013 false)
    """
    question = _check_question(rows, n_features, n_effects, size, noise)
    if not isinstance(near, (Study, type(None))):
        raise TypeError(f"near must be a Study, not {near!r:.60}")
    spectrum = None
    if pilot is not None:
        spectrum = _check_pilot(pilot, n_features).spectrum(rows)
    threshold, pfer, q, _ = error_control.resolve_error_control(
        n_features, rows / 6, threshold, pfer, bound=bound
    )
    start = near and near.evolution
    answer = pilots.solve_at_size(question, q, start, spectrum)
    true = np.nan
    false = np.nan
    if answer.converged:
        true = float(n_effects * answer.power(threshold))
        false = float(answer.false_selections(threshold, n_features))
    return Study(
        *question,
        threshold=threshold,
        q=q,
        pfer=pfer,
        lam=float(answer.lam),
        true_selections=true,
        false_selections=false,
        converged=answer.converged,
        evolution=answer,
    )


def _check_question(rows, n_features, n_effects, size, noise):
    """Check all five arguments; refuse those that cannot be used."""
    rows = check_size("plan_study", "rows", rows, least=4)
    n_features = check_size("plan_study", "n_features", n_features, least=2)
    n_effects = check_size("plan_study", "n_effects", n_effects)
    if n_effects >= n_features:
        raise ValueError(f"n_effects must be below {n_features = }, got {n_effects}")
    noise = check_number("plan_study", "noise", noise, 1e-100, 1e100)
    size = check_number("plan_study", "size", size, 1e-6 * noise, 1e6 * noise)
    return rows, n_features, n_effects, size, noise


def _check_pilot(pilot, n_features):
    """Check that the pilot has as many features."""
    if not isinstance(pilot, Pilot):
        raise TypeError(
            f"pilot must be a Pilot (pilot_of makes one), not {pilot!r:.60}"
        )
    loadings = check_array("pilot: loadings", pilot.loadings, ("k", "N"))
    rules = dict(shape=loadings.shape[1:], low=0, above=True, of="feature")
    noise_var = check_array("pilot: noise_var", pilot.noise_var, **rules)
    N = len(noise_var)
    if N != n_features:
        raise ValueError(f"pilot needs n_features = {N}, got {n_features}")
    neighbours = check_number("pilot", "neighbours", pilot.neighbours, 0, 1, "[")
    return Pilot(loadings, noise_var, neighbours)


def _check_promise(power, pfer, max_rows, n_studies):
    """Check the first three, as floats and an int, and the number of studies."""
    power = check_number("plan_study", "power", power, 0, 1)
    pfer = check_number("plan_study", "pfer", pfer, 0)
    n_studies = check_size("plan_study", "n_studies", n_studies, least=0)
    if 0 < n_studies < 8:
        raise ValueError(
            f"plan_study: n_studies must be 0, or at least 8, got {n_studies}"
        )
    return power, pfer, check_size("plan_study", "max_rows", max_rows, least=32)


def _solve_study(rows, near, question, options, bridges=3):
    """Return the `Study` of so many rows; the iteration starts from the solution of
    `near`, a `Study` of another size, or from none.

    `question` is the number of features, the number of effects, their size and the
    noise; `options` are further arguments of `predict_study`. Far from its start the
    iteration may not converge. Then a study of the geometric mean of the two sizes is
    solved first, and the iteration starts from that one, its bridge; bridges have
    bridges, so many levels deep.
    """
    if near and not near.converged:
        near = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        study = predict_study(rows, *question, near=near, **options)
    rows_of_near = near.rows if near else rows
    middle = round(np.sqrt(rows * rows_of_near))
    has_middle = middle not in (rows, rows_of_near)
    if study.converged or not bridges or not has_middle:
        return study
    bridge = _solve_study(middle, near, question, options, bridges - 1)
    if not bridge.converged:
        return study
    return _solve_study(rows, bridge, question, options, bridges - 1)


def _reachable_thresholds(n_features, n_effects, power, thresholds, pfer, bound, alike):
    """Return those of the thresholds at which some number of rows has the power.

    With infinitely many rows a threshold and the pfer allow a resample to select q
    features on average, and the power needs `q_needed` of them: a threshold is reached
    if q is as large. `alike` says whether all effects are found equally often, as
    without a pilot. Where there is none, a ValueError names the threshold that needs
    the least pfer, and that pfer.
    """
    reached = []
    limits = []
    for threshold in thresholds:
        threshold, _, q, _ = error_control.resolve_error_control(
            n_features, np.inf, threshold, pfer, bound=bound
        )
        q_needed = pilots.q_needed(power, n_effects, threshold, alike)
        if q_needed <= q:
            reached.append(threshold)
        with suppress(ValueError):  # the unimodal bound does not hold everywhere
            pfer_needed = BOUNDS[bound](q_needed, threshold, n_features)
            limits.append(_Limit(pfer_needed, threshold, q, q_needed))
    if reached:
        return reached
    problem = f"no number of rows gives power = {power:g}"
    if not limits:
        raise ValueError(
            f"plan_study: {problem} with bound = {bound!r}: take 'mb', or less power"
        )
    cheapest = min(limits)  # by its first field, the pfer that is needed
    raise ValueError(
        f"plan_study: {problem}: at threshold {cheapest.threshold:g} pfer = {pfer:g}"
        f" lets a resample select q = {cheapest.q:.3g} features, and {n_effects}"
        f" effects need more than {cheapest.q_needed:.3g}: raise pfer above"
        f" {cheapest.pfer_needed:.3g}, or ask for less power"
    )


class _Limit(NamedTuple):
    """Obstacle to the power asked for, at a threshold; ordered by pfer_needed."""

    pfer_needed: float
    threshold: float
    q: float  # that pfer allows
    q_needed: float


LOCAL_LOSS = 0.05  # of power: a pilot that may hide more is warned of
# of 16 pilots with neighbours that correlate by .3 to .9, 12 are; half: all, twice: 10


def _hidden_power(study, pilot):
    """Return the power that a study loses if what the pilot's factors leave correlates
    between neighbours (`unseen`); all of it where that has no answer.
    """
    if not pilot.neighbours or not study.converged:
        return 0.0
    spectrum = pilot.spectrum(study.rows, pilot.neighbours)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        answer = pilots.solve_at_size(study[:5], study.q, study.evolution, spectrum)
    if not answer.converged:
        return study.power
    t = study.threshold
    return max(float(study.evolution.power(t) - answer.power(t)), 0.0)


def _describe_neighbours(study, pilot, error):
    """Write the warning that the pilot's features correlate beyond its factors."""
    return (
        f"plan_study: the pilot's features correlate beyond its {len(pilot.loadings)}"
        f" factors, as neighbours at {pilot.neighbours:.2f} would, and it has too few"
        f" rows to show which: the power may be {max(study.power - error, 0):.2f}, not"
        f" {study.power:.2f}; plan for groups of columns, or take a longer pilot"
    )


@renamed
def plan_study(
    n_features: int,
    n_effects: int,
    size: float,
    noise: float = 1.0,
    *,
    pfer: float = DEFAULT_PFER,
    power: float = 0.8,
    threshold: float | None = None,
    bound: Literal["mb", "unimodal", "gaussian"] = "mb",
    max_rows: int = 100_000,
    pilot: "ArrayLike | Pilot | None" = None,
    n_studies: int = 32,
    random_state: int = 0,
    verbose: bool = True,
) -> Study:
    """Find how many rows a study needs, the fewest that reach a power.

    Parameters
    ----------
    n_features, n_effects, size, noise, pfer
        As for `predict_study`.
    power : float in (0, 1)
        Share of the true features that is to be selected, on average.
    threshold : float in (1/2, 1], optional
        On the selection probability; by default the one that finds most.
    bound
        As for `predict_study`.
    max_rows : int
        Look no further.
    pilot : (M, N) array, or Pilot; optional
        Features hang together as in this pilot (`pilot_of`). The number of rows is then
        found by state evolution and settled by studies that are drawn and refitted:
        half of them around that number, half around the better one that they show.
        `power_se` holds what the pilot itself may be wrong about (`unseen`), with a
        UserWarning above 0.05.
    n_studies : int, 0 or at least 8
        How many studies are drawn; with 0 state evolution decides alone.
    random_state : int >= 0
        Of their numbers.
    verbose : bool
        Whether a bar is shown.

    Returns
    -------
    Study
        Its `rows` are the answer, its `power` is what they reach.

    Raises
    ------
    ValueError
        Where no number of rows is enough: it has the pfer that it takes (`most-power`).

    Warns
    -----
    UserWarning
        Where `max_rows` are not enough: then the study of that size is returned.

    See Also
    --------
    predict_study : Predict a study of a given size.
    state_evolution : Predict a single fit.
    StabilitySelection : Analyse the study.

    Examples
    --------
    >>> from rvamp_nb import plan_study
    >>> plan_study(n_features=200, n_effects=5, size=0.6, threshold=0.75).rows
    114
    """
    power, pfer, most = _check_promise(power, pfer, max_rows, n_studies)
    rng = np.random.default_rng(
        check_size("plan_study", "random_state", random_state, least=0)
    )
    if pilot is not None and not isinstance(pilot, Pilot):
        pilot = pilot_of(pilot)
    question = _check_question(4, n_features, n_effects, size, noise)[1:]
    n_features, n_effects, _, _ = question
    promise = dict(pfer=pfer, bound=bound, pilot=pilot)
    thresholds = [threshold]
    if threshold is None:
        thresholds = sorted(PLAN_THRESHOLDS, key=lambda t: abs(t - 0.7))
    alike = pilot is None
    thresholds = _reachable_thresholds(
        n_features, n_effects, power, thresholds, pfer, bound, alike
    )

    def ask(t, rows, near):
        return _solve_study(rows, near, question, dict(promise, threshold=t))

    if threshold is None:  # the best of them, at about the size that .7 needs
        first = partial(ask, thresholds[0])
        study = pilots.find_least_rows(first, power, most, 1, within=0.03)

        def power_at(t):
            return np.nan_to_num(ask(t, study.rows, study).power)

        best = partial(ask, max(thresholds, key=power_at))
        study = pilots.find_least_rows(
            best, power, most, int(0.7 * study.rows), near=study
        )
    else:
        study = pilots.find_least_rows(partial(ask, threshold), power, most, 1)
    if pilot is not None and n_studies:
        predict = partial(ask, study.threshold, near=study)
        study = _find_by_drawing(
            predict, study, power, most, pilot, n_studies, rng, verbose
        )
    error = 0.0 if pilot is None else _hidden_power(study, pilot)
    study = study._replace(power_se=float(np.hypot(study.power_se, error)))
    if np.isnan(study.power):
        note = "state evolution has no answer for so many rows, effects and features"
        warnings.warn(f"plan_study: at {study.rows} rows {note}", stacklevel=3)
    elif study.power < power:
        found = f"{study.rows} rows reach a power of {study.power:.2g}"
        warnings.warn(f"{found}, not {power:g}: raise max_rows", stacklevel=3)
    if error > LOCAL_LOSS:
        warnings.warn(_describe_neighbours(study, pilot, error), stacklevel=3)
    return study


class Pilot(NamedTuple):
    """Describe how features of unit variance hang together: each is a sum of what
    features have in common, loadings' g, and of something of its own; both normal.

    Examples
    --------
    >>> import numpy as np
    >>> from rvamp_nb import predict_study
    >>> from rvamp_nb.select.planning import Pilot
    >>> pilot = Pilot(loadings=np.full((1, 200), 0.5), noise_var=np.full(200, 0.75))
    >>> predict_study(140, 200, 5, 0.6, pilot=pilot)
    Study(140 rows: 4 of 5 effects, 0.066 false)
    """

    loadings: Array  # (K, N)
    noise_var: Array  # (N,) of what a feature does not share
    neighbours: float = 0.0  # correlation of neighbours that may be in it (`unseen`)

    def __repr__(self):
        return f"Pilot({len(self.noise_var)} features, {len(self.loadings)} in common)"

    def draw(self, rows: int, rng: np.random.Generator) -> Array:
        """Draw a (rows, N) table."""
        common = rng.normal(size=(rows, len(self.loadings))) @ self.loadings
        return common + np.sqrt(self.noise_var) * rng.normal(size=common.shape)

    def eigenvalues(self, neighbours: float = 0.0) -> tuple[Array, Array]:
        """Return those of the covariance, and their shares, with `noise_var` put at its
        mean and correlated between neighbours.
        """
        K, N = self.loadings.shape
        own = self.noise_var.mean()
        t = np.linalg.eigvalsh(self.loadings @ self.loadings.T)
        n = 64 if neighbours else 1  # frequencies
        waves = np.cos((np.arange(n) + 0.5) * np.pi / n)
        rest = 1 - neighbours**2
        rest = rest / (1 + neighbours**2 - 2 * neighbours * waves)
        shares = np.r_[np.full(n, (1 - K / N) / n), np.full(K, 1 / N)]
        return own * np.r_[rest, np.ones(K)] + np.r_[np.zeros(n), t], shares

    def spectrum(self, rows: int, neighbours: float = 0.0) -> Spectrum:
        """Return the `Spectrum` of a table with unit columns that has so many rows."""
        ratio = rows / len(self.noise_var)
        t, shares = self.eigenvalues(neighbours)
        e, w = pilots.fit_row_spectrum(t, shares, ratio, len(self.noise_var))
        on_columns = np.where(e > 0, w * ratio, 0.0)
        on_columns = np.r_[1 - on_columns.sum(), on_columns]
        return Spectrum(np.r_[0.0, e], on_columns, np.r_[0.0, w])


def pilot_of(X):
    """Estimate how features correlate from a pilot X, (n, N) finite numbers.

    Returns a `Pilot` of the factors that exceed its own noise, at the strength that
    they have in the population (`one-factor`), and of the correlation of neighbours
    that may be left (`unseen`). Raises a ValueError for constant columns, or n < 4.
    """
    X = check_array("pilot", X)
    if X.ndim != 2 or len(X) < 4 or X.shape[1] < 2:
        raise ValueError(
            f"pilot must have 4 rows and 2 columns, or more, not {X.shape}"
        )
    constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
    if len(constant):
        raise ValueError(
            f"pilot: columns {format_list(range(X.shape[1]), constant)} (from 0) are"
            " constant: leave them out"
        )
    A = standardize(X)[0]
    M, N = A.shape
    _, sizes, V = np.linalg.svd(A, full_matrices=False)
    eigenvalues = sizes[: M - 1] ** 2  # of A A'; centred rows have rank M - 1 at most
    factors = pilots.estimate_factors(eigenvalues, M, N)
    loadings = np.sqrt(factors)[:, None] * V[: len(factors)]
    # at most 95 % of a feature's variance is common: the rest, its own, is never 0
    common = (loadings**2).sum(0)
    loadings *= np.sqrt(0.95 / np.maximum(common, 0.95))
    neighbours = pilots.estimate_neighbours(eigenvalues, len(factors), M, N)
    return Pilot(loadings, 1 - (loadings**2).sum(0), neighbours)


def _find_by_drawing(predict, study, power, most, pilot, n_studies, rng, progress):
    """Find the `Study` that reaches the power by drawing studies with the pilot's
    correlations; return it with its simulated selections.

    `predict(rows)` returns a planned `Study`; `study` is the first, and none has more
    than `most` rows. A round draws half of `n_studies` at sizes around the present
    number of rows, fits a line through the shares of effects that all drawn studies
    find, and moves the number of rows to where the line has the power. Tables are drawn
    from the `Pilot` by the generator rng; `progress`: whether bars are shown.
    """
    rows = study.rows
    plans = []
    selections = []  # (true, false) of the study that was drawn for each plan
    for _ in range(3):  # two rounds are n_studies; a third if the second moved far
        new_plans = _plans_around(predict, rows, most, n_studies // 2)
        bar = progress_bar(new_plans, shown=progress, desc=f"studies of {rows} rows")
        selections += [pilots.draw_study(pilot, plan, rng) for plan in bar]
        plans += new_plans
        log_rows = np.log([plan.rows for plan in plans])
        shares_found = np.array(selections)[:, 0] / study.n_effects
        line = pilots.fit_line(log_rows, shares_found)
        # far from the sizes that were drawn the line is no guide
        step = np.clip(line.log_size_for(power) - np.log(rows), -0.5, 0.5)
        rows = int(np.clip(np.ceil(rows * np.exp(step)), 8, most))
        # sizes of one round reach 0.22 of the logarithm to each side
        if len(selections) >= n_studies and np.abs(step) < 0.3:
            break
    log_size = np.log(rows)
    # false selections are the mean of studies of about this size, or the nearest
    distance = np.abs(log_rows - log_size)
    is_near = distance <= max(distance.min(), 0.25)
    return predict(rows)._replace(
        true_selections=float(line.value(log_size)) * study.n_effects,
        false_selections=float(np.array(selections)[is_near, 1].mean()),
        n_simulated=len(selections),
        power_se=float(line.error(log_size)),
    )


def _plans_around(predict, rows, most, n):
    """Return n studies to be drawn, in turn of up to four sizes from a fifth fewer rows
    to a quarter more, each solved once by `predict(rows)`.
    """
    shares = np.geomspace(0.8, 1.25, 4)
    sizes = (rows * shares).astype(int).clip(8, most)
    solved = [predict(int(size)) for size in np.unique(sizes)]
    return [solved[i % len(solved)] for i in range(n)]
