"""The conventions of the notebooks, as the site shows them (docs/translate.py). The site itself is built by .ci/run."""
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "docs"))
from translate import Translator, directives, labels  # noqa: E402


@pytest.fixture
def translator():
    return Translator(built=["06_rs_gaussian", "07_messages"], known=["eq:family", "mine"], repository="https://example.org/repo")


@pytest.mark.parametrize("stem, title", [("06_rs_gaussian", "6. Gaussians"), ("80_explore", "Gaussians"), ("index", "Gaussians")])
def test_a_title_gets_its_number_and_the_line_under_it_is_a_lead(translator, stem, title):
    assert translator.markdown("# Gaussians\n> One line.", stem) == f"# {title}\n\n{{.lead}}\nOne line."


@pytest.mark.parametrize("text, expected", [
    ("as\n$$\nx = y \\tag{eq:family}\n$$\nso", "as\n\n$$\nx = y\n$$ (eq:family)\n\nso"),
    ("$$\nx = y\n\\tag{mine}\n$$", "\n$$\nx = y\n$$ (mine)\n"),
    ("> as\n> $$\n> x = y\n> $$\n> so", "> as\n>\n> $$\n> x = y\n> $$\n>\n> so"),
    ("so $x$ and $$x$$ stay", "so $x$ and $$x$$ stay"),
    ("by `eq:family` and (`mine`)", "by {eq}`eq:family` and {eq}`mine`"),
    ("(see `mine`)", "(see {eq}`mine`)"),
    ("`x` and `eq:unknown`", "`x` and `eq:unknown`"),
    ("```python\n`mine`\n$$\n\\tag{mine}\n$$\n```", "```python\n`mine`\n$$\n\\tag{mine}\n$$\n```"),
    ("[chapter 7](07_messages.ipynb#kl)", "[chapter 7](07_messages.ipynb#kl)"),
    ("[chapter 9](09_likelihood.ipynb)", "chapter 9"),
    ("![p](../docs/p.png), [how](../CONTRIBUTING.md)", "![p](../../p.png), [how](https://example.org/repo/CONTRIBUTING.md)"),
    ("<details><summary><b>Solution</b></summary>\n\nAs `mine`.\n\n</details>", "::::{dropdown} Solution\nAs {eq}`mine`.\n::::"),
])
def test_markdown(translator, text, expected):
    assert translator.markdown(text, "06_rs_gaussian") == expected


def test_labels_are_found_in_equations_only():
    nb = new_notebook(cells=[new_markdown_cell("$$\na \\tag{eq:family}\n$$\n`\\tag{no}`"), new_code_cell("'$$ \\tag{no} $$'")])
    assert labels(nb) == ["eq:family"]


def test_directives_are_read_and_removed():
    found, code = directives("#| export\n#| eval: false\n\nx = 1\n#| not a directive")
    assert (found, code) == ({"export": "", "eval": "false"}, "x = 1\n#| not a directive")


def test_cells(translator):
    nb = new_notebook(cells=[
        new_code_cell("#| default_exp prior"),
        new_code_cell("#| export\nimport numpy as np"),
        new_code_cell("#| export\ndef f(): pass\n\ndef _g(): pass\n\nclass C: pass"),
        new_code_cell("#| hide\nplumbing()"),
        new_code_cell("f()"),
    ])
    translator.notebook(nb, "08_prior")
    imports, signatures, folded, demo = nb.cells
    assert (imports.source, demo.source) == ("import numpy as np", "f()")
    assert signatures.source == ("```{eval-rst}\n.. autofunction:: rvamp_nb.prior.f\n\n"
                                 ".. autoclass:: rvamp_nb.prior.C\n   :members:\n```")
    assert folded.source.startswith("def f()") and folded.metadata.tags == ["hide-input"]
