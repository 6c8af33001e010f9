"""Queues between processes that send tensors as shared memory: those of Python's `multiprocessing.queues`."""

from __future__ import annotations

import io
import pickle
from multiprocessing.queues import JoinableQueue, Queue, SimpleQueue
from multiprocessing.reduction import ForkingPickler
from typing import Any

__all__ = ["ConnectionWrapper", "JoinableQueue", "Queue", "SimpleQueue"]


class ConnectionWrapper:
    """An end of a pipe whose `send` and `recv` share the memory of tensors; all else is the connection's own.

    Args:
        conn: the connection.

    Example:
        >>> import tl_core
        >>> from multiprocessing import Pipe
        >>> sender, receiver = map(ConnectionWrapper, Pipe())
        >>> sender.send(tl_core.ones(2))
        >>> receiver.recv()
        tensor([1., 1.])
    """

    def __init__(self, conn: Any) -> None:
        self.conn = conn

    def send(self, obj: Any) -> None:
        """Sends an object."""
        buffer = io.BytesIO()
        ForkingPickler(buffer, pickle.HIGHEST_PROTOCOL).dump(obj)
        self.send_bytes(buffer.getvalue())

    def recv(self) -> Any:
        """Waits for an object that the other end has sent."""
        return pickle.loads(self.recv_bytes())

    def __getattr__(self, name: str) -> Any:
        if "conn" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.conn, name)
