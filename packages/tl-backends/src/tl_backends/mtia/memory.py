"""The memory of MTIA devices: there is none."""

from typing import Any

__all__ = ["memory_stats"]


def memory_stats(device: Any = None) -> dict[str, Any]:
    """The statistics of a device's allocator: empty."""
    return {}
