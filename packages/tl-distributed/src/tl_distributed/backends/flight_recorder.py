"""The last operations of this process, in memory that its launcher may share, and those of another process."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from .. import _C
from .flight_recorders import VARIABLE

__all__ = ["Operation", "Recording", "read", "write_for_launcher"]


@dataclass(frozen=True)
class Operation:
    """One operation of a group.

    Attributes:
        group: the group's name.
        sequence: its number in the group.
        name: which one.
        text: the call, as errors show it.
        bytes: of this rank's tensor.
        began: when, in nanoseconds since 1970.
        ended: when; 0 while it runs.
        stage: queued, running, done or failed.
    """

    group: str
    sequence: int
    name: str
    text: str
    bytes: int
    began: int
    ended: int
    stage: str

    @property
    def is_collective(self) -> bool:
        """True if all ranks of the group take part."""
        return self.name not in ("send", "recv")


@dataclass(frozen=True)
class Recording:
    """The last operations of a process.

    Attributes:
        rank: its number in the world.
        pid: its number on its machine.
        operations: the last 2,000, the oldest first.
    """

    rank: int
    pid: int
    operations: list[Operation]


def read(path: str | Path) -> Recording:
    """Reads a flight recorder, of a process that runs or has ended.

    Args:
        path: the file.

    Raises:
        ValueError: it isn't one, or is damaged.
        OSError: it can't be read.
    """
    try:
        rank, pid, epoch, records = _C.read_ring(Path(path).read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    operations = [
        Operation(group, number, name, text, size, began + epoch, ended + epoch if ended else 0, stage)
        for group, number, name, text, size, began, ended, stage in records
        if stage != "empty"
    ]
    return Recording(rank, pid, operations)


def write_for_launcher() -> None:
    """From now on this process's groups record in the memory that its launcher told it about, if one did."""
    path = os.environ.get(VARIABLE)
    if path is None:
        return
    try:
        memory = os.open(path, os.O_RDWR)
    except (
        OSError
    ):  # the launcher is of another user, machine or container, or has ended: nobody would read it
        return
    try:
        if os.fstat(memory).st_size == 0:  # else it is that of the process that started this one
            _C.record_to(memory)
    finally:
        os.close(memory)
