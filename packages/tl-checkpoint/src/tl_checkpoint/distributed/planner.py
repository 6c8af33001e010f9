"""Items to write and read, plans of items, and the interface of planners."""

from __future__ import annotations

import abc
import io
import math
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from tl_core import Size

from .metadata import ChunkStorageMetadata, Metadata, MetadataIndex, StorageMeta, TensorProperties

__all__ = [
    "BytesIOWriteData",
    "LoadItemType",
    "LoadPlan",
    "LoadPlanner",
    "ReadItem",
    "SavePlan",
    "SavePlanner",
    "TensorWriteData",
    "WriteItem",
    "WriteItemType",
]


class WriteItemType(Enum):
    """Kinds of items to write: a whole tensor, a chunk of one, or bytes.

    Example:
        >>> WriteItemType.SHARD.name
        'SHARD'
    """

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """The kind of an item to read.

    Example:
        >>> LoadItemType.TENSOR.name
        'TENSOR'
    """

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """The number of bytes to write.

    Example:
        >>> BytesIOWriteData(nbytes=12)
        BytesIOWriteData(nbytes=12)
    """

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """A chunk to write, and the tensor it belongs to.

    Args:
        chunk: the box.
        properties: type and other properties of the tensor.
        size: the tensor's size as a whole.

    Example:
        >>> import tl_core
        >>> from tl_checkpoint.distributed.metadata import ChunkStorageMetadata, TensorProperties
        >>> chunk = ChunkStorageMetadata(tl_core.Size([0]), tl_core.Size([4]))
        >>> TensorWriteData(chunk, TensorProperties(), tl_core.Size([4])).size
        torch.Size([4])
    """

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Size


@dataclass(frozen=True)
class WriteItem:
    """An entry, or a chunk of a tensor, to be written.

    Args:
        index: the key of the entry or chunk.
        type: whether it is a tensor, a shard or bytes.
        bytes_io_data: the number of bytes, for bytes.
        tensor_data: the chunk and its tensor's properties, for tensors.

    Example:
        >>> from tl_checkpoint.distributed.metadata import MetadataIndex
        >>> WriteItem(MetadataIndex("step"), WriteItemType.BYTE_IO).type.name
        'BYTE_IO'
    """

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """The bytes of the whole tensor; None for an item that is no tensor."""
        if self.tensor_data is None:
            return None
        itemsize: int = self.tensor_data.properties.dtype.itemsize
        return math.prod(self.tensor_data.size) * itemsize


@dataclass(frozen=True)
class ReadItem:
    """A box to read: `lengths` elements of a stored chunk, from `storage_offsets` on, to `dest_offsets`.

    Args:
        type: whether a tensor or bytes are read.
        dest_index: the entry that takes them.
        dest_offsets: where in it the box begins.
        storage_index: the stored entry or chunk.
        storage_offsets: where in that the box begins.
        lengths: the sizes of the box.

    Example:
        >>> import tl_core
        >>> from tl_checkpoint.distributed.metadata import MetadataIndex
        >>> index, none, length = MetadataIndex("weight"), tl_core.Size([0]), tl_core.Size([4])
        >>> ReadItem(LoadItemType.TENSOR, index, none, index, none, length).lengths
        torch.Size([4])
    """

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Size
    storage_index: MetadataIndex
    storage_offsets: Size
    lengths: Size


@dataclass(frozen=True)
class SavePlan:
    """The plan of a rank's writes.

    Args:
        items: what is read or written.
        storage_data: what the storage needs for it.
        planner_data: what the planner keeps for it.
        usable: whether the plan can be used again.

    Example:
        >>> SavePlan([]).usable
        True
    """

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """The plan of a rank's reads.

    Args:
        items: what is read or written.
        storage_data: what the storage needs for it.
        planner_data: what the planner keeps for it.

    Example:
        >>> LoadPlan([]).items
        []
    """

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(abc.ABC):
    """Decides what is saved, and gives the storage access to it. `save` calls the methods in this order:

    `set_up_planner`, `create_local_plan`, `create_global_plan` (on the coordinator only), `finish_plan`, and
    `resolve_data` at least once an item. Most changes are made by extending one method of DefaultSavePlanner.

    Example:
        >>> from tl_checkpoint.distributed import DefaultSavePlanner
        >>> issubclass(DefaultSavePlanner, SavePlanner)
        True
    """

    @abc.abstractmethod
    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Take what is to be saved."""

    @abc.abstractmethod
    def create_local_plan(self) -> SavePlan:
        """The local plan of this rank's writes."""

    @abc.abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """The plans of all ranks, and the checkpoint's metadata."""

    @abc.abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """This rank's part of the global plan, to be written as it is returned."""

    @abc.abstractmethod
    def resolve_data(self, write_item: WriteItem) -> Any:
        """The tensor or `io.BytesIO` of an item; may be called in several threads, and again."""


class LoadPlanner:
    """Decides what is loaded, and gives the storage access to where it goes. `load` calls the methods in this order:

    `set_up_planner`, `create_local_plan`, `create_global_plan` (on the coordinator only), `finish_plan`, then
    `load_bytes` once for each value that is no tensor, `resolve_tensor` and `commit_tensor` once for each box of one.

    Example:
        >>> from tl_checkpoint.distributed import DefaultLoadPlanner
        >>> issubclass(DefaultLoadPlanner, LoadPlanner)
        True
    """

    @abc.abstractmethod
    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """Take what is to be filled."""

    @abc.abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """The local plan of this rank's reads."""

    @abc.abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """The plans of all ranks."""

    @abc.abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """This rank's part of the global plan, to be read as it is returned."""

    @abc.abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Put the object that the bytes describe into the state dict."""

    def resolve_bytes(self, read_item: ReadItem) -> io.BytesIO:
        """The buffer into which a storage reads an item's bytes, for storages that want one."""
        raise NotImplementedError(f"{type(self).__name__} gives no buffers to read bytes into")

    @abc.abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> Any:
        """The tensor of `read_item.lengths` that the storage fills."""

    @abc.abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: Any) -> None:
        """Called with what `resolve_tensor` returned, once it is filled."""
