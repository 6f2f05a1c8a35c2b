"""Eight studies from their files to a list and to effects: the first line as README has
it, and if that is refused, with what the refusal proposes.
"""

import shlex
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from studies import STUDIES, matched_sets

from rvamp_nb import StabilitySelection
from rvamp_nb.cli import main
from rvamp_nb.inference import joint
from rvamp_nb.inference.cox import cox_fits
from rvamp_nb.select import penalty, report
from rvamp_nb.select.frames import prepare_table
from rvamp_nb.select.readers import InputError, read_frame
from rvamp_nb.select.target import count_law, row_roles


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    """Pictures take longer than all the rest, and are drawn elsewhere. The path that is
    walked for one column of the table, enters_at_pfer, is a rough one, and for standard
    errors of effects few parts are left out in turn.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(penalty, "COARSE_TOL", 0.1)
    monkeypatch.setattr(joint, "MOST_UNITS", 25)
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
    screen = " ".join(capsys.readouterr().err.split())
    return code, shlex.split(screen.partition("to try, add ")[2].partition("; see")[0])


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


def test_a_table_of_a_spreadsheet_with_decimal_commas_takes_two_tries(capsys):
    STUDIES["readmission"].write()
    table = pd.read_csv("clinic.csv", dtype=str, keep_default_na=False)
    number = r"(<?-?\d+)\.(\d+)"
    table = table.replace(f"^{number}$", r"\1,\2", regex=True)
    table.to_csv("klinik.csv", sep=";", index=False)
    line = "klinik.csv --target readmitted_30d --no-refits".split()
    code, more = tried(line, capsys)
    assert code == 2 and more[:2] == ["--decimal", ","]
    code, _ = tried([*line, *more], capsys)
    assert code == 0
    found = pd.read_csv("rvamp-nb-out/klinik-selection.csv", index_col="feature")
    assert set(found.index[found.selected]) <= set(STUDIES["readmission"].planted)
    assert found.probability["BNP"] > 0.9


# Matched sets -------------------------------------------------------------------------


def pairs_and_more(n_sets=40, N=4, seed=0):
    """Draw sets of a case and one to three controls: columns, cases, sets, shuffled."""
    rng = np.random.default_rng(seed)
    sets = np.repeat(np.arange(n_sets), 2 + np.arange(n_sets) % 3)
    A = rng.normal(size=(n_sets, N))[sets] + rng.normal(size=(len(sets), N))
    score = A[:, 0] - A[:, 1] + rng.gumbel(size=len(sets))
    case = [score[i] == score[sets == sets[i]].max() for i in range(len(sets))]
    order = rng.permutation(len(sets))
    return A[order], np.array(case)[order] * 1.0, sets[order]


def conditional_loss(b, A, case, sets, drawn):
    """Return minus the logarithm of the probability that the cases are the cases, in
    the sets drawn, by its definition.
    """
    loss = 0.0
    for label in drawn:
        own = sets == label
        chance = np.exp(A[own] @ b)
        loss -= np.log(chance[case[own] == 1].item() / chance.sum())
    return loss


def test_equal_times_and_a_stratum_for_each_set_are_conditional_logistic_regression():
    A, case, sets = pairs_and_more()
    drawn = np.arange(0, 40, 2)
    counts = np.isin(sets, drawn)[None] * 1.0
    for lam in (1e-9, 4.0):
        penalty = np.full((1, 4), lam)
        b = cox_fits(A, np.ones(len(sets)), case, penalty, counts, strata=sets)[0]

        def total(x):  # positive and negative parts
            loss = conditional_loss(x[:4] - x[4:], A, case, sets, drawn)
            return loss + lam * x.sum()

        exact = minimize(total, np.full(8, 0.1), bounds=[(0, None)] * 8, tol=1e-12)
        np.testing.assert_allclose(b, exact.x[:4] - exact.x[4:], atol=2e-4)
    assert (b == 0).any() and (b != 0).any()


def test_whole_sets_are_drawn():
    A, case, sets = pairs_and_more()
    y = np.column_stack([case, np.ones(len(sets))])  # event, time
    law = count_law("subsample", row_roles(len(sets), groups=sets, strata=sets))
    counts = law.draw(len(sets), np.random.default_rng(0))
    times = [set(counts[sets == label]) for label in range(40)]
    assert all(len(each) == 1 for each in times) and times.count({1}) == 20
    s = StabilitySelection(loss="survival", n_resamples=200, verbose=0, q=1.5)
    s.fit(A, y, strata=sets, groups=sets)  # a warning would be an error
    rng = np.random.default_rng(1)
    drawn = [rng.permutation(40)[:20] for _ in range(200)]
    counts = np.array([np.isin(sets, labels) for labels in drawn]) * 1.0
    unit = A - np.array([A[sets == label].mean(0) for label in range(40)])[sets]
    unit /= np.linalg.norm(unit, axis=0)
    lam = np.full((200, 4), s.lambda_)
    refits = cox_fits(unit, y[:, 1], case, lam, counts, strata=sets)
    np.testing.assert_allclose(s.probabilities_, (refits != 0).mean(0), atol=0.09)
    odds = s.debiased_effects([0]).summary()
    best = minimize(conditional_loss, np.zeros(4), (A, case, sets, range(40))).x[0]
    assert odds["odds_low"].item() < np.exp(best) < odds["odds_high"].item()


def test_matched_sets_at_the_command_line_and_in_python(capsys):
    matched_sets()
    roles = dict(id="sample_id", categorical=["sex", "smoking"], missing="median")
    frame = read_frame("nested.csv")
    table = prepare_table(frame, "status", matched="match_set", **roles)
    np.testing.assert_array_equal(table.y["event"], frame["status"] == "case")
    assert (table.y["time"] == 1).all()
    # with q in place of the pfer no path is walked
    options = dict(loss="survival", n_resamples=0, verbose=0, q=4, **table.options)
    s = StabilitySelection(**options)
    with pytest.warns(UserWarning, match="constant inside every stratum"):
        s.fit(table.X, table.y, **table.rows)
    main(
        shlex.split(
            "nested.csv --target status --matched match_set --id sample_id"
            " --categorical sex --categorical smoking --missing median --no-refits"
            " --q 4"
        )
    )
    screen = " ".join(capsys.readouterr().out.split())
    assert "conditional logistic regression in 120 matched sets" in screen
    assert "change of the log odds of the event" in screen
    found = pd.read_csv("rvamp-nb-out/nested-selection.csv", index_col="feature")
    Pi = found.probability[list(table.X)]
    np.testing.assert_allclose(Pi, s.probabilities_, rtol=1e-4)


def test_matched_sets_are_proposed(capsys):
    matched_sets()
    _, more = tried(["nested.csv", "--target", "status"], capsys)
    assert more[more.index("--matched") + 1] == "match_set"
    assert not {"--drop", "--groups"}.intersection(more)
    frame = read_frame("nested.csv")
    with pytest.raises(InputError, match="to try, add id='sample_id', matched='match_"):
        prepare_table(frame, "status")
    frame["match_set"] = frame["match_set"].str[1:]  # numbers are no refusal
    roles = dict(id="sample_id", categorical=["sex", "smoking"], missing="median")
    notes = prepare_table(frame, "status", **roles).warnings
    wanted = "matched='match_set' compares each case with its own set"
    assert sum(wanted in note for note in notes) == 1
    mixed = frame.assign(status=np.random.default_rng(0).permutation(frame["status"]))
    assert not any(
        "matched" in n for n in prepare_table(mixed, "status", **roles).warnings
    )


def test_sets_that_will_not_do():
    A, case, sets = pairs_and_more()
    frame = pd.DataFrame(A, columns=list("abcd")).assign(set=sets, status=case)
    prepare = partial(prepare_table, target="status", matched="set")
    whole = prepare(frame)
    gone = frame[(frame["set"] != 3) | (frame["status"] == 0)]
    less = prepare(gone)
    assert len(less.X) == len(whole.X) - (sets == 3).sum()
    assert any("their set in 'set' has no case, or no control" in n for n in less.notes)
    doubled = frame.assign(status=np.where(sets == 4, 1.0, case))
    doubled.loc[np.flatnonzero(sets == 4)[0], "status"] = 0.0
    several = frame.assign(status=np.where(case, "ill", "well"))
    pairs = several[several.groupby(["set", "status"]).cumcount() == 0]
    for table, roles, words in (
        (doubled, dict(positive=1), "is '1' in 2 rows of the set '4' of 'set'"),
        (frame.assign(status=sets % 3), {}, "needs two, cases and controls"),
        (pairs, {}, "positive says which one is the case"),
        (several, dict(positive="sick"), "no class 'sick'"),
        (frame, dict(strata="a"), "matched compares .* drop strata"),
    ):
        with pytest.raises(InputError, match=words):
            prepare(table, **roles)
    assert prepare(pairs, positive="ill").y["event"].sum() == 40
    assert prepare(frame.iloc[pairs.index]).y["event"].sum() == 40
