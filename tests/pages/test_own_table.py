"""A table of the reader's in the explorer (docs/static/own_table.js): the solver is
chapter 3.8's, what is drawn is what the package computes, and a CSV that cannot be read
gets a sentence that says what and where. And the address of the explorer.
"""

import numpy as np
import pytest
from node import EXPLORER, in_node

from rvamp_nb import Laplace, p2, rvamp
from rvamp_nb.algorithm.resampling import Discrete
from rvamp_nb.course import micro
from rvamp_nb.tables.standardize import unit_columns

MODULE = EXPLORER.parents[2] / "docs" / "static" / "own_table.js"
COIN = Discrete([0, 1], [0.5, 0.5])
SOLVED = """(() => cases.map(({ A, y, lam, law, maxIter }) => {
    const fit = js.rvamp(A, y, lam, { law, maxIter });
    const found = ["mean", "variance", "Pi"].map((key) => Array.from(fit[key]));
    return [...found, fit.iterations, fit.gap];
}))()"""


def design(M, N, seed, correlated=0.3):
    """A table of unit columns that share a factor, and a target of length one."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(M, N)) + correlated * rng.normal(size=(M, 1))
    y = A[:, 0] - 0.7 * A[:, 1] + rng.normal(size=M)
    A, _, _ = unit_columns(A)
    y -= y.mean()
    return A, y / np.linalg.norm(y)


def as_case(A, y, lam, law=micro.COIN, max_iter=500):
    listed = dict(A=A.tolist(), y=y.tolist(), lam=float(lam))
    return listed | dict(law=[*map(list, law)], maxIter=max_iter)


def test_the_solver_is_that_of_chapter_3_8():
    """At convergence, and at each of the first steps, for a coin and other counts."""
    poisson = [(c, np.exp(-0.5) * 0.5**c / np.prod(range(1, c + 1))) for c in range(9)]
    problems = [(*micro.toy(), micro.COIN, 500), (*micro.toy(), poisson, 500)]
    for seed, (M, N) in enumerate([(12, 5), (40, 40), (15, 50), (60, 8)]):
        A, y = design(M, N, seed)
        empty = np.abs(A.T @ y).max() / 2
        problems += [(A, y, share * empty, micro.COIN, 30) for share in (0.8, 0.3)]
    for steps in (1, 2, 3):
        problems.append((*micro.toy(), micro.COIN, steps))
    found = in_node(SOLVED, MODULE, cases=[as_case(*each) for each in problems])
    for (A, y, lam, law, max_iter), (*arrays, n_iter, gap) in zip(problems, found):
        fit = micro.rvamp(A, y, lam, law, max_iter=max_iter)
        assert n_iter == fit.n_iter
        np.testing.assert_allclose(arrays, [fit.mean, fit.var, fit.Pi], 1e-6, 1e-9)
        assert gap == pytest.approx(fit.gap, rel=1e-3, abs=1e-6)


def test_the_gaussian_of_the_pair_has_the_packages_covariance():
    A, y = design(40, 8, 5)
    lam = 0.4 * np.abs(A.T @ y).max() / 2
    fit = rvamp(A, y, prior=Laplace(lam), resampling=COIN)
    shown = [0, 1, 5]
    found = in_node(
        "js.covariance(js.rvamp(A, y, lam), shown)",
        MODULE,
        A=A.tolist(),
        y=y.tolist(),
        lam=lam,
        shown=shown,
    )
    np.testing.assert_allclose(found, p2(fit, shown).covariance, 1e-4, 1e-8)


PACKED = """(() => { const data = js.unpack(table), last = data.deltas.length - 1;
    return data.names.map((_, i) => {
        const of = (m) => [js.atom(m), js.moments(m).mean, js.moments(m).variance];
        const at = (l) => of(data.message({ l, t: 0, d: 0 }, i));
        const { message, mean, variance } = data.step(last, i);
        const { mean: [m], covariance: [v] } = data.second(data.start[0], i, i);
        return [at(data.start[0]), at(0), of(message), [0, mean, variance], [0, m, v]];
    }); })()"""


@pytest.fixture(scope="module")
def dropped():
    """A table of 60 rows in units of their own, and what the explorer gets of it."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 12)) * 10.0 ** rng.integers(-3, 4, 12) + 5
    y = 40 + 3 * X[:, 4] / X[:, 4].std() - 2 * X[:, 7] / X[:, 7].std()
    y += rng.normal(size=60)
    names = [f"g{i}" for i in range(12)]
    columns = [*X.T[:3].tolist(), y.tolist(), *X.T[3:].tolist()]
    table = dict(names=[*names[:3], "outcome", *names[3:]], columns=columns)
    return X, y, in_node("await js.explored(table, 3)", MODULE, table=table)


def test_what_is_drawn_of_a_table_is_what_the_package_computes(dropped):
    """At the penalty that is shown first and at the smallest one: Π, mean and variance
    to three digits, and p̄₂ and the last step of the iteration.
    """
    X, y, table = dropped
    A, _, _ = unit_columns(X)
    centred = y - y.mean()
    unit = y.std()
    length = np.linalg.norm(centred)
    shares = [float(name.split()[0]) / 100 for name, _ in table["lamNames"]]
    empty = np.abs(A.T @ centred).max() / 2
    start = table["start"][0]
    shown = [int(name[1:]) for name in table["names"]]
    assert len(shown) == 10 and {4, 7} <= {*shown} and shown == sorted(shown)
    assert {shown[i] for i in table["pair"]} == {4, 7}
    assert shown[table["lead"]] in {4, 7}
    assert len(shares) == 21 and (np.diff(shares) > 0).all()
    assert shares[-1] == 0.8 and shares[start] == pytest.approx(0.8 / 1.2**10, rel=0.05)
    found = np.array(in_node(PACKED, table=table))
    for k, power in enumerate((10, 20)):
        lam = 0.8 * empty / 1.2**power
        fit = rvamp(A, centred, prior=Laplace(lam), resampling=COIN)
        # of a column of unit length, and of one of standard deviation 1
        times = unit / length
        wanted = [1 - fit.Pi, fit.mean * times, fit.var * times**2]
        np.testing.assert_allclose(
            found[:, k].T, np.array(wanted)[:, shown], 1e-3, 5e-4
        )
    np.testing.assert_allclose(found[:, 2], found[:, 0], 1e-3, 5e-4)
    for part in (3, 4):
        np.testing.assert_allclose(found[:, part, 1:], found[:, 0, 1:], 1e-3, 5e-4)


def test_the_coefficients_are_changes_for_one_standard_deviation(dropped):
    """At the smallest penalty these are nearly those of least squares."""
    X, y, table = dropped
    start = table["start"][0]
    means = np.array(in_node(PACKED, table=table))[:, 1, 1]
    slopes = np.linalg.lstsq((X - X.mean(0)) / X.std(0), y - y.mean(), rcond=None)[0]
    shown = [int(name[1:]) for name in table["names"]]
    assert start == 10
    np.testing.assert_allclose(means, slopes[shown], atol=0.35)


def read(text):
    expression = """(() => { try { const { names, columns } = js.readTable(text);
        return { names, columns: columns.map((each) => Array.from(each)) };
    } catch (problem) { return problem.message; } })()"""
    return in_node(expression, MODULE, text=text)


ROWS = [[k, 2 * k % 7, k**2 % 11 + 0.5] for k in range(12)]


def as_csv(rows=ROWS, head="a,b,c", separator=",", end="\n"):
    lines = [separator.join(map(str, row)) for row in rows]
    return end.join([head.replace(",", separator), *lines, ""])


@pytest.mark.parametrize(
    "text",
    [
        as_csv(),
        as_csv(end="\r\n"),
        as_csv(end="\r"),
        as_csv(separator="\t"),
        as_csv(separator=";").replace(".", ","),
        "\ufeff" + as_csv(),
        as_csv(head='"a",b," c "').replace("\n", "\n\n"),
        as_csv([[f'"{v}"' for v in row] for row in ROWS]),
        as_csv([[f"{v:+.3e}" for v in row] for row in ROWS]),
        as_csv().rstrip("\n"),
    ],
)
def test_a_csv_is_read_however_it_is_written(text):
    found = read(text)
    assert found["names"] == ["a", "b", "c"]
    assert np.array(found["columns"]).T.tolist() == ROWS


def test_a_quoted_name_may_hold_what_ends_a_cell():
    found = read(as_csv(head='"a, in\nmm ""x""",b,c'))
    assert found["names"] == ['a, in\nmm "x"', "b", "c"]


def with_cell(row, column, cell):
    rows = [list(each) for each in ROWS]
    rows[row][column] = cell
    return as_csv(rows)


def table_of(n_rows, n_columns):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 9, (n_rows, n_columns)).tolist()
    return as_csv(rows, ",".join(f"x{i}" for i in range(n_columns)))


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("", "The file is empty."),
        ("\n \n", "The file is empty."),
        ("a,b\n1,2\n", "The table has 1 row below the names. Resampling takes at "),
        ("a,b\n", "The table has 0 rows below the names."),
        ("a\n1\n2\n", "The file has one column, “a”. It takes a target and at least"),
        ("1,2\n3,4\n", "Line 1 has numbers only. Put the names of the columns there."),
        ("a,,c\n", "Column 2 has no name in line 1."),
        ("a,b,a\n", "Columns 1 and 3 are both called “a”. Rename one."),
        (
            with_cell(4, 1, "4O"),
            "Column “b” holds text in 1 of 12 rows (first: “4O”, line 6).",
        ),
        (
            as_csv([[*row[:2], "mf"[k % 2]] for k, row in enumerate(ROWS)]),
            "Column “c” holds text in 12 of 12 rows (first: “m”, line 2). Write",
        ),
        (with_cell(9, 2, ""), "Column “c” has 1 gap (first: line 11). Fill them"),
        (with_cell(0, 0, "NA"), "Column “a” has 1 gap (first: line 2)."),
        (with_cell(0, 0, "1e999"), "Column “a” has a number that is too large."),
        (with_cell(3, 1, "1,5"), "Line 5 has 4 cells, and line 1 has 3 names."),
        (with_cell(3, 1, '"1'), "A quote that begins in line 5 has no end."),
        (
            as_csv([[1, *row[1:]] for row in ROWS]),
            "Column “a” is 1 in every row, so it explains nothing. Remove it.",
        ),
        (
            table_of(201, 3),
            "The table has 201 rows and 2 columns beside the target. This page takes at"
            " most 200 rows and 50 columns; the Python package takes more.",
        ),
        (table_of(30, 52), "The table has 30 rows and 51 columns beside the target."),
    ],
)
def test_a_table_that_cannot_be_taken_gets_a_sentence(text, sentence):
    found = read(text)
    assert isinstance(found, str) and found.startswith(sentence), found


def test_the_largest_table_is_taken():
    assert len(read(table_of(200, 51))["names"]) == 51


def test_columns_that_repeat_the_target_still_have_an_answer():
    """And a table without a signal."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(30, 4))
    for y in (X[:, 0], rng.normal(size=30)):
        table = dict(names=list("abcdy"), columns=[*X.T.tolist(), y.tolist()])
        found = in_node("await js.explored(table, 4)", MODULE, table=table)
        assert len(found["lams"]) >= 3 and found["names"] == list("abcd")


STATES = """(() => {
    const data = js.unpack(table);
    const first = { panel: "one", i: 3, l: 13, t: 1, d: 0, shift: 0, n: 2000,
        offset: 0, pair: [0, 2], step: 0, b: 0 };
    return states.map((state) => { const address = js.addressOf(state, first, data);
        return [address, js.stateOf(address, first, data)]; });
})()"""


def explored_table():
    from rvamp_nb.course.widgets import diabetes_explorer

    return diabetes_explorer().table


def test_an_address_holds_the_whole_state():
    rng = np.random.default_rng(0)
    table = explored_table()
    first = dict(panel="one", i=3, l=13, t=1, d=0, shift=0, n=2000, offset=0)
    first |= dict(pair=[0, 2], step=0, b=0)
    states = [first]
    for _ in range(60):
        pair = rng.choice(10, 2, replace=False).tolist()
        states.append(
            dict(
                panel=str(rng.choice(table["panels"])),
                i=int(rng.integers(10)),
                l=int(rng.integers(24)),
                t=int(rng.integers(3)),
                d=int(rng.integers(2)),
                shift=float(rng.integers(-12, 13)) / 4,
                n=int(rng.integers(2001)),
                offset=int(rng.integers(2000)),
                pair=pair,
                step=int(rng.integers(len(table["deltas"]))),
                b=int(rng.integers(len(table["betas"]))),
            )
        )
    found = in_node(STATES, table=table, states=states)
    for state, (address, again) in zip(states, found, strict=True):
        assert again == state, address
    assert found[0][0] == ""
    named = first | dict(panel="pair", i=4, l=0, pair=[8, 9])
    [[address, _]] = in_node(STATES, table=table, states=[named])
    assert address == "panel=pair&coefficient=age*sex&lam=5.44&first=s1&second=s2"


@pytest.mark.parametrize(
    "address",
    [
        "panel=nowhere&coefficient=s99&lam=1e9&size=7&drawn=perhaps&step=0&beta=x",
        "first=s1&second=s1",
        "first=s1&second=s99",
        "shift=9&refits=-1&after=1e9",
        "shift=a&refits=&after=NaN",
        "%E0%A4%A&&&==",
    ],
)
def test_what_an_address_says_of_nothing_is_left_out(address):
    ways = "js.stateOf(address, first, js.unpack(table))"
    first = dict(panel="one", i=3, l=13, t=1, d=0, shift=0, n=2000, offset=0)
    first |= dict(pair=[0, 2], step=0, b=0)
    table = explored_table()
    found = in_node(ways, address=address, first=first, table=table)
    assert found == first
