"""Insertion of a graph in place of the nodes of a match."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from tl_compiler.fx import Graph, GraphModule, Node
from tl_compiler.fx.node import map_arg
from tl_core.pytree import tree_leaves

from .ordering import is_in_order, stable_topological_sort

__all__ = ["insert_graph"]

# What a node tells of its place in the program, which its replacement has as well.
_ORIGIN = (
    "stack_trace",
    "nn_module_stack",
    "source_fn_stack",
    "recompute",
    "ac_graph_id",
    "mutation_region_id",
)


def insert_graph(match: Any, replacement: Graph | GraphModule, args: Sequence[Any]) -> None:
    """Puts the nodes of a graph in place of the nodes of a match.

    Args:
        match: the match.
        replacement: the graph, whose results stand for the results of the pattern.
        args: the values of its inputs.

    Raises:
        RuntimeError: the graph has another number of results than the pattern.
    """
    graph: Graph = match.graph
    source = replacement.graph if isinstance(replacement, GraphModule) else replacement
    outputs = match.output_nodes()
    position = {node: i for i, node in enumerate(graph.nodes)}
    first = min((n for n in outputs if n is not None), key=position.__getitem__)
    with graph.inserting_before(first):
        results = tree_leaves(_copy(source, replacement, graph, args, first))
    if len(results) != len(outputs):
        raise RuntimeError(
            f"the replacement must have {len(outputs)} results, as the pattern has, but got {len(results)}"
        )
    for old, new in zip(outputs, results, strict=True):
        if old is not None and old is not new:
            _replace(old, new)
    match.erase_nodes()
    if not is_in_order(graph):  # an argument is computed after the first result of the pattern
        stable_topological_sort(graph)


def _copy(source: Graph, module: Any, graph: Graph, args: Sequence[Any], origin: Node) -> Any:
    """Copies the nodes of a graph, and returns its results."""
    values: dict[Node, Any] = {}
    inputs = iter(args)
    for node in source.nodes:
        if node.op == "placeholder":
            values[node] = next(inputs)
        elif node.op == "output":
            return map_arg(node.args[0], values.__getitem__)
        else:
            copied = graph.node_copy(node, values.__getitem__)
            if node.op in ("get_attr", "call_module"):
                copied.target = _own_attribute(graph.owning_module, module, str(node.target))
            for name in _ORIGIN:
                if name in origin.meta:
                    copied.meta.setdefault(name, origin.meta[name])
            values[node] = copied
    return ()


def _own_attribute(owner: Any, module: Any, path: str) -> str:
    """The name under which the owner of the graph has an attribute of the replacement."""
    value = module
    for part in path.split("."):
        value = getattr(value, part)
    name = base = "_replacement_" + path.replace(".", "_")
    number = 0
    while hasattr(owner, name):
        if getattr(owner, name) is value:
            return name
        number += 1
        name = f"{base}_{number}"
    setattr(owner, name, value)
    return name


def _replace(old: Node, new: Any) -> None:
    """Gives the users of a node another value: a node, a constant, or the several results of an operator."""
    if new is None:
        return
    if isinstance(new, tuple | list):
        for user in list(old.users):
            if user.target is not operator.getitem:
                raise RuntimeError(f"{user} reads {old} as a whole, but the replacement has several results")
            _replace(user, new[user.args[1]])
    elif isinstance(new, Node):
        if "val" not in new.meta:
            new.meta.update({name: value for name, value in old.meta.items() if name not in new.meta})
        old.replace_all_uses_with(new)
    else:
        for user in list(old.users):
            user.args = map_arg(user.args, lambda n: new if n is old else n)
            user.kwargs = map_arg(user.kwargs, lambda n: new if n is old else n)
    if not old.users:
        old.graph.erase_node(old)
