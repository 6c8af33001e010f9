"""What saving asks of the system, in one place, so that tests can let every step of it fail."""

from __future__ import annotations

import errno
import os
import tempfile
import threading
import uuid
from typing import Any

from tl_core import files

__all__ = ["Disk"]

_LARGE = 1 << 24
_DESCRIPTORS = "/proc/self/fd"
_NO_NAMELESS = (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL)


class Disk:
    """The system's own files. Every method raises OSError as the system does."""

    def create(self, folder: str, name: str) -> tuple[int, str]:
        """A new file: its descriptor, and its path; "" where the system can do without, so that nothing is left of it
        if the process dies."""
        if os.path.isdir(_DESCRIPTORS):
            try:
                return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600), ""
            except OSError as error:
                if error.errno not in _NO_NAMELESS:
                    raise
        return tempfile.mkstemp(prefix=f".{name}.", suffix=".part", dir=folder)

    def give_name(self, descriptor: int, folder: str, name: str) -> str:
        """Gives a file without a name one beside others, that nobody takes for one of them; returns its path."""
        path = os.path.join(folder, f".{name}.{uuid.uuid4().hex}.part")
        # Without a folder's descriptor, which isn't looked at, Python calls link(), which follows nothing on Linux.
        os.link(f"{_DESCRIPTORS}/{descriptor}", path, src_dir_fd=descriptor, follow_symlinks=True)
        return path

    def write(self, descriptor: int, offset: int, data: Any) -> int:
        """Writes all of the data at a place; returns its CRC-32."""
        return files.write_from(descriptor, offset, data)

    def sync(self, descriptor: int) -> None:
        """Waits until what was written to a file is on the disk."""
        os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        """Gives a descriptor back."""
        os.close(descriptor)

    def set_mode(self, descriptor: int, mode: int) -> None:
        """Sets who may read and write a file."""
        os.fchmod(descriptor, mode)

    def rename(self, source: str, target: str) -> None:
        """Lets a file take the place of another, in one step.

        To give back the other's blocks takes as long as writing them; that is left to a thread.
        """
        old = _held(target)
        try:
            os.replace(source, target)
        finally:
            if old >= 0:
                threading.Thread(target=os.close, args=(old,), daemon=True).start()

    def sync_folder(self, folder: str) -> None:
        """Waits until a folder's names are on the disk."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def remove(self, path: str) -> None:
        """Removes a file."""
        os.unlink(path)


def _held(path: str) -> int:
    """A descriptor that keeps a large file's blocks from being given back; -1 where there is nothing to keep."""
    try:
        large = os.stat(path).st_size >= _LARGE
    except FileNotFoundError:
        return -1
    return os.open(path, os.O_PATH | os.O_CLOEXEC) if large else -1
