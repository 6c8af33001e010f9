"""Handles of operations that may still be going on."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from tl_core.futures import Future, collect_all

from .._C import Task
from .errors import DistBackendError


class Work:
    """The handle of a collective or of a message, as `async_op=True` returns it.

    A backend derives from it and overrides at least one of `wait`, `is_completed` and `get_future`; the others follow
    from it. `wait` may then be called by two threads at once. As it stands, it is the handle of an operation that has
    ended.

    Args:
        result: the tensors that the operation has written.
        source: the rank that a received message came from.

    Example:
        >>> class Slow(Work):
        ...     def wait(self, timeout=timedelta(0)):
        ...         time.sleep(0.05)
        ...         return True
        >>> work = Slow(["written"])
        >>> work.is_completed(), work.get_future().wait(), work.is_completed()
        (False, ['written'], True)
    """

    _result: Sequence[Any] = ()
    _source: int | None = None
    _future: Future[Any] | None = None

    def __init__(self, result: list[Any] | None = None, source: int | None = None):
        self._result = result if result is not None else []
        self._source = source

    def _overrides(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(Work, name)

    def is_completed(self) -> bool:
        """True if the operation has ended, well or not."""
        return not (self._overrides("wait") or self._overrides("get_future")) or self.get_future().done()

    def is_success(self) -> bool:
        """True if the operation has ended well."""
        return self.is_completed() and self.exception() is None

    def exception(self) -> BaseException | None:
        """The error of the operation; None without one."""
        has_future = self._overrides("get_future") or (self._overrides("wait") and self.is_completed())
        future = self.get_future() if has_future else self._future
        if future is not None and future.done():
            try:
                future.value()
            except BaseException as error:
                return error
        return None

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Blocks until the operation has ended, at most `timeout` (0: the group's own); raises what it failed with."""
        end = time.monotonic() + timeout.total_seconds() if timeout else math.inf
        pause = 2e-5
        while not self.is_completed():
            if time.monotonic() > end:
                raise DistBackendError(
                    f"an operation was not over after {timeout.total_seconds():.3g} s (timeout)"
                )
            time.sleep(pause)
            pause = min(2 * pause, 1e-3)
        error = self.exception()
        if error is not None:
            raise error
        return True

    def synchronize(self) -> None:
        """Blocks until the operation has ended."""
        self.wait()

    def result(self) -> list[Any]:
        """The tensors that the operation has written."""
        return list(self._result)

    def _source_rank(self) -> int:
        return self.source_rank()

    def source_rank(self) -> int:
        """The rank that a received message came from."""
        if self._source is None:
            raise RuntimeError("source_rank() is known for recv only")
        return self._source

    def get_future(self) -> Future[Any]:
        """A future that ends with the operation; its value is `result()`."""
        if self._future is None:
            future = self._future = Future[Any]()
            over = self.is_completed() if self._overrides("is_completed") else not self._overrides("wait")
            if not over:
                threading.Thread(target=_settle_after_wait, args=(future, self), daemon=True).start()
            else:
                _settle_after_wait(future, self)
        return self._future

    def boxed(self) -> Any:
        """The handle itself, for programs that hand it through an operator."""
        return self

    @classmethod
    def unbox(cls, arg0: Any) -> Work:
        """The handle that `boxed` returned.

        Raises:
            TypeError: it is no handle.
        """
        if not isinstance(arg0, Work):
            raise TypeError(f"Work.unbox: expected what boxed() gave, got {type(arg0).__name__}")
        return arg0

    def get_future_result(self) -> Future[Any]:
        """A future of the outcome, where a backend tells more than success or failure."""
        raise RuntimeError(f"get_future_result() is not implemented by {type(self).__name__}")


def _settle_after_wait(future: Future[Any], work: Work) -> None:
    try:
        work.wait()
        result = work.result()
    except BaseException as error:  # whoever asks the future gets it
        future.set_exception(error)
    else:
        future.set_result(result)


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

    def is_completed(self) -> bool:
        return self._task.is_completed()

    def exception(self) -> BaseException | None:
        return self._task.exception()

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        ns = int(timeout.total_seconds() * 1e9) if timeout else -1
        if not self._task.wait(ns):
            raise DistBackendError(
                f"{self._name} was not over after {timeout.total_seconds():.3g} s (timeout)"
            )
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
        end = time.monotonic() + timeout.total_seconds()
        for work in self._works:
            left = timedelta(seconds=max(end - time.monotonic(), 1e-3)) if timeout else timeout
            work.wait(left)
        return True

    def get_future(self) -> Future[Any]:
        futures = [work.get_future() for work in self._works]
        return collect_all(futures).follow(lambda done: [t for each in done.value() for t in each.value()])


class PartsOf(Work):
    """An operation whose tensors are parts of others, which are its result.

    Args:
        work: the operation.
        result: the tensors.
    """

    def __init__(self, work: Work, result: list[Any]):
        super().__init__(result)
        self._work = work

    def is_completed(self) -> bool:
        return self._work.is_completed()

    def exception(self) -> BaseException | None:
        return self._work.exception()

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        return self._work.wait(timeout)

    def get_future(self) -> Future[Any]:
        def result(parts: Future[Any]) -> list[Any]:
            parts.value()  # raises what the operation failed with
            return self.result()

        return self._work.get_future().follow(result)


def all_of(works: Sequence[Work]) -> Work:
    """The handle of several operations."""
    return works[0] if len(works) == 1 else _Several(works)
