"""Linear layers for training towards dynamic quantization."""

from __future__ import annotations

from typing import Any

import tl_core

from ...modules.linear import Linear as _Linear

__all__ = ["Linear"]


class Linear(_Linear):
    """`tl_quantization.nn.qat.Linear` for a configuration whose results are quantized at each call.

    Args:
        in_features, out_features, bias, device, dtype: As of `tl_nn.Linear`.
        qconfig (QConfig): Its `activation` must be dynamic.

    Raises:
        ValueError: If the configuration is not dynamic.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, qconfig, device, dtype)
        activation = qconfig.activation()
        if activation.dtype is not tl_core.float32 and not activation.is_dynamic:
            raise ValueError(
                "Dynamic QAT requires a memoryless observer.This means a MovingAverage observer with averaging "
                "constant equal to 1, and qconfig.activation must be dynamic"
            )
