"""Moves of quantize and dequantize over operators that only move or compare numbers, so that layers meet integers."""

from __future__ import annotations

from typing import Any

from tl_compiler.fx import Graph, Node
from tl_core.operators import packets

from .graph_facts import CONVS, is_call

__all__ = ["merge_quantizes", "quantize_earlier", "return_integers_later"]

aten = packets.aten
_RELUS = (aten.relu.default, aten.relu_.default)
# Operators whose results are some of their numbers, so that rounding before or after them gives the same.
_MOVES = frozenset(
    {
        aten.contiguous.default,
        aten.flatten.using_ints,
        aten.max_pool1d.default,
        aten.max_pool2d.default,
        aten.max_pool3d.default,
        aten.permute.default,
        aten.reshape.default,
        aten.select.int,
        aten.slice.Tensor,
        aten.squeeze.dim,
        aten.squeeze.dims,
        aten.t.default,
        aten.transpose.int,
        aten.unflatten.int,
        aten.unsqueeze.default,
        aten.view.default,
    }
)


def merge_quantizes(graph: Graph) -> None:
    """Lets equal quantize nodes of one value become one, and replaces a quantize of its own dequantize by the integers.

    Args:
        graph: the graph, which is changed.
    """
    ops = packets.quantized_decomposed
    first: dict[Any, Node] = {}
    for node in list(graph.nodes):
        if not is_call(node, (ops.quantize_per_tensor.default,)):
            continue
        source = node.args[0]
        if is_call(source, (ops.dequantize_per_tensor.default,)) and source.args[1:6] == node.args[1:6]:
            _replace(node, source.args[0])
            continue
        same = first.setdefault(node.args, node)
        if same is not node:
            _replace(node, same)


def _replace(node: Node, value: Any) -> None:
    node.replace_all_uses_with(value)
    node.graph.erase_node(node)


def quantize_earlier(graph: Graph) -> None:
    """Moves each quantize over the moving operators between it and a layer: the layer then returns integers.

    Args:
        graph: the graph, which is changed.
    """
    ops = packets.quantized_decomposed
    for node in list(graph.nodes):
        if not is_call(node, (ops.quantize_per_tensor.default,)):
            continue
        first = node.args[0]
        while is_call(first, _MOVES) and len(first.users) == 1:
            first = first.args[0]
        if first is node.args[0] or not _is_layer(first) or len(first.users) != 1:
            continue
        with graph.inserting_after(first):
            early = graph.create_node("call_function", node.target, (first, *node.args[1:]))
        early.meta.update(node.meta)
        moved = next(user for user in first.users if user is not early)
        moved.replace_input_with(first, early)
        _replace(node, node.args[0])


def _is_layer(node: Any) -> bool:
    if is_call(node, _RELUS) and len(node.args[0].users) == 1:
        node = node.args[0]
    return is_call(node, (aten.linear.default, *CONVS))


def return_integers_later(graph: Graph) -> None:
    """Moves each dequantize behind the moving operators that read it, and behind a `cat` of equal ones.

    Args:
        graph: the graph, which is changed.
    """
    for node in list(graph.nodes):
        if is_call(node, _MOVES):
            _move(graph, node, [node.args[0]], lambda inputs, rest: (inputs[0], *rest))
        elif is_call(node, (aten.cat.default,)):
            _move(graph, node, list(node.args[0]), lambda inputs, rest: (inputs, *rest))


def _move(graph: Graph, node: Node, sources: list[Any], arguments: Any) -> None:
    ops = packets.quantized_decomposed
    if not sources or not all(is_call(each, (ops.dequantize_per_tensor.default,)) for each in sources):
        return
    first = sources[0]
    if any(each.args[1:] != first.args[1:] or each.kwargs != first.kwargs for each in sources):
        return
    with graph.inserting_before(node):
        integers = graph.create_node(
            "call_function",
            node.target,
            arguments([each.args[0] for each in sources], node.args[1:]),
            dict(node.kwargs),
        )
        result = graph.create_node(
            "call_function", first.target, (integers, *first.args[1:]), dict(first.kwargs)
        )
    result.meta.update(node.meta)
    _replace(node, result)
