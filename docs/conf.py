"""Settings of the documentation site."""

import os
import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import docstring_hooks  # noqa: E402 - needs the path above
import error_pages  # noqa: E402
import navigation  # noqa: E402
import notebooks  # noqa: E402
import reference  # noqa: E402

import tl  # noqa: E402
from tools import charts, cpp_names, figures, operator_rules  # noqa: E402

project = "tl"
author = "the tl contributors"
copyright = "2026, the tl contributors"
release = version = tl.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinxext.opengraph",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "generated"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

# Types in signatures are written without their module, and several classes are called Node.
# Tables state the full names, which are not those of the module that a page shows.
suppress_warnings = ["ref.python", "autosummary.import_cycle"]

html_theme = "furo"
html_title = f"tl {version}"
# MathJax is a package of files, whose extension Sphinx cannot run in parallel.
mathjax = metadata.distribution("sphinx-mathjax-offline").locate_file("sphinx-mathjax-offline/static")
html_static_path = ["static", str(mathjax)]
mathjax_path = "mathjax/tex-chtml.js"
html_css_files = ["site.css"]
html_copy_source = False  # most sources are generated
html_search_scorer = str(HERE / "scorer.js")

# Continuous integration names the repository; a build elsewhere has no links to it.
repository = os.environ.get("GITHUB_REPOSITORY", "")
if repository:
    owner, _, name = repository.partition("/")
    html_theme_options = {
        "source_repository": f"https://github.com/{repository}",
        "source_branch": "main",
        "source_directory": "docs/",
    }
    ogp_site_url = f"https://{owner}.github.io/{name}/"
ogp_social_cards = {"enable": False}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autodoc_typehints = "signature"
autosummary_generate = False
napoleon_custom_sections = ["Formula", "Shape"]

reference.write(HERE / "reference" / "generated")
(HERE / "generated").mkdir(exist_ok=True)
(HERE / "generated" / "charts.html").write_text(charts.page(figures.source()))
(HERE / "generated" / "operator_rules.md").write_text(operator_rules.page())
(HERE / "generated" / "cpp_names.md").write_text(cpp_names.page())
(HERE / "generated" / "errors.md").write_text(error_pages.table(HERE / "errors"))
notebooks.write(HERE / "tutorials", HERE / "generated" / "notebooks")


def setup(app):
    """Connects the hooks of the site's modules."""
    app.connect(
        "autodoc-process-docstring", docstring_hooks.convert_docstring, priority=400
    )  # before napoleon
    app.connect("doctree-read", navigation.unlink_builtins)
    app.connect("doctree-read", navigation.trim_code)
    app.connect("html-page-context", navigation.share_navigation, priority=400)  # before the theme
    return {"parallel_read_safe": True, "parallel_write_safe": True}
