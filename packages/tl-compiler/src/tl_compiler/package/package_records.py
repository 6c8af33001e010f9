"""The records of a package: the files and the storages that its archive contains."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tl_checkpoint.archive_writer import ArchiveWriter
from tl_checkpoint.atomic import ScratchFile, replacing
from tl_core.memory.files import crc32

from ._mangling import is_mangled
from ._package_pickler import SavedStorage

__all__ = ["PackageRecords"]

_VERSION = b"6\n"
_MOCK = """from _mock import MockedObject


def __getattr__(attr: str):
    return MockedObject(__name__ + '.' + attr, _suppress_err=True)
"""


class PackageRecords:
    """The files of a package by name, and the storages of its tensors."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._storages: dict[Any, SavedStorage] = {}
        self.is_closed = False

    def add(self, filename: str, data: bytes) -> None:
        """Adds a file, in the place of an earlier file of the name.

        Args:
            filename: the name.
            data: the content.

        Raises:
            RuntimeError: the package has been written.
        """
        if is_mangled(filename):
            raise AssertionError(f"{filename} is the name of a file of another package")
        if self.is_closed:
            raise RuntimeError("the package has been written already: nothing can be added")
        self._files[filename] = data

    def add_source(self, module: str, text: str, is_package: bool) -> None:
        """Adds the code of a module.

        Args:
            module: the name of the module.
            text: the code.
            is_package: whether the module contains modules.
        """
        path = module.replace(".", "/") + ("/__init__.py" if is_package else ".py")
        self.add(path, text.encode("utf-8"))

    def add_mock(self, module: str, is_package: bool) -> None:
        """Adds the code of a mocked module.

        Args:
            module: the name of the module.
            is_package: whether the module contains modules.
        """
        self.add_mock_support()
        self.add_source(module, _MOCK, is_package)

    def add_mock_support(self) -> None:
        """Adds the module that mocked modules import."""
        if "_mock.py" not in self._files:
            self.add("_mock.py", (Path(__file__).parent / "_mock.py").read_bytes())

    def add_storage(self, storage: Any) -> SavedStorage:
        """Adds a storage once, and returns its entry.

        Args:
            storage: the storage.
        """
        if storage not in self._storages:
            self._storages[storage] = SavedStorage(str(len(self._storages)), storage)
        return self._storages[storage]

    def write(self, target: Any, external: list[str]) -> None:
        """Writes the archive. Later additions raise.

        Args:
            target: a path, or an object with `write`.
            external: the names of the external modules.
        """
        names = "\n".join(external) + "\n" if external else ""
        self._files[".data/extern_modules"] = names.encode("utf-8")
        self._files[".data/python_version"] = platform.python_version().encode()
        self._files[".data/version"] = _VERSION
        self._files["byteorder"] = sys.byteorder.encode()
        self.is_closed = True
        if isinstance(target, (str, os.PathLike)):
            name = os.path.splitext(os.path.basename(os.fspath(target)))[0] or "archive"
            with replacing(target) as file:
                self._write_archive(file, name)
        else:
            self._write_archive(target.write, "archive")

    def _write_archive(self, output: ScratchFile | Callable[[Any], Any], name: str) -> None:
        archive = ArchiveWriter(output, name)
        total = 0
        for filename in sorted(self._files):
            archive.add(filename, self._files[filename])
            total = crc32(self._files[filename], total)
        for storage in self._storages.values():
            archive.add(f".data/{storage.key}.storage", storage.data())
        archive.add(".data/serialization_id", f"{total:020d}{len(self._files):020d}".encode())
        archive.close()
