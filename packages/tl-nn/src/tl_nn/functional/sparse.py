"""Lookups by class or index."""

from __future__ import annotations

import tl_core
from tl_core import Tensor

from .checks import check_tensor

__all__ = ["one_hot"]


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Vectors of zeros with a one at the given class.

    Parameters:
        tensor : Tensor of int64, shape (*)
            Classes, from 0.
        num_classes : int
            The length of the vectors; by default one more than the largest class.

    Returns:
        Tensor of int64, shape (*, num_classes)

    Raises:
        RuntimeError
            If the input isn't int64, holds a class below 0 or not below `num_classes`, or is empty and
            `num_classes` isn't given.

    Examples:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.one_hot(tl_core.tensor([0, 2]))
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """
    check_tensor("one_hot", tensor)
    if tensor.dtype != tl_core.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    classes = tl_core.arange(_checked_count(tensor, num_classes), device=tensor.device)
    return (tensor.unsqueeze(-1) == classes).to(tl_core.int64)


def _checked_count(tensor: Tensor, num_classes: int) -> int:
    if tensor.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return num_classes
    smallest, largest = int(tensor.amin()), int(tensor.amax())
    if smallest < 0:
        raise RuntimeError(f"Class values must be non-negative, got {smallest}.")
    if num_classes == -1:
        return largest + 1
    if num_classes < 1:
        raise RuntimeError(f"num_classes should be positive, got {num_classes}.")
    if largest >= num_classes:
        raise RuntimeError(f"Class values must be smaller than num_classes, got {largest} and {num_classes}.")
    return num_classes
