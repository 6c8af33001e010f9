"""The process that holds the values of a `TCPStore`."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from dataclasses import dataclass, field

from . import tcp_wire as wire
from .errors import DistNetworkError
from .tcp_wire import Incomplete, Malformed, Reader, Request


@dataclass(eq=False)
class _Client:
    """A connection: what has come, what waits to be sent, for which keys it waits."""

    link: socket.socket
    come: bytearray = field(default_factory=bytearray)
    going: bytearray = field(default_factory=bytearray)
    waits_for: set[bytes] = field(default_factory=set)
    is_known: bool = False


class Server:
    """Answers clients in a thread of its own. A waiting client is answered when its last key comes.

    Args:
        port: where to listen; 0 takes a free one.
        listening: a socket that listens already, by its descriptor.
    """

    def __init__(self, port: int, listening: int | None = None):
        self._values: dict[bytes, bytes] = {}
        self._waiting: dict[bytes, set[_Client]] = {}
        self._socket = _listen(port) if listening is None else socket.socket(fileno=listening)
        self._socket.setblocking(False)
        self.port = self._socket.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ, None)
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ, self._woken)
        self._thread = threading.Thread(target=self._run, name="tl-store", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread and all connections."""
        with contextlib.suppress(OSError):
            self._wake.send(b"x")
        self._thread.join()

    def _run(self) -> None:
        while True:
            for key, events in self._selector.select():
                if key.data is None:
                    self._accept()
                elif key.data is self._woken:
                    self._end()
                    return
                else:
                    self._serve(key.data, events)

    def _end(self) -> None:
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._wake.close()
        self._selector.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            link, _ = self._socket.accept()
            link.setblocking(False)
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(link, selectors.EVENT_READ, _Client(link))

    def _drop(self, client: _Client) -> None:
        for key in client.waits_for:
            self._waiting[key].discard(client)
        self._selector.unregister(client.link)
        client.link.close()

    def _serve(self, client: _Client, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                self._send(client)
            if not events & selectors.EVENT_READ:
                return
            data = client.link.recv(1 << 20)
            if not data:
                self._drop(client)
                return
            client.come += data
            self._answer_all(client)
        except BlockingIOError:
            return
        except (OSError, Malformed, ValueError):
            self._drop(client)

    def _answer_all(self, client: _Client) -> None:
        while client.come:
            reader = Reader(client.come)
            try:
                self._answer(client, reader)
            except Incomplete:
                return
            del client.come[: reader.at]

    def _say(self, client: _Client, data: bytes) -> None:
        client.going += data
        self._send(client)

    def _send(self, client: _Client) -> None:
        with contextlib.suppress(BlockingIOError):
            sent = client.link.send(client.going)
            del client.going[:sent]
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.going else 0)
        self._selector.modify(client.link, events, client)

    def _put(self, key: bytes, data: bytes) -> None:
        self._values[key] = data
        for client in self._waiting.pop(key, ()):
            client.waits_for.discard(key)
            if not client.waits_for:
                with contextlib.suppress(OSError):
                    self._say(client, wire.byte(wire.ARRIVED))

    def _answer(self, client: _Client, r: Reader) -> None:
        kind = r.byte()
        if not client.is_known:
            if kind != Request.VALIDATE or r.short() != wire.MAGIC:
                raise Malformed
            client.is_known = True
        elif kind == Request.PING:
            self._say(client, wire.short(r.short()))
        elif kind == Request.WAIT:
            self._wait(client, r.values())
        elif kind == Request.CANCEL_WAIT:
            for key in client.waits_for:
                self._waiting[key].discard(client)
            client.waits_for.clear()
            self._say(client, wire.byte(wire.CANCELED))
        elif kind in (Request.SET, Request.APPEND, Request.MULTI_SET):
            self._change(kind, r)
        else:
            self._say(client, self._look(kind, r))

    def _wait(self, client: _Client, keys: list[bytes]) -> None:
        client.waits_for = {key for key in keys if key not in self._values}
        for key in client.waits_for:
            self._waiting.setdefault(key, set()).add(client)
        if not client.waits_for:
            self._say(client, wire.byte(wire.ARRIVED))

    def _change(self, kind: int, r: Reader) -> None:
        if kind == Request.MULTI_SET:
            pairs = [(r.value(), r.value()) for _ in range(r.number())]
            for key, data in pairs:
                self._put(key, data)
            return
        key, data = r.value(), r.value()
        self._put(key, self._values.get(key, b"") + data if kind == Request.APPEND else data)

    def _look(self, kind: int, r: Reader) -> bytes:
        if kind == Request.GET:
            return wire.value(self._values.get(r.value(), b""))
        if kind == Request.ADD:
            key, amount = r.value(), r.number()
            total = int(self._values.get(key, b"0")) + amount
            self._put(key, str(total).encode())
            return wire.number(total)
        if kind == Request.CHECK:
            there = all(key in self._values for key in r.values())
            return wire.byte(wire.READY if there else wire.NOT_READY)
        if kind == Request.COMPARE_SET:
            return self._compare(r.value(), r.value(), r.value())
        if kind == Request.COUNT_KEYS:
            return wire.number(len(self._values))
        if kind == Request.DELETE:
            return wire.number(int(self._values.pop(r.value(), None) is not None))
        if kind == Request.MULTI_GET:
            return b"".join(wire.value(self._values.get(key, b"")) for key in r.values())
        raise Malformed

    def _compare(self, key: bytes, expected: bytes, desired: bytes) -> bytes:
        if key not in self._values:
            if expected:
                return wire.value(expected)
            self._put(key, desired)
        elif self._values[key] == expected:
            self._put(key, desired)
        return wire.value(self._values[key])


def _listen(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if made.family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        made.bind(("", port))
        made.listen(4096)
    except OSError as error:
        made.close()
        raise DistNetworkError(f"TCPStore: cannot listen on port {port}: {error}") from error
    return made
