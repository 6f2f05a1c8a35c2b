"""Counts that are stated in README, CONTRIBUTING, the paper and on other pages: each is
made from the file, list or table that it counts.
"""

import json
import re
import sys
from functools import cache

import numpy as np
import plan
from notebooks import ROOT, cells

import rvamp_nb
from rvamp_nb.algorithm.likelihood import LOSSES

sys.path.insert(0, str(ROOT / "tests" / "bench"))
from hashes import PROBLEMS

WORDS = {4: "four", 5: "five", 7: "seven", 8: "eight", 12: "twelve", 16: "Sixteen"}
WORDS |= {50: "fifty", 200: "two hundred"}
# What looks like a count of these must be one of those in `stated`
COUNTED = r"tables|kinds|tests|exercises|losses|laws|lectures|misprints|problems"
A_COUNT = rf"\b(?:\d[\d,.]*|{'|'.join(WORDS.values())})(?: \w+)? (?:{COUNTED})\b"


def word(n):
    """A number as it is written in a sentence."""
    return WORDS.get(n, str(n))


def text(name):
    """A file, with no lines broken; of a notebook its Markdown cells."""
    path = ROOT / name
    if path.suffix == ".ipynb":
        return "\n\n".join(cell.source for cell in cells(path, "markdown"))
    return re.sub(r"(?<=\S)\n(?=\S)", " ", path.read_text(encoding="utf-8"))


def refined():
    """What README and chapter 4.4 say of the tables on which `refine` was measured."""
    file = ROOT / "tests" / "truth/beyond" / "refined.json"
    lines = json.loads(file.read_text(encoding="utf-8"))
    worth = np.array([line["worth"] or 30 * line["truth"] for line in lines])
    seconds = np.array([line["seconds"] for line in lines])
    gain = worth * seconds[:, 1] / seconds[:, 0]
    truths = [line["truth"] for line in lines]
    kinds = {line["name"].rpartition("_")[0] for line in lines}
    return {
        "tables": len(lines),
        "kinds": len(kinds),
        "refits": f"{min(truths):,} to {max(truths):,} refits",
        "least": f"{worth.min():,.0f}",
        "gain": (f"{np.median(gain):.1f}", f"{gain.max():.0f}", f"{gain.min():.1f}"),
        "held": f"{np.mean([line['cover'][0] for line in lines]):.0%}"[:-1],
    }


def certified():
    """How many tables, how many of them real, and on how many the list is right."""
    file = ROOT / "tests" / "bench" / "certified.json"
    lines = json.loads(file.read_text(encoding="utf-8"))
    same = sum(line["differ"] == 0 for line in lines)
    assert not any(line["unsaid"] for line in lines)
    return len(lines), sum(line["real"] for line in lines), same


@cache
def stated():
    """{file: what must stand in it, word for word}"""
    table = refined()
    tables, kinds, refits = table["tables"], table["kinds"], table["refits"]
    median, largest, smallest = table["gain"]
    others, real, same = certified()
    with np.load(ROOT / "tests" / "truth/light" / "signs.npz") as light:
        of_small = light["kinds"]
    public = [getattr(rvamp_nb, name) for name in rvamp_nb.__all__]
    drawn = [kind for kind in public if hasattr(kind, "draw")]
    laws = [kind for kind in drawn if hasattr(kind, "mean")]  # others are of penalties
    errata = re.findall(r"^\| E\d+ \|", text("nbs/appendix/errata.ipynb"), re.M)
    return {
        "README.md": [
            f"on {tables} tables of {kinds} kinds, with {refits} of each",
            f"The median is {median}, the largest {largest}, the smallest {smallest}.",
            f"{tables} tables: between {float(smallest):.0f} and {largest}, median"
            f" {median}.",
            f"On all {tables} tables the answer was as accurate as {table['least']}"
            " plain refits",
            f"held the true Π of {table['held']} % of the features",
            f"On {others} other tables, {real} of them real, the list of selected"
            f" features was that of ten thousand refits {same} times; in the other"
            f" {word(others - same)} cases",
        ],
        "CONTRIBUTING.md": [f"{len(PROBLEMS)} small problems"],
        "paper/paper.md": [
            f"{refits} on each of {tables} tables of {kinds} kinds",
            f"On the {tables} tables the answer of the selector is as accurate as"
            f" {table['least']} plain refits or more.",
            f"{smallest} to {largest} times the processor time, {median} times in the"
            " median",
            f"On {others} other tables, {real} of them real, the list of features was"
            f" that of ten thousand refits {same} times; in the other"
            f" {word(others - same)} cases",
            f"{word(len(LOSSES))} losses and survival times",
            f"{word(len(laws))} laws of resampling",
            f"{word(len(plan.lectures()))} lectures",
            f"{word(len(errata))} misprints and gaps of the paper",
            f"{plan.chapters().exercises.sum()} exercises across the course",
        ],
        "docs/index.md": [],
        "nbs/howto/when_not_to_trust.ipynb": [
            f"{word(len(of_small))} small tables of {word(len(set(of_small)))} kinds",
            f"how much it gains on {tables} tables",
        ],
        "nbs/course/44_refinement.ipynb": [f"of {kinds} kinds, most of them under two"],
        "nbs/course/46_conditioning.ipynb": [f"on tables of {kinds} kinds"],
    }


def test_a_count_is_that_of_its_source():
    missing = {}
    for name, lines in stated().items():
        missing[name] = [line for line in lines if line not in text(name)]
    assert not any(missing.values()), missing


def test_every_count_has_a_source():
    """One that is new is given its source above."""
    left = {}
    for name, lines in stated().items():
        rest = text(name)
        for line in lines:
            rest = rest.replace(line, "")
        left[name] = re.findall(A_COUNT, rest) if name.endswith(".md") else []
    assert not any(left.values()), left
