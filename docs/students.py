"""Write the students' edition of the notebooks: the same, without the solutions.

    python docs/students.py          into _students/
    python docs/students.py OUT      into OUT/

A cell tagged ``solution`` is left out, and where its exercise ends a cell waits for the
student's own. What answers back stands in cells tagged ``check``: the checks of chapter
2.4 go into a module ``checks_24`` beside the notebook, and the cell that waits imports
its own. All else stays, outputs included. Notebooks and modules of these names in OUT
are written over (a student's work should live elsewhere); nothing else is touched.
"""

import ast
import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell
from translate import NOTEBOOKS, notebook_files

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "_students"  # ignored by git


def is_solution(cell):
    return "solution" in cell.metadata.get("tags", [])


def checks(cell):
    """The imports and the functions of a cell tagged ``check``, as sources, and the
    functions' heads: what a check is called and what it wants.
    """
    if "check" not in cell.metadata.get("tags", []):
        return [], []
    tree = ast.parse(cell.source)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    imports = [n for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
    parts = [ast.get_source_segment(cell.source, n) for n in [*imports, *functions]]
    return parts, [f"{node.name}({ast.unparse(node.args)})" for node in functions]


def strip(nb, module="checks"):
    """Replace each run of solution cells in ``nb`` by one code cell that waits, in
    place; returns how many there were, and the source of the ``module`` of checks.
    """
    kept, runs, source = [], 0, []
    for before, cell in zip([None, *nb.cells], nb.cells):
        if not is_solution(cell):
            kept.append(cell)
            continue
        if before is None or not is_solution(before):
            runs += 1
            kept.append(new_code_cell("# your turn", id=f"turn-{runs}"))
        parts, heads = checks(cell)
        source += parts
        for head in heads:
            name = head.partition("(")[0]
            kept[-1].source += f", then ask {head}\nfrom {module} import {name}"
    nb.cells = kept
    return runs, "\n\n\n".join([*source, ""]).rstrip("\n") + "\n"


def main(out=OUT):
    """Write every notebook of nbs/ to the folder ``out``; returns {stem: how many
    solutions were left out}.
    """
    out = Path(out)
    if out.resolve() == NOTEBOOKS:
        sys.exit("that is the folder of the notebooks themselves: name another")
    left_out = {}
    for stem, path in notebook_files().items():
        nb, copy = nbformat.read(path, 4), out / path.relative_to(NOTEBOOKS)
        module = f"checks_{path.stem.partition('_')[0]}"
        left_out[stem], source = strip(nb, module)
        copy.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(nb, copy)
        if source.strip():
            (copy.parent / f"{module}.py").write_text(source, encoding="utf-8")
    print(
        f"{len(left_out)} notebooks in {out}, {sum(left_out.values())} solutions"
        " left out"
    )
    return left_out


if __name__ == "__main__":
    main(*sys.argv[1:2])
