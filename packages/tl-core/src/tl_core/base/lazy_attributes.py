"""Attributes of packages that are imported when somebody asks for them.

A library that takes one name of a package must not pay for the modules of all others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from tl_core.base.public_names import listed_names

__all__ = ["attach"]


class _ObjectsFirst(ModuleType):
    """A package of which a function isn't hidden by the submodule of its name, which importing it would do."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in self.__dict__["_objects_first"]):
            super().__setattr__(name, value)


def attach(
    package: str, attributes: Mapping[str, Iterable[str]], submodules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """What a package needs to import its attributes when they are first asked for.

    Args:
        package: the package's full name.
        attributes: names by the submodule that has them. Where a name is also its submodule's, it is the object.
        submodules: further submodules that are attributes, and public.

    Returns:
        The package's `__getattr__` and `__dir__`, and the names of its objects, sorted, for `__all__`.

    Example:
        >>> look_up, names, objects = attach("json", {"decoder": ["JSONDecodeError"]}, ["tool"])
        >>> look_up("JSONDecodeError").__name__, look_up("tool").__name__, objects
        ('JSONDecodeError', 'json.tool', ['JSONDecodeError'])
    """
    homes = {name: submodule for submodule, names in attributes.items() for name in names}
    modules = {name for name in (*attributes, *submodules) if "." not in name}
    _put_objects_first(sys.modules[package], modules.intersection(homes))

    def look_up(name: str) -> Any:
        if name in homes:
            value = getattr(import_module(f"{package}.{homes[name]}"), name)
            sys.modules[package].__dict__[name] = value  # found without this function from now on
            return value
        if name in modules:
            return import_module(f"{package}.{name}")
        raise AttributeError(
            f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package]
        )

    def names() -> list[str]:
        return listed_names(sys.modules[package], {*homes, *submodules})

    return look_up, names, sorted(homes)


def _put_objects_first(package: ModuleType, names: set[str]) -> None:
    if names:
        package.__dict__["_objects_first"] = names
        package.__class__ = _ObjectsFirst
