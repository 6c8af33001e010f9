"""Objects of all workers, gathered at the first of them; also the barrier of a shutdown."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tl_core.futures import Future

from .current import current
from .functions import async_execution


class _Meeting:
    """One gathering of some workers."""

    def __init__(self, names: frozenset[str]):
        self.names = names
        self.objects: dict[str, Any] = {}
        self.done: Future[dict[str, Any]] = Future()


class Meetings:
    """The gatherings that a worker leads, and the count of those that it took part in.

    Args:
        agent: the agent of the worker.
    """

    def __init__(self, agent: Any):
        self.agent = agent
        self._lock = threading.Lock()
        self._counts: Counter[frozenset[str]] = Counter()
        self._open: dict[tuple[frozenset[str], int], _Meeting] = {}
        agent.listeners.append(self._lose)

    def next_round(self, names: frozenset[str]) -> int:
        """The number of the next gathering of some workers."""
        with self._lock:
            self._counts[names] += 1
            return self._counts[names]

    def add(self, names: frozenset[str], number: int, name: str, value: Any) -> Future[dict[str, Any]]:
        """Adds the object of a worker.

        Args:
            names: the workers that take part.
            number: of the gathering.
            name: the worker.
            value: its object.

        Returns:
            All objects, once they are there.
        """
        with self._lock:
            meeting = self._open.setdefault((names, number), _Meeting(names))
            meeting.objects[name] = value
            is_full = len(meeting.objects) == len(names)
            if is_full:
                del self._open[names, number]
        if is_full:
            meeting.done.set_result(meeting.objects)
        else:
            for worker, error in list(self.agent.lost.items()):
                self._lose(worker, error)
        return meeting.done

    def _lose(self, worker: int, error: Exception) -> None:
        """Ends gatherings that wait for a worker that is gone."""
        info = next((each for each in self.agent.get_worker_infos() if each.id == worker), None)
        if info is None:
            return
        with self._lock:
            lost = [
                key
                for key, meeting in self._open.items()
                if info.name in meeting.names and info.name not in meeting.objects
            ]
            meetings = [self._open.pop(key) for key in lost]
        for meeting in meetings:
            meeting.done.set_exception(
                RuntimeError(f"{info.name} (rank {info.id}) is gone, and others wait for it: {error}")
            )


def gather(agent: Any, value: Any, names: Iterable[str] | None, timeout: float) -> dict[str, Any]:
    """The objects of workers by name.

    Args:
        agent: the agent of this worker.
        value: its object.
        names: the workers that take part; None for all.
        timeout: the seconds that this may take, 0 for any number, -1 for the agent's.

    Raises:
        RuntimeError: a worker is gone, or came too late.
    """
    members = frozenset(each.name for each in agent.get_worker_infos()) if names is None else frozenset(names)
    if agent.info.name not in members:
        raise RuntimeError(f"{agent.info.name} is not among the workers that take part: {sorted(members)}")
    leader = agent.roster.find(min(members))
    number = agent.part(Meetings).next_round(members)
    limit = agent.timeout if timeout < 0 else timeout
    call = agent.call(leader, _add, (members, number, agent.info.name, value), None, limit, True)
    try:
        return dict(call.wait())
    except RuntimeError as error:
        if "RPC ran for more than" in str(error):
            raise RuntimeError(
                f"{agent.info.name} timed out in _all_gather after {limit:.2f} seconds: not all of "
                f"{sorted(members)} came. The first exception is {error}"
            ) from error
        raise


@async_execution
def _add(names: frozenset[str], number: int, name: str, value: Any) -> Future[dict[str, Any]]:
    result: Future[dict[str, Any]] = current().part(Meetings).add(names, number, name, value)
    return result
