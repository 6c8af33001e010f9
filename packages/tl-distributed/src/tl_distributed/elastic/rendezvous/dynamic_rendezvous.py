"""Agents that agree through one value, which each of them reads, and replaces if nobody else has meanwhile.

Each agent counts a beat in that value. One whose beat stands still for too long, by the clock of the one that looks, is
taken out, and the others agree anew: no clocks are compared. Workers that fail, agents that join and agents that die
end a round for everybody.
"""

from __future__ import annotations

import itertools
import logging
import os
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Self, TypeVar

from ...stores.store import PrefixStore, Store
from ...stores.tcp_store import TCPStore
from .api import (
    RendezvousClosedError,
    RendezvousConnectionError,
    RendezvousError,
    RendezvousGracefulExitError,
    RendezvousHandler,
    RendezvousInfo,
    RendezvousParameters,
    RendezvousStateError,
    RendezvousStoreInfo,
    RendezvousTimeoutError,
)
from .state import RendezvousState

__all__ = [
    "DynamicRendezvousHandler",
    "RendezvousBackend",
    "RendezvousSettings",
    "RendezvousTimeout",
    "Token",
    "create_handler",
]

Token = Any
"""Names a version of the value."""

_log = logging.getLogger(__name__)
_numbers = itertools.count()


class RendezvousBackend(ABC):
    """The storage of the value.

    Example:
        >>> from tl_distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend
        >>> issubclass(C10dRendezvousBackend, RendezvousBackend)
        True
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the kind of backend."""

    @abstractmethod
    def get_state(self) -> tuple[bytes, Token] | None:
        """The value and its version; None before it is set.

        Raises:
            RendezvousConnectionError: what keeps it can't be reached.
            RendezvousStateError: what is kept is no such value.
        """

    @abstractmethod
    def set_state(self, state: bytes, token: Token | None = None) -> tuple[bytes, Token, bool] | None:
        """Replaces the value, if it still has this version.

        Args:
            state: the new value.
            token: the version; None if there was none.

        Returns:
            The value that is kept then, its version, and whether it is the new one.
        """


class RendezvousTimeout:
    """The timeouts of a rendezvous.

    Args:
        join: until enough agents have come.
        last_call: how long to wait for more when enough have come.
        close: until it is known that the job is over.
        heartbeat: how long an agent's beat may stand still.

    Example:
        >>> RendezvousTimeout(join=timedelta(seconds=60)).join.total_seconds()
        60.0
    """

    def __init__(
        self,
        join: timedelta | None = None,
        last_call: timedelta | None = None,
        close: timedelta | None = None,
        heartbeat: timedelta | None = None,
    ):
        timeouts = {"join": join, "last_call": last_call, "close": close, "heartbeat": heartbeat}
        usual = {"join": 600, "last_call": 30, "close": 30, "heartbeat": 5}
        self._values = {
            name: timedelta(seconds=usual[name]) if value is None else value
            for name, value in timeouts.items()
        }
        for name, value in self._values.items():
            if value <= timedelta(0):
                raise ValueError(f"RendezvousTimeout: {name} must be positive, got {value}")

    @property
    def join(self) -> timedelta:
        """The time limit until enough agents have come."""
        return self._values["join"]

    @property
    def last_call(self) -> timedelta:
        """The time to wait for more agents when enough have come."""
        return self._values["last_call"]

    @property
    def close(self) -> timedelta:
        """The time limit until all agents have read that the job is over."""
        return self._values["close"]

    @property
    def heartbeat(self) -> timedelta:
        """The time after which an agent without a new heartbeat is removed."""
        return self._values["heartbeat"]


@dataclass(frozen=True)
class RendezvousSettings:
    """The settings of a job.

    Attributes:
        run_id: the job's name.
        min_nodes: how few agents will do.
        max_nodes: how many there may be.
        timeout: how long things may take.
        keep_alive_interval: the time from beat to beat.
        keep_alive_max_attempt: how many beats may be missing.
        rank: the rank that this agent insists on.

    Example:
        >>> RendezvousSettings.__name__
        'RendezvousSettings'
    """

    run_id: str
    min_nodes: int
    max_nodes: int
    timeout: RendezvousTimeout
    keep_alive_interval: timedelta
    keep_alive_max_attempt: int
    rank: int | None = None

    @property
    def silence(self) -> float:
        """After how many seconds without a beat an agent counts as gone."""
        missing = self.keep_alive_interval * self.keep_alive_max_attempt
        return max(missing, self.timeout.heartbeat).total_seconds()


class _Beats:
    """When each agent's beat was last seen to change, by this process's clock."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, float]] = {}

    def silent(self, state: RendezvousState, limit: float) -> list[str]:
        """The agents whose beat stands still for longer than a limit, in seconds."""
        now = time.monotonic()
        there = {**state.agents, **state.waiting}
        self._seen = {
            name: old if (old := self._seen.get(name)) and old[0] == beat else (beat, now)
            for name, beat in there.items()
        }
        return [name for name, (_, since) in self._seen.items() if now - since > limit]


class DynamicRendezvousHandler(RendezvousHandler):
    """Agents that agree through one value in a backend, round after round; `from_backend` makes one.

    Args:
        name: this agent's.
        settings: what the job wants.
        backend: where the value is kept.
        store: where agents and workers meet when they have agreed.
        local_addr: this machine's address.

    Example:
        >>> from tl_distributed import HashStore
        >>> from tl_distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend
        >>> store = HashStore()
        >>> backend = C10dRendezvousBackend(store, "job")
        >>> handler = DynamicRendezvousHandler.from_backend("job", store, backend, 1, 1)
        >>> found = handler.next_rendezvous()
        >>> found.rank, found.world_size
        (0, 1)
    """

    def __init__(
        self,
        name: str,
        settings: RendezvousSettings,
        backend: RendezvousBackend,
        store: Store,
        local_addr: str | None = None,
    ):
        self._name = name
        self._settings = settings
        self._backend = backend
        self._whole = store
        self._address = local_addr
        self._round, self._failures = -1, 0
        self._beats = _Beats()
        self._heart: _Heart | None = None

    @classmethod
    def from_backend(
        cls,
        run_id: str,
        store: Store,
        backend: RendezvousBackend,
        min_nodes: int,
        max_nodes: int,
        local_addr: str | None = None,
        timeout: RendezvousTimeout | None = None,
        keep_alive_interval: float = 1,
        keep_alive_max_attempt: int = 5,
        rank: int | None = None,
    ) -> Self:
        """A handler.

        Args:
            run_id: the job's name.
            store: where agents and workers meet when they have agreed.
            backend: where the value is kept.
            min_nodes: how few agents will do.
            max_nodes: how many there may be.
            local_addr: this machine's address; its name otherwise.
            timeout: how long things may take.
            keep_alive_interval: the seconds from beat to beat.
            keep_alive_max_attempt: how many beats may be missing.
            rank: the rank that this agent insists on.
        """
        name = f"{local_addr or socket.gethostname()}_{os.getpid()}_{next(_numbers)}"
        settings = RendezvousSettings(
            run_id,
            min_nodes,
            max_nodes,
            timeout or RendezvousTimeout(),
            timedelta(seconds=keep_alive_interval),
            keep_alive_max_attempt,
            rank,
        )
        return cls(name, settings, backend, store, local_addr)

    @property
    def settings(self) -> RendezvousSettings:
        """The settings of the job."""
        return self._settings

    def get_backend(self) -> str:
        return self._backend.name

    @property
    def use_agent_store(self) -> bool:
        """Whether the store of the rendezvous serves the workers, too."""
        return isinstance(self._whole, TCPStore)

    def get_run_id(self) -> str:
        return self._settings.run_id

    @property
    def round(self) -> int:
        """The number of agreements, less one."""
        return self._round

    @property
    def failures(self) -> int:
        """The number of rounds that ended by a failure, on whichever machine; an agent that joins is none."""
        return self._failures

    def is_closed(self) -> bool:
        return self._read()[0].closed

    def set_closed(self) -> None:
        def close(state: RendezvousState) -> None:
            state.closed = True

        self._change(close)

    def num_nodes_waiting(self) -> int:
        state, _ = self._read()
        full = len(state.agents) >= self._settings.max_nodes
        return 0 if full or not state.running else len(state.waiting)

    def num_nodes_left(self) -> int:
        """The number of agents that still are in this round."""
        state, _ = self._read()
        return len(state.agents) if state.round == self._round else 0

    def end_round(self, why: str) -> None:
        """Tells the other agents that this round is over."""

        def end(state: RendezvousState) -> None:
            if state.round == self._round:
                state.end_round(why)

        self._change(end)

    def why_over(self) -> str:
        """Why this round is over; empty while it isn't."""
        state, _ = self._read()
        if state.round != self._round or self._name not in state.agents:
            return f"the others took agent {self._name} for gone"
        return state.over

    def next_rendezvous(self) -> RendezvousInfo:
        self._stop_beating()
        pauses = _pauses(self._settings.keep_alive_interval.total_seconds() / 2)
        began, enough = time.monotonic(), None
        while True:
            state = self._change(partial(self._take_part, enough))
            if state.running and self._name in state.agents:
                return self._agree(state)
            now = time.monotonic()
            if state.running:
                began = now  # a round goes on; however long it takes, the next one hasn't begun
            if state.running or len(state.agents) < self._settings.min_nodes:
                enough = None
            elif enough is None:
                enough = now
            if enough is None and now - began > self._settings.timeout.join.total_seconds():
                self._give_up(len(state.agents))
            time.sleep(next(pauses))

    def _take_part(self, enough: float | None, state: RendezvousState) -> None:
        """One look at the state while this agent waits for a round; `enough` says since when one could begin."""
        job = self._settings
        if state.closed:
            if self._name in state.waiting:
                raise RendezvousGracefulExitError(f"job {job.run_id} is over")
            raise RendezvousClosedError(f"job {job.run_id} takes no more agents")
        self._live(state)
        if state.running and self._name in state.agents and state.round != self._round:
            return  # the others have agreed, with this agent
        try:
            state.join(self._name, job.rank, job.max_nodes)
        except RendezvousClosedError as error:
            raise RendezvousClosedError(f"job {job.run_id}: {error}") from None
        if state.running or self._name not in state.agents:
            return
        last_call = job.timeout.last_call.total_seconds()
        patient = enough is None or time.monotonic() - enough < last_call
        if len(state.agents) >= (job.max_nodes if patient else job.min_nodes):
            state.agree()

    def _live(self, state: RendezvousState) -> None:
        """Brings this agent's beat up to date, and takes out agents that have none."""
        interval = self._settings.keep_alive_interval.total_seconds()
        state.beat(self._name, int(time.monotonic() / interval))
        silent = [name for name in self._beats.silent(state, self._settings.silence) if name != self._name]
        if silent:
            _log.warning("no beat of %s for %g s", ", ".join(silent), self._settings.silence)
        state.remove(silent)

    def leave(self) -> None:
        """Takes this agent out; the others go on, or wait for another one."""
        self._stop_beating()
        try:
            self._change(lambda state: state.remove([self._name]))
        except RendezvousConnectionError as error:
            _log.warning("the other agents can't be told: %s", error)

    def _give_up(self, came: int) -> None:
        self.leave()
        raise RendezvousTimeoutError(
            f"job {self._settings.run_id}: {came} of at least {self._settings.min_nodes} agents came within "
            f"{self._settings.timeout.join.total_seconds():g} s"
        )

    def _agree(self, state: RendezvousState) -> RendezvousInfo:
        self._round, self._failures = state.round, state.failures
        rank = state.ranks[self._name]
        store = PrefixStore(f"job/{self._settings.run_id}/{state.round}", self._whole)
        if self._settings.max_nodes > 1:
            self._heart = _Heart(self._settings.keep_alive_interval.total_seconds(), self._beat)
        where = (
            RendezvousStoreInfo(self._whole.host, self._whole.port)
            if isinstance(self._whole, TCPStore)
            else RendezvousStoreInfo.build(rank, store, self._address)
        )
        return RendezvousInfo(store, rank, len(state.ranks), where)

    def _beat(self) -> None:
        self._change(self._live)

    def _stop_beating(self) -> None:
        if self._heart is not None:
            self._heart.stop()
            self._heart = None

    def _read(self) -> tuple[RendezvousState, Token | None]:
        value = self._backend.get_state()
        if value is None:
            return RendezvousState(), None
        try:
            return RendezvousState.from_bytes(value[0]), value[1]
        except ValueError as error:
            raise RendezvousStateError(f"job {self._settings.run_id}: {error}") from error

    def _change(self, function: Callable[[RendezvousState], None]) -> RendezvousState:
        """Lets a function change the state, again and again until nobody else has changed it meanwhile."""
        while True:
            state, token = self._read()
            before = state.to_bytes()
            function(state)
            after = state.to_bytes()
            if after == before:
                return state
            current = self._backend.set_state(after, token)
            if current is not None and current[2]:
                return state

    def shutdown(self) -> bool:
        self._stop_beating()
        try:
            self.set_closed()
        except RendezvousConnectionError:  # the agent that held the store has ended
            return False
        return True


_Handler = TypeVar("_Handler", bound=DynamicRendezvousHandler)


class _Heart:
    """A thread that calls a function again and again, until it is stopped or the agents' store is gone."""

    def __init__(self, interval: float, beat: Callable[[], None]):
        self._interval = interval
        self._beat = beat
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tl-beats", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.wait(self._interval):
            try:
                self._beat()
            except RendezvousError as error:  # the agent's own look at the store raises it
                _log.debug("no more beats: %s", error)
                return

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()


def _pauses(longest: float) -> Iterator[float]:
    """The pauses between reads in seconds, which grow with the duration of the wait."""
    pause = min(0.01, longest)
    while True:
        yield pause
        pause = min(pause * 1.2, 0.25, longest)


def create_handler(
    store: Store,
    backend: RendezvousBackend,
    params: RendezvousParameters,
    kind: type[_Handler] = DynamicRendezvousHandler,  # type: ignore[assignment]
) -> _Handler:
    """A handler as parameters ask for it.

    Args:
        store: where agents and workers meet when they have agreed.
        backend: where the value is kept.
        params: the job; `config` may have `timeout` or `join_timeout`, `last_call_timeout`, `close_timeout`,
            `heartbeat_timeout` and `keep_alive_interval` in seconds, `keep_alive_max_attempt`, and `rank`.
        kind: the handler's class.

    Example:
        >>> create_handler(store, backend, parameters).next_rendezvous()  # doctest: +SKIP
    """

    def seconds(*names: str) -> timedelta | None:
        number = next((value for name in names if (value := params.get(name)) is not None), None)
        return None if number is None else timedelta(seconds=float(number))

    timeout = RendezvousTimeout(
        seconds("join_timeout", "timeout"),
        seconds("last_call_timeout"),
        seconds("close_timeout"),
        seconds("heartbeat_timeout"),
    )
    return kind.from_backend(
        params.run_id,
        store,
        backend,
        params.min_nodes,
        params.max_nodes,
        params.local_addr,
        timeout,
        float(params.get("keep_alive_interval", 1)),
        params.get_as_int("keep_alive_max_attempt", 5) or 5,
        params.get_as_int("rank"),
    )
