"""How Sphinx makes the site. `make.py` next to this file writes the pages that Sphinx reads, then starts it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from making import docstrings, sources  # noqa: E402

import fluxlite  # noqa: E402

project = "fluxlite"
author = "fluxlite contributors"
copyright = "fluxlite contributors, MIT licence"
version = release = fluxlite.__version__
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.linkcode"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb", ".rst": "restructuredtext"}
exclude_patterns = ["learner"]  # to download, not to read
suppress_warnings = ["misc.highlighting_failure"]  # a lesson leaves lines out of an example: three dots
smartquotes = False  # three dots in code are three dots

# The lessons have been run. What they show is stored in them.
nb_execution_mode = "off"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # a page without a kernel has no use for them
nb_merge_streams = True
# A widget's own format comes first by default, and shows nothing without a kernel.
nb_mime_priority_overrides = [("html", "text/html", 0), ("html", "application/vnd.jupyter.widget-view+json", None)]
myst_heading_anchors = 4

autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"

nitpicky = True
# Other libraries' types. Their pages are elsewhere, and building needs no network.
nitpick_ignore_regex = [
    (r"py:.*", rf"{module}(\..*)?")
    for module in ("numpy", "np", "collections", "typing", "types", "functools", "os", "pathlib")
]
nitpick_ignore_regex += [(r"py:.*", r"[A-Z_a-z]\w*")]

html_theme = "sphinx_book_theme"
html_title = "fluxlite"
html_static_path = ["static"]
html_favicon = "static/favicon.svg"
html_css_files = ["fluxlite.css"]
html_js_files = ["names.js"]
html_copy_source = False
html_show_sourcelink = False
html_search_language = "en"
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_sidebars = {"source/**": []}  # 277 pages; each has a link back
html_theme_options = {
    "navbar_persistent": [],  # the search is in the sidebar
    "use_download_button": False,
    "use_fullscreen_button": False,
    "show_navbar_depth": 1,
    "show_toc_level": 2,
    "home_page_in_toc": True,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def linkcode_resolve(domain, about):
    """The address of a name's source, seen from the reference; None if nobody can tell."""
    place = sources.place_of(about["module"], about["fullname"]) if about["module"] else ""
    return f"../{place}" if place else None


def setup(app):
    docstrings.setup(app)
    sources.setup(app)
