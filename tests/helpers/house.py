"""The house, counted: python tests/helpers/house.py

Tokens of code a room, and tokens a line (docstrings and comments are free; lines are
free, too: nobody has to write two things on one); floors, circles and arrows back of
its imports; what is defined in two rooms; private functions of less than four lines
that are called once; private classes that are half of another; classes deeper than
three; questions where a table lies; numbers in capitals of which no comment tells what
half and twice of them do, but those of `DEFINED`. Then how often a line does several
things, with the goal and the rooms that are furthest beyond it: these are to be read
once more, and nobody is refused for them. With files as arguments it prints those
numbers of each:

    python tests/helpers/house.py rvamp_nb/select/frames.py

    python tests/helpers/house.py --crossings

counts how often the data pass from one room to another, and how many functions of the
house wait for each other at most, in one fit by `rvamp` and in the default job of
`StabilitySelection`, and names the busiest corridors.
"""

import ast
import re
import sys
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from io import StringIO
from pathlib import Path
from tokenize import NAME, NUMBER, OP, STRING, generate_tokens

HOUSE = Path(__file__).resolve().parents[2] / "rvamp_nb"
# the course imports nothing from `select`, of which one method opens the explorer, on
# demand; test_imports lets no other room import from the course
STOREYS = ("ground", "tables", "algorithm", "inference", "course", "select", "cli")
GOALS = {  # in a hundred lines of code; the last in one
    "tuple assignments": 1.5,
    "stars": 0.8,
    "conditional expressions": 1.5,
    "nested ones": 0,
    "comprehensions": 2.5,
    "assignments inside expressions": 0,
    "tokens a line": 9.5,
}
# what the last release has: all tokens, and those of a room beyond which it has two
# purposes; and how far beyond both the next may go, which is 1,100 lines in all
RELEASED = {"all rooms": 204_108, "a room": 6_000}
ROOM = 1.05
TRIED = re.compile(r"\b(half|halved|twice|doubled)\b", re.IGNORECASE)
# numbers that others have set, so that half of them is something else: exit codes, the
# law of a coin, the level of an interval of two standard errors
DEFINED = {
    "cli._DOUBTFUL",
    "cli._INTERRUPTED",
    "cli._NOT_CONVERGED",
    "course.micro.COIN",
    "select.selection.TWO_ERRORS",
}
HIDDEN = re.compile(r"""import_module\(f?["']rvamp_nb""")
GROUND = {
    "environment",
    "exceptions",
    "interface",
    "typing",
    "validation",
}  # what even a table may use
BESIDE = {
    "cli",
    "cli_options",
    "datasets",
    "plot_style",
    "results",
    "sketch",
}  # the command, pictures, tables to try things on, and the types of what comes back


def rooms():
    """{dotted name: its text} of every module, exported or plain."""
    found = {}
    for path in sorted(HOUSE.rglob("[!_]*.py")):
        name = ".".join(path.relative_to(HOUSE).with_suffix("").parts)
        found[name] = path.read_text(encoding="utf-8")
    return found


@cache
def nodes_of(tree):
    """All of a tree, which several counts look through."""
    return [*ast.walk(tree)]


def storey(room):
    """Which of STOREYS a room stands on."""
    package = room.partition(".")[0] if "." in room else ""
    if room in GROUND:
        return 0
    on_top = room.startswith("cli") or room == "results"
    return STOREYS.index("cli" if on_top else package or "algorithm")


def homeless(rooms):
    """The rooms that lie in no folder and have no reason to."""
    return (room for room in rooms if "." not in room and room not in GROUND | BESIDE)


def imported(room, tree, others):
    """The rooms that a room imports from, wherever in it that is written, but for what
    is imported for a type checker alone.
    """
    unseen = {
        line
        for node in nodes_of(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for part in node.body
        for line in ast.walk(part)
    }
    for node in set(nodes_of(tree)) - unseen:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            inside = ["rvamp_nb", *room.split(".")]
            start = inside[: -node.level] if node.level else []
            module = ".".join([*start, *filter(None, [node.module])])
            names = [module, *(f"{module}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from (name.partition(".")[2] for name in names if name[:9] == "rvamp_nb.")


def graph(trees):
    """{room: the rooms that it imports from}."""
    found = {room: set(imported(room, tree, trees)) for room, tree in trees.items()}
    return {room: (others & set(trees)) - {room} for room, others in found.items()}


def floors(uses):
    """How many rooms stand on each other at most; None where there is a circle."""
    try:
        order = [*TopologicalSorter(uses).static_order()]
    except CycleError:
        return None
    height = {}
    for room in order:
        height[room] = 1 + max((height[other] for other in uses[room]), default=0)
    return max(height.values())


def defined(tree):
    """The names that a room defines at its top."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Assign):
            targets = [n for t in node.targets for n in ast.walk(t)]
            yield from (n.id for n in targets if isinstance(n, ast.Name))


def folded(name):
    """A name without case, underscores and a plural s: what a search confuses."""
    bare = name.replace("_", "").lower()
    return bare.removesuffix("s") if not bare.endswith("ss") else bare


def alike(trees):
    """The names that several rooms define so that they differ by that, those with an
    underscore in front left out; each as "room.name room.name".
    """
    homes = {}
    for room, tree in trees.items():
        for name in {*defined(tree)} - {"__all__"}:
            if not name.startswith("_"):
                homes.setdefault(folded(name), []).append((room, name))
    several = (h for h in homes.values() if len({room for room, _ in h}) > 1)
    return sorted(" ".join(".".join(one) for one in sorted(h)) for h in several)


@cache  # a dozen tests ask for it; nobody changes a tree
def parsed(text):
    """Return the syntax tree of a room."""
    return ast.parse(text)


@cache  # three counts ask for it
def code_size(text):
    """The tokens of a room's code, and the lines that they stand on: without blank
    lines, comments, docstrings, and the list of its names, which nbdev writes. Where a
    room lies that is imported from is one token, however long its path, and brackets
    around the names are none.
    """
    free, tokens, lines = set(), 0, set()
    for node in parsed(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            free |= set(range(node.lineno, node.end_lineno + 1))
    for node in nodes_of(parsed(text)):
        kinds = ast.Module, ast.FunctionDef, ast.ClassDef
        if isinstance(node, kinds) and ast.get_docstring(node) is not None:
            free |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
        if isinstance(node, ast.ImportFrom):
            tokens += 2 + sum(2 if n.asname is None else 4 for n in node.names)
            lines |= set(range(node.lineno, node.end_lineno + 1))
            free |= set(range(node.lineno, node.end_lineno + 1))
    for token in generate_tokens(StringIO(text).readline):
        if token.type in (NAME, NUMBER, OP, STRING) and token.start[0] not in free:
            tokens += 1
            lines |= set(range(token.start[0], token.end[0] + 1))
    return tokens, len(lines)


COMPREHENSIONS = ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp


@cache
def forms(text):
    """{form: how often} of what puts several things on one line, the names of GOALS."""
    found = Counter()
    for node in nodes_of(parsed(text)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            pairs = [t for t in node.targets if isinstance(t, (ast.Tuple, ast.List))]
            found["tuple assignments"] += len(pairs)
        elif isinstance(node, ast.Starred):
            found["stars"] += 1
        elif isinstance(node, ast.IfExp):
            inner = node.test, node.body, node.orelse
            found["conditional expressions"] += 1
            found["nested ones"] += any(isinstance(n, ast.IfExp) for n in inner)
        elif isinstance(node, COMPREHENSIONS):
            found["comprehensions"] += 1
        elif isinstance(node, ast.NamedExpr):
            found["assignments inside expressions"] += 1
    return found


def density(texts):
    """{form: how often in a hundred lines} of some texts; tokens a line, too."""
    found, tokens, lines = Counter(), 0, 0
    for text in texts:
        found += forms(text)
        size = code_size(text)
        tokens += size[0]
        lines += size[1]
    lines = max(lines, 1)
    numbers = {form: 100 * found[form] / lines for form in GOALS}
    numbers["tokens a line"] = tokens / lines
    return numbers


def small_and_called_once(tree):
    """Private functions of less than four lines that are called once."""
    uses = Counter(n.id for n in nodes_of(tree) if isinstance(n, ast.Name))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("_"):
            body = node.body[ast.get_docstring(node) is not None :]
            lines = sum(part.end_lineno - part.lineno + 1 for part in body)
            if lines < 4 and uses[node.name] == 1:
                yield node.name


def halves(trees):
    """Private classes that are named once: as the base of another."""
    nodes = [node for tree in trees.values() for node in nodes_of(tree)]
    uses = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    bases = {getattr(base, "id", "") for node in classes for base in node.bases}
    names = {node.name for node in classes if node.name.startswith("_")}
    return sorted(name for name in names & bases if uses[name] == 1)


def where_it_lies(tree):
    """The lines that ask whether a table is in chunks: `isinstance(…, ChunkedTable)`,
    and those that ask for its `chunk_axis`.
    """
    by_type, by_axis = [], []
    for node in nodes_of(tree):
        if not isinstance(node, ast.Call):
            continue
        names = {getattr(n, "id", getattr(n, "attr", "")) for n in ast.walk(node)}
        asked = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if asked == "isinstance" and "ChunkedTable" in names:
            by_type.append(node.lineno)
        if asked == "chunk_axis":
            by_axis.append(node.lineno)
    return by_type, by_axis


def depths(trees):
    """{class: how many classes of the house stand in a row above and with it}."""
    bases = {
        node.name: [
            getattr(base, "id", getattr(base, "attr", "")) for base in node.bases
        ]
        for tree in trees.values()
        for node in nodes_of(tree)
        if isinstance(node, ast.ClassDef)
    }

    def depth(name):
        return 1 + max((depth(b) for b in bases[name] if b in bases), default=0)

    return {name: depth(name) for name in bases}


def numbers(tree):
    """(name, first line, last line) of what stands at the top of a room in capitals and
    is a number, or several.
    """
    parts = ast.Constant, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        names = [n.id for n in ast.walk(node.targets[0]) if isinstance(n, ast.Name)]
        inside = [
            n for n in ast.walk(node.value) if not isinstance(n, ast.expr_context)
        ]
        values = [n.value for n in inside if isinstance(n, ast.Constant)]
        known = all(isinstance(n, (*parts, ast.Name)) for n in inside)
        if known and values and not {*map(type, values)} - {int, float}:
            for name in names:
                if name.isupper():
                    yield name, node.lineno, node.end_lineno


def untried(text):
    """The numbers at the top of a room of which no comment tells what half and twice of
    them do: in their line, below it, or above it as the begin of a paragraph. One
    comment may do for numbers in lines that follow each other.
    """
    lines = text.splitlines()
    stands = {first: last for _, first, last in numbers(parsed(text))}

    head = lambda k: lines[k].startswith("# %%")  # of an exported cell

    def tried(first):
        last = stands[first]
        below = last
        while below < len(lines) and lines[below].startswith("#"):
            below += 1
        above = first - 1
        while above and lines[above - 1].startswith("#") and not head(above - 1):
            above -= 1
        # right below another line a comment is that one's
        if above and lines[above - 1] and not head(above - 1):
            above = first - 1
        comments = [*lines[above : first - 1], lines[last - 1].partition("#")[2]]
        if TRIED.search("\n".join([*comments, *lines[last:below]])):
            return True
        return last + 1 in stands and tried(last + 1)

    return [name for name, first, _ in numbers(parsed(text)) if not tried(first)]


def count():
    """All of it, {what: number or list}."""
    texts = rooms()
    trees = {room: parsed(text) for room, text in texts.items()}
    uses = graph(trees)
    once = [
        trees[room] for room in trees if room != "course.micro"
    ]  # the whole once more
    homes = Counter(name for tree in once for name in {*defined(tree)})
    asked = {r: where_it_lies(trees[r]) for r in trees if r[:7] != "tables."}
    private = {room: [*small_and_called_once(tree)] for room, tree in trees.items()}
    return dict(
        size={room: code_size(text) for room, text in texts.items()},
        floors=floors(uses),
        back=[
            f"{room} -> {other}"
            for room in uses
            for other in sorted(uses[room])
            if storey(other) > storey(room)
        ],
        homeless=[*homeless(texts)],
        hidden=[room for room, text in texts.items() if HIDDEN.search(text)],
        twice=sorted(name for name, n in homes.items() if n > 1 and name != "__all__"),
        alike=alike({r: tree for r, tree in trees.items() if r != "course.micro"}),
        once=[f"{room}.{name}" for room in private for name in private[room]],
        halves=halves(trees),
        by_type=[f"{r}:{line}" for r in asked for line in asked[r][0]],
        by_axis=[f"{r}:{line}" for r in asked for line in asked[r][1]],
        deep=sorted(name for name, n in depths(trees).items() if n > 3),
        untried=sorted(
            {f"{r}.{name}" for r, text in texts.items() for name in untried(text)}
            - DEFINED
        ),
    )


def crossings(job):
    """{(room, other): how often a function of the one calls one of the other} while
    a job, a function without arguments, is done; and how many functions of the house
    wait for each other at most.
    """
    start, found = f"{HOUSE}/", Counter()
    frames, most = 0, 0

    def see(frame, event, _):
        nonlocal frames, most
        room = frame.f_code.co_filename
        if not room.startswith(start) or event not in ("call", "return"):
            return
        frames += 1 if event == "call" else -1
        most = max(most, frames)
        if event == "call" and frame.f_back:
            caller = frame.f_back.f_code.co_filename
            if caller != room and caller.startswith(start):
                found[tuple(r.removeprefix(start)[:-3] for r in (caller, room))] += 1

    sys.setprofile(see)
    try:
        job()
    finally:
        sys.setprofile(None)
    pairs = {pair: n for pair, n in found.items() if "__init__" not in pair}
    return Counter(pairs), most


def jobs():
    """{name: job}: one fit of a table of 442 x 64, and the default job on 569 x 30."""
    from sklearn.datasets import load_breast_cancer

    from rvamp_nb import StabilitySelection, datasets, rvamp

    A, y, *_ = datasets.load_diabetes()
    X, target = load_breast_cancer(return_X_y=True)
    return {
        "rvamp": lambda: rvamp(A, y, 0.2),
        "StabilitySelection": lambda: StabilitySelection().fit(X, target),
    }


def print_crossings():
    """Print those of both jobs, each done once before: what is kept is asked once."""
    import warnings

    warnings.simplefilter("ignore")  # what is found is not the matter here
    for name, job in jobs().items():
        job()
        found, frames = crossings(job)
        print(f"{sum(found.values()):6}  crossings between rooms in {name}")
        print(f"{frames:6}  functions of the house wait for each other at most")
        for (room, other), n in found.most_common(12):
            print(f"{n:6}    {room} -> {other}")


def print_density(texts, most=5):
    """Print how dense the lines are, beside GOALS, and the rooms most beyond each."""
    whole = density(texts.values())
    each = {room: density([text]) for room, text in texts.items()}
    print("A hundred lines have (goal; rooms that are furthest beyond it)")
    for form, goal in GOALS.items():
        beyond = [room for room in each if each[room][form] > goal]
        beyond.sort(key=lambda room: -each[room][form])
        rooms = ", ".join(f"{room} {each[room][form]:.1f}" for room in beyond[:most])
        print(f"{whole[form]:6.2f}  {form} ({goal}; {rooms or 'none'})")


def main():
    """Print what is counted."""
    found = count()
    for room, (tokens, lines) in sorted(
        found["size"].items(), key=lambda item: -item[1][0]
    ):
        print(f"{tokens:6}  {tokens / max(lines, 1):4.1f} a line  {room}")
    tokens, lines = map(sum, zip(*found["size"].values()))
    print(
        f"{tokens:6}  tokens in {len(found['size'])} rooms, {tokens / lines:.1f} a line"
    )
    left = ROOM * RELEASED["all rooms"] - tokens
    print(f"{left:6.0f}  may be added to all rooms before the next release")
    course = [room for room in found["size"] if room.startswith("course.")]
    core = tokens - sum(found["size"][room][0] for room in course)
    print(f"{core:6}  of these without the course")
    print(f"{found['floors'] or 'a circle, no':>6}  floors")
    for what, text in (
        ("back", "arrows back"),
        ("hidden", "rooms that hide an import"),
        ("twice", "names that stand in two rooms"),
        ("alike", "names that differ by case, underscore or a plural"),
        ("once", "small private functions that are called once"),
        ("halves", "private classes that are half of another"),
        ("deep", "classes deeper than three"),
        ("untried", "numbers in capitals of which no comment tells what half does"),
        ("by_type", "lines outside tables/ that ask for ChunkedTable"),
        ("by_axis", "lines outside tables/ that ask for chunk_axis"),
    ):
        print(f"{len(found[what]):6}  {text}: {', '.join(found[what])}")
    print_density(rooms())


if __name__ == "__main__":
    files = [Path(name) for name in sys.argv[1:] if name.endswith(".py")]
    if files:
        print_density({path.stem: path.read_text(encoding="utf-8") for path in files})
    elif "--crossings" in sys.argv:
        print_crossings()
    else:
        main()
