"""Sphinx's configuration. build.py makes the pages and runs Sphinx on them."""

import re
import sys
import zlib
from html import escape
from pathlib import Path
from pkgutil import resolve_name

# nbformat brings jsonschema, and that a checker of addresses that compiles its grammars
# for three seconds: nobody asks it anything here.
sys.modules.setdefault("rfc3987_syntax", None)

import nbformat
from docutils.nodes import paragraph
from furo.navigation import get_navigation_tree
from sphinx.addnodes import pending_xref
from sphinx.domains.math import MathDomain
from sphinx.ext.intersphinx import resolve_reference_detect_inventory

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS), str(DOCS.parent), str(DOCS.parent / "tests/helpers")]

from pages import releases
from plain import PLAIN
from reference import beside
from translate import (
    LABEL,
    SECTIONS,
    chapter_number,
    is_label,
    labels,
    notebook_files,
    page_name,
    section,
    settings,
    topics,
)

import rvamp_nb
from rvamp_nb._modidx import d

project, release = "rvamp_nb", rvamp_nb.__version__
html_title = f"{project} {release}"  # above the menu, and in the title of every page
author = "The rvamp_nb authors"
copyright = f"2026 onwards, {author}"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_sitemap",
    "sphinxext.opengraph",
]
html_theme = "furo"
# Every colour of these two reads well on their backgrounds (tests/site counts it).
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
html_baseurl = ogp_site_url = "{doc_host}{doc_baseurl}/".format_map(settings())
sitemap_url_scheme = "{link}"
sitemap_excludes = ["404.html", "genindex.html", "search.html", "_modules/*"]
ogp_image = "_static/front.png"
ogp_image_alt = "Histograms of 4,000 refits, and on each one run of rVAMP."
html_static_path = ["static", "_build/scripts"]
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
    "bar": {page: title for page, (title, _) in SECTIONS.items()},
    "repository": settings()["git_url"],
    "home": f"{settings()['doc_baseurl']}/",
}
html_theme_options = {
    "announcement": "sections",
    "light_css_variables": {
        "color-brand-primary": "#003C78",
        "color-brand-content": "#003C78",
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


def plain_room(name):
    """The plain module that a public name comes from, or None."""
    room = resolve_name(name).__module__.removeprefix("rvamp_nb.")
    return room if room in PLAIN else None


def derived():
    """{a public name: the page of the notebook that exports it, or of the chapter that
    derives what a plain module computes}, if that is built.
    """
    built = {path.stem for path in (DOCS / "_build" / "pages").glob("*.ipynb")}
    pages = {re.sub(r"/\d+_", "/", stem): page_name(stem) for stem in notebook_files()}
    places = {name: at for room in d["syms"].values() for name, (at, _) in room.items()}
    found = {}
    for name in beside():
        thing = resolve_name(name)
        place = places.get(f"{thing.__module__}.{thing.__name__}", "")
        page = pages.get(place.partition(".html")[0], PLAIN.get(plain_room(name)))
        if page in built:
            found[name] = page
    return found


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
autosummary_generate = ["api.md"]
autosummary_context = {"beside": beside(), "derived": derived(), "topics": topics()}
# What is internal is not searched: rooms of the workshop of which no public name comes,
# and for which nobody looks.
looked_for = {*topics(), *derived().values()}
NOT_SEARCHED = {
    page_name(stem) for stem in notebook_files() if section(stem) == "workshop"
} - looked_for
add_module_names = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"

# A type of another package leads to its page there. The lists of these pages are asked
# for when the site is built; where there is no network an empty one takes their place,
# and Sphinx has nothing to warn of.
NO_NAMES = DOCS / "_build" / "no_names.inv"
NO_NAMES.parent.mkdir(exist_ok=True)
head = "# Sphinx inventory version 2\n# Project: none\n# Version:\n# zlib\n"
NO_NAMES.write_bytes(head.encode() + zlib.compress(b""))
intersphinx_mapping = {
    name: (f"https://{address}/", (None, str(NO_NAMES)))
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
    short, last = node["reftarget"], node["reftarget"].rpartition(".")[2]
    ends = f".{short}", f".{last}"
    found = [name for end in ends for name in python.objects if name.endswith(end)]
    named = [name for name in found if name in {f"rvamp_nb{ends[0]}", *beside()}]
    if named:
        node["reftarget"] = named[0]
        return python.resolve_xref(
            env, node["refdoc"], app.builder, "obj", named[0], node, contnode
        )
    return None


def look_for_whole_names(app, doctree):
    """A word of a parameter's type ("index or name") leads to a public name, to no
    attribute of any class that happens to be called so.
    """
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
            lambda m: f":eq:`{m[2]}`" if is_label(m, LABELS) else m[0], line
        )


def name_plainly(app, what, name, obj, options, signature, answer):
    """A type that is not loaded for a signature is written by its name."""
    alias = re.compile(r"TypeAliasForwardRef\('([\w.]+)'\)")
    return tuple(text and alias.sub(r"\1", text) for text in (signature, answer))


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


def lead_back_to_the_reference(app, pagename, templatename, context, doctree):
    """From its source, the link of a public name leads to its page; what is internal
    has none.
    """
    if pagename.startswith("_modules/"):
        objects = app.env.get_domain("py").objects
        module = pagename.removeprefix("_modules/").replace("/", ".")

        def way(found):
            start, name = found.groups()
            homes = (f"{home}.{name}" for home in ("rvamp_nb", module))
            full = next((home for home in homes if home in objects), None)
            page = full and app.builder.get_relative_uri(
                pagename, objects[full].docname
            )
            at = full and objects[full].node_id
            back = f'<a class="viewcode-back" href="{page}#{at}">[docs]</a>'
            return start + (back if full else "")

        context["body"] = re.sub(
            r'(<div class="viewcode-block" id="([\w.]+)">\n)'
            r'<a class="viewcode-back".*?</a>',
            way,
            context["body"],
        )


def skip_field(app, what, name, obj, skip, options):
    """Left out: the fields of a named tuple, which its own docstring tells, and what
    scikit-learn adds to every estimator.
    """
    theirs = (getattr(obj, "__module__", None) or "").startswith("sklearn.")
    named = re.fullmatch(r"(set_\w+_request|get_metadata_routing)", name)
    return True if type(obj).__name__ == "_tuplegetter" or theirs or named else None


def describe(app, pagename, templatename, context, doctree):
    """What a search engine shows, and who sends the page on: its title and its first
    paragraph.
    """
    first = doctree and next(doctree.findall(paragraph), None)
    text = first.astext() if first else rvamp_nb.__doc__.partition("\n")[0]
    title = re.sub("<.*?>", "", context.get("title", project)).replace('"', "&quot;")
    summary = f"{title}: {escape(' '.join(text.split())[:300])}"
    tag = f'<meta name="description" content="{summary}">'
    context["metatags"] = context.get("metatags", "") + tag
    context["meta"] = (context.get("meta") or {}) | {"og:description": summary}


def leave_out_of_the_search(app, doctree):
    if app.env.docname in NOT_SEARCHED:
        app.env.metadata[app.env.docname]["nosearch"] = "true"


def lead_to_the_source(app, pagename, templatename, context, doctree):
    """The pencil above a page leads to the file that it is made of."""
    name = pagename.removeprefix("api/")
    files = {page_name(stem): f"nbs/{stem}.ipynb" for stem in notebook_files()}
    files |= {"index": "docs/landing.md", "404": "docs/404.md"}
    files |= {version: "CHANGELOG.md" for version in releases()}
    file = files.get(app.config.autosummary_context["derived"].get(name, name))
    room = plain_room(name) if name in beside() else None
    if room:
        file = f"rvamp_nb/{room.replace('.', '/')}.py"
    if file:
        place = f"{settings()['git_url']}/edit/{settings()['branch']}/{file}"
        context["theme_source_edit_link"] = place


def open_one_section(app, pagename, templatename, context, doctree):
    """The menu has the sections, and of these the one of the page is open."""
    tree = context["toctree"](collapse=True, titles_only=True, includehidden=True)
    context["furo_navigation_tree"] = get_navigation_tree(tree)


def setup(app):
    app.add_domain(ChapterMath, override=True)
    app.connect("doctree-read", look_for_whole_names)
    app.connect("missing-reference", find_elsewhere)
    # before napoleon adds markup of its own
    app.connect("autodoc-process-signature", name_plainly)
    app.connect("autodoc-process-docstring", read_docstring, priority=400)
    # after it
    app.connect("autodoc-process-docstring", index_properties_once, priority=900)
    app.connect("autodoc-skip-member", skip_field)
    app.connect("doctree-read", leave_out_of_the_search)
    app.connect("html-page-context", lead_back_to_the_reference)
    app.connect("html-page-context", describe, priority=400)  # before opengraph
    app.connect("html-page-context", lead_to_the_source)
    app.connect("html-page-context", open_one_section, priority=900)  # after furo
