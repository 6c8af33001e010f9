"""The table of what operators are in terms of others, and how functions enter it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tl_core
from tl_core.base.rule_table import RuleTable

__all__ = ["FUNCTIONS", "decomposes", "in_float32"]

Function = Callable[..., Any]
FUNCTIONS: RuleTable[Function] = RuleTable("decomposition")  # by `name.overload`, such as `silu.default`
decomposes = FUNCTIONS.rule
_HALVES = (tl_core.float16, tl_core.bfloat16)


def in_float32(function: Function) -> Function:
    """A decorator: halves are computed with as float32, as kernels do, and the result is of their type."""

    @functools.wraps(function)
    def in_wide(*args: Any, **kwargs: Any) -> Any:
        halves = [a for a in args if isinstance(a, tl_core.Tensor) and a.dtype in _HALVES]
        if not halves:
            return function(*args, **kwargs)
        wide = [
            a.to(tl_core.float32) if isinstance(a, tl_core.Tensor) and a.dtype in _HALVES else a for a in args
        ]
        return function(*wide, **kwargs).to(halves[0].dtype)

    return in_wide
