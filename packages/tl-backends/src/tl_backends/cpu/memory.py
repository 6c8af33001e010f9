"""The memory of the CPU's tensors: counts, a limit, and what was allocated when and by which line.

>>> record_memory_history()
>>> import tl_core
>>> x = tl_core.zeros(1000)
>>> sum(segment["allocated_size"] for segment in snapshot()["segments"]) >= 4000
True
>>> record_memory_history(None)
"""

from tl_core.memory.history import (
    dump_on_out_of_memory,
    dump_snapshot,
    is_recorded,
    record_memory_history,
    snapshot,
)
from tl_core.memory.usage import (
    empty_cache,
    get_memory_limit,
    max_memory_allocated,
    memory_allocated,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_summary,
    record_memory,
    reset_peak_memory_stats,
    set_memory_limit,
)

__all__ = ["dump_on_out_of_memory", "dump_snapshot", "empty_cache", "get_memory_limit", "is_recorded",
           "max_memory_allocated", "memory_allocated", "memory_reserved", "memory_snapshot", "memory_stats",
           "memory_summary", "record_memory", "record_memory_history", "reset_peak_memory_stats", "set_memory_limit",
           "snapshot"]  # fmt: skip

# As `torch.cuda.memory` calls them.
_record_memory_history, _snapshot, _dump_snapshot = record_memory_history, snapshot, dump_snapshot
