"""The weight of a dynamic linear layer that computes with floating numbers."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.extensions.custom_classes import ScriptObject
from tl_nn import functional as F

__all__ = ["HalfLinear"]


class HalfLinear(ScriptObject):
    """A weight of float16 and a bias. The layer computes in float32.

    Args:
        weight (Tensor, shape (out_features, in_features)): Of float16.
        bias (Tensor, shape (out_features,), optional): Of floating numbers.

    Raises:
        RuntimeError: If the weight is of another type.

    Example:
        >>> import tl_core
        >>> HalfLinear(tl_core.ones(1, 2, dtype=tl_core.float16), None).of_floats(tl_core.ones(1, 2))
        tensor([[2.]])
    """

    _qualified_name = "__torch__.torch.classes.quantized.LinearPackedParamsBase"

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        if weight.dtype is not tl_core.float16:
            raise RuntimeError(f"the weight must be of torch.float16, but got {weight.dtype}")
        self._weight, self.bias = weight.detach(), None if bias is None else bias.detach()

    def weight(self) -> Tensor:
        """The weight."""
        return self._weight

    def unpack(self) -> tuple[Tensor, Tensor | None]:
        """The weight and the bias."""
        return self._weight, self.bias

    def of_floats(
        self, x: Tensor, reduce_range: bool = True, relu: bool = False, bias: Tensor | None = None
    ) -> Tensor:
        """The layer's result.

        Args:
            x (Tensor, shape (..., in_features)): Of float32.
            reduce_range (bool): Has no effect, as `x` stays as it is.
            relu (bool): Whether negative results become 0.
            bias (Tensor, optional): In place of the layer's own.
        """
        y = F.linear(x, self._weight.to(tl_core.float32), self.bias if bias is None else bias)
        return F.relu(y) if relu else y

    def _state(self) -> tuple[Any, ...]:
        return self._weight.to(tl_core.float32), self.bias  # files have float32, as PyTorch's do
