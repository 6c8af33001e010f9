"""The list of contents beside each page, and links that signatures must not have: hooks of Sphinx."""

from __future__ import annotations

import builtins
from functools import cache
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref

GENERATED = "reference/generated/"


def unlink_builtins(app: Any, doctree: Any) -> None:
    """Sphinx's hook: `int` in a signature is Python's, not the element type of that name."""
    for node in list(doctree.findall(pending_xref)):
        if hasattr(builtins, node.get("reftarget", "")):
            node.replace_self(node.children)


def trim_code(app: Any, doctree: Any) -> None:
    """Sphinx's hook: the empty line that ends an example in its source is not shown."""
    for block in doctree.findall(nodes.literal_block):
        text = block.astext().rstrip()
        if len(block) == 1 and isinstance(block[0], nodes.Text) and text != block.astext():
            block.rawsource = text
            block[0] = nodes.Text(text)


def share_navigation(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Sphinx's hook: pages outside of the list of contents show the same list, computed once for each folder.

    The theme computes the list anew for every page, which took nine tenths of the time of writing. Pages that a
    program writes have no source to edit.
    """
    if page.startswith(GENERATED):
        context["page_source_suffix"] = None
    if page in _contents(app.env) or "toctree" not in context:
        return
    compute, folder = context["toctree"], page.rpartition("/")[0]

    def shared(**options: Any) -> str:
        key = (folder, *sorted(options.items()))
        if key not in _navigation:
            _navigation[key] = compute(**options)
        return _navigation[key]

    context["toctree"] = shared


_navigation: dict[tuple, str] = {}


@cache
def _contents(environment: Any) -> frozenset[str]:
    """The pages in the list of contents."""
    listed, todo = {"index"}, ["index"]
    while todo:
        further = set(environment.toctree_includes.get(todo.pop(), ())) - listed
        listed |= further
        todo += further
    return frozenset(listed)
