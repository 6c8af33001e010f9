"""A lock between processes: a file that only one can make."""

from __future__ import annotations

import os
import time
import warnings

__all__ = ["FileBaton"]


class FileBaton:
    """A lock between processes that stands in a folder.

    Args:
        lock_file_path: the file.
        wait_seconds: how often those who wait look.
        warn_after_seconds: after how long they warn that somebody may have left it behind; None for never.

    Example:
        >>> import pathlib, tempfile
        >>> baton = FileBaton(str(pathlib.Path(tempfile.mkdtemp(), "lock")))
        >>> baton.try_acquire(), FileBaton(baton.lock_file_path).try_acquire()
        (True, False)
        >>> baton.release()
    """

    def __init__(
        self, lock_file_path: str, wait_seconds: float = 0.1, warn_after_seconds: float | None = None
    ) -> None:
        self.lock_file_path, self.wait_seconds = lock_file_path, wait_seconds
        self.warn_after_seconds = warn_after_seconds
        self.fd: int | None = None

    def try_acquire(self) -> bool:
        """Takes the lock if nobody has it; whether that succeeded."""
        try:
            self.fd = os.open(self.lock_file_path, os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            return False
        return True

    def wait(self) -> None:
        """Waits until nobody has the lock."""
        start, warned = time.monotonic(), False
        while os.path.exists(self.lock_file_path):
            time.sleep(self.wait_seconds)
            late = self.warn_after_seconds is not None and time.monotonic() - start > self.warn_after_seconds
            if late and not warned:
                warnings.warn(
                    f"FileBaton: {self.lock_file_path} has been there for {time.monotonic() - start:.0f} s; if the "
                    "process that made it has died, delete the file",
                    stacklevel=2,
                )
                warned = True

    def release(self) -> None:
        """Gives the lock back."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None
        os.remove(self.lock_file_path)
