# Written by `python -m tools.device_stubs --write` from device_names.py.

from typing import Any

__all__ = ["all_gather", "all_reduce", "broadcast", "is_available", "reduce", "reduce_scatter", "version"]

def is_available(tensors: Any) -> bool: ...
def version() -> tuple[int, ...]: ...
def all_reduce(
    inputs: Any, outputs: Any = None, op: int = 0, streams: Any = None, comms: Any = None
) -> None: ...
def reduce(
    inputs: Any,
    output: Any = None,
    root: int = 0,
    op: int = 0,
    streams: Any = None,
    comms: Any = None,
    *,
    outputs: Any = None,
) -> None: ...
def broadcast(inputs: Any, root: int = 0, streams: Any = None, comms: Any = None) -> None: ...
def all_gather(inputs: Any, outputs: Any, streams: Any = None, comms: Any = None) -> None: ...
def reduce_scatter(
    inputs: Any, outputs: Any, op: int = 0, streams: Any = None, comms: Any = None
) -> None: ...
