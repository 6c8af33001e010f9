"""Whether an export runs in this thread."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

__all__ = ["exporting", "is_in_onnx_export"]


class _State(threading.local):
    active = False


_STATE = _State()


def is_in_onnx_export() -> bool:
    """Whether an export to ONNX runs in this thread.

    Example:
        >>> is_in_onnx_export()
        False
    """
    return _STATE.active


@contextlib.contextmanager
def exporting() -> Iterator[None]:
    """`is_in_onnx_export` returns True inside."""
    before, _STATE.active = _STATE.active, True
    try:
        yield
    finally:
        _STATE.active = before
