"""Rows of the table of device modules: functions, classes and second names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tl_backends.device_answers import Answer, refuse

__all__ = ["REFUSE", "Class", "Row", "Same"]


# A function or method: its name, arguments and result as in a definition, its docstring, and what a call answers, which
# is the error of a device that isn't there unless something else is given.
Row = tuple[str, str | None] | tuple[str, str | None, Answer]
REFUSE = refuse()


@dataclass(frozen=True, slots=True)
class Class:
    """A class of device modules.

    Args:
        modules: those that have it, with spaces between.
        signature: its name and the arguments of its constructor; the name alone if the base class has one.
        doc: its docstring; `{device}` stands for the kind of device.
        answer: what the constructor does, called with the instance as the argument `self`.
        base: the class that it derives from, or the name of one of the same module.
        members: its methods; a property, a class method or a static method has its decorator before its name.
    """

    modules: str
    signature: str
    doc: str
    answer: Answer = REFUSE
    base: type | str = object
    members: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class Same:
    """An existing object, or a second name for one, that device modules have under a name.

    Args:
        modules: those that have it, with spaces between.
        name: its name there.
        what: the object, or another name of the module.
    """

    modules: str
    name: str
    what: Any
