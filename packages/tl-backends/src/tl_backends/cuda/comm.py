"""Copies of tensors between CUDA devices."""

from typing import Any

from tl_backends.absent_device import CUDA

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "scatter"]


def broadcast(tensor: Any, devices: Any = None, *, out: Any = None) -> Any:
    """Copies a tensor to devices."""
    raise CUDA.error("comm.broadcast")


def broadcast_coalesced(tensors: Any, devices: Any, buffer_size: int = 10485760) -> Any:
    """Copies tensors to devices, small ones together."""
    raise CUDA.error("comm.broadcast_coalesced")


def reduce_add(inputs: Any, destination: Any = None) -> Any:
    """Adds up tensors of several devices on one."""
    raise CUDA.error("comm.reduce_add")


def scatter(
    tensor: Any,
    devices: Any = None,
    chunk_sizes: Any = None,
    dim: int = 0,
    streams: Any = None,
    *,
    out: Any = None,
) -> Any:
    """Deals the parts of a tensor out to devices."""
    raise CUDA.error("comm.scatter")


def gather(tensors: Any, dim: int = 0, destination: Any = None, *, out: Any = None) -> Any:
    """Joins tensors of several devices on one."""
    raise CUDA.error("comm.gather")
