"""The system calls of saving in one class, so that tests can make each one fail."""

from __future__ import annotations

import errno
import os
import tempfile
import threading
import uuid
from typing import Any

from tl_core.memory import files

__all__ = ["Disk"]

_LARGE = 1 << 24
_DESCRIPTORS = "/proc/self/fd"
_NO_NAMELESS = (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL)


class Disk:
    """The files of the system. Every method raises the OSError of the system."""

    def create(self, folder: str, name: str) -> tuple[int, str]:
        """A new file: its descriptor and its path; "" for a file without a name, which vanishes if the process dies."""
        if os.path.isdir(_DESCRIPTORS):
            try:
                return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600), ""
            except OSError as error:
                if error.errno not in _NO_NAMELESS:
                    raise
        return tempfile.mkstemp(prefix=f".{name}.", suffix=".part", dir=folder)

    def give_name(self, descriptor: int, folder: str, name: str) -> str:
        """Gives a nameless file a hidden temporary name in a folder; returns its path."""
        path = os.path.join(folder, f".{name}.{uuid.uuid4().hex}.part")
        # Without src_dir_fd, whose value is ignored, Python calls link(), which follows no symbolic link on Linux.
        os.link(f"{_DESCRIPTORS}/{descriptor}", path, src_dir_fd=descriptor, follow_symlinks=True)
        return path

    def write(self, descriptor: int, offset: int, data: Any) -> int:
        """Writes all of the data at an offset; returns its CRC-32."""
        return files.write_from(descriptor, offset, data)

    def sync(self, descriptor: int) -> None:
        """Waits until a file's data is on the disk."""
        os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        """Closes a descriptor."""
        os.close(descriptor)

    def set_mode(self, descriptor: int, mode: int) -> None:
        """Sets the permissions of a file."""
        os.fchmod(descriptor, mode)

    def rename(self, source: str, target: str) -> None:
        """Replaces a file by another, atomically.

        Freeing the blocks of the old file takes as long as writing them, so a thread does it.
        """
        old = _hold_blocks(target)
        try:
            os.replace(source, target)
        finally:
            if old >= 0:
                threading.Thread(target=os.close, args=(old,), daemon=True).start()

    def sync_folder(self, folder: str) -> None:
        """Waits until a folder's entries are on the disk."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def remove(self, path: str) -> None:
        """Removes a file."""
        os.unlink(path)


def _hold_blocks(path: str) -> int:
    """A descriptor that keeps the blocks of a large file; -1 for a small or missing file."""
    try:
        large = os.stat(path).st_size >= _LARGE
    except FileNotFoundError:
        return -1
    return os.open(path, os.O_PATH | os.O_CLOEXEC) if large else -1
