"""Handles of operations that may still be going on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tl_core.futures import Future


class Work:
    """The handle of a collective or of a message, as `async_op=True` returns it.

    A backend derives from it and overrides what it says about an operation under way. As it stands, it is the handle of
    an operation that has ended.

    Args:
        result: the tensors that the operation has written.
        source: the rank that a received message came from.
    """

    def __init__(self, result: list[Any] | None = None, source: int | None = None):
        self._result = result if result is not None else []
        self._source = source

    def is_completed(self) -> bool:
        """Whether the operation has ended, well or not."""
        return True

    def is_success(self) -> bool:
        """Whether the operation has ended well."""
        return self.is_completed() and self.exception() is None

    def exception(self) -> BaseException | None:
        """What the operation failed with."""
        return None

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Blocks until the operation has ended, at most `timeout` (0: the group's own); raises what it failed with."""
        error = self.exception()
        if error is not None:
            raise error
        return True

    def synchronize(self) -> None:
        """Blocks until the operation has ended."""
        self.wait()

    def result(self) -> list[Any]:
        """The tensors that the operation has written."""
        return self._result

    def source_rank(self) -> int:
        """The rank that a received message came from."""
        if self._source is None:
            raise RuntimeError("source_rank() is known for recv only")
        return self._source

    def get_future(self) -> Future[Any]:
        """A future whose value is `result()`."""
        future: Future[Any] = Future()
        error = self.exception()
        if error is None:
            future.set_result(self.result())
        else:
            future.set_exception(error)
        return future

    def get_future_result(self) -> Future[Any]:
        """A future of the outcome, where a backend tells more than success or failure."""
        raise RuntimeError(f"get_future_result() is not implemented by {type(self).__name__}")
