"""Checkpoints in a directory: shard files, and `.metadata`, which completes the checkpoint.

A save writes files with new names, syncs them, renames the new `.metadata` over the old one, and then deletes the files
of the old checkpoint. If it dies at any step, the directory holds the old checkpoint or the new one.
"""

from __future__ import annotations

import abc
import contextlib
import io
import os
import pickle
import uuid
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import tl_core

from ..source import FileSource, PartSource, Source
from . import metadata_file
from .future import Future
from .item import MIXED, StoredTensor, write_tensor
from .metadata import Metadata, MetadataIndex, StorageMeta, TensorStorageMetadata
from .metadata_file import StorageInfo, likely
from .planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from .staging import BlockingAsyncStager
from .storage import StorageReader, StorageWriter, WriteResult

__all__ = ["FileSystem", "FileSystemBase", "FileSystemReader", "FileSystemWriter", "SerializationFormat"]

_Path = str | os.PathLike[str]
METADATA = ".metadata"
SUFFIX = ".distcp"
_VERSION = "1.0.0"
_SMALL = 1 << 16


class SerializationFormat(Enum):
    """Formats of the entries of shard files.

    Example:
        >>> SerializationFormat.TORCH_SAVE.name
        'TORCH_SAVE'
    """

    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


class FileSystemBase(abc.ABC):
    """File operations of the writer; a subclass may implement another storage.

    Example:
        >>> issubclass(FileSystem, FileSystemBase)
        True
    """

    @abc.abstractmethod
    def create_stream(self, path: _Path, mode: str) -> contextlib.AbstractContextManager[Any]:
        """A file to read or write, closed at the end of the block."""

    @abc.abstractmethod
    def concat_path(self, path: _Path, suffix: str) -> _Path:
        """The path of a name in a directory."""

    @abc.abstractmethod
    def rename(self, path: _Path, new_path: _Path) -> None:
        """Rename a file, and replace a file of the new name."""

    @abc.abstractmethod
    def init_path(self, path: _Path) -> _Path:
        """A path in the form of the other methods."""

    @abc.abstractmethod
    def mkdir(self, path: _Path) -> None:
        """Make a directory and its parents."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: _Path) -> bool:
        """Whether a path can hold a checkpoint."""

    @abc.abstractmethod
    def exists(self, path: _Path) -> bool:
        """Whether a path exists."""

    @abc.abstractmethod
    def rm_file(self, path: _Path) -> None:
        """Delete a file."""

    @abc.abstractmethod
    def ls(self, path: _Path) -> list[str]:
        """The names in a directory."""

    def sync(self, stream: Any) -> None:
        """Write a file's data to the disk."""
        os.fsync(stream.fileno())

    def sync_folder(self, path: _Path) -> None:  # noqa: B027 - storages without directories need none
        """Write a directory's entries to the disk."""


class FileSystem(FileSystemBase):
    """The files of this machine.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     FileSystem().exists(folder)
        ...
        True
    """

    @contextlib.contextmanager
    def create_stream(self, path: _Path, mode: str) -> Iterator[Any]:
        """An unbuffered file: `write` may write only a part of its argument."""
        with open(path, mode, buffering=0) as stream:
            yield stream

    def concat_path(self, path: _Path, suffix: str) -> _Path:
        """The path of a name in a directory."""
        return os.path.join(path, suffix)

    def init_path(self, path: _Path) -> _Path:
        """The path as a `pathlib.Path`."""
        return Path(path)

    def rename(self, path: _Path, new_path: _Path) -> None:
        """Rename a file atomically."""
        os.replace(path, new_path)

    def mkdir(self, path: _Path) -> None:
        """Make a directory and its parents, and write them to the disk."""
        path = os.path.abspath(path)
        if not os.path.isdir(path):
            self.mkdir(os.path.dirname(path))
            os.makedirs(path, exist_ok=True)
            self.sync_folder(os.path.dirname(path))

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: _Path) -> bool:
        """Whether it is a path without a network scheme."""
        return "://" not in os.fspath(checkpoint_id)

    def exists(self, path: _Path) -> bool:
        """Whether a path exists."""
        return os.path.exists(path)

    def rm_file(self, path: _Path) -> None:
        """Delete a file."""
        os.unlink(path)

    def ls(self, path: _Path) -> list[str]:
        """The names in a directory."""
        return sorted(os.listdir(path))

    def sync_folder(self, path: _Path) -> None:
        """Write a directory's entries to the disk."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class _Appender:
    """Writer that appends to a stream; small pieces are joined."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._pending, self.position = stream, bytearray(), 0

    def write(self, data: Any) -> None:
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        self.position += len(view)
        if len(view) < _SMALL and len(self._pending) < _SMALL:
            self._pending += view
            return
        self.flush()
        self._put(view)

    def flush(self) -> None:
        self._put(memoryview(bytes(self._pending)))
        self._pending.clear()

    def _put(self, view: memoryview) -> None:
        while view:
            count = self._stream.write(view)
            if not count:
                raise OSError(f"the file took none of {len(view)} bytes")
            view = view[count:]


@dataclass(frozen=True)
class _StoragePrefix:
    """The prefix of the names of a rank's files."""

    prefix: str


class FileSystemWriter(BlockingAsyncStager, StorageWriter):
    """Writes a checkpoint into a directory.

    Args:
        path (str or path): The directory; it is made if it is missing. A checkpoint in it is replaced once the new
            one is complete.
        single_file_per_rank (bool): Whether a rank writes one file per thread; else one per entry.
        sync_files (bool): Whether files are synced; without it, a crash of the system may lose a checkpoint that
            was reported saved.
        thread_count (int): The number of threads that write.
        per_thread_copy_ahead (int): Without effect: nothing is copied ahead.
        cache_staged_state_dict (bool): Whether `async_save` keeps its copy of the state dict for the next save.
        overwrite (bool): Whether a checkpoint in the directory may be replaced.
        serialization_format: must be TORCH_SAVE: tensors are written as archives.

    Raises:
        NotImplementedError: For `_extensions`, and for the format safetensors.

    Example:
        >>> import tl_core
        >>> import tempfile, tl_checkpoint.distributed as dcp
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     writer = dcp.FileSystemWriter(folder)
        ...     _ = dcp.save({"weight": tl_core.ones(2)}, storage_writer=writer, no_dist=True)
        ...     dcp.FileSystemReader(folder).read_metadata().state_dict_metadata["weight"].size
        ...
        torch.Size([2])
    """

    def __init__(
        self,
        path: _Path,
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        _extensions: Sequence[Any] | None = None,
        serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
    ) -> None:
        super().__init__(cache_staged_state_dict)
        if _extensions:
            raise NotImplementedError(
                "FileSystemWriter writes entries as they are; _extensions isn't supported"
            )
        if serialization_format is not SerializationFormat.TORCH_SAVE:
            raise NotImplementedError(
                f"FileSystemWriter writes archives; serialization_format={serialization_format} isn't supported"
            )
        if thread_count < 1:
            raise ValueError(f"thread_count must be at least 1, got {thread_count}")
        self.fs: FileSystemBase = FileSystem()
        self.path = self.fs.init_path(path)
        self.single_file_per_rank = single_file_per_rank
        self.sync_files = sync_files
        self.thread_count = thread_count
        self.overwrite = overwrite
        self.save_id = str(uuid.uuid4())
        self._own: list[str] = []

    @property
    def checkpoint_id(self) -> _Path:
        """The directory."""
        return self.path

    def reset(self, checkpoint_id: _Path | None = None) -> None:
        """Begin another checkpoint, in another directory if one is given."""
        if checkpoint_id:
            self.path = self.fs.init_path(checkpoint_id)
        self.save_id = str(uuid.uuid4())
        self._own = []

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Does nothing: all ranks write in the same way."""

    def storage_meta(self) -> StorageMeta | None:
        """The directory and the id of this save."""
        return StorageMeta(checkpoint_id=self.path, save_id=self.save_id)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: _Path) -> bool:
        """Whether it is a path."""
        return FileSystem.validate_checkpoint_id(checkpoint_id)

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Makes the directory; returns the plan.

        Raises:
            RuntimeError: If there is a checkpoint in it, and `overwrite` isn't set.
        """
        self.fs.mkdir(self.path)
        if not self.overwrite and self.fs.exists(self._metadata_path()):
            raise RuntimeError(f"Checkpoint already exists in {self.path} and self.overwrite=False.")
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Gives each rank a prefix for new file names."""
        has_shards = any(name.endswith(SUFFIX) for name in self.fs.ls(self.path))
        own = f"_{uuid.uuid4().hex[:12]}" if has_shards else ""
        return [
            replace(plan, storage_data=_StoragePrefix(f"__{rank}{own}_")) for rank, plan in enumerate(plans)
        ]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Writes this rank's files; deletes them if the save fails."""
        files = {
            f"{plan.storage_data.prefix}{number}{SUFFIX}": items
            for number, items in enumerate(self._shared_out(plan.items))
        }
        self._own = list(files)
        try:
            results = self._write_files(files, planner)
            if self.sync_files:
                self.fs.sync_folder(self.path)
        except BaseException:
            self._remove(self._own)
            raise
        return Future.of(results)

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Writes `.metadata`, which completes the checkpoint, and deletes the old checkpoint."""
        extents = {result.index: result.storage_data for part in results for result in part}
        metadata = replace(metadata, storage_data=extents, storage_meta=self.storage_meta(), version=_VERSION)
        scratch = self.fs.concat_path(self.path, f"{METADATA}.{uuid.uuid4().hex[:12]}.tmp")
        try:
            self._write_whole(scratch, metadata_file.dump(metadata))
            self.fs.rename(scratch, self._metadata_path())
        except BaseException:
            self._remove([os.path.basename(scratch), *self._own])
            raise
        if self.sync_files:
            self.fs.sync_folder(self.path)
        self._remove(self._old_files({extent.relative_path for extent in extents.values()}))

    def _metadata_path(self) -> _Path:
        return self.fs.concat_path(self.path, METADATA)

    def _old_files(self, current: set[str]) -> list[str]:
        """The files of older saves, including killed ones."""

        def is_old(name: str) -> bool:
            is_shard = name.startswith("__") and name.endswith(SUFFIX)
            return (is_shard and name not in current) or (name.startswith(METADATA) and name.endswith(".tmp"))

        return [name for name in self.fs.ls(self.path) if is_old(name)]

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            with contextlib.suppress(
                OSError
            ):  # a file that can't be deleted is harmless: nothing refers to it
                self.fs.rm_file(self.fs.concat_path(self.path, name))

    def _write_whole(self, path: _Path, data: bytes) -> None:
        with self.fs.create_stream(path, "xb") as stream:
            file = _Appender(stream)
            file.write(data)
            file.flush()
            if self.sync_files:
                self.fs.sync(stream)

    def _shared_out(self, items: list[WriteItem]) -> list[list[WriteItem]]:
        """Items of each file: the largest first, each to the smallest file."""
        if not self.single_file_per_rank:
            return [[item] for item in items]
        shares: list[list[WriteItem]] = [[] for _ in range(min(self.thread_count, max(len(items), 1)))]
        if len(shares) == 1:
            return [items]
        sizes = [0] * len(shares)
        for item in sorted(items, key=lambda item: -(item.tensor_storage_size() or 0)):
            least = sizes.index(min(sizes))
            shares[least].append(item)
            sizes[least] += item.tensor_storage_size() or 1
        return shares

    def _write_files(self, files: dict[str, list[WriteItem]], planner: SavePlanner) -> list[WriteResult]:
        if self.thread_count == 1 or len(files) == 1:
            parts = [self._write_file(name, items, planner) for name, items in files.items()]
        else:
            with ThreadPoolExecutor(self.thread_count) as threads:
                tasks = [threads.submit(self._write_file, *file, planner) for file in files.items()]
                parts = [task.result() for task in tasks]
        return [result for part in parts for result in part]

    def _write_file(self, name: str, items: list[WriteItem], planner: SavePlanner) -> list[WriteResult]:
        with self.fs.create_stream(self.fs.concat_path(self.path, name), "xb") as stream:
            file = _Appender(stream)
            results = [_write_item(file, name, item, planner.resolve_data(item)) for item in items]
            file.flush()
            if self.sync_files:
                self.fs.sync(stream)
        return results


def _write_item(file: _Appender, name: str, item: WriteItem, data: Any) -> WriteResult:
    begin = file.position
    if item.type == WriteItemType.BYTE_IO:
        file.write(data.getbuffer())
        checksum = zlib.crc32(data.getbuffer())
    else:
        checksum = write_tensor(file.write, data)
    length = file.position - begin
    return WriteResult(item.index, length, StorageInfo(name, begin, length, crc32=checksum))


class FileSystemReader(StorageReader):
    """Reads a checkpoint from a directory.

    Args:
        path (str or path): The directory.

    Raises:
        NotImplementedError: For `_extension_registry`.

    Example:
        >>> import tl_core
        >>> import tempfile, tl_checkpoint.distributed as dcp
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = dcp.save({"weight": tl_core.ones(2)}, checkpoint_id=folder, no_dist=True)
        ...     list(dcp.FileSystemReader(folder).read_metadata().state_dict_metadata)
        ...
        ['weight']
    """

    def __init__(self, path: _Path, _extension_registry: Any = None) -> None:
        if _extension_registry is not None:
            raise NotImplementedError(
                "FileSystemReader reads entries as they are; extensions aren't supported"
            )
        self.fs: FileSystemBase = FileSystem()
        self.path = self.fs.init_path(path)
        self.load_id = str(uuid.uuid4())
        self.storage_data: dict[MetadataIndex, StorageInfo] = {}
        self._entries: dict[str, Any] = {}

    @property
    def checkpoint_id(self) -> _Path:
        """The directory that is read."""
        return self.path

    def reset(self, checkpoint_id: _Path | None = None) -> None:
        """Begin with another directory, if one is given."""
        self.storage_data = {}
        if checkpoint_id:
            self.path = self.fs.init_path(checkpoint_id)
        self.load_id = str(uuid.uuid4())

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: _Path) -> bool:
        """Whether it is a path."""
        return FileSystem.validate_checkpoint_id(checkpoint_id)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """The metadata of the checkpoint.

        Raises:
            FileNotFoundError: If there is no `.metadata`: the directory holds no complete checkpoint.
            pickle.UnpicklingError, RuntimeError: If it is damaged.
        """
        path = self.fs.concat_path(self.path, METADATA)
        if not self.fs.exists(path):
            raise FileNotFoundError(f"{self.path} has no {METADATA}: no checkpoint was completed in it")
        with self.fs.create_stream(path, "rb") as stream:
            metadata = metadata_file.parse(stream.read())
        self._check_files(metadata)
        if metadata.storage_meta is None:
            metadata.storage_meta = StorageMeta()
        metadata.storage_meta.load_id = self.load_id
        return metadata

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        """Set the metadata of the checkpoint."""
        self.storage_data = metadata.storage_data or {}
        self._entries = metadata.state_dict_metadata

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """The plan, unchanged."""
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """The plans, unchanged."""
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Reads the items of a plan, in as many threads as operators may use.

        Raises:
            RuntimeError: If a file is missing, truncated, damaged, or belongs to another checkpoint.
        """
        stored: defaultdict[MetadataIndex, list[ReadItem]] = defaultdict(list)
        for item in plan.items:
            stored[item.storage_index].append(item)
        with contextlib.ExitStack() as opened:
            sources = self._open({self._extent(index).relative_path for index in stored}, opened)
            tasks = [
                _Task(
                    index,
                    self._extent(index),
                    self._shape(index),
                    sources[self._extent(index).relative_path],
                    items,
                )
                for index, items in stored.items()
            ]
            _read_all(tasks, planner)
        return Future.of(None)

    def _check_files(self, metadata: Metadata) -> None:
        """Checks that all files exist and are long enough, before memory is allocated for their data."""
        ends: defaultdict[str, int] = defaultdict(int)
        for extent in (metadata.storage_data or {}).values():
            if isinstance(extent, StorageInfo):
                ends[extent.relative_path] = max(ends[extent.relative_path], extent.offset + extent.length)
        for name, end in ends.items():
            path = self.fs.concat_path(self.path, name)
            if not self.fs.exists(path):
                raise RuntimeError(f"the checkpoint's file {name} is missing in {self.path}")
            size = os.stat(path).st_size
            if size < end:
                raise RuntimeError(f"the checkpoint's file {name} is cut off: it has {size} bytes of {end}")

    def _extent(self, index: MetadataIndex) -> StorageInfo:
        extent = self.storage_data.get(index)
        if extent is None:
            raise RuntimeError(f"the checkpoint doesn't say where {index.fqn!r} is stored")
        if extent.transform_descriptors:
            raise NotImplementedError(
                f"{index.fqn!r} was transformed by {', '.join(extent.transform_descriptors)} when it was saved, which "
                "tl doesn't take back"
            )
        return extent

    def _shape(self, index: MetadataIndex) -> tuple[int, ...] | None:
        """The sizes of the chunk of an index; None for an entry that is no tensor."""
        entry = self._entries.get(index.fqn)
        if not isinstance(entry, TensorStorageMetadata):
            return None
        return next(tuple(c.sizes) for c in likely(entry.chunks, index.index) if c.offsets == index.offset)

    def _open(self, names: Iterable[str], opened: contextlib.ExitStack) -> dict[str, Source]:
        sources: dict[str, Source] = {}
        for name in sorted(names):
            try:
                sources[name] = FileSource(self.fs.concat_path(self.path, name))
            except FileNotFoundError as error:
                raise RuntimeError(f"the checkpoint's file {name} is missing in {self.path}") from error
            opened.callback(sources[name].close)
        return sources


@dataclass(frozen=True)
class _Task:
    """An entry or chunk to read, and the boxes to fill."""

    index: MetadataIndex
    extent: StorageInfo
    shape: tuple[int, ...] | None
    source: Source
    items: list[ReadItem]

    def part(self) -> PartSource:
        return PartSource(self.source, self.extent.offset, self.extent.length)

    @contextlib.contextmanager
    def name_errors(self) -> Iterator[None]:
        """Adds the entry and its place in the file to errors."""
        try:
            yield
        except (RuntimeError, pickle.UnpicklingError, OSError) as error:
            where = f"{self.extent.relative_path} at {self.extent.offset}"
            raise RuntimeError(f"{self.index.fqn!r} can't be read from {where}: {error}") from error


def _read_all(tasks: list[_Task], planner: LoadPlanner) -> None:
    """Reads files in several threads; planners are called in this thread only."""
    tensors = [task for task in tasks if task.items[0].type is not LoadItemType.BYTE_IO]
    for task in tasks:
        if task.items[0].type is LoadItemType.BYTE_IO:
            with task.name_errors():
                _read_bytes(task, planner)
    targets = [[_writable(planner.resolve_tensor(item)) for item in task.items] for task in tensors]
    count = min(tl_core.get_num_threads(), len(tensors))
    if count <= 1:
        for task, into in zip(tensors, targets, strict=True):
            _read_tensor(task, into)
    else:
        with ThreadPoolExecutor(count) as threads:
            list(threads.map(_read_tensor, tensors, targets))
    for task, into in zip(tensors, targets, strict=True):
        for item, target in zip(task.items, into, strict=True):
            planner.commit_tensor(item, target)


def _writable(tensor: Any) -> Any:
    """The tensor without its gradient graph; a quantized tensor is unchanged, as it receives scales too."""
    return tensor if tensor.is_quantized else tensor.detach()


def _read_bytes(task: _Task, planner: LoadPlanner) -> None:
    data = io.BytesIO(task.source.read_at(task.extent.offset, task.extent.length))
    if task.extent.crc32 is not None and zlib.crc32(data.getbuffer()) != task.extent.crc32:
        raise RuntimeError(MIXED)
    for item in task.items:
        data.seek(0)
        planner.load_bytes(item, data)


def _read_tensor(task: _Task, targets: list[Any]) -> None:
    with task.name_errors():
        stored = StoredTensor(task.part(), task.extent.crc32)
        shape = tuple(stored.outline.shape)
        if shape != task.shape:
            raise RuntimeError(f"it is a tensor of {shape}, the metadata say one of {task.shape}")
        if len(targets) == 1 and tuple(task.items[0].lengths) == shape:
            stored.read_into(targets[0])
            return
        tensor = stored.tensor()
        for item, target in zip(task.items, targets, strict=True):
            target.copy_(box_of(tensor, item))


def box_of(chunk: Any, item: ReadItem) -> Any:
    for axis, (offset, length) in enumerate(zip(item.storage_offsets, item.lengths, strict=True)):
        chunk = chunk.narrow(axis, offset, length)
    return chunk


DEFAULT_SUFFIX = SUFFIX
