"""Events of a job, for a handler of `logging`."""

from __future__ import annotations

import functools
import logging
import os
import socket
import sys
import traceback

from .api import Event, EventMetadataValue, EventSource, NodeState, RdzvEvent
from .handlers import get_logging_handler

__all__ = [
    "Event",
    "EventMetadataValue",
    "EventSource",
    "NodeState",
    "RdzvEvent",
    "construct_and_record_rdzv_event",
    "get_logging_handler",
    "record",
    "record_rdzv_event",
]


@functools.cache
def _logger(destination: str) -> logging.Logger:
    logger = logging.getLogger(f"tl_distributed.events.{destination}")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(get_logging_handler(destination))
    return logger


def record(event: Event, destination: str = "null") -> None:
    """Tells an event.

    Args:
        event: what happened.
        destination: the name of a handler.

    Raises:
        ValueError: there is no such handler.

    Example:
        >>> record(Event("restart", EventSource.AGENT))
    """
    _logger(destination).info(event.serialize())


def record_rdzv_event(event: RdzvEvent) -> None:
    """Tells an event of a rendezvous.

    Example:
        >>> from tl_distributed.elastic import events
        >>> event = events.RdzvEvent("join", "job 7", "joined", "host", 1, events.NodeState.RUNNING)
        >>> events.record_rdzv_event(event)
    """
    _logger("null").info(event.serialize())


def construct_and_record_rdzv_event(
    run_id: str,
    message: str,
    node_state: NodeState,
    name: str = "",
    hostname: str = "",
    pid: int | None = None,
    master_endpoint: str = "",
    local_id: int | None = None,
    rank: int | None = None,
) -> None:
    """Makes an event of a rendezvous and tells it; what isn't given is this process's.

    Args:
        run_id: the job.
        message: what happened.
        node_state: where the agent stands.
        name: the name of the event; that of the calling function otherwise.
        hostname: the machine.
        pid: the process.
        master_endpoint: where workers meet.
        local_id: which of several handlers of the process.
        rank: the agent's.

    Example:
        >>> from tl_distributed.elastic import events
        >>> events.construct_and_record_rdzv_event("job 7", "joined", events.NodeState.RUNNING)
    """
    error = traceback.format_exc() if sys.exc_info()[0] is not None else ""
    caller = name or sys._getframe(1).f_code.co_name
    event = RdzvEvent(
        caller,
        run_id,
        message,
        hostname or socket.gethostname(),
        os.getpid() if pid is None else pid,
        node_state,
        master_endpoint,
        rank,
        local_id,
        error,
    )
    record_rdzv_event(event)
