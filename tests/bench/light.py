"""How often the lights are wrong on two hundred small tables (tests/truth/light).

    python tests/bench/light.py           # by group of kinds
    python tests/bench/light.py --kinds   # and each kind

No refit is made here: everything comes from the committed summaries, in seconds. A
table's Π is badly wrong if it is worth less than eleven refits or one Π is off by more
than a quarter beyond its error; a spread is wrong if a variance is off by more than a
factor of two, among the features with Π above 0.1. Kinds with an even number were
looked at when the limits were set, those with an odd number were not. The same holds
of the tables whose columns are selected in groups (make_group_truth.py): there a Π is
wrong if it is off by more than .05.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from rvamp_nb.inference import diagnostics

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "truth/light"))
import make_group_truth  # noqa: E402
from make_light_truth import load_signs  # noqa: E402

COLOURS = ("green", "amber", "red")


class Bench:
    """The summaries, and what follows from them."""

    def __init__(self):
        self.kept = load_signs()
        self.names, self.kinds = self.kept["names"], self.kept["kinds"]
        self.groups = self.kept["groups"]
        self.table = np.repeat(np.arange(len(self.names)), self.kept["sizes"])
        self.converged = self.of_table("converged") > 0
        self.odd = self.kinds % 2 == 1

    def of_table(self, key):
        return self.kept[f"of_table_{key}"].astype(float)

    def of_feature(self, key):
        return self.kept[f"of_feature_{key}"].astype(float)

    @property
    def asked(self):
        """Features whose spread counts."""
        above = self.kept["of_feature_true_Pi"] > np.float32(0.1)
        return above & (self.of_feature("true_var") > 0)

    def ratio(self, after=""):
        """Variance over that of refits, 1 where it does not count."""
        var = np.where(self.asked, self.of_feature("true_var"), 1)
        return np.where(self.asked, self.of_feature(f"{after}var") / var, 1)

    def off(self, after=""):
        """Which variances are off by more than a factor of two."""
        ratio = self.ratio(after)
        return (ratio > 2) | (ratio < 0.5)

    def surely_off(self, after=""):
        """And which of them by more than two standard errors of the refits."""
        error = self.of_feature("var_se") / np.where(
            self.asked, self.of_feature("true_var"), 1
        )
        return np.abs(np.log(self.ratio(after))) - 2 * error > np.log(2)

    def far(self, after="", most=0.1):
        """Which Π are off by more than that, beyond two standard errors."""
        true, n = self.of_feature("true_Pi"), self.of_table("n")[self.table]
        error = np.sqrt(np.maximum(true * (1 - true), 1 / n) / n)
        return np.abs(self.of_feature(f"{after}Pi") - true) - 2 * error > most

    def rms(self, after=""):
        """Root mean squared error of Π, in units of that of a hundred refits; of the
        features in question, the others have next to none.
        """
        true, n = self.of_feature("true_Pi"), self.of_table("n")[self.table]
        spread = true * (1 - true)
        wrong = (self.of_feature(f"{after}Pi") - true) ** 2 - spread / n
        size = len(self.names)
        wrong = np.maximum(np.bincount(self.table, wrong, minlength=size), 0)
        doubt = np.bincount(self.table, spread, minlength=size)
        return np.sqrt(100 * wrong / np.maximum(doubt, 1e-9))

    def bad_Pi(self, after=""):
        """Tables with a badly wrong Π."""
        return (self.rms(after) > 3) | self.any_in_table(self.far(after, 0.25))

    def bad_spread(self, after=""):
        """Tables with a wrong spread."""
        return self.any_in_table(self.off(after))

    def any_in_table(self, of_feature):
        """Whether a table has such a feature."""
        return np.bincount(self.table, of_feature, minlength=len(self.names)) > 0

    def light_Pi(self):
        """The light of each table."""
        effective, largest, own = map(self.of_table, ("effective", "largest", "own"))
        amber = (effective < diagnostics.AMBER_ROWS) | (own > diagnostics.AMBER_OWN)
        red = (effective < diagnostics.RED_ROWS) | (own > diagnostics.RED_OWN)
        red |= largest > diagnostics.RED_SHARE
        return np.array(COLOURS)[np.where(red, 2, np.where(amber, 1, 0))]

    def light_spread(self):
        """The light of each table's spreads."""
        few, very_few = (self.of_feature("rows") < k for k in diagnostics.FEW_ROWS)
        amber = few | (self.of_feature("partner") > diagnostics.TWIN_CORRELATION)
        shown = self.of_feature("Pi") > diagnostics.SPREAD_FROM_PI
        level = self.any_in_table(shown & amber).astype(int)
        level[self.any_in_table(shown & very_few)] = 2
        level[self.of_table("largest") > diagnostics.RED_SHARE] = 2
        return np.array(COLOURS)[level]

    def rates(self, wrong, lights, among):
        """(wrong ones, all) for each light."""
        return {
            light: (int((wrong & here).sum()), int(here.sum()))
            for light in COLOURS
            for here in [among & (lights == light)]
        }


class GroupBench:
    """Tables whose columns are selected in groups."""

    def __init__(self):
        self.kept = make_group_truth.load()
        self.wrong, self.odd = self.kept["error"] > 0.05, self.kept["kind"] % 2 == 1
        alone = np.array([kind.rho == 0 for kind in make_group_truth.KINDS])
        self.independent = alone[self.kept["kind"]]

    def green_by_rows(self):
        """Return which tables would be green without the signs of groups."""
        fine = self.kept["effective"] >= diagnostics.AMBER_ROWS
        fine &= self.kept["largest"] <= diagnostics.RED_SHARE
        return fine & (self.kept["own"] <= diagnostics.AMBER_OWN)

    def green(self):
        """Return which tables are green."""
        apart = self.kept["correlation"] <= diagnostics.GROUP_CORRELATION
        even = self.kept["group_share"] <= diagnostics.GROUP_OWN
        return self.green_by_rows() & apart & even


def show_groups(bench):
    """Print how often green is wrong, and how often it is lost needlessly."""
    print("groups of columns: a Π off by more than .05")
    for name, here in ("chosen on", ~bench.odd), ("held out", bench.odd):
        for what, green in ("rows", bench.green_by_rows()), ("all", bench.green()):
            bad, many = (bench.wrong & green & here).sum(), (green & here).sum()
            print(f"  {name:9}  by {what:4}  green {bad:4} of {many:5}")
        right = bench.green_by_rows() & ~bench.wrong & here
        lost = (right & ~bench.green()).sum()
        print(f"  {name:9}  lost needlessly {lost} of {right.sum()}")


def show(bench):
    """The verdict table."""
    for after in ("", "counted_"):
        print("four rows counted, twins together" if after else "rVAMP")
        Pi, spread = bench.light_Pi(), bench.light_spread()
        for what, wrong, seen in (
            ("Π badly wrong", bench.bad_Pi(after), Pi),
            ("Π worth < 100", bench.rms(after) > 1, Pi),
            ("a spread wrong", bench.bad_spread(after), spread),
            ("surely wrong", bench.any_in_table(bench.surely_off(after)), spread),
        ):
            for name, here in (("chosen on", ~bench.odd), ("held out", bench.odd)):
                rates = bench.rates(wrong, seen, bench.converged & here)
                said = (
                    f"{light} {bad:4} of {n:5}" for light, (bad, n) in rates.items()
                )
                print(f"  {what:22} {name:9}", *said, sep="  ")
    print(f"not converged: {(~bench.converged).sum()}")


def show_kinds(bench):
    """The largest errors of each kind."""
    kind_of = np.array([name.rsplit(",", 1)[0] for name in bench.names])
    print(f"{'':22}   rms  after   variances  after   Π badly wrong  spread wrong")
    for kind in dict.fromkeys(kind_of):
        here, line = kind_of == kind, f"{kind:22}"
        line += (
            f"{bench.rms()[here].max():6.2f}{bench.rms('counted_')[here].max():7.2f}"
        )
        for after in ("", "counted_"):
            ratio = bench.ratio(after)[here[bench.table]]
            line += f"  {ratio.min():5.2f}-{ratio.max():.2f}"
        print(f"{line}  {bench.bad_Pi()[here].sum()}  {bench.bad_spread()[here].sum()}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", action="store_true")
    bench = Bench()
    show(bench)
    show_groups(GroupBench())
    if parser.parse_args().kinds:
        show_kinds(bench)
