"""Common parts of device modules: indices, and streams and events of absent devices."""

from typing import Any, ClassVar, Self

import tl_core


def index_of(device: Any, kind: str) -> int | None:
    """The index of a device of one kind; None for the selected device, -1 for no device.

    Args:
        device: an index, a name such as "cuda:0", a `device`, or None, which is -1.
        kind: "cuda", "xpu", …

    Raises:
        ValueError: the device is of another kind.
    """
    if device is None:
        return -1
    if isinstance(device, int):
        return device
    parsed = tl_core.device(device)
    if parsed.type != kind:
        raise ValueError(f"Expected a {kind} device, but got: {device}")
    return parsed.index


class SelectedDevice:
    """A `with` block in which another device is selected. None and -1 select nothing."""

    kind: ClassVar[str]

    def __init__(self, device: Any):
        self.idx = index_of(device, self.kind)

    def __enter__(self) -> None:
        if self.idx is None or self.idx >= 0:
            raise needs_support(self.kind, f"device({self.idx})")

    def __exit__(self, *error: object) -> None:
        pass


class AbsentStream:
    """A stream of an absent device; the constructor raises.

    Args:
        device: device of the stream, by index or name.
        priority: priority of the stream; lower numbers run first.
        kwargs: further options.
    """

    kind: ClassVar[str]

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any):
        raise needs_support(self.kind, "Stream")

    def query(self) -> bool:
        """Whether all work of the stream is complete."""
        raise needs_support(self.kind, "Stream.query")

    def record_event(self, event: Any = None) -> Any:
        """Records an event, or a new one for None, and returns it."""
        raise needs_support(self.kind, "Stream.record_event")

    def synchronize(self) -> None:
        """Waits until all work of the stream is complete."""
        raise needs_support(self.kind, "Stream.synchronize")

    def wait_event(self, event: Any) -> None:
        """Makes later work of the stream wait for an event."""
        raise needs_support(self.kind, "Stream.wait_event")

    def wait_stream(self, stream: Any) -> None:
        """Makes later work of the stream wait for the current work of another stream."""
        raise needs_support(self.kind, "Stream.wait_stream")


class AbsentEvent:
    """An event of an absent device; the constructor raises.

    Args:
        enable_timing: whether the event records its time.
        blocking: whether `wait` blocks the host.
        interprocess: whether other processes may use it.
    """

    kind: ClassVar[str]

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False):
        raise needs_support(self.kind, "Event")

    def elapsed_time(self, end_event: Any) -> float:
        """Milliseconds from this event to another."""
        raise needs_support(self.kind, "Event.elapsed_time")

    def query(self) -> bool:
        """Whether the work before the event is complete."""
        raise needs_support(self.kind, "Event.query")

    def record(self, stream: Any = None) -> None:
        """Records the event in a stream; None for the current one."""
        raise needs_support(self.kind, "Event.record")

    def synchronize(self) -> None:
        """Waits until the work before the event is complete."""
        raise needs_support(self.kind, "Event.synchronize")

    def wait(self, stream: Any = None) -> None:
        """Makes a stream wait for the event; None for the current one."""
        raise needs_support(self.kind, "Event.wait")


class StreamContext:
    """A `with` block in which a stream is the current one; None changes nothing.

    Example:
        >>> from tl_backends import cuda
        >>> if cuda.is_available():
        ...     cuda.StreamContext(cuda.current_stream())
    """

    def __init__(self, stream: Any):
        self.stream = stream

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def stream(stream: Any) -> StreamContext:
    """A `with` block in which a stream is the current one; None changes nothing.

    Example:
        >>> from tl_backends import cuda
        >>> if cuda.is_available():
        ...     with cuda.stream(cuda.current_stream()):
        ...         pass
    """
    return StreamContext(stream)


def needs_support(kind: str, name: str) -> RuntimeError:
    """The error of streams, events and `with` blocks of an absent kind of device."""
    device = kind.upper()
    return RuntimeError(
        f"torch.{kind}.{name} requires {device} support: tl has no {device} plug-in, only the CPU"
    )
