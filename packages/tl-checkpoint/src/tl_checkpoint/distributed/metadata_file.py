"""The file `.metadata`: a pickle that PyTorch reads, followed by a seal that only tl checks.

It is read as data, by the interpreter of archives: it constructs only the classes of `metadata`. Boxes, paths and
extents are checked for consistency before use.
"""

from __future__ import annotations

import itertools
import pickle
import struct
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any

import tl_core
from tl_core import Size

from .. import safe_globals
from ..globals import Global
from ..pickler import pickle_object
from ..quantized import is_quantized_dtype
from ..unpickler import DataUnpickler
from . import metadata as classes
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from .resharding import check_partition, volume

__all__ = ["StorageInfo", "dump", "likely", "parse"]

_MAGIC = b"TLSEAL01"
_SEAL = struct.Struct("<8sQI")  # magic, bytes before it, their CRC-32
_LONGEST_LIST = 1_000_000


@dataclass
class StorageInfo:
    """The place of an entry or chunk: a file of the directory, and the extent in it.

    `crc32` is the checksum of the bytes, or for a tensor's archive of its directory, which holds the checksums of the
    records. Other writers store none.

    Args:
        relative_path: path of the file in the directory.
        offset: first byte of the entry.
        length: number of bytes.
        transform_descriptors: transformations of the bytes; reading such entries is an error.
        crc32: the CRC-32 of the bytes; None if the writer stored none.
    """

    relative_path: str
    offset: int
    length: int
    transform_descriptors: list[str] | None = None
    crc32: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}


def dump(metadata: Metadata) -> bytes:
    """The bytes of a metadata file."""
    data, _ = pickle_object(metadata, 4)
    return data + _SEAL.pack(_MAGIC, len(data), zlib.crc32(data))


def parse(data: bytes) -> Metadata:
    """The metadata of a file's bytes.

    Raises:
        pickle.UnpicklingError: If the pickle is damaged, or has a global that isn't allowed.
        RuntimeError: If the seal is broken or missing, or the metadata are inconsistent.
    """
    sealed = _checked_seal(data)
    try:
        metadata = DataUnpickler(data, _find, _no_storages, restore=_restore).load()
    except (UnicodeDecodeError, OverflowError) as error:
        raise pickle.UnpicklingError(f"the checkpoint's metadata are damaged: {error}") from error
    _check(metadata, sealed)
    return metadata


def _checked_seal(data: bytes) -> bool:
    """Whether there is a seal; raises RuntimeError if it doesn't match the bytes."""
    if len(data) < _SEAL.size or data[-_SEAL.size :][: len(_MAGIC)] != _MAGIC:
        return False
    _, size, crc = _SEAL.unpack(data[-_SEAL.size :])
    body = data[: -_SEAL.size]
    if size != len(body) or crc != zlib.crc32(body):
        raise RuntimeError(
            "the checkpoint's metadata are damaged: their CRC-32 isn't the one that was written"
        )
    return True


# ---- making the objects


def _no_storages(description: Any) -> Any:
    raise pickle.UnpicklingError("a checkpoint's metadata hold no storages")


def _blank(kind: type) -> Callable[[], Any]:
    """A constructor of objects without a state."""

    def make() -> Any:
        instance: Any = object.__new__(kind)
        for name in _FIELDS[kind]:
            object.__setattr__(instance, name, None)
        return instance

    return make


_CLASSES = (
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
    BytesStorageMetadata,
    ChunkStorageMetadata,
)
_FIELDS: dict[type, set[str]] = {
    kind: {field.name for field in fields(kind)} for kind in (*_CLASSES, StorageInfo)
}
_PACKAGE = "torch.distributed.checkpoint"
_MAKERS: dict[str, Callable[..., Any]] = {
    **{f"{_PACKAGE}.metadata.{kind.__name__}": _blank(kind) for kind in _CLASSES},
    f"{_PACKAGE}.metadata._MEM_FORMAT_ENCODING": classes._MEM_FORMAT_ENCODING,
    f"{_PACKAGE}.filesystem._StorageInfo": _blank(StorageInfo),
}


def _find(module: str, name: str) -> Any:
    full = f"{module}.{name}"
    return Global(full, _MAKERS[full]) if full in _MAKERS else safe_globals.require_global(module, name)


def _restore(target: Any, state: Any) -> Any:
    if type(target) is TensorProperties:
        if type(state) is not tuple or len(state) != 5:
            raise pickle.UnpicklingError("the properties of a tensor are damaged")
        if not isinstance(state[3], classes._MEM_FORMAT_ENCODING):
            raise pickle.UnpicklingError("a tensor has a memory format that isn't known")
        target.__setstate__(state)
    elif type(target) in _FIELDS:
        if type(state) is not dict or not all(name in _FIELDS[type(target)] for name in state):
            raise pickle.UnpicklingError(f"the state of {type(target).__name__} is damaged: {state!r:.200}")
        for name, value in state.items():
            object.__setattr__(target, name, value)
    else:
        return safe_globals.restore(target, state)
    return target


# ---- consistency


def _check(metadata: Any, sealed: bool) -> None:
    _need(type(metadata) is Metadata, "there is no Metadata")
    entries = metadata.state_dict_metadata
    _need(type(entries) is dict and all(type(name) is str for name in entries), "its entries have no names")
    for name, entry in entries.items():
        _check_entry(name, entry)
    if metadata.storage_data is not None:
        _need(type(metadata.storage_data) is dict, "where things are stored isn't said")
        for index, extent in metadata.storage_data.items():
            _check_extent(index, extent, entries, sealed)
        _check_apart(metadata.storage_data.values())
    _check_paths(metadata.planner_data)


def _check_entry(name: str, entry: Any) -> None:
    if type(entry) is BytesStorageMetadata:
        return
    _need(type(entry) is TensorStorageMetadata, f"entry {name!r} is {type(entry).__name__}")
    _need(type(entry.properties) is TensorProperties, f"{name!r} has no properties")
    dtype = entry.properties.dtype
    _need(isinstance(dtype, tl_core.dtype) or is_quantized_dtype(dtype), f"{name!r} has no dtype")
    _need(_is_size(entry.size) and type(entry.chunks) is list, f"{name!r} has no size or chunks")
    for chunk in entry.chunks:
        good = type(chunk) is ChunkStorageMetadata and _is_size(chunk.offsets) and _is_size(chunk.sizes)
        _need(good, f"{name!r} has a damaged chunk")
    wrong = check_partition(entry.chunks, entry.size)
    _need(not wrong, f"{name!r}: {wrong}")


def _check_extent(index: Any, extent: Any, entries: dict[str, Any], sealed: bool) -> None:
    _need(type(index) is MetadataIndex and type(index.fqn) is str, "something is stored without a name")
    entry = entries.get(index.fqn)
    _need(entry is not None, f"{index.fqn!r} is stored, but no entry")
    if type(extent) is not StorageInfo:
        return  # an extent of another storage, which checks it itself
    _need(
        type(extent.relative_path) is str and _stays_inside(extent.relative_path),
        f"the file {extent.relative_path!r} of {index.fqn!r} lies outside of the directory",
    )
    numbers = extent.offset, extent.length
    _need(all(type(n) is int and 0 <= n < 2**63 for n in numbers), f"{index.fqn!r} has no place in its file")
    _need(sealed or extent.crc32 is None, "their seal is missing")
    _need(extent.crc32 is None or type(extent.crc32) is int, f"{index.fqn!r} has no checksum")
    if type(entry) is TensorStorageMetadata:
        chunk = next((c for c in likely(entry.chunks, index.index) if c.offsets == index.offset), None)
        _need(chunk is not None, f"{index.fqn!r} has no chunk at {index.offset}, but one is stored")
        assert chunk is not None
        too_large = volume(chunk) * entry.properties.dtype.itemsize > extent.length
        _need(not too_large, f"the chunk of {index.fqn!r} at {index.offset} is larger than its place")


def _check_apart(extents: Iterable[Any]) -> None:
    """Checks that extents don't overlap, so the data takes no more memory than the files."""
    ordered = sorted(
        (extent.relative_path, extent.offset, extent.length)
        for extent in extents
        if type(extent) is StorageInfo
    )
    for (name, offset, length), (following, begin, _) in itertools.pairwise(ordered):
        _need(name != following or offset + length <= begin, f"two entries lie in {name} at {begin}")


def likely(chunks: list[ChunkStorageMetadata], hint: Any) -> Iterable[ChunkStorageMetadata]:
    """The chunks, beginning with the chunk at the hint."""
    if type(hint) is int and 0 <= hint < len(chunks):
        yield chunks[hint]
    yield from chunks


def _check_paths(paths: Any) -> None:
    """Checks positions in lists against a limit: the largest decides the length of a list."""
    if type(paths) is not dict:
        return
    for path in paths.values():
        if type(path) is tuple:
            keys = (key for key in path if type(key) is int)
            _need(all(0 <= key <= _LONGEST_LIST for key in keys), f"the path {path!r:.200} is damaged")


def _stays_inside(path: str) -> bool:
    parts = path.split("/")
    return "\0" not in path and "\\" not in path and not {"", ".", ".."}.intersection(parts)


def _is_size(value: Any) -> bool:
    return type(value) is Size and all(type(n) is int and n >= 0 for n in value)


def _need(good: bool, wrong: str) -> None:
    if not good:
        raise RuntimeError(f"the checkpoint's metadata are damaged: {wrong}")
