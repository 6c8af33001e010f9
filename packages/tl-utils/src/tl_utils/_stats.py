"""The numbers of calls of functions, by name."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["count", "count_label", "simple_call_counter"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

simple_call_counter: OrderedDict[str, int] = OrderedDict()


def count_label(label: str) -> None:
    """Counts one more under a label.

    Args:
        label: the label.

    Example:
        >>> count_label("here")
        >>> simple_call_counter["here"]
        1
    """
    simple_call_counter[label] = simple_call_counter.get(label, 0) + 1


def count(fn: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """The function, whose calls are counted under its qualified name.

    Args:
        fn: the function.

    Example:
        >>> @count
        ... def twice(x):
        ...     return 2 * x
        >>> twice(3), simple_call_counter["twice"]
        (6, 1)
    """

    @functools.wraps(fn)
    def count_call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        count_label(fn.__qualname__)
        return fn(*args, **kwargs)

    return count_call
