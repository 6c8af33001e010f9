"""Decoding of files by extension. Pickles are not decoded: a file is data, not a program."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tl_data.sources.images import EXTENSIONS, decode_image
from tl_data.sources.shards import DECODERS

__all__ = ["Decoder", "basichandlers", "extension_extract_fn", "imagehandler"]


def extension_extract_fn(pathname: str) -> str:
    """The last part of a file's name, without the dot."""
    return os.path.splitext(pathname)[1][1:]


def basichandlers(extension: str, data: bytes) -> Any:
    """Texts, numbers and JSON; None for anything else."""
    plain = f".{extension}" not in EXTENSIONS and extension != "npy"
    decode = DECODERS.get(extension) if plain else None
    return None if decode is None else decode(data)


def imagehandler(mode: str = "RGB") -> Callable[[str, bytes], Any]:
    """A handler that decodes pictures with `tl_data.sources.decode_image`."""

    def handler(extension: str, data: bytes) -> Any:
        return decode_image(data, mode) if f".{extension}" in EXTENSIONS else None

    return handler


class Decoder:
    """Decoder by handlers `f(extension, data)`; data without a handler stays bytes."""

    def __init__(
        self, *handlers: Callable[..., Any], key_fn: Callable[[str], str] = extension_extract_fn
    ) -> None:
        self.handlers = list(handlers) or [basichandlers]
        self.key_fn = key_fn

    def add_handler(self, *handlers: Callable[..., Any]) -> None:
        """Appends handlers."""
        self.handlers += handlers

    def __call__(self, path: str, file: Any) -> Any:
        if isinstance(file, bytes):
            data = file
        else:
            with file:
                data = file.read()
        extension = self.key_fn(path).lower()
        decoded = (handler(extension, data) for handler in self.handlers)
        return next((result for result in decoded if result is not None), data)
