"""What the device modules share: indices, and streams and events of devices that aren't there."""

from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, Self

import tl_core

_MODULES = ("cpu", "cuda", "mps", "mtia", "xpu")
_registered: dict[str, ModuleType] = {}


def index_of(device: Any, kind: str) -> int | None:
    """The index that names a device of one kind; None for "whichever is selected", -1 for "none, do nothing".

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


def get_device_module(device: Any = None) -> ModuleType:
    """The module of a kind of device, such as `cuda`.

    Args:
        device: a `device` or its name, with or without an index; None for the accelerator, or the CPU if there is none.

    Raises:
        RuntimeError: it is something else, or its kind has no module.

    Example:
        >>> get_device_module("cuda:1").__name__
        'tl_backends.cuda'
    """
    if not isinstance(device, tl_core.device | str | None):
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    name = "cpu" if device is None else str(device)
    kind = name.partition(":")[0]
    if kind in _registered:
        return _registered[kind]
    if kind not in _MODULES:
        known = ", ".join([*_MODULES, *_registered])
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module; those that have one are {known}"
        )
    return import_module(f"tl_backends.{kind}")


def register_device_module(device_type: str, module: ModuleType) -> str:
    """Makes a module that of a kind of device which a plug-in brings.

    Args:
        device_type: the kind, with or without an index.
        module: what `get_device_module` gives for it from now on.

    Returns:
        The kind.

    Raises:
        RuntimeError: there is no such kind of device, or it has a module.
    """
    kind: str = tl_core.device(device_type).type
    if kind in _MODULES or kind in _registered:
        taken = get_device_module(kind).__name__
        raise RuntimeError(f"The runtime module of '{kind}' has already been registered with '{taken}'")
    _registered[kind] = module
    return kind


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
    """A queue of work of a device that isn't there: it can't be made.

    Args:
        device: the device.
        priority: the lower, the sooner its work is done.
        kwargs: further options of the driver.
    """

    kind: ClassVar[str]

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any):
        raise needs_support(self.kind, "Stream")

    def query(self) -> bool:
        """Whether all its work is done."""
        raise needs_support(self.kind, "Stream.query")

    def record_event(self, event: Any = None) -> Any:
        """Records an event, a new one if none is given, and returns it."""
        raise needs_support(self.kind, "Stream.record_event")

    def synchronize(self) -> None:
        """Waits until all its work is done."""
        raise needs_support(self.kind, "Stream.synchronize")

    def wait_event(self, event: Any) -> None:
        """Makes all work to come wait for an event."""
        raise needs_support(self.kind, "Stream.wait_event")

    def wait_stream(self, stream: Any) -> None:
        """Makes all work to come wait for what another stream has to do now."""
        raise needs_support(self.kind, "Stream.wait_stream")


class AbsentEvent:
    """A mark in a queue of work of a device that isn't there: it can't be made.

    Args:
        enable_timing: whether it remembers when it was reached.
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
        """Whether the work before it is done."""
        raise needs_support(self.kind, "Event.query")

    def record(self, stream: Any = None) -> None:
        """Puts the event into a stream, the current one if none is given."""
        raise needs_support(self.kind, "Event.record")

    def synchronize(self) -> None:
        """Waits until the work before it is done."""
        raise needs_support(self.kind, "Event.synchronize")

    def wait(self, stream: Any = None) -> None:
        """Makes a stream, the current one if none is given, wait for the event."""
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
    """The error of streams, events and `with` blocks of a kind of device that isn't there."""
    device = kind.upper()
    return RuntimeError(
        f"tl.{kind}.{name} requires {device} support: tl has no {device} plug-in, only the CPU"
    )
