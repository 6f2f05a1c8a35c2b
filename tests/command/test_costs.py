"""What a fit costs as tests/bench/costs.py counts it, which the how-to
"A million columns" says: passes, what travels, operations and memory, against a fit;
and what the default job costs, which "How large can it be" shows.
"""

import json
import sys
import tracemalloc
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import blas

from rvamp_nb import rvamp
from rvamp_nb.algorithm import lmmse
from rvamp_nb.algorithm.active import step_for
from rvamp_nb.algorithm.iteration import iterate
from rvamp_nb.algorithm.likelihood import Squared
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.problem import Problem
from rvamp_nb.algorithm.resampling import Poisson
from rvamp_nb.tables.chunked import ChunkedTable
from rvamp_nb.tables.standardize import unit_columns

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
import costs  # noqa: E402
from costs import (  # noqa: E402
    Counted,
    Machine,
    cost,
    job_cost,
    simulated_genotypes,
    simulated_trait,
    step_seconds,
    this_machine,
)

WIDE, TALL = (100, 5600, 1.5), (3000, 40, 15.0)  # rows, columns, penalty
WIDER = (40, 5600, 1.5)  # here a few columns settle by themselves


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """{shape: (genotypes in a file, a trait)}."""
    folder, out = tmp_path_factory.mktemp("tables"), {}
    for M, N, _ in (WIDE, TALL, WIDER):
        A = simulated_genotypes(folder / f"{M}.npy", M, N)
        out[M, N] = A, simulated_trait(A, [N // 4, N // 2], explained=0.2)
    return out


def problem_of(A, y, lam):
    return Problem(A, y, Laplace(lam), Squared(), Poisson(0.5))


def steps_of(table, y, lam, settled=5):
    """The passes of the last of some steps."""
    steps = iterate(problem_of(table, y, lam), take=step_for(table))
    for _ in islice(steps, settled):
        log = list(table.log)
        table.log.clear()
    return log


# --------------------------------------------------- what travels


@pytest.mark.parametrize("M, N, lam", [WIDE, TALL, WIDER])
@pytest.mark.parametrize("block", [2**13, 2**16])
def test_passes_and_what_they_say_are_as_counted(tables, M, N, lam, block):
    """Whatever the blocks: lists over the long side, matrices of the short one."""
    A, y = tables[M, N]
    table, *_ = unit_columns(Counted(A, chunk_size=block))
    log, n, m = steps_of(table, y, lam), max(M, N), min(M, N)
    assert len(log) == cost(M, N).passes
    lists = sum(one.cut + one.joined for one in log) / 8 / n
    lists -= m / costs.ACTIVE_SHARE if (M, N, lam) == WIDER else 0
    assert costs.LISTS_SENT - 1.5 < lists < costs.LISTS_SENT + 0.5
    squares = sum(one.whole + one.summed for one in log) / 8 / m**2
    assert squares < costs.MATRICES_SENT + 1.5
    assert sum(sum(one[1:5]) for one in log) < 0.5 * 8 * len(log) * M * N


@pytest.mark.parametrize("M, N, lam", [WIDE, TALL, WIDER])
def test_passes_of_a_fit_are_as_counted(tables, M, N, lam):
    A, y = tables[M, N]
    table, *_ = unit_columns(Counted(A, chunk_size=2**15))
    fit = rvamp(table, y, lam, tol=1e-2)
    assert fit.converged
    passes = cost(M, N).passes
    assert len(table.log) == passes * fit.n_iter + costs.PASSES_BEFORE[passes]


@pytest.mark.parametrize("M, N, lam", [WIDE, TALL])
def test_operations_are_as_counted(tables, M, N, lam, monkeypatch):
    """Of the products with triangles, which are nearly all."""
    A, y = tables[M, N]
    table, *_ = unit_columns(ChunkedTable(A, chunk_size=2**15))
    done = []

    def counted(product, operations):
        def run(*args, **options):
            done.append(operations(*args, **options))
            return product(*args, **options)

        return run

    syrk = lambda alpha, X, **_: X.size * min(M, N)
    trmm = lambda alpha, F, X, **_: X.size * len(F)
    monkeypatch.setattr(lmmse, "dsyrk", counted(blas.dsyrk, syrk))
    monkeypatch.setattr(lmmse, "dtrmm", counted(blas.dtrmm, trmm))
    for _ in islice(iterate(problem_of(table, y, lam)), 4):
        operations = sum(done)
        done.clear()
    predicted = cost(M, N).arithmetic * Machine().operations
    assert 1 <= operations / predicted < 1.05


def test_a_log_is_shared_with_the_tables_made_from_one(tables):
    A, _ = tables[WIDE[:2]]
    raw = Counted(A, chunk_size=2**13)
    table, *_ = unit_columns(raw)
    assert table.log is raw.log and len(raw.log) == 1
    u = np.ones(WIDE[0])
    assert np.allclose(table.T @ u, table[:, :].T @ u)
    last = raw.log[-1]
    assert last.whole in (0, u.nbytes) and last.seconds >= last.reading >= 0


def test_counting_changes_no_digit(tables):
    A, y = tables[WIDE[:2]]
    x = np.random.default_rng(0).normal(size=WIDE[1])
    pair = Counted(A, chunk_size=2**13), ChunkedTable(A, chunk_size=2**13)
    one, other = (unit_columns(table)[0] @ x for table in pair)
    assert np.array_equal(one, other)


# --------------------------------------------------- memory


@pytest.mark.parametrize("M, N, lam", [(8, 20_000, 1.5), (20_000, 8, 40.0)])
def test_the_driver_holds_no_more_than_is_said(tmp_path, M, N, lam):
    """And not less than half of it: the formula is no mere bound."""
    table, *_ = unit_columns(
        ChunkedTable(simulated_genotypes(tmp_path / "flat.npy", M, N), chunk_size=2**15)
    )
    y = np.random.default_rng(0).normal(size=M)
    tracemalloc.start()
    for _ in islice(iterate(problem_of(table, y, lam)), 12):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    predicted = cost(M, N, block=2**15)
    assert 0.5 < peak / (predicted.driver_bytes + predicted.worker_bytes) < 1.05


# --------------------------------------------------- the formulas


def test_parts_grow_as_they_should():
    one, more = cost(200, 10**5), cost(200, 10**6)
    for name in ("arithmetic", "numbers", "disk", "columns"):
        assert np.isclose(more.parts[name], 10 * one.parts[name])
    assert more.matrices == one.matrices
    assert np.isclose(cost(400, 10**6).arithmetic, 4 * more.arithmetic)
    assert np.isclose(cost(200, 10**6, bytes_per_number=8).disk, 8 * more.disk)


def test_workers_share_and_talk():
    alone, many = cost(1000, 10**6), cost(1000, 10**6, workers=16)
    for name in ("arithmetic", "numbers", "disk"):
        assert np.isclose(alone.parts[name], 16 * many.parts[name])
    assert alone.network == alone.tasks == alone.sent_bytes == 0
    assert many.network > 0 and many.tasks > 0 and many.sent_bytes > 0
    assert (alone.columns, alone.matrices) == (many.columns, many.matrices)
    assert alone.driver_bytes == many.driver_bytes


def test_a_cost_says_what_is_largest():
    c = cost(10_000, 10**6, workers=10)
    assert np.isclose(c.seconds, sum(c.parts.values()))
    assert c.parts[c.bottleneck] == max(c.parts.values())
    assert c.bottleneck in repr(c)
    slow = Machine(disk=1e5)
    assert cost(200, 10**6, machine=slow).bottleneck == "disk"


@pytest.mark.parametrize("wrong", [dict(M=0, N=5), dict(M=5, N=5, workers=0)])
def test_a_cost_of_nothing_is_refused(wrong):
    with pytest.raises(ValueError, match="cost"):
        cost(**wrong)


def test_a_machine_is_measured():
    machine = this_machine(20)
    assert all(np.isfinite(value) and value > 0 for value in machine)
    assert 1e8 < machine.operations < 1e13 and 1e5 < machine.numbers < 1e12


def test_steps_are_timed(tables):
    A, y = tables[WIDE[:2]]
    seconds = step_seconds(unit_columns(ChunkedTable(A))[0], y, 1.5, steps=4)
    assert 1 <= len(seconds) <= 3 and (seconds > 0).all()


# --------------------------------------------------- genotypes


@pytest.mark.parametrize("M, N", [(30, 500), (500, 30)])
def test_genotypes_do_not_depend_on_the_blocks_they_are_made_in(tmp_path, M, N):
    one, again, other = (
        np.array(simulated_genotypes(tmp_path / "a.npy", M, N, seed=seed, block=block))
        for seed, block in ((0, 2**21), (0, 2**8), (1, 2**21))
    )
    assert one.dtype == np.int8 and one.shape == (M, N)
    assert np.array_equal(one, again) and not np.array_equal(one, other)
    assert set(np.unique(one)) == {0, 1, 2}


@pytest.mark.parametrize("M, N", [(300, 4000), (4000, 300)])
def test_genotypes_have_the_shares_and_the_linkage_of_genomes(tmp_path, M, N):
    """Hardy-Weinberg: of two copies drawn alike, var = 2 share (1 - share)."""
    A = np.array(simulated_genotypes(tmp_path / "a.npy", M, N, linkage=0.9))
    share = A.mean(0) / 2
    assert 0.25 < share.mean() < 0.3 and share.min() > 0 and share.max() < 0.65
    expected = 2 * share * (1 - share)
    assert abs(np.mean(A.var(0) / expected) - 1) < 0.02
    X = (A - A.mean(0)) / np.linalg.norm(A - A.mean(0), axis=0)
    near, far = (np.mean(np.sum(X[:, :-k] * X[:, k:], 0)) for k in (1, 60))
    assert 0.5 < near < 0.7 and abs(far) < 0.03
    loose = np.array(simulated_genotypes(tmp_path / "b.npy", M, N, linkage=0.0))
    Z = (loose - loose.mean(0)) / np.linalg.norm(loose - loose.mean(0), axis=0)
    assert abs(np.mean(np.sum(Z[:, :-1] * Z[:, 1:], 0))) < 0.01


@pytest.mark.parametrize("M, N, wide", [(30, 500, True), (500, 30, False)])
def test_a_file_lies_in_the_order_in_which_it_is_read(tmp_path, M, N, wide):
    A = simulated_genotypes(tmp_path / "a.npy", M, N)
    assert A.flags.f_contiguous == wide and not A.flags.writeable


def test_a_trait_is_explained_as_asked(tables):
    A, _ = tables[TALL[:2]]
    y = simulated_trait(A, [3, 30], explained=0.3)
    assert abs(y.mean()) < 1e-12 and 0.9 < y.var() < 1.1
    X = np.array(A[:, [3, 30, 15]], dtype=float)
    X = (X - X.mean(0)) / X.std(0)
    effects = np.linalg.lstsq(X, y, rcond=None)[0]
    wrong = effects - np.sqrt(0.3) * np.array([1, -1, 0])
    assert np.abs(wrong).max() < 4 * np.sqrt(0.4 / len(y))
    assert np.allclose(simulated_trait(ChunkedTable(A), [3, 30], explained=0.3), y)
    with pytest.raises(ValueError, match="explained"):
        simulated_trait(A, [3, 30], explained=0.6)


# --------------------------------------------------- the whole job


@pytest.fixture(scope="module")
def measured():
    """What tests/bench/law.py has written down."""
    return json.loads(Path(costs.__file__).with_name("law.json").read_text())


def test_the_job_is_foretold_from_other_tables(measured):
    """Of the half that had no part in the law, in a file that lies there."""
    held_out = [run for run in measured["runs"] if run["half"]]
    off = {"all": [], "bytes": [], "fit": []}
    for run in held_out:
        size = run["kind"], run["M"], run["N"]
        job, held, one, _ = job_cost(measured["law"], *size)
        for name, value in zip(off, (sum(job.values()), held, one)):
            off[name].append(abs(np.log(value / run[name])))
    assert len(held_out) >= 8
    for name in off:
        assert np.exp(np.median(off[name])) < 1.6, name
        assert np.exp(np.max(off[name])) < 4, name


@pytest.mark.parametrize("M, N", [(200, 50_000), (20_000, 100)])
def test_the_law_is_that_of_a_step(measured, M, N):
    """A fit is steps of `cost`, and a machine of twice the rates takes half."""
    law, machine = measured["law"], Machine()
    job, _, one, _ = job_cost(law, "disk", M, N, machine)
    step = cost(M, N, bytes_per_number=0, machine=machine).seconds
    assert np.isclose(one, law["times"]["steps"] * law["step"]["disk"] * step)
    ratio = law["times"]["in chunks"] / law["times"]["steps"]
    assert np.isclose(job["search"] / one, ratio)
    twice = Machine(*(2 * rate for rate in machine[:4]))
    faster, *_ = job_cost(law, "disk", M, N, twice)
    assert np.isclose(sum(faster.values()), sum(job.values()) / 2)


@pytest.mark.parametrize(
    "kind, M, N, found",
    [
        ("dense", 3000, 3000, "in play"),
        ("sparse", 3000, 3000, "in play"),
        ("disk", 3000, 3000, "in chunks"),
        ("dense", 5000, 500_000, "all"),  # too many are selected
        ("dense", 2000, 500, "alike"),
        ("dense", 60, 50, "all"),
        ("dask", 20_000, 100, "in chunks"),
    ],
)
def test_the_search_goes_one_of_four_ways(kind, M, N, found):
    assert costs.way(kind, M, N) == found


def test_few_columns_in_play_are_cheaper_than_all(measured):
    """But not for nothing."""
    law, searches = measured["law"], []
    all_columns = {"in play": law["times"]["all"]}
    for change in (dict(few=0), {}, all_columns | dict(few=0)):
        changed = law | dict(times=law["times"] | change)
        job, *_ = job_cost(changed, "dense", 4000, 4000, Machine())
        searches.append(job["search"])
    full, few, every = searches
    assert full < few < every / 2
