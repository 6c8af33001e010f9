"""The handle of an operation of NCCL."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Protocol

from ..base.work import Work
from .cuda_driver import CudaDriver

_PAUSE = 5e-5  # seconds


class NcclGroup(Protocol):
    """What a handle needs of its group."""

    driver: CudaDriver
    timeout: timedelta

    def check_failed(self, what: str) -> None: ...

    def time_out(self, what: str, seconds: float) -> Exception: ...


class NcclWork(Work):
    """An operation that a stream of a device does.

    Args:
        group: its group.
        device: the device.
        what: the operation, for errors.
        result: the tensors that it writes.
        inputs: tensors that it reads, which live until it ends.
        after: what is left to be done at its end.

    Attributes:
        event: the event at its end; None before the operation is in the stream.
    """

    def __init__(
        self,
        group: NcclGroup,
        device: int,
        what: str,
        result: list[Any],
        inputs: list[Any],
        after: Callable[[], object] | None,
    ):
        super().__init__(result)
        self.what = what
        self.limit = group.timeout.total_seconds()
        self.end = time.monotonic() + self.limit
        self.device = device
        self.event: Any = None
        self._group = group
        self._inputs, self._after = inputs, after
        self._lock = threading.Lock()
        self._error: BaseException | None = None
        self._has_ended = self._is_over = False

    def has_ended(self) -> bool:
        """True if the device has done its part."""
        with self._lock:
            if not self._has_ended and self.event is not None:
                self._group.driver.enter(self.device)
                if self._group.driver.has_happened(self.event):
                    self._has_ended = True
                    self._group.driver.close_event(self.event)
                    self._inputs = []
            return self._has_ended

    def is_completed(self) -> bool:
        if self._is_over:
            return True
        if not self.has_ended():
            try:
                self._group.check_failed(self.what)
            except Exception as error:
                self._error, self._is_over = error, True
            return self._is_over
        with self._lock:
            if not self._is_over and self._after is not None:
                try:
                    self._after()
                except Exception as error:  # of a copy at the end: whoever waits gets it
                    self._error = error
            self._is_over, self._after = True, None
        return True

    def exception(self) -> BaseException | None:
        return self._error

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        end = time.monotonic() + timeout.total_seconds() if timeout else None
        while not self.is_completed():
            time.sleep(_PAUSE)
            if end is not None and time.monotonic() > end:
                raise self._group.time_out(self.what, timeout.total_seconds())
        if self._error is not None:
            raise self._error
        return True
