"""Handles of operations that may still be going on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from tl_core.futures import Future, collect_all

from ._C import Task
from .errors import DistBackendError


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

    def _source_rank(self) -> int:
        return self.source_rank()

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

    def boxed(self) -> Any:
        """The handle itself, for programs that hand it through an operator."""
        return self

    @classmethod
    def unbox(cls, arg0: Any) -> Work:
        """What `boxed` gave.

        Raises:
            TypeError: it is no handle.
        """
        if not isinstance(arg0, Work):
            raise TypeError(f"Work.unbox: expected what boxed() gave, got {type(arg0).__name__}")
        return arg0

    def get_future_result(self) -> Future[Any]:
        """A future of the outcome, where a backend tells more than success or failure."""
        raise RuntimeError(f"get_future_result() is not implemented by {type(self).__name__}")


class GroupWork(Work):
    """An operation of the package's own engine.

    Args:
        task: the operation.
        result: the tensors that it writes.
        name: what it is, for errors.
    """

    def __init__(self, task: Task, result: list[Any], name: str):
        super().__init__(result)
        self._task = task
        self._name = name
        self._future: Future[Any] | None = None

    def is_completed(self) -> bool:
        return self._task.is_completed()

    def exception(self) -> BaseException | None:
        return self._task.exception()

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        ns = int(timeout.total_seconds() * 1e9) if timeout else -1
        if not self._task.wait(ns):
            raise DistBackendError(f"{self._name} was not over after {timeout.total_seconds():g} s (timeout)")
        return True

    def source_rank(self) -> int:
        return self._task.source()

    def get_future(self) -> Future[Any]:
        if self._future is None:
            self._future = future = Future[Any]()
            self._task.on_done(lambda: _settle(future, self))
        return self._future


def _settle(future: Future[Any], work: Work) -> None:
    error = work.exception()
    if error is None:
        future.set_result(work.result())
    else:
        future.set_exception(error)


class _Several(Work):
    """Several operations as one."""

    def __init__(self, works: Sequence[Work]):
        super().__init__([tensor for work in works for tensor in work.result()])
        self._works = list(works)

    def is_completed(self) -> bool:
        return all(work.is_completed() for work in self._works)

    def exception(self) -> BaseException | None:
        return next((error for work in self._works if (error := work.exception()) is not None), None)

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        for work in self._works:
            work.wait(timeout)
        return True

    def get_future(self) -> Future[Any]:
        futures = [work.get_future() for work in self._works]
        return collect_all(futures).then(lambda done: [t for each in done.value() for t in each.value()])


def all_of(works: Sequence[Work]) -> Work:
    """The handle of several operations."""
    return works[0] if len(works) == 1 else _Several(works)
