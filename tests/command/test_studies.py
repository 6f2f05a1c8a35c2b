"""Eight studies from their files to a list and to effects: the first line as README has
it, and if that is refused, with what the refusal proposes.
"""

import shlex

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime
from studies import STUDIES, matched_sets, trial

from rvamp_nb import StabilitySelection
from rvamp_nb.cli import main
from rvamp_nb.inference.cox import cox_fits
from rvamp_nb.select import report
from rvamp_nb.select.frames import prepare_table
from rvamp_nb.select.readers import InputError, read_frame


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    """Pictures take longer than all the rest, and are drawn elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(report, "picture_files", blank)
    monkeypatch.setattr(report, "effects_files", lambda *_: {"effects.png": b""})


def blank(_, pictures, kinds):
    return {f"{name}.{kind}": b"" for name in pictures for kind in kinds}


def tried(line, capsys):
    """Return the exit code of a line, and what the refusal proposes to add."""
    code = 0
    try:
        main(line)
    except SystemExit as stop:
        code = stop.code
    said = " ".join(capsys.readouterr().err.split())
    return code, shlex.split(said.partition("to try, add ")[2].partition("; see")[0])


@pytest.mark.parametrize("name", STUDIES)
def test_two_tries_from_files_to_effects(name, capsys):
    study = STUDIES[name]
    study.write()
    line = [*shlex.split(study.line), "--effects", "--resamples", "20"]
    code, more = tried(line, capsys)
    assert code == 2 and more
    code, _ = tried([*line, *more], capsys)
    assert code == 0
    file = study.line.split()[0].partition(".")[0]
    found = pd.read_csv(f"rvamp-nb-out/{file}-selection.csv", index_col="feature")
    selected = set(found.index[found.selected])
    assert len(selected) >= 2 and selected <= set(study.planted)
    effects = pd.read_csv(f"rvamp-nb-out/{file}-effects.csv")
    names = [name.partition(", ")[0] for name in effects["feature"]]  # not the class
    assert set(names) == selected
    if name == "expression":  # 300 genes of 120 samples: p-values, no intervals
        assert (effects["p_value"] < 1e-5).all()
    else:
        assert (effects["status"] == "interval").all()
