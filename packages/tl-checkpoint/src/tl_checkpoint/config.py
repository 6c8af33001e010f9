"""The settings of saving and loading, as `tl.utils.serialization.config` has them."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from mmap import MAP_PRIVATE

__all__ = ["Load", "LoadEndianness", "Save", "load", "save"]


class LoadEndianness(enum.Enum):
    """The byte order of files that don't say theirs.

    Example:
        >>> LoadEndianness.LITTLE.name
        'LITTLE'
    """

    NATIVE = 1
    LITTLE = 2
    BIG = 3


@dataclass
class Save:
    """Settings of `save`.

    Args:
        compute_crc32: whether records have a CRC-32.
        use_pinned_memory_for_d2h: whether copies from devices go through pinned memory.
        storage_alignment: the bytes to whose multiples storages are aligned.
        skip_data: whether storages are left out.

    Example:
        >>> Save(compute_crc32=False).storage_alignment
        64
    """

    compute_crc32: bool = True
    use_pinned_memory_for_d2h: bool = False
    storage_alignment: int = 64
    skip_data: bool = field(default=False, repr=False)


@dataclass
class Load:
    """Settings of `load`.

    Args:
        mmap: whether files are mapped into memory instead of read.
        endianness: the byte order of files that don't say theirs; None for the machine's.
        mmap_flags: the flags of the mapping, such as `MAP_PRIVATE`.
        calculate_storage_offsets: whether offsets are computed instead of looked up.
        skip_data: whether storages are left unread.

    Example:
        >>> Load(mmap=True).mmap
        True
    """

    mmap: bool = False
    endianness: LoadEndianness | None = None
    mmap_flags: int | None = MAP_PRIVATE
    calculate_storage_offsets: bool = False
    skip_data: bool = field(default=False, repr=False)


save, load = Save(), Load()
