"""Dropout layers: active in training mode only."""

from __future__ import annotations

from tl_core import Tensor

from .. import functional as F
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    """Base class of all dropout layers: the probability, and the switch of the in-place form.

    Args:
        p (float): The probability of an element, or a channel, to become zero: from 0 to 1.
        inplace (bool): Whether the input itself is changed.

    Raises:
        ValueError: If `p` isn't between 0 and 1.
    """

    __constants__ = ["p", "inplace"]
    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Sets each element to 0 with probability `p`, and divides the others by `1 - p`.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Dropout(0.2).eval()(tl_core.ones(3))
        tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input with random zeros."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Sets whole channels of an input of shape (N, C, L) or (C, L) to 0.

    Example:
        >>> import tl_core, tl_nn
        >>> dropped = tl_nn.Dropout1d(0.5)(tl_core.ones(8, 16, 4))
        >>> bool(((dropped == 0) == (dropped[..., :1] == 0)).all())
        True
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input with random channels of zeros."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Sets whole channels of an input of shape (N, C, H, W) or (N, C, L) to 0.

    Example:
        >>> import tl_core, tl_nn
        >>> dropped = tl_nn.Dropout2d(0.5)(tl_core.ones(8, 16, 4, 4))
        >>> sorted(set(dropped.amax((2, 3)).flatten().tolist()))
        [0.0, 2.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input with random channels of zeros."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Sets whole channels of an input of shape (N, C, D, H, W) or (C, D, H, W) to 0.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Dropout3d(0.5).eval()(tl_core.ones(1, 2, 1, 1, 1)).flatten()
        tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input with random channels of zeros."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance of inputs with zero mean and unit variance, for use with SELU.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.AlphaDropout(0.2).eval()
        >>> layer(tl_core.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input with random elements at SELU's lower limit."""
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels of an input of shape (N, C, ...) or (C, ...).

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.FeatureAlphaDropout(0.2).eval()(tl_core.ones(1, 2, 2)).shape
        torch.Size([1, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input with random channels at SELU's lower limit."""
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)
