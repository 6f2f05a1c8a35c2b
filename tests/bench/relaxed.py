"""Are predictions better if the selected coefficients are refitted without a penalty?

    python tests/bench/relaxed.py        all of it, about twelve minutes on one core
    python tests/bench/relaxed.py 2      two splits of each table

Half of the rows of a table are fitted, the others are predicted by averages of refits
on halves of the fitted rows: penalised ones ("bagged"), or relaxed ones, in which the
columns that a refit has selected get coefficients without a penalty, by the rows of
that resample ("relaxed") or by all rows ("all rows"); at the penalty that
`StabilitySelection` reports, or at the one of `FACTORS` times that whose error out of
bag is least ("*"). "selected" takes the selected features alone, by all rows. Printed
is the share of the loss of new rows that a prediction removes, beside their mean; the
mean over splits, and in brackets the standard error of the difference from bagged*. The
tables of the first half chose which question to ask; those of the second answer it.
"""

import sys
import warnings

import numpy as np
from scipy.special import expit, xlogy
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from rvamp_nb import StabilitySelection, datasets
from rvamp_nb.inference.batch_glm import penalised_fit

KINDS = "bagged", "relaxed", "all rows", "selected", "bagged*", "relaxed*", "all rows*"
FACTORS = 1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05  # of the reported penalty
REFITS, SPLITS = 40, 6
MEANS = dict(squared=np.positive, logistic=expit, poisson=np.exp)
RIDGE = 1e-3  # for columns of mean square 1: classes that few columns separate


def simulated(M, N, effects, size, rho=0.0, factors=0, loss="squared", seed=0):
    """X (M, N) and y (M,) of so many equal effects of both signs."""
    rng = np.random.default_rng([67, seed])
    E = rng.normal(size=(M, N + 1))
    X = rho * E[:, :-1] + np.sqrt(1 - rho**2) * E[:, 1:]
    X = X + rng.normal(size=(M, factors)) @ rng.normal(size=(factors, N))
    x0 = np.zeros(N)
    x0[rng.permutation(N)[:effects]] = size * rng.choice([-1, 1], effects)
    f = X / X.std(0) @ x0
    if loss == "squared":
        return X, f + rng.normal(size=M), loss
    draw = dict(logistic=lambda p: rng.binomial(1, p), poisson=rng.poisson)[loss]
    return X, draw(MEANS[loss](f)), loss


def classes(load, positive):
    d = load()
    return d.data, (d.target == positive).astype(int), "logistic"


def linear(load):
    d = load()
    return d.A, d.y, "squared"


CHOOSING = {
    "diabetes": lambda: linear(datasets.load_diabetes),
    "breast cancer": lambda: classes(load_breast_cancer, 1),
    "five strong of 400": lambda: simulated(200, 400, 5, 1.0, seed=1),
    "faint, many": lambda: simulated(200, 200, 60, 0.15, seed=2),
    "neighbours": lambda: simulated(200, 300, 10, 0.5, rho=0.7, seed=3),
    "counts": lambda: simulated(300, 200, 6, 0.3, loss="poisson", seed=4),
}
JUDGING = {
    "riboflavin": lambda: linear(datasets.load_riboflavin),
    "digit 8": lambda: classes(load_digits, 8),
    "wine": lambda: classes(load_wine, 1),
    "twenty of 1,000": lambda: simulated(240, 1000, 20, 0.5, seed=5),
    "three factors": lambda: simulated(200, 300, 10, 0.5, factors=3, seed=6),
    "faint, few rows": lambda: simulated(100, 100, 30, 0.2, seed=7),
    "labels": lambda: simulated(400, 200, 8, 0.7, loss="logistic", seed=8),
}


def relaxed(A, y, kept, counts, loss):
    """Coefficients, the intercept last, without a penalty on the columns kept."""
    X = np.column_stack([A[:, kept], np.ones(len(A))])
    free, ridge = np.zeros(X.shape[1]), np.append(RIDGE * counts.sum() * kept[kept], 0)
    x = np.zeros(A.shape[1] + 1)
    x[np.append(kept, True)] = penalised_fit(X, y, free, ridge, counts, loss)
    return x


def excess(loss, y, p):
    """The mean loss of predictions p (m,) of y (m,), beyond that of y itself."""
    if loss == "logistic":
        p = np.clip(p, 1e-6, 1 - 1e-6)
        return -np.mean(np.log(np.where(y > 0, p, 1 - p)))
    if loss == "poisson":
        return np.mean(xlogy(y, y / p) - y + p)
    return np.mean((y - p) ** 2)


def averages(A, y, new, loss, lam, seed):
    """Averages over refits at a penalty, penalised, relaxed, relaxed by all rows: of
    the predictions of new rows, and out of bag; [(m,), (M,)] each.
    """
    (M, N), rng, draws, kept_out = A.shape, np.random.default_rng(seed), [], []
    X, X_new = (np.column_stack([v, np.ones(len(v))]) for v in (A, new))
    t = np.append(np.full(N, lam), 0.0)
    for _ in range(REFITS):
        counts = np.zeros(M)
        counts[rng.permutation(M)[: M // 2]] = 1
        x = penalised_fit(X, y, t, 0 * t, counts, loss)
        kept = x[:N] != 0
        both = (relaxed(A, y, kept, rows, loss) for rows in (counts, np.ones(M)))
        draws.append([x, *both])
        kept_out.append(counts == 0)
    draws, kept_out, mean = np.array(draws), np.array(kept_out), MEANS[loss]
    for x in np.moveaxis(draws, 1, 0):
        fits = mean(x @ X.T) * kept_out
        yield mean(x @ X_new.T).mean(0), fits.sum(0) / kept_out.sum(0)


def removed(X, y, loss, seed):
    """The share of the loss of new rows that each kind removes, (7,)."""
    rows = np.random.default_rng([seed, 1]).permutation(len(y))
    old, new = np.split(rows, [len(y) // 2])
    X = X[:, X[old].std(0) > 0]
    A, y_old = (X - X[old].mean(0)) / X[old].std(0), y[old] * 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        s = StabilitySelection(loss=loss, n_resamples=0, verbose=0).fit(A[old], y_old)
    lam = s.lambda_ * len(old) ** 0.5  # columns have mean square 1 here, not norm 1
    path = [[*averages(A[old], y_old, A[new], loss, f * lam, seed)] for f in FACTORS]
    off = [[excess(loss, y_old, out) for _, out in kinds] for kinds in path]
    best = np.argmin(off, axis=0)
    best[2] = best[1]  # by all rows none is out of bag
    x = relaxed(A[old], y_old, s.support_, np.ones(len(old)), loss)
    guesses = [kind[0] for kind in path[0]]
    guesses += [MEANS[loss](A[new] @ x[:-1] + x[-1])]
    guesses += [path[k][kind][0] for kind, k in enumerate(best)]
    base = excess(loss, y[new], np.full(len(new), y_old.mean()))
    return [1 - excess(loss, y[new], guess) / base for guess in guesses]


def main(splits=SPLITS):
    """Print a table for each half, with standard errors of the differences."""
    print(f"{'':20s}", *(f"{kind:>15s}" for kind in KINDS))
    for half in (CHOOSING, JUDGING):
        for name, table in half.items():
            X, y, loss = table()
            each = np.array([removed(X, y, loss, seed) for seed in range(splits)])
            off = each - each[:, [4]]
            error = off.std(0, ddof=1) / splits**0.5
            texts = (f"{m:.3f} ({e:.3f})" for m, e in zip(each.mean(0), error))
            print(f"{name:20s}", *(f"{text:>15s}" for text in texts), flush=True)
        print()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
