"""`tl.compiler.explain`: what becomes of a call of a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .function import ReplayedFunction, Report

__all__ = ["explain"]


def explain(function: Callable[..., Any]) -> Callable[..., Report]:
    """A function that calls another one and says what `compile` makes of such a call.

    The function is called twice, with all its effects: the second call is recorded.

    Args:
        function: a function, or what `compile` has returned for one.

    Returns:
        A function of the arguments, which returns a `Report`. `str(report)` says how many operators waited for
        others, and whether the call is replayed, or why not, with file and line. For a compiled function, the report
        names the differences from each recorded call.

    Raises:
        TypeError: `function` can't be called.

    Example:
        >>> import tl_core
        >>> def step(x):
        ...     return x.relu() + 1
        >>> print(explain(step)(tl_core.ones(3)))
        step: 0 operators waited and were computed in 0 groups
        replay: 2 functions of C without Python, while 0 dictionaries stay as they are
    """
    if not callable(function):
        raise TypeError(f"explain(function): expected a function, got {type(function).__name__}")
    inner = getattr(function, "_orig_mod", None)
    target = (
        inner.__call__ if inner is not None else getattr(function, "_torchdynamo_orig_callable", function)
    )

    compiled = getattr(getattr(function, "dynamo_ctx", function), "get_compiled", None)

    def run(*args: Any, **kwargs: Any) -> Report:
        replays = None if compiled is None else compiled().replays
        return (replays or ReplayedFunction(target)).explain(args, kwargs)

    return run
