"""One worker that is a program."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from functools import partial
from typing import Any

from ..parent_death import end_with_parent

__all__ = ["SubprocessHandler"]


class SubprocessHandler:
    """Starts a program as a worker, and ends it.

    Args:
        entrypoint: the program.
        args: its arguments.
        env: its variables, over those of this process.
        stdout: the file of its output; empty for that of this process.
        stderr: the file of its errors; likewise.
        local_rank_id: its number on this machine.
        numa_options: not there yet.

    Raises:
        NotImplementedError: for `numa_options`.

    Example:
        >>> worker = SubprocessHandler("/bin/sh", ("-c", "exit 3"), {}, "", "", 0, None)
        >>> worker.proc.wait()
        3
    """

    def __init__(
        self,
        entrypoint: str,
        args: tuple[Any, ...],
        env: dict[str, str],
        stdout: str | None,
        stderr: str | None,
        local_rank_id: int,
        numa_options: object | None,
    ):
        if numa_options:
            raise NotImplementedError(
                f"SubprocessHandler: numa_options is not there yet, got {numa_options!r}"
            )
        self.local_rank_id = local_rank_id
        command = [entrypoint, *(str(each) for each in args)]
        with contextlib.ExitStack() as files:
            out, err = (files.enter_context(open(path, "wb")) if path else None for path in (stdout, stderr))
            self.proc = subprocess.Popen(
                command,
                env={**os.environ, **env},
                stdout=out,
                stderr=err,
                preexec_fn=partial(end_with_parent, os.getpid()),
            )

    def close(self, death_sig: signal.Signals | None = None) -> None:
        """Sends the worker a signal, SIGTERM if none is given."""
        self.proc.send_signal(death_sig or signal.SIGTERM)
