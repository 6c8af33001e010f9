"""The kinds of quantization, as values and as names."""

from __future__ import annotations

import enum

__all__ = ["QuantType", "quant_type_from_str", "quant_type_to_str"]


class QuantType(enum.IntEnum):
    """A kind of quantization."""

    DYNAMIC = 0
    STATIC = 1
    QAT = 2
    WEIGHT_ONLY = 3


def quant_type_to_str(quant_type: QuantType) -> str:
    """The name of a kind in dictionaries.

    Args:
        quant_type: the kind.

    Example:
        >>> quant_type_to_str(QuantType.WEIGHT_ONLY)
        'weight_only'
    """
    return quant_type.name.lower()


def quant_type_from_str(name: str) -> QuantType:
    """The kind of a name.

    Args:
        name: `static`, `dynamic`, `qat` or `weight_only`.

    Raises:
        ValueError: If no kind has this name.

    Example:
        >>> quant_type_from_str("static").name
        'STATIC'
    """
    for kind in QuantType:
        if quant_type_to_str(kind) == name:
            return kind
    names = ", ".join(map(quant_type_to_str, QuantType))
    raise ValueError(f"a quantization type must be one of {names}, but got {name!r}")


def _get_quant_type_to_str(quant_type: QuantType) -> str:
    return quant_type_to_str(quant_type)


def _quant_type_from_str(name: str) -> QuantType:
    return quant_type_from_str(name)
