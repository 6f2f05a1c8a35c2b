"""What the general method is given: a prior, loss, law or beta that cannot work is
refused with an error that names the argument and says what would do.

Besides this: data and the paper's own setting in test_solver_input.py, brute force in
test_bootstrap_general.py, counts of the paper in test_resampling.py.
"""

import numpy as np
import pytest

from rvamp_nb.algorithm.densities import p2
from rvamp_nb.algorithm.likelihood import Huber, Logistic, Loss, PoissonLoss, Squared
from rvamp_nb.algorithm.prior import (
    ElasticNet,
    Laplace,
    NonNegative,
    Prior,
    Ridge,
    SpikeSlab,
)
from rvamp_nb.algorithm.resampling import (
    Discrete,
    Exponential,
    FixedFactor,
    NoResampling,
    Poisson,
    Subsample,
    TwoPoint,
    Weakness,
)
from rvamp_nb.algorithm.solver import rvamp, rvamp_path
from rvamp_nb.course.multinomial import Multinomial

RNG = np.random.default_rng(0)
M, N = 20, 30
A = RNG.normal(size=(M, N))
Y = A[:, 0] + RNG.normal(size=M)
LABELS = (Y > np.median(Y)) * 1.0
EVENTS = RNG.poisson(2.0, M) + np.eye(M)[0]
ONE = np.ones(N)
NARROW = A[:, :6]  # fewer columns than rows

pytestmark = pytest.mark.usefixtures("no_warning_leaks")


def put(array, where, value):
    array = np.array(array, dtype=float)
    array[where] = value
    return array


# Laws, priors and losses refuse their own arguments -----------------------------------


def number(make, owner, name, interval, inside, outside):
    """Cases of one number: outside its interval, and no number at all."""
    values = [
        (v, ValueError, rf"{owner}: {name} must lie in {interval}")
        for v in (*outside, np.nan)
    ]
    values += [
        (v, TypeError, rf"{owner}: {name} must be a number")
        for v in ("0.5", None, True, 1j, [inside])
    ]
    return {
        f"{owner}: {name} {v!r}": (lambda v=v: make(v), error, words)
        for v, error, words in values
    }


MAKING = {
    **number(
        Exponential, "Exponential", "tau", r"\(0, 1e\+09\)", 1.0, (0, -1.0, 1e300)
    ),
    **number(Weakness, "Weakness", "w", r"\(0, 1\]", 0.5, (0, -0.1, 1.001, np.inf)),
    **number(
        lambda v: ElasticNet(0.1, l1_ratio=v),
        "ElasticNet",
        "l1_ratio",
        r"\[0, 1\]",
        0.5,
        (-0.01, 1.01, np.inf),
    ),
    **number(Huber, "Huber", "delta", r"\(0, inf\)", 1.0, (0, -1.0, np.inf)),
    **number(Squared, "Squared", "sigma", r"\(0, inf\)", 1.0, (0, -1.0, np.inf)),
    "one sigma a row": (
        lambda: Squared(np.ones(M)),
        TypeError,
        "Squared: sigma must be a number",
    ),
    "one l1_ratio a column": (
        lambda: ElasticNet(0.1, l1_ratio=np.full(N, 0.5)),
        TypeError,
        "ElasticNet: l1_ratio must be a number",
    ),
    "probabilities that sum to 1.1": (
        lambda: Discrete([0, 1], [0.5, 0.6]),
        ValueError,
        r"Discrete:.*probabilities must sum to 1.*1\.1",
    ),
    "probabilities that sum to 0.9": (
        lambda: Discrete([0, 1], [0.5, 0.4]),
        ValueError,
        r"Discrete:.*probabilities must sum to 1.*0\.9",
    ),
    "a probability < 0": (
        lambda: Discrete([0, 1], [-0.5, 1.5]),
        ValueError,
        "Discrete:.*probabilities must be >= 0",
    ),
    "a count < 0": (
        lambda: Discrete([-1, 1], [0.5, 0.5]),
        ValueError,
        "Discrete: values.*must be >= 0",
    ),
    "more counts than probabilities": (
        lambda: Discrete([0, 1, 2], [0.5, 0.5]),
        ValueError,
        r"Discrete: probabilities must have shape \(3,\).*\(2,\)",
    ),
    "no count at all": (
        lambda: Discrete([], []),
        ValueError,
        r"Discrete: values must have shape \(K,\)",
    ),
    "one number for a law": (
        lambda: Discrete(1.0, 1.0),
        ValueError,
        r"Discrete: values must have shape \(K,\)",
    ),
    "a table of counts": (
        lambda: Discrete([[0, 1]], [[0.5, 0.5]]),
        ValueError,
        r"Discrete: values must have shape \(K,\)",
    ),
    "every count 0": (
        lambda: Discrete([0], [1.0]),
        ValueError,
        "Discrete: every count would be 0.*positive",
    ),
    "a positive count with probability 0": (
        lambda: Discrete([0, 1], [1.0, 0.0]),
        ValueError,
        "Discrete: every count would be 0",
    ),
    "a count NaN": (
        lambda: Discrete([0, np.nan], [0.5, 0.5]),
        ValueError,
        "Discrete: values has NaN",
    ),
    "a count infinite": (
        lambda: Discrete([0, np.inf], [0.5, 0.5]),
        ValueError,
        "Discrete: values has NaN or infinite",
    ),
    "a probability NaN": (
        lambda: Discrete([0, 1], [np.nan, 0.5]),
        ValueError,
        "Discrete: probabilities has NaN",
    ),
    "counts of text": (
        lambda: Discrete(["a", "b"], [0.5, 0.5]),
        TypeError,
        "Discrete: values.*numbers",
    ),
    **{
        f"inclusion {v!r}": (
            lambda v=v: SpikeSlab(v),
            ValueError,
            r"SpikeSlab: inclusion must be one number in \(0, 1\]",
        )
        for v in (0, -0.1, 1.001, [0.5, 0.0], [[0.5]])
    },
    **{
        f"slab_variance {v!r}": (
            lambda v=v: SpikeSlab(0.1, v),
            ValueError,
            r"SpikeSlab: slab_variance must be one number in \(0, inf\]",
        )
        for v in (0, -1.0, [1.0, 0.0], [[1.0]])
    },
    **{
        f"inclusion {v!r}": (lambda v=v: SpikeSlab(v), error, "inclusion")
        for v, error in (
            (np.nan, ValueError),
            ("0.1", TypeError),
            (None, TypeError),
            (1j, TypeError),
            ([0.1, np.nan], ValueError),
        )
    },
    **{
        f"slab_variance {v!r}": (lambda v=v: SpikeSlab(0.1, v), error, "slab_variance")
        for v, error in (
            (np.nan, ValueError),
            (np.inf, ValueError),
            ("1", TypeError),
            (None, TypeError),
        )
    },
}
for kind in (Laplace, Ridge, ElasticNet, NonNegative):
    MAKING |= {
        f"{kind.__name__}: factors that can be 0": (
            lambda kind=kind: kind(0.1, randomize=Poisson(0.5)),
            ValueError,
            r"randomize: Poisson\(tau=0.5\): values must be > 0, got 0 in value 0",
        ),
        **{
            f"{kind.__name__}: lam {v!r}": (
                lambda v=v, kind=kind: kind(v),
                ValueError,
                "lam must be positive.*penalty_factor of 0",
            )
            for v in (0, -1.0, [0.1, 0.0])
        },
        **{
            f"{kind.__name__}: lam {v!r}": (
                lambda v=v, kind=kind: kind(v),
                error,
                r"\blam\b",
            )
            for v, error in (
                (np.nan, ValueError),
                (np.inf, ValueError),
                ("1", TypeError),
                (None, TypeError),
                ([[0.1]], ValueError),
            )
        },
        **{
            f"{kind.__name__}: penalty_factor {v!r}": (
                lambda v=v, kind=kind: kind(0.1, penalty_factor=v),
                ValueError,
                "penalty_factor must be one number >= 0",
            )
            for v in (-1, [1.0, -0.1], [[1.0]])
        },
        **{
            f"{kind.__name__}: penalty_factor {v!r}": (
                lambda v=v, kind=kind: kind(0.1, penalty_factor=v),
                error,
                "penalty_factor",
            )
            for v, error in (
                (np.nan, ValueError),
                (np.inf, ValueError),
                ("0", TypeError),
                (None, TypeError),
                ([1.0, np.nan], ValueError),
            )
        },
        **{
            f"{kind.__name__}: randomize {v!r}": (
                lambda v=v, kind=kind: kind(0.1, v),
                TypeError,
                r"randomize must be a law .* TwoPoint\(2, 0.5\) or Weakness\(0.5\)",
            )
            for v in (TwoPoint, "fixed", 2.0)
        },
    }


@pytest.mark.parametrize("what", MAKING)
def test_what_cannot_be_made_is_refused_by_name(what):
    make, error, words = MAKING[what]
    with pytest.raises(error, match=words):
        make()


# Combinations that only the solver sees -----------------------------------------------

RIDGE = Ridge(1.0, FixedFactor())
BAD = {
    # labels and counts
    "labels 1 and 2": (
        dict(y=LABELS + 1, loss=Logistic()),
        ValueError,
        r"\by\b.*labels 0 and 1.*y = \(labels == positive\)",
    ),
    "labels -1 and 1": (
        dict(y=2 * LABELS - 1, loss=Logistic()),
        ValueError,
        r"\by\b.*labels 0 and 1",
    ),
    "three classes": (
        dict(y=put(LABELS, 0, 2), loss=Logistic()),
        ValueError,
        r"\by\b.*labels 0 and 1",
    ),
    "a share above 1": (
        dict(y=put(LABELS, 0, 1.5), loss=Logistic()),
        ValueError,
        r"\by\b.*labels 0 and 1",
    ),
    "numbers for labels": (dict(loss=Logistic()), ValueError, r"\by\b.*labels 0 and 1"),
    "only 0": (
        dict(y=0 * LABELS, loss=Logistic()),
        ValueError,
        r"\by\b.*one class only \(0\).*both",
    ),
    "only 1": (
        dict(y=0 * LABELS + 1, loss=Logistic()),
        ValueError,
        r"\by\b.*one class only \(1\).*both",
    ),
    "names of classes": (
        dict(y=np.where(LABELS == 1, "case", "control"), loss=Logistic()),
        TypeError,
        r"\by\b.*text",
    ),
    "a label NaN": (
        dict(y=put(LABELS, 2, np.nan), loss=Logistic()),
        ValueError,
        r"\by\b has NaN.*\[2\]",
    ),
    "labels at beta = 1": (
        dict(y=LABELS + 1, loss=Logistic(), prior=RIDGE, beta=1.0),
        ValueError,
        r"\by\b.*labels 0 and 1",
    ),
    "a negative count": (
        dict(y=put(EVENTS, 3, -1), loss=PoissonLoss()),
        ValueError,
        r"\by\b.*counts >= 0.*-1",
    ),
    "numbers for counts": (dict(loss=PoissonLoss()), ValueError, r"\by\b.*counts >= 0"),
    "no event at all": (
        dict(y=0 * EVENTS, loss=PoissonLoss()),
        ValueError,
        r"\by\b is 0 in every row",
    ),
    "a count NaN": (
        dict(y=put(EVENTS, 3, np.nan), loss=PoissonLoss()),
        ValueError,
        r"\by\b has NaN.*\[3\]",
    ),
    # beta
    "beta 0": (dict(beta=0), ValueError, r"beta must lie in \(0, inf\]"),
    "beta < 0": (dict(beta=-1.0), ValueError, r"beta must lie in \(0, inf\].*-1"),
    "beta NaN": (dict(beta=np.nan), ValueError, "beta"),
    "beta text": (dict(beta="inf"), TypeError, "beta must be a number.*'inf'"),
    "beta None": (dict(beta=None), TypeError, "beta must be a number"),
    "beta True": (dict(beta=True), TypeError, "beta must be a number"),
    "many betas": (dict(beta=np.ones(3)), TypeError, "beta must be a number"),
    "Huber at beta = 1": (
        dict(loss=Huber(), prior=RIDGE, beta=1.0),
        ValueError,
        r"Huber loss is for beta = inf.*leave beta out, or take Squared",
    ),
    "Huber at a large beta": (
        dict(loss=Huber(), beta=1e6),
        ValueError,
        "Huber loss is for beta = inf",
    ),
    "a spike at beta = inf": (
        dict(prior=SpikeSlab(0.1)),
        ValueError,
        r"SpikeSlab is for beta = 1.*got beta = inf.*beta=1\.0",
    ),
    "a spike at beta = 2": (
        dict(prior=SpikeSlab(0.1), beta=2.0),
        ValueError,
        "SpikeSlab is for beta = 1.*got beta = 2",
    ),
    # one number for each column
    "inclusion too short": (
        dict(prior=SpikeSlab(np.full(N - 1, 0.1)), beta=1.0),
        ValueError,
        f"inclusion must be.*each of the {N} columns",
    ),
    "no inclusion": (
        dict(prior=SpikeSlab([]), beta=1.0),
        ValueError,
        f"inclusion must be.*each of the {N} columns",
    ),
    "slab_variance too long": (
        dict(prior=SpikeSlab(0.1, np.ones(N + 1)), beta=1.0),
        ValueError,
        f"slab_variance must be.*each of the {N} columns",
    ),
    **{
        f"{kind.__name__}: lam too short": (
            dict(prior=kind(np.ones(N - 1))),
            ValueError,
            rf"\blam must be.*each of the {N} columns.*\({N - 1},\)",
        )
        for kind in (Laplace, Ridge, ElasticNet, NonNegative)
    },
    **{
        f"{kind.__name__}: penalty_factor too long": (
            dict(prior=kind(1.0, penalty_factor=np.ones(N + 1))),
            ValueError,
            rf"penalty_factor must be.*each of the {N} columns.*\({N + 1},\)",
        )
        for kind in (Laplace, Ridge, ElasticNet, NonNegative)
    },
    "a lam that fits and a factor that does not": (
        dict(prior=Laplace(ONE, penalty_factor=np.ones(N - 1))),
        ValueError,
        "penalty_factor must be",
    ),
    "a factor with the intercept counted": (
        dict(prior=Laplace(1.0, penalty_factor=np.append(ONE, 0)), intercept=True),
        ValueError,
        f"penalty_factor must be.*each of the {N} columns",
    ),
    "no factor": (
        dict(prior=Laplace(1.0, penalty_factor=[])),
        ValueError,
        "penalty_factor must be",
    ),
    # what has no unique fit, or no proper posterior
    "a flat prior and too few rows": (
        dict(prior=Ridge(1.0, penalty_factor=0.0), beta=1.0),
        ValueError,
        (
            rf"{N} unpenalised columns.*more than its {M} rows.*posterior improper;"
            r" drop some, or penalise"
        ),
    ),
    "no penalty and too few rows": (
        dict(prior=Laplace(1.0, penalty_factor=0.0)),
        ValueError,
        f"{N} unpenalised columns.*not unique",
    ),
    "as many flat columns as rows, and an intercept": (
        dict(
            A=A[:, :M], prior=Ridge(1.0, penalty_factor=0.0), beta=1.0, intercept=True
        ),
        ValueError,
        f"{M + 1} unpenalised columns.*intercept.*{M} rows",
    ),
    "a flat column twice": (
        dict(
            A=np.column_stack([NARROW, NARROW[:, 0]]),
            prior=Ridge(1.0, penalty_factor=[0, 1, 1, 1, 1, 1, 0]),
            beta=1.0,
        ),
        ValueError,
        "2 unpenalised columns.*linearly dependent",
    ),
    "a flat column of zeros": (
        dict(
            A=put(NARROW, (slice(None), 0), 0),
            prior=ElasticNet(1.0, penalty_factor=[0, 1, 1, 1, 1, 1]),
        ),
        ValueError,
        "1 unpenalised columns.*dependent",
    ),
    "a flat constant and an intercept": (
        dict(
            A=put(NARROW, (slice(None), 0), 3),
            prior=Laplace(1.0, penalty_factor=[0, 1, 1, 1, 1, 1]),
            intercept=True,
        ),
        ValueError,
        "2 unpenalised columns.*intercept.*dependent",
    ),
    # the wrong kind of thing
    "loss a class": (
        dict(y=LABELS, loss=Logistic),
        TypeError,
        r"loss must be .* a loss such as Huber\(2.0\), .*not the class Logistic",
    ),
    "loss another word": (
        dict(y=LABELS, loss="logit"),
        ValueError,
        "loss must be 'squared', 'logistic', 'poisson', 'huber'.*got 'logit'",
    ),
    "loss None": (dict(loss=None), TypeError, "loss must be 'squared'"),
    "a prior for a loss": (dict(loss=RIDGE), TypeError, "loss must be .*Ridge"),
    "a law for a loss": (
        dict(loss=Poisson(0.5)),
        TypeError,
        r"loss must be .*Poisson\(tau=0.5\)",
    ),
    "prior a class": (
        dict(prior=SpikeSlab, beta=1.0),
        TypeError,
        r"prior must be an object such as Laplace\(0.1\)",
    ),
    "prior a word": (
        dict(prior="ridge"),
        TypeError,
        "prior must be an object.*'ridge'",
    ),
    "counts a class": (
        dict(resampling=Discrete),
        TypeError,
        r"resampling must be a law such as Poisson\(0.5\)",
    ),
    "counts None": (dict(resampling=None), TypeError, "resampling must be a law"),
    "a loss for counts": (
        dict(resampling=Squared()),
        TypeError,
        "resampling must be a law.*Squared",
    ),
    "a prior for counts": (
        dict(resampling=RIDGE),
        TypeError,
        "resampling must be a law.*Ridge",
    ),
    "tied counts under another loss": (
        dict(y=LABELS, loss=Logistic(), resampling=Multinomial(0.5)),
        TypeError,
        "Multinomial.*no nodes",
    ),
    "lam and a prior": (dict(lam=1.0, prior=RIDGE), TypeError, "give lam.*or prior"),
    "intercept 1": (
        dict(intercept=1),
        TypeError,
        "intercept must be True or False, got 1",
    ),
    "intercept None": (
        dict(intercept=None),
        TypeError,
        "intercept must be True or False",
    ),
    "intercept text": (
        dict(intercept="yes"),
        TypeError,
        "intercept must be True or False.*'yes'",
    ),
}


USUAL = {"A": A, "y": Y, "prior": Laplace(1.0)}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_work_is_refused_by_name(what):
    given, error, words = BAD[what]
    with pytest.raises(error, match=words):
        rvamp(**USUAL | given)


PATH_KNOWS = [what for what, (given, *_) in BAD.items() if "lam" not in given]


@pytest.mark.parametrize("what", PATH_KNOWS)
def test_the_path_refuses_it_too(what):
    given, error, words = BAD[what]
    with pytest.raises(error, match=words):
        rvamp_path(**USUAL | given, lambdas=[1.0, 0.5], verbose=False)


@pytest.mark.parametrize(
    "given, error, words",
    [
        (
            dict(lambdas=[1.0], prior=SpikeSlab(0.1), beta=1.0),
            TypeError,
            r"path needs a prior with a penalty.*Laplace\(1.0\).*SpikeSlab",
        ),
        (dict(prior=Ridge(1.0)), ValueError, "without a threshold.*give lambdas"),
        (
            dict(prior=ElasticNet(1.0, l1_ratio=0.0)),
            ValueError,
            "without a threshold.*give lambdas",
        ),
        (
            dict(
                A=NARROW,
                prior=Laplace(1.0, penalty_factor=0.0),
                resampling=Poisson(2.0),  # half-samples of 20 rows are refused earlier
            ),
            ValueError,
            "give lambdas",
        ),
    ],
    ids=["a spike", "ridge", "a net without a threshold", "nothing penalised"],
)
def test_a_path_that_has_nowhere_to_start(given, error, words):
    with pytest.raises(error, match=words):
        rvamp_path(**{"A": A, "y": Y, "verbose": False, **given})


# What is given is as it was, and what would be asked of it is refused where it does not
# exist --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        dict(prior=RIDGE),
        dict(prior=Laplace(1.0), beta=1.0),
        dict(prior=ElasticNet(1.0, l1_ratio=0.0)),
        dict(prior=RIDGE, intercept=True),
    ],
    ids=[
        "ridge",
        "a posterior",
        "a net without a threshold",
        "ridge with an intercept",
    ],
)
def test_pi_is_refused_where_nothing_is_ever_zero(given):
    fit = rvamp(A, Y, **given)
    assert fit.converged and not hasattr(fit, "Pi") and "selected" not in repr(fit)
    with pytest.raises(
        AttributeError, match="Pi is not available.*look at mean and var"
    ):
        fit.Pi


@pytest.mark.parametrize(
    "new, words",
    [
        (A[:, :3], rf"A_new must have shape \(m, {N}\).*\({M}, 3\)"),
        (A[0], rf"A_new must have shape.*\({N},\)"),
        (np.column_stack([A, np.ones(M)]), rf"A_new.*\({M}, {N + 1}\)"),
        (put(A, 3, np.nan), "A_new has NaN"),
        (put(A, (0, 1), np.inf), "A_new has NaN or infinite"),
        (A + 1j, "A_new must hold real numbers"),
        (A.astype(str), "A_new must hold real numbers"),
    ],
    ids=[
        "too few columns",
        "one row as a vector",
        "a column for the intercept",
        "NaN",
        "infinite",
        "complex",
        "text",
    ],
)
def test_new_rows_that_cannot_be_predicted(new, words):
    fit = rvamp(A, Y, prior=RIDGE, beta=1.0, intercept=True)
    with pytest.raises((TypeError, ValueError), match=words):
        p2(fit).predict(new)


def test_a_prior_or_loss_of_ones_own_says_what_it_lacks():
    with pytest.raises(
        NotImplementedError, match=r"Prior has no inner\(field, Q_hat, beta\)"
    ):
        rvamp(A, Y, prior=Prior(), beta=1.0)
    with pytest.raises(NotImplementedError, match=r"Loss has no derivatives\(y, f\)"):
        rvamp(A, Y, 1.0, loss=Loss())


@pytest.mark.parametrize(
    "likelihood, y",
    [
        (Logistic(), LABELS > 0),
        (Logistic(), LABELS.astype("int8")),
        (PoissonLoss(), EVENTS.astype(int)),
        (PoissonLoss(), EVENTS / 2),
        (Huber(1), Y),
        (Squared(2), Y),
    ],
    ids=[
        "truth values",
        "small integers",
        "integers",
        "halves of counts",
        "Huber of an integer",
        "Squared of an integer",
    ],
)
def test_what_suits_a_loss_is_taken(likelihood, y):
    """Whatever holds the right numbers; the Poisson loss takes rates, too. Nothing
    given is changed.
    """
    before = y.copy()
    fit = rvamp(A, y, 2.0, loss=likelihood)
    assert fit.converged and np.isfinite(fit.mean).all() and (fit.var >= 0).all()
    np.testing.assert_array_equal(y, before)
    np.testing.assert_allclose(
        rvamp(A, y.astype(float), 2.0, loss=likelihood).mean, fit.mean, atol=1e-9
    )


def test_a_prior_keeps_a_copy_of_what_it_is_given():
    lam, factor, inclusion = ONE.copy(), ONE.copy(), np.full(N, 0.2)
    net, spike = ElasticNet(lam, penalty_factor=factor), SpikeSlab(inclusion, 1.0)
    lam[0] = factor[1] = inclusion[2] = -1
    np.testing.assert_array_equal(net.lam, 1)
    np.testing.assert_array_equal(net.penalty_factor, 1)
    np.testing.assert_array_equal(spike.inclusion, 0.2)


@pytest.mark.parametrize(
    "counts", [Subsample(1.0), Discrete([1.0], [1.0]), NoResampling()], ids=str
)
def test_laws_at_the_edge_are_the_data_as_they_are(counts):
    fit = rvamp(
        A, Y, prior=RIDGE, loss=Squared(0.5), resampling=counts, beta=1.0, tol=1e-9
    )
    np.testing.assert_allclose(
        fit.mean, np.linalg.solve(A.T @ A / 0.25 + np.eye(N), A.T @ Y / 0.25), atol=1e-7
    )
    np.testing.assert_allclose(fit.var, 0, atol=1e-9)
