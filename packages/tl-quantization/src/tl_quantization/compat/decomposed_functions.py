"""`torch.ao.quantization.fx._decomposed`: the operators of `torch.ops.quantized_decomposed` as functions."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.library import Library

from ..libraries import decomposed, load_all

__all__: list[str] = []

load_all()
_NAMESPACES: Any = tl_core.ops
_OPERATORS = _NAMESPACES.quantized_decomposed
quantized_decomposed_lib = Library("quantized_decomposed", "FRAGMENT")
_DTYPE_TO_QVALUE_BOUNDS = decomposed._BOUNDS
_quant_min_max_bounds_check = decomposed._check_bounds

quantize_per_tensor = _OPERATORS.quantize_per_tensor.default
quantize_per_tensor_tensor = _OPERATORS.quantize_per_tensor.tensor
quantize_per_tensor_tensor2 = _OPERATORS.quantize_per_tensor.tensor2
dequantize_per_tensor = _OPERATORS.dequantize_per_tensor.default
dequantize_per_tensor_tensor = _OPERATORS.dequantize_per_tensor.tensor
dequantize_per_tensor_tensor2 = _OPERATORS.dequantize_per_tensor.tensor2
choose_qparams_tensor = _OPERATORS.choose_qparams.tensor
choose_qparams_symmetric_tensor = _OPERATORS.choose_qparams_symmetric.tensor
quantize_per_channel = _OPERATORS.quantize_per_channel.default
dequantize_per_channel = _OPERATORS.dequantize_per_channel.default
choose_qparams_per_token = _OPERATORS.choose_qparams_per_token.default
choose_qparams_per_token_asymmetric = _OPERATORS.choose_qparams_per_token_asymmetric.default
_choose_qparams_per_token_asymmetric_impl = _OPERATORS._choose_qparams_per_token_asymmetric_impl.default
quantize_per_token = _OPERATORS.quantize_per_token.default
dequantize_per_token = _OPERATORS.dequantize_per_token.default
quantize_per_channel_group = _OPERATORS.quantize_per_channel_group.default
dequantize_per_channel_group = _OPERATORS.dequantize_per_channel_group.default
fake_quant_per_channel = _OPERATORS.fake_quant_per_channel.default
convert_element_type = _OPERATORS.convert_element_type.no_fuse


def _permute_to_axis_zero(x: Tensor, axis: int) -> tuple[Tensor, list[int]]:
    """The tensor with a dimension in front, and the order that puts it back.

    Args:
        x: the tensor.
        axis: the dimension.
    """
    order = list(range(x.dim()))
    order[0], order[axis] = axis, 0
    return x.permute(order), order


def _per_token_quant_qparam_dim_check(input: Tensor, scales: Tensor, zero_points: Tensor) -> None:
    """Raises unless there is one scale and one zero point for each token, the rows of the last dimension.

    Args:
        input: the tensor.
        scales: the scales.
        zero_points: the zero points.

    Raises:
        AssertionError: their number is another one.
    """
    n_tokens = tl_core.Size(input.shape[:-1]).numel()
    if scales.numel() != n_tokens:
        raise AssertionError(f"n_tokens ({n_tokens}) != scales ({scales.numel()})")
    if zero_points.numel() != n_tokens:
        raise AssertionError(f"n_tokens ({n_tokens}) != zero_points ({zero_points.numel()})")
