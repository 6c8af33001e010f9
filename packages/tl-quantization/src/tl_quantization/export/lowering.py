"""The pass from dequantize, layer and quantize to layers of integers. It needs no compiler."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

import tl_core
from tl_compiler.compiler.graph_passes import register_graph_pass
from tl_compiler.fx import GraphModule, Node
from tl_core import Tensor
from tl_core.operators import packets

from ..dtypes import qint8, quint8
from ..tensor_quantizer import PerChannel, PerTensor
from .constant_fold import drop_unread
from .graph_facts import CONVS, argument, attribute, is_call
from .integer_layers import DynamicLinear, IntegerConvolution, IntegerLinear, pack_convolution, pack_linear
from .lower_embedding import lower_embedding
from .move_quantize import merge_quantizes, quantize_earlier, return_integers_later

__all__ = ["lower_pt2e_quantized_to_x86", "lower_to_integers"]

aten = packets.aten
_RELUS = (aten.relu.default, aten.relu_.default)
_BYTES = {tl_core.uint8: (quint8, 0, 255), tl_core.int8: (qint8, -128, 127)}
# The steps of an input that is rounded by its range, and whether one bit is left unused.
_STEPS = {255: False, 127: True}


def lower_to_integers(model: GraphModule) -> GraphModule:
    """A copy of a quantized model whose layers run on integer kernels.

    A linear layer or convolution is replaced if its input and weight are dequantized with constant scales, with a
    weight of int8 and an input of uint8 or int8. With a quantize of the same type behind it, and a ReLU in between, the
    layer returns integers, else floating numbers. A linear layer whose input is rounded by its range becomes a dynamic
    one, with the range that `quantize_dynamic` chooses. Embeddings read rows of integers. Operators that only move
    numbers, and max pooling, run on integers. All other operators stay.

    `compile` runs this pass over models of `convert_pt2e` when gradients are off.

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
    graph = model.graph
    return_integers_later(graph)
    quantize_earlier(graph)
    merge_quantizes(graph)
    for node in list(graph.nodes):
        if is_call(node, (aten.linear.default, *CONVS)):
            _lower(model, node)
        elif is_call(node, (aten.embedding.default,)):
            lower_embedding(model, node)
    graph.eliminate_dead_code()
    drop_unread(model)
    model.recompile()
    return model


register_graph_pass("quantized_decomposed", lower_to_integers)


def lower_pt2e_quantized_to_x86(model: GraphModule, example_inputs: tuple[Any, ...]) -> GraphModule:
    """The same as `lower_to_integers`, under PyTorch's name.

    Args:
        model: a model of `convert_pt2e`.
        example_inputs: of no effect: the kernels fit all shapes.
    """
    return lower_to_integers(model)


class _Layer(NamedTuple):
    """The parts of a layer that become one."""

    node: Node
    last: Node  # the layer or the ReLU behind it
    weight: Tensor
    quantizer: PerTensor | PerChannel
    bias: Tensor | None

    @property
    def relu(self) -> bool:
        return self.last is not self.node


def _lower(model: GraphModule, node: Node) -> None:
    layer = _layer(model, node)
    if layer is None:
        return
    source = _source(node.args[0])
    if source is not None:
        _lower_static(model, layer, *source)
    elif node.target is aten.linear.default:
        _lower_dynamic(model, layer)


def _layer(model: GraphModule, node: Node) -> _Layer | None:
    weight = _weight(model, node.args[1])
    bias_node = argument(node, 2, "bias")
    bias = attribute(model, bias_node)
    if weight is None or (bias_node is not None and bias is None):
        return None
    users = list(node.users)
    last = users[0] if len(users) == 1 and is_call(users[0], _RELUS) else node
    return _Layer(node, last, *weight, bias)


def _weight(model: GraphModule, node: Any) -> tuple[Tensor, PerTensor | PerChannel] | None:
    """The integers of a weight and their scales, along the first axis if there are several."""
    ops = packets.quantized_decomposed
    quantizer: PerTensor | PerChannel
    if is_call(node, (ops.dequantize_per_tensor.default,)):
        quantizer = PerTensor(float(node.args[1]), int(node.args[2]), qint8)
    elif is_call(node, (ops.dequantize_per_channel.default,)) and node.args[3] == 0:
        scales, zeros = (attribute(model, arg) for arg in node.args[1:3])
        if scales is None or zeros is None or zeros.is_floating_point():
            return None
        quantizer = PerChannel(scales, zeros, 0, qint8)
    else:
        return None
    integers = attribute(model, node.args[0])
    return (integers, quantizer) if integers is not None and integers.dtype is tl_core.int8 else None


# ---- inputs with constant scales
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


def _target(last: Node, source: PerTensor) -> PerTensor | None:
    """How the quantize behind a layer rounds, if the layer's result goes there alone and has the type of its input."""
    ops = packets.quantized_decomposed
    users = list(last.users)
    if len(users) != 1 or not is_call(users[0], (ops.quantize_per_tensor.default,)):
        return None
    target = _quantizer(users[0])
    return target if target is not None and target.dtype is source.dtype else None


def _lower_static(model: GraphModule, layer: _Layer, integers: Node, source: PerTensor) -> None:
    target = _target(layer.last, source)
    node = layer.node
    module: IntegerLinear | IntegerConvolution
    if node.target is aten.linear.default:
        module = IntegerLinear(
            pack_linear(layer.weight, layer.quantizer, layer.bias), source, target, layer.relu
        )
    else:
        axes = layer.weight.dim() - 2
        groups = argument(node, 6, "groups", 1)
        windows = tuple(
            _each(argument(node, i, key, default), axes)
            for i, key, default in ((3, "stride", 1), (4, "padding", 0), (5, "dilation", 1))
        )
        packed = pack_convolution(layer.weight, layer.quantizer, layer.bias, groups)
        module = IntegerConvolution(packed, windows, source, target, layer.relu)
    _put(model, layer, module, integers, layer.last if target is None else next(iter(layer.last.users)))


def _each(value: Any, axes: int) -> tuple[int, ...]:
    values = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    return values if len(values) == axes else values * axes


def _put(model: GraphModule, layer: _Layer, module: Any, source: Any, replaced: Node) -> None:
    name = f"integer_{layer.node.name}"
    setattr(model, name, module)
    with model.graph.inserting_before(layer.node):
        call = model.graph.call_module(name, (source,))
    call.meta.update(replaced.meta)
    replaced.replace_all_uses_with(call)


# ---- inputs that are rounded by their range
def _lower_dynamic(model: GraphModule, layer: _Layer) -> None:
    ops = packets.quantized_decomposed
    node: Any = layer.node.args[0]
    if not is_call(node, (ops.dequantize_per_tensor.tensor,)):
        return
    integers = node.args[0]
    if not is_call(integers, (ops.quantize_per_tensor.tensor,)) or integers.args[1:] != node.args[1:]:
        return
    x, scale, zero_point, low, high = integers.args[:5]
    params: Any = scale.args[0] if isinstance(scale, Node) and scale.args else None
    if not is_call(params, (ops.choose_qparams.tensor,)) or params.args[:3] != (x, low, high):
        return
    if zero_point.args[0] is not params or high - low not in _STEPS:
        return
    packed = pack_linear(layer.weight, layer.quantizer, layer.bias)
    _put(model, layer, DynamicLinear(packed, _STEPS[high - low], layer.relu), x, layer.last)
