"""The members of classes that the reference documents: those of a class's own page, and those of its bases' pages.

A member belongs to the page of the most basic public class that has it. So `Linear.parameters` is on the page of
`Module`, although a mixin without a page defines it, and the page of `Linear` links there.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from tools import public_names
from tools.packages import packages

PACKAGES = frozenset(p.import_name for p in packages().values())


def is_ours(cls: type) -> bool:
    """Whether a class is of this repository, not of Python's library."""
    home: str = public_names.home_of(cls)
    return home.partition(".")[0] in PACKAGES


def definer(cls: type, name: str) -> type | None:
    """The class in the order of resolution whose attribute `name` is."""
    return next((base for base in cls.__mro__ if name in vars(base)), None)


def page_class(cls: type, name: str, has_page: Callable[[type], bool]) -> type | None:
    """The class whose page documents an attribute of `cls`; None for an attribute of Python's own classes."""
    source = definer(cls, name)
    if source is None or not is_ours(source):
        return None
    bases = (base for base in reversed(cls.__mro__) if has_page(base) or base is cls)
    return next(base for base in bases if definer(base, name) is source)


def members(cls: type, has_page: Callable[[type], bool]) -> dict[type, list[str]]:
    """The public members of a class under the classes whose pages document them, the class itself first."""
    result: dict[type, list[str]] = {cls: []}
    for name in dir(cls):
        owner = None if name.startswith("_") else page_class(cls, name, has_page)
        if owner is not None:
            result.setdefault(owner, []).append(name)
    return result


def attributes_section(cls: type) -> list[str]:
    """The attributes that the docstring of a class describes, whose entries the docstring makes."""
    _, _, text = (inspect.getdoc(cls) or "").partition("\nAttributes:\n")
    section = re.split(r"^\S", text, maxsplit=1, flags=re.MULTILINE)[0]
    return re.findall(r"^    (\w+)(?: \(.*\))?:", section, flags=re.MULTILINE)


def kind_of(value: Any) -> str:
    """The directive of autodoc for a value of a module."""
    if inspect.isclass(value):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function" if inspect.isroutine(value) else "data"


def member_kind(cls: type, name: str) -> str:
    """The directive of autodoc for a member of a class."""
    value = getattr(cls, name, None)
    if inspect.isclass(value) and value.__qualname__ == f"{cls.__qualname__}.{name}":
        return "class"
    return "method" if inspect.isroutine(value) else "attribute"
