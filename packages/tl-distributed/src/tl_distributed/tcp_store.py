"""A store that one process holds and others reach over the network."""

from __future__ import annotations

import socket
import threading
import time
import weakref
from collections.abc import Sequence
from datetime import timedelta

from . import tcp_wire as wire
from .constants import default_store_timeout
from .errors import DistNetworkError, DistStoreError
from .store import Store, as_bytes, check_lengths
from .tcp_server import Server
from .tcp_wire import Request

_PREFIX = "/"
_JOINED = "init/"


class TCPStore(Store):
    """A store over the network; servers and clients of the reference understand it.

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
        self._host = host_name
        self._libuv = use_libuv
        self._lock = threading.Lock()
        self._server = Server(port, master_listen_fd) if is_master else None
        self._port = port if self._server is None else self._server.port
        if self._server is not None:
            weakref.finalize(self, self._server.close)
        self._link = self._connect()
        weakref.finalize(self, self._link.close)
        self._send(wire.byte(Request.VALIDATE) + wire.short(wire.MAGIC))
        self._ping()
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
        """What `use_libuv` said."""
        return self._libuv

    def _connect(self) -> socket.socket:
        end = time.monotonic() + self.timeout.total_seconds()
        address = ("localhost" if self._server is not None else self._host, self._port)
        while True:
            try:
                link = socket.create_connection(address, timeout=max(0.001, end - time.monotonic()))
            except OSError as error:
                if time.monotonic() > end:
                    raise DistNetworkError(
                        f"TCPStore: no server at {self._host}:{self._port} after "
                        f"{self.timeout.total_seconds():g} s: {error}"
                    ) from error
                time.sleep(0.02)
                continue
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return link

    def _ping(self) -> None:
        nonce = id(self) & 0x7FFFFFFF
        self._send(wire.byte(Request.PING) + wire.short(nonce))
        self._link.settimeout(max(0.001, self.timeout.total_seconds()))
        if int.from_bytes(self._receive(4), "little") != nonce:
            raise DistNetworkError(f"TCPStore: what answers at {self._host}:{self._port} is no store")

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

    def _send(self, data: bytes) -> None:
        try:
            self._link.settimeout(None)
            self._link.sendall(data)
        except OSError as error:
            raise self._lost(error) from error

    def _lost(self, error: object) -> DistNetworkError:
        return DistNetworkError(
            f"TCPStore: the connection to the store at {self._host}:{self._port} is lost: {error}"
        )

    def _receive(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                more = self._link.recv(min(size - len(data), 1 << 20))
            except TimeoutError:
                raise
            except OSError as error:
                raise self._lost(error) from error
            if not more:
                raise self._lost("closed by the server, whose process may have ended")
            data += more
        return bytes(data)

    def _number(self) -> int:
        return int.from_bytes(self._receive(8), "little", signed=True)

    def _value(self) -> bytes:
        return self._receive(self._number())

    @staticmethod
    def _key(key: str) -> bytes:
        return wire.value((_PREFIX + key).encode())

    def _keys(self, keys: Sequence[str]) -> bytes:
        return wire.values([(_PREFIX + key).encode() for key in keys])

    def set(self, key: str, value: str | bytes) -> None:
        with self._lock:
            self._send(wire.byte(Request.SET) + self._key(key) + wire.value(as_bytes(value)))

    def get(self, key: str) -> bytes:
        self.wait([key])
        with self._lock:
            self._send(wire.byte(Request.GET) + self._key(key))
            return self._value()

    def add(self, key: str, amount: int) -> int:
        with self._lock:
            self._send(wire.byte(Request.ADD) + self._key(key) + wire.number(amount))
            return self._number()

    def append(self, key: str, value: str | bytes) -> None:
        with self._lock:
            self._send(wire.byte(Request.APPEND) + self._key(key) + wire.value(as_bytes(value)))

    def check(self, keys: Sequence[str]) -> bool:
        with self._lock:
            self._send(wire.byte(Request.CHECK) + self._keys(keys))
            return self._receive(1)[0] == wire.READY

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        with self._lock:
            both = wire.value(as_bytes(expected_value)) + wire.value(as_bytes(desired_value))
            self._send(wire.byte(Request.COMPARE_SET) + self._key(key) + both)
            return self._value()

    def delete_key(self, key: str) -> bool:
        with self._lock:
            self._send(wire.byte(Request.DELETE) + self._key(key))
            return self._number() > 0

    def num_keys(self) -> int:
        with self._lock:
            self._send(wire.byte(Request.COUNT_KEYS))
            return self._number()

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        self.wait(keys)
        with self._lock:
            self._send(wire.byte(Request.MULTI_GET) + self._keys(keys))
            return [self._value() for _ in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        check_lengths(keys, values)
        pairs = b"".join(
            self._key(key) + wire.value(as_bytes(each)) for key, each in zip(keys, values, strict=True)
        )
        with self._lock:
            self._send(wire.byte(Request.MULTI_SET) + wire.number(len(keys)) + pairs)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        seconds = (self.timeout if timeout is None else timeout).total_seconds()
        with self._lock:
            self._send(wire.byte(Request.WAIT) + self._keys(keys))
            self._link.settimeout(max(seconds, 0.001))
            try:
                self._receive(1)
                return
            except TimeoutError:
                self._send(wire.byte(Request.CANCEL_WAIT))
                if self._receive(1)[0] == wire.ARRIVED:
                    self._receive(1)  # the key came meanwhile; the answer to the cancelling follows
                    return
        missing = [key for key in keys if not self.check([key])]
        raise DistStoreError(f"wait timeout after {seconds} s: no value for {', '.join(missing)}")
