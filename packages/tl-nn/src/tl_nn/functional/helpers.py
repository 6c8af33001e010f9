"""Private helpers of `torch.nn.functional` that attention, pooling and norm layers of other libraries call."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Tensor

from .affine import linear

__all__: list[str] = []

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


def _none_or_dtype(input: Tensor | None) -> Any:
    """The element type of a tensor. None for None.

    Raises:
        RuntimeError: If it is neither.
    """
    if input is None:
        return None
    if isinstance(input, Tensor):
        return input.dtype
    raise RuntimeError(f"input to _none_or_dtype() must be None or torch.Tensor, got {type(input).__name__}")


def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: Any,
    other_name: str,
    target_type: Any,
    check_other: bool = True,
) -> Tensor | None:
    """A mask as numbers that are added to scores: -inf where a bool mask is True, floating masks as they are.

    Args:
        mask: the mask, or None.
        mask_name: the name of the mask in errors.
        other_type: the type of another mask, or None.
        other_name: the name of the other mask in warnings.
        target_type: the type of the numbers.
        check_other: whether masks of different types are warned of.

    Raises:
        AssertionError: If it is neither of bool nor floating.
    """
    if mask is None:
        return None
    floating = mask.is_floating_point()
    if mask.dtype != tl_core.bool and not floating:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported, got {mask.dtype}")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    if floating:
        return mask
    return tl_core.zeros(mask.shape, dtype=target_type, device=mask.device).masked_fill(mask, -math.inf)


def _in_projection(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    b_q: Tensor | None = None,
    b_k: Tensor | None = None,
    b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value, each through its own matrix. Keys and values may have other sizes.

    Raises:
        AssertionError: If a matrix or bias doesn't fit.
    """
    size = q.size(-1)
    for name, weight, width in (("w_q", w_q, size), ("w_k", w_k, k.size(-1)), ("w_v", w_v, v.size(-1))):
        if tuple(weight.shape) != (size, width):
            raise AssertionError(f"expecting {name} shape of {(size, width)}, but got {tuple(weight.shape)}")
    for name, bias in (("b_q", b_q), ("b_k", b_k), ("b_v", b_v)):
        if bias is not None and tuple(bias.shape) != (size,):
            raise AssertionError(f"expecting {name} shape of {(size,)}, but got {tuple(bias.shape)}")
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _in_projection_packed(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None
) -> list[Tensor]:
    """Query, key and value through one matrix with the rows of all three. Equal inputs need one product."""
    if q is k and k is v:
        return list(linear(q, w, b).chunk(3, -1))
    size = q.size(-1)
    biases: Sequence[Tensor | None] = (None, None, None) if b is None else b.chunk(3)
    if k is v:
        first, rest = w.split([size, size * 2])
        bias_of_rest = None if b is None else b[size:]
        return [linear(q, first, biases[0]), *linear(k, rest, bias_of_rest).chunk(2, -1)]
    return [linear(x, part, bias) for x, part, bias in zip((q, k, v), w.chunk(3), biases, strict=True)]


def _check_key_padding_mask(key_padding_mask: Tensor, src_len: int, bsz: int) -> None:
    """Refuses, with AssertionError, a mask of keys that is not of shape (bsz, src_len)."""
    for position, size in enumerate((bsz, src_len)):
        if key_padding_mask.size(position) != size:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{position}] to be {size}, "
                f"but got {key_padding_mask.size(position)}"
            )


def _verify_spatial_size(size: Sequence[int]) -> None:
    """Refuses, with ValueError, to take a variance over one place of a sample."""
    if math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")


def _no_grad_embedding_renorm_(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    """Scales the rows of a table that are looked up and longer than `max_norm`, in place and unrecorded."""
    tl_core.embedding_renorm_(weight.detach(), input, max_norm, norm_type)


def assert_int_or_pair(arg: Sequence[int], arg_name: str, message: str) -> None:
    """Raises AssertionError unless the value is a number or a pair. `message` is formatted with the name."""
    if not (isinstance(arg, int) or len(arg) == 2):
        raise AssertionError(message.format(arg_name))
