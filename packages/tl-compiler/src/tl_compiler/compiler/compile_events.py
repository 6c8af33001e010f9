"""Functions that are called when the compilation of a call begins and ends."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

__all__ = ["CallbackArgs", "CompilationCallbacks", "callbacks", "compilation"]


class CallbackArgs(NamedTuple):
    """The compilation that a callback is told of.

    Args:
        callback_trigger: the part of the compiler that begins it.
        compile_id: the number of the compilation, as text.
    """

    callback_trigger: str
    compile_id: str


class CompilationCallbacks:
    """The functions to call.

    Example:
        >>> events = CompilationCallbacks()
        >>> _ = events.register_start_callback(lambda event: print("begins", event.compile_id))
        >>> with events.region():
        ...     print("compiles")
        begins 0
        compiles
    """

    def __init__(self) -> None:
        self.start_callbacks: list[Callable[..., Any]] = []
        self.end_callbacks: list[Callable[..., Any]] = []
        self._count = 0

    def register_start_callback(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Registers a function that is called when a compilation begins; also a decorator.

        Args:
            callback: the function of a `CallbackArgs`.
        """
        self.start_callbacks.append(callback)
        return callback

    def register_end_callback(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Registers a function that is called when a compilation ends; also a decorator.

        Args:
            callback: the function of a `CallbackArgs`.
        """
        self.end_callbacks.append(callback)
        return callback

    def remove_start_callback(self, callback: Callable[..., Any]) -> None:
        """Removes a function.

        Args:
            callback: the function.

        Raises:
            ValueError: the function isn't registered.
        """
        self.start_callbacks.remove(callback)

    def remove_end_callback(self, callback: Callable[..., Any]) -> None:
        """Removes a function.

        Args:
            callback: the function.

        Raises:
            ValueError: the function isn't registered.
        """
        self.end_callbacks.remove(callback)

    def clear(self) -> None:
        """Removes all functions."""
        self.start_callbacks.clear()
        self.end_callbacks.clear()

    @contextlib.contextmanager
    def region(self) -> Iterator[None]:
        """The region of a compilation."""
        event, self._count = CallbackArgs("DYNAMO", str(self._count)), self._count + 1
        for callback in list(self.start_callbacks):
            callback(event)
        try:
            yield
        finally:
            for callback in list(self.end_callbacks):
                callback(event)


callbacks = CompilationCallbacks()
compilation = callbacks.region
