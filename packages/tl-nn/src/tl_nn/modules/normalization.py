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
    r"""Divides each element by a power of the mean square of neighbouring channels at its position.

    Formula:
        .. math::

            y_c = x_c \left( k + \frac{\alpha}{\mathrm{size}} \sum_{j = c - \lfloor \mathrm{size} / 2 \rfloor}^{c +
            \lfloor (\mathrm{size} - 1) / 2 \rfloor} x_j^{2} \right)^{-\beta}

        `c` is a channel, and `x_j` is 0 for channels that don't exist. `α`, `β` and `k` are the arguments of these
        names.

    Args:
        size (int): The number of channels in a window.
        alpha (float): The factor of the mean square. The default is 1e-4.
        beta (float): The exponent of the divisor. The default is 0.75.
        k (float): The summand of the divisor. The default is 1.

    Shape:
        - Input: `(N, C, *)`, with at least one further dimension.
        - Output: the shape of the input.

    Notes:
        - The window of an even size has one more channel before the element than behind it.
        - The sum is divided by `size` at the first and last channels, too.
        - Source: Krizhevsky et al., ImageNet Classification with Deep Convolutional Neural Networks, 2012.

    Raises:
        ValueError: If the input has fewer than three dimensions.

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
    r"""An older name of `LocalResponseNorm` for images.

    Formula:
        .. math::

            y_c = x_c \left( k + \frac{\alpha}{\mathrm{size}} \sum_{j = c - \lfloor \mathrm{size} / 2 \rfloor}^{c +
            \lfloor (\mathrm{size} - 1) / 2 \rfloor} x_j^{2} \right)^{-\beta}

        `c` is a channel, and `x_j` is 0 for channels that don't exist. `α`, `β` and `k` are the arguments of these
        names.

    Args:
        size (int): The number of channels in a window.
        alpha (float): The factor of the mean square. The default is 1e-4.
        beta (float): The exponent of the divisor. The default is 0.75.
        k (float): The summand of the divisor. The default is 1.

    Shape:
        - Input: `(N, C, H, W)`.
        - Output: the shape of the input.

    Notes:
        - Numerics are those of `LocalResponseNorm`. The class remains for checkpoints of older programs.

    Raises:
        ValueError: If the input doesn't have 4 dimensions.

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
    weight: Tensor

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
    r"""Normalizes the last dimensions of each sample to mean 0 and variance 1.

    Formula:
        .. math::

            y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \mathrm{eps}}} \cdot \gamma + \beta

        Mean and biased variance are over the dimensions of `normalized_shape`, for each index of the dimensions
        before. `γ` is `weight` and `β` is `bias`, each one number for each normalized position, or 1 and 0 without
        them.

    Args:
        normalized_shape (int or sequence of int): The sizes of the last dimensions, over which the layer
            normalizes.
        eps (float): The summand of the variance, against division by zero. The default is 1e-5.
        elementwise_affine (bool): Whether a factor and a shift of each position are learned. The default is True.
        bias (bool): Whether the layer has a shift. It has no effect unless `elementwise_affine`. The default is
            True.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.

    Shape:
        - Input: `(*, normalized_shape[0], ..., normalized_shape[-1])`.
        - Output: the shape of the input.

    Attributes:
        weight (Parameter, shape normalized_shape, or None): The factors `γ`, 1 at first.
        bias (Parameter, shape normalized_shape, or None): The shifts `β`, 0 at first.

    Notes:
        - Training and evaluation are the same: no statistics are stored, and samples don't depend on each other.
        - The variance is computed in two passes, as the mean of squared deviations. Statistics of float16 and
          bfloat16 are in float32, and their parameters may be float32.
        - Positions without variance, also a single one, give `β`.
        - Source: Ba, Kiros and Hinton, Layer Normalization, 2016.

    Raises:
        RuntimeError: If the last sizes of the input differ from `normalized_shape`, when the layer is called.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.LayerNorm(2, elementwise_affine=False)(tl_core.tensor([[1.0, 3.0]]))
        tensor([[-1.0000,  1.0000]])
    """

    bias: Tensor

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
    r"""Divides the last dimensions of each sample by their root mean square.

    Formula:
        .. math::

            y = \frac{x}{\mathrm{RMS}(x)} \cdot \gamma, \qquad
            \mathrm{RMS}(x) = \sqrt{\mathrm{eps} + \frac{1}{n} \sum_{i=1}^{n} x_i^{2}}

        The sum is over the `n` elements of the dimensions of `normalized_shape`, for each index of the dimensions
        before. `γ` is `weight`, one number for each normalized position, or 1.

    Args:
        normalized_shape (int or sequence of int): The sizes of the last dimensions, over which the layer
            normalizes.
        eps (float, optional): The summand under the root. None selects the `finfo(...).eps` of the type in which
            the layer computes.
        elementwise_affine (bool): Whether a factor of each position is learned. The default is True.
        device, dtype (optional): The device and the type of the parameter. None selects the defaults.

    Shape:
        - Input: `(*, normalized_shape[0], ..., normalized_shape[-1])`.
        - Output: the shape of the input.

    Attributes:
        weight (Parameter, shape normalized_shape, or None): The factors `γ`, 1 at first.

    Notes:
        - The mean isn't subtracted, which saves one pass and the shift of `LayerNorm`. Language models use the
          layer for this reason.
        - Zeros give zeros. The sum of squares of float16 and bfloat16 is in float32.
        - Source: Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.

    Raises:
        RuntimeError: If the last sizes of the input differ from `normalized_shape`, when the layer is called.

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
    r"""Normalizes each group of channels of each sample to mean 0 and variance 1.

    Formula:
        .. math::

            y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \mathrm{eps}}} \cdot \gamma + \beta

        Mean and biased variance are over the channels of a group and all further dimensions of a sample. `γ` is
        `weight` and `β` is `bias`, each one number a channel, or 1 and 0 without `affine`.

    Args:
        num_groups (int): The number of groups.
        num_channels (int): The number of channels C, a multiple of `num_groups`.
        eps (float): The summand of the variance, against division by zero. The default is 1e-5.
        affine (bool): Whether a factor and a shift of each channel are learned. The default is True.
        device, dtype (optional): The device and the type of the parameters. None selects the defaults.
        bias (bool): Whether the layer has a shift. It has no effect unless `affine`. The default is True.

    Shape:
        - Input: `(N, C, *)`.
        - Output: the shape of the input.

    Attributes:
        weight (Parameter, shape (num_channels,), or None): The factors `γ`, 1 at first.
        bias (Parameter, shape (num_channels,), or None): The shifts `β`, 0 at first.

    Notes:
        - One group is `LayerNorm` over channels and positions, a group for each channel is `InstanceNorm`.
        - Training and evaluation are the same, and samples don't depend on each other, so small batches do no harm.
        - The variance is computed in two passes, as the mean of squared deviations. Statistics of float16 and
          bfloat16 are in float32.
        - Source: Wu and He, Group Normalization, 2018.

    Raises:
        ValueError: If `num_groups` isn't positive or doesn't divide `num_channels`, or the groups of the only
            sample have one value each, when the layer is called.
        RuntimeError: If the input has another number of channels.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.GroupNorm(3, 6)(tl_core.zeros(20, 6, 10, 10)).shape
        torch.Size([20, 6, 10, 10])
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]
    weight: Tensor
    bias: Tensor

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
