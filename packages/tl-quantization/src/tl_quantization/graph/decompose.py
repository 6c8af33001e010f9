"""Quantize and dequantize of decomposed graphs: integers are plain tensors."""

from __future__ import annotations

import operator
from typing import Any

import tl_core
from tl_compiler.fx import GraphModule, Node
from tl_core.operators import packets

from ..dtypes import bounds, storage_dtype
from .attributes import new_attribute

__all__ = ["insert_decomposed"]


def insert_decomposed(model: GraphModule, node: Node, observer: Any, prefix: str) -> Node:
    """Inserts quantize and dequantize for an observer.

    Args:
        model: the graph module.
        node: the observer's call.
        observer: the observer.
        prefix: the beginning of the names of scales.

    Returns:
        The dequantize.
    """
    graph, source, ops = model.graph, node.args[0], packets.quantized_decomposed
    args: tuple[Any, ...]
    dtype = storage_dtype(observer.dtype)
    value = source.meta.get("val")
    number = tl_core.float32 if value is None else value.dtype
    named = {} if number is tl_core.float32 else {"out_dtype": number}
    if dtype is tl_core.float16:
        half = graph.call_function(ops.convert_element_type.no_fuse, (source, dtype))
        return graph.call_function(ops.convert_element_type.no_fuse, (half, number))
    low, high = getattr(observer, "quant_min", None), getattr(observer, "quant_max", None)
    low, high = bounds(observer.dtype) if low is None or high is None else (int(low), int(high))
    if getattr(observer, "is_dynamic", False):
        eps = float(getattr(observer, "eps", tl_core.finfo(tl_core.float32).eps))
        pair = graph.call_function(ops.choose_qparams.tensor, (source, low, high, eps, dtype))
        scale, zero = (graph.call_function(operator.getitem, (pair, i)) for i in (0, 1))
        args = (scale, zero, low, high, dtype)
        quantized = graph.call_function(ops.quantize_per_tensor.tensor, (source, *args))
        return graph.call_function(ops.dequantize_per_tensor.tensor, (quantized, *args), named)
    scale, zero = observer.calculate_qparams()
    if observer.qscheme.name.startswith("per_channel"):
        scales = new_attribute(model, f"{prefix}_scale_", scale)
        zeros = new_attribute(model, f"{prefix}_zero_point_", zero)
        args = (scales, zeros, int(observer.ch_axis), low, high, dtype)
        quantized = graph.call_function(ops.quantize_per_channel.default, (source, *args))
        return graph.call_function(ops.dequantize_per_channel.default, (quantized, *args), named)
    args = (float(scale), int(zero), low, high, dtype)
    quantized = graph.call_function(ops.quantize_per_tensor.default, (source, *args))
    return graph.call_function(ops.dequantize_per_tensor.default, (quantized, *args), named)
