"""Writes files as they were before 2020, which programs of that time and PyTorch of today read."""

from __future__ import annotations

import pickle
import struct
import sys
from collections.abc import Callable
from typing import Any

from .class_names import storage_name
from .legacy import MAGIC, PROTOCOL
from .pickler import SavedStorage

__all__ = ["write"]


def write(
    output: Callable[[Any], object], data: bytes, storages: list[SavedStorage], pickle_protocol: int
) -> None:
    """Writes the five pickles, then the number of elements and the bytes of each storage.

    Args:
        output: takes bytes and writes all of them.
        data: the pickled object.
        storages: the storages that the pickle refers to.
        pickle_protocol: of the other pickles.

    Raises:
        RuntimeError: two tensors share a storage and have different types, which the format can't say.
    """
    sizes = {storage.key: _itemsize(storage) for storage in storages}
    machine = {
        "protocol_version": PROTOCOL,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    for part in (MAGIC, PROTOCOL, machine):
        output(pickle.dumps(part, pickle_protocol))
    output(data)
    output(pickle.dumps(list(sizes), pickle_protocol))
    for storage in storages:
        content = storage.data()
        output(struct.pack("<q", content.nbytes // sizes[storage.key]))
        output(content)


def _itemsize(storage: SavedStorage) -> int:
    """The size of the elements by which the pickle counts a storage."""
    if len(storage.dtypes) > 1:
        names = ", ".join(sorted(map(str, storage.dtypes)))
        raise RuntimeError(
            "Cannot save multiple tensors or storages that view the same data as different types in the format from "
            f"before 2020; the types are {names}"
        )
    (dtype,) = storage.dtypes
    return dtype.itemsize if storage_name(dtype) else 1
