"""Sphinx's configuration. build.py makes the pages and runs Sphinx on them."""

import re
import sys
from html import escape
from pathlib import Path

# nbformat brings jsonschema, and that a checker of addresses that compiles its grammars
# for three seconds: nobody asks it anything here.
sys.modules.setdefault("rfc3987_syntax", None)

import nbformat
from docutils.nodes import paragraph
from furo.navigation import get_navigation_tree
from sphinx.domains.math import MathDomain

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS), str(DOCS.parent)]

from translate import LABEL, SECTIONS, chapter_number, labels, notebook_files, settings

import rvamp_nb

project, release = "rvamp_nb", rvamp_nb.__version__
html_title = f"{project} {release}"  # above the menu, and in the title of every page
author = "The rvamp_nb authors"
copyright = f"2026 onwards, {author}"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_copybutton",
    "words",
]
html_theme = "furo"
# Every colour of these two reads well on their backgrounds (tests/site counts it).
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
html_static_path = ["static", "_build/scripts"]
html_css_files = ["style.css"]
html_search_scorer = str(DOCS / "scorer.js")  # weighs the words that words.py counts
html_favicon = html_logo = "static/icon.svg"
# what is copied from an example is its code, without prompts and answers
copybutton_prompt_text, copybutton_prompt_is_regexp = r">>> |\.\.\. ", True
html_copy_source = html_show_sourcelink = False
# The bar of sections is furo's announcement (templates/page.html). pydata's theme
# brings such a bar, and with it three times the scripts, the search index on each page,
# and a style that takes more of ours to hold lines of 88 letters.
templates_path = ["templates"]
html_context = {
    "bar": {page: title for page, (title, _) in SECTIONS.items()},
    "repository": settings()["git_url"],
}
html_theme_options = {
    "announcement": "sections",
    "light_css_variables": {
        "color-brand-primary": "#005687",
        "color-brand-content": "#005687",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7CC4EE",
        "color-brand-content": "#7CC4EE",
    },
}

# Notebooks come executed. What they say on stderr is a progress bar's and not for the
# page.
nb_execution_mode = "off"
nb_output_stderr = "remove"
nb_merge_streams = True
nb_code_prompt_show = nb_code_prompt_hide = "Code"
myst_heading_anchors = 4  # as Jupyter names them: the routes lead to sections
myst_enable_extensions = [
    "amsmath",
    "attrs_block",
    "attrs_inline",
    "colon_fence",
    "deflist",
    "dollarmath",
]

# Docstrings are numpydoc; in them `x` is code, unless x is the label of an equation
# (see read_docstring).
LABELS = {
    label
    for path in notebook_files().values()
    for label in labels(nbformat.read(path, 4))
}
default_role = "literal"
napoleon_google_docstring = False
napoleon_use_rtype = False
autosummary_generate = False
add_module_names = False
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"
autodoc_member_order = "bysource"

# Every script is served by the site itself.
mathjax_path = "npm/tex-svg-full.js"
# its letters are larger than those around them
mathjax3_config = {"svg": {"scale": 0.92}}
nb_ipywidgets_js = {"widgets.js": {}}  # on pages with a widget; all bring their own


class ChapterMath(MathDomain):
    """Numbers equations by chapter: (2.3.2) is the second numbered equation of chapter
    2.3.
    """

    def note_equation(self, docname, labelid, location=None):
        super().note_equation(docname, labelid, location)
        docname, number = self.equations[labelid]
        chapter = chapter_number(docname)
        if chapter:
            self.equations[labelid] = docname, f"{chapter}.{number}"


def equation_not_on_this_site(app, env, node, contnode):
    """A reference to an equation of a chapter that is not built stays what it is in
    the notebook: code.
    """
    if node["refdomain"] == "math" and node["reftype"] == "eq":
        return contnode


def read_docstring(app, what, name, obj, options, lines):
    """In docstrings, too, a label in backticks refers to its equation; bars, stars and
    a last underscore outside backticks are mathematics and names, not markup.
    """
    example = False  # from a prompt to the next empty line: code, and left alone
    for i, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if example:
            continue
        # numpydoc's "pfer_, q_ : float" names attributes, and napoleon reads it
        marks = r"[|*]" if " : " in line else r"[|*]|(?<=\w)_(?!\w)"
        line = re.sub(rf"(`+[^`]+`+)|({marks})", lambda m: m[1] or "\\" + m[2], line)
        lines[i] = LABEL.sub(
            lambda m: f":eq:`{m[2]}`" if m[2] in LABELS else m[0], line
        )


def index_properties_once(app, what, name, obj, options, lines):
    """An attribute that a class tells of in its docstring, and that is a property with
    a docstring of its own, has its place in the index there.
    """
    for k in reversed(range(len(lines))):
        attribute = re.match(r"( *)\.\. attribute:: (\w+)", lines[k])
        is_property = attribute and isinstance(
            getattr(obj, attribute[2], None), property
        )
        if is_property and ":no-index:" not in "".join(lines[k + 1 : k + 2]):
            lines.insert(k + 1, f"{attribute[1]}   :no-index:")


def lead_back_to_the_reference(app, env):
    """From its source, a function's link leads to the API reference, also where a
    notebook with its signature, which has no anchors, was read after that.
    """
    objects = env.get_domain("py").objects
    for module, entry in env._viewcode_modules.items():
        _, _, pages, _ = entry or (None, None, {}, None)
        for name in pages:
            pages[name] = objects[f"{module}.{name}"].docname


def skip_field(app, what, name, obj, skip, options):
    """Left out: the fields of a named tuple, which its own docstring tells, and the
    metadata methods that scikit-learn adds to every estimator.
    """
    return (
        True
        if type(obj).__name__ == "_tuplegetter"
        or re.fullmatch(r"(set_\w+_request|get_metadata_routing)", name)
        else None
    )


def describe(app, pagename, templatename, context, doctree):
    """What a search engine shows: the page's title and its first paragraph."""
    first = doctree and next(doctree.findall(paragraph), None)
    text = first.astext() if first else rvamp_nb.__doc__.partition("\n")[0]
    title = re.sub("<.*?>", "", context.get("title", project)).replace('"', "&quot;")
    said = f"{title}: {escape(' '.join(text.split())[:300])}"
    tag = f'<meta name="description" content="{said}">'
    context["metatags"] = context.get("metatags", "") + tag


def name_folds(app, pagename, templatename, context, doctree):
    """For those who listen to a page: a fold over code is called what is written on it
    (myst-nb calls them all "Toggle hidden content").
    """
    fold = '<summary aria-label="Toggle hidden content">'
    context["body"] = context.get("body", "").replace(fold, "<summary>")


def open_one_section(app, pagename, templatename, context, doctree):
    """The menu has the sections, and of these the one of the page is open."""
    tree = context["toctree"](collapse=True, titles_only=True, includehidden=True)
    context["furo_navigation_tree"] = get_navigation_tree(tree)


def lead_home(app, pagename, templatename, context, doctree):
    """A server shows 404.html under any address, so its links are read from where the
    site begins: from the place where it is published; from the root of another
    server; from the folder, where it is opened as a file.
    """
    if pagename == "404":
        home = f"{settings()['doc_baseurl']}/"
        context["metatags"] += f"""<base href="{home}"><script>{{
const base = document.querySelector("base");
if (location.protocol === "file:") base.remove();
else if (!location.pathname.startsWith(base.getAttribute("href"))) base.href = "/";
addEventListener("DOMContentLoaded", () => {{  // what leads to this page itself
  for (const link of document.querySelectorAll('a[href^="#"]'))
    link.href = location.pathname + link.getAttribute("href");
}});
}}</script>"""


def setup(app):
    app.add_domain(ChapterMath, override=True)
    app.connect("missing-reference", equation_not_on_this_site)
    # before napoleon adds markup of its own
    app.connect("autodoc-process-docstring", read_docstring, priority=400)
    # after it
    app.connect("autodoc-process-docstring", index_properties_once, priority=900)
    app.connect("autodoc-skip-member", skip_field)
    app.connect("env-updated", lead_back_to_the_reference)
    app.connect("html-page-context", describe)
    app.connect("html-page-context", lead_home)  # after describe
    app.connect("html-page-context", name_folds)
    app.connect("html-page-context", open_one_section, priority=900)  # after furo
