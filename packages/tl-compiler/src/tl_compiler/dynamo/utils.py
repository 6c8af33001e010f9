"""Helpers of the reference's frame evaluation that libraries import."""

from __future__ import annotations

import collections
import sys
from typing import Any

from . import config

__all__ = ["counters", "disable_cache_limit", "is_compile_supported"]

counters: collections.defaultdict[str, collections.Counter[str]] = collections.defaultdict(
    collections.Counter
)


def disable_cache_limit() -> Any:
    """A region, or a decorator, in which any number of versions of a frame may be kept: there are none."""
    return config.patch({"recompile_limit": sys.maxsize, "accumulated_recompile_limit": sys.maxsize})


def is_compile_supported(device_type: Any) -> bool:
    """Whether there is a code generator for a device: no.

    Args:
        device_type: the device.
    """
    return False
