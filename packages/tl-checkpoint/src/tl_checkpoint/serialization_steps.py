"""The steps of `save` and `load` under the names that programs call one by one: archives, locations, kinds of files."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tl_core

from . import legacy
from .archive_files import PyTorchFileReader, PyTorchFileWriter
from .locations import relocate
from .serialization import read_archive
from .source import ObjectSource

__all__: list[str] = []

MAGIC_NUMBER, PROTOCOL_VERSION = legacy.MAGIC, legacy.PROTOCOL
STORAGE_KEY_SEPARATOR = ","
_COMPRESSED = "gzip"


# ---- whole objects
def _load(
    zip_file: PyTorchFileReader,
    map_location: Any,
    pickle_module: Any,
    pickle_file: str = "data.pkl",
    overall_storage: Any = None,
    **pickle_load_args: Any,
) -> Any:
    """The object in an archive that is open; the pickle may run what it says.

    Args:
        zip_file: the archive.
        map_location: where storages go, as `load` takes it.
        pickle_module: reads the pickle.
        pickle_file: the record with the pickle: `data.pkl`.
        overall_storage: None; storages are read from the archive.
        **pickle_load_args: for the unpickler.

    Raises:
        NotImplementedError: for another record, or with storages that are read already.
    """
    if pickle_file != "data.pkl" or overall_storage is not None:
        raise NotImplementedError(f"_load reads data.pkl with the archive's own storages, not {pickle_file}")
    return read_archive(zip_file.source, map_location, False, pickle_module or pickle, None, pickle_load_args)


def _legacy_load(f: Any, map_location: Any, pickle_module: Any, **pickle_load_args: Any) -> Any:
    """The object in a file from before 2020; the pickle may run what it says."""
    source = ObjectSource(f)
    try:
        return legacy.load(source, map_location, False, pickle_module or pickle, pickle_load_args)
    finally:
        source.close()


# ---- archives
@contextmanager
def _open_zipfile_reader(name_or_buffer: Any) -> Iterator[PyTorchFileReader]:
    """An archive's records, for a while."""
    reader = PyTorchFileReader(name_or_buffer)
    try:
        yield reader
    finally:
        reader.source.close()


@contextmanager
def _open_zipfile_writer(name_or_buffer: Any) -> Iterator[PyTorchFileWriter]:
    """An archive that is written meanwhile and ends afterwards.

    Raises:
        AttributeError: for an object that has no `write`.
    """
    with PyTorchFileWriter(name_or_buffer) as writer:
        yield writer


def _is_torchscript_zip(zip_file: PyTorchFileReader) -> bool:
    """Whether an archive holds a program."""
    return "constants.pkl" in zip_file.get_all_records()


# ---- places
def _get_restore_location(map_location: Any) -> Callable[[Any, str], Any]:
    """The function that puts a storage where `map_location`, as `load` takes it, wants those with a tag."""
    return lambda storage, location: relocate(storage, map_location, location)


def _cpu_tag(obj: Any) -> str | None:
    """The tag of a storage on the CPU; None of others."""
    return "cpu" if obj.device.type == "cpu" else None


def _meta_tag(obj: Any) -> str | None:
    """The tag of a storage without memory; None of others."""
    return "meta" if obj.device.type == "meta" else None


def _cpu_deserialize(obj: Any, location: str) -> Any:
    """The storage, if the tag is the CPU's; else None."""
    return obj if location == "cpu" else None


def _meta_deserialize(obj: Any, location: str) -> Any:
    """A storage of the same size without memory, if the tag is that; else None."""
    return tl_core.UntypedStorage(obj.nbytes(), device="meta") if location == "meta" else None


# ---- kinds of files and types
def _maybe_decode_ascii(bytes_str: bytes | str) -> str:
    """Text, decoded if it is bytes, as pickles of Python 2 have it."""
    return bytes_str.decode("ascii") if isinstance(bytes_str, bytes) else bytes_str


def _is_compressed_file(f: Any) -> bool:
    """Whether a file object decompresses what it reads."""
    return getattr(f, "__module__", None) == _COMPRESSED


def _should_read_directly(f: Any) -> bool:
    """Whether a file object has a descriptor whose bytes are those that it reads."""
    if _is_compressed_file(f):
        return False
    try:
        return bool(f.fileno() >= 0)
    except (io.UnsupportedOperation, AttributeError):
        return False


def _check_seekable(f: Any) -> bool:
    """True of a file object that can be read anywhere.

    Raises:
        AttributeError: for others.
    """
    for name in ("seek", "tell"):
        if not hasattr(f, name):
            raise AttributeError(
                f"{type(f).__name__!r} object has no attribute {name!r}. You can only torch.load from a file that is "
                "seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
            )
    f.seek(f.tell())
    return True


def _check_save_filelike(f: Any) -> None:
    """Refuses, with AttributeError, what is neither a path nor has `write`."""
    if not isinstance(f, str | os.PathLike) and not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute, "
            f"got {type(f).__name__}"
        )


def storage_to_tensor_type(storage: Any) -> Any:
    """The class of tensors, of the older kind, whose elements a typed storage holds."""
    return getattr(tl_core, type(storage).__name__.replace("Storage", "Tensor"))


def normalize_storage_type(storage_type: Any) -> Any:
    """The class of storages that a class of this name means."""
    return getattr(tl_core, storage_type.__name__)
