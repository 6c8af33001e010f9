"""Prints what workers write to their log files, with a prefix before every line."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TextIO


class TailLog:
    """Follows files in a thread and copies their lines to a stream.

    Args:
        name: of the thread.
        log_files: a file for each local rank; it may come later.
        dst: where the lines go.
        log_line_prefixes: what stands before the lines of a local rank.
        interval_sec: how often the files are looked at.

    Example:
        >>> import sys
        >>> TailLog("tail", {}, sys.stdout).start().stop()
    """

    def __init__(
        self,
        name: str,
        log_files: dict[int, str],
        dst: TextIO,
        log_line_prefixes: dict[int, str] | None = None,
        interval_sec: float = 0.1,
    ):
        self._name = name
        self._files = log_files
        self._target = dst
        self._prefixes = log_line_prefixes or {}
        self._interval = interval_sec
        self._at = dict.fromkeys(log_files, 0)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> TailLog:
        """Begins to follow."""
        if self._files:
            self._thread.start()
        return self

    def stop(self) -> None:
        """Copies what is left, and ends the thread."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def stopped(self) -> bool:
        """True if the thread has ended or been told to."""
        return self._stopping.is_set()

    def _run(self) -> None:
        while not self._stopping.wait(self._interval):
            self._copy(False)
        self._copy(True)

    def _copy(self, to_end: bool) -> None:
        for rank, name in self._files.items():
            path = Path(name)
            if not path.exists():
                continue
            with path.open("rb") as file:
                file.seek(self._at[rank])
                data = file.read()
            if not to_end:
                data = data[: data.rfind(b"\n") + 1]  # whole lines only; the rest comes later
            self._at[rank] += len(data)
            prefix = self._prefixes.get(rank, f"[{self._name}{rank}]:")
            for line in data.decode(errors="replace").splitlines():
                self._target.write(f"{prefix}{line}\n")
        self._target.flush()
