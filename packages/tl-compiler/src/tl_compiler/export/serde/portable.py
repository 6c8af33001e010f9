"""Programs in operators that other implementations have as well: what is this library's own is said in those
of aten."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_core.ops
import tl_core.symbolic

from ...fx.graph import Graph
from ...fx.node import Node

__all__ = ["portable"]

# Own operators whose arguments are those of aten's, under another name.
_RENAMED = {
    "aten.cross_entropy_of_classes.default": "cross_entropy_loss",
}


def _replacement(node: Node) -> Any:
    name = _RENAMED.get(str(node.target))
    if name is None:
        return None
    return getattr(getattr(tl_core.ops.aten, name, None), "default", None)


def portable(ep: Any) -> Any:
    """The program in operators of aten.

    Args:
        ep: the program.

    Returns:
        The program itself where there is nothing to replace.
    """
    if not any(_replacement(n) is not None for n in ep.graph.nodes):
        return ep
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in ep.graph.nodes:
        made = copies[node] = graph.node_copy(node, lambda n: copies[n])
        target = _replacement(node)
        if target is not None:
            made.target = target
    from ...fx.graph_module import GraphModule

    module = GraphModule(ep.graph_module, graph, "GraphModule")
    module.meta.update(ep.graph_module.meta)
    return ep._update(module, ep.graph_signature)
