"""What one step of a fit costs on a table in blocks: seconds, bytes and passes, as
formulas, and the simulated tables that scale.py holds them against; and, by numbers of
steps, turns and passes that law.py has counted, what the default job costs.

With n the longer side and m the shorter one, a step is two passes (three where rows are
many) with 4 n m^2 operations in products with triangles, some 150 m^3 of the driver,
and lists: 10 numbers a column sent or returned, 100 held.
"""

import math
import os
import tempfile
import time
from itertools import islice
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsyrk, dtrmm
from scipy.signal import lfilter
from scipy.special import ndtri

from rvamp_nb.algorithm.active import ACTIVE_FROM_RATIO, ACTIVE_SHARE, step_for
from rvamp_nb.algorithm.iteration import iterate
from rvamp_nb.algorithm.likelihood import Squared
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.problem import Problem
from rvamp_nb.algorithm.resampling import Poisson
from rvamp_nb.inference.batch_glm import LONG
from rvamp_nb.select.penalty import ALIKE_FROM, FEW_FROM
from rvamp_nb.tables.chunked import CHUNK_NUMBERS, ChunkedTable, as_block
from rvamp_nb.validation import check_number, check_size


def simulated_genotypes(path, M, N, *, linkage=0.95, seed=0, block=CHUNK_NUMBERS):
    """Counts 0, 1, 2 of the rarer letter at N places of M people, in a .npy file.

    Parameters
    ----------
    path : str or Path
        Where to write; 8-bit integers, columns one after the other where M <= N, rows
        one after the other elsewhere.
    M, N : int
    linkage : float in [0, 1)
        Correlation of the normal numbers behind a place and the next.
    seed : int
    block : int
        Numbers that are made at once; the table does not depend on it.

    Returns
    -------
    (M, N) numpy.memmap of int8
        Read-only.
    """
    rng, wide = np.random.default_rng(seed), M <= N
    share = rng.uniform(0.05, 0.5, N)
    threshold = ndtri(share).astype(np.float32)
    A = np.lib.format.open_memmap(path, "w+", np.int8, (M, N), fortran_order=wide)
    write = _by_columns if wide else _by_rows
    write(A, rng, threshold, np.float32(linkage), block)
    A.flush()
    return np.load(path, mmap_mode="r")


def _chain(noise, linkage, before):
    """Standard normal numbers, each correlated with the one before it, along the
    first axis; `before` stands before the first.
    """
    new = np.sqrt(1 - linkage**2, dtype=np.float32)
    step = np.array([1, -linkage], dtype=np.float32)
    return lfilter(new[None], step, noise, axis=0, zi=linkage * before)[0]


def _by_columns(A, rng, threshold, linkage, block):
    """Fill a wide table; the chains go on from block to block."""
    M, N = A.shape
    width = max(1, block // M)
    last = rng.standard_normal((1, 2, M), dtype=np.float32)
    for k in range(0, N, width):
        j = slice(k, min(k + width, N))
        noise = rng.standard_normal((j.stop - k, 2, M), dtype=np.float32)
        chain = _chain(noise, linkage, last)
        last = chain[-1:]
        A[:, j] = (chain < threshold[j, None, None]).sum(1, dtype=np.int8).T


def _by_rows(A, rng, threshold, linkage, block):
    """Fill a tall table, some people at a time."""
    M, N = A.shape
    height = max(1, block // N)
    for k in range(0, M, height):
        noise = rng.standard_normal((min(height, M - k), 2, N + 1), dtype=np.float32)
        noise = noise.transpose(2, 1, 0)
        chain = _chain(noise[1:], linkage, noise[:1])
        A[k : k + height] = (chain < threshold[:, None, None]).sum(1, dtype=np.int8).T


def simulated_trait(A, causal, *, explained=0.1, seed=0):
    """A trait of variance about 1, to which some columns contribute alike.

    Parameters
    ----------
    A : (M, N) array, numpy.memmap or Panels
    causal : (k,) array of int
        The columns that matter, none constant; their effects have alternating signs.
    explained : float in [0, 1 / k]
        Share of the variance that each explains.
    seed : int

    Returns
    -------
    (M,) array
        Of mean 0.
    """
    k = len(causal)
    check_number("simulated_trait", "explained", explained, 0, 1 / k, "[]")
    X = np.asarray(A[:, np.asarray(causal)], dtype=float)
    X = (X - X.mean(0)) / X.std(0)
    signs = np.resize([1.0, -1.0], k)
    noise = np.random.default_rng(seed).normal(size=len(X))
    y = np.sqrt(explained) * X @ signs + np.sqrt(1 - k * explained) * noise
    return y - y.mean()


class Pass(NamedTuple):
    """What one pass over a table sent and received, in bytes, and its seconds."""

    work: str  # the name of what was done
    cut: int  # sent, to each block its own part
    whole: int  # sent to every block
    joined: int  # answered, put side by side
    summed: int  # answered, added up
    reading: float  # seconds until blocks were floats
    seconds: float  # of the whole pass


def _bytes(sent):
    """The bytes of arrays in tuples, in tuples ..., and of None."""
    if isinstance(sent, (tuple, list)):
        return sum(map(_bytes, sent))
    return 0 if sent is None else np.asarray(sent).nbytes


class Counted(ChunkedTable):
    """A table in blocks that writes down what each pass sends and receives.

    Attributes
    ----------
    log : list of Pass
        Shared with the tables made from this one by other centres and units.
    """

    def __init__(self, source, *, log=None, **how):
        super().__init__(source, **how)
        self.log, self._reading = [] if log is None else log, 0.0

    def reading(self, k, *which, **how):
        """The k-th block, with the time noted that it takes."""
        start = time.perf_counter()
        block = super().reading(k, *which, **how)
        self._reading += time.perf_counter() - start
        return block

    def map_chunks(self, work, cut=(), whole=()):
        """One pass, noted."""
        start, self._reading = time.perf_counter(), 0.0
        joined, summed = super().map_chunks(work, cut, whole)
        seconds = time.perf_counter() - start
        sent = map(_bytes, (cut, whole, joined, summed))
        self.log.append(Pass(work.__name__, *sent, self._reading, seconds))
        return joined, summed

    def with_options(self, **how):
        """The same source with other arguments, and the same log."""
        other = super().with_options(**how)
        other.log = self.log
        return other


class Machine(NamedTuple):
    """How fast a worker, the driver and what is between them are; all but `task` are so
    many a second.
    """

    operations: float = 4e10  # of a worker, in products with triangular matrices
    numbers: float = 2e8  # that a worker reads from memory, makes floats and scales
    disk: float = 1e9  # bytes from the file, for each worker
    columns: float = 5e5  # for which the driver does all that is not linear algebra
    network: float = 1e9  # bytes through a wire
    task: float = 1e-3  # seconds for which the driver is busy to hand out a block


LISTS_SENT = 10  # numbers a column (row of a tall table) that are sent or returned
MATRICES_SENT = 4  # m x m matrices that are sent to each worker, or returned
LISTS_HELD = 100  # numbers a column (row) that the driver holds at its peak
MATRICES_HELD = 14, 40  # m x m matrices, the same; with columns that settle alone
ALGEBRA = 12, 150  # operations of the driver, in m^3; with such columns
PASSES_BEFORE = {2: 3, 3: 4}  # the first step, by the passes of a step
ROW = 0.3  # what the driver does for a row of a tall table, in units of a column


class Cost(NamedTuple):
    """What a step of a fit costs."""

    arithmetic: float  # seconds of products; as all of the first three, of the workers
    numbers: float  # seconds for what is done once for each number
    disk: float  # seconds of reading
    columns: float  # the driver's, for what is done once for each column, and the few
    matrices: float  # seconds of the driver for m x m matrices
    network: float  # seconds
    tasks: float  # seconds
    passes: int  # over the table
    read_bytes: float  # from disk, by all workers
    sent_bytes: float  # between driver and workers
    driver_bytes: float  # of memory, at the peak
    worker_bytes: float  # of memory, at the peak

    @property
    def parts(self):
        """{name: seconds} of the seven parts."""
        return dict(zip(self._fields[:7], self[:7]))

    @property
    def seconds(self):
        """Of one step, if nothing is done at the same time as something else."""
        return sum(self[:7])

    @property
    def bottleneck(self):
        """The name of the part that takes longest."""
        return max(self.parts, key=self.parts.get)

    def __repr__(self):
        memory = f"driver {self.driver_bytes / 1e9:.2g} GB"
        return f"Cost({self.seconds:.3g} s a step, mostly {self.bottleneck}; {memory})"


def _settles(n, m, passes):
    """Whether the driver settles a few columns by themselves (chapter 3.6)."""
    return bool(passes == 2 and n >= ACTIVE_FROM_RATIO * m)


def _seconds(n, m, passes, workers, bytes_per_number, machine, block):
    """The seven parts."""
    numbers, talks = m * n, workers > 1
    alone = _settles(n, m, passes)
    through = LISTS_SENT * n + alone * numbers / ACTIVE_SHARE
    through += MATRICES_SENT * m**2 * math.ceil(math.log2(workers + 1))
    few = alone * 8 * 4 * m * numbers / ACTIVE_SHARE  # that settle, in eight steps
    touched = passes * numbers + 2 * m**2 * numbers / block  # and sums of blocks
    return (
        4 * m * numbers / machine.operations / workers,
        touched / machine.numbers / workers,
        passes * numbers * bytes_per_number / machine.disk / workers,
        n * (ROW if passes == 3 else 1) / machine.columns + few / machine.operations,
        ALGEBRA[alone] * m**3 / machine.operations,
        talks * 8 * through / machine.network,
        talks * passes * numbers / block * machine.task,
    )


def cost(
    M, N, *, workers=1, bytes_per_number=1, machine=Machine(), block=CHUNK_NUMBERS
):
    """What a step of a fit costs on a table in blocks.

    Parameters
    ----------
    M, N : int
        Rows and columns.
    workers : int
        1 is the driver itself: nothing travels.
    bytes_per_number : float
        Where the table lies: 1 for 8-bit integers, 8 for 64-bit floats, 0 where it is
        in memory.
    machine : Machine
        As guessed, or measured by `this_machine`.
    block : int
        Numbers in a block.

    Returns
    -------
    Cost
    """
    n, m = max(M, N), min(M, N)
    check_size("cost", "M", M)
    check_size("cost", "N", N)
    check_size("cost", "workers", workers)
    passes, numbers = 2 if M <= N else 3, m * n
    block = min(max(block, m), numbers)
    parts = _seconds(n, m, passes, workers, bytes_per_number, machine, block)
    alone = _settles(n, m, passes)
    sent = 8 * (
        LISTS_SENT * n + MATRICES_SENT * workers * m**2 + alone * numbers / ACTIVE_SHARE
    )
    few = 3 * alone * numbers / ACTIVE_SHARE  # with copies
    driver = 8 * (LISTS_HELD * n + MATRICES_HELD[alone] * m**2 + few)
    worker = (16 + bytes_per_number) * block + 8 * MATRICES_SENT * m**2
    read = passes * numbers * bytes_per_number
    return Cost(*parts, passes, read, sent * (workers > 1), driver, worker)


SIDES = 50, 200, 1000, 2000  # shorter ones, for which a `Law` knows the machine
PLAY, IN_PLAY = 30, 20  # so many times q have both sides; columns in play
KEPT = 0.2  # of all columns, those that turns look at


def selected(M, N):
    """q of the default job: features that are selected in a resample."""
    return min((N / 2) ** 0.5, M / 6)


def way(kind, M, N):
    """How the search goes: among "all" columns, on a table "in chunks", with rows
    "alike", or with few columns "in play".
    """
    if kind in ("disk", "dask"):
        return "in chunks"
    if min(M, N) >= max(FEW_FROM, PLAY * selected(M, N)):
        return "in play"
    alike = kind == "dense" and M > N and M * N**2 >= ALIKE_FROM
    return "alike" if alike else "all"


def units(law, kind, M, N, machine=None):
    """Seconds of a step, of one of the columns in play, of turns for one resample, and
    of a pass; bytes that may be held: 10 MB, the table as floats, lists, matrices.
    """
    n, m, kept = max(M, N), min(M, N), max(KEPT * N, 1.0)
    known = zip(*law["machine"])
    known = Machine(*(float(np.interp(np.log(m), np.log(SIDES), v)) for v in known))
    machine, few = machine or known, min(N, int(IN_PLAY * selected(M, N)))
    how = dict(machine=machine, workers=1 + (kind == "dask"), bytes_per_number=0)
    how["block"] = m * n if kind == "dense" else CHUNK_NUMBERS
    steps = [cost(M, k, **how).seconds for k in (N, few)]
    turn = (4 * M * kept + 2 * min(M, kept) ** 2) / machine.operations
    turn = M / machine.numbers if M >= LONG else turn  # its counts are drawn
    held = 1e7, 8 * m * n * (kind == "dense"), 8 * LISTS_HELD * n, 8 * m**2
    return *steps, turn, m * n / machine.numbers, np.array(held)


def job_cost(law, kind, M, N, machine=None):
    """What `StabilitySelection().fit` and one `rvamp` cost.

    Parameters
    ----------
    law : dict
        As law.py has found it: how often each of `units` is needed.
    kind : str
        "dense", "disk" (8-bit integers in a file), "sparse" (of density 0.01), or
        "dask" (on two workers).
    M, N : int
    machine : Machine, optional
        By default the one that the law was measured on.

    Returns
    -------
    dict of float, float, float, float
        Seconds of search, turns and passes; bytes beside the table; both of one fit.
    """
    step, few, turn, reading, held = units(law, kind, M, N, machine)
    by, times, each = way(kind, M, N), law["times"], law["step"][kind]
    search = times[by] * each * step + (by == "in play") * times["few"] * each * few
    turns = times["drawn" if M >= LONG else "turns"] * turn
    job = dict(search=search, turns=turns, passes=times["passes"] * reading)
    one = times["steps"] * each * step
    bytes_, fit_bytes = (float(held @ law[name]) for name in ("bytes", "fit_bytes"))
    return job, bytes_, one, fit_bytes


def _rate(amount, work, repeat=3, clock=time.process_time):
    """So much a second, by the fastest of a few runs."""
    seconds = []
    for _ in range(repeat):
        start = clock()
        work()
        seconds.append(clock() - start)
    return amount / min(seconds)


def _operations(m):
    """Operations a second of the two products that a step is made of."""
    rng, width = np.random.default_rng(0), max(256, 65536 // m)
    X = np.asfortranarray(rng.normal(size=(m, width)))
    F, total = np.asfortranarray(np.eye(m)), np.zeros((m, m), order="F")

    def products():
        for _ in range(20):
            V = dtrmm(1.0, F, X, trans_a=1, lower=1)
            dsyrk(1.0, V, beta=1.0, c=total, lower=1, overwrite_c=1)

    return _rate(40 * m**2 * width, products)


def _numbers(m, width=10_000):
    """Numbers a second that are read, scaled, and looked at as in a pass."""
    raw, ones = np.ones((m, width), np.int8, order="F"), np.ones(width)

    def visit():
        X = as_block(raw, ones, ones)
        np.einsum("ij,ij->j", X * ones, X)
        X.T @ np.ones(m)

    return _rate(raw.size, visit)


def _disk(folder, size=2**26):
    """Bytes a second from a file that the system has been asked to forget."""
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(os.urandom(2**20) * (size // 2**20))
        file.flush()
        os.fsync(file.fileno())

        def read():
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            file.seek(0)
            while file.read(2**20):
                pass

        return _rate(size, read, clock=time.perf_counter)  # most of it is waiting


def step_seconds(A, y, lam, steps=8):
    """CPU seconds of each of the first steps of a fit, without those that were undone.

    Parameters
    ----------
    A : (M, N) array or Panels
    y : (M,) array
    lam : float
    steps : int

    Returns
    -------
    (at most steps,) array
    """
    problem = Problem(A, y, Laplace(lam), Squared(), Poisson(0.5))
    seconds, start = [], time.process_time()
    for _, _, event in islice(iterate(problem, take=step_for(A)), steps):
        now = time.process_time()
        if event in ("plain", "accelerated"):
            seconds.append(now - start)
        start = now
    return np.array(seconds[1:])  # the first waits for the first message, too


def _columns(m=8, N=20_000):
    """Columns a second that the driver takes through a step."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(m, N)) / np.sqrt(m)
    seconds = step_seconds(A, rng.normal(size=m), 1.5)
    return N / np.median(seconds)


def this_machine(m=200, folder=None):
    """The machine that this runs on, measured on one core in two seconds.

    Parameters
    ----------
    m : int
        The shorter side of the table: products of larger matrices are faster.
    folder : str or Path, optional
        Where the file will be; the folder for temporary files by default.

    Returns
    -------
    Machine
        Of which network and task are guesses.
    """
    check_size("this_machine", "m", m)
    return Machine(_operations(m), _numbers(m), _disk(folder), _columns())
