"""The pool of worker processes, in the program."""

from __future__ import annotations

import contextlib
import os
import pickle
import selectors
import signal
import warnings
from collections import deque
from typing import Any

from tl_core.base import recording

from . import launch
from .arena import DEFAULT_SIZE, Arena
from .failure import how_it_ended
from .messages import decode
from .worker import Response, WorkerConfig

__all__ = ["ProcessPool", "WorkerDied"]

_ROOM = 1 << 17  # bytes of requests that fit into a pipe without a reader
_OVERHEAD = 1 << 10  # bytes that a request costs there besides its own


class WorkerDied(RuntimeError):
    """A worker has died, and the batches requested of it are lost."""

    def __init__(self, message: str, worker: int) -> None:
        super().__init__(message)
        self.worker = worker


class ProcessPool:
    """Pool of worker processes.

    A blocking write could deadlock with a worker that writes a response. So requests that might not fit into the pipe
    wait in a queue.

    Args:
        config: the configuration of the workers.
        context: the context of `multiprocessing` that starts processes; None for the default.
        arena_size: bytes of shared memory; None for the default.
    """

    def __init__(self, config: WorkerConfig, context: Any, arena_size: int | None) -> None:
        self._owner = os.getpid()
        self.arena = Arena(DEFAULT_SIZE if arena_size is None else arena_size, config.num_workers)
        self._workers = launch.launch(config, self.arena, context)
        self._waiting: list[deque[tuple[Any, ...]]] = [deque() for _ in range(config.num_workers)]
        self._requested: list[deque[int]] = [
            deque() for _ in range(config.num_workers)
        ]  # sizes of open requests
        self._selector = selectors.DefaultSelector()
        for i, connection in enumerate(self._workers.connections):
            self._selector.register(connection, selectors.EVENT_READ, i)
        self._ready: deque[int] = deque()
        self.pids = [process.pid for process in self._workers.processes]
        self._warned = False

    @property
    def processes(self) -> list[Any]:
        """The workers' process objects."""
        return self._workers.processes

    def begin(self, worker: int, epoch_id: int, epoch: int, stream: dict[str, Any] | None) -> None:
        """Sends a worker the begin of an epoch."""
        self._waiting[worker].append(("begin", epoch_id, epoch, stream))
        self._flush(worker)

    def request(self, worker: int, epoch_id: int, number: int, keys: Any) -> None:
        """Requests a batch of a worker."""
        self._waiting[worker].append(("fetch", epoch_id, number, keys))
        self._flush(worker)

    def _flush(self, worker: int) -> None:
        waiting, requested = self._waiting[worker], self._requested[worker]
        while waiting:
            data = pickle.dumps((*waiting[0], self.arena.pop_released(worker)), pickle.HIGHEST_PROTOCOL)
            cost = len(data) + _OVERHEAD
            if requested and sum(requested) + cost > _ROOM:
                return
            if waiting.popleft()[0] == "fetch":
                requested.append(cost)
            try:
                self._workers.connections[worker].send_bytes(data)
            except (BrokenPipeError, ConnectionResetError):
                return  # the worker is dead: `receive` raises

    def receive(self, timeout: float | None) -> tuple[int, Response] | None:
        """The next response and the index of its worker; None if none has come within `timeout` seconds.

        Raises WorkerDied.
        """
        if not self._ready:
            self._ready.extend(key.data for key, _ in self._selector.select(timeout))
            if not self._ready:
                return None
        worker = self._ready.popleft()
        try:
            data = self._workers.connections[worker].recv_bytes()
        except (EOFError, ConnectionResetError, OSError) as error:
            raise self._death(worker) from error
        response: Response = decode(data, self.arena, worker)
        if response.span is not None and recording.is_recording():
            process, *span = response.span
            recording.note_foreign(
                process, f"DataLoader worker {worker}: batch {response.number}", "dataloader", *span
            )
        if response.differences:
            _warn_of_differences(response.differences)
        if self._requested[worker]:
            self._requested[worker].popleft()
        self._flush(worker)
        self._warn_of_size(len(data))
        return worker, response

    def _warn_of_size(self, size: int) -> None:
        if size > self.arena.share and not self._warned:
            self._warned = True
            warnings.warn(
                f"a batch of {size} bytes does not fit into a worker's part of the shared memory, {self.arena.share} "
                "bytes, and came through a pipe: give the DataLoader a larger arena_size",
                stacklevel=5,
            )

    def _death(self, worker: int) -> WorkerDied:
        process = self._workers.processes[worker]
        process.join(1)
        ended = how_it_ended(process.exitcode)
        which = f"worker {worker} of {len(self.pids)}"
        return WorkerDied(f"DataLoader worker (pid {process.pid}) {ended} ({which})", worker)

    def close(self, abrupt: bool = False) -> None:
        """Ends the workers and waits for them; does nothing in a forked copy of the program."""
        if os.getpid() != self._owner or self._selector is None:
            return
        self._selector.close()
        self._selector = None  # type: ignore[assignment]
        for pid, process in zip(self.pids, self.processes):
            if abrupt and process.is_alive():
                _resume(pid)
        launch.stop(self._workers, launch.ABRUPT if abrupt else launch.GRACE)


def _warn_of_differences(differences: Any) -> None:
    from .program_state import warn_of_differences

    warn_of_differences(differences)


def _resume(pid: int | None) -> None:
    """Continues a stopped process, which could not handle SIGTERM otherwise."""
    if pid is not None and hasattr(signal, "SIGCONT"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
