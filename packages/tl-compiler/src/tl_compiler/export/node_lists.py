"""Questions about the nodes of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..fx.node import Node

__all__ = ["nodes_count", "nodes_filter", "nodes_first", "nodes_map"]


def nodes_filter(nodes: Iterable[Node], node_call_back: Callable[[Node], bool]) -> list[Node]:
    """The nodes for which a condition holds, in their order.

    Args:
        nodes: the nodes.
        node_call_back: the condition.

    Returns:
        A list, which stays as it is while the graph is changed.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> graph = symbolic_trace(lambda x: (x + 1).neg()).graph
        >>> nodes_filter(graph.nodes, lambda n: n.op == "call_method")
        [neg]
    """
    return list(filter(node_call_back, nodes))


def nodes_first(nodes: Iterable[Node], node_call_back: Callable[[Node], bool] | None = None) -> Node | None:
    """The first node for which a condition holds.

    Args:
        nodes: the nodes.
        node_call_back: the condition; None: the first of all.

    Returns:
        The node, or None.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> nodes_first(symbolic_trace(lambda x: x + 1).graph.nodes, lambda n: n.op == "call_function")
        add
    """
    return next((n for n in nodes if node_call_back is None or node_call_back(n)), None)


def nodes_count(nodes: Iterable[Node], node_call_back: Callable[[Node], bool]) -> int:
    """For how many nodes a condition holds.

    Args:
        nodes: the nodes.
        node_call_back: the condition.

    Returns:
        Their number.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> nodes_count(symbolic_trace(lambda x: x + 1).graph.nodes, lambda n: n.op == "placeholder")
        1
    """
    return len(nodes_filter(nodes, node_call_back))


def nodes_map(nodes: Iterable[Node], node_call_back: Callable[[Node], Any]) -> Iterable[Node]:
    """Calls a function with each node, which may change the graph.

    Args:
        nodes: the nodes.
        node_call_back: the function.

    Returns:
        The nodes that were given.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> made = symbolic_trace(lambda x: x + 1)
        >>> for node in nodes_map(made.graph.nodes, lambda n: n.meta.update(seen=n.op)):
        ...     print(node.meta["seen"])
        placeholder
        call_function
        output
    """
    for node in list(nodes):  # those that the function adds are not asked
        node_call_back(node)
    return nodes
