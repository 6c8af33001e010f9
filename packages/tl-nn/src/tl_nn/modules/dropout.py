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
    r"""Sets random elements to 0 in training.

    Formula:
        .. math::

            y = \frac{m \otimes x}{1 - p}, \qquad P(m = 0) = p

        In training each element has its own random number `m`, 0 or 1. In evaluation `y = x`.

    Args:
        p (float): The probability `p` of an element to become 0, from 0 to 1. The default is 0.5.
        inplace (bool): Whether the result overwrites the input. The default is False.

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - The factor `1 / (1 - p)` keeps the expected value of every element, so evaluation needs no correction.
          `p = 1` gives zeros.
        - Random numbers come from the default generator: `manual_seed` reproduces them. The gradient is masked as
          the input.
        - Source: Hinton et al., Improving Neural Networks by Preventing Co-adaptation of Feature Detectors, 2012.

    Raises:
        ValueError: If `p` isn't between 0 and 1.
        RuntimeError: If an input of an integer type meets a probability above 0, in training.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Dropout(0.2).eval()(tl_core.ones(3))
        tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input with random zeros."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    r"""Sets random channels of sequences to 0 in training.

    Formula:
        .. math::

            y = \frac{m \otimes x}{1 - p}, \qquad P(m = 0) = p

        In training each channel of each sample has its own random number `m`, 0 or 1. In evaluation `y = x`.

    Args:
        p (float): The probability `p` of a channel to become 0, from 0 to 1. The default is 0.5.
        inplace (bool): Whether the result overwrites the input. The default is False.

    Shape:
        - Input: `(N, C, L)` or `(C, L)`.
        - Output: the shape of the input.

    Notes:
        - The factor `1 / (1 - p)` keeps the expected value of every element, so evaluation needs no correction.
          `p = 1` gives zeros.
        - Random numbers come from the default generator: `manual_seed` reproduces them. The gradient is masked as
          the input.
        - Neighbouring elements of a channel are alike, so single zeros would remove little information.
        - Source: Tompson et al., Efficient Object Localization Using Convolutional Networks, 2015.

    Raises:
        ValueError: If `p` isn't between 0 and 1.
        RuntimeError: If the input has another number of dimensions.

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
    r"""Sets random channels of images to 0 in training.

    Formula:
        .. math::

            y = \frac{m \otimes x}{1 - p}, \qquad P(m = 0) = p

        In training each channel of each sample has its own random number `m`, 0 or 1. In evaluation `y = x`.

    Args:
        p (float): The probability `p` of a channel to become 0, from 0 to 1. The default is 0.5.
        inplace (bool): Whether the result overwrites the input. The default is False.

    Shape:
        - Input: `(N, C, H, W)`, or `(N, C, L)` with a warning.
        - Output: the shape of the input.

    Notes:
        - The factor `1 / (1 - p)` keeps the expected value of every element, so evaluation needs no correction.
          `p = 1` gives zeros.
        - Random numbers come from the default generator: `manual_seed` reproduces them. The gradient is masked as
          the input.
        - An input of three dimensions is a batch of sequences, not one image. `Dropout1d` is the layer for
          sequences.
        - Source: Tompson et al., Efficient Object Localization Using Convolutional Networks, 2015.

    Raises:
        ValueError: If `p` isn't between 0 and 1.

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
    r"""Sets random channels of volumes to 0 in training.

    Formula:
        .. math::

            y = \frac{m \otimes x}{1 - p}, \qquad P(m = 0) = p

        In training each channel of each sample has its own random number `m`, 0 or 1. In evaluation `y = x`.

    Args:
        p (float): The probability `p` of a channel to become 0, from 0 to 1. The default is 0.5.
        inplace (bool): Whether the result overwrites the input. The default is False.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: the shape of the input.

    Notes:
        - The factor `1 / (1 - p)` keeps the expected value of every element, so evaluation needs no correction.
          `p = 1` gives zeros.
        - Random numbers come from the default generator: `manual_seed` reproduces them. The gradient is masked as
          the input.
        - Source: Tompson et al., Efficient Object Localization Using Convolutional Networks, 2015.

    Raises:
        ValueError: If `p` isn't between 0 and 1.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Dropout3d(0.5).eval()(tl_core.ones(1, 2, 1, 1, 1)).flatten()
        tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input with random channels of zeros."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    r"""Dropout that preserves zero mean and unit variance, for networks of `SELU` units.

    Formula:
        .. math::

            y = a \, \bigl( m \otimes x + (1 - m) \, \alpha' \bigr) + b, \qquad P(m = 0) = p
            \qquad a = \bigl( (1 - p) (1 + p \, \alpha'^{2}) \bigr)^{-1/2}, \qquad b = -a \, p \, \alpha'

        `α' ≈ -1.7581` is the limit of `SELU` for small numbers. In training each element has its own random number
        `m`, 0 or 1. In evaluation `y = x`.

    Args:
        p (float): The probability `p` of an element to be dropped, from 0 to 1. The default is 0.5.
        inplace (bool): Whether the result overwrites the input. The default is False.

    Shape:
        - Input: `(*)`, any shape.
        - Output: `(*)`, the shape of the input.

    Notes:
        - An input of mean 0 and variance 1 gives a result of mean 0 and variance 1, in expectation. `p = 1` gives
          zeros.
        - Source: Klambauer et al., Self-Normalizing Neural Networks, 2017.

    Raises:
        ValueError: If `p` isn't between 0 and 1.

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
    r"""`AlphaDropout` of whole channels.

    Formula:
        .. math::

            y = a \, \bigl( m \otimes x + (1 - m) \, \alpha' \bigr) + b, \qquad P(m = 0) = p
            \qquad a = \bigl( (1 - p) (1 + p \, \alpha'^{2}) \bigr)^{-1/2}, \qquad b = -a \, p \, \alpha'

        `α' ≈ -1.7581` is the limit of `SELU` for small numbers. In training each channel of each sample has its own
        random number `m`, 0 or 1. In evaluation `y = x`.

    Args:
        p (float): The probability `p` of a channel to be dropped, from 0 to 1. The default is 0.5.
        inplace (bool): Whether the result overwrites the input. The default is False.

    Shape:
        - Input: `(N, C, *)`.
        - Output: the shape of the input.

    Notes:
        - The first two dimensions are batch and channels, also of an input without a batch.
        - Source: Klambauer et al., Self-Normalizing Neural Networks, 2017.

    Raises:
        ValueError: If `p` isn't between 0 and 1.
        RuntimeError: If the input has fewer than two dimensions, in training.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.FeatureAlphaDropout(0.2).eval()(tl_core.ones(1, 2, 2)).shape
        torch.Size([1, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input with random channels at SELU's lower limit."""
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)
