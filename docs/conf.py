"""Sphinx's configuration. build.py makes the pages and runs Sphinx on them."""

import inspect
import re
import sys
from doctest import script_from_examples
from functools import cache
from html import escape
from pathlib import Path
from pkgutil import resolve_name
from textwrap import indent

from docutils.nodes import paragraph
from sphinx.addnodes import pending_xref
from sphinx.domains.math import MathDomain
from sphinx.ext.intersphinx import resolve_reference_detect_inventory

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS), str(DOCS.parent)]

import translate
from pages import explorer
from reference import METHODS, TASKS, beside, homes
from translate import LABEL, is_label, known_labels, page_name, settings

import rvamp_nb

project, release = "rvamp_nb", rvamp_nb.__version__
html_title = f"{project} {release}"  # above the menu, and in the title of every page
author = "The rvamp_nb authors"
copyright = f"2026 onwards, {author}"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    # not numpydoc's own, which makes no object of an attribute for index and search; it
    # checks the docstrings (tests/site/test_reference.py)
    "sphinx.ext.napoleon",
    "sphinx.ext.linkcode",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_sitemap",
    "sphinxext.opengraph",
    "matplotlib.sphinxext.plot_directive",
]
html_theme = "furo"
# Every colour of these two reads well on their backgrounds (tests/site counts it).
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
html_baseurl = ogp_site_url = "{doc_host}{doc_baseurl}/".format_map(settings())
sitemap_url_scheme = "{link}"
sitemap_excludes = ["404.html", "genindex.html", "search.html"]
ogp_image = "_static/front.png"
ogp_image_alt = "Histograms of 4,000 refits, and on each one run of rVAMP."
# Every script is served by the site itself.
html_static_path = ["static", "node_modules/mathjax/es5/tex-svg-full.js"]
mathjax_path = "tex-svg-full.js"
# its letters are larger than those around them
mathjax3_config = {"svg": {"scale": 0.92}}
nb_ipywidgets_js = {"widgets.js": {}}  # on pages with a widget; all bring their own
html_css_files = ["style.css"]
html_search_scorer = str(DOCS / "scorer.js")  # an entry of the index comes first
html_favicon = html_logo = "static/icon.svg"
# what is copied from an example is its code, without prompts and answers
copybutton_prompt_text, copybutton_prompt_is_regexp = r">>> |\.\.\. ", True
html_copy_source = html_show_sourcelink = False
# The bar of sections is furo's announcement (templates/page.html). pydata's theme
# brings such a bar, and with it three times the scripts, the search index on each page,
# and a style that takes more of ours to hold lines of 88 letters.
templates_path = [str(DOCS / "templates")]  # autosummary looks beside the pages
html_context = {
    "bar": translate.SECTIONS,
    "repository": settings()["git_url"],
    "branch": settings()["branch"],
    "home": f"{settings()['doc_baseurl']}/",
}
html_theme_options = {"announcement": "sections"}
for theme, colour in ("light", "#003C78"), ("dark", "#7CC4EE"):
    brand = {f"color-brand-{part}": colour for part in ("primary", "content")}
    html_theme_options[f"{theme}_css_variables"] = brand

# Notebooks come executed. What they say on stderr is a progress bar's and not for the
# page.
nb_execution_mode = "off"
nb_output_stderr = "remove"
nb_merge_streams = True
nb_code_prompt_show = nb_code_prompt_hide = "Code"
myst_heading_anchors = 4  # as Jupyter names them: the routes lead to sections
myst_enable_extensions = ["amsmath", "dollarmath", "deflist", "colon_fence"]
myst_enable_extensions += ["attrs_block", "attrs_inline"]

# Docstrings are numpydoc; in them `x` is code, unless x is the label of an equation
# (see read_docstring).
default_role = "literal"
napoleon_google_docstring = False
napoleon_use_rtype = False
autosummary_generate = ["api.md"]
built = {path.stem for path in (DOCS / "_build" / "pages").glob("*.ipynb")}
autosummary_context = {
    "beside": beside(),
    "homes": homes(),
    "built": [stem for stem, _ in homes().values() if page_name(stem) in built],
    "topics": translate.topics(),
}
plot_pre_code = "from rvamp_nb.plot_style import style\nstyle()"
plot_formats = ["svg"]  # all seven take three seconds
plot_html_show_formats = plot_html_show_source_link = False
add_module_names = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"

# A type of another package leads to its page there. The lists of these pages are asked
# for when the site is built; where there is no network an empty one takes their place,
# and Sphinx has nothing to warn of.
intersphinx_mapping = {
    name: (f"https://{address}/", (None, str(DOCS / "no_names.inv")))
    for name, address in {
        "matplotlib": "matplotlib.org/stable",
        "numpy": "numpy.org/doc/stable",
        "pandas": "pandas.pydata.org/docs",
        "scipy": "docs.scipy.org/doc/scipy",
        "sklearn": "scikit-learn.org/stable",
    }.items()
}
intersphinx_timeout = 10  # seconds
intersphinx_disabled_reftypes = ["std:*", "math:*"]  # only types, no words of ours
# not imported before they are used
autodoc_type_aliases = {"Axes": "matplotlib.axes.Axes", "DataFrame": "pandas.DataFrame"}


class ChapterMath(MathDomain):
    """Number equations by chapter: (2.3.2) is the second of chapter 2.3."""

    def note_equation(self, docname, labelid, location=None):
        super().note_equation(docname, labelid, location)
        docname, number = self.equations[labelid]
        chapter = translate.chapter_number(docname)
        if chapter:
            self.equations[labelid] = docname, f"{chapter}.{number}"


def find_elsewhere(app, env, node, contnode):
    """A reference to an equation of a chapter that is not built stays what it is in
    the notebook: code. A type that a signature names, and a neighbour that See Also
    names, leads to the page of its public name, wherever that lives; one of another
    package is known there without the private modules that it is defined in.
    """
    if node["refdomain"] == "math" and node["reftype"] == "eq":
        return contnode
    if node["refdomain"] != "py":
        return None
    shown = re.sub(r"\._\w+(?=\.)", "", node["reftarget"])
    if shown != node["reftarget"]:
        node["reftarget"] = shown
        return resolve_reference_detect_inventory(env, node, contnode)
    python = env.get_domain("py")
    last = shown.rpartition(".")[2]
    public = [name for name in beside() if name.endswith(f".{last}")]
    for name in (f"rvamp_nb.{shown}", *public):
        if name in python.objects:
            node["reftarget"] = name
            place = env, node["refdoc"], app.builder, "obj", name
            return python.resolve_xref(*place, node, contnode)
    return None


def look_for_whole_names(app, doctree):
    """Link a word of a type ("index or name") to no attribute that is called so."""
    for node in doctree.findall(pending_xref):
        node.attributes.pop("refspecific", None)  # that it is there is what counts


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
        # where the rest of a docstring is
        line = re.sub(r"\b(See|[Aa]s for) (`[\w.]+`)", r"\1 :py:obj:\2", line)
        lines[i] = LABEL.sub(
            lambda m: f":eq:`{m[2]}`" if is_label(m, known_labels()) else m[0], line
        )


def show_what_is_drawn(app, what, name, obj, options, lines):
    """Show on the page of what draws the picture, or widget, of its example."""
    drawn = name.removeprefix("rvamp_nb.") in TASKS[METHODS]
    if not drawn or not app.env.docname.startswith("api/"):
        return
    example = "\n".join(lines).partition(">>> ")
    alt = " ".join(lines[: lines.index("")]).removeprefix("Draw ")
    head, body = f".. plot::\n   :alt: {alt}", example[1] + example[2]
    if "widget = " in body:
        made = {}
        exec(script_from_examples(body), made)
        head, body = ".. raw:: html", explorer(made["widget"], "../_static")
    lines += ["", *f"{head}\n\n{indent(body, '   ')}".split("\n")]


def name_plainly(app, what, name, obj, options, signature, answer):
    """A type that is not loaded for a signature is written by its name."""
    alias = re.compile(r"TypeAliasForwardRef\('([\w.]+)'\)")
    return tuple(text and alias.sub(r"\1", text) for text in (signature, answer))


def index_properties_once(app, what, name, obj, options, lines):
    """Index an attribute that is also a documented property once, at the property."""
    found = inspect.getmembers(obj, lambda part: isinstance(part, property))
    names = "|".join(name for name, _ in found)
    attribute = rf"^( *)\.\. attribute:: ({names})$(?!\n *:no-index:)"
    once = re.compile(attribute, re.MULTILINE)
    lines[:] = once.sub(r"\g<0>\n\1   :no-index:", "\n".join(lines)).split("\n")


def linkcode_resolve(domain, info):
    """Where the lines that define a name are read: in the repository."""
    return address_of_lines(info["module"], info["fullname"])


@cache  # a name stands on the page of its chapter and in the reference
def address_of_lines(module, name):
    """Return the address of the lines that define a name, None for an attribute that
    only a docstring tells of.
    """
    try:
        thing = resolve_name(f"{module}:{name}")
        thing = inspect.unwrap(getattr(thing, "fget", thing))
        lines, first = inspect.getsourcelines(thing)
        file = Path(inspect.getfile(thing)).relative_to(DOCS.parent).as_posix()
    except (AttributeError, TypeError, ValueError):
        return None
    last = first + len(lines) - 1
    home = "{git_url}/blob/{branch}".format_map(settings())
    return f"{home}/{file}#L{first}-L{last}"


def skip_field(app, what, name, obj, skip, options):
    """Leave out fields of named tuples, and what scikit-learn adds to estimators."""
    theirs = str(getattr(obj, "__module__", None)).startswith("sklearn.")
    return theirs or type(obj).__name__ == "_tuplegetter" or None


def describe(app, pagename, templatename, context, doctree):
    """Describe a page to search engines by its title and its first paragraph."""
    first = doctree and next(doctree.findall(paragraph), None)
    text = first.astext() if first else rvamp_nb.__doc__.partition("\n")[0]
    title = re.sub("<.*?>", "", context.get("title", project)).replace('"', "&quot;")
    summary = f"{title}: {escape(' '.join(text.split())[:300])}"
    tag = f'<meta name="description" content="{summary}">'
    context["metatags"] = context.get("metatags", "") + tag
    context["meta"] = (context.get("meta") or {}) | {"og:description": summary}


def open_one_section(app, pagename, templatename, context, doctree):
    """Show all sections in the menu, and open the one that the page is in. Furo, which
    makes the menu of what it asks for here, asks for all pages, a third of the time
    that writing takes.
    """
    tree = context["toctree"](collapse=True, titles_only=True, includehidden=True)
    context["toctree"] = lambda **_: tree


def setup(app):
    app.add_domain(ChapterMath, override=True)
    app.connect("doctree-read", look_for_whole_names)
    app.connect("missing-reference", find_elsewhere)
    # before napoleon adds markup of its own
    app.connect("autodoc-process-signature", name_plainly)
    app.connect("autodoc-process-docstring", read_docstring, priority=400)
    # after it
    app.connect("autodoc-process-docstring", index_properties_once, priority=900)
    app.connect("autodoc-process-docstring", show_what_is_drawn, priority=900)
    app.connect("autodoc-skip-member", skip_field)
    app.connect("html-page-context", describe, priority=400)  # before opengraph
    app.connect("html-page-context", open_one_section, priority=400)  # before furo
