"""Changes of recorded graphs."""

from __future__ import annotations

from typing import Any

from tl_core.dispatch import grad_mode
from tl_core.operators.packets import OpOverload

from ..fx.node import Node
from .schemas import schema_of

__all__ = ["eliminate_dead", "has_effect"]

_CHECKS = ("_assert", "sym_constrain_range")
_NORMALIZATIONS = frozenset(["batch_norm", "instance_norm", "native_batch_norm"])


def has_effect(node: Node) -> bool:
    """Whether a node does more than compute its value.

    Args:
        node: the node.
    """
    if node.op in ("placeholder", "output"):
        return True
    if node.op != "call_function":
        return node.op != "get_attr"
    target: Any = node.target
    if isinstance(target, OpOverload):
        name = target.overloadpacket.__name__
        return schema_of(target).writes or name.startswith(_CHECKS) or _updates_statistics(name, node)
    return target is grad_mode.switch or bool(getattr(target, "has_effect", False))


def _updates_statistics(name: str, node: Node) -> bool:
    """Whether a node is a normalization that writes to running statistics, which its schema doesn't say."""
    if name not in _NORMALIZATIONS:
        return False
    args = (*node.args, *(None,) * 6)
    mean = node.kwargs.get("running_mean", args[3])
    return mean is not None and bool(node.kwargs.get("training", args[5]))


def eliminate_dead(graph: Any) -> None:
    """Removes the nodes whose values nobody uses and which have no effect.

    Args:
        graph: the graph.
    """
    for node in reversed(list(graph.nodes)):
        if not node.users and not has_effect(node):
            graph.erase_node(node)
