"""What Jupyter shows, translated to what the site shows: the conventions of the
notebooks (CONTRIBUTING.md, "Add a page") to MyST. Cells with ``#| hide``, or only with
directives, are left out; what an equation, a link or a folded cell becomes stands where
it is made.
"""

import ast
import posixpath
import re
import sys
from configparser import ConfigParser
from functools import cache
from pathlib import Path

# nbformat brings jsonschema, and that a checker of addresses that compiles its grammars
# for three seconds: nobody asks it anything here.
sys.modules.setdefault("rfc3987_syntax", None)

import nbformat
from jinja2 import Environment, FileSystemLoader
from moving import held, note, view
from nbformat.v4 import new_markdown_cell

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "nbs"
CAPTIONS = {  # how the path of a notebook begins, in reading order, and what that is
    "course/1": "I. The problem",
    "course/2": "II. The theory",
    "course/3": "III. The algorithm",
    "course/4": "IV. How accurate the answer is",
    "course/5": "V. Using it",
    "course/6": "VI. More than one target",
    "workshop/": "Workshop",
    "howto/": "How to",
    "appendix/": "Appendices",
}
# The entries of the bar above each page: its page, which is made from docs/, and what
# that is called.
SECTIONS = {
    "start": "Start",
    "how-to": "How to",
    "course": "Course",
    "api": "Reference",
    "workshop": "Workshop",
}
# nbs/index.ipynb is the README; the site has an index of its own, and there this is ...
README = "index"
QUICKSTART, QUICKSTART_TITLE = "quickstart", "Quick start"
# how the paths of chapters begin that run in a reader's browser (lite.py)
RUN_HERE = "course/1", "course/2", "course/3", "course/51"
SIGNATURES = {  # what autodoc is asked for
    ast.FunctionDef: ".. autofunction:: rvamp_nb.{}\n   :no-index:\n",
    ast.ClassDef: ".. autoclass:: rvamp_nb.{}\n   :no-index:\n   :members:\n",
}
DIRECTIVE = re.compile(r"\s*#\s*\|\s*(\w+):?\s*(.*)")
FENCE = re.compile(r"^(```.*?^```[^\n]*$)", re.DOTALL | re.MULTILINE)
EQUATION = re.compile(r"(?sm)^([ >]*)\$\$((?:(?!\$\$).)+)\$\$[ ]*$")
TAG = re.compile(r"\s*\\tag\{([^}]+)\}")
# a reference brings its own parentheses: (`eq:x`) has one pair
LABEL = re.compile(r"(\()?(?<!`)`([\w:-]+)`(?!`)(?(1)\))")
LINK = re.compile(r"\$\$?[^$]+\$\$?|(!?)\[([^\]]*)\]\(([^)\s]+)\)")  # or a formula
TITLE = re.compile(r"\A# (.+)\n+> (.+)\s*\Z")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
# the caption of a figure: the cell under it, which begins with its number
CAPTION = re.compile(r"\A[*_>\s]*(Fig(?:ure|\.) \d.*)\Z", re.DOTALL)

DOCS = ROOT / "docs"
TEMPLATES = Environment(
    loader=FileSystemLoader([DOCS, DOCS / "templates"]), trim_blocks=True
)


def settings():
    """The project's metadata, from settings.ini."""
    found = ConfigParser(delimiters=["="])
    found.read(ROOT / "settings.ini", encoding="utf-8")
    return found["DEFAULT"]


TASKS = {  # the how-tos in reading order, by what somebody wants to do
    "Before you begin": "is_it_for_me how_many_rows_do_i_need how_large_can_it_be"
    " for_users_of_scikit_learn coming_from_r",
    "From a file to a paper": "use_the_command a_study_from_file_to_paper"
    " select_features_in_a_csv a_table_with_categories",
    "Your kind of data": "binary_outcome_with_a_covariate a_target_with_three_classes"
    " survival_times several_samples_from_one_patient splines_and_levels"
    " a_gene_network a_million_columns",
    "Choose a promise, judge the answer": "which_promise_do_i_need"
    " which_threshold_which_pfer read_the_status when_not_to_trust"
    " see_one_coefficient bag_a_prediction",
    "Models of your own": "models_of_your_own write_a_loss write_a_prior",
}
HOW_TOS = {stem: task for task, stems in TASKS.items() for stem in stems.split()}


def notebook_files():
    """{stem: path} of the notebooks in reading order, the README first; the stem of a
    chapter is ``course/31_prior``.
    """
    files = NOTEBOOKS.glob("*/[!_.]*.ipynb")
    place = {stem: k for k, stem in enumerate(HOW_TOS)}
    order = sorted(files, key=lambda path: (place.get(path.stem, len(place)), path))
    paths = [NOTEBOOKS / f"{README}.ipynb", *order]
    stems = {p.relative_to(NOTEBOOKS).with_suffix("").as_posix(): p for p in paths}
    return {
        stem: path
        for start in (README, *CAPTIONS)
        for stem, path in stems.items()
        if stem.startswith(start)
    }


def topics():
    """{page: the entries of the index that lead to it}, from topics.txt."""
    text = (ROOT / "docs" / "topics.txt").read_text(encoding="utf-8")
    lines = [line.partition(": ") for line in text.splitlines()[1:]]
    return {page: entries.split("; ") for page, _, entries in lines}


def directives(source):
    """Split a code cell into its leading ``#|`` lines, as a dict, and its code."""
    found, lines = {}, source.splitlines()
    while lines and (match := DIRECTIVE.match(lines[0])):
        found[match[1]] = match[2].strip()
        lines.pop(0)
    return found, "\n".join(lines).strip("\n")


def caption(stem):
    """What a notebook is a part of; None for the README."""
    return next((CAPTIONS[start] for start in CAPTIONS if stem.startswith(start)), None)


def heading(stem):
    """Return the heading under which a notebook is listed: its part, or a task."""
    return HOW_TOS.get(page_name(stem), caption(stem))


def section(stem):
    """The page of the section that a notebook belongs to."""
    start = {README, "appendix/routes", "appendix/contents"}
    rooms = {"howto": "how-to", "workshop": "workshop"}
    return "start" if stem in start else rooms.get(stem.partition("/")[0], "course")


def chapter_number(stem):
    """Return "3.1" for ``course/31_prior``, its part and place; None for others."""
    number = re.match(r"(?:course/)?(\d)(\d)_", stem)
    return number and f"{number[1]}.{number[2]}"


def page_name(stem):
    """The page that a notebook becomes: all in one folder."""
    return QUICKSTART if stem == README else stem.rpartition("/")[2]


def page_title(stem, title):
    """The title of a notebook as the site has it, with its number."""
    if stem == README:
        return QUICKSTART_TITLE
    number = chapter_number(stem)
    return f"{number} {title}" if number else title


def is_label(match, known, wide=False):
    """Return True if what LABEL finds is an equation's label; a single word, which may
    be a name of code, only in brackets or where the search is ``wide``.
    """
    label = match[2]
    return label in known and bool(wide or match[1] or {"-", "_", ":"} & {*label})


def labels(nb):
    """Every equation label that the notebook defines."""
    texts = [cell.source for cell in nb.cells if cell.cell_type == "markdown"]
    equations = [body for text in texts for _, body in EQUATION.findall(text)]
    return [label for body in equations for label in TAG.findall(body)]


@cache
def known_labels():
    """Every equation label of all notebooks."""
    notebooks = [nbformat.read(path, 4) for path in notebook_files().values()]
    return {label for nb in notebooks for label in labels(nb)}


class Translator:
    """Translates notebooks for a site of the stems ``built``; ``known`` are labels."""

    def __init__(self, built, known, repository):
        self.built, self.known, self.repository = set(built), set(known), repository
        self.module = None  # which the notebook makes, from its cell that says so on
        self.widgets = {}  # {number: what a widget that moves on the page holds}

    def notebook(self, nb, stem):
        """Turn the cells of ``nb`` into those of the site, in place."""
        cells, section = [], stem
        self.widgets = held(nb)
        for cell, below in zip(nb.cells, [*nb.cells[1:], None]):
            if cell.cell_type == "code":
                describe_figures(cell, below, section)
                cells += self.code(cell)
            else:
                section = [section, *HEADING.findall(FENCE.sub("", cell.source))][-1]
                cell.source = self.markdown(cell.source, stem)
                cells.append(cell)
        nb.cells = cells

    def code(self, cell):
        """The cells that a code cell becomes; of exported code first what autodoc makes
        of it, then the code, folded.
        """
        found, cell.source = directives(cell.source)
        self.module = found.get("default_exp", self.module)
        if "hide" in found or not cell.source:
            return []
        folded = "hide-cell" in cell.metadata.get("tags", ())
        if folded:
            prompt(cell, what_is_folded(cell, "export" in found))
        notes = [note(output, self.widgets) for output in cell.outputs]
        after = [new_markdown_cell(text) for text in notes if text]
        cell.outputs = [o for o in cell.outputs if view(o) in {None, *self.widgets}]
        public = public_definitions(cell.source) if "export" in found else []
        if folded or not public:
            return [cell, *after]
        cell.metadata["tags"] = ["hide-input"]
        prompt(cell, f"Code: {', '.join(node.name for node in public)}")
        entries = "\n".join(
            SIGNATURES[type(node)].format(f"{self.module}.{node.name}")
            for node in public
        )
        return [new_markdown_cell(f"```{{eval-rst}}\n{entries}```"), cell, *after]

    def markdown(self, text, stem):
        title = TITLE.match(text)
        if title:
            text = self.head(stem, *title.groups())
        parts = FENCE.split(text)  # every second part is a fenced block: left alone
        parts[::2] = [self.prose(part, stem) for part in parts[::2]]
        return "".join(parts)

    def head(self, stem, title, lead):
        """What stands above a notebook (templates/head.md): also where it can be run
        without installing anything here.
        """
        home, _, branch = self.repository.partition("/blob/")
        places = {"home": home, "branch": branch, "file": f"nbs/{stem}.ipynb"}
        words = {"title": page_title(stem, title), "lead": lead}
        entries = topics().get(page_name(stem))
        page = page_name(stem) if stem.startswith(RUN_HERE) else None
        template = TEMPLATES.get_template("head.md")
        return template.render(places, **words, entries=entries, runs=page)

    def prose(self, text, stem):
        """Text outside code: a label in backticks leads to its equation, on whichever
        page that is.
        """
        text = EQUATION.sub(self.equation, text)
        text = LINK.sub(lambda m: self.link(m, stem) if m[3] else m[0], text)
        wide = not stem.startswith("howto/")  # `score` is a method there
        return LABEL.sub(
            lambda m: f"{{eq}}`{m[2]}`" if is_label(m, self.known, wide) else m[0], text
        )

    @staticmethod
    def equation(match):
        """An equation with its label, which numbers it and is its anchor."""
        indent, body = match.groups()
        tag = TAG.search(body)
        label = f" ({tag[1]})" if tag else ""
        # MyST, unlike Jupyter, wants an empty line before and after
        blank = f"{indent.rstrip()}\n"
        return f"{blank}{indent}$${TAG.sub('', body)}$${label}\n{blank.rstrip()}"

    def link(self, match, stem):
        """A link as the notebook ``stem`` has it, as seen from docs/_build/pages; plain
        text, while the chapter that it leads to is not built.
        """
        picture, text, target = match.groups()
        if re.match("[a-z]+:|version-", target) or target.split(".")[0] in SECTIONS:
            return match[0]
        if target.startswith("#"):
            return text  # a heading of this page: its anchor has another name there
        target = posixpath.normpath(posixpath.join("nbs", stem, "..", target))
        page = re.fullmatch(r"nbs/(.+)(\.ipynb.*)", target)
        if page and page[1] not in self.built:
            return text
        if page:
            target = page_name(page[1]) + page[2]
        elif target.startswith("docs/"):
            target = target.replace("docs/", "../../", 1)
        else:
            target = f"{self.repository}/{target}"
        return f"{picture}[{text}]({target})"


def prompt(cell, what):
    """Write ``what`` on the fold over a cell's code."""
    prompts = {"code_prompt_show": what, "code_prompt_hide": what}
    cell.metadata["mystnb"] = cell.metadata.get("mystnb", {}) | prompts


def describe_figures(cell, below, section):
    """Give a cell's figures the words that stand for them: the caption in the cell
    below, or the title of the section.
    """
    caption = CAPTION.match(below.source) if below else None
    text = caption[1] if caption else f"Figure: {section}"
    if any("image/png" in output.get("data", {}) for output in cell.outputs):
        cell.metadata["mystnb"] = {"image": {"alt": plain(text)}}


def plain(text):
    """A line of Markdown as one would read it aloud."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return " ".join(re.sub(r"[$`*\\{}]", "", text).split())


def what_is_folded(cell, exported):
    """The line under which a hidden cell lies on the site."""
    if "solution" in cell.metadata.get("tags", ()):
        return "Solution in code"
    nodes = ast.parse(cell.source).body
    names = [node.name for node in nodes if hasattr(node, "name")]
    if names:
        return f"Plumbing: {', '.join(names)}"
    imports = any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in nodes)
    if not imports:
        return "Plumbing"
    return "Imports of the module" if exported else "Imports"


def public_definitions(code):
    """The nodes of the public functions and classes that a cell defines."""
    nodes = ast.parse(code).body
    return [n for n in nodes if type(n) in SIGNATURES and not n.name.startswith("_")]
