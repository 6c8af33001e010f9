"""Starts workers, watches them, and ends all when one fails.

>>> context = start_processes(
...     "hello", "/bin/true", args={0: (), 1: ()}, envs={0: {}, 1: {}}, logs_specs=DefaultLogsSpecs()
... )
>>> context.wait().is_failed()
False
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import errors
from .api import (
    DefaultLogsSpecs,
    LogsDest,
    LogsSpecs,
    MultiprocessContext,
    PContext,
    RunProcsResult,
    SignalException,
    Std,
    SubprocessContext,
)
from .errors import ChildFailedError, ProcessFailure, record

__all__ = [
    "ChildFailedError",
    "DefaultLogsSpecs",
    "LogsDest",
    "LogsSpecs",
    "MultiprocessContext",
    "PContext",
    "ProcessFailure",
    "RunProcsResult",
    "SignalException",
    "Std",
    "SubprocessContext",
    "errors",
    "record",
    "start_processes",
]


def start_processes(
    name: str,
    entrypoint: Callable[..., Any] | str,
    args: dict[int, tuple[Any, ...]],
    envs: dict[int, dict[str, str]],
    logs_specs: LogsSpecs,
    log_line_prefixes: dict[int, str] | None = None,
    start_method: str = "spawn",
    numa_options: object | None = None,
    duplicate_stdout_filters: list[str] | None = None,
    duplicate_stderr_filters: list[str] | None = None,
) -> PContext:
    """Starts workers: a program, or a function in processes of its own.

    Args:
        name: what is run, for texts.
        entrypoint: a program, or a function that can be pickled.
        args: its arguments by local rank.
        envs: its variables by local rank.
        logs_specs: where its output goes.
        log_line_prefixes: what stands before lines that the console shows, by local rank.
        start_method: spawn, fork or forkserver, for functions.
        numa_options: not there yet.
        duplicate_stdout_filters: not there yet.
        duplicate_stderr_filters: not there yet.

    Returns:
        The workers, which run.

    Raises:
        RuntimeError: `args` and `envs` don't speak of the local ranks 0, 1, ...
        NotImplementedError: an option that isn't there yet.

    Example:
        >>> start_processes("trainer", "train.py", {0: ("--fast",)}, {0: {}}, logs).wait()  # doctest: +SKIP
    """
    context: PContext
    if isinstance(entrypoint, str):
        context = SubprocessContext(
            name,
            entrypoint,
            args,
            envs,
            logs_specs,
            log_line_prefixes,
            numa_options,
            duplicate_stdout_filters,
            duplicate_stderr_filters,
        )
    else:
        context = MultiprocessContext(
            name,
            entrypoint,
            args,
            envs,
            start_method,
            logs_specs,
            log_line_prefixes,
            numa_options,
            duplicate_stdout_filters,
            duplicate_stderr_filters,
        )
    try:
        context.start()
    except BaseException:
        context.close()
        raise
    return context
