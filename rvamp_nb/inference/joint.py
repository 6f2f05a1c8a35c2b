"""Effects of all columns in one model without a penalty, by fits that leave rows out.

Chapter 5.6 derives it. Survival times (Cox's model), several classes, counts with an
exposure and rows in groups have no debiased Lasso here. With at least four rows, or
events, for each column they do not need one: the model is fitted without a penalty,
then 100 times without a hundredth of the rows, or groups of rows. These fits give the
bias (`jackknife`) and the errors (`unit-error`), also of several columns together. A
column that separates rows by their target has no finite estimate; those of the others
do not depend on where a very small square penalty (`SLIGHT`) stops it.

>>> import numpy as np
>>> from rvamp_nb.algorithm.likelihood import PoissonLoss
>>> from rvamp_nb.inference.joint import RowModel, joint_effects
>>> rng = np.random.default_rng(0)
>>> A, years = rng.normal(size=(200, 2)), rng.uniform(1, 9, size=200)
>>> y = rng.poisson(years * np.exp(0.3 * A[:, 0] - 1))
>>> model = RowModel(A, y, PoissonLoss(), offset=np.log(years))
>>> found = joint_effects(model, np.arange(200))
>>> np.round(found.estimate, 1).tolist()  # the intercept is last
[0.3, 0.1, -1.0]
"""

from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.stats import t as student

from ..algorithm.likelihood import Squared
from .cox import RiskSets, one_clock
from .several_classes import Softmax, softmax_terms

__all__ = [
    "MOST_BIAS",
    "MOST_UNITS",
    "CoxModel",
    "JointEffects",
    "LEAST_LEFT",
    "ROWS_EACH",
    "RowModel",
    "bell_mccaffrey",
    "intervals",
    "joint_effects",
    "joint_test",
    "why_none",
]

# Beside each stands what half and twice of it do to 36 fits of the bench (survival
# times, classes, an exposure; half of them with columns of 0 and 1, or pixels): as it
# is, 1 is refused, 19 columns separate rows, .958 of 1,408 intervals hold.
MOST_UNITS = 100  # parts of the rows that are left out in turn
# half: intervals are 3 % longer; twice: as long, and twice the time
MOST_BIAS = 0.3  # of the true coefficients; beyond it the bias is not known well enough
# half: 13 are refused; twice: none, but at .35 to .6 estimates are 10 to 25 % small
# where two classes are nearly separated
SLACK = 1e-9  # times the diagonal, for columns that add up
# half or twice: 1e-9 of a length
ROWS_EACH = 4  # for each coefficient, at least; events where these are fewer
# half: the bias decides alone; twice: the tables of 240 rows are refused
ADDS_UP = 0.5  # partial correlation, beyond which columns are named as a sum
# half: chance names 20 columns a fit; twice: none are named
LEAST_LEFT = 1e-4  # of a column: an interval 100 times as wide as by itself
# half: nothing; twice: 2 of 222 columns more have no interval
SLIGHT = 1e-6  # of a square penalty, on log odds or rates between the ends of a column
# half or twice: 1e-4 of a length
DRIFT = 0.05  # log odds or rates, by which a penalty SLIGHT / e would move an estimate
# half or twice: nothing


class RowModel:
    """A loss that is a sum over rows, with an intercept (`all-together`).

    Parameters: a table A, (M, N); the target y, (M,), or for softmax (M, d); the loss,
    a `Loss` without weights; offset, (M,) or 0; weight > 0, (M,) or 1. Coefficients are
    those of the N columns and of the intercept, d for each with a softmax loss
    (`softmax-curvature`).
    """

    def __init__(self, A, y, loss, offset=0.0, weight=1.0):
        self.A = np.column_stack([A, np.ones(len(A))])
        self.y = y
        self.loss = loss
        self.offset = offset
        self.weight = weight + np.zeros(len(A))
        self.bends = not isinstance(loss, Squared)
        self.basis = loss.basis if isinstance(loss, Softmax) else None
        self.d = 1 if self.basis is None else self.basis.shape[1]
        self.n = self.A.shape[1] * self.d

    def terms(self, x):
        """Compute loss (M,), slope (M, d) and curvature (M, d, d) of each row."""
        f = self.A @ x.reshape(-1, self.d)
        if self.basis is not None:
            return softmax_terms(self.basis, self.y, f)
        f = f[:, 0] + self.offset
        slope, curvature = self.loss.derivatives(self.y, f)
        value = self.loss.value(self.y, f)
        return value, slope[:, None], curvature[:, None, None]

    def score(self, x, counts):
        """Compute the loss, a float, and how far each row pulls each coefficient, minus
        the slope of its loss, (M, n); at coefficients x, (n,), with counts, (M,).
        """
        counts = counts * self.weight
        value, slope, _ = self.terms(x)
        pull = -counts[:, None] * slope
        pulls = self.A[:, :, None] * pull[:, None]
        return counts @ value, pulls.reshape(len(pull), -1)

    def information(self, x, counts):
        """Compute second derivatives of the loss, (n, n), at coefficients x, (n,), with
        counts of the rows, (M,).

        n is N d, with d coefficients for each of N columns. The block of the directions
        a and b is A'DA, (N, N), where D has counts times the curvature of a and b.
        """
        _, _, curvature = self.terms(x)
        counts = counts * self.weight
        N = self.A.shape[1]
        G = np.empty((N, self.d, N, self.d))
        for a in range(self.d):
            for b in range(a + 1):
                G[:, a, :, b] = (self.A.T * (counts * curvature[:, a, b])) @ self.A
                G[:, b, :, a] = G[:, a, :, b]
        return G.reshape(N * self.d, -1)

    share = information  # the part of some rows, with counts 1, in that of all


class _Risks(NamedTuple):
    """Risks of the rows of a `CoxModel` at some coefficients."""

    f: np.ndarray  # (M,) linear predictor
    risk: np.ndarray  # (M,), relative, times how often the row is counted
    deaths: np.ndarray  # (M,)
    total: np.ndarray  # (M,): risk of all that are at risk when a row ends
    mean: np.ndarray  # (M, N): of the columns over these


class CoxModel:
    """Cox's partial likelihood (`cox`), with strata and late entry.

    Parameters: a table A, (M, N); times and events, (M,); offset, (M,) or 0; strata and
    entry, (M,) or None; weight > 0, (M,) or 1. `order` is the order of its rows, that
    of the times.
    """

    def __init__(self, A, time, event, offset=0.0, strata=None, entry=None, weight=1.0):
        begin, end = one_clock(time, entry, strata)
        self.order = np.argsort(end, kind="stable")
        self.A = A[self.order]
        self.event = event[self.order]
        self.offset = (offset + np.zeros(len(A)))[self.order]
        self.weight = (weight + np.zeros(len(A)))[self.order]
        self.d = 1
        self.n = A.shape[1]
        self.bends = True
        self.sets = RiskSets(begin[self.order], end[self.order])

    def _risks(self, x, counts):
        """Compute the `_Risks` of the rows, each counted so many times, (M,)."""
        f = self.A @ x + self.offset
        counts = counts * self.weight
        risk = counts * np.exp(f)
        total = np.maximum(self.sets.at_risk(risk), np.exp(f) * 1e-12)
        mean = self.sets.at_risk(self.A.T * risk).T / total[:, None]
        return _Risks(f, risk, counts * self.event, total, mean)

    def score(self, x, counts):
        """Compute the loss and how far each row pulls each coefficient, (M, n)
        (`cox-score`).

        A row adds what it differs from the mean at its own death, less its risk times
        the hazard times this difference, summed over all deaths while it is at risk.
        """
        rows = self._risks(x, counts)
        jumps = rows.deaths / rows.total  # of the hazard, at each death
        hazard = self.sets.while_at_risk(jumps)
        mean_times_jumps = self.sets.while_at_risk(rows.mean.T * jumps).T
        pull = rows.deaths[:, None] * (self.A - rows.mean)
        pull -= rows.risk[:, None] * (self.A * hazard[:, None] - mean_times_jumps)
        return rows.deaths @ (np.log(rows.total) - rows.f), pull

    def information(self, x, counts):
        """Compute second derivatives of the loss, (n, n): Σ e a a' - Σ d m m' over rows
        (`cox-curvature`).

        a is a row of the table, e the deaths that the hazard expects of it, d its
        deaths, and m the mean of the table over those at risk when it ends.
        """
        rows = self._risks(x, counts)
        hazard = self.sets.while_at_risk(rows.deaths / rows.total)
        expected = rows.risk * hazard
        frozen = (self.A.T * expected) @ self.A
        return frozen - (rows.mean.T * rows.deaths) @ rows.mean

    def share(self, x, counts):
        """Compute the part of some rows, with counts 1, in the second derivatives of
        all, (n, n): by the risk that they hold at each death (`cox-share`).

        It is the sum over deaths and over these rows at risk of
        hazard risk (a - mean)(a - mean)', where a is the row of the table, and mean
        that of all at risk. The square is multiplied out below.
        """
        rows = self._risks(x, np.ones(len(counts)))
        mean = rows.mean
        jumps = rows.deaths / rows.total  # of the hazard, at each death
        risk = rows.risk * counts
        # a a', a mean' and mean mean', each with its sum of hazard times risk
        hazard_times_risk = risk * self.sets.while_at_risk(jumps)
        squares = (self.A.T * hazard_times_risk) @ self.A
        mean_times_jumps = self.sets.while_at_risk(mean.T * jumps)
        crossed = (mean_times_jumps * risk) @ self.A
        risk_at_death = jumps * self.sets.at_risk(risk)
        squares = squares + (mean.T * risk_at_death) @ mean
        return squares - crossed - crossed.T


class JointEffects(NamedTuple):
    """Coefficients of one model of all columns, or m combinations of them."""

    estimate: np.ndarray  # (m,), without its bias
    covariance: np.ndarray  # (m, m)
    freedom: np.ndarray  # (m,): degrees of freedom of the standard errors
    bias: float  # that was subtracted, as a share of the true coefficients
    infinite: np.ndarray  # (n,) bool: no finite estimate, with or without a part
    left: np.ndarray  # (n,): the share of each column that all others leave
    adds_up: list  # for each column those that it adds up with, int arrays


def _inverse(G):
    """Invert second derivatives, (n, n); what is not determined becomes large.

    They are divided by the roots of their diagonal first, so that `SLACK`, which is
    added to the diagonal, does not depend on the units of the columns.
    """
    scale = np.sqrt(np.diag(G))
    scale[scale == 0] = 1  # a column that is zero in all rows that are left
    unit = G / np.outer(scale, scale)
    inverse = np.linalg.inv(unit + SLACK * np.eye(len(G)))
    return (inverse + inverse.T) / 2 / np.outer(scale, scale)


@np.errstate(all="ignore")  # of a step that is too long
def _minimise(model, x, counts, tol):
    """Minimise the loss of a `RowModel` or `CoxModel` with counts, (M,), of its rows,
    and the slight penalty `SLIGHT`, by Newton's method from x, (n,), to a step of tol
    standard errors. Return x, and a mask of the coefficients, (n,), that a smaller
    penalty would move: nothing else bounds them.

    A step is the inverse of the second derivatives times the pull, the sum of the rows'
    pulls (minus the slope of the loss), halved until the loss falls. The inverse takes
    longer than a step: it is kept while each step is less than a tenth of the last.
    """
    # range of each coefficient's column: a model has d coefficients for each column
    span = np.repeat(np.ptp(model.A, axis=0), model.d)
    # a squared loss (one that does not bend) has a finite minimum without a penalty
    ridge = SLIGHT * span**2 * model.bends
    value, pulls = model.score(x, counts)
    value += ridge @ x**2 / 2
    inverse = None  # computed where it is missing
    last_size = np.inf
    for _ in range(200):
        if inverse is None:
            inverse = _inverse(model.information(x, counts) + np.diag(ridge))
        pull = pulls.sum(0) - ridge * x
        step = inverse @ pull
        size = np.sqrt(max(step @ pull, 0))  # in standard errors
        if size < tol:
            # how far x would move, on the scale of the predictor, without the penalty
            drift = np.abs(inverse @ (ridge * x)) * span
            return x + step, drift > DRIFT
        length, value, pulls = _search_line(model, x, step, counts, ridge, value)
        x = x + length * step
        if size > last_size / 10 or length < 1:
            inverse = None
        last_size = size
    raise ValueError("debiased_effects: the fit without a penalty has not converged")


def _search_line(model, x, step, counts, ridge, value):
    """Halve a step from x, (n,), until the penalised loss is at most `value`; return
    its length, 1 for the whole step, and the loss and the rows' pulls, (M, n), there.
    """
    length = 1.0
    while True:
        new = x + length * step
        new_value, pulls = model.score(new, counts)
        new_value += ridge @ new**2 / 2
        if new_value <= value or length < 1e-6:
            return length, new_value, pulls
        length /= 2


def joint_effects(model, units, unbiased=True, to=None):
    """Estimate all coefficients together, by fits without each part of the rows.

    Parameters
    ----------
    model : RowModel or CoxModel
        Of n coefficients; no column is zero.
    units : (M,) labels
        Of the rows of `model.A`: rows of one label may depend on each other. Beyond
        `MOST_UNITS` of them are left out several at a time, drawn at random whatever
        the order of rows and labels.
    unbiased : bool
        Whether to subtract the bias (`reciprocal-bias`), which a squared loss and
        counts do not have.
    to : (n, m) array, optional
        Combinations of the coefficients to return in their place.

    Returns
    -------
    JointEffects
        A ValueError if the bias is above `MOST_BIAS`.

    Examples
    --------
    >>> import numpy as np
    >>> from rvamp_nb.algorithm.likelihood import Squared
    >>> from rvamp_nb.inference.joint import RowModel, joint_effects
    >>> A = np.random.default_rng(0).normal(size=(60, 2))
    >>> found = joint_effects(RowModel(A, A[:, 0], Squared()), np.arange(60), False)
    >>> print(np.abs(found.estimate).round(3))
    [1. 0. 0.]
    """
    n = model.n
    to = np.eye(n) if to is None else to
    every = np.ones(len(model.A))
    x, infinite = _minimise(model, np.zeros(n), every, 1e-7)
    _, pulls = model.score(x, every)
    G = model.information(x, every)
    K = _inverse(G)
    part = _draw_parts(units, pulls, K)
    n_parts = part.max() + 1
    own = np.empty((n_parts, n))  # how each part moves the estimate in the fit ...
    without = np.empty((n_parts, n))  # ... and what it is without the part
    information = np.empty((n_parts, n, n))  # the part's own second derivatives
    for k in range(n_parts):
        rest = (part != k) * 1.0
        own[k] = K @ pulls[part == k].sum(0)
        without[k], lost = _minimise(model, x, rest, 1e-6)
        infinite |= lost
        information[k] = model.share(x, 1 - rest)
    if np.ptp(model.weight) > 0:  # `own` is right if weights are inverse variances
        own = (own + x - without) / 2
    moved = own.T @ (x - without)
    estimate = x
    share = 0.0
    if unbiased:
        left_out = np.bincount(part, model.weight) / model.weight.sum()
        bias = (1 - left_out) @ (without - x)
        finite = ~infinite
        if infinite.any():  # an intercept goes along with what goes to infinity
            finite &= np.repeat(np.ptp(model.A, axis=0) > 0, model.d)
        share = _bias_share(model, x, K, bias, finite)
        estimate = x - bias / (1 + share)
        moved /= 1 + share
    precision = np.diag(K)
    partial_correlation = np.abs(K) / np.sqrt(np.outer(precision, precision))
    alike = partial_correlation - np.eye(n) > ADDS_UP
    return JointEffects(
        estimate @ to,
        to.T @ (moved + moved.T) @ to / 2,
        bell_mccaffrey(information, K, to),
        share,
        infinite,
        1 / (np.diag(G) * precision),
        [np.flatnonzero(row) for row in alike],
    )


def intervals(estimate, covariance, freedom, held, level):
    """Make intervals of confidence `level` and p-values of m coefficients by Student's
    t: of those that are `held`, (m,) bool, for an interval would hold; nan for others.
    Return fields of `Effects`, {name: (m,) array}, with the covariance.

    The estimates, (m,), their covariance, (m, m), and degrees of freedom, (m,), are
    those of `JointEffects`.
    """
    variance = np.diag(covariance)
    has_interval = held & (variance > 0)
    se = np.sqrt(np.where(has_interval, variance, np.nan))
    estimate = np.where(has_interval, estimate, np.nan)
    half_width = student.ppf((1 + level) / 2, freedom) * se
    return {
        "estimate": estimate,
        "se": se,
        "ci_low": estimate - half_width,
        "ci_high": estimate + half_width,
        "p_value": 2 * student.sf(np.abs(estimate) / se, freedom),
        "status": np.where(has_interval, "interval", "none"),
        "covariance": covariance,
    }


def why_none(found, j, names):
    """Return the reason why coefficient j of `JointEffects` has no interval, or "".
    Names, at least (N,), are those of the coefficients but for an intercept.
    """
    if found.infinite[j]:
        return "separates rows by the target, alone or with others"
    if found.left[j] < LEAST_LEFT:
        others = [k for k in found.adds_up[j] if k < len(names)]
        return f"adds up with {', '.join(dict.fromkeys(map(str, names[others])))}"
    return ""


def _draw_parts(units, pulls, K):
    """Number the parts of the rows that are left out in turn, (M,): the units, or if
    these are more than MOST_UNITS, several of them drawn at random.

    units, (M,), are labels; pulls, (M, n), how far each row pulls each coefficient; K,
    (n, n), is the inverse of the second derivatives. The draw goes through the units
    by how far they move the estimate, pull'K pull, so that it does not depend on the
    order of rows and labels.
    """
    labels, unit = np.unique(units, return_inverse=True)
    n_units = len(labels)
    n_parts = min(n_units, MOST_UNITS)
    pull = np.zeros((n_units, len(K)))
    np.add.at(pull, unit, pulls)  # the sums over the rows of each unit
    order = np.argsort(np.einsum("ui,ij,uj->u", pull, K, pull))
    drawn = np.empty(n_units, dtype=int)
    drawn[order] = np.random.default_rng(0).permutation(n_units) % n_parts
    return drawn[unit]


def _bias_share(model, x, K, bias, finite):
    """Compute the bias of the estimates x, (n,), as a share of them, x'Jb / x'Jx
    (`reciprocal-bias`), a float. Refuse (ValueError) a share that is too large.

    bias, b, is (n,), and K, (n, n), the inverse of the second derivatives J. Estimates
    that are not `finite`, (n,) bool, take part with the values that minimise the loss:
    J is the inverse of the other estimates' part of K.
    """
    x = x[finite]
    Jx = np.linalg.solve(K[np.ix_(finite, finite)], x)
    # noise alone makes x'Jx the number of estimates on average: of less no share is
    # known
    share = float(Jx @ bias[finite]) / max(x @ Jx, len(x), 1)
    if not abs(share) <= MOST_BIAS:
        raise ValueError(
            f"debiased_effects: without a penalty {len(model.A)} rows make the effects"
            f" of {model.n} coefficients {share:.0%} too large (at most {MOST_BIAS:.0%}"
            " either way): leave columns out, or take more rows"
        )
    return share


def bell_mccaffrey(information, K, combinations):
    """Compute the degrees of freedom of the standard errors of combinations, (n, m), of
    coefficients, (m,), as Bell and McCaffrey do (`unit-freedom`).

    information, (G, n, n), are the second derivatives J_g of each unit, and K, (n, n),
    is the inverse of their sum. With d = K times a combination and U_g = J_g d, the
    units' pulls have, if rows are independent, the covariance

        Omega_gh = sqrt(w_g w_h) (v_g [g = h] - U_g'K U_h),  v_g = d'J_g d,

    and the degrees of freedom are (tr Omega)^2 / tr Omega^2. The weight w_g makes up
    for what the fit takes off a unit's pull, q_g / v_g with q_g = U_g'K U_g.
    """
    freedom = np.empty(combinations.shape[1])
    for i in range(len(freedom)):
        d = K @ combinations[:, i]
        U = information @ d
        v = U @ d
        UK = U @ K
        q = np.einsum("gi,gi->g", UK, U)
        # bounds: a unit that nothing else determines, and one that has no part
        w = 1 / np.maximum(1 - q / np.maximum(v, 1e-300), 1e-3)
        trace = w @ (v - q)  # of Omega, whose diagonal is w_g (v_g - q_g)
        # the trace of Omega^2 is the sum of all squares of Omega's entries,
        #   sum_gh w_g w_h (U_g'K U_h)^2 + sum_g w_g^2 (v_g^2 - 2 v_g q_g),
        # of which the first is the trace of (KS)^2 with S = sum_g w_g U_g U_g'
        KS = K @ ((U.T * w) @ U)
        trace_of_square = w**2 @ (v**2 - 2 * v * q) + np.sum(KS * KS.T)
        freedom[i] = trace**2 / max(trace_of_square, 1e-300)
    return freedom


def joint_test(estimate, covariance, freedom):
    """Test whether k coefficients together are zero (`joint-f`).

    Parameters
    ----------
    estimate, covariance, freedom : (k,), (k, k) and (k,) arrays
        Of `JointEffects`; coefficients may be linearly dependent.

    Returns
    -------
    tuple of four floats
        F, its two degrees of freedom, and the p-value; nan where the degrees of freedom
        do not suffice.

    Examples
    --------
    >>> import numpy as np
    >>> from rvamp_nb.inference.joint import joint_test
    >>> F, k, freed, p = joint_test(np.ones(2), np.eye(2) / 4, np.array([20.0, 20.0]))
    >>> print(round(F, 1), k, freed, round(p, 3))
    3.8 2 19.0 0.041
    """
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    correlation = covariance / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(correlation)
    # directions without variance are combinations of coefficients that are always 0
    varies = values > 1e-6 * values.max()
    k = int(varies.sum())
    along = vectors[:, varies].T @ (estimate / scale)
    T2 = np.sum(along**2 / values[varies])
    # Hotelling: of T2, whose covariance has nu degrees of freedom, the fraction
    # T2 (nu - k + 1) / (k nu) is distributed as F with k and nu - k + 1
    nu = float(np.mean(freedom))
    denominator_freedom = nu - k + 1
    if not denominator_freedom > 0:
        return np.nan, k, denominator_freedom, np.nan
    F = float(T2 * denominator_freedom / (k * nu))
    return F, k, denominator_freedom, float(stats.f.sf(F, k, denominator_freedom))
