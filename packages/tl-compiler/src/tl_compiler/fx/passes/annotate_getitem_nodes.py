"""Annotations of items, from those of the containers."""

from __future__ import annotations

import operator
import typing

from ..graph import Graph

__all__ = ["annotate_getitem_nodes"]


def annotate_getitem_nodes(graph: Graph) -> None:
    """Annotates the nodes that take an item of a value whose annotation says what its items are.

    Args:
        graph: the graph, changed in place.

    Example:
        >>> graph = Graph()
        >>> x = graph.placeholder("x", type_expr=tuple[int, str])
        >>> item = graph.call_function(operator.getitem, (x, 1))
        >>> annotate_getitem_nodes(graph)
        >>> item.type
        <class 'str'>
    """
    for node in graph.nodes:
        if node.target is not operator.getitem:
            continue
        source, index = node.args
        kind = getattr(source, "type", None)
        if kind is None:
            continue
        origin, parts = typing.get_origin(kind), typing.get_args(kind)
        if origin is tuple and isinstance(index, int):
            if len(parts) == 2 and parts[1] is Ellipsis:
                node.type = parts[0]
            elif -len(parts) <= index < len(parts):
                node.type = parts[index]
        elif origin is list and isinstance(index, int):
            node.type = parts[0]
        elif origin is dict:
            node.type = parts[1]
        elif hasattr(kind, "_fields") and isinstance(index, int):
            hints = typing.get_type_hints(kind)
            node.type = hints.get(kind._fields[index])
