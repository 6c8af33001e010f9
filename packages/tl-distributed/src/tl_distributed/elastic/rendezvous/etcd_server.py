"""An etcd server for one machine, as long as this object is there; needs etcd itself, and the extra `etcd`."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from ...base.errors import DistNetworkError
from .api import free_port
from .etcd_client import EtcdValues, connect

__all__ = ["EtcdServer", "stop_etcd"]


class EtcdServer:
    """A server on a free port of this machine. The program is TORCHELASTIC_ETCD_BINARY_PATH, or `etcd` on the PATH.

    Args:
        data_dir: where it keeps its files; a new folder, which goes with it, otherwise.

    Such as::

        server = EtcdServer()
        server.start()
        client = server.get_client()
        server.stop()

    Example:
        >>> server = EtcdServer()
        >>> server.start()  # doctest: +SKIP
        >>> server.get_endpoint(), server.stop()  # doctest: +SKIP
    """

    def __init__(self, data_dir: str | None = None):
        self._given = data_dir
        self._folder: str | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._port = -1

    def get_host(self) -> str:
        """Its host."""
        return "localhost"

    def get_port(self) -> int:
        """Its port; -1 before it is started."""
        return self._port

    def get_endpoint(self) -> str:
        """`host:port`."""
        return f"{self.get_host()}:{self._port}"

    def get_client(self) -> Any:
        """A client of it, an `etcd3gw.Etcd3Client`."""
        return connect(self.get_host(), self._port)

    def start(self, timeout: int = 60, num_retries: int = 3, stderr: int | None = subprocess.DEVNULL) -> None:
        """Starts it, and waits until it answers.

        Args:
            timeout: how many seconds to wait.
            num_retries: how often to try on another port.
            stderr: where its messages go.

        Raises:
            FileNotFoundError: etcd isn't installed.
            RuntimeError: it doesn't answer in time.
        """
        program = os.environ.get("TORCHELASTIC_ETCD_BINARY_PATH") or shutil.which("etcd")
        if program is None or not Path(program).is_file():
            raise FileNotFoundError(
                "EtcdServer: no etcd; install it, or say where it is with TORCHELASTIC_ETCD_BINARY_PATH"
            )
        atexit.register(self.stop)
        for _ in range(max(1, num_retries)):
            self._start(program, stderr)
            if self._answers(time.monotonic() + timeout):
                return
            self.stop()
        raise RuntimeError(f"EtcdServer: {program} did not answer within {timeout} s, {num_retries} times")

    def _start(self, program: str, stderr: int | None) -> None:
        self._folder = tempfile.mkdtemp(prefix="tl_etcd_") if self._given is None else None
        self._port, peers = free_port(), free_port()
        clients, own = f"http://localhost:{self._port}", f"http://localhost:{peers}"
        command = [program, "--data-dir", self._given or str(self._folder)]
        command += ["--listen-client-urls", clients, "--advertise-client-urls", clients]
        command += ["--listen-peer-urls", own, "--initial-advertise-peer-urls", own]
        command += ["--initial-cluster", f"default={own}"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr)

    def _answers(self, end: float) -> bool:
        values = EtcdValues(self.get_client())
        assert self._process is not None
        while self._process.poll() is None and time.monotonic() < end:
            try:
                values.get("/")
                return True
            except DistNetworkError:
                time.sleep(0.05)
        return False

    def stop(self) -> None:
        """Ends it, and removes its files."""
        if self._process is not None:
            stop_etcd(self._process)
            self._process = None
            atexit.unregister(self.stop)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def stop_etcd(process: subprocess.Popen[bytes]) -> None:
    """Ends a server's process.

    Example:
        >>> stop_etcd(process)  # doctest: +SKIP
    """
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
