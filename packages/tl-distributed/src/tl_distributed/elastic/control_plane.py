"""Questions to a worker while it runs: a server at a Unix socket, which its launcher names in a variable.

    with worker_main():
        train()

With TORCH_WORKER_SERVER_SOCKET=/tmp/w0 set, `curl --unix-socket /tmp/w0 -X POST http://w/handler/stacks` shows where
the worker's threads stand. `GET /handler/` lists what can be asked.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer

from .._C import records

__all__ = ["register_handler", "worker_main"]

SOCKET_VARIABLE = "TORCH_WORKER_SERVER_SOCKET"

_handlers: dict[str, Callable[[], str]] = {}


def register_handler(name: str, handler: Callable[[], str]) -> None:
    """Lets a worker be asked something else.

    Args:
        name: how it is asked.
        handler: returns the answer.

    Raises:
        ValueError: the name is taken.

    Example:
        >>> register_handler("version", lambda: "3")
    """
    if _handlers.setdefault(name, handler) is not handler:
        raise ValueError(f"register_handler: {name!r} is already registered")


@contextmanager
def worker_main() -> Iterator[None]:
    """Within the block, this worker answers at the socket that TORCH_WORKER_SERVER_SOCKET names, if it is set.

    Example:
        >>> with worker_main():
        ...     pass
    """
    path = os.environ.get(SOCKET_VARIABLE)
    if path is None:
        yield
        return
    with _server(path):
        yield


@contextmanager
def _server(path: str) -> Iterator[None]:
    server = _Server(path, _Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="tl-control", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        Path(path).unlink(missing_ok=True)


class _Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True

    def server_bind(self) -> None:
        with contextlib.suppress(FileNotFoundError):  # of a worker that ended without removing it
            if not _somebody_listens(str(self.server_address)):
                os.unlink(str(self.server_address))
        old = os.umask(0o177)  # of this user alone
        try:
            super().server_bind()
        finally:
            os.umask(old)


def _somebody_listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as link:
        return link.connect_ex(path) == 0


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path.rstrip("/") == "/handler":
            self._answer(200, json.dumps(sorted(_handlers)))
        else:
            self._answer(404, f"no {self.path}; GET /handler/ lists what can be asked\n")

    def do_POST(self) -> None:
        name = self.path.removeprefix("/handler/").strip("/")
        handler = _handlers.get(name)
        if handler is None:
            self._answer(404, f"no handler {name!r}; there are {', '.join(sorted(_handlers))}\n")
            return
        try:
            text = handler()
        except Exception as error:
            self._answer(500, f"{name}: {type(error).__name__}: {error}\n")
            return
        self._answer(200, text)

    def _answer(self, status: int, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        return "control plane"  # a Unix socket's peer has no address

    def log_message(self, format: str, *args: object) -> None:
        return  # a worker's output is its own


def _ping() -> str:
    return f"pid {os.getpid()}\n"


def _stacks() -> str:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = [
        f"thread {names.get(ident, ident)}:\n{''.join(traceback.format_stack(frame))}"
        for ident, frame in sys._current_frames().items()
    ]
    return "\n".join(parts)


def _flight_recorder() -> str:
    keys = ("group", "sequence", "operation", "call", "bytes", "began", "ended", "stage")
    return json.dumps([dict(zip(keys, each, strict=True)) for each in records()])


register_handler("ping", _ping)
register_handler("stacks", _stacks)
register_handler("flight_recorder", _flight_recorder)
