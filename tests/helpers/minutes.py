"""How long a chapter takes to read, counted and not guessed.

    python tests/helpers/minutes.py             every chapter: counted, and what it says
    python tests/helpers/minutes.py 31 36       these
    python tests/helpers/minutes.py --cells 31  its exported cells of more than 15 lines
    python tests/helpers/minutes.py --shares 3  code of package and lesson, part III

130 words of prose and 14 lines of code a minute, and 2 minutes for a displayed formula:
the rate of somebody who reads to understand. Exported code, which the site folds, is
skimmed at 45 lines a minute. What is folded does not count: ``<details>``, cells tagged
``hide-cell`` or ``solution``, cells that the site hides.
"""

import ast
import re
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nbformat
from house import parsed

NOTEBOOKS = Path(__file__).resolve().parents[2] / "nbs"
WORDS, LINES, SKIMMED = 130, 14, 45  # words, lines, lines of exported code a minute
FORMULA = 2  # minutes each
LONG = 15  # lines of code in an exported cell
TOLERANCE = 0.25  # what a chapter says may differ by so much of what is counted
FOLDED_TAGS = {"hide-cell", "solution", "remove-cell"}
FOLDED = re.compile(r"<details.*?</details>", re.DOTALL)
FENCED = re.compile(r"^```[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
DISPLAYED = re.compile(r"\$\$.+?\$\$", re.DOTALL)
INLINE = re.compile(r"\$[^$\n]+\$")
LINK = re.compile(r"\]\([^)\s]*\)")
SAID = re.compile(
    r"(?:(?P<hours>\d+) hours?(?: and )?)?(?:(?P<minutes>\d+) minutes)?(?<=[a-z])"
)


@cache  # several tests ask of every cell
def code_lines(source):
    """How many lines of code a cell has.

    No blank lines, comments or docstrings, no lines of brackets only, and a signature
    is one line however many it is written on.
    """
    source = "\n".join(
        "" if line.lstrip().startswith(("%", "!")) else line
        for line in source.splitlines()
    )
    lines = {
        number
        for number, line in enumerate(source.splitlines(), 1)
        if not line.strip().startswith("#") and re.search(r"[^\s()\[\]{},:]", line)
    }
    for node in ast.walk(parsed(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            body = node.body[0].lineno
            if ast.get_docstring(node) is not None:
                lines -= set(range(body, node.body[0].end_lineno + 1))
            lines -= set(range(node.lineno + 1, body))
    return len(lines)


class Count(NamedTuple):
    words: int
    lines: int  # of code that shows something
    exported: int  # of the package's
    formulas: int

    @property
    def minutes(self):
        code = self.lines / LINES + self.exported / SKIMMED
        return self.words / WORDS + code + self.formulas * FORMULA


def is_folded(cell):
    """Whether a reader does not see this cell unless they unfold it."""
    hidden = cell.cell_type == "code" and re.match(r"#\s*\|\s*hide", cell.source)
    return bool(hidden or FOLDED_TAGS & set(cell.metadata.get("tags", ())))


def count(nb):
    """The words, lines and displayed formulas of a notebook that are not folded."""
    words = lines = exported = formulas = 0
    for cell in nb.cells:
        if is_folded(cell):
            continue
        if is_exported(cell):
            exported += code_lines(cell.source)
            continue
        if cell.cell_type == "code":
            lines += code_lines(cell.source)
            continue
        text = FOLDED.sub("", cell.source)
        lines += sum(
            bool(line.strip())
            for block in FENCED.findall(text)
            for line in block.splitlines()
        )
        text = FENCED.sub("", text)
        formulas += len(DISPLAYED.findall(text))
        text = INLINE.sub("x", DISPLAYED.sub("", text))
        words += len(re.findall(r"\S*\w\S*", LINK.sub("]", text)))
    return Count(words, lines, exported, formulas)


def without_stars(nb):
    """A notebook without its starred sections, which the rest does not need: each ends
    at the next heading of its own level or a higher one. A cell may begin in one and
    end in another; of such a cell the plain part is kept.
    """
    kept, level = [], 0
    for cell in nb.cells:
        if cell.cell_type != "markdown":
            kept += [cell] * (not level)
            continue
        masked = FENCED.sub(lambda m: "-" * len(m[0]), cell.source)  # comments in code
        heads = [*re.finditer(r"^(#+) (★)?", masked, re.MULTILINE)]
        bounds = [0, *(head.start() for head in heads), len(masked)]
        plain = ""
        for head, begin, end in zip([None, *heads], bounds, bounds[1:]):
            if head and (not level or len(head[1]) <= level):
                level = len(head[1]) if head[2] else 0
            plain += "" if level else cell.source[begin:end]
        if plain == cell.source:
            kept.append(cell)
        elif plain.strip():
            kept.append(nbformat.v4.new_markdown_cell(plain, metadata=cell.metadata))
    return nbformat.NotebookNode(cells=kept)  # not looked through once more


def said(nb):
    """The minutes that the second cell names, or None."""
    found = [m for m in SAID.finditer(nb.cells[1].source) if m[0]]
    if not found:
        return None
    return 60 * int(found[0]["hours"] or 0) + int(found[0]["minutes"] or 0)


def is_honest(nb):
    """Whether what the second cell says is near enough to what is counted."""
    named, counted = said(nb), count(nb).minutes
    return named is not None and abs(named - counted) <= TOLERANCE * counted


def in_words(minutes):
    """As the second cell of a chapter puts it, in steps of five minutes."""
    minutes = 5 * round(minutes / 5)
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} minutes"
    hours = f"{hours} hour{'s' * (hours > 1)}"
    return f"{hours} and {rest} minutes" if rest else hours


def is_exported(cell):
    """Whether a cell is a part of the package."""
    return cell.cell_type == "code" and re.match(r"#\s*\|\s*export", cell.source)


def exported_cells(nb):
    """(lines of code, number of the cell from 0, its first words) of each."""
    for number, cell in enumerate(nb.cells):
        if is_exported(cell):
            code = re.sub(r"^#.*\n|^@.*\n", "", cell.source, flags=re.MULTILINE)
            first = code.strip().partition("\n")[0]
            yield code_lines(cell.source), number, first


def code_shares(nb):
    """Count lines of code that are exported, and those that are the lesson's."""
    exported = sum(lines for lines, _, _ in exported_cells(nb))
    lesson = sum(
        code_lines(cell.source)
        for cell in nb.cells
        if cell.cell_type == "code" and not is_exported(cell)
    )
    return exported, lesson


def chosen(wanted):
    """(stem, notebook) of each chapter, room and how-to that was asked for."""
    for folder in "course", "workshop", "howto":
        for path in sorted((NOTEBOOKS / folder).glob("[!_.]*.ipynb")):
            if not wanted or path.stem.startswith(tuple(wanted)):
                yield path.stem, nbformat.read(path, 4)


def long_cells(wanted):
    """Print the exported cells that are longer than most should be."""
    for stem, nb in chosen(wanted):
        for lines, number, first in exported_cells(nb):
            if lines > LONG:
                print(f"{stem:20} cell {number:3}  {lines:3} lines   {first}")


def package_lines(wanted):
    """Print how much of each chapter's code is the package's."""
    for stem, nb in chosen(wanted):
        exported, lesson = code_shares(nb)
        print(f"{stem:20} {exported:4} exported, {lesson:4} of the lesson")


def main(wanted):
    """Print a line for each chapter, with what it could say."""
    total = least = 0
    for stem, nb in chosen(wanted):
        counted, core = count(nb), count(without_stars(nb)).minutes
        total += counted.minutes
        least += core
        says = said(nb)
        print(
            f"{stem:20} {counted.minutes:4.0f} min, {core:4.0f} without stars"
            f" ({counted.words:5} words,"
            f" {counted.lines:4} lines, {counted.exported:4} exported,"
            f" {counted.formulas:3} formulas), says"
            f" {says if says is not None else '-':>4}"
            + ("" if is_honest(nb) else f"   write: {in_words(counted.minutes)}")
        )
    print(f"{'together':20} {total:4.0f} min, {least:4.0f} without stars")


if __name__ == "__main__":
    wanted = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    of_option = {"--cells": long_cells, "--shares": package_lines}
    options = [argument for argument in sys.argv[1:] if argument in of_option]
    asked = of_option[options[0]] if options else main
    asked(wanted)
