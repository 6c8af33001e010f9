"""Reading of archives of TorchScript. Nothing in an archive is executed as Python: see `lowering`."""

from __future__ import annotations

import os
from typing import Any

from .archive import Archive
from .program import Program
from .script_module import RecursiveScriptModule
from .unpickling import read_constants, read_object

__all__ = ["read_archive", "read_program"]


def read_program(f: Any, map_location: Any, extra_files: dict[str, Any]) -> RecursiveScriptModule:
    """Returns the module of an archive. `tl_compiler.jit.load` describes the errors.

    Args:
        f: a path, or a file that is open for reading.
        map_location: the device of each tensor.
        extra_files: gets the contents of these further files of the archive.
    """
    if isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {f} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {f} is a directory")
    archive = Archive(f)
    try:
        result = read_archive(archive, map_location)
        for name in extra_files:
            data = archive.read_extra(name)
            if data is not None:
                extra_files[name] = data
        return result
    finally:
        archive.close()


def read_archive(archive: Archive, map_location: Any) -> RecursiveScriptModule:
    """Returns the module of an archive that is open.

    Args:
        archive: the archive.
        map_location: the device of each tensor.

    Raises:
        RuntimeError: the archive holds something else.
    """
    program = Program(archive)
    archive.check()
    program.constants = read_constants(program, map_location)
    result = read_object(program, map_location)
    if not isinstance(result, RecursiveScriptModule):
        raise RuntimeError(f"the archive holds a {type(result).__name__}, which is no module of a program")
    return result
