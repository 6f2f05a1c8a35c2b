"""Write the students' edition of the notebooks: the same, without the solutions.

    python docs/students.py          into _students/
    python docs/students.py OUT      into OUT/

A cell tagged ``solution`` is left out, and where its exercise ends an empty cell waits
for the student's own. All else stays,
outputs included. Notebooks of these names in OUT are written over (a student's work
should live elsewhere); nothing else is touched.
"""

import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "nbs"
OUT = ROOT / "_students"  # ignored by git


def is_solution(cell):
    return "solution" in cell.metadata.get("tags", [])


def strip(nb):
    """Replace each run of solution cells in ``nb`` by one empty code cell, in place;
    returns how many there were.
    """
    kept, runs = [], 0
    for before, cell in zip([None, *nb.cells], nb.cells):
        if not is_solution(cell):
            kept.append(cell)
        elif before is None or not is_solution(before):
            runs += 1
            kept.append(new_code_cell("# your turn", id=f"turn-{runs}"))
    nb.cells = kept
    return runs


def main(out=OUT):
    """Write every notebook of nbs/ to the folder ``out``; returns {stem: how many
    solutions were left out}.
    """
    out = Path(out)
    if out.resolve() == NOTEBOOKS:
        sys.exit("that is the folder of the notebooks themselves: name another")
    out.mkdir(parents=True, exist_ok=True)
    left_out = {}
    for path in sorted(NOTEBOOKS.glob("[!_.]*.ipynb")):
        nb = nbformat.read(path, 4)
        left_out[path.stem] = strip(nb)
        nbformat.write(nb, out / path.name)
    print(
        f"{len(left_out)} notebooks in {out}, {sum(left_out.values())} solutions"
        " left out"
    )
    return left_out


if __name__ == "__main__":
    main(*sys.argv[1:2])
