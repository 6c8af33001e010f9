"""Strided nested tensors from dense ones that are filled up."""

from __future__ import annotations

from typing import Any

from tl_core._C import Tensor
from tl_core.nested.strided_operators import strided_from_tensors

__all__ = ["from_mask", "from_padded", "from_padded_and_example"]


def from_mask(t: Tensor, mask: Tensor, mask_check: bool = True) -> Tensor:
    """The first rows of each example, as many as its row of a mask (B, L) has true elements.

    Args:
        t: the padded batch, (B, L, D).
        mask: True where there is something, (B, L).
        mask_check: whether the true elements must come first.

    Raises:
        RuntimeError: the shapes do not fit, or a row of the mask has a true element behind a false one.
    """
    if t.dim() != 3 or mask.shape != t.shape[:2]:
        raise RuntimeError(
            f"a mask of shape {tuple(mask.shape)} does not fit a batch of shape {tuple(t.shape)}"
        )
    counts = mask.sum(1)
    if mask_check and not _is_left_aligned(mask, counts):
        raise RuntimeError("Mask must be left-aligned without gaps: true elements first, then false ones")
    return strided_from_tensors([row[:n] for row, n in zip(t.unbind(), counts.tolist(), strict=True)])


def _is_left_aligned(mask: Tensor, counts: Tensor) -> bool:
    from tl_core._C import arange

    return bool((mask == (arange(mask.shape[1]) < counts[:, None])).all())


def is_left_aligned(t: Tensor, mask: Tensor) -> bool:
    """Whether `from_mask` takes the mask."""
    return mask.dim() == 2 and mask.shape == t.shape[:2] and _is_left_aligned(mask, mask.sum(1))


def from_padded(
    padded: Tensor, cpu_nested_shape_example: Tensor, fuse_transform_0213: bool = False
) -> Tensor:
    """The corner of each example of the sizes in a row of a matrix; (B, H, L, D) as (L, H * D) if fused.

    Args:
        padded: the padded batch.
        cpu_nested_shape_example: a row of sizes for each example.
        fuse_transform_0213: whether (B, H, L, D) becomes (L, H * D).
    """
    if fuse_transform_0213:
        padded = padded.transpose(1, 2).flatten(2)
    rows = zip(padded.unbind(), cpu_nested_shape_example.tolist(), strict=True)
    return strided_from_tensors([row[tuple(slice(n) for n in sizes)] for row, sizes in rows])


def from_padded_and_example(padded: Tensor, nt_example: Any) -> Tensor:
    """The corner of each example of the size of a nested tensor's component."""
    return from_padded(padded, nt_example._nested_tensor_size())
