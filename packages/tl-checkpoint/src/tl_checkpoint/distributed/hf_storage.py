"""Checkpoints as directories of safetensors files, the format of models on the Hugging Face hub.

One process writes `model-00001-of-00002.safetensors` and so on, and `model.safetensors.index.json`, which tells which
tensor stands where. Several ranks write `shard-…` files: the header of each says where its boxes begin in their
tensors, and `consolidate_safetensors_files` makes whole tensors of them.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import Any

import tl_core
from tl_core import Size

from ..atomic import replacing
from ..safetensors import Entry, read_header, read_tensor, save_file
from ..source import FileSource
from .filesystem import FileSystemReader, FileSystemWriter, box_of
from .future import Future
from .metadata import (
    STORAGE_TYPES,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from .metadata_file import StorageInfo
from .planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem, WriteItemType
from .storage import WriteResult

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter", "consolidate_safetensors_files"]

_Path = str | os.PathLike[str]
SUFFIX = ".safetensors"
INDEX = "model.safetensors.index.json"
_SHARDED = "sharded"  # the folder of the ranks' files where they are put together
_SHARDING, _OFFSETS = "DCP_SHARDING_INFO", "saved_offsets"  # in headers: where boxes begin in their tensors
_NOTES = {"DCP_VERSION": "1.0", "format": "pt"}


def file_name(index: int, count: int, shard: int | None = None) -> str:
    """The name of a model's file, or of a rank's part of it."""
    model_file = f"model-{index:05d}-of-{count:05d}{SUFFIX}"
    return model_file if shard is None else f"shard-{shard:05d}-{model_file}"


class HuggingFaceStorageWriter(FileSystemWriter):
    """Writes a checkpoint as safetensors files; it holds tensors only.

    Args:
        path: the directory; it is made if it isn't there.
        fqn_to_index_mapping: the number of the file of each tensor, from 1 on; None for one file.
        thread_count: the number of threads that write.
        save_distributed: whether each rank writes its own boxes, else the coordinator has whole tensors.
        enable_consolidation: whether whole tensors are made of the ranks' boxes, which then stay in `sharded`.
        thread_count_consolidation: the number of threads that do so.

    Example:
        >>> import tempfile, tl_core, tl_checkpoint.distributed as dcp
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     writer = dcp.HuggingFaceStorageWriter(folder)
        ...     _ = dcp.save({"weight": tl_core.ones(2)}, storage_writer=writer, no_dist=True)
        ...     sorted(os.listdir(folder))
        ...
        ['model-00001-of-00001.safetensors', 'model.safetensors.index.json']
    """

    def __init__(
        self,
        path: str,
        fqn_to_index_mapping: dict[str, int] | None = None,
        thread_count: int = 1,
        save_distributed: bool = False,
        enable_consolidation: bool = False,
        thread_count_consolidation: int = 1,
    ) -> None:
        super().__init__(path, thread_count=thread_count)
        self.fqn_to_index_mapping = fqn_to_index_mapping
        self.save_distributed = save_distributed
        self.enable_consolidation = enable_consolidation
        self.thread_count_consolidation = thread_count_consolidation
        self.consolidated_output_path: str | None = None
        if enable_consolidation:
            self.consolidated_output_path = str(self.path)
            self.path = self.fs.concat_path(self.path, _SHARDED)

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Makes the directory."""
        self.fs.mkdir(self.path)
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Numbers the ranks' files, where each rank writes its own."""
        shards = range(1, len(plans) + 1) if self.save_distributed else [None] * len(plans)
        return [replace(plan, storage_data=shard) for plan, shard in zip(plans, shards, strict=True)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Writes this rank's files.

        Raises:
            TypeError: an entry is no tensor.
            KeyError: `fqn_to_index_mapping` has no file for a tensor.
        """
        files: defaultdict[str, list[WriteItem]] = defaultdict(list)
        for item in plan.items:
            if item.type is WriteItemType.BYTE_IO:
                raise TypeError(f"{item.index.fqn!r} is no tensor, and safetensors files hold tensors only")
            files[file_name(*self._file_of(item.index.fqn), plan.storage_data)].append(item)
        with ThreadPoolExecutor(self.thread_count) as threads:
            tasks = [threads.submit(self._write, *file, planner) for file in files.items()]
            parts = [task.result() for task in tasks]
        return Future.of([result for part in parts for result in part])

    def _file_of(self, fqn: str) -> tuple[int, int]:
        """The number of a tensor's file, and of how many."""
        mapping = self.fqn_to_index_mapping
        if mapping is None:
            return 1, 1
        if fqn not in mapping:
            raise KeyError(f"fqn_to_index_mapping has no file for {fqn!r}")
        return mapping[fqn], max(mapping.values())

    def _write(self, name: str, items: list[WriteItem], planner: SavePlanner) -> list[WriteResult]:
        tensors: dict[str, Any] = {}
        offsets: dict[str, Any] = {}
        for item in items:
            fqn = item.index.fqn
            if fqn in tensors:
                raise NotImplementedError(f"a file has one box of a tensor; this rank has several of {fqn!r}")
            tensors[fqn] = planner.resolve_data(item).detach()
            begin = item.index.offset if item.tensor_data is None else item.tensor_data.chunk.offsets
            offsets[fqn] = {_OFFSETS: list(begin or [0] * tensors[fqn].dim())}
        notes = {_SHARDING: json.dumps(offsets), **_NOTES}
        save_file(tensors, self.fs.concat_path(self.path, name), notes)
        sizes = [tensors[item.index.fqn].numel() * tensors[item.index.fqn].itemsize for item in items]
        return [
            WriteResult(item.index, size, StorageInfo(name, 0, size))
            for item, size in zip(items, sizes, strict=True)
        ]

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Writes the index; where ranks wrote boxes, puts them together first, or leaves them as they are."""
        if self.save_distributed:
            if self.enable_consolidation:
                mapping = self.fqn_to_index_mapping or dict.fromkeys(metadata.state_dict_metadata, 1)
                consolidate_safetensors_files(
                    str(self.path), self.consolidated_output_path, mapping, self.thread_count_consolidation
                )
            return
        every = [result for part in results for result in part]
        weights = {result.index.fqn: result.storage_data.relative_path for result in every}
        _write_index(self.path, weights, sum(result.size_in_bytes for result in every))


def _write_index(folder: _Path, weights: Mapping[str, str], size: int) -> None:
    with replacing(os.path.join(folder, INDEX)) as file:
        file.write(json.dumps({"metadata": {"total_size": size}, "weight_map": weights}, indent=2).encode())


@dataclass(frozen=True)
class _Box:
    """A tensor of a file, which may be a part of one."""

    path: str
    entry: Entry
    offset: Size

    def read(self, source: FileSource) -> Any:
        return read_tensor(source, self.entry)


def _boxes_in(folder: _Path) -> dict[str, list[_Box]]:
    """The boxes in the files of a directory, by tensor."""
    boxes: defaultdict[str, list[_Box]] = defaultdict(list)
    for name in sorted(os.listdir(folder)):
        if not name.endswith(SUFFIX):
            continue
        path = os.path.join(folder, name)
        with closing(FileSource(path)) as source:
            header = read_header(source)
        sharding = json.loads(header.metadata.get(_SHARDING, "{}"))
        for fqn, entry in header.entries.items():
            begin = sharding.get(fqn, {}).get(_OFFSETS) or [0] * len(entry.shape)
            boxes[fqn].append(_Box(path, entry, Size(begin)))
    return boxes


def _size_of(boxes: list[_Box]) -> Size:
    """The sizes of the tensor that boxes are parts of."""
    ends = ([o + n for o, n in zip(box.offset, box.entry.shape, strict=True)] for box in boxes)
    return Size(map(max, zip(*ends, strict=True)))


class HuggingFaceStorageReader(FileSystemReader):
    """Reads a checkpoint of safetensors files: those of a model, or those that ranks wrote.

    Args:
        path: the directory.
        thread_count: the number of threads that read.

    Example:
        >>> import tempfile, tl_core, tl_checkpoint.distributed as dcp
        >>> state = {"weight": tl_core.zeros(2)}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_file({"weight": tl_core.ones(2)}, f"{folder}/model.safetensors")
        ...     dcp.load(state, storage_reader=dcp.HuggingFaceStorageReader(folder), no_dist=True)
        ...
        >>> state
        {'weight': tensor([1., 1.])}
    """

    def __init__(self, path: str, thread_count: int = 1) -> None:
        super().__init__(path)
        self.thread_count = thread_count
        self._boxes: dict[MetadataIndex, _Box] = {}

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        """Set the metadata of the checkpoint."""
        self._boxes = metadata.storage_data or {}

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """The metadata of the files, from their headers.

        Raises:
            FileNotFoundError: there is no such file.
            RuntimeError: one is damaged.
        """
        boxes_of = _boxes_in(self.path)
        if not boxes_of:
            raise FileNotFoundError(f"{self.path} has no {SUFFIX} files")
        entries: dict[str, STORAGE_TYPES] = {}
        by_index: dict[MetadataIndex, _Box] = {}
        for fqn, boxes in boxes_of.items():
            chunks = [ChunkStorageMetadata(box.offset, Size(box.entry.shape)) for box in boxes]
            properties = TensorProperties(dtype=boxes[0].entry.dtype)
            entries[fqn] = TensorStorageMetadata(properties, _size_of(boxes), chunks)
            by_index |= {MetadataIndex(fqn, box.offset): box for box in boxes}
        return Metadata(entries, storage_data=by_index, storage_meta=StorageMeta(load_id=self.load_id))

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Reads what a plan lists, each box once.

        Raises:
            RuntimeError: a file is damaged.
        """
        items_of: defaultdict[MetadataIndex, list[ReadItem]] = defaultdict(list)
        for item in plan.items:
            items_of[item.storage_index].append(item)
        with ExitStack() as opened, ThreadPoolExecutor(self.thread_count) as threads:
            boxes = [self._boxes[index] for index in items_of]
            paths = {box.path for box in boxes}
            sources = {path: opened.enter_context(closing(FileSource(path))) for path in paths}
            tensors = threads.map(lambda box: box.read(sources[box.path]), boxes)
            for items, tensor in zip(items_of.values(), tensors, strict=True):
                for item in items:
                    target = planner.resolve_tensor(item).detach()
                    target.copy_(box_of(tensor, item))
                    planner.commit_tensor(item, target)
        return Future.of(None)


def consolidate_safetensors_files(
    input_dir: str, output_dir: str | None, fqn_to_index_mapping: dict[str, int], num_threads: int = 1
) -> None:
    """Makes a model's files of those that ranks wrote.

    Args:
        input_dir: the directory of the ranks' files.
        output_dir: where the model's files and their index go.
        fqn_to_index_mapping: the number of the file of each tensor, from 1 on.
        num_threads: the number of threads that work, each on a file.

    Raises:
        KeyError: the ranks' files lack a tensor.
        RuntimeError: they lack a part of one.

    Example:
        >>> import tempfile, tl_core, tl_checkpoint.distributed as dcp
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     writer = dcp.HuggingFaceStorageWriter(f"{folder}/ranks", save_distributed=True)
        ...     _ = dcp.save({"weight": tl_core.ones(2)}, storage_writer=writer, no_dist=True)
        ...     os.mkdir(f"{folder}/model")
        ...     consolidate_safetensors_files(f"{folder}/ranks", f"{folder}/model", {"weight": 1})
        ...     sorted(os.listdir(f"{folder}/model"))
        ...
        ['model-00001-of-00001.safetensors', 'model.safetensors.index.json']
    """
    boxes, count = _boxes_in(input_dir), max(fqn_to_index_mapping.values())
    names: defaultdict[str, list[str]] = defaultdict(list)
    for fqn, index in fqn_to_index_mapping.items():
        if fqn not in boxes:
            raise KeyError(f"the files in {input_dir} have no tensor {fqn!r}")
        names[file_name(index, count)].append(fqn)

    def write(name: str) -> int:
        tensors = {fqn: _join_boxes(fqn, boxes[fqn]) for fqn in names[name]}
        save_file(tensors, os.path.join(output_dir or input_dir, name), _NOTES)
        return sum(tensor.numel() * tensor.itemsize for tensor in tensors.values())

    with ThreadPoolExecutor(num_threads) as threads:
        size = sum(threads.map(write, names))
    weights = {fqn: name for name, fqns in names.items() for fqn in fqns}
    _write_index(output_dir or input_dir, weights, size)


def _join_boxes(fqn: str, boxes: list[_Box]) -> Any:
    tensor = tl_core.empty(_size_of(boxes), dtype=boxes[0].entry.dtype)
    count = 0
    for box in boxes:
        with closing(FileSource(box.path)) as source:
            part = box.read(source)
        target = tensor
        for axis, (begin, length) in enumerate(zip(box.offset, part.shape, strict=True)):
            target = target.narrow(axis, begin, length)
        target.copy_(part)
        count += part.numel()
    if count != tensor.numel():
        raise RuntimeError(
            f"the files have {count} of the {tensor.numel()} elements of {fqn!r}: a rank's file is missing, or "
            "belongs to another checkpoint"
        )
    return tensor
