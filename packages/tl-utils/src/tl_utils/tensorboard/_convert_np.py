"""Tensors and numbers as arrays of numpy."""

from __future__ import annotations

from typing import Any

import numpy

import tl_core

__all__ = ["make_np"]


def make_np(x: Any) -> numpy.ndarray[Any, Any]:
    """Converts a tensor, array or number to an array, and bfloat16 to float32.

    Raises:
        NotImplementedError: it is something else.

    Example:
        >>> make_np(tl_core.ones(2)).tolist(), make_np(3).shape
        ([1.0, 1.0], (1,))
    """
    if isinstance(x, numpy.ndarray):
        return x
    if numpy.isscalar(x):
        return numpy.array([x])
    if isinstance(x, tl_core.Tensor):
        x = x.detach().cpu()
        if x.dtype.is_floating_point and x.dtype.itemsize < 4 and x.dtype is not tl_core.float16:
            x = x.to(tl_core.float32)
        return numpy.asarray(x.numpy())
    raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")
