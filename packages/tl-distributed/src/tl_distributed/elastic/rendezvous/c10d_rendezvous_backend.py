"""The agents' value in a store that one of the agents holds, or in a file."""

from __future__ import annotations

import time
from base64 import b64decode, b64encode
from datetime import timedelta

from ...base.errors import DistError, DistNetworkError
from ...stores.file_store import FileStore
from ...stores.store import Store
from ...stores.tcp_store import TCPStore
from .api import RendezvousConnectionError, RendezvousParameters, RendezvousStateError
from .dynamic_rendezvous import RendezvousBackend, Token
from .utils import is_local, parse_endpoint

__all__ = ["C10dRendezvousBackend", "create_backend"]

DEFAULT_PORT = 29400
_JOIN_WITHIN = timedelta(seconds=0.25)


class C10dRendezvousBackend(RendezvousBackend):
    """The value under one key of a store.

    Args:
        store: the store.
        run_id: the job's name.

    Example:
        >>> from tl_distributed import HashStore
        >>> backend = C10dRendezvousBackend(HashStore(), "job")
        >>> _, token, _ = backend.set_state(b"first")
        >>> backend.set_state(b"second", token)[2], backend.set_state(b"third", token)[2]
        (True, False)
    """

    def __init__(self, store: Store, run_id: str):
        if not run_id:
            raise ValueError("C10dRendezvousBackend: run_id must not be empty")
        self._store = store
        self._key = f"job/{run_id}/agents"

    @property
    def name(self) -> str:
        """`c10d`."""
        return "c10d"

    def get_state(self) -> tuple[bytes, Token] | None:
        return self._decode(self._swap(b"", b""))

    def set_state(self, state: bytes, token: Token | None = None) -> tuple[bytes, Token, bool] | None:
        new = b64encode(state)
        value = self._swap(b"" if token is None else token, new)
        current = self._decode(value)
        return None if current is None else (*current, value == new)

    def _swap(self, expected: bytes, desired: bytes) -> bytes:
        try:
            return self._store.compare_set(self._key, expected, desired)
        except DistError as error:
            raise RendezvousConnectionError(f"the agents' store can't be reached: {error}") from error

    def _decode(self, found: bytes) -> tuple[bytes, Token] | None:
        if not found:
            return None
        try:
            return b64decode(found, validate=True), found
        except ValueError as error:
            raise RendezvousStateError(f"what the agents' store holds is no state: {found[:40]!r}") from error


def create_backend(params: RendezvousParameters) -> tuple[C10dRendezvousBackend, Store]:
    """The value, and the store that holds it, as parameters ask for it.

    Args:
        params: the job. `config` may have `store_type` (`tcp`, or `file` with a path as the endpoint), `is_host`
            (whether this agent holds the store; one that can listen at the endpoint otherwise), `read_timeout` in
            seconds, and `rank`: of agents that have one, the first holds the store.

    Raises:
        RendezvousConnectionError: nobody answers at the endpoint.
        ValueError: for another `store_type` or endpoint.

    Example:
        >>> from tl_distributed.elastic.rendezvous import RendezvousParameters
        >>> parameters = RendezvousParameters("c10d", "localhost:29400", "job", 1, 2)
        >>> backend, store = create_backend(parameters)  # doctest: +SKIP
    """
    kind = str(params.get("store_type", "tcp")).lower()
    if kind not in ("tcp", "file"):
        raise ValueError(f"rendezvous option store_type must be tcp or file, got {kind!r}")
    store = FileStore(params.endpoint) if kind == "file" else _tcp_store(params)
    return C10dRendezvousBackend(store, params.run_id), store


def _tcp_store(params: RendezvousParameters) -> Store:
    host, port = parse_endpoint(params.endpoint, DEFAULT_PORT)
    timeout = timedelta(seconds=params.get_as_int("read_timeout", 60) or 60)
    rank = params.get_as_int("rank")
    is_host = params.get_as_bool("is_host", None if rank is None else rank == 0)
    if is_host:
        return TCPStore(host, port, None, True, timeout, wait_for_workers=False)
    try:
        if is_host is None and is_local(host):
            return _hosted_or_joined(host, port, timeout)
        return TCPStore(host, port, None, False, timeout, wait_for_workers=False)
    except DistError as error:
        raise RendezvousConnectionError(f"no agents' store at {host}:{port}: {error}") from error


def _hosted_or_joined(host: str, port: int, timeout: timedelta) -> TCPStore:
    """The store of the agents of this machine: whoever can listen holds it, the others join.

    A port that can't be had needn't be a store's: two that ask the kernel at the same moment may both be refused, and
    another process may have it for a while. So an agent that nobody answers tries to listen again.
    """
    end = time.monotonic() + timeout.total_seconds()
    while True:
        try:
            return TCPStore(host, port, None, True, timeout, wait_for_workers=False)
        except DistNetworkError as taken:
            refused = taken
        try:
            store = TCPStore(host, port, None, False, min(timeout, _JOIN_WITHIN), wait_for_workers=False)
        except DistNetworkError as error:
            if time.monotonic() >= end:
                raise DistNetworkError(f"{refused}, and {error}") from error
        else:
            store.set_timeout(timeout)
            return store
