"""The baseline hazard that is frozen for all resamples, and reading survival data.

Chapter 5.3 derives it. `survival_target` reads times and events in one of the usual
forms. `BaselineHazard` holds the hazard that each row sees, and makes a Poisson row of
it. `MovingBaseline` takes a step of the solver with the baseline that the messages
imply.

>>> import numpy as np
>>> from rvamp_nb.inference.baseline import BaselineHazard, survival_target
>>> seen, when = np.arange(20) % 2, np.arange(1, 21)
>>> BaselineHazard(*survival_target(np.column_stack([seen, when])))
BaselineHazard(10 events of 20 rows; hazard up to 1.9 at 20)
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..algorithm import resampling
from ..algorithm.groups import group_loss
from ..algorithm.likelihood import PoissonLoss
from ..algorithm.messages import Moments
from ..algorithm.resampling import CountLaw, Stratified, Subsample
from ..algorithm.weighted import WeightedLoss
from ..sketch import as_page
from ..tables.chunked import check_in_memory
from ..typing import Array, DataFrame, TableLike
from ..validation import check_array, kind_of
from .cox import RiskSets, leave_one_out_hazard, one_clock, within_strata

__all__ = ["BaselineHazard", "MovingBaseline", "survival_target"]

_FIELDS = ("event", "time"), ("event", "start", "stop"), ("event", "entry", "time")


def survival_target(y):
    """Read survival data in one of the usual forms; return times and events, (M,)
    floats, events 0 or 1, and entry times, (M,), if y has them.

    y is a structured array (M,), a data frame or an array. It has one of these columns:

    - event and time, as in scikit-survival;
    - event, start and stop, with entries (left truncation);
    - time and event, or start, stop and event, if only the last column holds nothing
      but 0 and 1;
    - in any order, if they are called so ("entry" and "time" stand for start and stop).

    A TypeError or ValueError for anything else, for two columns without names that
    could both be the event, missing or negative times, and a start that is not before
    its stop.
    """
    columns, named = _split_target(y)
    if not named and _event_is_last(columns):
        columns = columns[-1:] + columns[:-1]
    event = np.asarray(columns[0])
    if event.dtype.kind == "O":
        event = event.astype(float)
    if event.dtype.kind not in "biuf" or not np.isin(event, (0, 1)).all():
        raise ValueError(
            "y: the event is the first column, or the one that holds 0 and 1 alone; it"
            " must be True where it was seen and False where not (of codes 1, 2: y =="
            " 2)"
        )
    time = check_array("y: time", columns[-1], ("M",), 0)
    event = event.astype(float)
    if len(columns) == 2:
        return time, event
    start = check_array("y: start", columns[1])
    return time, event, _check_entry(start, time)


def _event_is_last(columns):
    """Return whether the last of two or three columns without names, (M,) each, holds
    the events and not the first. A ValueError if that cannot be known.

    Events are the last column if it holds 0 and 1 alone, and the first one does not, or
    has zeros only, as starts may be.
    """
    is_coded = []  # whether a column holds nothing but 0 and 1
    for column in columns:
        entries = np.asarray(column, dtype=object)
        is_coded.append(np.isin(entries, (0, 1)).all())
    last_varies = np.any(columns[-1] != columns[-1][:1])
    # a last column of ones alone are the times of matched sets
    if len(columns) == 2 and all(is_coded) and last_varies:
        raise ValueError(
            "y: both columns hold only 0 and 1, and each could be the event: call them"
            " 'event' and 'time', in a data frame or a structured array"
        )
    # a first column of zeros alone are starts
    first_is_event = is_coded[0] and np.any(columns[0])
    return is_coded[-1] and not first_is_event


def _split_target(y):
    """Return the columns of survival data y, a list of (M,) arrays, and whether they
    are called as in `_FIELDS`: then they are in the order of these names, else as they
    stand. A TypeError for any other number of columns than 2 or 3.
    """
    names = []
    if "frame" in kind_of(y):
        names = list(y.columns)
    elif isinstance(y, np.ndarray) and y.dtype.names:
        names = list(y.dtype.names)
    matches = [fields for fields in _FIELDS if set(fields) == set(names)]
    if matches:
        names = matches[0]
    if names:
        columns = [np.asarray(y[name]) for name in names]
    else:
        columns = list(np.transpose(np.atleast_1d(y)))
    if len(columns) not in (2, 3) or columns[0].ndim != 1:
        raise TypeError(
            "y for survival must be a structured array or two columns: event and time,"
            f" or event, start and stop; got {type(y).__name__} of shape {np.shape(y)}"
        )
    return columns, bool(matches)


def _check_entry(entry, time):
    """Return entry times as floats, (M,); a ValueError where one is not before the time
    at which its row ends.
    """
    if entry.shape == time.shape and (entry >= time).any():
        late = np.flatnonzero(entry >= time)
        row = late[0]
        raise ValueError(
            f"start must be before stop: row {row} (counted from 0) starts at"
            f" {entry[row]:g} and stops at {time[row]:g} ({len(late)} rows are such);"
            " drop who was never at risk, or give them in order"
        )
    return check_array("start", entry, time.shape, 0)


def _check_baseline(base):
    """Check the fields of a `BaselineHazard`, and write them back as float arrays,
    (M,), with defaults in place of None.

    By default weights are 1, offsets 0, and the risk is that of a model without
    features; strata become numbers. A ValueError for fields that are none, and for so
    few events that more than one resample in 20 would have none.
    """
    time = check_array("time", base.time, ("M",), 0)
    shape = time.shape
    event = check_array("event", base.event, shape)
    weight = np.ones(shape) if base.sample_weight is None else base.sample_weight
    weight = check_array("sample_weight", weight, shape, 0)
    offset = np.zeros(shape) if base.offset is None else base.offset
    offset = check_array("offset", offset, shape)
    fields = dict(time=time, event=event, sample_weight=weight, offset=offset)
    if base.entry is not None:
        fields["entry"] = check_array("entry", base.entry, shape)
        _check_entry(fields["entry"], time)
    if base.strata is not None:
        fields["strata"] = _number_strata(base.strata, shape)
    counts = resampling.law_of_one(base.counts, len(time))
    fields["counts"] = counts
    if base.risk is None:  # that of a model without features
        fields["risk"] = counts.mean * (weight * np.exp(offset))
    vars(base).update(fields)  # the class is frozen: only its dict can be changed
    _check_events(base)


def _number_strata(strata, shape):
    """Return the numbers of strata from their labels; a ValueError unless these are
    (M,), the shape.
    """
    index = Stratified(Subsample(1.0), strata).index
    if index.shape != shape:
        raise ValueError(
            f"strata must hold one label for each of {shape[0]} rows, got {len(index)}"
        )
    return index


def _check_events(base):
    """Refuse (ValueError) events that are not 0 or 1, or so few in rows with a weight
    that more than one resample in 20 would have none.
    """
    if not np.isin(base.event, (0, 1)).all():
        raise ValueError("event must be 0 or 1 in every row")
    events = int(np.sum((base.event > 0) & (base.sample_weight > 0)))
    if not events:
        raise ValueError("no event: every row is censored, there is nothing to fit")
    values, chances = base.counts.nodes()
    not_drawn = float(chances[np.asarray(values) == 0].sum())
    none_drawn = not_drawn**events
    if none_drawn > 0.05:
        raise ValueError(
            f"{events} event(s) among {len(base.time)} rows: {none_drawn:.0%} of the"
            " resamples would hold none, and no hazard could be fitted; more events are"
            " needed"
        )


@dataclass(frozen=True, eq=False, repr=False)
class BaselineHazard:
    """Hold a frozen baseline hazard, which makes each row of survival data a Poisson
    row (`full`, `drawn-share`).

    Parameters
    ----------
    time, event : (M,) arrays
        As `survival_target` gives them: times >= 0, and 1 where the event was seen, 0
        where not. A ValueError where so few were seen that resamples may have none.
    counts : law of counts
        As `resampling` of `rvamp`.
    sample_weight, offset : (M,) arrays, optional
        Weights of the rows, and a known part of the log hazard.
    risk : (M,) array, optional
        E c w exp(eta + b) for each row; by default that of the model without features.
    strata, entry : (M,) arrays, optional
        Labels with a baseline each, kept as whole numbers; times, before `time`, up to
        which a row is not at risk.

    See Also
    --------
    StabilitySelection : Find the baseline and the fit together.

    Examples
    --------
    >>> import numpy as np
    >>> from rvamp_nb.inference.baseline import BaselineHazard
    >>> base = BaselineHazard(np.arange(1, 21.0), np.arange(20) % 2)
    >>> base.hazard[[0, 9, 19]].round(2).tolist()
    [0.0, 0.42, 1.89]
    """

    time: Array
    event: Array
    counts: CountLaw = Subsample(0.5)
    sample_weight: Array | None = None
    offset: Array | None = None
    risk: Array | None = None
    strata: Array | None = None
    entry: Array | None = None

    def __post_init__(self):
        _check_baseline(self)

    @property
    def rows(self) -> WeightedLoss:
        """Make the loss for the solver: a Poisson row for each person, as
        WeightedLoss.
        """
        # a row that ends before the first event has met no hazard, and no weight
        met_hazard = self.hazard > 0
        log_hazard = np.log(np.where(met_hazard, self.hazard, 1.0))
        weight = self.sample_weight * met_hazard
        return WeightedLoss(PoissonLoss(), weight, self.offset + log_hazard)

    @cached_property
    def hazard(self) -> Array:
        """Compute the cumulative hazard, (M,), as each row sees it (`drawn-share`), at
        the level at which the intercept starts at 0; 0 before the first event.
        """
        weight = self.sample_weight
        deaths = weight * self.event
        hazard = leave_one_out_hazard(
            self.time, deaths, self.risk, self.counts, self.entry, self.strata
        )
        return hazard * (deaths.sum() / (weight * np.exp(self.offset) @ hazard))

    @property
    def mean_at_risk(self) -> float:
        """Count the rows at risk at an event of a resample, on average."""
        start, stop = one_clock(self.time, self.entry, self.strata)
        order = np.argsort(stop)
        drawn = (self.sample_weight[order] > 0) * self.counts.mean
        n_at_risk = RiskSets(start[order], stop[order]).at_risk(drawn)
        return float(np.average(n_at_risk, weights=self.event[order]))

    def summary(self) -> "DataFrame":
        """Show the hazard in a table, a row for each time of an event.

        Returns
        -------
        DataFrame
            The events at each time, by `time`, and the cumulative hazard there, on
            average over the rows that leave then (and the `stratum`, if there are any).

        Examples
        --------
        >>> import numpy as np
        >>> from rvamp_nb.inference.baseline import BaselineHazard
        >>> table = BaselineHazard(np.arange(21.0), np.arange(21) % 4 == 1).summary()
        >>> table.loc[[5.0, 17.0]].round(1).to_dict("list")
        {'events': [1.0, 1.0], 'hazard': [0.2, 0.8]}
        """
        from pandas import DataFrame

        columns = {"time": self.time, "events": self.event, "hazard": self.hazard}
        keys = ["time"]
        if self.strata is not None:
            columns["stratum"] = self.strata
            keys = ["stratum", "time"]
        rows = DataFrame(columns)[self.sample_weight > 0]
        table = rows.groupby(keys).agg({"events": "sum", "hazard": "mean"})
        return table[table["events"] > 0]

    def __repr__(self):
        return (
            f"BaselineHazard({int(np.sum(self.event)):,} events of {len(self.time):,}"
            f" rows; hazard up to {self.hazard.max():.2g} at {self.time.max():g})"
        )

    def _repr_html_(self):
        table = self.summary().reset_index()
        rows = np.unique(np.linspace(0, len(table) - 1, 6).astype(int))
        columns = {}
        for name in ("time", "events", "hazard"):
            values = table[name].to_numpy(dtype=float)
            columns[name] = values, np.maximum(np.abs(values) / 10, 1e-300)
        return as_page(self, ("held fixed", "plain"), (), rows, columns)

    def within_strata(self, A: TableLike) -> TableLike:
        """Subtract the mean of each column in each stratum (`within`).

        Parameters
        ----------
        A : (M, N) table
            A TypeError for a table in chunks, with strata.

        Returns
        -------
        (M, N) table
            A itself without strata.
        """
        if self.strata is None:
            return A
        why = "strata with a baseline each: the columns are centred in each"
        check_in_memory(A, why)
        return within_strata(check_array("A", A), self.strata, self.sample_weight)

    def updated(self, u: Moments) -> "BaselineHazard":
        """Compute the baseline that the pulls under this one imply (`mean-breslow`).

        Parameters
        ----------
        u : Moments
            Of the M rows, under this baseline.

        Returns
        -------
        BaselineHazard
            With another risk.
        """
        # a Poisson row's mean pull is its mean deaths less the expected ones, which are
        # its risk times the hazard: that gives the risk
        deaths = self.counts.mean * (self.sample_weight * self.event)
        expected = np.maximum(deaths - u.mean, 0)
        has_hazard = self.hazard > 0
        risk = expected / np.where(has_hazard, self.hazard, 1.0)
        return replace(self, risk=np.where(has_hazard, risk, self.risk))

    def distance(self, other: "BaselineHazard") -> float:
        """Compute the largest change of the hazard.

        Parameters
        ----------
        other : BaselineHazard
            Of the same rows.

        Returns
        -------
        float
            Relative to the largest value.
        """
        change = np.abs(self.hazard - other.hazard).max()
        return float(change / other.hazard.max())


class MovingBaseline:
    """Takes steps as `take` does, each with the baseline that its messages imply."""

    def __init__(self, base, take):
        self.base = base
        self.take = take

    def __call__(self, problem, state):
        """Take the step of a problem from a state: update the baseline by the pulls of
        the rows under the last one, then take the step with the new one.
        """
        A, y, _, _, counts, beta = problem
        loss = group_loss(self.base.rows, counts, A, y, beta)
        with np.errstate(all="ignore"):
            u, _ = loss.message(y, state.to_likelihood, counts, beta)
        self.base = self.base.updated(u)
        new_loss = group_loss(self.base.rows, counts, A, y, beta)
        return self.take(problem._replace(likelihood=new_loss), state)
