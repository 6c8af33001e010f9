"""`Function` inside of transforms."""

from __future__ import annotations

from typing import Any

from tl_autograd.func.custom_function import VmapInfo

__all__ = ["VmapInfo", "custom_function_call"]


def custom_function_call(autograd_function: Any, *args: Any, **kwargs: Any) -> Any:
    """`autograd_function.apply(*args, **kwargs)`.

    Args:
        autograd_function: the class.
        args: its arguments.
        kwargs: its keyword arguments.
    """
    return autograd_function.apply(*args, **kwargs)
