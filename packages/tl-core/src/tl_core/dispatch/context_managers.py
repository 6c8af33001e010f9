"""`torch.utils._contextlib`: contexts that decorate functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tl_core.dispatch.grad_mode import _ContextDecorator

__all__: list[str] = []


class _DecoratorContextManager(_ContextDecorator):
    """A context that also decorates functions: each call runs in a clone of it."""


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The same, without parentheses: `@context`."""

    def __new__(cls, orig_func: Any = None) -> Any:
        manager = object.__new__(cls)
        if orig_func is None:
            return manager
        manager.__init__()  # type: ignore[misc]
        return manager(orig_func)


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """The function, each call of it in a context.

    Args:
        ctx: the context, or a function that makes one for each call.
        func: the function.
    """
    is_context = isinstance(ctx, AbstractContextManager) and not isinstance(ctx, type)
    make = (lambda: ctx) if is_context else ctx

    if inspect.isgeneratorfunction(func):
        return _around_steps(make, func)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with make():
            return func(*args, **kwargs)

    return wrapped


def _around_steps(make: Callable[[], Any], func: Callable[..., Any]) -> Callable[..., Any]:
    """A generator whose steps each run in a context, and its caller between them does not."""

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        generator, reply, failure = func(*args, **kwargs), None, None
        while True:
            try:
                with make():
                    item = generator.send(reply) if failure is None else generator.throw(failure)
            except StopIteration as end:
                return end.value
            reply = failure = None
            try:
                reply = yield item
            except GeneratorExit:
                with make():
                    generator.close()
                raise
            except BaseException as error:
                failure = error

    return wrapped
