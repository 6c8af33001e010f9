"""`save` and `load`: objects in files, read as data by default."""

from __future__ import annotations

import fnmatch
import io
import mmap as mmap_module
import os
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tl_core
from tl_core.base import recording

from . import config, legacy, legacy_writer, tar_file
from .archive_reader import ArchiveReader, is_archive
from .archive_writer import ArchiveWriter
from .atomic import ScratchFile, replacing
from .config import LoadEndianness
from .legacy import SourceChangeWarning
from .locations import location_tag, register_package, restore_location
from .object_unpickler import unpickle
from .pickler import pickle_object
from .safe_globals import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    known_global,
    require_global,
    safe_globals,
)
from .source import FileSource, MappedSource, ObjectSource, Source
from .storages import Storages, is_swapped
from .unpickler import DataUnpickler

__all__ = [
    "DEFAULT_PROTOCOL",
    "MAP_LOCATION",
    "LoadEndianness",
    "SourceChangeWarning",
    "add_safe_globals",
    "clear_safe_globals",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
]

DEFAULT_PROTOCOL = 2
MAP_LOCATION = (
    Callable[[Any, str], Any] | tl_core.device | str | dict[str, str] | None
)  # types of `load`'s argument `map_location`
_Path = str | os.PathLike[str]
_PICKLE_ARGUMENTS = ("fix_imports", "encoding", "errors", "buffers")


# ---- saving


def save(
    obj: Any,
    f: _Path | Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object to a file that PyTorch can also read.

    A file on disk is written atomically: the old file stays until the new one is complete. Only the range of a storage
    that the saved tensors use is written. Tensors that share memory share it again after loading.

    Args:
        obj (object): Any object that pickle supports; tensors, modules and optimizers in any containers.
        f (str, path, or object with `write`): The file.
        pickle_protocol (int): 2 to 5.
        pickle_module: must be `pickle`; another raises NotImplementedError.
        _use_new_zipfile_serialization (bool): False writes the format from before 2020, without checksums.
        _disable_byteorder_record (bool): Whether to omit the record of the byte order.

    Raises:
        OSError: If the file can't be written; the old file is unchanged.
        RuntimeError: If the folder of the file does not exist.
        NotImplementedError: For another pickle module.
        RuntimeError: If tensors of several types share memory, or within `skip_data`, in the format from before 2020.

    Example:
        >>> import io, tl_core
        >>> file = io.BytesIO()
        >>> save({"weight": tl_core.ones(2)}, file)
        >>> _ = file.seek(0)
        >>> load(file)
        {'weight': tensor([1., 1.])}
    """
    if pickle_module is not pickle:
        raise NotImplementedError(f"save() writes with pickle, not with {pickle_module.__name__!r}")
    if not _use_new_zipfile_serialization and config.save.skip_data:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    if not 2 <= pickle_protocol <= pickle.HIGHEST_PROTOCOL:
        raise ValueError(f"pickle_protocol must be 2 to {pickle.HIGHEST_PROTOCOL}, got {pickle_protocol}")
    with recording.EventRange("checkpoint.save"):
        data, storages = pickle_object(obj, pickle_protocol, legacy=not _use_new_zipfile_serialization)

        def write(output: Any, name: str) -> None:
            if _use_new_zipfile_serialization:
                _write_archive(output, name, data, storages, not _disable_byteorder_record)
            else:
                append = output.write if isinstance(output, ScratchFile) else output
                legacy_writer.write(append, data, storages, pickle_protocol)

        _save(write, f)


def _save(write: Callable[[Any, str], None], f: Any) -> None:
    """Calls `write` with the file and the name of its archive."""
    if isinstance(f, (str, os.PathLike)):
        name = os.path.splitext(os.path.basename(os.fspath(f)))[0] or "archive"
        _check_folder(os.path.dirname(os.fspath(f)))
        with replacing(f) as file:
            write(_output(file), name)
    elif hasattr(f, "write"):
        write(_output(f), "archive")
        if hasattr(f, "flush"):
            f.flush()
    else:
        raise AttributeError(
            f"expected 'f' to be string, path, or a file-like object with a 'write' attribute, got {type(f).__name__}"
        )


def _check_folder(folder: str) -> None:
    if folder and not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")


def _output(file: Any) -> Any:
    """The output of an archive: a scratch file, or a function that writes all of its argument."""
    if isinstance(file, ScratchFile):
        return file

    def write_all(data: Any) -> None:
        left = memoryview(data).cast("B")
        while left.nbytes:
            count = file.write(left)  # an unbuffered file may write less
            left = left[count:] if isinstance(count, int) and count > 0 else left[:0]

    return write_all


def _write_archive(output: Any, name: str, data: bytes, storages: list[Any], byteorder: bool) -> None:
    settings = config.save
    archive = ArchiveWriter(output, name, settings.storage_alignment, settings.compute_crc32)
    archive.add("data.pkl", data)
    archive.add(".format_version", b"1")
    archive.add(".storage_alignment", str(settings.storage_alignment).encode())
    if byteorder:
        archive.add("byteorder", sys.byteorder.encode())
    for storage in storages:
        content = storage.data()
        archive.add(f"data/{storage.key}", bytes(len(content)) if settings.skip_data else content)
    archive.add("version", b"3\n")
    archive.close()


# ---- loading


def load(
    f: _Path | Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    keys: str | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read a file of `save`, tl's or PyTorch's.

    The file is read as data: nothing in it is executed, and unknown globals raise an error with their names.

    Args:
        f (str, path, or object with `read`): The file.
        map_location (device, str, dict or callable, optional): Device of storages: one device, a device for each tag,
            or a function of a storage and its tag.
        weights_only (bool, optional): False reads with pickle, which executes code of the file: only for files that
            you trust.
        mmap (bool, optional): Whether tensors are views of the mapped file; `f` must be a path. Writes to them stay in
            memory; after `set_default_mmap_options(mmap.MAP_SHARED)` they reach the file. Checksums aren't compared;
            use `python -m tl_checkpoint verify`. The file must not be truncated meanwhile.
        keys (str, optional): A pattern such as "enc.*": of a dict of tensors only the matching entries are read.
        pickle_module: a module with an `Unpickler`, which runs code of the file; only with `weights_only=False`.
        pickle_load_args: for the `Unpickler` of `pickle_module`. Otherwise arguments of pickle's have no effect, and
            other names raise TypeError.

    Raises:
        pickle.UnpicklingError: If the file has a global that isn't allowed, or its pickle is damaged.
        RuntimeError: If the file is no archive, is truncated, or a checksum is wrong.
        ValueError: If the file has an unknown byte order.
        TypeError: For an unknown keyword argument.

    Example:
        >>> import tl_core
        >>> import io
        >>> file = io.BytesIO()
        >>> save({"weight": tl_core.ones(2)}, file)
        >>> _ = file.seek(0)
        >>> load(file)["weight"]
        tensor([1., 1.])
    """
    weights_only = _weights_only(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise RuntimeError(
            "Can not safely load weights when explicit pickle_module is specified. If you trust the source of the "
            "checkpoint, pass weights_only=False."
        )
    if weights_only:
        _check_pickle_arguments(pickle_load_args)
    source = _source(f, config.load.mmap if mmap is None else mmap)
    try:
        if not is_archive(source):
            read = tar_file.load if tar_file.is_tar(source) else legacy.load
            return read(source, map_location, weights_only, pickle_module or pickle, pickle_load_args)
        return read_archive(source, map_location, weights_only, pickle_module, keys, pickle_load_args)
    finally:
        source.close()


def _check_pickle_arguments(arguments: dict[str, Any]) -> None:
    for name in arguments:
        if name not in _PICKLE_ARGUMENTS:
            raise TypeError(f"load() got an unexpected keyword argument {name!r}")


def _weights_only(value: bool | None, pickle_module: Any) -> bool:
    force = os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0") == "1"
    never = os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0") == "1"
    if force and never:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but both "
            "were set."
        )
    if force:
        return True
    if value is None:
        if never:
            warnings.warn(
                "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the`weights_only` argument was "
                "not explicitly passed to `torch.load`, forcing weights_only=False.",
                UserWarning,
                stacklevel=3,
            )
            return False
        return pickle_module is None
    return value


def _source(f: Any, mapped: bool) -> Source:
    if isinstance(f, (str, os.PathLike)):
        if mapped:
            return MappedSource(f, config.load.mmap_flags or mmap_module.MAP_PRIVATE)
        return FileSource(f)
    if mapped:
        raise ValueError("f must be a string filename in order to use mmap argument")
    if not hasattr(f, "read"):
        raise AttributeError(
            f"expected 'f' to be string, path, or a file-like object with a 'read' attribute, got {type(f).__name__}"
        )
    return ObjectSource(f)


def read_archive(
    source: Source,
    map_location: Any,
    weights_only: bool,
    pickle_module: Any,
    keys: str | None,
    pickle_load_args: dict[str, Any],
) -> Any:
    """The object in an archive.

    Args:
        source: the bytes of the archive.
        map_location: device of storages, as in `load`.
        weights_only: whether only tensors and plain data are allowed.
        pickle_module: a module with an `Unpickler`, for `weights_only=False`.
        keys: a pattern of the entries to read; None for all.
        pickle_load_args: keyword arguments of the unpickler.

    Raises:
        RuntimeError: the archive is a program, truncated or inconsistent.
    """
    reader = ArchiveReader(source)
    reader.refuse_program()
    mapped = source if isinstance(source, MappedSource) else None
    swapped = is_swapped(_byteorder(reader))
    data = reader.read("data.pkl")

    def read(storage_keys: set[str] | None) -> tuple[Any, Storages]:
        storages = Storages(reader, map_location, mapped, swapped, config.load.skip_data, storage_keys)
        if weights_only:
            return _read_data(data, storages), storages
        return unpickle(io.BytesIO(data), storages.find, pickle_module or pickle, pickle_load_args), storages

    if keys is None:
        return read(None)[0]
    outline, storages = read(set())
    storage_keys = storages.keys_of(_tensors(_matching(outline, keys)))
    return _matching(read(storage_keys)[0], keys)


def _byteorder(reader: ArchiveReader) -> str:
    if "byteorder" in reader:
        order = reader.read("byteorder").decode("ascii", "replace")
        if order not in ("little", "big"):
            raise ValueError(f"Unknown endianness type: {order[:20]!r}")
        return order
    endianness = config.load.endianness
    if endianness is LoadEndianness.BIG:
        return "big"
    return "little" if endianness is LoadEndianness.LITTLE else sys.byteorder


def _read_data(data: bytes, storages: Any) -> Any:
    try:
        return DataUnpickler(data, require_global, storages.find).load()
    except pickle.UnpicklingError as error:
        raise pickle.UnpicklingError(f"Weights only load failed. {error}") from error


def _matching(obj: Any, pattern: str) -> Any:
    if not isinstance(obj, dict):
        raise TypeError(
            f"load(keys={pattern!r}) needs a file that holds a dict, this one holds {type(obj).__name__}"
        )
    entries = {key: value for key, value in obj.items() if fnmatch.fnmatchcase(str(key), pattern)}
    if not entries:
        raise KeyError(f"no key of the file matches {pattern!r}; it has {', '.join(map(str, [*obj][:5]))} …")
    return type(obj)(entries)


def _tensors(obj: Any) -> Iterator[Any]:
    """The tensors in an object, at any depth; each part is visited once."""
    waiting, visited = [obj], set()
    while waiting:
        part = waiting.pop()
        if id(part) in visited:
            continue
        visited.add(id(part))
        if isinstance(part, tl_core.Tensor):
            yield part
        elif isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, (list, tuple, set, frozenset)):
            waiting.extend(part)
        if hasattr(part, "__dict__"):
            waiting.extend(vars(part).values())


# ---- globals of a file


def get_unsafe_globals_in_checkpoint(f: _Path | Any) -> list[str]:
    """The full names of the classes and functions in a file that aren't allowed while it is read as data.

    Example:
        >>> import tl_core
        >>> from tl_checkpoint import serialization
        >>> import io
        >>> file = io.BytesIO()
        >>> serialization.save({"weight": tl_core.ones(2)}, file)
        >>> _ = file.seek(0)
        >>> serialization.get_unsafe_globals_in_checkpoint(file)
        []
    """
    import pickletools

    source = _source(f, False)
    try:
        data = ArchiveReader(source).read("data.pkl")
    finally:
        source.close()
    names: list[str] = []
    texts: list[str] = []
    for opcode, argument, _ in pickletools.genops(data):
        if "UNICODE" in opcode.name:
            texts.append(str(argument))
        elif opcode.name == "GLOBAL":
            names.append(str(argument).replace(" ", "."))
        elif opcode.name == "STACK_GLOBAL" and len(texts) >= 2:
            names.append(".".join(texts[-2:]))
    unsafe = [full for full in names if known_global(*full.rsplit(".", 1)) is None]
    return list(dict.fromkeys(unsafe))


# ---- settings


def get_crc32_options() -> bool:
    """Whether `save` writes the CRC-32 of each record.

    Example:
        >>> from tl_checkpoint import serialization
        >>> serialization.get_crc32_options()
        True
    """
    return config.save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Set whether `save` writes the CRC-32 of each record.

    Example:
        >>> from tl_checkpoint import serialization
        >>> serialization.set_crc32_options(True)
    """
    config.save.compute_crc32 = compute_crc32


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order of files without a record of it; None for this machine's.

    Example:
        >>> from tl_checkpoint import serialization
        >>> serialization.get_default_load_endianness()
    """
    return config.load.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order of files without a record of it.

    Example:
        >>> from tl_checkpoint import serialization
        >>> serialization.set_default_load_endianness(None)
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError(f"Invalid argument type in function set_default_load_endianness: {type(endianness)}")
    config.load.endianness = endianness


def get_default_mmap_options() -> int | None:
    """The flags with which `load(mmap=True)` maps files.

    Example:
        >>> from tl_checkpoint import serialization
        >>> serialization.get_default_mmap_options() > 0
        True
    """
    return config.load.mmap_flags


class set_default_mmap_options:
    """Set the flags of `load(mmap=True)`: `mmap.MAP_PRIVATE` or `mmap.MAP_SHARED`; also for a `with` block.

    >>> import mmap
    >>> with set_default_mmap_options(mmap.MAP_SHARED):
    ...     get_default_mmap_options() == mmap.MAP_SHARED
    True
    """

    def __init__(self, flags: int) -> None:
        if flags not in (mmap_module.MAP_PRIVATE, mmap_module.MAP_SHARED):
            raise ValueError(
                f"Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or "
                f"mmap.MAP_SHARED, but got {flags}"
            )
        self.prev, config.load.mmap_flags = config.load.mmap_flags, flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        config.load.mmap_flags = self.prev


class skip_data:
    """A `with` block in which storages are saved as zeros of their size, and loaded without their bytes.

    >>> import io, tl_core
    >>> file = io.BytesIO()
    >>> with skip_data():
    ...     save(tl_core.ones(2), file)
    >>> _ = file.seek(0)
    >>> load(file)
    tensor([0., 0.])
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._before = config.save.skip_data, config.load.skip_data
        config.save.skip_data = config.load.skip_data = True

    def __exit__(self, *error: object) -> None:
        config.save.skip_data, config.load.skip_data = self._before


# Names that other libraries use.
default_restore_location = restore_location


def _is_path(name_or_buffer: Any) -> bool:
    return isinstance(name_or_buffer, (str, os.PathLike))


@contextmanager
def _open_file_like(name_or_buffer: Any, mode: str) -> Iterator[Any]:
    """An open file for a name, closed at the end; a file object stays open and is flushed after writing."""
    if _is_path(name_or_buffer):
        with open(name_or_buffer, mode) as file:
            yield file
        return
    if "w" not in mode and "r" not in mode:
        raise RuntimeError(f"Expected 'r' or 'w' in mode but got {mode}")
    yield name_or_buffer
    if "w" in mode:
        name_or_buffer.flush()


def _is_zipfile(f: Any) -> bool:
    """Whether a ZIP archive follows in a file; the position of the file is unchanged."""
    start = f.tell()
    signature = f.read(4)
    f.seek(start)
    return bytes(signature) == b"PK\x03\x04"
