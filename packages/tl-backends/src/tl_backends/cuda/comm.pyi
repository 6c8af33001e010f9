# Written by `python -m tools.device_stubs --write` from device_names.py.

from typing import Any

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]

def broadcast(tensor: Any, devices: Any = None, *, out: Any = None) -> Any: ...
def broadcast_coalesced(tensors: Any, devices: Any, buffer_size: int = 10485760) -> Any: ...
def reduce_add(inputs: Any, destination: Any = None) -> Any: ...
def reduce_add_coalesced(inputs: Any, destination: Any = None, buffer_size: int = 10485760) -> Any: ...
def scatter(
    tensor: Any,
    devices: Any = None,
    chunk_sizes: Any = None,
    dim: int = 0,
    streams: Any = None,
    *,
    out: Any = None,
) -> Any: ...
def gather(tensors: Any, dim: int = 0, destination: Any = None, *, out: Any = None) -> Any: ...
