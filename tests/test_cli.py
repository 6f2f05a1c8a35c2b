"""The command rvamp-nb: its answers, its files, and one line with exit code 2 for what will not do."""
import csv
import importlib
import os
import re
import subprocess
import sys
import time
from configparser import ConfigParser
from pathlib import Path

import numpy as np
import pytest

import rvamp_nb
from rvamp_nb.bootstrap import naive_bootstrap
from rvamp_nb.cli import BadInput, main, read_table
from rvamp_nb.datasets import choose_lambda, load_diabetes, standardize
from rvamp_nb.solver import rvamp

ROOT = Path(__file__).resolve().parent.parent
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def table(path="data.csv", M=40, N=6, extra=(), seed=0):
    "A table whose target is column y, with a feature or two that matter; extra columns as (name, cells)."
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(M, N))
    y = 2 * X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=M)
    columns = [*((f"x{i}", X[:, i]) for i in range(N)), *extra, ("y", y)]
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([[name for name, _ in columns], *zip(*(cells for _, cells in columns))])
    return X, y


def rows(path):
    with open(path, newline="", encoding="utf-8") as file: return list(csv.DictReader(file))


def run(*argv):
    "The command in a process of its own, as a user's shell would start it."
    command = [sys.executable, "-c", "from rvamp_nb.cli import main; main()", *argv]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"})


# The main job ----------------------------------------------------------------------------------------------------------------------------

def test_the_main_job(tmp_path):
    start = time.time()
    done = run()
    assert time.time() - start < 30
    assert done.returncode == 0, done.stderr
    for words in ("442 rows, 64 features", "cross-validation", "Π rVAMP", "Π refits ± s.e.", "mean", "sd", "rVAMP: converged", "refits: 200 in", "bmi"):
        assert words in done.stdout
    assert re.search(r"refits: +100%.*200/200", done.stderr) and "arning" not in done.stderr and "Traceback" not in done.stderr
    picture = Path(re.search(r"^picture: (.+)$", done.stdout, re.MULTILINE)[1])
    assert not picture.is_absolute() and (tmp_path / picture).read_bytes().startswith(PNG)
    assert str(tmp_path) not in done.stdout + done.stderr and str(ROOT) not in done.stdout + done.stderr


def test_the_main_job_prints_what_the_library_computes(capsys):
    main([])
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("bp "))
    numbers = [float(x) for x in re.findall(r"-?\d[\d.e+-]*", line)]
    data = load_diabetes()
    lam, i = choose_lambda(data.A, data.y), data.names.index("bp")
    fit, refits = rvamp(data.A, data.y, lam), naive_bootstrap(data.A, data.y, lam, n_resamples=200, progress=False)
    np.testing.assert_allclose(numbers, [fit.Pi[i], refits.Pi[i], refits.Pi_se[i], fit.mean[i], np.sqrt(fit.var[i])], rtol=1e-3, atol=5e-4)


def test_it_is_installed_as_a_command():
    settings = ConfigParser(delimiters=["="])
    settings.read(ROOT / "settings.ini", encoding="utf-8")
    command, place = settings["DEFAULT"]["console_scripts"].split("=")
    module, function = place.split(":")
    assert command == "rvamp-nb" and getattr(importlib.import_module(module), function) is main


# A table of the user's -------------------------------------------------------------------------------------------------------------------

def test_select_writes_all_features_in_order(capsys):
    X, y = table()
    main(["select", "data.csv", "--target", "y", "--naive", "50", "--out", "deep/results", "--seed", "5"])
    A, centred = standardize(X, y)
    lam = choose_lambda(A, centred, seed=5)
    fit, refits = rvamp(A, centred, lam), naive_bootstrap(A, centred, lam, n_resamples=50, seed=5, progress=False)
    written = rows("deep/results/data-selection.csv")
    assert list(written[0]) == ["feature", "Pi_rvamp", "Pi_refits", "Pi_refits_se", "mean", "sd"] and len(written) == 6
    assert [float(r["Pi_rvamp"]) for r in written] == sorted((float(r["Pi_rvamp"]) for r in written), reverse=True)
    for row in written:
        i = int(row["feature"][1:])
        expected = fit.Pi[i], refits.Pi[i], refits.Pi_se[i], fit.mean[i], np.sqrt(fit.var[i])
        np.testing.assert_allclose([float(v) for v in list(row.values())[1:]], expected, rtol=2e-5)
    assert Path("deep/results/data-selection.png").read_bytes().startswith(PNG)
    out = capsys.readouterr().out
    assert "table: deep/results/data-selection.csv" in out and "picture: deep/results/data-selection.png" in out and "40 rows, 6 features" in out


def test_defaults_of_select(capsys):
    table()
    main(["select", "data.csv", "--target", "y"])
    assert "refits: 200 in" in capsys.readouterr().out
    assert sorted(p.name for p in Path("rvamp-nb-out").iterdir()) == ["data-selection.csv", "data-selection.png"]


def test_no_refits(capsys):
    table()
    main(["select", "data.csv", "--target", "y", "--naive", "0", "--lam", "0.8"])
    shown = capsys.readouterr()
    assert "refits" not in shown.out and shown.err == "" and "λ = 0.8, given" in shown.out
    assert list(rows("rvamp-nb-out/data-selection.csv")[0]) == ["feature", "Pi_rvamp", "mean", "sd"]
    assert Path("rvamp-nb-out/data-selection.png").read_bytes().startswith(PNG)


def test_a_constant_column_has_probability_0_and_one_clean_line(capsys):
    table(extra=[("batch", [3.0] * 40)])
    main(["select", "data.csv", "--target", "y", "--naive", "20"])
    warnings = [line for line in capsys.readouterr().err.replace("\r", "\n").splitlines() if "arning" in line]
    assert len(warnings) == 1 and warnings[0].startswith("rvamp-nb: warning: ") and "batch" in warnings[0] and ".py" not in warnings[0]
    batch = next(r for r in rows("rvamp-nb-out/data-selection.csv") if r["feature"] == "batch")
    assert float(batch["Pi_rvamp"]) == float(batch["Pi_refits"]) == float(batch["mean"]) == 0


def test_not_converging_is_said_in_the_report(capsys, monkeypatch):
    import rvamp_nb.cli as cli

    monkeypatch.setattr(cli, "rvamp", lambda *arguments: rvamp(*arguments, max_iter=2))
    table()
    main(["select", "data.csv", "--target", "y", "--naive", "0"])
    shown = capsys.readouterr()
    assert "rVAMP: not converged" in shown.out and "What to try" in shown.out and shown.err == ""


def test_the_seed_is_used_and_nothing_else_moves():
    table()
    seen = []
    for seed in ("1", "1", "2"):
        main(["select", "data.csv", "--target", "y", "--lam", "0.8", "--naive", "30", "--seed", seed])
        seen.append(rows("rvamp-nb-out/data-selection.csv"))
    assert seen[0] == seen[1]
    moved = {k for a, b in zip(seen[0], seen[2]) for k in a if a[k] != b[k]}
    assert moved == {"Pi_refits", "Pi_refits_se"}


@pytest.mark.parametrize("M", [2, 3, 12])
def test_few_rows_are_enough_to_run(M):
    table(M=M, N=3)
    main(["select", "data.csv", "--target", "y", "--naive", "10"])
    assert len(rows("rvamp-nb-out/data-selection.csv")) == 3


def test_the_table_is_read_as_it_was_written():
    "A mark at the start, line ends of another system, spaces, quotes, blank lines, odd names."
    Path("odd.csv").write_bytes('\ufeff"a, b" , µ$x$,y\r\n 1, 2,3\r\n\r\n4,"5",1e1\r\n-7,8.5,+9\r\n'.encode())
    A, y, names = read_table("odd.csv", "y")
    assert names == ("a, b", "µ$x$") and y.tolist() == [3, 10, 9]
    np.testing.assert_array_equal(A, [[1, 2], [4, 5], [-7, 8.5]])
    main(["select", "odd.csv", "--target", "y", "--naive", "5"])


def test_the_target_may_be_any_column():
    A, y, names = read_table_of("p,q,r\n1,2,3\n4,5,6.5\n", "q")
    assert names == ("p", "r") and y.tolist() == [2, 5] and A.tolist() == [[1, 3], [4, 6.5]]


def read_table_of(text, target):
    Path("text.csv").write_text(text)
    return read_table("text.csv", target)


def test_input_is_never_overwritten():
    table("x-selection.csv")
    before = Path("x-selection.csv").read_bytes()
    main(["select", "x-selection.csv", "--target", "y", "--naive", "0", "--out", "."])
    assert Path("x-selection.csv").read_bytes() == before and Path("x-selection-selection.csv").exists()


# What will not do ------------------------------------------------------------------------------------------------------------------------

BAD_TABLES = {  # text, target, what the line must name, what it must advise
    "empty": ("", "y", ["bad.csv"], "names of the columns"),
    "only a header": ("a,y\n", "y", ["0 rows"], "at least 2"),
    "one row": ("a,y\n1,2\n", "y", ["1 row "], "at least 2"),
    "no such column": ("a,y\n1,2\n2,3\n", "z", ["--target", "'z'", "'a', 'y'"], "only"),
    "other case": ("a,Y\n1,2\n2,3\n", "y", ["--target", "'Y'"], "only"),
    "semicolons": ("a;y\n1;2\n2;3\n", "y", ["--target"], "commas"),
    "text in a feature": ("a,b,y\n1,x,2\n2,z,3\n", "y", ["'b'", "line 2", "'x'"], "0/1"),
    "decimal comma": ('a,y\n"1,5",2\n2,3\n', "y", ["'a'", "line 2", "'1,5'"], "not a number"),
    "text in the target": ("a,y\n1,2\n2,low\n", "y", ["'y'", "line 3", "'low'"], "not a number"),
    "missing": ("a,y\n1,2\n,3\n", "y", ["'a'", "line 3", "missing"], "fill it in"),
    "NA": ("a,y\n1,2\nNA,3\n", "y", ["'a'", "line 3", "missing"], "fill it in"),
    "nan": ("a,y\n1,2\n2,nan\n", "y", ["'y'", "line 3", "missing"], "fill it in"),
    "infinite": ("a,y\n1,2\n-inf,3\n", "y", ["'a'", "line 3"], "not a finite number"),
    "overflow": ("a,y\n1,2\n1e999,3\n", "y", ["'a'", "line 3"], "not a finite number"),
    "constant target": ("a,y\n1,2\n2,2\n", "y", ["'y'", "same value"], "--target"),
    "constant features": ("a,b,y\n1,3,2\n1,3,4\n", "y", ["features", "constant"], "add a column"),
    "target alone": ("y\n1\n2\n", "y", ["'y'", "only column"], "add"),
    "two columns of one name": ("a,a,y\n1,2,3\n2,3,4\n", "y", ["'a'"], "rename"),
    "two targets": ("a,y,y\n1,2,3\n2,3,4\n", "y", ["'y'"], "rename"),
    "a column without a name": (",a,y\n1,2,3\n2,3,4\n", "y", ["column 1", "no name"], "give it one"),
    "a row too short": ("a,b,y\n1,2,3\n2,3\n", "y", ["line 3", "2 values for 3"], "mend"),
    "a row too long": ("a,y\n1,2\n2,3,4\n", "y", ["line 3", "3 values for 2"], "mend"),
    "target too large": ("a,y\n1,1e150\n2,-1e150\n", "y", ["'y'"], "unit"),
    "nothing to find": ("a,y\n1,1\n1,-1\n-1,1\n-1,-1\n", "y", ["no feature"], "--lam"),
}


def refused(capsys, *argv):
    "The one line of a refusal, after which nothing new is in the folder."
    before = sorted(Path().rglob("*"))
    with pytest.raises(SystemExit) as stop: main(list(argv))
    shown = capsys.readouterr()
    assert stop.value.code == 2 and shown.out == "" and sorted(Path().rglob("*")) == before
    assert shown.err.count("\n") == 1 and shown.err.startswith("rvamp-nb")
    return shown.err


@pytest.mark.parametrize("what", BAD_TABLES)
def test_a_bad_table_is_one_line(capsys, what):
    text, target, named, advice = BAD_TABLES[what]
    Path("bad.csv").write_text(text)
    line = refused(capsys, "select", "bad.csv", "--target", target, "--naive", "3")
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


@pytest.mark.parametrize("argument, value", [("--lam", "0"), ("--lam", "-1"), ("--lam", "nan"), ("--lam", "inf"), ("--lam", "much"), ("--naive", "-1"), ("--naive", "2.5"),
                                             ("--naive", "many"), ("--seed", "-3"), ("--seed", "x"), ("--seed", "99999999999")])
def test_bad_numbers_name_their_argument(capsys, argument, value):
    table()
    line = refused(capsys, "select", "data.csv", "--target", "y", f"{argument}={value}")
    assert argument in line and repr(value) in line


@pytest.mark.parametrize("argv", [["select"], ["select", "data.csv"], ["select", "--target", "y"], ["pick"], ["data.csv"], ["--target", "y"], ["select", "data.csv", "--target", "y", "--fast"]], ids=" ".join)
def test_bad_usage_is_one_line(capsys, argv):
    table()
    assert "--help" in refused(capsys, *argv)


def test_a_folder_that_cannot_be_written(capsys, monkeypatch):
    table()
    for out in ("data.csv", "data.csv/deeper"):
        line = refused(capsys, "select", "data.csv", "--target", "y", "--out", out)
        assert "--out" in line and "choose another" in line
    Path("locked").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: False)                    # as it is for a user who is not root
    assert "argument --out: no permission to write to locked" in refused(capsys, "select", "data.csv", "--target", "y", "--out", "locked")
    with pytest.raises(SystemExit): main([])                                       # the main job looks, too
    assert "--out" in capsys.readouterr().err


def test_a_disk_that_fails_late_is_one_line(capsys):
    table()
    Path("results/data-selection.csv").mkdir(parents=True)                         # a folder where the table should go
    with pytest.raises(SystemExit) as stop: main(["select", "data.csv", "--target", "y", "--naive", "0", "--out", "results"])
    assert stop.value.code == 2 and capsys.readouterr().err.count("\n") == 1


def test_a_refusal_of_the_library_is_a_value_error():
    with pytest.raises(BadInput, match="no name"): read_table_of(",a\n1,2\n3,4\n", "a")
    assert issubclass(BadInput, ValueError)


# Manners ---------------------------------------------------------------------------------------------------------------------------------

def test_version_and_help(capsys):
    for argv, words in ((["--version"], f"rvamp-nb {rvamp_nb.__version__}"), (["--help"], "select"), (["select", "--help"], "--target COLUMN")):
        with pytest.raises(SystemExit) as stop: main(argv)
        assert stop.value.code == 0 and words in capsys.readouterr().out


def test_help_is_quick_and_explains_every_argument(capsys):
    with pytest.raises(SystemExit): main(["select", "--help"])
    text = capsys.readouterr().out
    for argument in ("FILE.csv", "--target", "--lam", "--naive", "--out", "--seed", "constant", "exit code 2", "unit norm"): assert argument in text
    script = "import sys\nfrom rvamp_nb.cli import main\ntry: main(['--help'])\nexcept SystemExit: print({'sklearn', 'matplotlib', 'pandas'} & {m.split('.')[0] for m in sys.modules})"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout.endswith("set()\n")


def test_drawing_leaves_matplotlib_as_it_was(tmp_path):
    script = ("import sys, matplotlib as mpl\nfrom rvamp_nb.cli import main\nmpl.rcParams.update({'font.size': 5, 'axes.spines.top': True})\nmain([])\n"
              "print(mpl.rcParams['font.size'], mpl.rcParams['axes.spines.top'], 'matplotlib.pyplot' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8", check=True, env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"})
    assert done.stdout.splitlines()[-1] == "5.0 True False"


def test_a_terminal_without_greek_is_no_reason_to_fail():
    table()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-c", "from rvamp_nb.cli import main; main()", "select", "data.csv", "--target", "y", "--naive", "3"]
    done = subprocess.run(command, capture_output=True, env=env)
    assert done.returncode == 0 and b"? rVAMP" in done.stdout
