"""Compiled modules in packages: their data, the code of all of them, and their tensors among those of the package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..script.archive import Archive
from ..script.loading import read_archive
from ..script.types import Type
from ..script.writing import ProgramWriter
from .package_records import PackageRecords

__all__ = ["ScriptRecords", "unpackage_script_module"]

_FOLDER = ".data/ts_code"


class ScriptRecords:
    """The compiled modules of a package that is written.

    Args:
        records: the records of the package.
    """

    def __init__(self, records: PackageRecords) -> None:
        self._records, self._count = records, 0
        self._writer = ProgramWriter(self._add_storage)

    def _add_storage(self, tensor: Any) -> str:
        return f"{self._records.add_storage(tensor.untyped_storage()).key}.storage"

    def add(self, module: Any) -> str:
        """Adds a module.

        Args:
            module: the module.

        Returns:
            Its number, by which `unpackage_script_module` finds it.

        Raises:
            RuntimeError: an archive can't hold an attribute of the module.
        """
        number = str(self._count)
        data = self._writer.pickler().dump(module, None, Type("Any"))
        constants = self._writer.constants(self._writer.pickler())
        self._records.add(f"{_FOLDER}/{number}/data.pkl", data)
        self._records.add(f"{_FOLDER}/{number}/constants.pkl", constants)
        self._count += 1
        return number

    def reduce(self, module: Any) -> tuple[Any, tuple[str]]:
        """Adds a module, and returns its entry of a pickle: a function and its arguments.

        Args:
            module: the module.
        """
        return unpackage_script_module, (self.add(module),)

    def write(self) -> None:
        """Adds the code of the modules."""
        if self._count:
            for file, text in self._writer.code().items():
                self._records.add(f"{_FOLDER}/{file}", text.encode("utf-8"))


class _PackagedArchive(Archive):
    """One compiled module of a package, as an archive.

    Args:
        records: the reader of the package.
        number: the module's number.
        find_storage: returns the storage that a pickle describes.
    """

    code_folder = f"{_FOLDER}/code/"

    def __init__(self, records: Any, number: str, find_storage: Callable[[Any], Any]) -> None:
        self.reader, self._number, self._find_storage = records, number, find_storage
        self.version = self._read_version()
        self.byteorder = sys.byteorder
        self._trees, self._texts = {}, {}
        if not {f"{_FOLDER}/{number}/data.pkl", f"{_FOLDER}/{number}/constants.pkl"} <= set(records.names()):
            raise RuntimeError(f"the package has no compiled module {number!r}")

    def close(self) -> None:
        """Leaves the package open."""

    def read(self, name: str) -> bytes:
        """Returns the bytes of a file of the module."""
        if name in ("data.pkl", "constants.pkl"):
            name = f"{_FOLDER}/{self._number}/{name}"
        return bytes(self.reader.read(name))

    def storage_finder(self, name: str, map_location: Any) -> Callable[[Any], Any]:
        """Returns the function that finds the storages of the package."""
        return self._find_storage


def unpackage_script_module(importer: Any, script_module_id: str) -> Any:
    """Reads a compiled module of a package. Pickles of packages name this function.

    Args:
        importer: the importer of the package.
        script_module_id: the module's number.

    Raises:
        RuntimeError: the importer reads no package, the package has no such module, or the module is damaged.
    """
    if not hasattr(importer, "zip_reader"):
        raise RuntimeError(
            f"unpackage_script_module(): importer must be a PackageImporter, but got {type(importer).__name__}"
        )
    archive = _PackagedArchive(importer.zip_reader, script_module_id, importer._persistent_load)
    return read_archive(archive, None)
