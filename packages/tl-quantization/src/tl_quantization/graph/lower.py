"""From dequantize, float layer and quantize to the integer layer: the passes run one after another over the graph."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tl_core
from tl_compiler.fx import GraphModule, Node
from tl_core.operators import packets
from tl_nn import functional as F

from ..functions import quantize_per_channel, quantize_per_tensor, quantize_per_tensor_dynamic
from ..nn.intrinsic.modules.fused import _FusedModule
from . import lowered_layers as layers
from .attributes import evaluate, is_constant, new_attribute, read_attribute
from .graph_module import QuantizedGraphModule
from .match_utils import canonical

__all__ = ["lower"]


@dataclass
class _Lowering:
    """A graph that is lowered."""

    model: Any
    scopes: dict[str, tuple[str, Any]]
    keep_original_weights: bool = False

    @property
    def graph(self) -> Any:
        """The graph."""
        return self.model.graph

    def module(self, node: Any) -> Any:
        """The module that a node calls, or None."""
        if isinstance(node, Node) and node.op == "call_module":
            return self.model.get_submodule(str(node.target))
        return None

    def set_module(self, node: Node, module: Any) -> None:
        """Replaces the module that a node calls. Other calls of it keep theirs: each has a scale of its own."""
        parent, _, last = str(node.target).rpartition(".")
        owner = self.model.get_submodule(parent)
        if any(other.target == node.target and other is not node for other in self.graph.nodes):
            number = 1
            while hasattr(owner, f"{last}_call_{number}"):
                number += 1
            last = f"{last}_call_{number}"
            node.target = f"{parent}.{last}" if parent else last
        setattr(owner, last, module)


def lower(
    model: GraphModule,
    scopes: dict[str, tuple[str, Any]],
    qconfigs: dict[str, Any],
    keep_original_weights: bool = False,
) -> GraphModule:
    """The model with integer layers in place of reference layers between dequantize and quantize.

    Args:
        model: the reference model, which is changed.
        scopes: the name and the class of the module that calls, by node.
        qconfigs: the configuration of each node.
        keep_original_weights: whether dynamic linear layers keep their float weights.
    """
    work = _Lowering(model, scopes, keep_original_weights)
    for step in (
        _weight_only,
        _layers,
        _dynamic_layers,
        _functions_with_weights,
        _binary,
        _with_scale,
        _keep_scale,
    ):
        for node in list(work.graph.nodes):
            if not node._erased:
                step(work, node)
        work.graph.eliminate_dead_code()
    for node in list(work.graph.nodes):
        _sizes(work, node)
    _fold_weights(work)
    work.graph.eliminate_dead_code()
    model.delete_all_unused_submodules()
    _drop_unread(model)
    model.recompile()
    return QuantizedGraphModule(model, model.graph, model.preserved_attr_names)


# ---- parts of a pattern ----------------------------------------------------------------------------------------------


def _is_dequantize(node: Any) -> bool:
    return isinstance(node, Node) and node.op == "call_method" and node.target == "dequantize"


def _is_quantize(node: Any) -> bool:
    return isinstance(node, Node) and node.op == "call_function" and node.target is quantize_per_tensor


def _quantizer_of(node: Node) -> Node | None:
    """The quantize that is the only user of a node."""
    users = list(node.users)
    return users[0] if len(users) == 1 and _is_quantize(users[0]) and users[0].args[0] is node else None


def _is_static(node: Any) -> bool:
    """Whether a node dequantizes bytes that have one scale from calibration."""
    if not _is_dequantize(node):
        return False
    source = node.args[0]
    is_other = source.op == "call_function" and source.target in (
        quantize_per_tensor_dynamic,
        quantize_per_channel,
    )
    return not is_other and not (source.op == "call_method" and source.target == "to")


def _source(node: Any) -> Any:
    return node.args[0] if _is_static(node) else node


def _is_relu(work: _Lowering, node: Any) -> bool:
    if not isinstance(node, Node):
        return False
    if node.op == "call_module":
        from tl_nn import ReLU

        return type(work.module(node)) is ReLU
    return node.target in (F.relu, tl_core.relu, "relu", "relu_") and node.op != "get_attr"


def _finish(quantize: Node, result: Node) -> None:
    """Replaces a quantize by the call that has its scale."""
    quantize.replace_all_uses_with(result)
    quantize.graph.erase_node(quantize)


# ---- layers ----------------------------------------------------------------------------------------------------------


def _weight_only(work: _Lowering, node: Node) -> None:
    module = work.module(node)
    kind = layers.WEIGHT_ONLY.get(type(module))
    if kind is not None:
        work.set_module(node, kind.from_reference(module))


def _layers(work: _Lowering, node: Node) -> None:
    """A layer with static scales: its module becomes the integer one."""
    module = work.module(node)
    if (
        module is None
        or not node.args
        or not all(_is_static(arg) for arg in node.args if isinstance(arg, Node))
    ):
        return
    make = layers.static_layer(module)
    quantize = _quantizer_of(node)
    if make is None or quantize is None:
        return
    scale, zero_point = (_value(work, part) for part in quantize.args[1:3])
    work.set_module(node, make(float(scale), int(zero_point)))
    node.args = tuple(_source(arg) for arg in node.args)
    _finish(quantize, node)


def _value(work: _Lowering, part: Any) -> Any:
    return read_attribute(work.model, part) if isinstance(part, Node) else part


def _dynamic_layers(work: _Lowering, node: Node) -> None:
    module = work.module(node)
    if module is None or not node.args or not _is_dequantize(node.args[0]):
        return
    source = node.args[0].args[0]
    if not isinstance(source, Node) or source.target is not quantize_per_tensor_dynamic:
        return
    layer = layers.dynamic_layer(module)
    if layer is None:
        return
    if work.keep_original_weights:
        inner = module[0] if isinstance(module, _FusedModule) else module
        layer.original_weight_processed = inner.weight.detach()
    work.set_module(node, layer)
    node.args = (source.args[0], *node.args[1:])


# ---- functions with weights ------------------------------------------------------------------------------------------

_CONVS: dict[Any, tuple[str, int]] = {
    F.conv1d: ("conv1d", 1),
    F.conv2d: ("conv2d", 2),
    F.conv3d: ("conv3d", 3),
    F.conv_transpose1d: ("conv_transpose1d", 1),
    F.conv_transpose2d: ("conv_transpose2d", 2),
    F.conv_transpose3d: ("conv_transpose3d", 3),
}


def _functions_with_weights(work: _Lowering, node: Node) -> None:
    if node.op != "call_function":
        return
    if node.target is F.linear:
        _lower_linear(work, node)
    elif node.target in _CONVS:
        _lower_convolution(work, node)


def _argument(node: Node, index: int, name: str, default: Any = None) -> Any:
    return node.args[index] if len(node.args) > index else node.kwargs.get(name, default)


def _weight_source(node: Any) -> Any:
    """The quantized weight behind a dequantize, or None."""
    if not _is_dequantize(node):
        return None
    source = node.args[0]
    is_weight = isinstance(source, Node) and (
        source.target in (quantize_per_tensor, quantize_per_channel)
        or (source.op == "call_method" and source.target == "to")
    )
    return source if is_weight else None


def _lower_linear(work: _Lowering, node: Node) -> None:
    x, weight = _argument(node, 0, "input"), _weight_source(_argument(node, 1, "weight"))
    if weight is None or not _is_dequantize(x):
        return
    source, ops = x.args[0], packets.quantized
    after, relu = _relu_behind(work, node)
    tail = "_relu" if relu else ""
    is_half = weight.op == "call_method"
    with work.graph.inserting_before(after):
        weight = weight.args[0] if is_half else weight
        pack = ops.linear_prepack_fp16 if is_half else ops.linear_prepack
        packed = work.graph.call_function(pack, (weight, _argument(node, 2, "bias")))
    if isinstance(source, Node) and source.target is quantize_per_tensor_dynamic:
        name = f"linear{tail}_dynamic" + ("_fp16" if is_half else "")
        args = (source.args[0], packed) if is_half else (source.args[0], packed, source.args[2])
        with work.graph.inserting_before(after):
            result = work.graph.call_function(getattr(ops, name), args)
        after.replace_all_uses_with(result)
        work.graph.erase_node(after)
        return
    _static_call(work, after, getattr(ops, f"linear{tail}"), (_source(x), packed), _is_static(x))


def _relu_behind(work: _Lowering, node: Node) -> tuple[Node, bool]:
    """The ReLU that is the only user of a node, or the node."""
    users = list(node.users)
    if len(users) == 1 and _is_relu(work, users[0]):
        return users[0], True
    return node, False


def _static_call(
    work: _Lowering, after: Node, target: Any, args: tuple[Any, ...], is_wanted: bool = True
) -> bool:
    """Replaces a node and the quantize behind it by one call with its scale."""
    quantize = _quantizer_of(after)
    if quantize is None or not is_wanted:
        return False
    with work.graph.inserting_before(quantize):
        result = work.graph.call_function(target, (*args, *quantize.args[1:3]))
    _finish(quantize, result)
    return True


def _lower_convolution(work: _Lowering, node: Node) -> None:
    x, weight = _argument(node, 0, "input"), _weight_source(_argument(node, 1, "weight"))
    after, relu = _relu_behind(work, node)
    if weight is None or not _is_static(x) or _quantizer_of(after) is None:
        return
    name, axes = _CONVS[node.target]
    is_transposed = "transpose" in name
    if relu and is_transposed:
        return

    def each(index: int, key: str, default: int) -> Any:
        value = _argument(node, index, key, default)
        return tuple(value) if isinstance(value, (list, tuple)) else (value,) * axes

    stride, padding = each(3, "stride", 1), each(4, "padding", 0)
    if isinstance(padding[0], str):
        return
    groups = _argument(node, 6, "groups", 1)
    if is_transposed:
        windows: tuple[Any, ...] = (
            stride,
            padding,
            each(5, "output_padding", 0),
            each(7, "dilation", 1),
            groups,
        )
    else:
        windows = (stride, padding, each(5, "dilation", 1), groups)
    ops = packets.quantized
    with work.graph.inserting_before(after):
        args = (weight, _argument(node, 2, "bias"), *windows)
        packed = work.graph.call_function(getattr(ops, f"{name}_prepack"), args)
    target = getattr(ops, name + ("_relu" if relu else ""))
    _static_call(work, after, target, (_source(x), packed))


# ---- functions of two tensors ----------------------------------------------------------------------------------------

_BINARY = {operator.add: "add", tl_core.add: "add", operator.mul: "mul", tl_core.mul: "mul"}


def _binary(work: _Lowering, node: Node) -> None:
    if node.op != "call_function":
        return
    ops = packets.quantized
    if node.target in (tl_core.matmul, operator.matmul):
        if all(_is_static(arg) for arg in node.args):
            _static_call(work, node, ops.matmul, tuple(map(_source, node.args)))
        return
    name = None if isinstance(node.target, str) else _BINARY.get(node.target)
    if name is None or node.kwargs:
        return
    after, relu = _relu_behind(work, node)
    target = getattr(ops, name + ("_relu" if relu else ""))
    tensors = [arg for arg in node.args if isinstance(arg, Node)]
    if not tensors or not all(map(_is_static, tensors)):
        return
    if len(tensors) == 2:
        _static_call(work, after, target, tuple(map(_source, node.args)))
        return
    quantize = _quantizer_of(after)
    if quantize is None:
        return
    with work.graph.inserting_before(quantize):
        result = work.graph.call_function(target, tuple(map(_source, node.args)))
    _finish(quantize, result)


# ---- operators with a scale of their own -----------------------------------------------------------------------------


def _with_scale(work: _Lowering, node: Node) -> None:
    make = _SCALED.get(node.target) if node.op == "call_function" else None
    quantize = _quantizer_of(node) if make else None
    if make is None or quantize is None or not _is_static(_argument(node, 0, "input")):
        return
    with work.graph.inserting_before(quantize):
        target, args = make(node, quantize.args[1], quantize.args[2])
        result = work.graph.call_function(target, args)
    _finish(quantize, result)


def _x(node: Node) -> Any:
    return _source(_argument(node, 0, "input"))


_SCALED: dict[Any, Callable[[Node, Any, Any], tuple[Any, tuple[Any, ...]]]] = {
    F.hardswish: lambda n, s, z: (packets.quantized.hardswish, (_x(n), s, z)),
    F.elu: lambda n, s, z: (packets.quantized.elu, (_x(n), s, z, _argument(n, 1, "alpha", 1.0))),
    F.leaky_relu: lambda n, s, z: (
        packets.quantized.leaky_relu,
        (_x(n), _argument(n, 1, "negative_slope", 0.01), _argument(n, 2, "inplace", False), s, z),
    ),
    F.dropout: lambda n, s, z: (
        packets.quantized.dropout,
        (_x(n), s, z, _argument(n, 1, "p", 0.5), _argument(n, 2, "training", True)),
    ),
    F.layer_norm: lambda n, s, z: (
        packets.quantized.layer_norm,
        (
            _x(n), _argument(n, 1, "normalized_shape"), _argument(n, 2, "weight"), _argument(n, 3, "bias"),
            _argument(n, 4, "eps", 1e-5), s, z,
        ),
    ),
    F.group_norm: lambda n, s, z: (
        packets.quantized.group_norm,
        (
            _x(n), _argument(n, 1, "num_groups"), _argument(n, 2, "weight"), _argument(n, 3, "bias"),
            _argument(n, 4, "eps", 1e-5), s, z,
        ),
    ),
    F.instance_norm: lambda n, s, z: (
        packets.quantized.instance_norm,
        (_x(n), _argument(n, 3, "weight"), _argument(n, 4, "bias"), _argument(n, 7, "eps", 1e-5), s, z),
    ),
}  # fmt: skip


# ---- operators that take quantized tensors as they are ---------------------------------------------------------------


def _keep_scale(work: _Lowering, node: Node) -> None:
    """An operator whose result has the scale of its input, or a scale of its own that is known."""
    if not layers.keeps_scale(
        canonical(node.target) if node.op == "call_function" else node.target, work.module(node)
    ):
        return
    quantize = _quantizer_of(node)
    if (
        quantize is None
        or not _all_static(work, node.args)
        or not _all_static(work, list(node.kwargs.values()))
    ):
        return
    node.args = _sources(node.args)
    node.kwargs = {key: _sources(value) for key, value in node.kwargs.items()}
    _finish(quantize, node)


def _all_static(work: _Lowering, args: Any) -> bool:
    tensors = [part for arg in args for part in (arg if isinstance(arg, (list, tuple)) else [arg])]
    nodes = [part for part in tensors if isinstance(part, Node) and not _is_size(part)]
    return all(map(_is_static, nodes))


def _is_size(node: Node) -> bool:
    from .types_of_nodes import has_tensor

    return not has_tensor(node, {})


def _sources(arg: Any) -> Any:
    return type(arg)(map(_sources, arg)) if isinstance(arg, (list, tuple)) else _source(arg)


def _sizes(work: _Lowering, node: Node) -> None:
    """Sizes are read from the integers."""
    is_attribute = node.op == "call_function" and node.target is getattr and node.args[1] in ("shape", "ndim")
    if (is_attribute or (node.op == "call_method" and node.target in ("size", "dim"))) and _is_static(
        node.args[0]
    ):
        node.args = (node.args[0].args[0], *node.args[1:])


# ---- weights ---------------------------------------------------------------------------------------------------------


def _fold_weights(work: _Lowering) -> None:
    """Computes packed weights once."""
    for node in list(work.graph.nodes):
        name = getattr(node.target, "__name__", "") if node.op == "call_function" else ""
        if "prepack" not in name or not is_constant(node):
            continue
        value = evaluate(work.model, node)
        with work.graph.inserting_before(node):
            read = new_attribute(
                work.model, f"{work.scopes.get(node.name, ('', None))[0]}_packed_weight_", value
            )
        node.replace_all_uses_with(read)
        work.graph.erase_node(node)


def _drop_unread(model: Any) -> None:
    """Removes buffers and parameters of the graph module itself that the graph doesn't read any more."""
    read = {
        str(node.target).split(".")[0] for node in model.graph.nodes if node.op in ("get_attr", "call_module")
    }
    for table in (model._buffers, model._parameters):
        for name in [name for name in table if name not in read]:
            del table[name]
