"""Chains of operators that count as one layer, and whether nodes are such a chain."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_nn as nn
from tl_compiler.fx import GraphModule, Node
from tl_nn import functional as F

from ..backend_config import get_native_backend_config
from ..fake_quantize import FakeQuantizeBase
from ..graph.match_utils import canonical
from ..observer_base import ObserverBase
from .results import NSNodeTargetType

__all__ = ["end_node_matches_reversed_fusion", "get_reversed_fusions", "get_type_a_related_to_b"]

_WATCHERS = (ObserverBase, FakeQuantizeBase)


def get_type_a_related_to_b(
    base_name_to_sets_of_related_ops: dict[str, set[NSNodeTargetType]],
) -> set[tuple[NSNodeTargetType, NSNodeTargetType]]:
    """The pairs of operators that share a set, in both orders.

    Args:
        base_name_to_sets_of_related_ops: the sets by name.

    Example:
        >>> sorted(get_type_a_related_to_b({"0": {"relu", "relu_"}}))
        [('relu', 'relu'), ('relu', 'relu_'), ('relu_', 'relu'), ('relu_', 'relu_')]
    """
    return {(a, b) for each in base_name_to_sets_of_related_ops.values() for a in each for b in each}


def _flat(pattern: Any) -> Any:
    """`(relu, (norm, conv))` as `(relu, norm, conv)`."""
    if (
        isinstance(pattern, tuple)
        and len(pattern) == 2
        and isinstance(pattern[1], tuple)
        and len(pattern[1]) == 2
    ):
        return pattern[0], *pattern[1]
    return pattern


def get_reversed_fusions() -> list[tuple[tuple[Any, ...], int]]:
    """The chains that count as one layer, the last operator first, each with the position of the operator that names
    it, counted from the chain's beginning.

    Example:
        >>> import tl_nn as nn
        >>> ((nn.BatchNorm2d, nn.Conv2d), 0) in get_reversed_fusions()
        True
    """
    result: list[tuple[tuple[Any, ...], int]] = []
    for pattern in map(_flat, get_native_backend_config()._pattern_complex_format_to_config):
        chain = pattern if isinstance(pattern, tuple) else (pattern,)
        if len(chain) > 1:
            result.append((chain, 0))
        result += [((watcher, *chain), 0) for watcher in _WATCHERS]
    chains: list[tuple[tuple[Any, ...], int]] = [
        ((("to", tl_core.float16), F.relu, F.linear, "dequantize"), 1),
        *(((norm, conv), 0) for norm, conv in _NORMS),
        *(((nn.ReLU, norm, conv), 0) for norm, conv in _NORMS),
    ]
    for chain, base in chains:
        result.append((chain, base))
        result += [((watcher, *chain), base) for watcher in _WATCHERS]
    return result


_NORMS = ((nn.BatchNorm1d, nn.Conv1d), (nn.BatchNorm2d, nn.Conv2d), (nn.BatchNorm3d, nn.Conv3d))


def end_node_matches_reversed_fusion(
    end_node: Node, reversed_fusion: tuple[Any, ...], gm: GraphModule, seen_nodes: set[Node]
) -> bool:
    """Whether a node is the end of a chain none of whose nodes is in another one.

    Args:
        end_node: the node.
        reversed_fusion: the chain, the last operator first.
        gm: the graph module.
        seen_nodes: the nodes of other chains.
    """
    node: Any = end_node
    for entry in reversed_fusion:
        if not isinstance(node, Node) or node in seen_nodes or not _is_call_of(node, entry, gm):
            return False
        node = node.args[0] if node.args else None
        if not isinstance(node, Node):
            return False
    return True


def _is_call_of(node: Node, entry: Any, gm: GraphModule) -> bool:
    if node.op == "call_function":
        return not isinstance(entry, (str, type)) and canonical(node.target) == entry
    if node.op == "call_module":
        return isinstance(entry, type) and isinstance(gm.get_submodule(str(node.target)), entry)
    if node.op != "call_method":
        return False
    if isinstance(entry, str):
        return bool(node.target == entry)
    is_pair = isinstance(entry, tuple) and len(entry) == 2 and len(node.args) > 1
    return is_pair and (node.target, node.args[1]) == entry
