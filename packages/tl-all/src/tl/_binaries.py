"""Extension modules that are built for PyTorch: the import of one first loads the libraries that its file names."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ExtensionFileLoader, ModuleSpec
    from types import ModuleType
    from typing import Any


def watch_imports() -> None:
    """Lets the loader of extension modules look at the libraries that a file needs. A second call does nothing."""
    from importlib.machinery import ExtensionFileLoader

    plain = ExtensionFileLoader.create_module
    if plain.__module__ == __name__:
        return

    def create_module(loader: "ExtensionFileLoader", spec: "ModuleSpec") -> "ModuleType":
        # Files of the interpreter itself, and of packages that load none of PyTorch's libraries, are passed by.
        if not _is_of_python(loader.path):
            _prepare(loader.path)
        module = plain(loader, spec)
        # A file that needs none of PyTorch's libraries may be an extension that was compiled for tl.
        registrations: Any = sys.modules.get("tl_core.extensions.stable_abi")
        if getattr(registrations, "errors", None):
            registrations.raise_errors()
        return module

    replace: Any = ExtensionFileLoader
    replace.create_module = create_module


def _is_of_python(path: str) -> bool:
    return path.startswith(sys.base_prefix) and "-packages" not in path


def _prepare(path: str) -> None:
    from tl_core.extensions import shared_objects

    try:
        if not shared_objects.needs(path, ("libtorch", "libc10")):
            return
    except OSError as error:
        raise ImportError(str(error), path=path) from None
    from tl_core.extensions import stable_abi

    stable_abi.prepare(path)
