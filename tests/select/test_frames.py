"""A table as it comes: read strictly, its columns in their roles, its gaps and
categories as asked, and all that will not do in one line.
"""

import datetime
import gzip
import hashlib
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rvamp_nb import StabilitySelection
from rvamp_nb.select import readers
from rvamp_nb.select.frames import prepare_table
from rvamp_nb.select.readers import InputError, in_python, read_frame


def frame(M=30, seed=0):
    """A table with a column of every kind."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "patient": [f"p{k}" for k in range(M)],
            "age": rng.integers(30, 80, size=M),
            "crp": rng.normal(size=M).round(3),
            "site": rng.choice(["A", "B", "C"], p=[0.2, 0.5, 0.3], size=M),
            "grade": rng.choice([1, 2, 3], size=M),
            "y": rng.normal(size=M).round(3),
        }
    )


ROLES = dict(target="y", id="patient", categorical=["site", "grade"])
GRADES = {"grade": [1, 2, 3]}


def refused(*args, **asked):
    """The one line of a refusal."""
    with pytest.raises(InputError) as said:
        prepare_table(*args, **asked)
    assert "\n" not in str(said.value)
    return str(said.value)


# Reading ------------------------------------------------------------------------------


def test_the_same_table_in_every_format_is_the_same_table(tmp_path):
    data = frame()
    text = data.to_csv(index=False)
    comma = text.replace(",", ";").replace(".", ",")
    wide = data.to_csv(index=False, sep="\t").encode("utf-16")
    files = {  # name, bytes, how it is read
        "a.csv": (text.encode(), {}),
        "a.tsv": (data.to_csv(index=False, sep="\t").encode(), {}),
        "a.csv.gz": (gzip.compress(text.encode()), {}),
        "b.txt": (comma.encode(), dict(sep=";", decimal=",")),
        "c.txt": (wide, dict(encoding="utf-16")),
        "d.csv": (("\ufeff" + text).replace("\n", "\r\n").encode(), {}),
    }
    expected = prepare_table(data, **ROLES)
    for name, (content, how) in files.items():
        path = tmp_path / name
        path.write_bytes(content)
        found = prepare_table(read_frame(path, **how), **ROLES)
        pd.testing.assert_frame_equal(
            found.X.reset_index(drop=True), expected.X, check_names=False
        )
        np.testing.assert_array_equal(found.y, expected.y)
        assert list(found.X.index) == list(range(2, 32))  # lines of the file
        sha256 = hashlib.sha256(content).hexdigest()
        assert read_frame(path, **how).attrs["sha256"] == sha256


@pytest.mark.parametrize(
    "text, names, lines",
    [
        ("sep=;\na;y\n1;2\n3;4\n", ["a", "y"], [3, 4]),
        ("a;y\n1;2\n3;4\n", ["a", "y"], [2, 3]),
        ('"SEP=\t"\r\na\ty\r\n1\t2\r\n3\t4\r\n', ["a", "y"], [3, 4]),
        ("# made by, a lab\n#\n\na,c,y\n1,5,2\n3,5,4\n", ["a", "c", "y"], [5, 6]),
        ("#a,y\n1,2\n3,4\n", ["#a", "y"], [2, 3]),
        ("# v1\n#a\ty\n\n1\t2\n3\t4\n", ["#a", "y"], [4, 5]),
        ("#y\n1\n3\n", ["#y"], [2, 3]),
        ("# y\ny\n1\n3\n", ["y"], [3, 4]),
        ('a  "b b" y\n1 5 2\n 3   5 4 \n', ["a", "b b", "y"], [2, 3]),
        ("disease progression\n1\n3\n", ["disease progression"], [2, 3]),
    ],
)
def test_a_file_is_read_as_what_it_is(tmp_path, text, names, lines):
    (tmp_path / "a.txt").write_bytes(text.encode())
    found = read_frame(tmp_path / "a.txt")
    assert list(found) == names and list(found.index) == lines
    assert found.iloc[:, 0].tolist() == ["1", "3"]
    if len(names) > 1:
        assert found.iloc[:, -1].tolist() == ["2", "4"]


def test_commas_in_numbers_are_named(tmp_path):
    (tmp_path / "a.csv").write_text("sep=;\na;y\n1,5;2\n2;3\n3;1\n4;2\n")
    said = refused(read_frame(tmp_path / "a.csv"), "y")
    assert (
        "is not a number, but for a comma in 'a' (1 of 4, first '1,5' in line 3)"
        in said
    )
    assert "say decimal=','" in said
    found = prepare_table(read_frame(tmp_path / "a.csv", decimal=","), "y")
    assert found.X["a"].tolist() == [1.5, 2, 3, 4]


def test_parquet_keeps_types(tmp_path):
    pytest.importorskip("pyarrow")
    data = frame()
    data.to_parquet(tmp_path / "a.parquet")
    found = prepare_table(read_frame(tmp_path / "a.parquet"), **ROLES)
    expected = prepare_table(data, **ROLES)
    np.testing.assert_array_equal(found.X, expected.X)
    assert list(found.X.index) == list(range(1, 31)) and found.X.index.name == "row"
    assert list(found.X.columns) == list(expected.X.columns)


def test_the_index_of_a_parquet_file_is_no_feature(tmp_path):
    pytest.importorskip("pyarrow")
    data = frame().set_index(pd.Index(np.arange(30) * 7.0, name="order"))
    data.drop(index=21.0).to_parquet(tmp_path / "a.parquet")
    found = read_frame(tmp_path / "a.parquet")
    assert list(found) == list(frame())


def test_parquet_without_pyarrow_says_what_to_install(monkeypatch, tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and more PAR1")
    for name in ("pyarrow", "pyarrow.parquet", "fastparquet"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=r"a.parquet .*rvamp-nb\[parquet\]"):
        read_frame(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    "data, words",
    [
        (b"\x1f\x8bnonsense", "compress.*gzip"),
        (b"PK\x03\x04", "spreadsheet"),
        (b"PAR1 and more PAR1", "Parquet"),
        (b"\x93NUMPY\x01\x00\xff\xff{", "cannot read"),
        (b"a,b\n\xff\xfe,1", "UTF-8"),
        (b"a,b\n1,2,3", "line 2: 3 values for 2"),
        (b"a,b,c\n1,2,3\n\n1,2", "line 4: 2 values for 3"),
        (b"a,a\n1,2", "2 columns are named 'a'"),
        (b"a,\n1,2", "column 2 has no name"),
        (b"a|b\n1|2", r"bars .* sep='\|'"),
        (b"# made, by\nid,a\n1,x\n", "line 1 begins with #, line 2 has as many"),
        (b'"a" "b"\n"1" 2 3\n"2" 4 5\n', "R's write.table leaves without one"),
        (b"a\tb\n1\t2\t3\n2\t4\t5\n", "one value more .* give the row names"),
        (b"a,b\n1,2,\n3,4,\n", "no separator may end a line"),
        (b"a,b\n1,5,2\n3,5,4\n", "decimal commas need quotes"),
        (b"#nothing\n# else\n", "empty"),
        (b"sep=;\n", "empty"),
        (b"a b y\n1 2 3\n1 2\n", "line 3: 2 values for 3"),
        (b"", "empty"),
    ],
)
def test_a_file_that_is_no_table_is_one_line(tmp_path, data, words):
    (tmp_path / "bad").write_bytes(data)
    with pytest.raises(InputError, match=words) as said:
        prepare_table(read_frame(tmp_path / "bad"), "a")
    assert "\n" not in str(said.value)


@pytest.mark.parametrize("encoding", ["punycode", "hex", "undefined", "no such"])
def test_an_encoding_that_is_none_is_one_line(tmp_path, encoding):
    (tmp_path / "a.csv").write_bytes(b"a,\xe4-9\n1,2\n")
    with pytest.raises(InputError, match="cannot read .*encoding"):
        read_frame(tmp_path / "a.csv", encoding=encoding)


def test_half_a_letter_is_no_name(tmp_path):
    (tmp_path / "a.csv").write_bytes("a,\ud800\n1,2\n".encode("utf-7"))
    with pytest.raises(InputError, match="surrogates not allowed"):
        read_frame(tmp_path / "a.csv", encoding="utf-7")


# Kinds of columns ---------------------------------------------------------------------


def test_all_that_will_not_do_is_named_at_once():
    data = frame().assign(
        seen=pd.date_range("2020-01-01", periods=30),
        born=["1.2.1950"] * 30,
        dosage=["5 mg"] * 30,
        load=[np.inf, *range(29)],
        dose=[np.nan, *range(29)],
        empty=[None] * 30,
        batch=[7] * 30,
        twin=frame()["crp"],
    )
    said = refused(data, "y")
    reasons = {
        "is not a number": ("patient", "site", "dosage"),
        "is a date": ("seen", "born"),
        "is not a finite number": ("load",),
        "is missing": ("dose", "empty"),
    }
    parts = said.split("; ")
    assert len(parts) == len(reasons)
    for part, (reason, names) in zip(parts, reasons.items()):
        assert reason in part
        assert all(f"'{name}'" in part for name in names), part
    for fine in ("'age'", "'grade'", "'y'", "'batch'", "'twin'"):
        assert fine not in said
    for word in ("categorical", "drop", "missing='median'", "missing='drop'", "days"):
        assert word in said
    assert "'dosage' (30 of 30, first '5 mg' in row 0 (counted from 0))" in said
    assert "'dose' (1 of 30, first 'nan' in row 0" in said
    assert "'empty' (30 of 30, " in said


def test_what_only_looks_like_a_number_is_refused(tmp_path):
    """3_1 is 31 to Python; under a decimal comma 5.914 may be meant for 5914."""
    codes = frame().assign(crp=["3_1", *"1" * 29])
    assert "'crp' (1 of 30, first '3_1' in row 0" in refused(codes, **ROLES)
    target = frame().assign(y=["1_0", *"1" * 29])
    assert "'y' (1 of 30, first '1_0' in row 0" in refused(target, **ROLES)
    rows = "a;b;y\n5.914;x.1;1\n848;x.2;2\n5,5;x.1;3,5\n-1,2e1;x.2;4\n7;x.1;1e1\n"
    (tmp_path / "a.csv").write_text(rows)
    found = read_frame(tmp_path / "a.csv", sep=";", decimal=",")
    said = refused(found, "y", categorical="b")
    assert "'a' (1 of 5, first '5.914' in line 2)" in said and "'y'" not in said
    table = prepare_table(found[1:], "y", categorical="b")
    assert table.X["a"].tolist() == [848, 5.5, -12, 7] and "b=x.2" in table.X


def test_a_name_may_look_like_the_place_of_a_row(tmp_path):
    (tmp_path / "a.csv").write_text("row 900,line 2,y\ninf,1,2\n3,NA,4\n1,2,3\n5,6,7\n")
    said = refused(read_frame(tmp_path / "a.csv"), "y")
    assert "'row 900' (1 of 4, first 'inf' in line 2)" in said
    assert "'line 2' (1 of 4, first 'NA' in line 3)" in said


@pytest.mark.parametrize(
    "cells",
    [
        [True, False] * 15,
        pd.array([1, 2, 3] * 10, dtype="Int64"),
        pd.array([1.5, 2.5, 3.5] * 10, dtype="Float64"),
        np.arange(30, dtype=np.uint8),
        ["1", " 2", "3e1"] * 10,
        [1, "2", 3.5] * 10,
    ],
    ids=lambda c: str(getattr(c, "dtype", type(c[0]).__name__)),
)
def test_what_holds_numbers_is_numbers(cells):
    table = prepare_table(frame().assign(extra=cells), **ROLES)
    np.testing.assert_array_equal(table.X.extra, [float(c) for c in cells])


@pytest.mark.parametrize(
    "gap", [None, np.nan, pd.NA, pd.NaT, "", " NA ", "n/a", "#N/A", "null"], ids=repr
)
def test_a_gap_is_a_gap_however_it_is_written(gap):
    crp = frame()["crp"].astype(object)
    crp[4] = gap
    data = frame().assign(crp=crp)
    said = refused(data, **ROLES)
    assert "'crp' (1 of 30, first " in said and "in row 4 " in said
    others = frame()["crp"].drop(4)
    assert prepare_table(data, **ROLES, missing="median").X.crp[4] == others.median()
    left = prepare_table(data, **ROLES, missing="drop")
    assert list(left.X.index) == list(others.index) and left.left_out == 1


@pytest.mark.parametrize("word", ["none", "-", ".", "?", "NA", "null"])
def test_a_word_among_words_is_a_level_unless_it_is_named(word):
    """And a word among numbers is refused, with the remedy, if it is no usual gap."""
    data = frame()
    data["site"] = data["site"].astype(object)
    data.loc[[2, 5, 7], "site"] = word
    table = prepare_table(data, **ROLES)
    column = table.X[f"site={word}"]
    assert list(column.index[column == 1]) == [2, 5, 7] and not table.filled
    is_usual = word in ("NA", "null")
    remark = f"'{word}' is a level of 'site', 3 times: if it stands for a gap, say na="
    assert any(remark in said for said in table.warnings) == is_usual
    named = prepare_table(data, **ROLES, na=word, missing="median")
    assert named.filled == {"site": 3} and f"site={word}" not in named.X
    assert f"'{word}' taken for gaps: 3 in 'site'" in named.notes
    data["crp"] = data["crp"].astype(object)
    data.loc[2, "crp"] = word
    reason = "is missing" if is_usual else "is not a number"
    assert f"{reason} in 'crp' (1 of 30, first '{word}'" in refused(data, **ROLES)
    if not is_usual:
        assert "na names what stands for a gap" in refused(data, **ROLES)
        assert prepare_table(data, **ROLES, na=[word], missing="drop").left_out == 3


def test_a_number_that_is_named_is_a_gap():
    """As a number among numbers, to the letter among words."""
    data = frame().assign(size=[-99.0, *range(29)], code=["7", "-99.0"] * 15)
    data["crp"] = ["-99", "-99.0", *map(str, data["crp"][2:])]
    data["site"] = ["007", "-99", *data["site"][2:]]
    asked = dict(ROLES, categorical=["site", "grade"], missing="median")
    for na in (-99, "-99", ["-99"], ["-99", "1234"]):
        table = prepare_table(data, **asked, drop="code", na=na)
        assert table.filled == {"size": 1, "crp": 2, "site": 1}
        assert "1 in 'site', 1 in 'size'" in table.notes[0] and "site=007" in table.X
    assert table.X["size"][0] == 14
    named = prepare_table(data, **asked, drop="code", na=["-99", "7"])
    assert "1 in 'site', 2 in 'size'" in named.notes[0] and "site=007" in named.X
    assert (
        "taken for gaps: in no cell"
        in prepare_table(frame(), **ROLES, na="-9").notes[0]
    )
    first = refused(data, "y", categorical="site", drop=["patient", "code"], na="-99")
    assert "'crp' (2 of 30, first '-99' in row 0" in first


def test_a_gap_in_the_classes_is_named():
    data = frame().assign(y=["ill", "well", "NA"] * 10)
    said = refused(data, **ROLES)
    assert "'y' has 'NA' beside its classes: na='NA' makes it a gap" in said
    assert prepare_table(data, **ROLES, na="NA", missing="drop").left_out == 10
    died = frame().assign(died=["yes", "no", "NA"] * 10)
    roles = dict(time="age", event="died", categorical="site", drop="patient")
    assert "na names what stands for a gap" in refused(died, **roles)
    roles |= dict(na="NA", missing="drop")
    assert prepare_table(died, **roles).left_out == 10


@pytest.mark.parametrize(
    "code, times, rest, found",
    [
        (-99, 3, "normal", True),
        (999, 30, "normal", True),
        (-9, 10, "normal", True),
        (-99, 2, "age", True),
        (-99, 3, "ldl", True),
        (230, 2, "ldl", False),
        (-99, 1, "age", False),  # one far value is the light's to find
        (-9, 2, "ldl", True),  # 9 below 0, and nothing else is
        (-9, 1, "ldl", False),
        (999, 2, "dear", True),
        (999, 2, "dearer", False),
        (9, 4, "dose", True),  # genotypes
        (3, 4, "dose", False),
        (1, 3, "zero", False),  # rare
        (90, 9, "age", False),
        (60, 100, "normal", False),  # not few
    ],
)
def test_a_few_equal_numbers_far_from_the_rest_are_named(code, times, rest, found):
    rng = np.random.default_rng(0)
    columns = dict(normal=rng.normal(size=150), age=rng.integers(30, 80, size=150))
    columns |= dict(dose=rng.binomial(2, 0.3, size=150), zero=np.zeros(150))
    columns["ldl"] = rng.normal(130, 30, size=150).round()
    columns["dear"] = rng.uniform(0, 850, size=150)
    columns["dearer"] = rng.uniform(0, 990, size=150)
    x = np.array(columns[rest], dtype=float)
    x[:times] = code
    data = pd.DataFrame({"x": x, "z": rng.normal(size=150), "y": rng.normal(size=150)})
    said = prepare_table(data, "y").warnings
    remark = f"{code} comes several times, far from the rest: {times} in 'x' (else "
    assert [text.startswith(remark) for text in said] == [True] * found
    if found:
        assert said[0].endswith(f"if it stands for a gap, say na='{code}'")
        assert not prepare_table(data, "y", na=code, missing="median").warnings


def test_a_step_of_a_third_is_seen_wherever_it_is(monkeypatch):
    monkeypatch.setattr(readers, "_AT_ONCE", 3000)
    X = np.random.default_rng(0).random((400, 300))
    X[1] = np.nan
    X[-2:] = [[0.0], [1.0]]
    ends = np.zeros(300), np.ones(300)
    assert not readers._may_have_step(X, *ends).any()
    wide = X * (1 - 0.335)
    wide += 0.335 * (X > np.linspace(0, 0.999, 300))
    assert readers._may_have_step(wide, *ends).all()


def test_columns_that_are_not_sorted_have_no_far_numbers(monkeypatch):
    """As if all were: codes, gaps, scales, halves of a range, in blocks of few rows."""
    rng, seen = np.random.default_rng(0), 0
    kinds = (
        rng.standard_normal,
        rng.standard_cauchy,
        lambda M: 1.0 * rng.binomial(4, 0.3, M),
    )
    for k in range(150):
        M = int(rng.integers(2, 90))
        X = np.column_stack([kinds[k % 3](M) for _ in range(12)])
        X *= 10.0 ** rng.choice([-290, 0, 0, 0, 290], 12)
        X[rng.random(X.shape) < 0.1 * (k % 2)] = np.nan
        for code in rng.choice([-99, 9, 999, 20, 1e4], 5):
            X[: rng.integers(6), rng.integers(12)] = code
        monkeypatch.setattr(readers, "_AT_ONCE", int(rng.integers(1, 900)))
        found = list(readers.far_numbers(X, range(12)))
        with monkeypatch.context() as every:
            every.setattr(
                readers, "_may_have_step", lambda x, *ends: ends[0] == ends[0]
            )
            assert found == list(readers.far_numbers(X, range(12)))
        seen += len(found)
    assert seen > 100


@pytest.mark.parametrize(
    "cell, limit, half",
    [
        ("<0.5", 0.5, 0.25),
        (" < 0.5", 0.5, 0.25),
        ("<=.5", 0.5, 0.25),
        ("≤1e-3", 1e-3, 5e-4),
        (">7", 7, 7),
        (">= 200", 200, 200),
        ("<LOD", 1, 0.5),  # the ends of what is measured
        ("> uloq", 5, 5),
    ],
)
def test_a_value_beyond_a_limit_is_the_limit_or_half_of_it(cell, limit, half):
    """Not a gap, by which the lowest values would become middle ones."""
    data = frame()[["age", "y"]].assign(crp=[cell, cell, "NA", *[1, 3, 5] * 9])
    for lod, wanted in ((None, limit), ("limit", limit), ("half", half)):
        asked = dict(missing="drop") | (dict(lod=lod) if lod else {})
        table = prepare_table(data, "y", **asked)
        assert table.X["crp"].tolist() == [wanted] * 2 + [1, 3, 5] * 9
        said = "half of it" if lod == "half" else "the limit"
        assert f"values beyond a limit taken as {said}" in table.notes[0]
        assert table.notes[0].endswith(": 2 in 'crp'") and table.left_out == 1


def test_a_limit_among_words_or_in_a_role_is_none(tmp_path):
    data = frame()[["age", "y"]].assign(dose=["<5", ">=5"] * 15)
    assert "is only known to lie beyond a limit in 'dose' (30 of 30" in refused(
        data, "y"
    )
    assert "dose=>=5" in prepare_table(data, "y", categorical="dose").X
    assert set(prepare_table(data, "dose").y) == {"<5", ">=5"}
    lived = frame()[["age", "crp"]].assign(dead=[0, 1] * 15, days=[">60", *range(29)])
    roles = dict(time="days", event="dead")
    assert "write the limit itself" in refused(lived, **roles)
    data["dose"] = ["<5", "high", *range(28)]
    assert "is not a number in 'dose' (1 of 30, first 'high'" in refused(data, "y")
    data["dose"] = ["<-5", *range(29)]
    assert prepare_table(data, "y").X["dose"][0] == -5
    assert "half of the limit in '<-5' lies above it" in refused(data, "y", lod="half")
    assert "lod is limit or half, not 'zero'" in refused(data, "y", lod="zero")
    (tmp_path / "a.csv").write_text("a;y\n<5,914;1\n<LOD;2\n9,5;3\n7;4\n8;5\n")
    read = dict(sep=";", decimal=",")
    found = prepare_table(read_frame(tmp_path / "a.csv", **read), "y")
    assert found.X["a"].tolist() == [5.914, 7, 9.5, 7, 8]
    (tmp_path / "a.csv").write_text("a;y\n<5.914;1\n2;2\n9,5;3\n7;4\n8;5\n")
    assert "'<5.914'" in refused(read_frame(tmp_path / "a.csv", **read), "y")


def test_a_target_whose_order_is_lost_is_named():
    data = frame()[["age", "crp", "site"]]
    for ordered in (True, False):
        data["site"] = data["site"].astype(pd.CategoricalDtype(list("ABC"), ordered))
        found = prepare_table(data, "site").warnings
        assert [text[:29] for text in found] == [
            "'site' has ordered levels ('A"
        ] * ordered
    data["site"] = data["site"].cat.as_ordered()
    assert not prepare_table(data, "site", positive="C").warnings


def test_codes_of_gaps_are_gathered():
    """Two codes in a column, and one in many columns."""
    data = frame(M=60)[["age", "y"]]
    data.loc[:2, "age"], data.loc[9:11, "age"] = -99, 999
    first, second = prepare_table(data, "y").warnings
    where = "comes several times, far from the rest: 3 in 'age' (else 30 to 79)"
    assert first.startswith(f"-99 {where}") and second.startswith(f"999 {where}")
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 5000)))
    wide.iloc[:2, ::500] = -9999
    wide.iloc[30, :600] = np.nan
    asked = dict(drop="1", missing="median")
    (said,) = prepare_table(wide.assign(y=range(40)), "y", **asked).warnings[-1:]
    assert "2 in '1500' (else " in said and ", 6 more: if" in said


@pytest.mark.parametrize(
    "yes, no", [("TRUE", "FALSE"), ("True", "False"), ("true", "false")]
)
def test_true_and_false_in_a_file_are_1_and_0(tmp_path, yes, no):
    flags = np.arange(30) % 3 == 0
    data = frame().assign(flag=flags)
    text = data.assign(flag=np.where(flags, yes, no)).to_csv(index=False)
    (tmp_path / "a.csv").write_text(text.replace(f",{no}\n", ",NA\n", 1))
    found = prepare_table(read_frame(tmp_path / "a.csv"), **ROLES, missing="drop")
    expected = prepare_table(data.drop(1), **ROLES)
    np.testing.assert_array_equal(found.X.flag, expected.X.flag)
    mixed = data.assign(flag=[yes, *"1" * 29])
    assert "is not a number in 'flag'" in refused(mixed, **ROLES)


@pytest.mark.parametrize(
    "value", ["2020-01-31", "31.1.2020", "1/31/20", datetime.date(2020, 1, 31)]
)
def test_a_date_is_no_number_and_no_word(value):
    assert "is a date in 'born' (30 of 30" in refused(frame().assign(born=value), "y")


def test_labels_are_not_turned_into_numbers():
    """Patients 007 and 7 are two, and so are two numbers that differ late."""
    long = [str(2**60 + k // 2) for k in range(30)]
    data = frame().assign(patient=["7", "007"] * 15, visit=long).astype(str)
    table = prepare_table(data, "y", id="patient", groups="visit", categorical="site")
    assert len(set(table.rows["groups"])) == 30 / 2
    coded = prepare_table(data, "y", categorical=["site", "patient"], drop="visit")
    assert list(coded.X.filter(like="patient=")) in (["patient=7"], ["patient=007"])


# Gaps ---------------------------------------------------------------------------------


def test_gaps_are_filled_and_counted():
    data = frame()
    data.loc[[3, 5], "crp"] = np.nan
    data["site"] = data["site"].astype(object)
    data.loc[9, "site"] = None
    table = prepare_table(data, **ROLES, missing="median")
    assert table.filled == {"crp": 2, "site": 1} and table.left_out == 0
    assert table.X.loc[[3, 5], "crp"].tolist() == [data["crp"].median()] * 2
    usual = data["site"].mode()[0]
    assert table.references["site"] == usual
    assert not table.X.filter(like="site=").loc[9].any()
    assert "3 gaps filled" in " ".join(table.notes)
    full = data.dropna()
    table = prepare_table(data, **ROLES, missing="drop")
    pd.testing.assert_frame_equal(table.X, prepare_table(full, **ROLES).X)
    assert "3 of 30 rows left out" in " ".join(table.notes) and not table.filled


@pytest.mark.parametrize("missing", ["median", "drop"])
@pytest.mark.parametrize("role", ["y", "w"])
def test_a_target_or_a_weight_is_never_filled(missing, role):
    data = frame().assign(w=1.0)
    data.loc[[2, 8], role] = np.nan
    table = prepare_table(data, **ROLES, weights="w", missing=missing)
    assert list(table.X.index) == [k for k in range(30) if k not in (2, 8)]
    assert len(table.y) == len(table.rows["sample_weight"]) == 28
    assert "2 of 30 rows left out" in table.notes[0]


def test_a_column_without_any_value_cannot_be_filled():
    data = frame().assign(empty=np.nan)
    for missing in ("median", "drop"):
        assert "'empty' (30 of 30" in refused(data, **ROLES, missing=missing)


def test_too_few_rows_without_gaps_name_the_columns_that_cost_them():
    data = frame().assign(dose=[1.0, 2.0, 3.0] + [np.nan] * 27)
    said = refused(data, **ROLES, missing="drop")
    assert "3 rows of data without gaps" in said and "'dose' (27)" in said


# Categories ---------------------------------------------------------------------------


def test_levels_are_columns_against_the_reference():
    data = frame()
    table = prepare_table(data, **ROLES, reference={"grade": 2})
    assert table.references == {"site": "B", "grade": "2"}  # the most frequent, asked
    assert table.categories["site"] == ("site=A", "site=C")
    assert table.categories["grade"] == ("grade=1", "grade=3")
    for name in ("site", "grade"):
        for column in table.categories[name]:
            is_level = data[name].astype(str) == column.removeprefix(f"{name}=")
            np.testing.assert_array_equal(table.X[column], is_level.astype(float))
    order = ["age", "crp", *table.categories["site"], *table.categories["grade"]]
    assert list(table.X.columns) == order


def test_columns_of_type_category_are_coded_unasked():
    data = frame().astype({"site": "category"})
    table = prepare_table(data, "y", id="patient")
    assert list(table.categories) == ["site"]


def test_a_category_of_one_level_is_named():
    table = prepare_table(frame().assign(site="A"), **ROLES)
    assert "'site' has one level, 'A': nothing to code, no feature" in table.warnings
    assert table.categories["site"] == ()


def test_an_ordered_factor_is_coded_from_its_first_level():
    """Also where another is more frequent, or the first one does not occur."""
    levels, cells = ["calm", "mild", "severe"], ["mild"] * 6 + ["calm", "severe"] * 2
    y, known = np.arange(10.0), pd.CategoricalDtype(["absent", *levels], ordered=True)
    ordered = pd.DataFrame({"pain": pd.Series(cells, dtype=known), "y": y})
    for kind, against in ((known, "calm"), ("category", "mild")):
        table = prepare_table(ordered.astype({"pain": str}).astype({"pain": kind}), "y")
        assert table.references == {"pain": against}
    for reference in ({}, {"pain": "severe"}):  # level by level, if it is asked
        asked = dict(categorical=["pain"], reference=reference)
        table = prepare_table(ordered, "y", **asked)
        assert table.references == {"pain": reference.get("pain", "calm")}
        assert all("pain=" in name for name in table.X)


def test_an_ordered_category_has_a_column_for_each_step():
    data = frame().assign(grade=[1, 2, 2, 3, 5] * 6)
    data.loc[4, "grade"] = np.nan
    asked = dict(target="y", id="patient", categorical="site", missing="median")
    asked["ordered"] = {"grade": [1, 2, 3, 4, " 5 "]}
    table = prepare_table(data, **asked)
    steps = "grade>=2", "grade>=3", "grade>=5"  # nobody has grade 4
    assert table.categories["grade"] == steps and table.references["grade"] == "1"
    grade = data.grade.fillna(2)  # the most frequent level
    for step, least in zip(steps, (2, 3, 5)):
        np.testing.assert_array_equal(table.X[step], grade >= least)
    assert table.levels["grade"] == [*steps]
    (note,) = (note for note in table.notes if "'grade' became" in note)
    assert "3 columns of 0 and 1, steps from one level to the next above '1'" in note
    kind = pd.CategoricalDtype([1.0, 2, 3, 4, 5], ordered=True)
    asked.pop("ordered")
    by_type = prepare_table(data.astype({"grade": kind}), **asked)
    pd.testing.assert_frame_equal(by_type.X, table.X)
    kept = prepare_table(data.astype({"grade": kind}), keep="grade", **asked)
    assert kept.options["penalty_factor"] == dict.fromkeys(steps, 0)


def test_a_step_that_few_rows_do_not_take_is_rare_too():
    data = frame().assign(grade=[1, 2, 2] + [3] * 27)
    said = prepare_table(data, "y", id="patient", drop="site", ordered=GRADES).warnings
    rare = "levels in fewer than 5 rows can hardly be found: 'grade>=2', 'grade>=3'"
    assert rare in said


def test_an_exposure_is_an_offset():
    data = frame().assign(days=np.arange(1, 31))
    roles = dict(ROLES, exposure="days", missing="drop")
    table = prepare_table(data, **roles)
    np.testing.assert_array_equal(table.rows["offset"], np.log(data.days))
    assert "days" not in table.X
    data.loc[4, "days"], data.loc[9, "days"] = np.nan, 0
    said = refused(data, **roles)
    place = "in 'days' (1 of 30, first '0.0' in row 9 (counted from 0))"
    assert f"a cell is not above 0 {place}: an exposure is: mend it" in said
    assert prepare_table(data.drop(index=9), **roles).left_out == 1


def test_trials_go_with_their_rows():
    data = frame().assign(n=np.arange(30) % 7 + 1)
    data.loc[3, "n"] = np.nan
    table = prepare_table(data, **ROLES, trials="n", missing="drop")
    np.testing.assert_array_equal(table.rows["n_trials"], data.n.drop(3))
    assert table.left_out == 1 and "n" not in table.X


def test_a_level_of_every_row_is_a_name():
    said = refused(frame(), "y", categorical=["site", "patient"])
    assert "'patient' has another level in every row: is it an id?" in said


def test_categories_of_one_level_are_no_features_by_themselves():
    one = pd.DataFrame(dict(site=["A"] * 6, y=np.arange(6.0)))
    assert "each category has one level" in refused(one, "y", categorical=["site"])


def test_a_reference_that_is_no_level_is_refused():
    said = refused(frame(), **ROLES, reference={"site": "Z"})
    assert "no level 'Z', only 'A', 'B', 'C'" in said
    assert "'age' is not categorical" in refused(
        frame(), **ROLES, reference={"age": 50}
    )


def test_a_column_named_like_a_level_is_refused():
    data = frame().assign(**{"site=A": 1.0})
    assert "are 'site=A': rename" in refused(data, **ROLES)


def test_what_is_kept_is_kept_with_all_its_levels():
    table = prepare_table(frame(), **ROLES, keep=["site", "age"])
    assert table.options["penalty_factor"] == {"site=A": 0, "site=C": 0, "age": 0}
    selection = StabilitySelection(verbose=0, lambdas=[0.5], **table.options)
    selection.fit(table.X, table.y)
    always = selection.summary(full=True).probability[["site=A", "site=C", "age"]]
    assert (always == 1).all()


# Roles --------------------------------------------------------------------------------


def test_a_role_takes_a_column_out_of_the_features():
    data = frame().assign(w=1.0, o=0.5, clinic="x", other=3)
    data.loc[0, "clinic"] = "z"
    roles = dict(weights="w", offset="o", strata="clinic", drop="other")
    table = prepare_table(data, **ROLES, groups="patient", **roles)
    assert list(table.X.columns[:2]) == ["age", "crp"] and table.X.shape[1] == 6
    assert set(table.rows) == {"groups", "strata", "sample_weight", "offset"}
    np.testing.assert_array_equal(table.rows["groups"], data["patient"])
    np.testing.assert_array_equal(table.rows["strata"], data["clinic"])
    np.testing.assert_array_equal(table.rows["offset"], data["o"])
    both = prepare_table(frame(), **ROLES, strata="site")  # a stratum and a feature
    assert "site=A" in both.X and set(both.rows) == {"strata"}


@pytest.mark.parametrize(
    "asked, words",
    [
        (dict(target="z"), "no column 'z', only 'patient', 'age'"),
        (dict(target="y", drop="z"), "argument drop: the table has no column 'z'"),
        (dict(), "say what to explain"),
        (dict(time="age"), "go together"),
        (dict(target="y", time="age", event="grade"), "say what to explain"),
        (dict(target="y", drop="y"), "'y' cannot have the roles drop and target"),
        (dict(target="y", keep="age", drop="age"), "drop and keep at once"),
        (
            dict(time="age", event="grade", strata="grade"),
            "'grade' cannot have the roles event and strata at once",
        ),
        (dict(target="y", missing="mean"), "error, median or drop"),
        (dict(target="y", drop=["patient", "site", "age", "crp", "grade"]), "only col"),
        (dict(ROLES, ordered={"grad": [1, 2]}), "argument ordered: the table has no"),
        (dict(ROLES, ordered={"grade": [1, 2, 3]}), "roles categorical and ordered at"),
        (dict(target="y", ordered={"grade": [1]}), "needs two levels at least"),
        (dict(target="y", ordered={"grade": [1, 2, 1]}), "each once"),
        (
            dict(target="y", id="patient", drop="site", ordered={"grade": [1, 2]}),
            "ordered: 'grade' has '3' beside '1', '2': name all levels, the lowest",
        ),
        (dict(target="y", exposure="age", offset="crp"), "give one column of the two"),
        (dict(target="y", positive="ill", trials="age"), "positive is for a class of"),
    ],
)
def test_roles_that_make_no_sense_are_one_line(asked, words):
    assert words in refused(frame(), **asked)


@pytest.mark.parametrize(
    "asked, meant",
    [
        (dict(target="Y"), "y"),
        (dict(target="y", categorical="iste"), "site"),
        (dict(target="y", groups="pateint"), "patient"),
        (dict(ROLES, reference={"grad": 2}), "grade"),
        (dict(ROLES, reference={"site": "b"}), "B"),
        (dict(target="y", drop="weight"), None),
    ],
)
def test_a_name_that_may_be_meant_is_named(asked, meant):
    said = refused(frame(), **asked)
    assert (
        f"(did you mean '{meant}'?)" if meant else "did you mean"
    ) in said or not meant
    assert meant or "did you mean" not in said


def test_the_reference_of_the_target_is_refused_with_what_is_modelled():
    data = frame().assign(y=["ill", "well"] * 15)
    said = refused(data, **ROLES, reference={"y": "well"})
    assert "'y' is the target: name the class you mean with positive" in said
    assert "name it with categorical" not in said


def test_arguments_that_are_not_there_are_type_errors():
    with pytest.raises(TypeError, match="no argument 'category'"):
        prepare_table(frame(), "y", category="site")
    with pytest.raises(TypeError, match="DataFrame"):
        prepare_table([[1, 2]], "y")


def test_a_message_is_spelled_as_the_user_types():
    assert in_python("missing", "drop") == "missing='drop'"
    shell = lambda option, value=None: f"--{option} {value or ''}".strip()
    data = frame().assign(crp=np.nan)
    with pytest.raises(InputError) as said:
        prepare_table(data, "y", typed=shell, where="a.csv")
    assert str(said.value).startswith("a.csv: ")
    for words in ("--categorical", "--drop", "--missing median", "--missing drop"):
        assert words in str(said.value)


def test_names_that_come_twice_are_a_reason_to_ask():
    data = frame().assign(patient=[f"p{k // 2}" for k in range(30)])
    table = prepare_table(data, **ROLES)
    assert "15 of the values of 'patient' come more than once" in table.warnings[0]
    assert not prepare_table(data, **ROLES, groups="patient").warnings


def test_rare_levels_are_named():
    data = frame()
    data["site"] = ["A"] * 27 + ["B", "B", "C"]
    assert "fewer than 5 rows" in prepare_table(data, **ROLES).warnings[0]


# What is explained --------------------------------------------------------------------


def test_words_of_two_kinds_are_classes():
    words = ["ill", "well"] * 15
    table = prepare_table(frame().assign(y=words), **ROLES, strata="y")
    assert table.y.tolist() == words and table.rows["strata"].tolist() == words
    mixed = frame().assign(y=["1", "x", *"2" * 28])
    assert "is not a number in 'y' (1 of 30, first 'x' in row 1" in refused(
        mixed, **ROLES, strata="y"
    )


@pytest.mark.parametrize("yes, no", [(1, 0), ("1", "0"), (True, False), ("yes", "no")])
def test_a_time_and_an_event(yes, no):
    data = frame().rename(columns={"y": "years"})
    ends = np.arange(30) % 3 == 0
    data["died"] = np.where(ends, yes, no)
    table = prepare_table(
        data, time="years", event="died", id="patient", categorical=["site", "grade"]
    )
    assert table.y.dtype.names == ("event", "time")
    np.testing.assert_array_equal(table.y["event"], ends)
    np.testing.assert_array_equal(table.y["time"], data["years"])
    assert {"years", "died"}.isdisjoint(table.X)


def test_an_event_is_named_by_its_word():
    data = frame()[["age", "crp"]].assign(state=["dead", "alive", "Alive"] * 10)
    table = prepare_table(data, time="age", event="state")
    assert table.y["event"].tolist() == [True, False, False] * 10
    data["state"] = ["relapse", "censored", "lost"] * 10
    said = refused(data, time="age", event="state")
    assert "'censored' in 'state' is neither 1 nor 0, dead nor alive" in said
    assert "event='state=WORD' says which of 'censored', 'lost', 'relapse'" in said
    table = prepare_table(data, time="age", event="state=relapse")
    assert table.y["event"].tolist() == [True, False, False] * 10
    where = "'state' is 'relapse' (10 rows), not in the other 20"
    assert f"the event was seen where {where}" in table.notes
    said = refused(data, time="age", event="state=relapsed")
    assert "'state' has no 'relapsed', only" in said and "mean 'relapse'?" in said
    assert "event='COLUMN=WORD'" in refused(
        data, time="age", event="state", positive="relapse"
    )
    data = data.rename(columns={"state": "state=relapse"}).assign(state=1)
    assert "is neither" in refused(data, time="age", event="state=relapse")
    data = frame().assign(died=2)
    roles = dict(time="age", drop=["patient", "site"])
    assert "event='died=WORD' says" in refused(data, **roles, event="died")
    assert prepare_table(data, **roles, event="died=2").y["event"].all()


def test_rows_that_enter_when_they_end_are_left_out_and_named():
    data = frame().assign(died=[0, 1] * 15, entry=1)
    data.loc[[3, 7], "entry"] = data["age"]
    data.loc[9, "entry"] = 99
    asked = dict(time="age", event="died", entry="entry", categorical="site")
    table = prepare_table(data, id="patient", **asked)
    note = "3 of 30 rows left out: 'entry' is not before 'age' in them, and they say"
    assert table.notes[0] == f"{note} nothing: patient 'p3', 'p7', 'p9'"
    assert table.left_out == 3 and not table.X.index.isin([3, 7, 9]).any()
    assert len(table.y) == 27 and (table.y["entry"] < table.y["time"]).all()
    lines = data.set_axis(pd.RangeIndex(2, 32, name="line"))
    note = prepare_table(lines, drop="patient", **asked).notes[0]
    assert note.endswith(": line '5', '9', '11'")
    swapped = dict(asked, time="entry", entry="age", id="patient")
    assert "are entry and time swapped?" in refused(data, **swapped)


# A refusal names what to add ----------------------------------------------------------


def proposed(line):
    """The roles that a refusal proposes."""
    return eval(f"dict({line.partition('; to try, add ')[2]})")


def test_what_is_proposed_is_taken():
    data = frame(M=60)
    data["seen"] = "2021-03-04"
    data["fell"] = ["", "at home"] + [""] * 58
    data["crp"] = ["."] * 2 + [-99] * 3 + list(data["crp"][5:])
    data["village"] = [f"v{k % 25}" for k in range(60)]
    said = refused(data, "y")
    assert "-99 comes several times" in said
    asked = proposed(said)
    assert asked == dict(
        id="patient",
        drop=["seen", "fell", "village"],
        categorical=["site"],
        na=["-99", "."],
        missing="median",
    )
    table = prepare_table(data, "y", **asked)
    assert table.filled == {"crp": 5} and not table.warnings
    assert "id" not in proposed(refused(data, "y", groups="patient"))
    assert "to try" not in refused(data.assign(w="x"), "y", weights="w")
    data["crp"] = ["1,5"] + list(range(59))
    assert "to try" not in refused(data, "y")


# Two files, and tables on their side --------------------------------------------------


def genes(path, M=30, N=50, seed=0):
    """A file with genes in rows, and a frame of its samples with their answers."""
    X = pd.DataFrame(np.random.default_rng(seed).normal(size=(N, M)).round(3))
    X.columns = [f"GSM{k}" for k in range(M)]
    X.insert(0, "gene", [f"g{k}" for k in range(N)])
    X.to_csv(path, index=False)
    people = pd.DataFrame({"id": X.columns[:0:-1], "y": np.arange(M) * 1.0})
    return X, people


def test_a_table_on_its_side_is_turned(tmp_path):
    X, people = genes(tmp_path / "x.csv")
    lying = read_frame(tmp_path / "x.csv")
    said = refused(lying, "response")
    assert "do features stand in its rows? transpose turns it" in said
    assert "if 'response' is in a second file, add join FILE on COLUMN" in said
    assert "transpose" not in refused(lying, "GSM33")  # a name that is nearly there
    standing = read_frame(tmp_path / "x.csv", transpose="id")
    assert list(standing)[:3] == ["id", "g0", "g1"] and standing.shape == (30, 51)
    assert standing["id"].tolist() == list(X.columns[1:])
    wanted = X.set_index("gene").T
    assert (standing.iloc[:, 1:].astype(float).to_numpy() == wanted.to_numpy()).all()
    assert "transpose" not in refused(standing, "response")
    table, notes = readers.joined(standing, people, "id", names=("x", "people"))
    assert table["y"].tolist() == list(range(29, -1, -1)) and notes == []
    table = prepare_table(table, "y", id="id")
    assert table.X.shape == (30, 50) and table.y[0] == 29
    X["gene"] = "g1"
    X.to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(InputError, match="50 columns are named 'g1'"):
        read_frame(tmp_path / "x.csv", transpose="id")


NAMES = dict(names=("visits", "people"))


def visits_and_people():
    visits = pd.DataFrame({"id": list("abcab"), "dose": range(5)})
    people = pd.DataFrame({"ID": list("dcba"), "age": [4, 3, 2, 1]})
    return visits, people


def test_a_second_file_is_found_by_ids():
    visits, people = visits_and_people()
    kept = visits.copy()
    table, notes = readers.joined(visits, people, "id=ID", **NAMES)
    assert table["age"].tolist() == [1, 2, 3, 1, 2] and list(table) == [*visits, "age"]
    assert notes == ["1 id of people is not in visits, and not used: 'd'"]
    pd.testing.assert_frame_equal(visits, kept)
    # 7 and "7" are one id, as in files of two kinds
    numbers = visits.assign(id=[1, 2, 3, 1, 2])
    people["ID"] = ["4", "3", "2.0", "1"]
    with pytest.raises(InputError, match="1 id of visits is not in people: '2'"):
        readers.joined(numbers, people, "id=ID", **NAMES)
    people["ID"] = ["4", "3", "2", "1"]
    table, _ = readers.joined(numbers, people, "id=ID", **NAMES)
    assert table["age"].tolist() == [1, 2, 3, 1, 2]


def test_a_join_that_loses_or_doubles_rows_is_refused_with_names():
    visits, people = visits_and_people()

    def said(visits=visits, people=people, on="id=ID", **how):
        with pytest.raises(InputError) as line:
            readers.joined(visits, people, on, **NAMES, **how)
        return str(line.value)

    few = people.drop(index=[2])
    line = said(people=few)
    assert "1 id of visits is not in people: 'b'" in line
    assert line.endswith("missing='drop' leaves out their rows (2 of 5)")
    table, notes = readers.joined(visits, few, "id=ID", missing="drop", **NAMES)
    assert table["dose"].tolist() == [0, 2, 3] and list(table.index) == [0, 2, 3]
    assert notes[0] == "1 id of visits is not in people, and not used: 'b'"
    twice = pd.concat([people, people.iloc[1:3]])
    line = said(people=twice)
    assert "2 ids of people have several rows ('c', 'b'), which would double" in line
    assert "argument on: visits has no column 'Id'" in said(on="Id")
    assert "(did you mean 'id'?)" in said(on="Id=ID")
    assert "argument on: people has no column 'id'" in said(on="id")
    assert "3 ids of visits are not in people" in said(
        people=people.assign(ID=range(4))
    )
    assert "'dose' is in visits and in people" in said(people=people.assign(dose=0))


@pytest.mark.parametrize("lazy", [False, True])
def test_tables_of_other_libraries_are_taken(lazy):
    """As pyarrow and polars have them, lazy ones too."""

    class Other:
        def to_pandas(self):
            return frame()

    class Lazy:
        def collect(self):
            return Other()

    table = prepare_table(Lazy() if lazy else Other(), **ROLES)
    pd.testing.assert_frame_equal(table.X, prepare_table(frame(), **ROLES).X)


# Speed --------------------------------------------------------------------------------


def test_a_wide_table_of_numbers_is_not_looked_at_cell_by_cell(monkeypatch):
    def slow(cell):
        raise AssertionError(f"cell by cell: {cell}")

    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(6, 1000)))
    wide.iloc[0, 5] = np.nan
    wide = wide.assign(y=np.arange(6.0))
    text = prepare_table(wide.astype(str), "y", missing="median")
    monkeypatch.setattr(readers, "_as_float", slow)
    table = prepare_table(wide, "y", missing="median")
    assert table.X.shape == (6, 1000) and table.filled == {"5": 1}
    pd.testing.assert_frame_equal(text.X, table.X, check_exact=True)


def test_nobodys_frame_is_written_to():
    data = frame()
    before = data.copy(deep=True)
    prepare_table(data, **ROLES, missing="median", keep="age")
    pd.testing.assert_frame_equal(data, before)


def test_a_path_may_be_a_path(tmp_path):
    Path(tmp_path, "a.csv").write_text("a,b\n1,2\n")
    assert read_frame(str(tmp_path / "a.csv")).shape == (1, 2)
    with pytest.raises(InputError, match="cannot read"):
        read_frame(tmp_path / "b.csv")


# A pickle, and names that are suspected ----------------------------------------------


def test_a_pickle_is_never_run(tmp_path):
    """A file that would make another one, if it were unpickled."""
    trap = tmp_path / "trap"

    class Trap:
        def __reduce__(self):
            return Path.touch, (trap,)

    np.save(tmp_path / "a.npy", np.array([[Trap()]], dtype=object))
    with pytest.raises(InputError, match="it is a matrix without names"):
        read_frame(tmp_path / "a.npy")
    assert not trap.exists()


def test_several_names_in_one_are_told_apart():
    frame = pd.DataFrame(np.eye(6)[:, :3], columns=["a", "b", "y"])
    with pytest.raises(InputError, match="several columns 'a,b': repeat the option"):
        prepare_table(frame, "y", keep=["a,b"])


@pytest.mark.parametrize(
    "name, cells, word",
    [
        ("patient", [0, 0, 1, 1, 2, 2, 3, 3], "4 of the values of 'patient' come more"),
        ("PatientID", [7, 7, 8, 9, 10, 11, 12, 13], "1 of the values of 'PatientID'"),
        ("donor", [0, 1] * 4, None),  # yes or no
        (
            "site_id",
            [1, 2, 3, 1, 2, 3, 1, 2],
            "kinds, such as sites, categorical site_id",
        ),
        (
            "site_id",
            [1, 2, 3, 4, 1, 2, 3, 4],
            "(if they name kinds, such as sites, cat",
        ),
        ("width", [0, 0, 1, 1, 2, 2, 3, 3], None),
        ("x", [3, 4, 5, 6, 7, 9, 8, 10], "'x' numbers the rows, and is a feature"),
        ("x", [3, 4, 5, 6, 7, 8, 8, 10], None),
    ],
)
def test_numbers_of_patients_and_of_rows_are_suspected(name, cells, word):
    frame = pd.DataFrame({name: cells, "z": np.arange(8) ** 2.0, "y": np.sin(range(8))})
    said = " ".join(prepare_table(frame, "y").warnings)
    assert word in said if word else not said
    if "site" in name:  # what is advised can be done
        assert not prepare_table(frame, "y", categorical=[name]).warnings[1:]
        assert ("groups site_id" in said) == (max(cells) > 3)
        return
    dropped = " ".join(prepare_table(frame, "y", drop=[name]).warnings)
    assert dropped == (said if name.lower().startswith("patient") else "")


def test_numbers_of_rows_are_suspected_where_rows_are_left_out():
    frame = pd.DataFrame({"no": range(1, 13), "z": np.arange(12) ** 2.0})
    frame["y"], frame["width"] = np.sin(range(12)), np.linspace(1, 12, 12) + 0.01
    frame.loc[[0, 5], "z"] = np.nan
    (said,) = prepare_table(frame, "y", missing="drop").warnings
    assert said.startswith("'no' numbers the rows, and is a feature")
