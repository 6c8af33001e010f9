"""Open files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..datapipe import IterDataPipe, functional_datapipe

__all__ = ["FileOpenerIterDataPipe"]

_MODES = ("b", "t", "rb", "rt", "r")


@functional_datapipe("open_files")
class FileOpenerIterDataPipe(IterDataPipe[Any]):
    """(path, open file) of paths; the consumer closes the file.

    Raises ValueError for another mode than "b", "t", "rb", "rt", "r", and for an encoding of bytes.

    Args:
        datapipe: the pipe of paths.
        mode: "r", "b" or "t", or two of them.
        encoding: encoding of text; None for the system's.
        length: the result of `len`; -1 for none.

    Example:
        >>> import pathlib, tempfile
        >>> from tl_data.compat.datapipes.iter import FileOpener, IterableWrapper
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "a.txt")
        ...     _ = path.write_text("hello")
        ...     for _, file in FileOpener(IterableWrapper([str(path)])):
        ...         print(file.read())
        ...         file.close()
        ...
        hello
    """

    def __init__(
        self, datapipe: Iterable[str], mode: str = "r", encoding: str | None = None, length: int = -1
    ) -> None:
        if mode not in _MODES:
            raise ValueError(f"mode should be one of {_MODES}, got {mode!r}")
        if "b" in mode and encoding is not None:
            raise ValueError("binary mode doesn't take an encoding argument")
        self.datapipe, self.mode, self.encoding, self.length = datapipe, mode, encoding, length

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        mode = self.mode if "r" in self.mode else "r" + self.mode
        for path in self.datapipe:
            yield path, open(path, mode, encoding=self.encoding)  # noqa: SIM115 - the consumer closes it

    def __len__(self) -> int:
        if self.length < 0:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return self.length
