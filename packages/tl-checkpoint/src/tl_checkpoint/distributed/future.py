"""The result of a save in progress."""

from __future__ import annotations

import concurrent.futures
from typing import Any, Generic, TypeVar

__all__ = ["Future", "outcome"]

T = TypeVar("T")


class Future(concurrent.futures.Future[T], Generic[T]):
    """A future: `result()` waits for the result, or raises the exception of the task."""

    def wait(self) -> T:
        """Waits for the result and returns it, as `result()`."""
        return self.result()

    def failed(self) -> bool:
        """Whether the task has ended with an exception."""
        return self.done() and self.exception() is not None

    @staticmethod
    def of(value: T) -> Future[T]:
        """A future with a result."""
        future: Future[T] = Future()
        future.set_result(value)
        return future


def outcome(future: Any) -> Any:
    """The result of a future of any class: some storages return futures with `wait`."""
    return future.wait() if hasattr(future, "wait") else future.result()
