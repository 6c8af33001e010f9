"""The functions of Python that symbolic numbers are computed with, by name: graphs, files and nodes share them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

__all__ = ["ARITHMETIC", "PYTHON_OPERATORS", "ROUNDING"]


def _of_operator(*names: str) -> dict[str, Callable[..., Any]]:
    return {name: getattr(operator, name) for name in names}


ARITHMETIC = _of_operator(
    *("add", "sub", "mul", "mod", "floordiv", "truediv", "neg", "lshift", "rshift"),
    *("eq", "ne", "lt", "le", "gt", "ge"),
)
# What else of `operator` may stand in the graph of a program.
PYTHON_OPERATORS = ARITHMETIC | _of_operator("getitem", "pos", "pow", "and_", "or_", "not_", "xor")
ROUNDING: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "round": round,
    "trunc": math.trunc,
    "floor": math.floor,
    "ceil": math.ceil,
}
