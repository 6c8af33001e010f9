"""Unpickler of trusted files: pickle runs them, with PyTorch's class paths translated."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Mapping
from typing import Any

from .class_names import resolve
from .globals import Global
from .safe_globals import known_global
from .unfinished import Unfinished

__all__ = ["unpickle"]


def unpickle(
    file: Any,
    persistent: Callable[[Any], Any],
    module: Any = pickle,
    arguments: Mapping[str, Any] | None = None,
) -> Any:
    """Reads one pickle from a file and leaves the file behind its end. The pickle may run any code.

    Args:
        file: an object with `read` and `readline`.
        persistent: takes the description of a storage and returns the storage.
        module: `pickle`, or a module with an `Unpickler` of its own.
        arguments: keyword arguments of its `Unpickler`.

    Raises:
        pickle.UnpicklingError: the pickle is damaged, or names a class of PyTorch that no installed package has.
    """

    class Unpickler(module.Unpickler):
        def find_class(self, module_name: str, name: str) -> Any:
            if module_name.split(".")[0] != "torch":
                return super().find_class(module_name, name)
            entry = known_global(module_name, name)
            maker = entry.make if isinstance(entry, Global) else entry
            # placeholders are for files that are read as data; pickle itself makes the object
            if maker is not None and not (isinstance(maker, type) and issubclass(maker, Unfinished)):
                return maker
            outer, *inner = name.split(".")
            path = f"{module_name}.{outer}"
            try:
                return functools.reduce(getattr, inner, resolve(path))
            except ImportError as error:
                raise pickle.UnpicklingError(
                    f"the file holds an object of {path}, and no installed package of tl has that class: {error}"
                ) from error

        def persistent_load(self, description: Any) -> Any:
            return persistent(description)

    return Unpickler(file, **(arguments or {})).load()
