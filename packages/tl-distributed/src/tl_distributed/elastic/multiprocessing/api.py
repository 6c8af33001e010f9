"""The workers of one start: begun together, watched, and ended together."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import selectors
import signal
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any

from ...backends.flight_recorders import FlightRecorders
from .errors import ProcessFailure, record
from .logs import DefaultLogsSpecs, LogsDest, LogsSpecs, Std
from .parent_death import end_with_parent
from .redirects import redirect
from .subprocess_handler import SubprocessHandler, get_subprocess_handler
from .tail_log import TailLog

__all__ = [
    "DefaultLogsSpecs",
    "LogsDest",
    "LogsSpecs",
    "MultiprocessContext",
    "PContext",
    "RunProcsResult",
    "SignalException",
    "Std",
    "SubprocessContext",
]


class SignalException(Exception):
    """This process was told to end by a signal.

    Args:
        msg: the text.
        sigval: the signal.
    """

    def __init__(self, msg: str, sigval: signal.Signals) -> None:
        super().__init__(msg)
        self.sigval = sigval


_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def signals_named(names: str) -> tuple[signal.Signals, ...]:
    """Signals by their names.

    Args:
        names: the names, with commas between.

    Raises:
        ValueError: a name is no signal.

    Example:
        >>> signals_named("SIGTERM,SIGUSR1") == (signal.SIGTERM, signal.SIGUSR1)
        True
    """
    several = [name.strip() for name in names.split(",") if name.strip()]
    for name in several:
        if name not in signal.Signals.__members__:
            raise ValueError(f"--signals-to-handle: {name!r} is no signal")
    return tuple(signal.Signals[name] for name in several)


@contextlib.contextmanager
def signals_raise(signals: Sequence[signal.Signals] = _ENDING) -> Iterator[None]:
    """Within the block, signals that end this process raise `SignalException`, so that workers end too.

    Args:
        signals: the signals.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        raise SignalException(f"process {os.getpid()} got signal {number}", signal.Signals(number))

    try:
        old = {each: signal.signal(each, handle) for each in signals}
    except ValueError:  # not in the main thread, which alone may have handlers
        yield
        return
    try:
        yield
    finally:
        for each, handler in old.items():
            signal.signal(each, handler)


@dataclass
class RunProcsResult:
    """The results of the workers, by local rank.

    Args:
        return_values: what functions returned; None for programs.
        failures: the workers that failed.
        stdouts: the files of their output.
        stderrs: those of their errors.

    Example:
        >>> RunProcsResult(return_values={0: 7}).is_failed()
        False
    """

    return_values: dict[int, Any] = field(default_factory=dict)
    failures: dict[int, ProcessFailure] = field(default_factory=dict)
    stdouts: dict[int, str] = field(default_factory=dict)
    stderrs: dict[int, str] = field(default_factory=dict)

    def is_failed(self) -> bool:
        """True if a worker failed."""
        return bool(self.failures)


def _refuse(**options: object) -> None:
    for name, value in options.items():
        if value:
            raise NotImplementedError(f"start_processes: {name} is not there yet, got {value!r}")


class PContext(ABC):
    """The workers of one start. They are watched by descriptors of their processes: nothing is polled.

    Args:
        name: what is run, for texts.
        entrypoint: a function or a program.
        args: its arguments by local rank.
        envs: its variables by local rank.
        logs_specs: where its output goes.
        log_line_prefixes: what stands before lines that the console shows.
        duplicate_stdout_filters: not there yet.
        duplicate_stderr_filters: not there yet.

    Example:
        >>> issubclass(MultiprocessContext, PContext), issubclass(SubprocessContext, PContext)
        (True, True)
    """

    def __init__(
        self,
        name: str,
        entrypoint: Callable[..., Any] | str,
        args: dict[int, tuple[Any, ...]],
        envs: dict[int, dict[str, str]],
        logs_specs: LogsSpecs,
        log_line_prefixes: dict[int, str] | None = None,
        duplicate_stdout_filters: list[str] | None = None,
        duplicate_stderr_filters: list[str] | None = None,
    ):
        _refuse(
            duplicate_stdout_filters=duplicate_stdout_filters,
            duplicate_stderr_filters=duplicate_stderr_filters,
        )
        if set(args) != set(range(len(args))) or set(args) != set(envs):
            raise RuntimeError(
                "start_processes: args and envs must have the local ranks 0, 1, ..., "
                f"got {sorted(args)} and {sorted(envs)}"
            )
        self.name = name
        self.entrypoint = entrypoint
        self.args = args
        self.envs = envs
        self.nprocs = len(args)
        self.logs = logs_specs.reify(envs)
        self.recorders = FlightRecorders(
            {rank: Path(file).parent for rank, file in self.logs.error_files.items()}
        )
        self._tails = [
            TailLog(name, self.logs.tee_stdouts, sys.stdout, log_line_prefixes),
            TailLog(name, self.logs.tee_stderrs, sys.stderr, log_line_prefixes),
        ]
        self._watched: dict[int, int] = {}  # descriptors by local rank
        self._exits: dict[int, int] = {}
        self._selector = selectors.DefaultSelector()

    def start(self) -> None:
        """Starts the workers."""
        for tail in self._tails:
            tail.start()
        self._start()

    def _environment(self, rank: int) -> dict[str, str]:
        """The variables of a worker: those that were given, and where it shall leave what it did and how it failed."""
        own = {**self.recorders.open(rank), "TORCHELASTIC_ERROR_FILE": self.logs.error_files[rank]}
        return {**self.envs[rank], **own}

    def _watch(self, rank: int, pid: int) -> None:
        """Watches a worker; called before anything could have taken its exit status, which frees its number."""
        self._watched[rank] = os.pidfd_open(pid)
        self._selector.register(self._watched[rank], selectors.EVENT_READ, rank)

    @abstractmethod
    def _start(self) -> None:
        """Starts the workers, and calls `_watch` for each at once."""

    @abstractmethod
    def pids(self) -> dict[int, int]:
        """The processes by local rank."""

    @abstractmethod
    def _exit_status(self, rank: int) -> int:
        """The exit status of a worker that has ended."""

    def _return_value(self, rank: int) -> Any:
        return None

    def wait(self, timeout: float = -1, period: float = 1) -> RunProcsResult | None:
        """Waits until all workers have ended well, or one has failed; the others are ended then.

        Args:
            timeout: how many seconds to wait; 0 only looks, less waits without end.
            period: kept for callers.

        Returns:
            What became of them; None if the time was over before.
        """
        end = None if timeout < 0 else time.monotonic() + timeout
        while True:
            left = None if end is None else max(0.0, end - time.monotonic())
            if self._watched:
                self._collect(self._selector.select(left))
            failed = any(self._exits.values())
            if failed:
                self._collect(self._selector.select(0) if self._watched else [])
                return self._failure_result()
            if not self._watched:
                self.close()
                return self._result({})
            if end is not None and time.monotonic() >= end:
                return None

    def _collect(self, events: list[tuple[selectors.SelectorKey, int]]) -> None:
        for key, _ in events:
            self._forget(key.data)
            self._exits[key.data] = self._exit_status(key.data)

    def _forget(self, rank: int) -> None:
        descriptor = self._watched.pop(rank)
        self._selector.unregister(descriptor)
        os.close(descriptor)

    def _failure_result(self) -> RunProcsResult:
        pids = self.pids()
        failures = {
            rank: ProcessFailure(rank, pids[rank], status, self.logs.error_files[rank])
            for rank, status in self._exits.items()
            if status
        }
        self.close()
        return self._result(failures)

    def _result(self, failures: dict[int, ProcessFailure]) -> RunProcsResult:
        values = {} if failures else {rank: self._return_value(rank) for rank in range(self.nprocs)}
        return RunProcsResult(values, failures, self.logs.stdouts, self.logs.stderrs)

    def close(self, death_sig: signal.Signals | None = None, timeout: int = 30) -> None:
        """Ends the workers that still run.

        Args:
            death_sig: the signal they get; SIGTERM otherwise.
            timeout: after so many seconds they get SIGKILL.
        """
        self._signal(death_sig or signal.SIGTERM)
        end = time.monotonic() + timeout
        while self._watched and (left := end - time.monotonic()) > 0:
            self._collect(self._selector.select(left))
        self._signal(signal.SIGKILL)
        while self._watched:
            self._collect(self._selector.select())
        for tail in self._tails:
            tail.stop()
        self.recorders.close()

    def _signal(self, number: signal.Signals) -> None:
        for descriptor in self._watched.values():
            with contextlib.suppress(ProcessLookupError):  # it has ended, and the descriptor says so
                signal.pidfd_send_signal(descriptor, number)


class SubprocessContext(PContext):
    """Workers that are programs.

    Args:
        name: what errors call them.
        entrypoint: the function, or the program.
        args: the arguments, by local rank.
        envs: the variables of the environment, by local rank.
        logs_specs: where their output goes.
        log_line_prefixes: what lines of the console begin with, by local rank.
        numa_options: how they are bound to nodes of memory; None for not at all.
        duplicate_stdout_filters: lines of stdout with one of these texts go to a file of their own.
        duplicate_stderr_filters: the same of stderr.

    Example:
        >>> SubprocessContext("trainer", "train.py", {0: ()}, {0: {}}, logs).start()  # doctest: +SKIP
    """

    def __init__(
        self,
        name: str,
        entrypoint: str,
        args: dict[int, tuple[Any, ...]],
        envs: dict[int, dict[str, str]],
        logs_specs: LogsSpecs,
        log_line_prefixes: dict[int, str] | None = None,
        numa_options: object | None = None,
        duplicate_stdout_filters: list[str] | None = None,
        duplicate_stderr_filters: list[str] | None = None,
    ):
        _refuse(numa_options=numa_options)
        super().__init__(
            name,
            entrypoint,
            args,
            envs,
            logs_specs,
            log_line_prefixes,
            duplicate_stdout_filters,
            duplicate_stderr_filters,
        )
        self.subprocess_handlers: dict[int, SubprocessHandler] = {}

    def _start(self) -> None:
        for rank, args in self.args.items():
            env = self._environment(rank)
            out, err = self.logs.stdouts[rank], self.logs.stderrs[rank]
            handler = get_subprocess_handler(str(self.entrypoint), args, env, out, err, rank)
            self.subprocess_handlers[rank] = handler
            self._watch(rank, handler.proc.pid)

    def pids(self) -> dict[int, int]:
        return {rank: handler.proc.pid for rank, handler in self.subprocess_handlers.items()}

    def _exit_status(self, rank: int) -> int:
        return self.subprocess_handlers[rank].proc.wait()


class MultiprocessContext(PContext):
    """Workers that are functions, in processes of `multiprocessing`.

    Args:
        name: what errors call them.
        entrypoint: the function, or the program.
        args: the arguments, by local rank.
        envs: the variables of the environment, by local rank.
        start_method: "spawn", "fork" or "forkserver".
        logs_specs: where their output goes.
        log_line_prefixes: what lines of the console begin with, by local rank.
        numa_options: how they are bound to nodes of memory; None for not at all.
        duplicate_stdout_filters: lines of stdout with one of these texts go to a file of their own.
        duplicate_stderr_filters: the same of stderr.

    Example:
        >>> MultiprocessContext("trainer", train, {0: ()}, {0: {}}, "spawn", logs).start()  # doctest: +SKIP
    """

    def __init__(
        self,
        name: str,
        entrypoint: Callable[..., Any],
        args: dict[int, tuple[Any, ...]],
        envs: dict[int, dict[str, str]],
        start_method: str,
        logs_specs: LogsSpecs,
        log_line_prefixes: dict[int, str] | None = None,
        numa_options: object | None = None,
        duplicate_stdout_filters: list[str] | None = None,
        duplicate_stderr_filters: list[str] | None = None,
    ):
        _refuse(numa_options=numa_options)
        super().__init__(
            name,
            entrypoint,
            args,
            envs,
            logs_specs,
            log_line_prefixes,
            duplicate_stdout_filters,
            duplicate_stderr_filters,
        )
        self.start_method = start_method
        self._processes: dict[int, BaseProcess] = {}
        self._answers: dict[int, Connection[Any, Any]] = {}
        self._values: dict[int, Any] = {}

    def _start(self) -> None:
        assert callable(self.entrypoint)
        context = multiprocessing.get_context(self.start_method)
        for rank, args in self.args.items():
            mine, remote = context.Pipe(duplex=False)
            env = self._environment(rank)
            streams = {"stdout": self.logs.stdouts[rank], "stderr": self.logs.stderrs[rank]}
            process = context.Process(  # type: ignore[attr-defined]
                target=_work, args=(self.entrypoint, args, env, streams, remote), name=f"{self.name}{rank}"
            )
            process.start()
            assert process.pid is not None
            self._watch(rank, process.pid)  # starting the next one collects those that have ended
            remote.close()
            self._processes[rank], self._answers[rank] = process, mine
            self._selector.register(mine, selectors.EVENT_READ, ~rank)

    def _collect(self, events: list[tuple[selectors.SelectorKey, int]]) -> None:
        # A worker that returns much waits until it is read, so values are taken while others run.
        for key, _ in events:
            if key.data < 0:
                self._take(~key.data)
        super()._collect([(key, mask) for key, mask in events if key.data >= 0])

    def _take(self, rank: int) -> None:
        answer = self._answers.pop(rank, None)
        if answer is not None:
            self._selector.unregister(answer)
            with contextlib.suppress(EOFError):  # it ended without an answer, as its status will say
                self._values[rank] = answer.recv()
            answer.close()

    def pids(self) -> dict[int, int]:
        return {rank: process.pid or 0 for rank, process in self._processes.items()}

    def _exit_status(self, rank: int) -> int:
        self._take(rank)
        self._processes[rank].join()
        return self._processes[rank].exitcode or 0

    def _return_value(self, rank: int) -> Any:
        return self._values.get(rank)


def _work(
    entrypoint: Callable[..., Any],
    args: tuple[Any, ...],
    env: dict[str, str],
    streams: dict[str, str],
    answer: Connection[Any, Any],
) -> None:
    """The main function of a worker that is a function."""
    agent = multiprocessing.parent_process()
    end_with_parent(os.getppid())  # a fork server's end is that of its agent
    if agent is None or not agent.is_alive():
        sys.exit(1)
    os.environ.update(env)
    with contextlib.ExitStack() as stack:
        for stream, path in streams.items():
            if path:
                stack.enter_context(redirect(stream, path))
        answer.send(record(entrypoint)(*args))
