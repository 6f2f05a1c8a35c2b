"""The command rvamp-nb: its answers, its files, and one line with exit code 2 for
what will not do.
"""

import csv
import errno
import fcntl
import hashlib
import importlib
import inspect
import io
import json
import os
import pty
import re
import shlex
import signal
import struct
import subprocess
import sys
import termios
import threading
from configparser import ConfigParser
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import rvamp_nb
from rvamp_nb import ElasticNet, StabilitySelection, plan_study, refine
from rvamp_nb.cli import main
from rvamp_nb.cli_options import arguments
from rvamp_nb.datasets import load_diabetes
from rvamp_nb.select import penalty, readers, report
from rvamp_nb.select.error_control import DEFAULT_PFER
from rvamp_nb.select.frames import prepare_table
from rvamp_nb.select.readers import InputError, read_frame
from rvamp_nb.select.report import console, report_files
from rvamp_nb.sketch import GRADES

ROOT = Path(__file__).resolve().parents[2]
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    """And pictures are not drawn, which takes longer than all the rest: the commands in
    processes of their own show that they can be. The path that is walked for one column
    of the table, enters_at_pfer, is a rough one, which takes half as long.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(penalty, "COARSE_TOL", 0.1)
    monkeypatch.setattr(report, "picture_files", blank)


def blank(_, pictures=report.PICTURES, kinds=report.KINDS):
    return {
        f"{name}.{kind}": PNG + bytes(20_000) for name in pictures for kind in kinds
    }


@pytest.fixture
def no_effects_drawn(monkeypatch):
    """Nor are the pictures of the effects in a report."""
    monkeypatch.setattr(
        report, "drawn_files", lambda name, draws, shape, kinds: blank(0, [name], kinds)
    )


def table(path="data.csv", M=150, N=6, extra=(), seed=0):
    """A table whose target is column y, with a feature or two that matter; extra
    columns as (name, cells).
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(M, N))
    y = 2 * X[:, 0] - X[:, 1] + 2 * rng.normal(size=M)
    columns = [*((f"x{i}", X[:, i]) for i in range(N)), *extra, ("y", y)]
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(
            [[name for name, _ in columns], *zip(*(cells for _, cells in columns))]
        )
    return X, y


def probabilities(path):
    return {row["feature"]: float(row["probability"]) for row in rows(path)}


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


ENV = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
# a shell that starts the tests in the background has ctrl-C ignored, and children too
SCRIPT = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "from rvamp_nb.cli import main; main()"
)
COMMAND = [sys.executable, "-c", SCRIPT]
# What the command imports takes longer than the command. A process that has imported
# it is forked for each line that it reads: a folder, the arguments, and where stdout
# and stderr lead, None for one that is not there. The new process prints its number
# when it has opened them, and ends as an interpreter does; then the old one prints the
# exit code. Pictures are words, the bar of the refits does not wait two seconds, and
# the path is as `in_a_folder` has it.
FORKED = """
import json, os, signal, sys
import matplotlib, pandas, tqdm.std
from rvamp_nb import environment
from rvamp_nb.cli import main
from rvamp_nb.select import estimator, penalty, report

Bar = environment._bar_class()

class Prompt(Bar):
    def __init__(self, items, **options):
        if options["desc"] == "refits":
            options["delay"] = 0
        super().__init__(items, **options)

environment._bar_class = lambda: Prompt
penalty.COARSE_TOL = 0.1
report.picture_files = lambda _, pictures, kinds: {
    f"{name}.{kind}": b"drawn" for name in pictures for kind in kinds
}
for line in sys.stdin:
    folder, argv, streams = json.loads(line)
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    how = os.O_WRONLY | os.O_CREAT | os.O_NOCTTY
    opened = [path and os.open(path, how) for path in streams]
    print(os.getpid(), flush=True)
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = None
        if opened[number - 1]:
            os.dup2(opened[number - 1], number)
            os.close(opened[number - 1])
            stream = open(number, "w", encoding="utf-8", closefd=False)
            stream.reconfigure(line_buffering=number == 2)
        else:
            os.close(number)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    main(argv)
    sys.exit()
"""


def run(*argv, **env):
    """The command in a process of its own, as a user's shell would start it."""
    caught = dict(capture_output=True, text=True, encoding="utf-8", env={**ENV, **env})
    return subprocess.run([*COMMAND, *argv], **caught)


def shell(line, **env):
    """A line of a shell in which `rvamp-nb` stands for the command."""
    line = line.replace("rvamp-nb", shlex.join(COMMAND))
    caught = dict(capture_output=True, text=True, encoding="utf-8", env={**ENV, **env})
    return subprocess.run(["bash", "-c", line], **caught)


@pytest.fixture(scope="module")
def forked():
    """See FORKED; `begin` returns the number of a process, `end` its exit code."""
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with subprocess.Popen([sys.executable, "-c", FORKED], env=ENV, **pipes) as server:
        yield Forked(server)
        server.stdin.close()


class Forked(NamedTuple):
    server: subprocess.Popen

    def begin(self, line, stdout="stdout", stderr="stderr"):
        asked = json.dumps([os.getcwd(), line.split(), [stdout, stderr]])
        self.server.stdin.write(f"{asked}\n")
        self.server.stdin.flush()
        return int(self.server.stdout.readline())

    def end(self):
        return int(self.server.stdout.readline())


QUICK = "select data.csv --target y --lam 0.8 --resamples 0"
FILE_LINES = ["table", "settings", "picture"]


def unwrapped(text):
    """A report without its line ends."""
    return " ".join(text.split())


def settings(name="data", out="rvamp-nb-out"):
    return json.loads(Path(out, f"{name}-selection.json").read_text())


def listed(folder="rvamp-nb-out"):
    return sorted(p.name for p in Path(folder).iterdir())


def exit_code(argv):
    """0, or what main raised."""
    try:
        main(argv)
    except SystemExit as stop:
        return stop.code
    return 0


# The main job -------------------------------------------------------------------------


def test_the_main_job(tmp_path):
    """Nor does drawing change what others draw in the same process."""
    script = (
        "import sys, matplotlib as mpl\nfrom rvamp_nb.cli import main\n"
        "mpl.rcParams.update({'font.size': 5, 'axes.spines.top': True})\nmain([])\n"
        "print(mpl.rcParams['font.size'], mpl.rcParams['axes.spines.top'],"
        " 'matplotlib.pyplot' in sys.modules)"
    )
    caught = dict(capture_output=True, text=True, encoding="utf-8", env=ENV)
    done = subprocess.run([sys.executable, "-c", script], **caught)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "5.0 True False"
    first = "4 features selected, all well above the threshold; expected false"
    assert unwrapped(done.stdout).startswith(f"{first} selections ≤ 1 (default: 1)")
    assert max(map(len, done.stdout.splitlines())) <= 88
    assert done.stderr == ""  # nobody watches a pipe: no bar
    picture = Path(re.search(r"^picture: (.+)$", done.stdout, re.MULTILINE)[1])
    assert not picture.is_absolute() and (tmp_path / picture).read_bytes().startswith(
        PNG
    )
    for folder in (tmp_path, ROOT):
        assert str(folder) not in done.stdout + done.stderr


def test_the_main_job_prints_what_the_library_reports(capsys):
    main([])
    lines = capsys.readouterr().out.splitlines()
    data = load_diabetes()
    X = pd.DataFrame(data.A, columns=list(data.names))
    s = StabilitySelection().fit(X, data.y).selection_
    said = console(s, "diabetes")
    assert lines[: len(said)] == said
    assert [line.split(":")[0] for line in lines[len(said) :]] == ["", *FILE_LINES]
    written = Path("rvamp-nb-out/diabetes-selection.csv").read_bytes()
    assert written == report_files(s, [])["table.csv"]


def test_it_is_installed_as_a_command():
    settings = ConfigParser(delimiters=["="])
    settings.read(ROOT / "settings.ini", encoding="utf-8")
    command, place = settings["DEFAULT"]["console_scripts"].split("=")
    module, function = place.split(":")
    assert (
        command == "rvamp-nb"
        and getattr(importlib.import_module(module), function) is main
    )


# A table of the user's ----------------------------------------------------------------


def test_select_writes_what_the_estimator_reports(capsys):
    X, y = table()
    line = "select data.csv --target y --resamples 50 --out deep/results"
    main(line.split())
    X = pd.read_csv("data.csv").drop(columns="y")
    s = StabilitySelection(n_resamples=50).fit(X, y)
    written = Path("deep/results/data-selection.csv").read_bytes()
    assert written == report_files(s.selection_, [])["table.csv"]
    found = pd.read_csv("deep/results/data-selection.csv", index_col="feature")
    assert list(found.columns) == list(s.summary(full=True).columns)
    assert len(found) == 6 and found.probability.is_monotonic_decreasing
    np.testing.assert_array_equal(found.selected[list(X)], s.support_)
    se = s.refined_.Pi_se
    np.testing.assert_allclose(found.probability_se[list(X)], se, rtol=1e-5)
    said = settings(out="deep/results")
    assert said["arguments"]["n_resamples"] == said["n_resamples"] == 50
    assert said["pfer_bound"] == s.pfer_bound_
    assert Path("deep/results/data-selection.png").read_bytes().startswith(PNG)
    out = capsys.readouterr().out
    worth = f"as accurate as {s.refined_.equivalent_refits:,.0f} refits without rVAMP"
    assert (
        "Π ± s.e." in out and said["equivalent_refits"] == s.refined_.equivalent_refits
    )
    assert f"refits: {s.refined_.n_resamples} refits" in unwrapped(out)
    assert worth in unwrapped(out)
    assert "table: deep/results/data-selection.csv\n" in out
    assert "picture: deep/results/data-selection.png\n" in out
    assert "data: data: 150 rows, 6 features model: linear regression;" in unwrapped(
        out
    )


def test_no_refits(capsys):
    table()
    main(QUICK.split())
    shown = capsys.readouterr()
    assert "refits: none" in unwrapped(shown.out) and shown.err == ""
    assert "λ = 0.8 (" in shown.out and "±" not in shown.out
    s = StabilitySelection(n_resamples=0, lambdas=[0.8])
    s.fit(*(f := pd.read_csv("data.csv"), f.pop("y")))
    found = pd.read_csv("rvamp-nb-out/data-selection.csv")
    assert list(found.columns)[1:] == list(s.summary(full=True).columns)


def test_q_values_by_decoys(capsys):
    X, y = table()
    main("select data.csv --target y --resamples 0 --decoys gaussian".split())
    s = StabilitySelection(n_resamples=0)
    s.fit(pd.read_csv("data.csv").drop(columns="y"), y)
    found = pd.read_csv("rvamp-nb-out/data-selection.csv", index_col="feature")
    told = found.q_value[s.feature_names_in_]
    np.testing.assert_allclose(told, s.q_values("gaussian"), rtol=1e-5)
    out = capsys.readouterr().out
    head = next(line for line in out.splitlines() if line.startswith("feature"))
    assert head.split()[2] == "q-value" and "by decoys (noise" in unwrapped(out)
    assert f"{found.q_value.iloc[0]:.3f}" in out.splitlines()[4]


def test_three_classes(capsys, no_effects_drawn):
    X, y = table(M=80)
    frame = pd.DataFrame(X).add_prefix("x")
    codes = np.digitize(y, [-1, 1])
    words = np.array(["low", "mid", "top"])[codes]
    for name, labels in (("w", words), ("n", codes)):
        frame.assign(state=labels).to_csv(f"{name}.csv", index=False)
        line = f"{name}.csv --target state --no-refits --report out{name}"
        line += " --loss softmax" if name == "n" else ""
        assert exit_code(line.split()) in (0, 3)
    assert "of the classes low, mid, top" in unwrapped(capsys.readouterr().out)
    found = of("w")[[f"coef_mean_{c}" for c in ("low", "mid", "top")]].to_numpy()
    np.testing.assert_allclose(found.sum(1), 0, atol=1e-4)
    assert settings("w")["classes"] == ["low", "mid", "top"]
    other = of("n").filter(like="coef_mean").to_numpy()
    np.testing.assert_array_equal(other, found)
    assert "multinomial" in Path("outn/methods.md").read_text(encoding="utf-8")


def test_the_class_that_is_modelled_can_be_chosen(capsys):
    X, y = table()
    frame = pd.DataFrame(X).add_prefix("x")
    for name, labels in (("w", np.where(y > 0, "sick", "well")), ("n", 1 + (y > 0))):
        frame.assign(state=labels).to_csv(f"{name}.csv", index=False)
    found = {}
    for file, positive in (("w", "sick"), ("w", "well"), ("n", "1")):
        line = f"{file}.csv --target state --positive {positive} --no-refits --force"
        assert exit_code(line.split()) in (0, 3)
        found[positive] = of(file).coef_mean.sort_index()
        other = {"sick": "well", "well": "sick", "1": "2"}[positive]
        assert f"class {positive} against {other}" in capsys.readouterr().out
        assert settings(file)["coefficients_for"] == positive
    np.testing.assert_allclose(found["sick"], -found["well"], rtol=1e-3, atol=1e-4)
    assert found["sick"]["x0"] > 0 > found["1"]["x0"]  # sick and 2 are where y > 0
    line = refused(capsys, *"w.csv --target state --positive sik".split())
    assert (
        "argument --positive: 'state' has no class 'sik', only 'sick', 'well'" in line
    )
    assert "(did you mean 'sick'?)" in line
    line = refused(capsys, *"w.csv --time x0 --event x1 --positive sick".split())
    assert "--positive is for a class of --target" in line
    three = np.array(["a", "b", "c"])[np.digitize(y, [-1, 1])]
    frame.assign(state=three).to_csv("three.csv", index=False)
    main("three.csv --target state --positive b --no-refits".split())
    assert "class b against the rest" in capsys.readouterr().out


def test_select_may_be_left_out_and_a_misspelt_command_is_named(capsys):
    table()
    main(QUICK.split())
    expected = rows("rvamp-nb-out/data-selection.csv")
    main([*QUICK.split()[1:], "--force"])
    main([*"--target y data.csv --lam 0.8 --no-refits --name b".split()])
    for name in ("data", "b"):
        assert rows(f"rvamp-nb-out/{name}-selection.csv") == expected
    capsys.readouterr()
    said = refused(capsys, "selct", "data.csv", "--target", "y")
    assert "'selct' is no command and no file (did you mean 'select'?)" in said


@pytest.mark.parametrize(
    "line, remedy",
    [
        ("data.csv --target y --refits 20", "--refits: it is --resamples now"),
        ("plan --effects 2 --size 1 --like data.csv", "--like: it is --pilot now"),
        ("data.csv --target y --rows ids.txt", "--rows: fit a matrix in Python"),
        ("data.csv --target y --names=n.txt", "--names: fit a matrix in Python"),
        ("data.csv --target y --tresh 0.7", "--tresh (did you mean '--threshold'?)"),
        ("data.csv --target y --xyzzy", "there is no option --xyzzy; see"),
    ],
)
def test_an_option_that_is_not_there_says_what_is(capsys, line, remedy):
    table()
    assert (
        f"there is no option {remedy.removeprefix('there is no option ')}"
        in refused(capsys, *line.split())
    )


def test_a_second_target_has_files_of_its_own(capsys):
    table(extra=[("a b/c", np.random.default_rng(1).normal(size=150))])
    main(QUICK.split())
    before = {name: Path("rvamp-nb-out", name).read_bytes() for name in listed()}
    other = ["data.csv", "--target", "a b/c", "--lam", "0.8", "--no-refits"]
    assert exit_code(other) in (0, 3)
    more = sorted({*listed()} - {*before})
    assert more == [f"data-a_b_c-selection.{end}" for end in ("csv", "json", "png")]
    for name, data in before.items():
        assert Path("rvamp-nb-out", name).read_bytes() == data
    capsys.readouterr()
    assert "data-a_b_c-selection.csv is there" in refused(capsys, *other)
    assert "data-selection.csv is there" in refused(capsys, *QUICK.split())


def test_defaults_of_select(capsys):
    table()
    main("select data.csv --target y".split())
    said = r"refits: \d+ refits \(\d+ to full precision, .*?\), standard error ≤"
    assert re.search(said, unwrapped(capsys.readouterr().out))
    ends = ("csv", "json", "png")
    assert listed() == [f"data-selection.{end}" for end in ends]


def test_options_of_the_command_have_the_defaults_of_the_library():
    asked = vars(arguments("0").parse_args(["select", "data.csv"]))
    accuracies = {
        inspect.signature(function).parameters["accuracy"].default
        for function in (refine, StabilitySelection.refine)
    }
    params = StabilitySelection().get_params()
    both = sorted(set(asked) & set(params))
    assert {"accuracy", "bound", "intercept", "loss", "pfer", "threshold"} <= {*both}
    assert {name: asked[name] for name in both} == {name: params[name] for name in both}
    assert accuracies == {params["accuracy"]}


def test_options_of_a_plan_have_the_defaults_of_the_library(capsys):
    """They are literals, for the help is printed without NumPy."""
    asked = vars(arguments("0").parse_args("plan --effects 1 --size 1".split()))
    options = inspect.signature(plan_study).parameters
    for name in ("pfer", "power", "max_rows", "bound", "threshold"):
        assert asked[name] == options[name].default, name
    assert float(asked["noise"]) == options["noise"].default
    for command in ("select", "plan"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        words = f"false selections (default: {DEFAULT_PFER:g})"
        assert words in unwrapped(capsys.readouterr().out)


def test_the_main_job_has_the_defaults_of_select():
    asked = vars(arguments("0").parse_args(["select", "data.csv"]))
    main_job = vars(arguments("0").parse_args([]))
    other = {name for name in main_job if main_job[name] != asked.get(name)}
    assert other == {"command", "file", "force"} and main_job["force"]
    assert set(asked) <= set(main_job)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_spread_has_its_light(capsys):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(120, 30))
    b = A[:, :3].sum(1) + rng.normal(size=120)
    b[17] += 8 * b.std()
    frame = pd.DataFrame(A, columns=[f"x{i}" for i in range(30)])
    frame.assign(y=b).to_csv("data.csv", index=False, float_format="%.17g")
    with pytest.raises(SystemExit):  # the light is red
        main("select data.csv --target y --resamples 0".split())
    s = StabilitySelection(n_resamples=0).fit(frame, b)
    known, out = s.diagnostics_, unwrapped(capsys.readouterr().out)
    assert known.spread_reasons
    assert settings()["spread_reliability"] == known.spread_reliability
    grade = GRADES[known.spread_reliability]
    assert f"The column sd: {grade} ({'; '.join(known.spread_reasons)})" in out


def test_a_constant_column_has_probability_0_and_one_clean_line(capsys):
    table(extra=[("batch", [3.0] * 150)])
    main("select data.csv --target y --resamples 20".split())
    shown = capsys.readouterr()
    said = [line for line in shown.out.splitlines() if "arning" in line]
    assert said == ["warning: constant columns are left out: batch"]
    assert "arning" not in shown.err
    assert settings()["warnings"] == [said[0].removeprefix("warning: ")]
    found = pd.read_csv("rvamp-nb-out/data-selection.csv", index_col="feature")
    assert (
        found.loc["batch", ["probability", "probability_se", "coef_mean"]] == 0
    ).all()


@pytest.mark.filterwarnings("ignore:0 of 58 penalties converged")
def test_not_converging_is_said_in_the_report(capsys, monkeypatch):
    for name in ("rvamp", "rvamp_path"):
        slow = getattr(penalty, name)
        monkeypatch.setattr(
            penalty, name, lambda *a, slow=slow, **o: slow(*a, **{**o, "max_iter": 2})
        )
    follow = penalty.follow
    monkeypatch.setattr(
        penalty, "follow", lambda p, at, _, *o: follow(p, at, lambda c: len(c) == 2, *o)
    )
    table()
    main_argv = ["select", "data.csv", "--target", "y", "--path"]
    assert exit_code(main_argv) == 4
    shown = capsys.readouterr()
    assert shown.out.startswith("no answer: ") and " yes " not in shown.out
    assert "What to try" in unwrapped(shown.out) and "reliability: poor" in shown.out
    assert shown.err.startswith("rvamp-nb: no answer: ") and "Python" not in shown.out
    found = pd.read_csv("rvamp-nb-out/data-selection.csv")
    assert not found.selected.any() and set(found.status) == {"no answer"}
    assert found[["probability", "coef_mean", "coef_std"]].isna().all(axis=None)
    path = pd.read_csv("rvamp-nb-out/data-path.csv", index_col="feature")
    assert path.isna().sum(axis=None) > 0
    assert settings()["exit_code"] == 4 and settings()["n_selected"] == 0
    names = ["data-path.csv", "data-selection.csv", "data-selection.json"]
    assert listed() == names  # nothing to draw


def test_a_row_that_decides_is_exit_code_3(capsys):
    table(M=80, N=12)
    lines = Path("data.csv").read_text().splitlines()
    lines[5] = ",".join([*lines[5].split(",")[:-1], "90"])
    Path("typo.csv").write_text("\n".join(lines))
    with pytest.raises(SystemExit) as stop:
        main("select typo.csv --target y --resamples 0".split())
    shown = capsys.readouterr()
    assert (
        stop.value.code == 3
        and shown.out.startswith("do not use this without refits: ")
        and "poor (line 6 of the file alone makes" in shown.out
        and shown.err == ""
    )


# Options of select --------------------------------------------------------------------


def test_the_promise_is_passed_on(capsys):
    X, y = table()
    main("select data.csv --target y --resamples 0 --threshold 0.9 --pfer 0.5".split())
    s = StabilitySelection(n_resamples=0, threshold=0.9, pfer=0.5).fit(X, y)
    out = capsys.readouterr().out
    out = unwrapped(out)
    assert (
        "selected if Π ≥ 0.9" in out
        and f"false selections ≤ {s.pfer_bound_:.2g} (asked for 0.5)" in out
    )
    kept = {
        r["feature"]
        for r in rows("rvamp-nb-out/data-selection.csv")
        if r["selected"] == "True"
    }
    assert kept == {f"x{i}" for i in np.flatnonzero(s.support_)} and kept
    main("select data.csv --target y --resamples 0 --q 1.5 --force".split())
    assert (
        f"λ = {StabilitySelection(n_resamples=0, q=1.5).fit(X, y).lambda_:.5g} ("
        in capsys.readouterr().out
    )


def test_the_whole_path(capsys):
    X, y = table()
    main("select data.csv --target y --resamples 0 --path".split())
    s, written = (
        StabilitySelection(n_resamples=0).fit(X, y),
        rows("rvamp-nb-out/data-path.csv"),
    )
    np.testing.assert_allclose(
        [float(v) for v in list(written[0])[1:]], s.lambdas_, rtol=1e-5
    )
    np.testing.assert_allclose(
        [[float(v) for v in list(r.values())[1:]] for r in written],
        s.selection_probabilities_,
        rtol=1e-5,
        atol=1e-300,
    )
    assert (
        Path("rvamp-nb-out/data-path.png").read_bytes().startswith(PNG)
        and "path: rvamp-nb-out/data-path.csv\npath: rvamp-nb-out/data-path.png\n"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize("loss", ["auto", "logistic"])
def test_two_words_are_two_classes(capsys, loss):
    X, y = table()
    words = np.where(y > 0, "sick", "well")
    with open("words.csv", "w", newline="") as file:
        csv.writer(file).writerows(
            [[*"abcdef", "state"], *([*x, w] for x, w in zip(X, words))]
        )
    main(
        ["select", "words.csv", "--target", "state", "--loss", loss, "--resamples", "0"]
    )
    s = StabilitySelection(n_resamples=0).fit(X, words)
    assert "logistic regression of class" in capsys.readouterr().out
    for row in rows("rvamp-nb-out/words-selection.csv"):
        np.testing.assert_allclose(
            float(row["probability"]),
            s.probabilities_["abcdef".index(row["feature"])],
            rtol=1e-5,
        )


def test_counts(capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = rng.poisson(np.exp(0.8 * X[:, 0]))
    with open("counts.csv", "w", newline="") as file:
        csv.writer(file).writerows(
            [["a", "b", "c", "n"], *([*x, k] for x, k in zip(X, y))]
        )
    main("select counts.csv --target n --loss poisson --resamples 0".split())
    assert (
        "Poisson regression" in capsys.readouterr().out
        and rows("rvamp-nb-out/counts-selection.csv")[0]["feature"] == "a"
    )


def test_tabs(capsys):
    X, y = table()
    Path("data.tsv").write_text(
        "\ufeff" + Path("data.csv").read_text().replace(",", "\t"), encoding="utf-8"
    )
    found = prepare_table(read_frame("data.tsv"), "y")
    np.testing.assert_array_equal(found.X, X)
    np.testing.assert_array_equal(found.y, y)
    assert list(found.X) == [f"x{i}" for i in range(6)]
    main("select data.tsv --target y --resamples 0".split())
    assert "150 rows, 6 features" in capsys.readouterr().out


@pytest.mark.parametrize("M", [5, 8, 12])
def test_few_rows_are_enough_to_run(M):
    table(M=M, N=3)
    try:
        main("select data.csv --target y --resamples 10".split())
    except SystemExit as stop:
        assert stop.code == 3  # the light is red on so few rows
    assert len(rows("rvamp-nb-out/data-selection.csv")) == 3


def test_the_table_is_read_as_it_was_written():
    """A mark at the start, line ends of another system, spaces, quotes, blank lines,
    odd names.
    """
    head = '\ufeff"a, b" , µ$x$,y\r\n 1, 2,3\r\n\r\n4,"5",1e1\r\n'
    Path("odd.csv").write_bytes((head + "-7,8.5,+9\r\n0,1,2\r\n").encode())
    found = prepare_table(read_frame("odd.csv"), "y")
    assert list(found.X) == ["a, b", "µ$x$"] and found.y.tolist() == [3, 10, 9, 2]
    np.testing.assert_array_equal(found.X, [[1, 2], [4, 5], [-7, 8.5], [0, 1]])
    with pytest.raises(SystemExit) as stop:
        main("select odd.csv --target y --resamples 0".split())
    assert stop.value.code == 3 and len(rows("rvamp-nb-out/odd-selection.csv")) == 2


def table_of(text, target):
    Path("text.csv").write_text(text)
    return prepare_table(read_frame("text.csv"), target)


def test_the_target_may_be_any_column():
    found = table_of("p,q,r\n1,2,3\n4,5,6.5\n1,2,3\n4,5,6.5\n", "q")
    assert list(found.X) == ["p", "r"] and found.y.tolist() == [2, 5, 2, 5]
    assert found.X.to_numpy().tolist() == [[1, 3], [4, 6.5]] * 2
    found = table_of("p,q,r\n1,no,3\n4,yes,6.5\n1,yes,3\n4,no,6.5\n", "q")
    assert list(found.X) == ["p", "r"] and found.y.tolist() == [
        "no",
        "yes",
        "yes",
        "no",
    ]
    assert found.X.to_numpy().tolist() == [[1, 3], [4, 6.5]] * 2


def test_input_is_never_overwritten():
    table("x-selection.csv")
    before = Path("x-selection.csv").read_bytes()
    main("select x-selection.csv --target y --resamples 0 --out .".split())
    assert (
        Path("x-selection.csv").read_bytes() == before
        and Path("x-selection-selection.csv").exists()
    )


# What will not do ---------------------------------------------------------------------

MORE = "3,1\n4,5\n"  # two rows more, so that it is not their number that is refused
BAD_TABLES = {  # text, target, what the line must name, what it must advise
    "empty": ("", "y", ["bad.csv"], "names of the columns"),
    "only a header": ("a,y\n", "y", ["0 rows"], "at least 4"),
    "one row": ("a,y\n1,2\n", "y", ["1 row "], "at least 4"),
    "three rows": ("a,y\n1,2\n" + MORE, "y", ["3 rows"], "at least 4"),
    "no such column": ("a,y\n1,2\n", "z", ["--target", "'z'", "'a', 'y'"], "only"),
    "other case": ("a,Y\n1,2\n2,3\n" + MORE, "y", ["--target", "'Y'"], "only"),
    "semicolons": ("a;y\n1,5;2\n2;3\n", "y", ["'1,5' in line 2"], "--decimal ,"),
    "text": (
        "a,b,y\n1,x,2\n2,z,3\n1,2,4\n3,4,5\n",
        "y",
        ["'b'", "line 2", "'x'"],
        "0/1",
    ),
    "text beside classes": (
        "a,b,y\n1,x,no\n2,z,yes\n1,2,no\n3,4,yes\n",
        "y",
        ["'b'", "line 2", "'x'"],
        "0/1",
    ),
    "decimal comma": (
        'a,y\n"1,5",2\n2,3\n' + MORE,
        "y",
        ["'a'", "'1,5'"],
        "not a number",
    ),
    "a code": ("a,y\n3_1,2\n2,3\n" + MORE, "y", ["'a'", "'3_1'"], "not a number"),
    "text in the target": (
        "a,y\n1,2\n2,low\n" + MORE,
        "y",
        ["'low'", "line 3"],
        "number",
    ),
    "three classes of few": (
        "a,y\n1,low\n2,mid\n3,high\n4,low\n",
        "y",
        ["class high of y has 1 of 4 rows"],
        "merge",
    ),
    "one class": ("a,y\n1,low\n2,low\n3,low\n4,low\n", "y", ["y holds 1"], "2 to 6"),
    "one of a class": ("a,y\n1,A\n2,A\n3,A\n4,B\n", "y", ["one row"], "classes"),
    "classes with one missing": (
        "a,y\n1,low\n2,NA\n3,low\n4,high\n",
        "y",
        ["'y'", "'NA'", "classes"],
        "--na NA makes it a gap",
    ),
    "missing": (
        "a,y\n1,2\n,3\n" + MORE,
        "y",
        ["'a'", "line 3", "missing"],
        "fill it in",
    ),
    "NA": ("a,y\n1,2\nNA,3\n" + MORE, "y", ["'a'", "line 3", "missing"], "fill it in"),
    "nan": (
        "a,y\n1,2\n2,nan\n" + MORE,
        "y",
        ["'y'", "line 3", "missing"],
        "fill it in",
    ),
    "infinite": ("a,y\n1,2\n-inf,3\n" + MORE, "y", ["'a'", "line 3"], "not a finite"),
    "overflow": ("a,y\n1,2\n1e999,3\n" + MORE, "y", ["'a'", "line 3"], "not a finite"),
    "constant target": (
        "a,y\n1,2\n2,2\n3,2\n4,2\n",
        "y",
        ["y is constant"],
        "nothing to",
    ),
    "constant features": (
        "a,b,y\n1,3,2\n1,3,4\n1,3,2\n1,3,5\n",
        "y",
        ["every column"],
        "constant",
    ),
    "target alone": ("y\n1\n2\n3\n4\n", "y", ["'y'", "only column"], "add"),
    "two columns of one name": ("a,a,y\n1,2,3\n2,3,4\n", "y", ["'a'"], "rename"),
    "two targets": ("a,y,y\n1,2,3\n2,3,4\n", "y", ["'y'"], "rename"),
    "no name": (",a,y\n1,2,3\n2,3,4\n", "y", ["column 1", "no name"], "give it one"),
    "too short": ("a,b,y\n1,2,3\n2,3\n", "y", ["line 3", "2 values for 3"], "mend"),
    "too long": ("a,y\n1,2\n2,3,4\n", "y", ["line 3", "3 values for 2"], "mend"),
    "too short, tabs": ("a\tb\ty\n1\t2\t3\n2\t3\n", "y", ["2 values for 3"], "mend"),
    "target too large": (
        "a,y\n1,1e150\n2,-1e150\n" + MORE,
        "y",
        ["y differs", "1e+150"],
        "unit",
    ),
}


def refused(capsys, *argv):
    """The one line of a refusal, after which nothing new is in the folder."""
    before = sorted(Path().rglob("*"))
    with pytest.raises(SystemExit) as stop:
        main(list(argv))
    shown = capsys.readouterr()
    assert (
        stop.value.code == 2 and shown.out == "" and sorted(Path().rglob("*")) == before
    )
    assert shown.err.count("\n") == 1 and shown.err.startswith("rvamp-nb")
    return shown.err


@pytest.mark.parametrize("what", BAD_TABLES)
def test_a_bad_table_is_one_line(capsys, what):
    text, target, named, advice = BAD_TABLES[what]
    Path("bad.csv").write_text(text)
    line = refused(capsys, "select", "bad.csv", "--target", target, "--resamples", "10")
    assert all(words in line for words in named) and advice in line


def test_bad_bytes_are_one_line(capsys):
    Path("bad.csv").write_bytes(b"a,y\n\xff\xfe,2\n")
    assert "UTF-8" in refused(capsys, "select", "bad.csv", "--target", "y")
    Path("bad.csv").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    assert "bad.csv" in refused(capsys, "select", "bad.csv", "--target", "y")


def test_no_such_file(capsys):
    assert "missing.csv" in refused(capsys, "select", "missing.csv", "--target", "y")
    Path("folder").mkdir()
    assert "folder" in refused(capsys, "select", "folder", "--target", "y")


@pytest.mark.parametrize(
    "argument, value",
    [
        ("--lam", "0"),
        ("--lam", "-1"),
        ("--lam", "nan"),
        ("--lam", "inf"),
        ("--lam", "much"),
        ("--resamples", "2.5"),
        ("--resamples", "many"),
        ("--resamples", "-1"),
        ("--resamples", "5"),
        ("--resamples", "nan"),
        ("--threshold", "0.5"),
        ("--threshold", "1.2"),
        ("--threshold", "high"),
        ("--pfer", "0"),
        ("--pfer", "-1"),
        ("--pfer", "one"),
        ("--q", "0"),
        ("--q", "inf"),
        ("--loss", "absolute"),
    ],
)
def test_bad_numbers_name_their_argument(capsys, argument, value):
    table()
    line = refused(capsys, "select", "data.csv", "--target", "y", f"{argument}={value}")
    assert argument in line and repr(value) in line


def parsed(options):
    return arguments("0").parse_args(["select", "plants.csv", *options.split()])


def test_options_are_read_as_what_they_stand_for():
    args = parsed("--target growth --reference site=Ulm --sep tab")
    assert (args.target, args.reference, args.sep) == (
        "growth",
        [("site", "Ulm")],
        "\t",
    )
    assert (args.accuracy, args.n_resamples) == (0.02, None)
    assert parsed("--na -99 --na none").na == ["-99", "none"]
    assert parsed("--ordered grade=low<mid<high").ordered == [
        ("grade", ["low", "mid", "high"])
    ]


@pytest.mark.parametrize(
    "options, fault",
    [
        ("--threshold 0.5", "'0.5' is not a number above 0.5 and up to 1"),
        ("--lam inf", "'inf' is not a number above 0"),
        ("--q much", "'much' is not a number above 0"),
        ("--resamples 5", "'5' refits are too few to estimate from"),
        ("--resamples 2.5", "'2.5' is not a whole number"),
        ("--accuracy 0.5", "'0.5' is not a number between 0 and 0.5"),
        ("--sep ;;", "';;' is not one sign: give one, or the word tab"),
        ("--na", "expected one argument"),
        ("--reference Ulm", "'Ulm' is not COLUMN=LEVEL"),
        ("--ordered grade=low", "'grade=low' is not 'COLUMN=LOWEST<...<HIGHEST'"),
        ("--name a/b", "'a/b' cannot be part of a file's name"),
        ("--loss absolute", "invalid choice: 'absolute'"),
    ],
)
def test_an_argument_is_refused_by_the_name_of_its_option(options, fault):
    with pytest.raises(InputError) as refusal:
        parsed(options)
    option = options.partition(" ")[0]
    assert str(refusal.value).startswith(f"argument {option}: {fault}")


def test_an_unknown_option_is_refused_by_name():
    with pytest.raises(InputError, match="there is no option --fast"):
        parsed("--fast")


@pytest.mark.parametrize(
    "options, word",
    [
        (["--threshold", "0.6", "--pfer", "1", "--q", "2"], "at most two"),
        (["--pfer", "0.01", "--q", "5"], "contradict"),
        (["--q", "7"], "q must lie"),
        (["--loss", "logistic"], "two classes"),
        (["--loss", "poisson"], ">= 0"),
        (["--lam", "1", "--pfer", "1"], "--lam"),
        (["--lam", "1", "--q", "2"], "--lam"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_what_does_not_go_together_is_one_line(capsys, options, word):
    table()
    assert word in refused(capsys, "select", "data.csv", "--target", "y", *options)


@pytest.mark.parametrize(
    "argv",
    [
        ["select"],
        ["select", "data.csv"],
        ["select", "--target", "y"],
        ["pick"],
        ["data.csv"],
        ["--target", "y"],
        ["select", "data.csv", "--target", "y", "--fast"],
    ],
    ids=" ".join,
)
def test_bad_usage_is_one_line(capsys, argv):
    table()
    assert "--help" in refused(capsys, *argv)


def test_a_folder_that_cannot_be_written(capsys, monkeypatch):
    table()
    for out in ("data.csv", "data.csv/deeper"):
        line = refused(capsys, "select", "data.csv", "--target", "y", "--out", out)
        assert "--out" in line and "choose another" in line
    Path("locked").mkdir()
    # as it is for a user who is not root
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "argument --out: no permission to write to locked" in refused(
        capsys, "select", "data.csv", "--target", "y", "--out", "locked"
    )
    with pytest.raises(SystemExit):
        main([])  # the main job looks, too
    assert "--out" in capsys.readouterr().err


def test_a_refusal_of_the_library_is_a_value_error():
    with pytest.raises(InputError, match="no name"):
        table_of(",a\n1,2\n3,4\n", "a")
    assert issubclass(InputError, ValueError)


# Manners ------------------------------------------------------------------------------


def test_version_and_help(capsys):
    for argv, words in (
        (["--version"], f"rvamp-nb {rvamp_nb.__version__}"),
        (["--help"], "select"),
        (["select", "--help"], "--target COLUMN"),
    ):
        with pytest.raises(SystemExit) as stop:
            main(argv)
        assert stop.value.code == 0 and words in capsys.readouterr().out


def test_help_is_quick_and_explains_every_argument(capsys):
    with pytest.raises(SystemExit):
        main("select --help".split())
    text = capsys.readouterr().out
    for argument in (
        "FILE",
        "--target",
        "--loss",
        "--threshold",
        "--pfer",
        "--q",
        "--lam",
        "--path",
        "--out",
        "--bound",
        "constant",
        "--resamples",
        "--name",
        "exit codes:",
        "130  ctrl-C",
        "rows as independent",
        "unit norm",
        "TSV",
    ):
        assert argument in text
    assert max(map(len, text.splitlines())) <= 88


def test_help_waits_for_no_import():
    script = """
import sys
from rvamp_nb.cli import main
try:
    main(['--help'])
finally:
    heavy = {'numpy', 'scipy', 'sklearn', 'matplotlib', 'pandas'}
    print(heavy & {name.split('.')[0] for name in sys.modules})
"""
    caught = dict(capture_output=True, text=True, encoding="utf-8", env=ENV)
    done = subprocess.run([sys.executable, "-c", script], **caught)
    assert done.stdout.endswith("set()\n"), done.stdout + done.stderr


def test_a_terminal_without_greek_is_no_reason_to_fail(monkeypatch):
    table()
    raw = io.BytesIO()
    terminal = io.TextIOWrapper(raw, encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    main("select data.csv --target y --lam 0.8 --resamples 10".split())
    assert b"? ? s.e." in raw.getvalue()


# How it ends --------------------------------------------------------------------------


def test_a_closed_pipe_ends_it_quietly_with_all_files_there(forked):
    """Nor does it wait for a bar that nobody sees, nor forget that its light is red."""
    table(M=8)
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    forked.begin(QUICK, stdout="pipe")
    os.close(reader)
    assert forked.end() == 3 and Path("stderr").read_text() == ""
    ends = ("csv", "json", "png")
    assert listed() == [f"data-selection.{end}" for end in ends]
    assert len(pd.read_csv("rvamp-nb-out/data-selection.csv")) == 6


def test_a_stream_that_is_not_there_stops_nothing(forked):
    table()
    line = "select data.csv --target y --lam 0.8 --resamples 10"
    forked.begin(line, stdout=None, stderr=None)
    assert forked.end() == 0
    assert len(pd.read_csv("rvamp-nb-out/data-selection.csv")) == 6


def test_help_into_a_closed_pipe():
    done = shell("set -o pipefail; rvamp-nb select --help | true")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_report_that_cannot_be_printed(forked):
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    table()
    forked.begin(QUICK, stdout="/dev/full")
    assert forked.end() == 3
    said = Path("stderr").read_text()
    assert "cannot be printed" in said and said.count("\n") == 1
    assert len(pd.read_csv("rvamp-nb-out/data-selection.csv")) == 6


def test_a_disk_that_fills_leaves_nothing_and_the_report_is_printed(capsys):
    """No file may grow beyond 4 kB: the picture fails in the midst of being written."""
    resource = pytest.importorskip("resource")
    table()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        assert exit_code(QUICK.split()) == 3
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 1
    assert "cannot be written to rvamp-nb-out" in shown.err
    assert "x0" in shown.out and "table:" not in shown.out
    assert listed() == []


def test_a_disk_that_fills_leaves_the_files_of_an_earlier_run(monkeypatch, capsys):
    table()
    main([*QUICK.split(), "--path"])
    before = {p.name: p.read_bytes() for p in Path("rvamp-nb-out").iterdir()}
    assert len(before) == 5
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SystemExit) as stop:
        main("select data.csv --target y --resamples 0 --force".split())
    assert stop.value.code == 3 and capsys.readouterr().err.count("\n") == 1
    assert {p.name: p.read_bytes() for p in Path("rvamp-nb-out").iterdir()} == before


def full(descriptor):
    """A file is begun, and then there is no space."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_files_can_be_read_by_those_who_may_read_here():
    table()
    before = os.umask(0o022)
    try:
        main(QUICK.split())
    finally:
        os.umask(before)
    for path in Path("rvamp-nb-out").iterdir():
        assert path.stat().st_mode & 0o777 == 0o644


def test_ctrl_c_before_there_is_an_answer():
    os.mkfifo("slow.csv")
    argv = ["select", "slow.csv", "--target", "y"]
    caught = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process = subprocess.Popen([*COMMAND, *argv], encoding="utf-8", env=ENV, **caught)
    with open("slow.csv", "w") as file:  # waits until the command reads
        file.write("a,y\n1,2\n")
        file.flush()
        process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert err == "rvamp-nb: interrupted; no file is half-written\n"
    assert listed(".") == ["slow.csv"]


@pytest.mark.parametrize("module", ["numpy", "sklearn"])  # the first, the last
def test_ctrl_c_while_something_is_imported(module):
    table()
    script = f"""
import sys
class Impatient:
    def find_spec(self, name, *_):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Impatient())
from rvamp_nb.cli import main
main({QUICK.split()})
"""
    caught = dict(capture_output=True, text=True, encoding="utf-8", env=ENV)
    done = subprocess.run([sys.executable, "-c", script], **caught)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "rvamp-nb: interrupted; no file is half-written\n"


def impatient(*_, **__):
    """Somebody who presses ctrl-C."""
    raise KeyboardInterrupt


def test_ctrl_c_in_the_fit(monkeypatch, capsys):
    monkeypatch.setattr("rvamp_nb.select.estimator.StabilitySelection.fit", impatient)
    table()
    assert exit_code(["select", "data.csv", "--target", "y"]) == 130
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1
    assert listed(".") == ["data.csv"]


def test_ctrl_c_in_the_refits_keeps_those_that_were_made(forked):
    X, y = table()
    screen, end = pty.openpty()  # on a terminal there is a bar, if it has a width
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 88, 0, 0))
    line = "select data.csv --target y --resamples 1000000"
    process = forked.begin(line, stderr=os.ttyname(end))
    os.close(end)
    seen = b""
    while not re.search(rb"refits: +\d+%.*[1-9]\d*/1000000", seen):
        seen += os.read(screen, 4096)
    os.kill(process, signal.SIGINT)
    code = forked.end()
    with suppress(OSError):  # how Linux says that nobody writes any more
        while more := os.read(screen, 4096):
            seen += more
    os.close(screen)
    # ctrl-C while the bar is being drawn leaves the bar's line without an end
    bar, _, said = seen.decode().rpartition("rvamp-nb: ")
    assert code == 130
    assert said.strip() == "interrupted: the fit was finished, and is reported"
    assert all(not s or s.startswith("refits: ") for s in re.split(r"[\r\n]+", bar))
    assert listed() == ["data-selection.csv", "data-selection.json"]
    made = settings()["n_resamples"]
    assert 200 <= made < 1_000_000
    out = Path("stdout").read_text(encoding="utf-8")
    assert f"refits: {made} refits" in unwrapped(out)
    assert "; interrupted; together with rVAMP" in unwrapped(out)
    s = StabilitySelection(n_resamples=min(made, 2000)).fit(X, y)
    found = of("data").loc[[f"x{i}" for i in range(6)]]
    off = found.probability - s.probabilities_
    assert (np.abs(off) < 4 * np.hypot(found.probability_se, s.refined_.Pi_se)).all()
    assert not settings()["refit_error"] and settings()["exit_code"] == 130


def test_ctrl_c_before_the_first_refits_keeps_the_fit(monkeypatch, capsys):
    monkeypatch.setattr("rvamp_nb.select.selection.refine_selection", impatient)
    table()
    assert (
        exit_code("select data.csv --target y --lam 0.8 --resamples 20".split()) == 130
    )
    shown = capsys.readouterr()
    assert "refits: interrupted before the first were there" in unwrapped(shown.out)
    assert shown.err.endswith(": interrupted: the fit was finished, and is reported\n")
    assert listed() == ["data-selection.csv", "data-selection.json"]
    said = settings()
    assert said["refit_error"] and said["n_resamples"] == 0
    assert said["exit_code"] == 130
    interrupted = of("data")
    main([*QUICK.split(), "--force"])
    pd.testing.assert_frame_equal(of("data"), interrupted)


def test_ctrl_c_at_the_picture_keeps_the_answer(monkeypatch, capsys):
    at_work = lambda s, pictures, kinds: impatient() if pictures else {}
    monkeypatch.setattr(report, "picture_files", at_work)
    table()
    assert (
        exit_code("select data.csv --target y --lam 0.8 --resamples 20".split()) == 130
    )
    assert listed() == ["data-selection.csv", "data-selection.json"]
    assert settings()["n_resamples"] == 20 and settings()["exit_code"] == 130


def test_ctrl_c_while_files_are_put_in_their_places(monkeypatch):
    def disturbed(descriptor):
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(os, "fsync", disturbed)
    table()
    assert exit_code(QUICK.split()) == 0 and len(listed()) == 3


# Whose files they are -----------------------------------------------------------------


def test_nothing_is_replaced_unless_it_is_asked_for(capsys):
    for place, seed in (("a", 0), ("b", 1)):
        Path(place).mkdir()
        table(f"{place}/data.csv", seed=seed)
    line = "select {}/data.csv --target y --lam 0.8 --resamples 0"
    main(line.format("a").split())
    before = Path("rvamp-nb-out/data-selection.csv").read_bytes()
    for place in "ab":  # the same question again, and another
        capsys.readouterr()
        said = refused(capsys, *line.format(place).split())
        assert "argument --out: rvamp-nb-out/data-selection.csv is there" in said
        assert "--out FOLDER" in said and "--name NAME" in said and "--force" in said
        assert Path("rvamp-nb-out/data-selection.csv").read_bytes() == before
    main([*line.format("b").split(), "--name", "of b"])
    of_b = Path("rvamp-nb-out/of b-selection.csv").read_bytes()
    assert of_b != before and "of b: 150 rows" in capsys.readouterr().out
    main([*line.format("b").split(), "--force"])
    assert Path("rvamp-nb-out/data-selection.csv").read_bytes() == of_b


@pytest.mark.parametrize("end", ["-selection.csv", "-path.csv", "-selection.json"])
def test_what_is_there_is_not_replaced(capsys, end):
    table()
    theirs = Path(f"rvamp-nb-out/data{end}")
    theirs.parent.mkdir()
    theirs.write_text("a,b\n1,2\n")
    assert f"data{end} is there" in refused(capsys, *QUICK.split())
    assert theirs.read_text() == "a,b\n1,2\n"
    Path("rvamp-nb-out/notes.txt").write_text("mine")
    main([*QUICK.split(), "--force"])
    assert Path("rvamp-nb-out/notes.txt").read_text() == "mine"


def test_an_old_path_beside_a_new_table_is_named(capsys):
    table()
    main([*QUICK.split(), "--path"])
    assert len(listed()) == 5
    capsys.readouterr()
    main([*QUICK.split(), "--force"])
    assert len(listed()) == 5 and len(settings()["files"]) == 3
    out = capsys.readouterr().out
    for end in ("csv", "png"):
        file = f"rvamp-nb-out/data-path.{end}"
        assert f"of an earlier run, not of this one: {file}\n" in out


def test_the_line_that_a_refusal_proposes_is_taken(capsys):
    name = [f"P{k}" for k in range(150)]
    site = [f"{k % 3} km" for k in range(150)]
    extra = [("patient", name), ("site", site), ("seen", ["2021-03-04"] * 150)]
    X, _ = table(extra=[*extra, ("crp", ["<5", ".", "7", "8", "9"] * 30)])
    ask = QUICK.split()
    line = refused(capsys, *ask)
    proposed = line.partition("to try, add ")[2].partition("; see")[0]
    wanted = "--id patient --drop seen --categorical site --na . --missing median"
    assert proposed == wanted
    main([*ask, *shlex.split(proposed)])
    said = unwrapped(capsys.readouterr().out)
    assert "values beyond a limit taken as the limit: 30 in 'crp'" in said
    whole = probabilities("rvamp-nb-out/data-selection.csv")
    main([*ask, *shlex.split(proposed), *"--lod half --force".split()])
    said = unwrapped(capsys.readouterr().out)
    assert "taken as half of it (above it the limit): 30 in 'crp'" in said
    half = probabilities("rvamp-nb-out/data-selection.csv")
    assert whole["crp"] != half["crp"] and set(whole) == set(half)


def test_words_of_an_event_and_an_entry_that_is_too_late(capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    days = np.ceil(40 * rng.exponential(np.exp(-X[:, 0]))) + 1
    data = pd.DataFrame(X, columns=list("abcd")).assign(days=days, entry=0.0)
    data["end"] = rng.choice(["relapse", "censored"], 120)
    data.loc[[3, 5], "entry"] = data["days"]
    data.to_csv("s.csv", index=False)
    ask = "select s.csv --time days --entry entry --resamples 0 --event end"
    assert "--event end=WORD says which of 'censored', 'relapse'" in refused(
        capsys, *ask.split()
    )
    main(f"{ask}=relapse".split())
    said = unwrapped(capsys.readouterr().out)
    seen = (data.drop(index=[3, 5])["end"] == "relapse").sum()
    assert f"seen where 'end' is 'relapse' ({seen} rows), not in the other" in said
    assert "2 of 120 rows left out: 'entry' is not before 'days'" in said
    assert "line '5', '7'" in said and f"of {seen} events" not in said


def test_a_table_on_its_side_and_a_second_file(capsys):
    X, y = table()
    names = [f"GSM{k}" for k in range(150)]
    genes = pd.DataFrame(X.T, [f"g{k}" for k in range(6)], names)
    more = np.random.default_rng(1).normal(size=(200, 150))
    genes = pd.concat([genes, pd.DataFrame(more, None, names).add_prefix("h", axis=0)])
    genes.rename_axis("gene").to_csv("genes.csv")
    people = pd.DataFrame({"geo": names[::-1], "dose": y[::-1]})
    people.to_csv("people.csv", index=False)
    said = refused(capsys, *"genes.csv --target dose".split())
    assert "--transpose turns it; if 'dose' is in a second file, add --join" in said
    ask = "genes.csv --target dose --transpose --join people.csv --no-refits --on"
    main([*ask.split(), "sample=geo"])
    assert "not used as features: 'sample'" in unwrapped(capsys.readouterr().out)
    found = probabilities("rvamp-nb-out/genes-selection.csv")
    assert len(found) == 206 and found["g0"] > 0.9
    both = [Path(name).read_bytes() for name in ("genes.csv", "people.csv")]
    digests = [hashlib.sha256(data).hexdigest() for data in both]
    assert settings("genes")["sha256"] == " + ".join(digests)
    assert settings("genes")["joined"] == "people.csv"
    people[5:].to_csv("people.csv", index=False)
    said = refused(capsys, *ask.split(), "sample=geo", "--force")
    assert "5 ids of genes.csv are not in people.csv: 'GSM145', 'GSM146'" in said
    assert "--missing drop leaves out their rows (5 of 150)" in said
    main([*ask.split(), "sample=geo", *"--force --missing drop".split()])
    assert "data: genes: 145 rows" in unwrapped(capsys.readouterr().out)
    said = refused(
        capsys, *"people.csv --join genes.csv --on geo --target dose".split()
    )
    assert "give genes.csv first, with --transpose, and --join people.csv" in said
    for line in ("--join people.csv", "--on geo"):
        assert "go together" in refused(capsys, "data.csv", *line.split())


@pytest.mark.parametrize(
    "given, asked", [("0.5", [0.5]), ("cv", "cv"), ("glmnet=0.12", ("glmnet", 0.12))]
)
def test_a_penalty_in_units_of_others(given, asked):
    assert parsed(f"--lam {given}").lam == asked


def test_a_penalty_by_cross_validation(capsys):
    X, y = table()
    for lam, lambdas in (("cv", "cv"), ("glmnet=0.3", ("glmnet", 0.3))):
        main(f"data.csv --target y --lam {lam} --resamples 0 --force".split())
        s = StabilitySelection(n_resamples=0, lambdas=lambdas, verbose=0).fit(X, y)
        said = unwrapped(capsys.readouterr().out)
        assert f"λ = {s.lambda_:.5g}" in said
        assert ("by cross-validation" in said) == (lam == "cv")


def test_what_stands_for_a_gap_can_be_said(capsys):
    """The levels of a category are what the file says, unless a word is named."""
    X, _ = table(extra=[("smoking", ["none", "mild", "severe"] * 50)])
    data = pd.read_csv("data.csv", keep_default_na=False)
    ask = [*QUICK.split(), "--categorical", "smoking", "--reference", "smoking=mild"]
    main(ask)
    coded = "'smoking' became 2 columns of 0 and 1, compared with 'mild'"
    assert coded in unwrapped(capsys.readouterr().out)
    expected = rows("rvamp-nb-out/data-selection.csv")
    data.replace("none", "never").to_csv("other.csv", index=False)
    main(["select", "other.csv", *ask[2:]])
    renamed = Path("rvamp-nb-out/other-selection.csv").read_text()
    Path("named.csv").write_text(renamed.replace("smoking=never", "smoking=none"))
    assert rows("named.csv") == expected
    data.loc[3:5, "x0"] = -99
    data.to_csv("data.csv", index=False)
    assert exit_code([*ask, "--out", "b"]) in (0, 3)
    said = unwrapped(capsys.readouterr().out)
    remark = "-99 comes several times, far from the rest: 3 in 'x0' (else"
    assert f"warning: {remark}" in said and "say --na -99" in said
    assert said.count("comes several times") == 1
    with_codes = probabilities("b/data-selection.csv")
    more = "--na -99 --na none --missing median --out c".split()
    assert exit_code([*ask, *more]) in (0, 3)
    said = unwrapped(capsys.readouterr().out)
    assert "'-99', 'none' taken for gaps: 3 in 'x0', 50 in 'smoking'" in said
    without = probabilities("c/data-selection.csv")
    assert without["x0"] > 0.99 > 0.9 > with_codes["x0"]
    assert "smoking=none" in with_codes and "smoking=none" not in without


def test_files_as_people_have_them_give_one_answer(capsys):
    X, y = table()
    main(QUICK.split())
    expected = rows("rvamp-nb-out/data-selection.csv")
    text = Path("data.csv").read_text()
    others = {
        "sep=;": "sep=;\n" + text.replace(",", ";"),
        "remarks": "# made by a lab, in May\n# v2\n" + text,
        "spaces": text.replace(",", "  "),
        "tabs": "# v2\n" + text.replace(",", "\t"),
    }
    for name, other in others.items():
        Path("data.csv").write_text(other)
        main([*QUICK.split(), "--out", name])
        assert rows(f"{name}/data-selection.csv") == expected, name
    capsys.readouterr()
    R = "\n".join(f'"{k}",{line}' if k else line for k, line in enumerate(text.split()))
    Path("data.csv").write_text(R)
    said = refused(capsys, *QUICK.split(), "--out", "R")
    assert "one value more than the first has names" in said and "write.table" in said
    comma = text.replace(",", ";").replace(".", ",")
    Path("data.csv").write_text("sep=;\n" + comma)
    said = refused(capsys, *QUICK.split(), "--out", "comma")
    assert "is not a number, but for a comma in " in said and "say --decimal ," in said
    assert "to try, add --decimal ,; see" in said
    Path("data.csv").write_text(comma)
    main([*QUICK.split(), "--decimal", ",", "--out", "semicolons"])
    assert rows("semicolons/data-selection.csv") == expected


def test_a_name_that_may_be_meant_is_named(capsys, tmp_path):
    clinic()
    line = "select clinic.csv --target {} --categorical {}"
    assert "(did you mean 'y'?)" in refused(capsys, *line.format("Y", "site").split())
    assert "(did you mean 'site'?)" in refused(capsys, *line.format("y", "sit").split())
    plan = "plan --effects 2 --size 1 --pilot clinic.csv --drop Age"
    assert "(did you mean 'age'?)" in refused(capsys, *plan.split())


def test_what_is_advised_for_a_number_of_kinds_can_be_done(capsys):
    table(extra=[("site_id", [1, 2, 3] * 50)])
    main(QUICK.split())
    said = unwrapped(capsys.readouterr().out)
    assert "--categorical site_id codes them" in said and "--groups site_id" not in said
    main([*QUICK.split(), "--categorical", "site_id", "--force"])
    assert "site_id codes" not in unwrapped(capsys.readouterr().out)


def test_many_refits_are_announced_where_nobody_sees_a_bar(capsys, monkeypatch):
    table()
    asked = []

    def fit(self, X, y, **rows):
        asked.append(self.accuracy)
        raise ValueError("enough")

    monkeypatch.setattr(StabilitySelection, "fit", fit)
    for accuracy, more, told in (
        (
            "0.001",
            "",
            "--accuracy 0.001 may take 250,000 refits; --resamples N makes N",
        ),
        ("0.02", "", None),
        ("0.001", "--resamples 20", None),
    ):
        line = f"select data.csv --target y --accuracy {accuracy} {more}"
        exit_code(line.split())
        first = capsys.readouterr().err.splitlines()[0]
        assert (told in first) if told else ("enough" in first)
    assert asked == [0.001, 0.02, 0.001]


def test_a_pipe_is_a_table(capsys):
    table()
    text = Path("data.csv").read_text()
    main([*QUICK.split(), "--out", "by file"])
    os.mkfifo("pipe")
    feed = threading.Thread(target=lambda: Path("pipe").write_text(text))
    feed.start()
    main(QUICK.replace("data.csv", "pipe").split())
    feed.join()
    by_file = Path("by file/data-selection.csv").read_bytes()
    assert Path("rvamp-nb-out/pipe-selection.csv").read_bytes() == by_file
    Path("pipe").unlink()
    end, feed = os.pipe()  # no larger than a pipe holds
    os.write(feed, text.encode())
    os.close(feed)
    before = os.dup(0)
    os.dup2(end, 0)
    try:
        main(QUICK.replace("data.csv", "/dev/stdin").split())
    finally:
        os.dup2(before, 0)
        os.close(end)
    by_name = Path("rvamp-nb-out/stdin-selection.csv").read_bytes()
    assert by_name == by_file


# What stands in the files -------------------------------------------------------------


def test_every_setting_stands_beside_the_table(capsys):
    X, y = table()
    main("select data.csv --target y --resamples 50 --pfer 0.7".split())

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    text = Path("rvamp-nb-out/data-selection.json").read_text()
    said = json.loads(text, parse_constant=refuse)
    s = StabilitySelection(pfer=0.7, n_resamples=50).fit(X, y)
    assert said["version"] == rvamp_nb.__version__
    assert (said["n_rows"], said["n_columns"], said["target"]) == (150, 6, "y")
    assert said["file"] == "../data.csv" and said["loss"] == "squared"
    assert said["sha256"] == hashlib.sha256(Path("data.csv").read_bytes()).hexdigest()
    for name, value in (
        ("q", s.q_),
        ("pfer", s.pfer_),
        ("threshold", s.threshold_),
        ("pfer_bound", s.pfer_bound_),
        ("lambda_", s.lambda_),
        ("effective_rows", s.diagnostics_.effective_rows),
    ):
        assert said[name] == pytest.approx(value, rel=1e-6)
    asked = {name: said["arguments"][name] for name in ("threshold", "pfer", "q")}
    assert asked == {"threshold": None, "pfer": 0.7, "q": None}
    assert said["reliability"] == s.diagnostics_.reliability and said["exit_code"] == 0
    assert said["status"] and said["converged"] and not said["arguments"]["lambdas"]
    assert said["n_resamples"] == 50 and said["question"] and said["versions"]["numpy"]
    found = pd.read_json("rvamp-nb-out/data-selection.json", typ="series")
    assert found.threshold == pytest.approx(said["threshold"])  # read by another


def test_the_table_reads_back_with_pandas(capsys):
    names = ["=cmd|'/C calc'!A1", "@sum", "a,b", 'quo"ted', "two\nlines", "\x1b[31mred"]
    X, y = table()
    frame = pd.DataFrame(X, columns=names).assign(y=y)
    frame.to_csv("odd.csv", index=False)
    main(QUICK.replace("data.csv", "odd.csv").split())
    found = pd.read_csv("rvamp-nb-out/odd-selection.csv", index_col="feature")
    assert set(found.index) == set(names)
    s = StabilitySelection(n_resamples=0, lambdas=[0.8]).fit(X, y)
    np.testing.assert_allclose(found.probability[names], s.probabilities_, rtol=1e-5)
    assert set(found.status) <= {"selected", "below the threshold"}
    assert found.selected.dtype == bool and found.coef_mean.dtype == float
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err and "\\x1b[31mred" in shown.out
    assert "two\\nlines" in shown.out
    assert "takes names that begin with =, +, - or @" in unwrapped(shown.out)


def test_escape_codes_do_not_reach_the_terminal(capsys):
    odd = "\x1b]0;title\x07" + "x" * 5000
    table()
    for argv in (
        ["select", odd, "--target", "y"],
        ["select", "data.csv", "--target", odd],
        ["select", "data.csv", "--target", "y", "--out", odd],
        ["select", "data.csv", "--target", "y", "--name", odd],
        ["select", "data.csv", "--target", "y", "--lam", odd],
        ["select", "data.csv", "--target", "y", odd],
        [odd],
    ):
        line = refused(capsys, *argv)
        assert "\x1b" not in line and "\x07" not in line and len(line) < 1300


def test_an_answer_has_a_name(capsys):
    table()
    line = refused(capsys, "select", "data.csv", "--target", "y", "--name", "")
    assert "argument --name: '' cannot be part of a file's name" in line


def test_long_names_are_one_line(capsys):
    long = "a" * 5000
    table()
    for argv in (
        ["select", long, "--target", "y"],
        ["select", "data.csv", "--target", "y", "--out", long],
        ["select", "data.csv", "--target", "y", "--out", f"{long}/b"],
    ):
        line = refused(capsys, *argv)
        assert "name too long" in line and len(line) < 300
    Path("data.csv").rename("b" * 244 + ".csv")
    line = refused(capsys, "select", "b" * 244 + ".csv", "--target", "y")
    assert "too long a name" in line and "--name" in line


def test_an_unknown_backend_is_one_line():
    table()
    done = run(*QUICK.split(), MPLBACKEND="nonsense")
    assert done.returncode == 2 and done.stdout == "" and listed(".") == ["data.csv"]
    assert done.stderr.count("\n") == 1 and "MPLBACKEND" in done.stderr


def test_the_header_is_looked_at_once():
    """Each name is compared with few others, however many there are."""
    compared = 0

    class Name(str):
        def __eq__(self, other):
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    readers.check_names("wide.csv", [Name(f"x{i}") for i in range(3000)] + ["y"])
    assert compared < 10 * 3000


@pytest.mark.parametrize("classes", [("well", "sick"), (0.0, 1.0), (2.0, 1.0)])
def test_the_report_says_of_which_class_the_coefficients_are(capsys, classes):
    X, y = table()
    labels = np.where(y > 0, *classes)
    pd.DataFrame(X).assign(state=labels).to_csv("classes.csv", index=False)
    argv = "select classes.csv --target state --lam 0.4 --resamples 0".split()
    assert exit_code(argv) in (0, 3)
    no, yes = StabilitySelection(n_resamples=0, lambdas=[0.4]).fit(X, labels).classes_
    said, out = (
        f"change of the log odds of {yes} per",
        unwrapped(capsys.readouterr().out),
    )
    assert f"class {yes} against {no}; a coefficient is the {said}" in out
    assert settings("classes")["classes"] == [str(no), str(yes)]
    assert settings("classes")["coefficients_for"] == str(yes)


def test_a_promise_that_cannot_be_met_is_said_in_the_report(capsys):
    table(M=40, N=30)
    exit_code(
        "select data.csv --target y --threshold 0.9 --pfer 20 --resamples 0".split()
    )
    warned = settings()["warnings"]
    assert any("pfer" in text for text in warned)
    assert f"warning: {warned[0]}" in unwrapped(capsys.readouterr().out)


def test_refits_put_a_red_light_right_and_nothing_else():
    X, y = table(M=80, N=12)
    y[4] = 90
    pd.DataFrame(X).assign(y=y).to_csv("data.csv", index=False)
    for refits, code in (("0", 3), ("20", 0)):
        line = f"select data.csv --target y --force --resamples {refits}"
        assert exit_code(line.split()) == code
        assert (
            settings()["reliability"] == "red" and settings()["status"] == "converged"
        )
    table(M=20, N=60)  # ten rows cannot bear fifteen features
    assert (
        exit_code("select data.csv --target y --resamples 20 --q 15 --name b".split())
        == 3
    )
    assert settings("b")["status"].startswith(("q not met", "fell back"))


def test_an_accuracy_is_reached():
    table(M=80, N=12)
    worst = []
    for accuracy in ("0.02", "0.006"):
        main(f"select data.csv --target y --q 3 --accuracy {accuracy} --force".split())
        found = pd.read_csv("rvamp-nb-out/data-selection.csv")
        worst.append(found.probability_se.max())
        assert worst[-1] <= float(accuracy)
    assert worst[1] < worst[0]


def test_the_row_of_the_light_is_found_in_the_file(capsys):
    """Of which the head is the first line, and some may be blank; what looks like a row
    in a name is no row.
    """
    X, y = table(M=80, N=12)
    y[4] = 90
    names = ["row 900", "rows 1, 2", *"cdefghijkl"]
    pd.DataFrame(X, columns=names).assign(y=y).to_csv("data.csv", index=False)
    Path("data.csv").write_text(Path("data.csv").read_text().replace("\n", "\n\n"))
    assert exit_code(QUICK.split()) == 3
    out = unwrapped(capsys.readouterr().out)
    assert "(line 11 of the file alone makes" in out and "row 4" not in out
    assert settings()["largest_row"] == 4 and "row 900 " in out


# Columns in their roles ---------------------------------------------------------------


def clinic(path="clinic.csv", M=90, per=1):
    """A table with a name, a date, a category, gaps, and a covariate."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(M, 4)).round(6)
    data = pd.DataFrame(X, columns=list("abcd"))
    data["site"] = rng.choice(["Bonn", "Kiel", "Ulm"], p=[0.5, 0.3, 0.2], size=M)
    data["age"] = rng.integers(30, 80, size=M)
    data["patient"] = [f"P{k // per}" for k in range(M)]
    data["seen"] = "2024-05-01"
    noise = rng.normal(size=M)
    data["y"] = (X[:, 0] - X[:, 1] + (data.site == "Kiel") + noise).round(6)
    data.loc[[4, 7], "b"] = np.nan
    data.to_csv(path, index=False)
    return data


CLINIC = "select clinic.csv --target y --id patient --drop seen --resamples 0".split()
ROLES = [*CLINIC, "--categorical", "site", "--keep", "age", "--missing"]


def test_roles_are_passed_on(capsys):
    data = clinic()
    main([*ROLES, "median", "--reference", "site=Ulm", "--resamples", "20"])
    out = unwrapped(capsys.readouterr().out)
    asked = dict(id="patient", drop=["seen"], categorical=["site"], keep=["age"])
    asked |= dict(reference={"site": "Ulm"}, missing="median")
    ready = prepare_table(data, "y", **asked)
    s = StabilitySelection(n_resamples=20, verbose=0, **ready.options)
    s.fit(ready.X, ready.y)
    found = pd.read_csv("rvamp-nb-out/clinic-selection.csv", index_col="feature")
    names = list(ready.X)
    assert set(found.index) == {*"abcd", "site=Bonn", "site=Kiel", "age"}
    np.testing.assert_allclose(found.probability[names], s.probabilities_, rtol=1e-5)
    np.testing.assert_array_equal(found.selected[names], s.support_)
    assert found.status["age"] == "covariate, always in" and found.selected["age"]
    about = settings("clinic")["table"]
    assert about["gaps_filled"] == {"b": 2} and about["rows_left_out"] == 0
    assert about["categories"] == {"site": ["site=Bonn", "site=Kiel"]}
    assert about["references"] == {"site": "Ulm"} and about["kept"] == ["age"]
    many = s.support_.sum() - 1  # age is no selection
    assert out.startswith(f"{many} features selected")
    assert "; 2 gaps filled" in out and all(text in out for text in about["notes"])


def test_rows_with_gaps_are_left_out_and_named_by_their_lines(capsys):
    data = clinic()
    data.loc[10, "y"] = 300
    data.to_csv("clinic.csv", index=False)
    assert exit_code([*ROLES, "drop"]) == 3
    out = unwrapped(capsys.readouterr().out)
    assert "2 of 90 rows left out" in out and "88 rows" in out
    assert "line 12 of the file (P10) alone" in out  # the tenth after the head


def test_every_unusable_column_is_in_the_one_line(capsys):
    clinic()
    said = refused(capsys, "select", "clinic.csv", "--target", "y")
    for name in ("patient", "site", "seen", "b"):
        assert f"'{name}'" in said
    for typed in ("--categorical", "--drop", "--missing median", "--missing drop"):
        assert typed in said
    assert "'b' (2 of 90, first '' in line 6)" in said


def test_siblings_are_no_rivals(monkeypatch):
    clinic()
    written = []
    contents = rvamp_nb.cli._make_contents

    def keep(selection, *given):
        written.append(selection)
        return contents(selection, *given)

    monkeypatch.setattr(rvamp_nb.cli, "_make_contents", keep)
    main([*ROLES, "median"])
    assert written[0].categories == {"site": ["site=Kiel", "site=Ulm"]}


def test_other_files_and_other_marks(capsys):
    import gzip

    data = clinic()
    main([*ROLES, "median"])
    expected = rows("rvamp-nb-out/clinic-selection.csv")
    Path("clinic.csv.gz").write_bytes(gzip.compress(Path("clinic.csv").read_bytes()))
    line = " ".join([*ROLES, "median", "--out", "gz"])
    main(line.replace("clinic.csv", "clinic.csv.gz").split())
    assert rows("gz/clinic-selection.csv") == expected
    data.to_csv("b.csv", index=False, sep=";", decimal=",", encoding="latin-1")
    line = line.replace("clinic.csv", "b.csv") + " --sep ; --decimal ,"
    main([*line.split(), "--encoding", "latin-1"])
    assert rows("gz/b-selection.csv") == expected
    capsys.readouterr()
    assert "--sep" in refused(capsys, *line.replace("--sep ;", "--sep ;;").split())


def test_what_is_undecided_is_said_first(capsys):
    table(M=60, N=12, seed=3)
    ask = "select data.csv --target y --resamples 20 --q 4 --threshold".split()
    main([*ask, "0.75"])
    Pi = pd.read_csv("rvamp-nb-out/data-selection.csv", index_col="feature")
    out = unwrapped(capsys.readouterr().out).split(" feature Π")[0]
    near = Pi.index[(Pi.probability - 0.75).abs() <= 2 * Pi.probability_se]
    assert ("to decide" in out) == bool(len(near)) and all(name in out for name in near)
    middle = Pi[Pi.probability.between(0.55, 0.99)]
    threshold = f"{middle.probability.iloc[0]:.6f}"
    main([*ask, threshold, "--force"])
    said = unwrapped(capsys.readouterr().out)
    assert f"; too close to the threshold to decide: {middle.index[0]}" in said


def test_a_bound_can_be_chosen():
    X, y = table()
    main(
        [*QUICK.replace("--lam 0.8", "--threshold 0.8").split(), "--bound", "unimodal"]
    )
    s = StabilitySelection(n_resamples=0, threshold=0.8, bound="unimodal").fit(X, y)
    said = settings()
    assert said["bound"] == "unimodal"
    assert said["lambda_"] == pytest.approx(s.lambda_)
    assert said["pfer_bound"] == pytest.approx(s.pfer_bound_)


@pytest.mark.parametrize("part", ["picture_files", "path_table", "write_report"])
def test_what_fails_after_the_fit_does_not_take_the_answer_along(
    capsys, monkeypatch, part
):
    def fail(_, *pictures):
        if pictures != ([], report.KINDS):
            raise RecursionError("a font is missing")
        return {}

    table()
    monkeypatch.setattr(report, part, fail)
    line = f"{QUICK} --path" if part == "path_table" else f"{QUICK} --report page"
    assert exit_code(line.split()) == 3
    said = capsys.readouterr()
    assert "a font is missing" in unwrapped(said.out + said.err)
    assert len(rows("rvamp-nb-out/data-selection.csv")) == 6
    assert part == "write_report" or settings()["exit_code"] == 3


@pytest.mark.parametrize("error", [ValueError, OverflowError, MemoryError])
def test_refits_that_are_refused_are_said_and_the_table_is_there(
    capsys, monkeypatch, error
):
    def refuse(*_, **__):
        raise error("refits need the table in memory")

    monkeypatch.setattr("rvamp_nb.select.selection.refine_selection", refuse)
    table()
    assert exit_code("select data.csv --target y --lam 0.8".split()) == 3
    out = unwrapped(capsys.readouterr().out)
    assert "refits: refits need the table in memory" in out and "warning" not in out
    said = settings()
    assert said["exit_code"] == 3 and said["n_resamples"] == 0
    assert "table in memory" in said["refit_error"]
    assert len(listed()) == 3
    if error is ValueError:
        asked = "select data.csv --target y --lam 0.8 --resamples 50 --force"
        assert exit_code(asked.split()) == 2
        assert "n_resamples=50 refits cannot be made" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options, asked",
    [
        ("--loss huber", dict(loss="huber")),
        ("--l1-ratio 0.6", dict(prior=ElasticNet(1.0, l1_ratio=0.6))),
    ],
)
def test_the_estimators_language(capsys, options, asked):
    X, y = table()
    main([*"select data.csv --target y --resamples 0".split(), *options.split()])
    s = StabilitySelection(n_resamples=0, verbose=0, **asked).fit(X, y)
    plain = StabilitySelection(n_resamples=0, verbose=0).fit(X, y)
    found = pd.read_csv("rvamp-nb-out/data-selection.csv", index_col="feature")
    Pi = found.probability[[f"x{i}" for i in range(6)]]
    np.testing.assert_allclose(Pi, s.probabilities_, rtol=1e-5)
    assert abs(Pi - plain.probabilities_).max() > 1e-4
    model = {
        "huber": "Huber's robust loss",
        "squared": "model:       linear regression;",
    }
    assert model[s.loss_] in capsys.readouterr().out


@pytest.mark.parametrize("value", ["0", "1.1", "x"])
def test_a_bad_ratio_names_its_argument(capsys, value):
    line = f"select data.csv --target y --l1-ratio {value}"
    assert "--l1-ratio" in refused(capsys, *line.split())


def test_strata_are_drawn():
    data = clinic()
    line = [*ROLES, "median", "--strata", "site"]
    main(line)
    asked = dict(id="patient", drop="seen", categorical="site", keep="age")
    ready = prepare_table(data, "y", missing="median", **asked)
    s = StabilitySelection(n_resamples=0, verbose=0, **ready.options)
    s.fit(ready.X, ready.y, strata=data.site)
    found = pd.read_csv("rvamp-nb-out/clinic-selection.csv", index_col="feature")
    Pi = found.probability[list(ready.X)]
    np.testing.assert_allclose(Pi, s.probabilities_, rtol=1e-5)


def test_weights_and_offsets_go_with_their_rows():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(120, 4)).round(4), rng.integers(1, 4, size=120)
    offset = rng.normal(size=120).round(3)
    y = rng.poisson(np.exp(offset + 0.7 * X[:, 0]))
    data = pd.DataFrame(X, columns=list("abcd")).assign(w=weights, o=offset, y=y)
    data.to_csv("w.csv", index=False)
    line = "select w.csv --target y --loss poisson --resamples 0 --weights w --offset o"
    assert exit_code(line.split()) in (0, 3)
    found = pd.read_csv("rvamp-nb-out/w-selection.csv", index_col="feature")
    s = StabilitySelection(n_resamples=0, loss="poisson", verbose=0)
    Pi = s.fit(X, y, sample_weight=weights, offset=offset).probabilities_
    np.testing.assert_allclose(found.probability[list("abcd")], Pi, rtol=1e-5)
    without = s.fit(X, y).probabilities_
    assert abs(without - Pi).max() > 1e-3


@pytest.mark.parametrize(
    "y, n, words",
    [
        (9, 4, "y must be at most --trials, got 9 of 4 in line 9"),
        (1, 2.5, "--trials must hold whole numbers >= 1, got 2.5 in line 9:"),
    ],
)
def test_a_wrong_row_is_a_line_of_the_file(y, n, words, capsys):
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=[*"abc"])
    data["y"], data["n"] = np.arange(20) % 4, 4.0
    data.loc[7, ["y", "n"]] = y, n
    data.to_csv("rows.csv", index=False)
    assert exit_code("select rows.csv --target y --trials n".split()) == 2
    assert words in capsys.readouterr().err


def test_exposures_trials_and_steps_go_with_their_rows(capsys):
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(120, 3)).round(4), columns=list("abc"))
    data["grade"] = rng.choice(["low", "mid", "high"], size=120)
    high, days = (data.grade == "high") * 1.0, rng.integers(1, 90, 120)
    n = rng.integers(1, 9, 120)
    X = data[list("abc")].assign(**{"grade>=mid": (data.grade != "low") * 1.0})
    X["grade>=high"] = high
    answers = {
        "poisson --exposure days": rng.poisson(days * np.exp(0.8 * high - 3)),
        "auto --trials n": rng.binomial(n, 1 / (1 + np.exp(1 - 2 * high))),
    }
    for words, y in answers.items():
        beside = dict(days=days) if "days" in words else dict(n=n)
        data.assign(y=y, **beside).to_csv("steps.csv", index=False)
        line = f"select steps.csv --target y --loss {words} --resamples 0 --force"
        assert exit_code([*line.split(), "--ordered", "grade=low<mid < high"]) in (0, 3)
        found = pd.read_csv("rvamp-nb-out/steps-selection.csv", index_col="feature")
        rows = dict(offset=np.log(days)) if "days" in words else dict(n_trials=n)
        loss = words.split()[0]
        s = StabilitySelection(n_resamples=0, loss=loss, verbose=0)
        Pi = s.fit(X, y, **rows).probabilities_
        np.testing.assert_allclose(found.probability[list(X)], Pi, rtol=1e-5)
        assert Pi[4] > 0.9 > 0.5 > Pi[3]
    text = " ".join(capsys.readouterr().out.split())
    assert "the log odds of success" in text and "steps from one level" in text


@pytest.mark.parametrize(
    "options, words",
    [
        (["--exposure", "age"], "argument --exposure: is of counts: say"),
        (["--ordered", "age"], "argument --ordered: 'age' is not 'COLUMN=LOWEST<"),
        (["--ordered", "age=1"], "argument --ordered: 'age=1' is not 'COLUMN=LOWEST<"),
        (["--ordered", "age=1<"], "in quotation marks"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_roles_that_will_not_do_are_one_line(capsys, options, words):
    table()
    assert words in refused(capsys, "select", "data.csv", "--target", "y", *options)


def test_a_page_for_the_paper(capsys, no_effects_drawn):
    table()
    main([*QUICK.split(), "--report", "page"])
    assert "report: page\n" in capsys.readouterr().out
    frame = pd.read_csv("data.csv")
    s = StabilitySelection(n_resamples=0, lambdas=[0.8])
    s.fit(frame.drop(columns="y"), frame["y"]).report("by hand")
    names = listed("page")
    assert names == listed("by hand") and "methods.md" in names
    for name in names:
        same = Path("page", name).read_bytes() == Path("by hand", name).read_bytes()
        assert same, name
    line = f"{QUICK.replace('--target y', '--target x0')} --name b --report page"
    assert exit_code(line.split()) == 3
    said = capsys.readouterr().err
    assert "another question" in said and said.count("choose") == 1
    assert "report cannot be written to page" in said
    assert "b-selection.csv" in listed()  # the answer is there
    line = [*QUICK.split(), "--force", "--report", "data.csv"]
    assert "argument --report" in refused(capsys, *line)


def test_whole_groups_are_drawn(capsys):
    data = clinic(M=120, per=3)
    line = [*ROLES, "median"]
    main(line)
    asked = unwrapped(capsys.readouterr().out)
    assert "40 of the values of 'patient' come more than once" in asked
    assert "--groups patient" in asked and "needs independent" in asked
    main([*line, "--groups", "patient", "--force"])
    out = unwrapped(capsys.readouterr().out)
    assert "more than once" not in out and "needs independent groups" in out
    roles = dict(id="patient", drop="seen", categorical="site", keep="age")
    ready = prepare_table(data, "y", missing="median", groups="patient", **roles)
    s = StabilitySelection(n_resamples=0, verbose=0, **ready.options)
    s.fit(ready.X, ready.y, groups=data["patient"])
    found = pd.read_csv("rvamp-nb-out/clinic-selection.csv", index_col="feature")
    Pi = found.probability[list(ready.X)]
    np.testing.assert_allclose(Pi, s.probabilities_, rtol=1e-5)


def test_a_time_and_an_event(capsys):
    from rvamp_nb.course.survival import simulated_survival

    A, y = simulated_survival(M=150, N=5, seed=1)
    X = (10 * A).round(5)
    data = pd.DataFrame(X, columns=list("abcde"))
    data = data.assign(days=y["time"], died=y["event"].astype(int))
    data.to_csv("s.csv", index=False)
    main("select s.csv --time days --event died --resamples 0".split())
    out = unwrapped(capsys.readouterr().out)
    assert "model: Cox's" in out and "change of the log hazard per unit" in unwrapped(
        out
    )
    assert settings("s")["target"] == "days, died"
    Pi = (
        StabilitySelection(n_resamples=0, loss="survival", verbose=0)
        .fit(X, y)
        .probabilities_
    )
    found = pd.read_csv("rvamp-nb-out/s-selection.csv", index_col="feature")
    np.testing.assert_allclose(found.probability[list("abcde")], Pi, rtol=1e-5)
    for line, words in (
        ("--time days", "--time and --event go together"),
        ("--time days --event a", "--event a=WORD says which of"),
        ("--time days --event died --target a", "say what to explain"),
        ("--time days --event died --loss logistic", "say loss='survival'"),
        ("--target days --loss survival", "survival needs --time and --event"),
        ("--time dies --event died", "no column 'dies'"),
        ("--target a --entry b", "--entry is for survival"),
        ("--time days --event died --entry days", "cannot have the roles"),
        ("--time days --event died --entry a", "start must be"),
    ):
        said = refused(capsys, "select", "s.csv", *line.split(), "--force")
        assert words in said, line


def test_late_entries_and_sites_with_a_hazard_each(capsys):
    from rvamp_nb.course.survival import simulated_survival

    A, y = simulated_survival(M=150, N=5, seed=1)
    X, site = (10 * A).round(5), np.arange(150) % 3
    start = (y["time"] * (site + 0.5) / 4).round(1)
    data = pd.DataFrame(X, columns=list("abcde"))
    data = data.assign(start=start, days=y["time"], died=y["event"] * 1, site=site)
    data.to_csv("late.csv", index=False)
    roles = "--time days --event died --entry start --strata site --resamples 0"
    main(f"select late.csv {roles}".split())
    assert "stratified Cox model, one baseline in each of 3 strata" in unwrapped(
        capsys.readouterr().out
    )
    assert settings("late")["target"] == "start, days, died"
    s = StabilitySelection(n_resamples=0, loss="survival", verbose=0)
    s.fit(X, np.column_stack([start, y["time"], y["event"]]), strata=site)
    found = pd.read_csv("rvamp-nb-out/late-selection.csv", index_col="feature")
    Pi = found.probability[list("abcde")]
    np.testing.assert_allclose(Pi, s.probabilities_, rtol=1e-5)


# Before there is a table --------------------------------------------------------------

PLAN = "plan --features 60 --effects 3 --size 1 --threshold 0.7".split()


def test_a_plan_is_printed_as_the_library_computes_it(capsys, tmp_path):
    main(PLAN)
    text = capsys.readouterr().out
    study = rvamp_nb.plan_study(60, 3, 1, threshold=0.7)
    assert text.startswith(f"{study.rows} rows find {study.true_selections:.3g} of 3")
    assert f"--threshold 0.7 --pfer {study.pfer:.3g};\na resample, half" in text
    assert max(map(len, text.splitlines())) <= 88
    assert not list(tmp_path.iterdir())


def like_genes(n_features):
    """Fifty rows of features of which ten factors make half of the variance."""
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(10, n_features))
    loadings /= np.sqrt(2) * np.linalg.norm(loadings, axis=0)
    rng = np.random.default_rng(0)
    common = rng.normal(size=(50, 10)) @ loadings
    return common + np.sqrt(0.5) * rng.normal(size=common.shape)


def test_a_plan_like_a_pilot(capsys, tmp_path, monkeypatch):
    """As of the array in Python; what is left out of the file is named."""
    fewer = partial(rvamp_nb.plan_study, n_studies=8)
    monkeypatch.setattr(rvamp_nb, "plan_study", fewer)
    X = like_genes(30)
    frame = pd.DataFrame(X, columns=[f"g{i}" for i in range(30)])
    frame.insert(7, "batch", ["a", "b"] * 25)
    frame.to_csv(tmp_path / "pilot.csv", index=False)
    asked = "plan --effects 3 --size 1 --threshold 0.7 --json --pilot".split()
    main([*asked, str(tmp_path / "pilot.csv")])
    said = json.loads(capsys.readouterr().out)
    with pytest.warns(UserWarning, match="correlate beyond its 2 factors"):
        study = rvamp_nb.plan_study(30, 3, 1, pilot=X, threshold=0.7)
    assert said["answer"]["rows"] == study.rows  # and the same draws
    assert said["answer"]["power"] == pytest.approx(study.power, rel=1e-5)
    assert said["answer"]["n_simulated"] == study.n_simulated >= 8
    assert said["asked"]["features"] == 30
    assert said["left_out"] == ["batch"]
    # as text, and not by a third plan of the same, which takes seconds
    monkeypatch.setattr(rvamp_nb, "plan_study", lambda *_, **__: study)
    main([*asked[:-2], "--pilot", str(tmp_path / "pilot.csv")])
    text = capsys.readouterr().out
    assert "left out of the pilot" in text and "batch" in text and "simulated" in text
    assert max(map(len, text.splitlines())) <= 88


def test_a_column_of_the_pilot_that_is_no_feature_is_dropped(
    capsys, tmp_path, monkeypatch
):
    planned = partial(rvamp_nb.plan_study, n_studies=0)  # the plan is not the point
    monkeypatch.setattr(rvamp_nb, "plan_study", planned)
    frame = pd.DataFrame(like_genes(60))
    frame = frame.add_prefix("g").assign(dose=np.arange(50) % 7)
    frame.to_csv(tmp_path / "pilot.csv", index=False)
    asked = "plan --effects 3 --size 1 --threshold 0.7 --json --drop dose".split()
    main([*asked, "--pilot", str(tmp_path / "pilot.csv")])
    assert json.loads(capsys.readouterr().out)["asked"]["features"] == 60
    with pytest.raises(SystemExit) as stop:
        main([*asked, "--features", "60"])
    assert stop.value.code == 2 and "--drop" in capsys.readouterr().err


def test_a_plan_as_json(capsys):
    main([*PLAN, "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["asked"]["features"] == 60 and said["exit_code"] == 0
    rows = [study["rows"] for study in said["other_sizes"]]
    power = [study["power"] for study in said["other_sizes"]]
    assert said["answer"]["rows"] in rows and said["answer"]["power"] >= 0.8
    assert rows == sorted(rows) and power == sorted(power)


@pytest.mark.parametrize(
    "options, word",
    [
        ("--features 300 --effects 5", "--size"),
        ("--effects 5 --size 1", "--features"),
        ("--effects 5 --size 1 --pilot nowhere.csv", "nowhere.csv"),
        ("--features 3 --effects 5 --size 1", "n_effects"),
        ("--features 300 --effects 5 --size 0", "--size"),
        ("--features 3.5 --effects 5 --size 1", "--features"),
        ("--features 300 --effects 5 --size 1 --power 1", "--power"),
        ("--features 300 --effects 5 --size 1 --threshold 0.4", "--threshold"),
        ("--features 300 --effects 5 --size 1 --pfer -1", "--pfer"),
        ("--features 300 --effects 5 --size 1 --drop y", "--drop"),
    ],
)
def test_a_plan_that_makes_no_sense_is_one_line(capsys, options, word):
    with pytest.raises(SystemExit) as stop:
        main(["plan", *options.split()])
    out, err = capsys.readouterr()
    assert stop.value.code == 2 and not out
    assert word in err and err.count("\n") == 1


def test_no_plan_is_exit_code_4(capsys):
    with pytest.raises(SystemExit) as stop:
        main("plan --features 40 --effects 2 --size 0.01 --max-rows 32".split())
    out, err = capsys.readouterr()
    assert stop.value.code == 4
    assert out.startswith("no plan up to --max-rows 32") and "raise max_rows" in err


def test_a_plan_never_prints_a_limit_as_an_answer(capsys):
    main("plan --features 1000 --effects 10 --size 0.35 --max-rows 500".split())
    out = capsys.readouterr().out
    assert out.startswith("335 rows find 8 of 10") and "no plan" not in out
    assert "500 rows" not in out
    with pytest.raises(SystemExit) as stop:
        main("plan --features 100 --effects 4 --size 0.6 --pfer 0.1".split())
    out, err = capsys.readouterr()
    assert stop.value.code == 2 and not out
    assert "no number of rows" in err and "raise pfer above 0.174" in err


def test_help_of_plan(capsys):
    with pytest.raises(SystemExit):
        main("plan --help".split())
    text = capsys.readouterr().out
    for argument in ("--features", "--effects", "--size", "--json", "exit codes:"):
        assert argument in text
    assert max(map(len, text.splitlines())) <= 88


# Rows that repeat each other, Parquet, and a matrix -----------------------------------


def of(name):
    """The table of results of this name, without what is about the names."""
    return pd.read_csv(f"rvamp-nb-out/{name}-selection.csv").set_index("feature")


def test_rows_that_repeat_each_other_are_code_3(capsys):
    """Refits do not mend that the bound takes rows as independent."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 30)), 3, axis=0)
    frame = pd.DataFrame(X + 1e-3 * rng.normal(size=X.shape)).add_prefix("x")
    frame.assign(dose=X[:, 0] + rng.normal(size=60)).to_csv("t.csv", index=False)
    with pytest.raises(SystemExit) as stop:
        main("select t.csv --target dose --resamples 20".split())
    assert stop.value.code == 3
    out = unwrapped(capsys.readouterr().out)
    first = out.split("t: 60 rows")[0]
    assert "lines 2, 3, 4 of the file look like repeated samples" in out
    assert "if rows were independent, but some look like repeats" in first


def test_what_the_light_names_has_its_line_and_its_label(capsys):
    """A row its line and its --id, a group its label, a wrong entry its line."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 8))).add_prefix("m")
    frame["patient"] = [f"P{k}" for k in rng.permutation(80)]
    frame["pair"] = np.repeat(np.arange(1, 41), 2)
    frame["y"] = frame.m0 + rng.normal(size=80)
    frame.loc[7, "y"] = 90
    ask = "select t.csv --target y --resamples 0 --force --id patient"
    for more, wanted in [
        ("--drop pair", f"line 9 of the file ({frame.patient[7]}) alone makes"),
        ("--groups pair", "group 4 alone makes"),
    ]:
        frame.to_csv("t.csv", index=False)
        with pytest.raises(SystemExit):
            main(f"{ask} {more}".split())
        assert wanted in unwrapped(capsys.readouterr().out)
    frame["end"], frame["start"], frame["died"] = 2.0, 1.0, 1
    frame.loc[5, "start"] = -1.0
    frame.drop(columns=["patient", "pair", "y"]).to_csv("t.csv", index=False)
    with pytest.raises(SystemExit):
        main("select t.csv --time end --event died --entry start --force".split())
    assert "start must be >= 0, got -1 in line 7" in unwrapped(capsys.readouterr().err)


def test_parquet_is_a_table():
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(60, 40))).add_prefix("x")
    wide = wide.assign(dose=2 * wide.x3 - wide.x8 + rng.normal(size=60)).iloc[::-1]
    wide.to_parquet("P.parquet")
    wide.to_csv("C.csv", index=False)
    for file in ("P.parquet", "C.csv"):
        main(f"select {file} --target dose --resamples 0".split())
    pd.testing.assert_frame_equal(of("P"), of("C"))


def test_a_matrix_is_for_python(capsys):
    np.save("A.npy", np.eye(6))
    Path("A.zarr").mkdir()
    said = refused(capsys, "select", "A.npy", "--target", "y")
    assert "it is a matrix without names: fit it in Python" in said
    assert "cannot read A.zarr" in refused(capsys, "select", "A.zarr", "--target", "y")
    said = refused(capsys, *"plan --effects 3 --size 1 --pilot A.npy".split())
    assert "cannot read A.npy (it is a matrix" in said


def test_groups_of_columns(tmp_path):
    """`--group` and `--group-levels` are `column_groups` of the estimator."""
    draw = np.random.default_rng(0)
    data = pd.DataFrame(draw.normal(size=(120, 5)), columns=list("abcde"))
    data["site"] = draw.choice(["x", "y", "z"], 120)
    data["a2"] = data["a"] ** 2
    data["out"] = 2 * data["a2"] + data["site"].map(dict(x=0, y=2, z=-2)) + data["b"]
    data["out"] += draw.normal(size=120)
    data.to_csv(tmp_path / "t.csv", index=False)
    line = f"select {tmp_path / 't.csv'} --target out --categorical site --no-refits"
    line += f" --group bend=a,a2 --group-levels --out {tmp_path / 'o'} --pfer 2"
    main(line.split())
    found = pd.read_csv(tmp_path / "o/t-selection.csv", index_col="feature")
    levels = found.index[found.index.str.startswith("site=")]
    assert (found.group[levels] == "site").all() and len(levels) == 2
    assert found.probability[levels].nunique() == 1
    assert found.probability["a"] == found.probability["a2"]
    settings = json.loads((tmp_path / "o/t-selection.json").read_text())
    assert settings["n_column_groups"] == 2 and settings["n_candidates"] == 6
    # the name of a category stands for its levels
    other = line.replace("--group-levels", "--group site=site --force")
    main(other.split())
    again = pd.read_csv(tmp_path / "o/t-selection.csv", index_col="feature")
    pd.testing.assert_frame_equal(found, again)


@pytest.mark.parametrize(
    "line, message",
    [
        ("--group a,b", "'a,b' is not NAME=COLUMN,COLUMN"),
        ("--group g=a,", "is not NAME=COLUMN,COLUMN"),
        ("--group g=a,bb", "column_groups names 'bb', which is no column of X"),
        ("--group g=a --group h=a,b", "'a' is in two sets"),
        ("--group g=a --group g=b", "there are two groups 'g'"),
        ("--group-levels", "no column has several levels"),
    ],
)
def test_groups_of_columns_that_will_not_do(tmp_path, capsys, line, message):
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=[*"aby"])
    data.to_csv(tmp_path / "t.csv", index=False)
    line = f"select {tmp_path / 't.csv'} --target y --out {tmp_path / 'o'} {line}"
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    assert ended.value.code == 2
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("option", ["--report", "--out"])
def test_a_folder_without_a_name_is_not_the_working_folder(capsys, option):
    table()
    before = sorted(Path().iterdir())
    line = refused(capsys, "select", "data.csv", "--target", "y", option, " ")
    assert f"argument {option}: ' ' names no folder" in line
    assert sorted(Path().iterdir()) == before


# Effects ------------------------------------------------------------------------------


def test_effects_of_what_is_selected(capsys):
    X, y = table(extra=[("one", np.ones(150)), ("age", np.arange(150) % 7)])
    line = "select data.csv --target y --keep age --resamples 0 --effects"
    assert exit_code(line.split()) == 0
    screen = unwrapped(capsys.readouterr().out)
    assert "estimate ci_low ci_high p_value reason" in screen
    assert "selected falsely on the same rows a tenth hold" in screen
    assert "effects: rvamp-nb-out/data-effects.csv" in screen
    assert settings()["files"][-2:] == ["data-effects.csv", "data-effects.png"]
    assert Path("rvamp-nb-out/data-effects.png").read_bytes()[1:4] == b"PNG"
    found = pd.read_csv("rvamp-nb-out/data-effects.csv", index_col="feature")
    frame = pd.read_csv("data.csv").drop(columns="y")
    s = StabilitySelection(n_resamples=0, verbose=0, penalty_factor={"age": 0})
    with pytest.warns(UserWarning, match="constant"):
        s.fit(frame, y)
    expected = s.debiased_effects().summary()
    assert [*found.index] == [*s.get_feature_names_out()] and "age" in found.index
    np.testing.assert_allclose(found.estimate, expected.estimate, rtol=1e-5)
    assert exit_code([*QUICK.split(), "--name", "without"]) == 0
    assert not {"without-effects.csv", "without-effects.png"} & set(listed())


def test_effects_of_classes_are_odds_ratios(capsys):
    _, y = table("plain.csv")
    frame = pd.read_csv("plain.csv").assign(y=np.where(y > 0, "well", "ill"))
    frame.to_csv("data.csv", index=False)
    assert exit_code([*QUICK.split(), "--effects"]) == 0
    assert "odds_ratio odds_low odds_high p_value" in unwrapped(capsys.readouterr().out)
    found = pd.read_csv("rvamp-nb-out/data-effects.csv", index_col="feature")
    np.testing.assert_allclose(found.odds_ratio, np.exp(found.estimate), rtol=1e-4)


def test_effects_that_are_not_known_leave_the_list(capsys):
    table()
    assert exit_code([*QUICK.split(), "--effects", "--loss", "huber"]) == 3
    reason = (
        "no effects are written: no effects are known with huber: give loss='squared'"
    )
    assert reason in unwrapped(capsys.readouterr().out)
    assert settings()["exit_code"] == 3 and "data-selection.csv" in listed()
    assert not any("effects" in name for name in listed())
