"""The arguments of the command `rvamp-nb`, each with its help.

Words and numbers are all that is known here: no table is read. A number has limits
(`_within`); a sign, a pair and a file's name have functions of their own, which refuse
them by the name of their option. All else that is wrong is an error of `argparse`,
which becomes an `InputError` of one line.

Each option stands once, in a table that is nearly what the help prints: a line has its
name, what it takes, and what it is for; what reads it, and its default, stand in
`_RULES`. Width and line ends are ours, so that a terminal of 88 columns shows the help
as it stands here.

>>> from rvamp_nb.cli_options import arguments
>>> line = "select plants.csv --target growth --reference site=Ulm"
>>> args = arguments("0.1.0").parse_args(line.split())
>>> args.command, args.target, args.reference, args.n_resamples
('select', 'growth', [('site', 'Ulm')], None)
>>> arguments("0.1.0").parse_args(["select", "plants.csv", "--threshold", "0.5"])
Traceback (most recent call last):
    ...
rvamp_nb.select.readers.InputError: argument --threshold: '0.5' is not a number above...
"""

import argparse
import re
import sys
from contextlib import suppress
from pathlib import Path

from .select.readers import InputError, meant, printable

__all__ = ["arguments"]


_MATRIX = ": fit a matrix in Python; the command reads tables whose columns have names"
_OLD = {
    "--refits": ": it is --resamples now",
    "--like": ": it is --pilot now",
    "--rows": _MATRIX,
    "--names": _MATRIX,
}


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are bad input; `usage_of` has the options of commands."""

    usage_of = ""

    def error(self, message):
        words = [word.split("=")[0] for word in message.split() if word[:2] == "--"]
        if message.startswith("unrecognized arguments: ") and words:
            known = re.findall(r"--[\w-]+", self.usage_of)
            remedy = _OLD.get(words[0]) or meant(words[0], known)
            message = f"there is no option {printable(words[0])}{remedy}"
        raise InputError(printable(message, 900))


def _refusal(text, problem):
    """Make the error of an argument: what was typed, and what is wrong with it."""
    return argparse.ArgumentTypeError(f"'{printable(text)}' {problem}")


def _within(low, high, what, kind=float):
    """Make a function that reads a number in (low, high]."""

    def read(text):
        with suppress(ValueError):
            number = kind(text)
            if low < number <= high:
                return number
        raise _refusal(text, f"is not {what}")

    return read


_positive = _within(0, sys.float_info.max, "a number above 0")
_share = _within(0.5, 1, "a number above 0.5 and up to 1")
_part = _within(0, 1, "a number above 0 and up to 1")
_power = _within(0, 0.9999, "a number between 0 and 1")
_close = _within(0, 0.4999, "a number between 0 and 0.5")
_whole = _within(0, 10**9, "a whole number above 0", int)
_count = _within(-1, 10**9, "a whole number", int)


def _refits(text):
    """Read a number of refits."""
    n_refits = _count(text)
    if 0 < n_refits < 10:
        raise _refusal(
            text, "refits are too few to estimate from: give 0, or 10 and more"
        )
    return n_refits


def _base(text):
    """Read what the names of files begin with."""
    if not text or Path(text).name != text or not text.isprintable():
        raise _refusal(
            text, "cannot be part of a file's name: give a word, and no folders"
        )
    return text


def _folder(text):
    """Read the path of a folder."""
    if not text.strip():
        raise _refusal(
            text,
            "names no folder: give a name, such as report (. is the working folder)",
        )
    return Path(text)


def _sign(text):
    """Read one sign, or the word tab."""
    sign = text
    if text in ("tab", "\\t"):
        sign = "\t"
    if len(sign) != 1:
        raise _refusal(text, "is not one sign: give one, or the word tab")
    return sign


def _lam(text):
    """Read the word cv, a penalty as a list of one, or PACKAGE=PENALTY as a pair."""
    if text == "cv":
        return text
    package, equals, number = text.rpartition("=")
    penalty = _positive(number)
    return (package, penalty) if equals else [penalty]


def _pair(text):
    """Read COLUMN=LEVEL."""
    column, equals, level = text.partition("=")
    if not equals:
        raise _refusal(text, "is not COLUMN=LEVEL")
    return column, level


def _group(text):
    """Read NAME=COLUMN,COLUMN,... as a name and a list of columns."""
    name, _, columns = text.partition("=")
    columns = columns.split(",")
    if not name or not all(columns):
        raise _refusal(text, "is not NAME=COLUMN,COLUMN,...")
    return name, columns


def _levels(text):
    """Read COLUMN=LOWEST<...<HIGHEST as a column and a list of levels."""
    column, _, levels = text.partition("=")
    levels = levels.split("<")
    if len(levels) < 2 or not all(levels):
        raise _refusal(text, "is not 'COLUMN=LOWEST<...<HIGHEST', in quotation marks")
    return column, levels


_ABOUT = """\
Selection probabilities of the Lasso across resamples, computed without resampling
(replicated vector approximate message passing).

Without arguments it analyses embedded data (diabetes, 442 patients, 64 features)."""

_CODES = """\
exit codes:
  0    done
  2    refused: the arguments, the table or the folder will not do; nothing is written
  3    done, but not as asked for; rows repeat each other; reliability is poor and there
       are no refits; or pictures, files or the report could not be made or written
  4    nothing converged, and nothing is selected; or no number of rows is enough (plan)
  130  ctrl-C; if the fit was finished, its table is written, with refits made so far"""

_EXAMPLES = f"""\
examples:
  rvamp-nb
  rvamp-nb patients.csv --target dose        (select may be left out)
  rvamp-nb select clinic.csv.gz --target dose --id patient --categorical site \\
      --keep age --missing median
  rvamp-nb plan --features 1000 --effects 10 --size 0.35

{_CODES}"""

_SELECT = """\
Which features does a Lasso select again and again, on random halves of the rows?

Every column without a role is a feature. Columns are centred and scaled to unit norm.
A resample is half of the rows, drawn without replacement; Π is the share of resamples
that select a feature; mean and sd are of its coefficient over resamples. Features with
Π at or above the threshold are selected. At the penalty λ a resample selects q features
on average. Threshold, q and pfer determine each other: give two of them at most. The
bound takes the rows as independent: for several samples of one patient, give --groups.
Π by rVAMP needs no refit; refits are combined with it, and give it a standard error."""

_FILES = f"""\
writes into DIR, whole or not at all:
  NAME-selection.csv   all features, the most probable first
  NAME-selection.json  every setting of the answer, reliability, status, warnings
  NAME-selection.png   (not after ctrl-C)
  NAME-effects.csv, .png  with --effects
  NAME-path.csv, .png  with --path: Π at every penalty, empty where not converged
NAME is that of FILE; for a second target it ends in the target. Files that are there
are replaced with --force only. A constant column has Π = 0. Text, dates and missing
values are refused, unless the options about the table say what to do with them.

{_CODES}"""


_PROMISE = """\
the promise
  --threshold THRESHOLD  least Π of a selected feature, above 0.5
  --pfer PFER  bound on the expected number of false selections (default: 1)
  --bound {mb,unimodal,gaussian}  mb: Meinshausen and Bühlmann's (default); unimodal:
      Shah and Samworth's; gaussian: for normal fields, not for heavy tails
"""

_SELECT_TABLE = """\
the table
  file FILE  CSV, TSV or Parquet, also in gzip, or a pipe; names in the first line
  --sep SIGN  what stands between columns (default: as line 1 says, sep=; for one; else
      tab, comma, semicolon or spaces, as the names have)
  --decimal SIGN  of the numbers (default: a point)
  --encoding NAME  such as latin-1 (default: UTF-8)
  --transpose  features stand in its rows, named in its first column: turn it
  --join FILE  a second file, whose columns are added to the rows with the same id
  --on COLUMN  with --join: the ids, in both files (or COLUMN=COLUMN, if they have two
      names there); with --transpose also what the names of the samples are called
the question
  --target COLUMN  the column to explain: numbers, or 2 to 6 classes
  --time COLUMN  instead of a target: how long each row was observed
  --event COLUMN  with --time: 1, dead, yes or true where the event was seen, 0, alive,
      no or false where not; COLUMN=WORD says which word means that it was seen
  --entry COLUMN  with --time: when a row came under observation; rows for which this is
      not before the time are left out
  --positive CLASS  class of the target that is modelled against the other (default: the
      last one when sorted)
  --loss {auto,squared,logistic,softmax,poisson,huber,survival}  auto: survival with
      --time, logistic for a target with two classes, softmax for three to six words,
      else squared (default: %(default)s)
  --l1-ratio SHARE  1: Lasso; below it, elastic net: share of |b|, as in glmnet's alpha
  --no-intercept  no intercept: neither the columns nor the target are centred
its columns (* may come several times)
  --id COLUMN  names the rows, no feature
  --drop COLUMN  * is left out
  --keep COLUMN  * stays in every refit without a penalty; no bound is about it
  --categorical COLUMN  * becomes columns of 0 and 1, one for each level but the
      reference
  --reference COLUMN=LEVEL  * its reference level (default: the most frequent one)
  --ordered COLUMN=LEVEL<LEVEL  * has levels in this order, and becomes columns of 0 and
      1 such as grade>=2, one for each step (quotation marks keep < from the shell)
  --group NAME=COLUMN,COLUMN  * columns that are selected together or not at all:
      splines, levels, pathways; the bound counts groups
  --group-levels  the levels of each category are such a group
  --groups COLUMN  rows of one label are drawn together: several samples of one patient
  --strata COLUMN  half of each label is drawn: rare classes, hospitals; no feature,
      unless it is named with --categorical or --keep, too; with --time each has a
      baseline hazard of its own
  --matched COLUMN  names sets of one case and its controls: each case is compared with
      its own set (conditional logistic regression), and whole sets are drawn
  --weights COLUMN  how much each row counts; not negative
  --offset COLUMN  is added to what the features predict: log exposure, for counts
  --exposure COLUMN  with --loss poisson: how long, or on how much, was counted; its
      logarithm is the offset
  --trials COLUMN  out of how many the target counts successes; the loss is logistic
  --missing {error,drop,median}  drop: leave out rows with a gap; median: fill gaps in
      features by the column's median or most frequent level (default: %(default)s)
  --na CODE  * stands for a gap: -99, or a word; so do empty cells, and among numbers
      NA, NaN, N/A, #N/A, null and missing
  --lod {limit,half}  what <5, >200 or <LOD among numbers is taken for: the limit, or
      half of it where the value lies below (default: %(default)s); without a number the
      limit is the smallest, or largest, that was measured
"""

_SELECT_MORE = """\
  --q Q  features selected in a resample on average, at the penalty of the report
  --lam LAM  λ itself, for the sum of losses (half the squares) plus λ times the sum of
      absolute coefficients; or cv: it predicts best in ten folds; or that of another
      package, such as glmnet=0.12; not with --pfer or --q (default: chosen)
  --accuracy ACCURACY  the largest standard error of Π: refits are combined with rVAMP
      until all are worth 1,500 plain ones for %(default)s (the default), 625 for 0.031
  --resamples N  so many refits, whatever the accuracy
  --no-refits  no refits: rVAMP alone, without standard errors (as --resamples 0)
  --decoys {permuted,gaussian}  a q-value for each feature, by decoys that are entries
      in another order, or follow common factors
the results
  --effects  write the effects of the selected columns, with intervals, and draw them;
      they are chosen on the same rows (chapter 5.6)
  --path  write Π along the whole path of penalties, too, and draw it
  --out DIR  folder for the results (default: %(default)s)
  --report FOLDER  write a page for a paper, too: methods, settings, tables and pictures
  --name NAME  what their names begin with (default: FILE without folder and ending)
  --force  replace files that are there
"""


_RULES = {  # of an option, beside its line in a table
    "--sep": dict(type=_sign),
    "--decimal": dict(type=_sign, default="."),
    "--loss": dict(default="auto"),
    "--l1-ratio": dict(type=_part, default=1.0),
    "--no-intercept": dict(action="store_false", dest="intercept"),
    "--reference": dict(type=_pair),
    "--ordered": dict(type=_levels),
    "--group": dict(type=_group),
    "--missing": dict(default="error"),
    "--lod": dict(default="limit"),
    "--threshold": dict(type=_share),
    "--pfer": dict(type=_positive),
    "--bound": dict(default="mb"),
    "--q": dict(type=_positive),
    "--lam": dict(type=_lam),
    "--accuracy": dict(type=_close, default=0.02),
    "--resamples": dict(type=_refits, dest="n_resamples"),
    "--no-refits": dict(action="store_const", const=0, dest="n_resamples"),
    "--out": dict(type=_folder, default=Path("rvamp-nb-out")),
    "--report": dict(type=_folder),
    "--name": dict(type=_base),
    "--features": dict(type=_whole),
    "--effects N": dict(type=_whole, required=True),
    "--size": dict(type=_positive, required=True),
    "--noise": dict(type=_positive, default="1"),
    "--power": dict(type=_power, default=0.8),
    "--max-rows": dict(type=_whole, default=100_000),
}


def _add_options(parser, table):
    """Add the options of a table, a text, to a parser, in groups with titles.

    A line that is not indented is the title of a group. An option is indented by two
    spaces, and its help goes on in lines with six: what it takes, two spaces, and its
    help, which begins with * if the option may come again:

        its columns
          --drop COLUMN  * is left out

    So the table is nearly what the user sees, and each option stands in one place.
    """
    # a new entry is a line with fewer than six spaces
    for entry in re.split(r"\n(?! {6})", table.strip()):
        option, _, text = entry.strip().partition("  ")
        if not text:
            group = parser.add_argument_group(option)
            continue
        name, _, value = option.partition(" ")
        # two commands have an option --effects: one of them takes a number, N
        rules = _RULES.get(option) or _RULES.get(name, {})
        group.add_argument(name, **_argument_of(value, text, rules))


def _argument_of(value, text, rules):
    """Return the keyword arguments of `add_argument` for an option, a dict.

    value : what stands behind its name in the table: "{a,b}" for a choice of words, a
    word such as "COLUMN" that stands for a value in the help, or "" for a flag, which
    is False until it is given
    text : its help, in one line or several; one that begins with "*" may be given again
    and again, and its values are collected in a list
    rules : its own keyword arguments, of `_RULES`
    """
    arguments = dict(rules, help=" ".join(text.split()))
    if value.startswith("{"):
        arguments["choices"] = value[1:-1].split(",")
    elif value:
        arguments["metavar"] = value
    else:
        arguments.setdefault("action", "store_true")
    if text.startswith("*"):
        arguments.update(action="append", default=[])
    return arguments


_OF_A_PLAN = """\
How many rows does a study need, so that stability selection finds effects of a given
size?

By state evolution: features are independent, all effects have one size, the noise is
normal. With --pilot features are correlated as in a pilot, and simulated studies settle
the number. Resamples are halves of the rows. The threshold is the one that finds most,
unless it is given. Give `select` the same threshold, pfer and bound later."""

_PLAN_TABLE = """\
the study (* may come several times)
  --features N  features that are measured (default: the pilot's)
  --effects N  how many of them matter
  --size SIZE  change of the target per standard deviation of a feature that matters
  --noise NOISE  standard deviation of what no feature explains (default: %(default)s)
  --pilot FILE  a pilot (CSV, Parquet): features hang together as its numbers do
  --drop COLUMN  * a column of the pilot that is no feature, such as its target
"""

_PLAN_MORE = """\
  --power POWER  share of the effects to be found, on average (default: %(default)s)
  --max-rows N  look no further (default: %(default)s)
  --json  print JSON
"""


def arguments(version):
    """Build the parser of `rvamp-nb`'s arguments, with its two commands, select and
    plan. `version` is what --version prints. A wrong argument is an `InputError`.
    """
    layout = dict(formatter_class=argparse.RawDescriptionHelpFormatter)
    parser = _Parser(prog="rvamp-nb", description=_ABOUT, epilog=_EXAMPLES, **layout)
    parser.add_argument("--version", action="version", version=f"rvamp-nb {version}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    select = commands.add_parser(
        "select",
        help="for a table of yours",
        description=_SELECT,
        epilog=_FILES,
        **layout,
    )
    _add_options(select, _SELECT_TABLE + _PROMISE + _SELECT_MORE)
    # `rvamp-nb` alone has no command: it takes the defaults of select, and replaces
    # its own files. FILE, which select needs, is a word here that nobody opens
    defaults = vars(select.parse_args(["embedded"]))
    parser.set_defaults(**dict(defaults, force=True))
    plan = commands.add_parser(
        "plan",
        help="before there is a table",
        description=_OF_A_PLAN,
        epilog=_CODES,
        **layout,
    )
    _add_options(plan, _PLAN_TABLE + _PROMISE + _PLAN_MORE)
    plan.set_defaults(pfer=1.0)  # `select` may be given q in its place
    # argparse reports an unknown option of a command by `parser`, whose error names
    # the nearest of the options in these lines
    usages = [command.format_usage() for command in commands.choices.values()]
    parser.usage_of = " ".join(usages)
    return parser
