"""What a shared object asks of others: the libraries it needs and the symbols it leaves open."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["SharedObject", "needs", "read"]

_DYNAMIC, _LOAD = 2, 1  # types of segments
_NEEDED, _STRTAB, _SYMTAB = 1, 5, 6  # entries of the dynamic segment
# Entries with addresses of tables: hashes, strings, relocations, code at start and end, versions. Tools move tables, so
# any of them may follow the symbols.
_TABLES = (4, 5, 7, 12, 13, 17, 23, 25, 26, 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFE)
_WEAK = 2
_SYMBOL = struct.Struct("<IBBHQQ")


class SharedObject(NamedTuple):
    """A shared object of ELF with 64 bits.

    Args:
        needed: the names of the libraries that it needs.
        undefined: the names of the symbols that others must define.
        defined: the names of the symbols that it defines for others.
    """

    needed: tuple[str, ...]
    undefined: tuple[str, ...]
    defined: frozenset[str]


def needs(path: str | Path, beginnings: tuple[str, ...]) -> bool:
    """Whether a file names a library as needed.

    Args:
        path: the file; one that is absent or may not be read needs nothing.
        beginnings: what the library's name begins with.

    Raises:
        OSError: the file is cut off.

    Example:
        >>> from tl_core import _C
        >>> from tl_core.extensions import shared_objects
        >>> shared_objects.needs(_C.__file__, ("libc.",)), shared_objects.needs(_C.__file__, ("libtorch",))
        (True, False)
    """
    try:
        image = read(path, symbols=False)
    except (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError):
        return False
    return image is not None and any(name.startswith(beginnings) for name in image.needed)


def read(path: str | Path, symbols: bool = True) -> SharedObject | None:
    """The needs of a file.

    Args:
        path: the file.
        symbols: whether symbols are read, too.

    Returns:
        None if the file is no shared object of this kind.

    Raises:
        OSError: the file cannot be read, or is cut off: the system's loader would crash with it.

    Example:
        >>> from tl_core import _C
        >>> from tl_core.extensions import shared_objects
        >>> "libc.so.6" in shared_objects.read(_C.__file__).needed
        True
    """
    with open(path, "rb") as file:
        if file.read(6) != b"\x7fELF\x02\x01":
            return None
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if (end := _end(data)) > len(data):
                raise OSError(f"{path}: the file is cut off: it has {len(data)} bytes of {end}")
            try:
                return _read(data, symbols)
            except (struct.error, IndexError, ValueError):
                return None  # a file that is cut off or of another kind: the loader's message is better


def _read(data: mmap.mmap, with_symbols: bool) -> SharedObject:
    entries, addresses = _segments(data)
    values: dict[int, list[int]] = {}
    for tag, value in entries:
        values.setdefault(tag, []).append(value)

    def offset(address: int) -> int:
        for start, size, at in addresses:
            if start <= address < start + size:
                return address - start + at
        raise ValueError("an address outside the file")

    if _STRTAB not in values:
        return SharedObject((), (), frozenset())
    strings = offset(values[_STRTAB][0])

    def text(at: int) -> str:
        return data[strings + at : data.find(b"\0", strings + at)].decode("utf-8", "replace")

    needed = tuple(text(at) for at in values.get(_NEEDED, ()))
    if _SYMTAB not in values or not with_symbols:
        return SharedObject(needed, (), frozenset())
    symbols = offset(values[_SYMTAB][0])
    end = _end_of_symbols(values, addresses, offset)
    undefined, defined = [], []
    for at in range(symbols + _SYMBOL.size, end - _SYMBOL.size + 1, _SYMBOL.size):
        name, info, _, section, _, _ = _SYMBOL.unpack_from(data, at)
        if not name:
            continue
        if section:
            defined.append(text(name))
        elif info >> 4 != _WEAK:
            undefined.append(text(name))
    return SharedObject(needed, tuple(undefined), frozenset(defined))


def _segments(data: mmap.mmap) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
    """(entries of the dynamic segment, (address, size, offset) of what is loaded)."""
    (table,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    dynamic: list[tuple[int, int]] = []
    loaded = []
    for i in range(count):
        kind, _, start, address, _, in_file, _, _ = struct.unpack_from("<IIQQQQQQ", data, table + i * size)
        if kind == _LOAD:
            loaded.append((address, in_file, start))
        elif kind == _DYNAMIC:
            dynamic = list(_entries(data, start, in_file))
    return dynamic, loaded


def _end(data: mmap.mmap) -> int:
    """The size that the file must have for its segments."""
    try:
        (table,) = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        headers = [struct.unpack_from("<IIQQQQQQ", data, table + i * size) for i in range(count)]
    except struct.error:
        return len(data) + 1
    return max(
        (start + in_file for kind, _, start, _, _, in_file, _, _ in headers if kind == _LOAD), default=0
    )


def _entries(data: mmap.mmap, start: int, size: int) -> Iterator[tuple[int, int]]:
    for at in range(start, start + size, 16):
        tag, value = struct.unpack_from("<QQ", data, at)
        if tag == 0:
            return
        yield tag, value


def _end_of_symbols(
    values: dict[int, list[int]], addresses: list[tuple[int, int, int]], offset: Callable[[int], int]
) -> int:
    """Where the table after the symbols begins, or their segment ends."""
    symbols = values[_SYMTAB][0]
    (end,) = (start + size for start, size, _ in addresses if start <= symbols < start + size)
    following = [address for tag in _TABLES for address in values.get(tag, ()) if symbols < address < end]
    return offset(symbols) + min([end, *following]) - symbols
