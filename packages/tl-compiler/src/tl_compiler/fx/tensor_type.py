"""Types of tensors whose sizes may be unknown."""

from __future__ import annotations

from typing import Any

from .type_variable import Var

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class TensorType:
    """The type of tensors of some sizes.

    Args:
        dim: the sizes: numbers, `Dyn` for one that isn't known, variables or expressions.

    Example:
        >>> TensorType((1, 3, Dyn, 5))
        TensorType[(1, 3, Dyn, 5)]
        >>> TensorType((1, 2)) == TensorType([1, 2])
        True
    """

    def __init__(self, dim: Any) -> None:
        self.__origin__ = TensorType
        self.__args__ = dim

    def __repr__(self) -> str:
        return f"TensorType[{self.__args__}]"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TensorType):
            return list(self.__args__) == list(other.__args__)
        return False

    def __hash__(self) -> int:
        return hash(tuple(self.__args__))

    @staticmethod
    def __class_getitem__(*args: Any) -> TensorType:
        sizes = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
        return TensorType(tuple(sizes))


class _DynType:
    """The type of what isn't known, consistent with every other."""

    def __init__(self) -> None:
        self.__name__ = "_DynType"

    def __eq__(self, other: object) -> bool:
        return self.__class__ == other.__class__

    def __hash__(self) -> int:
        return hash(_DynType)

    def __str__(self) -> str:
        return "Dyn"

    def __repr__(self) -> str:
        return "Dyn"


Dyn = _DynType()


def is_consistent(t1: Any, t2: Any) -> bool:
    """Whether two types agree where both are known. The relation is symmetric and not transitive.

    Args:
        t1, t2: types of tensors, sizes, or `Dyn`.

    Returns:
        True if they are equal where neither is `Dyn`.

    Example:
        >>> is_consistent(TensorType((1, Dyn)), TensorType((1, 2))), is_consistent(TensorType((1,)), TensorType((2,)))
        (True, False)
    """
    if t1 in (t2, Dyn) or t2 == Dyn or isinstance(t1, Var) or isinstance(t2, Var):
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return len(t1.__args__) == len(t2.__args__) and all(map(is_consistent, t1.__args__, t2.__args__))
    return False


def is_more_precise(t1: Any, t2: Any) -> bool:
    """Whether a type says as much as another one, or more.

    Args:
        t1: the type that may be more precise.
        t2: the other one.

    Returns:
        True if the second is the first with `Dyn` for some of its parts.

    Example:
        >>> is_more_precise(TensorType((1, 2)), TensorType((1, Dyn)))
        True
    """
    if t1 == t2 or isinstance(t2, _DynType):
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return len(t1.__args__) == len(t2.__args__) and all(map(is_more_precise, t1.__args__, t2.__args__))
    return False
