"""Events of a job, in a form that programs read."""

from __future__ import annotations

import enum
import json
from dataclasses import asdict, dataclass, field

__all__ = ["Event", "EventMetadataValue", "EventSource", "NodeState", "RdzvEvent"]

EventMetadataValue = str | int | float | bool | None


class EventSource(enum.StrEnum):
    """The reporter of an event.

    Example:
        >>> EventSource.AGENT.name
        'AGENT'
    """

    AGENT = "AGENT"
    WORKER = "WORKER"


class NodeState(enum.StrEnum):
    """The state of an agent.

    Example:
        >>> NodeState.RUNNING.name
        'RUNNING'
    """

    INIT = "INIT"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"


@dataclass
class Event:
    """Something that happened.

    Args:
        name: what.
        source: who says so.
        timestamp: when, in milliseconds.
        metadata: what else is known.

    Example:
        >>> Event("restart", EventSource.AGENT, 3, {"count": 1}).serialize()
        '{"name": "restart", "source": "AGENT", "timestamp": 3, "metadata": {"count": 1}}'
    """

    name: str
    source: EventSource
    timestamp: int = 0
    metadata: dict[str, EventMetadataValue] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.serialize()

    @staticmethod
    def deserialize(data: str | Event) -> Event:
        """Reads what `serialize` wrote."""
        if isinstance(data, Event):
            return data
        values = json.loads(data)
        return Event(**{**values, "source": EventSource(values["source"])})

    def serialize(self) -> str:
        """The event as JSON."""
        return json.dumps(asdict(self))


@dataclass
class RdzvEvent:
    """Something that happened while agents agreed.

    Args:
        name: what happened.
        run_id: the job.
        message: a text.
        hostname: the machine.
        pid: the process.
        node_state: what the agent was at.
        master_endpoint: where the workers meet.
        rank: the rank of the agent, if it has one.
        local_id: the number of the agent on its machine.
        error_trace: the traceback, after an error.

    Example:
        >>> RdzvEvent("join", "job 7", "joined", "host", 1, NodeState.RUNNING).run_id
        'job 7'
    """

    name: str
    run_id: str
    message: str
    hostname: str
    pid: int
    node_state: NodeState
    master_endpoint: str = ""
    rank: int | None = None
    local_id: int | None = None
    error_trace: str = ""

    def __str__(self) -> str:
        return self.serialize()

    @staticmethod
    def deserialize(data: str | RdzvEvent) -> RdzvEvent:
        """Reads what `serialize` wrote."""
        if isinstance(data, RdzvEvent):
            return data
        values = json.loads(data)
        return RdzvEvent(**{**values, "node_state": NodeState(values["node_state"])})

    def serialize(self) -> str:
        """The event as JSON."""
        return json.dumps(asdict(self))
