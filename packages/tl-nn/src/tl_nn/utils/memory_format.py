"""The memory format of convolutions' weights."""

from __future__ import annotations

from typing import Any, TypeVar

import tl_core

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

_M = TypeVar("_M", bound=Module)


def convert_conv2d_weight_memory_format(module: _M, memory_format: Any) -> _M:
    """Lay out the weights of all two-dimensional convolutions in a module in another order.

    Args:
        module (Module): The module, which is changed.
        memory_format (memory_format): Such as `channels_last`.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.Conv2d(8, 4, 3)
        >>> layer = tl_nn.utils.convert_conv2d_weight_memory_format(layer, tl_core.channels_last)
        >>> layer.weight.is_contiguous(memory_format=tl_core.channels_last)
        True
    """
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: _M, memory_format: Any) -> _M:
    """Lay out the weights of all three-dimensional convolutions in a module in another order.

    Args:
        module (Module): The module, which is changed.
        memory_format (memory_format): Such as `channels_last_3d`.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.Conv3d(2, 4, 3)
        >>> layer = tl_nn.utils.convert_conv3d_weight_memory_format(layer, tl_core.channels_last_3d)
        >>> layer.weight.is_contiguous(memory_format=tl_core.channels_last_3d)
        True
    """
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))


def _convert(module: _M, memory_format: Any, kinds: tuple[type, ...]) -> _M:
    layers: list[Any] = [layer for layer in module.modules() if isinstance(layer, kinds)]
    for layer in layers:
        weight = layer.weight
        data = weight.detach().clone(memory_format=tl_core.contiguous_format)
        weight.data = data.contiguous(memory_format=memory_format)
    return module
