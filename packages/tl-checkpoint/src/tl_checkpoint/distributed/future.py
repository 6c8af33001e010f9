"""The result of a save that may still be under way."""

from __future__ import annotations

import concurrent.futures
from typing import Any, Generic, TypeVar

__all__ = ["Future", "outcome"]

T = TypeVar("T")


class Future(concurrent.futures.Future[T], Generic[T]):
    """A result to come: `result()` waits for it, and raises what the work raised."""

    def wait(self) -> T:
        """The result, as `result()` gives it."""
        return self.result()

    def failed(self) -> bool:
        """Whether the work is over and has raised."""
        return self.done() and self.exception() is not None

    @staticmethod
    def of(value: T) -> Future[T]:
        """A future whose result is there."""
        made: Future[T] = Future()
        made.set_result(value)
        return made


def outcome(future: Any) -> Any:
    """What a future of any kind brings: those of storages that others wrote have `wait`."""
    return future.wait() if hasattr(future, "wait") else future.result()
