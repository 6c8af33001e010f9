"""Checked access to attributes of objects whose class the code doesn't state."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any

from tl_core.extensions.custom_classes import ScriptObject, class_of, method_of

from .classes import Declaration

__all__ = ["Attributes", "bound_method"]


def bound_method(owner: str, name: str) -> Callable[..., Any]:
    """Returns a method of a class that an extension registered, as a function of the object and the arguments.

    Args:
        owner (str): The name of the class in schemas.
        name (str): The name of the method. Attributes have the methods `name_getter` and `name_setter`.

    Returns:
        Callable[..., Any]: The function. One of a static method takes the arguments alone.

    Raises:
        RuntimeError: There is no such class or method.
    """
    kind = class_of(owner)
    method = method_of(owner, name)
    if method is None:
        raise RuntimeError(f"Method {name!r} is not defined by the class {owner.rpartition('.')[2]!r}")
    if name == "__init__":
        return kind.__init__
    function = method.function
    return lambda *values: function(*values)


class Attributes:
    """Reads attributes and methods of objects of the archive's classes, and of no other object.

    Args:
        classes: the classes of the archive.
    """

    def __init__(self, classes: Mapping[str, type]) -> None:
        self._classes = classes

    def _declaration(self, owner: Any) -> Declaration | None:
        declaration = type(owner).__dict__.get("_declaration")
        return declaration if isinstance(declaration, Declaration) else None

    def read(self, owner: Any, name: str) -> Any:
        """Returns an attribute.

        Raises:
            RuntimeError: the object's class declares no such attribute.
        """
        declaration = self._declaration(owner)
        if declaration is not None and name in declaration.attributes:
            return getattr(owner, name)
        if isinstance(owner, enum.Enum) and name in ("name", "value"):
            return getattr(owner, name)
        if isinstance(owner, tuple) and name in getattr(type(owner), "_fields", ()):
            return owner[type(owner)._fields.index(name)]  # type: ignore[attr-defined]  # a named tuple
        raise RuntimeError(
            f"an object of {type(owner).__name__!r} has no attribute {name!r} that the archive declares"
        )

    def method(self, owner: Any, name: str) -> Any:
        """Returns a method, bound to the object.

        Raises:
            RuntimeError: the object's class declares no such method.
        """
        if isinstance(owner, ScriptObject):
            return bound_method(type(owner)._qualified_name, name).__get__(owner)
        declaration = self._declaration(owner)
        if declaration is None or name not in declaration.methods:
            raise RuntimeError(
                f"an object of {type(owner).__name__!r} has no method {name!r} that the archive declares"
            )
        return type(owner)._program.method(declaration.name, name).__get__(owner)
