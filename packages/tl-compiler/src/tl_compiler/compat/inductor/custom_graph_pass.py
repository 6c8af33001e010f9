"""What passes over graphs derive from that are given to a code generator.

None runs them here: they are classes to derive from, whose objects can be called.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

__all__ = ["CustomGraphModulePass", "CustomGraphPass", "get_hash_for_files"]


class CustomGraphPass(ABC):
    """A pass over a graph: a subclass has `__call__` and `uuid`."""

    @abstractmethod
    def __call__(self, graph: Any) -> None:
        """Changes the graph."""

    @abstractmethod
    def uuid(self) -> Any:
        """What tells this pass from others in the names of files; None: what it passed is not kept."""


class CustomGraphModulePass(ABC):
    """A pass over a graph module: a subclass has `__call__` and `uuid`."""

    @abstractmethod
    def __call__(self, gm: Any) -> None:
        """Changes the module."""

    @abstractmethod
    def uuid(self) -> Any:
        """What tells this pass from others in the names of files; None: what it passed is not kept."""


def get_hash_for_files(paths: Sequence[str], extra: str = "") -> bytes:
    """The digest of files and a text, for `uuid`.

    Args:
        paths: the files.
        extra: the text.

    Returns:
        32 bytes.

    Example:
        >>> len(get_hash_for_files((), "version 1"))
        32
    """
    digest = hashlib.sha256(extra.encode())
    for path in paths:
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.digest()
