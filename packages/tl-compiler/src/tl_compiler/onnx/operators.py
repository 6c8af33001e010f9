"""Operators that a model calls so that its ONNX model reads sizes at run time."""

from __future__ import annotations

from typing import Any

import tl_core

__all__ = ["reshape_from_tensor_shape", "shape_as_tensor"]


def shape_as_tensor(x: Any) -> Any:
    """The sizes of a tensor as a tensor of integers.

    Args:
        x: the tensor.

    Example:
        >>> shape_as_tensor(tl_core.ones(2, 3))
        tensor([2, 3])
    """
    return tl_core.tensor(list(x.shape), dtype=tl_core.int64)


def reshape_from_tensor_shape(x: Any, shape: Any) -> Any:
    """A tensor with the sizes of a tensor of integers.

    Args:
        x: the tensor.
        shape: the sizes.

    Example:
        >>> reshape_from_tensor_shape(tl_core.ones(2, 3), tl_core.tensor([3, 2])).shape
        torch.Size([3, 2])
    """
    return x.reshape(shape.tolist())
