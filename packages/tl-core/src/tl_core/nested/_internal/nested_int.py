"""Ragged sizes as symbolic numbers: what a `SymInt` of one holds."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

from tl_core.nested.nested_int import NestedInt

__all__ = ["NestedIntNode"]


class _Node:
    """A ragged size, or the plain number or answer that one is compared with."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def constant(self) -> Any:
        """The plain number; None for a ragged size."""
        return None if isinstance(self.value, NestedInt) else self.value

    pytype = int

    def maybe_as_constant(self) -> Any:
        """The plain number; None for a ragged size."""
        return self.constant

    def wrap_int(self, value: int) -> _Node:
        """The node of a plain number."""
        return _Node(value)

    wrap_bool = wrap_int

    def __str__(self) -> str:
        return str(self.value)


def _binary(of_values: Callable[[Any, Any], Any]) -> Any:
    def method(self: _Node, other: Any) -> _Node:
        result = of_values(self.value, other.value)
        return NestedIntNode(result.id, result.factor) if isinstance(result, NestedInt) else _Node(result)

    return method


for _name in ("eq", "ne", "lt", "le", "gt", "ge", "mul"):
    setattr(_Node, _name, _binary(getattr(operator, _name)))


class NestedIntNode(_Node):
    """The node of a ragged size.

    Args:
        tensor: which offsets, as a number.
        coeff: the multiple.

    Example:
        >>> from tl_core.symbolic.numbers import SymInt
        >>> j = SymInt(NestedIntNode(1, 1))
        >>> 2 * j, j == 3, j >= 2, j == SymInt(NestedIntNode(1, 1))
        (2*j1, False, True, True)
    """

    def __init__(self, tensor: int, coeff: int = 1) -> None:
        super().__init__(NestedInt(tensor, coeff))

    def nested_int(self) -> int:
        """Which offsets it stands for."""
        return int(self.value.id)

    def nested_int_coeff(self) -> int:
        """The multiple."""
        return int(self.value.factor)

    def is_nested_int(self) -> bool:
        """Whether it is a ragged size: it is."""
        return True

    def int_(self) -> NoReturn:
        """Raises ValueError: a ragged size is no single number."""
        raise ValueError(f"the ragged size {self} is no single number")

    example = int_
