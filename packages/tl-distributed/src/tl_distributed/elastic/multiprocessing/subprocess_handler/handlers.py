"""The handler that starts programs."""

from __future__ import annotations

from typing import Any

from .subprocess_handler import SubprocessHandler

__all__ = ["get_subprocess_handler"]


def get_subprocess_handler(
    entrypoint: str,
    args: tuple[Any, ...],
    env: dict[str, str],
    stdout: str,
    stderr: str,
    local_rank_id: int,
    numa_options: object | None = None,
) -> SubprocessHandler:
    """Starts a program as a worker.

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
        >>> handler = get_subprocess_handler("/bin/true", (), {}, "", "", 0)  # doctest: +SKIP
        >>> handler.proc.wait()  # doctest: +SKIP
    """
    return SubprocessHandler(entrypoint, args, env, stdout, stderr, local_rank_id, numa_options)
