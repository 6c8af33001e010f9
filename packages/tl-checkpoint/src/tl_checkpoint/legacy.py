"""Files from before 2020: one pickle after the other, then the storages' bytes."""

from __future__ import annotations

import io
import pickle
import struct
from typing import Any

from tl_core.storage import TypedStorage, UntypedStorage

from .class_names import StorageType
from .locations import restore_location, target_of
from .safe_globals import allowed
from .source import ObjectSource, Source
from .storages import bytes_of
from .unpickler import CutOff as _CutOff
from .unpickler import DataUnpickler

__all__ = ["load", "load_from_bytes"]

_MAGIC = b"\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."  # the number 0x1950A86A20F9469CFC6C, pickled
_PROTOCOL = 1001


_HEAD = 1 << 26  # how much of the file the pickles may take, unless they are cut off there


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
        return TypedStorage(wrap_storage=self.made[key][0], dtype=kind.dtype)

    def _new(self, location: str, nbytes: int) -> Any:
        if nbytes > self._available:
            raise pickle.UnpicklingError("the storages say more bytes than the file has")
        self._available -= nbytes
        target = target_of(self._map_location, location)
        if callable(self._map_location) or target != "cpu":
            raise NotImplementedError(
                "files from before 2020 are loaded to the CPU only: pass map_location='cpu' and move what you need"
            )
        return restore_location(UntypedStorage(nbytes), target)


def load(source: Source, map_location: Any, weights_only: bool) -> Any:
    """Reads such a file as data. Raises UnpicklingError if it is something else.

    Args:
        source: the file.
        map_location: where storages go: see `load`.
        weights_only: whether only tensors and plain data are allowed.
    """
    if not weights_only:
        raise NotImplementedError("files from before 2020 are read as data only: pass weights_only=True")
    stream = _Stream(map_location, source.size)
    try:
        parts, at = _pickles(source.read_at(0, min(source.size, _HEAD)), stream)
    except _CutOff:
        if source.size <= _HEAD:
            raise
        stream = _Stream(map_location, source.size)
        parts, at = _pickles(source.read_at(0, source.size), stream)
    if type(parts[4]) is not list:
        raise pickle.UnpicklingError("the file's list of storages is damaged")
    for key in parts[4]:
        at = _fill(source, at, stream, key)
    return parts[3]


def load_from_bytes(b: bytes) -> Any:
    """A storage as the reference pickles it outside of archives, such as within `pickle.dumps(tensor)`: as a file of
    that time.

    Args:
        b: the file's bytes. They are read as data, whatever the pickle around them may do.

    Raises:
        pickle.UnpicklingError: the bytes are damaged, or want what isn't allowed.
    """
    source = ObjectSource(io.BytesIO(b))
    try:
        return load(source, None, weights_only=True)
    finally:
        source.close()


def _pickles(data: bytes, stream: _Stream) -> tuple[list[Any], int]:
    """Magic number, protocol, the machine that wrote the file, the object, the keys; and where they end."""
    parts: list[Any] = []
    at = 0
    for _ in range(5):
        if not parts and _MAGIC not in data[:24]:
            raise pickle.UnpicklingError(
                "the file is neither an archive nor one from before 2020; tar files, as before 2016, aren't read"
            )
        reader = DataUnpickler(data, allowed, stream.find, at)
        parts.append(reader.load())
        at = reader.position
        if len(parts) == 2 and parts[1] != _PROTOCOL:
            raise RuntimeError(f"Invalid protocol version: {parts[1]!r:.20}")
    return parts, at


def _fill(source: Source, at: int, stream: _Stream, key: Any) -> int:
    if type(key) is not str or key not in stream.made:
        raise pickle.UnpicklingError("the file's list of storages is damaged")
    storage, itemsize = stream.made[key]
    (count,) = struct.unpack("<q", source.read_at(at, 8))
    begin, end = at + 8, at + 8 + storage.nbytes()
    if count * itemsize != storage.nbytes() or end > source.size:
        raise pickle.UnpicklingError(f"storage {key} is cut off, or has two sizes")
    if storage.nbytes():
        source.read_into(begin, bytes_of(storage))
    return end
