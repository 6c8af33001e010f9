"""Functions that are recorded as one call instead of being traced through."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["wrap", "wrapped_names"]

# What was given to wrap(): by the globals of the module and the name there.
wrapped_names: dict[tuple[int, str], dict[str, Any]] = {}


def wrap(fn_or_name: str | Callable[..., Any]) -> str | Callable[..., Any]:
    """Lets a function of this module be recorded as one call instead of being traced through.

    Called at the top level of a module, with the name of a global there (of a builtin, too), or as a decorator.

    Args:
        fn_or_name: the name, or the function.

    Returns:
        The argument.

    Raises:
        RuntimeError: the argument is neither, or the call is not at the top level of a module.

    Example:
        >>> @wrap
        ... def scale(x, by):
        ...     return x * int(by)
        >>> from tl_compiler.fx import symbolic_trace
        >>> symbolic_trace(lambda x: scale(x, 2)).graph.find_nodes(op="call_function")
        [scale]
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(f"wrap takes a function or the name of one, got {type(fn_or_name).__name__}")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    caller = inspect.currentframe().f_back  # type: ignore[union-attr]
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    if callable(fn_or_name) and hasattr(fn_or_name, "__code__"):
        fn_or_name._fx_wrapped = True  # type: ignore[attr-defined]
    wrapped_names[id(caller.f_globals), name] = caller.f_globals
    return fn_or_name
