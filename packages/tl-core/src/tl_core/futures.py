"""Results that are not there yet.

>>> future = Future()
>>> doubled = future.then(lambda done: done.value() * 2)
>>> future.set_result(21)
>>> doubled.wait()
42
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value that somebody else sets once; others wait for it or are called when it is there.

    Args:
        devices: the devices whose tensors the value may hold; only the CPU is known so far, which needs none.

    Example:
        >>> from tl_core.futures import Future, collect_all, wait_all
        >>> future = Future()
        >>> future.set_result(3)
        >>> future.wait()
        3
    """

    def __init__(self, *, devices: list[Any] | None = None):
        self._changed = threading.Condition()
        self._is_done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], Any] | _Link] = []

    def done(self) -> bool:
        """Whether a result or an exception has been set."""
        return self._is_done

    def wait(self) -> T:
        """Blocks until the future is done; returns its value, or raises the exception that was set."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_done)
        return self.value()

    def value(self) -> T:
        """The value of a future that is done, or its exception raised.

        Raises:
            RuntimeError: the future isn't done.
        """
        if not self._is_done:
            raise RuntimeError("value() was asked of a future that is not done; call wait() first")
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of the result of `callback(self)`, which runs once this one is done.

        An exception of the callback becomes a RuntimeError, with the exception as its cause. A RuntimeError of a class
        below, such as `DistNetworkError`, stays as it is.

        Args:
            callback: receives this future.
        """
        _check_callback("then", callback)
        return self._then(callback, _error_of_callback)

    def follow(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """As `then`, but an exception of the callback stays as it is.

        Args:
            callback: receives this future.
        """
        return self._then(callback, lambda error: error)

    def _then(
        self, callback: Callable[[Future[T]], S], error_of: Callable[[Exception], Exception]
    ) -> Future[S]:
        following: Future[S] = Future()
        self._add(_Link(following, callback, error_of))
        return following

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Calls `callback(self)` once this future is done, at once if it is; what it raises is logged."""
        _check_callback("add_done_callback", callback)
        self._add(callback)

    def _add(self, callback: Callable[[Future[T]], Any] | _Link) -> None:
        with self._changed:
            if not self._is_done:
                self._callbacks.append(callback)
                return
        _call(self, [callback])

    def set_result(self, result: T) -> None:
        """Sets the value.

        Raises:
            RuntimeError: the future is done already.
        """
        _call(self, self._finish(result, None))

    def set_exception(self, result: BaseException) -> None:
        """Sets an exception, which wait() and value() raise."""
        if not isinstance(result, BaseException):
            raise AssertionError(f"set_exception() expects an exception, got {type(result).__name__}")
        _call(self, self._finish(None, result))

    def _finish(self, value: Any, error: BaseException | None) -> list[Callable[[Future[T]], Any] | _Link]:
        """Stores the result; returns the callbacks that wait for it."""
        with self._changed:
            if self._is_done:
                raise RuntimeError(
                    "Future can only be marked completed once: it has a result or an exception already"
                )
            self._value, self._error, self._is_done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        return callbacks

    def __getstate__(self) -> Any:
        raise RuntimeError("Can not pickle torch.futures.Future: its result is set in this process")


class _Link:
    """The callback of `then`: computes the result of the next future of a chain.

    Args:
        following: the next future.
        callback: receives the future before it.
        error_of: the exception of `following` for an exception of `callback`.
    """

    def __init__(
        self,
        following: Future[Any],
        callback: Callable[[Future[Any]], Any],
        error_of: Callable[[Exception], Exception],
    ):
        self.following, self.callback, self.error_of = following, callback, error_of

    def finish(self, future: Future[Any]) -> list[Callable[[Future[Any]], Any] | _Link]:
        """Finishes the next future; returns the callbacks that wait for it."""
        try:
            result = self.callback(future)
        except Exception as error:
            return self.following._finish(None, self.error_of(error))
        return self.following._finish(result, None)


def _call(future: Future[Any], callbacks: list[Callable[[Future[Any]], Any] | _Link]) -> None:
    """Calls the callbacks of a future and of the futures that follow it, depth first.

    The loop keeps what waits on a stack of its own: a chain of futures may have more links than Python has frames.

    Args:
        future: a future that is done.
        callbacks: the callbacks that wait for it.
    """
    waiting = [(future, callback) for callback in reversed(callbacks)]
    while waiting:
        current, callback = waiting.pop()
        try:
            if isinstance(callback, _Link):
                following = callback.following
                waiting += [(following, each) for each in reversed(callback.finish(current))]
            else:
                callback(current)
        except Exception:
            logging.getLogger(__name__).exception("a callback of a future failed")


def _error_of_callback(error: Exception) -> Exception:
    """The exception of a future that follows a failed callback.

    Args:
        error: the exception of the callback.
    """
    if isinstance(error, RuntimeError) and type(error) is not RuntimeError:
        return error
    outer = RuntimeError(
        f"Got the following error when running the callback: {type(error).__name__}: {error}"
    )
    outer.__cause__ = error
    return outer


def _check_callback(name: str, callback: Any) -> None:
    if not callable(callback):
        raise TypeError(
            f"{name}(): incompatible function arguments: callback must be a function, got {type(callback).__name__}"
        )


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future that is done when all the given ones are; its value is the list of them.

    It ends with the exception of the first of the list that has one.

    Args:
        futures: the futures.

    Raises:
        RuntimeError: an item is None.

    Example:
        >>> from tl_core.futures import Future, collect_all, wait_all
        >>> first, second = Future(), Future()
        >>> both = collect_all([first, second])
        >>> first.set_result(1)
        >>> second.set_result(2)
        >>> [future.value() for future in both.wait()]
        [1, 2]
    """
    futures = list(futures)
    if any(future is None for future in futures):
        raise RuntimeError(f"collect_all(): Future can't be None: one of the {len(futures)} futures is")
    combined: Future[list[Future[Any]]] = Future()
    lock, missing = threading.Lock(), len(futures)

    def count(_: Future[Any]) -> None:
        nonlocal missing
        with lock:
            missing -= 1
            last = missing == 0
        if last:
            _conclude(combined, futures)

    if not futures:
        combined.set_result(futures)
    for future in futures:
        future.add_done_callback(count)
    return combined


def _conclude(combined: Future[list[Future[Any]]], futures: list[Future[Any]]) -> None:
    for future in futures:
        try:
            future.value()
        except BaseException as error:
            combined.set_exception(error)
            return
    combined.set_result(futures)


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """Waits for all futures and returns their values; raises the exception of the first that has one.

    Example:
        >>> from tl_core.futures import Future, collect_all, wait_all
        >>> first, second = Future(), Future()
        >>> first.set_result(1)
        >>> second.set_result(2)
        >>> wait_all([first, second])
        [1, 2]
    """
    return [future.wait() for future in collect_all(futures).wait()]
