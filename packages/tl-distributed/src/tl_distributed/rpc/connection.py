"""Connections between workers: who connects proves that it knows the job's token, without sending it.

The listener sends a random challenge. The caller answers with its number, a challenge of its own and a keyed hash of
both; the listener answers that challenge in the same way. A message is unpickled only after that.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass

from .wire import Frame, FrameError, receive, send

CHALLENGE = 32
_ANSWER = struct.Struct("<q32s32s")  # number, challenge, proof
ANSWER = _ANSWER.size
_BUFFER = 1 << 20
PATIENCE = 1.0  # seconds that a handshake may take

Address = str | tuple[str, int]


@dataclass
class Connection:
    """A connection to a worker.

    Args:
        link: the socket.
        worker: the number of the other worker.
        is_own: whether this worker made the connection, so that its requests go out on it.

    The lock `reading` is held by the thread that reads.
    """

    link: socket.socket
    worker: int
    is_own: bool

    def __post_init__(self) -> None:
        self._sending = threading.Lock()
        self.reading = threading.Lock()
        self.is_open = True

    def send(self, frame: Frame) -> None:
        """Sends a frame, one at a time."""
        with self._sending:
            if not self.is_open:
                raise ConnectionResetError("the connection ended")
            send(self.link, frame)

    def receive(self, before_waiting: Callable[[], None] | None = None) -> Frame:
        """Waits for a frame; only the thread that has `reading`.

        Args:
            before_waiting: called when the frame isn't there as a whole.
        """
        return receive(self.link) if before_waiting is None else receive(self.link, before_waiting)

    def end(self) -> None:
        """Ends the connection, whoever sends or waits."""
        self.is_open = False
        try:
            self.link.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # it ended by itself


def listen(address: Address) -> socket.socket:
    """A socket that others can connect to.

    Args:
        address: the name of a local socket without its first zero, or a host and a port.
    """
    if isinstance(address, str):
        server = socket.socket(socket.AF_UNIX)
        server.bind("\0" + address)
    else:
        server = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        server.bind(address)
    _enlarge(server)
    server.listen(1024)
    server.setblocking(False)
    return server


def connect(address: Address, own: int, worker: int, token: bytes) -> Connection:
    """Connects to a worker.

    Args:
        address: where it listens.
        own: the number of this worker.
        worker: the number of the other one.
        token: of the job.

    Raises:
        OSError: nobody is there, or somebody of another job.
    """
    if isinstance(address, str):
        link = socket.socket(socket.AF_UNIX)
        target: Address = "\0" + address
    else:
        link = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        target = address
    _enlarge(link)
    try:
        link.settimeout(PATIENCE)
        link.connect(target)
        challenge, own_challenge = _read(link, CHALLENGE), secrets.token_bytes(CHALLENGE)
        link.sendall(_ANSWER.pack(own, own_challenge, _proof(token, b"caller", own, challenge)))
        if not hmac.compare_digest(_read(link, 32), _proof(token, b"callee", worker, own_challenge)):
            raise FrameError("the process there is another worker, or of another job")
        link.settimeout(None)
    except BaseException:
        link.close()
        raise
    return Connection(link, worker, True)


def admit(link: socket.socket, own: int, token: bytes, challenge: bytes, answer: bytes) -> Connection | None:
    """The connection of a caller that knows the token; None for any other.

    Args:
        link: the connection.
        own: the number of this worker.
        token: of the job.
        challenge: what was sent to the caller.
        answer: what it answered.
    """
    worker, other_challenge, proof = _ANSWER.unpack(answer)
    if not hmac.compare_digest(proof, _proof(token, b"caller", worker, challenge)):
        return None
    link.setblocking(True)
    _enlarge(link)
    if link.family != socket.AF_UNIX:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.sendall(_proof(token, b"callee", own, other_challenge))
    return Connection(link, worker, False)


def _enlarge(link: socket.socket) -> None:
    """Lets a local connection hold more, so that a large tensor takes fewer calls of the system."""
    if link.family == socket.AF_UNIX:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)


def _proof(token: bytes, role: bytes, number: int, challenge: bytes) -> bytes:
    return hmac.digest(token, role + struct.pack("<q", number) + challenge, "sha256")


def _read(link: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = link.recv(count - len(data))
        if not more:
            raise FrameError("the process there refused this one, as one of another job does")
        data += more
    return data
