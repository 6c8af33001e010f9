"""The rules of imports that the importer of packages shares with the interpreter's."""

from __future__ import annotations

from typing import Any

__all__ = ["calc_package", "check_name", "resolve_name"]


def resolve_name(name: str, package: str, level: int) -> str:
    """The full name of a relative import.

    Args:
        name: what stands behind the dots.
        package: the package in which it stands.
        level: the number of dots.

    Returns:
        The name.

    Raises:
        ImportError: there are more dots than packages.

    Example:
        >>> resolve_name("c", "a.b", 2)
        'a.c'
    """
    parts = package.rsplit(".", level - 1)
    if len(parts) < level or not package:
        raise ImportError("attempted relative import beyond top-level package")
    return f"{parts[0]}.{name}" if name else parts[0]


def check_name(name: Any, package: Any, level: int) -> None:
    """Raises unless these can be arguments of an import.

    Args:
        name: the module's name.
        package: the package in which the import stands.
        level: the number of dots.

    Raises:
        TypeError: the name or the package is no text.
        ValueError: the level is negative, or the name is empty.
        ImportError: a relative import stands in no package.
    """
    if not isinstance(name, str):
        raise TypeError(f"module name must be str, not {type(name)}")
    if level < 0:
        raise ValueError("level must be >= 0")
    if level > 0:
        if not isinstance(package, str):
            raise TypeError("__package__ not set to a string")
        if not package:
            raise ImportError("attempted relative import with no known parent package")
    if not name and level == 0:
        raise ValueError("Empty module name")


def calc_package(names: dict[str, Any]) -> str:
    """The package in which code stands.

    Args:
        names: the globals of the code.

    Returns:
        The package's name.
    """
    package = names.get("__package__")
    spec = names.get("__spec__")
    if package is not None:
        return str(package)
    if spec is not None:
        return str(spec.parent)
    name = str(names["__name__"])
    return name if "__path__" in names else name.rpartition(".")[0]
