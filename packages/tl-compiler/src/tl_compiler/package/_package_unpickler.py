"""Reads pickles of packages. What they name is imported from the package, so code of the package may run."""

from __future__ import annotations

import pickle
import pickletools
from typing import Any

from tl_checkpoint import rebuild
from tl_checkpoint.class_names import STORAGES, resolve

from .importer import Importer

__all__ = ["PackageUnpickler", "check_pickle"]

# In Python rather than in C: it takes no memory for what a damaged pickle says, only for what it holds.
_PythonUnpickler: Any = pickle._Unpickler

_REBUILD = {
    "torch._utils._rebuild_tensor_v2": rebuild.tensor,
    "torch._utils._rebuild_tensor_v3": rebuild.tensor_of_dtype,
    "torch._utils._rebuild_parameter": rebuild.parameter,
}


def check_pickle(data: bytes) -> None:
    """Raises unless the opcodes of a pickle are whole; what they do is another matter.

    Args:
        data: the pickle.

    Raises:
        UnpicklingError: an opcode isn't known, or says more bytes than there are.
    """
    try:
        for _ in pickletools.genops(data):
            pass
    except (ValueError, IndexError, KeyError, UnicodeError) as error:
        raise pickle.UnpicklingError(f"the pickle is damaged: {error}") from None


class PackageUnpickler(_PythonUnpickler):
    """Unpickles from a package.

    Args:
        importer: imports what the pickle names.
        file: where from.
        persistent_load: gives what stands beside the pickle.
    """

    def __init__(self, importer: Importer, file: Any, persistent_load: Any) -> None:
        super().__init__(file)
        self._importer = importer
        self._persistent_load = persistent_load

    def persistent_load(self, pid: Any) -> Any:
        """What stands beside the pickle.

        Args:
            pid: its description.

        Returns:
            The object.
        """
        return self._persistent_load(pid)

    def find_class(self, module: str, name: str) -> Any:
        """A class or function by its name.

        Args:
            module: its module: one of the package, or an external one.
            name: its name there.

        Returns:
            The class or function.

        Raises:
            AttributeError: the module has no such name.
            ModuleNotFoundError: the package doesn't hold the module and doesn't name it as external.
        """
        path = f"{module}.{name}"
        if path in STORAGES:
            return STORAGES[path]
        if path in _REBUILD:
            return _REBUILD[path]
        if module.partition(".")[0] == "torch":
            return _of_library(self._importer, module, name)
        value: Any = self._importer.import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
        return value


def _of_library(importer: Importer, module: str, name: str) -> Any:
    """What the library has under a name, here or where it has moved to; a package may bring a module of its own."""
    try:
        return resolve(f"{module}.{name}")
    except ImportError:
        pass
    try:
        value: Any = importer.import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except (ModuleNotFoundError, AttributeError) as error:
        raise AttributeError(
            f"the library has no {module}.{name}, which the package's pickle names"
        ) from error
    return value
