"""Helpers of the reference's frame evaluation that libraries import."""

from __future__ import annotations

import collections
from typing import Any

__all__ = ["counters", "is_compile_supported"]

counters: collections.defaultdict[str, collections.Counter[str]] = collections.defaultdict(
    collections.Counter
)


def is_compile_supported(device_type: Any) -> bool:
    """Whether there is a code generator for a device: no.

    Args:
        device_type: the device.
    """
    return False
