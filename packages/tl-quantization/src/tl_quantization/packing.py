"""Integers of four and two bits, several of which share a byte."""

from __future__ import annotations

import tl_core
from tl_core import Tensor

__all__ = ["pack_bits", "unpack_bits"]


def pack_bits(integers: Tensor, bits: int) -> Tensor:
    """Packs integers along the last dimension; the first integer of a byte has its lowest bits.

    Args:
        integers: of uint8, each below `2**bits`.
        bits: the bits of an integer, 4 or 2, or 8, which leaves the integers as they are.

    Returns:
        Bytes of uint8, whose last dimension is shorter. The last byte of a line is filled up with zeros.

    Example:
        >>> pack_bits(tl_core.tensor([1, 2, 3], dtype=tl_core.uint8), 4)
        tensor([33,  3], dtype=torch.uint8)
    """
    per = 8 // bits
    if per == 1:
        return integers
    padded = tl_core.constant_pad_nd(integers, (0, -integers.shape[-1] % per))
    groups = padded.unflatten(-1, (padded.shape[-1] // per, per))
    result = groups[..., 0].clone()
    for index in range(1, per):
        result |= groups[..., index] << (index * bits)
    return result


def unpack_bits(packed: Tensor, bits: int, count: int) -> Tensor:
    """The integers of packed bytes.

    Args:
        packed: bytes of uint8, as `pack_bits` returns them.
        bits: the bits of an integer, 4, 2 or 8.
        count: the integers of a line.

    Returns:
        Integers of uint8, whose last dimension has `count` elements.

    Example:
        >>> unpack_bits(tl_core.tensor([33, 3], dtype=tl_core.uint8), 4, 3)
        tensor([1, 2, 3], dtype=torch.uint8)
    """
    shifts = tl_core.arange(0, 8, bits, dtype=tl_core.uint8, device=packed.device)
    integers = (packed.unsqueeze(-1) >> shifts) & ((1 << bits) - 1)
    return integers.flatten(-2)[..., :count]
