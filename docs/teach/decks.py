"""Write a deck of slides for each lecture of a term, from the chapters' own cells.

    python docs/teach/decks.py          into _docs/_static/decks/
    python docs/teach/decks.py OUT 3    the third alone, into OUT/

A slide is a problem, an equation, a figure, the questions of a slider or what a chapter
ends with; the sheets of appendix/teaching.ipynb are the rest. Each deck is one file,
with its formulas and pictures in it, and asks nothing of the network. The speaker's
notes (press n) have the words around what is shown, and the minutes of each slide.
"""

import base64
import json
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from html import escape
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(DOCS), str(DOCS.parent / "tests/helpers")]

import plan
import routes
from jinja2 import Environment, FileSystemLoader
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from minutes import DISPLAYED, FENCED, FOLDED, INLINE
from notebooks import PATHS, ROOT, notebook
from translate import CAPTION, EQUATION, LABEL, LINK, TAG, is_label, known_labels, plain

OUT = ROOT / "_docs/_static/decks"
TEACHING = ROOT / "nbs/appendix/teaching.ipynb"
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent), trim_blocks=True
)
LENGTH = 90  # minutes of a lecture
# How long a slide is shown, beside the others: the minutes of a lecture are shared out.
WEIGHTS = {
    "first": 3,
    "problem": 4,
    "equation": 5,
    "figure": 3,
    "film": 3,
    "questions": 6,
    "now": 3,
    "live": 8,
    "hand": 6,
    "homework": 2,
}
EQUATIONS, FIGURES = 9, 6  # of one lecture, about
WORDS = 95  # on a slide
FEW, SENTENCES = 5, 40  # words of a sentence above or below an equation
SAID = 150  # words of notes
LINES, COLUMNS = 5, 80  # of printed numbers below a problem
WIDE, LONG = 100, 140  # characters of TeX: a longer formula has several rows
SENTENCE = re.compile(r"(?:(?<=[.!?:])|(?<=[.!?]\)))\s+(?=[A-Z“*$(])")
SHEET = re.compile(r"^### Lecture (\d+): (.+)\n(.+)\n\n((?:- .+\n?)+)", re.MULTILINE)
FILMS = {  # of animations.py, by lecture
    1: ("resample", "A resample goes round: draw the rows, refit, one estimate more"),
    3: ("replicas", "The limit of replicas: n from 6 to 0"),
}
QUESTIONS = re.compile(r"\A>? ?\*\*Move it and answer\.\*\*")


class Slide(NamedTuple):
    """A slide in Markdown; its picture is a data URI."""

    kind: str
    title: str
    body: str
    notes: str = ""
    picture: str = ""
    alt: str = ""
    place: str = ""
    printed: str = ""  # numbers below the body
    rank: float = 0  # of a chapter's equations and figures the highest are kept


def write_decks(out=OUT, *wanted):
    """Write the decks of the lectures ``wanted``, all by default, to a folder."""
    numbers = [int(number) for number in wanted] or [*range(1, 13)]
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    page = Page()
    texts = {number: page.deck(number, slides_of(number)) for number in numbers}
    pictures = page.pictures()
    for number, text in texts.items():
        text = re.sub(r"⟦(\d+)⟧", lambda found: pictures[int(found[1])], text)
        (out / f"lecture-{number:02}.html").write_text(text, encoding="utf-8")
    print(f"{len(numbers)} decks in {out}")


# What is on the slides


@cache
def term():
    """The stops of a term, and the table of its lectures."""
    return [stop for stop in routes.stops() if stop.lecture], plan.lectures()


@cache
def sheets():
    """{lecture: (title, first lines, [live, by hand, everybody moves])}."""
    found = {}
    for cell in notebook(TEACHING).cells:
        for number, title, lead, points in SHEET.findall(f"{cell.source}\n"):
            points = [re.sub(r"^- \*\*.+?\.?\*\* ", "", p) for p in points.splitlines()]
            found[int(number)] = title, lead, points
    return found


@cache
def numbers_by_hand():
    """{lecture: the printed answer of its question by hand}."""
    cells = notebook(TEACHING).cells
    by_hand = next(cell for cell in cells if "by_hand = {" in cell.source)
    lines = re.findall(r"^ *(\d+) (\[[^]]+\])", printed(by_hand), re.MULTILINE)
    return {int(number): " ".join(values.split()) for number, values in lines}


@cache
def mentions():
    """How often all pages name each equation and figure."""
    texts = [c.source for path in PATHS for c in notebook(path).cells]
    named = [match[2] for text in texts for match in LABEL.finditer(text)]
    named += [
        n for text in texts for n in re.findall(r"[Ff]igures? (\d\.\d\.\d+)", text)
    ]
    return Counter(named)


def slides_of(number):
    """The slides of a lecture, in their order."""
    title, lead, (live, hand, moves) = sheets()[number]
    stops = [stop for stop in term()[0] if stop.lecture == number]
    row = term()[1].loc[number]
    stems = dict.fromkeys(stop.stem for stop in stops)
    titles = "\n".join(f"- {title_of(stem)}" for stem in stems)
    slides = [Slide("first", title, f"Lecture {number}\n\n{titles}", lead)]
    reading = sum(stop.minutes for stop in stops)
    for stop in stops:
        slides += chosen(slides_of_stop(stop), stop.minutes / reading)
    if number in FILMS:
        name, title = FILMS[number]
        gif = base64.b64encode((DOCS / f"static/{name}.gif").read_bytes()).decode()
        source = f"data:image/gif;base64,{gif}"
        slides.append(Slide("film", title, "", picture=source, alt=title))
    live = f"{live}\n\n**Everybody moves** {moves}"
    slides.append(Slide("live", "Live, in the explorer", live))
    answer = f"`{numbers_by_hand()[number]}`"
    slides.append(Slide("hand", "By hand", hand, f"The answer: {answer}"))
    grades = {"in class, or in ten minutes": "*", "at home": "**", "for more": "***"}
    lines = [f"| {when} | {row[grade]} |" for when, grade in grades.items()]
    table = "\n".join(["| when | exercises |", "|---|---|", *lines])
    notes = "Each ends in a check that says what is wrong with an answer."
    slides.append(Slide("homework", "Homework", table, notes))
    return slides


def title_of(stem):
    """A chapter's number and title."""
    title = notebook(ROOT / f"nbs/course/{stem}.ipynb").cells[0].source
    return f"{stem[0]}.{stem[1]} {title.partition(chr(10))[0].removeprefix('# ')}"


def chosen(slides, share):
    """The slides without the equations and figures that are mentioned least: a chapter
    has its share of those that a lecture may show.
    """
    kept = {}
    for kind, limit in ("equation", EQUATIONS), ("figure", FIGURES):
        places = [k for k, slide in enumerate(slides) if slide.kind == kind]
        places.sort(key=lambda place: -slides[place].rank)
        kept[kind] = places[: max(1, round(share * limit))]
    return [s for k, s in enumerate(slides) if k in kept.get(s.kind, [k])]


def slides_of_stop(stop):
    """All slides that the cells of a stop give."""
    heading, picture, asked, slides = "", "", False, []
    posed = None  # the place of the problem, while its section lasts
    for cell in stop.cells:
        text = cell.source
        if cell.cell_type == "code":
            picture = picture_of(cell) or picture
            if posed is not None and is_short(printed(cell)):
                slides[posed] = slides[posed]._replace(printed=printed(cell))
        elif CAPTION.match(text):
            slides.append(figure(text, picture, heading, asked))
            asked = False
        elif QUESTIONS.match(text):
            slides += questions(text)
            asked = True
        elif text.startswith("**You now have**"):
            slides += what_is_known(text)
        elif not text.startswith(("<details>", "> **", "*For ")):
            for head, part in by_heading(FENCED.sub("", FOLDED.sub("", text))):
                if head:
                    heading = re.sub("^The problem: (.)", lambda m: m[1].upper(), head)
                    posed = len(slides) if head.startswith("The problem") else None
                    slides += [Slide("problem", heading, "")] * (posed is not None)
                if posed is not None:
                    said = f"{slides[posed].body}\n\n{part}"
                    slides[posed] = slides[posed]._replace(body=said)
                slides += equations(heading, part, posed is not None)
    place = f"Chapter {stop.stem[0]}.{stop.stem[1]}"
    slides = [problem(slide) if slide.kind == "problem" else slide for slide in slides]
    return [slide._replace(place=place) for slide in slides]


def by_heading(text):
    """(heading, text below it) of each part of a cell; None for what stands first."""
    parts = re.split(r"^#+ (.+)$", text, flags=re.MULTILINE)
    yield None, parts[0]
    yield from zip(parts[1::2], parts[2::2])


def problem(slide):
    """The slide of a problem with its first sentences, and with the rest as notes; what
    leads to an equation or a table is neither.
    """
    parts = [part for part in slide.body.split("\n\n") if "$$" not in part]
    said = [sentence for part in parts for sentence in sentences(part)]
    ends = (
        (".", "?", "!", ")", "*", ":") if slide.printed else (".", "?", "!", ")", "*")
    )
    said = [sentence for sentence in said if sentence.endswith(ends)] or said
    shown, rest = split_at(said, WORDS)
    notes = split_at(sentences(rest), SAID)[0]
    return slide._replace(body=shown, notes=notes)


def equations(heading, text, posed):
    """A slide for each displayed equation, between its neighbouring sentences."""
    texts = EQUATION.split(re.sub(r"^> ?", "", text, flags=re.MULTILINE))
    bodies, slides = texts[2::3], []
    for k, body in enumerate(bodies):
        before = sentences(texts[3 * k].strip().rpartition("\n\n")[2])
        last = before[-1:] if words(" ".join(before[-1:])) > FEW else before[-2:]
        after = sentences(texts[3 * k + 3].strip().partition("\n\n")[0])
        tag = TAG.search(body)
        label = tag[1] if tag else ""
        first = [sentence for sentence in after[:1] if not sentence.endswith(":")]
        shown = f"{short(last)}\n\n$$\n{body.strip()}\n$$\n\n{short(first)}"
        # what a problem begins with; of a section without labels the first equation
        rank = mentions()[label] + 1 if label else 0.5 * (k == 0)
        rank += 100 * posed
        notes = f"{' '.join(before)}\n\n{' '.join(after)}"
        notes = split_at(sentences(notes), SAID)[0]
        slides.append(Slide("equation", heading, shown, notes, rank=rank))
    return slides


def figure(caption, picture, heading, asked):
    """A slide of a figure; one that belongs to questions is kept."""
    number = re.search(r"\d\.\d\.\d+", caption)[0]
    shown, rest = split_at(sentences(caption), SENTENCES)
    rank = mentions()[number] + 100 * asked
    return Slide("figure", heading, shown, rest, picture, plain(caption), rank=rank)


def questions(text):
    """Slides of questions, a few on each; the answers are notes."""
    text = re.sub(r"^> ?", "", text, flags=re.MULTILINE)
    asked = QUESTIONS.sub("", FOLDED.sub("", text))
    answers = "".join(FOLDED.findall(text))
    answers = re.sub(r"</?details>|<summary>.*?</summary>", "", answers)
    return numbered("questions", "Move it and answer", asked, answers)


def what_is_known(text):
    """Slides of what a chapter ends with."""
    text = text.partition("*Further reading:*")[0]
    return numbered("now", "You now have", text.partition("\n")[2], "")


def numbered(kind, title, text, notes):
    """Slides of numbered lines, as many on each as have room."""
    text, lines = " ".join(text.split()), []
    while f"{len(lines) + 1}. " in text:
        text = text.partition(f"{len(lines) + 1}. ")[2]
        line = re.split(rf"\s{len(lines) + 2}\. ", text)[0]
        lines.append(f"{len(lines) + 1}. {line}")
        text = text[len(line) :]
    slides, shown = [], []
    for line in lines:
        if shown and words("\n".join([*shown, line])) > WORDS:
            slides.append(Slide(kind, title, "\n".join(shown), notes))
            shown, title, notes = [], f"{title.partition(',')[0]}, continued", ""
        shown.append(line)
    return [*slides, Slide(kind, title, "\n".join(shown), notes)]


def sentences(text):
    """The sentences of a text, on one line each; marks of a quotation are left out."""
    text = re.sub(r"^> ?", "", text, flags=re.MULTILINE)
    found = []
    for part in SENTENCE.split(" ".join(text.split())):
        last = INLINE.sub("", found[-1]) if found else ""
        if last.count("(") > last.count(")"):  # a bracket with several sentences
            found[-1] += f" {part}"
        else:
            found.append(part)
    return [sentence for sentence in found if sentence]


def words(text):
    """How much room a text takes, a formula in a line counting as two words."""
    return len(INLINE.sub("a b", DISPLAYED.sub("", text)).split())


def split_at(parts, limit):
    """The first sentences, of so many words at most but one at least; and the rest."""
    k = 1
    while k < len(parts) and words(" ".join(parts[: k + 1])) <= limit:
        k += 1
    return " ".join(parts[:k]), " ".join(parts[k:])


def short(parts):
    """A sentence that is short enough to be shown, or nothing."""
    text = " ".join(parts)
    return text if words(text) <= SENTENCES else ""


def printed(cell):
    """What a cell has printed."""
    return "".join(out.get("text", "") for out in cell.outputs)


def is_short(text):
    """Whether printed lines fit below a problem."""
    lines = text.splitlines()
    return 0 < len(lines) <= LINES and max(map(len, lines)) <= COLUMNS


def picture_of(cell):
    """The last picture of a cell as a data URI, or nothing."""
    data = [out.get("data", {}).get("image/png") for out in cell.outputs]
    found = [png for png in data if png]
    return "data:image/png;base64," + found[-1].replace("\n", "") if found else ""


# What they look like


class Page:
    """Translates Markdown to HTML, and draws the formulas of all decks at once."""

    def __init__(self):
        self.formulas, self.known = {}, known_labels()
        self.parser = MarkdownIt("commonmark").enable("table")
        self.parser.use(dollarmath_plugin, renderer=self.formula)

    def deck(self, number, slides):
        """The text of a deck, with a mark in the place of each formula."""
        title, shown, until = sheets()[number][0], [], 0
        for slide, minutes in zip(slides, share_out(slides)):
            until += minutes
            body = self.html(slide.body)
            if slide.printed:
                body += f"<pre>{escape(slide.printed)}</pre>"
            made = {"title": self.inline(slide.title), "body": body}
            made |= {"notes": self.html(slide.notes), "alt": escape(slide.alt)}
            made |= {"minutes": minutes, "until": until}
            shown.append(slide._asdict() | made)
        template = TEMPLATES.get_template("deck.html")
        return template.render(number=number, title=plain(title), slides=shown)

    def html(self, text):
        return self.parser.render(self.plainly(text))

    def inline(self, text):
        return self.parser.renderInline(self.plainly(text))

    def plainly(self, text):
        """Markdown without links, and with labels as one would say them."""
        text = LINK.sub(lambda m: m[2] if m[3] else m[0], text)
        return LABEL.sub(
            lambda m: f"({name_of(m[2])})" if is_label(m, self.known) else m[0], text
        )

    def formula(self, tex, options):
        """A mark in the place of a formula, with its label beside it."""
        display = options["display_mode"]
        tag = TAG.search(tex) if display else None
        tex = TAG.sub("", tex).strip()
        drawn = (break_rows(tex) if display else tex, display)
        place = self.formulas.setdefault(drawn, len(self.formulas))
        name = escape(" ".join(tex.split()), quote=True)
        mark = f'<span class="formula" role="img" aria-label="{name}">⟦{place}⟧</span>'
        if not display:
            return mark
        label = f'<span class="label">({name_of(tag[1])})</span>' if tag else ""
        return f'<div class="displayed">{mark}{label}</div>'

    def pictures(self):
        """The formulas as SVG, in the order of their marks."""
        command = ["node", Path(__file__).with_name("formulas.cjs")]
        given = json.dumps([*self.formulas])
        done = subprocess.run(command, input=given, capture_output=True, text=True)
        if done.returncode:
            sys.exit(
                f"no formulas without MathJax (npm install in docs): {done.stderr}"
            )
        return json.loads(done.stdout)


def name_of(label):
    """An equation's label as a slide shows it."""
    return label.removeprefix("eq:")


def break_rows(tex):
    """A long formula on several rows: broken where its parts stand far apart, or at its
    equals signs.
    """
    if len(tex) < WIDE or re.search(r"\\begin|\\left|\\\\", tex):
        return tex
    marked, depth = "", 0
    for part in re.split(r"(\\[a-z]+|\\.|[{}=])", tex):
        depth += {"{": 1, "}": -1}.get(part, 0)
        breaks = part in ("\\qquad", "=") and not depth
        marked += f"⏎{part}" if breaks else part
    rows = marked.split("⏎\\qquad")
    if len(rows) > 1:
        rows = " \\\\[6pt] ".join(row.replace("⏎", "").strip() for row in rows)
        return f"\\begin{{gathered}}{rows}\\end{{gathered}}"
    first, *more = marked.split("⏎=")
    if len(more) == 1 and len(tex) > LONG:
        first = rf"&{first}\\[6pt] \quad"
    elif len(more) < 2:
        return tex
    rows = r" \\[6pt] ".join(f"&={row.strip()}" for row in more)
    return rf"\begin{{aligned}}{first}{rows}\end{{aligned}}"


def share_out(slides):
    """The minutes of each slide: whole numbers that add up to a lecture."""
    weights = [WEIGHTS[slide.kind] for slide in slides]
    exact = [LENGTH * weight / sum(weights) for weight in weights]
    minutes = [int(time) for time in exact]
    late = sorted(range(len(exact)), key=lambda k: minutes[k] - exact[k])
    for k in late[: LENGTH - sum(minutes)]:
        minutes[k] += 1
    return minutes


if __name__ == "__main__":
    write_decks(*sys.argv[1:])
