"""The records of a package: in its file, or in a folder that it was unpacked to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tl_checkpoint.archive_writer import MANIFEST
from tl_checkpoint.source import FileSource, ObjectSource, Source
from tl_checkpoint.zip_reader import ZipReader

__all__ = ["ArchiveReader", "DirectoryReader", "open_records"]


class ArchiveReader:
    """The records of a file, which stand in one folder of it.

    Args:
        source: the bytes of the file.

    Raises:
        RuntimeError: the file is no archive, is cut off, contradicts itself or isn't what its manifest lists.
    """

    def __init__(self, source: Source) -> None:
        self._zip = ZipReader(source)
        folders = {name.partition("/")[0] for name in self._zip.records}
        if len(folders) != 1:
            raise RuntimeError("the archive isn't a package: its records aren't in one folder")
        self._zip.folder = f"{folders.pop()}/"
        self._zip.check_manifest()

    def names(self) -> list[str]:
        """The names of the records.

        Returns:
            All but the list that the writer keeps for itself.
        """
        return [name for name in self._zip.names() if name and name != MANIFEST and not name.endswith("/")]

    def __contains__(self, name: str) -> bool:
        return name in self._zip

    def has_record(self, name: str) -> bool:
        """Whether there is a record.

        Args:
            name: the record.

        Returns:
            True if there is.
        """
        return name in self

    def read(self, name: str) -> bytes:
        """The bytes of a record.

        Args:
            name: the record.

        Returns:
            Its bytes.

        Raises:
            RuntimeError: there is none, or its checksum is wrong.
        """
        return self._zip.read(name)

    def size(self, name: str) -> int:
        """The number of bytes of a record.

        Args:
            name: the record.

        Returns:
            It.
        """
        return self._zip.record(name).size

    def read_into(self, name: str, target: memoryview) -> None:
        """A record's bytes, written into memory of its size.

        Args:
            name: the record.
            target: the memory.
        """
        self._zip.read_into(name, target)


class DirectoryReader:
    """The records in a folder that a package was unpacked to.

    Args:
        directory: the folder.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._root = Path(directory)

    def _path(self, name: str) -> Path:
        path = (self._root / name).resolve()
        if self._root.resolve() not in path.parents or not path.is_file():
            raise RuntimeError(f"the package has no record {name!r}")
        return path

    def names(self) -> list[str]:
        """The names of the records.

        Returns:
            They, in order.
        """
        files = (path for path in sorted(self._root.rglob("*")) if path.is_file())
        return [name for name in (p.relative_to(self._root).as_posix() for p in files) if name != MANIFEST]

    def __contains__(self, name: str) -> bool:
        return (self._root / name).is_file()

    def has_record(self, name: str) -> bool:
        """Whether there is a record.

        Args:
            name: the record.

        Returns:
            True if there is.
        """
        return name in self

    def read(self, name: str) -> bytes:
        """The bytes of a record.

        Args:
            name: the record.

        Returns:
            Its bytes.
        """
        return self._path(name).read_bytes()

    def size(self, name: str) -> int:
        """The number of bytes of a record.

        Args:
            name: the record.

        Returns:
            It.
        """
        return self._path(name).stat().st_size

    def read_into(self, name: str, target: memoryview) -> None:
        """A record's bytes, written into memory of its size.

        Args:
            name: the record.
            target: the memory.
        """
        target[:] = self.read(name)


def open_records(file_or_buffer: Any) -> tuple[Any, str]:
    """The records of a package, and its name.

    Args:
        file_or_buffer: a path of a file or folder, or an object with `read`.

    Returns:
        Both.

    Raises:
        ValueError: it is none of these.
    """
    if isinstance(file_or_buffer, (str, os.PathLike)):
        path = os.fspath(file_or_buffer)
        if os.path.isdir(path):
            return DirectoryReader(path), path
        return ArchiveReader(FileSource(path)), path
    if not hasattr(file_or_buffer, "read"):
        raise ValueError(f"a package is a path or an object with read, got {type(file_or_buffer).__name__}")
    return ArchiveReader(ObjectSource(file_or_buffer)), "<binary>"
