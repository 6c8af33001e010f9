"""`quantized::` operators of sums, products, activations, normalizations and pools."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import functional as F

from .. import arithmetic
from ..functions import quantized_max_pool1d, quantized_max_pool2d
from ..operators import join, map_numbers, quantize_numbers
from ..tensor import is_quantized_tensor
from ..tensor_quantizer import PerTensor
from .registry import define, quantized_input

__all__: list[str] = []


def _again(x: Any, like: Any, scale: float, zero_point: int) -> Any:
    return quantize_numbers(x, PerTensor(float(scale), int(zero_point), like.dtype))


def _number(b: Any) -> float:
    return float(b)


def _binary(function: Any, with_number: Any, relu: bool) -> Any:
    def call(qa: Any, qb: Any, scale: Any = None, zero_point: Any = None, out: Any = None) -> Any:
        if not is_quantized_tensor(qa):
            qa, qb = qb, qa
        if not is_quantized_tensor(qb):
            if isinstance(qb, Tensor) and qb.numel() != 1:
                quantized_input(qb, function.__name__)
            result = with_number(qa, _number(qb))
            result = F.relu(result) if relu else result
        else:
            if out is not None:
                scale, zero_point = out.q_scale(), out.q_zero_point()
            result = function(qa, qb, float(scale), int(zero_point), relu)
        return result if out is None else out.copy_(result)

    return call


def _into(call: Any) -> Any:
    def into(qa: Any, qb: Any, out: Any) -> Any:
        return call(qa, qb, out=out)

    return into


def _matmul(qa: Any, qb: Any, scale: float, zero_point: int) -> Any:
    return _again(qa.dequantize() @ qb.dequantize(), qa, scale, zero_point)


def _cat(relu: bool) -> Any:
    def call(qx: list[Any], dim: int, scale: float | None = None, zero_point: int | None = None) -> Any:
        one = qx[0].q_scale() if scale is None else scale
        zero = qx[0].q_zero_point() if zero_point is None else zero_point
        return join(qx, dim, PerTensor(float(one), int(zero), qx[0].dtype), relu)

    return call


def _cat_out(relu: bool) -> Any:
    def call(qx: list[Any], dim: int, out: Any) -> Any:
        return out.copy_(_cat(relu)(qx, dim, out.q_scale(), out.q_zero_point()))

    return call


def _batch_norm(relu: bool) -> Any:
    def call(
        qx: Any, weight: Any, bias: Any, mean: Tensor, var: Tensor, eps: float, output_scale: float,
        output_zero_point: int,
    ) -> Any:  # fmt: skip
        result = F.batch_norm(qx.dequantize(), mean, var, weight, bias, eps=eps)
        return _again(F.relu(result) if relu else result, qx, output_scale, output_zero_point)

    return call


def _layer_norm(
    input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float, output_scale: float,
    output_zero_point: int,
) -> Any:  # fmt: skip
    result = F.layer_norm(input.dequantize(), normalized_shape, weight, bias, eps)
    return _again(result, input, output_scale, output_zero_point)


def _group_norm(
    input: Any,
    num_groups: int,
    weight: Any,
    bias: Any,
    eps: float,
    output_scale: float,
    output_zero_point: int,
) -> Any:
    result = F.group_norm(input.dequantize(), num_groups, weight, bias, eps)
    return _again(result, input, output_scale, output_zero_point)


def _instance_norm(
    input: Any, weight: Any, bias: Any, eps: float, output_scale: float, output_zero_point: int
) -> Any:
    result = F.instance_norm(input.dequantize(), weight=weight, bias=bias, eps=eps)
    return _again(result, input, output_scale, output_zero_point)


def _map(function: Any, x: Any, scale: float, zero_point: int) -> Any:
    return map_numbers(function, x, PerTensor(float(scale), int(zero_point), x.dtype))


def _hardswish(input: Any, output_scale: float, output_zero_point: int) -> Any:
    return _map(F.hardswish, input, output_scale, output_zero_point)


def _elu(
    self: Any,
    output_scale: float,
    output_zero_point: int,
    alpha: Any = 1,
    scale: Any = 1,
    input_scale: Any = 1,
) -> Any:
    def numbers(x: Tensor) -> Tensor:
        return tl_core.where(x > 0, x * scale, (tl_core.exp(x * input_scale) - 1) * (alpha * scale))

    return _map(numbers, self, output_scale, output_zero_point)


def _celu(self: Any, output_scale: float, output_zero_point: int, alpha: Any = 1) -> Any:
    return _map(lambda x: F.celu(x, alpha), self, output_scale, output_zero_point)


def _leaky_relu(
    qx: Any, negative_slope: Any, inplace: bool, output_scale: float, output_zero_point: int
) -> Any:
    return _map(lambda x: F.leaky_relu(x, negative_slope), qx, output_scale, output_zero_point)


def _prelu(qx: Any, weight: Any, output_scale: float, output_zero_point: int) -> Any:
    factor = weight.dequantize() if is_quantized_tensor(weight) else weight
    return _again(F.prelu(qx.dequantize(), factor), qx, output_scale, output_zero_point)


def _sigmoid(qx: Any, output_scale: float, output_zero_point: int) -> Any:
    result = PerTensor(float(output_scale), int(output_zero_point), qx.dtype)
    return map_numbers(tl_core.sigmoid, qx, result, is_fused=False)


def _softmax(qx: Any, dim: int, output_scale: float, output_zero_point: int) -> Any:
    return _again(F.softmax(qx.dequantize(), dim), qx, output_scale, output_zero_point)


def _dropout(
    self: Any, output_scale: float, output_zero_point: int, p: Any = 0.5, training: bool = False
) -> Any:
    return _again(F.dropout(self.dequantize(), p, training), self, output_scale, output_zero_point)


def _relu6(qx: Any, inplace: bool = False) -> Any:
    result = F.hardtanh(qx, 0.0, 6.0)
    return qx.copy_(result) if inplace else result


def _threshold(qx: Any, threshold: Any, value: Any) -> Any:
    return F.threshold(qx, threshold, value)


def _clamp(qx: Any, min: Any = None, max: Any = None) -> Any:
    return tl_core.clamp(qx, min, max)


def _pool(function: Any) -> Any:
    def call(qx: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
        return function(qx, kernel_size, stride, padding, dilation, ceil_mode)

    return call


def _define_binary() -> None:
    for name, function, number in (
        ("add", arithmetic.add, arithmetic.add_number),
        ("mul", arithmetic.mul, arithmetic.mul_number),
    ):
        for tail, relu in (("", False), ("_relu", True)):
            call = _binary(function, number, relu)
            into, base = _into(call), f"{name}{tail}"
            define(
                "quantized",
                {
                    f"{base}(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc": call,
                    f"{base}.out(Tensor qa, Tensor qb, Tensor(a!) out) -> Tensor(a!) out": into,
                    f"{base}.Scalar(Tensor qa, Scalar b) -> Tensor qc": call,
                    f"{base}.Scalar2(Scalar b, Tensor qa) -> Tensor qc": call,
                    f"{base}.Scalar_out(Tensor qa, Scalar b, Tensor(a!) out) -> Tensor(a!) out": into,
                    f"{base}_out(Tensor qa, Tensor qb, Tensor(a!) out) -> Tensor(a!) out": into,
                    f"{name}_scalar{tail}(Tensor qa, Scalar b) -> Tensor qc": call,
                    f"{name}_scalar{tail}.Tensor(Tensor qa, Tensor b) -> Tensor qc": call,
                    f"{name}_scalar{tail}_out(Tensor qa, Scalar b, Tensor(a!) out) -> Tensor(a!) out": into,
                    f"{name}_scalar{tail}_out.Tensor(Tensor qa, Tensor b, Tensor(a!) out) -> Tensor(a!) out": into,
                },
            )


_END = "float output_scale, int output_zero_point"
_NORM = f"Tensor? weight, Tensor? bias, float eps, {_END}"
_POOL = "Tensor qx, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode"
_BATCH = f"Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, float eps, {_END}"

_define_binary()
define(
    "quantized",
    {
        "matmul(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc": _matmul,
        "cat(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor": _cat(False),
        "cat_relu(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor": _cat(True),
        "cat_out(Tensor[] qx, int dim, Tensor(a!) out) -> Tensor(a!)": _cat_out(False),
        "cat_relu_out(Tensor[] qx, int dim, Tensor(a!) out) -> Tensor(a!)": _cat_out(True),
        **{f"batch_norm{n}({_BATCH}) -> Tensor": _batch_norm(False) for n in ("", "1d", "2d", "3d")},
        **{f"batch_norm{n}_relu({_BATCH}) -> Tensor": _batch_norm(True) for n in ("", "1d", "2d", "3d")},
        f"layer_norm(Tensor input, int[] normalized_shape, {_NORM}) -> Tensor": _layer_norm,
        f"group_norm(Tensor input, int num_groups, {_NORM}) -> Tensor": _group_norm,
        f"instance_norm(Tensor input, {_NORM}) -> Tensor": _instance_norm,
        f"hardswish(Tensor input, {_END}) -> Tensor": _hardswish,
        f"elu(Tensor self, {_END}, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor": _elu,
        f"celu(Tensor self, {_END}, Scalar alpha=1) -> Tensor": _celu,
        f"leaky_relu(Tensor qx, Scalar negative_slope, bool inplace, {_END}) -> Tensor": _leaky_relu,
        f"prelu(Tensor qx, Tensor weight, {_END}) -> Tensor": _prelu,
        f"sigmoid(Tensor qx, {_END}) -> Tensor": _sigmoid,
        f"softmax(Tensor qx, int dim, {_END}) -> Tensor": _softmax,
        f"dropout(Tensor self, {_END}, Scalar p=0.5, bool training=False) -> Tensor": _dropout,
        "relu6(Tensor qx, bool inplace=False) -> Tensor": _relu6,
        "threshold(Tensor qx, Scalar threshold, Scalar value) -> Tensor qy": _threshold,
        "clamp(Tensor qx, Scalar? min=None, Scalar? max=None) -> Tensor qy": _clamp,
        f"max_pool1d({_POOL}) -> Tensor": _pool(quantized_max_pool1d),
        f"max_pool2d({_POOL}) -> Tensor": _pool(quantized_max_pool2d),
    },
)
define(
    "_quantized",
    {
        "add(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc": _binary(
            arithmetic.add, arithmetic.add_number, False
        )
    },
)
