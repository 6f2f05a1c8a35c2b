"""Does a chapter see a wrong picture, or a wrong formula? Mistakes that are planted.

    python tests/bench/mutations.py              all of them
    python tests/bench/mutations.py 31 37        those of some chapters
    python tests/bench/mutations.py --kind atom  those of one kind

Each mutation breaks one place of one cell of a chapter, the way a slip would, and the
module, too, if the cell is exported. The chapter alone is then run in a copy of the
repository, where it passed before. A line for each says "seen" and what saw it, an
assertion or a control that moves nothing; "NOT SEEN"; or "STOPS" and how, where the
mistake does not run, which says nothing of the chapter's checks. The exit code is 1
where one is not seen. `misplaced` names those whose text is no longer there once; the
suite asks it.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import nbformat

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from sabotages import copied, run  # noqa: E402

EXPORTS_TO = re.compile(r"#\| default_exp ([\w.]+)")
ERROR = re.compile(r"\b\w+(?:Error|Exception|Warning)\b")
LINE = re.compile(r'File "<ipython-input[^\n]*\n +([^\n]*)')
STILL = re.compile(r"[^\n]* changes nothing")  # a control that conftest.py moves


class Mutation(NamedTuple):
    chapter: str  # its file in nbs/course, without the ending
    cell: str  # the id of the cell
    what: str  # the mistake, in a few words
    right: str  # a piece of the cell's text that is there exactly once
    wrong: str  # what it becomes


PICTURES = [
    Mutation(
        "11_tour",
        "67df0228",
        "the title has the other share",
        "by_counting = p[x == 0].sum()",
        "by_counting = p[x != 0].sum()",
    ),
    Mutation(
        "11_tour",
        "67df0228",
        "the penalty is never doubled",
        "for l in (lam, 2 * lam)",
        "for l in (lam, lam)",
    ),
    Mutation(
        "11_tour",
        "a998f81b",
        "both axes are swapped",
        "ax.errorbar(truth, ours,",
        "ax.errorbar(ours, truth,",
    ),
    Mutation(
        "12_resampling",
        "b29ad430",
        "the Poisson bars do not follow the slider",
        "stats.poisson.pmf(k, tau)",
        "stats.poisson.pmf(k, 1)",
    ),
    Mutation(
        "12_resampling",
        "8d1c9dc8",
        "the bound has half its slope",
        "ax.plot([0, 1], [0, 1],",
        "ax.plot([0, 1], [0, 0.5],",
    ),
    Mutation(
        "13_datasets",
        "fca01cb7",
        "a linear axis in place of a logarithmic one",
        "ax.semilogy(",
        "ax.plot(",
    ),
    Mutation(
        "13_datasets",
        "547b9094",
        "columns count as pairs with themselves",
        "np.triu_indices(400, 1)",
        "np.triu_indices(400, 0)",
    ),
    Mutation(
        "14_bootstrap",
        "043a39b5",
        "error bars of twice as many refits",
        "_share_error(part * n_resamples, n_resamples)",
        "_share_error(part * n_resamples, 2 * n_resamples)",
    ),
    Mutation(
        "14_bootstrap",
        "11ae2c5f",
        "error bars are variances",
        "fit.Pi_se[top],",
        "fit.Pi_se[top] ** 2,",
    ),
    Mutation(
        "14_bootstrap",
        "427d6383",
        "a histogram of the values of another column",
        "values = long.draws[:, 1]",
        "values = long.draws[:, 2]",
    ),
    Mutation(
        "21_replica",
        "82fdb47b",
        "the tilt is that of one copy less",
        "prob * Z**n / (prob @ Z**n)",
        "prob * Z ** (n - 1) / (prob @ Z ** (n - 1))",
    ),
    Mutation(
        "21_replica",
        "b7d283a8",
        "the covariance of the title is a second moment",
        "abs(x @ table @ x - (x @ alone) ** 2)",
        "abs(x @ table @ x)",
    ),
    Mutation(
        "21_replica",
        "66ead3ac",
        "both curves have each other's look and name",
        '[prob @ (Z**n * m) for n in ns], label=r"$\\mathcal{A}_n$", **LINES["p2"])\n'
        "plt.plot(ns, [ratio(n) for n in ns],",
        '[ratio(n) for n in ns], label=r"$\\mathcal{A}_n$", **LINES["p2"])\n'
        "plt.plot(ns, [prob @ (Z**n * m) for n in ns],",
    ),
    Mutation(
        "22_augmented",
        "4d601c59",
        "the vertical line is the squared loss's under either loss",
        "peak = centre[loss](c2, z2)",
        'peak = centre["squared"](c2, z2)',
    ),
    Mutation(
        "22_augmented",
        "attract05",
        "the mean is not squared in a title",
        "cov = t @ density @ t - mean**2",
        "cov = t @ density @ t - mean",
    ),
    Mutation(
        "23_rs_gaussian",
        "a0ca0288",
        "the variance of the reweighted field has a square",
        "normal(h / pull, chi_hat / pull)",
        "normal(h / pull, chi_hat / pull**2)",
    ),
    Mutation(
        "23_rs_gaussian",
        "22f1ca6d",
        "within and across change places in the title",
        'f"within {diagonal - between:.2f}, across {between:.2f}"',
        'f"within {between:.2f}, across {diagonal - between:.2f}"',
    ),
    Mutation(
        "23_rs_gaussian",
        "9e306766",
        "the Gaussian leans the other way",
        "np.exp(-square / 2 - inverse[0, 1]",
        "np.exp(-square / 2 + inverse[0, 1]",
    ),
    Mutation(
        "23_rs_gaussian",
        "93cc0727",
        "the names of the resamples are in another order",
        "for c in counts[np.argsort(mean_c)]]",
        "for c in counts]",
    ),
    Mutation(
        "24_messages",
        "a52317b2",
        "the field that goes out has the wrong sign",
        "m / v - h_in",
        "m / v + h_in",
    ),
    Mutation(
        "24_messages",
        "digits07",
        "both curves of errors are swapped",
        "ax.semilogy(exponent, error[0],",
        "ax.semilogy(exponent, error[1],",
    ),
    Mutation(
        "25_one_posterior",
        "pic25b",
        "the bars of the penalties do not follow n",
        "here.sum(1), color",
        "tilt(0, law, log_z).sum(1), color",
    ),
    Mutation(
        "31_prior",
        "7bab064e",
        "the left tail is moved the wrong way",
        "(x + lam * np.sign(x) - h)",
        "(x + lam - h)",
    ),
    Mutation(
        "31_prior",
        "285589d5",
        "two panels show each other's numbers",
        "(mean, Pi, var), (",
        "(mean, var, Pi), (",
    ),
    Mutation(
        "32_likelihood",
        "56305b91",
        "the right-hand curve is Poisson's under either law",
        "gain(v, laws[law](tau))[1]",
        "gain(v, Poisson(tau))[1]",
    ),
    Mutation(
        "32_likelihood",
        "0d167561",
        "Huber's loss has twice the width that its label says",
        "Huber(1.0), 0.0",
        "Huber(2.0), 0.0",
    ),
    Mutation(
        "33_coupling",
        "f3e158de",
        "what the others know is not taken out",
        "return s / (1 - D1 * s), 1",
        "return s, 1",
    ),
    Mutation(
        "33_coupling",
        "out10c",
        "the bars put a column on half of the rest",
        "bars.bar([0, 1], of_the_rest,",
        "bars.bar([0, 1], of_the_rest / 2,",
    ),
    Mutation(
        "35_until_it_stops",
        "81ec18d4",
        "both lines have each other's label",
        '(False, "p1", "damped"),\n        (True,',
        '(True, "p1", "damped"),\n        (False,',
    ),
    Mutation(
        "35_until_it_stops",
        "3ee119fb",
        "δ is drawn over the change",
        "return [s.change for s in steps if s], [s.delta for s in steps if s]",
        "return [s.delta for s in steps if s], [s.change for s in steps if s]",
    ),
    Mutation(
        "36_solver",
        "da55b8fd",
        "true features are grey",
        "truth = easy.x0 != 0",
        "truth = easy.x0 == 0",
    ),
    Mutation(
        "37_densities",
        "x62top03",
        "the Gaussian has the variance for a standard deviation",
        "stats.norm(s3.mean, s3.var**0.5)",
        "stats.norm(s3.mean, s3.var)",
    ),
    Mutation(
        "37_densities",
        "8fdde025",
        "a Gaussian has no kurtosis",
        '"kurtosis", 3)',
        '"kurtosis", 0)',
    ),
    Mutation(
        "37_densities",
        "x62own03",
        "the ellipse has the variance for a radius",
        "k * np.linalg.cholesky(C) @ circle",
        "k * C @ circle",
    ),
    Mutation(
        "38_micro",
        "26m00034",
        "a histogram of those that are not zero only",
        "height / len(refits.draws) / np.diff(edges)",
        "height / len(kept) / np.diff(edges)",
    ),
    Mutation(
        "46_conditioning",
        "c0unt0y2",
        "bars of both ways are swapped",
        '(jointly[K], "rvamp"), (added[K], "p2")',
        '(added[K], "rvamp"), (jointly[K], "p2")',
    ),
    Mutation(
        "52_groups",
        "19000013",
        "the dashed line has no square",
        "1 + (n - 1) * s**2",
        "1 + (n - 1) * s",
    ),
]

FORMULAS = [
    Mutation(
        "12_resampling",
        "943cc590",
        "the slope of the estimate forgets the fit",
        "w = a * (y - a * fit(np.full(3, repeats), lam_total))",
        "w = a * y",
    ),
    Mutation(
        "12_resampling",
        "e49a369f",
        "Poisson counts have another mean",
        "stats.poisson.pmf(grid, 1)",
        "stats.poisson.pmf(grid, 1.05)",
    ),
    Mutation(
        "13_datasets",
        "78f338a0",
        "the coefficients do not follow the columns' scale",
        "return Dataset(B, y - y.mean(), norm * x0, names)",
        "return Dataset(B, y - y.mean(), x0, names)",
    ),
    Mutation(
        "14_bootstrap",
        "67a3ce04",
        "rows are multiplied by their counts, not by the roots",
        "root = np.sqrt(counts[rows])",
        "root = counts[rows]",
    ),
    Mutation(
        "14_bootstrap",
        "b14812af",
        "the variance of the variance forgets the fourth moment's correction",
        "fourth - var**2 * (n - 3) / (n - 1)",
        "fourth + var**2 * (n - 3) / (n - 1)",
    ),
    Mutation(
        "23_rs_gaussian",
        "8ea0f3a4",
        "the covariance of two copies has a factor 2",
        "off_diagonal = chi_hat / (Q_hat * precision_of_sum)",
        "off_diagonal = 2 * chi_hat / (Q_hat * precision_of_sum)",
    ),
    Mutation(
        "23_rs_gaussian",
        "43c86238",
        "the log-partition function forgets a half",
        "n * beta * h**2 / (2 * precision_of_sum)",
        "n * beta * h**2 / precision_of_sum",
    ),
    Mutation(
        "24_messages",
        "bd9d38b6",
        "the noise that goes out keeps what came in",
        "var / chi**2 - chi_hat)",
        "var / chi**2)",
    ),
    Mutation(
        "24_messages",
        "views07a",
        "a moment view's noise is divided once",
        "chi_hat / Q_hat**2)",
        "chi_hat / Q_hat)",
    ),
    Mutation(
        "31_prior",
        "5e1ec7ed1",
        "a probability forgets the other side",
        "near + (not positive) * far, 1)",
        "near + 0 * far, 1)",
    ),
    Mutation(
        "31_prior",
        "4c63bc34",
        "a drawn penalty adds no variance",
        "var + between",
        "var",
    ),
    Mutation(
        "31_prior",
        "c5aee55e",
        "log z is not halved",
        "(up**2 + down**2) / (2 * Q)",
        "(up**2 + down**2) / Q",
    ),
    Mutation(
        "32_likelihood",
        "a57609d9",
        "the spread of a gain is not relative",
        "w @ (g / mean - 1) ** 2",
        "w @ (g - mean) ** 2",
    ),
    Mutation(
        "32_likelihood",
        "dca2664d",
        "the logistic curvature has the wrong odds",
        "np.where(f > 0, (1 - y) - q, q - y), q * p",
        "np.where(f > 0, (1 - y) - q, q - y), q",
    ),
    Mutation(
        "33_coupling",
        "2e1aef97",
        "others' noise is divided once",
        "chi_hat=others / free**2",
        "chi_hat=others / free",
    ),
    Mutation(
        "33_coupling",
        "ffb62b83",
        "the pull's field has the other sign",
        "V * u - solved.Ax",
        "V * u + solved.Ax",
    ),
    Mutation(
        "34_one_turn",
        "881c9e7c",
        "the start pulls coefficients away from the data",
        "h = Q_hat * x - counts.mean * pull",
        "h = Q_hat * x + counts.mean * pull",
    ),
    Mutation(
        "34_one_turn",
        "e06e2dc4",
        "a variance is taken for a standard deviation",
        "sigmas * np.sqrt(chi_hat)",
        "sigmas * chi_hat",
    ),
    Mutation(
        "34_one_turn",
        "3474rn01",
        "the rows receive what the prior should",
        "x, u, coupled, State(coupled.to_prior, coupled.to_likelihood)",
        "x, u, coupled, State(state.to_prior, coupled.to_likelihood)",
    ),
    Mutation(
        "35_until_it_stops",
        "e77decbf",
        "damping keeps what it should leave",
        "z[finite] + damping * (f[finite] - z[finite])",
        "z[finite] + (1 - damping) * (f[finite] - z[finite])",
    ),
    Mutation(
        "35_until_it_stops",
        "3570and1",
        "moves are added, not subtracted",
        "- gamma @ (moves",
        "+ gamma @ (moves",
    ),
    Mutation(
        "35_until_it_stops",
        "a7d10c05",
        "a fainter message has a noise as if of all rows",
        "chi_hat=factor**2 * chi_hat",
        "chi_hat=factor * chi_hat",
    ),
    Mutation(
        "36_solver",
        "cc8165eb",
        "the variance of the means is left out",
        "[part.var + (part.mean - mixed_mean) ** 2 for part in parts]",
        "[part.var for part in parts]",
    ),
    Mutation(
        "37_densities",
        "den37a",
        "the recursion of the ramp's moments is off by one",
        "(j - 1) * M[-2]",
        "j * M[-2]",
    ),
    Mutation(
        "37_densities",
        "f1n1te01",
        "the field has a variance for a standard deviation",
        "h + np.sqrt(chi_hat) * xi[:, None]",
        "h + chi_hat * xi[:, None]",
    ),
    Mutation(
        "37_densities",
        "den37d",
        "the rows' noise is divided once",
        "rows.chi_hat / rows.Q_hat**2",
        "rows.chi_hat / rows.Q_hat",
    ),
    Mutation(
        "38_micro",
        "26m00016",
        "the square of a gain is the gain",
        "p * (c / (1 + c * Q_hat)) ** 2 for",
        "p * (c / (1 + c * Q_hat)) for",
    ),
    Mutation(
        "38_micro",
        "26m00033",
        "the density forgets the slope",
        "return Q_hat * np.exp(",
        "return np.exp(",
    ),
]
# Planted on 2026-11-30 by somebody who had written none of the checks, one of each kind
# in every chapter at least.
PICTURES_BY_OTHERS = [
    Mutation(
        "11_tour",
        "9e4e01c4",
        "the mean line is the mean of the selected only",
        "ax.axvline(mean, color",
        "ax.axvline(mean / Pi, color",
    ),
    Mutation(
        "12_resampling",
        "real12c",
        "the shares are those of B's resamples",
        "rng.choice(thirds[0], 147)",
        "rng.choice(thirds[1], 147)",
    ),
    Mutation(
        "12_resampling",
        "round002",
        "what is expected does not follow the slider",
        "refits * shares_after(refits), refits * prob",
        "refits * shares_after(refits), 40 * prob",
    ),
    Mutation(
        "13_datasets",
        "a5d13609",
        "both tables have each other's name",
        'yticklabels=["diabetes", "random DCT"]',
        'yticklabels=["random DCT", "diabetes"]',
    ),
    Mutation(
        "14_bootstrap",
        "427d6383",
        "the note has the share that is not zero",
        "{np.mean(values == 0):.0%}",
        "{np.mean(values != 0):.0%}",
    ),
    Mutation(
        "21_replica",
        "82fdb47b",
        "the outlines are not in the order of the bars",
        'prob[order], label="p(c)"',
        'prob, label="p(c)"',
    ),
    Mutation(
        "21_replica",
        "wynn04",
        "both panels have each other's title",
        '("polynomial", "rational")',
        '("rational", "polynomial")',
    ),
    Mutation(
        "22_augmented",
        "4d601c59",
        "the right-hand curve does not follow β",
        "path_heights, sizes[beta, loss]",
        "path_heights, sizes[1, loss]",
    ),
    Mutation(
        "23_rs_gaussian",
        "93cc0727",
        "the dots have the sizes of other resamples",
        "22 * weights[row]",
        "22 * weights[k]",
    ),
    Mutation(
        "24_messages",
        "08c8ba8f",
        "the title has the variance for the standard deviation",
        "{m:+.2f} ± {np.sqrt(v):.2f}",
        "{m:+.2f} ± {v:.2f}",
    ),
    Mutation(
        "25_one_posterior",
        "pic25b",
        "the tilted density is that of one penalty",
        "here.sum(0) / step",
        "here[0] / step",
    ),
    Mutation(
        "31_prior",
        "7bab064e",
        "only one side is shaded as selected",
        "where=np.abs(grid) > lam",
        "where=grid > lam",
    ),
    Mutation(
        "31_prior",
        "2a0174a4",
        "the panel of β = 1 draws β = inf",
        "Laplace(1.0), 1.0)",
        "Laplace(1.0), np.inf)",
    ),
    Mutation(
        "32_likelihood",
        "lik32a",
        "the pulls that are written forget the count",
        "{c * (y[1] - f) + 0.0:+.2f}",
        "{(y[1] - f) + 0.0:+.2f}",
    ),
    Mutation(
        "32_likelihood",
        "56305b91",
        "the line at c = τ forgets the count below",
        "tau / (1 + tau * V),\n        color",
        "tau / (1 + V),\n        color",
    ),
    Mutation(
        "33_coupling",
        "f3e158de",
        "the square stands on the other curve",
        'one(D1, D2)[0], "s"',
        'one(D1, D2)[1], "s"',
    ),
    Mutation(
        "34_one_turn",
        "a7d10d03",
        "x and u have each other's messages",
        '(("x", 1.0, "rvamp"), ("u", 0.0, "p1"))',
        '(("u", 1.0, "rvamp"), ("x", 0.0, "p1"))',
    ),
    Mutation(
        "35_until_it_stops",
        "a7d10d06",
        "the paper's δ and ours are swapped",
        "paper, ours, moved = both",
        "ours, paper, moved = both",
    ),
    Mutation(
        "36_solver",
        "sol36b",
        "error bars of half as many refits",
        "np.sqrt(2 * 300)",
        "np.sqrt(300)",
    ),
    Mutation(
        "37_densities",
        "4a1f1bdc",
        "all titles have the Π of one column",
        "(Π = {fit.Pi[j]:.2f})",
        "(Π = {fit.Pi[i]:.2f})",
    ),
    Mutation(
        "37_densities",
        "a4405707",
        "variances are drawn as second moments",
        "lambda m: m.var + m.mean**2",
        "lambda m: m.var",
    ),
    Mutation(
        "38_micro",
        "26m00034",
        "the title has rVAMP's number twice",
        "refits {1 - refits.Pi[i]:.2f}",
        "refits {1 - larger.Pi[i]:.2f}",
    ),
    Mutation(
        "41_experiments",
        "f6875dca",
        "both titles have rVAMP's error",
        "error_of_Pi(Pi, exact, 100_000)",
        "error_of_Pi(ours, exact, 100_000)",
    ),
    Mutation(
        "42_free_energy",
        "ecb68e25",
        "a bar has the variance for the standard deviation",
        "prior.var[i] ** 0.5",
        "prior.var[i]",
    ),
    Mutation(
        "43_state_evolution",
        "adfdb4e6",
        "the line of theory has another slope",
        "np.array(sizes, float) ** -0.5",
        "np.array(sizes, float) ** -1.0",
    ),
    Mutation(
        "44_refinement",
        "44met002",
        "the worst and the middle are swapped",
        "(name, (k, worst, middle)), colour",
        "(name, (k, middle, worst)), colour",
    ),
    Mutation(
        "45_diagnostics",
        "30918626",
        "the title's effective rows are those of the largest share",
        "{1 / (shares @ shares):.0f} effective",
        "{1 / shares.max():.0f} effective",
    ),
    Mutation(
        "46_conditioning",
        "5ee95d4b",
        "radius and perimeter are swapped",
        "axes[2].plot(*both_out.T, ",
        "axes[2].plot(*both_out.T[::-1], ",
    ),
    Mutation(
        "47_clusters",
        "31197e36",
        "two ways have each other's name",
        'names = "refits", "diagonal", "together"',
        'names = "refits", "together", "diagonal"',
    ),
    Mutation(
        "48_two_halves",
        "ha1f0046",
        "Π² is drawn without its square",
        "axes[0].plot(both, fit.Pi**2,",
        "axes[0].plot(both, fit.Pi,",
    ),
    Mutation(
        "51_error_control",
        "nfev0005",
        "the crosses are those of another method",
        "by_others[name][:, 1, 0]",
        "by_others[name][:, 2, 0]",
    ),
    Mutation(
        "52_groups",
        "19000061",
        "both panels have each other's title",
        '("rows", "patients")',
        '("patients", "rows")',
    ),
    Mutation(
        "53_survival",
        "s553b7fe",
        "both axes are swapped",
        'ax.plot(truth["Pi"], fit.Pi,',
        'ax.plot(fit.Pi, truth["Pi"],',
    ),
    Mutation(
        "54_stability",
        "190bfafc",
        "the colours do not follow the threshold",
        "Pi[i] >= threshold else",
        "Pi[i] >= 0.75 else",
    ),
    Mutation(
        "55_bagging",
        "097aa65a",
        "within and across are swapped",
        "[C, within, across, total],",
        "[C, across, within, total],",
    ),
    Mutation(
        "56_effects",
        "27ef0038",
        "the crosses have no refit",
        'group["refit zeros"]',
        'group["zeros"]',
    ),
    Mutation(
        "57_planning",
        "2a53ec33",
        "the curve that stands out does not follow a slider",
        "key == (size, effects)",
        "key == (size, 5)",
    ),
    Mutation(
        "58_column_groups",
        "c5800059",
        "a histogram of those that are not zero only",
        "heights / len(value)",
        "heights / len(on)",
    ),
    Mutation(
        "61_several_classes",
        "c6100048",
        "refits are drawn against themselves",
        'truth["Pi"], fits[name].Pi,',
        'truth["Pi"], truth["Pi"],',
    ),
    Mutation(
        "62_networks",
        "c6200047",
        "both answers are swapped",
        "(name, (both, least, joint))",
        "(name, (both, joint, least))",
    ),
]

FORMULAS_BY_OTHERS = [
    Mutation(
        "11_tour",
        "8a9fc5b3",
        "the precision has the squares of the counts",
        "c @ (a * y), c @ a**2",
        "c @ (a * y), c**2 @ a**2",
    ),
    Mutation(
        "12_resampling",
        "c5494547",
        "the variance is a second moment",
        "weights @ (values - mean) ** 2",
        "weights @ values**2",
    ),
    Mutation(
        "13_datasets",
        "6e1709a9",
        "a correlation is not squared",
        "np.sqrt(1 - rho**2)",
        "np.sqrt(1 - rho)",
    ),
    Mutation(
        "13_datasets",
        "43a49175",
        "rows are not of norm one, but columns",
        "/ np.sqrt(N)",
        "/ np.sqrt(M)",
    ),
    Mutation(
        "14_bootstrap",
        "97cc1c90",
        "threshold and ridge of the elastic net change places",
        "t[penalised], k[penalised] = prior",
        "k[penalised], t[penalised] = prior",
    ),
    Mutation(
        "14_bootstrap",
        "sampling14b",
        "Poisson counts have another mean",
        "rng.poisson(1.0, (resamples, M))",
        "rng.poisson(0.5, (resamples, M))",
    ),
    Mutation(
        "21_replica",
        "fde37190",
        "the loss loses its half",
        "loss = 0.5 * (",
        "loss = (",
    ),
    Mutation(
        "22_augmented",
        "b81ea05d",
        "the variance is a second moment",
        "(p @ line**2 - f_mean**2)",
        "(p @ line**2)",
    ),
    Mutation(
        "23_rs_gaussian",
        "pd06",
        "the precision of the replicas' sum forgets β",
        "precision = Q_hat - n * beta * chi_hat",
        "precision = Q_hat - n * chi_hat",
    ),
    Mutation(
        "23_rs_gaussian",
        "53bcc16d",
        "the field's noise is left out",
        "beta * (h**2 + chi_hat)",
        "beta * h**2",
    ),
    Mutation(
        "24_messages",
        "check07",
        "a moment view's noise is divided once",
        "received.chi_hat) / own.rho_bar**2",
        "received.chi_hat) / own.rho_bar",
    ),
    Mutation(
        "25_one_posterior",
        "page07q",
        "the width of the posterior loses its half",
        "- np.log(Q) / 2",
        "- np.log(Q)",
    ),
    Mutation(
        "31_prior",
        "ca7e9fs1",
        "the ridge's density loses its half",
        "- k * x**2 / 2)",
        "- k * x**2)",
    ),
    Mutation(
        "31_prior",
        "87dedce4",
        "the odds of the slab lose a half",
        "np.log1p(self.slab_variance * Q_hat) / 2",
        "np.log1p(self.slab_variance * Q_hat)",
    ),
    Mutation(
        "32_likelihood",
        "e28bf1e8",
        "the count is not squared in a variance",
        "c**2 * excess",
        "c * excess",
    ),
    Mutation(
        "32_likelihood",
        "f5f70364",
        "the width of the fit loses a half",
        "np.multiply.outer(c, V)) / (2 * beta)",
        "np.multiply.outer(c, V)) / beta",
    ),
    Mutation(
        "33_coupling",
        "2e1aef97",
        "others' noise has a response that is not squared",
        "free**2 + D**2 * others",
        "free**2 + D * others",
    ),
    Mutation(
        "34_one_turn",
        "3474rn04",
        "δ is the smaller of both distances",
        "return max(distance(two.mean",
        "return min(distance(two.mean",
    ),
    Mutation(
        "35_until_it_stops",
        "a7d10c05",
        "rows that are not drawn count, too",
        "chances[values > 0]",
        "chances[values >= 0]",
    ),
    Mutation(
        "36_solver",
        "12a00008",
        "a variance is taken for a standard deviation",
        "np.sqrt(1 - rho) * rng",
        "(1 - rho) * rng",
    ),
    Mutation(
        "37_densities",
        "den37a",
        "the atom is left out at 0 itself",
        "np.where(x < 0, -1, 1)",
        "np.where(x <= 0, -1, 1)",
    ),
    Mutation(
        "38_micro",
        "26m00018",
        "a moment view's noise is divided once",
        "own_var / zero**2",
        "own_var / zero",
    ),
    Mutation(
        "41_experiments",
        "4e248661",
        "steps are counted from 0",
        "below.argmax(1) + 1.0",
        "below.argmax(1) + 0.0",
    ),
    Mutation(
        "42_free_energy",
        "ea12447d",
        "the noise level is not squared",
        "c / (loss.sigma**2 + c * V)",
        "c / (loss.sigma + c * V)",
    ),
    Mutation(
        "43_state_evolution",
        "4431ec8b",
        "the standard deviation is squared",
        "self.sd * x / np.sqrt(w @ x**2)",
        "self.sd**2 * x / np.sqrt(w @ x**2)",
    ),
    Mutation(
        "44_refinement",
        "44lv0a01",
        "a slope is not squared in an error",
        "weight**2 * var / n",
        "weight * var / n",
    ),
    Mutation(
        "45_diagnostics",
        "85e39a7a",
        "each pair of rows counts twice",
        "np.log(2 * level / (M * (M - 1)))",
        "np.log(level / (M * (M - 1)))",
    ),
    Mutation(
        "46_conditioning",
        "c0unt0x2",
        "a unit that is not drawn is not taken out",
        "units[own] -= 1",
        "units[own] -= is_drawn",
    ),
    Mutation(
        "47_clusters",
        "d8145bd2",
        "a moment view's noise is divided once",
        "message.chi_hat[S] / Q**2",
        "message.chi_hat[S] / Q",
    ),
    Mutation(
        "48_two_halves",
        "ha1f0028",
        "the intercept's covariance is divided once",
        "last.state.to_prior.Q_hat[-1] ** 2",
        "last.state.to_prior.Q_hat[-1]",
    ),
    Mutation(
        "51_error_control",
        "66b78731",
        "a decoy as far behind does not count",
        '-tried, side="right")',
        '-tried, side="left")',
    ),
    Mutation(
        "52_groups",
        "19000067",
        "the noise that rows receive is left out",
        "blocks(sent.chi_hat + received.chi_hat)",
        "blocks(sent.chi_hat)",
    ),
    Mutation(
        "53_survival",
        "c10c0003",
        "who comes at the time of a death is at risk then",
        'np.searchsorted(stop, start, "right")',
        'np.searchsorted(stop, start, "left")',
    ),
    Mutation(
        "54_stability",
        "54pln001",
        "a bound loses its factor 2",
        "(2 * threshold - 1)",
        "(threshold - 0.5)",
    ),
    Mutation(
        "55_bagging",
        "12e3e5de",
        "the noise is estimated with n, not n - p",
        "np.sqrt(100 - 8)",
        "np.sqrt(100)",
    ),
    Mutation(
        "56_effects",
        "27ef0019",
        "rows have the inverse of their weights",
        "slope = 1 / fit.last",
        "slope = fit.last",
    ),
    Mutation(
        "57_planning",
        "2016cc07",
        "two degrees of freedom are not taken off",
        "/ (n - 2))",
        "/ n)",
    ),
    Mutation(
        "58_column_groups",
        "c5800016",
        "a cosine is not squared",
        "(self.radial - self.tangential) * along**2",
        "(self.radial - self.tangential) * along",
    ),
    Mutation(
        "61_several_classes",
        "c6100039",
        "a direction that classes do not have counts",
        "across * (1 - 1 / K)",
        "across",
    ),
    Mutation(
        "62_networks",
        "c6200042",
        "the variance of a share is a second moment",
        "sums.square / n - Pi**2, 0",
        "sums.square / n, 0",
    ),
]
# Two kinds that were written down later, in one go, before any check was read: the atom
# at 0 is forgotten, and an axis or a number is linear that is logarithmic, or the other
# way round.
ATOMS = [
    Mutation(
        "11_tour",
        "9e4e01c4",
        "the bar at 0 has no height",
        "ax.vlines(0, 0, 1 - Pi, **atom)",
        "ax.vlines(0, 0, 0 * Pi, **atom)",
    ),
    Mutation(
        "11_tour",
        "67df0228",
        "rVAMP's curve has no jump at 0",
        "density.cdf(span), color",
        "density.cdf(span) - density.atom * (span >= 0), color",
    ),
    Mutation(
        "11_tour",
        "67df0228",
        "the staircase leaves the zeros out",
        "np.cumsum(p), **steps",
        "np.cumsum(p * (x != 0)), **steps",
    ),
    Mutation(
        "12_resampling",
        "c5494547",
        "a variance leaves the zeros out",
        "var=round(float(weights @",
        "var=round(float((weights * (values != 0)) @",
    ),
    Mutation(
        "14_bootstrap",
        "427d6383",
        "the line at 0 has no height",
        "ymax=0.97",
        "ymax=0.0",
    ),
    Mutation(
        "31_prior",
        "7bab064e",
        "the bar at 0 has no height",
        "atom.bar(0, 1 - Pi,",
        "atom.bar(0, 0 * Pi,",
    ),
    Mutation(
        "31_prior",
        "05f616d6",
        "without noise nothing is zero",
        "np.where(noisy, 1 - Pi, size <= lam)",
        "np.where(noisy, 1 - Pi, 0)",
    ),
    Mutation(
        "37_densities",
        "x62top03",
        "p̄₁ has no bar at 0",
        "bars.bar(0, s3.atom,",
        "bars.bar(0, 0 * s3.atom,",
    ),
    Mutation(
        "37_densities",
        "den37a",
        "the distribution function has no jump at 0",
        "edge = np.where(x < 0, -1, 1)",
        "edge = np.zeros(np.shape(x))",
    ),
    Mutation(
        "37_densities",
        "4a1f1bdc",
        "the curves have no jump at 0",
        "ax.plot(span, d.cdf(span),",
        "ax.plot(span, d.cdf(span) - d.atom * (span >= 0),",
    ),
    Mutation(
        "37_densities",
        "4a1f1bdc",
        "the staircases leave the zeros out",
        "np.sort(cloud[:, j])",
        "np.sort(cloud[cloud[:, j] != 0, j])",
    ),
    Mutation(
        "38_micro",
        "26m00034",
        "rVAMP's bars at 0 have no height",
        "bars.bar(2.7 * width, 1 - larger.Pi[i],",
        "bars.bar(2.7 * width, 0 * larger.Pi[i],",
    ),
    Mutation(
        "43_state_evolution",
        "4431ec8b",
        "no true coefficient is zero",
        "np.r_[1 - self.density, self.density * w]",
        "np.r_[0.0, w]",
    ),
    Mutation(
        "47_clusters",
        "b10ck010",
        "averages leave the zeros out",
        "self.x**2]).mean(2)",
        "self.x**2]).mean(2) / np.maximum((self.x != 0).mean(1), 1e-9)",
    ),
]

LOGARITHMS = [
    Mutation(
        "13_datasets",
        "547b9094",
        "the density is on a linear axis",
        'yscale="log",',
        'yscale="linear",',
    ),
    Mutation(
        "21_replica",
        "wynn04",
        "the errors are on a linear axis",
        'axes[0].set(ylabel="error at n = 0",',
        'axes[0].set(yscale="linear", ylabel="error at n = 0",',
    ),
    Mutation(
        "22_augmented",
        "4d601c59",
        "the area of the size is on a linear axis",
        "right.semilogy(path_heights,",
        "right.plot(path_heights,",
    ),
    Mutation(
        "23_rs_gaussian",
        "a0ca0288",
        "the variances are on a linear axis",
        'yscale="log"',
        'yscale="linear"',
    ),
    Mutation(
        "24_messages",
        "digits07",
        "the errors are on a linear axis",
        'ax.set(xlabel="log',
        'ax.set(yscale="linear", xlabel="log',
    ),
    Mutation(
        "32_likelihood",
        "56305b91",
        "the uncertainty is on a linear axis",
        "right.semilogx(",
        "right.plot(",
    ),
    Mutation(
        "33_coupling",
        "f3e158de",
        "a control's decimal logarithm is taken for a natural one",
        "10**log10_D1, 10**log10_D2,",
        "np.exp(log10_D1), np.exp(log10_D2),",
    ),
    Mutation(
        "33_coupling",
        "10000002",
        "the errors are on a linear axis",
        "ax.loglog(Q_hats, size,",
        "ax.semilogx(Q_hats, size,",
    ),
    Mutation(
        "35_until_it_stops",
        "c38cbef5",
        "the changes are on a linear axis",
        "ax.semilogy(found,",
        "ax.plot(found,",
    ),
    Mutation(
        "35_until_it_stops",
        "81ec18d4",
        "the changes are on a linear axis",
        "ax.semilogy(runs[damping]",
        "ax.plot(runs[damping]",
    ),
    Mutation(
        "36_solver",
        "da55b8fd",
        "the penalty is on a linear axis",
        "ax.invert_xaxis()",
        'ax.set_xscale("linear")\nax.invert_xaxis()',
    ),
    Mutation(
        "37_densities",
        "a4405707",
        "the gaps are on a linear axis",
        'ax.set(xlabel="step",',
        'ax.set(yscale="linear", xlabel="step",',
    ),
    Mutation(
        "41_experiments",
        "e4100003",
        "a natural logarithm is named a decimal one",
        "np.log10(",
        "np.log(",
    ),
    Mutation(
        "41_experiments",
        "93d3c93d",
        "the worths are on a linear axis",
        'yscale="log",',
        'yscale="linear",',
    ),
    Mutation(
        "42_free_energy",
        "25659495",
        "the errors are on a linear axis",
        'yscale="log"',
        'yscale="linear"',
    ),
    Mutation(
        "42_free_energy",
        "e7f1edc7",
        "the penalty is on a linear axis",
        'xscale="log"',
        'xscale="linear"',
    ),
    Mutation(
        "43_state_evolution",
        "52dbfbcc",
        "the shares are on a linear axis",
        "ax.semilogy(t,",
        "ax.plot(t,",
    ),
    Mutation(
        "43_state_evolution",
        "adfdb4e6",
        "the distances are on a linear axis",
        'ax.set(xlabel="N", title',
        'ax.set(yscale="linear", xlabel="N", title',
    ),
    Mutation(
        "44_refinement",
        "44met002",
        "the distances are on a linear axis",
        'yscale="log"',
        'yscale="linear"',
    ),
    Mutation(
        "44_refinement",
        "1a570023",
        "the worths are on a linear axis",
        'xscale="log"',
        'xscale="linear"',
    ),
    Mutation(
        "45_diagnostics",
        "c16a0013",
        "the worths are on a linear axis",
        'yscale="log"',
        'yscale="linear"',
    ),
    Mutation(
        "46_conditioning",
        "c0unt033",
        "the worths are on a linear axis",
        "axes[0].semilogy(line",
        "axes[0].plot(line",
    ),
    Mutation(
        "51_error_control",
        "n0rm0011",
        "the bounds are on a linear axis",
        "plt.semilogy(tries,",
        "plt.plot(tries,",
    ),
    Mutation(
        "12_resampling",
        "8d1c9dc8",
        "the distance is on a logarithmic axis",
        'ax.set(xlabel="share m/M',
        'ax.set(yscale="log", xlabel="share m/M',
    ),
    Mutation(
        "31_prior",
        "285589d5",
        "the moments are on a logarithmic axis",
        'ax.set(xlabel="mean field h",',
        'ax.set(yscale="log", xlabel="mean field h",',
    ),
    Mutation(
        "37_densities",
        "4a1f1bdc",
        "the shares are on a logarithmic axis",
        'ax.set(title=f"selected',
        'ax.set(yscale="log", title=f"selected',
    ),
    Mutation(
        "42_free_energy",
        "ecb68e25",
        "mean and deviation are on a logarithmic axis",
        'right.set_ylabel("value")',
        'right.set(yscale="log", ylabel="value")',
    ),
    Mutation(
        "46_conditioning",
        "5ee95d4b",
        "the densities are on a logarithmic axis",
        'ax.set(title=title, xlabel="field",',
        'ax.set(yscale="log", title=title, xlabel="field",',
    ),
    Mutation(
        "51_error_control",
        "9ebc18ad",
        "the shares are on a logarithmic axis",
        'ax.set(xlabel="q / M,',
        'ax.set(yscale="log", xlabel="q / M,',
    ),
    Mutation(
        "52_groups",
        "19000013",
        "the numbers are on a logarithmic axis",
        'ax.set(xlabel="variance of',
        'ax.set(yscale="log", xlabel="variance of',
    ),
    Mutation(
        "53_survival",
        "s553b7fe",
        "the refits are on a logarithmic axis",
        "ax.set(title=name, xlabel",
        'ax.set(xscale="log", title=name, xlabel',
    ),
    Mutation(
        "56_effects",
        "27ef0038",
        "the shares are on a logarithmic axis",
        'ax.set(xlabel="share of 95',
        'ax.set(xscale="log", xlabel="share of 95',
    ),
    Mutation(
        "58_column_groups",
        "c5800059",
        "the densities are on a logarithmic axis",
        'ax.set(ylabel="density")',
        'ax.set(yscale="log", ylabel="density")',
    ),
    Mutation(
        "61_several_classes",
        "c6100048",
        "the refits are on a logarithmic axis",
        "ax.set(title=name, xlabel",
        'ax.set(xscale="log", title=name, xlabel',
    ),
    Mutation(
        "62_networks",
        "c6200047",
        "the refits are on a logarithmic axis",
        "ax.set(title=name, xlabel",
        'ax.set(xscale="log", title=name, xlabel',
    ),
]
KINDS = {
    "picture": PICTURES + PICTURES_BY_OTHERS,
    "formula": FORMULAS + FORMULAS_BY_OTHERS,
    "atom": ATOMS,
    "logarithm": LOGARITHMS,
}
MUTATIONS = [mutation for kind in KINDS.values() for mutation in kind]


def file_of(mutation, root=ROOT):
    """Return the path of a mutation's chapter."""
    return Path(root) / "nbs" / "course" / f"{mutation.chapter}.ipynb"


def cell_of(mutation, nb):
    """Return the cell of a mutation; None if it is gone."""
    return next((cell for cell in nb.cells if cell.id == mutation.cell), None)


def misplaced(root=ROOT):
    """List the mutations whose text is not there exactly once in their cell."""
    wrong = []
    for mutation in MUTATIONS:
        cell = cell_of(mutation, nbformat.read(file_of(mutation, root), 4))
        if cell is None or cell.source.count(mutation.right) != 1:
            wrong.append(mutation)
    return wrong


def planted(place, mutation):
    """Plant a mutation in a copy, in the module, too, if its cell is exported: return
    the texts that were there, by their paths.
    """
    path = file_of(mutation, place)
    before = {path: path.read_text(encoding="utf-8")}
    nb = nbformat.reads(before[path], 4)
    cell = cell_of(mutation, nb)
    right = cell.source
    cell.source = right.replace(mutation.right, mutation.wrong)
    if right.startswith("#| export"):
        name = EXPORTS_TO.search(before[path])[1].replace(".", "/")
        module = Path(place) / "rvamp_nb" / f"{name}.py"
        before[module] = module.read_text(encoding="utf-8")
        code, broken = (text.split("\n", 1)[1].strip() for text in (right, cell.source))
        if before[module].count(code) != 1:
            sys.exit(f"{path.name}, {cell.id}: {name} does not hold this cell once")
        module.write_text(before[module].replace(code, broken), encoding="utf-8")
    nbformat.write(nb, path)
    return before


def why_not(place, chapter):
    """Run a chapter of a copy: return why it fails, "" if it passes. It stops where
    none is run.
    """
    passed, failed, text = run(place, [f"nbs/course/{chapter}.ipynb"])
    if not (passed or failed):
        sys.exit(f"{chapter} was not run:\n{text}")
    return "" if passed else reason(text)


def reason(text):
    """Return what pytest wrote of a chapter in one line: the error, and the line of the
    chapter that met it.
    """
    still = STILL.search(text)
    if still:
        return still[0]
    error = ERROR.search(text)
    lines = LINE.findall(text)
    return f"{error[0] if error else 'unknown'}: {lines[-1] if lines else ''}"


def verdict(why):
    """Return what a chapter's failure says of its checks; see the top."""
    if not why:
        return "NOT SEEN"
    by_a_check = why.startswith("AssertionError") or STILL.fullmatch(why)
    return f"{'seen' if by_a_check else 'STOPS'} ({why})"


def failure(place, mutation):
    """Run a chapter in a copy with one mutation: return why it fails, as `why_not`."""
    before = planted(place, mutation)
    try:
        return why_not(place, mutation.chapter)
    finally:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")


def main():
    """Plant the mutations of some chapters, or all, and print which are seen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="such as 31")
    parser.add_argument("--kind", choices=KINDS, help="that kind only")
    args = parser.parse_args()
    wanted = tuple(args.chapters)
    stale = misplaced()
    for mutation in stale:
        print(f"{mutation.chapter} {mutation.cell}: the text is not there once")
    some = KINDS[args.kind] if args.kind else MUTATIONS
    todo = [m for m in some if m not in stale]
    todo = [m for m in todo if not wanted or m.chapter.startswith(wanted)]
    todo.sort(key=lambda m: m.chapter)
    whole = set()
    unseen = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        copied(ROOT, place)
        for mutation in todo:
            if mutation.chapter not in whole:
                why = why_not(place, mutation.chapter)
                if why:
                    sys.exit(
                        f"{mutation.chapter} fails before anything is planted: {why}"
                    )
            whole.add(mutation.chapter)
            found = verdict(failure(place, mutation))
            unseen += not found.startswith("seen")
            kind = next(name for name, some in KINDS.items() if mutation in some)
            print(f"{mutation.chapter}, {kind}, {mutation.what}: {found}", flush=True)
    print(f"{len(todo) - unseen} of {len(todo)} mutations are seen")
    sys.exit(bool(unseen or stale))


if __name__ == "__main__":
    main()
