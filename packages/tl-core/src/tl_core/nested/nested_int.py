"""The size of a ragged dimension: a name for the lengths of the components."""

from __future__ import annotations

import weakref
from typing import Any

from tl_core._C import Tensor

__all__ = ["NestedInt"]

_ids: dict[int, tuple[weakref.ref[Tensor], int]] = {}
_last_id = 0


def ragged_id(source: Tensor) -> int:
    """The number of a tensor of offsets or lengths; one object has one number for life."""
    global _last_id
    entry = _ids.get(id(source))
    if entry is not None and entry[0]() is source:
        return entry[1]
    _last_id += 1
    key = id(source)
    _ids[key] = (weakref.ref(source, lambda _: _ids.pop(key, None)), _last_id)
    return _last_id


class NestedInt:
    """The size of a ragged dimension, which is not one number: `j1`, or a multiple of it such as `3*j1`.

    Two are equal if they stand for the same offsets and the same multiple, and none equals an int. A ragged
    dimension is taken to be at least 2 long; no more is known of its order.

    Args:
        id: which offsets.
        factor: the multiple.

    Example:
        >>> j = NestedInt(1, 1)
        >>> j, 3 * j, j == NestedInt(1, 1), j == 2, j >= 2
        (j1, 3*j1, True, False, True)
    """

    __slots__ = ("factor", "id")

    def __init__(self, id: int, factor: int = 1) -> None:
        self.id, self.factor = id, factor

    def __repr__(self) -> str:
        return f"j{self.id}" if self.factor == 1 else f"{self.factor}*j{self.id}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NestedInt) and (self.id, self.factor) == (other.id, other.factor)

    def __hash__(self) -> int:
        return hash((self.id, self.factor))

    def __bool__(self) -> bool:
        return True

    def __mul__(self, factor: Any) -> NestedInt:
        if isinstance(factor, NestedInt):
            raise ValueError(f"the product of the ragged sizes {self} and {factor} has no meaning")
        if not isinstance(factor, int):
            return NotImplemented
        return NestedInt(self.id, self.factor * factor)

    __rmul__ = __mul__

    def _at_least(self, other: Any) -> bool:
        """self >= other, where that can be told."""
        if isinstance(other, NestedInt) and self.id == other.id:
            return self.factor >= other.factor
        if isinstance(other, int) and other <= 2:
            return True
        raise ValueError(f"whether {self} is at least {other} is not known: relation is indeterminate")

    def _at_most(self, other: Any) -> bool:
        if isinstance(other, NestedInt):
            return other._at_least(self)
        if isinstance(other, int) and other < 2:
            return False
        raise ValueError(f"whether {self} is at most {other} is not known: relation is indeterminate")

    def __ge__(self, other: Any) -> bool:
        return self._at_least(other)

    def __le__(self, other: Any) -> bool:
        return self._at_most(other)

    def __lt__(self, other: Any) -> bool:
        if isinstance(other, int) and other > 2:
            raise ValueError(f"whether {self} is less than {other} is not known: relation is indeterminate")
        return not self._at_least(other)

    def __gt__(self, other: Any) -> bool:
        if isinstance(other, int) and other >= 2:
            raise ValueError(f"whether {self} exceeds {other} is not known: relation is indeterminate")
        return not self._at_most(other)
