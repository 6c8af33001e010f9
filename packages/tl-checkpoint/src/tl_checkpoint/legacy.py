"""Files from before 2020: five pickles one after the other, then the bytes of the storages."""

from __future__ import annotations

import inspect
import io
import pickle
import struct
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tl_core.base.public_names import own_module_of
from tl_core.storage import TypedStorage, UntypedStorage

from .class_names import STORAGES, StorageType
from .locations import relocate, target_of
from .object_unpickler import unpickle
from .safe_globals import require_global
from .safetensors import is_safetensors
from .source import ObjectSource, Source
from .storages import bytes_of
from .unpickler import CutOff, DataUnpickler

__all__ = ["MAGIC", "PROTOCOL", "SourceChangeWarning", "load", "load_from_bytes"]

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001

_PICKLED_MAGIC = b"\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
_HEAD = 1 << 26  # bytes of the file that the pickles may take, unless they are cut off there


class SourceChangeWarning(Warning):
    """A class in a file has another source now than when the file was written."""


@dataclass(frozen=True)
class _Outline:
    """Offsets of the parts of a file, found before any object of its pickles is made."""

    begin: int  # of the pickle of the object
    storages: dict[str, tuple[int, int]]  # where the bytes of each storage begin, and how many there are
    end: int  # of the last storage


class _Blank:
    """Placeholder of an outline for each object that isn't plain data."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __call__(self, *_: Any, **__: Any) -> _Blank:
        return self

    def __setstate__(self, state: Any) -> None:
        pass

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def append(self, value: Any) -> None:
        """Takes an item of a list."""

    def extend(self, values: Any) -> None:
        """Takes items of a list."""

    def add(self, value: Any) -> None:
        """Takes an item of a set."""


class _OutlineUnpickler(pickle._Unpickler):
    """Reads a pickle and makes nothing that it names, but notes the storages.

    The interpreter is the one in Python: the one in C reserves memory for whatever number a memo entry has.
    """

    def __init__(self, file: Any, sizes: dict[str, int]) -> None:
        super().__init__(file)
        self._sizes = sizes

    def find_class(self, module: str, name: str) -> Any:
        return STORAGES.get(f"{module}.{name}", _Blank)

    def persistent_load(self, description: Any) -> Any:
        if type(description) is tuple and len(description) in (5, 6) and description[0] == "storage":
            _, kind, key, _, count = description[:5]
            if type(kind) is StorageType and type(key) is str and type(count) is int and count >= 0:
                self._sizes[key] = count * kind.dtype.itemsize
        return _Blank  # a class with its source may be called


def _outline(file: io.BytesIO, size: int) -> _Outline:
    """Reads the five pickles: magic number, version, machine, object and the keys of its storages."""
    sizes: dict[str, int] = {}
    ends, parts = [], []
    try:
        for _ in range(5):
            parts.append(_OutlineUnpickler(file, sizes).load())
            ends.append(file.tell())
    except EOFError as error:
        raise CutOff("the file is cut off") from error
    except Exception as error:  # the interpreter raises whatever the Python under it does
        raise pickle.UnpicklingError(f"the file is damaged: {error}") from error
    if parts[1] != PROTOCOL:
        raise RuntimeError(f"Invalid protocol version: {parts[1]!r:.20}")
    if sum(sizes.values()) > size:
        raise pickle.UnpicklingError("the storages say more bytes than the file has")
    if type(parts[4]) is not list:
        raise pickle.UnpicklingError("the file's list of storages is damaged")
    storages, begin = {}, ends[4]
    for key in parts[4]:
        if type(key) is not str or key not in sizes or key in storages:
            raise pickle.UnpicklingError("the file's list of storages is damaged")
        storages[key] = begin + 8, sizes[key]
        begin += 8 + sizes[key]
        if begin > size:
            raise pickle.UnpicklingError(f"storage {key} is cut off")
    return _Outline(ends[2], storages, begin)


class _Storages:
    """The storages of a file, read when the pickle first names them."""

    def __init__(self, source: Source, outline: _Outline, map_location: Any) -> None:
        self._source, self._outline, self._map_location = source, outline, map_location
        self._by_key: dict[str, Any] = {}
        self._views: dict[str, UntypedStorage] = {}

    def find(self, description: Any) -> Any:
        """The storage, or the class with its source, that a pickle describes."""
        if type(description) is tuple and len(description) == 4 and description[0] == "module":
            _check_source(*description[1:])
            return description[1]
        if type(description) is not tuple or len(description) not in (5, 6) or description[0] != "storage":
            raise pickle.UnpicklingError("the pickle refers to something that is no storage")
        _, kind, key, location, count = description[:5]
        if type(kind) is not StorageType or type(key) is not str or type(count) is not int or count < 0:
            raise pickle.UnpicklingError("the pickle describes a storage by something else")
        if key not in self._by_key:
            self._by_key[key] = self._read(key, str(location), count, kind.dtype.itemsize)
        storage = self._by_key[key]
        if len(description) == 6 and description[5] is not None:
            storage = self._view(storage, kind.dtype.itemsize, description[5])
        return TypedStorage(wrap_storage=storage, dtype=kind.dtype)

    def _read(self, key: str, location: str, count: int, itemsize: int) -> Any:
        if key not in self._outline.storages:
            raise pickle.UnpicklingError("the file's list of storages is damaged")
        begin, nbytes = self._outline.storages[key]
        (stored,) = struct.unpack("<q", self._source.read_at(begin - 8, 8))
        if stored != count or nbytes != count * itemsize:
            raise pickle.UnpicklingError(f"storage {key} has two sizes")
        target = None if callable(self._map_location) else target_of(self._map_location, location)
        if target == "meta":
            return UntypedStorage(nbytes, device="meta")
        storage = UntypedStorage(nbytes)
        if nbytes:
            self._source.read_into(begin, bytes_of(storage))
        return relocate(storage, self._map_location, location)

    def _view(self, storage: UntypedStorage, itemsize: int, description: Any) -> UntypedStorage:
        """A part of a storage: its key, first element and number of elements."""
        is_view = type(description) is tuple and len(description) == 3 and type(description[0]) is str
        if not is_view or any(type(number) is not int for number in description[1:]):
            raise pickle.UnpicklingError("the pickle describes a part of a storage by something else")
        key, begin, count = description
        if begin < 0 or count < 0 or (begin + count) * itemsize > storage.nbytes():
            raise pickle.UnpicklingError(f"the part {key} of a storage reaches out of it")
        if key not in self._views:
            self._views[key] = storage[begin * itemsize : (begin + count) * itemsize]
        return self._views[key]


def _check_source(container: Any, file: Any, source: Any) -> None:
    """Warns of a class of the program whose source is no longer the one in the file."""
    if not isinstance(container, type) or own_module_of(container).partition(".")[0].startswith("tl"):
        return
    try:
        current = inspect.getsource(container)
    except (OSError, TypeError):
        return
    if source != current:
        warnings.warn(
            f"source code of class '{container.__module__}.{container.__qualname__}' has changed since {file} was "
            "saved with an object of it",
            SourceChangeWarning,
            stacklevel=2,
        )


def load(
    source: Source,
    map_location: Any,
    weights_only: bool,
    module: Any = pickle,
    arguments: Mapping[str, Any] | None = None,
) -> Any:
    """Reads such a file.

    Args:
        source: the file.
        map_location: where storages go: see `load`.
        weights_only: whether only tensors and plain data are allowed; else the file may run any code.
        module: the module whose `Unpickler` reads the pickles, if they may run code.
        arguments: what that `Unpickler` is given.

    Raises:
        pickle.UnpicklingError: the file is something else, damaged, or names what isn't allowed.
        RuntimeError: the file has another version.
        EOFError: nothing of the file is left to read.
    """
    if source.size == 0:
        raise EOFError(
            "the file is empty, or was read to its end already: seek(0) goes back to its beginning"
        )
    if _PICKLED_MAGIC not in source.read_at(0, min(source.size, 24)):
        if is_safetensors(source):
            raise pickle.UnpicklingError(
                "the file is one of safetensors: tl_checkpoint.safetensors.load_file reads it"
            )
        raise pickle.UnpicklingError(
            "the file is neither an archive nor one from before 2020; it may be damaged, or of another program"
        )
    data = source.read_at(0, min(source.size, _HEAD))
    try:
        outline = _outline(io.BytesIO(data), source.size)
    except CutOff:
        if source.size <= _HEAD:
            raise
        data = source.read_at(0, source.size)
        outline = _outline(io.BytesIO(data), source.size)
    storages = _Storages(source, outline, map_location)
    if weights_only:
        result = DataUnpickler(data, require_global, storages.find, outline.begin).load()
    else:
        result = unpickle(io.BytesIO(data[outline.begin :]), storages.find, module, arguments)
    source.leave_at(outline.end)
    return result


def load_from_bytes(b: bytes) -> Any:
    """A storage as PyTorch pickles it outside of archives: as a file of that time, within `pickle.dumps(tensor)`.

    Args:
        b: the file's bytes. They are read as data, whatever the pickle around them may do.

    Raises:
        pickle.UnpicklingError: the bytes are damaged, or want what isn't allowed.
    """
    source = ObjectSource(io.BytesIO(b))
    try:
        return load(source, None, weights_only=True)
    finally:
        source.close()
