"""Processes that answer requests, each with one library."""

from __future__ import annotations

import json
import pickle
import struct
import subprocess
from typing import Any

from tools.packages import ROOT

__all__ = ["Worker"]


class Worker:
    """A process that answers calls with one library.

    Args:
        python: the interpreter that has the library.
        module: its name.
        program: the module that answers.
    """

    def __init__(self, python: str, module: str, program: str) -> None:
        self._command = [python, "-m", program, module]
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        quiet = subprocess.DEVNULL
        return subprocess.Popen(
            self._command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=quiet
        )

    def ask(self, request: dict[str, Any]) -> tuple[str, Any]:
        """The outcome of a call; ("dies", None) if it ended the process, which is started again."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        try:
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError:
            return self._revive()
        head = stdout.read(8)
        size = struct.unpack("<q", head)[0] if len(head) == 8 else -1
        body = stdout.read(size) if size >= 0 else b""
        if len(body) != size:
            return self._revive()
        outcome: tuple[str, Any] = pickle.loads(body)  # of a process of this run
        return outcome

    def _revive(self) -> tuple[str, Any]:
        self.close()
        self._process = self._start()
        return "dies", None

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()
