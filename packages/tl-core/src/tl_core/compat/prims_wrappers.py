"""`torch._prims_common.wrappers`: conversions around operators."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

from tl_core import Tensor, dtype
from tl_core.compat.prims_common import dtype_to_type

__all__: list[str] = []


def _maybe_convert_to_dtype(a: Any, dtype: dtype) -> Any:
    """A tensor, a number, or several of them in another element type; None stays."""
    if a is None:
        return None
    if isinstance(a, Tensor):
        return a if a.dtype == dtype else a.to(dtype)
    if isinstance(a, Number):
        return dtype_to_type(dtype)(a)
    if isinstance(a, Sequence):
        return tuple(_maybe_convert_to_dtype(item, dtype) for item in a)
    raise ValueError(f"Received unsupported type {type(a)}. Expected TensorLike, Number, or Sequence.")
