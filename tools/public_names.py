"""The public modules of the packages, and the names that each of them offers."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import typing
from collections.abc import Iterator
from types import ModuleType
from typing import Any

CONSTANT = (bool, int, float, str, tuple, list, dict, type(None))


def modules(package: str) -> list[ModuleType]:
    """A package and its modules without an underscore; nothing is run that isn't meant to be imported."""
    top = importlib.import_module(package)
    below = (m.name for m in pkgutil.walk_packages(top.__path__, f"{package}."))
    return [top, *(importlib.import_module(name) for name in sorted(below) if is_public(name))]


def is_public(dotted: str) -> bool:
    """Whether no part of a name begins with an underscore; versions are no part of an interface."""
    parts = dotted.split(".")
    return not any(part.startswith("_") for part in parts) and parts[-1] != "version"


def names(module: ModuleType) -> list[str]:
    """What a module offers: `__all__`, or else what it defines; a package also offers what its modules define."""
    listed = getattr(module, "__all__", None)
    if listed is None:
        listed = [name for name, value in vars(module).items() if defines(module, name, value)]
    return [n for n in listed if not n.startswith("_") and not inspect.ismodule(getattr(module, n))]


def defines(module: ModuleType, name: str, value: Any) -> bool:
    """Whether a value of a module without `__all__` is its own, and not one that it imports to use it."""
    if vars(typing).get(name, module) is value or inspect.ismodule(value):
        return False
    home = home_of(value)
    if isinstance(value, CONSTANT):
        return name.isupper() or hasattr(module, "__path__")
    return home == module.__name__ or (hasattr(module, "__path__") and home.startswith(module.__name__ + "."))


def home_of(value: Any) -> str:
    """The module that defines a class or a function, or the class of any other object."""
    home = getattr(value, "__module__", None)
    return home if isinstance(home, str) else type(value).__module__


def entries(package: str) -> Iterator[tuple[ModuleType, list[str]]]:
    """Each public module with the names that no package above it offers: `tl_nn.modules.Linear` is `tl_nn.Linear`."""
    offered: dict[tuple[str, str], Any] = {}
    for module in modules(package):
        own = []
        for name in names(module):
            value = getattr(module, name)
            offered[module.__name__, name] = value
            if not any(offered.get((above, name), module) is value for above in above_of(module.__name__)):
                own.append(name)
        yield module, own


def above_of(dotted: str) -> Iterator[str]:
    """The packages above a module: `a.b.c` → `a.b`, `a`."""
    while "." in dotted:
        dotted = dotted.rpartition(".")[0]
        yield dotted
