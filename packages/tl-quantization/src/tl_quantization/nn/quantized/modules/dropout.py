"""Dropout, which quantized networks don't have: they only evaluate."""

from __future__ import annotations

from typing import Any

import tl_nn as nn

__all__ = ["Dropout"]


class Dropout(nn.Dropout):
    """The input itself, whatever the mode.

    Args:
        p, inplace: As of `tl_nn.Dropout`, to be shown.

    Example:
        >>> import tl_core
        >>> import tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> quantized.Dropout(0.5)(tq.quantize_per_tensor(tl_core.ones(2), 0.5, 10, tq.quint8)).dequantize()
        tensor([1., 1.])
    """

    _SCRIPT_SOURCE = "def forward(self, input: Tensor) -> Tensor:\n    return input\n"

    def forward(self, input: Any) -> Any:
        """The input itself."""
        return input

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Dropout:
        """The layer for a float `Dropout`."""
        return cls(mod.p, mod.inplace)
