"""Passes over graphs without writes, which PyTorch runs before patterns are matched."""

from __future__ import annotations

from typing import Any

from tl_compiler.fx import Graph, Node
from tl_core import Tensor
from tl_core.operators.packets import aten

__all__ = ["remove_noop_ops", "view_to_reshape"]

_COPIES = frozenset({aten.clone.default, aten.alias.default})


def view_to_reshape(gm: Any) -> None:
    """Replaces each `view` by `reshape`, which also takes tensors of other strides.

    Args:
        gm: the graph module.
    """
    for node in gm.graph.nodes:
        if node.op == "call_function" and node.target is aten.view.default:
            node.target = aten.reshape.default


def remove_noop_ops(graph: Graph) -> None:
    """Removes the operators that return their first argument: expansions, slices, additions of nothing.

    Args:
        graph: the graph.
    """
    inputs = {node for node in graph.nodes if node.op == "placeholder"}
    results = set(graph.output_node().all_input_nodes)
    is_written = any(_writes(node) for node in graph.nodes)
    for node in list(graph.nodes):
        source = _source(node)
        if source is None or not _is_equal(node.meta.get("val"), source.meta.get("val")):
            continue
        if source in inputs and node in results:  # a result must not be an input
            continue
        if is_written and node.target in _COPIES:
            continue
        node.replace_all_uses_with(source)
        graph.erase_node(node)
        if node in results:
            results.add(source)


def _source(node: Node) -> Node | None:
    """The argument that an operator returns; None if it computes."""
    if node.op != "call_function" or not node.args or not isinstance(node.args[0], Node):
        return None
    rest = node.args[1:]
    if node.target in (aten.add.Tensor, aten.sub.Tensor):
        unchanged = rest == (0,) and node.kwargs.get("alpha", 1) == 1
    elif node.target in (aten.mul.Tensor, aten.div.Tensor, aten.pow.Tensor_Scalar):
        unchanged = rest == (1,)
    elif node.target is aten.slice.Tensor:
        unchanged = rest[3:] in ((), (1,))
    else:
        unchanged = node.target in _COPIES or node.target is aten.expand.default
    return node.args[0] if unchanged else None


def _is_equal(result: Any, source: Any) -> bool:
    """Whether two tensors have the same sizes, strides, type and device, so that one can stand for the other."""
    if not (isinstance(result, Tensor) and isinstance(source, Tensor)):
        return False
    if result.layout != source.layout or result.is_sparse or result.shape != source.shape:
        return False
    shares_offset = result.device == source.device and result.storage_offset() == source.storage_offset()
    return shares_offset and result.dtype == source.dtype and result.stride() == source.stride()


def _writes(node: Node) -> bool:
    return bool(getattr(getattr(node.target, "_schema", None), "is_mutable", False))
