"""Interfaces of storages for checkpoints."""

from __future__ import annotations

import abc
import os
from dataclasses import dataclass
from typing import Any

from .metadata import Metadata, MetadataIndex, StorageMeta
from .planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner

__all__ = ["StorageReader", "StorageWriter", "WriteResult"]


@dataclass(frozen=True)
class WriteResult:
    """An entry or chunk that has been written.

    Args:
        index: the key of the entry or chunk.
        size_in_bytes: how many bytes were written.
        storage_data: where they lie.

    Example:
        >>> from tl_checkpoint.distributed.metadata import MetadataIndex
        >>> WriteResult(MetadataIndex("weight"), 16, None).size_in_bytes
        16
    """

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(abc.ABC):
    """Writes checkpoints. `save` calls the methods in this order, those marked (one) on the coordinator only:

    `reset`, `set_up_storage_writer`, `prepare_local_plan`, `prepare_global_plan` (one), `write_data`, `finish` (one).

    Example:
        >>> from tl_checkpoint.distributed import FileSystemWriter
        >>> issubclass(FileSystemWriter, StorageWriter)
        True
    """

    @abc.abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begin another checkpoint; None keeps the place that is set."""

    @abc.abstractmethod
    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Learn whether this rank coordinates."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Add to a rank's plan what the storage has to say."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Add to all ranks' plans what the storage has to say."""

    @abc.abstractmethod
    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Any:
        """Write what a plan lists; returns a future of a list of WriteResult.

        `planner.resolve_data` gives each item's tensor, on any device and with any strides, or bytes.
        """

    @abc.abstractmethod
    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Write the metadata, which makes the checkpoint complete."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether this storage can hold a checkpoint of that name."""

    def storage_meta(self) -> StorageMeta | None:
        """Metadata of the storage for the planner; None by default."""
        return None


class StorageReader(abc.ABC):
    """Reads checkpoints. `load` calls the methods in this order, those marked (one) on the coordinator only:

    `reset`, `read_metadata`, `set_up_storage_reader`, `prepare_local_plan`, `prepare_global_plan` (one), `read_data`.

    Example:
        >>> from tl_checkpoint.distributed import FileSystemReader
        >>> issubclass(FileSystemReader, StorageReader)
        True
    """

    @abc.abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begin with another checkpoint; None keeps the place that is set."""

    @abc.abstractmethod
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """The metadata of the checkpoint."""

    @abc.abstractmethod
    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        """Learn what the checkpoint holds, and whether this rank coordinates."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """Add to a rank's plan what the storage has to say."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """Add to all ranks' plans what the storage has to say."""

    @abc.abstractmethod
    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Any:
        """Read what a plan lists; returns a future that is done when all is read.

        Tensors go where `planner.resolve_tensor` says, bytes to `planner.load_bytes`.
        """

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether this storage may hold a checkpoint of that name."""
