"""A store in a file that several processes open."""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from ..base.errors import DistStoreError
from .store import Change, EditedStore

# A record is the lengths of its key and value, then both; the length -1 says that the key is deleted.
_LENGTHS = struct.Struct("<qq")


class FileStore(EditedStore):
    """A store in a file of records, which only grows; a lock on the file puts the writers in order.

    The file is removed when the last of `world_size` users has closed its store; without a `world_size`, it stays.

    Args:
        file_name: the file; it is made if it isn't there.
        world_size: how many stores will use the file; a negative number leaves that open.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     store = FileStore(file.name, 1)
        ...     store.set("epoch", "3")
        ...     store.get("epoch")
        ...
        b'3'
    """

    def __init__(self, file_name: str, world_size: int = -1):
        super().__init__()
        self._path = os.fspath(file_name)
        self._world_size = world_size
        self._values: dict[str, bytes] = {}
        self._read_to = 0
        self.add("\0users", 1)

    @property
    def path(self) -> str:
        """The file."""
        return self._path

    def edit(self, key: str, change: Change) -> bytes | None:
        with self._lock(fcntl.LOCK_EX) as file:
            self._read(file)
            value = change(self._values.get(key))
            if value != self._values.get(key):
                file.seek(self._read_to)
                file.write(_record(key, value))
                file.flush()
                self._read(file)
        return value

    def peek(self, key: str) -> bytes | None:
        with self._lock(fcntl.LOCK_SH) as file:
            self._read(file)
        return self._values.get(key)

    def num_keys(self) -> int:
        with self._lock(fcntl.LOCK_SH) as file:
            self._read(file)
        return sum(not key.startswith("\0") for key in self._values)

    def close(self) -> None:
        """Says that this store isn't used any more; the last of `world_size` removes the file."""
        if self._world_size < 0 or not os.path.exists(self._path):
            return
        if self.add("\0closed", 1) >= self._world_size:
            os.unlink(self._path)
        self._world_size = -1

    @contextmanager
    def _lock(self, kind: int) -> Iterator[BinaryIO]:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        with os.fdopen(descriptor, "r+b") as file:
            fcntl.flock(file, kind)
            yield file

    def _read(self, file: BinaryIO) -> None:
        """Takes over the records that have come since the last time."""
        file.seek(self._read_to)
        data, at = file.read(), 0
        while at < len(data):
            key, value, at = self._parse(data, at)
            if value is None:
                self._values.pop(key, None)
            else:
                self._values[key] = value
        self._read_to += len(data)

    def _parse(self, data: bytes, at: int) -> tuple[str, bytes | None, int]:
        if len(data) - at < _LENGTHS.size:
            raise DistStoreError(f"{self._path} is no file of a FileStore, or is damaged")
        key_size, value_size = _LENGTHS.unpack_from(data, at)
        middle = at + _LENGTHS.size + key_size
        end = middle + max(value_size, 0)
        if key_size < 0 or value_size < -1 or end > len(data):
            raise DistStoreError(f"{self._path} is no file of a FileStore, or is damaged")
        value = None if value_size < 0 else data[middle:end]
        return data[at + _LENGTHS.size : middle].decode(), value, end


def _record(key: str, value: bytes | None) -> bytes:
    name = key.encode()
    return _LENGTHS.pack(len(name), -1 if value is None else len(value)) + name + (value or b"")
