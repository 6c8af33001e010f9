"""Formats of files: `.pt` archives, safetensors and their indexes, `.npz`."""

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
    """The format of a file, by its contents: "pt", "safetensors", "index" or "npz".

    Raises RuntimeError for any other format.
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
    """The format of a new file, by its ending. Raises ValueError for an unknown ending."""
    ending = os.path.splitext(path)[1]
    if ending not in _ENDINGS:
        raise ValueError(f"the ending of {os.path.basename(path)!r} must be one of {', '.join(_ENDINGS)}")
    return _ENDINGS[ending]


def load_tensors(path: str, key: str | None = None) -> dict[str, Any]:
    """The tensors of a file by name; of a `.pt` archive those under `key`.

    Raises:
        TypeError: If the file holds anything but tensors by name.
    """
    kind = format_of(path)
    if kind in ("safetensors", "index"):
        return safetensors.load_file(path)
    if kind == "npz":
        return npz.load_npz(path)
    content = serialization.load(path, map_location="cpu", weights_only=True)
    for part in (key or "").split(".") if key else ():
        if not isinstance(content, Mapping) or part not in content:
            raise TypeError(f"the file has no entry {key!r}")
        content = content[part]
    return _only_tensors(content)


def _only_tensors(content: Any) -> dict[str, Any]:
    if not isinstance(content, Mapping):
        raise TypeError(f"the file holds a {type(content).__name__}, tensors by name are needed")
    other_names = [str(name) for name, value in content.items() if not isinstance(value, tl_core.Tensor)]
    if other_names:
        raise TypeError(
            f"the file has entries that are no tensors: {', '.join(other_names[:5])}; name one"
            " that has only such with --key"
        )
    return {str(name): value for name, value in content.items()}


def save_tensors(tensors: dict[str, Any], path: str) -> None:
    """Writes tensors in the format of the path's ending."""
    kind = target_format(path)
    if kind == "safetensors":
        safetensors.save_file(tensors, path, {"format": "pt"})
    elif kind == "npz":
        npz.save_npz(tensors, path)
    else:
        serialization.save(tensors, path)
