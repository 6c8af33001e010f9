"""Files from before 2020: one pickle after the other, then the storages' bytes."""

from __future__ import annotations

import pickle
import struct
from typing import Any

from tl_core.storage import TypedStorage, UntypedStorage

from .class_names import StorageType
from .locations import restore_location, target_of
from .safe_globals import allowed
from .source import Source
from .storages import bytes_of
from .unpickler import DataUnpickler

__all__ = ["load"]

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001


class _Stream:
    """The storages of such a file, by key; their bytes come last."""

    def __init__(self, map_location: Any, available: int) -> None:
        self._map_location, self._available = map_location, available
        self.made: dict[str, tuple[Any, int]] = {}

    def find(self, description: Any) -> TypedStorage:
        """The storage that a pickle describes."""
        if type(description) is not tuple or len(description) not in (5, 6) or description[0] != "storage":
            raise pickle.UnpicklingError("the pickle refers to something that is no storage")
        _, kind, key, location, count = description[:5]
        if type(kind) is not StorageType or type(key) is not str or type(count) is not int or count < 0:
            raise pickle.UnpicklingError("the pickle describes a storage by something else")
        if len(description) == 6 and description[5] is not None:
            raise pickle.UnpicklingError(
                "views of storages, as files from before 2018 have them, aren't read"
            )
        if key not in self.made:
            self.made[key] = self._new(str(location), count * kind.dtype.itemsize), kind.dtype.itemsize
        return TypedStorage(self.made[key][0], dtype=kind.dtype)

    def _new(self, location: str, nbytes: int) -> Any:
        if nbytes > self._available:
            raise pickle.UnpicklingError("a storage says more bytes than the file has")
        target = target_of(self._map_location, location)
        if callable(self._map_location) or target != "cpu":
            raise NotImplementedError(
                "files from before 2020 are loaded to the CPU only: pass map_location='cpu' and move what you need"
            )
        return restore_location(UntypedStorage(nbytes), target)


def load(source: Source, map_location: Any, weights_only: bool) -> Any:
    """Reads such a file as data. Raises UnpicklingError if it is something else."""
    if not weights_only:
        raise NotImplementedError("files from before 2020 are read as data only: pass weights_only=True")
    data = source.read_at(0, source.size)
    stream = _Stream(map_location, len(data))
    at = 0
    parts = []
    for _ in range(5):  # magic number, protocol, the machine that wrote it, the object, the keys
        reader = DataUnpickler(data, allowed, stream.find, at)
        parts.append(reader.load())
        at = reader.position
        if len(parts) == 1 and parts[0] != _MAGIC:
            raise pickle.UnpicklingError("the file is neither an archive nor one from before 2020")
    if parts[1] != _PROTOCOL:
        raise RuntimeError(f"Invalid protocol version: {parts[1]}")
    for key in parts[4]:
        at = _fill(data, at, stream, key)
    return parts[3]


def _fill(data: bytes, at: int, stream: _Stream, key: Any) -> int:
    if key not in stream.made or at + 8 > len(data):
        raise pickle.UnpicklingError("the file's storages are damaged")
    storage, itemsize = stream.made[key]
    (count,) = struct.unpack("<q", data[at : at + 8])
    begin, end = at + 8, at + 8 + storage.nbytes()
    if count * itemsize != storage.nbytes() or end > len(data):
        raise pickle.UnpicklingError(f"storage {key} is cut off, or has two sizes")
    if storage.nbytes():
        bytes_of(storage)[:] = data[begin:end]
    return end
