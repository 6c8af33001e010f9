"""Dropout, which quantized networks don't have: they only evaluate."""

from __future__ import annotations

from typing import Any

import tl_nn as nn

__all__ = ["Dropout"]


class Dropout(nn.Dropout):
    """The input itself, whatever the mode.

    Args:
        p, inplace: As of `tl_nn.Dropout`, to be shown.
    """

    def forward(self, input: Any) -> Any:
        """The input itself."""
        return input

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Dropout:
        """The layer for a float `Dropout`."""
        return cls(mod.p, mod.inplace)
