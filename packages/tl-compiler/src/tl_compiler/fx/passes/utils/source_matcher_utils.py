"""Nodes by the module or function of the program that they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tl_core.base.public_names import own_module_of

from ...graph import Graph
from ...node import Node

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@dataclass
class SourcePartition:
    """The nodes that one call of a module or function became.

    Args:
        nodes: the nodes.
        source: the module's class or the function.
        input_nodes: nodes outside that they use.
        output_nodes: those of them that nodes outside use.
        params: attributes that they read.

    Example:
        >>> import tl_nn
        >>> SourcePartition([], tl_nn.ReLU).source.__name__
        'ReLU'
    """

    nodes: list[Node]
    source: Any
    input_nodes: list[Node] = field(default_factory=list)
    output_nodes: list[Node] = field(default_factory=list)
    params: list[Node] = field(default_factory=list)


def _sources_of(node: Node) -> Iterator[tuple[str, Any]]:
    """The names of calls that a node may be of, each with the class or function; what a program said itself first."""
    stack = node.meta.get("source_fn_stack")
    if stack:
        yield stack[-1]
    if node.op in ("call_function", "call_method") and "torch_fn" in node.meta:
        name, called = node.meta["torch_fn"]
        yield name, called.partition(".")[2]
        modules = node.meta.get("nn_module_stack")
        if modules:
            call, (_, kind) = list(modules.items())[-1]  # each call of a module has a key of its own
            yield call, kind


def get_source_partitions(
    graph: Graph, wanted_sources: list[Any], filter_fn: Callable[[Node], bool] | None = None
) -> dict[Any, list[SourcePartition]]:
    """The parts of a graph that come from some modules or functions.

    Args:
        graph: the graph, whose nodes have `source_fn_stack` or `torch_fn` in their `meta`.
        wanted_sources: classes of modules, and functions.
        filter_fn: whether a part's output nodes count.

    Returns:
        For each source a list of its parts.

    Example:
        >>> import tl_nn
        >>> from tl_compiler.fx import symbolic_trace
        >>> get_source_partitions(symbolic_trace(lambda x: x + 1).graph, [tl_nn.Linear])
        {}
    """
    calls: dict[Any, dict[str, list[Node]]] = {}
    # The stack of modules has the names of classes.
    classes = {
        f"{module}.{kind.__qualname__}": kind
        for kind in wanted_sources
        if isinstance(kind, type)
        for module in (own_module_of(kind), kind.__module__)  # the second differs under the name torch
    }
    for node in graph.nodes:
        for name, source in _sources_of(node):
            source = classes.get(source, source) if isinstance(source, str) else source
            if source in wanted_sources:
                calls.setdefault(source, {}).setdefault(name, []).append(node)
                break
    parts = {
        source: [_part(nodes, source) for nodes in by_call.values()] for source, by_call in calls.items()
    }
    if filter_fn is not None:
        for source, found_parts in list(parts.items()):
            remaining = [part for part in found_parts if all(filter_fn(n) for n in part.output_nodes)]
            parts[source] = remaining
            if not remaining:
                del parts[source]
    return parts


def _part(nodes: list[Node], source: Any) -> SourcePartition:
    inputs: dict[Node, None] = {}
    outputs: dict[Node, None] = {}
    params: dict[Node, None] = {}
    for node in nodes:
        for used in node.args:
            if isinstance(used, Node) and used not in nodes:
                inputs[used] = None
        if node.op == "get_attr":
            params[node] = None
        for user in node.users:
            if user not in nodes:
                outputs[node] = None
    return SourcePartition(nodes, source, list(inputs), list(outputs), list(params))


def check_subgraphs_connected(subgraph1: SourcePartition, subgraph2: SourcePartition) -> bool:
    """Whether a part uses a value of another one.

    Args:
        subgraph1: the other one.
        subgraph2: the part that may use it.

    Returns:
        True if it does.
    """
    return any(node in subgraph1.nodes for user in reversed(subgraph2.nodes) for node in user.all_input_nodes)
