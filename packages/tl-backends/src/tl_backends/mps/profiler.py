"""The profiler of Metal devices."""

from collections.abc import Iterator
from contextlib import contextmanager

from tl_backends.absent_device import MPS

__all__ = ["is_capturing_metal", "is_metal_capture_enabled", "metal_capture", "profile", "start", "stop"]


def is_metal_capture_enabled() -> bool:
    """Whether the system lets Metal's work be captured: False."""
    return False


def is_capturing_metal() -> bool:
    """Whether Metal's work is being captured: False."""
    return False


def start(mode: str = "interval", wait_until_completed: bool = False) -> None:
    """Begins to report work to the system's profiler."""
    raise MPS.error("profiler.start")


def stop() -> None:
    """Ends what `start` began."""
    raise MPS.error("profiler.stop")


@contextmanager
def profile(mode: str = "interval", wait_until_completed: bool = False) -> Iterator[None]:
    """Reports the work of a `with` block to the system's profiler."""
    start(mode, wait_until_completed)
    try:
        yield
    finally:
        stop()


@contextmanager
def metal_capture(fname: str) -> Iterator[None]:
    """Writes the work of a `with` block to a file."""
    raise MPS.error(f"profiler.metal_capture({fname!r})")
    yield
