"""Files by what they are: `.pt` archives, safetensors and their indexes, `.npz`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import tl_core

from . import npz, safetensors, serialization
from .source import FileSource
from .zip_reader import ZipReader

__all__ = ["NAMES", "format_of", "load_tensors", "save_tensors", "target_format"]

NAMES = {"pt": ".pt", "safetensors": ".safetensors", "npz": ".npz"}
_ENDINGS = {
    ".pt": "pt",
    ".pth": "pt",
    ".ckpt": "pt",
    ".bin": "pt",
    ".safetensors": "safetensors",
    ".npz": "npz",
}


def format_of(path: str) -> str:
    """What a file is by its contents: "pt", "safetensors", "index" or "npz".

    Raises RuntimeError if it is none of them.
    """
    if path.endswith(".json"):
        return "index"
    source = FileSource(path)
    try:
        begin = source.read_at(0, min(source.size, 4))
        if begin == b"PK\x03\x04":
            return "npz" if _has_arrays(source) else "pt"
        if safetensors.is_safetensors(source):
            return "safetensors"
        if begin[:1] == b"\x80":
            return "pt"  # the format from before 2020
    finally:
        source.close()
    raise RuntimeError("it is neither a .pt archive nor safetensors nor .npz")


def _has_arrays(source: FileSource) -> bool:
    return all(name.endswith(".npy") for name in ZipReader(source).records)


def target_format(path: str) -> str:
    """The format that a new file's name asks for. Raises ValueError if it asks for none."""
    ending = os.path.splitext(path)[1]
    if ending not in _ENDINGS:
        raise ValueError(f"the ending of {os.path.basename(path)!r} must be one of {', '.join(_ENDINGS)}")
    return _ENDINGS[ending]


def load_tensors(path: str, key: str | None = None) -> dict[str, Any]:
    """The tensors of a file by name; of a `.pt` archive the dict under a key, where one is given.

    Raises:
        TypeError: If the file holds something else than tensors by name.
    """
    kind = format_of(path)
    if kind in ("safetensors", "index"):
        return safetensors.load_file(path)
    if kind == "npz":
        return npz.load_npz(path)
    held = serialization.load(path, map_location="cpu", weights_only=True)
    for part in (key or "").split(".") if key else ():
        if not isinstance(held, Mapping) or part not in held:
            raise TypeError(f"the file has no entry {key!r}")
        held = held[part]
    return _only_tensors(held)


def _only_tensors(held: Any) -> dict[str, Any]:
    if not isinstance(held, Mapping):
        raise TypeError(f"the file holds a {type(held).__name__}, tensors by name are needed")
    others = [str(name) for name, value in held.items() if not isinstance(value, tl_core.Tensor)]
    if others:
        raise TypeError(
            f"the file has entries that are no tensors: {', '.join(others[:5])}; name one that has only such with --key"
        )
    return {str(name): value for name, value in held.items()}


def save_tensors(tensors: dict[str, Any], path: str) -> None:
    """Writes tensors in the format that the path's ending asks for."""
    kind = target_format(path)
    if kind == "safetensors":
        safetensors.save_file(tensors, path, {"format": "pt"})
    elif kind == "npz":
        npz.save_npz(tensors, path)
    else:
        serialization.save(tensors, path)
