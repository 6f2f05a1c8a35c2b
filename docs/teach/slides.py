"""Make the slides of a lecture from its outline and from the cells of its chapters.

The outlines are in lectures.md. A lecture begins with ``# 3``, a slide with ``## `` and
its title. Below it stand words of the slide's own, and lines that take something from a
chapter:

    problem 2.1                   its problem, and the numbers printed there
    $$ eq:de-finetti              an equation, by its label
    $$ 3.2 What u is 2            the second equation below that heading
    figure 2.1.3
    cell 3.6 sol36a               a cell's code and what it prints
    printed 3.6 c18fa585          what a cell prints
    questions 2.1 1               the first questions of a slider
    now 2.1                       what one has at the end
    Reading: 2, 5                 which of these lines are on no slide
    film resample                 of animations.py
    minutes 15                    for something that the class does; above an equation
                                  or a figure, for that
    Notes: words for the speaker, before those of the chapter
"""

import base64
import re
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(DOCS), str(DOCS.parent / "tests/helpers")]

import plan
import routes
from minutes import DISPLAYED, FENCED, FOLDED, INLINE
from notebooks import ROOT, notebook
from translate import CAPTION, EQUATION, TAG

TEACHING = ROOT / "nbs/appendix/teaching.ipynb"
OUTLINES = Path(__file__).parent / "lectures.md"
WORDS = 95  # of a problem
ROOM = 125  # words of numbered lines on a slide
SENTENCE = 40  # words of a caption
NOTES = 150  # words
ENDS = (".", "?", "!", ")", ".*", ".**", "?*", "?**")  # of a sentence that is whole
GRADES = {"in class, or in ten minutes": "*", "at home": "**", "for more": "***"}
BREAK = re.compile(r"(?:(?<=[.!?])|(?<=[.!?]\)))\s+(?=[A-Z“*$(])")  # of two sentences
SHEET = re.compile(r"^### Lecture (\d+): (.+)\n(.+)\n\n((?:- .+\n?)+)", re.MULTILINE)
POINT = re.compile(r"^- \*\*.+?\.?\*\* ")  # how a line of a sheet begins
AHEAD = re.compile(r"Before this lecture: (.+?\.)(?= |$)")  # in a sheet
ASKED = re.compile(r"^>? ?\*\*Move it and answer\.\*\*", re.MULTILINE)
CONTINUED = re.compile(r"(?!rVAMP)[a-z]")  # how the rest of a sentence begins
QUOTED = re.compile(r"^> ?", re.MULTILINE)
LECTURE = re.compile(r"^# (\d+)$", re.MULTILINE)
OUTLINE = re.compile(r"^## (.+)$", re.MULTILINE)
TAKEN = re.compile(
    r"(?P<kind>problem|figure|cell|printed|questions|now|film|minutes) (?P<of>[\w.]+)"
    r"(?: (?P<which>\w+))?"
)
SHOWN = re.compile(r"\$\$ (?P<label>[\w:-]+)$")
UNLABELLED = re.compile(r"\$\$ (?P<chapter>\d\.\d) (?P<heading>.+) (?P<place>\d+)$")


class Slide(NamedTuple):
    """A slide in Markdown, with its notes and what stands for its picture, which is a
    data URI.
    """

    kind: str
    title: str
    body: str
    notes: str = ""
    picture: str = ""
    alt: str = ""
    place: str = ""
    page: str = ""  # of the site, where that is
    printed: str = ""  # numbers below the body
    minutes: int = 0  # those of something that the class does
    sections: tuple = ()  # (chapter, section) of what it takes, the problem's is 0


class Equation(NamedTuple):
    """An equation of a chapter, with the paragraphs before and after it."""

    chapter: str
    section: int
    heading: str
    tex: str
    label: str
    before: str
    after: str


@cache
def read_term():
    """Return the stops of a term, and the table of its lectures."""
    return [stop for stop in routes.stops() if stop.lecture], plan.lectures()


@cache
def read_sheets():
    """Return {lecture: (title, first lines, [live, its answer, by hand, everybody
    moves])}.
    """
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
    lines = re.findall(r"^ *(\d+)  (.+)$", printed_by(by_hand), re.MULTILINE)
    return {int(number): answer for number, answer in lines}


@cache
def read_outlines():
    """Return {lecture: [(title of a slide, its lines)]}."""
    _, *parts = LECTURE.split(OUTLINES.read_text(encoding="utf-8"))
    outlines = {}
    for number, text in zip(parts[::2], parts[1::2]):
        _, *slides = OUTLINE.split(text)
        outlines[int(number)] = [*zip(slides[::2], slides[1::2])]
    return outlines


def slides_of(number):
    """Return the slides of a lecture, in their order."""
    title, lead, (live, answer, hand, moves) = read_sheets()[number]
    stems = dict.fromkeys(s.stem for s in read_term()[0] if s.lecture == number)
    titles = "\n".join(f"- {title_of(stem)}" for stem in stems)
    slides = [Slide("first", title, f"Lecture {number}\n\n{titles}", lead)]
    for outline in read_outlines()[number]:
        slides += in_parts(made(*outline))
    live = f"{live}\n\n**Everybody moves** {moves}"
    at = {"place": "The explorer", "page": "explorer"}
    slides.append(Slide("live", "Live, in the explorer", live, answer, **at))
    slides.append(Slide("hand", "By hand", hand, read_answers()[number]))
    return [*slides, homework(number)]


def chapter(number):
    """Return the path of chapter "3.1"."""
    return next((ROOT / "nbs/course").glob(f"{number.replace('.', '')}_*.ipynb"))


def title_of(stem):
    """Return a chapter's number and title."""
    first = notebook(ROOT / f"nbs/course/{stem}.ipynb").cells[0].source
    title = first.splitlines()[0].removeprefix("# ")
    return f"{stem[0]}.{stem[1]} {title}"


def homework(number):
    """Return the slide of a lecture's homework, by grade, and of what to do before the
    next one beside its chapters.
    """
    row = read_term()[1].loc[number]
    lines = [f"| {when} | {row[grade]} |" for when, grade in GRADES.items()]
    body = "\n".join(["| when | exercises |", "|---|---|", *lines])
    notes = "Each ends in a check that says what is wrong with an answer."
    if "·" in body:
        notes += " A dot: the exercise belongs to a section with a star."
    _, lead, _ = read_sheets().get(number + 1, ("", "", []))
    if ahead := AHEAD.search(lead):
        body += f"\n\nBefore lecture {number + 1}: {ahead[1]}"
    return Slide("homework", "Homework", body, notes)


def made(title, text):
    """Make a slide from its lines of an outline."""
    slide = Slide("words", title, "")
    shown = []
    own, chapters = [], []  # notes
    for block in re.split(r"\n\n+", text.strip()):
        if block.startswith("Notes: "):
            own.append(block.removeprefix("Notes: "))
        elif block.startswith("Reading: "):
            shown[-1] = as_reading(shown[-1], re.findall(r"\d+", block))
        elif block.startswith("$$ "):
            equation = find_equation(block)
            shown.append(displayed(equation))
            chapters.append(around(equation))
            place = equation.chapter, equation.section
            slide = at_chapter(slide._replace(kind="equation"), *place)
        elif taken := TAKEN.fullmatch(block):
            slide, body, notes = take(slide, **taken.groupdict())
            shown += [body] if body else []
            chapters.append(notes)
        else:
            shown.append(block)
    if slide.kind == "problem" and len(shown) > 1:  # words of its own in their place
        chapters.insert(0, shown.pop(0))
    body = "\n\n".join(part for part in shown if part)
    notes = "\n\n".join(part for part in [*own, *chapters] if part)
    return slide._replace(body=body, notes=notes)


def as_reading(lines, numbers):
    """Mark some of the numbered lines as left to the reading."""
    for number in numbers:
        start = re.compile(rf"^{number}\. ", re.MULTILINE)
        if not start.search(lines):
            raise LookupError(f"Reading: {number}: there is no such line")
        lines = start.sub(r"\g<0>*(reading)* ", lines)
    return lines


def in_parts(slide):
    """Return slides of numbered lines, as many on each as have room."""
    if slide.kind not in ("questions", "now"):
        return [slide]
    parts = [[]]
    for line in slide.body.splitlines():
        if parts[-1] and words("\n".join([*parts[-1], line])) > ROOM:
            parts.append([])
        parts[-1].append(line)
    first, *more = ["\n".join(part) for part in parts]
    title = f"{slide.title}, continued"
    next_ones = [slide._replace(title=title, body=body, notes="") for body in more]
    return [slide._replace(body=first), *next_ones]


def at_chapter(slide, number, section):
    """Return the slide with its place in a chapter."""
    where = (*slide.sections, (number, section))
    stem = chapter(number).stem
    return slide._replace(place=f"Chapter {number}", page=stem, sections=where)


def take(slide, kind, of, which):
    """Return the slide with what a line of its outline takes, text to be shown, and
    notes.
    """
    if kind == "minutes":
        return slide._replace(kind="class", minutes=int(of)), "", ""
    if kind == "film":
        gif = (DOCS / f"static/{of}.gif").read_bytes()
        source = f"data:image/gif;base64,{base64.b64encode(gif).decode()}"
        film = slide._replace(kind="film", picture=source, alt=slide.title)
        return film, "", ""
    if kind == "figure":
        number = of.rpartition(".")[0]
        section, caption, picture = figures(number)[of]
        shown, notes = split_at(sentences(caption), SENTENCE)
        slide = at_chapter(slide._replace(kind=kind), number, section)
        return slide._replace(picture=picture, alt=caption), shown, notes
    if kind == "problem":
        shown, notes, printed = problem(of)
        slide = at_chapter(slide._replace(kind=kind), of, 0)
        return with_printed(slide, printed), shown, notes
    if kind in ("cell", "printed"):
        section, source, printed = cells(of)[which]
        slide = at_chapter(slide._replace(kind="code"), of, section)
        code = f"```\n{source}\n```" if kind == "cell" else ""
        return with_printed(slide, printed), code, ""
    texts = [text for text in closing(of) if text[0] == kind]
    if len(texts) < int(which or 1):
        raise LookupError(f"{kind} {of}: there are {len(texts)} in that chapter")
    _, section, shown, notes = texts[int(which or 1) - 1]
    return at_chapter(slide._replace(kind=kind), of, section), shown, notes


def with_printed(slide, printed):
    """Return the slide with more printed lines."""
    lines = [slide.printed, printed.strip()]
    return slide._replace(printed="\n".join(filter(None, lines)))


@cache
def sections(number):
    """Return (place of the section, its heading, the cell) for the cells of a chapter;
    a text is split at its headings, and what folds is left out.
    """
    found = []
    place, heading = 0, ""
    for cell in notebook(chapter(number)).cells:
        if cell.cell_type == "code":
            found.append((place, heading, cell))
            continue
        first, *parts = re.split(r"^#+ (.+)$", cell.source, flags=re.MULTILINE)
        found.append((place, heading, first))
        for heading, part in zip(parts[::2], parts[1::2]):
            place += 1
            found.append((place, heading, part))
    return found


@cache
def equations(number):
    """Return the equations of a chapter."""
    found = []
    for place, heading, text in sections(number):
        if not isinstance(text, str):
            continue
        text = QUOTED.sub("", FENCED.sub("", FOLDED.sub("", text)))
        parts = EQUATION.split(text)  # text, indent, equation, text, …
        for k in range(2, len(parts), 3):
            tag = TAG.search(parts[k])
            before = parts[k - 2].strip().rpartition("\n\n")[2]
            after = parts[k + 1].strip().partition("\n\n")[0]
            label = tag[1] if tag else ""
            tex = parts[k].strip()
            found.append(Equation(number, place, heading, tex, label, before, after))
    return found


@cache
def labelled():
    """Return {label: its equation} of all chapters."""
    found = {}
    for number in plan.NEEDS:
        found |= {each.label: each for each in equations(number) if each.label}
    return found


def find_equation(line):
    """Return the equation that a line of an outline names."""
    if label := SHOWN.match(line):
        return labelled()[label["label"]]
    named = UNLABELLED.match(line)
    below = [e for e in equations(named["chapter"]) if e.heading == named["heading"]]
    if len(below) < int(named["place"]):
        raise LookupError(f"{line}: {len(below)} equations are below that heading")
    return below[int(named["place"]) - 1]


def displayed(equation):
    """Return an equation in Markdown."""
    return f"$$\n{equation.tex}\n$$"


def around(equation):
    """Return what the chapter says around an equation, the equation in its place."""
    after = finished(sentences(equation.after))
    text, _ = split_at(after, NOTES)
    tex = TAG.sub("", equation.tex)
    lead = sentences(equation.before)
    if lead and CONTINUED.match(lead[0]):  # from another equation
        lead = lead[1:]
    return f"{' '.join(lead)}\n\n$$\n{tex}\n$$\n\n{text}"


@cache
def figures(number):
    """Return {number of a figure: (its section, caption, picture)} of a chapter."""
    found = {}
    picture = ""
    for place, _, cell in sections(number):
        if not isinstance(cell, str):
            picture = picture_of(cell) or picture
        elif CAPTION.match(cell):
            name = re.search(r"\d\.\d\.★?\d+", cell)[0]
            found[name] = place, cell, picture
    return found


@cache
def cells(number):
    """Return {id of a cell of code: (its section, source, what it prints)}."""
    return {
        cell["id"]: (place, first_part(cell.source), printed_by(cell).strip())
        for place, _, cell in sections(number)
        if not isinstance(cell, str)
    }


def first_part(source):
    """Return a cell's function without its calls, or the cell without assertions."""
    source = source.partition("\n\n\n")[0]
    lines = [line for line in source.splitlines() if not line.startswith("assert ")]
    return "\n".join(lines)


@cache
def problem(number):
    """Return the first sentences of a chapter's problem, the rest, and what is printed
    in its section if that is short.
    """
    parts, printed = [], ""
    for _, heading, cell in sections(number):
        if not heading.lower().startswith("the problem"):
            continue
        if isinstance(cell, str) and routes.ENDS.match(cell):  # no part of the problem
            continue
        if isinstance(cell, str):
            parts.append(FENCED.sub("", FOLDED.sub("", cell)))
        elif is_short(printed_by(cell)):
            printed = printed_by(cell)
    text = EQUATION.sub("\n\n", "\n\n".join(parts))
    points = []
    for part in text.split("\n\n"):
        if not (CAPTION.match(part) or part.startswith("|")):
            points += finished(sentences(part))
    shown, rest = split_at(points, WORDS)
    notes, _ = split_at(sentences(rest), NOTES)
    return shown, notes, printed


@cache
def closing(number):
    """Return (kind, section, text, notes) of questions below sliders, and of what one
    has at the end of a chapter.
    """
    found = []
    for place, _, text in sections(number):
        if not isinstance(text, str):
            continue
        if ASKED.search(text):
            text = QUOTED.sub("", ASKED.split(text)[1])
            asked = numbered_lines(FOLDED.sub("", text))
            answers = "".join(FOLDED.findall(text))
            answers = re.sub(r"</?details>|<summary>.*?</summary>", "", answers)
            found.append(("questions", place, "\n".join(asked), answers.strip()))
        elif text.startswith("**You now have**"):
            text = text.partition("*Further reading:*")[0].partition("\n")[2]
            found.append(("now", place, "\n".join(numbered_lines(text)), ""))
    return found


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


def finished(points):
    """Leave out the sentences that lead to something below them."""
    return [sentence for sentence in points if sentence.endswith(ENDS)]


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


def printed_by(cell):
    """Return what a cell has printed."""
    return "".join(output.get("text", "") for output in cell.outputs)


def is_short(text):
    """Return True if printed lines fit below a problem."""
    lines = text.splitlines()
    return 0 < len(lines) <= 5 and max(map(len, lines)) <= 80


def picture_of(cell):
    """Return the last picture of a cell as a data URI, or nothing."""
    data = [output.get("data", {}).get("image/png") for output in cell.outputs]
    found = [png for png in data if png]
    if not found:
        return ""
    png = found[-1].replace("\n", "")
    return f"data:image/png;base64,{png}"
