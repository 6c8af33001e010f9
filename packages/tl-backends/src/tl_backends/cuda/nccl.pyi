# Written by `python -m tools.device_stubs --write` from device_names.py.

from typing import Any

__all__ = ["is_available", "version"]

def is_available(tensors: Any) -> bool: ...
def version() -> tuple[int, ...]: ...
