"""Variables, ports, and what stands for a rank in arguments."""

from __future__ import annotations

import os
import socket
from string import Template
from typing import Any

__all__ = ["get_env_variable_or_raise", "get_socket_with_port", "macros"]


def get_env_variable_or_raise(env_name: str) -> str:
    """An environment variable.

    Raises:
        ValueError: it isn't set.
    """
    value = os.environ.get(env_name)
    if value is None:
        raise ValueError(f"environment variable {env_name} expected, but not set")
    return value


def get_socket_with_port() -> socket.socket:
    """A socket that listens on a free port of this machine, so that nobody else takes the port.

    Example:
        >>> with get_socket_with_port() as listening:
        ...     listening.getsockname()[1] > 0
        True
    """
    server = socket.socket()
    try:
        server.bind(("localhost", 0))
        server.listen(0)
    except OSError:
        server.close()
        raise
    return server


class macros:
    """The placeholders for a worker's numbers in its arguments.

    Example:
        >>> macros.substitute(["--rank", macros.local_rank], "3")
        ['--rank', '3']
    """

    local_rank = "${local_rank}"

    @staticmethod
    def substitute(args: list[Any], local_rank: str) -> list[Any]:
        """Arguments with a worker's numbers in place of what stands for them."""
        return [
            Template(each).safe_substitute(local_rank=local_rank) if isinstance(each, str) else each
            for each in args
        ]
