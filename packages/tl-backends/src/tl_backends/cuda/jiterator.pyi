# Written by `python -m tools.device_stubs --write` from device_names.py.

from collections.abc import Callable
from typing import Any

__all__ = []

def _create_jit_fn(code_string: str, **kwargs: Any) -> Callable: ...
def _create_multi_output_jit_fn(code_string: str, num_outputs: int, **kwargs: Any) -> Callable: ...
