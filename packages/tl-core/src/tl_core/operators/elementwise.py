"""The functions of the main namespace that compute each element of a result from one of each input."""

from __future__ import annotations

import functools

from tl_core import _C
from tl_core.operators.second_names import FIRST_NAMES

__all__ = ["elementwise_functions"]


@functools.cache
def elementwise_functions(tensors: int | None = None) -> frozenset[str]:
    """The names of elementwise functions, with their second names.

    Args:
        tensors: the number of tensors in a signature of the function; None for any.

    Example:
        >>> {"clamp", "clip", "sin"} <= elementwise_functions(tensors=1), "add" in elementwise_functions(tensors=1)
        (True, False)
    """
    names = {
        operator.partition(".")[0]
        for operator, schema in _C._operators().items()
        if _is_public(operator.partition(".")[0])
        and tensors in (None, _tensors_in(schema))
        and _C._operator_facts(operator)[6]
    }
    return frozenset(names | {second for second, first in FIRST_NAMES.items() if first in names})


def _is_public(name: str) -> bool:
    of_torch = "::" not in name and not name.startswith(("_", "special_"))
    return of_torch and not name.endswith(("_", "_backward", "_error"))


def _tensors_in(schema: str) -> int:
    """The number of arguments that are tensors."""
    arguments = schema.partition("(")[2].rpartition(") -> ")[0]
    return sum(argument.lstrip().startswith("Tensor") for argument in arguments.split(","))
