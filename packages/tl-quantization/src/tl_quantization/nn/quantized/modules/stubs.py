"""Layers that quantize and dequantize."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module

from ....functions import dequantize, quantize_per_tensor
from .utils import observed_qparams

__all__ = ["DeQuantize", "Quantize"]


class Quantize(Module):
    """Quantizes its input.

    Args:
        scale (float): The scale.
        zero_point (int): The zero point.
        dtype (quantized dtype): The type.
        factory_kwargs: device and type of the buffers.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> Quantize(0.5, 0, tq.qint8)(tl_core.tensor([1.0])).int_repr()
        tensor([2], dtype=torch.int8)
    """

    scale: Tensor
    zero_point: Tensor

    _SCRIPT_SOURCE = (
        "def forward(self, X: Tensor) -> Tensor:\n"
        "    return aten.quantize_per_tensor(X, float(self.scale), int(self.zero_point), self.dtype)\n"
    )

    def __init__(self, scale: float, zero_point: int, dtype: Any, factory_kwargs: Any = None) -> None:
        super().__init__()
        kwargs = factory_kwargs or {}
        self.register_buffer("scale", tl_core.tensor([float(scale)], **kwargs))
        self.register_buffer("zero_point", tl_core.tensor([int(zero_point)], dtype=tl_core.long))
        self.dtype = dtype

    def forward(self, X: Tensor) -> Any:
        """The tensor, quantized."""
        return quantize_per_tensor(X, float(self.scale), int(self.zero_point), self.dtype)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Quantize:
        """The layer for a `QuantStub` that has watched its input."""
        return Quantize(*observed_qparams(mod), mod.activation_post_process.dtype)

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"


class DeQuantize(Module):
    """Makes numbers of quantized tensors.

    Example:
        >>> import tl_core
        >>> import tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> quantized.DeQuantize()(tq.quantize_per_tensor(tl_core.tensor([0.4, 1.0]), 0.5, 10, tq.quint8))
        tensor([0.5000, 1.0000])
    """

    _SCRIPT_SOURCE = "def forward(self, Xq: Tensor) -> Tensor:\n    return Xq.dequantize()\n"

    def forward(self, Xq: Any) -> Tensor:
        """The numbers, as float32."""
        return dequantize(Xq)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> DeQuantize:
        """The layer for a `DeQuantStub`."""
        return DeQuantize()
