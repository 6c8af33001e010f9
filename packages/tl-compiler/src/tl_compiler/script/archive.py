"""The files in an archive of TorchScript: code by module, pickled data, constants and extra files."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from typing import Any

from tl_checkpoint.source import FileSource, ObjectSource, Source
from tl_checkpoint.storages import Storages
from tl_checkpoint.zip_reader import Record as FileRecord
from tl_checkpoint.zip_reader import ZipReader

from .syntax import parse

__all__ = ["Archive"]

_LATEST_VERSION = 10  # of the operators' meanings that PyTorch 2.13 writes


class _Folder:
    """The storages of a pickle, which stand in a folder of its name: `data/0`, `constants/0`.

    Args:
        archive: the archive.
        name: the name of the folder.
    """

    def __init__(self, archive: Archive, name: str) -> None:
        self._reader, self._name = archive.reader, name

    def _path(self, name: str) -> str:
        return f"{self._name}/{name.removeprefix('data/')}"

    def record(self, name: str) -> FileRecord:
        """The record of a storage."""
        return self._reader.record(self._path(name))

    def read_into(self, name: str, target: memoryview) -> None:
        """Reads a storage into memory."""
        self._reader.read_into(self._path(name), target)


class Archive:
    """An archive that is open for reading.

    Args:
        file: a path, or an object with `read` and `seek`.

    Args:
        version (int): the version of the operators' meanings.
        byteorder (str): "little" or "big".

    Raises:
        RuntimeError: the file is no archive of a program, is cut off or contradicts itself.
        FileNotFoundError: there is no such file.
    """

    code_folder = "code/"

    def __init__(self, file: Any) -> None:
        self._source: Source = (
            FileSource(file) if isinstance(file, (str, os.PathLike)) else ObjectSource(file)
        )
        self.reader = ZipReader(self._source)
        self.reader.folder = self._folder()
        self.version = self._read_version()
        self.byteorder = self._text("byteorder") or sys.byteorder
        self._trees: dict[str, dict[str, ast.stmt]] = {}  # the definitions by module and name
        self._texts: dict[str, str] = {}

    def close(self) -> None:
        """Closes the file."""
        self._source.close()

    def _folder(self) -> str:
        pickles = [
            name for name in self.reader.records if name.endswith("/data.pkl") and name.count("/") == 1
        ]
        if len(pickles) != 1:
            raise RuntimeError(
                "PytorchStreamReader failed locating file data.pkl: the file is no archive of a program"
            )
        folder = pickles[0].removesuffix("data.pkl")
        if f"{folder}constants.pkl" not in self.reader.records:
            raise RuntimeError(
                "PytorchStreamReader failed locating file constants.pkl: file not found. The file holds data and no "
                "program: torch.load reads it"
            )
        return folder

    def _text(self, name: str) -> str:
        return self.reader.read(name).decode("utf-8", "replace").strip() if name in self.reader else ""

    def _read_version(self) -> int:
        text = self._text(".data/version") or self._text("version") or "1"
        if not text.isascii() or not text.isdigit() or len(text) > 4:
            raise RuntimeError(f"the archive states {text[:40]!r} as its version")
        if int(text) > _LATEST_VERSION:
            raise RuntimeError(
                f"Attempted to read a PyTorch file with version {text}, but the maximum supported version for reading "
                f"is {_LATEST_VERSION}: a newer PyTorch wrote it"
            )
        return int(text)

    def read(self, name: str) -> bytes:
        """Returns the bytes of a file in the archive.

        Raises:
            RuntimeError: there is no such file, or its checksum differs.
        """
        return self.reader.read(name)

    def storage_finder(self, name: str, map_location: Any) -> Callable[[Any], Any]:
        """Returns a function from the description of a storage in a pickle to the storage.

        Args:
            name: the name of the pickle: "data" or "constants".
            map_location: the device of the storages, as in `load`.
        """
        swapped = self.byteorder != sys.byteorder
        return Storages(_Folder(self, name), map_location, swapped=swapped).find  # type: ignore[arg-type]  # a folder has the two methods

    def read_extra(self, name: str) -> bytes | None:
        """Returns the bytes of an extra file, or None if there is none."""
        return self.reader.read(f"extra/{name}") if f"extra/{name}" in self.reader else None

    def file_of(self, module: str) -> str:
        """Returns the name of the file with a module's code."""
        return f"{self.code_folder}{module.replace('.', '/')}.py"

    def check(self) -> None:
        """Reads all code, so that the archive answers without its file.

        Raises:
            RuntimeError: a module's code can't be read.
        """
        code = self.code_folder
        for name in self.reader.names():
            if name.startswith(code) and name.endswith(".py"):
                module = name.removeprefix(code).removesuffix(".py").replace("/", ".")
                self._trees[module] = self._definitions(module)

    def definition(self, name: str) -> ast.ClassDef | ast.FunctionDef | None:
        """Returns the definition of a class or function, or None if the archive has none.

        Args:
            name: the dotted name, such as "__torch__.Net".
        """
        module, _, own = name.rpartition(".")
        node = self._trees.get(module, {}).get(own)
        return node if isinstance(node, (ast.ClassDef, ast.FunctionDef)) else None

    def text_of(self, module: str, node: ast.FunctionDef) -> tuple[str, str]:
        """Returns the code of a function in a module: the lines of its signature, and those of its body."""
        lines = self._texts[module].splitlines(keepends=True)
        first, body, last = node.lineno - 1, node.body[0].lineno - 1, node.end_lineno
        return "".join(lines[first:body]), "".join(lines[body:last]).rstrip("\n")

    def _definitions(self, module: str) -> dict[str, ast.stmt]:
        file = self.file_of(module)
        try:
            text = self.read(file).decode("utf-8")
        except UnicodeDecodeError as error:
            raise RuntimeError(f"{file}: the code is no UTF-8") from error
        self._texts[module] = text
        body = parse(text, file).body
        return {node.name: node for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
