"""Former meanings of operators: an archive states a version, and means what its operators meant in that version.

| until version | operator | former meaning |
|---|---|---|
| 3 | `div`, `div_` | the division of integers truncates |
| 4 | `full` | the result of an integer or a truth value is of float32 |
| 7, 8 | `linspace`, `logspace` | 100 steps where the steps are None |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_core import Tensor

__all__ = ["differing_operators", "upgrade"]

Function = Callable[..., Any]


def upgrade(name: str, version: int, bind: Callable[[], Function]) -> Function:
    """Returns the function of an operator as it was in a version.

    Args:
        name: the operator's name, such as "div".
        version: the version that the archive states.
        bind: returns the operator as it is now.

    Example:
        >>> former = upgrade("div", 3, lambda: tl_core.div)
        >>> former(tl_core.tensor([7, -7]), 2)
        tensor([ 3, -3])
    """
    last, former = _FORMER.get(name, (0, None))
    return former(bind()) if former is not None and version <= last else bind()


def differing_operators(names: set[str], first: int, second: int) -> set[str]:
    """Returns those of some operators whose meaning differs between two versions.

    Args:
        names: the operators' names.
        first, second: the versions.

    Example:
        >>> differing_operators({"div", "relu"}, 3, 10)
        {'div'}
    """
    return {n for n in names if n in _FORMER and (first <= _FORMER[n][0]) is not (second <= _FORMER[n][0])}


def _is_integer(value: Any) -> bool:
    if isinstance(value, Tensor):
        return not (value.is_floating_point() or value.is_complex())
    return isinstance(value, int)


def _truncating(divide: Function) -> Function:
    def call(first: Any, second: Any, *rest: Any, **keywords: Any) -> Any:
        involves_tensors = isinstance(first, Tensor) or isinstance(second, Tensor)
        if involves_tensors and _is_integer(first) and _is_integer(second) and not rest:
            keywords.setdefault("rounding_mode", "trunc")
        return divide(first, second, *rest, **keywords)

    return call


def _truncating_division(current: Function) -> Function:
    return _truncating(_divide)


def _divide(first: Any, second: Any, *rest: Any, **keywords: Any) -> Any:
    if isinstance(first, Tensor) or isinstance(second, Tensor):
        return tl_core.div(first, second, *rest, **keywords)
    return first / second


def _truncating_division_in_place(current: Function) -> Function:
    return _truncating(Tensor.div_)


def _floating_fill(full: Function) -> Function:
    def call(size: Any, fill_value: Any, *rest: Any, **keywords: Any) -> Any:
        states_type = keywords.get("dtype") is not None or (rest and rest[0] is not None)
        value = fill_value if states_type or isinstance(fill_value, complex) else float(fill_value)
        return full(size, value, *rest, **keywords)

    return call


def _hundred_steps(space: Function) -> Function:
    def call(start: Any, end: Any, steps: Any = None, *rest: Any, **keywords: Any) -> Any:
        return space(start, end, 100 if steps is None else steps, *rest, **keywords)

    return call


_FORMER: dict[str, tuple[int, Callable[[Function], Function]]] = {
    "div": (3, _truncating_division),
    "div_": (3, _truncating_division_in_place),
    "full": (4, _floating_fill),
    "linspace": (7, _hundred_steps),
    "logspace": (8, _hundred_steps),
}
