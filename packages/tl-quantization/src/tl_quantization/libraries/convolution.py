"""`quantized::` operators of convolutions with packed weights."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from ..packed.windows import ConvolutionWindows
from .registry import define, quantized_input

__all__: list[str] = []


def _prepack(
    weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> ConvolutionWindows:
    return ConvolutionWindows(weight, bias, stride, padding, dilation, groups)


def _prepack_transposed(
    weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, dilation: Any, groups: int
) -> ConvolutionWindows:
    return ConvolutionWindows(weight, bias, stride, padding, dilation, groups, output_padding)


def _static(name: str, relu: bool) -> Any:
    def call(qx: Any, packed_weight: Any, *rest: Any) -> Any:
        scale, zero_point = rest[-2:]  # an older form has the windows before them
        return packed_weight.of_bytes(quantized_input(qx, name), scale, zero_point, relu)

    return call


def _static_by_name(name: str, relu: bool) -> Any:
    inner = _static(name, relu)

    def call(qx: Any, packed_weight: Any = None, *rest: Any, **named: Any) -> Any:
        weight = named.pop("weight", packed_weight)
        ends = (named.get("output_scale"), named.get("output_zero_point"))
        return inner(qx, weight, *rest, *(end for end in ends if end is not None))

    return call


def _add_convolution(relu: bool) -> Any:
    def call(qx: Any, qaccum: Any, packed_weight: Any, output_scale: float, output_zero_point: int) -> Any:
        return packed_weight.of_bytes(
            quantized_input(qx, "conv2d_add"), output_scale, output_zero_point, relu, qaccum
        )

    return call


def _dynamic(qx: Tensor, packed_weight: Any, reduce_range: bool = False) -> Tensor:
    return packed_weight.dynamic(qx, reduce_range)


def _unpack(packed_weights: Any) -> Any:
    return packed_weights.unpack()


def _fact(name: str) -> Any:
    def call(packed_weights: Any) -> Any:
        value = getattr(packed_weights, name)
        return list(value) if isinstance(value, tuple) else value

    return call


def _output_padding(packed_weights: Any) -> list[int]:
    return list(packed_weights.output_padding or (0,) * len(packed_weights.stride))


def _is_transposed(packed_weights: Any) -> int:
    return int(packed_weights.is_transposed)


def _unpack_sizes(packed_weights: Any) -> Any:
    return list(packed_weights.weight().shape)


_END = "float output_scale, int output_zero_point"
_PACK = "Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups"
_PACK_TRANSPOSED = _PACK.replace("int[] dilation", "int[] output_padding, int[] dilation")
_OLD = "int[] stride, int[] padding, int[] dilation, int groups"


def _facts(base: str, kind: str) -> dict[str, Any]:
    facts = {
        f"{base}_{name}({kind} packed_weights) -> int[]": _fact(name)
        for name in ("stride", "padding", "dilation")
    }
    return {
        **facts,
        f"{base}_groups({kind} packed_weights) -> int": _fact("groups"),
        f"{base}_output_padding({kind} packed_weights) -> int[]": _output_padding,
        f"{base}_transpose({kind} packed_weights) -> int": _is_transposed,
    }


def _define(axes: int) -> None:
    kind = "%Conv3d" if axes == 3 else "%Conv2d"
    base, transposed = f"conv{axes}d", f"conv_transpose{axes}d"
    calls = {tail: _static_by_name(base + tail, bool(tail)) for tail in ("", "_relu")}
    table: dict[str, Any] = {
        f"{base}_prepack({_PACK}) -> {kind}": _prepack,
        f"{base}_unpack({kind} packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)": _unpack,
        f"{base}_dynamic(Tensor qx, {kind} packed_weight, bool reduce_range=False) -> Tensor": _dynamic,
        f"{transposed}_prepack({_PACK_TRANSPOSED}) -> {kind}": _prepack_transposed,
        f"{transposed}_unpack({kind} packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)": _unpack,
        f"{transposed}(Tensor qx, {kind} packed_weight, {_END}) -> Tensor": _static_by_name(
            transposed, False
        ),
        f"{transposed}_dynamic(Tensor qx, {kind} packed_weight, bool reduce_range=False) -> Tensor": _dynamic,
    }
    for tail, call in calls.items():
        new = "" if axes == 1 else ".new"
        table[f"{base}{tail}{new}(Tensor qx, {kind} packed_weight, {_END}) -> Tensor"] = call
        if axes > 1:
            table[f"{base}{tail}(Tensor qx, {kind} weight, {_OLD}, {_END}) -> Tensor"] = call
    if axes > 1:
        table |= _facts(base, kind) | _facts(transposed, kind)
    define("quantized", table)
    _define_private(axes, kind, base, transposed, calls)


def _define_private(axes: int, kind: str, base: str, transposed: str, calls: dict[str, Any]) -> None:
    table: dict[str, Any] = {f"{transposed}_prepack({_PACK_TRANSPOSED}) -> {kind}": _prepack_transposed}
    if axes > 1:
        table[f"{base}_prepack({_PACK}) -> {kind}"] = _prepack
        table |= {
            f"{base}{t}(Tensor qx, {kind} packed_weight, {_END}) -> Tensor": c for t, c in calls.items()
        }
    if axes < 3:
        call = _static_by_name(transposed, False)
        table[f"{transposed}(Tensor qx, {kind} packed_weight, {_END}) -> Tensor"] = call
    define("_quantized", table)


for _axes in (1, 2, 3):
    _define(_axes)
define(
    "quantized",
    {
        f"conv_prepack({_PACK}) -> %Conv2d": _prepack,
        "conv_unpack(%Conv2d packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)": _unpack,
        "conv2d_unpack_sizes(Any packed_weights) -> Any": _unpack_sizes,
        f"conv2d_add(Tensor qx, Tensor qaccum, %Conv2d packed_weight, {_END}) -> Tensor": _add_convolution(
            False
        ),
        f"conv2d_add_relu(Tensor qx, Tensor qaccum, %Conv2d packed_weight, {_END}) -> Tensor": _add_convolution(
            True
        ),
    },
)
