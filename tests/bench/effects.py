"""Do intervals for effects hold? python tests/bench/effects.py [--seeds 6] [riboflavin]

Tables of many kinds, in six sizes; six effects on columns at random; the penalty by
cross-validation. Counts how often the truth is inside: for all columns with an
interval, for those refused, for a refit of the Lasso's selection, and, where hidimstat
is installed, for its desparsified Lasso. Writes effects.json.
The limits of `effects` were chosen on the half called "choice".
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
from rvamp_nb.extend.effects import debiased_together, effects, resemblance
from rvamp_nb.likelihood import Logistic
from rvamp_nb.prior import Laplace
from rvamp_nb.resampling import Fixed, NoResampling

OUT = Path(__file__).with_suffix(".json")
SIZES = (60, 200), (100, 300), (100, 500), (150, 150), (200, 100), (400, 80)
TALL = (200, 40), (240, 60), (400, 80), (600, 150)
CHOICE = [
    *("iid", "Toeplitz .5", "Toeplitz .7", "Toeplitz .8", "Toeplitz .9", "factors .3"),
    *("factors 1", "equal .5", "twins", "t3", "dummies", "diabetes"),
]
CLAIM = [
    *("Toeplitz .3", "Toeplitz .6", "Toeplitz .95", "factors .6", "equal .3"),
    *("pairs", "triplets"),
    *("lognormal", "counts", "breast cancer", "wine", "wine products", "digits"),
    "riboflavin",
]
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
        "wine products": lambda: with_products(shipped.load_wine().data),
        "digits": lambda: shipped.load_digits().data,
        "riboflavin": lambda: riboflavin,
    }[kind]()
    rows = rng.choice(len(X), min(M, len(X)), replace=False)
    columns = rng.choice(X.shape[1], min(N, X.shape[1]), replace=False)
    return X[np.ix_(rows, columns)]


def study(kind, M, N, seed, logistic, riboflavin, size=5.0):
    """A fit, the table, the response and the true coefficients."""
    rng = np.random.default_rng([seed, M, N, *kind.encode()])
    X = table(kind, M, N, rng, riboflavin)
    X = X - X.mean(0)
    X = X[:, X.std(0) > 1e-9]
    A, root = X / np.linalg.norm(X, axis=0), len(X) ** 0.5
    x0 = np.zeros(A.shape[1])
    k = min(6, len(x0) // 2)
    x0[rng.choice(len(x0), k, replace=False)] = size * rng.choice([-1, 1], k)
    if logistic:
        y = (rng.random(len(A)) < 1 / (1 + np.exp(-A @ x0))) * 1.0
        search = LogisticRegressionCV(
            Cs=20, cv=5, penalty="l1", solver="liblinear", scoring="neg_log_loss"
        )
        lam = 1 / search.fit(A * root, y).C_[0] / root
        loss = dict(likelihood=Logistic(), intercept=True)
    else:
        y = A @ x0 + rng.normal(size=len(A))
        y -= y.mean()
        lam = LassoCV(cv=5, alphas=30).fit(A * root, y).alpha_ * root
        loss = {}
    plain = Laplace(lam, Fixed())
    fit = rvamp(A, y, prior=plain, counts=NoResampling(), max_iter=1000, **loss)
    return fit, A, y, x0


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
    """Whether hidimstat's desparsified Lasso holds each effect."""
    try:
        from hidimstat import DesparsifiedLasso
    except ImportError:
        return []
    X = A * len(A) ** 0.5
    other = DesparsifiedLasso(random_state=0).fit(X, y)
    other.importance(X, y)
    ends = [getattr(other, f"confidence_bound_{end}_") for end in ("min", "max")]
    low, high = (np.ravel(end) * len(A) ** 0.5 for end in ends)
    return ((low <= x0) & (x0 <= high))[x0 != 0]


def of_kind(kind, sizes, seeds, logistic, riboflavin):
    """A line of the table: how often the truth was inside."""
    said = {name: [] for name in ("light", "inside", "true", "refit", "peer", "size")}
    failed = 0
    for M, N in sizes:
        for seed in range(seeds):
            fit, A, y, x0 = study(kind, M, N, seed, logistic, riboflavin)
            if not fit.converged:
                failed += 1
                continue
            light = effects(fit).light
            together = resemblance(A).together
            estimate, se, left, _ = debiased_together(fit, together)
            p = 2 * student.sf(np.abs(estimate - x0) / se, left)
            said["light"].extend(light)
            said["inside"].extend(p > 0.05)
            said["true"].extend(x0 != 0)
            said["size"].extend((estimate - x0) * np.sign(x0) / 5)
            if not logistic:
                said["refit"].extend(refit_holds(A, y, x0, fit.mean != 0))
            if not logistic and seed < 2:
                said["peer"].extend(peer_holds(A, y, x0))
    light, inside, true = (np.array(said[n]) for n in ("light", "inside", "true"))
    kept = light == "green"
    share = lambda values: round(float(np.mean(values)), 3) if len(values) else None
    return {
        "kind": kind,
        "fits": len(sizes) * seeds - failed,
        "not converged": failed,
        "kept": share(kept),
        "effects": share(inside[kept & true]),
        "n effects": int(np.sum(kept & true)),
        "zeros": share(inside[kept & ~true]),
        "n zeros": int(np.sum(kept & ~true)),
        "beyond": share(inside[~kept & true]),
        "n beyond": int(np.sum(~kept & true)),
        "bias": share(np.array(said["size"])[kept & true]),
        "refit zeros": share(said["refit"]),
        "peer": share(said["peer"]),
    }


def main():
    """Write the summary."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("riboflavin", nargs="?", help="riboflavin.RData")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    genes = None
    if given.riboflavin:
        from rvamp_nb.datasets import load_riboflavin

        genes = np.asarray(load_riboflavin(given.riboflavin)[0], dtype=float)
    rows = []
    for half, kinds in {"choice": CHOICE, "claim": CLAIM}.items():
        for kind in tqdm(kinds, desc=half):
            if kind == "riboflavin" and genes is None:
                continue
            line = of_kind(kind, SIZES, given.seeds, False, genes)
            rows.append({"half": half, "loss": "squared", **line})
    for half, kinds in {
        "choice": ["iid", "Toeplitz .5", "factors .3"],
        "claim": ["Toeplitz .3", "Toeplitz .6", "lognormal", "counts"],
    }.items():
        for kind in tqdm(kinds, desc=f"logistic, {half}"):
            line = of_kind(kind, TALL, given.seeds, True, genes)
            rows.append({"half": half, "loss": "logistic", **line})
    lines = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in rows)
    OUT.write_text(f'{{"kinds": [\n  {lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
