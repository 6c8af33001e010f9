"""Layers that are affine maps."""

from __future__ import annotations

from math import sqrt
from typing import Any

import tl_core
from tl_core import Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Returns its input. The constructor ignores its arguments.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Identity(54, unused=True)(tl_core.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """The input."""
        return input


class Linear(Module):
    """`input @ weight.T + bias`.

    Args:
        in_features (int): The size of the last dimension of the input.
        out_features (int): The size of the last dimension of the output.
        bias (bool): Whether a bias is learned.
        device, dtype (optional): Of the parameters.

    Attributes:
        weight (Parameter, shape (out_features, in_features)): Drawn from the uniform distribution on `±1 /
            sqrt(in_features)`.
        bias (Parameter, shape (out_features,), or None): Drawn from the same distribution.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Linear(20, 30)(tl_core.zeros(128, 20)).shape
        torch.Size([128, 30])
    """

    __constants__ = ["in_features", "out_features"]
    in_features: int
    out_features: int
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(tl_core.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(tl_core.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        init.kaiming_uniform_(self.weight, a=sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """The affine map of `input`, shape (*, in_features), to shape (*, out_features)."""
        own: dict[str, Any] = self._parameters
        try:  # ten times as fast as attributes, which parameters aren't
            weight, bias = own["weight"], own["bias"]
        except KeyError:
            weight, bias = self.weight, self.bias
        return F.linear(input, weight, bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """A linear layer that quantization leaves alone: the output projection of attention."""


class LazyLinear(LazyModuleMixin, Linear):
    """`Linear` without `in_features`, which the first input determines.

    Args:
        out_features (int): The size of the last dimension of the output.
        bias (bool): Whether a bias is learned.
        device, dtype (optional): Of the parameters.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.LazyLinear(30)
        >>> layer(tl_core.zeros(128, 20)).shape
        torch.Size([128, 30])
        >>> layer
        Linear(in_features=20, out_features=30, bias=True)
    """

    cls_to_become = Linear
    weight: Any
    bias: Any

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False, device, dtype)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, once they have a shape."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Give the parameters their shapes, for inputs like this one."""
        if not self.has_uninitialized_params():
            return
        self.in_features = input.shape[-1]
        self.weight.materialize((self.out_features, self.in_features))
        if self.bias is not None:
            self.bias.materialize((self.out_features,))
        self.reset_parameters()


class Bilinear(Module):
    """`input1 @ weight[k] @ input2 + bias[k]` for each output feature k.

    Args:
        in1_features, in2_features (int): The sizes of the last dimensions of the two inputs.
        out_features (int): The size of the last dimension of the output.
        bias (bool): Whether a bias is learned.
        device, dtype (optional): Of the parameters.

    Attributes:
        weight (Parameter, shape (out_features, in1_features, in2_features)): Drawn from the uniform distribution
            on `±1 / sqrt(in1_features)`.
        bias (Parameter, shape (out_features,), or None): Drawn from the same distribution.

    Raises:
        ValueError: If `in1_features` isn't positive.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.Bilinear(20, 30, 40)
        >>> layer(tl_core.zeros(128, 20), tl_core.zeros(128, 30)).shape
        torch.Size([128, 40])
    """

    __constants__ = ["in1_features", "in2_features", "out_features"]
    in1_features: int
    in2_features: int
    out_features: int
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(tl_core.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(tl_core.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        bound = 1 / sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """The bilinear map of shapes (*, in1_features) and (*, in2_features) to (*, out_features)."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
