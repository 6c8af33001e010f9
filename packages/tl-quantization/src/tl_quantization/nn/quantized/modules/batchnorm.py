"""Batch normalization in evaluation."""

from __future__ import annotations

from typing import Any

import tl_nn as nn
from tl_core import Tensor

from .utils import Scaled, numbers_of, observed_qparams, program

__all__ = ["BatchNorm2d", "BatchNorm3d"]


class _Norm(Scaled):
    """The base of the normalizations, before the float class in the order of bases."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, device=device, dtype=dtype)  # type: ignore[call-arg]
        self._init_scale(1.0, 0)
        self.eval()  # type: ignore[attr-defined]

    def train(self, mode: bool = True) -> Any:
        """A quantized normalization has only its evaluation."""
        return super().train(False)  # type: ignore[misc]

    def _numbers(self, input: Any) -> Tensor:
        return super().forward(numbers_of(input).dequantize())  # type: ignore[misc]

    def forward(self, input: Any) -> Any:
        """The input, normalized by the running statistics, with the layer's scale and zero point."""
        return self._again(self._numbers(input).detach(), input)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float one, alone or followed by a ReLU, that has been observed."""
        bn = mod[0] if isinstance(mod, nn.Sequential) else mod
        module = cls(bn.num_features, bn.eps)
        for name in ("weight", "bias", "running_mean", "running_var"):
            getattr(module, name).data.copy_(getattr(bn, name).detach())
        module._init_scale(*observed_qparams(mod))
        return module


def script_of(operator: str) -> str:
    """The program of a normalization in TorchScript.

    Args:
        operator: the operator of `quantized::`.
    """
    statistics = "self.running_mean, self.running_var, self.eps"
    scale = "float(self.scale), int(self.zero_point)"
    return program("input", f"{operator}(input, self.weight, self.bias, {statistics}, {scale})")


class BatchNorm2d(_Norm, nn.BatchNorm2d):
    """`tl_nn.BatchNorm2d` of quantized tensors, in evaluation. The result has the layer's scale and zero point.

    Args:
        num_features: the number of channels.
        eps: added to the variance.
        momentum: accepted and unused, as the layer doesn't train.
        device: the device of the buffers.
        dtype: the type of the buffers.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> quantized.BatchNorm2d(3)(tq.quantize_per_tensor(tl_core.ones(1, 3, 4, 4), 0.5, 10, tq.quint8)).shape
        torch.Size([1, 3, 4, 4])
    """

    _SCRIPT_SOURCE = script_of("batch_norm2d")


class BatchNorm3d(_Norm, nn.BatchNorm3d):
    """`tl_nn.BatchNorm3d` of quantized tensors, in evaluation. The result has the layer's scale and zero point.

    Args:
        num_features: the number of channels.
        eps: added to the variance.
        momentum: accepted and unused, as the layer doesn't train.
        device: the device of the buffers.
        dtype: the type of the buffers.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> quantized.BatchNorm3d(3)(tq.quantize_per_tensor(tl_core.ones(1, 3, 4, 4, 4), 0.5, 10, tq.quint8)).shape
        torch.Size([1, 3, 4, 4, 4])
    """

    _SCRIPT_SOURCE = script_of("batch_norm3d")
