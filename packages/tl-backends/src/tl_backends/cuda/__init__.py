"""CUDA devices. There are none without a plug-in, and every query says so.

`is_available()` is False and `device_count()` 0; statistics are empty, seeds are taken and have nothing to seed. What
needs a device raises AssertionError, or RuntimeError where it is a stream, an event, a graph or a pool.
"""

from typing import Any

from tl_backends.absent_device import CUDA
from tl_backends.cuda import (
    comm,
    gds,
    graphs,
    jiterator,
    memory,
    nccl,
    nvtx,
    profiler,
    properties,
    random,
    selection,
    streams,
    tensor_types,
    tunable,
)
from tl_backends.cuda.comm import *
from tl_backends.cuda.graphs import *
from tl_backends.cuda.memory import *
from tl_backends.cuda.properties import *
from tl_backends.cuda.random import *
from tl_backends.cuda.selection import *
from tl_backends.cuda.streams import *
from tl_backends.cuda.tensor_types import *
from tl_core import OutOfMemoryError

__all__ = [
    "OutOfMemoryError",
    "cudart",
    "gds",
    "get_sync_debug_mode",
    "init",
    "ipc_collect",
    "is_initialized",
    "jiterator",
    "memory",
    "nccl",
    "nvtx",
    "profiler",
    "random",
    "set_sync_debug_mode",
    "streams",
    "tunable",
]
__all__ += comm.__all__
__all__ += graphs.__all__
__all__ += memory.__all__
__all__ += properties.__all__
__all__ += random.__all__
__all__ += selection.__all__
__all__ += streams.__all__
__all__ += tensor_types.__all__

init = CUDA.init
is_initialized = CUDA.is_initialized


def cudart() -> Any:
    """The CUDA runtime library.

    Raises:
        AssertionError: there is none.
    """
    raise CUDA.error("cudart")


def ipc_collect() -> None:
    """Frees memory that other processes have given back.

    Raises:
        AssertionError: there is no device.
    """
    raise CUDA.error("ipc_collect")


def get_sync_debug_mode() -> int:
    """What happens at an operation that makes the CPU wait: 0 nothing, 1 a warning, 2 an error.

    Raises:
        AssertionError: there is no device.
    """
    raise CUDA.error("get_sync_debug_mode")


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Sets what happens at an operation that makes the CPU wait: "default", "warn" or "error".

    Raises:
        AssertionError: there is no device.
    """
    raise CUDA.error(f"set_sync_debug_mode({debug_mode!r})")
