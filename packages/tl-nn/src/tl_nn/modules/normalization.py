"""Normalization over features of each sample."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class LocalResponseNorm(Module):
    """Divides each element by a power of the mean square over nearby channels (Krizhevsky et al., 2012).

    Args:
        size (int): The number of channels summed over.
        alpha, beta, k (float): The divisor is `(k + alpha * mean square) ** beta`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LocalResponseNorm(2)(tl_core.zeros(32, 5, 24, 24)).shape
        torch.Size([32, 5, 24, 24])
    """

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input, shape (N, C, ...)."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """An older name of `LocalResponseNorm`, whose `k` is 1 by default.

    Args:
        size: how many neighbouring channels are summed over.
        alpha: the factor of the mean square.
        beta: the exponent of the denominator.
        k: the summand of the denominator.

    Raises:
        ValueError: If the input has not 4 dimensions.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.CrossMapLRN2d(2)(tl_core.zeros(1, 4, 3, 3)).shape
        torch.Size([1, 4, 3, 3])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input, shape (N, C, H, W)."""
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        return super().forward(input)


class _OverLastDims(Module):
    """Base class of layers that normalize over the last dimensions: their sizes, and learned factors.

    Args:
        normalized_shape (int or list of int): The sizes of the dimensions normalized over.
        eps (float or None): Added under the root.
        elementwise_affine (bool): Whether a factor of each position is learned.
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    normalized_shape: tuple[int, ...]
    eps: Any
    elementwise_affine: bool
    weight: Tensor | None

    def __init__(
        self, normalized_shape: Any, eps: float | None, elementwise_affine: bool, device: Any, dtype: Any
    ) -> None:
        super().__init__()
        is_number = isinstance(normalized_shape, int)
        self.normalized_shape = (normalized_shape,) if is_number else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._learn("weight", elementwise_affine, device, dtype)

    def _learn(self, name: str, is_learned: bool, device: Any, dtype: Any) -> None:
        shape = self.normalized_shape
        parameter = Parameter(tl_core.empty(shape, device=device, dtype=dtype)) if is_learned else None
        self.register_parameter(name, parameter)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LayerNorm(_OverLastDims):
    """Gives the last dimensions of each sample mean 0 and variance 1 (Ba, Kiros and Hinton, 2016).

    Args:
        normalized_shape (int or list of int): The sizes of the dimensions normalized over.
        eps (float): Added to the variance, against division by zero.
        elementwise_affine (bool): Whether a factor and a shift of each position are learned.
        bias (bool): Whether there is a shift.
        device, dtype (optional): Of the parameters.

    Attributes:
        weight, bias (Parameter, shape normalized_shape, or None): Factor and shift, 1 and 0 at first.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LayerNorm(2, elementwise_affine=False)(tl_core.tensor([[1.0, 3.0]]))
        tensor([[-1.0000,  1.0000]])
    """

    bias: Tensor | None

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine, device, dtype)
        self._learn("bias", elementwise_affine and bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set factors to 1 and shifts to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input, shape (*, *normalized_shape)."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(_OverLastDims):
    """Divides the last dimensions of each sample by their root mean square (Zhang and Sennrich, 2019).

    Args:
        normalized_shape (int or list of int): The sizes of the dimensions normalized over.
        eps (float, optional): The summand under the root, by default the type's resolution.
        elementwise_affine (bool): Whether a factor of each position is learned.
        device, dtype (optional): Of the parameter.

    Attributes:
        weight (Parameter, shape normalized_shape, or None): The factors, 1 at first.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.RMSNorm(2, elementwise_affine=False)(tl_core.tensor([[3.0, -3.0]]))
        tensor([[ 1., -1.]])
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the factors to 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """The normalized input, shape (*, *normalized_shape)."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """The settings, as they are printed."""
        return super().extra_repr()


class GroupNorm(Module):
    """Gives each group of channels of each sample mean 0 and variance 1 (Wu and He, 2018).

    Args:
        num_groups (int): The number of groups.
        num_channels (int): The number of channels.
        eps (float): Added to the variance, against division by zero.
        affine (bool): Whether a factor and a shift of each channel are learned.
        device, dtype (optional): Of the parameters.
        bias (bool): Whether there is a shift.

    Attributes:
        weight, bias (Parameter, shape (num_channels,), or None): Factor and shift, 1 and 0 at first.

    Raises:
        ValueError: If `num_groups` isn't positive or doesn't divide `num_channels`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.GroupNorm(3, 6)(tl_core.zeros(20, 6, 10, 10)).shape
        torch.Size([20, 6, 10, 10])
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]
    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_groups <= 0:
            raise ValueError(f"num_groups must be positive, but got {num_groups}")
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels must be divisible by num_groups, but got {num_channels} and {num_groups}"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        for name, is_learned in (("weight", affine), ("bias", affine and bias)):
            parameter = (
                Parameter(tl_core.empty(num_channels, device=device, dtype=dtype)) if is_learned else None
            )
            self.register_parameter(name, parameter)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set factors to 1 and shifts to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input, shape (N, num_channels, ...)."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"
