"""Streams and events of any device, `torch.Stream` and `torch.Event`; tl has only those of the CPU."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_backends.cpu import streams as _cpu

__all__ = ["Event", "Stream"]


# Types of devices, by their number in PyTorch.
_TYPES = (
    "cpu", "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga", "maia", "xla", "vulkan", "metal", "xpu",
    "mps", "meta", "hpu", "ve", "lazy", "ipu", "mtia", "privateuseone",
)  # fmt: skip


def _device(argument: Any, what: str) -> Any:
    """The CPU device; RuntimeError for any other device."""
    device = tl_core.device("cpu") if argument is None else tl_core.device(argument)
    if device.type != "cpu":
        raise RuntimeError(f"{what}: the device {device} is not available; there is the CPU")
    return device


class Stream(_cpu.Stream):
    """A stream of a device. A CPU runs work in the order of the calls, so its stream is always empty.

    The three numbers identify a stream of any device, such as one from another machine.

    Args:
        device: device of the stream; None for the CPU.
        priority: accepted, and without effect.
        stream_id: number of the stream; it requires `device_index` and `device_type`.
        device_index: the device's number among those of its type.
        device_type: the number of its type: 0 for the CPU.

    Raises:
        RuntimeError: the device is absent.
        TypeError: some of the three numbers are missing.

    Example:
        >>> with Stream("cpu") as stream:
        ...     stream.query()
        True
    """

    def __init__(
        self,
        device: Any = None,
        *,
        priority: int = 0,
        stream_id: int | None = None,
        device_index: int | None = None,
        device_type: int | None = None,
    ):
        super().__init__(priority)
        if stream_id is None:
            self.device = _device(device, "Stream")
            self.stream_id, self.device_index, self.device_type = 0, self.device.index or 0, 0
            return
        if device_index is None or device_type is None:
            raise TypeError("Stream: stream_id needs device_index and device_type")
        self.stream_id, self.device_index, self.device_type = stream_id, device_index, device_type
        self.device = tl_core.device(_TYPES[device_type], device_index)

    def record_event(self, event: Any = None) -> Any:
        """Records an event, or a new one for None, and returns it."""
        event = Event(self.device) if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._numbers() == other._numbers()

    def __hash__(self) -> int:
        return hash(self._numbers())

    def _numbers(self) -> tuple[int, int, int]:
        return self.stream_id, self.device_index, self.device_type

    def __repr__(self) -> str:
        return (
            f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, "
            f"stream_id={self.stream_id}"
        )


class Event(_cpu.Event):
    """A mark in the order of a device's work.

    Args:
        device: device of the stream; None for the CPU.
        enable_timing: whether to remember when it was recorded.
        blocking: accepted, without effect.
        interprocess: must be False.

    Raises:
        RuntimeError: the device is absent, or `interprocess` is set.

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
