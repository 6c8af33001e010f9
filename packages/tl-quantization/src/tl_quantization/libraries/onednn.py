"""`onednn::` operators, the targets of exported models: plain tensors of bytes, with scales as arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import functional as F

from ..packed.convolution import PackedConvolution, check_channels
from ..packed.linear import check_columns
from ..tensor import made_of
from ..tensor_quantizer import PerChannel, PerTensor
from .registry import define

__all__: list[str] = []

_INTEGERS = {tl_core.uint8: tl_core.quint8, tl_core.int8: tl_core.qint8}


# ---- what follows a product


def _activate(
    name: str | None, arguments: Sequence[Any], algorithm: str | None
) -> Callable[[Tensor], Tensor]:
    """The function of an activation's name."""
    if name in (None, "none"):
        return lambda y: y
    functions: dict[str, Callable[[Tensor], Tensor]] = {
        "relu": F.relu,
        "tanh": tl_core.tanh,
        "sigmoid": tl_core.sigmoid,
        "hardswish": F.hardswish,
        "hardsigmoid": F.hardsigmoid,
        "swish": F.silu,
        "gelu": lambda y: F.gelu(y, approximate="tanh" if algorithm == "tanh" else "none"),
        "hardtanh": lambda y: F.hardtanh(y, float(arguments[0]), float(arguments[1])),
        "leaky_relu": lambda y: F.leaky_relu(y, float(arguments[0])),
    }
    if name not in functions:
        raise RuntimeError(
            f"the activation must be none or one of {', '.join(sorted(functions))}, but got {name!r}"
        )
    return functions[name]


def _round(y: Tensor, scale: float, zero_point: int, dtype: Any) -> Tensor:
    """Numbers as a tensor of `dtype`, with integers by scale and zero point."""
    if dtype not in _INTEGERS:
        return y.to(dtype)
    return PerTensor(scale, zero_point, _INTEGERS[dtype]).requantized(y)


def _numbers(x: Tensor, scale: float, zero_point: int) -> Tensor:
    """The numbers of a tensor of bytes; other tensors are numbers already."""
    if x.dtype not in _INTEGERS:
        return x.float()
    return PerTensor(scale, zero_point, _INTEGERS[x.dtype]).numbers(x)


def _combine(
    y: Tensor,
    other: Tensor,
    qparams: tuple[float, int],
    kind: str,
    alpha: Any,
    activate: Callable[[Tensor], Tensor],
) -> Tensor:
    """The sum of a product and another tensor, and its activation.

    Args:
        y: the product, of float32.
        other: the other tensor.
        qparams: the scale and the zero point of `other`, for "sum".
        kind: "add", which takes the elements of `other` as numbers, or "sum", which stores the result in `other`.
        alpha: the factor of `other`.
        activate: the activation.
    """
    if kind not in ("add", "sum"):
        raise RuntimeError(f"the binary operator must be 'add' or 'sum', but got {kind!r}")
    numbers = other.float() if kind == "add" else _numbers(other, *qparams)
    return activate(y + numbers * (1.0 if alpha is None else float(alpha)))


def _store(result: Tensor, other: Tensor, kind: str) -> Tensor:
    """The result, in the memory of `other` for "sum"."""
    if kind != "sum":
        return result
    if result.dtype is not other.dtype or result.shape != other.shape:
        raise RuntimeError(
            f"'sum' stores a result of {result.dtype} and shape {tuple(result.shape)}, but the other tensor has "
            f"{other.dtype} and shape {tuple(other.shape)}"
        )
    return other.copy_(result)


def _one(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


def _input(qx: Tensor, scale: Any, zero_point: Any) -> tuple[Tensor, float, int]:
    if qx.dtype not in _INTEGERS:
        raise RuntimeError(f"the input must be of torch.uint8 or torch.int8, but got {qx.dtype}")
    return qx, float(_one(scale)), int(_one(zero_point))


def _beside(weight: Tensor, packing: Any) -> Tensor:
    """A weight with its packing as an attribute, where a call finds it."""
    vars(weight)["packing"] = packing
    return weight


# ---- linear layers


def _prepack_linear(weight: Tensor, x_shape: Any) -> Tensor:
    """A weight of int8, whose packing a call finds beside it."""
    if weight.dtype is not tl_core.int8 or weight.dim() != 2:
        raise RuntimeError(
            f"qlinear_prepack: weight must be a matrix of torch.int8, but got {weight.dtype} of shape "
            f"{tuple(weight.shape)}"
        )
    result = weight.detach().clone()
    return _beside(result, tl_core._pack_int8(result))


def _linear_numbers(
    x: tuple[Tensor, float, int], qw: Tensor, scales: Tensor, zeros: Tensor | None, bias: Any
) -> Tensor:
    """The product of bytes with a weight, of float32."""
    check_columns(x[0], qw.shape[1])
    packed, sums = getattr(qw, "packing", None) or tl_core._pack_int8(qw)
    rows = qw.shape[0]
    scale = scales.float().expand(rows).contiguous() if scales.numel() == 1 else scales.float().flatten()
    zero = None if zeros is None or not bool(zeros.any()) else zeros.to(tl_core.int32).flatten()
    zero = zero.expand(rows).contiguous() if zero is not None and zero.numel() == 1 else zero
    bias = None if bias is None else bias.float()
    return tl_core._int8_linear(*x, packed, sums, scale, zero, bias, None, None, False)


def _linear(
    qx: Tensor, x_scale: Any, x_zero_point: Any, qw: Tensor, w_scale: Tensor, w_zero_point: Tensor, bias: Tensor | None,
    output_scale: float, output_zero_point: int, output_dtype: Any, post_op_name: str, post_op_args: Any,
    post_op_algorithm: str,
) -> Tensor:  # fmt: skip
    y = _linear_numbers(_input(qx, x_scale, x_zero_point), qw, w_scale, w_zero_point, bias)
    y = _activate(post_op_name, post_op_args, post_op_algorithm)(y)
    return _round(y, float(output_scale), int(output_zero_point), output_dtype or qx.dtype)


def _linear_with(
    qx: Tensor, x_scale: Any, x_zero_point: Any, qw: Tensor, w_scale: Tensor, w_zero_point: Tensor, other: Any,
    bias: Tensor | None, output_scale: float, output_zero_point: int, output_dtype: Any, other_scale: float,
    other_zp: int, binary_post_op: str, binary_alpha: float, unary_post_op: str, unary_post_op_args: Any,
    unary_post_op_algorithm: str,
) -> Tensor:  # fmt: skip
    y = _linear_numbers(_input(qx, x_scale, x_zero_point), qw, w_scale, w_zero_point, bias)
    activate = _activate(unary_post_op, unary_post_op_args, unary_post_op_algorithm)
    if binary_post_op == "none":
        return _round(activate(y), float(output_scale), int(output_zero_point), output_dtype or qx.dtype)
    y = _combine(y, other, (float(other_scale), int(other_zp)), binary_post_op, binary_alpha, activate)
    return _store(_round(y, output_scale, output_zero_point, output_dtype or qx.dtype), other, binary_post_op)


# ---- convolutions


def _prepack_convolution(
    weight: Tensor, w_scales: Tensor, x_scale: float, x_zp: int, stride: Any, padding: Any, dilation: Any, groups: int,
    x_shape: Any = None,
) -> Tensor:  # fmt: skip
    """A weight of int8, whose packing a call finds beside it."""
    if weight.dtype is not tl_core.int8 or weight.dim() < 3:
        raise RuntimeError(
            f"qconv_prepack: weight must be of torch.int8 and have at least 3 dimensions, but got {weight.dtype} of "
            f"shape {tuple(weight.shape)}"
        )
    result = weight.detach().clone()
    return _beside(result, _packed_convolution(result, w_scales, groups))


def _packed_convolution(weight: Tensor, scales: Tensor, groups: int) -> PackedConvolution:
    rows = weight.shape[0]
    own = scales.double().flatten().expand(rows).contiguous()
    quantizer = PerChannel(own, tl_core.zeros(rows, dtype=tl_core.int64), 0, tl_core.qint8)
    return PackedConvolution(made_of(weight, quantizer), None, groups)


def _convolution_numbers(
    x: tuple[Tensor, float, int],
    qw: Tensor,
    scales: Tensor,
    zeros: Any,
    bias: Tensor | None,
    windows: Any,
    groups: int,
) -> Tensor:
    """The convolution of bytes, of float32."""
    check_channels(x[0], tuple(qw.shape), groups)
    if zeros is not None and bool(zeros.any()):
        raise RuntimeError("the zero points of a convolution's weight must be 0")
    part = getattr(qw, "packing", None) or _packed_convolution(qw, scales, groups)
    bias = None if bias is None else bias.float()
    sizes = tuple(qw.shape[2:])
    stride, padding, dilation = (
        tuple(each) if len(each) == len(sizes) else tuple(each) * len(sizes) for each in windows
    )
    return tl_core._int8_convolution(
        *x, part.packed, part.sums, part.scales, None, bias, sizes, stride, padding, dilation, groups, None, None,
        False,
    )  # fmt: skip


def _convolve(
    qx: Tensor, x_scale: Any, x_zero_point: Any, qw: Tensor, w_scale: Tensor, w_zero_point: Any, bias: Tensor | None,
    stride: Any, padding: Any, dilation: Any, groups: int, output_scale: float, output_zero_point: int,
    output_dtype: Any, attr: str, scalars: Any, algorithm: str | None,
) -> Tensor:  # fmt: skip
    x, windows = _input(qx, x_scale, x_zero_point), (stride, padding, dilation)
    y = _activate(attr, scalars, algorithm)(
        _convolution_numbers(x, qw, w_scale, w_zero_point, bias, windows, groups)
    )
    return _round(y, float(output_scale), int(output_zero_point), output_dtype or qx.dtype)


def _convolve_with(
    qx: Tensor, x_scale: Any, x_zero_point: Any, qw: Tensor, w_scale: Tensor, w_zero_point: Any, qaccum: Tensor,
    bias: Tensor | None, stride: Any, padding: Any, dilation: Any, groups: int, output_scale: float,
    output_zero_point: int, output_dtype: Any, accum_scale: float, accum_zero_point: int, binary_attr: str, alpha: Any,
    unary_attr: str | None, unary_scalars: Any, unary_algorithm: str | None,
) -> Tensor:  # fmt: skip
    x, windows = _input(qx, x_scale, x_zero_point), (stride, padding, dilation)
    y = _convolution_numbers(x, qw, w_scale, w_zero_point, bias, windows, groups)
    activate = _activate(unary_attr, unary_scalars, unary_algorithm)
    y = _combine(y, qaccum, (float(accum_scale), int(accum_zero_point)), binary_attr, alpha, activate)
    return _store(_round(y, output_scale, output_zero_point, output_dtype or qx.dtype), qaccum, binary_attr)


# ---- pointwise operators


def _pointwise(function: Callable[[Tensor, Tensor], Tensor]) -> Any:
    def call(
        self: Tensor, self_scale: float, self_zero_point: int, other: Tensor, other_scale: float, other_zero_point: int,
        output_scale: float, output_zero_point: int, output_dtype: Any,
    ) -> Tensor:  # fmt: skip
        first, second = (
            _numbers(self, self_scale, self_zero_point),
            _numbers(other, other_scale, other_zero_point),
        )
        return _round(function(first, second), output_scale, output_zero_point, output_dtype)

    return call


def _batch_norm(
    qx: Tensor, qx_scale: float, qx_zero_point: int, weight: Tensor, bias: Tensor, mean: Tensor, var: Tensor,
    eps: float, output_scale: float, output_zero_point: int, output_dtype: Any,
) -> Tensor:  # fmt: skip
    y = F.batch_norm(_numbers(qx, qx_scale, qx_zero_point), mean, var, weight, bias, eps=eps)
    return _round(y, output_scale, output_zero_point, output_dtype)


def _half(relu: bool) -> Any:
    def call(x: Tensor, w: Tensor, bias: Tensor | None) -> Tensor:
        y = F.linear(x, w.float(), bias)
        return F.relu(y) if relu else y

    return call


_NUMBER, _TENSOR = "float x_scale, int x_zero_point", "Tensor x_scale, Tensor x_zero_point"
_WEIGHT = "Tensor qw, Tensor w_scale, Tensor w_zero_point"
_OUTPUT = "float output_scale, int output_zero_point, ScalarType? output_dtype"
_WINDOWS = "int[] stride, int[] padding, int[] dilation, int groups"
_UNARY = "str post_op_name, Scalar?[] post_op_args, str post_op_algorithm"
_BINARY = (
    "float other_scale, int other_zp, str binary_post_op, float binary_alpha, str unary_post_op, "
    "Scalar?[] unary_post_op_args, str unary_post_op_algorithm"
)
_ACCUMULATED = (
    "float accum_scale, int accum_zero_point, str binary_attr, Scalar? alpha, str? unary_attr, "
    "Scalar?[] unary_scalars, str? unary_algorithm"
)
_PAIR = (
    "Tensor self, float self_scale, int self_zero_point, Tensor other, float other_scale, int other_zero_point, "
    "float output_scale, int output_zero_point, ScalarType output_dtype"
)
_OPERATORS: dict[str, Callable[..., Any]] = {
    "qlinear_prepack(Tensor weight, int[]? x_shape) -> Tensor": _prepack_linear,
    f"qconv_prepack(Tensor weight, Tensor w_scales, float x_scale, int x_zp, {_WINDOWS}, int[]? x_shape=None) -> "
    "Tensor": _prepack_convolution,
    "linear_prepack_fp16(Tensor weight, int[]? x_shape) -> Tensor": lambda weight, x_shape: weight.half(),
    "linear_dynamic_fp16(Tensor x, Tensor w, Tensor? bias) -> Tensor": _half(False),
    "linear_relu_dynamic_fp16(Tensor x, Tensor w, Tensor? bias) -> Tensor": _half(True),
    f"qadd.tensor({_PAIR}) -> Tensor": _pointwise(tl_core.add),
    f"qadd_relu.tensor({_PAIR}) -> Tensor": _pointwise(lambda x, y: F.relu(x + y)),
    f"qmul.tensor({_PAIR}) -> Tensor": _pointwise(tl_core.mul),
    "qbatch_norm2d(Tensor qx, float qx_scale, int qx_zero_point, Tensor weight, Tensor bias, Tensor mean, Tensor var, "
    "float eps, float output_scale, int output_zero_point, ScalarType output_dtype) -> Tensor": _batch_norm,
}
for _overload, _x in (("", _NUMBER), ("tensor", _TENSOR)):
    _dot = f".{_overload}" if _overload else ""
    _OPERATORS[
        f"qlinear_pointwise{_dot}(Tensor qx, {_x}, {_WEIGHT}, Tensor? bias, {_OUTPUT}, {_UNARY}) -> Tensor"
    ] = _linear
    for _name in ("qconv_pointwise", "qconv2d_pointwise"):
        _OPERATORS[
            f"{_name}{_dot}(Tensor qx, {_x}, {_WEIGHT}, Tensor? bias, {_WINDOWS}, {_OUTPUT}, str attr, "
            "Scalar?[] scalars, str? algorithm) -> Tensor"
        ] = _convolve
    _dot = f".binary_{_overload}" if _overload else ".binary"
    _OPERATORS[
        f"qlinear_pointwise{_dot}(Tensor qx, {_x}, {_WEIGHT}, Tensor? other, Tensor? bias, {_OUTPUT}, {_BINARY}) -> "
        "Tensor"
    ] = _linear_with
    _OPERATORS[
        f"qconv2d_pointwise{_dot}(Tensor qx, {_x}, {_WEIGHT}, Tensor(a!) qaccum, Tensor? bias, {_WINDOWS}, {_OUTPUT}, "
        f"{_ACCUMULATED}) -> Tensor"
    ] = _convolve_with
for _name in ("qconv1d_pointwise", "qconv3d_pointwise"):
    _OPERATORS[
        f"{_name}(Tensor qx, {_NUMBER}, {_WEIGHT}, Tensor? bias, {_WINDOWS}, {_OUTPUT}, str attr, Scalar?[] scalars, "
        "str? algorithm) -> Tensor"
    ] = _convolve
define("onednn", _OPERATORS)
