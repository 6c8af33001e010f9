"""Between checkpoints and the files of `save`."""

from __future__ import annotations

import os
from typing import Any

from .. import serialization
from .default_planner import DefaultLoadPlanner, WholeLoadPlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .flatten import flatten_state_dict, is_tensor
from .future import Future
from .metadata import Metadata, TensorProperties, TensorStorageMetadata
from .planner import LoadItemType, LoadPlan, LoadPlanner
from .planner_helpers import create_chunk_list
from .resharding import check_partition
from .state_dict_loader import _load_state_dict
from .state_dict_saver import save
from .storage import StorageReader

__all__ = [
    "BroadcastingTorchSaveReader",
    "DynamicMetaLoadPlanner",
    "dcp_to_torch_save",
    "torch_save_to_dcp",
]

_Path = str | os.PathLike[str]


class BroadcastingTorchSaveReader(StorageReader):
    """Reads a file of `save` as if it were a checkpoint, tensors only; goes with DynamicMetaLoadPlanner.

    Args:
        checkpoint_id (str or path, optional): The file.
        coordinator_rank (int): The rank that reads it; others need tl-distributed.

    Example:
        >>> import tl_checkpoint.distributed as dcp
        >>> reader, planner = BroadcastingTorchSaveReader("weights.pt"), DynamicMetaLoadPlanner()
        >>> dcp.load(state, storage_reader=reader, planner=planner)  # doctest: +SKIP
    """

    def __init__(self, checkpoint_id: _Path | None = None, coordinator_rank: int = 0) -> None:
        if coordinator_rank:
            raise NotImplementedError(
                f"coordinator_rank={coordinator_rank} needs several ranks: tl-distributed"
            )
        self.checkpoint_id = checkpoint_id
        self.coordinator_rank = coordinator_rank

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """Nothing: the planner makes it of the state dict."""
        return Metadata({})

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Reads the file, and of it what the plan lists.

        Raises:
            RuntimeError: If values that are no tensors are wanted, or the file lacks one.
        """
        assert self.checkpoint_id is not None
        saved, _ = flatten_state_dict(serialization.load(self.checkpoint_id, map_location="cpu"))
        for item in plan.items:
            name = item.storage_index.fqn
            if item.type is LoadItemType.BYTE_IO:
                raise RuntimeError(f"{name!r} is no tensor, and only tensors are read from a file of save()")
            if name not in saved or not is_tensor(saved[name]):
                raise RuntimeError(f"the file {self.checkpoint_id} has no tensor {name!r}")
            target = planner.resolve_tensor(item)
            target.detach().copy_(_box(saved[name], item))
            planner.commit_tensor(item, target)
        return Future.of(None)

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        """Sees that there is a file."""
        if self.checkpoint_id is None:
            raise ValueError("BroadcastingTorchSaveReader needs checkpoint_id, the file to read")

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """The plan as it is."""
        return plan

    def prepare_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """The plans as they are."""
        return global_plan

    def reset(self, checkpoint_id: _Path | None = None) -> None:
        """Begin with another file, if one is given."""
        self.checkpoint_id = checkpoint_id or self.checkpoint_id

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: _Path) -> bool:
        """Whether there is such a file."""
        return os.path.isfile(checkpoint_id)


def _box(saved: Any, item: Any) -> Any:
    for axis, (offset, length) in enumerate(zip(item.storage_offsets, item.lengths, strict=True)):
        if saved.ndim != len(item.lengths) or offset + length > saved.shape[axis]:
            raise RuntimeError(f"{item.storage_index.fqn!r} has the size {tuple(saved.shape)} in the file")
        saved = saved.narrow(axis, offset, length)
    return saved


class DynamicMetaLoadPlanner(DefaultLoadPlanner):
    """A load planner that takes the metadata from the state dict, for files that have none.

    Args:
        flatten_state_dict: whether nested entries are found by their paths.
        flatten_sharded_tensors: accepted for compatibility.
        allow_partial_load: whether entries that the file lacks stay as they are.

    Example:
        >>> DynamicMetaLoadPlanner(allow_partial_load=True).allow_partial_load
        True
    """

    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """Take what is to be filled."""
        super().set_up_planner(state_dict, metadata, is_coordinator)
        self.metadata = Metadata({name: _entry(name, value) for name, value in self.state_dict.items()})


def _entry(name: str, value: Any) -> TensorStorageMetadata:
    if not is_tensor(value):
        raise RuntimeError(f"{name!r} is no tensor, and only tensors are read from a file of save()")
    chunks = create_chunk_list(value)
    wrong = check_partition(chunks, value.shape)
    if wrong:
        raise RuntimeError(f"{name!r}: {wrong}; what other ranks hold needs tl-distributed")
    dtype = getattr(value, "dtype", None)
    return TensorStorageMetadata(TensorProperties(dtype), value.shape, chunks)


def dcp_to_torch_save(dcp_checkpoint_dir: _Path, torch_save_path: _Path) -> None:
    """Write a checkpoint as a file of `save`.

    Args:
        dcp_checkpoint_dir (str or path): The directory.
        torch_save_path (str or path): The file.

    Example:
        >>> import tl_core
        >>> import pathlib, tempfile, tl_checkpoint, tl_checkpoint.distributed as dcp
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "weights.pt")
        ...     _ = dcp.save({"weight": tl_core.ones(2)}, checkpoint_id=folder, no_dist=True)
        ...     dcp_to_torch_save(folder, file)
        ...     tl_checkpoint.load(file)
        ...
        {'weight': tensor([1., 1.])}
    """
    state_dict: dict[str, Any] = {}
    _load_state_dict(
        state_dict, FileSystemReader(dcp_checkpoint_dir), planner=WholeLoadPlanner(), no_dist=True
    )
    serialization.save(state_dict, torch_save_path)


def torch_save_to_dcp(torch_save_path: _Path, dcp_checkpoint_dir: _Path) -> None:
    """Write a file of `save` as a checkpoint.

    Args:
        torch_save_path (str or path): The file; it is read as data.
        dcp_checkpoint_dir (str or path): The directory.

    Example:
        >>> import tl_core
        >>> import pathlib, tempfile, tl_checkpoint, tl_checkpoint.distributed as dcp
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "weights.pt")
        ...     tl_checkpoint.save({"weight": tl_core.ones(2)}, file)
        ...     torch_save_to_dcp(file, pathlib.Path(folder, "checkpoint"))
        ...     list(dcp.FileSystemReader(pathlib.Path(folder, "checkpoint")).read_metadata().state_dict_metadata)
        ...
        ['weight']
    """
    state_dict = serialization.load(torch_save_path, map_location="cpu")
    save(state_dict, storage_writer=FileSystemWriter(dcp_checkpoint_dir), no_dist=True)


_EmptyStateDictLoadPlanner = WholeLoadPlanner
