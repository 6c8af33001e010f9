"""`torch._prims`: here the module of facts that it names `utils`, and the two functions that clients take from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tl_core import Tensor, dtype
from tl_core.compat import prims_common as utils

__all__ = ["broadcast_in_dim", "convert_element_type", "utils"]


def convert_element_type(a: Tensor, dtype: dtype) -> Tensor:
    """The tensor in another element type."""
    return a.to(dtype)


def broadcast_in_dim(a: Tensor, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> Any:
    """A view of other sizes, in which the tensor's dimensions are those that are named, in their order.

    Args:
        a: the tensor.
        shape: the sizes of the view.
        broadcast_dimensions: for each dimension of the tensor the one of the view.
    """
    sizes = [1] * len(shape)
    for d, n in zip(broadcast_dimensions, a.shape, strict=True):
        sizes[d] = n
    return a.reshape(sizes).expand(list(shape))
