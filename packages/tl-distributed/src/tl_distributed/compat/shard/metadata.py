"""Where the parts of a tensor are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import tl_core

from ...base.remote_device import _remote_device

__all__ = ["ShardMetadata", "ShardedTensorMetadata", "TensorProperties"]


@dataclass
class ShardMetadata:
    """A box of a tensor, and the process and device that hold it.

    Args:
        shard_offsets: where the box begins in each dimension.
        shard_sizes: its size.
        placement: the process and device, such as "rank:1/cpu".

    Raises:
        ValueError: the two lists have different lengths, or have a negative number.

    Example:
        >>> ShardMetadata([2, 0], [2, 4], "rank:1/cpu").placement
        rank:1/cpu
    """

    shard_offsets: list[int]
    shard_sizes: list[int]
    placement: Any = None

    def __init__(self, shard_offsets: list[int], shard_sizes: list[int], placement: Any = None) -> None:
        if len(shard_offsets) != len(shard_sizes):
            raise ValueError(
                "shard_offsets and shard_sizes should have the same number of elements, found "
                f"{len(shard_offsets)} and {len(shard_sizes)} respectively"
            )
        for name, numbers in (("shard_offsets", shard_offsets), ("shard_sizes", shard_sizes)):
            if any(n < 0 for n in numbers):
                raise ValueError(f"{name} should be >= 0, but got {numbers}")
        self.shard_offsets, self.shard_sizes = shard_offsets, shard_sizes
        self.placement = _remote_device(placement) if isinstance(placement, str) else placement

    def __hash__(self) -> int:
        return hash((*self.shard_offsets, *self.shard_sizes, repr(self.placement)))


@dataclass
class TensorProperties:
    """What all parts of a tensor have in common.

    Args:
        dtype: the type of the elements.
        layout: the layout.
        requires_grad: whether gradients are recorded.
        memory_format: the order of the dimensions in memory.
        pin_memory: whether the memory is pinned.
    """

    dtype: Any = field(default_factory=tl_core.get_default_dtype)
    layout: Any = tl_core.strided
    requires_grad: bool = False
    memory_format: Any = tl_core.contiguous_format
    pin_memory: bool = False

    @staticmethod
    def create_from_tensor(tensor: tl_core.Tensor) -> TensorProperties:
        """The properties of a tensor.

        Args:
            tensor: the tensor.

        Example:
            >>> TensorProperties.create_from_tensor(tl_core.ones(2)).dtype
            torch.float32
        """
        return TensorProperties(
            tensor.dtype, tensor.layout, tensor.requires_grad, pin_memory=tensor.is_pinned()
        )


@dataclass
class ShardedTensorMetadata:
    """The parts of a tensor, its size and its properties.

    Args:
        shards_metadata: the parts.
        size: the size of the whole.
        tensor_properties: what the parts have in common.
    """

    shards_metadata: list[ShardMetadata] = field(default_factory=list)
    size: tl_core.Size = field(default_factory=lambda: tl_core.Size([]))
    tensor_properties: TensorProperties = field(default_factory=TensorProperties)


def volume(sizes: Sequence[int]) -> int:
    """The number of elements of a box."""
    count = 1
    for n in sizes:
        count *= n
    return count
