# Written by `python -m tools.device_stubs --write` from device_names.py.

from typing import Any

__all__ = ["memory_stats"]

def memory_stats(device: Any = None) -> dict[str, Any]: ...
