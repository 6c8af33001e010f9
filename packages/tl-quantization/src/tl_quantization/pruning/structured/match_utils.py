"""Chains of nodes that match a pattern: classes of modules, functions and names of targets."""

from __future__ import annotations

from typing import Any

from tl_compiler.fx import Node
from tl_nn import Module
from tl_nn.utils import parametrize

from ...backend_config.wildcard import MatchAllNode

__all__ = ["apply_match"]


def apply_match(
    modules: dict[str, Any], pattern: Any, node: Any, matched_node_pattern: list[Node]
) -> list[Node] | None:
    """The nodes from a node on that match a pattern, or None.

    The chain continues with the first user of each node.

    Args:
        modules: the modules of the graph by name.
        pattern: an entry or a tuple of entries: a class of modules, a function, the name of a target, `MatchAllNode`.
        node: the first node.
        matched_node_pattern: nodes that the result begins with.

    Example:
        >>> import tl_nn
        >>> from tl_compiler.fx import symbolic_trace
        >>> traced = symbolic_trace(tl_nn.Sequential(tl_nn.Linear(2, 2), tl_nn.ReLU()))
        >>> first = list(traced.graph.nodes)[1]
        >>> apply_match(dict(traced.named_modules()), (tl_nn.Linear, tl_nn.ReLU), first, [])
        [_0, _1]
    """
    entries = pattern if isinstance(pattern, tuple) else (pattern,)
    result = list(matched_node_pattern) if isinstance(pattern, tuple) else []
    for i, entry in enumerate(entries):
        if i:
            node = next(iter(node.users), None) if isinstance(node, Node) else None
            if node is None:
                return None
        if not _match(modules, node, entry):
            return None
        result.append(node)
    return result


def _match(modules: dict[str, Any], node: Any, current: Any) -> bool:
    """Whether a node matches one entry of a pattern."""
    if isinstance(current, type) and issubclass(current, MatchAllNode):
        return True
    if not isinstance(node, Node):
        return False
    if isinstance(current, type) and issubclass(current, Module):
        if node.op != "call_module":
            return False
        return bool(parametrize.type_before_parametrizations(modules[str(node.target)]) == current)
    if callable(current):
        return node.op == "call_function" and node.target is current
    return isinstance(current, str) and node.target == current
