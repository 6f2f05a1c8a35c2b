"""Do intervals of a fit without a penalty hold? python tests/bench/joint_effects.py

Survival times (also with strata and late entry), counts with an exposure, three and
five classes, rows in groups, weights and trials, on tables of many kinds with six
planted effects. Counts how often `joint_effects` holds effects and zeros, and how often
the classical intervals do: estimate, plus or minus 1.96 roots of the inverse second
derivatives. Of groups of three columns, and of the classes of a column, it counts how
often the ellipsoid of `joint_test` holds the truth: its p-value is above .05. Columns
that separate the rows have no interval, and are counted. The limit `MOST_BIAS`, the
form of the bias and SLIGHT were chosen on the half called "choice". Writes
joint_effects.json, a line as soon as it is known; --only and --half leave other lines
as they are.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from effects import table
from scipy.stats import t as student
from tqdm.std import tqdm

from rvamp_nb.algorithm.likelihood import Logistic, PoissonLoss, Squared
from rvamp_nb.inference import joint
from rvamp_nb.inference.several_classes import Softmax

OUT = Path(__file__).with_suffix(".json")
KINDS = {  # breast cancer and digits were looked at while the limits were chosen
    "claim": [
        *("Toeplitz .5", "factors .6", "pairs", "counts", "diabetes", "rare levels")
    ],
    "choice": [
        *("iid", "Toeplitz .7", "lognormal", "dummies", "breast cancer", "digits")
    ],
}
MODELS = {  # rows and columns, and how many groups of rows
    "survival": [(240, 40, None), (500, 20, None)],
    "strata, entry": [(300, 30, None)],
    "exposure": [(240, 40, None)],
    "three classes": [(360, 16, None)],
    "five classes": [(500, 10, None)],
    "squared, groups": [(300, 12, 40)],
    "survival, groups": [(400, 12, 60)],
    "classes, groups": [(400, 12, 60)],
    "exposure, groups": [(400, 12, 60)],
    "squared": [(240, 30, None)],
    "classes": [(360, 24, None)],
    "squared, weights": [(240, 30, None)],
    "classes, weights": [(360, 18, None)],
    "survival, weights": [(360, 18, None)],
    "trials": [(200, 20, None)],
}
EFFECT = 5.0  # of a column of unit length; of classes twice as much
SHARED = 0.5  # standard deviation of what the rows of a group share
WEIGHTS = 0.7  # standard deviation of the logarithm of weights
MEMBERS = 3  # columns of a group


def design(kind, M, N, n_groups, rng):
    """A table of columns of unit length, the group of each row, what the rows of a
    group share. In groups, every second column is the same for all rows of a group.
    """
    X = rare_levels(M, N, rng) if kind == "rare levels" else table(kind, M, N, rng)
    M = len(X)
    units = np.arange(M)
    shared = np.zeros(M)
    if n_groups:
        units = rng.integers(n_groups, size=M)
        shared = SHARED * rng.normal(size=n_groups)[units]
        _, first, of_row = np.unique(units, return_index=True, return_inverse=True)
        X[:, ::2] = X[first][of_row][:, ::2]
    X = X - X.mean(0)
    X = X[:, X.std(0) > 1e-9]
    return X / np.linalg.norm(X, axis=0), units, shared


def rare_levels(M, N, rng):
    """Half of the columns are 0 or 1, 1 in 3 to 20 % of the rows, and depend on the
    normal ones before them.
    """
    X = rng.normal(size=(M, N))
    for j in range(1, N, 2):
        hidden = 0.6 * X[:, j - 1] + 0.8 * X[:, j]
        X[:, j] = hidden > np.quantile(hidden, 1 - rng.uniform(0.03, 0.2))
    return X


def study(name, kind, size, seed):
    """A model, the labels of its rows, whether there is a bias to subtract, and the
    true coefficients, (N,) or (N, K).
    """
    M, N, n_groups = size
    rng = np.random.default_rng([seed, M, N, *kind.encode(), *name.encode()])
    A, units, shared = design(kind, M, N, n_groups, rng)
    M, N = A.shape
    truth = np.zeros(N)
    true = rng.choice(N, min(6, N // 2), replace=False)
    truth[true] = EFFECT * rng.choice([-1, 1], len(true))
    what = name.partition(",")[0]
    weight = 1.0
    if name.endswith("weights"):
        weight = np.exp(WEIGHTS * rng.normal(size=M))
    if what == "squared":
        y = A @ truth + shared + rng.normal(size=M)
        model = joint.RowModel(A, y, Squared(), 0.0, weight)
        return model, units, False, truth
    if what == "trials":
        trials = rng.integers(1, 9, size=M)
        y = rng.binomial(trials, 1 / (1 + np.exp(-A @ truth))) / trials
        model = joint.RowModel(A, y, Logistic(), 0.0, trials)
        return model, units, True, truth
    if what == "exposure":
        offset = rng.normal(size=M) / 2
        rate = np.exp(A @ truth + offset + shared)
        y = rng.poisson(2 * rate / rate.mean()) * 1.0
        return joint.RowModel(A, y, PoissonLoss(), offset), units, False, truth
    if what == "classes":
        y = (rng.logistic(size=M) < 2 * (A @ truth) + shared) * 1.0
        model = joint.RowModel(A, y, Logistic(), 0.0, weight)
        return model, units, True, 2 * truth
    if what.endswith("classes"):
        K = {"three classes": 3, "five classes": 5}[what]
        signs = rng.permuted(np.tile(np.linspace(-1, 1, K), (N, 1)), axis=1)
        truth = 2 * truth[:, None] * signs
        chosen = np.argmax(A @ truth + rng.gumbel(size=(M, K)), axis=1)
        loss = Softmax(K)
        return joint.RowModel(A, loss.basis[chosen], loss), units, True, truth
    sets = dict(weight=weight)
    entry = np.zeros(M)
    time = rng.exponential(np.exp(-A @ truth - shared))
    if what == "strata":
        strata = rng.integers(4, size=M)
        time *= 1 + strata
        # those who have come to be observed late are like new: time is exponential
        entry = np.where(rng.random(M) < 0.5, rng.random(M), 0.0)
        sets |= dict(strata=strata, entry=entry)
    left = entry + rng.exponential(1.5 * np.quantile(time, 0.75), size=M)
    time = entry + time
    model = joint.CoxModel(A, np.minimum(time, left), (time <= left) * 1.0, **sets)
    return model, units[model.order], True, truth


def classical(model):
    """The estimates without a penalty, and their classical standard errors."""
    counts = np.ones(len(model.A))
    x, _ = joint._minimise(model, np.zeros(model.n), counts, 1e-7)
    return x, np.sqrt(np.diag(joint._inverse(model.information(x, counts))))


def tested(found, truth, determined):
    """Yield whether a group of columns, or the classes of a column, has an effect, and
    the p-value of its truth; of those that are all `determined`, (n,) bool.
    """
    size = MEMBERS if truth.ndim == 1 else truth.shape[1]
    true = truth.ravel()
    for first in range(0, len(true) - size + 1, size):
        block = np.arange(first, first + size)
        if not determined[block].all():
            continue
        moved = found.estimate[block] - true[block]
        covariance = found.covariance[np.ix_(block, block)]
        p_value = joint.joint_test(moved, covariance, found.freedom[block])[3]
        yield true[block].any(), p_value


def share_of(values):
    return round(float(np.mean(values)), 3) if len(values) else None


def line(name, kind, size, seeds):
    """A line of the table."""
    effects, zeros = ("effects", "zeros")
    seen = {key: [] for key in (effects, zeros, "old effects", "old zeros")}
    seen |= {"together effects": [], "together zeros": []}
    width, bias, refused, separated = [], [], 0, 0
    for seed in range(seeds):
        model, units, has_bias, truth = study(name, kind, size, seed)
        to = np.eye(model.n)[:, : truth.size]
        if truth.ndim == 2:
            basis = Softmax(truth.shape[1]).basis
            to = np.kron(np.eye(len(truth) + 1), basis.T)[:, : truth.size]
        try:
            found = joint.joint_effects(model, units, has_bias, to=to)
        except ValueError:
            refused += 1
            continue
        true = truth.ravel()
        classes = true.size // len(truth)
        infinite = found.infinite.reshape(-1, model.d).any(axis=1)[: len(truth)]
        separated += int(infinite.sum())
        known = np.repeat(~infinite, classes)
        se = np.sqrt(np.diag(found.covariance))
        inside = np.abs(found.estimate - true) <= student.ppf(0.975, found.freedom) * se
        here = np.repeat(truth.reshape(len(truth), -1).any(axis=1), classes)
        seen[effects].extend(inside[here & known])
        seen[zeros].extend(inside[~here & known])
        bias.append(found.bias)
        for is_effect, p_value in tested(found, truth, known):
            seen["together effects" if is_effect else "together zeros"].append(
                p_value > 0.05
            )
        if truth.ndim == 1:
            x, error = (values[: true.size] for values in classical(model))
            inside = np.abs(x - true) <= 1.96 * error
            seen["old effects"].extend(inside[here & known])
            seen["old zeros"].extend(inside[~here & known])
            width.append(np.median((se / error)[known]))
    row = {"model": name, "kind": kind, "rows": size[0], "columns": size[1]}
    row |= {"sets": seeds, "refused": refused, "separated": separated}
    for key, values in seen.items():
        row[key] = share_of(values)
        row[f"n {key}"] = len(values)
    return row | {"width": share_of(width), "bias": share_of(bias)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", type=int, default=40, help="of each design")
    parser.add_argument("--only", nargs="*", default=list(MODELS), help="models")
    parser.add_argument("--half", nargs="*", default=list(KINDS), help="of the kinds")
    given = parser.parse_args()
    rows = {}
    if OUT.exists():
        for row in json.loads(OUT.read_text(encoding="utf-8")):
            rows[row["half"], row["model"], row["rows"], row["kind"]] = row
    tasks = [
        (half, name, size, kind)
        for half in given.half
        for name in given.only
        for size in MODELS[name]
        for kind in KINDS[half]
    ]
    for half, name, size, kind in tqdm(tasks, mininterval=60):
        found = {"half": half, **line(name, kind, size, given.sets)}
        rows[half, name, size[0], kind] = found
        lines = ",\n ".join(json.dumps(row) for row in rows.values())
        OUT.write_text(f"[\n {lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
