"""The page of numpy: short, by itself, and right."""

import ast
import runpy
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rvamp_nb import rvamp
from rvamp_nb.algorithm.prior import Laplace
from rvamp_nb.algorithm.resampling import Discrete
from rvamp_nb.course import micro
from rvamp_nb.datasets import gaussian_design

POISSON = [
    (k, np.exp(-0.5) * 0.5**k / np.prod(np.arange(1.0, k + 1))) for k in range(9)
]


def lines_of_code(text):
    """Count the lines of a module without docstrings, comments and empty lines."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            if ast.get_docstring(node) is not None:
                node.body = node.body[1:]
    return sum(bool(line.strip()) for line in ast.unparse(tree).splitlines())


def test_it_is_one_page_of_numpy():
    with open(micro.__file__, encoding="utf-8") as file:
        text = file.read()
    assert lines_of_code(text) <= 100
    tree = ast.walk(ast.parse(text))
    names = [n.names[0].name for n in tree if isinstance(n, ast.Import)]
    froms = [
        n.module for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom)
    ]
    assert names == ["numpy"] and set(froms) == {"math", "typing"}


@pytest.mark.parametrize("law", [micro.COIN, POISSON], ids=["coin", "Poisson"])
@pytest.mark.parametrize("M, N", [(40, 60), (60, 30)])
def test_it_agrees_with_the_solver(M, N, law):
    d = gaussian_design(M, N, rho=0.3, noise=0.3, seed=M)
    lam = 0.3 * np.abs(d.A.T @ d.y).max()
    page = micro.rvamp(d.A, d.y, lam, law)
    counts, probabilities = np.array(law).T
    law = Discrete(counts, probabilities / probabilities.sum())
    whole = rvamp(d.A, d.y, prior=Laplace(lam), resampling=law, tol=1e-11)
    assert page.gap < 1e-10
    for name in ("mean", "var", "Pi"):
        assert_allclose(getattr(page, name), getattr(whole, name), rtol=1e-5, atol=1e-7)


def test_a_density_has_the_moments_that_are_said():
    A, y, lam = micro.toy()
    fit, x = micro.rvamp(A, y, lam), np.linspace(-12, 12, 200_001)[1:]
    x = x[np.abs(x) > 1e-9]
    for i in range(6):
        p = micro.density(fit, lam, i, x) * 24 / 200_000
        found = p.sum(), p @ x, p @ x**2 - (p @ x) ** 2
        assert_allclose(found, (fit.Pi[i], fit.mean[i], fit.var[i]), atol=2e-4)


def test_every_refit_is_a_lasso():
    A, y, lam = micro.toy(M=6, N=3)
    every = micro.all_refits(A, y, lam)
    assert every.shape == (64, 3) and (every[0] == 0).all()
    for b, x in enumerate(every):
        c = (b >> np.arange(6)) & 1
        slope = A.T @ (c * (y - A @ x))
        assert (np.abs(slope) <= lam * (1 + 1e-9)).all()
        assert_allclose(slope[x != 0], lam * np.sign(x[x != 0]), rtol=1e-8)


def test_it_runs_by_itself(capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "rvamp_nb.course.micro")
    runpy.run_module("rvamp_nb.course.micro", run_name="__main__")
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("16,384 resamples") and len(rows) == 6
    numbers = np.array([row.split()[1:] for row in rows], dtype=float)
    assert np.abs(numbers[:, 0] - numbers[:, 1]).max() < 0.15
