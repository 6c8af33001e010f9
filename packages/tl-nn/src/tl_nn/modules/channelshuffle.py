"""Rearranging channels."""

from __future__ import annotations

from tl_core import Tensor

from .. import functional as F
from .module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    r"""Interleaves groups of channels.

    Formula:
        .. math::

            y_{n, \; j g + i, \, *} = x_{n, \; i C / g + j, \, *}, \qquad 0 \le i < g, \; 0 \le j < C / g

        `g` is `groups` and `C` the number of channels.

    Args:
        groups (int): The number of groups, a divisor of the number of channels.

    Shape:
        - Input: `(N, C, *)`, with at least three dimensions.
        - Output: the shape of the input.

    Notes:
        - The layer lets information pass between the groups of grouped convolutions.
        - Source: Zhang et al., ShuffleNet, 2018.

    Raises:
        RuntimeError: If `groups` isn't positive or doesn't divide the number of channels, or the input has fewer
            than three dimensions.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.ChannelShuffle(2)(tl_core.arange(4.0).reshape(1, 4, 1)).flatten()
        tensor([0., 2., 1., 3.])
    """

    __constants__ = ["groups"]

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """The input, shape (N, C, ...), with its channels in another order."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
