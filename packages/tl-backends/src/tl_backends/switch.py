"""Switches of tl-core, shown as attributes of a module: `tl.backends.cudnn.benchmark = True`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from tl_core.settings import switches


def check_type(name: str, expected: type, value: Any) -> None:
    """Refuses another type's value, also of a type derived from the expected one.

    Args:
        name: the switch, for the error.
        expected: the type.
        value: the value given.
    """
    if type(value) is not expected:
        raise RuntimeError(f"{name} expects a {expected.__name__}, but got {type(value).__name__}: {value!r}")


class Switch:
    """A descriptor that reads and writes one switch.

    Args:
        name: the switch, named like the attribute it is: `backends.cudnn.enabled`.
        default: its value at the start; it also fixes the type of all others.
        choices: the only values it takes; any, if not given.
    """

    def __init__(self, name: str, default: Any, choices: tuple = ()):
        self.name, self.type, self.choices = name, type(default), choices
        switches.declare(name, default, self.type)

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        return switches.get(self.name)

    def __set__(self, owner: object, value: Any) -> None:
        check_type(self.name, self.type, value)
        if self.choices and value not in self.choices:
            raise RuntimeError(
                f"{self.name} must be one of {', '.join(map(repr, self.choices))}, but got {value!r}"
            )
        switches.set(self.name, value)


class Fixed:
    """A descriptor for what cannot be changed here, such as the presence of a library."""

    def __init__(self, name: str, value: Any):
        self.name, self.value = name, value

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        return self.value

    def __set__(self, owner: object, value: Any) -> None:
        raise RuntimeError(f"{self.name} is always {self.value!r} here and cannot be set; got {value!r}")


def attach(module: str, **attributes: Any) -> None:
    """Gives a module, named by its `__name__`, attributes that are descriptors."""
    kind = type("SwitchModule", (ModuleType,), {"__doc__": "A module with switches.", **attributes})
    sys.modules[module].__class__ = kind


def assign(module: str, values: dict[str, Any]) -> tuple:
    """Sets those attributes of a module whose new value isn't None; returns what all of them were."""
    owner = sys.modules[module]
    before = tuple(getattr(owner, name) for name in values)
    for name, value in values.items():
        if value is not None:
            setattr(owner, name, value)
    return before


@contextmanager
def overridden(module: str, values: dict[str, Any]) -> Iterator[None]:
    """Sets attributes of a module for the time of a `with` block."""
    before = dict(zip(values, assign(module, dict.fromkeys(values)), strict=True))
    try:
        assign(module, values)
        yield
    finally:
        assign(module, before)
