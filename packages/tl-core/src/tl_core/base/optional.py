"""Libraries and packages that may be absent: one sentence about each, with the line for pip."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from tl_core.base import name_table

__all__ = ["absence", "load", "name_elsewhere"]

EXTRAS = {"numpy": "tl-core[numpy]"}
"""The extra of each library that several packages load."""


def load(library: str, feature: str, extra: str = "") -> ModuleType:
    """Imports a library that only one feature needs.

    Args:
        library: the name of its module.
        feature: the feature, for the error.
        extra: the extra to install, by default that of the table.

    Raises:
        ModuleNotFoundError: the library is not installed.

    Example:
        >>> load("json", "a table").__name__
        'json'
    """
    try:
        return import_module(library)
    except ModuleNotFoundError as error:
        raise absence(error, library, feature, extra) from None


def absence(error: ModuleNotFoundError, library: str, feature: str, extra: str = "") -> ModuleNotFoundError:
    """The error of an absent library, for a feature that imports it where each call counts.

    Args:
        error: the error of the import. It is returned unchanged if another module is absent.
        library: the name of the library's module.
        feature: the feature, for the error.
        extra: the extra to install, by default that of the table.

    Example:
        >>> str(absence(ModuleNotFoundError(name="numpy"), "numpy", "Tensor.numpy()"))
        "Tensor.numpy() needs numpy, which is not installed: pip install 'tl-core[numpy]'"
    """
    if error.name != library:
        return error
    line = f"pip install '{extra or EXTRAS[library]}'"
    return ModuleNotFoundError(f"{feature} needs {library}, which is not installed: {line}", name=library)


def name_elsewhere(name: str) -> str:
    """The package of a name that PyTorch has at its root and tl-core lacks, as the end of an error; or an empty text.

    Args:
        name: the name, such as `nn`.

    Example:
        >>> "tl-nn" in name_elsewhere("nn"), name_elsewhere("nothing")
        (True, '')
    """
    target = name_table.OBJECTS.get(name) or name_table.module_of(name)
    root = target.partition(":")[0].partition(".")[0]
    if root == name_table.CORE or not root.startswith("tl_"):
        return ""
    package = root.replace("_", "-")
    text = f"; {target.replace(':', '.')} is in the package {package}"
    return text if find_spec(root) else f"{text}, which is not installed: pip install {package}"
