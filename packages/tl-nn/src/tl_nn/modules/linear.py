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
    r"""Returns its input. The constructor accepts any arguments and ignores them.

    Formula:
        .. math::

            y = x

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The result is the input itself, not a copy. The layer takes the place of another layer in a model.

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
    r"""An affine map of the last dimension.

    Formula:
        .. math::

            y = x W^{\mathsf{T}} + b

        `W` is `weight` and `b` is `bias`. Each vector of the last dimension is mapped by itself.

    Args:
        in_features (int): The size of the last dimension of the input.
        out_features (int): The size of the last dimension of the output.
        bias (bool): Whether a bias is learned. The default is True.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Input: `(*, in_features)`, with at least one dimension.
        - Output: `(*, out_features)`.

    Attributes:
        weight (Parameter, shape (out_features, in_features)): Uniform on `±1 / sqrt(in_features)` at first.
        bias (Parameter, shape (out_features,), or None): Of the same initial distribution.

    Notes:
        - float16 and bfloat16 products are summed in float32 and rounded once. `set_float32_matmul_precision`
          permits faster, less accurate products of float32.
        - Input and parameters have the same type. An empty batch gives an empty output.

    Raises:
        RuntimeError: If the last size of the input isn't `in_features`, or the types differ, when the layer is
            called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Linear(20, 30)(tl_core.zeros(128, 20)).shape
        torch.Size([128, 30])
    """

    __constants__ = ["in_features", "out_features"]
    in_features: int
    out_features: int
    weight: Tensor
    bias: Tensor

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
    r"""`Linear` without `in_features`, which the first input determines.

    Formula:
        .. math::

            y = x W^{\mathsf{T}} + b

        `W` is `weight` and `b` is `bias`. Each vector of the last dimension is mapped by itself.

    Args:
        out_features (int): The size of the last dimension of the output.
        bias (bool): Whether a bias is learned. The default is True.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Input: `(*, in_features)`, with at least one dimension.
        - Output: `(*, out_features)`.

    Attributes:
        weight, bias (UninitializedParameter): Without a shape before the first call. Then as of `Linear`.

    Notes:
        - The first call reads `in_features` from the input, creates and initializes the parameters, and changes the
          class of the layer to `Linear`. Formula and numerics are those of that layer.
        - Call the layer once before the parameters are counted, copied to other processes or passed to an optimizer
          that reads their sizes. `load_state_dict` also gives them their shapes.

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
    r"""A map of pairs of vectors that is linear in each of them.

    Formula:
        .. math::

            y_k = x_1^{\mathsf{T}} W_k \, x_2 + b_k

        `x_1` and `x_2` are vectors of the last dimensions of the inputs, `W_k` is `weight[k]`, `b` is `bias`, and
        `k` an output feature.

    Args:
        in1_features, in2_features (int): The sizes of the last dimensions of the two inputs.
        out_features (int): The size of the last dimension of the output.
        bias (bool): Whether a bias is learned. The default is True.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Inputs: `(*, in1_features)` and `(*, in2_features)`, with equal sizes before the last dimension.
        - Output: `(*, out_features)`.

    Attributes:
        weight (Parameter, shape (out_features, in1_features, in2_features)): Uniform on `±1 / sqrt(in1_features)`
            at first.
        bias (Parameter, shape (out_features,), or None): Of the same initial distribution.

    Notes:
        - The leading sizes aren't broadcast.

    Raises:
        ValueError: If `in1_features` isn't positive.
        RuntimeError: If the sizes of the inputs don't fit, when the layer is called.

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
    bias: Tensor

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
