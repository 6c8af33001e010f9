"""NVIDIA's profiler, started and stopped by the program."""

from collections.abc import Iterator
from contextlib import contextmanager

from tl_backends.absent_device import CUDA

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """Lets the profiler collect."""
    raise CUDA.error("profiler.start")


def stop() -> None:
    """Lets the profiler stop collecting."""
    raise CUDA.error("profiler.stop")


@contextmanager
def profile() -> Iterator[None]:
    """Lets the profiler collect within a `with` block."""
    start()
    try:
        yield
    finally:
        stop()
