"""The handle of an operation of MPI."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Protocol

from ..base.work import Work

_TESTS = 50  # before the first pause
_YIELDS = 300
_PAUSE = 2e-4  # seconds


class MpiGroup(Protocol):
    """What a handle needs of its group."""

    mpi: Any
    timeout: timedelta

    def failure(self, error: Exception, what: str) -> Exception: ...

    def time_out(self, what: str, seconds: float) -> Exception: ...


class MpiWork(Work):
    """An operation of MPI that is under way.

    Args:
        group: its group.
        request: MPI's request.
        result: the tensors that it writes.
        what: the operation, for errors.
        after: what is left to be done at its end.
    """

    def __init__(
        self,
        group: MpiGroup,
        request: Any,
        result: list[Any],
        what: str,
        after: Callable[[], object] | None,
    ):
        super().__init__(result)
        self._group = group
        self._request = request
        self._what = what
        self._after = after
        self._status = group.mpi.Status()
        self._error: BaseException | None = None
        self._is_over = False
        self._lock = threading.Lock()
        self._end = time.monotonic() + group.timeout.total_seconds()

    def is_completed(self) -> bool:
        with self._lock:
            if not self._is_over:
                self._test()
        return self._is_over

    def _test(self) -> None:
        try:
            if not self._request.Test(self._status):
                return
            if self._after is not None:
                self._after()
        except self._group.mpi.Exception as error:
            self._error = self._group.failure(error, self._what)
        except Exception as error:  # of the sum at the end: whoever waits gets it
            self._error = error
        self._is_over, self._after = True, None

    def exception(self) -> BaseException | None:
        return self._error

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        end = time.monotonic() + timeout.total_seconds() if timeout else self._end
        count = 0
        while not self.is_completed():
            count += 1
            if count > _TESTS:
                time.sleep(0 if count < _YIELDS else _PAUSE)
            if time.monotonic() > end:
                limit = timeout or self._group.timeout
                raise self._group.time_out(self._what, limit.total_seconds())
        if self._error is not None:
            raise self._error
        return True

    def source_rank(self) -> int:
        source: int = self._status.Get_source()
        return source
