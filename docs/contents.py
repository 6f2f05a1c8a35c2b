"""Write nbs/appendix/contents.ipynb, the table of all notebooks, from their file names
and first cells: python docs/contents.py
"""

import posixpath

import nbformat
from nbformat.v4 import new_markdown_cell, new_notebook
from translate import (
    CAPTIONS,
    NOTEBOOKS,
    TITLE,
    caption,
    chapter_number,
    notebook_files,
)

PAGE = "appendix/contents"
KERNEL = {"display_name": "python3", "language": "python", "name": "python3"}
HEAD = "# Contents\n> Every notebook, in reading order, with one line about it."
ABOUT = """\
*A chapter is called by its part and its place there: 3.1 is the first chapter of part \
III. Read the chapters in this order, or follow one of the [shorter routes](\
routes.ipynb). The workshop is for looking things up: it holds the parts of the \
package that are engineering, and each room is called what its module is called. A \
module that derives nothing has no notebook: its docstrings say what it does.*"""


def contents():
    """The text of contents.ipynb: a table for each part, a row for each notebook."""
    rows = {name: [] for name in CAPTIONS.values()}
    for stem, path in notebook_files().items():
        if caption(stem) and stem != PAGE:
            rows[caption(stem)].append(row(stem, nbformat.read(path, 4).cells[0]))
    texts = [HEAD, ABOUT, *(table(name, lines) for name, lines in rows.items())]
    # ids by place: the same notebooks make the same file
    page = new_notebook(
        cells=[new_markdown_cell(text, id=f"part-{k}") for k, text in enumerate(texts)],
        metadata={"kernelspec": KERNEL},
    )
    return nbformat.writes(page) + "\n"


def row(stem, first):
    """A notebook as a row of its part's table: its title and its one line; before them
    the number of a chapter, or the module of a room.
    """
    title, line = TITLE.match(first.source).groups()
    link = posixpath.relpath(f"{stem}.ipynb", posixpath.dirname(PAGE))
    room = f"`{posixpath.basename(stem)}`" if stem.startswith("workshop/") else None
    name = chapter_number(stem) or room
    return [*[name] * bool(name), f"[{title}]({link})", line]


def table(name, rows):
    """A part: its heading, and its rows as a table without a head."""
    empty, rule = [""] * len(rows[0]), ["---"] * len(rows[0])
    lines = (f"| {' | '.join(cells)} |" for cells in (empty, rule, *rows))
    return "\n".join([f"## {name}", *lines])


if __name__ == "__main__":
    (NOTEBOOKS / f"{PAGE}.ipynb").write_text(contents(), encoding="utf-8")
