"""Streams and events of any device, `torch.Stream` and `torch.Event`: of the CPU, as there is no other."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_backends.cpu import streams as _cpu

__all__ = ["Event", "Stream"]


def _device(given: Any, what: str) -> Any:
    """The CPU; RuntimeError for a device that isn't there."""
    device = tl_core.device("cpu") if given is None else tl_core.device(given)
    if device.type != "cpu":
        raise RuntimeError(f"{what}: the device {device} is not available; there is the CPU")
    return device


class Stream(_cpu.Stream):
    """A queue of work on a device. On a CPU work is done in the order of the calls, and the queue is always empty.

    Args:
        device: the device; None for the CPU.
        priority: accepted, and without effect.

    Raises:
        RuntimeError: the device isn't there.

    Example:
        >>> with Stream("cpu") as stream:
        ...     stream.query()
        True
    """

    def __init__(self, device: Any = None, *, priority: int = 0):
        super().__init__(priority)
        self.device = _device(device, "Stream")
        self.stream_id = 0
        self.device_type = self.device.type

    def record_event(self, event: Any = None) -> Any:
        """Records an event, a new one if none is given, and returns it."""
        event = Event(self.device) if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __repr__(self) -> str:
        return f"torch.Stream device_type={self.device.type}, device_index=0, stream_id={self.stream_id}"


class Event(_cpu.Event):
    """A mark in the order of a device's work.

    Args:
        device: the device; None for the CPU.
        enable_timing: whether to remember when it was recorded.
        blocking: accepted, and without effect: nothing is waited for.
        interprocess: accepted for False; events aren't shared.

    Raises:
        RuntimeError: the device isn't there, or the event is to be shared.

    Example:
        >>> Event(enable_timing=True).query()
        True
    """

    def __init__(
        self,
        device: Any = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ):
        super().__init__(enable_timing)
        if interprocess:
            raise RuntimeError("Event: events of the CPU can't be shared among processes")
        self.device = _device(device, "Event")

    def __repr__(self) -> str:
        return f"torch.Event device_type={self.device.type}, device_index=0"
