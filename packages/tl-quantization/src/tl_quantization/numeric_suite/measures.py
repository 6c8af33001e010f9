"""Measures of the difference of two tensors, or of two tuples, pair by pair."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import functional as F

__all__ = ["compute_cosine_similarity", "compute_normalized_l2_error", "compute_sqnr"]


def _plain(x: Any) -> Any:
    return x.dequantize() if isinstance(x, Tensor) and x.is_quantized else x


def _of_pairs(measure: Callable[[Tensor, Tensor], Any]) -> Callable[[Any, Any], Any]:
    @functools.wraps(measure)
    def call(x: Any, y: Any) -> Any:
        if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
            return [call(a, b) for a, b in zip(x, y, strict=False)]
        if not (isinstance(x, Tensor) and isinstance(y, Tensor)):
            return None
        x, y = _plain(x), _plain(y)
        return None if x.shape != y.shape else measure(x, y)

    return call


@_of_pairs
def compute_sqnr(x: Tensor, y: Tensor) -> Any:
    """The ratio of signal and error in decibels. Tensors of different shapes have None.

    Args:
        x (Tensor or tuple): The signal.
        y (Tensor or tuple): The signal with the error.

    Example:
        >>> import tl_core
        >>> round(float(compute_sqnr(tl_core.tensor([1.0, 0.0]), tl_core.tensor([1.1, 0.0]))), 1)
        20.0
    """
    return 20 * tl_core.log10(tl_core.norm(x) / tl_core.norm(x - y))


@_of_pairs
def compute_normalized_l2_error(x: Tensor, y: Tensor) -> Any:
    """The norm of the difference as a share of the norm of `x`. Tensors of different shapes have None.

    Args:
        x (Tensor or tuple): The first tensor.
        y (Tensor or tuple): The second tensor.

    Example:
        >>> import tl_core
        >>> round(float(compute_normalized_l2_error(tl_core.tensor([1.0]), tl_core.tensor([1.5]))), 2)
        0.5
    """
    return tl_core.sqrt(((x - y) ** 2).sum() / (x**2).sum())


@_of_pairs
def compute_cosine_similarity(x: Tensor, y: Tensor) -> Any:
    """The cosine of the angle between all elements of `x` and `y`. Tensors of different shapes have None.

    Args:
        x (Tensor or tuple): The first tensor.
        y (Tensor or tuple): The second tensor.

    Example:
        >>> import tl_core
        >>> float(compute_cosine_similarity(tl_core.tensor([2.0, 0.0]), tl_core.tensor([0.0, 1.0])))
        0.0
    """
    return F.cosine_similarity(
        x.reshape(1, -1).to(tl_core.float32), y.reshape(1, -1).to(tl_core.float32)
    ).squeeze(0)
