"""Where modules and objects are looked for."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from pickle import whichmodule as _pickle_whichmodule  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

from ._mangling import demangle, get_mangle_prefix, is_mangled

__all__ = ["Importer", "ObjMismatchError", "ObjNotFoundError", "OrderedImporter", "sys_importer"]


class ObjNotFoundError(Exception):
    """An object can't be found under its name."""


class ObjMismatchError(Exception):
    """Under the name of an object another one is found."""


class Importer(ABC):
    """An environment in which modules are found by name: the interpreter's, or that of a package.

    Example:
        >>> issubclass(OrderedImporter, Importer)
        True
    """

    modules: dict[str, ModuleType]

    @abstractmethod
    def import_module(self, module_name: str) -> ModuleType:
        """The module of a name.

        Args:
            module_name: the name.

        Returns:
            The module.

        Raises:
            ModuleNotFoundError: there is none.
        """

    def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
        """The module in which an object is found, and its name there.

        Args:
            obj: a class or function.
            name: its name, where it is known.

        Returns:
            Both.

        Raises:
            ObjNotFoundError: it isn't there.
            ObjMismatchError: another object is.
        """
        if name is None:
            reduced = getattr(type(obj), "__reduce__", None) if not hasattr(obj, "__qualname__") else None
            reduced_name = reduced(obj) if reduced is not None else None
            name = (
                reduced_name
                if isinstance(reduced_name, str)
                else getattr(obj, "__qualname__", None) or obj.__name__
            )
        module_name = demangle(self.whichmodule(obj, name))
        try:
            value: Any = self.import_module(module_name)
            for part in name.split("."):
                value = getattr(value, part)
        except (ImportError, KeyError, AttributeError):
            raise ObjNotFoundError(f"{obj} was not found as {module_name}.{name}") from None
        if value is obj:
            return module_name, name
        raise ObjMismatchError(_mismatch(obj, value, module_name, name))

    def whichmodule(self, obj: Any, name: str) -> str:
        """The name of the module in which an object is defined.

        Args:
            obj: the object.
            name: its name.

        Returns:
            The module's.
        """
        module_name = getattr(obj, "__module__", None)
        if module_name is not None:
            return str(module_name)
        for candidate, module in self.modules.copy().items():
            if candidate in ("__main__", "__mp_main__") or module is None:
                continue
            try:
                if getattr(module, name) is obj:
                    return candidate
            except AttributeError:
                continue
        return "__main__"


def _mismatch(obj: Any, other: Any, module_name: str, name: str) -> str:
    def origin(thing: Any) -> str:
        module = str(getattr(thing, "__module__", ""))
        return (
            f"the package {get_mangle_prefix(module)}"
            if is_mangled(module)
            else "the current Python environment"
        )

    return (
        f"The object {obj} comes from {origin(obj)}, but {module_name}.{name} is {other} of {origin(other)}. To "
        "package objects of other packages, give the exporter their importers, before sys_importer: "
        "PackageExporter(f, importer=(my_package_importer, sys_importer))"
    )


class _SysImporter(Importer):
    """The interpreter's modules."""

    def import_module(self, module_name: str) -> ModuleType:
        """The module of a name, imported as usual.

        Args:
            module_name: the name.

        Returns:
            The module.
        """
        return importlib.import_module(module_name)

    def whichmodule(self, obj: Any, name: str) -> str:
        """The name of the module in which an object is defined.

        Args:
            obj: the object.
            name: its name.

        Returns:
            The module's.
        """
        return str(_pickle_whichmodule(obj, name))


sys_importer = _SysImporter()


class OrderedImporter(Importer):
    """Several importers; the first that has a module gives it.

    Args:
        args: the importers.

    Example:
        >>> OrderedImporter(sys_importer).import_module("math").__name__
        'math'
    """

    def __init__(self, *args: Importer) -> None:
        self._importers: list[Importer] = list(args)

    def __repr__(self) -> str:
        return f"OrderedImporter({self._importers!r})"

    @staticmethod
    def _is_dummy(module: ModuleType) -> bool:
        """Whether a module stands only for a package that has no file of its own."""
        return getattr(module, "__torch_package__", False) and getattr(module, "__file__", "") is None

    def import_module(self, module_name: str) -> ModuleType:
        """The module of a name.

        Args:
            module_name: the name.

        Returns:
            The module.

        Raises:
            ModuleNotFoundError: no importer has it.
        """
        last: ModuleNotFoundError | None = None
        for importer in self._importers:
            if not isinstance(importer, Importer):
                raise TypeError(
                    f"{importer} is not a Importer. All importers in OrderedImporter must inherit from Importer."
                )
            try:
                module = importer.import_module(module_name)
                if not self._is_dummy(module):
                    return module
            except ModuleNotFoundError as error:
                last = error
        raise last or ModuleNotFoundError(module_name)

    def whichmodule(self, obj: Any, name: str) -> str:
        """The name of the module in which an object is defined, by the first importer that knows.

        Args:
            obj: the object.
            name: its name.

        Returns:
            The module's.
        """
        for importer in self._importers:
            module_name = importer.whichmodule(obj, name)
            if module_name != "__main__":
                return module_name
        return "__main__"
