"""Settings of the documentation site."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import error_pages  # noqa: E402 - needs the path above
import notebooks  # noqa: E402
import reference  # noqa: E402

from tools import charts, figures, operator_rules  # noqa: E402

project = "tl"
author = "the tl contributors"
copyright = "2026, the tl contributors"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "generated"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

# Types in signatures are written without their module, and several classes are called Node.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = "tl"
html_static_path = ["static"]
html_css_files = ["site.css"]

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}

reference.write(HERE / "reference" / "generated")
(HERE / "generated").mkdir(exist_ok=True)
(HERE / "generated" / "charts.html").write_text(charts.page(figures.source()))
(HERE / "generated" / "errors.md").write_text(error_pages.table(HERE / "errors"))
notebooks.write(HERE / "tutorials", HERE / "generated" / "notebooks")
(HERE / "generated" / "operator_rules.md").write_text(operator_rules.page())


def setup(app):
    """Connects the reference's hooks."""
    app.connect("autodoc-process-docstring", reference.convert_docstring, priority=400)  # before napoleon
    app.connect("doctree-read", reference.unlink_builtins)
    app.connect("html-page-context", reference.share_navigation, priority=400)  # before the theme
