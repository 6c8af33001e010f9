"""CUDA devices. There are none without a plug-in, and every query says so.

`is_available()` is False and `device_count()` 0; statistics are empty, seeds are taken and have nothing to seed. What
needs a device raises AssertionError, or RuntimeError where it is a stream, an event, a graph or a pool.
"""

from typing import Any

from tl_backends import absent
from tl_backends.cuda import gds, jiterator, memory, nccl, nvtx, profiler, random, streams, tunable
from tl_backends.cuda.comm import broadcast, broadcast_coalesced, gather, reduce_add, scatter
from tl_backends.cuda.graphs import (
    CUDAGraph,
    graph,
    graph_pool_handle,
    is_current_stream_capturing,
    make_graphed_callables,
)
from tl_backends.cuda.memory import (
    CUDAPluggableAllocator,
    MemPool,
    caching_allocator_alloc,
    caching_allocator_delete,
    caching_allocator_enable,
    change_current_allocator,
    empty_cache,
    get_allocator_backend,
    get_per_process_memory_fraction,
    host_memory_stats,
    list_gpu_processes,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_host_memory_stats,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
    use_mem_pool,
)
from tl_backends.cuda.properties import (
    clock_rate,
    device_memory_used,
    get_arch_list,
    get_device_capability,
    get_device_name,
    get_device_properties,
    get_gencode_flags,
    is_bf16_supported,
    is_tf32_supported,
    memory_usage,
    power_draw,
    temperature,
    utilization,
)
from tl_backends.cuda.random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from tl_backends.cuda.selection import (
    can_device_access_peer,
    current_device,
    device,
    device_count,
    device_of,
    is_available,
    set_device,
    synchronize,
)
from tl_backends.cuda.streams import (
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    current_blas_handle,
    current_stream,
    default_stream,
    get_stream_from_external,
    set_stream,
    stream,
)
from tl_backends.cuda.tensor_types import (
    BFloat16Tensor,
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from tl_core import OutOfMemoryError

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CUDAGraph",
    "CUDAPluggableAllocator",
    "CharTensor",
    "DoubleTensor",
    "Event",
    "ExternalStream",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "MemPool",
    "OutOfMemoryError",
    "ShortTensor",
    "Stream",
    "StreamContext",
    "broadcast",
    "broadcast_coalesced",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "caching_allocator_enable",
    "can_device_access_peer",
    "change_current_allocator",
    "clock_rate",
    "cudart",
    "current_blas_handle",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_memory_used",
    "device_of",
    "empty_cache",
    "gather",
    "gds",
    "get_allocator_backend",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "get_per_process_memory_fraction",
    "get_rng_state",
    "get_rng_state_all",
    "get_stream_from_external",
    "get_sync_debug_mode",
    "graph",
    "graph_pool_handle",
    "host_memory_stats",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "jiterator",
    "list_gpu_processes",
    "make_graphed_callables",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_summary",
    "memory_usage",
    "nccl",
    "nvtx",
    "power_draw",
    "profiler",
    "random",
    "reduce_add",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "scatter",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "set_sync_debug_mode",
    "stream",
    "streams",
    "synchronize",
    "temperature",
    "tunable",
    "use_mem_pool",
    "utilization",
]


def init() -> None:
    """Starts CUDA.

    Raises:
        AssertionError: there is no device.
    """
    raise absent.cuda("tl.cuda.init")


def is_initialized() -> bool:
    """Whether CUDA has been started: False."""
    return False


def cudart() -> Any:
    """The CUDA runtime library.

    Raises:
        AssertionError: there is none.
    """
    raise absent.cuda("tl.cuda.cudart")


def ipc_collect() -> None:
    """Frees memory that other processes have given back.

    Raises:
        AssertionError: there is no device.
    """
    raise absent.cuda("tl.cuda.ipc_collect")


def get_sync_debug_mode() -> int:
    """What happens at an operation that makes the CPU wait: 0 nothing, 1 a warning, 2 an error.

    Raises:
        AssertionError: there is no device.
    """
    raise absent.cuda("tl.cuda.get_sync_debug_mode")


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Sets what happens at an operation that makes the CPU wait: "default", "warn" or "error".

    Raises:
        AssertionError: there is no device.
    """
    raise absent.cuda(f"tl.cuda.set_sync_debug_mode({debug_mode!r})")
