"""Inspection of files by their headers, and verification of their checksums."""

from __future__ import annotations

import fnmatch
import os
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import tl_core

from . import npz, safetensors
from .archive_reader import ArchiveReader
from .archive_writer import MANIFEST
from .formats import format_of
from .safe_globals import require_global
from .source import FileSource
from .storages import Storages
from .unpickler import DataUnpickler
from .zip_reader import ZipReader

__all__ = ["FAILURES", "Item", "Progress", "inspect", "verify"]

Progress = Callable[[int], Any]
FAILURES = (RuntimeError, pickle.UnpicklingError, OSError, TypeError, ValueError, KeyError)


@dataclass(frozen=True)
class Item:
    """An entry of a file: a tensor, or (`dtype` None) another object with its class in `shape`.

    Args:
        name: path of the entry in the object.
        dtype: name of the element type; None for other objects.
        shape: its sizes, or the class of another object.
        nbytes: size of the data in bytes.
        crc: CRC-32 of the data; None without a checksum.

    Example:
        >>> import tl_core
        >>> Item("weight", tl_core.float32, (2,), 8, None).nbytes
        8
    """

    name: str
    dtype: str | None
    shape: str
    nbytes: int
    crc: int | None


def inspect(path: str, pattern: str = "*") -> list[Item]:
    """The entries of a file whose names match, without their data.

    Raises RuntimeError or UnpicklingError if the file is damaged, or has a global that isn't allowed.

    Example:
        >>> import tl_core
        >>> import pathlib, tempfile, tl_checkpoint
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "weights.pt")
        ...     tl_checkpoint.save({"weight": tl_core.ones(2)}, file)
        ...     [(item.name, item.shape) for item in inspect(str(file))]
        ...
        [('weight', '[2]')]
    """
    kind = format_of(path)
    items = {"pt": _archive_items, "safetensors": _tensor_items, "index": _index_items, "npz": _array_items}[
        kind
    ]
    return [item for item in items(path) if fnmatch.fnmatchcase(item.name, pattern)]


def _archive_items(path: str) -> Iterator[Item]:
    source = FileSource(path)
    try:
        reader = ArchiveReader(source)
        reader.refuse_program()
        storages = Storages(reader, keys=set())
        outline = DataUnpickler(reader.read("data.pkl"), require_global, storages.find).load()
        for name, value in _entries(outline):
            keys = storages.keys_of([value]) if isinstance(value, tl_core.Tensor) else set()
            crcs = [reader.record(f"data/{key}").crc for key in keys]
            yield _item(name, value, crcs[0] if crcs and crcs[0] else None)
    finally:
        source.close()


def _entries(root: Any) -> Iterator[tuple[str, Any]]:
    """The leaves of an object, by paths such as "optimizer.state.0"; each container is entered once."""
    waiting, visited = [("", root)], set()
    while waiting:
        name, value = waiting.pop()
        inside = (
            value.items() if isinstance(value, dict) else enumerate(value) if type(value) is list else None
        )
        if inside is None:
            yield name or "(the whole)", value
        elif id(value) not in visited:
            visited.add(id(value))
            waiting += reversed([(f"{name}.{key}" if name else str(key), part) for key, part in inside])


def _item(name: str, value: Any, crc: int | None) -> Item:
    if isinstance(value, tl_core.Tensor):
        size = value.numel() * value.itemsize
        return Item(name, str(value.dtype).removeprefix("torch."), _shape(value.shape), size, crc)
    return Item(name, None, type(value).__name__, 0, None)


def _shape(sizes: Any) -> str:
    return f"[{', '.join(map(str, sizes))}]"


def _tensor_items(path: str) -> Iterator[Item]:
    source = FileSource(path)
    try:
        for e in safetensors.read_header(source).entries.values():
            dtype = str(e.dtype).removeprefix("torch.")
            yield Item(e.name, dtype, _shape(e.shape), e.end - e.begin, e.crc)
    finally:
        source.close()


def _index_items(path: str) -> Iterator[Item]:
    index = safetensors.read_index(path)
    for part in dict.fromkeys(index.weight_map.values()):
        for item in _tensor_items(os.path.join(os.path.dirname(path), part)):
            if index.weight_map.get(item.name) == part:
                yield item


def _array_items(path: str) -> Iterator[Item]:
    source = FileSource(path)
    try:
        for m in npz.members(ZipReader(source)):
            yield Item(m.name, m.dtype.name, _shape(m.shape), m.record.size - m.start, m.record.crc)
    finally:
        source.close()


# ---- verifying


def verify(path: str, progress: Progress = lambda count: None) -> str:
    """Compares every checksum of a file, and reads its structure; returns a sentence about the checks.

    Args:
        path (str): The file.
        progress (callable): Called with the number of bytes read since the last call.

    Raises:
        RuntimeError, UnpicklingError: If the file is damaged.

    Example:
        >>> import tl_core
        >>> import pathlib, tempfile, tl_checkpoint
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "weights.pt")
        ...     tl_checkpoint.save({"weight": tl_core.ones(2)}, file)
        ...     len(verify(str(file))) > 0
        ...
        True
    """
    kind = format_of(path)
    return {
        "pt": _verify_archive,
        "safetensors": _verify_tensors,
        "index": _verify_index,
        "npz": _verify_arrays,
    }[kind](path, progress)


def _verify_archive(path: str, progress: Progress) -> str:
    source = FileSource(path)
    try:
        reader = ArchiveReader(source)
        reader.refuse_program()
        for name in reader.names():
            reader.verify(name, progress)
        records = [record for record in reader.records.values() if record.size]
        checked = sum(record.crc != 0 for record in records)
        outline = DataUnpickler(
            reader.read("data.pkl"), require_global, Storages(reader, keys=set()).find
        ).load()
        count = sum(isinstance(value, tl_core.Tensor) for _, value in _entries(outline))
        manifest = "with" if MANIFEST in reader else "without"
    finally:
        source.close()
    return f"{count} tensors, {checked} of {len(records)} records have a checksum and agree, {manifest} a manifest"


def _verify_tensors(path: str, progress: Progress) -> str:
    source = FileSource(path)
    try:
        entries = safetensors.read_header(source).entries.values()
        for entry in entries:
            safetensors.read_tensor(source, entry)
            progress(entry.end - entry.begin)
    finally:
        source.close()
    return f"{len(entries)} tensors, {sum(e.crc is not None for e in entries)} have a checksum and agree"


def _verify_index(path: str, progress: Progress) -> str:
    index = safetensors.read_index(path)
    parts = list(dict.fromkeys(index.weight_map.values()))
    sentences = [
        f"{part}: {_verify_tensors(os.path.join(os.path.dirname(path), part), progress)}" for part in parts
    ]
    safetensors.load_file(path, mmap=True)
    return "; ".join(sentences)


def _verify_arrays(path: str, progress: Progress) -> str:
    tensors = npz.load_npz(path)
    progress(os.path.getsize(path))
    return f"{len(tensors)} arrays, all have a checksum and agree"
