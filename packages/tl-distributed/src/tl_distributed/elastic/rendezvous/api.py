"""The agreement of agents on several machines before they start workers."""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...stores.store import Store

__all__ = [
    "RendezvousClosedError",
    "RendezvousConnectionError",
    "RendezvousError",
    "RendezvousGracefulExitError",
    "RendezvousHandler",
    "RendezvousHandlerRegistry",
    "RendezvousInfo",
    "RendezvousParameters",
    "RendezvousStateError",
    "RendezvousStoreInfo",
    "RendezvousTimeoutError",
    "rendezvous_handler_registry",
]


class RendezvousError(Exception):
    """Agents could not agree."""


class RendezvousClosedError(RendezvousError):
    """The job takes no more agents."""


class RendezvousTimeoutError(RendezvousError):
    """Too few agents came in time."""


class RendezvousConnectionError(RendezvousError):
    """The store of the agents can't be reached."""


class RendezvousStateError(RendezvousError):
    """The value in the store makes no sense."""


class RendezvousGracefulExitError(RendezvousError):
    """The job is over, and this agent has nothing to do."""


@dataclass
class RendezvousStoreInfo:
    """The address of the workers' store.

    Example:
        >>> RendezvousStoreInfo("host", 29500).master_port
        29500
    """

    master_addr: str
    master_port: int

    @staticmethod
    def build(
        rank: int, store: Store, local_addr: str | None, server_port: int | None = None
    ) -> RendezvousStoreInfo:
        """Tells the others an address of the agent with rank 0; the others read it.

        Args:
            rank: this agent's.
            store: where it is told.
            local_addr: the address; the host's name otherwise.
            server_port: the port; a free one otherwise.
        """
        if rank == 0:
            store.set("MASTER_ADDR", local_addr or socket.getfqdn())
            store.set("MASTER_PORT", str(server_port or free_port()))
        return RendezvousStoreInfo(store.get("MASTER_ADDR").decode(), int(store.get("MASTER_PORT")))


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as server:
        server.bind(("", 0))
        return int(server.getsockname()[1])


@dataclass
class RendezvousInfo:
    """The agreement of the agents: their store, this agent's rank, their number, the workers' store.

    Args:
        store: the agents' store.
        rank: the rank of this agent.
        world_size: how many agents there are.
        bootstrap_store_info: where the workers meet.

    Example:
        >>> RendezvousInfo(None, 1, 4, RendezvousStoreInfo("host", 29500)).world_size
        4
    """

    store: Store
    rank: int
    world_size: int
    bootstrap_store_info: RendezvousStoreInfo


class RendezvousHandler(ABC):
    """A way for agents to agree.

    Example:
        >>> from tl_distributed.elastic.rendezvous.dynamic_rendezvous import DynamicRendezvousHandler
        >>> issubclass(DynamicRendezvousHandler, RendezvousHandler)
        True
    """

    @abstractmethod
    def get_backend(self) -> str:
        """Its name."""

    @property
    def use_agent_store(self) -> bool:
        """True if workers meet in the store that an agent holds."""
        return False

    @abstractmethod
    def next_rendezvous(self) -> RendezvousInfo:
        """Waits for the other agents, and agrees with them.

        Raises:
            RendezvousTimeoutError: too few came in time.
            RendezvousClosedError: the job takes no more agents.
        """

    @abstractmethod
    def is_closed(self) -> bool:
        """True if the job takes no more agents."""

    @abstractmethod
    def set_closed(self) -> None:
        """Says that the job takes no more agents."""

    @abstractmethod
    def num_nodes_waiting(self) -> int:
        """The number of agents that wait for the next agreement."""

    @abstractmethod
    def get_run_id(self) -> str:
        """The job's name."""

    @abstractmethod
    def shutdown(self) -> bool:
        """Ends what this handler holds."""


@dataclass(init=False)
class RendezvousParameters:
    """The settings of a handler.

    Args:
        backend: the kind of handler.
        endpoint: `host:port` of the store.
        run_id: the job's name.
        min_nodes: how few agents will do.
        max_nodes: how many there may be.
        local_addr: this machine's address.
        kwargs: what the kind of handler wants to know besides.

    Example:
        >>> RendezvousParameters("static", "", "job", 1, 2, timeout="30").get_as_int("timeout")
        30
    """

    backend: str
    endpoint: str
    run_id: str
    min_nodes: int
    max_nodes: int
    local_addr: str | None = None
    config: dict[str, Any] = field(default_factory=dict)

    def __init__(
        self,
        backend: str,
        endpoint: str,
        run_id: str,
        min_nodes: int,
        max_nodes: int,
        local_addr: str | None = None,
        **kwargs: Any,
    ):
        if not backend:
            raise ValueError("RendezvousParameters: backend must not be empty")
        if not 1 <= min_nodes <= max_nodes:
            raise ValueError(
                f"RendezvousParameters: needs 1 <= min_nodes <= max_nodes, got {min_nodes} and {max_nodes}"
            )
        self.backend, self.endpoint, self.run_id = backend, endpoint, run_id
        self.min_nodes, self.max_nodes, self.local_addr = min_nodes, max_nodes, local_addr
        self.config = kwargs

    def get(self, key: str, default: Any = None) -> Any:
        """The further setting with this name."""
        return self.config.get(key, default)

    def get_as_bool(self, key: str, default: bool | None = None) -> bool | None:
        """The same, as true or false.

        Raises:
            ValueError: it is neither.
        """
        value = self.get(key, default)
        if value is None or isinstance(value, bool):
            return value
        text = str(value).lower()
        if text in ("1", "true", "t", "yes", "y"):
            return True
        if text in ("0", "false", "f", "no", "n"):
            return False
        raise ValueError(f"rendezvous option {key} must be true or false, got {value!r}")

    def get_as_int(self, key: str, default: int | None = None) -> int | None:
        """The same, as a number.

        Raises:
            ValueError: it is none.
        """
        value = self.get(key, default)
        try:
            return None if value is None else int(value)
        except ValueError as error:
            raise ValueError(f"rendezvous option {key} must be a number, got {value!r}") from error


Creator = Callable[[RendezvousParameters], RendezvousHandler]


class RendezvousHandlerRegistry:
    """The kinds of handlers by name.

    Example:
        >>> registry = RendezvousHandlerRegistry()
        >>> registry.register("files", lambda parameters: parameters.run_id)
        >>> type(registry).__name__
        'RendezvousHandlerRegistry'
    """

    def __init__(self) -> None:
        self._creators: dict[str, Creator] = {}

    def register(self, backend: str, creator: Creator) -> None:
        """Makes a kind known.

        Raises:
            ValueError: the name is taken by another.
        """
        if not backend:
            raise ValueError("RendezvousHandlerRegistry: backend must not be empty")
        if self._creators.setdefault(backend, creator) is not creator:
            raise ValueError(f"RendezvousHandlerRegistry: {backend!r} is already registered")

    def create_handler(self, params: RendezvousParameters) -> RendezvousHandler:
        """Makes a handler of the kind that `params.backend` names.

        Raises:
            ValueError: nobody has made that kind known.
        """
        if params.backend not in self._creators:
            names = ", ".join(sorted(self._creators))
            raise ValueError(f"no rendezvous backend {params.backend!r}; known: {names}")
        return self._creators[params.backend](params)


rendezvous_handler_registry = RendezvousHandlerRegistry()
