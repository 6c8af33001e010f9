"""The libraries of the extra `onnx`. They are imported by the first export."""

from __future__ import annotations

import builtins
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Mapping, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import tl_core

from .errors import MissingLibraryError

__all__ = ["Libraries", "function_library", "libraries", "runtime"]

_INSTALL = "pip install 'tl-compiler[onnx]'"
_LIBRARY = "onnxscript.function_libs.torch_lib.ops"
_CORE = f"{_LIBRARY}.core"
_lock = threading.RLock()


class Libraries(NamedTuple):
    """The modules of the extra.

    Args:
        onnx: onnx.
        ir: onnx_ir.
        script: onnxscript.
    """

    onnx: Any
    ir: Any
    script: Any


def libraries() -> Libraries:
    """Imports the libraries of the extra.

    Returns:
        The modules `onnx`, `onnx_ir` and `onnxscript`.

    Raises:
        MissingLibraryError: one of them isn't installed.
    """
    return Libraries(*(_import(name) for name in ("onnx", "onnx_ir", "onnxscript")))


def runtime() -> Any:
    """Imports onnxruntime, which runs models and isn't part of the extra.

    Raises:
        MissingLibraryError: it isn't installed.
    """
    return _import("onnxruntime", "pip install onnxruntime")


def _import(name: str, install: str = _INSTALL) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise MissingLibraryError(f"tl.onnx needs {name}, which is not installed: {install}") from error


def function_library() -> dict[str, list[Any]]:
    """The functions of onnxscript's library, by qualified name of the operator.

    One module of the library contains `import torch`, for two constants and one comparison, and asks for PyTorch's
    version. That statement gets tl-core, and the question the answer for PyTorch 2.7.
    `sys.modules` isn't changed by it, so the library works without PyTorch and loads no PyTorch that is installed.

    Returns:
        From names such as `aten::add.Tensor` to the function for real numbers and the one for complex numbers. A
        missing one is None.
    """
    libraries()
    with _lock:
        if _CORE not in sys.modules:
            finder = _Finder()
            sys.meta_path.insert(0, finder)
            try:
                importlib.import_module(_LIBRARY)
            finally:
                sys.meta_path.remove(finder)
    registry = importlib.import_module("onnxscript.function_libs.torch_lib.registration").default_registry
    return {
        name: [_first(entry.overloads), _first(entry.complex)]
        for name, entry in registry.items()
        if not name.startswith("internal::")
    }


def _first(functions: list[Any]) -> Any:
    return functions[0] if functions else None


class _Versions:
    """The version of PyTorch whose behavior tl has, as one module of the library asks for it."""

    def torch_older_than(self, version: str) -> bool:
        """Whether the version is before another: the library asks for versions up to 2.7."""
        return False


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the one module that contains `import torch`, and gives it another loader."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _CORE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    """Executes a module in which the name `torch` of an import statement is tl-core."""

    def exec_module(self, module: ModuleType) -> None:
        def import_(
            name: str,
            globals: Mapping[str, Any] | None = None,
            locals: Mapping[str, Any] | None = None,
            fromlist: Sequence[str] | None = (),
            level: int = 0,
        ) -> Any:
            if name == "torch" and not level:
                return tl_core
            result = builtins.__import__(name, globals, locals, fromlist or (), level)
            if "version_utils" in (fromlist or ()):
                return SimpleNamespace(version_utils=_Versions())
            return result

        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": import_}
        super().exec_module(module)
