"""True and false edges of `neighbourhoods` on tables whose network is known, for
chapter 6.2: {kind: {rule: {pfer: [[true, false] of each table]}}} in networks.json.

    python tests/truth/networks/make_networks_truth.py

takes ten minutes.
"""

import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
KINDS, RULES = ("independent", "chain", "random", "hubs"), ("and", "or")
PFERS, M, N, TABLES = (1, 5), 200, 40, 60


def precision(kind, rng):
    """The inverse covariance of the columns, (N, N); its zeros are missing edges."""
    if kind == "hubs":  # column k acts on nine others
        L = np.eye(N)
        for k in range(4):
            L[10 * k + 1 : 10 * k + 10, 10 * k] = -0.5
        return L.T @ L
    K = np.zeros((N, N))
    if kind == "chain":
        i = np.arange(N - 1)
        K[i, i + 1] = -0.4
    if kind == "random":
        i, j = np.triu_indices(N, 1)
        some = rng.choice(len(i), 40, replace=False)
        K[i[some], j[some]] = rng.choice([-0.3, 0.3], 40)
    K += K.T
    return K + np.diag(np.maximum(1, 1.1 * np.abs(K).sum(1)))


def counts(kind, rule, pfer, number):
    """How many edges are selected, true and false, in one table."""
    from rvamp_nb import neighbourhoods

    rng = np.random.default_rng(number)
    K = precision(kind, rng)
    X = rng.multivariate_normal(np.zeros(N), np.linalg.inv(K), size=M)
    chosen = neighbourhoods(X, rule=rule, pfer=pfer, n_resamples=200).selected
    chosen, true = np.triu(chosen, 1), np.abs(K) > 1e-9
    return [int((chosen & true).sum()), int((chosen & ~true).sum())]


if __name__ == "__main__":
    of = lambda *case: [counts(*case, number) for number in range(TABLES)]
    found = {k: {r: {b: of(k, r, b) for b in PFERS} for r in RULES} for k in KINDS}
    (HERE / "networks.json").write_text(json.dumps(found) + "\n")
