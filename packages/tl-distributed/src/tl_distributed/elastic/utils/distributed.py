"""Stores for agents."""

from __future__ import annotations

from datetime import timedelta

from ...base.errors import DistNetworkError
from ...stores.tcp_store import TCPStore
from ..rendezvous.api import free_port
from .api import get_socket_with_port

__all__ = ["create_c10d_store", "get_free_port", "get_socket_with_port"]


def create_c10d_store(
    is_server: bool,
    server_addr: str,
    server_port: int = -1,
    world_size: int = 1,
    timeout: float = 600,
    wait_for_workers: bool = True,
    retries: int = 3,
    use_libuv: bool | None = None,
) -> TCPStore:
    """A store that one process holds and others reach.

    Args:
        is_server: whether this process holds it.
        server_addr: the host of the process that holds it.
        server_port: its port; -1 takes a free one, on that process.
        world_size: how many processes will use it.
        timeout: how many seconds to wait for the others.
        wait_for_workers: whether the process that holds it waits for all others first.
        retries: how often to try another port, where none is given.
        use_libuv: kept for callers.

    Raises:
        ValueError: a process that doesn't hold it was given no port.
        DistNetworkError: the port is taken, or nobody answers.
    """
    if server_port == -1 and not is_server and world_size > 1:
        raise ValueError("create_c10d_store: server_port must be given where another process holds the store")
    for left in reversed(range(retries if server_port == -1 else 1)):
        port = get_free_port() if server_port == -1 else server_port
        try:
            return TCPStore(
                server_addr, port, world_size, is_server, timedelta(seconds=timeout), wait_for_workers
            )
        except DistNetworkError:
            if not left:
                raise
    raise ValueError(f"create_c10d_store: retries must be positive, got {retries}")


def get_free_port() -> int:
    """A port that nobody uses now.

    Example:
        >>> get_free_port() > 0
        True
    """
    return free_port()
