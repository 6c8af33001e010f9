"""Streams that are read in pieces (files, or parts of them), which workers and processes share among themselves."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Any

from tl_core.base import ranks

from ..dataset import IterableDataset, Resumable
from ..info import get_worker_info

__all__ = ["Paths", "PieceStream", "path_list"]

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def path_list(paths: Paths) -> list[str]:
    """One path, or several, as a list of texts."""
    if isinstance(paths, (str, os.PathLike)):
        return [os.fspath(paths)]
    return [os.fspath(path) for path in paths]


class PieceStream(IterableDataset[Any]):
    """A stream of pieces: a subclass lists them (`pieces`) and reads one (`read`).

    Each worker of each process reads every n-th piece, so each piece is read once. With fewer pieces than workers,
    some workers are idle. The stream can be resumed at any sample.

    Args:
        rank, world_size (int, optional): Number of this process and number of processes; by default those of the
            process group, or 0 and 1.

    Example:
        >>> class Lines(PieceStream):
        ...     def pieces(self):
        ...         return ["first second", "third"]
        ...     def read(self, piece):
        ...         yield from piece.split()
        ...
        >>> list(Lines())
        ['first', 'second', 'third']
    """

    def __init__(self, rank: int | None = None, world_size: int | None = None) -> None:
        group = ranks.current() or (0, 1)
        self.rank = group[0] if rank is None else rank
        self.world_size = group[1] if world_size is None else world_size

    def pieces(self) -> Sequence[Any]:
        """All pieces in order, equal in all processes."""
        raise NotImplementedError(f"{type(self).__name__} must have pieces")

    def read(self, piece: Any) -> Iterator[Any]:
        """The samples of a piece."""
        raise NotImplementedError(f"{type(self).__name__} must have read")

    def own_pieces(self) -> list[Any]:
        """The pieces for this worker of this process."""
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        return list(self.pieces()[self.rank * workers + worker :: self.world_size * workers])

    def __iter__(self) -> _PieceIterator:
        return _PieceIterator(self)


class _PieceIterator(Resumable):
    """One pass with its position: the piece, and the number of samples read of it."""

    def __init__(self, stream: PieceStream) -> None:
        self._stream, self._pieces = stream, stream.own_pieces()
        self._piece, self._position = 0, 0
        self._samples: Iterator[Any] | None = None

    def __iter__(self) -> _PieceIterator:
        return self

    def __next__(self) -> Any:
        while self._piece < len(self._pieces):
            if self._samples is None:
                read = self._stream.read(self._pieces[self._piece])
                self._samples = itertools.islice(read, self._position, None)
            for sample in self._samples:
                self._position += 1
                return sample
            self._piece, self._position, self._samples = self._piece + 1, 0, None
        raise StopIteration

    def state_dict(self) -> dict[str, int]:
        """The number of the piece, and the number of samples read of it."""
        return {"piece": self._piece, "taken": self._position}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Resumes at the position of a state."""
        self._piece, self._position, self._samples = state["piece"], state["taken"], None
