"""`torch.utils._ordered_set`: a set that remembers the order in which its elements came."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, MutableSet, Reversible
from collections.abc import Set as AbstractSet
from typing import Any, Generic, TypeVar

__all__ = ["OrderedSet"]

T = TypeVar("T", bound=Hashable)


class OrderedSet(MutableSet[T], Reversible[T], Generic[T]):
    """A set whose elements are in the order in which they were added.

    Args:
        iterable: the elements.

    Example:
        >>> OrderedSet([3, 1, 3]) | [2]
        OrderedSet([3, 1, 2])
    """

    __slots__ = ("_dict",)

    def __init__(self, iterable: Iterable[T] | None = None) -> None:
        self._dict: dict[T, None] = dict.fromkeys(iterable or ())

    def __contains__(self, elem: object) -> bool:
        return elem in self._dict

    def __iter__(self) -> Iterator[T]:
        return iter(self._dict)

    def __reversed__(self) -> Iterator[T]:
        return reversed(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, OrderedSet):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)})"

    def __getstate__(self) -> list[T]:
        return list(self._dict)

    def __setstate__(self, state: list[T]) -> None:
        self._dict = dict.fromkeys(state)

    def add(self, elem: T) -> None:
        """Adds an element, behind the others.

        Args:
            elem: the element.
        """
        self._dict[elem] = None

    def discard(self, elem: T) -> None:
        """Takes an element out; nothing happens if there is none.

        Args:
            elem: the element.
        """
        self._dict.pop(elem, None)

    def clear(self) -> None:
        """Takes all elements out."""
        self._dict.clear()

    def copy(self) -> OrderedSet[T]:
        """A set of the same elements."""
        return OrderedSet(self)

    def pop(self) -> T:
        """Takes out the element that came last, and returns it.

        Raises:
            KeyError: the set is empty.
        """
        if not self._dict:
            raise KeyError("pop from an empty set")
        return self._dict.popitem()[0]

    def update(self, *others: Iterable[T]) -> None:
        """Adds the elements of others.

        Args:
            others: the others.
        """
        for other in others:
            self._dict.update(dict.fromkeys(other))

    def union(self, *others: Iterable[T]) -> OrderedSet[T]:
        """The elements of this set and of others.

        Args:
            others: the others.
        """
        result = self.copy()
        result.update(*others)
        return result

    def _filter(
        self, others: Iterable[Iterable[T]], keep: Callable[[T, list[AbstractSet[T]]], bool]
    ) -> OrderedSet[T]:
        sets: list[AbstractSet[T]] = [
            other if isinstance(other, AbstractSet) else OrderedSet(other) for other in others
        ]
        return OrderedSet(elem for elem in self if keep(elem, sets))

    def intersection(self, *others: Iterable[T]) -> OrderedSet[T]:
        """The elements that all others have, too.

        Args:
            others: the others.
        """
        return self._filter(others, lambda elem, sets: all(elem in one for one in sets))

    def difference(self, *others: Iterable[T]) -> OrderedSet[T]:
        """The elements that none of the others has.

        Args:
            others: the others.
        """
        return self._filter(others, lambda elem, sets: not any(elem in one for one in sets))

    def symmetric_difference(self, other: Iterable[T]) -> OrderedSet[T]:
        """The elements that one of the two sets has.

        Args:
            other: the other.
        """
        second = OrderedSet(other)
        return self.difference(second).union(second.difference(self))

    def intersection_update(self, *others: Iterable[T]) -> None:
        """Keeps the elements that all others have.

        Args:
            others: the others.
        """
        self._dict = self.intersection(*others)._dict

    def difference_update(self, *others: Iterable[T]) -> None:
        """Takes out the elements of others.

        Args:
            others: the others.
        """
        self._dict = self.difference(*others)._dict

    def symmetric_difference_update(self, other: Iterable[T]) -> None:
        """Keeps the elements that one of the two sets has.

        Args:
            other: the other.
        """
        self._dict = self.symmetric_difference(other)._dict

    def issubset(self, other: Iterable[T]) -> bool:
        """Whether the other has all elements.

        Args:
            other: the other.
        """
        return not self.difference(other)

    def issuperset(self, other: Iterable[T]) -> bool:
        """Whether this set has all elements of the other.

        Args:
            other: the other.
        """
        return all(elem in self for elem in other)

    def _operator(name: str) -> Any:  # type: ignore[misc]
        """An operator between sets, which takes other iterables as well."""

        def apply(self: OrderedSet[T], other: Any) -> Any:
            return getattr(self, name)(other) if isinstance(other, Iterable) else NotImplemented

        return apply

    def _reflect(name: str) -> Any:  # type: ignore[misc]
        def apply(self: OrderedSet[T], other: Any) -> Any:
            return getattr(OrderedSet(other), name)(self) if isinstance(other, Iterable) else NotImplemented

        return apply

    def _in_place(name: str) -> Any:  # type: ignore[misc]
        def apply(self: OrderedSet[T], other: Any) -> Any:
            getattr(self, name)(other)
            return self

        return apply

    __or__, __ror__, __ior__ = _operator("union"), _reflect("union"), _in_place("update")
    __and__, __rand__ = _operator("intersection"), _reflect("intersection")
    __iand__ = _in_place("intersection_update")
    __sub__, __rsub__ = _operator("difference"), _reflect("difference")
    __isub__ = _in_place("difference_update")
    __xor__, __rxor__ = _operator("symmetric_difference"), _reflect("symmetric_difference")
    __ixor__ = _in_place("symmetric_difference_update")
