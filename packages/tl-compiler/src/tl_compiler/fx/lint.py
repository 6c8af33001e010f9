"""The checks of a graph: order, names, and the attributes of the owning module."""

from __future__ import annotations

from typing import Any

import tl_nn

from .node import Node

__all__ = ["has_attribute", "lint"]


def lint(graph: Any) -> None:
    """Raises unless a graph is well formed.

    Args:
        graph: the graph.

    Raises:
        RuntimeError: a node belongs to another graph or is used before it runs, two nodes have one name, or the owning
            module lacks an attribute of the graph.
    """
    defined: set[Node] = set()
    names: set[str] = set()
    for node in graph.nodes:
        for argument in node.all_input_nodes:
            if argument.graph is not graph:
                raise RuntimeError(
                    f"Argument '{argument}' of Node '{node}' does not belong to this Graph: node_copy's "
                    f"arg_transform maps the arguments of copies\n{graph}"
                )
            if argument not in defined:
                raise RuntimeError(
                    f"Argument '{argument}' of Node '{node}' was used before it has been defined\n{graph}"
                )
        if node.name in names:
            raise RuntimeError(f"Node redefined name {node.name}!")
        defined.add(node)
        names.add(node.name)
        if node.op in ("get_attr", "call_module") and graph.owning_module is not None:
            _check_target(node, graph.owning_module)


def _check_target(node: Node, owner: Any) -> None:
    target, missing = _follow(owner, str(node.target))
    if missing is not None:
        raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {missing}")
    if node.op == "call_module" and not isinstance(target, tl_nn.Module):
        raise RuntimeError(
            f"Node {node} target {node.target} does not reference an nn.Module: it is a {type(target)}"
        )


def has_attribute(module: Any, path: str) -> bool:
    """Whether a module has the attribute of a dotted path.

    Args:
        module: the module.
        path: the path.

    Example:
        >>> has_attribute(tl_nn.Sequential(tl_nn.Linear(1, 1)), "0.weight")
        True
    """
    return _follow(module, path)[1] is None


def _follow(owner: Any, path: str) -> tuple[Any, str | None]:
    """The last object on a dotted path, and the part of the path that it lacks or None."""
    for part in path.split("."):
        if not hasattr(owner, part):
            return owner, part
        owner = getattr(owner, part)
    return owner, None
