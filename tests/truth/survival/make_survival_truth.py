"""What refits of the Cox model itself say of four tables of survival times.

    python tests/truth/survival/make_survival_truth.py          # a quarter of an hour

One file for each table: the penalty (`lam`), Π, mean and variance of each coefficient
over `n` refits of half of the rows (`Pi`, `mean`, `var`), refit b drawn as
`naive_bootstrap` with seed 0 draws it. `split.npz`: how far other models are from Cox,
refit by refit on the same halves of the first table: the piecewise-exponential one with
so many intervals, and Poisson rows with a frozen baseline, without and with the own
share (`drawn-share`).
"""

import sys
from pathlib import Path

import numpy as np

from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.resampling import Subsample
from rvamp_nb.course.survival import survival_fit
from rvamp_nb.inference.batch_glm import penalised_fit
from rvamp_nb.inference.bootstrap import naive_bootstrap
from rvamp_nb.inference.cox import cox_fits

HERE = Path(__file__).resolve().parent
HALF = Subsample(0.5)
DESIGNS = {  # M, N, true effects, their size, correlation, censoring, penalty
    "120x60": (120, 60, 5, 0.6, 0.2, 0.8, 0.30),
    "200x100": (200, 100, 5, 0.4, 0.5, 0.6, 0.25),
    "80x300": (80, 300, 4, 1.0, 0.0, 0.8, 0.40),
    "150x40": (150, 40, 4, 1.5, 0.1, 0.9, 0.20),
}


def table(name):
    """A (M, N), times with ties and events (M,), and a penalty."""
    M, N, k, effect, rho, censoring, share = DESIGNS[name]
    rng = np.random.default_rng(1)
    A, common = rng.normal(size=(M, N)), rng.normal(size=(M, 1))
    A = np.sqrt(1 - rho) * A + np.sqrt(rho) * common
    x = np.zeros(N)
    x[:k] = effect * np.where(np.arange(k) % 2, -1, 1)
    death = (-np.log(rng.random(M)) / np.exp(A @ x)) ** (2 / 3)
    left = rng.exponential(np.quantile(death, censoring), M)
    time = np.ceil(np.minimum(death, left) * 200) / 200
    event = (death <= left) * 1.0
    A = A - A.mean(0)
    A /= np.linalg.norm(A, axis=0)
    pull = A.T @ (event - breslow(time, event, np.ones(M)))
    return A, time, event, share * np.abs(pull).max()


def breslow(time, deaths, risk):
    """The cumulative baseline hazard at each time (M,), (M,) or (b, M): a jump of
    deaths over total risk at every time of death (`full`). Deaths are counts times
    events, risks counts times exp(eta), (M,) or (b, M) each.
    """
    order = np.argsort(time, kind="stable")
    _, first, at = np.unique(time[order], return_index=True, return_inverse=True)
    died, own = (np.add.reduceat(v[..., order], first, -1) for v in (deaths, risk))
    at_risk = np.cumsum(own[..., ::-1], -1)[..., ::-1]
    jumps = np.divide(died, at_risk, out=np.zeros(died.shape), where=died > 0)
    hazard = np.empty(jumps.shape[:-1] + time.shape)
    hazard[..., order] = np.cumsum(jumps, -1)[..., at]
    return hazard


def half(b, M):
    """The counts of refit b."""
    return HALF.draw(
        M, np.random.default_rng(np.random.SeedSequence(0, spawn_key=(b,)))
    )


def refits(name, numbers):
    """Coefficients of Cox refits, (B, N)."""
    A, time, event, lam = table(name)
    counts = np.array([half(b, len(A)) for b in numbers])
    penalties = np.full((len(counts), A.shape[1]), lam)
    return cox_fits(A, time, event, penalties, counts)


def cuts(time, event, n):
    """Ends of at most n intervals with equally many events each, at times of death."""
    levels = np.arange(1, n + 1) / n
    return np.unique(np.quantile(time[event > 0], levels, method="inverted_cdf"))


def last_death(time, event):
    """Times moved back to the last death not after them, which Cox's objective does not
    notice; 0 before the first.
    """
    deaths = np.append(0.0, np.unique(time[event > 0]))
    return deaths[np.searchsorted(deaths, time, side="right") - 1]


def split(time, event, ends):
    """Split rows: which person, which interval, time at risk, event."""
    starts = np.append(0.0, ends[:-1])
    at_risk = np.clip(np.minimum(time[:, None], ends) - starts, 0, None)
    who, part = np.nonzero(at_risk > 0)
    ended = (time[who] <= ends[part]) & (time[who] > starts[part])
    return who, part, at_risk[who, part], event[who] * ended


def piecewise_fit(A, time, event, lam, c, n):
    """The piecewise-exponential model with n intervals on one resample."""
    ends = cuts(time[c > 0], event[c > 0], n)
    time = last_death(time, event * c)
    who, part, at_risk, died = split(time, event, ends)
    columns = np.hstack([A[who], np.eye(len(ends))[part]])
    t = np.append(np.full(A.shape[1], lam), np.zeros(len(ends)))
    x = penalised_fit(
        columns, died, t, 0 * t, c[who], "poisson", offset=np.log(at_risk)
    )
    return x[: A.shape[1]]


def frozen(name, n, own):
    """Refits of Poisson rows with a frozen baseline, (n, N)."""
    A, time, event, lam = table(name)
    prior = Laplace(lam)
    _, base = survival_fit(A, time, event, prior=prior)
    rows = base.rows
    offset = rows.offset
    if not own:
        plain = breslow(time, event, base.risk / HALF.mean)
        offset = np.log(np.where(plain > 0, plain, 1.0))
    options = dict(loss="poisson", intercept=True, resampling=HALF)
    options |= dict(sample_weight=rows.sample_weight, offset=offset, n_resamples=n)
    keep = list(range(A.shape[1]))
    return naive_bootstrap(A, event, lam, keep=keep, verbose=False, **options).draws


def distances(name, x, cox):
    """Root mean square of Π and slope of the means, paired with Cox refits."""
    off = (x != 0).mean(0) - (cox != 0).mean(0)
    return np.sqrt(np.mean(off**2)), np.polyfit(cox.mean(0), x.mean(0), 1)[0]


def make_split(name="120x60", n=300, intervals=(1, 2, 4, 8, 16, 1000)):
    """The comparison with split rows."""
    A, time, event, lam = table(name)
    cox = refits(name, range(n))
    rows = []
    for k in intervals:
        x = [piecewise_fit(A, time, event, lam, half(b, len(A)), k) for b in range(n)]
        rows.append(distances(name, np.array(x), cox))
        print(k, rows[-1], flush=True)
    whole = [distances(name, frozen(name, n, own), cox) for own in (False, True)]
    print(whole)
    Pi = (cox != 0).mean(0)
    noise = np.sqrt(np.mean(Pi * (1 - Pi)) / n)
    np.savez(
        HERE / "split.npz", intervals=intervals, pieces=rows, rows=whole, noise=noise
    )


if __name__ == "__main__":
    for name in sys.argv[1:] or [*DESIGNS, "split"]:
        if name == "split":
            make_split()
            continue
        n = 1000 if name == "120x60" else 400
        x = refits(name, range(n))
        columns = dict(Pi=(x != 0).mean(0), mean=x.mean(0), var=x.var(0, ddof=1))
        np.savez(HERE / f"{name}.npz", lam=table(name)[3], n=n, **columns)
        print(name, (x != 0).mean(0).sum(), flush=True)
