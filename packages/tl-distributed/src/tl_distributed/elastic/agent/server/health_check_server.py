"""Tells a cluster over HTTP whether an agent still looks after its workers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["HealthCheckServer", "create_healthcheck_server"]


class HealthCheckServer:
    """Answers every GET: 200 if the agent was alive lately, 503 otherwise.

    Args:
        alive_callback: when the agent was alive last, as `time.time()`.
        port: where to listen; 0 takes a free one.
        timeout: how many seconds ago that may have been.

    Example:
        >>> server = HealthCheckServer(lambda: 0, 0, 30)
        >>> server.is_alive()
        False
    """

    def __init__(self, alive_callback: Callable[[], int], port: int, timeout: int) -> None:
        self._alive_callback = alive_callback
        self._port = port
        self._timeout = timeout
        self._server: ThreadingHTTPServer | None = None

    @property
    def port(self) -> int:
        """The port of the server."""
        return self._port

    def is_alive(self) -> bool:
        """True if a GET succeeds now."""
        return time.time() - self._alive_callback() <= self._timeout

    def start(self) -> None:
        """Begins to listen.

        Raises:
            OSError: the port is taken.
        """
        health = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                alive = health.is_alive()
                text = b"alive\n" if alive else b"not alive\n"
                self.send_response(200 if alive else 503)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing: a check every second would fill the log."""

        self._server = ThreadingHTTPServer(("", self._port), Handler)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, name="tl-health", daemon=True).start()

    def stop(self) -> None:
        """Ends it."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


def create_healthcheck_server(
    alive_callback: Callable[[], int], port: int, timeout: int
) -> HealthCheckServer:
    """Makes a server; `start` begins to listen.

    Args:
        alive_callback: when the agent was alive last, as `time.time()`.
        port: where to listen; 0 takes a free one.
        timeout: how many seconds ago that may have been.

    Example:
        >>> server = create_healthcheck_server(lambda: 0, port=0, timeout=60)
        >>> type(server).__name__
        'HealthCheckServer'
    """
    return HealthCheckServer(alive_callback, port, timeout)
