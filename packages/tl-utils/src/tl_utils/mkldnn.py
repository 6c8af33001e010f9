"""The interface of the conversion to oneDNN's layout, which tl doesn't have."""

from __future__ import annotations

from typing import Any, NoReturn

import tl_core
from tl_nn import Module

__all__ = ["to_mkldnn"]


def to_mkldnn(module: Module, dtype: tl_core.dtype = tl_core.float32) -> NoReturn:
    """Would convert a module's weights to oneDNN's layout.

    Args:
        module: the module.
        dtype: float32, bfloat16 or float16.

    Raises:
        TypeError: `dtype` is another, or `module` is no module.
        NotImplementedError: otherwise: there is no oneDNN; convolutions and products pack weights by themselves.

    Example:
        >>> import tl_nn
        >>> try:
        ...     to_mkldnn(tl_nn.Linear(2, 1))
        ... except NotImplementedError:
        ...     print("not there")
        ...
        not there
    """
    if not isinstance(module, Module):
        raise TypeError(f"to_mkldnn: module must be a Module, got {type(module).__name__}")
    if dtype not in (tl_core.float32, tl_core.bfloat16, tl_core.float16):
        raise TypeError(f"to_mkldnn: dtype must be float32, bfloat16 or float16, got {dtype}")
    _refuse()


def _refuse(*args: Any) -> NoReturn:
    raise NotImplementedError(
        "to_mkldnn: there is no oneDNN here; the module runs as it is, on this library's kernels"
    )
