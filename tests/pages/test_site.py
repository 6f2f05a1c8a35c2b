"""The conventions of the notebooks, as the site shows them (docs/translate.py,
docs/pages.py); tests/site looks at the built site.
"""

import inspect
import json
import os
import re
import sys
from itertools import pairwise
from pathlib import Path
from pkgutil import resolve_name

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))
import build
import moving
import offered
import pages
import reference
from moving import FEWER, NEEDS_PYTHON, WIDGET
from notebooks import COURSE, PATHS
from translate import (
    CAPTIONS,
    LABEL,
    SECTIONS,
    Translator,
    caption,
    directives,
    is_label,
    labels,
    notebook_files,
    page_name,
    settings,
    topics,
)

from rvamp_nb import results


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
    runs = f'<a href="lite/notebooks/index.html?path=nbs/{stem}.ipynb">'
    run = re.search(
        r"\n{.run .no-search}\n(<a[^>]+>)Run this chapter</a> in .+\n", page
    )
    assert (run and run[1]) == (runs if stem.startswith("course/2") else None)
    page = page.replace(run[0], "") if run else page
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
        (
            "$E[g](y)$ and $$E[g](y)$$, [how](../howto/one.ipynb) $x$",
            "$E[g](y)$ and $$E[g](y)$$, [how](one.ipynb) $x$",
        ),
        ("$$\nE[g^2](y)\n$$", "\n$$\nE[g^2](y)\n$$\n"),
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
            "<details><summary><b>Solution</b></summary>\n\nAs {eq}`mine`.\n\n"
            "</details>",
        ),
        (
            "**Move it and answer.** 1. Where?\n\n"
            "<details><summary><b>Answers</b></summary>\n\n1. Here.\n\n</details>",
            "**Move it and answer.** 1. Where?\n\n"
            "<details><summary><b>Answers</b></summary>\n\n1. Here.\n\n</details>",
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


def test_what_a_docstring_names_as_an_equation_is_one():
    known = {"eq:lasso", "in-two", "tail"}
    found = {
        text: is_label(LABEL.search(text), known)
        for text in ("(`eq:lasso`, `tail`)", "`in-two`", "`tail`", "(`tail`)", "`eq:x`")
    }
    assert [*found.values()] == [True, True, False, True, False]


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
        (["hide-cell"], "#| export\nimport numpy as np", "Imports of the module"),
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


@pytest.mark.parametrize("path", COURSE, ids=lambda path: path.stem)
def test_a_chapter_keeps_its_formulas_and_names_its_imports(translator, path):
    nb = nbformat.read(path, 4)
    translator.notebook(nb, f"course/{path.stem}")
    markdown = [cell.source for cell in nb.cells if cell.cell_type == "markdown"]
    formulas = re.findall(r"\$\$?[^$]+\$\$?", "\n".join(markdown))
    assert [each for each in formulas if "https://" in each] == []
    folds = [
        cell.metadata.get("mystnb", {}).get("code_prompt_show") for cell in nb.cells
    ]
    assert ("Imports", "Imports") not in pairwise(folds)


def widget(text, name="one"):
    """An output that shows a widget, and how it is printed without Jupyter."""
    data = {WIDGET: {"model_id": name}, "text/plain": text}
    return new_output("display_data", data=data)


ONE = widget("<rvamp_nb.course.widgets.Explorer object>")
TWO = widget("VBox(children=(IntSlider(value=3),))", "two")
PLAIN = new_output("display_data", data={"text/plain": "3"})


@pytest.mark.parametrize(
    "states, kept, notes",
    [
        ([None, None], [PLAIN], [NEEDS_PYTHON] * 2),
        ([{"n": 1}, None], [ONE, PLAIN], [NEEDS_PYTHON]),
        ([{"n": 1}, {"table": {"fewer": False}}], [ONE, TWO, PLAIN], []),
        ([None, {"table": {"fewer": True}}], [TWO, PLAIN], [NEEDS_PYTHON, FEWER]),
    ],
)
def test_what_does_not_move_or_less_is_said_to(translator, states, kept, notes):
    """By a line below; a widget that does not move is left out."""
    nb = new_notebook(cells=[new_code_cell("x", outputs=[ONE, TWO, PLAIN])])
    held = [state and {"state": dict(state, _esm="a script")} for state in states]
    moving.give_states(nb, held, "course/24_messages")
    translator.notebook(nb, "course/24_messages")
    assert [cell.source for cell in nb.cells] == ["x", *notes]
    assert nb.cells[0].outputs == kept


def test_a_page_carries_what_its_widgets_hold_and_nothing_of_others():
    """In the order in which its cells show them; a run that shows another number is
    another notebook.
    """
    outputs = [[ONE, TWO], [widget("<Film object>", "three")]]
    cells = [new_code_cell("x"), *(new_code_cell("x", outputs=o) for o in outputs)]
    nb = new_notebook(cells=cells)
    first, last = [{"state": {"n": n, "_esm": "a script"}} for n in (1, 2)]
    moving.give_states(nb, [first, None, last], "howto/one")
    states = moving.held(nb)
    assert {k: held.state.n for k, held in states.items()} == {"one": 1, "three": 2}
    assert [*(held.state["_esm"] for held in states.values())] == ["a script", "one"]
    with pytest.raises(SystemExit, match="nbs/howto/one.ipynb shows other widgets"):
        moving.give_states(nb, [{"state": {}}], "howto/one")


def test_a_build_stops_where_a_notebook_fails(tmp_path, monkeypatch, capfd):
    """And names what fails."""
    path = tmp_path / "nbs" / "one.ipynb"
    path.parent.mkdir()
    nb = new_notebook(cells=[new_code_cell("1 / 0", outputs=[ONE])])
    nbformat.write(nb, path)
    for name in ("conftest.py", "pyproject.toml", "settings.ini"):
        text = (build.ROOT / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text, encoding="utf-8")
    helpers = (build.ROOT / "tests" / "helpers").as_posix()
    monkeypatch.setenv("PYTHONPATH", f"{build.ROOT}{os.pathsep}{helpers}")
    monkeypatch.setattr(moving, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="a notebook fails"):
        moving.states_of({"one": path}, {"one": nb})
    assert "ZeroDivisionError" in capfd.readouterr().out


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


@pytest.fixture
def texts(notebooks):
    return pages.made(notebooks)


def menu(text):
    """What a page lists for the menu."""
    [listed] = re.findall(r"^```{toctree}\n:hidden:\n\n(.*?)\n```$", text, re.S | re.M)
    return listed.split("\n")


def test_each_notebook_is_listed_in_its_section_and_part(texts):
    assert [*texts] == ["index", "explorer", *SECTIONS, "404"]
    sections = [page for page in SECTIONS if page != "api"]
    assert {page: menu(texts[page]) for page in sections} == {
        "start": ["quickstart", "routes", *pages.releases(), "explorer"],
        "how-to": ["one"],
        "course": ["23_rs_gaussian", "31_prior", "errata"],
        "workshop": ["cli"],
    }
    text = texts["course"]
    part = text[text.index("## II. The theory") : text.index("## III. The algorithm")]
    assert "[2.3 Gaussians](course/23_rs_gaussian.ipynb)\n: About it." in part
    assert "course/31_prior" not in part
    assert "\n# How to\n\n{.lead}\n" in texts["how-to"]
    assert "[Do it](howto/one.ipynb)\n: About it." in texts["how-to"]
    assert [*pages.releases()][-1] == "version-0-1-0"


def test_each_page_says_which_file_it_is_made_of(texts):
    """To which its pencil leads."""
    texts.update(pages.releases())
    for page, text in texts.items():
        _, head, _ = text.split("---\n", 2)
        [file] = re.findall("^file: (.+)$", head, re.M)
        assert (build.ROOT / file).is_file(), page


def test_a_section_without_a_notebook_is_a_page(notebooks):
    """Where one chapter is built alone."""
    alone = {"index": notebooks["index"]}
    assert "toctree" not in pages.made(alone)["workshop"]


def test_the_landing_page_has_the_address_to_install_from_and_the_bar(texts):
    text = texts["index"]
    assert f"pip install <span>git+{settings()['git_url']}</span>\n" in text
    assert menu(text) == [*SECTIONS] and len(SECTIONS) == 5
    doors = re.findall(r"{grid-item-card} \[(.+?)\]\((.+?)\)", text)
    assert [name for name, _ in doors] == ["Learn", "Use", "Look up"]
    held = re.findall(
        r'^<script type=".*widget-state\+json">(.+)</script>$', text, re.M
    )
    assert json.loads(held[0])["state"]["explorer"]["state"]["table"]


# where names are that do not stand at the top
BESIDE = r"(results|exceptions|tables|algorithm)\."


def test_the_reference_has_every_public_name_once_by_task(texts):
    """And those that stand beside them; then all from A to Z."""
    text, az = texts["api"].split("## From A to Z")
    listed = re.findall(r"^   ([\w.]+)$", text, re.M)
    drawn = reference.TASKS["Draw"]
    beside = [name for name in listed if re.match(BESIDE, name) and name not in drawn]
    assert {f"results.{name}" for name in results.__all__} <= {*beside}
    assert sorted(listed) == sorted([*offered.public(), *beside, *drawn])
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
    without = {page_name(stem) for stem in looked_up} - found.keys()
    assert not without, f"add a line for them to docs/topics.txt: {without}"
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
    assert others == ["rvamp_nb.Weakness"]


def test_a_first_sentence_is_without_labels():
    text = "Take one (`eq:one`, `in-two`), as\n`p1` (`Fit`). More.\n\nExamples"
    assert offered.first_sentence(text) == "Take one, as `p1` (`Fit`)."


def test_where_there_is_no_page_stands_what_to_do(translator, texts):
    text = translator.markdown(texts["404"], "index")
    assert text.startswith("---\norphan: true\nnosearch: true\n")
    assert "\n---\n# There is no such" in text
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


def test_a_word_of_code_is_no_equation(translator):
    """A label of one word is one in brackets, or in the course."""
    translator.known |= {"score", "risk-set"}
    text = "It has no `score`, but (`score`) and `risk-set`."
    assert translator.prose(text, "howto/one").count("{eq}") == 2
    assert translator.prose(text, "course/46_conditioning").count("{eq}") == 3
    assert "no `score`, but {eq}`score` and" in translator.prose(text, "howto/one")
