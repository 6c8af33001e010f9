"""Sends the standard streams of a process to files, for native code too."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def redirect(std: str, to_file: str) -> Iterator[None]:
    """Sends `stdout` or `stderr` to a file within a `with` block.

    Args:
        std: which stream.
        to_file: the file, which begins empty.

    Raises:
        ValueError: for another stream.
    """
    if std not in ("stdout", "stderr"):
        raise ValueError(f"redirect: std must be stdout or stderr, got {std!r}")
    stream, number = getattr(sys, std), 1 if std == "stdout" else 2
    stream.flush()
    copy = os.dup(number)
    try:
        with open(to_file, "wb") as file:
            os.dup2(file.fileno(), number)
        yield
    finally:
        stream.flush()
        os.dup2(copy, number)
        os.close(copy)
