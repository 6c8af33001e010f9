"""The pass from dequantize, layer and quantize to layers of integers. It needs no compiler."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import tl_core
from tl_compiler.fx import GraphModule, Node
from tl_core.operators import packets

from ..dtypes import qint8, quint8
from ..tensor_quantizer import PerChannel, PerTensor
from .constant_fold import drop_unread
from .graph_facts import argument, attribute, is_call
from .integer_layers import (
    IntegerConvolution,
    IntegerLinear,
    IntegerLinearToFloat,
    pack_convolution,
    pack_linear,
)

__all__ = ["lower_pt2e_quantized_to_x86", "lower_to_integers"]

aten = packets.aten
_CONVS = (aten.conv1d.default, aten.conv2d.default, aten.conv3d.default)
_RELUS = (aten.relu.default, aten.relu_.default)
_BYTES = {tl_core.uint8: (quint8, 0, 255), tl_core.int8: (qint8, -128, 127)}


def lower_to_integers(model: GraphModule) -> GraphModule:
    """A copy of a quantized model whose linear layers and convolutions run on integer kernels.

    A layer is replaced if its input and weight are dequantized with constant scales, with a weight of int8 and an
    input of uint8 or int8. With a quantize of the same type behind it, and a ReLU in between, the layer returns
    integers. A linear layer without one returns floating numbers. All other operators stay.

    Args:
        model: a model of `convert_pt2e` with folded weights.

    Raises:
        TypeError: it isn't a graph module.

    Example:
        >>> import tl_core, tl_nn as nn
        >>> from tl_compiler.export import export_for_training
        >>> from tl_quantization.quantize_pt2e import convert_pt2e, prepare_pt2e
        >>> from tl_quantization.quantizer.x86_inductor_quantizer import (
        ...     X86InductorQuantizer, get_default_x86_inductor_quantization_config)
        >>> x, net = tl_core.rand(8, 16), nn.Linear(16, 4).eval()
        >>> quantizer = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config())
        >>> observed = prepare_pt2e(export_for_training(net, (x,)).module(), quantizer)
        >>> _ = observed(x)
        >>> fast = lower_to_integers(convert_pt2e(observed))
        >>> float((fast(x) - net(x)).abs().max()) < 0.05
        True
    """
    if not isinstance(model, GraphModule):
        raise TypeError(f"model must be a graph module of convert_pt2e, but got {type(model).__name__}")
    model = deepcopy(model)
    for node in list(model.graph.nodes):
        if is_call(node, (aten.linear.default, *_CONVS)):
            _lower(model, node)
    model.graph.eliminate_dead_code()
    drop_unread(model)
    model.recompile()
    return model


def lower_pt2e_quantized_to_x86(model: GraphModule, example_inputs: tuple[Any, ...]) -> GraphModule:
    """The same as `lower_to_integers`, under PyTorch's name.

    Args:
        model: a model of `convert_pt2e`.
        example_inputs: of no effect: the kernels fit all shapes.
    """
    return lower_to_integers(model)


def _source(node: Any) -> tuple[Node, PerTensor] | None:
    """The integers behind a dequantize with one constant scale, and how they are quantized."""
    ops = packets.quantized_decomposed
    if not is_call(node, (ops.dequantize_per_tensor.default,)):
        return None
    quantizer = _quantizer(node)
    return None if quantizer is None else (node.args[0], quantizer)


def _quantizer(node: Node) -> PerTensor | None:
    _, scale, zero_point, low, high, dtype = node.args[:6]
    kind = _BYTES.get(dtype)
    if kind is None or kind[1:] != (low, high):
        return None
    return PerTensor(float(scale), int(zero_point), kind[0])


def _weight(model: GraphModule, node: Any) -> tuple[Any, Any] | None:
    """The integers of a weight and their scales, along the first axis if there are several."""
    ops = packets.quantized_decomposed
    if is_call(node, (ops.dequantize_per_tensor.default,)):
        integers = attribute(model, node.args[0])
        quantizer: Any = PerTensor(float(node.args[1]), int(node.args[2]), qint8)
    elif is_call(node, (ops.dequantize_per_channel.default,)) and node.args[3] == 0:
        integers = attribute(model, node.args[0])
        scales, zeros = (attribute(model, arg) for arg in node.args[1:3])
        if scales is None or zeros is None:
            return None
        quantizer = PerChannel(scales, zeros, 0, qint8)
    else:
        return None
    return (integers, quantizer) if integers is not None and integers.dtype is tl_core.int8 else None


def _lower(model: GraphModule, node: Node) -> None:
    source, weight = _source(node.args[0]), _weight(model, node.args[1])
    bias_node = argument(node, 2, "bias")
    bias = attribute(model, bias_node)
    if source is None or weight is None or (bias_node is not None and bias is None):
        return
    last, relu = node, False
    users = list(node.users)
    if len(users) == 1 and is_call(users[0], _RELUS):
        last, relu = users[0], True
    integers, quantizer = source
    target = _target(last, quantizer)
    layer = _layer(node, weight, bias, quantizer, target, relu)
    if layer is None:
        return
    name = f"integer_{node.name}"
    setattr(model, name, layer)
    with model.graph.inserting_before(node):
        call = model.graph.call_module(name, (integers,))
    call.meta.update(last.meta)
    if target is None or isinstance(layer, IntegerLinearToFloat):
        last.replace_all_uses_with(call)
        return
    next(iter(last.users)).replace_all_uses_with(call)


def _target(last: Node, source: PerTensor) -> PerTensor | None:
    """How the quantize behind a layer rounds, if the layer's result goes there alone and has the type of its input."""
    ops = packets.quantized_decomposed
    users = list(last.users)
    if len(users) != 1 or not is_call(users[0], (ops.quantize_per_tensor.default,)):
        return None
    target = _quantizer(users[0])
    return target if target is not None and target.dtype is source.dtype else None


def _layer(
    node: Node, weight: Any, bias: Any, source: PerTensor, target: PerTensor | None, relu: bool
) -> Any:
    integers, quantizer = weight
    if node.target is aten.linear.default:
        if target is not None:
            return IntegerLinear(pack_linear(integers, quantizer, bias), source, target, relu)
        if isinstance(quantizer, PerChannel):
            is_symmetric, scales = not bool(quantizer.zero_points.any()), quantizer.scales
        else:
            is_symmetric, scales = quantizer.zero_point == 0, tl_core.tensor([quantizer.scale])
        return IntegerLinearToFloat(integers, scales, bias, source, relu) if is_symmetric else None
    axes = integers.dim() - 2
    groups = argument(node, 6, "groups", 1)
    if target is None or axes == 0:
        return None
    windows = tuple(
        _each(argument(node, i, key, default), axes)
        for i, key, default in ((3, "stride", 1), (4, "padding", 0), (5, "dilation", 1))
    )
    packed = pack_convolution(integers, quantizer, bias, groups)
    return IntegerConvolution(packed, windows, source, target, relu)


def _each(value: Any, axes: int) -> tuple[int, ...]:
    values = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    return values if len(values) == axes else values * axes
