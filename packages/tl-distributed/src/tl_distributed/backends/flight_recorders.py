"""The flight recorders of workers, in memory that their agent holds: what a worker did last outlives it.

A worker is told by a variable where its memory is, and its groups write there. As long as it runs, the file
`flight_recorder` in its folder points at that memory, so that it can be read while a job hangs; when it has ended, the
file has what was there. `tl report` reads both.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["FILE_NAME", "VARIABLE", "FlightRecorders"]

FILE_NAME = "flight_recorder"
VARIABLE = "TL_DISTRIBUTED_RECORDER"


class FlightRecorders:
    """The recorders of the workers of one start.

    Args:
        folders: where each worker's file shall be, by local rank.
    """

    def __init__(self, folders: dict[int, Path]):
        self._files = {rank: folder / FILE_NAME for rank, folder in folders.items()}
        self._memory: dict[int, int] = {}

    def open(self, rank: int) -> dict[str, str]:
        """Makes the memory of a worker; returns the variables by which it is told."""
        memory = self._memory[rank] = os.memfd_create(f"tl-recorder-{rank}", os.MFD_CLOEXEC)
        path = f"/proc/{os.getpid()}/fd/{memory}"
        self._files[rank].symlink_to(path)
        return {VARIABLE: path}

    def files(self) -> list[Path]:
        """The files of the workers that had a group of several."""
        return [file for file in self._files.values() if file.exists()]

    def close(self) -> None:
        """Lets each file have what its worker wrote; nothing stays where it wrote nothing."""
        for rank, memory in self._memory.items():
            file = self._files[rank]
            file.unlink(missing_ok=True)
            if size := os.fstat(memory).st_size:
                file.write_bytes(os.pread(memory, size, 0))
            os.close(memory)
        self._memory.clear()
