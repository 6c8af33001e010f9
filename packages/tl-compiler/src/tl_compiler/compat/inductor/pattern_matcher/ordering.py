"""The order of the nodes of a graph."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable
from typing import Any

from tl_compiler.fx import Graph, Node

__all__ = ["filter_nodes", "get_arg_value", "is_in_order", "is_start_of_fx_graph", "stable_topological_sort"]


def stable_topological_sort(graph: Graph) -> None:
    """Moves each node behind the nodes that it reads. Nodes that may stay in their order do.

    Args:
        graph: the graph.

    Raises:
        AssertionError: the nodes read each other in a circle.

    Example:
        >>> graph = Graph()
        >>> b, a = graph.placeholder("b"), graph.placeholder("a")
        >>> c = graph.call_function(max, (a, b))
        >>> c.append(a)
        >>> stable_topological_sort(graph)
        >>> [n.name for n in graph.nodes]
        ['b', 'a', 'max_1']
    """
    nodes = list(graph.nodes)
    position = {node: i for i, node in enumerate(nodes)}
    missing = {node: len(node.all_input_nodes) for node in nodes}
    ready = [i for i, node in enumerate(nodes) if not missing[node]]
    order: list[Node] = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        order.append(node)
        for user in node.users:
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(ready, position[user])
    if len(order) != len(nodes):
        raise AssertionError("the nodes of the graph read each other in a circle")
    for previous, node in itertools.pairwise(order):
        if previous.next is not node:
            previous.append(node)


def is_in_order(graph: Graph) -> bool:
    """Whether each node stands behind the nodes that it reads.

    Args:
        graph: the graph.

    Example:
        >>> is_in_order(Graph())
        True
    """
    before: set[Node] = set()
    for node in graph.nodes:
        if not before.issuperset(node.all_input_nodes):
            return False
        before.add(node)
    return True


def is_start_of_fx_graph(graph: Graph, node: Node) -> bool:
    """Whether a node is the first of a graph.

    Args:
        graph: the graph.
        node: the node.
    """
    return node is next(iter(graph.nodes))


def filter_nodes(nodes: Iterable[Node], fn: Any) -> list[Node]:
    """The nodes that call a function, or an overload of an operator.

    Args:
        nodes: the nodes.
        fn: the function, or all overloads of an operator.

    Example:
        >>> graph = Graph()
        >>> filter_nodes([graph.call_function(max, (1, 2)), graph.call_function(min, (1, 2))], max)
        [max_1]
    """
    targets = [fn, *(getattr(fn, name) for name in fn.overloads())] if hasattr(fn, "overloads") else [fn]
    return [node for node in nodes if node.target in targets]


def get_arg_value(node: Node, arg_number: int, kwarg_name: str | None = None) -> Any:
    """An argument of a node, which the call gives by position or by name.

    Args:
        node: the node.
        arg_number: the position.
        kwarg_name: the name.

    Returns:
        The argument; None if the call has none.

    Example:
        >>> get_arg_value(Graph().call_function(max, (1, 2)), 1)
        2
    """
    if len(node.args) > arg_number:
        return node.args[arg_number]
    return None if kwarg_name is None else node.kwargs.get(kwarg_name)
