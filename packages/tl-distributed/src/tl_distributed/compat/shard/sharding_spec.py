"""`torch.distributed._shard.sharding_spec`: how a tensor is cut, and who holds the parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import tl_core

from ...base.remote_device import _remote_device
from .metadata import ShardedTensorMetadata, ShardMetadata, TensorProperties, volume

__path__: list[str] = []  # PyTorch has modules below it, which the façade serves
__all__ = [
    "ChunkShardingSpec",
    "DevicePlacementSpec",
    "EnumerableShardingSpec",
    "PlacementSpec",
    "ShardMetadata",
    "ShardingSpec",
]


class PlacementSpec(ABC):  # noqa: B024 - a mark, without methods, as in PyTorch
    """The base of placements of a whole tensor."""


@dataclass
class DevicePlacementSpec(PlacementSpec):
    """A tensor on one device.

    Args:
        device: the device, such as "rank:0/cpu".
    """

    device: Any

    def __post_init__(self) -> None:
        if not isinstance(self.device, _remote_device):
            self.device = _remote_device(self.device)


class ShardingSpec(ABC):
    """How a tensor is cut."""

    _shard_tensor: ClassVar[Callable[..., Any] | None] = None  # of the module of sharded tensors

    @abstractmethod
    def build_metadata(
        self, tensor_sizes: Sequence[int], tensor_properties: TensorProperties
    ) -> ShardedTensorMetadata:
        """The parts of a tensor.

        Args:
            tensor_sizes: the size of the tensor.
            tensor_properties: what the parts have in common.
        """

    def shard(self, tensor: tl_core.Tensor, src_rank: int = 0, process_group: Any = None) -> Any:
        """Cuts the tensor of one process, and gives each process its part.

        Args:
            tensor: the tensor. Other processes have one of the same size.
            src_rank: the process whose tensor is cut.
            process_group: the group.
        """
        assert self._shard_tensor is not None
        return self._shard_tensor(tensor, self, src_rank, process_group)


def get_split_size(dim_size: int, chunks: int) -> int:
    """The length of a chunk, of which only the last ones are shorter.

    Args:
        dim_size: the length of the dimension.
        chunks: the number of chunks.

    Example:
        >>> get_split_size(7, 4)
        2
    """
    return (dim_size + chunks - 1) // chunks


def get_chunked_dim_size(dim_size: int, split_size: int, idx: int) -> int:
    """The length of one chunk.

    Args:
        dim_size: the length of the dimension.
        split_size: the length of the first chunk.
        idx: the number of the chunk.

    Example:
        >>> [get_chunked_dim_size(7, 2, i) for i in range(5)]
        [2, 2, 2, 1, 0]
    """
    return max(min(dim_size, split_size * (idx + 1)) - split_size * idx, 0)


def get_chunk_sharding_params(
    sharding_dim_size: int, world_size: int, spec: ChunkShardingSpec, rank: int
) -> tuple[int, int]:
    """Where the chunk of a process begins, and its length.

    Args:
        sharding_dim_size: the length of the dimension.
        world_size: the number of processes.
        spec: the cut.
        rank: the process.

    Example:
        >>> get_chunk_sharding_params(7, 2, ChunkShardingSpec(0, ["rank:1/cpu", "rank:0/cpu"]), 0)
        (4, 3)
    """
    split = get_split_size(sharding_dim_size, world_size)
    for i, placement in enumerate(spec.placements):
        if placement.rank() == rank:
            return i * split, get_chunked_dim_size(sharding_dim_size, split, i)
    raise ValueError(f"rank {rank} is in no placement of {spec}")


@dataclass
class ChunkShardingSpec(ShardingSpec):
    """A tensor in chunks of one dimension.

    Args:
        dim: the dimension.
        placements: who holds the chunks, in order.

    Raises:
        ValueError: the dimension is no integer, or a placement can't be read.
        NotImplementedError: the dimension is a name.

    Example:
        >>> spec = ChunkShardingSpec(0, ["rank:0/cpu", "rank:1/cpu"])
        >>> [part.shard_sizes for part in spec.build_metadata((5, 2), TensorProperties()).shards_metadata]
        [[3, 2], [2, 2]]
    """

    dim: int | str
    placements: list[Any]

    def __post_init__(self) -> None:
        if isinstance(self.dim, str):
            raise NotImplementedError("ChunkShardingSpec does not support named dimension yet!")
        if not isinstance(self.dim, int):
            raise ValueError(f"Sharding dim needs to be an integer, found: {self.dim}")
        self.placements = [p if isinstance(p, _remote_device) else _remote_device(p) for p in self.placements]

    def build_metadata(
        self, tensor_sizes: Sequence[int], tensor_properties: TensorProperties
    ) -> ShardedTensorMetadata:
        """The chunks of a tensor; chunks without elements are left out."""
        rank = len(tensor_sizes)
        assert isinstance(self.dim, int)
        if not -rank <= self.dim < rank:
            raise ValueError(f"Invalid sharding dim: {self.dim}")
        dim = self.dim % rank
        length = tensor_sizes[dim]
        split = get_split_size(length, len(self.placements))
        parts = []
        for i, placement in enumerate(self.placements):
            offsets, sizes = [0] * rank, list(tensor_sizes)
            offsets[dim], sizes[dim] = min(i * split, length), get_chunked_dim_size(length, split, i)
            parts.append(ShardMetadata(offsets, sizes, placement))
        return ShardedTensorMetadata(parts, tl_core.Size(tensor_sizes), tensor_properties)


@dataclass
class EnumerableShardingSpec(ShardingSpec):
    """A tensor in boxes.

    Args:
        shards: the boxes.

    Raises:
        ValueError: there is no box, two overlap, or their ranks differ.
    """

    shards: list[ShardMetadata]

    def __post_init__(self) -> None:
        if not self.shards:
            raise ValueError(f"Empty shard list provided: {self.shards}")
        rank = len(self.shards[0].shard_offsets)
        for part in self.shards:
            if len(part.shard_offsets) != rank:
                raise ValueError(f"Found inconsistent ranks for shards: {rank} and {len(part.shard_offsets)}")
        validate_non_overlapping_shards_metadata(self.shards)

    def build_metadata(
        self, tensor_sizes: Sequence[int], tensor_properties: TensorProperties
    ) -> ShardedTensorMetadata:
        """The boxes of a tensor, which they must cover."""
        check_tensor(self.shards, tensor_sizes)
        return ShardedTensorMetadata(list(self.shards), tl_core.Size(tensor_sizes), tensor_properties)


def validate_non_overlapping_shards_metadata(shards: Sequence[ShardMetadata]) -> None:
    """Raises if two boxes overlap.

    Args:
        shards: the boxes.

    Raises:
        ValueError: two boxes overlap.
    """
    for i, first in enumerate(shards):
        for second in shards[i + 1 :]:
            if _overlap(first, second):
                raise ValueError(f"Shards {first} and {second} overlap")


def _overlap(a: ShardMetadata, b: ShardMetadata) -> bool:
    bounds = zip(a.shard_offsets, a.shard_sizes, b.shard_offsets, b.shard_sizes, strict=True)
    return all(x < y + m and y < x + n for x, n, y, m in bounds)


def check_tensor(shards_metadata: Sequence[ShardMetadata], tensor_dims: Sequence[int]) -> None:
    """Raises unless boxes cover a tensor.

    Args:
        shards_metadata: the boxes, which don't overlap.
        tensor_dims: the size of the tensor.

    Raises:
        ValueError: a box has another rank or lies outside, or elements are in no box.
    """
    rank, shard_rank = len(tensor_dims), len(shards_metadata[0].shard_offsets)
    if rank != shard_rank:
        raise ValueError(f"Rank of tensor is {rank}, but shards rank is {shard_rank}")
    total_volume = 0
    for part in shards_metadata:
        for n, start, size in zip(tensor_dims, part.shard_offsets, part.shard_sizes, strict=True):
            if start + size > n:
                raise ValueError(f"Shard offset {start} and length {size} exceeds tensor dim: {n}")
        total_volume += volume(part.shard_sizes)
    if total_volume != volume(tensor_dims):
        raise ValueError(
            f"Total volume of shards: {total_volume} does not match tensor volume: {volume(tensor_dims)}, in other "
            "words all the individual shards do not cover the entire tensor"
        )


def _infer_sharding_spec_from_shards_metadata(shards_metadata: Sequence[ShardMetadata]) -> ShardingSpec:
    """The cut that gives these boxes: chunks of one dimension where that is so."""
    placements = [part.placement for part in shards_metadata]
    rank = len(shards_metadata[0].shard_sizes)
    total = [max(p.shard_offsets[d] + p.shard_sizes[d] for p in shards_metadata) for d in range(rank)]
    cut = [d for d in range(rank) if any(p.shard_sizes[d] != total[d] for p in shards_metadata)]
    distinct = len({repr(p) for p in placements}) == len(placements)
    if len(cut) <= 1 and distinct and rank:
        ordered = sorted(shards_metadata, key=lambda p: (p.shard_offsets, -volume(p.shard_sizes)))
        spec = ChunkShardingSpec(cut[0] if cut else 0, [p.placement for p in ordered])
        parts = spec.build_metadata(total, TensorProperties()).shards_metadata
        pairs = zip(parts, ordered, strict=True)
        if all(a.shard_offsets == b.shard_offsets and a.shard_sizes == b.shard_sizes for a, b in pairs):
            return spec
    return EnumerableShardingSpec(list(shards_metadata))
