"""Time and accuracy of the default refits, beside another checkout of the package.

    git worktree add FOLDER 3642dd7               # the last before the turns took over
    python tests/bench/checkouts.py FOLDER            # 40 tables
    python tests/bench/checkouts.py FOLDER NAME ...   # these again

By hand: a quarter of an hour, one thread, riboflavin by its file. Each checkout has a
process; both fit each table, and then take turns: `refine`, with nothing asked, of
three seeds. Ratios within one run go to checkouts.json: processor seconds after the fit
in the middle, and the same over how many plain refits the answers are as good as, by
truths of 4,000 to 40,000 refits (`measured`) and as they report it (`reported`).
"""

import argparse
import json
import os
import pickle
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
TABLE, SEEDS, TRUTH = HERE / "checkouts.json", range(3), 10_000
BEYOND = "riboflavin_50 riboflavin_15 outlier_08 toeplitz_90 toeplitz_95 toeplitz_99"
BEYOND += " breast_cancer dct independent one_hot sparse_binary heavy_tails log_normal"
BEYOND += " rare_counts pairs smooth_curves factors modules leverage few_rows diabetes"
BEYOND += " breast_cancer_logistic one_hot_rare sparse_binary_few"
NAMES = [f"{name}_half" for name in BEYOND.split()]
NAMES += [f"{name}_poisson" for name in ("independent", "factors", "labels")]
NAMES += ["diabetes_poisson", "genes 1", "genes 3", "genes 5", "small 0", "small 1"]
NAMES += ["small 3", "small 12", "small 2", "events 40", "events 100"]
NAMES += ["survival 20", "survival 150"]


# One checkout ------------------------------------------------------------------------


def made(kind, size):
    """Columns of unit length, a target or times and events, and a penalty."""
    import designs

    rng = np.random.default_rng([44, size, len(kind)])
    if kind == "genes":
        A = designs.genes(rng, 100, 4000, size, 0.5 if size == 1 else 0.3)
        f, noise = 8**0.5, rng.normal(size=100)
        f *= (sum_of := A[:, :3200:400].sum(1)) / sum_of.std()
    else:
        A, noise = rng.normal(size=(150, size)), 0.0
        f = A[:, :5].sum(1) / A[:, :5].sum(1).std()
    A, y = A - A.mean(0), f + noise
    A /= np.linalg.norm(A, axis=0)
    if kind == "survival":
        return A, (rng.exponential(np.exp(-f)), 1.0 * (rng.random(150) < 0.8)), 0.9
    y = rng.poisson(np.exp(0.8 * f)).astype(float) if kind == "events" else y - y.mean()
    return A, y, 0.3 * np.abs(A.T @ (y - y.mean())).max() / 2


def fitted(name):
    """A fit, a baseline or None, and the truth if a file has it."""
    import rvamp_nb
    from rvamp_nb.algorithm import resampling

    fixed = getattr(resampling, "FixedFactor", None) or resampling.Fixed
    kind, _, size = name.partition(" ")
    if not size:
        import make_beyond_truth as kept

        design, _, law = name.rpartition("_")
        A, y, _ = kept.problem(design)
        fit = rvamp_nb.rvamp(A, y, **kept.options(design, law))
        return fit, None, kept.load(name)
    if kind == "small":
        import turns

        return turns.small_fit(int(size))[1], None, None
    A, y, lam = made(kind, int(size))
    prior = rvamp_nb.Laplace(lam, fixed())
    given = dict(prior=prior, resampling=rvamp_nb.Subsample(0.5))
    if kind == "survival":
        from rvamp_nb.course.survival import survival_fit

        return *survival_fit(A, *y, **given), None
    if kind == "events":
        given |= dict(loss=rvamp_nb.PoissonLoss(), intercept=True)
    return rvamp_nb.rvamp(A, y, **given), None, None


def answers(root):
    """Commands from the standard input, pickled answers to the standard output."""
    pipe, sys.stdout = sys.stdout.buffer, sys.stderr
    folders = "tests/helpers", "tests/bench", "tests/truth/beyond"
    before = "tests", "tests/truth_beyond"  # where they lay in older commits
    sys.path[:0] = [str(root), *(str(root / folder) for folder in folders + before)]
    warnings.simplefilter("ignore")
    if (root / "rvamp_nb" / "inference").exists():
        from rvamp_nb.inference.refinement import refine, resamples
        from rvamp_nb.inference.refits import refitter
    else:  # as they were called before
        from rvamp_nb.extend.refined import refined as refine

        from rvamp_nb.inference.refinement import resamples
        from rvamp_nb.inference.refits import refitter
    for line in sys.stdin:
        what, _, name = line.strip().partition(" ")
        if what == "fit":
            fit, baseline, truth = fitted(name)
            given = dict(baseline=baseline, verbose=False)
            refine(fit, random_state=999, **given)
            found = None if truth is None else (truth[0], truth[3])
        elif what == "truth":
            again, parts = refitter(fit, baseline), []
            for start in range(0, TRUTH, 1000):
                x, _ = again(*resamples(fit, range(start, start + 1000), 2026))
                parts.append(x[~np.isnan(x).any(1)] != 0)
            x = np.concatenate(parts)
            found = x.mean(0), len(x)
        else:
            start = time.process_time()
            r = refine(fit, random_state=int(name), **given)
            seconds = time.process_time() - start
            reported = r.worth if hasattr(r, "worth") else r.equivalent_refits
            found = r.Pi, seconds, reported
        pickle.dump(found, pipe)
        pipe.flush()


# Both --------------------------------------------------------------------------------


def process(root):
    how = [sys.executable, __file__, "--answers", str(root)]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(root)}
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return subprocess.Popen(how, env=env, **pipes)


def ask(one, what):
    one.stdin.write(f"{what}\n".encode())
    one.stdin.flush()
    return pickle.load(one.stdout)


def row(name, ours, theirs):
    """Of one table: numbers of both, and ratios."""
    theirs_too, truth = ask(theirs, f"fit {name}"), ask(ours, f"fit {name}")
    Pi, n = truth or theirs_too or ask(ours, "truth")
    found = [[ask(one, f"run {k}") for one in (ours, theirs)] for k in SEEDS]
    noise, numbers = np.sum(Pi * (1 - Pi)), []
    for of_one in zip(*found):
        shares, seconds, reported = zip(*of_one)
        off = np.mean([np.sum((share - Pi) ** 2) for share in shares]) - noise / n
        measured = noise / max(off, noise / (30 * n))
        numbers.append([np.median(seconds), measured, np.mean(reported)])
    (t, measured, reported), (t_2, measured_2, reported_2) = np.array(numbers).tolist()
    time = t / t_2
    equal = dict(measured=time * measured_2 / measured)
    equal |= dict(reported=time * reported_2 / reported)
    return dict(name=name, ours=numbers[0], theirs=numbers[1], time=time, **equal)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--answers", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    root = asked.folder.resolve()
    if asked.answers:
        return answers(root)
    kept = json.loads(TABLE.read_text()) if TABLE.exists() else []
    table, both = {line["name"]: line for line in kept}, [HERE.parents[1], root]
    ours, theirs = map(process, both)
    for name in asked.names or NAMES:
        table[name] = line = row(name, ours, theirs)
        ratios = (f"{key} {line[key]:.2f}" for key in ("time", "measured", "reported"))
        print(f"{name:28}", *ratios, flush=True)
        lines = [table[name] for name in NAMES if name in table]
        TABLE.write_text(json.dumps(lines, indent=1) + "\n")
    for key in ("time", "measured", "reported"):
        v = np.array([line[key] for line in table.values()])
        middle = f"{np.median(v):.2f} in the middle, at most 1 on {np.mean(v <= 1):.0%}"
        print(f"{key}: {middle} of {len(v)}, at most {v.max():.2f}")


if __name__ == "__main__":
    main()
