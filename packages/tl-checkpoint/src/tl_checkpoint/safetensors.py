"""Reader and writer of the safetensors format: a header in JSON, then the tensors' bytes in sequence.

Format: https://github.com/huggingface/safetensors. tl also writes checksums into the header's metadata, which other
readers ignore, and compares them when it reads the file.
"""

from __future__ import annotations

import fnmatch
import io
import json
import os
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import tl_core
from tl_core.memory.files import crc32
from tl_core.memory.mapped_memory import tensor_on_buffer

from .atomic import replacing
from .source import FileSource, MappedSource, ObjectSource, Source

__all__ = [
    "Entry",
    "Header",
    "Index",
    "is_safetensors",
    "load",
    "load_file",
    "read_header",
    "read_index",
    "read_tensor",
    "save",
    "save_file",
]

_LONGEST_HEADER = 100_000_000
_CHECKSUMS, _SEAL, _PARTS = "tl.checksums", "tl.header", "tl.parts"
_NAMES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "U16": "uint16", "F16": "float16", "BF16": "bfloat16",
    "I32": "int32", "U32": "uint32", "F32": "float32", "F64": "float64", "I64": "int64", "U64": "uint64",
    "C64": "complex64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz", "F4": "float4_e2m1fn_x2",
}  # fmt: skip
_DTYPES = {name: getattr(tl_core, dtype) for name, dtype in _NAMES.items()}
_NAME_OF = {dtype: name for name, dtype in _DTYPES.items()}
_UNKNOWN = re.compile(r"F6_\w+")
_PACKED = (
    "F4"  # two numbers a byte, which is an element here; files count the numbers along the last dimension
)
_SIZE = re.compile(r"(\d+)\s*([KMGT]?)(i?)B", re.IGNORECASE)


@dataclass(frozen=True)
class Entry:
    """A tensor in a file: its type, shape and extent, and the CRC-32 of its bytes if the file has one.

    Args:
        name: name of the tensor.
        dtype: element type.
        shape: sizes by dimension.
        begin: the first byte in the file.
        end: the byte behind the last one.
        crc: the CRC-32 of the bytes, or None.

    Example:
        >>> import tl_core
        >>> Entry("weight", tl_core.float32, (2,), 0, 8).shape
        (2,)
    """

    name: str
    dtype: Any
    shape: tuple[int, ...]
    begin: int
    end: int
    crc: int | None = None


@dataclass(frozen=True)
class Header:
    """The header of a file: its tensors by name, the metadata of its writer, and its CRC-32.

    Args:
        entries: entries of the tensors, by name.
        metadata: texts by name, from the writer.
        crc: CRC-32 of the header.

    Example:
        >>> Header({}, {"step": "3"}, None).metadata
        {'step': '3'}
    """

    entries: dict[str, Entry]
    metadata: dict[str, str]
    crc: int


# ---- writing


def save(
    tensors: Mapping[str, Any], metadata: Mapping[str, str] | None = None, *, checksums: bool = True
) -> bytes:
    """The bytes of a file with these tensors.

    Args:
        tensors: tensors by name.
        metadata: texts by name for the header; None for none.
        checksums: whether to write the CRC-32 of each tensor.

    >>> import tl_core
    >>> load(save({"weight": tl_core.ones(2)}))
    {'weight': tensor([1., 1.])}
    """
    file = io.BytesIO()
    _write(file, tensors, metadata, checksums)
    return file.getvalue()


def save_file(
    tensors: Mapping[str, Any],
    filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
    *,
    checksums: bool = True,
    max_shard_size: int | str | None = None,
) -> None:
    """Write tensors to a file, atomically.

    Args:
        tensors (dict of str to Tensor): Each is written whole, in row-major order; shared memory is duplicated in the
            file.
        filename (path): The file, usually `*.safetensors`.
        metadata (dict of str to str, optional): Texts by name for the header.
        checksums (bool): Whether to write the CRC-32 of each tensor.
        max_shard_size (int or str, optional): Maximum bytes ("5GB") of tensors per file. Larger sets are split into
            `name-00001-of-00003.safetensors` and so on. `name.safetensors.index.json`, written last, maps tensors
            to files. A tensor is never split.

    Raises:
        TypeError: If a name is no text, a value no tensor, or its type isn't one that the format has.
        OSError: If the file can't be written; the old file is unchanged.

    Example:
        >>> import tl_core
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "weights.safetensors")
        ...     save_file({"weight": tl_core.ones(2)}, file, metadata={"step": "3"})
        ...     load_file(file)["weight"]
        ...
        tensor([1., 1.])
    """
    parts = _shards(tensors, _bytes_in(max_shard_size)) if max_shard_size is not None else [dict(tensors)]
    if len(parts) == 1:
        with replacing(filename) as file:
            _write(file, parts[0], metadata, checksums)
        return
    stem = os.fspath(filename).removesuffix(".safetensors")
    weight_map: dict[str, str] = {}
    seals: dict[str, int] = {}
    for i, part in enumerate(parts, 1):
        path = f"{stem}-{i:05d}-of-{len(parts):05d}.safetensors"
        with replacing(path) as file:
            seals[os.path.basename(path)] = _write(file, part, metadata, checksums)
        weight_map |= dict.fromkeys(part, os.path.basename(path))
    notes = {"total_size": sum(map(_nbytes, tensors.values())), _PARTS: seals}
    index = {"metadata": notes, "weight_map": weight_map}
    with replacing(f"{stem}.safetensors.index.json") as file:
        file.write(json.dumps(index, indent=2).encode())


def _nbytes(tensor: Any) -> int:
    return tensor.numel() * tensor.itemsize


def _bytes_in(size: int | str) -> int:
    if isinstance(size, int):
        return size
    match = _SIZE.fullmatch(size)
    if not match:
        raise ValueError(f"max_shard_size must be a number of bytes such as '5GB' or '500MiB', got {size!r}")
    base = 1024 if match[3] else 1000
    return int(match[1]) * base ** " KMGT".index(match[2].upper() or " ")


def _shards(tensors: Mapping[str, Any], limit: int) -> list[dict[str, Any]]:
    shards: list[dict[str, Any]] = [{}]
    filled = 0
    for name, tensor in tensors.items():
        if shards[-1] and filled + _nbytes(tensor) > limit:
            shards.append({})
            filled = 0
        shards[-1][name] = tensor
        filled += _nbytes(tensor)
    return shards


def _write(file: Any, tensors: Mapping[str, Any], metadata: Mapping[str, str] | None, checksums: bool) -> int:
    """Writes a file; returns the CRC-32 of its header."""
    plain = {name: _plain(name, tensor) for name, tensor in tensors.items()}
    order = sorted(plain, key=lambda name: (-plain[name].itemsize, name))  # so that every tensor is aligned
    contents = {name: _content(plain[name]) for name in order}
    head, at = {}, 0
    for name in order:
        end = at + len(contents[name])
        t = plain[name]
        head[name] = {"dtype": _NAME_OF[t.dtype], "shape": _written_shape(t), "data_offsets": [at, end]}
        at = end
    notes = _checked_metadata(metadata)
    if checksums:
        crcs = {name: crc32(content) for name, content in contents.items()}
        notes[_CHECKSUMS] = json.dumps(crcs, separators=(",", ":"))
        notes[_SEAL] = f"{_seal(head, notes):08x}"
    text = json.dumps({"__metadata__": notes, **head} if notes else head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(struct.pack("<Q", len(text)) + text)
    for content in contents.values():
        file.write(content)
    return crc32(text)


def _plain(name: Any, tensor: Any) -> Any:
    if type(name) is not str or name == "__metadata__":
        raise TypeError(f"a tensor's name must be a text other than '__metadata__', got {name!r}")
    if not isinstance(tensor, tl_core.Tensor):
        raise TypeError(f"{name!r} must be a tensor, got {type(tensor).__name__}")
    if tensor.dtype not in _NAME_OF:
        raise TypeError(f"{name!r} is of {tensor.dtype}, which safetensors doesn't have")
    return tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()


def _content(tensor: Any) -> memoryview:
    """The bytes of a tensor without gaps."""
    return memoryview(tensor.view(-1).view(tl_core.uint8)) if tensor.numel() else memoryview(b"")


def _checked_metadata(metadata: Mapping[str, str] | None) -> dict[str, str]:
    for name, value in (metadata or {}).items():
        if type(name) is not str or type(value) is not str:
            raise TypeError(f"metadata must be texts by name, got {name!r}: {value!r}")
    return dict(metadata or {})


def _seal(head: Mapping[str, Any], notes: Mapping[str, str]) -> int:
    """The checksum of a header without the seal itself."""
    texts = {name: text for name, text in notes.items() if name != _SEAL}
    return crc32(json.dumps([head, texts], sort_keys=True, separators=(",", ":")).encode())


# ---- reading


def is_safetensors(source: Source) -> bool:
    """Whether a file has the begin of this format."""
    if source.size < 10:
        return False
    (length,) = struct.unpack("<Q", source.read_at(0, 8))
    return length <= min(_LONGEST_HEADER, source.size - 8) and source.read_at(8, 1) == b"{"


def read_header(source: Source) -> Header:
    """The header of a file, after a check of all its fields.

    Raises:
        RuntimeError: If it is truncated or damaged, tensors overlap or leave gaps, sizes don't agree, or a type is
            one that tl lacks.
    """
    if source.size < 8:
        raise _broken("it has no header")
    (length,) = struct.unpack("<Q", source.read_at(0, 8))
    if length > min(_LONGEST_HEADER, source.size - 8):
        raise _broken(f"its header is said to have {length} bytes, the file has {source.size}")
    text = source.read_at(8, length)
    if text[:1] != b"{":
        raise _broken("its header doesn't begin with '{'")
    try:
        head = json.loads(text.decode("utf-8"), object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError) as error:
        raise _broken(f"its header is no JSON: {error}") from None
    notes = _notes(head.pop("__metadata__", {}))
    crcs = _checksums(head, notes)
    entries = {
        name: _entry(name, description, 8 + length, crcs.get(name)) for name, description in head.items()
    }
    _check_offsets(entries.values(), 8 + length, source.size)
    metadata = {name: note for name, note in notes.items() if name not in (_CHECKSUMS, _SEAL)}
    return Header(entries, metadata, crc32(text))


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError("a name stands in it twice")
    return mapping


def _notes(notes: Any) -> dict[str, str]:
    if type(notes) is not dict or not all(type(value) is str for value in notes.values()):
        raise _broken("its metadata must be texts by name")
    return notes


def _checksums(head: dict[str, Any], notes: dict[str, str]) -> dict[str, int]:
    if (_CHECKSUMS in notes) != (_SEAL in notes):
        raise _broken("its checksums are damaged")
    if _CHECKSUMS not in notes:
        return {}  # another program wrote it
    if f"{_seal(head, notes):08x}" != notes[_SEAL]:
        raise _broken("its header isn't the one that was written")
    crcs: dict[str, int] = json.loads(notes[_CHECKSUMS])
    return crcs


def _written_shape(t: Any) -> list[int]:
    if _NAME_OF[t.dtype] != _PACKED or not t.dim():
        return list(t.shape)
    return [*t.shape[:-1], 2 * t.shape[-1]]


def _read_shape(name: str, shape: list[int]) -> list[int]:
    if not shape or shape[-1] % 2:
        raise _broken(
            f"{name!r} is of 4-bit numbers, which are read in pairs: its last dimension must be even"
        )
    return [*shape[:-1], shape[-1] // 2]


def _entry(name: str, description: Any, start: int, crc: int | None) -> Entry:
    if type(description) is not dict or set(description) != {"dtype", "shape", "data_offsets"}:
        raise _broken(f"{name!r} must have dtype, shape and data_offsets")
    kind, shape, offsets = description["dtype"], description["shape"], description["data_offsets"]
    if type(kind) is not str or kind not in _DTYPES:
        absent = type(kind) is str and _UNKNOWN.fullmatch(kind)
        raise _broken(f"{name!r} is of {kind!r:.40}, {'which tl lacks' if absent else 'which is no type'}")
    if (
        type(shape) is not list
        or not all(type(n) is int and 0 <= n < 2**63 for n in shape)
        or len(shape) > 64
    ):
        raise _broken(f"the shape of {name!r} must be whole numbers")
    if type(offsets) is not list or len(offsets) != 2 or not all(type(n) is int and n >= 0 for n in offsets):
        raise _broken(f"the offsets of {name!r} must be two whole numbers")
    if kind == _PACKED:
        shape = _read_shape(name, shape)
    count = 1
    for n in shape:
        count *= n
    begin, end = offsets
    if end - begin != count * _DTYPES[kind].itemsize:
        raise _broken(f"{name!r} has {end - begin} bytes, its shape needs {count * _DTYPES[kind].itemsize}")
    return Entry(name, _DTYPES[kind], tuple(shape), start + begin, start + end, crc)


def _check_offsets(entries: Iterable[Entry], start: int, size: int) -> None:
    at = start
    for entry in sorted(entries, key=lambda e: (e.begin, e.end)):
        if entry.begin != at:
            raise _broken(
                f"{entry.name!r} {'lies on another' if entry.begin < at else 'stands behind a gap'}"
            )
        at = entry.end
    if at != size:
        raise _broken(f"its tensors end at byte {at}, the file at {size}")


def _broken(why: str) -> RuntimeError:
    return RuntimeError(f"the safetensors file can't be read: {why}")


def load(data: bytes, device: Any = "cpu") -> dict[str, Any]:
    """The tensors of a file's bytes.

    Example:
        >>> import tl_core
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "weights.safetensors")
        ...     save_file({"weight": tl_core.ones(2)}, file)
        ...     load(file.read_bytes())
        ...
        {'weight': tensor([1., 1.])}
    """
    return _tensors(ObjectSource(io.BytesIO(data)), device, None)


def load_file(
    filename: str | os.PathLike[str], device: Any = "cpu", *, keys: str | None = None, mmap: bool = False
) -> dict[str, Any]:
    """The tensors of a file, or of all files that an index (`*.index.json`) names.

    Args:
        filename (path): The file, or an index.
        device (device): Device of the tensors.
        keys (str, optional): A pattern such as "enc.*": only the tensors whose names match are read.
        mmap (bool): Whether tensors are views of the mapped file. Writes to them stay in memory; checksums aren't
            compared.

    Raises:
        RuntimeError: If a file is damaged or inconsistent, or a checksum is wrong.
        KeyError: If no name matches.

    Example:
        >>> import tl_core
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "weights.safetensors")
        ...     save_file({"weight": tl_core.ones(2)}, file)
        ...     load_file(file)
        ...
        {'weight': tensor([1., 1.])}
    """
    if os.fspath(filename).endswith(".json"):
        tensors = _load_index(os.fspath(filename), device, keys, mmap)
    else:
        source = MappedSource(filename) if mmap else FileSource(filename)
        try:
            tensors = _tensors(source, device, keys)
        finally:
            source.close()
    if keys is not None and not tensors:
        raise KeyError(f"no tensor of the file matches {keys!r}")
    return tensors


@dataclass(frozen=True)
class Index:
    """The file of each tensor, and the CRC-32 of the files' headers if the index has them.

    Example:
        >>> Index({"weight": "model-00001.safetensors"}, {}).weight_map["weight"]
        'model-00001.safetensors'
    """

    weight_map: dict[str, str]
    seals: dict[str, int]


def _load_index(filename: str, device: Any, keys: str | None, mmap: bool) -> dict[str, Any]:
    index = read_index(filename)
    selection = {
        name: part
        for name, part in index.weight_map.items()
        if keys is None or fnmatch.fnmatchcase(name, keys)
    }
    tensors: dict[str, Any] = {}
    for part in dict.fromkeys(selection.values()):
        path = os.path.join(os.path.dirname(filename), part)
        source = MappedSource(path) if mmap else FileSource(path)
        try:
            header = read_header(source)
            if header.crc != index.seals.get(part, header.crc):
                raise RuntimeError(f"{part!r} isn't the file that its index was written for")
            mine = [e for e in header.entries.values() if selection.get(e.name) == part]
            tensors |= {entry.name: read_tensor(source, entry).to(device) for entry in mine}
        finally:
            source.close()
    missing = [name for name in selection if name not in tensors]
    if missing:
        raise RuntimeError(f"the index names tensors that its files don't have: {', '.join(missing[:5])}")
    return {name: tensors[name] for name in selection}


def read_index(filename: str) -> Index:
    """An index; its files are in the same folder.

    Raises RuntimeError if it is damaged, or names a file elsewhere.

    Example:
        >>> read_index("model.safetensors.index.json").weight_map  # doctest: +SKIP
    """
    name = os.path.basename(filename)
    with open(filename, "rb") as file:
        text = file.read(_LONGEST_HEADER + 1)
    try:
        content = json.loads(text.decode("utf-8"), object_pairs_hook=_without_repetition)
        weight_map, seals = content["weight_map"], (content.get("metadata") or {}).get(_PARTS, {})
        good = all(type(part) is str for part in weight_map.values())
        good = good and all(type(seal) is int for seal in seals.values())
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise RuntimeError(f"the index {name!r} is damaged: {error}") from None
    if not good:
        raise RuntimeError(f"the index {name!r} is damaged: weight_map must name files")
    for part in weight_map.values():
        if part in ("", ".", "..") or "/" in part or "\\" in part or "\0" in part:
            raise RuntimeError(f"the index names {part!r}, which is no file beside it")
    return Index(weight_map, seals)


def _tensors(source: Source, device: Any, keys: str | None) -> dict[str, Any]:
    entries = read_header(source).entries.values()
    return {
        entry.name: read_tensor(source, entry).to(device)
        for entry in entries
        if keys is None or fnmatch.fnmatchcase(entry.name, keys)
    }


def read_tensor(source: Source, entry: Entry) -> Any:
    """A tensor of a file; raises RuntimeError if its checksum is wrong."""
    if entry.begin == entry.end:
        return tl_core.empty(entry.shape, dtype=entry.dtype)
    if isinstance(source, MappedSource) and entry.begin % entry.dtype.itemsize == 0:
        flat = tensor_on_buffer(source.view[entry.begin : entry.end])
    else:
        flat = tl_core.empty(entry.end - entry.begin, dtype=tl_core.uint8)
        crc = source.read_checked(entry.begin, memoryview(flat))
        if entry.crc is not None and crc != entry.crc:
            raise RuntimeError(
                f"tensor {entry.name!r} is damaged: its CRC-32 is {crc:08x}, {entry.crc:08x} was written"
            )
    if entry.dtype is tl_core.bool and bool((flat > 1).any()):
        raise _broken(f"{entry.name!r} is of booleans, and has bytes other than 0 and 1")
    return flat.view(entry.dtype).view(entry.shape)
