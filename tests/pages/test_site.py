"""The conventions of the notebooks, as the site shows them (docs/translate.py,
docs/pages.py); tests/site looks at the built site.
"""

import asyncio
import inspect
import json
import re
import sys
from pathlib import Path
from pkgutil import resolve_name

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))
import build
import offered
import pages
import reference
from notebooks import COURSE, PATHS
from translate import (
    CAPTIONS,
    NEEDS_PYTHON,
    SECTIONS,
    STATE,
    WIDGET,
    Translator,
    caption,
    directives,
    labels,
    notebook_files,
    page_name,
    settings,
    topics,
)


@pytest.fixture
def translator():
    return Translator(
        built=[
            "course/23_rs_gaussian",
            "course/24_messages",
            "howto/one",
            "howto/two",
            "index",
        ],
        known=["eq:family", "mine"],
        repository="https://github.com/us/repo/blob/main",
    )


@pytest.mark.parametrize(
    "stem, title",
    [
        ("course/23_rs_gaussian", "2.3 Gaussians"),
        ("workshop/explore", "Gaussians"),
        ("howto/one", "Gaussians"),
        ("index", "Quick start"),
    ],
)
def test_a_title_gets_its_number_its_lead_and_the_notebook_to_download(
    translator, stem, title
):
    page = translator.markdown("# Gaussians\n> One line.", stem)
    assert page.startswith(
        f"# {title}\n\n{{.lead}}\nOne line.\n\n{{.download .no-search}}\n{{download}}"
        f"`Download this notebook <../../../nbs/{stem}.ipynb>`, or run it in ["
    )


def test_a_page_says_where_else_it_runs(translator):
    page = translator.markdown("# One\n> One line.", "howto/one")
    assert (
        "(https://mybinder.org/v2/gh/us/repo/main?labpath=nbs%2Fhowto%2Fone.ipynb)"
        in page
    )
    assert "research.google.com/github/us/repo/blob/main/nbs/howto/one.ipynb)" in page
    assert "`!git clone https://github.com/us/repo`, `%cd repo/nbs/howto`" in page
    assert page.endswith("`%pip install -q ../..[course]`)")


@pytest.mark.parametrize(
    "text, expected",
    [
        (
            "as\n$$\nx = y \\tag{eq:family}\n$$\nso",
            "as\n\n$$\nx = y\n$$ (eq:family)\n\nso",
        ),
        ("$$\nx = y\n\\tag{mine}\n$$", "\n$$\nx = y\n$$ (mine)\n"),
        ("> as\n> $$\n> x = y\n> $$\n> so", "> as\n>\n> $$\n> x = y\n> $$\n>\n> so"),
        ("so $x$ and $$x$$ stay", "so $x$ and $$x$$ stay"),
        ("by `eq:family` and (`mine`)", "by {eq}`eq:family` and {eq}`mine`"),
        ("(see `mine`)", "(see {eq}`mine`)"),
        ("`x` and `eq:unknown`", "`x` and `eq:unknown`"),
        (
            "```python\n`mine`\n$$\n\\tag{mine}\n$$\n```",
            "```python\n`mine`\n$$\n\\tag{mine}\n$$\n```",
        ),
        ("[chapter 2.4](24_messages.ipynb#kl)", "[chapter 2.4](24_messages.ipynb#kl)"),
        ("[chapter 3.2](32_likelihood.ipynb)", "chapter 3.2"),
        ("[how](../howto/one.ipynb)", "[how](one.ipynb)"),
        (
            "[there](https://example.org/x.ipynb), [here](#x), [made](api.md)",
            "[there](https://example.org/x.ipynb), here, [made](api.md)",
        ),
        ("[how](../index.ipynb#ten-lines)", "[how](quickstart.ipynb#ten-lines)"),
        (
            "![p](../../docs/p.png), [how](../../CONTRIBUTING.md)",
            "![p](../../p.png), [how](https://github.com/us/repo/blob/main/CONTRIBUTING.md)",
        ),
        (
            "<details><summary><b>Solution</b></summary>\n\nAs `mine`.\n\n</details>",
            "::::{dropdown} Solution\n:class-container: folded solution\n\nAs"
            " {eq}`mine`.\n::::",
        ),
        (
            "**Move it and answer.** 1. Where?\n\n"
            "<details><summary><b>Answers</b></summary>\n\n1. Here.\n\n</details>",
            "**Move it and answer.** 1. Where?\n\n::::{dropdown} Answers\n"
            ":class-container: folded answers\n\n1. Here.\n::::",
        ),
    ],
)
def test_markdown(translator, text, expected):
    assert translator.markdown(text, "course/23_rs_gaussian") == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("[2.4](../course/24_messages.ipynb#kl)", "[2.4](24_messages.ipynb#kl)"),
        ("[two](two.ipynb)", "[two](two.ipynb)"),
        ("[three](three.ipynb)", "three"),
        (
            "[how](../../CONTRIBUTING.md)",
            "[how](https://github.com/us/repo/blob/main/CONTRIBUTING.md)",
        ),
    ],
)
def test_links_of_a_how_to(translator, text, expected):
    assert translator.markdown(text, "howto/one") == expected


def test_labels_are_found_in_equations_only():
    nb = new_notebook(
        cells=[
            new_markdown_cell("$$\na \\tag{eq:family}\n$$\n`\\tag{no}`"),
            new_code_cell("'$$ \\tag{no} $$'"),
        ]
    )
    assert labels(nb) == ["eq:family"]


def test_directives_are_read_and_removed():
    found, code = directives("#| export\n#| eval: false\n\nx = 1\n#| not a directive")
    assert (found, code) == (
        {"export": "", "eval": "false"},
        "x = 1\n#| not a directive",
    )


def test_cells(translator):
    nb = new_notebook(
        cells=[
            new_code_cell("#| default_exp prior"),
            new_code_cell("#| export\nimport numpy as np"),
            new_code_cell(
                "#| export\ndef f(): pass\n\ndef _g(): pass\n\nclass C: pass"
            ),
            new_code_cell("#| hide\nplumbing()"),
            new_code_cell("f()"),
        ]
    )
    translator.notebook(nb, "course/31_prior")
    imports, signatures, folded, demo = nb.cells
    assert (imports.source, demo.source) == ("import numpy as np", "f()")
    assert (
        signatures.source
        == "```{eval-rst}\n.. autofunction:: rvamp_nb.prior.f\n   :no-index:\n\n"
        ".. autoclass:: rvamp_nb.prior.C\n   :no-index:\n   :members:\n```"
    )
    assert folded.source.startswith("def f()") and folded.metadata.tags == [
        "hide-input"
    ]
    assert folded.metadata.mystnb.code_prompt_show == "Code: f, C"


@pytest.mark.parametrize(
    "tags, code, prompt",
    [
        (["solution", "hide-cell"], "x = f()", "Solution in code"),
        (["hide-cell"], "import numpy as np\nstyle()", "Imports"),
        (["hide-cell"], "#| export\ndef _f(): ...\nclass C: ...", "Plumbing: _f, C"),
        (["hide-cell"], "x = 1", "Plumbing"),
    ],
)
def test_a_folded_cell_says_what_is_in_it(translator, tags, code, prompt):
    plumbing = new_code_cell(code, metadata={"tags": tags})
    nb = new_notebook(cells=[new_code_cell("#| default_exp prior"), plumbing])
    translator.notebook(nb, "course/31_prior")
    [cell] = nb.cells  # no signature stands above it
    assert cell.metadata.tags == tags
    assert cell.metadata.mystnb.code_prompt_show == prompt


@pytest.mark.parametrize(
    "shown, alive", [("explorer", True), ("box", False), ("inner", False)]
)
def test_a_slider_that_needs_python_is_said_to(translator, shown, alive):
    controls = "@jupyter-widgets/controls"
    models = {
        "explorer": {"model_module": "anywidget", "state": {}},
        "box": {
            "model_module": controls,
            "state": {"children": ["IPY_MODEL_explorer"]},
        },
        "inner": {"model_module": controls, "state": {}},
    }
    widget = new_output("display_data", data={WIDGET: {"model_id": shown}})
    nb = new_notebook(
        cells=[new_code_cell("sliders(draw)", outputs=[widget])],
        metadata={"widgets": {STATE: {"state": models}}},
    )
    translator.notebook(nb, "course/24_messages")
    assert [cell.source for cell in nb.cells] == ["sliders(draw)"] + [NEEDS_PYTHON] * (
        not alive
    )
    assert nb.cells[0].outputs == [widget] * alive
    # a page carries what it shows
    saved = nb.metadata.get("widgets", {STATE: {"state": {}}})[STATE]["state"]
    assert list(saved) == [shown] * alive


PNG = new_output("display_data", data={"image/png": "", "text/plain": "<Figure>"})


@pytest.mark.parametrize(
    "below, words",
    [
        ([], "Figure: The law of p̄ and x"),
        ([new_markdown_cell("On the left, `x`.")], "Figure: The law of p̄ and x"),
        ([new_code_cell("plt.show()")], "Figure: The law of p̄ and x"),
        (
            [
                new_markdown_cell(
                    "*Figure 2.3.1. The law of $x$ (see [2.4](24_messages.ipynb)).*"
                )
            ],
            "Figure 2.3.1. The law of x (see 2.4).",
        ),
    ],
)
def test_a_figure_has_words_that_stand_for_it(translator, below, words):
    above = new_markdown_cell("Text.\n\n## The law of $p̄$ and `x`\n```sh\n# no\n```")
    drawn, plain = new_code_cell("draw()", outputs=[PNG]), new_code_cell("x = 1")
    nb = new_notebook(cells=[above, drawn, *below, plain])
    translator.notebook(nb, "course/23_rs_gaussian")
    assert nb.cells[1].metadata.mystnb.image.alt == words
    assert "mystnb" not in nb.cells[-1].metadata


def test_the_lines_of_a_page_are_those_of_its_file():
    """As Sphinx's warnings name them (tests/site looks at one); numbers that myst-nb
    makes up are expensive (docs/build.py).
    """
    cells = [
        new_markdown_cell("# One\n> Two."),
        new_code_cell(),
        new_code_cell("x = 1\n\ny = {'source': 2}", outputs=[PNG]),
        new_markdown_cell("```{eval-rst}\n.. autofunction:: f\n```"),
    ]
    nb = new_notebook(cells=cells)
    build.number_lines(nb)
    lines = nbformat.writes(nb).split("\n")
    for cell, begin in zip(nb.cells, nb.metadata.source_map, strict=True):
        for number, text in enumerate(cell.source.split("\n"), begin + 1):
            assert json.dumps(text)[1:-1] in lines[number]


def chapter(title, *code):
    return new_notebook(
        cells=[new_markdown_cell(f"# {title}\n> About it."), *map(new_code_cell, code)]
    )


@pytest.fixture
def notebooks():
    prior = chapter(
        "The prior", "#| default_exp prior", "#| export\nclass Laplace: pass"
    )
    return {
        "index": chapter("rvamp_nb"),
        "course/23_rs_gaussian": chapter("Gaussians"),
        "course/31_prior": prior,
        "workshop/cli": chapter("Commands"),
        "howto/one": chapter("Do it"),
        "appendix/errata": chapter("Errata"),
        "appendix/routes": chapter("Ways"),
    }


def menu(text):
    """What a page lists for the menu."""
    [listed] = re.findall(r"^```{toctree}\n:hidden:\n\n(.*?)\n```$", text, re.S | re.M)
    return listed.split("\n")


def test_each_notebook_is_listed_in_its_section_and_part(notebooks):
    texts = pages.sections(notebooks)
    assert texts.pop("api") == pages.api()
    assert {page: menu(text) for page, text in texts.items()} == {
        "start": ["quickstart", "routes", *pages.releases()],
        "how-to": ["one"],
        "course": ["23_rs_gaussian", "31_prior", "errata"],
        "workshop": ["cli"],
    }
    text = texts["course"]
    part = text[text.index("## II. The theory") : text.index("## III. The algorithm")]
    assert "[2.3 Gaussians](course/23_rs_gaussian.ipynb)\n: About it." in part
    assert "course/31_prior" not in part
    assert texts["how-to"].startswith("# How to\n\n{.lead}\n")
    assert "[Do it](howto/one.ipynb)\n: About it." in texts["how-to"]
    assert [*pages.releases()][-1] == "version-0-1-0"


def test_a_section_without_a_notebook_is_a_page(notebooks):
    """Where one chapter is built alone."""
    alone = {"index": notebooks["index"]}
    assert "toctree" not in pages.sections(alone)["workshop"]


def test_the_landing_page_has_the_address_to_install_from_and_the_bar():
    text = pages.landing()
    assert f"pip install git+{settings()['git_url']}\n" in text
    assert menu(text) == [*SECTIONS] and len(SECTIONS) == 5
    doors = re.findall(r"{grid-item-card} \[(.+?)\]\((.+?)\)", text)
    assert [name for name, _ in doors] == ["Learn", "Use", "Look up"]


def test_the_reference_has_every_public_name_once_by_task():
    """And after these the types of what comes back; then all from A to Z."""
    text, az = pages.api().split("## From A to Z")
    listed = re.findall(r"^   ([\w.]+)$", text, re.M)
    back, drawn = reference.TASKS["What comes back"], reference.TASKS["Draw"]
    assert sorted(listed) == sorted([*offered.public(), *back, *drawn])
    assert re.findall(r"^## (.+)$", text, re.M) == [*reference.TASKS]
    names = re.findall(r"{py:obj}`([\w.]+) <rvamp_nb\.\1>`", az)
    assert names == sorted({*listed} - {*drawn}, key=str.lower)


def test_under_draw_stands_each_method_that_draws():
    """Of the names that have a page, on which it stands."""
    classes = {name.removeprefix("rvamp_nb."): name for name in reference.beside()}
    methods = [
        f"{short}.{part}"
        for short, name in classes.items()
        for part, _ in inspect.getmembers(resolve_name(name), inspect.isfunction)
        if re.match("plot|explore", part)
    ]
    assert sorted(methods) == sorted(reference.TASKS["Draw"])


def test_the_entries_of_the_index_lead_to_pages():
    """Every task and every chapter has some, and none twice."""
    found = topics()
    looked_up = [stem for stem in notebook_files() if stem[:6] in ("course", "howto/")]
    assert {page_name(stem) for stem in looked_up} <= found.keys()
    known = {page_name(stem) for stem in notebook_files()} | {*reference.beside()}
    assert found.keys() <= known
    for page, entries in found.items():
        assert len(entries) == len({entry.lower() for entry in entries}), page
        assert not any(set(entry) & {",", ":", "!"} for entry in entries), page


def test_a_page_has_its_entries_of_the_index(translator):
    page = translator.markdown("# Errors\n> One line.", "course/51_error_control")
    entries = ", ! ".join(topics()["51_error_control"])
    assert page.endswith(f"\n\n```{{eval-rst}}\n.. index:: ! {entries}\n```")


def test_beside_a_name_stand_the_others_of_its_task():
    others = reference.beside()["rvamp_nb.TwoPoint"]
    assert others == ["rvamp_nb.Weakness", "rvamp_nb.FixedFactor"]


def test_a_first_sentence_is_without_labels():
    text = "Take one (`eq:one`, `in-two`), as\n`p1` (`Fit`). More.\n\nExamples"
    assert offered.first_sentence(text) == "Take one, as `p1` (`Fit`)."


def test_where_there_is_no_page_stands_what_to_do(translator):
    text = translator.markdown(pages.not_found(), "index")
    assert text.startswith("---\norphan: true\nnosearch: true\n---\n# There is no such")
    assert "[Quick start](quickstart.ipynb)" in text and "(api.md)" in text
    assert "- Start here: the ways" in text  # of a site without that page


def test_every_notebook_has_a_page_of_its_own_in_reading_order():
    files = notebook_files()
    assert sorted(files.values()) == PATHS
    assert len({page_name(stem) for stem in files}) == len(files)
    course = [path for path in files.values() if path.parent.name == "course"]
    assert course == COURSE
    parts = [caption(stem) for stem in files]
    assert [*dict.fromkeys(parts)] == [None, *CAPTIONS.values()]


def executed(monkeypatch, **notebooks):
    """Run them as the build does, in a shell that asks for another backend."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PYTHONPATH"):
        monkeypatch.setenv(name, "")  # given back afterwards
    asyncio.run(build.execute_all(notebooks, ["slow"]))


def test_a_build_draws_into_the_page_and_names_all_that_fails(monkeypatch, capfd):
    """Whatever the shell says; every cell that fails, and its exception; each notebook
    in a process of its own.
    """
    figure = "import matplotlib.pyplot as plt\nplt.plot([0, 1])\nplt.show()"
    drawing = chapter("Drawing", figure, "#| slow\n1 / 0", "plt.get_fignums()")
    empty = chapter("Empty", "x = 1", "def f():\n    assert not x\n\nf()", "x = 2")
    dead = chapter("Dead", "import os", "os._exit(1)")
    alone = "import os, sys\nsys.first = getattr(sys, 'first', os.getpid())"
    new = [chapter("New", f"{alone}\nsys.first == os.getpid()") for _ in range(2)]
    rest = dict(dead=dead, one=new[0], two=new[1])
    with pytest.raises(SystemExit) as stop:
        executed(monkeypatch, empty=empty, drawing=drawing, **rest)
    told = str(stop.value)
    assert "empty.ipynb fails in cell 3 with AssertionError: def f():" in told
    assert "assert not x" in told  # the traceback
    assert "dead.ipynb fails in cell 3 with DeadKernelError: os._exit(1)" in told
    assert "drawing" not in told and "s  drawing" in capfd.readouterr().out
    _, picture, left_out, count = drawing.cells
    assert "image/png" in picture.outputs[0].data
    assert left_out.outputs == [] and count.outputs[0].data["text/plain"] == "[]"
    for nb in new:
        assert nb.cells[1].outputs[0].data["text/plain"] == "True"


def test_a_word_of_code_is_no_equation(translator):
    """A label of one word is one in brackets, or in the course."""
    translator.known |= {"score", "risk-set"}
    text = "It has no `score`, but (`score`) and `risk-set`."
    assert translator.prose(text, "howto/one").count("{eq}") == 2
    assert translator.prose(text, "course/46_conditioning").count("{eq}") == 3
    assert "no `score`, but {eq}`score` and" in translator.prose(text, "howto/one")
