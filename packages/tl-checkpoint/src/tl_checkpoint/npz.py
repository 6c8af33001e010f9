"""Reader and writer of NumPy's `.npz` archives; NumPy is the extra `numpy`."""

from __future__ import annotations

import fnmatch
import io
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import tl_core

from .atomic import replacing
from .source import FileSource, ObjectSource
from .zip_reader import Record, ZipReader

__all__ = ["Member", "load_npz", "members", "save_npz"]

_LONGEST_HEADER = 1 << 16
_HEADER = re.compile(
    rb"\{'descr': '([<>|=](?:b1|[iu][1248]|f[248]|c8|c16))', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,19},? ?)*)\), \} *\n"
)


@dataclass(frozen=True)
class Member:
    """An array in an archive: its type, shape, order and position.

    Args:
        name: name of the array, without ".npy".
        dtype: NumPy dtype of the elements.
        shape: sizes by dimension.
        fortran: whether columns are contiguous instead of rows.
        start: offset of its bytes in the record.
        record: record of the array in the archive.

    Example:
        >>> import tl_core
        >>> Member("x", tl_core.int64, (2,), False, 0, None).shape
        (2,)
    """

    name: str
    dtype: Any
    shape: tuple[int, ...]
    fortran: bool
    start: int
    record: Record


def save_npz(tensors: Mapping[str, Any], filename: str | os.PathLike[str]) -> None:
    """Write tensors to an archive that `numpy.load` reads; it is complete or not there.

    Raises:
        TypeError: If a value is no tensor, or of a type that NumPy lacks (bfloat16, complex32, float8).
        ImportError: If NumPy isn't installed.

    Example:
        >>> import tl_core
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "arrays.npz")
        ...     save_npz({"x": tl_core.tensor([1, 2])}, file)
        ...     load_npz(file)["x"]
        ...
        tensor([1, 2])
    """
    import numpy

    arrays: dict[str, Any] = {}
    for name, tensor in tensors.items():
        if type(name) is not str or not isinstance(tensor, tl_core.Tensor):
            raise TypeError(f"{name!r} must be a text that names a tensor, it names {type(tensor).__name__}")
        try:
            arrays[name] = tensor.numpy(force=True)
        except TypeError as error:
            raise TypeError(f"{name!r} is of {tensor.dtype}, which NumPy lacks") from error
    packed = io.BytesIO()
    numpy.savez(packed, **arrays)
    with replacing(filename) as file:
        file.write(packed.getbuffer())


def load_npz(
    filename: str | os.PathLike[str] | BinaryIO, device: Any = "cpu", *, keys: str | None = None
) -> dict[str, Any]:
    """The arrays of an archive as tensors; nothing in it is executed.

    Args:
        filename (path or seekable file): The archive.
        device (device): Device of the tensors.
        keys (str, optional): A pattern such as "enc.*": only the arrays whose names match are read.

    Raises:
        RuntimeError: If the archive is damaged, an array is of objects or of another type that tl lacks, or sizes
            don't agree.
        KeyError: If no name matches.

    Example:
        >>> import tl_core
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "arrays.npz")
        ...     save_npz({"x": tl_core.tensor([1, 2])}, file)
        ...     load_npz(file)
        ...
        {'x': tensor([1, 2])}
    """
    source = ObjectSource(filename) if hasattr(filename, "read") else FileSource(filename)
    try:
        reader = ZipReader(source)
        tensors = {
            member.name: _tensor(reader, member).to(device)
            for member in members(reader)
            if keys is None or fnmatch.fnmatchcase(member.name, keys)
        }
    finally:
        source.close()
    if keys is not None and not tensors:
        raise KeyError(f"no array of the file matches {keys!r}")
    return tensors


def members(reader: ZipReader) -> Iterator[Member]:
    """The arrays of an archive, by their headers. Raises RuntimeError if sizes don't agree."""
    for name, record in reader.records.items():
        if not name.endswith(".npy"):
            raise _broken(f"it holds {name!r}, which is no array")
        yield _member(record, reader.read_start(name, _LONGEST_HEADER))


def _member(record: Record, head: bytes) -> Member:
    """An array by its header, which is one line as NumPy writes it (format version 1 or 2)."""
    import numpy

    start = {b"\x93NUMPY\x01\x00": 10, b"\x93NUMPY\x02\x00": 12}.get(head[:8], 0)
    end = start + int.from_bytes(head[8:start], "little")
    match = _HEADER.fullmatch(head[start:end]) if start and end <= len(head) else None
    if not match:
        raise _broken(f"the header of {record.name!r} is damaged, or of an array that tl lacks")
    dtype = numpy.dtype(match[1].decode())
    shape = tuple(int(n) for n in match[3].split(b",") if n.strip())
    count = 1
    for n in shape:
        count *= n
    if count * dtype.itemsize != record.size - end:
        raise _broken(
            f"{record.name!r} has {record.size - end} bytes, its shape needs {count * dtype.itemsize}"
        )
    return Member(record.name.removesuffix(".npy"), dtype, shape, match[2] == b"True", end, record)


def _tensor(reader: ZipReader, member: Member) -> Any:
    import numpy

    data = reader.read(member.record.name)
    if member.dtype == numpy.bool_ and any(data[member.start :].strip(b"\0\1")):
        raise _broken(f"{member.name!r} is of booleans, and has bytes other than 0 and 1")
    flat = numpy.frombuffer(data, member.dtype, offset=member.start)
    array = flat.reshape(member.shape, order="F" if member.fortran else "C")
    native = numpy.array(array, dtype=array.dtype.newbyteorder("="), order="C")
    try:
        return tl_core.from_numpy(native)
    except TypeError as error:
        raise _broken(f"{member.name!r} is of {member.dtype}, which tl lacks") from error


def _broken(why: str) -> RuntimeError:
    return RuntimeError(f"the .npz archive can't be read: {why}")
