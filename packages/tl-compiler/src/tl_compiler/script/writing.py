"""Writing of archives: the classes, functions and constants that an object needs, as code and data."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from typing import Any

from tl_checkpoint.archive_writer import ArchiveWriter
from tl_checkpoint.atomic import replacing

from .linking import absorb, origin_of
from .pickling import ObjectPickler
from .printing import definition_text
from .program import Program
from .sources import Sources
from .types import EXTENSION_CLASSES, Type

__all__ = ["ProgramWriter", "write_program"]


class ProgramWriter:
    """The program of an archive: the definitions of one or more programs, under names that differ.

    Args:
        add_storage: adds the storage of a tensor to the archive and returns its key; by default a pickler has it.
    """

    def __init__(self, add_storage: Callable[[Any], str] | None = None) -> None:
        self.program = Program(Sources())
        self._add_storage = add_storage

    def pickler(self) -> ObjectPickler:
        """A pickler of objects whose classes become part of the program."""
        return ObjectPickler(self.name_of_class, self.rename, self._add_storage)

    def constants(self, pickler: ObjectPickler) -> bytes:
        """The pickle of the constants that the code names.

        Args:
            pickler: a new pickler.
        """
        return pickler.dump(tuple(self.program.constants), None, Type("Any"))

    def name_of_class(self, value: Any, owner: Any) -> str:
        """The name of an object's class in the archive; the program of its owner knows a class of Python."""
        kind = type(value)
        if not hasattr(kind, "_program"):
            program = type(owner)._program
            return self._name(program, program.name_of(kind))
        return self._name(kind._program, kind._declaration.name)

    def _name(self, program: Any, name: str) -> str:
        result = absorb(self.program, program, name)
        for definition in self.program.archive.names():  # which refer to methods that Python runs
            self._refuse_python(definition)
        return result

    def _refuse_python(self, name: str) -> None:
        origin = origin_of(self.program, name)[0]
        if not origin.python_functions:
            return
        for node in ast.walk(self.program.archive.definition(name)):
            if isinstance(node, ast.Attribute) and node.attr in origin.python_functions:
                raise RuntimeError(
                    f"Could not export Python function call '{origin.python_functions[node.attr].__name__}'. Remove "
                    "calls to Python functions before export. Did you forget to add @script or @script_method "
                    "annotation? If this is a nn.ModuleList, add it to __constants__"
                )

    def rename(self, owner: Any, kind: Type) -> Type:
        """A type of the class of an object, with the names of the archive."""
        if kind.name.startswith(EXTENSION_CLASSES):
            return kind
        if kind.name.startswith("__torch__."):
            return Type(self._name(type(owner)._program, kind.name))
        return Type(kind.name, tuple(self.rename(owner, argument) for argument in kind.arguments))

    def code(self) -> dict[str, str]:
        """The text of each file of code."""
        files: dict[str, str] = {}
        sources = self.program.archive
        for name in list(sources.names()):
            file = sources.file_of(name.rpartition(".")[0])
            node = sources.definition(name)
            node.name = name.rpartition(".")[2]
            files[file] = files.get(file, "") + definition_text(node)
        return files


def write_program(module: Any, f: Any, extra_files: dict[str, Any] | None) -> None:
    """Writes a module of a program as an archive. `tl_compiler.jit.save` describes the errors.

    Args:
        module: the module.
        f: a path, or a file that is open for writing.
        extra_files: the contents of further files of the archive, by name.
    """
    records = _records(module, extra_files or {})
    if isinstance(f, (str, os.PathLike)):
        folder = os.path.dirname(os.path.abspath(os.fspath(f)))
        if not os.path.isdir(folder):
            raise RuntimeError(f"Parent directory {folder} does not exist.")
        name = os.path.splitext(os.path.basename(os.fspath(f)))[0] or "archive"
        with replacing(f) as file:
            _write(file.write, name, records)
    else:
        _write(f.write, "archive", records)


def _write(write: Any, name: str, records: dict[str, Any]) -> None:
    archive = ArchiveWriter(write, name)
    for record, data in records.items():
        archive.add(record, data)
    archive.close()


def _records(module: Any, extra_files: dict[str, Any]) -> dict[str, Any]:
    """The files of an archive by name."""
    writer = ProgramWriter()
    pickler = writer.pickler()
    records: dict[str, Any] = {"data.pkl": pickler.dump(module, None, Type("Any"))}
    records["byteorder"] = sys.byteorder.encode()
    records.update({f"data/{key}": data for key, data in pickler.storages().items()})
    for name, data in extra_files.items():
        records[f"extra/{name}"] = data.encode() if isinstance(data, str) else bytes(data)
    records.update({file: text.encode() for file, text in writer.code().items()})
    constants = writer.pickler()
    records["constants.pkl"] = writer.constants(constants)
    records.update({f"constants/{key}": data for key, data in constants.storages().items()})
    records["version"] = f"{writer.program.archive.version}\n".encode()
    return records
