"""What `corrected` is worth, before and after, and at what cost.

    python tests/bench/beyond.py              # all truths of tests/truth_beyond
    python tests/bench/beyond.py NAME ...     # these again

By hand: some minutes. The table goes to tests/truth_beyond/worths.json and into
chapter 17. For each truth: the worth of Π in refits (the number whose own error is as
large; the truth's own error subtracted; null where nothing is left but that), the 5 to
95 % range of the ratio of variances to the refits' among features with Π > 0.1, steps
of the fit and of the correction, components, and the correction's processor time in
units of the fit's.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "truth_beyond"))
import make_beyond_truth as refitted

from rvamp_nb.extend.beyond import corrected
from rvamp_nb.solver import rvamp

TABLE = HERE.parent / "truth_beyond" / "worths.json"


def worth(Pi, truth, n):
    """In refits; None where the error is not to be told from the truth's own."""
    one = np.mean(truth * (1 - truth)) * n / (n - 1)
    error = np.mean((Pi - truth) ** 2) - one / n
    return float(one / error) if error > one / (30 * n) else None


def spread(var, truth, Pi):
    """The 5 and 95 % quantiles of the ratio of variances."""
    seen = (Pi > 0.1) & (truth > 0)
    return np.quantile(var[seen] / truth[seen], [0.05, 0.95]).round(3).tolist()


def timed(call, *arguments, **options):
    start = time.process_time()
    answer = call(*arguments, **options)
    return answer, time.process_time() - start


def row(name):
    """One line of the table."""
    design, _, law = name.rpartition("_")
    A, y, _ = refitted.problem(design)
    options, (Pi, _, var, n) = refitted.options(design, law), refitted.load(name)
    rvamp(A, y, **options)  # warms caches
    fit, of_fit = timed(rvamp, A, y, **options)
    after, of_after = timed(corrected, fit)
    return dict(
        name=name,
        refits=n,
        worth=[worth(v.Pi, Pi, n) for v in (fit, after)],
        var=[spread(v.var, var, Pi) for v in (fit, after)],
        steps=[fit.n_iter, after.steps],
        components=after.components,
        answering=after.answering / A.shape[1],
        cost=of_after / of_fit,
        seconds=[of_fit, of_after],
        done=str(after),
    )


def main():
    names = sys.argv[1:] or [
        name
        for name in refitted.NAMES
        if (HERE.parent / "truth_beyond" / f"{name}.npz").exists()
    ]
    table = json.loads(TABLE.read_text()) if TABLE.exists() else []
    kept = {line["name"]: line for line in table}
    for name in names:
        kept[name] = line = row(name)
        before, after = (w and round(w) for w in line["worth"])
        print(f"{name:28}{before!s:>8}{after!s:>8}  {line['var']}", end="")
        print(f"  {line['steps']} {line['cost']:.1f} fits  {line['done']}", flush=True)
    ordered = [kept[name] for name in refitted.NAMES if name in kept]
    TABLE.write_text("[\n" + ",\n".join(map(json.dumps, ordered)) + "\n]\n")


if __name__ == "__main__":
    main()
