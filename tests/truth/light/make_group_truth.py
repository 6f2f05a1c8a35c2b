"""Refits of small tables whose columns are selected in groups, for the grade of Π.

    python tests/truth/light/make_group_truth.py PARTS          # refits, ten minutes
    python tests/truth/light/make_group_truth.py PARTS --pack   # groups.npz, one minute

38 kinds of tables, TABLES of each. The refits share no code with the package: each half
is refitted by proximal Newton steps, whose quadratic problems are solved by accelerated
gradient steps (FISTA) until the optimality conditions hold to 1e-5 of the threshold.
The penalty is the one at which sixty refits select on average as many groups as an
analyst would ask for, the root of half their number, or twice as many.

`groups.npz` holds for each table the penalty, and the selection probabilities of its
groups over N_REFITS halves; and of a fit without refits the largest error of a
probability, and what the grade goes by (`SIGNS`). Kinds with an even number were looked
at when the limits were chosen, those with an odd number were not.
"""

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rvamp_nb import GroupLasso, Subsample, rvamp
from rvamp_nb.algorithm.likelihood import LOSSES
from rvamp_nb.inference import row_shares

HERE = Path(__file__).resolve().parent
N_REFITS, AT_ONCE, TABLES = 4_000, 200, 6


class Kind(NamedTuple):
    """How the tables of one kind are drawn."""

    basis: str  # what a feature becomes
    structure: str  # how features correlate
    rho: float
    rows: int
    groups: int
    loss: str = "squared"
    columns: int = 3  # of a group


KINDS = [
    Kind("cubic", "toeplitz", 0.8, 150, 9),
    Kind("cubic", "toeplitz", 0.9, 120, 12),
    Kind("cubic", "toeplitz", 0.0, 150, 9),
    Kind("cubic", "toeplitz", 0.3, 200, 15),
    Kind("cubic", "factor", 0.5, 150, 9),
    Kind("cubic", "factor", 0.7, 200, 10),
    Kind("spline", "toeplitz", 0.7, 150, 12, columns=4),
    Kind("spline", "toeplitz", 0.9, 200, 9, columns=4),
    Kind("spline", "toeplitz", 0.0, 150, 12, columns=4),
    Kind("spline", "factor", 0.5, 120, 10, columns=5),
    Kind("level", "toeplitz", 0.0, 120, 25),
    Kind("level", "toeplitz", 0.0, 150, 12, columns=5),
    Kind("level", "toeplitz", 0.8, 150, 12),
    Kind("level", "factor", 0.7, 150, 10, columns=4),
    Kind("column", "factors", 0.5, 120, 25),
    Kind("column", "factors", 0.7, 150, 12, columns=4),
    Kind("column", "toeplitz", 0.8, 120, 15),
    Kind("column", "toeplitz", 0.95, 150, 12),
    Kind("column", "toeplitz", 0.0, 120, 15),
    Kind("column", "toeplitz", 0.0, 90, 30),
    Kind("mixed", "toeplitz", 0.8, 120, 14),
    Kind("mixed", "factors", 0.6, 120, 12),
    Kind("mixed", "toeplitz", 0.0, 120, 14),
    Kind("mixed", "toeplitz", 0.4, 150, 16),
    Kind("column", "pairs", 0.9, 120, 12),
    Kind("column", "pairs", 0.7, 150, 14, columns=4),
    Kind("cubic", "toeplitz", 0.8, 200, 9, "logistic"),
    Kind("cubic", "toeplitz", 0.9, 250, 9, "logistic"),
    Kind("level", "toeplitz", 0.0, 200, 10, "logistic"),
    Kind("column", "toeplitz", 0.0, 200, 12, "logistic"),
    Kind("column", "toeplitz", 0.8, 200, 12, "logistic"),
    Kind("column", "factors", 0.5, 200, 10, "logistic"),
    Kind("flat cubic", "toeplitz", 0.7, 150, 9, "poisson"),
    Kind("flat cubic", "toeplitz", 0.9, 200, 9, "poisson"),
    Kind("column", "toeplitz", 0.0, 150, 12, "poisson"),
    Kind("level", "toeplitz", 0.6, 200, 10, "poisson"),
    Kind("flat cubic", "toeplitz", 0.8, 150, 10),
    Kind("flat cubic", "toeplitz", 0.6, 120, 12),
]


def ar(rng, M, G, rho):
    """Normal features, neighbours of which correlate by rho, (M, G)."""
    t = rng.normal(size=(M, G))
    for g in range(1, G):
        t[:, g] = rho * t[:, g - 1] + np.sqrt(1 - rho**2) * t[:, g]
    return t


def features(kind, rng, n):
    """n normal features of variance 1 that correlate as in the kind, (M, n)."""
    M, rho = kind.rows, kind.rho
    if kind.structure == "toeplitz":
        return ar(rng, M, n, rho)
    own = rng.normal(size=(M, n))
    if kind.structure == "pairs":  # a column and the like one of the next group
        common = rng.normal(size=(M, n // 2 // kind.columns, kind.columns))
        common = np.repeat(common, 2, axis=1).reshape(M, n)
        return np.sqrt(rho) * common + np.sqrt(1 - rho) * own
    many = 1 if kind.structure == "factor" else 4
    loadings = np.ones((1, n)) if many == 1 else rng.normal(size=(many, n))
    loadings /= np.linalg.norm(loadings, axis=0)
    return np.sqrt(rho) * rng.normal(size=(M, many)) @ loadings + np.sqrt(1 - rho) * own


def in_basis(kind, t):
    """The columns of one feature t, (M,)."""
    if "cubic" in kind.basis:
        t = np.argsort(np.argsort(t)) / len(t) - 0.5 if "flat" in kind.basis else t
        return np.stack([t, t**2, t**3], axis=1)
    if kind.basis == "spline":  # broken lines
        knots = np.quantile(t, np.linspace(0, 1, kind.columns + 1)[1:-1])
        return np.maximum(t[:, None] - np.r_[t.min(), knots], 0)
    cuts = np.quantile(t, np.linspace(0, 1, kind.columns + 2)[1:-1])
    return np.eye(kind.columns + 1)[np.searchsorted(cuts, t)][:, 1:]


def table(number, seed):
    """A (M, N) with orthonormal columns in each group, y (M,), labels (N,), and how
    many groups a half is to select.
    """
    kind, rng = KINDS[number], np.random.default_rng([58, number, seed])
    sizes = np.full(kind.groups, kind.columns)
    if kind.basis == "mixed":
        sizes = rng.integers(1, 7, size=kind.groups)
    if kind.basis in ("column", "mixed"):
        parts = np.split(
            features(kind, rng, sizes.sum()), np.cumsum(sizes)[:-1], axis=1
        )
    else:
        parts = [in_basis(kind, t) for t in features(kind, rng, kind.groups).T]
    A = np.hstack([np.linalg.qr(part - part.mean(0))[0] for part in parts])
    labels = np.repeat(np.arange(kind.groups), [part.shape[1] for part in parts])
    q = np.sqrt(kind.groups / 2) * (1 + seed % 2)
    x = np.zeros(len(labels))
    for g in rng.choice(kind.groups, int(np.ceil(q)), replace=False):
        direction = rng.normal(size=np.sum(labels == g))
        length = (4 if kind.loss == "squared" else 6) * rng.uniform(0.7, 1.6)
        x[labels == g] = length * direction / np.linalg.norm(direction)
    if kind.loss == "squared":
        y = A @ x + rng.normal(size=kind.rows)
        return A, y - y.mean(), labels, q
    if kind.loss == "logistic":
        chance = 1 / (1 + np.exp(-1.5 * A @ x))
        return A, (rng.random(kind.rows) < chance).astype(float), labels, q
    return A, rng.poisson(np.exp(0.5 + A @ x / 2)).astype(float), labels, q


def halves(M, n, seed):
    """Counts (n, M): each row of a random half once."""
    order = np.argsort(np.random.default_rng(seed).random((n, M)), axis=1)
    return (np.argsort(order, axis=1) < M // 2).astype(float)


def quadratic(G, b, x, member, t, tol, most=20_000):
    """Minimise x'Gx/2 - b'x + sum of t_g |x_g| for each of the problems, G (n, N, N),
    b and the start x (n, N).
    """
    curvature = np.linalg.eigvalsh(G)[:, -1:] * (1 + 1e-9)
    lengths = lambda v: np.sqrt(v**2 @ member)
    out, left = x.copy(), np.arange(len(b))
    z, momentum = x.copy(), np.ones((len(b), 1))
    for k in range(1, most + 1):
        field = z + (b - (G @ z[:, :, None])[:, :, 0]) / curvature
        size = np.maximum(lengths(field), 1e-300)
        new = np.maximum(1 - t / curvature / size, 0) @ member.T * field
        against = ((z - new) * (new - x)).sum(1, keepdims=True) > 0
        momentum[against] = 1.0
        later = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        z = new + (momentum - 1) / later * (new - x)
        x, momentum = new, later
        if k % 25 == 0:
            off = violation(b - (G @ x[:, :, None])[:, :, 0], x, member, t)
            done = off < tol
            out[left[done]] = x[done]
            if done.all():
                return out
            if done.mean() > 0.2:
                keep = ~done
                G, b, x, z = G[keep], b[keep], x[keep], z[keep]
                curvature, momentum, left = curvature[keep], momentum[keep], left[keep]
    out[left] = x
    return out


def violation(pull, x, member, t):
    """How far from optimal, in units of the smallest threshold, (n,)."""
    lengths = lambda v: np.sqrt(v**2 @ member)
    size = lengths(x)
    unit = x / np.maximum(size @ member.T, 1e-300)
    on = lengths(pull - unit * (t @ member.T))
    off = np.where(size > 0, on, np.maximum(lengths(pull) - t, 0))
    return off.max(1) / t[t > 0].min()


def refits(A, y, labels, lam, counts, loss, tol=1e-5):
    """Coefficients (n, N) of the group Lasso with thresholds lam sqrt(k), and how far
    each is from its optimality conditions, (n,). Other losses than the squared one
    have an intercept.
    """
    member = np.equal.outer(labels, np.unique(labels)).astype(float)
    t = lam * np.sqrt(member.sum(0))
    if loss == "squared":
        G = np.einsum("bm,mi,mj->bij", counts, A, A, optimize=True)
        x = np.zeros((len(counts), A.shape[1]))
        x = quadratic(G, counts * y @ A, x, member, t, tol)
        return x, violation((counts * (y - x @ A.T)) @ A, x, member, t)
    unit = 1 / np.sqrt(len(y))
    B = np.c_[A, np.full(len(y), unit)]
    member = np.block([[member, np.zeros((len(labels), 1))], [np.zeros(len(t)), 1]])
    t = np.append(t, 0.0)
    x = np.zeros((len(counts), B.shape[1]))
    mean = np.clip((counts @ y) / counts.sum(1), 1e-3, None)
    x[:, -1] = (
        np.log(mean / (1 - mean)) if loss == "logistic" else np.log(mean)
    ) / unit
    for _ in range(40):
        f = x @ B.T
        mu = 1 / (1 + np.exp(-f)) if loss == "logistic" else np.exp(np.minimum(f, 30))
        w = counts * (mu * (1 - mu) if loss == "logistic" else mu)
        pull = (counts * (y - mu)) @ B
        off = violation(pull, x, member, t)
        if off.max() < tol:
            break
        G = np.einsum("bm,mi,mj->bij", w, B, B, optimize=True)
        G += 1e-12 * np.eye(B.shape[1])
        b = pull + (G @ x[:, :, None])[:, :, 0]
        new = quadratic(G, b, x, member, t, min(tol / 3, 1e-5))
        step = new - x
        longest = np.abs(step @ B.T).max(1, keepdims=True)
        x = x + step * np.minimum(1, 2 / np.maximum(longest, 1e-9))  # no overshooting
    return x[:, :-1], off


def shares(A, y, labels, lam, loss, n, seed):
    """Selection probability of each group over n halves, (G,)."""
    member = np.equal.outer(labels, np.unique(labels)).astype(float)
    kept = []
    for start in range(0, n, AT_ONCE):
        many = min(AT_ONCE, n - start)
        counts = halves(len(y), many, [seed, start])
        x, off = refits(A, y, labels, lam, counts, loss)
        assert np.mean(off > 1e-4) < 0.01, np.sort(off)[-5:]
        kept.append((x**2 @ member > 0)[off < 1e-4])
    return np.concatenate(kept).mean(0)


def at_size(A, y, labels, loss, q, steps=9):
    """The penalty at which sixty halves select q groups on average."""
    member = np.equal.outer(labels, np.unique(labels)).astype(float)
    start = y - y.mean()
    largest = np.max(np.sqrt((start @ A) ** 2 @ member / member.sum(0)))
    low, high = np.log(largest / 50), np.log(largest)
    for _ in range(steps):
        middle = (low + high) / 2
        found = shares(A, y, labels, np.exp(middle), loss, 60, 1).sum()
        low, high = (low, middle) if found < q else (middle, high)
    return float(np.exp((low + high) / 2))


def make(number, seed):
    """Penalty and selection probabilities of one table."""
    A, y, labels, q = table(number, seed)
    loss = KINDS[number].loss
    lam = at_size(A, y, labels, loss, q)
    return dict(lam=lam, Pi=shares(A, y, labels, lam, loss, N_REFITS, 2))


SIGNS = "error effective largest own group_share correlation".split()


def fitted(number, seed, lam):
    """rVAMP's answer for one table."""
    A, y, labels, _ = table(number, seed)
    loss = LOSSES[KINDS[number].loss]()
    prior, counts = GroupLasso(lam, labels), Subsample(0.5)
    plain = KINDS[number].loss == "squared"
    return rvamp(A, y, prior=prior, resampling=counts, loss=loss, intercept=not plain)


def signs(number, seed, lam, Pi):
    """The `SIGNS` of one table."""
    fit = fitted(number, seed, lam)
    assert fit.converged, (number, seed)
    error = np.abs(fit.prior.of_groups(fit.Pi) - Pi).max()
    noise = row_shares.signs_of_noise(fit)
    together = row_shares.columns_together(fit) > 1
    correlation = row_shares.max_correlation(fit)[together].max()
    shares = noise.share, noise.single_share, noise.group_share
    return error, noise.effective, *shares, correlation


def load():
    """All of groups.npz: for each table kind, seed, lam and the `SIGNS`, (T,); and Pi,
    a list of arrays.
    """
    with np.load(HERE / "groups.npz") as file:
        found = {key: file[key] for key in file.files}
    ends = np.cumsum(found.pop("sizes"))[:-1]
    return found | dict(Pi=np.split(found["Pi"].astype(float), ends))


def pack(parts):
    """One file of all tables."""
    found, seen = [], []
    for seed in range(TABLES):
        for number in range(len(KINDS)):
            with np.load(parts / f"{number}_{seed}.npz") as file:
                found.append((number, seed, float(file["lam"]), file["Pi"]))
            seen.append(signs(*found[-1]))
    kind, seed, lam, Pi = zip(*found)
    sizes = [len(part) for part in Pi]
    arrays = dict(kind=kind, seed=seed, lam=lam, sizes=sizes)
    arrays |= dict(zip(SIGNS, np.float32(seen).T))
    Pi = np.float32(np.concatenate(Pi))
    np.savez_compressed(HERE / "groups.npz", Pi=Pi, **arrays)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", type=Path)
    parser.add_argument("--pack", action="store_true")
    options = parser.parse_args()
    options.parts.mkdir(exist_ok=True)
    if options.pack:
        pack(options.parts)
        raise SystemExit
    for seed in range(TABLES):
        for number in range(len(KINDS)):
            path = options.parts / f"{number}_{seed}.npz"
            if path.exists():
                continue
            began = time.process_time()
            found = make(number, seed)
            np.savez_compressed(path, **found)
            seconds = time.process_time() - began
            print(
                number, seed, found["Pi"].sum().round(2), f"{seconds:.0f} s", flush=True
            )
