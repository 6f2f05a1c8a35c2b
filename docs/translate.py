"""What Jupyter shows and what the site shows: the notebooks' conventions, translated to MyST.

==============================================  ==========================================================
in the notebook                                 on the site
==============================================  ==========================================================
``# Title`` and ``> one line``                  a numbered title and its lead
``$$ ... \\tag{eq:x} $$``                       an equation numbered by chapter, with an anchor
an equation's label in backticks                a link to that equation, on whichever page it is
``[chapter 7](07_messages.ipynb)``              a link; plain text while that chapter is not being built
``<details><summary>...``                       a drop-down
a cell with ``#| export``                       signature and docstring; the code folded beneath
a cell with ``#| hide``, or only directives     nothing
==============================================  ==========================================================
"""
import ast
import re

from nbformat.v4 import new_markdown_cell

EXPORTED = {"export", "exporti", "exports"}
DIRECTIVE = re.compile(r"\s*#\s*\|\s*(\w+):?\s*(.*)")
FENCE = re.compile(r"^(```.*?^```[^\n]*$)", re.DOTALL | re.MULTILINE)
EQUATION = re.compile(r"^([ >]*)\$\$((?:(?!\$\$).)+)\$\$[ ]*$", re.DOTALL | re.MULTILINE)
TAG = re.compile(r"\s*\\tag\{([^}]+)\}")
LABEL = re.compile(r"(\()?(?<!`)`([\w:-]+)`(?!`)(?(1)\))")  # a reference brings its own parentheses: (`eq:x`) has one pair
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
DETAILS = re.compile(r"\A<details>\s*<summary>(.*?)</summary>\s*(.*?)\s*</details>\s*\Z", re.DOTALL)
TITLE = re.compile(r"\A# (.+)\n+> (.+)\s*\Z")


def directives(source):
    """The leading ``#|`` lines of a code cell as a dictionary, and the code under them."""
    found, lines = {}, source.splitlines()
    while lines and (match := DIRECTIVE.match(lines[0])):
        found[match[1]] = match[2].strip()
        lines.pop(0)
    return found, "\n".join(lines).strip("\n")


def chapter_number(stem):
    """7 for ``07_messages``; None for the appendices and the index."""
    number = int(stem[:2]) if stem[:2].isdigit() else 99
    return number if number < 80 else None


def labels(nb):
    """Every equation label that the notebook defines."""
    found = (TAG.search(body) for cell in nb.cells if cell.cell_type == "markdown" for _, body in EQUATION.findall(cell.source))
    return [tag[1] for tag in found if tag]


class Translator:
    """Translates executed notebooks; ``built`` are the stems of the site's pages, ``known`` all equation labels."""

    def __init__(self, built, known, repository):
        self.built, self.known, self.repository = set(built), set(known), repository

    def notebook(self, nb, stem):
        """Turn the cells of ``nb`` into those of the site, in place."""
        module, cells = None, []
        for cell in nb.cells:
            if cell.cell_type == "code":
                found, code = directives(cell.source)
                module = found.get("default_exp", module)
                cells += self.code(cell, found, code, f"rvamp_nb.{module}")
            else:
                cell.source = self.markdown(cell.source, stem)
                cells.append(cell)
        nb.cells = cells

    def code(self, cell, found, code, module):
        if "hide" in found or not code:
            return []
        cell.source = code
        if "hide-cell" in cell.metadata.get("tags", ()):
            cell.metadata["mystnb"] = {"code_prompt_show": "Solution in code", "code_prompt_hide": "Solution in code"}
        names = public_definitions(code) if EXPORTED & found.keys() else []
        if not names:
            return [cell]
        cell.metadata["tags"] = ["hide-input"]
        entries = "\n".join(f".. {kind}:: {module}.{name}\n{options}" for name, kind, options in names)
        return [new_markdown_cell(f"```{{eval-rst}}\n{entries}```"), cell]

    def markdown(self, text, stem):
        number = chapter_number(stem)
        text = TITLE.sub(lambda m: f"# {'' if number is None else f'{number}. '}{m[1]}\n\n{{.lead}}\n{m[2]}", text)
        text = DETAILS.sub(lambda m: f"::::{{dropdown}} {re.sub('<[^>]+>', '', m[1])}\n{m[2]}\n::::", text)
        parts = FENCE.split(text)  # every second part is a fenced block: left alone
        parts[::2] = [self.prose(part) for part in parts[::2]]
        return "".join(parts)

    def prose(self, text):
        text = EQUATION.sub(self.equation, text)
        text = LINK.sub(self.link, text)
        return LABEL.sub(lambda m: f"{{eq}}`{m[2]}`" if m[2] in self.known else m[0], text)

    @staticmethod
    def equation(match):
        indent, body = match.groups()
        tag = TAG.search(body)
        label = f" ({tag[1]})" if tag else ""
        blank = f"{indent.rstrip()}\n"  # MyST, unlike Jupyter, wants an empty line before and after
        return f"{blank}{indent}$${TAG.sub('', body)}$${label}\n{blank.rstrip()}"

    def link(self, match):
        picture, text, target = match.groups()
        page = re.match(r"([\w-]+)\.ipynb", target)
        if page and page[1] not in self.built:
            return text
        if target.startswith("../docs/"):
            target = target.replace("../docs/", "../../", 1)  # as seen from docs/_build/pages
        elif target.startswith("../"):
            target = f"{self.repository}/{target[3:]}"
        return f"{picture}[{text}]({target})"


def public_definitions(code):
    """(name, autodoc directive, its options) of each public function and class that a cell defines."""
    kinds = {ast.FunctionDef: ("autofunction", ""), ast.ClassDef: ("autoclass", "   :members:\n")}
    nodes = [node for node in ast.parse(code).body if type(node) in kinds and not node.name.startswith("_")]
    return [(node.name, *kinds[type(node)]) for node in nodes]
