"""Do intervals for effects hold? python tests/bench/effects.py [--seeds 2] [riboflavin]
python tests/bench/effects.py --sums --seeds 24 makes the columns that add up anew, and
no more: 240 data sets each, and 600 where all columns can be estimated together.
python tests/bench/effects.py --peers asks hidimstat alone, on the half that claims, one
data set of each size, for effects and zeros.

Tables of many kinds, in six sizes (four of them, tall, with a logistic loss); six
effects on columns at random, of 5, with a logistic loss of 5 and 12 in turn; the
penalty by cross-validation, and a fifth of it. Counts how often the truth is inside:
for all columns with an interval, for those refused, for a refit of the Lasso's
selection, and, where hidimstat is installed, for its desparsified Lasso (where not, the
numbers of the last run stay: they do not depend on this package). Writes effects.json.
What `debiased_effects` does was chosen on the half called "choice".
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import t as student
from sklearn import datasets as shipped
from sklearn.linear_model import LassoCV, LogisticRegressionCV
from tqdm.std import tqdm

from rvamp_nb import rvamp
from rvamp_nb.algorithm.likelihood import Logistic
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.resampling import NoResampling
from rvamp_nb.inference.effects import debiased_effects, debiased_together, resemblance

OUT = Path(__file__).with_suffix(".json")
SIZES = (60, 200), (100, 300), (100, 500), (150, 150), (200, 100), (400, 80)
TALL = (200, 40), (240, 60), (400, 80), (600, 150)
CUTS = 1, 1 / 5  # of the penalty of cross-validation
CHOICE = [
    *("iid", "Toeplitz .5", "Toeplitz .7", "Toeplitz .8", "Toeplitz .9", "factors .3"),
    *("factors 1", "equal .5", "twins", "t3", "dummies", "diabetes", "iris products"),
]
CLAIM = [
    *("Toeplitz .3", "Toeplitz .6", "Toeplitz .95", "factors .6", "equal .3"),
    *("pairs", "triplets"),
    *("lognormal", "counts", "breast cancer", "wine", "wine products", "digits"),
    "riboflavin",
]
BENT = {
    "choice": [
        *("iid", "Toeplitz .5", "factors .3", "twins", "breast cancer", "wine"),
        "digits",
    ],
    "claim": [
        *("Toeplitz .3", "Toeplitz .6", "pairs", "lognormal", "counts", "equal .3"),
        *("diabetes", "wine products"),
    ],
}
SUMS = {  # columns that add up, by what they are; the limits saw totals with .3 only
    "choice": ["total .3"],
    "claim": [
        *("total .1", "total of five .3", "regions", "levels"),
        *("triplets", "powers"),
    ],
}
SUM_SIZES = (100, 70), (100, 200), (80, 120), (120, 12), (240, 60)
LOADINGS = np.random.default_rng(99).normal(size=(4, 800))


TWINS = {"twins": (2, 0.14), "pairs": (2, 0.4), "triplets": (3, 0.6)}  # cos .98 to .74


def with_products(X):
    """The columns of a table, their squares and their products, each once."""
    X = (X - X.mean(0)) / X.std(0)
    pairs = [(i, j) for i in range(X.shape[1]) for j in range(i, X.shape[1])]
    products = [X[:, i] * X[:, j] for i, j in pairs if np.ptp(np.abs(X[:, i])) > 1e-9]
    return np.column_stack([X, *products])


def table(kind, M, N, rng, riboflavin=None):
    """A table of a kind, about (M, N)."""
    name, _, number = kind.rpartition(" ")
    Z = rng.normal(size=(M, N))
    if name == "Toeplitz":
        rho, out = float(number), Z.copy()
        for j in range(1, N):
            out[:, j] = rho * out[:, j - 1] + np.sqrt(1 - rho**2) * Z[:, j]
        return out
    if name == "factors":
        return Z + float(number) * rng.normal(size=(M, 4)) @ LOADINGS[:, :N]
    if name == "equal":
        common = rng.normal(size=(M, 1))
        return np.sqrt(1 - float(number)) * Z + np.sqrt(float(number)) * common
    if kind in TWINS:
        members, noise = TWINS[kind]
        common = rng.normal(size=(M, N))[:, np.arange(N) // members]
        return common + noise * Z
    made = {
        "iid": lambda: Z,
        "t3": lambda: rng.standard_t(3, size=(M, N)),
        "lognormal": lambda: np.exp(Z),
        "dummies": lambda: (rng.random((M, N)) < 0.1) * 1.0,
        "counts": lambda: rng.poisson(0.5, (M, N)) * 1.0,
    }
    if kind in made:
        return made[kind]()
    X = {
        "breast cancer": lambda: shipped.load_breast_cancer().data,
        "wine": lambda: shipped.load_wine().data,
        "diabetes": lambda: with_products(shipped.load_diabetes().data),
        "iris products": lambda: with_products(shipped.load_iris().data),
        "wine products": lambda: with_products(shipped.load_wine().data),
        "digits": lambda: shipped.load_digits().data,
        "riboflavin": lambda: riboflavin,
    }[kind]()
    rows = rng.choice(len(X), min(M, len(X)), replace=False)
    columns = rng.choice(X.shape[1], min(N, X.shape[1]), replace=False)
    return X[np.ix_(rows, columns)]


def study(kind, M, N, seed, logistic, riboflavin):
    """Fits at each of CUTS, the table, the response and the true coefficients."""
    rng = np.random.default_rng([seed, M, N, *kind.encode()])
    X = table(kind, M, N, rng, riboflavin)
    X = X - X.mean(0)
    X = X[:, X.std(0) > 1e-9]
    A, root = X / np.linalg.norm(X, axis=0), len(X) ** 0.5
    x0 = np.zeros(A.shape[1])
    k, size = min(6, len(x0) // 2), 12.0 if logistic and seed % 2 else 5.0
    x0[rng.choice(len(x0), k, replace=False)] = size * rng.choice([-1, 1], k)
    if logistic:
        y = (rng.random(len(A)) < 1 / (1 + np.exp(-A @ x0))) * 1.0
        how = dict(penalty="l1", solver="liblinear", scoring="neg_log_loss", tol=1e-3)
        search = LogisticRegressionCV(Cs=np.logspace(-1.5, 0.7, 10), cv=5, **how)
        lam = 1 / search.fit(A * root, y).C_[0] / root
        loss = dict(loss=Logistic(), intercept=True)
    else:
        y = A @ x0 + rng.normal(size=len(A))
        y -= y.mean()
        lam = LassoCV(cv=5, alphas=30).fit(A * root, y).alpha_ * root
        loss = {}
    loss |= dict(resampling=NoResampling(), max_iter=300)
    fits = [rvamp(A, y, prior=Laplace(cut * lam), **loss) for cut in CUTS]
    return fits, A, y, x0


def study_of_sums(kind, M, N, rng):
    """A table of which the first columns add up, the response, the true coefficients,
    and how many columns these are.
    """
    name, _, noise = kind.rpartition(" ")
    X = rng.normal(size=(M, N))
    n = {"total of five": 6, "triplets": 3, "powers": 3}.get(name or kind, 4)
    if kind == "triplets":
        X[:, :n] = X[:, :1] + 0.3 * rng.normal(size=(M, n))
    elif kind == "powers":
        X[:, :n] = (1 + X[:, :1] / 2) ** np.arange(1, n + 1)
    elif kind == "levels":
        X[:, :n] = np.eye(n)[rng.integers(n, size=M)]
    elif kind == "regions":
        X[:, :n] = rng.dirichlet(np.full(n, 3.0), size=M) + 0.01 * X[:, :n]
    else:
        parts = X[:, : n - 1].sum(axis=1) / (n - 1) ** 0.5
        X[:, n - 1] = parts + float(noise) * X[:, n - 1]
    A = X - X.mean(0)
    A /= np.linalg.norm(A, axis=0)
    x0 = np.zeros(N)
    x0[rng.choice(n, n // 2, replace=False)] = 5.0 * rng.choice([-1, 1], n // 2)
    x0[n + rng.choice(N - n, 3, replace=False)] = 5.0
    y = A @ x0 + rng.normal(size=M)
    return A, y - y.mean(), x0, n


def of_sums(kind, M, N, seeds):
    """Make a line of the table of sums, at the penalty of cross-validation; where all
    columns can be estimated together, with what least squares hold on the same data.
    """
    inside, true, others, plain = [], [], [], []
    for seed in range(seeds):
        rng = np.random.default_rng([78, seed, M, N, *kind.encode()])
        A, y, x0, n = study_of_sums(kind, M, N, rng)
        root = len(A) ** 0.5
        lam = LassoCV(cv=5, alphas=30).fit(A * root, y).alpha_ * root
        prior = Laplace(lam)
        fit = rvamp(A, y, prior=prior, resampling=NoResampling(), max_iter=300)
        if not fit.converged:
            continue
        found = debiased_effects(fit)
        holds = (found.ci_low <= x0) & (x0 <= found.ci_high)
        holds = np.where(found.status == "interval", holds, np.nan)
        inside.extend(holds[:n])
        true.extend(x0[:n] != 0)
        others.extend(holds[n:])
        if M >= 2 * N and (found.status[:n] == "interval").any():
            plain.extend(least_squares_hold(A, y, x0)[:n])
    inside, true, others = map(np.array, (inside, true, others))
    kept = ~np.isnan(inside)
    line = {"kind": kind, "rows": M, "columns": N, "kept": round(kept.mean(), 3)}
    for name, here in {"effects": kept & true, "zeros": kept & ~true}.items():
        share = round(float(inside[here].mean()), 3) if here.any() else None
        line |= {name: share, f"n {name}": int(here.sum())}
    if plain:
        line["least squares"] = round(float(np.mean(plain)), 3)
    return line | {"others": round(float(np.nanmean(others)), 3)}


def least_squares_hold(A, y, x0):
    """Tell whether intervals of least squares, centred, hold each coefficient."""
    left = len(A) - A.shape[1] - 1
    inverse = np.linalg.inv(A.T @ A)
    estimate = inverse @ (A.T @ y)
    variance = np.sum((y - A @ estimate) ** 2) / left
    width = student.ppf(0.975, left) * np.sqrt(variance * np.diag(inverse))
    return np.abs(estimate - x0) <= width


def remake_sums(seeds):
    """The table of columns that add up."""
    return [
        {"half": half, **of_sums(kind, M, N, seeds if M < 2 * N else 5 * seeds // 2)}
        for half, kinds in SUMS.items()
        for kind in tqdm(kinds, desc=f"sums, {half}")
        for M, N in SUM_SIZES
    ]


def remake_peers():
    """Make the table of hidimstat's intervals of effects and zeros."""
    from hidimstat import __version__

    rows = []
    for kind in tqdm(CLAIM[:-1], desc="peers"):  # all but riboflavin
        held = {"effects": [], "zeros": []}
        for M, N in SIZES:
            _, A, y, x0 = study(kind, M, N, 0, False, None)
            holds = peer_holds(A, y, x0)
            held["effects"].extend(holds[x0 != 0])
            held["zeros"].extend(holds[x0 == 0])
        row = {"kind": kind, "hidimstat": __version__}
        for name, values in held.items():
            row |= {name: round(float(np.mean(values)), 3), f"n {name}": len(values)}
        rows.append(row)
    return rows


def write(**tables):
    """Write the tables, a line for each of their rows."""
    parts = []
    for name, rows in tables.items():
        lines = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in rows)
        parts.append(f'"{name}": [\n  {lines}\n]')
    OUT.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


def refit_holds(A, y, x0, chosen):
    """Whether least squares on the selection holds each zero that was selected."""
    B = A[:, chosen]
    if not 0 < B.shape[1] < len(y) - 2:
        return []
    inverse = np.linalg.pinv(B.T @ B)
    estimate = inverse @ B.T @ y
    left = len(y) - 1 - B.shape[1]
    sigma = np.sqrt(np.sum((y - B @ estimate) ** 2) / left)
    half = student.ppf(0.975, left) * sigma * np.sqrt(np.diag(inverse))
    return (np.abs(estimate - x0[chosen]) <= half)[x0[chosen] == 0]


def peer_holds(A, y, x0):
    """Check whether hidimstat's desparsified Lasso holds each coefficient."""
    try:
        from hidimstat import DesparsifiedLasso
    except ImportError:
        return []
    X = A * len(A) ** 0.5
    other = DesparsifiedLasso(random_state=0).fit(X, y)
    other.importance(X, y)
    ends = [getattr(other, f"confidence_bound_{end}_") for end in ("min", "max")]
    low, high = (np.ravel(end) * len(A) ** 0.5 for end in ends)
    return (low <= x0) & (x0 <= high)


def held(fit, x0):
    """The light of each column, and whether its interval holds, or would."""
    found = debiased_effects(fit)
    A = fit.problem.A[:, : len(x0)]
    together = resemblance(A).together
    estimate, se, left, *_ = debiased_together(fit, together)
    inside = 2 * student.sf(np.abs(estimate - x0) / se, left) > 0.05
    green = found.status == "interval"
    return (
        found.status,
        np.where(green, (found.ci_low <= x0) & (x0 <= found.ci_high), inside),
        found.estimate,
    )


def of_kind(kind, sizes, seeds, logistic, riboflavin):
    """A line of the table: how often the truth was inside."""
    seen = {name: [] for name in ("status", "inside", "x0", "cut", "estimate")}
    refits, peers, failed = [], [], 0
    for M, N in sizes:
        for seed in range(seeds):
            fits, A, y, x0 = study(kind, M, N, seed, logistic, riboflavin)
            for cut, fit in zip(CUTS, fits, strict=True):
                if not fit.converged:
                    failed += 1
                    continue
                light, inside, estimate = held(fit, x0)
                parts = light, inside, x0, np.full(len(x0), cut), estimate
                for name, part in zip(seen, parts, strict=True):
                    seen[name].extend(part)
            if not logistic and fits[0].converged:
                refits.extend(refit_holds(A, y, x0, fits[0].mean != 0))
            if not logistic and seed < 2:
                holds = peer_holds(A, y, x0)
                peers.extend(holds[x0 != 0] if len(holds) else holds)
    light, inside, x0, cut, estimate = map(np.array, seen.values())
    kept, true = light == "interval", x0 != 0
    share = lambda values: round(float(np.mean(values)), 3) if len(values) else None
    line = {
        "kind": kind,
        "fits": len(sizes) * seeds * len(CUTS) - failed,
        "not converged": failed,
        "kept": share(kept),
    }
    for name, here in {
        "effects": kept & true & (cut == 1),
        "zeros": kept & ~true & (cut == 1),
        "effects /5": kept & true & (cut < 1),
        "zeros /5": kept & ~true & (cut < 1),
        "beyond": ~kept & true,
    }.items():
        line |= {name: share(inside[here]), f"n {name}": int(here.sum())}
    here = kept & true
    ratio = np.sum((estimate * x0)[here]) / np.sum(x0[here] ** 2) if here.any() else 1
    line |= {"ratio": round(float(ratio), 3), "refit zeros": share(refits)}
    return line | {"peer": share(peers)}


def main():
    """Write the summary."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("riboflavin", nargs="?", help="riboflavin.RData")
    parser.add_argument("--sums", action="store_true", help="the sums alone")
    parser.add_argument("--peers", action="store_true", help="hidimstat alone")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    last = json.loads(OUT.read_text()) if OUT.exists() else {}
    if given.peers:
        write(**last | {"peers": remake_peers()})
        return
    sums = remake_sums(10 * given.seeds)
    if given.sums:
        write(**last | {"sums": sums})
        return
    genes = None
    if given.riboflavin:
        from rvamp_nb.datasets import load_riboflavin

        genes = np.asarray(load_riboflavin(given.riboflavin)[0], dtype=float)
    squared = [row for row in last.get("kinds", []) if row["loss"] == "squared"]
    peers = {row["kind"]: row["peer"] for row in squared}
    rows = []
    for half, kinds in {"choice": CHOICE, "claim": CLAIM}.items():
        for kind in tqdm(kinds, desc=half):
            if kind == "riboflavin" and genes is None:
                continue
            line = of_kind(kind, SIZES, given.seeds, False, genes)
            line["peer"] = line["peer"] or peers.get(kind)
            rows.append({"half": half, "loss": "squared", **line})
    for half, kinds in BENT.items():
        for kind in tqdm(kinds, desc=f"logistic, {half}"):
            line = of_kind(kind, TALL, 2 * given.seeds, True, genes)  # of each size
            rows.append({"half": half, "loss": "logistic", **line})
    write(**last | {"kinds": rows, "sums": sums})


if __name__ == "__main__":
    main()
