"""The memory of CUDA devices. There is none: counts are 0, statistics are empty, the rest needs a device."""

from collections import OrderedDict
from typing import Any, Self

from tl_backends.absent_device import CUDA

__all__ = [
    "CUDAPluggableAllocator",
    "MemPool",
    "MemPoolContext",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "caching_allocator_enable",
    "change_current_allocator",
    "empty_cache",
    "get_allocator_backend",
    "get_per_process_memory_fraction",
    "host_memory_stats",
    "list_gpu_processes",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
    "use_mem_pool",
]

empty_cache = CUDA.empty_cache
memory_stats = CUDA.memory_stats
memory_allocated = CUDA.memory_allocated
max_memory_allocated = CUDA.max_memory_allocated
memory_reserved = CUDA.memory_reserved
max_memory_reserved = CUDA.max_memory_reserved
mem_get_info = CUDA.mem_get_info
reset_peak_memory_stats = CUDA.reset_peak_memory_stats
reset_accumulated_memory_stats = CUDA.reset_accumulated_memory_stats


def host_memory_stats() -> dict[str, Any]:
    """The statistics of the allocator of pinned memory: empty."""
    return OrderedDict()


memory_cached = memory_reserved
max_memory_cached = max_memory_reserved


def reset_peak_host_memory_stats() -> None:
    """Starts the measurement of the highest values of pinned memory anew."""
    raise CUDA.error("reset_peak_host_memory_stats")


reset_max_memory_allocated = reset_peak_memory_stats
reset_max_memory_cached = reset_peak_memory_stats


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The statistics as a table to be read."""
    raise CUDA.error("memory_summary")


def memory_snapshot(mempool_id: Any = None, include_traces: bool = True) -> Any:
    """All blocks that the allocator holds."""
    raise CUDA.error("memory_snapshot")


def list_gpu_processes(device: Any = None) -> str:
    """The processes that use a device, and their memory, as text."""
    raise CUDA.error("list_gpu_processes")


def get_per_process_memory_fraction(device: Any = None) -> float:
    """The share of a device's memory that this process may take."""
    raise CUDA.error("get_per_process_memory_fraction")


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Sets the share of a device's memory that this process may take."""
    raise CUDA.error(f"set_per_process_memory_fraction({fraction!r})")


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """Allocates bytes on a device and returns their address."""
    raise CUDA.error(f"caching_allocator_alloc({size!r})")


def caching_allocator_delete(mem_ptr: int) -> None:
    """Frees what `caching_allocator_alloc` has given."""
    raise CUDA.error("caching_allocator_delete")


def caching_allocator_enable(value: bool = True) -> None:
    """Lets memory be kept for reuse, or not; there is none to keep."""


def get_allocator_backend() -> str:
    """The name of the allocator in use."""
    raise CUDA.error("get_allocator_backend")


def change_current_allocator(allocator: Any) -> None:
    """Makes another allocator the one in use."""
    raise CUDA.error("change_current_allocator")


class CUDAPluggableAllocator:
    """An allocator from a shared library."""

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str):
        raise CUDA.error(f"CUDAPluggableAllocator({path_to_so_file!r})")


class MemPool:
    """A pool of memory of its own."""

    def __init__(self, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False):
        raise CUDA.runtime_error("MemPool")

    @property
    def id(self) -> tuple[int, int]:
        """What the pool is called in a snapshot."""
        raise CUDA.error("MemPool.id")

    @property
    def allocator(self) -> Any:
        """Where the pool takes its memory from."""
        raise CUDA.error("MemPool.allocator")

    def use_count(self) -> int:
        """How many hold the pool."""
        raise CUDA.error("MemPool.use_count")

    def snapshot(self, include_traces: bool = True) -> Any:
        """All blocks of the pool."""
        raise CUDA.error("MemPool.snapshot")


class MemPoolContext:
    """Makes a pool the active one as long as it lives."""

    def __init__(self, pool: MemPool):
        raise CUDA.runtime_error("MemPoolContext")

    @staticmethod
    def active_pool() -> MemPool | None:
        """The active pool: None."""
        return None


class use_mem_pool:
    """A `with` block in which memory is taken from a pool."""

    def __init__(self, pool: MemPool, device: Any = None):
        self.pool, self.device = pool, device

    def __enter__(self) -> Self:
        raise CUDA.error("use_mem_pool")

    def __exit__(self, *error: object) -> None:
        pass


def _record_memory_history(
    enabled: str | None = "all",
    context: str | None = "all",
    stacks: str = "all",
    max_entries: int = 2**63 - 1,
    device: Any = None,
    clear_history: bool = False,
    compile_context: bool = False,
    global_record_annotations: bool = False,
    skip_actions: list[str] | None = None,
) -> None:
    """Keeps where memory was allocated, for a snapshot."""
    raise CUDA.error("memory._record_memory_history")


def _snapshot(device: Any = None, augment_with_fx_traces: bool = False) -> Any:
    """All blocks that the allocator holds, and where they were allocated."""
    raise CUDA.error("memory._snapshot")


def _dump_snapshot(filename: str = "dump_snapshot.pickle", augment_with_fx_traces: bool = False) -> None:
    """Writes a snapshot to a file."""
    raise CUDA.error(f"memory._dump_snapshot({filename!r})")
