"""Writes what went wrong in a worker to a file that its agent reads."""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any


class ErrorHandler:
    """Writes an exception to the file that TORCHELASTIC_ERROR_FILE names; without one, nowhere.

    Example:
        >>> handler = ErrorHandler()
        >>> handler.record_exception(ValueError("no such file"))
    """

    def initialize(self) -> None:
        """Called before the worker's function: fatal signals print a stack."""
        if sys.stderr is not None and hasattr(sys.stderr, "fileno"):
            faulthandler.enable(all_threads=True)

    def record_exception(self, e: BaseException) -> None:
        """Writes an exception, with its stack and the time."""
        stack = "".join(traceback.format_exception(e))
        self._write(
            {
                "message": {
                    "message": f"{type(e).__name__}: {e}",
                    "extraInfo": {"py_callstack": stack, "timestamp": str(int(time.time()))},
                }
            }
        )

    def dump_error_file(self, rootcause_error_file: str, error_code: int = 0) -> None:
        """Copies the file of the first failure to this process's own, with the exit status that it had."""
        content: dict[str, Any] = json.loads(Path(rootcause_error_file).read_text())
        message = content.get("message")
        if error_code and isinstance(message, dict):
            message["errorCode"] = error_code
        self._write(content)

    def _write(self, content: dict[str, Any]) -> None:
        path = os.environ.get("TORCHELASTIC_ERROR_FILE")
        if path:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(json.dumps(content))
