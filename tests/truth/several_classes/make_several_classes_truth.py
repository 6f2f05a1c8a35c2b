"""Refits of the softmax regression with one penalty for all classes of a feature, on
random halves, for chapter 6.1: brute force that shares no code with the package.

    python tests/truth/several_classes/make_several_classes_truth.py

takes two minutes. Each refit has K coefficients for each feature, no reference and no
basis, and is made by accelerated proximal gradient steps (FISTA), all halves side by
side, until its optimality conditions hold to 1e-5 of the penalty.
"""

from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
SHARES = {"iris": 0.3, "wine": 0.3, "simulated": 0.4, "five": 0.35}  # of the largest
N_REFITS, AT_ONCE = 2_000, 200


def table(name):
    """A (M, N) with centered columns of unit length, labels (M,), and a penalty."""
    if name in ("iris", "wine"):
        from sklearn import datasets

        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    else:
        M, N, K = (100, 300, 3) if name == "simulated" else (150, 60, 5)
        rng, x = np.random.default_rng(61), np.zeros((N, K))
        X, x[:5] = rng.normal(size=(M, N)), 1.5 * rng.normal(size=(5, K))
        y = np.argmax(X @ x + rng.gumbel(size=(M, K)), axis=1)
    X = X - X.mean(0)
    A = X / np.linalg.norm(X, axis=0)
    Y = np.eye(y.max() + 1)[y]
    largest = np.linalg.norm(A.T @ (Y - Y.mean(0)), axis=1).max() / 2
    return A, y, SHARES[name] * largest


def halves(M, n, seed):
    """Counts (n, M): each row of a random half once."""
    order = np.argsort(np.random.default_rng(seed).random((n, M)), axis=1)
    return (np.argsort(order, axis=1) < M // 2).astype(float)


def softmax(f):
    """Probabilities, (..., K)."""
    p = np.exp(f - f.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


def slopes(A, Y, x, counts):
    """Gradient of the loss, (n, N, K), at coefficients of that shape."""
    n, N, K = x.shape
    p = softmax((A @ x.transpose(1, 0, 2).reshape(N, -1)).reshape(-1, n, K))
    rest = (p - Y[:, None]) * counts.T[:, :, None]
    return (A.T @ rest.reshape(len(A), -1)).reshape(N, n, K).transpose(1, 0, 2)


def distance(g, x, lam):
    """How far from the optimality conditions, in units of the penalty, (n,)."""
    size = np.linalg.norm(x[:, :-1], axis=2, keepdims=True)
    on = g[:, :-1] + lam * x[:, :-1] / np.maximum(size, 1e-300)
    off = np.maximum(np.linalg.norm(g[:, :-1], axis=2) - lam, 0)
    off = np.where(size[..., 0] > 0, np.linalg.norm(on, axis=2), off)
    return np.maximum(off.max(1), np.linalg.norm(g[:, -1], axis=1)) / lam


def refits(A, y, lam, counts, tol=1e-5, most=40_000):
    """Coefficients (n, N, K), intercepts (n, K) that add up to zero, and how far each
    refit is from its optimality conditions, (n,).
    """
    Y, root = np.eye(y.max() + 1)[y], np.sqrt(len(y))
    A = np.c_[A, np.full(len(y), 1 / root)]  # unpenalised, at the end
    curvature = np.linalg.norm(A, 2) ** 2 / 2  # the softmax bends by 1/2 at most
    found = np.zeros((len(counts), A.shape[1], Y.shape[1]))
    x = z = found.copy()
    momentum, off = np.ones((len(x), 1, 1)), np.full(len(x), np.inf)
    going = np.arange(len(x))
    for k in range(1, most + 1):
        new = z - slopes(A, Y, z, counts[going]) / curvature
        size = np.linalg.norm(new[:, :-1], axis=2, keepdims=True)
        new[:, :-1] *= np.maximum(1 - lam / curvature / np.maximum(size, 1e-300), 0)
        # where the last move went against the steps the momentum is of no use
        against = ((z - new) * (new - x)).sum((1, 2), keepdims=True) > 0
        momentum = np.where(against, 1, momentum)
        later = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        z = new + np.where(against, 0, (momentum - 1) / later) * (new - x)
        x, momentum = new, later
        if k % 100 == 0:
            off[going] = distance(slopes(A, Y, x, counts[going]), x, lam)
            found[going], far = x, off[going] > tol
            x, z, momentum, going = x[far], z[far], momentum[far], going[far]
            if not len(going):
                break
    b = found[:, -1] / root
    return found[:, :-1], b - b.mean(1, keepdims=True), off


def make(name):
    """Shares of the features, means and deviations of the coefficients, and the mean
    predicted probabilities of the table's rows.
    """
    A, y, lam = table(name)
    parts = []
    for start in range(0, N_REFITS, AT_ONCE):
        x, b, off = refits(A, y, lam, halves(len(y), AT_ONCE, start + 1))
        assert off.max() < 1e-5, off.max()
        parts.append((x, b))
    x, b = map(np.concatenate, zip(*parts))
    p = np.mean([softmax(A @ one + level) for one, level in zip(x, b)], axis=0)
    share = (x != 0).any(2).mean(0)
    print(f"{name}: {share.sum():.2f} features on average", flush=True)
    found = dict(Pi=share, mean=x.mean(0), sd=x.std(0), intercept=b.mean(0))
    return found | dict(probabilities=p, n=np.array(len(x)))


def load():
    """{table: {name: array}} of the file."""
    with np.load(HERE / "several_classes.npz") as file:
        keys = [key.split("/") for key in file.files]
        return {t: {k: file[f"{t}/{k}"] for e, k in keys if e == t} for t in SHARES}


if __name__ == "__main__":
    found = {name: make(name) for name in SHARES}
    flat = {f"{name}/{k}": v for name, of in found.items() for k, v in of.items()}
    np.savez_compressed(HERE / "several_classes.npz", **flat)
