"""The name of a thread, as `top -H` shows it. Linux keeps 15 bytes of it."""

from __future__ import annotations

from pathlib import Path

__all__: list[str] = []

_NAME = Path("/proc/thread-self/comm")


def _set_thread_name(name: str) -> None:
    """Names the calling thread."""
    _NAME.write_text(name)


def _get_thread_name() -> str:
    """The name of the calling thread."""
    return _NAME.read_text().removesuffix("\n")
