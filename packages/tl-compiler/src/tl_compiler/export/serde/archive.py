"""The ZIP files of `.pt2`: which records there are, and the bytes of tensors."""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import zipfile
from typing import Any

import tl_core
import tl_nn
from tl_core.memory.whole_files import replacing

from ..verifier import SpecViolationError
from .codes import DTYPES, FileRefused
from .reader import Reader, sizes_of_meta
from .writer import program_as_json, tensor_meta

__all__ = ["load_program", "save_program"]

_ROOT = "archive"
_MODEL = "models/model.json"
_WEIGHTS = ("data/weights/", "model_weights_config.json", "weight_")
_CONSTANTS = ("data/constants/", "model_constants_config.json", "tensor_")
_LONGEST_JSON = 1 << 30
_MOST_RECORDS = 1_000_000


# ---- writing
class _Writer:
    def __init__(self, file: Any) -> None:
        self.zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self.digest = hashlib.sha256()

    def record(self, name: str, data: Any) -> None:
        """Adds a record, whose bytes begin at a multiple of 64."""
        info = zipfile.ZipInfo(f"{_ROOT}/{name}", (1980, 1, 1, 0, 0, 0))
        start = self.zip.fp.tell() + 30 + len(info.filename.encode())  # type: ignore[union-attr]
        pad = (-(start + 4)) % 64
        info.extra = b"FB" + pad.to_bytes(2, "little") + b"Z" * pad
        self.zip.writestr(info, data)
        self.digest.update(name.encode())

    def tensors(self, tensors: dict[str, Any], where: tuple[str, str, str]) -> None:
        """Adds tensors: their storages, and what is said of each."""
        folder, config_name, prefix = where
        config: dict[str, Any] = {}
        paths: dict[int, str] = {}
        for name, t in tensors.items():
            storage = t.untyped_storage()
            key = storage.data_ptr() or id(storage)
            if key not in paths:
                paths[key] = f"{prefix}{len(paths)}"
                self.record(folder + paths[key], _bytes_of(storage))
            config[name] = {
                "path_name": paths[key],
                "is_param": isinstance(t, tl_nn.Parameter),
                "use_pickle": False,
                "tensor_meta": tensor_meta(t),
            }
        self.record(folder + config_name, json.dumps({"config": config}))


def _bytes_of(storage: Any) -> bytes:
    data = tl_core.empty(0, dtype=tl_core.uint8)
    data.set_(storage.cpu() if storage.device.type != "cpu" else storage, 0, (storage.nbytes(),), (1,))
    return bytes(memoryview(data)) if storage.nbytes() else b""


def save_program(
    ep: Any, f: Any, extra_files: dict[str, Any] | None, opset_version: dict[str, int] | None
) -> None:
    """Writes a program to a file.

    Args:
        ep: the program.
        f: a path, or an object with `write`.
        extra_files: further records.
        opset_version: versions of sets of operators to note.
    """
    model = json.dumps(program_as_json(ep, opset_version), allow_nan=False)
    buffer = io.BytesIO()
    writer = _Writer(buffer)
    persistent = set(ep.graph_signature.parameters) | set(ep.graph_signature.buffers)
    state = {n: t for n, t in ep.state_dict.items() if n in persistent or isinstance(t, tl_core.Tensor)}
    writer.tensors(state, _WEIGHTS)
    writer.tensors({n: t for n, t in ep.constants.items() if isinstance(t, tl_core.Tensor)}, _CONSTANTS)
    writer.record(_MODEL, model)
    writer.record("data/sample_inputs/model.pt", b"")  # other readers ask for it; ours is never pickled
    for name, content in (extra_files or {}).items():
        writer.record(f"extra/{name}", content)
    for name, text in (
        ("archive_format", "pt2"),
        ("archive_version", "0"),
        (".data/version", "3\n"),
        ("byteorder", "little"),
        (".data/serialization_id", writer.digest.hexdigest()[:40]),
    ):
        writer.record(name, text)
    writer.zip.close()
    if not isinstance(f, (str, os.PathLike)):
        f.write(buffer.getvalue())
        return
    with replacing(f) as name, open(name, "wb") as file:
        file.write(buffer.getbuffer())
        file.flush()
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # others are on no disk
            os.fsync(file.fileno())


# ---- reading
class _Archive:
    def __init__(self, f: Any) -> None:
        try:
            self.zip = zipfile.ZipFile(f)
        except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
            raise FileRefused(f"no .pt2 file: {error}") from error
        infos = self.zip.infolist()
        if len(infos) > _MOST_RECORDS:
            raise FileRefused(f"{len(infos)} records")
        roots = {i.filename.partition("/")[0] for i in infos}
        if len(roots) != 1:
            raise FileRefused("no .pt2 file: the records of such a file stand in one folder")
        self.root = roots.pop()
        self.infos: dict[str, zipfile.ZipInfo] = {}
        for info in infos:
            if info.filename in self.infos:
                raise FileRefused(f"the record {info.filename[:80]!r} stands twice")
            self.infos[info.filename] = info

    def has(self, name: str) -> bool:
        """Whether there is a record."""
        return f"{self.root}/{name}" in self.infos

    def read(self, name: str, longest: int | None = None) -> bytes:
        """The bytes of a record, whose checksum is checked."""
        info = self.infos.get(f"{self.root}/{name}")
        if info is None:
            raise FileRefused(f"the file lacks the record {name[:80]!r}")
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise FileRefused(f"the record {name[:80]!r} is compressed")
        if longest is not None and info.file_size > longest:
            raise FileRefused(f"the record {name[:80]!r} has {info.file_size} bytes; the limit is {longest}")
        try:
            return self.zip.read(info)
        except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError) as error:
            raise FileRefused(f"the record {name[:80]!r} is damaged: {error}") from error

    def json(self, name: str) -> Any:
        """What a record of JSON holds."""
        try:
            return json.loads(self.read(name, _LONGEST_JSON).decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise FileRefused(f"the record {name!r} is no JSON: {error}") from error

    def tensors(self, where: tuple[str, str, str]) -> dict[str, Any]:
        """The tensors of a folder by name."""
        folder, config_name, _ = where
        if not self.has(folder + config_name):
            return {}
        tensors: dict[str, Any] = {}
        storages: dict[str, Any] = {}
        for name, payload in self.json(folder + config_name)["config"].items():
            tensors[name] = self._tensor(folder, name, payload, storages)
        return tensors

    def _tensor(self, folder: str, name: str, payload: Any, storages: dict[str, Any]) -> Any:
        path = payload["path_name"]
        if payload["use_pickle"]:
            raise FileRefused(f"the tensor {name[:80]!r} is stored as a pickle, which is not read")
        if not isinstance(path, str) or "/" in path or path in ("", ".", ".."):
            raise FileRefused(f"{str(path)[:80]!r} is no name of a record")
        meta = payload["tensor_meta"]
        if meta["dtype"] not in DTYPES:
            raise FileRefused(f"{meta['dtype']} is no dtype")
        dtype = DTYPES[meta["dtype"]]
        if path not in storages:
            storages[path] = bytearray(self.read(folder + path))
        return _tensor_on(name, storages[path], dtype, meta, bool(payload["is_param"]))


def _tensor_on(name: str, data: bytearray, dtype: Any, meta: Any, is_param: bool) -> Any:
    """A tensor on the bytes of a storage, inside its bounds."""
    sizes, strides, offset = sizes_of_meta(meta)
    if len(sizes) != len(strides) or offset < 0 or any(n < 0 for n in (*sizes, *strides)) or len(sizes) > 64:
        raise FileRefused(f"the geometry of the tensor {name[:80]!r}: {sizes}, {strides}, {offset}")
    count = len(data) // dtype.itemsize
    last = offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) if all(sizes) else -1
    if last >= count or any(n >= 1 << 62 for n in (*sizes, *strides, offset)):
        raise FileRefused(f"the tensor {name[:80]!r} is larger than its record")
    if count:
        tensor = tl_core.frombuffer(data, dtype=dtype).as_strided(sizes, strides, offset)
    else:
        tensor = tl_core.empty_strided(sizes, strides, dtype=dtype)
    device = meta["device"]["type"]
    if device not in ("cpu", "meta"):
        tensor = tensor.to(tl_core.device(device, meta["device"]["index"] or 0))
    if is_param:
        return tl_nn.Parameter(tensor, bool(meta["requires_grad"]))
    return tensor.requires_grad_() if meta["requires_grad"] else tensor


def load_program(
    f: Any, extra_files: dict[str, Any] | None, expected_opset_version: dict[str, int] | None
) -> Any:
    """Reads a program from a file.

    Args:
        f: a path, or an object with `read` and `seek`.
        extra_files: further records to read, by name; their contents are put there.
        expected_opset_version: versions of sets of operators that the file must have.

    Returns:
        The program.

    Raises:
        FileRefused: the file holds none, or one that isn't taken.
    """
    archive = _Archive(f if not isinstance(f, os.PathLike) else os.fspath(f))
    try:
        data = archive.json(_MODEL)
        for name, version in (expected_opset_version or {}).items():
            if data["opset_version"].get(name) != version:
                raise FileRefused(
                    f"the file's operators of {name} have version {data['opset_version'].get(name)}, expected {version}"
                )
        program = Reader(data, archive.tensors(_WEIGHTS), archive.tensors(_CONSTANTS)).read()
    except FileRefused:
        raise
    except (
        KeyError,
        TypeError,
        AttributeError,
        ValueError,
        IndexError,
        OverflowError,
        RecursionError,
    ) as error:
        raise FileRefused(f"the program in the file is damaged: {type(error).__name__}: {error}") from error
    except (RuntimeError, AssertionError, ArithmeticError, MemoryError, SpecViolationError) as error:
        raise FileRefused(f"the program in the file is damaged: {error}") from error
    for name in extra_files or {}:
        if archive.has(f"extra/{name}"):
            extra_files[name] = archive.read(f"extra/{name}").decode("utf-8")  # type: ignore[index]
    return program
