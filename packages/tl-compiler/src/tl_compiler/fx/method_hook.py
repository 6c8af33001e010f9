"""Methods of classes that a handler of one thread takes over for a while: calls and attributes of modules."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tl_nn
from tl_autograd import Function

__all__ = ["FUNCTION_CALLS", "MODULE_CALLS", "MODULE_READS", "MethodHook"]

Handler = Callable[..., Any]  # of the class's own method, the object or class of the call, and the arguments


class MethodHook:
    """A method of a class that a handler takes over in regions of its thread.

    The class has its own method while no thread is in a region, so that calls cost nothing then. Threads without a
    handler call the class's own method.

    Args:
        owner: the class.
        name: a method or a class method of the class.

    Example:
        >>> class Greeter:
        ...     def greet(self, name):
        ...         return f"hello {name}"
        >>> hook = MethodHook(Greeter, "greet")
        >>> with hook.handle(lambda method, greeter, name: method(greeter, name).upper()):
        ...     Greeter().greet("you")
        'HELLO YOU'
        >>> Greeter().greet("you")
        'hello you'
    """

    def __init__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name
        self._thread = threading.local()
        self._lock = threading.Lock()
        self._regions = 0  # in force, in all threads

    @contextmanager
    def handle(self, handler: Handler | None) -> Iterator[None]:
        """A region in which the thread's calls go to the handler.

        Args:
            handler: takes the class's own method, then the object or class of the call and the arguments. None: calls
                go to the class's own method.
        """
        outer = getattr(self._thread, "handler", None)
        self._thread.handler = handler
        self._enter()
        try:
            yield
        finally:
            self._leave()
            self._thread.handler = outer

    def _enter(self) -> None:
        with self._lock:
            self._regions += 1
            if self._regions == 1:
                self._own = vars(self.owner).get(self.name)  # None: the class inherits it
                setattr(
                    self.owner, self.name, self._replacement(inspect.getattr_static(self.owner, self.name))
                )

    def _leave(self) -> None:
        with self._lock:
            self._regions -= 1
            if self._regions == 0 and self._own is None:
                delattr(self.owner, self.name)
            elif self._regions == 0:
                setattr(self.owner, self.name, self._own)

    def _replacement(self, attribute: Any) -> Any:
        is_class_method = isinstance(attribute, classmethod)
        method = attribute.__func__ if is_class_method else attribute
        thread = self._thread

        @functools.wraps(method)
        def call(target: Any, /, *args: Any, **kwargs: Any) -> Any:
            handler = getattr(thread, "handler", None)
            if handler is None:
                return method(target, *args, **kwargs)
            return handler(method, target, *args, **kwargs)

        return classmethod(call) if is_class_method else call


MODULE_CALLS = MethodHook(tl_nn.Module, "__call__")
MODULE_READS = MethodHook(tl_nn.Module, "__getattr__")
FUNCTION_CALLS = MethodHook(Function, "apply")
