"""Agents that agree through a store: they count themselves, and one of them says when it is enough."""

from __future__ import annotations

import time
from datetime import timedelta

from ...errors import DistNetworkError, DistStoreError
from ...store import PrefixStore, Store
from ...tcp_store import TCPStore
from .api import (
    RendezvousClosedError,
    RendezvousConnectionError,
    RendezvousHandler,
    RendezvousInfo,
    RendezvousParameters,
    RendezvousStoreInfo,
    RendezvousTimeoutError,
)

ANOTHER_WAITS = "another agent waits"
_CLOSED = "closed"


class StoreRendezvous(RendezvousHandler):
    """Agents that agree through a store, round after round. The keys of each round are its own.

    Args:
        store: the agents' store.
        params: the job.
        rank: this agent's rank; None takes the order in which they come.
        address: where workers reach the store.
        port: its port.
    """

    def __init__(self, store: Store, params: RendezvousParameters, rank: int | None, address: str, port: int):
        self._store = PrefixStore(f"job/{params.run_id}", store)
        self._whole = store
        self._params = params
        self._rank = rank
        self._address = RendezvousStoreInfo(address, port)
        self._round = -1
        self._failures = 0
        self._join = float(params.get("join_timeout", params.get("timeout", 600)))
        self._last_call = float(params.get("last_call_timeout", 30))

    def get_backend(self) -> str:
        return self._params.backend

    @property
    def use_agent_store(self) -> bool:
        return True

    def get_run_id(self) -> str:
        return self._params.run_id

    def is_closed(self) -> bool:
        return self._store.check([_CLOSED])

    def set_closed(self) -> None:
        self._store.set(_CLOSED, "1")

    def num_nodes_waiting(self) -> int:
        return self._store.add(f"{self._round}/late", 0)

    @property
    def round(self) -> int:
        """How often the agents have agreed, less one."""
        return self._round

    @property
    def failures(self) -> int:
        """How many rounds ended by a failure, on whichever machine; an agent that joins is none."""
        return self._failures

    def end_round(self, why: str) -> None:
        """Tells the other agents that this round is over."""
        self._store.compare_set(f"{self._round}/over", "", why)  # the first reason is that of all agents

    def why_over(self) -> str:
        """Why this round is over; waits until it is."""
        return self._store.get(f"{self._round}/over").decode()

    def round_is_over(self) -> bool:
        """Whether an agent has said that this round is over."""
        return self._store.check([f"{self._round}/over"])

    def next_rendezvous(self) -> RendezvousInfo:
        while True:
            if self.is_closed():
                raise RendezvousClosedError(f"job {self._params.run_id} takes no more agents")
            if self._round >= 0 and self.why_over() != ANOTHER_WAITS:
                self._failures += 1
            self._round += 1
            found = self._agree()
            if found is not None:
                return found
            # This agent is late. It asks for a new round, which begins when all others have seen that.
            self._store.add(f"{self._round}/late", 1)
            self._store.wait([f"{self._round}/over"], timedelta(days=365))

    def _agree(self) -> RendezvousInfo | None:
        keys = f"{self._round}/"
        came = self._store.add(keys + "came", 1)
        rank = came - 1 if self._rank is None else self._rank
        if self._rank is not None and self._store.add(f"{keys}rank/{rank}", 1) > 1:
            raise RendezvousClosedError(f"two agents of job {self._params.run_id} have node rank {rank}")
        if came == 1:
            self._store.set(keys + "count", str(self._count(keys + "came")))
        try:
            self._store.wait([keys + "count"], timedelta(seconds=self._join + self._last_call))
        except DistStoreError as error:
            raise self._too_few(self._store.add(keys + "came", 0)) from error
        count = int(self._store.get(keys + "count"))
        if count == 0:
            raise self._too_few(self._store.add(keys + "came", 0))
        if rank >= count:
            return None
        store = PrefixStore(f"job/{self._params.run_id}/{self._round}", self._whole)
        return RendezvousInfo(store, rank, count, self._address)

    def _count(self, came: str) -> int:
        """How many agents there will be: all that may come, or those that came when time was over; 0 if too few."""
        start = time.monotonic()
        enough = None
        while True:
            count, now = self._store.add(came, 0), time.monotonic()
            if count >= self._params.max_nodes:
                return self._params.max_nodes
            if count >= self._params.min_nodes:
                enough = enough or now
                if now - enough > self._last_call:
                    return count
            elif now - start > self._join:
                return 0
            time.sleep(0.02)

    def _too_few(self, came: int) -> RendezvousTimeoutError:
        return RendezvousTimeoutError(
            f"job {self._params.run_id}: {came} of at least {self._params.min_nodes} agents came within "
            f"{self._join:g} s"
        )

    def shutdown(self) -> bool:
        try:
            self.set_closed()
        except DistNetworkError:  # the agent that held the store has ended
            return False
        return True


def create_handler(params: RendezvousParameters) -> RendezvousHandler:
    """A handler for `static` and `c10d`: the store is at the endpoint, held by one of the agents.

    With `static` that is the agent with `rank` 0; with `c10d` the one that says `is_host`, or that can listen there.

    Raises:
        RendezvousConnectionError: nobody answers at the endpoint.
    """
    host, port = parse_endpoint(params.endpoint, 0 if params.get_as_bool("standalone") else 29400)
    timeout = timedelta(seconds=params.get_as_int("read_timeout", 60) or 60)
    rank = params.get_as_int("rank") if params.backend == "static" else None
    is_host = rank == 0 if params.backend == "static" else params.get_as_bool("is_host")
    store = None
    if is_host is not False and (is_host or is_local(host)):
        try:
            store = TCPStore(host, port, None, True, timeout, wait_for_workers=False)
        except DistNetworkError:
            if is_host:
                raise
    if store is None:
        try:
            store = TCPStore(host, port, None, False, timeout, wait_for_workers=False)
        except DistNetworkError as error:
            raise RendezvousConnectionError(f"no agents' store at {host}:{port}: {error}") from error
    return StoreRendezvous(store, params, rank, host, store.port)


def is_local(host: str) -> bool:
    """Whether a name is this machine's."""
    import socket

    if host in ("localhost", "127.0.0.1", "::1", socket.gethostname()):
        return True
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as made:
            made.bind((host, 0))  # only addresses of this machine can be bound
            return True
    except OSError:
        return False


def parse_endpoint(endpoint: str, default_port: int) -> tuple[str, int]:
    """Reads `host:port`, `[v6]:port` or `host`.

    Raises:
        ValueError: for another text.

    Example:
        >>> parse_endpoint("node1:29500", 29400), parse_endpoint("[::1]:1", 29400), parse_endpoint("", 29400)
        (('node1', 29500), ('::1', 1), ('localhost', 29400))
    """
    if not endpoint:
        return "localhost", default_port
    host, colon, port = endpoint.rpartition(":")
    if not colon or endpoint.endswith("]"):
        return endpoint.strip("[]"), default_port
    if not port.isdigit() or not 0 <= int(port) < 65536:
        raise ValueError(f"rendezvous endpoint must look like host:port, got {endpoint!r}")
    return host.strip("[]"), int(port)
