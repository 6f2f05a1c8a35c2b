"""Levels of a variable one by one, or as a group: which finds more at the same bound?

    python tests/bench/categories.py [SEEDS]

Ten tables of categorical variables, levels coded as 0/1 columns without the first; a
variable has been found if its group, or any of its levels, is selected (rVAMP alone,
pfer = 1). Printed are found true variables and false ones, on average over the seeds
(20; eight minutes). By `column_groups` the bound counts variables, else levels.

Measured: levels find more on six tables (most where one of ten levels acts: 3.60 for
2.20), groups on four (most where 100 variables act in all levels: 2.95 for 2.20); one
false variable in 400 fits, by levels. So levels stay apart unless asked.
"""

import sys
import warnings

import numpy as np

from rvamp_nb import StabilitySelection

TABLES = {  # rows, variables, levels, true ones, levels with an effect (0: all), size
    "few levels, all act": (200, 20, 3, 4, 0, 0.5),
    "few levels, one acts": (200, 20, 3, 4, 1, 0.8),
    "five levels, all act": (200, 20, 5, 4, 0, 0.5),
    "five levels, one acts": (200, 20, 5, 4, 1, 1.0),
    "ten levels, all act": (400, 20, 10, 4, 0, 0.5),
    "ten levels, one acts": (400, 20, 10, 4, 1, 1.2),
    "a trend over five levels": (200, 20, 5, 4, -1, 0.35),
    "many variables, all act": (150, 100, 4, 5, 0, 0.8),
    "many variables, one acts": (150, 100, 4, 5, 1, 1.4),
    "rare levels, all act": (300, 30, 6, 4, 0, 0.6),
}


def table(name, seed):
    """Columns (M, n), target, and which columns each variable has."""
    M, G, K, true, acting, size = TABLES[name]
    rng = np.random.default_rng([seed, [*TABLES].index(name)])
    shares = rng.dirichlet(np.full(K, 1.0 if name.startswith("rare") else 20.0), size=G)
    level = np.array([rng.choice(K, M, p=p) for p in shares])
    effect = np.zeros((G, K))
    if acting == 1:
        effect[np.arange(true), rng.integers(K, size=true)] = size
        effect[:true] *= rng.choice([-1, 1], true)[:, None]
    elif acting == -1:
        effect[:true] = size * np.arange(K) * rng.choice([-1, 1], true)[:, None]
    else:
        effect[:true] = size * rng.normal(size=(true, K))
    y = effect[np.arange(G)[:, None], level].sum(0) + rng.normal(size=M)
    X = np.hstack([np.eye(K)[one][:, 1:] for one in level])
    return X, y, [range(g * (K - 1), (g + 1) * (K - 1)) for g in range(G)]


def found(name, seed, together):
    """How many true variables are found, and how many others."""
    X, y, sets = table(name, seed)
    groups = {f"v{g}": list(some) for g, some in enumerate(sets)} if together else None
    s = StabilitySelection(column_groups=groups, n_resamples=0, verbose=0).fit(X, y)
    any_of = np.array([s.support_[some].any() for some in map(list, sets)])
    true = TABLES[name][3]
    return any_of[:true].sum(), any_of[true:].sum()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    print(f"{'table':28}{'true, of':>9}{'levels':>8}{'groups':>8}{'false':>8}{'':8}")
    for name, (*_, true, _, _) in TABLES.items():
        each = [[found(name, seed, together) for seed in seeds] for together in (0, 1)]
        one, other = np.mean(each, axis=1)
        line = (
            f"{name:28}{true:9}{one[0]:8.2f}{other[0]:8.2f}{one[1]:8.2f}{other[1]:8.2f}"
        )
        print(line, flush=True)
