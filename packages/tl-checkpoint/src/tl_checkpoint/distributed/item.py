"""One entry or chunk in a shard file: an archive like those of `save`, of a tensor or of any object."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import tl_core
from tl_core.storage import tensor_on

from .. import config
from ..archive_reader import ArchiveReader
from ..archive_writer import ArchiveWriter
from ..pickler import pickle_object
from ..safe_globals import require_global
from ..source import Source
from ..storages import Storages, is_swapped
from ..unpickler import DataUnpickler

__all__ = ["MIXED", "StoredTensor", "write_tensor"]

MIXED = "it isn't what was saved there: the files of two checkpoints are mixed, or it is damaged"


def write_tensor(write: Callable[[Any], Any], tensor: Any) -> int:
    """Writes a tensor's elements; returns the checksum of the archive that they are in."""
    data, storages = pickle_object(tensor.detach().cpu().contiguous(), 2)
    archive = ArchiveWriter(write, "archive", config.save.storage_alignment, config.save.compute_crc32)
    archive.add("data.pkl", data)
    archive.add("byteorder", sys.byteorder.encode())
    for storage in storages:
        archive.add(f"data/{storage.key}", storage.data())
    archive.add("version", b"3\n")
    return archive.close()


class StoredTensor:
    """A tensor in an archive, whose elements are read when it is known where they go.

    Args:
        source (Source): The archive's bytes.
        checksum (int, optional): What `write_tensor` returned; another archive in its place is refused.
    """

    def __init__(self, source: Source, checksum: int | None) -> None:
        self._reader = ArchiveReader(source)
        if checksum is not None and checksum != self._reader.checksum:
            raise RuntimeError(MIXED)
        order = (
            self._reader.read("byteorder").decode("ascii", "replace")
            if "byteorder" in self._reader
            else sys.byteorder
        )
        self._swapped = is_swapped(order)
        storages = Storages(self._reader, keys=set())
        self.outline = self._read(storages)
        if not isinstance(self.outline, tl_core.Tensor):
            raise RuntimeError(f"it holds a {type(self.outline).__name__}, a tensor was to be there")
        self._keys = storages.keys_of([self.outline])

    def _read(self, storages: Storages) -> Any:
        return DataUnpickler(self._reader.read("data.pkl"), require_global, storages.find).load()

    def tensor(self) -> Any:
        """The tensor, read into memory of its own."""
        return self._read(Storages(self._reader, "cpu", swapped=self._swapped)).detach()

    def read_into(self, target: Any) -> None:
        """Fills a tensor of the same shape, converting elements to its dtype."""
        key = self._plain_key()
        if key is None or not _takes_bytes(target, self.outline):
            target.copy_(self.tensor())
            return
        nbytes = target.numel() * target.itemsize
        if nbytes:
            offset = target.storage_offset() * target.itemsize
            flat = tensor_on(target.untyped_storage(), tl_core.uint8, (nbytes,), (1,), offset)
            self._reader.read_into(f"data/{key}", memoryview(flat))
            target.view(-1)[:0].zero_()  # whoever keeps the tensor for a gradient sees that it has changed

    def _plain_key(self) -> str | None:
        """The record that holds the elements one after another, if there is one."""
        outline = self.outline
        if outline.is_quantized:
            return None
        if self._swapped or len(self._keys) != 1 or outline.storage_offset() or not outline.is_contiguous():
            return None
        if outline.is_conj() or outline.is_neg():
            return None
        (key,) = self._keys
        size: int = self._reader.record(f"data/{key}").size
        return key if size == outline.numel() * outline.itemsize else None


def _takes_bytes(target: Any, outline: Any) -> bool:
    plain = type(target) in (tl_core.Tensor, tl_core.Parameter) and target.device.type == "cpu"
    unmarked = not (target.is_complex() and target.is_conj()) and not target.is_neg()
    return bool(plain and unmarked and target.dtype == outline.dtype and target.is_contiguous())
