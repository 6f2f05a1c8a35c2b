"""What columns in blocks and rows counted are worth, and at what cost.

    python tests/bench/beyond.py              # all truths of tests/truth/beyond
    python tests/bench/beyond.py NAME ...     # these again

By hand: some minutes. The table goes to tests/truth/beyond/worths.json, which chapter
4.7 prints and chapter 4.6 draws. For each truth: the worth of Π in refits (the number
whose own error is as large; the truth's own error subtracted; null where nothing is
left but that) of the fit, of the fit in blocks, of four rows counted, and of these in
blocks; the 5 to 95 % range of the ratio of variances to the refits' among features with
Π > 0.1, and the share of these from .85 to 1.2; steps of the fit, in blocks from there,
and of the patterns; processor time until Π is there, beyond the fit's and in units of
it (of three turns the fastest). For the four tables of CURVES the worth for none to six
rows, too, and what is left of the rows' scores; for those of MORE_ROWS the worth in
blocks for four to eight rows.

Tried for cheaper patterns, and not kept: eight of the sixteen, weighted so that each
row's mean and all pairs' are exact (a quarter of the steps less; up to ten times the
error); patterns that begin at an interpolation of all that are solved, in place of a
neighbour (a tenth more steps); patterns solved to 3e-2 (a seventh less, as good) or to
6e-2 in place of 1.5e-2 (a third less; one table's worth falls to a third).
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "truth/beyond"))
import make_beyond_truth as refitted

from rvamp_nb.algorithm.clusters import find_clusters
from rvamp_nb.algorithm.solver import rvamp, with_clusters
from rvamp_nb.course.conditioning import condition_on_rows, row_scores

TABLE = HERE.parent / "truth/beyond" / "worths.json"
# the tables that were looked at before the constants of `rows` stood
CHOSEN_ON = "riboflavin_50 riboflavin_15 outlier_08 heavy_tails factors".split()
CHOSEN_ON += "few_rows toeplitz_95 leverage diabetes pairs".split()
CURVES = [f"{name}_half" for name in ("riboflavin_50", "few_rows", "leverage")]
CURVES += ["heavy_tails_half"]
MORE_ROWS = ["modules_half", "riboflavin_15_half"]


def worth(Pi, truth, n):
    """In refits; None where the error is not to be told from the truth's own."""
    one = np.mean(truth * (1 - truth)) * n / (n - 1)
    error = np.mean((Pi - truth) ** 2) - one / n
    return float(one / error) if error > one / (30 * n) else None


def ratios(var, truth, Pi):
    """Of variances, where a spread is worth a look."""
    seen = (Pi > 0.1) & (truth > 0)
    return var[seen] / truth[seen]


def spread(ratio):
    """The 5 and 95 % quantiles."""
    return np.quantile(ratio, [0.05, 0.95]).round(3).tolist()


def read(fit, blocks):
    """The fit with other blocks, and its Π, which is read off when asked for."""
    close = with_clusters(fit, blocks)
    return close, close.Pi


def timed(call, *arguments, **options):
    """What is answered, and in how many seconds; the fastest of three is told."""
    times = []
    for _ in range(3):
        start = time.process_time()
        answer = call(*arguments, **options)
        times.append(time.process_time() - start)
    return answer, min(times)


def row(name):
    """One line of the table."""
    design, _, law = name.rpartition("_")
    A, y, _ = refitted.problem(design)
    options, (Pi, _, var, n) = refitted.options(design, law), refitted.load(name)
    rvamp(A, y, **options)  # warms caches
    fit, of_fit = timed(rvamp, A, y, **options)
    blocks = find_clusters(A, fit.Pi)
    (close, _), of_blocks = timed(read, fit, blocks)
    rows, of_rows = timed(condition_on_rows, fit)
    both, of_both = timed(condition_on_rows, close)
    ways = fit, close, rows, both
    of_var = [ratios(v.var, var, Pi) for v in ways]
    line = dict(
        name=name,
        n_resamples=n,
        untouched=design not in CHOSEN_ON,
        worth=[worth(v.Pi, Pi, n) for v in ways],
        var=[spread(ratio) for ratio in of_var],
        near=[float(np.mean((0.85 <= r) & (r <= 1.2))) for r in of_var],
        steps=[fit.n_iter, close.n_iter if blocks else 0, both.steps],
        cost=[t / of_fit for t in (of_blocks, of_rows, of_blocks + of_both)],
        column_clusters=[len(blocks), max(map(len, blocks), default=0)],
        settled=close.converged,
        seconds=of_fit,
        done=str(both),
    )
    if name in CURVES:
        by_rows = [condition_on_rows(fit, K).Pi for K in range(7)]
        scores = np.sort(row_scores(fit, np.arange(A.shape[1])))
        line["by_rows"] = [worth(each, Pi, n) for each in by_rows]
        line["score_left"] = [scores[: len(scores) - K].sum() for K in range(7)]
        line["score_left"] = (np.array(line["score_left"]) / scores.sum()).tolist()
    if name in MORE_ROWS:
        more = [condition_on_rows(close, K).Pi for K in range(4, 9)]
        line["both_by_rows"] = [worth(each, Pi, n) for each in more]
    return line


def main():
    names = sys.argv[1:] or [
        name
        for name in refitted.NAMES
        if (HERE.parent / "truth/beyond" / f"{name}.npz").exists()
    ]
    table = json.loads(TABLE.read_text()) if TABLE.exists() else []
    kept = {line["name"]: line for line in table}
    for name in names:
        kept[name] = line = row(name)
        print(f"{name:28}", *(w and round(w) for w in line["worth"]), line["var"][::3])
        print(f"    {line['steps']} {line['cost']} {line['done']}", flush=True)
    ordered = [kept[name] for name in refitted.NAMES if name in kept]
    TABLE.write_text("[\n" + ",\n".join(map(json.dumps, ordered)) + "\n]\n")


if __name__ == "__main__":
    main()
