"""Timers for workers that are programs: their wishes go through a named pipe."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .api import RequestQueue, TimerClient, TimerRequest
from .debug_info_logging import log_debug_info_for_expired_timers
from .kept_timers import KeptTimerServer
from .local_timer import send_signal

__all__ = ["FileTimerClient", "FileTimerRequest", "FileTimerServer"]


@dataclass(frozen=True)
class FileTimerRequest(TimerRequest):
    """A worker's wish, with the signal that shall end it.

    Args:
        worker_id: the worker's process.
        scope_id: names the block.
        expiration_time: the time, as `time.time()`; negative takes the wish back.
        signal: the signal's number.

    Example:
        >>> FileTimerRequest(71, "step", 5.0, 9).to_json()
        '{"worker_id": 71, "scope_id": "step", "expiration_time": 5.0, "signal": 9}'
    """

    signal: int = signal.SIGKILL

    @property
    def worker_pid(self) -> int:
        """The worker's process."""
        return int(self.worker_id)

    def to_json(self) -> str:
        """The wish as one line."""
        names = ("worker_id", "scope_id", "expiration_time", "signal")
        return json.dumps({name: getattr(self, name) for name in names})


class FileTimerClient(TimerClient):
    """A worker's side; the worker is named by its process.

    Args:
        file_path: the pipe, which the agent makes.
        signal: what ends this process when it is late.

    Raises:
        BrokenPipeError: when a wish is sent, and no agent reads them.

    Example:
        >>> from tl_distributed.elastic import timer
        >>> timer.configure(FileTimerClient("timers"))  # doctest: +SKIP
    """

    def __init__(self, file_path: str, signal: int = signal.SIGKILL):
        self._path = file_path
        self.signal = signal

    def acquire(self, scope_id: str, expiration_time: float) -> None:
        self._send(FileTimerRequest(os.getpid(), scope_id, expiration_time, int(self.signal)))

    def release(self, scope_id: str) -> None:
        self._send(FileTimerRequest(os.getpid(), scope_id, -1, 0))

    def _send(self, request: FileTimerRequest) -> None:
        line = (request.to_json() + "\n").encode()
        if len(line) > select.PIPE_BUF:  # more would mix with what other workers write
            raise ValueError(
                f"FileTimerClient: the scope's name is too long, {len(line)} of {select.PIPE_BUF} bytes"
            )
        try:
            pipe = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno in (errno.ENXIO, errno.ENOENT):
                raise BrokenPipeError(
                    f"FileTimerClient: no agent reads {self._path}; its FileTimerServer must be started first"
                ) from error
            raise
        try:
            os.set_blocking(pipe, True)
            os.write(pipe, line)
        finally:
            os.close(pipe)


class _PipeQueue(RequestQueue):
    """Wishes in a named pipe."""

    def __init__(self, path: str):
        self._path = path
        self._descriptor = -1
        self._rest = b""
        self._ready: list[TimerRequest] = []

    def open(self) -> None:
        """Makes the pipe."""
        Path(self._path).unlink(missing_ok=True)
        os.mkfifo(self._path, 0o600)
        # Read and write: a pipe that has a writer doesn't end when the last worker closes it.
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_NONBLOCK)

    def close(self) -> None:
        """Removes the pipe."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            Path(self._path).unlink(missing_ok=True)

    def size(self) -> int:
        return max(1, len(self._ready))

    def get(self, size: int, timeout: float) -> list[TimerRequest]:
        if not self._ready and select.select([self._descriptor], [], [], timeout)[0]:
            *lines, self._rest = (self._rest + os.read(self._descriptor, 1 << 16)).split(b"\n")
            self._ready = [FileTimerRequest(**json.loads(line)) for line in lines]
        requests, self._ready = self._ready[:size], self._ready[size:]
        return requests


class FileTimerServer(KeptTimerServer):
    """An agent's side: a worker that is late gets the signal that it asked for.

    Args:
        file_path: the pipe.
        run_id: the job's name, for texts.
        max_interval: how many seconds may go by between two looks.
        daemon: whether the thread lets the process end.
        log_event: called with a text and the wish (None for the server itself) when something happens.

    Such as::

        server = FileTimerServer("/tmp/job_timers", "job", max_interval=1)
        server.start()
        configure(FileTimerClient("/tmp/job_timers"))  # in a worker
        with expires(after=60):
            train()

    Example:
        >>> FileTimerServer("timers", "job 7").start()  # doctest: +SKIP
    """

    def __init__(
        self,
        file_path: str,
        run_id: str,
        max_interval: float = 10,
        daemon: bool = True,
        log_event: Callable[[str, FileTimerRequest | None], None] | None = None,
    ):
        self._pipe = _PipeQueue(file_path)
        super().__init__(self._pipe, max_interval, daemon)
        self._run_id = run_id
        self._log_event = log_event or (lambda name, request: None)
        self._last_progress = int(time.time())

    def start(self) -> None:
        self._pipe.open()
        super().start()
        self._log_event("watchdog started", None)

    def stop(self) -> None:
        super().stop()
        self._pipe.close()
        self._log_event("watchdog stopped", None)

    def get_last_progress_time(self) -> int:
        """When the server last looked, as `time.time()`."""
        return self._last_progress

    def register_timers(self, timer_requests: list[TimerRequest]) -> None:
        super().register_timers(timer_requests)
        self._last_progress = int(time.time())

    def get_expired_timers(self, deadline: float) -> dict[Any, list[TimerRequest]]:
        ended = {worker for worker, _ in self._timers if not Path(f"/proc/{worker}").exists()}
        self.clear_timers(ended)
        return super().get_expired_timers(deadline)

    def _reap_worker(self, worker_id: int) -> bool:
        late = [each for each in self._timers.values() if each.worker_id == worker_id]
        late = [each for each in late if each.expiration_time <= time.time()]
        log_debug_info_for_expired_timers(
            self._run_id, {worker_id: [f"{each.scope_id}, due {each.expiration_time}" for each in late]}
        )
        numbers = {int(getattr(each, "signal", signal.SIGKILL)) for each in late}
        for request in late:
            self._log_event("kill worker process", request)  # type: ignore[arg-type]
        # all signals are sent, also after one that fails
        results = [send_signal(worker_id, number) for number in sorted(numbers)]
        return all(results)
