"""The agent of this process, or of this thread: threads can be workers of their own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Thread(threading.local):
    agent: Any = None
    is_worker = False


_thread = _Thread()
_process: Any = None


def current() -> Any:
    """The agent of this process, or of this thread where it has one of its own.

    Raises:
        RuntimeError: there is none.
    """
    agent = _thread.agent or _process
    if agent is None:
        raise RuntimeError(
            "Current RPC agent is not set! Did you initialize the RPC framework (e.g. by calling `rpc.init_rpc`)?"
        )
    return agent


def is_set() -> bool:
    """True if there is an agent."""
    return (_thread.agent or _process) is not None


def enter(agent: Any) -> None:
    """Makes this thread one of an agent's."""
    _thread.agent = agent


@contextmanager
def worker_of_thread() -> Iterator[None]:
    """Within the block, this thread is a worker of its own, so that threads can be the workers of a job."""
    _thread.is_worker = True
    try:
        yield
    finally:
        _thread.is_worker, _thread.agent = False, None


def set_current(agent: Any) -> None:
    """Sets the agent of this process, or of this thread if it is a worker of its own.

    Args:
        agent: the agent, None for none.
    """
    global _process
    if _thread.is_worker:
        _thread.agent = agent
    else:
        _process = agent
