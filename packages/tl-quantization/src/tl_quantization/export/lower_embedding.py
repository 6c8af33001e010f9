"""Embeddings whose weight stays integers: rows are read first and dequantized then."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_compiler.fx import GraphModule, Node
from tl_core.operators import packets

from .graph_facts import argument, is_call

__all__ = ["lower_embedding"]

aten = packets.aten


def lower_embedding(model: GraphModule, node: Node) -> None:
    """Replaces an embedding of a dequantized weight by the dequantized rows of the integers. The numbers are the same.

    Args:
        model: the model, whose graph is changed.
        node: the embedding.
    """
    ops, graph = packets.quantized_decomposed, model.graph
    weight: Any = node.args[0]
    indices = argument(node, 1, "indices")
    with graph.inserting_before(node):
        if is_call(weight, (ops.dequantize_per_tensor.default,)):
            rows = graph.create_node("call_function", node.target, (weight.args[0], indices))
            result = graph.create_node(
                "call_function", weight.target, (rows, *weight.args[1:]), dict(weight.kwargs)
            )
        elif is_call(weight, (ops.dequantize_per_channel.default,)) and weight.args[3] == 0:
            result = _rows_of_channels(graph, weight, indices)
        else:
            return
    result.meta.update(node.meta)
    node.replace_all_uses_with(result)


def _rows_of_channels(graph: Any, weight: Node, indices: Any) -> Node:
    """As `dequantize_per_channel`, of some rows: the integers minus their zero points, times their scales."""
    integers, scales, zeros = weight.args[:3]
    columns = []
    for vector in (scales, zeros):
        column = None
        if vector is not None:
            column = graph.call_function(aten.index.Tensor, (vector, [indices]))
            column = graph.call_function(aten.unsqueeze.default, (column, -1))
        columns.append(column)
    scale, zero = columns
    x = graph.call_function(aten.embedding.default, (integers, indices))
    if zero is not None:
        x = graph.call_function(aten.sub.Tensor, (x, zero))
    x = graph.call_function(aten.to.dtype, (x, tl_core.float32))
    x = graph.call_function(aten.mul.Tensor, (x, scale))
    return graph.call_function(aten.to.dtype, (x, tl_core.float32))
