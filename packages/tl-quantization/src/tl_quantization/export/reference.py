"""The representation of quantized models as integer arithmetic: products and sums of integers, rounded once."""

from __future__ import annotations

import operator
from typing import Any

import tl_core
from tl_compiler.fx import GraphModule, Node
from tl_compiler.higher_order import out_dtype
from tl_core.operators.packets import aten

from .graph_facts import is_call

__all__ = ["reference_representation_rewrite", "use_integer_arithmetic"]

_INT16, _INT32, _FLOAT32 = tl_core.int16, tl_core.int32, tl_core.float32


class _Writer:
    """Writes calls before a node. Calls of numbers are computed at once."""

    def __init__(self, graph: Any, node: Node) -> None:
        self.graph, self.node = graph, node

    def call(self, target: Any, *args: Any) -> Node:
        """A call with the description of the node that it replaces."""
        with self.graph.inserting_before(self.node):
            result: Node = self.graph.create_node("call_function", target, args, {})
        result.meta = {key: value for key, value in self.node.meta.items() if key != "val"}
        return result

    def multiply(self, a: Any, b: Any) -> Any:
        """The product of two scales."""
        if isinstance(a, Node):
            return self.call(aten.mul.Tensor, a, b)
        return self.call(aten.mul.Tensor, b, a) if isinstance(b, Node) else a * b

    def divide(self, a: Any, b: Any) -> Any:
        """The quotient of two scales."""
        if isinstance(b, Node):
            return self.multiply(self.call(aten.reciprocal.default, b), a)
        return self.call(aten.div.Tensor, a, b) if isinstance(a, Node) else a / b

    def without_zero(self, q: _Quantized, dtype: Any) -> Node:
        """The integers less their zero point, in a wider type."""
        bounded = self.call(aten.clamp.default, q.integers, q.low, q.high)
        return self.call(aten.sub.Tensor, self.call(aten.to.dtype, bounded, dtype), q.zero)

    def truncate(self, integers: Node, ratio: Any) -> Node:
        """A product in int32, rounded towards zero, as PyTorch's representation of layers with one scale."""
        return self.call(out_dtype, aten.mul.Tensor, _INT32, integers, ratio)

    def round_nearest(self, integers: Node, ratio: Any) -> Node:
        """A product in int32, rounded to the nearest integer."""
        nearest = self.call(aten.round.default, self.call(aten.mul.Tensor, integers, ratio))
        return self.call(aten.to.dtype, nearest, _INT32)

    def bound(self, value: Node, low: Any, high: Any, dtype: Any) -> Node:
        """The numbers within bounds, in a type of integers."""
        return self.call(aten.to.dtype, self.call(aten.clamp.default, value, low, high), dtype)

    def unsqueeze_to(self, value: Any, trailing: int) -> Any:
        """A scale or a bias of channels that have dimensions behind them."""
        for _ in range(trailing if isinstance(value, Node) else 0):
            value = self.call(aten.unsqueeze.default, value, -1)
        return value


class _Quantized:
    """The arguments of a quantize or dequantize: a scale for all, or one for each channel of `axis`.

    Args:
        node: the call.
    """

    def __init__(self, node: Node) -> None:
        self.integers, self.scale, self.zero, *rest = node.args
        self.axis = rest.pop(0) if "per_channel" in str(node.target) else None
        self.low, self.high, self.dtype = rest[:3]
        self.is_dynamic = self.axis is None and isinstance(self.scale, Node)


def use_integer_arithmetic(model: GraphModule) -> GraphModule:
    """A model without quantize and dequantize: they and the layers between them become arithmetic of integers.

    Linear layers, convolutions, sums of two numbers and max pools between dequantize and quantize compute in int32.
    Each quantize and dequantize that is left becomes the arithmetic that defines it. Layers whose weight has one scale,
    and sums with ReLU, round their result towards zero, as PyTorch does, so it may be one less in magnitude.

    Args:
        model: a model with quantize and dequantize, which is changed.

    Returns:
        The model.
    """
    for rule in (_rewrite_layer, _rewrite_sum, _rewrite_pool):
        for node in list(model.graph.nodes):
            rule(model.graph, node)
        model.graph.eliminate_dead_code()
    for node in list(model.graph.nodes):
        for kind, write in _DEFINITIONS.items():
            if _is_decomposed(node, kind):
                _exchange(node, write(_Writer(model.graph, node), _Quantized(node)))
    model.graph.eliminate_dead_code()
    model.recompile()
    return model


reference_representation_rewrite = use_integer_arithmetic


def _is_decomposed(node: Any, name: str) -> bool:
    """Whether a node calls an operator of `quantized_decomposed`, in any overload."""
    if not isinstance(node, Node) or node.op != "call_function":
        return False
    return str(node.target).startswith(f"quantized_decomposed.{name}.")


def _source_of(node: Any) -> _Quantized | None:
    """The integers behind a value, if it is the result of a dequantize."""
    names = ("dequantize_per_tensor", "dequantize_per_channel")
    return _Quantized(node) if any(_is_decomposed(node, name) for name in names) else None


def _exchange(node: Node, result: Node) -> None:
    if "val" in node.meta:
        result.meta["val"] = node.meta["val"]
    node.replace_all_uses_with(result)
    node.graph.erase_node(node)


def _only_user(node: Node) -> Node | None:
    return next(iter(node.users)) if len(node.users) == 1 else None


def _target_of(node: Node) -> tuple[Node, _Quantized, bool] | None:
    """The quantize behind a layer, and whether a ReLU is before it."""
    user = _only_user(node)
    is_rectified = user is not None and is_call(user, (aten.relu.default, aten.relu_.default))
    if is_rectified:
        user = _only_user(user)  # type: ignore[arg-type]  # there is a ReLU
    if user is None or not _is_decomposed(user, "quantize_per_tensor"):
        return None
    target = _Quantized(user)
    return None if target.is_dynamic else (user, target, is_rectified)


_LAYERS = {
    aten.linear.default: 0,
    aten.conv1d.default: 1,
    aten.conv2d.default: 2,
    aten.conv3d.default: 3,
}


def _rewrite_layer(graph: Any, node: Node) -> None:
    """A linear layer or convolution of integers: products and sums in int32, and the bias in the unit of the sums."""
    if node.op != "call_function" or node.target not in _LAYERS or len(node.args) < 2:
        return
    x, w = _source_of(node.args[0]), _source_of(node.args[1])
    is_dense = w is not None and not w.is_dynamic and w.axis in (None, 0)
    if x is None or w is None or not is_dense or x.axis is not None:
        return
    target = _target_of(node)
    windows = _LAYERS[node.target]
    last, out, is_rectified = (node, None, False) if target is None else target
    write = _Writer(graph, last)
    wide = _INT16 if {x.dtype, w.dtype} <= {tl_core.int8, tl_core.uint8} else _INT32
    w.zero = write.unsqueeze_to(
        w.zero, windows + 1
    )  # a zero point a channel, before the other dimensions of the weight
    arguments = _convolution_arguments(node, windows)
    operands = (write.without_zero(x, wide), write.without_zero(w, wide))
    kind = aten.convolution.default if windows else aten.linear.default
    total = write.call(out_dtype, kind, _INT32, *operands, None, *arguments)
    unit = write.multiply(w.scale, x.scale)
    bias = node.args[2] if len(node.args) > 2 else node.kwargs.get("bias")
    if bias is not None:
        rounded = write.call(out_dtype, aten.div.Tensor, _INT32, bias, unit)
        total = write.call(aten.add.Tensor, total, write.unsqueeze_to(rounded, windows))
    unit = write.unsqueeze_to(unit, windows if w.axis is not None else 0)
    if out is None:
        result = write.call(aten.to.dtype, write.call(aten.mul.Tensor, total, unit), _FLOAT32)
    else:
        ratio = write.divide(unit, out.scale)
        scaled = write.truncate(total, ratio) if w.axis is None else write.round_nearest(total, ratio)
        shifted = write.call(aten.add.Tensor, scaled, out.zero)
        low = max(out.low, out.zero) if is_rectified else out.low
        result = write.bound(shifted, low, out.high, out.dtype)
    _exchange(last, result)


def _convolution_arguments(node: Node, windows: int) -> tuple[Any, ...]:
    """Stride, padding, dilation, and groups of a convolution, in the form of `aten.convolution`."""
    if not windows:
        return ()
    values: dict[str, Any] = dict(
        zip(("stride", "padding", "dilation", "groups"), node.args[3:], strict=False)
    )
    values.update(node.kwargs)
    lists = []
    for key, default in (("stride", 1), ("padding", 0), ("dilation", 1)):
        value: Any = values.get(key, default)
        value = [value] if isinstance(value, int) else list(value)
        lists.append(value * windows if len(value) == 1 else value)
    return (*lists, False, [0] * windows, values.get("groups", 1))


def _rewrite_sum(graph: Any, node: Node) -> None:
    """A sum of two numbers, each rounded in the unit of the result."""
    if not is_call(node, (aten.add.Tensor, aten.add_.Tensor)) or node.kwargs.get("alpha", 1) != 1:
        return
    x, y = (_source_of(arg) for arg in node.args[:2])
    target = _target_of(node)
    if x is None or y is None or target is None or any(q.axis is not None or q.is_dynamic for q in (x, y)):
        return
    last, out, is_rectified = target
    write, terms = _Writer(graph, last), []
    for q in (x, y):
        integers = write.call(aten.sub.Tensor, write.call(aten.to.dtype, q.integers, _INT32), q.zero)
        ratio = q.scale / out.scale
        if is_rectified:
            terms.append(write.truncate(integers, ratio))
        else:
            terms.append(write.round_nearest(integers, ratio))
    total = write.call(aten.add.Tensor, write.call(aten.add.Tensor, *terms), out.zero)
    low = max(out.low, out.zero) if is_rectified else out.low
    _exchange(last, write.bound(total, low, out.high, out.dtype))


def _rewrite_pool(graph: Any, node: Node) -> None:
    """The largest integers of windows, in the unit of the result."""
    if not is_call(node, (aten.max_pool2d.default,)) or node.kwargs:
        return
    x, target = _source_of(node.args[0]), _target_of(node)
    if x is None or target is None or x.axis is not None or x.is_dynamic:
        return
    last, out, is_rectified = target
    write = _Writer(graph, last)
    integers = write.without_zero(x, _INT32)
    pooled = write.call(aten.max_pool2d_with_indices.default, integers, *node.args[1:])
    largest = write.call(operator.getitem, pooled, 0)
    scaled = write.round_nearest(largest, x.scale / out.scale)
    low = max(out.low, out.zero) if is_rectified else out.low
    _exchange(last, write.bound(write.call(aten.add.Tensor, scaled, out.zero), low, out.high, out.dtype))


def _quantize_per_tensor(write: _Writer, q: _Quantized) -> Node:
    rounded = write.call(aten.round.default, write.call(aten.div.Tensor, q.integers, q.scale))
    shifted = write.call(aten.add.Tensor, write.call(aten.to.dtype, rounded, _INT32), q.zero)
    return write.bound(shifted, q.low, q.high, q.dtype)


def _dequantize_per_tensor(write: _Writer, q: _Quantized) -> Node:
    result = write.call(aten.mul.Tensor, write.without_zero(q, _FLOAT32), q.scale)
    return write.call(aten.to.dtype, result, _FLOAT32) if q.is_dynamic else result


def _quantize_per_channel(write: _Writer, q: _Quantized) -> Node:
    moved = write.call(aten.transpose.int, q.integers, q.axis, -1)
    rounded = write.call(aten.round.default, write.call(aten.div.Tensor, moved, q.scale))
    shifted = write.call(aten.add.Tensor, write.call(aten.to.dtype, rounded, _INT32), q.zero)
    back = write.call(aten.transpose.int, shifted, q.axis, -1)
    return write.bound(back, q.low, q.high, q.dtype)


def _dequantize_per_channel(write: _Writer, q: _Quantized) -> Node:
    bounded = write.call(aten.clamp.default, q.integers, q.low, q.high)
    moved = write.call(aten.to.dtype, write.call(aten.transpose.int, bounded, q.axis, -1), _INT32)
    shifted = write.call(aten.to.dtype, write.call(aten.sub.Tensor, moved, q.zero), _FLOAT32)
    return write.call(aten.transpose.int, write.call(aten.mul.Tensor, shifted, q.scale), q.axis, -1)


_DEFINITIONS = {
    "quantize_per_tensor": _quantize_per_tensor,
    "dequantize_per_tensor": _dequantize_per_tensor,
    "quantize_per_channel": _quantize_per_channel,
    "dequantize_per_channel": _dequantize_per_channel,
}
