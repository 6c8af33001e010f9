"""`quantized::` operators of linear layers with packed weights."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import functional as F

from ..dtypes import qint8, quint8
from ..functions import quantize_per_tensor
from ..operators import quantize_numbers
from ..packed.half import HalfLinear
from ..packed.linear import PackedLinear
from ..tensor import is_quantized_tensor
from ..tensor_quantizer import PerTensor
from .registry import define, quantized_input

__all__: list[str] = []


def _prepack(W: Any, B: Tensor | None = None) -> PackedLinear:
    return PackedLinear(_check_quantized("W", W), B)


def _check_quantized(name: str, x: Any) -> Any:
    if not is_quantized_tensor(x):
        raise RuntimeError(
            f"{name} must be a quantized tensor, but got {getattr(x, 'dtype', type(x).__name__)}"
        )
    return x


def _prepack_half(W: Tensor, B: Tensor | None = None) -> HalfLinear:
    return HalfLinear(W.to(tl_core.float16), B)


def _unpack(W_prepack: Any) -> Any:
    return _layer(W_prepack, "linear_unpack").unpack()


def _layer(W_prepack: Any, name: str) -> Any:
    if isinstance(W_prepack, Tensor):
        raise RuntimeError(f"quantized.{name}(Tensor) is unsupported! {_OLD.capitalize()}")
    return W_prepack


def _unpack_half(W_prepack: Any) -> Any:
    weight, bias = _layer(W_prepack, "linear_unpack_fp16").unpack()
    return weight.to(tl_core.float32), bias


def _static(relu: bool) -> Any:
    def call(X: Any, W_prepack: Any, Y_scale_i: float, Y_zero_point_i: int) -> Any:
        return W_prepack.of_bytes(quantized_input(X, "linear"), float(Y_scale_i), int(Y_zero_point_i), relu)

    return call


def _with_activation(activate: Any) -> Any:
    def call(X: Any, W_prepack: Any, Y_scale_i: float, Y_zero_point_i: int, *rest: Any) -> Any:
        weight, bias = W_prepack.unpack()
        result = activate(
            F.linear(quantized_input(X, "linear").dequantize(), weight.dequantize(), bias), *rest
        )
        return quantize_numbers(result, PerTensor(float(Y_scale_i), int(Y_zero_point_i), X.dtype))

    return call


def _dynamic(relu: bool) -> Any:
    def call(X: Tensor, W_prepack: Any, reduce_range: bool = False) -> Tensor:
        return W_prepack.of_floats(X, reduce_range, relu)

    return call


def _half(relu: bool) -> Any:
    def call(X: Tensor, W_prepack: Any) -> Tensor:
        return W_prepack.of_floats(X, relu=relu)

    return call


def _half_unpacked(X: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return HalfLinear(weight.to(tl_core.float16), bias).of_floats(X)


def _of_rounded_input(relu: bool) -> Any:
    def call(X: Tensor, X_scale: float, X_zero_point: int, W_prepack: Any) -> Tensor:
        weight, bias = W_prepack.unpack()
        x = quantize_per_tensor(X, float(X_scale), int(X_zero_point), quint8).dequantize()
        result = F.linear(x, weight.dequantize(), bias)
        return F.relu(result) if relu else result

    return call


def _wrap(W: Tensor, W_scale: Tensor, W_zero_point: Tensor, B: Tensor) -> Tensor:
    """A float weight, beside which a call finds its integers."""
    weight = quantize_per_tensor(W, float(W_scale), int(W_zero_point), qint8)
    result = W.detach().clone()
    vars(result)["layer"] = PackedLinear(weight, B)
    return result


def _of_wrapped(
    X: Tensor, X_scale: Tensor, X_zero_point: Tensor, W_prepack: Tensor, output_scale: Tensor,
    output_zero_point: Tensor, out_channel: int,
) -> Tensor:  # fmt: skip
    layer = getattr(W_prepack, "layer", None)
    if layer is None:
        raise RuntimeError("W_prepack must be the result of _quantized::_wrapped_linear_prepack")
    x = quantize_per_tensor(X, float(X_scale), int(X_zero_point), quint8)
    return layer.of_bytes(x, float(output_scale), int(output_zero_point)).dequantize()


def _wrapped(
    X: Tensor, X_scale: Tensor, X_zero_point: Tensor, W: Tensor, W_scale: Tensor, W_zero_point: Tensor, B: Tensor,
    output_scale: Tensor, output_zero_point: Tensor, out_channel: int,
) -> Tensor:  # fmt: skip
    weight = _wrap(W, W_scale, W_zero_point, B)
    return _of_wrapped(X, X_scale, X_zero_point, weight, output_scale, output_zero_point, out_channel)


def _refuse(name: str, advice: str) -> Any:
    def call(*_: Any) -> Any:
        raise RuntimeError(f"{name} belongs to models of before 2020: {advice}")

    return call


_OLD = "export the model again, with quantized::linear_prepack"
_LEGACY = {
    f"{name}(Tensor W, Tensor? B=None) -> Tensor W_prepack": _refuse(name, _OLD)
    for name in ("linear_prepack_legacy", "linear_prepack_fp16_legacy")
}
_STATIC = "Tensor X, %Linear W_prepack, float Y_scale_i, int Y_zero_point_i"
_ROUNDED = "Tensor X, float X_scale, int X_zero_point, %Linear W_prepack"
_WHOLE = {
    "linear_prepack(Tensor W, Tensor? B=None) -> %Linear W_prepack": _prepack,
    "linear_prepack_fp16(Tensor W, Tensor? B=None) -> %Linear W_prepack": _prepack_half,
    f"linear({_STATIC}) -> Tensor Y": _static(False),
    "linear_dynamic(Tensor X, %Linear W_prepack, bool reduce_range=False) -> Tensor Y": _dynamic(False),
}
_INPUT = "Tensor X, Tensor X_scale, Tensor X_zero_point"
define(
    "_quantized",
    {
        **_WHOLE,
        **_LEGACY,
        "_wrapped_linear_prepack(Tensor W, Tensor W_scale, Tensor W_zero_point, Tensor B) -> Tensor": _wrap,
        f"_wrapped_quantized_linear_prepacked({_INPUT}, Tensor W_prepack, Tensor output_scale, Tensor "
        "output_zero_point, int out_channel) -> Tensor Y": _of_wrapped,
        f"wrapped_quantized_linear({_INPUT}, Tensor W, Tensor W_scale, Tensor W_zero_point, Tensor B, Tensor "
        "output_scale, Tensor output_zero_point, int out_channel) -> Tensor Y": _wrapped,
        "wrapped_fbgemm_pack_gemm_matrix_fp16(Tensor W) -> Tensor": lambda W: W.half(),
        "wrapped_fbgemm_linear_fp16_weight(Tensor X, Tensor W, Tensor B, int out_channel) -> Tensor Y": (
            lambda X, W, B, out_channel: _half_unpacked(X, W, B)
        ),
    },
)
define(
    "quantized",
    {
        **_WHOLE,
        **_LEGACY,
        "int4mm_packed_weight_cpu(Tensor self, Tensor mat2, Tensor qGroupSize, Tensor qScaleAndZeros) -> Tensor": (
            lambda self, mat2, qGroupSize, qScaleAndZeros: tl_core._weight_int4pack_mm_for_cpu(
                self, mat2, int(qGroupSize), qScaleAndZeros
            )
        ),
        "linear_unpack.legacy(Tensor W_prepack) -> (Tensor W_origin, Tensor? B_origin)": _unpack,
        "linear_unpack_fp16.legacy(Tensor W_prepack) -> (Tensor W_origin, Tensor? B_origin)": _unpack_half,
        f"linear_relu({_STATIC}) -> Tensor Y": _static(True),
        f"linear_leaky_relu({_STATIC}, float negative_slope) -> Tensor Y": _with_activation(F.leaky_relu),
        f"linear_tanh({_STATIC}) -> Tensor Y": _with_activation(tl_core.tanh),
        "linear_relu_dynamic(Tensor X, %Linear W_prepack, bool reduce_range=False) -> Tensor Y": _dynamic(
            True
        ),
        "linear_dynamic_fp16(Tensor X, %Linear W_prepack) -> Tensor Y": _half(False),
        "linear_relu_dynamic_fp16(Tensor X, %Linear W_prepack) -> Tensor Y": _half(True),
        "linear_dynamic_fp16_unpacked_weight(Tensor X, Tensor weight, Tensor? bias) -> Tensor Y": _half_unpacked,
        "linear_unpack(%Linear W_prepack) -> (Tensor W_origin, Tensor? B_origin)": _unpack,
        "linear_unpack_fp16(%Linear W_prepack) -> (Tensor W_origin, Tensor? B_origin)": _unpack_half,
        f"linear_with_input_q_dq_qweight_dq_output_fp32({_ROUNDED}) -> Tensor Y": _of_rounded_input(False),
        f"linear_with_input_q_dq_qweight_dq_relu_output_fp32({_ROUNDED}) -> Tensor Y": _of_rounded_input(
            True
        ),
    },
)
