"""The sockets of a worker: who connects is heard only if it proves that it is of the job."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from . import connection as connections
from .connection import Address, Connection
from .threads import Threads, Turn

_MOST_STRANGERS = 256


class Reception:
    """The sockets that a worker listens at, and the connections that have proved nothing yet.

    Args:
        addresses: where to listen.
        own: the number of the worker.
        token: of the job.
        threads: those of the worker.
        welcome: called with the connection of a worker of the job.
    """

    def __init__(
        self,
        addresses: Sequence[Address],
        own: int,
        token: bytes,
        threads: Threads,
        welcome: Callable[[Connection], None],
    ):
        self._own, self._token, self._threads, self._welcome = own, token, threads, welcome
        self._strangers: dict[int, _Stranger] = {}
        self._is_over = False
        self._servers = [connections.listen(address) for address in addresses]

    def start(self) -> None:
        """Accepts connections from now on."""
        for server in self._servers:
            self._watch_server(server)

    def names(self) -> list[object]:
        """The names of the sockets."""
        return [server.getsockname() for server in self._servers]

    def count(self) -> int:
        """The number of connections that have proved nothing yet."""
        return len(self._strangers)

    def stop(self) -> None:
        """Accepts no more connections."""
        self._is_over = True
        for server in self._servers:
            self._threads.forget(server.fileno())
            server.close()

    def close(self) -> None:
        """Ends the connections that have proved nothing, after the threads."""
        for stranger in self._strangers.values():
            stranger.link.close()

    def _watch_server(self, server: socket.socket) -> None:
        self._threads.watch(server.fileno(), lambda turn: self._accept(server))

    def _accept(self, server: socket.socket) -> None:
        """Sends a challenge to who connects."""
        while True:
            try:
                link, _ = server.accept()
            except BlockingIOError:
                break
            except OSError:
                if self._is_over:
                    return
                break  # no descriptor is left, or the caller is gone
            link.setblocking(False)
            challenge = secrets.token_bytes(connections.CHALLENGE)
            with suppress(OSError):  # the caller is gone: its silence ends the connection
                link.send(challenge)
            stranger = _Stranger(link, challenge, time.monotonic() + connections.PATIENCE)
            self._strangers[link.fileno()] = stranger
            self._threads.watch(link.fileno(), partial(self._hear_stranger, stranger))
        now = time.monotonic()
        strangers = list(self._strangers.values())
        for index, stranger in enumerate(strangers):
            if stranger.until < now or index < len(strangers) - _MOST_STRANGERS:
                self._refuse(stranger)
        if not self._is_over:
            self._watch_server(server)

    def _hear_stranger(self, stranger: _Stranger, turn: Turn) -> None:
        """Admits a caller that knows the token, and ends the connection of any other.

        The thread has the turn, so no other one ends the connection meanwhile.
        """
        link = stranger.link
        if self._strangers.get(link.fileno()) is not stranger:
            return
        try:
            more = link.recv(connections.ANSWER - len(stranger.answer))
            stranger.answer += more
            if more and len(stranger.answer) < connections.ANSWER and time.monotonic() < stranger.until:
                self._threads.watch(link.fileno(), partial(self._hear_stranger, stranger))
                return
            admitted = (
                connections.admit(link, self._own, self._token, stranger.challenge, stranger.answer)
                if len(stranger.answer) == connections.ANSWER
                else None
            )
        except OSError:  # the caller is gone
            admitted = None
        if admitted is None:
            self._refuse(stranger)
            return
        del self._strangers[link.fileno()]
        self._welcome(admitted)

    def _refuse(self, stranger: _Stranger) -> None:
        link = stranger.link
        if self._strangers.pop(link.fileno(), None) is not None:
            self._threads.forget(link.fileno())
            link.close()


@dataclass(eq=False)
class _Stranger:
    """A connection that has proved nothing yet.

    Args:
        link: the socket.
        challenge: the bytes that were sent to the caller.
        until: the time by which it must have answered.
        answer: the part of the answer that has come.
    """

    link: socket.socket
    challenge: bytes
    until: float
    answer: bytes = b""
