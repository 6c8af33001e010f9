"""Functions of Python whose calls a handler takes over for a while, wherever the program has stored the function.

`allow_in_graph(f)` marks the function itself, and programs call what they had before. So the code of the function is
replaced while a capture runs: a code object that calls a handler stands in its place.
"""

from __future__ import annotations

import contextlib
import threading
import types
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

__all__ = ["intercept_calls", "plain_copy"]

Handler = Callable[..., Any]


def plain_copy(function: FunctionType, code: CodeType | None = None) -> FunctionType:
    """A function that does what another one does, and that no handler takes over.

    Args:
        function: the function.
        code: its code; by default the one that it has now.

    Example:
        >>> def double(x, times=2):
        ...     return times * x
        >>> plain_copy(double)(4), plain_copy(double) is double
        (8, False)
    """
    copy = FunctionType(
        code or function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__dict__.update(function.__dict__)
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    return copy


@contextlib.contextmanager
def intercept_calls(handlers: dict[FunctionType, Handler]) -> Iterator[set[CodeType]]:
    """A region in which calls of functions go to handlers; calls of other threads go to the functions.

    Args:
        handlers: for each function its handler, which takes the arguments of the call.

    Yields:
        The code objects that call handlers.

    Example:
        >>> def double(x):
        ...     return 2 * x
        >>> with intercept_calls({double: lambda x: f"a call with {x}"}):
        ...     double(3)
        'a call with 3'
        >>> double(3)
        6
    """
    thread, before = threading.get_ident(), []
    try:
        for function, handler in handlers.items():
            code, defaults = function.__code__, (function.__defaults__, function.__kwdefaults__)
            call = _Call(plain_copy(function), handler, thread)
            before.append((function, code, defaults, call))
            function.__code__ = _calling(call, code)
            function.__defaults__ = function.__kwdefaults__ = None
        yield {function.__code__ for function in handlers}
    finally:
        for function, code, defaults, call in before:
            function.__code__ = code
            call.handler = None  # the garbage collector sees no cycle through a code object
            function.__defaults__, function.__kwdefaults__ = defaults


class _Call:
    """What runs in place of a function."""

    def __init__(self, plain: FunctionType, handler: Handler, thread: int) -> None:
        self.plain, self.thread = plain, thread
        self.handler: Handler | None = handler

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        handler = self.handler
        if handler is None or threading.get_ident() != self.thread:
            return self.plain(*args, **kwargs)
        return handler(*args, **kwargs)


def _template(*args: Any, **kwargs: Any) -> Any:
    call: Any = "the call"  # an object stands here in each copy of the code
    return call(*args, **kwargs)


def _calling(call: _Call, code: CodeType) -> CodeType:
    """Code that calls an object, with the variables of enclosing functions that other code has."""
    template: types.CodeType = _TEMPLATE
    constants = tuple(call if c == "the call" else c for c in template.co_consts)
    return template.replace(
        co_consts=constants,
        co_freevars=code.co_freevars,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
    )


_TEMPLATE = _template.__code__
