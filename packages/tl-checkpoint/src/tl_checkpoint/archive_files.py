"""Archives record by record, under the names that programs know: `PyTorchFileReader` and `PyTorchFileWriter`."""

from __future__ import annotations

import os
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import tl_core
from tl_core import Tensor

from .archive_writer import ArchiveWriter
from .atomic import replacing
from .source import FileSource, ObjectSource, Source
from .storages import bytes_of
from .zip_reader import ZipReader

__all__ = ["PyTorchFileReader", "PyTorchFileWriter"]

_VERSION = 3  # of the format, as the record `version` says it


class PyTorchFileReader:
    """The records of an archive that `save` made, one at a time.

    Args:
        name_or_buffer: a path, or an object with `read` and `seek`.

    Raises:
        RuntimeError: the file is no archive, is cut off, or contradicts itself.

    Example:
        >>> import io, tl_checkpoint
        >>> file = io.BytesIO()
        >>> tl_checkpoint.save({"a": tl_core.ones(2)}, file)
        >>> _ = file.seek(0)
        >>> reader = PyTorchFileReader(file)
        >>> reader.get_storage_from_record("data/0", 2, tl_core.float32)
        tensor([1., 1.])
    """

    def __init__(self, name_or_buffer: Any) -> None:
        is_path = isinstance(name_or_buffer, str | os.PathLike)
        self.source: Source = FileSource(name_or_buffer) if is_path else ObjectSource(name_or_buffer)
        self._reader = ZipReader(self.source)
        folders = {name.partition("/")[0] for name in self._reader.records}
        if len(folders) != 1:
            raise RuntimeError(
                f"PyTorchFileReader: the records stand in {len(folders)} folders instead of one"
            )
        self._reader.folder = f"{folders.pop()}/"

    def get_all_records(self) -> list[str]:
        """The names of the records, without the folder that they stand in."""
        return self._reader.names()

    def has_record(self, name: str) -> bool:
        """Whether there is a record.

        Args:
            name: its name, without the folder.
        """
        return name in self._reader

    def get_record(self, name: str) -> bytes:
        """The bytes of a record.

        Args:
            name: its name, without the folder.

        Raises:
            RuntimeError: there is no such record, or its checksum is another.
        """
        return self._reader.read(name)

    def get_record_offset(self, name: str) -> int:
        """The offset of a record's bytes in the file.

        Args:
            name: its name, without the folder.

        Raises:
            RuntimeError: there is no such record.
        """
        return self._reader.record(name).offset

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Tensor:
        """The elements of a record as a tensor.

        Args:
            name: the record's name, without the folder.
            numel: how many elements; bytes where `dtype` is `UntypedStorage`.
            dtype: their type.

        Raises:
            RuntimeError: there is no such record, its checksum is another, or it holds fewer elements.
        """
        kind = tl_core.uint8 if dtype is tl_core.UntypedStorage else dtype
        result = tl_core.empty(numel, dtype=kind)
        size = self._reader.record(name).size
        if size != result.nbytes:
            raise RuntimeError(
                f"record {name!r} holds {size} bytes, not the {result.nbytes} of {numel} of {kind}"
            )
        if size:
            self._reader.read_into(name, bytes_of(result.untyped_storage()))
        return result

    def version(self) -> int:
        """The version of the format."""
        return int(self._reader.read("version")) if self.has_record("version") else _VERSION

    def serialization_id(self) -> str:
        """The identifier of the archive's contents; "" without one."""
        name = ".data/serialization_id"
        return self._reader.read(name).decode("ascii", "replace") if self.has_record(name) else ""


class PyTorchFileWriter:
    """An archive, written record by record; a file appears once it is whole.

    Args:
        name_or_buffer: a path, or an object with `write`.
        compute_crc32: whether the records' checksums are written.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> writer = PyTorchFileWriter(file)
        >>> writer.write_record("numbers", b"\\x01\\x02", 2)
        >>> writer.write_end_of_file()
        >>> _ = file.seek(0)
        >>> PyTorchFileReader(file).get_record("numbers")
        b'\\x01\\x02'
    """

    def __init__(self, name_or_buffer: Any, compute_crc32: bool = True) -> None:
        is_path = isinstance(name_or_buffer, str | os.PathLike)
        self._opened = ExitStack()
        output = self._opened.enter_context(replacing(name_or_buffer)) if is_path else name_or_buffer.write
        self._name = os.path.splitext(os.path.basename(name_or_buffer))[0] if is_path else "archive"
        self._archive = ArchiveWriter(output, self._name, checksums=compute_crc32)
        self._records: list[str] = []
        self._ended = False

    def archive_name(self) -> str:
        """The folder in which the records stand."""
        return self._name

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Adds a record.

        Args:
            name: its name, without the folder.
            data: bytes, or a storage.
            size: how many bytes of it.

        Raises:
            RuntimeError: there is a record of this name, the data are fewer, or the archive has been ended.
        """
        if self._ended:
            raise RuntimeError(f"write_record({name!r}): the archive has been ended")
        if name in self._records:
            raise RuntimeError(f"write_record({name!r}): there is a record of this name")
        view = bytes_of(data) if isinstance(data, tl_core.UntypedStorage) else memoryview(data).cast("B")
        if size > len(view):
            raise RuntimeError(f"write_record({name!r}): size is {size}, the data have {len(view)} bytes")
        self._archive.add(name, bytes(view[:size]))
        self._records.append(name)

    def get_all_written_records(self) -> list[str]:
        """The names of the records so far."""
        return list(self._records)

    def write_end_of_file(self) -> None:
        """Ends the archive; the file is there then."""
        if self._ended:
            return
        self.write_record("version", f"{_VERSION}\n".encode(), len(f"{_VERSION}\n"))
        self._archive.close()
        self._ended = True
        self._opened.close()

    def __enter__(self) -> PyTorchFileWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.write_end_of_file()
        else:
            self._opened.__exit__(kind, error, trace)
