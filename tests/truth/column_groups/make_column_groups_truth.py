"""Refits of the group Lasso on random halves, for chapter 5.8: brute force that shares
no code with the package.

    python tests/truth/column_groups/make_column_groups_truth.py

takes five minutes. Each refit is made by accelerated proximal gradient steps (FISTA),
all halves side by side, until its optimality conditions hold to 1e-6 of the threshold;
`tests/algorithm/test_column_groups.py` compares some with those of celer.
"""

from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
DESIGNS = {  # rows, groups, columns of a group
    "levels": (120, 20, 4),
    "splines": (120, 20, 4),
    "factors": (90, 40, 4),
    "independent": (90, 40, 3),
}
N_REFITS, AT_ONCE = 2_000, 250


def table(name):
    """A (M, N) with orthonormal columns in each group, y (M,), labels (N,), lam."""
    (M, G, d), rng = DESIGNS[name], np.random.default_rng(58)
    if name == "levels":  # of G variables with d + 1 levels each
        levels = rng.integers(d + 1, size=(G, M))
        X = np.hstack([np.eye(d + 1)[level][:, 1:] for level in levels])
    elif name == "splines":  # of G variables: powers and a bend
        t = rng.normal(size=(M, G))
        X = np.stack([t, t**2, t**3, np.abs(t)], axis=2).reshape(M, -1)
    else:
        X = rng.normal(size=(M, G * d))
    if name == "factors":  # four factors make half of every column's variance
        X = X + rng.normal(size=(M, 4)) @ rng.normal(size=(4, G * d)) / 2
    X = X - X.mean(0)
    A = np.hstack([np.linalg.qr(part)[0] for part in np.split(X, G, axis=1)])
    x = np.zeros(G * d)
    x[: 4 * d] = 2 * rng.normal(size=4 * d)
    y = A @ x + rng.normal(size=M)
    y = y - y.mean()
    pulls = np.linalg.norm(np.split(A.T @ y, G), axis=1)
    return A, y, np.repeat(np.arange(G), d), 0.3 * pulls.max() / 2 / np.sqrt(d)


def halves(M, n, seed):
    """Counts (n, M): each row of a random half once."""
    order = np.argsort(np.random.default_rng(seed).random((n, M)), axis=1)
    return (np.argsort(order, axis=1) < M // 2).astype(float)


def refits(A, y, labels, lam, counts, tol=1e-6, most=40_000):
    """Coefficients (n, N) of the group Lasso with thresholds lam sqrt(k), and how far
    each is from its optimality conditions, in units of the threshold, (n,).
    """
    member = np.equal.outer(labels, np.unique(labels)).astype(float)  # (N, G)
    t = lam * np.sqrt(member.sum(0))
    lengths = lambda v: np.sqrt(v**2 @ member)
    curvature = np.linalg.norm(A, 2) ** 2
    x = z = np.zeros((len(counts), A.shape[1]))
    pull = lambda x: ((y - x @ A.T) * counts) @ A
    momentum, off = 1.0, np.full(len(counts), np.inf)
    for k in range(1, most + 1):
        field = z + pull(z) / curvature
        shrink = 1 - t / curvature / np.maximum(lengths(field), 1e-300)
        new = np.maximum(shrink, 0) @ member.T * field
        # where the last move went against the steps the momentum is of no use
        against = ((z - new) * (new - x)).sum(1, keepdims=True) > 0
        later = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        z = new + np.where(against, 0, (momentum - 1) / later) * (new - x)
        x, momentum = new, later
        if k % 200 == 0:
            g, size = pull(x), lengths(x)
            unit = x / np.maximum(size @ member.T, 1e-300)
            on = lengths(g - unit * (t @ member.T))
            off = np.where(size > 0, on, np.maximum(lengths(g) - t, 0)).max(1) / t.min()
            if off.max() < tol:
                break
    return x, off


def make(name):
    """Shares of the groups, means and variances of the coefficients, some draws."""
    A, y, labels, lam = table(name)
    parts = []
    for start in range(0, N_REFITS, AT_ONCE):
        counts = halves(len(y), AT_ONCE, start + 1)
        x, off = refits(A, y, labels, lam, counts)
        assert off.max() < 1e-5, off.max()
        parts.append(x)
    x = np.concatenate(parts)
    member = np.equal.outer(labels, np.unique(labels)) * 1.0
    share = (x**2 @ member > 0).mean(0)
    print(f"{name}: {share.sum():.2f} groups on average", flush=True)
    found = dict(Pi=share, mean=x.mean(0), var=x.var(0), n=np.array(len(x)))
    some = labels == np.argmin(np.abs(share - 0.6))
    return found | dict(some=some, draws=x[:, some].astype(np.float32))


def load():
    """{design: {name: array}} of the file."""
    with np.load(HERE / "column_groups.npz") as file:
        keys = [key.split("/") for key in file.files]
        return {d: {k: file[f"{d}/{k}"] for e, k in keys if e == d} for d in DESIGNS}


if __name__ == "__main__":
    found = {name: make(name) for name in DESIGNS}
    flat = {f"{name}/{k}": v for name, of in found.items() for k, v in of.items()}
    np.savez_compressed(HERE / "column_groups.npz", **flat)
