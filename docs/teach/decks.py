"""Write a deck of slides for each lecture of a term, from the chapters' own cells.

    python docs/teach/decks.py          into _docs/_static/decks/
    python docs/teach/decks.py OUT 3    the third alone, into OUT/

The slides are listed in lectures.md, which slides.py reads; the sheets of
appendix/teaching.ipynb are the rest. Each deck is one file, with its formulas and
pictures in it, and asks nothing of the network. The speaker's notes (press n, or p for
a window of their own) have what the chapter says, the answers, and the minutes of each
slide.
"""

import json
import re
import subprocess
import sys
from functools import cache
from html import escape
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(DOCS), str(DOCS.parent / "tests/helpers")]

import nbformat
from jinja2 import Environment, FileSystemLoader
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from notebooks import ROOT, notebook
from plan import NEEDS
from teach.slides import read_sheets, slides_of
from translate import LABEL, LINK, TAG, is_label, known_labels, labels, plain, settings

HERE = Path(__file__).parent
OUT = ROOT / "_docs/_static/decks"
TEMPLATES = Environment(loader=FileSystemLoader(HERE), trim_blocks=True)
LENGTH = 90  # minutes of a lecture
# How long a slide is shown beside the others: the minutes of a lecture are shared out.
WEIGHTS = {
    "first": 3,
    "problem": 4,
    "words": 3,
    "code": 4,
    "equation": 4,
    "figure": 3,
    "film": 3,
    "questions": 6,
    "now": 3,
    "live": 8,
    "hand": 6,
    "homework": 2,
}
WIDE = 100  # characters of TeX: a longer formula has several rows
LONG = 140  # characters: one that is longer is broken even at a single equals sign
ROW = r" \\[6pt] "
# a formula in a line with its bracket and what stands directly behind it
FORMULA = re.compile(r"\(?(?:<span[^>]*>)+⟦\d+⟧(?:</span>)+[.,;:)?]+")


def write_decks(out=OUT, *wanted):
    """Write the decks of the lectures ``wanted``, all by default, to a folder."""
    numbers = [int(number) for number in wanted] or [*read_sheets()]
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    page = Page()
    texts = {number: page.deck(number, slides_of(number)) for number in numbers}
    pictures = page.draw()
    for number, text in texts.items():
        text = re.sub(r"⟦(\d+)⟧", lambda found: pictures[int(found[1])], text)
        (out / f"lecture-{number:02}.html").write_text(text, encoding="utf-8")
    print(f"{len(numbers)} decks in {out}")


class Page:
    """A translator of Markdown to HTML; it draws the formulas of all decks at once."""

    def __init__(self):
        self.formulas = {}  # {(TeX, whether displayed): its place}
        self.known = known_labels()
        self.parser = MarkdownIt("commonmark").enable("table")
        self.parser.use(dollarmath_plugin, renderer=self.formula)

    def deck(self, number, slides):
        """Return the text of a deck, with a mark in the place of each formula."""
        shown = []
        until = 0
        for slide, minutes in zip(slides, share_out(slides)):
            until += minutes
            body = self.html(slide.body)
            if slide.printed:
                body += f"<pre>{escape(slide.printed)}</pre>"
            made = {
                **slide._asdict(),
                "title": self.inline(slide.title),
                "body": body,
                "notes": self.html(slide.notes),
                "alt": escape(plain(self.plainly(slide.alt))),
                "minutes": minutes,
                "until": until,
            }
            shown.append(made)
        template = TEMPLATES.get_template("deck.html")
        title = plain(read_sheets()[number][0])
        home = "{doc_host}{doc_baseurl}".format_map(settings())
        return template.render(number=number, title=title, home=home, slides=shown)

    def html(self, text):
        """Translate paragraphs; a formula and a comma after it stay on one line."""
        made = self.parser.render(self.plainly(text))
        return FORMULA.sub(r'<span class="whole">\g<0></span>', made)

    def inline(self, text):
        """Translate a line."""
        return self.parser.renderInline(self.plainly(text))

    def plainly(self, text):
        """Leave out links, and write the numbers of equations for their labels."""
        text = LINK.sub(lambda m: m[2] if m[3] else m[0], text)
        return LABEL.sub(
            lambda m: f"({numbers()[m[2]]})" if is_label(m, self.known, True) else m[0],
            text,
        )

    def formula(self, tex, options):
        """Return a mark in the place of a formula, with its label beside it."""
        display = options["display_mode"]
        tag = TAG.search(tex)
        tex = TAG.sub("", tex).strip()
        drawn = (break_rows(tex) if display else tex, display)
        place = self.formulas.setdefault(drawn, len(self.formulas))
        name = escape(" ".join(tex.split()), quote=True)
        mark = f'<span class="formula" role="img" aria-label="{name}">⟦{place}⟧</span>'
        if not display:
            return mark
        label = f'<span class="label">({numbers()[tag[1]]})</span>' if tag else ""
        return f'<div class="displayed">{mark}{label}</div>'

    def draw(self):
        """Draw the formulas as SVG, in the order of their marks."""
        command = ["node", HERE / "formulas.cjs"]
        given = json.dumps([*self.formulas])
        done = subprocess.run(command, input=given, capture_output=True, text=True)
        if done.returncode:
            sys.exit(
                f"no formulas without MathJax (npm install in docs): {done.stderr}"
            )
        return json.loads(done.stdout)


@cache
def numbers():
    """Return {label: the number that an equation has on the site}."""
    found = {}
    for chapter in NEEDS:
        stem = chapter.replace(".", "")
        path = next((ROOT / "nbs/course").glob(f"{stem}_*.ipynb"))
        named = labels(nbformat.from_dict(notebook(path)))
        found |= {label: f"{chapter}.{k}" for k, label in enumerate(named, 1)}
    return found


def break_rows(tex):
    """Break a long formula into rows: where its parts stand far apart, or else at its
    equals signs.
    """
    if len(tex) < WIDE or re.search(r"\\begin|\\left|\\\\", tex):
        return tex
    for space in r"\qquad", r"\quad":
        parts = split_outside(tex, space)
        if len(parts) > 1:
            return rf"\begin{{gathered}}{ROW.join(parts)}\end{{gathered}}"
    first, *more = split_outside(tex, "=")
    if len(more) > 1:
        rows = ROW.join(f"&={part}" for part in more)
        return rf"\begin{{aligned}}{first}{rows}\end{{aligned}}"
    if more and len(tex) > LONG:
        return rf"\begin{{aligned}}&{first}{ROW}&\quad={more[0]}\end{{aligned}}"
    return tex


def split_outside(tex, mark):
    """Split a formula at a mark outside of all braces."""
    parts = [""]
    depth = 0
    for token in re.split(r"(\\[a-z]+|\\.|[{}=])", tex):
        depth += {"{": 1, "}": -1}.get(token, 0)
        if token == mark and not depth:
            parts.append("")
        else:
            parts[-1] += token
    return [part.strip() for part in parts]


def share_out(slides):
    """Return the minutes of each slide, whole numbers that add up to a lecture; what
    has minutes of its own keeps them.
    """
    left = LENGTH - sum(slide.minutes for slide in slides)
    weights = [0 if slide.minutes else WEIGHTS[slide.kind] for slide in slides]
    exact = [left * weight / sum(weights) for weight in weights]
    minutes = [slide.minutes or int(time) for slide, time in zip(slides, exact)]
    late = sorted(range(len(exact)), key=lambda k: minutes[k] - exact[k])
    for k in late[: LENGTH - sum(minutes)]:
        minutes[k] += 1
    return minutes


if __name__ == "__main__":
    write_decks(*sys.argv[1:])
