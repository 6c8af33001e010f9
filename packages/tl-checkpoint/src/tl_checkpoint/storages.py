"""The storages of an archive, each read when the pickle first refers to it."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterable
from typing import Any

import tl_core
from tl_core.dispatch.modes import mode_of_fakes
from tl_core.memory.mapped_memory import tensor_on_buffer
from tl_core.storage import TypedStorage, UntypedStorage, tensor_on

from .archive_reader import ArchiveReader
from .class_names import StorageType
from .locations import relocate, target_of
from .source import MappedSource

__all__ = ["Storages", "bytes_of", "is_swapped"]


class Storages:
    """Storages by key.

    Args:
        reader (ArchiveReader): The archive.
        map_location (optional): Device of storages, as in `load`.
        mapped (MappedSource, optional): Mapped file whose memory the storages use.
        swapped (bool): Whether the file has the other byte order.
        empty (bool): Whether storages are filled with zeros instead of read.
        keys (set of str, optional): Keys of the storages to read; the others get no memory. By default all are read.
    """

    def __init__(
        self,
        reader: ArchiveReader,
        map_location: Any = None,
        mapped: MappedSource | None = None,
        swapped: bool = False,
        empty: bool = False,
        keys: set[str] | None = None,
    ) -> None:
        self._reader, self._map_location, self._mapped = reader, map_location, mapped
        self._swapped, self._empty, self._keys = swapped, empty, keys
        self._storages: dict[str, Any] = {}

    def find(self, description: Any) -> TypedStorage:
        """The storage of a description ('storage', class, key, location, number of elements)."""
        if type(description) is not tuple or len(description) != 5 or description[0] != "storage":
            raise pickle.UnpicklingError("the pickle refers to something that is no storage")
        _, kind, key, location, count = description
        if type(kind) is not StorageType or type(key) is not str or type(location) is not str:
            raise pickle.UnpicklingError("the pickle describes a storage by something else")
        if type(count) is not int or count < 0:
            raise pickle.UnpicklingError(f"a storage can't have {count!r} elements")
        if key not in self._storages:
            self._storages[key] = self._new(key, location, count * kind.dtype.itemsize, kind.dtype)
        untyped = self._storages[key]
        if untyped.nbytes() != count * kind.dtype.itemsize:
            raise pickle.UnpicklingError(f"storage {key} has two sizes")
        return TypedStorage(wrap_storage=untyped, dtype=kind.dtype)

    def keys_of(self, tensors: Iterable[Any]) -> set[str]:
        """The keys of the storages of tensors."""
        keys = {storage: key for key, storage in self._storages.items()}
        own = (tensor.untyped_storage() for tensor in tensors)
        return {keys[storage] for storage in own if storage in keys}

    def _new(self, key: str, location: str, nbytes: int, dtype: Any) -> Any:
        target = location if callable(self._map_location) else target_of(self._map_location, location)
        if target == "meta" or (self._keys is not None and key not in self._keys):
            return UntypedStorage(nbytes, device="meta")
        if mode_of_fakes() is not None:
            storage = UntypedStorage(nbytes, device="meta")
            storage.stands_for = tl_core.device(target)
            return storage
        record = self._reader.record(f"data/{key}")
        if record.size != nbytes:
            raise RuntimeError(
                f"storage {key} should have {nbytes} bytes, its record has {record.size}: the file is damaged"
            )
        if self._mapped and not self._swapped and record.size == record.packed_size:
            return self._on_map(record)
        storage = UntypedStorage(nbytes)
        self._read(key, storage, dtype)
        return relocate(storage, self._map_location, location)

    def _on_map(self, record: Any) -> Any:
        if not record.size:
            return UntypedStorage(0)
        assert self._mapped is not None
        view = self._mapped.view[record.offset : record.offset + record.size]
        return tensor_on_buffer(view).untyped_storage()

    def _read(self, key: str, storage: Any, dtype: Any) -> None:
        if not storage.nbytes():
            return
        if self._empty:
            storage.fill_(0)
            return
        target = bytes_of(storage)
        self._reader.read_into(f"data/{key}", target)
        if self._swapped:
            storage.byteswap(dtype)


def bytes_of(storage: Any) -> memoryview:
    """A storage's memory."""
    return memoryview(tensor_on(storage, tl_core.uint8, (storage.nbytes(),), (1,)))


def is_swapped(order: str) -> bool:
    """Whether a byte order differs from this machine's."""
    return order != sys.byteorder
