"""Attention masks as numbers to add to scores."""

from __future__ import annotations

from tl_core import Tensor

from ..functional.helpers import _canonical_mask


def canonical_mask(mask: Tensor | None, name: str, like: Tensor) -> Tensor | None:
    """A mask as numbers of a tensor's type: minus infinity where it is True. Floating-point masks stay unchanged.

    Args:
        mask: the mask, bool or floating, or None.
        name: the name of the mask in errors.
        like: the tensor whose type the result has.

    Raises:
        AssertionError: If it is neither of bool nor of a floating-point type.
    """
    return _canonical_mask(mask, name, None, "", like.dtype, check_other=False)
