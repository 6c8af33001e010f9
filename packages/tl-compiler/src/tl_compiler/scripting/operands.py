"""What names and expressions stand for while a function is compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..script.types import Type

__all__ = ["UNSET", "Bound", "Items", "ModuleValue", "Operand", "PythonValue", "SliceOperand", "Value"]


class _Unset:
    """No constant."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Any = _Unset()


class Operand:
    """What an expression stands for."""


@dataclass
class Value(Operand):
    """A value of the running program.

    Args:
        text: its code.
        type: its type.
        constant: its value, where the compiler knows it.
        fields: for a tuple whose fields are known operands, these.
        slot: whether the code is the name of a variable that can be assigned.
        origin: for a variable whose type a condition narrowed, the value before.
    """

    text: str
    type: Type
    constant: Any = UNSET
    fields: list[Value] | None = None
    slot: bool = False
    origin: Value | None = None

    @property
    def is_known(self) -> bool:
        """Whether the compiler knows the value."""
        return self.constant is not UNSET


@dataclass
class ModuleValue(Operand):
    """A module of the compiled one.

    Args:
        text: the code that reads it.
        module: the module.
        name: the dotted name of its class.
    """

    text: str
    module: Any
    name: str


@dataclass
class PythonValue(Operand):
    """A value of Python: a function, class, module or constant.

    Args:
        value: the value.
        name: how the program calls it, for messages.
        holder: the name of the module's class whose attribute it is, or "".
    """

    value: Any
    name: str = ""
    holder: str = ""


@dataclass
class Bound(Operand):
    """A method of a value.

    Args:
        owner: the value or module.
        name: the name of the method.
    """

    owner: Value | ModuleValue
    name: str


@dataclass
class SliceOperand(Operand):
    """The bounds of a slice.

    Args:
        bounds: the first index, the last one and the step; None for a bound that isn't stated.
    """

    bounds: list[Value | None]


@dataclass
class Items(Operand):
    """Operands that a loop or an unpacking takes one after the other while the function is compiled.

    Args:
        values: the operands.
    """

    values: list[Any]
