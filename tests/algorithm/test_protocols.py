"""What a prior, a loss, a law must offer is declared once; what does not keep to it is
refused by name at the call, before the iteration starts.
"""

from typing import get_args

import numpy as np
import pytest
from models import PRIORS
from sources import calls

from rvamp_nb import (
    Discrete,
    Exponential,
    Grouped,
    Huber,
    Laplace,
    Logistic,
    Loss,
    NoResampling,
    Poisson,
    PoissonLoss,
    Prior,
    Ridge,
    SpikeSlab,
    Squared,
    StabilitySelection,
    Stratified,
    Subsample,
    TwoPoint,
    Weakness,
    WeightedLoss,
    naive_bootstrap,
    refine,
    rvamp,
)
from rvamp_nb.algorithm.likelihood import LOSSES, LossLike
from rvamp_nb.algorithm.messages import Moments
from rvamp_nb.algorithm.problem import Problem
from rvamp_nb.algorithm.protocols import (
    check_derivatives,
    check_moments,
    check_response,
)
from rvamp_nb.algorithm.resampling import FixedFactor, check_law
from rvamp_nb.course.multinomial import Multinomial

rng = np.random.default_rng(65)
A = rng.normal(size=(30, 6)) / 5
Y = A[:, 0] + 0.3 * rng.normal(size=30)
LABELS, COUNTS = 1.0 * (Y > 0), 1.0 * rng.poisson(1, 30)


# --- the package's own ----------------------------------------------------------------
OF_COLUMNS = {
    "l1 of columns": Laplace(30.0, penalty_factor=np.arange(6.0)),
    "ridge of columns": Ridge(np.linspace(0.1, 90, 6)),
}
EACH = {name: prior for name, prior in PRIORS.items() if name != "spike and slab"}
EACH |= OF_COLUMNS


@pytest.mark.parametrize("scale", [1e-3, 1, 1e3])
@pytest.mark.parametrize("beta", [np.inf, 2.0])
@pytest.mark.parametrize("prior", EACH.values(), ids=EACH)
def test_each_prior_keeps_to_it(prior, beta, scale):
    law = Poisson(0.5)
    check_moments(Problem(scale * A, Y, prior, Squared(), law, beta), prior)


@pytest.mark.parametrize("prior", [SpikeSlab(0.3), SpikeSlab(0.01, 100.0)])
def test_spike_and_slab_keeps_to_it(prior):
    check_moments(Problem(A, Y, prior, Squared(), Poisson(), 1.0), prior)


@pytest.mark.parametrize(
    "loss, y",
    [
        (Squared(), Y),
        (Squared(0.01), Y),
        (Logistic(), LABELS),
        (PoissonLoss(), COUNTS),
        (Huber(0.5), Y),
        (WeightedLoss(Logistic(), 1 + LABELS), LABELS),
    ],
)
def test_each_loss_keeps_to_it(loss, y):
    check_derivatives(loss, y, Poisson(0.5), np.inf)


GROUPS = np.arange(30) // 2


@pytest.mark.parametrize(
    "law",
    [
        Poisson(2.0),
        Subsample(0.3),
        NoResampling(),
        Exponential(0.7),
        Discrete((0, 1, 3), (0.5, 0.25, 0.25)),
        Grouped(Poisson(0.5), GROUPS),
        Stratified(Subsample(0.5), GROUPS % 2),
    ],
)
def test_each_law_keeps_to_it(law):
    check_law("resampling", law, ("draw", "nodes", "mean", "var"))


def test_laws_that_offer_less_keep_to_what_they_offer():
    check_law("resampling", Multinomial(0.5), ("draw", "mean", "var"))
    for law in (TwoPoint(), FixedFactor(), Weakness()):
        check_law("randomize", law, ("draw", "nodes"), positive=True)


def test_losses_stand_in_one_list():
    assert tuple(LOSSES) == get_args(get_args(LossLike)[-1])  # what a signature says
    for name, kind in LOSSES.items():
        loss = kind()
        assert loss.name == name and loss.model and loss.plain is loss
        offers = name in ("squared", "huber")  # y - f
        assert loss.shifts == offers


# --- of one's own ---------------------------------------------------------------------
class Normal(Prior):
    """A ridge penalty, as in the docstring of Prior."""

    def inner(self, field, Q_hat, beta):
        x = field / (Q_hat + 1)
        return field * x / 2, x, 0 * field + 1 / (Q_hat + 1)


class LogCosh(Loss):
    """A smooth absolute value, as in the docstring of Loss."""

    def value(self, y, f):
        return np.log(np.cosh(f - y))

    def derivatives(self, y, f):
        return np.tanh(f - y), np.cosh(f - y) ** -2


class Halves:
    """A law of counts."""

    mean, var = 0.5, 0.25

    def nodes(self):
        return np.array([0.0, 1.0]), np.array([0.5, 0.5])

    def draw(self, size, rng):
        return 1.0 * (rng.random(size) < 0.5)


def test_one_small_class_each_is_enough():
    fit = rvamp(A, Y, prior=Normal(), loss=LogCosh(), resampling=Halves())
    assert fit.converged and not fit.selects


@pytest.fixture
def no_step(monkeypatch):
    """The iteration must not begin."""
    monkeypatch.setattr(
        "rvamp_nb.algorithm.iteration.run", lambda *_: pytest.fail("it began")
    )


def prior_with(**parts):
    """A class of `Normal` in which some methods are others."""
    return type("Mine", (Normal,), parts)()


def loss_with(**parts):
    """A class of `LogCosh` in which some methods are others."""
    return type("Mine", (LogCosh,), parts)()


def law_with(**parts):
    """A class of `Halves` in which some methods are others, or are missing (None)."""
    parts = {**vars(Halves), **parts}
    kept = {k: v for k, v in parts.items() if v is not None and k != "__dict__"}
    kept = {k: v for k, v in kept.items() if not k.startswith("__")}
    return type("Mine", (), kept | {"__repr__": lambda self: "Mine()"})()


def inner_with(change):
    """`Normal.inner` with its three answers changed."""

    def inner(self, field, Q_hat, beta):
        return change(*Normal.inner(self, field, Q_hat, beta))

    return inner


def moments_with(**changes):
    """`Prior.moments` with some of its parts changed, by calls."""

    def moments(self, incoming, beta=np.inf):
        x = Prior.moments(self, incoming, beta)
        parts = {k: change(x._asdict()[k]) for k, change in changes.items()}
        return x._replace(**parts)

    return moments


WRONG_PRIORS = {
    "no prior": (Halves(), TypeError, "prior must be .* subclass of Prior"),
    "a class": (Normal, TypeError, "prior must be .* not the class Normal"),
    "no inner": (
        type("Mine", (Prior,), {})(),
        NotImplementedError,
        r"Mine has no inner\(",
    ),
    "chi not the derivative of x": (
        prior_with(inner=inner_with(lambda z, x, r: (z, x, 1.5 * r))),
        ValueError,
        "prior: Mine.inner returns the response .* of the mean by the field$",
    ),
    "a channel with another response": (
        prior_with(moments=moments_with(chi=lambda v: 2 * v, rho=lambda v: 2 * v)),
        ValueError,
        "prior: Mine.moments: rho",
    ),
    "NaN": (
        prior_with(inner=inner_with(lambda z, x, r: (z, x * np.nan, r))),
        ValueError,
        "prior: Mine.moments returns mean = .*nan.* finite",
    ),
    "one number for all": (
        prior_with(moments=moments_with(var=np.mean)),
        ValueError,
        r"prior: Mine.moments returns var = .* shape \(6,\)",
    ),
    "chi of a channel that is not the derivative of its mean": (
        prior_with(
            moments=moments_with(
                chi=lambda v: 1.5 * v,
                rho=lambda v: 1.5 * v,
                rho_bar=lambda v: 1.5 * v - 0.5,
            )
        ),
        ValueError,
        "prior: Mine.moments: chi = .* not the derivative .*`inner`",
    ),
    "NaN without noise": (
        prior_with(
            moments=lambda self, incoming, beta=np.inf: Prior.moments(
                self, incoming, beta
            )._replace(var=np.where(incoming.chi_hat > 0, 0.1, np.nan))
        ),
        ValueError,
        "prior: Mine.moments returns var = .*nan.* finite",
    ),
    "no rho": (
        prior_with(moments=lambda self, *_: Moments(*np.ones((3, 6)))),
        ValueError,
        "prior: Mine.moments returns rho = None",
    ),
    "rho of another precision": (
        prior_with(moments=moments_with(rho=lambda v: v / 2)),
        ValueError,
        "prior: Mine.moments: rho must be Q_hat chi",
    ),
    "Pi of two": (
        prior_with(Pi=lambda self, *_: np.ones(2)),
        ValueError,
        r"prior: Mine.moments returns Pi = .* shape \(6,\)",
    ),
    "unpenalised of two": (
        prior_with(is_unpenalized=lambda self: np.zeros(2, bool)),
        ValueError,
        r"prior: Mine returns is_unpenalized\(\) = .* shape \(6,\)",
    ),
}


@pytest.mark.usefixtures("no_step")
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", WRONG_PRIORS)
def test_a_wrong_prior_is_refused_at_the_call(name, intercept):
    prior, kind, words = WRONG_PRIORS[name]
    with pytest.raises(kind, match=f"(?s)^{words}"):
        rvamp(A, Y, prior=prior, intercept=intercept)


class Threshold(Prior):
    """The Lasso's penalty; `factors` multiply the response where the field is below 0
    and above 0.
    """

    def __init__(self, lam, *factors):
        self.lam, self.factors = lam, factors

    def inner(self, field, Q_hat, beta):
        """As `Prior.inner`."""
        x = np.sign(field) * np.maximum(np.abs(field) - self.lam, 0) / Q_hat
        response = np.where(field < 0, *self.factors) * (x != 0) / Q_hat
        return field * x / 2 - self.lam * np.abs(x) / 2, x, response


# times the largest field at the fit 0: one column of six answers, or a column in a
# resample now and then
@pytest.mark.parametrize("share", [0.5, 2.0])
@pytest.mark.parametrize("factors", [(0.5, 0.5), (1.25, 1.25), (0, 0), (2, 1), (1, 0)])
def test_a_wrong_response_above_a_high_threshold_is_refused(factors, share):
    words = "^prior: Threshold.inner returns the response .*, where the mean rises by"
    lam = share * np.abs(A.T @ Y).max()
    with pytest.raises(ValueError, match=words + ".*: return the derivative"):
        rvamp(A, Y, prior=Threshold(lam, *factors))
    with pytest.raises(ValueError, match=words + ".*: return the derivative"):
        StabilitySelection(prior=Threshold(lam, *factors), n_resamples=0).fit(A, Y)
    rvamp(A, Y, prior=Threshold(lam, 1, 1))


class Steps(Prior):
    """The best of a few values, or, at finite beta, their mean."""

    def inner(self, field, Q_hat, beta):
        """As `Prior.inner`."""
        if np.isinf(beta):
            return 0 * field, np.sign(field), 0 * field
        mean = np.tanh(beta * field)
        return (
            np.logaddexp(beta * field, -beta * field) / beta,
            mean,
            beta * (1 - mean**2),
        )


@pytest.mark.parametrize("beta", [1e-3, 1.0, 30.0, 1e3, 1e6, np.inf])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("prior", [*EACH.values(), Steps()])
def test_a_right_response_passes_wherever_it_bends(prior, scale, beta):
    if isinstance(prior, SpikeSlab) and np.isinf(beta):
        return
    check_response(prior, scale * np.linspace(0.5, 2, 6), np.ones(6), beta)


def test_a_penalty_of_ones_own_is_asked_by_the_estimator():
    def channel(self, incoming, beta):
        mean, chi, var, rho, rho_bar = super(Laplace, self).channel(incoming, beta)
        return np.array([mean, 2 * chi, var, 2 * rho, rho_bar])

    prior = type("Mine", (Laplace,), dict(channel=channel))(1.0, FixedFactor())
    with pytest.raises(ValueError, match="^prior: Mine.moments: "):
        StabilitySelection(prior=prior, n_resamples=0).fit(A, Y)


WRONG_LOSSES = {
    "no loss": (Halves(), TypeError, "loss must be .* subclass of Loss"),
    "no derivatives": (Loss(), NotImplementedError, r"Loss has no derivatives\("),
    "no value": (
        type("Mine", (Loss,), dict(derivatives=LogCosh.derivatives))(),
        NotImplementedError,
        r"Mine has no value\(",
    ),
    "a slope alone": (
        loss_with(derivatives=lambda self, y, f: np.tanh(f - y)),
        TypeError,
        "loss: Mine.derivatives must return the first and the second",
    ),
    "one curvature": (
        loss_with(derivatives=lambda self, y, f: (np.tanh(f - y), 1.0)),
        (TypeError, ValueError),
        "loss: Mine.derivatives",
    ),
    "NaN": (
        loss_with(value=lambda self, y, f: f * np.nan),
        ValueError,
        "loss: Mine.value returns the loss = .*nan",
    ),
    "a sum": (
        loss_with(value=lambda self, y, f: np.sum(f)),
        ValueError,
        r"loss: Mine.value returns the loss = .* shape \(9,\)",
    ),
    "another slope": (
        loss_with(derivatives=lambda self, y, f: (f - y, 1 + 0 * f)),
        ValueError,
        "loss: the slope that Mine.derivatives returns is not that of its value",
    ),
    "not convex": (
        loss_with(
            value=lambda self, y, f: np.log1p((f - y) ** 2),
            derivatives=lambda self, y, f: (
                2 * (f - y) / (1 + (f - y) ** 2),
                2 * (1 - (f - y) ** 2) / (1 + (f - y) ** 2) ** 2,
            ),
        ),
        ValueError,
        r"loss: Mine is not convex \(curvature -0.2377 at y = .*convex loss",
    ),
    "corners alone": (
        loss_with(
            value=lambda self, y, f: np.abs(f - y),
            derivatives=lambda self, y, f: (np.sign(f - y), 0 * f),
        ),
        ValueError,
        "loss: Mine has the curvature 0 everywhere: smooth its corners",
    ),
    "a message of NaN": (
        loss_with(inner=lambda self, y, omega, c, V, beta: [omega * np.nan] * 3),
        ValueError,
        "loss: Mine.message returns mean = .*nan",
    ),
}


@pytest.mark.usefixtures("no_step")
@pytest.mark.parametrize("name", WRONG_LOSSES)
def test_a_wrong_loss_is_refused_at_the_call(name):
    loss, kind, words = WRONG_LOSSES[name]
    with pytest.raises(kind, match=f"(?s)^{words}"):
        rvamp(A, Y, 0.2, loss=loss)
    if kind is ValueError:
        with pytest.raises(kind, match=f"(?s)^{words}"):
            StabilitySelection(loss=loss, n_resamples=0).fit(A, Y)
        with pytest.raises(kind, match=f"(?s)^{words}"):
            rvamp(A, Y, 0.2, loss=WeightedLoss(loss, 1 + LABELS))


WRONG_LAWS = {
    "no nodes": (law_with(nodes=None), TypeError, "it has no nodes$"),
    "no mean": (law_with(mean=None), TypeError, "it has no mean$"),
    "a mean that its nodes do not have": (
        law_with(mean=0.6),
        ValueError,
        "mean = 0.6, but its nodes have 0.5",
    ),
    "a variance that its nodes do not have": (
        law_with(var=0.5),
        ValueError,
        "var = 0.5, but its nodes have 0.25",
    ),
    "nodes of two lengths": (
        law_with(nodes=lambda self: ([0, 1], [1.0])),
        ValueError,
        r"probabilities must have shape \(2,\), .* got \(1,\)",
    ),
    "a mean of NaN": (law_with(mean=np.nan), ValueError, "mean = nan"),
}


@pytest.mark.usefixtures("no_step")
@pytest.mark.parametrize("name", WRONG_LAWS)
def test_a_wrong_law_is_refused_at_the_call(name):
    law, kind, words = WRONG_LAWS[name]
    with pytest.raises(kind, match=f"(?s)^resampling.*{words}"):
        rvamp(A, Y, 0.2, resampling=law)
    with pytest.raises((kind, ValueError), match="^resampling"):
        StabilitySelection(resampling=law, n_resamples=0).fit(A, Y)


CONTRADICTIONS = {  # draws that are not those of `Halves`
    "the mean 3": lambda self, size, rng: np.full(size, 3.0),
    "the mean": lambda self, size, rng: 1.0 * (rng.random(size) < 0.55),
    "the variance": lambda self, size, rng: 2.0 * (rng.random(size) < 0.25),
    "the share of zeros": lambda self, size, rng: rng.gamma(1.0, 0.5, size),
}


@pytest.mark.parametrize("words", CONTRADICTIONS)
@pytest.mark.parametrize("n_resamples", [0, 40])
def test_a_law_whose_draws_are_not_its_nodes_is_refused(words, n_resamples):
    law = law_with(draw=CONTRADICTIONS[words])
    with pytest.raises(ValueError, match=f"^resampling: Mine.. draws .*{words}.*agree"):
        StabilitySelection(resampling=law, n_resamples=n_resamples).fit(A, Y)
    with pytest.raises(ValueError, match="^resampling: Mine.. draws .*agree"):
        naive_bootstrap(A, Y, 0.2, resampling=law)


class Weights:
    """Honest draws, and nodes that average a few polynomials exactly."""

    def __init__(self, nodes, draw):
        self.nodes, self.draw = lambda: nodes, draw
        values, weights = nodes
        self.mean = weights @ values
        self.var = weights @ (values - self.mean) ** 2


POINTS, SHARES = np.polynomial.laguerre.laggauss(5)
RARE = np.array([0.0, 1.0, 1e4]), np.array([0.5, 0.5 - 3e-7, 3e-7])
HONEST = [
    *(Weights(law.nodes(), law.draw) for law in (Poisson(0.01), Poisson(50.0))),
    *(Weights(law.nodes(), law.draw) for law in (Exponential(3.0), Subsample(0.1))),
    Weights((POINTS, SHARES), lambda size, rng: rng.exponential(1.0, size)),
    Weights(RARE, lambda size, rng: rng.choice(RARE[0], size, p=RARE[1])),
    Weights(  # five rows are drawn together
        Poisson(0.5).nodes(),
        lambda size, rng: np.resize(np.repeat(rng.poisson(0.5, size), 5), size),
    ),
]


@pytest.mark.parametrize("law", HONEST)
def test_an_honest_law_passes_whatever_it_draws(law, monkeypatch):
    seeds, rng = iter(range(10**6)), np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda _: rng(next(seeds)))
    for _ in range(100):
        check_law("resampling", law, ("draw", "nodes", "mean", "var"))


def test_laws_without_draws_cannot_be_refitted():
    law = law_with(draw=None)
    fit = rvamp(A, Y, 0.2, resampling=law)
    words = "^resampling must be a law such as .* it has no draw$"
    with pytest.raises(TypeError, match=words):
        refine(fit)
    with pytest.raises(TypeError, match=words):
        naive_bootstrap(A, Y, 0.2, resampling=law)


# --- nobody asks ----------------------------------------------------------------------
# rooms that ask what has come from elsewhere, and how often
ASKS = {
    "interface": 1,  # what a law of one's own has
    "validation": 10,  # tables and numbers from outside
    "tables.dispatch": 1,  # frames of polars
    "select.estimator": 3,  # the selector of a bag, which may be fitted or not
    "select.readers": 2,  # tables of other libraries
}


def questions(texts=None):
    """(room, name, "room:line") of every `hasattr`, and of every `getattr` with an
    answer for objects without the name. Without one it takes what must be there.
    """
    for room, name, place, n_arguments in calls(texts):
        if name == "hasattr" or (name == "getattr" and n_arguments == 3):
            yield room, name, place


def test_own_objects_are_not_asked_what_they_offer():
    found = {}
    for room, _, place in questions():
        found.setdefault(room, []).append(place)
    assert {room: len(places) for room, places in found.items()} == ASKS, found


def test_such_questions_are_found():
    text = (
        "def f(x):\n"
        "    return getattr(x, 'lam', 0) or hasattr(x, 'Pi') or getattr(x, 'y')\n"
    )
    seen = [name for _, name, _ in questions({"room": text})]
    assert sorted(seen) == ["getattr", "hasattr"]


def test_a_loss_of_straight_lines_is_refused_at_once():
    """The check loss of quantile regression took 50 s to say that it does not converge;
    a narrow kink that is rounded off is a loss like others.
    """

    class Check(Loss):
        def value(self, y, f):
            return np.abs(y - f) / 2

        def derivatives(self, y, f):
            return np.sign(f - y) / 2, np.zeros_like(f)

    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(80, 20)) / 9, 1e3 * rng.normal(size=80)
    with pytest.raises(ValueError, match="curvature.*0 everywhere.*Huber"):
        rvamp(A, y, 0.3, loss=Check())

    class Narrow(Huber):
        """One of the user's own."""

    check_derivatives(Narrow(1e-2), y, Poisson(0.5), np.inf)


class Misshaped(Loss):
    """A squared loss; `slope` and `curvature` make its derivatives from y - f."""

    def __init__(self, slope, curvature):
        self.parts = slope, curvature

    def value(self, y, f):
        """As `Loss.value`."""
        return (y - f) ** 2 / 2

    def derivatives(self, y, f):
        """As `Loss.derivatives`."""
        return tuple(part(f - y) for part in self.parts)


@pytest.mark.parametrize("steer", [{}, dict(lambdas=[1.0])])
@pytest.mark.parametrize("wrong", [lambda gap: 1.0, lambda gap: gap[:, None]])
@pytest.mark.parametrize("which", ["slope", "curvature"])
def test_a_derivative_of_another_shape_is_refused_by_the_estimator(which, wrong, steer):
    right = dict(slope=lambda gap: gap, curvature=np.ones_like)
    loss = Misshaped(**right | {which: wrong})
    line = rf"Misshaped.derivatives returns {which} = [^:]*: it must be .*shape \(9,\)"
    with pytest.raises(ValueError, match=line):
        StabilitySelection(loss=loss, verbose=0, n_resamples=0, **steer).fit(A, Y)
