"""Regions of a graph in which derivatives are recorded otherwise than around them."""

from __future__ import annotations

from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..higher_order.wrap import wrap_with_set_grad_enabled
from .graph_parts import node_inline_, node_replace_
from .node_lists import nodes_filter

__all__ = ["without_regions"]


def without_regions(gm: GraphModule) -> GraphModule:
    """A graph whose regions are inlined: where no derivatives are recorded, they say nothing.

    Args:
        gm: the module.

    Returns:
        A module that shares what the other holds; the same one where it has no regions.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_compiler.export import export
        >>> class Frozen(tl_nn.Module):
        ...     @tl_core.no_grad()
        ...     def forward(self, x):
        ...         return x.neg()
        >>> made = export(Frozen(), (tl_core.ones(2),)).graph_module
        >>> [str(n.target) for n in without_regions(made).graph.nodes]
        ['x', 'aten.neg.default', 'output']
    """
    if not any(map(_is_region, gm.graph.nodes)):
        return gm
    result = GraphModule(gm, gm.graph)  # which copies a graph that is another's
    result.meta.update(gm.meta)
    for call in nodes_filter(result.graph.nodes, _is_region):
        _, part_of, *args = call.args
        with result.graph.inserting_before(call):
            part = result.graph.call_module(str(part_of.target), tuple(args))
        node_replace_(call, part)
        result.graph.erase_node(part_of)
        node_inline_(part)
    return result


def _is_region(node: Node) -> bool:
    return node.op == "call_function" and node.target is wrap_with_set_grad_enabled
