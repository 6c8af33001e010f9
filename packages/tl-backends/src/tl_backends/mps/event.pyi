# Written by `python -m tools.device_stubs --write` from device_names.py.

from tl_backends.devices import AbsentEvent

__all__ = ["Event"]

class Event(AbsentEvent):
    def __init__(self, enable_timing: bool = False) -> None: ...
