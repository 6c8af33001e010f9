"""Operators turned into their in-place forms, where nobody needs the old value."""

from __future__ import annotations

from typing import Any

import tl_core

from ..graph_module import GraphModule
from ..interpreter import Interpreter
from ..node import Node

__all__ = ["reinplace"]


class _Storages(Interpreter):
    """Runs a graph and notes which memory each value has."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.storages: dict[Node, set[int]] = {}
        self.values: list[Any] = []

    def run_node(self, n: Node) -> Any:
        """Runs a node.

        Args:
            n: the node.

        Returns:
            Its value.
        """
        result = super().run_node(n)
        self.values.append(result)
        values = result if isinstance(result, (list, tuple)) else [result]
        self.storages[n] = {v.untyped_storage().data_ptr() for v in values if isinstance(v, tl_core.Tensor)}
        if isinstance(result, tl_core.Tensor):
            n.meta.setdefault("reinplace", (result.shape, result.dtype, result.device))
        return result


def _inplace_target(node: Node) -> Any:
    """What a node would call in place, if there is such an operator."""
    if node.op == "call_method" and not str(node.target).endswith("_"):
        name = f"{node.target}_"
        return name if hasattr(tl_core.Tensor, name) else None
    if node.op != "call_function":
        return None
    packet: Any = getattr(node.target, "overloadpacket", None)
    if packet is None:
        return None
    from tl_core.operators import packets as ops

    try:
        inplace_packet = getattr(ops.aten, f"{packet.__name__}_")
    except AttributeError:
        return None
    return getattr(inplace_packet, getattr(node.target, "_overloadname", "default"), None)


def reinplace(gm: GraphModule, *sample_args: Any) -> GraphModule:
    """Lets operators write into their first argument where its memory is the graph's own and isn't read any more.

    Args:
        gm: the module; its graph is changed.
        sample_args: inputs, with which the graph is run once to see which values share memory.

    Returns:
        The module.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> made = reinplace(symbolic_trace(lambda x: x.clone().neg()), tl_core.ones(2))
        >>> [node.target for node in made.graph.nodes if node.op == "call_method"]
        ['clone', 'neg_']
    """
    probe = _Storages(gm)
    probe.run(*sample_args)
    order = {node: i for i, node in enumerate(gm.graph.nodes)}
    inputs: set[int] = set()
    for node in gm.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            inputs |= probe.storages.get(node, set())
    for node in list(gm.graph.nodes):
        target = _inplace_target(node)
        if target is None or not node.args or not isinstance(node.args[0], Node):
            continue
        own = node.args[0]
        memory = probe.storages.get(own, set())
        if not memory or memory & inputs or memory & probe.storages.get(node, set()):
            continue
        if own.meta.get("reinplace") != node.meta.get("reinplace") or _is_overlapping(probe.env.get(own)):
            continue
        sharing = [n for n, storages in probe.storages.items() if storages & memory]
        read_later = any(user is not node and order[user] > order[node] for n in sharing for user in n.users)
        read_beside = any(n is not own and node in n.users for n in sharing)
        if read_later or read_beside or list(node.all_input_nodes).count(own) > 1 or own in node.args[1:]:
            continue
        node.target = target
        for holder, storages in list(probe.storages.items()):
            if storages & probe.storages[node]:
                probe.storages[holder] = storages | memory
    for node in gm.graph.nodes:
        node.meta.pop("reinplace", None)
    gm.recompile()
    return gm


def _is_overlapping(value: Any) -> bool:
    """Whether several elements of a tensor share memory."""
    if not isinstance(value, tl_core.Tensor):
        return True
    return any(size > 1 and stride == 0 for size, stride in zip(value.shape, value.stride(), strict=True))
