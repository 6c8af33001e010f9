"""Failures of workers: their error files, and the error that their agent raises.

A worker whose main function is decorated with `record` writes its exception to a file. The agent reads the files, and
`ChildFailedError` shows the first failure, with its stack, before the others.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from .error_handler import ErrorHandler
from .handlers import get_error_handler

__all__ = ["ChildFailedError", "ErrorHandler", "ProcessFailure", "get_error_handler", "record"]

_NO_FILE = "<N/A>"
_P = ParamSpec("_P")
_R = TypeVar("_R")


@dataclass
class ProcessFailure:
    """The end of one worker that failed.

    Args:
        local_rank: its number on its machine.
        pid: its process.
        exitcode: its exit status; minus the signal's number if one ended it.
        error_file: where `record` wrote the exception.

    Example:
        >>> failure = ProcessFailure(local_rank=0, pid=71, exitcode=-9, error_file="")
        >>> failure.signal_name(), failure.message
        ('SIGKILL', 'Signal 9 (SIGKILL) received by PID 71')
    """

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: dict[str, Any] = field(init=False, default_factory=dict)
    message: Any = field(init=False, default="")
    timestamp: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.timestamp = int(time.time())
        self.message = self._ending()
        path = Path(self.error_file) if self.error_file else None
        if path is None or not path.is_file():
            self.error_file = _NO_FILE
            return
        try:
            self.error_file_data = json.loads(path.read_text())
            self.message = self.error_file_data["message"]
            if isinstance(self.message, dict):
                self.timestamp = int(self.message["extraInfo"]["timestamp"])
        except (ValueError, KeyError, TypeError) as error:
            self.message = f"{self._ending()}; its error file {path} can't be read: {error!r}"

    def _ending(self) -> str:
        if self.exitcode < 0:
            return f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"
        return "To enable traceback see: record, of tl.distributed.elastic.multiprocessing.errors"

    def signal_name(self) -> str:
        """The name of the signal that ended it; `<N/A>` if none did."""
        if self.exitcode >= 0:
            return _NO_FILE
        try:
            return signal.Signals(-self.exitcode).name
        except ValueError:
            return f"signal {-self.exitcode}"

    def timestamp_isoformat(self) -> str:
        """When it failed."""
        return datetime.fromtimestamp(self.timestamp).isoformat(sep="_")


class ChildFailedError(Exception):
    """Workers failed. The text shows all of them, and the first with its stack.

    Args:
        name: what was run.
        failures: the failures by global rank.

    Example:
        >>> failure = ProcessFailure(local_rank=1, pid=71, exitcode=-9, error_file="")
        >>> error = ChildFailedError("train.py", {3: failure})
        >>> "rank      : 3 (local_rank: 1)" in str(error), "SIGKILL" in str(error)
        (True, True)
    """

    def __init__(self, name: str, failures: dict[int, ProcessFailure]):
        if not failures:
            raise ValueError("ChildFailedError: failures must not be empty")
        self.name = name
        self.failures = failures
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """The global rank and the failure that came first."""
        rank = min(self.failures, key=lambda each: self.failures[each].timestamp)
        return rank, self.failures[rank]

    def format_msg(self, boarder_delim: str = "=", section_delim: str = "-") -> str:
        """The table of failures, the first one last."""
        first, _ = self.get_first_failure()
        later = [self._row(rank) for rank in sorted(self.failures) if rank != first]
        rule, line = boarder_delim * 60, section_delim * 60
        rows = [rule, f"{self.name} FAILED", line, "Failures:", *(later or ["  <NO_OTHER_FAILURES>"])]
        return "\n".join([*rows, line, "Root Cause (first observed failure):", self._row(first), rule])

    def _row(self, rank: int) -> str:
        failure = self.failures[rank]
        message = failure.message
        if isinstance(message, dict):
            message = message.get("extraInfo", {}).get("py_callstack", message.get("message", ""))
        text = str(message).strip().replace("\n", "\n    ")
        how = f" ({failure.signal_name()})" if failure.exitcode < 0 else ""
        return "\n".join(
            [
                f"  time      : {failure.timestamp_isoformat()}",
                f"  host      : {socket.gethostname()}",
                f"  rank      : {rank} (local_rank: {failure.local_rank})",
                f"  exitcode  : {failure.exitcode}{how} (pid: {failure.pid})",
                f"  error_file: {failure.error_file}",
                f"  traceback : {text}",
            ]
        )


def record(fn: Callable[_P, _R], error_handler: ErrorHandler | None = None) -> Callable[_P, _R | None]:
    """Decorates a worker's main function: its exception is written to the error file, and raised again.

    Args:
        fn: the function.
        error_handler: what writes; that of `get_error_handler` otherwise.

    Example:
        >>> @record
        ... def main():
        ...     return 3
        >>> main()
        3
    """
    handler = error_handler or get_error_handler()

    @functools.wraps(fn)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _R | None:
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as error:
            if error.code not in (None, 0):
                handler.record_exception(error)
            raise
        except ChildFailedError as error:
            _, failure = error.get_first_failure()
            if failure.error_file != _NO_FILE and os.environ.get("TORCHELASTIC_ERROR_FILE"):
                handler.dump_error_file(failure.error_file, failure.exitcode)
            raise
        except Exception as error:
            handler.record_exception(error)
            raise

    return run
