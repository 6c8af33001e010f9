"""Attention masks as numbers to add to scores."""

from __future__ import annotations

import tl_core
from tl_core import Tensor


def canonical_mask(mask: Tensor | None, name: str, like: Tensor) -> Tensor | None:
    """A mask as numbers of a tensor's type: minus infinity where it is True; floating-point masks as they are.

    Args:
        mask: the mask, bool or floating, or None.
        name: what errors call it.
        like: the tensor whose type the result has.

    Raises:
        AssertionError: If it is neither of bool nor of a floating-point type.
    """
    if mask is None or mask.is_floating_point():
        return mask
    if mask.dtype != tl_core.bool:
        raise AssertionError(f"only bool and floating types of {name} are supported, got {mask.dtype}")
    return tl_core.zeros(mask.shape, dtype=like.dtype, device=mask.device).masked_fill(mask, float("-inf"))
