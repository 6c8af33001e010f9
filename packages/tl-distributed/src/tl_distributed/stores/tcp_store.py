"""A store that one process holds and others reach over the network."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta

from .._C import StoreClient, StoreServer
from ..base.constants import default_store_timeout
from ..base.errors import DistStoreError, QueueEmptyError
from .store import Store, as_bytes, check_lengths

_JOINED = "init/"


class TCPStore(Store):
    """A store over the network; servers and clients of PyTorch understand it.

    Args:
        host_name: the host of the process that holds the values.
        port: its port; 0 takes a free one, on that process.
        world_size: how many processes will use it; None leaves that open.
        is_master: whether this process holds the values.
        timeout: how long to wait for the server, and how long `get` and `wait` wait for a key.
        wait_for_workers: whether the process that holds the values waits for all others first.
        multi_tenant: whether stores of one process may share a server; each has its own here.
        master_listen_fd: a socket that listens already, for the process that holds the values.
        use_libuv: kept for callers.

    Raises:
        DistNetworkError: the port is taken, or the server can't be reached in time.
        DistStoreError: something else than a store answers.

    Example:
        >>> store = TCPStore("localhost", 0, is_master=True)
        >>> store.set("key", "value")
        >>> store.get("key")
        b'value'
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = default_store_timeout,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ):
        super().__init__()
        self._timeout = timeout
        self._libuv = use_libuv
        self._server = None
        if is_master:
            self._server = StoreServer(port, -1 if master_listen_fd is None else master_listen_fd)
            port = self._server.port
        self._host, self._port = host_name, port
        self._client = self._connect()
        if wait_for_workers and world_size is not None and world_size > 0:
            self._meet(world_size)

    @property
    def host(self) -> str:
        """The host of the process that holds the values."""
        return self._host

    @property
    def port(self) -> int:
        """Its port."""
        return self._port

    @property
    def libuvBackend(self) -> bool:
        """The value of `use_libuv`."""
        return self._libuv

    def _connect(self) -> StoreClient:
        host = self._host if self._server is None else self._server.host
        return StoreClient(host, self._port, f"the store at {self._host}:{self._port}", _ns(self._timeout))

    def _meet(self, world_size: int) -> None:
        joined = self.add(_JOINED, 1)
        if self._server is None:
            return
        end = time.monotonic() + self.timeout.total_seconds()
        while joined < world_size:
            if time.monotonic() > end:
                raise DistStoreError(
                    f"TCPStore: {joined} of {world_size} processes came within {self.timeout.total_seconds():g} s"
                )
            time.sleep(0.01)
            joined = self.add(_JOINED, 0)

    def _limit(self, timeout: timedelta | None) -> int:
        return _ns(self.timeout if timeout is None else timeout)

    def clone(self) -> TCPStore:
        """The same store over a connection of its own, for another thread."""
        copy = TCPStore.__new__(TCPStore)
        Store.__init__(copy)
        copy._timeout, copy._libuv, copy._server = self._timeout, self._libuv, self._server
        copy._host, copy._port = self._host, self._port
        copy._client = copy._connect()
        return copy

    def set_timeout(self, timeout: timedelta) -> None:
        super().set_timeout(timeout)
        self._client.set_limit(_ns(timeout))

    def set(self, key: str, value: str | bytes) -> None:
        self._client.set(key, as_bytes(value))

    def get(self, key: str) -> bytes:
        return self._client.get(key, self._limit(None))

    def add(self, key: str, amount: int) -> int:
        return self._client.add(key, amount)

    def append(self, key: str, value: str | bytes) -> None:
        self._client.append(key, as_bytes(value))

    def check(self, keys: Sequence[str]) -> bool:
        return self._client.check(keys)

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        return self._client.compare_set(key, as_bytes(expected_value), as_bytes(desired_value))

    def delete_key(self, key: str) -> bool:
        return self._client.delete_key(key)

    def num_keys(self) -> int:
        return self._client.num_keys()

    def list_keys(self) -> list[str]:
        """All keys that have a value, in no order."""
        return self._client.list_keys()

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return self._client.multi_get(keys, self._limit(None))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        check_lengths(keys, values)
        self._client.multi_set(keys, [as_bytes(value) for value in values])

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self._client.wait(keys, self._limit(timeout))

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Returns when `world_size` clients have called this with the same key.

        Raises:
            DistStoreError: not all came in time.
        """
        self._client.barrier(key, world_size, self._limit(timeout))

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Puts a value behind a queue."""
        self._client.queue_push(key, as_bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Takes the first value of a queue.

        Args:
            key: the queue.
            block: whether to wait until it has one.

        Raises:
            DistStoreError: it had none when the time was over.
            QueueEmptyError: it has none, and `block` is False.
        """
        end = time.monotonic_ns() + self._limit(None)
        while True:
            if block:
                self._client.wait([key], max(0, end - time.monotonic_ns()))
            value = self._client.queue_pop(key)
            if value is not None:
                return value
            if not block:
                raise QueueEmptyError(f"queue is empty: {key}")

    def queue_len(self, key: str) -> int:
        """The number of values in a queue."""
        return self._client.queue_len(key)


def _ns(time_: timedelta) -> int:
    return int(time_ / timedelta(microseconds=1)) * 1000
