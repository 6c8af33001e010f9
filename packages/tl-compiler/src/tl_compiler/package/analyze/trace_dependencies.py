"""Which modules a function uses."""

import sys
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["trace_dependencies"]


def trace_dependencies(callable: Callable[..., Any], inputs: Iterable[tuple[Any, ...]]) -> list[str]:
    """Calls a function and notes the modules whose code runs.

    Args:
        callable: the function.
        inputs: the arguments of each call.

    Returns:
        The names of the modules, in order.

    Example:
        >>> isinstance(trace_dependencies(sorted, [([2, 1],)]), list)
        True
    """
    names: set[str] = set()

    def note(frame: Any, event: str, arg: Any) -> None:
        name = frame.f_globals.get("__name__")
        if event == "call" and name:
            names.add(name)
        elif event == "c_call" and getattr(arg, "__module__", None):
            names.add(arg.__module__)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for args in inputs:
            callable(*args)
    finally:
        sys.setprofile(before)
    return sorted(names - {__name__})
