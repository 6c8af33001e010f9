"""Rearranging channels."""

from __future__ import annotations

from tl_core import Tensor

from .. import functional as F
from .module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Divides channels into groups and interleaves the groups (Zhang et al., 2018).

    Args:
        groups (int): The number of groups, which must divide the number of channels.

    Raises:
        RuntimeError: If it doesn't.

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
