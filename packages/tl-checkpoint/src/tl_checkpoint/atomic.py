"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from typing import Any

from .disk import Disk

__all__ = ["ScratchFile", "replacing"]


class ScratchFile:
    """A file that is being written, one piece behind the other."""

    def __init__(self, disk: Disk, descriptor: int) -> None:
        self._disk, self._descriptor, self._offset = disk, descriptor, 0

    def write(self, data: Any) -> int:
        """Writes bytes behind what was written before; returns how many."""
        size = memoryview(data).nbytes
        if size:
            self._disk.write(self._descriptor, self._offset, data)
        self._offset += size
        return size

    def write_checked(self, head: Callable[[int], bytes], data: Any) -> int:
        """Writes what `head` makes of the data's CRC-32, then the data; returns the CRC-32.

        The data is written first, so that it goes through the processor once.
        """
        begin = self._offset
        self._offset += len(head(0))
        crc = self._disk.write(self._descriptor, self._offset, data)
        self._disk.write(self._descriptor, begin, head(crc))
        self._offset += memoryview(data).nbytes
        return crc

    def tell(self) -> int:
        """Number of bytes written."""
        return self._offset

    def fileno(self) -> int:
        """The file's descriptor."""
        return self._descriptor

    def flush(self) -> None:
        """Nothing: no byte waits here."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], disk: Disk | None = None) -> Iterator[Any]:
    """A file to write, which takes the place of the one at `path` when the block ends, and vanishes if it fails.

    It is synced before it is renamed, and the folder after, so that a crash leaves the old file or the new one. A link
    is followed; a pipe or a device is written as it is.
    """
    disk = disk or Disk()
    target = os.path.realpath(path)
    if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
        with open(target, "wb") as file:
            yield file
        return
    folder, name = os.path.split(target)
    descriptor, scratch = disk.create(folder, name)
    try:
        try:
            yield ScratchFile(disk, descriptor)
            disk.set_mode(descriptor, _mode(target))
            disk.sync(descriptor)
            scratch = scratch or disk.give_name(descriptor, folder, name)
        finally:
            disk.close(descriptor)
        disk.rename(scratch, target)
    except BaseException:
        if scratch:
            with contextlib.suppress(FileNotFoundError):
                disk.remove(scratch)
        raise
    disk.sync_folder(folder)


def _mode(target: str) -> int:
    if os.path.exists(target):
        return stat.S_IMODE(os.stat(target).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
