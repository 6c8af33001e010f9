"""Signatures with any number of arguments of a class."""

from __future__ import annotations

from typing import Any

from .utils import typename

__all__ = ["Variadic", "VariadicSignatureMeta", "VariadicSignatureType", "isvariadic"]


class VariadicSignatureType(type):
    """The metaclass of variadic parts: whether a class is one of theirs."""

    variadic_type: tuple[type, ...]

    def __subclasscheck__(cls, subclass: Any) -> bool:
        types = subclass.variadic_type if isvariadic(subclass) else (subclass,)
        return subclass is cls or all(issubclass(other, cls.variadic_type) for other in types)

    def __eq__(cls, other: object) -> bool:
        return isvariadic(other) and set(cls.variadic_type) == set(other.variadic_type)  # type: ignore[attr-defined]

    def __hash__(cls) -> int:
        return hash((type(cls), frozenset(cls.variadic_type)))


def isvariadic(obj: Any) -> bool:
    """Whether a part of a signature stands for any number of arguments.

    Args:
        obj: the part.

    Returns:
        True if it does.

    Example:
        >>> isvariadic(int), isvariadic(Variadic[int])
        (False, True)
    """
    return isinstance(obj, VariadicSignatureType)


class VariadicSignatureMeta(type):
    """The metaclass that gives `Variadic[int]` its meaning."""

    def __getitem__(cls, variadic_type: Any) -> Any:
        if not isinstance(variadic_type, (type, tuple)):
            raise ValueError(
                "Variadic types must be type or tuple of types (Variadic[int] or Variadic[(int, float)]"
            )
        kinds = variadic_type if isinstance(variadic_type, tuple) else (variadic_type,)
        return VariadicSignatureType(
            f"Variadic[{typename(variadic_type)}]", (), {"variadic_type": kinds, "__slots__": ()}
        )


class Variadic(metaclass=VariadicSignatureMeta):
    """`Variadic[int]` in a signature: any number of arguments of that class."""
