"""Choose what is on the slides of a lecture, from the cells of its chapters."""

import base64
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(DOCS), str(DOCS.parent / "tests/helpers")]

import plan
import routes
from minutes import DISPLAYED, FENCED, FOLDED, INLINE
from notebooks import PATHS, ROOT, notebook
from translate import CAPTION, EQUATION, LABEL, TAG, plain

TEACHING = ROOT / "nbs/appendix/teaching.ipynb"
EQUATIONS = 9  # of one lecture, about
FIGURES = 6
WORDS = 95  # of a problem
ROOM = 125  # words of numbered lines on a slide
SENTENCE = 40  # words of one above or below an equation, and of a caption
FEW = 5  # words: a sentence of so many needs the one before it
NOTES = 150  # words
LINES = 5  # of printed numbers below a problem
COLUMNS = 80
KEPT = 100  # added to the rank of what must be shown
ENDS = (".", "?", "!", ")", "*")  # of a sentence that leads to nothing below it
FILMS = {  # of animations.py, by lecture
    1: ("resample", "A resample goes round: draw the rows, refit, one estimate more"),
    3: ("replicas", "The limit of replicas: n from 6 to 0"),
}
GRADES = {"in class, or in ten minutes": "*", "at home": "**", "for more": "***"}
BREAK = re.compile(r"(?:(?<=[.!?:])|(?<=[.!?]\)))\s+(?=[A-Z“*$(])")  # of two sentences
SHEET = re.compile(r"^### Lecture (\d+): (.+)\n(.+)\n\n((?:- .+\n?)+)", re.MULTILINE)
POINT = re.compile(r"^- \*\*.+?\.?\*\* ")  # how a line of a sheet begins
ASKED = re.compile(r"\A>? ?\*\*Move it and answer\.\*\*")
POSED = "The problem"
QUOTED = re.compile(r"^> ?", re.MULTILINE)


class Slide(NamedTuple):
    """A slide in Markdown; its picture is a data URI."""

    kind: str
    title: str
    body: str
    notes: str = ""
    picture: str = ""
    alt: str = ""
    place: str = ""
    page: str = ""  # of the site, where that is
    printed: str = ""  # numbers below the body
    rank: float = 0  # of a chapter's equations and figures the highest are kept


@cache
def read_term():
    """Return the stops of a term, and the table of its lectures."""
    return [stop for stop in routes.stops() if stop.lecture], plan.lectures()


@cache
def read_sheets():
    """Return {lecture: (title, first lines, [live, by hand, everybody moves])}."""
    found = {}
    for cell in notebook(TEACHING).cells:
        for number, title, lead, lines in SHEET.findall(f"{cell.source}\n"):
            points = [POINT.sub("", line) for line in lines.splitlines()]
            found[int(number)] = title, lead, points
    return found


@cache
def read_answers():
    """Return {lecture: the printed answer of its question by hand}."""
    cells = notebook(TEACHING).cells
    by_hand = next(cell for cell in cells if "by_hand = {" in cell.source)
    lines = re.findall(r"^ *(\d+) (\[[^]]+\])", printed_by(by_hand), re.MULTILINE)
    return {int(number): " ".join(values.split()) for number, values in lines}


@cache
def count_mentions():
    """Count how often all pages name each equation and each figure."""
    counted = Counter()
    for path in PATHS:
        for cell in notebook(path).cells:
            counted.update(match[2] for match in LABEL.finditer(cell.source))
            counted.update(re.findall(r"[Ff]igures? (\d\.\d\.\d+)", cell.source))
    return counted


def slides_of(number):
    """Return the slides of a lecture, in their order."""
    title, lead, (live, hand, moves) = read_sheets()[number]
    stops = [stop for stop in read_term()[0] if stop.lecture == number]
    stems = dict.fromkeys(stop.stem for stop in stops)
    titles = "\n".join(f"- {title_of(stem)}" for stem in stems)
    slides = [Slide("first", title, f"Lecture {number}\n\n{titles}", lead)]
    reading = sum(stop.minutes for stop in stops)
    for stop in stops:
        slides += choose(Reader(stop).read(), stop.minutes / reading)
    if number in FILMS:
        slides.append(film(*FILMS[number]))
    live = f"{live}\n\n**Everybody moves** {moves}"
    at = {"place": "The explorer", "page": "explorer"}
    slides.append(Slide("live", "Live, in the explorer", live, **at))
    answer = f"The answer: `{read_answers()[number]}`"
    slides.append(Slide("hand", "By hand", hand, answer))
    return [*slides, homework(number)]


def title_of(stem):
    """Return a chapter's number and title."""
    first = notebook(ROOT / f"nbs/course/{stem}.ipynb").cells[0].source
    title = first.splitlines()[0].removeprefix("# ")
    return f"{stem[0]}.{stem[1]} {title}"


def film(name, title):
    """Return the slide of a film."""
    gif = (DOCS / f"static/{name}.gif").read_bytes()
    source = f"data:image/gif;base64,{base64.b64encode(gif).decode()}"
    return Slide("film", title, "", picture=source, alt=title)


def homework(number):
    """Return the slide of a lecture's homework, by grade."""
    row = read_term()[1].loc[number]
    lines = [f"| {when} | {row[grade]} |" for when, grade in GRADES.items()]
    table = "\n".join(["| when | exercises |", "|---|---|", *lines])
    notes = "Each ends in a check that says what is wrong with an answer."
    return Slide("homework", "Homework", table, notes)


def choose(slides, share):
    """Leave out the equations and figures of a chapter that are mentioned least: it has
    its share of those that a lecture may show.
    """
    kept = {}
    for kind, limit in ("equation", EQUATIONS), ("figure", FIGURES):
        places = [k for k, slide in enumerate(slides) if slide.kind == kind]
        places.sort(key=lambda place: -slides[place].rank)
        kept[kind] = places[: max(1, round(share * limit))]
    return [s for k, s in enumerate(slides) if k in kept.get(s.kind, [k])]


class Reader:
    """The slides that the cells of a stop give, read from the first to the last."""

    def __init__(self, stop):
        self.stop = stop
        self.slides = []
        self.heading = ""
        self.picture = ""  # the last one, for the caption below it
        self.asked = False  # whether the next figure belongs to questions
        self.posed = None  # the place of the problem, while its section lasts

    def read(self):
        """Return all slides of the stop."""
        for cell in self.stop.cells:
            if cell.cell_type == "code":
                self.read_code(cell)
            else:
                self.read_text(cell.source)
        stem = self.stop.stem
        place = f"Chapter {stem[0]}.{stem[1]}"
        slides = map(finish, self.slides)
        return [slide._replace(place=place, page=stem) for slide in slides]

    def read_code(self, cell):
        """Keep a cell's picture, and what it prints in the section of a problem."""
        self.picture = picture_of(cell) or self.picture
        printed = printed_by(cell)
        if self.posed is not None and is_short(printed):
            slide = self.slides[self.posed]
            self.slides[self.posed] = slide._replace(printed=printed)

    def read_text(self, text):
        """Add the slides of a cell of text."""
        if CAPTION.match(text):
            self.slides.append(figure(text, self.picture, self.heading, self.asked))
            self.asked = False
        elif ASKED.match(text):
            self.slides += questions(text)
            self.asked = True
        elif text.startswith("**You now have**"):
            self.slides += what_is_known(text)
        elif not text.startswith(("<details>", "> **", "*For ")):
            self.read_prose(FENCED.sub("", FOLDED.sub("", text)))

    def read_prose(self, text):
        """Add the problem and the equations of a text, by its headings."""
        first, *parts = re.split(r"^#+ (.+)$", text, flags=re.MULTILINE)
        self.read_section(first)
        for heading, part in zip(parts[::2], parts[1::2]):
            self.heading = heading
            self.posed = None
            if heading.startswith(POSED):
                title = heading.removeprefix(f"{POSED}: ")
                self.heading = f"{title[0].upper()}{title[1:]}"
                self.posed = len(self.slides)
                self.slides.append(Slide("problem", self.heading, ""))
            self.read_section(part)

    def read_section(self, text):
        """Add what a text without headings gives: to the problem, and its equations."""
        is_posed = self.posed is not None
        if is_posed:
            slide = self.slides[self.posed]
            body = f"{slide.body}\n\n{text}"
            self.slides[self.posed] = slide._replace(body=body)
        self.slides += equations(self.heading, text, is_posed)


def finish(slide):
    """Keep the first sentences of a problem, and the rest as notes; what leads to an
    equation, or to nothing, is left out.
    """
    if slide.kind != "problem":
        return slide
    parts = [part for part in slide.body.split("\n\n") if "$$" not in part]
    points = [sentence for part in parts for sentence in sentences(part)]
    if slide.printed:
        points = [re.sub(":$", ".", sentence) for sentence in points]
    points = [sentence for sentence in points if sentence.endswith(ENDS)] or points
    shown, rest = split_at(points, WORDS)
    notes, _ = split_at(sentences(rest), NOTES)
    return slide._replace(body=shown, notes=notes)


def equations(heading, text, is_posed):
    """Return a slide for each displayed equation, with the sentences beside it."""
    texts = EQUATION.split(QUOTED.sub("", text))  # text, indent, equation, text, …
    slides = []
    for k in range(2, len(texts), 3):
        before = sentences(texts[k - 2].strip().rpartition("\n\n")[2])
        after = sentences(texts[k + 1].strip().partition("\n\n")[0])
        last = before[-1:]
        if words(" ".join(last)) <= FEW:
            last = before[-2:]
        first = [sentence for sentence in after[:1] if not sentence.endswith(":")]
        formula = f"$$\n{texts[k].strip()}\n$$"
        shown = f"{short(last)}\n\n{formula}\n\n{short(first)}"
        notes, _ = split_at([*before, *after], NOTES)
        rank = rank_of(texts[k], is_first=k == 2, is_posed=is_posed)
        slides.append(Slide("equation", heading, shown, notes, rank=rank))
    return slides


def rank_of(equation, is_first, is_posed):
    """Rank an equation by its mentions; of a section without labels the first one comes
    first, and those of a problem are kept.
    """
    tag = TAG.search(equation)
    rank = KEPT if is_posed else 0
    if tag:
        return rank + 1 + count_mentions()[tag[1]]
    return rank + 0.5 if is_first else rank


def figure(caption, picture, heading, is_asked):
    """Return the slide of a figure; one that belongs to questions is kept."""
    number = re.search(r"\d\.\d\.\d+", caption)[0]
    rank = count_mentions()[number]
    if is_asked:
        rank += KEPT
    shown, rest = split_at(sentences(caption), SENTENCE)
    return Slide("figure", heading, shown, rest, picture, plain(caption), rank=rank)


def questions(text):
    """Return slides of questions, with the answers as notes."""
    text = QUOTED.sub("", text)
    asked = ASKED.sub("", FOLDED.sub("", text))
    answers = "".join(FOLDED.findall(text))
    answers = re.sub(r"</?details>|<summary>.*?</summary>", "", answers)
    return numbered("questions", "Move it and answer", asked, answers)


def what_is_known(text):
    """Return slides of what one has at the end of a chapter."""
    text = text.partition("*Further reading:*")[0]
    return numbered("now", "You now have", text.partition("\n")[2], "")


def numbered(kind, title, text, notes):
    """Return slides of numbered lines, as many on each as have room."""
    slides = []
    shown = []
    for line in numbered_lines(text):
        if shown and words("\n".join([*shown, line])) > ROOM:
            slides.append(Slide(kind, title, "\n".join(shown), notes))
            title = f"{title.removesuffix(', continued')}, continued"
            notes = ""
            shown = []
        shown.append(line)
    return [*slides, Slide(kind, title, "\n".join(shown), notes)]


def numbered_lines(text):
    """Split a text at 1. 2. 3., in this order."""
    text = " ".join(text.split())
    lines = []
    while f"{len(lines) + 1}. " in text:
        number = len(lines) + 1
        text = text.partition(f"{number}. ")[2]
        line = re.split(rf"\s{number + 1}\. ", text)[0]
        lines.append(f"{number}. {line}")
        text = text[len(line) :]
    return lines


def sentences(text):
    """Split a text into sentences, each on one line, without marks of a quotation."""
    text = QUOTED.sub("", text)
    found = []
    for part in BREAK.split(" ".join(text.split())):
        last = INLINE.sub("", found[-1]) if found else ""
        if last.count("(") > last.count(")"):  # a bracket with several sentences
            found[-1] += f" {part}"
        else:
            found.append(part)
    return [sentence for sentence in found if sentence]


def words(text):
    """Count the words of a text; a formula in a line has the room of two."""
    return len(INLINE.sub("a b", DISPLAYED.sub("", text)).split())


def split_at(parts, limit):
    """Return the first sentences, of so many words at most but one at least, and the
    rest.
    """
    k = 1
    while k < len(parts) and words(" ".join(parts[: k + 1])) <= limit:
        k += 1
    return " ".join(parts[:k]), " ".join(parts[k:])


def short(parts):
    """Return sentences that are short enough to be shown, or nothing."""
    text = " ".join(parts)
    return text if words(text) <= SENTENCE else ""


def printed_by(cell):
    """Return what a cell has printed."""
    return "".join(output.get("text", "") for output in cell.outputs)


def is_short(text):
    """Return True if printed lines fit below a problem."""
    lines = text.splitlines()
    return 0 < len(lines) <= LINES and max(map(len, lines)) <= COLUMNS


def picture_of(cell):
    """Return the last picture of a cell as a data URI, or nothing."""
    data = [output.get("data", {}).get("image/png") for output in cell.outputs]
    found = [png for png in data if png]
    if not found:
        return ""
    png = found[-1].replace("\n", "")
    return f"data:image/png;base64,{png}"
