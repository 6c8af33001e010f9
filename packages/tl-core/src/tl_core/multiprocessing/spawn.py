"""Several processes that run one function, each with its number."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import multiprocessing.connection
import multiprocessing.forkserver
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"


class ProcessException(Exception):
    """A process has failed.

    Args:
        msg: what happened.
        error_index: its number.
        pid: its number in the system.
    """

    def __init__(self, msg: str, error_index: int, pid: int):
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process has raised an exception; the message holds its traceback.

    Args:
        msg: what happened.
        error_index: its number.
        error_pid: its number in the system.
    """

    def __init__(self, msg: str, error_index: int, error_pid: int):
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """A process has ended with an exit code, or by a signal.

    Args:
        msg: what happened.
        error_index: its number.
        error_pid: its number in the system.
        exit_code: its exit code; minus the signal's number if it was one.
        signal_name: the signal's name.
    """

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ):
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(function: Callable[..., Any], number: int, args: tuple[Any, ...], report: str) -> None:
    """Runs in the new process; writes the traceback of what it raises into the file `report`."""
    try:
        function(number, *args)
    except KeyboardInterrupt:
        pass  # the parent has had it too, and says so
    except Exception:
        with open(report, "w", encoding="utf-8") as file:
            file.write(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """The processes that `spawn` has started.

    Args:
        processes: the processes.
        error_files: for each the file in which it says what it raised.

    Example:
        >>> import tl_core
        >>> context = tl_core.multiprocessing.spawn(train, nprocs=4, join=False)  # doctest: +SKIP
        >>> context.join()  # doctest: +SKIP
    """

    def __init__(self, processes: list[Any], error_files: list[str]):
        self.processes = processes
        self.error_files = error_files
        self.sentinels = {process.sentinel: number for number, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The processes' numbers in the system."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits until some process has ended; call it again until it says that all have.

        If one has failed, the others are terminated.

        Args:
            timeout: how many seconds to wait; None waits for ever.
            grace_period: how many seconds the others get to end by themselves before they are killed; 30 by default.

        Returns:
            Whether all have ended.

        Raises:
            ProcessRaisedException: a process has raised an exception.
            ProcessExitedException: a process has ended with an exit code or by a signal.
        """
        if not self.sentinels:
            return True
        ready = multiprocessing.connection.wait(list(self.sentinels), timeout=timeout)
        failed = None
        for sentinel in ready:
            number = self.sentinels.pop(sentinel)
            self.processes[number].join()
            if failed is None and self.processes[number].exitcode != 0:
                failed = number
        if failed is None:
            self._forget_reports(not self.sentinels)
            return not self.sentinels
        self._terminate(30.0 if grace_period is None else grace_period)
        self._raise(failed)

    def _terminate(self, seconds: float) -> None:
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def _raise(self, number: int) -> NoReturn:
        with open(self.error_files[number], encoding="utf-8") as file:
            report = file.read()
        self._forget_reports(True)
        process = self.processes[number]
        if report:
            text = f"\n\n-- Process {number} terminated with the following error:\n{report}"
            raise ProcessRaisedException(text, number, process.pid)
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name
            raise ProcessExitedException(
                f"process {number} terminated with signal {name}", number, process.pid, code, name
            )
        raise ProcessExitedException(
            f"process {number} terminated with exit code {code}", number, process.pid, code
        )

    def _forget_reports(self, ended: bool) -> None:
        if ended:
            for path in self.error_files:
                if os.path.exists(path):
                    os.unlink(path)


class SpawnContext(ProcessContext):
    """The processes that `spawn(…, join=False)` has started.

    Example:
        >>> import tl_core
        >>> context = tl_core.multiprocessing.spawn(train, nprocs=4, join=False)  # doctest: +SKIP
        >>> context.join()  # doctest: +SKIP
    """


def _empty_report() -> str:
    descriptor, path = tempfile.mkstemp(prefix="tl-process-", suffix=".txt")
    os.close(descriptor)
    return path


# Each start waits for the server's answer; in threads these times pass together.
def _start_all(processes: list[Any], parallel: bool) -> None:
    if not parallel:
        for process in processes:
            process.start()
        return
    multiprocessing.forkserver.ensure_running()  # once, before several ask for it
    with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, len(processes))) as pool:
        for started in [pool.submit(process.start) for process in processes]:
            started.result()


def _end_all(processes: list[Any], reports: list[str]) -> None:
    for process in processes:
        if process.pid is not None:
            process.kill()
            process.join()
    for path in reports:
        os.unlink(path)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Starts processes that call `fn(i, *args)`.

    Args:
        fn: a function of a module, as it is pickled.
        args: what follows the process's number.
        nprocs: how many.
        join: whether to wait for them.
        daemon: whether they end with this process.
        start_method: "spawn", "fork" or "forkserver". Those of a forkserver start side by side where the variable
            TORCH_MP_PARALLEL_START is 1.

    Returns:
        The processes, with `join=False`.

    Raises:
        OSError: one could not be started; the others are ended.

    Example:
        >>> import tl_core
        >>> tl_core.multiprocessing.start_processes(train, nprocs=4, start_method="fork")  # doctest: +SKIP
    """
    context: Any = multiprocessing.get_context(start_method)
    reports = [_empty_report() for _ in range(nprocs)]
    processes = [context.Process(target=_run, args=(fn, number, args, report), daemon=daemon)
                 for number, report in enumerate(reports)]  # fmt: skip
    parallel = start_method == "forkserver" and os.environ.get(ENV_VAR_PARALLEL_START, "0") == "1"
    try:
        _start_all(processes, parallel)
    except BaseException:
        _end_all(processes, reports)
        raise
    started = SpawnContext(processes, reports)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Starts fresh processes that call `fn(i, *args)`, and waits for them; if one fails, the others are terminated.

    Args:
        fn: a function of a module, as it is pickled.
        args: what follows the process's number.
        nprocs: how many.
        join: whether to wait for them.
        daemon: whether they end with this process.
        start_method: kept for callers; `start_processes` knows others than "spawn".

    Returns:
        The processes, with `join=False`.

    Raises:
        ProcessRaisedException: a process has raised an exception.
        ProcessExitedException: a process has ended with an exit code or by a signal.

    Example:
        >>> import tl_core
        >>> tl_core.multiprocessing.spawn(train, args=("data",), nprocs=4)  # doctest: +SKIP
    """
    if start_method != "spawn":
        warnings.warn(
            f"spawn starts processes with 'spawn', not {start_method!r}; start_processes does it",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
