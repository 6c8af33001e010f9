"""Files from before 2016: tar archives of storages, tensors, and a pickle that refers to both by number."""

from __future__ import annotations

import io
import pickle
import struct
import tarfile
from collections.abc import Mapping
from typing import Any

from tl_core.storage import TypedStorage, UntypedStorage, tensor_on

from .class_names import StorageType
from .locations import relocate
from .object_unpickler import unpickle
from .source import Source, SourceFile
from .storages import bytes_of

__all__ = ["is_tar", "load"]

_MEMBERS = ("storages", "tensors", "pickle")


def is_tar(source: Source) -> bool:
    """Whether the file begins with the header of a tar archive: 512 bytes with the magic `ustar`."""
    return source.size >= 512 and source.read_at(257, 5) == b"ustar"


def load(
    source: Source,
    map_location: Any,
    weights_only: bool,
    module: Any = pickle,
    arguments: Mapping[str, Any] | None = None,
) -> Any:
    """Reads such a file with pickle, which runs code of the file.

    Args:
        source: the bytes of the file.
        map_location: device of storages, as in `load`.
        weights_only: must be False.
        module: the module whose `Unpickler` reads the pickles.
        arguments: keyword arguments of that `Unpickler`.

    Raises:
        RuntimeError: `weights_only` is set, or the archive lacks a member.
        pickle.UnpicklingError: the file is damaged.
    """
    if weights_only:
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with files saved in the legacy .tar format. In PyTorch 2.6, we changed "
            "the default value of the `weights_only` argument in `torch.load` from `False` to `True`. Pass "
            "weights_only=False if you trust the source of the file, and save it again."
        )
    with tarfile.open(fileobj=io.BufferedReader(SourceFile(source)), mode="r:") as archive:
        files = {name: _member(archive, name) for name in _MEMBERS}
    reader = _Reader(map_location, source.size, module, arguments)
    reader.read_storages(files["storages"])
    reader.read_tensors(files["tensors"])
    return unpickle(files["pickle"], reader.find, module, arguments)


def _member(archive: tarfile.TarFile, name: str) -> io.BytesIO:
    try:
        file = archive.extractfile(name)
    except KeyError:
        file = None
    if file is None:
        raise RuntimeError(f"the tar archive has no member {name!r}: it isn't one that PyTorch wrote")
    return io.BytesIO(file.read())


class _Reader:
    """The storages and tensors of such a file, by number."""

    def __init__(
        self, map_location: Any, size: int, module: Any, arguments: Mapping[str, Any] | None
    ) -> None:
        self._map_location, self._size = map_location, size
        self._module, self._arguments = module, arguments
        self._storages: dict[int, TypedStorage] = {}
        self._tensors: dict[int, Any] = {}

    def find(self, description: Any) -> Any:
        """The tensor or storage by its number, or a class of a description with its source code."""
        if isinstance(description, tuple):
            return description[0]
        number = int(description)
        if number in self._tensors:
            return self._tensors[number]
        if number in self._storages:
            return self._storages[number]
        raise pickle.UnpicklingError(f"the file has neither a tensor nor a storage of number {number}")

    def read_storages(self, file: io.BytesIO) -> None:
        """Reads the member `storages`: their number, then each description and its elements, then views."""
        for _ in range(self._pickle(file)):
            key, location, kind = self._pickle(file)
            if type(kind) is not StorageType:
                raise pickle.UnpicklingError("the file describes a storage by something else")
            self._storages[key] = self._storage(file, str(location), kind)
        for view, key, begin, count in self._pickle(file):
            storage = self._storages[key]
            first, size = begin * storage.dtype.itemsize, count * storage.dtype.itemsize
            part = storage.untyped()[first : first + size]
            self._storages[view] = TypedStorage(wrap_storage=part, dtype=storage.dtype)

    def read_tensors(self, file: io.BytesIO) -> None:
        """Reads the member `tensors`: their number, then each one's storage, sizes, strides and offset."""
        for _ in range(self._pickle(file)):
            key, storage_key, _ = self._pickle(file)
            (dims,) = struct.unpack("<i4x", self._take(file, 8))
            sizes = struct.unpack(f"<{dims}q", self._take(file, 8 * dims))
            strides = struct.unpack(f"<{dims}q", self._take(file, 8 * dims))
            (offset,) = struct.unpack("<q", self._take(file, 8))
            storage = self._storages[storage_key]
            self._tensors[key] = tensor_on(storage.untyped(), storage.dtype, sizes, strides, offset)

    def _storage(self, file: io.BytesIO, location: str, kind: StorageType) -> TypedStorage:
        (count,) = struct.unpack("<q", self._take(file, 8))
        if not 0 <= count * kind.dtype.itemsize <= self._size:
            raise pickle.UnpicklingError(f"a storage of {count} elements is larger than the file")
        storage = UntypedStorage(count * kind.dtype.itemsize)
        if count:
            bytes_of(storage)[:] = self._take(file, storage.nbytes())
        storage = relocate(storage, self._map_location, location)
        return TypedStorage(wrap_storage=storage, dtype=kind.dtype)

    def _pickle(self, file: io.BytesIO) -> Any:
        return unpickle(file, self.find, self._module, self._arguments)

    @staticmethod
    def _take(file: io.BytesIO, count: int) -> bytes:
        data = file.read(count) if count >= 0 else b""
        if len(data) != count:
            raise pickle.UnpicklingError("the file is cut off")
        return data
