"""Writes in graphs. A match must not reach over a write, because values before and after it differ."""

from __future__ import annotations

from typing import Any

from tl_compiler.fx import Graph, GraphModule, Node

__all__ = [
    "clone_graph",
    "compute_mutation_region_ids",
    "get_mutation_region_id",
    "is_mutation_op",
    "same_mutation_regions",
    "should_compute_mutation_region_ids",
]

_STATE = frozenset({"_set_grad_enabled", "manual_seed", "_enter_autocast", "_exit_autocast"})
_KEY = "mutation_region_id"


def is_mutation_op(node: Node) -> bool:
    """Whether a node writes to an argument, or changes the state of the thread or of the generator.

    Args:
        node: the node.

    Example:
        >>> graph = Graph()
        >>> x = graph.placeholder("x")
        >>> is_mutation_op(graph.call_method("relu_", (x,))), is_mutation_op(graph.call_method("relu", (x,)))
        (True, False)
    """
    if node.op not in ("call_function", "call_method"):
        return False
    if node.kwargs.get("out") is not None:
        return True
    schemas = _schemas(node.target)
    if schemas:
        return any(schema.is_mutable for schema in schemas)
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    return name in _STATE or (name.endswith("_") and not name.endswith("__"))


def _schemas(target: Any) -> list[Any]:
    """The schema of an operator, or those of all overloads."""
    if hasattr(target, "_schemas"):
        return list(target._schemas.values())
    return [target._schema] if hasattr(target, "_schema") else []


def compute_mutation_region_ids(graph: Graph) -> None:
    """Notes for each node how many writes stand before it, the node's own included.

    Args:
        graph: the graph.
    """
    region = 0
    for node in graph.nodes:
        region += is_mutation_op(node)
        node.meta[_KEY] = region


def should_compute_mutation_region_ids(graph: Graph) -> bool:
    """Whether the numbers of the regions aren't noted yet.

    Args:
        graph: the graph.
    """
    return _KEY not in next(iter(graph.nodes)).meta


def get_mutation_region_id(graph: Graph, node: Node) -> int:
    """The number of the region between two writes in which a node is. A new node is in the region before it.

    Args:
        graph: the graph.
        node: the node.
    """
    unnoted = []
    at = node
    while _KEY not in at.meta and at.op != "root":
        unnoted.append(at)
        at = at.prev
    region = int(at.meta.get(_KEY, 0))
    for after in reversed(unnoted):
        region += is_mutation_op(after)
        after.meta[_KEY] = region
    return region


def same_mutation_regions(a: Node, b: Node) -> bool:
    """Whether no write is between two nodes.

    Args:
        a, b: the nodes.
    """
    return bool(a.meta[_KEY] == b.meta[_KEY])


def clone_graph(input_graph: GraphModule) -> GraphModule:
    """A copy of a graph module, whose nodes have the names and notes of the original ones.

    Args:
        input_graph: the graph module.
    """
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in input_graph.graph.nodes:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    return GraphModule(input_graph, graph)
