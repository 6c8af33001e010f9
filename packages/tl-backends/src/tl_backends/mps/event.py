"""Events of Metal devices."""

from tl_backends.devices import AbsentEvent

__all__ = ["Event"]


class Event(AbsentEvent):
    """A mark in the work of a Metal device.

    Raises:
        RuntimeError: there is no device.
    """

    kind = "mps"

    def __init__(self, enable_timing: bool = False):
        super().__init__(enable_timing)
