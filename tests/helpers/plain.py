"""The rooms that are plain Python modules: they derive nothing, so they are written as
they stand in `rvamp_nb/`, with docstrings and doctests in place of a notebook, and
nbdev's export leaves them alone.

    python tests/helpers/plain.py

formats and checks them. `ruff format .` and `ruff check .` leave the package out, for
most of it is written by nbdev.
"""

import ast
import subprocess
import sys
from pathlib import Path

HOUSE = Path(__file__).resolve().parents[2] / "rvamp_nb"
# {room: the chapter that derives what it computes, or in which it is used first}
PLAIN = {
    "algorithm.clusters": "47_clusters",
    "algorithm.column_groups": "58_column_groups",
    "algorithm.evolution": "43_state_evolution",
    "algorithm.groups": "52_groups",
    "algorithm.problem": "34_one_turn",
    "algorithm.unpenalised": "34_one_turn",
    "algorithm.weighted": "53_survival",
    "cli_options": "54_stability",
    "environment": "54_stability",
    "exceptions": "36_solver",
    "inference.baseline": "53_survival",
    "course.conditioning": "46_conditioning",
    "course.multinomial": "12_resampling",
    "inference.diagnostics": "45_diagnostics",
    "inference.joint": "56_effects",
    "inference.refinement": "44_refinement",
    "inference.refit_losses": "14_bootstrap",
    "inference.row_shares": "45_diagnostics",
    "course.survival": "53_survival",
    "interface": "31_prior",
    "results": "36_solver",
    "select.by_refits": "54_stability",
    "select.estimator": "54_stability",
    "select.html": "54_stability",
    "select.joint_fit": "56_effects",
    "select.matched": "54_stability",
    "select.networks": "62_networks",
    "select.planning": "57_planning",
    "select.question": "54_stability",
    "select.remarks": "54_stability",
    "select.report": "54_stability",
    "select.results": "54_stability",
    "select.wording": "54_stability",
    "typing": "36_solver",
}
FILES = [HOUSE / f"{room.replace('.', '/')}.py" for room in PLAIN]
# of a module by nbdev ruff reads the docstrings only
CHECK = "check", "--config", "lint.per-file-ignores = {}"


def docstring(path):
    """Return the docstring of the module at ``path``."""
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def main():
    """Format and check the plain modules."""
    for command in (("format",), CHECK):
        done = subprocess.run([sys.executable, "-m", "ruff", *command, *FILES])
        if done.returncode:
            sys.exit(done.returncode)


if __name__ == "__main__":
    main()
