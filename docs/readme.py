"""Write README.md from nbs/index.ipynb, with the outputs that stand in it: python
docs/readme.py
"""

import re
from pathlib import Path

import nbformat
from translate import directives

ROOT = Path(__file__).resolve().parent.parent


def readme(notebook=ROOT / "nbs" / "index.ipynb"):
    """The text of README.md."""
    blocks = [
        "<!-- Made from nbs/index.ipynb by docs/readme.py: edit the notebook. -->"
    ]
    for cell in nbformat.read(notebook, 4).cells:
        if cell.cell_type == "markdown":
            blocks.append(from_root(cell.source.strip()))
        elif cell.cell_type == "code":
            found, code = directives(cell.source)
            if code and "hide" not in found:
                blocks += [
                    f"```python\n{code}\n```",
                    *map(fenced, filter(None, map(text_of, cell.outputs))),
                ]
    return "\n\n".join(blocks) + "\n"


def from_root(text):
    """Links and pictures, written as seen from nbs/, as seen from the top of the
    repository.
    """
    text = re.sub(r"\]\((?=[\w/-]+\.ipynb)", "](nbs/", text)
    return text.replace("](../", "](").replace('src="../', 'src="')


def text_of(output):
    """What an output says in plain text; a picture says nothing (README shows
    committed ones from docs/).
    """
    data = output.get("data", {})
    if any(kind.startswith("image/") for kind in data):
        return ""
    return output.get("text", data.get("text/plain", "")).rstrip()


def fenced(text):
    return f"```text\n{text}\n```"


if __name__ == "__main__":
    (ROOT / "README.md").write_text(readme(), encoding="utf-8")
