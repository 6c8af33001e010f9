"""Quantized tensors for the package with the rules of their operators: integers, quantizers, kernels of results."""

from __future__ import annotations

from tl_core._C import _call_operator as call_operator
from tl_core._C import _integers as integers
from tl_core._C import _look_up_bytes as look_up_bytes
from tl_core._C import _multiplied_bytes as multiplied_bytes
from tl_core._C import _quantized as quantized
from tl_core._C import _quantizer as quantizer
from tl_core._C import _requantized_bytes as requantized_bytes
from tl_core._C import _set_quantized_rules as set_quantized_rules

__all__ = [
    "call_operator",
    "integers",
    "look_up_bytes",
    "multiplied_bytes",
    "quantized",
    "quantizer",
    "requantized_bytes",
    "set_quantized_rules",
]
