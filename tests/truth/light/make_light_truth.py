"""What refits say of two hundred small tables of fifty kinds (helpers/designs.py).

    python tests/truth/light/make_light_truth.py PARTS          # refits, half an hour
    python tests/truth/light/make_light_truth.py PARTS --signs  # rVAMP, ten minutes
    python tests/truth/light/make_light_truth.py PARTS --pack   # the files beside this
    python tests/truth/light/make_light_truth.py PARTS --again  # 6,000 fresh refits

The first two keep a file for each table in the folder PARTS and go on where they were
stopped. `--pack` writes one file for each group of kinds, and `signs.npz`: what rVAMP
says of the same tables, and what the light goes by; Π and variances of
`condition_on_rows`, in blocks, stand there, too. `again.npz` looks again, with other
refits and more of them, at the tables that no rule was made on, that are green, and
that have a wrong variance.

In the file of a group, for each table: the penalty (`lam`), how many refits (`n`),
their `seed`, and for all features, one table after the other (`sizes` says how many
each has), Π, mean and variance over the refits, and the standard error of the variance
(`var_se`).

The penalty is the one at which so many features are selected on average as
`level` times the smaller side of the table; thirty refits find it, so that it does not
depend on the method that is judged.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "helpers"))
from designs import KINDS, small_design, small_names  # noqa: E402

from rvamp_nb import naive_bootstrap, rvamp  # noqa: E402
from rvamp_nb.algorithm.clusters import find_clusters  # noqa: E402
from rvamp_nb.algorithm.energy import stability_radius  # noqa: E402
from rvamp_nb.algorithm.likelihood import Logistic, Squared  # noqa: E402
from rvamp_nb.algorithm.prior import Laplace  # noqa: E402
from rvamp_nb.algorithm.resampling import Subsample  # noqa: E402
from rvamp_nb.algorithm.solver import with_clusters  # noqa: E402
from rvamp_nb.course.conditioning import condition_on_rows  # noqa: E402
from rvamp_nb.inference.diagnostics import diagnose  # noqa: E402
from rvamp_nb.inference.row_shares import column_effective_rows, max_correlation  # noqa: E402

IN_QUESTION = 0.01  # features above this, by refits or rVAMP, are looked at
KEPT = 0.02  # and those above this are kept in signs.npz
MOST = {"squared": 1500, "logistic": 800}  # refits
LEAST, SECONDS = 500, 20  # fewer of them where they are slow
AGAIN = ("Toeplitz .5, 3", "three levels, 3", "words, 0")
COLUMNS = ("Pi", "mean", "var", "var_se")


def refits(design, lam, n, seed):
    """So many refits of one table at one penalty."""
    return naive_bootstrap(
        design.A,
        design.y,
        prior=Laplace(lam, design.randomize),
        loss=design.loss,
        intercept=design.loss == "logistic",
        resampling=design.counts,
        n_resamples=n,
        random_state=seed,
        verbose=False,
    )


def at_size(design, n=30, steps=8):
    """The penalty at which n refits select as many features as the design asks for."""
    A, y = design.A, design.y
    largest = np.abs(A.T @ (y - y.mean())).max()
    high, low = np.log(largest), np.log(largest / 300)
    for _ in range(steps):
        middle = (high + low) / 2
        found = refits(design, np.exp(middle), n, design.seed + 5000).Pi.sum()
        few = found < design.level * min(A.shape)
        high, low = (middle, low) if few else (high, middle)
    return float(np.exp((high + low) / 2))


def make(recipe):
    """The truth of one table, as a dict of arrays."""
    design = small_design(*recipe)
    lam = at_size(design)
    began = time.process_time()
    refits(design, lam, 20, design.seed)
    each = (time.process_time() - began) / 20
    n = int(np.clip(SECONDS / each, LEAST, MOST[design.loss])) // 100 * 100
    found = refits(design, lam, n, design.seed)
    arrays = {key: getattr(found, key).astype(np.float32) for key in COLUMNS}
    return dict(lam=lam, n=n, seed=design.seed, **arrays)


def fitted(design, lam):
    """The answer of rVAMP to the same question."""
    logistic, counts = design.loss == "logistic", design.counts
    if isinstance(counts, Subsample):  # the refits drew so many
        counts = Subsample(round(counts.tau * len(design.y)) / len(design.y))
    return rvamp(
        design.A,
        design.y,
        prior=Laplace(lam, design.randomize),
        loss=Logistic() if logistic else Squared(),
        intercept=logistic,
        resampling=counts,
    )


def signs(recipe, truth):
    """What the light goes by, and how wrong rVAMP is, for one table, (2 dicts): of the
    table, and of its features in question.
    """
    fit, Pi, n = (
        fitted(small_design(*recipe), float(truth["lam"])),
        truth["Pi"].astype(float),
        int(truth["n"]),
    )
    N = len(Pi)
    if not fit.converged:
        none = dict.fromkeys((*OF_FEATURE, "number"), np.empty(0))
        return dict.fromkeys(OF_TABLE, np.nan) | dict(converged=False), none
    diagnostics = diagnose(fit, np.arange(N), range(N))
    wrong, noise = fit.Pi - Pi, Pi * (1 - Pi) / n
    rms = np.sqrt(max(np.mean(wrong**2 - noise), 0))
    # where no refit selects a feature, one in n might have
    beyond = np.abs(wrong) - 2 * np.sqrt(np.maximum(noise, 1 / n**2))
    of_table = dict(
        converged=True,
        rms=rms / np.sqrt(max(np.mean(Pi * (1 - Pi)), 1e-12) / 100),
        largest_error=max(beyond.max(), 0),
        effective=diagnostics.effective_rows,
        largest=diagnostics.largest_share,
        own=diagnostics.largest_single_share,
        radius=_radius(fit),
    )
    ask = np.flatnonzero(np.maximum(Pi, fit.Pi) > IN_QUESTION)
    better = condition_on_rows(with_clusters(fit, find_clusters(fit.problem.A, fit.Pi)))
    of_feature = dict(
        number=ask,
        Pi=fit.Pi[ask],
        var=fit.var[ask],
        counted_Pi=better.Pi[ask],
        counted_var=better.var[ask],
        rows=column_effective_rows(fit)[ask],
        partner=max_correlation(fit)[ask],
        share=_largest_shares(fit)[ask],
    )
    return of_table, of_feature


OF_TABLE = "converged rms largest_error effective largest own radius".split()
OF_FEATURE = "Pi var counted_Pi counted_var rows partner share".split()


def _radius(fit):
    """Where replica symmetry ends it is 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return stability_radius(fit, tol=1e-3, max_iter=100)


def _largest_shares(fit):
    """Of a single row in the noise of each feature."""
    parts = fit.problem.A[:, : len(fit.Pi)] ** 2 * fit.last.u.var[:, None]
    return parts.max(0) / np.maximum(parts.sum(0), 1e-300)


def pack_signs(parts):
    """All signs in one file, with the truths of the features in question."""
    recipes = [r for r in small_names() if (parts / "signs" / f"{r[0]}.npz").exists()]
    names, groups, _, kinds, _ = zip(*recipes)
    signs = [np.load(parts / "signs" / f"{name}.npz") for name in names]
    truths = [np.load(parts / f"{name}.npz") for name in names]
    numbers = [table["of_feature_number"].astype(int) for table in signs]
    larger = [
        np.maximum(table["of_feature_Pi"], truth["Pi"][which]) > KEPT
        for table, truth, which in zip(signs, truths, numbers)
    ]
    join = lambda of_tables: np.float32(
        np.concatenate([v[which] for v, which in zip(of_tables, larger)])
    )
    joined = {
        f"of_table_{key}": np.float32([table[f"of_table_{key}"] for table in signs])
        for key in OF_TABLE
    }
    joined["of_table_n"] = [int(truth["n"]) for truth in truths]
    for key in OF_FEATURE:
        joined[f"of_feature_{key}"] = join(
            [table[f"of_feature_{key}"] for table in signs]
        )
    for new, key in (("true_Pi", "Pi"), ("true_var", "var"), ("var_se", "var_se")):
        of_key = [truth[key][which] for truth, which in zip(truths, numbers)]
        joined[f"of_feature_{new}"] = join(of_key)
    joined |= dict(names=names, groups=groups, kinds=kinds)
    np.savez_compressed(HERE / "signs.npz", sizes=[n.sum() for n in larger], **joined)


def load_signs():
    """All of signs.npz: of_table_... one number for each table, of_feature_... one for
    each feature in question, `sizes` of them a table.
    """
    with np.load(HERE / "signs.npz") as file:
        return {key: file[key] for key in file.files}


def pack(parts):
    """One file for each group, from the files of its tables."""
    for group in KINDS:
        names = [name for name, of, *_ in small_names() if of == group]
        names = [name for name in names if (parts / f"{name}.npz").exists()]
        tables = [np.load(parts / f"{name}.npz") for name in names]
        joined = {
            key: np.concatenate([table[key] for table in tables]) for key in COLUMNS
        }
        joined |= {
            key: [table[key] for table in tables] for key in ("n", "seed", "lam")
        }
        sizes = [len(table["Pi"]) for table in tables]
        path = HERE / f"{group.replace(' ', '_')}.npz"
        np.savez_compressed(path, names=names, sizes=sizes, **joined)


def load():
    """The truths of all tables that are there: name, and a dict of arrays."""
    for group in KINDS:
        with np.load(HERE / f"{group.replace(' ', '_')}.npz") as file:
            ends = np.cumsum(file["sizes"])[:-1]
            columns = {key: np.split(file[key], ends) for key in COLUMNS}
            for k, name in enumerate(file["names"]):
                kept = {key: file[key][k] for key in ("n", "seed", "lam")}
                yield str(name), kept | {key: columns[key][k] for key in COLUMNS}


def make_truths(parts):
    """What is missing; the first of each kind first, so that a run that is stopped has
    seen all kinds.
    """
    for name, *recipe in sorted(small_names(), key=lambda recipe: recipe[-1]):
        path = parts / f"{name}.npz"
        if path.exists():
            continue
        began = time.process_time()
        found = make(recipe)
        np.savez_compressed(path, **found)
        seconds = time.process_time() - began
        print(
            f"{name}: ΣΠ {found['Pi'].sum():.1f}, {found['n']} refits, {seconds:.0f} s",
            flush=True,
        )


def make_signs(parts):
    """What is missing, for the truths that are there."""
    (parts / "signs").mkdir(exist_ok=True)
    for name, *recipe in small_names():
        path, truth = parts / "signs" / f"{name}.npz", parts / f"{name}.npz"
        if path.exists() or not truth.exists():
            continue
        of_table, of_feature = signs(recipe, np.load(truth))
        kept = {f"of_table_{key}": v for key, v in of_table.items()}
        kept |= {f"of_feature_{key}": v for key, v in of_feature.items()}
        np.savez_compressed(path, **kept)


def make_again(n=6000):
    """Other refits of the tables in question."""
    recipes, truths = {name: recipe for name, *recipe in small_names()}, dict(load())
    kept = {}
    for name in AGAIN:
        design = small_design(*recipes[name])
        lam = float(truths[name]["lam"])
        found = refits(design, lam, n, design.seed + 7000)
        for key in ("Pi", "var", "var_se"):
            kept[f"{name} {key}"] = getattr(found, key).astype(np.float32)
    np.savez_compressed(HERE / "again.npz", n=n, **kept)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", type=Path)
    parser.add_argument("--signs", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--pack", action="store_true")
    told = parser.parse_args()
    told.parts.mkdir(exist_ok=True)
    if told.pack:
        pack(told.parts)
        pack_signs(told.parts)
    elif told.signs:
        make_signs(told.parts)
    elif told.again:
        make_again()
    else:
        make_truths(told.parts)
