"""The contents of open files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..datapipe import IterDataPipe, functional_datapipe

__all__ = ["StreamReaderIterDataPipe"]


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe[Any]):
    """(path, contents) of (path, open file), in pieces of `chunk` bytes or characters; files are closed at their ends.

    Example:
        >>> import io
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> files = IterableWrapper([("a.txt", io.StringIO("hello"))], deepcopy=False)
        >>> list(files.read_from_stream(chunk=3))
        [('a.txt', 'hel'), ('a.txt', 'lo')]
    """

    def __init__(self, datapipe: Any, chunk: int | None = None) -> None:
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for path, file in self.datapipe:
            with file:
                while piece := file.read(self.chunk):
                    yield path, piece
