"""Write nbs/appendix/contents.ipynb, the table of all notebooks, from their file names
and first cells: python docs/contents.py
"""

import nbformat
import translate
from nbformat.v4 import new_markdown_cell, new_notebook
from translate import CAPTIONS, NOTEBOOKS, TEMPLATES, TITLE, caption, chapter_number

PAGE = "appendix/contents"
KERNEL = {"display_name": "python3", "language": "python", "name": "python3"}


def contents():
    """Write the text of contents.ipynb: a table for each part, or task, a row for each
    notebook.
    """
    parts = {name: {} for name in CAPTIONS.values()}
    for stem, path in translate.notebook_files().items():
        if caption(stem) and stem != PAGE:
            rows = parts[caption(stem)].setdefault(translate.heading(stem), [])
            rows.append(row(stem, nbformat.read(path, 4).cells[0]))
    text = TEMPLATES.get_template("contents.md").render(parts=parts)
    cells = enumerate(text.strip().split("\n+++\n"))
    # ids by place: the same notebooks make the same file
    page = new_notebook(
        cells=[new_markdown_cell(cell, id=f"part-{k}") for k, cell in cells],
        metadata={"kernelspec": KERNEL},
    )
    return nbformat.writes(page) + "\n"


def row(stem, first):
    """A notebook as a row of its part's table: its title and its one line; before them
    the number of a chapter, or the module of a room.
    """
    title, line = TITLE.match(first.source).groups()
    room = f"`{translate.page_name(stem)}`" if stem.startswith("workshop/") else None
    name = chapter_number(stem) or room
    return [*[name] * bool(name), f"[{title}](../{stem}.ipynb)", line]


if __name__ == "__main__":
    (NOTEBOOKS / f"{PAGE}.ipynb").write_text(contents(), encoding="utf-8")
