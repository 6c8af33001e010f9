"""The amount of checks and messages."""

from __future__ import annotations

import os

from tl_core.base.native_enum import NativeEnum


class DebugLevel(NativeEnum):
    """The amount of checks and messages.

    With DETAIL, all ranks of a group over a network compare what they call before each collective, also those that
    exchange nothing in it.

    Example:
        >>> import tl_distributed as dist
        >>> dist.DebugLevel.DETAIL.name
        'DETAIL'
    """

    OFF = 0
    INFO = 1
    DETAIL = 2


def _from_environment() -> DebugLevel:
    text = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if text not in DebugLevel.__members__:
        raise RuntimeError(f"TORCH_DISTRIBUTED_DEBUG must be OFF, INFO or DETAIL, got {text!r}")
    return DebugLevel[text]


_level = _from_environment()


def get_debug_level() -> DebugLevel:
    """The amount of checks and messages, at first the value of the environment variable TORCH_DISTRIBUTED_DEBUG.

    Example:
        >>> import tl_distributed as dist
        >>> dist.get_debug_level().name
        'OFF'
    """
    return _level


def set_debug_level(level: DebugLevel) -> None:
    """Sets how much is checked and told; groups made from now on follow it.

    Example:
        >>> import tl_distributed as dist
        >>> dist.set_debug_level(dist.DebugLevel.INFO)
        >>> dist.get_debug_level().name
        'INFO'
        >>> dist.set_debug_level(dist.DebugLevel.OFF)
    """
    global _level
    _level = DebugLevel(level)


def set_debug_level_from_env() -> None:
    """Sets it from the environment variable TORCH_DISTRIBUTED_DEBUG: OFF, INFO or DETAIL.

    Example:
        >>> import tl_distributed as dist
        >>> dist.set_debug_level_from_env()
    """
    set_debug_level(_from_environment())
