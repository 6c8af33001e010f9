"""Facts of graphs of aten operators: which nodes quantize, convolve or normalize, and their arguments."""

from __future__ import annotations

from typing import Any

import tl_nn as nn
from tl_compiler.fx import GraphModule, Node
from tl_core.operators import packets

from ..fake_quantize import FakeQuantizeBase
from ..observer_base import ObserverBase
from ..quantizer.quantizer import QuantizationAnnotation

__all__ = [
    "annotation_of",
    "argument",
    "arguments",
    "as_batch_norm",
    "as_conv",
    "as_conv_transpose",
    "attribute",
    "dequantize_ops",
    "has_annotation",
    "is_call",
    "observer_of",
    "quantize_ops",
    "set_attribute",
    "tensor_users",
]

aten = packets.aten

#: The targets of convolutions.
CONVS = frozenset({aten.conv1d.default, aten.conv2d.default, aten.conv3d.default})
#: The targets of transposed convolutions.
TRANSPOSED = frozenset(
    {aten.conv_transpose1d.default, aten.conv_transpose2d.input, aten.conv_transpose3d.input}
)
#: The targets of batch normalization.
NORMS = frozenset({aten.batch_norm.default})
_SIZES = (aten.sym_size.int, aten.sym_size.default)


def quantize_ops() -> tuple[Any, ...]:
    """The operators that return integers."""
    ops = packets.quantized_decomposed
    return (
        ops.quantize_per_tensor.default,
        ops.quantize_per_tensor.tensor,
        ops.quantize_per_tensor.tensor2,
        ops.quantize_per_channel.default,
    )


def dequantize_ops() -> tuple[Any, ...]:
    """The operators that return numbers of integers."""
    ops = packets.quantized_decomposed
    return (
        ops.dequantize_per_tensor.default,
        ops.dequantize_per_tensor.tensor,
        ops.dequantize_per_tensor.tensor2,
        ops.dequantize_per_channel.default,
    )


def is_call(node: Any, targets: Any) -> bool:
    """Whether a node calls one of some functions.

    Args:
        node: the node, or an argument.
        targets: the functions.
    """
    return isinstance(node, Node) and node.op == "call_function" and node.target in targets


def as_conv(node: Any) -> bool:
    """Whether a node is a convolution, not a transposed one.

    Args:
        node: the node, or an argument.
    """
    return is_call(node, CONVS)


def as_conv_transpose(node: Any) -> bool:
    """Whether a node is a transposed convolution.

    Args:
        node: the node, or an argument.
    """
    return is_call(node, TRANSPOSED)


def as_batch_norm(node: Any) -> bool:
    """Whether a node is a batch normalization.

    Args:
        node: the node, or an argument.
    """
    return is_call(node, NORMS)


def argument(node: Node, index: int, key: str, default: Any = None) -> Any:
    """An argument of a call, by position or by keyword.

    Args:
        node: the call.
        index: the position.
        key: the keyword.
        default: the value of an absent argument.
    """
    return node.args[index] if index < len(node.args) else node.kwargs.get(key, default)


def arguments(node: Node) -> list[Any]:
    """All arguments of a call of an operator by position, those of defaults too.

    Args:
        node: the call.
    """
    schema: Any = node.target._schema  # type: ignore[union-attr]  # of an overload
    return [
        argument(node, i, entry.name, getattr(entry, "default_value", None))
        for i, entry in enumerate(schema.arguments)
    ]


def attribute(model: Any, node: Any) -> Any:
    """The value that a node reads, or None for a node that reads no attribute.

    Args:
        model: the graph module.
        node: the node.
    """
    if not isinstance(node, Node) or node.op != "get_attr":
        return None
    value = model
    for part in str(node.target).split("."):
        value = getattr(value, part)
    return value


def set_attribute(model: Any, name: str, value: Any) -> None:
    """Stores a tensor under a dotted name, as a parameter or a buffer.

    Args:
        model: the graph module.
        name: the name.
        value: the tensor. A `Parameter` becomes a parameter.
    """
    *parents, last = name.split(".")
    for part in parents:
        model = getattr(model, part)
    for table in (model._parameters, model._buffers):
        table.pop(last, None)
    if isinstance(value, nn.Parameter):
        model.register_parameter(last, value)
    else:
        model.register_buffer(last, value)


def annotation_of(node: Any) -> QuantizationAnnotation | None:
    """The annotation of a node, or None.

    Args:
        node: the node.
    """
    value = node.meta.get("quantization_annotation")
    return value if isinstance(value, QuantizationAnnotation) else None


def has_annotation(node: Any) -> bool:
    """Whether a quantizer has specified integers for an argument or the result of a node.

    Args:
        node: the node.
    """
    value = annotation_of(node)
    return value is not None and (bool(value.input_qspec_map) or value.output_qspec is not None)


def tensor_users(node: Node) -> list[Node]:
    """The users of a node but those that read its size.

    Args:
        node: the node.
    """
    return [user for user in node.users if not is_call(user, _SIZES)]


def observer_of(node: Any, model: GraphModule) -> Any:
    """The observer or fake quantizer that a node calls, or None.

    Args:
        node: the node.
        model: the graph module.
    """
    if not isinstance(node, Node) or node.op != "call_module":
        return None
    module = model.get_submodule(str(node.target))
    return module if isinstance(module, (ObserverBase, FakeQuantizeBase)) else None
